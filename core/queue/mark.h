/* Marks of tasks' rows for the audit (core/audit/marks.h). */
#ifndef CORE_QUEUE_MARK_H
#define CORE_QUEUE_MARK_H

#include "core/audit/marks.h"
#include "core/store/store.h"

#define QUEUE_MARK_DUE (1u << AUDIT_MARK_DUE)
#define QUEUE_MARK_PAYLOAD (1u << AUDIT_MARK_PAYLOAD)
#define QUEUE_MARK_MEMBERSHIPS (1u << AUDIT_MARK_MEMBERSHIPS)
#define QUEUE_MARK_MADE (QUEUE_MARK_DUE | QUEUE_MARK_PAYLOAD | QUEUE_MARK_MEMBERSHIPS)

/* Of the task `from` as it is now, or of the first one behind it; `after` 1: of the one behind
 * that. out->name NULL: there is none. */
ida_kind queue_mark_read(store *s, ida_ctx *c, const char *tenant, const char *from, int after,
                         audit_mark *out);
/* Puts it into the audit, inside the transaction that changed `parts` of the task, or made it.
 * `before`: digest of the memberships that the transaction added to; 0: it did not. */
ida_kind queue_mark(store *s, ida_ctx *c, const char *tenant, const char *id, unsigned parts,
                    uint64_t before);

#endif
