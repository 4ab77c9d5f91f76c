/* Items of delta pages as the cache takes them. */
#ifndef WORKER_GRAPH_DELTA_H
#define WORKER_GRAPH_DELTA_H

#include <apr_hash.h>

#include "worker/graph/graph.h"
#include "worker/graph/reader.h"

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
    apr_hash_t *skus;      /* skuId -> name, as met in this run */
    int unnamed_skus;      /* licences met that have no name as far as we know */
    int64_t users;         /* items of users read so far */
    apr_hash_t *gone; /* IDs of users who are deleted, as far as the round told: memberships named
                         for them are none */
    int64_t settled;  /* the last run that was committed */
    apr_hash_t
        *appeared;  /* IDs of groups told that the cache did not hold after it -> hash of members
                     * told to be none;  NULL: a round over everything, where that says nothing */
    json_t *unread; /* ID -> "user" or "group": their links are to be asked for in the next round */
} graph_delta;

/* Turns a store's failure into the call's error. */
directory_class graph_stored(graph_call *k, const ida_ctx *c, ida_kind kind);

/* One item of /users/delta, of /groups/delta, staged. */
directory_class graph_delta_user(graph_delta *d, graph_reader *r);
directory_class graph_delta_group(graph_delta *d, graph_reader *r);

/* "#microsoft.graph.user" -> "user", "...group" -> "group"; NULL for what the cache does not know.
 * Without a type: a user. */
const char *graph_member_kind(const char *type);
/* A member of a group as the cache takes it. What is neither user nor group (a device, an
 * application) is one whom no cached entry is: the group is not empty, and nobody has access by it.
 */
cache_member graph_member_of(const char *id, const char *type);

/* RFC 3339 to ms; 0 for NULL, other text and the year 1, which the directory writes for "never". */
int64_t graph_text_time(const char *text);

#endif
