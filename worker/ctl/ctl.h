/* idadminctl: the command table, the input of a command, and its output. Operations are commands
 * by their rows (operation.h), the others have one file for each noun; nothing here calls a
 * directory. */
#ifndef WORKER_CTL_CTL_H
#define WORKER_CTL_CTL_H

#include <apr_tables.h>
#include <jansson.h>

#include "core/audit/audit.h"
#include "core/base/correlation.h"
#include "core/face/text.h"
#include "core/operation/operation.h"
#include "core/store/store.h"
#include "worker/base/arguments.h"
#include "worker/base/config.h"

/* Exit statuses. */
#define CTL_DONE 0
#define CTL_FAILED 1 /* refused or failed; the message is in ctl->c or was written already */
#define CTL_USAGE 2
#define CTL_WOULD_CHANGE 2 /* of `tenant apply --dry-run` */

#define CTL_MAX_ARGUMENTS 4
#define CTL_MAX_OPTIONS 24

typedef struct ctl_call ctl_call;

typedef struct ctl_command {
    const char *noun, *verb; /* verb NULL: the noun alone is the command */
    const char *arguments;   /* "ID [EVENT]": those in brackets may be left out */
    const char *summary;     /* one line */
    const char *help;        /* further paragraphs, or NULL */
    argument_option options[CTL_MAX_OPTIONS];
    int (*run)(ctl_call *ctl); /* CTL_DONE, CTL_FAILED or CTL_USAGE (after ctl_usage) */
} ctl_command;

struct ctl_call {
    ida_correlation correlation; /* of this command, as of a request */
    ida_env env;
    apr_pool_t *pool;
    ida_ctx *c;
    worker_config config;
    int json;
    const ctl_command *command;
    const char *arguments[CTL_MAX_ARGUMENTS + 1];
    int argument_count;
    const char
        *values[CTL_MAX_OPTIONS]; /* parallel to command->options; "" for a switch that was given */
    const char *lines;            /* log lines so far */
    const char *actor;            /* the person, for the audit record */
    const char *label; /* "as root": the process's user, where that is another one; else "" */
    store *store;      /* for operations; NULL: not open yet */
};

/* Value of an option of the running command: NULL if absent, "" for a switch. */
const char *ctl_value(const ctl_call *ctl, const char *option);

/* Whole number from 1 to `most` of an option; `absent` if the option is absent, 0 if the value
 * is anything else. */
int64_t ctl_number(const ctl_call *ctl, const char *option, int64_t absent, int64_t most);

/* One sentence about the usage on standard error; returns CTL_USAGE. */
int ctl_usage(ctl_call *ctl, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* CTL_DONE for IDA_OK, otherwise writes the context's message on standard error and returns
 * CTL_FAILED. */
int ctl_result(ctl_call *ctl, ida_kind kind);

store *ctl_store(ctl_call *ctl, db_role role);

/* "idadminctl task cancel", for the audit record. */
const char *ctl_endpoint(const ctl_call *ctl);

/* --- actor.c: finds out who the person is; `as`: the name that --as gives, or NULL. CTL_DONE, or
 * CTL_USAGE after ctl_usage. --- */
int ctl_actor_set(ctl_call *ctl, const char *as);

/* Record of category "command" by ctl->actor with outcome ok; the command fills the rest and adds
 * it in its transaction. */
audit_record *ctl_audit(ctl_call *ctl, const char *tenant, const char *action, const char *target);

/* IDA_NOT_FOUND with a message if the tenant does not exist. */
ida_kind ctl_tenant_exists(ctl_call *ctl, store *s, const char *tenant);

/* From now on this node refuses documents older than the validly sealed ones in the store now
 * (schema.c). */
ida_kind ctl_note_revisions(ctl_call *ctl);

/* The tenant of the document that the first argument names (FILE or "-"), merged into the stored
 * one as `tenant apply` would (tenant.c). */
ida_kind ctl_tenant_merged(ctl_call *ctl, store *s, const ida_tenant **tenant);

/* --- output.c --- */

typedef ida_column ctl_column;

/* Prints the document if --json was given; returns 1 if it did, so that the command prints no
 * table. Takes over no reference. */
int ctl_json(ctl_call *ctl, const json_t *document);
/* With --json the document, else the sentence; the document is released. CTL_DONE. */
int ctl_answer(ctl_call *ctl, json_t *document, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* A table of an array of objects; `none` is printed instead of an empty one. */
void ctl_table(ctl_call *ctl, const json_t *rows, const ctl_column *columns, const char *none);
/* "title: value" lines of one object. */
void ctl_fields(ctl_call *ctl, const json_t *object, const ctl_column *columns);
/* Columns of the terminal; 0: output is not a terminal. */
int ctl_width(void);
/* A line for people; nothing with --json. */
void ctl_say(ctl_call *ctl, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* --- the nouns --- */

extern const ctl_command ctl_schema_commands[], ctl_tenant_commands[], ctl_audit_commands[],
    ctl_sync_commands[], ctl_status_commands[], ctl_evidence_commands[], ctl_erase_commands[],
    ctl_notification_commands[], ctl_backup_commands[], ctl_restore_commands[],
    ctl_tenant_check_commands[], ctl_tenant_state_commands[], ctl_health_commands[],
    ctl_doctor_commands[], ctl_support_commands[];

/* A command that does more than its operation: its function, and possibly one more option. */
typedef struct ctl_beside {
    const char *noun, *verb;
    int (*run)(ctl_call *ctl);
    argument_option option;
} ctl_beside;
/* Adds the commands of the operation table, as const ctl_command *. `beside`: ended by a NULL
 * noun. */
void ctl_operation_commands(apr_pool_t *pool, const ctl_beside *beside,
                            apr_array_header_t *commands);

#endif
