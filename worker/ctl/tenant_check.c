/* idadminctl tenant check: what a document names, asked before it is applied. Changes nothing. */
#include <string.h>

#include "core/base/json.h"
#include "worker/checks.h"
#include "worker/ctl/ctl.h"

/* Rows of the table as this command has always shown them. */
static json_t *rows_of(apr_pool_t *pool, const json_t *lines)
{
    json_t *rows = ida_json_keep(pool, json_array()), *line;
    size_t i;
    json_array_foreach ((json_t *)lines, i, line) {
        const char *level = ida_json_string(line, "level");
        const char *result = strcmp(level, check_level_word(CHECK_FAULT)) == 0 ? "FAIL" : level;
        json_array_append_new(rows,
                              ida_json_texts("of", ida_json_string(line, "of"), "check",
                                             ida_json_string(line, "check"), "result", result,
                                             "detail", ida_json_string(line, "detail"), NULL));
    }
    return rows;
}

static int check(ctl_call *ctl)
{
    static const ctl_column columns[] = {
        {"", "result"}, {"OF", "of"}, {"CHECK", "check"}, {"DETAIL", "detail"}, {NULL, NULL}};
    check_look look = {.c = ctl->c,
                       .pool = ctl->pool,
                       .config = &ctl->config,
                       .main = ctl_store(ctl, DB_REQUEST),
                       .lines = ida_json_keep(ctl->pool, json_array())};
    ida_kind kind = ctl_tenant_merged(ctl, look.main, &look.tenant);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    directory_library_init();
    checks_walk(&look, CHECK_DOCUMENT);
    int failed = look.worst == CHECK_FAULT;
    const json_t *rows = rows_of(ctl->pool, look.lines);
    json_t *document = ida_json_keep(ctl->pool,
                                     json_pack("{s:s, s:b, s:O}", "companyId", look.tenant->id,
                                               "ok", !failed, "checks", rows));
    if (!ctl_json(ctl, document)) {
        ctl_table(ctl, rows, columns, "There is nothing to ask.");
        ctl_say(ctl, failed ? "Some checks failed." : "All checks passed.");
    }
    return failed ? CTL_FAILED : CTL_DONE;
}

const ctl_command ctl_tenant_check_commands[] = {
    {"tenant", "check", "FILE|-",
     "Ask directories, groups and receivers that a document names; nothing is stored.",
     .help = "The document is merged as `tenant apply` would. Each directory is asked what "
             "`idadmin-worker --check` asks; groups are looked up as of the last "
             "synchronisation; receivers of events and webhooks are connected to, nothing is "
             "sent. Exit status 1 if a check fails.",
     .run = check},
    {0},
};
