/* REST as a pure function: routes, the order of the checks before the body, queries, error
 * bodies, the OpenAPI document. Refusals that need no store are tested without one. */
#include <apr_general.h>
#include <apr_strings.h>
#include <stdlib.h>

#include "core/base/json.h"
#include "core/face/console.h"
#include "core/face/rest.h"
#include "core/operation/param.h"
#include "core/operation/table.h"
#include "core/zone/zone.h"
#include "t/unit/tap.h"

static apr_pool_t *pool;
static ida_env env;

static void route_of(const ida_face *face, const char *method, const char *uri, ida_route_kind kind,
                     const char *operation, const char *base)
{
    ida_route route;
    ida_route_find(pool, face, method, uri, &route);
    ok(route.kind == kind &&
           (operation ? route.operation && strcmp(route.operation->name, operation) == 0
                      : !route.operation || kind == IDA_ROUTE_OPTIONS) &&
           strcmp(route.base, base) == 0,
       "%s %s", method, uri);
}

static void route_is(const char *method, const char *uri, ida_route_kind kind,
                     const char *operation, const char *base)
{
    route_of(&ida_rest_face, method, uri, kind, operation, base);
}

static void test_routes(void)
{
    ida_route route;
    route_is("GET", "/v1/api/user", IDA_ROUTE_OPERATION, "user.get", "");
    route_is("HEAD", "/v1/api/user", IDA_ROUTE_OPERATION, "user.get", "");
    route_is("POST", "/v1/api/user", IDA_ROUTE_OPERATION, "user.create", "");
    route_is("DELETE", "/hr/eu/v1/api/user/", IDA_ROUTE_OPERATION, "user.delete", "/hr/eu");
    route_is("POST", "/v1/api/user/offboard", IDA_ROUTE_OPERATION, "user.delete", "");
    route_is("GET", "/v1/api/v1/api/tasks", IDA_ROUTE_UNKNOWN_PATH, NULL, "");
    route_is("GET", "/v1/api/x/v1/api/audit", IDA_ROUTE_UNKNOWN_PATH, NULL, "");
    route_is("GET", "/hr/v1/api/x/v1/api/audit", IDA_ROUTE_UNKNOWN_PATH, NULL, "/hr");
    route_is("GET", "/v1/apiary/v1/api/tasks", IDA_ROUTE_OPERATION, "task.list", "/v1/apiary");
    route_of(&ida_console_face, "GET", "/console/api/keys", IDA_ROUTE_OPERATION, "key.list",
             "/console");
    route_of(&ida_console_face, "GET", "/console/api/x/api/keys", IDA_ROUTE_UNKNOWN_PATH, NULL,
             "/console");
    route_is("GET", "/v1/apiary/user", IDA_ROUTE_UNKNOWN_PATH, NULL, "");
    route_is("GET", "/v1/api", IDA_ROUTE_UNKNOWN_PATH, NULL, "");
    route_is("GET", "/v1/api/User", IDA_ROUTE_UNKNOWN_PATH, NULL, "");
    route_is("GET", "/v1/api/user/x", IDA_ROUTE_UNKNOWN_PATH, NULL, "");
    route_is("PUT", "/v1/api/user", IDA_ROUTE_WRONG_METHOD, NULL, "");
    route_is("get", "/v1/api/user", IDA_ROUTE_WRONG_METHOD, NULL, "");
    route_is("GET", "/v1/api/user/offboard", IDA_ROUTE_WRONG_METHOD, NULL, "");
    route_is("OPTIONS", "/v1/api/user", IDA_ROUTE_OPTIONS, NULL, "");
    ida_route_find(pool, &ida_rest_face, "PUT", "/v1/api/user", &route);
    is_str(route.allow, "GET, HEAD, POST, DELETE, PATCH, OPTIONS",
           "Allow of a path with several operations");
    ida_route_find(pool, &ida_rest_face, "GET", "/v1/api/user/offboard", &route);
    is_str(route.allow, "POST, OPTIONS", "Allow of an alias");
}

static ida_tenant tenant = {.id = "nordic", .time_zone = "Europe/Stockholm", .public_api = 1};

typedef struct outcome {
    ida_kind kind;
    ida_rest_answer answer;
    ida_question asked;
    ida_call call;
    const char *code, *message;
} outcome;

/* The answer to a request that never needs the store: admission and argument faults. */
static outcome *ask(const char *method, const char *uri, const char *query, const char *type,
                    const char *body, ida_access_level access)
{
    outcome *o = calloc(1, sizeof *o);
    ida_principal *who = apr_pcalloc(pool, sizeof *who);
    ida_route route;
    ida_rest_request request = {.asked = &o->asked,
                                .route = &route,
                                .method = method,
                                .query = query,
                                .content_type = type,
                                .has_body = body != NULL,
                                .body = body,
                                .body_len = body ? strlen(body) : 0};
    who->company = "nordic";
    who->username = "hr";
    who->label = "";
    who->access = access;
    o->call.c = ida_ctx_make(&env, pool);
    o->call.asked = &o->asked;
    o->asked.principal = who;
    o->asked.tenant = &tenant;
    ida_route_find(pool, &ida_rest_face, method, uri, &route);
    o->kind = ida_rest_admit(&o->call, &request, &o->answer);
    if (!o->kind) {
        ida_rest_run(&o->call, &request, &o->answer);
    }
    json_t *error = o->answer.body ? json_object_get(ida_json_load(pool, o->answer.body), "error")
                                   : NULL;
    o->code = ida_json_string(error, "code");
    o->message = ida_json_string(error, "message");
    return o;
}

static void refusal(outcome *o, int status, const char *code, const char *words, const char *name)
{
    ok(o->answer.status == status && o->code && strcmp(o->code, code) == 0 && o->message &&
           strstr(o->message, words),
       "%s", name);
    if (o->answer.status != status || !o->message || !strstr(o->message, words)) {
        printf("# %d %s\n", o->answer.status, o->answer.body ? o->answer.body : "-");
    }
    ok(o->call.audit && strcmp(o->call.audit->outcome, code) == 0 && !o->call.audit_written,
       "%s: its audit record", name);
    free(o);
}

static void test_refusals(void)
{
    refusal(ask("GET", "/v1/api/nothing", NULL, NULL, NULL, IDA_ACCESS_FULL), 404, "NOT_FOUND",
            "/v1/api/nothing", "an unknown path");
    refusal(ask("POST", "/v1/api/user", NULL, "application/json", "{}", IDA_ACCESS_READ_ONLY), 403,
            "FORBIDDEN", "read-only", "a write with a read-only key");
    refusal(ask("POST", "/v1/api/user", NULL, "text/plain", "{}", IDA_ACCESS_FULL), 415,
            "UNSUPPORTED_MEDIA_TYPE", "application/json", "another type");
    refusal(ask("POST", "/v1/api/user", NULL, "application/jsonp", "{}", IDA_ACCESS_FULL), 415,
            "UNSUPPORTED_MEDIA_TYPE", "application/json", "a longer type");
    refusal(ask("POST", "/v1/api/user", NULL, NULL, "{}", IDA_ACCESS_LEGACY), 415,
            "UNSUPPORTED_MEDIA_TYPE", "application/json", "no type");
    refusal(ask("POST", "/v1/api/user", NULL, "Application/JSON;charset=utf-8", "[]",
                IDA_ACCESS_LEGACY),
            400, "BAD_REQUEST", "object", "a type with parameters is good, an array is not");
    refusal(ask("GET", "/v1/api/user", NULL, NULL, NULL, IDA_ACCESS_READ_ONLY), 400, "BAD_REQUEST",
            "userPrincipalName: is required", "a missing parameter");
    refusal(ask("GET", "/v1/api/user", "userPrincipalName=a&x=1&x=2", NULL, NULL,
                IDA_ACCESS_READ_ONLY),
            400, "BAD_REQUEST", "x: is given more than once", "a doubled parameter");
    refusal(ask("GET", "/v1/api/user", "userPrincipalName=a&y=1", NULL, NULL, IDA_ACCESS_READ_ONLY),
            400, "BAD_REQUEST", "y: is no parameter", "an unknown parameter");
    refusal(ask("GET", "/v1/api/user", "userPrincipalName=%zz", NULL, NULL, IDA_ACCESS_READ_ONLY),
            400, "BAD_REQUEST", "percent", "a bad escape");
    refusal(ask("GET", "/v1/api/user", "userPrincipalName=a%", NULL, NULL, IDA_ACCESS_READ_ONLY),
            400, "BAD_REQUEST", "percent", "an escape cut off");
    refusal(ask("GET", "/v1/api/user", "userPrincipalName=%00", NULL, NULL, IDA_ACCESS_READ_ONLY),
            400, "BAD_REQUEST", "percent", "a NUL");
    refusal(ask("GET", "/v1/api/tasks", "limit=201&state=gone", NULL, NULL, IDA_ACCESS_READ_ONLY),
            400, "BAD_REQUEST",
            "limit: must be a whole number from 1 to 200; state: must name one or more of",
            "two faults at once");
    char many[4000] = "";
    for (int i = 0; i < 600; i++) {
        snprintf(many + strlen(many), sizeof many - strlen(many), "p%d&", i);
    }
    refusal(ask("GET", "/v1/api/tasks", many, NULL, NULL, IDA_ACCESS_READ_ONLY), 400, "BAD_REQUEST",
            "and 500 more faults", "hundreds of faults");
    refusal(ask("GET", "/v1/api/tasks", "limit=", NULL, NULL, IDA_ACCESS_READ_ONLY), 400,
            "BAD_REQUEST", "limit", "an empty number");
    refusal(ask("GET", "/v1/api/tasks", "limit=99999999999999999999", NULL, NULL,
                IDA_ACCESS_READ_ONLY),
            400, "BAD_REQUEST", "limit", "a number beyond 64 bits");
    tenant.public_api = 0;
    refusal(ask("GET", "/v1/api/user", NULL, NULL, NULL, IDA_ACCESS_READ_ONLY), 403, "FORBIDDEN",
            "Public API module", "the module is off");
    refusal(ask("GET", "/v1/api/nothing", NULL, NULL, NULL, IDA_ACCESS_READ_ONLY), 404, "NOT_FOUND",
            "/v1/api/nothing", "an unknown path comes first");
    tenant.public_api = 1;
}

static void test_audit(void)
{
    outcome *o = ask(
        "POST", "/v1/api/user", NULL, "application/json",
        "{\"firstname\":\"A\",\"surname\":5,\"profilePhoto\":\"c2VjcmV0\",\"password\":\"hidden\"}",
        IDA_ACCESS_FULL);
    const char *parameters = o->call.audit ? o->call.audit->parameters : NULL;
    ok(parameters && strstr(parameters, "\"firstname\":\"A\"") && !strstr(parameters, "c2VjcmV0") &&
           !strstr(parameters, "hidden"),
       "the audit learns known members, no photo and no unknown member");
    is_str(o->call.audit->endpoint, "POST /v1/api/user", "endpoint");
    is_str(o->call.audit->action, "user.create", "action");
    free(o);
    o = ask("POST", "/v1/api/user", NULL, "application/json",
            "{\"firstname\":[\"hidden\"],\"surname\":{\"a\":\"hidden\"}}", IDA_ACCESS_FULL);
    ok(o->call.audit && !strstr(o->call.audit->parameters, "hidden"),
       "nor what stands inside of lists and objects that should be texts");
    free(o);
}

/* Members of a schema without a type, by name; a generator turns them into "any". */
static const char *untyped(const json_t *schema, const char *name)
{
    const char *key, *found = json_object_get(schema, "type") || json_object_get(schema, "$ref") ||
                                      json_object_get(schema, "anyOf")
                                  ? ""
                                  : apr_pstrcat(pool, " ", name, NULL);
    json_t *value, *items = json_object_get(schema, "items");
    json_object_foreach (json_object_get(schema, "properties"), key, value) {
        found = apr_pstrcat(pool, found, untyped(value, key), NULL);
    }
    return items ? apr_pstrcat(pool, found, untyped(items, name), NULL) : found;
}

static void test_openapi_types(void)
{
    json_t *document = ida_json_load(pool, ida_openapi(pool)), *value, *entry, *one;
    const char *name, *path, *method, *gaps = "";
    size_t i;
    json_object_foreach (json_object_get(json_object_get(document, "components"), "schemas"), name,
                         value) {
        is_str(untyped(value, name), "", name);
    }
    json_object_foreach (json_object_get(document, "paths"), path, value) {
        json_object_foreach (value, method, entry) {
            const char *tag = json_string_value(json_array_get(json_object_get(entry, "tags"), 0));
            int known = 0;
            json_array_foreach (json_object_get(document, "tags"), i, one) {
                known |= tag && strcmp(tag, ida_json_string(one, "name")) == 0;
            }
            if (!known || !ida_json_string(entry, "description") ||
                !ida_json_string(entry, "summary")) {
                gaps = apr_pstrcat(pool, gaps, " ", method, " ", path, NULL);
            }
        }
    }
    is_str(gaps, "", "every operation has a tag that is described, a summary and a description");
}

static void test_openapi_server(void)
{
    const char *document = ida_openapi(pool);
    ok(strstr(document, "\"servers\":[{\"url\":\"/\"}]") != NULL, "at the root");
    ok(ida_openapi_at(pool, document, "/v1/openapi.json") == document, "is what is kept");
    static const char *const bases[][2] = {{"/hr/eu", "\"/hr/eu\""}, {"/a\"b", "\"/a\\\"b\""}};
    for (size_t i = 0; i < 2; i++) {
        const char *uri = apr_pstrcat(pool, bases[i][0], "/v1/openapi.json", NULL);
        const char *at = ida_openapi_at(pool, document, uri);
        ok(ida_json_load(pool, at) &&
               strstr(at, apr_pstrcat(pool, "[{\"url\":", bases[i][1], "}]", NULL)),
           "%s is the base of its addresses", bases[i][0]);
    }
    ok(ida_openapi_at(pool, document, "/\xff/v1/openapi.json") == document,
       "no base that is not UTF-8");
}

static void test_openapi(void)
{
    json_t *document = ida_json_load(pool, ida_openapi(pool)),
           *paths = json_object_get(document, "paths");
    ok(document && json_object_size(paths) >= 4, "the OpenAPI document is JSON with its paths");
    for (int i = 0; ida_operations[i]; i++) {
        if (!(ida_operations[i]->faces & IDA_ON_REST)) {
            continue;
        }
        ok(ida_operations[i]->schema &&
               json_object_get(json_object_get(json_object_get(document, "components"), "schemas"),
                               ida_operations[i]->schema),
           "%s: the schema of its result is described", ida_operations[i]->name);
    }
}

/* Values of `fields=` are members of the schema, and none of them comes unrequested. */
static void test_openapi_user(void)
{
    json_t *schemas = json_object_get(
               json_object_get(ida_json_load(pool, ida_openapi(pool)), "components"), "schemas"),
           *user = json_object_get(schemas, "User");
    const json_t *members = json_object_get(user, "properties");
    const char *const *fields = ida_param_find(ida_op_user_get.params, "fields")->allowed;
    size_t count = 0;
    for (; fields[count]; count++) {
        ok(json_object_get(members, fields[count]) != NULL, "User reports %s", fields[count]);
    }
    is_int((int64_t)json_object_size(members), (int64_t)count, "and of nothing else");
    is_str(ida_json_text(pool, json_object_get(user, "required")), "[\"userPrincipalName\"]",
           "required is what always comes");
}

int main(void)
{
    apr_initialize();
    apr_pool_create(&pool, NULL);
    ida_env_default(&env);
    zone_init(pool);
    test_routes();
    test_refusals();
    test_audit();
    test_openapi();
    test_openapi_user();
    test_openapi_types();
    test_openapi_server();
    apr_pool_destroy(pool);
    apr_terminate();
    return done();
}
