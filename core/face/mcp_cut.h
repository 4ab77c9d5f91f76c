/* Runs a read operation so that its result fits a model: whole items, a cursor for the rest,
 * shortened values as the last resort. */
#ifndef CORE_FACE_MCP_CUT_H
#define CORE_FACE_MCP_CUT_H

#include "core/base/json.h"
#include "core/operation/operation.h"

/* ida_operation_run with its result cut to `max` bytes of JSON text (at least 4,096): after a
 * cut call->result has `truncated` and `note`. *texts is call->result as compact JSON, never
 * longer than `max`. Fails as the operation does, and if the client has disconnected. */
ida_kind ida_mcp_run_cut(ida_call *call, size_t max, ida_json_both *texts);

#endif
