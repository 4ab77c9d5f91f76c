/* idadminctl audit: exports a tenant's log with its checkpoint, and ingests the spool of a lost
 * node. */
#include <stdio.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/export.h"
#include "worker/ctl/chain.h"
#include "worker/ctl/operation.h"
#include "worker/ingest.h"

/* One page at a time, because a log of years does not fit in memory. With --json the lines
 * become one array. */
static ida_kind print_rows(ctl_call *ctl, ida_call *call)
{
    ida_export *x = call->exported;
    const char *separator = ctl->json ? "[\n" : "";
    ida_kind kind = IDA_OK;
    apr_pool_t *pool;
    apr_pool_create(&pool, ctl->pool);
    call->store = ctl->store;
    for (int more = 1; more && !kind; more = x->more) {
        const json_t *row;
        size_t i;
        json_array_foreach (x->rows, i, row) {
            printf("%s%s", separator, ida_json_text(pool, row));
            separator = ctl->json ? ",\n" : "\n";
        }
        apr_pool_clear(pool);
        if (x->more) {
            ida_ctx *c = ida_ctx_make(&ctl->env, pool);
            kind = x->read(call, c, x);
            kind = kind ? ida_fail(ctl->c, kind, "%s", c->message) : kind;
        }
    }
    if (!kind) {
        puts(!ctl->json ? "" : separator[0] == '[' ? "[]" : "\n]");
    }
    return kind;
}

int ctl_audit_export(ctl_call *ctl)
{
    ida_call call;
    ida_kind kind = ctl_operation_run(ctl, &call);
    if (kind) {
        return ctl_operation_end(ctl, &call, kind);
    }
    if (ctl_chain_sign(ctl, ctl->arguments[0])) { /* a broken chain is exported as well */
        fprintf(stderr, "idadminctl: no checkpoint goes with this export: %s\n", ctl->c->message);
        ida_ctx_clear(ctl->c);
    }
    return ctl_result(ctl, print_rows(ctl, &call));
}

#define BATCHES 100 /* of the outbox in one call */

/* Ingests the records that wait in the store. Required before the seal key is replaced, because
 * their proofs use that key. */
static int drain_outbox(ctl_call *ctl)
{
    store *audit = ctl_store(ctl, DB_INGEST), *main = ctl_store(ctl, DB_REQUEST);
    store_audit_turns turns = {0};
    int64_t records = 0;
    int moved;
    ida_kind kind;
    do {
        kind = store_audit_drain_outbox(main, audit, ctl->c, BATCHES, &turns, &moved);
        records += moved;
    } while (!kind && turns.more);
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl, json_pack("{s:I}", "records", (json_int_t)records),
                             "%s out of the store's outbox.",
                             ida_count(ctl->pool, records, "record was chained",
                                       "records were chained"));
}

static int ingest(ctl_call *ctl)
{
    if (!ctl->argument_count) {
        return drain_outbox(ctl);
    }
    store *s = ctl_store(ctl, DB_INGEST);
    ingest_summary summary;
    ida_kind kind = ingest_spool(s, ctl->c, ctl->arguments[0], 1, &summary);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    ctl_answer(ctl,
               json_pack("{s:I, s:I, s:I, s:i, s:i, s:i}", "records", (json_int_t)summary.records,
                         "torn", (json_int_t)summary.torn, "forged", (json_int_t)summary.forged,
                         "segmentsRemoved", summary.removed, "segmentsHeld", summary.held,
                         "passedOver", summary.strangers),
               "%s read, %lld torn ones skipped; %s removed, %d still held by a writer.",
               ida_count(ctl->pool, summary.records, "record was", "records were"),
               (long long)summary.torn,
               ida_count(ctl->pool, summary.removed, "segment was", "segments were"), summary.held);
    if (summary.strangers) {
        ctl_say(ctl, "Skipped, because not regular: %s with the name of a segment (%s).",
                ida_count(ctl->pool, summary.strangers, "file", "files"), summary.strange);
    }
    return CTL_DONE;
}

const ctl_command ctl_audit_commands[] = {
    {"audit", "verify", "ID",
     "Check that the chain of a tenant's audit records is whole, and its keys and tasks recorded.",
     .help =
         "Says how the first record that does not fit was changed, and names API keys and tasks "
         "without a record of their creation, or changed by hand. Checkpoints that left the "
         "machine also reveal "
         "changes by a person with the worker's keys, or with an older copy of store and keys.",
     .options = {{"checkpoints", "FILE", "also compare the chain with these checkpoints"},
                 {"key", "PUB",
                  "the public key that signed them, or a file with it; default this node's"}},
     .run = ctl_chain_verify},
    {"audit", "accept", "ID",
     "Accept a tenant's chain as it is in place of the one that this machine verified, such as "
     "after a restore.",
     .help = "Until then a chain that is older than what was verified here counts as broken. One "
             "that is broken in itself stays so. The audit log records it.",
     .run = ctl_chain_accept},
    {"audit", "checkpoints", "ID",
     "Print the checkpoints of a tenant's chain, one JSON object on each line.",
     .run = ctl_chain_checkpoints},
    {"audit", "public-key", "", "Print the public key that signs this installation's checkpoints.",
     .run = ctl_chain_public_key},
    {"audit", "rotate-key", "", "Replace the key of the audit chains.",
     .help = "Verifies all chains first, and refuses if one is broken. Older keys stay in the "
             "file, for verification. With several nodes copy the file to the others: until then "
             "their workers leave audit records in spool and outbox.",
     .options = {{"lost", NULL, "the previous key is missing: its chains stay marked as broken"}},
     .run = ctl_chain_rotate_key},
    {"audit", "ingest", "[DIR]",
     "Ingest the audit spool of a dead node, or the records that wait in the store.",
     .help =
         "DIR is the IdAdminAuditSpool directory of the dead node, or a copy of it. Segments that "
         "were read completely are removed. Without DIR the records that wait in the store are "
         "put into the chains: do that before you replace the seal key, because these records "
         "carry proofs under it. Repeatable: a record is taken once.",
     .run = ingest},
    {0},
};
