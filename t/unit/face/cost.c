/* Judging a request's body costs processor time in proportion to its values: each operation that
 * takes a body is asked with very many members of each kind, none of which needs a store. */
#include <apr_general.h>
#include <apr_strings.h>
#include <stdlib.h>

#include "core/base/json.h"
#include "core/face/console.h"
#include "core/face/rest.h"
#include "core/operation/param.h"
#include "core/operation/table.h"
#include "core/zone/zone.h"
#include "t/unit/linear.h"

static apr_pool_t *pool;
static ida_env env;
static ida_tenant tenant = {
    .id = "nordic", .time_zone = "Europe/Stockholm", .public_api = 1, .access_governance = 1};

/* A body with so many members, or with a member that is a list of so many. */
typedef struct shape {
    const char *name, *before, *after; /* of one of many parts: a number stands between */
    const char *list;                  /* the member whose values the parts are; NULL: the body's */
} shape;

typedef struct asking {
    const ida_operation *op;
    const shape *shape;
    int refused;
} asking;

static const char *body_of(apr_pool_t *own, const shape *s, int values)
{
    apr_array_header_t *parts = apr_array_make(own, values + 2, sizeof(const char *));
    APR_ARRAY_PUSH(parts, const char *) = s->list ? ida_printf(own, "{\"%s\":[0", s->list)
                                                  : "{\"surname\":0";
    for (int i = 0; i < values; i++) {
        APR_ARRAY_PUSH(parts, const char *) = ida_printf(own, ",\"%s%d%s", s->before, i, s->after);
    }
    APR_ARRAY_PUSH(parts, const char *) = s->list ? "]}" : "}";
    return apr_array_pstrcat(own, parts, 0);
}

static double judge(int values, void *baton)
{
    asking *a = baton;
    apr_pool_t *own;
    apr_pool_create(&own, pool);
    const char *body = body_of(own, a->shape, values);
    ida_principal who = {.company = "nordic",
                         .username = "hr",
                         .label = "",
                         .access = IDA_ACCESS_FULL,
                         .decisions = 1};
    ida_question asked = {.principal = &who, .tenant = &tenant};
    ida_call call = {.c = ida_ctx_make(&env, own), .asked = &asked};
    ida_rest_answer answer;
    ida_route route;
    ida_rest_request request = {.asked = &asked,
                                .route = &route,
                                .method = a->op->method,
                                .content_type = "application/json",
                                .has_body = 1,
                                .body = body,
                                .body_len = strlen(body)};
    ida_route_find(own, &ida_rest_face, request.method,
                   apr_pstrcat(own, "/v1/api", a->op->path, NULL), &route);
    double before = linear_clock();
    if (!ida_rest_admit(&call, &request, &answer)) {
        ida_rest_run(&call, &request, &answer);
    }
    double took = linear_clock() - before;
    a->refused = answer.status == 400;
    apr_pool_destroy(own);
    return took;
}

static void bodies(const ida_operation *op)
{
    const shape plain = {"unknown members", "m", "\":1", NULL},
                alike = {"members in letters that look alike", "d\\u0430te", "\":1", NULL};
    asking a = {op, &plain, 0};
    linear(ida_printf(pool, "%s, %s", op->name, plain.name), judge, &a);
    ok(a.refused, "%s: such a body is refused", op->name);
    a.shape = &alike;
    linear(ida_printf(pool, "%s, %s", op->name, alike.name), judge, &a);
    for (const ida_param *p = op->body; p->name; p++) {
        const shape list = {p->name, "v", "\"", p->name};
        a.shape = &list;
        linear(ida_printf(pool, "%s, a list as %s", op->name, p->name), judge, &a);
    }
}

int main(void)
{
    apr_initialize();
    apr_pool_create(&pool, NULL);
    ida_env_default(&env);
    zone_init(pool);
    for (const ida_operation *const *op = ida_operations; *op; op++) {
        if ((*op)->body && ((*op)->faces & IDA_ON_REST)) {
            bodies(*op);
        }
    }
    apr_pool_destroy(pool);
    apr_terminate();
    return done();
}
