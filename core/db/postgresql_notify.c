/* Owns waking up those who wait for work: NOTIFY and LISTEN. */
#include <apr_strings.h>
#include <poll.h>
#include <string.h>

#include "core/db/postgresql.h"

ida_kind pg_notify(db *d, ida_ctx *c, const char *channel)
{
    pg_db *p = (pg_db *)d;
    Oid type = OID_TEXT;
    int sent = PQsendQueryParams(p->conn, "SELECT pg_notify($1, '')", 1, &type, &channel, NULL,
                                 NULL, 0);
    PGresult *result = sent ? pg_await(p) : NULL;
    if (!pg_is_good(result)) {
        return pg_fault(p, c, "notify", result);
    }
    PQclear(result);
    return IDA_OK;
}

static int take_notification(pg_db *p)
{
    int any = 0;
    for (PGnotify *n; (n = PQnotifies(p->conn)) != NULL; any = 1) {
        PQfreemem(n);
    }
    return any;
}

static ida_kind listen_to(pg_db *p, ida_ctx *c, const char *channel)
{
    if (p->listening && strcmp(p->listening, channel) == 0) {
        return IDA_OK;
    }
    char *name = PQescapeIdentifier(p->conn, channel, strlen(channel));
    ida_kind kind = pg_command(
        p, c, "listen", apr_psprintf(c->pool, "UNLISTEN *; LISTEN %s", name ? name : "idadmin"),
        NULL);
    PQfreemem(name);
    if (!kind) {
        p->listening = apr_pstrdup(p->head.pool, channel);
    }
    return kind;
}

void pg_wait(db *d, ida_ctx *c, const char *channel, int ms)
{
    pg_db *p = (pg_db *)d;
    int64_t deadline = db_clock() + ms;
    if (p->pooler || d->in_write || d->in_read || listen_to(p, c, channel) != IDA_OK) {
        db_sleep(ms);
        return;
    }
    while (!take_notification(p)) {
        int64_t left = deadline - db_clock();
        struct pollfd fd = {PQsocket(p->conn), POLLIN, 0};
        if (left <= 0) {
            return;
        }
        int ready = poll(&fd, 1, (int)left);
        if (ready < 0) {
            return; /* a signal: the caller checks its flags */
        }
        if (ready > 0 && !PQconsumeInput(p->conn)) {
            pg_lost(p, c, "wait", PQerrorMessage(p->conn));
            left = deadline - db_clock();
            db_sleep(left > 0 ? (int)left : 0);
            return;
        }
    }
}
