/* Early ends of a write-through's protection: a run, or a single read, that shows the written
 * value; and memberships that a run or the worker saw gone. On both engines. */
#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/recheck.h"
#include "core/cache/run.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define MINUTE 60000

static const char *const tenant = "contoso";

static void item_in(store *s, ida_directory_kind where, const cache_user *u)
{
    cache_sync *run;
    cache_summary summary;
    ida_ctx *c = fresh();
    must(cache_sync_begin(&run, s, c, pool, tenant, where, 0), c, "begin");
    must(cache_sync_user(run, c, u), c, "user");
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

static int64_t written_at(store *s, const char *upn)
{
    ida_user *u = NULL;
    ida_ctx *c = fresh();
    must(cache_user_by_upn(s, c, tenant, upn, &u), c, "user");
    return u ? u->written_at : -1;
}

static int doubts(store *s)
{
    const cache_recheck *rows;
    int count = -1;
    ida_ctx *c = fresh();
    must(cache_rechecks(s, c, tenant, IDA_DIR_CLOUD, 10, &rows, &count), c, "doubts");
    return count;
}

/* One read that shows the written value ends the protection; items that contradict earlier are
 * checked one by one. */
static void shown(store *s)
{
    cache_user u = {.id = "y1", .upn = "y1@contoso.example", .enabled = 1};
    ida_ctx *c = fresh();
    test_now_ms += 60 * MINUTE;
    must(cache_tell_user(s, c, tenant, IDA_DIR_CLOUD, &u), c, "put");
    must(cache_tell_enabled(s, c, tenant, IDA_DIR_CLOUD, "y1", 0, NULL), c, "disable");
    is_int(written_at(s, "y1@contoso.example"), test_now_ms, "what the worker wrote is as of then");
    test_now_ms += 1000;
    u.enabled = 0;
    item_in(s, IDA_DIR_CLOUD, &u);
    is_int(written_at(s, "y1@contoso.example"), 0, "until a run has shown it");
    u.enabled = 1;
    item_in(s, IDA_DIR_CLOUD, &u);
    is_int(is_enabled(s, "y1@contoso.example"), 1,
           "a change by hand is reported once a run has shown what was written");
    must(cache_tell_enabled(s, c, tenant, IDA_DIR_CLOUD, "y1", 0, NULL), c, "disable");
    test_now_ms += 1000;
    item_in(s, IDA_DIR_CLOUD, &u);
    is_int(doubts(s), 1, "what contradicts before that is to be looked at");
    must(cache_tell_seen(s, c, tenant, IDA_DIR_CLOUD, &u), c, "look");
    is_int(is_enabled(s, "y1@contoso.example"), 0,
           "a look that denies it may be late while no read has shown it");
    test_now_ms += 9999;
    must(cache_tell_seen(s, c, tenant, IDA_DIR_CLOUD, &u), c, "look");
    is_int(is_enabled(s, "y1@contoso.example"), 0, "so may the next one of soon after");
    test_now_ms++;
    must(cache_tell_seen(s, c, tenant, IDA_DIR_CLOUD, &u), c, "look");
    is_int(is_enabled(s, "y1@contoso.example"), 1, "two of ten seconds apart are believed");
    is_int(doubts(s), 0, "and leave no doubt");
    must(cache_tell_enabled(s, c, tenant, IDA_DIR_CLOUD, "y1", 0, NULL), c, "disable");
    must(cache_tell_seen(s, c, tenant, IDA_DIR_CLOUD, &u), c, "look");
    is_int(is_enabled(s, "y1@contoso.example"), 0, "not those of before the last write");
    test_now_ms += 1000;
    item_in(s, IDA_DIR_CLOUD, &u);
    u.enabled = 0;
    must(cache_tell_seen(s, c, tenant, IDA_DIR_CLOUD, &u), c, "look");
    is_int(doubts(s), 0, "a look that shows it settles the doubt");
    u.enabled = 1;
    item_in(s, IDA_DIR_CLOUD, &u);
    is_int(is_enabled(s, "y1@contoso.example"), 0, "a late answer does not win after that");
    must(cache_tell_seen(s, c, tenant, IDA_DIR_CLOUD, &u), c, "look");
    is_int(is_enabled(s, "y1@contoso.example"), 1, "a look that denies it does");
    is_int(doubts(s), 0, "and nothing is left in doubt");

    u = (cache_user){.id = "z1", .upn = "z1@contoso.example", .enabled = 1, .stamp = "10"};
    must(cache_tell_user(s, c, tenant, IDA_DIR_ON_PREMISES, &u), c, "put");
    must(cache_tell_enabled(s, c, tenant, IDA_DIR_ON_PREMISES, "z1", 0, "12"), c, "disable");
    item_in(s, IDA_DIR_ON_PREMISES, &u);
    is_int(is_enabled(s, "z1@contoso.example"), 0, "LDAP: an item of before the write is late");
    u.stamp = NULL;
    item_in(s, IDA_DIR_ON_PREMISES, &u);
    is_int(is_enabled(s, "z1@contoso.example"), 1, "any other one holds at once");
}

static int members(store *s, const char *id)
{
    ida_group *g = NULL;
    ida_ctx *c = fresh();
    must(cache_group_find(s, c, tenant, id, &g), c, "group");
    return g ? (int)g->member_count : -1;
}

static void group_in(store *s, const char *member)
{
    const cache_group g = {.id = "lost-g", .name = "Lost", .kind = "security"};
    const cache_member m = {.id = member, .kind = "user"};
    cache_sync *run;
    cache_summary summary;
    ida_ctx *c = fresh();
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    must(cache_sync_group(run, c, &g, &m, member != NULL), c, "group");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
}

static int lost(store *s, int64_t *at)
{
    const cache_lost *rows;
    int count = 0;
    ida_ctx *c = fresh();
    must(cache_lost_members(s, c, tenant, IDA_DIR_CLOUD, 10, &rows, &count), c, "lost");
    *at = count ? rows[0].at : 0;
    return count;
}

static void group_on(store *s, const char *member, int beside)
{
    const cache_group g = {.id = "late-g", .name = "Late", .kind = "security"};
    const cache_member m = {.id = member, .kind = "user"};
    cache_sync *run;
    cache_summary summary;
    ida_ctx *c = fresh();
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_ON_PREMISES, 0), c, "begin");
    must(cache_sync_group(run, c, &g, &m, member != NULL), c, "group");
    must(cache_run_flush(run, c), c, "flush");
    if (beside) { /* the worker writes while the run is in progress */
        test_now_ms += 10;
        must(cache_tell_member(s, c, tenant, IDA_DIR_ON_PREMISES, "late-g", "late-u", 0), c, "add");
    }
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
}

static int lost_there(store *s)
{
    const cache_lost *rows;
    int count = -1;
    ida_ctx *c = fresh();
    must(cache_lost_members(s, c, tenant, IDA_DIR_ON_PREMISES, 10, &rows, &count), c, "lost");
    return count;
}

/* LDAP: a membership that a run could not know yet does not count as gone. */
static void not_lost(store *s)
{
    cache_user u = {.id = "late-u", .upn = "late@contoso.example", .enabled = 1};
    test_now_ms += 60 * MINUTE;
    item_in(s, IDA_DIR_ON_PREMISES, &u);
    group_on(s, NULL, 0);
    test_now_ms += 1000;
    group_on(s, NULL, 1);
    is_int(members(s, "late-g"), 1, "what was written while a run was under way stands");
    test_now_ms += 1000;
    group_on(s, "late-u", 0);
    is_int(members(s, "late-g"), 1, "the next run shows it");
    is_int(lost_there(s), 0, "and nothing was lost in between");
    test_now_ms += 1000;
    group_on(s, NULL, 0);
    is_int(members(s, "late-g"), 0, "what a later run does not find is gone");
    is_int(lost_there(s), 1, "and lost");
}

/* Memberships that are seen gone are reported once, with the time up to which they may have
 * existed. */
static void memberships_lost(store *s)
{
    cache_user u = {.id = "lost-u", .upn = "lost@contoso.example", .enabled = 1};
    ida_ctx *c = fresh();
    int64_t at, begun;
    test_now_ms += 60 * MINUTE;
    item_in(s, IDA_DIR_CLOUD, &u);
    group_in(s, "lost-u");
    is_int(lost(s, &at), 0, "nothing is lost when members come");
    begun = test_now_ms += MINUTE;
    group_in(s, NULL);
    is_int(lost(s, &at), 1, "a member that a run does not find is lost");
    is_int(at, begun, "as of the beginning of that run");
    must(cache_lost_noted(s, c, tenant, IDA_DIR_CLOUD,
                          ida_printf(pool, "[[\"lost-u\",\"lost-g\",\"%lld\"]]", (long long)at)),
         c, "noted");
    is_int(lost(s, &at), 0, "until it is noted");
    must(cache_tell_member(s, c, tenant, IDA_DIR_CLOUD, "lost-g", "lost-u", 0), c, "add");
    is_int(lost(s, &at), 0, "one that the worker adds is not lost");
    test_now_ms += MINUTE;
    must(cache_tell_member(s, c, tenant, IDA_DIR_CLOUD, "lost-g", "lost-u", 1), c, "remove");
    is_int(lost(s, &at), 1, "one that the worker removes is");
    test_now_ms += 1000;
    group_in(s, NULL);
    group_in(s, "lost-u");
    is_int(members(s, "lost-g"), 1, "a list that shows the removal ends its protection");
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        printf("# %s\n", name);
        store *s = store_make(pool, dsn, DB_SYNC);
        shown(s);
        memberships_lost(s);
        not_lost(s);
    }
    return done();
}
