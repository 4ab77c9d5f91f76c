/* Owns the names of idadmin.conf, their rules and defaults. Must not know what the values are used
 * for. */
#include "worker/base/config.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <apr_strings.h>

#include "core/base/similar.h"
#include "core/base/text.h"
#include "core/store/store.h"
#include "core/tenant/value.h"
#include "worker/base/address.h"

#define LINE_MAX_BYTES 4096

static const char *set_text(worker_config *config, size_t offset, const char *value)
{
    *(const char **)((char *)config + offset) = value;
    return NULL;
}

static const char *set_store(worker_config *config, size_t offset, const char *value)
{
    const char *fault = store_dsn_fault(value);
    return fault ? fault : set_text(config, offset, value);
}

static const char *set_admin_store(worker_config *config, size_t offset, const char *value)
{
    return store_sqlite_path(value) ? "is for PostgreSQL: a SQLite store has no owner to connect as"
                                    : set_store(config, offset, value);
}

static const char *set_path(worker_config *config, size_t offset, const char *value)
{
    return value[0] == '/' ? set_text(config, offset, value) : "must be an absolute path";
}

static const char *set_secret(worker_config *config, size_t offset, const char *value)
{
    const char *fault = ida_rule_secret(NULL, value);
    return fault ? fault : set_text(config, offset, value);
}

static const char *set_spool(worker_config *config, size_t offset, const char *value)
{
    config->spool_given = 1;
    return set_path(config, offset, value);
}

static const char *set_threads(worker_config *config, size_t offset, const char *value)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno || end == value || *end || number < 1 || number > 64) {
        return "must be a whole number from 1 to 64";
    }
    *(int *)((char *)config + offset) = (int)number;
    return NULL;
}

static const char *set_companies(worker_config *config, size_t offset, const char *value)
{
    char *end;
    errno = 0;
    long number = strtol(value, &end, 10);
    if (errno || end == value || *end || number < 0 || number > 10000) {
        return "must be a whole number from 0 to 10000";
    }
    *(int *)((char *)config + offset) = (int)number;
    return NULL;
}

static const char *set_duration(worker_config *config, size_t offset, const char *value)
{
    int64_t ms = worker_duration_parse(value);
    if (ms < 1000 || ms > 3600000) {
        return "must be a time from 1s to 1h, such as 30s";
    }
    *(int64_t *)((char *)config + offset) = ms;
    return NULL;
}

static const char *set_syslog(worker_config *config, size_t offset, const char *value)
{
    static const char *const words[] = {[WORKER_SYSLOG_OFF] = "off",
                                        [WORKER_SYSLOG_ON] = "on",
                                        [WORKER_SYSLOG_RECORDS] = "records"};
    for (int i = WORKER_SYSLOG_OFF; i <= WORKER_SYSLOG_RECORDS; i++) {
        if (strcmp(value, words[i]) == 0) {
            *(worker_syslog *)((char *)config + offset) = (worker_syslog)i;
            return NULL;
        }
    }
    return "must be on, off or records";
}

static const char *set_level(worker_config *config, size_t offset, const char *value)
{
    return worker_level_parse(value) >= 0 ? set_text(config, offset, value)
                                          : "must be error, warn, info or debug";
}

static const char *set_log_format(worker_config *config, size_t offset, const char *value)
{
    int json = strcmp(value, "json") == 0;
    *(int *)((char *)config + offset) = json;
    return json || strcmp(value, "text") == 0 ? NULL : "must be text or json";
}

static const char *set_smtp(worker_config *config, size_t offset, const char *value)
{
    const char *host = strncmp(value, "smtp://", 7) == 0    ? value + 7
                       : strncmp(value, "smtps://", 8) == 0 ? value + 8
                                                            : NULL;
    if (!host) {
        return "must begin with smtp:// or smtps://";
    }
    if (strchr(host, '@')) {
        return "must not hold a user name or password: smtp_user and smtp_password_file are for "
               "them";
    }
    return host[0] && host[0] != '/' && !strpbrk(host, " ?#") ? set_text(config, offset, value)
                                                              : "must name a host";
}

static const char *set_sender(worker_config *config, size_t offset, const char *value)
{
    apr_pool_t *scratch;
    apr_pool_create(&scratch, NULL);
    const char *fault = mail_sender_fault(scratch, value);
    apr_pool_destroy(scratch);
    return fault ? fault : set_text(config, offset, value);
}

static const struct member {
    const char *name;
    const char *(*set)(worker_config *config, size_t offset,
                       const char *value); /* NULL or the rule that was broken */
    size_t offset;
    const char *value, *fallback, *about; /* worker_setting */
} members[] = {
    {"store", set_store, offsetof(worker_config, store), "DSN",
     "sqlite3:" IDA_LOCALSTATEDIR "/lib/idadmin/idadmin.db",
     "the store, the same as httpd's IdAdminStore: sqlite3:PATH, or pgsql: and libpq parameters; a "
     "password belongs into the passfile"},
    {"admin_store", set_admin_store, offsetof(worker_config, admin_store), "DSN", "store",
     "the same store for idadminctl alone: with PostgreSQL's roles as the database's owner, with a "
     "passfile of its own"},
    {"spool", set_spool, offsetof(worker_config, spool), "DIR",
     "\"spool\" beside a SQLite store, else " IDA_LOCALSTATEDIR "/lib/idadmin/spool",
     "httpd's audit spool on this node, the same as IdAdminAuditSpool"},
    {"seal_key", set_path, offsetof(worker_config, seal_key), "FILE",
     "the name of a SQLite store with .key, else " IDA_SYSCONFDIR "/idadmin/seal.key",
     "key that seals tenant documents, made by `idadminctl schema upgrade`; the worker must be "
     "able to write its directory, where FILE.revisions is kept"},
    {"audit_key", set_path, offsetof(worker_config, audit_key), "FILE",
     "the seal key's name with .audit",
     "key of the audit chains; every node of one store needs the same"},
    {"audit_signing_key", set_path, offsetof(worker_config, audit_signing_key), "FILE",
     "the seal key's name with .signing",
     "key that signs checkpoints of the audit chains; every node of one store needs the same"},
    {"audit_checkpoints", set_path, offsetof(worker_config, audit_checkpoints), "FILE", NULL,
     "file that checkpoints are appended to, on another machine's share"},
    {"audit_syslog", set_syslog, offsetof(worker_config, audit_syslog), "on|off|records",
     "on where one listens",
     "whether checkpoints go to the system's log, facility authpriv; on: it is an error when none "
     "listens; records: each audit record as well, with the names of people"},
    {"threads", set_threads, offsetof(worker_config, threads), "N", "4",
     "tasks of one directory that are carried out at the same time, 1 to 64"},
    {"metrics_companies", set_companies, offsetof(worker_config, metrics_companies), "N", "200",
     "companies that have metrics of their own, the first ones by ID, 0 to 10000"},
    {"stop_timeout", set_duration, offsetof(worker_config, stop_timeout), "TIME", "30s",
     "how long SIGTERM waits for the step in hand, 1s to 1h; systemd's TimeoutStopSec is to be "
     "above it"},
    {"smtp_url", set_smtp, offsetof(worker_config, smtp_url), "URL", NULL,
     "server for mail of workflow actions: smtp://HOST:PORT (STARTTLS is required, except to "
     "loopback) or smtps://HOST:PORT"},
    {"smtp_from", set_sender, offsetof(worker_config, smtp_from), "ADDRESS", NULL,
     "the sender's address"},
    {"smtp_user", set_text, offsetof(worker_config, smtp_user), "NAME", NULL,
     "sign-in at the mail server"},
    {"smtp_password_file", set_secret, offsetof(worker_config, smtp_password_file), "FILE", NULL,
     "its password, in a file that others cannot read, or credential:NAME"},
    {"smtp_ca_file", set_path, offsetof(worker_config, smtp_ca_file), "FILE",
     "the system's authorities",
     "authority that signed the mail server's certificate; with it TLS is required to loopback "
     "too"},
    {"web_user", set_text, offsetof(worker_config, web_user), "NAME", "www-data",
     "user of httpd's children (httpd's directive User): the worker refuses to start under that "
     "user, and where that user can read a secret"},
    {"writer_group", set_text, offsetof(worker_config, writer_group), "NAME", "idadmin-writer",
     "group of the user of IdAdminWriter, which `schema upgrade` lets write a SQLite store and "
     "read "
     "the seal key: the worker's user must be in it, httpd's must not; none: it has no such user"},
    {"log_level", set_level, offsetof(worker_config, log_level), "LEVEL", "info",
     "error, warn, info or debug; the log goes to standard error"},
    {"log_format", set_log_format, offsetof(worker_config, log_json), "text|json", "text",
     "json: each line of the log is one object {time, level, id, message}"},
    {0},
};

int worker_config_setting(int number, worker_setting *setting)
{
    if (number < 0 || (size_t)number >= sizeof members / sizeof members[0] - 1) {
        return 0;
    }
    const struct member *m = &members[number];
    *setting = (worker_setting){m->name, m->value, m->fallback, m->about};
    return 1;
}

/* '-' and '_' are the same letter here: options are written with '-', the file with '_'. */
static int same_name(const char *a, const char *b)
{
    for (; *a && *b; a++, b++) {
        if ((*a == '-' ? '_' : *a) != (*b == '-' ? '_' : *b)) {
            return 0;
        }
    }
    return *a == *b;
}

static const struct member *find_member(const char *name)
{
    for (size_t i = 0; members[i].name; i++) {
        if (same_name(members[i].name, name)) {
            return &members[i];
        }
    }
    return NULL;
}

const argument_option *worker_config_option(apr_pool_t *pool, const char *name)
{
    const struct member *m = find_member(name);
    argument_option *option = m ? apr_palloc(pool, sizeof *option) : NULL;
    if (option) {
        *option = (argument_option){apr_pstrdup(pool, name), m->value, m->about};
    }
    return option;
}

void worker_option_add(apr_pool_t *pool, worker_option **options, const char *name,
                       const char *value)
{
    while (*options) {
        options = &(*options)->next;
    }
    *options = apr_palloc(pool, sizeof **options);
    **options = (worker_option){name, value, NULL};
}

int64_t worker_duration_parse(const char *text)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    if (!isdigit((unsigned char)text[0])) {
        return -1;
    }
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    for (size_t i = 0; !errno && i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(end, units[i].unit) == 0) {
            return number <= INT64_C(31536000000) / units[i].ms ? number * units[i].ms : -1;
        }
    }
    return -1;
}

int worker_level_parse(const char *text)
{
    static const char *const names[] = {[IDA_LOG_ERROR] = "error",
                                        [IDA_LOG_WARN] = "warn",
                                        [IDA_LOG_INFO] = "info",
                                        [IDA_LOG_DEBUG] = "debug"};
    for (int i = 0; i <= IDA_LOG_DEBUG; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static ida_kind set_member(ida_ctx *c, worker_config *config, const char *where, const char *name,
                           const char *value)
{
    const struct member *member = find_member(name);
    if (!member) {
        const char *meant = ida_similar(members, sizeof *members, name);
        return ida_fail(c, IDA_BAD_REQUEST, "%s: there is no setting named %s%s%s", where, name,
                        meant ? "; do you mean " : "", meant ? meant : "");
    }
    const char *fault = value[0] ? member->set(config, member->offset, value) : "must not be empty";
    if (fault) {
        return ida_fail(c, IDA_BAD_REQUEST, "%s: %s: %s", where, member->name, fault);
    }
    return IDA_OK;
}

static char *trimmed(char *text)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    size_t len = strlen(text);
    while (len > 0 && isspace((unsigned char)text[len - 1])) {
        text[--len] = '\0';
    }
    return text;
}

static ida_kind read_lines(ida_ctx *c, apr_pool_t *pool, FILE *in, const char *file,
                           worker_config *config)
{
    char line[LINE_MAX_BYTES];
    for (int number = 1; fgets(line, sizeof line, in); number++) {
        const char *where = ida_printf(pool, "%s line %d", file, number);
        size_t len = strlen(line);
        if (len + 1 == sizeof line && line[len - 1] != '\n') {
            return ida_fail(c, IDA_BAD_REQUEST, "%s: the line is longer than %d bytes", where,
                            LINE_MAX_BYTES - 2);
        }
        char *text = trimmed(line);
        if (text[0] == '\0' || text[0] == '#') {
            continue;
        }
        char *equals = strchr(text, '=');
        if (!equals || !ida_utf8_valid(text, strlen(text))) {
            return ida_fail(c, IDA_BAD_REQUEST, "%s: expected \"name = value\"", where);
        }
        *equals = '\0';
        ida_kind kind = set_member(c, config, where, trimmed(text),
                                   apr_pstrdup(pool, trimmed(equals + 1)));
        if (kind) {
            return kind;
        }
    }
    return ferror(in) ? ida_fail(c, IDA_BAD_REQUEST, "%s: %s", file, strerror(errno)) : IDA_OK;
}

/* `file` NULL: a command line. The environment is for the process's own user to read. */
static ida_kind check_store(ida_ctx *c, const char *where, const char *name, const char *dsn,
                            const char *file)
{
    const char *fault = dsn ? store_dsn_exposed(c->pool, dsn, file) : NULL;
    return fault ? ida_fail(c, IDA_BAD_REQUEST, "%s: %s: %s", where, name, fault) : IDA_OK;
}

static ida_kind read_file(ida_ctx *c, apr_pool_t *pool, const char *file, int must_exist,
                          worker_config *config)
{
    FILE *in = fopen(file, "re");
    if (!in) {
        if (errno == ENOENT && !must_exist) {
            return IDA_OK;
        }
        return ida_fail(c, IDA_BAD_REQUEST, "%s: %s", file, strerror(errno));
    }
    config->file = apr_pstrdup(pool, file);
    ida_kind kind = read_lines(c, pool, in, file, config);
    fclose(in);
    kind = kind ? kind : check_store(c, file, "store", config->store, file);
    return kind ? kind : check_store(c, file, "admin_store", config->admin_store, file);
}

/* Next to a SQLite store, so that a store elsewhere (a test, a second installation) never reads
 * the spool of the installed one. */
static char *default_spool(apr_pool_t *pool, const char *dsn)
{
    const char *path = store_sqlite_path(dsn);
    const char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) {
        return apr_pstrcat(pool, apr_pstrndup(pool, path, (apr_size_t)(slash - path)), "/spool",
                           NULL);
    }
    return apr_pstrdup(pool, path ? "spool" : IDA_LOCALSTATEDIR "/lib/idadmin/spool");
}

ida_kind worker_config_read(ida_ctx *c, apr_pool_t *pool, const char *file,
                            const worker_option *options, worker_config *config)
{
    *config = (worker_config){.threads = 4,
                              .metrics_companies = 200,
                              .stop_timeout = 30000,
                              .log_level = "info",
                              .web_user = "www-data",
                              .writer_group = "idadmin-writer",
                              .store = store_default_dsn()};
    ida_kind kind = read_file(c, pool, file ? file : IDA_SYSCONFDIR "/idadmin/idadmin.conf",
                              file != NULL, config);
    const char *environment = getenv("IDADMIN_STORE");
    if (!kind && environment && environment[0]) {
        kind = set_member(c, config, "$IDADMIN_STORE", "store", apr_pstrdup(pool, environment));
        config->admin_store = NULL; /* the file's is another way to the file's store */
    }
    for (const worker_option *o = options; !kind && o; o = o->next) {
        int is_store = same_name(o->name, "store");
        config->admin_store = is_store ? NULL : config->admin_store;
        kind = set_member(c, config, "command line", o->name, o->value);
        if (!kind && (is_store || same_name(o->name, "admin_store"))) {
            kind = check_store(c, "command line", is_store ? "store" : "admin_store", o->value,
                               NULL);
        }
    }
    if (kind) {
        return kind;
    }
    if (!config->spool) {
        config->spool = default_spool(pool, config->store);
    }
    if (!config->seal_key) {
        config->seal_key = store_default_seal_key(pool, config->store);
    }
    if (!config->audit_key) {
        config->audit_key = apr_pstrcat(pool, config->seal_key, ".audit", NULL);
    }
    if (!config->audit_signing_key) {
        config->audit_signing_key = apr_pstrcat(pool, config->seal_key, ".signing", NULL);
    }
    return IDA_OK;
}
