/* Owns when a task key is made, when tasks are signed with it all at once, and when an older one
 * stops to count. Must not know what a signature covers. */
#include "worker/ctl/task_key.h"

#include <unistd.h>

#include "core/model/task_mac.h"
#include "core/queue/trust.h"
#include "core/store/task_key.h"

typedef struct key_work {
    ctl_call *ctl;
    store *s;
    const char *path;
    ida_key_ring ring;
    int64_t count; /* tasks that were signed */
} key_work;

/* What the store's programs must have from now on, and its open tasks under it. */
static ida_kind sign(key_work *w, int unsigned_too)
{
    ida_ctx *c = w->ctl->c;
    ida_kind kind = store_task_key_id_set(w->s, c, ida_ring_newest(&w->ring)->id);
    return kind ? kind : queue_trust_sign_all(w->s, c, unsigned_too, &w->count);
}

static ida_kind set_new(key_work *w, int is_new)
{
    return ida_ring_set_new(w->ctl->c, IDA_TASK_KEY_NAME, w->path, &w->ring, is_new);
}

static ida_kind read_ring(key_work *w)
{
    return ida_ring_read(w->ctl->c, IDA_TASK_KEY_NAME, w->path, &w->ring);
}

static key_work begin(ctl_call *ctl)
{
    return (key_work){.ctl = ctl, .s = ctl_store(ctl, DB_REQUEST), .path = ctl->config.task_key};
}

ida_kind ctl_task_key_is_first(ctl_call *ctl, int *first)
{
    const char *id;
    ida_kind kind = store_task_key_id(ctl_store(ctl, DB_REQUEST), ctl->c, &id);
    *first = !kind && !id && access(ctl->config.task_key, F_OK) != 0;
    return kind;
}

/* A file of one key that is still new was made just now, or by a run of this that was interrupted.
 */
ida_kind ctl_task_key_make(ctl_call *ctl, uid_t owner, gid_t group)
{
    const char *id;
    key_work w = begin(ctl);
    ida_kind kind = store_task_key_id(w.s, ctl->c, &id);
    if (!kind && id && access(w.path, F_OK) != 0) {
        return ida_fail(ctl->c, IDA_CONFLICT,
                        "The tasks of this store are signed under the task key %s, and %s is not "
                        "there: copy it from the node where it was made or rotated last; where it "
                        "is lost run idadminctl task rotate-key --lost",
                        id, w.path);
    }
    kind = kind ? kind : ida_ring_make(ctl->c, IDA_TASK_KEY_NAME, w.path, owner, group);
    kind = kind ? kind : read_ring(&w);
    if (!kind && w.ring.is_new && w.ring.count == 1) {
        kind = sign(&w, 1);
        kind = kind ? kind : set_new(&w, 0);
    }
    ida_ring_wipe(&w.ring);
    return kind;
}

/* No task is believed that was signed under the lost one: each is held, and looked at. */
static ida_kind replace_lost(key_work *w)
{
    ida_kind kind = access(w->path, F_OK) == 0
                        ? ida_fail(w->ctl->c, IDA_CONFLICT, "%s is there: run it without --lost.",
                                   w->path)
                        : ida_ring_make(w->ctl->c, IDA_TASK_KEY_NAME, w->path, (uid_t)-1,
                                        (gid_t)-1);
    kind = kind ? kind : read_ring(w);
    kind = kind ? kind : store_task_key_id_set(w->s, w->ctl->c, ida_ring_newest(&w->ring)->id);
    return kind ? kind : set_new(w, 0);
}

static ida_kind rotate(key_work *w)
{
    ida_kind kind = read_ring(w);
    kind = kind ? kind : ida_ring_rotate(w->ctl->c, IDA_TASK_KEY_NAME, w->path, &w->ring);
    return kind ? kind : sign(w, 0);
}

/* What programs queued under the older key until they were reloaded comes along. */
static ida_kind close_rotation(key_work *w)
{
    ida_kind kind = read_ring(w);
    if (!kind && !w->ring.is_new) {
        return ida_fail(w->ctl->c, IDA_CONFLICT, "No rotation of the task key is under way.");
    }
    kind = kind ? kind : sign(w, 0);
    return kind ? kind : set_new(w, 0);
}

int ctl_task_rotate_key(ctl_call *ctl)
{
    key_work w = begin(ctl);
    int done = ctl_value(ctl, "done") != NULL, lost = ctl_value(ctl, "lost") != NULL;
    if (done && lost) {
        return ctl_usage(ctl, "either --done or --lost is wanted, not both");
    }
    ida_kind kind = done ? close_rotation(&w) : lost ? replace_lost(&w) : rotate(&w);
    if (!kind) {
        const char *id = ida_ring_newest(&w.ring)->id;
        json_t *document = json_pack("{s:s, s:s, s:I, s:b}", "key", id, "file", w.path, "signed",
                                     (json_int_t)w.count, "done", done || lost);
        if (!ctl_json(ctl, document)) {
            ctl_say(ctl, "%lld open tasks were signed under the task key %s of %s.",
                    (long long)w.count, id, w.path);
            ctl_say(ctl, "%s",
                    done ? "Older keys count no more."
                         : "Copy the file to the other nodes and reload httpd on each of them.");
            if (!done && !lost) {
                ctl_say(ctl, "Then: idadminctl task rotate-key --done");
            }
        }
        json_decref(document);
    }
    ida_ring_wipe(&w.ring);
    return ctl_result(ctl, kind);
}
