/* Owns the form of an audit record: its JSON text for outbox and spool. Must not know a store. */
#include "core/audit/audit.h"

#include <apr_strings.h>
#include <string.h>

#include "core/audit/marks.h"
#include "core/base/correlation.h"
#include "core/base/json.h"
#include "core/base/key.h"
#include "core/base/text.h"

#define MARK "\xe2\x80\xa6" /* "…" */
/* encoded bytes that a member keeps at first when members are shortened one after the other */
#define FLOOR 64

#define KEY_MAX 256 /* bytes: PostgreSQL indexes no more than 2,700 */

/* The members in the order of the text. `cut`: rank in which they are shortened, 0 = never. */
static const struct {
    const char *name;
    size_t at;
    int required, cut;
    size_t max; /* most bytes that decoding accepts, 0: any; indexed members have a bound, or one
                   record could stop ingestion */
} members[] = {
    {"rid", offsetof(audit_record, rid), 1, 0, 64},
    {"tenant", offsetof(audit_record, tenant), 1, 0, 64},
    {"category", offsetof(audit_record, category), 1, 0, 32},
    {"actor", offsetof(audit_record, actor), 1, 7, 0},
    {"label", offsetof(audit_record, label), 0, 5, 0},
    {"action", offsetof(audit_record, action), 1, 6, 0},
    {"target", offsetof(audit_record, target), 0, 3, 0},
    {"endpoint", offsetof(audit_record, endpoint), 0, 4, 0},
    {"parameters", offsetof(audit_record, parameters), 0, 2, 0},
    {"outcome", offsetof(audit_record, outcome), 1, 8, 0},
    {"detail", offsetof(audit_record, detail), 0, 1, 0},
    {"address", offsetof(audit_record, address), 0, 0, 64},
    {"correlation", offsetof(audit_record, correlation), 0, 0, IDA_CORRELATION_MAX},
    {"marks", offsetof(audit_record, marks), 0, 0, AUDIT_MARKS_MAX},
};
#define MEMBERS (sizeof members / sizeof *members)
#define CUT_RANKS 8

static const char *get(const audit_record *record, size_t i)
{
    return *(const char *const *)((const char *)record + members[i].at);
}

static void set(audit_record *record, size_t i, const char *text)
{
    *(const char **)((char *)record + members[i].at) = text;
}

audit_record *audit_make(ida_ctx *c, const char *tenant, const char *category)
{
    audit_record *record = apr_pcalloc(c->pool, sizeof *record);
    record->rid = ida_new_id(c->pool, c->env);
    record->tenant = tenant;
    record->category = category;
    record->at = ida_now(c->env);
    record->correlation = ida_correlation_id(c->env);
    return record;
}

audit_record *audit_damaged(ida_ctx *c, const char *rid, const char *tenant, const char *category,
                            const char *actor, const char *text, size_t len)
{
    audit_record *record = audit_make(c, tenant, category);
    record->rid = rid;
    record->actor = actor;
    record->label = "";
    record->action = "audit.ingest";
    record->outcome = "damaged";
    record->detail = ida_clean(c->pool, text, len, 1000);
    return record;
}

int audit_is_question(const audit_record *record)
{
    static const char *const reads[] = {"GET ", "HEAD ", "mcp", "console GET ", "console HEAD "};
    int answered = strcmp(record->outcome, "ok") == 0 || strcmp(record->outcome, "toolError") == 0;
    for (size_t i = 0; answered && record->endpoint && i < sizeof reads / sizeof *reads; i++) {
        if (strncmp(record->endpoint, reads[i], strlen(reads[i])) == 0) {
            return 1;
        }
    }
    return 0;
}

char *audit_key(apr_pool_t *pool, const char *name)
{
    char *key = name ? ida_fold_address(pool, name) : NULL;
    size_t len = KEY_MAX;
    if (key && strlen(key) > KEY_MAX) {
        while (len && ((unsigned char)key[len] & 0xc0) == 0x80) {
            len--;
        }
        key[len] = '\0';
    }
    return key;
}

/* --- encoding --- */

static size_t escaped_length(const char *text)
{
    return ida_json_escaped_length(text, strlen(text));
}

/* Longest beginning, ending on a character, whose escaped form and the mark fit into `budget`. */
static char *beginning(apr_pool_t *pool, const char *text, size_t budget)
{
    size_t used = strlen(MARK), len = 0, whole = 0;
    for (; text[len]; len++) {
        if (((unsigned char)text[len] & 0xc0) != 0x80) {
            whole = len;
        }
        used += ida_json_escaped_length(text + len, 1);
        if (used > budget) {
            return apr_pstrcat(pool, apr_pstrmemdup(pool, text, whole), MARK, NULL);
        }
    }
    return apr_pstrcat(pool, apr_pstrmemdup(pool, text, len), MARK, NULL);
}

/* A member's text shortened to at most `budget` escaped bytes. Parameters stay JSON. */
static const char *shortened(apr_pool_t *pool, size_t i, const char *text, size_t budget)
{
    if (members[i].at != offsetof(audit_record, parameters)) {
        return beginning(pool, text, budget);
    }
    for (size_t inner = budget;
         inner > strlen(MARK);) { /* the text is escaped twice, which at most doubles it */
        const char *start = beginning(pool, text, inner);
        char *json = apr_palloc(pool, escaped_length(start) + 16), *to = json;
        strcpy(to, "{\"cut\":\"");
        to = ida_json_escape(to + strlen(to), start, strlen(start));
        strcpy(to, "\"}");
        size_t len = escaped_length(json), less = len > budget ? (len - budget + 1) / 2 : 0;
        if (!less) {
            return json;
        }
        inner = inner > less ? inner - less : 0;
    }
    return "{}";
}

static size_t encoded_length(const audit_record *record)
{
    size_t len = strlen("{\"at\":-9223372036854775808}");
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *text = get(record, i);
        len += text ? strlen(",\"\":\"\"") + strlen(members[i].name) + escaped_length(text) : 0;
    }
    return len;
}

static void cut_to(apr_pool_t *pool, audit_record *record, size_t max, size_t least)
{
    for (int rank = 1; rank <= CUT_RANKS; rank++) {
        for (size_t i = 0; i < MEMBERS; i++) {
            size_t total = encoded_length(record);
            const char *text = get(record, i);
            if (total <= max) {
                return;
            }
            if (members[i].cut == rank && text) {
                size_t own = escaped_length(text), excess = total - max;
                if (own > least) {
                    set(record, i,
                        shortened(pool, i, text, own > excess + least ? own - excess : least));
                }
            }
        }
    }
}

char *audit_encode(apr_pool_t *pool, const audit_record *given, size_t max)
{
    audit_record record = *given;
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *text = get(&record, i);
        if (text && !ida_utf8_valid(text, strlen(text))) {
            text = ida_clean(pool, text, strlen(text), 0);
        }
        set(&record, i,
            ida_key_masked(pool,
                           text)); /* before anything is cut: half a key could not be recognised */
    }
    size_t len = encoded_length(&record);
    if (max && len > max) {
        cut_to(pool, &record, max, FLOOR);
        cut_to(pool, &record, max, strlen(MARK));
        if ((len = encoded_length(&record)) > max) {
            return NULL;
        }
    }
    char *text = apr_palloc(pool, len + 1), *to = text;
    *to++ = '{';
    for (size_t i = 0; i < MEMBERS; i++) {
        const char *value = get(&record, i);
        if (value) {
            *to++ = '"';
            to = stpcpy(to, members[i].name);
            to = stpcpy(to, "\":\"");
            to = ida_json_escape(to, value, strlen(value));
            to = stpcpy(to, "\",");
        }
    }
    to = stpcpy(to, "\"at\":");
    to = ida_digits(to, record.at);
    strcpy(to, "}");
    return text;
}

/* --- decoding --- */

audit_record *audit_decode(apr_pool_t *pool, const char *text, size_t len)
{
    audit_record *record = NULL;
    json_t *value = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    const json_t *at = json_object_get(value, "at");
    if (!json_is_object(value) || !json_is_integer(at) || json_integer_value(at) <= 0) {
        goto leave;
    }
    record = apr_pcalloc(pool, sizeof *record);
    record->at = json_integer_value(at);
    for (size_t i = 0; i < MEMBERS; i++) {
        const json_t *member = json_object_get(value, members[i].name);
        size_t size = json_string_length(member);
        if (member ? !json_is_string(member) || (members[i].max && size > members[i].max)
                   : members[i].required) {
            record = NULL;
            goto leave;
        }
        set(record, i, member ? apr_pstrdup(pool, json_string_value(member)) : NULL);
    }
    if (!*record->rid || !*record->tenant) {
        record = NULL;
    }
leave:
    json_decref(value);
    return record;
}
