/* Owns what keeps other web sites from using the console through the browser of a signed-in person.
 * Must not know what is requested.
 *
 * The console has no cookie and no token of its own: httpd signs a person in, and browsers send
 * that sign-in along with any request. Browsers also report which site caused a request (Sec-
 * Fetch-Site, Origin), and they never send our header for another site without asking first. */
#include "mod_idadmin/module.h"

#include <string.h>

APLOG_USE_MODULE(idadmin);

int console_is_sign_in(request_rec *r)
{
    const char *path = request_route(r)->path;
    return r->method_number == M_GET && strcmp(path, "/api/sign-in") == 0;
}

/* Browsers send Sec-Fetch-Site over https and to loopback; otherwise Origin has to suffice. */
static int is_other_site(request_rec *r)
{
    const char *site = apr_table_get(r->headers_in, "Sec-Fetch-Site"),
               *origin = apr_table_get(r->headers_in, "Origin");
    if (site) {
        return strcasecmp(site, "same-origin") != 0 && strcasecmp(site, "none") != 0;
    }
    return origin && !origin_is_own(r, origin) && !config_allows_origin(r, origin);
}

static int refuse(request_rec *r, const char *reason, const char *message)
{
    int status = request_refuse(r, IDA_FORBIDDEN, message, 0);
    if (reason) {
        ida_because(request_state_of(r)->c, reason, NULL);
    }
    request_say(r, APLOG_INFO, "refused at the console: %s", message);
    return status;
}

int console_gate(request_rec *r)
{
    if (authn_in_clear(r)) {
        return refuse(r, NULL,
                      "The console is used over TLS only, and this request came in clear: use "
                      "https. Change your password when others may have seen it on its way.");
    }
    if (!console_is_sign_in(r) && is_other_site(r)) {
        return refuse(r, "crossSite",
                      "This request was made by a page of another site. Where a proxy stands "
                      "before the server, the administrator names its address with "
                      "IdAdminAllowOrigin.");
    }
    const char *header = request_single_header(r, IDA_CONSOLE_HEADER);
    if (r->method_number != M_GET && (!header || strcmp(header, "1") != 0)) {
        return refuse(r, "headerMissing",
                      "What changes something needs the header " IDA_CONSOLE_HEADER ": 1.");
    }
    return OK;
}
