/* idadminctl audit verify, accept, checkpoints, public-key, rotate-key. The store verifies the
 * chain. */
#include "worker/ctl/chain.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/audit/anchor.h"
#include "core/audit/chain.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/queue/verify.h"
#include "core/store/audit.h"
#include "core/store/chain_check.h"
#include "core/store/chain_key.h"
#include "core/store/checkpoint.h"
#include "worker/checkpoint.h"

ida_kind ctl_chain_sign(ctl_call *ctl, const char *tenant)
{
    int made;
    store *s = ctl_store(ctl, DB_INGEST);
    ida_kind kind = store_checkpoint_make(s, ctl->c, tenant, ctl->config.audit_signing_key, &made);
    return kind ? kind : checkpoint_send(s, ctl->c, &ctl->config);
}

/* --- what checkpoints say --- */

typedef struct evidence {
    unsigned char public[IDA_SECRET_LEN];
    apr_array_header_t *stored, *given, *marks; /* audit_checkpoint, the same, store_chain_mark */
    int64_t broken;                             /* faults of the checkpoints themselves */
    const char *reason;
} evidence;

static const audit_checkpoint *at(const apr_array_header_t *list, int i)
{
    return &((const audit_checkpoint *)list->elts)[i];
}

static void fault(evidence *e, int64_t number, const char *reason)
{
    if (!e->broken || number < e->broken) {
        e->broken = number;
        e->reason = reason;
    }
}

static void add_mark(ctl_call *ctl, evidence *e, const audit_checkpoint *p)
{
    *(store_chain_mark *)apr_array_push(e->marks) = (store_chain_mark){
        p->number, p->hash,
        ida_printf(ctl->pool, "the checkpoint of %s", ida_utc_text(ctl->pool, p->at))};
}

/* The public key: as 64 hexadecimal digits, in a file, or this node's. */
static ida_kind read_key(ctl_call *ctl, evidence *e)
{
    const char *given = ctl_value(ctl, "key");
    char line[IDA_SECRET_HEX + 2] = "";
    if (!given) {
        return audit_signer_public(ctl->c, ctl->config.audit_signing_key, e->public);
    }
    if (ida_key_parse(ctl->pool, given, strlen(given), e->public)) {
        return IDA_OK;
    }
    FILE *in = fopen(given, "re");
    int good = in && fgets(line, sizeof line, in) &&
               ida_key_parse(ctl->pool, line, strcspn(line, "\r\n"), e->public);
    if (in) {
        fclose(in);
    }
    return good
               ? IDA_OK
               : ida_fail(ctl->c, IDA_BAD_REQUEST,
                          "--key must be 64 hexadecimal digits, or a file with them, as idadminctl "
                          "audit public-key prints them");
}

/* The lines of the file that belong to this tenant. */
static ida_kind read_given(ctl_call *ctl, evidence *e, const char *path)
{
    char line[AUDIT_LINE_MAX];
    FILE *in = fopen(path, "re");
    if (!in) {
        return ida_fail(ctl->c, IDA_BAD_REQUEST, "--checkpoints: %s: %s", path, strerror(errno));
    }
    ida_kind kind = IDA_OK;
    for (int number = 1; !kind && fgets(line, sizeof line, in); number++) {
        const audit_checkpoint *p = audit_checkpoint_parse(ctl->pool, line, strlen(line));
        if (!p) {
            kind = ida_fail(ctl->c, IDA_BAD_REQUEST, "%s: line %d is not a checkpoint", path,
                            number);
        } else if (strcmp(p->tenant, ctl->arguments[0]) == 0) {
            *(audit_checkpoint *)apr_array_push(e->given) = *p;
        }
    }
    fclose(in);
    return kind || e->given->nelts
               ? kind
               : ida_fail(ctl->c, IDA_BAD_REQUEST, "%s holds no checkpoint of %s", path,
                          ctl->arguments[0]);
}

static ida_kind read_stored(ctl_call *ctl, store *s, evidence *e)
{
    const audit_checkpoint *list;
    int count = 1;
    int64_t after = 0;
    ida_kind kind = IDA_OK;
    while (!kind && count) {
        kind = store_checkpoint_page(s, ctl->c, ctl->arguments[0], after, &list, &count);
        for (int i = 0; !kind && i < count; i++) {
            *(audit_checkpoint *)apr_array_push(e->stored) = list[i];
            after = list[i].number;
        }
    }
    return kind;
}

/* Checkpoints in the file must be signed and still in the store. */
static void judge_given(ctl_call *ctl, evidence *e)
{
    for (int i = 0; i < e->given->nelts; i++) {
        const audit_checkpoint *p = at(e->given, i);
        int found = 0;
        for (int k = 0; !found && k < e->stored->nelts; k++) {
            found = at(e->stored, k)->number == p->number &&
                    strcmp(audit_checkpoint_digest(ctl->pool, at(e->stored, k)),
                           audit_checkpoint_digest(ctl->pool, p)) == 0;
        }
        if (!audit_checkpoint_valid(ctl->pool, e->public, p)) {
            fault(
                e, p->number,
                ida_printf(ctl->pool,
                           "The checkpoint over record %lld in the file is not signed by the key: "
                           "the file was changed, or the key is another one.",
                           (long long)p->number));
            continue;
        }
        add_mark(ctl, e, p);
        if (!found) {
            fault(e, p->number,
                  ida_printf(ctl->pool,
                             "The checkpoint over record %lld is not in the store as it is in the "
                             "file: it was removed or changed there.",
                             (long long)p->number));
        }
    }
}

/* Checkpoints in the store must be signed, and none may be missing between two of them. */
static void judge_stored(ctl_call *ctl, evidence *e)
{
    const char *before = audit_genesis;
    for (int i = 0; i < e->stored->nelts; i++) {
        const audit_checkpoint *p = at(e->stored, i);
        if (!audit_checkpoint_valid(ctl->pool, e->public, p)) {
            fault(e, p->number,
                  ida_printf(ctl->pool,
                             "The stored checkpoint over record %lld is not signed by the key: it "
                             "was changed or inserted.",
                             (long long)p->number));
        } else {
            add_mark(ctl, e, p);
            if (strcmp(p->before, before) != 0) {
                fault(e, p->number,
                      ida_printf(ctl->pool,
                                 "The stored checkpoint over record %lld does not follow the one "
                                 "before it: one was removed, changed or inserted.",
                                 (long long)p->number));
            }
        }
        before = audit_checkpoint_digest(ctl->pool, p);
    }
}

static int by_number(const void *a, const void *b)
{
    const store_chain_mark *one = a, *two = b;
    return (one->number > two->number) - (one->number < two->number);
}

static ida_kind gather(ctl_call *ctl, store *s, evidence *e)
{
    const char *file = ctl_value(ctl, "checkpoints");
    e->stored = apr_array_make(ctl->pool, 64, sizeof(audit_checkpoint));
    e->given = apr_array_make(ctl->pool, 64, sizeof(audit_checkpoint));
    e->marks = apr_array_make(ctl->pool, 64, sizeof(store_chain_mark));
    ida_kind kind = read_key(ctl, e);
    kind = kind ? kind : read_stored(ctl, s, e);
    kind = kind || !file ? kind : read_given(ctl, e, file);
    if (!kind) {
        judge_given(ctl, e);
        judge_stored(ctl, e);
        qsort(e->marks->elts, (size_t)e->marks->nelts, sizeof(store_chain_mark), by_number);
    }
    return kind;
}

/* --- verifying --- */

typedef struct verdict {
    int64_t broken;
    const char *reason;
    const audit_anchor *anchor;
    queue_verify *rows;
} verdict;

static json_t *strays_json(const queue_verify *found)
{
    json_t *list = json_array();
    for (int i = 0; i < found->strays->nelts; i++) {
        const queue_stray *stray = &((const queue_stray *)found->strays->elts)[i];
        json_array_append_new(list, ida_json_texts("what", stray->what, "name", stray->name,
                                                   "reason", stray->how, NULL));
    }
    return list;
}

static json_t *verdict_json(const verdict *v, int64_t records, int checkpoints)
{
    json_t *document = json_pack(
        "{s:b, s:I, s:i, s:o, s:o, s:b, s:I, s:o}", "whole", v->broken == 0, "records",
        (json_int_t)records, "checkpoints", checkpoints, "brokenAt",
        v->broken ? json_integer(v->broken) : json_null(), "strays", strays_json(v->rows),
        "moreStrays", v->rows->more, "fromBefore", (json_int_t)v->rows->unjudged, "anchor",
        v->anchor ? json_pack("{s:I, s:I}", "number", (json_int_t)v->anchor->number, "foot",
                              (json_int_t)v->anchor->foot)
                  : json_null());
    ida_json_put(document, "reason", v->reason);
    return document;
}

static void say_whole(ctl_call *ctl, const verdict *v, int64_t records)
{
    const char *tenant = ctl->arguments[0];
    ctl_say(ctl, "The chain of %s is whole: %lld records.", tenant, (long long)records);
    if (v->anchor) {
        ctl_say(ctl, "It holds what was verified on this machine, up to record %lld.",
                (long long)v->anchor->number);
    } else {
        ctl_say(ctl, "There is no anchor on this machine: a chain that was deleted or replaced by "
                     "an older copy cannot be detected.");
    }
    if (v->rows->unjudged) {
        ctl_say(ctl, "Perhaps older than the records that are kept, and not judged: %s.",
                ida_count(ctl->pool, v->rows->unjudged, "key or task", "keys and tasks"));
    }
}

static int complain(ctl_call *ctl, const verdict *v)
{
    if (v->broken) {
        fprintf(stderr, "idadminctl: the chain of %s is broken at record %lld: %s\n",
                ctl->arguments[0], (long long)v->broken, v->reason);
    }
    for (int i = 0; i < v->rows->strays->nelts; i++) {
        const queue_stray *stray = &((const queue_stray *)v->rows->strays->elts)[i];
        fprintf(stderr, "idadminctl: the %s %s of %s: %s\n", stray->what, stray->name,
                ctl->arguments[0], stray->how);
    }
    if (v->rows->more) {
        fputs("idadminctl: there are more of these\n", stderr);
    }
    return v->broken || v->rows->strays->nelts ? CTL_FAILED : CTL_DONE;
}

int ctl_chain_verify(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_REQUEST);
    const char *tenant = ctl->arguments[0];
    int there;
    evidence e = {.broken = 0};
    store_chain_walk w = {.to = 0};
    verdict v = {.rows = queue_verify_make(ctl->c, &w)};
    ida_kind exists = ctl_tenant_exists(ctl, s, tenant),
             kind = exists == IDA_NOT_FOUND ? IDA_OK : exists;
    kind = kind ? kind : audit_anchor_read(ctl->c, s->audit_key, tenant, &v.anchor, &there);
    kind = kind || v.anchor ? kind : exists;
    kind = kind ? kind : gather(ctl, s, &e);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    w.anchor = v.anchor;
    w.marks = (const store_chain_mark *)e.marks->elts;
    w.mark_count = e.marks->nelts;
    kind = store_audit_walk_all(s, ctl->c, tenant, &w);
    if (!kind && !w.broken && !e.broken) {
        kind = queue_verify_rows(s, ctl->c, tenant, v.rows, &w);
    }
    v.broken = w.broken ? w.broken : e.broken;
    v.reason = w.broken ? w.reason : e.reason;
    kind = kind ? kind : queue_verify_companies(s, ctl->c, v.rows);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    json_t *document = verdict_json(&v, w.walked, e.marks->nelts);
    if (!ctl_json(ctl, document) && !v.broken) {
        say_whole(ctl, &v, w.walked);
    }
    json_decref(document);
    return complain(ctl, &v);
}

/* --- a chain that was put back by an administrator --- */

typedef struct accept_work {
    ctl_call *ctl;
    const audit_anchor *from, *to;
    const queue_verify *rows;
} accept_work;

static ida_kind accept_in(store *s, ida_ctx *c, void *baton)
{
    const accept_work *work = baton;
    const char *tenant = work->ctl->arguments[0];
    ida_kind kind = queue_verify_accept(s, c, tenant, work->rows);
    audit_record *record = ctl_audit(work->ctl, tenant, "audit.accept", tenant);
    record->parameters = ida_json_text(
        c->pool, ida_json_keep(c->pool, json_pack("{s:I, s:I}", "verifiedBefore",
                                                  (json_int_t)work->from->number, "accepted",
                                                  (json_int_t)work->to->number)));
    return kind ? kind : store_audit_add(s, c, record);
}

/* `from`: the present anchor. `to`: the one that accepts the chain as it is; `rows`: what is named
 * now. */
static ida_kind present(ctl_call *ctl, store *s, const audit_anchor **from, audit_anchor *to,
                        queue_verify **rows)
{
    const char *tenant = ctl->arguments[0];
    store_chain_walk w = {.to = 0};
    int there;
    *rows = queue_verify_make(ctl->c, &w);
    ida_kind kind = audit_anchor_read(ctl->c, s->audit_key, tenant, from, &there);
    if (!kind && !*from) {
        return ida_fail(ctl->c, IDA_NOT_FOUND,
                        "There is no anchor of %s on this machine: the worker creates it, there is "
                        "nothing to accept.",
                        tenant);
    }
    kind = kind ? kind : store_audit_walk_all(s, ctl->c, tenant, &w);
    if (!kind && w.broken) {
        return ida_fail(
            ctl->c, IDA_CONFLICT,
            "The chain of %s itself is broken at record %lld, which cannot be repaired: %s", tenant,
            (long long)w.broken, w.reason);
    }
    kind = kind ? kind : queue_verify_rows(s, ctl->c, tenant, *rows, &w);
    *to = (audit_anchor){w.to, w.foot, apr_pstrdup(ctl->pool, *w.hash ? w.hash : audit_genesis)};
    return kind;
}

int ctl_chain_accept(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_REQUEST);
    const char *tenant = ctl->arguments[0];
    const audit_anchor *from = NULL;
    audit_anchor to;
    queue_verify *rows;
    int moved = 0;
    ida_kind kind = ctl_tenant_exists(ctl, s, tenant);
    kind = kind ? kind : present(ctl, s, &from, &to, &rows);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    int64_t before = from->number, accepted = to.number; /* as on record */
    accept_work work = {ctl, from, &to, rows};
    kind = store_transaction(s, ctl->c, accept_in, &work);
    kind = kind ? kind : audit_anchor_move(ctl->c, s->audit_key, tenant, from, &to, &moved);
    while (!kind && !moved) { /* by a verifier at work */
        kind = present(ctl, s, &from, &to, &rows);
        kind = kind ? kind : audit_anchor_move(ctl->c, s->audit_key, tenant, from, &to, &moved);
    }
    /* Last, because a check that began before would use the old anchor. */
    kind = kind ? kind : store_chain_check_request(s, ctl->c, tenant);
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl,
                             json_pack("{s:s, s:I, s:I}", "companyId", tenant, "verifiedBefore",
                                       (json_int_t)before, "accepted", (json_int_t)accepted),
                             "The chain of %s is accepted as it is, up to record %lld.", tenant,
                             (long long)accepted);
}

int ctl_chain_checkpoints(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_REQUEST);
    evidence e = {.stored = apr_array_make(ctl->pool, 64, sizeof(audit_checkpoint))};
    ida_kind kind = ctl_tenant_exists(ctl, s, ctl->arguments[0]);
    kind = kind ? kind : read_stored(ctl, s, &e);
    for (int i = 0; !kind && i < e.stored->nelts; i++) {
        puts(audit_checkpoint_line(ctl->pool, at(e.stored, i)));
    }
    return ctl_result(ctl, kind);
}

int ctl_chain_public_key(ctl_call *ctl)
{
    unsigned char public[IDA_SECRET_LEN];
    ida_kind kind = audit_signer_public(ctl->c, ctl->config.audit_signing_key, public);
    if (!kind) {
        puts(ida_hex(ctl->pool, public, sizeof public));
    }
    return ctl_result(ctl, kind);
}

/* Refuses a broken chain: a new key after it would sign it with the worker's name. */
static ida_kind verify_all(ctl_call *ctl, store *s)
{
    const char *tenant = "";
    ida_kind kind = IDA_OK;
    while (!(kind = store_chain_next(s, ctl->c, tenant, &tenant)) && tenant) {
        int64_t broken, count;
        kind = store_audit_verify(s, ctl->c, tenant, &broken, &count);
        if (kind || broken) {
            return kind ? kind
                        : ida_fail(
                              ctl->c, IDA_CONFLICT,
                              "The chain of %s is broken at record %lld, no key was created: %s",
                              tenant, (long long)broken, ctl->c->message);
        }
    }
    return kind;
}

int ctl_chain_rotate_key(ctl_call *ctl)
{
    store *s = ctl_store(ctl, DB_INGEST);
    const char *id;
    int lost = ctl_value(ctl, "lost") != NULL;
    ida_kind kind = lost ? IDA_OK : verify_all(ctl, s);
    kind = kind ? kind : store_chain_rotate(s, ctl->c, lost, &id);
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl, json_pack("{s:s, s:s}", "key", id, "file", ctl->config.audit_key),
                             "The chains are under the key %s of %s.", id, ctl->config.audit_key);
}
