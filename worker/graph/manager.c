/* Owns managers: setting, clearing, reading. Must not know the reason. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "core/base/json.h"
#include "worker/graph/url.h"
#include "worker/graph/user.h"

static directory_class put_manager(graph_call *k, const char *id, const char *manager_upn,
                                   const char **manager_id)
{
    const graph_request find = {.method = "GET",
                                .url = graph_user_url(k->g, k->pool, manager_upn, "?$select=id"),
                                .doing = "reading the manager"};
    graph_answer answer;
    directory_class class = graph_needs(k, graph_read(k, &find, &answer), "User.Read.All", 0);
    const char *found = class ? NULL : ida_json_string(answer.json, "id");
    if (class || !found) {
        k->e->field = class == DIRECTORY_NOT_FOUND ? "manager" : k->e->field;
        return class ? class
                     : graph_fail(k, DIRECTORY_TRANSIENT, NULL,
                                  "reading the manager: the answer is no user");
    }
    const graph_request put = {.method = "PUT",
                               .url = graph_user_url(k->g, k->pool, id, "/manager/$ref"),
                               .json = graph_reference(k, graph_user_url(k->g, k->pool, found, "")),
                               .doing = "setting the manager"};
    class = graph_needs(k, graph_write(k, &put, &answer), "User.ReadWrite.All", 0);
    if (class == DIRECTORY_INVALID && graph_missing_reference(&answer)) {
        class = DIRECTORY_LAG;
        k->e->class = class;
    }
    *manager_id = found;
    return class;
}

/* A 404 means that there is no manager or no user: find out which. */
static directory_class who_is_missing(graph_call *k, const char *id)
{
    const graph_request find = {.method = "GET",
                                .url = graph_user_url(k->g, k->pool, id,
                                                      "?$select=id&$expand=manager($select=id)"),
                                .cost = 2,
                                .doing = "reading the user's manager"};
    graph_answer answer;
    directory_class class = graph_needs(k, graph_read(k, &find, &answer), "User.Read.All", 0);
    if (!class && json_is_object(json_object_get(answer.json, "manager"))) {
        return graph_fail(k, DIRECTORY_LAG, NULL,
                          "clearing the manager: the directory shows one and finds none to clear");
    }
    return class ? class : DIRECTORY_ALREADY;
}

static directory_class clear_manager(graph_call *k, const char *id)
{
    const graph_request clear = {.method = "DELETE",
                                 .url = graph_user_url(k->g, k->pool, id, "/manager/$ref"),
                                 .doing = "clearing the manager"};
    graph_answer answer;
    directory_class class = graph_needs(k, graph_write(k, &clear, &answer), "User.ReadWrite.All",
                                        0);
    return class == DIRECTORY_NOT_FOUND ? who_is_missing(k, id) : class;
}

directory_class graph_set_manager(directory *d, apr_pool_t *pool, const char *id,
                                  const char *manager_upn, const char **manager_id,
                                  directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    *manager_id = NULL;
    directory_class class = graph_guard(&k, id);
    return class ? class
                 : graph_end(&k, manager_upn ? put_manager(&k, id, manager_upn, manager_id)
                                             : clear_manager(&k, id));
}

/* Contacts can have a manager too, but the user API cannot change it. */
static directory_class take_report(void *baton, json_t *item)
{
    apr_array_header_t *ids = baton;
    cache_member report;
    if (graph_member_value(item, &report) && report.kind && strcmp(report.kind, "user") == 0) {
        APR_ARRAY_PUSH(ids, const char *) = apr_pstrdup(ids->pool, report.id);
    }
    return DIRECTORY_OK;
}

directory_class graph_reports(directory *d, apr_pool_t *pool, const char *id,
                              const char *const **ids, int *count, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    apr_array_header_t *found = apr_array_make(pool, 16, sizeof(const char *));
    graph_list list = {
        .request = {.method = "GET",
                    .url = graph_user_url(k.g, pool, id, "/directReports?$select=id&$top=999"),
                    .doing = "reading the user's reports"}};
    directory_class class = graph_needs(&k, graph_each(&k, &list, take_report, found),
                                        "User.Read.All", 0);
    *ids = (const char *const *)found->elts;
    *count = class ? 0 : found->nelts;
    return graph_end(&k, class);
}
