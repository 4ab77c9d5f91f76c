/* Rows of a statement as an array of structs. */
#ifndef CORE_STORE_ROWS_H
#define CORE_STORE_ROWS_H

#include "core/store/store.h"

/* Fills in one struct; texts stay those of the result. */
typedef void (*store_row)(const db_result *r, int row, void *out);

/* Defines such a function, for structs of `type` and rows of the kind `kind`: its members from
 * row->COLUMN, by position or name. */
#define STORE_FILL(name, type, kind, ...)                  \
    static void name(const db_result *r, int i, void *out) \
    {                                                      \
        const row_##kind *row = DB_ROW(kind, r, i);        \
        *(type *)out = (type){__VA_ARGS__};                \
    }

/* Reads; *(void **)rows becomes an array of `size` bytes each in the context's pool, `count` 0 when
 * the statement failed. */
ida_kind store_rows(store *s, ida_ctx *c, db_statement statement, db_args args, store_row fill,
                    size_t size, void *rows, int *count);
/* The number that a statement answers with one row. */
ida_kind store_number(store *s, ida_ctx *c, db_statement statement, db_args args, int64_t *number);
/* The ID that a statement answers with in its first row; NULL: there is none. */
ida_kind store_id(store *s, ida_ctx *c, db_statement statement, db_args args, const char **id);

#endif
