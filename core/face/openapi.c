/* Makes the OpenAPI 3.1 document from the operation table, so that it always matches the
 * service. */
#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/base/correlation.h"
#include "core/base/json.h"
#include "core/face/rest.h"
#include "core/operation/param.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"

/* --- schemas that several results share --- */

static const ida_field error[] = {OUT_TEXT("code", ALWAYS), OUT_TEXT("message", ALWAYS), OUT_END};
static const ida_field error_body[] = {OUT_OBJECT("error", ALWAYS, error), OUT_END};

static const ida_field group[] = {OUT_TEXT("id", ALWAYS), OUT_TEXT("name", ALWAYS),
                                  OUT_WORD("directory", ALWAYS, ida_directory_names),
                                  OUT_TEXT("reason", SOMETIMES), OUT_END};
static const char *const restored[] = {"queuedOffboarding", "disabledAccount", NULL};
static const ida_field rehire[] = {OUT_WORD("restored", ALWAYS, restored),
                                   OUT_TEXT("cancelledTaskId", SOMETIMES),
                                   OUT_LIST("memberships", SOMETIMES, group),
                                   OUT_LIST("notRevokedThen", SOMETIMES, group), OUT_END};

static const char *const adjustments[] = {"skipped", "doubled", "past", NULL};
static const ida_field seats[] = {OUT_INTEGER("used", ALWAYS),
                                  OUT_INTEGER("limit", ALWAYS | OR_NULL), OUT_END};
static const ida_field planned_access[] = {
    OUT_TEXT("workflow", SOMETIMES), OUT_TEXT("action", ALWAYS),
    OUT_TEXT("group", SOMETIMES),    OUT_TEXT("roleTemplate", SOMETIMES),
    OUT_TEXTS("groups", SOMETIMES),  OUT_END};
static const ida_field plan[] = {OUT_TEXT("userPrincipalName", ALWAYS),
                                 OUT_TEXT("mail", OR_NULL),
                                 OUT_TIME("scheduledAt", SOMETIMES),
                                 OUT_TEXT("displayName", OR_NULL),
                                 OUT_TIME("scheduledAtUtc", SOMETIMES),
                                 OUT_TEXT("timeZone", SOMETIMES),
                                 OUT_WORD("adjustment", ALWAYS | OR_NULL, adjustments),
                                 OUT_OBJECT("seats", ALWAYS, seats),
                                 OUT_TEXTS("steps", ALWAYS),
                                 OUT_LIST("access", ALWAYS, planned_access),
                                 OUT_END};
static const ida_field dry_run[] = {
    OUT_TEXT("message", ALWAYS),          OUT_OBJECT("plan", ALWAYS, plan),
    OUT_TEXTS("warnings", ALWAYS),        OUT_NAMED("rehire", SOMETIMES, "Rehire"),
    OUT_NAMED("task", SOMETIMES, "Task"), OUT_END};

static const char *const types[] = {"userCreate",  "userUpdate",   "userDelete",
                                    "accessGrant", "accessRevoke", NULL};
static const char *const states[] = {"queued",    "running",   "done", "failed",
                                     "attention", "cancelled", NULL};
static const char *const outcomes[] = {"done", "already", "skipped", "failed", "unknown", NULL};
static const char *const ways[] = {"rest", "console", "command", "workflow", NULL};
static const ida_field requested_by[] = {OUT_TEXT("username", SOMETIMES),
                                         OUT_TEXT("label", SOMETIMES),
                                         OUT_WORD("via", SOMETIMES, ways), OUT_END};
static const ida_field hold[] = {OUT_WORD("directory", ALWAYS, ida_directory_names),
                                 OUT_TEXT("reason", ALWAYS), OUT_TIME("since", ALWAYS | OR_NULL),
                                 OUT_TIME("nextProbeAt", ALWAYS | OR_NULL), OUT_END};
static const ida_field step[] = {
    OUT_TEXT("name", SOMETIMES),      OUT_WORD("outcome", OR_NULL, outcomes),
    OUT_TEXT("detail", OR_NULL),      OUT_TIME("at", OR_NULL),
    OUT_INCLUDE(ida_revoked_members), OUT_END};
static const ida_field task[] = {OUT_TEXT("id", ALWAYS),
                                 OUT_WORD("type", ALWAYS, types),
                                 OUT_WORD("state", ALWAYS, states),
                                 OUT_TEXT("userPrincipalName", ALWAYS),
                                 OUT_TEXT("userId", ALWAYS | OR_NULL),
                                 OUT_TEXT("displayName", ALWAYS | OR_NULL),
                                 OUT_WORD("directory", ALWAYS, ida_directory_names),
                                 OUT_TIME("scheduledAt", ALWAYS),
                                 OUT_TIME("scheduledAtUtc", ALWAYS),
                                 OUT_TEXT("timeZone", ALWAYS),
                                 OUT_TIME("createdAt", SOMETIMES),
                                 OUT_TIME("startedAt", OR_NULL),
                                 OUT_TIME("finishedAt", OR_NULL),
                                 OUT_INTEGER("attempts", SOMETIMES),
                                 OUT_TIME("nextAttemptAt", OR_NULL),
                                 OUT_OBJECT("requestedBy", SOMETIMES, requested_by),
                                 OUT_TEXTS("warnings", SOMETIMES),
                                 OUT_TEXT("error", OR_NULL),
                                 OUT_TEXT("correlationId", OR_NULL),
                                 OUT_BOOLEAN("braked", ALWAYS),
                                 OUT_OBJECT("hold", ALWAYS | OR_NULL, hold),
                                 OUT_TEXTS("actions", ALWAYS),
                                 OUT_LIST("steps", ALWAYS, step),
                                 OUT_END};

static const struct {
    const char *name;
    const ida_field *members;
} shared[] = {
    {"Error", error_body}, {"User", ida_user_members}, {"Rehire", rehire}, {"DryRun", dry_run},
    {"Task", task},
};

/* --- headers of answers --- */

static const struct {
    const char *name, *type, *about;
} answer_headers[] = {
    {"RateLimit-Policy", "string",
     "The limits that count this request, by name: q requests in w seconds."},
    {"RateLimit", "string",
     "What is left of each of these limits: r requests until t seconds from now."},
    {"Retry-After", "integer", "Seconds after which the same request may succeed."},
    {"Idempotent-Replayed", "string",
     "true: this is the answer to an earlier request with the same Idempotency-Key."},
    {"WWW-Authenticate", "string", "How to sign in."},
    {IDA_REQUEST_ID, "string",
     "The request's identity, as it was sent or as it was made here: the server's logs, the audit "
     "log and the task have it too."},
};

static json_t *header_list(void)
{
    json_t *list = json_object();
    for (size_t i = 0; i < sizeof answer_headers / sizeof *answer_headers; i++) {
        json_object_set_new(list, answer_headers[i].name,
                            json_pack("{s:s, s:{s:s}}", "description", answer_headers[i].about,
                                      "schema", "type", answer_headers[i].type));
    }
    return list;
}

static void add_header(json_t *response, const char *name)
{
    json_t *list = json_object_get(response, "headers");
    if (!list) {
        list = json_object();
        json_object_set_new(response, "headers", list);
    }
    json_object_set_new(list, name,
                        json_pack("{s:o}", "$ref", json_sprintf("#/components/headers/%s", name)));
}

/* --- operations --- */

/* Examples of query parameters, by name; the bodies' stand in the operations' rows. */
static const struct {
    const char *name, *value;
} parameter_examples[] = {
    {"userPrincipalName", "eva.berg@contoso.example"},
    {"id", "3f1c9b52-8d0e-4a7b-9c55-6b1de0f2a914"},
    {"query", "berg"},
    {"department", "Finance"},
    {"jobTitle", "Controller"},
};

static const char *parameter_example(const char *name)
{
    for (size_t i = 0; i < sizeof parameter_examples / sizeof *parameter_examples; i++) {
        if (strcmp(parameter_examples[i].name, name) == 0) {
            return parameter_examples[i].value;
        }
    }
    return NULL;
}

static json_t *header_parameter(const char *name, const char *about, int max, const char *pattern)
{
    return json_pack("{s:s, s:s, s:b, s:s, s:{s:s, s:i, s:i, s:s}}", "name", name, "in", "header",
                     "required", 0, "description", about, "schema", "type", "string", "minLength",
                     1, "maxLength", max, "pattern", pattern);
}

static json_t *query_parameters(const ida_operation *op)
{
    json_t *list = json_array();
    for (const ida_param *p = op->params; p->name; p++) {
        json_t *entry = json_pack("{s:s, s:s, s:b, s:s, s:o}", "name", p->name, "in", "query",
                                  "required", (p->flags & IDA_PARAM_REQUIRED) != 0, "description",
                                  p->about, "schema", ida_param_schema(p));
        if (p->type == IDA_PARAM_STRING && parameter_example(p->name)) {
            json_object_set_new(entry, "example", json_string(parameter_example(p->name)));
        }
        if (p->type == IDA_PARAM_LIST) { /* a comma-separated list in one parameter */
            json_object_set_new(entry, "style", json_string("form"));
            json_object_set_new(entry, "explode", json_false());
        }
        json_array_append_new(list, entry);
    }
    if (op->scope == IDA_SCOPE_WRITE) {
        json_array_append_new(
            list, header_parameter("Idempotency-Key",
                                   "Chosen by the client, one for each request: the same request "
                                   "under the same key gets the first answer again "
                                   "(Idempotent-Replayed: true) for at least 24 hours.",
                                   IDA_IDEMPOTENCY_KEY_MAX, "^[ -~]+$"));
    }
    json_array_append_new(
        list, header_parameter(IDA_REQUEST_ID,
                               "Identity of the request, chosen by the client. The answer, logs, "
                               "the audit log and the task have it. Anything else than these "
                               "characters is ignored and another one made.",
                               IDA_CORRELATION_MAX, "^[A-Za-z0-9._:+/=-]+$"));
    return list;
}

static json_t *request_body(const ida_operation *op)
{
    json_t *content = json_pack("{s:o}", "schema", ida_params_schema(op->body));
    if (op->example) {
        json_object_set_new(content, "example", json_loads(op->example, 0, NULL));
    }
    return json_pack("{s:b, s:{s:o}}", "required", 1, "content", "application/json", content);
}

static json_t *reference_to(const char *schema)
{
    return json_pack("{s:o}", "$ref", json_sprintf("#/components/schemas/%s", schema));
}

static json_t *json_content(json_t *body)
{
    return json_pack("{s:{s:o}}", "application/json", "schema", body);
}

/* Under `data`; for a write also the answer to a dry run. */
static json_t *success(const ida_operation *op)
{
    json_t *data = op->scope == IDA_SCOPE_WRITE
                       ? json_pack("{s:[o, o]}", "anyOf", reference_to(op->schema),
                                   reference_to("DryRun"))
                       : reference_to(op->schema);
    return json_content(json_pack("{s:s, s:[s], s:{s:o}}", "type", "object", "required", "data",
                                  "properties", "data", data));
}

static json_t *refusal(ida_kind kind)
{
    const char *code = ida_kind_code(kind), *text = ida_kind_text(kind);
    json_t *response = json_pack("{s:s, s:{s:{s:o, s:{s:{s:s, s:s}}}}}", "description", text,
                                 "content", "application/json", "schema", reference_to("Error"),
                                 "example", "error", "code", code, "message", text);
    add_header(response, IDA_REQUEST_ID);
    if (kind == IDA_RATE_LIMIT_EXCEEDED || kind == IDA_SERVICE_UNAVAILABLE) {
        add_header(response, "Retry-After");
    } else if (kind == IDA_UNAUTHORIZED) {
        add_header(response, "WWW-Authenticate");
    }
    return response;
}

static json_t *responses(apr_pool_t *pool, const ida_operation *op)
{
    /* The errors of an operation: the common ones for all, more for writes. */
    static const struct {
        ida_kind kind;
        int writes, bodies;
    } refusals[] = {
        {IDA_BAD_REQUEST, 0, 0},
        {IDA_UNAUTHORIZED, 0, 0},
        {IDA_FORBIDDEN, 0, 0},
        {IDA_NOT_FOUND, 0, 0},
        {IDA_CONFLICT, 0, 0}, /* also for reads: an address may belong to several accounts */
        {IDA_UNPROCESSABLE, 1, 0},
        {IDA_PAYLOAD_TOO_LARGE, 0, 1},
        {IDA_UNSUPPORTED_MEDIA_TYPE, 0, 1},
        {IDA_RATE_LIMIT_EXCEEDED, 0, 0},
        {IDA_INTERNAL_ERROR, 0, 0},
        {IDA_SERVICE_UNAVAILABLE, 0, 0},
    };
    json_t *out = json_object(),
           *done = json_pack("{s:s, s:o}", "description", op->summary, "content", success(op));
    add_header(done, "RateLimit-Policy");
    add_header(done, "RateLimit");
    add_header(done, IDA_REQUEST_ID);
    if (op->scope == IDA_SCOPE_WRITE) {
        add_header(done, "Idempotent-Replayed");
    }
    json_object_set_new(out, "200", done);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        if ((!refusals[i].writes || op->scope == IDA_SCOPE_WRITE) &&
            (!refusals[i].bodies || op->body)) {
            json_object_set_new(out, apr_itoa(pool, ida_kind_status(refusals[i].kind)),
                                refusal(refusals[i].kind));
        }
    }
    return out;
}

/* Operations are grouped by the beginning of their right's name. */
static const char *const tags[][2] = {
    {"people", "Users of the directory: search, look-up, creation, change, offboarding."},
    {"tasks", "Queued, running and finished tasks, and their outcomes."},
    {"access", "Groups and role templates, who has them, and what granted them."},
    {"requests", "Access requests and their decisions."},
    {"hygiene", "Stale accounts, empty groups, inactive guests, accounts without a manager."},
    {"workflows", "Lifecycle workflows and their runs."},
    {"audit", "The audit log."},
};

static json_t *tag_of(const ida_operation *op)
{
    const char *name = ida_right_name(op->right);
    return json_stringn(name, strcspn(name, "."));
}

static json_t *tag_list(void)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        json_array_append_new(list, json_pack("{s:s, s:s}", "name", tags[i][0], "description",
                                              tags[i][1]));
    }
    return list;
}

static void add_door(apr_pool_t *pool, json_t *paths, const ida_operation *op, const char *method,
                     const char *name, const char *suffix)
{
    const char *path = apr_pstrcat(pool, ida_rest_face.root, name, NULL);
    json_t *item = json_object_get(paths, path);
    if (!item) {
        item = json_object();
        json_object_set_new(paths, path, item);
    }
    json_t *entry = json_pack("{s:o, s:[o], s:s, s:s, s:o}", "operationId",
                              json_sprintf("%s%s", op->name, suffix), "tags", tag_of(op), "summary",
                              op->summary, "description",
                              op->description ? op->description : op->summary, "responses",
                              responses(pool, op));
    json_object_set_new(entry, "parameters", query_parameters(op));
    if (op->body) {
        json_object_set_new(entry, "requestBody", request_body(op));
    }
    char verb[16];
    apr_cpystrn(verb, method, sizeof verb);
    for (char *at = verb; *at; at++) {
        *at = (char)tolower((unsigned char)*at);
    }
    json_object_set_new(item, verb, entry);
}

static json_t *security_schemes(void)
{
    static const struct {
        const char *name, *header;
    } headers[] = {
        {"companyId", "X-Company-ID"},
        {"apiUser", "X-Api-User"},
        {"apiKey", "X-Api-Key"},
    };
    json_t *schemes = json_object();
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        json_object_set_new(schemes, headers[i].name,
                            json_pack("{s:s, s:s, s:s}", "type", "apiKey", "in", "header", "name",
                                      headers[i].header));
    }
    return schemes;
}

/* `servers` of a document that is served at the root path. */
#define ROOT_SERVER "/"
#define ROOT_SERVERS "\"servers\":[{\"url\":\"" ROOT_SERVER "\"}]"

const char *ida_openapi_at(apr_pool_t *pool, const char *document, const char *uri)
{
    static const char own[] = "/v1/openapi.json";
    size_t len = strlen(uri), own_len = sizeof own - 1;
    const char *servers = strstr(document, ROOT_SERVERS);
    if (!servers || len <= own_len || strcmp(uri + len - own_len, own) != 0) {
        return document;
    }
    json_t *base = json_stringn(uri, len - own_len); /* NULL: not UTF-8, so not sent by a valid
                                                        client */
    if (!base) {
        return document;
    }
    ida_json_keep(pool, base);
    return ida_printf(pool, "%.*s\"servers\":[{\"url\":%s}]%s", (int)(servers - document), document,
                      ida_json_text(pool, base), servers + strlen(ROOT_SERVERS));
}

char *ida_openapi(apr_pool_t *pool)
{
    json_t *paths = json_object(), *schemas = json_object();
    for (int i = 0; ida_operations[i]; i++) {
        const ida_operation *op = ida_operations[i];
        if (!(op->faces & IDA_ON_REST)) {
            continue;
        }
        add_door(pool, paths, op, op->method, op->path, "");
        if (op->alias_path) {
            add_door(pool, paths, op, op->alias_method, op->alias_path, ".alias");
        }
        json_object_set_new(schemas, op->schema, ida_schema_of_result(op, 0));
    }
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        json_object_set_new(schemas, shared[i].name, ida_schema_of(shared[i].members, 0));
    }
    json_t *document = json_pack(
        "{s:s, s:{s:s, s:s, s:s, s:{s:s}, s:{s:s, s:s}}, s:[{s:s}], s:o, s:o, s:{s:o, s:o, s:o}, "
        "s:[{s:[], s:[], s:[]}]}",
        "openapi", "3.1.0", "info", "title", "Identity administration", "version", "v1",
        "description",
        "Looks up, creates and offboards directory users. Writes are queued and executed at the "
        "requested time.",
        "contact", "name", "The administrator of this service", "license", "name",
        "All rights reserved", "identifier", "LicenseRef-all-rights-reserved", "servers", "url",
        ROOT_SERVER, "tags", tag_list(), "paths", paths, "components", "schemas", schemas,
        "headers", header_list(), "securitySchemes", security_schemes(), "security", "companyId",
        "apiUser", "apiKey");
    char *text = ida_json_text(pool, document);
    json_decref(document);
    return text;
}
