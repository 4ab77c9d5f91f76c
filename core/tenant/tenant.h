/* The tenant document: parsing with every rule, merging with the document before it, its seal.
 * Knows no store. */
#ifndef CORE_TENANT_TENANT_H
#define CORE_TENANT_TENANT_H

#include <jansson.h>
#include <sys/types.h>

#include "core/base/context.h"
#include "core/base/rate.h"

#define IDA_SEAL_KEY_LEN 32

typedef enum ida_directory_kind {
    IDA_DIR_CLOUD,
    IDA_DIR_ON_PREMISES,
    IDA_DIR_COUNT
} ida_directory_kind;

/* "cloud", "onPremises": names in documents, columns and results. NULL-terminated. */
extern const char *const ida_directory_names[];
const char *ida_directory_name(ida_directory_kind kind);
int ida_directory_parse(const char *name); /* -1 when unknown */

/* What the rules need to know of a tenant. Everything lives in the pool it was parsed into. */
typedef struct ida_tenant {
    const char *id, *name, *time_zone;
    const char *username_format, *email_format, *display_name_format;
    const char *upn_domain, *email_domain;
    ida_directory_kind create_users_in;
    int64_t seat_limit;       /* -1 = none */
    int64_t queued_megabytes; /* that photos of queued tasks may take */
    int public_api, access_governance;
    const char *paused;              /* since when, as a document writes it; NULL: it is not */
    int deleted;                     /* 1: the audit log alone is left */
    ida_rate rate_key, rate_company; /* limit 0 and off 0 = not set */
    int key_days;                    /* default lifetime of a new key; 0 = it does not expire */
    int64_t brake_per_hour;          /* 0 = none */
    int stale_after_days, task_history_days, audit_days;
    int has_directory[IDA_DIR_COUNT];
    const json_t *directory[IDA_DIR_COUNT]; /* the member of `directories`, defaults filled in; NULL
                                               when absent */
    const json_t *document;                 /* whole merged document; borrowed */
    int same_upn_and_mail;                  /* upnAttribute is mail: one value for both */
    const char *dialect; /* of onPremises: "openLdap", "activeDirectory"; NULL without one */
} ida_tenant;

/* Parses and checks `text` merged over `previous` (NULL for the first document). Faults name the
 * member's path ("directories.onPremises.urls[0]: ..."). Secret files are not opened here (see
 * ida_tenant_files_check). `canonical` gets the merged document to store. */
ida_kind ida_tenant_apply(ida_ctx *c, const char *text, size_t len, const char *previous,
                          ida_tenant **tenant, char **canonical);

/* "", "paused" or "deleted": what the tenant's row says for statements, as the document has it. */
const char *ida_tenant_state(const ida_tenant *tenant);

/* What is left of a document when its company is deleted: ID, name, domain, zone, retention.
 * Pool's.
 */
json_t *ida_tenant_remains(apr_pool_t *pool, const ida_tenant *tenant, const char *deleted_at);

/* A stored document back into a struct; IDA_INTERNAL_ERROR when it is damaged. */
ida_kind ida_tenant_load(ida_ctx *c, const char *canonical, ida_tenant **tenant);

/* Opens every secret file the document names: absolute path, readable, not readable by others.
 * Refusal names member and file. */
ida_kind ida_tenant_files_check(ida_ctx *c, const ida_tenant *tenant);

/* A document as the store has it. */
typedef struct ida_stored_tenant {
    const char *document, *seal; /* NULL: there is no such tenant */
    int64_t revision;
} ida_stored_tenant;

/* The seal: HMAC-SHA256 in hex over company ID, revision and the document's text as stored. */
char *ida_seal_make(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN], const char *tenant,
                    const ida_stored_tenant *stored);
/* 1 when the stored seal is right (constant time). */
int ida_seal_valid(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN], const char *tenant,
                   const ida_stored_tenant *stored);

/* Reads the seal key file. Refuses one that others can read, or httpd's user. */
ida_kind ida_seal_key_read(ida_ctx *c, const char *path, unsigned char key[IDA_SEAL_KEY_LEN]);
/* Creates the key if there is none (mode 0400). Owned by `owner` and `group`, also an existing
 * one; with (uid_t)-1, by the owner of the directory if root creates it. The writer's group may
 * read it and the revisions, also existing ones. */
ida_kind ida_seal_key_make(ida_ctx *c, const char *path, uid_t owner, gid_t group);

/* --- core/tenant/revision.c: what a store says of a tenant, judged by what this node keeps beside
 * the seal key ---
 *
 * Whoever can write the store can put an old document with its good seal back. So each node keeps
 * the highest sealed revision of each tenant that it has seen, in <seal key>.revisions, which
 * httpd's user cannot write. */
#define IDA_SEAL_REVISIONS ".revisions"
typedef enum ida_seal_state { IDA_SEAL_GOOD, IDA_SEAL_BROKEN, IDA_SEAL_OLDER } ida_seal_state;

/* *why: a sentence for people, unless the state is good. Fails when key or revisions cannot be
 * read. */
ida_kind ida_seal_judge(ida_ctx *c, const char *key_file, const char *tenant,
                        const ida_stored_tenant *stored, ida_seal_state *state, const char **why);

/* Reads the tenant's row from the store; IDA_NOT_FOUND when there is none. */
typedef ida_kind ida_seal_reader(ida_ctx *c, const char *tenant, ida_stored_tenant *stored,
                                 void *baton);

/* Reads the row and judges it. IDA_OK for a document that may be followed, whose revision is
 * recorded; the reader's error; otherwise IDA_INTERNAL_ERROR with the reason "unsealed", already
 * logged. After the first time the judgement costs a hash and two stat calls. */
ida_kind ida_seal_follow(ida_ctx *c, const char *key_file, const char *tenant,
                         ida_seal_reader *read, void *baton, ida_stored_tenant *stored);

/* Changes whenever an earlier judgement may be outdated: a process of this node has seen a newer
 * revision, or the key was replaced. Reuse a parsed document only under the same number. 0: this
 * process has no seal key. */
int64_t ida_seal_epoch(ida_ctx *c);

/* HMAC under the seal key over `what`, `id` and `text`: write access to the store does not
 * suffice to make one. NULL: this process has no seal key (ida_env) or cannot read it. `what`: a
 * word for the kind of statement. */
const char *ida_seal_statement(ida_ctx *c, const char *what, const char *id, const char *text);
/* 1 when the proof is right (constant time), or this process has no seal key to judge by. */
int ida_seal_statement_holds(ida_ctx *c, const char *what, const char *id, const char *text,
                             const char *proof);

/* A name of the key that reveals nothing about it; the store has that of the key that sealed
 * last. */
#define IDA_SEAL_KEY_SETTING "seal_key"
char *ida_seal_key_name(apr_pool_t *pool, const unsigned char key[IDA_SEAL_KEY_LEN]);

/* Highest revision seen of a tenant, 0 when none; and one that was seen now, which never lowers it.
 */
ida_kind ida_seal_seen(ida_ctx *c, const char *key_file, const char *tenant, int64_t *revision);
ida_kind ida_seal_note(ida_ctx *c, const char *key_file, const char *tenant, int64_t revision);

#endif
