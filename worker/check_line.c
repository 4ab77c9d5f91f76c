/* Owns the form of a check's line, and what is to be done about one that is not well. Must not know
 * how a check is made. */
#include <string.h>

#include "core/base/json.h"
#include "worker/checks.h"

static const char *const words[] = {"ok", "warning", "fault"};

/* By the beginning of the check's name; the last row is for all others. NULL: the detail says it.
 */
static const struct {
    const char *check, *todo;
} todos[] = {
    {"users", "give httpd and the worker users of their own; owner and mode of that file: "
              "doc/install.md, step 3"},
    {"store", "start the store or correct `store`; for its schema idadminctl schema upgrade, then "
              "restart httpd and the worker"},
    {"put aside", "once it is no longer needed: idadminctl aside --remove"},
    {"workers", "systemctl start idadmin-worker; journalctl -u idadmin-worker says why it ended"},
    {"settings", "idadminctl tenant apply with the full document"},
    {"files of secrets", "owner and mode of that file: doc/install.md, step 3"},
    {"time zone", "install tzdata, or name a zone of it as timeZone"},
    {"API key", "make its successor (idadminctl key create) and move the caller over"},
    {"connect", "correct urls, caFile, bindDn or bindPasswordFile in the tenant document, or the "
                "server"},
    {"token", "correct directoryId, clientId or the credential in the tenant document, or the "
              "application"},
    {"users readable", "let the service account read them (doc/directories.md)"},
    {"rights", NULL},
    {"keys", NULL},
    {"certificate", NULL},
    {"receiver's certificate", NULL},
    {"database", NULL},
    {"bind password", NULL},
    {"password policy", NULL},
    {"content synchronisation", NULL},
    {"clock", "synchronise the clocks of both machines (NTP)"},
    {"schema", "let the service account read the server's schema"},
    {"addresses", "give each person an address of their own"},
    {"managers", "keep one manager for each person"},
    {"group", "correct the group's name in the tenant document, or make the group"},
    {"people", "add the on-premises directory to the tenant document, or disable leavers there"},
    {"person", "write whom you mean into the tenant document (doc/tenant.md, Names of people)"},
    {"receiver", "correct url and caFile in the tenant document, or start the receiver; its "
                 "certificate is shown by openssl s_client -connect HOST:PORT"},
    {"mail", "correct smtp_url and smtp_ca_file in idadmin.conf, or the server; its certificate is "
             "shown by openssl s_client -connect HOST:PORT, behind STARTTLS with -starttls smtp"},
    {"", "doc/directories.md says what the service account needs; doc/troubleshooting.md has each "
         "symptom"},
};

const char *check_level_word(check_level level)
{
    return words[level];
}

static const char *todo_of(const char *check)
{
    size_t i = 0;
    while (strncmp(check, todos[i].check, strlen(todos[i].check)) != 0) {
        i++;
    }
    return todos[i].todo;
}

void check_line(check_look *look, const char *of, const char *check, check_level level,
                const char *detail)
{
    json_t *line = json_object();
    ida_json_put_or_null(line, "of", of);
    ida_json_put(line, "check", check);
    ida_json_put(line, "level", words[level]);
    json_object_set_new(line, "ok", json_boolean(level != CHECK_FAULT));
    ida_json_put_or_null(line, "detail", detail && *detail ? detail : NULL);
    ida_json_put_or_null(line, "todo", level == CHECK_OK ? NULL : todo_of(check));
    json_array_append_new(look->lines, line);
    look->worst = level > look->worst ? level : look->worst;
}

void check_judge(check_look *look, const char *of, const char *check, const char *fault,
                 const char *good)
{
    check_line(look, of, check, fault ? CHECK_FAULT : CHECK_OK, fault ? fault : good);
}

int check_take(check_look *look, const char *of, const json_t *report)
{
    int failed = 0;
    size_t i;
    json_t *row;
    json_array_foreach ((json_t *)report, i, row) {
        const char *check = ida_json_string(row, "check");
        int ok = json_is_true(json_object_get(row, "ok"));
        check_level level = !ok                             ? CHECK_FAULT
                            : ida_json_string(row, "level") ? CHECK_WARNING
                                                            : CHECK_OK;
        failed += !ok;
        check_line(look, of, check ? check : "check", level, ida_json_string(row, "detail"));
    }
    return failed;
}
