/* Owns waiting for the messages of an answer, and their results. Must not know what was asked. */
#include <apr_strings.h>

#include "worker/ldap/wire/ber.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"

#define SLICE_MS 1000 /* between two checks of `alive` */

static apr_status_t controls_free(void *baton)
{
    ldap_controls_free(baton);
    return APR_SUCCESS;
}

/* libldap's parsers of these two assert that an object identifier is not empty, as text: a server
 * that sends an empty one, or one that begins with a NUL, would end the process. */
static int nameless(LDAPMessage *message)
{
    ber_tag_t type = (ber_tag_t)ldap_msgtype(message), tag;
    ber_len_t len;
    if (type != LDAP_RES_INTERMEDIATE && type != LDAP_RES_EXTENDED) {
        return 0;
    }
    BerElement *ber = ber_dup(
        ldap_get_message_ber(message)); /* a second reader over the same bytes */
    int found = !ber || ber_skip_tag(ber, &len) == LBER_ERROR;
    struct berval value;
    while (!found && (tag = ber_peek_element(ber, &value)) != LBER_ERROR) {
        int name = tag == LDAP_TAG_IM_RES_OID ||
                   tag == LDAP_TAG_EXOP_RES_OID; /* in part of an answer either is taken for it */
        found = (name && (value.bv_len == 0 || value.bv_val[0] == '\0')) ||
                ber_scanf(ber, "x") == LBER_ERROR;
    }
    ber_free(ber, 0);
    return found;
}

/* The next message of this request; -1 also when the server ends the connection with a notice.
 * libldap passes the notice on if any message is requested. Asked for one request, it would
 * parse the notice itself, assert as above, and leak it. */
static int next_message(LDAP *ld, int message_id, struct timeval *bound, LDAPMessage **message)
{
    int type = ldap_result(ld, LDAP_RES_ANY, LDAP_MSG_ONE, bound, message);
    if (type <= 0) {
        return type;
    }
    int about = ldap_msgid(*message);
    if (about == message_id && !nameless(*message)) {
        return type;
    }
    ldap_msgfree(*message);
    *message = NULL;
    return about == message_id || about == LDAP_RES_UNSOLICITED
               ? -1
               : 0; /* otherwise it is left over from an abandoned request */
}

int ld_wait(ld_call *k, int message_id, LDAPMessage **message)
{
    int64_t start = ida_monotonic(k->d->env), end = k->deadline;
    if (k->idle_ms && start + k->idle_ms < end) {
        end = start + k->idle_ms;
    }
    k->d->wire.until = end;
    *message = NULL;
    for (;;) {
        int64_t left = end - ida_monotonic(k->d->env);
        if (left <= 0) {
            return 0;
        }
        left = left < SLICE_MS ? left : SLICE_MS;
        struct timeval bound = {.tv_sec = (time_t)(left / 1000),
                                .tv_usec = (suseconds_t)(left % 1000 * 1000)};
        int type = next_message(k->d->ld, message_id, &bound, message);
        if (type != 0) {
            return type;
        }
        if (ld_stopped(k)) {
            k->stopped = 1;
            return 0;
        }
    }
}

directory_class ld_parse(ld_call *k, LDAPMessage *message, ld_answer *answer, apr_pool_t *pool)
{
    char *text = NULL;
    answer->controls = NULL;
    int code = ldap_parse_result(k->d->ld, message, &answer->code, NULL, &text, NULL,
                                 &answer->controls, 1);
    answer->text = text && *text ? apr_pstrdup(pool, text) : NULL;
    ldap_memfree(text);
    if (answer->controls) {
        apr_pool_cleanup_register(pool, answer->controls, controls_free, apr_pool_cleanup_null);
    }
    return code == LDAP_SUCCESS ? DIRECTORY_OK
                                : ld_fail_code(k, code, LD_READ, NULL, "read the answer");
}
