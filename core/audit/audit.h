/* One audit record, its JSON form for outbox and spool. Knows no store. */
#ifndef CORE_AUDIT_AUDIT_H
#define CORE_AUDIT_AUDIT_H

#include <jansson.h>

#include "core/base/context.h"

/* bytes of one spooled record with its RFC 7464 framing: one write(2), never torn by another */
#define AUDIT_MAX 4096

/* category of an outbox row that this service did not write */
#define AUDIT_ALARM "alarm"

typedef struct audit_record {
    const char *rid; /* identity, sortable; made by audit_make */
    const char *tenant;
    int64_t at;              /* ms */
    const char *category;    /* "api", "workflow", "portal", "command"; AUDIT_ALARM */
    const char *actor;       /* username; "worker"; person */
    const char *label;       /* "" when none */
    const char *action;      /* operation name ("user.create"), "task.done", "tenant.apply" */
    const char *target;      /* UPN, task, key: what it was done to; NULL when none */
    const char *endpoint;    /* "POST /v1/api/user", "mcp tools/call get_user"; NULL when none */
    const char *parameters;  /* sanitised JSON text; NULL when none */
    const char *outcome;     /* "ok", REST error code, "toolError" */
    const char *detail;      /* NULL when none */
    const char *address;     /* of the client, IPv4 or IPv6; NULL when none, or of several */
    const char *correlation; /* the request's identity; NULL when none */
    const char *marks;       /* of the rows that it changed (marks.h); NULL when none */
} audit_record;

typedef struct audit_row {
    int64_t seq;
    audit_record record;
    int erased;
    const char *hash; /* of the chain, over this record and all earlier ones */
} audit_row;

/* A record with rid, at and the identity of the request in hand set; the rest zero. */
audit_record *audit_make(ida_ctx *c, const char *tenant, const char *category);

/* A replacement for `text` that ingestion received and does not trust, under its identity, so
 * that it is taken once. `actor`: who submitted it. */
audit_record *audit_damaged(ida_ctx *c, const char *rid, const char *tenant, const char *category,
                            const char *actor, const char *text, size_t len);

/* JSON text of a record, at most `max` bytes (0 = any; spool: AUDIT_MAX less the framing): long
 * detail, parameters, target are cut first, with a mark; cut parameters become
 * {"cut":"<beginning>…"}. NULL when not even the bare record fits. */
char *audit_encode(apr_pool_t *pool, const audit_record *record, size_t max);
/* NULL when the text is no record. */
audit_record *audit_decode(apr_pool_t *pool, const char *text, size_t len);

/* Key under which actors and targets are found: folded, bounded (it is indexed). NULL for NULL. */
char *audit_key(apr_pool_t *pool, const char *name);

/* 1 for an answered read, which records who asked, not a change. */
int audit_is_question(const audit_record *record);

#endif
