/* Searches for people against a plain scan of the data that was sent: random people of many
 * scripts in two directories, random filters read to the end, again after random changes. On
 * both engines. */
#include <strings.h>

#include "core/base/time.h"
#include "core/cache/people.h"
#include "core/operation/table.h"
#include "t/unit/people_index.h"
#include "t/unit/people_truth.h"

enum { QUESTIONS = 250, ROUNDS = 4 };

/* --- the plain scan --- */

typedef struct question {
    json_t *arguments;
    const char *words[CACHE_WORDS_MAX], *exact;
    const human *like; /* the person whose values are used as filters */
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
    const char *const texts[] = {h->name,  h->given,      h->family,  h->upn,      h->mail,
                                 h->title, h->department, h->company, h->employee, h->alias};
    const char *words = ida_search_words(pool, texts, 10);
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

/* Whether the UPN equals the query, or begins with it and an @. */
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
                              "contoso", h->company, h->employee, "user5", h->alias};
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
    const char *query = ida_present(pool, argument(q, "query")); /* without outer blanks */
    q->exact = ida_fold_address(pool, query ? query : "");
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

/* Pages until the end; NULL: all are as expected. */
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
            check_index(i, dsn, ida_printf(pool, "after changes %d", round), PEOPLE);
        }
        refusals(s, t);
    }
    return done();
}
