/* What monitoring is to know: the reasons why the service is not well, and the exit status that
 * follows. */
#ifndef WORKER_CTL_HEALTH_H
#define WORKER_CTL_HEALTH_H

#include "worker/ctl/ctl.h"

/* Exit statuses, as monitoring systems read them. */
#define HEALTH_WELL 0
#define HEALTH_DEGRADED 1
#define HEALTH_DOWN 2

/* Appends every reason to the array: {level, companyId, kind, count, since, text}, those of the
 * whole service first. `spool`: as ctl_spool_json gives it. What cannot be read is a reason, too:
 * it never fails. Returns the exit status. */
int ctl_health(ctl_call *ctl, store *s, const json_t *spool, json_t *reasons);

/* A line for each reason; "well" if there is none. Nothing with --json. */
void ctl_health_say(ctl_call *ctl, const json_t *reasons);
const char *ctl_health_word(int status); /* "well", "degraded", "down" */

/* status.c: {version, schema, workers, directories, tasks, spool}, and {status, reasons} with
 * *health unless that is NULL; a new reference, also after a failure. */
ida_kind ctl_status_json(ctl_call *ctl, store *s, int *health, json_t **document);

/* doctor.c: {status, faults, warnings, checks} of this machine and each company, or of one. Root
 * becomes the service's user for good. */
ida_kind ctl_doctor_json(ctl_call *ctl, const char *company, json_t **document);

/* spool.c: the spool of the node on which the command runs. If it cannot be read, "problem" says
 * why, and everything else is still reported. */
json_t *ctl_spool_json(ctl_call *ctl, store *s);
void ctl_spool_say(ctl_call *ctl, const json_t *spool);

#endif
