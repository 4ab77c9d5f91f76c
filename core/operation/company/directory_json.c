/* Owns how a directory's state looks in answers. Must not know what caused it. */
#include "core/operation/company/directory_json.h"

#include <apr_strings.h>
#include <stdlib.h>

#include "core/base/json.h"
#include "core/cache/freshness.h"
#include "core/store/directory.h"
#include "core/tenant/value.h"

#define LATE_INTERVALS 3
#define LATE_GRACE_MS 60000

typedef enum directory_state {
    STATE_FRESH,
    STATE_LATE,    /* no complete read for three intervals and a minute */
    STATE_HELD,    /* it does not answer as it should: only probes call it */
    STATE_STOPPED, /* by the deletion guard, until an administrator accepts */
    STATE_NEVER,   /* never read in full */
} directory_state;

typedef struct standing {
    const json_t *document; /* the directory's member of the tenant document */
    cache_sync_info sync;
    store_directory health;
    directory_state state;
} standing;

static const char *const state_names[] = {
    [STATE_FRESH] = "fresh",     [STATE_LATE] = "late",   [STATE_HELD] = "held",
    [STATE_STOPPED] = "stopped", [STATE_NEVER] = "never",
};

static directory_state state_of(const standing *d, int64_t now)
{
    int64_t interval = ida_duration_parse(ida_json_string(d->document, "syncInterval"));
    int late = now - d->sync.completed_at > LATE_INTERVALS * interval + LATE_GRACE_MS;
    return d->health.hold_reason ? STATE_HELD
           : d->sync.stopped     ? STATE_STOPPED
           : !d->sync.full_at    ? STATE_NEVER
           : late                ? STATE_LATE
                                 : STATE_FRESH;
}

/* What is wrong, and since when. A failing run is retried: the time is when the first of them
 * failed, since when the cache is not updated. */
static void put_problem(json_t *out, const standing *d)
{
    int held = d->state == STATE_HELD, stopped = d->state == STATE_STOPPED;
    const char *problem = held ? d->health.hold_reason : stopped ? d->sync.stopped : d->sync.error;
    int64_t since = held                                ? d->health.hold_since
                    : stopped                           ? d->sync.started_at
                    : problem || d->state == STATE_LATE ? d->sync.completed_at
                                                        : 0;
    ida_json_put_or_null(out, "problem", problem);
    ida_json_put_time(out, "since", since);
    ida_json_put_time(out, "nextProbeAt", held ? d->health.hold_until : 0);
}

/* Progress of the run in progress; null if there is none. */
static ida_kind put_progress(const ida_call *call, store *s, ida_ctx *c, const standing *d,
                             json_t *out)
{
    json_object_set_new(out, "progress", json_null());
    if (!d->health.sync_owner || d->sync.started_at <= d->sync.completed_at) {
        return IDA_OK;
    }
    int64_t users, groups;
    ida_kind kind = cache_sync_progress(s, c, call->asked->tenant->id, d->health.directory, &users,
                                        &groups);
    json_t *progress = json_pack("{s:I, s:I}", "users", (json_int_t)users, "groups",
                                 (json_int_t)groups);
    ida_json_put_time(progress, "startedAt", d->sync.started_at);
    json_object_set_new(out, "progress", progress);
    return kind;
}

static json_t *secrets_json(const standing *d)
{
    const struct {
        const char *member, *kind;
        int64_t ends;
    } secrets[] = {{"clientSecretFile", "clientSecret", d->health.password_ends},
                   {"certificateFile", "certificate", d->health.certificate_ends},
                   {"bindPasswordFile", "bindPassword", d->health.password_ends}};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        if (ida_json_string(d->document, secrets[i].member)) {
            json_t *secret = json_pack("{s:s}", "kind", secrets[i].kind);
            ida_json_put_time(secret, "expiresAt", secrets[i].ends);
            json_array_append_new(list, secret);
        }
    }
    return list;
}

static const char *address_of(apr_pool_t *pool, const json_t *document)
{
    const char *all = ida_json_string(document, "apiUrl");
    const json_t *url;
    size_t i;
    json_array_foreach (json_object_get(document, "urls"), i, url) {
        all = all ? apr_pstrcat(pool, all, ", ", json_string_value(url), NULL)
                  : json_string_value(url);
    }
    return all;
}

static void put_document(ida_ctx *c, const json_t *document, json_t *out)
{
    static const char *const members[] = {"dialect", "createIn", "markerAttribute"};
    ida_json_put_or_null(out, "address", address_of(c->pool, document));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        json_t *value = json_object_get(document, members[i]);
        json_object_set_new(out, members[i], value ? json_incref(value) : json_null());
    }
    int64_t interval = ida_duration_parse(ida_json_string(document, "syncInterval"));
    const char *guard = ida_json_string(document, "deletionGuard");
    json_object_set_new(out, "syncInterval", json_integer(interval / 1000));          /* seconds */
    json_object_set_new(out, "deletionGuard", json_integer(guard ? atoi(guard) : 0)); /* percent */
    json_object_set_new(
        out, "protectedAccountCount",
        json_integer((json_int_t)json_array_size(json_object_get(document, "protectedAccounts"))));
}

static ida_kind put_directory(ida_call *call, store *s, ida_ctx *c, ida_directory_kind where,
                              json_t *out)
{
    standing d = {.document = call->asked->tenant->directory[where]};
    int64_t waiting = 0;
    const char *tenant = call->asked->tenant->id;
    ida_kind kind = cache_sync_info_get(s, c, tenant, where, &d.sync);
    kind = kind ? kind : store_directory_get(s, c, tenant, where, &d.health);
    kind = kind ? kind : store_directory_waiting(s, c, tenant, where, &waiting);
    if (kind) {
        return kind;
    }
    d.health.directory = where;
    d.state = state_of(&d, ida_now(c->env));
    ida_json_put(out, "directory", ida_directory_name(where));
    put_document(c, d.document, out);
    json_object_set_new(out, "users", json_integer(d.sync.users));
    json_object_set_new(out, "groups", json_integer(d.sync.groups));
    ida_json_put(out, "state", state_names[d.state]);
    ida_json_put_time(out, "asOf", d.sync.completed_at);
    ida_json_put_time(out, "signInsAsOf", d.sync.sign_ins ? d.sync.completed_at : 0);
    put_problem(out, &d);
    json_object_set_new(out, "waitingTasks", json_integer(waiting));
    json_object_set_new(out, "secrets", secrets_json(&d));
    return put_progress(call, s, c, &d, out);
}

ida_kind ida_directories_json(ida_call *call, store *s, ida_ctx *c, json_t **array)
{
    ida_kind kind = IDA_OK;
    *array = ida_json_keep(c->pool, json_array());
    for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
        if (call->asked->tenant->has_directory[d]) {
            json_t *out = json_object();
            json_array_append_new(*array, out);
            kind = put_directory(call, s, c, (ida_directory_kind)d, out);
        }
    }
    return kind;
}
