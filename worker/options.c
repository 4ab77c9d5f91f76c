/* Owns the rows of the options that are no setting, and the text of --help. Must not know what an
 * option does. */
#include "worker/options.h"

#include <stdio.h>

#include "worker/base/config.h"

const argument_option worker_own_options[] = {
    {"config", "FILE",
     "configuration instead of " IDA_SYSCONFDIR "/idadmin/idadmin.conf (name = value)"},
    {"once", NULL,
     "carry out what is due, ingest, sync every directory once, send notifications, exit: 0 when "
     "all but the last could be done, else 1"},
    {"check", "ID",
     "test the directories of a tenant and print a report; exit 0 when all is well, else 1"},
    {"help", NULL, "this help; also -h and the word help"},
    {"version", NULL, "the version and the build; also -V"},
    {0},
};

void worker_help(void)
{
    worker_setting s;
    puts("Usage: idadmin-worker [OPTIONS]\n\n" WORKER_ABOUT "\n\nOptions:");
    arguments_print(worker_own_options);
    puts("\nSettings of idadmin.conf, which an option overrides:");
    for (int i = 0; worker_config_setting(i, &s); i++) {
        fputs("  --", stdout);
        for (const char *at = s.name; *at; at++) {
            putchar(*at == '_' ? '-' : *at);
        }
        printf(" %s\n      %s%s%s\n", s.value, s.about, s.fallback ? "; default " : "",
               s.fallback ? s.fallback : "");
    }
    puts("\nSignals: " WORKER_SIGNALS "\nExit status: " WORKER_EXIT_STATUS);
}
