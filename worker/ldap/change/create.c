/* Owns the making of a user's entry: names that are taken, adoption of our own after a lost answer.
 * Must not know the queue. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#include "core/base/text.h"
#include "worker/ldap/change/change.h"
#include "worker/ldap/change/names.h"
#include "worker/ldap/change/password.h"
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

/* rounds of look and add: a first one, another password, after a lost answer, and the look that
 * ends it */
#define ATTEMPTS 4
#define LOOK_LIMIT 10
#define NORMAL_ACCOUNT 512L /* userAccountControl */

typedef struct adding {
    ld_call *k;
    const directory_create *create;
    const ld_schema *schema;
    ld_mods mods;
    apr_array_header_t *classes, *warnings;
    int skip; /* numbers of names that were refused */
    int bare; /* added without a password: it is still to be set */
} adding;

static void add_value(adding *a, const char *attribute, const char *value)
{
    /* Two fields may be one attribute (UPN and mail): the same value twice would be refused. */
    if (!ld_mods_has(&a->mods, attribute)) {
        ld_mods_text(&a->mods, LDAP_MOD_ADD, attribute, value);
    }
}

static void warn(adding *a, const char *text)
{
    APR_ARRAY_PUSH(a->warnings, const char *) = text;
}

/* Makes room for the attribute in the entry's classes; 0 when the server has no place for it. */
static int has_place(adding *a, const char *attribute)
{
    if (ld_schema_allows(a->schema, a->k->d->dialect->user_class, attribute)) {
        return 1;
    }
    const char *class = ld_schema_auxiliary(a->schema, attribute);
    for (int i = 0; class && i < a->classes->nelts; i++) {
        if (strcasecmp(APR_ARRAY_IDX(a->classes, i, const char *), class) == 0) {
            return 1;
        }
    }
    if (class) {
        APR_ARRAY_PUSH(a->classes, const char *) = apr_pstrdup(
            a->k->pool, class); /* the schema goes with its connection */
    }
    return class != NULL;
}

static void add_fields(adding *a)
{
    const ida_create *person = a->create->person;
    apr_pool_t *pool = a->k->pool;
    for (const ld_field *f = a->k->d->dialect->fields; f->name; f++) {
        const char *value = *(const char *const *)((const char *)person + f->create), *loss = NULL;
        if (!value || !*value) {
            continue;
        }
        value = f->narrow ? f->narrow(pool, value, &loss) : value;
        if (value && !has_place(a, f->attribute)) {
            loss = apr_pstrcat(pool, f->name,
                               ": is not kept by this directory (its schema has no place for ",
                               f->attribute, ")", NULL);
            value = NULL;
        }
        if (loss) {
            warn(a, loss);
        }
        if (value) {
            add_value(a, f->attribute, value);
        }
    }
}

static directory_class prepare(adding *a)
{
    ld_call *k = a->k;
    const directory *d = k->d;
    const ld_dialect *t = d->dialect;
    a->schema = ld_schema_of(k);
    if (!a->schema) {
        return k->e->class;
    }
    if (!has_place(a, d->marker_attribute)) {
        return ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: markerAttribute %s has no place in a %s",
                       ld_server_url(d), d->marker_attribute, t->user_class);
    }
    if (!has_place(a, d->upn_attribute)) {
        return ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: upnAttribute %s has no place in a %s",
                       ld_server_url(d), d->upn_attribute, t->user_class);
    }
    if (!t->lock_bit && !a->create->person->account_enabled &&
        !ld_schema_knows(a->schema, t->lock)) {
        return ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: %s", ld_server_url(d), t->lock_missing);
    }
    add_value(a, "displayName", a->create->display_name);
    if (strcasecmp(d->upn_attribute, t->login) != 0) {
        add_value(a, d->upn_attribute, a->create->upn);
    }
    if (a->create->mail) {
        add_value(a, t->mail, a->create->mail);
        if (t->addresses) {
            add_value(a, t->addresses, apr_pstrcat(k->pool, "SMTP:", a->create->mail, NULL));
        }
    }
    add_value(a, d->marker_attribute, a->create->marker);
    add_fields(a);
    if (t->lock_bit) {
        add_value(a, t->lock,
                  apr_psprintf(k->pool, "%ld",
                               NORMAL_ACCOUNT |
                                   (a->create->person->account_enabled ? 0 : t->lock_bit)));
        add_value(a, t->password_age, "0");
    } else if (!a->create->person->account_enabled) {
        add_value(a, t->lock, t->locked);
    }
    /* objectClass comes last because fields may have added classes. */
    APR_ARRAY_PUSH(a->classes, const char *) = t->user_class;
    APR_ARRAY_PUSH(a->classes, const char *) = NULL;
    ld_mods_texts(&a->mods, LDAP_MOD_ADD, "objectClass", (const char *const *)a->classes->elts);
    return DIRECTORY_OK;
}

/* Looks for entries that have the names already: *mine is set when an entry carries our marker;
 * CONFLICT with the field when it is another person's. */
static directory_class look(ld_call *k, const directory_create *create, directory_user *user,
                            int *mine)
{
    directory *d = k->d;
    const ld_dialect *t = d->dialect;
    const char *local = ld_filter_text(k->pool, create->local),
               *upn = ld_filter_text(k->pool, create->upn);
    const char *mail = create->mail ? ld_filter_text(k->pool, create->mail) : NULL;
    const char *by_mail = mail ? apr_pstrcat(k->pool, "(", t->mail, "=", mail, ")", NULL) : "";
    const char *by_address = mail && t->addresses ? apr_pstrcat(k->pool, "(", t->addresses,
                                                                "=smtp:", mail, ")", NULL)
                                                  : "";
    const char *by_upn = strcasecmp(d->upn_attribute, t->login)
                             ? apr_pstrcat(k->pool, "(", d->upn_attribute, "=", upn, ")", NULL)
                             : "";
    /* Where the login name is a number away from being free, it is no conflict. But an account
     * without a UPN signs in by it. */
    const char *lone = t->login_max ? apr_pstrcat(k->pool, "(!(", d->upn_attribute, "=*))", NULL)
                                    : "";
    /* What was sent before may have been renamed since. */
    const char *by_marker = create->sent_at
                                ? apr_pstrcat(k->pool, "(", d->marker_attribute, "=",
                                              ld_filter_text(k->pool, create->marker), ")", NULL)
                                : "";
    const char *by_login = apr_pstrcat(k->pool, "(&(", t->login, "=", local, ")", lone, ")", NULL);
    const ld_query query = {.base = d->user_base,
                            .scope = LDAP_SCOPE_SUBTREE,
                            .limit = LOOK_LIMIT,
                            .phase = LD_BASE,
                            .doing = "look whether the names are free",
                            .filter = apr_pstrcat(k->pool, "(|", by_login, by_mail, by_address,
                                                  by_upn, by_marker, ")", NULL),
                            .attributes = d->user_attributes};
    const ld_entry **rows;
    int count;
    *mine = 0;
    directory_class class = ld_search(k, &query, &rows, &count);
    for (int i = 0; !class && i < count; i++) {
        if (ld_holds(rows[i], d->marker_attribute, create->marker) &&
            ld_user_read(d, k->pool, rows[i], user)) {
            *mine = 1;
            return DIRECTORY_OK;
        }
    }
    if (class || count == 0) {
        return class;
    }
    int login = 0, any = 0;
    for (int i = 0; i < count; i++) {
        directory_user other;
        int read = ld_user_read(d, k->pool, rows[i], &other),
            same_login = ld_holds(rows[i], t->login, create->local);
        int same_upn = (*by_upn && ld_holds(rows[i], d->upn_attribute, create->upn)) ||
                       (read && other.upn &&
                        strcmp(ida_fold_address(k->pool, other.upn),
                               ida_fold_address(k->pool, create->upn)) == 0);
        int named = same_upn || (same_login && !t->login_max);
        login = login || named;
        /* Found by a login name that only has to be numbered. */
        any = any || named || !same_login || (mail && ld_holds(rows[i], t->mail, create->mail));
    }
    return any ? ld_fail(k, DIRECTORY_CONFLICT, login ? "upn" : "mail", "%s: %s is taken by %s",
                         ld_server_url(d), login ? create->upn : create->mail, rows[0]->dn)
               : DIRECTORY_OK;
}

/* The entry in the answer to the add, if it equals what a read would find. */
static int is_shown(const ld_call *k, const directory_create *create, const ld_entry *entry,
                    directory_user *user)
{
    return entry && ld_holds(entry, k->d->marker_attribute, create->marker) &&
           ld_user_read(k->d, k->pool, entry, user);
}

/* Translates the refusal of a uniqueness rule into a field: a name can be chosen again, any
 * other value cannot. */
static directory_class name_conflict(ld_call *k)
{
    const directory *d = k->d;
    const char *attribute = k->e->field;
    k->e->field = "upn";
    if (!attribute || strcasecmp(attribute, d->upn_attribute) == 0 ||
        strcasecmp(attribute, d->dialect->login) == 0) {
        return DIRECTORY_CONFLICT;
    }
    if (strcasecmp(attribute, d->dialect->mail) == 0) {
        k->e->field = "mail";
        return DIRECTORY_CONFLICT;
    }
    k->e->field = ld_field_name(d->dialect, attribute);
    return k->e->class = DIRECTORY_INVALID;
}

static directory_class add_once(adding *a, const char *password, ld_answer *answer)
{
    ld_call *k = a->k;
    const ld_dialect *t = k->d->dialect;
    int before = ld_mods_count(&a->mods);
    struct berval secret = {0};
    ld_names names = {0};
    directory_class class = ld_names_choose(k, a->create, a->skip, &names);
    class = class ? class : ld_ready(k);
    if (class) {
        return class;
    }
    add_value(a, "cn", names.cn);
    add_value(a, t->login, names.login);
    /* Without a hashing rule the server would store the value in clear text. */
    a->bare = !t->password_age && k->d->offers_password;
    if (t->password_age) {
        secret = ld_unicode_password(k->pool, password);
        ld_mods_bytes(&a->mods, LDAP_MOD_ADD, t->password, secret.bv_val, secret.bv_len);
    } else if (!a->bare) {
        add_value(a, t->password, password);
    }
    class = ld_add(k, names.dn, ld_mods_end(&a->mods), k->d->user_attributes, "create the account",
                   answer);
    a->mods.list->nelts = before;
    OPENSSL_cleanse(secret.bv_val, secret.bv_len);
    return class;
}

static directory_class add_until_known(adding *a, directory_user *user)
{
    ld_call *k = a->k;
    char fresh[PASSWORD_SIZE] = "";
    const char *password = a->create->password;
    int sent = 0, confirmed = 0, mine;
    directory_class class = DIRECTORY_OK;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        ld_answer answer = {0};
        class = look(k, a->create, user, &mine);
        if (class || mine) {
            class = class ? class : sent ? DIRECTORY_OK : DIRECTORY_ALREADY;
            break;
        }
        if (confirmed) {
            class = ld_fail(k, DIRECTORY_UNSURE, NULL,
                            "%s: the account was created, but cannot be found below %s",
                            ld_server_url(k->d), k->d->user_base);
            break;
        }
        class = add_once(a, password, &answer);
        if (class == DIRECTORY_CONFLICT) {
            /* No visible entry has the name: the entry is hidden from our account, or an earlier
             * add by this service completed late. */
            directory_error why = *k->e;
            class = look(k, a->create, user, &mine);
            if (class || mine) {
                class = class ? class : DIRECTORY_ALREADY;
                break;
            }
            *k->e = why;
            if (k->d->dialect->login_max && answer.code == LDAP_ALREADY_EXISTS) {
                a->skip++; /* a name that is taken where we cannot see it: the next number */
                continue;
            }
            class = name_conflict(k);
            break;
        }
        if (class == DIRECTORY_INVALID && ld_password_refused(answer.code, answer.text) &&
            password != fresh) {
            ld_password_make(k->d, a->create, fresh);
            password = fresh;
            continue;
        }
        if (class && class != DIRECTORY_UNSURE) {
            break;
        }
        sent = 1;
        confirmed = class == DIRECTORY_OK;
        if (confirmed && is_shown(k, a->create, answer.shown, user)) {
            break;
        }
    }
    OPENSSL_cleanse(fresh, sizeof fresh);
    return class;
}

directory_class ld_create(directory *d, apr_pool_t *pool, const directory_create *create,
                          directory_user *user, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    *user = (directory_user){0};
    adding a = {.k = &k, .create = create};
    a.mods = ld_mods_make(pool);
    a.classes = apr_array_make(pool, 4, sizeof(const char *));
    a.warnings = apr_array_make(pool, 4, sizeof(const char *));
    if (!create->local || !*create->local || !create->upn || !create->display_name ||
        !create->marker || !create->password || !*create->password) {
        return ld_fail(&k, DIRECTORY_LOCAL, NULL,
                       "a creation without local part, UPN, display name, marker or password");
    }
    directory_class class = prepare(&a);
    class = class ? class : add_until_known(&a, user);
    if (class == DIRECTORY_OK || (class == DIRECTORY_ALREADY && !create->restored)) {
        directory_class set = ld_password_set(&k, create, a.bare, user);
        class = set ? set : class;
    }
    if ((class == DIRECTORY_OK || class == DIRECTORY_ALREADY) && a.warnings->nelts) {
        APR_ARRAY_PUSH(a.warnings, const char *) = NULL;
        user->warnings = (const char *const *)a.warnings->elts;
    }
    return class;
}
