/* The queue as callers see it: queueing (seats, names, tasks in one transaction), reading,
 * cancelling, moving. What the worker does with tasks is in core/queue/claim.h. */
#ifndef CORE_QUEUE_CHANGE_H
#define CORE_QUEUE_CHANGE_H

#include "core/model/task.h"
#include "core/store/store.h"
#include "core/zone/schedule.h"

/* Workers that wait for work listen here (db_wait). */
#define QUEUE_CHANNEL "idadmin_queue"

/* The person of a query. Tasks are found by the IDs of the person's accounts. The address finds
 * only tasks without an ID yet, which are creations, so that a task of another person who had or
 * has the address is never found. core/governance/whom.h builds one from a user of the cache. */
typedef struct queue_person {
    const char *id, *other_id; /* NULL: none, or not known */
    const char *address;       /* folded UPN; NULL: none */
} queue_person;
/* The three members as arguments of a statement, which compares them with task.who. */
#define QUEUE_PERSON(person)                                                                    \
    DB_T((person)->id ? (person)->id : ""), DB_T((person)->other_id ? (person)->other_id : ""), \
        DB_T((person)->address ? (person)->address : "")
queue_person queue_person_of(const ida_task *task);

/* --- inside store_transaction, after store_tenant_lock --- */

/* Seats in use: enabled members of the cache plus seats held by tasks, minus running tasks whose
 * account the cache counts already. One statement, so that a write-through between two reads is
 * not counted twice. */
ida_kind queue_seats_used(store *s, ida_ctx *c, const char *tenant, int64_t *used);

/* IDA_FORBIDDEN with used and limit when the tenant has no seat left. */
ida_kind queue_seat_free(store *s, ida_ctx *c, const ida_tenant *tenant);
/* Whether enabling the person needs another seat: no, if another task than `task_id` (NULL: any)
 * holds one for the person, or if the cache counts an enabled account. */
enum { QUEUE_SEAT_NONE, QUEUE_SEAT_CACHED, QUEUE_SEAT_HELD };
ida_kind queue_seat_of_person(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                              const char *task_id, int *counted);

/* Lowest n >= 1 such that candidate n of (local, domain) is no UPN, mail or proxy address and
 * not reserved by another task; the address itself in *address. `task_id` may be NULL; its own
 * reservations do not count. Numbered candidates are checked in batches. */
ida_kind queue_address_choose(store *s, ida_ctx *c, const char *tenant, const char *local,
                              const char *domain, const char *task_id, char **address);

/* 1 in *taken when the (folded here) address is in use or reserved by another task. */
ida_kind queue_address_taken(store *s, ida_ctx *c, const char *tenant, const char *address,
                             const char *task_id, int *taken);
ida_kind queue_address_reserve(store *s, ida_ctx *c, const char *tenant, const char *address,
                               const char *task_id);

/* Gives the task (tenant, person, object_id and other_id are set) an ID that sorts after those
 * of the person's open tasks, because the ID decides which of two tasks due at the same instant
 * runs first. Also copies their `who`, so that all of them share one order and one lock even if
 * the person has got a second account since. In the transaction that inserts the task. */
ida_kind queue_task_name(store *s, ida_ctx *c, ida_task *task);

/* Inserts the task with its steps (task->id set by the caller, queue_task_name), counts its seat in
 * tenant.seats_held, notifies workers. next_at 0: due_at; created_at 0: now. Before the
 * reservations, which point to it. */
ida_kind queue_task_insert(store *s, ida_ctx *c, const ida_task *task);

/* The queued or running task of `type` for a person, or the one that the brake holds;
 * IDA_NOT_FOUND. For a second DELETE and "creation still queued". */
ida_kind queue_task_open(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                         ida_task_type type, ida_task **task);

/* An unfinished task that was requested under the person's address but belongs to another
 * person, who had the address then; *task NULL: there is none. */
ida_kind queue_task_stranger(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                             ida_task **task);

/* `who` of the tasks that were requested under an address (folded UPN), the newest first. */
ida_kind queue_task_whos(store *s, ida_ctx *c, const char *tenant, const char *address, int max,
                         const char ***whos, int *count);

/* Gives a queued task, or one that the brake holds and still holds afterwards, another due time
 * (and another payload if that is not NULL). IDA_CONFLICT if it is in another state. This
 * function and the next three open a transaction if there is none, and take the tenant's lock
 * themselves. */
ida_kind queue_task_move(store *s, ida_ctx *c, const char *tenant, const char *id,
                         const zone_due *due, const char *payload);

/* Updates the names of the task's person, in the transaction that changes the task: upn, person,
 * mail and display_name of `called`, whose id and tenant are the task's. */
ida_kind queue_task_called(store *s, ida_ctx *c, const ida_task *called);

/* queued, failed, attention -> cancelled; frees seat and reservations unless the account was made
 * or may have been (a createAccount step with outcome done, already or unknown, or
 * progress.createSent: core/queue/claim.h). IDA_CONFLICT with the state in the message for running,
 * done, cancelled; IDA_NOT_FOUND. */
/* Queued tasks that will make this person (folded UPN) the manager of another one: only id and
 * upn are filled in. Reads payloads, which may be large: do not call inside a transaction. */
ida_kind queue_task_naming_manager(store *s, ida_ctx *c, const char *tenant, const char *person,
                                   int limit, ida_task **tasks, int *count);

ida_kind queue_task_cancel(store *s, ida_ctx *c, const char *tenant, const char *id);

/* failed, attention -> queued, next_at now (or the due time if that is later), attempts 0. A
 * creation that released them takes its seat (IDA_FORBIDDEN if none is left) and its names
 * again; names taken meanwhile are replaced by the run. An offboarding that the brake stopped is
 * judged by it again. IDA_CONFLICT for other states. */
ida_kind queue_task_retry(store *s, ida_ctx *c, const char *tenant, const char *id);
/* Releases a task that the brake holds (never started) to queued with a proof in released;
 * IDA_CONFLICT for all others. `username`: the API user who releases it; NULL for a person in the
 * shell or console, who has seen it. IDA_FORBIDDEN if that API user requested the task. */
ida_kind queue_task_release(store *s, ida_ctx *c, const char *tenant, const char *id,
                            const char *username);
/* attention, but not of the brake -> done: a person has seen in the directory that it was carried
 * out. IDA_CONFLICT for all others. */
ida_kind queue_task_settle(store *s, ida_ctx *c, const char *tenant, const char *id);
/* Notes in the task what a person (or an API user) has just done with it: an audit action. */
ida_kind queue_task_changed(store *s, ida_ctx *c, const ida_task *task, const char *action,
                            const char *by);

/* --- reading --- */

/* With steps and the directory's hold; also with the payload if with_payload is set. */
ida_kind queue_task_get(store *s, ida_ctx *c, const char *tenant, const char *id, int with_payload,
                        ida_task **task);

typedef struct queue_task_filter {
    const char *state, *type;   /* as callers write them, several with commas between, NULL: all */
    const queue_person *person; /* NULL: all */
    const char *username;       /* of the requester, NULL: any */
    int64_t due_from, due_to;   /* due at `due_from` or later, before `due_to`; 0: no bound */
    enum { QUEUE_BRAKED_OR_NOT, QUEUE_BRAKED, QUEUE_NOT_BRAKED } braked;
    enum { QUEUE_NEWEST, QUEUE_BY_DUE } order;
    const char *before_id; /* the page after this ID (NULL: the first page), which has... */
    int64_t after_due;     /* ...in the order of due instants, that of a task due then */
    int limit;
    int64_t count_max; /* *total is at most this, which saves counting all; 0: exact */
} queue_task_filter;

/* In the requested order, without payloads, with steps. *total counts all tasks that match the
 * filter. */
ida_kind queue_task_list(store *s, ida_ctx *c, const char *tenant, const queue_task_filter *filter,
                         ida_task **tasks, int *count, int64_t *total);

/* A queued offboarding in this directory that was due at `at` or before; *id NULL: none is. */
ida_kind queue_task_leaver(store *s, ida_ctx *c, const char *tenant, ida_directory_kind directory,
                           int64_t at, const char **id, const char **upn);

/* The expected number of the brake at a future instant, by the tasks' rows: offboardings and
 * other tasks that disable an account, not released, which were first started in the hour before
 * it or are queued to begin then. `but`: task->who of a person to leave out. */
ida_kind queue_task_disablings_expected(store *s, ida_ctx *c, const char *tenant, const char *but,
                                        int64_t at, int64_t *count);

#endif
