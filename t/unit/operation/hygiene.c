/* Search and hygiene against independent calculations over 10,000 people in two directories,
 * every list read to its end under random limits, on both engines. */
#include "core/base/time.h"
#include "core/operation/table.h"
#include "t/unit/access_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define PEOPLE 10000
#define CLOUD_PEOPLE 7000
#define TWINS 1200 /* the first ones on-premises are the first ones of the cloud again */
#define GROUPS 300
#define DAY INT64_C(86400000)

typedef struct truth {
    int enabled, guest, manager; /* manager: 0 none, 1 known, 2 named but not in the cache */
    int64_t created, last, success;
    const char *first, *family, *department;
} truth;

static truth people[PEOPLE];
static int members_of[GROUPS], unresolved_of[GROUPS];

static const char *const firsts[] = {"Åsa",        "Eva",     "Jean-Luc", "Łukasz", "Émile",
                                     "Anna Maria", "O'Brien", "Zoë",      "İpek",   "王"};
static const char *const families[] = {"Öberg",  "Berg",  "van der Berg", "Ek",   "d'Ærø",
                                       "Müller", "Nuñez", "Bergström",    "Lind", "小明"};
static const char *const departments[] = {"Sales", "sales ", "Försäljning", "IT", NULL};

static int cloud_user(int u)
{
    return u < CLOUD_PEOPLE;
}
static int is_twin(int u)
{
    return u >= CLOUD_PEOPLE && u < CLOUD_PEOPLE + TWINS;
}
static const char *uid(int u)
{
    return apr_psprintf(pool, "%s-u%05d", cloud_user(u) ? "c" : "p", u);
}
static const char *upn(int u)
{
    return apr_psprintf(pool, "u%d.x@contoso.example",
                        is_twin(u) && u % 2 == 0 ? u - CLOUD_PEOPLE : u);
}

static void make_truth(void)
{
    for (int u = 0; u < PEOPLE; u++) {
        int64_t created = test_now_ms - (1 + dice(1000)) * DAY - dice(1000);
        truth t = {.enabled = dice(10) > 0,
                   .guest = cloud_user(u) && dice(8) == 0,
                   .manager = dice(3),
                   .created = dice(50) ? created : 0,
                   .first = firsts[dice(10)],
                   .family = families[dice(10)],
                   .department = departments[dice(5)]};
        t.success = dice(3) == 0 ? test_now_ms - dice(400) * DAY - dice(1000) : 0;
        t.last = dice(2) == 0 ? test_now_ms - dice(400) * DAY - dice(1000) : 0;
        if (dice(40) == 0) {
            t.success = test_now_ms - 90 * DAY; /* the edge: not older than the threshold */
        }
        people[u] = t;
    }
    for (int g = 0; g < GROUPS; g++) {
        members_of[g] = dice(4) ? dice(3) : 0;
        unresolved_of[g] = g >= GROUPS / 2 && dice(3) == 0;
    }
}

static void load_directory(store *sync, const char *company, ida_directory_kind directory,
                           int sign_ins)
{
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    const cache_guard guard = {0};
    int cloud = directory == IDA_DIR_CLOUD;
    apr_pool_t *run_pool;
    apr_pool_create(&run_pool, pool);
    must(cache_sync_begin(&run, sync, c, run_pool, company, directory, 1), c, "begin");
    for (int u = cloud ? 0 : CLOUD_PEOPLE; u < (cloud ? CLOUD_PEOPLE : PEOPLE); u++) {
        const truth *t = &people[u];
        int anchored = cloud ? u < TWINS && u % 2 : is_twin(u) && u % 2;
        cache_user user = {
            .id = uid(u),
            .upn = upn(u),
            .mail = u % 7 ? NULL : apr_psprintf(pool, "mail%d@corp.example", u),
            .display_name = apr_psprintf(pool, "%s %s", t->first, t->family),
            .given_name = t->first,
            .surname = t->family,
            .department = t->department,
            .enabled = t->enabled,
            .guest = t->guest,
            .created_at = t->created,
            .last_sign_in_at = t->last,
            .last_success_at = t->success,
            .anchor = anchored ? apr_psprintf(pool, "anchor%d", u % CLOUD_PEOPLE) : NULL,
            .manager_id = cloud && t->manager
                              ? uid(t->manager == 1 ? (u + 1) % CLOUD_PEOPLE : 99999)
                              : NULL,
            .manager_dn_key = cloud || !t->manager
                                  ? NULL
                                  : apr_psprintf(pool, "cn=%s",
                                                 t->manager == 1 ? uid(CLOUD_PEOPLE) : "elsewhere"),
            .dn = cloud ? NULL : apr_psprintf(pool, "cn=%s", uid(u)),
            .dn_key = cloud ? NULL : apr_psprintf(pool, "cn=%s", uid(u))};
        must(cache_sync_user(run, c, &user), c, "user");
    }
    for (int g = cloud ? 0 : GROUPS / 2; g < (cloud ? GROUPS / 2 : GROUPS); g++) {
        cache_group one = {.id = apr_psprintf(pool, "%s-g%03d", cloud ? "c" : "p", g),
                           .name = apr_psprintf(pool, "Group %d", g % 40),
                           .kind = "security"};
        cache_member members[8];
        int count = 0;
        for (int i = 0; i < members_of[g]; i++) {
            members[count++] = (cache_member){.id = uid(cloud ? i : CLOUD_PEOPLE + i),
                                              .kind = "user"};
        }
        if (unresolved_of[g]) {
            members[count++] = (cache_member){.dn_key = "cn=a computer"};
        }
        must(cache_sync_group(run, c, &one, members, count), c, "group");
    }
    must(cache_sync_complete(run, c, "user"), c, "users");
    must(cache_sync_complete(run, c, "group"), c, "groups");
    must(cache_sync_commit(run, c, "{}", "test", &guard, sign_ins, &summary), c, "commit");
    apr_pool_destroy(run_pool);
}

/* How many people a search without terms counts. */
static int64_t everybody(store *s, const ida_tenant *t)
{
    asked a = ask_in(pool, s, t, &ida_op_users_search, "{}");
    return json_integer_value(json_object_get(a.result, "totalCount"));
}

static const json_t *section_of(const asked *a, const char *name)
{
    return json_object_get(json_object_get(a->result, "sections"), name);
}

/* --- paging a list to its end --- */

static int wrong;
static void differ(const char *what, const char *got, const char *want)
{
    if (wrong++ < 8) {
        printf("# %s\n#  got:  %s\n#  want: %s\n", what, got, want);
    }
}

static char seen[PEOPLE];

/* IDs of all listed people into `seen`; their number, -1 if a page failed. `section` NULL:
 * search_users. */
static int64_t collect(store *s, const ida_tenant *t, const char *section, const char *arguments)
{
    apr_pool_t *outer = pool;
    char *cursor = NULL;
    int64_t got = 0, total = -1;
    memset(seen, 0, sizeof seen);
    do {
        apr_pool_create(&pool, outer);
        int limit = dice(2) ? 200 : 1 + dice(150);
        const char *text = apr_psprintf(
            pool, "{'limit':%d%s%s%s%s%s}", limit,
            section ? apr_psprintf(pool, ",'sections':['%s']", section) : "", *arguments ? "," : "",
            arguments, cursor ? apr_psprintf(pool, ",'cursor':'%s'", cursor) : "", "");
        asked a = ask_in(pool, s, t, section ? &ida_op_hygiene : &ida_op_users_search, text);
        free(cursor);
        cursor = NULL;
        if (a.kind) {
            differ(arguments, a.message, "rows");
            got = -1;
        } else {
            const json_t *list = section ? section_of(&a, section) : a.result, *item;
            int64_t says = json_integer_value(
                json_object_get(list, section ? "count" : "totalCount"));
            size_t i;
            json_array_foreach (json_object_get(list, "items"), i, item) {
                int n = atoi(ida_json_string(item, "id") + 3);
                if (seen[n]++) {
                    differ(arguments, ida_json_string(item, "id"), "(each once)");
                }
                got++;
            }
            if (total >= 0 && total != says) {
                differ(arguments, "the count changes", "");
            }
            total = says;
            const char *next = ida_json_string(list, "nextCursor");
            cursor = next ? strdup(next) : NULL;
        }
        apr_pool_destroy(pool);
    } while (cursor && got >= 0);
    pool = outer;
    if (got >= 0 && got != total) {
        differ(arguments, apr_psprintf(pool, "%d listed", (int)got),
               apr_psprintf(pool, "%d counted", (int)total));
    }
    return got;
}

static void compare(const char *what, const char want[PEOPLE], int expected)
{
    int count = 0;
    for (int n = 0; n < (expected ? expected : PEOPLE); n++) {
        count += want[n];
        if (want[n] != seen[n]) {
            differ(what, apr_psprintf(pool, "%d %s", n, seen[n] ? "listed" : "missing"),
                   want[n] ? "listed" : "not listed");
        }
    }
    ok(wrong == 0, "%s: %d of them, as calculated", what, count);
    wrong = 0;
}

/* --- hygiene --- */

static int64_t active(const truth *t)
{
    return t->success ? t->success : t->last ? t->last : t->created;
}

static void hygiene(store *s, const ida_tenant *t)
{
    char want[PEOPLE];
    static const int thresholds[] = {90, 1, 400, 3650};
    for (int i = 0; i < 4; i++) {
        int64_t before = test_now_ms - thresholds[i] * DAY;
        const char *arguments = i ? apr_psprintf(pool, "'staleDays':%d", thresholds[i]) : "";
        for (int guests = 0; guests < 2; guests++) {
            for (int u = 0; u < PEOPLE; u++) {
                want[u] = !is_twin(u) && people[u].enabled && people[u].guest == guests &&
                          active(&people[u]) > 0 && active(&people[u]) < before;
            }
            collect(s, t, guests ? "inactiveGuests" : "staleAccounts", arguments);
            compare(apr_psprintf(pool, "%s after %d days",
                                 guests ? "inactive guests" : "stale accounts", thresholds[i]),
                    want, 0);
        }
    }
    for (int u = 0; u < PEOPLE; u++) {
        want[u] = !is_twin(u) && people[u].enabled && !people[u].guest && !people[u].manager;
    }
    collect(s, t, "accountsWithoutManager", "");
    compare("accounts without a manager", want, 0);
    memset(want, 0, sizeof want);
    for (int g = 0; g < GROUPS; g++) {
        want[g] = !members_of[g] && !unresolved_of[g];
    }
    collect(s, t, "emptyGroups", "");
    compare("empty groups", want, GROUPS);

    asked a = ask_in(pool, s, t, &ida_op_hygiene, "{'limit':5}");
    const json_t *stale = section_of(&a, "staleAccounts"), *item;
    int64_t last = 99999;
    size_t i;
    json_array_foreach (json_object_get(stale, "items"), i, item) {
        int64_t days = json_integer_value(json_object_get(item, "inactiveDays"));
        int n = atoi(ida_json_string(item, "id") + 3);
        ok(days <= last && days == (test_now_ms - active(&people[n])) / DAY,
           "the longest inactive first: %d days", (int)days);
        last = days;
    }
    is_int(json_integer_value(json_object_get(a.result, "staleAfterDays")), 90,
           "the tenant's threshold");
    ok(json_is_null(json_object_get(stale, "note")), "no note where sign-ins are recorded");
    const char *cursor = ida_json_string(stale, "nextCursor");
    static const struct {
        const char *with, *name;
        ida_kind kind;
    } goes_on[] = {{"'sections':['staleAccounts'],", "a section's cursor goes on with it alone",
                    IDA_OK},
                   {"", "not with all", IDA_BAD_REQUEST},
                   {"'sections':['emptyGroups'],", "not with another", IDA_BAD_REQUEST},
                   {"'sections':['staleAccounts'],'staleDays':7,", "not with another threshold",
                    IDA_BAD_REQUEST}};
    for (i = 0; i < sizeof goes_on / sizeof *goes_on; i++) {
        const char *text = apr_psprintf(pool, "{%s'cursor':'%s'}", goes_on[i].with, cursor);
        is_int(ask_in(pool, s, t, &ida_op_hygiene, text).kind, goes_on[i].kind, goes_on[i].name);
    }
    test_now_ms += 30 * DAY; /* a report continues with the time at which it began */
    a = ask_in(pool, s, t, &ida_op_hygiene,
               apr_psprintf(pool, "{'sections':['staleAccounts'],'cursor':'%s'}", cursor));
    test_now_ms -= 30 * DAY;
    is_int(json_integer_value(json_object_get(section_of(&a, "staleAccounts"), "count")),
           json_integer_value(json_object_get(stale, "count")),
           "pages are of the instant of the first one");
}

/* Only an on-premises directory, which records no sign-ins. */
static void premises_alone(store *s, const ida_tenant *t)
{
    asked a = ask_in(pool, s, t, &ida_op_hygiene, "{}");
    const json_t *guests = section_of(&a, "inactiveGuests"),
                 *stale = section_of(&a, "staleAccounts");
    ok(json_is_false(json_object_get(guests, "available")) &&
           strstr(ida_json_string(guests, "reason"), "cloud"),
       "guests: %s", ida_json_string(guests, "reason"));
    ok(json_object_size(guests) == 2, "and nothing else");
    ok(json_is_true(json_object_get(stale, "available")), "stale accounts stay available");
    ok(strstr(ida_json_string(stale, "note"), "no sign-ins") != NULL, "with a note");
    ok(json_is_null(json_object_get(section_of(&a, "emptyGroups"), "note")),
       "which empty groups do not need");
    is_int(everybody(s, t), PEOPLE - CLOUD_PEOPLE,
           "without the cloud everybody of the premises counts");
}

/* --- search --- */

static int ascii_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *p = text; *p; p++) {
        int begins = p == text ||
                     !(((unsigned char)p[-1] >= 0x80) || (p[-1] >= 'a' && p[-1] <= 'z') ||
                       (p[-1] >= '0' && p[-1] <= '9'));
        if (begins && strncmp(p, word, len) == 0) {
            return 1;
        }
    }
    return 0;
}

static int found(int u, const char *const *words)
{
    const char *texts[] = {apr_pstrcat(pool, people[u].first, " ", people[u].family, NULL), upn(u),
                           u % 7 ? "" : apr_psprintf(pool, "mail%d@corp.example", u)};
    for (; *words; words++) {
        int hit = 0;
        for (int i = 0; i < 3; i++) {
            hit |= ascii_word(ida_fold_search(pool, texts[i]), *words);
        }
        if (!hit) {
            return 0;
        }
    }
    return 1;
}

static void search(store *s, const ida_tenant *t)
{
    static const struct {
        const char *query, *words[4];
    } queries[] = {{"berg", {"berg"}},
                   {"BERG ås", {"berg", "as"}},
                   {"u77", {"u77"}},
                   {"mail7@corp", {"mail7@corp"}},
                   {"van d", {"van", "d"}},
                   {"luc", {"luc"}},
                   {"l", {"l"}},
                   {"contoso", {"contoso"}},
                   {"zz", {"zz"}},
                   {"小", {"小"}},
                   {"brien o", {"brien", "o"}},
                   {"emile nu", {"emile", "nu"}}};
    char want[PEOPLE];
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        apr_pool_t *outer = pool;
        apr_pool_create(&pool, outer);
        for (int u = 0; u < PEOPLE; u++) {
            want[u] = (char)(!is_twin(u) && found(u, queries[i].words));
        }
        apr_pool_destroy(pool);
        pool = outer;
        collect(s, t, NULL, apr_psprintf(pool, "'query':'%s'", queries[i].query));
        compare(apr_psprintf(pool, "query %s", queries[i].query), want, 0);
    }
    const int64_t edge = people[5].last ? people[5].last : test_now_ms - 100 * DAY;
    const char *at = ida_utc_text(pool, edge);
    for (int i = 0; i < 7; i++) {
        static const char *const names[] = {"active",           "disabled",        "guest",
                                            "signed in before", "signed in after", "a department",
                                            "all together"};
        const char *arguments[] = {
            "'status':'active'",
            "'status':'disabled'",
            "'status':'guest'",
            apr_psprintf(pool, "'lastSignInBefore':'%s'", at),
            apr_psprintf(pool, "'lastSignInAfter':'%s'", at),
            "'department':'SALES'",
            apr_psprintf(
                pool,
                "'query':'eva','status':'active','department':'sales','lastSignInBefore':'%s'",
                at)};
        for (int u = 0; u < PEOPLE; u++) {
            const truth *p = &people[u];
            int sales = p->department && (p->department[0] == 'S' || p->department[0] == 's');
            int tests[] = {p->enabled && !p->guest,
                           !p->enabled,
                           p->guest,
                           p->last < edge,
                           p->last >= edge,
                           sales,
                           p->enabled && !p->guest && sales && p->last < edge &&
                               strcmp(p->first, "Eva") == 0};
            want[u] = (char)(!is_twin(u) && tests[i]);
        }
        collect(s, t, NULL, arguments[i]);
        compare(names[i], want, 0);
    }
}

/* Twins appear and disappear: the mark follows. */
static void twins_move(store *s, store *sync, const ida_tenant *t)
{
    ida_ctx *c = fresh();
    const int64_t all = PEOPLE - TWINS;
    cache_user twin = {.id = uid(0),
                       .upn = "moved@contoso.example",
                       .display_name = "Moved",
                       .enabled = 1}; /* twin of u7000, joined by UPN */
    must(cache_tell_user(sync, c, COMPANY, IDA_DIR_CLOUD, &twin), c, "put");
    is_int(everybody(s, t), all + 1, "a UPN that moved parts two rows");
    twin.upn = upn(CLOUD_PEOPLE);
    must(cache_tell_user(sync, c, COMPANY, IDA_DIR_CLOUD, &twin), c, "put");
    is_int(everybody(s, t), all, "and joins them again");
    must(cache_tell_gone(sync, c, COMPANY, IDA_DIR_CLOUD, uid(1)), c,
         "gone"); /* twin of u7001, joined by anchor */
    is_int(everybody(s, t), all, "whose cloud row goes is still listed");
    must(cache_tell_gone(sync, c, COMPANY, IDA_DIR_ON_PREMISES, uid(CLOUD_PEOPLE + 1)), c, "gone");
    is_int(everybody(s, t), all - 1, "until the other goes too");
    must(cache_reset(sync, c, COMPANY, IDA_DIR_CLOUD), c, "reset");
    is_int(ask_in(pool, s, t, &ida_op_users_search, "{}").kind, IDA_SERVICE_UNAVAILABLE,
           "an emptied cache lists no people, whatever the caller's cached state");
    is_int(ask_in(pool, s, t, &ida_op_user_details, "{'user':'nobody'}").kind,
           IDA_SERVICE_UNAVAILABLE, "nor says that somebody is not there");
    script(sync, "UPDATE cache.sync_state SET full_at = 1");
    is_int(everybody(s, t), PEOPLE - CLOUD_PEOPLE - 1,
           "without the cloud the premises' rows are the people");
}

int main(void)
{
    setup();
    make_truth();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        printf("# %s\n", name);
        store *s = store_make(pool, dsn, DB_REQUEST), *sync = store_make(pool, dsn, DB_SYNC);
        put_tenant(s, COMPANY, 1);
        put_tenant(s, "alone", 0);
        load_directory(sync, COMPANY, i ? IDA_DIR_ON_PREMISES : IDA_DIR_CLOUD,
                       1); /* in either order */
        load_directory(sync, COMPANY, i ? IDA_DIR_CLOUD : IDA_DIR_ON_PREMISES, 1);
        load_directory(sync, "alone", IDA_DIR_ON_PREMISES, 0);
        const ida_tenant *t = tenant_of(s, COMPANY);
        hygiene(s, t);
        search(s, t);
        premises_alone(s, tenant_of(s, "alone"));
        twins_move(s, sync, t);
    }
    return done();
}
