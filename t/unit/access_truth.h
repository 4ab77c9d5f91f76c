/* The model of test_access: a random directory, its rows in the cache, and the expected answer
 * to each question about them. */
#ifndef T_UNIT_ACCESS_TRUTH_H
#define T_UNIT_ACCESS_TRUTH_H

#include "core/base/time.h"
#include "t/unit/access_setup.h"

#define PEOPLE 10000
#define GROUPS 500
#define TEMPLATES 20
#define TWINS 1500 /* people on-premises who are in the cloud as well */
#define CLOUD_PEOPLE 6000
#define CLOUD_GROUPS 300

/* --- the truth --- */

typedef struct member_list {
    int *items, count, room;
} member_list;

static void push(member_list *l, int item)
{
    if (l->count == l->room) {
        l->room = l->room ? l->room * 2 : 8;
        l->items = realloc(l->items, (size_t)l->room * sizeof *l->items);
    }
    l->items[l->count++] = item;
}

static struct {
    int dynamic, twin_name; /* twin_name: shares its name with another */
    member_list users, groups;
} group[GROUPS];

/* People 0..CLOUD_PEOPLE-1 are in the cloud, the others on-premises; the first TWINS on-premises
 * are the first TWINS of the cloud again. */
static int person_of(int user)
{
    return user >= CLOUD_PEOPLE && user < CLOUD_PEOPLE + TWINS ? user - CLOUD_PEOPLE : user;
}
static int in_cloud(int user)
{
    return user < CLOUD_PEOPLE;
}
static int group_in_cloud(int g)
{
    return g < CLOUD_GROUPS;
}

static struct template_truth {
    int groups[8], count;
} templates[TEMPLATES];
typedef struct grant_truth {
    int person, what;
    int64_t at;
    int by_upn, id;
} grant_truth;
static grant_truth requests[3000], assignments[3000];
static int request_count, assignment_count;
static member_list of_person_requests[PEOPLE], of_person_assignments[PEOPLE],
    groups_of_person[PEOPLE];

static const char *uid(int u)
{
    return apr_psprintf(pool, "%s-u%05d", in_cloud(u) ? "c" : "p", u);
}
static const char *gid(int g)
{
    return apr_psprintf(pool, "%s-g%03d", group_in_cloud(g) ? "c" : "p", g);
}
static const char *upn(int u)
{
    return apr_psprintf(pool, "User%d@contoso.example", u);
}
static const char *group_name(int g)
{
    return group[g].twin_name ? "Same name"
                              : apr_psprintf(pool, "Gruppe %c%d Åland", 'A' + g % 26, g);
}

static void make_truth(void)
{
    for (int g = 0; g < GROUPS; g++) {
        group[g].dynamic = dice(20) == 0;
        group[g].twin_name = g % 100 == 13;
        int from = group_in_cloud(g) ? 0 : CLOUD_PEOPLE,
            to = group_in_cloud(g) ? CLOUD_PEOPLE : PEOPLE;
        for (int i = 1 + dice(g % 50 == 0 ? 2000 : 60); i > 0; i--) {
            int u = from + dice(to - from);
            push(&group[g].users, u);
            push(&groups_of_person[person_of(u)], g);
        }
        int gfrom = group_in_cloud(g) ? 0 : CLOUD_GROUPS,
            gto = group_in_cloud(g) ? CLOUD_GROUPS : GROUPS;
        for (int i = dice(10) < 4 ? 1 + dice(2) : 0; i > 0; i--) {
            int inner = gfrom + dice(gto - gfrom); /* any direction, so cycles occur */
            if (inner != g) {
                push(&group[g].groups, inner);
            }
        }
        if (g % 25 < 8) { /* a chain, every other one closed to a cycle */
            push(&group[g].groups, g % 25 == 7 ? (g % 50 < 25 ? g - 7 : gfrom + 1) : g + 1);
        }
    }
    for (int t = 0; t < TEMPLATES; t++) {
        for (int i = 1 + dice(8); i > 0; i--) {
            templates[t].groups[templates[t].count++] = dice(GROUPS);
        }
    }
    for (; request_count < 3000; request_count++) {
        int g = dice(GROUPS), u = group[g].users.items[dice(group[g].users.count)];
        requests[request_count] = (grant_truth){person_of(u), g, 1700000000000 + dice(1000) * 1000,
                                                dice(4) == 0, request_count};
        push(&of_person_requests[person_of(u)], request_count);
    }
    while (assignment_count < 3000) {
        int t = dice(TEMPLATES), g = templates[t].groups[dice(templates[t].count)],
            u = group[g].users.items[dice(group[g].users.count)];
        int person = person_of(u), known = 0;
        for (int i = 0; i < of_person_assignments[person].count; i++) {
            known |= assignments[of_person_assignments[person].items[i]].what == t;
        }
        assignments[assignment_count] = (grant_truth){person, t, 0, dice(4) == 0, 0};
        if (!known) {
            push(&of_person_assignments[person], assignment_count);
            assignment_count++;
        } else if (dice(50) == 0) {
            break;
        }
    }
}

/* --- the same in a store --- */

static void load_directory(store *sync, ida_directory_kind directory)
{
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    const cache_guard guard = {0};
    int cloud = directory == IDA_DIR_CLOUD;
    apr_pool_t *run_pool;
    apr_pool_create(&run_pool, pool);
    must(cache_sync_begin(&run, sync, c, run_pool, COMPANY, directory, 1), c, "begin");
    for (int u = cloud ? 0 : CLOUD_PEOPLE; u < (cloud ? CLOUD_PEOPLE : PEOPLE); u++) {
        int p = person_of(u), by_anchor = p % 2;
        cache_user user = {
            .id = uid(u),
            .upn = p != u && by_anchor ? apr_psprintf(pool, "ad%d@contoso.example", u) : upn(p),
            .display_name = apr_psprintf(pool, "Person %d", p),
            .enabled = 1,
            .created_at = 1600000000000,
            .anchor = p < TWINS && by_anchor ? apr_psprintf(pool, "anchor%d", p) : NULL};
        must(cache_sync_user(run, c, &user), c, "user");
    }
    for (int g = cloud ? 0 : CLOUD_GROUPS; g < (cloud ? CLOUD_GROUPS : GROUPS); g++) {
        cache_group one = {.id = gid(g),
                           .name = group_name(g),
                           .kind = group[g].dynamic ? "dynamic" : "security"};
        cache_member *members = malloc((size_t)(group[g].users.count + group[g].groups.count + 1) *
                                       sizeof *members);
        int count = 0;
        for (int i = 0; i < group[g].users.count; i++) {
            members[count++] = (cache_member){.id = uid(group[g].users.items[i]), .kind = "user"};
        }
        for (int i = 0; i < group[g].groups.count; i++) {
            members[count++] = (cache_member){.id = gid(group[g].groups.items[i]), .kind = "group"};
        }
        must(cache_sync_group(run, c, &one, members, count), c, "group");
        free(members);
    }
    must(cache_sync_complete(run, c, "user"), c, "users");
    must(cache_sync_complete(run, c, "group"), c, "groups");
    must(cache_sync_commit(run, c, "{}", "test", &guard, 1, &summary), c, "commit");
    apr_pool_destroy(run_pool);
}

static const char *document(const char *id)
{
    return apr_psprintf(
        pool,
        "{\"companyId\":\"%s\",\"name\":\"X\",\"upnDomain\":\"contoso.example\",\"createUsersIn\":"
        "\"cloud\",\"directories\":{\"cloud\":{\"directoryId\":\"11111111-1111-1111-1111-"
        "111111111111\",\"clientId\":\"11111111-1111-1111-1111-111111111111\",\"clientSecretFile\":"
        "\"/x\"},\"onPremises\":{\"urls\":[\"ldaps://"
        "x\"],\"dialect\":\"activeDirectory\",\"bindDn\":\"cn=x\",\"bindPasswordFile\":\"/"
        "x\",\"userBase\":\"dc=x\",\"groupBase\":\"dc=x\"}}}",
        id);
}

static void load(store *s, store *sync)
{
    ida_tenant *t;
    char *canonical;
    ida_ctx *c = fresh();
    for (int i = 0; i < 2; i++) {
        const char *text = document(i ? "other" : COMPANY);
        must(ida_tenant_apply(c, text, strlen(text), NULL, &t, &canonical), c, "document");
        must(store_tenant_put(s, c, t, &(ida_stored_tenant){canonical, "seal", 1}), c, "tenant");
    }
    load_directory(sync, IDA_DIR_CLOUD);
    load_directory(sync, IDA_DIR_ON_PREMISES);
    char *sql = apr_pstrdup(pool, "");
    for (int n = 0; n < TEMPLATES; n++) {
        char *list = apr_pstrdup(pool, "");
        for (int i = 0; i < templates[n].count; i++) {
            int g = templates[n].groups[i]; /* by ID or, if it is unique, by name */
            list = apr_pstrcat(pool, list, i ? "," : "", "\"",
                               i % 2 && !group[g].twin_name ? group_name(g) : gid(g), "\"", NULL);
        }
        sql = apr_pstrcat(pool, sql,
                          apr_psprintf(pool,
                                       "INSERT INTO role_template (tenant_id, id, name, groups) "
                                       "VALUES ('contoso', 't%02d', 'Template %02d', '[%s]');",
                                       n, TEMPLATES - n, list),
                          NULL);
    }
    script(s, sql);
    /* Few transactions, because each costs a commit to the disk. */
    apr_array_header_t *rows = apr_array_make(pool, request_count + assignment_count,
                                              sizeof(const char *));
    for (int i = 0; i < request_count; i++) {
        const grant_truth *r = &requests[i];
        APR_ARRAY_PUSH(rows, const char *) = apr_psprintf(
            pool,
            "INSERT INTO access_request (tenant_id, id, service, group_name, group_id, person, "
            "upn, user_id, state, requested_at, decided_at) VALUES ('contoso', 'r%05d', 'Service "
            "%d', '%s', %s, '%s', 'x', %s, '%s', 1, %" APR_INT64_T_FMT ");",
            i, r->what, r->by_upn ? gid(r->what) : "whatever",
            r->by_upn ? "NULL" : apr_psprintf(pool, "'%s'", gid(r->what)),
            r->by_upn ? apr_psprintf(pool, "user%d@contoso.example", r->person) : "somebody",
            r->by_upn ? "NULL" : apr_psprintf(pool, "'%s'", uid(r->person)), "approved", r->at);
    }
    for (int i = 0; i < assignment_count; i++) {
        const grant_truth *a = &assignments[i];
        APR_ARRAY_PUSH(rows, const char *) = ida_printf(
            pool,
            "INSERT INTO role_assignment (tenant_id, template_id, person, upn, user_id, "
            "assigned_at, assigned_by, who) VALUES ('contoso', 't%02d', '%s', 'x', %s, 1, 'x', "
            "'%s');",
            a->what,
            a->by_upn ? apr_psprintf(pool, "user%d@contoso.example", a->person)
                      : apr_psprintf(pool, "formerly%d", a->person),
            a->by_upn ? "NULL" : apr_psprintf(pool, "'%s'", uid(a->person)),
            a->by_upn ? apr_psprintf(pool, "user%d@contoso.example", a->person) : uid(a->person));
    }
    script(s, apr_array_pstrcat(pool, rows, '\0'));
    /* Rows that must not count: open and denied requests, another tenant's. */
    script(s, "INSERT INTO access_request (tenant_id, id, service, group_name, group_id, person, "
              "upn, user_id, state, requested_at, decided_at) SELECT tenant_id, 'o' || id, "
              "service, group_name, group_id, person, upn, user_id, 'denied', 1, decided_at + 99 "
              "FROM access_request;INSERT INTO access_request (tenant_id, id, service, group_name, "
              "group_id, person, upn, user_id, state, requested_at, decided_at) SELECT 'other', "
              "id, service, group_name, group_id, person, upn, user_id, 'approved', 1, decided_at "
              "+ 99 FROM access_request WHERE state = 'approved'");
}

/* --- the independent calculation --- */

static int order_of_group(int a, int b)
{
    char *x = apr_pstrdup(pool, group_name(a)), *y = apr_pstrdup(pool, group_name(b));
    for (char *p = x; *p; p++) {
        *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
    }
    for (char *p = y; *p; p++) {
        *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
    }
    int order = strcmp(x, y);
    return order ? order : strcmp(gid(a), gid(b));
}

static int rank_of[GROUPS]; /* place by name, ID */
static int compare_groups(const void *a, const void *b)
{
    return order_of_group(*(const int *)a, *(const int *)b);
}

/* "source at by" for a direct membership. */
static int grant_of(int person, int g, const char **by, int64_t *at)
{
    *at = 0;
    if (group[g].dynamic) {
        *by = gid(g);
        return 0;
    }
    int best = -1;
    for (int i = 0; i < of_person_requests[person].count; i++) {
        int r = of_person_requests[person].items[i];
        if (requests[r].what == g && (best < 0 || requests[r].at > requests[best].at ||
                                      (requests[r].at == requests[best].at && r > best))) {
            best = r;
        }
    }
    if (best >= 0) {
        *by = apr_psprintf(pool, "r%05d", best);
        *at = requests[best].at;
        return 1;
    }
    for (int i = 0; i < of_person_assignments[person].count; i++) {
        int t = assignments[of_person_assignments[person].items[i]].what;
        for (int k = 0; k < templates[t].count; k++) {
            /* names sort in the reverse order of numbers */
            best = templates[t].groups[k] == g && t > best ? t : best;
        }
    }
    *by = best >= 0 ? apr_psprintf(pool, "t%02d", best) : "-";
    return best >= 0 ? 2 : 3;
}

/* The best path to each group as a list of numbers: [source, rank of each group...]; fewer
 * groups first, then smaller numbers. Relaxed until nothing changes. */
typedef struct way {
    int length, steps[64];
} way;

static int better(const way *a, const way *b)
{
    if (!b->length || a->length != b->length) {
        return !b->length || a->length < b->length;
    }
    for (int i = 0; i < a->length; i++) {
        if (a->steps[i] != b->steps[i]) {
            return a->steps[i] < b->steps[i];
        }
    }
    return 0;
}

static int at_place[GROUPS];
static way ways[GROUPS];
static int direct_in[GROUPS];

static void ways_of(int person)
{
    memset(ways, 0, sizeof ways);
    memset(direct_in, 0, sizeof direct_in);
    for (int i = 0; i < groups_of_person[person].count; i++) {
        int g = groups_of_person[person].items[i];
        const char *by;
        int64_t at;
        direct_in[g] = 1;
        ways[g] = (way){2, {grant_of(person, g, &by, &at), rank_of[g]}};
    }
    for (int changed = 1; changed;) {
        changed = 0;
        for (int g = 0; g < GROUPS; g++) {
            for (int i = 0; i < group[g].groups.count; i++) {
                const way *inner = &ways[group[g].groups.items[i]];
                if (inner->length && inner->length < 64 && !direct_in[g]) {
                    way next = *inner;
                    next.steps[next.length++] = rank_of[g];
                    if (better(&next, &ways[g])) {
                        ways[g] = next;
                        changed = 1;
                    }
                }
            }
        }
    }
}

/* "c-g001 source at by via,via" */
static const char *expected_row(int person, int g)
{
    static const char *const words[] = {"dynamic_group", "iga_request", "role_template", "direct"};
    const way *w = &ways[g];
    const char *by, *via = "";
    int64_t at;
    int source = grant_of(person, at_place[w->steps[1]], &by, &at);
    for (int i = 1; i + 1 < w->length; i++) {
        via = apr_pstrcat(pool, via, *via ? "," : "", gid(at_place[w->steps[i]]), NULL);
    }
    return apr_psprintf(pool, "%s %s %s %s %s", gid(g), words[source],
                        at ? ida_utc_text(pool, at) : "-", by, via);
}

static const char *got_row(const json_t *item, const char *resource)
{
    const json_t *by = json_object_get(item, "grantedBy"), *one;
    const char *via = "", *at = ida_json_string(item, "grantedAt");
    size_t i;
    json_array_foreach ((json_t *)json_object_get(item, "via"), i, one) {
        via = apr_pstrcat(pool, via, *via ? "," : "", ida_json_string(one, "id"), NULL);
    }
    return apr_psprintf(pool, "%s %s %s %s %s", resource, ida_json_string(item, "source"),
                        at ? at : "-", json_is_object(by) ? ida_json_string(by, "id") : "-", via);
}

/* --- comparing --- */

#endif
