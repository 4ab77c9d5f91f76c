/* Requests over REST of the model of namesakes, and their expected results by IDs only. Included
 * by t/unit/worker/namesakes.c, whose state it is part of. */
#ifndef T_UNIT_NAMESAKES_REQUESTS_H
#define T_UNIT_NAMESAKES_REQUESTS_H

static answer request(const char *method, const char *uri, const char *query, json_t *body)
{
    const char *sent = body ? ida_json_text(round_pool, ida_json_keep(round_pool, body)) : NULL;
    int reads = strcmp(method, "GET") == 0;
    answer out = rest_request(rn.sessions.first->tenant, method, uri, query, sent,
                              reads ? NULL : text("key-%d", ++keys));
    if (out.status >= 500) {
        complain("%s %s: %d %s", method, uri, out.status, out.message);
    }
    if (!reads) {
        *(out.status == 200 ? &writes : &refused) += 1;
    }
    return out;
}

static ida_task *task_of(const char *id)
{
    ida_task *t = NULL;
    if (!id || queue_task_get(main_store, ctx(), company, id, 1, &t)) {
        complain("no task %s", id ? id : "in the answer");
    }
    return t;
}

static int is_open(const ida_task *t)
{
    return t->state == IDA_QUEUED || t->state == IDA_RUNNING || t->state == IDA_ATTENTION;
}

/* Every task of the company, without a filter for a person. */
static int all_tasks(ida_task **tasks)
{
    const queue_task_filter filter = {.limit = TASKS_MAX};
    int count = 0;
    int64_t total;
    if (queue_task_list(main_store, ctx(), company, &filter, tasks, &count, &total) ||
        total > TASKS_MAX) {
        complain("the tasks cannot be listed");
    }
    return count;
}

static int is_of(const ida_task *t, const account *a)
{
    return t->object_id && strcmp(t->object_id, a->id) == 0;
}

static const ida_task *open_of(const account *a, ida_task_type type, const ida_task *tasks,
                               int count)
{
    for (int i = 0; i < count; i++) {
        if (is_of(&tasks[i], a) && tasks[i].type == type &&
            (tasks[i].state != IDA_ATTENTION || !tasks[i].started_at) && is_open(&tasks[i])) {
            return &tasks[i];
        }
    }
    return NULL;
}

/* The people that the service can know under an address: those that the cache has by ID. There
 * are several if an address passed from one account to another by hand and only the new holder
 * was written since: until a synchronisation has seen the former one, the service cannot know
 * which has it. */
typedef struct holders {
    account *all[ACCOUNTS_MAX];
    int count;
} holders;

static const holders *holders_of(const char *upn)
{
    holders *of = apr_pcalloc(round_pool, sizeof *of);
    for (int i = 0; i < account_count; i++) {
        ida_user *user;
        if (!cache_user_details(main_store, ctx(), company, accounts[i].id, &user, NULL) &&
            strcasecmp(user->upn, upn) == 0) {
            of->all[of->count++] = &accounts[i];
        }
    }
    return of;
}

/* The address means two people: several accounts have it, or an open task that was requested
 * under it belongs to another account than its only holder. */
static int is_ambiguous(const char *upn, const holders *of, const ida_task *tasks, int count)
{
    const account *a = of->all[0];
    if (of->count != 1) {
        return of->count > 1;
    }
    for (int i = 0; i < count; i++) {
        if (is_open(&tasks[i]) && tasks[i].object_id && !is_of(&tasks[i], a) &&
            strcasecmp(tasks[i].upn, upn) == 0) {
            return 1;
        }
    }
    return 0;
}

static const char *some_name(void)
{
    static const char *const names[NAMES] = {"ann.berg", "ann.berg2", "bo.ek", "eva.lind",
                                             "anna.new"};
    return text("%s@corp.example", names[roll(NAMES)]);
}

static account *some_account(void)
{
    return account_count ? &accounts[roll(account_count)] : NULL;
}

static void set_due(json_t *body)
{
    if (roll(3)) {
        put_due(body, "UTC", test_now_ms + (1 + roll(600)) * MINUTE);
    } else {
        ida_json_put(body, "time", "00:00");
    }
}

static void hire(void)
{
    static const char *const first[] = {"Ann", "Bo", "Eva"}, *const last[] = {"Berg", "Ek", "Lind"};
    int who = roll(3);
    if (account_count >= PEOPLE) {
        return;
    }
    json_t *body = json_object();
    ida_json_put(body, "firstname", first[who]);
    ida_json_put(body, "surname", last[who]);
    if (roll(3) == 0) {
        set_due(body);
    }
    answer a = request("POST", "/v1/api/user", NULL, body);
    if (a.status != 200) {
        complain("a hire: %d %s", a.status, a.message);
    }
}

/* A write by address or ID; the expected result by IDs only. */
static void change(int leaves)
{
    account *of = some_account();
    int by_id = of && roll(3) == 0, enabled = leaves ? -1 : roll(3) - 1, count;
    const char *named = by_id ? of->id : some_name();
    ida_task *tasks;
    ida_user *user;
    json_t *body = json_object();
    const holders *known = holders_of(named);
    of = !by_id                                                                ? known->all[0]
         : cache_user_details(main_store, ctx(), company, of->id, &user, NULL) ? NULL
                                                                               : of;
    count = all_tasks(&tasks);
    const ida_task *leaving = of ? open_of(of, IDA_USER_DELETE, tasks, count) : NULL;
    int strange = !by_id && is_ambiguous(named, known, tasks, count);
    ida_json_put(body, "userPrincipalName", named);
    if (!leaves) {
        ida_json_put(body, "jobTitle", text("Title %d", roll(1000)));
    }
    if (enabled >= 0) {
        json_object_set_new(body, "accountEnabled", json_boolean(enabled));
    }
    set_due(body);
    answer a = request(leaves ? "DELETE" : "PATCH", "/v1/api/user", NULL, body);
    if (a.status != 200) {
        int expected = !of ? 404 : strange ? 409 : leaving && enabled == 1 ? 409 : 0;
        both += strange;
        if (a.status != expected) {
            complain("%s of %s: %d, not %d: %s", leaves ? "leave" : "change", named, a.status,
                     expected, a.message);
        }
        for (int i = 0; strange && i < known->count; i++) {
            if (!strstr(a.message, known->all[i]->id)) {
                complain("it does not name %s: %s", known->all[i]->id, a.message);
            }
        }
        shared += strange && known->count > 1;
        return;
    }
    const ida_task *t = task_of(a.task);
    if (!of || strange || !t || !is_of(t, of)) {
        complain("%s of %s, who is %s, made task %s of %s", leaves ? "leave" : "change", named,
                 !of       ? "nobody"
                 : strange ? "not only one"
                           : of->id,
                 a.task, t && t->object_id ? t->object_id : "nobody");
        return;
    }
    if (leaving && leaves && strcmp(leaving->id, a.task) != 0) {
        complain("a second leave of %s: %s beside %s", of->id, a.task, leaving->id);
    }
    if (leaving && enabled == 1) {
        complain("%s was enabled, whose leave %s is queued", of->id, leaving->id);
    }
    if (leaving && leaves) {
        moved++;
        if (strcasecmp(t->upn, by_id ? t->upn : named) != 0) {
            complain("the moved task %s is shown as of %s, not %s", t->id, t->upn, named);
        }
    }
}

static void leave(void)
{
    change(1);
}

static void update(void)
{
    change(0);
}

static void change_task(void)
{
    ida_task *tasks;
    int count = all_tasks(&tasks), verb = roll(4);
    if (!count) {
        return;
    }
    const ida_task *t = &tasks[roll(count)];
    ida_user *user;
    int known = t->object_id &&
                !cache_user_details(main_store, ctx(), company, t->object_id, &user, NULL);
    const account *other = t->object_id && !known ? holders_of(t->upn)->all[0] : NULL;
    json_t *body = verb == 0 ? json_object() : NULL;
    if (body) {
        put_due(body, "UTC", test_now_ms + roll(400) * MINUTE);
    }
    answer a = request(verb == 0   ? "PATCH"
                       : verb == 1 ? "DELETE"
                                   : "POST",
                       verb > 1 ? "/v1/api/task/retry" : "/v1/api/task", text("id=%s", t->id),
                       body);
    if (a.status != 200 || verb == 1) {
        return;
    }
    const ida_task *now = task_of(t->id);
    if (other) {
        complain("task %s of %s, who is gone, was changed, and its address is that of %s", t->id,
                 t->object_id, other->id);
    } else if (known && now && strcmp(now->upn, user->upn) != 0) {
        complain("task %s of %s is still shown as of %s, not %s", t->id, t->object_id, now->upn,
                 user->upn);
    }
}

#endif
