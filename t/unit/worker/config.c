/* idadmin.conf: every setting's rule, the order file < environment < options, and the messages
 * for bad lines. */
#include "t/unit/setup.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "worker/base/config.h"

static char path[64];

static const char *file_with(const char *text)
{
    snprintf(path, sizeof path, "/tmp/idadmin-config-%ld", (long)getpid());
    FILE *out = fopen(path, "w");
    fputs(text, out);
    fclose(out);
    return path;
}

static ida_ctx *last;

static ida_kind with_file(const char *text, const worker_option *options, worker_config *config)
{
    last = fresh();
    ida_kind kind = worker_config_read(last, pool, file_with(text), options, config);
    unlink(path);
    return kind;
}

static void good_files(void)
{
    worker_config config;
    is_int(with_file("# comment\n\n store = sqlite3:/srv/x/store.db \nthreads=7\nstop_timeout = "
                     "2m\nseal_key=/etc/seal\nsmtp_url = smtps://mail:465\n"
                     "smtp_from = Idadmin <a@b.example>\nlog_level = debug\nspool = /srv/spool",
                     NULL, &config),
           IDA_OK, "a complete file");
    is_str(config.store, "sqlite3:/srv/x/store.db", "store, blanks trimmed");
    is_int(config.threads, 7, "threads");
    is_int(config.stop_timeout, 120000, "stop_timeout in ms");
    is_str(config.seal_key, "/etc/seal", "seal_key");
    is_str(config.smtp_url, "smtps://mail:465", "smtp_url");
    is_str(config.smtp_from, "Idadmin <a@b.example>", "smtp_from keeps its inside");
    is_str(config.log_level, "debug", "log_level");
    is_str(config.spool, "/srv/spool", "last line without a line end");
    ok(config.spool_given, "a spool that was named is known to be");

    is_int(with_file("store = sqlite3:/srv/x/store.db\n", NULL, &config), IDA_OK, "store alone");
    is_str(config.spool, "/srv/x/spool", "the spool is beside a SQLite store");
    is_str(config.seal_key, "/srv/x/store.key", "the seal key is beside it, by its stem");
    ok(!config.spool_given, "a default spool is not a named one");
    is_int(config.threads, 4, "default threads");
    is_int(config.stop_timeout, 30000, "default stop_timeout");
    is_int(config.metrics_companies, 200, "default metrics_companies");
    is_int(with_file("metrics_companies = 0\nlog_format = json\n", NULL, &config), IDA_OK, "none");
    is_int(config.metrics_companies, 0, "no company has metrics");
    ok(config.log_json, "log_format");
    is_int(with_file("store = pgsql:host=/run dbname=x\n", NULL, &config), IDA_OK, "PostgreSQL");
    is_str(config.store, "pgsql:host=/run dbname=x", "a value may hold '='");
    is_str(config.spool, IDA_LOCALSTATEDIR "/lib/idadmin/spool", "its spool has a fixed place");
    is_str(config.seal_key, IDA_SYSCONFDIR "/idadmin/seal.key", "and its seal key too");
}

static void precedence(void)
{
    worker_config config;
    worker_option second = {"store", "sqlite3:/option/b.db", NULL},
                  first = {"seal-key", "/option/key", &second};
    setenv("IDADMIN_STORE", "sqlite3:/environment/a.db", 1);
    is_int(with_file("store = sqlite3:/file/c.db\n", NULL, &config), IDA_OK,
           "file and environment");
    is_str(config.store, "sqlite3:/environment/a.db", "the environment goes before the file");
    is_int(with_file("store = sqlite3:/file/c.db\n", &first, &config), IDA_OK, "and options");
    is_str(config.store, "sqlite3:/option/b.db", "an option goes before both");
    is_str(config.seal_key, "/option/key", "options are written with '-'");
    setenv("IDADMIN_STORE", "mysql:x", 1);
    ok(with_file("", NULL, &config) == IDA_BAD_REQUEST, "a bad environment is refused");
    says(last, "naming it", "$IDADMIN_STORE", "store", NULL);
    unsetenv("IDADMIN_STORE");
}

static void bad_files(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"threads = 0\n", "threads"},           {"threads = 65\n", "threads"},
        {"threads = 4x\n", "threads"},          {"threads =\n", "must not be empty"},
        {"stop_timeout = 0\n", "stop_timeout"}, {"stop_timeout = 2h\n", "stop_timeout"},
        {"spool = relative\n", "spool"},        {"seal_key = x\n", "seal_key"},
        {"smtp_url = http://x\n", "smtp_url"},  {"log_level = loud\n", "log_level"},
        {"store = /plain/path\n", "store"},     {"thread = 4\n", "thread"},
        {"log_format = x\n", "log_format"},     {"metrics_companies = -1\n", "metrics_companies"},
        {"threads 4\n", "name = value"},        {"threads = 4 \xff\n", "name = value"},
    };
    worker_config config;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *text = apr_pstrcat(pool, "\n", cases[i].text, NULL);
        ok(with_file(text, NULL, &config) == IDA_BAD_REQUEST, "refused: %.*s",
           (int)strcspn(cases[i].text, "\n\xff"), cases[i].text);
        says(last, "the message names line and setting", "line 2", cases[i].says, NULL);
    }
    last = fresh();
    ok(worker_config_read(last, pool, "/nonexistent/idadmin.conf", NULL, &config) ==
           IDA_BAD_REQUEST,
       "a named file that is missing is refused");
    char *longest = apr_palloc(pool, 5002);
    memset(longest, 'x', 5001);
    longest[5001] = '\0';
    ok(with_file(longest, NULL, &config) == IDA_BAD_REQUEST, "a line without end is refused");
}

static void durations(void)
{
    static const struct {
        const char *text;
        int64_t ms;
    } cases[] = {
        {"1", 1000},     {"1s", 1000},
        {"250ms", 250},  {"2m", 120000},
        {"1h", 3600000}, {"1d", 86400000},
        {"0", 0},        {"", -1},
        {"s", -1},       {"-1s", -1},
        {" 1s", -1},     {"1x", -1},
        {"1 s", -1},     {"99999999999999999999", -1},
        {"400d", -1},    {"365d", 31536000000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        is_int(worker_duration_parse(cases[i].text), cases[i].ms,
               apr_pstrcat(pool, "duration '", cases[i].text, "'", NULL));
    }
}

/* A file with a database password that others can read is refused, with the remedy. */
static void passwords(void)
{
    static const char *const bad[] = {"pgsql:host=db password=secret",
                                      "pgsql:postgresql://idadmin:secret@db/idadmin",
                                      "pgsql:host=db sslpassword=x",
                                      "pgsql:host=db idadmin_pooler=1 password=secret"};
    static const char *const good[] = {"pgsql:host=db passfile=/etc/idadmin/pgpass",
                                       "pgsql:postgresql://idadmin@db/idadmin",
                                       "pgsql:host=db password=''", "sqlite3:/x/password=1.db"};
    worker_config config;
    for (size_t i = 0; i < sizeof bad / sizeof *bad + sizeof good / sizeof *good; i++) {
        int is_bad = i < sizeof bad / sizeof *bad;
        const char *dsn = is_bad ? bad[i] : good[i - sizeof bad / sizeof *bad];
        worker_option option = {"store", dsn, NULL};
        ida_ctx *c = fresh();
        is_int(worker_config_read(c, pool, "/dev/null", &option, &config),
               is_bad ? IDA_BAD_REQUEST : IDA_OK, dsn);
        ok(!is_bad || (strstr(c->message, "passfile=PATH") && !strstr(c->message, "secret")),
           "on a command line");
        for (int mode = 0600; mode <= 0644; mode += 044) {
            is_int(chmod(file_with(ida_printf(pool, "store = %s\n", dsn)), (mode_t)mode), 0,
                   "a file");
            c = fresh();
            is_int(worker_config_read(c, pool, path, NULL, &config),
                   is_bad && mode == 0644 ? IDA_BAD_REQUEST : IDA_OK, "in it");
            ok(!is_bad || mode == 0600 ||
                   (strstr(c->message, "chmod o=") && strstr(c->message, path) &&
                    !strstr(c->message, "secret")),
               "says so");
        }
    }
    setenv("IDADMIN_STORE", bad[0], 1);
    is_int(worker_config_read(fresh(), pool, "/dev/null", NULL, &config), IDA_OK,
           "the environment is the user's own");
    unsetenv("IDADMIN_STORE");
    unlink(path);
}

/* The file's admin_store is another way to the file's store: one named elsewhere sets it aside. */
static void admin_store(void)
{
    static const char *const both = "store = pgsql:dbname=x user=daemon\n"
                                    "admin_store = pgsql:dbname=x user=owner\n";
    worker_config config;
    worker_option own = {"admin-store", "pgsql:dbname=y user=owner", NULL},
                  option = {"store", "pgsql:dbname=y", &own};
    is_int(with_file(both, NULL, &config), IDA_OK, "both");
    is_str(config.store, "pgsql:dbname=x user=daemon", "store is the worker's");
    is_str(config.admin_store, "pgsql:dbname=x user=owner", "admin_store is the command's");
    is_int(with_file(both, &option, &config), IDA_OK, "options");
    is_str(config.admin_store, own.value, "an option of its own counts");
    option.next = NULL;
    is_int(with_file(both, &option, &config), IDA_OK, "--store");
    ok(!config.admin_store, "--store sets it aside");
    setenv("IDADMIN_STORE", "pgsql:dbname=z", 1);
    is_int(with_file(both, NULL, &config), IDA_OK, "the environment");
    ok(!config.admin_store, "and so does the environment");
    unsetenv("IDADMIN_STORE");
    is_int(with_file("admin_store = sqlite3:/srv/x.db\n", NULL, &config), IDA_BAD_REQUEST,
           "SQLite has no owner");
    ok(strstr(last->message, "admin_store: is for PostgreSQL") != NULL, "says so");
    is_int(with_file("admin_store = pgsql:dbname=x password=secret\n", NULL, &config),
           IDA_BAD_REQUEST, "a password that others can read");
    ok(strstr(last->message, "admin_store: holds a password") != NULL, "names the setting");
}

int main(void)
{
    setup();
    unsetenv("IDADMIN_STORE");
    good_files();
    precedence();
    bad_files();
    durations();
    passwords();
    admin_store();
    return done();
}
