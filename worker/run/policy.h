/* Checks whether the sealed tenant document grants the access that a task would assign. The rows
 * derived from the document (role templates, the access catalog) are not sealed themselves: an
 * attacker with write access to the store can change them, and httpd queues tasks by them. */
#ifndef WORKER_RUN_POLICY_H
#define WORKER_RUN_POLICY_H

#include "core/governance/grant.h"
#include "worker/run/step.h"

/* Why it must not be assigned, as a sentence; NULL: the template is as in the document. */
const char *run_template_fault(run *r, const ida_role_template *template);
/* The same of one item of a task of access, which `by` grants. A failure is the store's. */
ida_kind run_item_fault(run *r, store *s, ida_ctx *c, const access_grantor *by,
                        const access_item *item, const char **why);

#endif
