/* Owns who may call what: modules, access levels, scopes, rights, and directories that have not
 * been read yet. Must not know what an operation does. */
#include <stddef.h>
#include <string.h>

#include "core/cache/freshness.h"
#include "core/operation/op.h"
#include "core/store/tenant.h"

#define PAUSED_RETRY_S 300
#define UPGRADE_RETRY_S 60

static const struct {
    const char *name, *member;
    size_t enabled; /* offset of the module's switch in ida_tenant */
} modules[] = {
    [IDA_MODULE_PUBLIC_API] = {"Public API", "publicApi", offsetof(ida_tenant, public_api)},
    [IDA_MODULE_ACCESS_GOVERNANCE] = {"access governance", "accessGovernance",
                                      offsetof(ida_tenant, access_governance)},
};

static ida_kind admit_module(ida_call *call, ida_module module)
{
    if (*(const int *)((const char *)call->asked->tenant + modules[module].enabled)) {
        return IDA_OK;
    }
    int tool = call->asked->face->tools, public = module == IDA_MODULE_PUBLIC_API;
    ida_fail(call->c, IDA_FORBIDDEN,
             "The %s module is %snot enabled for this tenant. %sAn administrator enables it "
             "with \"modules\":{\"%s\":true} in the tenant document.",
             modules[module].name, tool && !public ? "required for this tool and is " : "",
             tool ? "Retrying will not help. " : "", modules[module].member);
    return ida_because(call->c, "moduleOff", json_pack("{s:s}", "module", modules[module].member));
}

/* Assistants get keys that cannot change anything, not even through REST: MCP refuses a key that
 * may write. */
static ida_kind admit_scope(ida_call *call)
{
    int read_only = call->asked->principal->access == IDA_ACCESS_READ_ONLY;
    if (call->asked->face->tools && !read_only) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key is missing the required 'read' scope. Retrying will not help, "
                        "and the scope cannot be added: an administrator creates a new key with "
                        "the access level \"Read only\" and gives its MCP secret to this client.");
    }
    if (call->asked->operation->scope == IDA_SCOPE_WRITE && read_only) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key of \"%s\" is read-only and may not change anything. Use a key "
                        "with full access.",
                        call->asked->principal->username);
    }
    if (call->asked->operation->right == IDA_REQUESTS_DECIDE &&
        !call->asked->principal->decisions) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key of \"%s\" may not carry decisions of approvers. An "
                        "administrator creates a key that may: idadminctl key create --decisions.",
                        call->asked->principal->username);
    }
    unsigned areas = call->asked->principal->areas;
    if (areas && !(areas & ida_right_areas(call->asked->operation->right))) {
        return ida_fail(call->c, IDA_FORBIDDEN,
                        "The API key of \"%s\" is limited to the scopes %s, and this needs %s. "
                        "Retrying will not help: an administrator creates a key with that scope.",
                        call->asked->principal->username, ida_areas_text(call->c->pool, areas),
                        ida_areas_text(call->c->pool,
                                       ida_right_areas(call->asked->operation->right)));
    }
    return IDA_OK;
}

unsigned ida_person_roles(const ida_person *person, const char *company)
{
    unsigned roles = 0;
    for (int i = 0; i < person->grant_count; i++) {
        const ida_grant *g = &person->grants[i];
        if (strcmp(g->company, "*") == 0 || strcmp(g->company, company) == 0) {
            roles |= 1u << g->role;
        }
    }
    return roles;
}

ida_kind ida_operation_right(ida_call *call, ida_right right)
{
    if (ida_roles_have(call->asked->roles, right)) {
        return IDA_OK;
    }
    ida_fail(call->c, IDA_FORBIDDEN,
             "This needs the right %s, which your roles in this company do not have.",
             ida_right_name(right));
    return ida_because(call->c, "rightMissing",
                       json_pack("{s:s, s:o}", "right", ida_right_name(right), "roles",
                                 ida_roles_with(right)));
}

ida_kind ida_operation_admit(ida_call *call)
{
    const ida_operation *op = call->asked->operation;
    int signed_in = call->asked->person != NULL; /* module and access level apply to API keys
                                                    only */
    ida_kind kind = !signed_in       ? admit_module(call, IDA_MODULE_PUBLIC_API)
                    : op->no_company ? IDA_OK
                                     : ida_operation_right(call, op->right);
    if (!kind && op->module != IDA_MODULE_PUBLIC_API) {
        kind = admit_module(call, op->module);
    }
    return kind || signed_in ? kind : admit_scope(call);
}

/* A program must not write by the schema of before: it does not know what the new one asks of its
 * rows. Connections that were open during the upgrade would let it. */
static ida_kind refuse_other_schema(ida_ctx *c, int64_t number, int known)
{
    ida_log(
        c->env, IDA_LOG_ERROR, "IDA0112",
        "a change was refused: the store's schema is number %lld now and this program knows %d; "
        "restart httpd in the version of the store",
        (long long)number, known);
    c->retry_after = UPGRADE_RETRY_S;
    c->message_is_public = 1;
    ida_fail(c, IDA_SERVICE_UNAVAILABLE,
             "The service is being upgraded: nothing was changed. Send the request again when its "
             "web server runs in the new version.");
    return ida_because(c, STORE_SCHEMA_CHANGED, NULL);
}

/* The row's state is that of this moment; the sealed document, which the face may have read two
 * seconds ago, holds also against a row that was changed by hand. */
ida_kind ida_op_in_service(ida_call *call, store *s, ida_ctx *c)
{
    const ida_tenant *tenant = call->asked->tenant;
    store_tenant_row row;
    if (!tenant) {
        return IDA_OK;
    }
    ida_kind kind = store_tenant_lock_row(s, c, tenant->id, &row);
    if (!kind && row.schema != store_schema_version_of(s)) {
        return refuse_other_schema(c, row.schema, store_schema_version_of(s));
    }
    if (kind || call->asked->operation->while_paused || (!*row.state && !tenant->paused)) {
        return kind;
    }
    if (strcmp(row.state, "deleted") == 0 || tenant->deleted) {
        return ida_fail(c, IDA_NOT_FOUND, "The company %s was deleted.", tenant->id);
    }
    c->retry_after = PAUSED_RETRY_S;
    c->message_is_public = 1;
    ida_fail(c, IDA_SERVICE_UNAVAILABLE,
             "The company %s is paused: reading goes on, changes are refused, and what is queued "
             "waits. Send the request again when an administrator has resumed the company "
             "(`idadminctl tenant resume`).",
             tenant->id);
    return ida_because(c, "companyPaused", NULL);
}

ida_kind ida_op_synced(ida_call *call, store *s)
{
    /* A context of its own, so that an earlier failure stays in `c` if the tenant is
     * synchronised. */
    int synced;
    ida_ctx *c = call->c, *asking = ida_ctx_make(c->env, c->pool);
    ida_kind kind = cache_is_synced(s, asking, call->asked->tenant, &synced);
    if (kind) {
        c->retry_after = asking->retry_after;
        c->message_is_public = 0;
        ida_fail(c, kind, "%s", asking->message ? asking->message : ida_kind_text(kind));
    } else if (!synced) {
        c->retry_after = 30;
        c->message_is_public = 1;
        kind = ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "The tenant's directory is not yet synchronised: users, names and seats "
                        "would be guesses. Try again when the first synchronisation is complete.");
        ida_because(c, "notSynchronised", NULL);
    }
    return kind;
}
