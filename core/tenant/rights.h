/* Permissions of the console: administrators are given roles in the server's configuration, each
 * role is a row of rights, and an operation names the right that it requires. API keys have
 * access levels instead. */
#ifndef CORE_TENANT_RIGHTS_H
#define CORE_TENANT_RIGHTS_H

#include <jansson.h>

typedef enum ida_right {
    IDA_RIGHT_NONE, /* the operation is not in the console */
    IDA_RIGHT_ANY,  /* whoever has a role */
    IDA_OVERVIEW_READ,
    IDA_PEOPLE_READ,
    IDA_TASKS_READ,
    IDA_ACCESS_READ,
    IDA_WORKFLOWS_READ,
    IDA_HYGIENE_READ,
    IDA_COMPANY_READ,
    IDA_PEOPLE_WRITE,
    IDA_TASKS_WRITE,
    IDA_TASKS_RELEASE,
    IDA_ACCESS_WRITE,
    IDA_COMPANY_OPERATE,
    IDA_REQUESTS_READ,
    IDA_REQUESTS_DECIDE,
    IDA_HYGIENE_EXPORT,
    IDA_KEYS_READ,
    IDA_KEYS_WRITE,
    IDA_KEYS_FULL, /* keys that can write: their holder can hire */
    IDA_AUDIT_READ,
    IDA_AUDIT_EXPORT,
    IDA_RIGHT_COUNT
} ida_right;

typedef enum ida_role {
    IDA_ROLE_VIEWER,
    IDA_ROLE_OPERATOR,
    IDA_ROLE_APPROVER,
    IDA_ROLE_KEY_ADMINISTRATOR,
    IDA_ROLE_AUDITOR,
    IDA_ROLE_ADMINISTRATOR,
    IDA_ROLE_COUNT
} ida_role;

/* Sets of roles are bits: 1 << IDA_ROLE_VIEWER. */

/* "key-administrator" and back, -1 when there is no such role. */
const char *ida_role_name(ida_role role);
int ida_role_parse(const char *name);

/* "people.read". */
const char *ida_right_name(ida_right right);

/* Scopes of a limited key that open what the right opens (ida_principal.areas). */
unsigned ida_right_areas(ida_right right);

/* 1 when one of the roles has the right. */
int ida_roles_have(unsigned roles, ida_right right);

/* Names of the roles of a set; of the rights that a set of roles has; of the roles that have a
 * right. New references. */
json_t *ida_roles_json(unsigned roles);
json_t *ida_rights_json(unsigned roles);
json_t *ida_roles_with(ida_right right);

#endif
