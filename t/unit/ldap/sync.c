/* Content synchronisation with a real slapd into a real cache: whole content, delete phase,
 * present phase, moves, lost and foreign tokens, the guard, broken streams, and the fallback
 * without syncprov. */
#include "t/unit/cached.h"

static const directory_ops *ops;
static const char *ldaps, *people, *groups;
static ida_tenant *tenant;
static char phases[512]; /* of the last run: "users:delete groups:present " */
static char warned[512]; /* the last warning */

static void log_phases(void *baton, ida_level level, const char *id, const char *message)
{
    char kind[16], rest[512];
    long long count;
    (void)baton, (void)id;
    if (level == IDA_LOG_DEBUG &&
        sscanf(message, "sync of %15[a-z]: %lld messages, %511[^\n]", kind, &count, rest) == 3) {
        size_t used = strlen(phases);
        snprintf(phases + used, sizeof phases - used, "%s:%.*s ", kind, (int)strcspn(rest, " "),
                 rest);
    } else if (level <= IDA_LOG_WARN) {
        printf("# log %s: %s\n", id, message);
        snprintf(warned, sizeof warned, "%s: %s", id, message);
    }
}

static directory_class run_sync(directory *d, int full, int accept, cache_summary *summary,
                                directory_error *e)
{
    phases[0] = '\0';
    apr_pool_t *sub;
    apr_pool_create(&sub, pool);
    return ops->sync(d, sub, &(directory_sync){cache, fresh(), .full = full, .accept = accept},
                     summary, e);
}

static void whole(directory *d)
{
    cache_summary summary;
    directory_error e;
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "first sync");
    is_str(phases, "users:present groups:present ", "reads everything");
    is_int(users_cached(), 20, "twenty users");
    ida_user *anna = user_of("anna.lind");
    ok(anna && anna->enabled && anna->manager_upn &&
           strcmp(anna->manager_upn, "eva.berg@nordic.example") == 0,
       "with managers, by DN");
    ok(anna && anna->department && strcmp(anna->department, "Sales") == 0 && anna->job_title &&
           anna->created_at > 0,
       "with their fields");
    is_str(groups_of("anna.lind"), "All staff|CRM admins|Everyone in sales|Sales team",
           "with groups, dynamic ones too");
    cache_sync_state state = state_now();
    ok(state.full_at > 0 && state.binding && strstr(state.tokens, "users") &&
           strstr(state.tokens, "groups"),
       "tokens for both streams");
    is_int(state.sign_ins, 1, "sign-ins are recorded (our own bind is one)");

    const char *before = apr_pstrdup(pool, state.tokens);
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "second sync");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "third sync");
    is_str(phases, "", "nothing has changed, so neither stream is asked");
    cache_sync_state after = state_now();
    ok(strstr(after.tokens, "users") && strstr(after.tokens, "groups"), "tokens are kept");
    ok(after.run == state.run + 2 && after.completed_at >= state.completed_at &&
           after.full_at == state.full_at && after.sign_ins,
       "and a sync is noted");
    printf("# %s\n# %s\n", before, after.tokens);
}

/* slapd omits entries that change during its answer; the connector searches for them by their
 * stamp. */
static void stamps_hidden(directory *d)
{
    cache_summary summary;
    directory_error e;
    *warned = '\0';
    is_class(run_sync(d, 1, 0, &summary, &e), DIRECTORY_OK, &e, "everything is read");
    is_str(warned, "", "without a warning");
    slapd_hides("entryCSN", people, "none");
    is_class(run_sync(d, 1, 0, &summary, &e), DIRECTORY_OK, &e, "and again, with entryCSN hidden");
    ok(strstr(warned, "IDA0403") && strstr(warned, "uid=") && strstr(warned, people),
       "which is reported: %s", warned);
    slapd_shows();
    *warned = '\0';
    is_class(run_sync(d, 1, 0, &summary, &e), DIRECTORY_OK, &e, "and shown again");
    is_str(warned, "", "no warning any more");
}

static int64_t minutes; /* by which the clock is ahead */

static int64_t clock_ahead(void *baton)
{
    return real_clock(baton) + minutes * 60000;
}

/* Syncs once a minute until one finds nothing and opens no stream; returns how many that takes. */
static int until_quiet(directory *d)
{
    cache_summary summary;
    directory_error e;
    int runs = 0;
    do {
        minutes++;
        run_sync(d, 0, 0, &summary, &e);
    } while (++runs < 10 && *phases);
    return runs;
}

static void sales(const char *verb)
{
    is_str(perl("$s->modify(\"dn: uid=lars.moberg,%s\\nchangetype: modify\\nreplace: "
                "departmentNumber\\ndepartmentNumber: %s\\n\"); 'ok'",
                people, verb),
           "ok", "a department");
}

/* Requests to slapd when its contextCSN has not changed: none, but no change may be missed. */
static void when_streams_are_asked(directory *d)
{
    cache_summary summary;
    directory_error e;
    ok(until_quiet(d) < 10, "a sync without streams");
    sales("Sales");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "one change");
    is_str(phases, "users:delete groups:delete ", "is asked for");
    is_str(groups_of("lars.moberg"), "All staff|Engineering|Everyone in sales",
           "seen, a membership by rule too");
    sales("Engineering");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "and back");
    is_str(groups_of("lars.moberg"), "All staff|Engineering", "seen at once");
    is_int(until_quiet(d), 1, "nothing is left of that");

    /* No CSN shows which entries refint changes, nor when. */
    is_str(perl("$s->modify(\"dn: uid=lars.moberg,%s\\nchangetype: modrdn\\nnewrdn: "
                "uid=lars.b\\ndeleteoldrdn: 1\\n\"); 'ok'",
                people),
           "ok", "a renamed member of groups");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(phases, "users:delete groups:delete ", "which is reported");
    for (int i = 0; i < 3; i++) {
        is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e,
                 "a sync within the next half minute");
        is_str(phases, "users:present groups:present ", "reads everything");
    }
    is_int(until_quiet(d), 2, "and so does one a minute later, the last one");
    is_str(perl("$s->modify(\"dn: uid=lars.b,%s\\nchangetype: modrdn\\nnewrdn: "
                "uid=lars.c\\ndeleteoldrdn: 1\\n\"); 'ok'",
                people),
           "ok", "renamed again");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
    /* The clock of this test runs faster than refint. */
    is_str(perl("Idadmin::Test::within(sub { 2 == $s->search('(member=uid=lars.c,%s)', "
                "base => '%s') }) ? 'ok' : 'late'",
                people, groups),
           "ok", "and slapd follows");
    is_int(until_quiet(d), 3,
           "is followed by two syncs that read everything, if they are minutes apart");
    is_str(groups_of("lars.moberg"), "All staff|Engineering", "which he is still in");
    is_str(perl("$s->delete_entry('uid=lars.c,%s'); 'ok'", people), "ok", "deleted");
    ok(until_quiet(d) > 1 && !user_of("lars.moberg"), "is gone");
    is_str(perl("$s->add_user('lars.moberg', departmentNumber => 'Engineering'); $s->modify(\"dn: "
                "cn=$_,%s\\nchangetype: modify\\nadd: member\\nmember: uid=lars.moberg,%s\\n\") "
                "for 'All staff', 'Engineering'; 'ok'",
                groups, people),
           "ok", "one of that name again");
    until_quiet(d);
    is_str(groups_of("lars.moberg"), "All staff|Engineering", "with the groups");

    /* As if bo.ek had been read with the DN of a manager that a new person has now, before
     * refint changed it. */
    const char *manager = user_of("bo.ek")->manager_upn;
    is_str(perl("$s->add_user('late.arrival'); 'ok'"), "ok", "somebody new");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "is seen");
    meddle("UPDATE directory_user SET manager_id=(SELECT id FROM directory_user WHERE "
           "upn='late.arrival@nordic.example') WHERE upn='bo.ek@nordic.example'");
    ok(strcmp(user_of("bo.ek")->manager_upn, "late.arrival@nordic.example") == 0,
       "and taken for a manager");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "the next sync");
    is_str(user_of("bo.ek")->manager_upn, manager,
           "also processes in full entries with links to a new person");
    is_str(perl("$s->delete_entry('uid=late.arrival,%s'); 'ok'", people), "ok", "as before");
    until_quiet(d);

    meddle("UPDATE sync_state SET "
           "tokens=json_set(tokens,'$.asked',json_extract(tokens,'$.asked')-600000)");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "ten minutes later");
    is_str(phases, "users:delete groups:delete ", "the streams are asked all the same");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "the next sync");
    is_str(phases, "", "asks none");

    static const char *const access[] = {
        "add: olcAccess\\nolcAccess: {0}to attrs=contextCSN by * none",
        "delete: olcAccess\\nolcAccess: {0}"};
    static const char *const expected[] = {"users:delete groups:delete ", ""};
    for (int i = 0; i < 2; i++) {
        is_str(perl("$s->modify(\"dn: olcDatabase={1}mdb,cn=config\\nchangetype: modify\\n%s\\n\", "
                    "bind => ['cn=config', Idadmin::Test::Slapd::admin_password()]); 'ok'",
                    access[i]),
               "ok", i ? "and shown again" : "contextCSN is hidden from us");
        is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
        is_str(phases, expected[i], i ? "no stream is asked" : "the streams are asked");
    }
}

/* If a full read takes long, repeating it out of doubt waits for its share of the time. */
static void long_to_read(directory *d)
{
    cache_summary summary;
    directory_error e;
    is_class(run_sync(d, 1, 0, &summary, &e), DIRECTORY_OK, &e, "everything is read");
    meddle("UPDATE sync_state SET tokens=json_set(tokens,'$.took',60000)");
    is_str(perl("$s->add_user('new.comer'); 'ok'"), "ok", "somebody new");
    for (int i = 0; i < 3; i++) {
        is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
        is_str(phases, "users:delete groups:delete ",
               "changes alone, where everything takes a minute");
    }
    minutes += 10;
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced ten minutes later");
    is_str(phases, "users:present groups:present ", "everything is read, and the doubt is over");
    is_int(until_quiet(d), 1, "as it is older than a minute");
    is_str(perl("$s->delete_entry('uid=new.comer,%s'); 'ok'", people), "ok", "as before");
    until_quiet(d);
}

/* The same changes twice: reported from the session log, and, after a restart has emptied that,
 * by the present phase. */
static void changes(directory *d, const char *phase, const char *tag, int restart)
{
    cache_summary summary;
    directory_error e;
    char *added = apr_pstrcat(pool, "new.", tag, NULL),
         *gone = apr_pstrcat(pool, "gone.", tag, NULL),
         *moved = apr_pstrcat(pool, "moved.", tag, NULL);
    is_str(perl("$s->add_user('%s'); $s->add_user('%s'); 'ok'", gone, moved), "ok",
           "two to begin with");
    is_str(perl("$s->modify(\"dn: ou=%s,%s\\nchangetype: add\\nobjectClass: "
                "organizationalUnit\\nou: %s\\n\"); 'ok'",
                tag, people, tag),
           "ok", "and a place");
    is_str(perl("$s->modify(\"dn: cn=Group %s,%s\\nchangetype: add\\nobjectClass: "
                "groupOfNames\\ncn: Group %s\\nmember: uid=%s,%s\\nmember: uid=%s,%s\\n\"); 'ok'",
                tag, groups, tag, gone, people, moved, people),
           "ok", "and their group");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(groups_of(moved), apr_pstrcat(pool, "Group ", tag, NULL), "is a member");
    until_quiet(d);
    ida_user *before = user_of(moved);

    is_str(perl("$s->add_user('%s', manager => 'uid=%s,%s', departmentNumber => 'Sales'); "
                "$s->delete_entry('uid=%s,%s'); 'ok'",
                added, moved, people, gone, people),
           "ok", "one in, one out");
    is_str(perl("$s->modify(\"dn: uid=%s,%s\\nchangetype: modrdn\\nnewrdn: "
                "uid=%s.b\\ndeleteoldrdn: 1\\nnewsuperior: ou=%s,%s\\n\"); 'ok'",
                moved, people, moved, tag, people),
           "ok", "one moved and renamed");
    is_str(
        perl("Idadmin::Test::within(sub { 1 == $s->search('(manager=uid=%s.b,ou=%s,%s)') && 1 == "
             "$s->search('(member=uid=%s.b,ou=%s,%s)', base => '%s') }) ? 'ok' : 'late'",
             moved, tag, people, moved, tag, people, groups),
        "ok", "and slapd follows");
    is_str(perl("$s->modify(\"dn: cn=All staff,%s\\nchangetype: modify\\nadd: member\\nmember: "
                "uid=%s,%s\\n-\\ndelete: member\\nmember: uid=tove.ahlgren,%s\\n\"); 'ok'",
                groups, added, people, people),
           "ok", "memberships changed");
    if (restart) {
        perl("$s->restart; 'ok'");
    }
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(phases, phase, "in the phase expected");
    ok(user_of(added) != NULL, "the new one is there");
    ok(!user_of(gone), "the deleted one is gone");
    is_int(summary.deleted_users, 1, "one deletion, no more");
    ida_user *after = user_of(moved);
    ok(before && after && strcmp(before->id, after->id) == 0 && strstr(after->dn, tag) &&
           strcmp(before->dn, after->dn) != 0,
       "the moved one keeps its ID and has its new DN");
    is_str(groups_of(moved), apr_pstrcat(pool, "Group ", tag, NULL), "and its group");
    ok((after = user_of(added)) && after->manager_id && before &&
           strcmp(after->manager_id, before->id) == 0,
       "the manager is resolved at the new place");
    is_str(groups_of(added), "All staff|Everyone in sales", "memberships came, by rule too");
    is_str(groups_of("tove.ahlgren"), "", "and went");
    is_str(perl("$s->modify(\"dn: cn=All staff,%s\\nchangetype: modify\\nadd: member\\nmember: "
                "uid=tove.ahlgren,%s\\n\"); 'ok'",
                groups, people),
           "ok", "as before");
}

/* The server reports the container, but not the entries in it. */
static void container_renamed(directory *d)
{
    cache_summary summary;
    directory_error e;
    is_str(perl("$s->modify(\"dn: ou=first,%s\\nchangetype: modrdn\\nnewrdn: ou=first "
                "again\\ndeleteoldrdn: 1\\n\"); 'ok'",
                people),
           "ok", "a container is renamed");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(phases, "users:present groups:present ", "everything is read");
    ida_user *inside = user_of("moved.first");
    ok(inside && strstr(inside->dn, "first again"), "who is in it has the new DN");
    is_str(groups_of("moved.first"), "Group first", "and the groups");
    until_quiet(d);
    is_str(perl("$s->add_user('late'); 'ok'"), "ok", "somebody more");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
    is_str(phases, "users:delete groups:delete ", "and then changes alone");
    is_str(perl("$s->delete_entry('uid=late,%s'); 'ok'", people), "ok", "as before");
}

/* A killed server forgets deletions without noticing. The connector notices by the time of its
 * start, which the server reports in whole seconds: the new one starts in another second than
 * the old. It reports only entries older than the contextCSN on its disk, that of the deletion
 * here; without lastbind nothing advances it. */
static void server_killed(directory *d)
{
    cache_summary summary;
    directory_error e;
    is_str(perl("$s->add_user('left.behind'); 'ok'"), "ok", "a person");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "synced");
    ok(user_of("left.behind") != NULL, "is seen");
    is_str(
        perl(
            "$s->delete_entry('uid=left.behind,%s'); $s->add_user('after.that'); $s->stop('KILL'); "
            "my $second = time; Idadmin::Test::within(sub { time > $second }); "
            "system('sed', '-i', 's/^lastbind on//', \"$s->{base}/slapd.conf\"); $s->start; 'ok'",
            people),
        "ok", "deleted; another one added; then the server is killed");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "the first sync after that");
    is_str(phases, "users:present groups:present ", "reads everything");
    ok(!user_of("left.behind"), "and notices the deletion");
    ok(user_of("after.that") != NULL, "and the new one");
    is_str(perl("$s->delete_entry('uid=after.that,%s'); 'ok'", people), "ok", "as before");

    /* The deletion is lost, and its CSN with it: the contextCSN on the disk is that of our
     * cookies. */
    is_str(perl("$s->add_user('lost'); $s->restart; 'ok'"), "ok", "one more, and a checkpoint");
    until_quiet(d);
    ok(user_of("lost") != NULL, "is seen");
    is_str(perl("$s->delete_entry('uid=lost,%s'); $s->stop('KILL'); my $second = time; "
                "Idadmin::Test::within(sub { time > $second }); $s->start; 'ok'",
                people),
           "ok", "deleted, and the server killed");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "the first sync after that");
    is_str(phases, "users:present groups:present ", "reads everything");
    ok(!user_of("lost"), "and notices the deletion");
}

static void tokens(directory *d)
{
    cache_summary summary;
    directory_error e;
    /* "rid=000,csn=20990101000000.000000Z#000000#000#000000" and "nonsense" */
    meddle("UPDATE sync_state SET "
           "tokens='{\"users\":"
           "\"cmlkPTAwMCxjc249MjA5OTAxMDEwMDAwMDAuMDAwMDAwWiMwMDAwMDAjMDAwIzAwMDAwMA==\","
           "\"groups\":\"bm9uc2Vuc2U=\"}'");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e,
             "a token newer than the server: everything is read again");
    is_str(phases, "users:present groups:present ", "in full");
    meddle("UPDATE sync_state SET tokens=json_set(tokens,'$.users','bm9uc2Vuc2U=')");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "a token that is nonsense");
    ok(user_of("eva.berg") != NULL, "does no harm");
    run_sync(d, 0, 0, &summary, &e);
    ok(strstr(state_now().tokens, "users") && !strstr(state_now().tokens, "bm9uc2Vuc2U"),
       "and is replaced by a good one");
    meddle("UPDATE sync_state SET tokens='{\"users\":\"***\",\"groups\":\"***\"}'");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e,
             "a token that is no base64: everything is read again");
    meddle("UPDATE sync_state SET binding='another server'");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "tokens of another server");
    is_str(phases, "users:present groups:present ", "are not used");
}

static void guard(void)
{
    cache_summary summary;
    directory_error e;
    int64_t before = users_cached();
    directory *d = open_with(tenant_with(json_list(ldaps, NULL),
                                         ",\"userBase\":\"ou=services,dc=nordic,dc=example\","
                                         "\"createIn\":\"ou=services,dc=nordic,dc=example\""));
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "another base without users");
    ok(summary.guard_stopped && summary.reason, "stops at the deletion guard");
    is_int(users_cached(), before, "and the cache is as it was");
    ops->close(d);
}

static int stop_soon(void *baton)
{
    (void)baton;
    return 1;
}

static void broken_streams(void)
{
    cache_summary summary;
    directory_error e;
    int64_t before = users_cached();
    wire *w = wire_to(atoi(strrchr(ldaps, ':') + 1));
    directory *d = open_with(
        tenant_with(json_list(ida_printf(pool, "ldaps://127.0.0.1:%d", w->port), NULL), ""));
    run_sync(d, 1, 0, &summary, &e);
    is_int(users_cached(), before, "a full sync over a wire");
    int broken = 0;
    for (int cut = 2; cut < 9; cut++) {
        atomic_store(&w->cut, cut);
        directory_class class = run_sync(d, 1, 0, &summary, &e);
        int hit = atomic_exchange(&w->cut, 0) == 0;
        broken += hit && class == DIRECTORY_TRANSIENT;
        if (hit && class != DIRECTORY_TRANSIENT && class != DIRECTORY_OK) {
            ok(0, "a stream cut at piece %d: %s (%s)", cut, directory_class_text(class), e.message);
        }
        ok(users_cached() == before, "cut at piece %d: nothing is deleted", cut);
    }
    ok(broken > 0, "some of the cuts hit a stream: transient");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "and the next sync is well");
    is_class(ops->sync(d, pool, &(directory_sync){cache, fresh(), .full = 1, .alive = stop_soon},
                       &summary, &e),
             DIRECTORY_LOCAL, &e, "a sync that is asked to stop stops");
    is_int(users_cached(), before, "with the cache as it was");
    ops->close(d);
    wire_end(w);
}

static void overlay_removed(directory *d)
{
    cache_summary summary;
    directory_error e;
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "with syncprov");
    is_str(perl("$s->stop; $s->{overlays} = [grep { $_ ne 'syncprov' } @{ $s->{overlays} }]; "
                "$s->_write_conf; $s->start; 'ok'"),
           "ok", "the server is configured anew without syncprov");
    int64_t before = users_cached();
    *warned = '\0';
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "it is read all the same");
    is_int(users_cached(), before, "as it is");
    ok(strstr(warned, "IDA0401") != NULL, "that it is read as a whole is news");
    *warned = '\0';
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e, "and again");
    is_str(warned, "", "and then no more");
}

static void limits_and_no_syncprov(void)
{
    cache_summary summary;
    directory_error e;
    is_str(perl("$main::t = Idadmin::Test::Slapd->new(users => 1200, groups => 30, overlays => "
                "[qw(memberof ppolicy dynlist)]); 'ok'"),
           "ok", "a server without syncprov");
    directory *d = open_with(tenant_with(json_list(perl("$main::t->ldaps_url"), NULL), ""));
    is_class(run_sync(d, 0, 1, &summary, &e), DIRECTORY_OK, &e, "is read by pages");
    is_int(users_cached(), 1220, "all of it");
    is_str(phases, "", "without content synchronisation");
    is_str(perl("$main::t->configure('olcLimits', "
                "'{0}dn.exact=\"cn=idadmin,ou=services,dc=nordic,dc=example\" size=unlimited "
                "size.pr=70 time=unlimited'); 'ok'"),
           "ok", "pages of at most 70");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_OK, &e,
             "the page is halved until it is taken");
    is_int(users_cached(), 1220, "all of it");
    is_str(perl("$main::t->configure('olcLimits', "
                "'{0}dn.exact=\"cn=idadmin,ou=services,dc=nordic,dc=example\" size=100 "
                "size.prtotal=100'); 'ok'"),
           "ok", "a hundred entries in all");
    is_class(run_sync(d, 0, 0, &summary, &e), DIRECTORY_CONFIG, &e,
             "a cut answer is no whole directory");
    is_int(users_cached(), 1220, "nothing is deleted");
    ops->close(d);
}

int main(void)
{
    slapd_start("");
    env.log = log_phases;
    env.now = clock_ahead;
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    ldaps = perl("$s->ldaps_url");
    people = perl("$Idadmin::Test::Slapd::people");
    groups = perl("$Idadmin::Test::Slapd::groups");
    tenant = tenant_with(json_list(ldaps, NULL), "");
    cached_begin();
    directory *d = open_with(tenant);
    whole(d);
    stamps_hidden(d);
    when_streams_are_asked(d);
    long_to_read(d);
    changes(d, "users:delete groups:delete ", "first", 0);
    changes(d, "users:present groups:present ", "second", 1);
    container_renamed(d);
    server_killed(d);
    tokens(d);
    guard();
    broken_streams();
    overlay_removed(d);
    ops->close(d);
    limits_and_no_syncprov();
    cached_end();
    return done();
}
