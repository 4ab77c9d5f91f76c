/* idadminctl tenant check: what a document names, asked before it is applied. Changes nothing. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/person.h"
#include "worker/ctl/ctl.h"
#include "worker/directory/directory.h"
#include "worker/send/webhook.h"

typedef struct check_work {
    ctl_call *ctl;
    store *store;
    const ida_tenant *tenant;
    json_t *rows;
    int failed, synced; /* synced: the cache has had a whole synchronisation of each directory */
} check_work;

static void add(check_work *work, const char *of, const char *check, const char *fault,
                const char *detail)
{
    json_t *row = ida_json_texts("of", of, "check", check, "result", fault ? "FAIL" : "ok",
                                 "detail", fault ? fault : detail, NULL);
    work->failed |= fault != NULL;
    json_array_append_new(work->rows, row);
}

/* --- directories --- */

static void check_directory(check_work *work, ida_directory_kind where)
{
    ctl_call *ctl = work->ctl;
    const char *of = ida_directory_name(where);
    const directory_ops *ops = directory_ops_for(where);
    directory *d = NULL;
    directory_error e = {0};
    json_t *report = ida_json_keep(ctl->pool, json_array()), *row;
    size_t i;
    if (!ops) {
        add(work, of, "connection", "this version has no connector for it", NULL);
        return;
    }
    directory_class class = ops->open(&d, ctl->c->env, work->tenant, where, ctl->pool, &e);
    if (class == DIRECTORY_OK) {
        class = ops->probe(d, ctl->pool, report, &e);
        ops->close(d);
    }
    int failed = 0;
    json_array_foreach (report, i, row) {
        const char *detail = ida_json_string(row, "detail"), *name = ida_json_string(row, "check");
        int ok = json_is_true(json_object_get(row, "ok"));
        failed += !ok;
        add(work, of, name ? name : "check", ok ? NULL : detail ? detail : "failed", detail);
    }
    if (class != DIRECTORY_OK && !failed) {
        add(work, of, directory_class_text(class), e.message ? e.message : "failed", NULL);
    }
}

/* --- groups --- */

static ida_kind look_at_cache(check_work *work)
{
    ida_kind kind = IDA_OK;
    work->synced = 1;
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        cache_sync_info info = {0};
        if (work->tenant->has_directory[d]) {
            kind = cache_sync_info_get(work->store, work->ctl->c, work->tenant->id,
                                       (ida_directory_kind)d, &info);
            work->synced &= info.completed_at > 0;
        }
    }
    return kind;
}

static void check_group(check_work *work, const char *path, const json_t *named)
{
    ida_group *group;
    ida_ctx *c = ida_ctx_make(work->ctl->c->env, work->ctl->pool);
    if (!json_is_string(named)) {
        return;
    }
    if (!work->synced) {
        add(work, path, "group", NULL, "not looked at: no synchronisation has been completed");
        return;
    }
    ida_kind kind = cache_group_find(work->store, c, work->tenant->id, json_string_value(named),
                                     &group);
    add(work, path, "group", kind ? c->message : NULL, json_string_value(named));
}

/* --- receivers --- */

static void check_receiver(check_work *work, const char *path, const json_t *object)
{
    const webhook_call call = {.url = ida_json_string(object, "url"),
                               .ca_file = ida_json_string(object, "caFile"),
                               .allow_private = json_is_true(
                                   json_object_get(object, "allowPrivate"))};
    add(work, path, "receiver", webhook_unreachable(work->ctl->pool, &call), call.url);
}

/* Groups and receivers stand in lists of the document: by their members, wherever those are. */
static void walk(check_work *work, const char *path, const json_t *value)
{
    const char *name;
    json_t *member, *one;
    size_t i;
    if (json_is_array(value)) {
        json_array_foreach ((json_t *)value, i, member) {
            walk(work, ida_printf(work->ctl->pool, "%s[%zu]", path, i), member);
        }
        return;
    }
    if (ida_json_string(value, "url") && json_object_get(value, "secretFile")) {
        check_receiver(work, path, value);
    }
    json_object_foreach ((json_t *)value, name, member) {
        const char *at = ida_printf(work->ctl->pool, "%s%s%s", path, *path ? "." : "", name);
        if (strcmp(name, "group") == 0) {
            check_group(work, at, member);
        } else if (strcmp(name, "groups") == 0) {
            json_array_foreach (member, i, one) {
                check_group(work, ida_printf(work->ctl->pool, "%s[%zu]", at, i), one);
            }
        } else if (strcmp(name, "directories") != 0) {
            walk(work, at, member);
        }
    }
}

static int check(ctl_call *ctl)
{
    static const ctl_column columns[] = {
        {"", "result"}, {"OF", "of"}, {"CHECK", "check"}, {"DETAIL", "detail"}, {NULL, NULL}};
    check_work work = {.ctl = ctl, .store = ctl_store(ctl, DB_REQUEST)};
    work.rows = ida_json_keep(ctl->pool, json_array());
    ida_kind kind = ctl_tenant_merged(ctl, work.store, &work.tenant);
    kind = kind ? kind : look_at_cache(&work);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    directory_library_init();
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        if (work.tenant->has_directory[d]) {
            check_directory(&work, (ida_directory_kind)d);
        }
    }
    walk(&work, "", work.tenant->document);
    json_t *document = ida_json_keep(ctl->pool,
                                     json_pack("{s:s, s:b, s:O}", "companyId", work.tenant->id,
                                               "ok", !work.failed, "checks", work.rows));
    if (!ctl_json(ctl, document)) {
        ctl_table(ctl, work.rows, columns, "There is nothing to ask.");
        ctl_say(ctl, work.failed ? "Some checks failed." : "All checks passed.");
    }
    return work.failed ? CTL_FAILED : CTL_DONE;
}

const ctl_command ctl_tenant_check_commands[] = {
    {"tenant", "check", "FILE|-",
     "Ask directories, groups and receivers that a document names; nothing is stored.",
     .help = "The document is merged as `tenant apply` would. Each directory is asked what "
             "`idadmin-worker --check` asks; groups are looked up as of the last "
             "synchronisation; receivers of events and webhooks are connected to, nothing is "
             "sent. Exit status 1 if a check fails.",
     .run = check},
    {0},
};
