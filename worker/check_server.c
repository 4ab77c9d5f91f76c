/* Owns the doctor's look at servers other than directories: connection and certificate. Must not
 * know what they are for. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/host.h"
#include "core/base/json.h"
#include "worker/checks.h"
#include "worker/directory/report.h"

void check_end(check_look *look, const char *of, const char *check, int64_t ends)
{
    report r = {.lines = ida_json_keep(look->pool, json_array())};
    directory_report_days(&r, look->pool, check, ends, ida_now(look->c->env),
                          "the server's certificate has to be renewed before then");
    check_take(look, of, r.lines);
}

void check_receiver(check_look *look, const char *of, const webhook_call *call)
{
    int64_t ends;
    const char *fault = webhook_unreachable(look->pool, call, &ends);
    check_judge(look, of, "receiver", fault, call->url);
    if (ends) {
        check_end(look, of, "receiver's certificate", ends);
    }
}

/* Each server of the store that is reached over a network. */
static void look_at_database(check_look *look, const char *host)
{
    const char *dsn = look->config->store, *mode = db_dsn_option(look->pool, dsn, "sslmode"),
               *ca = db_dsn_option(look->pool, dsn, "sslrootcert");
    int verified = mode && strcmp(mode, "verify-full") == 0 && ca,
        near = *host == '/' || ida_host_loopback(host, strlen(host));
    if (!verified && !near) {
        check_line(look, host, "database over TLS", CHECK_WARNING,
                   "store does not verify the server: set sslmode=verify-full and sslrootcert");
    }
}

void check_database(check_look *look)
{
    const char *hosts = db_dsn_option(look->pool, look->config->store, "host");
    char *rest = hosts ? apr_pstrdup(look->pool, hosts) : NULL, *last = NULL;
    for (char *host = rest ? apr_strtok(rest, ",", &last) : NULL; host;
         host = apr_strtok(NULL, ",", &last)) {
        look_at_database(look, host);
    }
}
