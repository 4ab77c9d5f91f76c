/* A sync run as its parts see it: the streams of users and groups, however they are read. */
#ifndef WORKER_LDAP_SYNC_H
#define WORKER_LDAP_SYNC_H

#include "worker/ldap_session.h"

typedef struct ld_run {
    ld_call *k;
    ida_ctx *c;
    sync_run *run;
    apr_pool_t *item_pool; /* cleared after every item */
    int sign_ins;          /* a sign-in time was seen */
    int64_t changes;       /* items that were more than "still there" */
} ld_run;

typedef struct ld_kind {
    const char *name;                 /* "user", "group" */
    const char *token;                /* its member in sync_state.tokens */
    const char *base, *filter;
    const char *const *attributes;
    directory_class (*item)(ld_run *r, const ld_entry *entry);
} ld_kind;

/* Turns a store's failure into the call's error. */
directory_class ld_stored(ld_run *r, ida_kind kind);

/* Reads one stream by RFC 4533 refreshOnly. `cookie`: base64 text or NULL (whole content); *next: the new one, NULL when the
 * server gave none. *unavailable: the server cannot sync; nothing was staged. */
directory_class ld_syncrepl(ld_run *r, const ld_kind *kind, const char *cookie, const char **next, int *unavailable);

#endif
