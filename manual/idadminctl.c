/* idadminctl.1, by the command table. */
#include <apr_strings.h>
#include <string.h>

#include "manual/page.h"
#include "worker/ctl/commands.h"

static void command(apr_pool_t *pool, const ctl_command *k)
{
    page_line(".It Cm %s%s%s%s%s", k->noun, k->verb ? " " : "", k->verb ? k->verb : "",
              k->arguments[0] ? " Ar " : "", k->arguments[0] ? page_word(pool, k->arguments) : "");
    page_text(k->summary);
    if (k->help) {
        page_line(".Pp");
        page_text(k->help);
    }
    if (k->options[0].name) {
        page_options(pool, k->options);
    }
}

void page_idadminctl(apr_pool_t *pool, const char *date)
{
    int count;
    const ctl_command *const *commands = ctl_commands(pool, &count);
    page_begin(date, "IDADMINCTL", "1", "idadminctl", "administration of mod_idadmin");
    page_line(".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar arguments\n.Op Ar options\n"
              ".Nm\n.Cm help\n.Op Ar command\n.Sh DESCRIPTION");
    page_text("Reads and changes what mod_idadmin keeps: tenant documents, API keys, people, "
              "tasks, access, the audit log. Commands that change something leave a record in the "
              "audit log. Run it as the user of `idadmin-worker`.");
    page_line(".Pp\nThese options go with every command:");
    page_options(pool, ctl_common_options);
    page_line(".Sh COMMANDS");
    for (int i = 0; i < count; i++) {
        int first = i == 0 || strcmp(commands[i - 1]->noun, commands[i]->noun) != 0;
        int last = i + 1 == count || strcmp(commands[i + 1]->noun, commands[i]->noun) != 0;
        if (first) {
            page_line(".Ss %s\n.Bl -tag -width Ds", commands[i]->noun);
        }
        command(pool, commands[i]);
        if (last) {
            page_line(".El");
        }
    }
    page_line(".Sh ENVIRONMENT\n.Bl -tag -width Ds");
    page_item("Ev IDADMIN_STORE", "the store, where `--store` is not given");
    page_item("Ev IDADMIN_REQUEST_ID",
              "the identity under which the audit log and tasks have the command: 1 to 64 letters, "
              "digits and `- _ . : + / =`; what is no such value is ignored, and one is made");
    page_item("Ev TRACEPARENT", "the trace (W3C Trace Context) that the command belongs to");
    page_line(".El\n.Sh FILES\n.Bl -tag -width Ds");
    page_item("Pa " IDA_SYSCONFDIR "/idadmin/idadmin.conf", "configuration");
    page_item("Pa " IDA_LOCALSTATEDIR "/lib/idadmin", "store, keys and audit spool");
    page_line(".El\n.Sh EXIT STATUS");
    page_text(CTL_EXIT_STATUS);
    page_line(".Sh SEE ALSO\n.Xr idadmin-tenant 5 ,\n.Xr idadmin.conf 5 ,\n"
              ".Xr idadmin-worker 8 ,\n.Xr mod_idadmin 8");
}
