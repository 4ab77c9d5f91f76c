/* Owns paged searches: their size, which a server may refuse, and their cookies, which belong to
 * one connection. Must not know what entries contain. */
#include <apr_strings.h>

#include "worker/ldap/wire/ber.h"
#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

#define PAGE 500

typedef struct page_state {
    ld_each each;
    void *baton;
    apr_pool_t *entry_pool;
} page_state;

static directory_class page_entry(ld_call *k, int type, LDAPMessage *message, void *baton)
{
    page_state *p = baton;
    if (type != LDAP_RES_SEARCH_ENTRY) {
        return DIRECTORY_OK;
    }
    const ld_entry *entry = ld_entry_read(k->d->ld, message, p->entry_pool);
    directory_class class = entry ? p->each(entry, p->entry_pool, p->baton) : ld_unreadable(k);
    apr_pool_clear(p->entry_pool);
    return class;
}

/* The cookie of a page's answer into `cookie` (freed by the caller): none where it is the last
 * page. What cannot be read must not pass for the end: the rest would count as gone. */
static directory_class page_cookie(ld_call *k, const char *doing, LDAPControl **controls,
                                   struct berval *cookie)
{
    int there;
    BerElement *ber = ld_control_ber(controls, LDAP_CONTROL_PAGEDRESULTS, &there);
    ber_int_t estimate;
    int good = !there || (ber && ber_scanf(ber, "{io}", &estimate, cookie) != LBER_ERROR);
    ber_free(ber, 1);
    return good ? DIRECTORY_OK
                : ld_fail(k, DIRECTORY_CONFIG, NULL,
                          "%s: %s: the server ended a page without saying whether more follows",
                          ld_server_url(k->d), doing);
}

directory_class ld_paged(ld_call *k, const ld_query *query, ld_each each, void *baton)
{
    page_state p = {.each = each, .baton = baton};
    struct berval cookie = {0};
    ber_int_t size = PAGE;
    directory_class class;
    int more = 1;
    apr_pool_create(&p.entry_pool, k->pool);
    apr_pool_t *whole = k->pool, *page_pool;
    apr_pool_create(&page_pool, whole);
    while (more) {
        LDAPControl *paging = NULL,
                    *controls[3] = {NULL, query->controls ? query->controls[0] : NULL, NULL};
        ld_answer answer = {0};
        ld_query page = *query;
        LDAP *before = k->d->ld;
        int first = cookie.bv_len == 0;
        more = 0;
        if (first) {
            class = ld_ready(k);
            before = k->d->ld;
            if (class) {
                break;
            }
        }
        /* The cookie belongs to the connection: on another connection the search would have to
         * restart. */
        if (!before ||
            ldap_create_page_control(before, size, &cookie, 1, &paging) != LDAP_SUCCESS) {
            class = ld_fail(k, DIRECTORY_LOCAL, NULL, "no page control could be made");
            break;
        }
        controls[0] = paging;
        page.controls = controls;
        k->pool = page_pool;
        class = ld_stream(k, &page, page_entry, &p, &answer);
        if (!class && answer.code != LDAP_SUCCESS) {
            int refused = answer.code == LDAP_ADMINLIMIT_EXCEEDED ||
                          answer.code == LDAP_SIZELIMIT_EXCEEDED;
            class = ld_fail_read(k, query, &answer);
            /* A limit exceeded on the first page may concern its size even though entries
             * arrived: begin again; duplicates are removed. */
            if (refused && first && size > 1) {
                size /= 2;
                more = 1;
                class = DIRECTORY_OK;
            }
        } else if (!class) {
            ldap_memfree(cookie.bv_val);
            cookie = (struct berval){0};
            class = page_cookie(k, query->doing, answer.controls, &cookie);
            more = cookie.bv_len > 0;
        }
        k->pool = whole;
        k->e->message = apr_pstrdup(whole, k->e->message);
        k->e->field = k->e->field ? apr_pstrdup(whole, k->e->field) : NULL;
        ldap_control_free(paging);
        apr_pool_clear(page_pool);
        if (!class && ld_stopped(k)) {
            class = ld_fail(k, DIRECTORY_LOCAL, NULL, "%s: %s: stopped", ld_server_url(k->d),
                            query->doing);
        }
        more = more && !class;
    }
    ldap_memfree(cookie.bv_val);
    apr_pool_destroy(page_pool);
    apr_pool_destroy(p.entry_pool);
    return class;
}
