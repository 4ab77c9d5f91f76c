/* Messages between httpd and the writer: a head, texts in the order of an enum, a body. What a
 * child of httpd sends may be anything: every length is checked. */
#ifndef CORE_WIRE_WIRE_H
#define CORE_WIRE_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* Sent with an introduction: after an upgrade an old child may meet a new writer. */
#define WIRE_VERSION 2

#define WIRE_TEXTS_MAX 65536 /* bytes of all texts of a message */

typedef enum wire_kind {
    WIRE_ASKED = 1, /* a write, child to writer */
    WIRE_TOLD,      /* its answer */
    WIRE_ALIVE,     /* writer to child: it is being worked on; head alone */
    WIRE_HELLO      /* writer to child: the introduction was taken; head alone */
} wire_kind;

typedef struct wire_head {
    uint32_t kind;
    uint32_t texts_len, body_len; /* bytes */
} wire_head;

/* Texts of a write. Absent ones are NULL. */
typedef enum wire_asked {
    ASKED_FACE, /* "rest", "console" */
    ASKED_METHOD,
    ASKED_URI,
    ASKED_QUERY,
    ASKED_CONTENT_TYPE,
    ASKED_IDEMPOTENCY_KEY,
    ASKED_IF_MATCH,
    ASKED_ADDRESS,
    ASKED_COMPANY,  /* for fairness; with REST also part of the credentials */
    ASKED_USER,     /* of the credentials, or as httpd has authenticated the person */
    ASKED_KEY,      /* of REST: the API key itself */
    ASKED_UPN,      /* of the console */
    ASKED_RULES,    /* console: numbers of the rules that match the person, separated by commas */
    ASKED_HAS_BODY, /* absent: none was announced */
    ASKED_REQUEST_ID,
    ASKED_TRACE, /* traceparent */
    ASKED_COUNT
} wire_asked;

/* Texts of an answer; its body is the answer's. */
typedef enum wire_told {
    TOLD_STATUS,
    TOLD_RETRY_AFTER, /* seconds; absent: none */
    TOLD_HEADERS,     /* "Name: value\n"... */
    TOLD_TASK,        /* for the access log */
    TOLD_RECORDED,    /* absent: the audit has no record of it yet, the child makes one */
    TOLD_COUNT
} wire_told;

/* Settings that the parent passes to a writer at its start, in a sealed file. */
typedef enum wire_setting {
    SETTING_PARENT, /* process */
    SETTING_STORE,
    SETTING_SEAL_KEY, /* file */
    SETTING_UID,      /* user to become; absent: unchanged */
    SETTING_GID,
    SETTING_MORE,     /* group that a user without an account is in besides; 0: none */
    SETTING_RATE_KEY, /* in force where a company has none of its own */
    SETTING_RATE_COMPANY,
    SETTING_ROLES, /* "operator contoso\n"...: the rules that ASKED_RULES counts, from 0 on */
    SETTING_LOG_LEVEL,
    SETTING_COUNT
} wire_setting;

/* Bytes of these texts in a message. */
size_t wire_size(const char *const *texts, int count);
void wire_put(char *to, const char *const *texts, int count);

/* The texts of a message, each followed by a NUL inside of `from`. 0 if they are not `count`
 * valid ones; then `texts` must not be used. */
int wire_get(const char *from, size_t len, const char **texts, int count);

#endif
