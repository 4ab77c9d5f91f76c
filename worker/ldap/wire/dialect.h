/* What differs between kinds of LDAP server, as data. A further kind of server is a further row of
 * the table. */
#ifndef WORKER_LDAP_WIRE_DIALECT_H
#define WORKER_LDAP_WIRE_DIALECT_H

#include <stddef.h>

#include "core/cache/sync.h"
#include "core/model/payload.h"

#define LD_NO_FIELD ((size_t)-1)

/* One value of a person: its position in a creation, in a cache item, and its attribute in an
 * entry. */
typedef struct ld_field {
    const char *name; /* as callers know it: in warnings and faults */
    size_t create,
        cache; /* offsets of a const char * in ida_create and cache_user, or LD_NO_FIELD */
    const char *attribute;
    const char *also; /* read when `attribute` is absent, or NULL */
    /* What of the value the attribute takes: NULL result: nothing of it, with *loss saying why (for
     * people); *loss alone: only a part. NULL: the whole value. */
    const char *(*narrow)(apr_pool_t *pool, const char *value, const char **loss);
    const char *empty; /* the value that means "none"; NULL: the attribute is removed */
} ld_field;

/* How the groups of a class name their members. */
typedef struct ld_links {
    const char *class, *attribute;
    int by_login;  /* values are login names; otherwise DNs */
    int needs_one; /* such a group may not be left without members */
} ld_links;

typedef enum ld_sync_method { LD_SYNC_SYNCREPL, LD_SYNC_DIRSYNC } ld_sync_method;

typedef struct ld_dialect {
    const char *name;     /* `dialect` of the tenant document */
    const char *title;    /* for people */
    int active_directory; /* 1: the server must show the capability of Active Directory; 0: must not
                           */
    const char *user_class, *user_filter;
    const char *static_group_class, *dynamic_group_class,
        *group_filter; /* dynamic NULL: there are none */
    const char *dynamic_filter;
    const ld_links *links;   /* of static groups; ended by a NULL class; the first is `member` */
    const char *late_filter; /* groups whose members are read after the streams; NULL: none */
    const char *elsewhere;   /* entries of other kinds that may name a person; NULL: not searched */
    const char *group_type;  /* negative: a security group, otherwise one for mail only; NULL:
                                all are security groups */
    const char *container_filter; /* entries that contain others and are neither user nor group;
                                     NULL: their renames are not looked for */
    const char *member, *rule, *member_of, *group_name;
    const char *id, *stamp, *changed, *login, *mail, *addresses, *upn, *marker, *photo, *photo_type,
        *manager, *created, *password;
    const char *anchor; /* how synchronisation to the cloud names an account: this attribute if it
                           is set, otherwise the bytes of `id`; NULL: accounts of both directories
                           are joined by UPN alone */
    size_t photo_max;   /* bytes; photo_type NULL: any kind of picture */
    int binary_ids;     /* 1: IDs are 16 bytes, the first three groups little-endian; 0: text */
    const char *naming; /* attribute of a new entry's RDN */
    size_t login_max;   /* characters; 0: no limit */
    const char *const *sign_ins; /* last successful sign-in, best first; NULL-terminated */
    int filetime;                /* 1: sign-in times count 100 ns since 1601; 0: generalized time */
    const char *expires; /* when the account ends, whatever `lock` says; a time as in `sign_ins` */
    /* Marks a disabled account: an attribute with this value (any other value is a temporary
     * lock-out and counts as enabled), or with this bit. */
    const char *lock, *locked;
    long lock_bit;
    const char *lock_missing; /* sentence for people when the server does not know `lock` */
    const char *policy;   /* attribute of a person that names the password policy which gives `lock`
                             its effect; NULL: `lock` works by itself */
    int password_unlocks; /* a new password lifts the lock of a disabled account */
    const char *password_age; /* set to "0" together with a new password: the user must change
                                 it; NULL: see worker/ldap/change/update.c */
    /* When an account's password was changed and when it expires; a time as in `sign_ins`.
     * password_ends NULL: only the policy's maximum age says so. */
    const char *password_changed, *password_ends;
    const char
        *primary_group; /* RID of the group that no `member` attribute lists; NULL: there is none */
    const char *sid;    /* what that number belongs to; NULL as well */
    const char *const *guards; /* attributes that mark accounts which must never be touched;
                                  NULL-terminated or NULL */
    int needs_member;          /* a group may not be left without members: placeholder */
    int keeps_links; /* the server itself takes DNs in other entries along when an entry moves */
    ld_sync_method sync;
    const ld_field *fields; /* ended by a NULL name */
} ld_dialect;

/* NULL when this version has no such dialect. */
const ld_dialect *ld_dialect_of(const char *name);
/* The name under which callers know the attribute; the attribute's own name when they do not. */
const char *ld_field_name(const ld_dialect *t, const char *attribute);
/* What this version supports, for people. */
const char *ld_dialects_text(void);

#endif
