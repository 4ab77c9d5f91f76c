/* Owns what balancers and orchestrators ask: does this child answer (/live), and would a request be
 * carried out (/ready). Answers without secrets, and without a write to the store.
 *
 * Cheap whatever the rate of questions: a child looks at most once a second, by one thread; others
 * meanwhile get the last result. */
#include "mod_idadmin/writer.h"

#include <pthread.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/base/json.h"

APLOG_USE_MODULE(idadmin);

#define FRESH_MS 1000
#define STALE_MS 10000 /* a look ends sooner, unless the store hangs */
#define WRITER_MS 2000
#define SPOOL_BYTES_MIN 65536 /* a full disk would refuse the next audit record */

static struct {
    pthread_mutex_t lock;
    int64_t at; /* monotonic ms; 0: never looked */
    int looking;
    health_verdict last;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char *const check_names[] = {
    [HEALTH_STORE] = "store", [HEALTH_SPOOL] = "spool", [HEALTH_WRITER] = "writer"};

static int store_is_good(apr_pool_t *pool)
{
    ida_ctx *c = ida_ctx_make(&child->env, pool);
    store *s;
    if (child->source->acquire(child->source, c, "", &s)) {
        return 0;
    }
    ida_kind kind = store_schema_look(s, c);
    child->source->release(child->source, s);
    return kind == IDA_OK;
}

static int spool_is_good(void)
{
    const char *spool = config_spool(child->server);
    struct statvfs disk;
    return access(spool, W_OK | X_OK) == 0 && statvfs(spool, &disk) == 0 &&
           (uint64_t)disk.f_bavail * disk.f_frsize >= SPOOL_BYTES_MIN;
}

static health_verdict look(apr_pool_t *pool)
{
    return (health_verdict){.good = {[HEALTH_STORE] = store_is_good(pool),
                                     [HEALTH_SPOOL] = spool_is_good(),
                                     [HEALTH_WRITER] = writer_answers(WRITER_MS)}};
}

health_verdict health_look(apr_pool_t *pool)
{
    const health_verdict nothing = {{0}};
    int64_t now = ida_monotonic(&child->env);
    pthread_mutex_lock(&seen.lock);
    int mine = !seen.looking && (!seen.at || now - seen.at >= FRESH_MS);
    health_verdict verdict = seen.at && now - seen.at < STALE_MS ? seen.last : nothing;
    seen.looking |= mine;
    pthread_mutex_unlock(&seen.lock);
    if (mine) {
        verdict = look(pool);
        pthread_mutex_lock(&seen.lock);
        seen.last = verdict;
        seen.at = ida_monotonic(&child->env);
        seen.looking = 0;
        pthread_mutex_unlock(&seen.lock);
    }
    return verdict;
}

const char *health_check_name(int check)
{
    return check_names[check];
}

/* A client that names only text/plain gets a word, every other one JSON. */
static int wants_text(request_rec *r)
{
    const char *accept = apr_table_get(r->headers_in, "Accept");
    return accept && strncasecmp(accept, "text/plain", 10) == 0;
}

static int answer(request_rec *r, int good, const char *word, json_t *checks)
{
    ida_rest_answer out = {.status = good ? HTTP_OK : HTTP_SERVICE_UNAVAILABLE,
                           .retry_after = good ? 0 : 1};
    json_t *document = ida_json_keep(r->pool,
                                     json_pack("{s:s, s:i, s:o*}", "status", word, "schema",
                                               store_schema_version(), "checks", checks));
    if (wants_text(r)) {
        out.type = "text/plain; charset=utf-8";
        out.body = apr_pstrcat(r->pool, word, "\n", NULL);
    } else {
        out.body = ida_json_text(r->pool, document);
    }
    out.len = strlen(out.body);
    return respond(r, &out);
}

static int ready(request_rec *r)
{
    health_verdict verdict = health_look(r->pool);
    json_t *checks = json_object();
    int good = 1;
    for (int i = 0; i < HEALTH_CHECKS; i++) {
        good &= verdict.good[i];
        json_object_set_new(checks, check_names[i], json_string(verdict.good[i] ? "ok" : "failed"));
    }
    return answer(r, good, good ? "ready" : "unready", checks);
}

int health_handler(request_rec *r)
{
    if (!r->handler || strcasecmp(r->handler, "idadmin-health") != 0) {
        return DECLINED;
    }
    if (!child || !child->source) {
        return HTTP_SERVICE_UNAVAILABLE;
    }
    if (r->method_number != M_GET) {
        return HTTP_METHOD_NOT_ALLOWED;
    }
    const char *slash = strrchr(r->uri, '/'), *last = slash ? slash + 1 : r->uri;
    return strcmp(last, "live") == 0    ? answer(r, 1, "live", NULL)
           : strcmp(last, "ready") == 0 ? ready(r)
                                        : HTTP_NOT_FOUND;
}
