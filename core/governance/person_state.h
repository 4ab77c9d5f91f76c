/* Present state of a person: unfinished tasks, assigned role templates, direct reports. Role
 * DB_REQUEST. */
#ifndef CORE_GOVERNANCE_PERSON_STATE_H
#define CORE_GOVERNANCE_PERSON_STATE_H

#include "core/cache/person.h"

typedef struct governance_pending {
    const char *id, *type, *state, *zone;
    int64_t due_at;
} governance_pending;

typedef struct governance_held {
    const char *id, *name;
    int64_t assigned_at;
} governance_held;

typedef struct governance_person_state {
    const governance_pending *tasks; /* in the order of due instants; at most 50 */
    const governance_held *templates;
    int task_count, template_count;
    int64_t reports;
} governance_person_state;

/* One statement. */
ida_kind governance_person_state_of(store *s, ida_ctx *c, const char *tenant, const ida_user *user,
                                    governance_person_state *out);

#endif
