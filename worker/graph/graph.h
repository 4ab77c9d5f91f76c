/* What the files of the cloud connector (Microsoft Graph v1.0) share: the session, one
 * authenticated call, addresses, groups as the API shows them. Everything of a session belongs to
 * one thread at a time; tokens and pacing are the process's (worker/graph/token.c,
 * worker/graph/throttle.c) and lock for themselves. */
#ifndef WORKER_GRAPH_GRAPH_H
#define WORKER_GRAPH_GRAPH_H

#include <jansson.h>

#include "worker/directory/directory.h"

#define GRAPH_ID_MAX 64 /* bytes of an object ID: a GUID, with room */
#define GRAPH_LAG_MS \
    (15 * 60 *       \
     1000) /* how long an object of ours may not be visible yet (contract: consistency window) */
#define GRAPH_BIND_MAX 20 /* members in one members@odata.bind */

struct http_client;  /* libcurl handle, connections and settings (worker/graph/http.c) */
struct graph_client; /* token and pacing of one application and tenant, shared by the process's
                        sessions */

typedef struct graph {
    const ida_env *env;
    const ida_tenant *tenant;
    apr_pool_t *pool; /* of the session */
    /* settings, from the sealed tenant document */
    const char *root, *origin; /* "https://graph.microsoft.com/v1.0"; scheme, host and port of it */
    const char *authority, *directory_id, *client_id, *secret_file, *certificate_file, *ca_file,
        *proxy_url;
    const char *marker;               /* "extensionAttribute1" .. "extensionAttribute15" */
    const json_t *protected_accounts; /* borrowed from the tenant */
    cache_guard guard;
    char cleared[GRAPH_ID_MAX +
                 1];       /* who may be changed, as was seen a moment ago (worker/graph/guard.c) */
    int64_t cleared_until; /* monotonic ms */
    struct http_client *http;
    struct graph_client *client;
} graph;

/* One call of the function table: its pool, its error and the one deadline of all its requests. */
typedef struct graph_call {
    graph *g;
    apr_pool_t *pool;
    directory_error *e;
    int64_t deadline;     /* monotonic ms */
    int (*alive)(void *); /* non-zero stops the call; NULL: none */
    void *baton;
} graph_call;

graph_call graph_call_begin(graph *g, apr_pool_t *pool,
                            directory_error *e); /* deadline: DIRECTORY_CALL_MS from now */
int64_t graph_left(const graph_call *k);         /* ms, 0 when over */

/* Sets the error and returns its class. Text of the directory is cleaned; tokens and secrets never
 * get into it. */
directory_class graph_fail(graph_call *k, directory_class class, const char *field,
                           const char *format, ...) __attribute__((format(printf, 4, 5)));

/* --- one request (worker/graph/request.c) --- */

typedef enum graph_effect { GRAPH_READ, GRAPH_WRITE } graph_effect;

typedef struct graph_request {
    const char *method; /* "GET", "POST", "PATCH", "PUT", "DELETE" */
    const char *url;    /* absolute; refused (DIRECTORY_CONFIG) unless of the session's origin */
    const json_t *json; /* body, or NULL */
    const void *bytes;  /* body that is no JSON (a photo), with its type */
    size_t bytes_len;
    const char *bytes_type;
    const char *const *headers; /* further headers "Name: value", NULL-terminated, or NULL */
    int cost;                   /* resource units, contract 7; 0: 1 */
    int low_priority;           /* x-ms-throttle-priority: low (sync) */
    size_t max_bytes;           /* of the answer; 0: 8 MiB */
    int raw; /* a 2xx body is given as it came, in answer->bytes: pages of a sync are read without
              * building trees. Nothing in it is secret */
    const char *doing; /* for messages: "creating the user" */
} graph_request;

typedef struct graph_answer {
    int status;   /* 0: none came */
    json_t *json; /* body; NULL when empty or no JSON (or raw); belongs to the call's pool */
    char *bytes;  /* raw: the body, ended by NUL, in the call's pool, for the caller to change; else
                     NULL */
    size_t bytes_len;
    const char *code;                        /* error.code, or "" */
    const char *message;                     /* error.message, cleaned, or "" */
    const char *detail_code, *detail_target; /* first of error.details, or "" */
    const char *location;                    /* header, or NULL */
    int retry_after_ms;                      /* -1: not told */
    int sent_before; /* of graph_write: this answers a repetition, and an earlier sending may have
                        taken effect */
} graph_answer;

/* Token, pacing, request, 401 with one new token, classification. DIRECTORY_OK for any 2xx. Every
 * other class sets the error, and `answer` says what came, so that callers can make of a 400 or 404
 * what it means for them: 404 is DIRECTORY_NOT_FOUND, 409 and 5xx of a read DIRECTORY_TRANSIENT, a
 * lost or cut off answer and a 5xx of a write DIRECTORY_UNSURE, 429 DIRECTORY_THROTTLED with
 * retry_after_s. Nothing is repeated here but the 401. `answer` may not be NULL. */
directory_class graph_send(graph_call *k, graph_effect effect, const graph_request *request,
                           graph_answer *answer);

/* --- addresses (worker/graph/url.c): the one place where they are built --- */

/* graph_url(k, "/users/%s/manager/$ref", id): every %s is percent-encoded as a path segment (a UPN
 * beginning with '$' is put in the function form by graph_user_url). */
const char *graph_url(const graph *g, apr_pool_t *pool, const char *format, ...);
/* "/users/{key}" + tail, by ID or UPN. */
const char *graph_user_url(const graph *g, apr_pool_t *pool, const char *key, const char *tail);
/* Removal of a group's member. The only place that makes a DELETE address below a group; without
 * "/$ref" it would delete the user. */
const char *graph_member_ref_url(const graph *g, apr_pool_t *pool, const char *group_id,
                                 const char *member_id);
/* 1 when scheme, host and port are the session's. */
int graph_url_ours(const graph *g, const char *url);
/* A value inside '' of $filter: quotes doubled, then percent-encoded. */
const char *graph_filter_value(apr_pool_t *pool, const char *text);

/* --- groups (worker/graph/groups.c) --- */

#define GRAPH_GROUP_SELECT                                                              \
    "id,displayName,description,groupTypes,securityEnabled,mailEnabled,membershipRule," \
    "membershipRuleProcessingState,"                                                    \
    "onPremisesSyncEnabled,isAssignableToRole,isManagementRestricted,assignedLicenses"

/* Kind for the cache: security, microsoft365, distribution, dynamic. */
const char *graph_group_kind(const json_t *group);
/* NULL when members can be changed here, else why not, for people (contract 9.1, in its order). */
const char *graph_group_retained(const json_t *group);

/* --- users (worker/graph/users.c) --- */

#define GRAPH_USER_SELECT                                                                         \
    "id,userPrincipalName,displayName,givenName,surname,department,jobTitle,mail,accountEnabled," \
    "userType,createdDateTime,"                                                                   \
    "companyName,officeLocation,city,country,employeeId,onPremisesSyncEnabled,"                   \
    "onPremisesImmutableId,assignedLicenses,"                                                     \
    "proxyAddresses"

/* The API's user as the cache takes it; licenses by their skuPartNumber where the session knows it
 * (worker/graph/license.c), else the skuId. 0 when it has no id. */
int graph_user_item(graph_call *k, const json_t *user, cache_user *item);
/* RFC 3339 to ms; 0 for absent, null and the year 1. */
int64_t graph_time(const json_t *value);

/* --- the function table's entries --- */

directory_class graph_open(directory **out, const ida_env *env, const ida_tenant *tenant,
                           ida_directory_kind kind, apr_pool_t *pool, directory_error *e);
void graph_close(directory *d);
directory_class graph_probe(directory *d, apr_pool_t *pool, json_t *report, directory_error *e);
directory_class graph_find(directory *d, apr_pool_t *pool, const char *id, const char *upn,
                           directory_user *user, directory_error *e);
directory_class graph_create(directory *d, apr_pool_t *pool, const directory_create *create,
                             directory_user *user, directory_error *e);
directory_class graph_set_manager(directory *d, apr_pool_t *pool, const char *id,
                                  const char *manager_upn, const char **manager_id,
                                  directory_error *e);
directory_class graph_set_photo(directory *d, apr_pool_t *pool, const char *id,
                                const unsigned char *photo, size_t len, const char *type,
                                directory_error *e);
directory_class graph_disable(directory *d, apr_pool_t *pool, const char *id, directory_user *after,
                              directory_error *e);
directory_class graph_revoke_sessions(directory *d, apr_pool_t *pool, const char *id,
                                      directory_error *e);
directory_class graph_memberships(directory *d, apr_pool_t *pool, const char *id,
                                  const char *const *candidates, int candidate_count,
                                  const directory_membership **rows, int *count,
                                  directory_error *e);
directory_class graph_remove_member(directory *d, apr_pool_t *pool, const char *group_id,
                                    const char *user_id, directory_error *e);
directory_class graph_update(directory *d, apr_pool_t *pool, const char *id,
                             const directory_attribute *attributes, int count, int enabled,
                             directory_user *after, directory_error *e);
directory_class graph_set_password(directory *d, apr_pool_t *pool, const char *id,
                                   const char *password, directory_error *e);
directory_class graph_reports(directory *d, apr_pool_t *pool, const char *id,
                              const char *const **ids, int *count, directory_error *e);
directory_class graph_add_members(directory *d, apr_pool_t *pool, const char *group_id,
                                  const char *const *user_ids, int count, directory_class *each,
                                  directory_error *e);
directory_class graph_set_licenses(directory *d, apr_pool_t *pool, const char *user_id,
                                   const char *const *add, const char *const *remove,
                                   directory_error *e);
directory_class graph_sync(directory *d, apr_pool_t *pool, store *cache, ida_ctx *c, int full,
                           int accept, int (*alive)(void *), void *baton, cache_summary *summary,
                           directory_error *e);

/* The settings of a document's `directories.cloud` and what belongs to the process. */
/* Once, before threads start; idempotent. */
void graph_library_init(void);
extern const directory_ops graph_directory_ops;

#endif
