/* Which known name was probably meant by one that is not known: names are compared by what people
 * see of them. */
#ifndef CORE_BASE_SIMILAR_H
#define CORE_BASE_SIMILAR_H

#include <stddef.h>
#include <stdint.h>

#define IDA_LOOK_MAX 64

/* A name as it looks: letters and digits alone, without case, accents, blanks, hyphens and signs
 * that are not seen; letters of other scripts, of full width and of mathematics as the Latin ones
 * that they look like. `len` is IDA_LOOK_MAX for every name that is at least as long. */
typedef struct ida_look {
    size_t len;
    uint16_t letters[IDA_LOOK_MAX];
} ida_look;

void ida_look_at(const char *name, ida_look *look);
/* 1 if the word, of small letters, stands in the name. */
int ida_look_holds(const ida_look *look, const char *word);

/* The first name in a table, whose rows begin with `const char *name` and end with one without,
 * that becomes this one by at most `edits` letters that are changed, added, left out or swapped
 * with their neighbour; 0: that looks the same. NULL when there is none, or this one is too long.
 */
const char *ida_meant(const void *rows, size_t row_size, const ida_look *look, int edits);
/* The same for a message about a name that is refused anyway: two edits, names of four letters and
 * more. */
const char *ida_similar(const void *rows, size_t row_size, const char *name);

#endif
