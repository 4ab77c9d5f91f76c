/* One mail by SMTP: composed, sent over an encrypted connection, judged by the server's answer. */
#ifndef WORKER_SEND_MAIL_H
#define WORKER_SEND_MAIL_H

#include "worker/base/address.h"
#include "worker/base/config.h"

typedef struct mail_message {
    const char *to; /* one address, mail_address_fault */
    const char *subject,
        *body; /* UTF-8; control characters are blanks in the subject, and encoded in the body */
    const char *secret; /* appended as a paragraph of its own; NULL: none. Nothing keeps it */
    const char *id;     /* left part of the Message-ID: the same for every attempt, so that
                           duplicates can be recognised */
    int64_t at_ms;      /* Date */
} mail_message;

typedef enum mail_outcome {
    MAIL_SENT,    /* the server has accepted it */
    MAIL_REFUSED, /* for good: recipient, sender, credentials, settings */
    MAIL_LATER,   /* not taken: unreachable, busy, encryption failed */
    MAIL_LOST     /* sent, but whether it was taken is not known */
} mail_outcome;

/* Within MAIL_MS in all. *detail is for people, in `pool`; *silent: the time went by without the
 * server's answer. */
#define MAIL_MS 18000
mail_outcome mail_send(apr_pool_t *pool, const worker_config *config, const mail_message *m,
                       const char **detail, int *silent);

/* Why no mail can be sent with these settings (for people, in `pool`), or NULL. Callers use it
 * before they do what cannot be undone. */
const char *mail_settings_fault(apr_pool_t *pool, const worker_config *config);

/* Connects as for a mail, without signing in, and sends none: NULL when that works, else why not,
 * for people. *ends: when the server's certificate expires (ms UTC); 0: not known. */
const char *mail_unreachable(apr_pool_t *pool, const worker_config *config, int64_t *ends);

/* 1: it goes without TLS, to this machine. With smtp_url set. */
int mail_is_clear(const worker_config *config);

/* Why the sign-in that is configured can never work; NULL also when none is configured. */
const char *mail_credential_fault(apr_pool_t *pool, const worker_config *config);

/* The message as it is sent, in memory of secret_map (`*room` bytes, `*len` used); NULL: no memory.
 * For mail_send and tests. */
char *mail_compose(apr_pool_t *pool, const char *from, const mail_message *m, size_t *len,
                   size_t *room);

#endif
