/* What a mail server's answers mean; for mail.c and its tests. */
#ifndef WORKER_SEND_MAIL_ANSWER_H
#define WORKER_SEND_MAIL_ANSWER_H

#include <curl/curl.h>

#include "worker/send/mail.h"

typedef struct mail_heard {
    apr_pool_t *pool;
    const char *reply; /* the server's last relevant line; NULL: none */
    int code, data;    /* its code; data: the server asked for the message */
} mail_heard;

/* Reads one line of the server, as libcurl hands it over (not terminated). Its answer to QUIT is
 * irrelevant for the message. */
void mail_hear(mail_heard *heard, const char *bytes, size_t len);

/* The outcome, from the server's lines and libcurl's result (`error`: its text, or empty). */
mail_outcome mail_judge(apr_pool_t *pool, const worker_config *config, const mail_heard *heard,
                        CURLcode code, const char *error, const char **detail);

#endif
