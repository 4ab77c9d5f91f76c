/* Owns the time at which a request may be sent. Must not know its content, only its cost. */
#include "worker/graph/throttle.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "worker/graph/client.h"

#define STRAIN_MS 10000 /* how long a reported percentage counts */
#define BACKOFF_MS 1000 /* of a 429 without Retry-After: doubled each time */
#define BACKOFF_MOST_MS (5 * 60 * 1000)

static atomic_int sharers = 1;

void graph_throttle_share(int workers)
{
    atomic_store(&sharers, workers > 1 ? workers : 1);
}

/* Our part of the limits at present: sharing and strain change while we run. */
static void tune(graph_throttle *t, int64_t now)
{
    double part = 1.0 / atomic_load(&sharers), limit = t->users >= 500  ? 8000
                                                       : t->users >= 50 ? 5000
                                                                        : 3500;
    /* The service counts all of the application. Above 80 % reads give way, so that the queue keeps
     * its rate; above 100 % both. */
    double strain = now < t->strain_until ? t->strain : 0;
    t->writes.rate = GRAPH_WRITES_PER_S * part * (strain > 1.0 ? 0.5 : 1);
    t->writes.burst = fmax(1, GRAPH_WRITES_BURST * part);
    t->units.rate = limit / 10 * GRAPH_UNITS_SHARE * part *
                    (strain > 1.0   ? 0.5
                     : strain > 0.8 ? 0.75
                                    : 1);
    double burst = fmax(20, limit * GRAPH_UNITS_BURST * part);
    if (t->units.burst > 0) { /* as full as it was */
        t->units.level *= burst / t->units.burst;
    }
    t->units.burst = burst;
}

void graph_throttle_init(graph_throttle *t, int64_t now)
{
    memset(t, 0, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    tune(t, now);
    t->writes.at = t->units.at = now;
    /* Nearly empty: the process before us may just have spent what the limit allows. */
    t->writes.level = 1;
    t->units.level = t->units.burst / 2;
}

int64_t graph_bucket_take(graph_bucket *b, int64_t now, double cost, double reserve,
                          int64_t patience)
{
    double level = fmin(b->burst, b->level + (double)(now - b->at) * b->rate / 1000);
    double missing = cost + reserve - level;
    int64_t wait = missing > 0 ? (int64_t)ceil(missing * 1000 / b->rate) : 0;
    b->level = level;
    b->at = now;
    if (wait > patience) {
        return -1;
    }
    b->level -= cost; /* below zero: later requests queue after this one */
    return wait;
}

static int64_t longer(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ms to wait; -1: more than `patience`, and *later is the least time to wait. */
static int64_t turn(graph_throttle *t, int64_t now, graph_effect effect, const graph_request *r,
                    int64_t patience, int64_t *later)
{
    double cost = r->cost > 0 ? r->cost : 1, reserve = r->sync ? t->units.burst / 2 : 0;
    graph_bucket units = t->units;
    tune(t, now);
    int64_t wait = graph_bucket_take(&t->units, now, cost, reserve, patience);
    if (wait < 0) {
        *later = (int64_t)((cost + reserve - t->units.level) * 1000 / t->units.rate);
        return -1;
    }
    if (effect == GRAPH_WRITE) {
        int64_t own = graph_bucket_take(&t->writes, now, 1, 0, patience);
        if (own < 0) {
            *later = (int64_t)((1 - t->writes.level) * 1000 / t->writes.rate);
            t->units = units;
            return -1;
        }
        wait = longer(wait, own);
    }
    return wait;
}

static directory_class held(graph_call *k, int64_t ms, const char *why)
{
    int seconds = (int)((ms + 999) / 1000);
    graph_fail(k, DIRECTORY_THROTTLED, NULL, "%s: %s; nothing is sent for %d s", k->g->origin, why,
               seconds);
    k->e->retry_after_s = seconds;
    return DIRECTORY_THROTTLED;
}

directory_class graph_throttle_enter(graph_throttle *t, graph_call *k, graph_effect effect,
                                     const graph_request *request)
{
    const ida_env *env = k->g->env;
    int64_t now = ida_monotonic(env), left = graph_left(k), later = 0;
    /* Half of what is left is for the request itself. */
    int64_t patience = left / 2 < GRAPH_PACE_MS ? left / 2 : GRAPH_PACE_MS;
    pthread_mutex_lock(&t->lock);
    int64_t until = effect == GRAPH_WRITE ? longer(t->hold_all, t->hold_writes) : t->hold_all;
    int64_t wait = until > now ? 0 : turn(t, now, effect, request, patience, &later);
    pthread_mutex_unlock(&t->lock);
    if (until > now) {
        return held(k, until - now, "the directory asked to slow down");
    }
    if (wait < 0) {
        return held(k, later, "more work is due than the directory's published limits allow");
    }
    if (!graph_rest(k, wait)) {
        return graph_fail(k, DIRECTORY_LOCAL, NULL, "stopped");
    }
    /* Another thread may have been asked to stop while we waited: a request sent now would only
     * count against us. */
    now = ida_monotonic(env);
    pthread_mutex_lock(&t->lock);
    until = effect == GRAPH_WRITE ? longer(t->hold_all, t->hold_writes) : t->hold_all;
    pthread_mutex_unlock(&t->lock);
    return until > now ? held(k, until - now, "the directory asked to slow down") : DIRECTORY_OK;
}

/* "Tenant_Application/Write/app/tenant": whether reads may continue. */
static int writes_only(const char *scope)
{
    const char *slash = scope ? strchr(scope, '/') : NULL;
    return slash && strncasecmp(slash, "/Write/", 7) == 0;
}

int64_t graph_throttle_answered(graph_throttle *t, const ida_env *env, const http_answer *answer)
{
    int64_t now = ida_monotonic(env), wait = 0;
    pthread_mutex_lock(&t->lock);
    if (answer->throttle_percentage) {
        double strain = strtod(answer->throttle_percentage, NULL);
        if (strain > 0 && strain < 100) {
            t->strain = strain;
            t->strain_until = now + STRAIN_MS;
        }
    }
    if (answer->status == 429) {
        int64_t *hold = writes_only(answer->throttle_scope) ? &t->hold_writes : &t->hold_all;
        int told = http_retry_after_ms(answer, ida_now(env));
        if (told >= 0) {
            wait = told > 0 ? told : 1;
        } else if (*hold > now) {
            wait = *hold - now; /* of simultaneous requests: one step is enough */
        } else {
            uint32_t random;
            int64_t most = BACKOFF_MS << (t->refusals < 9 ? t->refusals : 9);
            ida_random(env, &random, sizeof random);
            t->refusals++;
            wait = most + (int64_t)(random % (uint32_t)most);
            wait = wait < BACKOFF_MOST_MS ? wait : BACKOFF_MOST_MS;
        }
        *hold = longer(*hold, now + wait);
    } else if (answer->status >= 200 && answer->status < 300 &&
               longer(t->hold_all, t->hold_writes) <= now) {
        t->refusals = 0;
    }
    pthread_mutex_unlock(&t->lock);
    return wait;
}

void graph_throttle_tenant_size(const graph *g, int64_t users)
{
    graph_throttle *t = &g->client->throttle;
    pthread_mutex_lock(&t->lock);
    t->users = users > t->users ? users
                                : t->users; /* a round that brings changes only sees few of them */
    pthread_mutex_unlock(&t->lock);
}
