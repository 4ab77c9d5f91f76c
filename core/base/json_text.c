/* Owns what stands between the quotes of a JSON string. Audit records are written with it directly,
 * because they are cut to a number of escaped bytes. */
#include <string.h>

#include "core/base/json.h"

/* Bytes that a byte takes between the quotes of a string. */
static size_t escaped_size(unsigned char ch)
{
    if (ch >= 0x20) {
        return ch == '"' || ch == '\\' ? 2 : 1;
    }
    return ch && strchr("\b\f\n\r\t", ch) ? 2 : 6;
}

size_t ida_json_escaped_length(const char *text, size_t len)
{
    size_t size = 0;
    for (size_t i = 0; i < len; i++) {
        size += escaped_size((unsigned char)text[i]);
    }
    return size;
}

static char *escape_byte(char *to, unsigned char ch)
{
    static const char hex[] = "0123456789ABCDEF", from[] = "\b\f\n\r\t", letters[] = "bfnrt";
    const char *named = ch ? strchr(from, ch) : NULL;
    *to++ = '\\';
    if (ch >= 0x20 || named) {
        *to++ = named ? letters[named - from] : (char)ch;
        return to;
    }
    memcpy(to, "u00", 3);
    to[3] = hex[ch >> 4];
    to[4] = hex[ch & 15];
    return to + 5;
}

char *ida_json_escape(char *to, const char *text, size_t len)
{
    size_t plain = 0; /* where the bytes begin that go over as they are */
    for (size_t i = 0; i < len; i++) {
        if (escaped_size((unsigned char)text[i]) > 1) {
            memcpy(to, text + plain, i - plain);
            to = escape_byte(to + (i - plain), (unsigned char)text[i]);
            plain = i + 1;
        }
    }
    memcpy(to, text + plain, len - plain);
    return to + (len - plain);
}
