/* Owns the table that turns result codes into failure classes. Must not know connections. */
#include "worker/ldap/wire/error.h"

#include <apr_strings.h>
#include <ctype.h>
#include <ldap.h>
#include <string.h>

#include "core/base/text.h"

#define ANY (LD_TLS | LD_BIND | LD_READ | LD_BASE | LD_WRITE | LD_MEMBER | LD_SWAP)
#define WRITES (LD_WRITE | LD_MEMBER | LD_SWAP)

typedef struct rule {
    int code, phases;
    const char *text; /* must occur in the diagnostic message, case-insensitively; NULL: any */
    directory_class class;
} rule;

/* The first match wins: rows with a text come before the general row of their code. */
static const rule rules[] = {
    {LDAP_SUCCESS, ANY, NULL, DIRECTORY_OK},
    /* the peer or the network */
    {LDAP_SERVER_DOWN, WRITES, NULL, DIRECTORY_UNSURE},
    {LDAP_TIMEOUT, WRITES, NULL, DIRECTORY_UNSURE},
    {LDAP_SERVER_DOWN, ANY, NULL, DIRECTORY_TRANSIENT},
    {LDAP_TIMEOUT, ANY, NULL, DIRECTORY_TRANSIENT},
    {LDAP_X_CONNECTING, ANY, NULL, DIRECTORY_TRANSIENT},
    /* a peer that closes the connection during the TLS handshake is a network fault; the texts
     * of GnuTLS and OpenSSL */
    {LDAP_CONNECT_ERROR, LD_TLS, "terminated", DIRECTORY_TRANSIENT},
    {LDAP_CONNECT_ERROR, LD_TLS, "pull function", DIRECTORY_TRANSIENT},
    {LDAP_CONNECT_ERROR, LD_TLS, "push function", DIRECTORY_TRANSIENT},
    {LDAP_CONNECT_ERROR, LD_TLS, "reset by peer", DIRECTORY_TRANSIENT},
    {LDAP_CONNECT_ERROR, LD_TLS, "unexpected eof", DIRECTORY_TRANSIENT},
    {LDAP_CONNECT_ERROR, LD_TLS, NULL, DIRECTORY_CONFIG},
    {LDAP_CONNECT_ERROR, ANY, NULL, DIRECTORY_TRANSIENT},
    /* a busy or stopping server */
    {LDAP_BUSY, ANY, NULL, DIRECTORY_TRANSIENT},
    {LDAP_UNAVAILABLE, ANY, NULL, DIRECTORY_TRANSIENT},
    {LDAP_TIMELIMIT_EXCEEDED, ANY, NULL, DIRECTORY_TRANSIENT},
    {LDAP_CANCELLED, ANY, NULL, DIRECTORY_TRANSIENT},
    {LDAP_OPERATIONS_ERROR, ANY, "0000200E", DIRECTORY_TRANSIENT},
    {LDAP_OPERATIONS_ERROR, ANY, "0000200F", DIRECTORY_TRANSIENT},
    {LDAP_OPERATIONS_ERROR, ANY, "000004DC", DIRECTORY_TRANSIENT},
    {LDAP_OPERATIONS_ERROR, ANY, "00002020", DIRECTORY_TRANSIENT},
    {LDAP_OTHER, ANY, "0000200E", DIRECTORY_TRANSIENT},
    {LDAP_OTHER, ANY, "0000200F", DIRECTORY_TRANSIENT},
    {LDAP_OTHER, ANY, NULL, DIRECTORY_TRANSIENT},
    {LDAP_ASSERTION_FAILED, ANY, NULL, DIRECTORY_TRANSIENT},
    /* the sync token */
    {LDAP_SYNC_REFRESH_REQUIRED, ANY, NULL, DIRECTORY_TOKEN_LOST},
    {LDAP_UNWILLING_TO_PERFORM, ANY, "newer than provider", DIRECTORY_TOKEN_LOST},
    /* the value to be replaced has changed: read again */
    {LDAP_NO_SUCH_ATTRIBUTE, LD_SWAP, NULL, DIRECTORY_UNSURE},
    /* memberships that are so already; the caller re-reads before believing it */
    {LDAP_TYPE_OR_VALUE_EXISTS, LD_MEMBER, NULL, DIRECTORY_ALREADY},
    {LDAP_NO_SUCH_ATTRIBUTE, LD_MEMBER, NULL, DIRECTORY_ALREADY},
    {LDAP_ALREADY_EXISTS, LD_MEMBER, NULL, DIRECTORY_ALREADY},
    {LDAP_UNWILLING_TO_PERFORM, LD_MEMBER, "00000561", DIRECTORY_ALREADY},
    {LDAP_UNWILLING_TO_PERFORM, LD_MEMBER, "00000562", DIRECTORY_ALREADY},
    /* names that are taken */
    {LDAP_ALREADY_EXISTS, ANY, NULL, DIRECTORY_CONFLICT},
    {LDAP_CONSTRAINT_VIOLATION, ANY, "non-unique attributes found", DIRECTORY_CONFLICT},
    {LDAP_CONSTRAINT_VIOLATION, ANY, "000021C8", DIRECTORY_CONFLICT},
    {LDAP_CONSTRAINT_VIOLATION, ANY, "0000202F", DIRECTORY_CONFLICT},
    /* our account: whatever a bind is refused with, it is not to be repeated */
    {LDAP_INVALID_DN_SYNTAX, LD_BIND, NULL, DIRECTORY_CONFIG},
    {LDAP_INVALID_CREDENTIALS, ANY, NULL, DIRECTORY_CREDENTIALS},
    {LDAP_INAPPROPRIATE_AUTH, ANY, NULL, DIRECTORY_CREDENTIALS},
    {LDAP_STRONG_AUTH_REQUIRED, ANY, NULL, DIRECTORY_CREDENTIALS},
    {LDAP_CONFIDENTIALITY_REQUIRED, ANY, NULL, DIRECTORY_CREDENTIALS},
    {LDAP_AUTH_METHOD_NOT_SUPPORTED, ANY, NULL, DIRECTORY_CREDENTIALS},
    {LDAP_AUTH_UNKNOWN, LD_BIND, NULL, DIRECTORY_CREDENTIALS},
    {LDAP_LOCAL_ERROR, LD_BIND, NULL, DIRECTORY_CREDENTIALS}, /* SASL: no ticket, no mechanism */
    {LDAP_INSUFFICIENT_ACCESS, LD_BIND, NULL, DIRECTORY_CREDENTIALS},
    {LDAP_UNWILLING_TO_PERFORM, LD_BIND, NULL, DIRECTORY_CREDENTIALS},
    /* configuration of server or tenant */
    {LDAP_UNWILLING_TO_PERFORM, ANY, "operation restricted", DIRECTORY_CONFIG},
    {LDAP_UNWILLING_TO_PERFORM, ANY, "shadow context", DIRECTORY_CONFIG},
    {LDAP_REFERRAL, ANY, NULL, DIRECTORY_CONFIG},
    {LDAP_UNAVAILABLE_CRITICAL_EXTENSION, ANY, NULL, DIRECTORY_CONFIG},
    {LDAP_PROTOCOL_ERROR, ANY, NULL, DIRECTORY_CONFIG},
    {LDAP_NO_SUCH_OBJECT, LD_BASE, NULL, DIRECTORY_CONFIG},
    {LDAP_SIZELIMIT_EXCEEDED, ANY, NULL, DIRECTORY_CONFIG},
    {LDAP_ADMINLIMIT_EXCEEDED, ANY, NULL, DIRECTORY_CONFIG},
    {LDAP_NO_SUCH_OBJECT, ANY, NULL, DIRECTORY_NOT_FOUND},
    /* what we sent */
    {LDAP_UNWILLING_TO_PERFORM, ANY, "0000052D", DIRECTORY_INVALID},
    {LDAP_CONSTRAINT_VIOLATION, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_INVALID_SYNTAX, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_INVALID_DN_SYNTAX, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_NAMING_VIOLATION, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_OBJECT_CLASS_VIOLATION, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_NOT_ALLOWED_ON_RDN, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_NO_OBJECT_CLASS_MODS, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_UNDEFINED_TYPE, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_TYPE_OR_VALUE_EXISTS, ANY, NULL, DIRECTORY_INVALID},
    {LDAP_NO_SUCH_ATTRIBUTE, ANY, NULL, DIRECTORY_INVALID},
    /* what our account may do */
    {LDAP_INSUFFICIENT_ACCESS, ANY, NULL, DIRECTORY_FORBIDDEN},
    {LDAP_UNWILLING_TO_PERFORM, ANY, NULL, DIRECTORY_FORBIDDEN},
};

static int holds_text(const char *text, const char *part)
{
    return text && strcasestr(text, part) != NULL;
}

int ld_password_refused(int code, const char *text)
{
    if (code != LDAP_CONSTRAINT_VIOLATION && code != LDAP_UNWILLING_TO_PERFORM) {
        return 0;
    }
    return holds_text(text, "0000052D") ||
           (code == LDAP_CONSTRAINT_VIOLATION && holds_text(text, "password"));
}

int ld_password_stands(int code, const char *text)
{
    return code == LDAP_CONSTRAINT_VIOLATION && holds_text(text, "too young");
}

/* slapd: "non-unique attributes found with (|(mail=x))", "title: value #0 invalid per syntax",
 * "attribute 'x' not allowed". */
static const char *attribute_of(apr_pool_t *pool, const char *text)
{
    static const char *const leads[] = {"found with (|(", "found with (", "attribute '",
                                        "attribute type '"};
    if (!text) {
        return NULL;
    }
    const char *at = NULL;
    for (size_t i = 0; i < sizeof leads / sizeof *leads && !at; i++) {
        at = strcasestr(text, leads[i]);
        at = at ? at + strlen(leads[i]) : NULL;
    }
    if (!at && strstr(text, ": value #")) {
        at = text;
    }
    size_t len = 0;
    while (at && (isalnum((unsigned char)at[len]) || at[len] == '-')) {
        len++;
    }
    return len && len < 64 ? apr_pstrmemdup(pool, at, len) : NULL;
}

directory_class ld_classify(apr_pool_t *pool, int code, ld_phase phase, const char *text,
                            const char **field)
{
    directory_class class = code < 0 ? DIRECTORY_LOCAL : DIRECTORY_INVALID;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule *r = &rules[i];
        if (r->code == code && (r->phases & (int)phase) &&
            (!r->text || holds_text(text, r->text))) {
            class = r->class;
            break;
        }
    }
    /* Any answer to a bind concerns our account, never the entry that was to be read: "no such
     * object" must not be taken to mean that the person is gone. */
    if (phase == LD_BIND && class != DIRECTORY_OK && class != DIRECTORY_LOCAL &&
        !directory_holds(class)) {
        class = DIRECTORY_CREDENTIALS;
    }
    *field = NULL;
    if (ld_password_refused(code, text)) {
        *field = "password";
    } else if (class == DIRECTORY_CONFLICT || class == DIRECTORY_INVALID) {
        *field = attribute_of(pool, text);
    }
    return class;
}

const char *ld_code_text(apr_pool_t *pool, int code, const char *text)
{
    const char *name = code == LDAP_SYNC_REFRESH_REQUIRED
                           ? "Content synchronisation refresh required"
                           : ldap_err2string(code);
    const char *detail = text && *text ? ida_clean(pool, text, strlen(text), 300) : NULL;
    return detail ? ida_printf(pool, "%s (%d): %s", name, code, detail)
                  : ida_printf(pool, "%s (%d)", name, code);
}
