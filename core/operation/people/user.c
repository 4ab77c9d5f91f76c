/* Owns GET user: one person of the cache. Never calls a directory. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/freshness.h"
#include "core/operation/people/details.h"
#include "core/operation/people/person_json.h"
#include "core/operation/table.h"

/* Members that `fields=` may add to those always given; the names are those of the detailed
 * user. */
#define NAME(column, name, ...) name,
static const char *const extra_fields[] = {"id",
                                           "status",
                                           "statusReason",
                                           "userType",
                                           "lastSignInAt",
                                           "accountEnabled",
                                           "createdAt",
                                           "manager",
                                           "signInActivity",
                                           "licenses",
                                           "directories",
                                           "directReportCount",
                                           "roleTemplates",
                                           "pendingTasks",
                                           IDA_PERSON(NAME) NULL};

/* Members that are empty in the directory are left out, like those always given. */
static void add_fields(json_t *out, const json_t *all, const json_t *fields)
{
    json_t *name;
    size_t i;
    json_array_foreach (fields, i, name) {
        json_object_set(out, json_string_value(name),
                        json_object_get(all, json_string_value(name)));
    }
}

static int asks_sign_ins(const json_t *fields)
{
    const json_t *name;
    size_t i;
    int asks = 0;
    json_array_foreach ((json_t *)fields, i, name) {
        const char *text = json_string_value(name);
        asks |= strcmp(text, "signInActivity") == 0 || strcmp(text, "lastSignInAt") == 0;
    }
    return asks;
}

static ida_kind run_get(ida_call *call)
{
    ida_ctx *c = call->c;
    const char *tenant = call->asked->tenant->id,
               *upn = ida_json_string(call->arguments, "userPrincipalName");
    const json_t *fields = json_object_get(call->arguments, "fields");
    ida_user *user;
    json_t *licenses = NULL, *all = NULL;
    /* Only UPNs are looked up here: with IDs, the answer would depend on what the text looks
     * like. */
    ida_kind kind = cache_user_brief(call->store, c, tenant, upn, &user);
    if (!kind && fields) {
        kind = cache_user_details(call->store, c, tenant, user->id, &user, &licenses);
        kind = kind ? kind : ida_op_details(call, call->store, c, user, licenses, &all);
    }
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind, "No user with the userPrincipalName \"%s\" exists in this tenant.",
                        ida_clean(c->pool, upn, strlen(upn), 128));
    }
    if (kind) {
        return kind;
    }
    json_t *out = ida_user_json(user);
    call->result = ida_json_keep(c->pool, json_pack("{s:o}", "user", out));
    if (!fields) {
        return IDA_OK;
    }
    add_fields(out, all, fields);
    if (asks_sign_ins(fields)) {
        cache_freshness fresh;
        kind = cache_freshness_get(call->store, c, call->asked->tenant, &fresh);
        ida_json_put_time(call->result, "signInsAsOf", fresh.sign_ins_as_of);
    }
    return kind;
}

static const ida_param get_params[] = {
    {"userPrincipalName", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, .max = 256,
     .about = "The user's UPN, in any case."},
    {"fields", IDA_PARAM_LIST, .allowed = extra_fields,
     .about = "Further members of the user, separated by commas."},
    {0},
};

const ida_field ida_user_members[] = {OUT_TEXT("userPrincipalName", ALWAYS),
                                      OUT_INCLUDE_SOMETIMES(ida_person_detail_members), OUT_END};
static const ida_field result[] = {OUT_NAMED_OBJECT("user", ALWAYS, ida_user_members, "User"),
                                   OUT_TIME("signInsAsOf", SOMETIMES | OR_NULL), OUT_END};

const ida_operation ida_op_user_get = {
    .name = "user.get",
    .faces = IDA_ON_REST,
    .right = IDA_PEOPLE_READ,
    IDA_READS("/user"),
    .needs_sync = 1,
    .params = get_params,
    .run = run_get,
    .summary = "Looks up one user by UPN.",
    .output = result,
    .schema = "UserResult",
};
