/* The table of checks that the doctor has: of this machine, and of one company. `idadminctl
 * doctor`, `idadmin-worker --check`, the console's check of a directory and `idadminctl tenant
 * check` walk it. No check changes anything. */
#ifndef WORKER_CHECKS_H
#define WORKER_CHECKS_H

#include <jansson.h>

#include "worker/hold/worker.h"
#include "worker/send/webhook.h"

typedef enum check_level { CHECK_OK, CHECK_WARNING, CHECK_FAULT } check_level;

/* One walk. */
typedef struct check_look {
    ida_ctx *c;
    apr_pool_t *pool;
    const worker_config *config;
    store *main;
    worker *w;                    /* the worker whose call this is; NULL: idadminctl */
    const ida_tenant *tenant;     /* NULL for the machine */
    ida_directory_kind directory; /* of CHECK_DIRECTORY */
    json_t *lines;
    check_level worst;
} check_look;

/* Which walks a row belongs to. */
enum {
    CHECK_MACHINE = 1,   /* once */
    CHECK_TENANT = 2,    /* for a company as it is sealed in the store */
    CHECK_DOCUMENT = 4,  /* for a document that is not in the store yet */
    CHECK_DIRECTORY = 8, /* for the directory `directory` alone */
    CHECK_SERVICE = 16,  /* what tasks need, for one company: without receivers */
};

/* Walks the rows that belong to one of `scopes`. */
void checks_walk(check_look *look, unsigned scopes);

/* Root becomes the service's user for good, because root may do what the service may not. 0: it
 * cannot. */
int check_become(apr_pool_t *pool, const worker_config *config);

/* --- check_line.c: for the rows --- */

/* Appends {of, check, level, ok, detail, todo}. `of`: what of the company or machine it concerns,
 * or NULL; `todo` NULL: what the table of check_line.c says for a check of that name. */
void check_line(check_look *look, const char *of, const char *check, check_level level,
                const char *detail);
/* CHECK_OK with `good` if `fault` is NULL. */
void check_judge(check_look *look, const char *of, const char *check, const char *fault,
                 const char *good);
/* Appends the lines of a connector's report. Returns how many of them are faults. */
int check_take(check_look *look, const char *of, const json_t *report);

/* --- check_server.c: for the rows --- */

/* Days left of a server's certificate, which expires at `ends` (ms UTC). */
void check_end(check_look *look, const char *of, const char *check, int64_t ends);
/* A receiver of webhooks: is connected to, nothing is sent. */
void check_receiver(check_look *look, const char *of, const webhook_call *call);

/* "ok", "warning", "fault" */
const char *check_level_word(check_level level);

/* --- the rows (check_machine.c, check_rights.c, check_tenant.c, check_document.c) --- */

void check_users(check_look *look);
void check_rights(check_look *look);
void check_store(check_look *look);
void check_keys(check_look *look);
void check_workers(check_look *look);
void check_database(check_look *look); /* check_server.c */
void check_mail(check_look *look);
void check_secrets(check_look *look);
void check_zone(check_look *look);
void check_api_keys(check_look *look);
void check_mastered(check_look *look); /* people of a directory that the tenant lacks */
void check_directory(check_look *look);
void check_directories(check_look *look);
void check_people(check_look *look); /* whom approvers, recipients, protected accounts mean */
void check_named(check_look *look);  /* groups and receivers that the document names */

#endif
