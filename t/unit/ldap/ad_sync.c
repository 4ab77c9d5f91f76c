/* DirSync against a real Active Directory (Samba) into a real cache: first pass, single members,
 * moves, renames, deletions, containers that move, foreign tokens, stickiness to one server; and
 * the fallback to uSNChanged for an account without the right. */
#include "t/unit/cached.h"

static const directory_ops *ops;
static const char *suffix, *people;
static long entries;    /* of the last run */
static char told[4096]; /* log ids and messages since the last check */

static void log_it(void *baton, ida_level level, const char *id, const char *message)
{
    (void)baton;
    long long count;
    const char *number = strstr(message, ": ");
    if (level == IDA_LOG_DEBUG && number && sscanf(number, ": %lld entries", &count) == 1) {
        entries = (long)count;
    }
    if (level <= IDA_LOG_INFO) {
        size_t used = strlen(told);
        snprintf(told + used, sizeof told - used, "%s %s\n", id ? id : "-", message);
    }
}

static int was_told(const char *text)
{
    int was = strstr(told, text) != NULL;
    told[0] = '\0';
    return was;
}

static ida_tenant *ad_tenant(const char *urls, const char *account)
{
    char *text = ida_printf(
        pool,
        "{\"urls\":%s,\"dialect\":\"activeDirectory\",\"bind\":\"simple\",\"bindDn\":\"%s@ad."
        "example.test\",\"bindPasswordFile\":\"%s/"
        "password\",\"caFile\":\"%s\",\"userBase\":\"%s\",\"groupBase\":\"OU=Groups,%s\"}",
        urls, account, slapd_dir, perl("$s->ca_file"), people, suffix);
    return tenant_of("nordic", "nordic.example", text);
}

static directory_class run_sync(directory *d, int full, cache_summary *summary, directory_error *e)
{
    apr_pool_t *sub;
    apr_pool_create(&sub, pool);
    directory_class class = ops->sync(d, sub,
                                      &(directory_sync){cache, fresh(), .full = full, .accept = 1},
                                      summary, e);
    return class;
}

__attribute__((format(printf, 1, 2))) static void change(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *ldif = apr_pvsprintf(pool, format, args);
    va_end(args);
    const char *said = perl("$s->modify(\"%s\"); 'ok'", ldif);
    if (strcmp(said, "ok") != 0) {
        ok(0, "%s: %s", ldif, said);
    }
}

static void whole(directory *d)
{
    cache_summary summary;
    directory_error e;
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "first sync");
    is_int(users_cached(), 21, "the people below userBase, and nobody else");
    ida_user *anna = user_of("anna.lind"), *carin = user_of("carin.sjoberg");
    ok(anna && anna->enabled && anna->department && strcmp(anna->department, "Sales") == 0 &&
           anna->created_at > 0,
       "with their fields");
    ok(carin && carin->manager_upn && strcmp(carin->manager_upn, "anna.lind@nordic.example") == 0,
       "with managers");
    is_str(groups_of("anna.lind"), "All staff|CRM admins|Sales team", "with groups");
    cache_sync_state state = state_now();
    ok(state.full_at > 0 && state.binding && strstr(state.tokens, "dirsync") &&
           strstr(state.tokens, "server"),
       "a token and its server");
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "nothing happened");
    is_int(entries, 0, "so nothing is reported");
    is_int((long)state_now().full_at, (long)state.full_at, "and nothing is read again");
    ok(!was_told("IDA04"), "no warnings");
}

/* Every kind of change, each seen at the next poll. */
static void changes(directory *d, const char *tag, int deletions)
{
    cache_summary summary;
    directory_error e;
    int64_t full_at = state_now().full_at;
    change("dn: CN=Karin Hedlund,%s\\nchangetype: modify\\nreplace: title\\ntitle: "
           "%s\\n-\\nreplace: department\\n",
           people, tag);
    change("dn: CN=Sales team,OU=Groups,%s\\nchangetype: modify\\nadd: member\\nmember: CN=Karin "
           "Hedlund,%s\\n-\\ndelete: member\\n"
           "member: CN=Bo Ek,%s\\n",
           suffix, people, people);
    perl("$s->add_user('new.%s', manager => 'CN=Eva Berg,%s'); $s->add_user('outside.%s', dn => "
         "'CN=Outside %s,OU=Services,%s'); 1",
         tag, people, tag, tag, suffix);
    change("dn: CN=New %s,OU=Groups,%s\\nchangetype: add\\nobjectClass: group\\nsAMAccountName: "
           "New %s\\nmember: CN=new.%s,%s\\nmember: CN=Eva Berg,%s\\n",
           tag, suffix, tag, tag, people, people);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e,
             apr_pstrcat(pool, tag, ": sync", NULL));
    is_int((long)state_now().full_at, (long)full_at, "not a full one");
    ida_user *karin = user_of("karin.hedlund"),
             *new = user_of(apr_pstrcat(pool, "new.", tag, NULL));
    ok(karin && karin->job_title && strcmp(karin->job_title, tag) == 0, "a new title");
    ok(karin && !karin->department, "a department taken away");
    is_str(groups_of("karin.hedlund"), "All staff|Engineering|Sales team", "a member that came");
    is_str(groups_of("bo.ek"), "All staff|CRM admins", "a member that went");
    ok(new &&new->manager_upn &&strcmp(new->manager_upn, "eva.berg@nordic.example") == 0,
       "somebody new");
    is_str(groups_of(apr_pstrcat(pool, "new.", tag, NULL)), apr_pstrcat(pool, "New ", tag, NULL),
           "in a new group");
    ok(!user_of(apr_pstrcat(pool, "outside.", tag, NULL)), "somebody new elsewhere is not seen");

    change("dn: CN=Lars Moberg,%s\\nchangetype: modrdn\\nnewrdn: CN=Lars %s\\ndeleteoldrdn: "
           "1\\nnewsuperior: OU=Leavers,%s\\n",
           people, tag, people);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "somebody is moved and renamed");
    ok(user_of("lars.moberg") != NULL, "is still there");
    is_str(groups_of("lars.moberg"), "All staff|Engineering", "with all groups");
    ok(!deletions || was_told("was renamed, moved or restored"), "and everything was read");

    change("dn: CN=Lars %s,OU=Leavers,%s\\nchangetype: modrdn\\nnewrdn: CN=Lars "
           "Moberg\\ndeleteoldrdn: 1\\nnewsuperior: %s\\n",
           tag, people, people);
    change("dn: CN=Outside %s,OU=Services,%s\\nchangetype: modrdn\\nnewrdn: CN=Outside "
           "%s\\ndeleteoldrdn: 1\\nnewsuperior: %s\\n",
           tag, suffix, tag, people);
    change("dn: CN=Elsewhere,OU=Services,%s\\nchangetype: modify\\nreplace: member\\nmember: "
           "CN=Eva Berg,%s\\n",
           suffix, people);
    change("dn: CN=Elsewhere,OU=Services,%s\\nchangetype: modrdn\\nnewrdn: "
           "CN=Elsewhere\\ndeleteoldrdn: 1\\nnewsuperior: OU=Groups,%s\\n",
           suffix, suffix);
    change("dn: CN=Sales team,OU=Groups,%s\\nchangetype: modify\\ndelete: member\\nmember: "
           "CN=Karin Hedlund,%s\\n-\\nadd: member\\n"
           "member: CN=Bo Ek,%s\\n",
           suffix, people, people);
    change("dn: CN=Karin Hedlund,%s\\nchangetype: modify\\nreplace: department\\ndepartment: "
           "Engineering\\n",
           people);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "and back");
    ok(user_of(apr_pstrcat(pool, "outside.", tag, NULL)) != NULL,
       "somebody who came into the scope is seen");
    ok(strstr(groups_of("eva.berg"), "Elsewhere") != NULL,
       "so is a group, with the members it had before: %s", groups_of("eva.berg"));
    is_str(groups_of("karin.hedlund"), "All staff|Engineering", "a member that went again");
    full_at = state_now().full_at;

    change("dn: CN=Outside %s,%s\\nchangetype: modrdn\\nnewrdn: CN=Outside %s\\ndeleteoldrdn: "
           "1\\nnewsuperior: OU=Services,%s\\n",
           tag, people, tag, suffix);
    change("dn: CN=Elsewhere,OU=Groups,%s\\nchangetype: modrdn\\nnewrdn: "
           "CN=Elsewhere\\ndeleteoldrdn: 1\\nnewsuperior: OU=Services,%s\\n",
           suffix, suffix);
    change("dn: CN=new.%s,%s\\nchangetype: delete\\n", tag, people);
    change("dn: CN=New %s,OU=Groups,%s\\nchangetype: delete\\n", tag, suffix);
    change("dn: CN=Outside %s,OU=Services,%s\\nchangetype: delete\\n", tag, suffix);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "deletions");
    if (deletions) {
        ok(!user_of(apr_pstrcat(pool, "new.", tag, NULL)) &&
               !user_of(apr_pstrcat(pool, "outside.", tag, NULL)),
           "are seen");
        ok(!strstr(groups_of("eva.berg"), "Elsewhere") && !strstr(groups_of("eva.berg"), "New"),
           "of groups too: %s", groups_of("eva.berg"));
        is_int(users_cached(), 21, "as many as before");
        is_int((long)state_now().full_at, (long)full_at, "without reading everything");
    }
}

static void set_primary(const char *group)
{
    is_str(perl("$s->make_primary('CN=Karin Hedlund,%s', '%s'); 'ok'", people, group), "ok",
           "another primary group");
}

/* A person is in their primary group, although no list of members contains them. */
static void primary_group(directory *d, int full)
{
    cache_summary summary;
    directory_error e;
    const char *crew = apr_psprintf(pool, "CN=Crew,OU=Groups,%s", suffix),
               *deck = apr_psprintf(pool, "CN=Deck,OU=Groups,%s", suffix),
               *moved = apr_psprintf(pool, "CN=Deck,OU=Inner,OU=Groups,%s", suffix),
               *users = apr_psprintf(pool, "CN=Domain Users,CN=Users,%s", suffix);
    int64_t full_at = state_now().full_at;
    for (int i = 0; i < 2; i++) {
        change("dn: %s\\nchangetype: add\\nobjectClass: group\\nsAMAccountName: Primary "
               "%d\\nmember: CN=Karin Hedlund,%s\\n",
               i ? deck : crew, i, people);
    }
    set_primary(crew);
    is_class(run_sync(d, full, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(groups_of("karin.hedlund"), "All staff|Crew|Deck|Engineering",
           "both groups, one by its list and one as primary group");
    set_primary(deck);
    is_class(run_sync(d, full, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(groups_of("karin.hedlund"), "All staff|Crew|Deck|Engineering", "the other way round");
    change("dn: %s\\nchangetype: modify\\ndelete: member\\nmember: CN=Karin Hedlund,%s\\n", crew,
           people);
    change("dn: %s\\nchangetype: modify\\nadd: member\\nmember: CN=Bo Ek,%s\\n", deck, people);
    is_class(run_sync(d, full, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(groups_of("karin.hedlund"), "All staff|Deck|Engineering",
           "the former primary group is left like any other");
    ok(full || strstr(state_now().tokens, "usn") || state_now().full_at == full_at,
       "all of it without reading everything");
    change("dn: OU=Inner,OU=Groups,%s\\nchangetype: add\\nobjectClass: organizationalUnit\\n",
           suffix);
    change("dn: %s\\nchangetype: modrdn\\nnewrdn: CN=Deck\\ndeleteoldrdn: 1\\nnewsuperior: "
           "OU=Inner,OU=Groups,%s\\n",
           deck, suffix);
    is_class(run_sync(d, full, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(groups_of("karin.hedlund"), "All staff|Deck|Engineering",
           "a group that moved is read anew, with those who have it as primary one");
    change(
        "dn: CN=Karin Hedlund,%s\\nchangetype: modify\\nreplace: department\\ndepartment: Deck\\n",
        people);
    change("dn: CN=Karin Hedlund,%s\\nchangetype: modrdn\\nnewrdn: CN=Karin Moved\\ndeleteoldrdn: "
           "1\\n",
           people);
    is_class(run_sync(d, full, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(groups_of("karin.hedlund"), "All staff|Deck|Engineering",
           "so is an account that was renamed");
    change("dn: CN=Karin Moved,%s\\nchangetype: modrdn\\nnewrdn: CN=Karin Hedlund\\ndeleteoldrdn: "
           "1\\n",
           people);
    change("dn: CN=Karin Hedlund,%s\\nchangetype: modify\\nreplace: department\\ndepartment: "
           "Engineering\\n",
           people);
    set_primary(users);
    is_class(run_sync(d, full, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(groups_of("karin.hedlund"), "All staff|Deck|Engineering",
           "a group outside groupBase is not shown, the former one is");
    is_str(groups_of("bo.ek"), "All staff|CRM admins|Deck|Sales team", "with its other members");
    change("dn: %s\\nchangetype: delete\\n", crew);
    change("dn: %s\\nchangetype: delete\\n", moved);
    change("dn: OU=Inner,OU=Groups,%s\\nchangetype: delete\\n", suffix);
    is_class(run_sync(d, 1, &summary, &e), DIRECTORY_OK, &e, "as before");
}

static void containers(directory *d)
{
    cache_summary summary;
    directory_error e;
    int64_t full_at = state_now().full_at;
    change("dn: OU=Team,%s\\nchangetype: add\\nobjectClass: organizationalUnit\\n", people);
    perl("$s->add_user('team.member', dn => 'CN=team.member,OU=Team,%s'); 1", people);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "a new container with somebody in it");
    ok(user_of("team.member") != NULL, "who is seen");
    is_int((long)state_now().full_at, (long)full_at, "without reading everything");
    change("dn: OU=Team,%s\\nchangetype: modrdn\\nnewrdn: OU=Team\\ndeleteoldrdn: 1\\nnewsuperior: "
           "OU=Services,%s\\n",
           people, suffix);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e,
             "the container leaves the scope: its entries say nothing of it");
    ok(was_told("with everything in it"), "everything is read again, and the log says why");
    ok(!user_of("team.member"), "who was in it is gone");
    is_int(users_cached(), 21, "the others are not");
}

/* With the recycle bin of Active Directory a restored person is in the old groups again, without
 * any change being reported. */
static void restored(directory *d)
{
    cache_summary summary;
    directory_error e;
    perl("$s->add_user('back.again'); 1");
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "somebody new");
    ida_user *before = user_of("back.again");
    change("dn: CN=back.again,%s\\nchangetype: delete\\n", people);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "is deleted");
    ok(before && !user_of("back.again"), "and gone");
    is_str(perl("my $r = $s->client('ldapmodify', ['-e', '!1.2.840.113556.1.4.417'], stdin => "
                "\"dn: CN=back.again\\\\0ADEL:%s,CN=Deleted Objects,%s\\nchangetype: modify\\n"
                "delete: isDeleted\\n-\\nreplace: distinguishedName\\n"
                "distinguishedName: CN=back.again,%s\\n\"); $r->{exit} ? $r->{err} : 'ok'",
                before ? before->id : "", suffix, people),
           "ok", "restored");
    told[0] = '\0';
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
    ok(was_told("was renamed, moved or restored"), "everything is read");
    is_int(users_cached(), 22, "and the account is there");
    change("dn: CN=back.again,%s\\nchangetype: delete\\n", people);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "as before");
}

static void tokens(directory *d)
{
    cache_summary summary;
    directory_error e;
    int64_t full_at = state_now().full_at;
    change("dn: CN=Bo Ek,%s\\nchangetype: modify\\nreplace: manager\\nmanager: CN=Eva Berg,%s\\n",
           people, people);
    meddle("UPDATE sync_state SET tokens = '{\"dirsync\":\"bm8gdG9rZW4gYXQgYWxs\"}'");
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e,
             "a token that is none: everything is read again");
    ok(was_told("everything is read again") && state_now().full_at >= full_at, "as the log says");
    is_int(users_cached(), 21, "all of it");
    ida_user *bo = user_of("bo.ek");
    ok(bo && bo->manager_upn && strcmp(bo->manager_upn, "eva.berg@nordic.example") == 0,
       "a former manager, who is reported as well, is not taken for the present one");

    /* Two addresses of servers: the one that the token came from is tried first. */
    wire *w = wire_to_at(perl("$s->{address}"), 636);
    const char *first = ida_printf(pool, "ldaps://127.0.0.1:%d", w->port),
               *second = perl("$s->ldaps_url");
    directory *other = open_with(ad_tenant(json_list(second, NULL), "idadmin"));
    is_class(run_sync(other, 0, &summary, &e), DIRECTORY_OK, &e, "a token of the second server");
    ops->close(other);
    full_at = state_now().full_at;
    other = open_with(ad_tenant(json_list(first, second), "idadmin"));
    is_class(run_sync(other, 0, &summary, &e), DIRECTORY_OK, &e,
             "a new session that names another server first");
    is_int(atomic_load(&w->connections), 0, "does not ask it");
    is_int((long)state_now().full_at, (long)full_at, "and goes on with the token");
    ops->close(other);
    wire_end(w);
}

static void without_right(void)
{
    cache_summary summary;
    directory_error e;
    directory *d = open_with(ad_tenant(json_list(perl("$s->ldaps_url"), NULL), "reader"));
    is_int(cache_reset(cache, fresh(), "nordic", IDA_DIR_ON_PREMISES), IDA_OK, "an empty cache");
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "an account that may not use DirSync");
    ok(strstr(told, "IDA0402") && strstr(told, "Replicating Directory Changes"),
       "a warning names the right");
    told[0] = '\0';
    is_int(users_cached(), 21, "everybody is read");
    is_str(groups_of("anna.lind"), "All staff|CRM admins|Sales team", "with groups");
    ok(strstr(state_now().tokens, "usn") != NULL, "the token is the change counter");
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "nothing happened");
    is_int(entries, 0, "so nothing is reported");
    changes(d, "usn", 0);
    ok(!was_told("IDA0402"), "the warning is not repeated");
    primary_group(d, 0);
    primary_group(d, 1);
    meddle("UPDATE sync_state SET tokens = replace(tokens, '\"scanned\":\"', '\"scanned\":\"-')");
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e,
             "ten minutes later deletions are looked for");
    is_int(users_cached(), 21, "and found");
    change("dn: OU=Leavers,%s\\nchangetype: modrdn\\nnewrdn: OU=Former\\ndeleteoldrdn: 1\\n",
           people);
    is_class(run_sync(d, 0, &summary, &e), DIRECTORY_OK, &e, "a renamed container");
    ok(was_told("everything is read again"), "makes everything be read again");
    ops->close(d);
}

/* An account expires whatever its flags are: times count 100 ns since 1601, and two values mean
 * never. */
static void ends(directory *d)
{
    directory_error e;
    directory_user user;
    static const struct {
        const char *value;
        int64_t at;
    } cases[] = {{"132223104000000000", INT64_C(1577836800000)},
                 {"0", 0},
                 {"9223372036854775807", 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        perl("$s->modify(\"dn: CN=Elin Strand,%s\\nchangetype: modify\\nreplace: "
             "accountExpires\\naccountExpires: %s\\n\"); 1",
             people, cases[i].value);
        is_class(ops->find(d, pool, NULL, "elin.strand@nordic.example", &user, &e), DIRECTORY_OK,
                 &e, "an account with accountExpires");
        is_int(user.cache.expires_at, cases[i].at, cases[i].value);
        ok(user.enabled, "the flag is another matter");
    }
}

int main(void)
{
    slapd_start("samba => 1");
    env.log = log_it;
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    suffix = perl("$Idadmin::Test::Samba::suffix");
    people = perl("$Idadmin::Test::Samba::people");
    cached_begin();
    directory *d = open_with(ad_tenant(json_list(perl("$s->ldaps_url"), NULL), "idadmin"));
    whole(d);
    changes(d, "first", 1);
    changes(d, "second", 1);
    primary_group(d, 0);
    primary_group(d, 1);
    containers(d);
    restored(d);
    tokens(d);
    ends(d);
    ops->close(d);
    without_right();
    cached_end();
    return done();
}
