/* Users and groups as this service sees them. */
#ifndef WORKER_LDAP_ENTRY_ENTRY_H
#define WORKER_LDAP_ENTRY_ENTRY_H

#include <apr_tables.h>
#include <ldap.h>

#include "worker/directory/directory.h"
#include "worker/ldap/entry/mods.h"
#include "worker/ldap/wire/dialect.h"
#include "worker/ldap/wire/value.h"

#define LD_MAX_ATTRIBUTES 48
/* read, act, read again; once more from the start if the answer to the act was lost */
#define LD_ATTEMPTS 2

/* Adds the name of an attribute to a list unless it is there already; NULL: none. */
void ld_add_name(apr_array_header_t *names, const char *name);
/* The attributes that ld_user_read and ld_group_read use: stored in the session as
 * user_attributes and group_attributes. */
const char *const *ld_user_attributes(directory *d);
const char *const *ld_group_attributes(directory *d);
/* The immutable ID as canonical text; NULL when the entry shows none. And the filter that finds it.
 */
const char *ld_id_text(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry);
const char *ld_id_filter(const ld_dialect *t, apr_pool_t *pool, const char *uuid);
/* ms UTC; 0: not shown, or never. */
int64_t ld_entry_time(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry,
                      const char *attribute);
/* 0 when the entry has no usable ID. */
int ld_user_read(directory *d, apr_pool_t *pool, const ld_entry *entry, directory_user *user);
int ld_group_read(directory *d, apr_pool_t *pool, const ld_entry *entry, cache_group *group);
/* How the entry, a static group, names its members: the class of the table that follows `after`
 * (NULL: the first) and that the entry has; NULL: no further one. */
const ld_links *ld_links_of(const directory *d, const ld_entry *group, const ld_links *after);
/* What makes the account enabled or disabled, from what `entry` shows now. */
void ld_lock_mods(const directory *d, const ld_entry *entry, int enabled, ld_mods *mods);
int ld_is_placeholder(const directory *d, const char *member_key, const char *group_key);

/* SID of the primary group of an account's entry, in `pool`; bv_val NULL: none. */
struct berval ld_primary_sid(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry);

#endif
