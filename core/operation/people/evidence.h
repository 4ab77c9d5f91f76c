/* The proof of an offboarding, for idadminctl and the console. */
#ifndef CORE_OPERATION_PEOPLE_EVIDENCE_H
#define CORE_OPERATION_PEOPLE_EVIDENCE_H

#include <jansson.h>

#include "core/store/store.h"

/* The document, in the context's pool: companyId, userPrincipalName, at, offboardings (newest
 * first), grantsEnded, after, now, laterTasks, chain, complete, notProven. `walk`: the audit
 * chain is verified now, record by record; 0: as a worker last verified it. IDA_NOT_FOUND if the
 * person has no offboarding. */
ida_kind ida_evidence(store *s, ida_ctx *c, const char *tenant, const char *named, int walk,
                      json_t **document);

#endif
