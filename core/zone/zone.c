/* Owns civil time: the calendar, the questions put to a zone, and the zones kept per process. Must
 * not know requests or tenants. */
#include "core/zone/zone.h"

#include <apr_allocator.h>
#include <apr_hash.h>
#include <apr_strings.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/base/time.h"
#include "core/zone/data.h"

#define DAY_S 86400
#define FILE_MAX (1024 * 1024) /* the largest of the tz database has 4 KB */
#define NAME_LEN_MAX 100
#define LOOK_AGAIN_MS 1000
#define INSTANT_MAX INT64_C(1000000000000000) /* 31 million years: keeps years within int */
#define WIDEST_OFFSET 100000                  /* seconds, more than any offset from UTC */

static int64_t within(int64_t utc_s)
{
    return utc_s > INSTANT_MAX ? INSTANT_MAX : utc_s < -INSTANT_MAX ? -INSTANT_MAX : utc_s;
}

/* Number of transitions at or before the instant. */
static int passed(const zone_info *zone, int64_t utc_s)
{
    int low = 0, high = zone->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (zone->at[middle] <= utc_s) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

int zone_offset(const zone_info *zone, int64_t utc_s)
{
    utc_s = within(utc_s);
    int index = passed(zone, utc_s);
    if (index == zone->count && zone->has_rule) {
        return zone_rule_offset(&zone->rule, utc_s);
    }
    return index ? zone->after[index - 1] : zone->before;
}

int zone_next(const zone_info *zone, int64_t utc_s, int64_t *at)
{
    utc_s = within(utc_s);
    int index = passed(zone, utc_s);
    if (index < zone->count) {
        *at = zone->at[index];
        return 1;
    }
    return zone->has_rule && zone_rule_next(&zone->rule, utc_s, at);
}

const zone_info *zone_utc(void)
{
    static const zone_info utc = {.before = 0};
    return &utc;
}

int64_t zone_to_utc(const zone_info *zone, const zone_wall *wall)
{
    int64_t naive = within(ida_days_from_civil(wall->year, wall->month, wall->day) * DAY_S +
                           wall->hour * 3600 + wall->minute * 60 + wall->second);
    /* Spans of one offset in order of time. The first that shows the wall time is the first of a
     * doubled one; when a span begins beyond it and none before showed it, the time was skipped and
     * the span's begin is the first valid instant. */
    int64_t begin = naive - WIDEST_OFFSET;
    for (;;) {
        int64_t instant = naive - zone_offset(zone, begin), end;
        int last = !zone_next(zone, begin, &end);
        if (last || instant < end) {
            return instant > begin ? instant : begin;
        }
        begin = end;
    }
}

void zone_to_wall(const zone_info *zone, int64_t utc_s, zone_wall *wall)
{
    utc_s = within(utc_s);
    int64_t local = utc_s + zone_offset(zone, utc_s);
    int64_t days = (local >= 0 ? local : local - (DAY_S - 1)) / DAY_S;
    int second = (int)(local - days * DAY_S);
    ida_civil_from_days(days, &wall->year, &wall->month, &wall->day);
    wall->hour = second / 3600;
    wall->minute = second / 60 % 60;
    wall->second = second % 60;
}

/* Names of the tz database, which are relative paths; nothing that leaves the directory or hides in
 * it. */
static int name_valid(const char *name)
{
    size_t len = 0, part = 0;
    for (; name[len]; len++) {
        char ch = name[len];
        int letter = (ch | 0x20) >= 'a' && (ch | 0x20) <= 'z';
        if (len == NAME_LEN_MAX) {
            return 0;
        }
        if (ch == '/') {
            if (!part) {
                return 0;
            }
            part = 0;
            continue;
        }
        if (!letter && !strchr("0123456789+-_", ch)) {
            return 0;
        }
        part++;
    }
    return part > 0;
}

static ida_kind refuse(ida_ctx *c, const char *name, const char *reason)
{
    return ida_fail(
        c, IDA_BAD_REQUEST,
        "The time zone \"%s\" %s. Use a name of the tz database such as \"Europe/Stockholm\".",
        ida_clean(c->pool, name, strlen(name), 64), reason);
}

static ida_kind damaged(ida_ctx *c, const char *path, const char *reason)
{
    return ida_fail(c, IDA_INTERNAL_ERROR,
                    "The time zone file %s cannot be used: %s. Reinstall the package tzdata.", path,
                    reason);
}

static const char *path_of(apr_pool_t *pool, const char *name)
{
    const char *directory = getenv("TZDIR");
    return apr_pstrcat(pool, directory && directory[0] == '/' ? directory : "/usr/share/zoneinfo",
                       "/", name, NULL);
}

/* The whole file in pool. */
static ida_kind slurp(ida_ctx *c, apr_pool_t *scratch, const char *name, unsigned char **bytes,
                      size_t *len, struct stat *status)
{
    const char *path = path_of(scratch, name);
    /* Without blocking: a pipe in place of the file must not block the caller. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR
                   ? refuse(c, name, "does not exist on this machine")
                   : damaged(c, path, strerror(errno));
    }
    ida_kind kind = IDA_OK;
    if (fstat(fd, status) != 0) {
        kind = damaged(c, path, strerror(errno));
    } else if (!S_ISREG(status->st_mode)) {
        kind = refuse(c, name, "is a group of zones, not a zone");
    } else if (status->st_size > FILE_MAX) {
        kind = damaged(c, path, "it is too large");
    }
    if (!kind) {
        *bytes = apr_palloc(scratch, (apr_size_t)status->st_size + 1);
        *len = 0;
        ssize_t got = 1;
        while (*len < (size_t)status->st_size && got > 0) {
            got = read(fd, *bytes + *len, (size_t)status->st_size - *len);
            if (got < 0 && errno == EINTR) {
                got = 1;
                continue;
            }
            *len += got > 0 ? (size_t)got : 0;
        }
        if (got < 0) {
            kind = damaged(c, path, strerror(errno));
        }
    }
    close(fd);
    return kind;
}

static ida_kind read_zone(ida_ctx *c, apr_pool_t *pool, const char *name, zone_info **zone,
                          struct stat *status)
{
    if (!name_valid(name)) {
        return refuse(c, name, "is not a valid name");
    }
    apr_pool_t *scratch;
    apr_pool_create(&scratch, c->pool);
    unsigned char *bytes = NULL;
    size_t len = 0;
    const char *why = NULL;
    ida_kind kind = slurp(c, scratch, name, &bytes, &len, status);
    if (!kind && !zone_parse(pool, bytes, len, zone, &why)) {
        kind = strncmp(why, "not a", 5) == 0 ? refuse(c, name, ida_printf(scratch, "is %s", why))
                                             : damaged(c, path_of(scratch, name), why);
    }
    apr_pool_destroy(scratch);
    return kind;
}

ida_kind zone_read(ida_ctx *c, apr_pool_t *pool, const char *name, const zone_info **zone)
{
    zone_info *made = NULL;
    struct stat status;
    ida_kind kind = read_zone(c, pool, name, &made, &status);
    *zone = kind ? NULL : made;
    return kind;
}

typedef struct kept {
    const zone_info *zone;
    struct timespec changed;
    off_t size;
    ino_t inode;
    int64_t looked_ms; /* monotonic */
} kept;

/* Zones in use. Only names of files that exist get in, so their number is that of the tz database.
 */
static pthread_mutex_t zones_lock = PTHREAD_MUTEX_INITIALIZER;
static apr_pool_t *zones_pool;
static apr_hash_t *zones;

// cppcheck-suppress constParameter ; APR says how a cleanup is called
static apr_status_t forget(void *dying)
{
    if (zones == dying) {
        zones_pool = NULL;
        zones = NULL;
    }
    return APR_SUCCESS;
}

void zone_init(apr_pool_t *process_pool)
{
    /* An allocator of its own: the parent's belongs to other threads. */
    apr_allocator_t *allocator;
    pthread_mutex_lock(&zones_lock);
    apr_allocator_create(&allocator);
    apr_pool_create_ex(&zones_pool, process_pool, NULL, allocator);
    apr_allocator_owner_set(allocator, zones_pool);
    zones = apr_hash_make(zones_pool);
    apr_pool_cleanup_register(zones_pool, zones, forget, apr_pool_cleanup_null);
    pthread_mutex_unlock(&zones_lock);
}

static int unchanged(const kept *entry, const struct stat *status)
{
    return entry->changed.tv_sec == status->st_mtim.tv_sec &&
           entry->changed.tv_nsec == status->st_mtim.tv_nsec && entry->size == status->st_size &&
           entry->inode == status->st_ino;
}

/* Under the lock. If the file is missing or damaged (an upgrade of tzdata in progress), the
 * version in use stays. */
static void look_again(ida_ctx *c, const char *name, kept *entry)
{
    int64_t now = ida_monotonic(c->env);
    struct stat status;
    if (now - entry->looked_ms < LOOK_AGAIN_MS) {
        return;
    }
    entry->looked_ms = now;
    if (stat(path_of(c->pool, name), &status) != 0 || unchanged(entry, &status)) {
        return;
    }
    ida_ctx *own = ida_ctx_make(c->env, c->pool);
    zone_info *zone;
    if (read_zone(own, zones_pool, name, &zone, &status)) {
        ida_log(c->env, IDA_LOG_WARN, "IDA0001", "%s The rules read before stay in use.",
                own->message);
    } else {
        entry->zone = zone;
    }
    entry->changed = status.st_mtim; /* of a damaged file too: one warning for each version */
    entry->size = status.st_size;
    entry->inode = status.st_ino;
}

ida_kind zone_get(ida_ctx *c, const char *name, const zone_info **zone)
{
    ida_kind kind = IDA_OK;
    pthread_mutex_lock(&zones_lock);
    kept *entry = zones ? apr_hash_get(zones, name, APR_HASH_KEY_STRING) : NULL;
    if (entry) {
        look_again(c, name, entry);
    } else if (!zones) {
        kind = ida_fail(c, IDA_INTERNAL_ERROR,
                        "The time zones of this process were asked for before zone_init.");
    } else {
        zone_info *made;
        struct stat status;
        kind = read_zone(c, zones_pool, name, &made, &status);
        if (!kind) {
            entry = apr_pcalloc(zones_pool, sizeof *entry);
            *entry = (kept){made, status.st_mtim, status.st_size, status.st_ino,
                            ida_monotonic(c->env)};
            apr_hash_set(zones, apr_pstrdup(zones_pool, name), APR_HASH_KEY_STRING, entry);
        }
    }
    *zone = entry ? entry->zone : NULL;
    pthread_mutex_unlock(&zones_lock);
    return kind;
}
