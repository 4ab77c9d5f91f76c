/* Owns the content of a JSON string between its quotes. Audit records are written with it
 * directly, because they are cut to a number of escaped bytes. */
#include "core/base/json.h"
#include "core/base/text.h"

/* Bytes that a byte takes between the quotes of a string beyond the one that it is (EXTRA), and
 * whether it is no visible ASCII. */
#define EXTRA 7
#define OTHER 8
static const unsigned char kinds[256] = {
    [0 ... 7] = OTHER | 5,
    ['\b'] = OTHER | 1,
    ['\t'] = OTHER | 1,
    ['\n'] = OTHER | 1,
    [11] = OTHER | 5,
    ['\f'] = OTHER | 1,
    ['\r'] = OTHER | 1,
    ['"'] = 1,
    ['\\'] = 1,
    [14 ... 31] = OTHER | 5,
    [0x7F ... 0xFF] = OTHER,
};

size_t ida_json_escaped_length(const char *text, size_t len)
{
    size_t size = len;
    for (size_t i = 0; i < len; i++) {
        size += kinds[(unsigned char)text[i]] & EXTRA;
    }
    return size;
}

ida_json_measure ida_json_measured(const char *text)
{
    size_t more = 0;
    unsigned char all = 0;
    const char *p = text;
    for (; *p; p++) {
        unsigned char kind = kinds[(unsigned char)*p];
        more += kind & EXTRA;
        all |= kind;
    }
    size_t len = (size_t)(p - text);
    return (ida_json_measure){len, len + more, !(all & OTHER)};
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
        if (kinds[ch] & EXTRA) {
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
