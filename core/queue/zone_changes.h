/* Wall times are promises to people: if the rules of a zone change, the due times of queued
 * tasks move. */
#ifndef CORE_QUEUE_ZONE_CHANGES_H
#define CORE_QUEUE_ZONE_CHANGES_H

#include "core/queue/claim.h"

/* A thread's knowledge of the zones it has checked. */
typedef struct queue_zone_changes queue_zone_changes;
queue_zone_changes *queue_zone_changes_make(apr_pool_t *pool);

/* Finds the zones of queued tasks, and resolves the due times of tasks again if their zone's
 * rules have changed since the last check: cheap as long as none have. Each task that moves is
 * audited (task.reschedule by the worker). `stop` non-zero ends it early. *moved counts. */
ida_kind queue_zone_changes_look(queue_zone_changes *w, store *s, ida_ctx *c, int (*stop)(void *),
                                 void *baton, int *moved);

#endif
