/* Tasks that no audit record queued. */
#ifndef CORE_QUEUE_ORIGIN_H
#define CORE_QUEUE_ORIGIN_H

#include "core/store/origin.h"

/* Runs that ended according to the records after `after`, up to `to`, of tasks that no record
 * queued. Their rows may be deleted or changed by now. Records up to `seen` were verified
 * earlier: older tasks that ended since must have been known then. */
ida_kind queue_origins_of_runs(store *s, ida_ctx *c, const char *tenant, int64_t after, int64_t to,
                               int64_t seen, store_origins *out);
ida_kind queue_origins(store *s, ida_ctx *c, const char *tenant, store_origins *out);

#endif
