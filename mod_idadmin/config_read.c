/* Owns reading the configuration, with its defaults. Must not know how it is written. */
#include "mod_idadmin/module.h"

#include <string.h>

#ifndef IDA_LOCALSTATEDIR
#define IDA_LOCALSTATEDIR "/var"
#endif

#define SLOTS_DEFAULT 65536

static const struct {
    const char *name;
    ida_rate rate; /* default */
} limits[LIMIT_KINDS] = {
    [LIMIT_KEY] = {"key", {120, 60, 0}},          [LIMIT_COMPANY] = {"company", {1200, 60, 0}},
    [LIMIT_ADDRESS] = {"address", {6000, 60, 0}}, [LIMIT_FAILURES] = {"failures", {30, 60, 0}},
    [LIMIT_PERSON] = {"person", {600, 60, 0}},
};

const location_config *config_location(request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &idadmin_module);
}

int config_has_origins(request_rec *r)
{
    return config_location(r)->origins != NULL;
}

int config_allows_origin(request_rec *r, const char *origin)
{
    const apr_array_header_t *list = config_location(r)->origins;
    for (int i = 0; list && i < list->nelts; i++) {
        if (strcasecmp(APR_ARRAY_IDX(list, i, const char *), origin) == 0) {
            return 1;
        }
    }
    return 0;
}

int config_requires_tls(request_rec *r)
{
    return config_location(r)->tls != TLS_ELSEWHERE;
}

server_config *config_of(server_rec *s)
{
    return ap_get_module_config(s->module_config, &idadmin_module);
}

const char *config_store(server_rec *s)
{
    const server_config *config = config_of(s);
    return config->store ? config->store : store_default_dsn();
}

const char *config_spool(server_rec *s)
{
    const server_config *config = config_of(s);
    return config->spool ? config->spool : IDA_LOCALSTATEDIR "/lib/idadmin/spool";
}

unsigned config_rate_table(server_rec *s)
{
    const server_config *config = config_of(s);
    return config->rate_table ? config->rate_table : SLOTS_DEFAULT;
}

const ida_rate *config_rate(server_rec *s, limit_kind kind)
{
    const server_config *config = config_of(s);
    const ida_rate *rate = &config->rates[kind];
    return rate->limit || rate->off ? rate : &limits[kind].rate;
}

const char *config_rate_name(limit_kind kind)
{
    return limits[kind].name;
}

const char *config_store_fault(cmd_parms *cmd, const char *value)
{
    const char *fault = store_dsn_fault(value);
    if (fault) {
        return apr_psprintf(cmd->pool, "%s \"%s\": %s", cmd->cmd->name, value, fault);
    }
    const char *path = store_sqlite_path(value);
    if (path && *path != '/') { /* httpd's working directory is not under the administrator's
                                   control */
        return apr_psprintf(cmd->pool, "%s \"%s\": must name a file given from / on",
                            cmd->cmd->name, value);
    }
    fault = store_dsn_exposed(cmd->pool, value, cmd->directive->filename);
    return fault ? apr_psprintf(cmd->pool, "%s: %s", cmd->cmd->name, fault) : NULL;
}
