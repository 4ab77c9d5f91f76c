/* Owns index_terms(), which turns the terms of a person (the view person_terms) into those that
 * SQLite's index of terms holds. Its results are part of the cache's schema: a term that it no
 * longer returned could not be removed from the index. */
#include <string.h>

#include "core/base/search_key.h"
#include "core/db/sqlite.h"

#define DISABLED " _sd" /* term of a disabled person */
#define DAY_DIGITS 3

static int in_term(char ch)
{
    return (unsigned char)ch >= 0x80 || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') ||
           (ch >= 'A' && ch <= 'Z') || ch == '_';
}

/* _b, _i and _a have days behind them. */
static int is_day(const char *term, size_t len)
{
    return len == 2 + DAY_DIGITS && term[0] == '_' && strchr("bia", term[1]);
}

/* Appends the term and its beginnings that are asked for, each after `before`. */
static void append(sqlite3_str *all, const char *before, const char *term, size_t len)
{
    int word = *term != '_', terms = word ? IDA_SEARCH_LETTERS : is_day(term, len) ? DAY_DIGITS : 1;
    for (int i = 0; i < terms; i++) {
        size_t some = word ? ida_search_beginning(term, len, i + 1) : len - (size_t)(terms - 1 - i);
        sqlite3_str_appendall(all, before);
        sqlite3_str_append(all, term, (int)some);
        if (some == len) {
            break;
        }
    }
}

static void index_terms(sqlite3_context *call, int count, sqlite3_value **values)
{
    const char *text = (const char *)sqlite3_value_text(values[0]);
    sqlite3_str *all = sqlite3_str_new(NULL);
    (void)count;
    int disabled = text && strstr(text, DISABLED);
    for (const char *p = text ? text : ""; *p;) {
        size_t len = 0;
        while (in_term(p[len])) {
            len++;
        }
        if (len) {
            append(all, " ", p, len);
        }
        if (len && disabled) {
            append(all, " ~", p, len);
        }
        p += len ? len : 1;
    }
    int failed = sqlite3_str_errcode(all), bytes = sqlite3_str_length(all);
    char *terms = sqlite3_str_finish(all);
    if (failed) {
        sqlite3_free(terms);
        sqlite3_result_error_code(call, failed);
    } else {
        sqlite3_result_text(call, terms ? terms : sqlite3_mprintf(""), bytes, sqlite3_free);
    }
}

int sqlite_make_terms(sqlite3 *handle)
{
    return sqlite3_create_function_v2(handle, "index_terms", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                      NULL, index_terms, NULL, NULL, NULL);
}
