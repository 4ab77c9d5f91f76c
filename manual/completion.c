/* Completion of bash, by the rows of commands, options and settings. */
#include <stdio.h>
#include <string.h>

#include "manual/page.h"
#include "worker/base/config.h"
#include "worker/ctl/commands.h"
#include "worker/options.h"

static int is_file(const char *value)
{
    return value && (strncmp(value, "FILE", 4) == 0 || strcmp(value, "DIR") == 0);
}

static void option_words(const argument_option *options)
{
    for (; options->name; options++) {
        printf(" --%s", options->name);
    }
}

typedef int option_choice(const argument_option *option);

static int takes_file(const argument_option *option)
{
    return is_file(option->value);
}

static int takes_word(const argument_option *option)
{
    return option->value && argument_takes_value(option);
}

/* "--config | --seal-key": the chosen ones of all commands, as a pattern of case. */
static void option_pattern(const ctl_command *const *commands, int count, option_choice *chosen)
{
    int found = 0;
    for (int i = -1; i < count; i++) {
        const argument_option *o = i < 0 ? ctl_common_options : commands[i]->options;
        for (; o->name; o++) {
            if (chosen(o)) {
                printf("%s--%s", found++ ? " | " : "", o->name);
            }
        }
    }
}

static void nouns(const ctl_command *const *commands, int count)
{
    printf("    local nouns='help");
    for (int i = 0; i < count; i++) {
        if (i == 0 || strcmp(commands[i - 1]->noun, commands[i]->noun) != 0) {
            printf(" %s", commands[i]->noun);
        }
    }
    puts("'");
}

/* A line for each noun with verbs, then a line for each command. */
static void command_lines(const ctl_command *const *commands, int count)
{
    puts("    case ${words[0]-} in");
    for (int i = 0; i < count; i++) {
        const ctl_command *k = commands[i];
        if (k->verb && (i == 0 || strcmp(commands[i - 1]->noun, k->noun) != 0)) {
            printf("    %s) verbs='", k->noun);
            for (int n = i; n < count && strcmp(commands[n]->noun, k->noun) == 0; n++) {
                printf("%s%s", n > i ? " " : "", commands[n]->verb ? commands[n]->verb : "");
            }
            puts("' ;;");
        }
    }
    puts("    esac\n    case ${words[*]:0:2} in");
    for (int i = 0; i < count; i++) {
        const ctl_command *k = commands[i];
        printf("    '%s%s%s'%s) options=\"$options", k->noun, k->verb ? " " : "",
               k->verb ? k->verb : "", k->verb ? "" : "*");
        option_words(k->options);
        printf("\" files=%d ;;\n", strstr(k->arguments, "FILE") || strstr(k->arguments, "DIR"));
    }
    puts("    esac");
}

void completion_idadminctl(apr_pool_t *pool, const char *date)
{
    int count;
    const ctl_command *const *commands = ctl_commands(pool, &count);
    (void)date;
    puts("# bash completion for idadminctl. Made from its command table.\n"
         "_idadminctl()\n{\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "    local words=() word value= verbs= files=0\n"
         "    for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "        if [[ $value ]]; then\n            value=\n            continue\n        fi\n"
         "        case $word in");
    printf("        ");
    option_pattern(commands, count, takes_word);
    puts(") value=1 ;;\n        -*) ;;\n"
         "        help) [[ ${#words[@]} == 0 ]] || words+=(help) ;;\n"
         "        *) words+=(\"$word\") ;;\n        esac\n    done");
    printf("    local options='");
    option_words(ctl_common_options);
    puts("'");
    nouns(commands, count);
    command_lines(commands, count);
    printf("    case $prev in\n    ");
    option_pattern(commands, count, takes_file);
    puts(")\n        COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n    esac\n"
         "    if [[ $cur == -* ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
         "    elif [[ ${#words[@]} == 0 ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$nouns\" -- \"$cur\"))\n"
         "    elif [[ ${#words[@]} == 1 && -n $verbs ]]; then\n"
         "        COMPREPLY=($(compgen -W \"$verbs\" -- \"$cur\"))\n"
         "    elif [[ $files == 1 ]]; then\n"
         "        COMPREPLY=($(compgen -f -- \"$cur\"))\n"
         "    fi\n}\ncomplete -o filenames -F _idadminctl idadminctl");
}

static void print_setting(const worker_setting *s)
{
    for (const char *at = s->name; *at; at++) {
        putchar(*at == '_' ? '-' : *at);
    }
}

void completion_worker(apr_pool_t *pool, const char *date)
{
    worker_setting s;
    (void)pool;
    (void)date;
    puts("# bash completion for idadmin-worker. Made from the rows of its options and settings.\n"
         "_idadmin_worker()\n{\n"
         "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}");
    printf("    case $prev in\n    --config");
    for (int i = 0; worker_config_setting(i, &s); i++) {
        if (is_file(s.value)) {
            fputs(" | --", stdout);
            print_setting(&s);
        }
    }
    printf(")\n        COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n    esac\n"
           "    COMPREPLY=($(compgen -W '");
    printf("--%s", worker_own_options[0].name);
    option_words(worker_own_options + 1);
    for (int i = 0; worker_config_setting(i, &s); i++) {
        fputs(" --", stdout);
        print_setting(&s);
    }
    puts("' -- \"$cur\"))\n}\ncomplete -o filenames -F _idadmin_worker idadmin-worker");
}
