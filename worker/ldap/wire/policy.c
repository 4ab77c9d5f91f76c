/* Owns the server's word on our own password: the password policy control in the answer to a bind
 * (draft-behera-ldap-password-policy). Must not know who binds. */
#include "worker/ldap/wire/ber.h"
#include "worker/ldap/wire/session.h"

#define WARNING 0xa0u
#define TIME_BEFORE_EXPIRATION 0x80u
#define GRACE_LOGINS 0x81u
#define ERROR 0x81u

static const char *text_of(ber_int_t error)
{
    switch (error) {
    case PP_passwordExpired:
        return "the password has expired: set a new one and write it to bindPasswordFile";
    case PP_accountLocked: return "the account is locked: unlock it";
    case PP_changeAfterReset:
        return "the password was reset and must be changed before anything else is allowed";
    default: return NULL;
    }
}

const char *ld_policy_heard(directory *d, LDAPControl **controls)
{
    int there;
    ber_int_t number = 0, error = PP_noError;
    ber_len_t len;
    BerElement *ber = ld_control_ber(controls, LDAP_CONTROL_PASSWORDPOLICYRESPONSE, &there);
    d->password_ends = 0;
    d->password_grace = -1;
    if (!ber) {
        return NULL;
    }
    ber_skip_tag(ber, &len); /* the sequence */
    if (ber_peek_tag(ber, &len) == WARNING) {
        ber_skip_tag(ber, &len);
        ber_tag_t kind = ber_peek_tag(ber, &len);
        if (ber_get_int(ber, &number) != LBER_ERROR && number >= 0) {
            d->password_ends = kind == TIME_BEFORE_EXPIRATION
                                   ? ida_now(d->env) + number * INT64_C(1000)
                                   : 0;
            d->password_grace = kind == GRACE_LOGINS ? (int)number : -1;
        }
    }
    if (ber_peek_tag(ber, &len) == ERROR) {
        ber_get_enum(ber, &error);
    }
    ber_free(ber, 1);
    return text_of(error);
}
