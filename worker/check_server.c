/* Owns the doctor's look at servers other than directories: connection and certificate. Must not
 * know what they are for. */
#include <string.h>

#include "core/base/json.h"
#include "worker/checks.h"
#include "worker/directory/report.h"

void check_server(check_look *look, const char *of, const char *check, const tls_target *target)
{
    report r = {.lines = ida_json_keep(look->pool, json_array())};
    directory_report_certificate(&r, look->pool, check, target, ida_now(look->c->env));
    check_take(look, of, r.lines);
}

void check_receiver(check_look *look, const char *of, const char *ca_name, const webhook_call *call)
{
    const char *fault = webhook_unreachable(look->pool, call);
    check_judge(look, of, "receiver", fault, call->url);
    if (strncmp(call->url, "https:", 6) == 0) {
        const tls_target target = {.url = call->url, .ca_file = call->ca_file, .ca_name = ca_name};
        check_server(look, of, "receiver's certificate", &target);
    }
}
