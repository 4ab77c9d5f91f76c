/* The open session of one tenant's LDAP directory and the calls over it. A session belongs to
 * one thread at a time. */
#ifndef WORKER_LDAP_SESSION_H
#define WORKER_LDAP_SESSION_H

#include <apr_tables.h>
#include <ldap.h>

#include "worker/directory/directory.h"
#include "worker/ldap/dialect.h"
#include "worker/ldap/error.h"
#include "worker/ldap/mods.h"
#include "worker/ldap/schema.h"
#include "worker/ldap/wire.h"

typedef enum ld_bind { LD_BIND_SIMPLE, LD_BIND_EXTERNAL, LD_BIND_GSSAPI } ld_bind;
typedef enum ld_scheme { LD_LDAPS, LD_LDAP, LD_LDAPI } ld_scheme;

typedef struct ld_server {
    const char *url, *host; /* host: the path of the socket for ldapi */
    ld_scheme scheme;
    int port;
    int64_t failed_until; /* monotonic ms; not tried before, unless every server is in that state */
} ld_server;

/* The account that this session itself made last (worker/ldap/made.c). */
typedef struct ld_made {
    apr_pool_t *pool;
    const char *id, *dn;
    int64_t until; /* monotonic ms */
} ld_made;

struct directory {
    const ida_env *env;
    const ida_tenant *tenant;
    apr_pool_t *pool;
    /* settings */
    const ld_dialect *dialect;
    ld_server *servers;
    int server_count, start_tls;
    ld_bind bind;
    const char *bind_dn, *password_file, *ca_file, *certificate_file, *key_file;
    const char *user_base, *group_base, *create_in, *upn_attribute, *marker_attribute, *placeholder,
        *placeholder_key;
    const json_t *protected_accounts; /* borrowed from the tenant */
    cache_guard guard;
    const char *const *user_attributes, *const *group_attributes; /* groups: without members */
    const char *dns_domain; /* of userBase by its dc parts, folded; NULL when it has none */
    /* connection; server: index of the one connected to, or connected to last */
    LDAP *ld;
    void *tls; /* libldap's TLS context, shared by one connection after the other; NULL: none yet */
    const char *tls_files; /* what it was made of */
    ld_wire wire;
    int fd, server;
    int64_t used_at,
        connections; /* how many there were: the address of `ld` may be that of an earlier one */
    apr_pool_t *connection; /* facts about the server: cleared with the connection */
    int offers_sync;        /* 1, 0, -1 unknown (rootDSE not readable) */
    int offers_password;    /* Password Modify (RFC 3062) */
    int offers_post_read;   /* the entry as a write left it, in the write's answer (RFC 4527) */
    const char *subschema, *vendor, *root,
        *service; /* root: the naming context; service: in Active Directory, this server's entry */
    struct berval own_sid;   /* of our account; bv_val NULL: not reported */
    const ld_schema *schema; /* read at first use */
    const char *own_key;     /* DN key of our account, after the first query */
    ld_made made;
};

/* One call of the function table: its pool, its error and the one deadline of all its waits. */
typedef struct ld_call {
    directory *d;
    apr_pool_t *pool;
    directory_error *e;
    int64_t deadline; /* monotonic ms */
    int64_t idle_ms;  /* longest silence of the server inside one answer; 0: only the deadline */
    int (*alive)(void *); /* non-zero stops the call; NULL: none */
    void *baton;
    int stopped;
} ld_call;

ld_call ld_call_begin(directory *d, apr_pool_t *pool, directory_error *e);
int64_t ld_left(const ld_call *k); /* ms, 0 when over */
int ld_stopped(const ld_call *k);  /* the caller wants the call to end, for example because the
                                      worker ends */

/* The failure of a call that got an entry which ld_entry_read does not take. */
directory_class ld_unreadable(ld_call *k);

/* Sets the error and returns its class. */
directory_class ld_fail(ld_call *k, directory_class class, const char *field, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
/* Classifies a code and sets the error: "<server>: <doing>: <code text>". */
directory_class ld_fail_code(ld_call *k, int code, ld_phase phase, const char *text,
                             const char *doing);

/* A usable connection: the present one, or connects, protects and binds anew. */
directory_class ld_ready(ld_call *k);
void ld_drop(directory *d);
/* The server fell silent or away in the middle of an answer: drops it and tries others first for a
 * while. */
void ld_drop_failed(directory *d);
/* libldap's text for its last failure; NULL: none. */
const char *ld_diagnostic(LDAP *ld, apr_pool_t *pool);
/* Starts TLS on the connection if the address asks for it (worker/ldap/tls.c). The second
 * function frees the session's TLS context. */
directory_class ld_protect(ld_call *k, LDAP *ld, const ld_server *server);
void ld_forget_tls(directory *d);
const char *ld_server_url(const directory *d);

/* --- entries as values (worker/ldap/value.c) --- */

typedef struct ld_attribute {
    const char *name;      /* without options; attributes with others than a range are left out */
    const char *option;    /* "range=0-1499", or NULL */
    struct berval *values; /* each is followed by a NUL */
    int count, room;       /* room: for so many values (worker/ldap/value.c) */
} ld_attribute;

typedef struct ld_entry {
    const char *dn;
    const ld_attribute *attributes;
    int count;
} ld_entry;

/* Values of one entry and its attributes: twice the members of the largest group. Each uses some
 * forty bytes in addition to its content, so very small values could turn one message into
 * gigabytes. */
#define LD_VALUES_MAX 4000000
/* Attributes of one entry: some thirty are requested, and each is looked up among the others. */
#define LD_ATTRIBUTES_MAX 1000

/* One message of an answer into the pool; NULL: it cannot be read, or has too much of something. */
const ld_entry *ld_entry_read(LDAP *ld, LDAPMessage *message, apr_pool_t *pool);
/* The entry after a write, from the controls of the write's answer (RFC 4527); NULL: absent or
 * incomplete. */
const ld_entry *ld_entry_shown(LDAPControl **controls, apr_pool_t *pool);

/* The first one of the name that has values. */
const ld_attribute *ld_get(const ld_entry *entry, const char *name);
/* 1 when the answer names the attribute, with values or as cleared. */
int ld_told(const ld_entry *entry, const char *name);
long ld_number(apr_pool_t *pool, const ld_entry *entry,
               const char *name); /* 0 when absent or none */
/* The lexically first value as text, so that the cache does not flap; NULL when absent. Never
 * invalid UTF-8. */
const char *ld_text(apr_pool_t *pool, const ld_entry *entry, const char *name);
int ld_holds(const ld_entry *entry, const char *name,
             const char *value); /* ASCII case-insensitive */
/* 1 when the attribute has exactly this value and no other; `value` NULL: has none. */
int ld_is(const ld_entry *entry, const char *name, const char *value);

/* --- requests (worker/ldap/request.c) --- */

typedef struct ld_answer {
    int code;
    const char *text;
    LDAPControl **controls; /* of the result; freed by the pool given */
    const ld_entry *shown;  /* by ld_add: the new entry; NULL: the server did not show it */
} ld_answer;

/* A control for a query that makes Active Directory add IDs to DN-valued attributes
 * ("<GUID=...>;<SID=...>;CN=..."); NULL for servers without it. While entries move, a DN alone
 * may mean another entry; entry->dn has no IDs in either case. */
LDAPControl **ld_identities(const directory *d);

/* Waits for the next message: its type, 0 at the time-out, -1 when the connection is dead. */
int ld_wait(ld_call *k, int message_id, LDAPMessage **message);
/* Result of the last message of an answer. */
directory_class ld_parse(ld_call *k, LDAPMessage *message, ld_answer *answer, apr_pool_t *pool);

typedef struct ld_query {
    const char *base;
    int scope;
    const char *filter;
    const char *const *attributes; /* NULL-terminated; NULL: none (only DNs) */
    int limit;                     /* of entries, 0 = none */
    LDAPControl **controls;        /* of ld_paged: at most one */
    ld_phase phase;                /* what an absent base means */
    const char *doing;             /* "find the user": for messages */
} ld_query;

/* Sets the error of a failed read of everything and returns its class. For a limit of the server
 * the message says what its administrator has to grant. */
directory_class ld_fail_read(ld_call *k, const ld_query *query, const ld_answer *answer);

/* Hands over entries and intermediate messages as they arrive; memory does not grow with their
 * number. A class other than OK from `take` ends the search with that class; NULL: messages are
 * skipped. */
typedef directory_class (*ld_take)(ld_call *k, int type, LDAPMessage *message, void *baton);
directory_class ld_stream(ld_call *k, const ld_query *query, ld_take take, void *baton,
                          ld_answer *answer);

/* Reads up to `limit` entries (more are no error) into the call's pool; repeated once on a new
 * connection if the first one broke. An absent base is NOT_FOUND or CONFIG, depending on the
 * phase. */
directory_class ld_search(ld_call *k, const ld_query *query, const ld_entry ***rows, int *count);

/* The server's answer to a comparison: an absent attribute is "no", an absent entry NOT_FOUND.
 * Repeated once. */
directory_class ld_compare(ld_call *k, const char *dn, const char *attribute, const char *value,
                           const char *doing, int *same);

/* All entries by pages, halved while the server refuses the size (then some entries come again).
 * *entry_pool is cleared after each entry. Any end but success is no whole answer. */
typedef directory_class (*ld_each)(const ld_entry *entry, apr_pool_t *entry_pool, void *baton);
directory_class ld_paged(ld_call *k, const ld_query *query, ld_each each, void *baton);

/* One write. UNSURE: sent, and the answer did not come (the connection is dropped then). */
directory_class ld_modify(ld_call *k, const char *dn, LDAPMod **mods, ld_phase phase,
                          const char *doing);
/* Requests the new entry with these attributes in the same answer, if the server offers that. */
directory_class ld_add(ld_call *k, const char *dn, LDAPMod **mods, const char *const *attributes,
                       const char *doing, ld_answer *answer);
/* The extended operation of RFC 3062: the server hashes the password by its own setting. */
directory_class ld_modify_password(ld_call *k, const char *dn, const char *password,
                                   const char *doing, ld_answer *answer);

/* A new name below another entry (modrdn, the old name goes). */
directory_class ld_rename(ld_call *k, const char *dn, const char *rdn, const char *superior,
                          const char *doing);

/* The entry at the DN; NULL if it is not visible, NOT_FOUND if there is none. The second
 * function also requires that the filter matches. */
directory_class ld_read(ld_call *k, const char *dn, const char *const *attributes,
                        const char *doing, const ld_entry **entry);
directory_class ld_read_if(ld_call *k, const char *dn, const char *filter,
                           const char *const *attributes, const char *doing,
                           const ld_entry **entry);
/* The same for a base, and for one entry below it that matches the filter. NULL if none is
 * visible, CONFIG if there is no such base. */
directory_class ld_read_base(ld_call *k, const char *dn, const char *const *attributes,
                             const char *doing, const ld_entry **entry);
directory_class ld_below(ld_call *k, const char *base, const char *filter,
                         const char *const *attributes, const char *doing, const ld_entry **entry);

/* --- users and groups as this service sees them (worker/ldap/entry.c) --- */

#define LD_MAX_ATTRIBUTES 48
/* read, act, read again; once more from the start if the answer to the act was lost */
#define LD_ATTEMPTS 2

/* Adds the name of an attribute to a list unless it is there already; NULL: none. */
void ld_add_name(apr_array_header_t *names, const char *name);
/* What ld_user_read and ld_group_read look at: kept in the session as user_attributes and
 * group_attributes. */
const char *const *ld_user_attributes(directory *d);
const char *const *ld_group_attributes(directory *d);
/* The immutable ID as canonical text; NULL when the entry shows none. And the filter that finds it.
 */
const char *ld_id_text(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry);
const char *ld_id_filter(const ld_dialect *t, apr_pool_t *pool, const char *uuid);
/* 0 when the entry has no usable ID. */
int ld_user_read(directory *d, apr_pool_t *pool, const ld_entry *entry, directory_user *user);
int ld_group_read(directory *d, apr_pool_t *pool, const ld_entry *entry, cache_group *group);
/* How the entry, a static group, names its members: the class of the table that follows `after`
 * (NULL: the first) and that the entry has; NULL: no further one. */
const ld_links *ld_links_of(const directory *d, const ld_entry *group, const ld_links *after);
/* What makes the account enabled or disabled, from what `entry` shows now. */
void ld_lock_mods(const directory *d, const ld_entry *entry, int enabled, ld_mods *mods);
/* 1 when a policy with pwdLockout TRUE, which gives `lock` its effect, is seen for the entry: the
 * one that the entry names, or any in the naming context. Always 1 where `lock` works by itself. A
 * failure counts as not seen. */
int ld_lock_holds(ld_call *k, const char *dn);
int ld_is_placeholder(const directory *d, const char *member_key, const char *group_key);

/* The user's entry by ID, anywhere in scope. NOT_FOUND only after the base itself proved readable.
 */
directory_class ld_user_by_id(ld_call *k, const char *id, directory_user *user);
directory_class ld_user_by_upn(ld_call *k, const char *upn, directory_user *user);

/* When our account last signed in, as its own entry shows it (our bind was a sign-in); ms, 0: not
 * recorded, not shown, or we do not bind by a DN. */
int64_t ld_own_sign_in(ld_call *k);

/* SID of the primary group of an account's entry, in `pool`; bv_val NULL: none. */
struct berval ld_primary_sid(const ld_dialect *t, apr_pool_t *pool, const ld_entry *entry);

/* OK unless the entry is our own account or one of protectedAccounts. */
directory_class ld_guard(ld_call *k, const directory_user *user);

/* --- an account that this session has just made (worker/ldap/made.c) --- */

/* `user` as the directory showed it after the add: without a manager, without a photo, in no group.
 */
void ld_made_keep(ld_call *k, const directory_user *user);
/* Its DN, while it is so new that a read would return the same; NULL: read it. To remove a value
 * always read first: this session may have set it since. */
const char *ld_made_dn(const ld_call *k, const char *id);
void ld_made_forget(directory *d);

/* The server's schema; NULL with the error set when it cannot be read. */
const ld_schema *ld_schema_of(ld_call *k);
/* DN key of our account; NULL if the server does not report it (error not set). */
const char *ld_own_key(ld_call *k);

#endif
