/* Owns where a handle has the task key from. Must not know what is signed with it. */
#include "core/store/task_key.h"

#include <string.h>
#include <sys/stat.h>

#include "core/model/task_mac.h"

#define SETTING "task_key"

/* Of the file as it was read: a replaced one is another inode, one written in place another time.
 */
static int is_read(const store *s, const struct stat *st)
{
    return s->task_file.st_ino == st->st_ino && s->task_file.st_size == st->st_size &&
           s->task_file.st_mtim.tv_sec == st->st_mtim.tv_sec &&
           s->task_file.st_mtim.tv_nsec == st->st_mtim.tv_nsec;
}

ida_kind store_task_keys(store *s, ida_ctx *c, const ida_key_ring **ring)
{
    struct stat st = {0};
    ida_kind kind = IDA_OK;
    *ring = s->task_keys ? s->task_keys : &s->task_ring;
    if (s->task_keys && s->task_keys->count) {
        return IDA_OK;
    }
    if (!s->task_key) {
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE,
                        "This program has no task key, without which it can queue or change no "
                        "task: run idadminctl schema upgrade, then restart it.");
    }
    if (stat(s->task_key, &st) != 0 || !s->task_ring.count || !is_read(s, &st)) {
        kind = ida_ring_read(c, IDA_TASK_KEY_NAME, s->task_key, &s->task_ring);
        s->task_file = st;
    }
    if (kind) {
        ida_ring_wipe(&s->task_ring);
        return ida_fail(c, IDA_SERVICE_UNAVAILABLE, "%s", c->message);
    }
    return IDA_OK;
}

ida_kind store_task_key_id(store *s, ida_ctx *c, const char **id)
{
    ida_kind kind = store_setting_get(s, c, SETTING, id);
    if (kind == IDA_NOT_FOUND) {
        ida_ctx_clear(c);
        *id = NULL;
        return IDA_OK;
    }
    return kind;
}

ida_kind store_task_key_id_set(store *s, ida_ctx *c, const char *id)
{
    return store_write(s, c, STMT_setting_set, DB_ARGS(DB_T(SETTING), DB_T(id)), NULL);
}
