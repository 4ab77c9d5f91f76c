/* Owns the directives: their table, unset values and merging. Must not know what is done
 * with them. */
#include "mod_idadmin/module.h"

#include <apr_uri.h>
#include <string.h>

#include "core/tenant/credentials.h"

#define SLOTS_MIN 64
#define SLOTS_MAX 16777216

void *config_create(apr_pool_t *pool, server_rec *s)
{
    (void)s;
    return apr_pcalloc(pool, sizeof(server_config));
}

void *config_merge(apr_pool_t *pool, void *base, void *more)
{
    const server_config *b = base, *m = more;
    server_config *merged = apr_pcalloc(pool, sizeof *merged);
    merged->store = m->store ? m->store : b->store;
    merged->spool = m->spool ? m->spool : b->spool;
    merged->writer = m->writer ? m->writer : b->writer;
    merged->writer_program = m->writer_program ? m->writer_program : b->writer_program;
    merged->seal_key = m->seal_key ? m->seal_key : b->seal_key;
    merged->writer_store = m->writer_store ? m->writer_store : b->writer_store;
    merged->rate_table = m->rate_table ? m->rate_table : b->rate_table;
    for (int i = 0; i < LIMIT_KINDS; i++) {
        merged->rates[i] = m->rates[i].limit || m->rates[i].off ? m->rates[i] : b->rates[i];
    }
    return merged;
}

void *config_create_location(apr_pool_t *pool, char *path)
{
    (void)path;
    return apr_pcalloc(pool, sizeof(location_config));
}

void *config_merge_location(apr_pool_t *pool, void *base, void *more)
{
    const location_config *b = base, *m = more;
    location_config *merged = apr_palloc(pool, sizeof *merged);
    merged->origins = m->origins ? m->origins
                                 : b->origins; /* a list of its own replaces what is inherited */
    merged->tls = m->tls ? m->tls : b->tls;
    merged->roles = m->roles ? m->roles : b->roles;
    merged->person = m->person ? m->person : b->person;
    merged->links = m->links ? m->links : b->links;
    return merged;
}

/* --- setters: a sentence that names the directive and what it takes, or NULL --- */

static const char *server_wide(cmd_parms *cmd)
{
    return ap_check_cmd_context(cmd, GLOBAL_ONLY);
}

static const char *set_store(cmd_parms *cmd, void *unused, const char *value)
{
    (void)unused;
    const char *fault = server_wide(cmd);
    config_of(cmd->server)->store = value;
    return fault ? fault : config_store_fault(cmd, value);
}

static const char *set_spool(cmd_parms *cmd, void *unused, const char *value)
{
    (void)unused;
    config_of(cmd->server)->spool = value;
    if (*value != '/') {
        return apr_psprintf(cmd->pool, "%s \"%s\": must be a directory given from / on",
                            cmd->cmd->name, value);
    }
    return server_wide(cmd);
}

static const char *set_rate_table(cmd_parms *cmd, void *unused, const char *value)
{
    (void)unused;
    char *end;
    apr_int64_t slots = apr_strtoi64(value, &end, 10);
    if (*end || end == value || slots < SLOTS_MIN || slots > SLOTS_MAX) {
        return apr_psprintf(cmd->pool, "%s \"%s\": must be a number of records from %d to %d",
                            cmd->cmd->name, value, SLOTS_MIN, SLOTS_MAX);
    }
    config_of(cmd->server)->rate_table = (unsigned)slots;
    return server_wide(cmd);
}

static const char *set_rate_limit(cmd_parms *cmd, void *unused, const char *kind, const char *value)
{
    (void)unused;
    for (int i = 0; i < LIMIT_KINDS; i++) {
        if (strcasecmp(kind, config_rate_name((limit_kind)i)) == 0) {
            const char *fault = ida_rate_parse(value, &config_of(cmd->server)->rates[i]);
            return fault ? apr_psprintf(cmd->pool, "%s %s \"%s\": %s", cmd->cmd->name, kind, value,
                                        fault)
                         : server_wide(cmd);
        }
    }
    return apr_psprintf(
        cmd->pool, "%s \"%s\": the first word must be key, company, address, failures or person",
        cmd->cmd->name, kind);
}

/* A name or address in the form that browsers use in an origin, without wildcards: anything else
 * would be a rule that never matches. */
static int is_origin_host(const char *host)
{
    static const char of_address[] = "0123456789abcdefABCDEF:.";
    static const char of_name[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";
    /* apr_uri_parse takes the brackets off */
    return *host && host[strspn(host, strchr(host, ':') ? of_address : of_name)] == '\0';
}

/* scheme://host[:port] in the form that browsers use: no path, and not the default port of the
 * scheme. */
static const char *set_allow_origin(cmd_parms *cmd, void *location, const char *value)
{
    location_config *config = location;
    apr_uri_t uri;
    int good = apr_uri_parse(cmd->pool, value, &uri) == APR_SUCCESS && uri.scheme && uri.hostname &&
               is_origin_host(uri.hostname) &&
               (strcasecmp(uri.scheme, "https") == 0 || strcasecmp(uri.scheme, "http") == 0) &&
               !uri.path && !uri.query && !uri.fragment && !uri.user && !uri.password &&
               (!uri.port_str || (uri.port > 0 && atoi(uri.port_str) == uri.port &&
                                  uri.port != apr_uri_port_of_scheme(uri.scheme)));
    if (!good) {
        return apr_psprintf(cmd->pool,
                            "%s \"%s\": must be an origin such as https://assistant.example or "
                            "http://localhost:6274, without path, wildcard, slash at its end, and "
                            "without the port that is usual for its scheme",
                            cmd->cmd->name, value);
    }
    if (!config->origins) {
        config->origins = apr_array_make(cmd->pool, 2, sizeof(const char *));
    }
    APR_ARRAY_PUSH(config->origins, const char *) = value;
    return NULL;
}

static const char *set_require_tls(cmd_parms *cmd, void *location, int on)
{
    (void)cmd;
    ((location_config *)location)->tls = on ? TLS_REQUIRED : TLS_ELSEWHERE;
    return NULL;
}

/* --- of the console --- */

static const ap_expr_info_t *parse_expression(cmd_parms *cmd, const char *text, unsigned flags,
                                              const char **fault)
{
    const char *wrong = NULL;
    ap_expr_info_t *parsed = ap_expr_parse_cmd(cmd, text, flags, &wrong, NULL);
    *fault = wrong ? apr_psprintf(cmd->pool, "%s \"%s\": %s", cmd->cmd->name, text, wrong) : NULL;
    return parsed;
}

static apr_array_header_t *all_roles; /* of ida_grant: those of the configuration that is read */

void config_forget_roles(apr_pool_t *pconf)
{
    all_roles = apr_array_make(pconf, 8, sizeof(ida_grant));
}

const char *config_roles(apr_pool_t *pool)
{
    apr_array_header_t *lines = apr_array_make(pool, all_roles->nelts, sizeof(const char *));
    for (int i = 0; i < all_roles->nelts; i++) {
        const ida_grant *g = &APR_ARRAY_IDX(all_roles, i, ida_grant);
        APR_ARRAY_PUSH(lines, const char *) = apr_pstrcat(pool, ida_role_name(g->role), " ",
                                                          g->company, "\n", NULL);
    }
    return apr_array_pstrcat(pool, lines, 0);
}

static const char *set_console_role(cmd_parms *cmd, void *location, const char *role,
                                    const char *company, const char *condition)
{
    location_config *config = location;
    const char *fault;
    console_role rule = {.grant = {.company = company}};
    int known = ida_role_parse(role);
    if (known < 0) {
        return apr_psprintf(cmd->pool,
                            "%s \"%s\": the role must be viewer, operator, approver, "
                            "key-administrator, auditor or administrator",
                            cmd->cmd->name, role);
    }
    if (strcmp(company, "*") != 0 && !ida_name_valid(company)) {
        return apr_psprintf(cmd->pool,
                            "%s %s \"%s\": must be a company ID (1 to %d of A-Z a-z 0-9 . _ -), or "
                            "* for every one",
                            cmd->cmd->name, role, company, IDA_NAME_MAX);
    }
    rule.grant.role = (ida_role)known;
    rule.condition = parse_expression(cmd, condition, 0, &fault);
    if (!config->roles) {
        config->roles = apr_array_make(cmd->pool, 4, sizeof(console_role));
    }
    rule.number = all_roles->nelts;
    APR_ARRAY_PUSH(all_roles, ida_grant) = rule.grant;
    APR_ARRAY_PUSH(config->roles, console_role) = rule;
    return fault;
}

static const char *set_console_person(cmd_parms *cmd, void *location, const char *value)
{
    const char *fault;
    ((location_config *)location)->person = parse_expression(cmd, value, AP_EXPR_FLAG_STRING_RESULT,
                                                             &fault);
    return fault;
}

/* The pages make links of these: nothing that a browser would run. */
static const char *set_console_link(cmd_parms *cmd, void *location, const char *name,
                                    const char *url)
{
    static const char *const names[] = {"rest", "mcp", "openapi", "signOut", "help"};
    location_config *config = location;
    size_t known = 0;
    while (known < sizeof names / sizeof *names && strcmp(names[known], name) != 0) {
        known++;
    }
    if (known == sizeof names / sizeof *names) {
        return apr_psprintf(cmd->pool, "%s \"%s\": must be rest, mcp, openapi, signOut or help",
                            cmd->cmd->name, name);
    }
    if (strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0 &&
        (url[0] != '/' || url[1] == '/')) {
        return apr_psprintf(cmd->pool, "%s %s \"%s\": must begin with https://, http:// or /",
                            cmd->cmd->name, name, url);
    }
    if (!config->links) {
        config->links = apr_table_make(cmd->pool, 5);
    }
    apr_table_setn(config->links, names[known], url);
    return NULL;
}

const command_rec idadmin_directives[] = {
#define DIRECTIVE(how, name, function, where, arguments, fallback, about) \
    how(name, function, NULL, where, about),
#include "mod_idadmin/directives.def"
#undef DIRECTIVE
    {NULL, {NULL}, NULL, 0, RAW_ARGS, NULL},
};
