/* Dates and times of payloads: formats, calendar, defaults, limits of what may be scheduled,
 * words. */
#include "core/zone/schedule.h"

#include "core/zone/zone.h"
#include "t/unit/setup.h"

#define ZONE "Europe/Stockholm"
#define DAY_MS INT64_C(86400000)

/* The clock stands at 2026-11-21T09:30:00Z, 10:30 in Stockholm. */
static int64_t at(zone_due_default kind, const char *date, const char *time, zone_due *due)
{
    ida_ctx *c = fresh();
    ida_kind failed = zone_schedule(c, kind, ZONE, date, time, due);
    return !failed && !ida_faults_raise(c) ? due->at_ms : -1;
}

static void defaults(void)
{
    static const struct {
        zone_due_default kind;
        const char *date, *time;
        int64_t at_ms;
        const char *local_date, *local_time;
        int given, past;
        const char *name;
    } cases[] = {
        {ZONE_DUE_CREATE, NULL, NULL, 1795253400000, "2026-11-21", "10:30", 0, 0, "create: now"},
        {ZONE_DUE_CREATE, "2027-03-01", NULL, 1803855600000, "2027-03-01", "00:00", 1, 0,
         "create: date alone is midnight"},
        {ZONE_DUE_CREATE, NULL, "12:00", 1795258800000, "2026-11-21", "12:00", 1, 0,
         "create: time alone is today"},
        {ZONE_DUE_CREATE, NULL, "10:29", 1795253340000, "2026-11-21", "10:29", 1, 1,
         "create: a minute ago is past"},
        {ZONE_DUE_CREATE, NULL, "10:30", 1795253400000, "2026-11-21", "10:30", 1, 0,
         "create: this very minute is not past"},
        {ZONE_DUE_CREATE, "2026-11-21", NULL, 1795215600000, "2026-11-21", "00:00", 1, 1,
         "create: today's midnight is past"},
        {ZONE_DUE_UPDATE, NULL, NULL, 1795253400000, "2026-11-21", "10:30", 0, 0, "update: now"},
        {ZONE_DUE_UPDATE, "2027-03-01", NULL, 1803855600000, "2027-03-01", "00:00", 1, 0,
         "update: date alone is midnight"},
        {ZONE_DUE_DELETE, NULL, NULL, 1795276800000, "2026-11-21", "17:00", 1, 0,
         "delete: today at 17:00"},
        {ZONE_DUE_DELETE, "2027-03-01", NULL, 1803916800000, "2027-03-01", "17:00", 1, 0,
         "delete: 17:00 also with a date"},
        {ZONE_DUE_DELETE, NULL, "23:59", 1795301940000, "2026-11-21", "23:59", 1, 0,
         "delete: time alone is today"},
        {ZONE_DUE_DELETE, "2026-11-20", NULL, 1795190400000, "2026-11-20", "17:00", 1, 1,
         "delete: yesterday is past"},
        {ZONE_DUE_DELETE, "2027-03-28", "02:30", 1806195600000, "2027-03-28", "02:30", 1, 0,
         "a skipped time: 01:00 UTC"},
        {ZONE_DUE_DELETE, "2027-10-31", "02:30", 1824942600000, "2027-10-31", "02:30", 1, 0,
         "a doubled time: 00:30 UTC"},
        {ZONE_DUE_CREATE, "2028-02-29", "08:00", 1835420400000, "2028-02-29", "08:00", 1, 0,
         "a leap day"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        zone_due due;
        is_int(at(cases[i].kind, cases[i].date, cases[i].time, &due), cases[i].at_ms,
               cases[i].name);
        is_str(due.date, cases[i].local_date, "local date");
        is_str(due.time, cases[i].local_time, "local time");
        ok(due.given == cases[i].given && due.past == cases[i].past && strcmp(due.zone, ZONE) == 0,
           "given, past and zone");
    }
    test_now_ms += 37123;
    zone_due due;
    is_int(at(ZONE_DUE_CREATE, NULL, NULL, &due), test_now_ms,
           "now is the instant itself, not its minute");
    ok(!due.past, "and not past");
    test_now_ms -= 37123;
}

static void faults(void)
{
    static const char *const bad_dates[] = {"",
                                            "2027-3-01",
                                            "2027-03-1",
                                            "27-03-01",
                                            "2027/03/01",
                                            "2027-13-01",
                                            "2027-00-10",
                                            "2027-04-31",
                                            "2027-02-29",
                                            "2027-01-00",
                                            "2027-01-32",
                                            "2027-03-01T10:00",
                                            " 2027-03-01",
                                            "2027-03-01 ",
                                            "0000-01-01",
                                            "+027-03-01",
                                            "-027-03-01",
                                            "20270301",
                                            "tomorrow",
                                            "2027-03-01\n",
                                            ("\xEF\xBC\x92"
                                             "027-03-01"),
                                            "12027-03-01"};
    static const char *const bad_times[] = {"",         "24:00",  "8:00",  "08:0",   "08:60",
                                            "08:00:00", "0800",   "08.00", "08:00Z", " 08:00",
                                            "-1:00",    "08:00 ", "99:99", "8am"};
    for (size_t i = 0; i < sizeof bad_dates / sizeof *bad_dates; i++) {
        ida_ctx *c = fresh();
        zone_due due;
        ok(zone_schedule(c, ZONE_DUE_CREATE, ZONE, bad_dates[i], NULL, &due) == IDA_OK &&
               due.at_ms == 0,
           "no date (%d)", (int)i);
        is_int(ida_faults_raise(c), IDA_BAD_REQUEST, "is a fault");
        says(c, "that names the field and the format", "date: must be", "YYYY-MM-DD", NULL);
    }
    for (size_t i = 0; i < sizeof bad_times / sizeof *bad_times; i++) {
        ida_ctx *c = fresh();
        zone_due due;
        ok(zone_schedule(c, ZONE_DUE_DELETE, ZONE, NULL, bad_times[i], &due) == IDA_OK &&
               due.at_ms == 0,
           "no time (%d)", (int)i);
        is_int(ida_faults_raise(c), IDA_BAD_REQUEST, "is a fault");
        says(c, "that names the field and the format", "time: must be", "HH:mm", NULL);
    }
    ida_ctx *c = fresh();
    zone_due due;
    zone_schedule(c, ZONE_DUE_CREATE, ZONE, "x", "y", &due);
    ida_faults_raise(c);
    says(c, "both faults in one message", "date: ", "time: ", NULL);
}

static void edges(void)
{
    zone_due due;
    /* 366 days before 2026-11-21 10:30 is 2025-11-20 10:30. */
    is_int(at(ZONE_DUE_CREATE, "2025-11-20", "10:30", &due), test_now_ms - 366 * DAY_MS,
           "366 days past");
    ok(at(ZONE_DUE_CREATE, "2025-11-20", "00:00", &due) > 0, "from its first minute");
    is_int(at(ZONE_DUE_CREATE, "2025-11-19", "23:59", &due), -1, "the day before is refused");
    ok(at(ZONE_DUE_CREATE, "2036-11-21", "23:59", &due) > 0,
       "10 years ahead, to the last minute of the day");
    is_int(at(ZONE_DUE_CREATE, "2036-11-22", "00:00", &due), -1, "the day after is refused");
    is_int(at(ZONE_DUE_CREATE, "9999-12-31", NULL, &due), -1, "the year 9999");
    is_int(at(ZONE_DUE_DELETE, "0001-01-01", NULL, &due), -1, "the year 1");
    ida_ctx *c = fresh();
    is_int(zone_schedule(c, ZONE_DUE_CREATE, "Europe/Nowhere", NULL, NULL, &due),
           IDA_INTERNAL_ERROR, "an unknown zone is not the caller's fault");
    says(c, "and is named", "Europe/Nowhere", NULL);
}

static int logged;

static void count_log(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)message;
    logged += level == IDA_LOG_WARN && id && strcmp(id, "IDA0002") == 0;
}

static void words(void)
{
    ida_ctx *c = fresh();
    is_int(zone_schedule_again(c, ZONE, "2027-03-28", "02:30"), 1806195600000, "resolved again");
    is_int(zone_schedule_again(c, ZONE, "2027-03-32", "02:30"), 0, "a damaged date");
    is_int(zone_schedule_again(c, ZONE, "2027-03-28", NULL), 0, "a missing time");
    is_int(zone_schedule_again(c, "Nowhere", "2027-03-28", "02:30"), 0, "an unknown zone");
    is_str(zone_schedule_local(c, ZONE, 1803888000000), "2027-03-01T09:00:00+01:00",
           "RFC 3339, winter");
    is_str(zone_schedule_local(c, ZONE, 1782900000123), "2026-07-01T12:00:00+02:00",
           "RFC 3339, summer");
    is_str(zone_schedule_local(c, "America/St_Johns", 1803888000000), "2027-03-01T04:30:00-03:30",
           "RFC 3339, west and half an hour");
    is_str(zone_schedule_local(c, "UTC", 1803888000000), "2027-03-01T08:00:00+00:00",
           "RFC 3339, UTC");
    is_str(zone_schedule_people(c, ZONE, 1803888000000),
           "2027-03-01 09:00 Europe/Stockholm (2027-03-01T08:00:00Z)", "for people");
    is_str(zone_schedule_people(c, ZONE, 1803888007123),
           "2027-03-01 09:00 Europe/Stockholm (2027-03-01T08:00:07Z)", "no milliseconds");
    env.log = count_log;
    c = fresh();
    is_str(zone_schedule_local(c, "Nowhere", 1803888000000), "2027-03-01T08:00:00+00:00",
           "an unreadable zone falls back to UTC");
    is_str(zone_schedule_people(c, "Nowhere", 1803888000000),
           "2027-03-01 08:00 UTC (2027-03-01T08:00:00Z)", "and says UTC");
    ok(logged == 2 && c->kind == IDA_OK, "with a log line each and no error left behind");
}

int main(void)
{
    setup();
    zone_init(pool);
    defaults();
    faults();
    edges();
    words();
    return done();
}
