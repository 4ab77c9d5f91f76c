/* idadmin-worker.8 and idadmin.conf.5, by the rows of options and settings. */
#include <apr_strings.h>

#include "manual/page.h"
#include "worker/base/config.h"
#include "worker/options.h"

static const char *with_default(apr_pool_t *pool, const worker_setting *s)
{
    return s->fallback ? apr_pstrcat(pool, s->about, ".\nDefault: ", s->fallback, ".", NULL)
                       : apr_pstrcat(pool, s->about, ".", NULL);
}

void page_worker(apr_pool_t *pool, const char *date)
{
    worker_setting s;
    page_begin(date, "IDADMIN-WORKER", "8", "idadmin-worker",
               "carries out the queue of mod_idadmin");
    page_line(".Sh SYNOPSIS\n.Nm\n.Op Ar options\n.Sh DESCRIPTION");
    page_text(WORKER_ABOUT);
    page_line(".Pp\nIts options:");
    page_options(pool, worker_own_options);
    page_line(".Pp\nAn option overrides the setting of the same name in\n"
              ".Xr idadmin.conf 5 :\n.Bl -tag -width Ds");
    for (int i = 0; worker_config_setting(i, &s); i++) {
        char *name = apr_pstrdup(pool, s.name);
        for (char *at = name; *at; at++) {
            *at = *at == '_' ? '-' : *at;
        }
        page_item(apr_pstrcat(pool, "Fl Fl ", name, " Ar ", page_word(pool, s.value), NULL),
                  s.about);
    }
    page_line(".El\n.Sh SIGNALS");
    page_text(WORKER_SIGNALS);
    page_line(".Sh ENVIRONMENT\n.Bl -tag -width Ds");
    page_item("Ev IDADMIN_STORE", "the store, where `--store` is not given");
    page_item("Ev NOTIFY_SOCKET", "where systemd is told that the worker serves, and what it does");
    page_line(".El\n.Sh FILES\n.Bl -tag -width Ds");
    page_item("Pa " IDA_SYSCONFDIR "/idadmin/idadmin.conf", "configuration");
    page_item("Pa " IDA_LOCALSTATEDIR "/lib/idadmin", "store, keys and audit spool");
    page_line(".El\n.Sh EXIT STATUS");
    page_text(WORKER_EXIT_STATUS);
    page_line(".Sh SEE ALSO\n.Xr idadminctl 1 ,\n.Xr idadmin-tenant 5 ,\n.Xr idadmin.conf 5 ,\n"
              ".Xr idadmin-writer 8 ,\n.Xr mod_idadmin 8");
}

void page_config(apr_pool_t *pool, const char *date)
{
    worker_setting s;
    page_begin(date, "IDADMIN.CONF", "5", "idadmin.conf",
               "configuration of idadmin-worker and idadminctl");
    page_line(".Sh DESCRIPTION");
    page_text("One setting a line: `name = value`. A line that begins with # is a comment, an "
              "empty one counts for nothing. Each setting is also an option of both programs, with "
              "- for _, which goes before the file. A time is a number with ms, s, m, h or d; "
              "without a unit it is seconds. httpd has directives of its own.");
    page_line(".Bl -tag -width Ds");
    for (int i = 0; worker_config_setting(i, &s); i++) {
        page_item(apr_pstrcat(pool, "Cm ", s.name, " No = Ar ", page_word(pool, s.value), NULL),
                  with_default(pool, &s));
    }
    page_line(".El\n.Sh FILES\n.Bl -tag -width Ds");
    page_item("Pa " IDA_SYSCONFDIR "/idadmin/idadmin.conf", "the file that is read by default");
    page_line(".El\n.Sh SEE ALSO\n.Xr idadminctl 1 ,\n.Xr idadmin-worker 8 ,\n"
              ".Xr mod_idadmin 8");
}
