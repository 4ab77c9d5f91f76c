/* Owns what a running command uses: values of its options, the store, its audit record, and its
 * exit. Must not know the command table. */
#include <apr_strings.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/face/answer.h"
#include "core/store/tenant.h"
#include "worker/ctl/ctl.h"
#include "worker/system_log.h"

const char *ctl_value(const ctl_call *ctl, const char *option)
{
    for (int i = 0; ctl->command->options[i].name; i++) {
        if (strcmp(ctl->command->options[i].name, option) == 0) {
            return ctl->values[i];
        }
    }
    return NULL;
}

int64_t ctl_number(const ctl_call *ctl, const char *option, int64_t absent, int64_t most)
{
    const char *text = ctl_value(ctl, option);
    char *end;
    errno = 0;
    long long number = text ? strtoll(text, &end, 10) : absent;
    int good = !text || (text[0] >= '1' && text[0] <= '9' && !*end && !errno && number <= most);
    return good ? number : 0;
}

int ctl_usage(ctl_call *ctl, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *message = apr_pvsprintf(ctl->pool, format, args);
    va_end(args);
    const ctl_command *k = ctl->command;
    const char *words = k ? apr_pstrcat(ctl->pool, " ", k->noun, k->verb ? " " : "", k->verb, NULL)
                          : "";
    message = apr_pstrcat(ctl->pool, message, "; see idadminctl", words, " --help", NULL);
    if (ctl->json) {
        fprintf(stderr, "%s\n", ida_answer_error_text(ctl->pool, IDA_BAD_REQUEST, message));
    } else {
        fprintf(stderr, "idadminctl: %s\n", message);
    }
    return CTL_USAGE;
}

int ctl_result(ctl_call *ctl, ida_kind kind)
{
    if (kind && ctl->json) {
        fprintf(stderr, "%s\n", ida_answer_fault_text(ctl->c, kind));
    } else if (kind) {
        fprintf(stderr, "idadminctl: %s\n",
                ctl->c->message ? ctl->c->message : ida_kind_text(kind));
    }
    return kind ? CTL_FAILED : CTL_DONE;
}

store *ctl_store(ctl_call *ctl, db_role role)
{
    store *s = store_make(ctl->pool, ctl->config.store, role);
    s->audit_key = ctl->config.audit_key;
    system_log_follow(s, &ctl->config);
    return s;
}

const char *ctl_endpoint(const ctl_call *ctl)
{
    return apr_pstrcat(ctl->pool, "idadminctl ", ctl->command->noun, ctl->command->verb ? " " : "",
                       ctl->command->verb, NULL);
}

audit_record *ctl_audit(ctl_call *ctl, const char *tenant, const char *action, const char *target)
{
    audit_record *record = audit_make(ctl->c, tenant, "command");
    record->actor = ctl->actor;
    record->label = ctl->label;
    record->action = action;
    record->target = target;
    record->endpoint = ctl_endpoint(ctl);
    record->outcome = "ok";
    return record;
}

ida_kind ctl_tenant_exists(ctl_call *ctl, store *s, const char *tenant)
{
    ida_stored_tenant stored;
    ida_kind kind = store_tenant_document(s, ctl->c, tenant, &stored);
    return kind == IDA_NOT_FOUND
               ? ida_fail(ctl->c, kind,
                          "There is no tenant %s; `idadminctl tenant list` names them.", tenant)
               : kind;
}
