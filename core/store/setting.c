/* Owns the settings of the store itself. */
#include <string.h>

#include "core/base/text.h"
#include "core/store/rows.h"
#include "core/store/store.h"

ida_kind store_setting_get(store *s, ida_ctx *c, const char *name, const char **value)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_setting_get, DB_ARGS(DB_T(name)), &r);
    if (kind) {
        return kind;
    }
    *value = DB_ROW(setting, &r, 0)->value.text;
    return r.rows ? IDA_OK : ida_fail(c, IDA_NOT_FOUND, "The store has no setting %s.", name);
}

ida_kind store_setting_set(store *s, ida_ctx *c, const char *name, const char *value)
{
    return store_write(s, c, STMT_setting_set, DB_ARGS(DB_T(name), DB_T(value)), NULL);
}

ida_kind store_cursor_key(store *s, ida_ctx *c, unsigned char key[32])
{
    if (!s->has_cursor_key) {
        const char *hex;
        size_t len = 0;
        ida_kind kind = store_setting_get(s, c, "cursor_key", &hex);
        if (kind && kind != IDA_NOT_FOUND) {
            return kind;
        }
        const unsigned char *bytes = kind ? NULL : ida_unhex(c->pool, hex, &len);
        if (!bytes || len != sizeof s->cursor_key) {
            ida_log(c->env, IDA_LOG_ERROR, "IDA0111",
                    "store: the setting cursor_key is missing or damaged: run idadminctl schema "
                    "upgrade");
            return ida_fail(c, IDA_INTERNAL_ERROR,
                            "The store has no cursor key: run idadminctl schema upgrade.");
        }
        memcpy(s->cursor_key, bytes, len);
        s->has_cursor_key = 1;
    }
    memcpy(key, s->cursor_key, sizeof s->cursor_key);
    return IDA_OK;
}

ida_kind store_size(store *s, ida_ctx *c, int64_t *bytes)
{
    return store_number(s, c, STMT_store_size, DB_NONE, bytes);
}
