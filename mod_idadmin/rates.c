/* Owns the rate limits of a request: which names are charged and when, and the answers to
 * callers about them. Must not know how charges are counted. */
#include "mod_idadmin/module.h"

APLOG_USE_MODULE(idadmin);

static int refuse(request_rec *r, limit_kind by, unsigned seconds)
{
    int wait = seconds ? (int)seconds : 1;
    metrics_limited((int)by);
    return request_refuse(
        r, IDA_RATE_LIMIT_EXCEEDED,
        apr_psprintf(r->pool, "Rate limit exceeded. Retry after %d seconds.", wait), wait);
}

/* 1 when admitted. */
static int charge(request_rec *r, limit_kind kind, const char *name, const ida_rate *rate)
{
    quota *q = &request_state_of(r)->quotas[kind];
    q->rate = *rate;
    q->known = 1;
    limit_charge(child->limiter, kind, name, rate, &q->charge);
    return q->charge.admitted;
}

int rates_address(request_rec *r)
{
    const char *name = request_address_name(r);
    if (!request_is_first(r) ||
        charge(r, LIMIT_ADDRESS, name, config_rate(r->server, LIMIT_ADDRESS))) {
        return OK;
    }
    request_say(r, APLOG_DEBUG, "address limit reached by %s", name);
    return refuse(r, LIMIT_ADDRESS,
                  request_state_of(r)->quotas[LIMIT_ADDRESS].charge.retry_after_s);
}

int rates_count_failure(request_rec *r, unsigned *retry_after_s)
{
    limit_cost answer;
    limit_charge(child->limiter, LIMIT_FAILURES, request_address_name(r),
                 config_rate(r->server, LIMIT_FAILURES), &answer);
    *retry_after_s = answer.retry_after_s;
    return answer.admitted;
}

int rates_failure(request_rec *r)
{
    unsigned wait;
    return rates_count_failure(r, &wait) ? HTTP_UNAUTHORIZED : refuse(r, LIMIT_FAILURES, wait);
}

/* Own before tenant's before server's. */
static const ida_rate *rate_for(request_rec *r, const ida_rate *own, const ida_rate *tenants,
                                limit_kind kind)
{
    return own && (own->limit || own->off)  ? own
           : tenants->limit || tenants->off ? tenants
                                            : config_rate(r->server, kind);
}

int rates_person(request_rec *r)
{
    if (!request_is_first(r) ||
        charge(r, LIMIT_PERSON, r->user, config_rate(r->server, LIMIT_PERSON))) {
        return OK;
    }
    request_say(r, APLOG_DEBUG, "person limit reached by %s", r->user);
    int status = refuse(r, LIMIT_PERSON,
                        request_state_of(r)->quotas[LIMIT_PERSON].charge.retry_after_s);
    ida_because(request_state_of(r)->c, "rateLimited", NULL);
    return status;
}

/* A key for which nothing was set has a default, so that its requests never take all threads of a
 * child. */
static unsigned seats_of(const request_state *state)
{
    unsigned own = state->principal->concurrency;
    return own ? own : IDA_CONCURRENCY_DEFAULT;
}

/* A seat of the key until its answer begins, or until the request's pool goes, whichever way the
 * request ends. */
static int take_seat(request_state *state, const char *name)
{
    if (!child->seats) { /* more children than there is room for: what was set is kept to */
        return !state->principal->concurrency;
    }
    int seat = seats_take(child->seats, name, seats_of(state));
    state->seat = seat >= 0 ? seat + 1 : 0;
    return seat >= 0;
}

/* No company's name holds a slash, so that no key shares the seats. */
ida_kind rates_at_once(request_rec *r, const ida_operation *op)
{
    request_state *state = request_state_of(r);
    if (!op->at_once || !child->seats) {
        return IDA_OK;
    }
    int seat = seats_take(child->seats, apr_pstrcat(r->pool, "/", op->name, ":", r->user, NULL),
                          op->at_once);
    state->seat = seat + 1;
    if (seat >= 0) {
        return IDA_OK;
    }
    metrics_limited(METRICS_CONCURRENCY);
    ida_because(state->c, "rateLimited", NULL);
    state->c->retry_after = 1;
    return ida_fail(state->c, IDA_RATE_LIMIT_EXCEEDED,
                    "%u of these requests of yours are under way. Send the next one when one of "
                    "them is answered.",
                    op->at_once);
}

/* draft-ietf-httpapi-ratelimit-headers-10: lists of structured fields, one member a policy.
 * err_headers_out: errors carry them too. */
static void put_headers(request_rec *r)
{
    static const struct {
        limit_kind kind;
        const char *policy;
    } policies[] = {
        {LIMIT_KEY, "key"},
        {LIMIT_COMPANY, "company"},
        {LIMIT_ADDRESS, "address"},
    };
    const request_state *state = request_state_of(r);
    const char *policy = "", *left = "";
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
        const quota *q = &state->quotas[policies[i].kind];
        if (!q->known || q->rate.off || !q->rate.limit) {
            continue;
        }
        const char *comma = *policy ? ", " : "";
        policy = apr_psprintf(r->pool, "%s%s\"%s\";q=%u;w=%u", policy, comma, policies[i].policy,
                              q->rate.limit, q->rate.period_s);
        left = apr_psprintf(r->pool, "%s%s\"%s\";r=%u;t=%u", left, comma, policies[i].policy,
                            q->charge.remaining, q->charge.retry_after_s);
    }
    if (*policy) {
        apr_table_setn(r->err_headers_out, "RateLimit-Policy", policy);
        apr_table_setn(r->err_headers_out, "RateLimit", left);
    }
}

/* Charges nothing; the remaining rates are reported all the same. */
static int refuse_crowd(request_rec *r, const char *name, const ida_rate *key)
{
    request_state *state = request_state_of(r);
    unsigned most = seats_of(state);
    quota *q = &state->quotas[LIMIT_KEY];
    q->rate = *key;
    q->known = 1;
    limit_peek(child->limiter, LIMIT_KEY, name, key, &q->charge);
    put_headers(r);
    state->limited = "concurrency";
    metrics_limited(METRICS_CONCURRENCY);
    request_say(r, APLOG_DEBUG, "concurrency limit reached by %s", name);
    return request_refuse(
        r, IDA_RATE_LIMIT_EXCEEDED,
        apr_psprintf(r->pool,
                     "This API key may have %u request%s under way at the same time. Send the "
                     "next one when one of them is answered.",
                     most, most == 1 ? "" : "s"),
        1);
}

int rates_fixups(request_rec *r)
{
    request_state *state = ap_get_module_config(r->request_config, &idadmin_module);
    if (!state || !state->principal || state->face == FACE_NONE || !request_is_first(r)) {
        return DECLINED;
    }
    const ida_principal *p = state->principal;
    const ida_tenant *tenant = state->caller->tenant;
    const char *name = apr_pstrcat(r->pool, p->company, ":", p->username, NULL);
    const ida_rate *company = rate_for(r, NULL, &tenant->rate_company, LIMIT_COMPANY);
    quota *q = &state->quotas[LIMIT_COMPANY];
    /* Checks the company first, so that its refusals do not use up the key. */
    q->rate = *company;
    q->known = 1;
    limit_peek(child->limiter, LIMIT_COMPANY, p->company, company, &q->charge);
    limit_kind refused_by = LIMIT_COMPANY;
    const ida_rate *key = rate_for(r, &p->rate, &tenant->rate_key, LIMIT_KEY);
    int admitted = q->charge.admitted;
    if (admitted && !take_seat(state, name)) {
        return refuse_crowd(r, name, key);
    }
    if (admitted) {
        refused_by = LIMIT_KEY;
        admitted = charge(r, LIMIT_KEY, name, key);
    }
    if (admitted) {
        refused_by = LIMIT_COMPANY;
        admitted = charge(r, LIMIT_COMPANY, p->company, company);
    }
    put_headers(r);
    if (admitted) {
        return DECLINED;
    }
    request_leave_seat(state);
    state->limited = "";
    request_say(r, APLOG_DEBUG, "%s limit reached by %s",
                refused_by == LIMIT_KEY ? "key" : "company", name);
    return refuse(r, refused_by, state->quotas[refused_by].charge.retry_after_s);
}
