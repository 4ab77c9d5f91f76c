/* Owns the language of the index of terms: translates a filter into a query of the index. Must
 * not know statements. Input never becomes syntax: words contain only letters and digits, values
 * and their digests only hexadecimal digits. */
#include "core/cache/terms.h"

#include <apr_strings.h>
#include <limits.h>
#include <string.h>

#include "core/base/search_key.h"
#include "core/base/text.h"

#define DAY_MS INT64_C(86400000)
#define DAYS_END 32768 /* of three digits to the base of 32 */

/* How an engine writes a query. "/" stands for the number of a segment in PostgreSQL's
 * statement: words and values never contain it. */
typedef struct language {
    apr_pool_t *pool;
    const char *open, *close, *begins, *both, *either;
    int digits;   /* of a value's digest; 0: the value itself */
    int letters;  /* of a word that are asked for; 0: all */
    int disabled; /* only disabled people are wanted: terms that they alone have are asked for */
} language;

/* SQLite's FTS5, whose index has beginnings as terms of their own; PostgreSQL's tsquery. */
static const language languages[] = {{NULL, "\"", "\"", "\"", " AND ", " OR ", 0,
                                      IDA_SEARCH_LETTERS, 0},
                                     {NULL, "'/", "'", "':*", " & ", " | ", 20, 0, 0}};

static const char *term(const language *l, const char *text, int begins)
{
    return apr_pstrcat(l->pool, l->open, l->disabled ? "~" : "", text,
                       begins ? l->begins : l->close, NULL);
}

static const char *joined(const language *l, const char *match, const char *how, const char *more)
{
    return !more ? match : match ? apr_pstrcat(l->pool, match, how, more, NULL) : more;
}

static const char *also(const language *l, const char *match, const char *more)
{
    return joined(l, match, l->both, more);
}

static const char *any_of(const language *l, const char *match)
{
    return apr_pstrcat(l->pool, "(", match, ")", NULL);
}

/* --- words --- */

static int in_word(char ch)
{
    return (unsigned char)ch >= 0x80 || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z');
}

/* "|o'|neil": a word that begins with o, and one that begins with neil. The index is not asked
 * for the other characters, nor for letters beyond the beginnings that it holds. */
static const char *word(const language *l, const char *marked, int *whole)
{
    const char *match = NULL;
    for (const char *p = marked; *p;) {
        size_t len = 0;
        while (in_word(p[len])) {
            len++;
        }
        if (!len) {
            *whole = *whole && *p == '|' && p == marked;
            p++;
            continue;
        }
        size_t asked = l->letters ? ida_search_beginning(p, len, l->letters) : len;
        match = also(l, match, term(l, apr_pstrmemdup(l->pool, p, asked), 1));
        *whole = *whole && asked == len;
        p += len;
    }
    return match;
}

/* --- values --- */

static const char *value(const language *l, char kind, const char *text)
{
    if (!text) {
        return NULL;
    }
    size_t len = strlen(text);
    const char *hex = l->digits ? ida_sha256_hex(l->pool, text, len)
                                : ida_hex(l->pool, (const unsigned char *)text, len);
    return term(l, apr_psprintf(l->pool, "_%c%.*s", kind, l->digits ? l->digits : INT_MAX, hex), 0);
}

static const char *manager(const language *l, const char *const ids[2])
{
    const char *one = value(l, 'm', ids[0]), *other = value(l, 'm', ids[1]);
    return other ? any_of(l, joined(l, one, l->either, other)) : one;
}

/* --- spans of days --- */

/* "_i0a"*: all days that begin with these digits. */
static const char *days(const language *l, char kind, int day, int digits)
{
    static const char digit[] = "0123456789abcdefghijklmnopqrstuv";
    char text[4] = {digit[day / 1024], digit[day / 32 % 32], digit[day % 32]};
    text[digits] = '\0';
    return term(l, apr_psprintf(l->pool, "_%c%s", kind, text), digits < 3);
}

/* The days from..to-1, in as few terms as they take; NULL: none. */
static const char *span(const language *l, char kind, int from, int to)
{
    const char *any = NULL;
    int terms = 0;
    for (int day = from, step; day < to; day += step, terms++) {
        int digits = day % 1024 == 0 && day + 1024 <= to ? 1
                     : day % 32 == 0 && day + 32 <= to   ? 2
                                                         : 3;
        step = digits == 1 ? 1024 : digits == 2 ? 32 : 1;
        any = joined(l, any, l->either, days(l, kind, day, digits));
    }
    return terms > 1 ? any_of(l, any) : any;
}

typedef struct dates {
    char kind;
    int64_t from, before; /* milliseconds; 0 and INT64_MAX: open */
} dates;

/* Days that the dates touch, and days that they contain completely. */
static void bounds(const dates *d, int *from, int *to, int *inner_from, int *inner_to)
{
    int open = d->before == INT64_MAX || d->before > (DAYS_END - 1) * DAY_MS;
    int64_t first = d->from / DAY_MS, last = open ? DAYS_END : (d->before + DAY_MS - 1) / DAY_MS;
    first = first < DAYS_END ? first : DAYS_END - 1;
    *from = (int)first;
    *to = (int)last;
    *inner_from = (int)first + (d->from % DAY_MS != 0);
    *inner_to = open ? DAYS_END : (int)(d->before / DAY_MS);
}

/* --- all of a filter --- */

static const char *plain_terms(const language *l, const cache_people_filter *f, int *whole)
{
    const char *match = NULL;
    for (int i = 0; i < CACHE_WORDS_MAX && f->words[i]; i++) {
        match = also(l, match, word(l, f->words[i], whole));
    }
    match = also(l, match, f->managers[0] ? manager(l, f->managers) : NULL);
    match = also(l, match, value(l, 'e', f->employee_id));
    match = also(l, match, value(l, 't', f->job_title));
    match = also(l, match, value(l, 'd', f->department));
    match = also(l, match, value(l, 'c', f->company));
    match = also(l, match, value(l, 'l', ida_ascii_small(l->pool, f->license)));
    match = also(l, match, f->guest == 1 ? term(l, "_sg", 0) : NULL);
    return also(l, match, f->enabled == 1 && f->guest == 0 ? term(l, "_sa", 0) : NULL);
}

cache_terms cache_terms_of(apr_pool_t *pool, int postgresql, const cache_people_filter *f)
{
    language own = languages[postgresql];
    const language *l = &own;
    const dates all[] = {{'b', f->created_from < 0 ? 0 : f->created_from, f->created_before},
                         {'a', 0, f->active_before ? f->active_before : INT64_MAX},
                         {'i', f->signed_in_from, f->signed_in_before}};
    own.pool = pool;
    own.disabled = f->enabled == 0;
    cache_terms t = {.whole = f->group == NULL};
    int torn = 0;
    t.match = plain_terms(l, f, &t.whole);
    t.inside = t.edges = t.match;
    int words = t.whole;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int from, to, inner_from, inner_to;
        const dates *d = &all[i];
        if (!d->from && d->before == INT64_MAX) {
            continue;
        }
        bounds(d, &from, &to, &inner_from, &inner_to);
        if (from >= to) {
            to = from + 1; /* no day is contained completely, so the days alone decide nothing */
            inner_to = inner_from;
        }
        const char *outer = span(l, d->kind, from, to), *edges = outer, *inside = outer;
        if (inner_from != from || inner_to != to) {
            torn++;
            t.whole = 0;
            inside = span(l, d->kind, inner_from, inner_to);
            edges = inner_from != from ? days(l, d->kind, from, 3) : NULL;
            edges = inner_to != to ? joined(l, edges, l->either, days(l, d->kind, to - 1, 3))
                                   : edges;
            edges = any_of(l, edges);
            torn += !inside;
        }
        t.match = also(l, t.match, outer);
        t.inside = also(l, t.inside, inside);
        t.edges = also(l, t.edges, edges);
    }
    if (!t.match && own.disabled) {
        t.match = term(l, "_sd", 0);
    }
    if (!words || torn != 1) {
        t.inside = t.edges = NULL;
    }
    return t;
}
