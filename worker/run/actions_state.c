/* Owns what the run remembers of workflow actions: which the document has, how each ended, what its
 * workflow's run reports. Must not know how an action is carried out. */
#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/cache/groups.h"
#include "core/queue/workflow.h"
#include "worker/run/actions.h"

/* Members of the task's progress: actions that failed, by step, with the text of the task's
 * failure or `true` if the run continues (also for an action that was skipped because the
 * document changed); actions that found another person under the address; groups that actions
 * added the person to, by ID; attempts used before the present action. */
#define ENDED "actionsEnded"
#define STRANGER "actionsStranger"
#define GRANTED "actionsGranted"
#define GAVE "actionsGave" /* read by core/governance/access.c */
#define TRIES_BEFORE "triesBefore"

/* --- which one it is --- */

static const json_t *workflow_named(const run *r, const char *name)
{
    const json_t *workflow;
    size_t i;
    json_array_foreach (json_object_get(r->account->session->tenant->document, "workflows"), i,
                        workflow) {
        const char *is = ida_json_string(workflow, "name");
        if (is && strcmp(is, name) == 0) {
            return workflow;
        }
    }
    return NULL;
}

const json_t *action_find(const run *r, const ida_step *step, const char **why, int *differs)
{
    const json_t *workflow = workflow_named(r, step->workflow);
    const json_t *settings = json_array_get(json_object_get(workflow, "actions"),
                                            (size_t)step->workflow_position - 1);
    const char *type = ida_json_string(settings, "type"),
               *trigger = ida_json_string(workflow, "trigger");
    *differs = 0;
    if (!workflow) {
        *why = "the tenant has no workflow of this name any more";
        return NULL;
    }
    if (json_is_false(json_object_get(workflow, "active"))) {
        *why = "the workflow is not active any more";
        return NULL;
    }
    if (!type || strcmp(type, step->name) != 0 || !trigger ||
        !ida_task_action_follows(r->task->type, trigger, type)) {
        *differs = 1;
        *why = "the workflow was changed since the task was queued";
        return NULL;
    }
    return settings;
}

const json_t *action_settings(const run *r, const ida_step *step)
{
    const char *why;
    int differs;
    return step->workflow ? action_find(r, step, &why, &differs) : NULL;
}

static const json_t *ended(const run *r, const ida_step *step)
{
    return json_object_get(json_object_get(r->progress, ENDED), ida_step_shown(r->pool, step));
}

int action_ended(const run *r, const ida_step *step)
{
    return ended(r, step) != NULL;
}

static int is_bad(const ida_step *step)
{
    return step->outcome == IDA_STEP_FAILED || step->outcome == IDA_STEP_UNKNOWN;
}

/* The reason to report in addition to the step itself; NULL: none. The action may have been
 * skipped because the workflow was changed. */
static const json_t *bad_end(const run *r, const ida_step *step)
{
    return is_bad(step) || step->outcome == IDA_STEP_SKIPPED ? ended(r, step) : NULL;
}

/* 1: the account of the step is gone, and another account has its address. */
static int met_stranger(const run *r, const ida_step *step)
{
    return is_bad(step) && json_object_get(json_object_get(r->progress, STRANGER),
                                           ida_step_shown(r->pool, step)) != NULL;
}

static int is_of(const ida_step *step, const char *workflow)
{
    return step->workflow && strcmp(step->workflow, workflow) == 0;
}

const ida_step *action_blocker(run *r)
{
    for (int i = 0; i < r->task->step_count; i++) {
        const ida_step *step = &r->task->steps[i];
        if (step->position < r->step.position && is_bad(step) && is_of(step, r->step.workflow) &&
            json_is_string(ended(r, step))) {
            return step;
        }
    }
    return NULL;
}

static json_t *member(json_t *object, const char *name)
{
    if (!json_object_get(object, name)) {
        json_object_set_new(object, name, json_object());
    }
    return json_object_get(object, name);
}

step_end action_give_up(run *r, ida_outcome outcome)
{
    const char *shown = run_shown(r);
    const char *detail = r->step.detail ? r->step.detail : "it could not be carried out";
    int go_on = json_is_true(json_object_get(r->settings, "continueOnError"));
    r->step.outcome = outcome;
    r->step.detail = detail;
    json_object_set_new(member(r->progress, ENDED), shown,
                        go_on ? json_true()
                              : json_string(ida_printf(r->pool, "%s: %s", shown, detail)));
    return STEP_ON;
}

void action_changed(run *r)
{
    json_object_set_new(member(r->progress, ENDED), run_shown(r), json_true());
}

void action_count_anew(run *r)
{
    if (r->tries_before != r->task->attempts) {
        r->tries_before = r->task->attempts;
        json_object_set_new(r->progress, TRIES_BEFORE, json_integer(r->tries_before));
    }
}

/* A retry by an administrator repeats these actions: reports of their earlier failure no longer
 * apply. */
static void forget_warnings(run *r, const char *step)
{
    const char *prefix = apr_pstrcat(r->pool, step, ": ", NULL);
    for (size_t i = json_array_size(r->warnings); i-- > 0;) {
        const char *text = json_string_value(json_array_get(r->warnings, i));
        if (text && strncmp(text, prefix, strlen(prefix)) == 0) {
            json_array_remove(r->warnings, i);
        }
    }
}

void actions_begin(run *r)
{
    int64_t before = json_integer_value(json_object_get(r->progress, TRIES_BEFORE));
    r->tries_before = before <= r->task->attempts ? before
                                                  : 0; /* a retry counts from the beginning */
    for (int i = 0; i < r->task->step_count; i++) {
        const ida_step *step = &r->task->steps[i];
        if (step->outcome == IDA_STEP_NONE && step->workflow) {
            const char *shown = ida_step_shown(r->pool, step);
            forget_warnings(r, shown);
            json_object_del(json_object_get(r->progress, ENDED), shown);
            json_object_del(json_object_get(r->progress, STRANGER), shown);
        }
    }
}

void actions_sum_up(run *r)
{
    for (int i = 0; i < r->task->step_count; i++) {
        const ida_step *step = &r->task->steps[i];
        const json_t *text = bad_end(r, step);
        if (met_stranger(r, step)) { /* whatever else failed, the identity of the person comes
                                        first */
            r->failure = ida_printf(r->pool, "%s: %s", ida_step_shown(r->pool, step), step->detail);
            r->failure_unknown = 1;
        } else if (json_is_string(text)) { /* a task with an unknown outcome names the action */
            int unknown = step->outcome == IDA_STEP_UNKNOWN && !r->failure_unknown;
            r->failure = r->failure && !unknown ? r->failure : json_string_value(text);
            r->failure_unknown |= unknown;
        } else if (text) {
            run_warn(r, ida_printf(r->pool, "%s: %s", ida_step_shown(r->pool, step),
                                   step->detail ? step->detail : "failed"));
        }
    }
}

/* --- what its workflow's run says --- */

static void judge_run(run *r, const ida_step *present, queue_workflow_news *news)
{
    int open = 0, failed = 0, warned = 0;
    for (int i = 0; i < r->task->step_count; i++) {
        const ida_step *step = r->task->steps[i].position == present->position ? present
                                                                               : &r->task->steps[i];
        if (!is_of(step, news->workflow)) {
            continue;
        }
        const json_t *text = bad_end(r, step);
        open += step->outcome == IDA_STEP_NONE || (is_bad(step) && !text);
        failed += json_is_string(text);
        warned += json_is_true(text);
    }
    news->run_status = open ? "running" : failed ? "failed" : warned ? "doneWithWarnings" : "done";
    news->run_ended = !open;
}

const queue_workflow_news *action_told(run *r)
{
    int said = r->step.outcome == IDA_STEP_SKIPPED || is_bad(&r->step);
    queue_workflow_news *news = apr_palloc(r->pool, sizeof *news);
    *news = (queue_workflow_news){.workflow = r->step.workflow,
                                  .position = r->step.workflow_position,
                                  .status = ida_outcome_text(r->step.outcome),
                                  .started_at = r->begun_at,
                                  .finished_at = r->step.at,
                                  .error = said ? r->step.detail : NULL};
    judge_run(r, &r->step, news);
    return news;
}

const queue_workflow_news *action_waits(run *r, const char *reason)
{
    queue_workflow_news *news = apr_palloc(r->pool, sizeof *news);
    *news = (queue_workflow_news){.workflow = r->step.workflow,
                                  .position = r->step.workflow_position,
                                  .status = "waiting",
                                  .started_at = r->begun_at,
                                  .error = reason,
                                  .run_status = "running"};
    return news;
}

void action_meets_stranger(run *r)
{
    if (r->step.workflow) {
        json_object_set_new(member(r->progress, STRANGER), run_shown(r), json_true());
    }
}

void action_grants(run *r, const ida_group *group)
{
    json_t *granted = member(r->progress, GRANTED);
    ida_json_put(granted, group->id, group->name ? group->name : group->id);
}

void action_gave(run *r, const char *group_id)
{
    json_t *one = json_object();
    ida_json_put(one, "workflow", r->step.workflow);
    json_object_set_new(one, "at", json_integer(ida_now(&r->runner->env)));
    json_object_set_new(member(r->progress, GAVE), group_id, one);
}

const char *action_granted(const run *r, const char *group_id)
{
    return json_string_value(json_object_get(json_object_get(r->progress, GRANTED), group_id));
}

const char *action_text(const run *r, const char *name)
{
    const char *text = ida_json_string(r->settings, name);
    return text ? text : "";
}
