/* The table of failure classes, and what rows of connectors share. Knows no protocol and no
 * connector. */
#include "worker/directory/directory.h"

#include <apr_strings.h>
#include <stddef.h>
#include <string.h>

#define OWNERS_MAX 500 /* bytes after which no further owner is named */

static const struct {
    const char *word, *text;
    int holds;
} classes[] = {
    [DIRECTORY_OK] = {"ok", "ok", 0},
    [DIRECTORY_ALREADY] = {"already", "was so already", 0},
    [DIRECTORY_NOT_FOUND] = {"notFound", "not found", 0},
    [DIRECTORY_TRANSIENT] = {"transient", "not reachable", 1},
    [DIRECTORY_THROTTLED] = {"throttled", "asks to slow down", 1},
    [DIRECTORY_UNSURE] = {"unsure", "answer lost", 0},
    [DIRECTORY_LAG] = {"lag", "not visible yet", 0},
    [DIRECTORY_CONFLICT] = {"conflict", "name or value taken", 0},
    [DIRECTORY_INVALID] = {"invalid", "value refused", 0},
    [DIRECTORY_CREDENTIALS] = {"credentials", "refuses the service account", 1},
    [DIRECTORY_FORBIDDEN] = {"forbidden", "not allowed to the service account", 0},
    [DIRECTORY_CONFIG] = {"configuration", "configuration", 1},
    [DIRECTORY_PROTECTED] = {"protected", "protected account", 0},
    [DIRECTORY_ELSEWHERE] = {"elsewhere", "mastered in another directory", 0},
    [DIRECTORY_TOKEN_LOST] = {"tokenLost", "sync token refused", 0},
    [DIRECTORY_LOCAL] = {"local", "local fault", 0},
};

static int known(directory_class class)
{
    return (size_t) class < sizeof classes / sizeof *classes;
}

int directory_holds(directory_class class)
{
    return known(class) && classes[class].holds;
}

const char *directory_class_text(directory_class class)
{
    return known(class) ? classes[class].text : "unknown";
}

const char *directory_class_word(directory_class class)
{
    return known(class) ? classes[class].word : "unknown";
}

void directory_owner_add(directory_membership *row, apr_pool_t *pool, const char *owner)
{
    const char *before = row->retained;
    if (!before || strlen(before) < OWNERS_MAX) {
        row->retained = apr_pstrcat(pool, before ? before : "", before ? "; " : "", owner, NULL);
    }
}
