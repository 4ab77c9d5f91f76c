/* Owns the doctor's report of a tenant: seal, then what each connector's probe says. Changes
 * nothing. */
#include "worker/check.h"

#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/web_user.h"
#include "core/store/tenant.h"
#include "worker/run/session.h"
#include "worker/send/webhook.h"

static void line(apr_pool_t *pool, int ok, const char *what, const char *detail)
{
    const char *text = detail ? ida_clean(pool, detail, strlen(detail), 0) : "";
    printf("  %-4s  %s%s%s\n", ok ? "ok" : "FAIL", what, text[0] ? ": " : "", text);
}

/* 1 when all is well. */
static int check_directory(session_cache *sessions, store *main, apr_pool_t *pool,
                           const char *tenant, ida_directory_kind where)
{
    session *s;
    directory_error e;
    printf("directory %s\n", ida_directory_name(where));
    if (run_session_get(sessions, main, pool, tenant, where, &s, &e) != DIRECTORY_OK) {
        line(pool, 0, "settings", e.message);
        return 0;
    }
    line(pool, 1, "settings", "sealed by idadminctl");
    json_t *report = ida_json_keep(pool, json_array());
    directory_class class = s->ops->probe(s->dir, pool, report, &e);
    int failed = 0;
    size_t i;
    json_t *row;
    json_array_foreach (report, i, row) {
        int ok = json_is_true(json_object_get(row, "ok"));
        const char *check = ida_json_string(row, "check");
        failed += !ok;
        line(pool, ok, check ? check : "check", ida_json_string(row, "detail"));
    }
    if (class != DIRECTORY_OK && !failed) {
        line(pool, 0, directory_class_text(class), e.message);
    }
    return class == DIRECTORY_OK && !failed;
}

/* What the document names by path, as apply would judge it now. */
static int check_files(ida_ctx *c, const ida_tenant *tenant)
{
    ida_kind kind = ida_tenant_files_check(c, tenant);
    if (!kind) {
        webhook_secrets_check(c, tenant);
        kind = ida_faults_raise(c);
    }
    line(c->pool, !kind, "files of secrets", kind ? c->message : NULL);
    return !kind;
}

int check_tenant(worker *w, const char *id, apr_pool_t *pool)
{
    ida_ctx *c = worker_ctx(w, pool);
    store *main = store_make(pool, w->config.store, DB_REQUEST);
    session_cache sessions = {.w = w};
    ida_tenant *tenant;
    ida_kind kind = store_tenant_get(main, c, id, &tenant, NULL, NULL);
    if (kind) {
        fprintf(stderr, "idadmin-worker: %s\n",
                kind == IDA_NOT_FOUND
                    ? ida_printf(pool,
                                 "There is no tenant %s; `idadminctl tenant list` names them.", id)
                    : c->message);
        return 1;
    }
    printf("tenant %s (%s)\n", tenant->id, tenant->name);
    const char *web = ida_web_user_name(); /* where it can do more this program has not started */
    line(pool, 1, "users",
         web ? ida_printf(pool,
                          "httpd's %s can neither read nor replace the seal key and the secrets",
                          web)
             : ida_printf(pool,
                          "there is no %s on this machine from whom the secrets had to be kept",
                          w->config.web_user));
    int good = check_files(c, tenant);
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        good &= !tenant->has_directory[d] ||
                check_directory(&sessions, main, pool, id, (ida_directory_kind)d);
    }
    run_session_close_all(&sessions);
    puts(good ? "All checks passed." : "Some checks failed.");
    return !good;
}
