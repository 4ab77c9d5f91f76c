/* The queue as callers see it: queueing (seats, names, tasks in one transaction), reading,
 * cancelling, moving. What the worker does with tasks is in core/queue/claim.h. */
#ifndef CORE_QUEUE_CHANGE_H
#define CORE_QUEUE_CHANGE_H

#include "core/model/task.h"
#include "core/store/store.h"

/* Workers that wait for work listen here (db_wait). */
#define QUEUE_CHANNEL "idadmin_queue"

/* Whom a question is about. Tasks are found by the IDs of the person's accounts; by the address
 * those alone that know no ID yet, which are creations: a task of somebody else who had or has the
 * address is never found. core/governance/whom.h makes one of a user of the cache. */
typedef struct queue_person {
    const char *id, *other_id; /* NULL: none, or not known */
    const char *address;       /* folded UPN; NULL: none */
} queue_person;
/* The three as arguments of a statement, which compares them with task.who. */
#define QUEUE_PERSON(person)                                                                    \
    DB_T((person)->id ? (person)->id : ""), DB_T((person)->other_id ? (person)->other_id : ""), \
        DB_T((person)->address ? (person)->address : "")
queue_person queue_person_of(const ida_task *task);

/* --- inside store_transaction, after store_tenant_lock --- */

/* Seats in use: enabled members of the cache + seats held by tasks - running seat holders whose
 * account the cache counts already. One statement, so that a write-through between two looks is not
 * counted twice. */
ida_kind queue_seats_used(store *s, ida_ctx *c, const char *tenant, int64_t *used);

/* IDA_FORBIDDEN with used and limit when the tenant has no seat left. */
ida_kind queue_seat_free(store *s, ida_ctx *c, const ida_tenant *tenant);
/* Whether an enabling of the person needs a further seat: no, when another task than `task_id`
 * (NULL: any) holds one for it, or else when the cache counts an enabled account. */
enum { QUEUE_SEAT_NONE, QUEUE_SEAT_CACHED, QUEUE_SEAT_HELD };
ida_kind queue_seat_of_person(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                              const char *task_id, int *counted);

/* Lowest n >= 1 such that candidate n of (local, domain) collides with no UPN, mail, proxy address
 * or reservation of another task; the address itself in *address. `task_id` may be NULL; its own
 * reservations do not count. Asks for numbered candidates in batches, not one statement each. */
ida_kind queue_address_choose(store *s, ida_ctx *c, const char *tenant, const char *local,
                              const char *domain, const char *task_id, char **address);

/* 1 in *taken when the (folded here) address is in use or reserved by another task. */
ida_kind queue_address_taken(store *s, ida_ctx *c, const char *tenant, const char *address,
                             const char *task_id, int *taken);
ida_kind queue_address_reserve(store *s, ida_ctx *c, const char *tenant, const char *address,
                               const char *task_id);

/* Gives the task (tenant, person, object_id and other_id are set) an ID that sorts behind those of
 * the person's open tasks: where two are due at the same instant the ID decides which goes first.
 * And the `who` of those, so that all of them have one order and one lock also when the person has
 * got a second account since. In the transaction that inserts it. */
ida_kind queue_task_name(store *s, ida_ctx *c, ida_task *task);

/* Inserts the task with its steps (task->id set by the caller, queue_task_name), counts its seat in
 * tenant.seats_held, notifies workers. next_at 0: due_at; created_at 0: now. Before the
 * reservations, which point to it. */
ida_kind queue_task_insert(store *s, ida_ctx *c, const ida_task *task);

/* The queued task of `type` for a person, or the running one, or the one that the brake holds;
 * IDA_NOT_FOUND. For a second DELETE and "creation still queued". */
ida_kind queue_task_open(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                         ida_task_type type, ida_task **task);

/* A task that is not over, was asked for under the person's address, and is of somebody else, who
 * had the address then; *task NULL: there is none. */
ida_kind queue_task_stranger(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                             ida_task **task);

/* `who` of the tasks that were asked for under an address (folded UPN), the newest first. */
ida_kind queue_task_whos(store *s, ida_ctx *c, const char *tenant, const char *address, int max,
                         const char ***whos, int *count);

/* Gives a queued task, or one that the brake holds and goes on holding, another due time (and, when
 * not NULL, another payload). IDA_CONFLICT when it is in another state. This and the next three are
 * transactions of their own when none is open, and take the tenant's lock themselves. */
ida_kind queue_task_move(store *s, ida_ctx *c, const char *tenant, const char *id, const char *date,
                         const char *time, const char *zone, int64_t due_at, const char *payload);

/* What the task's person is called by now, in the transaction that changes the task: upn, person,
 * mail and display_name of `called`, whose id and tenant are the task's. */
ida_kind queue_task_called(store *s, ida_ctx *c, const ida_task *called);

/* queued, failed, attention -> cancelled; frees seat and reservations unless the account was made
 * or may have been (a createAccount step with outcome done, already or unknown, or
 * progress.createSent: core/queue/claim.h). IDA_CONFLICT with the state in the message for running,
 * done, cancelled; IDA_NOT_FOUND. */
/* Queued tasks that are to make this person (folded UPN) somebody's manager: id and upn alone are
 * filled in. Looks into payloads, which may be large: not inside a transaction. */
ida_kind queue_task_naming_manager(store *s, ida_ctx *c, const char *tenant, const char *person,
                                   int limit, ida_task **tasks, int *count);

ida_kind queue_task_cancel(store *s, ida_ctx *c, const char *tenant, const char *id);

/* failed, attention -> queued, next_at now (or the due time when that is later), attempts 0. A
 * creation that gave them back takes its seat (IDA_FORBIDDEN when none is left) and its names
 * again; names taken meanwhile are replaced by the run. An offboarding that the brake stopped is
 * judged by it anew. IDA_CONFLICT for other states. */
ida_kind queue_task_retry(store *s, ida_ctx *c, const char *tenant, const char *id);
/* attention by the brake (never started) -> queued with released = 1; IDA_CONFLICT for all others.
 * `username`: the API user who releases, NULL for a person at the shell or in the console, who has
 * looked; IDA_FORBIDDEN when it is the one who asked for the task. */
ida_kind queue_task_release(store *s, ida_ctx *c, const char *tenant, const char *id,
                            const char *username);
/* Notes in the task what a person (or an API user) has just done with it: an audit action. */
ida_kind queue_task_changed(store *s, ida_ctx *c, const char *id, const char *action,
                            const char *by);

/* --- reading --- */

/* With steps and the directory's hold; `payload` too when with_payload. */
ida_kind queue_task_get(store *s, ida_ctx *c, const char *tenant, const char *id, int with_payload,
                        ida_task **task);

typedef struct queue_task_filter {
    const char *state, *type;   /* as callers write them, several with commas between, NULL: all */
    const queue_person *person; /* NULL: all */
    const char *username;       /* of the requester, NULL: any */
    int64_t due_from, due_to;   /* due at `due_from` or later, before `due_to`; 0: no bound */
    enum { QUEUE_BRAKED_OR_NOT, QUEUE_BRAKED, QUEUE_NOT_BRAKED } braked;
    enum { QUEUE_NEWEST, QUEUE_BY_DUE } order;
    const char *before_id; /* the page behind this ID (NULL: the first), which is... */
    int64_t after_due;     /* ...in the order of due instants, that of a task due then */
    int limit;
    int64_t count_max; /* *total is at most this, which saves counting all; 0: exact */
} queue_task_filter;

/* In the order asked for, without payloads, with steps. *total counts all that the filter takes. */
ida_kind queue_task_list(store *s, ida_ctx *c, const char *tenant, const queue_task_filter *filter,
                         ida_task **tasks, int *count, int64_t *total);

/* A queued offboarding in this directory that was due at `at` or before; *id NULL: none is. */
ida_kind queue_task_leaver(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           int64_t at, const char **id, const char **upn);

/* What the brake's number will be at an instant from now on, by what the tasks' rows say:
 * offboardings and other tasks that disable an account, not released, which were first started in
 * the hour before it or are queued to begin then. `but`: the task->who of a person left out. */
ida_kind queue_task_disablings_expected(store *s, ida_ctx *c, const char *tenant, const char *but,
                                        int64_t at, int64_t *count);

#endif
