/* Owns the text form of rates. Must not know what is limited. */
#include "core/base/rate.h"

#include <string.h>

#include "core/base/context.h"

#define LIMIT_MAX 1000000
#define PERIOD_MAX 3600

/* Digits at *text up to `max`; 0 when there are none or the number is out of range. */
static unsigned number(const char **text, unsigned max)
{
    unsigned long value = 0;
    const char *p = *text;
    for (; *p >= '0' && *p <= '9'; p++) {
        value = value * 10 + (unsigned long)(*p - '0');
        if (value > max) {
            return 0;
        }
    }
    *text = p;
    return (unsigned)value;
}

const char *ida_rate_parse(const char *text, ida_rate *rate)
{
    static const char shape[] =
        "must be \"off\" or a rate such as \"120/60s\", \"20/1m\" or \"600/1h\"";
    memset(rate, 0, sizeof *rate);
    if (!text) {
        return shape;
    }
    if (strcmp(text, "off") == 0) {
        rate->off = 1;
        return NULL;
    }
    size_t count_len = strspn(text, "0123456789");
    if (!count_len || text[count_len] != '/') {
        return shape;
    }
    const char *period = text + count_len + 1;
    size_t period_len = strspn(period, "0123456789");
    char unit = period[period_len];
    if (!period_len || !unit || period[period_len + 1] || !strchr("smh", unit)) {
        return shape;
    }
    unsigned limit = number(&text, LIMIT_MAX);
    if (!limit) {
        return "must allow between 1 and 1000000 requests per period";
    }
    unsigned seconds = unit == 's' ? 1 : unit == 'm' ? 60 : 3600;
    unsigned periods = number(&period, PERIOD_MAX / seconds);
    if (!periods) {
        return "must have a period between 1s and 1h";
    }
    rate->limit = limit;
    rate->period_s = periods * seconds;
    return NULL;
}

char *ida_rate_text(apr_pool_t *pool, const ida_rate *rate)
{
    if (rate->off) {
        return ida_printf(pool, "off");
    }
    return rate->limit ? ida_printf(pool, "%u/%us", rate->limit, rate->period_s) : NULL;
}
