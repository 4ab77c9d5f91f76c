/* Tenants with the rows that follow from their documents, and API users, on both engines. */
#include "core/store/tenant.h"
#include "core/base/json.h"
#include "core/store/key.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define ON_PREMISES                                                              \
    "\"directories\":{\"onPremises\":{\"urls\":[\"ldaps://"                      \
    "dc1.contoso.example\"],\"dialect\":\"openLdap\",\"upnAttribute\":\"mail\"," \
    "\"bindDn\":\"cn=x\","                                                       \
    "\"bindPasswordFile\":\"/etc/"                                               \
    "x\",\"userBase\":\"ou=p\",\"groupBase\":\"ou=g\",\"createIn\":\"ou=p\","    \
    "\"placeholderMember\":\"cn=none\"}}"

static ida_kind apply(store *s, const char *text)
{
    ida_tenant *tenant;
    char *canonical;
    ida_ctx *c = fresh();
    ida_stored_tenant before;
    ida_kind kind = store_tenant_document(s, c, "contoso", &before);
    kind = kind && kind != IDA_NOT_FOUND
               ? kind
               : ida_tenant_apply(c, text, strlen(text), before.document, &tenant, &canonical);
    int same = !kind && before.document && strcmp(before.document, canonical) == 0;
    kind = kind
               ? kind
               : store_tenant_put(s, c, tenant,
                                  &(ida_stored_tenant){canonical, "seal", before.revision + !same});
    if (kind) {
        printf("# %s\n", c->message);
    }
    return kind;
}

static int complaints;

static void count_log(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)id, (void)message;
    complaints += level <= IDA_LOG_WARN;
}

static ida_kind run_sql(store *s, ida_ctx *c, void *text)
{
    return db_script(s->db, c, text);
}

static void script_replace(store *s, const char *old, const char *new)
{
    store_transaction(s, fresh(), run_sql,
                      ida_printf(pool,
                                 "UPDATE tenant SET document = replace(document, "
                                 "'\"companyId\":\"%s\"', '\"companyId\":\"%s\"')",
                                 old, new));
}

static const char *template_id(store *s, const char *name)
{
    db_result r;
    if (store_read(s, fresh(), STMT_tenant_templates, DB_ARGS(DB_T("contoso")), &r)) {
        return NULL;
    }
    for (int i = 0; i < r.rows; i++) {
        const row_named *row = DB_ROW(named, &r, i);
        if (strcmp(row->name.text, name) == 0) {
            return row->id.text;
        }
    }
    return NULL;
}

static void test_tenant(store *s)
{
    ida_tenant *tenant;
    ida_stored_tenant stored;
    int64_t revision;
    ida_ctx *c = fresh();
    is_int(store_tenant_get(s, c, "contoso", &tenant, &revision), IDA_NOT_FOUND, "no tenant yet");
    says(c, "said in words", "contoso", NULL);
    is_int(store_tenant_lock(s, fresh(), "contoso"), IDA_NOT_FOUND, "nothing to lock");

    is_int(apply(s, "{\"companyId\":\"contoso\",\"name\":\"Contoso "
                    "AB\",\"upnDomain\":\"contoso.example\",\"seatLimit\":7," ON_PREMISES
                    ",\"roleTemplates\":[{\"name\":\"Sales\",\"groups\":[\"Sales "
                    "team\"]},{\"name\":\"IT\",\"groups\":[\"Admins\"]}],\"workflows\":[{\"name\":"
                    "\"Joiner\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":\"addToGroup\","
                    "\"group\":\"All\"}]},{\"name\":\"Leaver\",\"trigger\":\"userDelete\","
                    "\"active\":false,\"actions\":[]}],\"accessCatalog\":[{\"service\":\"CRM\","
                    "\"group\":\"CRM admins\",\"approvers\":[\"eva@contoso.example\"]}]}"),
           IDA_OK, "a tenant");
    is_int(store_tenant_get(s, fresh(), "contoso", &tenant, &revision), IDA_OK, "is found");
    is_str(tenant->name, "Contoso AB", "parsed");
    is_int(tenant->seat_limit, 7, "with its seats");
    is_int(revision, 1, "revision 1");
    is_int(store_tenant_document(s, fresh(), "contoso", &stored), IDA_OK, "its document");
    ok(strstr(stored.document, "Contoso AB") != NULL, "is the stored one");
    is_str(stored.seal, "seal", "sealed");
    const char *sales = apr_pstrdup(pool, template_id(s, "Sales")),
               *it = apr_pstrdup(pool, template_id(s, "IT"));
    ok(*sales && *it, "two role templates");
    is_int(
        store_transaction(s, fresh(), run_sql,
                          ida_printf(pool,
                                     "INSERT INTO role_assignment (tenant_id, template_id, person, "
                                     "upn, assigned_at, assigned_by, who) VALUES ('contoso', '%s', "
                                     "'p', 'P', 1, 'x', 'p'),('contoso', '%s', 'p', 'P', 1, 'x', "
                                     "'p')",
                                     sales, it)),
        IDA_OK, "both assigned");
    const char *without = "{\"companyId\":\"contoso\",\"name\":\"Contoso "
                          "Group\",\"roleTemplates\":[{\"name\":\"Sales\",\"description\":\"new\"},"
                          "{\"name\":\"HR\"}],\"workflows\":[{\"name\":\"Leaver\",\"trigger\":"
                          "\"userDelete\",\"actions\":[]}],\"accessCatalog\":null}";
    is_int(apply(s, without), IDA_CONFLICT, "a template that somebody has cannot go");
    is_str(template_id(s, "IT"), it, "nothing was done");
    is_int(store_transaction(
               s, fresh(), run_sql,
               ida_printf(pool, "DELETE FROM role_assignment WHERE template_id = '%s'", it)),
           IDA_OK, "taken from them");

    is_int(apply(s, without), IDA_OK, "applied again");
    is_str(template_id(s, "Sales"), sales, "a template that stays keeps its ID");
    ok(template_id(s, "IT") == NULL && template_id(s, "HR") != NULL, "one went, one came");
    is_int(store_tenant_get(s, fresh(), "contoso", &tenant, &revision), IDA_OK, "again");
    is_int(revision, 2, "revision 2");
    is_str(tenant->name, "Contoso Group", "new name");
    is_int(tenant->seat_limit, 7, "what was absent stays");
    is_int(apply(s, "{\"companyId\":\"contoso\",\"name\":\"Contoso Group\"}"), IDA_OK,
           "the same once more");
    store_tenant_get(s, fresh(), "contoso", &tenant, &revision);
    is_int(revision, 2, "is no new revision");

    static const char *const swaps[] = {"contoso", "fabrikam", "contoso"};
    for (int i = 0; i < 2; i++) {
        script_replace(s, swaps[i], swaps[i + 1]);
        c = fresh();
        is_int(store_tenant_get(s, c, "contoso", &tenant, NULL), i ? IDA_OK : IDA_INTERNAL_ERROR,
               i ? "its own document" : "another tenant's document");
        ok(i || says(c, "is not taken for its own", "contoso", "fabrikam", "tenant apply", NULL),
           "told");
    }

    /* Rows of other tables, counted through a column that the list shows. */
    static const struct {
        const char *table;
        int rows;
    } left[] = {{"workflow", 1}, {"role_assignment", 1}, {"access_service", 0}};
    json_t *list;
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        store_transaction(s, fresh(), run_sql,
                          ida_printf(pool,
                                     "UPDATE tenant SET seats_held = (SELECT count(*) FROM %s "
                                     "WHERE tenant_id = 'contoso')",
                                     left[i].table));
        is_int(store_tenant_list(s, fresh(), &list), IDA_OK, "tenant list");
        is_int(json_integer_value(json_object_get(json_array_get(list, 0), "seatsHeld")),
               left[i].rows, left[i].table);
    }
    const json_t *item = json_array_get(list, 0);
    is_str(ida_json_string(item, "companyId"), "contoso", "its ID");
    is_str(ida_json_text(pool, json_object_get(item, "directories")), "[\"onPremises\"]",
           "its directories");
    is_int(json_integer_value(json_object_get(item, "seatLimit")), 7, "its seats");
    ok(json_is_null(json_object_get(item, "enabledMembers")),
       "never synchronised: no members to tell");
    const store_tenant_id *ids;
    int count;
    is_int(store_tenant_ids(s, fresh(), &ids, &count), IDA_OK, "IDs");
    is_int(count, 1, "one");
    is_str(ids[0].id, "contoso", "of the tenant");
    is_int(ids[0].revision, 2, "with its revision");
    is_int(store_tenant_lock(s, fresh(), "contoso"), IDA_OK, "lock");
}

static void test_key(store *s)
{
    store_key key;
    ida_principal p = {.company = "contoso",
                       .username = "hr",
                       .label = "HR",
                       .access = IDA_ACCESS_FULL,
                       .rate = {6000, 60, 0},
                       .expires_at = 1900000000000,
                       .from = "192.0.2.0/24"};
    is_int(store_key_find(s, fresh(), "contoso", "hr", &key), IDA_OK,
           "an unknown user is no failure");
    ok(key.key_hash == NULL, "but has no hash");
    is_int(store_key_create(s, fresh(), &p, "hash1", "ops"), IDA_OK, "create");
    ida_ctx *c = fresh();
    is_int(store_key_create(s, c, &p, "hash2", "ops"), IDA_CONFLICT, "twice");
    says(c, "is refused in words", "contoso", "hr", NULL);
    p.company = "nobody";
    is_int(store_key_create(s, fresh(), &p, "hash1", "ops"), IDA_NOT_FOUND, "of no tenant");
    p = (ida_principal){.company = "contoso", .username = "reader", .access = IDA_ACCESS_READ_ONLY};
    is_int(store_key_create(s, fresh(), &p, "hash3", "ops"), IDA_OK, "a plain one");

    is_int(store_key_find(s, fresh(), "contoso", "hr", &key), IDA_OK, "find");
    is_str(key.key_hash, "hash1", "hash");
    is_str(key.principal.label, "HR", "label");
    is_int(key.principal.access, IDA_ACCESS_FULL, "access");
    is_int(key.principal.rate.limit, 6000, "rate");
    is_int(key.principal.expires_at, 1900000000000, "expiry");
    is_int(key.tenant_revision, 2, "revision of the tenant");
    is_int(key.disabled, 0, "enabled");
    is_str(key.principal.from, "192.0.2.0/24", "networks");
    is_int(store_key_find(s, fresh(), "contoso", "reader", &key), IDA_OK, "the plain one");
    is_int(key.principal.rate.limit, 0, "has no rate of its own");
    is_str(key.principal.label, "", "and no label");
    is_int(store_key_find(s, fresh(), "CONTOSO", "hr", &key), IDA_OK, "names are exact");
    ok(key.key_hash == NULL, "another case is another company");

    is_int(store_key_set_disabled(s, fresh(), "contoso", "hr", 1), IDA_OK, "disable");
    store_key_find(s, fresh(), "contoso", "hr", &key);
    is_int(key.disabled, 1, "disabled");
    is_int(store_key_set_disabled(s, fresh(), "contoso", "nobody", 1), IDA_NOT_FOUND,
           "disable an unknown user");
    const store_key_row *rows;
    int count;
    int64_t total;
    is_int(store_key_list(s, fresh(), "contoso", "", 10, &rows, &count), IDA_OK, "list");
    is_int(count, 2, "both");
    is_str(rows[0].username, "hr", "by name");
    is_str(rows[0].created_by, "ops", "made by whom");
    is_int(rows[0].disabled, 1, "disabled");
    is_int(rows[0].expires_at, 1900000000000, "expiry");
    is_int(rows[0].last_used_at, 0, "never used");
    is_int(store_key_list(s, fresh(), "contoso", "hr", 10, &rows, &count), IDA_OK, "a page");
    is_int(count, 1, "goes on behind a name");
    is_str(rows[0].username, "reader", "with the next one");
    is_int(store_key_count(s, fresh(), "contoso", &total), IDA_OK, "count");
    is_int(total, 2, "of all");
    is_int(store_key_end(s, fresh(), "contoso", "hr", 1900000000001), IDA_OK, "an end");
    store_key_find(s, fresh(), "contoso", "hr", &key);
    is_int(key.principal.expires_at, 1900000000000, "is never later than before");
    is_int(store_key_end(s, fresh(), "contoso", "reader", 5), IDA_OK, "where there was none");
    store_key_find(s, fresh(), "contoso", "reader", &key);
    is_int(key.principal.expires_at, 5, "it is set");
    is_int(store_key_delete(s, fresh(), "contoso", "hr"), IDA_OK, "delete");
    is_int(store_key_delete(s, fresh(), "contoso", "hr"), IDA_NOT_FOUND, "twice");
    store_key_find(s, fresh(), "contoso", "hr", &key);
    ok(key.key_hash == NULL, "gone");

    store_transaction(s, fresh(), run_sql, (void *)"UPDATE api_key SET rate_limit = 'many'");
    is_int(complaints, 0, "nothing to complain about until now");
    is_int(store_key_find(s, fresh(), "contoso", "reader", &key), IDA_INTERNAL_ERROR,
           "a damaged row admits no caller");
    ok(key.key_hash == NULL, "and shows no hash");
    is_int(complaints, 1, "but is logged");
    complaints = 0;
}

int main(void)
{
    setup();
    env.log = count_log;
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        const char *engine, *dsn = store_upgraded(i, &engine);
        printf("# %s\n", engine);
        store *s = store_make(pool, dsn, DB_REQUEST);
        test_tenant(s);
        test_key(s);
    }
    return done();
}
