/* Tasks as values: words, the public form, names of steps. */
#include "core/model/task.h"

#include "core/base/json.h"
#include "core/zone/zone.h"
#include "t/unit/setup.h"

static void test_words(void)
{
    for (int i = IDA_USER_CREATE; i <= IDA_ACCESS_REVOKE; i++) {
        is_int(ida_task_type_parse(ida_task_type_text((ida_task_type)i)), i,
               ida_task_type_text((ida_task_type)i));
    }
    for (int i = IDA_QUEUED; i <= IDA_CANCELLED; i++) {
        is_int(ida_task_state_parse(ida_task_state_text((ida_task_state)i)), i,
               ida_task_state_text((ida_task_state)i));
    }
    for (int i = IDA_STEP_DONE; i <= IDA_STEP_UNKNOWN; i++) {
        is_int(ida_outcome_parse(ida_outcome_text((ida_outcome)i)), i,
               ida_outcome_text((ida_outcome)i));
    }
    is_str(ida_outcome_text(IDA_STEP_NONE), NULL, "a step not carried out has no word");
    is_int(ida_outcome_parse(NULL), IDA_STEP_NONE, "and back");
    ok(ida_task_type_parse("usercreate") == -1 && ida_task_type_parse(NULL) == -1 &&
           ida_task_state_parse("") == -1 && ida_outcome_parse("Done") == -1,
       "other words are none of ours");
}

static ida_step steps[] = {
    {.position = 1,
     .name = "createAccount",
     .outcome = IDA_STEP_DONE,
     .detail = "uid=anna.berg",
     .at = 1795253400000},
    {.position = 2, .name = "setManager"},
};

static ida_task task_of(ida_task_state state)
{
    return (ida_task){.id = "01j0",
                      .tenant = "contoso",
                      .type = IDA_USER_CREATE,
                      .state = state,
                      .upn = "anna.berg@contoso.example",
                      .zone = "Europe/Stockholm",
                      .due_at = 1795257000000,
                      .next_at = 1795257000000,
                      .created_at = 1795250000000,
                      .warnings = "[\"country: not a code\"]",
                      .username = "hr",
                      .label = "HR system",
                      .via = "console",
                      .display_name = "Anna Berg",
                      .directory = IDA_DIR_ON_PREMISES,
                      .steps = steps,
                      .step_count = 2};
}

static const char *text_of(const ida_task *task)
{
    ida_ctx *c = fresh();
    return ida_json_text(pool, ida_json_keep(pool, ida_task_json(c, task)));
}

static void test_json(void)
{
    ida_task t = task_of(IDA_QUEUED);
    is_str(text_of(&t),
           "{\"id\":\"01j0\",\"type\":\"userCreate\",\"state\":\"queued\",\"userPrincipalName\":"
           "\"anna.berg@contoso.example\",\"userId\":null,\"displayName\":\"Anna "
           "Berg\",\"directory\":\"onPremises\",\"scheduledAt\":\"2026-11-21T11:30:00+01:00\","
           "\"scheduledAtUtc\":\"2026-11-21T10:30:00Z\",\"timeZone\":\"Europe/"
           "Stockholm\",\"createdAt\":\"2026-11-21T08:33:20Z\","
           "\"startedAt\":null,\"finishedAt\":null,\"attempts\":0,\"nextAttemptAt\":null,"
           "\"requestedBy\":{\"username\":\"hr\",\"label\":\"HR "
           "system\",\"via\":\"console\"},\"warnings\":[\"country: "
           "not a "
           "code\"],\"error\":null,\"correlationId\":null,\"braked\":false,\"hold\":null,"
           "\"actions\":[\"cancel\","
           "\"reschedule\"],\"steps\":[{\"name\":\"createAccount\",\"outcome\":\"done\","
           "\"detail\":\"uid=anna.berg\",\"at\":\"2026-11-21T09:30:00Z\"},{\"name\":\"setManager\","
           "\"outcome\":null,\"detail\":null,\"at\":null}]}",
           "the public form, members in the order of the contract");
    t.payload = "{\"firstname\":\"secret\"}";
    t.marker = "secret";
    t.progress = "{\"x\":\"secret\"}";
    ok(!strstr(text_of(&t), "secret"), "payload, marker and progress stay inside");
}

static const char *member_of(const ida_task *task, const char *member)
{
    const json_t *value = json_object_get(ida_json_keep(pool, ida_task_json(fresh(), task)),
                                          member);
    return json_string_value(value);
}

static void test_waiting(void)
{
    ida_task t = task_of(IDA_QUEUED);
    t.hold = "The directory does not answer.";
    is_str(member_of(&t, "error"), NULL, "not yet due: the hold is no reason of this task");
    t.next_at = test_now_ms;
    is_str(member_of(&t, "error"), "The directory does not answer.",
           "due and held: the hold is the reason");
    t.error = "busy";
    is_str(member_of(&t, "error"), "busy", "its own reason goes first");
    t.started_at = test_now_ms - 1000;
    t.next_at = test_now_ms + 2000;
    is_str(member_of(&t, "nextAttemptAt"), "2026-11-21T09:30:02Z",
           "between two tries the next one has a time");
    t.state = IDA_FAILED;
    t.error = NULL;
    t.next_at = test_now_ms - 1;
    is_str(member_of(&t, "nextAttemptAt"), NULL, "a failed one has none");
    is_str(member_of(&t, "error"), NULL, "nor is a hold its reason");
    t.warnings = "damaged";
    is_int(json_array_size(
               json_object_get(ida_json_keep(pool, ida_task_json(fresh(), &t)), "warnings")),
           0, "damaged warnings become none");
}

static const char *actions_of(const ida_task *task)
{
    const json_t *list = json_object_get(ida_json_keep(pool, ida_task_json(fresh(), task)),
                                         "actions");
    return ida_json_text(pool, list);
}

static void test_actions(void)
{
    static const struct {
        ida_task_state state;
        int started;
        const char *actions;
    } rows[] = {
        {IDA_QUEUED, 0, "[\"cancel\",\"reschedule\"]"},
        {IDA_RUNNING, 1, "[]"},
        {IDA_DONE, 1, "[]"},
        {IDA_FAILED, 1, "[\"cancel\",\"retry\"]"},
        {IDA_ATTENTION, 1, "[\"cancel\",\"retry\"]"},
        {IDA_ATTENTION, 0, "[\"cancel\",\"reschedule\",\"retry\",\"release\"]"},
        {IDA_CANCELLED, 0, "[]"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ida_task t = task_of(rows[i].state);
        t.started_at = rows[i].started;
        is_str(actions_of(&t), rows[i].actions, ida_task_state_text(rows[i].state));
    }
    ida_task t = task_of(IDA_RUNNING);
    t.hold = "away";
    t.hold_since = t.hold_until = 1795257000000;
    is_str(ida_json_text(pool,
                         json_object_get(ida_json_keep(pool, ida_task_json(fresh(), &t)), "hold")),
           "{\"directory\":\"onPremises\",\"reason\":\"away\",\"since\":"
           "\"2026-11-21T10:30:00Z\",\"nextProbeAt\":\"2026-11-21T10:30:00Z\"}",
           "a held directory");
    t.state = IDA_DONE;
    ok(json_is_null(json_object_get(ida_json_keep(pool, ida_task_json(fresh(), &t)), "hold")),
       "is no matter of a task that is over");
}

static const char *names_in(const ida_tenant *tenant, ida_task_type type, int both)
{
    ida_task task = {.type = type, .both = both};
    const char *all = "";
    ida_task_plan(pool, tenant, &task);
    for (int i = 0; i < task.step_count; i++) {
        all = apr_pstrcat(pool, all, i ? ", " : "", ida_step_shown(pool, &task.steps[i]), NULL);
    }
    return all;
}

static const char *names_of(const ida_tenant *tenant, ida_task_type type)
{
    return names_in(tenant, type, 0);
}

static void test_step_names(void)
{
    ida_tenant tenant = {
        .document = ida_json_load(
            pool,
            "{\"workflows\":[{\"name\":\"Joiner\",\"trigger\":\"userCreate\",\"actions\":[{"
            "\"type\":\"addToGroup\"},{\"type\":\"sendEmail\"}]},{\"name\":\"Sleeping\","
            "\"trigger\":\"userCreate\",\"active\":false,\"actions\":[{\"type\":\"addToGroup\"}]},{"
            "\"name\":\"Leaver\",\"trigger\":\"userDelete\",\"active\":true,\"actions\":[{\"type\":"
            "\"removeLicenses\"}]},{\"name\":\"More\",\"trigger\":\"userCreate\",\"active\":true,"
            "\"actions\":[{\"type\":\"callWebhook\"},{\"type\":\"sendInitialPassword\"}]}]}")};
    is_str(names_of(&tenant, IDA_USER_CREATE),
           "createAccount, setManager, setPhoto, Joiner/1 addToGroup, Joiner/2 sendEmail, More/1 "
           "callWebhook, More/2 sendInitialPassword",
           "a creation");
    is_str(names_of(&tenant, IDA_USER_UPDATE),
           "updateAccount, setManager, setPhoto, restoreMemberships, More/2 sendInitialPassword",
           "an update has the password of who may come back");
    is_str(names_of(&tenant, IDA_USER_DELETE),
           "disableAccount, revokeSessions, revokeMemberships, Leaver/1 removeLicenses, verify",
           "an offboarding ends with verify");
    ida_tenant plain = {0};
    is_str(names_of(&plain, IDA_USER_DELETE),
           "disableAccount, revokeSessions, revokeMemberships, verify", "without workflows");
    is_str(names_in(&tenant, IDA_USER_CREATE, 1),
           "createAccount, setManager, setPhoto, awaitSynchronisation, Joiner/1 addToGroup, "
           "Joiner/2 sendEmail, More/1 callWebhook, More/2 sendInitialPassword",
           "a creation on-premises, with the cloud beside it");
    is_str(names_in(&plain, IDA_USER_CREATE, 1), "createAccount, setManager, setPhoto",
           "nothing to wait for without actions");
    is_str(names_in(&tenant, IDA_USER_DELETE, 1),
           "disableAccount, revokeSessions@cloud, revokeMemberships, revokeMemberships@cloud, "
           "Leaver/1 removeLicenses, awaitSynchronisation, verify, verify@cloud",
           "an offboarding in both directories");
    is_str(names_in(&plain, IDA_USER_UPDATE, 1),
           "updateAccount, setManager, setPhoto, restoreMemberships, awaitSynchronisation, "
           "restoreMemberships@cloud",
           "who comes back to both");
    is_str(names_of(&plain, IDA_ACCESS_GRANT), "addToGroup", "a granted access");
}

int main(void)
{
    setup();
    zone_init(pool);
    test_words();
    test_json();
    test_waiting();
    test_actions();
    test_step_names();
    return done();
}
