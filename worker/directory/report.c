/* Owns the form of the doctor's report. Must not know what is checked. */
#include "worker/directory/report.h"

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/base/time.h"

#define DAY_MS INT64_C(86400000)

static json_t *line(report *r, const char *check, int good, const char *detail)
{
    json_t *one = json_object();
    ida_json_put(one, "check", check);
    json_object_set_new(one, "ok", json_boolean(good));
    ida_json_put(one, "detail", detail);
    json_array_append_new(r->lines, one);
    return one;
}

void directory_report_line(report *r, const char *check, int good, const char *detail)
{
    line(r, check, good, detail);
}

void directory_report_warning(report *r, const char *check, const char *detail)
{
    ida_json_put(line(r, check, 1, detail), "level", "warning");
}

static const char *expiring(apr_pool_t *pool, int64_t ends, int64_t now, const char *advice)
{
    return ida_printf(pool, "expires in %s, on %.10s: %s",
                      ida_count(pool, (ends - now) / DAY_MS, "day", "days"),
                      ida_utc_text(pool, ends), advice);
}

void directory_report_days(report *r, apr_pool_t *pool, const char *check, int64_t ends,
                           int64_t now, const char *advice)
{
    const char *at = ida_utc_text(pool, ends);
    if (ends <= now) {
        directory_report_line(r, check, 0, ida_printf(pool, "expired on %.10s: %s", at, advice));
    } else if (ends - now < IDA_ENDS_SOON_MS) {
        directory_report_warning(r, check, expiring(pool, ends, now, advice));
    } else {
        directory_report_line(r, check, 1,
                              ida_printf(pool, "valid for another %lld days, until %.10s",
                                         (long long)((ends - now) / DAY_MS), at)); /* never one */
    }
}

int directory_report_judge(report *r, const char *check, directory_class class, const char *good)
{
    directory_report_line(r, check, class == DIRECTORY_OK,
                          class == DIRECTORY_OK ? good : r->last->message);
    if (class != DIRECTORY_OK && r->first == DIRECTORY_OK) {
        r->first = class;
        r->error = *r->last;
    }
    return class == DIRECTORY_OK;
}
