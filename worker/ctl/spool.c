/* Owns how the audit spool of this node is shown. Must not know its segments. */
#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/ctl/health.h"
#include "worker/ingest.h"

json_t *ctl_spool_json(ctl_call *ctl, store *s)
{
    const worker_config *config = &ctl->config;
    ingest_waiting waiting;
    const char *problem = NULL;
    ida_kind kind = ingest_backlog(s, ctl->c, config->spool, &waiting);
    if (kind && !(kind == IDA_NOT_FOUND && !config->spool_given)) {
        problem = ida_printf(ctl->pool, "%s",
                             ctl->c->message ? ctl->c->message : ida_kind_text(kind));
    } else if (waiting.unreadable || waiting.strangers) {
        problem = ida_printf(ctl->pool, "%s cannot be opened, %s and skipped",
                             ida_count(ctl->pool, waiting.unreadable, "segment", "segments"),
                             ida_count(ctl->pool, waiting.strangers, "file is not a regular file",
                                       "files are not regular files"));
    }
    ida_ctx_clear(ctl->c);
    json_t *spool = json_pack("{s:s, s:i, s:I, s:i}", "directory", config->spool, "segments",
                              waiting.segments, "bytes", (json_int_t)waiting.bytes, "passedOver",
                              waiting.strangers);
    json_object_set_new(spool, "oldestSeconds",
                        waiting.segments
                            ? json_integer((ida_now(ctl->c->env) - waiting.oldest) / 1000)
                            : json_null());
    ida_json_put_or_null(spool, "problem", problem);
    return ida_json_keep(ctl->pool, spool);
}

void ctl_spool_say(ctl_call *ctl, const json_t *spool)
{
    const char *problem = ida_json_string(spool, "problem");
    json_int_t segments = json_integer_value(json_object_get(spool, "segments"));
    ctl_say(
        ctl,
        segments ? "Audit spool %s: %s with %s %s, the oldest for %s."
                 : "Audit spool %s: nothing waits.",
        ida_json_string(spool, "directory"), ida_count(ctl->pool, segments, "segment", "segments"),
        ida_count(ctl->pool, json_integer_value(json_object_get(spool, "bytes")), "byte", "bytes"),
        segments == 1 ? "waits" : "wait",
        ida_count(ctl->pool, json_integer_value(json_object_get(spool, "oldestSeconds")), "second",
                  "seconds"));
    if (problem) {
        ctl_say(ctl, "Audit spool: %s.", problem);
    }
}
