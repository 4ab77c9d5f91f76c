/* The table of failure classes. Knows no protocol and no connector. */
#include "worker/directory/directory.h"

#include <stddef.h>

static const struct {
    const char *text;
    int holds;
} classes[] = {
    [DIRECTORY_OK] = {"ok", 0},
    [DIRECTORY_ALREADY] = {"was so already", 0},
    [DIRECTORY_NOT_FOUND] = {"not found", 0},
    [DIRECTORY_TRANSIENT] = {"not reachable", 1},
    [DIRECTORY_THROTTLED] = {"asks to slow down", 1},
    [DIRECTORY_UNSURE] = {"answer lost", 0},
    [DIRECTORY_LAG] = {"not visible yet", 0},
    [DIRECTORY_CONFLICT] = {"name or value taken", 0},
    [DIRECTORY_INVALID] = {"value refused", 0},
    [DIRECTORY_CREDENTIALS] = {"refuses the service account", 1},
    [DIRECTORY_FORBIDDEN] = {"not allowed to the service account", 0},
    [DIRECTORY_CONFIG] = {"configuration", 1},
    [DIRECTORY_PROTECTED] = {"protected account", 0},
    [DIRECTORY_ELSEWHERE] = {"mastered in another directory", 0},
    [DIRECTORY_TOKEN_LOST] = {"sync token refused", 0},
    [DIRECTORY_LOCAL] = {"local fault", 0},
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
