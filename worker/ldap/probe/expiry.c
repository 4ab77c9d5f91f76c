/* Owns the doctor's checks of what expires: certificates and the bind password. Writes nothing. */
#include <apr_strings.h>

#include "core/base/text.h"
#include "worker/base/certificate.h"
#include "worker/ldap/entry/find.h"
#include "worker/ldap/probe/probe.h"
#include "worker/ldap/wire/session.h"

#define DAY_MS INT64_C(86400000)

void ld_probe_server_certificate(ld_call *k, report *r, const directory *connected)
{
    struct berval bytes = {0};
#ifdef LDAP_OPT_X_TLS_PEERCERT /* since libldap 2.5 */
    ldap_get_option(connected->ld, LDAP_OPT_X_TLS_PEERCERT, &bytes);
#endif
    int64_t ends = certificate_end(bytes.bv_val, bytes.bv_len);
    ber_memfree(bytes.bv_val);
    if (ends) {
        directory_report_days(r, k->pool,
                              apr_pstrcat(k->pool, "certificate ", connected->servers->url, NULL),
                              ends, ida_now(k->d->env),
                              "the server's certificate has to be renewed before then");
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
