/* The history of memberships: what a synchronisation saw gone ends what was granted before. */
#ifndef CORE_GOVERNANCE_HISTORY_H
#define CORE_GOVERNANCE_HISTORY_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"

/* Records memberships that the cache (role DB_SYNC) has seen removed in the main file (role
 * DB_REQUEST). Safe to repeat, because one transaction cannot write to both files. */
ida_kind governance_history_note(store *main, store *cache, ida_ctx *c, const char *tenant,
                                 ida_directory_kind directory);

#endif
