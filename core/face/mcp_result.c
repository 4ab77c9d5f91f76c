/* Owns the frame around results: JSON-RPC's and the era's. Must not know what a result contains. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/face/mcp_inner.h"

#define CACHED \
    ",\"ttlMs\":3600000,\"cacheScope\":\"private\"" /* the list changes only with the program */

struct iovec ida_piece(const char *text)
{
    return (struct iovec){(char *)(uintptr_t)text, strlen(text)}; /* only read */
}

/* The answer is large: its pieces are copied once, into their place. */
static void frame(const ida_call *call, const ida_mcp_message *m, const char *head,
                  const struct iovec *members, size_t count, const char *tail,
                  ida_rest_answer *answer)
{
    apr_pool_t *pool = call->c->pool;
    struct iovec all[IDA_MCP_PIECES + 5] = {ida_piece("{\"jsonrpc\":\"2.0\",\"id\":"),
                                            ida_piece(ida_json_text(pool, m->id)),
                                            ida_piece(",\"result\":{"), ida_piece(head)};
    memcpy(all + 4, members, count * sizeof *members);
    all[4 + count] = ida_piece(tail);
    memset(answer, 0, sizeof *answer);
    answer->status = 200;
    answer->body = apr_pstrcatv(pool, all, 5 + count, &answer->len);
}

void ida_mcp_plain_result(const ida_call *call, const ida_mcp_message *m,
                          const struct iovec *members, size_t count, ida_rest_answer *answer)
{
    frame(call, m, "", members, count, "}}", answer);
}

void ida_mcp_result(const ida_call *call, const ida_mcp_message *m, const struct iovec *members,
                    size_t count, int cached, ida_rest_answer *answer)
{
    if (!m->modern) {
        ida_mcp_plain_result(call, m, members, count, answer);
        return;
    }
    frame(call, m, "\"resultType\":\"complete\",", members, count,
          apr_pstrcat(call->c->pool, cached ? CACHED : "",
                      ",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":", m->fixed->server,
                      "}}}", NULL),
          answer);
}
