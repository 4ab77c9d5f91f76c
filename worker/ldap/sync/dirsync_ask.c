/* Owns the DirSync control: its request, its answer, and the right to use it. Must not know what
 * happens to the entries. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"
#include "worker/ldap/sync/dirsync.h"
#include "worker/ldap/sync/sync.h"
#include "worker/ldap/wire/ber.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

#define DIRSYNC "1.2.840.113556.1.4.841"
#define SHOW_DELETED "1.2.840.113556.1.4.417"
/* 0x80000000: a change of one member is one value, not the whole list */
#define INCREMENTAL_VALUES INT32_MIN
#define ANSWER_BYTES (1 << 20)

const char *const ld_dirsync_kinds =
    "(|(objectClass=user)(objectClass=group)(objectClass=organizationalUnit)(objectClass=container)"
    "(objectClass=builtinDomain))";

static LDAPControl *request_control(const struct berval *cookie)
{
    LDAPControl *control = NULL;
    struct berval value = {0}, none = {.bv_val = (char *)(uintptr_t) "", .bv_len = 0};
    BerElement *ber = ber_alloc_t(LBER_USE_DER);
    if (ber &&
        ber_printf(ber, "{iiO}", (ber_int_t)INCREMENTAL_VALUES, (ber_int_t)ANSWER_BYTES,
                   cookie->bv_len ? cookie : &none) != -1 &&
        ber_flatten2(ber, &value, 0) == 0) {
        ldap_control_create(DIRSYNC, 1, &value, 1, &control);
    }
    ber_free(ber, 1);
    return control;
}

int ld_dirsync_answer(apr_pool_t *pool, const ld_answer *answer, int *more, struct berval *cookie)
{
    int there;
    BerElement *ber = ld_control_ber(answer->controls, DIRSYNC, &there);
    ber_int_t flag = 0, size = 0;
    struct berval value = {0};
    int good = ber && ber_scanf(ber, "{iim}", &flag, &size, &value) != LBER_ERROR &&
               value.bv_len > 0;
    if (good) {
        *more = flag != 0;
        *cookie = ld_bytes(pool, &value);
    }
    ber_free(ber, 1);
    return good;
}

int ld_dirsync_cookie(apr_pool_t *pool, const char *token, struct berval *cookie)
{
    size_t len = 0;
    cookie->bv_val = token ? (char *)ida_base64_decode(pool, token, strlen(token), &len) : NULL;
    cookie->bv_len = len;
    return cookie->bv_val && len;
}

directory_class ld_dirsync_ask(ld_call *k, const struct berval *cookie, const char *filter,
                               const char *const *attributes, ld_take each, void *baton,
                               ld_answer *answer, const char **root)
{
    LDAPControl *control = request_control(cookie),
                *controls[] = {control, *ld_identities(k->d), NULL};
    directory_class class = control ? ld_ready(k)
                                    : ld_fail(k, DIRECTORY_LOCAL, NULL,
                                              "no DirSync control could be made");
    if (!class && !k->d->root) {
        class = ld_fail(k, DIRECTORY_CONFIG, NULL, "%s: the server shows no defaultNamingContext",
                        ld_server_url(k->d));
    }
    if (!class) {
        const ld_query query = {.base = *root = apr_pstrdup(k->pool, k->d->root),
                                .scope = LDAP_SCOPE_SUBTREE,
                                .filter = filter,
                                .attributes = attributes,
                                .controls = controls,
                                .phase = LD_BASE,
                                .doing = "DirSync"};
        class = ld_stream(k, &query, each, baton, answer);
    }
    ldap_control_free(control);
    return class;
}

directory_class ld_dirsync_deletions(ld_call *k, const char *root, int *shown)
{
    LDAPControl show = {.ldctl_oid = (char *)(uintptr_t)SHOW_DELETED, .ldctl_iscritical = 1},
                *controls[] = {&show, NULL};
    const ld_query query = {
        .base = apr_pstrcat(k->pool, "<WKGUID=18E2EA80684F11D2B9AA00C04F79F805,", root, ">", NULL),
        .scope = LDAP_SCOPE_BASE,
        .filter = "(objectClass=*)",
        .controls = controls,
        .limit = 1,
        .phase = LD_READ,
        .doing = "look at the deleted objects"};
    const ld_entry **rows;
    directory_class class = ld_search(k, &query, &rows, shown);
    return class == DIRECTORY_NOT_FOUND || class == DIRECTORY_FORBIDDEN ? DIRECTORY_OK : class;
}

/* --- the right --- */

directory_class ld_dirsync_right(ld_call *k, int *deletions)
{
    const struct berval none = {0};
    const char *root = NULL;
    ld_answer answer = {0};
    /* One entry is enough: this tests the right, not the content. */
    directory_class class = ld_dirsync_ask(k, &none, "(objectClass=builtinDomain)", NULL, NULL,
                                           NULL, &answer, &root);
    if (!class && answer.code != LDAP_SUCCESS) {
        class = ld_fail_code(k, answer.code, LD_BASE, answer.text, "DirSync");
    }
    return class ? class : ld_dirsync_deletions(k, root, deletions);
}
