/* Owns the content of a JSON string between its quotes. Audit records are written with it
 * directly, because they are cut to a number of escaped bytes. */
#include "core/base/json.h"
#include "core/base/text.h"

/* Bytes that a byte takes between the quotes of a string beyond the one that it is. */
static const unsigned char extra[256] = {
    [0 ... 7] = 5, ['\b'] = 1, ['\t'] = 1, ['\n'] = 1,      [11] = 5,
    ['\f'] = 1,    ['\r'] = 1, ['"'] = 1,  [14 ... 31] = 5, ['\\'] = 1,
};

size_t ida_json_escaped_length(const char *text, size_t len)
{
    size_t size = len;
    for (size_t i = 0; i < len; i++) {
        size += extra[(unsigned char)text[i]];
    }
    return size;
}

static char *escape_control(char *to, unsigned char ch)
{
    static const char from[] = "\b\f\n\r\t", letters[] = "bfnrt";
    const char *named = ch ? strchr(from, ch) : NULL;
    if (named) {
        *to++ = letters[named - from];
        return to;
    }
    memcpy(to, "u00", 3);
    return ida_hex_byte(to + 3, ch);
}

char *ida_json_escape(char *to, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char ch = (unsigned char)text[i];
        if (extra[ch]) {
            *to++ = '\\';
        }
        if (ch < 0x20) {
            to = escape_control(to, ch);
        } else {
            *to++ = (char)ch;
        }
    }
    return to;
}
