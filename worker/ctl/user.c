/* idadminctl user: one person as the cache knows them. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/person.h"
#include "core/store/tenant.h"
#include "worker/ctl/ctl.h"

static json_t *groups_json(const ida_group *groups, int count)
{
    json_t *rows = json_array();
    for (int i = 0; i < count; i++) {
        json_t *row = json_object();
        ida_json_put(row, "id", groups[i].id);
        ida_json_put(row, "name", groups[i].name);
        ida_json_put(row, "kind", groups[i].kind);
        ida_json_put(row, "directory", ida_directory_name(groups[i].directory));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *user_json(const ida_user *user, json_t *licenses)
{
    json_t *object = json_object(), *directories = json_array();
    ida_json_put(object, "id", user->id);
    ida_json_put_or_null(object, "userPrincipalName", user->upn);
    ida_json_put(object, "mail", user->mail);
    ida_json_put(object, "displayName", user->display_name);
    ida_json_put(object, "givenName", user->given_name);
    ida_json_put(object, "surname", user->surname);
    ida_json_put(object, "department", user->department);
    ida_json_put(object, "jobTitle", user->job_title);
    ida_json_put(object, "company", user->company);
    ida_json_put(object, "office", user->office);
    ida_json_put(object, "city", user->city);
    ida_json_put(object, "country", user->country);
    ida_json_put(object, "employeeId", user->employee_id);
    ida_json_put(object, "status", !user->enabled ? "disabled" : user->guest ? "guest" : "active");
    ida_json_put(object, "manager", user->manager_upn ? user->manager_upn : user->manager_id);
    ida_json_put_time(object, "createdAt", user->created_at);
    ida_json_put_time(object, "lastSignInAt", user->last_sign_in_at);
    ida_json_put(object, "dn", user->dn);
    for (int i = 0; i < IDA_DIR_COUNT; i++) {
        if (user->in[i]) {
            json_array_append_new(directories,
                                  json_string(ida_directory_name((ida_directory_kind)i)));
        }
    }
    json_object_set_new(object, "directories", directories);
    if (licenses) {
        json_object_set(object, "licenses", licenses);
    }
    return object;
}

/* Who carries an address that several do: an administrator knows them by DN. */
static void name_carriers(ctl_call *ctl, store *s, const char *tenant, const char *address)
{
    const cache_carrier *rows;
    int count;
    ida_ctx *c = ida_ctx_make(ctl->c->env, ctl->pool);
    const char *text = ctl->c->message;
    if (cache_carriers(s, c, tenant, address, &rows, &count)) {
        return;
    }
    for (int i = 0; i < count; i++) {
        text = apr_pstrcat(ctl->pool, text, "\n", rows[i].id, "  ",
                           rows[i].dn ? ida_clean(ctl->pool, rows[i].dn, strlen(rows[i].dn), 1024)
                                      : "",
                           NULL);
    }
    ida_fail(ctl->c, IDA_CONFLICT, "%s", text);
}

static int show(ctl_call *ctl)
{
    static const ctl_column fields[] = {{"User principal name", "userPrincipalName"},
                                        {"ID", "id"},
                                        {"Display name", "displayName"},
                                        {"Given name", "givenName"},
                                        {"Surname", "surname"},
                                        {"Mail", "mail"},
                                        {"Department", "department"},
                                        {"Job title", "jobTitle"},
                                        {"Company", "company"},
                                        {"Office", "office"},
                                        {"City", "city"},
                                        {"Country", "country"},
                                        {"Employee ID", "employeeId"},
                                        {"Status", "status"},
                                        {"Manager", "manager"},
                                        {"Created", "createdAt"},
                                        {"Last sign-in", "lastSignInAt"},
                                        {"Directories", "directories"},
                                        {"DN", "dn"},
                                        {"Licenses", "licenses"},
                                        {NULL, NULL}};
    static const ctl_column columns[] = {{"GROUP", "name"},
                                         {"KIND", "kind"},
                                         {"DIRECTORY", "directory"},
                                         {"ID", "id"},
                                         {NULL, NULL}};
    const char *tenant = ctl->arguments[0];
    store *s = ctl_store(ctl, DB_REQUEST);
    ida_user *user = NULL;
    json_t *licenses = NULL;
    const ida_group *groups = NULL;
    int count = 0;
    ida_kind kind = ctl_tenant_exists(ctl, s, tenant);
    if (!kind) {
        kind = cache_user_details(s, ctl->c, tenant, ctl->arguments[1], &user, &licenses);
        if (kind == IDA_NOT_FOUND) {
            ida_fail(ctl->c, kind,
                     "Tenant %s has no user %s in the cache; `idadminctl sync %s` reads the "
                     "directory again.",
                     tenant, ctl->arguments[1], tenant);
        } else if (kind == IDA_CONFLICT) {
            name_carriers(ctl, s, tenant, ctl->arguments[1]);
        }
    }
    if (!kind) {
        kind = cache_user_groups(s, ctl->c, tenant, user->directory, user->id, &groups, &count);
    }
    if (!kind) {
        json_t *document = ida_json_keep(ctl->pool, user_json(user, licenses));
        json_object_set_new(document, "groups", groups_json(groups, count));
        if (!ctl_json(ctl, document)) {
            ctl_fields(ctl, document, fields);
            ctl_say(ctl, "%s", "");
            ctl_table(ctl, json_object_get(document, "groups"), columns, "Member of no group.");
        }
    }
    return ctl_result(ctl, kind);
}

const ctl_command ctl_user_commands[] = {
    {"user",
     "show",
     "ID UPN",
     2,
     2,
     "Show a user (UPN or object ID) with direct groups, as of the last sync.",
     NULL,
     {{NULL, NULL, NULL}},
     show},
    {0},
};
