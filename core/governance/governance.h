/* Role templates, assignments, access requests, workflows and their runs as they are read; deciding
 * and assigning are in core/governance/decision.h. Main file, role DB_REQUEST. */
#ifndef CORE_GOVERNANCE_GOVERNANCE_H
#define CORE_GOVERNANCE_GOVERNANCE_H

#include "core/queue/change.h"

typedef struct ida_role_template {
    const char *id, *name, *description;
    const json_t *groups,
        *licenses; /* arrays of texts, of the pool; groups as the document names them */
} ida_role_template;

/* By name, after `after_name`. */
ida_kind governance_template_list(store *s, ida_ctx *c, const char *tenant, const char *after_name,
                                  int limit, const ida_role_template **rows, int *count);
/* *counts: by the template's ID, how many memberships that it granted the directory does not show
 * any more; templates without such are left out. */
ida_kind governance_template_missing(store *s, ida_ctx *c, const char *tenant,
                                     const json_t **counts);
ida_kind governance_template_count(store *s, ida_ctx *c, const char *tenant, int64_t *total);
/* By ID or name; IDA_NOT_FOUND. */
ida_kind governance_template_find(store *s, ida_ctx *c, const char *tenant, const char *template,
                                  ida_role_template **out);

typedef struct ida_role_assignment {
    const char *template_id, *template_name, *upn, *assigned_by, *who;
    int64_t assigned_at;
    const char *user_id, *task_id, *task_state; /* NULL: not known, none */
} ida_role_assignment;

/* A page of them, of one template (ID) and one person where not NULL. */
typedef struct governance_assigned_filter {
    const char *template_id;
    const queue_person *person;
    const char *after_template, *after_who;
    int limit;
    int64_t count_max; /* a count is at most this */
} governance_assigned_filter;
ida_kind governance_assignment_page(store *s, ida_ctx *c, const char *tenant,
                                    const governance_assigned_filter *filter,
                                    const ida_role_assignment **rows, int *count, int64_t *total);

typedef struct ida_access_service {
    const char *name, *group;
    const char *approvers; /* JSON array of UPNs */
} ida_access_service;

/* By name, after `after_name`. */
ida_kind governance_service_list(store *s, ida_ctx *c, const char *tenant, const char *after_name,
                                 int limit, const ida_access_service **rows, int *count,
                                 int64_t *total);
ida_kind governance_service_get(store *s, ida_ctx *c, const char *tenant, const char *name,
                                ida_access_service *service); /* IDA_NOT_FOUND */

typedef struct ida_access_request {
    const char *id, *service, *group_name, *group_id, *person, *upn, *user_id, *justification;
    const char *approvers; /* JSON array of UPNs */
    const char *state;     /* open approved denied; withdrawn, ended */
    const char *decided_by;
    int64_t requested_at, decided_at, ended_at;
    int64_t taken_away_at; /* approved, and the membership was seen removed since; otherwise 0 */
    const char *reason;    /* of the decision; NULL: none was given */
    const char *task_id;   /* that carries it out; NULL: none */
    const char *task_state, *task_error; /* its result; NULL: unknown */
} ida_access_request;

struct ida_user;
/* 1 if the request is this person's own, also after a change of name: requesters may not decide. */
int governance_request_is_own(ida_ctx *c, const ida_access_request *request,
                              const struct ida_user *user);

/* Open ones, oldest first, after (after_at, after_id). */
ida_kind governance_request_open(store *s, ida_ctx *c, const char *tenant, int64_t after_at,
                                 const char *after_id, int limit, const ida_access_request **rows,
                                 int *count);
ida_kind governance_request_open_count(store *s, ida_ctx *c, const char *tenant, int64_t *total);
/* Newest first, before the ID (NULL: from the newest on), in these states (with commas between;
 * NULL: any). */
ida_kind governance_request_list(store *s, ida_ctx *c, const char *tenant, const char *before_id,
                                 const char *states, int limit, const ida_access_request **rows,
                                 int *count);
/* At most `max`. */
ida_kind governance_request_count(store *s, ida_ctx *c, const char *tenant, const char *states,
                                  int64_t max, int64_t *total);
ida_kind governance_request_get(store *s, ida_ctx *c, const char *tenant, const char *id,
                                const ida_access_request **request); /* IDA_NOT_FOUND */
/* The open request of a person for a service; IDA_NOT_FOUND. */
ida_kind governance_request_open_of(store *s, ida_ctx *c, const char *tenant,
                                    const queue_person *person, const char *service,
                                    const ida_access_request **request);

typedef struct ida_workflow_row {
    const char *id, *name, *trigger;
    int active, action_count;
} ida_workflow_row;

ida_kind governance_workflow_list(store *s, ida_ctx *c, const char *tenant, const char *after_name,
                                  int limit, const ida_workflow_row **rows, int *count);
ida_kind governance_workflow_count(store *s, ida_ctx *c, const char *tenant, int64_t *total);
/* *name as it is written where a workflow, or history of a former one, has it in another case;
 * NULL: there is none. */
ida_kind governance_workflow_known(store *s, ida_ctx *c, const char *tenant, const char **name);

typedef struct ida_workflow_action {
    int64_t position, started_at, finished_at;
    const char *type, *status, *error;
} ida_workflow_action;

typedef struct ida_workflow_run {
    const char *id, *workflow, *event_type, *task_id, *upn, *status;
    int64_t started_at, finished_at;
    const ida_workflow_action *actions;
    int action_count;
} ida_workflow_run;

typedef struct governance_run_filter {
    const char *workflow;       /* NULL: every one */
    const queue_person *person; /* NULL: any */
    const char *status;         /* NULL: any */
    int64_t from, to;           /* begun at or after `from`, before `to` */
    int64_t before_at;          /* the page: before this one; INT64_MAX: from `to` on */
    const char *before_id;
    int limit;
    int64_t count_max; /* a count is at most this */
} governance_run_filter;

/* Newest first, with their actions. */
ida_kind governance_workflow_runs(store *s, ida_ctx *c, const char *tenant,
                                  const governance_run_filter *filter, ida_workflow_run **rows,
                                  int *count);
ida_kind governance_workflow_runs_count(store *s, ida_ctx *c, const char *tenant,
                                        const governance_run_filter *filter, int64_t *total);

#endif
