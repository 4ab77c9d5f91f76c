/* Owns the steps of an update: new values, enabled or not, and the memberships that a rehire
 * restores. Must not know directory protocols. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cache/person.h"
#include "core/queue/claim.h"
#include "core/queue/rehire.h"
#include "core/tenant/naming.h"
#include "worker/hold/rules.h"
#include "worker/run/actions.h"
#include "worker/run/belongings.h"
#include "worker/run/grant.h"
#include "worker/run/steps.h"
#include "worker/run/update.h"

step_end run_read_update(run *r, ida_update *update)
{
    ida_ctx *c = run_ctx(r);
    json_t *stored = r->task->payload ? ida_json_load(r->pool, r->task->payload) : NULL;
    ida_kind kind = stored ? ida_update_from_json(c, stored, update)
                           : ida_fail(c, IDA_INTERNAL_ERROR, "the stored request cannot be read");
    if (!kind && !r->account->object_id) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR, "the directory of this task has no such account");
    }
    if (kind) {
        return step_fails(r, "%s", c->message);
    }
    return STEP_ON;
}

/* --- updateAccount --- */

typedef struct changes {
    directory_attribute *list;
    int count, enabled;
    directory_user after;
    const char *dropped; /* texts about values that the directory has no place for, or NULL */
} changes;

static void add(changes *ch, const char *name, const char *value)
{
    ch->list[ch->count++] = (directory_attribute){name, value};
}

/* The display name in the tenant's format, from the new names and, where one does not change,
 * the present one: earlier updates of the person have been carried out already. */
static step_end add_display_name(run *r, const ida_update *update, changes *ch)
{
    const char *first = ida_json_string(update->values, "firstname"),
               *last = ida_json_string(update->values, "surname");
    if (!first && !last && !json_object_get(update->values, "middleName")) {
        return STEP_ON;
    }
    ida_user *user = NULL;
    ida_ctx *c = run_ctx(r);
    ida_kind kind = first && last ? IDA_OK
                                  : cache_user_details(r->main, c, r->task->tenant,
                                                       r->account->object_id, &user, NULL);
    if (kind) {
        return step_later(r, "The present names cannot be read: %s",
                          c->message ? c->message : ida_kind_text(kind));
    }
    ida_name_parts parts = {first              ? first
                            : user->given_name ? user->given_name
                                               : "",
                            ida_json_string(update->values, "middleName"),
                            last            ? last
                            : user->surname ? user->surname
                                            : ""};
    const char *shown = ida_naming_display(r->pool,
                                           r->account->session->tenant->display_name_format,
                                           &parts);
    if (shown && *shown) {
        add(ch, "displayName", shown);
    }
    return STEP_ON;
}

static step_end plan(run *r, const ida_update *update, changes *ch)
{
    const char *name;
    json_t *value;
    *ch = (changes){.enabled = update->enabled};
    ch->list = apr_palloc(r->pool, sizeof *ch->list * (json_object_size(update->values) + 1));
    json_object_foreach (update->values, name, value) {
        add(ch, name, json_string_value(value));
    }
    return add_display_name(r, update, ch);
}

/* progress.enableSent (core/queue/claim.h). */
static int enable_sent(const run *r)
{
    return json_is_true(json_object_get(r->progress, "enableSent"));
}

static void say_sent(run *r, int sent)
{
    if (sent) {
        json_object_set_new(r->progress, "enableSent", json_true());
    } else {
        json_object_del(r->progress, "enableSent");
    }
}

static ida_kind write_seat(run *r, store *s, ida_ctx *c, void *baton)
{
    return queue_take_seat(s, c, r->task, r->account->session->tenant,
                           ida_json_text(c->pool, r->progress), baton);
}

static int is_guest(run *r)
{
    ida_user *user;
    return !cache_user_details(r->main, run_ctx(r), r->task->tenant, r->account->object_id, &user,
                               NULL) &&
           user->guest;
}

/* Before the call that enables: the seat is held on disk until the cache counts the account. */
static step_end take_seat(run *r)
{
    int full = 0, sent = enable_sent(r);
    step_end end = step_still_wanted(r, "the account was not enabled");
    if (end == STEP_ON && !is_guest(r)) {
        say_sent(r, 1);
        end = run_store(r, write_seat, &full);
    }
    if (full) {
        say_sent(r, sent);
        return step_fails(r,
                          "The tenant's user seat limit is reached: the account was not enabled.");
    }
    return end;
}

static directory_class call_update(run *r, const directory_ops *ops, directory *dir, void *baton,
                                   directory_error *e)
{
    changes *ch = baton;
    return ops->update(dir, r->pool, r->account->object_id, ch->list, ch->count, ch->enabled,
                       &ch->after, e);
}

/* Continues without a value that the directory cannot store, as a creation does (a rehire also
 * without one that it refuses); 0 if the field is none of these. */
static int drop(run *r, changes *ch, const directory_error *e)
{
    int kept = 0, before = ch->count;
    for (int i = 0; i < before; i++) {
        if (!e->field || strcmp(ch->list[i].name, e->field) != 0) {
            ch->list[kept++] = ch->list[i];
        }
    }
    ch->count = kept;
    if (kept == before) {
        return 0;
    }
    const char *why = run_why(e);
    run_warn(r, ida_printf(r->pool, "%s was not set: %s", e->field, why));
    ch->dropped = ida_printf(r->pool, "%s%s%s (%s)", ch->dropped ? ch->dropped : "",
                             ch->dropped ? ", " : "", e->field, why);
    return 1;
}

static const char *described(run *r, const changes *ch)
{
    const char *text = ch->enabled == 1 ? "enabled" : ch->enabled == 0 ? "disabled" : "";
    for (int i = 0; i < ch->count; i++) {
        text = apr_pstrcat(r->pool, text, *text ? ", " : "", ch->list[i].name,
                           ch->list[i].value ? "" : " cleared", NULL);
    }
    return ch->dropped ? ida_printf(r->pool, "%s; not set: %s", text, ch->dropped) : text;
}

/* The directory shows the new values: cache first, then step and seat in one transaction. */
static step_end changed(run *r, changes *ch, directory_class class)
{
    step_end end = run_cache_user(r, &ch->after);
    if (end != STEP_ON) {
        return end;
    }
    for (const char *const *w = ch->after.warnings; w && *w; w++) {
        run_warn(r, *w);
    }
    const char *password = NULL;
    if (ch->enabled == 1 && class == DIRECTORY_OK &&
        !queue_rehire_password(r->main, run_ctx(r), r->task, &password) && password) {
        run_warn(r, password);
    }
    step_says(r, class == DIRECTORY_OK ? IDA_STEP_DONE : IDA_STEP_ALREADY, "%s", described(r, ch));
    say_sent(r, 0);
    return run_account_made(r, NULL);
}

static step_end gone(run *r)
{
    say_sent(r, 0);
    return step_gone(r, "The directory has no such account any more.");
}

/* The step ends finally, and an earlier attempt, or a part of this one, may have enabled the
 * account: read its state, so that the cache is right and the seat can be released. If the
 * directory does not answer, the seat stays. */
static step_end look_before_the_end(run *r, step_end end)
{
    directory_user found = {0};
    directory_error e;
    if (!enable_sent(r) || !(end == STEP_FAILED || (end == STEP_LATER && run_last_try(r)))) {
        return end;
    }
    step_end looked = run_find(r, &found, &e);
    if (looked == STEP_ON && hold_verdict_of(e.class) == VERDICT_GOOD) {
        looked = e.class == DIRECTORY_NOT_FOUND ? run_cache_gone(r) : run_cache_user(r, &found);
        say_sent(r, 0);
    }
    return looked == STEP_ON ? end : looked;
}

static step_end update_account(run *r)
{
    ida_update update;
    changes ch;
    directory_error e;
    step_end end = run_read_update(r, &update);
    end = end == STEP_ON ? plan(r, &update, &ch) : end;
    if (end == STEP_ON && !r->account->session->ops->update) {
        return step_fails(
            r, "This version of idadmin-worker cannot change accounts of this kind of directory.");
    }
    if (end == STEP_ON && ch.enabled == 1) {
        end = take_seat(r);
    }
    while (end == STEP_ON) {
        end = run_call(r, call_update, &ch, &e);
        if (end != STEP_ON) {
            return end;
        }
        if (e.class == DIRECTORY_OK || e.class == DIRECTORY_ALREADY) {
            return changed(r, &ch, e.class);
        }
        if (e.class == DIRECTORY_NOT_FOUND) {
            return gone(r);
        }
        if (e.class != DIRECTORY_INVALID || !(update.memberships || e.unkept) ||
            !drop(r, &ch, &e)) {
            end = run_fails(r, &e);
        } else if (!ch.count && ch.enabled < 0) {
            return step_says(r, IDA_STEP_SKIPPED, "not set: %s", ch.dropped);
        }
    }
    return end;
}

step_end step_update_account(run *r)
{
    return look_before_the_end(r, update_account(r));
}

/* --- restoreMemberships --- */

typedef struct given_back {
    apr_array_header_t *added, *had, *refused; /* names, with the reason for the last */
} given_back;

static void note(apr_array_header_t *list, const char *text)
{
    *(const char **)apr_array_push(list) = text;
}

static step_end join(run *r, const char *id, const char *name, given_back *b)
{
    directory_error e;
    step_end end = run_change_member(r, id, 1, NULL, &e);
    if (end != STEP_ON) {
        return end;
    }
    if (e.class == DIRECTORY_OK || e.class == DIRECTORY_ALREADY) {
        if (e.class == DIRECTORY_OK) {
            action_gave(r, id);
        }
        note(e.class == DIRECTORY_OK ? b->added : b->had, name);
        return STEP_ON;
    }
    if (e.class == DIRECTORY_NOT_FOUND && !e.field) {
        return gone(r);
    }
    end = run_fails(r, &e);
    if (e.class == DIRECTORY_NOT_FOUND || end == STEP_FAILED) {
        const char *why = e.class == DIRECTORY_NOT_FOUND
                              ? "the directory has no such group any more"
                              : r->step.detail;
        note(b->refused, ida_printf(r->pool, "%s (%s)", name, why));
        run_warn(r, ida_printf(r->pool, "The membership of %s was not given back: %s", name, why));
        return STEP_ON;
    }
    return end;
}

static ida_kind write_restored(run *r, store *s, ida_ctx *c, void *baton)
{
    const run_account *account = baton;
    return queue_memberships_restored(s, c, r->task, account->directory);
}

static const char *listed(run *r, const char *text, const char *before,
                          const apr_array_header_t *names)
{
    return names->nelts
               ? apr_pstrcat(r->pool, text, *text ? "; " : "", before, run_listed(r, names), NULL)
               : text;
}

/* Memberships in the directory of the account that the step acts on. What can be restored is
 * restored; the rest is reported in step and warnings and does not end the step. */
step_end step_restore_memberships(run *r)
{
    ida_update update;
    given_back b = {apr_array_make(r->pool, 8, sizeof(char *)),
                    apr_array_make(r->pool, 4, sizeof(char *)),
                    apr_array_make(r->pool, 4, sizeof(char *))};
    step_end end = run_read_update(r, &update);
    if (end == STEP_ON && !r->account->session->ops->add_members) {
        run_warn(r, "Memberships were not given back: this version cannot add members in this kind "
                    "of directory.");
        return step_says(r, IDA_STEP_SKIPPED,
                         "this version cannot add members in this kind of directory");
    }
    end = end == STEP_ON ? step_still_wanted(r, "the account was not enabled") : end;
    for (size_t i = 0; end == STEP_ON && i < json_array_size(update.memberships); i++) {
        const json_t *one = json_array_get(update.memberships, i);
        const char *id = ida_json_string(one, "id"), *name = ida_json_string(one, "name");
        end = id && ida_membership_in(one, r->account->directory)
                  ? join(r, id, name ? name : id, &b)
                  : STEP_ON;
    }
    int refused = b.refused->nelts;
    end = end == STEP_ON ? run_attributes_give(r, b.added, b.refused) : end;
    end = end == STEP_ON ? run_store(r, write_restored, r->account) : end;
    if (end != STEP_ON) {
        return end;
    }
    if (b.refused->nelts > refused) {
        run_warn(r, ida_printf(r->pool, "Not given back: %s",
                               APR_ARRAY_IDX(b.refused, refused, const char *)));
    }
    const char *text = listed(r, "", "given back: ", b.added);
    text = listed(r, text, "had already: ", b.had);
    text = listed(r, text, "not given back: ", b.refused);
    ida_outcome outcome = b.added->nelts     ? IDA_STEP_DONE
                          : b.refused->nelts ? IDA_STEP_FAILED
                                             : IDA_STEP_ALREADY;
    return step_says(r, outcome, "%s", *text ? text : "nothing to give back");
}
