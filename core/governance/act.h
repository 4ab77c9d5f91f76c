/* Decisions about access: role templates assigned and unassigned, requests made, decided and
 * ended, each with the tasks that carry it into the directories. One implementation for REST,
 * console and idadminctl. Runs inside the caller's transaction, under the tenant's lock, which the
 * caller has taken; the caller writes the audit record. */
#ifndef CORE_GOVERNANCE_ACT_H
#define CORE_GOVERNANCE_ACT_H

#include "core/cache/person.h"
#include "core/governance/governance.h"
#include "core/governance/grant.h"

#define IDA_JUSTIFICATION_MAX 1000 /* UTF-16 units; of a decision's reason, too */

/* The acting user, as recorded in the tasks. */
typedef struct governance_actor {
    const char *tenant, *username, *label;
    const char *via; /* rest console command */
    const char *approver,
        *approver_id; /* UPN and ID of the approver of a request; otherwise NULL */
} governance_actor;

/* What an act has set in motion. */
typedef struct governance_orders {
    json_t *tasks;     /* IDs; belongs to the pool */
    json_t *homeless;  /* names of what cannot be given, because the person has no account in that
                          directory */
    const char *first; /* the first task, NULL: none */
    const char *left;  /* who is to be given access and may not sign in; NULL: nobody */
} governance_orders;

typedef struct governance_role_act {
    governance_actor by;
    const char *template_named, *user_named; /* ID or name; ID or UPN */
    /* out */
    ida_role_template *template;
    ida_user *user; /* NULL: the cache has no account with that UPN (only for removal) */
    const char *upn;
    int added;     /* 0: had it before */
    int under_way; /* 1: a task of the assignment has not finished */
    governance_orders orders;
} governance_role_act;

/* Queues the difference between the template and what the person was assigned by it. */
ida_kind governance_act_assign(store *s, ida_ctx *c, governance_role_act *act);
ida_kind governance_act_unassign(store *s, ida_ctx *c, governance_role_act *act);

typedef struct governance_request_act {
    governance_actor by;
    const char *service, *user_named, *justification; /* to ask */
    const char *id;                                   /* of the request; out where one is made */
    int approved;                                     /* to decide */
    const char *approver, *reason;                    /* UPN of the approver; NULL: no reason */
    /* out */
    const char *upn, *about; /* requester and service */
    const char *decided_by;
    int was_open; /* of an end: it was withdrawn */
    governance_orders orders;
} governance_request_act;

ida_kind governance_act_request(store *s, ida_ctx *c, governance_request_act *act);
/* Requests are decided only by their approvers with an enabled account, never by the requester. */
ida_kind governance_act_decide(store *s, ida_ctx *c, governance_request_act *act);
ida_kind governance_act_end(store *s, ida_ctx *c, governance_request_act *act);

/* --- what the acts share (core/governance/act.c) --- */

/* By UPN (any case) or ID; IDA_NOT_FOUND with a sentence. */
ida_kind governance_act_person(store *s, ida_ctx *c, const char *tenant, const char *named,
                               ida_user **user);
/* The same for the person to be changed: core/governance/whom.h. */
ida_kind governance_act_whom(store *s, ida_ctx *c, const char *tenant, const char *named,
                             ida_user **user);
/* The account of a person in a directory; NULL: none. */
const char *governance_account(const ida_user *user, ida_directory_kind directory);
void governance_no_orders(ida_ctx *c, governance_orders *orders);
/* Access that tasks are to give to a person or take away. */
typedef struct governance_order {
    ida_task_type type;
    const ida_user *user;
    const access_grantor *by;
    const access_item *items;
    int count;
} governance_order;
/* Queues one task for each directory with its part of the items; adds to `orders`. */
ida_kind governance_order_all(store *s, ida_ctx *c, const governance_actor *actor,
                              const governance_order *order, governance_orders *orders);
/* What the grantor assigned to a person, over both directories. */
ida_kind governance_given(store *s, ida_ctx *c, const char *tenant, const ida_user *user,
                          const access_grantor *by, const access_item **items, int *count);

#endif
