/* Owns what httpd's configuration says that cannot be meant, found while it is checked (httpd -t)
 * and before the start: a handler or AuthType of ours that is misspelt or lacks its other half,
 * secrets over plain HTTP. httpd -t refuses all of it. A start refuses names that do not exist and
 * goes on otherwise: what comes in clear is refused when it comes, and a file may appear a moment
 * later. A restart reports and goes on, because httpd would end. Must not know files and stores
 * (config_files.c). */
#include <string.h>
#include <util_cfgtree.h>

#include "core/base/host.h"
#include "mod_idadmin/writer.h"

APLOG_USE_MODULE(idadmin);

#define OURS "idadm" /* how a misspelling of our names begins */

typedef struct look {
    apr_pool_t *pool;
    server_rec *server;
    apr_array_header_t *listens; /* const char * */
    int vhost_tls;               /* some virtual host speaks TLS */
    int has_auth, used;          /* AuthType IdAdmin stands somewhere; so does a handler of ours */
    const ap_directive_t *keyed; /* the first handler that takes keys; NULL: none */
    int faults, grave;           /* all of them; those that end a start as well */
} look;

/* What holds for the directives of a section. */
typedef struct scope {
    int tls, clear_meant, reachable;
} scope;

static void report(look *l, const ap_directive_t *at, const char *text)
{
    ap_log_error(APLOG_MARK, APLOG_ERR | APLOG_STARTUP, 0, l->server,
                 "IDA0270: %s line %d: %s %s: %s", at->filename, at->line_num, at->directive,
                 at->args, text);
    l->faults++;
}

static void fault(look *l, const ap_directive_t *at, const char *text)
{
    report(l, at, text);
    l->grave++;
}

static const char *first_word(const look *l, const ap_directive_t *at)
{
    const char *rest = at->args;
    return ap_getword_conf(l->pool, &rest);
}

static int is(const ap_directive_t *at, const char *name)
{
    return strcasecmp(at->directive, name) == 0;
}

/* --- TLS and addresses --- */

static int speaks_tls(const look *l, const ap_directive_t *first)
{
    static const char *const engines[] = {"SSLEngine", "GnuTLSEnable", "TLSEngine"};
    int on = 0;
    for (const ap_directive_t *at = first; at; at = at->next) {
        for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
            on = is(at, engines[i]) ? strcasecmp(first_word(l, at), "off") != 0 : on;
        }
    }
    return on;
}

/* Said of one Location, "on" is meant as well: what comes in clear is refused there. */
static int clear_is_meant(const look *l, const ap_directive_t *first, int of_location,
                          int inherited)
{
    for (const ap_directive_t *at = first; at; at = at->next) {
        inherited = !is(at, "IdAdminRequireTls") ? inherited
                    : of_location                ? 1
                                                 : strcasecmp(first_word(l, at), "off") == 0;
    }
    return inherited;
}

/* "127.0.0.1:8080" -> its host (NULL: every address) and its port ("": any). */
static const char *split(apr_pool_t *pool, const char *text, const char **port)
{
    const char *colon = strrchr(text, ':');
    if (colon && strchr(colon, ']')) {
        colon = NULL;
    }
    int bare = !colon && text[strspn(text, "0123456789")] == '\0';
    *port = bare ? text : colon ? colon + 1 : "";
    const char *host = bare    ? ""
                       : colon ? apr_pstrmemdup(pool, text, (apr_size_t)(colon - text))
                               : text;
    return !*host || strcmp(host, "*") == 0 || strcasecmp(host, "_default_") == 0 ? NULL : host;
}

static int is_near(const char *host)
{
    return host && ida_host_loopback(host, strlen(host));
}

/* Whether other machines reach the address, by what httpd listens on. */
static int is_reachable(const look *l, const char *address)
{
    const char *port, *host = split(l->pool, address, &port);
    for (int i = 0; !is_near(host) && i < l->listens->nelts; i++) {
        const char *heard, *on = split(l->pool, APR_ARRAY_IDX(l->listens, i, const char *), &heard);
        if (!is_near(on) && (!*port || *port == '*' || strcmp(port, heard) == 0)) {
            return 1;
        }
    }
    return 0;
}

static scope scope_of_host(const look *l, const ap_directive_t *host, const scope *main)
{
    scope own = {.tls = main->tls || speaks_tls(l, host->first_child),
                 .clear_meant = clear_is_meant(l, host->first_child, 0, main->clear_meant)};
    const char *rest = host->args;
    while (*rest && !own.reachable) {
        char *address = ap_getword_conf(l->pool, &rest);
        address[strcspn(address, ">")] = '\0';
        own.reachable = *address && is_reachable(l, address);
    }
    return own;
}

/* --- names --- */

static int handler_known(const char *name, face *of)
{
    static const struct {
        const char *name;
        face face;
    } handlers[] = {
#define HANDLER(name, face, about) {name, face},
#include "mod_idadmin/handlers.def"
#undef HANDLER
    };
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (strcasecmp(handlers[i].name, name) == 0) {
            *of = handlers[i].face;
            return 1;
        }
    }
    return 0;
}

static void judge_handler(look *l, const ap_directive_t *at, const scope *s)
{
    const char *name = first_word(l, at);
    face of = FACE_NONE;
    if (strncasecmp(name, OURS, strlen(OURS)) != 0) {
        return;
    }
    if (!handler_known(name, &of)) {
        fault(l, at,
              "there is no such handler: mod_idadmin has idadmin-rest, idadmin-openapi, "
              "idadmin-mcp, idadmin-console, idadmin-health, idadmin-metrics and idadmin-absent");
        return;
    }
    l->used = 1;
    int keyed = of == FACE_REST || of == FACE_MCP;
    l->keyed = keyed && !l->keyed ? at : l->keyed;
    if ((keyed || of == FACE_CONSOLE) && s->reachable && !s->tls && !s->clear_meant) {
        report(l, at,
               "secrets would go over plain HTTP, for other machines reach this address without "
               "TLS: set SSLEngine on, listen on 127.0.0.1 alone, or say IdAdminRequireTls off "
               "where a proxy before httpd speaks TLS and the network between them is yours");
    }
}

static void judge_auth(look *l, const ap_directive_t *at)
{
    const char *name = first_word(l, at);
    int ours = strcasecmp(name, "IdAdmin") == 0;
    l->has_auth |= ours;
    if (!ours && strncasecmp(name, OURS, strlen(OURS)) == 0) {
        fault(l, at, "there is no such AuthType: it is IdAdmin");
    }
}

static void walk(look *l, const ap_directive_t *first, const scope *s)
{
    for (const ap_directive_t *at = first; at; at = at->next) {
        scope inner = *s;
        if (is(at, "<VirtualHost")) {
            inner = scope_of_host(l, at, s);
        } else if (at->first_child) {
            inner.clear_meant = clear_is_meant(l, at->first_child, 1, s->clear_meant);
        }
        if (at->first_child) {
            walk(l, at->first_child, &inner);
        } else if (is(at, "SetHandler") || is(at, "AddHandler")) {
            judge_handler(l, at, s);
        } else if (is(at, "AuthType")) {
            judge_auth(l, at);
        }
    }
}

static void note_listeners(look *l, const ap_directive_t *first)
{
    for (const ap_directive_t *at = first; at; at = at->next) {
        if (is(at, "Listen")) {
            APR_ARRAY_PUSH(l->listens, const char *) = first_word(l, at);
        }
        l->vhost_tls |= is(at, "<VirtualHost") && speaks_tls(l, at->first_child);
    }
}

/* How many faults there are, each logged; *grave: of these, those that end a start. */
static int look_at_all(apr_pool_t *ptemp, server_rec *s, int files, int *grave)
{
    look l = {.pool = ptemp, .server = s, .listens = apr_array_make(ptemp, 4, sizeof(char *))};
    note_listeners(&l, ap_conftree);
    scope main = {.tls = speaks_tls(&l, ap_conftree),
                  .clear_meant = clear_is_meant(&l, ap_conftree, 0, 0)};
    /* Beside a virtual host with TLS, Locations of the main server are meant for that one; what
     * comes in clear is refused when it comes. */
    for (int i = 0; !l.vhost_tls && i < l.listens->nelts; i++) {
        main.reachable |= is_reachable(&l, APR_ARRAY_IDX(l.listens, i, const char *));
    }
    walk(&l, ap_conftree, &main);
    if (l.keyed && !l.has_auth) {
        fault(&l, l.keyed, "needs AuthType IdAdmin and Require valid-user in its Location");
    }
    if (l.used && files && !l.faults) {
        l.faults += config_files_check(s);
    }
    *grave = l.grave;
    return l.faults;
}

/* Of httpd -t alone: a stop or a restart by httpd -k comes here as well, and must not fail. */
int config_check(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    (void)pconf, (void)plog;
    int grave, test = ap_state_query(AP_SQ_RUN_MODE) == AP_SQ_RM_CONFIG_TEST;
    return test && look_at_all(ptemp, s, 1, &grave) ? HTTP_INTERNAL_SERVER_ERROR : OK;
}

int config_start(apr_pool_t *ptemp, server_rec *s, int first)
{
    int grave;
    look_at_all(ptemp, s, first, &grave);
    return !first || !grave;
}
