/* Items of the cloud directory's delta pages, staged as in a sync: a page whose links and items are
 * taken, users or groups by the first bit. */
#include <stdio.h>
#include <unistd.h>

#include "core/cache/sync.h"
#include "t/fuzz/fuzz_copy.h"
#include "worker/graph/delta.h"
#include "worker/graph/fetch.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    store *s = the_store(c);
    if (!size) {
        return 0;
    }
    char *bytes = fuzz_text(data + 1, size - 1);
    graph g = {.env = c->env,
               .pool = c->pool,
               .root = "https://graph.example/v1.0",
               .origin = "https://graph.example:443",
               .directory_id = "unit"};
    directory_error e;
    graph_call k = graph_call_begin(&g, c->pool, &e);
    graph_page page = {.pool = c->pool};
    const char *next;
    if (graph_page_open(&page, bytes, &next)) {
        graph_delta d = {.k = &k,
                         .c = c,
                         .pool = c->pool,
                         .skus = apr_hash_make(c->pool),
                         .gone = apr_hash_make(c->pool)};
        graph_reader r;
        directory_class class = DIRECTORY_OK;
        apr_pool_create(&d.item_pool, c->pool);
        d.appeared = data[0] & 2 ? apr_hash_make(c->pool) : NULL;
        FUZZ_HOLDS(cache_sync_begin(&d.run, s, c, c->pool, "nordic", IDA_DIR_CLOUD,
                                    !(data[0] & 2)) == IDA_OK);
        graph_reader_begin(&r, page.items);
        for (int more = graph_array_begin(&r); more && !class; more = graph_array_next(&r)) {
            class = data[0] & 1 ? graph_delta_group(&d, &r) : graph_delta_user(&d, &r);
            FUZZ_HOLDS(!class || (e.message && *e.message));
        }
        cache_sync_abort(d.run, c, NULL);
    }
    free(bytes);
    return 0;
}
