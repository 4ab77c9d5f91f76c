/* The history of memberships: what a synchronisation saw gone ends what was granted before. */
#ifndef CORE_GOVERNANCE_HISTORY_H
#define CORE_GOVERNANCE_HISTORY_H

#include "core/store/store.h"
#include "core/tenant/tenant.h"

/* Notes memberships that the cache (role DB_SYNC) has seen gone in the main file (role DB_REQUEST).
 * Safe to repeat: nothing can be written to both files at once. */
ida_kind governance_history_note(store *main, store *cache, ida_ctx *c, const char *tenant,
                                 ida_directory_kind directory);

#endif
