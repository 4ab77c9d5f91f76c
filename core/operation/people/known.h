/* People whom rows of a page name. */
#ifndef CORE_OPERATION_PEOPLE_KNOWN_H
#define CORE_OPERATION_PEOPLE_KNOWN_H

#include "core/cache/person.h"
#include "core/governance/governance.h"
#include "core/operation/page.h"

/* People by ID, or by UPN if no ID was stored, each looked up once a page; *user NULL: the tenant
 * has no such person. */
ida_kind ida_op_known_person(ida_page *page, const char *named, const ida_user **user);
/* The same for an approver as the catalog names them. */
ida_kind ida_op_known_approver(ida_page *page, const char *named, const ida_user **user);

/* Appends the approvers who may decide the request now. */
ida_kind ida_op_eligible_approvers(ida_page *page, const ida_access_request *r, json_t *approvers);

#endif
