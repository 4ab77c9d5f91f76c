/* Owns the doors of the operations: roots, paths, methods. Must not know what an operation does. */
#include "core/face/route.h"
#include "core/operation/table.h"

#include <apr_strings.h>
#include <string.h>

/* Splits at the first root: the part before it is {base_url}. Splitting at a later one would let
 * /v1/api/x/v1/api/audit pass a Location that denies /v1/api/audit. A single trailing slash is
 * not part of the name. */
static void split_uri(apr_pool_t *pool, const char *root, const char *uri, ida_route *route)
{
    size_t root_len = strlen(root);
    const char *found = strstr(uri, root);
    while (found && found[root_len] != '/' && found[root_len] != '\0') {
        found = strstr(found + 1, root);
    }
    size_t len = found ? strlen(found) : 0;
    route->base = found ? apr_pstrmemdup(pool, uri, (apr_size_t)(found - uri)) : "";
    route->path = !found                                    ? ""
                  : len > root_len && found[len - 1] == '/' ? apr_pstrmemdup(pool, found, len - 1)
                                                            : found;
}

/* The name after the root: "/user"; "" for none. */
static const char *name_in(const ida_face *face, const char *path)
{
    return *path ? path + strlen(face->root) : "";
}

/* Whether the operation has this door. */
static int opens(const ida_operation *op, const ida_face *face, const char *method,
                 const char *name)
{
    if (!(op->faces & face->bit)) {
        return 0;
    }
    return (strcmp(op->path, name) == 0 && strcmp(op->method, method) == 0) ||
           (op->alias_path && strcmp(op->alias_path, name) == 0 &&
            strcmp(op->alias_method, method) == 0);
}

static void allow_add(apr_pool_t *pool, const char **allow, const char *method)
{
    *allow = apr_pstrcat(pool, *allow, **allow ? ", " : "", method,
                         strcmp(method, "GET") == 0 ? ", HEAD" : "", NULL);
}

const char *ida_route_allow(apr_pool_t *pool, const ida_face *face, const char *path)
{
    const char *allow = "", *name = name_in(face, path);
    for (int i = 0; ida_operations[i]; i++) {
        const ida_operation *op = ida_operations[i];
        if (op->faces & face->bit && strcmp(op->path, name) == 0) {
            allow_add(pool, &allow, op->method);
        }
        if (op->faces & face->bit && op->alias_path && strcmp(op->alias_path, name) == 0) {
            allow_add(pool, &allow, op->alias_method);
        }
    }
    return *allow ? apr_pstrcat(pool, allow, face->options ? ", OPTIONS" : "", NULL) : NULL;
}

void ida_route_find(apr_pool_t *pool, const ida_face *face, const char *method, const char *uri,
                    ida_route *route)
{
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    int found = 0, options = strcmp(method, "OPTIONS") == 0 && face->options;
    split_uri(pool, face->root, uri, route);
    const char *name = name_in(face, route->path);
    while (ida_operations[found] && !opens(ida_operations[found], face, wanted, name)) {
        found++;
    }
    route->operation = ida_operations[found];
    route->allow = NULL;
    route->kind = IDA_ROUTE_OPERATION;
    if (!route->operation) {
        route->allow = ida_route_allow(pool, face, route->path);
        route->kind = options        ? IDA_ROUTE_OPTIONS
                      : route->allow ? IDA_ROUTE_WRONG_METHOD
                                     : IDA_ROUTE_UNKNOWN_PATH;
        route->allow = route->allow ? route->allow : "GET, HEAD, OPTIONS";
    }
}
