/* What a child of httpd that somebody has taken over can send to the writer: none of it ends the
 * writer, a child that breaks a rule is named and cut off, and room for bodies is left as it was
 * taken. The real program over a real store. */
#include <sys/file.h>
#include <time.h>

#include "core/base/key.h"
#include "core/operation/table.h"
#include "core/store/key.h"
#include "core/store/tenant.h"
#include "core/tenant/credentials.h"
#include "t/unit/store_setup.h"
#include "t/unit/tenant_documents.h"
#include "t/unit/writer_process.h"

#define SLOTS 64 /* companies whose bodies the writer counts by name */
#define BODY 60  /* bytes */

static const char *key_text;

#define CROWD 200 /* companies that post while the store stands still */

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

static int is_there(void)
{
    return waitpid(writer, NULL, WNOHANG) == 0;
}

/* --- a store with one company, whose key may write --- */

static void put_company(store *s, const unsigned char *key, const char *id, const char *text)
{
    ida_ctx *c = fresh();
    ida_tenant *tenant;
    char *canonical;
    must_apply(text, NULL, &tenant, &canonical, "a document");
    ida_stored_tenant row = {.document = canonical, .revision = 1};
    row.seal = ida_seal_make(pool, key, id, &row);
    must(store_tenant_put(s, c, tenant, &row), c, "a company");
}

static const char *make_store(const char **seal_key)
{
    const char *name, *dsn = store_engine(0, &name);
    unsigned char key[IDA_SEAL_KEY_LEN];
    char hash[IDA_KEY_HASH_LEN + 1];
    ida_ctx *c = fresh();
    *seal_key = apr_pstrcat(pool, unit_store.dir, "/frames.key", NULL);
    must(store_schema_upgrade(dsn, c, NULL), c, "a store");
    store *s = store_make(pool, dsn, DB_REQUEST);
    must(store_connect(s, c), c, "connect");
    must(ida_seal_key_make(c, *seal_key, (uid_t)-1, (gid_t)-1), c, "a seal key");
    must(ida_seal_key_read(c, *seal_key, key), c, "which can be read");
    put_company(s, key, "contoso",
                HEAD ",\"modules\":{\"publicApi\":true,\"accessGovernance\":true},"
                     "\"directories\":{" ON_PREMISES "}}");
    for (int i = 0; i < CROWD; i++) {
        const char *id = apr_psprintf(pool, "crowd%d", i);
        put_company(s, key, id,
                    apr_psprintf(pool,
                                 "{\"companyId\":\"%s\",\"name\":\"C\",\"upnDomain\":"
                                 "\"%s.example\",\"directories\":{" ON_PREMISES "}}",
                                 id, id));
    }
    key_text = ida_key_make(pool, &env);
    ida_key_hash(key_text, hash);
    const ida_principal who = {.company = "contoso", .username = "hr", .access = IDA_ACCESS_FULL};
    must(store_key_create(s, c, &who, hash, "ops"), c, "a key");
    store_disconnect(s);
    return dsn;
}

/* --- frames --- */

static void fill(const char **texts, const char *company, const char *method, const char *uri)
{
    memset(texts, 0, sizeof *texts * ASKED_COUNT);
    texts[ASKED_FACE] = "rest";
    texts[ASKED_METHOD] = method;
    texts[ASKED_URI] = uri;
    texts[ASKED_CONTENT_TYPE] = "application/json";
    texts[ASKED_ADDRESS] = "192.0.2.77";
    texts[ASKED_COMPANY] = company;
    texts[ASKED_USER] = "hr";
    texts[ASKED_KEY] = key_text;
    texts[ASKED_HAS_BODY] = "1";
}

/* Status of the answer; 0: there is none, the connection was cut. Texts are not told apart. */
static int hear(int end)
{
    wire_head head;
    do {
        if (wire_read(end, &head, sizeof head, PATIENCE_MS, NULL) != WIRE_DONE) {
            return 0;
        }
    } while (head.kind == WIRE_ALIVE);
    const char *told[TOLD_COUNT] = {NULL};
    char *texts = apr_palloc(pool, head.texts_len), *body = apr_palloc(pool, head.body_len + 1);
    return head.kind == WIRE_TOLD &&
                   wire_read(end, texts, head.texts_len, PATIENCE_MS, NULL) == WIRE_DONE &&
                   wire_read(end, body, head.body_len, PATIENCE_MS, NULL) == WIRE_DONE &&
                   wire_get(texts, head.texts_len, told, TOLD_COUNT) && told[TOLD_STATUS]
               ? atoi(told[TOLD_STATUS])
               : 0;
}

/* --- room for bodies --- */

typedef struct poster {
    int end;
    size_t bytes, sent;
} poster;

/* Head and texts; the body is to come. */
static void begin(poster *p, const char *company, size_t bytes)
{
    const char *texts[ASKED_COUNT];
    fill(texts, company, "POST", "/v1/api/user");
    size_t size = wire_size(texts, ASKED_COUNT);
    wire_head head = {WIRE_ASKED, (uint32_t)size, (uint32_t)bytes};
    char *message = apr_palloc(pool, size);
    wire_put(message, texts, ASKED_COUNT);
    *p = (poster){.end = writer_connect(), .bytes = bytes};
    ok(p->end >= 0 && wire_write(p->end, &head, sizeof head, PATIENCE_MS) == WIRE_DONE &&
           wire_write(p->end, message, size, PATIENCE_MS) == WIRE_DONE,
       "%s begins", company);
}

static int finish(poster *p)
{
    char body[BODY];
    memset(body, ' ', sizeof body);
    wire_write(p->end, body, p->bytes - p->sent, PATIENCE_MS);
    int status = hear(p->end);
    wire_close(&p->end);
    return status;
}

/* Waits until bodies of so many bytes are in memory; one more byte of each keeps them from being
 * given up. */
static int held(poster *all, int count, uint64_t bytes)
{
    for (int round = 0; atomic_load(&beat->body_bytes) != bytes; round++) {
        for (int i = 0; round % 50 == 0 && i < count; i++) {
            if (all[i].sent < BODY - 1 && all[i].end >= 0) {
                all[i].sent += wire_write(all[i].end, " ", 1, PATIENCE_MS) == WIRE_DONE;
            }
        }
        if (round > 60 * 50) {
            return 0;
        }
        nap();
    }
    return 1;
}

static void nothing_is_held(void)
{
    ok(held(NULL, 0, 0), "no body is held");
    while (atomic_load(&beat->writes) != 0) {
        nap();
    }
    ok(1, "and no write is under way");
}

static void room(void)
{
    poster all[SLOTS + 1];
    for (int i = 0; i < SLOTS; i++) {
        begin(&all[i], apr_psprintf(pool, "company%d", i), BODY);
    }
    ok(held(all, SLOTS, SLOTS * BODY), "bodies of %d companies", SLOTS);
    begin(&all[SLOTS], "late", BODY);
    ok(held(all, SLOTS + 1, (SLOTS + 1) * BODY), "and of one more, which has no slot of its own");
    is_int(finish(&all[0]), 401, "one of them is answered, its slot is free");
    is_int(finish(&all[SLOTS]), 401, "the one without a slot is");
    for (int i = 0; i < 3; i++) {
        begin(&all[SLOTS], "late", BODY / 2);
        is_int(finish(&all[SLOTS]), 401, "and again");
    }
    for (int i = 1; i < SLOTS; i++) {
        wire_close(&all[i].end);
    }
    nothing_is_held();
}

/* --- a crowd, while the store stands still --- */

static int post(const char *company, size_t bytes)
{
    const char *texts[ASKED_COUNT];
    char *body = apr_palloc(pool, bytes);
    fill(texts, company, "POST", "/console/api/directory/sync");
    texts[ASKED_FACE] = "console";
    texts[ASKED_QUERY] = apr_psprintf(pool, "companyId=%s&directory=onPremises", company);
    texts[ASKED_RULES] = "0";
    memset(body, ' ', bytes);
    memcpy(body, "{}", 2);
    int end = writer_connect();
    ok(end >= 0 && wire_write_message(end, WIRE_ASKED, texts, ASKED_COUNT, body, bytes,
                                      PATIENCE_MS) == WIRE_DONE,
       "%s posts", company);
    return end;
}

static void crowd(const char *dsn)
{
    int ends[CROWD], gate = open(apr_pstrcat(pool, store_sqlite_path(dsn), ".gate", NULL), O_RDWR);
    ok(gate >= 0, "the gate of the store");
    for (int round = 0; round < 3; round++) {
        ok(flock(gate, LOCK_EX) == 0, "round %d: the store stands still", round);
        for (int i = 0; i < CROWD; i++) {
            ends[i] = post(apr_psprintf(pool, "crowd%d", i), (size_t)(100 + 7 * i));
        }
        while (atomic_load(&beat->writes) < CROWD / 2) {
            nap();
        }
        for (int i = round % 2; i < CROWD; i += 2) {
            wire_close(&ends[i]); /* a client that has gone */
        }
        flock(gate, LOCK_UN);
        for (int i = 0; i < CROWD; i++) {
            if (ends[i] >= 0) {
                hear(ends[i]);
                wire_close(&ends[i]);
            }
        }
        nothing_is_held();
    }
    close(gate);
    int served = 0;
    for (int i = 0; i < CROWD; i++) {
        int end = post(apr_psprintf(pool, "crowd%d", i), 50);
        served += hear(end) == 200;
        wire_close(&end);
    }
    is_int(served, CROWD, "each company is served");
    nothing_is_held();
}

/* --- rules --- */

/* Sends bytes that no child sends: the connection ends, and this process gets no other one until
 * httpd names it as a new one. */
static void broken(const char *name, const void *bytes, size_t len, const char *words)
{
    char byte;
    int end = writer_connect(), other = writer_connect();
    wire_write(end, bytes, len, PATIENCE_MS);
    ok(wire_read(end, &byte, 1, PATIENCE_MS, NULL) == WIRE_LOST, "%s: it is cut off", name);
    ok(wire_read(other, &byte, 1, PATIENCE_MS, NULL) == WIRE_LOST, "its other connection too");
    ok(logged(words), "the log says why: %s", words);
    is_int(writer_connect(), -1, "it gets no other one");
    ok(is_there(), "the writer is there");
    order(ORDER_CHILD, getpid());
    wire_close(&end);
    wire_close(&other);
}

static void broken_write(const char *name, const char *const *texts, const char *words)
{
    size_t size = wire_size(texts, ASKED_COUNT);
    char *message = apr_palloc(pool, sizeof(wire_head) + size);
    memcpy(message, &(wire_head){WIRE_ASKED, (uint32_t)size, 0}, sizeof(wire_head));
    wire_put(message + sizeof(wire_head), texts, ASKED_COUNT);
    broken(name, message, sizeof(wire_head) + size, words);
}

static void rules(void)
{
    static const struct {
        const char *name, *face, *method, *uri;
    } reads[] = {
        {"a read of REST", "rest", "GET", "/v1/api/user"},
        {"its HEAD", "rest", "HEAD", "/v1/api/user"},
        {"OPTIONS", "rest", "OPTIONS", "/v1/api/user"},
        {"a read of the console", "console", "GET", "/console/api/session"},
        {"its list of companies", "console", "GET", "/console/api/companies"},
        {"a read by POST", "console", "POST", "/console/api/company/plan"},
        {"no such path", "rest", "POST", "/v1/api/nothing"},
        {"no face", NULL, "GET", "/v1/api/user"},
        {"no method", "console", NULL, "/console/api/session"},
        {"no address", "console", "GET", NULL},
    };
    const char *texts[ASKED_COUNT],
        *who = apr_psprintf(pool, "IDA0257: process %ld, a child of httpd, is cut off",
                            (long)getpid());
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        fill(texts, "contoso", reads[i].method, reads[i].uri);
        texts[ASKED_FACE] = reads[i].face;
        broken_write(reads[i].name, texts, "it is no write (its request came from \"192.0.2.77\")");
    }
    ok(logged(who), "%s", who);
    fill(texts, NULL, "POST", "/v1/api/user");
    broken_write("no company", texts, "its texts are not those of a write");
    fill(texts, "contoso", "POST", "/v1/api/user");
    texts[ASKED_ADDRESS] =
        "192.0.2.77 and more than fits into the longest address that there can be";
    broken_write("an address that is none", texts, "its texts are not those of a write");
    const wire_head heads[] = {{WIRE_TOLD, 8, 0},
                               {0xFFFFFFFF, 8, 0},
                               {WIRE_ASKED, 0, 0},
                               {WIRE_ASKED, WIRE_TEXTS_MAX + 1, 0},
                               {WIRE_ASKED, 0xFFFFFFFF, 0xFFFFFFFF},
                               {WIRE_ASKED, 64, 0xFFFFFFFF}};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        broken(apr_psprintf(pool, "head %d", (int)i), &heads[i], sizeof heads[i],
               "its head is not that of a write");
    }
    char message[sizeof(wire_head) + 64];
    for (int fill_with = 0; fill_with < 256; fill_with += 51) {
        memset(message, fill_with, sizeof message);
        memcpy(message, &(wire_head){WIRE_ASKED, 64, 0}, sizeof(wire_head));
        broken("texts of one byte", message, sizeof message, "its texts are not those of a write");
    }
}

/* --- writes with texts of every kind --- */

static const char *const bodies[] = {
    NULL,
    "",
    "{",
    "[]",
    "{}",
    "{\"x\":\"\\u0000\"}",
    "{\"ids\":[1,null,{}],\"companyId\":7}",
    "{\"userPrincipalName\":\"eva@contoso.example\",\"comment\":\"x\",\"name\":\"n\"}"};

static void all_texts(void)
{
    char *longest = apr_pcalloc(pool, 40001);
    memset(longest, 'x', 40000);
    const char *const values[] = {NULL,
                                  "",
                                  "\xff\xfe\x80",
                                  "%s%n",
                                  "9999999999999999999,-1,,",
                                  "companyId=contoso&companyId=%00&x",
                                  longest};
    int sent = 0, answered = 0, server_faults = 0, end = -1;
    for (int i = 0; ida_operations[i]; i++) {
        const ida_operation *op = ida_operations[i];
        for (int face = 0; op->scope == IDA_SCOPE_WRITE && face < 2; face++) {
            if (!(op->faces & (face ? IDA_ON_CONSOLE : IDA_ON_REST))) {
                continue;
            }
            const char *uri = apr_pstrcat(pool, face ? "/console/api" : "/v1/api", op->path, NULL);
            for (int at = ASKED_QUERY; at < ASKED_COUNT; at++) {
                for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
                    const char *texts[ASKED_COUNT],
                        *body = bodies[(size_t)sent % (sizeof bodies / sizeof *bodies)];
                    if ((at == ASKED_COMPANY && !values[v]) ||
                        (at == ASKED_ADDRESS && values[v] == longest)) { /* against the rules */
                        continue;
                    }
                    fill(texts, "contoso", op->method, uri);
                    texts[ASKED_FACE] = face ? "console" : "rest";
                    texts[ASKED_QUERY] = face ? "companyId=contoso" : NULL;
                    texts[ASKED_RULES] = "0";
                    texts[ASKED_UPN] = "eva.berg@contoso.example";
                    texts[at] = values[v];
                    end = end < 0 ? writer_connect() : end;
                    wire_write_message(end, WIRE_ASKED, texts, ASKED_COUNT, body,
                                       body ? strlen(body) : 0, PATIENCE_MS);
                    int status = hear(end);
                    sent++;
                    answered += status != 0;
                    server_faults += status == 500;
                    if (status == 0 || status == 500) {
                        printf("# %d: %s %s, text %d, value %d\n", status, op->method, uri, at,
                               (int)v);
                        wire_close(&end);
                        if (!is_there()) {
                            ok(0, "the writer has ended");
                            return;
                        }
                    }
                }
            }
        }
    }
    wire_close(&end);
    ok(sent > 500, "writes of every operation: %d", sent);
    is_int(answered, sent, "each is answered");
    is_int(server_faults, 0, "none as a fault of the service");
    ok(is_there(), "the writer is there");
}

int main(void)
{
    setup();
    const char *seal_key, *dsn = make_store(&seal_key);
    const char *roles = "administrator *\n";
    for (int i = 0; i < 2700; i++) {
        roles = apr_pstrcat(pool, roles, "key-administrator company-of-many\n", NULL);
    }
    writer_start(dsn, seal_key, roles);
    order(ORDER_CHILD, getpid());
    room();
    crowd(dsn);
    rules();
    all_texts();
    order(ORDER_CHILD_GONE, getpid());
    writer_end();
    return done();
}
