/* Model check of namesakes: random lives with changes of name, addresses that are freed and
 * given to others, and accounts deleted and created again, requested over REST and run by the
 * worker's own engine against a directory in memory of either kind, compared with a model that
 * knows only IDs. Parameters: `lives`, accounts of each kind on each engine; `seed`. */
#include "t/unit/model_directory.h"
#include "t/unit/queue_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "core/face/rest.h"
#include "core/governance/act.h"
#include "core/operation/people/evidence.h"
#include "core/zone/schedule.h"
#include "core/zone/zone.h"
#include "worker/run/run.h"

#define PEOPLE 12 /* accounts of a company */
#define ROUNDS 90 /* operations of a company */
#define TASKS_MAX 400
#define NAMES 5 /* addresses that all accounts share */

#include "t/unit/model_company.h"

static ida_directory_kind where;
static int companies, lives;
static int assigned[ACCOUNTS_MAX]; /* the role template, by account */
static long writes, refused, both, shared, moved, strangers, ended;

static const char *text(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *made = apr_pvsprintf(round_pool, format, args);
    va_end(args);
    return made;
}

/* --- the company --- */

static void synchronise(void)
{
    static const cache_guard any = {.accept = 1};
    cache_sync *all;
    cache_summary summary;
    ida_ctx *c = ctx();
    test_now_ms += 20 * MINUTE; /* write-throughs are no longer protected */
    ida_kind kind = cache_sync_begin(&all, cache_store, c, round_pool, company, where, 1);
    for (int i = 0; !kind && i < account_count; i++) {
        cache_user user;
        shown(&accounts[i], &user);
        kind = accounts[i].gone ? IDA_OK : cache_sync_user(all, c, &user);
    }
    kind = kind ? kind : cache_sync_complete(all, c, "user");
    kind = kind ? kind : cache_sync_complete(all, c, "group");
    kind = kind ? kind : cache_sync_commit(all, c, "{}", NULL, &any, 1, &summary);
    if (kind) {
        complain("sync: %s", c->message);
    }
}

static void begin_company(void)
{
    static const char
        cloud[] = "\"cloud\":{\"directoryId\":\"7d1e2f10-0b63-4c92-9d0b-6a0f6a3c1a01\","
                  "\"clientId\":\"7d1e2f10-0b63-4c92-9d0b-6a0f6a3c1a02\",\"clientSecretFile\":"
                  "\"/etc/idadmin/secret\"}",
        premises[] =
            "\"onPremises\":{\"urls\":[\"ldaps://dc1.corp.example\"],\"dialect\":"
            "\"activeDirectory\",\"bindDn\":\"cn=a\",\"bindPasswordFile\":"
            "\"/etc/idadmin/password\",\"userBase\":\"dc=corp\",\"groupBase\":\"dc=corp\"}";
    account_count = 0;
    memset(assigned, 0, sizeof assigned);
    snprintf(company, sizeof company, "%s%d", where == IDA_DIR_CLOUD ? "cloud" : "premises",
             ++companies);
    apr_pool_clear(life_pool);
    if (!script(DB_REQUEST,
                text("INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) "
                     "VALUES ('%s', '{\"companyId\":\"%s\",\"name\":\"%s\",\"upnDomain\":"
                     "\"corp.example\",\"directories\":{%s}}', '', 1, 1, 1); INSERT INTO "
                     "role_template (tenant_id, id, name) VALUES ('%s', 'r', 'Sales')",
                     company, company, company, where == IDA_DIR_CLOUD ? cloud : premises,
                     company))) {
        complain("no company");
    }
    start_worker(where);
    synchronise();
}

#include "t/unit/namesakes_requests.h"

/* --- by hand, in the directory --- */

static void make_anew(const char *upn)
{
    if (account_count >= PEOPLE || by_upn(upn)) {
        return;
    }
    account *a = &accounts[account_count++];
    *a = (account){.enabled = 1, .born = test_now_ms};
    snprintf(a->id, sizeof a->id, "00000000-0000-4000-8000-%012d", account_count);
    snprintf(a->upn, sizeof a->upn, "%s", upn);
    snprintf(a->display, sizeof a->display, "By hand %d", account_count);
    snprintf(a->marker, sizeof a->marker, "hand-%d", account_count);
}

static void rename_by_hand(void)
{
    account *a = some_account();
    const char *name = some_name();
    if (a && !a->gone && !by_upn(name)) {
        snprintf(a->upn, sizeof a->upn, "%s", name);
    }
}

static void delete_by_hand(void)
{
    account *a = some_account();
    if (a && roll(2)) {
        const char *upn = apr_pstrdup(round_pool, a->upn);
        a->gone = 1;
        if (roll(2)) {
            make_anew(upn);
        }
    }
}

/* --- the role template, past all faces --- */

typedef struct role_work {
    governance_role_act act;
    int give;
} role_work;

static ida_kind act_in(store *s, ida_ctx *c, void *baton)
{
    role_work *work = baton;
    return work->give ? governance_act_assign(s, c, &work->act)
                      : governance_act_unassign(s, c, &work->act);
}

static void role(void)
{
    account *a = some_account();
    int by_id = a && roll(2), count;
    const char *named = by_id ? a->id : some_name();
    ida_task *tasks;
    role_work work = {.act = {.by = {.tenant = company, .username = "it", .via = "command"},
                              .template_named = "r",
                              .user_named = named},
                      .give = roll(2)};
    ida_ctx *c = ctx();
    const holders *known = holders_of(named);
    account *of = by_id ? a : known->all[0];
    count = all_tasks(&tasks);
    int strange = !by_id && is_ambiguous(named, known, tasks, count);
    ida_kind kind = store_transaction(main_store, c, act_in, &work);
    if (kind) {
        if (of && !strange && (work.give ? !of->gone : assigned[of - accounts])) {
            ida_user *user;
            if (!cache_user_details(main_store, ctx(), company, of->id, &user, NULL)) {
                complain("role %d of %s: %s", work.give, named, c->message);
            }
        }
        return;
    }
    if (strange) {
        complain("the template went to or from %s, who is not the only one", named);
    }
    if (!of && work.act.user) { /* found by the address under which it was assigned */
        of = by_id ? a : NULL;
        for (int i = 0; i < account_count; i++) {
            of = strcmp(accounts[i].id, work.act.user->id) == 0 ? &accounts[i] : of;
        }
    }
    if (of) {
        assigned[of - accounts] = work.give;
    } else {

        for (int i = 0; i < account_count; i++) {
            assigned[i] = assigned[i] &&
                          ask(text("SELECT count(*) FROM role_assignment WHERE tenant_id = '%s' "
                                   "AND user_id = '%s'",
                                   company, accounts[i].id));
        }
    }
}

/* --- the worker --- */

/* A run changes the account with its task's ID, or creates one, and no other. */
static void run_one(ida_task *t)
{
    static account before[ACCOUNTS_MAX];
    int had = account_count, made = t->type == IDA_USER_CREATE;
    const char *upn = apr_pstrdup(round_pool, t->upn), *id = apr_pstrdup(round_pool, t->id);
    account *own = t->object_id ? by_id(t->object_id) : NULL, *stands = by_upn(upn);
    test_now_ms++;
    memcpy(before, accounts, sizeof before);
    rn.sessions.first->used_at = test_now_ms;
    run_task(&rn, round_pool, t, test_now_ms);
    for (int i = 0; i < had; i++) {
        if (&accounts[i] != own && memcmp(&accounts[i], &before[i], sizeof before[i]) != 0) {
            complain("task %s of %s changed %s", id, t->object_id ? t->object_id : "nobody",
                     accounts[i].id);
        }
    }
    if (account_count > had + made) {
        complain("task %s made an account", id);
    }
    const ida_task *now = task_of(id);
    if (!now) {
        return;
    }
    ended += now->state == IDA_DONE;
    if (now->type == IDA_USER_DELETE && now->state == IDA_DONE) {
        if (own ? own->enabled : stands != NULL) {
            complain("leave %s of %s is done, and %s", id, now->object_id,
                     own ? "the account is enabled" : "another person has its address");
        }
        for (int i = 0; i < account_count; i++) {
            assigned[i] = assigned[i] && !is_of(now, &accounts[i]);
        }
    }
    int asked = !now->error || !strstr(now->error, "was offboarded by task"); /* of the directory */
    if (!own && !made && asked && now->state != IDA_QUEUED &&
        (now->state == IDA_ATTENTION) != !!stands) {
        complain("task %s, whose ID is gone, is %s, and %s stands under %s: %s", id,
                 ida_task_state_text(now->state), stands ? stands->id : "nobody", upn,
                 now->error ? now->error : "");
    }
    strangers += !own && stands && now->state == IDA_ATTENTION;
}

static void work_through(void)
{
    ida_task *t;
    int braked;
    test_now_ms += (1 + roll(120)) * MINUTE;
    for (int i = 0; i < 60; i++) {
        if (queue_claim(main_store, ctx(), w.id, test_now_ms, LEASE, 5000, &t, &braked)) {
            return;
        }
        run_one(t);
    }
}

/* An address passes from one account to another by hand, and the service writes only to the new
 * holder: until a synchronisation the service has both under the address. */
static void pass_on_by_hand(void)
{
    account *from = by_upn(some_name()), *to = some_account();
    const char *name = some_name();
    if (from && from != to && !to->gone && !by_upn(name)) {
        memcpy(to->upn, from->upn, sizeof to->upn);
        snprintf(from->upn, sizeof from->upn, "%s", name);
        json_t *body = json_object();
        ida_json_put(body, "userPrincipalName", to->id);
        ida_json_put(body, "jobTitle", text("Title %d", roll(1000)));
        ida_json_put(body, "time", "00:00");
        request("PATCH", "/v1/api/user", NULL, body);
        work_through();
        change(roll(2));
    }
}

/* --- what everybody is shown --- */

static int is_listed(const json_t *items, const char *id)
{
    const json_t *one;
    size_t i;
    json_array_foreach ((json_t *)items, i, one) {
        const char *has = ida_json_string(one, "id");
        if (has && strcmp(has, id) == 0) {
            return 1;
        }
    }
    return 0;
}

static void look_at(const account *a, const ida_task *tasks, int count)
{
    answer details = request("GET", "/v1/api/user/details", text("user=%s", a->id), NULL),
           listed = request("GET", "/v1/api/tasks", text("userPrincipalName=%s&limit=100", a->id),
                            NULL);
    const json_t *user = json_object_get(details.data, "user"),
                 *pending = json_object_get(user, "pendingTasks"),
                 *items = json_object_get(listed.data, "items");
    int leaves = 0;
    for (int i = 0; i < count; i++) {
        const ida_task *t = &tasks[i];
        leaves += is_of(t, a) && t->type == IDA_USER_DELETE && t->state == IDA_QUEUED;
        if (t->object_id && is_listed(items, t->id) != is_of(t, a)) {
            complain("task %s of %s is %s in the list of %s", t->id, t->object_id,
                     is_of(t, a) ? "missing" : "shown", a->id);
        }
        if (user && t->object_id && is_listed(pending, t->id) != (is_of(t, a) && is_open(t))) {
            complain("task %s (%s) of %s is %s among those pending of %s", t->id,
                     ida_task_state_text(t->state), t->object_id, is_of(t, a) ? "missing" : "shown",
                     a->id);
        }
    }
    if (leaves > 1) {
        complain("%s has %d queued leaves", a->id, leaves);
    }
    if (user &&
        (int)json_array_size(json_object_get(user, "roleTemplates")) != assigned[a - accounts]) {
        complain("%s is shown with %d role templates, and has %d", a->id,
                 (int)json_array_size(json_object_get(user, "roleTemplates")),
                 assigned[a - accounts]);
    }
}

static void evidence_of(const account *a, const ida_task *tasks, int count)
{
    json_t *document = NULL;
    ida_ctx *c = ctx();
    int asked = 0;
    for (int i = 0; i < count; i++) {
        asked += is_of(&tasks[i], a) && tasks[i].type == IDA_USER_DELETE;
    }
    ida_kind kind = ida_evidence(main_store, c, company, a->id, 0, &document);
    const json_t *offboardings = kind ? NULL : json_object_get(document, "offboardings");
    if ((int)json_array_size(offboardings) != asked) {
        complain("evidence of %s shows %d of %d offboardings: %s", a->id,
                 (int)json_array_size(offboardings), asked, kind ? c->message : "");
    }
    for (int i = 0; i < count; i++) {
        if (is_listed(offboardings, tasks[i].id) !=
            (is_of(&tasks[i], a) && tasks[i].type == IDA_USER_DELETE)) {
            complain("evidence of %s is wrong about task %s", a->id, tasks[i].id);
        }
    }
}

static void company_lives(void)
{
    static void (*const operations[])(void) = {
        hire,        hire,        leave,          leave,          update,          update,
        change_task, role,        rename_by_hand, rename_by_hand, pass_on_by_hand, delete_by_hand,
        synchronise, synchronise, work_through,   work_through};
    ida_task *tasks;
    int count;
    begin_company();
    for (int i = 0; i < ROUNDS; i++) {
        apr_pool_clear(round_pool);
        test_now_ms++;
        operations[roll((int)(sizeof operations / sizeof *operations))]();
        count = all_tasks(&tasks);
        if (account_count) {
            look_at(some_account(), tasks, count);
        }
    }
    apr_pool_clear(round_pool);
    for (int i = 0; i < 20; i++) {
        work_through();
    }
    count = all_tasks(&tasks);
    for (int i = 0; i < account_count; i++) {
        look_at(&accounts[i], tasks, count);
        evidence_of(&accounts[i], tasks, count);
    }
    if (ask(text("SELECT count(*) FROM user_lock"))) {
        complain("a person is still locked");
    }
    lives += account_count;
}

int main(void)
{
    const char *wanted = getenv("IDADMIN_ENGINE");
    int most = (int)parameter("lives", 30);
    setenv("TMPDIR", "/dev/shm", 0);
    setup();
    env.now = mortal_clock;
    env.monotonic = steady_clock;
    env.log = silent;
    zone_init(pool);
    apr_pool_create(&round_pool, pool);
    apr_pool_create(&life_pool, pool);
    for (int i = 0; i < store_engines(); i++) {
        if (wanted && strcmp(wanted, i ? "sqlite" : "postgresql") == 0) {
            continue;
        }
        dsn = store_upgraded(i, &engine);
        if (!store_sqlite_path(dsn)) {
            dsn = apr_pstrcat(pool, dsn, " options='-c synchronous_commit=off'", NULL);
        }
        main_store = store_make(pool, dsn, DB_REQUEST);
        cache_store = store_make(pool, dsn, DB_SYNC);
        for (int kind = IDA_DIR_CLOUD; kind < IDA_DIR_COUNT; kind++) {
            where = (ida_directory_kind)kind;
            dice = (unsigned)parameter("seed", 1);
            wrong = lives = 0;
            writes = refused = both = shared = moved = strangers = ended = 0;
            while (lives < most) {
                company_lives();
            }
            ok(wrong == 0, "%s, %s: over %d lives everybody is meant by ID alone", engine,
               ida_directory_name(where), lives);
            ok(writes > lives && ended > lives / 2 && both && strangers && moved,
               "%ld writes, %ld refused, %ld of them named two people, %ld by an address of two "
               "accounts; %ld tasks done, %ld leaves moved, %ld before another person",
               writes, refused, both, shared, ended, moved, strangers);
        }
        store_disconnect(main_store);
        store_disconnect(cache_store);
    }
    return done();
}
