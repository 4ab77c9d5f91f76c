/* Cached API users: how old they may be, what they cost, that a refusal costs the same whether
 * or not the user exists, threads that share them. On both engines. */
#include "t/unit/queue_setup.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#include <pthread.h>
#include <stdatomic.h>

#include "core/face/credential_memory.h"

static store *s;
static int acquired, away;
static const char right[] = "0000000000000000000000000000000000000000000000000000000000000007";
static const char bad[] = "0000000000000000000000000000000000000000000000000000000000000008";
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* there is one connection here */

static ida_kind acquire(store_source *from, ida_ctx *c, const char *company, store **out)
{
    (void)from;
    (void)company;
    if (away) {
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "away");
    }
    pthread_mutex_lock(&one);
    acquired++;
    *out = s;
    return IDA_OK;
}

static void release(store_source *from, store *given)
{
    (void)from;
    (void)given;
    pthread_mutex_unlock(&one);
}

static store_source source = {acquire, release, NULL};

static void add_key(const char *tenant, const char *username)
{
    ok(script(DB_REQUEST,
              apr_psprintf(
                  pool,
                  "INSERT INTO api_key (tenant_id, username, key_hash, access_level, label, "
                  "rate_limit, created_at) VALUES ('%s', '%s', '%064d', 'full', 'L', '7/60s', 1)",
                  tenant, username, 7)),
       "key %s", username);
}

/* Result of one lookup: "none", "other" (another key), "on", "off", "failed"; and the number of
 * calls to the store. Without the caller's key the tenant, which costs further statements, is
 * not read. */
static const char *look_with(ida_callers *all, const char *username, const char *hash)
{
    const ida_caller *snapshot;
    acquired = 0;
    if (ida_caller_get(all, fresh(), &source, "contoso", username, hash, &snapshot) != IDA_OK) {
        return apr_psprintf(pool, "failed %d", acquired);
    }
    int mine = snapshot->key_hash && strcmp(snapshot->key_hash, hash) == 0;
    const char *text = apr_psprintf(pool, "%s %d%s",
                                    !snapshot->key_hash  ? "none"
                                    : !mine              ? "other"
                                    : snapshot->disabled ? "off"
                                                         : "on",
                                    acquired,
                                    mine != (snapshot->tenant != NULL) ? " and the tenant" : "");
    ida_caller_release(snapshot);
    return text;
}

static const char *look(ida_callers *all, const char *company, const char *username)
{
    (void)company;
    return look_with(all, username, right);
}

static void ages(void)
{
    ida_callers *all = ida_callers_make(pool, 1024, IDA_CALLER_AGE_MS);
    const ida_caller *kept;
    is_str(look(all, "contoso", "hr"), "on 1", "the first look asks the store");
    is_str(look(all, "contoso", "hr"), "on 0", "the next does not");
    ida_caller_get(all, fresh(), &source, "contoso", "hr", right, &kept);
    ok(kept->principal.rate.limit == 7 && !strcmp(kept->principal.label, "L") &&
           !strcmp(kept->principal.company, "contoso") &&
           !strcmp(kept->tenant->upn_domain, "corp.example") && !kept->synced,
       "with limit, label, tenant, and no sync yet");
    script(DB_REQUEST, "UPDATE api_key SET disabled = 1 WHERE username = 'hr'");
    test_monotonic_ms += 1000;
    is_str(look(all, "contoso", "hr"), "on 0", "a second later it still holds");
    test_monotonic_ms += 500;
    is_str(look(all, "contoso", "hr"), "off 1", "before two seconds are over it is asked again");
    is_str(look(all, "contoso", "hr"), "off 0", "and that holds");
    ok(!kept->disabled && kept->key_hash[63] == '7', "who had the old one keeps it");
    ida_caller_release(kept);
    script(DB_REQUEST, "UPDATE api_key SET disabled = 0 WHERE username = 'hr'");
    test_monotonic_ms += 2000;
    is_str(look(all, "contoso", "hr"), "on 1", "enabled again");

    away = 1;
    test_monotonic_ms += 1600;
    is_str(look(all, "contoso", "hr"), "on 0", "with the store away it holds as long as it may");
    test_monotonic_ms += 400;
    is_str(look(all, "contoso", "hr"), "failed 0", "and no longer");
    away = 0;
    is_str(look(all, "contoso", "hr"), "on 1", "the store is back");

    is_str(look(all, "contoso", "new"), "none 1", "an unknown user");
    add_key("contoso", "new");
    is_str(look(all, "contoso", "new"), "on 1", "is known as soon as there is one");
}

/* Statements determine the time of an answer. So a guesser learns nothing from it: neither about
 * a user who is looked up for the first time, nor about one whose holder is active. */
static void guesses(void)
{
    ida_callers *all = ida_callers_make(pool, 1024, IDA_CALLER_AGE_MS);
    for (int i = 0; i < 3; i++) {
        is_str(look_with(all, "hr", bad), "other 1", "a wrong key costs one look at the key alone");
        is_str(look_with(all, "nobody", bad), "none 1", "an unknown user the same");
    }
    is_str(look(all, "contoso", "hr"), "on 1", "the holder comes");
    is_str(look(all, "contoso", "hr"), "on 0", "and is remembered");
    for (int i = 0; i < 3; i++) {
        is_str(look_with(all, "hr", bad), "other 1",
               "a wrong key costs the same while the holder is remembered");
        is_str(look_with(all, "nobody", bad), "none 1", "as an unknown user does");
    }
    is_str(look(all, "contoso", "hr"), "on 0", "and the holder is remembered as before");
    test_monotonic_ms += 1600;
    is_str(look_with(all, "hr", bad), "other 1", "a guess does not take the renewal");
    is_str(look(all, "contoso", "hr"), "on 1", "which is the holder's");
    script(DB_REQUEST,
           apr_psprintf(pool, "UPDATE api_key SET key_hash = '%s' WHERE username = 'hr'", bad));
    is_str(look_with(all, "hr", bad), "on 1", "a new key of the same name counts at once");
    script(DB_REQUEST,
           apr_psprintf(pool, "UPDATE api_key SET key_hash = '%s' WHERE username = 'hr'", right));
}

static int full_sync(const char *directory)
{
    return script(DB_SYNC, apr_psprintf(pool,
                                        "INSERT INTO cache.sync_state (tenant_id, directory, "
                                        "completed_at, full_at) VALUES ('contoso', '%s', 5, 5)",
                                        directory));
}

static void synced(void)
{
    ida_callers *all = ida_callers_make(pool, 1024, IDA_CALLER_AGE_MS);
    const ida_caller *snapshot;
    ok(full_sync("cloud"), "one directory");
    ida_caller_get(all, fresh(), &source, "contoso", "hr", right, &snapshot);
    is_int(snapshot->synced, 0, "one of two directories is not enough");
    ida_caller_release(snapshot);
    ok(full_sync("onPremises"), "the other");
    test_monotonic_ms += 2000;
    ida_caller_get(all, fresh(), &source, "contoso", "hr", right, &snapshot);
    is_int(snapshot->synced, 1, "both are");
    ida_caller_release(snapshot);
}

static void bounds(void)
{
    ida_callers *all = ida_callers_make(pool, 1024, IDA_CALLER_AGE_MS);
    char name[32];
    look(all, "contoso", "hr");
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "guess%d", i);
        look_with(all, name, bad);
    }
    is_str(look(all, "contoso", "hr"), "on 0", "3000 guessed names do not push out a user");
    ida_callers *one_each = ida_callers_make(pool, 1, IDA_CALLER_AGE_MS);
    is_str(look(one_each, "contoso", "hr"), "on 1", "the smallest memory");
    is_str(look(one_each, "contoso", "new"), "on 1", "works too");
}

static ida_callers *shared;
static atomic_int wrong;

static void *hammer(void *baton)
{
    apr_pool_t *own = baton;
    for (int i = 0; i < 4000; i++) {
        const ida_caller *snapshot;
        const char *username = i % 3 ? "hr" : "new";
        if (ida_caller_get(shared, ida_ctx_make(&env, own), &source, "contoso", username, right,
                           &snapshot) != IDA_OK ||
            !snapshot->key_hash || strcmp(snapshot->principal.username, username) != 0 ||
            strcmp(snapshot->tenant->id, "contoso") != 0) {
            atomic_fetch_add(&wrong, 1);
            continue;
        }
        ida_caller_release(snapshot);
        apr_pool_clear(own);
    }
    return NULL;
}

static int64_t running_clock(
    void *baton) /* a minute in each second, so that entries expire all the time */
{
    struct timespec ts;
    (void)baton;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000) * 60;
}

static void threads(void)
{
    pthread_t thread[8];
    apr_pool_t *own[8];
    shared = ida_callers_make(pool, 16, IDA_CALLER_AGE_MS);
    env.monotonic = running_clock;
    for (int i = 0; i < 8; i++) {
        apr_allocator_t *allocator;
        apr_allocator_create(&allocator);
        apr_pool_create_unmanaged_ex(&own[i], NULL, allocator);
        apr_allocator_owner_set(allocator, own[i]);
        pthread_create(&thread[i], NULL, hammer, own[i]);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(thread[i], NULL);
        apr_pool_destroy(own[i]);
    }
    env.monotonic = test_monotonic;
    is_int(atomic_load(&wrong), 0, "eight threads always see a whole state");
}

int main(void)
{
    setup();
    env.monotonic = test_monotonic;
    for (int i = 0; i < store_engines(); i++) {
        dsn = store_upgraded(i, &engine);
        add_tenant("contoso", "");
        add_key("contoso", "hr");
        s = store_make(pool, dsn, DB_REQUEST);
        ages();
        guesses();
        synced();
        bounds();
        threads();
    }
    return done();
}
