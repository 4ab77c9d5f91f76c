/* The yardstick: a handler of the same httpd that answers a fixed JSON of 300 bytes, with nothing
 * behind it. */
#include <httpd.h>
#include <http_config.h>
#include <http_protocol.h>

#include <string.h>

static char answer[301];

static int handle(request_rec *r)
{
    if (!r->handler || strcmp(r->handler, "fixed") != 0) {
        return DECLINED;
    }
    ap_set_content_type(r, "application/json; charset=utf-8");
    ap_set_content_length(r, 300);
    ap_rwrite(answer, 300, r);
    return OK;
}

static void register_hooks(apr_pool_t *pool)
{
    (void)pool;
    static const char head[] = "{\"data\":{\"fixed\":\"", tail[] = "\"}}";
    memset(answer, 'x', 300);
    memcpy(answer, head, sizeof head - 1);
    memcpy(answer + 300 - (sizeof tail - 1), tail, sizeof tail - 1);
    ap_hook_handler(handle, NULL, NULL, APR_HOOK_MIDDLE);
}

module AP_MODULE_DECLARE_DATA fixed_module = {STANDARD20_MODULE_STUFF, NULL, NULL, NULL, NULL, NULL,
                                              register_hooks,          0};
