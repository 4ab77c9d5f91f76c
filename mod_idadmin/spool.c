/* Owns writing a request's audit record to the node's spool. Must not know its framing or its
 * reader. */
#include "mod_idadmin/module.h"

#include <string.h>

APLOG_USE_MODULE(idadmin);

ida_kind spool_write(ida_ctx *c, const audit_record *record)
{
    const char *json = audit_encode(c->pool, record, AUDIT_SPOOL_JSON_MAX);
    int failed = audit_spool_append(child->spool, ida_now(c->env), json, strlen(json));
    if (!failed) {
        return IDA_OK;
    }
    /* Over all children: a full disk is logged once a minute, not with each request that it
     * refuses. */
    if (ida_say_now(shm_spool_said(), ida_monotonic(c->env), 60000)) {
        ida_log(c->env, IDA_LOG_ERROR, "IDA0220",
                "an audit record cannot be written to %s: %s; requests get 503 until it can (free "
                "space, owner and mode of the directory); said once a minute",
                config_spool(child->server), strerror(failed));
    }
    c->retry_after = 5;
    c->message_is_public = 1;
    return ida_fail(
        c, IDA_SERVICE_UNAVAILABLE,
        "The service cannot record this request at the moment and therefore does not answer it.");
}

ida_kind spool_call(request_rec *r, const ida_call *call)
{
    request_state *state = request_state_of(r);
    int refused_by_httpd =
        state->audited; /* one of its filters has answered while the body was read */
    state->audited = 1;
    if (call->asked->operation || state->face == FACE_MCP) {
        apr_table_setn(r->notes, "idadmin-op",
                       call->asked->operation ? call->asked->operation->name : "mcp");
    }
    if (call->task_id) {
        apr_table_setn(r->notes, "idadmin-task", call->task_id);
    }
    return call->audit_written || refused_by_httpd ? IDA_OK : spool_write(state->c, call->audit);
}

const char *spool_endpoint(request_rec *r)
{
    const ida_route *route = request_route(r);
    const char *path = route->path && *route->path ? route->path
                                                   : r->uri; /* the OpenAPI document has no route */
    return request_face(r) == FACE_MCP ? "mcp" : apr_pstrcat(r->pool, r->method, " ", path, NULL);
}

ida_kind spool_refusal(request_rec *r, ida_kind kind)
{
    request_state *state = ap_get_module_config(r->request_config, &idadmin_module);
    if (!state || !state->principal || state->audited) {
        return IDA_OK;
    }
    state->audited = 1;
    if (state->limited) {
        const ida_principal *p = state->principal;
        const ida_refused one = {
            IDA_REFUSAL_OF_KEY,      p->company,        p->username,   p->label,
            request_address_name(r), spool_endpoint(r), state->limited};
        return ida_refusals_count(shm_refusals(), state->c, &one, spool_write);
    }
    ida_ctx *c = state->c;
    const char *text = c->kind ? NULL : foreign_text(r);
    if (text) { /* state->c stays as it is: the handler, which may still be reading, would take it
                   for its own */
        c = ida_ctx_make(c->env, c->pool);
        ida_fail(c, kind, "%s", text);
    }
    const ida_question asked = {
        .face = state->face == FACE_MCP ? &ida_mcp_face : &ida_rest_face,
        .operation = request_route(r)->operation,
        .principal = state->principal,
        .tenant = state->caller->tenant,
        .address = r->useragent_ip,
        .endpoint = spool_endpoint(r),
    };
    ida_call call = {.c = c, .asked = &asked};
    return spool_write(state->c, ida_operation_record(&call, kind));
}
