/* Owns when two names are similar enough for one to be a misspelling of the other. */
#include "core/base/similar.h"

#include <ctype.h>
#include <string.h>

#define LEN_MAX 63
#define EDITS_MAX 2

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: three rows of the table are in use. */
int ida_similar(const char *a, const char *b)
{
    int table[3][LEN_MAX + 1];
    int n = (int)strnlen(a, LEN_MAX + 1), m = (int)strnlen(b, LEN_MAX + 1);
    if (n > LEN_MAX || m > LEN_MAX || n < 4 || m < 4) {
        return 0;
    }
    for (int j = 0; j <= m; j++) {
        table[0][j] = j;
    }
    for (int i = 1; i <= n; i++) {
        int *row = table[i % 3], *up = table[(i + 2) % 3], *above = table[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= m; j++) {
            int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            row[j] = least(least(up[j] + 1, row[j - 1] + 1), up[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2])) {
                row[j] = least(row[j], above[j - 2] + 1);
            }
        }
    }
    return table[n % 3][m] <= EDITS_MAX;
}
