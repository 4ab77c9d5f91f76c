/* Owns the meaning of a people search's arguments. Must not know how people are found. */
#include "core/operation/people/filter.h"
#include "core/cache/groups.h"

#include <string.h>

#include "core/base/json.h"
#include "core/base/search_key.h"
#include "core/base/text.h"
#include "core/operation/people/find.h"

#define DAY_MS INT64_C(86400000)

const char *const ida_people_statuses[] = {"active", "disabled", "guest", NULL};

/* Keys of whole names. A blank name matches no person. */
static const char *key_of(ida_call *call, const char *name)
{
    const char *text = ida_json_string(call->arguments, name);
    const char *key = text ? ida_name_key(call->c->pool, text) : NULL;
    return text && !key ? "" : key;
}

/* Checks that two bounds of one value are in order. `before` is INT64_MAX if absent. */
static ida_kind bounds(ida_call *call, const char *from_name, const char *before_name,
                       int64_t *from, int64_t *before)
{
    int64_t until = ida_argument_time(call, before_name);
    *from = ida_argument_time(call, from_name);
    *before = until ? until : INT64_MAX;
    return *from <= *before ? IDA_OK
                            : ida_fail(call->c, IDA_BAD_REQUEST, "%s: must not be after %s",
                                       from_name, before_name);
}

static ida_kind find_manager(ida_call *call, cache_people_filter *filter)
{
    ida_user *manager;
    ida_kind kind = ida_op_find_user_of(call, "manager", &manager, NULL);
    if (!kind) {
        filter->managers[0] = manager->id;
        filter->managers[1] = manager->other_id;
    }
    return kind;
}

ida_kind ida_people_filter(ida_call *call, cache_people_filter *filter)
{
    ida_ctx *c = call->c;
    const json_t *a = call->arguments, *days = json_object_get(a, "inactiveDays");
    const char *query = ida_json_string(a, "query"), *status = ida_json_string(a, "status");
    *filter = (cache_people_filter)CACHE_PEOPLE_ALL;
    if (query && ida_people_words(c->pool, query, filter) < 1) {
        return ida_fail(c, IDA_BAD_REQUEST, "query: must be one to %d words with letters or digits",
                        CACHE_WORDS_MAX);
    }
    filter->department = key_of(call, "department");
    filter->company = key_of(call, "company");
    filter->job_title = key_of(call, "jobTitle");
    const char *employee_id = ida_json_string(a, "employeeId");
    filter->employee_id = employee_id ? ida_fold_value(c->pool, employee_id) : NULL;
    filter->license = ida_json_string(a, "license");
    if (status) {
        filter->enabled = strcmp(status, "guest") == 0 ? -1 : strcmp(status, "active") == 0;
        filter->guest = strcmp(status, "disabled") == 0 ? -1 : strcmp(status, "guest") == 0;
    }
    if (days) {
        filter->active_before = ida_now(c->env) - json_integer_value(days) * DAY_MS;
    }
    ida_kind kind = bounds(call, "lastSignInAfter", "lastSignInBefore", &filter->signed_in_from,
                           &filter->signed_in_before);
    kind = kind ? kind
                : bounds(call, "createdAfter", "createdBefore", &filter->created_from,
                         &filter->created_before);
    if (!filter->created_from) { /* An unknown creation date (0) must not match createdBefore. */
        filter->created_from = filter->created_before == INT64_MAX ? INT64_MIN : DAY_MS;
    }
    if (!kind && json_object_get(a, "manager")) {
        kind = find_manager(call, filter);
    }
    if (!kind && json_object_get(a, "group")) {
        ida_group *group;
        kind = ida_op_find_group(call, call->store, "group", &group);
        filter->group = kind ? NULL : group;
    }
    return kind;
}
