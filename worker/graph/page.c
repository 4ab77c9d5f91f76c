/* Owns paged lists: validity of a page, termination of its links, one page in memory at a time.
 * Must not know what an item means. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "worker/graph/request.h"

#define AGAIN_MS 250 /* before a page is requested again */
/* How long, and how often, a page waits within the call if the directory asks to slow down. */
#define PATIENCE_S 15
#define PATIENCE_TIMES 20

json_t *graph_keep(apr_pool_t *pool, json_t *item)
{
    return ida_json_keep(pool, json_incref(item));
}

static directory_class ask(graph_call *k, graph_list *list)
{
    directory_class class = graph_send(k, GRAPH_READ, &list->request, &list->answer);
    const json_t *page = list->answer.json;
    list->next = ida_json_string(page, "@odata.nextLink");
    list->delta = ida_json_string(page, "@odata.deltaLink");
    if (!class && (!json_is_array(json_object_get(page, "value")) || (list->next && list->delta))) {
        class = graph_fail(k, DIRECTORY_TRANSIENT, NULL, "%s: the answer is no list",
                           list->request.doing);
    }
    return class;
}

static void begin_page(graph_call *k, const graph_list *list)
{
    if (list->request.sync) {
        k->deadline = ida_monotonic(k->g->env) + DIRECTORY_CALL_MS;
    }
}

/* If a run ended at the first "slow down" among its many pages, the next one would begin again
 * and meet another: it might never complete, and would put the directory on hold each time. */
static directory_class ask_patiently(graph_call *k, graph_list *list)
{
    directory_class class = ask(k, list);
    for (int times = 0;
         class == DIRECTORY_THROTTLED && list->request.sync && times < PATIENCE_TIMES &&
         k->e->retry_after_s <= PATIENCE_S && graph_rest(k, k->e->retry_after_s * INT64_C(1000));
         times++) {
        begin_page(k, list);
        class = ask(k, list);
    }
    return class;
}

directory_class graph_page(graph_call *k, graph_list *list, graph_item each, void *baton)
{
    begin_page(k, list);
    directory_class class = ask_patiently(k, list);
    if (class == DIRECTORY_TRANSIENT) {
        begin_page(k, list);
        class = graph_pause(k, AGAIN_MS) ? ask(k, list) : class;
    }
    const json_t *items = json_object_get(list->answer.json, "value");
    for (size_t i = 0; !class && i < json_array_size(items); i++) {
        class = each(baton, json_array_get(items, i));
    }
    list->pages += !class;
    return class;
}

directory_class graph_each(graph_call *k, graph_list *list, graph_item each, void *baton)
{
    apr_pool_t *link; /* the next page's address lives longer than the page that contains it */
    /* An earlier address: every cycle meets one again, because the distance between the stored
     * ones doubles (Brent). */
    const char *met = apr_pstrdup(k->pool, list->request.url);
    directory_class class;
    apr_pool_create(&link, k->pool);
    do {
        graph_call page = *k;
        apr_pool_create(&page.pool, k->pool);
        class = graph_page(&page, list, each, baton);
        apr_pool_clear(link);
        list->request.url = list->next = class ? NULL : apr_pstrdup(link, list->next);
        list->delta = apr_pstrdup(k->pool, list->delta);
        if (class) {
            k->e->message = apr_pstrdup(k->pool, k->e->message);
        } else {
            graph_end(k, class);
        }
        apr_pool_destroy(page.pool);
        if (list->next && strcmp(list->next, met) == 0) {
            class = graph_fail(k, DIRECTORY_TRANSIENT, NULL,
                               "%s: the pages lead back to one that was read", list->request.doing);
        } else if (list->next && graph_stopped(k)) {
            class = graph_fail(k, DIRECTORY_LOCAL, NULL, "%s: stopped", list->request.doing);
        } else if (list->next && (list->pages & (list->pages - 1)) == 0) {
            met = apr_pstrdup(k->pool, list->next);
        }
    } while (!class && list->next);
    apr_pool_destroy(link);
    return class;
}
