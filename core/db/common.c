/* Owns what the drivers share: the names of files, clocks, limits of time, the rows of a result.
 * Must not know a driver. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/db/driver.h"

static const struct {
    const char *name;
    db_role role;
} files[DB_FILE_COUNT] = {
    [DB_MAIN] = {"main", DB_REQUEST},
    [DB_CACHE] = {"cache", DB_SYNC},
    [DB_AUDIT] = {"audit", DB_INGEST},
};

const int db_statement_ms[DB_ROLE_COUNT] = {
    [DB_READ] = 10000, [DB_REQUEST] = 10000, [DB_SYNC] = 300000, [DB_INGEST] = 60000};

int64_t db_clock(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int db_say_now(_Atomic int64_t *said, int64_t every_ms)
{
    return ida_say_now(said, db_clock(), every_ms);
}

void db_sleep(int ms)
{
    struct timespec ts = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&ts, NULL);
}

const char *db_text(const db_result *r, int row, int column)
{
    return row >= 0 && row < r->rows && column >= 0 && column < r->columns
               ? r->values[row * r->columns + column].text
               : NULL;
}

const void *db_row(const db_result *r, int row, db_row_kind kind)
{
    static const db_any_row nothing;
    if (row < 0 || row >= r->rows) {
        return &nothing;
    }
    if (r->kind != kind) {
        abort();
    }
    return r->values + row * r->columns;
}

db_value *db_rows_add(db_rows *rows)
{
    db_result *r = rows->result;
    int used = r->rows * r->columns;
    if (used + r->columns > rows->capacity) {
        int capacity = rows->capacity ? rows->capacity * 2 : r->columns * 4;
        db_value *values = apr_palloc(rows->pool, (apr_size_t)capacity * sizeof *values);
        if (used) {
            memcpy(values, rows->values, (size_t)used * sizeof *values);
        }
        rows->values = values;
        rows->capacity = capacity;
        r->values = values;
    }
    r->rows++;
    return rows->values + used;
}

const char *db_file_name(db_file file)
{
    return files[file].name;
}

db_role db_file_role(db_file file)
{
    return files[file].role;
}
