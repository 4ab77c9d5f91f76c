/* Very many people appear between two neighbours in the list, at once and one after the other:
 * gaps between ranks are used up, segments are split. Searches answer as the list is. On both
 * engines. */
#include "core/cache/people.h"
#include "core/operation/table.h"
#include "t/unit/access_setup.h"
#include "t/unit/people_index.h"

enum { AROUND = 40, AT_ONCE = 9000, SINGLY = 60, ALL = AROUND + AT_ONCE + SINGLY };

/* People n in list order: half of AROUND, the new ones, the other half. */
static const char *name_of(int n)
{
    return apr_psprintf(pool, "%s %06d",
                        n < AROUND / 2         ? "Anna"
                        : n < ALL - AROUND / 2 ? "Maria"
                                               : "Zoe",
                        n);
}

static const char *id_of(int n)
{
    return apr_psprintf(pool, "id-%06d", (n * 7919) % ALL);
}

static cache_user person(int n)
{
    return (cache_user){.id = id_of(n),
                        .display_name = name_of(n),
                        .department = n % 3 ? "Sales" : "IT",
                        .upn = apr_psprintf(pool, "u%d@contoso.example", n),
                        .enabled = 1};
}

static int comes_singly(int n)
{
    return n >= AROUND / 2 && n < AROUND / 2 + SINGLY;
}

static void run(store *sync, int first)
{
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    const cache_guard guard = {.accept = 1};
    must(cache_sync_begin(&run, sync, c, pool, COMPANY, IDA_DIR_ON_PREMISES, first), c, "begin");
    for (int i = 0; i < ALL; i++) {
        int n = (i * 4001) % ALL, around = n < AROUND / 2 || n >= ALL - AROUND / 2;
        cache_user u = person(n);
        if (around == first && !comes_singly(n)) {
            must(cache_sync_user(run, c, &u), c, "user");
        }
    }
    if (first) {
        must(cache_sync_complete(run, c, "user"), c, "users");
        must(cache_sync_complete(run, c, "group"), c, "groups");
    }
    must(cache_sync_commit(run, c, "{}", "test", &guard, 1, &summary), c, "commit");
}

/* People that a filter finds among the present ones, page after page; `said`: the total. */
static void answers(store *s, const char *what, const char *arguments, int from, int to, int step,
                    int singles)
{
    apr_pool_t *outer = pool;
    const ida_tenant *t = tenant_of(s, COMPANY);
    json_t *a = ida_json_keep(pool, json_loads(arguments, 0, NULL));
    int n = from, wrong = 0, seen = 0, count = 0;
    for (int k = from; k < to; k += step) {
        count += singles || !comes_singly(k);
    }
    for (int more = 1; more && !wrong;) {
        asked answer = ask_json(outer, s, t, &ida_op_users_search, a);
        json_t *item, *items = json_object_get(answer.result, "items"),
                      *next = json_object_get(answer.result, "nextCursor");
        size_t i;
        wrong += answer.kind != IDA_OK ||
                 json_integer_value(json_object_get(answer.result, "totalCount")) != count;
        json_array_foreach (items, i, item) {
            while (n < to && comes_singly(n) && !singles) {
                n += step;
            }
            wrong += n >= to || strcmp(ida_json_string(item, "id"), id_of(n)) != 0;
            n += step;
            seen++;
        }
        more = json_is_string(next);
        if (more) {
            json_object_set(a, "cursor", next);
        }
    }
    ok(!wrong && seen == count, "%s: %s finds %d of %d, in the order of the list", what, arguments,
       seen, count);
}

static void all_answers(store *s, const char *what, int singles)
{
    answers(s, what, "{\"limit\":100}", 0, ALL, 1, singles);
    answers(s, what, "{\"limit\":100,\"query\":\"mar\"}", AROUND / 2, ALL - AROUND / 2, 1, singles);
    answers(s, what, "{\"limit\":99,\"department\":\"IT\"}", 0, ALL, 3, singles);
    answers(s, what, "{\"limit\":10,\"query\":\"zoe\"}", ALL - AROUND / 2, ALL, 1, singles);
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        store *s = store_make(pool, dsn, DB_REQUEST), *sync = store_make(pool, dsn, DB_SYNC);
        printf("# %s\n", name);
        put_tenant(s, COMPANY, 0);
        run(sync, 1);
        check_index(i, dsn, "first load", AROUND);
        run(sync, 0);
        check_index(i, dsn, "many came at once", AROUND + AT_ONCE);
        all_answers(s, "many came at once", 0);
        for (int n = AROUND / 2 + SINGLY - 1; n >= AROUND / 2; n--) { /* each before the previous
                                                                         one */
            ida_ctx *c = fresh();
            cache_user u = person(n);
            must(cache_tell_user(sync, c, COMPANY, IDA_DIR_ON_PREMISES, &u), c, "told");
        }
        check_index(i, dsn, "each came before the last one", ALL);
        all_answers(s, "each came before the last one", 1);
    }
    return done();
}
