/* Puts people and groups into the cache of a tenant by one run of a synchronisation, as a worker
 * does, without a directory: so many people that a directory would need an hour to be filled.
 * Whatever a search can ask for is among them. Then it stays as a worker does, with the cache open:
 * SQLite trusts what several processes share of its log only while somebody who may write has it
 * open, and httpd's children, who may not, would read every page anew for each request.
 *
 *   people DSN TENANT USERS */
#include <apr_general.h>
#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/cache/sync.h"
#include "t/tool/scattered.h"

#define DAY INT64_C(86400000)
#define SMALL 20 /* members of the small group */
#define TEAM 5000
#define TEAMS 5 /* that each person is in */
#define BATCH 100

static apr_pool_t *pool, *item_pool;
static ida_env env;
static int users;

static void must(ida_kind kind, ida_ctx *c, const char *what)
{
    if (kind) {
        fprintf(stderr, "people: %s: %s\n", what, c->message ? c->message : ida_kind_text(kind));
        exit(1);
    }
}

/* From 1 on, as t/tool/load.lua names them. */
static void send_user(cache_sync *run, ida_ctx *c, int i, int64_t now)
{
    static const char *first[] = {"Anna", "Erik", "Maria", "Lars", "Karin", "Nils", "Eva", "Olof"};
    static const char *held[] = {"ENTERPRISEPACK", "SPE_E3", NULL};
    const char *licenses[] = {i % 100 == 1 ? "VISIO" : NULL, NULL};
    int64_t seen = i % 20 == 7 ? 0 : now - i % 400 * DAY;
    cache_user u = {
        .id = scattered_id(item_pool, "user", i),
        .upn = apr_psprintf(item_pool, "user%05d@nordic.example", i),
        .display_name = apr_psprintf(item_pool, "%s Family%d", first[i % 8], i % 5000),
        .given_name = first[i % 8],
        .surname = apr_psprintf(item_pool, "Family%d", i % 5000),
        .department = i % 1000 == 3 ? "Archive" : apr_psprintf(item_pool, "Department %d", i % 40),
        .job_title = i % 1000 == 5 ? "Captain" : "Clerk",
        .company = i % 1000 == 9 ? "Nordic Sea AB" : "Nordic AB",
        .employee_id = apr_psprintf(item_pool, "E%07d", i),
        .city = "Stockholm",
        .country = "SE",
        .licenses = i % 3 ? held : licenses,
        .enabled = i % 25 != 0,
        .guest = i % 200 == 11,
        .created_at = now - i % 3000 * DAY,
        .last_sign_in_at = seen,
        .last_success_at = seen,
        .manager_id = i > 10 && i % 50 ? scattered_id(item_pool, "user", i / 10) : NULL,
    };
    u.mail = u.upn;
    must(cache_sync_user(run, c, &u), c, "user");
}

/* `count` members, every `step`-th person from `first` on, in slices: no list of all in memory. */
static void send_group(cache_sync *run, ida_ctx *c, int number, const char *name, int count,
                       int first, int step)
{
    cache_group group = {.id = scattered_id(item_pool, "group", number),
                         .name = name,
                         .kind = "security"};
    must(cache_sync_group(run, c, &group, NULL, 0), c, "group");
    for (int from = 0; from < count; from += BATCH) {
        cache_member list[BATCH];
        int some = count - from < BATCH ? count - from : BATCH;
        for (int m = 0; m < some; m++) {
            int i = (int)((first + (int64_t)(from + m) * step) % users) + 1;
            list[m] = (cache_member){.id = scattered_id(item_pool, "user", i), .kind = "user"};
        }
        must(cache_sync_slice(run, c, scattered_id(item_pool, "group", number), list, some), c,
             "members");
        apr_pool_clear(item_pool);
    }
}

int main(int argc, char **argv)
{
    cache_sync *run;
    cache_summary summary;
    if (argc != 4 || (users = atoi(argv[3])) < SMALL) {
        fprintf(stderr, "usage: people DSN TENANT USERS (at least %d)\n", SMALL);
        return 2;
    }
    apr_initialize();
    atexit(apr_terminate);
    apr_pool_create(&pool, NULL);
    apr_pool_create(&item_pool, pool);
    ida_env_default(&env);
    ida_ctx *c = ida_ctx_make(&env, pool);
    store *s = store_make(pool, argv[1], DB_SYNC);
    must(store_connect(s, c), c, "connect");
    must(cache_sync_begin(&run, s, c, pool, argv[2], IDA_DIR_CLOUD, 1), c, "begin");
    for (int i = 1; i <= users; i++, apr_pool_clear(item_pool)) {
        send_user(run, c, i, ida_now(&env));
    }
    send_group(run, c, 1, "Small group", SMALL, 0, 1);
    send_group(run, c, 2, "Large group", users / 20, 0, 1);
    send_group(run, c, 3, "Empty group", 0, 0, 1);
    int teams = users / TEAM;
    for (int t = 0; t < teams * TEAMS; t++) {
        send_group(run, c, 4 + t, apr_psprintf(item_pool, "Team %04d", t), TEAM, t % teams, teams);
    }
    must(cache_sync_complete(run, c, "user"), c, "users");
    must(cache_sync_complete(run, c, "group"), c, "groups");
    must(cache_sync_commit(run, c, "{}", "bench", NULL, 1, &summary), c, "commit");
    store_checkpoint(s, c);
    printf("%lld users, %lld groups\n", (long long)summary.users, (long long)summary.groups);
    fflush(stdout);
    for (;;) {
        pause();
    }
}
