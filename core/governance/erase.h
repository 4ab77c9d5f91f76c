/* Erases one person's personal data from the store: who is meant, what must have finished
 * before, what is overwritten. The directories are not changed, and a person who is still in a
 * directory cannot be erased, because the next synchronisation would bring everything back. */
#ifndef CORE_GOVERNANCE_ERASE_H
#define CORE_GOVERNANCE_ERASE_H

#include "core/audit/audit.h"
#include "core/store/store.h"

/* What the store knows the person by. */
typedef struct governance_traces {
    const char *tenant, *upn;
    const char *marks;  /* JSON array, ASCII letters in lower case: UPNs, addresses, object IDs
                           of this person alone */
    const char *names;  /* JSON array: display names as written, and as they appear in JSON texts */
    const char *tasks;  /* JSON array: the person's own tasks */
    const char *ids;    /* JSON array: object IDs */
    const char *shared; /* JSON array: addresses of the person that others have or had: texts
                           that mention only these stay */
    int mark_count, name_count, task_count, shared_count;
    const char *const *mark_list, *const *name_list, *const *task_list;
    const char *const (*pairs)[2]; /* given and family names, of the same person */
    int pair_count;
} governance_traces;

/* `upn`: UPN or ID of the account. Collects the traces. IDA_CONFLICT while they would come back;
 * the message names the directory that still has the person, or the unfinished task. Role
 * DB_REQUEST. */
ida_kind governance_erase_find(store *s, ida_ctx *c, const char *tenant, const char *upn,
                               governance_traces **traces);

typedef struct governance_erased {
    int64_t tasks, requests, assignments, runs, mentions, audit, cache;
} governance_erased;

/* Audit: overwrites salt and personal part of every record about the person; the chain stays
 * whole. In short transactions. Role DB_INGEST. */
ida_kind governance_erase_audit(store *s, ida_ctx *c, const governance_traces *traces,
                                int64_t *count);
/* What a deletion left in the cache: addresses, memberships, licences, links of others. Role
 * DB_SYNC. */
ida_kind governance_erase_cache(store *s, ida_ctx *c, const governance_traces *traces,
                                int64_t *count);
/* The main file, last because it is what the traces come from; with the audit record of the
 * erasure. Looks again under the tenant's lock and refuses as governance_erase_find does. Role
 * DB_REQUEST. */
ida_kind governance_erase_main(store *s, ida_ctx *c, const governance_traces *traces,
                               governance_erased *erased, audit_record *record);

/* 1 when a tenant's document names the person (approver, protected account): an administrator must
 * take that out. */
ida_kind governance_erase_in_document(store *s, ida_ctx *c, const governance_traces *traces,
                                      int *named);

/* 1 if the record is about the person. */
int governance_erase_is_about(ida_ctx *c, const governance_traces *traces,
                              const audit_record *record);

#endif
