/* Bytes as a TZif file and as a POSIX TZ rule: whatever is accepted answers every question and
 * keeps the calendar. */
#include "core/zone/data.h"
#include "t/fuzz/fuzz_copy.h"

static void ask(const zone_info *zone)
{
    static const int64_t instants[] = {INT64_MIN,  -2208988800, -1,
                                       0,          1,           1795253400,
                                       2147483648, 4102444800,  253402300799,
                                       INT64_MAX};
    for (size_t i = 0; i < sizeof instants / sizeof *instants; i++) {
        zone_wall wall;
        int64_t next;
        zone_to_wall(zone, instants[i], &wall);
        FUZZ_HOLDS(wall.month >= 1 && wall.month <= 12 && wall.day >= 1 && wall.day <= 31 &&
                   wall.hour >= 0 && wall.hour <= 23);
        if (instants[i] > -62135596800 && instants[i] < 253402300799) {
            /* Never later than the instant itself: of a doubled time the first is taken. */
            FUZZ_HOLDS(zone_to_utc(zone, &wall) <= instants[i]);
            FUZZ_HOLDS(!zone_next(zone, instants[i], &next) || next > instants[i]);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ida_ctx *c = fuzz_context();
    zone_info *zone;
    const char *why = NULL;
    if (zone_parse(c->pool, data, size, &zone, &why)) {
        ask(zone);
    } else {
        FUZZ_HOLDS(why && *why);
    }
    zone_info ruled = {.has_rule = 1};
    if (zone_rule_parse((const char *)data, size, &ruled.rule)) {
        ask(&ruled);
    }
    char *name = fuzz_text(data, size);
    const zone_info *read;
    fuzz_told(c, zone_read(c, c->pool, name, &read));
    free(name);
    return 0;
}
