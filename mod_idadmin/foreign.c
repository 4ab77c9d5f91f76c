/* Owns the texts of errors that httpd or another module raised. Must not know how they are sent. */
#include "mod_idadmin/module.h"

const char *foreign_text(request_rec *r)
{
    const request_state *state = request_state_of(r);
    const char *unread = state->body_unread ? body_unread_text(r->status) : NULL;
    if (unread) {
        return unread;
    }
    if (state->require_refused) {
        return "The rules of access of this address (Require, in the server's configuration) do "
               "not admit this API user.";
    }
    switch (r->status) {
    case HTTP_UNAUTHORIZED:
        return state->face == FACE_CONSOLE
                   ? "Nobody is signed in. Sign in to this server as its administrator has set up."
                   : NULL;
    case HTTP_METHOD_NOT_ALLOWED:
    case HTTP_TOO_MANY_REQUESTS: return NULL;
    default: /* a firewall's 403 or 413 has its own reason, which only its log shows */
        return r->status < 400 || r->status >= 500
                   ? NULL
                   : apr_psprintf(r->pool,
                                  "The server refused this request with status %d before the "
                                  "service carried it out. Its administrator finds the reason in "
                                  "the logs of the server and of the modules that guard it.",
                                  r->status);
    }
}
