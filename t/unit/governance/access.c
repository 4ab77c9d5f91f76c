/* Attribution against an independent calculation: 10,000 people in two directories, 500 groups
 * nested with cycles, templates, requests. Every path is enumerated by a plain relaxation over
 * all groups, not by the walks of the code under test. From the person's side and from the
 * group's, all pages, on both engines. And the plans. */
#include <apr_tables.h>

#include <sqlite3.h>
#include <time.h>

#include "core/operation/table.h"
#include "t/unit/access_truth.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static int wrong;

static void differ(const char *what, const char *got, const char *want)
{
    if (wrong++ < 5) {
        printf("# %s\n#  got:  %s\n#  want: %s\n", what, got, want);
    }
}

/* Every person, from the person's side, in pages of random size. */
static void check_person(store *s, const ida_tenant *t, int person)
{
    apr_pool_t *outer = pool;
    apr_pool_create(&pool, outer);
    ways_of(person);
    int want = 0, got = 0, last_inherited = 0, last_place = -1;
    for (int g = 0; g < GROUPS; g++) {
        want += ways[g].length > 0;
    }
    const char *cursor = NULL, *who = person < TWINS && dice(2) ? uid(person + CLOUD_PEOPLE)
                                      : dice(2)                 ? uid(person)
                                                                : upn(person);
    int seen[GROUPS] = {0};
    do {
        asked a = ask_in(pool, s, t, &ida_op_user_access,
                         apr_psprintf(pool, "{'user':'%s','limit':%d%s%s%s}", who, 1 + dice(20),
                                      cursor ? ",'cursor':'" : "", cursor ? cursor : "",
                                      cursor ? "'" : ""));
        if (a.kind) {
            differ(who, a.message, "rows");
            break;
        }
        const json_t *item;
        size_t i;
        json_array_foreach (json_object_get(a.result, "items"), i, item) {
            const char *id = ida_json_string(json_object_get(item, "resource"), "id");
            int g = atoi(id + 3), inherited = json_array_size(json_object_get(item, "via")) > 0;
            const char *row = got_row(item, id),
                       *expected = ways[g].length ? expected_row(person, g) : "(none)";
            if (strcmp(row, expected) != 0 || seen[g]++) {
                differ(who, row, seen[g] > 1 ? "(each once)" : expected);
            }
            if (inherited < last_inherited ||
                (inherited == last_inherited && rank_of[g] <= last_place)) {
                differ(who, row, "(direct first, then by name)");
            }
            last_inherited = inherited;
            last_place = rank_of[g];
            got++;
        }
        if (json_integer_value(json_object_get(a.result, "totalCount")) != want) {
            differ(who, "totalCount", "the number of groups");
        }
        cursor = ida_json_string(a.result, "nextCursor");
    } while (cursor);
    if (got != want) {
        differ(who, apr_itoa(pool, got), apr_itoa(pool, want));
    }
    apr_pool_destroy(pool);
    pool = outer;
}

/* Everyone in a group, against the person's side of the calculation. */
static void check_group(store *s, const ida_tenant *t, int g, const char *source)
{
    apr_pool_t *outer = pool;
    char *cursor = NULL;
    int got = 0, inherited = 0;
    int64_t total = -1;
    static char seen[PEOPLE];
    memset(seen, 0, sizeof seen);
    do {
        apr_pool_create(&pool, outer);
        asked a = ask_in(pool, s, t, &ida_op_resource_access,
                         apr_psprintf(pool, "{'resource':'%s','limit':%d%s%s%s%s%s%s}", gid(g),
                                      dice(3) ? 200 : 1 + dice(60), source ? ",'source':'" : "",
                                      source ? source : "", source ? "'" : "",
                                      cursor ? ",'cursor':'" : "", cursor ? cursor : "",
                                      cursor ? "'" : ""));
        free(cursor);
        cursor = NULL;
        if (a.kind) {
            differ(gid(g), a.message, "rows");
        }
        const json_t *item;
        size_t i;
        json_array_foreach (json_object_get(a.result, "items"), i, item) {
            const char *id = ida_json_string(json_object_get(item, "user"), "id");
            int person = atoi(id + 3), over = json_array_size(json_object_get(item, "via")) > 0;
            if (seen[person]++) {
                differ(gid(g), id, "(each once)");
            }
            if (over < inherited) {
                differ(gid(g), id, "(direct first)");
            }
            inherited = over;
            got++;
            if (dice(100) == 0) {
                ways_of(person);
                const char *row = got_row(item, gid(g)),
                           *expected = ways[g].length ? expected_row(person, g) : "(none)";
                if (strcmp(row, expected) != 0) {
                    differ(id, row, expected);
                }
            }
        }
        int64_t says = json_integer_value(json_object_get(a.result, "totalCount"));
        if (total >= 0 && says != total) {
            differ(gid(g), "totalCount changes", "");
        }
        total = says;
        const char *next = ida_json_string(a.result, "nextCursor");
        cursor = next ? strdup(next) : NULL;
        apr_pool_destroy(pool);
    } while (cursor);
    pool = outer;
    /* Everyone inside, by transitive closure of the nesting. */
    static char within[GROUPS], people[PEOPLE];
    int want = 0;
    memset(within, 0, sizeof within);
    memset(people, 0, sizeof people);
    within[g] = 1;
    for (int changed = 1; changed;) {
        changed = 0;
        for (int a = 0; a < GROUPS; a++) {
            for (int i = 0; within[a] && i < group[a].groups.count; i++) {
                changed |= !within[group[a].groups.items[i]];
                within[group[a].groups.items[i]] = 1;
            }
        }
    }
    for (int a = 0; a < GROUPS; a++) {
        for (int i = 0; within[a] && i < group[a].users.count; i++) {
            int p = person_of(group[a].users.items[i]);
            want += !people[p];
            people[p] = 1;
        }
    }
    if (!source && (got != want || total != want)) {
        differ(gid(g), apr_psprintf(pool, "%d listed, total %d", got, (int)total),
               apr_psprintf(pool, "%d", want));
    } else if (source && got != total) {
        differ(gid(g), apr_psprintf(pool, "%d listed of %s", got, source),
               apr_psprintf(pool, "%d", (int)total));
    }
}

/* The four lists by source are together the complete one. */
static void check_sources(store *s, const ida_tenant *t, int g)
{
    static const char *const sources[] = {"dynamic_group", "iga_request", "role_template",
                                          "direct"};
    int64_t sum = 0;
    asked all = ask_in(pool, s, t, &ida_op_resource_access,
                       apr_psprintf(pool, "{'resource':'%s','limit':1}", gid(g)));
    for (int i = 0; i < 4; i++) {
        check_group(s, t, g, sources[i]);
        asked a = ask_in(pool, s, t, &ida_op_resource_access,
                         apr_psprintf(pool, "{'resource':'%s','limit':1,'source':'%s'}", gid(g),
                                      sources[i]));
        sum += json_integer_value(json_object_get(a.result, "totalCount"));
    }
    is_int(sum, json_integer_value(json_object_get(all.result, "totalCount")),
           "the sources together are all");
}

/* The row of one person in a group, from either side; "(none)" if it is not among those of the
 * source. */
static const char *row_from(store *s, const ida_tenant *t, int from_group, int person, int g)
{
    const char *cursor = NULL, *wanted = from_group ? uid(person) : gid(g);
    do {
        asked a = ask_in(
            pool, s, t, from_group ? &ida_op_resource_access : &ida_op_user_access,
            apr_psprintf(pool, "{'%s':'%s','source':'role_template','limit':200%s%s%s}",
                         from_group ? "resource" : "user", from_group ? gid(g) : uid(person),
                         cursor ? ",'cursor':'" : "", cursor ? cursor : "", cursor ? "'" : ""));
        const json_t *item;
        size_t i;
        json_array_foreach (json_object_get(a.result, "items"), i, item) {
            const char *id = ida_json_string(
                json_object_get(item, from_group ? "user" : "resource"), "id");
            if (strcmp(id, wanted) == 0) {
                return got_row(item, gid(g));
            }
        }
        cursor = ida_json_string(a.result, "nextCursor");
    } while (cursor);
    return "(none)";
}

/* A template's grant is reported with its source from both sides, however the template names the
 * group, in both directories. */
static void check_templates(store *s, const ida_tenant *t)
{
    int checked[2][2] = {{0}};
    wrong = 0;
    for (int i = 0; i < assignment_count; i++) {
        const struct template_truth *tt = &templates[assignments[i].what];
        int person = assignments[i].person;
        for (int k = 0; k < tt->count; k++) {
            int g = tt->groups[k], by_name = k % 2 && !group[g].twin_name,
                *seen = &checked[group_in_cloud(g)][by_name], named = 0;
            const char *by;
            int64_t at;
            for (int m = 0; m < tt->count; m++) {
                named += tt->groups[m] == g;
            }
            if (*seen >= 10 || named != 1 || grant_of(person, g, &by, &at) != 2 ||
                strcmp(by, apr_psprintf(pool, "t%02d", assignments[i].what)) != 0) {
                continue;
            }
            ways_of(person);
            if (!direct_in[g]) {
                continue;
            }
            (*seen)++;
            for (int from_group = 0; from_group < 2; from_group++) {
                const char *row = row_from(s, t, from_group, person, g),
                           *expected = expected_row(person, g);
                if (strcmp(row, expected) != 0) {
                    differ(from_group ? "from the group's side" : "from the person's side", row,
                           expected);
                }
            }
        }
    }
    for (int i = 0; i < 4; i++) {
        ok(checked[i / 2][i % 2] >= 5,
           "%d memberships %s, granted by a template that names the group by %s",
           checked[i / 2][i % 2], i / 2 ? "in the cloud" : "on the premises",
           i % 2 ? "name" : "ID");
    }
    is_int(wrong, 0, "are reported as the template's from both sides");
}

static void refusals(store *s, const ida_tenant *t, const ida_tenant *other)
{
    asked a = ask_in(pool, s, t, &ida_op_user_access, "{'user':'nobody'}");
    ok(a.kind == IDA_NOT_FOUND && strstr(a.message, "user:"), "unknown user: %s", a.message);
    a = ask_in(pool, s, t, &ida_op_user_access, "{'user':'Person 77'}");
    ok(a.kind == IDA_NOT_FOUND && strstr(a.message, "Did you mean") &&
           strstr(a.message, "User77@contoso.example"),
       "a name: %s", a.message);
    a = ask_in(pool, s, t, &ida_op_resource_access, "{'resource':'nothing'}");
    ok(a.kind == IDA_NOT_FOUND && strstr(a.message, "resource:"), "unknown resource: %s",
       a.message);
    a = ask_in(pool, s, t, &ida_op_resource_access, "{'resource':'Same name'}");
    ok(a.kind == IDA_BAD_REQUEST && strstr(a.message, "Several groups"), "a name of several: %s",
       a.message);
    a = ask_in(pool, s, t, &ida_op_resource_access,
               apr_psprintf(pool, "{'resource':'%s'}",
                            apr_pstrcat(pool, "gruppe ", group_name(1) + 7, NULL)));
    ok(!a.kind, "a name in any case finds the group: %s", a.message);
    a = ask_in(pool, s, t, &ida_op_user_access, "{'user':'c-u00001','limit':1}");
    const char *cursor = ida_json_string(a.result, "nextCursor");
    if (ok(cursor != NULL, "a cursor")) {
        ok(ask_in(pool, s, t, &ida_op_user_access,
                  apr_psprintf(pool, "{'user':'c-u00002','limit':1,'cursor':'%s'}", cursor))
                   .kind == IDA_BAD_REQUEST,
           "of other filters");
        ok(ask_in(pool, s, t, &ida_op_resource_access,
                  apr_psprintf(pool, "{'resource':'c-g001','cursor':'%s'}", cursor))
                   .kind == IDA_BAD_REQUEST,
           "of another operation");
    }
    ok(ask_in(pool, s, other, &ida_op_user_access, "{'user':'c-u00001'}").kind == IDA_NOT_FOUND,
       "another tenant's ID");
    ok(ask_in(pool, s, other, &ida_op_user_access, "{'user':'User1@contoso.example'}").kind ==
           IDA_NOT_FOUND,
       "another tenant's UPN");
    ok(ask_in(pool, s, other, &ida_op_resource_access, "{'resource':'c-g001'}").kind ==
           IDA_NOT_FOUND,
       "another tenant's group");
}

/* Results alone would not reveal a scan in the code under test. */
static void plans(const char *dsn)
{
    static const db_statement hot[] = {STMT_access_up,
                                       STMT_access_down,
                                       STMT_access_direct,
                                       STMT_access_inherited,
                                       STMT_access_inherited_count,
                                       STMT_access_roots,
                                       STMT_access_twins,
                                       STMT_access_requests,
                                       STMT_access_assignments,
                                       STMT_access_templates,
                                       STMT_access_given,
                                       STMT_access_carried_out,
                                       STMT_access_ends};
    static const char *const wanted[] = {"membership_member",
                                         "membership_nested",
                                         "SEARCH m USING PRIMARY KEY",
                                         "SEARCH m USING PRIMARY KEY",
                                         "SEARCH m USING PRIMARY KEY",
                                         "membership_member",
                                         "directory_user_upn",
                                         "access_request_user",
                                         "role_assignment_user",
                                         "sqlite_autoindex_role_template_",
                                         "task_account",
                                         "SEARCH access_grant USING PRIMARY KEY",
                                         "SEARCH access_end USING PRIMARY KEY"};
    sqlite3 *d = NULL;
    const char *path = store_sqlite_path(dsn);
    ok(sqlite3_open(path, &d) == SQLITE_OK &&
           sqlite3_exec(d,
                        apr_psprintf(pool, "ATTACH '%.*s-cache.db' AS cache",
                                     (int)(strlen(path) - 3), path),
                        NULL, NULL, NULL) == SQLITE_OK,
       "the files");
    for (size_t i = 0; i < sizeof hot / sizeof *hot; i++) {
        sqlite3_stmt *st = NULL;
        const char *scan = NULL;
        int used = 0, good = sqlite3_prepare_v2(d,
                                                apr_pstrcat(pool, "EXPLAIN QUERY PLAN ",
                                                            db_statements[hot[i]].sqlite, NULL),
                                                -1, &st, NULL) == SQLITE_OK;
        while (good && sqlite3_step(st) == SQLITE_ROW) {
            const char *detail = (const char *)sqlite3_column_text(st, 3);
            used |= strstr(detail, wanted[i]) != NULL;
            if (strncmp(detail, "SCAN ", 5) == 0 && !strstr(detail, "VIRTUAL TABLE") &&
                strncmp(detail, "SCAN x", 6) != 0 && !strstr(detail, "(subquery")) {
                scan = apr_pstrdup(pool, detail);
            }
        }
        ok(good && used && !scan, "%s goes by %s%s%s", db_statements[hot[i]].name, wanted[i],
           scan ? ": " : "", scan ? scan : "");
        sqlite3_finalize(st);
    }
    sqlite3_close(d);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(void)
{
    setup();
    make_truth();
    for (int g = 0; g < GROUPS; g++) {
        at_place[g] = g;
    }
    qsort(at_place, GROUPS, sizeof *at_place, compare_groups);
    for (int i = 0; i < GROUPS; i++) {
        rank_of[at_place[i]] = i;
    }
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        printf("# %s\n", name);
        store *s = store_make(pool, dsn, DB_REQUEST), *sync = store_make(pool, dsn, DB_SYNC);
        load(s, sync);
        const ida_tenant *t = tenant_of(s, COMPANY), *other = tenant_of(s, "other");
        double begun = seconds();
        wrong = 0;
        int people = i == 0 ? 120 : 24;
        for (int n = 0; n < people; n++) {
            check_person(s, t, n < people / 2 ? dice(TWINS) : dice(CLOUD_PEOPLE));
        }
        is_int(wrong, 0, "every membership of people, with source, grant and way, as calculated");
        wrong = 0;
        for (int n = 0; n < (i == 0 ? 6 : 4); n++) {
            check_group(s, t, n < 4 ? n * 50 : dice(GROUPS), NULL);
        }
        is_int(wrong, 0, "everyone in groups, with source, grant and way, as calculated");
        wrong = 0;
        check_sources(s, t, 0);
        check_sources(s, t, 350);
        is_int(wrong, 0, "by source");
        check_templates(s, t);
        printf("# compared in %.1f s\n", seconds() - begun);
        begun = seconds();
        for (int n = 0; n < 20; n++) {
            apr_pool_t *one;
            apr_pool_create(&one, pool);
            ask_in(one, s, t, n % 2 ? &ida_op_user_access : &ida_op_resource_access,
                   n % 2 ? "{'user':'c-u00001'}" : "{'resource':'c-g000'}");
            apr_pool_destroy(one);
        }
        printf("# one call: %.2f ms\n", (seconds() - begun) / 20 * 1000);
        script(sync, "INSERT INTO cache.sync_state (tenant_id, directory, full_at) VALUES "
                     "('other', 'cloud', 1), ('other', 'onPremises', 1)");
        refusals(s, t, other);
        if (i == 0) {
            plans(dsn);
        }
    }
    return done();
}
