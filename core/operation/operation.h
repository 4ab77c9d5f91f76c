/* An operation, a call of it, and the pipeline of every call: module -> scope -> arguments ->
 * run -> audit. REST, MCP, the console and idadminctl are its faces; argument checks,
 * tools/list, the OpenAPI document and what the audit log may show are made from the table.
 * Knows no HTTP server. */
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

/* The differences between faces. Each face defines its own row (core/face); operations read
 * these members and never ask which face it is. */
typedef struct ida_face {
    unsigned bit;         /* IDA_ON_... */
    const char *via;      /* requestedBy.via of the tasks that it requests */
    const char *category; /* of its audit records */
    const char *unknown;  /* action in the record of a call that names no operation */
    const char *failed;   /* outcome in the record of a tool that failed; NULL: the error's code */
    int texts;            /* 1: arguments are texts from a query, also for numbers and lists */
    int tools;  /* 1: the caller is a model with tools: messages name tools; a key that may write
                   is refused */
    int cleans; /* 1: texts are cleaned in every result, not only in those of tools */
    int names_approver; /* 1: a decision names the approver who decides; 0: the signed-in person
                           decides */
    /* for faces over HTTP with a path for each operation, for core/face alone */
    const char *root;     /* where the paths begin: "/v1/api" */
    const char *key_path; /* prefix of the path that an Idempotency-Key belongs to */
    int options;          /* 1: OPTIONS is answered */
    int explains;         /* 1: an error has reason, fields and details */
} ida_face;

typedef struct ida_operation ida_operation;

/* An argument of the operation, and its word on a command line. */
typedef struct ida_command_word {
    const char *argument, *word;
} ida_command_word;

/* How idadminctl offers an operation: `task show ID TASK`. The company's ID comes first, then the
 * arguments of `at`; every other argument of query and body is an option. Rows without an argument
 * end the lists. */
typedef struct ida_command {
    const char *noun, *verb; /* verb NULL: only the noun */
    ida_command_word at[5];  /* {"id", "TASK"}: in this order; those not required may be left out */
    ida_command_word named[2]; /* {"approver", "by"}: an option whose name differs from the
                                  argument */
    /* {"decision", "approve"}: a fixed value of the command, or, without a word, an argument
     * that it never sends. */
    ida_command_word given[4];
    int any_document;    /* 1: also allowed if the company's document is damaged or not trusted,
                            because the operation does not use it */
    const char *shown;   /* the member of the answer that is shown as text; NULL: all */
    const char *columns; /* of the table of items, the most important first; NULL: all members */
    const char *summary; /* one line; NULL: the operation's */
    const char *help;    /* further paragraphs, or NULL */
} ida_command;

#define IDA_COMMANDS(...) ((const ida_command[]){__VA_ARGS__, {.noun = NULL}})

/* The role of the signed-in person in a company. */
typedef struct ida_grant {
    ida_role role;
    const char *company; /* "*": every one */
} ida_grant;
typedef struct ida_person {
    const char *user; /* as authenticated by the server */
    const char *upn;  /* of the person in the directory; NULL: unknown */
    const ida_grant *grants;
    int grant_count;
    const json_t *links; /* name -> address of a link on the console's pages */
} ida_person;
/* Roles in a company, as bits. */
unsigned ida_person_roles(const ida_person *person, const char *company);

/* The request. A face fills it; from ida_operation_run on it is constant. */
typedef struct ida_question {
    const ida_face *face;
    const ida_operation *operation; /* NULL: it names none */
    const ida_principal *principal; /* in the console `username` is the person's name */
    const ida_tenant *tenant;       /* NULL for the console's operations that belong to no
                                       company */
    const ida_person *person;       /* the signed-in person; NULL: the caller is an API key */
    unsigned roles;                 /* of the person in this company */
    ida_rate server_rate_key, server_rate_company; /* in the console: in force if the tenant has
                                                      none of its own */
    int synced;           /* every directory of the tenant has completed a full synchronisation */
    const char *endpoint; /* "POST /v1/api/user": for the audit record */
    const char *address;  /* the client's, for the audit record */
    json_t *arguments;    /* from the query or the tool call, as sent */
    json_t *body;         /* the body's object, as sent; for operations with one */
    int body_lost;        /* 1: there is no body, and it may have been lost in transit */
    const store_idempotency *once; /* of a write: the row of its Idempotency-Key; NULL: none */
    const char *seen;              /* tag of the state that the caller has seen; NULL: any */
    int64_t export_most;           /* most rows of an export; 0: IDA_EXPORT_MAX */
} ida_question;

struct ida_task;

/* The run of one question: made by a face, run by ida_operation_run. */
typedef struct ida_call {
    ida_ctx *c;
    const ida_question *asked;
    store_source *source;
    store *store; /* for reads while the operation runs; NULL once a write's work begins */
    /* of the pipeline */
    json_t *arguments; /* checked and typed; NULL before */
    json_t *ignored;   /* warnings about members of the body that were ignored; NULL: none */
    int dry_run;       /* 1: check everything, store nothing (ida_op_write) */
    void *input;       /* the arguments as the operation's check prepared them */
    /* the answer */
    json_t *result;                 /* `data` of the answer; belongs to the pool */
    const char *task_id;            /* task that this call created or changed */
    const char *location;           /* path of that task */
    int replayed;                   /* 1: this answer repeats the first one under this key */
    struct ida_export *exported;    /* the answer is a file instead; core/operation/export.h */
    struct ida_page *pages;         /* the lists in the result; core/operation/page.h */
    const struct ida_task *planned; /* of a write: the task as it is or would be afterwards; a
                                       dry run's plan is made from it */
    const char *adjustment;         /* of a planned task's time, as zone_due reports it */
    /* the record */
    const char *target;
    const char *action; /* if the arguments decide it; NULL: the operation's name */
    const char *actor;  /* on whose behalf the call was made; NULL: the caller */
    const char *remark; /* in the summary after the task's ID; NULL: none */
    int64_t count;      /* items in the result; counted by ida_operation_run */
    audit_record *audit;
    int audit_written; /* 1: already in the outbox, written in the work's transaction; else the
                          face writes it to the spool */
} ida_call;

struct ida_operation {
    const char *name;            /* "user.create" */
    unsigned faces;              /* the faces that offer it: IDA_ON_... */
    ida_right right;             /* in the console, the right that it needs */
    const char *method, *path;   /* for REST and console; path below the face's root, "/user" */
    const ida_command *commands; /* for idadminctl; NULL: none */
    const char *alias_method, *alias_path; /* a second door to the same operation, or NULL */
    /* MCP: name of the tool, or NULL if the operation is not a tool. All tools read (tests check
     * this). */
    const char *tool;
    const char *title; /* of the tool, two to four words */
    /* For a tool, written for a model: three to five sentences, at most 900 bytes. The first
     * says what it returns and is sufficient alone; then when to use it and which sibling
     * instead, identifiers accepted, limits, what it does not do. */
    const char *description;
    /* Members of the result: all possible ones; those that are always present are marked.
     * Published as JSON Schema in tools/list (outputSchema) and in OpenAPI, where it is named
     * `schema`. For a list `item` is one row, and `output` the members besides those that every
     * list has (core/operation/page.h). */
    const ida_field *output, *item;
    const char *schema;
    int lists; /* 1: the result contains lists in pages, so the absence of rows is a statement,
                  too */
    ida_scope scope;
    ida_module module;
    int needs_sync;      /* 1: 503 before the first full sync */
    int while_paused;    /* of a write: 1: also for a company that is paused */
    int no_company;      /* for the console: belongs to no company */
    const char *example; /* a body as JSON, for the OpenAPI description; NULL: none */
    int one_state;       /* 1: the result is one object; an If-Match of its writes names its ETag */
    unsigned at_once;    /* in the console: how many one person may have under way; 0: any */
    int discreet;        /* 1: the audit record does not contain its arguments */
    int secret;          /* 1: the answer contains a secret that must not be stored, so no
                            Idempotency-Key is allowed */
    const ida_param *params; /* of the query string or the tool; a row without a name ends the
                                list */
    const ida_param *body;   /* members of the JSON body; NULL: no body */
    int closed; /* 1: every other member is refused, because it may be a misspelt one of these;
                   0: it is ignored with a warning unless its name is close to one of these */
    ida_kind (*check)(ida_call *call); /* rules between arguments, and the body. NULL: none */
    ida_kind (*run)(ida_call *call);   /* the part that needs no transaction. NULL: nothing */
    /* After `run`: for a read in one snapshot, for a write in one transaction, where it fills
     * result and planned; both may be repeated as a whole. NULL: nothing */
    ida_kind (*work)(ida_call *call, store *s, ida_ctx *c);
    const char *summary; /* for OpenAPI */
};

/* Method, path and scope of a row that reads, and of one that writes. */
#define IDA_READS(at) .method = "GET", .path = at, .scope = IDA_SCOPE_READ
#define IDA_WRITES(verb, at) .method = verb, .path = at, .scope = IDA_SCOPE_WRITE

/* Tables of parameters: none; `limit` and `cursor` alone. */
extern const ida_param ida_no_params[], ida_list_params[];

/* Module and scope: the checks that need no body. IDA_FORBIDDEN naming the module or the access
 * level. */
ida_kind ida_operation_admit(ida_call *call);

/* Milliseconds UTC of a checked IDA_PARAM_TIME argument; 0 if absent. */
int64_t ida_argument_time(const ida_call *call, const char *name);

/* The words of a checked IDA_PARAM_LIST argument, separated by commas; NULL if absent. */
const char *ida_argument_words(const ida_call *call, const char *name);

/* Arguments, run, audit record. Texts in the result of a tool are cleaned (ida_clean) and cut in
 * every face. Call after ida_operation_admit. call->audit is set in every outcome. */
ida_kind ida_operation_run(ida_call *call);
/* What it can say of a write without the store: faults of arguments and body. */
ida_kind ida_operation_judge(ida_call *call);

/* Directory text is untrusted: removes characters that people and models should not read from
 * every text of a result. Written rows (core/base/json_row.h) are cleaned while they are written.
 */
void ida_operation_clean(apr_pool_t *pool, json_t *result);

/* Acquires a connection for reads as call->store, if there is none yet. After a failure c has
 * the kind's sentence; details about the store are only in the log. Released as soon as the work
 * is done, so that other calls can use it while the answer is made; releasing it twice is
 * harmless. */
ida_kind ida_call_acquire(ida_call *call);
void ida_call_release(ida_call *call);
/* Releases that connection and runs `work` in a write transaction, which is not committed if the
 * client has disconnected. */
ida_kind ida_call_transaction(ida_call *call, store_work work, void *baton);
/* A store_work: the work of the operation that the call is of. */
ida_kind ida_call_work(store *s, ida_ctx *c, void *call);

/* IDA_FORBIDDEN naming the sufficient roles, unless the person has the right. */
ida_kind ida_operation_right(ida_call *call, ida_right right);

/* Puts the record of success into the outbox, inside the work's transaction. */
ida_kind ida_operation_audit(ida_call *call, store *s, ida_ctx *c);

/* Makes the record of a call that ends with `kind` (and c's message), in call->audit: for one
 * that did not run, or whose answer was replaced after ida_operation_run. */
audit_record *ida_operation_record(ida_call *call, ida_kind kind);

#endif
