/* What a question to the store costs in processor time: for comparisons that hold on a busy
 * machine. */
#ifndef T_UNIT_METER_H
#define T_UNIT_METER_H

#include <stdio.h>
#include <time.h>

#include "core/db/postgresql.h"
#include "core/store/store.h"
#include "t/unit/tap.h"

/* Processor time of this process and of the server process that serves its connection, so that a
 * busy machine does not matter. */
typedef struct meter {
    char server[64]; /* its account of the time that it ran; "": the store runs in this process */
} meter;

static inline meter meter_of(store *s)
{
    meter m = {""};
    if (s->db->driver == &db_postgresql) {
        snprintf(m.server, sizeof m.server, "/proc/%d/schedstat",
                 PQbackendPID(((const pg_db *)s->db)->conn));
    }
    return m;
}

static inline double meter_seconds(const meter *m)
{
    struct timespec t;
    long long ran = 0;
    FILE *account = *m->server ? fopen(m->server, "r") : NULL;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    if (*m->server && (!account || fscanf(account, "%lld", &ran) != 1)) {
        ok(0, "%s says how long the server's process ran", m->server);
    }
    if (account) {
        fclose(account);
    }
    return (double)t.tv_sec + (double)(t.tv_nsec + ran) / 1e9;
}

#endif
