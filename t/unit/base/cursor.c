/* Cursors: round trip, and all texts that must be refused. */
#include "core/base/cursor.h"

#include "t/unit/setup.h"

int main(void)
{
    setup();
    unsigned char key[IDA_CURSOR_KEY_LEN], other[IDA_CURSOR_KEY_LEN];
    memset(key, 7, sizeof key);
    memset(other, 8, sizeof other);
    char *position;
    static const char *const positions[] = {"", "a", "ab", "abc",
                                            "{\"n\":\"\xC3\x85sa\",\"id\":\"~~~?>>?>\"}"};
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        char *cursor = ida_cursor_make(pool, key, "contoso users q=a", positions[i]);
        ok(strspn(cursor, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
               strlen(cursor),
           "URL-safe characters");
        is_int(ida_cursor_open(fresh(), key, "contoso users q=a", cursor, &position), IDA_OK,
               "opens");
        is_str(position, positions[i], "at the same position");
        ida_ctx *c = fresh();
        is_int(ida_cursor_open(c, key, "contoso users q=b", cursor, &position), IDA_BAD_REQUEST,
               "not with other filters");
        says(c, "the message names the argument", "cursor: ", "without a cursor", NULL);
        is_str(position, NULL, "and gives no position");
        is_int(ida_cursor_open(fresh(), other, "contoso users q=a", cursor, &position),
               IDA_BAD_REQUEST, "not with another key");
        int held = 1;
        for (size_t at = 0; cursor[at]; at++) {
            char *changed = apr_pstrdup(pool, cursor);
            changed[at] = changed[at] == 'A' ? 'B' : 'A';
            held = held && ida_cursor_open(fresh(), key, "contoso users q=a", changed, &position) ==
                               IDA_BAD_REQUEST;
            held = held && ida_cursor_open(fresh(), key, "contoso users q=a",
                                           apr_pstrndup(pool, cursor, at), &position);
        }
        ok(held, "no changed and no cut cursor opens");
        ok(ida_cursor_open(fresh(), key, "contoso users q=a", apr_pstrcat(pool, cursor, "=", NULL),
                           &position),
           "no padding");
        ok(ida_cursor_open(fresh(), key, "contoso users q=a", apr_pstrcat(pool, cursor, "A", NULL),
                           &position),
           "nothing behind");
    }
    /* A byte may not move from the binding to the position. */
    char *cursor = ida_cursor_make(pool, key, "ab", "c");
    char *moved = ida_cursor_make(pool, key, "a", "bc");
    ok(strcmp(cursor, moved) != 0 && ida_cursor_open(fresh(), key, "a", cursor, &position),
       "binding and position do not run together");
    char *huge = apr_palloc(pool, 100001);
    memset(huge, 'A', 100000);
    huge[100000] = '\0';
    is_int(ida_cursor_open(fresh(), key, "a", huge, &position), IDA_BAD_REQUEST,
           "100000 characters are refused");
    is_int(ida_cursor_open(fresh(), key, "a", "\xC3\xA5\xFF", &position), IDA_BAD_REQUEST,
           "so are bytes of no alphabet");
    return done();
}
