/* Owns what the console does with existing API keys: list, disable, enable, delete. New ones are
 * created in key_new.c. Must not know how a key is compared. */

#include "core/operation/company/keys.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/operation/page.h"
#include "core/operation/table.h"
#include "core/store/key.h"

ida_kind ida_key_refused(ida_ctx *c, ida_kind kind)
{
    const char *reason = kind == IDA_CONFLICT    ? "keyExists"
                         : kind == IDA_NOT_FOUND ? "keyUnknown"
                                                 : NULL;
    return reason ? ida_because(c, reason, NULL) : kind;
}

/* --- the list --- */

static const char *state_of(const store_key_row *k, int64_t now)
{
    return k->disabled                                                ? "disabled"
           : k->expires_at && k->expires_at <= now                    ? "expired"
           : k->expires_at && k->expires_at - now <= IDA_ENDS_SOON_MS ? "expiring"
                                                                      : "active";
}

/* Networks and scopes are stored as comma-separated lists. */
static json_t *words_json(apr_pool_t *pool, const char *text)
{
    json_t *list = json_array();
    char *rest = apr_pstrdup(pool, text ? text : ""), *last;
    for (char *one = apr_strtok(rest, ",", &last); one; one = apr_strtok(NULL, ",", &last)) {
        json_array_append_new(list, json_string(one));
    }
    return list;
}

static json_t *key_json(const ida_ctx *c, const store_key_row *k)
{
    json_t *item = json_object();
    ida_json_put(item, "username", k->username);
    ida_json_put(item, "accessLevel", k->access);
    ida_json_put(item, "label", k->label);
    ida_json_put(item, "state", state_of(k, ida_now(c->env)));
    ida_json_put_time(item, "createdAt", k->created_at);
    ida_json_put_or_null(item, "createdBy", k->created_by);
    ida_json_put_time(item, "lastUsedAt", k->last_used_at);
    ida_json_put_time(item, "expiresAt", k->expires_at);
    ida_json_put_or_null(item, "rateLimit", k->rate);
    json_object_set_new(item, "concurrency",
                        k->concurrency ? json_integer(k->concurrency) : json_null());
    json_object_set_new(item, "decisions", json_boolean(k->decisions));
    json_object_set_new(item, "from", words_json(c->pool, k->from));
    json_object_set_new(item, "scopes", words_json(c->pool, k->scopes));
    return item;
}

static ida_kind list(ida_call *call, store *s, ida_ctx *c)
{
    const store_key_row *rows;
    ida_page *page;
    ida_kind kind = ida_page_open(call, NULL, "s", &page);
    kind = kind ? kind
                : store_key_list(s, c, call->asked->tenant->id, ida_place_text(page->from, 0),
                                 page->limit + 1, &rows, &page->count);
    kind = kind ? kind : store_key_count(s, c, call->asked->tenant->id, &page->total);
    for (int i = 0; !kind && ida_page_row(page, i); i++) {
        ida_page_add(page, key_json(c, &rows[i]), ida_place("s", rows[i].username));
    }
    return kind ? kind : ida_page_result(page);
}

const ida_operation ida_op_keys = {
    .name = "key.list",
    .faces = IDA_ON_CONSOLE,
    .right = IDA_KEYS_READ,
    IDA_READS("/keys"),
    .commands = IDA_COMMANDS(
        {"key", "list", .any_document = 1,
         .columns = "username accessLevel label state rateLimit expiresAt lastUsedAt createdAt "
                    "createdBy from scopes concurrency decisions",
         .summary =
             "List the API users of a tenant, with the time of the last use in the audit log."}),
    .params = ida_list_params,
    .work = list,
    .summary = "API keys of the tenant, with the time of the last use in the audit log.",
};

/* --- changes --- */

static ida_kind change(ida_call *call, store *s, ida_ctx *c)
{
    const char *name = call->asked->operation->name, *done = NULL,
               *username = ida_json_string(call->arguments, "username");
    ida_kind kind;
    if (strcmp(name, "key.delete") == 0) {
        kind = store_key_delete(s, c, call->asked->tenant->id, username);
        done = "is deleted; what used it is refused within two seconds";
    } else {
        int disabled = strcmp(name, "key.disable") == 0;
        kind = store_key_set_disabled(s, c, call->asked->tenant->id, username, disabled);
        done = disabled ? "is disabled; what uses it is refused within two seconds" : "works again";
    }
    call->target = username;
    call->result = ida_json_keep(c->pool, json_object());
    ida_json_put(call->result, "message",
                 apr_psprintf(c->pool, "The API key of %s %s.",
                              ida_clean(c->pool, username, strlen(username), 64), done));
    return ida_key_refused(c, kind);
}

static const ida_param change_params[] = {
    {"username", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 64, .about = "Whose key."}, {0}};

/* Members that the three changes share. */
#define KEY_CHANGE \
    .faces = IDA_ON_CONSOLE, .right = IDA_KEYS_WRITE, .params = change_params, .work = change

const ida_operation ida_op_key_disable = {
    .name = "key.disable",
    KEY_CHANGE,
    IDA_WRITES("POST", "/key/disable"),
    .commands = IDA_COMMANDS({"key", "disable", .any_document = 1, .at = {{"username", "USERNAME"}},
                              .summary = "Disable an API user; it stops within 2 seconds."}),
    .while_paused = 1,
    .summary = "Disables an API key.",
};

const ida_operation ida_op_key_enable = {
    .name = "key.enable",
    KEY_CHANGE,
    IDA_WRITES("POST", "/key/enable"),
    .commands = IDA_COMMANDS({"key", "enable", .any_document = 1, .at = {{"username", "USERNAME"}},
                              .summary = "Enable a disabled API user."}),
    .summary = "Enables a disabled API key.",
};

const ida_operation ida_op_key_delete = {
    .name = "key.delete",
    KEY_CHANGE,
    IDA_WRITES("DELETE", "/key"),
    .commands = IDA_COMMANDS({"key", "delete", .any_document = 1, .at = {{"username", "USERNAME"}},
                              .summary = "Delete an API user."}),
    .while_paused = 1,
    .summary = "Deletes an API key.",
};
