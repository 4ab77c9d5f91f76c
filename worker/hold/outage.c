/* Owns this process's knowledge of servers that stopped answering. Pure except for its lock:
 * times are arguments. */
#include "worker/hold/outage.h"

#include <stdio.h>
#include <string.h>

#include "worker/hold/rules.h"

static outage *row_of(outages *all, const char *server)
{
    for (int i = 0; i < OUTAGE_SERVERS; i++) {
        if (strcmp(all->rows[i].server, server) == 0) {
            return &all->rows[i];
        }
    }
    return NULL;
}

int64_t hold_outage_wait(outages *all, const char *server, int64_t now, int64_t try_ms)
{
    pthread_mutex_lock(&all->lock);
    outage *o = row_of(all, server);
    int64_t wait = o && o->until > now ? o->until - now : 0;
    if (o && !wait) {
        o->until = now + try_ms;
    }
    pthread_mutex_unlock(&all->lock);
    return wait;
}

int hold_outage_silent(outages *all, const char *server, int64_t begun, int64_t now,
                       uint32_t random)
{
    pthread_mutex_lock(&all->lock);
    outage *o = row_of(all, server);
    int first = !o;
    o = o ? o : row_of(all, "");
    if (o && (first || o->counted_at < begun)) {
        if (first) {
            *o = (outage){.failures = 0};
            snprintf(o->server, sizeof o->server, "%s", server);
        }
        o->failures++;
        o->counted_at = now;
        o->until = now + hold_backoff_ms(o->failures + 1, random);
    }
    pthread_mutex_unlock(&all->lock);
    return first;
}

int hold_outage_over(outages *all, const char *server)
{
    pthread_mutex_lock(&all->lock);
    outage *o = row_of(all, server);
    if (o) {
        *o = (outage){.failures = 0};
    }
    pthread_mutex_unlock(&all->lock);
    return o != NULL;
}
