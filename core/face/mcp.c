/* Owns the methods: which exist in which era, what their parameters must be, and how a tool call
 * reaches the operation pipeline. Must not know headers, nor how results are cut. */
#include "core/face/mcp.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/face/mcp_cut.h"
#include "core/face/mcp_inner.h"

#define LATEST_LEGACY "2025-11-25"
/* bytes of a tool error: hosts cut long ones, and models miss their point */
#define ERROR_MAX 500

/* --- results that need no store --- */

static int done(ida_call *call)
{
    ida_operation_record(call, IDA_OK);
    return 0;
}

static int discover(ida_call *call, ida_mcp_message *m, ida_rest_answer *answer)
{
    const struct iovec members[] = {ida_piece(
                                        "\"supportedVersions\":[\"" IDA_MCP_MODERN
                                        "\"],\"capabilities\":{\"tools\":{}},\"instructions\":"),
                                    ida_piece(m->fixed->instructions)};
    ida_mcp_result(call, m, members, 2, 1, answer);
    return done(call);
}

static int initialize(ida_call *call, ida_mcp_message *m, ida_rest_answer *answer)
{
    static const char *const known[] = {LATEST_LEGACY, "2025-06-18", "2025-03-26"};
    const char *wanted = ida_json_string(m->params, "protocolVersion"), *version = known[0];
    if (!wanted) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_PARAMS,
                             "\"params.protocolVersion\" must be a string.");
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(known[i], wanted) == 0) {
            version = known[i];
        }
    }
    const struct iovec members[] = {ida_piece("\"protocolVersion\":\""),
                                    ida_piece(version),
                                    ida_piece("\",\"capabilities\":{\"tools\":{}},\"serverInfo\":"),
                                    ida_piece(m->fixed->server),
                                    ida_piece(",\"instructions\":"),
                                    ida_piece(m->fixed->instructions)};
    ida_mcp_plain_result(call, m, members, 6, answer);
    return done(call);
}

static int ping(ida_call *call, ida_mcp_message *m, ida_rest_answer *answer)
{
    const struct iovec nothing = ida_piece("");
    ida_mcp_plain_result(call, m, &nothing, 1, answer);
    return done(call);
}

static int list_tools(ida_call *call, ida_mcp_message *m, ida_rest_answer *answer)
{
    if (json_object_get(m->params, "cursor")) {
        return ida_mcp_fault(
            call, m, answer, IDA_RPC_PARAMS,
            "The list of tools has one page: \"cursor\" was not given by this server.");
    }
    const struct iovec tools = ida_piece(m->fixed->tools);
    ida_mcp_result(call, m, &tools, 1, 1, answer);
    return done(call);
}

/* --- tools --- */

static const char *tool_error(ida_ctx *c)
{
    const char *text = ida_public_message(c);
    text = text ? text : ida_kind_text(c->kind);
    if (c->kind == IDA_SERVICE_UNAVAILABLE) {
        int wait = c->retry_after ? c->retry_after : 1;
        text = ida_printf(c->pool, "%s Try again in %s.", text,
                          ida_count(c->pool, wait, "second", "seconds"));
    }
    return ida_clean(c->pool, text, strlen(text), ERROR_MAX);
}

/* {"content":[{"type":"text","text":...}],...}; `quoted` is the content of a JSON string. No
 * structuredContent with isError: some clients check it against the schema even then, and hide
 * the message. */
static void answer_tool(ida_call *call, const ida_mcp_message *m, struct iovec quoted,
                        const char *after, struct iovec more, ida_rest_answer *answer)
{
    const struct iovec members[] = {ida_piece("\"content\":[{\"type\":\"text\",\"text\":\""),
                                    quoted, ida_piece("\"}]"), ida_piece(after), more};
    ida_mcp_result(call, m, members, 5, 0, answer);
}

static struct iovec quoted_text(apr_pool_t *pool, const char *text)
{
    size_t len = strlen(text), escaped = ida_json_escaped_length(text, len);
    char *quoted = apr_palloc(pool, escaped);
    ida_json_escape(quoted, text, len);
    return (struct iovec){quoted, escaped};
}

/* An unavailable store is answered as HTTP answers it before authentication: the answer does not
 * depend on whether the credentials are still cached. Errors for the caller, such as a directory
 * that is not synchronised yet, are tool errors. */
static void answer_error(ida_call *call, const ida_mcp_message *m, ida_rest_answer *answer)
{
    if (call->c->kind == IDA_SERVICE_UNAVAILABLE && !ida_public_message(call->c)) {
        ida_mcp_refusal_answer(call->c, answer);
        return;
    }
    if (call->c->kind == IDA_INTERNAL_ERROR) {
        ida_log(call->c->env, IDA_LOG_ERROR, "IDA0012", "%s failed: %s", call->asked->endpoint,
                call->c->message ? call->c->message : "no reason given");
    }
    answer_tool(call, m, quoted_text(call->c->pool, tool_error(call->c)), ",\"isError\":true",
                ida_piece(""), answer);
}

void ida_mcp_failed(ida_call *call, const ida_mcp_message *m, ida_rest_answer *answer)
{
    ida_operation_record(call, call->c->kind);
    answer_error(call, m, answer);
}

static int call_tool(ida_call *call, ida_mcp_message *m, ida_rest_answer *answer)
{
    const char *name = ida_json_string(m->params, "name");
    json_t *arguments = json_object_get(m->params, "arguments");
    if (!name) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_PARAMS,
                             "\"params.name\" must be a string, the name of a tool.");
    }
    if (arguments && !json_is_object(arguments)) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_PARAMS,
                             "\"params.arguments\" must be an object.");
    }
    const char *shown = ida_clean(call->c->pool, name, strlen(name), 64);
    const ida_operation *operation = ida_mcp_tool(name);
    m->asked->endpoint = apr_pstrcat(call->c->pool, m->asked->endpoint, " ", shown, NULL);
    if (!operation) {
        return ida_mcp_fault(call, m, answer, IDA_RPC_PARAMS, "Unknown tool: %s", shown);
    }
    m->asked->operation = operation;
    m->asked->arguments = arguments ? arguments : ida_json_keep(call->c->pool, json_object());
    if (ida_operation_admit(call)) {
        ida_mcp_failed(call, m, answer);
        return 0;
    }
    return 1;
}

void ida_mcp_call(ida_call *call, const ida_mcp_message *m, ida_rest_answer *answer)
{
    ida_json_both texts;
    if (ida_mcp_run_cut(call, IDA_MCP_TEXT_MAX, &texts)) {
        answer_error(call, m, answer);
        return;
    }
    answer_tool(call, m, (struct iovec){(char *)(uintptr_t)texts.quoted, texts.quoted_len},
                ",\"structuredContent\":", (struct iovec){(char *)(uintptr_t)texts.text, texts.len},
                answer);
}

/* --- methods --- */

static const struct {
    const char *name;
    int modern, legacy; /* eras that know it */
    int (*run)(ida_call *call, ida_mcp_message *m, ida_rest_answer *answer);
} methods[] = {
    {"tools/call", 1, 1, call_tool},
    {"tools/list", 1, 1, list_tools},
    {"server/discover", 1, 0, discover},
    {"initialize", 0, 1, initialize},
    {"ping", 0, 1, ping},
};

int ida_mcp_read(ida_call *call, const ida_mcp *fixed, const ida_mcp_request *request,
                 ida_mcp_message *m, ida_rest_answer *answer)
{
    memset(m, 0, sizeof *m);
    m->fixed = fixed;
    m->asked = request->asked;
    if (!ida_mcp_parse(call, request, m, answer)) {
        return 0;
    }
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].name, m->method) == 0 &&
            (m->modern ? methods[i].modern : methods[i].legacy)) {
            return methods[i].run(call, m, answer);
        }
    }
    return ida_mcp_fault(call, m, answer, IDA_RPC_METHOD, "Method not found: %s",
                         ida_clean(call->c->pool, m->method, strlen(m->method), 64));
}
