/* Writes to a real slapd: create, adopt, conflicts, password policy, manager, photo, disabling, memberships, guards; and lost
 * answers of each. */
#include "t/unit/slapd.h"

#include "worker/directory.h"

static const directory_ops *ops;
static const char *people;

static const unsigned char jpeg[] = {0xff, 0xd8, 0xff, 0xe0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 2, '(', ')', '*', '\\', 0xff, 0xd9};

static directory_create creation(const ida_create *person, const char *local, const char *marker)
{
    directory_create c = {.person = person, .local = local, .marker = marker, .password = "First-Passw0rd-of-24-char"};
    c.display_name = apr_pstrcat(pool, person->firstname, " ", person->surname, NULL);
    c.upn = c.mail = apr_pstrcat(pool, local, "@nordic.example", NULL);
    return c;
}

/* Value of an attribute in the directory, as the administrator sees it. */
static char *attribute(const char *uid, const char *name)
{
    return perl("my $e = $s->user('%s'); $e ? join('|', sort @{ $e->{lc '%s'} // [] }) : 'no entry'", uid, name);
}

static int warned(const directory_user *user, const char *text)
{
    for (int i = 0; user->warnings && user->warnings[i]; i++) {
        if (strstr(user->warnings[i], text)) {
            return 1;
        }
    }
    return 0;
}

static void create_and_adopt(directory *d)
{
    directory_error e;
    directory_user user, again;
    ida_create person = {.firstname = "Åsa",
                         .surname = "Öberg",
                         .middle_name = "Maria Elisabet",
                         .job_title = "Säljare, \"nord\" <1>",
                         .department = "Sales",
                         .company = "Nordic AB",
                         .office = "HQ",
                         .city = "Malmö",
                         .country = "SE",
                         .country_is_code = 1,
                         .street_address = "Storgatan 1",
                         .postal_code = "211 22",
                         .preferred_language = "sv-SE",
                         .employee_id = "4711",
                         .account_enabled = 1};
    directory_create c = creation(&person, "asa.oberg", "idadmin:task-1");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "created");
    is_str(user.upn, "asa.oberg@nordic.example", "with its UPN");
    ok(user.id && strlen(user.id) == 36 && user.enabled, "its ID, enabled");
    is_str(user.cache.department, "Sales", "and the form for the cache");
    is_str(user.cache.given_name, "Åsa", "in the cache: given name");
    ok(user.cache.created_at > 1700000000000 && user.cache.stamp, "in the cache: creation time and stamp");
    const char *const kept[][2] = {{"cn", "Åsa Öberg"},
                                   {"displayName", "Åsa Öberg"},
                                   {"sn", "Öberg"},
                                   {"givenName", "Åsa"},
                                   {"initials", "ME"},
                                   {"title", "Säljare, \"nord\" <1>"},
                                   {"departmentNumber", "Sales"},
                                   {"o", "Nordic AB"},
                                   {"physicalDeliveryOfficeName", "HQ"},
                                   {"l", "Malmö"},
                                   {"street", "Storgatan 1"},
                                   {"postalCode", "211 22"},
                                   {"preferredLanguage", "sv-SE"},
                                   {"employeeNumber", "4711"},
                                   {"mail", "asa.oberg@nordic.example"},
                                   {"description", "idadmin:task-1"}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        is_str(attribute("asa.oberg", kept[i][0]), kept[i][1], kept[i][0]);
    }
    ok(warned(&user, "country: is not kept by this directory"), "country: a warning, as inetOrgPerson has no place for it");
    ok(warned(&user, "middleName"), "middle name: a warning that initials alone are kept");
    is_str(perl("$s->bind_code('asa.oberg', '%s')", c.password), "0", "can sign in with the password given");

    is_class(ops->create(d, pool, &c, &again, &e), DIRECTORY_ALREADY, &e, "created again with the same marker: adopted");
    is_str(again.id, user.id, "the same entry");
    directory_create other = creation(&person, "asa.oberg", "idadmin:task-2");
    is_class(ops->create(d, pool, &other, &again, &e), DIRECTORY_CONFLICT, &e, "another task, same name: conflict");
    is_str(e.field, "upn", "field upn");
    other = creation(&person, "asa.oberg2", "idadmin:task-2");
    other.mail = other.upn = "ASA.OBERG@nordic.example";
    is_class(ops->create(d, pool, &other, &again, &e), DIRECTORY_CONFLICT, &e,
             "free login, but the mail is taken in another case: conflict");

    person = (ida_create){.firstname = "Off", .surname = "Start", .country = "Sweden", .account_enabled = 0};
    c = creation(&person, "off.start", "idadmin:task-3");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "created disabled");
    ok(!user.enabled, "shown as disabled");
    ok(warned(&user, "two-letter codes only"), "a country that is no code: a warning");
    is_str(perl("$s->bind_code('off.start', '%s')", c.password), "49", "cannot sign in");

    perl("$s->modify(\"dn: ou=hidden,%s\\nchangetype: add\\nobjectClass: organizationalUnit\\nou: hidden\\n\"); 'ok'", people);
    person = (ida_create){.firstname = "Odd", .surname = "Name", .account_enabled = 1};
    c = creation(&person, "o+d,d\"x ", "idadmin:task-4");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "a login full of DN characters");
    is_class(ops->find(d, pool, user.id, NULL, &again, &e), DIRECTORY_OK, &e, "found again");
    is_class(ops->find(d, pool, NULL, "*@nordic.example", &again, &e), DIRECTORY_NOT_FOUND, &e,
             "a star is a star, not everybody");
    is_class(ops->find(d, pool, "not-an-id)(uid=*", NULL, &again, &e), DIRECTORY_NOT_FOUND, &e, "an ID that is none: not found");
}

static void policy(directory *d)
{
    directory_error e;
    directory_user user;
    ida_create person = {.firstname = "Pia", .surname = "Policy", .account_enabled = 1};
    is_str(
        perl(
            "$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: modify\\nreplace: "
            "pwdMinLength\\npwdMinLength: 30\\n-\\nreplace: pwdCheckQuality\\n"
            "pwdCheckQuality: 2\\n\"); 'ok'"),
        "ok", "policy: 30 characters at least");
    directory_create c = creation(&person, "pia.policy", "idadmin:task-5");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "a password the policy refuses is replaced by a new one, once");
    is_str(
        perl(
            "$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: modify\\nreplace: "
            "pwdMinLength\\npwdMinLength: 200\\n\"); 'ok'"),
        "ok", "policy: 200 characters at least");
    c = creation(&person, "pia.policy2", "idadmin:task-6");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_INVALID, &e, "and refused for good when that is refused too");
    is_str(e.field, "password", "field password");
    ok(e.message && !strstr(e.message, c.password), "no password in the message");
    perl(
        "$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: modify\\ndelete: "
        "pwdMinLength\\n-\\ndelete: pwdCheckQuality\\n\"); 'ok'");
}

static void changes(directory *d)
{
    directory_error e;
    directory_user user;
    const char *manager = NULL, *id;
    ops->find(d, pool, NULL, "asa.oberg@nordic.example", &user, &e);
    id = user.id;
    is_class(ops->set_manager(d, pool, id, "Anna.Lind@nordic.example", &manager, &e), DIRECTORY_OK, &e, "manager set");
    is_str(attribute("asa.oberg", "manager"), apr_pstrcat(pool, "uid=anna.lind,", people, NULL), "as a DN");
    is_class(ops->set_manager(d, pool, id, "anna.lind@nordic.example", &manager, &e), DIRECTORY_ALREADY, &e, "again: already");
    ok(manager && strlen(manager) == 36, "with the manager's ID");
    is_class(ops->set_manager(d, pool, id, "nobody@nordic.example", &manager, &e), DIRECTORY_NOT_FOUND, &e,
             "a manager who is not there");
    is_str(e.field, "manager", "field manager");
    is_class(ops->set_manager(d, pool, "00000000-0000-0000-0000-000000000000", "anna.lind@nordic.example", &manager, &e),
             DIRECTORY_NOT_FOUND, &e, "a user who is not there");
    ok(!e.field, "no field");

    is_class(ops->set_photo(d, pool, id, jpeg, sizeof jpeg, "image/jpeg", &e), DIRECTORY_OK, &e, "photo set");
    is_str(perl("my ($e) = $s->user('asa.oberg'); unpack 'H*', $e->{jpegphoto}[0]"), "ffd8ffe000104a46494600010228292a5cffd9",
           "byte for byte");
    is_class(ops->set_photo(d, pool, id, jpeg, sizeof jpeg, "image/jpeg", &e), DIRECTORY_ALREADY, &e, "again: already");
    is_class(ops->set_photo(d, pool, id, (const unsigned char *)"\x89PNG....", 8, "image/png", &e), DIRECTORY_INVALID, &e,
             "a PNG is refused");
    is_str(e.field, "profilePhoto", "field profilePhoto");

    is_class(ops->disable(d, pool, id, &user, &e), DIRECTORY_OK, &e, "disabled");
    ok(!user.enabled, "and shown so");
    is_str(perl("$s->bind_code('asa.oberg', 'First-Passw0rd-of-24-char')"), "49", "cannot sign in any more");
    is_class(ops->disable(d, pool, id, &user, &e), DIRECTORY_ALREADY, &e, "again: already");
    is_class(ops->disable(d, pool, "00000000-0000-0000-0000-000000000000", &user, &e), DIRECTORY_NOT_FOUND, &e,
             "nobody: not found");
    ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e);
    is_class(ops->disable(d, pool, user.id, &user, &e), DIRECTORY_PROTECTED, &e, "a protected account (by login name)");
    is_str(attribute("bo.ek", "pwdAccountLockedTime"), "", "is left alone");
}

static const directory_membership *membership(const directory_membership *rows, int count, const char *name)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(rows[i].group_name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void groups(directory *d)
{
    directory_error e;
    directory_user anna, elin;
    const directory_membership *rows, *row;
    int count;
    is_str(
        perl(
            "$s->modify(\"dn: cn=Alone,$Idadmin::Test::Slapd::groups\\nchangetype: add\\nobjectClass: groupOfNames\\ncn: "
            "Alone\\nmember: uid=anna.lind,%s\\n\"); 'ok'",
            people),
        "ok", "a group of one");
    ops->find(d, pool, NULL, "anna.lind@nordic.example", &anna, &e);
    is_class(ops->memberships(d, pool, anna.id, NULL, 0, &rows, &count, &e), DIRECTORY_OK, &e, "memberships");
    is_int(count, 5, "All staff, Sales team, CRM admins, Alone, and by rule Everyone in sales");
    row = membership(rows, count, "Everyone in sales");
    ok(row && row->retained && strstr(row->retained, "rule"), "the dynamic one is retained, with its rule");
    ok((row = membership(rows, count, "Sales team")) && !row->retained, "the static ones can be removed");
    const char *sales = row->group_id, *dynamic = membership(rows, count, "Everyone in sales")->group_id,
               *alone = membership(rows, count, "Alone")->group_id;

    is_class(ops->remove_member(d, pool, sales, anna.id, &e), DIRECTORY_OK, &e, "removed from a group");
    is_str(perl("scalar grep { /anna/ } $s->members('Sales team')"), "0", "the group says so");
    is_class(ops->remove_member(d, pool, sales, anna.id, &e), DIRECTORY_ALREADY, &e, "again: already");
    is_class(ops->remove_member(d, pool, alone, anna.id, &e), DIRECTORY_OK, &e, "removed as the last member");
    is_str(perl("join '|', $s->members('Alone')"), perl("$Idadmin::Test::Slapd::filler"), "the placeholder stands in");
    is_class(ops->remove_member(d, pool, dynamic, anna.id, &e), DIRECTORY_INVALID, &e, "a membership by rule cannot be removed");
    is_class(ops->remove_member(d, pool, "00000000-0000-0000-0000-000000000000", anna.id, &e), DIRECTORY_ALREADY, &e,
             "a group that is gone: already");
    is_class(ops->memberships(d, pool, anna.id, &sales, 1, &rows, &count, &e), DIRECTORY_OK, &e,
             "memberships with a cached candidate");
    is_int(count, 3, "All staff, CRM admins and the dynamic one are left");

    /* A refused group does not stop anything: the answer names it. */
    ops->find(d, pool, NULL, "elin.strand@nordic.example", &elin, &e);
    is_str(perl("$s->configure('olcReadOnly', 'TRUE'); 'ok'"), "ok", "database read-only");
    is_class(ops->remove_member(d, pool, sales, elin.id, &e), DIRECTORY_CONFIG, &e, "a read-only database: configuration");
    is_str(perl("$s->configure('olcReadOnly', 'FALSE'); 'ok'"), "ok", "writable again");
}

static void lost_answers(const char *ldaps)
{
    directory_error e;
    directory_user user, elin;
    const directory_membership *rows;
    const char *manager;
    int count;
    ida_create person = {.firstname = "Lost", .surname = "Answer", .account_enabled = 1};
    directory_create c = creation(&person, "lost.answer", "idadmin:task-7"),
                     warm = creation(&person, "warm.up", "idadmin:task-8");
    wire *w = wire_to(atoi(strrchr(ldaps, ':') + 1));
    directory *d = open_with(tenant_with(json_list(ida_printf(pool, "ldaps://127.0.0.1:%d", w->port), NULL), ""));
    is_class(ops->create(d, pool, &warm, &user, &e), DIRECTORY_OK, &e, "a creation, so that the schema is known");
    atomic_store(&w->cut, 2); /* the look comes back, the answer to the add does not */
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "create, answer lost: looked again and adopted");
    is_str(user.upn, "lost.answer@nordic.example", "our entry");
    is_int(atomic_load(&w->cut), 0, "the answer was cut");
    is_int(atomic_load(&w->connections), 2, "and a new connection made");
    is_str(perl("scalar(my @e = $s->search('(sn=Answer)'))"), "2", "no entry twice");

    ops->find(d, pool, NULL, "elin.strand@nordic.example", &elin, &e);
    atomic_store(&w->cut, 3);
    is_class(ops->set_manager(d, pool, user.id, "eva.berg@nordic.example", &manager, &e), DIRECTORY_OK, &e,
             "manager, answer lost");
    is_int(atomic_load(&w->cut), 0, "it was cut");
    atomic_store(&w->cut, 2);
    is_class(ops->disable(d, pool, elin.id, &user, &e), DIRECTORY_OK, &e, "disable, answer lost");
    is_int(atomic_load(&w->cut), 0, "it was cut");
    ok(!user.enabled, "and it is disabled");
    ops->memberships(d, pool, elin.id, NULL, 0, &rows, &count, &e);
    const directory_membership *staff = membership(rows, count, "All staff");
    for (int cut = 1; staff && cut <= 5; cut++) {
        perl(
            "eval { $s->modify(\"dn: cn=All staff,$Idadmin::Test::Slapd::groups\\nchangetype: modify\\nadd: "
            "member\\nmember: uid=elin.strand,%s\\n\") }; 'ok'",
            people);
        atomic_store(&w->cut, cut);
        directory_class class = ops->remove_member(d, pool, staff->group_id, elin.id, &e);
        ok((class == DIRECTORY_OK || class == DIRECTORY_ALREADY)
               && strcmp(perl("scalar grep { /elin/ } $s->members('All staff')"), "0") == 0,
           "remove member, piece %d of the answers lost: gone all the same (%s)", cut, directory_class_text(class));
        atomic_store(&w->cut, 0);
    }
    ops->close(d);
    wire_end(w);
}

int main(void)
{
    slapd_start("");
    const char *ldaps = perl("$s->ldaps_url");
    people = perl("$Idadmin::Test::Slapd::people");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    directory *d = open_with(tenant_with(json_list(ldaps, NULL), ",\"protectedAccounts\":[\"bo.ek\"]"));
    create_and_adopt(d);
    policy(d);
    changes(d);
    groups(d);
    lost_answers(ldaps);
    ops->close(d);
    return done();
}
