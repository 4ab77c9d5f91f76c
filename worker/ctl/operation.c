/* idadminctl's commands that are operations: made from the rows of the operation table. Owns the
 * connection, the actor, and where the answer goes; the rest is the face's
 * (core/face/command.h). */
#include "worker/ctl/operation.h"

#include <apr_strings.h>
#include <stdio.h>
#include <string.h>

#include "core/operation/table.h"
#include "core/store/tenant.h"

/* --- commands from rows --- */

#define ALL "all"

/* A command and its operation. */
typedef struct operation_command {
    ctl_command command;
    const ida_operation *operation;
    const ida_command *row;
    const char *argument[CTL_MAX_OPTIONS]; /* the argument of each option; NULL: none */
} operation_command;

static const operation_command *running(const ctl_call *ctl)
{
    return (const operation_command *)ctl->command;
}

static const char *placeholder(const ida_param *p)
{
    return p->type == IDA_PARAM_INTEGER   ? "N"
           : p->type == IDA_PARAM_BOOLEAN ? ARGUMENT_SWITCH
           : p->type == IDA_PARAM_LIST    ? "WORD,..."
           : p->type == IDA_PARAM_TIME    ? "TIME"
                                          : "TEXT";
}

static int is_list(apr_pool_t *pool, const operation_command *k)
{
    const ida_param *cursor = ida_param_find(k->operation->params, "cursor");
    cursor = cursor ? cursor : ida_param_find(k->operation->params, "after");
    return cursor && ida_command_option(pool, k->row, cursor);
}

static void add_options(apr_pool_t *pool, operation_command *k)
{
    argument_option *options = k->command.options;
    const ida_param *p;
    int count = options[0].name != NULL;
    for (int i = 0; (p = ida_command_argument(k->operation, i)) != NULL; i++) {
        const char *name = ida_command_option(pool, k->row, p);
        if (name && count < CTL_MAX_OPTIONS - 2) {
            k->argument[count] = p->name;
            options[count++] = (argument_option){name, placeholder(p), ida_command_about(pool, p)};
        }
    }
    if (is_list(pool, k)) {
        options[count] = (argument_option){ALL, NULL, "list every page, not only the first"};
    }
}

static const ida_param *argument_named(const ida_operation *op, const char *name)
{
    const ida_param *p = NULL;
    for (int i = 0; (p = ida_command_argument(op, i)) != NULL && strcmp(p->name, name) != 0;) {
        i++;
    }
    return p;
}

static void take_over(apr_pool_t *pool, ctl_command *command, const ctl_beside *beside)
{
    while (beside->noun && !(strcmp(beside->noun, command->noun) == 0 && command->verb &&
                             strcmp(beside->verb, command->verb) == 0)) {
        beside++;
    }
    if (beside->noun) {
        command->run = beside->run;
        command->options[0] = beside->option;
    }
    if (beside->option.name) { /* the option can replace the last argument */
        const char *last = strrchr(command->arguments, ' ');
        command->arguments = ida_printf(pool, "%.*s [%s]", (int)(last - command->arguments),
                                        command->arguments, last + 1);
    }
}

static ctl_command *command_of(apr_pool_t *pool, const ida_operation *op, const ida_command *row,
                               const ctl_beside *beside)
{
    operation_command *k = apr_pcalloc(pool, sizeof *k);
    ctl_command *command = &k->command;
    k->operation = op;
    k->row = row;
    command->noun = row->noun;
    command->verb = row->verb;
    command->arguments = "ID";
    command->summary = row->summary ? row->summary : op->summary;
    command->help = row->help;
    command->run = ctl_operation;
    for (const ida_command_word *at = row->at; at->argument; at++) {
        int required = (argument_named(op, at->argument)->flags & IDA_PARAM_REQUIRED) != 0;
        command->arguments = apr_pstrcat(pool, command->arguments, required ? " " : " [", at->word,
                                         required ? NULL : "]", NULL);
    }
    take_over(pool, command, beside);
    add_options(pool, k);
    return command;
}

void ctl_operation_commands(apr_pool_t *pool, const ctl_beside *beside,
                            apr_array_header_t *commands)
{
    for (int i = 0; ida_operations[i]; i++) {
        const ida_command *row = ida_operations[i]->commands;
        for (; row && row->noun; row++) {
            APR_ARRAY_PUSH(commands, const ctl_command *) = command_of(pool, ida_operations[i], row,
                                                                       beside);
        }
    }
}

/* --- calls --- */

/* A row with any_document runs even if the document is damaged or not sealed: in that case an
 * administrator still needs to read the audit log, cancel tasks and disable keys. */
static ida_kind load_tenant(ctl_call *ctl, const ida_command *row, ida_tenant **tenant)
{
    const char *id = ctl->arguments[0];
    ida_kind kind = ctl_tenant_exists(ctl, ctl->store, id);
    kind = kind ? kind : store_tenant_get(ctl->store, ctl->c, id, tenant, NULL);
    if (kind == IDA_INTERNAL_ERROR && row->any_document) {
        ida_ctx_clear(ctl->c);
        *tenant = apr_pcalloc(ctl->pool, sizeof **tenant);
        (*tenant)->id = apr_pstrdup(ctl->pool, id);
        (*tenant)->time_zone = "UTC";
        (*tenant)->seat_limit = -1;
        kind = IDA_OK;
    }
    return kind;
}

/* A person who can run the command is an administrator of every company. */
static ida_question *question_of(ctl_call *ctl, const ida_operation *op)
{
    ida_question *asked = apr_pcalloc(ctl->pool, sizeof *asked);
    ida_principal *principal = apr_pcalloc(ctl->pool, sizeof *principal);
    ida_person *person = apr_pcalloc(ctl->pool, sizeof *person);
    principal->company = ctl->arguments[0];
    principal->username = person->user = ctl->actor;
    principal->label = ctl->label;
    asked->roles = 1u << IDA_ROLE_ADMINISTRATOR;
    asked->operation = op;
    asked->principal = principal;
    asked->person = person;
    asked->endpoint = ctl_endpoint(ctl);
    asked->export_most = INT64_MAX;
    return asked;
}

ida_kind ctl_operation_begin(ctl_call *ctl, const ida_operation *op, const ida_command *row,
                             ida_call *call, ida_question **asked)
{
    ida_tenant *tenant = NULL;
    ctl->store = ctl->store ? ctl->store : ctl_store(ctl, DB_REQUEST);
    *asked = question_of(ctl, op);
    *call = (ida_call){.c = ctl->c,
                       .asked = *asked,
                       .source = store_source_of(ctl->pool, ctl->store)};
    ida_command_begin(ctl->c, *asked, row);
    ida_kind kind = load_tenant(ctl, row, &tenant);
    (*asked)->tenant = tenant;
    return kind;
}

static void put_arguments(ctl_call *ctl, ida_question *asked)
{
    const operation_command *k = running(ctl);
    for (int i = 1; i < ctl->argument_count; i++) {
        ida_command_put(ctl->c, asked, k->row->at[i - 1].argument, ctl->arguments[i]);
    }
    for (int i = 0; k->command.options[i].name; i++) {
        if (k->argument[i] && ctl->values[i]) {
            ida_command_put(ctl->c, asked, k->argument[i], ctl->values[i]);
        }
    }
}

ida_kind ctl_operation_run(ctl_call *ctl, ida_call *call)
{
    ida_question *asked;
    ida_kind kind = ctl_operation_begin(ctl, running(ctl)->operation, running(ctl)->row, call,
                                        &asked);
    if (!kind) {
        put_arguments(ctl, asked);
        kind = ida_command_run(call, ctl_value(ctl, ALL) != NULL);
    }
    return kind;
}

int ctl_operation_end(ctl_call *ctl, const ida_call *call, ida_kind kind)
{
    const char *fault = kind ? ida_command_fault(call, running(ctl)->row) : NULL;
    if (fault) {
        return ctl_usage(ctl, "%s", fault);
    }
    if (!kind && !ctl_json(ctl, call->result)) {
        fputs(ida_command_text(call, running(ctl)->row, ctl_width()), stdout);
    }
    return ctl_result(ctl, kind);
}

int ctl_operation(ctl_call *ctl)
{
    ida_call call;
    ida_kind kind = ctl_operation_run(ctl, &call);
    return ctl_operation_end(ctl, &call, kind);
}
