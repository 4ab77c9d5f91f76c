/* idadminctl support: one JSON file for those who help. Owns what of the state of an installation
 * is harmless: numbers, moments and words of this service's own. No text that a person, a
 * directory, a document or a file could have written comes in. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <curl/curl.h>
#include <openssl/crypto.h>

#include "core/base/build.h"
#include "core/base/json.h"
#include "core/base/time.h"
#include "worker/ctl/health.h"

#define FORMAT 2
#define LINES_MAX 500 /* the last ones of each log */
#define LINE_BYTES_MAX 4096

/* The member that holds an object or a list of them, and which of their members are taken. */
static const char *const harmless[] = {
    "doctor status faults warnings checks",
    "checks companyId check level todo",
    "status status version schema workers directories tasks spool reasons",
    "workers version threads startedAt seenAt state",
    "directories companyId directory users groups syncedAt heldSince nextProbeAt",
    "tasks companyId companyState queued running done failed attention cancelled",
    "spool segments bytes passedOver oldestSeconds",
    "reasons level companyId kind",
};

static int is_word_of(const char *row, const char *word)
{
    size_t len = strlen(word);
    const char *at = strchr(row, ' ');
    while (at && !(strncmp(at + 1, word, len) == 0 && (!at[len + 1] || at[len + 1] == ' '))) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL;
}

static int is_harmless(const char *of, const char *member)
{
    size_t len = strlen(of);
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++) {
        if (strncmp(harmless[i], of, len) == 0 && harmless[i][len] == ' ') {
            return is_word_of(harmless[i], member);
        }
    }
    return 0;
}

/* The caller's own. */
static json_t *taken(const char *of, json_t *value)
{
    const char *name;
    json_t *inner, *out = json_is_array(value) ? json_array() : json_object();
    size_t i;
    json_array_foreach (value, i, inner) {
        json_array_append_new(out, taken(of, inner));
    }
    json_object_foreach (value, name, inner) {
        if (is_harmless(of, name)) {
            json_object_set_new(out, name,
                                json_is_array(inner) || json_is_object(inner) ? taken(name, inner)
                                                                              : json_incref(inner));
        }
    }
    return out;
}

/* "certificate ldaps://host" names a server. */
static void without_servers(json_t *checks)
{
    json_t *line;
    size_t i;
    json_array_foreach (checks, i, line) {
        json_t *check = json_object_get(line, "check");
        const char *text = json_string_value(check), *url = strstr(text, "://");
        if (url) {
            json_string_setn(check, text, strcspn(text, " "));
        }
    }
}

static json_t *system_json(const worker_config *config)
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
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "os", os, "kernel", u.release, "machine",
                     u.machine, "curl", curl_version_info(CURLVERSION_NOW)->version, "openssl",
                     OpenSSL_version(OPENSSL_VERSION), "engine",
                     store_sqlite_path(config->store) ? "sqlite" : "postgresql");
}

/* Of what names a server or a file: whether it is set. */
static json_t *settings_json(const worker_config *config)
{
    return json_pack("{s:i, s:i, s:I, s:s, s:b, s:i, s:b, s:b, s:b}", "threads", config->threads,
                     "metrics_companies", config->metrics_companies, "stop_timeout_ms",
                     (json_int_t)config->stop_timeout, "log_level", config->log_level, "log_json",
                     config->log_json, "audit_syslog", (int)config->audit_syslog, "smtp_url",
                     config->smtp_url != NULL, "audit_checkpoints",
                     config->audit_checkpoints != NULL, "admin_store", config->admin_store != NULL);
}

/* --- logs --- */

/* Of a message of this service, "IDA" and four digits. */
static const char *id_of(const char *line)
{
    const char *at = strstr(line, "IDA");
    while (at &&
           (strspn(at + 3, "0123456789") != 4 || (at > line && isalnum((unsigned char)at[-1])))) {
        at = strstr(at + 1, "IDA");
    }
    return at;
}

/* "2026-11-26T10:00:00" of a line; NULL: it has no such moment. */
static const char *moment_of(const char *line)
{
    static const char form[] = "0000-00-00T00:00:00";
    for (; *line; line++) {
        size_t len = 0;
        while (form[len] && (form[len] == '0' ? isdigit((unsigned char)line[len]) != 0
                                              : line[len] == form[len])) {
            len++;
        }
        if (!form[len]) {
            return line;
        }
    }
    return NULL;
}

static ida_kind log_json(ida_ctx *c, const char *name, json_t *lines)
{
    char line[LINE_BYTES_MAX];
    FILE *file = fopen(name, "re");
    if (!file) {
        return ida_fail(c, IDA_BAD_REQUEST, "%s: %s", name, strerror(errno));
    }
    while (fgets(line, sizeof line, file)) {
        const char *id = id_of(line), *at = id ? moment_of(line) : NULL;
        if (id) {
            json_t *one = json_pack("{s:s%}", "id", id, (size_t)7);
            json_object_set_new(one, "at", at ? json_stringn(at, 19) : json_null());
            json_array_append_new(lines, one);
        }
        if (json_array_size(lines) > LINES_MAX) {
            json_array_remove(lines, 0);
        }
    }
    fclose(file);
    return IDA_OK;
}

static ida_kind add_logs(ctl_call *ctl, json_t *document)
{
    static const char *const options[] = {"httpd-log", "worker-log"};
    ida_kind kind = IDA_OK;
    for (size_t i = 0; !kind && i < sizeof options / sizeof *options; i++) {
        const char *name = ctl_value(ctl, options[i]);
        json_t *lines = json_array();
        kind = name ? log_json(ctl->c, name, lines) : IDA_OK;
        json_object_set_new(document, options[i], lines);
    }
    return kind;
}

/* --- all of it --- */

static ida_kind add_state(ctl_call *ctl, json_t *document)
{
    json_t *doctor, *status;
    int health;
    ida_kind kind = ctl_doctor_json(ctl, NULL, &doctor); /* from here on as the service's user */
    if (kind) {
        return kind;
    }
    without_servers(json_object_get(doctor, "checks"));
    json_object_set_new(document, "doctor", taken("doctor", doctor));
    if (ctl_status_json(ctl, ctl_store(ctl, DB_REQUEST), &health, &status)) {
        ida_ctx_clear(ctl->c); /* the doctor has found what is wrong with the store */
    }
    json_object_set_new(document, "status", taken("status", ida_json_keep(ctl->pool, status)));
    return IDA_OK;
}

static int support(ctl_call *ctl)
{
    const char *to = ctl->arguments[0];
    json_t *document = ida_json_keep(ctl->pool, json_object());
    /* Files are root's business, the look at the state is that of the service's user. */
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    ida_kind kind = fd < 0 ? ida_fail(ctl->c, IDA_BAD_REQUEST, "%s: %s", to, strerror(errno))
                           : add_logs(ctl, document);
    json_object_set_new(document, "format", json_integer(FORMAT));
    ida_json_put_time(document, "at", ida_now(ctl->c->env));
    ida_json_put(document, "version", ida_build);
    json_object_set_new(document, "system", system_json(&ctl->config));
    json_object_set_new(document, "settings", settings_json(&ctl->config));
    kind = kind ? kind : add_state(ctl, document);
    if (!kind && json_dumpfd(document, fd, JSON_INDENT(2))) {
        kind = ida_fail(ctl->c, IDA_BAD_REQUEST, "%s: %s", to, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    if (kind && fd >= 0) {
        unlink(to);
    }
    return kind ? ctl_result(ctl, kind)
                : ctl_answer(ctl, json_pack("{s:s}", "file", to),
                             "%s has numbers, moments and words of this service, and no text of "
                             "others.",
                             to);
}

const ctl_command ctl_support_commands[] = {
    {"support", NULL, "FILE",
     "Write a file for those who help: versions, state, faults, IDs of the last messages.",
     .help =
         "One JSON document: builds and libraries, settings that name nothing, what `doctor` and "
         "`status --check` find without its details, and the IDs of the last messages of the logs "
         "that are named. IDs of companies are in it; names, addresses, servers, paths, texts and "
         "secrets are not. What `doctor` says in words you copy yourself. FILE must not exist.",
     .options = {{"httpd-log", "FILE", "httpd's error log"},
                 {"worker-log", "FILE",
                  "the worker's log (`journalctl -u idadmin-worker -n 5000 > FILE`)"}},
     .run = support},
    {0},
};
