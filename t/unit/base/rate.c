/* Rates as text, and the names of access levels. */
#include "core/base/rate.h"

#include "core/tenant/principal.h"
#include "t/unit/setup.h"

int main(void)
{
    setup();
    static const struct {
        const char *text, *back;
    } good[] = {
        {"120/60s", "120/60s"},
        {"1/1s", "1/1s"},
        {"1000000/3600s", "1000000/3600s"},
        {"1000000/1h", "1000000/3600s"},
        {"5/60m", "5/3600s"},
        {"20/1m", "20/60s"},
        {"off", "off"},
        {"007/060s", "7/60s"},
    };
    static const char *const bad[] = {"",
                                      "0/60s",
                                      "1000001/60s",
                                      "1/0s",
                                      "1/3601s",
                                      "1/61m",
                                      "1/2h",
                                      "120",
                                      "120/60",
                                      "120/s",
                                      "/60s",
                                      "-1/60s",
                                      "1/60ss",
                                      "1/60S",
                                      " 1/60s",
                                      "1/60s ",
                                      "1 /60s",
                                      "OFF",
                                      "1.5/60s",
                                      "99999999999999999999/60s",
                                      "1/99999999999999999999s",
                                      "120/60d",
                                      "1//60s",
                                      "0x10/60s"};
    ida_rate rate;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ok(!ida_rate_parse(good[i].text, &rate), "%s", good[i].text);
        is_str(ida_rate_text(pool, &rate), good[i].back, "and back");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *rule = ida_rate_parse(bad[i], &rate);
        ok(rule && strncmp(rule, "must ", 5) == 0 && !rate.limit && !rate.off,
           "\"%s\" is refused and leaves nothing", bad[i]);
    }
    ok(ida_rate_parse(NULL, &rate) != NULL, "NULL is refused");
    is_str(ida_rate_text(pool, &rate), NULL, "an unset rate has no text");
    for (int i = IDA_ACCESS_READ_ONLY; i <= IDA_ACCESS_LEGACY; i++) {
        is_int(ida_access_level_parse(ida_access_level_text((ida_access_level)i)), i,
               ida_access_level_text((ida_access_level)i));
    }
    ok(ida_access_level_parse("Full") == -1 && ida_access_level_parse("") == -1 &&
           ida_access_level_parse(NULL) == -1,
       "unknown access levels");
    return done();
}
