/* The model of t/unit/cache/sync.c: a directory's content, its changes, and how a run reports
 * them. */
#ifndef T_UNIT_SYNC_TRUTH_H
#define T_UNIT_SYNC_TRUTH_H

#include <stdarg.h>

#include "core/cache/cache.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

#define USERS 50
#define GROUPS 12
#define MINUTE 60000

static const char *const tenant = "contoso";

/* --- the truth of one directory --- */

typedef struct entry {
    int exists, changed, gone; /* changed, gone: since the last committed run */
    int version, enabled, guest, ou, manager, twin;
    int members[USERS + GROUPS]; /* of a group: users, then groups */
} entry;

typedef struct truth {
    ida_directory_kind directory;
    entry users[USERS], groups[GROUPS];
    int committed; /* a full run was */
} truth;

static uint32_t seed;
static int dice(int sides)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)sides);
}

__attribute__((format(printf, 1, 2))) static const char *text_of(const char *format, ...)
{
    va_list args;
    char buffer[200];
    va_start(args, format);
    vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    return apr_pstrdup(pool, buffer);
}

static const char *user_id(const truth *t, int i)
{
    return text_of("%s-u%02d", t->directory ? "p" : "c", i);
}
static const char *group_id(const truth *t, int i)
{
    return text_of("%s-g%02d", t->directory ? "p" : "c", i);
}
static const char *user_dn(const truth *t, int i)
{
    return text_of("uid=u%d,ou=o%d", i, t->users[i].ou);
}
static const char *group_dn(int i)
{
    return text_of("cn=g%d", i);
}
/* Twins have the same UPN (1) or anchor (2) in both directories. */
static const char *user_upn(const truth *t, int i)
{
    return t->users[i].twin == 1 ? text_of("Twin%d@contoso.example", i)
                                 : text_of("U%d-%s@contoso.example", i, t->directory ? "p" : "c");
}
static const char *user_anchor(const truth *t, int i)
{
    return t->users[i].twin == 2 ? text_of("anchor-%d", i) : NULL;
}
static int by_dn(const truth *t)
{
    return t->directory == IDA_DIR_ON_PREMISES;
}

static void item_of(const truth *t, int i, cache_user *u)
{
    const entry *e = &t->users[i];
    *u = (cache_user){.id = user_id(t, i),
                      .upn = user_upn(t, i),
                      .display_name = text_of("Person %d", i),
                      .department = text_of("V%d", e->version),
                      .enabled = e->enabled,
                      .guest = e->guest,
                      .anchor = user_anchor(t, i)};
    if (by_dn(t)) {
        u->dn = u->dn_key = user_dn(t, i);
    }
    if (e->manager >= 0 && by_dn(t)) {
        u->manager_dn_key = user_dn(t, e->manager);
    } else if (e->manager >= 0) {
        u->manager_id = user_id(t, e->manager);
    }
}

static void member_of(const truth *t, int m, cache_member *member)
{
    int is_user = m < USERS;
    *member = by_dn(t) ? (cache_member){.dn_key = is_user ? user_dn(t, m) : group_dn(m - USERS)}
                       : (cache_member){.id = is_user ? user_id(t, m) : group_id(t, m - USERS),
                                        .kind = is_user ? "user" : "group"};
}

static void send_group(cache_sync *run, ida_ctx *c, const truth *t, int i)
{
    cache_group g = {.id = group_id(t, i),
                     .name = text_of("Group %d.%d", i, t->groups[i].version),
                     .kind = "security"};
    cache_member members[USERS + GROUPS];
    int count = 0;
    if (by_dn(t)) {
        g.dn = g.dn_key = group_dn(i);
    }
    for (int m = 0; m < USERS + GROUPS; m++) {
        if (t->groups[i].members[m]) {
            member_of(t, m, &members[count++]);
        }
    }
    must(cache_sync_group(run, c, &g, members, count), c, "group");
}

/* Referential integrity as servers with refint maintain it: an entry that refers to a moved or
 * deleted user has changed as well. */
static void touch_links(truth *t, int user, int gone)
{
    for (int i = 0; i < USERS; i++) {
        if (t->users[i].exists && t->users[i].manager == user) {
            t->users[i].changed = 1;
            t->users[i].manager = gone ? -1 : user;
        }
    }
    for (int i = 0; i < GROUPS; i++) {
        if (t->groups[i].members[user]) {
            t->groups[i].changed = 1;
            t->groups[i].members[user] = !gone;
        }
    }
}

static void mutate(truth *t)
{
    int i = dice(USERS), g = dice(GROUPS);
    entry *e = &t->users[i];
    switch (dice(10)) {
    case 0:
    case 1:
    case 2:
        if (!e->exists) {
            e->exists = e->changed = 1;
            e->enabled = dice(4) > 0;
            e->guest = dice(6) == 0;
            e->twin = dice(3);
            e->manager = -1;
        } else {
            e->version++;
            e->enabled = dice(4) > 0;
            e->changed = 1;
        }
        break;
    case 3:
        if (e->exists) {
            e->manager = dice(USERS);
            e->manager = e->manager == i ? -1 : e->manager;
            e->changed = 1;
        }
        break;
    case 4:
        if (e->exists) {
            e->ou = dice(1000);
            e->changed = 1;
            touch_links(t, i, 0);
        }
        break;
    case 5:
        if (e->exists) {
            e->exists = e->changed = 0;
            e->gone = 1;
            touch_links(t, i, 1);
        }
        break;
    case 6:
        t->groups[g].exists = t->groups[g].changed = 1;
        t->groups[g].version++;
        break;
    case 7:
        if (t->groups[g].exists && dice(3) == 0) {
            t->groups[g].exists = t->groups[g].changed = 0;
            t->groups[g].gone = 1;
            memset(t->groups[g].members, 0, sizeof t->groups[g].members);
            for (int o = 0; o < GROUPS; o++) {
                t->groups[o].changed |= t->groups[o].members[USERS + g];
                t->groups[o].members[USERS + g] = 0;
            }
        }
        break;
    default:
        if (t->groups[g].exists) {
            int m = dice(USERS + GROUPS);
            t->groups[g].members[m] = !t->groups[g].members[m] && m != USERS + g &&
                                      (by_dn(t) || m >= USERS || t->users[m].exists);
            t->groups[g].changed = 1;
        }
    }
}

/* A list may contain a group that does not exist yet; its later deletion is then not reported. */
static int listed(const truth *t, int m)
{
    for (int i = 0; i < GROUPS; i++) {
        if (t->groups[i].members[m]) {
            return 1;
        }
    }
    return 0;
}

/* All that the directory reports, in any order: full, present phase or deletions by name. */
enum { FULL, PRESENT, NAMED };
static void send_all(cache_sync *run, ida_ctx *c, const truth *t, int how)
{
    int order[USERS + GROUPS];
    for (int i = 0; i < USERS + GROUPS; i++) {
        int j = dice(i + 1);
        order[i] = order[j];
        order[j] = i;
    }
    for (int n = 0; n < USERS + GROUPS; n++) {
        int is_user = order[n] < USERS, i = is_user ? order[n] : order[n] - USERS;
        const entry *e = is_user ? &t->users[i] : &t->groups[i];
        const char *kind = is_user ? "user" : "group",
                   *id = is_user ? user_id(t, i) : group_id(t, i);
        if (e->exists && (how == FULL || e->changed)) {
            cache_user u;
            if (dice(8) == 0) {
                must(cache_sync_present(run, c, kind, id), c, "present");
            }
            for (int times = 1 + (dice(8) == 0); times; times--) {
                if (is_user) {
                    item_of(t, i, &u);
                    must(cache_sync_user(run, c, &u), c, "user");
                } else {
                    send_group(run, c, t, i);
                }
            }
        } else if (e->exists && how == PRESENT) {
            must(cache_sync_present(run, c, kind, id), c, "present");
        } else if (!e->exists && how == NAMED &&
                   (e->gone || (dice(10) == 0 && !listed(t, order[n])))) {
            must(cache_sync_delete(run, c, kind, id), c, "delete"); /* also of IDs that never
                                                                       existed */
        }
    }
    if (how == PRESENT) {
        must(cache_sync_complete(run, c, "user"), c, "complete");
        must(cache_sync_complete(run, c, "group"), c, "complete");
    }
}

static void settled(truth *t)
{
    for (int i = 0; i < USERS; i++) {
        t->users[i].changed = t->users[i].gone = 0;
    }
    for (int i = 0; i < GROUPS; i++) {
        t->groups[i].changed = t->groups[i].gone = 0;
    }
    t->committed = 1;
}

/* --- what was found to differ --- */

static int wrong(int same, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int wrong(int same, const char *format, ...)
{
    if (!same) {
        va_list args;
        va_start(args, format);
        printf("# ");
        vprintf(format, args);
        printf("\n");
        va_end(args);
        unmet++;
    }
    return !same;
}

static int passed(const char *format, ...) __attribute__((format(printf, 1, 2)));
static int passed(const char *format, ...)
{
    va_list args;
    char name[200];
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    int good = ok(unmet == 0, "%s", name);
    unmet = 0;
    return good;
}

/* The definition, not the way it is computed: enabled members in the cloud, and on-premises
 * those without such a twin. */
static int enabled_members(const truth *cloud, const truth *premises)
{
    int count = 0;
    for (int i = 0; i < USERS; i++) {
        const entry *a = &cloud->users[i], *b = &premises->users[i];
        int in_cloud = a->exists && a->enabled && !a->guest,
            here = b->exists && b->enabled && !b->guest;
        count += in_cloud + (here && !(in_cloud && a->twin && a->twin == b->twin));
    }
    return count;
}

static int same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

#endif
