/* Owns how the console shows what is set: the tenant document as it is stored, how its receivers of
 * events fare, and what a draft of another document would change. Stores nothing: the seal of a
 * document needs a key that a server cannot read. */
#include <string.h>

#include "core/base/json.h"
#include "core/operation/table.h"
#include "core/queue/delivery.h"
#include "core/store/tenant.h"
#include "core/tenant/difference.h"

#define UNDELIVERED_MAX 50
#define DRAFT_MAX 1048576 /* UTF-16 units */

/* --- the document --- */

/* The path of an address may be a secret. The ellipsis is in no valid address, so that a draft
 * which keeps it is refused. */
static const char *masked_url(apr_pool_t *pool, const char *url)
{
    const char *host = strstr(url, "://");
    size_t len = host ? (size_t)(host - url) + 3 : 0;
    len += strcspn(url + len, "/?#");
    return url[len] && url[len + 1] ? ida_printf(pool, "%.*s/…", (int)len, url) : url;
}

/* Secrets stand in files, of which the document has the paths; addresses of calls are left. So are
 * those of people for a role that reads none. `of`: the member. */
static void mask(ida_call *call, const char *of, json_t *value)
{
    size_t i;
    json_t *one;
    const char *name, *text = json_string_value(value);
    if (text && strcmp(of, "url") == 0) {
        json_string_set(value, masked_url(call->c->pool, text));
    } else if (text && (strchr(text, '@') || strcmp(of, "protectedAccounts") == 0) &&
               !ida_roles_have(call->asked->roles, IDA_PEOPLE_READ)) {
        json_string_set(value, "…");
    }
    json_array_foreach (value, i, one) {
        mask(call, of, one);
    }
    json_object_foreach (value, name, one) {
        mask(call, name, one);
    }
}

/* --- receivers of events --- */

static json_t *receiver_json(apr_pool_t *pool, const queue_receiver_state *r)
{
    json_t *out = json_object(), *events = json_array();
    for (const char *text = r->events; *text;) {
        size_t len = strcspn(text, ",");
        if (len) {
            json_array_append_new(events, json_stringn(text, len));
        }
        text += len + (text[len] == ',');
    }
    ida_json_put(out, "url", masked_url(pool, r->url));
    json_object_set_new(out, "events", events);
    json_object_set_new(out, "waiting", json_integer(r->waiting));
    json_object_set_new(out, "givenUp", json_integer(r->given_up));
    json_object_set_new(out, "failures", json_integer(r->failures));
    ida_json_put_time(out, "nextAt", r->failures ? r->next_at : 0);
    return out;
}

static ida_kind put_receivers(ida_call *call, store *s, ida_ctx *c)
{
    const queue_receiver_state *found;
    int count = 0;
    json_t *out = json_array();
    json_object_set_new(call->result, "receivers", out);
    ida_kind kind = queue_receiver_list(s, c, call->asked->tenant->id, &found, &count);
    for (int i = 0; !kind && i < count; i++) {
        if (*found[i].events || found[i].waiting || found[i].given_up) {
            json_array_append_new(out, receiver_json(c->pool, &found[i]));
        }
    }
    return kind;
}

/* Events name people, so they take the right to read tasks. */
static ida_kind put_undelivered(ida_call *call, store *s, ida_ctx *c)
{
    const queue_undelivered *found;
    int count = 0;
    json_t *out = json_array();
    json_object_set_new(call->result, "undelivered", out);
    ida_kind kind = queue_undelivered_list(s, c, call->asked->tenant->id, 0, UNDELIVERED_MAX,
                                           &found, &count);
    for (int i = 0; !kind && i < count; i++) {
        const queue_undelivered *d = &found[i];
        json_t *row = ida_json_texts("id", d->id, "type", d->type, "taskId", d->task_id,
                                     "userPrincipalName", d->upn, "url",
                                     masked_url(c->pool, d->url), NULL);
        ida_json_put_time(row, "at", d->at);
        ida_json_put_time(row, "nextAt", d->given_up_at ? 0 : d->next_at);
        ida_json_put_time(row, "givenUpAt", d->given_up_at);
        json_object_set_new(row, "tries", json_integer(d->tries));
        ida_json_put_or_null(row, "error", d->error);
        json_array_append_new(out, row);
    }
    return kind;
}

static ida_kind get(ida_call *call, store *s, ida_ctx *c)
{
    json_t *document = json_deep_copy(call->asked->tenant->document);
    mask(call, "", document);
    call->result = ida_json_keep(c->pool, json_pack("{s:o}", "document", document));
    ida_kind kind = put_receivers(call, s, c);
    return kind || !ida_roles_have(call->asked->roles, IDA_TASKS_READ)
               ? kind
               : put_undelivered(call, s, c);
}

const ida_operation ida_op_settings = {
    .name = "company.settings",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_COMPANY_READ,
    IDA_READS("/company/settings"),
    .params = ida_no_params,
    .work = get,
    .summary = "The tenant document without secrets, and how its receivers of events fare.",
};

/* --- a draft --- */

static const ida_param plan_members[] = {
    {"document", IDA_PARAM_LINES, IDA_PARAM_REQUIRED, .max = DRAFT_MAX,
     .about = "A tenant document as text, as `idadminctl tenant apply` takes it."},
    {0}};

static ida_kind check_plan(ida_call *call)
{
    const json_t *text = json_object_get(call->asked->body, "document");
    if (!json_is_string(text)) {
        ida_fault_add(call->c, "document", "must be the text of a tenant document");
    } else if (json_string_length(text) > 4 * (size_t)DRAFT_MAX) {
        ida_fault_add(call->c, "document", "must be at most %d characters", DRAFT_MAX);
    }
    return ida_faults_raise(call->c);
}

/* As `tenant apply --dry-run`, but for the files of secrets, which httpd cannot read. */
static ida_kind plan(ida_call *call, store *s, ida_ctx *c)
{
    const json_t *text = json_object_get(call->asked->body, "document");
    const ida_tenant *present = call->asked->tenant;
    ida_stored_tenant stored;
    ida_tenant *tenant;
    char *canonical;
    ida_kind kind = store_tenant_document(s, c, present->id, &stored);
    kind = kind ? kind
                : ida_tenant_apply(c, json_string_value(text), json_string_length(text),
                                   stored.document, &tenant, &canonical);
    if (kind) {
        return kind;
    }
    if (strcmp(tenant->id, present->id) != 0) {
        ida_fault_add(c, "companyId", "must be \"%s\", the company that is open", present->id);
        return ida_faults_raise(c);
    }
    json_t *before = ida_json_load(c->pool, stored.document),
           *after = ida_json_load(c->pool, canonical),
           *changes = ida_tenant_difference(c->pool, before, after, 0), *row;
    size_t i;
    json_array_foreach (changes, i, row) {
        const char *member = ida_json_string(row, "member"), *dot = strrchr(member, '.');
        mask(call, dot ? dot + 1 : member, json_object_get(row, "before"));
        mask(call, dot ? dot + 1 : member, json_object_get(row, "after"));
    }
    call->result = ida_json_keep(c->pool, json_pack("{s:O}", "changes", changes));
    return IDA_OK;
}

const ida_operation ida_op_settings_plan = {
    .name = "company.plan",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_COMPANY_READ,
    .method = "POST",
    .path = "/company/plan",
    .scope = IDA_SCOPE_READ,
    .params = ida_no_params,
    .body = plan_members,
    .at_once = 2, /* each may be a megabyte that is judged */
    .discreet = 1,
    .check = check_plan,
    .work = plan,
    .summary = "What a draft of the tenant document would change; stores nothing.",
};
