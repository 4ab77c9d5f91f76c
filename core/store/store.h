/* The store in domain words. A `store` is one connection with its role (a child of httpd and the
 * writer have a few; the worker has one for each thread and role). Work with rows is in the
 * rooms that own them; every function takes (store *, ida_ctx *), returns an ida_kind and
 * allocates in the context's pool. "Not found" is IDA_NOT_FOUND with nothing logged, unless a
 * function says otherwise. */
#ifndef CORE_STORE_STORE_H
#define CORE_STORE_STORE_H

#include <apr_tables.h>
#include <jansson.h>

#include "core/audit/marks.h"
#include "core/base/context.h"
#include "core/db/db.h"

/* Is told of the records (audit_row) that a transaction has put into chains, once it is committed.
 */
typedef void (*store_chained)(ida_ctx *c, const apr_array_header_t *rows);

typedef struct store {
    db *db;
    const char *dsn;
    db_role role;
    apr_pool_t *pool; /* own root of this connection; cleared on reconnect */
    struct store_place
        *place; /* what the process knows of this DSN and role: away since when, next attempt */
    int in_snapshot;     /* store_snapshot's work is running */
    unsigned connection; /* how often it was connected */
    unsigned char cursor_key[32];
    int has_cursor_key;
    const char *audit_key;     /* file of the audit keys, if the process has them; otherwise NULL */
    store_chained chained;     /* NULL: none is told */
    apr_array_header_t *fresh; /* audit_row, of the open transaction; NULL: none */
    /* Of the open transaction: marks that the next audit record of this company takes. */
    char marks[AUDIT_MARKS_MAX], marked[72];
    ida_kind (*end_marks)(struct store *s, ida_ctx *c); /* records those that none took */
} store;

/* Default DSN of this build. */
const char *store_default_dsn(void);
/* "sqlite3:PATH" -> PATH, otherwise NULL. */
const char *store_sqlite_path(const char *dsn);
/* Checks the form of a DSN: NULL if valid, otherwise the rule. */
const char *store_dsn_fault(const char *dsn);
/* Why a DSN must not be used from this place: it contains a password that others on the machine
 * can read. `file`: the configuration file with it; NULL: a command line. NULL if it may be
 * used. */
const char *store_dsn_exposed(apr_pool_t *pool, const char *dsn, const char *file);
/* Seal key file: <store stem>.key next to a SQLite store, ${sysconfdir}/idadmin/seal.key for
 * PostgreSQL. */
char *store_default_seal_key(apr_pool_t *pool, const char *dsn);

/* Makes a handle without connecting; the first use connects. The handle lives in `pool`. */
store *store_make(apr_pool_t *pool, const char *dsn, db_role role);
/* Connects if there is no good connection. IDA_SERVICE_UNAVAILABLE with retry_after 1 if the
 * store is unreachable; a process makes one attempt a second, and other callers are refused at
 * once. */
ida_kind store_connect(store *s, ida_ctx *c);
void store_disconnect(store *s);
/* 1 while the handle has a connection that works. */
int store_is_connected(const store *s);
/* Number of the connection: another one does not see what the last left unfinished. */
unsigned store_connection(const store *s);
/* Of a handle that was connected. */
int store_is_postgresql(const store *s);

/* Inside the writing transaction: wakes those who wait on the channel (PostgreSQL; SQLite's
 * workers poll). */
ida_kind store_notify(store *s, ida_ctx *c, const char *channel);
/* Waits up to ms for that, on a handle that is connected; on SQLite it sleeps. */
void store_wait(store *s, ida_ctx *c, const char *channel, int ms);

/* Maintenance of SQLite's files, nothing on PostgreSQL: writes its log back if that is
 * worthwhile; rewrites the file without deleted data; gives a run more room and takes it back;
 * empties the connection's own staging. */
ida_kind store_checkpoint(store *s, ida_ctx *c);
ida_kind store_compact(store *s, ida_ctx *c);
ida_kind store_run_begins(store *s, ida_ctx *c);
ida_kind store_run_ends(store *s, ida_ctx *c);
ida_kind store_empty_staging(store *s, ida_ctx *c);

/* One read statement, repeated once on a new connection when the connection proved dead. For
 * the rooms that own the rows. */
ida_kind store_read(store *s, ida_ctx *c, db_statement statement, db_args args, db_result *result);
/* One writing statement inside the open transaction, otherwise by store_transaction. For the
 * rooms that own the rows. */
ida_kind store_write(store *s, ida_ctx *c, db_statement statement, db_args args, db_result *result);

/* Runs `work` in one write transaction: committed if it returns IDA_OK, otherwise rolled back.
 * Repeated as a whole (fresh context state, at most 5 s) if the engine asks for it, so `work`
 * must have no effects outside the store, and its baton must be re-settable. Inside an open
 * transaction `work` joins that one. If the connection is lost during the commit, it is unknown
 * whether it took place: IDA_SERVICE_UNAVAILABLE, not repeated. */
typedef ida_kind (*store_work)(store *s, ida_ctx *c, void *baton);
ida_kind store_transaction(store *s, ida_ctx *c, store_work work, void *baton);

/* Same, for reads that must see one state. */
ida_kind store_snapshot(store *s, ida_ctx *c, store_work work, void *baton);

/* Schema: creates or migrates all files; makes settings (cursor key). `steps` gets a line of text
 * for each migration carried out (json array of strings). Refuses a schema newer than it knows, and
 * to migrate under a worker that was alive within the last minute. */
ida_kind store_schema_upgrade(const char *dsn, ida_ctx *c, json_t *steps);
/* IDA_CONFLICT, with what makes a right one, for a database that cannot hold every name. */
ida_kind store_schema_encoding(const char *dsn, ida_ctx *c);
/* The engine's users and what each may do (schema/roles.sql); IDA_CONFLICT where it has none. */
ida_kind store_schema_roles(const char *dsn, ida_ctx *c);
/* At the start of worker and idadminctl: creates a missing or empty cache if the store exists
 * and this process may. Obstacles are reported by the code that then uses it. */
void store_cache_make(const char *dsn, ida_ctx *c);
/* Newest migration number this program knows. */
int store_schema_version(void);
/* A connection checks the schema when it is made. This looks again: IDA_SERVICE_UNAVAILABLE if the
 * store is unreachable, or was upgraded since. */
ida_kind store_schema_look(store *s, ida_ctx *c);

/* Bytes of the store; of a handle that sees all files. */
ida_kind store_size(store *s, ida_ctx *c, int64_t *bytes);

/* Number of main's schema as it is now, and the one that this program knows: a connection that was
 * open when another program upgraded the schema can tell by them. */
ida_kind store_schema_number(store *s, ida_ctx *c, int64_t *number);
int store_schema_version_of(const store *s);
/* IDA_SERVICE_UNAVAILABLE, with the reason "schemaChanged", unless both are equal. For claims, in
 * their transactions. */
#define STORE_SCHEMA_CHANGED "schemaChanged"
ida_kind store_schema_is_ours(store *s, ida_ctx *c);

/* Setting; IDA_NOT_FOUND when absent. */
ida_kind store_setting_get(store *s, ida_ctx *c, const char *name, const char **value);
ida_kind store_setting_set(store *s, ida_ctx *c, const char *name, const char *value);
/* The cursor key (32 bytes), read once and kept in the store handle's pool. */
ida_kind store_cursor_key(store *s, ida_ctx *c, unsigned char key[32]);

#endif
