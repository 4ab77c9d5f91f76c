/* idadminctl key: API users. The key itself is seen once, when it is made. */
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/network.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/store/audit.h"
#include "core/store/key.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"
#include "core/zone/zone.h"
#include "worker/ctl/ctl.h"

typedef struct key_work {
    ctl_call *ctl;
    ida_principal principal;
    const char *hash, *parameters;
    int disabled;
} key_work;

static ida_kind audited(store *s, ida_ctx *c, const key_work *work, const char *action)
{
    audit_record *record = ctl_audit(work->ctl, work->principal.company, action,
                                     work->principal.username);
    record->parameters = work->parameters;
    return store_audit_add(s, c, record);
}

static ida_kind create_in(store *s, ida_ctx *c, void *baton)
{
    const key_work *work = baton;
    ida_kind kind = store_key_create(s, c, &work->principal, work->hash);
    if (kind == IDA_CONFLICT) {
        return ida_fail(c, kind,
                        "Tenant %s has an API user %s already; rotation is a key under a new "
                        "username, then `key delete` of the old one.",
                        work->principal.company, work->principal.username);
    }
    return kind ? kind : audited(s, c, work, "key.create");
}

static ida_kind set_disabled_in(store *s, ida_ctx *c, void *baton)
{
    const key_work *work = baton;
    ida_kind kind = store_key_set_disabled(s, c, work->principal.company, work->principal.username,
                                           work->disabled);
    return kind ? kind : audited(s, c, work, work->disabled ? "key.disable" : "key.enable");
}

static ida_kind delete_in(store *s, ida_ctx *c, void *baton)
{
    const key_work *work = baton;
    ida_kind kind = store_key_delete(s, c, work->principal.company, work->principal.username);
    return kind ? kind : audited(s, c, work, "key.delete");
}

/* Midnight at which the day begins in the tenant's zone. */
static ida_kind parse_expiry(ctl_call *ctl, store *s, const char *company, const char *text,
                             int64_t *at)
{
    int year, month, day, used = 0;
    if (sscanf(text, "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3 || used != 10 || text[10]) {
        return ida_fail(ctl->c, IDA_BAD_REQUEST, "--expires must be a date YYYY-MM-DD");
    }
    zone_wall wall = {.year = year, .month = month, .day = day};
    int y, m, d;
    ida_civil_from_days(ida_days_from_civil(year, month, day), &y, &m, &d);
    if (month < 1 || month > 12 || y != year || m != month || d != day) {
        return ida_fail(ctl->c, IDA_BAD_REQUEST, "--expires: there is no day %s", text);
    }
    ida_tenant *tenant;
    const zone_info *zone;
    ida_kind kind = store_tenant_get(s, ctl->c, company, &tenant, NULL, NULL);
    if (!kind) {
        kind = zone_get(ctl->c, tenant->time_zone, &zone);
    }
    if (kind) {
        return kind;
    }
    *at = zone_to_utc(zone, &wall) * 1000;
    if (*at <= ida_now(&ctl->env)) {
        return ida_fail(ctl->c, IDA_BAD_REQUEST,
                        "--expires: %s has begun already; the key would never work", text);
    }
    return IDA_OK;
}

static size_t characters(const char *text)
{
    size_t count = 0;
    for (; *text; text++) {
        count += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return count;
}

static ida_kind parse_label(ctl_call *ctl, const char *text, const char **label)
{
    *label = "";
    if (!text) {
        return IDA_OK;
    }
    if (!ida_utf8_valid(text, strlen(text)) || characters(text) > IDA_LABEL_MAX ||
        strcmp(text, ida_clean(ctl->pool, text, strlen(text), 0)) != 0) {
        return ida_fail(ctl->c, IDA_BAD_REQUEST,
                        "--label must be UTF-8 text of at most %d visible characters",
                        IDA_LABEL_MAX);
    }
    *label = text;
    return IDA_OK;
}

static ida_kind parse_from(ctl_call *ctl, const char *text, const char **from)
{
    char *networks;
    ida_kind kind = ida_networks_parse(ctl->c, text, &networks);
    *from = networks;
    return kind ? ida_fail(ctl->c, kind, "--from: %s.", ctl->c->message) : kind;
}

static int create(ctl_call *ctl)
{
    ida_ctx *c = ctl->c;
    key_work work = {.ctl = ctl,
                     .principal = {.company = ctl->arguments[0], .username = ctl->arguments[1]}};
    const char *access = ctl_value(ctl, "access"), *rate = ctl_value(ctl, "rate-limit"),
               *expires = ctl_value(ctl, "expires"), *from = ctl_value(ctl, "from");
    if (!access) {
        return ctl_usage(ctl, "--access is wanted: read-only, full or legacy");
    }
    int level = ida_access_level_parse(access);
    if (level < 0) {
        return ctl_usage(ctl, "--access must be read-only, full or legacy");
    }
    const char *fault = rate ? ida_rate_parse(rate, &work.principal.rate) : NULL;
    if (fault) {
        return ctl_usage(ctl, "--rate-limit %s", fault);
    }
    if (!ida_name_valid(work.principal.username)) {
        return ctl_usage(ctl, "a username is 1-%d characters of A-Z a-z 0-9 . _ -", IDA_NAME_MAX);
    }
    work.principal.access = (ida_access_level)level;
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, work.principal.company);
    if (!kind) {
        kind = parse_label(ctl, ctl_value(ctl, "label"), &work.principal.label);
    }
    if (!kind && expires) {
        kind = parse_expiry(ctl, s, work.principal.company, expires, &work.principal.expires_at);
    }
    if (!kind && from) {
        kind = parse_from(ctl, from, &work.principal.from);
    }
    if (kind) {
        return ctl_result(ctl, kind);
    }
    char *key = ida_key_make(ctl->pool, &ctl->env);
    char hash[IDA_KEY_HASH_LEN + 1];
    ida_key_hash(key, hash);
    work.hash = hash;
    json_t *parameters = ida_json_keep(
        ctl->pool, json_pack("{s:s}", "access", ida_access_level_text(work.principal.access)));
    ida_json_put(parameters, "label", work.principal.label);
    ida_json_put(parameters, "rateLimit", rate);
    ida_json_put(parameters, "expires", expires);
    ida_json_put(parameters, "from", work.principal.from);
    work.parameters = ida_json_text(ctl->pool, parameters);
    kind = store_transaction(s, c, create_in, &work);
    if (!kind) {
        char *secret = ida_printf(ctl->pool, "%s:%s:%s", work.principal.company,
                                  work.principal.username, key);
        json_t *document = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "companyId",
                                     work.principal.company, "username", work.principal.username,
                                     "accessLevel", ida_access_level_text(work.principal.access),
                                     "label", work.principal.label, "apiKey", key, "mcpSecret",
                                     secret);
        if (!ctl_json(ctl, document)) {
            static const ctl_column columns[] = {{"Company ID", "companyId"},
                                                 {"Username", "username"},
                                                 {"Access level", "accessLevel"},
                                                 {"Label", "label"},
                                                 {"API key", "apiKey"},
                                                 {"MCP secret", "mcpSecret"},
                                                 {NULL, NULL}};
            ctl_fields(ctl, document, columns);
            ctl_say(ctl, "\nThis is the only moment that shows API key and MCP secret. Keep them "
                         "now; a lost key is replaced by a new one.");
        }
        json_decref(document);
        OPENSSL_cleanse(secret, strlen(secret));
    }
    OPENSSL_cleanse(key, strlen(key));
    return ctl_result(ctl, kind);
}

static int list(ctl_call *ctl)
{
    static const ctl_column columns[] = {{"USERNAME", "username"}, {"ACCESS", "accessLevel"},
                                         {"LABEL", "label"},       {"RATE LIMIT", "rateLimit"},
                                         {"EXPIRES", "expiresAt"}, {"DISABLED", "disabled"},
                                         {"CREATED", "createdAt"}, {"LAST USED", "lastUsedAt"},
                                         {"FROM", "from"},         {NULL, NULL}};
    store *s = ctl_store(ctl, DB_REQUEST);
    json_t *rows = NULL;
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    if (!kind) {
        kind = store_key_list(s, ctl->c, ctl->arguments[0], &rows);
    }
    if (!kind && !ctl_json(ctl, rows)) {
        ctl_table(ctl, rows, columns, "The tenant has no API user.");
    }
    return ctl_result(ctl, kind);
}

/* disable, enable and delete differ in their transaction and their word alone. */
static int change(ctl_call *ctl, store_work in, int disabled, const char *done)
{
    key_work work = {.ctl = ctl,
                     .principal = {.company = ctl->arguments[0], .username = ctl->arguments[1]},
                     .disabled = disabled};
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_kind kind = ctl_tenant_exists(ctl, s, work.principal.company);
    if (!kind) {
        kind = store_transaction(s, ctl->c, in, &work);
        if (kind == IDA_NOT_FOUND) {
            ida_fail(ctl->c, kind,
                     "Tenant %s has no API user %s; `idadminctl key list %s` names them.",
                     work.principal.company, work.principal.username, work.principal.company);
        }
    }
    if (!kind) {
        json_t *document = json_pack("{s:s, s:s, s:s}", "companyId", work.principal.company,
                                     "username", work.principal.username, "result", done);
        if (!ctl_json(ctl, document)) {
            ctl_say(ctl, "API user %s of %s: %s.", work.principal.username, work.principal.company,
                    done);
        }
        json_decref(document);
    }
    return ctl_result(ctl, kind);
}

static int disable(ctl_call *ctl)
{
    return change(ctl, set_disabled_in, 1, "disabled");
}

static int enable(ctl_call *ctl)
{
    return change(ctl, set_disabled_in, 0, "enabled");
}

static int delete (ctl_call *ctl)
{
    return change(ctl, delete_in, 0, "deleted");
}

const ctl_command ctl_key_commands[] = {
    {"key",
     "create",
     "ID USERNAME",
     2,
     2,
     "Make an API user of tenant ID; the only moment that shows its API key and MCP secret.",
     "Rotation: make a key under a new username, move the caller over, delete the old one.",
     {{"access", "LEVEL",
       "read-only (every read: REST GET and MCP), full (all of REST), legacy (a key from before "
       "access levels); fixed at creation"},
      {"label", "TEXT", "at most 100 characters; in the audit log beside each call"},
      {"expires", "DATE",
       "YYYY-MM-DD; the key stops working when that day begins in the tenant's time zone"},
      {"rate-limit", "RATE",
       "the key's own limit, such as 6000/60s, or off; else the tenant's or the server's"},
      {"from", "CIDR,...",
       "networks it may be used from, such as 192.0.2.0/24,2001:db8::/32; else from anywhere"},
      {NULL, NULL, NULL}},
     create},
    {"key",
     "list",
     "ID",
     1,
     1,
     "List the API users of a tenant, with when each was used last as the audit log has it.",
     NULL,
     {{NULL, NULL, NULL}},
     list},
    {"key",
     "disable",
     "ID USERNAME",
     2,
     2,
     "Disable an API user; it stops within 2 seconds.",
     NULL,
     {{NULL, NULL, NULL}},
     disable},
    {"key",
     "enable",
     "ID USERNAME",
     2,
     2,
     "Enable a disabled API user.",
     NULL,
     {{NULL, NULL, NULL}},
     enable},
    {"key",
     "delete",
     "ID USERNAME",
     2,
     2,
     "Delete an API user.",
     NULL,
     {{NULL, NULL, NULL}},
     delete},
    {0},
};
