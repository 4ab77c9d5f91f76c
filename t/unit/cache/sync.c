/* Runs of syncs against a model: random adds, changes, moves, deletions, memberships, write-
 * throughs and aborts in two directories; crashes at every point of a commit; the deletion guard
 * at its limits; the protection of a write-through. On both engines. Members reported in pieces:
 * t/unit/cache/members.c. */
#include "core/cache/freshness.h"
#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/run.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"
#include "t/unit/sync_truth.h"

/* --- cache against truth --- */

static int64_t number(store *s, db_statement statement, db_args args)
{
    db_result r;
    ida_ctx *c = fresh();
    must(store_read(s, c, statement, args, &r), c, db_statements[statement].name);
    return DB_ROW(number, &r, 0)->number.number;
}

static int64_t counter(store *s, const char *name)
{
    return number(s, STMT_counter_get, DB_ARGS(DB_T(tenant), DB_T(name)));
}

static void compare(store *s, const truth *t)
{
    int users = 0, groups = 0;
    for (int i = 0; i < USERS; i++) {
        const entry *e = &t->users[i];
        db_result r;
        ida_ctx *c = fresh();
        const char *id = user_id(t, i);
        must(store_read(s, c, STMT_user_visible,
                        DB_ARGS(DB_T(tenant), DB_T(ida_directory_name(t->directory)), DB_T(id)),
                        &r),
             c, "read");
        users += e->exists;
        if (wrong(r.rows == e->exists, "%s: %d rows, exists %d", id, r.rows, e->exists) ||
            !e->exists) {
            continue;
        }
        const row_user_visible *row = DB_ROW(user_visible, &r, 0);
        wrong(same_text(row->upn.text, user_upn(t, i)), "%s: upn %s", id, row->upn.text);
        wrong(same_text(row->department.text, text_of("V%d", e->version)),
              "%s: department %s, want V%d", id, row->department.text, e->version);
        wrong(row->enabled.number == e->enabled && row->guest.number == e->guest,
              "%s: enabled %s guest %s", id, row->enabled.text, row->guest.text);
        const char *manager = e->manager >= 0 && (!by_dn(t) || t->users[e->manager].exists)
                                  ? user_id(t, e->manager)
                                  : NULL;
        if (by_dn(t) || !manager || t->users[e->manager].exists) {
            wrong(same_text(row->manager_id.text, manager), "%s: manager %s, want %s", id,
                  row->manager_id.text, manager);
        }
        const ida_group *in;
        int count, want = 0, has[GROUPS] = {0};
        must(cache_user_groups(s, c, tenant, t->directory, id, &in, &count), c, "groups");
        for (int k = 0; k < count; k++) {
            has[atoi(in[k].id + 3)] = 1;
        }
        for (int g = 0; g < GROUPS; g++) {
            want += t->groups[g].members[i];
            wrong(has[g] == t->groups[g].members[i], "%s in group %d: %d, want %d", id, g, has[g],
                  t->groups[g].members[i]);
        }
        wrong(want == count, "%s: %d groups, want %d", id, count, want);
    }
    for (int g = 0; g < GROUPS; g++) {
        ida_group *found;
        ida_ctx *c = fresh();
        ida_kind kind = cache_group_find(s, c, tenant, group_id(t, g), &found);
        int members = 0;
        groups += t->groups[g].exists;
        for (int m = 0; m < USERS + GROUPS; m++) {
            int known = !by_dn(t) || (m < USERS ? t->users[m].exists : t->groups[m - USERS].exists);
            members += t->groups[g].members[m] && known;
        }
        if (!wrong(kind == (t->groups[g].exists ? IDA_OK : IDA_NOT_FOUND), "group %d: %s", g,
                   ida_kind_code(kind)) &&
            !kind) {
            wrong(found->member_count == members, "group %d: %d members, want %d", g,
                  (int)found->member_count, members);
            wrong(same_text(found->name, text_of("Group %d.%d", g, t->groups[g].version)),
                  "group %d: name %s", g, found->name);
        }
    }
    wrong(counter(s, t->directory ? "users.onPremises" : "users.cloud") == users,
          "users.%s: %d, want %d", ida_directory_name(t->directory),
          (int)counter(s, t->directory ? "users.onPremises" : "users.cloud"), users);
    wrong(counter(s, t->directory ? "groups.onPremises" : "groups.cloud") == groups,
          "groups: want %d", groups);
}

static const cache_guard unguarded = {.accept = 1};

static void sync_now(store *s, truth *t, int how)
{
    cache_sync *run;
    cache_summary summary;
    ida_ctx *c = fresh();
    must(cache_sync_begin(&run, s, c, pool, tenant, t->directory, how == FULL), c, "begin");
    send_all(run, c, t, how);
    must(cache_sync_commit(run, c, "{\"users\":\"t\"}", "b", &unguarded, 1, &summary), c, "commit");
    settled(t);
}

/* --- the random script --- */

/* A stale page is staged, the worker writes, the run commits: the written value stays visible;
 * later, newer items apply. */
static void written_meanwhile(store *s, truth *t)
{
    int i = dice(USERS), g = dice(GROUPS), how = dice(2) ? NAMED : PRESENT;
    cache_sync *run;
    cache_summary summary;
    ida_ctx *c = fresh();
    if (!t->users[i].exists || !t->groups[g].exists) {
        return;
    }
    t->users[i].changed = t->groups[g].changed = 1;
    must(cache_sync_begin(&run, s, c, pool, tenant, t->directory, 0), c, "begin");
    send_all(run, c, t, how);
    must(cache_run_flush(run, c), c, "flush");
    test_now_ms += 1000;
    t->users[i].enabled = !t->users[i].enabled;
    must(cache_tell_enabled(s, c, tenant, t->directory, user_id(t, i), t->users[i].enabled, NULL),
         c, "enabled");
    t->groups[g].members[i] = !t->groups[g].members[i];
    must(cache_tell_member(s, c, tenant, t->directory, group_id(t, g), user_id(t, i),
                           !t->groups[g].members[i]),
         c, "member");
    must(cache_sync_commit(run, c, "{}", "b", &unguarded, 1, &summary), c, "commit");
    settled(t);
    t->users[i].changed = t->groups[g].changed =
        1; /* the directory reports its own change in the next round */
}

static void random_script(const char *dsn, const char *name)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    truth *d[2];
    for (int i = 0; i < 2; i++) {
        d[i] = apr_pcalloc(pool, sizeof *d[i]);
        d[i]->directory = (ida_directory_kind)i;
    }
    seed = 20261121;
    for (int round = 0; round < 60; round++) {
        truth *t = d[dice(2)];
        for (int n = dice(40); n >= 0; n--) {
            mutate(t);
        }
        test_now_ms += dice(3) ? MINUTE : 20 * MINUTE;
        if (dice(4) == 0) { /* an aborted run leaves nothing behind */
            cache_sync *run;
            ida_ctx *c = fresh();
            must(cache_sync_begin(&run, s, c, pool, tenant, t->directory, 1), c, "begin");
            send_all(run, c, t, FULL);
            must(cache_sync_abort(run, c, "connection lost"), c, "abort");
        }
        sync_now(s, t, t->committed ? dice(3) : FULL);
        compare(s, t);
        if (dice(2)) {
            written_meanwhile(s, t);
            compare(s, t);
            /* The cloud's next change is no contradiction; LDAP shows every change at once. */
            test_now_ms += t->directory == IDA_DIR_CLOUD ? 16 * MINUTE : 0;
        }
        int want = enabled_members(d[0], d[1]);
        wrong(counter(s, "enabled_members") == want, "round %d: enabled_members %d, want %d", round,
              (int)counter(s, "enabled_members"), want);
        wrong(counter(s, "users") == counter(s, "users.cloud") + counter(s, "users.onPremises"),
              "round %d: users is not the sum", round);
        if (unmet) {
            break;
        }
    }
    passed("%s: 60 rounds of random changes in two directories agree with the model", name);
    ida_ctx *c = fresh();
    must(cache_reset(s, c, tenant, IDA_DIR_ON_PREMISES), c, "reset");
    memset(d[1]->users, 0, sizeof d[1]->users);
    memset(d[1]->groups, 0, sizeof d[1]->groups);
    compare(s, d[1]);
    compare(s, d[0]);
    wrong(counter(s, "enabled_members") == enabled_members(d[0], d[1]),
          "enabled_members after the reset");
    cache_sync_info info;
    must(cache_sync_info_get(s, c, tenant, IDA_DIR_ON_PREMISES, &info), c, "info");
    wrong(info.full_at == 0 && info.completed_at == 0 && info.users == 0, "state after the reset");
    passed("%s: cache reset empties one directory and leaves the other", name);
}

/* --- crashes --- */

static int crash_countdown;
static int64_t crashing_monotonic(void *baton)
{
    static int64_t ms;
    (void)baton;
    if (--crash_countdown == 0) {
        _exit(9);
    }
    return ms += 200; /* every step is a transaction of its own */
}

static void crashes(const char *dsn, const char *name)
{
    truth *t = apr_pcalloc(pool, sizeof *t);
    int points = 0, finished = 0;
    t->directory = IDA_DIR_ON_PREMISES;
    seed = 7;
    for (int i = 0; i < 400; i++) {
        mutate(t);
    }
    store *s = store_make(pool, dsn, DB_SYNC);
    sync_now(s, t, FULL);
    compare(s, t);
    for (int at = 1; !finished && at < 200; at++, points++) {
        for (int i = 0; i < 30; i++) {
            mutate(t);
        }
        int how = at % 3;
        store_disconnect(s); /* a connection never crosses a fork */
        uint32_t before = seed;
        pid_t child = fork();
        if (child == 0) {
            crash_countdown = at;
            env.monotonic = crashing_monotonic;
            unmet = 0;
            sync_now(store_make(pool, dsn, DB_SYNC), t, how);
            _exit(unmet ? 1 : 0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        wrong(finished || (WIFEXITED(status) && WEXITSTATUS(status) == 9),
              "crash point %d: status %d", at, status);
        seed = before;
        if (!finished) {
            cache_sync_state state;
            ida_ctx *c = fresh();
            must(cache_sync_state_get(s, c, tenant, t->directory, &state), c, "state");
        }
        sync_now(s, t, how);
        compare(s, t);
        wrong(counter(s, "enabled_members") == enabled_members(apr_pcalloc(pool, sizeof *t), t),
              "crash point %d: enabled_members", at);
        if (unmet) {
            break;
        }
    }
    wrong(finished && points > 10, "only %d crash points", points);
    passed("%s: a process that dies at any of %d points of a run is repaired by the next one", name,
           points);
}

/* The next run completes the rest of a first load that died. Some of the members come in slices. */
static void load_first(store *s, truth *t)
{
    cache_sync *run;
    cache_summary summary;
    ida_ctx *c = fresh();
    must(cache_sync_begin(&run, s, c, pool, tenant, t->directory, 1), c, "begin");
    send_all(run, c, t, FULL);
    for (int g = 0; g < GROUPS; g++) {
        for (int m = 0; m < USERS && t->groups[g].exists; m++) {
            cache_member member;
            member_of(t, m, &member);
            if (t->groups[g].members[m]) {
                must(cache_sync_slice(run, c, group_id(t, g), &member, 1), c, "slice");
            }
        }
    }
    must(cache_sync_commit(run, c, "{\"users\":\"t\"}", "b", &unguarded, 1, &summary), c, "commit");
    settled(t);
}

static void first_load_crashes(const char *dsn, const char *name)
{
    int points = 0;
    for (int directory = 0; directory < 2; directory++) {
        truth *t = apr_pcalloc(pool, sizeof *t);
        int finished = 0;
        t->directory = (ida_directory_kind)directory;
        seed = 70 + (uint32_t)directory;
        for (int i = 0; i < 600; i++) {
            mutate(t);
        }
        store *s = store_make(pool, dsn, DB_SYNC);
        for (int at = 1; !finished && at < 400 && !unmet; at += 1 + at / 6, points++) {
            ida_ctx *c = fresh();
            must(cache_reset(s, c, tenant, t->directory), c, "reset");
            store_disconnect(s);
            pid_t child = fork();
            if (child == 0) {
                crash_countdown = at;
                env.monotonic = crashing_monotonic;
                unmet = 0;
                load_first(store_make(pool, dsn, DB_SYNC), t);
                _exit(unmet ? 1 : 0);
            }
            int status = 0;
            waitpid(child, &status, 0);
            finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
            wrong(finished || (WIFEXITED(status) && WEXITSTATUS(status) == 9),
                  "point %d: status %d", at, status);
            sync_now(s, t, FULL);
            compare(s, t);
            wrong(counter(s, "enabled_members") ==
                      enabled_members(directory ? apr_pcalloc(pool, sizeof *t) : t,
                                      directory ? t : apr_pcalloc(pool, sizeof *t)),
                  "point %d: enabled_members", at);
        }
        wrong(finished, "no run came to its end");
        ida_ctx *c = fresh();
        must(cache_reset(s, c, tenant, t->directory), c, "reset");
    }
    wrong(points > 12, "only %d points", points);
    passed("%s: a first load that dies at any of %d points is made whole by the next run", name,
           points);
}

/* --- guard --- */

static ida_kind guarded(store *s, ida_ctx *c, int users, int from, int full,
                        const cache_guard *guard, cache_summary *summary)
{
    cache_sync *run;
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, full), c, "begin");
    for (int i = 0; i < users; i++) {
        cache_user u = {.id = text_of("g%05d", i),
                        .upn = text_of("g%d@contoso.example", i),
                        .enabled = 1};
        must(i < from ? cache_sync_delete(run, c, "user", u.id) : cache_sync_user(run, c, &u), c,
             "item");
    }
    return cache_sync_commit(run, c, "{\"n\":1}", NULL, guard, 1, summary);
}

static void guard_edges(const char *dsn, const char *name)
{
    static const struct {
        int cached, deleted;
        cache_guard guard;
        int stops;
    } cases[] = {
        {100, 20, {0}, 0},
        {100, 21, {0}, 1},
        {200, 40, {0}, 0},
        {200, 41, {0}, 1},
        {3000, 500, {0}, 0},
        {3000, 501, {0}, 1},
        {30, 20, {0}, 0},
        {30, 21, {0}, 1},
        {100, 50, {50, 0, 0}, 0},
        {100, 51, {50, 0, 0}, 1},
        {100, 5, {0, 5, 0}, 0},
        {100, 6, {0, 5, 0}, 1},
        {3000, 900, {0, 900, 0}, 0},
        {10, 10, {0}, 1},
        {10, 9, {0}, 0},
        {100, 100, {0, 0, 1}, 0},
    };
    store *s = store_make(pool, dsn, DB_SYNC);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int named = 0; named < 2; named++) {
            cache_summary summary;
            ida_ctx *c = fresh();
            must(guarded(s, c, cases[i].cached, 0, 1, &unguarded, &summary), c, "load");
            wrong(counter(s, "users.cloud") == cases[i].cached, "loaded");
            c = fresh();
            cache_sync *run;
            must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, !named), c, "begin");
            for (int n = 0; n < cases[i].cached; n++) {
                const char *id = text_of("g%05d", n);
                if (n < cases[i].deleted ? named : !named) {
                    must(named ? cache_sync_delete(run, c, "user", id)
                               : cache_sync_present(run, c, "user", id),
                         c, "word");
                }
            }
            ida_kind kind = cache_sync_commit(run, c, "{\"n\":2}", NULL, &cases[i].guard, 1,
                                              &summary);
            int64_t left = counter(s, "users.cloud");
            cache_sync_state state;
            must(cache_sync_state_get(s, fresh(), tenant, IDA_DIR_CLOUD, &state), c, "state");
            const char *what = text_of("%d of %d%s", cases[i].deleted, cases[i].cached,
                                       named ? " by name" : "");
            wrong(kind == (cases[i].stops ? IDA_CONFLICT : IDA_OK) &&
                      summary.guard_stopped == cases[i].stops,
                  "%s: %s", what, ida_kind_code(kind));
            wrong(left == cases[i].cached - (cases[i].stops ? 0 : cases[i].deleted), "%s: %d left",
                  what, (int)left);
            wrong(!state.stopped == !cases[i].stops &&
                      same_text(state.tokens, cases[i].stops ? "{\"n\":1}" : "{\"n\":2}"),
                  "%s: state %s %s", what, state.stopped ? state.stopped : "-", state.tokens);
        }
    }
    passed("%s: deletion guard at its edges, by absence and by name", name);
}

/* --- what a write-through protects, in time and by stamp --- */

static void one_item(store *s, ida_ctx *c, ida_directory_kind where, cache_user u)
{
    cache_sync *run;
    cache_summary summary;
    must(cache_sync_begin(&run, s, c, pool, tenant, where, 0), c, "begin");
    if (u.id) {
        must(cache_sync_user(run, c, &u), c, "user");
    }
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
}

static int is_enabled(store *s, const char *upn)
{
    ida_user *u;
    ida_ctx *c = fresh();
    ida_kind kind = cache_user_by_upn(s, c, tenant, upn, &u);
    must(kind, c, "user");
    return kind ? -1 : u->enabled;
}

static const char *employee(store *s, const char *upn)
{
    ida_user *u;
    ida_ctx *c = fresh();
    must(cache_user_by_upn(s, c, tenant, upn, &u), c, "user");
    return u->employee_id ? u->employee_id : "";
}

/* A run read the entry before it was changed, and says so after the change was written through. */
static void read_before(store *s, ida_ctx *c, ida_directory_kind directory, const cache_user *then)
{
    cache_sync *run;
    cache_summary summary;
    must(cache_sync_begin(&run, s, c, pool, tenant, directory, 0), c, "begin");
    cache_user now = *then;
    now.employee_id = "E-77";
    now.stamp = "20261121093000.000000Z#000000#000#000000";
    must(cache_tell_user(s, c, tenant, directory, &now), c, "put");
    must(cache_sync_user(run, c, then), c, "user");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
}

/* All values of a whole write are protected, also after a single one. */
static void whole_protection(const char *dsn, const char *name)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_user u = {.id = "x2",
                    .upn = "x2@contoso.example",
                    .enabled = 1,
                    .stamp = "20261121090000.000000Z#000000#000#000000"};
    static const ida_directory_kind where[] = {IDA_DIR_CLOUD, IDA_DIR_ON_PREMISES};
    for (int i = 0; i < 2; i++) {
        one_item(s, c, where[i], u);
        read_before(s, c, where[i], &u);
        is_str(employee(s, u.upn), "E-77", "what was read before the write does not undo it");
        one_item(s, c, where[i], (cache_user){0});
        is_str(employee(s, u.upn), "E-77", "nor does the next run that says nothing of it");
        test_now_ms += 20 * MINUTE;
        read_before(s, c, where[i], &u);
        must(cache_tell_enabled(s, c, tenant, where[i], u.id, 1, NULL), c, "enable");
        cache_user again = u;
        again.job_title = "Read before";
        one_item(s, c, where[i], again);
        is_str(employee(s, u.upn), where[i] == IDA_DIR_CLOUD ? "E-77" : "",
               "a single write after it takes nothing of its protection");
        must(cache_tell_gone(s, c, tenant, where[i], u.id), c, "gone");
        test_now_ms += 20 * MINUTE;
    }
    passed("%s: protection of whole users", name);
}

static void protection(const char *dsn, const char *name)
{
    static const char older[] = "20261121090000.000000Z#000000#000#000000",
                      mine[] = "20261121093000.000000Z#000000#000#000000",
                      newer[] = "20261121093001.000000Z#000000#000#000000";
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_user u = {.id = "x1", .upn = "x1@contoso.example", .enabled = 1, .stamp = older},
               none = {0};
    test_now_ms += 60 * MINUTE;
    must(cache_tell_user(s, c, tenant, IDA_DIR_CLOUD, &u), c, "put");
    must(cache_tell_enabled(s, c, tenant, IDA_DIR_CLOUD, "x1", 0, mine), c, "disable");
    test_now_ms += MINUTE;
    one_item(s, c, IDA_DIR_CLOUD, u);
    is_int(is_enabled(s, "X1@contoso.example"), 0,
           "an older item does not win within the protection");
    test_now_ms += 13 * MINUTE;
    one_item(s, c, IDA_DIR_CLOUD, none);
    is_int(is_enabled(s, "x1@contoso.example"), 0, "nor is it remembered too early");
    test_now_ms += 2 * MINUTE;
    one_item(s, c, IDA_DIR_CLOUD, none);
    is_int(is_enabled(s, "x1@contoso.example"), 1,
           "when nothing else came within 15 minutes it holds: nothing is lost");

    must(cache_tell_enabled(s, c, tenant, IDA_DIR_CLOUD, "x1", 0, mine), c, "disable");
    u.stamp = newer;
    one_item(s, c, IDA_DIR_CLOUD, u);
    is_int(is_enabled(s, "x1@contoso.example"), 1,
           "an item newer by the directory's stamp wins at once");
    must(cache_tell_enabled(s, c, tenant, IDA_DIR_CLOUD, "x1", 0, "12"), c, "disable");
    one_item(s, c, IDA_DIR_CLOUD, u);
    is_int(is_enabled(s, "x1@contoso.example"), 0, "stamps of different forms are not compared");
    u.enabled = 0;
    one_item(s, c, IDA_DIR_CLOUD, u);
    test_now_ms += 20 * MINUTE;
    one_item(s, c, IDA_DIR_CLOUD, none);
    is_int(is_enabled(s, "x1@contoso.example"), 0,
           "a later item that agrees replaces what was kept back");

    cache_sync *run;
    cache_summary summary;
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    test_now_ms += 1;
    must(cache_sync_delete(run, c, "user", "x1"), c, "delete");
    must(cache_tell_enabled(s, c, tenant, IDA_DIR_CLOUD, "x1", 1, NULL), c, "enable");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(is_enabled(s, "x1@contoso.example"), 1,
           "a run does not delete what was written through after it began");
    test_now_ms += 1;
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    must(cache_sync_commit(run, c, "{}", NULL, &unguarded, 1, &summary), c, "commit");
    ida_user *user;
    is_int(cache_user_by_upn(s, fresh(), tenant, "x1@contoso.example", &user), IDA_NOT_FOUND,
           "the next run does");
    is_int(cache_stamp_newer("100", "99") && !cache_stamp_newer("99", "100") &&
               !cache_stamp_newer("100", "100") && !cache_stamp_newer(NULL, "1"),
           1, "update sequence numbers are numbers");
    passed("%s: protection of write-throughs", name);
}

/* A run whose number was taken by another ends without effect. */
static void overtaken(const char *dsn, const char *name)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *old, *new;
    cache_summary summary;
    cache_user u = {.id = "o1", .upn = "o1@contoso.example", .enabled = 1};
    must(cache_sync_begin(&old, s, c, pool, tenant, IDA_DIR_CLOUD, 1), c, "begin");
    must(cache_sync_user(old, c, &u), c, "user");
    must(cache_sync_begin(&new, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    is_int(cache_sync_commit(old, c, "{\"x\":1}", NULL, &unguarded, 1, &summary), IDA_CONFLICT,
           "an overtaken run is refused");
    must(cache_sync_commit(new, fresh(), "{}", NULL, NULL, 1, &summary), c, "commit");
    ida_user *user;
    is_int(cache_user_by_upn(s, fresh(), tenant, u.upn, &user), IDA_NOT_FOUND, "and left nothing");
    passed("%s: one run at a time", name);
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        random_script(dsn, name);
        crashes(store_upgraded(i, &name), name);
        first_load_crashes(store_upgraded(i, &name), name);
        dsn = store_upgraded(i, &name);
        guard_edges(dsn, name);
        protection(dsn, name);
        whole_protection(dsn, name);
        overtaken(dsn, name);
    }
    return done();
}
