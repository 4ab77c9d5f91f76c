/* A small text file beside a key file that records what this machine has seen. Only its owner can
 * write it, so restoring or changing the database does not change the file. */
#ifndef CORE_BASE_BESIDE_H
#define CORE_BASE_BESIDE_H

#include "core/base/context.h"

typedef struct ida_beside {
    const char *what;              /* for people: "file of seal revisions" */
    const char *key_file, *ending; /* the file is key_file followed by ending */
} ida_beside;

/* *text: NULL when there is no file yet. */
ida_kind ida_beside_read(ida_ctx *c, const ida_beside *file, const char **text);

/* *changed NULL: the file stays as it is. */
typedef ida_kind (*ida_beside_change)(ida_ctx *c, const char *text, const char **changed,
                                      void *baton);
/* Reads the file and replaces it as a whole under a lock on the key file. */
ida_kind ida_beside_update(ida_ctx *c, const ida_beside *file, ida_beside_change change,
                           void *baton);

/* The message of a file that is not as it should be: "The WHAT PATH how". */
ida_kind ida_beside_fail(ida_ctx *c, const ida_beside *file, const char *how);

#endif
