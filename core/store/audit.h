/* Audit: the outbox, written together with the change that it records, ingestion into the chain,
 * reading and verification. */
#ifndef CORE_STORE_AUDIT_H
#define CORE_STORE_AUDIT_H

#include "core/audit/anchor.h"
#include "core/audit/chain.h"
#include "core/store/store.h"

/* Into the outbox, inside the caller's transaction (role DB_REQUEST). */
ida_kind store_audit_add(store *s, ida_ctx *c, const audit_record *record);
/* Inside the transaction that changed a row: its mark (core/audit/marks.h), which the next record
 * of the company takes, or one of its own at the commit. */
ida_kind store_mark(store *s, ida_ctx *c, const char *tenant, const audit_mark *mark);
/* 1 when this service recorded `rid`: the outbox has it with its proof, or it is whole in the
 * chain. A process without keys takes what is there. */
ida_kind store_audit_is_ours(store *s, ida_ctx *c, const char *tenant, const char *rid, int *ours);

/* Where the companies that wait in the outbox have got in taking turns; zeros: the beginning. */
typedef struct store_audit_turns {
    char after[72]; /* the company that was served last */
    int more;       /* out: records may be left */
} store_audit_turns;

/* Records of a company in the outbox. */
ida_kind store_audit_outbox_count(store *s, ida_ctx *c, const char *tenant, int64_t *records);

/* Moves up to `max` outbox records into audit.record, the oldest ones of the next companies, each
 * of which gets the same share: reads with `main`, commits with `ingest`, then deletes from the
 * outbox. *moved: how many. Repeatable at any crash point (rid). A record that cannot be
 * decoded is moved as one with outcome "damaged", one without its proof as an alarm; both are
 * logged and block nothing. */
ida_kind store_audit_drain_outbox(store *main, store *ingest, ida_ctx *c, int max,
                                  store_audit_turns *turns, int *moved);

/* Position of a spool segment (0 if unknown), and a batch of its records with the new position
 * in one transaction (role DB_INGEST). `torn`: number of incomplete records that this batch
 * skipped; added to the segment's count. A record that was taken before is skipped. */
ida_kind store_audit_spool_position(store *s, ida_ctx *c, const char *spool, const char *segment,
                                    int64_t *position);
ida_kind store_audit_spool_batch(store *s, ida_ctx *c, const char *spool, const char *segment,
                                 int64_t position, int64_t torn, audit_record *const *records,
                                 int count);
/* Forgets the position of a segment that was removed. */
ida_kind store_audit_spool_forget(store *s, ida_ctx *c, const char *spool, const char *segment);

typedef struct store_audit_filter {
    const char *actor, *category, *target, *action, *outcome; /* NULL: all */
    const char *task;        /* ID; with target, its person: what names it */
    const char *correlation; /* of a request; NULL: all. By time only */
    int questions;           /* 0, by time: without reads that were answered */
    int64_t from, to;        /* ms, from inclusive, to exclusive; 0: open */
    int64_t before_seq; /* page: records with a smaller seq (newest first); 0: from the newest */
    int by_time; /* 1: newest by time instead of by place in the chain; a page then needs before_at
                    too */
    int64_t before_at;
    int limit;
    int64_t count_max; /* a count is at most this */
} store_audit_filter;

/* Row `i` of a statement that answers with audit records. */
audit_row store_audit_row(const db_result *r, int i, const char *tenant);

/* Newest first; *total (may be NULL) counts all that the filter takes (without the page). */
ida_kind store_audit_list(store *s, ida_ctx *c, const char *tenant,
                          const store_audit_filter *filter, const audit_row **rows, int *count,
                          int64_t *total);

typedef struct store_audit_about_filter {
    const char *target; /* ASCII letters small */
    const char *tasks;  /* JSON array of task IDs */
    int64_t from, after_seq;
    int limit;
} store_audit_about_filter;

/* Records about changes to a person, or in the course of tasks, in the order of the chain. Reads
 * every record since `from`. */
ida_kind store_audit_about(store *s, ida_ctx *c, const char *tenant,
                           const store_audit_about_filter *filter, const audit_row **rows,
                           int *count);

/* A walk along the chain, some records at a time. */
#define STORE_HASH_SIZE 65

/* What a checkpoint states about a record; the caller trusts it. */
typedef struct store_chain_mark {
    int64_t number;
    const char *hash, *what; /* what: for people, "the checkpoint of ..." */
} store_chain_mark;

typedef struct store_chain_walk {
    /* In and out: the last record found whole, and its hash (what is longer is no hash and fits
     * nothing), the key that the next one must be under ("": any); an empty hash: begin at the
     * foot. */
    int64_t to;
    char hash[STORE_HASH_SIZE], key[AUDIT_KEY_ID_SIZE];
    /* In: checkpoints in the order of their numbers. */
    const store_chain_mark *marks;
    int mark_count, mark;       /* mark: how many of them were passed */
    const audit_anchor *anchor; /* in: what this machine verified before; NULL: nothing */
    /* Out. The chain holds the records after `foot` up to `head`. */
    int64_t foot, head;
    int64_t walked, broken; /* broken: the first record that does not fit; 0: none so far */
    const char *reason;     /* of that, a sentence in the context's pool */
    int more;               /* 1: the end was not reached */
    /* In: gets each record that was found whole, in order; some twice. NULL: none. */
    void (*each)(void *baton, const audit_row *row);
    void *baton;
} store_chain_walk;
/* At most `max` records in one snapshot. */
ida_kind store_audit_walk(store *s, ida_ctx *c, const char *tenant, int max, store_chain_walk *w);

/* Walks the chain of a tenant from where `w` begins to its end; w->walked: all of them. */
ida_kind store_audit_walk_all(store *s, ida_ctx *c, const char *tenant, store_chain_walk *w);
/* Walks the chain of a tenant. *broken_seq = 0: whole; otherwise the first record that does not
 * fit, with the reason in c->message (the call still returns IDA_OK). *count: records walked. */
ida_kind store_audit_verify(store *s, ida_ctx *c, const char *tenant, int64_t *broken_seq,
                            int64_t *count);

/* The action of the record that retention leaves of what it removed; its target is the company. */
#define STORE_RETENTION_ACTION "audit.retention"

/* Removes at most `max` records older than `before` (ms) as a prefix, in one transaction, keeping
 * the last hash, and records up to which number. Where nothing but such records is old it removes
 * none. *removed: how many; less than `max`: no more are old. */
ida_kind store_audit_retain(store *s, ida_ctx *c, const char *tenant, int64_t before, int max,
                            int *removed);

#endif
