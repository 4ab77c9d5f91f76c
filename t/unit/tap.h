/* A minimal TAP producer for the C unit tests: ok(), is_str(), is_int(), done(). One test program
 * is one file test_*.c. */
#ifndef T_UNIT_TAP_H
#define T_UNIT_TAP_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

__attribute__((format(printf, 2, 3), unused)) static int ok(int pass, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("%sok %d - ", pass ? "" : "not ", ++tap_count);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
    tap_failed += !pass;
    fflush(stdout);
    return pass;
}

__attribute__((unused)) static int is_str(const char *got, const char *want, const char *name)
{
    int same = got && want ? strcmp(got, want) == 0 : got == want;
    ok(same, "%s", name);
    if (!same) {
        printf("# got:  %s\n# want: %s\n", got ? got : "(null)", want ? want : "(null)");
    }
    return same;
}

__attribute__((unused)) static int is_int(int64_t got, int64_t want, const char *name)
{
    ok(got == want, "%s", name);
    if (got != want) {
        printf("# got:  %lld\n# want: %lld\n", (long long)got, (long long)want);
    }
    return got == want;
}

/* Last line of every test's main(): prints the plan, returns the exit status. */
__attribute__((unused)) static int done(void)
{
    printf("1..%d\n", tap_count);
    return tap_failed != 0;
}

#endif
