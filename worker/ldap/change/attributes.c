/* Owns attributes that let somebody sign in beside the password: keys and certificates. Must not
 * know which they are. */
#include <string.h>

#include "core/base/text.h"
#include "worker/ldap/change/change.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/request.h"

/* "userCertificate;binary": the name under which the server gives and takes the values. */
static char *full_name(ld_call *k, const ld_attribute *a)
{
    return ida_printf(k->pool, "%s%s%s", a->name, a->option ? ";" : "", a->option ? a->option : "");
}

static int lists(const json_t *values, const char *value)
{
    const json_t *one;
    size_t i;
    json_array_foreach ((json_t *)values, i, one) {
        if (strcmp(json_string_value(one), value) == 0) {
            return 1;
        }
    }
    return 0;
}

static directory_class look(ld_call *k, const char *dn, const json_t *names, json_t *had)
{
    const char **attributes = apr_pcalloc(k->pool,
                                          sizeof *attributes * (json_array_size(names) + 1));
    const ld_entry *entry = NULL;
    for (size_t i = 0; i < json_array_size(names); i++) {
        attributes[i] = json_string_value(json_array_get(names, i));
    }
    directory_class class = ld_read(k, dn, attributes, "look for keys and certificates", &entry);
    for (int i = 0; entry && i < entry->count; i++) {
        const ld_attribute *a = &entry->attributes[i];
        json_t *values = json_array();
        for (int n = 0; n < a->count; n++) {
            json_array_append_new(values, json_string(ida_base64_encode(
                                              k->pool, (const unsigned char *)a->values[n].bv_val,
                                              a->values[n].bv_len)));
        }
        if (a->count) {
            json_object_set(had, full_name(k, a), values);
        }
        json_decref(values);
    }
    return class;
}

/* Values that the account has already are left as they are. */
static void add_missing(ld_call *k, ld_mods *mods, const json_t *give, const json_t *had)
{
    const char *name;
    json_t *values, *value;
    size_t i, len;
    json_object_foreach ((json_t *)give, name, values) {
        json_array_foreach (values, i, value) {
            const char *text = json_string_value(value);
            const unsigned char *bytes = text ? ida_base64_decode(k->pool, text, strlen(text), &len)
                                              : NULL;
            if (bytes && !lists(json_object_get(had, name), text)) {
                ld_mods_bytes(mods, LDAP_MOD_ADD, name, bytes, len);
            }
        }
    }
}

directory_class ld_attributes(directory *d, apr_pool_t *pool, const char *id, const json_t *names,
                              const json_t *give, int take, json_t *had, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    directory_user user;
    const char *name;
    json_t *values;
    directory_class class = ld_user_by_id(&k, id, &user);
    class = class ? class : ld_guard(&k, &user);
    class = class ? class : look(&k, user.dn, names, had);
    if (class || (!take && !give)) {
        return class;
    }
    ld_mods mods = ld_mods_make(pool);
    add_missing(&k, &mods, give, had);
    json_object_foreach (had, name, values) {
        if (take) {
            ld_mods_bytes(&mods, LDAP_MOD_REPLACE, name, NULL, 0);
        }
    }
    return ld_mods_count(&mods)
               ? ld_modify(&k, user.dn, ld_mods_end(&mods), LD_WRITE,
                           take ? "take keys and certificates away" : "give them back")
               : DIRECTORY_ALREADY;
}
