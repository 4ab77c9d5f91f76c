/* Access that is really assigned: what a template or request contains, what was assigned to whom by
 * which grantor, and what may be removed again. Main file with the cache attached, role DB_REQUEST.
 * Directory calls are the worker's (worker/run/grant.h).
 *
 * Rule of removal: remove what this service assigned, or may have. Keep what existed before, and
 * what another assigned template or approved request grants now or granted when it was carried
 * out. */
#ifndef CORE_GOVERNANCE_GRANT_H
#define CORE_GOVERNANCE_GRANT_H

#include "core/governance/access.h"
#include "core/governance/governance.h"
#include "core/model/task.h"

/* One thing that can be given. */
typedef struct access_item {
    int license; /* 0: a group */
    ida_directory_kind directory;
    const char *id; /* group's ID; licence as it is named; NULL: a group that the directory did not
                       have, or had several of */
    const char *name; /* for people */
} access_item;

/* The kind of grantor: `source` is one of these words. */
extern const char governance_by_template[], governance_by_request[];

typedef struct access_grantor {
    const char *source, *id;
    const char *name; /* for people: the template's, the service's */
} access_grantor;

/* What a template grants by the present document, with group names resolved. An item without a
 * group (yet) counts to the directory `home`, so that the task reports it. Licences belong to
 * the cloud directory. */
ida_kind governance_template_items(store *s, ida_ctx *c, const char *tenant,
                                   const ida_role_template *template, ida_directory_kind home,
                                   const access_item **items, int *count);
/* The group of an item without ID. IDA_NOT_FOUND, IDA_CONFLICT with the reason. */
ida_kind governance_membership_item(store *s, ida_ctx *c, const char *tenant, const char *named,
                                    access_item *item);

/* --- carrying out, one item of one account at a time; `by` is the grantor, `task` the task that
 * does it --- */

typedef struct access_grant_at {
    const ida_task *task; /* tenant, directory and account (object_id) */
    const access_grantor *by;
} access_grant_at;

/* Whether the grantor still grants: the template is assigned to the person, the request approved.
 */
ida_kind governance_grant_stands(store *s, ida_ctx *c, const access_grant_at *at, int *stands);

/* Before the first call. *ours: an earlier try may have made it, so "it was so already" is our own
 * work. */
ida_kind governance_grant_begin(store *s, ida_ctx *c, const access_grant_at *at,
                                const access_item *item, int *ours);
/* After the grant. `stood`: the item existed before, and not through us. */
ida_kind governance_grant_settle(store *s, ida_ctx *c, const access_grant_at *at,
                                 const access_item *item, int stood);
/* The call was refused for good: nothing was given. */
ida_kind governance_grant_forget(store *s, ida_ctx *c, const access_grant_at *at,
                                 const access_item *item);

/* What the grantor has given this account. */
ida_kind governance_grant_list(store *s, ida_ctx *c, const access_grant_at *at,
                               const access_item **items, int *count);
/* Templates that gave the account of a run something and are not assigned to it any more: what is
 * left to be taken. */
ida_kind governance_grant_unassigned(store *s, ida_ctx *c, const ida_task *task,
                                     const access_grantor **grantors, int *count);
/* *why: reason for people why the item must stay; NULL: remove it. *heir: another grantor of it
 * (source NULL: none). */
ida_kind governance_grant_keeps(store *s, ida_ctx *c, const access_grant_at *at,
                                const access_item *item, access_grantor *heir, const char **why);
/* The grantor's part has ended with the item staying: what was our work is the heir's from now on,
 * so that its removal takes it away. */
ida_kind governance_grant_hand_over(store *s, ida_ctx *c, const access_grant_at *at,
                                    const access_item *item, const access_grantor *heir);

/* --- the tasks --- */

/* A task of type accessGrant or accessRevoke for one account: one step an item, due now. The
 * person's other tasks go first as usual. `user_id` is the account in `directory`. */
typedef struct access_order {
    const ida_tenant *tenant;
    ida_task_type type;
    ida_directory_kind directory;
    queue_person person;
    const char *user_id, *upn, *display_name; /* user_id: the account in that directory */
    const access_grantor *by;
    const access_item *items; /* those of another directory are left out */
    int count;
    const char *username, *label;             /* who asked */
    const char *via;                          /* how: rest console command workflow */
    const char *approved_by, *approved_by_id; /* of a request; otherwise NULL */
} access_order;

/* Inside a transaction under the tenant's lock. *task_id stays NULL when no item is of that
 * directory. */
ida_kind governance_grant_order(store *s, ida_ctx *c, const access_order *order,
                                const char **task_id);

/* What such a task is about, read from its payload. IDA_INTERNAL_ERROR when it is damaged. */
ida_kind governance_grant_of_task(ida_ctx *c, const ida_task *task, access_grantor *by,
                                  const access_item **items, int *count);

/* --- the end of a person --- */

/* An offboarding is done: assignments and requests of the person end, each with its audit record,
 * and nothing is owed any more. Inside the transaction that ends the task. */
ida_kind governance_grant_leave(store *s, ida_ctx *c, const ida_task *offboarding);

#endif
