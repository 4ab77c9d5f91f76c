/* Owns the address of the OpenAPI document: one text, made when the child began. Must not know what
 * it says. */
#include "mod_idadmin/module.h"

#include <string.h>

APLOG_USE_MODULE(idadmin);

int openapi_handler(request_rec *r)
{
    if (!r->handler || strcasecmp(r->handler, "idadmin-openapi") != 0) {
        return DECLINED;
    }
    if (!child || !child->openapi) {
        return HTTP_SERVICE_UNAVAILABLE;
    }
    if (r->method_number !=
        M_GET) { /* the phase before has refused it already, unless the handler was set otherwise */
        return HTTP_METHOD_NOT_ALLOWED;
    }
    const char *body = ida_openapi_at(r->pool, child->openapi, r->uri);
    const ida_rest_answer answer = {.status = HTTP_OK, .body = body, .len = strlen(body)};
    return respond(r, &answer);
}
