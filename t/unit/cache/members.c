/* Members of groups as runs report them: one by one, in whole lists, in slices, before and after
 * their entries, without them, and after they return. On both engines. */
#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/run.h"
#include "t/unit/setup.h"
#include "t/unit/store_setup.h"

static const char *const tenant = "contoso";
static const char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));
static const char *text_of(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const char *text = apr_pvsprintf(pool, format, args);
    va_end(args);
    return text;
}

static int64_t waiting(store *s)
{
    db_result r;
    ida_ctx *c = fresh();
    must(store_read(s, c, STMT_unresolved_count, DB_ARGS(DB_T(tenant), DB_T("onPremises")), &r), c,
         "unresolved");
    return DB_ROW(number, &r, 0)->number.number;
}

/* Members one by one, mixed with lists, and a group larger than a transaction. */
static void members(const char *dsn, const char *name)
{
    enum { MANY = 9500 };
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    cache_group g = {.id = "big", .name = "Big", .kind = "security"};
    ida_group *found;
    cache_member *list = apr_pcalloc(pool, MANY * sizeof *list);
    const ida_directory_kind here = IDA_DIR_ON_PREMISES;
    must(cache_reset(s, c, tenant, here), c, "reset");
    for (int i = 0; i < MANY; i++) {
        list[i] = (cache_member){.dn_key = text_of("uid=m%d", i)};
    }
    must(cache_sync_begin(&run, s, c, pool, tenant, here, 1), c, "begin");
    must(cache_sync_group(run, c, &g, list, MANY), c, "group");
    for (int i = 0; i < MANY; i += 2) {
        cache_user u = {.id = text_of("m%d", i), .dn_key = list[i].dn_key, .enabled = 1};
        must(cache_sync_user(run, c, &u), c, "user");
    }
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    must(cache_group_find(s, c, tenant, "big", &found), c, "find");
    is_int(found->member_count, MANY / 2, "members of a large group that are known");
    is_int(summary.unresolved, MANY / 2, "and those that wait");
    must(cache_sync_begin(&run, s, c, pool, tenant, here, 0), c, "begin");
    for (int i = 1; i < 200; i += 2) {
        cache_user u = {.id = text_of("m%d", i), .dn_key = list[i].dn_key, .enabled = 1};
        must(cache_sync_user(run, c, &u), c, "user");
    }
    must(cache_sync_member(run, c, "big", &(cache_member){.id = "m0", .kind = "user"}, 1), c,
         "remove");
    must(cache_sync_member(run, c, "big", &(cache_member){.dn_key = "uid=m2"}, 1), c, "remove");
    must(cache_sync_member(run, c, "big", &(cache_member){.dn_key = "uid=m2"}, 0), c, "add again");
    must(cache_sync_member(run, c, "big", &(cache_member){.dn_key = "uid=m9499"}, 1), c,
         "remove one that waits");
    must(cache_sync_member(run, c, "nobody", &(cache_member){.id = "m2"}, 0), c, "unknown group");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    must(cache_group_find(s, c, tenant, "big", &found), c, "find");
    is_int(found->member_count, MANY / 2 + 100 - 1, "appeared members and single changes");
    is_int(summary.unresolved, MANY / 2 - 100 - 1, "those that wait still");
    must(cache_sync_begin(&run, s, c, pool, tenant, here, 0), c, "begin");
    must(cache_sync_member(run, c, "big", &(cache_member){.id = "m8"}, 1), c,
         "a change before the list");
    must(cache_sync_group(run, c, &g, list, 10), c, "group");
    must(cache_sync_member(run, c, "big", &(cache_member){.id = "m4"}, 1), c,
         "a change after the list");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    must(cache_group_find(s, c, tenant, "big", &found), c, "find");
    is_int(found->member_count, 9,
           "a list takes the place of earlier changes, later ones come on top");
    must(cache_sync_begin(&run, s, c, pool, tenant, here, 0), c, "begin");
    must(cache_sync_delete(run, c, "group", "big"), c, "delete");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(cache_group_find(s, c, tenant, "big", &found), IDA_NOT_FOUND,
           "a group goes with its members");
    is_int(waiting(s), 0, "and with those that waited");
    is_int(unmet, 0, text_of("%s: lists and single members", name));
}

/* A cloud directory reports large groups in pieces and omits members that were not requested. */
static void slices(const char *dsn, const char *name)
{
    enum { MANY = 3000, PIECE = 300 };
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    cache_group g = {.id = "pieces", .name = "Pieces", .kind = "security"};
    ida_group *found;
    cache_member *list = apr_pcalloc(pool, MANY * sizeof *list);
    must(cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
    for (int i = 0; i < MANY; i++) {
        list[i] = (cache_member){.id = text_of("w%d", i), .kind = "user"};
    }
    for (int round = 0; round < 3; round++) { /* all, all again, a part: missing ones are removed */
        int last = round == 2 ? 2 * PIECE : MANY;
        must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 1), c, "begin");
        for (int i = 0; i < MANY; i++) {
            cache_user u = {.id = list[i].id,
                            .upn = text_of("w%d@contoso.example", i),
                            .enabled = 1,
                            .last_sign_in_at = 7000 + round,
                            .sign_ins_untold = round > 0};
            must(cache_sync_user(run, c, &u), c, "user");
        }
        for (int at = last - PIECE; at >= 0; at -= PIECE) {
            must(cache_sync_slice(run, c, "pieces", list + at, PIECE), c, "slice");
            if (at % (2 * PIECE) == 0) {
                g.name = text_of("Pieces %d", at);
                must(cache_sync_group(run, c, &g, NULL, 0), c, "group");
            }
        }
        must(cache_sync_slice(run, c, "pieces", list, 10), c, "reported twice");
        must(cache_sync_member(run, c, "pieces", &list[5], 1), c, "removed after its slice");
        must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
        must(cache_group_find(s, c, tenant, "pieces", &found), c, "find");
        is_int(found->member_count, last - 1, "the union of the slices is the list");
        is_str(found->name, "Pieces 0", "the last word names the group");
    }
    ida_user *w7;
    must(cache_user_by_upn(s, c, tenant, "w7@contoso.example", &w7), c, "user");
    is_int(w7->last_sign_in_at, 7000, "sign-ins that were not reported stay");
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    must(cache_sync_slice(run, c, "pieces", list + 1000, PIECE), c, "slice");
    must(cache_sync_group(run, c, &g, NULL, 0), c, "group");
    must(cache_sync_member(run, c, "pieces", &list[1], 1), c, "remove");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    must(cache_group_find(s, c, tenant, "pieces", &found), c, "find");
    is_int(found->member_count, 2 * PIECE - 1 + PIECE - 1, "outside a full run a slice adds");
    is_int(unmet, 0, text_of("%s: groups in slices", name));
}

static int members_of(store *s, const char *group)
{
    ida_group *found;
    ida_ctx *c = fresh();
    ida_kind kind = cache_group_find(s, c, tenant, group, &found);
    must(kind, c, "find");
    return kind ? -1 : (int)found->member_count;
}

static const char *manager_of(store *s, const char *upn)
{
    ida_user *found;
    ida_ctx *c = fresh();
    ida_kind kind = cache_user_by_upn(s, c, tenant, upn, &found);
    must(kind, c, "user");
    return kind ? NULL : found->manager_id;
}

static void user_told(cache_sync *run, ida_ctx *c, const char *id, const char *manager,
                      int64_t created)
{
    cache_user u = {.id = id,
                    .upn = text_of("%s@contoso.example", id),
                    .enabled = 1,
                    .created_at = created,
                    .manager_id = manager};
    must(cache_sync_user(run, c, &u), c, "user");
}

/* Users who returned after run `settled`, IDs joined by blanks. */
static const char *returned(cache_sync *run, ida_ctx *c, int64_t settled)
{
    const char **ids, *text = "";
    int count;
    must(cache_sync_returned(run, c, settled, 1000, "", 10, &ids, &count), c, "returned");
    for (int i = 0; i < count; i++) {
        text = text_of("%s%s ", text, ids[i]);
    }
    return text;
}

/* Links that lead to no entry, and those of returning users: a cloud directory reports neither. */
static void links(const char *dsn, const char *name)
{
    store *s = store_make(pool, dsn, DB_SYNC);
    ida_ctx *c = fresh();
    cache_sync *run;
    cache_summary summary;
    cache_group g = {.id = "team", .name = "Team", .kind = "security"};
    const cache_member early = {.id = "early", .kind = "user"},
                       circle = {.id = "circle", .kind = "group"};
    int yes;
    must(cache_reset(s, c, tenant, IDA_DIR_CLOUD), c, "reset");
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 1), c, "begin");
    user_told(run, c, "worker", NULL, 500);
    must(cache_sync_group(run, c, &g, NULL, 0), c, "group");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");

    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    user_told(run, c, "worker", "early", 500);
    must(cache_sync_member(run, c, "team", &early, 0), c, "add");
    must(cache_sync_member(run, c, "team", &circle, 0), c, "add");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    int64_t settled = cache_sync_number(run);
    is_int(members_of(s, "team"), 2, "members who are reported before themselves");
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    must(cache_sync_delete(run, c, "user", "early"), c, "delete");
    must(cache_sync_delete(run, c, "group", "circle"), c, "delete");
    must(cache_sync_delete(run, c, "user", "nobody"), c, "delete");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_int(members_of(s, "team"), 0, "and are deleted before they were: no membership is left");
    is_str(manager_of(s, "worker@contoso.example"), NULL, "nor a manager");

    /* Simulates a run that was killed before it resolved the links. */
    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    user_told(run, c, "early", NULL, 900);
    user_told(run, c, "worker", NULL, 500);
    user_told(run, c, "new", NULL, 1000);
    user_told(run, c, "dateless", NULL, 0);
    is_str(returned(run, c, settled), "dateless early ",
           "a person created long ago, or at an unknown time, and new to the cache has returned");
    g.id = "again";
    must(cache_sync_group(run, c, &g, NULL, 0), c, "group");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");

    must(cache_sync_begin(&run, s, c, pool, tenant, IDA_DIR_CLOUD, 0), c, "begin");
    user_told(run, c, "early", NULL, 900);
    user_told(run, c, "dateless", "new", 0);
    is_str(returned(run, c, settled), "dateless early ",
           "also when a run that broke off brought the row, changed since or not");
    is_str(returned(run, c, cache_sync_number(run) - 1), "", "not when that run was whole");
    must(cache_sync_settled(run, c, "again", settled, &yes), c, "settled");
    is_int(yes, 0, "the same with a group");
    must(cache_sync_settled(run, c, "again", cache_sync_number(run) - 1, &yes), c, "settled");
    is_int(yes, 1, "that a whole run brought");
    must(cache_sync_report(run, c, "worker", "early"), c, "report");
    must(cache_sync_report(run, c, "dateless", "early"), c, "report");
    must(cache_sync_report(run, c, "nobody", "early"), c, "report");
    must(cache_sync_commit(run, c, "{}", NULL, NULL, 1, &summary), c, "commit");
    is_str(manager_of(s, "worker@contoso.example"), "early",
           "a person without a manager gets the returned one");
    is_str(manager_of(s, "dateless@contoso.example"), "new", "another one stays");
    is_int(unmet, 0, text_of("%s: links of those who come and go", name));
}

int main(void)
{
    setup();
    for (int i = 0; i < store_engines(); i++) {
        const char *name, *dsn = store_upgraded(i, &name);
        members(dsn, name);
        slices(dsn, name);
        links(dsn, name);
    }
    return done();
}
