/* The stored number of people of each kind, which triggers maintain, against a count: after
 * random changes of random rows, some of them rolled back, on both engines. Changes by
 * synchronisations and the worker are compared by operation/people_search and
 * operation/people_gap. */
#include "core/cache/people_count.h"
#include "t/unit/behind_store.h"

enum { ROUNDS = 60, CHANGES = 12, IDS = 400 };

static const char *const tenants[] = {"contoso", "fabrikam"}, *const directories[] = {"cloud",
                                                                                      "onPremises"};

/* NULL, or a manager who is cached or only named. */
static const char *somebody(void)
{
    return dice(2) ? "NULL" : "'m'";
}

/* Some rows: one, a span, all of a kind. */
static const char *some(void)
{
    switch (dice(4)) {
    case 0: return apr_psprintf(pool, "id = 'u%03d'", dice(IDS));
    case 1: return apr_psprintf(pool, "id >= 'u%03d' AND id < 'u%03d'", dice(IDS), dice(IDS));
    case 2: return apr_psprintf(pool, "tenant_id = '%s' AND guest = %d", tenants[dice(2)], dice(2));
    default: return apr_psprintf(pool, "enabled = %d AND shadow = %d", dice(2), dice(2));
    }
}

/* Adds rows; existing ones are changed, as a synchronisation does it. */
static const char *come(void)
{
    const char *rows = "";
    int from = dice(IDS), count = 1 + dice(40);
    const char *tenant = tenants[dice(2)], *directory = directories[dice(2)];
    for (int i = from; i < from + count; i++) {
        rows = apr_psprintf(pool, "%s%s('%s', '%s', 'u%03d', %d, %d, %d, %s, %s)", rows,
                            i > from ? ", " : "", tenant, directory, i % IDS, dice(2), dice(2),
                            dice(2), somebody(), somebody());
    }
    return apr_pstrcat(
        pool,
        "INSERT INTO cache.directory_user (tenant_id, directory, id, enabled, guest, shadow, "
        "manager_id, manager_ref) VALUES ",
        rows,
        " ON CONFLICT (tenant_id, directory, id) DO UPDATE SET enabled = excluded.enabled, "
        "guest = excluded.guest, manager_id = excluded.manager_id, "
        "manager_ref = excluded.manager_ref;",
        NULL);
}

static const char *change(void)
{
    static const char *const changes[] = {"enabled = 1 - enabled",
                                          "guest = 1 - guest",
                                          "shadow = 1 - shadow",
                                          "manager_id = manager_ref",
                                          "manager_ref = NULL",
                                          "manager_id = 'm', guest = 0",
                                          "shadow = enabled, guest = 1",
                                          "digest = 'as it was'",
                                          "manager_id = id",
                                          "enabled = guest",
                                          "enabled = shadow",
                                          "manager_ref = manager_id",
                                          "last_sign_in_at = 1",
                                          "enabled = 1, shadow = 0"};
    int what = dice(10);
    if (what < 3) {
        return come();
    }
    if (what == 3) {
        return apr_psprintf(pool, "DELETE FROM cache.directory_user WHERE %s;", some());
    }
    if (what == 4) { /* two people swap rows, by way of a third ID */
        int a = dice(IDS), b = dice(IDS);
        return apr_psprintf(pool,
                            "UPDATE cache.directory_user SET id = 'x' || id WHERE id = 'u%03d';"
                            "UPDATE cache.directory_user SET id = 'u%03d' WHERE id = 'u%03d';"
                            "UPDATE cache.directory_user SET id = 'u%03d' WHERE id = 'xu%03d';",
                            a, a, a == b ? IDS : b, b, a);
    }
    return apr_psprintf(pool, "UPDATE cache.directory_user SET %s WHERE %s;",
                        changes[dice((int)(sizeof changes / sizeof *changes))], some());
}

static ida_kind changed_then(store *s, ida_ctx *c, void *baton)
{
    ida_kind kind = db_script(s->db, c, free_sql);
    return kind ? kind : *(int *)baton ? IDA_OK : ida_fail(c, IDA_CONFLICT, "taken back");
}

/* The stored number of each kind, against a count of the same rows. */
static void told(int engine, const char *dsn, store *s)
{
    for (int n = 0; n < 27; n++) {
        const cache_people_kind which = {n % 3 - 1, n / 3 % 3 - 1, n / 9 - 1};
        int64_t total = -1;
        ida_ctx *c = fresh();
        must(cache_people_count_stored(s, c, tenants[0], &which, INT64_MAX, &total), c, "kept");
        const char *sql = apr_psprintf(
            pool,
            "SELECT count(*) FROM cache.directory_user WHERE shadow = 0 AND tenant_id = '%s' AND "
            "%d IN (-1, enabled) AND %d IN (-1, guest) AND %d IN (-1, CASE WHEN manager_id IS NULL "
            "AND manager_ref IS NULL THEN 0 ELSE 1 END)",
            tenants[0], which.enabled, which.guest, which.managed);
        int64_t counted = number_behind(engine, dsn, sql);
        ok(total == counted, "enabled %d, guest %d, with a manager %d: %lld of %lld", which.enabled,
           which.guest, which.managed, (long long)total, (long long)counted);
    }
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        store *s = store_make(pool, dsn, DB_REQUEST), *sync = store_make(pool, dsn, DB_SYNC);
        int wrong = 0;
        printf("# %s\n", name);
        seed = 11;
        for (int round = 0; round < ROUNDS; round++) {
            const char *sql = come();
            int kept = dice(6) > 0;
            for (int n = dice(CHANGES); n > 0; n--) {
                sql = apr_pstrcat(pool, sql, change(), NULL);
            }
            free_sql = sql;
            ida_ctx *c = fresh();
            ida_kind kind = store_transaction(sync, c, changed_then, &kept);
            if (kind != (kept ? IDA_OK : IDA_CONFLICT) || wrongly_kept(i, dsn) != 0) {
                ok(wrong++ > 2, "round %d: %s: %s", round, c->message ? c->message : "kept wrongly",
                   sql);
            }
        }
        is_int(wrong, 0, "each round leaves as many as there are");
        told(i, dsn, s);
        script(sync, "DELETE FROM cache.directory_user");
        is_int(wrongly_kept(i, dsn), 0, "nobody is left, and nobody is kept");
    }
    return done();
}
