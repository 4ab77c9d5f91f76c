/* Shared by `sync` and `cache reset`: a request to the worker for every directory of a tenant,
 * with its audit record. */
#ifndef WORKER_CTL_REQUEST_H
#define WORKER_CTL_REQUEST_H

#include "core/tenant/tenant.h"
#include "worker/ctl/ctl.h"

typedef struct sync_request {
    int accept_deletions, reset;
    const char *action;                  /* of the audit record */
    int asked[IDA_DIR_COUNT];            /* out: directories of the tenant */
    int64_t requested_at[IDA_DIR_COUNT]; /* out: time of the request, which the
                                            worker removes when it is done */
} sync_request;

ida_kind ctl_sync_request(ctl_call *ctl, store *s, const char *tenant, sync_request *request);

#endif
