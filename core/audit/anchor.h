/* The anchor of a machine: for each company how far its chain was verified here, in a file beside
 * the audit key, <audit key>.heads. An attacker who can write the database cannot write this file,
 * so a chain that was deleted, shortened or replaced by an older copy does not match it. Knows no
 * store. */
#ifndef CORE_AUDIT_ANCHOR_H
#define CORE_AUDIT_ANCHOR_H

#include "core/base/context.h"

typedef struct audit_anchor {
    int64_t number, foot; /* of the last record that was verified; of the one before the first */
    const char *hash;     /* of record `number` */
} audit_anchor;

/* *anchor NULL: the file says nothing of the company; *there 0: nor is there a file. Refuses a file
 * that others may write, or that is damaged. */
ida_kind audit_anchor_read(ida_ctx *c, const char *audit_key, const char *tenant,
                           const audit_anchor **anchor, int *there);
/* Replaces the anchor `from` (NULL: there is none yet) by `to`. *moved 0: another process has
 * changed the line meanwhile, and it stays, because the chain was compared with an outdated anchor.
 */
ida_kind audit_anchor_move(ida_ctx *c, const char *audit_key, const char *tenant,
                           const audit_anchor *from, const audit_anchor *to, int *moved);
/* The companies that the file names, in its order. */
ida_kind audit_anchor_companies(ida_ctx *c, const char *audit_key, const char *const **tenants,
                                int *count);

#endif
