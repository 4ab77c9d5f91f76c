/* idadminctl key create: a new API user. The key itself is shown once, when it is created. */
#include <openssl/crypto.h>
#include <string.h>

#include "core/base/json.h"
#include "core/store/audit.h"
#include "core/store/key.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"
#include "core/tenant/new_key.h"
#include "worker/ctl/ctl.h"

typedef struct key_work {
    ctl_call *ctl;
    ida_principal principal;
    const char *parameters;
    char *key; /* out: of a new one */
} key_work;

static ida_kind audited(store *s, ida_ctx *c, const key_work *work, const char *action)
{
    const ida_principal *p = &work->principal;
    audit_record *record = ctl_audit(work->ctl, p->company, action, p->username);
    record->parameters = work->parameters;
    ida_kind kind = store_key_mark(s, c, p->company, p->username, &record->detail);
    return kind ? kind : store_audit_add(s, c, record);
}

static ida_kind create_in(store *s, ida_ctx *c, void *baton)
{
    key_work *work = baton;
    ida_kind kind = store_key_issue(s, c, &work->principal, work->ctl->actor, &work->key);
    if (kind == IDA_CONFLICT) {
        return ida_fail(c, kind,
                        "Tenant %s has an API user %s already; rotation is a key under a new "
                        "username, then `key delete` of the old one.",
                        work->principal.company, work->principal.username);
    }
    return kind ? kind : audited(s, c, work, "key.create");
}

/* Checks the given values in the tenant's zone; returns parameters for the audit record. */
static ida_kind check(ctl_call *ctl, store *s, const ida_new_key *given, key_work *work)
{
    static const ida_new_key as = {"USERNAME",  "--access",      "--label",
                                   "--expires", "--rate-limit",  "--from",
                                   "--scopes",  "--concurrency", "--decisions"};
    ida_tenant *tenant;
    ida_principal *p = &work->principal;
    ida_kind kind = ctl_tenant_exists(ctl, s, p->company);
    kind = kind ? kind : store_tenant_get(s, ctl->c, p->company, &tenant, NULL);
    if (!kind && tenant->deleted) {
        return ida_fail(ctl->c, IDA_NOT_FOUND, "The company %s was deleted.", p->company);
    }
    kind = kind ? kind : ida_new_key_check(ctl->c, tenant, given, &as, p);
    kind = kind ? kind : ida_faults_raise(ctl->c);
    if (!kind) {
        json_t *parameters = ida_json_keep(ctl->pool, json_object());
        ida_json_put(parameters, "access", given->access);
        ida_json_put(parameters, "label", p->label);
        ida_json_put(parameters, "rateLimit", given->rate);
        ida_json_put(parameters, "expires", given->expires);
        ida_json_put(parameters, "from", p->from);
        ida_json_put(parameters, "scopes", ida_areas_text(ctl->pool, p->areas));
        ida_json_put(parameters, "concurrency", given->concurrency);
        if (p->decisions) {
            json_object_set_new(parameters, "decisions", json_true());
        }
        work->parameters = ida_json_text(ctl->pool, parameters);
    }
    return kind;
}

static void show(ctl_call *ctl, const key_work *work)
{
    static const ctl_column columns[] = {{"Company ID", "companyId"},
                                         {"Username", "username"},
                                         {"Access level", "accessLevel"},
                                         {"Scopes", "scopes"},
                                         {"Label", "label"},
                                         {"API key", "apiKey"},
                                         {"MCP secret", "mcpSecret"},
                                         {NULL, NULL}};
    json_t *document = ida_new_key_json(ctl->pool, &work->principal, work->key);
    if (!ctl_json(ctl, document)) {
        ctl_fields(ctl, document, columns);
        ctl_say(ctl, "\nAPI key and MCP secret are shown only now: store them safely. A lost key "
                     "is replaced by a new one.");
    }
    json_decref(document);
    OPENSSL_cleanse(work->key, strlen(work->key));
}

static int create(ctl_call *ctl)
{
    key_work work = {.ctl = ctl, .principal = {.company = ctl->arguments[0]}};
    const ida_new_key given = {.username = ctl->arguments[1],
                               .access = ctl_value(ctl, "access"),
                               .label = ctl_value(ctl, "label"),
                               .expires = ctl_value(ctl, "expires"),
                               .rate = ctl_value(ctl, "rate-limit"),
                               .from = ctl_value(ctl, "from"),
                               .scopes = ctl_value(ctl, "scopes"),
                               .concurrency = ctl_value(ctl, "concurrency"),
                               .decisions = ctl_value(ctl, "decisions")};
    ida_rate rate;
    const char *fault = given.rate ? ida_rate_parse(given.rate, &rate) : NULL;
    if (!given.access || ida_access_level_parse(given.access) < 0) {
        return ctl_usage(ctl, "--access is required: read-only, full or legacy");
    }
    if (fault) {
        return ctl_usage(ctl, "--rate-limit %s", fault);
    }
    if (!ida_name_valid(given.username)) {
        return ctl_usage(ctl, "a username is 1-%d characters of A-Z a-z 0-9 . _ -", IDA_NAME_MAX);
    }
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = check(ctl, s, &given, &work);
    kind = kind ? kind : store_transaction(s, ctl->c, create_in, &work);
    if (!kind) {
        show(ctl, &work);
    }
    return ctl_result(ctl, kind);
}

const ctl_command ctl_key_commands[] = {
    {"key", "create", "ID USERNAME",
     "Create an API user of tenant ID and show its API key and MCP secret, this once.",
     .help =
         "Rotation: create a key under a new username, move the caller over, delete the old one.",
     .options =
         {{"access", "LEVEL",
           "read-only (every read: REST GET and MCP), full (all of REST), legacy (a key from "
           "before access levels); fixed at creation"},
          {"label", "TEXT", "at most 100 characters; in the audit log beside each call"},
          {"expires", "DATE",
           "YYYY-MM-DD; the key stops working when that day begins in the tenant's time zone; or "
           "never; else after the tenant's keys.defaultDays"},
          {"rate-limit", "RATE",
           "the key's own limit, such as 6000/60s, or off; else the tenant's or the server's"},
          {"concurrency", "N",
           "requests of the key that may be under way at the same time, 1 to 1000; else 64"},
          {"decisions", NULL,
           "the key may carry decisions of approvers (POST /v1/api/access-request/decision), such "
           "as those of a ticket system; else it may not"},
          {"from", "CIDR,...",
           "networks it may be used from, such as 192.0.2.0/24,2001:db8::/32; else from anywhere"},
          {"scopes", "NAME,...",
           "what a read-only key is limited to, of " IDA_AREA_NAMES "; else no limit"}},
     .run = create},
    {0},
};
