/* The task key of a process: who has it can queue tasks that workers carry out, and judge those
 * that stand in the store (core/model/task_mac.h). */
#ifndef CORE_STORE_TASK_KEY_H
#define CORE_STORE_TASK_KEY_H

#include "core/base/key_ring.h"
#include "core/store/store.h"

/* The keys of this handle: those given to it (store.task_keys), else of its file, read anew when
 * that is another one. They stay the handle's. IDA_SERVICE_UNAVAILABLE: it has none. */
ida_kind store_task_keys(store *s, ida_ctx *c, const ida_key_ring **ring);

/* The name of the key that every program of this store must have; NULL: none was made yet. */
ida_kind store_task_key_id(store *s, ida_ctx *c, const char **id);
ida_kind store_task_key_id_set(store *s, ida_ctx *c, const char *id);

#endif
