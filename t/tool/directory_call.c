/* Calls the cloud connector's function table as it is told: one JSON object a line in, one a line
 * out. For tests that make a directory fail and look what the connector makes of it.
 *
 *   directory_call DOCUMENT.json      a tenant document with directories.cloud
 *   {"call":"create","id":...,"upn":...,...}
 *   -> {"class":"ok","field":null,"message":...,"retryAfter":0,"ms":12,"user":{...}} */
#include <apr_general.h>
#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/graph.h"

#define MEMBERS_MAX 200
#define ATTRIBUTES_MAX 32

typedef struct order {
    directory *d;
    apr_pool_t *pool;
    const json_t *in;
    json_t *out;
    directory_error e;
    directory_user user;
} order;

static const char *arg(const order *o, const char *name)
{
    return ida_json_string(o->in, name);
}

static const char *const *list(const order *o, const char *name)
{
    const json_t *array = json_object_get(o->in, name);
    const char **out = apr_pcalloc(o->pool, sizeof *out * (json_array_size(array) + 1));
    for (size_t i = 0; i < json_array_size(array); i++) {
        out[i] = json_string_value(json_array_get(array, i));
    }
    return out;
}

static int length(const char *const *items)
{
    int count = 0;
    while (items[count]) {
        count++;
    }
    return count;
}

static directory_class find(order *o)
{
    return graph_find(o->d, o->pool, arg(o, "id"), arg(o, "upn"), &o->user, &o->e);
}

static directory_class create(order *o)
{
    const char *upn = arg(o, "upn"), *at = strchr(upn, '@'), *country = arg(o, "country");
    const ida_create person = {.firstname = arg(o, "firstname"),
                               .surname = arg(o, "surname"),
                               .middle_name = arg(o, "middleName"),
                               .job_title = arg(o, "jobTitle"),
                               .department = arg(o, "department"),
                               .company = arg(o, "company"),
                               .office = arg(o, "office"),
                               .city = arg(o, "city"),
                               .country = country,
                               .country_is_code = country && strlen(country) == 2,
                               .street_address = arg(o, "streetAddress"),
                               .postal_code = arg(o, "postalCode"),
                               .preferred_language = arg(o, "preferredLanguage"),
                               .employee_id = arg(o, "employeeId"),
                               .account_enabled = !json_is_false(
                                   json_object_get(o->in, "accountEnabled"))};
    const directory_create c = {.person = &person,
                                .display_name = arg(o, "displayName"),
                                .upn = upn,
                                .mail = arg(o, "mail") ? arg(o, "mail") : upn,
                                .local = apr_pstrmemdup(o->pool, upn, (apr_size_t)(at - upn)),
                                .marker = arg(o, "marker"),
                                .sent_at = json_integer_value(json_object_get(o->in, "sentAt")),
                                .password = "First-Passw0rd-of-24-char"};
    directory_class class = graph_create(o->d, o->pool, &c, &o->user, &o->e);
    for (const char *const *w = o->user.warnings; w && *w; w++) {
        json_object_set_new(o->out, "warning", json_string(*w));
    }
    return class;
}

static directory_class set_manager(order *o)
{
    const char *manager = NULL;
    directory_class class = graph_set_manager(o->d, o->pool, arg(o, "id"), arg(o, "manager"),
                                              &manager, &o->e);
    ida_json_put(o->out, "managerId", manager);
    return class;
}

static directory_class set_photo(order *o)
{
    size_t len = 0;
    const char *text = arg(o, "photo");
    unsigned char *photo = ida_base64_decode(o->pool, text, strlen(text), &len);
    return graph_set_photo(o->d, o->pool, arg(o, "id"), photo, len, "image/jpeg", &o->e);
}

static directory_class disable(order *o)
{
    return graph_disable(o->d, o->pool, arg(o, "id"), &o->user, &o->e);
}

static directory_class revoke_sessions(order *o)
{
    return graph_revoke_sessions(o->d, o->pool, arg(o, "id"), &o->e);
}

static directory_class memberships(order *o)
{
    const directory_membership *rows;
    int count;
    const char *const *candidates = list(o, "candidates");
    directory_class class = graph_memberships(o->d, o->pool, arg(o, "id"), candidates,
                                              length(candidates), &rows, &count, &o->e);
    json_t *groups = json_object();
    for (int i = 0; i < count; i++) {
        json_object_set_new(groups, rows[i].group_name,
                            json_pack("{s:s, s:s?}", "id", rows[i].group_id, "retained",
                                      rows[i].retained));
    }
    json_object_set_new(o->out, "groups", groups);
    return class;
}

static directory_class remove_member(order *o)
{
    return graph_remove_member(o->d, o->pool, arg(o, "group"), arg(o, "id"), &o->e);
}

static directory_class add_members(order *o)
{
    directory_class each[MEMBERS_MAX];
    const char *const *ids = list(o, "ids");
    int count = length(ids) < MEMBERS_MAX ? length(ids) : MEMBERS_MAX;
    directory_class class = graph_add_members(o->d, o->pool, arg(o, "group"), ids, count, each,
                                              &o->e);
    json_t *classes = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(classes, json_string(directory_class_text(each[i])));
    }
    json_object_set_new(o->out, "each", classes);
    return class;
}

static directory_class set_licenses(order *o)
{
    return graph_set_licenses(o->d, o->pool, arg(o, "id"), list(o, "add"), list(o, "remove"),
                              &o->e);
}

static directory_class update(order *o)
{
    const json_t *values = json_object_get(o->in, "values"), *value;
    const json_t *enabled = json_object_get(o->in, "enabled");
    directory_attribute attributes[ATTRIBUTES_MAX];
    const char *name;
    int count = 0;
    json_object_foreach ((json_t *)(uintptr_t)values, name, value) {
        if (count < ATTRIBUTES_MAX) {
            attributes[count++] = (directory_attribute){name, json_string_value(value)};
        }
    }
    return graph_update(o->d, o->pool, arg(o, "id"), attributes, count,
                        enabled ? json_is_true(enabled) : -1, &o->user, &o->e);
}

static directory_class set_password(order *o)
{
    return graph_set_password(o->d, o->pool, arg(o, "id"), arg(o, "password"), &o->e);
}

static directory_class reports(order *o)
{
    const char *const *ids = NULL;
    int count = 0;
    directory_class class = graph_reports(o->d, o->pool, arg(o, "id"), &ids, &count, &o->e);
    json_t *out = json_array();
    for (int i = 0; i < count; i++) {
        json_array_append_new(out, json_string(ids[i]));
    }
    json_object_set_new(o->out, "ids", out);
    return class;
}

static directory_class owned(order *o)
{
    apr_array_header_t *rows = apr_array_make(o->pool, 4, sizeof(directory_membership));
    directory_class class = graph_owned(o->d, o->pool, arg(o, "id"), rows, &o->e);
    json_t *groups = json_object();
    for (int i = 0; i < rows->nelts; i++) {
        const directory_membership *row = &APR_ARRAY_IDX(rows, i, directory_membership);
        json_object_set_new(groups, row->group_name, json_pack("s?", row->retained));
    }
    json_object_set_new(o->out, "groups", groups);
    return class;
}

static const struct {
    const char *name;
    directory_class (*run)(order *o);
} calls[] = {{"find", find},
             {"create", create},
             {"setManager", set_manager},
             {"setPhoto", set_photo},
             {"disable", disable},
             {"revokeSessions", revoke_sessions},
             {"memberships", memberships},
             {"owned", owned},
             {"removeMember", remove_member},
             {"addMembers", add_members},
             {"setLicenses", set_licenses},
             {"update", update},
             {"setPassword", set_password},
             {"reports", reports}};

static void show_user(order *o)
{
    const directory_user *u = &o->user;
    json_t *licenses = json_array(), *addresses = json_array();
    for (const char **l = u->cache.licenses; l && *l; l++) {
        json_array_append_new(licenses, json_string(*l));
    }
    for (const char **a = u->cache.addresses; a && *a; a++) {
        json_array_append_new(addresses, json_string(*a));
    }
    json_object_set_new(
        o->out, "user",
        json_pack("{s:s, s:s?, s:s?, s:s?, s:b, s:s?, s:b, s:s?, s:s?, s:s?, s:s?, s:I, s:o, s:o}",
                  "id", u->id, "upn", u->upn, "mail", u->mail, "displayName", u->display_name,
                  "enabled", u->enabled, "marker", u->marker, "guest", u->cache.guest, "department",
                  u->cache.department, "company", u->cache.company, "office", u->cache.office,
                  "employeeId", u->cache.employee_id, "createdAt", (json_int_t)u->cache.created_at,
                  "licenses", licenses, "addresses", addresses));
}

static void carry_out(order *o)
{
    const char *name = arg(o, "call");
    for (size_t i = 0; name && i < sizeof calls / sizeof calls[0]; i++) {
        if (strcmp(calls[i].name, name) == 0) {
            int64_t begun = apr_time_now();
            directory_class class = calls[i].run(o);
            json_object_set_new(o->out, "class", json_string(directory_class_text(class)));
            json_object_set_new(o->out, "ms", json_integer((apr_time_now() - begun) / 1000));
            json_object_set_new(o->out, "retryAfter", json_integer(o->e.retry_after_s));
            json_object_set_new(o->out, "unseen", json_boolean(o->e.unseen));
            ida_json_put(o->out, "field", o->e.field);
            ida_json_put(o->out, "message", o->e.message);
            if (o->user.id) {
                show_user(o);
            }
            return;
        }
    }
    json_object_set_new(o->out, "class", json_string("no such call"));
}

int main(int argc, char **argv)
{
    apr_pool_t *pool, *line_pool;
    ida_env env;
    char *text = NULL, *canonical;
    size_t room = 0;
    directory_error e = {0};
    directory *d = NULL;
    ida_tenant *tenant;
    apr_initialize();
    atexit(apr_terminate);
    apr_pool_create(&pool, NULL);
    apr_pool_create(&line_pool, pool);
    ida_env_default(&env);
    ida_ctx *c = ida_ctx_make(&env, pool);
    json_t *document = argc == 2 ? ida_json_keep(pool, json_load_file(argv[1], 0, NULL)) : NULL;
    const char *bytes = document ? ida_json_text(pool, document) : NULL;
    if (!bytes || ida_tenant_apply(c, bytes, strlen(bytes), NULL, &tenant, &canonical) ||
        graph_open(&d, &env, tenant, IDA_DIR_CLOUD, pool, &e)) {
        fprintf(stderr, "usage: directory_call DOCUMENT.json: %s\n",
                e.message    ? e.message
                : c->message ? c->message
                             : "no document");
        return 2;
    }
    while (getline(&text, &room, stdin) > 0) {
        order o = {.d = d,
                   .pool = line_pool,
                   .in = ida_json_keep(line_pool, json_loads(text, 0, NULL)),
                   .out = NULL};
        o.out = ida_json_keep(line_pool, json_object());
        carry_out(&o);
        puts(ida_json_text(line_pool, o.out));
        fflush(stdout);
        apr_pool_clear(line_pool);
    }
    free(text);
    graph_close(d);
    return 0;
}
