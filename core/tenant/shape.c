/* Owns the shape of the tenant document: one table row per member (design 3.5), and the walks over
 * them: faults, defaults, files. Must not know what members mean to one another. */
#include "core/tenant/shape.h"

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
    VARIANT
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

typedef struct shape shape;
typedef struct member {
    const char *name;
    member_type type;
    int flags;
    const char *fallback; /* JSON text of the default, NULL when none (or one that depends on other
                             members) */
    ida_value_rule *rule; /* for each string of STRINGS */
    int64_t low, high;    /* INTEGER: range; STRING: `high` is the length limit when not 0; lists:
                             `high` entries */
    const shape *inner;   /* OBJECT, OBJECTS */
} member;

struct shape {
    const member *members;
    size_t count;
    const char *unique; /* OBJECTS: no two entries share this member */
};

#define SHAPE(table, key)                           \
    {                                               \
        table, sizeof(table) / sizeof *(table), key \
    }

static const member modules_members[] = {
    {"publicApi", BOOLEAN, FILL, "true", NULL, 0, 0, NULL},
    {"accessGovernance", BOOLEAN, FILL, "true", NULL, 0, 0, NULL},
};
static const shape modules_shape = SHAPE(modules_members, NULL);

static const member rates_members[] = {
    {"key", STRING, OPTIONAL, NULL, ida_rule_rate, 0, 0, NULL},
    {"company", STRING, OPTIONAL, NULL, ida_rule_rate, 0, 0, NULL},
};
static const shape rates_shape = SHAPE(rates_members, NULL);

static const member brake_members[] = {
    {"offboardingsPerHour", INTEGER, OPTIONAL, NULL, NULL, 1, 100000, NULL},
};
static const shape brake_shape = SHAPE(brake_members, NULL);

static const member hygiene_members[] = {
    {"staleAfterDays", INTEGER, FILL, "90", NULL, 1, 3650, NULL},
};
static const shape hygiene_shape = SHAPE(hygiene_members, NULL);

static const member retention_members[] = {
    {"taskHistoryDays", INTEGER, FILL, "365", NULL, 1, 3650, NULL},
    {"auditDays", INTEGER, FILL, "730", NULL, 1, 3650, NULL},
};
static const shape retention_shape = SHAPE(retention_members, NULL);

static const member cloud_members[] = {
    {"apiUrl", STRING, FILL, "\"https://graph.microsoft.com/v1.0\"", ida_rule_service_url, 0, 2048,
     NULL},
    {"authorityUrl", STRING, FILL, "\"https://login.microsoftonline.com\"", ida_rule_service_url, 0,
     2048, NULL},
    {"directoryId", STRING, REQUIRED, NULL, ida_rule_guid, 0, 0, NULL},
    {"clientId", STRING, REQUIRED, NULL, ida_rule_guid, 0, 0, NULL},
    {"clientSecretFile", STRING, SECRET_FILE, NULL, ida_rule_path, 0, 4095, NULL},
    {"certificateFile", STRING, SECRET_FILE, NULL, ida_rule_path, 0, 4095, NULL},
    {"caFile", STRING, PUBLIC_FILE, NULL, ida_rule_path, 0, 4095, NULL},
    {"proxyUrl", STRING, OPTIONAL, NULL, ida_rule_proxy_url, 0, 2048, NULL},
    {"markerAttribute", STRING, FILL, "\"" IDA_CLOUD_MARKER "\"", ida_rule_cloud_marker, 0, 0,
     NULL},
    {"protectedAccounts", STRINGS, FILL, "[]", ida_rule_cloud_account, 0, 1000, NULL},
    {"syncInterval", STRING, FILL, "\"60s\"", ida_rule_duration, 0, 0, NULL},
    {"deletionGuard", VARIANT, FILL, "\"20%\"", ida_rule_guard, 0, 0, NULL},
};
static const shape cloud_shape = SHAPE(cloud_members, NULL);

static const member on_premises_members[] = {
    {"urls", STRINGS, REQUIRED | NOT_EMPTY, NULL, ida_rule_ldap_url, 0, 16, NULL},
    {"startTls", BOOLEAN, FILL, "false", NULL, 0, 0, NULL},
    {"dialect", STRING, REQUIRED, NULL, ida_rule_dialect, 0, 0, NULL},
    {"bind", STRING, FILL, "\"simple\"", ida_rule_bind, 0, 0, NULL},
    {"bindDn", STRING, OPTIONAL, NULL, ida_rule_name, 0, 1024,
     NULL}, /* AD also takes user@realm and DOMAIN\user */
    {"bindPasswordFile", STRING, SECRET_FILE, NULL, ida_rule_path, 0, 4095, NULL},
    {"caFile", STRING, PUBLIC_FILE, NULL, ida_rule_path, 0, 4095, NULL},
    {"userBase", STRING, REQUIRED, NULL, ida_rule_dn, 0, 1024, NULL},
    {"groupBase", STRING, REQUIRED, NULL, ida_rule_dn, 0, 1024, NULL},
    {"createIn", STRING, OPTIONAL, NULL, ida_rule_dn, 0, 1024, NULL},
    {"upnAttribute", STRING, OPTIONAL, NULL, ida_rule_attribute, 0, 0, NULL},
    {"markerAttribute", STRING, OPTIONAL, NULL, ida_rule_attribute, 0, 0, NULL},
    {"placeholderMember", STRING, OPTIONAL, NULL, ida_rule_dn, 0, 1024, NULL},
    {"protectedAccounts", STRINGS, FILL, "[]", ida_rule_name, 0, 1000, NULL},
    {"syncInterval", STRING, FILL, "\"60s\"", ida_rule_duration, 0, 0, NULL},
    {"deletionGuard", VARIANT, FILL, "\"20%\"", ida_rule_guard, 0, 0, NULL},
};
static const shape on_premises_shape = SHAPE(on_premises_members, NULL);

static const member directories_members[] = {
    {"cloud", OBJECT, OPTIONAL, NULL, NULL, 0, 0, &cloud_shape},
    {"onPremises", OBJECT, OPTIONAL, NULL, NULL, 0, 0, &on_premises_shape},
};
static const shape directories_shape = SHAPE(directories_members, NULL);

static const member template_members[] = {
    {"name", STRING, REQUIRED, NULL, ida_rule_name, 0, 0, NULL},
    {"description", STRING, MAY_BE_EMPTY, NULL, ida_rule_text, 0, 1024, NULL},
    {"groups", STRINGS, OPTIONAL, NULL, ida_rule_name, 0, 500, NULL},
    {"licenses", STRINGS, OPTIONAL, NULL, ida_rule_name, 0, 500, NULL},
};
static const shape template_shape = SHAPE(template_members, "name");

static const member service_members[] = {
    {"service", STRING, REQUIRED, NULL, ida_rule_name, 0, 0, NULL},
    {"group", STRING, REQUIRED, NULL, ida_rule_name, 0, 0, NULL},
    {"approvers", STRINGS, REQUIRED | NOT_EMPTY, NULL, ida_rule_upn, 0, 100, NULL},
};
static const shape service_shape = SHAPE(service_members, "service");

/* Every action has these two; the rest depends on its type. */
#define ACTION_COMMON                                                \
    {"type", STRING, REQUIRED, NULL, NULL, 0, 0, NULL},              \
    {                                                                \
        "continueOnError", BOOLEAN, OPTIONAL, NULL, NULL, 0, 0, NULL \
    }

static const member bare_action[] = {ACTION_COMMON};
static const member group_action[] = {ACTION_COMMON,
                                      {"group", STRING, REQUIRED, NULL, ida_rule_name, 0, 0, NULL}};
static const member template_action[] = {
    ACTION_COMMON, {"roleTemplate", STRING, REQUIRED, NULL, ida_rule_name, 0, 0, NULL}};
static const member attribute_action[] = {
    ACTION_COMMON,
    {"attribute", STRING, REQUIRED, NULL, ida_rule_attribute, 0, 0, NULL},
    {"value", STRING, REQUIRED | MAY_BE_EMPTY, NULL, ida_rule_text, 0, 1024,
     NULL}, /* empty clears the attribute */
};
static const member move_action[] = {
    ACTION_COMMON, {"container", STRING, REQUIRED, NULL, ida_rule_dn, 0, 1024, NULL}};
static const member reports_action[] = {ACTION_COMMON,
                                        {"to", STRING, OPTIONAL, NULL, ida_rule_recipient, 0, 0,
                                         NULL}}; /* else {manager} */
static const member mail_action[] = {
    ACTION_COMMON,
    {"to", STRING, REQUIRED, NULL, ida_rule_recipient, 0, 0, NULL},
    {"subject", STRING, REQUIRED, NULL, ida_rule_text, 0, 256, NULL},
    {"body", STRING, REQUIRED, NULL, ida_rule_body, 0, 32768, NULL},
};
static const member password_action[] = {
    ACTION_COMMON,
    {"to", STRING, REQUIRED, NULL, ida_rule_recipient, 0, 0, NULL},
    {"subject", STRING, OPTIONAL, NULL, ida_rule_text, 0, 256, NULL},
    {"body", STRING, OPTIONAL, NULL, ida_rule_body, 0, 32768, NULL},
};
static const member webhook_action[] = {
    ACTION_COMMON,
    {"url", STRING, REQUIRED, NULL, ida_rule_webhook_url, 0, 2048, NULL},
    {"secretFile", STRING, REQUIRED | SECRET_FILE, NULL, ida_rule_path, 0, 4095, NULL},
    {"caFile", STRING, PUBLIC_FILE, NULL, ida_rule_path, 0, 4095, NULL},
    {"allowPrivate", BOOLEAN, OPTIONAL, NULL, NULL, 0, 0, NULL},
};

static const struct {
    const char *type;
    shape members;
} action_types[] = {
    {"addToGroup", SHAPE(group_action, NULL)},
    {"removeFromGroup", SHAPE(group_action, NULL)},
    {"assignRoleTemplate", SHAPE(template_action, NULL)},
    {"unassignRoleTemplates", SHAPE(bare_action, NULL)},
    {"removeLicenses", SHAPE(bare_action, NULL)},
    {"setAttribute", SHAPE(attribute_action, NULL)},
    {"moveTo", SHAPE(move_action, NULL)},
    {"transferReports", SHAPE(reports_action, NULL)},
    {"sendEmail", SHAPE(mail_action, NULL)},
    {IDA_ACTION_PASSWORD, SHAPE(password_action, NULL)},
    {"callWebhook", SHAPE(webhook_action, NULL)},
};

static const shape
    any_action; /* stands in the table of workflows; the real shape follows from `type` */

static const member workflow_members[] = {
    {"name", STRING, REQUIRED, NULL, ida_rule_name, 0, 0, NULL},
    {"trigger", STRING, REQUIRED, NULL, ida_rule_trigger, 0, 0, NULL},
    {"active", BOOLEAN, OPTIONAL, NULL, NULL, 0, 0, NULL},
    {"actions", OBJECTS, REQUIRED, NULL, NULL, 0, 100, &any_action},
};
static const shape workflow_shape = SHAPE(workflow_members, "name");

static const member tenant_members[] = {
    {"companyId", STRING, REQUIRED, NULL, ida_rule_company, 0, 0, NULL},
    {"name", STRING, REQUIRED, NULL, ida_rule_name, 0, 0, NULL},
    {"timeZone", STRING, FILL, "\"Europe/Stockholm\"", ida_rule_zone, 0, 0, NULL},
    {"usernameFormat", STRING, FILL, "\"{firstname}.{surname}\"", ida_rule_local_format, 0, 0,
     NULL},
    {"emailFormat", STRING, OPTIONAL, NULL, ida_rule_local_format, 0, 0, NULL},
    {"displayNameFormat", STRING, FILL, "\"{firstname} {surname}\"", ida_rule_display_format, 0, 0,
     NULL},
    {"upnDomain", STRING, REQUIRED, NULL, ida_rule_domain, 0, 0, NULL},
    {"emailDomain", STRING, OPTIONAL, NULL, ida_rule_domain, 0, 0, NULL},
    {"createUsersIn", STRING, OPTIONAL, NULL, ida_rule_directory, 0, 0, NULL},
    {"seatLimit", INTEGER, OPTIONAL, NULL, NULL, 0, 10000000, NULL},
    {"modules", OBJECT, FILL, "{}", NULL, 0, 0, &modules_shape},
    {"rateLimits", OBJECT, FILL, "{}", NULL, 0, 0, &rates_shape},
    {"brake", OBJECT, FILL, "{}", NULL, 0, 0, &brake_shape},
    {"hygiene", OBJECT, FILL, "{}", NULL, 0, 0, &hygiene_shape},
    {"retention", OBJECT, FILL, "{}", NULL, 0, 0, &retention_shape},
    {"directories", OBJECT, REQUIRED, NULL, NULL, 0, 0, &directories_shape},
    {"roleTemplates", OBJECTS, OPTIONAL, NULL, NULL, 0, 1000, &template_shape},
    {"workflows", OBJECTS, OPTIONAL, NULL, NULL, 0, 200, &workflow_shape},
    {"accessCatalog", OBJECTS, OPTIONAL, NULL, NULL, 0, 1000, &service_shape},
};
static const shape tenant_shape = SHAPE(tenant_members, NULL);

void ida_tenant_fault(ida_tenant_checking *k, const char *path, const char *rule)
{
    if (++k->faults < FAULTS_MAX) {
        ida_fault_add(k->c, path, "%s", rule);
    } else if (k->faults == FAULTS_MAX) {
        ida_fault_add(k->c, path, "%s (further faults are not listed)", rule);
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

static void check_string(ida_tenant_checking *k, const char *path, const json_t *value,
                         const member *m)
{
    const char *text = json_string_value(value);
    if (!text) {
        ida_tenant_fault(k, path, "must be a string");
        return;
    }
    size_t limit = m->type == STRING && m->high ? (size_t)m->high : TEXT_MAX;
    if (!*text && !(m->flags & MAY_BE_EMPTY)) {
        ida_tenant_fault(k, path, "must not be empty");
    } else if (ida_utf16_length(text) > limit) {
        ida_tenant_fault(k, path, ida_printf(k->c->pool, "must be at most %zu characters", limit));
    } else if (m->rule && (m->rule != ida_rule_zone || k->applying)) {
        const char *broken = m->rule(k->c, value);
        if (broken) {
            ida_tenant_fault(k, path, broken);
        }
    }
}

static const shape *action_shape(const json_t *action)
{
    const char *type = json_string_value(json_object_get(action, "type"));
    for (size_t i = 0; type && i < sizeof action_types / sizeof *action_types; i++) {
        if (strcmp(type, action_types[i].type) == 0) {
            return &action_types[i].members;
        }
    }
    return NULL;
}

static void check_object(ida_tenant_checking *k, const char *path, const json_t *object,
                         const shape *s);

static void check_action(ida_tenant_checking *k, const char *path, const json_t *action)
{
    const shape *s = action_shape(action);
    if (s) {
        check_object(k, path, action, s);
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
            check_string(k, at, one, m);
        } else if (!json_is_object(one)) {
            ida_tenant_fault(k, at, "must be an object");
        } else if (m->inner == &any_action) {
            check_action(k, at, one);
        } else {
            check_object(k, at, one, m->inner);
        }
    }
    if (m->type == OBJECTS && m->inner->unique) {
        check_unique(k, path, value, m->inner->unique);
    }
}

static void check_member(ida_tenant_checking *k, const char *path, const json_t *value,
                         const member *m)
{
    const char *broken;
    switch (m->type) {
    case STRING: check_string(k, path, value, m); break;
    case INTEGER:
        if (!json_is_integer(value) || json_integer_value(value) < m->low ||
            json_integer_value(value) > m->high) {
            ida_tenant_fault(k, path,
                             ida_printf(k->c->pool, "must be a whole number from %lld to %lld",
                                        (long long)m->low, (long long)m->high));
        }
        break;
    case BOOLEAN:
        if (!json_is_boolean(value)) {
            ida_tenant_fault(k, path, "must be true or false");
        }
        break;
    case OBJECT:
        if (json_is_object(value)) {
            check_object(k, path, value, m->inner);
        } else {
            ida_tenant_fault(k, path, "must be an object");
        }
        break;
    case STRINGS:
    case OBJECTS: check_list(k, path, value, m); break;
    case VARIANT:
        broken = m->rule(k->c, value);
        if (broken) {
            ida_tenant_fault(k, path, broken);
        }
        break;
    }
}

static const member *member_named(const shape *s, const char *name)
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->members[i].name, name) == 0) {
            return &s->members[i];
        }
    }
    return NULL;
}

static void check_object(ida_tenant_checking *k, const char *path, const json_t *object,
                         const shape *s)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)object, name, value) {
        if (!member_named(s, name)) {
            ida_tenant_fault(k, join(k, path, ida_clean(k->c->pool, name, strlen(name), 64)),
                             "is not a known member");
        }
    }
    for (size_t i = 0; i < s->count; i++) {
        const member *m = &s->members[i];
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
    check_object(k, "", document, &tenant_shape);
}

static void fill(json_t *object, const shape *s)
{
    for (size_t i = 0; i < s->count; i++) {
        const member *m = &s->members[i];
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
    fill(document, &tenant_shape);
}

static void visit_files(ida_ctx *c, const char *path, const json_t *object, const shape *s,
                        ida_file_visitor *visit)
{
    for (size_t i = 0; s && i < s->count; i++) {
        const member *m = &s->members[i];
        const json_t *value = json_object_get(object, m->name), *one;
        const char *at = *path ? apr_pstrcat(c->pool, path, ".", m->name, NULL) : m->name;
        if (m->flags & (SECRET_FILE | PUBLIC_FILE)) {
            if (json_is_string(value)) {
                visit(c, at, json_string_value(value), m->flags & SECRET_FILE);
            }
        } else if (m->type == OBJECT && value) {
            visit_files(c, at, value, m->inner, visit);
        } else if (m->type == OBJECTS) {
            size_t n;
            json_array_foreach ((json_t *)value, n, one) {
                visit_files(c, ida_printf(c->pool, "%s[%zu]", at, n), one,
                            m->inner == &any_action ? action_shape(one) : m->inner, visit);
            }
        }
    }
}

void ida_tenant_files(ida_ctx *c, const json_t *document, ida_file_visitor *visit)
{
    visit_files(c, "", document, &tenant_shape, visit);
}
