/* Converts `date` and `time` of a payload to an instant, as in doc/rest.md: defaults, the days
 * allowed, skipped and doubled hours. */
#ifndef CORE_ZONE_SCHEDULE_H
#define CORE_ZONE_SCHEDULE_H

#include "core/base/context.h"

/* Wall time and zone are stored with the instant, so that it can be resolved again when zone
 * rules change. */
typedef struct zone_due {
    const char *date; /* YYYY-MM-DD as it will be carried out, local */
    const char *time; /* HH:mm, local */
    const char *zone; /* IANA name */
    int64_t at_ms;    /* UTC */
    int given;        /* 0 when the caller gave neither date nor time and the default is "now" */
    int past;         /* 1: the instant is before now: the task runs at once, and the answer says
                         so */
    /* How the wall time was adjusted: "past" as above; "skipped": it does not exist, so the
     * first instant after it; "doubled": it occurs twice, so the first; NULL: not at all. */
    const char *adjustment;
} zone_due;

typedef enum zone_due_default {
    ZONE_DUE_CREATE,
    ZONE_DUE_DELETE,
    ZONE_DUE_UPDATE
} zone_due_default;

/* date and time may be NULL. Format, calendar, 366 days past and 10 years ahead are checked; faults
 * are added to c under the fields "date" and "time" (and IDA_OK is returned with due->at_ms 0; the
 * caller raises). Other failures (zone unreadable) are returned. */
ida_kind zone_schedule(ida_ctx *c, zone_due_default kind, const char *zone, const char *date,
                       const char *time, zone_due *due);

/* The same wall time and zone resolved again under today's zone rules; 0 on failure. */
int64_t zone_schedule_again(ida_ctx *c, const char *zone, const char *date, const char *time);

/* RFC 3339 with the zone's offset at that instant: "2027-03-01T09:00:00+01:00". In UTC when the
 * zone cannot be read. */
const char *zone_schedule_local(ida_ctx *c, const char *zone, int64_t at_ms);

/* "2027-03-01 09:00 Europe/Stockholm (2027-03-01T08:00:00Z)": for messages to people. */
const char *zone_schedule_people(ida_ctx *c, const char *zone, int64_t at_ms);

#endif
