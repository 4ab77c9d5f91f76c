/* Audit: a record's text and its cutting; outbox, spool and chain on both engines. */
#include <time.h>

#include "core/base/correlation.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/audit.h"
#include "core/store/chain_key.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static int complaints;

static void count_log(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton, (void)id, (void)message;
    complaints += level <= IDA_LOG_WARN;
}

static audit_record *record(const char *tenant, const char *actor)
{
    audit_record *a = audit_make(fresh(), tenant, "api");
    a->actor = actor;
    a->label = "";
    a->action = "user.create";
    a->target = "anna@contoso.example";
    a->endpoint = "POST /v1/api/user";
    a->parameters = "{\"firstname\":\"Anna\"}";
    a->outcome = "ok";
    return a;
}

static char *filled(size_t len, const char *unit)
{
    char *text = apr_palloc(pool, len + strlen(unit) + 1);
    size_t at = 0;
    for (; at + strlen(unit) <= len; at += strlen(unit)) {
        strcpy(text + at, unit);
    }
    text[at] = '\0';
    return text;
}

/* --- text --- */

/* What older records and those without an identity hash to stays, and no member passes for the
 * one before it. */
static void test_correlation(void)
{
    ida_env bare;
    memset(&bare, 0x5a, sizeof bare);
    ida_env_default(&bare);
    ok(!ida_correlation_id(&bare) && !bare.baton && !bare.seal_key,
       "a new environment is about no request, whatever memory it lies in");
    static const ida_correlation sent = {.id = "hr-4711"};
    ida_ctx *c = fresh();
    ida_env of = ida_env_correlated(c->env, &sent);
    c->env = &of;
    audit_record *a = audit_make(c, "contoso", "api"), *b;
    a->actor = "hr", a->label = "", a->action = "user.get", a->outcome = "ok";
    is_str(a->correlation, "hr-4711", "a record has the identity of the request in hand");
    char *text = audit_encode(pool, a, 0);
    b = audit_decode(pool, text, strlen(text));
    is_str(b ? b->correlation : NULL, "hr-4711", "also when it is read");
    const char *whole = audit_personal_hash(pool, "00", a);
    a->correlation = NULL;
    const char *without = audit_personal_hash(pool, "00", a);
    a->address = "hr-4711";
    const char *moved = audit_personal_hash(pool, "00", a);
    is_str(without, "fd586eb76893f3f9468c412eabd4210e0a256d270e6aceff88e26479a88335a1",
           "without it the hash is the one from before there was any");
    ok(strcmp(whole, without) != 0 && strcmp(whole, moved) != 0, "with it, it is another one");
    char *longer = ida_printf(pool, "%.*s,\"correlation\":\"%s\"}", (int)strlen(text) - 1, text,
                              filled(80, "x"));
    ok(!audit_decode(pool, longer, strlen(longer)), "twice, it is no record");
    char *at = strstr(text, "hr-4711");
    longer = ida_printf(pool, "%.*s%s%s", (int)(at - text), text, filled(65, "x"), at + 7);
    ok(!audit_decode(pool, longer, strlen(longer)), "nor one that is too long");
}

static void test_text(void)
{
    audit_record *a = record("contoso", "hr \"quoted\" \\ \x01 Åsa");
    char *text = audit_encode(pool, a, 0);
    char *bytes = exact(text, strlen(text));
    audit_record *b = audit_decode(pool, bytes, strlen(text));
    ok(b != NULL, "decodes what it encodes");
    is_str(b->actor, a->actor, "actor");
    is_str(b->rid, a->rid, "rid");
    is_str(b->parameters, a->parameters, "parameters");
    is_str(b->label, "", "empty label");
    ok(b->detail == NULL, "no detail");
    is_int(b->at, test_now_ms, "time");
    for (size_t len = 0; len < strlen(text); len++) {
        char *part = exact(text, len);
        if (audit_decode(pool, part, len)) {
            ok(0, "a torn record of %zu bytes is none", len);
        }
        free(part);
    }
    free(bytes);
    static const char *const bad[] = {
        "",
        "[]",
        "null",
        "{}",
        "{\"rid\":1,\"tenant\":\"t\",\"category\":\"api\",\"actor\":\"a\",\"action\":\"x\","
        "\"outcome\":\"ok\",\"at\":1}",
        "{\"rid\":\"r\",\"tenant\":\"t\",\"category\":\"api\",\"actor\":\"a\",\"action\":\"x\","
        "\"outcome\":\"ok\",\"at\":0}",
        "{\"rid\":\"r\",\"tenant\":\"t\",\"category\":\"api\",\"actor\":\"a\",\"action\":\"x\","
        "\"outcome\":\"ok\",\"at\":\"1\"}",
        "{\"rid\":\"\",\"tenant\":\"t\",\"category\":\"api\",\"actor\":\"a\",\"action\":\"x\","
        "\"outcome\":\"ok\",\"at\":1}",
        "{\"rid\":\"r\",\"tenant\":\"t\",\"category\":\"api\",\"actor\":\"a\",\"action\":\"x\","
        "\"outcome\":\"ok\",\"at\":1,\"detail\":{}}",
        "{\"rid\":\"r\",\"tenant\":\"t\",\"category\":\"api\",\"actor\":\"a\\u0000\",\"action\":"
        "\"x\",\"outcome\":\"ok\",\"at\":1}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(audit_decode(pool, bad[i], strlen(bad[i])) == NULL, "no record: %s", bad[i]);
    }
    a->rid = filled(65, "r");
    text = audit_encode(pool, a, 0);
    ok(audit_decode(pool, text, strlen(text)) == NULL,
       "an identity too long for the index is none");
}

static void test_cut(void)
{
    static const char *const units[] = {"x", "\"", "\x02", "å", "𝄞", "\xff", "{\"a\":[1,"};
    const size_t max = AUDIT_MAX - 2;
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        for (int which = 0; which < 16; which++) {
            audit_record *a = record("contoso", "hr");
            a->detail = which & 1 ? filled(9000, units[u]) : "short";
            a->parameters = which & 2 ? filled(7000, units[u]) : a->parameters;
            a->target = which & 4 ? filled(5000, units[u]) : a->target;
            a->actor = which & 8 ? filled(6000, units[u]) : a->actor;
            char *text = audit_encode(pool, a, max);
            audit_record *b = text ? audit_decode(pool, text, strlen(text)) : NULL;
            int good = text && strlen(text) <= max && b && strcmp(b->rid, a->rid) == 0 &&
                       strcmp(b->action, "user.create") == 0;
            if (good && which & 2) {
                json_t *parameters = json_loads(b->parameters, 0, NULL);
                good = json_is_object(parameters);
                json_decref(parameters);
            }
            if (good && !(which & 8)) {
                good = strcmp(b->actor, "hr") == 0;
            }
            /* No more is cut than necessary: the text comes close to the limit. */
            if (good && which && (units[u][0] == 'x')) {
                good = strlen(text) > max - 40;
            }
            if (!good) {
                ok(0, "cut %zu/%d: %zu bytes", u, which, text ? strlen(text) : 0);
                return;
            }
        }
    }
    ok(1, "every long record is cut to %zu bytes, stays a record, and its parameters stay JSON",
       max);
    audit_record *a = record("contoso", "hr");
    a->detail = filled(3000, "d");
    a->parameters = apr_pstrcat(pool, "\"", filled(1500, "p"), "\"", NULL);
    char *text = audit_encode(pool, a, max);
    audit_record *b = audit_decode(pool, text, strlen(text));
    is_str(b->parameters, a->parameters, "detail is cut before parameters");
    ok(strstr(b->detail, "…") != NULL, "with a mark");
    ok(audit_encode(pool, a, 80) == NULL, "no record fits into 80 bytes");
}

static void test_hashes(void)
{
    audit_record *a = record("contoso", "hr"), *b = record("contoso", "hr");
    b->rid = a->rid;
    const char *hash = audit_personal_hash(pool, "00", a);
    is_str(audit_personal_hash(pool, "00", b), hash, "the same part gives the same hash");
    ok(strcmp(audit_personal_hash(pool, "01", a), hash) != 0, "another salt another");
    b->target = NULL;
    b->label = a->target;
    ok(strcmp(audit_personal_hash(pool, "00", b), hash) != 0,
       "also when a value moves to another member");
    b = record("contoso", "hr");
    b->rid = a->rid;
    const audit_secret one = {"one", {1}}, two = {"two", {2}};
    audit_link link = {.previous = audit_genesis, .seq = 1, .record = a, .personal_hash = hash};
    const char *chain = audit_chain_hash(pool, NULL, &link),
               *keyed = audit_chain_hash(pool, &one, &link);
    ok(strcmp(chain, keyed) != 0, "a key counts");
    ok(strcmp(audit_chain_hash(pool, &two, &link), keyed) != 0, "and which one");
    link.question = 1;
    ok(strcmp(audit_chain_hash(pool, &one, &link), keyed) != 0, "whether it was a question counts");
    is_str(audit_chain_hash(pool, NULL, &link), chain, "but not before there were keys");
    link.question = 0;
    link.next_key = "two";
    ok(strcmp(audit_chain_hash(pool, &one, &link), keyed) != 0, "the next key counts");
    link.next_key = NULL;
    link.seq = 2;
    ok(strcmp(audit_chain_hash(pool, NULL, &link), chain) != 0, "seq counts");
    link.seq = 1;
    *b = *a;
    b->outcome = "NOT_FOUND";
    link.record = b;
    ok(strcmp(audit_chain_hash(pool, NULL, &link), chain) != 0, "outcome counts");
    link.record = a;
    link.previous = chain;
    ok(strcmp(audit_chain_hash(pool, NULL, &link), chain) != 0, "the one before counts");
    char *key = audit_key(pool, filled(999, "Å"));
    ok(strlen(key) <= 256 && ida_utf8_valid(key, strlen(key)) && strncmp(key, "å", 2) == 0,
       "the key of an actor is folded and bounded");
}

/* --- store --- */

static ida_kind run_sql(store *s, ida_ctx *c, void *text)
{
    return db_script(s->db, c, text);
}

__attribute__((format(printf, 2, 3))) static void sql(store *s, const char *format, ...)
{
    char text[1000];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ida_ctx *c = fresh();
    if (store_transaction(s, c, run_sql, text)) {
        ok(0, "%s: %s", text, c->message);
    }
}

static int64_t broken(store *s, const char *tenant, int64_t *count, const char **how)
{
    int64_t seq = -1, walked = -1;
    ida_ctx *c = fresh();
    if (store_audit_verify(s, c, tenant, &seq, &walked)) {
        printf("# %s\n", c->message);
        return -1;
    }
    if (count) {
        *count = walked;
    }
    if (how) {
        *how = c->message ? c->message : "";
    }
    return seq;
}

static int total(store *s, const char *tenant, store_audit_filter filter, const audit_row **rows)
{
    int count = -1;
    int64_t all = -1;
    filter.limit = filter.limit ? filter.limit : 10;
    filter.count_max = filter.count_max ? filter.count_max : INT64_MAX;
    ida_ctx *c = fresh();
    if (store_audit_list(s, c, tenant, &filter, rows, &count, &all)) {
        printf("# %s\n", c->message);
        return -1;
    }
    return (int)all;
}

static void test_outbox(store *main, store *ingest)
{
    int moved, sum = 0;
    int64_t count;
    store_audit_turns turns = {0};
    const audit_row *rows;
    is_int(store_audit_drain_outbox(main, ingest, fresh(), 10, &turns, &moved), IDA_OK,
           "an empty outbox");
    is_int(moved, 0, "moves nothing");
    const char *first = NULL, *again = NULL;
    for (int i = 0; i < 25; i++) {
        test_now_ms += 1000;
        audit_record *a = record(i % 5 == 4 ? "other" : "contoso", i % 2 ? "hr" : "Anna");
        a->rid = ida_printf(pool, "%026d", i);
        a->detail = ida_printf(pool, "record %d", i);
        first = first ? first : audit_encode(pool, a, 0);
        is_int(store_audit_add(main, fresh(), a), IDA_OK, "into the outbox");
    }
    do {
        is_int(store_audit_drain_outbox(main, ingest, fresh(), 10, &turns, &moved), IDA_OK,
               "drained");
        sum += moved;
    } while (turns.more);
    is_int(sum, 25, "all moved");
    is_int(broken(main, "contoso", &count, NULL), 0, "the chain is whole");
    is_int(count, 20, "20 records of one tenant");
    is_int(broken(main, "other", &count, NULL), 0, "so is the other's");
    is_int(count, 5, "5 records");
    is_int(broken(main, "nobody", &count, NULL), 0, "no records are a whole chain");

    /* A crash between the commit of the records and the removal from the outbox. */
    again = first;
    sql(main, "INSERT INTO audit_outbox (rid, tenant_id, record) VALUES ('%026d', 'contoso', '%s')",
        0, again);
    is_int(store_audit_drain_outbox(main, ingest, fresh(), 10, &turns, &moved), IDA_OK,
           "a record met before");
    is_int(moved, 1, "leaves the outbox");
    is_int(total(main, "contoso", (store_audit_filter){0}, &rows), 20, "and is not there twice");

    /* Rows that are not records, or name another tenant. */
    sql(main,
        "INSERT INTO audit_outbox (rid, tenant_id, record) VALUES ('a1', 'contoso', 'nonsense'), "
        "('a2', 'contoso', '%s')",
        again);
    test_now_ms += 1000;
    is_int(store_audit_add(main, fresh(), record("contoso", "behind")), IDA_OK,
           "a good one behind them");
    complaints = 0;
    is_int(store_audit_drain_outbox(main, ingest, fresh(), 10, &turns, &moved), IDA_OK,
           "poison is drained");
    is_int(moved, 3, "with what stands behind it");
    is_int(complaints, 2, "and logged");
    is_int(total(main, "contoso", (store_audit_filter){0}, &rows), 23, "nothing is dropped");
    int damaged = 0;
    for (int i = 0; i < 3; i++) {
        damaged += strcmp(rows[i].record.outcome, "damaged") == 0;
    }
    is_int(damaged, 2, "kept as damaged");
    is_int(broken(main, "contoso", &count, NULL), 0, "whole");

    is_int(total(main, "contoso", (store_audit_filter){.count_max = 22}, &rows), 22,
           "a count goes no further than was asked");
    is_int(total(main, "contoso", (store_audit_filter){.actor = "ANNA"}, &rows), 10,
           "by actor, folded");
    is_str(rows[0].record.actor, "Anna", "shown as it was");
    is_int(total(main, "contoso", (store_audit_filter){.category = "workflow"}, &rows), 2,
           "by category");
    is_int(total(main, "contoso", (store_audit_filter){.actor = "worker", .category = "workflow"},
                 &rows),
           2, "by both");
    is_int(total(main, "contoso", (store_audit_filter){.actor = "hr", .category = "workflow"},
                 &rows),
           0, "none");
    is_int(total(main, "contoso", (store_audit_filter){.limit = 2}, &rows), 23,
           "a page knows the whole");
    int64_t newest = rows[0].seq;
    is_int(newest, 23, "newest first, numbers without gaps");
    is_int(total(main, "contoso", (store_audit_filter){.limit = 2, .before_seq = rows[1].seq},
                 &rows),
           23, "the next page");
    is_int(rows[0].seq, 21, "goes on behind the first");
    int64_t base = test_now_ms - 26000; /* record i is at base + (i + 1) s */
    is_int(total(main, "contoso", (store_audit_filter){.from = base + 1000, .to = base + 3000},
                 &rows),
           2, "times from inclusive, to exclusive");
}

/* Companies take turns, in whatever order and number they come: 40 are more than one batch has
 * room for. */
static void test_turns(store *main, store *ingest)
{
    enum { MANY = 40, EACH = 6 };
    store_audit_turns turns = {0};
    int moved, batches = 0, served = 0, sum = 0;
    for (int i = 0; i < MANY * EACH; i++) {
        audit_record *a = record(ida_printf(pool, "turn-%02d", i / EACH), "hr");
        a->rid = ida_printf(pool, "turn%022d", i);
        is_int(store_audit_add(main, fresh(), a), IDA_OK, "into the outbox");
    }
    do {
        is_int(store_audit_drain_outbox(main, ingest, fresh(), 80, &turns, &moved), IDA_OK,
               "drained");
        sum += moved;
        if (++batches == 3) {
            for (int i = 0; i < MANY; i++) {
                const audit_row *rows;
                served += total(ingest, ida_printf(pool, "turn-%02d", i), (store_audit_filter){0},
                                &rows) > 0;
            }
        }
    } while (turns.more && batches < 100);
    is_int(served, MANY, "after one round each company was served");
    is_int(sum, MANY * EACH, "in the end all of them wholly");
    for (int i = 0; i < MANY; i++) {
        int64_t count = 0;
        is_int(broken(ingest, ida_printf(pool, "turn-%02d", i), &count, NULL), 0, "a whole chain");
        is_int(count, EACH, "of all its records");
    }
}

static void test_spool(store *main, store *ingest)
{
    int64_t position, count;
    const audit_row *rows;
    audit_record *batch[4] = {record("spooled", "a"), record("spooled", "b"),
                              record("contoso", "c"), record("spooled", "d")};
    is_int(store_audit_spool_position(ingest, fresh(), "node", "seg", &position), IDA_OK,
           "position");
    is_int(position, 0, "of a new segment");
    is_int(store_audit_spool_batch(ingest, fresh(), "node", "seg", 500, 1, batch, 4), IDA_OK,
           "batch");
    is_int(store_audit_spool_batch(ingest, fresh(), "node", "seg", 700, 2, batch, 4), IDA_OK,
           "the same again");
    is_int(store_audit_spool_batch(ingest, fresh(), "node", "seg", 900, 0, batch, 0), IDA_OK,
           "only torn ones");
    store_audit_spool_position(ingest, fresh(), "node", "seg", &position);
    is_int(position, 900, "position moved");
    is_int(total(main, "spooled", (store_audit_filter){0}, &rows), 3, "each record once");
    is_str(rows[0].record.actor, "d", "in the order of the spool");
    is_int(broken(main, "spooled", &count, NULL), 0, "whole");
    is_int(store_audit_spool_forget(ingest, fresh(), "node", "seg"), IDA_OK, "forget");
    store_audit_spool_position(ingest, fresh(), "node", "seg", &position);
    is_int(position, 0, "forgotten");
}

/* Each manipulation, the record where it is detected, and how to undo it. */
static void test_manipulation(store *main, store *ingest)
{
    static const struct {
        const char *what, *sql;
        int64_t at;
        const char *says;
    } cases[] = {
        {"a changed outcome",
         "UPDATE audit.record SET outcome = 'no' WHERE tenant_id = 'contoso' AND seq = 5", 5,
         "was changed"},
        {"a changed time",
         "UPDATE audit.record SET at = at + 1 WHERE tenant_id = 'contoso' AND seq = 5", 5,
         "was changed"},
        {"a changed actor",
         "UPDATE audit.record SET actor = 'x' WHERE tenant_id = 'contoso' AND seq = 6", 6,
         "personal"},
        {"a changed actor key",
         "UPDATE audit.record SET actor_key = 'x' WHERE tenant_id = 'contoso' AND seq = 6", 6,
         "key of its actor"},
        {"a changed detail",
         "UPDATE audit.record SET detail = NULL WHERE tenant_id = 'contoso' AND seq = 6", 6,
         "personal"},
        {"a changed identity",
         "UPDATE audit.record SET rid = 'x' WHERE tenant_id = 'contoso' AND seq = 7", 7,
         "was changed"},
        {"another personal hash",
         "UPDATE audit.record SET personal_hash = 'x' WHERE tenant_id = 'contoso' AND seq = 7", 7,
         "was changed"},
        {"a removed record", "DELETE FROM audit.record WHERE tenant_id = 'contoso' AND seq = 8", 8,
         "missing"},
        {"a removed first", "DELETE FROM audit.record WHERE tenant_id = 'contoso' AND seq = 1", 1,
         "missing"},
        {"a removed last", "DELETE FROM audit.record WHERE tenant_id = 'contoso' AND seq = 24", 24,
         "missing"},
        {"two in exchanged order",
         "UPDATE audit.record SET seq = -seq WHERE tenant_id = 'contoso' AND seq IN (3, 4);UPDATE "
         "audit.record SET seq = 7 + seq WHERE tenant_id = 'contoso' AND seq < 0",
         3, "another order"},
        {"an added record",
         "UPDATE audit.record SET seq = 25 WHERE tenant_id = 'contoso' AND seq = 24", 24,
         "missing"},
        {"a head that is missing", "DELETE FROM audit.chain WHERE tenant_id = 'contoso'", 1,
         "head is missing"},
        {"a head set back", "UPDATE audit.chain SET seq = 20 WHERE tenant_id = 'contoso'", 20,
         "chain ends with"},
        {"a foot set forward", "UPDATE audit.chain SET first_seq = 2 WHERE tenant_id = 'contoso'",
         2, "before the beginning"},
        {"a changed target key",
         "UPDATE audit.record SET target_key = 'x' WHERE tenant_id = 'contoso' AND seq = 6", 6,
         "key of its target"},
        {"a changed question",
         "UPDATE audit.record SET question = 1 WHERE tenant_id = 'contoso' AND seq = 6", 6,
         "question"},
        {"the newest cut off, and the end set back",
         "DELETE FROM audit.record WHERE tenant_id = 'contoso' AND seq > 20;UPDATE audit.chain SET "
         "seq = 20, hash = (SELECT hash FROM audit.record WHERE tenant_id = 'contoso' AND seq = "
         "20) WHERE tenant_id = 'contoso'",
         20, "not the end that the worker left"},
        {"the first taken out, and the beginning set forward",
         "UPDATE audit.chain SET first_seq = 3, first_hash = (SELECT hash FROM audit.record WHERE "
         "tenant_id = 'contoso' AND seq = 3) WHERE tenant_id = 'contoso';DELETE FROM audit.record "
         "WHERE tenant_id = 'contoso' AND seq <= 3",
         4, "not by retention"},
        {"a record under no key",
         "UPDATE audit.record SET key_id = NULL WHERE tenant_id = 'contoso' AND seq = 5", 5,
         "under no key"},
        {"a record under an unknown key",
         "UPDATE audit.record SET key_id = 'x' WHERE tenant_id = 'contoso' AND seq = 5", 5,
         "not in the file"},
        {"a boundary set forward",
         "UPDATE audit.chain SET keyed_from = 9 WHERE tenant_id = 'contoso'", 1, "began later"},
        {"an erasure by hand",
         "UPDATE audit.record SET salt = NULL, actor = NULL, actor_key = NULL, label = NULL, "
         "action = NULL, target = NULL, target_key = NULL, endpoint = NULL, parameters = NULL, "
         "detail = NULL, address = NULL, correlation = NULL "
         "WHERE tenant_id = 'contoso' AND seq = 9",
         9, "not by an erasure"},
        {"all records gone", "DELETE FROM audit.record WHERE tenant_id = 'contoso'", 1, "missing"},
        {"a half erasure",
         "UPDATE audit.record SET salt = NULL, actor = NULL WHERE tenant_id = 'contoso' AND seq = "
         "9",
         9, "erased"},
    };
    int64_t count;
    const char *how;
    sql(ingest, "CREATE TABLE audit.kept_record AS SELECT * FROM audit.record; CREATE TABLE "
                "audit.kept_chain AS SELECT * FROM audit.chain");
    is_int(broken(main, "contoso", &count, NULL), 0, "whole before");
    is_int(count, 24, "24 records");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sql(ingest, "%s", cases[i].sql);
        is_int(broken(main, "contoso", NULL, &how), cases[i].at, cases[i].what);
        ok(strstr(how, cases[i].says) != NULL, "%s: %s", cases[i].what, how);
        sql(ingest, "DELETE FROM audit.record; INSERT INTO audit.record SELECT * FROM "
                    "audit.kept_record;DELETE FROM audit.chain; INSERT INTO audit.chain SELECT * "
                    "FROM audit.kept_chain");
    }
    is_int(broken(main, "contoso", NULL, NULL), 0, "whole again");
    const store_erased gone[] = {{1, ""}, {9, ""}};
    ida_ctx *c = fresh();
    is_int(store_audit_erase(ingest, c, "contoso", gone, 2), IDA_OK, "erasure");
    is_int(broken(main, "contoso", &count, NULL), 0, "erasure leaves the chain whole");
    const audit_row *rows;
    total(main, "contoso", (store_audit_filter){.limit = 1, .before_seq = 10}, &rows);
    ok(rows[0].erased && rows[0].record.actor == NULL, "and is seen in the list");
    sql(ingest, "DROP TABLE audit.kept_record; DROP TABLE audit.kept_chain");
}

static void test_retention(store *main, store *ingest)
{
    int64_t count;
    int removed;
    const audit_row *rows;
    total(main, "contoso", (store_audit_filter){.limit = 1, .before_seq = 11}, &rows);
    int64_t tenth = rows[0].record.at;
    is_int(store_audit_retain(ingest, fresh(), "contoso", tenth, 1000, &removed), IDA_OK,
           "retention");
    is_int(removed, 9, "removes what is older");
    is_int(broken(main, "contoso", &count, NULL), 0, "the rest is a whole chain");
    is_int(count, 16, "of 15 records and one of the retention");
    is_int(store_audit_retain(ingest, fresh(), "contoso", tenth, 1000, &removed), IDA_OK, "again");
    is_int(removed, 0, "nothing");
    is_int(store_audit_retain(ingest, fresh(), "contoso", INT64_MAX, 1000, &removed), IDA_OK,
           "all of it");
    is_int(removed, 16, "goes");
    audit_record *one = record("contoso", "after");
    is_int(store_audit_spool_batch(ingest, fresh(), "node", "s2", 1, 0, &one, 1), IDA_OK,
           "the chain goes on");
    is_int(broken(main, "contoso", &count, NULL), 0, "whole");
    total(main, "contoso", (store_audit_filter){0}, &rows);
    is_int(rows[0].seq, 27, "with the next number behind both records of it");
    is_int(store_audit_retain(ingest, fresh(), "nobody", INT64_MAX, 1000, &removed), IDA_OK,
           "of nobody");
}

static void test_speed(store *ingest, const char *engine)
{
    enum { BATCH = 1000 };
    struct timespec start, end;
    audit_record *batch[BATCH];
    apr_pool_t *mine;
    apr_pool_create(&mine, pool);
    for (int i = 0; i < BATCH; i++) {
        batch[i] = record(i % 3 ? "fast" : "quick", "hr");
    }
    clock_gettime(CLOCK_MONOTONIC, &start);
    is_int(store_audit_spool_batch(ingest, ida_ctx_make(&env, mine), "node", "s3", 1, 0, batch,
                                   BATCH),
           IDA_OK, "a large batch");
    clock_gettime(CLOCK_MONOTONIC, &end);
    double s = (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec) / 1e9;
    printf("# %s: %.0f records/s ingested\n", engine, BATCH / s);
    apr_pool_destroy(mine);
}

int main(void)
{
    setup();
    env.log = count_log;
    test_text();
    test_correlation();
    test_cut();
    test_hashes();
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        const char *engine, *dsn = store_upgraded(i, &engine);
        printf("# %s\n", engine);
        store *main_store = store_with_key(dsn, DB_REQUEST),
              *ingest = store_with_key(dsn, DB_INGEST);
        test_outbox(main_store, ingest);
        test_turns(main_store, ingest);
        test_spool(main_store, ingest);
        test_manipulation(main_store, ingest);
        test_retention(main_store, ingest);
        test_speed(ingest, engine);
    }
    return done();
}
