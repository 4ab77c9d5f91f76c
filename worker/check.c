/* Owns the report of `idadmin-worker --check` on a tenant: the seal, then the report of each
 * connector's probe. Changes nothing. */
#include "worker/check.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/web_user.h"
#include "core/store/tenant.h"
#include "worker/hold/crash.h"
#include "worker/run/session.h"
#include "worker/send/webhook.h"

static void add(json_t *lines, int ok, const char *check, const char *detail)
{
    json_t *line = json_object();
    ida_json_put(line, "check", check);
    json_object_set_new(line, "ok", json_boolean(ok));
    ida_json_put_or_null(line, "detail", detail && *detail ? detail : NULL);
    json_array_append_new(lines, line);
}

static void check_directory(session_cache *sessions, store *main, apr_pool_t *pool,
                            const char *tenant, ida_directory_kind where, json_t *lines)
{
    session *s;
    directory_error e;
    if (run_session_get(sessions, main, pool, tenant, where, &s, &e) != DIRECTORY_OK) {
        add(lines, 0, "settings", e.message);
        return;
    }
    add(lines, 1, "settings", "sealed by idadminctl");
    json_t *report = ida_json_keep(pool, json_array());
    hold_crash_call_begins(sessions->w, tenant, where);
    directory_class class = s->ops->probe(s->dir, pool, report, &e);
    hold_crash_call_ends();
    int failed = 0;
    size_t i;
    json_t *row;
    json_array_foreach (report, i, row) {
        int ok = json_is_true(json_object_get(row, "ok"));
        const char *check = ida_json_string(row, "check");
        failed += !ok;
        add(lines, ok, check ? check : "check", ida_json_string(row, "detail"));
    }
    if (class != DIRECTORY_OK && !failed) {
        add(lines, 0, directory_class_text(class), e.message);
    }
}

/* The files that the document names, judged as apply would judge them now. */
static void check_files(ida_ctx *c, const ida_tenant *tenant, json_t *lines)
{
    ida_kind kind = ida_tenant_files_check(c, tenant);
    if (!kind) {
        webhook_secrets_check(c, tenant);
        kind = ida_faults_raise(c);
    }
    add(lines, !kind, "files of secrets", kind ? c->message : NULL);
}

static void check_machine(worker *w, ida_ctx *c, const ida_tenant *tenant, json_t *lines)
{
    worker_config now;
    worker_settings(w, c->pool, &now);
    const char *web = ida_web_user_name(); /* if it had more access, this program would not have
                                              started */
    add(lines, 1, "users",
        web ? ida_printf(c->pool,
                         "httpd's %s can neither read nor replace the seal key and the secrets",
                         web)
            : ida_printf(c->pool,
                         "there is no %s on this machine from whom the secrets had to be kept",
                         now.web_user));
    check_files(c, tenant, lines);
}

json_t *check_report(worker *w, store *main, apr_pool_t *pool, const char *tenant_id,
                     ida_directory_kind where)
{
    ida_ctx *c = worker_ctx(w, pool);
    session_cache sessions = {.w = w, .env = &w->env};
    json_t *lines = ida_json_keep(pool, json_array());
    ida_tenant *tenant;
    if (store_tenant_get(main, c, tenant_id, &tenant, NULL)) {
        add(lines, 0, "settings", c->message);
        return lines;
    }
    check_machine(w, c, tenant, lines);
    check_directory(&sessions, main, pool, tenant_id, where, lines);
    run_session_close_all(&sessions);
    return lines;
}

/* 1 when all is well. */
static int print(apr_pool_t *pool, const json_t *lines)
{
    int good = 1;
    size_t i;
    json_t *line;
    json_array_foreach ((json_t *)lines, i, line) {
        int ok = json_is_true(json_object_get(line, "ok"));
        const char *detail = ida_json_string(line, "detail");
        const char *text = detail ? ida_clean(pool, detail, strlen(detail), 0) : "";
        printf("  %-4s  %s%s%s\n", ok ? "ok" : "FAIL", ida_json_string(line, "check"),
               text[0] ? ": " : "", text);
        good &= ok;
    }
    return good;
}

int check_tenant(worker *w, const char *id, apr_pool_t *pool)
{
    ida_ctx *c = worker_ctx(w, pool);
    store *main = store_make(pool, w->config.store, DB_REQUEST);
    session_cache sessions = {.w = w, .env = &w->env};
    ida_tenant *tenant;
    ida_kind kind = store_tenant_get(main, c, id, &tenant, NULL);
    json_t *lines = ida_json_keep(pool, json_array());
    if (kind && c->reason) { /* not to be followed */
        add(lines, 0, "settings", c->message);
        print(pool, lines);
        puts("Some checks failed.");
        return 1;
    }
    if (kind) {
        fprintf(stderr, "idadmin-worker: %s\n",
                kind == IDA_NOT_FOUND
                    ? ida_printf(pool,
                                 "There is no tenant %s; `idadminctl tenant list` names them.", id)
                    : c->message);
        return 1;
    }
    printf("tenant %s (%s)\n", tenant->id, tenant->name);
    check_machine(w, c, tenant, lines);
    int good = print(pool, lines);
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        if (tenant->has_directory[d]) {
            json_array_clear(lines);
            printf("directory %s\n", ida_directory_name((ida_directory_kind)d));
            check_directory(&sessions, main, pool, id, (ida_directory_kind)d, lines);
            good &= print(pool, lines);
        }
    }
    run_session_close_all(&sessions);
    puts(good ? "All checks passed." : "Some checks failed.");
    return !good;
}
