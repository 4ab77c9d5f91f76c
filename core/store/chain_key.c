/* Owns which key the chains of a store are under, and the moving of all of them to another one.
 * Must not know what a file of keys looks like. */
#include "core/store/chain_key.h"

#include <apr_strings.h>
#include <string.h>
#include <unistd.h>

#include "core/audit/marks.h"
#include "core/store/chain_head.h"
#include "core/store/rows.h"

ida_kind store_audit_keys(store *s, ida_ctx *c, audit_keys *keys)
{
    keys->count = 0;
    return s->audit_key ? audit_keys_read(c, s->audit_key, keys)
                        : ida_fail(c, IDA_INTERNAL_ERROR, "This process has no audit key.");
}

ida_kind store_audit_key_make(store *s, ida_ctx *c, uid_t owner, gid_t group)
{
    const char *id;
    ida_kind kind = store_id(s, c, STMT_audit_key_get, DB_NONE, &id);
    if (!kind && id && access(s->audit_key, F_OK) != 0) {
        return ida_fail(c, IDA_CONFLICT,
                        "The chains of this store are under the audit key %s, and %s is not there: "
                        "copy it from the node where it was made or rotated last; where it is lost "
                        "run idadminctl audit rotate-key --lost",
                        id, s->audit_key);
    }
    return kind ? kind : audit_keys_make(c, s->audit_key, owner, group);
}

ida_kind store_chain_allowed(store *s, ida_ctx *c, const audit_keys *keys)
{
    const audit_secret *newest = audit_keys_newest(keys);
    const char *id;
    ida_kind kind = store_id(s, c, STMT_audit_key_get, DB_NONE, &id);
    if (kind || (id && strcmp(id, newest->id) == 0)) {
        return kind;
    }
    if (!id || (keys->is_new && audit_keys_find(keys, id))) {
        return store_write(s, c, STMT_audit_key_set, DB_ARGS(DB_T(newest->id)), NULL);
    }
    return ida_fail(c, IDA_CONFLICT,
                    "the chains of this store are under the audit key %s, and the newest of %s is "
                    "%s: copy the file from the node where it was made or rotated last",
                    id, s->audit_key, newest->id);
}

static ida_kind allowed(store *s, ida_ctx *c, void *baton)
{
    return store_chain_allowed(s, c, baton);
}

ida_kind store_audit_ready(store *s, ida_ctx *c)
{
    audit_keys keys;
    ida_kind kind = store_audit_keys(s, c, &keys);
    kind = kind ? kind : store_transaction(s, c, allowed, &keys);
    audit_keys_wipe(&keys);
    return kind;
}

/* --- moving --- */

typedef struct move_work {
    const audit_keys *keys;
    const char *tenant;
    int64_t after;
    int more;
} move_work;

static ida_kind move(store *s, ida_ctx *c, void *baton)
{
    const move_work *w = baton;
    store_chain_head head;
    ida_kind kind = store_chain_allowed(s, c, w->keys);
    kind = kind ? kind : store_chain_open(s, c, w->keys, w->tenant, &head);
    return kind ? kind : store_chain_close(s, c, &head);
}

/* A page of records that were erased before the worker put its name to that. */
static ida_kind mark_erased(store *s, ida_ctx *c, void *baton)
{
    move_work *w = baton;
    const audit_secret *key = audit_keys_newest(w->keys);
    db_result r;
    ida_kind kind = store_read(s, c, STMT_audit_erased_unmarked,
                               DB_ARGS(DB_T(w->tenant), DB_I(w->after)), &r);
    w->more = !kind && r.rows;
    for (int i = 0; !kind && i < r.rows; i++) {
        int64_t seq = DB_ROW(number, &r, i)->number.number;
        const char *mac = audit_erased_mac(c->pool, key, w->tenant, seq);
        kind = store_write(s, c, STMT_audit_erased_mark,
                           DB_ARGS(DB_T(w->tenant), DB_I(seq), DB_T(mac)), NULL);
    }
    return kind;
}

static ida_kind move_one(store *s, ida_ctx *c, move_work *w)
{
    ida_kind kind = IDA_OK;
    /* only the first key: what was erased without one since was not erased by this service */
    for (w->more = w->keys->count == 1; !kind && w->more;) {
        kind = store_transaction(s, c, mark_erased, w);
    }
    return kind ? kind : store_transaction(s, c, move, w);
}

static ida_kind move_each(store *s, ida_ctx *c, const audit_keys *keys)
{
    const char *tenant = "";
    ida_kind kind = IDA_OK;
    while (!kind) {
        kind = store_id(s, c, STMT_audit_chain_next, DB_ARGS(DB_T(tenant)), &tenant);
        if (kind || !tenant) {
            break;
        }
        move_work w = {.keys = keys, .tenant = tenant};
        kind = move_one(s, c, &w);
    }
    return kind;
}

ida_kind store_chain_move_all(store *s, ida_ctx *c)
{
    audit_keys keys;
    ida_kind kind = store_audit_keys(s, c, &keys);
    if (!kind && keys.is_new) {
        kind = store_transaction(s, c, allowed, &keys);
        kind = kind ? kind : move_each(s, c, &keys);
        kind = kind ? kind : audit_keys_set_new(c, s->audit_key, &keys, 0);
    }
    audit_keys_wipe(&keys);
    return kind;
}

static ida_kind take_over(store *s, ida_ctx *c, void *baton)
{
    const audit_keys *keys = baton;
    return store_write(s, c, STMT_audit_key_set, DB_ARGS(DB_T(audit_keys_newest(keys)->id)), NULL);
}

ida_kind store_chain_rotate(store *s, ida_ctx *c, int lost, const char **id)
{
    audit_keys keys = {0};
    ida_kind kind = lost ? audit_keys_make(c, s->audit_key, (uid_t)-1, (gid_t)-1) : IDA_OK;
    kind = kind ? kind : store_audit_keys(s, c, &keys);
    kind = kind || !lost ? kind : store_transaction(s, c, take_over, &keys);
    kind = kind ? kind : store_transaction(s, c, allowed, &keys);
    kind = kind ? kind : audit_keys_rotate(c, s->audit_key, &keys);
    *id = kind ? NULL : apr_pstrdup(c->pool, audit_keys_newest(&keys)->id);
    audit_keys_wipe(&keys);
    return kind ? kind : store_chain_move_all(s, c);
}

/* --- erasure --- */

ida_kind store_audit_erase(store *s, ida_ctx *c, const char *tenant, const store_erased *records,
                           int count)
{
    audit_keys keys;
    ida_kind kind = store_audit_keys(s, c, &keys);
    for (int i = 0; !kind && i < count; i++) {
        const char *mac = audit_erased_mac(c->pool, audit_keys_newest(&keys), tenant,
                                           records[i].seq);
        kind = store_write(s, c, STMT_erase_record,
                           DB_ARGS(DB_T(tenant), DB_I(records[i].seq), DB_T(mac),
                                   DB_T(audit_marks_bare(c->pool, records[i].marks))),
                           NULL);
    }
    audit_keys_wipe(&keys);
    return kind;
}
