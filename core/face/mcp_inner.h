/* What the files of the MCP face share. */
#ifndef CORE_FACE_MCP_INNER_H
#define CORE_FACE_MCP_INNER_H

#include "core/face/mcp.h"

#define IDA_MCP_MODERN "2026-07-28" /* the one revision served without initialize */

struct ida_mcp {
    const char *tools;        /* `"tools":[...]` */
    const char *server;       /* serverInfo as JSON */
    const char *instructions; /* a JSON string, with its quotes */
};

/* Faults of a message, as JSON-RPC defines them. */
typedef enum ida_rpc_fault {
    IDA_RPC_SYNTAX,
    IDA_RPC_SHAPE,
    IDA_RPC_META,   /* a required member of _meta */
    IDA_RPC_HEADER, /* header missing or different from the body */
    IDA_RPC_VERSION,
    IDA_RPC_METHOD,
    IDA_RPC_PARAMS
} ida_rpc_fault;

/* core/face/mcp_message.c: returns 0 with `answer` and the audit record complete, so that
 * callers can return it. */
int ida_mcp_fault(ida_call *call, const ida_mcp_message *message, ida_rest_answer *answer,
                  ida_rpc_fault fault, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* 1 if the message is a request in a known era, to be executed; 0 if it is answered (faults,
 * notifications). */
int ida_mcp_parse(ida_call *call, const ida_mcp_request *request, ida_mcp_message *message,
                  ida_rest_answer *answer);

/* core/face/mcp_result.c: the frame of a result. `members` are the method's own members as JSON
 * text in pieces, `"tools":[...]`, at most IDA_MCP_PIECES; for the modern revision resultType and
 * the server's name are added, and with `cached` how long the result is valid. */
#define IDA_MCP_PIECES 8
void ida_mcp_result(const ida_call *call, const ida_mcp_message *message,
                    const struct iovec *members, size_t count, int cached, ida_rest_answer *answer);
/* The same for messages whose answer does not depend on the era (initialize, ping). */
void ida_mcp_plain_result(const ida_call *call, const ida_mcp_message *message,
                          const struct iovec *members, size_t count, ida_rest_answer *answer);
struct iovec ida_piece(const char *text);

/* core/face/mcp_tools.c */
const ida_operation *ida_mcp_tool(const char *name);

#endif
