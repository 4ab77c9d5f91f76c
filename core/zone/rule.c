/* Owns POSIX TZ rules ("CET-1CEST,M3.5.0,M10.5.0/3"), the footer of TZif files. Must not know
 * files. */
#include <string.h>

#include "core/zone/data.h"

#include "core/base/time.h"

#define DAY_S 86400
#define HOURS_MAX 167 /* RFC 9636, 3.3.1: -167 to 167 in a rule's time, 24 in an offset */

typedef struct cursor {
    const char *p, *end;
} cursor;

static int peek(const cursor *c)
{
    return c->p < c->end ? (unsigned char)*c->p : -1;
}

static int take(cursor *c, char ch)
{
    if (peek(c) != ch) {
        return 0;
    }
    c->p++;
    return 1;
}

static int is_digit(int ch)
{
    return ch >= '0' && ch <= '9';
}

static int is_letter(int ch)
{
    return (ch >= 'A' && ch <= 'Z') || (ch >= 'a' && ch <= 'z');
}

/* 1 and a number of 1 to 3 digits within min..max. */
static int take_number(cursor *c, int min, int max, int *value)
{
    int digits = 0;
    *value = 0;
    for (; is_digit(peek(c)) && digits < 3; digits++) {
        *value = *value * 10 + (*c->p++ - '0');
    }
    return digits && !is_digit(peek(c)) && *value >= min && *value <= max;
}

/* A zone's abbreviation: at least three letters, or <...> of letters, digits and signs. */
static int take_name(cursor *c)
{
    int quoted = take(c, '<'), len = 0;
    for (int ch = peek(c); is_letter(ch) || (quoted && (is_digit(ch) || ch == '+' || ch == '-'));
         ch = peek(c)) {
        c->p++;
        len++;
    }
    return len >= 3 && (!quoted || take(c, '>'));
}

/* [+-]hh[:mm[:ss]] in seconds. */
static int take_time(cursor *c, int hours_max, int *seconds)
{
    int sign = take(c, '-') ? -1 : 1, hours, minutes = 0, rest = 0;
    if (sign == 1) {
        take(c, '+');
    }
    if (!take_number(c, 0, hours_max, &hours)) {
        return 0;
    }
    if (take(c, ':')) {
        if (!take_number(c, 0, 59, &minutes)) {
            return 0;
        }
        if (take(c, ':') && !take_number(c, 0, 59, &rest)) {
            return 0;
        }
    }
    *seconds = sign * (hours * 3600 + minutes * 60 + rest);
    return 1;
}

static int take_change(cursor *c, zone_change *change)
{
    memset(change, 0, sizeof *change);
    change->at_s = 2 * 3600;
    if (take(c, 'M')) {
        change->form = IDA_DAY_MONTH_WEEK;
        if (!take_number(c, 1, 12, &change->month) || !take(c, '.') ||
            !take_number(c, 1, 5, &change->week) || !take(c, '.') ||
            !take_number(c, 0, 6, &change->day)) {
            return 0;
        }
    } else if (take(c, 'J')) {
        change->form = IDA_DAY_JULIAN;
        if (!take_number(c, 1, 365, &change->day)) {
            return 0;
        }
    } else {
        change->form = IDA_DAY_OF_YEAR;
        if (!take_number(c, 0, 365, &change->day)) {
            return 0;
        }
    }
    return !take(c, '/') || take_time(c, HOURS_MAX, &change->at_s);
}

int zone_rule_parse(const char *text, size_t len, zone_rule *rule)
{
    cursor c = {text, text + len};
    int west;
    memset(rule, 0, sizeof *rule);
    if (!take_name(&c) || !take_time(&c, 24, &west)) {
        return 0;
    }
    rule->standard_s = -west; /* POSIX counts westward */
    if (c.p == c.end) {
        return 1;
    }
    rule->has_summer = 1;
    rule->summer_s = rule->standard_s + 3600;
    if (!take_name(&c)) {
        return 0;
    }
    if (peek(&c) != ',') {
        if (!take_time(&c, 24, &west)) {
            return 0;
        }
        rule->summer_s = -west;
    }
    return take(&c, ',') && take_change(&c, &rule->start) && take(&c, ',') &&
           take_change(&c, &rule->end) && c.p == c.end;
}

static int is_leap(int year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int64_t change_day(const zone_change *change, int year)
{
    int64_t first = ida_days_from_civil(year, 1, 1);
    if (change->form == IDA_DAY_OF_YEAR) {
        return first + change->day;
    }
    if (change->form == IDA_DAY_JULIAN) {
        return first + change->day - 1 + (is_leap(year) && change->day >= 60);
    }
    int64_t month = ida_days_from_civil(year, change->month, 1);
    int64_t next = change->month == 12 ? ida_days_from_civil(year + 1, 1, 1)
                                       : ida_days_from_civil(year, change->month + 1, 1);
    int weekday = (int)(((month + 4) % 7 + 7) % 7); /* 1970-01-01 was a Thursday */
    int64_t day = month + (change->day - weekday + 7) % 7 + (change->week - 1) * 7;
    return day < next ? day : day - 7; /* week 5 is the last one */
}

typedef struct event {
    int64_t at;
    int offset;
} event;

enum { YEARS = 4, EVENTS = YEARS * 2 };

/* The changes of the years around an instant, in order. If the end of one year and the start of
 * the next coincide (summer time all year: "0/0,J365/25"), the later year's entry comes second
 * and wins. */
static void list_events(const zone_rule *rule, int64_t utc_s, event events[EVENTS])
{
    int64_t days = (utc_s >= 0 ? utc_s : utc_s - (DAY_S - 1)) / DAY_S;
    int year, month, day, count = 0;
    ida_civil_from_days(days, &year, &month, &day);
    for (int y = year - 2; y < year - 2 + YEARS; y++) {
        event two[2] = {
            {change_day(&rule->start, y) * DAY_S + rule->start.at_s - rule->standard_s,
             rule->summer_s},
            {change_day(&rule->end, y) * DAY_S + rule->end.at_s - rule->summer_s, rule->standard_s},
        };
        for (int i = 0; i < 2; i++) {
            int at = count++;
            while (at > 0 && events[at - 1].at > two[i].at) {
                events[at] = events[at - 1];
                at--;
            }
            events[at] = two[i];
        }
    }
}

int zone_rule_offset(const zone_rule *rule, int64_t utc_s)
{
    if (!rule->has_summer) {
        return rule->standard_s;
    }
    event events[EVENTS];
    list_events(rule, utc_s, events);
    int offset = rule->standard_s;
    for (int i = 0; i < EVENTS && events[i].at <= utc_s; i++) {
        offset = events[i].offset;
    }
    return offset;
}

int zone_rule_next(const zone_rule *rule, int64_t utc_s, int64_t *at)
{
    if (!rule->has_summer) {
        return 0;
    }
    event events[EVENTS];
    list_events(rule, utc_s, events);
    for (int i = 0; i < EVENTS; i++) {
        if (events[i].at > utc_s) {
            *at = events[i].at;
            return 1;
        }
    }
    return 0;
}
