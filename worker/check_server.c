/* Owns the doctor's look at servers other than directories: connection and certificate. Must not
 * know what they are for. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/host.h"
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

/* Each server of the store that is reached over a network. */
static void look_at_database(check_look *look, const char *host, const char *port)
{
    const char *dsn = look->config->store, *mode = db_dsn_option(look->pool, dsn, "sslmode"),
               *ca = db_dsn_option(look->pool, dsn, "sslrootcert");
    int verified = mode && strcmp(mode, "verify-full") == 0 && ca,
        near = *host == '/' || ida_host_loopback(host, strlen(host));
    if (!verified && !near) {
        check_line(look, host, "database over TLS", CHECK_WARNING,
                   "store does not verify the server: set sslmode=verify-full and sslrootcert");
    }
    if (!verified || *host == '/') {
        return;
    }
    const tls_target target = {.url = ida_printf(look->pool, "pgsql://%s:%s", host, port),
                               .ca_file = strcmp(ca, "system") == 0 ? NULL : ca,
                               .ca_name = "sslrootcert"};
    check_server(look, host, "database's certificate", &target);
}

void check_database(check_look *look)
{
    const char *dsn = look->config->store, *hosts = db_dsn_option(look->pool, dsn, "host"),
               *ports = db_dsn_option(look->pool, dsn, "port");
    char *rest = hosts ? apr_pstrdup(look->pool, hosts) : NULL, *last = NULL, *next = NULL;
    char *numbers = apr_pstrdup(look->pool, ports ? ports : "5432"), *port = NULL;
    for (char *host = rest ? apr_strtok(rest, ",", &last) : NULL; host;
         host = apr_strtok(NULL, ",", &last)) {
        char *number = apr_strtok(port ? NULL : numbers, ",", &next);
        port = number ? number : port; /* one port is that of every host */
        look_at_database(look, host, port ? port : "5432");
    }
}
