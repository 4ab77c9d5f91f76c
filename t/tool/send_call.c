/* Sends a mail or calls a webhook as it is told: one JSON object a line in, one a line out. For
 * tests of what is made of each answer.
 *
 *   {"mail":{"to","subject","body","secret","id"},"smtp_url","smtp_from","smtp_user",
 *    "smtp_password_file","smtp_ca_file"}
 *   {"webhook":{"url","secretFile","caFile","id","body","allowPrivate"}}
 *   -> {"outcome":"done|refused|later|lost|gone","detail","retryAfter":ms,"ms":12} */
#include <apr_general.h>
#include <apr_strings.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "worker/directory/directory.h"
#include "worker/send/mail.h"
#include "worker/send/webhook.h"

static const char *text(const json_t *in, const char *name)
{
    const char *value = ida_json_string(in, name);
    return value ? value : "";
}

static const char *const outcomes[] = {"done", "refused", "later", "lost",
                                       "gone"}; /* in the order of both enumerations */

static int carry_out(const ida_env *env, apr_pool_t *pool, const json_t *in, int *retry_after,
                     const char **detail)
{
    const json_t *mail = json_object_get(in, "mail"), *hook = json_object_get(in, "webhook");
    if (mail) {
        const worker_config config = {.smtp_url = ida_json_string(in, "smtp_url"),
                                      .smtp_from = ida_json_string(in, "smtp_from"),
                                      .smtp_user = ida_json_string(in, "smtp_user"),
                                      .smtp_password_file = ida_json_string(in,
                                                                            "smtp_password_file"),
                                      .smtp_ca_file = ida_json_string(in, "smtp_ca_file")};
        const mail_message m = {.to = text(mail, "to"),
                                .subject = text(mail, "subject"),
                                .body = text(mail, "body"),
                                .secret = ida_json_string(mail, "secret"),
                                .id = text(mail, "id"),
                                .at_ms = ida_now(env)};
        int silent;
        return (int)mail_send(pool, &config, &m, detail, &silent);
    }
    const webhook_call call = {.url = text(hook, "url"),
                               .secret_file = text(hook, "secretFile"),
                               .ca_file = ida_json_string(hook, "caFile"),
                               .id = text(hook, "id"),
                               .body = text(hook, "body"),
                               .allow_private = json_is_true(
                                   json_object_get(hook, "allowPrivate"))};
    return (int)webhook_send(env, pool, &call, retry_after, detail);
}

int main(void)
{
    apr_pool_t *pool;
    ida_env env;
    char *line = NULL;
    size_t size = 0;
    apr_initialize();
    directory_library_init();
    ida_env_default(&env);
    while (getline(&line, &size, stdin) >
           1) { /* an empty line ends it: others may hold the pipe open */
        apr_pool_create(&pool, NULL);
        const json_t *in = ida_json_load(pool, line);
        const char *detail = NULL;
        int retry_after = 0;
        int64_t began = ida_monotonic(&env);
        int outcome = carry_out(&env, pool, in, &retry_after, &detail);
        json_t *out = ida_json_keep(pool, json_object());
        ida_json_put(out, "outcome", outcomes[outcome]);
        ida_json_put_or_null(out, "detail", detail);
        json_object_set_new(out, "retryAfter", json_integer(retry_after));
        json_object_set_new(out, "ms", json_integer(ida_monotonic(&env) - began));
        puts(ida_json_text(pool, out));
        fflush(stdout);
        apr_pool_destroy(pool);
    }
    free(line);
    apr_terminate();
    return 0;
}
