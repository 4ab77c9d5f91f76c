/* Pages of the cloud directory's rounds of changes, from the bytes of an answer to what is staged
 * in a sync: users or groups by the first bit, a round over everything unless the second is set. */
#include <stdio.h>
#include <unistd.h>

#include "core/cache/sync.h"
#include "t/fuzz/fuzz_copy.h"
#include "t/fuzz/mutate.h"
#include "worker/graph/answer.h"
#include "worker/graph/sync.h"

static char directory_name[64];

static void clean(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory_name);
    FUZZ_HOLDS(system(command) == 0);
}

/* A store of this process, in memory where there is such a place. */
static store *the_store(ida_ctx *c)
{
    static store *s;
    static apr_pool_t *kept;
    if (!s) {
        apr_pool_create(&kept, NULL);
        snprintf(directory_name, sizeof directory_name, "%s/idadmin-fuzz-XXXXXX",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
        FUZZ_HOLDS(mkdtemp(directory_name));
        atexit(clean);
        const char *dsn = ida_printf(kept, "sqlite3:%s/store.db", directory_name);
        FUZZ_HOLDS(store_schema_upgrade(dsn, c, NULL) == IDA_OK);
        s = store_make(kept, dsn, DB_SYNC);
        graph_library_init();
    }
    return s;
}

FUZZ_STRUCTURE(fuzz_json, 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    store *s = the_store(c);
    if (!size) {
        return 0;
    }
    graph g = {.env = c->env,
               .pool = c->pool,
               .root = "https://graph.example/v1.0",
               .origin = "https://graph.example:443",
               .directory_id = "unit"};
    directory_error e;
    graph_call k = graph_call_begin(&g, c->pool, &e);
    const graph_request request = {.method = "GET", .sync = 1, .doing = "reading"};
    http_answer raw = {.status = 200, .bytes = malloc(size), .len = size - 1};
    graph_answer answer = {0};
    FUZZ_HOLDS(raw.bytes);
    memcpy(raw.bytes, data + 1, size - 1);
    raw.bytes[size - 1] = '\0';
    directory_class class = graph_answer_read(&k, GRAPH_READ, &request, &raw, &answer);
    http_answer_free(&raw);
    graph_delta d = {.k = &k,
                     .c = c,
                     .pool = c->pool,
                     .unnamed = apr_hash_make(c->pool),
                     .gone = apr_hash_make(c->pool),
                     .appeared = data[0] & 2 ? apr_hash_make(c->pool) : NULL};
    json_t *item;
    size_t i;
    FUZZ_HOLDS(class || json_is_object(answer.json));
    if (json_array_size(json_object_get(answer.json, "value"))) {
        apr_pool_create(&d.item_pool, c->pool);
        FUZZ_HOLDS(cache_sync_begin(&d.run, s, c, c->pool, "nordic", IDA_DIR_CLOUD,
                                    !(data[0] & 2)) == IDA_OK);
        json_array_foreach (json_object_get(answer.json, "value"), i, item) {
            class = data[0] & 1 ? graph_delta_group(&d, item) : graph_delta_user(&d, item);
            FUZZ_HOLDS(!class || (e.message && *e.message));
        }
        cache_sync_abort(d.run, c, NULL);
    }
    return 0;
}
