/* A group with four thousand members from a server that returns 1,500 at a time (the scripted
 * peer): all of them at the first sync, and after changes of single members, however the server
 * reports changes. */
#include "core/cache/groups.h"
#include "core/cache/person.h"
#include "core/cache/sync.h"
#include "t/unit/slapd.h"

#define PEER "Idadmin::Test::LdapPeer"
#define MEMBERS 4000

static const directory_ops *ops;
static store *cache, *reader;

static ida_tenant *tenant_on_peer(void)
{
    return tenant_of("range", "peer.example", perl("Idadmin::Test::json_text($main::p->document)"));
}

/* The only group of a person; NULL if there is none. */
static const ida_group *group_of(const char *local)
{
    ida_user *user = NULL;
    const ida_group *rows = NULL;
    int count = 0;
    const char *upn = apr_pstrcat(pool, local, "@peer.example", NULL);
    if (cache_user_details(reader, fresh(), "range", upn, &user, NULL) != IDA_OK ||
        cache_user_groups(reader, fresh(), "range", IDA_DIR_ON_PREMISES, user->id, &rows, &count) !=
            IDA_OK) {
        return NULL;
    }
    return count == 1 ? &rows[0] : NULL;
}

static const char *id_of(directory *d, const char *local)
{
    directory_user user;
    directory_error e;
    directory_class class = ops->find(d, pool, NULL,
                                      apr_pstrcat(pool, local, "@peer.example", NULL), &user, &e);
    return class == DIRECTORY_OK ? user.id : "";
}

static void members(const char *sync)
{
    cache_summary summary;
    directory_error e;
    directory_class each;
    is_str(perl("$main::p = " PEER "->new(users => %d, groups => { Big => %d }, sync => %s); "
                "$main::p->script(range => 1500); 'ok'",
                MEMBERS + 1, MEMBERS, sync),
           "ok", "a group whose members come 1,500 at a time");
    directory *d = open_with(tenant_on_peer());
    is_int(cache_reset(cache, fresh(), "range", IDA_DIR_ON_PREMISES), IDA_OK, "an empty cache");
    is_class(ops->sync(d, pool, &(directory_sync){.cache = cache, .c = fresh()}, &summary, &e),
             DIRECTORY_OK, &e, "a first sync");
    const ida_group *group = group_of("person4000");
    ok(group && group->member_count == MEMBERS, "every member is in the cache, the last one too");
    ok(!group_of("person4001"), "and nobody else");
    if (group) {
        const char *id = apr_pstrdup(pool, group->id), *last = id_of(d, "person4001");
        is_class(ops->remove_member(d, pool, id, id_of(d, "person0001"), &e), DIRECTORY_OK, &e,
                 "the first member goes");
        is_class(ops->remove_member(d, pool, id, id_of(d, "person3000"), &e), DIRECTORY_OK, &e,
                 "one of the second part too");
        is_class(ops->add_members(d, pool, id, &last, 1, &each, &e), DIRECTORY_OK, &e,
                 "a person is added");
        is_class(ops->sync(d, pool, &(directory_sync){.cache = cache, .c = fresh()}, &summary, &e),
                 DIRECTORY_OK, &e, "the next sync");
    }
    group = group_of("person4001");
    ok(group && group->member_count == MEMBERS - 1, "who came is there, and as many as should be");
    ok(!group_of("person0001") && !group_of("person3000") && group_of("person1500") &&
           group_of("person1501"),
       "a removed member is gone, members at the seams remain");
    ops->close(d);
    perl("$main::p->stop; 'ok'");
}

/* Half a list must not be taken for the whole one. */
static void stuck(void)
{
    cache_summary summary;
    directory_error e;
    is_str(perl("$main::p = " PEER "->new(users => %d, groups => { Big => %d }, sync => 0); "
                "$main::p->script(range => 1500, stuck => 1); 'ok'",
                MEMBERS, MEMBERS),
           "ok", "a server that reports the first members again and again");
    directory *d = open_with(tenant_on_peer());
    is_int(cache_reset(cache, fresh(), "range", IDA_DIR_ON_PREMISES), IDA_OK, "an empty cache");
    is_class(ops->sync(d, pool, &(directory_sync){.cache = cache, .c = fresh()}, &summary, &e),
             DIRECTORY_CONFIG, &e, "no sync");
    ok(e.message && strstr(e.message, "up to number 1499"), "with the reason: %s", e.message);
    ops->close(d);
    perl("$main::p->stop; 'ok'");
}

int main(void)
{
    slapd_start("start => 0");
    perl("require " PEER "; 'ok'");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    const char *dsn = store_beside(&cache);
    reader = store_make(pool, dsn, DB_REQUEST);
    members("1");
    members("0");
    stuck();
    store_disconnect(cache);
    store_disconnect(reader);
    return done();
}
