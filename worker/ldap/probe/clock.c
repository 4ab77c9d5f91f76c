/* Owns the judgement of a server's clock. Must not know how its time was read. */
#include "worker/ldap/probe/probe.h"
#include "worker/ldap/wire/session.h"

void ld_probe_clock(ld_call *k, report *r, int64_t ahead, int64_t behind_max, const char *behind)
{
    long long seconds = (ahead < 0 ? -ahead : ahead) / 1000;
    const char *text = seconds < 2 ? "the server's clock agrees with ours"
                                   : ida_printf(k->pool, "the server's clock is %lld s %s", seconds,
                                                ahead < 0 ? behind : "ahead of ours");
    directory_report_line(r, "clock", ahead <= CLOCK_TOLERANCE_MS && -ahead <= behind_max, text);
}
