/* Owns the refusal to work where a hole in httpd opens the worker's secrets, and the files that
 * restores have put aside. Must not know what they are for. */
#include "worker/layout.h"

#include <apr_strings.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <string.h>
#include <unistd.h>

#include "core/base/json.h"
#include "core/base/web_user.h"
#include "core/store/save.h"
#include "core/store/tenant.h"
#include "core/tenant/shape.h"

int layout_web_user(const worker_config *config)
{
    apr_pool_t *scratch;
    apr_pool_create(&scratch, NULL);
    const char *path = store_sqlite_path(config->store), *slash = path ? strrchr(path, '/') : NULL;
    const char *shared[] = {config->spool,
                            slash ? apr_pstrmemdup(scratch, path, (apr_size_t)(slash - path))
                                  : NULL,
                            NULL};
    int known = ida_web_user_set(config->web_user, shared);
    ida_writer_group_set(config->writer_group);
    apr_pool_destroy(scratch);
    return known;
}

static void look(ida_ctx *c, const char *name, const char *path, int secret)
{
    const char *how = path ? ida_web_user_may(c->pool, path, secret) : NULL;
    if (how) {
        ida_fault_add(c, name, "%s %s", path, how);
    }
}

/* An unreachable store, or one without a schema, is reported by the worker itself. */
static void look_at_tenants(ida_ctx *c, const char *dsn)
{
    ida_ctx *other = ida_ctx_make(c->env, c->pool);
    store *main = store_make(c->pool, dsn, DB_REQUEST);
    const store_tenant_id *ids;
    int count = 0;
    ida_kind kind = store_tenant_ids(main, other, &ids, &count);
    for (int i = 0; !kind && i < count; i++) {
        ida_stored_tenant stored;
        if (store_tenant_document(main, other, ids[i].id, &stored) == IDA_OK) {
            json_t *document = ida_json_load(c->pool, stored.document);
            ida_tenant_files(c, document, look);
        }
    }
    store_disconnect(main);
}

ida_kind layout_check(ida_ctx *c, const worker_config *config)
{
    if (ida_web_user_is_ours()) {
        return ida_fail(
            c, IDA_CONFLICT,
            "This process and httpd both run as %s: an attacker who finds a hole in httpd could "
            "read the "
            "seal key and every secret. Run it as a user of its own (doc/install.md, step 3; if "
            "httpd "
            "runs as another user, name that user with web_user).",
            config->web_user);
    }
    look(c, "store", store_sqlite_path(config->store), 0);
    look(c, "seal_key", config->seal_key, 1);
    look(c, "audit_key", config->audit_key, 1);
    look(c, "audit_signing_key", config->audit_signing_key, 1);
    look(c, "smtp_password_file", config->smtp_password_file, 1);
    look(c, "smtp_ca_file", config->smtp_ca_file, 0);
    look(c, "configuration", config->file, 0);
    look_at_tenants(c, config->store);
    return ida_faults_raise(c);
}

/* A file, or a directory with its files. No link is followed: root may have been asked. */
static void take_away(ida_ctx *c, const char *path)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *open = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *entry; open && (entry = readdir(open)) != NULL;) {
        unlinkat(fd, entry->d_name, 0); /* "." and ".." stay */
    }
    if (open ? rmdir(path) : unlink(path)) {
        ida_fault_add(c, path, "cannot be removed: %s", strerror(errno));
    }
    if (open) {
        closedir(open);
    }
}

ida_kind layout_aside(ida_ctx *c, store *s, const worker_config *config, int remove, json_t *names)
{
    const char *path = store_sqlite_path(config->store), *slash = path ? strrchr(path, '/') : NULL;
    const char *const stems[] = {slash
                                     ? apr_pstrmemdup(c->pool, path, (apr_size_t)(slash - path + 1))
                                     : NULL,
                                 apr_pstrcat(c->pool, config->seal_key, ".", NULL),
                                 apr_pstrcat(c->pool, config->seal_key, ".revisions.", NULL),
                                 apr_pstrcat(c->pool, config->audit_key, ".", NULL),
                                 apr_pstrcat(c->pool, config->audit_key, ".heads.", NULL),
                                 apr_pstrcat(c->pool, config->audit_signing_key, ".", NULL)};
    for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
        glob_t found = {0};
        const char *pattern = apr_pstrcat(c->pool, stems[i] ? stems[i] : "",
                                          "before-[0-9]*T[0-9]*[0-9]", NULL);
        if (stems[i] && glob(pattern, 0, NULL, &found) == 0) {
            for (size_t k = 0; k < found.gl_pathc; k++) {
                json_array_append_new(names, json_string(found.gl_pathv[k]));
                if (remove) {
                    take_away(c, found.gl_pathv[k]);
                }
            }
        }
        globfree(&found);
    }
    ida_kind kind = ida_faults_raise(c);
    return kind ? kind : store_aside(s, c, remove, names);
}
