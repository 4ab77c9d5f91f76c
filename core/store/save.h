/* A backup of the store, and its return. */
#ifndef CORE_STORE_SAVE_H
#define CORE_STORE_SAVE_H

#include "core/store/store.h"

/* Copies of the files of main and audit, and the number of each one's schema. */
typedef struct store_saved {
    apr_array_header_t *names; /* of files, const char * */
    int main, audit;
} store_saved;

/* Inside store_snapshot, after a read of main: what the snapshot sees, into the directory. */
ida_kind store_save(store *s, ida_ctx *c, const char *directory, store_saved *saved);

/* Schema numbers that this program would bring a store to: a newer one is not for it. */
void store_known_versions(const char *dsn, int *main, int *audit);

/* 1 when a program of this version can open it. Unlike a handle's first use it leaves no note that
 * the store is away. */
int store_opens(const char *dsn, ida_ctx *c);

/* IDA_CONFLICT, with who it is, when a program of ours has the store open. */
ida_kind store_free(const char *dsn, ida_ctx *c);

/* Puts the copies in the place of the store, then upgrades the schema (`steps` as for
 * store_schema_upgrade), which makes an empty cache. *aside: where the old store is. */
ida_kind store_bring_back(const char *dsn, ida_ctx *c, const db_return *from, json_t *steps,
                          const char **aside);

/* Appends the schemas that restores have put aside; `remove`: and drops them. */
ida_kind store_aside(store *s, ida_ctx *c, int remove, json_t *names);

#endif
