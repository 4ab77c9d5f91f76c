/* Shared by the worker's model checks: a company with its worker in this process, and a request
 * over REST to it. Included by t/unit/worker/model.c and namesakes.c, whose state it is part of. */
#ifndef T_UNIT_MODEL_COMPANY_H
#define T_UNIT_MODEL_COMPANY_H

#define MINUTE INT64_C(60000)

static char company[40];
static store *main_store, *cache_store;
static apr_pool_t *life_pool, *round_pool;
static worker w;
static runner rn;
static call_slot slots[2];
static int wrong, keys;

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (wrong++ < 12) {
        printf("# %s: ", company);
        vprintf(format, args);
        printf("\n");
    }
    va_end(args);
}

static void silent(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)level;
    if (parameter("log", 0)) {
        printf("# %s %s\n", id ? id : "", message);
    }
}

static ida_ctx *ctx(void)
{
    return ida_ctx_make(&env, round_pool);
}

/* Starts a worker process with a session for the company's directory. */
static session *start_worker(ida_directory_kind kind)
{
    worker_config config = {
        .store = dsn, .spool = "/nonexistent", .seal_key = "/nonexistent", .threads = 1};
    worker_init(&w, &env, &config, life_pool);
    memset(slots, 0, sizeof slots);
    w.calls = slots;
    w.call_count = 2;
    rn = (runner){.w = &w,
                  .env = w.env,
                  .main = main_store,
                  .cache = cache_store,
                  .sessions = {.w = &w, .env = &rn.env}};
    session *s = apr_pcalloc(life_pool, sizeof *s);
    apr_pool_create(&s->pool, life_pool);
    apr_pool_create(&s->dir_pool, s->pool);
    snprintf(s->tenant_id, sizeof s->tenant_id, "%s", company);
    s->kind = kind;
    s->ops = &model_ops;
    s->dir = (directory *)accounts;
    ida_ctx *lasting = ida_ctx_make(&env, life_pool);
    if (store_tenant_get(main_store, lasting, company, &s->tenant, &s->revision)) {
        complain("no tenant: %s", lasting->message);
    }
    rn.sessions.first = s;
    rn.sessions.count = 1;
    return s;
}

typedef struct answer {
    int status, replayed;
    json_t *data;
    const char *message, *task;
} answer;

static answer rest_request(const ida_tenant *tenant, const char *method, const char *uri,
                           const char *query, const char *body, const char *key)
{
    ida_principal principal = {
        .company = company, .username = "hr", .label = "", .access = IDA_ACCESS_FULL};
    ida_ctx *c = ctx();
    answer out = {0};
    ida_question asked = {.principal = &principal, .tenant = tenant, .synced = 1};
    ida_call call = {.c = c, .asked = &asked, .source = store_source_of(c->pool, main_store)};
    ida_route route;
    ida_rest_request request = {.asked = &asked,
                                .route = &route,
                                .method = method,
                                .query = query,
                                .content_type = body ? "application/json" : NULL,
                                .has_body = body != NULL,
                                .body = body,
                                .body_len = body ? strlen(body) : 0,
                                .idempotency_key = key};
    ida_rest_answer rest;
    ida_route_find(c->pool, &ida_rest_face, method, uri, &route);
    if (!ida_rest_admit(&call, &request, &rest)) {
        ida_rest_run(&call, &request, &rest);
    }
    json_t *parsed = ida_json_load(c->pool, rest.body);
    out.status = rest.status;
    out.replayed = call.replayed;
    out.data = json_object_get(parsed, "data");
    out.message = ida_json_string(json_object_get(parsed, "error"), "message");
    out.task = ida_json_string(out.data, "taskId");
    return out;
}

static void put_due(json_t *body, const char *zone, int64_t at)
{
    const char *text = zone_schedule_local(ctx(), zone, at);
    ida_json_put(body, "date", apr_pstrndup(round_pool, text, 10));
    ida_json_put(body, "time", apr_pstrndup(round_pool, text + 11, 5));
}

#endif
