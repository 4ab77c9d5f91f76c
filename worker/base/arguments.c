/* Owns how options are written. Must not know which there are. */
#include "worker/base/arguments.h"

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "core/base/context.h"

const argument_option *argument_find(const argument_option *rows, const char *name)
{
    for (; rows->name; rows++) {
        if (strcmp(rows->name, name) == 0) {
            return rows;
        }
    }
    return NULL;
}

int argument_takes_value(const argument_option *option)
{
    return option->value && strcmp(option->value, ARGUMENT_SWITCH) != 0;
}

void arguments_print(const argument_option *rows)
{
    for (; rows->name; rows++) {
        printf("  --%s%s%s\n      %s\n", rows->name, argument_takes_value(rows) ? " " : "",
               rows->value ? rows->value : "", rows->help);
    }
}

/* The name that a word gives an option by; NULL: there are no options of its form. */
static const char *name_of(apr_pool_t *pool, const char *word)
{
    if (word[1] == '-') {
        return apr_pstrndup(pool, word + 2, strcspn(word + 2, "="));
    }
    return strcmp(word, "-h") == 0 ? "help" : strcmp(word, "-V") == 0 ? "version" : NULL;
}

/* Reads the option at argv[*at], and its value from there or from the next word. */
static const char *read_option(apr_pool_t *pool, char *const *argv, int *at,
                               const argument_reader *reader)
{
    const char *word = argv[*at], *name = name_of(pool, word), *equals = strchr(word, '=');
    const argument_option *option = name ? reader->find(reader->baton, name) : NULL;
    if (!option) {
        return ida_printf(pool, "unknown option %s", word);
    }
    const char *value = equals ? equals + 1 : option->value ? "true" : "";
    if (argument_takes_value(option)) {
        value = equals ? equals + 1 : argv[*at + 1] ? argv[++*at] : "";
        if (!value[0]) {
            return ida_printf(pool, "--%s wants %s", option->name, option->value);
        }
    } else if (equals && !option->value) {
        return ida_printf(pool, "--%s takes no value", option->name);
    }
    reader->take(reader->baton, option, value);
    return NULL;
}

const char *arguments_read(apr_pool_t *pool, int argc, char *const *argv,
                           const argument_reader *reader)
{
    const char *fault = NULL;
    int literal = 0, words = 0;
    for (int i = 1; i < argc && !fault; i++) {
        const char *word = argv[i];
        if (!literal && strcmp(word, "--") == 0) {
            literal = 1;
        } else if (!literal && word[0] == '-' && word[1]) {
            fault = read_option(pool, argv, &i, reader);
        } else if (words++ == 0 && !literal && strcmp(word, "help") == 0) {
            reader->take(reader->baton, reader->find(reader->baton, "help"), "");
        } else {
            fault = reader->word(reader->baton, word);
        }
    }
    return fault;
}
