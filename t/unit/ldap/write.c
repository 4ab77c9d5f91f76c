/* Writes to a real slapd: create, adopt, conflicts, password policy, manager, photo, disabling,
 * memberships, guards; and a lost answer to each. */
#include "t/unit/ldap_people.h"

#include "worker/directory/directory.h"

static const directory_ops *ops;
static const char *people;

/* Value of an attribute in the directory, as the administrator sees it. */
static char *attribute(const char *uid, const char *name)
{
    return perl(
        "my $e = $s->user('%s'); $e ? join('|', sort @{ $e->{lc '%s'} // [] }) : 'no entry'", uid,
        name);
}

/* Changes the default policy: LDIF lines separated by "\\n" (perl reads them). */
static void set_policy(const char *lines)
{
    const char *said = perl(
        "$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: "
        "modify\\n%s\\n\"); 'ok'",
        lines);
    is_str(said, "ok", lines);
}

static const char *bind_code(const directory_create *c)
{
    return perl("$s->bind_code('%s', '%s')", c->local, c->password);
}

static void hashed(const char *uid, const char *name)
{
    const char *stored = attribute(uid, "userPassword");
    ok(stored[0] == '{', "%s", name);
}

static void create_and_adopt(directory *d)
{
    directory_error e;
    directory_user user, again;
    ida_create person = asa_oberg;
    directory_create c = creation(&person, "asa.oberg", "idadmin:task-1");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "created");
    is_str(user.upn, "asa.oberg@nordic.example", "with its UPN");
    ok(user.id && strlen(user.id) == 36 && user.enabled, "its ID, enabled");
    is_str(user.cache.department, "Sales", "and the form for the cache");
    is_str(user.cache.given_name, "Åsa", "in the cache: given name");
    ok(user.cache.created_at > 1700000000000 && user.cache.stamp,
       "in the cache: creation time and stamp");
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
                                   {"street", "Storgatan 1 c/o Lind"},
                                   {"postalCode", "211 22"},
                                   {"preferredLanguage", "sv-SE"},
                                   {"employeeNumber", "4711"},
                                   {"mail", "asa.oberg@nordic.example"},
                                   {"description", "idadmin:task-1"}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        is_str(attribute("asa.oberg", kept[i][0]), kept[i][1], kept[i][0]);
    }
    ok(warned(&user, "country: is not kept by this directory"),
       "country: a warning, as inetOrgPerson has no place for it");
    ok(warned(&user, "middleName"), "middle name: a warning that initials alone are kept");
    hashed("asa.oberg", "the password is stored hashed");
    is_str(bind_code(&c), "0", "can sign in with the password given");

    is_class(ops->create(d, pool, &c, &again, &e), DIRECTORY_ALREADY, &e,
             "created again with the same marker: adopted");
    is_str(again.id, user.id, "the same entry");
    directory_create other = creation(&person, "asa.oberg", "idadmin:task-2");
    is_class(ops->create(d, pool, &other, &again, &e), DIRECTORY_CONFLICT, &e,
             "another task, same name: conflict");
    is_str(e.field, "upn", "field upn");
    other = creation(&person, "asa.oberg2", "idadmin:task-2");
    other.mail = other.upn = "ASA.OBERG@nordic.example";
    is_class(ops->create(d, pool, &other, &again, &e), DIRECTORY_CONFLICT, &e,
             "free login, but the mail is taken in another case: conflict");

    person = (ida_create){
        .firstname = "Off", .surname = "Start", .country = "Sweden", .account_enabled = 0};
    c = creation(&person, "off.start", "idadmin:task-3");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "created disabled");
    ok(!user.enabled, "shown as disabled");
    ok(warned(&user, "two-letter codes only"), "a country that is no code: a warning");
    is_str(bind_code(&c), "49", "cannot sign in");
    is_str(attribute("off.start", "userPassword"), "",
           "has no password, as setting one would lift the lock");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_ALREADY, &e, "created again: adopted");
    ok(!user.enabled, "still disabled");
    is_str(bind_code(&c), "49", "cannot sign in");

    perl("$s->modify(\"dn: ou=hidden,%s\\nchangetype: add\\nobjectClass: organizationalUnit\\nou: "
         "hidden\\n\"); 'ok'",
         people);
    person = (ida_create){.firstname = "Odd", .surname = "Name", .account_enabled = 1};
    c = creation(&person, "o+d,d\"x ", "idadmin:task-4");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "a login full of DN characters");
    is_class(ops->find(d, pool, user.id, NULL, &again, &e), DIRECTORY_OK, &e, "found again");
    is_class(ops->find(d, pool, NULL, "*@nordic.example", &again, &e), DIRECTORY_NOT_FOUND, &e,
             "a star is a star, not everybody");
    is_class(ops->find(d, pool, "not-an-id)(uid=*", NULL, &again, &e), DIRECTORY_NOT_FOUND, &e,
             "an ID that is none: not found");
}

static void policy(directory *d)
{
    directory_error e;
    directory_user user, again;
    ida_create person = {.firstname = "Pia", .surname = "Policy", .account_enabled = 1};
    set_policy("replace: pwdMinLength\\npwdMinLength: 30\\n-\\nreplace: "
               "pwdCheckQuality\\npwdCheckQuality: 2");
    directory_create c = creation(&person, "pia.policy", "idadmin:task-5");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "a password the policy refuses is replaced by a new one, once");
    hashed("pia.policy", "which is stored hashed");
    is_str(bind_code(&c), "49", "the refused one is no password");
    set_policy("replace: pwdMinLength\\npwdMinLength: 200");
    c = creation(&person, "pia.policy2", "idadmin:task-6");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_INVALID, &e,
             "and refused for good when that is refused too");
    is_str(e.field, "password", "field password");
    ok(e.message && !strstr(e.message, c.password), "no password in the message");
    ok(e.message && strstr(e.message, "uid=pia.policy2,") && strstr(e.message, "exists"),
       "which says that the account exists");
    ok(user.id && *user.id, "and so does the answer");
    is_str(attribute("pia.policy2", "userPassword"), "", "it has no password");
    is_str(bind_code(&c), "49", "so nobody can sign in to it");
    set_policy("delete: pwdMinLength\\n-\\ndelete: pwdCheckQuality");
    is_class(ops->create(d, pool, &c, &again, &e), DIRECTORY_ALREADY, &e,
             "the policy mended: adopted");
    is_str(again.id, user.id, "the same entry");
    hashed("pia.policy2", "with a password now");
    is_str(bind_code(&c), "0", "that signs in");

    set_policy("replace: pwdInHistory\\npwdInHistory: 3");
    c = creation(&person, "pia.policy3", "idadmin:task-9");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "created where old passwords are remembered");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_ALREADY, &e,
             "adopted with the same password: refused, another one");
    is_str(bind_code(&c), "49", "the old one is gone");
    set_policy("delete: pwdInHistory\\n-\\nreplace: pwdMinAge\\npwdMinAge: 3600");
    c = creation(&person, "pia.policy4", "idadmin:task-10");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "created where passwords have a least age");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_ALREADY, &e,
             "adopted: too young to change, so there is one");
    is_str(bind_code(&c), "0", "it stays");
    set_policy("delete: pwdMinAge");
}

/* Our account may add entries, but the server's rules deny it userPassword. */
static void forbidden(directory *d)
{
    static const char *const rule = "dn: olcDatabase={1}mdb,cn=config\\nchangetype: modify\\n%s: "
                                    "olcAccess\\nolcAccess: {0}%s\\n";
    static const char *const as = "bind => ['cn=config', Idadmin::Test::Slapd::admin_password()]";
    directory_error e;
    directory_user user;
    ida_create person = {.firstname = "Fia", .surname = "Forbidden", .account_enabled = 1};
    directory_create c = creation(&person, "fia.forbidden", "idadmin:task-11");
    char *add = apr_psprintf(pool, rule, "add",
                             "to attrs=userPassword by self write by anonymous auth by * none"),
         *delete = apr_psprintf(pool, rule, "delete", "");
    is_str(perl("$s->modify(\"%s\", %s); 'ok'", add, as), "ok",
           "userPassword is kept from our account");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_FORBIDDEN, &e,
             "the password cannot be set: not allowed");
    ok(user.id && strstr(e.message, "exists"), "the account stands, and the message says so");
    is_str(bind_code(&c), "49", "nobody can sign in");
    is_str(perl("$s->modify(\"%s\", %s); 'ok'", delete, as), "ok", "the right is granted");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_ALREADY, &e, "adopted");
    is_str(bind_code(&c), "0", "with a password");
}

/* A new password would lift a lock: an account that was disabled before the adoption stays
 * disabled. */
static void adopted_without_password(directory *d)
{
    static const char *const entry =
        "dn: uid=%s,%s\\nchangetype: add\\nobjectClass: inetOrgPerson\\nuid: %s\\ncn: Bare "
        "Entry\\nsn: Entry\\nmail: %s\\@nordic.example\\ndescription: %s\\n%s";
    directory_error e;
    directory_user user;
    ida_create person = {.firstname = "Bare", .surname = "Entry", .account_enabled = 1};
    directory_create c = creation(&person, "bare.entry", "idadmin:task-12");
    perl("$s->modify(\"%s\"); 'ok'",
         apr_psprintf(pool, entry, c.local, people, c.local, c.local, c.marker, ""));
    is_str(attribute("bare.entry", "userPassword"), "",
           "ours, left without a password by an earlier try");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_ALREADY, &e, "adopted");
    hashed("bare.entry", "given a password");
    is_str(bind_code(&c), "0", "that signs in");
    c = creation(&person, "bare.locked", "idadmin:task-13");
    perl("$s->modify(\"%s\"); 'ok'",
         apr_psprintf(pool, entry, c.local, people, c.local, c.local, c.marker,
                      "pwdAccountLockedTime: 000001010000Z\\n"));
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_ALREADY, &e,
             "one that was disabled meanwhile: adopted");
    ok(!user.enabled, "shown as disabled");
    is_str(attribute("bare.locked", "pwdAccountLockedTime"), "000001010000Z", "and still locked");
    is_str(bind_code(&c), "49", "cannot sign in");
}

/* The rootDSE does not list the extension: the connector treats the server as one without it. */
static void without_extension(const char *ldaps)
{
    directory_error e;
    directory_user user;
    ida_create person = {.firstname = "Old", .surname = "Server", .account_enabled = 1};
    directory_create c = creation(&person, "old.server", "idadmin:task-14"),
                     off = creation(&person, "old.off", "idadmin:task-15");
    is_str(perl("$s->modify(\"dn: olcDatabase={-1}frontend,cn=config\\nchangetype: "
                "modify\\nreplace: olcAccess\\n"
                "olcAccess: {0}to dn.base=\\\"\\\" attrs=supportedExtension by * none\\nolcAccess: "
                "{1}to * by * read\\n\", bind => ['cn=config', "
                "Idadmin::Test::Slapd::admin_password()]); 'ok'"),
           "ok", "supportedExtension is hidden");
    directory *d = open_with(tenant_with(json_list(ldaps, NULL), ""));
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "created with the password in the add");
    is_str(attribute("old.server", "userPassword"), c.password,
           "stored as the server does with clear text");
    is_str(bind_code(&c), "0", "signs in");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_ALREADY, &e, "adopted");
    set_policy("replace: pwdMinLength\\npwdMinLength: 30\\n-\\nreplace: "
               "pwdCheckQuality\\npwdCheckQuality: 2");
    is_class(ops->create(d, pool, &off, &user, &e), DIRECTORY_OK, &e,
             "a refused password is replaced in the add too");
    is_int((long)strlen(attribute("old.off", "userPassword")), 32, "by a random one");
    set_policy("replace: pwdMinLength\\npwdMinLength: 200");
    off = creation(&person, "old.off2", "idadmin:task-16");
    is_class(ops->create(d, pool, &off, &user, &e), DIRECTORY_INVALID, &e, "once");
    ok(!user.id, "then no account was made");
    is_str(attribute("old.off2", "cn"), "no entry", "indeed");
    set_policy("delete: pwdMinLength\\n-\\ndelete: pwdCheckQuality");
    ops->close(d);
    perl("$s->modify(\"dn: olcDatabase={-1}frontend,cn=config\\nchangetype: modify\\ndelete: "
         "olcAccess\\n\", bind => ['cn=config', Idadmin::Test::Slapd::admin_password()]); 'ok'");
}

static void changes(directory *d)
{
    directory_error e;
    directory_user user;
    const char *manager = NULL, *id;
    ops->find(d, pool, NULL, "asa.oberg@nordic.example", &user, &e);
    id = user.id;
    is_class(ops->set_manager(d, pool, id, "Anna.Lind@nordic.example", &manager, &e), DIRECTORY_OK,
             &e, "manager set");
    is_str(attribute("asa.oberg", "manager"), apr_pstrcat(pool, "uid=anna.lind,", people, NULL),
           "as a DN");
    is_class(ops->set_manager(d, pool, id, "anna.lind@nordic.example", &manager, &e),
             DIRECTORY_ALREADY, &e, "again: already");
    ok(manager && strlen(manager) == 36, "with the manager's ID");
    is_class(ops->set_manager(d, pool, id, "nobody@nordic.example", &manager, &e),
             DIRECTORY_NOT_FOUND, &e, "a manager who is not there");
    is_str(e.field, "manager", "field manager");
    is_class(ops->set_manager(d, pool, "00000000-0000-0000-0000-000000000000",
                              "anna.lind@nordic.example", &manager, &e),
             DIRECTORY_NOT_FOUND, &e, "a user who is not there");
    ok(!e.field, "no field");

    is_class(ops->set_photo(d, pool, id, jpeg, sizeof jpeg, "image/jpeg", &e), DIRECTORY_OK, &e,
             "photo set");
    is_str(perl("my ($e) = $s->user('asa.oberg'); unpack 'H*', $e->{jpegphoto}[0]"),
           "ffd8ffe000104a46494600010228292a5cffd9", "byte for byte");
    is_class(ops->set_photo(d, pool, id, jpeg, sizeof jpeg, "image/jpeg", &e), DIRECTORY_ALREADY,
             &e, "again: already");
    is_class(ops->set_photo(d, pool, id, (const unsigned char *)"\x89PNG....", 8, "image/png", &e),
             DIRECTORY_INVALID, &e, "a PNG is refused");
    is_str(e.field, "profilePhoto", "field profilePhoto");

    is_class(ops->disable(d, pool, id, &user, &e), DIRECTORY_OK, &e, "disabled");
    ok(!user.enabled, "and shown so");
    is_str(perl("$s->bind_code('asa.oberg', 'First-Passw0rd-of-24-char')"), "49",
           "cannot sign in any more");
    is_class(ops->disable(d, pool, id, &user, &e), DIRECTORY_ALREADY, &e, "again: already");
    is_class(ops->disable(d, pool, "00000000-0000-0000-0000-000000000000", &user, &e),
             DIRECTORY_NOT_FOUND, &e, "an unknown ID: not found");
    ops->find(d, pool, NULL, "bo.ek@nordic.example", &user, &e);
    is_class(ops->disable(d, pool, user.id, &user, &e), DIRECTORY_PROTECTED, &e,
             "a protected account (by login name)");
    is_str(attribute("bo.ek", "pwdAccountLockedTime"), "", "is left alone");
}

static void groups(directory *d)
{
    directory_error e;
    directory_user anna, elin;
    const directory_membership *rows, *row;
    int count;
    is_str(
        perl("$s->modify(\"dn: cn=Alone,$Idadmin::Test::Slapd::groups\\nchangetype: "
             "add\\nobjectClass: groupOfNames\\ncn: Alone\\nmember: uid=anna.lind,%s\\n\"); 'ok'",
             people),
        "ok", "a group of one");
    ops->find(d, pool, NULL, "anna.lind@nordic.example", &anna, &e);
    is_class(ops->memberships(d, pool, anna.id, NULL, 0, &rows, &count, &e), DIRECTORY_OK, &e,
             "memberships");
    is_int(count, 5, "All staff, Sales team, CRM admins, Alone, and by rule Everyone in sales");
    row = membership(rows, count, "Everyone in sales");
    ok(row && row->retained && strstr(row->retained, "rule"),
       "the dynamic one is retained, with its rule");
    ok((row = membership(rows, count, "Sales team")) && !row->retained,
       "the static ones can be removed");
    const char *sales = row->group_id,
               *dynamic = membership(rows, count, "Everyone in sales")->group_id,
               *alone = membership(rows, count, "Alone")->group_id;

    is_class(ops->remove_member(d, pool, sales, anna.id, &e), DIRECTORY_OK, &e,
             "removed from a group");
    is_str(perl("scalar grep { /anna/ } $s->members('Sales team')"), "0", "the group says so");
    is_class(ops->remove_member(d, pool, sales, anna.id, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    is_class(ops->remove_member(d, pool, alone, anna.id, &e), DIRECTORY_OK, &e,
             "removed as the last member");
    is_str(perl("join '|', $s->members('Alone')"), perl("$Idadmin::Test::Slapd::filler"),
           "the placeholder stands in");
    is_class(ops->remove_member(d, pool, dynamic, anna.id, &e), DIRECTORY_INVALID, &e,
             "a membership by rule cannot be removed");
    is_class(ops->remove_member(d, pool, "00000000-0000-0000-0000-000000000000", anna.id, &e),
             DIRECTORY_ALREADY, &e, "a group that is gone: already");
    is_class(ops->memberships(d, pool, anna.id, &sales, 1, &rows, &count, &e), DIRECTORY_OK, &e,
             "memberships with a cached candidate");
    is_int(count, 3, "All staff, CRM admins and the dynamic one are left");

    /* A refused group does not stop the rest: the answer names it. */
    ops->find(d, pool, NULL, "elin.strand@nordic.example", &elin, &e);
    is_str(perl("$s->configure('olcReadOnly', 'TRUE'); 'ok'"), "ok", "database read-only");
    is_class(ops->remove_member(d, pool, sales, elin.id, &e), DIRECTORY_CONFIG, &e,
             "a read-only database: configuration");
    is_str(perl("$s->configure('olcReadOnly', 'FALSE'); 'ok'"), "ok", "writable again");
}

static const char *run_ldif(const char *lines)
{
    return perl("$s->modify(\"%s\"); 'ok'", lines);
}

/* Calls right after a creation do not read the account first; whatever happened to it in between
 * must give the same result. */
static void just_made(directory *d, const char *group)
{
    directory_error e;
    directory_user user;
    directory_class each;
    const char *manager, *id, *eva = perl("$s->user('eva.berg')->{dn}");
    ida_create person = {.firstname = "Just", .surname = "Made", .account_enabled = 1};
    directory_create c = creation(&person, "just.made", "idadmin:just-1");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "created");
    is_class(ops->set_manager(d, pool, user.id, NULL, &manager, &e), DIRECTORY_ALREADY, &e,
             "has no manager");
    is_class(ops->set_manager(d, pool, user.id, "eva.berg@nordic.example", &manager, &e),
             DIRECTORY_OK, &e, "given one");
    is_str(attribute("just.made", "manager"), eva, "which the directory shows");
    is_class(ops->set_manager(d, pool, user.id, NULL, &manager, &e), DIRECTORY_OK, &e,
             "taken away at once");
    is_str(attribute("just.made", "manager"), "", "which the directory shows");
    is_class(ops->set_photo(d, pool, user.id, jpeg, sizeof jpeg, "image/jpeg", &e), DIRECTORY_OK,
             &e, "a photo");
    is_class(ops->set_photo(d, pool, user.id, NULL, 0, NULL, &e), DIRECTORY_OK, &e,
             "taken away at once");
    is_str(attribute("just.made", "jpegPhoto"), "", "which the directory shows");
    is_class(ops->add_members(d, pool, group, &user.id, 1, &each, &e), DIRECTORY_OK, &e,
             "put into a group");
    is_class(ops->add_members(d, pool, group, &user.id, 1, &each, &e), DIRECTORY_OK, &e, "again");
    is_class(each, DIRECTORY_ALREADY, &e, "it is in it already");

    c = creation(&person, "just.moved", "idadmin:just-2");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "another one");
    is_str(run_ldif(ida_printf(pool,
                               "dn: uid=just.moved,%s\\nchangetype: modrdn\\nnewrdn: "
                               "uid=now.here\\ndeleteoldrdn: 1\\n",
                               people)),
           "ok", "is renamed by hand");
    is_class(ops->set_manager(d, pool, user.id, "eva.berg@nordic.example", &manager, &e),
             DIRECTORY_OK, &e, "and found by its ID");
    is_str(attribute("now.here", "manager"), eva, "where it is now");

    c = creation(&person, "just.swung", "idadmin:just-5");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "another one");
    is_str(run_ldif(ida_printf(pool,
                               "dn: uid=just.swung,%s\\nchangetype: modrdn\\nnewrdn: "
                               "uid=swung.away\\ndeleteoldrdn: 1\\n",
                               people)),
           "ok", "is renamed by hand");
    is_class(ops->add_members(d, pool, group, &user.id, 1, &each, &e), DIRECTORY_OK, &e,
             "and put into a group");
    is_str(perl("join ' ', map { /^uid=([^,]*)/ } grep { /swung/ } $s->members('Engineering')"),
           "swung.away", "under the name it has now alone");

    c = creation(&person, "just.gone", "idadmin:just-3");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "another one");
    id = user.id;
    is_str(perl("$s->delete_entry('uid=just.gone,%s'); 'ok'", people), "ok", "is removed by hand");
    is_class(ops->set_manager(d, pool, id, "eva.berg@nordic.example", &manager, &e),
             DIRECTORY_NOT_FOUND, &e, "and not found");
    is_class(ops->add_members(d, pool, group, &id, 1, &each, &e), DIRECTORY_NOT_FOUND, &e,
             "by a group neither");
    is_int(atoi(perl("scalar grep { /just.gone/ } $s->members('Engineering')")), 0,
           "which does not name it");

    /* An earlier person with that name was in the group, and was deleted without being removed
     * from it. */
    is_str(run_ldif(ida_printf(pool,
                               "dn: cn=Engineering,$Idadmin::Test::Slapd::groups\\nchangetype: "
                               "modify\\nadd: member\\nmember: uid=just.back,%s\\n",
                               people)),
           "ok", "a name without an entry in the group");
    c = creation(&person, "just.back", "idadmin:just-4");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "an account of that name");
    is_class(ops->add_members(d, pool, group, &user.id, 1, &each, &e), DIRECTORY_OK, &e,
             "put into the group");
    is_class(each, DIRECTORY_ALREADY, &e, "it is in it already, as a look shows");
    is_int(atoi(perl("scalar grep { /just.back/ } $s->members('Engineering')")), 1, "once");
}

/* Requests of a creation on a warm connection: lookup, add (whose answer shows the entry),
 * password. */
static void lost_password(directory *d, wire *w)
{
    directory_error e;
    directory_user user;
    ida_create person = {.firstname = "Lost", .surname = "Password", .account_enabled = 1};
    directory_create c = creation(&person, "lost.password", "idadmin:task-17");
    const directory_create known = creation(&person, "known.one", "idadmin:task-18");
    ops->create(d, pool, &known, &user, &e); /* warm-up: a new connection reads the schema first */
    int before = atomic_load(&w->connections), unsure = 0;
    atomic_store(&w->ask, 3);
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "create, answer to the password lost: looked, and set again");
    is_int(atomic_load(&w->ask), 0, "the answer was cut");
    is_int(atomic_load(&w->connections), before + 1, "one new connection");
    hashed("lost.password", "stored hashed");
    is_str(bind_code(&c), "0", "signs in with the password given");
    /* The second answer is lost as well, for each request of the new connection. */
    for (int request = 1; request <= 8; request++) {
        c = creation(&person, apr_psprintf(pool, "lost.twice%d", request),
                     apr_psprintf(pool, "idadmin:twice-%d", request));
        ops->create(d, pool, &known, &user, &e);
        atomic_store(&w->then, request);
        atomic_store(&w->ask, 3);
        directory_class class = ops->create(d, pool, &c, &user, &e);
        atomic_store(&w->then, 0);
        atomic_store(&w->ask, 0);
        if (class == DIRECTORY_UNSURE) {
            unsure++;
            ok(user.id && strstr(e.message, "exists"),
               "request %d: lost twice: unsure, and the account stands", request);
        } else {
            ok(class == DIRECTORY_OK || class == DIRECTORY_TRANSIENT, "request %d: %s %s", request,
               directory_class_text(class), class ? e.message : "");
        }
        class = ops->create(d, pool, &c, &user, &e);
        ok(class == DIRECTORY_ALREADY, "again: adopted (%s)", directory_class_text(class));
        is_str(bind_code(&c), "0", "signs in");
    }
    is_int(unsure, 1, "one of the requests was the second for the password");
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
    directory *d = open_with(
        tenant_with(json_list(ida_printf(pool, "ldaps://127.0.0.1:%d", w->port), NULL), ""));
    is_class(ops->create(d, pool, &warm, &user, &e), DIRECTORY_OK, &e,
             "a creation, so that the schema is known");
    atomic_store(&w->cut, 2); /* the lookup is answered, the add is not */
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "create, answer lost: looked again and adopted");
    is_str(user.upn, "lost.answer@nordic.example", "our entry");
    is_int(atomic_load(&w->cut), 0, "the answer was cut");
    is_int(atomic_load(&w->connections), 2, "and a new connection made");
    is_str(perl("scalar(my @e = $s->search('(sn=Answer)'))"), "2", "no entry twice");

    is_str(bind_code(&c), "0", "with the password given");
    const char *lost_id = user.id;
    lost_password(d, w);

    ops->find(d, pool, NULL, "elin.strand@nordic.example", &elin, &e);
    user.id = lost_id;
    atomic_store(&w->cut, 3);
    is_class(ops->set_manager(d, pool, user.id, "eva.berg@nordic.example", &manager, &e),
             DIRECTORY_OK, &e, "manager, answer lost");
    is_int(atomic_load(&w->cut), 0, "it was cut");
    atomic_store(&w->cut, 2);
    is_class(ops->disable(d, pool, elin.id, &user, &e), DIRECTORY_OK, &e, "disable, answer lost");
    is_int(atomic_load(&w->cut), 0, "it was cut");
    ok(!user.enabled, "and it is disabled");
    ops->memberships(d, pool, elin.id, NULL, 0, &rows, &count, &e);
    const directory_membership *staff = membership(rows, count, "All staff");
    for (int cut = 1; staff && cut <= 5; cut++) {
        perl("eval { $s->modify(\"dn: cn=All staff,$Idadmin::Test::Slapd::groups\\nchangetype: "
             "modify\\nadd: member\\nmember: uid=elin.strand,%s\\n\") }; 'ok'",
             people);
        atomic_store(&w->cut, cut);
        directory_class class = ops->remove_member(d, pool, staff->group_id, elin.id, &e);
        ok((class == DIRECTORY_OK || class == DIRECTORY_ALREADY) &&
               strcmp(perl("scalar grep { /elin/ } $s->members('All staff')"), "0") == 0,
           "remove member, piece %d of the answers lost: gone all the same (%s)", cut,
           directory_class_text(class));
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
    directory *d = open_with(
        tenant_with(json_list(ldaps, NULL), ",\"protectedAccounts\":[\"bo.ek\"]"));
    create_and_adopt(d);
    policy(d);
    forbidden(d);
    adopted_without_password(d);
    changes(d);
    just_made(d,
              perl("$s->entry(\"cn=Engineering,$Idadmin::Test::Slapd::groups\")->{entryuuid}[0]"));
    groups(d);
    lost_answers(ldaps);
    without_extension(ldaps);
    ops->close(d);
    return done();
}
