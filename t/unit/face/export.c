/* Rows of a file for spreadsheets: quoted cells, and formulas that are disarmed, whichever
 * character the spreadsheet uses as its separator. */
#include "t/unit/setup.h"

#include "core/base/json.h"
#include "core/face/export.h"
#include "core/operation/export.h"

/* The only cell of a file with this value. */
static const char *cell_of(json_t *value)
{
    static const char *const columns[] = {"a", NULL};
    ida_export x = {.columns = columns,
                    .rows = ida_json_keep(pool, json_pack("[{s:o}]", "a", value))};
    char *text = ida_export_text(pool, &x, 0);
    text[strlen(text) - 2] = '\0'; /* the end of the line */
    return text;
}

static void is_cell(const char *value, const char *want)
{
    is_str(cell_of(json_string(value)), want, value);
}

int main(void)
{
    setup();
    is_cell("", "\"\"");
    is_cell("Eva", "\"Eva\"");
    is_cell("a \"b\", c", "\"a \"\"b\"\", c\"");
    for (const char *sign = "=+-@"; *sign; sign++) {
        is_cell(ida_printf(pool, "%c1", *sign), ida_printf(pool, "\"'%c1\"", *sign));
        is_cell(ida_printf(pool, "x;%c1", *sign), ida_printf(pool, "\"x;'%c1\"", *sign));
        is_cell(ida_printf(pool, "x,%c1", *sign), ida_printf(pool, "\"x,'%c1\"", *sign));
        is_cell(ida_printf(pool, "x|%c1", *sign), ida_printf(pool, "\"x|'%c1\"", *sign));
        is_cell(ida_printf(pool, "x; \"%c1", *sign), ida_printf(pool, "\"x;' \"\"%c1\"", *sign));
    }
    is_cell(" =1", "\"' =1\"");
    is_cell("\xEF\xBC\x9D"
            "1",
            "\"'\xEF\xBC\x9D"
            "1\"");
    is_cell("\xEF\xBC\x8B"
            "1;\xEF\xBC\x8D"
            "2",
            "\"'\xEF\xBC\x8B"
            "1;'\xEF\xBC\x8D"
            "2\"");
    is_cell("x;\xEF\xBC\xA0"
            "y",
            "\"x;'\xEF\xBC\xA0"
            "y\"");
    is_cell("x;=cmd|' /C calc'!A0", "\"x;'=cmd|' /C calc'!A0\"");
    is_cell("10:30; a-b = c", "\"10:30; a-b = c\"");
    is_cell("x;", "\"x;\"");
    is_str(cell_of(json_integer(12)), "\"12\"", "a number");
    is_str(cell_of(json_true()), "\"true\"", "a truth value");
    is_str(cell_of(json_null()), "\"\"", "nothing");
    return done();
}
