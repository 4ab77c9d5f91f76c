/* What the files of the module share: configuration, the state of a child and of a request, and
 * the phases in which their functions run. */
#ifndef MOD_IDADMIN_MODULE_H
#define MOD_IDADMIN_MODULE_H

#include <stddef.h> /* first: APR_OFFSETOF is defined by offsetof only if that is known */

#include <httpd.h>
#include <ap_expr.h>
#include <apr_strings.h>
#include <http_config.h>
#include <http_core.h>
#include <http_log.h>
#include <http_protocol.h>
#include <http_request.h>

#include "core/audit/spool.h"
#include "core/base/correlation.h"
#include "core/base/metrics.h"
#include "core/face/console.h"
#include "core/face/credential_memory.h"
#include "core/face/mcp.h"
#include "core/face/rest.h"
#include "core/limit/limit.h"
#include "core/limit/seats.h"
#include "core/operation/refusals.h"

extern module AP_MODULE_DECLARE_DATA idadmin_module;

/* --- config.c --- */

#define LIMIT_KINDS (LIMIT_PERSON + 1)

/* Server-wide: directives are refused inside a virtual host, which sees its main server's values.
 * Unset: NULL, 0, and for a rate limit 0 and off 0. */
typedef struct server_config {
    const char *store;
    const char *spool;
    const char *writer, *writer_program, *writer_store, *seal_key;
    unsigned rate_table;
    ida_rate rates[LIMIT_KINDS];
} server_config;

typedef enum tls_rule { TLS_UNSET, TLS_REQUIRED, TLS_ELSEWHERE } tls_rule;

/* Settings of a server, virtual host or Location. `origins`: web origins whose pages may use it,
 * as in an Origin header; NULL: unset. */
typedef struct location_config {
    apr_array_header_t *origins; /* of const char * */
    tls_rule tls;
    apr_array_header_t *roles;    /* of console_role */
    const ap_expr_info_t *person; /* yields the UPN of the signed-in person; NULL: unknown */
    apr_table_t *links;           /* that the console shows */
} location_config;

typedef struct console_role {
    ida_grant grant;
    int number; /* among all of the configuration */
    const ap_expr_info_t *condition;
} console_role;

extern const command_rec idadmin_directives[];
void *config_create(apr_pool_t *pool, server_rec *s);
void *config_merge(apr_pool_t *pool, void *base, void *more);
void *config_create_location(apr_pool_t *pool, char *path);
void *config_merge_location(apr_pool_t *pool, void *base, void *more);
const location_config *config_location(request_rec *r);
int config_allows_origin(request_rec *r, const char *origin);
int config_has_origins(request_rec *r);
int config_requires_tls(request_rec *r);
const char *config_store(server_rec *s);
const char *config_spool(server_rec *s);
unsigned config_rate_table(server_rec *s);
server_config *config_of(server_rec *s);
/* Role and company of each IdAdminConsoleRole by its number, a line each. */
const char *config_roles(apr_pool_t *pool);
void config_forget_roles(apr_pool_t *pconf); /* before a configuration is read */
/* What is wrong with the DSN of a directive; NULL when nothing. */
const char *config_store_fault(cmd_parms *cmd, const char *value);

/* --- config_check.c: faults of the whole configuration, which are logged --- */
/* Hook check_config: they end httpd -t. */
int config_check(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s);
/* post_config: 0 if a name that does not exist must end the start. Before the server comes up
 * (`first`) files are looked at as well; a restart goes on in any case. */
int config_start(apr_pool_t *ptemp, server_rec *s, int first);
/* --- config_files.c: 1 if a file that the configuration names cannot serve, which was logged ---
 */
int config_files_check(server_rec *s);

/* --- config_writer.c --- */

typedef struct writer_user {
    const char *name; /* NULL: httpd was not started by root, so the writer keeps its user */
    uid_t uid;
    gid_t gid;
    gid_t more; /* of a user without an account; 0: none */
} writer_user;

const char *config_set_writer(cmd_parms *cmd, void *unused, const char *value);
const char *config_set_writer_program(cmd_parms *cmd, void *unused, const char *value);
const char *config_set_writer_store(cmd_parms *cmd, void *unused, const char *value);
const char *config_set_seal_key(cmd_parms *cmd, void *unused, const char *value);
const char *config_writer_program(server_rec *s);
const char *config_writer_store(server_rec *s);
const char *config_seal_key(server_rec *s);
/* NULL, or what is wrong with IdAdminWriter. */
const char *config_writer_user(server_rec *s, writer_user *out);
const ida_rate *config_rate(server_rec *s, limit_kind kind);
const char *config_rate_name(limit_kind kind); /* the first word of IdAdminRateLimit */

/* --- request.c: state of a request, made by its first hook --- */

typedef enum face {
    FACE_NONE,
    FACE_REST,
    FACE_OPENAPI,
    FACE_MCP,
    FACE_CONSOLE,
    FACE_HEALTH,
    FACE_METRICS,
    FACE_ABSENT
} face;

typedef struct quota { /* one policy of the RateLimit headers */
    ida_rate rate;
    limit_cost charge;
    int known;
} quota;

typedef struct request_state {
    ida_correlation correlation;
    ida_env env;   /* the child's, with that */
    int64_t since; /* monotonic ms of its header's end */
    ida_ctx *c;    /* kind and message of a refusal before the handler */
    face face;
    int routed;
    ida_route route;
    char *key;                /* X-Api-Key, removed from headers_in; wiped after it was checked,
                                 for a write at the end of the request */
    char *bearer;             /* the same of Authorization: Bearer, where MCP is served */
    const ida_caller *caller; /* released with the request's pool */
    const ida_principal *principal; /* set by check_authn alone */
    quota quotas[LIMIT_KINDS];      /* those of key, company, address */
    const char *limited;            /* why 429, of key or company ("": the rate): audited by
                                       core/operation/refusals.c */
    int seat;                       /* that the key has taken, plus 1 */
    int audited;                    /* its record is written */
    int body_unread;                /* httpd is reading the body, or has given up on it */
    ap_conn_keepalive_e keepalive;  /* as httpd had it, until request_trust */
    int require_refused;            /* a Require did not admit the principal */
    int error_sent;
} request_state;

/* Our addresses have no files, so the walk over directories (a dozen system calls, .htaccess
 * files) is left out. Must run in translate_name: in map_to_storage the Location's configuration
 * is not available. */
void request_translate(
    request_rec *r); /* also takes keys out of the request line, which the access log shows */
int request_map(request_rec *r);
face request_face(request_rec *r); /* from the Location's configuration: r->handler is empty before
                                      the handler runs */
request_state *request_state_of(request_rec *r);
/* What an API key asks, as far as it is known without the request's face. */
ida_question request_question(request_rec *r);
/* Releases the seat of a key with a limit of concurrent requests. */
void request_leave_seat(request_state *state);
/* What the request says of its body's length: -1 when it says nothing. */
apr_int64_t request_body_length(request_rec *r);
int request_has_body(request_rec *r);
const ida_route *request_route(request_rec *r); /* for REST; otherwise empty except `allow` */
/* The caller is known: what is left of the body may be read to keep the connection. Until then a
 * request with a body ends its connection, because httpd would read the body of a refused one for
 * as long as it likes to take, on a thread of the others'. */
void request_trust(request_rec *r);
/* The name under which an address is limited, its refusals are counted and recorded: IPv4 whole,
 * IPv6 by /64, in which one host moves at will. */
const char *request_address_name(request_rec *r);
/* Value of a request header that occurs exactly once, otherwise NULL. */
const char *request_single_header(request_rec *r, const char *name);
/* Initial requests, and those made by an internal redirect from outside of our Locations. */
int request_is_first(request_rec *r);
/* Whether the client has disconnected, as far as that can be seen without writing. One that has
 * only closed its sending end looks the same: it is answered within a second, or given up. */
int request_gone(void *r);
/* A line of the error log, with the identity of the request at its end. `format` is APR's. */
void request_say(request_rec *r, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Notes a refusal for the error filter and returns the status to hand to httpd. */
int request_refuse(request_rec *r, ida_kind kind, const char *message, int retry_after);

/* --- child.c: what a child process holds --- */

typedef struct child_state {
    server_rec *server;
    ida_env env;
    rate_limiter *limiter;
    seats *seats; /* NULL: more children than there is room for */
    audit_spool_writer *spool;
    ida_callers *callers;
    store_source *source; /* to read with */
    const ida_mcp *mcp;   /* texts made once */
    char *openapi;
} child_state;

extern child_state *child; /* NULL outside of serving children; set before threads start */
void child_init(apr_pool_t *pool, server_rec *s);

/* --- shm.c --- */

int shm_prepare(apr_pool_t *pconf, server_rec *s); /* post_config */
void *shm_limiter(size_t *size);                   /* NULL before shm_prepare */
void *shm_seats(void);
ida_refusals *shm_refusals(void);
struct metrics_block *shm_metrics(void);
_Atomic int64_t *shm_spool_said(
    void); /* monotonic ms of the last log line about the spool, over all children */
_Atomic uint64_t *shm_overflow_watch(
    void); /* {minute of the last log line: 32, overflows logged: 32} */

/* --- spool.c: audit --- */

/* Writes the record; IDA_SERVICE_UNAVAILABLE in c when it cannot be written: the answer must not
 * leave. */
ida_kind spool_write(ida_ctx *c, const audit_record *record);
/* Writes the record of an answered call before the answer is sent; IDA_OK if it is written, or
 * was written with the work itself. Also sets the notes for the access log. */
ida_kind spool_call(request_rec *r, const ida_call *call);
/* "GET /v1/api/user", "mcp": the address as records name it. */
const char *spool_endpoint(request_rec *r);
/* Record of a refusal outside of the handler (Require, limits of other modules); does nothing when
 * there is one or the caller is not known. */
ida_kind spool_refusal(request_rec *r, ida_kind kind);

/* --- phases --- */

int access_trace(
    request_rec *r); /* translate_name: the next phase would echo a TRACE with its key */
int access_check(request_rec *r); /* access_checker: 405, address limit, OPTIONS */
int authn_check(request_rec *r);  /* check_authn */
void authn_register(void);
void authz_register(apr_pool_t *pool);
int rates_address(request_rec *r); /* OK or 429 */
int rates_fixups(request_rec *r);  /* key and company */
/* The answer is made: the key may send the next request. */
/* For the console, called by its handler, because some modules set the user as late as in
 * fixups: an open tab never uses the share of the HR system's keys. OK or 429. */
int rates_person(request_rec *r);
/* A seat of the person for an operation that takes long; IDA_RATE_LIMIT_EXCEEDED: none is free. */
ida_kind rates_at_once(request_rec *r, const ida_operation *op);
int authn_in_clear(request_rec *r); /* 1: others may have listened, and that matters here */
int rates_failure(request_rec *r);  /* a refused credential: HTTP_UNAUTHORIZED or 429 */
int rates_count_failure(
    request_rec *r, unsigned *retry_after_s); /* 1 as long as an address has not failed too often */
int rest_handler(request_rec *r);
int openapi_handler(request_rec *r);
int mcp_handler(request_rec *r);
int console_handler(request_rec *r);
int health_handler(request_rec *r);
int metrics_handler(request_rec *r);

/* Segments in this node's audit spool. */
typedef struct spool_figures {
    int64_t segments, bytes, oldest; /* the minute of the oldest, ms; 0: none */
} spool_figures;
spool_figures metrics_spool(void);

/* --- status.c: a section of mod_status --- */
void status_register(void);
int absent_handler(request_rec *r); /* addresses that must be a clean 404 */

/* --- origin.c: browsers at the MCP address --- */

/* 403 for a web page of another origin; otherwise OK, with the headers that its browser needs. */
int origin_check(request_rec *r);
/* 1 when the request is a browser's question before the real one, to be answered by
 * origin_answer_preflight. */
int origin_is_preflight(request_rec *r);
int origin_answer_preflight(request_rec *r);

/* 1 when the origin is this server's own: name, scheme and port of the configuration. */
int origin_is_own(request_rec *r, const char *origin);

/* --- console_gate.c: browsers at the console --- */

/* OK, or 403 for a request that another site caused, for a write without the console's header,
 * and for a request over clear text. */
int console_gate(request_rec *r);
/* --- export.c --- */

/* Writes a file page by page. A slow client holds no connection of the store. */
int export_stream(request_rec *r, ida_call *call, const ida_rest_answer *answer);

/* Whether the request is for the address to which a sign-in returns, which changes and shows
 * nothing. */
int console_is_sign_in(request_rec *r);

/* --- body.c --- */

typedef struct request_body {
    char *bytes; /* malloc; NUL-terminated beyond len */
    size_t len, room, max;
    apr_time_t deadline;
    const char *too_large;
    const char *key; /* company:username, borrowed from the request */
    struct request_body
        *next; /* of those that have a place among the large ones; body.c's, like `room` of these */
} request_body;

/* Reads the body of an authenticated request, at most `max` (up to IDA_REST_BODY_MAX) bytes; a
 * longer one is refused with `too_large`. OK; otherwise a status, with c->kind set if the
 * refusal is ours and unset if httpd's own is to be returned. */
int body_read(request_rec *r, ida_ctx *c, request_body *body, size_t max, const char *too_large);
/* The same of a request for JSON, put into `request`. A status other than OK has its failure in c;
 * *ours: 1 when it is ours to answer, 0 when the status is httpd's. */
int body_of(request_rec *r, ida_ctx *c, request_body *body, ida_rest_request *request, int *ours);
/* For people: why httpd gave up reading the body with this status; NULL if the status has
 * another meaning. */
const char *body_unread_text(int status);
void body_free(request_body *body);
void body_init(apr_pool_t *pool);

/* --- handler_health.c --- */

enum { HEALTH_STORE, HEALTH_SPOOL, HEALTH_WRITER, HEALTH_CHECKS };
typedef struct health_verdict {
    int good[HEALTH_CHECKS];
} health_verdict;
/* At most a second old, or up to ten while another thread looks. */
health_verdict health_look(apr_pool_t *pool);
const char *health_check_name(int check);

/* --- metrics.c --- */

typedef struct metrics_block metrics_block;
enum { METRICS_CONCURRENCY = LIMIT_KINDS, METRICS_LIMITS }; /* the others are kinds of limits */

size_t metrics_size(void);
/* Empties a block that is new, or that another version of the module has filled. */
void metrics_format(metrics_block *block);
void metrics_attach(metrics_block *shared); /* child_init */
void metrics_count(request_rec *r);         /* an answered request; log_transaction */
void metrics_limited(int limit); /* one that got 429: a limit_kind, or METRICS_CONCURRENCY */
void metrics_put_requests(ida_metrics *m);
/* Calls `row` for each face (`from`) and operation that was asked: answers by class, 2xx to 5xx,
 * others. */
#define METRICS_CLASSES 5
typedef void metrics_row(void *baton, const char *from, const char *operation,
                         const int64_t by_class[METRICS_CLASSES]);
void metrics_each(metrics_row *row, void *baton);

/* --- foreign.c --- */

/* Text for a refusal by another module, by its status; NULL: the usual text of the kind fits. */
const char *foreign_text(request_rec *r);

/* --- respond.c --- */

int respond(request_rec *r, const ida_rest_answer *answer);
/* Status and headers alone; the body is the caller's. */
void respond_begin(request_rec *r, const ida_rest_answer *answer);
void respond_insert_error_filter(request_rec *r);
void respond_register(void);

/* --- keepalive.c: to be called when the status of an answer of ours is set and nothing is written
 * yet --- */

void keepalive_preserve(request_rec *r);
void keepalive_register(void);

#endif
