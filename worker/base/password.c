/* Owns the creation of initial passwords, which are neither shown nor stored. Must not know
 * directories. */
#include "worker/base/password.h"

#include <string.h>

/* Without quotes, backslash, blanks and angle brackets, which break some password filters and
 * tools. */
static const char *const classes[] = {"ABCDEFGHJKLMNPQRSTUVWXYZ", "abcdefghijkmnpqrstuvwxyz",
                                      "23456789", "!#$%*+-./:;=?@_~"};
#define CLASSES (sizeof classes / sizeof classes[0])

/* Uniform below n (n <= 256) by rejection. */
static unsigned below(const ida_env *env, unsigned n)
{
    unsigned limit = 256 - 256 % n;
    unsigned char byte;
    do {
        ida_random(env, &byte, 1);
    } while (byte >= limit);
    return byte % n;
}

static int good(const char *password, const char *const *names)
{
    for (size_t k = 0; k < CLASSES; k++) {
        if (!strpbrk(password, classes[k])) {
            return 0;
        }
    }
    for (; names && *names; names++) {
        if (strlen(*names) >= 3 && strcasestr(password, *names)) {
            return 0;
        }
    }
    return 1;
}

void password_make(const ida_env *env, const char *const *names, char out[PASSWORD_SIZE])
{
    char letters[128] = "";
    for (size_t k = 0; k < CLASSES; k++) {
        strcat(letters, classes[k]);
    }
    do {
        for (int i = 0; i < PASSWORD_LEN; i++) {
            out[i] = letters[below(env, (unsigned)strlen(letters))];
        }
        out[PASSWORD_LEN] = '\0';
    } while (!good(out, names));
}
