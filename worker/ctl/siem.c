/* idadminctl about the log server of audit_siem: what waits for it, and whom a hash means there. */
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/chain_key.h"
#include "core/store/forward.h"
#include "core/store/tenant.h"
#include "worker/ctl/chain.h"
#include "worker/ctl/health.h"

static ida_kind add_company(ctl_call *ctl, store *s, const char *tenant, store_backlog *all)
{
    store_backlog one;
    ida_kind kind = store_forward_backlog(s, ctl->c, tenant, &one);
    all->records += one.records;
    if (one.oldest && (!all->oldest || one.oldest < all->oldest)) {
        all->oldest = one.oldest;
    }
    return kind;
}

json_t *ctl_backlog_json(ctl_call *ctl, store *s)
{
    const store_tenant_id *ids = NULL;
    store_backlog all = {0};
    int count = 0;
    if (!ctl->config.audit_siem) {
        return NULL;
    }
    ida_kind kind = store_tenant_ids(s, ctl->c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        kind = add_company(ctl, s, ids[i].id, &all);
    }
    json_t *out = json_pack("{s:s, s:I}", "server", ctl->config.audit_siem, "records",
                            (json_int_t)all.records);
    json_object_set_new(out, "oldestSeconds",
                        all.oldest ? json_integer((ida_now(ctl->c->env) - all.oldest) / 1000)
                                   : json_null());
    ida_json_put_or_null(out, "problem", kind ? ctl->c->message : NULL);
    ida_ctx_clear(ctl->c);
    return ida_json_keep(ctl->pool, out);
}

void ctl_backlog_say(ctl_call *ctl, const json_t *backlog)
{
    const char *problem = ida_json_string(backlog, "problem");
    json_int_t records = json_integer_value(json_object_get(backlog, "records"));
    if (!backlog) {
        return;
    }
    ctl_say(ctl,
            problem   ? "Log server %s: %s known to wait: %s"
            : records ? "Log server %s: %s, the oldest for %s."
                      : "Log server %s: no audit record waits.",
            ida_json_string(backlog, "server"),
            problem ? ida_count(ctl->pool, records, "audit record is", "audit records are")
                    : ida_count(ctl->pool, records, "audit record waits", "audit records wait"),
            problem ? problem
                    : ida_count(ctl->pool,
                                json_integer_value(json_object_get(backlog, "oldestSeconds")),
                                "second", "seconds"));
}

int ctl_audit_pseudonym(ctl_call *ctl)
{
    audit_keys keys = {0};
    const char *name = ctl->arguments[1];
    ida_kind kind = ctl_tenant_exists(ctl, ctl_store(ctl, DB_REQUEST), ctl->arguments[0]);
    kind = kind ? kind : audit_keys_read(ctl->c, ctl->config.audit_key, &keys);
    const char *hash = kind ? NULL
                            : audit_pseudonym(ctl->pool, &keys.all[0], ctl->arguments[0], name);
    audit_keys_wipe(&keys);
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl, json_pack("{s:s}", "pseudonym", hash), "%s", hash);
}
