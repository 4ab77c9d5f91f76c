/* Pages of a delta round: JSON read in place, pages that are cut off or spoiled anywhere, items as
 * the cache gets them. */
#include <stdlib.h>

#include "core/cache/people.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"
#include "worker/graph/delta.h"
#include "worker/graph/fetch.h"

static const char *const tenant = "contoso";

/* Exactly sized, so that an instrumented build sees every byte too far. */
static char *ended(const char *text, size_t len)
{
    char *copy = malloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

/* --- values --- */

static void is_text(const char *json, const char *want)
{
    graph_reader r;
    char *bytes = ended(json, strlen(json));
    graph_reader_begin(&r, bytes);
    const char *got = graph_read_text(&r);
    is_str(r.fault ? "(fault)" : got, want, json);
    free(bytes);
}

static int whole(const char *json, size_t len)
{
    graph_reader r;
    char *bytes = ended(json, len);
    graph_reader_begin(&r, bytes);
    graph_skip(&r);
    int good = graph_reader_end(&r);
    free(bytes);
    return good;
}

static void texts(void)
{
    is_text("\"plain\"", "plain");
    is_text("  \"\"", "");
    is_text("\"\\\"\\\\\\/\\b\\f\\n\\r\\t.\"", "\"\\/\b\f\n\r\t.");
    is_text("\"\\u00e5\\u20AC\\ud83d\\ude00 x\"", "å€😀 x");
    is_text("\"a\\u0000b\"", "a\xEF\xBF\xBD"
                             "b");
    is_text("\"\\ud83dx\\ude00\"", "\xEF\xBF\xBDx\xEF\xBF\xBD");
    is_text("\"\\ud83d\\u0041\"", "\xEF\xBF\xBD"
                                  "A");
    is_text("null", NULL);
    is_text("12", NULL);
    is_text("{\"a\":[1]}", NULL);
    is_text("\"\\x\"", "(fault)");
    is_text("\"\\u12g4\"", "(fault)");
    is_text("\"open", "(fault)");
    is_text("\"open\\", "(fault)");
    is_text("\"line\nend\"", "(fault)");
}

static void grammar(void)
{
    static const char *const good[] = {"{}",
                                       "[]",
                                       " [ ] ",
                                       "0",
                                       "-0",
                                       "-1.5e+10",
                                       "1E5",
                                       "true",
                                       "false",
                                       "null",
                                       "\"\"",
                                       "[1,[2,{\"a\":{}}],[]]",
                                       "{\"a\":1,\"b\":[true,null],\"\":{\"c\":\"\\u0041\"}}"};
    static const char *const bad[] = {"",      "{",          "[",       "{]",    "[}",
                                      "[1,]",  "{\"a\":1,}", "{\"a\"}", "{a:1}", "{\"a\" 1}",
                                      "[1 2]", "01",         "1.",      ".5",    "1e",
                                      "-",     "+1",         "tru",     "nul",   "truex",
                                      "[1]]",  "{}{}",       "'a'",     "[\"a]", "{\"a\":}",
                                      "[,1]",  "\"\\u12\"",  "<html>"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ok(whole(good[i], strlen(good[i])), "JSON: %s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!whole(bad[i], strlen(bad[i])), "no JSON: %s", bad[i]);
    }
    char deep[400];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    ok(!whole(deep, 200), "too deep");
    ok(whole(deep + 40, 120), "deep enough for any page");
}

/* --- pages --- */

static const char users[] =
    "{\"@odata.context\":\"x\",\"value\":["
    "{\"id\":\"u-1\",\"userPrincipalName\":\"asa@contoso.example\",\"displayName\":\"\\u00c5sa "
    "\\\"A\\\" \xC3\x96"
    "berg\",\"givenName\":null,\"accountEnabled\":true,"
    "\"createdDateTime\":\"2024-02-29T12:00:00Z\",\"userType\":\"Member\",\"mail\":\"asa@mail."
    "example\",\"employeeId\":\"7\","
    "\"proxyAddresses\":[\"SMTP:asa@mail.example\",\"smtp:alias@mail.example\",\"X500:/"
    "o=x\",\"sip:asa@contoso.example\"],"
    "\"assignedLicenses\":[{\"disabledPlans\":[\"p\"],\"skuId\":\"SKU-1\"}],"
    "\"manager@delta\":[{\"@odata.type\":\"#microsoft.graph.user\",\"id\":\"u-9\",\"@removed\":{"
    "\"reason\":\"deleted\"}},"
    "{\"@odata.type\":\"#microsoft.graph.user\",\"id\":\"u-2\"}],\"unknown\":{\"deep\":[1,2,{\"x\":"
    "null}]}},"
    "{\"userPrincipalName\":\"guest_x#EXT#@contoso.example\",\"id\":\"u-2\",\"accountEnabled\":"
    "false,\"createdDateTime\":\"0001-01-01T00:00:00Z\"},"
    "{\"id\":\"u-3\",\"@removed\":{\"reason\":\"changed\"}},"
    "{\"id\":\"u-3\",\"userPrincipalName\":7,\"mail\":[\"x\"],\"assignedLicenses\":\"x\","
    "\"proxyAddresses\":null,\"manager@delta\":{}}"
    "],\"@odata.nextLink\":\"https:\\/\\/graph.example/next\"}";

static const char groups[] =
    "{\"value\":[{\"id\":\"g-1\",\"displayName\":\"One\",\"groupTypes\":[\"Unified\"],"
    "\"mailEnabled\":true,\"securityEnabled\":false,\"description\":\"d\","
    "\"members@delta\":[{\"@odata.type\":\"#microsoft.graph.user\",\"id\":\"u-1\"},{\"@odata."
    "type\":\"#microsoft.graph.device\",\"id\":\"dev\"},"
    "{\"@odata.type\":\"#microsoft.graph.user\",\"id\":\"u-2\"},{\"id\":\"u-2\",\"@odata.type\":\"#"
    "microsoft.graph.user\",\"@removed\":{\"reason\":\"deleted\"}}]},"
    "{\"members@delta\":[{\"@odata.type\":\"#microsoft.graph.group\",\"id\":\"g-2\"}],\"id\":\"g-"
    "1\"},"
    "{\"id\":\"g-3\",\"displayName\":\"Three\",\"groupTypes\":[],\"securityEnabled\":true,"
    "\"members@delta\":["
    "{\"@odata.type\":\"#microsoft.graph.device\",\"id\":\"gone\",\"@removed\":{\"reason\":"
    "\"deleted\"}},"
    "{\"@odata.type\":\"#microsoft.graph.servicePrincipal\",\"id\":\"app\"}]},"
    "{\"id\":\"g-2\",\"displayName\":\"Two\",\"groupTypes\":[\"DynamicMembership\"],"
    "\"membershipRule\":\"user.x\",\"onPremisesSyncEnabled\":null}],"
    "\"@odata.deltaLink\":\"https://graph.example/delta\"}";

static int opens(const char *text, size_t len, graph_page *page, const char **next)
{
    *page = (graph_page){.pool = pool};
    return graph_page_open(page, apr_pstrmemdup(pool, text, len), next);
}

static void spoiled(void)
{
    graph_page page;
    const char *next;
    int taken = 0;
    ok(opens(users, sizeof users - 1, &page, &next) && !page.last, "a page");
    is_str(next, "https://graph.example/next", "its next link");
    is_str(page.delta, NULL, "which is not the last");
    ok(opens(groups, sizeof groups - 1, &page, &next) && page.last, "the last page");
    is_str(page.delta, "https://graph.example/delta", "its delta link");
    for (size_t len = 0; len < sizeof users - 1; len++) {
        char *cut = ended(users, len);
        page = (graph_page){.pool = pool};
        taken += graph_page_open(&page, cut, &next);
        free(cut);
    }
    is_int(taken, 0, "cut off anywhere it is no page");
    static const char *const bad[] = {
        "{}",
        "[]",
        "{\"value\":{}}",
        "{\"value\":\"[]\"}",
        "{\"value\":[],\"value\":[]}",
        "<html>busy</html>",
        "{\"value\":[]} x",
        "{\"error\":{\"code\":\"x\"}}",
        "{\"value\":[],\"@odata.nextLink\":\"a\",\"@odata.deltaLink\":\"b\"}",
        "\"value\"",
        "null"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!opens(bad[i], strlen(bad[i]), &page, &next), "no page: %s", bad[i]);
    }
}

/* --- items --- */

static void take(graph_delta *d, const char *text,
                 directory_class (*item)(graph_delta *, graph_reader *))
{
    graph_page page;
    graph_reader r;
    const char *next;
    ok(opens(text, strlen(text), &page, &next), "a page");
    graph_reader_begin(&r, page.items);
    for (int more = graph_array_begin(&r); more; more = graph_array_next(&r)) {
        if (item(d, &r)) {
            ok(0, "item: %s", d->k->e->message ? d->k->e->message : "?");
            return;
        }
    }
    ok(!r.fault, "read to its end");
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
    graph g = {.env = &env,
               .pool = pool,
               .root = "https://graph.example/v1.0",
               .origin = "https://graph.example:443",
               .directory_id = "unit"};
    directory_error e;
    graph_call k = graph_call_begin(&g, pool, &e);
    graph_delta d = {
        .k = &k, .c = c, .pool = pool, .skus = apr_hash_make(pool), .gone = apr_hash_make(pool)};
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
    ok(u && !u->upn, "removed, then told again: there; values of a wrong type are absent");

    ida_group *group;
    is_int(cache_group_find(s, c, tenant, "g-1", &group), IDA_OK, "group");
    is_str(group->kind, "microsoft365", "kind");
    is_int(group->member_count, 2,
           "a user and a group; the device beside them, the one removed not");
    const cache_empty_group *empty;
    int count;
    is_int(cache_groups_empty(s, c, tenant, "", "", 10, &empty, &count), IDA_OK, "empty groups");
    ok(count == 1 && strcmp(empty[0].id, "g-2") == 0,
       "a group that holds a device alone is not empty");
    is_int(cache_group_find(s, c, tenant, "g-2", &group), IDA_OK, "group");
    is_str(group->kind, "dynamic", "kind");
    store_disconnect(s);
}

int main(void)
{
    setup();
    graph_library_init();
    texts();
    grammar();
    spoiled();
    into_cache();
    return done();
}
