/* Owns which commands there are, and the options that each takes. Knows no command's meaning. */
#include "worker/ctl/commands.h"

#include <stdlib.h>
#include <string.h>

#include "worker/ctl/operation.h"

static const ctl_command *const own[] = {
    ctl_schema_commands,  ctl_tenant_commands,       ctl_audit_commands,
    ctl_sync_commands,    ctl_status_commands,       ctl_evidence_commands,
    ctl_erase_commands,   ctl_notification_commands, ctl_backup_commands,
    ctl_restore_commands, ctl_tenant_check_commands, ctl_tenant_state_commands,
    ctl_health_commands,  ctl_doctor_commands,       ctl_support_commands};

/* Commands that do more than their operation: a function for each, and possibly one more option. */
static const ctl_beside beside[] = {
    {"user", "show", .run = ctl_user_show},
    {"audit", "export", .run = ctl_audit_export},
    {"task", "release", .run = ctl_task_release,
     .option = {"all-braked", NULL, "every task of the tenant that the brake holds"}},
    {0},
};

static int by_words(const void *a, const void *b)
{
    const ctl_command *one = *(const ctl_command *const *)a,
                      *other = *(const ctl_command *const *)b;
    int order = strcmp(one->noun, other->noun);
    return order ? order : strcmp(one->verb ? one->verb : "", other->verb ? other->verb : "");
}

const ctl_command *const *ctl_commands(apr_pool_t *pool, int *count)
{
    apr_array_header_t *all = apr_array_make(pool, 64, sizeof(const ctl_command *));
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        for (const ctl_command *k = own[i]; k->noun; k++) {
            APR_ARRAY_PUSH(all, const ctl_command *) = k;
        }
    }
    ctl_operation_commands(pool, beside, all);
    qsort(all->elts, (size_t)all->nelts, sizeof(const ctl_command *), by_words);
    *count = all->nelts;
    return (const ctl_command *const *)all->elts;
}

const argument_option ctl_common_options[] = {
    {"json", NULL,
     "print one JSON document instead of tables, and an error as one on standard error"},
    {"store", "DSN",
     "sqlite3:PATH or pgsql:<libpq parameters>; else $IDADMIN_STORE, else `admin_store`, "
     "else `store` of the configuration"},
    {"config", "FILE", "configuration instead of " IDA_SYSCONFDIR "/idadmin/idadmin.conf"},
    {"seal-key", "FILE",
     "seal key; default <store stem>.key beside a SQLite store, " IDA_SYSCONFDIR
     "/idadmin/seal.key for PostgreSQL"},
    {"as", "NAME",
     "the person who does this, for the audit log; else $SUDO_USER, else who signed in, else the "
     "process's user"},
    {"help", NULL, "this help; also -h"},
    {"version", NULL, "the version and the build; also -V"},
    {NULL, NULL, NULL},
};
