/* The command line of a program: options as rows, words read by them, their help. Knows no option's
 * meaning. */
#ifndef WORKER_BASE_ARGUMENTS_H
#define WORKER_BASE_ARGUMENTS_H

#include <apr_pools.h>

typedef struct argument_option {
    const char *name;  /* without "--"; NULL ends the rows */
    const char *value; /* word for what it takes ("FILE"); NULL: nothing */
    const char *help;
} argument_option;

/* For an option that is true without a value: --braked, --braked=false. */
#define ARGUMENT_SWITCH "[=false]"

/* What a program does with its words. Options named "help" and "version" are also -h and -V, and
 * the first word that is no option may be help. */
typedef struct argument_reader {
    void *baton;
    /* NULL: there is no such option. The row stays valid until the end of the program. */
    const argument_option *(*find)(void *baton, const char *name);
    /* `value` is "" where the option takes none. */
    void (*take)(void *baton, const argument_option *option, const char *value);
    /* What is no option, or stands behind "--". The refusal as a sentence, NULL: taken. */
    const char *(*word)(void *baton, const char *word);
} argument_reader;

/* Reads argv[1] and what follows. The first refusal as a part of a sentence ("unknown option
 * --odd"), in `pool`; NULL: all was taken. */
const char *arguments_read(apr_pool_t *pool, int argc, char *const *argv,
                           const argument_reader *reader);

/* The row of this name, NULL when there is none. */
const argument_option *argument_find(const argument_option *rows, const char *name);

/* 1: the option takes a word; 0: it is a switch. */
int argument_takes_value(const argument_option *option);

/* Two lines for each row, for --help. */
void arguments_print(const argument_option *rows);

#endif
