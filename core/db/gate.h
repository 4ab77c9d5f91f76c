/* The write gate of one SQLite file: at most one holder on the machine, waiters queue in the
 * kernel, a killed holder frees it. */
#ifndef CORE_DB_GATE_H
#define CORE_DB_GATE_H

#include <stdatomic.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct db_gate {
    int fd; /* -1: closed. A descriptor of its own for each connection: flock belongs to the open
               file */
    _Atomic uint32_t *turn; /* shared by all who opened the file: counts departures, so that
                               waiters can sleep on it */
    int held;
    int polite;         /* 1: another one was waiting when this one left */
    int courtesy_ms;    /* how long that one may take to come and go before this one returns; 0: a
                           moment */
    uint32_t departure; /* turn when this one left */
} db_gate;

/* Opens or creates `path` with the mode, group and (as root) owner given. 0 or errno. */
int db_gate_open(db_gate *gate, const char *path, mode_t mode, uid_t owner, gid_t group);
void db_gate_close(db_gate *gate);

/* 0, ETIMEDOUT after `patience_ms`, or the errno of flock. */
int db_gate_take(db_gate *gate, int patience_ms);
void db_gate_leave(db_gate *gate);

#endif
