/* Cleans texts that leave the machine: no secret, and a pseudonym for each person. */
#ifndef WORKER_CTL_SCRUB_H
#define WORKER_CTL_SCRUB_H

#include <apr_tables.h>
#include <jansson.h>

#include "core/base/context.h"

typedef struct ctl_scrub {
    apr_pool_t *pool;
    unsigned char key[32];       /* of the pseudonyms: another one for each run */
    apr_array_header_t *secrets; /* const char * */
    int names;                   /* 1: people keep their names */
} ctl_scrub;

void ctl_scrub_begin(ctl_scrub *s, const ida_ctx *c, int names);
/* Each line of the file, and what stands behind its last colon, is a secret from now on. A file
 * that cannot be read is passed over: this process has not read its secret. */
void ctl_scrub_file(ctl_scrub *s, const char *path);
/* The text without known secrets, API keys, passwords of DSNs, user names and queries of URLs;
 * addresses and names in DNs as pseudonyms, the same one for the same person. */
const char *ctl_scrub_text(const ctl_scrub *s, const char *text);
/* Every text inside. */
void ctl_scrub_json(const ctl_scrub *s, json_t *value);

#endif
