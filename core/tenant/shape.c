/* Owns the shape of the tenant document: one table row for each member, and the walks over them:
 * faults, defaults, files. Must not know how members depend on one another. */
#include "core/tenant/shape.h"
#include "core/tenant/tenant.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"
#include "core/tenant/value.h"

#define FAULTS_MAX 50 /* one answer names no more */
#define TEXT_MAX 256  /* UTF-16 units of a string without a limit of its own */

typedef enum member_type {
    STRING,
    INTEGER,
    BOOLEAN,
    OBJECT,
    STRINGS,
    OBJECTS,
    ACTIONS, /* objects whose members depend on `type` */
    SHARE    /* a percentage or a number */
} member_type;
enum {
    OPTIONAL = 0,
    REQUIRED = 1,
    FILL = 2,
    SECRET_FILE = 4,
    PUBLIC_FILE = 8,
    NOT_EMPTY = 16,
    MAY_BE_EMPTY = 32
};

typedef struct member {
    const char *name;
    member_type type;
    int flags;
    const char *fallback; /* JSON text of the default, NULL when none (or one that depends on other
                             members) */
    ida_value_rule *rule; /* for each string of STRINGS */
    const char *const *words; /* STRING, STRINGS: one of these, NULL-terminated */
    int64_t low, high; /* INTEGER: range; STRING: `high` is the length limit when not 0; lists:
                          `high` entries */
    const struct member
        *inner;         /* OBJECT, OBJECTS: their members; tables end with a row without a name */
    const char *unique; /* OBJECTS: no two entries share this member */
} member;

static const char *const dialects[] = {"activeDirectory", "openLdap", NULL};
static const char *const binds[] = {"simple", "gssapi", "external", NULL};
static const char *const triggers[] = {"userCreate", "userUpdate", "userDelete", NULL};
static const char *const events[] = {"task.done", "task.failed", "task.attention", NULL};

static const member modules[] = {
    {"publicApi", BOOLEAN, FILL, .fallback = "true"},
    {"accessGovernance", BOOLEAN, FILL, .fallback = "true"},
    {0},
};

static const member rates[] = {
    {"key", STRING, .rule = ida_rule_rate},
    {"company", STRING, .rule = ida_rule_rate},
    {0},
};

static const member brake[] = {{"offboardingsPerHour", INTEGER, .low = 1, .high = 100000}, {0}};

static const member hygiene[] = {
    {"staleAfterDays", INTEGER, FILL, .fallback = "90", .low = 1, .high = 3650}, {0}};

static const member keys[] = {{"defaultDays", INTEGER, .low = 1, .high = 3650}, {0}};

static const member retention[] = {
    {"taskHistoryDays", INTEGER, FILL, .fallback = "365", .low = 1, .high = 3650},
    {"auditDays", INTEGER, FILL, .fallback = "730", .low = 1, .high = 3650},
    {0},
};

static const member cloud[] = {
    {"apiUrl", STRING, FILL, .fallback = "\"https://graph.microsoft.com/v1.0\"",
     .rule = ida_rule_service_url, .high = 2048},
    {"authorityUrl", STRING, FILL, .fallback = "\"https://login.microsoftonline.com\"",
     .rule = ida_rule_service_url, .high = 2048},
    {"directoryId", STRING, REQUIRED, .rule = ida_rule_guid},
    {"clientId", STRING, REQUIRED, .rule = ida_rule_guid},
    {"clientSecretFile", STRING, SECRET_FILE, .rule = ida_rule_path, .high = 4095},
    {"certificateFile", STRING, SECRET_FILE, .rule = ida_rule_path, .high = 4095},
    {"caFile", STRING, PUBLIC_FILE, .rule = ida_rule_path, .high = 4095},
    {"proxyUrl", STRING, .rule = ida_rule_proxy_url, .high = 2048},
    {"markerAttribute", STRING, FILL, .fallback = "\"" IDA_CLOUD_MARKER "\"",
     .rule = ida_rule_cloud_marker},
    {"protectedAccounts", STRINGS, FILL, .fallback = "[]", .rule = ida_rule_cloud_account,
     .high = 1000},
    {"syncInterval", STRING, FILL, .fallback = "\"60s\"", .rule = ida_rule_duration},
    {"signInInterval", STRING, FILL, .fallback = "\"1h\"", .rule = ida_rule_duration},
    {"deletionGuard", SHARE, FILL, .fallback = "\"20%\""},
    {0},
};

static const member on_premises[] = {
    {"urls", STRINGS, REQUIRED | NOT_EMPTY, .rule = ida_rule_ldap_url, .high = 16},
    {"startTls", BOOLEAN, FILL, .fallback = "false"},
    {"dialect", STRING, REQUIRED, .words = dialects},
    {"bind", STRING, FILL, .fallback = "\"simple\"", .words = binds},
    /* no DN by rule: AD also takes user@realm and DOMAIN\user */
    {"bindDn", STRING, .rule = ida_rule_name, .high = 1024},
    {"bindPasswordFile", STRING, SECRET_FILE, .rule = ida_rule_path, .high = 4095},
    {"caFile", STRING, PUBLIC_FILE, .rule = ida_rule_path, .high = 4095},
    {"userBase", STRING, REQUIRED, .rule = ida_rule_dn, .high = 1024},
    {"groupBase", STRING, REQUIRED, .rule = ida_rule_dn, .high = 1024},
    {"createIn", STRING, .rule = ida_rule_dn, .high = 1024},
    {"upnAttribute", STRING, .rule = ida_rule_attribute},
    {"markerAttribute", STRING, .rule = ida_rule_attribute},
    {"placeholderMember", STRING, .rule = ida_rule_dn, .high = 1024},
    {"protectedAccounts", STRINGS, FILL, .fallback = "[]", .rule = ida_rule_name, .high = 1000},
    {"syncInterval", STRING, FILL, .fallback = "\"60s\"", .rule = ida_rule_duration},
    {"deletionGuard", SHARE, FILL, .fallback = "\"20%\""},
    {0},
};

static const member both_directories[] = {
    {"cloud", OBJECT, .inner = cloud},
    {"onPremises", OBJECT, .inner = on_premises},
    {0},
};

static const member template[] = {
    {"name", STRING, REQUIRED, .rule = ida_rule_name},
    {"description", STRING, MAY_BE_EMPTY, .rule = ida_rule_text, .high = 1024},
    {"groups", STRINGS, .rule = ida_rule_name, .high = 500},
    {"licenses", STRINGS, .rule = ida_rule_name, .high = 500},
    {0},
};

static const member service[] = {
    {"service", STRING, REQUIRED, .rule = ida_rule_name},
    {"group", STRING, REQUIRED, .rule = ida_rule_name},
    {"approvers", STRINGS, REQUIRED | NOT_EMPTY, .rule = ida_rule_upn, .high = 100},
    {0},
};

/* The members of each action, which end where a name is NULL. */
#define ACTION_MEMBERS_MAX 8
static const struct {
    const char *type;
    member members[ACTION_MEMBERS_MAX];
} action_types[] = {
#define ACTION(word, function, of_account, ...) \
    {word,                                      \
     {{"type", STRING, .flags = REQUIRED}, {"continueOnError", .type = BOOLEAN}, __VA_ARGS__}},
#include "core/tenant/actions.def"
#undef ACTION
};

static const member workflow[] = {
    {"name", STRING, REQUIRED, .rule = ida_rule_name},
    {"trigger", STRING, REQUIRED, .words = triggers},
    {"active", .type = BOOLEAN},
    {"actions", ACTIONS, REQUIRED, .high = 100},
    {0},
};

/* Called like the webhooks of workflows. */
static const member notification[] = {
    {"url", STRING, REQUIRED, .rule = ida_rule_webhook_url, .high = 2048},
    {"secretFile", STRING, REQUIRED | SECRET_FILE, .rule = ida_rule_path, .high = 4095},
    {"events", STRINGS, REQUIRED | NOT_EMPTY, .words = events, .high = 3},
    {"caFile", STRING, PUBLIC_FILE, .rule = ida_rule_path, .high = 4095},
    {"allowPrivate", .type = BOOLEAN},
    {0},
};

static const member tenant[] = {
    {"companyId", STRING, REQUIRED, .rule = ida_rule_company},
    {"name", STRING, REQUIRED, .rule = ida_rule_name},
    {"timeZone", STRING, FILL, .fallback = "\"Europe/Stockholm\"", .rule = ida_rule_zone},
    {"usernameFormat", STRING, FILL, .fallback = "\"{firstname}.{surname}\"",
     .rule = ida_rule_local_format},
    {"emailFormat", STRING, .rule = ida_rule_local_format},
    {"displayNameFormat", STRING, FILL, .fallback = "\"{firstname} {surname}\"",
     .rule = ida_rule_display_format},
    {"upnDomain", STRING, REQUIRED, .rule = ida_rule_domain},
    {"emailDomain", STRING, .rule = ida_rule_domain},
    {"createUsersIn", STRING, .words = ida_directory_names},
    {"seatLimit", INTEGER, .high = 10000000},
    {"queuedMegabytes", INTEGER, .high = 1000000},
    {"modules", OBJECT, FILL, .fallback = "{}", .inner = modules},
    {"rateLimits", OBJECT, FILL, .fallback = "{}", .inner = rates},
    {"brake", OBJECT, FILL, .fallback = "{}", .inner = brake},
    {"hygiene", OBJECT, FILL, .fallback = "{}", .inner = hygiene},
    {"retention", OBJECT, FILL, .fallback = "{}", .inner = retention},
    {"keys", OBJECT, FILL, .fallback = "{}", .inner = keys},
    {"directories", OBJECT, REQUIRED, .inner = both_directories},
    {"roleTemplates", OBJECTS, .high = 1000, .inner = template, .unique = "name"},
    {"workflows", OBJECTS, .high = 200, .inner = workflow, .unique = "name"},
    {"notifications", OBJECTS, .high = 20, .inner = notification, .unique = "url"},
    {"accessCatalog", OBJECTS, .high = 1000, .inner = service, .unique = "service"},
    {0},
};

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
    size_t limit = m->type == STRING && m->high ? (size_t)m->high : TEXT_MAX;
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
    for (size_t i = 0; type && i < sizeof action_types / sizeof *action_types; i++) {
        if (strcmp(type, action_types[i].type) == 0) {
            return action_types[i].members;
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
    for (size_t i = 0; i < sizeof action_types / sizeof *action_types; i++) {
        known = apr_pstrcat(k->c->pool, known, " ", action_types[i].type, NULL);
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

static void check_object(ida_tenant_checking *k, const char *path, const json_t *object,
                         const member *members)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)object, name, value) {
        if (!is_known(members, name)) {
            ida_tenant_fault(k, join(k, path, ida_clean(k->c->pool, name, strlen(name), 64)),
                             "is not a known member");
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
    check_object(k, "", document, tenant);
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
    fill(document, tenant);
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
    visit_files(c, "", document, tenant, visit);
}
