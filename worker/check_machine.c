/* Owns the doctor's look at this machine: users, store, keys, workers, mail.
 * Must not know companies. */
#include <openssl/crypto.h>
#include <string.h>
#include <unistd.h>

#include "core/base/build.h"
#include "core/base/json.h"
#include "core/base/time.h"
#include "core/base/web_user.h"
#include "core/store/chain_key.h"
#include "core/store/checkpoint.h"
#include "core/store/directory.h"
#include "worker/checks.h"
#include "worker/layout.h"
#include "worker/send/mail.h"

static const char *why(const check_look *look, ida_kind kind)
{
    return !kind              ? NULL
           : look->c->message ? ida_printf(look->pool, "%s", look->c->message)
                              : ida_kind_text(kind);
}

void check_users(check_look *look)
{
    const char *web = ida_web_user_name();
    const char *fault = why(look, layout_check(look->c, look->config));
    check_judge(look, NULL, "users", fault,
                web ? ida_printf(look->pool,
                                 "httpd's %s can neither read nor replace the seal key and the "
                                 "secrets",
                                 web)
                    : ida_printf(look->pool,
                                 "there is no %s on this machine from whom the secrets had to be "
                                 "kept",
                                 look->config->web_user));
}

void check_store(check_look *look)
{
    ida_kind kind = store_schema_look(look->main, look->c);
    kind = kind ? kind : store_schema_encoding(look->config->store, look->c);
    int64_t number = 0;
    kind = kind ? kind : store_schema_number(look->main, look->c, &number);
    check_judge(look, NULL, "store", why(look, kind),
                ida_printf(look->pool, "answers, with schema %lld", (long long)number));
    json_t *names = ida_json_keep(look->pool, json_array());
    if (!kind && !layout_aside(look->c, look->main, look->config, 0, names) &&
        json_array_size(names)) {
        check_line(look, NULL, "put aside", CHECK_WARNING,
                   ida_printf(look->pool,
                              "%s and %zu more of before a restore, with people who were erased "
                              "since",
                              json_string_value(json_array_get(names, 0)),
                              json_array_size(names) - 1));
    }
}

/* By the newest checkpoint of the first chain. */
static void check_signing_key(check_look *look)
{
    const char *tenant = NULL, *file = look->config->audit_signing_key;
    const audit_checkpoint *newest = NULL;
    unsigned char public[IDA_SECRET_LEN];
    if (store_chain_next(look->main, look->c, "", &tenant) || !tenant ||
        store_checkpoint_newest(look->main, look->c, tenant, &newest) || !newest) {
        return; /* nothing was signed yet, or check_store has said why */
    }
    const char *fault = why(look, audit_signer_public(look->c, file, public));
    if (!fault && !audit_checkpoint_valid(look->pool, public, newest)) {
        fault = ida_printf(look->pool,
                           "%s is not the key that the store's checkpoints are signed with: copy "
                           "that one here from another node or the backup",
                           file);
    }
    check_judge(look, "audit_signing_key", "keys", fault, "is the store's");
}

/* Held against what the store is under. */
void check_keys(check_look *look)
{
    const worker_config *config = look->config;
    const char *sealed_by = NULL;
    unsigned char key[IDA_SEAL_KEY_LEN];
    ida_kind kind = store_setting_get(look->main, look->c, IDA_SEAL_KEY_SETTING, &sealed_by);
    if (kind && kind != IDA_NOT_FOUND) {
        return; /* check_store has said why */
    }
    ida_ctx_clear(look->c);
    const char *fault = why(look, ida_seal_key_read(look->c, config->seal_key, key));
    if (fault && sealed_by && access(config->seal_key, F_OK) != 0) {
        fault = ida_printf(look->pool,
                           "%s is not there, and the store's tenant documents are sealed with it: "
                           "copy it here from another node or the backup; do not make another one",
                           config->seal_key);
    }
    if (!fault && sealed_by && strcmp(ida_seal_key_name(look->pool, key), sealed_by) != 0) {
        fault = ida_printf(look->pool,
                           "%s is not the key that the store's tenant documents are sealed with: "
                           "copy that one here from another node or the backup; do not seal anew",
                           config->seal_key);
    }
    OPENSSL_cleanse(key, sizeof key);
    check_judge(look, "seal_key", "keys", fault,
                sealed_by ? "is the store's" : "seals nothing yet");
    ida_ctx_clear(look->c);
    look->main->audit_key = config->audit_key;
    check_judge(look, "audit_key", "keys", why(look, store_audit_ready(look->main, look->c)),
                "is the store's");
    ida_ctx_clear(look->c);
    check_signing_key(look);
}

static void look_at_worker(check_look *look, const store_worker *one)
{
    const char *other = one->version && strcmp(one->version, ida_build) != 0
                            ? ida_printf(look->pool,
                                         "runs build %s, this program is %s: restart it after the "
                                         "upgrade",
                                         one->version, ida_build)
                            : NULL;
    check_level level = one->fault ? CHECK_FAULT : other ? CHECK_WARNING : CHECK_OK;
    check_line(look, one->id, "workers", level,
               one->fault ? one->fault
               : other    ? other
                          : "takes work");
}

void check_workers(check_look *look)
{
    const store_worker *workers;
    int running = 0, count = 0;
    int64_t now = ida_now(look->c->env), seen_at = 0;
    if (store_worker_list(look->main, look->c, &workers, &count)) {
        return; /* check_store has said why */
    }
    for (int i = 0; i < count; i++) {
        seen_at = workers[i].seen_at > seen_at ? workers[i].seen_at : seen_at;
        if (now - workers[i].seen_at < STORE_WORKER_SILENT_MS) {
            look_at_worker(look, &workers[i]);
            running++;
        }
    }
    if (!running) {
        check_line(look, NULL, "workers", CHECK_WARNING,
                   seen_at ? ida_printf(look->pool, "none runs, the last one was seen %s",
                                        ida_utc_text(look->pool, seen_at))
                           : "none has run on this store");
    }
}

void check_mail(check_look *look)
{
    const worker_config *config = look->config;
    if (!config->smtp_url && !config->smtp_from && !config->smtp_user) {
        return;
    }
    int64_t ends = 0;
    const char *fault = mail_settings_fault(look->pool, config);
    fault = fault ? fault : mail_unreachable(look->pool, config, &ends);
    if (ends && !fault) {
        check_end(look, "smtp_url", "mail", ends);
    } else {
        check_judge(look, "smtp_url", "mail", fault, "can be connected to, without TLS");
    }
}
