/* A sync run as its parts see it. */
#ifndef WORKER_GRAPH_SYNC_H
#define WORKER_GRAPH_SYNC_H

#include <apr_hash.h>

#include "worker/graph/request.h"
#include "worker/graph/value.h"

/* What the rounds ask for. A change of either makes tokens worthless: both are part of the binding.
 */
#define GRAPH_USERS_TRACKED GRAPH_USER_SELECT ",manager"
#define GRAPH_GROUPS_TRACKED GRAPH_GROUP_SELECT ",members"

typedef struct graph_delta {
    graph_call *k;
    ida_ctx *c;
    cache_sync *run;
    apr_pool_t *pool;      /* of the run */
    apr_pool_t *item_pool; /* cleared after every item */
    apr_hash_t *unnamed;   /* skuIds met that have no name as far as we know */
    int64_t users;         /* items of users read so far */
    apr_hash_t *gone;      /* IDs of users whom the round reported as deleted: memberships reported
                              for them do not count */
    int64_t settled;       /* the last run that was committed */
    apr_hash_t *appeared;  /* IDs of reported groups that the cache did not hold after it -> hash of
                              members reported as removed; NULL: a round over everything, where that
                              means nothing */
    json_t *unread;        /* ID -> "user" or "group": their links must be read in the next round */
} graph_delta;

/* Turns a store's failure into the call's error. */
directory_class graph_stored(graph_call *k, const ida_ctx *c, ida_kind kind);

/* One item of /users/delta, of /groups/delta, staged. The baton is a graph_delta. */
directory_class graph_delta_user(void *baton, json_t *item);
directory_class graph_delta_group(void *baton, json_t *item);

/* --- entries that came back (worker/graph/returned.c) --- */

/* Reads the links of users whom the round reported and the cache did not hold although they were
 * created before that time (ms UTC): they were restored or appeared late, and reading costs two
 * requests. `unread`: left over from the last round; their links are read too. */
directory_class graph_returned_users(graph_delta *d, int64_t made_before, const json_t *unread);
/* Reads the members of the groups in d->appeared. */
directory_class graph_appeared_groups(graph_delta *d);
/* Treats groups of the last round's `unread` as new to the cache again. */
void graph_unread_groups(graph_delta *d, const json_t *unread);

/* --- sign-in activity (worker/graph/signin.c): a list of its own, read in pieces over many rounds
 * --- */

/* Kept between runs as the member `signIns` of the tokens. */
typedef struct graph_sign_ins {
    const char *next;     /* page to continue with; NULL: a pass begins with the first one */
    int64_t begun_at;     /* the current pass, or the last one */
    int64_t known_at;     /* when the last whole pass began: its times are no older */
    int64_t completed_at; /* last whole pass; 0: none yet, so that sign-ins are unknown */
    int64_t not_before;   /* when to ask again */
    const char
        *refused;    /* why the directory reports no sign-ins; NULL: it does, as far as is known */
    int64_t sent[5]; /* times of the last requests, oldest first: the reports' own limit */
} graph_sign_ins;

void graph_sign_ins_load(graph_sign_ins *s, apr_pool_t *pool, const json_t *tokens);
json_t *graph_sign_ins_json(const graph_sign_ins *s); /* new reference */

/* Reads as many pages as its limit allows, waiting for its turn at most `patience_ms` in all.
 * `full`: a pass begins even if the last one is young. Whatever the directory answers here, the
 * main sync continues: only a stop, a full disk and similar failures are returned. */
directory_class graph_sign_ins_read(graph_delta *d, graph_sign_ins *s, int full,
                                    int64_t patience_ms);

/* 1 if the cache knows who did not sign in. */
int graph_sign_ins_known(const graph_sign_ins *s);

#endif
