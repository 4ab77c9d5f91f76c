/* Owns the comparison of two tenant documents, for `tenant apply` and the console. */
#include "core/tenant/difference.h"

#include <apr_strings.h>

#include "core/base/json.h"

static void add_change(json_t *changes, const char *path, const json_t *before, const json_t *after)
{
    json_array_append_new(changes, json_pack("{s:s, s:O?, s:O?}", "member", path, "before", before,
                                             "after", after));
}

static void compare(apr_pool_t *pool, json_t *changes, const char *path, json_t *before,
                    json_t *after, int every)
{
    if (!json_is_object(before) || !json_is_object(after)) {
        if (every || !(before && after && json_equal(before, after))) {
            add_change(changes, path, before, after);
        }
        return;
    }
    const char *name;
    json_t *value;
    const char *separator = path[0] ? "." : "";
    json_object_foreach (before, name, value) {
        compare(pool, changes, apr_pstrcat(pool, path, separator, name, NULL), value,
                json_object_get(after, name), every);
    }
    json_object_foreach (after, name, value) {
        if (!json_object_get(before, name)) {
            add_change(changes, apr_pstrcat(pool, path, separator, name, NULL), NULL, value);
        }
    }
}

json_t *ida_tenant_difference(apr_pool_t *pool, json_t *before, json_t *after, int every)
{
    json_t *changes = ida_json_keep(pool, json_array());
    compare(pool, changes, "", before, after, every);
    return changes;
}
