/* idadminctl: finds the command line in the command table and runs one command. Owns usage and
 * exit statuses; must not know what a command does. */
#include "worker/ctl/commands.h"

#include <apr_general.h>
#include <apr_strings.h>
#include <locale.h>
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
            arguments_print(command->options);
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
    arguments_print(ctl_common_options);
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
    const char *config_file, *as;
    worker_option *overrides;
} command_line;

/* The first words decide the command, and the command decides which options take a value: so
 * first find the words that are not options. */
static const ctl_command *command_of(int argc, char *const *argv)
{
    const char *words[2] = {NULL, NULL};
    int count = 0;
    for (int i = 1; i < argc && count < 2; i++) {
        if (argv[i][0] == '-' && argv[i][1]) {
            const argument_option *common = argument_find(ctl_common_options, argv[i] + 2);
            i += common && common->value;
            continue;
        }
        words[count] = argv[i];
        count += count || strcmp(argv[i], "help") != 0;
    }
    return words[0] ? find_command(words[0], words[1], 0) : NULL;
}

/* What the reader of the words fills. */
typedef struct reading {
    ctl_call *ctl;
    command_line *line;
} reading;

static const argument_option *find_option(void *baton, const char *name)
{
    const reading *r = baton;
    const argument_option *common = argument_find(ctl_common_options, name);
    return common || !r->ctl->command ? common : argument_find(r->ctl->command->options, name);
}

static void take_option(void *baton, const argument_option *option, const char *value)
{
    const reading *r = baton;
    command_line *line = r->line;
    if (strcmp(option->name, "json") == 0) {
        line->json = 1;
    } else if (strcmp(option->name, "help") == 0) {
        line->help = 1;
    } else if (strcmp(option->name, "version") == 0) {
        line->version = 1;
    } else if (strcmp(option->name, "config") == 0) {
        line->config_file = value;
    } else if (strcmp(option->name, "as") == 0) {
        line->as = value;
    } else if (argument_find(ctl_common_options, option->name)) {
        worker_option_add(r->ctl->pool, &line->overrides, option->name, value);
    } else {
        r->ctl->values[option - r->ctl->command->options] = value;
    }
}

static const char *take_word(void *baton, const char *word)
{
    command_line *line = ((const reading *)baton)->line;
    if (line->word_count == CTL_MAX_ARGUMENTS + 2) {
        return "too many arguments";
    }
    line->words[line->word_count++] = word;
    return NULL;
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
    reading r = {ctl, &line};
    const argument_reader reader = {&r, find_option, take_option, take_word};
    commands = ctl_commands(ctl->pool, &command_count);
    ctl->command = command_of(argc, argv);
    ctl->json = names_json(argc, argv);
    const char *fault = arguments_read(ctl->pool, argc, argv, &reader);
    if (fault) {
        return ctl_usage(ctl, "%s", fault);
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
    int unnamed = ctl_actor_set(ctl, line.as);
    if (unnamed) {
        return unnamed;
    }
    ida_kind kind = worker_config_read(ctl->c, ctl->pool, line.config_file, line.overrides,
                                       &ctl->config);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    if (ctl->config.admin_store) {
        ctl->config.store = ctl->config.admin_store;
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
    ida_correlation_take(&ctl.env, getenv("IDADMIN_REQUEST_ID"), getenv("TRACEPARENT"),
                         &ctl.correlation);
    ctl.env.correlation = &ctl.correlation;
    zone_init(ctl.pool);
    ctl.c = ida_ctx_make(&ctl.env, ctl.pool);
    int status = run(&ctl, argc, argv);
    print_lines(&ctl, status);
    if (fflush(stdout) || ferror(stdout)) {
        fputs("idadminctl: standard output cannot be written\n", stderr);
        return CTL_FAILED;
    }
    return status;
}
