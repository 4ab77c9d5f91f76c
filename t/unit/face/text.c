/* Tables and lines of idadminctl: aligned by display width, without control characters, and no
 * wider than the terminal: the last column is wrapped, columns without room are left out. */
#include <locale.h>

#include "t/unit/setup.h"

#include "core/face/text.h"

static const ida_column columns[] = {
    {"NAME", "name"}, {"KIND", "kind"}, {"DETAIL", "detail"}, {NULL, NULL}};

static const char *table(const char *json, int width)
{
    json_t *rows = json_loads(json, 0, NULL);
    const char *text = ida_text_table(pool, rows, columns, width);
    json_decref(rows);
    return text;
}

static void aligned(void)
{
    is_str(table("[{\"name\":\"Eva\",\"kind\":true,\"detail\":7},{\"name\":\"\\u00c5sa \\u00d6\","
                 "\"kind\":null,\"detail\":[\"a\",\"b\"]}]",
                 0),
           "NAME   KIND  DETAIL\n"
           "Eva    yes   7\n"
           "\xc3\x85sa \xc3\x96  -     a, b\n",
           "columns stand below each other, letters of two bytes too");
    is_str(table("[{\"name\":\"\\u65e5\\u672c\",\"kind\":\"x\",\"detail\":\"\"}]", 0),
           "NAME  KIND  DETAIL\n"
           "\xe6\x97\xa5\xe6\x9c\xac  x     -\n",
           "a wide character takes two columns");
    is_str(table("[{\"name\":{\"id\":\"1\",\"name\":\"All\"},\"kind\":{\"used\":1,\"limit\":null},"
                 "\"detail\":[{\"id\":\"2\",\"userPrincipalName\":\"e@x\"}]}]",
                 0),
           "NAME  KIND    DETAIL\n"
           "All   used 1  e@x\n",
           "an object is shown by its name, or by its members");
    ok(!strchr(table("[{\"name\":\"\\u001b[31mred\",\"kind\":\"a\\nb\",\"detail\":\"x\"}]", 0),
               '\033'),
       "nothing commands the terminal");
}

static void narrow(void)
{
    const char *rows = "[{\"name\":\"Eva Berg\",\"kind\":\"member\",\"detail\":"
                       "\"the quick brown fox jumps over the lazy dog\"}]";
    is_str(table(rows, 80),
           "NAME      KIND    DETAIL\n"
           "Eva Berg  member  the quick brown fox jumps over the lazy dog\n",
           "what fits stays on its line");
    is_str(table(rows, 38),
           "NAME      KIND    DETAIL\n"
           "Eva Berg  member  the quick brown fox\n"
           "                  jumps over the lazy\n"
           "                  dog\n",
           "the last column is wrapped at blanks");
    is_str(table(rows, 20),
           "NAME      KIND\n"
           "Eva Berg  member\n",
           "a column without room is left out");
    is_str(table(rows, 5),
           "NAME\n"
           "Eva\n"
           "Berg\n",
           "one always stays");
    for (int width = 1; width < 90; width++) {
        int longest = 0, at = 0;
        for (const char *p = table(rows, width); *p; p++) {
            at = *p == '\n' ? 0 : at + 1;
            longest = at > longest ? at : longest;
        }
        if (longest > width) {
            ok(0, "a line of %d columns in %d", longest, width);
        }
    }
    ok(1, "no line is longer than the terminal");
}

static void titles(void)
{
    is_str(ida_text_title(pool, "scheduledAtUtc"), "Scheduled at UTC", "words and UTC");
    is_str(ida_text_title(pool, "id"), "ID", "ID");
    is_str(ida_text_title(pool, "taskIds"), "Task IDs", "IDs");
    is_str(ida_text_title(pool, "userPrincipalName"), "User", "who");
}

int main(void)
{
    static const ida_column lines[] = {
        {"Name", "name"}, {"Job title", "job"}, {"Nothing", "none"}, {NULL, NULL}};
    setlocale(LC_CTYPE, "C.UTF-8");
    setup();
    aligned();
    narrow();
    titles();
    json_t *object = json_pack("{s:s, s:s, s:n}", "name", "Eva", "job", "CEO", "none");
    is_str(ida_text_fields(pool, object, lines), "Name       Eva\nJob title  CEO\n",
           "lines of what is there");
    json_decref(object);
    return done();
}
