/* Time zones from the system's TZif files (RFC 9636, footer rule included). Knows nothing of
 * requests. */
#ifndef CORE_ZONE_ZONE_H
#define CORE_ZONE_ZONE_H

#include "core/base/context.h"

typedef struct zone_info zone_info;

typedef struct zone_wall {
    int year, month, day, hour, minute, second; /* month 1-12, day 1-31 */
} zone_wall;

/* Reads zone `name` ("Europe/Stockholm") from $TZDIR or /usr/share/zoneinfo into `pool`.
 * IDA_BAD_REQUEST with the zone's name if it does not exist or the name is not a plain relative
 * path; IDA_INTERNAL_ERROR if the file is damaged. */
ida_kind zone_read(ida_ctx *c, apr_pool_t *pool, const char *name, const zone_info **zone);

/* Like zone_read, cached in the process and read again if the file's mtime, size or inode has
 * changed (checked at most once a second). Thread-safe after zone_init. The returned zone stays
 * valid for the life of the process (old versions are kept; rule updates are rare). */
ida_kind zone_get(ida_ctx *c, const char *name, const zone_info **zone);
void zone_init(apr_pool_t *process_pool);

/* The zone without offset, which needs no file. */
const zone_info *zone_utc(void);

/* Seconds east of UTC in force at the instant. */
int zone_offset(const zone_info *zone, int64_t utc_s);

/* Instant of a wall time: a skipped time is the first valid instant after the gap, a doubled one
 * the first of the two. */
int64_t zone_to_utc(const zone_info *zone, const zone_wall *wall);

void zone_to_wall(const zone_info *zone, int64_t utc_s, zone_wall *wall);

#endif
