/* Owns the holds of this worker that a changed file may end: which directory, since when, until
 * when. Must not know the content of the files. */
#include "worker/hold/repairs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/json.h"
#include "core/store/directory.h"
#include "core/store/tenant.h"

/* One for each directory, kept until the process ends: directories are few. */
typedef struct wanted {
    char tenant[72];
    ida_directory_kind directory;
    int64_t since, until; /* ms UTC; until 0: nothing */
} wanted;

struct amends {
    struct amends *next;
    wanted of;
};

void hold_until_repaired(worker *w, const char *tenant, ida_directory_kind where, int64_t since,
                         int64_t until)
{
    pthread_mutex_lock(&w->lock);
    struct amends *a = w->amends;
    while (a && (a->of.directory != where || strcmp(a->of.tenant, tenant) != 0)) {
        a = a->next;
    }
    if (!a && (a = calloc(1, sizeof *a))) {
        snprintf(a->of.tenant, sizeof a->of.tenant, "%s", tenant);
        a->of.directory = where;
        a->next = w->amends;
        w->amends = a;
    }
    if (a) { /* without memory the hold lasts its full time */
        a->of.since = since;
        a->of.until = until;
    }
    pthread_mutex_unlock(&w->lock);
}

/* By the time of the last change of the file's status, which a replacement with an older file moves
 * too. */
static const char *changed_file(const json_t *settings, int64_t since)
{
    static const char *const members[] = {"clientSecretFile", "certificateFile", "bindPasswordFile",
                                          "caFile"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *path = ida_json_string(settings, members[i]);
        struct stat st;
        if (path && stat(path, &st) == 0 &&
            (int64_t)st.st_ctim.tv_sec * 1000 + st.st_ctim.tv_nsec / 1000000 > since) {
            return path;
        }
    }
    return NULL;
}

static void look_at(worker *w, store *main, apr_pool_t *pool, const wanted *of)
{
    ida_tenant *tenant;
    int64_t revision;
    int was_held = 0;
    const char *path = store_tenant_get(main, worker_ctx(w, pool), of->tenant, &tenant, &revision)
                           ? NULL
                           : changed_file(tenant->directory[of->directory], of->since);
    if (path &&
        !store_directory_clear(main, worker_ctx(w, pool), of->tenant, of->directory, of->until,
                               &was_held) &&
        was_held) {
        ida_log(&w->env, IDA_LOG_INFO, NULL,
                "%s was changed: the directory %s of tenant %s is tried again", path,
                ida_directory_name(of->directory), of->tenant);
    }
}

void hold_check_repairs(worker *w, store *main, apr_pool_t *pool)
{
    int64_t now = ida_now(&w->env);
    pthread_mutex_lock(&w->lock);
    struct amends *a = w->amends;
    pthread_mutex_unlock(&w->lock);
    for (; a; a = a->next) { /* only ever added, in front */
        pthread_mutex_lock(&w->lock);
        wanted of = a->of;
        pthread_mutex_unlock(&w->lock);
        if (of.until > now) {
            look_at(w, main, pool, &of);
        }
    }
}
