/* idadminctl user show: the operation, and a list of accounts if several have the address. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"
#include "core/cache/person.h"
#include "worker/ctl/operation.h"

/* An administrator knows them by DN. */
static void name_carriers(ctl_call *ctl, store *s)
{
    const cache_carrier *rows;
    int count;
    ida_ctx *c = ida_ctx_make(ctl->c->env, ctl->pool);
    const char *text = ctl->c->message;
    if (cache_carriers(s, c, ctl->arguments[0], ctl->arguments[1], &rows, &count)) {
        return;
    }
    for (int i = 0; i < count; i++) {
        text = apr_pstrcat(ctl->pool, text, "\n", rows[i].id, "  ",
                           rows[i].dn ? ida_clean(ctl->pool, rows[i].dn, strlen(rows[i].dn), 1024)
                                      : "",
                           NULL);
    }
    ida_fail(ctl->c, IDA_CONFLICT, "%s", text);
}

int ctl_user_show(ctl_call *ctl)
{
    ida_call call;
    ida_kind kind = ctl_operation_run(ctl, &call);
    if (kind == IDA_CONFLICT) {
        name_carriers(ctl, ctl->store);
    }
    return ctl_operation_end(ctl, &call, kind);
}
