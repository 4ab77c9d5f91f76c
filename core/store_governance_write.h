/* Assigning role templates, making and deciding access requests: what is recorded, with its time. Inside a transaction of the caller's. */
#ifndef IDA_STORE_GOVERNANCE_WRITE_H
#define IDA_STORE_GOVERNANCE_WRITE_H

#include "core/store_governance.h"
#include "core/store_user.h"

/* *added is 0 when the template was assigned before. */
ida_kind store_role_assign(store *s, ida_ctx *c, const char *tenant, const ida_role_template *template, const ida_user *user, const char *by, int *added);
/* IDA_NOT_FOUND when the person (UPN in any case) does not have it. */
ida_kind store_role_unassign(store *s, ida_ctx *c, const char *tenant, const ida_role_template *template, const char *upn);

/* IDA_CONFLICT when the same is asked for already. *id is that of the new request. */
ida_kind store_request_create(store *s, ida_ctx *c, const char *tenant, const ida_access_service *service, const ida_user *user,
                              const char *justification, const char **id);
/* Who may decide is the caller's question. IDA_CONFLICT when it is decided already. */
ida_kind store_request_decide(store *s, ida_ctx *c, const char *tenant, const char *id, int approved, const char *by);

#endif
