/* idadminctl support: one JSON file for those who help, without secrets and, by default, without
 * names of people. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <curl/curl.h>
#include <openssl/crypto.h>

#include "core/base/build.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/time.h"
#include "core/governance/end.h"
#include "core/store/tenant.h"
#include "core/tenant/shape.h"
#include "worker/ctl/health.h"
#include "worker/ctl/scrub.h"

#define FORMAT 1
#define LINES_MAX 500 /* the last ones of each log */
#define LINE_BYTES_MAX 4096

typedef struct bundle {
    ctl_call *ctl;
    store *s;
    ctl_scrub scrub;
    json_t *document;
} bundle;

/* What could not be read is said in its place. */
static void put(bundle *b, const char *name, ida_kind kind, json_t *value)
{
    if (kind) {
        json_decref(value);
        value = json_pack("{s:s}", "unreadable",
                          b->ctl->c->message ? b->ctl->c->message : ida_kind_text(kind));
        ida_ctx_clear(b->ctl->c);
    }
    json_object_set_new(b->document, name, value);
}

static void add_system(bundle *b)
{
    struct utsname u;
    char line[256], os[256] = "";
    FILE *file = fopen("/etc/os-release", "re");
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "PRETTY_NAME=\"%255[^\"]", os);
    }
    if (file) {
        fclose(file);
    }
    uname(&u);
    json_object_set_new(
        b->document, "system",
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "os", os, "kernel", u.release, "machine",
                  u.machine, "curl", curl_version_info(CURLVERSION_NOW)->version, "openssl",
                  OpenSSL_version(OPENSSL_VERSION), "engine",
                  store_sqlite_path(b->ctl->config.store) ? "sqlite" : "postgresql"));
}

/* The file of passwords that a DSN names. */
static void learn_passfile(bundle *b, const char *dsn)
{
    const char *name = strstr(dsn, "passfile=");
    if (name) {
        name += strlen("passfile=");
        ctl_scrub_file(&b->scrub,
                       ida_printf(b->ctl->pool, "%.*s", (int)strcspn(name, " \r\n"), name));
    }
}

/* "name = value" lines, without comments. */
static void add_configuration(bundle *b)
{
    char line[LINE_BYTES_MAX];
    const char *name = b->ctl->config.file;
    json_t *lines = json_array();
    FILE *file = name ? fopen(name, "re") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        size_t blank = strspn(line, " \t\r\n");
        line[strcspn(line, "\r\n")] = '\0';
        if (line[blank] && line[blank] != '#') {
            json_array_append_new(lines, json_string(line + blank));
            learn_passfile(b, line);
        }
    }
    if (file) {
        fclose(file);
    }
    json_object_set_new(b->document, "configuration", lines);
    ida_json_put(b->document, "store", b->ctl->config.store);
}

/* --- companies --- */

/* Texts of mails are a company's own. Lists of people stay as long as they are. */
static void without_texts(const ctl_scrub *s, json_t *value)
{
    static const char *const texts[] = {"body", "subject"};
    static const char *const people[] = {"protectedAccounts", "approvers"};
    const char *name;
    json_t *inner;
    size_t i, k;
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        json_t *text = json_object_get(value, texts[i]);
        if (json_is_string(text)) {
            json_string_set(text, ida_printf(s->pool, "(%zu bytes)", json_string_length(text)));
        }
    }
    for (i = 0; !s->names && i < sizeof people / sizeof *people; i++) {
        json_array_foreach (json_object_get(value, people[i]), k, inner) {
            json_string_set(inner, "(a person)");
        }
    }
    json_object_foreach (value, name, inner) {
        without_texts(s, inner);
    }
    json_array_foreach (value, i, inner) {
        without_texts(s, inner);
    }
}

static void visit_secret(ida_ctx *c, const char *member, const char *path, int secret)
{
    (void)member;
    if (secret) {
        json_array_append_new(c->details, json_string(path));
    }
}

static ida_kind company_json(bundle *b, const store_tenant_id *id, json_t *rows)
{
    ida_ctx *c = b->ctl->c, *visit = ida_ctx_make(c->env, c->pool);
    ida_stored_tenant stored;
    governance_end f;
    json_t *path;
    size_t i;
    ida_kind kind = store_tenant_document(b->s, c, id->id, &stored);
    kind = kind ? kind : governance_end_figures(b->s, c, id->id, &f);
    if (kind) {
        return kind;
    }
    json_t *document = ida_json_load(c->pool, stored.document);
    visit->details = ida_json_keep(c->pool, json_array());
    ida_tenant_files(visit, document, visit_secret);
    json_array_foreach (visit->details, i, path) {
        ctl_scrub_file(&b->scrub, json_string_value(path));
    }
    without_texts(&b->scrub, document);
    json_array_append_new(
        rows, json_pack("{s:s, s:s, s:I, s:O?, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "companyId",
                        id->id, "state", id->state, "revision", (json_int_t)id->revision,
                        "document", document, "people", (json_int_t)f.people, "tasks",
                        (json_int_t)f.tasks, "openTasks", (json_int_t)f.open_tasks, "running",
                        (json_int_t)f.running, "events", (json_int_t)f.events, "unsentEvents",
                        (json_int_t)f.unsent, "keys", (json_int_t)f.keys));
    return IDA_OK;
}

static ida_kind companies_json(bundle *b, json_t *rows)
{
    const store_tenant_id *ids = NULL;
    int count = 0;
    ida_kind kind = store_tenant_ids(b->s, b->ctl->c, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        kind = company_json(b, &ids[i], rows);
    }
    return kind;
}

/* --- logs --- */

/* A message of this service: "IDA" and four digits. */
static int has_id(const char *line)
{
    for (const char *at = strstr(line, "IDA"); at; at = strstr(at + 1, "IDA")) {
        if (strspn(at + 3, "0123456789") == 4) {
            return 1;
        }
    }
    return 0;
}

static ida_kind log_json(bundle *b, const char *name, json_t *lines)
{
    char line[LINE_BYTES_MAX];
    FILE *file = fopen(name, "re");
    if (!file) {
        return ida_fail(b->ctl->c, IDA_BAD_REQUEST, "%s: %s", name, strerror(errno));
    }
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        json_t *text = has_id(line) ? json_string(line) : NULL; /* NULL: no UTF-8 */
        if (text) {
            json_array_append_new(lines, text);
        }
        if (json_array_size(lines) > LINES_MAX) {
            json_array_remove(lines, 0);
        }
    }
    fclose(file);
    return IDA_OK;
}

static void add_logs(bundle *b)
{
    static const char *const options[] = {"httpd-log", "worker-log"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *name = ctl_value(b->ctl, options[i]);
        json_t *lines = name ? json_array() : NULL;
        if (name) {
            put(b, options[i], log_json(b, name, lines), lines);
        }
    }
}

/* --- all of it --- */

/* Before anything is cleaned. */
static void learn_secrets(bundle *b)
{
    const worker_config *config = &b->ctl->config;
    ctl_scrub_begin(&b->scrub, b->ctl->c, ctl_value(b->ctl, "with-names") != NULL);
    ctl_scrub_file(&b->scrub, config->smtp_password_file);
    ctl_scrub_file(&b->scrub, config->audit_webhook_secret_file);
    learn_passfile(b, config->store);
}

static void fill(bundle *b)
{
    ctl_call *ctl = b->ctl;
    json_t *status = NULL, *companies = json_array(), *reasons = json_array();
    learn_secrets(b);
    json_object_set_new(b->document, "format", json_integer(FORMAT));
    ida_json_put_time(b->document, "at", ida_now(ctl->c->env));
    ida_json_put(b->document, "version", ida_build);
    add_system(b);
    add_configuration(b);
    put(b, "companies", companies_json(b, companies), companies);
    ida_kind kind = ctl_status_json(ctl, b->s, &status);
    put(b, "status", kind, status);
    int health = ctl_health(ctl, b->s, ctl_spool_json(ctl, b->s), reasons);
    json_object_set_new(b->document, "health",
                        json_pack("{s:s, s:o}", "status", ctl_health_word(health), "reasons",
                                  reasons));
    add_logs(b);
    ctl_scrub_json(&b->scrub, b->document);
}

static int support(ctl_call *ctl)
{
    const char *to = ctl->arguments[0];
    bundle b = {.ctl = ctl, .s = ctl_store(ctl, DB_REQUEST)};
    b.document = ida_json_keep(ctl->pool, json_object());
    fill(&b);
    char *text = json_dumps(b.document, JSON_INDENT(2));
    size_t len = text ? strlen(text) : 0;
    int error = text ? ida_file_write(to, text, len, 0600, geteuid(), getegid()) : ENOMEM;
    free(text);
    if (error) {
        return ctl_result(ctl, ida_fail(ctl->c, IDA_BAD_REQUEST, "%s: %s", to, strerror(error)));
    }
    return ctl_answer(ctl,
                      json_pack("{s:s, s:I, s:b}", "file", to, "bytes", (json_int_t)len, "names",
                                b.scrub.names),
                      "%s has %zu bytes, no secret, and %s. Read it before you send it.", to, len,
                      b.scrub.names ? "names of people" : "pseudonyms in the place of people");
}

const ctl_command ctl_support_commands[] = {
    {"support", NULL, "FILE",
     "Write a file for those who help: versions, state, settings, last messages; no secrets.",
     .help =
         "One JSON document: builds, libraries, configuration, tenant documents, status, health, "
         "numbers, and the last messages with an ID of the logs that are named. Secrets, "
         "passwords, API keys, paths of URLs and texts of mails are left out. People have "
         "pseudonyms that hold within one file. FILE must not exist.",
     .options = {{"httpd-log", "FILE", "httpd's error log"},
                 {"worker-log", "FILE",
                  "the worker's log (`journalctl -u idadmin-worker -n 5000 > FILE`)"},
                 {"with-names", NULL, "people keep their names and addresses"}},
     .run = support},
    {0},
};
