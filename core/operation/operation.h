/* An operation, a call of it, and the pipeline that every call goes through: module -> scope ->
 * arguments -> run -> audit. REST, MCP, the console and idadminctl are its faces; argument checks,
 * tools/list, the OpenAPI document and what the audit log may show are made from the table. Knows
 * no HTTP server.
 */
#ifndef CORE_OPERATION_OPERATION_H
#define CORE_OPERATION_OPERATION_H

#include <jansson.h>

#include "core/audit/audit.h"
#include "core/model/param.h"
#include "core/operation/schema.h"
#include "core/store/idempotency.h"
#include "core/store/source.h"
#include "core/tenant/principal.h"
#include "core/tenant/rights.h"
#include "core/tenant/tenant.h"

typedef enum ida_scope { IDA_SCOPE_READ, IDA_SCOPE_WRITE } ida_scope;
typedef enum ida_module { IDA_MODULE_PUBLIC_API, IDA_MODULE_ACCESS_GOVERNANCE } ida_module;
enum { IDA_ON_REST = 1, IDA_ON_MCP = 2, IDA_ON_CONSOLE = 4 };

/* What differs by the face that asks. Each face defines its own row (core/face); operations read
 * these members and never ask which face it is. */
typedef struct ida_face {
    unsigned bit;         /* IDA_ON_... */
    const char *via;      /* of the tasks that are asked for here: requestedBy.via */
    const char *category; /* of its audit records */
    const char *unknown;  /* action in the record of a call that names no operation */
    const char *failed;   /* outcome in the record of a tool that failed; NULL: the error's code */
    int texts;  /* 1: arguments are texts of a query, which stand for numbers and lists, too */
    int tools;  /* 1: a model asks by tools: messages name them; a key that may write is refused */
    int cleans; /* 1: texts of every result are cleaned, not those of tools alone */
    int names_approver; /* 1: a decision names the approver who decides; 0: the person who has
                           signed in decides */
    /* of faces over HTTP with a path for each operation, for core/face alone */
    const char *root;     /* where the paths begin: "/v1/api" */
    const char *key_path; /* stands before the path that an Idempotency-Key belongs to */
    int options;          /* 1: OPTIONS is answered */
    int explains;         /* 1: an error has its reason, fields and details */
} ida_face;

typedef struct ida_operation ida_operation;

/* An argument of the operation, and a word that stands for it on a command line. */
typedef struct ida_command_word {
    const char *argument, *word;
} ida_command_word;

/* How idadminctl offers an operation: `task show ID TASK`. The company's ID comes first, then the
 * arguments of `at`; every other argument of query and body is an option. Rows without an argument
 * end the lists. */
typedef struct ida_command {
    const char *noun, *verb; /* verb NULL: the noun alone */
    ida_command_word at[5];  /* {"id", "TASK"}: in this order; those not required may be left out */
    ida_command_word named[2]; /* {"approver", "by"}: an option that has a name of its own */
    /* {"decision", "approve"}: what the command itself says, or, without a word, never says. */
    ida_command_word given[4];
    int any_document;    /* 1: asked of a company whose document is damaged or not trusted, too,
                            because nothing of it is used */
    const char *shown;   /* the member of the answer that people are shown; NULL: every one */
    const char *columns; /* of the table of items, the most important first; NULL: every member */
    const char *summary; /* one line; NULL: the operation's */
    const char *help;    /* further paragraphs, or NULL */
} ida_command;

#define IDA_COMMANDS(...) ((const ida_command[]){__VA_ARGS__, {.noun = NULL}})

/* Who has signed in to the console. */
typedef struct ida_grant {
    ida_role role;
    const char *company; /* "*": every one */
} ida_grant;
typedef struct ida_person {
    const char *user; /* as the server authenticated it */
    const char *upn;  /* of the person in the directory; NULL: not known */
    const ida_grant *grants;
    int grant_count;
    const json_t *links; /* name -> address of what the pages point to */
} ida_person;
/* Roles in a company, as bits. */
unsigned ida_person_roles(const ida_person *person, const char *company);

/* What was asked. A face fills it; from ida_operation_run on it is constant. */
typedef struct ida_question {
    const ida_face *face;
    const ida_operation *operation; /* NULL: it names none */
    const ida_principal *principal; /* on the console `username` is the name of the person */
    const ida_tenant *tenant;       /* NULL of the console's operations on no company */
    const ida_person *person;       /* who has signed in; NULL: an API key asks */
    unsigned roles;                 /* of the person in this company */
    ida_rate server_rate_key, server_rate_company; /* on the console: in force where the tenant has
                                                      none of its own */
    int synced;           /* every directory of the tenant has completed a full synchronisation */
    const char *endpoint; /* "POST /v1/api/user": as audited */
    const char *address;  /* the client's, as audited */
    json_t *arguments;    /* of the query, or of a tool: as sent */
    json_t *body;         /* of an operation with one: the object, as sent */
    int body_lost;        /* 1: there is none, and it may have been lost on the way */
    const store_idempotency *once; /* of a write: the row of its Idempotency-Key; NULL: none */
    const char *seen;              /* tag of the state that the caller has seen; NULL: any */
    int (*gone)(void *baton);      /* 1 when nobody waits for an answer; NULL: cannot be known */
    void *gone_baton;
    int64_t export_most; /* rows of a file that is saved; 0: IDA_EXPORT_MAX */
} ida_question;

struct ida_task;

/* One question on its way to its answer: made by a face, run by ida_operation_run. */
typedef struct ida_call {
    ida_ctx *c;
    const ida_question *asked;
    store_source *source;
    store *store; /* to read with, while the operation runs; NULL once a write's work begins */
    /* of the pipeline */
    json_t *arguments; /* checked and typed; NULL before */
    json_t *ignored;   /* warnings about members of the body that were ignored; NULL: none */
    int dry_run;       /* 1: every check, nothing kept (ida_op_write) */
    void *input;       /* what the operation's check made of the arguments */
    /* the answer */
    json_t *result;                 /* `data` of the answer; belongs to the pool */
    const char *task_id;            /* task this call made or touched */
    const char *location;           /* path of that task */
    int replayed;                   /* 1: the first answer under this key, once more */
    struct ida_export *exported;    /* a file is made of it instead; core/operation/export.h */
    struct ida_page *pages;         /* the lists in the result; core/operation/page.h */
    const struct ida_task *planned; /* of a write: the task as it is or would be afterwards; a dry
                                       run's plan is made of it */
    const char *adjustment;         /* of a planned task's time, as zone_due tells it */
    /* the record */
    const char *target;
    const char *action; /* where the arguments decide it; NULL: the operation's name */
    const char *actor;  /* in whose name the call was made; NULL: the caller */
    const char *remark; /* behind the task's ID; NULL: none */
    int64_t count;      /* items in the result; counted by ida_operation_run */
    audit_record *audit;
    int audit_written; /* 1: already in the outbox, with the work's own transaction; else the face
                          spools it */
} ida_call;

struct ida_operation {
    const char *name;            /* "user.create" */
    unsigned faces;              /* where it is offered: IDA_ON_... */
    ida_right right;             /* on the console, who may */
    const char *method, *path;   /* of REST and console; path below the face's root, "/user" */
    const ida_command *commands; /* of idadminctl; NULL: none */
    const char *alias_method, *alias_path; /* a second door to the same operation, or NULL */
    /* MCP: name of the tool, or NULL for operations that are none. All tools read (tests insist).
     */
    const char *tool;
    const char *title; /* of the tool, two to four words */
    /* Of the tool, written for a model: three to five sentences, at most 900 bytes. The first says
     * what it returns and suffices alone; then when to use it and which sibling instead,
     * identifiers accepted, limits, what it does not do. */
    const char *description;
    /* Members of the result: all that can come, and of these always those that say so. Published as
     * JSON Schema in tools/list (outputSchema) and in OpenAPI, where it is named `schema`. Of a
     * list `item` is one row, and `output` what stands beside what every list has
     * (core/operation/page.h).
     */
    const ida_field *output, *item;
    const char *schema;
    int lists; /* 1: the result holds lists in pages, so it rests on what is not there, too */
    ida_scope scope;
    ida_module module;
    int needs_sync; /* 1: 503 before the first full sync */
    int no_company; /* of the console: asks about no one company */
    int one_state;  /* 1: the result is one thing, whose ETag an If-Match of its writes names */
    int discreet;   /* 1: its arguments stay out of the audit record */
    int secret;     /* 1: the answer holds what must not be kept, so it takes no Idempotency-Key */
    const ida_param *params; /* of the query string or the tool; a row without a name ends it */
    const ida_param *body;   /* members of the JSON body; NULL: it takes none */
    int closed; /* 1: every other member is refused, because it may be one of these under a wrong
                   name; 0: it is ignored with a warning unless its name is nearly one of these */
    ida_kind (*check)(ida_call *call); /* rules between arguments, and the body. NULL: none */
    ida_kind (*run)(ida_call *call);   /* what needs no transaction. NULL: nothing */
    /* After `run`, with the call as baton: of a read in one snapshot, of a write in one
     * transaction, where it fills result and planned; both may be repeated as a whole. NULL:
     * nothing */
    store_work work;
    const char *summary; /* for OpenAPI */
};

/* Module and scope: what can be decided before a body is read. IDA_FORBIDDEN naming the module or
 * the access level. */
ida_kind ida_operation_admit(ida_call *call);

/* Milliseconds UTC of a checked IDA_PARAM_TIME argument; 0 when it was not given. */
int64_t ida_argument_time(const ida_call *call, const char *name);

/* The words of a checked IDA_PARAM_LIST argument with commas between; NULL when it was not given.
 */
const char *ida_argument_words(const ida_call *call, const char *name);

/* Arguments, run, audit record. The result of a tool has its texts cleaned (ida_clean) and capped,
 * whichever face asked. Call after ida_operation_admit. In every outcome call->audit is set. */
ida_kind ida_operation_run(ida_call *call);

/* Directory text is whatever somebody typed somewhere: takes what people and models should not read
 * out of every text of a result. */
void ida_operation_clean(apr_pool_t *pool, json_t *result);

/* A connection to read with, in call->store, if there is none yet. After a failure c says the
 * kind's sentence, and what is wrong with the store is in the log alone. Given back as soon as the
 * work is done, so that it serves others while the answer is made; harmless when it was. */
ida_kind ida_call_acquire(ida_call *call);
void ida_call_release(ida_call *call);
/* Gives that connection back and runs `work` in a write transaction, which is not committed if the
 * client has gone. */
ida_kind ida_call_transaction(ida_call *call, store_work work, void *baton);

/* IDA_FORBIDDEN with the roles that would do, unless the person has the right. */
ida_kind ida_operation_right(ida_call *call, ida_right right);

/* Puts the record of success into the outbox, inside the transaction that does the work. */
ida_kind ida_operation_audit(ida_call *call, store *s, ida_ctx *c);

/* Makes the record of a call that ends with `kind` (and c's message), in call->audit: of one that
 * did not run, or whose answer became another one than ida_operation_run left. */
audit_record *ida_operation_record(ida_call *call, ida_kind kind);

#endif
