/* Owns the doctor's look at what a tenant document names: directories, groups, receivers. The
 * document need not be in the store. */
#include <string.h>

#include "core/base/json.h"
#include "core/cache/freshness.h"
#include "core/cache/groups.h"
#include "core/governance/named.h"
#include "worker/checks.h"
#include "worker/directory/directory.h"
#include "worker/hold/crash.h"

/* --- directories --- */

static directory_class probe(check_look *look, ida_directory_kind where, json_t *report,
                             directory_error *e)
{
    const directory_ops *ops = directory_ops_for(where);
    directory *d = NULL;
    if (!ops) {
        e->message = "this version has no connector for it";
        return DIRECTORY_CONFIG;
    }
    if (look->w) {
        hold_crash_call_begins(look->w, look->tenant->id, where);
    }
    directory_class class = ops->open(&d, look->c->env, look->tenant, where, look->pool, e);
    if (class == DIRECTORY_OK) {
        class = ops->probe(d, look->pool, report, e);
        ops->close(d);
    }
    if (look->w) {
        hold_crash_call_ends();
    }
    return class;
}

static void look_at_directory(check_look *look, ida_directory_kind where)
{
    directory_error e = {0};
    json_t *report = ida_json_keep(look->pool, json_array());
    directory_class class = probe(look, where, report, &e);
    const char *of = ida_directory_name(where);
    int failed = check_take(look, of, report);
    if (class != DIRECTORY_OK && !failed) {
        check_line(look, of, directory_class_text(class), CHECK_FAULT,
                   e.message ? e.message : "failed");
    }
}

void check_directory(check_look *look)
{
    look_at_directory(look, look->directory);
}

void check_directories(check_look *look)
{
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        if (look->tenant->has_directory[d]) {
            look_at_directory(look, (ida_directory_kind)d);
        }
    }
}

/* --- groups and receivers --- */

typedef struct named {
    check_look *look;
    int synced; /* the cache has had a whole synchronisation of each directory */
} named;

static int is_synced(check_look *look)
{
    int synced = 1;
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        cache_sync_info info = {0};
        if (look->tenant->has_directory[d]) {
            synced &= !cache_sync_info_get(look->main, look->c, look->tenant->id,
                                           (ida_directory_kind)d, &info) &&
                      info.completed_at > 0;
        }
    }
    return synced;
}

static void check_group(named *n, const char *path, const json_t *name)
{
    check_look *look = n->look;
    ida_group *group;
    ida_ctx *c = ida_ctx_make(look->c->env, look->pool);
    if (!json_is_string(name)) {
        return;
    }
    if (!n->synced) {
        check_line(look, path, "group", CHECK_OK,
                   "not looked at: no synchronisation has been completed");
        return;
    }
    ida_kind kind = cache_group_find(look->main, c, look->tenant->id, json_string_value(name),
                                     &group);
    check_judge(look, path, "group", kind ? c->message : NULL, json_string_value(name));
}

static void look_at_receiver(named *n, const char *path, const json_t *object)
{
    const webhook_call call = {.url = ida_json_string(object, "url"),
                               .ca_file = ida_json_string(object, "caFile"),
                               .allow_private = json_is_true(
                                   json_object_get(object, "allowPrivate"))};
    check_receiver(n->look, path, &call);
}

/* Groups and receivers stand in lists of the document: by their members, wherever those are. */
static void walk(named *n, const char *path, const json_t *value)
{
    const char *name;
    json_t *member, *one;
    size_t i;
    apr_pool_t *pool = n->look->pool;
    if (json_is_array(value)) {
        json_array_foreach ((json_t *)value, i, member) {
            walk(n, ida_printf(pool, "%s[%zu]", path, i), member);
        }
        return;
    }
    if (ida_json_string(value, "url") && json_object_get(value, "secretFile")) {
        look_at_receiver(n, path, value);
    }
    json_object_foreach ((json_t *)value, name, member) {
        const char *at = ida_printf(pool, "%s%s%s", path, *path ? "." : "", name);
        if (strcmp(name, "group") == 0) {
            check_group(n, at, member);
        } else if (strcmp(name, "groups") == 0) {
            json_array_foreach (member, i, one) {
                check_group(n, ida_printf(pool, "%s[%zu]", at, i), one);
            }
        } else if (strcmp(name, "directories") != 0) {
            walk(n, at, member);
        }
    }
}

void check_named(check_look *look)
{
    named n = {look, is_synced(look)};
    walk(&n, "", look->tenant->document);
}

void check_people(check_look *look)
{
    int synced = is_synced(look);
    const apr_array_header_t *names = governance_names(look->pool, look->tenant);
    ida_ctx *c = ida_ctx_make(look->c->env, look->pool);
    const json_t *known;
    ida_kind kind = governance_named(look->main, c, look->tenant->id, &known);
    for (int i = 0; synced && i < names->nelts; i++) {
        const governance_name *name = &APR_ARRAY_IDX(names, i, governance_name);
        const char *fault = NULL;
        kind = kind ? kind
                    : governance_name_fault(
                          look->main, c, look->tenant->id, name,
                          governance_named_id(look->pool, known, name->place, name->name), &fault);
        fault = kind ? c->message : fault;
        check_line(look, name->path, "person", fault ? CHECK_WARNING : CHECK_OK,
                   fault ? fault : name->name);
    }
}
