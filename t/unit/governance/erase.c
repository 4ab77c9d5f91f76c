/* Which person an erasure means, on both engines: traces over tasks and accounts, what it
 * refuses, which audit records belong to the person and which to a namesake, and texts of
 * others. */
#include "t/unit/setup.h"

#include "t/unit/store_setup.h"

#include "t/unit/queue_setup.h"

#include "core/governance/erase.h"

static store *s;

static void end_task(const ida_task *t, const char *object_id)
{
    script(
        DB_REQUEST,
        apr_psprintf(
            pool,
            "UPDATE task SET state = 'done', finished_at = 5, object_id = '%s', who = '%s' WHERE "
            "id = '%s'",
            object_id, object_id, t->id));
}

static void concerns(const governance_traces *t, int expected, const char *target,
                     const char *parameters, const char *detail)
{
    audit_record record = {
        .actor = "hr", .label = "", .target = target, .parameters = parameters, .detail = detail};
    ok(governance_erase_is_about(fresh(), t, &record) == expected, "%s: %s, %s, %s",
       expected ? "reports the person" : "does not", target ? target : "-",
       parameters ? parameters : "-", detail ? detail : "-");
}

static void test_engine(int number)
{
    governance_traces *t = NULL;
    governance_erased erased = {0};
    dsn = store_upgraded(number, &engine);
    s = store_make(pool, dsn, DB_REQUEST);
    add_tenant("corp", "");
    ida_task *made = add_task(s, "corp", IDA_USER_CREATE, "anna.berg@corp.example", test_now_ms);
    ida_ctx *c = fresh();
    is_int(governance_erase_find(s, c, "corp", "ANNA.Berg@corp.example", &t), IDA_CONFLICT,
           "a task that is not over");
    says(c, "is named, with what to do", made->id, "cancel it", NULL);
    is_int(governance_erase_find(s, fresh(), "corp", "anna", &t), IDA_BAD_REQUEST,
           "half a name means too many");
    end_task(made, "0b5b6d2e-0000-4000-8000-00000000anna");
    /* Renamed since: the account leads from one UPN to the other. */
    ida_task *left = add_task(s, "corp", IDA_USER_DELETE, "anna.ek@corp.example", test_now_ms);
    end_task(left, "0b5b6d2e-0000-4000-8000-00000000anna");
    cache_person("corp", "0b5b6d2e-0000-4000-8000-00000000anna", "anna.ek@corp.example", 0, 0);
    c = fresh();
    is_int(governance_erase_find(s, c, "corp", "anna.berg@corp.example", &t), IDA_CONFLICT,
           "an account that the directory still has, under whatever name");
    says(c, "which one is said", "cloud", "anna.ek@corp.example", "sync corp", NULL);
    script(DB_SYNC, "DELETE FROM cache.directory_user");
    is_int(governance_erase_find(s, fresh(), "corp", "anna.berg@corp.example", &t), IDA_OK,
           "found");
    is_int(t->task_count, 2, "with the tasks under both names");

    /* Another person has the address by now. */
    cache_person("corp", "0c0c0c0c-0000-4000-8000-00000000heir", "anna.berg@corp.example", 1, 1);
    c = fresh();
    is_int(governance_erase_find(s, c, "corp", "anna.berg@corp.example", &t), IDA_CONFLICT,
           "an address that is another's now");
    says(c, "names who had it, and spares the other", "0b5b6d2e-0000-4000-8000-00000000anna",
         "must be named by ID", "not to be deleted", NULL);
    is_int(governance_erase_find(s, fresh(), "corp", "0b5b6d2e-0000-4000-8000-00000000anna", &t),
           IDA_OK, "by ID the person is found");
    ok(t->task_count == 2 && t->shared_count == 1, "with her tasks; one address is shared");
    concerns(t, 1, "anna.ek@corp.example", NULL, NULL);
    concerns(t, 1, "anna.berg@corp.example", NULL, left->id);
    concerns(t, 0, "anna.berg@corp.example", NULL, "enabled");
    script(DB_SYNC, "DELETE FROM cache.directory_user; DELETE FROM cache.address");
    is_int(governance_erase_find(s, fresh(), "corp", "anna.berg@corp.example", &t), IDA_OK,
           "alone with the address again");

    concerns(t, 1, "anna.berg@corp.example", NULL, NULL);
    concerns(t, 1, NULL, "{\"userPrincipalName\":\"Anna.EK@corp.example\"}", NULL);
    concerns(t, 1, left->id, NULL, NULL);
    concerns(t, 1, NULL, "{\"query\":\"berg, anna\"}", NULL);
    concerns(t, 1, NULL, "{\"firstname\":\"Anna\",\"surname\":\"Berg\"}", NULL);
    concerns(t, 1, "bo.ek@corp.example", NULL, "manager is Anna Berg");
    concerns(t, 1, "bo.ek@corp.example", "{\"manager\":\"anna.berg@corp.example\"}", NULL);
    concerns(t, 0, "anna.berg2@corp.example", "{\"firstname\":\"Anna\",\"surname\":\"Berg\"}",
             "created");
    concerns(t, 0, NULL, "{\"query\":\"anna\"}", NULL);
    concerns(t, 0, NULL, "{\"query\":\"bergen annan\"}", NULL);
    concerns(t, 0, "bo.ek@corp.example", NULL, "added to Sales");

    /* A namesake, and another person whose task mentions her. */
    ida_task *namesake = add_task(s, "corp", IDA_USER_CREATE, "anna.berg2@corp.example",
                                  test_now_ms);
    ida_task *other = add_task(s, "corp", IDA_USER_UPDATE, "bo.ek@corp.example", test_now_ms);
    script(DB_REQUEST,
           apr_psprintf(
               pool,
               "UPDATE task_payload SET payload = '{\"manager\":\"ANNA.berg@corp.example\"}' WHERE "
               "task_id = '%s';UPDATE task_step SET detail = 'Anna Berg (anna.berg@corp.example) "
               "is the manager' WHERE task_id = '%s' AND position = 1",
               other->id, other->id));
    audit_record *record = audit_make(fresh(), "corp", "portal");
    record->action = "person.erase";
    record->outcome = "ok";
    is_int(governance_erase_main(s, fresh(), t, &erased, record), IDA_OK, "erased");
    ok(erased.tasks == 2 && erased.mentions == 2, "%s: two tasks, two mentions (%d, %d)", engine,
       (int)erased.tasks, (int)erased.mentions);
    ida_task *now = get_task(s, other);
    is_str(now->payload, "{\"manager\":\"erased\"}", "a mention in another's payload");
    is_str(now->steps[0].detail, "erased (erased) is the manager", "and in a step's text");
    now = get_task(s, namesake);
    is_str(now->payload, "{\"firstname\":\"Anna\",\"surname\":\"Berg\"}",
           "a namesake keeps the name");
    is_str(now->upn, "anna.berg2@corp.example", "and the UPN");
    now = get_task(s, made);
    ok(!strcmp(now->upn, "erased") && !strcmp(now->payload, "{}") && !now->object_id &&
           !now->mail && !now->display_name,
       "own tasks are overwritten");
    is_int(ask("SELECT count(*) FROM audit_outbox WHERE record LIKE '%anna%'"), 0,
           "its record names no person");
    is_int(governance_erase_main(s, fresh(), t, &erased, audit_make(fresh(), "corp", "portal")) !=
               IDA_OK,
           0, "once more is no fault");
    store_disconnect(s);
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        test_engine(i);
    }
    return done();
}
