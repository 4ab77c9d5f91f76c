/* The bodies of create and delete requests as checked values (specification 2.2, 2.3; design 4). */
#ifndef IDA_PAYLOAD_H
#define IDA_PAYLOAD_H

#include <jansson.h>

#include "core/context.h"
#include "core/tenant.h"

typedef struct ida_create {
    const char *firstname, *surname, *middle_name, *job_title, *department, *company, *office, *city;
    const char *country;        /* upper case when two letters are an ISO code, else as given (with a warning) */
    int country_is_code;
    const char *street_address, *postal_code, *preferred_language, *employee_id, *rehire;
    const char *manager;        /* UPN as given; NULL when absent */
    int account_enabled;        /* default 1 */
    const unsigned char *photo; /* NULL when absent */
    size_t photo_len;
    const char *photo_type;     /* "image/jpeg" or "image/png" */
    const char *date, *time;    /* texts, NULL when absent; ida_schedule checks them */
    json_t *warnings;           /* array of strings; belongs to the pool */
} ida_create;

typedef struct ida_delete {
    const char *upn;
    const char *date, *time;
    const char *firstname, *surname, *job_title, *department; /* overrides, NULL when absent */
    json_t *warnings;
} ida_delete;

/* Faults are added to c (ida_fault_add) so that naming and schedule faults can join them; the caller raises. Returned kinds other
 * than IDA_OK are failures outside the payload. `body` is borrowed. */
ida_kind ida_payload_create(ida_ctx *c, const ida_tenant *tenant, const json_t *body, ida_create *out);
/* `empty_body`: the request had no body at all; the fault about userPrincipalName then says that a proxy may have dropped it. */
ida_kind ida_payload_delete(ida_ctx *c, const json_t *body, int empty_body, ida_delete *out);

/* Storage form in task.payload: the create values (photo as base64 under "profilePhoto"), and back. */
json_t *ida_create_to_json(apr_pool_t *pool, const ida_create *create);
ida_kind ida_create_from_json(ida_ctx *c, const json_t *stored, ida_create *out);
json_t *ida_delete_to_json(apr_pool_t *pool, const ida_delete *del);
ida_kind ida_delete_from_json(ida_ctx *c, const json_t *stored, ida_delete *out);

#endif
