/* One company's rows can be separated from another's: tenant_id comes first in every key of a
 * table that has it, on both engines, and every statement names the tenant of each such table
 * that it reads or changes, except a few that look across companies. */
#include <apr_tables.h>
#include <ctype.h>
#include <sqlite3.h>

#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Claims, timers, turns of companies, retention. Then the index of people's terms, whose keys
 * are numbers: a rank, which begins with the tenant's number (core/cache/rank.c), or a segment,
 * which belongs to one tenant. */
static const char *const across[] = {
    "audit_chain_next",   "audit_check_due",      "audit_outbox_next",  "checkpoint_unsent",
    "directory_held",     "directory_check_next", "idempotency_retain", "queue_head",
    "queue_next_zone",    "queue_outlook",        "queue_running",      "queue_spread",
    "queue_zone_changes", "receiver_due",         "tenant_list",        "people_match",
    "people_match_count", "people_terms_count",   "place_behind",       "place_clear",
    "place_further",      "place_shelf",          "segment_cut",        "people_idle_few",
    "people_holding_few", "people_unmanaged_few", "terms_merge_pays",
};
static int needed[COUNT(across)];
/* Tables without a tenant: those of the whole store, and those of SQLite's index by rank. */
static const char *const without[] = {
    "audit.chain_key",
    "audit.spool_position",
    "cache.person_stale",
    "schema_version",
    "setting",
    "tenant",
    "worker",
};

/* Its position in the list, from 1; 0: not in it. */
static size_t among(const char *name, const char *const *list, size_t count)
{
    while (count && strcmp(name, list[count - 1]) != 0) {
        count--;
    }
    return count;
}

/* --- keys --- */

static apr_array_header_t *tables; /* tables with a tenant_id, as statements write them */

/* Rows of (schema, table) with (schema, table, key, its first column) for each key; "": none. */
static void judge(const char *schema, const char *table, const char *key, const char *first)
{
    const char *name = strcmp(schema, "main") == 0 || strcmp(schema, "public") == 0
                           ? apr_pstrdup(pool, table)
                           : apr_pstrcat(pool, schema, ".", table, NULL);
    if (among(name, without, COUNT(without))) {
        return;
    }
    APR_ARRAY_PUSH(tables, const char *) = name;
    ok(strcmp(first, "tenant_id") == 0, "%s: %s begins with tenant_id (%s)", name, key, first);
}

/* The first columns of all primary, unique and foreign keys. SQLite's rank is unique in its
 * file, because the index of terms has only a number; it begins with the tenant's. */
static const char sqlite_keys[] =
    "SELECT l.schema, l.name, 'a table', COALESCE((SELECT name FROM pragma_table_info(l.name, "
    "l.schema) WHERE name = 'tenant_id'), 'nothing') FROM pragma_table_list l WHERE l.type = "
    "'table' AND l.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' UNION ALL SELECT l.schema, l.name, "
    "i.name, (SELECT x.name FROM pragma_index_info(i.name, l.schema) x WHERE x.seqno = 0) FROM "
    "pragma_table_list l JOIN pragma_index_list(l.name, l.schema) i WHERE i.\"unique\" AND l.type "
    "= 'table' AND i.name <> 'directory_user_place' UNION ALL SELECT l.schema, l.name, "
    "'references ' || f.\"table\", f.\"from\" FROM pragma_table_list l JOIN "
    "pragma_foreign_key_list(l.name, l.schema) f WHERE f.seq = 0";
static const char postgresql_keys[] =
    "SELECT c.table_schema, c.table_name, 'a table', CASE WHEN bool_or(c.column_name = "
    "'tenant_id') THEN 'tenant_id' ELSE 'nothing' END FROM information_schema.columns c WHERE "
    "c.table_schema IN ('public', 'cache', 'audit') GROUP BY 1, 2 UNION ALL SELECT "
    "n.nspname, t.relname, i.indexrelid::regclass::text, a.attname FROM pg_index i JOIN pg_class t "
    "ON t.oid = i.indrelid JOIN pg_namespace n ON n.oid = t.relnamespace JOIN pg_attribute a ON "
    "a.attrelid = t.oid AND a.attnum = i.indkey[0] WHERE i.indisunique AND n.nspname IN ('public', "
    "'cache', 'audit') UNION ALL SELECT n.nspname, t.relname, o.conname, a.attname FROM "
    "pg_constraint o JOIN pg_class t ON t.oid = o.conrelid JOIN pg_namespace n ON n.oid = "
    "t.relnamespace JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = o.conkey[1] WHERE "
    "o.contype = 'f'";

static int each_row(void *baton, int count, char **values, char **names)
{
    (void)baton, (void)count, (void)names;
    judge(values[0], values[1], values[2], values[3] ? values[3] : "an expression");
    return 0;
}

static void keys_in_sqlite(const char *dsn)
{
    sqlite3 *file;
    char *fault = NULL;
    const char *path = dsn + strlen("sqlite3:");
    const char *stem = apr_pstrmemdup(pool, path, strlen(path) - strlen(".db"));
    is_int(sqlite3_open(path, &file), SQLITE_OK, "the file is opened");
    sqlite3_exec(file,
                 apr_psprintf(pool, "ATTACH '%s-cache.db' AS cache; ATTACH '%s-audit.db' AS audit",
                              stem, stem),
                 NULL, NULL, NULL);
    is_int(sqlite3_exec(file, sqlite_keys, each_row, NULL, &fault), SQLITE_OK, "its keys");
    sqlite3_free(fault);
    sqlite3_close(file);
}

static void keys_in_postgresql(const char *dsn)
{
    PGconn *conn = PQconnectdb(dsn + strlen("pgsql:"));
    PGresult *r = PQexec(conn, postgresql_keys);
    is_int(PQresultStatus(r), PGRES_TUPLES_OK, "its keys");
    for (int i = 0; i < PQntuples(r); i++) {
        judge(PQgetvalue(r, i, 0), PQgetvalue(r, i, 1), PQgetvalue(r, i, 2), PQgetvalue(r, i, 3));
    }
    PQclear(r);
    PQfinish(conn);
}

/* --- statements --- */

/* The text without its quoted literals. */
static char *without_literals(const char *text)
{
    char *out = apr_pstrdup(pool, text), *to = out;
    for (int within = 0; *text; text++) {
        within ^= *text == '\'';
        if (!within || *text == '\'') {
            *to++ = *text;
        }
    }
    *to = '\0';
    return out;
}

static char *cut(char *text, const char *word)
{
    char *at = strstr(text, word);
    if (at) {
        *at = '\0';
        at += strlen(word);
    }
    return at;
}

static const char *word_of(const char **text)
{
    const char *from = *text + strspn(*text, " ");
    size_t length = strspn(from,
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_.0123456789");
    *text = from + (length ? length : *from != '\0');
    return apr_pstrmemdup(pool, from, (apr_size_t)(*text - from));
}

/* Whether the condition names the table's tenant_id; without the table's name if there is no
 * other table. */
static int named(const char *condition, const char *name, int alone)
{
    int found = 0;
    while (!found && *condition) {
        const char *word = word_of(&condition), *dot = strchr(word, '.');
        found = dot ? strcmp(dot + 1, "tenant_id") == 0 &&
                          strncmp(word, name, (size_t)(dot - word)) == 0 && !name[dot - word]
                    : alone && strcmp(word, "tenant_id") == 0;
    }
    return found;
}

/* One SELECT, UPDATE or DELETE without nested ones; NULL or the table whose tenant it omits. */
static const char *part_fault(char *part)
{
    static const char *const ends[] = {" ORDER BY ", " GROUP BY ", " ON CONFLICT ", " RETURNING "};
    static const char *const before[] = {"FROM", "JOIN", "USING", "UPDATE"};
    const char *own[16], *names[16], *last = "", *at = part;
    int count = 0, update = strncmp(part, "UPDATE", 6) == 0;
    for (size_t i = 0; i < COUNT(ends); i++) {
        cut(part, ends[i]);
    }
    while (*at) {
        const char *word = word_of(&at);
        int table = among(word, before, COUNT(before)) != 0 && strcmp(last, "DISTINCT") != 0;
        last = word;
        if (!table) {
            continue;
        }
        own[count] = word_of(&at);
        const char *dot = strchr(own[count], '.'), *ahead = at, *alias = word_of(&ahead);
        alias = strcmp(alias, "AS") == 0 ? word_of(&ahead) : alias;
        names[count] = islower((unsigned char)*alias) ? alias : dot ? dot + 1 : own[count];
        count += count < 15 &&
                 among(own[count], (const char *const *)tables->elts, (size_t)tables->nelts);
    }
    const char *condition = strstr(part, update ? " WHERE " : "FROM ");
    for (int i = 0; i < count; i++) {
        if (!condition || !named(condition, names[i], count == 1)) {
            return own[i];
        }
    }
    return NULL;
}

/* The columns of an INSERT include the tenant. */
static const char *insert_fault(const char *part)
{
    const char *at = strstr(part, "INTO ") + strlen("INTO "), *table = word_of(&at);
    const char *columns = apr_pstrmemdup(pool, at, strcspn(at, ")"));
    return among(table, (const char *const *)tables->elts, (size_t)tables->nelts) &&
                   !strstr(columns, "tenant_id")
               ? table
               : NULL;
}

/* The same for all parts of a UNION, and for an INSERT's source. */
static const char *parts_fault(char *text)
{
    const char *fault = NULL;
    for (char *next = text; !fault && next;) {
        char *part = next, *insert = strstr(part, "INSERT ");
        next = cut(part, " UNION ");
        fault = insert ? insert_fault(insert) : NULL;
        part = insert ? strstr(insert, " SELECT ") : part;
        fault = fault || !part ? fault : part_fault(part + strspn(part, " "));
    }
    return fault;
}

/* From the innermost part outwards: a checked part is removed with its brackets. */
static const char *statement_fault(const char *statement)
{
    static const char *const begins[] = {"(SELECT ", "(INSERT ", "(WITH ", "(UPDATE ", "(DELETE "};
    char *text = without_literals(statement);
    const char *fault = NULL;
    for (;;) {
        char *inner = NULL;
        for (size_t i = 0; i < COUNT(begins); i++) {
            for (char *at = text; (at = strstr(at, begins[i])) != NULL; at++) {
                inner = at > inner ? at : inner;
            }
        }
        if (!inner || fault) {
            break;
        }
        char *end = inner + 1;
        for (int depth = 1; *end && (depth += (*end == '(') - (*end == ')')) != 0; end++) {}
        fault = parts_fault(apr_pstrmemdup(pool, inner + 1, (apr_size_t)(end - inner - 1)));
        memmove(inner + 1, end, strlen(end) + 1);
    }
    fault = fault ? fault : parts_fault(text);
    /* A statement for one tenant has the tenant as an argument. */
    return fault || strncmp(statement, "INSERT", 6) == 0 || !strstr(statement, "tenant_id") ||
                   strstr(statement, "tenant_id = ?") || strstr(statement, "tenant_id, '') = ?") ||
                   strstr(statement, "t.id = ?1")
               ? fault
               : "the tenant itself";
}

static void statements(int postgresql)
{
    for (int i = 0; i < STMT_COUNT; i++) {
        const char *fault = statement_fault(postgresql ? db_statements[i].postgresql
                                                       : db_statements[i].sqlite);
        size_t listed = among(db_statements[i].name, across, COUNT(across));
        if (fault && listed) {
            needed[listed - 1] = 1;
        } else if (fault) {
            ok(0, "%s names the tenant of %s", db_statements[i].name, fault);
        }
    }
    ok(STMT_COUNT > 300, "%d statements", STMT_COUNT);
}

/* Faults that the scanner must find. */
static void test_scanner(void)
{
    const char *const faults[] = {
        "SELECT id FROM task WHERE id = ?1",
        "SELECT t.tenant_id FROM task t WHERE t.id = ?1",
        "UPDATE task SET seat = 1 WHERE id = ?1",
        "DELETE FROM task_step WHERE task_id = 'tenant_id = ?1'",
        "SELECT id FROM task t JOIN task_step s ON s.task_id = t.id WHERE t.tenant_id = ?1",
        "SELECT id FROM task t WHERE t.tenant_id = ?1 AND EXISTS (SELECT 1 FROM task_step s WHERE "
        "s.task_id = t.id)",
        "SELECT id FROM task WHERE tenant_id = ?1 UNION SELECT id FROM task",
        "INSERT INTO task_step (tenant_id) SELECT ?1 FROM task WHERE id = ?2 ON CONFLICT "
        "(tenant_id) DO NOTHING",
        "SELECT s.id FROM task t JOIN task_step s ON s.tenant_id = t.tenant_id",
        "INSERT INTO task (id) VALUES (?1)",
        "WITH x AS (SELECT 1) INSERT INTO task (id) SELECT ?1",
    };
    const char *const good[] = {
        "SELECT id FROM task WHERE tenant_id = ?1 AND id = ?2",
        "UPDATE task AS t SET seat = 1 WHERE t.tenant_id = ?1 AND t.id = ?2",
        ("SELECT id FROM task t JOIN task_step s ON s.tenant_id = t.tenant_id WHERE t.tenant_id = "
         "?1"),
        "INSERT INTO task (tenant_id, id) VALUES (?1, ?2)",
        "SELECT value FROM setting WHERE name = ?1",
    };
    for (size_t i = 0; i < COUNT(faults); i++) {
        ok(statement_fault(faults[i]) != NULL, "leaves the tenant out: %s", faults[i]);
    }
    for (size_t i = 0; i < COUNT(good); i++) {
        ok(statement_fault(good[i]) == NULL, "names it: %s", good[i]);
    }
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        printf("# %s\n", name);
        tables = apr_array_make(pool, 64, sizeof(char *));
        (i == 0 ? keys_in_sqlite : keys_in_postgresql)(dsn);
        test_scanner();
        statements(i != 0);
    }
    for (size_t i = 0; i < COUNT(across) && store_engines() > 1; i++) {
        ok(needed[i], "%s looks across companies", across[i]);
    }
    return done();
}
