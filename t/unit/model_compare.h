/* The comparisons of t/unit/worker/model.c: cache and people against the model, and the
 * service's own counts. Part of that file, separated because of its size. */
#ifndef T_UNIT_MODEL_COMPARE_H
#define T_UNIT_MODEL_COMPARE_H

/* Everyone whose tasks ended cleanly is in the cache as in the directory, without a sync having
 * to repair it. */
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
        if (cache_user_by_upn(main_store, ctx(), company, a->upn, &user)) {
            complain("%s is not in the cache", a->upn);
            continue;
        }
        cache_user_groups(main_store, ctx(), company, IDA_DIR_CLOUD, a->id, &groups, &count);
        for (int g = 0; g < count; g++) {
            bits |= 1u << atoi(groups[g].id + strlen("group-"));
        }
        if (user->enabled != a->enabled ||
            strcmp(user->job_title ? user->job_title : "", a->title) != 0 ||
            strcmp(user->employee_id ? user->employee_id : "", a->employee) != 0 ||
            bits != a->groups) {
            complain("cache and directory differ over %s: enabled %d %d, title %s %s, groups %x %x",
                     a->upn, user->enabled, a->enabled, user->job_title ? user->job_title : "",
                     a->title, bits, a->groups);
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
        if (!p->known || p->enabled != a->enabled || p->groups != a->groups ||
            strcmp(p->title, a->title) != 0 || strcmp(p->employee, a->employee) != 0) {
            complain("%s is not what was promised: known %d, enabled %d %d, groups %x %x, title %s "
                     "%s, employee %s %s",
                     a->upn, p->known, p->enabled, a->enabled, p->groups, a->groups, p->title,
                     a->title, p->employee, a->employee);
        }
        for (int k = 0; k < i; k++) {
            if (strcasecmp(accounts[k].upn, a->upn) == 0 ||
                strcmp(accounts[k].marker, a->marker) == 0) {
                complain("two accounts are %s, made by %s and %s", a->upn, accounts[k].marker,
                         a->marker);
            }
        }
    }
}

/* The result for a person is undefined after a task that stopped in the middle for good. */
static int find_fuzzy(void)
{
    int count = 0;
    for (int i = 0; i < promise_count; i++) {
        ida_task *t;
        if (queue_task_get(main_store, ctx(), company, promises[i].id, 0, &t)) {
            complain("the promised task %s is gone", promises[i].id);
            continue;
        }
        if (t->state == IDA_QUEUED || t->state == IDA_RUNNING) {
            complain("task %s is still %s: %s", t->id, ida_task_state_text(t->state),
                     t->error ? t->error : "");
        }
        if ((t->state == IDA_DONE) != promises[i].seen_done) {
            complain("task %s ended unseen", t->id);
        }
        if (t->state == IDA_DONE || !t->started_at) {
            continue;
        }
        for (int k = 0; k < account_count; k++) {
            if ((t->object_id && strcmp(t->object_id, accounts[k].id) == 0) ||
                strcmp(t->id, accounts[k].marker) == 0) {
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
    json_array_foreach (tenants, i, one) {
        if (strcmp(ida_json_string(one, "companyId"), company) == 0) {
            members = json_integer_value(json_object_get(one, "enabledMembers"));
        }
    }
    return members;
}

#endif
