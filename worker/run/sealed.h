/* Whether access that a task is to give is what the sealed tenant document grants. The rows that
 * follow from the document (role templates, the access catalog) are not sealed themselves: who can
 * write the store can change them, and httpd orders by them. */
#ifndef WORKER_RUN_SEALED_H
#define WORKER_RUN_SEALED_H

#include "core/governance/grant.h"
#include "worker/run/step.h"

/* A sentence that says why it must not be given; NULL: the template is as the document has it. */
const char *run_template_fault(run *r, const ida_role_template *template);
/* The same of one item of a task of access, which `by` grants. A failure is the store's. */
ida_kind run_item_fault(run *r, store *s, ida_ctx *c, const access_grantor *by,
                        const access_item *item, const char **why);

#endif
