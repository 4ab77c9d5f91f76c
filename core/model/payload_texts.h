/* The members of request bodies that are plain text, by tables: for payload.c and
 * core/model/payload_stored.c. `out` and `in` are the struct of the body that the table belongs to.
 */
#ifndef CORE_MODEL_PAYLOAD_TEXTS_H
#define CORE_MODEL_PAYLOAD_TEXTS_H

#include <jansson.h>
#include <stddef.h>

#include "core/base/context.h"

typedef struct ida_text_member {
    const char *name;
    size_t at;    /* of the const char * in the struct */
    size_t limit; /* UTF-16 units (contracts of the directories) */
    int flags;    /* core/model/payload_texts.c's own */
} ida_text_member;

typedef struct ida_texts {
    const ida_text_member *members;
    size_t count;
} ida_texts;

extern const ida_texts ida_create_texts, ida_delete_texts, ida_update_texts, ida_moment_texts;

/* The member of the table that has that name, the case of letters aside; NULL when there is none.
 */
const char *ida_texts_known(const ida_texts *texts, const char *name);
const char *ida_text_value(const void *in, const ida_text_member *m);

/* What is given and breaks no rule goes to `out`; the rest are faults. `required_rule`: what is
 * said of a required one that is not there. */
void ida_text_read(ida_ctx *c, const json_t *body, const ida_text_member *m,
                   const char *required_rule, void *out);
void ida_texts_read(ida_ctx *c, const json_t *body, const ida_texts *texts,
                    const char *required_rule, void *out);

/* Those that are there, as an object; a new reference. And back: 0 when one is no text, or a
 * required one is not there. */
json_t *ida_texts_stored(const void *in, const ida_texts *texts);
int ida_texts_load(const json_t *stored, const ida_texts *texts, void *out);

#endif
