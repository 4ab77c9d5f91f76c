/* The matters of a company that monitoring reports. */
#ifndef CORE_OPERATION_COMPANY_HEALTH_H
#define CORE_OPERATION_COMPANY_HEALTH_H

#include "core/operation/operation.h"

/* Number of workers that were seen recently, and when the last one was seen (0: never). */
ida_kind ida_workers_running(store *s, ida_ctx *c, int *running, int64_t *seen_at);

/* [{kind, severity, count, since, sample}], worst first, as in the overview; in the context's pool.
 * The caller is an administrator. That no worker runs is not among them: it concerns no single
 * company. */
ida_kind ida_health_needs(ida_call *call, store *s, ida_ctx *c, json_t **needs);

#endif
