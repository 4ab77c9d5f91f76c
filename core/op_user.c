/* Owns GET user: one person of the cache as callers see them. Never asks a directory. */
#include <string.h>

#include "core/json.h"
#include "core/op.h"
#include "core/store_user.h"
#include "core/text.h"

/* Members that `fields=` may add, beside those always given; the names are those of the detailed user. */
static const char *const extra_fields[] = {
    "id", "status", "userType", "lastSignInAt", "mail", "company", "office", "city", "country", "accountEnabled", "createdAt",
    "manager", "signInActivity", "licenses", "directories", "userPrincipalName", "displayName", "givenName", "surname",
    "department", "jobTitle", NULL,
};

static const char *status_of(const ida_user *u)
{
    return !u->enabled ? "disabled" : u->guest ? "guest" : "active";
}

static json_t *manager_of(const ida_user *u)
{
    if (!u->manager_id) {
        return json_null();
    }
    json_t *manager = json_object();
    ida_json_put(manager, "id", u->manager_id);
    ida_json_put_or_null(manager, "userPrincipalName", u->manager_upn);
    ida_json_put_or_null(manager, "displayName", u->manager_name);
    return manager;
}

static json_t *sign_ins_of(const ida_user *u)
{
    json_t *activity = json_object();
    ida_json_put_time(activity, "lastSignInAt", u->last_sign_in_at);
    ida_json_put_time(activity, "lastNonInteractiveSignInAt", u->last_noninteractive_at);
    ida_json_put_time(activity, "lastSuccessfulSignInAt", u->last_success_at);
    return activity;
}

static json_t *directories_of(const ida_user *u)
{
    json_t *names = json_array();
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        if (u->in[d]) {
            json_array_append_new(names, json_string(ida_directory_name(d)));
        }
    }
    return names;
}

/* The fields of specification 2.1, those populated in the directory. */
static json_t *user_json(const ida_user *u)
{
    json_t *out = json_object();
    ida_json_put(out, "userPrincipalName", u->upn);
    ida_json_put(out, "displayName", u->display_name);
    ida_json_put(out, "givenName", u->given_name);
    ida_json_put(out, "surname", u->surname);
    ida_json_put(out, "department", u->department);
    ida_json_put(out, "jobTitle", u->job_title);
    return out;
}

static json_t *detailed_json(const ida_user *u, json_t *licenses)
{
    json_t *out = user_json(u);
    ida_json_put(out, "id", u->id);
    ida_json_put(out, "mail", u->mail);
    ida_json_put(out, "company", u->company);
    ida_json_put(out, "office", u->office);
    ida_json_put(out, "city", u->city);
    ida_json_put(out, "country", u->country);
    ida_json_put(out, "status", status_of(u));
    ida_json_put(out, "userType", u->guest ? "guest" : "member");
    json_object_set_new(out, "accountEnabled", json_boolean(u->enabled));
    ida_json_put_time(out, "createdAt", u->created_at);
    ida_json_put_time(out, "lastSignInAt", u->last_sign_in_at);
    json_object_set_new(out, "manager", manager_of(u));
    json_object_set_new(out, "signInActivity", sign_ins_of(u));
    json_object_set(out, "licenses", licenses);
    json_object_set_new(out, "directories", directories_of(u));
    return out;
}

static ida_kind run_get(ida_call *call)
{
    ida_ctx *c = call->c;
    const char *tenant = call->principal->company, *upn = ida_json_string(call->arguments, "userPrincipalName");
    const json_t *fields = json_object_get(call->arguments, "fields");
    ida_user *user;
    json_t *licenses = NULL, *out;
    /* UPNs alone are looked up here: an ID would make the answer depend on what the text looks like. */
    ida_kind kind = store_user_brief(call->store, c, tenant, upn, &user);
    if (!kind && fields) {
        kind = store_user_details(call->store, c, tenant, user->id, &user, &licenses);
    }
    if (kind == IDA_NOT_FOUND) {
        return ida_fail(c, kind, "No user with the userPrincipalName \"%s\" exists in this tenant.",
                        ida_clean(c->pool, upn, strlen(upn), 128));
    }
    if (kind) {
        return kind;
    }
    out = user_json(user);
    if (fields) {
        json_t *all = ida_json_keep(c->pool, detailed_json(user, licenses)), *name;
        size_t i;
        json_array_foreach(fields, i, name) {
            json_t *value = json_object_get(all, json_string_value(name));
            if (value) { /* not populated in the directory: left out, like the others */
                json_object_set(out, json_string_value(name), value);
            }
        }
    }
    call->result = ida_json_keep(c->pool, json_object());
    json_object_set_new(call->result, "user", out);
    return IDA_OK;
}

static const ida_param get_params[] = {
    {"userPrincipalName", IDA_PARAM_STRING, IDA_PARAM_REQUIRED, 0, 256, NULL, "The user's UPN, in any case."},
    {"fields", IDA_PARAM_LIST, 0, 0, 0, extra_fields, "Further members of the user, as a comma list."},
    {0},
};

const ida_operation ida_op_user_get = {
    .name = "user.get", .method = "GET", .path = "/v1/api/user", .scope = IDA_SCOPE_READ, .needs_sync = 1, .params = get_params,
    .run = run_get, .summary = "Looks up one user by UPN.", .schema = "UserResult",
};
