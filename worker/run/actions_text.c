/* Owns the texts of actions: the person's values and the placeholders. Must not know where texts
 * go. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/tenant/naming.h"
#include "core/zone/schedule.h"
#include "worker/run/actions.h"
#include "worker/send/mail.h"

#define VALUE_MAX 2048 /* bytes of one value */

static const struct {
    const char *name;
    size_t at;
} placeholders[] = {
    {"firstname", offsetof(person, firstname)},
    {"middleName", offsetof(person, middle_name)},
    {"surname", offsetof(person, surname)},
    {"displayName", offsetof(person, display_name)},
    {"userPrincipalName", offsetof(person, upn)},
    {"mail", offsetof(person, mail)},
    {"manager", offsetof(person, manager_name)},
    {"department", offsetof(person, department)},
    {"jobTitle", offsetof(person, job_title)},
    {"companyName", offsetof(person, company)},
    {"date", offsetof(person, date)},
    {"time", offsetof(person, time)},
};
enum {
    NAME_PARTS = 3,
    PLACEHOLDERS = sizeof placeholders / sizeof *placeholders
}; /* the first three can be cut */

static const char *value_at(const person *p, size_t at)
{
    return *(const char *const *)((const char *)p + at);
}

/* The first text that is not empty, as one line without invisible characters. */
static const char *first(apr_pool_t *pool, const char *a, const char *b)
{
    const char *text = a && *a ? a : b && *b ? b : "";
    return ida_clean(pool, text, strlen(text), VALUE_MAX);
}

static step_end unreadable(run *r, const ida_ctx *c)
{
    return step_later(r, "The person cannot be read from the store: %s",
                      c->message ? c->message : "away");
}

/* *user NULL when the cache does not know it, or several of that address. */
static step_end cached(run *r, const char *key, ida_user **user)
{
    ida_ctx *c = run_ctx(r);
    *user = NULL;
    ida_kind kind = key ? cache_user_mentioned(r->main, c, r->task->tenant, key, user) : IDA_OK;
    return kind ? unreadable(r, c) : STEP_ON;
}

static void put_manager(run *r, person *p, const meant *m)
{
    const ida_user *user = m->user;
    p->manager = *m;
    p->manager_upn = first(r->pool, user ? user->upn : NULL, m->named);
    p->manager_name = first(r->pool, user ? user->display_name : NULL, p->manager_upn);
    p->manager_mail = first(r->pool, user ? user->mail : NULL, NULL);
}

/* The manager of a request that names one, otherwise the one whom the directory shows. */
static step_end read_manager(run *r, person *p, const json_t *asked, const char *shown_id,
                             const char *shown)
{
    meant m = {0};
    step_end end = asked      ? run_meant_manager(r, asked, &m)
                   : shown_id ? run_meant(r, shown, shown_id, &m)
                              : STEP_ON;
    put_manager(r, p, &m);
    return end;
}

step_end run_person_read(run *r, person *p)
{
    static const ida_user nobody;
    apr_pool_t *pool = r->pool;
    const json_t *stored = r->task->payload ? ida_json_load(pool, r->task->payload) : NULL;
    const json_t *values = json_object_get(stored, "values"),
                 *request = values ? values : stored; /* of an update: its new values */
    ida_user *user;
    step_end end = cached(r, r->account->object_id, &user);
    /* For a person without an ID yet; otherwise the address may belong to another person now. */
    if (end == STEP_ON && !user && !r->account->object_id) {
        end = cached(r, r->task->upn, &user);
    }
    if (end != STEP_ON) {
        return end;
    }
    const ida_user *u = user ? user : &nobody;
    const char *local = zone_schedule_local(ida_ctx_make(&r->runner->env, pool), r->task->zone,
                                            r->task->due_at);
    *p = (person){
        .firstname = first(pool, ida_json_string(request, "firstname"), u->given_name),
        .middle_name = first(pool, ida_json_string(request, "middleName"), NULL),
        .surname = first(pool, ida_json_string(request, "surname"), u->surname),
        .display_name = first(pool, u->display_name, r->task->display_name),
        .upn = first(pool, u->upn, r->task->upn),
        .mail = first(pool, u->mail, r->task->mail),
        .department = first(pool, ida_json_string(request, "department"), u->department),
        .job_title = first(pool, ida_json_string(request, "jobTitle"), u->job_title),
        .company = first(pool, first(pool, ida_json_string(request, "company"), u->company),
                         r->account->session->tenant->name),
        .date = apr_pstrmemdup(pool, local, 10),
        .time = strlen(local) > 16 ? apr_pstrmemdup(pool, local + 11, 5) : "",
    };
    /* For a new person whom the directory shows already, like setManager. */
    int asked = ida_present(pool, ida_json_string(stored, "manager")) != NULL;
    int shown = u->manager_upn && (!asked || r->task->type == IDA_USER_CREATE);
    return read_manager(r, p, asked && !shown ? stored : NULL,
                        u->manager_upn ? u->manager_id : NULL, u->manager_upn);
}

step_end run_person_owner(run *r, person *p, const char *recipient)
{
    const json_t *stored = ida_json_load(r->pool, r->task->payload ? r->task->payload : "{}");
    int made = r->task->type == IDA_USER_CREATE;
    if (!made && !json_object_get(stored, "memberships")) {
        return step_fails(r,
                          "An initial password is only for an account that the task makes or "
                          "brings back: that of %s was left as it is.",
                          p->upn);
    }
    const char *manager = ida_present(r->pool,
                                      ida_json_string(stored, made ? "manager" : "managerBefore"));
    return manager || strcmp(recipient, "{manager}") != 0
               ? read_manager(r, p, made && manager ? stored : NULL, manager, NULL)
               : step_fails(r,
                            "The password would go to the manager, but %s had none when the task "
                            "was asked for.",
                            p->upn);
}

/* Length of the placeholder at `open`, and its value; 0 if the brace is part of the text. */
static size_t placeholder(apr_pool_t *pool, const person *p, const char *open, const char **value)
{
    size_t len = strcspn(open, "}") + 1, name = strcspn(open + 1, ":{}");
    if (!open[len - 1]) {
        return 0;
    }
    for (int i = 0; i < PLACEHOLDERS; i++) {
        if (strlen(placeholders[i].name) != name ||
            strncmp(placeholders[i].name, open + 1, name) != 0) {
            continue;
        }
        *value = value_at(p, placeholders[i].at);
        if (open[1 + name] == ':' && i < NAME_PARTS) {
            const ida_name_parts parts = {p->firstname, p->middle_name, p->surname};
            *value = ida_naming_display(pool, apr_pstrmemdup(pool, open, len), &parts);
        }
        return open[1 + name] == '}' || open[1 + name] == ':' ? len : 0;
    }
    return 0;
}

const char *run_person_fill(apr_pool_t *pool, const person *p, const char *text)
{
    const char *filled = "";
    while (*text) {
        size_t plain = strcspn(text, "{");
        const char *value = "";
        filled = apr_pstrcat(pool, filled, apr_pstrmemdup(pool, text, plain), NULL);
        text += plain;
        if (*text) {
            size_t len = placeholder(pool, p, text, &value);
            filled = apr_pstrcat(pool, filled, len ? value : "{", NULL);
            text += len ? len : 1;
        }
    }
    return filled;
}

json_t *run_person_json(const run *r, const person *p)
{
    json_t *out = json_object();
    ida_json_put_or_null(out, "id", r->account->object_id);
    for (int i = 0; i < PLACEHOLDERS; i++) {
        if (placeholders[i].at == offsetof(person, manager_name) ||
            placeholders[i].at >= offsetof(person, date)) {
            continue;
        }
        const char *value = value_at(p, placeholders[i].at);
        ida_json_put_or_null(out, placeholders[i].name, *value ? value : NULL);
    }
    json_t *manager = *p->manager_upn ? json_object() : json_null();
    if (*p->manager_upn) {
        ida_json_put(manager, "userPrincipalName", p->manager_upn);
        ida_json_put(manager, "displayName", p->manager_name);
        ida_json_put_or_null(manager, "mail", *p->manager_mail ? p->manager_mail : NULL);
    }
    json_object_set_new(out, "manager", manager);
    return out;
}

const char *run_person_address(run *r, const person *p, const char *recipient, step_end *end)
{
    int manager = strcmp(recipient, "{manager}") == 0, own = !manager && recipient[0] == '{';
    const char *whom = manager ? "the manager"
                       : own   ? "the person"
                               : recipient,
               *address = manager                            ? p->manager_mail
                          : !own                             ? recipient
                          : strcmp(recipient, "{mail}") == 0 ? p->mail
                                                             : p->upn;
    meant m = p->manager;
    *end = manager ? STEP_ON
           : own   ? run_meant(r, p->upn, r->account->object_id, &m)
                   : run_meant_document(r, recipient, &m);
    /* A leaver's own address is one that the account's mail still goes to. */
    if (*end == STEP_ON && m.fault && (manager || (own ? !m.user : m.known))) {
        *end = step_fails(r, "The mail would go to %s: %s", whom, m.fault);
    }
    if (*end != STEP_ON) {
        return NULL;
    }
    if (manager && !*address) {
        *end = *p->manager_upn
                   ? step_fails(r,
                                "The mail would go to the manager, but %s has no mail address in "
                                "the directory.",
                                p->manager_upn)
                   : step_says(r, IDA_STEP_SKIPPED,
                               "The mail would go to the manager, but %s has none.", p->upn);
        return NULL;
    }
    if (!manager && m.moved) {
        address = first(r->pool, m.user->mail, NULL);
    }
    const char *fault = mail_address_fault(address);
    if (fault) {
        *end =
            *address
                ? step_fails(r, "The mail cannot go to %s: the address %s.", address, fault)
                : step_fails(
                      r,
                      "The mail would go to the person, who has no mail address in the directory.");
        return NULL;
    }
    return address;
}
