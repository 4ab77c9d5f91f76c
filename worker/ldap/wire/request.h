/* Requests over a session's connection. */
#ifndef WORKER_LDAP_WIRE_REQUEST_H
#define WORKER_LDAP_WIRE_REQUEST_H

#include <ldap.h>

#include "worker/directory/directory.h"
#include "worker/ldap/wire/error.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

/* The failure of a call that got an entry which ld_entry_read does not take. */
directory_class ld_unreadable(ld_call *k);

typedef struct ld_answer {
    int code;
    const char *text;
    LDAPControl **controls; /* of the result; freed by the pool given */
    const ld_entry *shown;  /* by ld_add: the new entry; NULL: the server did not show it */
} ld_answer;

/* A control for a query that makes Active Directory add IDs to DN-valued attributes
 * ("<GUID=...>;<SID=...>;CN=..."); NULL for servers without it. While entries move, a DN alone
 * may mean another entry; entry->dn has no IDs in either case. */
LDAPControl **ld_identities(const directory *d);

/* Waits for the next message: its type, 0 at the time-out, -1 when the connection is dead. */
int ld_wait(ld_call *k, int message_id, LDAPMessage **message);
/* Result of the last message of an answer. */
directory_class ld_parse(ld_call *k, LDAPMessage *message, ld_answer *answer, apr_pool_t *pool);

typedef struct ld_query {
    const char *base;
    int scope;
    const char *filter;
    const char *const *attributes; /* NULL-terminated; NULL: none (only DNs) */
    int limit;                     /* of entries, 0 = none */
    LDAPControl **controls;        /* of ld_paged: at most one */
    ld_phase phase;                /* what an absent base means */
    const char *doing;             /* "find the user": for messages */
} ld_query;

/* Sets the error of a failed read of everything and returns its class. For a limit of the server
 * the message says what its administrator has to grant. */
directory_class ld_fail_read(ld_call *k, const ld_query *query, const ld_answer *answer);

/* Passes on entries and intermediate messages as they arrive; memory does not grow with their
 * number. A class other than OK from `take` ends the search with that class; NULL: messages are
 * skipped. */
typedef directory_class (*ld_take)(ld_call *k, int type, LDAPMessage *message, void *baton);
directory_class ld_stream(ld_call *k, const ld_query *query, ld_take take, void *baton,
                          ld_answer *answer);

/* Reads up to `limit` entries (more are no error) into the call's pool; repeated once on a new
 * connection if the first one broke. An absent base is NOT_FOUND or CONFIG, depending on the
 * phase. */
directory_class ld_search(ld_call *k, const ld_query *query, const ld_entry ***rows, int *count);

/* The server's answer to a comparison: an absent attribute is "no", an absent entry NOT_FOUND.
 * Repeated once. */
directory_class ld_compare(ld_call *k, const char *dn, const char *attribute, const char *value,
                           const char *doing, int *same);

/* All entries by pages, halved while the server refuses the size (then some entries come again).
 * *entry_pool is cleared after each entry. Any end but success is no whole answer. */
typedef directory_class (*ld_each)(const ld_entry *entry, apr_pool_t *entry_pool, void *baton);
directory_class ld_paged(ld_call *k, const ld_query *query, ld_each each, void *baton);

/* One write. UNSURE: sent, and the answer did not come (the connection is dropped then). */
directory_class ld_modify(ld_call *k, const char *dn, LDAPMod **mods, ld_phase phase,
                          const char *doing);
/* Requests the new entry with these attributes in the same answer, if the server offers that. */
directory_class ld_add(ld_call *k, const char *dn, LDAPMod **mods, const char *const *attributes,
                       const char *doing, ld_answer *answer);
/* The extended operation of RFC 3062: the server hashes the password by its own setting. */
directory_class ld_modify_password(ld_call *k, const char *dn, const char *password,
                                   const char *doing, ld_answer *answer);

/* A new name below another entry (modrdn, the old name goes). */
directory_class ld_rename(ld_call *k, const char *dn, const char *rdn, const char *superior,
                          const char *doing);

/* The entry at the DN; NULL if it is not visible, NOT_FOUND if there is none. The second
 * function also requires that the filter matches. */
directory_class ld_read(ld_call *k, const char *dn, const char *const *attributes,
                        const char *doing, const ld_entry **entry);
directory_class ld_read_if(ld_call *k, const char *dn, const char *filter,
                           const char *const *attributes, const char *doing,
                           const ld_entry **entry);
/* The same for a base, and for one entry below it that matches the filter. NULL if none is
 * visible, CONFIG if there is no such base. */
directory_class ld_read_base(ld_call *k, const char *dn, const char *const *attributes,
                             const char *doing, const ld_entry **entry);
directory_class ld_below(ld_call *k, const char *base, const char *filter,
                         const char *const *attributes, const char *doing, const ld_entry **entry);

#endif
