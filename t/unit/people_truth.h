/* Random people of many scripts in two directories, kept in memory as they were sent to the
 * cache: in full, as changes, and by the worker's own writes. Included after access_setup.h. */
#ifndef T_UNIT_PEOPLE_TRUTH_H
#define T_UNIT_PEOPLE_TRUTH_H

#include "core/base/search_key.h"
#include "t/unit/access_setup.h"

#define DAY INT64_C(86400000)

enum { PEOPLE = 260, GROUPS = 12, NOBODY = -1 };

typedef struct human {
    const char *id, *upn, *mail, *name, *given, *family, *department, *title, *company, *employee,
        *alias, *anchor;
    const char *licenses[3];
    int there, enabled, guest, manager, licensed;
    int64_t created, signed_in, success;
} human;

typedef struct team {
    const char *id, *name;
    ida_directory_kind directory;
    int person[PEOPLE], group[GROUPS]; /* direct members */
} team;

static human all[IDA_DIR_COUNT][PEOPLE];
static team teams[GROUPS];
static const int64_t epoch = INT64_C(1700000000000);

/* --- people --- */

static const char *const firsts[] = {"Eva",   "Åsa",        "Öz",   "Zoë",    "Łukasz",
                                     "Ἑλένη", "Ольга",      "美咲", "فاطمة",  "Bo",
                                     "Anna",  "Anna-Karin", "J.P.", "O'Shea", "user5"},
                         *const lasts[] = {"Berg", "Bergman", "Öqvist", "O'Neil",     "Straße",
                                           "ß",    "Иванова", "田中",   "de la Cruz", "Ek_holm",
                                           "Ng",   "User50",  "İnce",   "x\xc3\xa9"},
                         *const departments[] = {"Sales", "IT",    "Sales & IT",
                                                 "Vård",  "R&D_1", NULL},
                         *const titles[] = {"Clerk",
                                            "Senior Clerk",
                                            "Engineer",
                                            "It",
                                            "Kommunikationsansvarig",
                                            "Kommunikationschef",
                                            "Главнокомандующий",
                                            NULL},
                         *const companies[] = {"Contoso", "Contoso Ltd.", "Berg AB", NULL},
                         *const skus[] = {"SPE_E3", "spe_e5", "Visio \"x\""};
#define ONE_OF(list) (list)[dice((int)(sizeof(list) / sizeof *(list)))]

static void make(ida_directory_kind d, int i)
{
    human *h = &all[d][i];
    const char *id = apr_psprintf(pool, "%s-%03d", d == IDA_DIR_CLOUD ? "c" : "p", i);
    int number = dice(60);
    *h = (human){.id = id,
                 .given = ONE_OF(firsts),
                 .family = ONE_OF(lasts),
                 .department = ONE_OF(departments),
                 .title = ONE_OF(titles),
                 .company = ONE_OF(companies),
                 .there = 1,
                 .enabled = dice(5) > 0,
                 .guest = d == IDA_DIR_CLOUD && dice(6) == 0,
                 .manager = dice(3) ? dice(8) : NOBODY,
                 .licensed = dice(3),
                 .created = dice(9) ? epoch + dice(400) * DAY + dice(3) : 0,
                 .signed_in = dice(4) ? epoch + dice(700) * DAY : 0};
    h->success = dice(2) ? h->signed_in : 0;
    h->employee = dice(3) ? apr_psprintf(pool, "E-%d", dice(300)) : NULL;
    h->name = dice(12) ? apr_pstrcat(pool, h->given, dice(7) ? " " : "  ", h->family, NULL) : NULL;
    /* numbers that the same person sometimes has in both directories */
    h->upn = dice(15) ? apr_psprintf(pool, dice(2) ? "user%d@contoso.example" : "User%d@b.example",
                                     d == IDA_DIR_CLOUD ? number * 2 + dice(2) : number)
                      : NULL;
    h->mail = dice(3) ? h->upn : apr_psprintf(pool, "mail.%d@contoso.example", i);
    h->alias = i % 7 ? NULL : apr_psprintf(pool, "alias.%d@b.example", i);
    h->anchor = dice(10) ? NULL : apr_psprintf(pool, "anchor%d", dice(30));
    for (int n = 0, first = dice(3); n < h->licensed; n++) {
        h->licenses[n] = skus[(first + n) % 3];
    }
    for (int other = 0; h->upn && other < PEOPLE; other++) { /* a UPN once in each directory */
        if (other != i && all[d][other].upn && all[d][other].there &&
            strcmp(all[d][other].upn, h->upn) == 0) {
            h->upn = NULL;
        }
    }
    if (h->manager == i || (h->manager >= 0 && !all[d][h->manager].there)) {
        h->manager = NOBODY;
    }
}

static const char *upn_key(const human *h)
{
    return h->upn ? ida_fold_address(pool, h->upn) : NULL;
}

static int same(const char *a, const char *b)
{
    return a && b && strcmp(a, b) == 0;
}

/* An on-premises person who is in the cloud as well. */
static int twins(const human *premises, const human *cloud)
{
    return premises->there && cloud->there &&
           (same(upn_key(premises), upn_key(cloud)) || same(premises->anchor, cloud->anchor));
}

static int listed(ida_directory_kind d, int i)
{
    int alone = all[d][i].there;
    for (int k = 0; alone && d == IDA_DIR_ON_PREMISES && k < PEOPLE; k++) {
        alone = !twins(&all[d][i], &all[IDA_DIR_CLOUD][k]);
    }
    return alone;
}

/* --- telling --- */

static cache_user told(ida_directory_kind d, int i)
{
    const human *h = &all[d][i];
    const char **licenses = apr_pmemdup(pool, h->licenses, sizeof h->licenses),
               **addresses = apr_pcalloc(pool, 2 * sizeof *addresses);
    addresses[0] = h->alias;
    return (cache_user){.id = h->id,
                        .upn = h->upn,
                        .mail = h->mail,
                        .addresses = addresses,
                        .display_name = h->name,
                        .given_name = h->given,
                        .surname = h->family,
                        .department = h->department,
                        .job_title = h->title,
                        .company = h->company,
                        .employee_id = h->employee,
                        .anchor = h->anchor,
                        .licenses = licenses,
                        .enabled = h->enabled,
                        .guest = h->guest,
                        .created_at = h->created,
                        .last_sign_in_at = h->signed_in,
                        .last_success_at = h->success,
                        .manager_id = h->manager == NOBODY ? NULL : all[d][h->manager].id};
}

static void tell_teams(cache_sync *run, ida_ctx *c, ida_directory_kind d)
{
    for (int g = 0; g < GROUPS; g++) {
        cache_member members[PEOPLE + GROUPS];
        int count = 0;
        if (teams[g].directory != d) {
            continue;
        }
        for (int i = 0; i < PEOPLE; i++) {
            if (teams[g].person[i] && all[d][i].there) {
                members[count++] = (cache_member){.id = all[d][i].id, .kind = "user"};
            }
        }
        for (int k = 0; k < GROUPS; k++) {
            if (teams[g].group[k] && teams[k].directory == d) {
                members[count++] = (cache_member){.id = teams[k].id, .kind = "group"};
            }
        }
        cache_group group = {.id = teams[g].id, .name = teams[g].name, .kind = "security"};
        must(cache_sync_group(run, c, &group, members, count), c, "group");
    }
}

/* `changed` NULL: all. */
static void tell(store *sync, ida_directory_kind d, const int *changed)
{
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    const cache_guard guard = {.accept = 1};
    must(cache_sync_begin(&run, sync, c, pool, COMPANY, d, changed == NULL), c, "begin");
    for (int i = 0; i < PEOPLE; i++) {
        cache_user u = told(d, i);
        if (changed && !changed[i]) {
            continue;
        }
        must(all[d][i].there ? cache_sync_user(run, c, &u)
             : changed       ? cache_sync_delete(run, c, "user", u.id)
                             : IDA_OK,
             c, "user");
    }
    if (!changed) {
        tell_teams(run, c, d);
        must(cache_sync_complete(run, c, "user"), c, "users");
        must(cache_sync_complete(run, c, "group"), c, "groups");
    }
    must(cache_sync_commit(run, c, "{}", "test", &guard, 1, &summary), c, "commit");
}

/* A deleted person no longer is a manager. */
static void remove_human(ida_directory_kind d, int i)
{
    all[d][i].there = 0;
    for (int k = 0; k < PEOPLE; k++) {
        all[d][k].manager = all[d][k].manager == i ? NOBODY : all[d][k].manager;
    }
    for (int g = 0; g < GROUPS; g++) {
        teams[g].person[i] = teams[g].directory == d ? 0 : teams[g].person[i];
    }
}

/* Renamed, moved, deleted, restored: by runs, and by the worker's own writes. */
static void change(store *sync, int whole)
{
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        int changed[PEOPLE] = {0};
        for (int n = 0; n < 40; n++) {
            int i = dice(PEOPLE);
            if (changed[i]++) {
                continue;
            }
            if (all[d][i].there && dice(3) == 0) {
                remove_human((ida_directory_kind)d, i);
            } else {
                make((ida_directory_kind)d, i);
            }
        }
        tell(sync, (ida_directory_kind)d, whole ? NULL : changed);
        for (int n = 0; n < 12; n++) {
            int i = dice(PEOPLE), way = dice(4), boss = dice(8);
            ida_ctx *c = fresh();
            human *h = &all[d][i];
            if (!h->there || (way == 1 && (!all[d][boss].there || boss == i))) {
                continue;
            }
            if (way == 0) {
                h->enabled = !h->enabled;
                must(cache_tell_enabled(sync, c, COMPANY, (ida_directory_kind)d, h->id, h->enabled,
                                        NULL),
                     c, "enabled");
            } else if (way == 1) {
                h->manager = boss;
                must(cache_tell_manager(sync, c, COMPANY, (ida_directory_kind)d, h->id,
                                        all[d][boss].id),
                     c, "manager");
            } else if (way == 2) {
                remove_human((ida_directory_kind)d, i);
                must(cache_tell_gone(sync, c, COMPANY, (ida_directory_kind)d, h->id), c, "gone");
            } else {
                make((ida_directory_kind)d, i);
                cache_user u = told((ida_directory_kind)d, i);
                must(cache_tell_user(sync, c, COMPANY, (ida_directory_kind)d, &u), c, "written");
            }
        }
        test_now_ms += 20 * 60 * 1000; /* no write is protected any longer */
    }
}

static void begin(store *sync)
{
    memset(all, 0, sizeof all);
    memset(teams, 0, sizeof teams);
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        for (int i = 0; i < PEOPLE; i++) {
            make((ida_directory_kind)d, i);
        }
    }
    for (int g = 0; g < GROUPS; g++) {
        teams[g].id = apr_psprintf(pool, "g-%d", g);
        teams[g].name = apr_psprintf(pool, "Team %d", g);
        teams[g].directory = g % 2 ? IDA_DIR_CLOUD : IDA_DIR_ON_PREMISES;
        for (int n = dice(40); n > 0; n--) {
            teams[g].person[dice(PEOPLE)] = 1;
        }
        teams[g].group[dice(GROUPS)] = dice(3) > 0; /* rings and loops too */
    }
    tell(sync, IDA_DIR_ON_PREMISES, NULL);
    tell(sync, IDA_DIR_CLOUD, NULL);
}

#endif
