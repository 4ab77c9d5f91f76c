/* Owns the reading of one message: JSON, the shape of JSON-RPC, its revision and its headers;
 * and how faults in these are answered. Must not know methods or tools. */
#include <apr_strings.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/face/mcp_inner.h"

#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_CLIENT "io.modelcontextprotocol/clientInfo"
#define SHOWN_MAX 64 /* bytes of the caller's text that a message quotes */

const ida_face ida_mcp_face = {
    .bit = IDA_ON_MCP,
    .via = "mcp",
    .category = "api",
    .unknown = "mcp",
    .failed = "toolError",
    .tools = 1,
};

/* --- errors --- */

static const struct {
    int code, modern, legacy; /* JSON-RPC code; HTTP status by era: clients of the older
                                 revisions hide errors with a 4xx status */
    ida_kind kind;            /* for the audit */
} faults[] = {
    [IDA_RPC_SYNTAX] = {-32700, 400, 400, IDA_BAD_REQUEST},
    [IDA_RPC_SHAPE] = {-32600, 400, 400, IDA_BAD_REQUEST},
    [IDA_RPC_META] = {-32602, 400, 400, IDA_BAD_REQUEST},
    [IDA_RPC_HEADER] = {-32020, 400, 400, IDA_BAD_REQUEST},
    [IDA_RPC_VERSION] = {-32022, 400, 400, IDA_BAD_REQUEST},
    [IDA_RPC_METHOD] = {-32601, 404, 200, IDA_NOT_FOUND},
    [IDA_RPC_PARAMS] = {-32602, 200, 200, IDA_BAD_REQUEST},
};

static const char *error_text(apr_pool_t *pool, const json_t *id, int code, const char *message,
                              json_t *data)
{
    json_t *root = json_object(), *error = json_object();
    ida_json_put(root, "jsonrpc", "2.0");
    if (id) {
        json_object_set(root, "id", (json_t *)id);
    }
    json_object_set_new(error, "code", json_integer(code));
    ida_json_put(error, "message", message);
    if (data) {
        json_object_set_new(error, "data", data);
    }
    json_object_set_new(root, "error", error);
    const char *text = ida_json_text(pool, root);
    json_decref(root);
    return text;
}

/* Takes over `data`. */
static int answer_fault(ida_call *call, const ida_mcp_message *message, ida_rest_answer *answer,
                        ida_rpc_fault fault, json_t *data, const char *text)
{
    memset(answer, 0, sizeof *answer);
    answer->status = message->modern ? faults[fault].modern : faults[fault].legacy;
    answer->body = error_text(call->c->pool, message->id, faults[fault].code, text, data);
    answer->len = strlen(answer->body);
    message->asked->operation = NULL; /* no operation was reached: the record has the fault's own
                                         code */
    ida_operation_record(call, ida_fail(call->c, faults[fault].kind, "%s", text));
    return 0;
}

int ida_mcp_fault(ida_call *call, const ida_mcp_message *message, ida_rest_answer *answer,
                  ida_rpc_fault fault, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return answer_fault(call, message, answer, fault, NULL,
                        ida_clean(call->c->pool, text, strlen(text), 0));
}

static const char *shown(ida_call *call, const char *text)
{
    return ida_clean(call->c->pool, text, strlen(text), SHOWN_MAX);
}

static int version_fault(ida_call *call, const ida_mcp_message *message, ida_rest_answer *answer,
                         const char *requested)
{
    const char *text = ida_printf(
        call->c->pool,
        "Protocol version \"%s\" is not served. Send " IDA_MCP_MODERN
        ", or begin with initialize for 2025-11-25, 2025-06-18 or 2025-03-26.",
        shown(call, requested));
    json_t *data = json_pack("{s:[s], s:s}", "supported", IDA_MCP_MODERN, "requested",
                             shown(call, requested));
    return answer_fault(call, message, answer, IDA_RPC_VERSION, data, text);
}

const char *ida_mcp_refusal(apr_pool_t *pool, int status, const char *message)
{
    return error_text(pool, NULL, status, message, NULL);
}

const char *ida_mcp_kind_text(ida_kind kind)
{
    return kind == IDA_UNAUTHORIZED
               ? "The credentials are missing or not valid. Send the header Authorization: Bearer "
                 "with the MCP secret, which has the shape companyId:username:apiKey (the API key "
                 "alone is not enough), or X-Company-ID, X-Api-User and X-Api-Key."
           : kind == IDA_METHOD_NOT_ALLOWED
               ? "This address accepts only POST; there is no stream to open and no session to end."
           : kind == IDA_PAYLOAD_TOO_LARGE ? "The message is larger than 1048576 bytes (1 MiB)."
                                           : NULL;
}

void ida_mcp_refusal_answer(ida_ctx *c, ida_rest_answer *answer)
{
    const char *text = ida_public_message(c);
    memset(answer, 0, sizeof *answer);
    answer->status = ida_kind_status(c->kind);
    answer->body = ida_mcp_refusal(c->pool, answer->status, text ? text : ida_kind_text(c->kind));
    answer->len = strlen(answer->body);
    answer->retry_after = c->retry_after                       ? c->retry_after
                          : c->kind == IDA_SERVICE_UNAVAILABLE ? 1
                                                               : 0;
}

/* --- before the body --- */

/* Whether a list of media types names `type` itself (a wildcard does not), with a weight above
 * zero. */
static int lists(apr_pool_t *pool, const char *accept, const char *type)
{
    char *rest = apr_pstrdup(pool, accept ? accept : ""), *last = NULL;
    for (char *range = apr_strtok(rest, ",", &last); range; range = apr_strtok(NULL, ",", &last)) {
        char *parameters = NULL;
        char *name = apr_strtok(range, "; \t", &parameters);
        if (!name || strcasecmp(name, type) != 0) {
            continue;
        }
        int refused = 0;
        for (char *p = apr_strtok(NULL, "; \t", &parameters); p;
             p = apr_strtok(NULL, "; \t", &parameters)) {
            if ((*p == 'q' || *p == 'Q') && p[1] == '=' && p[2] == '0') { /* q=0, q=0.000 */
                refused = p[2 + strspn(p + 2, "0.")] == '\0';
            }
        }
        if (!refused) {
            return 1;
        }
    }
    return 0;
}

ida_kind ida_mcp_admit(ida_call *call, const ida_mcp_request *request, ida_rest_answer *answer)
{
    apr_pool_t *pool = call->c->pool;
    ida_kind kind = IDA_OK;
    request->asked->face = &ida_mcp_face;
    request->asked->operation = NULL;
    request->asked->endpoint = "mcp";
    if (!lists(pool, request->accept, "application/json") ||
        !lists(pool, request->accept, "text/event-stream")) {
        kind = ida_fail(call->c, IDA_NOT_ACCEPTABLE, "%s", ida_kind_text(IDA_NOT_ACCEPTABLE));
    } else if (!ida_json_type(request->content_type)) {
        kind = ida_fail(call->c, IDA_UNSUPPORTED_MEDIA_TYPE, "%s",
                        ida_kind_text(IDA_UNSUPPORTED_MEDIA_TYPE));
    }
    if (kind) {
        ida_operation_record(call, kind);
        ida_mcp_refusal_answer(call->c, answer);
    }
    return kind;
}

/* --- shape --- */

static int is_json(const char *bytes, size_t len)
{
    json_t *value = json_loadb(bytes, len, JSON_DECODE_ANY, NULL);
    json_decref(value);
    return value != NULL;
}

/* The message as an object, its id, method and params; 0 if it was answered. */
static int read_shape(ida_call *call, const ida_mcp_request *request, ida_mcp_message *m,
                      ida_rest_answer *answer)
{
    const char *bytes = request->body ? request->body : "";
    size_t start = 0;
    while (start < request->body_len && bytes[start] && strchr(" \t\r\n", bytes[start])) {
        start++;
    }
    char first = start < request->body_len ? bytes[start] : '\0';
    if (first == '[') {
        return ida_mcp_fault(call, m, answer, IDA_RPC_SHAPE,
                             "Batches are not served: send one request or notification in a POST.");
    }
    json_t *root;
    if (ida_json_object(call->c, bytes, request->body_len, &root)) {
        int scalar = first != '{' && is_json(bytes, request->body_len);
        const char *why = apr_pstrdup(call->c->pool, call->c->message);
        ida_ctx_clear(call->c);
        return ida_mcp_fault(call, m, answer, scalar ? IDA_RPC_SHAPE : IDA_RPC_SYNTAX, "%s",
                             scalar ? "A message is one JSON object." : why);
    }
    const json_t *id = json_object_get(root, "id"), *params = json_object_get(root, "params");
    const char *version = ida_json_string(root, "jsonrpc"),
               *method = ida_json_string(root, "method");
    if (json_is_string(id) || json_is_integer(id)) {
        m->id = id;
    }
    if (!version || strcmp(version, "2.0") != 0) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_SHAPE, "\"jsonrpc\" must be \"2.0\".");
    }
    if (id && !m->id) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_SHAPE,
                             "\"id\" must be a string or an integer.");
    }
    if (!method) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_SHAPE, "%s",
                             json_object_get(root, "result") || json_object_get(root, "error")
                                 ? "This server sends no requests and accepts no responses."
                                 : "\"method\" must be a string.");
    }
    if (params && !json_is_object(params)) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_SHAPE, "\"params\" must be an object.");
    }
    m->method = method;
    m->params = params;
    m->asked->endpoint = apr_pstrcat(call->c->pool, "mcp ", shown(call, method), NULL);
    return 1;
}

/* --- eras --- */

static int is_date(const char *text)
{
    static const char shape[] = "dddd-dd-dd";
    size_t i = 0;
    for (; i < sizeof shape && text[i]; i++) {
        if (shape[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != shape[i]) {
            return 0;
        }
    }
    return i == sizeof shape - 1;
}

/* Mcp-Name decoded: =?base64?...?= stands for bytes that a header cannot hold. NULL if it cannot
 * be decoded. */
static const char *decoded_name(apr_pool_t *pool, const char *value)
{
    static const char prefix[] = "=?base64?", suffix[] = "?=";
    size_t len = strlen(value), around = sizeof prefix - 1 + sizeof suffix - 1, got;
    if (len < around || strncmp(value, prefix, sizeof prefix - 1) != 0 ||
        strcmp(value + len - (sizeof suffix - 1), suffix) != 0) {
        return value;
    }
    unsigned char *bytes = ida_base64_decode(pool, value + sizeof prefix - 1, len - around, &got);
    return bytes && !memchr(bytes, 0, got) ? apr_pstrmemdup(pool, (const char *)bytes, got) : NULL;
}

/* Compares Mcp-Method and Mcp-Name with the body. */
static int read_headers(ida_call *call, const ida_mcp_request *request, ida_mcp_message *m,
                        ida_rest_answer *answer)
{
    const char *name = strcmp(m->method, "tools/call") == 0 ? ida_json_string(m->params, "name")
                                                            : NULL;
    if (!request->version) {
        return ida_mcp_fault(
            call, m, answer, IDA_RPC_HEADER,
            "The header MCP-Protocol-Version is missing; a proxy may have dropped it.");
    }
    if (!request->method) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_HEADER,
                             "The header Mcp-Method is missing; a proxy may have dropped it.");
    }
    if (strcmp(request->method, m->method) != 0) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_HEADER,
                             "The header Mcp-Method says \"%s\", the message \"%s\".",
                             shown(call, request->method), shown(call, m->method));
    }
    if (!name) {
        return 1;
    }
    if (!request->name) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_HEADER,
                             "The header Mcp-Name is missing; a proxy may have dropped it.");
    }
    const char *said = decoded_name(call->c->pool, request->name);
    if (!said || strcmp(said, name) != 0) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_HEADER,
                             "The header Mcp-Name says \"%s\", the message \"%s\".",
                             shown(call, said ? said : request->name), shown(call, name));
    }
    return 1;
}

static int read_modern(ida_call *call, const ida_mcp_request *request, ida_mcp_message *m,
                       ida_rest_answer *answer)
{
    const json_t *meta = json_object_get(m->params, "_meta");
    const json_t *client = json_object_get(meta, META_CLIENT);
    const char *version = ida_json_string(meta, META_VERSION);
    m->modern = 1;
    if (!json_is_object(meta) || !version ||
        !json_is_object(json_object_get(meta, META_CAPABILITIES))) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_META, "%s",
                             !json_is_object(meta)
                                 ? "\"params._meta\" must be an object with \"" META_VERSION
                                   "\" (string) and \"" META_CAPABILITIES "\" (object)."
                             : !version ? "\"params._meta\" lacks the string \"" META_VERSION "\"."
                                        : "\"params._meta\" lacks the object \"" META_CAPABILITIES
                                          "\".");
    }
    if (client && !json_is_object(client)) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_META,
                             "\"" META_CLIENT "\" in \"params._meta\" must be an object.");
    }
    if (request->version && strcmp(request->version, version) != 0) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_HEADER,
                             "The header MCP-Protocol-Version says \"%s\", params._meta \"%s\".",
                             shown(call, request->version), shown(call, version));
    }
    if (strcmp(version, IDA_MCP_MODERN) != 0) {
        return version_fault(call, m, answer, version);
    }
    return read_headers(call, request, m, answer);
}

static int read_legacy(ida_call *call, const ida_mcp_request *request, ida_mcp_message *m,
                       ida_rest_answer *answer)
{
    static const char *const served[] = {"2025-11-25", "2025-06-18", "2025-03-26"};
    int known = request->version == NULL || strcmp(m->method, "initialize") == 0;
    for (size_t i = 0; i < sizeof served / sizeof *served && !known; i++) {
        known = strcmp(request->version, served[i]) == 0;
    }
    return known ? 1 : version_fault(call, m, answer, request->version);
}

int ida_mcp_parse(ida_call *call, const ida_mcp_request *request, ida_mcp_message *m,
                  ida_rest_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    if (!read_shape(call, request, m, answer)) {
        return 0;
    }
    if (!m->id) {
        answer->status = 202;
        ida_operation_record(call, IDA_OK);
        return 0;
    }
    int modern_header = request->version && is_date(request->version) &&
                        strcmp(request->version, IDA_MCP_MODERN) >= 0;
    if (json_object_get(json_object_get(m->params, "_meta"), META_VERSION)) {
        return read_modern(call, request, m, answer);
    }
    if (modern_header && strcmp(m->method, "initialize") == 0) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_HEADER,
                             "initialize belongs to revisions before " IDA_MCP_MODERN
                             "; the header MCP-Protocol-Version says \"%s\".",
                             request->version);
    }
    return modern_header ? read_modern(call, request, m, answer)
                         : read_legacy(call, request, m, answer);
}
