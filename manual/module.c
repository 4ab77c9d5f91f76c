/* mod_idadmin.8 and idadmin-writer.8, by the rows of directives and handlers. */
#include <apr_strings.h>
#include <string.h>

#include "manual/page.h"

/* (What httpd needs of a row is not looked at here.) */
static const struct {
    const char *name, *where, *arguments, *fallback, *about;
} directives[] = {
#define DIRECTIVE(how, name, function, where, arguments, fallback, about) \
    {name, #where, arguments, fallback, about},
#include "mod_idadmin/directives.def"
#undef DIRECTIVE
};

static const struct {
    const char *name, *about;
} handlers[] = {
#define HANDLER(name, face, about) {name, about},
#include "mod_idadmin/handlers.def"
#undef HANDLER
};

static const char *place(const char *where)
{
    return strcmp(where, "RSRC_CONF") == 0     ? "the server's configuration"
           : strcmp(where, "ACCESS_CONF") == 0 ? "a Location"
                                               : "the server's configuration, a virtual host or a "
                                                 "Location";
}

/* Rows whose name begins with `prefix`. */
static void directive_items(apr_pool_t *pool, const char *prefix)
{
    for (size_t i = 0; i < sizeof directives / sizeof *directives; i++) {
        if (strncmp(directives[i].name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        page_item(apr_pstrcat(pool, "Ic ", directives[i].name, " Ar ",
                              page_word(pool, directives[i].arguments), NULL),
                  apr_pstrcat(pool, directives[i].about, ".\nStands in ",
                              place(directives[i].where), ".",
                              directives[i].fallback ? "\nDefault: " : NULL, directives[i].fallback,
                              ".", NULL));
    }
}

void page_module(apr_pool_t *pool, const char *date)
{
    page_begin(date, "MOD_IDADMIN", "8", "mod_idadmin",
               "identity administration by REST, MCP and console in Apache httpd");
    page_line(".Sh SYNOPSIS\n.Ic LoadModule idadmin_module Pa mod_idadmin.so\n.Sh DESCRIPTION");
    page_text("Takes hires, changes and offboardings over REST, answers questions of assistants "
              "over MCP, and serves the console. `idadmin-worker` carries out what is accepted. "
              "These directives configure it:");
    page_line(".Bl -tag -width Ds");
    directive_items(pool, "");
    page_line(".El\n.Pp\nWhat\n.Ic SetHandler\ntakes:\n.Bl -tag -width Ds");
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        page_item(apr_pstrcat(pool, "Ic ", handlers[i].name, NULL),
                  apr_pstrcat(pool, handlers[i].about, ".", NULL));
    }
    page_line(".El\n.Pp\nAuthentication and authorisation:\n.Bl -tag -width Ds");
    page_item("Ic AuthType IdAdmin",
              "reads the headers X-Company-ID, X-Api-User and X-Api-Key, and removes them.");
    page_item("Ic Require idadmin-scope Ar read|write", "keys that may read; keys that may write.");
    page_item("Ic Require idadmin-company Ar \"ID ...\"", "keys of these companies.");
    page_line(".El\n.Sh FILES\n.Bl -tag -width Ds");
    page_item("Pa " IDA_LOCALSTATEDIR "/lib/idadmin", "store, keys and audit spool");
    page_line(".El\n.Sh SEE ALSO\n.Xr idadminctl 1 ,\n.Xr idadmin-tenant 5 ,\n"
              ".Xr apache2 8 ,\n.Xr idadmin-worker 8 ,\n.Xr idadmin-writer 8");
}

void page_writer_process(apr_pool_t *pool, const char *date)
{
    page_begin(date, "IDADMIN-WRITER", "8", "idadmin-writer",
               "the process through which httpd with mod_idadmin writes");
    page_line(".Sh SYNOPSIS\n.Nm\n.Op Fl Fl version\n.Sh DESCRIPTION");
    page_text("httpd's parent starts it, with a second one that stands by, and starts it anew when "
              "it ends; it is not started by hand. Children of httpd hand it each write with the "
              "caller's credentials, which it judges anew. So a hole in httpd's children reads the "
              "store, but writes nothing into it, and reads no key.");
    page_text("It gives up root, listens nowhere and has no configuration of its own: httpd gives "
              "it the settings of these directives, the rate limits, the roles of the console and "
              "LogLevel of module idadmin. Its log lines are in httpd's error log.");
    page_line(".Bl -tag -width Ds");
    directive_items(pool, "IdAdminWriter");
    directive_items(pool, "IdAdminSealKey");
    page_line(".El\n.Sh SIGNALS");
    page_text("TERM ends it; httpd starts another one. httpd ends it by closing its socket, at a "
              "stop and at a restart. It ignores HUP, INT, USR1, USR2 and WINCH, which are meant "
              "for httpd.");
    page_line(".Sh FILES\n.Bl -tag -width Ds");
    page_item("Pa " IDA_LOCALSTATEDIR "/lib/idadmin", "store and seal key, which its user reads");
    page_line(".El\n.Sh EXIT STATUS");
    page_text("0 httpd has ended it, 1 it does not start (IDA0236), 2 started by hand.");
    page_line(".Sh SEE ALSO\n.Xr apache2 8 ,\n.Xr idadmin-worker 8 ,\n.Xr mod_idadmin 8");
}
