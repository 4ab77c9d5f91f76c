/* idadminctl: finds the command line in the command table and runs one command. Owns usage and
 * exit statuses; must not know what a command does. */
#include "worker/ctl/commands.h"

#include <apr_general.h>
#include <apr_strings.h>
#include <locale.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/build.h"
#include "core/base/json.h"
#include "core/zone/zone.h"
#include "worker/base/secret.h"
#include "worker/layout.h"

static const ctl_command *const *commands; /* all of them, by noun and verb */
static int command_count;

/* A refusal prints one sentence only. Log lines wait until the end: they are printed for a
 * command that continued (warnings) and for an internal error (details). */
static void keep_line(void *baton, ida_level level, const char *id, const char *message)
{
    ctl_call *ctl = baton;
    if (level <= IDA_LOG_WARN) {
        ctl->lines = apr_pstrcat(ctl->pool, ctl->lines ? ctl->lines : "",
                                 level == IDA_LOG_WARN ? "warn" : "error", ": ", id ? id : "", ": ",
                                 message, "\n", NULL);
    }
}

static void print_lines(const ctl_call *ctl, int status)
{
    if (ctl->lines && (status == CTL_DONE || ctl->c->kind == IDA_INTERNAL_ERROR)) {
        fputs(ctl->lines, stderr);
    }
}

static void print_options(const ctl_option *options)
{
    for (; options->name; options++) {
        printf("  --%s%s%s\n      %s\n", options->name, ctl_takes_value(options) ? " " : "",
               options->value ? options->value : "", options->help);
    }
}

static void print_command(const ctl_command *command)
{
    printf("  %s%s%s%s%s\n      %s\n", command->noun, command->verb ? " " : "",
           command->verb ? command->verb : "", command->arguments[0] ? " " : "", command->arguments,
           command->summary);
}

/* Help for everything, for a noun, or for one command. */
static int print_help(const char *noun, const ctl_command *command)
{
    if (command) {
        printf("Usage: idadminctl %s%s%s%s%s [OPTIONS]\n\n%s\n", command->noun,
               command->verb ? " " : "", command->verb ? command->verb : "",
               command->arguments[0] ? " " : "", command->arguments, command->summary);
        if (command->help) {
            printf("\n%s\n", command->help);
        }
        if (command->options[0].name) {
            puts("\nOptions:");
            print_options(command->options);
        }
    } else {
        puts("Usage: idadminctl COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands:");
        for (int i = 0; i < command_count; i++) {
            if (!noun || strcmp(commands[i]->noun, noun) == 0) {
                print_command(commands[i]);
            }
        }
    }
    puts("\nOptions of every command:");
    print_options(ctl_common_options);
    puts("\nExit status: " CTL_EXIT_STATUS);
    return CTL_DONE;
}

/* The command of a noun and a verb; without a verb any command of the noun. */
static const ctl_command *find_command(const char *noun, const char *verb, int any)
{
    for (int i = 0; i < command_count; i++) {
        const ctl_command *k = commands[i];
        if (strcmp(k->noun, noun) == 0 &&
            (any || !k->verb || (verb && strcmp(k->verb, verb) == 0))) {
            return k;
        }
    }
    return NULL;
}

typedef struct command_line {
    const char *words[CTL_MAX_ARGUMENTS + 3];
    int word_count, help, version, json;
    const char *config_file;
    worker_option *overrides;
    /* Options seen so far: looked up once the command is known. */
    struct {
        const char *name, *value;
    } options[CTL_MAX_OPTIONS * 2];
    int option_count;
} command_line;

/* The first words decide the command, and the command decides which options take a value: so
 * first find the words that are not options. */
static const ctl_command *command_of(int argc, char *const *argv)
{
    const char *words[2] = {NULL, NULL};
    int count = 0;
    for (int i = 1; i < argc && count < 2; i++) {
        if (argv[i][0] == '-' && argv[i][1]) {
            int takes = 0;
            for (const ctl_option *o = ctl_common_options; o->name; o++) {
                takes |= o->value && strcmp(argv[i] + 2, o->name) == 0;
            }
            i += takes;
            continue;
        }
        words[count++] = argv[i];
    }
    return words[0] ? find_command(words[0], words[1], 0) : NULL;
}

static const ctl_option *find_option(const ctl_option *options, const char *name, size_t len)
{
    for (; options && options->name; options++) {
        if (strlen(options->name) == len && memcmp(options->name, name, len) == 0) {
            return options;
        }
    }
    return NULL;
}

static int take_option(ctl_call *ctl, command_line *line, const char *name, size_t len,
                       const char *value)
{
    char *key = apr_pstrndup(ctl->pool, name, len);
    if (strcmp(key, "json") == 0) {
        line->json = 1;
    } else if (strcmp(key, "help") == 0) {
        line->help = 1;
    } else if (strcmp(key, "version") == 0) {
        line->version = 1;
    } else if (strcmp(key, "config") == 0) {
        line->config_file = value;
    } else if (find_option(ctl_common_options, key, len)) {
        worker_option *o = apr_pcalloc(ctl->pool, sizeof *o);
        *o = (worker_option){key, value, line->overrides};
        line->overrides = o;
    } else {
        for (int i = 0; ctl->command->options[i].name; i++) {
            if (strcmp(ctl->command->options[i].name, key) == 0) {
                ctl->values[i] = value;
            }
        }
    }
    return CTL_DONE;
}

static int parse(ctl_call *ctl, int argc, char *const *argv, command_line *line)
{
    int literal = 0;
    for (int i = 1; i < argc; i++) {
        const char *word = argv[i];
        if (!literal && strcmp(word, "--") == 0) {
            literal = 1;
            continue;
        }
        if (literal || word[0] != '-' || !word[1]) {
            if (line->word_count == CTL_MAX_ARGUMENTS + 2) {
                return ctl_usage(ctl, "too many arguments");
            }
            line->words[line->word_count++] = word;
            continue;
        }
        if (strcmp(word, "-h") == 0 || strcmp(word, "-V") == 0) {
            *(word[1] == 'h' ? &line->help : &line->version) = 1;
            continue;
        }
        const char *equals = strchr(word, '=');
        size_t len = word[1] == '-' ? (equals ? (size_t)(equals - word) : strlen(word)) - 2 : 0;
        const ctl_option *option = word[1] == '-' ? find_option(ctl_common_options, word + 2, len)
                                                  : NULL;
        if (!option && word[1] == '-' && ctl->command) {
            option = find_option(ctl->command->options, word + 2, len);
        }
        if (!option) {
            return ctl_usage(ctl, "unknown option %s", word);
        }
        const char *value = "";
        if (option->value && !ctl_takes_value(option)) {
            value = equals ? equals + 1 : "true";
        } else if (option->value) {
            value = equals ? equals + 1 : (i + 1 < argc ? argv[++i] : NULL);
            if (!value || !value[0]) {
                return ctl_usage(ctl, "--%s wants %s", option->name, option->value);
            }
        } else if (equals) {
            return ctl_usage(ctl, "--%s takes no value", option->name);
        }
        int taken = take_option(ctl, line, option->name, len, value);
        if (taken) {
            return taken;
        }
    }
    return CTL_DONE;
}

static const char *person(apr_pool_t *pool)
{
    struct passwd entry, *found = NULL;
    char buffer[4096];
    if (getpwuid_r(getuid(), &entry, buffer, sizeof buffer, &found) == 0 && found) {
        return apr_pstrdup(pool, found->pw_name);
    }
    return ida_printf(pool, "uid %ld", (long)getuid());
}

/* For a refusal of the words themselves, before they are understood. */
static int names_json(int argc, char *const *argv)
{
    int i = 1;
    while (i < argc && strcmp(argv[i], "--json") != 0 && strcmp(argv[i], "--") != 0) {
        i++;
    }
    return i < argc && strcmp(argv[i], "--json") == 0;
}

static int run(ctl_call *ctl, int argc, char *const *argv)
{
    command_line line = {0};
    if (argc > 1 && strcmp(argv[1], "help") == 0) { /* like --help after the words */
        line.help = 1;
        argc--;
        argv++;
    }
    commands = ctl_commands(ctl->pool, &command_count);
    ctl->command = command_of(argc, argv);
    ctl->json = names_json(argc, argv);
    int status = parse(ctl, argc, argv, &line);
    if (status) {
        return status;
    }
    ctl->json = line.json;
    const char *noun = line.word_count ? line.words[0] : NULL;
    if (line.version) {
        if (!ctl_json(ctl, ida_json_keep(ctl->pool, json_pack("{s:s}", "version", ida_build)))) {
            ctl_say(ctl, "idadminctl %s", ida_build);
        }
        return CTL_DONE;
    }
    int misspelt = !ctl->command && ((noun && !find_command(noun, NULL, 1)) || line.word_count > 1);
    if (line.help && !misspelt) {
        return print_help(noun, ctl->command);
    }
    if (!ctl->command) {
        return noun ? ctl_usage(ctl,
                                find_command(noun, NULL, 1) ? "%s requires one of its commands"
                                                            : "there is no command %s",
                                noun)
                    : ctl_usage(ctl, "a command is wanted");
    }
    int skipped = ctl->command->verb ? 2 : 1;
    ctl->argument_count = line.word_count - skipped;
    for (int i = 0; i < ctl->argument_count && i < CTL_MAX_ARGUMENTS; i++) {
        ctl->arguments[i] = line.words[i + skipped];
    }
    int least = 0, most = 0;
    for (const char *word = ctl->command->arguments; *word; most++) {
        size_t len = strcspn(word, " ");
        least += *word != '[';
        word += len + (word[len] == ' ');
    }
    if (ctl->argument_count < least || ctl->argument_count > most) {
        return ctl_usage(ctl,
                         ctl->command->arguments[0] ? "the arguments are: %s"
                                                    : "there are no arguments%s",
                         ctl->command->arguments);
    }
    ida_kind kind = worker_config_read(ctl->c, ctl->pool, line.config_file, line.overrides,
                                       &ctl->config);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    ctl->env.seal_key = ctl->config.seal_key;
    layout_web_user(&ctl->config);
    store_cache_make(ctl->config.store, ctl->c);
    return ctl->command->run(ctl);
}

int main(int argc, char **argv)
{
    secret_memory_init();
    setlocale(LC_CTYPE, "C.UTF-8");
    if (apr_initialize() != APR_SUCCESS) {
        fputs("idadminctl: APR cannot be initialised\n", stderr);
        return CTL_FAILED;
    }
    atexit(apr_terminate);
    ctl_call ctl = {0};
    apr_pool_create(&ctl.pool, NULL);
    ida_env_default(&ctl.env);
    ctl.env.log = keep_line;
    ctl.env.baton = &ctl;
    zone_init(ctl.pool);
    ctl.c = ida_ctx_make(&ctl.env, ctl.pool);
    ctl.actor = person(ctl.pool);
    int status = run(&ctl, argc, argv);
    print_lines(&ctl, status);
    if (fflush(stdout) || ferror(stdout)) {
        fputs("idadminctl: standard output cannot be written\n", stderr);
        return CTL_FAILED;
    }
    return status;
}
