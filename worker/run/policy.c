/* Owns the comparison of what was ordered with the sealed document. Must not know directories. */
#include "worker/run/policy.h"

#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/governance/named.h"
#include "worker/run/session.h"

/* The entry of a list of the sealed document that has this name. */
static const json_t *entry(run *r, const char *list, const char *member, const char *name)
{
    const json_t *one;
    size_t i;
    json_array_foreach (json_object_get(r->account->session->tenant->document, list), i, one) {
        if (strcmp(ida_json_string(one, member), name) == 0) {
            return one;
        }
    }
    return NULL;
}

static int same_list(const json_t *stored, const json_t *sealed)
{
    return json_array_size(stored) == json_array_size(sealed) &&
           (!json_array_size(stored) || json_equal(stored, sealed));
}

const char *run_template_fault(run *r, const ida_role_template *template)
{
    const json_t *sealed = entry(r, "roleTemplates", "name", template->name);
    if (sealed && same_list(template->groups, json_object_get(sealed, "groups")) &&
        same_list(template->licenses, json_object_get(sealed, "licenses"))) {
        return NULL;
    }
    return ida_printf(r->pool,
                      "the role template %s is not as the sealed tenant document has it: somebody "
                      "changed it in the store by hand. Apply the document again",
                      template->name);
}

/* Whether one of the names that the document lists is this item's. */
static ida_kind lists_group(store *s, ida_ctx *c, const char *tenant, const json_t *names,
                            const access_item *item, int *listed)
{
    const json_t *one;
    size_t i;
    *listed = 0;
    json_array_foreach ((json_t *)names, i, one) {
        const char *name = json_string_value(one);
        access_item found = {0};
        if (!item->id) { /* not resolved when it was ordered */
            *listed |= strcmp(name, item->name) == 0;
            continue;
        }
        ida_kind kind = governance_membership_item(s, c, tenant, name, &found);
        if (kind && kind != IDA_NOT_FOUND && kind != IDA_CONFLICT) {
            return kind;
        }
        ida_ctx_clear(c);
        *listed |= !kind && found.directory == item->directory && strcmp(found.id, item->id) == 0;
    }
    return IDA_OK;
}

static int lists_license(const json_t *names, const access_item *item)
{
    const json_t *one;
    size_t i;
    int listed = 0;
    json_array_foreach ((json_t *)names, i, one) {
        listed |= strcasecmp(json_string_value(one), item->id) == 0;
    }
    return listed;
}

static ida_kind may_approve(run *r, store *s, ida_ctx *c, const json_t *service, int *may)
{
    const json_t *payload = ida_json_load(c->pool, r->task->payload), *one, *known;
    const char *by = ida_json_string(payload, "approvedBy"),
               *id = ida_json_string(payload, "approvedById");
    ida_user *user = NULL;
    size_t i;
    *may = !by; /* decided before that was written down */
    ida_kind kind = by ? governance_named(s, c, r->task->tenant, &known) : IDA_OK;
    kind = kind || !by ? kind : cache_user_mentioned(s, c, r->task->tenant, id ? id : by, &user);
    json_array_foreach (json_object_get(service, "approvers"), i, one) {
        *may |= !kind && by &&
                governance_named_means(c->pool, known, json_string_value(one), user, by);
    }
    return kind;
}

ida_kind run_item_fault(run *r, store *s, ida_ctx *c, const access_grantor *by,
                        const access_item *item, const char **why)
{
    int of_request = by->source == governance_by_request, listed = 0, may = 1;
    const json_t *sealed = of_request ? entry(r, "accessCatalog", "service", by->name)
                                      : entry(r, "roleTemplates", "name", by->name);
    json_t *names = of_request ? ida_json_keep(c->pool, json_array())
                               : json_object_get(sealed, "groups");
    ida_kind kind = IDA_OK;
    *why = NULL;
    if (of_request && sealed) {
        json_array_append(names, json_object_get(sealed, "group"));
    }
    if (item->license) {
        listed = lists_license(json_object_get(sealed, "licenses"), item);
    } else {
        kind = lists_group(s, c, r->task->tenant, names, item, &listed);
    }
    kind = kind || !of_request || !listed ? kind : may_approve(r, s, c, sealed, &may);
    if (!kind && !listed) {
        *why = ida_printf(c->pool,
                          "the sealed tenant document does not say that the %s %s grants %s: it "
                          "was removed from the document, or the store was changed by hand",
                          of_request ? "service" : "role template", by->name, item->name);
    } else if (!kind && !may) {
        *why = ida_printf(c->pool,
                          "the sealed tenant document does not name who approved the request as "
                          "an approver of %s",
                          by->name);
    }
    ida_user *user = NULL;
    /* A workflow prepares accounts that are enabled later. */
    int asked = strcmp(r->task->via, "workflow") != 0 && r->account->object_id;
    kind = kind || *why || !asked
               ? kind
               : cache_user_mentioned(s, c, r->task->tenant, r->account->object_id, &user);
    if (!kind && user && !user->enabled) {
        *why = ida_printf(
            c->pool,
            "the account of %s is disabled. Enable it and retry the task, or take the "
            "access back",
            user->upn);
    }
    return kind;
}
