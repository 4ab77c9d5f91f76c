/* The module's record and hooks: which function runs in which phase. Owns nothing else. */
#include "mod_idadmin/writer.h"

#include <mod_auth.h>

static int prepare(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp, server_rec *s)
{
    (void)plog;
    int first = ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG;
    if (ap_state_query(AP_SQ_RUN_MODE) != AP_SQ_RM_NORMAL) {
        return OK; /* httpd only checks the configuration */
    }
    if (!config_start(ptemp, s, first)) {
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    return first || (shm_prepare(pconf, s) && writers_start(pconf, s)) ? OK
                                                                       : HTTP_INTERNAL_SERVER_ERROR;
}

static int forget_before(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    (void)plog;
    (void)ptemp;
    config_forget_roles(pconf);
    return OK;
}

static int translate(request_rec *r)
{
    request_translate(r);
    return access_trace(r);
}

/* Late record of an authenticated request that was not answered by us: an ErrorDocument of the
 * administrator or another module of httpd answered. */
static int log_request(request_rec *r)
{
    if (child && (r->status >= 400 || !r->next)) { /* not for a request that an internal redirect
                                                      continues */
        spool_refusal(r, r->status >= 400 ? ida_kind_of_status(r->status) : IDA_OK);
    }
    if (child) {
        metrics_count(r);
    }
    return DECLINED;
}

static void register_hooks(apr_pool_t *pool)
{
    respond_register();
    keepalive_register();
    authn_register();
    authz_register(pool);
    writers_register();
    status_register();
    ap_hook_pre_config(forget_before, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_check_config(config_check, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(prepare, NULL, NULL, APR_HOOK_LAST);
    ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_translate_name(translate, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_map_to_storage(request_map, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_check_access(access_check, NULL, NULL, APR_HOOK_FIRST, AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_check_authn(authn_check, NULL, NULL, APR_HOOK_MIDDLE, AP_AUTH_INTERNAL_PER_CONF);
    ap_hook_fixups(rates_fixups, NULL, NULL, APR_HOOK_FIRST);
    ap_hook_handler(rest_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(openapi_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(console_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(health_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(metrics_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(mcp_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_handler(absent_handler, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_insert_error_filter(respond_insert_error_filter, NULL, NULL, APR_HOOK_LAST);
    ap_hook_log_transaction(log_request, NULL, NULL, APR_HOOK_FIRST);
}

AP_DECLARE_MODULE(idadmin) = {
    STANDARD20_MODULE_STUFF, config_create_location, config_merge_location,
    config_create,           config_merge,           idadmin_directives,
    register_hooks,          AP_MODULE_FLAG_NONE,
};
