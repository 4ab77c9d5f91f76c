/* The bodies of create, update and delete requests as checked values. */
#ifndef CORE_MODEL_PAYLOAD_H
#define CORE_MODEL_PAYLOAD_H

#include <jansson.h>

#include "core/model/param.h"
#include "core/tenant/tenant.h"
#include "schema/attributes.h"

/* Member of a stored payload: its photo has left the store before it was set. */
#define IDA_PHOTO_LEFT "photoLeft"

typedef struct ida_create {
    const char *firstname, *surname, *middle_name, *rehire;
    const char *replaces;         /* ID of a queued creation; NULL: none */
    const json_t *role_templates; /* array of names or IDs; NULL: none */
    /* country: upper case if two letters are an ISO code, otherwise unchanged (with a warning) */
    IDA_PERSON_GIVEN(IDA_PERSON_MEMBER)
    int country_is_code;
    const char *manager;        /* UPN as given; NULL when absent */
    int account_enabled;        /* default 1 */
    const unsigned char *photo; /* NULL when absent */
    size_t photo_len;
    const char *photo_type;  /* "image/jpeg" or "image/png" */
    const char *date, *time; /* texts, NULL when absent; zone_schedule checks them */
    json_t *warnings;        /* array of strings; belongs to the pool */
} ida_create;

typedef struct ida_delete {
    const char *upn;
    const char *date, *time;
    const char *firstname, *surname; /* overrides, NULL when absent */
    IDA_PERSON_WORK(IDA_PERSON_MEMBER)
    json_t *warnings;
} ida_delete;

/* New values of a person, and the memberships that a rehire restores. */
typedef struct ida_update {
    const char *upn; /* who */
    const char *date, *time;
    /* the text members of a creation that were given, manager, date and time apart: name -> new
     * value, or null: cleared */
    json_t *values;
    int enabled; /* 0, 1; -1: as it is */
    int manager_given, photo_given;
    const char *manager;        /* NULL if given: no manager */
    const unsigned char *photo; /* NULL when given: none */
    size_t photo_len;
    const char *photo_type;
    const json_t *memberships;  /* for a disabled account that returns: array of {id, name,
                                   directory}; otherwise NULL */
    const char *manager_before; /* of such an account: ID of the manager that the directory showed
                                   before the request; NULL: none */
    json_t *warnings;
} ida_update;

/* Rescheduling a task: date and time, one of them at least. */
typedef struct ida_moment {
    const char *date, *time;
} ida_moment;

extern const ida_param ida_create_members[], ida_delete_members[], ida_update_members[],
    ida_moment_members[];

/* Faults are added to c (ida_fault_add) so that naming and schedule faults can join them; the
 * caller raises. `body` is borrowed. */
void ida_payload_create(ida_ctx *c, const ida_tenant *tenant, const json_t *body, ida_create *out);
/* `empty_body`: the request was a DELETE without any body; the fault about userPrincipalName
 * then mentions that a proxy may have dropped it. */
void ida_payload_delete(ida_ctx *c, const json_t *body, int empty_body, ida_delete *out);

/* At least one new value must be there. */
void ida_payload_update(ida_ctx *c, const json_t *body, ida_update *out);
void ida_payload_moment(ida_ctx *c, const json_t *body, ida_moment *out);
/* The rule of its directory that a photo breaks, as a fault. */
void ida_update_check_photo(ida_ctx *c, ida_directory_kind where, ida_update *update);
/* Whether that member of update->memberships is to be restored in this directory; whether any
 * is. */
int ida_membership_in(const json_t *membership, ida_directory_kind directory);
int ida_update_gives_back(const ida_update *update, ida_directory_kind directory);
/* What a creation that finds the person disabled means for the account that is there: every value
 * that was given. */
void ida_update_of_create(apr_pool_t *pool, const ida_create *create, const char *upn,
                          ida_update *out);

/* Storage form in task.payload: the create values (photo as base64 under "profilePhoto"), and back.
 */
json_t *ida_create_to_json(apr_pool_t *pool, const ida_create *create);
ida_kind ida_create_from_json(ida_ctx *c, const json_t *stored, ida_create *out);
json_t *ida_delete_to_json(apr_pool_t *pool, const ida_delete *del);
json_t *ida_update_to_json(apr_pool_t *pool, const ida_update *update);
ida_kind ida_update_from_json(ida_ctx *c, const json_t *stored, ida_update *out);

#endif
