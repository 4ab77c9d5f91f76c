/* Owns the list of accounts that must never be changed: protectedAccounts, and accounts that
 * hold a directory role directly or through a group. Must not know the intended change. */
#include <apr_strings.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/url.h"
#include "worker/graph/user.h"

#define ROLE_TYPE "#microsoft.graph.directoryRole"
#define CLEARED_MS 60000 /* how long a check is valid: a task changes one account many times */

static int cleared(const graph *g, const char *id)
{
    return strcmp(g->cleared, id) == 0 && ida_monotonic(g->env) < g->cleared_until;
}

void graph_guard_clear(graph *g, const char *id)
{
    if (strlen(id) < sizeof g->cleared) {
        strcpy(g->cleared, id);
        g->cleared_until = ida_monotonic(g->env) + CLEARED_MS;
    }
}

static directory_class read_upn(graph_call *k, const char *id, const char **upn)
{
    const graph_request get = {.method = "GET",
                               .url = graph_user_url(k->g, k->pool, id,
                                                     "?$select=userPrincipalName"),
                               .doing = "reading the user"};
    graph_answer answer;
    directory_class class = graph_needs(k, graph_read(k, &get, &answer), "User.Read.All", 0);
    const char *text = class ? NULL : ida_json_string(answer.json, "userPrincipalName");
    *upn = text ? text : id;
    return class;
}

/* The UPN is read only if the document names one. */
static directory_class named(graph_call *k, const char *id)
{
    const json_t *value;
    const char *upn = NULL;
    size_t i;
    json_array_foreach (k->g->protected_accounts, i, value) {
        const char *name = json_string_value(value);
        int by_upn = strchr(name, '@') != NULL;
        directory_class class = by_upn && !upn ? read_upn(k, id, &upn) : DIRECTORY_OK;
        if (class) {
            return class;
        }
        if (strcmp(ida_fold_address(k->pool, name), ida_fold_address(k->pool, by_upn ? upn : id)) ==
            0) {
            return graph_fail(k, DIRECTORY_PROTECTED, NULL,
                              "%s is one of protectedAccounts: it is never changed", name);
        }
    }
    return DIRECTORY_OK;
}

typedef struct role_seen {
    apr_pool_t *pool;
    const char *name; /* NULL: none */
} role_seen;

/* Without the permission to read roles the API returns only their type and ID. */
static directory_class note_role(void *baton, json_t *item)
{
    role_seen *role = baton;
    const char *type = ida_json_string(item, "@odata.type"),
               *name = ida_json_string(item, "displayName"), *id = ida_json_string(item, "id");
    if (type && strcasecmp(type, ROLE_TYPE) == 0) {
        role->name = apr_pstrdup(role->pool, name ? name : id ? id : "of an unknown name");
    }
    return DIRECTORY_OK;
}

static directory_class in_role(graph_call *k, const char *id)
{
    graph_list list = {
        .request = {.method = "GET",
                    .url = graph_user_url(k->g, k->pool, id,
                                          "/transitiveMemberOf?$top=999&$select=id,displayName"),
                    .doing = "looking for the user's directory roles"}};
    role_seen role = {.pool = k->pool};
    const char *upn;
    directory_class class = graph_needs(k, graph_each(k, &list, note_role, &role),
                                        "GroupMember.Read.All", 0);
    if (class || !role.name) {
        return class;
    }
    read_upn(k, id, &upn);
    return graph_fail(k, DIRECTORY_PROTECTED, NULL,
                      "%s holds the directory role %s: accounts of administrators are never "
                      "changed. Take the role away first, or do by hand what this was for",
                      upn, role.name);
}

directory_class graph_guard(graph_call *k, const char *id)
{
    if (cleared(k->g, id)) {
        return DIRECTORY_OK;
    }
    directory_class class = named(k, id);
    class = class ? class : in_role(k, id);
    if (class == DIRECTORY_NOT_FOUND) { /* the answer to the change itself will be clearer */
        *k->e = (directory_error){.class = DIRECTORY_OK};
        return DIRECTORY_OK;
    }
    if (!class) {
        graph_guard_clear(k->g, id);
    }
    return class;
}
