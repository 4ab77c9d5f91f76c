/* A month around each change of daylight saving, and an update of the zone data in the middle of
 * the second: every task begins at the time that the C library finds for its wall time under the
 * rules of that day. The clock is the test's. */
#include "t/unit/queue_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#include <sys/stat.h>
#include <time.h>

#include "core/queue/zone_changes.h"
#include "core/zone/schedule.h"
#include "core/zone/zone.h"

#define SYSTEM "/usr/share/zoneinfo/"
#define DAY (24 * HOUR)
#define DAYS 31

static const char *const zones[] = {"Kept", "Changed"};
static const char *const times[] = {"00:00", "02:00", "02:30", "03:00", "17:00"};
#define TIMES ((int)(sizeof times / sizeof *times))
#define TASKS_MAX (2 * 2 * DAYS * TIMES)

typedef struct promise {
    char id[40];
    const char *zone;
    char date[16];
    const char *time;
    int64_t fired;
} promise;

static char dir[] = "/tmp/idadmin-due-XXXXXX";
static promise promises[TASKS_MAX];
static int count;

/* `name` below the test's directory becomes a copy of the system's zone `from`. */
static void install(const char *from, const char *name)
{
    char bytes[65536], path[256], fresh_path[300];
    snprintf(path, sizeof path, SYSTEM "%s", from);
    FILE *in = fopen(path, "rb");
    size_t len = in ? fread(bytes, 1, sizeof bytes, in) : 0;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    snprintf(fresh_path, sizeof fresh_path, "%s.new", path);
    FILE *out = fopen(fresh_path, "wb");
    ok(in && len > 100 && out && fwrite(bytes, 1, len, out) == len, "%s now has the rules of %s",
       name, from);
    fclose(in);
    fclose(out);
    rename(fresh_path, path);
}

/* The first time at which a wall clock shows that time or, if it was skipped, a later one. */
static int64_t by_the_library(const promise *p)
{
    char setting[300];
    int year, month, day, hour, minute;
    sscanf(p->date, "%d-%d-%d", &year, &month, &day);
    sscanf(p->time, "%d:%d", &hour, &minute);
    snprintf(setting, sizeof setting, ":%s/%s", dir, p->zone);
    setenv("TZ", setting, 1);
    tzset();
    struct tm utc = {.tm_year = year - 1900,
                     .tm_mon = month - 1,
                     .tm_mday = day,
                     .tm_hour = hour,
                     .tm_min = minute},
              local;
    int64_t wanted = timegm(&utc);
    for (time_t t = wanted - 14 * 3600; t < wanted + 14 * 3600; t += 60) {
        localtime_r(&t, &local);
        if (timegm(&local) >= wanted) {
            return (int64_t)t * 1000;
        }
    }
    return 0;
}

/* Never stands still: the files are checked again at every step. */
static int64_t passing(void *baton)
{
    static int64_t now;
    (void)baton;
    return now += 2000;
}

/* In one transaction: the test is about times, not commits. */
static ida_kind queue_month(store *s, ida_ctx *unused, void *baton)
{
    int64_t first_day = *(int64_t *)baton;
    (void)unused;
    for (int day = 0; day < DAYS; day++) {
        for (int i = 0; i < TIMES * 2; i++) {
            promise *p = &promises[count];
            time_t at = (time_t)((first_day + day * DAY) / 1000);
            struct tm utc;
            zone_due due;
            ida_ctx *c = fresh();
            strftime(p->date, sizeof p->date, "%Y-%m-%d", gmtime_r(&at, &utc));
            p->zone = zones[i % 2];
            p->time = times[i / 2];
            if (zone_schedule(c, ZONE_DUE_UPDATE, p->zone, p->date, p->time, &due) || c->faults) {
                ok(0, "schedule %s %s %s: %s", p->date, p->time, p->zone,
                   c->message ? c->message : "fault");
                continue;
            }
            ida_task *t = make_task(c, "contoso", IDA_USER_UPDATE,
                                    apr_psprintf(c->pool, "person%d@corp.example", count),
                                    due.at_ms);
            t->wall_date = due.date;
            t->wall_time = due.time;
            t->zone = due.zone;
            if (queue_task_insert(s, c, t)) {
                ok(0, "insert: %s", c->message);
            }
            strcpy(p->id, t->id);
            count++;
        }
    }
    return IDA_OK;
}

static void fired(const char *id)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(promises[i].id, id) == 0) {
            promises[i].fired = test_now_ms;
        }
    }
}

static ida_kind carry_out(store *s, ida_ctx *c, void *baton)
{
    ida_task *t;
    int braked;
    (void)baton;
    while (queue_claim(s, c, "worker", test_now_ms, LEASE, 5000, &t, &braked) == IDA_OK) {
        fired(t->id);
        queue_finish(s, c, t, IDA_DONE, NULL, NULL, NULL);
    }
    ida_ctx_clear(c);
    return IDA_OK;
}

/* The worker's steps, minute by minute, until `end`. */
static int run_until(store *s, queue_zone_changes *walls, int64_t end)
{
    apr_pool_t *round;
    int moved_in_all = 0;
    apr_pool_create(&round, pool);
    while (test_now_ms < end) {
        apr_pool_clear(round);
        ida_ctx *c = ida_ctx_make(&env, round);
        int moved;
        queue_outlook at;
        queue_zone_changes_look(walls, s, c, NULL, NULL, &moved);
        moved_in_all += moved;
        store_transaction(s, c, carry_out, NULL);
        queue_look(s, c, &at);
        test_now_ms = at.next_at && at.next_at < end ? at.next_at : end;
    }
    apr_pool_destroy(round);
    return moved_in_all;
}

static void check(int from, const char *when)
{
    int wrong = 0;
    for (int i = from; i < count; i++) {
        int64_t wanted = by_the_library(&promises[i]);
        if (promises[i].fired != wanted && wrong++ < 5) {
            printf("# %s %s %s began at %lld, not at %lld\n", promises[i].zone, promises[i].date,
                   promises[i].time, (long long)promises[i].fired, (long long)wanted);
        }
    }
    is_int(wrong, 0, apr_psprintf(pool, "%s: each of %d tasks at its instant", when, count - from));
}

static void year(store *s)
{
    queue_zone_changes *walls = queue_zone_changes_make(pool);
    install("Europe/Stockholm", "Kept");
    install("Europe/Stockholm", "Changed");
    count = 0;
    test_now_ms = 1773360000000; /* 2026-03-13: summer time begins on 29 March */
    int64_t spring = 1773446400000, fall = 1791676800000;
    store_transaction(s, fresh(), queue_month, &spring);
    is_int(run_until(s, walls, 1773446400000 + (DAYS + 2) * DAY), 0,
           "while the rules stay nothing moves");
    check(0, "spring");

    int autumn = count;
    test_now_ms = 1791590400000; /* 2026-10-10: summer time ends on 25 October */
    store_transaction(s, fresh(), queue_month, &fall);
    int64_t change = 1792454400000; /* 20 October: the country keeps summer time */
    run_until(s, walls, change);
    install("Africa/Johannesburg", "Changed");
    int moved = run_until(s, walls, 1791676800000 + (DAYS + 2) * DAY);
    ok(moved > 60 && moved < DAYS * TIMES, "%d tasks moved to other instants", moved);
    check(autumn, "autumn, with an update of the zone data");
    is_int(ask("SELECT count(*) FROM audit_outbox WHERE record LIKE '%task.reschedule%'"), moved,
           "each move is in the audit log");
    is_int(ask("SELECT count(*) FROM task WHERE state <> 'done'"), 0, "nothing is left");
}

int main(void)
{
    setup();
    env.monotonic = passing;
    if (!mkdtemp(dir)) {
        abort();
    }
    setenv("TZDIR", dir, 1);
    zone_init(pool);
    for (int i = 0; i < store_engines(); i++) {
        dsn = store_upgraded(i, &engine);
        printf("# %s\n", engine);
        store *s = store_make(pool, dsn, DB_REQUEST);
        add_tenant("contoso", "");
        year(s);
    }
    for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s/%s", dir, zones[i]);
        unlink(path);
    }
    rmdir(dir);
    return done();
}
