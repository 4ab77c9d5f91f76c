/* A sync run as its parts see it: the streams of users and groups, however they are read. */
#ifndef WORKER_LDAP_SYNC_H
#define WORKER_LDAP_SYNC_H

#include "worker/ldap/session.h"

#define LD_RUN_MS (60 * 60 * 1000) /* longest run */
#define LD_SILENCE_MS 60000        /* of the server inside one answer of a run */

typedef struct ld_primary ld_primary;

typedef struct ld_run {
    ld_call *k;
    ida_ctx *c;
    cache_sync *run;
    apr_pool_t *item_pool; /* cleared after every item */
    int sign_ins;          /* a sign-in time was seen */
    int64_t changes;       /* items that were more than "still there" */
    int64_t entries; /* of them, in content synchronisation, those with content: new or different */
    apr_array_header_t
        *later; /* DNs of groups whose members are to be read in full after the stream */
    apr_array_header_t
        *moved; /* IDs of accounts that others may link to without having been told again */
    int raced, last_try; /* entries were moved while the run read: see ld_dirsync_moves */
    ld_primary *primary; /* NULL: the dialect knows no primary groups */
    const char
        *unstamped; /* DN of an entry of the stream in hand that shows no stamp; NULL: none */
    int restarted;  /* the server has been started since the token was given: what it knew of
                       deletions may be lost */
    int whole; /* everything is read: lists of members are told as slices, which primary groups add
                  to */
} ld_run;

typedef struct ld_kind {
    const char *name;  /* "user", "group" */
    const char *token; /* its member in sync_state.tokens */
    const char *base, *filter;
    const char *const *attributes;
    directory_class (*item)(ld_run *r, const ld_entry *entry);
} ld_kind;

/* Turns a store's failure into the call's error. */
directory_class ld_stored(ld_run *r, ida_kind kind);

/* Notes an entry of a stream that shows no stamp (NULL). */
void ld_unstamped(ld_run *r, const ld_entry *entry, const char *stamp);

/* --- groups (worker/ldap/members.c) --- */

/* What is asked of a group, with its members. */
const char *const *ld_group_attributes_all(const directory *d, apr_pool_t *pool);
/* An entry of a stream (ld_kind.item). */
directory_class ld_group_item(ld_run *r, const ld_entry *entry);
/* The group of an entry; CONFIG when our account may not read its ID. */
directory_class ld_group_entry(ld_run *r, const ld_entry *entry, cache_group *group);
/* Its members are read, in as many parts as the server makes of them, when the stream has ended. */
void ld_group_later(ld_run *r, const char *dn);
/* Reads those; no stream may be open. And all groups with members by rule. */
directory_class ld_groups_late(ld_run *r, const ld_kind *groups);
directory_class ld_groups_dynamic(ld_run *r, const ld_kind *groups);

/* --- Active Directory: changes (worker/ldap/dirsync.c, worker/ldap/dirsync_ask.c,
 * worker/ldap/usn.c) --- */

/* Reads users and groups by DirSync. `old`: tokens of the last run (NULL: everything); `tokens`:
 * those of this one. *unavailable: the server or our account cannot; what was staged is worth
 * nothing. */
directory_class ld_dirsync(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens,
                           int *unavailable);
/* Sets r->raced when something was renamed or moved since `tokens` were given. DirSync names new
 * members by DN, and what has changed is looked at after it: if a DN changed in between, the two do
 * not fit together, and a link may seem to be somebody else's. */
directory_class ld_dirsync_moves(ld_run *r, const json_t *tokens);
/* OK when our account may use DirSync; FORBIDDEN when not. *deletions: it may read where deleted
 * entries lie. */
directory_class ld_dirsync_right(ld_call *k, int *deletions);
/* The same as ld_dirsync by uSNChanged; and the server's change counter. */
directory_class ld_usn_newest(ld_call *k, const char **usn);
directory_class ld_usn(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens);
/* Where deletions do not show: every ten minutes a look at what is still there. */
directory_class ld_scan(ld_run *r, const ld_kind *kinds, const json_t *old, json_t *tokens);

/* --- primary groups (worker/ldap/primary.c) --- */

/* Before the streams of a run; and after them, when all that was collected is told. */
directory_class ld_primary_begin(ld_run *r, const ld_kind *groups, int whole);
directory_class ld_primary_end(ld_run *r);
/* An account as it is now: a member of its primary group. */
directory_class ld_primary_user(ld_run *r, const ld_entry *entry);
/* IDs of members that a group was told to have lost; `ids` is kept. */
void ld_primary_lost(ld_run *r, const ld_entry *group, const char *group_id,
                     apr_array_header_t *ids);
/* IDs of those who have the group as primary one, from the directory, for a list of members that
 * replaces the old one. No stream may be open. In a whole run nobody: they are told by
 * ld_primary_user. */
directory_class ld_primary_holders(ld_run *r, const ld_entry *group, apr_pool_t *pool,
                                   apr_array_header_t *ids);

/* Reads the entries of a kind by a paged search, those that fulfil the filter `and` as well (NULL:
 * all), into the run. `controls`: more of them, NULL for none; *told (may be NULL): how many there
 * were. */
directory_class ld_read_items(ld_run *r, const ld_kind *kind, const char *and,
                              LDAPControl **controls, const char *doing, int64_t *told);

/* Those whose links may have changed without a word (core/cache/sync.h: cache_sync_again), from the
 * directory into the run; after the streams. `tokens`: of the run before. And who they are. */
directory_class ld_again(ld_run *r, store *cache, const ld_kind *kinds, int count,
                         const json_t *tokens);
directory_class ld_again_ids(ld_run *r, store *cache, const json_t *tokens, cache_again_ids *ids);
/* Notes in the tokens of a run how far back the next one looks; `before`: the tokens there were,
 * NULL for none. */
void ld_again_note(const ld_run *r, const json_t *before, json_t *tokens);

/* Active Directory, after the streams of an increment: memberships and reports of accounts that
 * moved, or came to the cache and were on the server before, whoever was told of them then; and the
 * groups that hold the entry `dn`, as memberships of that user or group. */
directory_class ld_came_back(ld_run *r, const ld_kind *kinds, const json_t *tokens);
directory_class ld_joined(ld_run *r, const ld_kind *groups, const char *kind, const char *id,
                          const char *dn, apr_pool_t *pool);

/* *digest of all containers below the bases, by ID and DN. The server reports the rename of a
 * container, not the new DNs of what it holds: another digest means that everything must be read.
 * NULL: the dialect tells of them. */
directory_class ld_places(ld_call *k, const ld_kind *kinds, int count, const char **digest);

/* --- OpenLDAP's cookies (worker/ldap/cookie.c) --- */

/* The earliest CSN of a cookie; NULL for a cookie of another shape. */
const char *ld_cookie_earliest(apr_pool_t *pool, const struct berval *cookie);
/* 1 when the databases of all bases show the CSNs of the cookies in `tokens`: slapd would answer
 * each that nothing has changed, though after a look at all entries where it has the overlay
 * dynlist. 0 also when they are not shown to us. */
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
