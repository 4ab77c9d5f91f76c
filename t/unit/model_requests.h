/* Random requests over REST to the model's company, and what each 200 promised. Requests die
 * like the worker does and are then repeated under their key. Included by t/unit/worker/model.c,
 * whose state it is part of. */
#ifndef T_UNIT_MODEL_REQUESTS_H
#define T_UNIT_MODEL_REQUESTS_H

static answer request_once(const char *method, const char *uri, const char *query, const char *body,
                           const char *key)
{
    ida_tenant *tenant;
    ida_ctx *c = ctx();
    if (store_tenant_get(main_store, c, company, &tenant, NULL)) {
        complain("tenant: %s", c->message);
        return (answer){0};
    }
    return rest_request(tenant, method, uri, query, body, key);
}

/* A request that died is repeated under the same key, as a client would. */
static answer ask_twice(const char *method, const char *uri, const char *query, const char *text,
                        const char *key, volatile int *died)
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
        complain("%s %s answered %d%s: %s", method, uri, a.status, a.replayed ? " replayed" : "",
                 a.message ? a.message : "");
    }
    *(a.status == 200 ? &accepted : &refused_count) += 1;
    return a;
}

static int tasks_in(const char *state)
{
    const queue_task_filter filter = {.state = state, .limit = 1};
    ida_task *tasks;
    int count;
    int64_t total = -1;
    ida_ctx *c = ctx();
    if (queue_task_list(main_store, c, company, &filter, &tasks, &count, &total)) {
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

static promise *promised(const answer *a, ida_task_type type, int enabled, const char *title,
                         const char *employee)
{
    const char *id = a->task;
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
        put_due(body, "Europe/Stockholm", test_now_ms + (1 + roll(300)) * MINUTE);
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

/* The people that the rules must have seen: those that the cache has. It misses the result of a
 * task that was cancelled before anyone could read it. */
static int somebody_left(const char *employee)
{
    for (int i = 0; i < account_count; i++) {
        ida_user *user;
        if (strcmp(accounts[i].employee, employee) == 0 && !accounts[i].enabled &&
            !cache_user_by_upn(main_store, ctx(), company, accounts[i].upn, &user) &&
            !user->enabled) {
            return 1;
        }
    }
    return 0;
}

static void create(void)
{
    static const char *const first[] = {"Anna", "Bo", "Åsa"},
                             *const last[] = {"Ek", "Öberg", "Lind"},
                             *const rehires[] = {NULL, "new", "restore"};
    const char *employee = roll(3) ? apr_psprintf(round_pool, "E%d", roll(14)) : NULL,
               *title = some_title();
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
    const json_t *restored = json_object_get(a.data, "rehire"),
                 *groups = json_object_get(restored, "memberships"), *one;
    if (quiet && left && !rehire) {
        complain("a creation with the employeeId of a disabled account was accepted");
    }
    int enables =
        enabled &&
        (!restored ||
         groups); /* an account that has not left yet is enabled: its update does not change that */
    promise *p = promised(&a, restored ? IDA_USER_UPDATE : IDA_USER_CREATE,
                          enables    ? 1
                          : restored ? -1
                                     : 0,
                          title, employee);
    size_t i;
    json_array_foreach (groups, i, one) {
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
    answer r = request(twin ? "POST" : "DELETE", twin ? "/v1/api/user/offboard" : "/v1/api/user",
                       NULL, body);
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
    int enabled = title && roll(2) ? -1 : !a->enabled || roll(3) != 0;
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

/* Often a task that was begun and waits for its next attempt: what it has done so far is
 * unknown. */
static const char *query_of_some(void)
{
    const queue_task_filter filter = {.state = "queued", .limit = 50};
    ida_task *tasks;
    int count = 0;
    int64_t total;
    if (roll(2) == 0 &&
        !queue_task_list(main_store, ctx(), company, &filter, &tasks, &count, &total)) {
        for (int i = 0; i < count; i++) {
            if (tasks[i].started_at) {
                return apr_psprintf(round_pool, "id=%s", tasks[i].id);
            }
        }
    }
    return promise_count ? apr_psprintf(round_pool, "id=%s", promises[roll(promise_count)].id)
                         : NULL;
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
    put_due(body, "Europe/Stockholm", test_now_ms + roll(200) * MINUTE);
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

/* A person created with other tools. */
static void join(void)
{
    account *a = somebody();
    if (a && a->enabled && !tasks_in("running")) {
        int g = roll(GROUPS);
        a->groups |= 1u << g;
        people[a - accounts].groups |= 1u << g;
        cache_tell_member(cache_store, ctx(), company, IDA_DIR_CLOUD,
                          apr_psprintf(round_pool, "group-%d", g), a->id, 0);
    }
}

#endif
