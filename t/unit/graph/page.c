/* Pages of a round of changes: answers that are cut or damaged at any byte, repaired texts,
 * items as the cache gets them, the same from a page as from a single read. */
#include <stdlib.h>

#include "core/base/json.h"
#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/reports.h"
#include "core/cache/sync.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"
#include "worker/graph/answer.h"
#include "worker/graph/sync.h"
#include "worker/graph/user.h"

static const char *const tenant = "contoso";
static graph g = {.env = &env,
                  .root = "https://graph.example/v1.0",
                  .origin = "https://graph.example:443",
                  .directory_id = "unit",
                  .marker = "extensionAttribute1"};
static directory_error e;

/* Exactly sized, so that an instrumented build detects a read past the end. */
static char *ended(const char *text, size_t len)
{
    char *copy = malloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

/* --- pages --- */

static const char users[] =
    "{\"@odata.context\":\"x\",\"value\":[{\"id\":\"u-1\",\"userPrincipalName\":\"asa@contoso."
    "example\",\"displayName\":\"\\u00c5sa \\\"A\\\" \xC3\x96"
    "berg\",\"givenName\":null,\"accountEnabled\":true,\"createdDateTime\":\"2024-02-29T12:00:"
    "00Z\",\"userType\":\"Member\",\"mail\":\"asa@mail.example\",\"employeeId\":\"7\","
    "\"proxyAddresses\":[\"SMTP:asa@mail.example\",\"smtp:alias@mail.example\",\"X500:/"
    "o=x\",\"sip:asa@contoso.example\"],\"assignedLicenses\":[{\"disabledPlans\":[\"p\"],\"skuId\":"
    "\"SKU-1\"}],\"manager@delta\":[{\"@odata.type\":\"#microsoft.graph.user\",\"id\":\"u-9\",\"@"
    "removed\":{\"reason\":\"deleted\"}},{\"@odata.type\":\"#microsoft.graph.user\",\"id\":\"u-2\"}"
    "],\"unknown\":{\"deep\":[1,2,{\"x\":null}]}},{\"userPrincipalName\":\"guest_x#EXT#@contoso."
    "example\",\"id\":\"u-2\",\"accountEnabled\":false,\"createdDateTime\":\"0001-01-01T00:00:"
    "00Z\"},{\"id\":\"u-3\",\"@removed\":{\"reason\":\"changed\"}},{\"id\":\"u-3\","
    "\"userPrincipalName\":7,\"mail\":[\"x\"],\"assignedLicenses\":\"x\",\"proxyAddresses\":null,"
    "\"manager@delta\":{}}],\"@odata.nextLink\":\"https:\\/\\/graph.example/next\"}";

static const char groups[] =
    "{\"value\":[{\"id\":\"g-1\",\"displayName\":\"One\",\"groupTypes\":[\"Unified\"],"
    "\"mailEnabled\":true,\"securityEnabled\":false,\"description\":\"d\",\"members@delta\":[{\"@"
    "odata.type\":\"#microsoft.graph.user\",\"id\":\"u-1\"},{\"@odata.type\":\"#microsoft.graph."
    "device\",\"id\":\"dev\"},{\"@odata.type\":\"#microsoft.graph.user\",\"id\":\"u-2\"},{\"id\":"
    "\"u-2\",\"@odata.type\":\"#microsoft.graph.user\",\"@removed\":{\"reason\":\"deleted\"}}]},{"
    "\"members@delta\":[{\"@odata.type\":\"#microsoft.graph.group\",\"id\":\"g-2\"}],\"id\":\"g-"
    "1\"},{\"id\":\"g-3\",\"displayName\":\"Three\",\"groupTypes\":[],\"securityEnabled\":true,"
    "\"members@delta\":[{\"@odata.type\":\"#microsoft.graph.device\",\"id\":\"gone\",\"@removed\":{"
    "\"reason\":\"deleted\"}},{\"@odata.type\":\"#microsoft.graph.servicePrincipal\",\"id\":"
    "\"app\"}]},{\"id\":\"g-2\",\"displayName\":\"Two\",\"groupTypes\":[\"DynamicMembership\"],"
    "\"membershipRule\":\"user.x\",\"onPremisesSyncEnabled\":null}],\"@odata.deltaLink\":\"https://"
    "graph.example/delta\"}";

/* The result of a read with these bytes as body; NULL: no answer. */
static const json_t *answered(const char *text, size_t len)
{
    graph_call k = graph_call_begin(&g, pool, &e);
    const graph_request request = {.method = "GET", .sync = 1, .doing = "reading"};
    http_answer raw = {.status = 200, .bytes = ended(text, len), .len = len};
    graph_answer answer = {0};
    directory_class class = graph_answer_read(&k, GRAPH_READ, &request, &raw, &answer);
    ok(!class == json_is_object(answer.json) && (!class || class == DIRECTORY_TRANSIENT),
       "an object, or the directory is asked again");
    http_answer_free(&raw);
    return class ? NULL : answer.json;
}

static void is_text(const char *json, const char *want)
{
    const char *text = apr_pstrcat(pool, "{\"a\":", json, "}", NULL);
    is_str(ida_json_string(answered(text, strlen(text)), "a"), want, json);
}

static void texts(void)
{
    is_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t.\"", "\"\\/\b\f\n\r\t.");
    is_text("\"\\u00e5\\u20AC\\ud83d\\ude00 x\"", "å€😀 x");
    is_text("\"a\\u0000b\"", "a\xEF\xBF\xBD"
                             "b");
    is_text("\"\\ud83dx\\ude00\"", "\xEF\xBF\xBDx\xEF\xBF\xBD");
    is_text("\"\\ud83d\\u0041\"", "\xEF\xBF\xBD"
                                  "A");
    is_text("\"\\\\u0000\"", "\\u0000");
    is_text("\"\\ud83d\\ud83d\\ude00\"", "\xEF\xBF\xBD😀");
    is_text("\"\\x\"", NULL);
    is_text("\"\\u12g4\"", NULL);
    is_text("\"open", NULL);
    is_text("\"open\\", NULL);
    is_text("\"\\ud83d", NULL);
    is_text("\"line\nend\"", NULL);
    is_text("\"\xC3(\"", NULL);
}

static void spoiled(void)
{
    int taken = 0;
    ok(answered(users, sizeof users - 1) && answered(groups, sizeof groups - 1), "pages");
    for (size_t len = 0; len < sizeof users - 1; len++) {
        taken += answered(users, len) != NULL;
    }
    is_int(taken, 0, "cut off anywhere it is no answer");
    static const char *const bad[] = {"[]",
                                      "{\"value\":[],\"value\":[]}",
                                      "<html>busy</html>",
                                      "{\"value\":[]} x",
                                      "\"value\"",
                                      "{\"value\":[1,]}",
                                      "null"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!answered(bad[i], strlen(bad[i])), "no answer: %s", bad[i]);
    }
    enum { MANY = 1000100 };
    static char many[2 * MANY + 40], deep[10000];
    memset(deep, '[', sizeof deep);
    ok(!answered(deep, sizeof deep), "no answer: ten thousand levels");
    strcpy(many, "{\"value\":[0");
    for (int i = 0; i < MANY; i++) {
        strcpy(many + 11 + 2 * i, ",0");
    }
    strcpy(many + 11 + 2 * MANY, "]}");
    ok(!answered(many, strlen(many)), "no answer: a million values, which would fill the memory");
}

/* --- items --- */

static void take(graph_delta *d, const char *text, graph_item each)
{
    size_t i;
    json_t *item;
    json_array_foreach (json_object_get(answered(text, strlen(text)), "value"), i, item) {
        directory_class class = each(d, item);
        ok(!class, "item %d: %s", (int)i, class ? e.message : "taken");
    }
}

static ida_user *user(store *s, const char *id, json_t **licenses)
{
    ida_user *u = NULL;
    ida_ctx *c = fresh();
    is_int(cache_user_details(s, c, tenant, id, &u, licenses), IDA_OK, id);
    return u;
}

static void into_cache(void)
{
    const char *name;
    store *s = store_make(pool, store_upgraded(0, &name), DB_SYNC);
    ida_ctx *c = fresh();
    graph_call k = graph_call_begin(&g, pool, &e);
    graph_delta d = {
        .k = &k, .c = c, .pool = pool, .unnamed = apr_hash_make(pool), .gone = apr_hash_make(pool)};
    cache_summary summary;
    apr_pool_create(&d.item_pool, pool);
    is_int(cache_sync_begin(&d.run, s, c, pool, tenant, IDA_DIR_CLOUD, 1), IDA_OK, "begin");
    take(&d, users, graph_delta_user);
    take(&d, groups, graph_delta_group);
    is_int(cache_sync_commit(d.run, c, "{}", "b", NULL, 0, &summary), IDA_OK, "commit");
    is_int(summary.unresolved, 2,
           "devices and applications are members whom the cache does not know");
    is_int(summary.users, 3, "three users");
    is_int(summary.groups, 3, "three groups");

    json_t *licenses;
    ida_user *u = user(s, "u-1", &licenses);
    is_str(u->display_name, "Åsa \"A\" Öberg", "display name");
    is_str(u->given_name, NULL, "null is absent");
    is_str(u->mail, "asa@mail.example", "mail");
    is_str(u->manager_id, "u-2", "the new manager, not the one who went");
    is_int(u->created_at, INT64_C(1709208000000), "created");
    is_int(u->enabled, 1, "enabled");
    is_int(u->guest, 0, "a member");
    is_str(json_string_value(json_array_get(licenses, 0)), "SKU-1",
           "a licence, by ID while its name is not known");
    u = user(s, "u-2", NULL);
    is_int(u->guest, 1, "a guest by the look of the UPN");
    is_int(u->enabled, 0, "disabled");
    is_int(u->created_at, 0, "the year 1 is never");
    u = user(s, "u-3", NULL);
    ok(u && !u->upn, "removed, then reported again: there; values of a wrong type are absent");

    ida_group *group;
    is_int(cache_group_find(s, c, tenant, "g-1", &group), IDA_OK, "group");
    is_str(group->kind, "microsoft365", "kind");
    is_int(group->member_count, 2,
           "a user and a group; the device beside them, the one removed not");
    const cache_empty_group *empty;
    cache_report report = {.tenant = tenant, .after_text = "", .after_id = "", .limit = 10};
    is_int(cache_groups_empty(s, c, &report, &empty), IDA_OK, "empty groups");
    ok(report.count == 1 && strcmp(empty[0].id, "g-2") == 0,
       "a group that holds a device alone is not empty");
    is_int(cache_group_find(s, c, tenant, "g-2", &group), IDA_OK, "group");
    is_str(group->kind, "dynamic", "kind");
    store_disconnect(s);
}

/* --- one decoder --- */

static const char person[] =
    "{\"value\":[{\"id\":\"p-1\",\"userPrincipalName\":\"eva_x.example#ext#@contoso.example\","
    "\"displayName\":\"Eva\",\"givenName\":\"Eva\",\"surname\":\"Ek\",\"department\":\"D\","
    "\"jobTitle\":\"J\",\"mail\":\"eva@x.example\",\"companyName\":\"C\",\"officeLocation\":\"O\","
    "\"city\":\"Y\",\"country\":\"SE\",\"employeeId\":\"9\",\"onPremisesImmutableId\":\"anchor\","
    "\"accountEnabled\":true,\"userType\":\"Member\",\"createdDateTime\":\"2024-02-29T12:00:00."
    "5Z\",\"proxyAddresses\":[\"SMTP:eva@x.example\",\"bare@x.example\",\"SIP:eva@x.example\","
    "\"smtp:\"],\"assignedLicenses\":[{\"skuId\":\"SKU-1\"},{\"skuId\":\"SKU-2\"}],\"manager\":{"
    "\"id\":\"p-9\"},\"manager@delta\":[{\"id\":\"p-9\"}]},{\"id\":\"p-9\"}]}";

static const char *listed(const char *const *list)
{
    const char *text = "";
    for (; *list; list++) {
        text = apr_pstrcat(pool, text, *list, ";", NULL);
    }
    return text;
}

/* The same person, from a page of changes and from a single read, gives the same row of the
 * cache. */
static void both_ways(void)
{
    static const char *const tenants[] = {"paged", "read"};
    const char *name;
    store *s = store_make(pool, store_upgraded(0, &name), DB_SYNC);
    ida_user *rows[2];
    json_t *licenses[2];
    graph_call k = graph_call_begin(&g, pool, &e);
    directory_user single;
    ok(graph_user_read(
           &k, json_array_get(json_object_get(answered(person, sizeof person - 1), "value"), 0),
           &single),
       "a user");
    is_str(listed(single.cache.addresses), "eva@x.example;bare@x.example;",
           "addresses, the one without a prefix too");
    is_str(listed(single.cache.licenses), "SKU-1;SKU-2;", "licences");
    ok(!single.cache.manager_untold && single.cache.sign_ins_untold,
       "what is reported and what is not");
    for (int i = 0; i < 2; i++) {
        ida_ctx *c = fresh();
        cache_summary summary;
        graph_delta d = {.k = &k,
                         .c = c,
                         .pool = pool,
                         .unnamed = apr_hash_make(pool),
                         .gone = apr_hash_make(pool)};
        apr_pool_create(&d.item_pool, pool);
        is_int(cache_sync_begin(&d.run, s, c, pool, tenants[i], IDA_DIR_CLOUD, 1), IDA_OK, "begin");
        if (i) {
            is_int(cache_sync_user(d.run, c, &single.cache), IDA_OK, "as it was read singly");
            is_int(cache_sync_user(d.run, c, &(cache_user){.id = "p-9"}), IDA_OK, "its manager");
        } else {
            take(&d, person, graph_delta_user);
            is_int(apr_hash_count(d.unnamed), 2, "licences without a name");
        }
        is_int(cache_sync_commit(d.run, c, "{}", "b", NULL, 0, &summary), IDA_OK, "commit");
        is_int(cache_user_details(s, c, tenants[i], "p-1", &rows[i], &licenses[i]), IDA_OK,
               "there");
    }
    const ida_user *a = rows[0], *b = rows[1];
    const char *const texts_of[][2] = {
        {a->upn, b->upn},
        {a->mail, b->mail},
        {a->display_name, b->display_name},
        {a->given_name, b->given_name},
        {a->surname, b->surname},
        {a->department, b->department},
        {a->job_title, b->job_title},
        {a->company, b->company},
        {a->office, b->office},
        {a->city, b->city},
        {a->country, b->country},
        {a->employee_id, b->employee_id},
        {a->manager_id, b->manager_id},
        {a->anchor, b->anchor},
    };
    for (size_t i = 0; i < sizeof texts_of / sizeof *texts_of; i++) {
        ok(texts_of[i][0] != NULL, "told");
        is_str(texts_of[i][1], texts_of[i][0], "the same text");
    }
    ok(a->guest == 1 && b->guest == 1, "a guest, however #EXT# is written");
    ok(a->enabled && b->enabled && a->created_at == b->created_at && a->created_at % 1000 == 500,
       "the same state and time");
    ok(json_equal(licenses[0], licenses[1]) && json_array_size(licenses[0]) == 2,
       "the same licences");
    store_disconnect(s);
}

/* A group in a page, and as /groups/{id} returns it. */
static void one_group(void)
{
    cache_group group;
    const json_t *json = ida_json_keep(
        pool, json_pack("{s:s,s:s,s:[s],s:s,s:b}", "id", "g-9", "displayName", "Nine", "groupTypes",
                        "dynamicmembership", "membershipRule", "user.x", "mailEnabled", 1));
    ok(graph_group_value(json, &group), "a group");
    is_str(group.kind, "dynamic", "its kind");
    is_str(group.rule, "user.x", "its rule");
    is_str(graph_group_retained(json), "membership by rule", "which nobody changes here");
    ok(!graph_group_value(ida_json_keep(pool, json_pack("{s:i}", "id", 7)), &group),
       "an ID that is no text is none");
}

int main(void)
{
    setup();
    graph_library_init();
    g.pool = pool;
    texts();
    spoiled();
    into_cache();
    both_ways();
    one_group();
    return done();
}
