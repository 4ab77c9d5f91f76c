/* Owns the answers that are kept under idempotency keys. Must not know what the answers say. */
#include "core/store/idempotency.h"

#define KEY_OF(row)                                                                     \
    DB_T((row)->tenant), DB_T((row)->username), DB_T((row)->method), DB_T((row)->path), \
        DB_T((row)->key)

ida_kind store_idempotency_find(store *s, ida_ctx *c, store_idempotency *row, int *found)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_idempotency_get, DB_ARGS(KEY_OF(row)), &r);
    *found = !kind && r.rows;
    if (!*found) {
        return kind;
    }
    const row_idempotency *kept = DB_ROW(idempotency, &r, 0);
    row->hash = kept->request_hash.text;
    row->answer = kept->answer.text;
    row->location = kept->location.text;
    row->task_id = kept->task_id.text;
    return IDA_OK;
}

ida_kind store_idempotency_take(store *s, ida_ctx *c, store_idempotency *row, int *taken)
{
    db_result r;
    int found;
    ida_kind kind = store_write(s, c, STMT_idempotency_take,
                                DB_ARGS(KEY_OF(row), DB_T(row->hash), DB_I(ida_now(c->env))), &r);
    *taken = !kind && r.changes;
    if (kind || *taken) {
        return kind;
    }
    kind = store_idempotency_find(s, c, row, &found);
    return kind || found ? kind
                         : ida_fail(c, IDA_CONFLICT,
                                    "The Idempotency-Key was forgotten at this moment. Try again.");
}

ida_kind store_idempotency_keep(store *s, ida_ctx *c, const store_idempotency *row)
{
    return store_write(
        s, c, STMT_idempotency_keep,
        DB_ARGS(KEY_OF(row), DB_T(row->answer), DB_T(row->location), DB_T(row->task_id)), NULL);
}

ida_kind store_idempotency_retain(store *s, ida_ctx *c, int64_t before, int max, int *removed)
{
    db_result r;
    ida_kind kind = store_write(s, c, STMT_idempotency_retain, DB_ARGS(DB_I(before), DB_I(max)),
                                &r);
    *removed = kind ? 0 : (int)r.changes;
    return kind;
}
