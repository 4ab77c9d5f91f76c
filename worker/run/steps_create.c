/* Owns the creation of an account with the first name that is free. Records on disk before the
 * first call make sure that it happens exactly once. Must not know directory protocols. */
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/queue/claim.h"
#include "core/store/tenant.h"
#include "core/tenant/naming.h"
#include "worker/base/password.h"
#include "worker/hold/rules.h"
#include "worker/run/steps.h"

#define NAMES_TRIED_MAX 50 /* conflicts with the directory in one run */
#define CANDIDATES_MAX 100000

typedef struct creation {
    ida_create person;
    const char *upn_local, *mail_local;    /* base local parts by the tenant's formats */
    const char *taken;                     /* text about names that were found taken, or NULL */
    int next_upn, next_mail, next_display; /* the name that the directory reported as taken */
    int display_number;   /* 0, or n: the display name is tried as "... n+1", because it names the
                             entry in some directories */
    int fresh;            /* 1: nothing was sent before, so the cache can be trusted */
    int restored;         /* 1: comes from a backup (core/queue/restored.h): it may have been sent
                             since, and the account that the cache shows may be its own */
    int64_t unseen_since; /* since when names have been refused because of an account that is not
                             visible; 0: they have not */
    int64_t sent_at; /* since when a creation under the present name may have been sent; 0: this is
                        the first */
} creation;

static step_end read_payload(run *r, creation *cr)
{
    ida_ctx *c = run_ctx(r);
    const ida_tenant *t = r->account->session->tenant;
    json_t *stored = r->task->payload ? ida_json_load(r->pool, r->task->payload) : NULL;
    ida_kind kind = stored ? ida_create_from_json(c, stored, &cr->person)
                           : ida_fail(c, IDA_INTERNAL_ERROR, "the stored request cannot be read");
    ida_name_parts parts = {cr->person.firstname, cr->person.middle_name, cr->person.surname};
    char *upn = NULL, *mail = NULL;
    if (!kind) {
        kind = ida_naming_local(c, t->username_format, &parts, &upn);
    }
    if (!kind) {
        kind = ida_naming_local(c, t->email_format, &parts, &mail);
    }
    cr->upn_local = upn;
    cr->mail_local = mail;
    if (kind) {
        return step_fails(r, "%s", c->message);
    }
    return STEP_ON;
}

/* --- names --- */

/* Lowest candidate after `present` that neither cache nor reservations know. */
static ida_kind next_free(run *r, ida_ctx *c, const char *local, const char *domain,
                          const char *present, const char **address)
{
    int n = 1;
    while (n < CANDIDATES_MAX &&
           strcmp(ida_naming_candidate(c->pool, local, domain, n), present) != 0) {
        n++;
    }
    n = n == CANDIDATES_MAX ? 0 : n; /* the format changed since: begin again */
    for (int taken = 1; taken;) {
        if (++n >= CANDIDATES_MAX) {
            return ida_fail(c, IDA_UNPROCESSABLE, "no free name is left for %s@%s", local, domain);
        }
        *address = ida_naming_candidate(c->pool, local, domain, n);
        ida_kind kind = queue_address_taken(r->main, c, r->task->tenant, *address, r->task->id,
                                            &taken);
        if (kind) {
            return kind;
        }
    }
    return IDA_OK;
}

static ida_kind settle_address(run *r, ida_ctx *c, const char *local, const char *domain,
                               const char *present, int refused, const char **address)
{
    int taken = refused;
    *address = present;
    ida_kind kind = taken ? IDA_OK
                          : queue_address_taken(r->main, c, r->task->tenant, present, r->task->id,
                                                &taken);
    return kind || !taken ? kind : next_free(r, c, local, domain, present, address);
}

typedef struct naming_work {
    run *r;
    creation *cr;
    queue_task_change change;
} naming_work;

/* Names that are free now, marker and "it may have been sent": all on disk in one transaction
 * before the call. */
static ida_kind settle_in(store *s, ida_ctx *c, void *baton)
{
    naming_work *work = baton;
    run *r = work->r;
    creation *cr = work->cr;
    const ida_tenant *t = r->account->session->tenant;
    const char *upn = r->task->upn, *mail = r->task->mail ? r->task->mail : r->task->upn;
    work->change = (queue_task_change){.marker = r->task->id,
                                       .progress = ida_json_text(c->pool, r->progress)};
    ida_kind kind = store_tenant_lock(s, c, t->id);
    if (!kind && (cr->fresh || cr->next_upn)) {
        kind = settle_address(r, c, cr->upn_local, t->upn_domain, r->task->upn, cr->next_upn, &upn);
    }
    if (!kind && t->same_upn_and_mail) {
        mail = upn;
    } else if (!kind && (cr->fresh || cr->next_mail)) {
        kind = settle_address(r, c, cr->mail_local, t->email_domain, mail, cr->next_mail, &mail);
    }
    if (kind) {
        return kind;
    }
    int renamed = strcmp(upn, r->task->upn) != 0 ||
                  (r->task->mail && strcmp(mail, r->task->mail) != 0);
    work->change.upn = renamed ? upn : NULL;
    work->change.mail = renamed ? mail : NULL;
    return queue_change(s, c, r->task, &work->change);
}

/* 1 when the names the task has are still its own, so far as this side can know. */
static ida_kind names_stand(run *r, ida_ctx *c, const creation *cr, int *stand)
{
    int taken = cr->next_upn || cr->next_mail;
    ida_kind kind = IDA_OK;
    if (!taken && cr->fresh) {
        kind = queue_address_taken(r->main, c, r->task->tenant, r->task->upn, r->task->id, &taken);
    }
    if (!kind && !taken && cr->fresh && r->task->mail) {
        kind = queue_address_taken(r->main, c, r->task->tenant, r->task->mail, r->task->id, &taken);
    }
    *stand = !taken;
    return kind;
}

/* The tenant is locked only if a new name must be chosen: otherwise all its creations would wait
 * for each other's commits. */
static ida_kind settle(run *r, store *s, ida_ctx *c, void *baton)
{
    naming_work *work = baton;
    int stand;
    ida_kind kind = names_stand(r, c, work->cr, &stand);
    if (kind) {
        return kind;
    }
    if (stand) {
        work->change = (queue_task_change){.marker = r->task->id,
                                           .progress = ida_json_text(c->pool, r->progress)};
        return queue_change(s, c, r->task, &work->change);
    }
    kind = store_transaction(s, c, settle_in, work);
    /* Another task took the name between the check and the reservation: repeat under the lock. */
    return kind == IDA_UNPROCESSABLE ? store_transaction(s, c, settle_in, work) : kind;
}

static step_end settle_names(run *r, creation *cr)
{
    naming_work work = {.r = r, .cr = cr};
    int64_t now = ida_now(&r->runner->env);
    json_object_set_new(r->progress, "createSent", json_true());
    if (cr->fresh || cr->next_upn || cr->restored) {
        json_object_set_new(r->progress, "createSentAt", json_integer(now));
        cr->sent_at = cr->restored ? now : 0;
    }
    json_object_set_new(r->progress, "displayNumber", json_integer(cr->display_number));
    step_end end = run_store(r, settle, &work);
    if (end != STEP_ON) {
        return end;
    }
    if (work.change.upn) {
        cr->taken = ida_printf(r->pool, "%s%s%s was taken", cr->taken ? cr->taken : "",
                               cr->taken ? "; " : "",
                               strcmp(work.change.upn, r->task->upn) != 0 ? r->task->upn
                                                                          : r->task->mail);
        r->task->upn = work.change.upn;
        r->task->mail = work.change.mail;
        r->task->person = ida_fold_address(r->pool, r->task->upn);
    }
    cr->fresh = cr->restored = cr->next_upn = cr->next_mail = cr->next_display = 0;
    r->task->marker = r->task->id;
    return STEP_ON;
}

/* --- createAccount --- */

typedef struct create_call {
    directory_create create;
    directory_user user;
} create_call;

static int64_t sent_at(const run *r)
{
    return json_integer_value(json_object_get(r->progress, "createSentAt"));
}

static int is_restored(const run *r)
{
    return json_is_true(json_object_get(r->progress, "restored"));
}

static directory_class call_create(run *r, const directory_ops *ops, directory *dir, void *baton,
                                   directory_error *e)
{
    create_call *call = baton;
    directory_class class = ops->create(dir, r->pool, &call->create, &call->user, e);
    call->create.sent_at = sent_at(r); /* a repetition is not the first attempt, whatever its
                                          predecessor's outcome was */
    return class;
}

static step_end create_once(run *r, creation *cr, create_call *call, directory_error *e)
{
    char password[PASSWORD_SIZE];
    const char *at = strrchr(r->task->upn, '@');
    const char *local = apr_pstrndup(r->pool, r->task->upn,
                                     at ? (apr_size_t)(at - r->task->upn) : strlen(r->task->upn));
    const char *names[] = {cr->person.firstname, cr->person.surname, local, cr->person.middle_name,
                           NULL};
    password_make(&r->runner->env, names, password);
    call->create = (directory_create){.person = &cr->person,
                                      .display_name = cr->display_number
                                                          ? ida_printf(r->pool, "%s %d",
                                                                       r->task->display_name,
                                                                       cr->display_number + 1)
                                                          : r->task->display_name,
                                      .upn = r->task->upn,
                                      .mail = r->task->mail ? r->task->mail : r->task->upn,
                                      .local = local,
                                      .marker = r->task->marker,
                                      .sent_at = cr->sent_at,
                                      .password = password,
                                      .restored = is_restored(r)};
    step_end end = run_call(r, call_create, call, e);
    cr->sent_at = call->create.sent_at;
    OPENSSL_cleanse(password, sizeof password);
    return end;
}

/* The directory answered that nothing was created: a failed or cancelled task may release seat
 * and names, and an account that the cache shows under the name is not the task's. */
static ida_kind write_unsent(run *r, store *s, ida_ctx *c, void *baton)
{
    queue_task_change change = {.marker = "", .progress = ida_json_text(c->pool, r->progress)};
    (void)baton;
    return queue_change(s, c, r->task, &change);
}

/* None of the tasks' accounts has the name, and nothing was sent that could have created one.
 * Wait for a synchronisation to show the owner before the name is skipped. */
static step_end wait_for_sight(run *r, creation *cr, const directory_error *e)
{
    int64_t now = ida_now(&r->runner->env), since = cr->unseen_since ? cr->unseen_since : now;
    json_object_set_new(r->progress, "createSent", json_false());
    json_object_set_new(r->progress, "unseenSince", json_integer(since));
    step_end end = run_store(r, write_unsent, NULL);
    return end == STEP_ON ? run_lags(r, since, e->message) : end;
}

static int may_be_seen_yet(const run *r, const creation *cr, const directory_error *e)
{
    return e->unseen && (!cr->unseen_since || ida_now(&r->runner->env) - cr->unseen_since <
                                                  r->account->session->ops->lag_ms);
}

static step_end not_made(run *r, const create_call *call, const directory_error *e)
{
    if (hold_verdict_of(e->class) == VERDICT_LAG) {
        return run_lags(r, sent_at(r), run_why(e));
    }
    step_end end = run_fails(r, e);
    /* With an ID the account exists and only its password is missing: a retry continues with it. */
    if (end == STEP_FAILED && !call->user.id) {
        json_object_set_new(r->progress, "createSent", json_false());
        step_end written = run_store(r, write_unsent, NULL);
        return written == STEP_ON ? end : written;
    }
    return end;
}

/* Which name to change after a conflict; 0 if the service does not choose the field. */
static int blame(creation *cr, const directory_error *e, int same)
{
    const char *field = e->field ? e->field : "upn";
    if (strcmp(field, "cn") == 0 || strcmp(field, "displayName") == 0) {
        cr->next_display = 1;
        cr->display_number++;
    } else if (strcmp(field, "mail") == 0) {
        cr->next_mail = 1;
        cr->next_upn = same;
    } else if (strcmp(field, "upn") == 0 || strcmp(field, "samAccountName") == 0) {
        cr->next_upn = 1;
    } else {
        return 0;
    }
    return 1;
}

/* An account that its marker has found may have got other names than the task has. */
static ida_kind write_called(run *r, store *s, ida_ctx *c, void *baton)
{
    const directory_user *user = baton;
    r->task->upn = user->upn;
    r->task->mail = user->mail ? user->mail : user->upn;
    r->task->person = ida_fold_address(r->pool, user->upn);
    return queue_task_called(s, c, r->task);
}

/* The account exists: the cache first, then seat, names and step in one transaction. */
static step_end made(run *r, const creation *cr, create_call *call, int adopted)
{
    step_end end = run_cache_user(r, &call->user);
    if (end == STEP_ON && adopted && call->user.upn && strcmp(call->user.upn, r->task->upn) != 0) {
        end = run_store(r, write_called, &call->user);
    }
    if (end != STEP_ON) {
        return end;
    }
    for (const char *const *w = call->user.warnings; w && *w; w++) {
        run_warn(r, *w);
    }
    if (adopted && is_restored(r)) {
        run_warn(r, "The account was there already; its password was left as it is.");
    }
    step_says(r, adopted ? IDA_STEP_ALREADY : IDA_STEP_DONE, "%s as %s%s%s%s%s",
              adopted ? "made by an earlier try of this task" : "created", r->task->upn,
              cr->person.account_enabled ? "" : ", disabled", cr->taken ? " (" : "",
              cr->taken ? cr->taken : "", cr->taken ? ")" : "");
    run_account_is(r, call->user.id);
    end = run_account_made(r, call->user.id);
    return end == STEP_ON && adopted ? step_still_wanted(r, "nothing more is done for the account")
                                     : end;
}

step_end step_create_account(run *r)
{
    creation cr = {.fresh = !json_is_true(json_object_get(r->progress, "createSent")),
                   .display_number = (int)json_integer_value(
                       json_object_get(r->progress, "displayNumber"))};
    cr.sent_at = cr.fresh ? 0 : sent_at(r);
    cr.restored = cr.fresh && r->task->marker;
    cr.fresh = cr.fresh && !cr.restored;
    if (cr.restored || (cr.sent_at && cr.sent_at < r->task->started_at)) {
        json_object_set_new(r->progress, "restored", json_true());
    }
    cr.unseen_since = json_integer_value(json_object_get(r->progress, "unseenSince"));
    create_call call = {0};
    directory_error e;
    step_end end = read_payload(r, &cr);
    for (int tries = 0; end == STEP_ON; tries++) {
        if (cr.fresh || cr.restored || cr.next_upn || cr.next_mail || cr.next_display) {
            end = settle_names(r, &cr);
        }
        if (end == STEP_ON) {
            end = create_once(r, &cr, &call, &e);
        }
        if (end != STEP_ON) {
            break;
        }
        if (e.class == DIRECTORY_OK || e.class == DIRECTORY_ALREADY) {
            return made(r, &cr, &call, e.class == DIRECTORY_ALREADY);
        }
        if (e.class == DIRECTORY_CONFLICT && may_be_seen_yet(r, &cr, &e)) {
            return wait_for_sight(r, &cr, &e);
        }
        if (e.class != DIRECTORY_CONFLICT || tries == NAMES_TRIED_MAX ||
            !blame(&cr, &e, r->account->session->tenant->same_upn_and_mail)) {
            return not_made(r, &call, &e);
        }
    }
    return end;
}
