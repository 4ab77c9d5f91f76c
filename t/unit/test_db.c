/* The drivers and the base of the store, on both engines: opening, schema, transactions, the gate under many processes. */
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/db_gate.h"
#include "core/migrations.h"
#include "core/store.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static const char *engine;

static void test_upgrade(const char *dsn)
{
    ida_ctx *c = fresh();
    json_t *steps = json_array();
    is_int(store_schema_upgrade(dsn, c, steps), IDA_OK, "schema upgrade");
    if (c->message) {
        printf("# %s\n", c->message);
    }
    is_int((int64_t)json_array_size(steps), 3, "a step for each file");
    json_array_clear(steps);
    is_int(store_schema_upgrade(dsn, fresh(), steps), IDA_OK, "a second upgrade");
    is_int((int64_t)json_array_size(steps), 0, "does nothing");
    json_decref(steps);
}

static void test_setting(const char *dsn)
{
    store *s = store_make(pool, dsn, DB_REQUEST);
    unsigned char one[32], two[32];
    is_int(store_cursor_key(s, fresh(), one), IDA_OK, "cursor key is there");
    store *other = store_make(pool, dsn, DB_REQUEST);
    is_int(store_cursor_key(other, fresh(), two), IDA_OK, "from another connection");
    ok(memcmp(one, two, sizeof one) == 0, "the same");
    const char *value;
    is_int(store_setting_get(s, fresh(), "nothing", &value), IDA_NOT_FOUND, "unknown setting");
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *dsn = store_engine(i, &engine);
        printf("# %s\n", engine);
        test_upgrade(dsn);
        test_setting(dsn);
    }
    return done();
}
