/* idadminctl tenant pause, resume, delete: whether a company is served. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/governance/end.h"
#include "core/store/tenant.h"
#include "worker/ctl/document.h"

/* --- pause and resume --- */

/* "12 open tasks, 1 of them running": what waits, and what ends first. */
static int report(ctl_call *ctl, store *s, const char *id, const char *state, const char *sentence)
{
    governance_end f;
    ida_kind kind = governance_end_figures(s, ctl->c, id, &f);
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl,
                             json_pack("{s:s, s:s, s:I, s:I}", "companyId", id, "state", state,
                                       "openTasks", (json_int_t)f.open_tasks, "running",
                                       (json_int_t)f.running),
                             "Tenant %s %s. Open tasks: %lld, running: %lld.", id, sentence,
                             (long long)f.open_tasks, (long long)f.running);
}

static int unchanged(ctl_call *ctl, const char *state)
{
    const char *id = ctl->arguments[0];
    json_t *document = json_pack("{s:s, s:s, s:b}", "companyId", id, "state", state, "changed", 0);
    return ctl_answer(ctl, document, "Tenant %s is %s already.", id, state);
}

static int pause_tenant(ctl_call *ctl)
{
    ctl_document work = {.ctl = ctl, .action = "tenant.pause"};
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *document = NULL, *pause = json_object();
    const char *reason = ctl_value(ctl, "reason");
    ida_json_keep(ctl->pool, pause);
    ida_kind kind = ctl_document_stored(&work, s, ctl->arguments[0], &document);
    if (!kind && work.stored->paused && !reason) {
        return unchanged(ctl, "paused");
    }
    if (!kind) {
        ida_json_put(pause, "since",
                     work.stored->paused ? work.stored->paused
                                         : ida_utc_text(ctl->pool, ida_now(ctl->c->env)));
        ida_json_put(pause, "reason", reason);
        json_object_set(document, "paused", pause);
        work.detail = reason;
        kind = ctl_document_put(&work, document);
    }
    kind = kind ? kind : ctl_document_store(&work, s);
    return kind ? ctl_result(ctl, kind)
                : report(ctl, s, ctl->arguments[0], "paused",
                         "is paused: changes are refused, queued work waits, reading goes on");
}

static int resume(ctl_call *ctl)
{
    ctl_document work = {.ctl = ctl, .action = "tenant.resume"};
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *document = NULL;
    ida_kind kind = ctl_document_stored(&work, s, ctl->arguments[0], &document);
    if (!kind && !work.stored->paused) {
        return unchanged(ctl, work.stored->deleted ? "deleted" : STORE_TENANT_ACTIVE);
    }
    if (!kind) {
        json_object_del(document, "paused");
        kind = ctl_document_put(&work, document);
    }
    kind = kind ? kind : ctl_document_store(&work, s);
    return kind ? ctl_result(ctl, kind)
                : report(ctl, s, ctl->arguments[0], STORE_TENANT_ACTIVE, "is served again");
}

/* --- delete --- */

typedef struct deletion {
    ctl_document document;
    governance_end figures;
    const char *id;
    int again; /* 1: it is deleted, and this command removes what an interrupted one left */
} deletion;

static json_t *figures_json(const governance_end *f)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "people", (json_int_t)f->people,
                     "tasks", (json_int_t)f->tasks, "events", (json_int_t)f->events, "unsentEvents",
                     (json_int_t)f->unsent, "requests", (json_int_t)f->requests, "assignments",
                     (json_int_t)f->assignments, "keys", (json_int_t)f->keys);
}

/* Nothing that is still to be done is lost by mistake. */
static ida_kind may_go(deletion *d)
{
    ctl_call *ctl = d->document.ctl;
    const governance_end *f = &d->figures;
    if (d->again) {
        return IDA_OK;
    }
    if (!d->document.stored->paused) {
        return ida_fail(ctl->c, IDA_CONFLICT,
                        "Tenant %s is not paused. `idadminctl tenant pause %s` first, so that "
                        "callers are told and nothing new comes.",
                        d->id, d->id);
    }
    if (f->running) {
        return ida_fail(ctl->c, IDA_CONFLICT, "%s in tenant %s; wait until none is.",
                        ida_count(ctl->pool, f->running, "task is running", "tasks are running"),
                        d->id);
    }
    if ((f->open_tasks || f->unsent) && !ctl_value(ctl, "discard-open")) {
        return ida_fail(
            ctl->c, IDA_CONFLICT,
            "Tenant %s has %s, and %s that a receiver has not accepted. Let them end or "
            "cancel them (`idadminctl task list %s --state queued,attention`), or "
            "give --discard-open.",
            d->id,
            ida_count(ctl->pool, f->open_tasks, "task that is queued or needs attention",
                      "tasks that are queued or need attention"),
            ida_count(ctl->pool, f->unsent, "event", "events"), d->id);
    }
    return IDA_OK;
}

static void say_what_goes(deletion *d)
{
    const governance_end *f = &d->figures;
    apr_pool_t *pool = d->document.ctl->pool;
    ctl_say(d->document.ctl,
            "Of tenant %s (%s) go: %s of the cache, %s with %s (%lld not accepted yet), %s, %s, "
            "%s, and its document but for ID, name, domain and retention.\n"
            "What stays: the audit log, until its retention ends; the directories, which are not "
            "touched; secrets in files; backups. `idadminctl audit export %s` exports the log.",
            d->id, d->document.stored->name, ida_count(pool, f->people, "person", "people"),
            ida_count(pool, f->tasks, "task", "tasks"),
            ida_count(pool, f->events, "event", "events"), (long long)f->unsent,
            ida_count(pool, f->requests, "access request", "access requests"),
            ida_count(pool, f->assignments, "role assignment", "role assignments"),
            ida_count(pool, f->keys, "API key", "API keys"), d->id);
}

/* 1: a person has typed the ID, here or behind --yes. */
static int is_confirmed(ctl_call *ctl, const char *id)
{
    char line[300] = "";
    const char *yes = ctl_value(ctl, "yes");
    if (!yes && isatty(STDIN_FILENO)) {
        fprintf(stderr, "Type the ID of the tenant to delete it: ");
        yes = fgets(line, sizeof line, stdin) ? line : "";
        line[strcspn(line, "\r\n")] = '\0';
    }
    return yes && strcmp(yes, id) == 0;
}

static ida_kind put_remains(deletion *d, store *s)
{
    ctl_call *ctl = d->document.ctl;
    const char *now = ida_utc_text(ctl->pool, ida_now(ctl->c->env));
    ida_kind kind = ctl_document_put(&d->document,
                                     ida_tenant_remains(ctl->pool, d->document.stored, now));
    return kind ? kind : ctl_document_store(&d->document, s);
}

static int delete_tenant(ctl_call *ctl)
{
    deletion d = {.document = {.ctl = ctl, .action = "tenant.delete"}, .id = ctl->arguments[0]};
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *unused = NULL, *figures;
    ida_kind kind = ctl_document_stored(&d.document, s, d.id, &unused);
    kind = kind ? kind : governance_end_figures(s, ctl->c, d.id, &d.figures);
    d.again = !kind && d.document.stored->deleted;
    kind = kind ? kind : may_go(&d);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    say_what_goes(&d);
    figures = ida_json_keep(ctl->pool, figures_json(&d.figures));
    if (ctl_value(ctl, "dry-run")) {
        ctl_json(ctl, figures);
        return CTL_DONE;
    }
    if (!is_confirmed(ctl, d.id)) {
        return ctl_usage(ctl, "--yes %s confirms it; nothing was deleted", d.id);
    }
    d.document.detail = ida_json_text(ctl->pool, figures);
    kind = d.again ? IDA_OK : put_remains(&d, s);
    kind = kind ? kind : governance_end_main(s, ctl->c, d.id);
    kind = kind ? kind : governance_end_cache(ctl_store(ctl, DB_SYNC), ctl->c, d.id);
    if (kind) {
        return ctl_result(ctl, ida_fail(ctl->c, kind, "%s Run the command again.",
                                        ctl->c->message ? ctl->c->message : "It was stopped."));
    }
    return ctl_answer(ctl,
                      json_pack("{s:s, s:s, s:O}", "companyId", d.id, "state", "deleted", "removed",
                                figures),
                      "Tenant %s is deleted.", d.id);
}

const ctl_command ctl_tenant_state_commands[] = {
    {"tenant", "pause", "ID",
     "Refuse every change of a company and let its queued work wait; reading goes on.",
     .help = "Callers get status 503 with Retry-After. Tasks that are "
             "running end. Synchronisations, events and the audit log go on. What stops something "
             "is still possible: a task can be cancelled, a key disabled or deleted. The pause is "
             "part of the sealed document, so httpd and workers follow it within two seconds.",
     .options = {{"reason", "TEXT", "why, for the audit log, `health` and the console"}},
     .run = pause_tenant},
    {"tenant", "resume", "ID", "Serve a paused company again.", .run = resume},
    {"tenant", "delete", "ID",
     "Delete a company that is paused: its people, tasks, events, keys and document.",
     .help = "The audit log stays, with its last record about this, and its retention goes on. ID, "
             "name, domain and retention stay with it. `tenant apply` with a full document makes a "
             "company of the same ID anew, whose audit log goes on. Directories are not touched.\n"
             "Refused while tasks run, and while some are queued or need attention unless "
             "--discard-open is given. An interrupted deletion goes on when the command is run "
             "again.",
     .options = {{"yes", "ID", "the ID once more, instead of typing it"},
                 {"discard-open", NULL,
                  "also with tasks that are queued or need attention, and with events that a "
                  "receiver has not accepted"},
                 {"dry-run", NULL, "print what would go, and delete nothing"}},
     .run = delete_tenant},
    {0},
};
