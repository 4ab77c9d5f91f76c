/* Owns the rows of audit.checkpoint. Must not know where checkpoints go. */
#include "core/store/checkpoint.h"

#include <string.h>

#include "core/store/chain_head.h"
#include "core/store/chain_key.h"
#include "core/store/rows.h"

STORE_FILL(fill, audit_checkpoint, checkpoint, .tenant = row->tenant_id.text,
           .number = row->number.number, .hash = row->hash.text, .at = row->at.number,
           .before = row->before.text, .signature = row->signature.text)

static ida_kind read_rows(store *s, ida_ctx *c, db_statement statement, db_args args,
                          const audit_checkpoint **list, int *count)
{
    return store_rows(s, c, statement, args, fill, sizeof(audit_checkpoint), list, count);
}

ida_kind store_checkpoint_page(store *s, ida_ctx *c, const char *tenant, int64_t after,
                               const audit_checkpoint **list, int *count)
{
    return read_rows(s, c, STMT_checkpoint_page, DB_ARGS(DB_T(tenant), DB_I(after)), list, count);
}

ida_kind store_checkpoint_newest(store *s, ida_ctx *c, const char *tenant,
                                 const audit_checkpoint **newest)
{
    int count = 0;
    ida_kind kind = read_rows(s, c, STMT_checkpoint_newest, DB_ARGS(DB_T(tenant)), newest, &count);
    *newest = count ? *newest : NULL;
    return kind;
}

ida_kind store_checkpoint_unsent(store *s, ida_ctx *c, const audit_checkpoint **list, int *count)
{
    return read_rows(s, c, STMT_checkpoint_unsent, DB_NONE, list, count);
}

ida_kind store_checkpoint_sent(store *s, ida_ctx *c, const audit_checkpoint *checkpoint)
{
    return store_write(s, c, STMT_checkpoint_sent,
                       DB_ARGS(DB_T(checkpoint->tenant), DB_I(checkpoint->number)), NULL);
}

ida_kind store_chain_next(store *s, ida_ctx *c, const char *tenant, const char **next)
{
    return store_id(s, c, STMT_audit_chain_next, DB_ARGS(DB_T(tenant)), next);
}

/* --- making --- */

typedef struct make_work {
    const char *tenant, *signing_key;
    unsigned char public[IDA_SECRET_LEN];
    audit_keys keys;
    int made;
} make_work;

/* For a locked chain, so that no record is appended after the signed one and no other checkpoint
 * is signed meanwhile. */
static ida_kind make(store *s, ida_ctx *c, void *baton)
{
    make_work *w = baton;
    const audit_checkpoint *before;
    db_result r;
    w->made = 0;
    ida_kind kind = store_read(s, c, STMT_audit_chain_lock, DB_ARGS(DB_T(w->tenant)), &r);
    kind = kind ? kind : store_checkpoint_newest(s, c, w->tenant, &before);
    audit_head is = store_chain_row(&r, w->tenant);
    if (kind || !is.seq || (before && before->number == is.seq)) {
        return kind;
    }
    const audit_secret *key = audit_keys_find(&w->keys, DB_ROW(chain, &r, 0)->key_id.text);
    if (!key || !store_chain_head_proven(c->pool, key, &r, w->tenant)) {
        return ida_fail(c, IDA_CONFLICT,
                        "the end of the chain is not the one that the worker left; see idadminctl "
                        "audit verify %s",
                        w->tenant);
    }
    if (before && !audit_checkpoint_valid(c->pool, w->public, before)) {
        return ida_fail(c, IDA_CONFLICT,
                        "the newest checkpoint, over record %lld, is not signed by the key of this "
                        "node: copy %s from the node that signs, or find out who wrote it",
                        (long long)before->number, w->signing_key);
    }
    if (before && before->number > is.seq) {
        return ida_fail(c, IDA_CONFLICT,
                        "the newest checkpoint is over record %lld and the chain ends with %lld: "
                        "records were cut off",
                        (long long)before->number, (long long)is.seq);
    }
    audit_checkpoint next = {.tenant = w->tenant,
                             .number = is.seq,
                             .at = ida_now(c->env),
                             .hash = is.hash,
                             .before = before ? audit_checkpoint_digest(c->pool, before)
                                              : audit_genesis};
    kind = audit_checkpoint_sign(c, w->signing_key, &next);
    w->made = !kind;
    return kind ? kind
                : store_write(s, c, STMT_checkpoint_add,
                              DB_ARGS(DB_T(next.tenant), DB_I(next.number), DB_T(next.hash),
                                      DB_I(next.at), DB_T(next.before), DB_T(next.signature)),
                              NULL);
}

ida_kind store_checkpoint_make(store *s, ida_ctx *c, const char *tenant, const char *signing_key,
                               int *made)
{
    make_work w = {.tenant = tenant, .signing_key = signing_key};
    ida_kind kind = audit_signer_public(c, signing_key, w.public);
    kind = kind ? kind : store_audit_keys(s, c, &w.keys);
    kind = kind ? kind : store_transaction(s, c, make, &w);
    audit_keys_wipe(&w.keys);
    *made = !kind && w.made;
    return kind;
}
