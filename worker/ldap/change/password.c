/* Owns how a new account gets its password and a leaver loses it: the server hashes it, and a
 * lost answer or a refusal leaves an account that cannot be used to bind. Must not know how
 * entries are created. */
#include "worker/ldap/change/password.h"

#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>

#include "worker/ldap/change/change.h"
#include "worker/ldap/entry/entry.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

#define CHANGED "pwdChangedTime" /* ppolicy: when the password was changed last */

void ld_password_make(const directory *d, const directory_create *create, char out[PASSWORD_SIZE])
{
    const ida_create *person = create->person;
    const char *names[5];
    int count = 0;
    const char *const all[] = {create->local, person->firstname, person->surname,
                               person->middle_name};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]) {
            names[count++] = all[i];
        }
    }
    names[count] = NULL;
    password_make(d->env, names, out);
}

static directory_class set_until_known(ld_call *k, const directory_create *create,
                                       directory_user *user)
{
    char fresh[PASSWORD_SIZE] = "";
    const char *password = create->password, *id = user->id;
    directory_class class;
    /* Each of two repetitions may happen once: a read after a lost answer, and another password. */
    for (int looked = 0;;) {
        ld_answer answer = {0};
        class = ld_modify_password(k, user->dn, password, "set the password", &answer);
        if (class && ld_password_stands(answer.code, answer.text)) {
            /* The policy demands a minimum age: our earlier attempt succeeded, and no person
             * knows its password. */
            class = DIRECTORY_OK;
        }
        if (class == DIRECTORY_INVALID && ld_password_refused(answer.code, answer.text) &&
            password != fresh) {
            ld_password_make(k->d, create, fresh);
            password = fresh;
            continue;
        }
        /* Not found: moved since it was read. */
        if ((class != DIRECTORY_UNSURE && class != DIRECTORY_NOT_FOUND) || looked++) {
            break;
        }
        class = ld_user_by_id(k, id, user);
        if (class || !user->enabled) {
            break;
        }
    }
    OPENSSL_cleanse(fresh, sizeof fresh);
    return class;
}

directory_class ld_password_set(ld_call *k, const directory_create *create, int bare,
                                directory_user *user)
{
    /* A new password lifts the lock of a disabled account (ppolicy removes
     * pwdAccountLockedTime). An account without one is closed twice: to enable it an
     * administrator has to set a password anyway, because ours is not known. */
    if (!user->enabled || k->d->dialect->password_age) {
        return DIRECTORY_OK; /* in Active Directory the add brings the password along, for disabled
                                accounts too */
    }
    directory_user known = *user;
    directory_class class = ld_ready(k);
    if (!class && !k->d->offers_password) {
        if (!bare) {
            return DIRECTORY_OK; /* the add brought it along */
        }
        class = ld_fail(k, DIRECTORY_CONFIG, NULL,
                        "%s: set the password: this server does not offer Password Modify (RFC "
                        "3062), unlike the one that took the account",
                        ld_server_url(k->d));
    }
    class = class ? class : set_until_known(k, create, user);
    if (class == DIRECTORY_NOT_FOUND) {
        *user = (directory_user){0};
    } else if (class) {
        *user = known;
        ld_fail(k, class, k->e->field,
                "%s; the account %s exists, made by this task, but its password is not set: once "
                "that is mended, a retry of the task goes on with this account",
                k->e->message, known.dn);
    }
    return class;
}

/* --- a password that nobody knows --- */

int ld_lock_holds(ld_call *k, const char *dn)
{
    static const char locks[] = "(&(objectClass=pwdPolicy)(pwdLockout=TRUE))";
    const directory *d = k->d;
    const char *const attributes[] = {d->dialect->policy, NULL};
    const ld_entry *entry = NULL, *policy = NULL;
    if (!d->dialect->policy) {
        return 1;
    }
    directory_class class = ld_read(k, dn, attributes, "find the password policy", &entry);
    const char *named = entry ? ld_text(k->pool, entry, attributes[0]) : NULL;
    if (!class && named) {
        class = ld_read_if(k, named, locks, NULL, "read the password policy", &policy);
    } else if (!class) {
        class = ld_below(k, apr_pstrdup(k->pool, d->root ? d->root : d->user_base), locks, NULL,
                         "look for a password policy", &policy);
    }
    *k->e = (directory_error){0};
    return !class && policy;
}

/* When the entry's password was changed, as the entry shows it; "" if the server does not show
 * it. */
static directory_class password_shown(ld_call *k, const char *dn, const char **shown)
{
    static const char *const attributes[] = {CHANGED, NULL};
    const ld_entry *entry = NULL;
    directory_class class = ld_read(k, dn, attributes, "look when the password was changed",
                                    &entry);
    const char *text = entry ? ld_text(k->pool, entry, CHANGED) : NULL;
    *shown = text ? text : "";
    return class;
}

/* A password of random letters; no password at all if the server refuses that one. */
static directory_class replace_by_unknown(ld_call *k, const directory_user *user)
{
    const char *const names[] = {user->login ? user->login : "",
                                 user->cache.given_name ? user->cache.given_name : "",
                                 user->cache.surname ? user->cache.surname : "", NULL};
    char fresh[PASSWORD_SIZE];
    ld_answer answer = {0};
    directory_class class = ld_ready(k);
    if (class) {
        return class;
    }
    if (k->d->offers_password) {
        password_make(k->d->env, names, fresh);
        class = ld_modify_password(k, user->dn, fresh, "replace the password", &answer);
        OPENSSL_cleanse(fresh, sizeof fresh);
        if (class != DIRECTORY_INVALID || !ld_password_refused(answer.code, answer.text)) {
            return class;
        }
    }
    ld_mods none = ld_mods_make(k->pool);
    ld_mods_text(&none, LDAP_MOD_REPLACE, k->d->dialect->password, NULL);
    return ld_modify(k, user->dn, ld_mods_end(&none), LD_WRITE, "take the password away");
}

directory_class ld_discard_password(directory *d, apr_pool_t *pool, const char *id,
                                    const char **proof, directory_error *e)
{
    ld_call k = ld_call_begin(d, pool, e);
    const char *known = *proof, *shown;
    directory_user user;
    directory_class class = DIRECTORY_OK;
    *proof = NULL;
    if (!d->dialect->policy) {
        return DIRECTORY_OK;
    }
    for (int attempt = 0; attempt < LD_ATTEMPTS; attempt++) {
        class = ld_user_by_id(&k, id, &user);
        class = class ? class : ld_guard(&k, &user);
        class = class ? class : password_shown(&k, user.dn, &shown);
        if (!class && known && strcmp(known, shown) == 0) {
            *proof = known;
            return DIRECTORY_ALREADY;
        }
        class = class ? class : replace_by_unknown(&k, &user);
        class = class ? class : password_shown(&k, user.dn, &shown);
        if (!class) {
            *proof = shown;
            return DIRECTORY_OK;
        }
        /* Both may be repeated; 32: moved between look and act. */
        if (class != DIRECTORY_UNSURE && class != DIRECTORY_NOT_FOUND) {
            break;
        }
    }
    return class;
}
