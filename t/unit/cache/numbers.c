/* What a run remembers of entry numbers: exactly what it was given, for UUIDs alone, up to a limit,
 * and nothing after it was told to forget. */
#include <stdio.h>

#include "core/cache/numbers.h"
#include "t/unit/setup.h"

enum { MANY = 950000, MOST = 1 << 20 };

static const char *uuid(char *text, int i)
{
    snprintf(text, 37, "%08x-%04x-4%03x-8%03x-%012x", (unsigned)i * 2654435761u, i & 0xffff,
             i >> 16 & 0xfff, i & 0xfff, i);
    return text;
}

static void test_some(void)
{
    char text[64];
    cache_numbers *n = cache_numbers_make(pool);
    is_int(cache_numbers_get(NULL, uuid(text, 1)), 0, "a write-through remembers nothing");
    is_int(cache_numbers_get(n, uuid(text, 1)), 0, "nor does a run that has begun");
    cache_numbers_keep(n, uuid(text, 1), 7);
    cache_numbers_keep(n, uuid(text, 2), 8);
    is_int(cache_numbers_get(n, uuid(text, 1)), 7, "a number");
    is_int(cache_numbers_get(n, uuid(text, 2)), 8, "another one");
    is_int(cache_numbers_get(n, uuid(text, 3)), 0, "not that of somebody else");
    static const char *const others[] = {"",
                                         "asa",
                                         "0000000A-0000-4000-8000-000000000000",
                                         "00000000-0000-4000-8000-00000000000",
                                         "00000000-0000-4000-8000-0000000000000",
                                         "00000000 0000-4000-8000-000000000000",
                                         "00000000-0000-4000-8000-00000000000g"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        cache_numbers_keep(n, others[i], 9);
        ok(!cache_numbers_get(n, others[i]), "not remembered: '%s'", others[i]);
    }
    cache_numbers_forget(n);
    is_int(cache_numbers_get(n, uuid(text, 1)), 0, "forgotten");
    cache_numbers_keep(n, uuid(text, 1), 10);
    is_int(cache_numbers_get(n, uuid(text, 1)), 10, "and learned again");
}

/* As many as there is room for, of so many. */
static void test_many(void)
{
    char text[64];
    int held = 0, wrong = 0;
    cache_numbers *n = cache_numbers_make(pool);
    for (int i = 1; i <= MANY; i++) {
        cache_numbers_keep(n, uuid(text, i), i);
    }
    for (int i = 1; i <= MANY; i++) {
        int64_t number = cache_numbers_get(n, uuid(text, i));
        held += number == i;
        wrong += number && number != i;
    }
    is_int(wrong, 0, "no number is another's");
    is_int(held, MOST / 8 * 7, "memory ends at a limit, and what is in it stays");
    cache_numbers *others[3];
    for (int k = 0; k < 3; k++) {
        others[k] = cache_numbers_make(pool);
        for (int i = 1; i <= MANY; i++) {
            cache_numbers_keep(others[k], uuid(text, i), i);
        }
    }
    held = 0;
    for (int i = 1; i <= MANY; i++) {
        held += cache_numbers_get(others[2], uuid(text, i)) == i;
    }
    ok(held < MOST / 8, "runs at the same time share a limit");
}

int main(void)
{
    setup();
    test_some();
    test_many();
    return done();
}
