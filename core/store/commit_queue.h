/* Group commit: threads of one process that write through one connection. What arrives while the
 * gate is awaited or a commit is on its way to the disk goes into the next transaction together:
 * one gate, one log write, one fsync for many callers, each of them as durable as alone. For
 * engines that have one writer at a time (SQLite). */
#ifndef CORE_STORE_COMMIT_QUEUE_H
#define CORE_STORE_COMMIT_QUEUE_H

#include "core/store/store.h"

typedef struct store_group store_group;

/* Makes the group with a connection of its own, opened at first use; it lives in `pool`. NULL for
 * an engine whose writers do not exclude each other: give each a connection instead. */
store_group *store_group_make(apr_pool_t *pool, const char *dsn, db_role role);

/* The handle to give to callers: any number of threads at once. Its transactions and statements are
 * run by the group. */
store *store_group_door(store_group *group);

/* From here on the group runs the transactions of `s`; what `s` reads outside of them it reads on
 * its own connection. For threads that read much and shall not stand in line for it. */
void store_group_join(store_group *group, store *s);

/* 1 in a thread that is running work of the group. */
int store_group_inside(const store_group *group);

/* Runs `work` as store_transaction would, on the group's connection and perhaps in another caller's
 * thread; returns when it is committed or refused. The work of one caller that fails is undone
 * alone. */
ida_kind store_group_run(store_group *group, ida_ctx *c, store_work work, void *baton);

#endif
