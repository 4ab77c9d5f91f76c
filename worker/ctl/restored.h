/* What a restore means for tasks: those that are gone, those that would run again. */
#ifndef WORKER_CTL_RESTORED_H
#define WORKER_CTL_RESTORED_H

#include <apr_hash.h>

#include "worker/ctl/ctl.h"

typedef struct restored_state {
    ctl_call *ctl;
    int64_t at;        /* ms: of the backup */
    int known;         /* 1: the store that was there could be read */
    apr_hash_t *later; /* of that store: task ID -> queue_later in a company */
    json_t *gone, *held, *companies;
} restored_state;

/* Reads what the present store knows that the backup cannot. */
ida_kind restored_before(restored_state *state);

/* In the restored store: holds tasks, notes revisions and leaves audit records. */
ida_kind restored_after(restored_state *state, const char *from);

void restored_report(const restored_state *state, json_t *document);
void restored_say(const restored_state *state, int dry);

#endif
