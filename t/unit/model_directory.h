/* A directory in memory behind the worker's function table: accounts, groups, markers; lost
 * answers, unavailable servers, and the death of the whole process at any directory call or
 * reading of the clock. Included after queue_setup.h. */
#ifndef T_UNIT_MODEL_DIRECTORY_H
#define T_UNIT_MODEL_DIRECTORY_H

#include <setjmp.h>
#include <stdio.h>

#include "t/unit/setup.h"
#include "worker/directory/directory.h"

#define ACCOUNTS_MAX 400
#define GROUPS 5

typedef struct account {
    char id[40], upn[160], given[40], surname[40], display[90], title[40], employee[20], marker[40];
    int enabled, gone; /* gone: deleted by hand; its slot is not used again */
    unsigned groups;   /* bits */
    int64_t born;      /* ms UTC */
} account;

static account accounts[ACCOUNTS_MAX];
static int account_count;
static unsigned dice;
static int faulty;        /* calls may fail */
static int outage_rounds; /* rounds for which every call fails */
static long death_in;     /* > 0: readings of the clock and directory calls until the process
                             dies */
static int
    dies_unheard; /* the process dies at its next effective write, before it gets the answer */
static jmp_buf death;
static long calls, faults_made, deaths;

static int roll(int sides)
{
    dice = dice * 1664525u + 1013904223u;
    return (int)((dice >> 12) % (unsigned)sides);
}

static void die(void)
{
    death_in = dies_unheard = 0;
    deaths++;
    longjmp(death, 1);
}

static void pulse(void)
{
    if (death_in > 0 && --death_in == 0) {
        die();
    }
}

static int64_t mortal_clock(void *baton)
{
    (void)baton;
    pulse();
    return test_now_ms;
}

/* Code that reads this clock holds locks: no death here. */
static int64_t steady_clock(void *baton)
{
    (void)baton;
    return test_now_ms;
}

static account *by_id(const char *id)
{
    for (int i = 0; i < account_count; i++) {
        if (!accounts[i].gone && strcmp(accounts[i].id, id) == 0) {
            return &accounts[i];
        }
    }
    return NULL;
}

static account *by_upn(const char *upn)
{
    for (int i = 0; i < account_count; i++) {
        if (!accounts[i].gone && strcasecmp(accounts[i].upn, upn) == 0) {
            return &accounts[i];
        }
    }
    return NULL;
}

static void shown(const account *a, cache_user *out)
{
    *out = (cache_user){.id = a->id,
                        .upn = a->upn,
                        .mail = a->upn,
                        .display_name = a->display,
                        .given_name = a->given,
                        .surname = a->surname,
                        .job_title = *a->title ? a->title : NULL,
                        .employee_id = *a->employee ? a->employee : NULL,
                        .enabled = a->enabled,
                        .created_at = 1,
                        .manager_untold = 1,
                        .sign_ins_untold = 1};
}

static directory_class tell(const account *a, directory_user *out)
{
    *out = (directory_user){.id = a->id,
                            .upn = a->upn,
                            .mail = a->upn,
                            .display_name = a->display,
                            .enabled = a->enabled,
                            .marker = a->marker};
    shown(a, &out->cache);
    return DIRECTORY_OK;
}

static directory_class fail(directory_error *e, directory_class class, const char *field)
{
    e->class = class;
    e->field = field;
    e->message = directory_class_text(class);
    return class;
}

/* Begins a call: 1 if it fails before it takes effect. */
static int away(directory_error *e)
{
    calls++;
    pulse();
    if (outage_rounds || (faulty && roll(30) == 0)) {
        faults_made++;
        fail(e, DIRECTORY_TRANSIENT, NULL);
        return 1;
    }
    return 0;
}

/* The account of a call; NULL with the error set if the directory is unavailable or does not
 * have it. */
static account *reached(const char *id, directory_error *e)
{
    if (away(e)) {
        return NULL;
    }
    account *a = by_id(id);
    if (!a) {
        fail(e, DIRECTORY_NOT_FOUND, NULL);
    }
    return a;
}

/* Ends a write that took effect: 1 if its answer is lost. */
static int lost(directory_error *e)
{
    pulse();
    if (dies_unheard) {
        die();
    }
    if (faulty && roll(30) == 0) {
        faults_made++;
        fail(e, DIRECTORY_UNSURE, NULL);
        return 1;
    }
    return 0;
}

static directory_class m_open(directory **out, const ida_env *e, const ida_tenant *t,
                              ida_directory_kind kind, apr_pool_t *p, directory_error *error)
{
    (void)e, (void)t, (void)kind, (void)p, (void)error;
    *out = (directory *)accounts;
    return DIRECTORY_OK;
}

static void m_close(directory *d)
{
    (void)d;
}

static directory_class m_find(directory *d, apr_pool_t *p, const char *id, const char *upn,
                              directory_user *user, directory_error *e)
{
    (void)d, (void)p;
    if (away(e)) {
        return e->class;
    }
    account *a = id ? by_id(id) : by_upn(upn);
    return a ? tell(a, user) : fail(e, DIRECTORY_NOT_FOUND, NULL);
}

static directory_class m_create(directory *d, apr_pool_t *p, const directory_create *c,
                                directory_user *user, directory_error *e)
{
    (void)d, (void)p;
    if (away(e)) {
        return e->class;
    }
    for (int i = 0; i < account_count; i++) {
        if (!accounts[i].gone && strcmp(accounts[i].marker, c->marker) == 0) {
            tell(&accounts[i], user);
            return DIRECTORY_ALREADY;
        }
    }
    if (by_upn(c->upn)) {
        return fail(e, DIRECTORY_CONFLICT, "upn");
    }
    if (account_count == ACCOUNTS_MAX) {
        return fail(e, DIRECTORY_INVALID, NULL);
    }
    account *a = &accounts[account_count++];
    *a = (account){.enabled = c->person->account_enabled, .born = test_now_ms};
    snprintf(a->id, sizeof a->id, "00000000-0000-4000-8000-%012d", account_count);
    snprintf(a->upn, sizeof a->upn, "%s", c->upn);
    snprintf(a->given, sizeof a->given, "%s", c->person->firstname);
    snprintf(a->surname, sizeof a->surname, "%s", c->person->surname);
    snprintf(a->display, sizeof a->display, "%s", c->display_name);
    snprintf(a->title, sizeof a->title, "%s", c->person->job_title ? c->person->job_title : "");
    snprintf(a->employee, sizeof a->employee, "%s",
             c->person->employee_id ? c->person->employee_id : "");
    snprintf(a->marker, sizeof a->marker, "%s", c->marker);
    if (lost(e)) {
        return e->class;
    }
    return tell(a, user);
}

static directory_class m_manager(directory *d, apr_pool_t *p, const char *id, const char *manager,
                                 const char **manager_id, directory_error *e)
{
    (void)d, (void)p, (void)id, (void)manager, (void)manager_id;
    return fail(e, DIRECTORY_INVALID, NULL);
}

static directory_class m_photo(directory *d, apr_pool_t *p, const char *id,
                               const unsigned char *photo, size_t len, const char *type,
                               directory_error *e)
{
    (void)d, (void)p, (void)id, (void)photo, (void)len, (void)type;
    return fail(e, DIRECTORY_INVALID, NULL);
}

static directory_class m_disable(directory *d, apr_pool_t *p, const char *id, directory_user *after,
                                 directory_error *e)
{
    (void)d, (void)p;
    account *a = reached(id, e);
    if (!a) {
        return e->class;
    }
    int was = a->enabled;
    a->enabled = 0;
    if (was && lost(e)) {
        return e->class;
    }
    tell(a, after);
    return was ? DIRECTORY_OK : DIRECTORY_ALREADY;
}

static directory_class m_memberships(directory *d, apr_pool_t *p, const char *id,
                                     const char *const *candidates, int candidate_count,
                                     const directory_membership **rows, int *count,
                                     directory_error *e)
{
    (void)d, (void)candidates, (void)candidate_count;
    account *a = reached(id, e);
    directory_membership *list = apr_pcalloc(p, sizeof *list * GROUPS);
    *count = 0;
    *rows = list;
    if (!a) {
        return e->class;
    }
    for (int g = 0; g < GROUPS; g++) {
        if (a->groups & (1u << g)) {
            list[(*count)++] = (directory_membership){apr_psprintf(p, "group-%d", g),
                                                      apr_psprintf(p, "Group %d", g), NULL};
        }
    }
    return DIRECTORY_OK;
}

static directory_class change_member(const char *group, const char *id, int add, directory_error *e)
{
    account *a = reached(id, e);
    unsigned bit = 1u << atoi(group + strlen("group-"));
    if (!a) {
        return e->class;
    }
    int had = (a->groups & bit) != 0;
    a->groups = add ? a->groups | bit : a->groups & ~bit;
    if (had != add && lost(e)) {
        return e->class;
    }
    return had == add ? DIRECTORY_ALREADY : DIRECTORY_OK;
}

static directory_class m_remove(directory *d, apr_pool_t *p, const char *group, const char *id,
                                directory_error *e)
{
    (void)d, (void)p;
    return change_member(group, id, 0, e);
}

static directory_class m_add(directory *d, apr_pool_t *p, const char *group, const char *const *ids,
                             int count, directory_class *each, directory_error *e)
{
    directory_class class = DIRECTORY_OK;
    (void)d, (void)p;
    for (int i = 0; i < count; i++) {
        each[i] = change_member(group, ids[i], 1, e);
        if (each[i] != DIRECTORY_OK && each[i] != DIRECTORY_ALREADY) {
            class = each[i];
        }
    }
    return class;
}

static directory_class m_update(directory *d, apr_pool_t *p, const char *id,
                                const directory_attribute *list, int count, int enabled,
                                directory_user *after, directory_error *e)
{
    (void)d, (void)p;
    account *a = reached(id, e);
    if (!a) {
        return e->class;
    }
    account before = *a;
    a->enabled = enabled < 0 ? a->enabled : enabled;
    for (int i = 0; i < count; i++) {
        const struct {
            const char *name;
            char *at;
            size_t size;
        } places[] = {{"firstname", a->given, sizeof a->given},
                      {"surname", a->surname, sizeof a->surname},
                      {"displayName", a->display, sizeof a->display},
                      {"jobTitle", a->title, sizeof a->title},
                      {"employeeId", a->employee, sizeof a->employee}};
        for (size_t k = 0; k < sizeof places / sizeof *places; k++) {
            if (strcmp(places[k].name, list[i].name) == 0) {
                memset(places[k].at, 0, places[k].size);
                snprintf(places[k].at, places[k].size, "%s", list[i].value ? list[i].value : "");
            }
        }
    }
    int same = memcmp(&before, a, sizeof before) == 0;
    if (!same && lost(e)) {
        return e->class;
    }
    tell(a, after);
    return same ? DIRECTORY_ALREADY : DIRECTORY_OK;
}

static const directory_ops model_ops = {.name = "model",
                                        .open = m_open,
                                        .close = m_close,
                                        .find = m_find,
                                        .create = m_create,
                                        .set_manager = m_manager,
                                        .set_photo = m_photo,
                                        .disable = m_disable,
                                        .memberships = m_memberships,
                                        .remove_member = m_remove,
                                        .update = m_update,
                                        .add_members = m_add};

#endif
