/* The operation table and its pipeline: module -> scope -> arguments -> run -> audit. REST and (later) MCP are two faces of it;
 * argument checks, the OpenAPI document and audit sanitising are made from it. Knows no HTTP server. */
#ifndef IDA_OPERATION_H
#define IDA_OPERATION_H

#include <jansson.h>

#include "core/audit.h"
#include "core/principal.h"
#include "core/store.h"
#include "core/tenant.h"

typedef enum ida_scope { IDA_SCOPE_READ, IDA_SCOPE_WRITE } ida_scope;
typedef enum ida_module { IDA_MODULE_PUBLIC_API, IDA_MODULE_ACCESS_GOVERNANCE } ida_module;
typedef enum ida_face { IDA_FACE_REST, IDA_FACE_MCP } ida_face;

typedef enum ida_param_type {
    IDA_PARAM_STRING,
    IDA_PARAM_INTEGER,
    IDA_PARAM_BOOLEAN,
    IDA_PARAM_LIST,
    IDA_PARAM_TIME
} ida_param_type;

typedef enum ida_param_flags {
    IDA_PARAM_REQUIRED = 1, /* absent: a fault that names it */
    IDA_PARAM_OMIT = 2,     /* never into the audit record (photos) */
    IDA_PARAM_REFUSED = 4   /* described only to be refused by name (payload members that are generated) */
} ida_param_flags;

typedef struct ida_param {
    const char *name;
    ida_param_type type;
    int flags;
    int64_t min, max;           /* integers: range; strings: characters; 0, 0 = no limit */
    const char *const *allowed; /* NULL-terminated words, or NULL */
    const char *description;    /* first sentence sufficient; goes into OpenAPI */
} ida_param;

typedef struct ida_operation ida_operation;

/* One call, from the checked principal to the answer. Filled by the face, run by ida_operation_run. */
typedef struct ida_call {
    ida_ctx *c;
    store *store;                   /* role DB_REQUEST */
    const ida_operation *operation;
    ida_face face;
    const ida_principal *principal;
    const ida_tenant *tenant;
    /* every directory of the tenant has completed a full sync: else users, names, seats would be guesses */
    int synced;
    const char *base;               /* path before /v1/api, for links; "" at the root */
    const char *endpoint;           /* "POST /v1/api/user": as audited */
    /* query parameters as strings, or the body object; borrowed. Checked and typed values replace query strings */
    json_t *arguments;
    int empty_body;                 /* the request had no body */
    void *input;                    /* what the operation's check made of the arguments */
    /* out */
    json_t *result;                 /* `data` of the answer; belongs to the pool */
    const char *task_id, *location; /* task this call made or touched; Location, below base */
    const char *target;             /* for the audit record */
    ida_audit *audit;               /* the record of this call */
    int audit_written;              /* 1: already in the outbox, with the work's own transaction; else the face spools it */
} ida_call;

struct ida_operation {
    const char *name;               /* "user.create" */
    const char *method, *path;      /* REST; path below {base_url}, "/v1/api/user" */
    const char *alias_method, *alias_path; /* a second REST door to the same operation, or NULL */
    const char *tool;               /* MCP tool name or NULL */
    ida_scope scope;
    ida_module module;
    int body;                       /* 1: arguments come as a JSON body */
    int needs_sync;                 /* 1: 503 before the first full sync */
    /* rules that the parameter table cannot say; body operations check their payload here. NULL: none */
    ida_kind (*check)(ida_call *call);
    const ida_param *params;        /* terminated by name NULL */
    ida_kind (*run)(ida_call *call);
    const char *summary;            /* for OpenAPI */
    const char *schema;             /* name of the result's schema in OpenAPI */
};

extern const ida_operation *const ida_operations[]; /* NULL-terminated */

/* Module and scope: what can be decided before a body is read. IDA_FORBIDDEN naming the module or the access level. */
ida_kind ida_operation_admit(ida_call *call);

/* Arguments, run, audit record. Call after ida_operation_admit. In every outcome call->audit is set. */
ida_kind ida_operation_run(ida_call *call);

/* For run functions of writes: puts the record of success into the outbox, inside the transaction that does the work. */
ida_kind ida_operation_audit(ida_call *call, store *s, ida_ctx *c);

/* The record of a call that was refused before it could run (`kind` with c's message): 404 path, 403, 415, 413, 429...
 * `operation` may be NULL. */
ida_audit *ida_operation_refusal(ida_call *call, ida_kind kind);

#endif
