/* Owns the stages of a REST request in httpd. When the handler runs, 405, address limit, 401 and
 * the limits of key and company have been dealt with; it continues with 404, 403, 415, 413 and
 * the operation. Must not know what operations do. */
#include "mod_idadmin/writer.h"

#include <string.h>

APLOG_USE_MODULE(idadmin);

int rest_handler(request_rec *r)
{
    if (!r->handler || strcasecmp(r->handler, "idadmin-rest") != 0) {
        return DECLINED;
    }
    request_state *state = child ? request_state_of(r) : NULL;
    if (!state || !state->principal) {
        request_say(r, APLOG_ERR,
                    "IDA0211: %s is served by idadmin-rest without authentication: its Location "
                    "needs \"AuthType IdAdmin\" and \"Require valid-user\"",
                    r->uri);
        return HTTP_INTERNAL_SERVER_ERROR;
    }
    ida_question asked = request_question(r);
    ida_call call = {.c = state->c, .asked = &asked, .source = child->source};
    ida_rest_request request = handler_request(r, &asked);
    const char *texts[ASKED_COUNT] = {
        [ASKED_FACE] = "rest",
        [ASKED_COMPANY] = state->principal->company,
        [ASKED_USER] = state->principal->username,
        [ASKED_KEY] = state->key,
    };
    ida_rest_answer answer;
    int status = OK;
    if (!ida_rest_admit(&call, &request, &answer)) {
        status = handler_run(r, &call, texts, &request, &answer);
    }
    if (spool_call(r, &call) != IDA_OK) {
        ida_answer_error(state->c, &ida_rest_face, &answer);
        status = OK;
    }
    return status == OK ? respond(r, &answer) : status;
}
