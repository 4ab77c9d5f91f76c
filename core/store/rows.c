/* Owns the way from a statement's rows to an array. Knows no table. */
#include "core/store/rows.h"

#include <string.h>

ida_kind store_rows(store *s, ida_ctx *c, db_statement statement, db_args args, store_row fill,
                    size_t size, void *rows, int *count)
{
    db_result r;
    ida_kind kind = store_read(s, c, statement, args, &r);
    *count = kind ? 0 : r.rows;
    char *all = apr_palloc(c->pool, size * (apr_size_t)(*count + 1));
    for (int row = 0; row < *count; row++) {
        fill(&r, row, all + size * (size_t)row);
    }
    memcpy(rows, &all, sizeof all);
    return kind;
}

ida_kind store_number(store *s, ida_ctx *c, db_statement statement, db_args args, int64_t *number)
{
    db_result r;
    ida_kind kind = store_read(s, c, statement, args, &r);
    *number = kind ? 0 : DB_ROW(number, &r, 0)->number.number;
    return kind;
}

ida_kind store_id(store *s, ida_ctx *c, db_statement statement, db_args args, const char **id)
{
    db_result r;
    ida_kind kind = store_read(s, c, statement, args, &r);
    *id = kind ? NULL : DB_ROW(id, &r, 0)->id.text;
    return kind;
}
