/* Owns the rows of audit_check, in which a verification is requested, and of audit.verified, which
 * only the worker writes. Must not know how a chain is verified. */
#include "core/store/chain_check.h"

#include "core/store/rows.h"

ida_kind store_chain_check_get(store *s, ida_ctx *c, const char *tenant, store_chain_check *out)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_audit_check_get, DB_ARGS(DB_T(tenant)), &r);
    *out = (store_chain_check){.hash = ""};
    if (!kind && r.rows) {
        const row_audit_check *k = DB_ROW(audit_check, &r, 0);
        int64_t wished = k->wished.number;
        *out = (store_chain_check){.requested_at = wished == k->answered.number ? 0 : wished,
                                   .wished = wished,
                                   .claimed_at = k->claimed_at.number,
                                   .verified_to = k->verified_to.number,
                                   .verified_at = k->verified_at.number,
                                   .full_at = k->full_at.number,
                                   .hash = k->hash.text,
                                   .broken_at = k->broken_at.number,
                                   .reason = k->reason.text,
                                   .strays = k->strays.number,
                                   .stray = k->stray.text};
    }
    return kind;
}

ida_kind store_chain_check_request(store *s, ida_ctx *c, const char *tenant)
{
    return store_write(s, c, STMT_audit_check_request, DB_ARGS(DB_T(tenant), DB_I(ida_now(c->env))),
                       NULL);
}

ida_kind store_chain_check_due(store *s, ida_ctx *c, int64_t before, const char **tenant)
{
    return store_id(s, c, STMT_audit_check_due,
                    DB_ARGS(DB_I(before), DB_I(ida_now(c->env) + STORE_CLOCKS_APART_MS)), tenant);
}

ida_kind store_chain_check_claim(store *s, ida_ctx *c, const char *tenant,
                                 const store_chain_check *seen, int *taken)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_audit_check_claim,
                                DB_ARGS(DB_T(tenant), DB_I(seen->claimed_at), DB_I(ida_now(c->env)),
                                        DB_I(seen->wished)),
                                &r);
    *taken = !kind && r.changes;
    return kind;
}

ida_kind store_chain_check_done(store *s, ida_ctx *c, const char *tenant,
                                const store_chain_check *found)
{
    return store_write(s, c, STMT_audit_check_done,
                       DB_ARGS(DB_T(tenant), DB_I(found->wished), DB_I(found->verified_to),
                               DB_T(found->hash), DB_I(found->verified_at), DB_I(found->full_at),
                               DB_I(found->broken_at), DB_T(found->reason), DB_I(found->strays),
                               DB_T(found->stray)),
                       NULL);
}

ida_kind store_chain_ends(store *s, ida_ctx *c, const char *tenant, int64_t *first, int64_t *last)
{
    db_result r;
    *first = *last = 0;
    ida_kind kind = store_read(s, c, STMT_audit_chain_read, DB_ARGS(DB_T(tenant)), &r);
    if (!kind && r.rows) {
        const row_chain *chain = DB_ROW(chain, &r, 0);
        *last = chain->seq.number;
        *first = *last > chain->first_seq.number ? chain->first_seq.number + 1 : 0;
        *last = *first ? *last : 0;
    }
    return kind;
}

const char *store_chain_state(const store_chain_check *check)
{
    return !check->verified_at ? "unverified" : check->broken_at ? "broken" : "whole";
}
