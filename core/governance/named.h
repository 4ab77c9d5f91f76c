/* The accounts that a tenant document names. A name is resolved to the directory's ID once: when
 * the document is applied, or when a completed synchronisation first shows the account. It means
 * that account as long as the document has the name. Role DB_REQUEST. */
#ifndef CORE_GOVERNANCE_NAMED_H
#define CORE_GOVERNANCE_NAMED_H

#include <apr_tables.h>

#include "core/cache/person.h"

#define GOVERNANCE_PERSON \
    "person" /* the place of a name; else a directory, for protectedAccounts */

typedef struct governance_name {
    const char *path, *place, *name; /* path: accessCatalog[0].approvers[1] */
    int mail;                        /* 1: a recipient, who need not be an account */
} governance_name;

/* The names of a document: addresses, and the DNs of protected accounts. */
const apr_array_header_t *governance_names(apr_pool_t *pool, const ida_tenant *tenant);

/* *named: the resolved names. Unresolved names are absent, and all names if this process does not
 * trust the row. */
ida_kind governance_named(store *s, ida_ctx *c, const char *tenant, const json_t **named);
/* The ID; NULL: the name is unresolved and means the account that has it now. */
const char *governance_named_id(apr_pool_t *pool, const json_t *named, const char *place,
                                const char *name);
/* 1 if the name means this person. `address`: an address of the person. */
int governance_named_means(apr_pool_t *pool, const json_t *named, const char *name,
                           const ida_user *user, const char *address);
int governance_user_is(const ida_user *user, const char *id);

/* *fault: a sentence if no account has the name, another account has it now, or its account is
 * disabled; otherwise NULL. `id`: the resolved ID, or NULL. */
ida_kind governance_name_fault(store *s, ida_ctx *c, const char *tenant,
                               const governance_name *name, const char *id, const char **fault);

/* Resolves new names and deletes those that the document no longer has. Call it in the transaction
 * that stores the document. `before`: governance_named of the replaced document. `news` gets the
 * new faults. Needs the seal key. */
ida_kind governance_named_settle(store *s, ida_ctx *c, const ida_tenant *tenant, int64_t revision,
                                 const json_t *before, json_t *news);
/* The same for the stored document, after a synchronisation. */
ida_kind governance_named_renew(store *s, ida_ctx *c, const char *tenant, json_t *news);

#endif
