/* Owns the actions that send something: mail, initial password, webhook. Each is sent at least
 * once, with an ID that stays the same. */
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>

#include "core/base/json.h"
#include "core/zone/schedule.h"
#include "worker/base/password.h"
#include "worker/run/actions.h"
#include "worker/send/mail.h"
#include "worker/send/webhook.h"

/* of the one that tries a silent mail server: a password may have to be set before */
#define TURN_MS (MAIL_MS + DIRECTORY_CALL_MS)

/* --- mail --- */

/* A server that let a mail's time go by is tried by one task at a time; the others wait without a
 * thread, and uncounted. */
static step_end turn(run *r)
{
    worker *w = r->w;
    worker_config config;
    worker_settings(w, r->pool, &config);
    int64_t wait = config.smtp_url ? hold_outage_wait(&w->outages, config.smtp_url,
                                                      ida_monotonic(&w->env), TURN_MS)
                                   : 0;
    if (!wait) {
        return STEP_ON;
    }
    step_says(r, IDA_STEP_NONE,
              "Waits for the mail server, which did not answer other mails of this worker.");
    r->held_until = ida_now(&w->env) + wait;
    return STEP_HELD;
}

static void server_was(run *r, const char *url, int silent, int64_t begun)
{
    worker *w = r->w;
    uint32_t random;
    ida_random(&w->env, &random, sizeof random);
    if (silent && hold_outage_silent(&w->outages, url, begun, ida_monotonic(&w->env), random)) {
        ida_log(&w->env, IDA_LOG_WARN, "IDA0326",
                "the mail server %s does not answer; mails wait and one at a time is tried", url);
    } else if (!silent && hold_outage_over(&w->outages, url)) {
        ida_log(&w->env, IDA_LOG_INFO, NULL, "the mail server %s answers again", url);
    }
}

static step_end deliver(run *r, mail_message *m)
{
    worker_config config;
    const char *detail;
    int silent;
    step_end end = run_commit(r);
    end = end == STEP_ON ? run_may_call(r) : end;
    if (end != STEP_ON) {
        return end;
    }
    worker_settings(r->w, r->pool, &config);
    int64_t begun = ida_monotonic(&r->runner->env);
    m->id = ida_printf(r->pool, "idadmin.%s.%d", r->task->id, r->step.position);
    m->at_ms = ida_now(&r->runner->env);
    mail_outcome outcome = mail_send(r->pool, &config, m, &detail, &silent);
    if (config.smtp_url) {
        server_was(r, config.smtp_url, silent, begun);
    }
    switch (outcome) {
    case MAIL_SENT: return step_says(r, IDA_STEP_DONE, "to %s: %s", m->to, detail);
    case MAIL_REFUSED: return step_fails(r, "to %s: %s", m->to, detail);
    case MAIL_LATER: return step_later(r, "to %s: %s", m->to, detail);
    default: step_says(r, IDA_STEP_UNKNOWN, "to %s: %s", m->to, detail); return STEP_UNSURE;
    }
}

step_end action_mail(run *r)
{
    person p;
    step_end end = run_person_read(r, &p);
    const char *to = end == STEP_ON ? run_person_address(r, &p, action_text(r, "to"), &end) : NULL;
    end = to ? turn(r) : end;
    if (!to || end != STEP_ON) {
        return end;
    }
    mail_message m = {.to = to,
                      .subject = run_person_fill(r->pool, &p, action_text(r, "subject")),
                      .body = run_person_fill(r->pool, &p, action_text(r, "body"))};
    return deliver(r, &m);
}

/* --- initial password --- */

static directory_class call_password(run *r, const directory_ops *ops, directory *dir, void *baton,
                                     directory_error *e)
{
    return ops->set_password(dir, r->pool, r->account->object_id, baton, e);
}

/* The password is set, and the result of its mail (STEP_ON: it was accepted) is only part of the
 * report. */
static step_end password_sent(run *r, step_end end)
{
    const char *mail = r->step.detail ? r->step.detail : "not sent";
    if (end == STEP_FAILED || end == STEP_LATER) {
        step_says(r, r->step.outcome,
                  "A new password is set that no one has; the next attempt, also after task retry, "
                  "makes another one: %s",
                  mail);
    } else if (end == STEP_UNSURE) {
        step_says(r, r->step.outcome,
                  "A new password is set, and it is not known whether anyone has it: %s", mail);
    }
    return end;
}

/* First the recipient and the way to send are determined, then the password is set, then it is
 * sent. A failure in between leaves a password that is not known to any person, and the next
 * attempt sets another one. */
step_end action_password(run *r)
{
    person p;
    directory_error e;
    if (!r->account->session->ops->set_password) {
        return step_fails(r, "This version cannot set passwords in this kind of directory.");
    }
    step_end end = run_person_read(r, &p);
    person reader = p;
    end = end == STEP_ON ? run_person_owner(r, &reader, action_text(r, "to")) : end;
    const char *to = end == STEP_ON ? run_person_address(r, &reader, action_text(r, "to"), &end)
                                    : NULL;
    if (!to) {
        return end;
    }
    worker_config config;
    worker_settings(r->w, r->pool, &config);
    const char *fault = mail_settings_fault(r->pool, &config);
    if (fault) {
        return step_fails(r, "%s. The password was left as it is.", fault);
    }
    end = turn(r);
    if (end != STEP_ON) {
        return end;
    }
    const char *subject = action_text(r, "subject"), *body = action_text(r, "body");
    char password[PASSWORD_SIZE], secret[PASSWORD_SIZE + 512];
    const char *local = apr_pstrmemdup(r->pool, p.upn, strcspn(p.upn, "@"));
    const char *names[] = {p.firstname, p.surname, local, p.middle_name, NULL};
    password_make(&r->runner->env, names, password);
    end = run_call(r, call_password, password, &e);
    end = end == STEP_ON ? action_answered(r, &e) : end;
    if (end == STEP_ON) {
        mail_message m = {.to = to,
                          .subject = run_person_fill(
                              r->pool, &p, *subject ? subject : "Account of {displayName}"),
                          .body = run_person_fill(
                              r->pool, &p,
                              *body ? body
                                    : "The account of {displayName} is ready. Its password is for "
                                      "the first sign-in alone, where a new one must be chosen."),
                          .secret = secret};
        apr_snprintf(secret, sizeof secret, "%.300s\n%s\n", p.upn, password);
        end = password_sent(r, deliver(r, &m));
    }
    OPENSSL_cleanse(password, sizeof password);
    OPENSSL_cleanse(secret, sizeof secret);
    return end;
}

/* --- webhook --- */

static const char *payload(run *r, const person *p)
{
    ida_ctx *c = run_ctx(r);
    const ida_task *t = r->task;
    json_t *body = ida_json_keep(r->pool, json_object()), *data = json_object();
    ida_json_put(body, "type", ida_task_type_text(t->type));
    ida_json_put_time(body, "timestamp", t->started_at);
    ida_json_put(data, "companyId", t->tenant);
    ida_json_put(data, "taskId", t->id);
    ida_json_put(data, "workflow", r->step.workflow);
    json_object_set_new(data, "action", json_integer(r->step.workflow_position));
    ida_json_put(data, "directory", ida_directory_name(t->directory));
    ida_json_put(data, "scheduledAt", zone_schedule_local(c, t->zone, t->due_at));
    json_object_set_new(data, "user", run_person_json(r, p));
    json_object_set_new(body, "data", data);
    return ida_json_text(r->pool, body);
}

step_end action_webhook(run *r)
{
    person p;
    int retry_after;
    const char *detail;
    step_end end = run_person_read(r, &p);
    end = end == STEP_ON ? run_commit(r) : end;
    end = end == STEP_ON ? run_may_call(r) : end;
    if (end != STEP_ON) {
        return end;
    }
    const webhook_call call = {
        .url = action_text(r, "url"),
        .secret_file = action_text(r, "secretFile"),
        .ca_file = ida_json_string(r->settings, "caFile"),
        .id = ida_printf(r->pool, "msg_%s_%d", r->task->id, r->step.position),
        .body = payload(r, &p),
        .allow_private = json_is_true(json_object_get(r->settings, "allowPrivate"))};
    switch (webhook_send(&r->runner->env, r->pool, &call, &retry_after, &detail)) {
    case WEBHOOK_TAKEN: return step_says(r, IDA_STEP_DONE, "%s", detail);
    case WEBHOOK_GONE:
    case WEBHOOK_REFUSED: return step_fails(r, "%s", detail);
    case WEBHOOK_LATER: r->retry_after = retry_after; return step_later(r, "%s", detail);
    default: step_says(r, IDA_STEP_UNKNOWN, "%s", detail); return STEP_UNSURE;
    }
}
