/* Owns what people decide about access, as rows. Must not know who may decide, nor how a decision reaches the directory. */
#include "core/store_governance_write.h"

#include <string.h>

#include "core/text.h"

ida_kind store_role_assign(store *s, ida_ctx *c, const char *tenant, const ida_role_template *template, const ida_user *user, const char *by, int *added)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_assignment_add,
                                DB_ARGS(DB_T(tenant), DB_T(template->id), DB_T(ida_fold_address(c->pool, user->upn)), DB_T(user->upn), DB_T(user->id),
                                        DB_I(ida_now(c->env)), DB_T(by)), &r);
    *added = !kind && r.changes > 0;
    return kind;
}

ida_kind store_role_unassign(store *s, ida_ctx *c, const char *tenant, const ida_role_template *template, const char *upn)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_assignment_remove, DB_ARGS(DB_T(tenant), DB_T(template->id), DB_T(ida_fold_address(c->pool, upn))), &r);
    if (!kind && !r.changes) {
        return ida_fail(c, IDA_NOT_FOUND, "The role template %s is not assigned to %s.", template->name, ida_clean(c->pool, upn, strlen(upn), 128));
    }
    return kind;
}

ida_kind store_request_create(store *s, ida_ctx *c, const char *tenant, const ida_access_service *service, const ida_user *user,
                              const char *justification, const char **id)
{
    const char *person = ida_fold_address(c->pool, user->upn);
    const ida_access_request *open;
    ida_group *group;
    ida_kind kind = store_request_open_of(s, c, tenant, person, service->name, &open);
    if (!kind) {
        return ida_fail(c, IDA_CONFLICT, "%s has asked for %s already: request %s is open.", user->upn, service->name, open->id);
    }
    if (kind != IDA_NOT_FOUND) {
        return kind;
    }
    ida_ctx_clear(c);
    kind = store_group_find(s, c, tenant, service->group, &group);
    if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
        return ida_fail(c, kind, "The service %s grants the group %s, of which the directory has %s.", service->name, service->group,
                        kind == IDA_CONFLICT ? "several: the access catalog must name it by ID" : "none");
    }
    if (kind) {
        return kind;
    }
    *id = ida_new_id(c->pool, c->env);
    return store_write(s, c, STMT_request_add,
                       DB_ARGS(DB_T(tenant), DB_T(*id), DB_T(service->name), DB_T(service->group), DB_T(group->id), DB_T(person), DB_T(user->upn),
                               DB_T(user->id), DB_T(justification ? justification : ""), DB_I(ida_now(c->env)), DB_T(service->approvers)), NULL);
}

ida_kind store_request_decide(store *s, ida_ctx *c, const char *tenant, const char *id, int approved, const char *by)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_request_decide,
                                DB_ARGS(DB_T(tenant), DB_T(id), DB_T(approved ? "approved" : "denied"), DB_I(ida_now(c->env)), DB_T(by)), &r);
    return kind || r.changes ? kind : ida_fail(c, IDA_CONFLICT, "The access request %s is decided already.", id);
}
