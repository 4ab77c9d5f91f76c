/* Owns reading JSON in place. Must not know what is in it. */
#include "worker/graph/reader.h"

#include <stdint.h>
#include <string.h>

#define DEPTH 64 /* bits of a word: which brackets are open */

static char nothing[] = "";

static int fault(graph_reader *r)
{
    r->fault = 1;
    r->at = nothing;
    return 0;
}

void graph_reader_begin(graph_reader *r, char *bytes)
{
    *r = (graph_reader){.at = bytes};
}

static char blanks(graph_reader *r)
{
    while ((unsigned char)*r->at <= ' ' &&
           (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t')) {
        r->at++;
    }
    return *r->at;
}

/* The first byte from `p` on that does not simply stand for itself in a text: a quote, a backslash,
 * a control character, the end. Most of a page is looked at here, so one look a byte. */
static char *plain_end(char *p)
{
    static const char stops[256] = {1, 1, 1, 1, 1, 1, 1, 1, 1,         1,         1, 1,
                                    1, 1, 1, 1, 1, 1, 1, 1, 1,         1,         1, 1,
                                    1, 1, 1, 1, 1, 1, 1, 1, ['"'] = 1, ['\\'] = 1};
    while (!stops[(unsigned char)*p]) {
        p++;
    }
    return p;
}

/* --- texts --- */

static int hex4(const char *p, uint32_t *code)
{
    *code = 0;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef", *d = p[i] ? strchr(digits, p[i] | 0x20) : NULL;
        if (!d) {
            return 0;
        }
        *code = *code << 4 | (uint32_t)(d - digits);
    }
    return 1;
}

static char *put_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xC0 | code >> 6);
        *to++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *to++ = (char)(0xE0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    } else {
        *to++ = (char)(0xF0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 63));
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    }
    return to;
}

/* One escape at `from` (behind the backslash) to `to`; never longer than it was. NULL: none. */
static char *unescape(const char *from, char *to, const char **next)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    uint32_t code, low;
    if (*from != 'u') {
        const char *name = *from ? strchr(names, *from) : NULL;
        *next = from + 1;
        *to = name ? values[name - names] : 0;
        return name ? to + 1 : NULL;
    }
    if (!hex4(from + 1, &code)) {
        return NULL;
    }
    *next = from + 5;
    if (code >= 0xD800 && code < 0xDC00 && from[5] == '\\' && from[6] == 'u' &&
        hex4(from + 7, &low) && low >= 0xDC00 && low < 0xE000) {
        *next = from + 11;
        return put_utf8(to, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
    }
    return put_utf8(to, code == 0 || (code >= 0xD800 && code < 0xE000) ? 0xFFFD : code);
}

/* Behind the opening quote; NULL after a fault. The closing quote becomes the end. */
static char *text(graph_reader *r)
{
    char *start = r->at, *p = plain_end(start), *to = p;
    while (*p != '"') {
        const char *next = p + 1;
        if ((unsigned char)*p < 0x20) {
            fault(r);
            return NULL;
        }
        if (*p != '\\') {
            *to++ = *p;
        } else if (!(to = unescape(p + 1, to, &next))) {
            fault(r);
            return NULL;
        }
        p += next - p;
    }
    *to = '\0';
    r->len = (size_t)(to - start);
    r->at = p + 1;
    return start;
}

/* --- skipping --- */

static int is_escape(const char *p)
{
    uint32_t code;
    return *p == '\\' && p[1] && strchr("\"\\/bfnrtu", p[1]) && (p[1] != 'u' || hex4(p + 2, &code));
}

static int skip_text(graph_reader *r)
{
    char *p = plain_end(r->at + 1);
    while (*p != '"') {
        if (!is_escape(p)) {
            return fault(r);
        }
        p = plain_end(p + 2);
    }
    r->at = p + 1;
    return 1;
}

static size_t digits(const char *p)
{
    return strspn(p, "0123456789");
}

static int skip_number(graph_reader *r)
{
    char *p = r->at + (*r->at == '-');
    size_t whole = digits(p);
    if (!whole || (whole > 1 && *p == '0')) {
        return fault(r);
    }
    p += whole;
    if (*p == '.') {
        size_t part = digits(p + 1);
        if (!part) {
            return fault(r);
        }
        p += 1 + part;
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        size_t power = digits(p);
        if (!power) {
            return fault(r);
        }
        p += power;
    }
    r->at = p;
    return 1;
}

static int skip_word(graph_reader *r, const char *word)
{
    size_t len = strlen(word);
    if (strncmp(r->at, word, len) != 0) {
        return fault(r);
    }
    r->at += len;
    return 1;
}

static int skip_scalar(graph_reader *r)
{
    switch (*r->at) {
    case '"': return skip_text(r);
    case 't': return skip_word(r, "true");
    case 'f': return skip_word(r, "false");
    case 'n': return skip_word(r, "null");
    default: return skip_number(r);
    }
}

/* A member's name and its colon. */
static int skip_name(graph_reader *r)
{
    if (blanks(r) != '"' || !skip_text(r)) {
        return fault(r);
    }
    if (blanks(r) != ':') {
        return fault(r);
    }
    r->at++;
    return 1;
}

void graph_skip(graph_reader *r)
{
    uint64_t objects = 0; /* lowest bit: the innermost bracket is an object's */
    int depth = 0;
    do {
        char ch = blanks(r);
        if (ch == '{' || ch == '[') {
            int object = ch == '{';
            r->at++;
            if (blanks(r) != (object ? '}' : ']')) {
                if (++depth > DEPTH || (object && !skip_name(r))) {
                    fault(r);
                    return;
                }
                objects = objects << 1 | (uint64_t)object;
                continue;
            }
            r->at++;
        } else if (!skip_scalar(r)) {
            return;
        }
        while (depth) { /* a value ended */
            ch = blanks(r);
            if (ch == ',') {
                r->at++;
                if (objects & 1 && !skip_name(r)) {
                    return;
                }
                break;
            }
            if (ch != (objects & 1 ? '}' : ']')) {
                fault(r);
                return;
            }
            r->at++;
            objects >>= 1;
            depth--;
        }
    } while (depth);
}

/* --- values --- */

static int member(graph_reader *r, const char **name)
{
    if (blanks(r) != '"') {
        return fault(r);
    }
    r->at++;
    *name = text(r);
    if (!*name || blanks(r) != ':') {
        return fault(r);
    }
    r->at++;
    return 1;
}

int graph_object_begin(graph_reader *r, const char **name)
{
    if (blanks(r) != '{') {
        graph_skip(r);
        return 0;
    }
    r->at++;
    if (blanks(r) == '}') {
        r->at++;
        return 0;
    }
    return member(r, name);
}

/* 1: a comma, 0: the end or a fault. */
static int next(graph_reader *r, char end)
{
    char ch = blanks(r);
    if (ch != ',' && ch != end) {
        return fault(r);
    }
    r->at++;
    return ch == ',';
}

int graph_object_next(graph_reader *r, const char **name)
{
    return next(r, '}') && member(r, name);
}

int graph_array_begin(graph_reader *r)
{
    if (blanks(r) != '[') {
        graph_skip(r);
        return 0;
    }
    r->at++;
    if (blanks(r) == ']') {
        r->at++;
        return 0;
    }
    return 1;
}

int graph_array_next(graph_reader *r)
{
    return next(r, ']');
}

const char *graph_read_text(graph_reader *r)
{
    if (blanks(r) != '"') {
        graph_skip(r);
        return NULL;
    }
    r->at++;
    return text(r);
}

int graph_read_true(graph_reader *r)
{
    int yes = blanks(r) == 't';
    graph_skip(r);
    return yes && !r->fault;
}

int graph_reader_end(graph_reader *r)
{
    return !r->fault && blanks(r) == '\0';
}
