/* Owns the table of roles and rights. Must not know who has a role. */
#include "core/tenant/rights.h"

#include <string.h>

#include "core/tenant/principal.h"

static const char *const role_names[IDA_ROLE_COUNT] = {
    [IDA_ROLE_VIEWER] = "viewer",     [IDA_ROLE_OPERATOR] = "operator",
    [IDA_ROLE_APPROVER] = "approver", [IDA_ROLE_KEY_ADMINISTRATOR] = "key-administrator",
    [IDA_ROLE_AUDITOR] = "auditor",   [IDA_ROLE_ADMINISTRATOR] = "administrator",
};

#define VIEWER (1u << IDA_ROLE_VIEWER)
#define OPERATOR (1u << IDA_ROLE_OPERATOR)
#define APPROVER (1u << IDA_ROLE_APPROVER)
#define KEYS (1u << IDA_ROLE_KEY_ADMINISTRATOR)
#define AUDITOR (1u << IDA_ROLE_AUDITOR)
#define ADMINISTRATOR (1u << IDA_ROLE_ADMINISTRATOR)
#define EVERYBODY (VIEWER | OPERATOR | APPROVER | KEYS | AUDITOR | ADMINISTRATOR)
#define READERS (VIEWER | OPERATOR | AUDITOR | ADMINISTRATOR)

/* Roles are small on purpose: an approver sees requests and no directory, a key administrator no
 * people. */
static const struct {
    const char *name;
    unsigned roles; /* that have it */
    unsigned areas; /* of keys that are limited: those that open it too; 0: none */
} rights[IDA_RIGHT_COUNT] = {
    [IDA_RIGHT_ANY] = {"any", EVERYBODY, 0},
    [IDA_OVERVIEW_READ] = {"overview.read", EVERYBODY, 0},
    [IDA_PEOPLE_READ] = {"people.read", READERS, IDA_AREAS(IDA_AREA_USERS)},
    [IDA_TASKS_READ] = {"tasks.read", READERS, IDA_AREAS(IDA_AREA_TASKS)},
    [IDA_ACCESS_READ] = {"access.read", READERS, IDA_AREAS(IDA_AREA_ACCESS)},
    [IDA_WORKFLOWS_READ] = {"workflows.read", READERS, IDA_AREAS(IDA_AREA_WORKFLOWS)},
    [IDA_HYGIENE_READ] = {"hygiene.read", READERS, IDA_AREAS(IDA_AREA_HYGIENE)},
    [IDA_COMPANY_READ] = {"company.read", READERS | KEYS, 0},
    [IDA_PEOPLE_WRITE] = {"people.write", OPERATOR | ADMINISTRATOR, 0},
    [IDA_TASKS_WRITE] = {"tasks.write", OPERATOR | ADMINISTRATOR, 0},
    [IDA_TASKS_RELEASE] = {"tasks.release", OPERATOR | ADMINISTRATOR, 0},
    [IDA_ACCESS_WRITE] = {"access.write", OPERATOR | ADMINISTRATOR, 0},
    [IDA_COMPANY_OPERATE] = {"company.operate", OPERATOR | ADMINISTRATOR, 0},
    [IDA_REQUESTS_READ] = {"requests.read", READERS | APPROVER, IDA_AREAS(IDA_AREA_REQUESTS)},
    [IDA_REQUESTS_DECIDE] = {"requests.decide", APPROVER | ADMINISTRATOR, 0},
    [IDA_HYGIENE_EXPORT] = {"hygiene.export", OPERATOR | AUDITOR | ADMINISTRATOR, 0},
    [IDA_KEYS_READ] = {"keys.read", KEYS | AUDITOR | ADMINISTRATOR, 0},
    [IDA_KEYS_WRITE] = {"keys.write", KEYS | ADMINISTRATOR, 0},
    [IDA_KEYS_FULL] = {"keys.full", ADMINISTRATOR, 0},
    [IDA_AUDIT_READ] = {"audit.read", AUDITOR | ADMINISTRATOR, IDA_AREAS(IDA_AREA_AUDIT)},
    [IDA_AUDIT_EXPORT] = {"audit.export", AUDITOR | ADMINISTRATOR, 0},
};

const char *ida_role_name(ida_role role)
{
    return role_names[role];
}

int ida_role_parse(const char *name)
{
    for (int i = 0; i < IDA_ROLE_COUNT; i++) {
        if (strcmp(role_names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *ida_right_name(ida_right right)
{
    return rights[right].name;
}

int ida_roles_have(unsigned roles, ida_right right)
{
    return (rights[right].roles & roles) != 0;
}

unsigned ida_right_areas(ida_right right)
{
    return rights[right].areas;
}

json_t *ida_roles_json(unsigned roles)
{
    json_t *out = json_array();
    for (int i = 0; i < IDA_ROLE_COUNT; i++) {
        if (roles & 1u << i) {
            json_array_append_new(out, json_string(role_names[i]));
        }
    }
    return out;
}

json_t *ida_rights_json(unsigned roles)
{
    json_t *out = json_array();
    for (int i = IDA_RIGHT_ANY + 1; i < IDA_RIGHT_COUNT; i++) {
        if (ida_roles_have(roles, (ida_right)i)) {
            json_array_append_new(out, json_string(rights[i].name));
        }
    }
    return out;
}

json_t *ida_roles_with(ida_right right)
{
    return ida_roles_json(rights[right].roles);
}
