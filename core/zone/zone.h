/* Time zones from the system's TZif files (RFC 9636, footer rule included). Knows nothing of requests. */
#ifndef CORE_ZONE_ZONE_H
#define CORE_ZONE_ZONE_H

#include "core/base/context.h"

typedef struct ida_zone ida_zone;

typedef struct ida_wall {
    int year, month, day, hour, minute, second; /* month 1-12, day 1-31 */
} ida_wall;

/* Reads zone `name` ("Europe/Stockholm") below $TZDIR, else /usr/share/zoneinfo, into `pool`. IDA_BAD_REQUEST naming the zone when it
 * does not exist or the name is not a plain relative path; IDA_INTERNAL_ERROR when the file is damaged. */
ida_kind ida_zone_read(ida_ctx *c, apr_pool_t *pool, const char *name, const ida_zone **zone);

/* Like ida_zone_read, kept per process and read again when the file's mtime, size or inode changed (looked at most once a second).
 * Thread-safe after ida_zone_init. The returned zone stays valid for the life of the process (old versions are kept; rule updates are rare). */
ida_kind ida_zone_get(ida_ctx *c, const char *name, const ida_zone **zone);
void ida_zone_init(apr_pool_t *process_pool);

/* The zone without offset, which needs no file. */
const ida_zone *ida_zone_utc(void);

/* Seconds east of UTC in force at the instant. */
int ida_zone_offset(const ida_zone *zone, int64_t utc_s);

/* Instant of a wall time, by design 4: a skipped time is the first valid instant after the gap, a doubled one the first of the two. */
int64_t ida_zone_to_utc(const ida_zone *zone, const ida_wall *wall);

void ida_zone_to_wall(const ida_zone *zone, int64_t utc_s, ida_wall *wall);

#endif
