/* idadmin.conf and the options that override it: one table serves the daemon and the administration
 * command. */
#ifndef WORKER_BASE_CONFIG_H
#define WORKER_BASE_CONFIG_H

#include "core/base/context.h"
#include "worker/base/arguments.h"

/* What of the audit goes to the system's log: checkpoints where one listens; nothing; checkpoints,
 * and it is an error when none listens; each record as well. */
typedef enum worker_syslog {
    WORKER_SYSLOG_WHERE_HEARD,
    WORKER_SYSLOG_OFF,
    WORKER_SYSLOG_ON,
    WORKER_SYSLOG_RECORDS
} worker_syslog;

typedef struct worker_config {
    const char *store; /* DSN */
    /* DSN of the same store for the administration command; NULL: store */
    const char *admin_store;
    const char *spool;    /* directory of httpd's audit spool on this node */
    const char *seal_key; /* file */
    /* Files of the audit: its keys, the key that signs checkpoints. */
    const char *audit_key, *audit_signing_key;
    const char *audit_checkpoints; /* file that checkpoints are appended to; NULL: none */
    worker_syslog audit_syslog;
    int metrics_companies; /* that have figures of their own, the first ones by ID */
    int threads;           /* 1-64 */
    int64_t stop_timeout;  /* ms */
    const char *smtp_url, *smtp_from;
    const char *smtp_user, *smtp_password_file,
        *smtp_ca_file;        /* NULL: no sign-in; the system's authorities */
    const char *web_user;     /* user of httpd's children on this node */
    const char *writer_group; /* of the user of httpd's writer */
    const char *log_level;
    int log_json;
    const char *file; /* the file that was read; NULL when there is none */
    int spool_given;  /* 1: named by an option or the file, so that a missing directory is worth a
                         warning */
} worker_config;

/* Options of the command line; later entries win. */
typedef struct worker_option {
    const char *name, *value; /* name of idadmin.conf with '_' ("seal_key") */
    struct worker_option *next;
} worker_option;

/* A row of the table as help and manual pages show it. */
typedef struct worker_setting {
    const char *name;     /* in idadmin.conf; as an option with '-' for '_' */
    const char *value;    /* word for what it takes */
    const char *fallback; /* the default in words; NULL: not set */
    const char *about;
} worker_setting;

/* The row of this number, from 0 on; 0: there are no more. */
int worker_config_setting(int number, worker_setting *setting);

/* The row as an option, by its name ("seal-key" or "seal_key"), in `pool`; NULL: there is none. */
const argument_option *worker_config_option(apr_pool_t *pool, const char *name);

/* Adds an option behind the others. */
void worker_option_add(apr_pool_t *pool, worker_option **options, const char *name,
                       const char *value);

/* Defaults, then `file` (NULL: the default file, which may be missing), then $IDADMIN_STORE, then
 * `options`. A store that either names unsets the file's admin_store. IDA_BAD_REQUEST names file,
 * line and member. Everything lives in `pool`. */
ida_kind worker_config_read(ida_ctx *c, apr_pool_t *pool, const char *file,
                            const worker_option *options, worker_config *config);

/* "30", "30s", "500ms", "2m", "1h" -> milliseconds; bare numbers are seconds. -1 when malformed or
 * above a year. */
int64_t worker_duration_parse(const char *text);

/* Level for a value of log_level; -1 if unknown. */
int worker_level_parse(const char *text);

#endif
