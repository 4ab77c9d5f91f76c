/* The probe's report as every connector writes it: one line for each check, and the first
 * failure as the outcome of all. */
#ifndef WORKER_DIRECTORY_REPORT_H
#define WORKER_DIRECTORY_REPORT_H

#include "worker/directory/directory.h"

typedef struct report {
    json_t *lines;               /* borrowed: the caller's array */
    const directory_error *last; /* error of the present call, for directory_report_judge */
    directory_class first;       /* failure; DIRECTORY_OK: none */
    directory_error error;       /* that of `first` */
} report;

/* Appends {"check","ok","detail"}; detail may be NULL. */
void directory_report_line(report *r, const char *check, int good, const char *detail);

/* A line that is no failure, but wants a person's attention: {"ok": true, "level": "warning"}. */
void directory_report_warning(report *r, const char *check, const char *detail);

/* "valid for another 89 days, until 2027-01-31": a warning when it ends soon, a failure once it
 * has. `advice`: what to do then. */
void directory_report_days(report *r, apr_pool_t *pool, const char *check, int64_t ends,
                           int64_t now, const char *advice);

/* A line from the outcome of a call; the first failure becomes the report's. 1 if the call
 * succeeded. */
int directory_report_judge(report *r, const char *check, directory_class class, const char *good);

#endif
