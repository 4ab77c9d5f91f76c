/* The password of an account that was just made. */
#ifndef WORKER_LDAP_PASSWORD_H
#define WORKER_LDAP_PASSWORD_H

#include "worker/base/password.h"
#include "worker/ldap/session.h"

/* Another random password for the same person; the caller wipes it. */
void ld_password_make(const directory *d, const directory_create *create, char out[PASSWORD_SIZE]);

/* Sets the password of the entry made or adopted for `create`, where the server offers the
 * operation. `bare`: this call added the entry without one. Safe to repeat. At a failure the
 * account stands (`user` stays filled) and the message says so, except NOT_FOUND: it is gone, and
 * `user` is emptied. */
directory_class ld_password_set(ld_call *k, const directory_create *create, int bare,
                                directory_user *user);

#endif
