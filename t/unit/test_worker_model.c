/* Model check: random sequences of creations, rehires, updates, offboardings, cancelled, moved and retried tasks over REST, run by the
 * worker's own engine against a directory in memory, with lost answers, outages and deaths of either process at any moment. After
 * every life seats, names, tasks and directory agree with each other and with what was promised.
 * IDADMIN_MODEL_ROUNDS: operations an engine (default 300). IDADMIN_MODEL_SEED: first seed. */
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"
#include "t/unit/queue_setup.h"
#include "t/unit/model_directory.h"

const char *__asan_default_options(void);

/* Who dies does not tidy up. */
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

#include "core/rest.h"
#include "core/schedule.h"
#include "core/store_sync.h"
#include "core/store_user.h"
#include "core/zone.h"
#include "worker/run.h"

#define ROUNDS_A_LIFE 200
#define PROMISES_MAX 1200
#define SEATS 12
#define MINUTE INT64_C(60000)

/* What a 200 promised. */
typedef struct promise {
    char id[40], employee[20], title[40];
    ida_task_type type;
    int enabled;     /* -1: as it is */
    unsigned groups; /* of a restore: given back */
    int seen_done, whose; /* whose: account, once done */
} promise;

/* What each account must be, by what was done to it. */
typedef struct person {
    int known, enabled, fuzzy; /* fuzzy: a task of theirs stopped in the middle for good */
    unsigned groups;
    char title[40], employee[20];
} person;

static promise promises[PROMISES_MAX];
static person people[ACCOUNTS_MAX];
static int promise_count, wrong, life_number, keys;
static long accepted, refused_count, ran, crashes_of_requests;
static char company[40];
static store *main_store, *cache_store;
static apr_pool_t *life_pool, *round_pool;
static worker w;
static runner rn;
static session *the_session;
static call_slot slots[2];

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (wrong++ < 12) {
        printf("# life %d: ", life_number);
        vprintf(format, args);
        printf("\n");
    }
    va_end(args);
}

static ida_ctx *ctx(void)
{
    return ida_ctx_make(&env, round_pool);
}

static void silent(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)level, (void)id;
    if (getenv("IDADMIN_MODEL_LOG")) {
        printf("# %s %s\n", id ? id : "", message);
    }
}

/* A process begins: connections, sessions, leases. */
static void start_process(void)
{
    worker_config config = {.store = dsn, .spool = "/nonexistent", .seal_key = "/nonexistent", .threads = 1};
    store_disconnect(main_store);
    store_disconnect(cache_store);
    worker_init(&w, &env, &config, life_pool);
    memset(slots, 0, sizeof slots);
    w.calls = slots;
    w.call_count = 2;
    rn = (runner){.w = &w, .main = main_store, .cache = cache_store, .sessions = {.w = &w}};
    session *s = the_session = apr_pcalloc(life_pool, sizeof *s);
    apr_pool_create(&s->pool, life_pool);
    apr_pool_create(&s->dir_pool, s->pool);
    snprintf(s->tenant_id, sizeof s->tenant_id, "%s", company);
    s->kind = IDA_DIR_CLOUD;
    s->ops = &model_ops;
    s->dir = (directory *)accounts;
    const char *seal;
    ida_ctx *lasting = ida_ctx_make(&env, life_pool);
    if (store_tenant_get(main_store, lasting, company, &s->tenant, &seal, &s->revision)) {
        complain("no tenant: %s", lasting->message);
    }
    rn.sessions.first = s;
    rn.sessions.count = 1;
}

/* --- requests --- */

typedef struct answer {
    int status, replayed;
    json_t *data;
    const char *message;
} answer;

static answer request_once(const char *method, const char *uri, const char *query, const char *body, const char *key)
{
    ida_principal principal = {.company = company, .username = "hr", .label = "", .access = IDA_ACCESS_FULL};
    ida_tenant *tenant;
    ida_ctx *c = ctx();
    answer out = {0};
    if (store_tenant_get(main_store, c, company, &tenant, NULL, NULL)) {
        complain("tenant: %s", c->message);
        return out;
    }
    ida_call call = {.c = c, .store = main_store, .principal = &principal, .tenant = tenant, .synced = 1};
    ida_rest_request request = {.method = method, .query = query, .content_type = body ? "application/json" : NULL, .has_body = body != NULL,
                                .body = body, .body_len = body ? strlen(body) : 0, .idempotency_key = key};
    ida_rest_answer rest;
    ida_route route;
    ida_rest_route(c->pool, method, uri, &route);
    if (!ida_rest_admit(&call, &route, &request, &rest)) {
        ida_rest_run(&call, &request, &rest);
    }
    json_t *parsed = ida_json_load(c->pool, rest.body);
    out.status = rest.status;
    out.replayed = call.replayed;
    out.data = json_object_get(parsed, "data");
    out.message = ida_json_string(json_object_get(parsed, "error"), "message");
    return out;
}

/* Whoever dies is asked again under the same key, as a client would. */
static answer ask_twice(const char *method, const char *uri, const char *query, const char *text, const char *key, volatile int *died)
{
    if (setjmp(death)) {
        *died = 1;
        crashes_of_requests++;
        start_process();
    }
    return request_once(method, uri, query, text, key);
}

static answer request(const char *method, const char *uri, const char *query, json_t *body)
{
    char key[32];
    volatile int died = 0;
    const char *text = body ? ida_json_text(round_pool, ida_json_keep(round_pool, body)) : NULL;
    snprintf(key, sizeof key, "key-%d", ++keys);
    death_in = roll(8) == 0 ? 1 + roll(12) : 0;
    answer a = ask_twice(method, uri, query, text, key, &died);
    death_in = 0;
    if (a.status >= 500 || (a.replayed && !died)) {
        complain("%s %s answered %d%s: %s", method, uri, a.status, a.replayed ? " replayed" : "", a.message ? a.message : "");
    }
    *(a.status == 200 ? &accepted : &refused_count) += 1;
    return a;
}

static int tasks_in(const char *state)
{
    const store_task_filter filter = {.state = state, .limit = 1};
    ida_task *tasks;
    int count;
    int64_t total = -1;
    ida_ctx *c = ctx();
    if (store_task_list(main_store, c, company, &filter, &tasks, &count, &total)) {
        complain("tasks cannot be listed: %s", c->message);
    }
    return (int)total;
}

static promise *promise_of(const char *id)
{
    for (int i = 0; i < promise_count; i++) {
        if (strcmp(promises[i].id, id) == 0) {
            return &promises[i];
        }
    }
    return NULL;
}

static promise *promised(const answer *a, ida_task_type type, int enabled, const char *title, const char *employee)
{
    const char *id = ida_json_string(a->data, "taskId");
    promise *p = id ? promise_of(id) : NULL;
    if (!id || promise_count == PROMISES_MAX) {
        complain("no task in a 200");
        return NULL;
    }
    if (p) {
        return p; /* a second offboarding moves the first */
    }
    p = &promises[promise_count++];
    *p = (promise){.type = type, .enabled = enabled};
    snprintf(p->id, sizeof p->id, "%s", id);
    snprintf(p->title, sizeof p->title, "%s", title ? title : "");
    snprintf(p->employee, sizeof p->employee, "%s", employee ? employee : "");
    return p;
}

static void set_due(json_t *body)
{
    if (roll(3) == 0) {
        ida_ctx *c = ctx();
        const char *at = ida_schedule_local(c, "Europe/Stockholm", test_now_ms + (1 + roll(300)) * MINUTE);
        ida_json_put(body, "date", apr_pstrndup(round_pool, at, 10));
        ida_json_put(body, "time", apr_pstrndup(round_pool, at + 11, 5));
    } else {
        ida_json_put(body, "time", NULL);
    }
}

static account *somebody(void)
{
    return account_count ? &accounts[roll(account_count)] : NULL;
}

static const char *some_title(void)
{
    return apr_psprintf(round_pool, "Title %d", roll(1000));
}

/* Whom the rules must have seen, so far as everything is quiet enough to say. */
static int somebody_left(const char *employee)
{
    for (int i = 0; i < account_count; i++) {
        if (strcmp(accounts[i].employee, employee) == 0 && !accounts[i].enabled) {
            return 1;
        }
    }
    return 0;
}

static void create(void)
{
    static const char *const first[] = {"Anna", "Bo", "Åsa"}, *const last[] = {"Ek", "Öberg", "Lind"}, *const rehires[] = {NULL, "new", "restore"};
    const char *employee = roll(3) ? apr_psprintf(round_pool, "E%d", roll(14)) : NULL, *title = some_title();
    const char *rehire = employee ? rehires[roll(3)] : NULL;
    int enabled = roll(6) != 0, quiet = !tasks_in("running") && !tasks_in("queued");
    json_t *body = json_object();
    ida_json_put(body, "firstname", first[roll(3)]);
    ida_json_put(body, "surname", last[roll(3)]);
    ida_json_put(body, "jobTitle", title);
    ida_json_put(body, "employeeId", employee);
    ida_json_put(body, "rehire", rehire);
    if (!enabled) {
        json_object_set_new(body, "accountEnabled", json_false());
    }
    set_due(body);
    int left = employee && somebody_left(employee);
    answer a = request("POST", "/v1/api/user", NULL, body);
    if (a.status != 200) {
        if (a.status != 403 && a.status != 409) {
            complain("a creation answered %d: %s", a.status, a.message);
        }
        return;
    }
    const json_t *restored = json_object_get(a.data, "rehire"), *groups = json_object_get(restored, "memberships"), *one;
    if (quiet && left && !rehire) {
        complain("a creation with the employeeId of a disabled account was accepted");
    }
    int enables = enabled && (!restored || groups); /* an account that had not left yet is enabled: its update leaves that alone */
    promise *p = promised(&a, restored ? IDA_USER_UPDATE : IDA_USER_CREATE, enables ? 1 : restored ? -1 : 0, title, employee);
    size_t i;
    json_array_foreach(groups, i, one) {
        if (!p) {
            break;
        }
        p->groups |= 1u << atoi(ida_json_string(one, "id") + strlen("group-"));
    }
}

static void offboard(void)
{
    account *a = somebody();
    if (!a) {
        return;
    }
    json_t *body = json_object();
    ida_json_put(body, "userPrincipalName", a->upn);
    set_due(body);
    if (!json_object_get(body, "date")) {
        ida_json_put(body, "time", "00:00");
    }
    int twin = roll(2);
    answer r = request(twin ? "POST" : "DELETE", twin ? "/v1/api/user/offboard" : "/v1/api/user", NULL, body);
    if (r.status == 200) {
        promised(&r, IDA_USER_DELETE, 0, NULL, NULL);
    } else if (r.status != 409 && r.status != 404) {
        complain("an offboarding answered %d: %s", r.status, r.message);
    }
}

static void update(void)
{
    account *a = somebody();
    if (!a) {
        return;
    }
    json_t *body = json_object();
    const char *title = roll(2) ? some_title() : NULL;
    int enabled = title && roll(2) ? -1 : roll(3) != 0;
    ida_json_put(body, "userPrincipalName", a->upn);
    ida_json_put(body, "jobTitle", title);
    if (enabled >= 0) {
        json_object_set_new(body, "accountEnabled", json_boolean(enabled));
    }
    set_due(body);
    answer r = request("PATCH", "/v1/api/user", NULL, body);
    if (r.status == 200) {
        promised(&r, IDA_USER_UPDATE, enabled, title, NULL);
    } else if (r.status != 403 && r.status != 409 && r.status != 404) {
        complain("an update answered %d: %s", r.status, r.message);
    }
}

/* Often one that was begun and waits for its next try: what it did by then nobody knows yet. */
static const char *query_of_some(void)
{
    const store_task_filter filter = {.state = "queued", .limit = 50};
    ida_task *tasks;
    int count = 0;
    int64_t total;
    if (roll(2) == 0 && !store_task_list(main_store, ctx(), company, &filter, &tasks, &count, &total)) {
        for (int i = 0; i < count; i++) {
            if (tasks[i].started_at) {
                return apr_psprintf(round_pool, "id=%s", tasks[i].id);
            }
        }
    }
    return promise_count ? apr_psprintf(round_pool, "id=%s", promises[roll(promise_count)].id) : NULL;
}

static void cancel(void)
{
    const char *query = query_of_some();
    if (query) {
        request("DELETE", "/v1/api/task", query, NULL);
    }
}

static void retry(void)
{
    const char *query = query_of_some();
    if (query) {
        request("POST", "/v1/api/task/retry", query, NULL);
    }
}

static void reschedule(void)
{
    const char *query = query_of_some();
    json_t *body = json_object();
    const char *at = ida_schedule_local(ctx(), "Europe/Stockholm", test_now_ms + roll(200) * MINUTE);
    ida_json_put(body, "date", apr_pstrndup(round_pool, at, 10));
    ida_json_put(body, "time", apr_pstrndup(round_pool, at + 11, 5));
    if (query) {
        request("PATCH", "/v1/api/task", query, body);
    } else {
        json_decref(body);
    }
}

static void dry_run(void)
{
    int before = tasks_in(NULL);
    json_t *body = json_object();
    ida_json_put(body, "firstname", "Dry");
    ida_json_put(body, "surname", "Run");
    answer a = request("POST", "/v1/api/user", "dryRun=true", body);
    if ((a.status == 200) != (json_object_get(a.data, "plan") != NULL) ||
        before != tasks_in(NULL)) {
        complain("a dry run left something behind");
    }
}

/* Somebody with other tools. */
static void join(void)
{
    account *a = somebody();
    if (a && a->enabled && !tasks_in("running")) {
        int g = roll(GROUPS);
        a->groups |= 1u << g;
        people[a - accounts].groups |= 1u << g;
        store_cache_member(cache_store, ctx(), company, IDA_DIR_CLOUD, apr_psprintf(round_pool, "group-%d", g), a->id, 0);
    }
}

/* --- the worker --- */

static void came_true(const ida_task *t)
{
    promise *p = promise_of(t->id);
    account *a = t->object_id ? by_id(t->object_id) : NULL;
    if (!p || !a) {
        complain("task %s is done, but %s", t->id, p ? "there is no account" : "nobody asked for it");
        return;
    }
    person *who = &people[a - accounts];
    p->seen_done = 1;
    p->whose = (int)(a - accounts);
    for (promise *later = p + 1; p->type == IDA_USER_UPDATE && p->enabled == 1 && later < promises + promise_count; later++) {
        if (later->seen_done && later->whose == p->whose && later->type == IDA_USER_DELETE) {
            complain("task %s enabled %s, whose offboarding %s was asked for after it and is done", p->id, a->upn, later->id);
        }
    }
    if (p->type == IDA_USER_CREATE) {
        *who = (person){.known = 1, .groups = who->groups};
    }
    if (p->type == IDA_USER_DELETE) {
        who->groups = 0;
    }
    who->enabled = p->enabled < 0 ? who->enabled : p->enabled;
    who->groups |= p->groups;
    if (*p->title) {
        strcpy(who->title, p->title);
    }
    if (*p->employee) {
        strcpy(who->employee, p->employee);
    }
}

static void look_at(const char *id)
{
    ida_task *t;
    if (!store_task_get(main_store, ctx(), company, id, 0, &t) && t->state == IDA_DONE) {
        came_true(t);
    }
}

/* Runs a task; 0 when the process died of it. */
static int run_one(ida_task *t)
{
    static char id[40];
    snprintf(id, sizeof id, "%s", t->id);
    death_in = roll(3) == 0 && faulty ? 1 + roll(30) : 0;
    if (setjmp(death)) {
        start_process();
        look_at(id);
        /* What kills a worker may keep the next one from the directory: then people decide before anybody has looked. */
        outage_rounds = roll(2) ? 2 + roll(12) : 0;
        return 0;
    }
    ran++;
    the_session->used_at = test_now_ms;
    run_task(&rn, round_pool, t, test_now_ms);
    death_in = 0;
    look_at(id);
    return 1;
}

static void work_through(void)
{
    ida_task *t;
    int braked;
    for (int i = 0; i < 40; i++) {
        if (store_queue_claim(main_store, ctx(), w.id, test_now_ms, LEASE_MS, PROBE_MS, &t, &braked)) {
            return;
        }
        run_one(t);
    }
}

/* Those whose process died, after their lease. */
static void take_over(void)
{
    const store_running *rows;
    int count = 0;
    ida_task *t;
    if (store_queue_running(main_store, ctx(), 100, &rows, &count) || !count) {
        return;
    }
    test_now_ms += LEASE_MS + 1000;
    for (int i = 0; i < count; i++) {
        if (!store_queue_take_over(main_store, ctx(), &rows[i], w.id, test_now_ms, LEASE_MS, &t)) {
            run_one(t);
        }
    }
}

static void time_passes(void)
{
    test_now_ms += (1 + roll(90)) * MINUTE;
    if (roll(3) == 0) {
        take_over();
    }
    work_through();
}

/* --- what must hold --- */

static int enabled_in_directory(void)
{
    int count = 0;
    for (int i = 0; i < account_count; i++) {
        count += accounts[i].enabled;
    }
    return count;
}

static void look_at_seats(void)
{
    int64_t used;
    if (!store_seats_used(main_store, ctx(), company, &used) && used > SEATS) {
        complain("%lld of %d seats are in use", (long long)used, SEATS);
    }
    if (enabled_in_directory() > SEATS) {
        complain("the directory has %d enabled accounts for %d seats", enabled_in_directory(), SEATS);
    }
}

/* An account that only the directory knows (its maker died, or heard no answer) has its seat and its name all the same. */
static void look_at_unseen(void)
{
    int64_t used = 0;
    int enabled = enabled_in_directory();
    for (int i = 0; i < account_count; i++) {
        int taken = 0;
        if (!store_address_taken(main_store, ctx(), company, ida_fold_address(round_pool, accounts[i].upn), NULL, &taken) && !taken) {
            complain("%s stands in the directory and its name is free, made by task %s", accounts[i].upn, accounts[i].marker);
        }
    }
    if (!store_seats_used(main_store, ctx(), company, &used) && used < enabled) {
        complain("%lld seats are counted for %d enabled accounts in the directory", (long long)used, enabled);
    }
}

static void synchronise(void)
{
    sync_run *all;
    sync_summary summary;
    ida_ctx *c = ctx();
    const sync_guard any = {.accept = 1};
    int64_t seen_at = test_now_ms;
    test_now_ms += 20 * MINUTE; /* write-throughs are no longer protected */
    ida_kind kind = sync_run_begin(&all, cache_store, c, round_pool, company, IDA_DIR_CLOUD, 1);
    for (int i = 0; !kind && i < account_count; i++) {
        sync_user user;
        shown(&accounts[i], &user);
        kind = sync_run_user(all, c, &user);
    }
    for (int g = 0; !kind && g < GROUPS; g++) {
        sync_group group = {.id = apr_psprintf(round_pool, "group-%d", g), .name = apr_psprintf(round_pool, "Group %d", g), .kind = "security"};
        sync_member *members = apr_pcalloc(round_pool, sizeof *members * (apr_size_t)(account_count + 1));
        int count = 0;
        for (int i = 0; i < account_count; i++) {
            if (accounts[i].groups & (1u << g)) {
                members[count++] = (sync_member){.id = accounts[i].id, .kind = "user"};
            }
        }
        kind = sync_run_group(all, c, &group, members, count);
    }
    kind = kind ? kind : sync_run_complete(all, c, "user");
    kind = kind ? kind : sync_run_complete(all, c, "group");
    kind = kind ? kind : sync_run_commit(all, c, "{}", NULL, &any, 1, &summary);
    if (kind) {
        complain("sync (%lld): %s", (long long)seen_at, c->message);
    }
}

/* Everybody whose tasks ended cleanly is in the cache as in the directory, without a sync having to repair it. */
static void compare_cache(int all)
{
    for (int i = 0; i < account_count; i++) {
        account *a = &accounts[i];
        ida_user *user;
        const ida_group *groups;
        int count = 0;
        unsigned bits = 0;
        if (people[i].fuzzy && !all) {
            continue;
        }
        if (store_user_by_upn(main_store, ctx(), company, a->upn, &user)) {
            complain("%s is not in the cache", a->upn);
            continue;
        }
        store_user_groups(main_store, ctx(), company, IDA_DIR_CLOUD, a->id, &groups, &count);
        for (int g = 0; g < count; g++) {
            bits |= 1u << atoi(groups[g].id + strlen("group-"));
        }
        if (user->enabled != a->enabled || strcmp(user->job_title ? user->job_title : "", a->title) != 0 ||
            strcmp(user->employee_id ? user->employee_id : "", a->employee) != 0 || bits != a->groups) {
            complain("cache and directory differ over %s: enabled %d %d, title %s %s, groups %x %x", a->upn, user->enabled, a->enabled,
                     user->job_title ? user->job_title : "", a->title, bits, a->groups);
        }
    }
}

static void compare_people(void)
{
    for (int i = 0; i < account_count; i++) {
        const account *a = &accounts[i];
        const person *p = &people[i];
        if (p->fuzzy) {
            continue;
        }
        if (!p->known || p->enabled != a->enabled || p->groups != a->groups || strcmp(p->title, a->title) != 0 ||
            strcmp(p->employee, a->employee) != 0) {
            complain("%s is not what was promised: known %d, enabled %d %d, groups %x %x, title %s %s, employee %s %s", a->upn, p->known,
                     p->enabled, a->enabled, p->groups, a->groups, p->title, a->title, p->employee, a->employee);
        }
        for (int k = 0; k < i; k++) {
            if (strcasecmp(accounts[k].upn, a->upn) == 0 || strcmp(accounts[k].marker, a->marker) == 0) {
                complain("two accounts are %s, made by %s and %s", a->upn, accounts[k].marker, a->marker);
            }
        }
    }
}

/* Tasks that stopped in the middle for good leave their person as nobody promised. */
static int find_fuzzy(void)
{
    int count = 0;
    for (int i = 0; i < promise_count; i++) {
        ida_task *t;
        if (store_task_get(main_store, ctx(), company, promises[i].id, 0, &t)) {
            complain("the promised task %s is gone", promises[i].id);
            continue;
        }
        if (t->state == IDA_QUEUED || t->state == IDA_RUNNING) {
            complain("task %s is still %s: %s", t->id, ida_task_state_text(t->state), t->error ? t->error : "");
        }
        if ((t->state == IDA_DONE) != promises[i].seen_done) {
            complain("task %s ended unseen", t->id);
        }
        if (t->state == IDA_DONE || !t->started_at) {
            continue;
        }
        for (int k = 0; k < account_count; k++) {
            if ((t->object_id && strcmp(t->object_id, accounts[k].id) == 0) || strcmp(t->id, accounts[k].marker) == 0) {
                count += !people[k].fuzzy;
                people[k].fuzzy = 1;
            }
        }
    }
    return count;
}

static int64_t count_of(const char *before, const char *after)
{
    return ask(apr_pstrcat(round_pool, before, "'", company, "'", after, NULL));
}

static int64_t counted(void)
{
    json_t *tenants = NULL, *one;
    size_t i;
    int64_t members = -1;
    store_tenant_list(main_store, ctx(), &tenants);
    json_array_foreach(tenants, i, one) {
        if (strcmp(ida_json_string(one, "companyId"), company) == 0) {
            members = json_integer_value(json_object_get(one, "enabledMembers"));
        }
    }
    return members;
}

static void end_of_life(void)
{
    faulty = outage_rounds = 0;
    for (int i = 0; i < 60 && (tasks_in("queued") || tasks_in("running")); i++) {
        apr_pool_clear(round_pool);
        test_now_ms += 8 * MINUTE * (i + 1);
        take_over();
        work_through();
    }
    int fuzzy = find_fuzzy();
    if (fuzzy * 2 > account_count + 4) {
        complain("%d of %d accounts cannot be told: the faults are too many to show anything", fuzzy, account_count);
    }
    compare_cache(0);
    compare_people();
    synchronise();
    compare_cache(1);
    look_at_seats();
    if (count_of("SELECT count(*) FROM user_lock WHERE tenant_id = ", "")) {
        complain("a person is still locked");
    }
    if (count_of("SELECT count(*) FROM task WHERE tenant_id = ", "") != promise_count) {
        complain("%lld tasks for %d promises", (long long)count_of("SELECT count(*) FROM task WHERE tenant_id = ", ""), promise_count);
    }
    if (count_of("SELECT count(*) FROM task WHERE tenant_id = ", " AND seat = 1") != count_of("SELECT seats_held FROM tenant WHERE id = ", "")) {
        complain("the count of seats held is wrong");
    }
    /* Seats and names are kept only where an account may have come of it. */
    if (count_of("SELECT count(*) FROM task t WHERE tenant_id = ", " AND state IN ('done', 'queued', 'running')"
                 " AND (seat = 1 OR EXISTS (SELECT 1 FROM reservation r WHERE r.task_id = t.id))")) {
        complain("a task that is over holds a seat or a name");
    }
    if (count_of("SELECT count(*) FROM task t WHERE tenant_id = ", " AND state IN ('failed', 'cancelled') AND started_at = 0"
                 " AND (seat = 1 OR EXISTS (SELECT 1 FROM reservation r WHERE r.task_id = t.id))")) {
        complain("a task that never began holds a seat or a name");
    }
    if (counted() != enabled_in_directory()) {
        complain("%lld seats are counted for %d enabled accounts", (long long)counted(), enabled_in_directory());
    }
}

static void life(int rounds)
{
    static void (*const operations[])(void) = {create, create, create, offboard, offboard, update, update, update, cancel, reschedule,
                                               retry, join, join, dry_run, time_passes, time_passes, time_passes, time_passes, take_over};
    account_count = promise_count = 0;
    memset(people, 0, sizeof people);
    faulty = 0;
    snprintf(company, sizeof company, "life%d", ++life_number);
    add_tenant(company, apr_psprintf(round_pool, "\"seatLimit\":%d,", SEATS));
    start_process();
    synchronise();
    faulty = 1;
    for (int i = 0; i < rounds; i++) {
        apr_pool_clear(round_pool);
        test_now_ms++;
        outage_rounds -= outage_rounds > 0;
        operations[roll((int)(sizeof operations / sizeof *operations))]();
        look_at_seats();
        look_at_unseen();
    }
    end_of_life();
}

int main(void)
{
    const char *rounds_wanted = getenv("IDADMIN_MODEL_ROUNDS"), *seed = getenv("IDADMIN_MODEL_SEED");
    int rounds = rounds_wanted ? atoi(rounds_wanted) : 300;
    setenv("TMPDIR", "/dev/shm", 0);
    setup();
    env.now = mortal_clock;
    env.monotonic = steady_clock;
    env.log = silent;
    ida_zone_init(pool);
    apr_pool_create(&round_pool, pool);
    apr_pool_create(&life_pool, pool);
    for (int i = 0; i < store_engines(); i++) {
        dsn = store_upgraded(i, &engine);
        if (!store_sqlite_path(dsn)) {
            dsn = apr_pstrcat(pool, dsn, " options='-c synchronous_commit=off'", NULL);
        }
        printf("# %s\n", engine);
        main_store = store_make(pool, dsn, DB_REQUEST);
        cache_store = store_make(pool, dsn, DB_SYNC);
        wrong = 0;
        accepted = refused_count = ran = crashes_of_requests = calls = faults_made = deaths = 0;
        dice = seed ? (unsigned)atoi(seed) : 1;
        for (int done_rounds = 0; done_rounds < rounds; done_rounds += ROUNDS_A_LIFE) {
            life(rounds - done_rounds < ROUNDS_A_LIFE ? rounds - done_rounds : ROUNDS_A_LIFE);
        }
        ok(wrong == 0, "%s: after %d rounds seats, names, tasks and directory agree", engine, rounds);
        ok(accepted > rounds / 5 && ran > rounds / 5 && deaths > rounds / 50 && faults_made > rounds / 50,
           "%ld writes accepted, %ld refused; %ld runs, %ld directory calls, %ld faults, %ld deaths (%ld of them in a request)", accepted,
           refused_count, ran, calls, faults_made, deaths, crashes_of_requests);
        store_disconnect(main_store);
        store_disconnect(cache_store);
    }
    return done();
}
