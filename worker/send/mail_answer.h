/* What a mail server's answers mean: inside of mail.c, and for tests. */
#ifndef WORKER_SEND_MAIL_ANSWER_H
#define WORKER_SEND_MAIL_ANSWER_H

#include <curl/curl.h>

#include "worker/send/mail.h"

typedef struct mail_heard {
    apr_pool_t *pool;
    const char *reply; /* the last line that the server said, of those that matter; NULL: none */
    int code, data;    /* its code; data: the server asked for the message */
} mail_heard;

/* One line of the server, as libcurl hands it over (not ended). What it answers to QUIT says
 * nothing of the message. */
void mail_hear(mail_heard *heard, const char *bytes, size_t len);

/* The outcome, from what was heard and how libcurl ended (`error`: its words, or empty). */
mail_outcome mail_judge(apr_pool_t *pool, const worker_config *config, const mail_heard *heard,
                        CURLcode code, const char *error, const char **detail);

#endif
