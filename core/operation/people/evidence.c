/* Owns the evidence of an offboarding: what was revoked, when and by which task, with the audit
 * records that prove it, and what is not proven. Reads only. */

#include "core/operation/people/evidence.h"
#include "core/cache/groups.h"

#include <apr_strings.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/governance/access.h"
#include "core/governance/whom.h"
#include "core/operation/table.h"
#include "core/queue/change.h"
#include "core/store/chain_check.h"
#include "core/store/tenant.h"

#define TASKS_MAX 200
#define WHOS_MAX 5
#define RECORDS_PAGE 1000
#define RECORDS_MAX 20000

typedef struct dossier {
    ida_ctx *c;
    store *s;
    const char *tenant;
    queue_person person; /* the leaver: by ID if one was ever known, even if another person has
                            the address now */
    ida_user *user;      /* the person in the cache now; NULL: the account is gone */
    const char *heirs;   /* IDs of other accounts that have the leaver's address now; or NULL */
    ida_user *heir;      /* that account, if there is exactly one */
    ida_task *offboardings, *tasks; /* newest first; tasks: of every type */
    int count, task_count;
    json_t *document, *open; /* open: sentences about what is not proven; both in the pool */
} dossier;

static void not_proven(dossier *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void not_proven(dossier *d, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    size_t len = strlen(text);
    len -= len > 1 && strcmp(text + len - 2, "..") == 0; /* what is quoted may have its own */
    json_array_append_new(d->open, json_string(ida_clean(d->c->pool, text, len, 0)));
}

/* --- the tasks --- */

static ida_kind find_tasks(dossier *d, const char *type, ida_task **tasks, int *count)
{
    int64_t total;
    queue_task_filter filter = {.type = type, .person = &d->person, .limit = TASKS_MAX};
    return queue_task_list(d->s, d->c, d->tenant, &filter, tasks, count, &total);
}

static json_t *proof_json(const audit_row *row)
{
    json_t *proof = json_object();
    json_object_set_new(proof, "seq", json_integer(row->seq));
    ida_json_put(proof, "hash", row->hash);
    ida_json_put_time(proof, "at", row->record.at);
    return proof;
}

/* The record that was written with a step's outcome: the last one of that step. */
static const audit_row *record_of_step(dossier *d, const audit_row *rows, int count,
                                       const char *task, const char *step)
{
    for (int i = count - 1; i >= 0; i--) {
        const json_t *parameters = rows[i].record.parameters
                                       ? ida_json_load(d->c->pool, rows[i].record.parameters)
                                       : NULL;
        const char *of = ida_json_string(parameters, "taskId"),
                   *name = ida_json_string(parameters, "step");
        if (rows[i].record.action && strcmp(rows[i].record.action, "task.step") == 0 && of &&
            name && strcmp(of, task) == 0 && strcmp(name, step) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static int is_settled(ida_outcome outcome)
{
    return outcome == IDA_STEP_DONE || outcome == IDA_STEP_ALREADY || outcome == IDA_STEP_SKIPPED;
}

/* What the worker noted about the on-premises account's password (worker/run/shut.c): a text:
 * replaced by an unknown one; false: refused; null: the account's own flag suffices. NULL:
 * nothing noted. */
static const json_t *password_noted(dossier *d, const ida_task *task)
{
    const json_t *progress = task->progress ? ida_json_load(d->c->pool, task->progress) : NULL;
    return json_object_get(progress, task->directory == IDA_DIR_CLOUD ? "twinPasswordReplaced"
                                                                      : "passwordReplaced");
}

static json_t *password_json(dossier *d, const ida_task *task)
{
    const json_t *noted = password_noted(d, task);
    return json_is_string(noted) ? json_true() : json_is_false(noted) ? json_false() : json_null();
}

/* OpenLDAP enforces a lock only under a policy with pwdLockout TRUE, so the password is judged
 * as well. */
static ida_kind judge_password(dossier *d, const ida_user *user)
{
    ida_tenant *tenant;
    const ida_task *task = d->offboardings;
    const json_t *noted = password_noted(d, task);
    if (!user->in[IDA_DIR_ON_PREMISES] || json_is_string(noted) || json_is_null(noted)) {
        return IDA_OK;
    }
    ida_kind kind = store_tenant_get(d->s, d->c, d->tenant, &tenant, NULL);
    const char *dialect = kind ? NULL
                               : ida_json_string(tenant->directory[IDA_DIR_ON_PREMISES], "dialect");
    if (dialect && strcmp(dialect, "openLdap") == 0) {
        not_proven(d,
                   "The on-premises account is locked, but task %s did not replace its password: "
                   "OpenLDAP lets a locked account sign in unless a policy with pwdLockout TRUE "
                   "applies to it.",
                   task->id);
    }
    return kind;
}

/* Memberships that the offboarding did not revoke, of kinds or at places that are not in the
 * cache: so today's memberships do not show them. */
static void judge_left(dossier *d, const ida_step *step)
{
    const json_t *one;
    size_t i;
    json_array_foreach (step->not_revoked, i, one) {
        ida_group *group;
        const char *id = ida_json_string(one, "id"), *name = ida_json_string(one, "name"),
                   *reason = ida_json_string(one, "reason"), *kind = ida_json_string(one, "kind");
        if (kind && strcmp(kind, "owned") == 0) {
            not_proven(d, "Owned by the account: %s (%s).", name, reason);
            continue;
        }
        /* Every account of Active Directory keeps its primary group. */
        int primary = reason && strncmp(reason, "primary group", 13) == 0;
        if (id && !primary &&
            cache_group_find(d->s, ida_ctx_make(d->c->env, d->c->pool), d->tenant, id, &group) ==
                IDA_NOT_FOUND) {
            not_proven(d, "The membership of %s was not revoked%s%s.", name ? name : id,
                       reason ? ": " : "", reason ? reason : "");
        }
    }
}

static json_t *offboarding_json(dossier *d, const ida_task *task, const audit_row *rows, int count)
{
    json_t *object = ida_task_json(d->c, task);
    json_t *step;
    size_t i;
    int newest = task == d->offboardings;
    json_object_set_new(object, "passwordReplaced", password_json(d, task));
    json_array_foreach (json_object_get(object, "steps"), i, step) {
        const ida_step *s = &task->steps[i];
        const char *shown = ida_step_shown(d->c->pool, s);
        const audit_row *row = record_of_step(d, rows, count, task->id, shown);
        json_object_set_new(step, "proof", row ? proof_json(row) : json_null());
        if (newest) {
            judge_left(d, s);
        }
        if (newest && !is_settled(s->outcome)) {
            not_proven(d, "Step %s of task %s: %s%s%s.", shown, task->id,
                       s->outcome == IDA_STEP_NONE ? "not carried out"
                                                   : ida_outcome_text(s->outcome),
                       s->detail ? ": " : "", s->detail ? s->detail : "");
        } else if (newest && !row) {
            not_proven(d,
                       "The audit record of step %s of task %s is not in the chain: erased, past "
                       "its retention, or on its way.",
                       shown, task->id);
        }
    }
    if (newest && task->state != IDA_DONE) {
        not_proven(d, "Task %s is not done (%s).", task->id, ida_task_state_text(task->state));
    }
    return object;
}

/* --- the records --- */

/* A record whose target is the address may belong to another person with the same address: a
 * record of another task, or of no task, written after the address changed hands. */
static int is_of_person(const dossier *d, const json_t *ids, const audit_row *row)
{
    const json_t *parameters = row->record.parameters
                                   ? ida_json_load(d->c->pool, row->record.parameters)
                                   : NULL,
                 *id;
    const char *of = ida_json_string(parameters, "taskId");
    size_t i;
    json_array_foreach ((json_t *)ids, i, id) {
        const char *task = json_string_value(id);
        if ((row->record.parameters && strstr(row->record.parameters, task)) ||
            (row->record.detail && strstr(row->record.detail, task)) ||
            (row->record.target && strcmp(row->record.target, task) == 0)) {
            return 1;
        }
    }
    return !of && (!d->heirs || row->record.at <= d->offboardings[0].finished_at);
}

static ida_kind find_records(dossier *d, audit_row **rows, int *count)
{
    apr_pool_t *pool = d->c->pool;
    json_t *ids = ida_json_keep(pool, json_array());
    char *target = apr_pstrdup(pool, d->offboardings[0].upn);
    int64_t from = INT64_MAX;
    int found = RECORDS_PAGE;
    ida_kind kind = IDA_OK;
    for (char *p = target; *p; p++) {
        *p = (char)((unsigned char)*p < 0x80 ? tolower((unsigned char)*p) : *p);
    }
    for (int i = 0; i < d->task_count; i++) {
        json_array_append_new(ids, json_string(d->tasks[i].id));
    }
    for (int i = 0; i < d->count; i++) {
        from = d->offboardings[i].created_at < from ? d->offboardings[i].created_at : from;
    }
    store_audit_about_filter filter = {
        .target = target, .tasks = ida_json_text(pool, ids), .from = from, .limit = RECORDS_PAGE};
    *rows = apr_palloc(pool, sizeof **rows * RECORDS_MAX);
    *count = 0;
    while (!kind && found == RECORDS_PAGE && *count + RECORDS_PAGE <= RECORDS_MAX) {
        const audit_row *page;
        kind = store_audit_about(d->s, d->c, d->tenant, &filter, &page, &found);
        for (int i = 0; !kind && i < found; i++) {
            if (is_of_person(d, ids, &page[i])) {
                (*rows)[(*count)++] = page[i];
            }
        }
        filter.after_seq = kind || !found ? filter.after_seq : page[found - 1].seq;
    }
    if (found == RECORDS_PAGE) {
        not_proven(d,
                   "There are more than %d audit records of this person: those after number %lld "
                   "were not looked at.",
                   *count, (long long)filter.after_seq);
    }
    return kind;
}

static json_t *record_json(const audit_row *row)
{
    json_t *object = proof_json(row);
    ida_json_put(object, "category", row->record.category);
    ida_json_put_or_null(object, "actor", row->record.actor);
    ida_json_put_or_null(object, "action", row->record.action);
    ida_json_put(object, "outcome", row->record.outcome);
    ida_json_put_or_null(object, "detail", row->record.detail);
    return object;
}

static void put_records(dossier *d, const audit_row *rows, int count)
{
    static const char *const ending[] = {"role.unassign", "request.end", "request.withdraw"};
    json_t *ended = json_array(), *after = json_array();
    int64_t finished = d->offboardings[0].finished_at;
    for (int i = 0; i < count; i++) {
        const char *action = rows[i].record.action ? rows[i].record.action : "";
        for (size_t n = 0; n < sizeof ending / sizeof *ending; n++) {
            if (strcmp(action, ending[n]) == 0) {
                json_t *row = record_json(&rows[i]);
                json_t *parameters = ida_json_load(d->c->pool, rows[i].record.parameters
                                                                   ? rows[i].record.parameters
                                                                   : "{}");
                json_object_set(row, "parameters", parameters);
                json_array_append_new(ended, row);
            }
        }
        /* Skip category "api": reads change nothing. Changes are recorded under other
         * categories. */
        if (finished && rows[i].record.at > finished &&
            strcmp(rows[i].record.category, "api") != 0) {
            json_array_append_new(after, record_json(&rows[i]));
        }
    }
    json_object_set_new(d->document, "grantsEnded", ended);
    json_object_set_new(d->document, "after", after);
}

/* --- as it is now --- */

static ida_kind put_now(dossier *d)
{
    ida_ctx *c = d->c;
    ida_user *user = d->user;
    const access_row *rows;
    int count = 0;
    if (!user) {
        json_object_set_new(d->document, "now", json_null());
        if (d->heir) {
            not_proven(d,
                       "The account is gone, and its address %s is that of another one (ID %s, "
                       "%s): if the person came back under it, that one was not offboarded.",
                       d->heir->upn, d->heir->id, d->heir->enabled ? "enabled" : "disabled");
        } else if (d->heirs) {
            not_proven(d,
                       "The account is gone, and several others have its address %s (IDs %s): if "
                       "the person came back under it, none of those was offboarded.",
                       d->offboardings[0].upn, d->heirs);
        }
        return IDA_OK;
    }
    ida_kind kind = governance_access_of_user(d->s, c, d->tenant, user, &rows, &count);
    if (kind) {
        return kind;
    }
    json_t *now = json_object(), *memberships = json_array();
    for (int i = 0; i < count; i++) {
        json_t *row = json_object();
        ida_json_put(row, "id", rows[i].group->id);
        ida_json_put(row, "name", rows[i].group->name);
        ida_json_put(row, "directory", rows[i].group->directory);
        ida_json_put(row, "source", governance_access_source_words[rows[i].grant.source]);
        json_object_set_new(row, "inherited", json_boolean(rows[i].inherited));
        json_array_append_new(memberships, row);
        if (!rows[i].inherited) {
            not_proven(d, "The directory still shows the membership of %s (%s).",
                       rows[i].group->name, governance_access_source_words[rows[i].grant.source]);
        }
    }
    ida_json_put(now, "id", user->id);
    json_object_set_new(now, "accountEnabled", json_boolean(user->enabled));
    json_object_set_new(now, "memberships", memberships);
    json_object_set_new(d->document, "now", now);
    if (user->enabled) {
        not_proven(d, "The account is enabled.");
    }
    return judge_password(d, user);
}

static ida_kind put_later_tasks(dossier *d)
{
    const ida_task *tasks = d->tasks;
    json_t *later = json_array();
    for (int i = 0; i < d->task_count; i++) {
        if (tasks[i].type != IDA_USER_DELETE && strcmp(tasks[i].id, d->offboardings[0].id) > 0) {
            json_t *row = json_object();
            ida_json_put(row, "id", tasks[i].id);
            ida_json_put(row, "type", ida_task_type_text(tasks[i].type));
            ida_json_put(row, "state", ida_task_state_text(tasks[i].state));
            json_array_append_new(later, row);
            if (tasks[i].state != IDA_CANCELLED) {
                not_proven(d, "Task %s (%s, %s) was asked for after the offboarding.", tasks[i].id,
                           ida_task_type_text(tasks[i].type), ida_task_state_text(tasks[i].state));
            }
        }
    }
    json_object_set_new(d->document, "laterTasks", later);
    return IDA_OK;
}

static void chain_is_broken(dossier *d, int64_t at, const char *reason)
{
    not_proven(d, "The audit chain is broken at record %lld: %s", (long long)at,
               reason ? reason : "");
}

/* Walked now. */
static ida_kind put_chain_walked(dossier *d)
{
    int64_t broken = 0, records = 0;
    ida_kind kind = store_audit_verify(d->s, d->c, d->tenant, &broken, &records);
    if (kind) {
        return kind;
    }
    json_object_set_new(d->document, "chain",
                        json_pack("{s:b, s:I, s:o}", "whole", !broken, "records",
                                  (json_int_t)records, "brokenAt",
                                  broken ? json_integer(broken) : json_null()));
    if (broken) {
        chain_is_broken(d, broken, d->c->message);
        ida_ctx_clear(d->c);
    }
    return IDA_OK;
}

/* The chain as a worker last verified it: verifying years of records takes too long for a
 * request. */
static ida_kind put_chain_known(dossier *d)
{
    store_chain_check check;
    int64_t first, last;
    ida_kind kind = store_chain_check_get(d->s, d->c, d->tenant, &check);
    kind = kind ? kind : store_chain_ends(d->s, d->c, d->tenant, &first, &last);
    if (kind) {
        return kind;
    }
    int64_t records = first && check.verified_to >= first ? check.verified_to - first + 1 : 0;
    json_t *chain = json_pack("{s:o, s:I, s:o}", "whole",
                              check.verified_at ? json_boolean(!check.broken_at) : json_null(),
                              "records", (json_int_t)records, "brokenAt",
                              check.broken_at ? json_integer(check.broken_at) : json_null());
    ida_json_put_time(chain, "verifiedAt", check.verified_at);
    json_object_set_new(d->document, "chain", chain);
    if (check.broken_at) {
        chain_is_broken(d, check.broken_at, check.reason);
    } else if (!check.verified_at) {
        not_proven(d, "The audit chain has not been verified yet.");
    }
    return IDA_OK;
}

/* --- all of it --- */

static ida_kind compile(dossier *d, int walk)
{
    audit_row *rows;
    int count;
    json_t *offboardings = json_array();
    json_object_set_new(d->document, "offboardings", offboardings);
    ida_kind kind = find_records(d, &rows, &count);
    for (int i = 0; !kind && i < d->count; i++) {
        json_array_append_new(offboardings, offboarding_json(d, &d->offboardings[i], rows, count));
    }
    if (!kind) {
        put_records(d, rows, count);
    }
    kind = kind ? kind : put_now(d);
    kind = kind ? kind : put_later_tasks(d);
    return kind ? kind : walk ? put_chain_walked(d) : put_chain_known(d);
}

/* Other people who were offboarded under the address, in case the caller means one of them. */
static ida_kind nothing_of(dossier *d, const char *named)
{
    const char **whos, *others = "", *address = d->person.address;
    int count = 0;
    ida_kind kind = address && d->user
                        ? queue_task_whos(d->s, d->c, d->tenant, address, WHOS_MAX, &whos, &count)
                        : IDA_OK;
    for (int i = 0; !kind && i < count; i++) {
        if (!strchr(whos[i], '@') && strcmp(whos[i], d->person.id) != 0) {
            others = ida_printf(d->c->pool, "%s%s%s", others, *others ? ", " : "", whos[i]);
        }
    }
    return kind ? kind
                : ida_fail(d->c, IDA_NOT_FOUND,
                           "Tenant %s has no offboarding of %s: none was asked for, or it is past "
                           "its retention or erased.%s%s%s",
                           d->tenant, ida_clean(d->c->pool, named, strlen(named), 256),
                           *others ? " Others had tasks under this address before; name them by "
                                     "ID: "
                                   : "",
                           others, *others ? "." : "");
}

/* The other accounts that have the leaver's address now: the leaver is known by ID, so several
 * accounts are no reason to refuse. */
static ida_kind find_heirs(dossier *d)
{
    const char *address = d->offboardings[0].upn;
    const char *own[] = {d->person.id, d->person.other_id, d->user ? d->user->id : NULL,
                         d->user ? d->user->other_id : NULL};
    const cache_carrier *rows;
    int count = 0;
    ida_user *user;
    ida_kind kind = cache_user_by_upn(d->s, d->c, d->tenant, address, &user);
    if (!kind && (!d->user || strcmp(user->id, d->user->id) != 0)) {
        d->heir = user;
        d->heirs = user->id;
    }
    if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
        ida_ctx_clear(d->c);
        kind = kind == IDA_CONFLICT ? cache_carriers(d->s, d->c, d->tenant, address, &rows, &count)
                                    : IDA_OK;
    }
    for (int i = 0; !kind && i < count; i++) {
        int is_own = 0;
        for (size_t n = 0; n < sizeof own / sizeof *own; n++) {
            is_own |= own[n] && strcmp(own[n], rows[i].id) == 0;
        }
        if (!is_own) {
            d->heirs = ida_printf(d->c->pool, "%s%s%s", d->heirs ? d->heirs : "",
                                  d->heirs ? ", " : "", rows[i].id);
        }
    }
    return kind;
}

ida_kind ida_evidence(store *s, ida_ctx *c, const char *tenant, const char *named, int walk,
                      json_t **document)
{
    dossier d = {.c = c, .s = s, .tenant = tenant};
    d.document = *document = ida_json_keep(c->pool, json_object());
    d.open = ida_json_keep(c->pool, json_array());
    ida_kind kind = governance_whom_past(s, c, tenant, named, &d.person, &d.user);
    kind = kind ? kind
                : find_tasks(&d, ida_task_type_text(IDA_USER_DELETE), &d.offboardings, &d.count);
    kind = kind      ? kind
           : d.count ? find_tasks(&d, NULL, &d.tasks, &d.task_count)
                     : nothing_of(&d, named);
    kind = kind ? kind : find_heirs(&d);
    if (kind) {
        return kind;
    }
    ida_json_put(d.document, "companyId", tenant);
    ida_json_put(d.document, "userPrincipalName", d.offboardings[0].upn);
    ida_json_put_or_null(d.document, "userId", d.offboardings[0].object_id);
    ida_json_put_or_null(d.document, "addressNowOf", d.heirs);
    ida_json_put_time(d.document, "at", ida_now(c->env));
    kind = compile(&d, walk);
    json_object_set_new(d.document, "complete", json_boolean(json_array_size(d.open) == 0));
    json_object_set(d.document, "notProven", d.open);
    return kind;
}

/* --- the console's --- */

static ida_kind get(ida_call *call)
{
    const char *named = ida_json_string(call->arguments, "user");
    call->target = named;
    return ida_evidence(call->store, call->c, call->asked->tenant->id, named, 0, &call->result);
}

static const ida_param params[] = {{"user", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 256,
                                    .about = "UPN or object ID of the person who left."},
                                   {0}};

const ida_operation ida_op_evidence = {
    .name = "evidence.get",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_AUDIT_READ,
    IDA_READS("/user/evidence"),
    .params = params,
    .run = get,
    .summary = "What was revoked from a leaver, with the audit records that prove it.",
};
