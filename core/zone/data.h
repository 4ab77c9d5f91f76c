/* Inside of a zone, shared by zone.c (questions), core/zone/read.c (TZif files) and
 * core/zone/rule.c (POSIX TZ rules) and their tests. */
#ifndef CORE_ZONE_DATA_H
#define CORE_ZONE_DATA_H

#include "core/zone/zone.h"

/* When in a year the clock changes: POSIX TZ "Mm.w.d", "Jn" or "n", with the local time in force
 * before the change. */
typedef enum zone_day_form { IDA_DAY_MONTH_WEEK, IDA_DAY_JULIAN, IDA_DAY_OF_YEAR } zone_day_form;

typedef struct zone_change {
    zone_day_form form;
    int month, week, day; /* MONTH_WEEK: 1-12, 1-5, 0 = Sunday; otherwise only `day`: JULIAN
                             1-365 without 29 February, OF_YEAR 0-365 */
    int at_s;             /* seconds after local midnight, -167 h to 167 h */
} zone_change;

typedef struct zone_rule {
    int standard_s, summer_s; /* east of UTC */
    int has_summer;
    zone_change start, end;
} zone_rule;

struct zone_info {
    int count;            /* transitions, ascending */
    const int64_t *at;    /* UTC seconds */
    const int32_t *after; /* offset from at[i] on */
    int32_t before;       /* offset before at[0] */
    int has_rule;         /* 1: after the last transition the rule applies; 0: the last offset
                             does */
    zone_rule rule;
};

/* 1 when `text` (of `len` bytes, not terminated) is a POSIX TZ rule with the extensions of RFC
 * 9636. */
int zone_rule_parse(const char *text, size_t len, zone_rule *rule);

int zone_rule_offset(const zone_rule *rule, int64_t utc_s);

/* First change of the rule after the instant; 0 when the rule has none. */
int zone_rule_next(const zone_rule *rule, int64_t utc_s, int64_t *at);

/* Returns 1 and a zone in pool if the bytes are a sound TZif file of version 2 or later without
 * leap seconds; otherwise 0 and `*why`, which begins with "not a" if the bytes are no TZif file
 * at all. */
int zone_parse(apr_pool_t *pool, const unsigned char *bytes, size_t len, zone_info **zone,
               const char **why);

/* First instant after utc_s at which the zone's offset may change; 0 when there is none. */
int zone_next(const zone_info *zone, int64_t utc_s, int64_t *at);

#endif
