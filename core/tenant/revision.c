/* Owns whether a stored tenant may be trusted: its seal, and that it is no older than the newest
 * that this node has seen. What it has seen, <seal key>.revisions, is one JSON object {company ID:
 * revision}, replaced as a whole under a lock on the key file. Knows no store. */
#include <openssl/crypto.h>

#include "core/base/beside.h"
#include "core/base/json.h"
#include "core/tenant/tenant.h"

static ida_beside seen_file(const char *key_file)
{
    return (ida_beside){"file of seal revisions", key_file, ".revisions"};
}

/* *revisions: empty when the file is not there yet. Belongs to the pool. */
static ida_kind parse(ida_ctx *c, const ida_beside *file, const char *text, json_t **revisions)
{
    *revisions = text ? ida_json_load(c->pool, text) : ida_json_keep(c->pool, json_object());
    return json_is_object(*revisions)
               ? IDA_OK
               : ida_beside_fail(
                     c, file,
                     "is damaged: take it from a backup, or remove it (then whatever sealed "
                     "document the store holds counts as the newest) and look at each with "
                     "`idadminctl tenant show`.");
}

static int64_t revision_in(const json_t *revisions, const char *tenant)
{
    return json_integer_value(json_object_get(revisions, tenant)); /* 0 when there is none */
}

ida_kind ida_seal_seen(ida_ctx *c, const char *key_file, const char *tenant, int64_t *revision)
{
    const ida_beside file = seen_file(key_file);
    const char *text;
    json_t *revisions;
    ida_kind kind = ida_beside_read(c, &file, &text);
    kind = kind ? kind : parse(c, &file, text, &revisions);
    *revision = kind ? 0 : revision_in(revisions, tenant);
    return kind;
}

typedef struct note_work {
    const ida_beside *file;
    const char *tenant;
    int64_t revision;
} note_work;

static ida_kind note(ida_ctx *c, const char *text, const char **changed, void *baton)
{
    const note_work *w = baton;
    json_t *revisions;
    ida_kind kind = parse(c, w->file, text, &revisions);
    if (!kind && revision_in(revisions, w->tenant) < w->revision) {
        json_object_set_new(revisions, w->tenant, json_integer(w->revision));
        *changed = ida_json_sorted(c->pool, revisions);
    }
    return kind;
}

ida_kind ida_seal_note(ida_ctx *c, const char *key_file, const char *tenant, int64_t revision)
{
    const ida_beside file = seen_file(key_file);
    note_work work = {&file, tenant, revision};
    int64_t seen;
    ida_kind kind = ida_seal_seen(c, key_file, tenant, &seen);
    return kind || seen >= revision ? kind /* the usual case takes no lock */
                                    : ida_beside_update(c, &file, note, &work);
}

ida_kind ida_seal_judge(ida_ctx *c, const char *key_file, const ida_tenant *tenant,
                        const ida_stored_tenant *stored, ida_seal_state *state, const char **why)
{
    unsigned char key[IDA_SEAL_KEY_LEN];
    int64_t seen;
    *state = IDA_SEAL_BROKEN;
    *why = "its settings are not sealed by idadminctl: somebody changed them in the store, or the "
           "seal key is another one";
    ida_kind kind = ida_seal_key_read(c, key_file, key);
    kind = kind ? kind : ida_seal_seen(c, key_file, tenant->id, &seen);
    if (!kind && ida_tenant_seal_valid(key, tenant, stored->revision, stored->seal)) {
        *state = stored->revision < seen ? IDA_SEAL_OLDER : IDA_SEAL_GOOD;
        *why = ida_printf(c->pool,
                          "its document is sealed, but older (revision %lld) than one that was "
                          "seen here (revision %lld): the store was restored from a backup, or "
                          "somebody put an old document back",
                          (long long)stored->revision, (long long)seen);
    }
    OPENSSL_cleanse(key, sizeof key);
    return kind;
}
