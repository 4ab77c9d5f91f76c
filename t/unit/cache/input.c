/* A user's data that a run reports in parts: managers that some items omit, sign-in times on
 * their own, users who return. On both engines. */
#include "core/cache/person.h"
#include "core/cache/run.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static const char *const tenant = "contoso";
static store *s;
static cache_sync *run;

static void begin(int full)
{
    ida_ctx *c = fresh();
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, full), c, "begin");
}

/* manager NULL: omitted; "": none. */
static void tell(const char *id, const char *department, const char *manager)
{
    ida_ctx *c = fresh();
    cache_user u = {.id = id,
                    .upn = apr_pstrcat(pool, id, "@contoso.example", NULL),
                    .department = department,
                    .enabled = 1,
                    .created_at = 5000,
                    .manager_untold = manager == NULL,
                    .manager_id = manager && *manager ? manager : NULL,
                    .sign_ins_untold = 1};
    must(cache_sync_user(run, c, &u), c, id);
}

static void flush(void)
{
    ida_ctx *c = fresh();
    must(cache_run_flush(run, c), c, "flush");
}

static void commit(void)
{
    ida_ctx *c = fresh();
    cache_summary summary;
    must(cache_sync_commit(run, c, "{}", "b", NULL, 1, &summary), c, "commit");
}

static ida_user *user(const char *id)
{
    ida_ctx *c = fresh();
    ida_user *u = NULL;
    must(cache_user_by_upn(s, c, tenant, apr_pstrcat(pool, id, "@contoso.example", NULL), &u), c,
         id);
    return u;
}

static const char *manager(const char *id)
{
    db_result r;
    ida_ctx *c = fresh();
    must(store_read(s, c, STMT_user_visible, DB_ARGS(DB_T(tenant), DB_T("cloud"), DB_T(id)), &r), c,
         "row");
    return r.rows ? DB_ROW(user_visible, &r, 0)->manager_id.text : "(no row)";
}

static void managers(void)
{
    begin(1);
    tell("a", "1", "m");
    tell("a", "2", NULL); /* the same page */
    tell("b", "1", "m");
    flush();
    tell("b", "2", NULL); /* a later one */
    flush();
    tell("b", "3", NULL);
    tell("c", "1", NULL);
    tell("d", "1", "m");
    flush();
    tell("d", "2", "");
    tell("m", "1", NULL);
    commit();
    is_str(manager("a"), "m", "reported, then left out in the same page: stays");
    is_str(user("a")->department, "2", "and the rest of the last item holds");
    is_str(manager("b"), "m", "reported on an earlier page");
    is_str(user("b")->department, "3", "the last item");
    is_str(manager("c"), NULL, "not reported in a full run: none");
    is_str(manager("d"), NULL, "reported, then reported as none");

    begin(0);
    tell("a", "4", NULL);
    tell("b", "4", "c");
    flush();
    tell("b", "5", NULL);
    tell("d", "3", "a");
    commit();
    is_str(manager("a"), "m", "left out in a round of changes: stays");
    is_str(user("a")->department, "4", "with the change");
    is_str(manager("b"), "c", "changed, then left out");
    is_str(manager("d"), "a", "a new manager");
    begin(0);
    tell("b", "4", "c"); /* an older item again */
    tell("a", "4", "");
    commit();
    is_str(manager("a"), NULL, "nobody any more");
    is_str(user("b")->department, "4", "a replay is applied");

    begin(1);
    tell("a", "4", "m");
    tell("b", "4", NULL);
    tell("c", "1", NULL);
    tell("d", "3", "a");
    tell("m", "1", NULL);
    commit();
    is_str(manager("b"), NULL, "a full run that reports no manager");
    is_str(manager("d"), "a", "and one that does");
}

/* An item held back because the worker wrote meanwhile has a manager; the one after it does not. */
static void held_back(void)
{
    ida_ctx *c = fresh();
    begin(0);
    tell("a", "9", "m");
    flush();
    test_now_ms += 1000;
    must(cache_tell_enabled(s, c, tenant, IDA_DIR_CLOUD, "a", 0, NULL), c, "written through");
    commit();
    is_int(user("a")->enabled, 0, "the write-through is seen");
    begin(0);
    tell("a", "9", "d");
    commit();
    begin(0);
    tell("a", "10", NULL);
    commit();
    test_now_ms += 20 * 60000;
    begin(0);
    commit();
    is_str(manager("a"), "d", "the manager reported by an item that was held back");
    is_str(user("a")->department, "10", "the rest by the last one");
    is_int(user("a")->enabled, 1, "what the directory said last holds after the protection");
}

static void sign_ins(void)
{
    ida_ctx *c = fresh();
    const cache_sign_in_list first = {1000, 2000, 3000}, never = {0, 0, 0};
    begin(0);
    must(cache_sync_sign_ins(run, c, "a", &first), c, "sign-ins");
    must(cache_sync_sign_ins(run, c, "b", &first), c, "sign-ins");
    must(cache_sync_sign_ins(run, c, "nobody", &first), c, "sign-ins of an unknown user");
    must(cache_sync_sign_ins(run, c, "new", &first), c, "sign-ins before their user");
    tell("new", "1", NULL);
    commit();
    is_int(user("a")->last_sign_in_at, 1000, "last");
    is_int(user("a")->last_noninteractive_at, 2000, "last non-interactive");
    is_int(user("a")->last_success_at, 3000, "last success");
    is_int(user("new")->last_success_at, 3000, "of a user who came in the same run");
    begin(0);
    tell("a", "11", NULL);
    must(cache_sync_sign_ins(run, c, "b", &never), c, "sign-ins");
    commit();
    is_int(user("a")->last_success_at, 3000, "an item without them leaves them");
    is_int(user("b")->last_success_at, 0, "reported as never");
    begin(1);
    tell("a", "11", NULL);
    tell("b", "4", NULL);
    tell("c", "1", NULL);
    tell("d", "3", NULL);
    tell("m", "1", NULL);
    tell("new", "1", NULL);
    commit();
    is_int(user("a")->last_success_at, 3000, "also in a full run");
}

static void returned(void)
{
    ida_ctx *c = fresh();
    const char **ids;
    int count;
    begin(0);
    int64_t settled = cache_sync_number(run); /* a user with a row is a known one */
    tell("a", "12", NULL);
    tell("back1", "1", NULL);
    tell("back2", "1", NULL);
    must(cache_sync_returned(run, c, settled, 5001, "", 10, &ids, &count), c, "returned");
    is_int(count, 2, "users without a row");
    is_str(ids[0], "back1", "in order");
    must(cache_sync_returned(run, c, settled, 5001, "back1", 10, &ids, &count), c, "returned");
    is_int(count, 1, "page by page");
    must(cache_sync_returned(run, c, settled, 5000, "", 10, &ids, &count), c, "returned");
    is_int(count, 0, "not those who are new");
    commit();
}

int main(void)
{
    setup();
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        printf("# %s\n", name);
        s = store_make(pool, dsn, DB_SYNC);
        managers();
        held_back();
        sign_ins();
        returned();
        store_disconnect(s);
    }
    return done();
}
