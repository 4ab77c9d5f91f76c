/* A store as version 1 of the schema made it, upgraded: what was in it is as before, and what is
 * new says what it should of old rows. */
#include <string.h>

#include "core/db/db.h"
#include "core/db/migrations.h"
#include "core/governance/governance.h"
#include "core/queue/event.h"
#include "core/queue/rehire.h"
#include "core/store/directory.h"
#include "core/store/key.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static const char old_rows[] =
    "INSERT INTO tenant (id, document, seal, revision, created_at, updated_at) VALUES ('t', '{}', "
    "'', 1, 0, 0);INSERT INTO api_key (tenant_id, username, key_hash, access_level, created_at) "
    "VALUES ('t', 'hr', 'x', 'full', 1);INSERT INTO task (id, tenant_id, type, state, directory, "
    "person, upn, wall_date, wall_time, zone, due_at, next_at, created_at, username) VALUES ('1', "
    "'t', 'userDelete', 'queued', 'cloud', 'a', 'a', '', '', '', 1, 1, 1, 'hr'), ('2', 't', "
    "'userUpdate', 'queued', 'cloud', 'a', 'a', '', '', '', 1, 1, 1, 'hr'),('3', 't', "
    "'userUpdate', 'queued', 'cloud', 'a', 'a', '', '', '', 1, 1, 1, 'hr'), ('4', 't', "
    "'userUpdate', 'queued', 'cloud', 'a', 'a', '', '', '', 1, 1, 1, 'hr'),('5', 't', "
    "'userCreate', 'queued', 'cloud', 'a', 'a', '', '', '', 1, 1, 1, 'hr');INSERT INTO "
    "task_payload (task_id, payload) VALUES ('1', '{}'), ('2', '{\"accountEnabled\":false}'), "
    "('3', '{\"accountEnabled\":true}'),('4', '{\"jobTitle\":\"accountEnabled\"}'), ('5', "
    "'{\"accountEnabled\":false,\"employeeId\":\"E-5\"}');INSERT INTO task (id, tenant_id, type, "
    "state, directory, person, upn, wall_date, wall_time, zone, due_at, next_at, created_at, "
    "username) VALUES ('6', 't', 'accessGrant', 'queued', 'cloud', 'a', 'a', '', '', '', 1, 1, 1, "
    "'hr');INSERT INTO task_step (task_id, position, name, outcome, detail, at) VALUES ('1', 1, "
    "'disableAccount', 'done', 'disabled', 5), ('1', 2, 'revokeSessions@cloud', NULL, NULL, 0), "
    "('1', 3, 'Join/er 1/12 addToGroup', NULL, NULL, 0), ('1', 4, 'a@b@cloud/1 sendEmail', NULL, "
    "NULL, 0), ('1', 5, 'Åsa / 2/3 4/5 callWebhook', NULL, NULL, 0), ('1', 6, 'verify@cloud', "
    "NULL, NULL, 0), ('6', 1, 'addToGroup A/1 group', NULL, NULL, 0), ('6', 2, 'addToGroup "
    "x@cloud', NULL, NULL, 0);INSERT INTO task (id, tenant_id, type, state, directory, person, "
    "upn, "
    "wall_date, wall_time, zone, due_at, next_at, created_at, username) VALUES ('7', 't', "
    "'accessRevoke', 'queued', 'cloud', 'a', 'a', '', '', '', 1, 1, 1, 'root');UPDATE task SET "
    "object_id = 'id-1' WHERE id IN ('1', '3');INSERT INTO user_lock (tenant_id, person, task_id) "
    "VALUES ('t', 'a', '1');INSERT INTO role_template (tenant_id, id, name) VALUES ('t', 'r', "
    "'R');INSERT INTO role_assignment (tenant_id, template_id, person, upn, user_id, assigned_at, "
    "assigned_by) VALUES ('t', 'r', 'a', 'a', 'id-1', 1, 'x'), ('t', 'r', 'was.a', 'was.a', "
    "'id-1', 1, 'x'), ('t', 'r', 'b', 'b', NULL, 1, 'x');";

#define LARGE 5000 /* bytes of the payload of task 6 */

static const struct {
    const char *name, *workflow, *account, *shown;
    int position;
} new_steps[] = {
    {"disableAccount", NULL, NULL, "disableAccount", 0},
    {"revokeSessions", NULL, "cloud", "revokeSessions@cloud", 0},
    {"addToGroup", "Join/er 1", NULL, "Join/er 1/12 addToGroup", 12},
    {"sendEmail", "a@b@cloud", NULL, "a@b@cloud/1 sendEmail", 1},
    {"callWebhook", "Åsa / 2/3 4", NULL, "Åsa / 2/3 4/5 callWebhook", 5},
    {"verify", NULL, "cloud", "verify@cloud", 0},
};

/* The first migration of each file, as the first version ran it. */
static ida_kind make_old(const char *dsn)
{
    ida_kind kind = IDA_OK;
    for (int file = 0; !kind && file < DB_FILE_COUNT; file++) {
        db *d;
        ida_ctx *c = ida_ctx_make(&env, pool);
        kind = db_open_unchecked(&d, dsn, db_file_role((db_file)file), c, pool);
        kind = kind ? kind : db_schema_begin(d, c);
        for (const ida_migration *m = kind ? NULL : db_migrations(d); m && m->number; m++) {
            if (m->number == 1 && strcmp(m->file, db_file_name((db_file)file)) == 0) {
                kind = kind ? kind : db_script(d, c, m->sql);
            }
        }
        kind = kind ? kind : db_schema_set_version(d, c, (db_file)file, 1);
        if (file == DB_MAIN) {
            char *large = apr_palloc(pool, LARGE + 1);
            memset(large, 'a', LARGE);
            large[0] = large[LARGE - 1] = '"';
            large[LARGE] = '\0';
            kind = kind ? kind : db_script(d, c, old_rows);
            kind = kind ? kind
                        : db_script(d, c,
                                    apr_psprintf(pool,
                                                 "INSERT INTO task_payload (task_id, payload) "
                                                 "VALUES ('6', '%s')",
                                                 large));
        }
        kind = kind ? kind : db_commit(d, c);
        if (kind) {
            printf("# %s\n", c->message);
        } else {
            db_close(d);
        }
    }
    return kind;
}

static int same(const char *a, const char *b)
{
    return !a || !b ? a == b : strcmp(a, b) == 0;
}

/* What was a grammar in the names of steps stands in columns, and is shown as before. */
static void check_steps(store *s)
{
    const int count = sizeof new_steps / sizeof *new_steps;
    ida_task *task, *access;
    is_int(queue_task_get(s, ida_ctx_make(&env, pool), "t", "1", 0, &task), IDA_OK, "asked");
    is_str(task->via, "rest", "an API key asked for it");
    is_int(task->step_count, count, "each step is there");
    for (int i = 0; i < count; i++) {
        const ida_step *step = &task->steps[i];
        ok(same(step->name, new_steps[i].name) && same(step->workflow, new_steps[i].workflow) &&
               same(step->account, new_steps[i].account) &&
               step->workflow_position == new_steps[i].position,
           "%s is in its columns", new_steps[i].shown);
        is_str(ida_step_shown(pool, step), new_steps[i].shown, "and shown as it was");
    }
    ok(task->steps[0].outcome == IDA_STEP_DONE && task->steps[0].at == 5, "with its outcome");
    is_int(queue_task_get(s, ida_ctx_make(&env, pool), "t", "6", 0, &access), IDA_OK, "asked");
    ok(same(access->steps[0].name, "addToGroup A/1 group") && !access->steps[0].workflow &&
           same(access->steps[1].name, "addToGroup x@cloud") && !access->steps[1].account,
       "what is named after a group is no action");
    is_str(access->via, "rest", "asked for under the name of a key");
    is_int(queue_task_get(s, ida_ctx_make(&env, pool), "t", "7", 0, &access), IDA_OK, "asked");
    is_str(access->via, "command", "under another name, at the shell");
}

/* Old rows are of the account whose ID they tell, else of the address. */
static void check_people(store *s)
{
    const queue_person one = {.id = "id-1"}, other = {.address = "a"};
    const struct {
        const queue_person *whom;
        int64_t tasks, roles;
    } want[] = {{&one, 2, 1}, {&other, 5, 0}};
    for (int i = 0; i < 2; i++) {
        const queue_task_filter tasks = {.person = want[i].whom, .limit = 10};
        const governance_assigned_filter roles = {.person = want[i].whom,
                                                  .after_template = "",
                                                  .after_who = "",
                                                  .limit = 10,
                                                  .count_max = 10};
        const ida_role_assignment *assigned;
        ida_task *found;
        int count;
        int64_t total = 0, given = 0;
        ida_ctx *c = ida_ctx_make(&env, pool);
        is_int(queue_task_list(s, c, "t", &tasks, &found, &count, &total), IDA_OK, "listed");
        is_int(governance_assignment_page(s, c, "t", &roles, &assigned, &count, &given), IDA_OK,
               "and the role templates");
        ok(total == want[i].tasks && given == want[i].roles,
           "%lld tasks and %lld role templates of %s", (long long)total, (long long)given,
           i ? "the address" : "the ID");
    }
}

/* Who made an old key is not known. */
static void check_keys(store *s)
{
    const store_key_row *rows;
    int count;
    is_int(store_key_list(s, ida_ctx_make(&env, pool), "t", "", 10, &rows, &count), IDA_OK, "keys");
    ok(count == 1 && rows[0].created_by == NULL && rows[0].from == NULL,
       "an old key has no maker and no networks");
    ok(count && !rows[0].decisions, "nor may it carry decisions");
}

/* How large the payloads of before are, and that no worker is said to have a fault. */
static void check_payloads(store *s)
{
    db_result r;
    ida_ctx *c = ida_ctx_make(&env, pool);
    const store_worker *workers;
    int count;
    is_int(store_read(s, c, STMT_task_payload_queued, DB_ARGS(DB_T("t")), &r), IDA_OK, "asked");
    is_int(DB_ROW(number, &r, 0)->number.number, LARGE, "an old payload counts by its length");
    is_int(store_worker_list(s, c, &workers, &count), IDA_OK, "workers are read");
}

/* What ended before there were events is not told. */
static void check_events(store *s)
{
    int64_t first = -1, last = -1;
    is_int(queue_event_bounds(s, ida_ctx_make(&env, pool), "t", &first, &last), IDA_OK, "events");
    ok(first == 1 && last == 0, "none yet");
}

int main(void)
{
    setup();
    for (int i = 0, engines = store_engines(); i < engines; i++) {
        const char *engine, *dsn = store_engine(i, &engine);
        printf("# %s\n", engine);
        is_int(make_old(dsn), IDA_OK, "a store of version 1");
        json_t *steps = json_array();
        is_int(store_schema_upgrade(dsn, ida_ctx_make(&env, pool), steps), IDA_OK, "is upgraded");
        ok(json_array_size(steps) >= 1, "in steps that are told");
        json_decref(steps);
        store *s = store_make(pool, dsn, DB_REQUEST);
        int64_t count = 0;
        queue_coming *coming;
        int open = 0;
        is_int(queue_task_disablings_expected(s, ida_ctx_make(&env, pool), "t", "nobody",
                                              ida_now(&env), &count),
               IDA_OK, "asked");
        is_int(queue_rehire_coming(s, ida_ctx_make(&env, pool), "t", "E-5", &coming, &open), IDA_OK,
               "asked");
        ok(open == 1 && strcmp(coming[0].task_id, "5") == 0,
           "an open creation is found by its employeeId");
        check_steps(s);
        check_people(s);
        check_keys(s);
        check_events(s);
        check_payloads(s);
        is_int(count, 2, "the brake counts the old offboarding and the old update that disables");
    }
    return done();
}
