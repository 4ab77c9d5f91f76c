/* Owns the brake: which tasks count for it, how many began within the hour, and the proofs that one
 * of them began or was released. Goes by what only this service can have said, not by rows of
 * tasks. Must not know how a task is claimed. */
#include "core/queue/brake.h"

#include <apr_strings.h>
#include <pthread.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/json.h"
#include "core/base/text.h"
#include "core/store/audit.h"
#include "core/store/rows.h"
#include "core/store/tenant.h"

#define HOUR_MS INT64_C(3600000)
#define BEGAN_MAX 4096
#define RELEASE "release" /* what its proof is of */
#define PERSON_LEN 16     /* hexadecimal digits of a digest */

/* Tasks that this process began. Records may be deleted from the store, which does not make room
 * here. */
static struct {
    pthread_mutex_t lock;
    struct {
        uint64_t tenant;
        int64_t at;
    } of[BEGAN_MAX];
    unsigned next;
} began = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t name_of(const store *s, ida_ctx *c, const char *tenant)
{
    unsigned char digest[IDA_DIGEST_LEN];
    uint64_t name;
    const char *text = apr_pstrcat(c->pool, tenant, " ", s->dsn, NULL);
    ida_sha256(text, strlen(text), digest);
    memcpy(&name, digest, sizeof name);
    return name;
}

void queue_brake_began(store *s, ida_ctx *c, const ida_task *task)
{
    uint64_t name = name_of(s, c, task->tenant);
    pthread_mutex_lock(&began.lock);
    began.of[began.next].tenant = name;
    began.of[began.next].at = task->started_at;
    began.next = (began.next + 1) % BEGAN_MAX;
    pthread_mutex_unlock(&began.lock);
}

static int64_t began_since(const store *s, ida_ctx *c, const char *tenant, int64_t since)
{
    uint64_t name = name_of(s, c, tenant);
    int64_t count = 0;
    pthread_mutex_lock(&began.lock);
    for (int i = 0; i < BEGAN_MAX; i++) {
        count += began.of[i].tenant == name && began.of[i].at > since;
    }
    pthread_mutex_unlock(&began.lock);
    return count;
}

/* A row can be given another person after its task began or was released. */
static const char *whose(const ida_task *task)
{
    return task->object_id ? task->object_id : task->person;
}

/* Identity of the record that the task has begun for its person, which the audit takes once. */
static const char *start_rid(apr_pool_t *pool, const ida_task *task)
{
    return apr_pstrcat(pool, "start-", task->id, "-",
                       apr_pstrmemdup(pool, ida_sha256_hex(pool, whose(task), strlen(whose(task))),
                                      PERSON_LEN),
                       NULL);
}

const char *queue_brake_release(ida_ctx *c, const ida_task *task)
{
    return c->env->seal_key ? ida_seal_statement(c, RELEASE, task->id, whose(task)) : RELEASE;
}

static int is_released(ida_ctx *c, const ida_task *task)
{
    return task->released &&
           ida_seal_statement_holds(c, RELEASE, task->id, whose(task), task->released);
}

/* By what the run will do: its steps, and what they find in the payload. */
static int disables(ida_ctx *c, const ida_task *task)
{
    int updates = 0;
    for (int i = 0; i < task->step_count; i++) {
        const ida_step *step = &task->steps[i];
        if (!step->workflow && strcmp(step->name, "disableAccount") == 0) {
            return 1;
        }
        updates |= !step->workflow && strcmp(step->name, "updateAccount") == 0;
    }
    const json_t *enabled = updates ? json_object_get(ida_json_load(c->pool, task->payload),
                                                      "accountEnabled")
                                    : NULL;
    return task->type == IDA_USER_DELETE || (enabled && !json_is_true(enabled));
}

int queue_brake_counts(ida_ctx *c, const ida_task *task)
{
    return disables(c, task) && !is_released(c, task);
}

ida_kind queue_brake_has_begun(store *s, ida_ctx *c, const ida_task *task, int *has)
{
    return store_audit_is_ours(s, c, task->tenant, start_rid(c->pool, task), has);
}

ida_kind queue_brake_ask(store *s, ida_ctx *c, const ida_task *task, int64_t now, const char **why)
{
    ida_tenant *tenant;
    int64_t started;
    int own;
    *why = NULL;
    ida_kind kind = store_tenant_get(s, c, task->tenant, &tenant, NULL);
    if (kind == IDA_INTERNAL_ERROR && store_is_connected(s)) {
        *why = ida_printf(c->pool, "The brake cannot be judged: %s", c->message);
        ida_ctx_clear(c);
        return IDA_OK;
    }
    if (kind || !tenant->brake_per_hour) {
        return kind;
    }
    kind = store_tenant_lock(s, c, task->tenant);
    kind = kind ? kind
                : store_number(s, c, STMT_audit_started,
                               DB_ARGS(DB_T(task->tenant), DB_I(now - HOUR_MS)), &started);
    kind = kind ? kind : queue_brake_has_begun(s, c, task, &own);
    if (kind || own) {
        return kind;
    }
    int64_t here = began_since(s, c, task->tenant, now - HOUR_MS);
    started = started > here ? started : here;
    if (started >= tenant->brake_per_hour) {
        *why = ida_printf(
            c->pool,
            "Held by the brake: offboardings and other disablings that were started "
            "within the last hour: %lld, as many as brake.offboardingsPerHour allows. A "
            "person (`idadminctl task release`), or another API key than the one "
            "that asked, may release this task; or cancel it.",
            (long long)started);
    }
    return IDA_OK;
}

ida_kind queue_brake_record(store *s, ida_ctx *c, const ida_task *task, int64_t at)
{
    audit_record *record = audit_make(c, task->tenant, "workflow");
    record->rid = start_rid(c->pool, task);
    record->at = at;
    record->actor = "worker";
    record->label = "";
    record->action = "task.start";
    record->target = task->upn;
    record->outcome = "ok";
    record->parameters = ida_json_text(c->pool, ida_json_keep(c->pool, json_pack("{s:s}", "taskId",
                                                                                 task->id)));
    return store_audit_add(s, c, record);
}
