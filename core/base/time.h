/* The calendar, and instants as text. */
#ifndef CORE_BASE_TIME_H
#define CORE_BASE_TIME_H

#include <apr_pools.h>
#include <stdint.h>

/* Days of the proleptic Gregorian calendar since 1970-01-01, and back. */
int64_t ida_days_from_civil(int year, int month, int day);
void ida_civil_from_days(int64_t days, int *year, int *month, int *day);

/* A date YYYY-MM-DD (its first instant in UTC), or RFC 3339 date and time with any offset. 0 when
 * it is neither. *at_ms: UTC. */
int ida_time_parse(const char *text, int64_t *at_ms);

/* RFC 3339 in UTC, with milliseconds where there are some; 0: not above 0, nothing is written. */
#define IDA_UTC_SIZE 64
int ida_utc_write(char out[IDA_UTC_SIZE], int64_t at_ms);

/* "2026-11-21T09:30:00Z" of UTC milliseconds (whole seconds; with ".123" when there are
 * milliseconds); NULL for at <= 0. */
char *ida_utc_text(apr_pool_t *pool, int64_t at_ms);

/* "20261121T093000" of UTC milliseconds, to be part of a file's name. */
char *ida_stamp(apr_pool_t *pool, int64_t at_ms);

/* How long before the expiry of a key or a certificate people are warned. */
#define IDA_ENDS_SOON_MS (INT64_C(30) * 86400000)

#endif
