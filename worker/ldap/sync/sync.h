/* A sync run as its parts see it: the streams of users and groups, however they are read. */
#ifndef WORKER_LDAP_SYNC_SYNC_H
#define WORKER_LDAP_SYNC_SYNC_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "worker/ldap/wire/request.h"
#include "worker/ldap/wire/session.h"
#include "worker/ldap/wire/value.h"

/* Contract: worker/directory/directory.h. */
DIRECTORY_FUNCTION(sync) ld_sync;

#define LD_RUN_MS (60 * 60 * 1000) /* longest run */
#define LD_SILENCE_MS 60000        /* of the server inside one answer of a run */

typedef struct ld_run {
    ld_call *k;
    ida_ctx *c;
    cache_sync *run;
    int whole;    /* everything is read: Active Directory reports member lists as slices, to which
                     primary groups are added */
    int sign_ins; /* a sign-in time was seen */
    int64_t changes;           /* items that were more than "still there" */
    apr_array_header_t *later; /* DNs of groups whose members are read in full after the stream */
    apr_hash_t *holders;       /* SID of a group -> reported accounts whose primary group it is
                                  (cache_member) */
    const char
        *unstamped;    /* DN of an entry of the current stream that shows no stamp; NULL: none */
    const char *drift; /* why the report may be inconsistent, so that everything must be read;
                          NULL: no reason (worker/ldap/sync/drift.c) */
} ld_run;

typedef struct ld_kind {
    const char *name;  /* "user", "group" */
    const char *token; /* its member in sync_state.tokens */
    const char *base, *filter;
    const char *const *attributes;
    LDAPControl **controls; /* of searches for it; NULL: none */
    directory_class (*item)(ld_run *r, apr_pool_t *pool, const ld_entry *entry); /* one of them */
} ld_kind;

/* Turns a store's failure into the call's error. */
directory_class ld_stored(ld_run *r, ida_kind kind);

/* Notes an entry of a stream that shows no stamp (NULL). */
void ld_unstamped(ld_run *r, const ld_entry *entry, const char *stamp);

/* Reads the entries of a kind by a paged search into the run, those that fulfil the filter `and` as
 * well ("": all). `doing`: "read all", for messages. */
directory_class ld_read_items(ld_run *r, const ld_kind *kind, const char *and, const char *doing);

/* --- groups (worker/ldap/sync/members.c) --- */

/* Attributes to request of a group, with its members. */
const char *const *ld_group_attributes_all(const directory *d, apr_pool_t *pool);
/* An entry of a stream (ld_kind.item). */
directory_class ld_group_item(ld_run *r, apr_pool_t *pool, const ld_entry *entry);
/* The group of an entry; CONFIG when our account may not read its ID. */
directory_class ld_group_entry(ld_run *r, apr_pool_t *pool, const ld_entry *entry,
                               cache_group *group);
/* Reads the members that the streams left for later; no stream may be open. And all groups with
 * members by rule or by login name. */
directory_class ld_groups_late(ld_run *r);
directory_class ld_groups_dynamic(ld_run *r, const ld_kind *users, const ld_kind *groups);

/* --- Active Directory: changes (worker/ldap/sync/dirsync.c, worker/ldap/sync/usn.c) --- */

/* Reads users and groups by DirSync. `old`: tokens of the last run (NULL: everything); `tokens`:
 * those of this one. *blind: deletions do not show. *unavailable: the server or our account cannot;
 * what was staged is worth nothing. */
directory_class ld_dirsync(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens,
                           int *blind, int *unavailable);
/* OK when our account may use DirSync; FORBIDDEN when not. *deletions: it may read where deleted
 * entries lie. */
directory_class ld_dirsync_right(ld_call *k, int *deletions);
/* The same as ld_dirsync by uSNChanged, which shows no deletions. */
directory_class ld_usn(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens);

/* --- primary groups (worker/ldap/sync/primary.c) --- */

/* Adds an account to its primary group. Reported after the streams, so that it is kept when a
 * member list without it arrives. */
directory_class ld_primary_user(ld_run *r, apr_pool_t *pool, const ld_entry *entry);
directory_class ld_primary_end(ld_run *r);
/* Adds the accounts whose primary group this is, read from the directory, to a list of members
 * that replaces the old one. No stream may be open. In a whole run it adds none: ld_primary_user
 * reports them. */
directory_class ld_primary_holders(ld_run *r, const ld_entry *group, apr_array_header_t *members);

/* --- when everything must be read (worker/ldap/sync/drift.c) --- */

typedef struct ld_drift {
    int64_t now;        /* when the sync began, ms */
    int64_t since;      /* when the latest reason arose, ms; 0: none */
    int64_t took;       /* by the last read of everything, ms */
    int may_read_all;   /* everything may be read now because of a suspected drift */
    const char *start;  /* when the server was started, in its own format; "" if it does not
                           report it */
    const char *places; /* digest of the containers; NULL: not read */
} ld_drift;

/* What the last run left (`tokens`, if valid) and what has happened since. `by_dn`: the streams
 * report links by DN and do not report links to entries whose DN changed. */
directory_class ld_drift_begin(ld_run *r, ld_drift *drift, store *cache,
                               const cache_sync_state *state, const json_t *tokens, int by_dn);
/* Looks whether containers have moved; before the streams. */
directory_class ld_drift_places(ld_run *r, ld_drift *drift, const json_t *tokens,
                                const ld_kind *kinds, int count);
/* Into the tokens of the run that ends. `blind`: it showed no deletions. */
void ld_drift_end(const ld_run *r, const ld_drift *drift, const json_t *old, int blind,
                  json_t *tokens);

/* --- OpenLDAP (worker/ldap/sync/cookie.c, worker/ldap/sync/syncrepl.c) --- */

/* The earliest CSN of a cookie; NULL for a cookie of another shape. */
const char *ld_cookie_earliest(apr_pool_t *pool, const struct berval *cookie);
/* 1 if the databases of all bases show the CSNs of the cookies in `tokens`: slapd would answer
 * each stream that nothing has changed, though with the overlay dynlist only after reading all
 * entries. 0 also if they are not shown to us. */
int ld_unchanged(ld_call *k, const ld_kind *kinds, int count, const json_t *tokens);

/* Reads one stream by RFC 4533 refreshOnly. `cookie`: base64 text or NULL (whole content); *next:
 * the new one, NULL when the server gave none. *unavailable: the server cannot sync; nothing was
 * staged. */
directory_class ld_syncrepl(ld_run *r, const ld_kind *kind, const char *cookie, const char **next,
                            int *unavailable);
/* The doctor's look: the whole content of `query` as a sync reads it, which a server may limit
 * otherwise than pages. */
directory_class ld_syncrepl_look(ld_call *k, const ld_query *query, ld_take each, void *baton);

#endif
