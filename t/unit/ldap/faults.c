/* The connector against a scripted peer: each fault ends in its own class, within its time, with
 * the cache unchanged; the next call succeeds. Two authorities in one process, each valid for
 * its own directory only. */
#include "core/cache/freshness.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "t/unit/slapd.h"

#define PEER "Idadmin::Test::LdapPeer"

static const directory_ops *ops;
static store *cache;
static const char *dsn;

/* A tenant on the peer in perl's variable `peer`; `changes`: perl text of changed members of its
 * document. */
static ida_tenant *tenant_on(const char *id, const char *peer, const char *changes)
{
    return tenant_of(id, "peer.example",
                     perl("Idadmin::Test::json_text($main::%s->document(%s))", peer, changes));
}

static void script(const char *text)
{
    const char *answer = perl("$main::p->script(%s); 'ok'", text);
    if (strcmp(answer, "ok") != 0) {
        printf("Bail out! script %s\n", text);
        exit(1);
    }
}

static int64_t users_cached(const char *tenant)
{
    cache_sync_info info = {0};
    cache_sync_info_get(cache, fresh(), tenant, IDA_DIR_ON_PREMISES, &info);
    return info.users;
}

typedef enum call { FIND, SYNC, DISABLE, MEMBERSHIPS } call;

static const char *person_id; /* of person0005 */

static directory_class make_call(directory *d, apr_pool_t *sub, store *into, call what,
                                 cache_summary *summary, directory_error *e)
{
    directory_user user;
    const directory_membership *rows;
    int count;
    switch (what) {
    case SYNC:
        return ops->sync(d, sub, &(directory_sync){into, ida_ctx_make(&env, sub), .full = 1},
                         summary, e);
    case DISABLE: return ops->disable(d, sub, person_id, &user, e);
    case MEMBERSHIPS: return ops->memberships(d, sub, person_id, NULL, 0, &rows, &count, e);
    default: return ops->find(d, sub, NULL, "person0005@peer.example", &user, e);
    }
}

#ifdef __SANITIZE_ADDRESS__
const char *__asan_default_options(void);
/* Known leaks in libldap after a notice (t/lib/leaks.supp) are recognised by the caller of its
 * allocator. */
const char *__asan_default_options(void)
{
    return "fast_unwind_on_malloc=0";
}
#endif

/* --- faults that end at once --- */

typedef struct fault {
    const char *name, *script;
    call what;
    directory_class want, or_else; /* or_else: also accepted (OK: none) */
    const char *says;              /* part of the message, or NULL */
} fault;

#define ONLY(class) class, DIRECTORY_OK
#define TRANSIENT ONLY(DIRECTORY_TRANSIENT)
#define CONFIG ONLY(DIRECTORY_CONFIG)
#define HIS "on => 'search', filter => 'person0005', "
#define ELSEWHERE "do => 'result', code => 10, referral => ['ldap://other.example/']"
#define RULE(text) "rules => [{" text "}]"

static const fault quick[] = {
    {"certificate that has run out", "certificate => 'expired'", FIND, CONFIG, "caFile"},
    {"certificate that is not yet good", "certificate => 'early'", FIND, CONFIG, "caFile"},
    {"certificate for another host", "certificate => 'wrongHost'", FIND, CONFIG, "names this host"},
    {"certificate of an unknown authority", "certificate => 'unknownCa'", FIND, CONFIG, "caFile"},
    {"certificate signed by itself", "certificate => 'selfSigned'", FIND, CONFIG, "caFile"},
    {"closed before TLS", RULE("on => 'connect', do => 'close'"), FIND, TRANSIENT, NULL},
    {"reset before TLS", RULE("on => 'connect', do => 'reset'"), FIND, TRANSIENT, NULL},
    {"garbage instead of TLS", RULE("on => 'connect', do => 'garbage'"), FIND, DIRECTORY_CONFIG,
     DIRECTORY_TRANSIENT, NULL},
    {"reset in the TLS handshake", RULE("on => 'handshake', do => 'cut', bytes => 200"), FIND,
     TRANSIENT, NULL},
    {"closed at the bind", RULE("on => 'bind', do => 'close'"), FIND, TRANSIENT, NULL},
    {"reset at the bind", RULE("on => 'bind', do => 'reset'"), FIND, TRANSIENT, NULL},
    {"garbage at the bind", RULE("on => 'bind', do => 'garbage'"), FIND, TRANSIENT, NULL},
    {"notice of disconnection at the bind", RULE("on => 'bind', do => 'notice'"), FIND, TRANSIENT,
     NULL},
    {"nameless notice at the bind", RULE("on => 'bind', do => 'notice', oid => ''"), FIND,
     TRANSIENT, NULL},
    {"wrong credentials", RULE("on => 'bind', do => 'result', code => 49"), FIND,
     ONLY(DIRECTORY_CREDENTIALS), "bind as"},
    {"AD: locked account",
     RULE("on => 'bind', do => 'result', code => 49, text => '80090308: LdapErr: DSID, data 775, "
          "v4563'"),
     FIND, ONLY(DIRECTORY_CREDENTIALS), "775"},
    {"bind: busy", RULE("on => 'bind', do => 'result', code => 51"), FIND, TRANSIENT, NULL},
    {"bind: unavailable", RULE("on => 'bind', do => 'result', code => 52"), FIND, TRANSIENT, NULL},
    {"bind: referral", RULE("on => 'bind', " ELSEWHERE), FIND, CONFIG, NULL},
    {"search: busy", RULE(HIS "do => 'result', code => 51"), FIND, TRANSIENT, "51"},
    {"search: unavailable", RULE(HIS "do => 'result', code => 52"), FIND, TRANSIENT, "52"},
    {"search: unwilling", RULE(HIS "do => 'result', code => 53"), FIND, ONLY(DIRECTORY_FORBIDDEN),
     "53"},
    {"search: referral", RULE(HIS ELSEWHERE), FIND, CONFIG, "10"},
    {"search: the base is gone", RULE(HIS "do => 'result', code => 32"), FIND, CONFIG, "32"},
    {"search: reset after an entry", RULE(HIS "after => 1, do => 'reset'"), FIND, TRANSIENT, NULL},
    {"search: garbage", RULE(HIS "do => 'garbage'"), FIND, TRANSIENT, NULL},
    {"search: a message of 2 GB", RULE(HIS "do => 'huge'"), FIND, TRANSIENT, NULL},
    {"search: 2 GB without end", RULE(HIS "do => 'feed'"), FIND, TRANSIENT, NULL},
    {"search: notice of disconnection", RULE(HIS "after => 1, do => 'notice'"), FIND, TRANSIENT,
     NULL},
    {"search: nameless notice", RULE(HIS "after => 1, do => 'notice', oid => ''"), FIND, TRANSIENT,
     NULL},
    {"search: nameless part of the answer", RULE(HIS "do => 'nameless'"), FIND, TRANSIENT, NULL},
    {"sync: part of the answer whose name is a NUL",
     RULE("on => 'page', after => 20, do => 'nameless', oid => \"\\0\""), SYNC, TRANSIENT, NULL},
    {"sync: nameless part of the answer, tagged as an extended one",
     RULE("on => 'page', after => 20, do => 'nameless', tag => 0x8a"), SYNC, TRANSIENT, NULL},
    {"sync: nameless part of the answer", RULE("on => 'page', after => 20, do => 'nameless'"), SYNC,
     TRANSIENT, NULL},
    {"sync: busy", RULE("on => 'page', do => 'result', code => 51"), SYNC, TRANSIENT, NULL},
    {"sync: unwilling", RULE("on => 'page', do => 'result', code => 53"), SYNC,
     ONLY(DIRECTORY_FORBIDDEN), NULL},
    {"sync: reset in the middle", RULE("on => 'page', after => 20, do => 'reset'"), SYNC, TRANSIENT,
     NULL},
    {"sync: closed in the middle", RULE("on => 'page', after => 20, do => 'close'"), SYNC,
     TRANSIENT, NULL},
    {"sync: notice in the middle", RULE("on => 'page', after => 20, do => 'notice'"), SYNC,
     TRANSIENT, NULL},
    {"sync: garbage in the middle", RULE("on => 'page', after => 20, do => 'garbage'"), SYNC,
     TRANSIENT, NULL},
    {"sync: 2 GB in the middle", RULE("on => 'page', after => 20, do => 'huge'"), SYNC, TRANSIENT,
     NULL},
    {"sync: cut in mid-message", RULE("on => 'page', after => 20, do => 'cut', bytes => 150"), SYNC,
     TRANSIENT, NULL},
    {"sync: busy after some", RULE("on => 'page', after => 20, do => 'result', code => 51"), SYNC,
     TRANSIENT, NULL},
    {"sync: size limit after some", RULE("on => 'page', after => 20, do => 'result', code => 4"),
     SYNC, CONFIG, NULL},
    {"sync: administrative limit after some",
     RULE("on => 'page', after => 20, do => 'result', code => 11"), SYNC, CONFIG, NULL},
    {"sync: time limit after some", RULE("on => 'page', after => 20, do => 'result', code => 3"),
     SYNC, TRANSIENT, NULL},
    {"sync: success without its control",
     RULE("on => 'page', after => 20, do => 'result', code => 0"), SYNC, CONFIG, NULL},
    {"sync: referral", RULE("on => 'page', " ELSEWHERE), SYNC, CONFIG, NULL},
    {"sync: groups fail after all users",
     RULE("on => 'page', filter => 'groupofnames', do => 'reset'"), SYNC, TRANSIENT, NULL},
    {"write: busy", RULE("on => 'modify', do => 'result', code => 51"), DISABLE, TRANSIENT, NULL},
    {"write: not allowed", RULE("on => 'modify', do => 'result', code => 50"), DISABLE,
     ONLY(DIRECTORY_FORBIDDEN), NULL},
    {"write: the server is read-only",
     RULE("on => 'modify', do => 'result', code => 53, text => 'operation restricted'"), DISABLE,
     CONFIG, NULL},
    {"write: referral to the master", RULE("on => 'modify', " ELSEWHERE), DISABLE, CONFIG, NULL},
    {"write: closed before it was done, twice", RULE("on => 'modify', before => 1, do => 'close'"),
     DISABLE, ONLY(DIRECTORY_UNSURE), NULL},
    {"memberships: busy at the groups", RULE("on => 'page', do => 'result', code => 51"),
     MEMBERSHIPS, TRANSIENT, NULL},
    {"memberships: cut answer", RULE("on => 'page', after => 1, do => 'result', code => 4"),
     MEMBERSHIPS, CONFIG, NULL},
};

static void check(const fault *f, directory_class class, const directory_error *e)
{
    int right = class == f->want || (f->or_else && class == f->or_else);
    if (!ok(right && (class != DIRECTORY_OK || !f->want), "%s: %s", f->name,
            directory_class_text(f->want))) {
        printf("# got: %s; %s\n", directory_class_text(class),
               e->message ? e->message : "(no message)");
    }
    if (f->want) {
        ok(e->message && strstr(e->message, "ldap") && (!f->says || strstr(e->message, f->says)),
           "%s: says so (%s)", f->name, e->message ? e->message : "-");
    }
}

static void quick_faults(const ida_tenant *tenant)
{
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++) {
        const fault *f = &quick[i];
        apr_pool_t *sub;
        directory_error e = {0};
        cache_summary summary = {0};
        int64_t users = users_cached("peer");
        apr_pool_create(&sub, pool);
        script(f->script);
        directory *d = open_with(tenant);
        directory_class class = make_call(d, sub, cache, f->what, &summary, &e);
        check(f, class, &e);
        ok(!e.message || !strstr(e.message, "imed out"), "%s: without waiting for a time limit",
           f->name);
        ok(users_cached("peer") == users, "%s: the cache is as it was", f->name);
        script("");
        class = make_call(d, sub, cache, FIND, &summary, &e);
        is_class(class, DIRECTORY_OK, &e,
                 apr_pstrcat(pool, f->name, ": over, the same session goes on", NULL));
        ops->close(d);
        apr_pool_destroy(sub);
    }
}

/* Any result of a bind is a fault of the directory, never an answer about a person. */
static void every_bind_result(const ida_tenant *tenant)
{
    static const int codes[] = {1,  2,  3,  8,  12, 13, 14, 16, 19,  20,   21,
                                32, 34, 48, 50, 53, 65, 68, 80, 122, 4096, 32766};
    directory_error e = {0};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        script(ida_printf(pool, RULE("on => 'bind', do => 'result', code => %d"), codes[i]));
        directory *d = open_with(tenant);
        directory_class class = make_call(d, pool, cache, FIND, NULL, &e);
        if (!ok(directory_holds(class), "a bind answered with %d holds the directory", codes[i])) {
            printf("# got: %s; %s\n", directory_class_text(class), e.message ? e.message : "-");
        }
        ops->close(d);
    }
    script("");
}

/* The search for owned groups is refused: memberships are found all the same. */
static void owners_unknown(const ida_tenant *tenant)
{
    directory_error e = {0};
    const directory_membership *rows = NULL;
    apr_array_header_t *owned = apr_array_make(pool, 4, sizeof(directory_membership));
    int count = 0;
    directory *d = open_with(tenant);
    script(RULE("on => 'search', filter => 'managedBy', do => 'result', code => 11"));
    is_class(ops->owned(d, pool, person_id, owned, &e), DIRECTORY_CONFIG, &e, "no owned groups");
    is_class(ops->memberships(d, pool, person_id, NULL, 0, &rows, &count, &e), DIRECTORY_OK, &e,
             "memberships without the owned groups");
    script("");
    ops->close(d);
}

/* --- lost connections between calls, lost answers --- */

static void between_calls(const ida_tenant *tenant)
{
    directory_error e = {0};
    static const char *const ends[] = {"close", "reset", "notice"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        directory *d = open_with(tenant);
        /* The peer follows the rule from its next answer on. The connection is made before,
         * because on a busy machine making it may take 30 ms; a lookup on its own is one
         * request. */
        is_class(make_call(d, pool, cache, FIND, NULL, &e), DIRECTORY_OK, &e, "connected");
        perl("$main::p->forget; 'ok'");
        script(ida_printf(pool, RULE("on => 'idle', ms => 30, do => '%s'"), ends[i]));
        is_class(make_call(d, pool, cache, FIND, NULL, &e), DIRECTORY_OK, &e, "found");
        is_str(perl("Idadmin::Test::within(sub { scalar $main::p->seen('end') }) ? 'ended' "
                    ": 'open'"),
               "ended", "the idle connection is ended by the server");
        script("");
        is_class(make_call(d, pool, cache, FIND, NULL, &e), DIRECTORY_OK, &e,
                 ida_printf(
                     pool,
                     "idle connection ended by %s: the next call has a new one and does not notice",
                     ends[i]));
        ops->close(d);
    }
}

static void lost_answers(const ida_tenant *tenant)
{
    directory_error e = {0};
    directory_user user;
    directory *d = open_with(tenant);
    make_call(d, pool, cache, FIND, NULL, &e);
    script(RULE(HIS "after => 1, count => 1, do => 'reset'"));
    is_class(make_call(d, pool, cache, FIND, NULL, &e), DIRECTORY_OK, &e,
             "a read that is cut once is repeated");
    perl("$main::p->forget; 'ok'");
    make_call(d, pool, cache, FIND, NULL, &e);
    script(RULE("on => 'modify', count => 1, do => 'reset'"));
    is_class(ops->disable(d, pool, person_id, &user, &e), DIRECTORY_OK, &e,
             "a write whose answer is lost is looked at");
    ok(!user.enabled, "and was done");
    is_str(perl("scalar(my @m = $main::p->seen('modify'))"), "1", "it was sent once");
    is_class(ops->disable(d, pool, person_id, &user, &e), DIRECTORY_ALREADY, &e,
             "the next look finds it so");
    script("");
    ops->close(d);
}

/* --- limits of pages --- */

static directory_class sync_on(const ida_tenant *tenant, cache_summary *summary, directory_error *e)
{
    directory *d = open_with(tenant);
    apr_pool_t *sub;
    apr_pool_create(&sub, pool);
    directory_class class = ops->sync(d, sub, &(directory_sync){cache, fresh(), .full = 1}, summary,
                                      e);
    e->message = apr_pstrdup(pool, e->message);
    ops->close(d);
    apr_pool_destroy(sub);
    return class;
}

static void pages(const ida_tenant *usual)
{
    (void)usual;
    cache_summary summary = {0};
    directory_error e = {0};
    perl("$main::q = $main::p; $main::p = " PEER
         "->new(like => $main::q, sync => 0, users => 620, groups => { Big => 40 }); 'ok'");
    const ida_tenant *tenant = tenant_on("pages", "p", "");
    static const struct {
        const char *name, *script;
        directory_class want;
    } limits[] = {
        {"pages as asked for", "", DIRECTORY_OK},
        {"pages cut to 100 in silence", "page => { most => 100 }", DIRECTORY_OK},
        {"pages above 130 refused with administrative limit",
         "page => { refuse => 130, code => 11 }", DIRECTORY_OK},
        {"pages above 130 refused with size limit", "page => { refuse => 130, code => 4 }",
         DIRECTORY_OK},
        {"size limit in mid-page, after 100 entries",
         "page => { refuse => 100, after => 100, code => 4 }", DIRECTORY_OK},
        {"administrative limit in mid-page, after 60 entries",
         "page => { refuse => 60, after => 60, code => 11 }", DIRECTORY_OK},
        {"references to other servers between", "references => ['ldap://other.example/ou=x??sub']",
         DIRECTORY_OK},
        {"a limit in all", "page => { total => 550, code => 4 }", DIRECTORY_CONFIG},
        {"an administrative limit in all", "page => { total => 550, code => 11 }",
         DIRECTORY_CONFIG},
        {"busy at the second page", RULE("on => 'page', skip => 1, do => 'result', code => 51"),
         DIRECTORY_TRANSIENT},
        {"reset at the second page", RULE("on => 'page', skip => 1, after => 3, do => 'reset'"),
         DIRECTORY_TRANSIENT},
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        script(limits[i].script);
        is_class(sync_on(tenant, &summary, &e), limits[i].want, &e, limits[i].name);
        if (limits[i].want == DIRECTORY_OK) {
            ok(summary.users == 620, "%s: everybody (%lld)", limits[i].name,
               (long long)summary.users);
        }
        ok(users_cached("pages") == 620, "%s: and everybody is in the cache", limits[i].name);
    }
    perl("$main::p->stop; $main::p = $main::q; 'ok'");
}

/* --- two authorities --- */

static void two_authorities(const ida_tenant *usual)
{
    (void)usual;
    directory_error e = {0};
    perl("$main::other = " PEER "->new; 'ok'");
    const ida_tenant *one = tenant_on("one", "p", ""), *two = tenant_on("two", "other", ""),
                     *crossed = tenant_on("crossed", "other", "caFile => $main::p->ca_file"),
                     *back = tenant_on("back", "p", "caFile => $main::other->ca_file");
    const ida_tenant *const order[] = {one, two, crossed, back, two, one, back, crossed};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        int good = order[i] == one || order[i] == two;
        directory *d = open_with(order[i]);
        is_class(make_call(d, pool, cache, FIND, NULL, &e), good ? DIRECTORY_OK : DIRECTORY_CONFIG,
                 &e,
                 ida_printf(pool, "%s: %s", order[i]->id,
                            good ? "its own authority" : "the other's authority is not its own"));
        ops->close(d);
    }
    perl("$main::other->stop; 'ok'");
}

/* --- faults that are waited for, all at the same time --- */

typedef struct slow {
    fault f;
    int speed;     /* of the clock that the connector sees after it has connected: 20 s of a call
                      need not last 20 s here */
    int64_t least; /* ms by that clock */
    int start_tls;
    /* of the thread */
    ida_env env;
    int64_t faster_since; /* 0: not yet */
    ida_tenant *tenant;
    store *cache;
    pthread_t thread;
    apr_pool_t *pool;
    directory_class class;
    directory_error e;
    int64_t ms;
} slow;

static int64_t fast_clock(void *baton)
{
    const slow *s = baton;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t real = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return s->faster_since ? s->faster_since + (real - s->faster_since) * s->speed : real;
}

static slow slows[] = {
    {{"black hole before TLS", RULE("on => 'connect', do => 'silence'"), FIND, TRANSIENT, NULL},
     1,
     1000,
     .start_tls = 0},
    {{"black hole at StartTLS", RULE("on => 'startTls', do => 'silence'"), FIND, TRANSIENT, NULL},
     1,
     1000,
     .start_tls = 1},
    {{"black hole in the handshake", RULE("on => 'handshake', do => 'stall', bytes => 200"), FIND,
      TRANSIENT, NULL},
     1,
     1000,
     .start_tls = 0},
    {{"handshake that drips", RULE("on => 'handshake', do => 'drip', ms => 100"), FIND, TRANSIENT,
      NULL},
     1,
     1000,
     .start_tls = 0},
    {{"black hole behind TLS", RULE("on => 'bind', do => 'silence'"), FIND, TRANSIENT, NULL},
     1,
     1000,
     .start_tls = 0},
    {{"bind answered with a foreign message ID", RULE("on => 'bind', do => 'foreign'"), FIND,
      TRANSIENT, NULL},
     1,
     1000,
     .start_tls = 0},
    {{"black hole behind the bind", RULE(HIS "do => 'silence'"), FIND, TRANSIENT, NULL},
     4,
     10000,
     .start_tls = 0},
    {{"answer with a foreign message ID", RULE(HIS "do => 'foreign'"), FIND, TRANSIENT, NULL},
     4,
     10000,
     .start_tls = 0},
    {{"answer that drips", RULE(HIS "do => 'drip', ms => 100"), FIND, TRANSIENT, NULL},
     4,
     10000,
     .start_tls = 0},
    {{"answer that stalls in mid-message", RULE(HIS "do => 'stall', bytes => 90"), FIND, TRANSIENT,
      NULL},
     4,
     10000,
     .start_tls = 0},
    {{"write into a black hole", RULE("on => 'modify', do => 'silence'"), DISABLE, DIRECTORY_UNSURE,
      DIRECTORY_TRANSIENT, NULL},
     4,
     10000,
     .start_tls = 0},
    {{"sync that falls silent", RULE("on => 'page', after => 20, do => 'silence'"), SYNC, TRANSIENT,
      NULL},
     16,
     30000,
     .start_tls = 0},
    {{"sync that drips", RULE("on => 'page', after => 20, do => 'drip', ms => 100"), SYNC,
      TRANSIENT, NULL},
     16,
     30000,
     .start_tls = 0},
};
#define SLOWS (sizeof slows / sizeof *slows)

static void *slow_run(void *baton)
{
    slow *s = baton;
    directory *d = NULL;
    cache_summary summary = {0};
    directory_error e = {0};
    s->class = ops->open(&d, &s->env, s->tenant, IDA_DIR_ON_PREMISES, s->pool, &e);
    if (!s->class && s->speed > 1) {
        directory_user user;
        int tries = 0;
        do { /* all begin at once: on a busy machine some peer may be late */
            s->class = ops->find(d, s->pool, NULL, "person0001@peer.example", &user, &e);
        } while (s->class == DIRECTORY_TRANSIENT && ++tries < 10);
        s->faster_since = ida_monotonic(&s->env);
    }
    int64_t start = ida_monotonic(&s->env);
    if (!s->class) {
        s->class = make_call(d, s->pool, s->cache, s->f.what, &summary, &e);
    }
    s->ms = ida_monotonic(&s->env) - start;
    s->e = e;
    ops->close(d);
    return NULL;
}

static void slow_faults(const ida_tenant *usual)
{
    (void)usual;
    cache_summary summary = {0};
    /* Each has a script of its own: a fault in one must not hit another. */
    perl("$main::slow = " PEER "->new(like => $main::p, users => 60, sites => %zu); 'ok'", SLOWS);
    for (size_t i = 0; i < SLOWS; i++) {
        slow *s = &slows[i];
        perl("$main::s%zu = $main::slow->site(%zu); 'ok'", i, i);
        s->tenant = tenant_on(
            ida_printf(pool, "slow%zu", i), ida_printf(pool, "s%zu", i),
            s->start_tls
                ? ida_printf(pool, "urls => [$main::s%zu->url], startTls => JSON::PP::true()", i)
                : "");
        s->env = env;
        s->env.monotonic = fast_clock;
        s->env.baton = s;
        apr_pool_create(&s->pool, NULL);
        s->cache = store_make(s->pool, dsn, DB_SYNC);
        if (s->f.what == SYNC) {
            is_class(sync_on(s->tenant, &summary, &s->e), DIRECTORY_OK, &s->e,
                     ida_printf(pool, "%s: well at first", s->f.name));
        }
        perl("$main::s%zu->script(%s); 'ok'", i, s->f.script);
    }
    for (size_t i = 0; i < SLOWS; i++) {
        pthread_create(&slows[i].thread, NULL, slow_run, &slows[i]);
    }
    for (size_t i = 0; i < SLOWS; i++) {
        slow *s = &slows[i];
        pthread_join(s->thread, NULL);
        check(&s->f, s->class, &s->e);
        ok(s->ms >= s->least, "%s: not given up before its time (%lld ms)", s->f.name,
           (long long)s->ms);
        if (s->f.what == SYNC) {
            is_int(users_cached(s->tenant->id), 60, "and the cache is as it was");
        }
        store_disconnect(s->cache);
        apr_pool_destroy(s->pool);
    }
    perl("$main::slow->stop; 'ok'");
}

int main(void)
{
    slapd_start("start => 0");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    is_str(perl("require " PEER "; $main::p = " PEER "->new(users => 60); 'ok'"), "ok",
           "a scripted peer");
    const ida_tenant *tenant = tenant_on("peer", "p", "");
    dsn = store_beside(&cache);
    directory_error e = {0};
    directory_user user;
    cache_summary summary;
    is_class(sync_on(tenant, &summary, &e), DIRECTORY_OK, &e, "a first sync");
    is_int(users_cached("peer"), 60, "sixty users");
    directory *d = open_with(tenant);
    is_class(ops->find(d, pool, NULL, "person0005@peer.example", &user, &e), DIRECTORY_OK, &e,
             "one of them");
    person_id = user.id;
    ops->close(d);
    static const struct {
        const char *name;
        void (*run)(const ida_tenant *);
    } parts[] = {{"quick faults", quick_faults},           {"owners", owners_unknown},
                 {"results of a bind", every_bind_result}, {"between calls", between_calls},
                 {"lost answers", lost_answers},           {"pages", pages},
                 {"two authorities", two_authorities},     {"slow faults", slow_faults}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        int64_t start = ida_monotonic(&env);
        parts[i].run(tenant);
        printf("# %s: %lld ms\n", parts[i].name, (long long)(ida_monotonic(&env) - start));
    }
    store_disconnect(cache);
    return done();
}
