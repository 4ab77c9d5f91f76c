/* JSON at the boundaries: parsing hostile bytes under the service's rules and dumping into
 * pools. Ownership: every json_t that these functions return belongs to the pool (a cleanup
 * drops it); callers borrow it. */
#ifndef CORE_BASE_JSON_H
#define CORE_BASE_JSON_H

#include <jansson.h>

#include "core/base/context.h"

/* One object, UTF-8, no duplicate members, at most 32 levels, at most 100,000 values, no
 * trailing bytes. Failure: IDA_BAD_REQUEST with what and where. Numbers outside int64/double are
 * refused. */
ida_kind ida_json_object(ida_ctx *c, const char *bytes, size_t len, json_t **object);

/* For JSON of our own making (store columns): NULL on failure, belongs to the pool. */
json_t *ida_json_load(apr_pool_t *pool, const char *text);

/* 1 if a Content-Type header is application/json, with or without parameters. */
int ida_json_type(const char *content_type);

/* Gives the pool the caller's reference; returns `value`. Safe with NULL. */
json_t *ida_json_keep(apr_pool_t *pool, json_t *value);

/* Compact text in pool, NULL for NULL; `sorted` members for anything that is hashed or compared. */
char *ida_json_text(apr_pool_t *pool, const json_t *value);
char *ida_json_sorted(apr_pool_t *pool, const json_t *value);
/* The compact text, and the same as the content of a JSON string, without its quotes: made in one
 * walk, because most of a large text is escaped without looking at it again. */
typedef struct ida_json_both {
    const char *text, *quoted;
    size_t len, quoted_len;
} ida_json_both;
void ida_json_both_texts(apr_pool_t *pool, const json_t *value, ida_json_both *out);
/* Bytes of the compact text. */
size_t ida_json_length(const json_t *value);
/* Content of a JSON string between its quotes: the number of bytes needed, and writing it, which
 * returns the end (no terminator). The text must be valid UTF-8. */
size_t ida_json_escaped_length(const char *text, size_t len);
char *ida_json_escape(char *to, const char *text, size_t len);
/* What one look at a text shows: its bytes, those it takes between quotes, and 1 if it is visible
 * ASCII alone. */
typedef struct ida_json_measure {
    size_t len, escaped;
    int plain;
} ida_json_measure;
ida_json_measure ida_json_measured(const char *text);

/* String member or NULL if absent or not a string. Borrowed. */
const char *ida_json_string(const json_t *object, const char *member);

/* Sets member to a string, or omits it if text is NULL. Invalid UTF-8 is cleaned first. */
void ida_json_put(json_t *object, const char *member, const char *text);
/* Sets member to a string or to null. */
void ida_json_put_or_null(json_t *object, const char *member, const char *text);
/* New object of texts: pairs of a member's name and its text (NULL: null), ended by NULL.
 * json_pack would return NULL for a text that is not UTF-8, and the item would be lost. */
json_t *ida_json_texts(const char *member, ...) __attribute__((sentinel));
/* Sets member to RFC 3339 UTC text, or null for at_ms <= 0. */
void ida_json_put_time(json_t *object, const char *member, int64_t at_ms);

#endif
