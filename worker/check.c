/* Owns how `idadmin-worker --check` and the console show the table of checks. Must not know how a
 * check is made (worker/checks.c). */
#include "worker/check.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/tenant.h"
#include "worker/checks.h"

static check_look look_of(worker *w, store *main, apr_pool_t *pool, worker_config *now)
{
    worker_settings(w, pool, now);
    return (check_look){.c = worker_ctx(w, pool),
                        .pool = pool,
                        .config = now,
                        .main = main,
                        .w = w,
                        .lines = ida_json_keep(pool, json_array())};
}

/* The company as it is sealed. IDA_OK also for a document that must not be followed, with a line
 * that says so, and look->tenant NULL. */
static ida_kind load(check_look *look, const char *id)
{
    ida_tenant *tenant = NULL;
    ida_kind kind = store_tenant_get(look->main, look->c, id, &tenant, NULL);
    if (kind && !look->c->reason) {
        return kind;
    }
    look->tenant = kind ? NULL : tenant;
    check_judge(look, NULL, "settings", kind ? look->c->message : NULL, "sealed by idadminctl");
    return IDA_OK;
}

json_t *check_report(worker *w, store *main, apr_pool_t *pool, const char *tenant_id,
                     ida_directory_kind where)
{
    worker_config now;
    check_look look = look_of(w, main, pool, &now);
    if (load(&look, tenant_id)) {
        check_line(&look, NULL, "settings", CHECK_FAULT, look.c->message);
    }
    look.directory = where;
    if (look.tenant && look.tenant->has_directory[where]) {
        checks_walk(&look, CHECK_DIRECTORY);
    } else if (look.tenant) {
        check_line(&look, NULL, "settings", CHECK_FAULT,
                   "the tenant document has no such directory any more");
    }
    return look.lines;
}

/* A heading before the lines of each directory. */
static void print(apr_pool_t *pool, const json_t *lines)
{
    static const char *const marks[] = {"ok", "warn", "FAIL"};
    const char *before = NULL;
    size_t i;
    json_t *line;
    json_array_foreach ((json_t *)lines, i, line) {
        const char *level = ida_json_string(line, "level"), *of = ida_json_string(line, "of"),
                   *detail = ida_json_string(line, "detail");
        const char *text = detail ? ida_clean(pool, detail, strlen(detail), 0) : "";
        int number = CHECK_OK, headed = of && ida_directory_parse(of) >= 0;
        while (strcmp(check_level_word((check_level)number), level) != 0) {
            number++;
        }
        if (headed && (!before || strcmp(before, of) != 0)) {
            printf("directory %s\n", of);
        }
        before = of;
        printf("  %-4s  %s%s%s%s%s\n", marks[number], of && !headed ? of : "",
               of && !headed ? " " : "", ida_json_string(line, "check"), text[0] ? ": " : "", text);
    }
}

int check_tenant(worker *w, const char *id, apr_pool_t *pool)
{
    worker_config now;
    check_look look = look_of(w, store_make(pool, w->config.store, DB_REQUEST), pool, &now);
    if (load(&look, id)) {
        fprintf(stderr, "idadmin-worker: %s\n",
                look.c->kind == IDA_NOT_FOUND
                    ? ida_printf(pool,
                                 "There is no tenant %s; `idadminctl tenant list` names them.", id)
                    : look.c->message);
        return 1;
    }
    if (look.tenant) {
        printf("tenant %s (%s)\n", look.tenant->id, look.tenant->name);
        checks_walk(&look, CHECK_SERVICE);
    }
    print(pool, look.lines);
    puts(look.worst == CHECK_FAULT ? "Some checks failed." : "All checks passed.");
    return look.worst == CHECK_FAULT;
}
