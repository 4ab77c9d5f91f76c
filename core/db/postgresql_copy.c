/* Owns COPY: rows in the server's text form, sent block by block while it takes in those before.
 * Must not know what the rows are. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "core/db/postgresql.h"

#define BLOCK (64 * 1024)

typedef struct outgoing {
    pg_db *p;
    int64_t deadline;
    int lost; /* nothing can be sent any more */
    size_t len;
    char *bytes; /* BLOCK of them */
} outgoing;

/* Until libpq has handed everything to the kernel. What the server says meanwhile is read, else
 * both sides might wait. */
static void drain(outgoing *o)
{
    PGconn *conn = o->p->conn;
    int left;
    while (!o->lost && (left = PQflush(conn)) != 0) {
        int64_t ms = o->deadline - db_clock();
        struct pollfd fd = {PQsocket(conn), POLLIN | POLLOUT, 0};
        o->lost = left < 0 || ms <= 0 || poll(&fd, 1, (int)ms) == 0 ||
                  ((fd.revents & POLLIN) && !PQconsumeInput(conn));
    }
}

static void send_block(outgoing *o)
{
    if (!o->lost && o->len) {
        o->lost = PQputCopyData(o->p->conn, o->bytes, (int)o->len) != 1;
        drain(o);
    }
    o->len = 0;
}

/* Blocks end anywhere. */
static void put(outgoing *o, const char *bytes, size_t len)
{
    while (len) {
        size_t some = len < BLOCK - o->len ? len : BLOCK - o->len;
        memcpy(o->bytes + o->len, bytes, some);
        o->len += some;
        bytes += some;
        len -= some;
        if (o->len == BLOCK) {
            send_block(o);
        }
    }
}

static void put_text(outgoing *o, const char *text)
{
    static const char escapes[256] = {['\\'] = '\\', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    if (!text) {
        put(o, "\\N", 2);
        return;
    }
    for (const char *from = text;; from = ++text) {
        while (*text && !escapes[(unsigned char)*text]) {
            text++;
        }
        put(o, from, (size_t)(text - from));
        if (!*text) {
            return;
        }
        const char escaped[] = {'\\', escapes[(unsigned char)*text]};
        put(o, escaped, sizeof escaped);
    }
}

static void put_arg(outgoing *o, const db_arg *arg)
{
    char number[24];
    if (arg->kind == 'i') {
        snprintf(number, sizeof number, "%lld", (long long)arg->number);
    }
    put_text(o, arg->kind == 'i' ? number : arg->text);
}

static void put_rows(outgoing *o, const db_arg *fixed, size_t fixed_count,
                     const char *const *values, int columns, int rows)
{
    for (int row = 0; row < rows && !o->lost; row++) {
        for (size_t i = 0; i < fixed_count; i++) {
            put_arg(o, &fixed[i]);
            put(o, "\t", 1);
        }
        for (int i = 0; i < columns; i++) {
            put_text(o, *values++);
            put(o, i + 1 < columns ? "\t" : "\n", 1);
        }
    }
    send_block(o);
}

ida_kind pg_copy(db *d, ida_ctx *c, db_statement statement, const db_arg *fixed, size_t fixed_count,
                 const char *const *values, int columns, int rows)
{
    pg_db *p = (pg_db *)d;
    const char *name = db_statements[statement].name;
    outgoing o = {.p = p, .deadline = pg_deadline(p), .bytes = apr_palloc(c->pool, BLOCK)};
    PGresult *result = PQsendQuery(p->conn, pg_text(statement)) ? pg_next(p, o.deadline) : NULL;
    if (PQresultStatus(result) != PGRES_COPY_IN) {
        PQclear(result && !d->broken && PQstatus(p->conn) == CONNECTION_OK
                    ? pg_await(p)
                    : NULL); /* the end of its answer */
        return pg_fault(p, c, name, result);
    }
    PQclear(result);
    PQsetnonblocking(p->conn, 1);
    put_rows(&o, fixed, fixed_count, values, columns, rows);
    if (!o.lost) {
        o.lost = PQputCopyEnd(p->conn, NULL) != 1;
        drain(&o);
    }
    d->broken |= o.lost;
    if (!o.lost) {
        PQsetnonblocking(p->conn, 0);
    }
    result = o.lost ? NULL : pg_await(p);
    if (!pg_is_good(result)) {
        return pg_fault(p, c, name, result);
    }
    PQclear(result);
    return IDA_OK;
}
