/* Owns the look at the files that the configuration names, before httpd starts: store, spool, seal
 * key. A process of its own looks, with the rights that the writer will have, so that no key comes
 * into httpd's memory. What the database says of itself is no fault of the configuration: it may be
 * away, or be upgraded a moment later. */
#include <apr_user.h>
#include <errno.h>
#include <grp.h>
#include <openssl/crypto.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/db/sqlite_files.h"
#include "core/tenant/tenant.h"
#include "mod_idadmin/writer.h"

APLOG_USE_MODULE(idadmin);

#define LOOK_MS 5000
#define TEXT_MAX 1024

/* What is said at a start is for the log: requests get 503 until the file is there. Of a store that
 * is not there only httpd -t says so; the log has the first request's line. */
static const char *store_fault(apr_pool_t *pool, server_rec *s)
{
    const char *path = store_sqlite_path(config_writer_store(s));
    if (!path || access(path, R_OK | W_OK) == 0) {
        return NULL;
    }
    return errno == ENOENT
               ? apr_psprintf(pool,
                              "IdAdminStore: there is no store %s: idadminctl schema upgrade, as "
                              "the worker's user, makes it",
                              path)
               : apr_psprintf(pool,
                              "IdAdminStore: %s: %s, for the user of IdAdminWriter: idadminctl "
                              "schema upgrade gives it to writer_group",
                              path, strerror(errno));
}

static const char *spool_fault(apr_pool_t *pool, server_rec *s)
{
    struct stat st;
    const char *path = config_spool(s);
    if (stat(path, &st) != 0) {
        return apr_psprintf(pool, "IdAdminAuditSpool %s: %s: make it (doc/install.md, step 3)",
                            path, strerror(errno));
    }
    return S_ISDIR(st.st_mode) ? NULL
                               : apr_psprintf(pool, "IdAdminAuditSpool %s: is no directory", path);
}

/* A look must make nothing: opening a SQLite store makes the logs that are missing of its files. */
static int can_be_opened(apr_pool_t *pool, server_rec *s)
{
    struct stat st;
    const char *path = store_sqlite_path(config_writer_store(s));
    for (int i = 0; path && i < DB_FILE_COUNT; i++) {
        const char *file = sqlite_path(pool, path, (db_file)i);
        if (stat(apr_pstrcat(pool, file, "-wal", NULL), &st) != 0 ||
            stat(apr_pstrcat(pool, file, "-shm", NULL), &st) != 0) {
            return 0;
        }
    }
    return 1;
}

static const char *key_fault(apr_pool_t *pool, server_rec *s)
{
    ida_env env;
    unsigned char key[IDA_SEAL_KEY_LEN];
    const char *path = config_seal_key(s), *sealed_by = NULL, *fault = NULL;
    ida_env_default(&env);
    ida_ctx *c = ida_ctx_make(&env, pool);
    if (ida_seal_key_read(c, path, key)) {
        return apr_psprintf(pool, "IdAdminSealKey %s: %s", path, c->message);
    }
    store *main = store_make(pool, config_writer_store(s), DB_REQUEST);
    if (can_be_opened(pool, s) && !store_setting_get(main, c, IDA_SEAL_KEY_SETTING, &sealed_by) &&
        strcmp(ida_seal_key_name(pool, key), sealed_by) != 0) {
        fault = apr_psprintf(pool,
                             "IdAdminSealKey %s: is not the key that the store's tenant documents "
                             "are sealed with: name the worker's seal_key",
                             path);
    }
    OPENSSL_cleanse(key, sizeof key);
    return fault;
}

static int become(apr_pool_t *pool, const writer_user *user)
{
    char *account;
    return !user->name || ((apr_uid_name_get(&account, user->uid, pool) == APR_SUCCESS
                                ? initgroups(account, user->gid)
                                : setgroups(user->more != 0, &user->more)) == 0 &&
                           setgid(user->gid) == 0 && setuid(user->uid) == 0);
}

/* In the process of its own. */
static void look(int to, server_rec *s, const writer_user *user)
{
    apr_pool_t *pool;
    apr_pool_create(&pool, NULL);
    int test = ap_state_query(AP_SQ_RUN_MODE) == AP_SQ_RM_CONFIG_TEST;
    const char *text = become(pool, user) ? store_fault(pool, s) : "";
    text = text && !test ? "" : text;
    text = text ? text : spool_fault(pool, s);
    text = text ? text : key_fault(pool, s);
    size_t len = text ? strnlen(text, TEXT_MAX - 1) : 0;
    _exit(write(to, text ? text : "", len) != (ssize_t)len);
}

int config_files_check(server_rec *s)
{
    writer_user user;
    int ends[2];
    char text[TEXT_MAX];
    ssize_t len = 0;
    if (!writers_can_start(s, &user)) {
        return 1;
    }
    if (pipe(ends) != 0) {
        return 0; /* nothing can be looked at */
    }
    pid_t pid = fork();
    if (pid == 0) {
        look(ends[1], s, &user);
    }
    close(ends[1]);
    struct pollfd wait = {.fd = ends[0], .events = POLLIN};
    if (pid > 0 && poll(&wait, 1, LOOK_MS) == 1) {
        len = read(ends[0], text, sizeof text - 1);
    } else if (pid > 0) {
        kill(pid, SIGKILL);
    }
    close(ends[0]);
    if (pid > 0) {
        waitpid(pid, NULL, 0);
    }
    text[len > 0 ? len : 0] = '\0';
    if (*text) {
        ap_log_error(APLOG_MARK, APLOG_ERR | APLOG_STARTUP, 0, s, "IDA0271: %s", text);
    }
    return *text != '\0';
}
