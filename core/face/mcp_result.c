/* Owns the frame around results: JSON-RPC's and the era's. Must not know what a result contains. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/face/mcp_inner.h"

#define CACHED \
    ",\"ttlMs\":3600000,\"cacheScope\":\"private\"" /* the list changes only with the program */

void ida_mcp_plain_result(const ida_call *call, const ida_mcp_message *m, const char *result,
                          ida_rest_answer *answer)
{
    memset(answer, 0, sizeof *answer);
    answer->status = 200;
    answer->body = apr_pstrcat(call->c->pool,
                               "{\"jsonrpc\":\"2.0\",\"id\":", ida_json_text(call->c->pool, m->id),
                               ",\"result\":", result, "}", NULL);
    answer->len = strlen(answer->body);
}

void ida_mcp_result(const ida_call *call, const ida_mcp_message *m, const char *members, int cached,
                    ida_rest_answer *answer)
{
    apr_pool_t *pool = call->c->pool;
    ida_mcp_plain_result(
        call, m,
        !m->modern
            ? apr_pstrcat(pool, "{", members, "}", NULL)
            : apr_pstrcat(pool, "{\"resultType\":\"complete\",", members, cached ? CACHED : "",
                          ",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":", m->fixed->server,
                          "}}", NULL),
        answer);
}
