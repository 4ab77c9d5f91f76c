/* The cache after a sync, for the tests of every dialect: tenant nordic, on-premises directory.
 * Begin with cached_begin(). */
#ifndef T_UNIT_CACHED_H
#define T_UNIT_CACHED_H

#include <sqlite3.h>

#include "core/cache/freshness.h"
#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "t/unit/slapd.h"

static store *cache, *reader;

static void cached_begin(void)
{
    const char *dsn = apr_pstrcat(pool, "sqlite3:", slapd_file("store.db"), NULL);
    is_int(store_schema_upgrade(dsn, fresh(), NULL), IDA_OK, "a store");
    cache = store_make(pool, dsn, DB_SYNC);
    reader = store_make(pool, dsn, DB_REQUEST);
}

static void cached_end(void)
{
    store_disconnect(cache);
    store_disconnect(reader);
}

static ida_user *user_of(const char *local)
{
    ida_user *user = NULL;
    ida_kind kind = cache_user_details(reader, fresh(), "nordic",
                                       apr_pstrcat(pool, local, "@nordic.example", NULL), &user,
                                       NULL);
    return kind == IDA_OK ? user : NULL;
}

/* Names of a user's groups, sorted, joined by "|". */
static const char *groups_of(const char *local)
{
    ida_user *user = user_of(local);
    const ida_group *rows;
    int count;
    if (!user || cache_user_groups(reader, fresh(), "nordic", IDA_DIR_ON_PREMISES, user->id, &rows,
                                   &count) != IDA_OK) {
        return "nobody";
    }
    const char *names[64], *text = "";
    for (int i = 0; i < count && i < 64; i++) {
        int at = i;
        for (; at > 0 && strcmp(names[at - 1], rows[i].name) > 0; at--) {
            names[at] = names[at - 1];
        }
        names[at] = rows[i].name;
    }
    for (int i = 0; i < count && i < 64; i++) {
        text = apr_pstrcat(pool, text, i ? "|" : "", names[i], NULL);
    }
    return text;
}

static cache_sync_state state_now(void)
{
    cache_sync_state state = {0};
    cache_sync_state_get(cache, fresh(), "nordic", IDA_DIR_ON_PREMISES, &state);
    return state;
}

static int64_t users_cached(void)
{
    cache_sync_info info = {0};
    cache_sync_info_get(reader, fresh(), "nordic", IDA_DIR_ON_PREMISES, &info);
    return info.users;
}

/* Writes directly into the cache, to simulate a damaged store, or the passing of time. */
static void meddle(const char *sql)
{
    sqlite3 *file;
    if (sqlite3_open(slapd_file("store-cache.db"), &file) != SQLITE_OK ||
        sqlite3_exec(file, sql, NULL, NULL, NULL) != SQLITE_OK) {
        ok(0, "meddle: %s", sqlite3_errmsg(file));
    }
    sqlite3_close(file);
}

#endif
