/* Owns the conversion of the texts `date` and `time` to an instant, and of instants to texts.
 * Must not know tasks or tenants. */
#include "core/zone/schedule.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/time.h"
#include "core/zone/zone.h"

#define PAST_DAYS_MAX 366
#define YEARS_AHEAD_MAX 10

/* Defaults for a missing part; "" = now. */
static const struct {
    const char *time_with_date, *time_alone_missing;
} defaults[] = {
    [ZONE_DUE_CREATE] = {"00:00", ""},
    [ZONE_DUE_UPDATE] = {"00:00", ""},
    [ZONE_DUE_DELETE] = {"17:00", "17:00"},
};

/* 1 if text has the form `shape`, where each '0' stands for a digit; the numbers between the
 * other characters go to value[]. */
static int numbers(const char *text, const char *shape, int *value)
{
    *value = 0;
    for (; *shape; shape++, text++) {
        if (*shape != '0') {
            if (*text != *shape) {
                return 0;
            }
            *++value = 0;
        } else if (*text >= '0' && *text <= '9') {
            *value = *value * 10 + (*text - '0');
        } else {
            return 0;
        }
    }
    return !*text;
}

static int parse_date(const char *text, zone_wall *wall)
{
    int part[3] = {0}, year, month, day;
    if (!numbers(text, "0000-00-00", part) || part[0] < 1 || part[1] < 1 || part[1] > 12 ||
        part[2] < 1 || part[2] > 31) {
        return 0;
    }
    ida_civil_from_days(ida_days_from_civil(part[0], part[1], part[2]), &year, &month, &day);
    if (year != part[0] || month != part[1] || day != part[2]) {
        return 0; /* no such day in the calendar */
    }
    wall->year = year;
    wall->month = month;
    wall->day = day;
    return 1;
}

static int parse_time(const char *text, zone_wall *wall)
{
    int part[2];
    if (!numbers(text, "00:00", part) || part[0] > 23 || part[1] > 59) {
        return 0;
    }
    wall->hour = part[0];
    wall->minute = part[1];
    wall->second = 0;
    return 1;
}

static int64_t floor_s(int64_t at_ms)
{
    return (at_ms >= 0 ? at_ms : at_ms - 999) / 1000;
}

static ida_kind tenant_zone(ida_ctx *c, const char *name, const zone_info **zone)
{
    ida_ctx *own = ida_ctx_make(c->env, c->pool);
    if (zone_get(own, name, zone)) {
        /* Not a bad request: the caller did not choose the zone. */
        return ida_fail(c, IDA_INTERNAL_ERROR, "The tenant's time zone cannot be used: %s",
                        own->message);
    }
    return IDA_OK;
}

static const char *date_text(apr_pool_t *pool, const zone_wall *wall)
{
    return ida_printf(pool, "%04d-%02d-%02d", wall->year, wall->month, wall->day);
}

static const char *time_text(apr_pool_t *pool, const zone_wall *wall)
{
    return ida_printf(pool, "%02d:%02d", wall->hour, wall->minute);
}

static int64_t day_of(const zone_wall *wall)
{
    return ida_days_from_civil(wall->year, wall->month, wall->day);
}

/* Checks that the day is within the range that may be scheduled, whole days at both ends. */
static int within_reach(ida_ctx *c, const zone_wall *today, const zone_wall *wall)
{
    if (day_of(today) - day_of(wall) > PAST_DAYS_MAX) {
        ida_fault_add(c, "date", "must not be more than %d days in the past", PAST_DAYS_MAX);
        return 0;
    }
    zone_wall last = *today;
    last.year += YEARS_AHEAD_MAX;
    if (day_of(wall) > day_of(&last)) {
        ida_fault_add(c, "date", "must not be more than %d years ahead", YEARS_AHEAD_MAX);
        return 0;
    }
    return 1;
}

static int same_wall(const zone_wall *a, const zone_wall *b)
{
    return day_of(a) == day_of(b) && a->hour == b->hour && a->minute == b->minute;
}

/* Clocks go back by less than this, and not twice within it. */
#define TURN_S INT64_C(10800)

static const char *adjustment(const zone_info *rules, const zone_wall *asked, int64_t at_s)
{
    zone_wall there;
    zone_to_wall(rules, at_s, &there);
    if (!same_wall(&there, asked)) {
        return "skipped";
    }
    int64_t back_s = zone_offset(rules, at_s) - zone_offset(rules, at_s + TURN_S);
    zone_to_wall(rules, at_s + back_s, &there);
    return back_s > 0 && same_wall(&there, asked) ? "doubled" : NULL;
}

ida_kind zone_schedule(ida_ctx *c, zone_due_default kind, const char *zone, const char *date,
                       const char *time, zone_due *due)
{
    const zone_info *rules;
    memset(due, 0, sizeof *due);
    ida_kind failed = tenant_zone(c, zone, &rules);
    if (failed) {
        return failed;
    }
    int64_t now_ms = ida_now(c->env);
    zone_wall today, wall;
    zone_to_wall(rules, floor_s(now_ms), &today);
    wall = today;
    due->zone = apr_pstrdup(c->pool, zone);

    int good = 1;
    if (date && !parse_date(date, &wall)) {
        ida_fault_add(c, "date", "must be a date of the calendar written YYYY-MM-DD");
        good = 0;
    }
    const char *time_or_default = time   ? time
                                  : date ? defaults[kind].time_with_date
                                         : defaults[kind].time_alone_missing;
    int is_now = !*time_or_default && !time;
    if (!is_now && !parse_time(time_or_default, &wall)) {
        ida_fault_add(c, "time", "must be a time of day written HH:mm, from 00:00 to 23:59");
        good = 0;
    }
    if (!good) {
        return IDA_OK;
    }
    int64_t at_ms = is_now ? now_ms : zone_to_utc(rules, &wall) * 1000;
    if (!within_reach(c, &today, &wall)) {
        return IDA_OK;
    }
    due->date = date_text(c->pool, &wall);
    due->time = time_text(c->pool, &wall);
    due->at_ms = at_ms;
    due->given = !is_now;
    due->past = at_ms < now_ms;
    due->adjustment = due->past ? "past" : is_now ? NULL : adjustment(rules, &wall, at_ms / 1000);
    return IDA_OK;
}

int64_t zone_schedule_again(ida_ctx *c, const char *zone, const char *date, const char *time)
{
    const zone_info *rules;
    zone_wall wall;
    if (!date || !time || !parse_date(date, &wall) || !parse_time(time, &wall)) {
        ida_fail(c, IDA_INTERNAL_ERROR, "A stored date or time is damaged.");
        return 0;
    }
    return tenant_zone(c, zone, &rules) ? 0 : zone_to_utc(rules, &wall) * 1000;
}

/* Wall time and offset for messages; UTC, with a line in the log, if the zone cannot be read. */
static int wall_of(ida_ctx *c, const char *zone, int64_t at_ms, zone_wall *wall,
                   int *offset_minutes)
{
    const zone_info *rules = NULL;
    ida_ctx *own = ida_ctx_make(c->env, c->pool);
    int known = zone_get(own, zone, &rules) == IDA_OK;
    if (!known) {
        ida_log(c->env, IDA_LOG_WARN, "IDA0002", "%s Times are shown in UTC.", own->message);
        rules = zone_utc();
    }
    int64_t at_s = floor_s(at_ms);
    *offset_minutes = zone_offset(rules, at_s) / 60;
    zone_to_wall(rules, at_s, wall);
    return known;
}

const char *zone_schedule_local(ida_ctx *c, const char *zone, int64_t at_ms)
{
    zone_wall wall;
    int minutes;
    wall_of(c, zone, at_ms, &wall, &minutes);
    return ida_printf(c->pool, "%sT%s:%02d%c%02d:%02d", date_text(c->pool, &wall),
                      time_text(c->pool, &wall), wall.second, minutes < 0 ? '-' : '+',
                      (minutes < 0 ? -minutes : minutes) / 60,
                      (minutes < 0 ? -minutes : minutes) % 60);
}

const char *zone_schedule_people(ida_ctx *c, const char *zone, int64_t at_ms)
{
    zone_wall wall;
    int minutes;
    int known = wall_of(c, zone, at_ms, &wall, &minutes);
    return ida_printf(c->pool, "%s %s %s (%s)", date_text(c->pool, &wall),
                      time_text(c->pool, &wall), known ? zone : "UTC",
                      ida_utc_text(c->pool, floor_s(at_ms) * 1000));
}
