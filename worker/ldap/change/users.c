/* Owns the changes of an existing user: manager, photo, disabling. Must not know how an entry is
 * made or grouped. */
#include <string.h>

#include "worker/ldap/change/change.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

static directory_class replace(ld_call *k, const char *dn, const char *attribute, const void *bytes,
                               size_t len, const char *doing)
{
    ld_mods mods = ld_mods_make(k->pool);
    ld_mods_bytes(&mods, LDAP_MOD_REPLACE, attribute, bytes, len);
    return ld_modify(k, dn, ld_mods_end(&mods), LD_WRITE, doing);
}

directory_class ld_find(directory *d, apr_pool_t *pool, const char *id, const char *upn,
                        directory_user *user, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    return id ? ld_user_by_id(&k, id, user) : ld_user_by_upn(&k, upn, user);
}

/* The account as it is now, and whether it may be changed. */
static directory_class seen(ld_call *k, const char *id, directory_user *user)
{
    directory_class class = ld_user_by_id(k, id, user);
    return class ? class : ld_guard(k, user);
}

directory_class ld_set_manager(directory *d, apr_pool_t *pool, const char *id,
                               const char *manager_upn, const char **manager_id, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    directory_user user, manager = {0};
    directory_class class;
    int sent = 0;
    for (int attempt = 0; attempt < LD_ATTEMPTS; attempt++) {
        class = seen(&k, id, &user);
        if (class) {
            return class;
        }
        /* The server also accepts the DN of a missing entry, so existence is checked here. */
        class = !manager_upn               ? DIRECTORY_OK
                : strchr(manager_upn, '@') ? ld_user_by_upn(&k, manager_upn, &manager)
                                           : ld_user_by_id(&k, manager_upn, &manager);
        if (class) {
            e->field = class == DIRECTORY_NOT_FOUND || class == DIRECTORY_CONFLICT ? "manager"
                                                                                   : e->field;
            return class;
        }
        *manager_id = manager.id;
        const char *has = user.cache.manager_dn_key, *wanted = manager.cache.dn_key;
        if (wanted ? has && strcmp(has, wanted) == 0 : !user.managers) {
            return sent ? DIRECTORY_OK : DIRECTORY_ALREADY;
        }
        class = replace(&k, user.dn, d->dialect->manager, manager.dn,
                        manager.dn ? strlen(manager.dn) : 0,
                        manager_upn ? "set the manager" : "remove the manager");
        sent = 1;
        if (class != DIRECTORY_UNSURE && class != DIRECTORY_NOT_FOUND) {
            return class;
        }
    }
    return class;
}

/* 1 when the entry shows exactly this photo, or none where none is wanted. */
static directory_class photo_shown(ld_call *k, const directory_user *user,
                                   const unsigned char *photo, size_t len, int *same)
{
    const char *const attributes[] = {k->d->dialect->photo, NULL};
    const ld_entry *entry;
    *same = 0;
    directory_class class = ld_read(k, user->dn, attributes, "read the photo", &entry);
    const ld_attribute *a = entry ? ld_get(entry, attributes[0]) : NULL;
    *same = !photo ? !a || !a->count
                   : a && a->count == 1 && a->values[0].bv_len == len &&
                         memcmp(a->values[0].bv_val, photo, len) == 0;
    return class;
}

directory_class ld_set_photo(directory *d, apr_pool_t *pool, const char *id,
                             const unsigned char *photo, size_t len, const char *type,
                             directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    directory_user user;
    directory_class class;
    int sent = 0, same;
    const char *only = d->dialect->photo_type;
    if (photo && d->dialect->photo_max && len > d->dialect->photo_max) {
        return ld_fail(&k, DIRECTORY_INVALID, "profilePhoto",
                       "this directory keeps photos of at most %zu bytes", d->dialect->photo_max);
    }
    if (photo && only &&
        (!type || strcmp(type, only) != 0 || len < 3 || memcmp(photo, "\xff\xd8\xff", 3) != 0)) {
        return ld_fail(&k, DIRECTORY_INVALID, "profilePhoto",
                       "this directory keeps photos as %s only", d->dialect->photo_type);
    }
    for (int attempt = 0; attempt < LD_ATTEMPTS; attempt++) {
        class = seen(&k, id, &user);
        class = class ? class : photo_shown(&k, &user, photo, len, &same);
        if (class) {
            return class;
        }
        if (same) {
            return sent ? DIRECTORY_OK : DIRECTORY_ALREADY;
        }
        class = replace(&k, user.dn, d->dialect->photo, photo, photo ? len : 0,
                        photo ? "set the photo" : "remove the photo");
        sent = 1;
        if (class != DIRECTORY_UNSURE && class != DIRECTORY_NOT_FOUND) {
            return class;
        }
    }
    return class;
}

directory_class ld_disable(directory *d, apr_pool_t *pool, const char *id, directory_user *after,
                           directory_error *e)
{
    return ld_update(d, pool, id, NULL, 0, 0, after, e);
}
