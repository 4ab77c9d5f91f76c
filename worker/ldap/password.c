/* Owns how a new account comes by its password: the server hashes it, and a lost answer or a
 * refusal leaves an account that nobody can bind to. Must not know how entries are made. */
#include "worker/ldap/password.h"

#include <apr_strings.h>
#include <openssl/crypto.h>

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
    /* Each of the two may happen once: a look after a lost answer, and another password. */
    for (int looked = 0;;) {
        ld_answer answer = {0};
        class = ld_modify_password(k, user->dn, password, "set the password", &answer);
        if (class && ld_password_stands(answer.code, answer.text)) {
            /* The policy asks for a least age: an earlier try of ours came through, and nobody else
             * knows that password. */
            class = DIRECTORY_OK;
        }
        if (class == DIRECTORY_INVALID && ld_password_refused(answer.code, answer.text) &&
            password != fresh) {
            ld_password_make(k->d, create, fresh);
            password = fresh;
            continue;
        }
        /* Not found: moved since it was looked at. */
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
    /* A new password lifts the lock of a disabled account (ppolicy takes pwdAccountLockedTime
     * away). Without one it is closed twice: whoever enables it has to set a password anyway, as
     * nobody knows ours. */
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
