/* Strays: rows without an audit record, inserted by an attacker who can write the database. */
#ifndef CORE_STORE_ORIGIN_H
#define CORE_STORE_ORIGIN_H

#include <apr_hash.h>
#include <apr_tables.h>

#include "core/store/store.h"

#define STORE_ORIGINS_MAX 100 /* named strays; `more` is set if there are others */

typedef struct store_stray {
    const char *what; /* "API key", "task", "audit record", "company" */
    const char *name; /* its username, its ID */
    const char *how;  /* "no audit record made it" */
    int64_t at;       /* ms: when it was made, as it says */
} store_stray;

typedef struct store_origins {
    int64_t since;              /* in, ms: older rows may have lost their record or had none */
    apr_array_header_t *strays; /* store_stray */
    apr_hash_t *known;          /* entries of the last check; NULL: there was none */
    apr_array_header_t *seen;   /* entries for the next one */
    int more;                   /* 1: there are others */
    int64_t before;             /* how many without a record are from before `since` */
    int64_t erased; /* how many have at their time a record that was erased and may be theirs */
} store_origins;

/* `known`: what this machine knew when it looked last; NULL: it did not. */
store_origins store_origins_make(apr_pool_t *pool, int64_t since, const char *known);
/* The entries to keep for the next check. `rows`: 1 if rows were checked, not only runs. */
char *store_origins_known(apr_pool_t *pool, const store_origins *found, const char *known,
                          int rows);
/* A stray run has no row: it is named until an administrator accepts the chain. */
#define STORE_STRAY_RUN "x"

/* One row of a page, as a record of the audit may have made it. */
typedef struct store_origin {
    const char *name;
    int64_t at;
    int origin;          /* 1: a record; 2: one that was erased, perhaps; 0: none */
    int lasting;         /* 1: it has an effect yet, so it must have been there if it is old */
    const char *changed; /* how it differs from what its record says; NULL: it does not */
} store_origin;
/* A page of rows by name, after `after`; reads main with the audit attached. */
typedef ida_kind (*store_origin_page)(store *s, ida_ctx *c, const char *tenant, const char *after,
                                      int limit, const store_origin **rows, int *count);
/* Checks all rows of a company, page by page, and adds those without a record of their creation. */
ida_kind store_origins_look(store *s, ida_ctx *c, const char *tenant, const char *what,
                            const char *how, store_origin_page page, store_origins *out);

/* 1 if the last look knew `name` of `what`, or if there was no last look. */
int store_origins_knew(const store_origins *found, const char *what, const char *name);
void store_origins_add(ida_ctx *c, store_origins *out, const char *what, const char *name,
                       const char *how, int64_t at);

/* Records after `after` that did not come from this service. */
ida_kind store_origins_of_alarms(store *s, ida_ctx *c, const char *tenant, int64_t after,
                                 store_origins *out);
/* Companies of this machine's anchor whose row is gone: this service deletes none. */
ida_kind store_origins_of_companies(store *s, ida_ctx *c, store_origins *out);
/* The API keys of a company. */
ida_kind store_origins_of_keys(store *s, ida_ctx *c, const char *tenant, store_origins *out);

#endif
