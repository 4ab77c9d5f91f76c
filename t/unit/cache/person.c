/* Reading people and groups: joined persons, managers, licences, names, hostile text, and that the
 * hot reads use indexes. On both engines. */
#include <sqlite3.h>

#include "core/base/search_key.h"
#include "core/base/text.h"
#include "core/cache/freshness.h"
#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/reports.h"
#include "core/cache/sync.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static const char *const tenant = "contoso";
static const ida_directory_kind cloud = IDA_DIR_CLOUD, premises = IDA_DIR_ON_PREMISES;

static void put(store *s, ida_directory_kind directory, const cache_user *u)
{
    ida_ctx *c = fresh();
    is_int(cache_tell_user(s, c, tenant, directory, u), IDA_OK, u->id);
}

static int64_t counter(store *s, const char *name)
{
    db_result r;
    return store_read(s, fresh(), STMT_counter_get, DB_ARGS(DB_T(tenant), DB_T(name)), &r)
               ? -1
               : DB_ROW(number, &r, 0)->number.number;
}

static void people(store *s, store *reader)
{
    static const char *licenses[] = {"SPE_E3", "VISIO", NULL};
    static const char *addresses[] = {"Eva@Old.example", NULL};
    cache_user boss = {
        .id = "c-boss", .upn = "Boss@contoso.example", .display_name = "The Boss", .enabled = 1};
    cache_user eva = {.id = "c-eva",
                      .upn = "Eva.Berg@Contoso.example",
                      .mail = "eva@contoso.example",
                      .display_name = "Eva Berg",
                      .department = "Sales",
                      .enabled = 1,
                      .manager_id = "c-boss",
                      .licenses = licenses,
                      .addresses = addresses,
                      .created_at = 1000,
                      .last_sign_in_at = 2000};
    cache_user twin = {.id = "p-eva",
                       .upn = "eva.berg@contoso.example",
                       .dn = "uid=eva",
                       .dn_key = "uid=eva",
                       .enabled = 1};
    cache_user bo = {.id = "c-bo", .upn = "bo@contoso.example", .enabled = 1, .anchor = "A=="};
    cache_user bo_twin = {.id = "p-bo", .upn = "bo@ad.example", .enabled = 1, .anchor = "A=="};
    cache_user gone_manager = {
        .id = "p-x", .upn = "x@contoso.example", .enabled = 1, .manager_id = "nobody"};
    ida_user *u;
    json_t *names;
    ida_ctx *c = fresh();

    put(s, cloud, &eva); /* before the manager: any order */
    put(s, cloud, &boss);
    put(s, premises, &twin);
    put(s, cloud, &bo);
    put(s, premises, &bo_twin);
    put(s, premises, &gone_manager);
    is_int(counter(s, "enabled_members"), 4, "four persons in six rows");
    is_int(counter(s, "users"), 6, "six rows");

    is_int(cache_user_by_upn(reader, c, tenant, "EVA.BERG@contoso.EXAMPLE", &u), IDA_OK,
           "by UPN in any case");
    is_str(u->id, "c-eva", "the cloud's row is preferred");
    is_str(u->upn, "Eva.Berg@Contoso.example", "written as the directory writes it");
    is_str(u->department, "Sales", "department");
    is_int(u->in[IDA_DIR_CLOUD] && u->in[IDA_DIR_ON_PREMISES], 1, "in both directories");
    is_str(u->other_id, "p-eva", "ID in the other one");
    is_int(u->created_at + u->last_sign_in_at, 3000, "times");
    is_int(cache_user_details(reader, c, tenant, "p-eva", &u, &names), IDA_OK,
           "details by the other directory's ID");
    is_str(u->id, "c-eva", "are those of the person");
    is_str(u->manager_upn, "Boss@contoso.example", "manager's UPN");
    is_str(u->manager_name, "The Boss", "manager's name");
    is_int((int64_t)json_array_size(names), 2, "licences");
    eva.licenses = NULL;
    put(s, cloud, &eva);
    is_int(cache_user_details(reader, c, tenant, "c-eva", &u, &names), IDA_OK, "details");
    is_int((int64_t)json_array_size(names), 2, "licences that were not reported stay");
    eva.licenses = licenses + 2;
    put(s, cloud, &eva);
    is_int(cache_user_details(reader, c, tenant, "c-eva", &u, &names), IDA_OK, "details");
    is_int((int64_t)json_array_size(names), 0, "an empty list is none");

    is_int(cache_user_by_upn(reader, c, tenant, "bo@ad.example", &u), IDA_OK,
           "by the UPN of the premises alone");
    is_str(u->id, "c-bo", "gives the cloud's row when the anchor joins them");
    is_str(u->other_id, "p-bo", "and names the other");
    is_int(cache_user_by_upn(reader, c, tenant, "bo@contoso.example", &u) ||
               strcmp(u->other_id, "p-bo"),
           0, "the same from the cloud's side");
    is_int(cache_user_details(reader, c, tenant, "x@contoso.example", &u, NULL), IDA_OK,
           "a manager that is not in the cache");
    is_str(u->manager_id, NULL, "is none");
    is_int(cache_user_by_upn(reader, fresh(), tenant, "nobody@contoso.example", &u), IDA_NOT_FOUND,
           "unknown UPN");
    is_int(cache_user_by_upn(reader, fresh(), "other", "eva.berg@contoso.example", &u),
           IDA_NOT_FOUND, "another tenant's eyes");
    is_int(cache_user_details(reader, fresh(), tenant, "no-id", &u, NULL), IDA_NOT_FOUND,
           "unknown ID");

    is_int(cache_tell_enabled(s, c, tenant, cloud, "c-eva", 0, NULL), IDA_OK,
           "disabled in the cloud");
    is_int(counter(s, "enabled_members"), 4, "the twin on the premises counts now");
    is_int(cache_tell_enabled(s, c, tenant, premises, "p-eva", 0, NULL), IDA_OK,
           "disabled on the premises too");
    is_int(counter(s, "enabled_members"), 3, "nobody left to count");
    is_int(cache_tell_manager(s, c, tenant, cloud, "c-bo", "c-eva"), IDA_OK,
           "a manager written through");
    is_int(cache_user_details(reader, c, tenant, "c-bo", &u, NULL) ||
               strcmp(u->manager_id, "c-eva"),
           0, "is seen");
    is_int(cache_tell_gone(s, c, tenant, cloud, "c-eva"), IDA_OK, "gone");
    is_int(cache_user_details(reader, c, tenant, "c-bo", &u, NULL) || u->manager_id, 0,
           "takes the link along");
    is_int(cache_tell_enabled(s, c, tenant, cloud, "unknown", 0, NULL), IDA_OK,
           "an unknown user is nothing to keep right");
    bo.guest = 1;
    put(s, cloud, &bo);
    is_int(counter(s, "enabled_members"), 3, "a guest does not count, its twin does");
}

static const char *const accounts_of = "accounts";

static void tell(store *s, const cache_user *u)
{
    is_int(cache_tell_user(s, fresh(), accounts_of, premises, u), IDA_OK, u->id);
}

static const char *who(store *reader, const char *wanted)
{
    ida_user *u;
    ida_ctx *c = fresh();
    ida_kind kind = cache_user_by_upn(reader, c, accounts_of, wanted, &u);
    ok(kind == IDA_OK || !u, "%s: nobody where there is no answer", wanted);
    return kind == IDA_CONFLICT ? c->message : kind ? ida_kind_code(kind) : u->id;
}

/* "address id id, address ...", as the report pages over them one by one. */
static const char *sharing(store *reader)
{
    cache_report r = {
        .tenant = accounts_of, .after_text = "", .after_id = "", .limit = 1, .count = 1};
    const char *all = "";
    for (int i = 0; i < 20 && r.count; i++) {
        const cache_sharer *rows;
        if (cache_people_sharing(reader, fresh(), &r, &rows)) {
            return "an error";
        }
        if (r.count) {
            int other = strcmp(r.after_text, rows[0].address) != 0;
            all = apr_pstrcat(pool, all, other ? " " : "", other ? rows[0].address : "", "=",
                              rows[0].person.id, NULL);
            r.after_text = rows[0].address;
            r.after_id = rows[0].person.id;
        }
    }
    return all;
}

/* Shared addresses that are not UPNs; and finding people by them. */
static void further(store *s, store *reader)
{
    static const char *hers[] = {"Info@contoso.example", "moa.gift@contoso.example", NULL},
                      *of_ab[] = {"ab@contoso.example", "moa.gift@contoso.example", NULL};
    cache_user moa = {.id = "m",
                      .upn = "moa@contoso.example",
                      .mail = "moa@contoso.example",
                      .addresses = hers,
                      .enabled = 1},
               info = {.id = "i", .upn = "info@contoso.example", .enabled = 1},
               ab = {.id = "b", .upn = "b@contoso.example", .mail = "moa@contoso.example"};
    cache_people_filter filter = CACHE_PEOPLE_ALL;
    const cache_listed_person *rows;
    int count;
    filter.limit = 10;
    filter.words[0] = ida_search_word(pool, "moa.gift@contoso.example");
    tell(s, &moa);
    is_str(sharing(reader), "", "nobody shares");
    is_int(cache_people_search(reader, fresh(), accounts_of, &filter, &rows, &count) ||
               count != 1 || strcmp(rows[0].id, "m"),
           0, "a mail alias finds its person");
    tell(s, &info);
    is_str(sharing(reader), " info@contoso.example=i=m", "one's alias is another's UPN");
    tell(s, &ab);
    is_str(sharing(reader), " info@contoso.example=i=m moa@contoso.example=b=m",
           "one's mail is another's");
    ab.addresses = of_ab;
    tell(s, &ab);
    is_str(sharing(reader),
           " info@contoso.example=i=m moa.gift@contoso.example=b=m moa@contoso.example=b=m",
           "two have one alias");
    is_int(cache_people_search(reader, fresh(), accounts_of, &filter, &rows, &count) || count != 2,
           0, "which finds both");
    moa.addresses = NULL;
    tell(s, &moa);
    is_str(sharing(reader), " moa@contoso.example=b=m", "without the aliases the mail is left");
    is_int(cache_people_search(reader, fresh(), accounts_of, &filter, &rows, &count) ||
               count != 1 || strcmp(rows[0].id, "b"),
           0, "and the alias finds the other one alone");
    is_int(cache_tell_gone(s, fresh(), accounts_of, premises, "b"), IDA_OK, "one is gone");
    is_str(sharing(reader), "", "nobody shares any more");
    is_int(cache_tell_gone(s, fresh(), accounts_of, premises, "m") ||
               cache_tell_gone(s, fresh(), accounts_of, premises, "i"),
           0, "and no person");
}

/* Addresses of several accounts, accounts with several, and accounts that expire. */
static void accounts(store *s, store *reader)
{
    static const char *desk[] = {"desk@contoso.example", NULL},
                      *eva_and_x[] = {"eva@contoso.example", "x@contoso.example", NULL};
    cache_user day = {
        .id = "a-day", .upn = "ann@contoso.example", .enabled = 1, .employee_id = "N-1"};
    cache_user night = {.id = "a-night", .upn = "Ann@contoso.example", .enabled = 1};
    cache_user eva = {.id = "e",
                      .upn = "eva@contoso.example",
                      .mail = "eva@contoso.example",
                      .enabled = 1,
                      .employee_id = " n-1"};
    ida_user *u, **same;
    int people;
    const cache_sharer *sharers;
    cache_report report = {
        .tenant = accounts_of, .after_text = "", .after_id = "", .limit = 10, .most = 10};
    further(s, reader);
    tell(s, &day);
    is_str(who(reader, "ann@contoso.example"), "a-day", "the only one of an address");
    tell(s, &night);
    ok(strstr(who(reader, "ANN@contoso.example"), "a-day and a-night") != NULL,
       "an address of two: both are named");
    is_str(who(reader, "a-night"), "a-night", "each by its ID");
    is_int(cache_user_brief(reader, fresh(), accounts_of, "ann@contoso.example", &u), IDA_CONFLICT,
           "the quick way refuses too");
    is_int(cache_people_sharing(reader, fresh(), &report, &sharers) || report.count != 2 ||
               strcmp(sharers[0].person.id, "a-day"),
           0, "the report lists both");
    night.upn = "ann.night@contoso.example";
    tell(s, &night);
    is_str(who(reader, "ann@contoso.example"), "a-day", "until one has another");
    is_int(cache_people_sharing(reader, fresh(), &report, &sharers) || report.total.number, 0,
           "then no person is listed");

    eva.upns = desk;
    tell(s, &eva);
    is_str(who(reader, "desk@contoso.example"), "e", "a further value finds its person");
    eva.upn = eva.mail = "desk@contoso.example";
    eva.upns = eva_and_x;
    tell(s, &eva);
    is_int(cache_user_by_upn(reader, fresh(), accounts_of, "eva@contoso.example", &u), IDA_OK,
           "another value comes first now");
    is_str(u->upn, "eva@contoso.example", "the UPN stays while the entry has it");
    is_str(u->mail, "eva@contoso.example", "so does the mail address");
    is_str(who(reader, "desk@contoso.example"), "e", "the others find her");
    is_str(who(reader, "x@contoso.example"), "e", "each of them");
    night.upn = "x@contoso.example";
    tell(s, &night);
    ok(strstr(who(reader, "x@contoso.example"), "a-night and e") != NULL,
       "a further value that is another's UPN: both are named");
    is_int(cache_user_brief(reader, fresh(), accounts_of, "x@contoso.example", &u), IDA_CONFLICT,
           "the quick way refuses too");
    eva.upns = NULL;
    tell(s, &eva);
    is_str(who(reader, "desk@contoso.example"), "e", "gone from the entry: the UPN is another one");
    is_str(who(reader, "eva@contoso.example"), "NOT_FOUND", "and finds nobody");

    is_int(cache_users_of_employee(reader, fresh(), accounts_of, "n-1 ", &same, &people) ||
               people != 2,
           0, "employee IDs are compared as directories do");

    day.expires_at = test_now_ms + 1000;
    tell(s, &day);
    is_int(cache_user_by_upn(reader, fresh(), accounts_of, "a-day", &u) || !u->enabled ||
               u->expired,
           0, "an account that will end is enabled");
    test_now_ms += 1000;
    is_int(cache_expire(s, fresh(), accounts_of, premises), IDA_OK, "its end is over");
    is_int(cache_user_by_upn(reader, fresh(), accounts_of, "a-day", &u) || u->enabled ||
               !u->expired,
           0, "it is disabled, as expired");
    db_result r;
    is_int(store_read(s, fresh(), STMT_counter_get,
                      DB_ARGS(DB_T(accounts_of), DB_T("enabled_members")), &r) ||
               DB_ROW(number, &r, 0)->number.number != 2,
           0, "and counts no more");
    tell(s, &day);
    is_int(cache_user_by_upn(reader, fresh(), accounts_of, "a-day", &u) || u->enabled ||
               !u->expired,
           0, "an item that comes later does not enable it");
    day.expires_at += 5000;
    tell(s, &day);
    is_int(cache_user_by_upn(reader, fresh(), accounts_of, "a-day", &u) || !u->enabled ||
               u->expired,
           0, "a later end does");
    is_int(cache_tell_enabled(s, fresh(), accounts_of, premises, "a-day", 0, NULL) ||
               cache_user_by_upn(reader, fresh(), accounts_of, "a-day", &u) || u->enabled ||
               u->expired,
           0, "disabled by hand: not expired");
}

static void groups(store *s, store *reader)
{
    static const struct {
        const char *id, *name;
        int synced;
    } rows[] = {{"g1", "Sales team", 0}, {"g2", "sales Team", 0}, {"g3", "Åsas grupp", 0},
                {"g4", "Twice", 0},      {"g5", "Twice", 0},      {"g6", "Copied", 1},
                {"g7", "Copied", 0}};
    static const struct {
        const char *wanted;
        ida_kind kind;
        const char *id;
    } cases[] = {{"g2", IDA_OK, "g2"},
                 {"Sales team", IDA_CONFLICT, NULL},
                 {"SALES TEAM", IDA_CONFLICT, NULL},
                 {"asas grupp", IDA_OK, "g3"},
                 {"Twice", IDA_CONFLICT, NULL},
                 {"Copied", IDA_OK, "g7"},
                 {"Nothing", IDA_NOT_FOUND, NULL},
                 {"", IDA_NOT_FOUND, NULL}};
    cache_sync *run;
    cache_summary summary;
    ida_ctx *c = fresh();
    const ida_group *in;
    int count;
    cache_user u = {.id = "m1", .upn = "m1@contoso.example", .enabled = 1};
    is_int(cache_sync_begin(&run, s, c, pool, "groups", cloud, 1), IDA_OK, "begin");
    is_int(cache_sync_user(run, c, &u), IDA_OK, "user");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cache_group g = {
            .id = rows[i].id, .name = rows[i].name, .kind = "security", .synced = rows[i].synced};
        is_int(cache_sync_group(run, c, &g, &(cache_member){.id = "m1", .kind = "user"}, i < 2),
               IDA_OK, rows[i].name);
    }
    is_int(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), IDA_OK, "commit");
    is_int(summary.groups, 7, "groups");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ida_group *g;
        ida_kind kind = cache_group_find(reader, fresh(), "groups", cases[i].wanted, &g);
        ok(kind == cases[i].kind && (kind || strcmp(g->id, cases[i].id) == 0), "group \"%s\": %s",
           cases[i].wanted, ida_kind_code(kind));
    }
    enum { CASES = sizeof cases / sizeof *cases, ALL = CASES + 500 };
    const char *named[ALL];
    ida_group *found[ALL];
    int differ = 0;
    for (int i = 0; i < ALL; i++) { /* the known ones come last, beyond the first statement */
        named[i] = i < ALL - CASES ? apr_psprintf(pool, "Unknown %d", i)
                                   : cases[i - (ALL - CASES)].wanted;
    }
    is_int(cache_groups_find(reader, c, "groups", named, ALL, found), IDA_OK,
           "many groups at once");
    for (int i = 0; i < ALL; i++) {
        const char *want = i < ALL - CASES ? NULL : cases[i - (ALL - CASES)].id;
        differ += want ? !found[i] || strcmp(found[i]->id, want) != 0 : found[i] != NULL;
    }
    is_int(differ, 0, "each is what it is alone");
    is_int(cache_user_groups(reader, c, "groups", cloud, "m1", &in, &count), IDA_OK,
           "groups of a user");
    is_int(count, 2, "both");
    is_int(in[0].member_count, 1, "with their size");
    is_int(cache_tell_member(s, c, "groups", cloud, "g1", "m1", 1), IDA_OK, "removed");
    is_int(cache_user_groups(reader, c, "groups", cloud, "m1", &in, &count) || count != 1 ||
               strcmp(in[0].id, "g2"),
           0, "a removed one is not seen");
    is_int(cache_tell_member(s, c, "groups", cloud, "g1", "m1", 0), IDA_OK, "added again");
    is_int(cache_user_groups(reader, c, "groups", cloud, "m1", &in, &count) || count != 2, 0,
           "is seen");
    cache_sync_info info;
    is_int(cache_sync_info_get(reader, c, "groups", cloud, &info), IDA_OK, "where the sync stands");
    ok(info.full_at == test_now_ms && info.users == 1 && info.groups == 7 && !info.error &&
           !info.stopped,
       "complete, one user, seven groups");
}

static void hostile(store *s, store *reader)
{
    char *name = memset(apr_palloc(pool, 100001), 'x', 100000);
    name[100000] = '\0';
    cache_user u = {.id = "h1",
                    .upn = "h1@contoso.example",
                    .display_name = "bad \xff\xfe \"quote\\ \x01 end",
                    .department = name,
                    .enabled = 1};
    ida_user *got;
    ida_ctx *c = fresh();
    put(s, cloud, &u);
    is_int(cache_user_by_upn(reader, c, tenant, u.upn, &got), IDA_OK, "hostile text is stored");
    ok(ida_utf8_valid(got->display_name, strlen(got->display_name)) &&
           strstr(got->display_name, "\"quote\\"),
       "valid UTF-8, quotes kept: %s", got->display_name);
    ok(strlen(got->department) <= 4096, "cut at 4 KB");
    u.upn = name;
    put(s, cloud, &u);
    is_int(cache_user_by_upn(reader, c, tenant, "h1@contoso.example", &got), IDA_NOT_FOUND,
           "the old UPN is gone");
    u.id = "";
    is_int(cache_tell_user(s, fresh(), tenant, cloud, &u), IDA_BAD_REQUEST, "an entry without ID");
    u.id = name;
    is_int(cache_tell_user(s, fresh(), tenant, cloud, &u), IDA_BAD_REQUEST, "an ID without end");
}

/* Plans of the reads in requests and of the writes in loops: never a scan of a growing table. */
static void plans(const char *dsn)
{
    static const db_statement hot[] = {
        STMT_user_by_upn,  STMT_user_by_id,       STMT_user_groups,
        STMT_groups_named, STMT_counter_get,      STMT_sync_state_get,
        STMT_staged_users, STMT_user_known,       STMT_address_drop,
        STMT_user_delete,  STMT_manager_is_these, STMT_named_user,
        STMT_unseen_user,  STMT_dn_owners,        STMT_pairs_drop,
        STMT_settle_pairs, STMT_entry_idle,       STMT_membership_of_groups,
        STMT_unnamed_drop, STMT_waiting_for_user, STMT_counted_by_key,
        STMT_group_lose,   STMT_staging_late};
    sqlite3 *d = NULL;
    const char *path = store_sqlite_path(dsn);
    int stem = (int)(strlen(path) - 3);
    char *cache = apr_psprintf(pool,
                               "ATTACH '%.*s-cache.db' AS cache; ATTACH '%.*s-cache.db' AS staged",
                               stem, path, stem, path);
    ok(sqlite3_open(":memory:", &d) == SQLITE_OK &&
           sqlite3_exec(d, cache, NULL, NULL, NULL) == SQLITE_OK,
       "the cache's file");
    for (size_t i = 0; i < sizeof hot / sizeof *hot; i++) {
        sqlite3_stmt *st = NULL;
        const char *scan = NULL;
        const char *sql = apr_pstrcat(pool, "EXPLAIN QUERY PLAN ", db_statements[hot[i]].sqlite,
                                      NULL);
        int good = sqlite3_prepare_v2(d, sql, -1, &st, NULL) == SQLITE_OK;
        while (good && sqlite3_step(st) == SQLITE_ROW) {
            const char *detail = (const char *)sqlite3_column_text(st, 3);
            /* Scans of a statement's own rows (json_each, CTEs, subqueries, rows without a
             * table) are bounded by their number. */
            if (strncmp(detail, "SCAN ", 5) == 0 && !strstr(detail, "VIRTUAL TABLE") &&
                !strstr(detail, "SCAN x") && !strstr(detail, "SCAN CONSTANT ROW") &&
                !strstr(detail, "(subquery")) {
                scan = apr_pstrdup(pool, detail);
            }
        }
        ok(good && !scan, "%s uses indexes%s%s", db_statements[hot[i]].name, scan ? ": " : "",
           scan ? scan : "");
        sqlite3_finalize(st);
    }
    sqlite3_close(d);
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        printf("# %s\n", name);
        store *s = store_make(pool, dsn, DB_SYNC), *reader = store_make(pool, dsn, DB_REQUEST);
        people(s, reader);
        groups(s, reader);
        accounts(s, reader);
        hostile(s, reader);
        if (i == 0) {
            plans(dsn);
        }
    }
    return done();
}
