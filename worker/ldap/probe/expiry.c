/* Owns the doctor's checks of what expires: certificates and the bind password. Writes nothing. */
#include <apr_strings.h>

#include "core/base/text.h"
#include "worker/base/certificate.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/probe/probe.h"
#include "worker/ldap/wire/session.h"

#define DAY_MS INT64_C(86400000)

void ld_probe_server_certificate(ld_call *k, report *r, const ld_server *server)
{
    const directory *d = k->d;
    if (server->scheme == LD_LDAPS || (server->scheme == LD_LDAP && d->start_tls)) {
        const tls_target target = {.url = server->url,
                                   .ca_file = ld_authorities(d),
                                   .ca_name = "caFile"};
        directory_report_certificate(r, k->pool,
                                     apr_pstrcat(k->pool, "certificate ", server->url, NULL),
                                     &target, ida_now(d->env));
    }
}

void ld_probe_own_certificate(ld_call *k, report *r)
{
    const directory *d = k->d;
    int64_t ends;
    if (!d->certificate_file) {
        return;
    }
    const char *fault = certificate_file(k->pool, d->certificate_file, 0, &ends);
    if (fault) {
        directory_report_line(r, "certificateFile", 0,
                              apr_pstrcat(k->pool, d->certificate_file, " ", fault, NULL));
    } else {
        directory_report_days(r, k->pool, "certificateFile", ends, ida_now(d->env),
                              "make a new one for our account");
    }
}

void ld_probe_own_password(ld_call *k, report *r)
{
    ld_own_password own;
    int64_t now = ida_now(k->d->env);
    if (k->d->bind != LD_BIND_SIMPLE) {
        return;
    }
    ld_own_password_look(k, &own);
    const char *age = own.changed ? ida_printf(k->pool, "changed %s ago",
                                               ida_count(k->pool, (now - own.changed) / DAY_MS,
                                                         "day", "days"))
                                  : "its age is not shown to our account";
    if (own.ends) {
        directory_report_days(
            r, k->pool, "bind password", own.ends, now,
            ida_printf(k->pool, "%s (%s); set a new one and write it to bindPasswordFile %s", age,
                       own.by, k->d->password_file));
    } else {
        directory_report_line(r, "bind password", 1,
                              ida_printf(k->pool, "%s; no expiry is seen", age));
    }
}
