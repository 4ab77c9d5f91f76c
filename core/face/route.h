/* Which operation a method and a path mean, for the faces with doors: REST below /v1/api, the
 * console below /api of its own address. */
#ifndef CORE_FACE_ROUTE_H
#define CORE_FACE_ROUTE_H

#include "core/operation/operation.h"

typedef enum ida_route_kind {
    IDA_ROUTE_OPERATION,    /* route->operation is set */
    IDA_ROUTE_UNKNOWN_PATH, /* 404, but only after authentication */
    IDA_ROUTE_WRONG_METHOD, /* 405 with route->allow, before authentication */
    IDA_ROUTE_OPTIONS       /* 204 with route->allow, no credentials needed */
} ida_route_kind;

typedef struct ida_route {
    ida_route_kind kind;
    const ida_operation *operation;
    const char *path;  /* from the face's root on; "" if the URI does not contain it */
    const char *base;  /* the part before: {base_url} without scheme and host; "" at the root */
    const char *allow; /* "GET, HEAD, POST, DELETE, OPTIONS" of this path, static or in pool;
                          NULL if an operation was found */
} ida_route;

/* `method` as sent ("HEAD" counts as GET), `uri` the decoded path of the request; the part
 * before the root is {base_url}. */
void ida_route_find(apr_pool_t *pool, const ida_face *face, const char *method, const char *uri,
                    ida_route *route);

/* Methods of a path (from the root on), for an Allow header; NULL if the path does not exist. */
const char *ida_route_allow(apr_pool_t *pool, const ida_face *face, const char *path);

#endif
