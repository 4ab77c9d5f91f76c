/* The zone reader compared with the C library's, for every zone of the tz database to the year
 * 2100; hard cases by hand; damaged files. */
#include "core/zone/zone.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/time.h"
#include "core/zone/data.h"
#include "t/unit/setup.h"

#define SYSTEM "/usr/share/zoneinfo"
#define FROM INT64_C(-2208988800) /* 1900-01-01 */
#define TO INT64_C(4102444800)    /* 2100-01-01 */
#define DAY 86400

static int system_offset(int64_t at)
{
    time_t t = (time_t)at;
    struct tm tm;
    return localtime_r(&t, &tm) ? (int)tm.tm_gmtoff : INT32_MIN;
}

static int64_t wall_number(const zone_wall *w)
{
    return ida_days_from_civil(w->year, w->month, w->day) * DAY + w->hour * 3600 + w->minute * 60 +
           w->second;
}

/* The expected result of to_utc, from the system's offsets only. */
static int64_t expected_instant(int64_t naive, int64_t transition)
{
    int64_t before = naive - system_offset(transition - 1),
            after = naive - system_offset(transition);
    if (before < transition) {
        return before;
    }
    return after >= transition ? after : transition;
}

static int compare_point(const zone_info *zone, const char *name, int64_t at)
{
    int ours = zone_offset(zone, at), theirs = system_offset(at);
    if (ours != theirs) {
        ok(0, "%s at %lld: ours %d, the system's %d", name, (long long)at, ours, theirs);
    }
    return ours == theirs;
}

static int compare_walls(const zone_info *zone, const char *name, int64_t at)
{
    static const int steps[] = {-7200, -3600, -1800, -1, 0, 1, 1800, 3599, 3600, 7200};
    int64_t previous = at - 1, next;
    /* Only if no other change is near: otherwise the expectation above does not hold. */
    if (zone_next(zone, at - 3 * DAY, &next) && next != at) {
        return 1;
    }
    if (zone_next(zone, at, &next) && next < at + 3 * DAY) {
        return 1;
    }
    int good = 1, before = system_offset(previous);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        int64_t naive = at + before + steps[i];
        zone_wall wall;
        int year, month, day;
        int64_t days = (naive >= 0 ? naive : naive - (DAY - 1)) / DAY, rest = naive - days * DAY;
        ida_civil_from_days(days, &year, &month, &day);
        wall = (zone_wall){
            year, month, day, (int)(rest / 3600), (int)(rest / 60 % 60), (int)(rest % 60)};
        int64_t got = zone_to_utc(zone, &wall), want = expected_instant(naive, at);
        if (got != want) {
            ok(0, "%s wall %lld at change %lld: ours %lld, wanted %lld", name, (long long)naive,
               (long long)at, (long long)got, (long long)want);
            good = 0;
        }
    }
    /* Two days away from a change nothing is ambiguous: mktime must agree. */
    zone_wall wall;
    zone_to_wall(zone, at + 2 * DAY, &wall);
    struct tm tm = {.tm_year = wall.year - 1900,
                    .tm_mon = wall.month - 1,
                    .tm_mday = wall.day,
                    .tm_hour = wall.hour,
                    .tm_min = wall.minute,
                    .tm_sec = wall.second,
                    .tm_isdst = -1};
    int64_t theirs = (int64_t)mktime(&tm), ours = zone_to_utc(zone, &wall);
    if (theirs != ours || ours != at + 2 * DAY) {
        ok(0, "%s near %lld: ours %lld, mktime %lld", name, (long long)at, (long long)ours,
           (long long)theirs);
        good = 0;
    }
    return good;
}

static int compare_zone(const char *name, long *points)
{
    ida_ctx *c = fresh();
    const zone_info *zone;
    if (zone_read(c, c->pool, name, &zone)) {
        return ok(0, "%s: %s", name, c->message);
    }
    setenv("TZ", apr_pstrcat(c->pool, ":", name, NULL), 1);
    tzset();
    int good = 1;
    int64_t at = FROM;
    while (good && zone_next(zone, at, &at) && at < TO) {
        good = compare_point(zone, name, at - 1) && compare_point(zone, name, at) &&
               compare_point(zone, name, at + 1) && compare_walls(zone, name, at);
        *points += 3;
    }
    /* A change that we do not know of would be detected here. */
    for (at = FROM; good && at < TO; at += 13 * DAY + 12345) {
        good = compare_point(zone, name, at);
        ++*points;
    }
    return good;
}

/* Every zone and link of tzdata.zi. */
static void every_zone(void)
{
    FILE *list = fopen(SYSTEM "/tzdata.zi", "r");
    if (!list) {
        ok(0, "the list of zones " SYSTEM "/tzdata.zi is readable");
        return;
    }
    char line[512], first[128], second[128];
    int zones = 0, good = 1;
    long points = 0;
    apr_pool_t *root = pool;
    while (fgets(line, sizeof line, list)) {
        const char *name = NULL;
        if (sscanf(line, "Z %127s", first) == 1) {
            name = first;
        } else if (sscanf(line, "L %127s %127s", first, second) == 2) {
            name = second;
        }
        if (!name || access(apr_pstrcat(root, SYSTEM "/", name, NULL), R_OK) != 0) {
            continue;
        }
        apr_pool_create(&pool, root);
        good = compare_zone(name, &points) && good;
        apr_pool_destroy(pool);
        pool = root;
        zones++;
    }
    fclose(list);
    ok(zones > 400, "%d zones were compared", zones);
    ok(good, "offsets and walls agree with the system at %ld points", points);
    unsetenv("TZ");
    tzset();
}

static const zone_info *zone_of(const char *name)
{
    const zone_info *zone = NULL;
    ida_ctx *c = fresh();
    ok(zone_read(c, pool, name, &zone) == IDA_OK, "%s is read", name);
    return zone;
}

static void stockholm(void)
{
    const zone_info *zone = zone_of("Europe/Stockholm");
    static const struct {
        zone_wall wall;
        int64_t utc;
        const char *name;
    } cases[] = {
        {{2027, 3, 28, 2, 30, 0}, 1806195600, "2027-03-28 02:30 is skipped: 01:00 UTC"},
        {{2027, 3, 28, 2, 0, 0}, 1806195600, "2027-03-28 02:00 is skipped: 01:00 UTC"},
        {{2027, 3, 28, 1, 59, 59}, 1806195599, "a second before the gap"},
        {{2027, 3, 28, 3, 0, 0}, 1806195600, "the first valid time"},
        {{2027, 10, 31, 2, 30, 0}, 1824942600, "2027-10-31 02:30 is doubled: 00:30 UTC"},
        {{2027, 10, 31, 3, 0, 0}, 1824948000, "2027-10-31 03:00 is 02:00 UTC"},
        {{2026, 7, 1, 12, 0, 0}, 1782900000, "a summer's day"},
        {{2040, 1, 15, 12, 0, 0}, 2210238000, "beyond the table, winter"},
        {{2040, 7, 15, 12, 0, 0}, 2225959200, "beyond the table, summer"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(zone_to_utc(zone, &cases[i].wall), cases[i].utc, cases[i].name);
    }
    zone_wall wall;
    zone_to_wall(zone, 1806195600, &wall);
    is_int(wall_number(&wall), 1806195600 + 7200, "back to wall time: 03:00");
    zone_to_wall(zone, INT64_MAX, &wall);
    zone_to_wall(zone, INT64_MIN, &wall);
    ok(zone_offset(zone, INT64_MAX) != INT32_MIN && zone_offset(zone, INT64_MIN) != INT32_MIN,
       "the ends of time do not break");
    wall = (zone_wall){INT32_MAX, 12, 31, 23, 59, 59};
    ok(zone_to_utc(zone, &wall) > 0, "the last year does not break");
    const zone_info *apia = zone_of("Pacific/Apia");
    wall = (zone_wall){2011, 12, 30, 12, 0, 0};
    is_int(zone_to_utc(apia, &wall), 1325239200,
           "a skipped day (Apia, 2011-12-30) is the first instant of the next");
}

static void calendar(void)
{
    is_int(ida_days_from_civil(1970, 1, 1), 0, "1970-01-01 is day 0");
    is_int(ida_days_from_civil(2000, 3, 1), 11017, "2000-03-01");
    is_int(ida_days_from_civil(1969, 12, 31), -1, "1969-12-31");
    int good = 1, y = 1599, m = 12, d = 31;
    for (int64_t days = ida_days_from_civil(1600, 1, 1); good && days < 200000; days++) {
        int y2, m2, d2;
        ida_civil_from_days(days, &y2, &m2, &d2);
        int next = (d2 == d + 1 && m2 == m && y2 == y) ||
                   (d2 == 1 && ((m2 == m + 1 && y2 == y) || (m == 12 && m2 == 1 && y2 == y + 1)));
        good = next && ida_days_from_civil(y2, m2, d2) == days;
        y = y2, m = m2, d = d2;
    }
    ok(good && y > 2500, "every day from 1600 follows the one before and comes back");
}

static void rules(void)
{
    static const char *const good[] = {"UTC0",
                                       "<+03>-3",
                                       "CET-1CEST,M3.5.0,M10.5.0/3",
                                       "IST-2IDT,M3.4.4/26,M10.5.0",
                                       "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
                                       "EST5EDT,0/0,J365/25",
                                       "AAA-5:30:15BBB-6,J60/-167,365/167",
                                       "XXX24",
                                       "ABC-24:59:59"};
    static const char *const bad[] = {"",
                                      "C",
                                      "CET",
                                      "CET-25",
                                      "CET-1CEST",
                                      "CET-1CEST,M3.5.0",
                                      "CET-1CEST,M13.5.0,M10.5.0",
                                      "CET-1CEST,M3.6.0,M10.5.0",
                                      "CET-1CEST,M3.0.0,M10.5.0",
                                      "CET-1CEST,M3.5.7,M10.5.0",
                                      "CET-1CEST,J0,J5",
                                      "CET-1CEST,J366,J5",
                                      "CET-1CEST,366,5",
                                      "CET-1CEST,M3.5.0/168,M10.5.0",
                                      "CET-1CEST,M3.5.0,M10.5.0,",
                                      "<+03-3",
                                      "<+>3",
                                      "CET-1:60",
                                      "CET-1:00:60",
                                      "CET-0001",
                                      "CET-1CEST,M3.5.0/2:,M10.5.0",
                                      "CET-1 CEST,M3.5.0,M10.5.0",
                                      "CET--1"};
    zone_rule rule;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char *copy = exact(good[i], strlen(good[i]));
        ok(zone_rule_parse(copy, strlen(good[i]), &rule), "rule %s", good[i]);
        free(copy);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *copy = exact(bad[i], strlen(bad[i]));
        ok(!zone_rule_parse(copy, strlen(bad[i]), &rule), "no rule \"%s\"", bad[i]);
        free(copy);
    }
    /* Rules as the C library reads them, year by year. */
    static const char *const beside[] = {"CET-1CEST,M3.5.0,M10.5.0/3",
                                         "AEST-10AEDT,M10.1.0,M4.1.0/3",
                                         "IST-2IDT,M3.4.4/26,M10.5.0",
                                         "<-02>2<-01>,M3.5.0/-1,M10.5.0/0",
                                         "EST5EDT,J60,J300",
                                         "EST5EDT,59,299/5",
                                         "XXX3EDT4,J1/0,J100/2:30:15",
                                         "<+0330>-3:30<+0430>,J79/24,J263/24",
                                         "UTC0"};
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++) {
        setenv("TZ", beside[i], 1);
        tzset();
        zone_rule_parse(beside[i], strlen(beside[i]), &rule);
        int same = 1;
        for (int64_t at = 0; same && at < TO; at += 3 * 3600 + 17) {
            same = zone_rule_offset(&rule, at) == system_offset(at);
            if (!same) {
                printf("# %s at %lld: ours %d, the system's %d\n", beside[i], (long long)at,
                       zone_rule_offset(&rule, at), system_offset(at));
            }
            at += at > 12 * 365 * (int64_t)DAY ? 5 * 3600 : 0;
        }
        ok(same, "rule %s agrees with the system", beside[i]);
    }
    unsetenv("TZ");
    tzset();
    zone_rule_parse("EST5EDT,0/0,J365/25", 19, &rule);
    int all = 1;
    for (int64_t at = -4000 * (int64_t)DAY; at < 40000 * (int64_t)DAY; at += 3600) {
        all = all && zone_rule_offset(&rule, at) == -4 * 3600;
    }
    ok(all, "summer time all the year has no hole");
}

static void names_refused(void)
{
    static const char *const bad[] = {"",
                                      "/etc/passwd",
                                      "../zoneinfo/UTC",
                                      "Europe/../UTC",
                                      "Europe/Stockholm/",
                                      "Europe//Stockholm",
                                      "./UTC",
                                      "zone1970.tab",
                                      "Europe",
                                      "Europe/Nowhere",
                                      "Europe/Stock holm",
                                      "tzdata\n",
                                      "%s%n",
                                      "Europe/Stockholm/x",
                                      "\xC3\x85land",
                                      "leapseconds"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ida_ctx *c = fresh();
        const zone_info *zone = (const zone_info *)&bad;
        ok(zone_read(c, pool, bad[i], &zone) == IDA_BAD_REQUEST && !zone, "no zone (%d): %s",
           (int)i, c->message);
    }
    char *long_name = apr_pcalloc(pool, 102);
    memset(long_name, 'a', 101);
    const zone_info *zone;
    is_int(zone_read(fresh(), pool, long_name, &zone), IDA_BAD_REQUEST, "a name of 101 characters");
}

static char *slurp(const char *path, size_t *len)
{
    FILE *f = fopen(path, "rb");
    char *bytes = apr_palloc(pool, 65536);
    *len = f ? fread(bytes, 1, 65536, f) : 0;
    if (f) {
        fclose(f);
    }
    return bytes;
}

static int parse_exact(const char *bytes, size_t len)
{
    apr_pool_t *sub;
    apr_pool_create(&sub, pool);
    zone_info *zone;
    const char *why = NULL;
    char *copy = exact(bytes, len);
    int good = zone_parse(sub, (unsigned char *)copy, len, &zone, &why);
    if (good) {
        zone_offset(zone, 1800000000);
        zone_offset(zone, 4000000000);
    } else if (!why) {
        ok(0, "a refused file has a reason");
    }
    free(copy);
    apr_pool_destroy(sub);
    return good;
}

static void damage(void)
{
    size_t len;
    char *bytes = slurp(SYSTEM "/Europe/Stockholm", &len);
    ok(parse_exact(bytes, len), "the whole file is read");
    int refused = 1;
    for (size_t cut = 0; cut < len; cut++) {
        refused = refused && !parse_exact(bytes, cut);
    }
    ok(refused, "every shorter one is refused");
    for (size_t i = 0; i < len; i++) {
        char *copy = apr_pmemdup(pool, bytes, len);
        copy[i] = (char)0xFF;
        parse_exact(copy, len);
        copy[i] ^= (char)0x80;
        parse_exact(copy, len);
    }
    ok(1, "no changed byte breaks the reader");
    char *old = apr_pmemdup(pool, bytes, len);
    old[4] = 0;
    ok(!parse_exact(old, len), "version 1 is refused");
}

static void write_file(const char *path, const char *bytes, size_t len)
{
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(bytes, 1, len, f) != len || fclose(f) != 0) {
        ok(0, "%s could be written", path);
    }
}

static int warnings;

static void count_warnings(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)message;
    warnings += level == IDA_LOG_WARN && id && strcmp(id, "IDA0001") == 0;
}

/* The zones cached in the process, over a private directory of zones whose rules change. */
static void kept_zones(void)
{
    const zone_info *zone, *same;
    is_int(zone_get(fresh(), "Europe/Stockholm", &zone), IDA_INTERNAL_ERROR,
           "get before init is an error");
    char dir[] = "/tmp/ida-zone-XXXXXX";
    if (!mkdtemp(dir)) {
        ok(0, "a temporary directory");
        return;
    }
    size_t winter_len, utc_len;
    char *stockholm_file = slurp(SYSTEM "/Europe/Stockholm", &winter_len),
         *utc_file = slurp(SYSTEM "/UTC", &utc_len);
    char *path = apr_pstrcat(pool, dir, "/Zone", NULL);
    write_file(path, stockholm_file, winter_len);
    setenv("TZDIR", dir, 1);
    env.monotonic = test_monotonic;
    env.log = count_warnings;
    apr_pool_t *process;
    apr_pool_create(&process, NULL);
    zone_init(process);
    is_int(zone_get(fresh(), "Zone", &zone), IDA_OK, "a zone of $TZDIR");
    is_int(zone_offset(zone, 1782900000), 7200, "has its rules");
    is_int(zone_get(fresh(), "Zone", &same), IDA_OK, "again");
    ok(same == zone, "the same object is kept");
    write_file(path, utc_file, utc_len);
    zone_get(fresh(), "Zone", &same);
    ok(same == zone, "within a second the files are not checked");
    test_monotonic_ms += 1000;
    zone_get(fresh(), "Zone", &same);
    ok(same != zone && zone_offset(same, 1782900000) == 0, "after a second the new rules hold");
    is_int(zone_offset(zone, 1782900000), 7200, "a zone handed out before stays valid");
    write_file(path, "TZif2 torn", 10);
    test_monotonic_ms += 1000;
    is_int(zone_get(fresh(), "Zone", &zone), IDA_OK, "a damaged file");
    ok(zone == same && warnings == 1, "leaves the rules in use, with a warning");
    test_monotonic_ms += 1000;
    zone_get(fresh(), "Zone", &zone);
    is_int(warnings, 1, "and one warning is enough");
    unlink(path);
    test_monotonic_ms += 1000;
    is_int(zone_get(fresh(), "Zone", &zone), IDA_OK, "a file that has gone leaves them too");
    is_int(zone_get(fresh(), "Other", &zone), IDA_BAD_REQUEST, "an unknown zone is refused");
    write_file(path, "TZif2 torn", 10);
    ida_ctx *c = fresh();
    is_int(zone_read(c, pool, "Zone", &zone), IDA_INTERNAL_ERROR,
           "a damaged file read for the first time is an internal error");
    says(c, "that names the file", path, "tzdata", NULL);
    unlink(path);
    is_int(mkfifo(path, 0600), 0, "a pipe in the place of the file");
    is_int(zone_read(fresh(), pool, "Zone", &zone), IDA_BAD_REQUEST, "does not block");
    unlink(path);
    rmdir(dir);
    unsetenv("TZDIR");
    apr_pool_destroy(process);
    is_int(zone_get(fresh(), "UTC", &zone), IDA_INTERNAL_ERROR,
           "after the process pool nothing is kept");
}

int main(void)
{
    setup();
    calendar();
    stockholm();
    rules();
    names_refused();
    damage();
    kept_zones();
    every_zone();
    return done();
}
