/* Owns new values of an existing account: attributes, enabled state, password. Must not know
 * where entries are or which groups contain them. */
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#include "worker/ldap/change/change.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/ad.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/escape.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/schema.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

#define RESET "pwdReset" /* ppolicy: set by another account, so the user must change it */

#define LOCK_ALONE                                                                              \
    "the server shows no password policy with pwdLockout TRUE, without which a locked account " \
    "can "                                                                                      \
    "still sign in"

typedef struct wanted {
    const char *field, *attribute, *value; /* value NULL: none */
} wanted;

typedef struct update {
    ld_call *k;
    const ld_schema *schema;
    apr_array_header_t *wanted, *warnings;
    const char **names; /* of the attributes to be read */
    int enabled;
} update;

static void want(update *u, const char *field, const char *attribute, const char *value)
{
    APR_ARRAY_PUSH(u->wanted, wanted) = (wanted){field, attribute, value};
}

static directory_class no_such(ld_call *k, const char *name)
{
    ld_fail(k, DIRECTORY_INVALID, name, "%s: this directory has no place for %s",
            ld_server_url(k->d), name);
    k->e->unkept = 1;
    return DIRECTORY_INVALID;
}

/* What one value that a caller knows is in attributes: none, one or several. */
static directory_class want_field(update *u, const directory_attribute *given)
{
    ld_call *k = u->k;
    int known = 0;
    for (const ld_field *f = k->d->dialect->fields; f->name; f++) {
        const char *loss = NULL, *value = given->value;
        if (strcmp(f->name, given->name) != 0) {
            continue;
        }
        known = 1;
        value = value && f->narrow ? f->narrow(k->pool, value, &loss) : value;
        if (loss && !value) {
            ld_fail(k, DIRECTORY_INVALID, f->name, "%s", loss);
            k->e->unkept = 1;
            return DIRECTORY_INVALID;
        }
        if (loss) {
            APR_ARRAY_PUSH(u->warnings, const char *) = loss;
        }
        want(u, f->name, f->attribute, value ? value : f->empty);
        if (f->also && !value) {
            want(u, f->name, f->also, NULL); /* would be shown in its place */
        }
    }
    return known ? DIRECTORY_OK : no_such(k, given->name);
}

static directory_class plan(update *u, const directory_attribute *attributes, int count)
{
    ld_call *k = u->k;
    directory_class class = DIRECTORY_OK;
    for (int i = 0; !class && i < count; i++) {
        if (strcmp(attributes[i].name, "displayName") != 0) {
            class = want_field(u, &attributes[i]);
        } else if (attributes[i].value) {
            want(u, "displayName", "displayName", attributes[i].value);
        } else {
            class = ld_fail(k, DIRECTORY_INVALID, "displayName",
                            "a display name can be changed, but not removed");
        }
    }
    int at = 0;
    u->names = apr_pcalloc(k->pool, (apr_size_t)(u->wanted->nelts + 4) * sizeof *u->names);
    for (; at < u->wanted->nelts; at++) {
        u->names[at] = APR_ARRAY_IDX(u->wanted, at, wanted).attribute;
    }
    u->names[at++] = "objectClass";
    u->names[at++] = "cn";
    u->names[at++] = k->d->dialect->lock;
    return class;
}

/* The schema, read when it is needed: in Active Directory it is long. */
static directory_class need_schema(update *u)
{
    u->schema = ld_schema_of(u->k); /* each time: it goes with its connection */
    return u->schema ? DIRECTORY_OK : u->k->e->class;
}

/* Makes room for the attribute in the entry's classes. */
static directory_class make_place(update *u, const ld_entry *entry, const wanted *w,
                                  apr_array_header_t *classes)
{
    const ld_attribute *has = ld_get(entry, "objectClass");
    directory_class class = need_schema(u);
    if (class) {
        return class;
    }
    for (int i = 0; has && i < has->count; i++) {
        if (ld_schema_allows(u->schema, has->values[i].bv_val, w->attribute)) {
            return DIRECTORY_OK;
        }
    }
    const char *further = ld_schema_auxiliary(u->schema, w->attribute);
    if (!further) {
        return no_such(u->k, w->field);
    }
    for (int i = 0; i < classes->nelts; i++) {
        if (strcasecmp(APR_ARRAY_IDX(classes, i, const char *), further) == 0) {
            return DIRECTORY_OK;
        }
    }
    APR_ARRAY_PUSH(classes, const char *) = apr_pstrdup(u->k->pool, further);
    return DIRECTORY_OK;
}

/* What is still to be written, given what the entry shows. */
static directory_class differences(update *u, const directory_user *user, const ld_entry *entry,
                                   ld_mods *mods)
{
    ld_call *k = u->k;
    const ld_dialect *t = k->d->dialect;
    directory_class class = DIRECTORY_OK;
    apr_array_header_t *classes = apr_array_make(k->pool, 2, sizeof(const char *));
    for (int i = 0; !class && i < u->wanted->nelts; i++) {
        const wanted *w = &APR_ARRAY_IDX(u->wanted, i, wanted);
        if (ld_is(entry, w->attribute, w->value) || ld_mods_has(mods, w->attribute)) {
            continue;
        }
        class = w->value ? make_place(u, entry, w, classes) : DIRECTORY_OK;
        ld_mods_text(mods, LDAP_MOD_REPLACE, w->attribute, w->value);
        /* An entry not named by its cn: the name people see in other programs follows, as long as
         * it was the same. */
        if (strcmp(w->attribute, "displayName") == 0 && !ld_rdn_value(k->pool, user->dn, "cn") &&
            user->display_name && ld_is(entry, "cn", user->display_name)) {
            ld_mods_text(mods, LDAP_MOD_REPLACE, "cn", w->value);
        }
    }
    if (!class && classes->nelts) {
        APR_ARRAY_PUSH(classes, const char *) = NULL;
        ld_mods_texts(mods, LDAP_MOD_ADD, "objectClass", (const char *const *)classes->elts);
    }
    if (!class && u->enabled >= 0 && u->enabled != user->enabled) {
        class = t->lock_bit ? DIRECTORY_OK : need_schema(u);
        if (class) {
            return class;
        }
        if (!t->lock_bit && !ld_schema_knows(u->schema, t->lock)) {
            return ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: %s", ld_server_url(k->d),
                           t->lock_missing);
        }
        ld_lock_mods(k->d, entry, u->enabled, mods);
    }
    return class;
}

/* Translates the attribute that the server refuses into a field of the request. */
static void name_field(update *u)
{
    directory_error *e = u->k->e;
    if (e->class == DIRECTORY_INVALID || e->class == DIRECTORY_CONFLICT) {
        e->field = e->field                ? ld_field_name(u->k->d->dialect, e->field)
                   : u->wanted->nelts == 1 ? APR_ARRAY_IDX(u->wanted, 0, wanted).field
                                           : NULL;
    }
}

directory_class ld_update(directory *d, apr_pool_t *pool, const char *id,
                          const directory_attribute *attributes, int count, int enabled,
                          directory_user *after, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    update u = {.k = &k, .enabled = enabled};
    u.wanted = apr_array_make(pool, count + 2, sizeof(wanted));
    u.warnings = apr_array_make(pool, 2, sizeof(const char *));
    *after = (directory_user){0};
    directory_class class = plan(&u, attributes, count), last = DIRECTORY_OK;
    for (int attempt = 0, sent = 0; !class; attempt++) {
        const ld_entry *entry = NULL;
        ld_mods mods = ld_mods_make(pool);
        class = ld_user_by_id(&k, id, after);
        class = class ? class : ld_guard(&k, after);
        class = class ? class : ld_read(&k, after->dn, u.names, "read the present values", &entry);
        if (class || !entry) {
            /* Gone from where it was a moment ago: moved. */
            if ((class == DIRECTORY_NOT_FOUND || !class) && after->id && attempt < LD_ATTEMPTS) {
                class = DIRECTORY_OK;
                continue;
            }
            return class ? class
                         : ld_fail(&k, DIRECTORY_FORBIDDEN, NULL, "%s: our account may not read %s",
                                   ld_server_url(d), after->dn);
        }
        class = differences(&u, after, entry, &mods);
        if (class) {
            return class;
        }
        if (ld_mods_count(&mods) == 0) {
            if (enabled == 1 && after->cache.expires_at &&
                after->cache.expires_at <= ida_now(d->env)) {
                APR_ARRAY_PUSH(u.warnings, const char *) = apr_pstrcat(
                    pool, "the account is enabled, but its end (", d->dialect->expires,
                    ") is over: the person cannot sign in with it until that is changed in the "
                    "directory",
                    NULL);
            }
            if (enabled == 0 && !ld_lock_holds(&k, after->dn)) {
                APR_ARRAY_PUSH(u.warnings, const char *) = LOCK_ALONE;
            }
            if (u.warnings->nelts) {
                APR_ARRAY_PUSH(u.warnings, const char *) = NULL;
                after->warnings = (const char *const *)u.warnings->elts;
            }
            return sent ? DIRECTORY_OK : DIRECTORY_ALREADY;
        }
        if (attempt == LD_ATTEMPTS || (sent && last == DIRECTORY_OK)) {
            break;
        }
        last = ld_modify(&k, after->dn, ld_mods_end(&mods), LD_SWAP,
                         count == 0 && enabled == 0 ? "disable the account" : "change the account");
        sent = 1;
        if (last != DIRECTORY_OK && last != DIRECTORY_UNSURE && last != DIRECTORY_NOT_FOUND) {
            name_field(&u);
            return last;
        }
    }
    return class                  ? class
           : last != DIRECTORY_OK ? last
                                  : ld_fail(&k, DIRECTORY_UNSURE, NULL,
                                            "%s: the account was changed, but the directory still "
                                            "shows other values of %s",
                                            ld_server_url(d), after->dn);
}

/* --- password --- */

/* Active Directory: one write for both. */
static directory_class replace_password(ld_call *k, const char *dn, const char *password)
{
    const ld_dialect *t = k->d->dialect;
    ld_mods mods = ld_mods_make(k->pool);
    struct berval value = ld_unicode_password(k->pool, password);
    if (!value.bv_val) {
        return ld_fail(k, DIRECTORY_INVALID, "password", "the password is no UTF-8");
    }
    ld_mods_bytes(&mods, LDAP_MOD_REPLACE, t->password, value.bv_val, value.bv_len);
    ld_mods_text(&mods, LDAP_MOD_REPLACE, t->password_age, "0");
    directory_class class = ld_modify(k, dn, ld_mods_end(&mods), LD_WRITE, "set the password");
    OPENSSL_cleanse(value.bv_val, value.bv_len);
    return class;
}

/* RFC 3062, then the mark of ppolicy. */
static directory_class demand_change(ld_call *k, const char *dn)
{
    ld_mods mods = ld_mods_make(k->pool);
    ld_mods_text(&mods, LDAP_MOD_REPLACE, RESET, "TRUE");
    return ld_modify(k, dn, ld_mods_end(&mods), LD_WRITE,
                     "demand a new password at the next sign-in");
}

static directory_class can_demand(ld_call *k)
{
    const directory *d = k->d;
    const ld_schema *schema = ld_schema_of(k);
    if (!schema) {
        return k->e->class;
    }
    if (!ld_schema_knows(schema, RESET)) {
        return ld_fail(
            k, DIRECTORY_CONFIG, NULL,
            "%s: the server does not know " RESET
            ", so it cannot ask for a new password at the next sign-in: load the ppolicy overlay",
            ld_server_url(d));
    }
    return d->offers_password ? DIRECTORY_OK
                              : ld_fail(k, DIRECTORY_CONFIG, NULL,
                                        "%s: this server does not offer Password Modify (RFC 3062)",
                                        ld_server_url(d));
}

directory_class ld_set_password(directory *d, apr_pool_t *pool, const char *id,
                                const char *password, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    const ld_dialect *t = d->dialect;
    directory_user user;
    directory_class class = t->password_age ? DIRECTORY_OK : can_demand(&k);
    for (int attempt = 0; !class && attempt < LD_ATTEMPTS; attempt++) {
        ld_answer answer = {0};
        class = ld_user_by_id(&k, id, &user);
        class = class ? class : ld_guard(&k, &user);
        if (class) {
            return class;
        }
        if (t->password_unlocks && !user.enabled) {
            return ld_fail(
                &k, DIRECTORY_INVALID, "accountEnabled",
                "%s: %s is disabled, and a new password would lift that: enable the account first",
                ld_server_url(d), user.dn);
        }
        if (t->password_age) {
            class = replace_password(&k, user.dn, password);
        } else {
            class = ld_modify_password(&k, user.dn, password, "set the password", &answer);
            class = class ? class : demand_change(&k, user.dn);
        }
        /* Both may be repeated; 32: moved between look and act. */
        if ((class != DIRECTORY_UNSURE && class != DIRECTORY_NOT_FOUND) ||
            attempt + 1 == LD_ATTEMPTS) {
            return class;
        }
        class = DIRECTORY_OK;
    }
    return class;
}
