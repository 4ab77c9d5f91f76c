/* Owns the language of the index of terms: a filter as a question to it. Must not know statements.
 * Nothing that anybody types is syntax: words hold letters and digits alone, values are written in
 * hexadecimal digits. */
#include "core/cache/terms.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"

#define DAY_MS INT64_C(86400000)
#define DAYS_END 32768 /* of three digits to the base of 32 */

static const char *also(apr_pool_t *pool, const char *match, const char *more)
{
    return !more ? match : match ? apr_pstrcat(pool, match, " AND ", more, NULL) : more;
}

/* --- words --- */

static int in_word(char ch)
{
    return (unsigned char)ch >= 0x80 || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z');
}

/* "|o'|neil": a word o, and one that begins with neil. Signs between are not in the index. */
static const char *word(apr_pool_t *pool, const char *marked, int *whole)
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
        match = also(pool, match, apr_psprintf(pool, "\"%.*s\"%s", (int)len, p, p[len] ? "" : "*"));
        p += len;
    }
    return match;
}

/* --- values --- */

static const char *value(apr_pool_t *pool, char kind, const char *text)
{
    return text ? apr_psprintf(pool, "\"_%c%s\"", kind,
                               ida_hex(pool, (const unsigned char *)text, strlen(text)))
                : NULL;
}

static const char *manager(apr_pool_t *pool, const char *const ids[2])
{
    const char *one = value(pool, 'm', ids[0]), *other = value(pool, 'm', ids[1]);
    return other ? apr_psprintf(pool, "(%s OR %s)", one, other) : one;
}

static char *in_small(apr_pool_t *pool, const char *text)
{
    char *small = text ? apr_pstrdup(pool, text) : NULL;
    for (char *p = small; p && *p; p++) {
        *p |= *p >= 'A' && *p <= 'Z' ? 0x20 : 0;
    }
    return small;
}

/* --- spans of days --- */

/* "_i0a"*: all days that begin with these digits. */
static const char *days(apr_pool_t *pool, char kind, int day, int digits)
{
    static const char digit[] = "0123456789abcdefghijklmnopqrstuv";
    char text[4] = {digit[day / 1024], digit[day / 32 % 32], digit[day % 32]};
    text[digits] = '\0';
    return apr_psprintf(pool, "\"_%c%s\"%s", kind, text, digits < 3 ? "*" : "");
}

/* The days from..to-1, in as few terms as they take; NULL: none. */
static const char *span(apr_pool_t *pool, char kind, int from, int to)
{
    const char *any = NULL;
    int terms = 0;
    for (int day = from, step; day < to; day += step, terms++) {
        int digits = day % 1024 == 0 && day + 1024 <= to ? 1
                     : day % 32 == 0 && day + 32 <= to   ? 2
                                                         : 3;
        const char *more = days(pool, kind, day, digits);
        step = digits == 1 ? 1024 : digits == 2 ? 32 : 1;
        any = any ? apr_pstrcat(pool, any, " OR ", more, NULL) : more;
    }
    return terms > 1 ? apr_pstrcat(pool, "(", any, ")", NULL) : any;
}

typedef struct dates {
    char kind;
    int64_t from, before; /* milliseconds; 0 and INT64_MAX: open */
} dates;

/* Days that the dates touch, and those that they hold from end to end. */
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

static const char *plain_terms(apr_pool_t *pool, const cache_people_filter *f, int *whole)
{
    const char *match = NULL;
    for (int i = 0; i < CACHE_WORDS_MAX && f->words[i]; i++) {
        match = also(pool, match, word(pool, f->words[i], whole));
    }
    match = also(pool, match, f->managers[0] ? manager(pool, f->managers) : NULL);
    match = also(pool, match, value(pool, 'e', f->employee_id));
    match = also(pool, match, value(pool, 't', f->job_title));
    match = also(pool, match, value(pool, 'd', f->department));
    match = also(pool, match, value(pool, 'c', f->company));
    match = also(pool, match, value(pool, 'l', in_small(pool, f->license)));
    match = also(pool, match, f->guest == 1 ? "\"_sg\"" : NULL);
    match = also(pool, match, f->enabled == 0 ? "\"_sd\"" : NULL);
    return also(pool, match, f->enabled == 1 && f->guest == 0 ? "\"_sa\"" : NULL);
}

cache_terms cache_terms_of(apr_pool_t *pool, const cache_people_filter *f)
{
    const dates all[] = {{'b', f->created_from < 0 ? 0 : f->created_from, f->created_before},
                         {'a', 0, f->active_before ? f->active_before : INT64_MAX},
                         {'i', f->signed_in_from, f->signed_in_before}};
    cache_terms t = {.whole = f->group == NULL};
    int torn = 0;
    t.match = plain_terms(pool, f, &t.whole);
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
            to = from + 1; /* nobody, whom the days alone do not tell */
            inner_to = inner_from;
        }
        const char *outer = span(pool, d->kind, from, to), *edges = outer, *inside = outer;
        if (inner_from != from || inner_to != to) {
            torn++;
            t.whole = 0;
            inside = span(pool, d->kind, inner_from, inner_to);
            edges = apr_pstrcat(pool, "(", inner_from != from ? days(pool, d->kind, from, 3) : "",
                                inner_from != from && inner_to != to ? " OR " : "",
                                inner_to != to ? days(pool, d->kind, to - 1, 3) : "", ")", NULL);
            torn += !inside;
        }
        t.match = also(pool, t.match, outer);
        t.inside = also(pool, t.inside, inside);
        t.edges = also(pool, t.edges, edges);
    }
    if (!words || torn != 1) {
        t.inside = t.edges = NULL;
    }
    return t;
}
