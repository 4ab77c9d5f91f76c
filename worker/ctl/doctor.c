/* idadminctl doctor: the whole table of checks, of this machine and of each company, with what to
 * do about each. Changes nothing. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/tenant.h"
#include "worker/checks.h"
#include "worker/ctl/ctl.h"
#include "worker/ctl/health.h"

static void look_at_company(check_look *look, const char *id)
{
    ida_tenant *tenant = NULL;
    ida_kind kind = store_tenant_get(look->main, look->c, id, &tenant, NULL);
    check_judge(look, NULL, "settings",
                kind ? look->c->message ? look->c->message : ida_kind_text(kind) : NULL,
                "sealed by idadminctl");
    ida_ctx_clear(look->c);
    if (!kind) {
        look->tenant = tenant;
        checks_walk(look, CHECK_TENANT);
        look->tenant = NULL;
    }
}

/* The lines from `first` on are of this company. */
static void name_company(const check_look *look, size_t first, const char *id)
{
    for (size_t i = first; i < json_array_size(look->lines); i++) {
        ida_json_put(json_array_get(look->lines, i), "companyId", id);
    }
}

static ida_kind look_at_companies(check_look *look, const char *only)
{
    const store_tenant_id *ids = NULL;
    int count = 0, found = 0;
    ida_kind kind = store_tenant_ids(look->main, look->c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        size_t first = json_array_size(look->lines);
        if (!only || strcmp(only, ids[i].id) == 0) {
            look_at_company(look, ids[i].id);
            name_company(look, first, ids[i].id);
            found++;
        }
    }
    return only && !kind && !found
               ? ida_fail(look->c, IDA_NOT_FOUND,
                          "There is no tenant %s; `idadminctl tenant list` names them.", only)
               : IDA_OK; /* the walk of the machine has reported a store that is away */
}

static int count_of(const json_t *lines, check_level level)
{
    int count = 0;
    size_t i;
    json_t *line;
    json_array_foreach ((json_t *)lines, i, line) {
        count += strcmp(ida_json_string(line, "level"), check_level_word(level)) == 0;
    }
    return count;
}

static void say(ctl_call *ctl, const json_t *lines)
{
    const char *heading = NULL;
    size_t i;
    json_t *line;
    json_array_foreach ((json_t *)lines, i, line) {
        const char *company = ida_json_string(line, "companyId"), *of = ida_json_string(line, "of"),
                   *detail = ida_json_string(line, "detail"), *todo = ida_json_string(line, "todo");
        const char *now = company ? ida_printf(ctl->pool, "Company %s", company) : "This machine";
        if (!heading || strcmp(heading, now) != 0) {
            ctl_say(ctl, "%s", now);
            heading = now;
        }
        ctl_say(ctl, "  %-8s %s%s%s%s%s", ida_json_string(line, "level"), of ? of : "",
                of ? " " : "", ida_json_string(line, "check"), detail ? ": " : "",
                detail ? ida_clean(ctl->pool, detail, strlen(detail), 0) : "");
        if (todo) {
            ctl_say(ctl, "           to do: %s", todo);
        }
    }
}

ida_kind ctl_doctor_json(ctl_call *ctl, const char *company, json_t **document)
{
    static const char *const statuses[] = {"well", "warnings", "faults"};
    check_look look = {.c = ctl->c,
                       .pool = ctl->pool,
                       .config = &ctl->config,
                       .main = ctl_store(ctl, DB_REQUEST),
                       .lines = ida_json_keep(ctl->pool, json_array())};
    if (!check_become(ctl->pool, &ctl->config)) {
        return ida_fail(ctl->c, IDA_CONFLICT,
                        "%s cannot become the service's user: run it as that user.",
                        ctl->command->noun);
    }
    directory_library_init();
    checks_walk(&look, CHECK_MACHINE);
    ida_kind kind = look_at_companies(&look, company);
    *document = ida_json_keep(ctl->pool,
                              json_pack("{s:s, s:i, s:i, s:O}", "status", statuses[look.worst],
                                        "faults", count_of(look.lines, CHECK_FAULT), "warnings",
                                        count_of(look.lines, CHECK_WARNING), "checks", look.lines));
    return kind;
}

static int doctor(ctl_call *ctl)
{
    json_t *document;
    ida_kind kind = ctl_doctor_json(ctl, ctl->arguments[0], &document);
    if (kind) {
        return ctl_result(ctl, kind);
    }
    const json_t *lines = json_object_get(document, "checks");
    int warnings = count_of(lines, CHECK_WARNING), faults = count_of(lines, CHECK_FAULT);
    if (!ctl_json(ctl, document)) {
        say(ctl, lines);
        ctl_say(ctl, "%s, %s.", ida_count(ctl->pool, faults, "fault", "faults"),
                ida_count(ctl->pool, warnings, "warning", "warnings"));
    }
    return faults ? HEALTH_DOWN : warnings ? HEALTH_DEGRADED : HEALTH_WELL;
}

const ctl_command ctl_doctor_commands[] = {
    {"doctor", NULL, "[ID]",
     "Look for what is wrong with this installation, and say what to do about each.",
     .help =
         "Checks this machine (users, rights and owners, store, keys held against the store, "
         "workers, mail) and each company, or the company ID alone "
         "(its document, secrets, zone and API keys; each directory's servers, certificates, "
         "bind password, clock, rights and data; groups and receivers that the document names). "
         "Each line is ok, a warning or a fault. Connects to what is configured and changes "
         "nothing. Run by root it looks as the user of the service's files. Exit status: 0 well, 1 "
         "warnings, 2 faults.",
     .run = doctor},
    {0},
};
