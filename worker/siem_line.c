/* Owns how an audit record looks to a log server. Must not know how it gets there. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "worker/siem.h"

#define FACILITY 13        /* log audit */
#define ENTERPRISE "32473" /* set aside for examples (RFC 5612): we have no number of our own */
#define MSGID_MAX 32
#define HOST_MAX 255

enum { ALERT = 1, WARNING = 4, NOTICE = 5 };

static int severity_of(const audit_record *r)
{
    return strcmp(r->category, AUDIT_ALARM) == 0 ? ALERT
           : strcmp(r->outcome, "ok") == 0       ? NOTICE
                                                 : WARNING;
}

/* Printable ASCII without blanks; "-" for nothing. */
static const char *word(apr_pool_t *pool, const char *text, size_t max)
{
    char *out = apr_pstrndup(pool, text && *text ? text : "-", max);
    for (char *at = out; *at; at++) {
        *at = *at > 0x20 && *at < 0x7f ? *at : '_';
    }
    return out;
}

/* Within quotes: ", \ and ] are escaped. */
static const char *quoted(apr_pool_t *pool, const char *text)
{
    char *out = apr_palloc(pool, 2 * strlen(text) + 1), *to = out;
    for (; *text; text++) {
        if (strchr("\"\\]", *text)) {
            *to++ = '\\';
        }
        *to++ = (unsigned char)*text < 0x20 ? ' ' : *text;
    }
    *to = '\0';
    return out;
}

/* The members that may tell of people are there by name, or not at all. An API user is no person,
 * and neither is the worker. */
static json_t *message(apr_pool_t *pool, const audit_secret *key, const audit_row *row)
{
    const audit_record *r = &row->record;
    int program = strcmp(r->category, "api") == 0 || (r->actor && strcmp(r->actor, "worker") == 0);
    const struct {
        const char *name, *value;
        int named; /* 1: left out where people have no names */
        int hidden;
    } members[] = {
        {"actor", r->actor, 0, !program}, {"label", r->label, 1, 0},
        {"action", r->action, 0, 0},      {"target", r->target, 0, 1},
        {"endpoint", r->endpoint, 0, 0},  {"parameters", r->parameters, 1, 0},
        {"outcome", r->outcome, 0, 0},    {"detail", r->detail, 1, 0},
        {"address", r->address, 1, 0},    {"correlationId", r->correlation, 0, 0},
    };
    json_t *out = json_pack("{s:I, s:s}", "id", (json_int_t)row->seq, "companyId", r->tenant);
    ida_json_put_time(out, "at", r->at);
    ida_json_put(out, "category", r->category);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const char *value = members[i].value;
        if (value && *value && !(key && members[i].named)) {
            ida_json_put(out, members[i].name,
                         key && members[i].hidden ? audit_pseudonym(pool, key, r->tenant, value)
                                                  : value);
        }
    }
    if (row->erased) {
        json_object_set_new(out, "erased", json_true());
    }
    return ida_json_keep(pool, out);
}

char *siem_line(apr_pool_t *pool, const char *host, const audit_secret *key, const audit_row *row)
{
    const audit_record *r = &row->record;
    return ida_printf(pool,
                      "<%d>1 %s %s idadmin - %s [idadmin@" ENTERPRISE
                      " company=\"%s\" number=\"%lld\" hash=\"%s\" category=\"%s\" outcome=\"%s\" "
                      "correlation=\"%s\"] %s",
                      FACILITY * 8 + severity_of(r), ida_utc_text(pool, r->at),
                      word(pool, host, HOST_MAX), word(pool, r->action, MSGID_MAX),
                      quoted(pool, r->tenant), (long long)row->seq, quoted(pool, row->hash),
                      quoted(pool, r->category), quoted(pool, r->outcome),
                      quoted(pool, r->correlation ? r->correlation : ""),
                      ida_json_text(pool, message(pool, key, row)));
}
