/* Owns the doctor's look at a company of the store: its secrets, its zone, its API keys. */
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/cache/reports.h"
#include "core/store/key.h"
#include "core/zone/zone.h"
#include "worker/checks.h"
#include "worker/send/webhook.h"

/* The files that the document names, judged as apply would judge them now. */
void check_secrets(check_look *look)
{
    ida_ctx *c = look->c;
    ida_kind kind = ida_tenant_files_check(c, look->tenant);
    if (!kind) {
        webhook_secrets_check(c, look->tenant);
        kind = ida_faults_raise(c);
    }
    check_judge(look, NULL, "files of secrets", kind ? c->message : NULL, NULL);
}

void check_zone(check_look *look)
{
    const zone_info *zone;
    const char *name = look->tenant->time_zone;
    ida_kind kind = zone_get(look->c, name, &zone);
    check_judge(look, NULL, "time zone",
                kind ? ida_printf(look->pool, "timeZone: %s",
                                  look->c->message ? look->c->message : ida_kind_text(kind))
                     : NULL,
                name);
}

void check_api_keys(check_look *look)
{
    const store_key_ending *keys;
    int count = 0;
    int64_t now = ida_now(look->c->env);
    if (store_keys_ending(look->main, look->c, look->tenant->id, now, now + IDA_ENDS_SOON_MS, &keys,
                          &count)) {
        return;
    }
    for (int i = 0; i < count; i++) {
        check_line(look, keys[i].username, "API key", CHECK_WARNING,
                   ida_printf(look->pool, "expires at %s",
                              ida_utc_text(look->pool, keys[i].expires_at)));
    }
}

void check_mastered(check_look *look)
{
    int64_t count = 0;
    if (!look->tenant->has_directory[IDA_DIR_ON_PREMISES] &&
        !cache_people_mastered_count(look->main, look->c, look->tenant->id, &count) && count) {
        check_line(look, NULL, "people", CHECK_WARNING,
                   ida_printf(look->pool,
                              "%lld enabled, of an on-premises directory that the tenant does not "
                              "have (onPremisesImmutableId): unless their synchronisation has "
                              "ended, the cloud directory refuses to disable them",
                              (long long)count));
    }
}
