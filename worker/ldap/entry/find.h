/* Where an entry is, and whether it may be changed; the server's schema. */
#ifndef WORKER_LDAP_ENTRY_FIND_H
#define WORKER_LDAP_ENTRY_FIND_H

#include <ldap.h>

#include "worker/directory/directory.h"
#include "worker/ldap/wire/schema.h"
#include "worker/ldap/wire/session.h"

/* Contract: worker/directory/directory.h. */
DIRECTORY_FUNCTION(find) ld_find;

/* The user's entry by ID, anywhere in scope. NOT_FOUND only after the base itself proved readable.
 */
directory_class ld_user_by_id(ld_call *k, const char *id, directory_user *user);
directory_class ld_user_by_upn(ld_call *k, const char *upn, directory_user *user);

/* When our account last signed in, as its own entry shows it (our bind was a sign-in); ms, 0: not
 * recorded, not shown, or we do not bind by a password. */
int64_t ld_own_sign_in(ld_call *k);
/* Where our own entry is read: by the SID that Active Directory reports, because bindDn may be a
 * login name there, else at bindDn. */
const char *ld_own_base(const ld_call *k);

/* How old our bind password is: when it was changed and when it expires (ms UTC; 0: not shown, or
 * never), and by what that is known, for people. Of a bind by password alone. */
typedef struct ld_own_password {
    int64_t changed, ends;
    const char *by;
} ld_own_password;
void ld_own_password_look(ld_call *k, ld_own_password *out);

/* OK unless the entry is our own account or one of protectedAccounts. */
directory_class ld_guard(ld_call *k, const directory_user *user);

/* The server's schema; NULL with the error set when it cannot be read. */
const ld_schema *ld_schema_of(ld_call *k);

#endif
