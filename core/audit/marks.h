/* Marks: what rows of tasks and API keys were after the change that a record is about. A row that
 * an attacker changed, or put back as it was earlier, differs from its last mark.
 *
 * A text of words, separated by spaces: NAME:PARTS. NAME is a task's ID, or "key/" and a username.
 * PARTS: '+' if the record made the row, then letters, each with the 16 hexadecimal digits of a
 * digest. An erased record keeps the letters alone, because digits could confirm a guess. Knows no
 * store. */
#ifndef CORE_AUDIT_MARKS_H
#define CORE_AUDIT_MARKS_H

#include <apr_pools.h>
#include <stdint.h>

#define AUDIT_MARKS_MAX 1600 /* bytes: a record has room for its other members */
#define AUDIT_MARK_KEY "key/"

typedef enum audit_mark_part {
    AUDIT_MARK_DUE,         /* D */
    AUDIT_MARK_PAYLOAD,     /* P: of a task without its photo; all of a key */
    AUDIT_MARK_MEMBERSHIPS, /* M: those that an offboarding found */
    AUDIT_MARK_BEFORE,      /* B: these before the change, which adds to them */
    AUDIT_MARK_PARTS
} audit_mark_part;

typedef struct audit_mark {
    const char *name;
    int made;
    unsigned has;                     /* bits of the parts that it tells */
    uint64_t parts[AUDIT_MARK_PARTS]; /* 0: not told, or erased */
} audit_mark;

/* Never 0. */
uint64_t audit_mark_digest(const char *text);
char *audit_mark_text(apr_pool_t *pool, const audit_mark *mark);
/* The next word of *at, which moves behind it. 0 at the end. */
int audit_mark_next(apr_pool_t *pool, const char **at, audit_mark *mark);
/* Without the digits. NULL for NULL. */
char *audit_marks_bare(apr_pool_t *pool, const char *marks);

#endif
