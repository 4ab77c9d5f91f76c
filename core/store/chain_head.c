/* Owns the end of a chain: only this file writes after it. Must not know where records come
 * from. */
#include "core/store/chain_head.h"

#include <apr_tables.h>
#include <string.h>

#include "core/audit/marks.h"
#include "core/base/text.h"
#include "core/store/rows.h"

#define SALT_BYTES 16

audit_head store_chain_row(const db_result *r, const char *tenant)
{
    if (!r->rows) {
        return (audit_head){.tenant = tenant, .hash = audit_genesis, .first_hash = audit_genesis};
    }
    const row_chain *row = DB_ROW(chain, r, 0);
    return (audit_head){.tenant = tenant,
                        .hash = row->hash.text,
                        .first_hash = row->first_hash.text,
                        .seq = row->seq.number,
                        .first_seq = row->first_seq.number,
                        .keyed_from = row->keyed_from.number,
                        .broken = row->broken.number};
}

static int proven(const char *mac, const char *stored)
{
    return stored && strcmp(mac, stored) == 0;
}

int store_chain_head_proven(apr_pool_t *pool, const audit_secret *key, const db_result *r,
                            const char *tenant)
{
    audit_head is = store_chain_row(r, tenant);
    return r->rows && proven(audit_head_mac(pool, key, &is), DB_ROW(chain, r, 0)->head_mac.text);
}

int store_chain_foot_proven(apr_pool_t *pool, const audit_secret *key, const db_result *r,
                            const char *tenant)
{
    audit_head is = store_chain_row(r, tenant);
    return r->rows && proven(audit_foot_mac(pool, key, &is), DB_ROW(chain, r, 0)->foot_mac.text);
}

/* --- writing --- */

/* For those who are told once it is committed. */
static void note(store *s, ida_ctx *c, const audit_link *link, const char *hash)
{
    if (s->chained) {
        s->fresh = s->fresh ? s->fresh : apr_array_make(c->pool, 64, sizeof(audit_row));
        APR_ARRAY_PUSH(s->fresh, audit_row) = (audit_row){.seq = link->seq,
                                                          .record = *link->record,
                                                          .hash = hash};
    }
}

static ida_kind add(store *s, ida_ctx *c, store_chain_head *head, const audit_record *a,
                    const char *next_key)
{
    db_result r;
    unsigned char salt_bytes[SALT_BYTES];
    ida_random(c->env, salt_bytes, sizeof salt_bytes);
    const char *salt = ida_hex(c->pool, salt_bytes, sizeof salt_bytes);
    audit_link link = {.previous = head->is.hash,
                       .seq = head->is.seq + 1,
                       .record = a,
                       .personal_hash = audit_personal_hash(c->pool, salt, a),
                       .question = audit_is_question(a),
                       .next_key = next_key,
                       .marks = audit_marks_bare(c->pool, a->marks ? a->marks : "")};
    const char *hash = audit_chain_hash(c->pool, head->key, &link);
    ida_kind kind = store_write(
        s, c, STMT_audit_record_add,
        DB_ARGS(DB_T(a->tenant), DB_I(link.seq), DB_T(a->rid), DB_I(a->at), DB_T(a->category),
                DB_T(a->outcome), DB_T(a->actor), DB_T(audit_key(c->pool, a->actor)),
                DB_T(a->label), DB_T(a->action), DB_T(a->target), DB_T(a->endpoint),
                DB_T(a->parameters), DB_T(a->detail), DB_T(a->address), DB_T(a->correlation),
                DB_T(salt), DB_T(link.personal_hash), DB_T(hash),
                DB_T(audit_key(c->pool, a->target)), DB_I(link.question), DB_T(head->key->id),
                DB_T(next_key), DB_T(a->marks ? a->marks : "")),
        &r);
    if (!kind && r.changes) {
        head->is.seq++;
        head->is.hash = hash;
        note(s, c, &link, hash);
    }
    return kind;
}

ida_kind store_chain_append(store *s, ida_ctx *c, store_chain_head *head,
                            const audit_record *record)
{
    return add(s, c, head, record, NULL);
}

ida_kind store_chain_close(store *s, ida_ctx *c, const store_chain_head *head)
{
    const audit_head *is = &head->is;
    return store_write(s, c, STMT_audit_chain_set,
                       DB_ARGS(DB_T(is->tenant), DB_I(is->seq), DB_T(is->hash), DB_I(is->first_seq),
                               DB_T(is->first_hash), DB_I(is->keyed_from), DB_I(is->broken),
                               DB_T(head->key->id), DB_T(audit_head_mac(c->pool, head->key, is)),
                               DB_T(audit_foot_mac(c->pool, head->key, is))),
                       NULL);
}

/* --- judging --- */

static audit_record *moved(ida_ctx *c, const char *tenant, const char *detail)
{
    audit_record *record = audit_make(c, tenant, "workflow");
    record->actor = "worker";
    record->label = "";
    record->action = "audit.rotateKey";
    record->outcome = "ok";
    record->detail = detail;
    return record;
}

/* The first record under a key, after those from before there were keys. */
static ida_kind begin_keys(store *s, ida_ctx *c, store_chain_head *head)
{
    head->is.keyed_from = head->is.seq + 1;
    return add(s, c, head,
               moved(c, head->is.tenant,
                     ida_printf(c->pool, "from here on under the key %s", head->key->id)),
               NULL);
}

/* The last record under the old key names the new one. */
static ida_kind change_key(store *s, ida_ctx *c, store_chain_head *head, const audit_secret *old)
{
    const audit_secret *next = head->key;
    head->key = old;
    ida_kind kind = add(s, c, head,
                        moved(c, head->is.tenant,
                              ida_printf(c->pool, "from key %s to key %s", old->id, next->id)),
                        next->id);
    head->key = next;
    return kind;
}

/* The end is not the one that the worker left, so its row cannot be trusted: writing continues
 * after the newest existing record, and the mark stays for ever. */
static void mark_broken(ida_ctx *c, store_chain_head *head, const row_audit_end *newest)
{
    audit_head *is = &head->is;
    is->seq = newest ? newest->seq.number : 0;
    is->hash = newest ? newest->hash.text : audit_genesis;
    is->first_seq = is->first_seq > is->seq || is->first_seq < 0 ? is->seq : is->first_seq;
    is->broken = is->broken > 0 && is->broken <= is->seq ? is->broken : is->seq + 1;
    is->keyed_from = is->keyed_from > 0 && is->keyed_from <= is->seq ? is->keyed_from : is->seq + 1;
    ida_log(c->env, IDA_LOG_ERROR, "IDA0142",
            "audit: the end of the chain of %s is not the one that the worker left there; records "
            "are kept behind number %lld, where verification will show it: leave the machine as it "
            "is and find out who was there",
            is->tenant, (long long)is->seq);
}

ida_kind store_chain_open(store *s, ida_ctx *c, const audit_keys *keys, const char *tenant,
                          store_chain_head *head)
{
    db_result r, end;
    ida_kind kind = store_write(s, c, STMT_audit_chain_make,
                                DB_ARGS(DB_T(tenant), DB_T(audit_genesis)), NULL);
    kind = kind ? kind : store_read(s, c, STMT_audit_chain_lock, DB_ARGS(DB_T(tenant)), &r);
    kind = kind ? kind : store_read(s, c, STMT_audit_newest, DB_ARGS(DB_T(tenant)), &end);
    if (kind) {
        return kind;
    }
    const row_chain *row = DB_ROW(chain, &r, 0);
    const row_audit_end *newest = end.rows ? DB_ROW(audit_end, &end, 0) : NULL;
    const audit_secret *held = audit_keys_find(keys, row->key_id.text);
    *head = (store_chain_head){store_chain_row(&r, tenant), audit_keys_newest(keys)};
    int unkeyed = !row->key_id.text && !row->head_mac.text && !head->is.keyed_from,
        beyond = newest && newest->seq.number > head->is.seq;
    if (unkeyed && !beyond && !head->is.seq) {
        head->is.keyed_from = 1;
        return IDA_OK;
    }
    if (unkeyed && !beyond && keys->is_new) {
        return begin_keys(s, c, head);
    }
    if (beyond || !held || (held != head->key && !keys->is_new) ||
        !store_chain_head_proven(c->pool, held, &r, tenant) ||
        !store_chain_foot_proven(c->pool, held, &r, tenant)) {
        mark_broken(c, head, newest);
        return IDA_OK;
    }
    return held == head->key ? IDA_OK : change_key(s, c, head, held);
}
