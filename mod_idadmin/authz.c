/* Owns `Require idadmin-scope` and `Require idadmin-company`. Must not know credentials. */
#include "mod_idadmin/module.h"

#include <ap_provider.h>
#include <mod_auth.h>
#include <string.h>

#include "core/tenant/credentials.h"

APLOG_USE_MODULE(idadmin);

static const ida_principal *principal_of(request_rec *r)
{
    const request_state *state = ap_get_module_config(r->request_config, &idadmin_module);
    return state ? state->principal : NULL;
}

static authz_status check_scope(request_rec *r, const char *words, const void *parsed)
{
    const ida_principal *p = principal_of(r);
    (void)parsed;
    if (!p) {
        return AUTHZ_DENIED_NO_USER;
    }
    return strcmp(words, "read") == 0 || p->access != IDA_ACCESS_READ_ONLY ? AUTHZ_GRANTED
                                                                           : AUTHZ_DENIED;
}

static const char *parse_scope(cmd_parms *cmd, const char *words, const void **parsed)
{
    (void)cmd;
    *parsed = NULL;
    return strcmp(words, "read") == 0 || strcmp(words, "write") == 0
               ? NULL
               : "Require idadmin-scope takes \"read\" or \"write\"";
}

static authz_status check_company(request_rec *r, const char *words, const void *parsed)
{
    const ida_principal *p = principal_of(r);
    (void)parsed;
    if (!p) {
        return AUTHZ_DENIED_NO_USER;
    }
    const char *word;
    while (*(word = ap_getword_conf(r->pool, &words))) {
        if (strcmp(word, p->company) == 0) {
            return AUTHZ_GRANTED;
        }
    }
    return AUTHZ_DENIED;
}

static const char *parse_company(cmd_parms *cmd, const char *words, const void **parsed)
{
    const char *rest = words, *word;
    *parsed = NULL;
    while (*(word = ap_getword_conf(cmd->temp_pool, &rest))) {
        if (!ida_name_valid(word)) {
            return apr_psprintf(
                cmd->pool,
                "Require idadmin-company: \"%s\" is no company ID (1 to %d of A-Z a-z 0-9 . _ -)",
                word, IDA_NAME_MAX);
        }
    }
    return *words ? NULL : "Require idadmin-company takes one or more company IDs";
}

void authz_register(apr_pool_t *pool)
{
    static const authz_provider scope = {check_scope, parse_scope},
                                company = {check_company, parse_company};
    ap_register_auth_provider(pool, AUTHZ_PROVIDER_GROUP, "idadmin-scope", AUTHZ_PROVIDER_VERSION,
                              &scope, AP_AUTH_INTERNAL_PER_CONF);
    ap_register_auth_provider(pool, AUTHZ_PROVIDER_GROUP, "idadmin-company", AUTHZ_PROVIDER_VERSION,
                              &company, AP_AUTH_INTERNAL_PER_CONF);
}
