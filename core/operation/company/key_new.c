/* Owns the creation of API keys: new ones, and replacements. Only their answers show a key, so
 * these answers are never stored. The rules for a key are in
 * core/tenant/new_key.c. */
#include <apr_strings.h>

#include "core/base/json.h"
#include "core/operation/company/keys.h"
#include "core/operation/param.h"
#include "core/operation/table.h"
#include "core/store/key.h"
#include "core/tenant/credentials.h"
#include "core/tenant/new_key.h"
#include "core/zone/zone.h"

#define DAY_MS INT64_C(86400000)
#define OVERLAP_DAYS 7
#define OVERLAP_DAYS_MAX 90

/* Texts of both bodies, and the results of their check; lives in the call's pool. */
typedef struct key_input {
    ida_new_key given;
    const char *new_username;
    int64_t overlap;      /* ms */
    ida_principal wanted; /* for a rotation only username and expiry */
} key_input;

/* The checked value of a member that is not a text, NULL if absent; borrowed from the body. */
static const json_t *typed(ida_ctx *c, json_t *body, const ida_param *members, const char *name)
{
    const json_t *given = json_object_get(body, name);
    int absent = json_is_null(given) || (json_is_array(given) && !json_array_size(given));
    json_t *value = given && !absent ? ida_param_check(c, ida_param_find(members, name), given, 0)
                                     : NULL;
    if (value) {
        json_object_set_new(body, name, value);
    } else {
        json_object_del(body, name); /* the audit record must not show an invalid value */
    }
    return value;
}

static const char *joined(apr_pool_t *pool, const json_t *list)
{
    const char *all = NULL;
    const json_t *one;
    size_t i;
    json_array_foreach ((json_t *)list, i, one) {
        all = all ? apr_pstrcat(pool, all, ",", json_string_value(one), NULL)
                  : json_string_value(one);
    }
    return all;
}

static ida_kind issue(ida_call *call, store *s, ida_ctx *c, const ida_principal *p)
{
    char *key;
    ida_kind kind = store_key_issue(s, c, p, call->asked->principal->username, &key);
    if (!kind) {
        call->result = ida_json_keep(c->pool, ida_new_key_json(c->pool, p, key));
    }
    return ida_key_refused(c, kind);
}

/* Only administrators create a key that can write, because it permits more than keys.write does. */
static ida_kind may_make(ida_call *call, const ida_principal *p)
{
    return p->access == IDA_ACCESS_READ_ONLY ? IDA_OK : ida_operation_right(call, IDA_KEYS_FULL);
}

/* --- a new key --- */

#define TEXT(name, member, most, text) \
    name, IDA_PARAM_STRING, .max = (most), .at = offsetof(key_input, member), .about = text
#define EXPIRES                                                                               \
    {                                                                                         \
        TEXT("expires", given.expires, 10,                                                    \
             "Day, YYYY-MM-DD in the company's zone, at whose beginning the key expires, or " \
             "never; if absent, after the company's keys.defaultDays.")                       \
    }

static const ida_param create_members[] = {
    {TEXT("username", given.username, 64, "Whose key."), .flags = IDA_PARAM_REQUIRED},
    {TEXT("accessLevel", given.access, 16,
          "read-only (every read: REST GET and MCP) or full (all of REST), fixed at creation; the "
          "command also makes legacy ones, as they were before access levels."),
     .flags = IDA_PARAM_REQUIRED},
    {TEXT("label", given.label, 2 * IDA_LABEL_MAX,
          "At most 100 characters, shown with each call in the audit log.")},
    EXPIRES,
    {TEXT("rateLimit", given.rate, 32,
          "The key's own limit, such as 6000/60s, or off; else the company's or the server's.")},
    {"concurrency", IDA_PARAM_INTEGER, .min = 1, .max = IDA_CONCURRENCY_MAX,
     .at = IDA_PARAM_IN_VALUES,
     .about = "Requests of the key that may be under way at the same time; if absent, 64."},
    {"from", IDA_PARAM_LIST, .at = IDA_PARAM_IN_VALUES,
     .about = "Networks it may be used from, such as 192.0.2.0/24,2001:db8::/32; none: from "
              "anywhere."},
    {"scopes", IDA_PARAM_LIST, .at = IDA_PARAM_IN_VALUES,
     .about = "What a read-only key is limited to, some of " IDA_AREA_NAMES "; none: no limit."},
    {"decisions", IDA_PARAM_BOOLEAN, .at = IDA_PARAM_IN_VALUES,
     .about = "true: a full key may carry decisions of approvers (POST "
              "/v1/api/access-request/decision), such as those of a ticket system."},
    {0},
};

static ida_kind check_create(ida_call *call)
{
    ida_ctx *c = call->c;
    key_input *in = call->input = apr_pcalloc(c->pool, sizeof *in);
    ida_params_read(c, call->asked->body, create_members, "is required", in);
    in->given.from = joined(c->pool, typed(c, call->asked->body, create_members, "from"));
    in->given.scopes = joined(c->pool, typed(c, call->asked->body, create_members, "scopes"));
    in->given.concurrency = (unsigned)json_integer_value(
        typed(c, call->asked->body, create_members, "concurrency"));
    in->given.decisions = json_is_true(typed(c, call->asked->body, create_members, "decisions"));
    ida_kind kind = ida_faults_raise(c);
    kind = kind ? kind
                : ida_new_key_check(c, call->asked->tenant, &in->given, "username", &in->wanted);
    if (!kind && in->wanted.access == IDA_ACCESS_LEGACY &&
        strcmp(call->asked->face->via, "command") != 0) {
        ida_fault_add(c, "accessLevel", "must be read-only or full");
    }
    in->wanted.company = call->asked->tenant->id;
    call->target = in->given.username;
    kind = kind ? kind : ida_faults_raise(c);
    return kind ? kind : may_make(call, &in->wanted);
}

static ida_kind create(ida_call *call, store *s, ida_ctx *c)
{
    const key_input *in = call->input;
    return issue(call, s, c, &in->wanted);
}

/* Members that both operations share. */
#define NEW_KEY                                                                             \
    .faces = IDA_ON_CONSOLE, .right = IDA_KEYS_WRITE, .secret = 1, .params = ida_no_params, \
    .closed = 1

const ida_operation ida_op_key_create = {
    .name = "key.create",
    NEW_KEY,
    IDA_WRITES("POST", "/key"),
    .commands = IDA_COMMANDS({"key", "create", .at = {{"username", "USERNAME"}},
                              .named = {{"accessLevel", "access"}},
                              .summary = "Create an API user of tenant ID and show its API key and "
                                         "MCP secret, this once.",
                              .help = "Rotation: `key rotate`, or create a key under a new "
                                      "username, move the caller over, delete the old one."}),
    .body = create_members,
    .check = check_create,
    .work = create,
    .summary = "Creates an API key and shows it, this once.",
};

/* --- in the place of another --- */

static const ida_param rotate_members[] = {
    {TEXT("username", given.username, 64, "Whose key is replaced."), .flags = IDA_PARAM_REQUIRED},
    {TEXT("newUsername", new_username, 64,
          "Name of the new key; if absent, the old name followed by year and month.")},
    {"overlapDays", IDA_PARAM_INTEGER, .min = 0, .max = OVERLAP_DAYS_MAX, .at = IDA_PARAM_IN_VALUES,
     .about = "How many days the old key still works, 0: it stops at once; default 7."},
    EXPIRES,
    {0},
};

/* The old name and the month of the replacement, in the company's zone. */
static ida_kind default_name(ida_call *call, const char *old, const char **name)
{
    const zone_info *zone;
    zone_wall wall;
    ida_kind kind = zone_get(call->c, call->asked->tenant->time_zone, &zone);
    if (!kind) {
        zone_to_wall(zone, ida_now(call->c->env) / 1000, &wall);
        *name = ida_printf(call->c->pool, "%s-%04d%02d", old, wall.year, wall.month);
    }
    return kind;
}

static ida_kind check_rotate(ida_call *call)
{
    ida_ctx *c = call->c;
    key_input *in = call->input = apr_pcalloc(c->pool, sizeof *in);
    ida_params_read(c, call->asked->body, rotate_members, "is required", in);
    const json_t *days = typed(c, call->asked->body, rotate_members, "overlapDays");
    in->overlap = (days ? json_integer_value(days) : OVERLAP_DAYS) * DAY_MS;
    ida_kind kind = ida_faults_raise(c);
    if (!kind && !in->new_username) {
        kind = default_name(call, in->given.username, &in->new_username);
        ida_json_put(call->asked->body, "newUsername",
                     in->new_username); /* so that the audit record shows it */
    }
    /* All other settings come from the old key, and were checked when it was created. */
    const ida_new_key given = {.username = in->new_username,
                               .access = ida_access_level_text(IDA_ACCESS_READ_ONLY),
                               .expires = in->given.expires};
    kind = kind ? kind
                : ida_new_key_check(c, call->asked->tenant, &given, "newUsername", &in->wanted);
    call->target = in->given.username;
    return kind ? kind : ida_faults_raise(c);
}

/* The old key expires after the overlap, or earlier if it would have anyway. *at: when. */
static ida_kind end_old(store *s, ida_ctx *c, const ida_principal *old, int64_t overlap,
                        int64_t *at)
{
    int64_t now = ida_now(c->env);
    *at = now + overlap;
    if (!overlap) {
        return store_key_set_disabled(s, c, old->company, old->username, 1);
    }
    *at = old->expires_at && old->expires_at < *at ? old->expires_at : *at;
    return store_key_end(s, c, old->company, old->username, *at);
}

static ida_kind rotate(ida_call *call, store *s, ida_ctx *c)
{
    const key_input *in = call->input;
    store_key old;
    int64_t ends;
    ida_kind kind = store_key_find(s, c, call->asked->tenant->id, in->given.username, &old);
    if (!kind && !old.key_hash) {
        kind = ida_fail(c, IDA_NOT_FOUND, "There is no API key of %s in this company.",
                        in->given.username);
    }
    if (kind) {
        return ida_key_refused(c, kind);
    }
    kind = may_make(call, &old.principal);
    if (kind) {
        return kind;
    }
    ida_principal new = old.principal;
    new.username = in->new_username;
    new.expires_at = in->wanted.expires_at;
    kind = issue(call, s, c, &new);
    kind = kind ? kind : end_old(s, c, &old.principal, in->overlap, &ends);
    if (!kind) {
        ida_json_put(call->result, "replaces", old.principal.username);
        ida_json_put_time(call->result, "oldExpiresAt", ends);
    }
    return kind;
}

const ida_operation ida_op_key_rotate = {
    .name = "key.rotate",
    NEW_KEY,
    IDA_WRITES("POST", "/key/rotate"),
    .commands = IDA_COMMANDS(
        {"key", "rotate", .at = {{"username", "USERNAME"}},
         .summary = "Create a key that replaces another, which expires after an overlap.",
         .help = "Shows the new API key and MCP secret, this once."}),
    .body = rotate_members,
    .check = check_rotate,
    .work = rotate,
    .summary = "Creates a key that replaces another, which expires after an overlap.",
};
