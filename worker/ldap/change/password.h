/* The password of an account that was just created. */
#ifndef WORKER_LDAP_CHANGE_PASSWORD_H
#define WORKER_LDAP_CHANGE_PASSWORD_H

#include "worker/base/password.h"
#include "worker/ldap/wire/session.h"

/* Another random password for the same person; the caller wipes it. */
void ld_password_make(const directory *d, const directory_create *create, char out[PASSWORD_SIZE]);

/* Sets the password of the entry created or adopted for `create`, if the server offers the
 * operation. `bare`: this call added the entry without one. Safe to repeat. After a failure the
 * account exists (`user` stays filled) and the message says so, except for NOT_FOUND: then it is
 * gone and `user` is emptied. */
directory_class ld_password_set(ld_call *k, const directory_create *create, int bare,
                                directory_user *user);

#endif
