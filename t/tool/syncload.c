/* What the store makes of a sync, without a directory: feeds runs with entries made here and tells
 * for each how long it took, the process's memory, and how long a write-through of somebody else
 * had to wait for it.
 *
 *   syncload DSN USERS GROUPS MEMBERS_OF_EACH [cloud] [first] [beside]
 *
 * cloud: members by ID in slices over the run instead of lists of DNs. first: the first load alone.
 * beside: another tenant is in the cache already, and the write-throughs that wait are its own. */
#include <apr_general.h>
#include <apr_strings.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/cache/sync.h"
#include "t/tool/clock.h"
#include "t/tool/scattered.h"

#define SLICE 100

static apr_pool_t *pool, *item_pool;
static ida_env env;
static const char *dsn;
static const char *tenant = "bench";
static const char *const neighbour = "neighbour";
static int users, groups, members, cloud, first, beside;
static _Atomic int probing = 1;
static _Atomic long longest_us;

/* Processor time of this process: what a machine with other work to do does not change much. */
static double cpu(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Bytes of this process that are in memory, in MB: now, or the most since the last call with
 * `reset`. */
static long status_mb(const char *name)
{
    char line[200];
    long kb = 0;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strncmp(line, name, strlen(name)) == 0) {
            kb = atol(line + strlen(name) + 1);
        }
    }
    if (f) {
        fclose(f);
    }
    return kb / 1024;
}

static void reset_peak(void)
{
    FILE *f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5", f);
        fclose(f);
    }
}

static void must(ida_kind kind, const ida_ctx *c, const char *what)
{
    if (kind) {
        fprintf(stderr, "syncload: %s: %s\n", what, c->message ? c->message : ida_kind_text(kind));
        exit(1);
    }
}

/* A write-through of the other directory, or of the neighbour's user, every few milliseconds: it
 * waits for the same gate. */
static void *probe(void *baton)
{
    apr_pool_t *own, *round;
    const char *whose = beside ? neighbour : tenant, *id = baton;
    ida_directory_kind directory = (beside ? cloud : !cloud) ? IDA_DIR_CLOUD : IDA_DIR_ON_PREMISES;
    int enabled = 0;
    apr_pool_create_unmanaged_ex(&own, NULL, NULL);
    apr_pool_create(&round, own);
    store *s = store_make(own, dsn, DB_SYNC);
    while (atomic_load(&probing)) {
        struct timespec nap = {0, 3000000};
        double start = now_s();
        apr_pool_clear(round);
        ida_ctx *c = ida_ctx_make(&env, round);
        enabled = !enabled;
        if (cache_tell_enabled(s, c, whose, directory, id, enabled, NULL)) {
            fprintf(stderr, "syncload: write-through: %s\n", c->message ? c->message : "");
        }
        long us = (long)((now_s() - start) * 1e6);
        if (us > atomic_load(&longest_us)) {
            atomic_store(&longest_us, us);
        }
        nanosleep(&nap, NULL);
    }
    store_disconnect(s);
    return NULL;
}

static const char *dn(int i)
{
    return apr_psprintf(item_pool, "uid=user%05d,ou=people,dc=nordic,dc=example", i);
}

static void send_user(cache_sync *run, ida_ctx *c, int i, int version)
{
    const char *addresses[] = {apr_psprintf(item_pool, "first%d.last@alias.example", i), NULL};
    cache_user u = {.id = scattered_id(item_pool, "user", i),
                    .upn = apr_psprintf(item_pool, "user%05d@nordic.example", i),
                    .display_name = apr_psprintf(item_pool, "First%d Last%d", i % 977, i),
                    .given_name = apr_psprintf(item_pool, "First%d", i % 977),
                    .surname = apr_psprintf(item_pool, "Last%d", i),
                    .department = apr_psprintf(item_pool, "Department %d", i % 40),
                    .job_title = apr_psprintf(item_pool, "Clerk %d", version),
                    .city = "Stockholm",
                    .enabled = 1,
                    .created_at = 1700000000000,
                    .addresses = addresses};
    u.mail = u.upn;
    if (cloud) {
        u.manager_id = i ? scattered_id(item_pool, "user", i / 10) : NULL;
        u.sign_ins_untold = version > 0;
    } else {
        u.dn = u.dn_key = dn(i);
        u.manager_dn = u.manager_dn_key = i ? dn(i / 10) : NULL;
        u.stamp = apr_psprintf(item_pool, "20261121090000.%06dZ#000000#000#000000", version);
    }
    must(cache_sync_user(run, c, &u), c, "user");
}

static cache_member member_of(int group, int m)
{
    int i = (int)(((int64_t)group * 7919 + (int64_t)m * 104729) % users);
    return cloud ? (cache_member){.id = scattered_id(item_pool, "user", i), .kind = "user"}
                 : (cache_member){.dn_key = dn(i)};
}

static void send_group(cache_sync *run, ida_ctx *c, int g, int from, int to, int version)
{
    cache_group group = {.id = scattered_id(item_pool, "group", g),
                         .name = apr_psprintf(item_pool, "Group %05d", g),
                         .kind = "security",
                         .description = apr_psprintf(item_pool, "%d", version)};
    cache_member *list = apr_palloc(item_pool, (apr_size_t)(to - from + 1) * sizeof *list);
    for (int m = from; m < to; m++) {
        list[m - from] = member_of(g, m);
    }
    if (cloud) {
        must(cache_sync_group(run, c, &group, NULL, 0), c, "group");
        must(cache_sync_slice(run, c, group.id, list, to - from), c, "slice");
    } else {
        group.dn = group.dn_key = apr_psprintf(item_pool,
                                               "cn=group %05d,ou=groups,dc=nordic,dc=example", g);
        must(cache_sync_group(run, c, &group, list, to - from), c, "group");
    }
}

/* `changed`: every so many-th entry is another one than last time. */
static void run_once(store *s, const char *name, int full, int changed, int version)
{
    cache_sync *run;
    cache_summary summary;
    apr_pool_t *run_pool;
    apr_pool_create(&run_pool, pool);
    ida_ctx *c = ida_ctx_make(&env, run_pool);
    reset_peak();
    long before = status_mb("VmRSS");
    atomic_store(&longest_us, 0);
    double start = now_s(), busy = cpu();
    must(cache_sync_begin(&run, s, c, run_pool, tenant, cloud ? IDA_DIR_CLOUD : IDA_DIR_ON_PREMISES,
                          full),
         c, "begin");
    for (int i = 0; i < users; i++, apr_pool_clear(item_pool)) {
        int is_new = changed && i % changed == 0;
        if (full || is_new) {
            send_user(run, c, i, is_new ? version : 0);
        }
    }
    int step = cloud ? SLICE : members;
    for (int from = 0; from < members && (full || changed); from += step) {
        for (int g = 0; g < groups; g++, apr_pool_clear(item_pool)) {
            int is_new = changed && g % changed == 0;
            if (full || (is_new && !cloud)) {
                send_group(run, c, g, is_new ? from + 1 : from,
                           from + step < members ? from + step : members, is_new ? version : 0);
            }
        }
    }
    double fed = now_s();
    must(cache_sync_commit(run, c, "{}", "b", NULL, 1, &summary), c, "commit");
    double end = now_s();
    busy = cpu() - busy;
    store_checkpoint(s, c);
    printf("%-34s %7.2f s (fed %.2f, commit %.2f, processor %.2f)  %+4ld MB to %ld MB  longest "
           "wait %4ld ms  %lld users %lld groups %lld unresolved\n",
           name, end - start, fed - start, end - fed, busy, status_mb("VmHWM") - before,
           status_mb("VmHWM"), atomic_load(&longest_us) / 1000, (long long)summary.users,
           (long long)summary.groups, (long long)summary.unresolved);
    fflush(stdout);
    apr_pool_destroy(run_pool);
}

/* A few people of another tenant. */
static void settle_neighbour(store *s)
{
    int all[] = {users, groups, members};
    const char *loaded = tenant;
    tenant = neighbour;
    users = 1000;
    groups = members = 10;
    run_once(s, "the neighbour", 1, 0, 0);
    users = all[0];
    groups = all[1];
    members = all[2];
    tenant = loaded;
}

int main(int argc, char **argv)
{
    pthread_t prober;
    apr_initialize();
    atexit(apr_terminate);
    apr_pool_create(&pool, NULL);
    apr_pool_create(&item_pool, pool);
    ida_env_default(&env);
    if (argc < 5) {
        fprintf(stderr,
                "usage: syncload DSN USERS GROUPS MEMBERS_OF_EACH [cloud] [first] [beside]\n");
        return 2;
    }
    dsn = argv[1];
    users = atoi(argv[2]);
    groups = atoi(argv[3]);
    members = atoi(argv[4]);
    for (int i = 5; i < argc; i++) {
        cloud |= strcmp(argv[i], "cloud") == 0;
        first |= strcmp(argv[i], "first") == 0;
        beside |= strcmp(argv[i], "beside") == 0;
    }
    ida_ctx *c = ida_ctx_make(&env, pool);
    must(store_schema_upgrade(dsn, c, NULL), c, "schema upgrade");
    store *s = store_make(pool, dsn, DB_SYNC);
    must(store_connect(s, c), c, "connect");
    if (beside) {
        settle_neighbour(s);
    }
    pthread_create(&prober, NULL, probe,
                   apr_pstrdup(pool, beside ? scattered_id(item_pool, "user", 0) : "nobody"));
    run_once(s, "first load", 1, 0, 0);
    if (!first) {
        run_once(s, "all again, nothing new", 1, 0, 0);
        run_once(s, "all again, each tenth changed", 1, 10, 1);
        run_once(s, "each hundredth changed", 0, 100, 2);
        run_once(s, "nothing", 0, 0, 0);
    }
    atomic_store(&probing, 0);
    pthread_join(prober, NULL);
    return 0;
}
