/* Answers as text for a terminal: tables, and lines with a title and a value. */
#ifndef CORE_FACE_TEXT_H
#define CORE_FACE_TEXT_H

#include "core/operation/operation.h"

typedef struct ida_column {
    const char *title, *member; /* member of each object; a row without a title ends the list */
} ida_column;

/* A table of an array of objects, one line each. `width`: columns of the terminal: the last
 * column is wrapped, and columns from the end on are left out until the table fits; 0: not a
 * terminal, everything is shown. */
const char *ida_text_table(apr_pool_t *pool, const json_t *rows, const ida_column *columns,
                           int width);

/* One line for each member that exists. */
const char *ida_text_fields(apr_pool_t *pool, const json_t *object, const ida_column *columns);

/* The title of a member: "Scheduled at UTC" for "scheduledAtUtc". */
const char *ida_text_title(apr_pool_t *pool, const char *member);

#endif
