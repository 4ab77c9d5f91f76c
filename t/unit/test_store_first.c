/* How long a first load keeps others from writing: by steps that each end their transaction when time is up, however much of one
 * group or one buffer there is. The write gate counts who leaves it, so that is asked of SQLite; what was loaded of both engines.
 */
#include <stdatomic.h>

#include "core/store_cache.h"
#include "core/store_user.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

enum { USERS = 2500, MEMBERS = 12000, GROUPS = 120 };

static const char *const tenant = "contoso";
static int failures;
static int64_t clock_step; /* ms that each look at the clock takes */

static int64_t walking_clock(void *baton)
{
    static _Atomic int64_t ms;
    (void)baton;
    return ms += clock_step;
}

static void must(ida_kind kind, const ida_ctx *c, const char *what)
{
    if (kind) {
        failures++;
        printf("# %s: %s\n", what, c->message ? c->message : ida_kind_text(kind));
    }
}

/* How often the gate of the cache was left. */
static uint32_t departures(const char *dsn)
{
    uint32_t count = 0;
    const char *path = strchr(dsn, ':') + 1, *dot = strrchr(path, '.');
    FILE *f = fopen(apr_psprintf(pool, "%.*s-cache%s.gate", (int)(dot - path), path, dot), "r");
    if (!f || fread(&count, sizeof count, 1, f) != 1) {
        failures++;
    }
    if (f) {
        fclose(f);
    }
    return count;
}

/* Everything in one buffer: people; a group with its list, told once more with a shorter one; one whose members come in a single
 * slice; one told and gone again; small ones. */
static void load(const char *dsn, sync_summary *summary)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    sync_run *run;
    sync_member *list = apr_pcalloc(pool, MEMBERS * sizeof *list);
    must(store_cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
    must(sync_run_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 1), c, "begin");
    must(run->at.first ? IDA_OK : IDA_CONFLICT, c, "a first load");
    run->first_bytes = 1 << 30;
    for (int i = 0; i < USERS; i++) {
        const char *id = apr_psprintf(pool, "u%d", i);
        sync_user u = {.id = id,
                       .upn = apr_psprintf(pool, "%s@contoso.example", id),
                       .display_name = apr_psprintf(pool, "Person %d", i * 7919 % USERS),
                       .enabled = 1};
        must(sync_run_user(run, c, &u), c, "user");
    }
    for (int i = 0; i < MEMBERS; i++) {
        list[i] = (sync_member){.id = apr_psprintf(pool, "u%d", i), .kind = "user"};
    }
    sync_group listed = {.id = "listed", .name = "Listed", .kind = "security"},
               sliced = {.id = "sliced", .name = "Sliced", .kind = "security"},
               gone = {.id = "gone", .name = "Gone", .kind = "security"};
    must(sync_run_group(run, c, &listed, list, MEMBERS), c, "group");
    must(sync_run_group(run, c, &gone, list, MEMBERS), c, "group");
    must(sync_run_group(run, c, &sliced, NULL, 0), c, "group");
    for (int i = 0; i < GROUPS; i++) {
        sync_group small = {.id = apr_psprintf(pool, "g%d", i), .name = "Small", .kind = "security"};
        must(sync_run_group(run, c, &small, list + i, 2), c, "group");
    }
    must(sync_run_flush(run, c), c, "flush");
    must(sync_run_group(run, c, &listed, list, MEMBERS - 1), c, "group again");
    must(sync_run_delete(run, c, "group", "gone"), c, "group gone");
    must(sync_run_slice(run, c, "sliced", list, MEMBERS), c, "slice");
    must(sync_run_commit(run, c, "{}", NULL, NULL, 1, summary), c, "commit");
    store_disconnect(s);
}

static int64_t members_of(const char *dsn, const char *id)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    ida_group *found;
    ida_kind kind = store_group_find(s, c, tenant, id, &found);
    int64_t count = kind ? -1 : found->member_count;
    store_disconnect(s);
    return count;
}

static uint32_t load_and_look(const char *dsn, const char *name, int is_file)
{
    sync_summary summary;
    uint32_t before = is_file ? departures(dsn) : 0;
    load(dsn, &summary);
    uint32_t after = is_file ? departures(dsn) : 0;
    is_int(summary.users, USERS, "people");
    is_int(summary.groups, GROUPS + 2, "groups");
    is_int(members_of(dsn, "listed"), MEMBERS - 1, "the last list of a group holds");
    is_int(members_of(dsn, "sliced"), MEMBERS, "a single large slice is taken whole");
    is_int(members_of(dsn, "gone"), -1, "a group that went is gone");
    ok(!failures, "%s: a first load in which a look at the clock takes %d ms", name, (int)clock_step);
    return after - before;
}

int main(void)
{
    setup();
    env.monotonic = walking_clock;
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        int is_file = strncmp(dsn, "sqlite3:", 8) == 0;
        clock_step = CACHE_FIRST_BUDGET_MS;
        uint32_t slow = load_and_look(dsn, name, is_file);
        clock_step = 0;
        uint32_t quick = load_and_look(dsn, name, is_file);
        if (is_file) {
            /* Steps of at most 500 people and 5,000 members: lists and slices three times, dropped lists twice. */
            uint32_t steps = USERS / 500 + 3 * ((MEMBERS + 4999) / 5000) + 2 * (MEMBERS / 5000);
            ok(slow >= quick + steps - 4, "when time is up after each step, each gives the gate back");
            printf("# gate left %u times, %u when time stands still, %u steps at least\n", slow, quick, steps);
        }
    }
    return done();
}
