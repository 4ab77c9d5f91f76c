/* Columns of cached entries, in the order in which statements bind them and records hold them. X
 * gets the column, and for an attribute also the rest of its row. */
#ifndef SCHEMA_COLUMNS_H
#define SCHEMA_COLUMNS_H

#include "schema/attributes.h"

/* clang-format off */
#define CACHE_USER_TEXTS(X) \
    IDA_PERSON(X) X(upn_key) X(name_key) X(department_key) X(company_key) \
    X(title_key) X(employee_key) X(search_key) X(dn) X(dn_key) X(anchor) X(stamp) \
    X(manager_ref) X(addresses) X(aliases) X(licenses)
#define CACHE_USER_NUMBERS(X) \
    X(enabled) X(guest) X(created_at) X(last_sign_in_at) X(last_noninteractive_at) \
    X(last_success_at) X(expires_at) X(expired)
#define CACHE_USER_COLUMNS(X) CACHE_USER_TEXTS(X) X(manager_id) CACHE_USER_NUMBERS(X)

#define CACHE_GROUP_TEXTS(X) \
    X(name) X(name_key) X(kind) X(description) X(dn) X(dn_key) X(rule) X(stamp)
#define CACHE_GROUP_COLUMNS(X) CACHE_GROUP_TEXTS(X) X(synced)
/* clang-format on */

#endif
