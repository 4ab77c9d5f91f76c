/* Generated names: user names, mail and display names from the tenant's formats. */
#ifndef CORE_TENANT_NAMING_H
#define CORE_TENANT_NAMING_H

#include "core/base/context.h"

typedef struct ida_name_parts {
    const char *firstname, *middle_name, *surname; /* as given; middle_name may be NULL */
} ida_name_parts;

/* Checks a format when the tenant document is applied: NULL if it is valid, otherwise the rule
 * it breaks (in pool). `address` = 1 for UPN and mail formats (must yield a local part), 0 for
 * display names. */
const char *ida_naming_format_fault(apr_pool_t *pool, const char *format, int address);

/* Local part of an address: transliterated, lower case, a-z 0-9 . _ - only, no leading, trailing or
 * double dot, <= 64 characters. IDA_BAD_REQUEST naming the fields when no letter or digit is left.
 */
ida_kind ida_naming_local(ida_ctx *c, const char *format, const ida_name_parts *parts,
                          char **local);

/* n-th candidate (n = 1: no number; 2, 3, ... before the @), local part cut at its end so that it
 * stays <= 64 with the number. */
char *ida_naming_candidate(apr_pool_t *pool, const char *local, const char *domain, int n);

/* Display name: text kept as it is, runs of blanks one space, trimmed, <= 256 UTF-16 units. */
char *ida_naming_display(apr_pool_t *pool, const char *format, const ida_name_parts *parts);

#endif
