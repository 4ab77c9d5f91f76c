/* Owns the calendar and instants as text. Must not know zones: their rules are core/zone's. */
#include "core/base/time.h"

#include <apr_strings.h>
#include <apr_time.h>
#include <time.h>

#include "core/base/context.h"
#include "core/base/text.h"

int64_t ida_days_from_civil(int year, int month, int day)
{
    /* Years begin in March, so that the leap day is the last one; eras are 400 years of 146097
     * days. */
    int64_t y = (int64_t)year - (month <= 2);
    int64_t era = (y >= 0 ? y : y - 399) / 400;
    int64_t of_era = y - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void ida_civil_from_days(int64_t days, int *year, int *month, int *day)
{
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = (int)(y + era * 400 + (*month <= 2));
}

/* `count` digits at *at as a number; -1 when they are not. Moves on. */
static int digits(const char **at, int count)
{
    int number = 0;
    for (int i = 0; i < count; i++, (*at)++) {
        if (**at < '0' || **at > '9') {
            return -1;
        }
        number = number * 10 + (**at - '0');
    }
    return number;
}

static int skip(const char **at, char wanted)
{
    return **at == wanted ? (*at)++, 1 : 0;
}

static int days_in(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] +
           (month == 2 && (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)));
}

/* "T09:30:00.25+02:00" from *at on; offset in minutes. */
static int read_clock(const char **at, apr_time_exp_t *t, int *offset)
{
    t->tm_hour = digits(at, 2);
    if (t->tm_hour < 0 || t->tm_hour > 23 || !skip(at, ':') || (t->tm_min = digits(at, 2)) < 0 ||
        t->tm_min > 59 || !skip(at, ':') || (t->tm_sec = digits(at, 2)) < 0 || t->tm_sec > 60) {
        return 0;
    }
    if (skip(at, '.')) {
        int scale = 100000, any = 0;
        for (; **at >= '0' && **at <= '9'; (*at)++, scale /= 10, any = 1) {
            t->tm_usec += (**at - '0') * scale;
        }
        if (!any) {
            return 0;
        }
    }
    if (skip(at, 'Z') || skip(at, 'z')) {
        return 1;
    }
    int sign = skip(at, '+') ? 1 : skip(at, '-') ? -1 : 0;
    int hours = sign ? digits(at, 2) : -1;
    int minutes = hours >= 0 && skip(at, ':') ? digits(at, 2) : -1;
    *offset = sign * (hours * 60 + minutes);
    return hours >= 0 && hours <= 23 && minutes >= 0 && minutes <= 59;
}

int ida_time_parse(const char *text, int64_t *at_ms)
{
    const char *at = text;
    apr_time_exp_t t = {0};
    int year = digits(&at, 4), month = year >= 1970 && skip(&at, '-') ? digits(&at, 2) : -1;
    int day = month >= 1 && month <= 12 && skip(&at, '-') ? digits(&at, 2) : -1, offset = 0;
    if (day < 1 || day > days_in(year, month)) {
        return 0;
    }
    t.tm_year = year - 1900;
    t.tm_mon = month - 1;
    t.tm_mday = day;
    if (*at && !((skip(&at, 'T') || skip(&at, 't') || skip(&at, ' ')) &&
                 read_clock(&at, &t, &offset) && !*at)) {
        return 0;
    }
    apr_time_t us;
    if (apr_time_exp_get(&us, &t) != APR_SUCCESS) {
        return 0;
    }
    *at_ms = us / 1000 - (int64_t)offset * 60000;
    return *at_ms > 0;
}

static char *write_two(char *to, char mark, int number)
{
    *to++ = mark;
    *to++ = (char)('0' + number / 10);
    *to++ = (char)('0' + number % 10);
    return to;
}

int ida_utc_write(char out[IDA_UTC_SIZE], int64_t at_ms)
{
    time_t seconds = (time_t)(at_ms / 1000);
    struct tm tm;
    if (at_ms <= 0 || !gmtime_r(&seconds, &tm)) {
        return 0;
    }
    int ms = (int)(at_ms % 1000);
    char *to = ida_digits(out, tm.tm_year + 1900);
    to = write_two(to, '-', tm.tm_mon + 1);
    to = write_two(to, '-', tm.tm_mday);
    to = write_two(to, 'T', tm.tm_hour);
    to = write_two(to, ':', tm.tm_min);
    to = write_two(to, ':', tm.tm_sec);
    if (ms) {
        to = write_two(to, '.', ms / 10);
        *to++ = (char)('0' + ms % 10);
    }
    *to++ = 'Z';
    *to = '\0';
    return 1;
}

char *ida_utc_text(apr_pool_t *pool, int64_t at_ms)
{
    char text[IDA_UTC_SIZE];
    return ida_utc_write(text, at_ms) ? apr_pstrdup(pool, text) : NULL;
}

char *ida_stamp(apr_pool_t *pool, int64_t at_ms)
{
    char *text = ida_utc_text(pool, at_ms / 1000 * 1000), *to = text;
    for (const char *at = text; *at && *at != 'Z'; at++) {
        if (*at != '-' && *at != ':') {
            *to++ = *at;
        }
    }
    *to = '\0';
    return text;
}
