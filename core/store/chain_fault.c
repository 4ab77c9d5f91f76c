/* Owns the judgement of one record in its place of the chain, and what was done to it. Must not
 * know how the chain is read. */
#include "core/store/chain_fault.h"

#include <string.h>

#include "core/audit/marks.h"
#include "core/base/text.h"
#include "core/store/audit.h"

static int same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Whether row `i` would be whole after `previous` as number `seq` of `tenant`. */
static int fits(apr_pool_t *pool, const db_result *r, int i, const audit_keys *keys,
                const char *tenant, const char *previous, int64_t seq)
{
    const row_audit *row = DB_ROW(audit, r, i);
    const audit_secret *key = audit_keys_find(keys, row->key_id.text);
    audit_row stored = store_audit_row(r, i, tenant);
    const audit_link link = {.previous = previous,
                             .seq = seq,
                             .record = &stored.record,
                             .personal_hash = row->personal_hash.text,
                             .question = row->question.number != 0,
                             .next_key = row->next_key.text,
                             .marks = audit_marks_bare(pool, row->marks.text)};
    return (key || !(row->key_id.text || link.marks)) &&
           same(audit_chain_hash(pool, key, &link), row->hash.text);
}

/* Why it does not fit: from what its neighbours say, as far as they are of this page. */
static const char *misfit(apr_pool_t *pool, const db_result *r, int i, const store_chain_place *p)
{
    for (int k = 0; k < r->rows; k++) {
        const row_audit *other = DB_ROW(audit, r, k);
        if (k != i &&
            (fits(pool, r, i, p->keys, p->tenant, other->hash.text, other->seq.number) ||
             fits(pool, r, i, p->keys, p->tenant, other->hash.text, other->seq.number + 1))) {
            return "stands in the place of another: records were put into another order";
        }
    }
    if (i + 1 < r->rows && fits(pool, r, i + 1, p->keys, p->tenant, p->previous, p->seq)) {
        return "was put in: the one behind it is the one that belongs here";
    }
    return "does not fit the one before it: its time, category, outcome, identity, question, key "
           "or place was changed, or one was taken out before it";
}

/* Checks the columns for filters, which are stored beside the record. Keys from before records
 * were chained under a key may have been folded by the engine. */
static const char *column_fault(apr_pool_t *pool, const row_audit *row, const audit_record *record)
{
    const char *target = audit_key(pool, record->target), *target_key = row->target_key.text;
    if (!same(audit_key(pool, record->actor), row->actor_key.text)) {
        return "was changed in the key of its actor";
    }
    if (!same(target, row->key_id.text ? target_key : audit_key(pool, target_key))) {
        return "was changed in the key of its target";
    }
    if (row->salt.text && row->question.number != audit_is_question(record)) {
        return "was changed in whether it was a question";
    }
    return NULL;
}

static const char *erasure_fault(apr_pool_t *pool, const row_audit *row, const audit_record *record,
                                 const store_chain_place *p)
{
    if (record->actor || record->label || record->action || record->target || record->endpoint ||
        record->parameters || record->detail || record->address || record->correlation ||
        !same(record->marks, audit_marks_bare(pool, record->marks))) {
        return "counts as erased but has a personal part";
    }
    for (int i = 0; i < p->keys->count; i++) {
        if (same(audit_erased_mac(pool, &p->keys->all[i], p->tenant, p->seq),
                 row->erased_mac.text)) {
            return NULL;
        }
    }
    return "was emptied, and not by an erasure of this service";
}

static const char *key_fault(apr_pool_t *pool, const row_audit *row, const store_chain_place *p)
{
    const char *id = row->key_id.text;
    if (p->seq < p->keyed_from) {
        return id ? "is under a key, though keys began later" : NULL;
    }
    if (!id) {
        return ida_printf(pool, "is under no key, though all from %lld on are",
                          (long long)p->keyed_from);
    }
    if (!audit_keys_find(p->keys, id)) {
        return ida_printf(pool, "is under the key %s, which is not in the file of the keys",
                          ida_clean(pool, id, strlen(id), 64));
    }
    return *p->key && strcmp(p->key, id) != 0
               ? ida_printf(pool, "is under the key %s, and nothing before it says so",
                            ida_clean(pool, id, strlen(id), 64))
               : NULL;
}

const char *store_chain_fault(apr_pool_t *pool, const db_result *r, int i,
                              const store_chain_place *place)
{
    const row_audit *row = DB_ROW(audit, r, i);
    audit_row stored = store_audit_row(r, i, place->tenant);
    if (stored.seq != place->seq) {
        return "is missing";
    }
    const char *how = key_fault(pool, row, place);
    if (how) {
        return how;
    }
    if (!fits(pool, r, i, place->keys, place->tenant, place->previous, place->seq)) {
        return misfit(pool, r, i, place);
    }
    if (row->salt.text &&
        !same(audit_personal_hash(pool, row->salt.text, &stored.record), row->personal_hash.text)) {
        return "was changed in its personal part";
    }
    how = row->salt.text ? NULL : erasure_fault(pool, row, &stored.record, place);
    return how ? how : column_fault(pool, row, &stored.record);
}
