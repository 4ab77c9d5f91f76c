/* Whether rows of tasks and API keys are as the chain of their company says (core/audit/marks.h).
 * Named are rows and runs of tasks, and keys and their uses, that no record made, and rows that
 * differ from their last mark. */
#ifndef CORE_QUEUE_VERIFY_H
#define CORE_QUEUE_VERIFY_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "core/store/audit.h"

#define QUEUE_STRAYS_MAX 100 /* named strays; `more` is set if there are others */

typedef struct queue_stray {
    const char *what; /* "API key", "task", "audit record", "company" */
    const char *name; /* its username, its ID */
    const char *how;  /* "no audit record made it" */
} queue_stray;

typedef struct queue_verify {
    apr_array_header_t *strays; /* queue_stray */
    int more;                   /* 1: there are others */
    int64_t unjudged;           /* tasks and keys that may be older than the chain's marks */
    /* Of the walk. */
    apr_pool_t *pool;
    apr_hash_t *rows; /* what the chain says, by the mark's name */
    int64_t last;     /* number of the newest record */
    int64_t from;     /* ms: when the records began to have marks; 0: not yet */
    int whole;        /* 1: they had from the first one on: what none made, was made by hand */
} queue_verify;

/* For a walk from the beginning of the chain, whose `each` and baton it sets. In the pool of `c`.
 */
queue_verify *queue_verify_make(ida_ctx *c, store_chain_walk *walk);
/* Compares the rows, after the walk has come to its end; where one differs, the walk goes on to the
 * records that came meanwhile. */
ida_kind queue_verify_rows(store *s, ida_ctx *c, const char *tenant, queue_verify *v,
                           store_chain_walk *walk);
/* Companies of this machine's anchor whose row is gone: this service deletes none. */
ida_kind queue_verify_companies(store *s, ida_ctx *c, queue_verify *v);
/* Marks the rows that were named as they are now, inside the caller's transaction: an administrator
 * has accepted them. */
ida_kind queue_verify_accept(store *s, ida_ctx *c, const char *tenant, const queue_verify *v);
/* 1 while a record that says `text` waits to be chained. */
ida_kind queue_verify_waits(store *s, ida_ctx *c, const char *tenant, const char *text, int *waits);

#endif
