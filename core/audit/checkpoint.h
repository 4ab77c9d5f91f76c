/* Checkpoints: signed statements that a record was at its position in a chain, each with a
 * digest of the one before. They leave the machine, so that an attacker who can write the store,
 * or has the key of the chain, cannot rewrite the past. Knows no store. */
#ifndef CORE_AUDIT_CHECKPOINT_H
#define CORE_AUDIT_CHECKPOINT_H

#include <sys/types.h>

#include "core/base/key_file.h"

#define AUDIT_LINE_MAX 1024 /* bytes of a checkpoint's line */

typedef struct audit_checkpoint {
    const char *tenant;
    int64_t number, at; /* of the record; when it was signed, ms */
    const char *hash;   /* of the record */
    const char *before; /* audit_checkpoint_digest of the one before; audit_genesis: the first */
    const char *signature;
} audit_checkpoint;

/* Makes the file of the signing key when there is none. */
ida_kind audit_signer_make(ida_ctx *c, const char *path, uid_t owner, gid_t group);
/* The public half, for verifiers. */
ida_kind audit_signer_public(ida_ctx *c, const char *path, unsigned char key[IDA_SECRET_LEN]);
/* Fills in the signature. */
ida_kind audit_checkpoint_sign(ida_ctx *c, const char *path, audit_checkpoint *checkpoint);
int audit_checkpoint_valid(apr_pool_t *pool, const unsigned char key[IDA_SECRET_LEN],
                           const audit_checkpoint *checkpoint);
char *audit_checkpoint_digest(apr_pool_t *pool, const audit_checkpoint *checkpoint);

/* One line of JSON, without its end; and back: NULL when the line is no checkpoint. */
char *audit_checkpoint_line(apr_pool_t *pool, const audit_checkpoint *checkpoint);
audit_checkpoint *audit_checkpoint_parse(apr_pool_t *pool, const char *line, size_t len);

#endif
