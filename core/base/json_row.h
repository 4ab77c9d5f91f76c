/* Items of long lists, written as text at once: a value of Jansson for each member costs several
 * times as much as its text. A written row is a constant that Jansson's arrays hold and count like
 * any value, but only the writer can read it: ida_rows_load makes values of it. */
#ifndef CORE_BASE_JSON_ROW_H
#define CORE_BASE_JSON_ROW_H

#include <apr_pools.h>
#include <jansson.h>
#include <stdint.h>

/* Bytes written so far. They begin in a buffer of the caller's and move into the pool when they
 * grow out of that. */
typedef struct ida_json_bytes {
    char *text;
    size_t len, room;
} ida_json_bytes;

typedef struct ida_json_writing {
    apr_pool_t *pool;
    ida_json_bytes plain;  /* the text */
    ida_json_bytes quoted; /* the text as the content of a JSON string; room 0: not wanted */
    int sorted;
} ida_json_writing;

typedef struct ida_json_row {
    ida_json_writing writing;
    size_t max; /* bytes of one text; 0: any */
    char plain[1024], quoted[1536];
} ida_json_row;

/* A member's name, a literal. */
typedef struct ida_row_name {
    const char *plain, *quoted;
    size_t len; /* of the name alone */
} ida_row_name;
#define IDA_ROW_NAME(name) ((ida_row_name){"\"" name "\":", "\\\"" name "\\\":", sizeof(name) - 1})

/* Texts are cleaned (ida_clean) and cut at `max` bytes (0: not cut). */
void ida_row_begin(ida_json_row *row, apr_pool_t *pool, size_t max);
/* The object, in the pool. */
json_t *ida_row_end(ida_json_row *row);
/* Without the member if text is NULL. */
void ida_row_text(ida_json_row *row, ida_row_name name, const char *text);
void ida_row_text_or_null(ida_json_row *row, ida_row_name name, const char *text);
/* RFC 3339 UTC text, or null for at_ms <= 0. */
void ida_row_time(ida_json_row *row, ida_row_name name, int64_t at_ms);
void ida_row_integer(ida_json_row *row, ida_row_name name, int64_t number);
/* A list of texts; without the member if it is NULL. */
void ida_row_texts(ida_json_row *row, ida_row_name name, const json_t *list);
/* An object: the members that follow are its own, until it is closed. */
void ida_row_open(ida_json_row *row, ida_row_name name);
void ida_row_close(ida_json_row *row);

/* Makes values of the rows of an array that were written. */
void ida_rows_load(json_t *array);

#endif
