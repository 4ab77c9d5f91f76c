/* Searches for people against a plain scan of what was told: random people of many scripts in two
 * directories, random questions paged to their end, again after random changes. On both engines. */
#include <strings.h>

#include "core/base/search_key.h"
#include "core/base/time.h"
#include "core/cache/people.h"
#include "t/unit/access_setup.h"

#define DAY INT64_C(86400000)

enum { PEOPLE = 260, GROUPS = 12, QUESTIONS = 250, ROUNDS = 4, NOBODY = -1 };

typedef struct human {
    const char *id, *upn, *mail, *name, *given, *family, *department, *title, *company, *employee,
        *anchor;
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
                         *const titles[] = {"Clerk", "Senior Clerk", "Engineer", "It", NULL},
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
    /* numbers that one person has in each directory, now and then */
    h->upn = dice(15) ? apr_psprintf(pool, dice(2) ? "user%d@contoso.example" : "User%d@b.example",
                                     d == IDA_DIR_CLOUD ? number * 2 + dice(2) : number)
                      : NULL;
    h->mail = dice(3) ? h->upn : apr_psprintf(pool, "mail.%d@contoso.example", i);
    h->anchor = dice(10) ? NULL : apr_psprintf(pool, "anchor%d", dice(30));
    for (int n = 0, first = dice(3); n < h->licensed; n++) {
        h->licenses[n] = skus[(first + n) % 3];
    }
    for (int other = 0; h->upn && other < PEOPLE; other++) { /* each UPN once in a directory */
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

/* A person of the premises whom the cloud has too. */
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
    const char **licenses = apr_pmemdup(pool, h->licenses, sizeof h->licenses);
    return (cache_user){.id = h->id,
                        .upn = h->upn,
                        .mail = h->mail,
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

/* `changed` NULL: everybody. */
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

/* Whoever goes is nobody's manager any more. */
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

/* Renamed, moved, gone, restored: by runs, and by the worker's own writes. */
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
        test_now_ms += 20 * 60 * 1000; /* nothing stays protected */
    }
}

/* --- the plain scan --- */

typedef struct question {
    json_t *arguments;
    const char *words[CACHE_WORDS_MAX], *exact;
    const human *like; /* whose values are asked for */
    ida_user *manager;
    const team *team;
    int within[GROUPS];
} question;

static const char *argument(const question *q, const char *name)
{
    return json_string_value(json_object_get(q->arguments, name));
}

static int64_t time_of(const question *q, const char *name, int64_t otherwise)
{
    int64_t at = otherwise;
    return argument(q, name) && ida_time_parse(argument(q, name), &at) ? at : otherwise;
}

static int whole_name(const question *q, const char *name, const char *value)
{
    return !argument(q, name) ||
           same(ida_name_key(pool, argument(q, name)), value ? ida_name_key(pool, value) : NULL);
}

static int in_team(const question *q, ida_directory_kind d, int i)
{
    int in = 0;
    for (int g = 0; q->team->directory == d && g < GROUPS; g++) {
        in |= q->within[g] && teams[g].person[i];
    }
    for (int k = 0; d == IDA_DIR_CLOUD && !in && k < PEOPLE; k++) {
        in = twins(&all[IDA_DIR_ON_PREMISES][k], &all[d][i]) && in_team(q, IDA_DIR_ON_PREMISES, k);
    }
    return in;
}

static int holds_words(const question *q, const human *h)
{
    const char *const texts[] = {h->name,  h->given,      h->family,  h->upn,     h->mail,
                                 h->title, h->department, h->company, h->employee};
    const char *words = ida_search_words(pool, texts, 9);
    int found = 1;
    for (int i = 0; i < CACHE_WORDS_MAX && q->words[i]; i++) {
        found = found && strstr(words, q->words[i]);
    }
    return found;
}

static int licensed(const question *q, const human *h)
{
    const char *wanted = argument(q, "license");
    int found = !wanted;
    for (int i = 0; i < h->licensed; i++) {
        found |= wanted && strcasecmp(wanted, h->licenses[i]) == 0;
    }
    return found;
}

static int answers(const question *q, ida_directory_kind d, int i)
{
    const human *h = &all[d][i];
    const char *status = argument(q, "status"),
               *boss = h->manager == NOBODY ? NULL : all[d][h->manager].id;
    const json_t *days = json_object_get(q->arguments, "inactiveDays");
    int64_t active = h->success     ? h->success
                     : h->signed_in ? h->signed_in
                                    : h->created,
            created_before = time_of(q, "createdBefore", INT64_MAX);
    return whole_name(q, "department", h->department) && whole_name(q, "jobTitle", h->title) &&
           whole_name(q, "company", h->company) && licensed(q, h) && holds_words(q, h) &&
           (!argument(q, "employeeId") || same(argument(q, "employeeId"), h->employee)) &&
           (!status || (*status == 'g'   ? h->guest
                        : *status == 'd' ? !h->enabled
                                         : h->enabled && !h->guest)) &&
           h->signed_in >= time_of(q, "lastSignInAfter", 0) &&
           h->signed_in < time_of(q, "lastSignInBefore", INT64_MAX) &&
           h->created >= time_of(q, "createdAfter", 0) && h->created < created_before &&
           (created_before == INT64_MAX || h->created) &&
           (!days || (active && active < test_now_ms - json_integer_value(days) * DAY)) &&
           (!q->manager || same(boss, q->manager->id) || same(boss, q->manager->other_id)) &&
           (!q->team || in_team(q, d, i));
}

typedef struct found {
    const human *h;
    const char *key;
    int exact;
} found;

static int in_order(const void *a, const void *b)
{
    const found *one = a, *other = b;
    int order = other->exact - one->exact;
    order = order ? order : strcmp(one->key, other->key);
    return order ? order : strcmp(one->h->id, other->h->id);
}

/* Whether the UPN is what was asked for, or begins with it and an @. */
static int bears(const question *q, const human *h)
{
    const char *key = upn_key(h);
    size_t len = q->exact ? strlen(q->exact) : 0;
    return key && len && strncmp(key, q->exact, len) == 0 &&
           (key[len] == (strchr(q->exact, '@') ? '\0' : '@'));
}

static int scan(const question *q, found *rows)
{
    int count = 0;
    for (int d = 0; d < IDA_DIR_COUNT; d++) {
        for (int i = 0; i < PEOPLE; i++) {
            const human *h = &all[d][i];
            if (listed((ida_directory_kind)d, i) && answers(q, (ida_directory_kind)d, i)) {
                const char *key = h->name ? ida_name_key(pool, h->name) : NULL;
                rows[count++] = (found){h, key ? key : "", bears(q, h)};
            }
        }
    }
    qsort(rows, (size_t)count, sizeof *rows, in_order);
    return count;
}

/* --- questions --- */

static const char *beginning(const char *text)
{
    size_t len = strlen(text), cut = (size_t)dice((int)len + 1);
    while (cut < len && (text[cut] & 0xC0) == 0x80) {
        cut++;
    }
    return apr_pstrmemdup(pool, text, cut ? cut : len);
}

static const char *some_words(const human *h)
{
    const char *const of[] = {h->name,   h->given,   h->family,   h->upn,  h->title, h->mail,
                              "contoso", h->company, h->employee, "user5", "user50"};
    const char *text = NULL;
    for (int n = dice(3); n >= 0; n--) {
        const char *word = of[dice(11)];
        word = word ? beginning(word) : "e";
        text = text ? apr_pstrcat(pool, text, " ", word, NULL) : word;
    }
    return text;
}

static void set_time(json_t *a, const char *name, int64_t at)
{
    if (at > 0) {
        json_object_set_new(a, name, json_string(ida_utc_text(pool, at)));
    }
}

static void set_text(json_t *a, const char *name, const char *text)
{
    if (text) {
        json_object_set_new(a, name, json_string(text));
    }
}

static void note_words(question *q)
{
    char *rest = ida_fold_search(pool, argument(q, "query")), *last = NULL;
    int count = 0;
    memset(q->words, 0, sizeof q->words);
    for (char *word = apr_strtok(rest, " ", &last); word; word = apr_strtok(NULL, " ", &last)) {
        const char *marked = ida_search_word(pool, word);
        if (marked && count < CACHE_WORDS_MAX) {
            q->words[count++] = marked;
        }
    }
    q->exact = ida_fold_address(pool, argument(q, "query"));
    q->exact = strchr(q->exact, ' ') ? NULL : q->exact;
    if (!count) { /* which would be refused */
        json_object_del(q->arguments, "query");
        q->exact = NULL;
    }
}

static void join_team(question *q)
{
    const team *t = q->team = &teams[dice(GROUPS)];
    memset(q->within, 0, sizeof q->within);
    q->within[t - teams] = 1;
    for (int again = 1; again;) {
        again = 0;
        for (int g = 0; g < GROUPS; g++) {
            for (int k = 0; q->within[g] && k < GROUPS; k++) {
                int more = teams[g].group[k] && teams[k].directory == t->directory && !q->within[k];
                again |= more;
                q->within[k] |= more;
            }
        }
    }
    set_text(q->arguments, "group", dice(2) ? t->id : t->name);
}

static void ask_about(question *q, store *s, int what)
{
    const human *h = q->like;
    json_t *a = q->arguments;
    ida_directory_kind d = dice(2) ? IDA_DIR_CLOUD : IDA_DIR_ON_PREMISES;
    const human *boss = &all[d][dice(8)];
    static const char *const statuses[] = {"active", "disabled", "guest"};
    switch (what) {
    case 0: set_text(a, "department", h->department); break;
    case 1: set_text(a, "jobTitle", h->title); break;
    case 2: set_text(a, "company", h->company); break;
    case 3: set_text(a, "employeeId", h->employee); break;
    case 4: set_text(a, "license", ONE_OF(skus)); break;
    case 5: set_text(a, "status", ONE_OF(statuses)); break;
    case 6: set_time(a, "createdAfter", h->created - dice(40) * DAY); break;
    case 7: set_time(a, "createdBefore", h->created + (1 + dice(400)) * DAY); break;
    case 8: set_time(a, "lastSignInAfter", h->signed_in - dice(60) * DAY); break;
    case 9: set_time(a, "lastSignInBefore", h->signed_in + (1 + dice(500)) * DAY); break;
    case 10: json_object_set_new(a, "inactiveDays", json_integer(1 + dice(1400))); break;
    case 11:
        if (boss->there &&
            !cache_user_details(s, fresh(), COMPANY, boss->upn && dice(2) ? boss->upn : boss->id,
                                &q->manager, NULL)) {
            set_text(a, "manager", q->manager->id);
        }
        break;
    case 12: join_team(q); break;
    default:
        set_text(a, "query", some_words(h));
        if (argument(q, "query")) {
            note_words(q);
        }
    }
}

/* Pages until the end; NULL: all are as they should be. */
static const char *differs(store *s, const ida_tenant *t, const question *q)
{
    static found rows[IDA_DIR_COUNT * PEOPLE];
    int count = scan(q, rows), seen = 0;
    for (;;) {
        asked answer = ask_json(pool, s, t, &ida_op_users_search, q->arguments);
        json_t *item, *items = json_object_get(answer.result, "items"),
                      *next = json_object_get(answer.result, "nextCursor");
        size_t i;
        if (answer.kind) {
            return answer.message;
        }
        if (json_integer_value(json_object_get(answer.result, "totalCount")) != count) {
            return ida_printf(
                pool, "%lld are counted, %d are there",
                (long long)json_integer_value(json_object_get(answer.result, "totalCount")), count);
        }
        json_array_foreach (items, i, item) {
            const char *id = ida_json_string(item, "id");
            if (seen >= count || strcmp(id, rows[seen].h->id) != 0) {
                return ida_printf(pool, "row %d is %s, not %s", seen, id,
                                  seen < count ? rows[seen].h->id : "the end");
            }
            seen++;
        }
        if (!json_is_string(next)) {
            return seen == count ? NULL : ida_printf(pool, "%d of %d rows came", seen, count);
        }
        json_object_set(q->arguments, "cursor", next);
        json_object_set_new(q->arguments, "limit", json_integer(1 + dice(120)));
    }
}

static void ask_many(store *s, const ida_tenant *t, const char *when)
{
    apr_pool_t *outer = pool;
    int wrong = 0, plain = 0;
    for (int n = 0; n < QUESTIONS; n++) {
        apr_pool_create(&pool, outer);
        question q = {.arguments = ida_json_keep(pool, json_object()),
                      .like = &all[dice(2)][dice(PEOPLE)]};
        for (int k = dice(4) ? 1 : 2 + dice(2); k > 0; k--) {
            ask_about(&q, s, dice(19));
        }
        plain += json_object_size(q.arguments) == 0;
        json_object_set_new(q.arguments, "limit", json_integer(1 + dice(80)));
        const char *asked_for = ida_json_text(pool, q.arguments);
        const char *fault = differs(s, t, &q);
        if (fault && wrong++ < 5) {
            ok(0, "%s: %s: %s", when, asked_for, fault);
        }
        apr_pool_destroy(pool);
        pool = outer;
    }
    ok(!wrong && plain < QUESTIONS / 5, "%s: %d questions of %d are answered as by a plain scan",
       when, QUESTIONS - wrong, QUESTIONS);
}

/* --- */

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

static void refusals(store *s, const ida_tenant *t)
{
    static const struct {
        const char *arguments, *message;
    } cases[] = {
        {"{'createdAfter':'2026-02-01','createdBefore':'2026-01-01'}",
         "createdAfter: must not be after createdBefore"},
        {"{'lastSignInAfter':'2026-02-01','lastSignInBefore':'2026-01-01'}",
         "lastSignInAfter: must not be after lastSignInBefore"},
        {"{'group':'No such'}", "group: No group has the ID or name \"No such\"."},
        {"{'manager':'nobody@contoso.example'}",
         "manager: No user has the object ID or UPN \"nobody@contoso.example\"."},
        {"{'inactiveDays':0}", "inactiveDays: must be a whole number from 1 to 36500"},
        {"{'query':'a b c d e f g h i'}", "query: must be one to 8 words with letters or digits"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        asked a = ask_in(pool, s, t, &ida_op_users_search, cases[i].arguments);
        ok(a.kind && strncmp(a.message, cases[i].message, strlen(cases[i].message)) == 0, "%s: %s",
           cases[i].arguments, a.message);
    }
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        store *s = store_make(pool, dsn, DB_REQUEST), *sync = store_make(pool, dsn, DB_SYNC);
        printf("# %s\n", name);
        seed = 7;
        put_tenant(s, COMPANY, 1);
        const ida_tenant *t = tenant_of(s, COMPANY);
        begin(sync);
        ask_many(s, t, "first load");
        for (int round = 1; round < ROUNDS; round++) {
            change(sync, round == 2);
            ask_many(s, t, ida_printf(pool, "after changes %d", round));
        }
        refusals(s, t);
    }
    return done();
}
