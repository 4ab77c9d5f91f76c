/* idadminctl cache: asks the worker to empty the directory cache of a tenant and to read it
 * again. */
#include "worker/ctl/request.h"

static int reset(ctl_call *ctl)
{
    sync_request request = {.reset = 1, .action = "cache.reset"};
    ida_kind kind = ctl_sync_request(ctl, ctl_store(ctl, DB_REQUEST), ctl->arguments[0], &request);
    if (!kind) {
        json_t *document = json_pack("{s:s, s:s}", "companyId", ctl->arguments[0], "result",
                                     "requested");
        if (!ctl_json(ctl, document)) {
            ctl_say(ctl,
                    "The worker will empty the cache of %s and sync it anew; until that is done "
                    "the service answers 503 for this tenant.",
                    ctl->arguments[0]);
        }
        json_decref(document);
    }
    return ctl_result(ctl, kind);
}

const ctl_command ctl_cache_commands[] = {
    {"cache",
     "reset",
     "ID",
     1,
     1,
     "Ask the worker to empty the directory cache of a tenant and sync it anew.",
     "Until the sync is done the tenant's users are unknown, and the service answers 503 for it. "
     "Nothing in a directory changes.",
     {{NULL, NULL, NULL}},
     reset},
    {0},
};
