/* Owns the walks over the rows of the tenant document's members: faults, defaults, files. Must not
 * know how members depend on one another. */
#include "core/tenant/shape.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/similar.h"
#include "core/base/text.h"
#include "core/tenant/members.h"
#include "core/tenant/value.h"

#define FAULTS_MAX 50 /* one answer names no more */

void ida_tenant_fault(ida_tenant_checking *k, const char *path, const char *rule)
{
    if (++k->faults < FAULTS_MAX) {
        ida_fault_add(k->c, path, "%s", rule);
    } else if (k->faults == FAULTS_MAX) {
        ida_fault_add(k->c, path, "%s (further faults are not listed)", rule);
    }
}

static void fault_if(ida_tenant_checking *k, const char *path, const char *rule)
{
    if (rule) {
        ida_tenant_fault(k, path, rule);
    }
}

/* What follows would not be listed, so it is not looked at either. */
static int has_ended(const ida_tenant_checking *k)
{
    return k->faults >= FAULTS_MAX;
}

static const char *join(ida_tenant_checking *k, const char *path, const char *name)
{
    return *path ? apr_pstrcat(k->c->pool, path, ".", name, NULL) : name;
}

static const char *entry(ida_tenant_checking *k, const char *path, size_t index)
{
    return ida_printf(k->c->pool, "%s[%zu]", path, index);
}

static const char *string_fault(ida_tenant_checking *k, const json_t *value, const member *m)
{
    const char *text = json_string_value(value);
    size_t limit = m->type == STRING && m->high ? (size_t)m->high : IDA_MEMBER_TEXT_MAX;
    int judged = m->rule && (m->rule != ida_rule_zone || k->applying);
    return !text                                  ? "must be a string"
           : !*text && !(m->flags & MAY_BE_EMPTY) ? "must not be empty"
           : ida_utf16_length(text) > limit
               ? ida_printf(k->c->pool, "must be at most %zu characters", limit)
           : m->words ? ida_words_rule(k->c->pool, m->words, text)
           : judged   ? m->rule(k->c, text)
                      : NULL;
}

static const member *action_members(const json_t *action)
{
    const char *type = json_string_value(json_object_get(action, "type"));
    for (const action_type *a = ida_tenant_actions; type && a->type; a++) {
        if (strcmp(type, a->type) == 0) {
            return a->members;
        }
    }
    return NULL;
}

static void check_object(ida_tenant_checking *k, const char *path, const json_t *object,
                         const member *members);

static void check_action(ida_tenant_checking *k, const char *path, const json_t *action)
{
    const member *members = action_members(action);
    if (members) {
        check_object(k, path, action, members);
        return;
    }
    const char *known = "must be one of";
    for (const action_type *a = ida_tenant_actions; a->type; a++) {
        known = apr_pstrcat(k->c->pool, known, " ", a->type, NULL);
    }
    ida_tenant_fault(k, join(k, path, "type"), known);
}

static void check_unique(ida_tenant_checking *k, const char *path, const json_t *list,
                         const char *key)
{
    json_t *seen = json_object();
    const json_t *one;
    size_t i;
    json_array_foreach ((json_t *)list, i, one) {
        if (has_ended(k)) {
            break;
        }
        const char *name = json_string_value(json_object_get(one, key));
        const char *folded = name ? ida_fold_search(k->c->pool, name) : NULL;
        if (folded && json_object_get(seen, folded)) {
            ida_tenant_fault(k, join(k, entry(k, path, i), key),
                             "is used twice in this list (case and accents do not count)");
        } else if (folded) {
            json_object_set_new(seen, folded, json_true());
        }
    }
    json_decref(seen);
}

static void check_list(ida_tenant_checking *k, const char *path, const json_t *value,
                       const member *m)
{
    if (!json_is_array(value)) {
        ida_tenant_fault(k, path,
                         m->type == STRINGS ? "must be a list of strings"
                                            : "must be a list of objects");
        return;
    }
    if ((m->flags & NOT_EMPTY) && !json_array_size(value)) {
        ida_tenant_fault(k, path, "must not be empty");
    }
    if (json_array_size(value) > (size_t)m->high) {
        ida_tenant_fault(
            k, path, ida_printf(k->c->pool, "must have at most %lld entries", (long long)m->high));
        return;
    }
    const json_t *one;
    size_t i;
    json_array_foreach ((json_t *)value, i, one) {
        if (has_ended(k)) {
            return;
        }
        const char *at = entry(k, path, i);
        if (m->type == STRINGS) {
            fault_if(k, at, string_fault(k, one, m));
        } else if (!json_is_object(one)) {
            ida_tenant_fault(k, at, "must be an object");
        } else if (m->type == ACTIONS) {
            check_action(k, at, one);
        } else {
            check_object(k, at, one, m->inner);
        }
    }
    if (m->unique) {
        check_unique(k, path, value, m->unique);
    }
}

/* A number, a truth value, a share. */
static const char *scalar_fault(ida_tenant_checking *k, const json_t *value, const member *m)
{
    int64_t number = json_integer_value(value), count;
    int percent;
    if (m->type == BOOLEAN) {
        return json_is_boolean(value) ? NULL : "must be true or false";
    }
    if (m->type == SHARE) {
        return ida_guard_parse(value, &percent, &count)
                   ? NULL
                   : "must be a share such as \"20%\" (1% to 100%) or a whole number from 1";
    }
    return json_is_integer(value) && number >= m->low && number <= m->high
               ? NULL
               : ida_printf(k->c->pool, "must be a whole number from %lld to %lld",
                            (long long)m->low, (long long)m->high);
}

static void check_member(ida_tenant_checking *k, const char *path, const json_t *value,
                         const member *m)
{
    switch (m->type) {
    case STRING: fault_if(k, path, string_fault(k, value, m)); break;
    case STRINGS:
    case OBJECTS:
    case ACTIONS: check_list(k, path, value, m); break;
    case OBJECT:
        if (json_is_object(value)) {
            check_object(k, path, value, m->inner);
        } else {
            ida_tenant_fault(k, path, "must be an object");
        }
        break;
    default: fault_if(k, path, scalar_fault(k, value, m));
    }
}

static int is_known(const member *members, const char *name)
{
    while (members->name && strcmp(members->name, name) != 0) {
        members++;
    }
    return members->name != NULL;
}

static void fault_unknown(ida_tenant_checking *k, const char *path, const member *members,
                          const char *name)
{
    apr_pool_t *pool = k->c->pool;
    const char *meant = k->faults < FAULTS_MAX ? ida_similar(members, sizeof *members, name) : NULL;
    ida_tenant_fault(k, join(k, path, ida_clean(pool, name, strlen(name), 64)),
                     meant ? ida_printf(pool, "is not a known member; %s is one", meant)
                           : "is not a known member");
}

static void check_object(ida_tenant_checking *k, const char *path, const json_t *object,
                         const member *members)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)object, name, value) {
        if (has_ended(k)) {
            return;
        }
        if (!is_known(members, name)) {
            fault_unknown(k, path, members, name);
        }
    }
    for (const member *m = members; m->name; m++) {
        value = json_object_get(object, m->name);
        if (value) {
            check_member(k, join(k, path, m->name), value, m);
        } else if (m->flags & REQUIRED) {
            ida_tenant_fault(k, join(k, path, m->name), "is required");
        }
    }
}

void ida_tenant_shape_check(ida_tenant_checking *k, const json_t *document)
{
    check_object(k, "", document, ida_tenant_members);
}

static void fill(json_t *object, const member *members)
{
    for (const member *m = members; m->name; m++) {
        if ((m->flags & FILL) && !json_object_get(object, m->name)) {
            json_object_set_new(object, m->name, json_loads(m->fallback, JSON_DECODE_ANY, NULL));
        }
        json_t *value = json_object_get(object, m->name);
        if (m->type == OBJECT && value) {
            fill(value, m->inner);
        }
    }
}

void ida_tenant_shape_fill(json_t *document)
{
    fill(document, ida_tenant_members);
}

static void visit_files(ida_ctx *c, const char *path, const json_t *object, const member *members,
                        ida_file_visitor *visit)
{
    for (const member *m = members; m && m->name; m++) {
        const json_t *value = json_object_get(object, m->name), *one;
        const char *at = *path ? apr_pstrcat(c->pool, path, ".", m->name, NULL) : m->name;
        if (m->flags & (SECRET_FILE | PUBLIC_FILE)) {
            if (json_is_string(value)) {
                visit(c, at, json_string_value(value), m->flags & SECRET_FILE);
            }
        } else if (m->type == OBJECT && value) {
            visit_files(c, at, value, m->inner, visit);
        } else if (m->type == OBJECTS || m->type == ACTIONS) {
            size_t n;
            json_array_foreach ((json_t *)value, n, one) {
                visit_files(c, ida_printf(c->pool, "%s[%zu]", at, n), one,
                            m->type == ACTIONS ? action_members(one) : m->inner, visit);
            }
        }
    }
}

void ida_tenant_files(ida_ctx *c, const json_t *document, ida_file_visitor *visit)
{
    visit_files(c, "", document, ida_tenant_members, visit);
}
