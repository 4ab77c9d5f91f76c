/* Owns building names from formats. Must not know which names are taken: candidates are numbered
 * here and looked up elsewhere. */
#include "core/tenant/naming.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/utf8.h>

#include "core/base/text.h"

#define LOCAL_MAX 64
#define ADDRESS_MAX 113
#define DISPLAY_MAX 256 /* UTF-16 units */
/* bytes of one name that are used; more cannot matter in 64 characters */
#define NAME_READ_MAX 1024
#define FORMAT_MAX 200 /* bytes */

/* One piece of a format: literal text, or a placeholder with its cut. */
typedef struct piece {
    const char *literal; /* NULL for a placeholder */
    size_t literal_len;
    int part;    /* index into parts[] */
    int letters; /* 0 = all */
} piece;

static const struct {
    const char *name;
    size_t at; /* in ida_name_parts */
} parts_table[] = {
    {"firstname", offsetof(ida_name_parts, firstname)},
    {"middleName", offsetof(ida_name_parts, middle_name)},
    {"surname", offsetof(ida_name_parts, surname)},
};
enum { PARTS = sizeof parts_table / sizeof *parts_table };

static const char *value_of(const ida_name_parts *parts, int part)
{
    const char *value = *(const char *const *)((const char *)parts + parts_table[part].at);
    return value ? value : "";
}

static int part_named(const char *name, size_t len)
{
    for (int i = 0; i < PARTS; i++) {
        if (strlen(parts_table[i].name) == len && memcmp(parts_table[i].name, name, len) == 0) {
            return i;
        }
    }
    return -1;
}

/* Reads the piece at *format and moves past it. 1 = a piece, 0 = the end, -1 = a fault at
 * *format. */
static int next_piece(const char **format, piece *out)
{
    const char *p = *format;
    memset(out, 0, sizeof *out);
    if (!*p) {
        return 0;
    }
    if (*p != '{') {
        out->literal = p;
        out->literal_len = strcspn(p, "{}");
        *format = p + out->literal_len;
        return out->literal_len ? 1 : -1; /* a lone closing brace */
    }
    size_t name_len = strcspn(p + 1, ":{}");
    const char *after = p + 1 + name_len;
    out->part = part_named(p + 1, name_len);
    if (out->part < 0) {
        return -1;
    }
    if (*after == ':') {
        size_t digits = strspn(after + 1, "0123456789");
        out->letters = digits && digits <= 2 ? atoi(after + 1) : 0;
        if (out->letters < 1 || out->letters > LOCAL_MAX) {
            return -1;
        }
        after += 1 + digits;
    }
    if (*after != '}') {
        return -1;
    }
    *format = after + 1;
    return 1;
}

static int is_local_char(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '.' || ch == '_' ||
           ch == '-';
}

static int is_letter_or_digit(char ch)
{
    return is_local_char(ch) && ch != '.' && ch != '_' && ch != '-';
}

const char *ida_naming_format_fault(apr_pool_t *pool, const char *format, int address)
{
    size_t len = strlen(format);
    if (len > FORMAT_MAX || !ida_utf8_valid(format, len)) {
        return ida_printf(pool, "must be at most %d bytes of UTF-8", FORMAT_MAX);
    }
    piece p;
    int named = 0, got;
    const char *at = format;
    while ((got = next_piece(&at, &p)) > 0) {
        named += !p.literal && p.part != 1;
        for (size_t i = 0; p.literal && i < p.literal_len; i++) {
            char ch = p.literal[i];
            if (address && !is_local_char(ch)) {
                return ida_printf(pool, "may hold placeholders and a-z 0-9 . _ - only");
            }
            if ((unsigned char)ch < 0x20 || ch == 0x7F) {
                return ida_printf(pool, "must not hold control characters");
            }
        }
    }
    if (got < 0) {
        return ida_printf(
            pool,
            "has an unknown placeholder at \"%s\"; known are {firstname} {middleName} {surname}, "
            "each also with :n for its first n letters (1 to %d)",
            ida_clean(pool, at, strlen(at), 40), LOCAL_MAX);
    }
    if (!named) {
        /* The middle name may be absent: alone it would leave nothing. */
        return ida_printf(pool, "must hold {firstname} or {surname}");
    }
    return NULL;
}

static int has_letter_or_digit(const char *text)
{
    for (; *text; text++) {
        if (is_letter_or_digit(*text)) {
            return 1;
        }
    }
    return 0;
}

/* A name as part of an address: what is left of its transliteration, nothing of a name that is only
 * signs ("-" for no middle name). `letters` > 0 keeps that many letters and digits only. */
static const char *address_part(apr_pool_t *pool, const char *name, int letters)
{
    char *text = ida_transliterate(pool, ida_clean(pool, name, strnlen(name, NAME_READ_MAX), 0));
    char *to = text;
    int kept = 0;
    for (const char *from = text; *from && !(letters && kept == letters); from++) {
        if (letters ? is_letter_or_digit(*from) : is_local_char(*from)) {
            *to++ = *from;
            kept++;
        }
    }
    *to = '\0';
    return has_letter_or_digit(text) ? text : "";
}

/* Removes separators at both ends and merges runs of dots, in place. An omitted name
 * ("{firstname}.{middleName}.{surname}") or a cut must not leave "anna..berg" or "anna.". */
static char *tidy(char *local)
{
    char *to = local;
    for (const char *from = local; *from; from++) {
        if ((to == local && !is_letter_or_digit(*from)) || (*from == '.' && to[-1] == '.')) {
            continue;
        }
        *to++ = *from;
    }
    while (to > local && !is_letter_or_digit(to[-1])) {
        to--;
    }
    *to = '\0';
    return local;
}

/* Cut copy that is again tidy. */
static char *cut(apr_pool_t *pool, const char *local, size_t max)
{
    return tidy(apr_pstrmemdup(pool, local, strnlen(local, max)));
}

ida_kind ida_naming_local(ida_ctx *c, const char *format, const ida_name_parts *parts, char **local)
{
    const char *at = format, *used = NULL;
    char *joined = apr_pstrdup(c->pool, "");
    int got, lettered = 0, mentioned[PARTS] = {0};
    piece p;
    *local = NULL;
    while ((got = next_piece(&at, &p)) > 0) {
        const char *text = p.literal ? apr_pstrmemdup(c->pool, p.literal, p.literal_len)
                                     : address_part(c->pool, value_of(parts, p.part), p.letters);
        joined = apr_pstrcat(c->pool, joined, text, NULL);
        if (!p.literal) {
            lettered = lettered || has_letter_or_digit(text);
            if (!mentioned[p.part] && *value_of(parts, p.part)) {
                used = used ? apr_pstrcat(c->pool, used, ", ", parts_table[p.part].name, NULL)
                            : parts_table[p.part].name;
            }
            mentioned[p.part] = 1;
        }
    }
    if (got < 0) {
        return ida_fail(c, IDA_INTERNAL_ERROR, "The tenant's name format \"%s\" is damaged.",
                        ida_clean(c->pool, format, strlen(format), 80));
    }
    if (!lettered) {
        return ida_fail(
            c, IDA_BAD_REQUEST,
            "%s: must hold at least one letter or digit from which a user name can be made",
            used ? used : "firstname, surname");
    }
    *local = cut(c->pool, joined, LOCAL_MAX);
    return IDA_OK;
}

char *ida_naming_candidate(apr_pool_t *pool, const char *local, const char *domain, int n)
{
    const char *number = n > 1 ? ida_printf(pool, "%d", n) : "";
    size_t beside = strlen(number) + 1 + strlen(domain);
    size_t room = LOCAL_MAX - strlen(number);
    if (room + beside > ADDRESS_MAX) {
        room = beside < ADDRESS_MAX ? ADDRESS_MAX - beside : 1;
    }
    return apr_pstrcat(pool, cut(pool, local, room), number, "@", domain, NULL);
}

/* First `letters` letters or digits of a name with the marks that belong to them, as written. */
static const char *display_part(apr_pool_t *pool, const char *name, int letters)
{
    if (!letters) {
        return name;
    }
    size_t len = strlen(name), to = 0;
    char *out = apr_palloc(pool, len + 1);
    int kept = 0;
    for (size_t i = 0; i < len;) {
        size_t start = i;
        UChar32 ch;
        U8_NEXT(name, i, len, ch);
        int mark = ch >= 0 && (U_GET_GC_MASK(ch) & U_GC_M_MASK);
        int letter = ch >= 0 && u_isalnum(ch);
        if (letter && kept == letters) {
            break;
        }
        kept += letter;
        if (letter || (mark && kept)) {
            memcpy(out + to, name + start, i - start);
            to += i - start;
        }
    }
    out[to] = '\0';
    return out;
}

char *ida_naming_display(apr_pool_t *pool, const char *format, const ida_name_parts *parts)
{
    const char *at = format;
    char *joined = apr_pstrdup(pool, "");
    piece p;
    while (next_piece(&at, &p) > 0) {
        joined = apr_pstrcat(pool, joined,
                             p.literal ? apr_pstrmemdup(pool, p.literal, p.literal_len)
                                       : display_part(pool, value_of(parts, p.part), p.letters),
                             NULL);
    }
    joined = ida_clean(pool, joined, strlen(joined), 0);
    size_t len = strlen(joined), to = 0, units = 0;
    int blank = 0;
    for (size_t i = 0; i < len;) {
        size_t start = i;
        UChar32 ch;
        U8_NEXT_UNSAFE(joined, i, ch); /* ida_clean gives valid UTF-8 */
        if (u_isUWhiteSpace(ch)) {
            blank = to > 0;
            continue;
        }
        size_t wide = (size_t)U16_LENGTH(ch) + (blank ? 1 : 0);
        if (units + wide > DISPLAY_MAX) {
            break;
        }
        units += wide;
        if (blank) {
            joined[to++] = ' ';
            blank = 0;
        }
        memmove(joined + to, joined + start, i - start);
        to += i - start;
    }
    joined[to] = '\0';
    return joined;
}
