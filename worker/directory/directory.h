/* The function table of a directory connector. Everything above uses it, so that on-premises
 * LDAP and the cloud directory are two entries. A connector reads before it acts, is safe to
 * repeat, limits every call to DIRECTORY_CALL_MS in all, and never reports success for something
 * that the directory did not answer or show. */
#ifndef WORKER_DIRECTORY_DIRECTORY_H
#define WORKER_DIRECTORY_DIRECTORY_H

#include "core/cache/sync.h"
#include "core/model/payload.h"
#include "core/store/store.h"
#include "core/tenant/tenant.h"

/* Longest a single call of the table may take, retries inside it included (sync and probe
 * excepted). */
#define DIRECTORY_CALL_MS 20000

/* What a failure means for the task and for the directory. */
typedef enum directory_class {
    DIRECTORY_OK,
    DIRECTORY_ALREADY,   /* it was so before: success */
    DIRECTORY_NOT_FOUND, /* the object does not exist: an answer, not a fault */
    DIRECTORY_TRANSIENT, /* unreachable, busy, or timed out before anything was sent: put the
                            directory on hold, try again */
    DIRECTORY_THROTTLED, /* asked to slow down: on hold for retry_after */
    DIRECTORY_UNSURE,    /* a write was sent and its answer is lost: read before repeating */
    DIRECTORY_LAG, /* an existing object is not visible everywhere yet: this task waits a little,
                      which does not count as an attempt */
    DIRECTORY_CONFLICT,    /* a name or value is taken; `field` names it (upn: the UPN or the login
                              made from its local part; mail, cn, samAccountName) */
    DIRECTORY_INVALID,     /* the directory refuses the value: permanent; `field` if it names one */
    DIRECTORY_CREDENTIALS, /* the directory refuses our service account: hold, alarm, no quick
                              repetition */
    DIRECTORY_FORBIDDEN,   /* our account has no permission: permanent for the task, alarm */
    DIRECTORY_CONFIG,      /* TLS, wrong base, missing feature: hold, alarm, an administrator is
                              needed */
    DIRECTORY_PROTECTED,   /* guarded account (service account, protectedAccounts): permanent */
    DIRECTORY_ELSEWHERE,   /* the account is mastered in the other directory and follows changes
                              there: permanent here */
    DIRECTORY_TOKEN_LOST,  /* sync token refused: a full sync is needed */
    DIRECTORY_LOCAL        /* our own fault, or lack of resources */
} directory_class;

typedef struct directory_error {
    directory_class class;
    const char *message; /* for people: server, call and its answer; no secrets; in the call's
                            pool */
    const char *field;
    int retry_after_s;
    int unkept; /* for INVALID: the directory has no attribute for the field, or for values of
                   this kind */
    const char *const *taken; /* for set_licenses: names of those removed from the user, ended by
                                 NULL; NULL: none */
    int unseen; /* for a creation's CONFLICT: no object is visible under the name, so waiting may
                   show its owner */
} directory_error;

/* 1 if the failure concerns the directory as a whole (transient, throttled, credentials,
 * config): it is held. */
int directory_holds(directory_class class);
const char *directory_class_text(directory_class class);
/* The same as a word: for metrics. */
const char *directory_class_word(directory_class class);

/* Once, before threads start: initialises the client libraries' process-wide state and ignores
 * SIGPIPE. May be repeated; `open` calls it too. */
void directory_library_init(void);

typedef struct directory
    directory; /* an open session of one tenant's directory; one thread at a time */

typedef struct directory_user {
    const char *id, *upn, *mail, *display_name, *dn;
    int enabled;
    const char *marker;
    const char *login; /* the name without a domain, if the directory has one; otherwise NULL */
    const char *const *logins; /* all values of that attribute, ended by NULL; NULL: not read */
    const char *guarded; /* why this account must never be changed, for people; NULL: the entry
                            gives no reason */
    const char *primary; /* names the group that the account's own entry makes it a member of, as
                            the connector compares it; NULL: none */
    int managers;        /* number of managers in the entry; the cache stores a manager only if
                            there is one */
    cache_user cache;    /* the same entry in the cache's form */
    /* For create, update and disable: values that the directory could not store, and locks
     * without effect, as texts for people; NULL-terminated, or NULL if none. */
    const char *const *warnings;
} directory_user;

typedef struct directory_create {
    const ida_create *person;
    const char *display_name, *upn, *mail, *local; /* local part of the UPN */
    const char *marker;                            /* unique to the task, stored before the call */
    int64_t sent_at;      /* since when (ms UTC) a creation under this name and marker may have been
                             sent; 0: this is the first */
    const char *password; /* random; wiped by the caller */
    int restored;         /* 1: somebody may use the account since: it keeps its password */
} directory_create;

/* A new value under the name that callers use: the text members of a create payload and
 * displayName. */
typedef struct directory_attribute {
    const char *name, *value; /* value NULL: the attribute is cleared */
} directory_attribute;

typedef struct directory_membership {
    const char *group_id, *group_name;
    const char *retained; /* NULL: can be removed; otherwise why not (dynamic rule, primary group,
                             synchronised...) */
} directory_membership;

/* Adds an owner to the list of a row; of a long list the rest is left out. */
void directory_owner_add(directory_membership *row, apr_pool_t *pool, const char *owner);

/* A synchronisation's request. */
typedef struct directory_sync {
    store *cache;
    ida_ctx *c;
    int full;                  /* 1: everything is read, even if there are tokens */
    int accept;                /* 1: the deletion guard does not stop it */
    int (*alive)(void *baton); /* called between pages: non-zero stops the run (lease lost,
                                  shutdown; DIRECTORY_LOCAL). NULL: nothing does */
    void *baton;
} directory_sync;

/* ms UTC; 0: there is none, or it does not expire as far as is known. */
typedef struct directory_expiry {
    int64_t certificate; /* with which the worker signs in */
    int64_t password;    /* with which it binds, or the client secret */
} directory_expiry;

typedef struct directory_ops {
    const char *name; /* "ldap" */
    /* How long after a write (ms) the directory may still answer as if it had not been made; 0:
     * never. An account younger than that which is not found is DIRECTORY_LAG to the run, not
     * absent. */
    int64_t lag_ms;

    /* Creates a session; connects lazily. `tenant` must outlive it. */
    directory_class (*open)(directory **out, const ida_env *env, const ida_tenant *tenant,
                            ida_directory_kind kind, apr_pool_t *pool, directory_error *e);
    void (*close)(directory *d);

    /* When that expires with which it signs in. Asks the directory, so with a bound of its own.
     * May be NULL. */
    void (*expiry)(directory *d, apr_pool_t *pool, directory_expiry *out);

    /* The probe's report: appends lines {"check","ok","detail"} to `report` (json array).
     * Returns the first failure's class. */
    directory_class (*probe)(directory *d, apr_pool_t *pool, json_t *report, directory_error *e);

    /* One user by immutable ID or by UPN. DIRECTORY_NOT_FOUND; DIRECTORY_CONFLICT if more than
     * one entry has the UPN. */
    directory_class (*find)(directory *d, apr_pool_t *pool, const char *id, const char *upn,
                            directory_user *user, directory_error *e);

    /* Creates, or adopts an entry with our marker (DIRECTORY_ALREADY). DIRECTORY_CONFLICT with
     * field: the name belongs to another account. After a lost answer the connector reads back
     * itself; DIRECTORY_UNSURE only if that failed too. DIRECTORY_LAG: it may exist, but the
     * directory does not show it yet; a repeated call with `sent_at` searches, by name and by
     * marker, before it sends. Once something may have been sent, only a visible object that is
     * not ours is a conflict, however long that takes: later than lag_ms after `sent_at`, a name
     * that is taken by no visible object is DIRECTORY_UNSURE. A failure with user->id set: the
     * account exists and only its password is missing; a repeated call adopts it and continues. */
    directory_class (*create)(directory *d, apr_pool_t *pool, const directory_create *create,
                              directory_user *user, directory_error *e);

    /* `manager_upn`: a UPN, or the ID of an account of this directory; NULL: none.
     * DIRECTORY_NOT_FOUND with field "manager": the manager does not exist (otherwise: the user
     * does not). */
    directory_class (*set_manager)(directory *d, apr_pool_t *pool, const char *id,
                                   const char *manager_upn, const char **manager_id,
                                   directory_error *e);
    /* `photo` NULL: none. */
    directory_class (*set_photo)(directory *d, apr_pool_t *pool, const char *id,
                                 const unsigned char *photo, size_t len, const char *type,
                                 directory_error *e);
    /* DIRECTORY_OK only after the directory shows the account as disabled, or, with lag_ms,
     * confirmed the write; `after` is that. DIRECTORY_ELSEWHERE: it is enabled here, and only the
     * directory it is synchronised from can change that. */
    directory_class (*disable)(directory *d, apr_pool_t *pool, const char *id,
                               directory_user *after, directory_error *e);
    /* NULL if this kind of directory has no sessions to revoke: the step is `skipped` with that
     * reason. */
    directory_class (*revoke_sessions)(directory *d, apr_pool_t *pool, const char *id,
                                       directory_error *e);

    /* Every group that the directory itself shows for the user; `candidates` are cached group
     * IDs to be checked as well. */
    directory_class (*memberships)(directory *d, apr_pool_t *pool, const char *id,
                                   const char *const *candidates, int candidate_count,
                                   const directory_membership **rows, int *count,
                                   directory_error *e);
    /* Groups that the user owns, and may change without being a member: rows of
     * directory_membership, whose `retained` is who else owns the group (NULL: no other account).
     * NULL: the directory has no owners. */
    directory_class (*owned)(directory *d, apr_pool_t *pool, const char *id,
                             apr_array_header_t *rows, directory_error *e);
    /* DIRECTORY_ALREADY: was not a member, or the group does not exist. DIRECTORY_NOT_FOUND: the
     * user does not exist. DIRECTORY_INVALID: membership by rule. DIRECTORY_OK only after re-
     * reading. */
    directory_class (*remove_member)(directory *d, apr_pool_t *pool, const char *group_id,
                                     const char *user_id, directory_error *e);

    /* Sets new values of an account after reading it: DIRECTORY_ALREADY if all are set.
     * `enabled` 0, 1, or -1: unchanged. DIRECTORY_INVALID with the field: the directory refuses
     * the value or has no attribute for it. DIRECTORY_OK only after the directory shows the new
     * values or, with lag_ms, confirmed them; `after` has them. NULL while the connector has no
     * such function, as for all below. */
    directory_class (*update)(directory *d, apr_pool_t *pool, const char *id,
                              const directory_attribute *attributes, int count, int enabled,
                              directory_user *after, directory_error *e);
    /* A new password that must be changed at the next sign-in; wiped by the caller. */
    directory_class (*set_password)(directory *d, apr_pool_t *pool, const char *id,
                                    const char *password, directory_error *e);
    /* Makes sure that no person knows the account's password, if the flag that `disable` sets
     * takes effect only under a policy of the server. *proof, in: the answer to an earlier call
     * of the same task (NULL: none); out: what the directory shows of the password now ("":
     * nothing), or NULL if the account's own flag suffices and nothing was done.
     * DIRECTORY_ALREADY: the password is still that of the earlier call. It may lift the flag,
     * so `disable` follows. NULL: the account's own flag suffices. */
    directory_class (*discard_password)(directory *d, apr_pool_t *pool, const char *id,
                                        const char **proof, directory_error *e);
    /* Attributes beside the password that let somebody sign in: `had` (object: name, list of values
     * in base64) gets what stands under `names`. `take` 1: that is removed; `give` (as `had`, or
     * NULL): what is missing of it is added. NULL: the directory has none. */
    directory_class (*attributes)(directory *d, apr_pool_t *pool, const char *id,
                                  const json_t *names, const json_t *give, int take, json_t *had,
                                  directory_error *e);
    /* To another container (DN). DIRECTORY_NOT_FOUND with field "container". NULL: the directory
     * has no containers. */
    directory_class (*move)(directory *d, apr_pool_t *pool, const char *id, const char *container,
                            directory_user *after, directory_error *e);
    /* IDs of the people whose manager this user is. */
    directory_class (*reports)(directory *d, apr_pool_t *pool, const char *id,
                               const char *const **ids, int *count, directory_error *e);

    /* Adds users to one group, up to 20 in one request if the directory can. `each` (count
     * entries) gets the class of every user: DIRECTORY_OK, DIRECTORY_ALREADY or its failure; the
     * function's own class is the first failure, whose text is in `e`. DIRECTORY_NOT_FOUND with
     * field "group": the group does not exist (otherwise: the user does not). DIRECTORY_INVALID:
     * members cannot be added to a group of this kind here. */
    directory_class (*add_members)(directory *d, apr_pool_t *pool, const char *group_id,
                                   const char *const *user_ids, int count, directory_class *each,
                                   directory_error *e);
    /* Assigns and removes licences by part number or ID; lists end with NULL; "*" first in
     * `remove`: all that are assigned to the user and not through a group, followed by any that
     * the directory may not show yet; e->message then names, also after a success, those that
     * come from groups and stay (NULL: none). DIRECTORY_ALREADY: it was so before. NULL: the
     * directory has no licences. */
    directory_class (*set_licenses)(directory *d, apr_pool_t *pool, const char *user_id,
                                    const char *const *add, const char *const *remove,
                                    directory_error *e);

    /* Updates the cache through core/cache/sync.h (a full run if there is no usable token).
     * Fills summary. A run stopped by the guard is DIRECTORY_OK with summary->guard_stopped and
     * an unchanged cache: the directory's answers are not at fault. */
    directory_class (*sync)(directory *d, apr_pool_t *pool, const directory_sync *asked,
                            cache_summary *summary, directory_error *e);
} directory_ops;

/* The type of such a function, for a connector's own: DIRECTORY_FUNCTION(find) graph_find; */
#define DIRECTORY_FUNCTION(member) __typeof__(*((directory_ops *)NULL)->member)

/* The connector for a kind; NULL while this build has none. */
const directory_ops *directory_ops_for(ida_directory_kind kind);

#endif
