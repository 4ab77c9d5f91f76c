/* The form of a backup: copies of the store's files with a manifest in one place, keys and secrets
 * with their own manifest in a second place, under other hands. */
#ifndef WORKER_CTL_KEPT_H
#define WORKER_CTL_KEPT_H

#include "worker/ctl/ctl.h"

#define KEPT_FORMAT 2
#define KEPT_MANIFEST "manifest.json"
#define KEPT_KEYS "keys.json"
#define KEPT_SEAL_KEY "seal.key" /* names of keys in the second place */
#define KEPT_AUDIT_KEY "audit.key"
#define KEPT_SIGNING_KEY "signing.key"

/* Makes the directory, for its owner alone; an empty one may be there. */
ida_kind kept_place(ctl_call *ctl, const char *directory);

/* {name, bytes, sha256} of a file of the directory (NULL: of the path). New reference in *row. */
ida_kind kept_row(ctl_call *ctl, const char *directory, const char *name, json_t **row);
/* Compares such rows with the files; the message names the first that differs. */
ida_kind kept_compare(ctl_call *ctl, const char *directory, const json_t *rows);

/* Manifests: written as a whole and last, read with the check of format and kind. */
ida_kind kept_write(ctl_call *ctl, const char *directory, const char *name, json_t *manifest);
ida_kind kept_read(ctl_call *ctl, const char *directory, const char *name, json_t **manifest);

/* Proof under the seal key that the manifest is this service's. With `seal_key` the file of it. */
const char *kept_proof(ctl_call *ctl, const char *seal_key, const json_t *manifest);

/* The path of a file of the directory. */
const char *kept_path(ctl_call *ctl, const char *directory, const char *name);

/* The file of this machine that belongs to a key's name; NULL: no key's. */
const char *kept_key_file(const ctl_call *ctl, const char *name);

/* Appends {what, from} of each file that the configuration and the tenant documents name. */
ida_kind kept_named(ctl_call *ctl, const worker_config *config, store *s, json_t *list);

#endif
