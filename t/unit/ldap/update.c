/* Changes of existing accounts, on a real slapd: new values, enabling, passwords, moves,
 * reports, new members, a removed manager. */
#include "t/unit/ldap_people.h"

static const directory_ops *ops;
static const char *people;

static char *attribute(const char *uid, const char *name)
{
    return perl("my ($e) = $s->search('(uid=%s)'); $e ? join('|', sort @{ $e->{lc '%s'} // [] }) : "
                "'no entry'",
                uid, name);
}

static char *members(const char *group)
{
    return perl("join ' ', map { /^(?:uid|cn)=([^,]+)/ } $s->members('%s')", group);
}

static directory_class one(directory *d, const char *id, const char *name, const char *value,
                           directory_user *after, directory_error *e)
{
    const directory_attribute change = {name, value};
    return ops->update(d, pool, id, &change, 1, -1, after, e);
}

static void values(directory *d)
{
    directory_error e;
    directory_user after;
    const char *anna = id_of(d, "anna.lind");
    const directory_attribute several[] = {{"displayName", "Anna Lind-Öberg"},
                                           {"surname", "Lind-Öberg"},
                                           {"jobTitle", "Chief (sales)"},
                                           {"department", "Sälj"},
                                           {"office", "HQ"},
                                           {"streetAddress", "Storgatan 1"},
                                           {"employeeId", "4711"}};
    is_class(ops->update(d, pool, anna, several, 7, -1, &after, &e), DIRECTORY_OK, &e,
             "seven new values");
    is_str(after.display_name, "Anna Lind-Öberg", "shown afterwards");
    is_str(after.cache.department, "Sälj", "and in the form for the cache");
    ok(after.cache.stamp && after.enabled, "with a stamp, still enabled");
    is_str(attribute("anna.lind", "sn"), "Lind-Öberg", "surname");
    is_str(attribute("anna.lind", "cn"), "Anna Lind-Öberg", "cn follows, as it was the same");
    is_str(attribute("anna.lind", "street"), "Storgatan 1", "street");
    const char *csn = attribute("anna.lind", "entryCSN");
    is_class(ops->update(d, pool, anna, several, 7, 1, &after, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    is_str(attribute("anna.lind", "entryCSN"), csn, "nothing was written");

    perl("$s->modify(\"dn: uid=anna.lind,%s\\nchangetype: modify\\nreplace: cn\\ncn: Sales "
         "chief\\n-\\nadd: title\\ntitle: A second title\\n\"); 1",
         people);
    is_class(one(d, anna, "displayName", "Anna Lind", &after, &e), DIRECTORY_OK, &e,
             "displayName alone");
    is_str(attribute("anna.lind", "cn"), "Sales chief", "a cn of its own stays");
    is_class(one(d, anna, "jobTitle", "Chief (sales)", &after, &e), DIRECTORY_OK, &e,
             "one title where there are two");
    is_str(attribute("anna.lind", "title"), "Chief (sales)", "the other is gone");

    perl(
        "$s->modify(\"dn: uid=anna.lind,%s\\nchangetype: modify\\nadd: ou\\nou: Old place\\n\"); 1",
        people);
    is_class(one(d, anna, "department", NULL, &after, &e), DIRECTORY_OK, &e, "department cleared");
    ok(!after.cache.department, "the attribute that would stand in for it too");
    is_class(one(d, anna, "department", NULL, &after, &e), DIRECTORY_ALREADY, &e, "again: already");
    is_class(one(d, anna, "surname", NULL, &after, &e), DIRECTORY_INVALID, &e,
             "surname cannot be cleared");
    is_str(e.field, "surname", "field surname");
    is_class(one(d, anna, "displayName", NULL, &after, &e), DIRECTORY_INVALID, &e,
             "nor the display name");
    is_class(one(d, anna, "country", "SE", &after, &e), DIRECTORY_INVALID, &e,
             "country: this directory has no place for it");
    is_str(e.field, "country", "field country");
    is_class(one(d, anna, "country", "Sweden", &after, &e), DIRECTORY_INVALID, &e,
             "nor for its name");
    is_class(one(d, anna, "shoeSize", "43", &after, &e), DIRECTORY_INVALID, &e, "an unknown field");
    is_str(e.field, "shoeSize", "is named");
    is_class(one(d, anna, "middleName", "Maria Elisabet", &after, &e), DIRECTORY_OK, &e,
             "middle names");
    ok(warned(&after, "middleName"), "a warning: initials alone are kept");
    is_str(attribute("anna.lind", "initials"), "ME", "they are");
    is_class(one(d, anna, "preferredLanguage", "sv-SE", &after, &e), DIRECTORY_OK, &e,
             "a language");
    is_class(one(d, "00000000-0000-0000-0000-000000000000", "jobTitle", "x", &after, &e),
             DIRECTORY_NOT_FOUND, &e, "an unknown ID: not found");
    is_class(one(d, id_of(d, "bo.ek"), "jobTitle", "x", &after, &e), DIRECTORY_PROTECTED, &e,
             "a protected account");
}

static void enabling(directory *d)
{
    directory_error e;
    directory_user after;
    const char *elin = id_of(d, "elin.strand");
    const directory_attribute title = {"jobTitle", "On leave"};
    is_class(ops->update(d, pool, elin, &title, 1, 0, &after, &e), DIRECTORY_OK, &e,
             "disabled, with a new title");
    ok(!after.enabled, "shown as disabled");
    is_str(perl("$s->bind_code('elin.strand')"), "49", "cannot sign in");
    is_str(attribute("elin.strand", "title"), "On leave", "the title is there");
    is_class(ops->update(d, pool, elin, NULL, 0, 0, &after, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    is_class(ops->set_password(d, pool, elin, "Nobody-knows-th1s-word", &e), DIRECTORY_INVALID, &e,
             "a new password would enable the account: refused");
    is_str(perl("$s->bind_code('elin.strand', 'Nobody-knows-th1s-word')"), "49",
           "nothing was sent");
    is_class(ops->update(d, pool, elin, NULL, 0, 1, &after, &e), DIRECTORY_OK, &e, "enabled");
    ok(after.enabled, "shown so");
    is_str(perl("$s->bind_code('elin.strand')"), "0", "signs in again");
    perl("$s->modify(\"dn: uid=elin.strand,%s\\nchangetype: modify\\nreplace: "
         "pwdAccountLockedTime\\npwdAccountLockedTime: 20200101000000Z\\n\"); 1",
         people);
    is_class(ops->update(d, pool, elin, NULL, 0, 1, &after, &e), DIRECTORY_ALREADY, &e,
             "a temporary lock-out is no disabling");
}

static void passwords(directory *d)
{
    directory_error e;
    const char *eva = id_of(d, "eva.berg");
    is_class(ops->set_password(d, pool, eva, "Fresh-Passw0rd-of-24-char", &e), DIRECTORY_OK, &e,
             "a new password");
    is_str(perl("$s->bind_code('eva.berg', 'Fresh-Passw0rd-of-24-char')"), "0", "signs in");
    is_str(perl("$s->bind_code('eva.berg')"), "49", "the old one does not");
    is_str(attribute("eva.berg", "pwdReset"), "TRUE", "it must be changed");
    ok(attribute("eva.berg", "userPassword")[0] == '{', "it is stored hashed");
    perl("$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: "
         "modify\\nadd: pwdMustChange\\n"
         "pwdMustChange: TRUE\\n-\\nadd: pwdCheckQuality\\npwdCheckQuality: 2\\n-\\nadd: "
         "pwdMinLength\\npwdMinLength: 20\\n\"); 1");
    is_str(perl("my $r = $s->client('ldapsearch', ['-LLL', '-b', '%s', '-s', 'base'], bind => "
                "['uid=eva.berg,%s', 'Fresh-Passw0rd-of-24-char']); $r->{exit}",
                people, people),
           "50", "with pwdMustChange in the policy nothing else can be done with it");
    is_class(ops->set_password(d, pool, eva, "short", &e), DIRECTORY_INVALID, &e,
             "a password that the policy refuses");
    is_str(e.field, "password", "field password");
    is_class(ops->set_password(d, pool, id_of(d, "bo.ek"), "Fresh-Passw0rd-of-24-char", &e),
             DIRECTORY_PROTECTED, &e, "a protected account");
    is_class(ops->set_password(d, pool, "00000000-0000-0000-0000-000000000000",
                               "Fresh-Passw0rd-of-24-char", &e),
             DIRECTORY_NOT_FOUND, &e, "an unknown ID: not found");
    perl("$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: "
         "modify\\ndelete: pwdMustChange\\n-\\n"
         "delete: pwdCheckQuality\\n-\\ndelete: pwdMinLength\\n\"); 1");
}

static void policy_locks(const char *value)
{
    perl("$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: "
         "modify\\nreplace: pwdLockout\\npwdLockout: %s\\n\"); 1",
         value);
}

/* A leaver on a server whose policy does not enforce locks. */
static void leavers(directory *d)
{
    directory_error e;
    directory_user after;
    const char *elin = id_of(d, "elin.strand"), *proof = NULL;
    json_t *report = ida_json_keep(pool, json_array());
    policy_locks("FALSE");
    is_class(ops->update(d, pool, elin, NULL, 0, 0, &after, &e), DIRECTORY_OK, &e, "locked");
    is_str(perl("$s->bind_code('elin.strand')"), "0", "the lock has no effect: she signs in");
    ok(warned(&after, "pwdLockout"), "a warning says so");
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_CONFIG, &e, "the doctor finds it");
    ok(strstr(ida_json_text(pool, report), "pwdLockout TRUE is seen: a locked") != NULL,
       "and says why");
    is_class(ops->discard_password(d, pool, elin, &proof, &e), DIRECTORY_OK, &e,
             "her password is replaced");
    ok(proof && *proof, "the server shows when (%s)", proof ? proof : "not");
    is_str(perl("$s->bind_code('elin.strand')"), "49", "she does not sign in any more");
    ok(attribute("elin.strand", "userPassword")[0] == '{', "it is stored hashed");
    is_class(ops->disable(d, pool, elin, &after, &e), DIRECTORY_OK, &e, "and locked again");
    ok(warned(&after, "pwdLockout"), "with the same warning");
    const char *known = proof;
    is_class(ops->discard_password(d, pool, elin, &proof, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    is_str(proof, known, "as it was");
    is_str(attribute("elin.strand", "pwdAccountLockedTime"), "000001010000Z", "the lock stays");
    known = proof = "20200101000000Z";
    is_class(ops->discard_password(d, pool, elin, &proof, &e), DIRECTORY_OK, &e,
             "a password that was set since is replaced too");
    ok(strcmp(proof, known) != 0, "with another time");
    perl("$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: "
         "modify\\nadd: pwdMinAge\\npwdMinAge: 86400\\n\"); 1");
    proof = NULL;
    is_class(ops->discard_password(d, pool, elin, &proof, &e), DIRECTORY_OK, &e,
             "a policy that refuses a new password so soon");
    is_str(attribute("elin.strand", "userPassword"), "", "there is none then");
    perl("$s->modify(\"dn: cn=default,ou=policies,$Idadmin::Test::Slapd::suffix\\nchangetype: "
         "modify\\ndelete: pwdMinAge\\n\"); 1");
    policy_locks("TRUE");
    is_class(ops->disable(d, pool, elin, &after, &e), DIRECTORY_OK, &e,
             "under a policy that locks");
    ok(!after.warnings, "no warning");
    proof = NULL;
    is_class(ops->discard_password(d, pool, id_of(d, "bo.ek"), &proof, &e), DIRECTORY_PROTECTED, &e,
             "a protected account keeps its password");
    proof = NULL;
    is_class(ops->discard_password(d, pool, "00000000-0000-0000-0000-000000000000", &proof, &e),
             DIRECTORY_NOT_FOUND, &e, "an unknown ID: not found");
}

static const char *held(directory *d, const char *id)
{
    directory_error e;
    const directory_membership *rows;
    int count;
    char *all = apr_pstrdup(pool, "");
    is_class(ops->memberships(d, pool, id, NULL, 0, &rows, &count, &e), DIRECTORY_OK, &e,
             "memberships");
    static const char *const names[] = {"Unique", "Login",  "Outside", "Chief",
                                        "Net",    "Second", "Cased"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const directory_membership *row = membership(rows, count, names[i]);
        all = row ? apr_pstrcat(pool, all, *all ? " " : "", names[i], row->retained ? "!" : "",
                                NULL)
                  : all;
    }
    return all;
}

static const char *id_in(directory *d, const char *user, const char *group)
{
    directory_error e;
    const directory_membership *rows;
    int count;
    ops->memberships(d, pool, user, NULL, 0, &rows, &count, &e);
    const directory_membership *row = membership(rows, count, group);
    return row ? row->group_id : "none";
}

/* Groups of further classes, at other places, and entries that are not groups but name people. */
/* A login in another case, or another value of the attribute, names the same account. The first is
 * found where the cache knows the group, the second by the directory itself. */
static void logins_in_any_form(directory *d)
{
    directory_error e;
    const directory_membership *rows;
    int count = 0;
    perl("my $g = $Idadmin::Test::Slapd::groups; $s->add_user('Ulf.Bro', mail => "
         "'ulf.bro@nordic.example'); $s->modify(\"dn: uid=Ulf.Bro,%s\\nchangetype: "
         "modify\\nadd: uid\\nuid: Ulle\\n\\ndn: cn=Cased,$g\\nchangetype: add\\nobjectClass: "
         "posixGroup\\ncn: Cased\\ngidNumber: 8\\nmemberUid: ULF.bro\\nmemberUid: "
         "ulf.bro\\nmemberUid: ulf.broman\\n\\ndn: cn=Second,$g\\nchangetype: "
         "add\\nobjectClass: posixGroup\\ncn: Second\\ngidNumber: 9\\nmemberUid: ulle\\n\"); 1",
         people);
    const char *ulf = id_of(d, "ulf.bro"), *cased = id_in(d, ulf, "Cased");
    is_str(held(d, ulf), "Second Cased", "by his second login, and in small letters");
    perl("$s->modify(\"dn: cn=Cased,$Idadmin::Test::Slapd::groups\\nchangetype: modify\\ndelete: "
         "memberUid\\nmemberUid: ulf.bro\\n\"); 1");
    is_class(ops->memberships(d, pool, ulf, &cased, 1, &rows, &count, &e), DIRECTORY_OK, &e,
             "with what the cache knows");
    is_int(count, 2, "both groups show him");
    for (int i = 0; i < count; i++) {
        is_class(ops->remove_member(d, pool, rows[i].group_id, ulf, &e), DIRECTORY_OK, &e,
                 apr_pstrcat(pool, rows[i].group_name, ": left", NULL));
    }
    is_str(perl("my ($e) = $s->search('(cn=Cased)'); join '|', @{ $e->{memberuid} // [] }"),
           "ulf.broman", "another login stays");
    is_str(perl("my ($e) = $s->search('(cn=Second)'); join '|', @{ $e->{memberuid} // [] }"), "",
           "and none of his in the other group");
    is_class(ops->memberships(d, pool, ulf, &cased, 1, &rows, &count, &e), DIRECTORY_OK, &e,
             "then");
    is_int(count, 0, "no group shows him");
}

static void kinds(directory *d)
{
    directory_error e;
    directory_class each;
    const char *elin = id_of(d, "elin.strand"), *eva = id_of(d, "eva.berg");
    is_str(held(d, elin), "Unique Login Outside! Chief! Net!",
           "classes that are managed, and what is named only");
    const char *groups[] = {id_in(d, elin, "Unique"), id_in(d, elin, "Login")};
    const char *shown[] = {"uniquemember", "memberuid"}, *names[] = {"Unique", "Login"};
    for (int i = 0; i < 2; i++) {
        is_class(ops->add_members(d, pool, groups[i], &eva, 1, &each, &e), DIRECTORY_OK, &e,
                 apr_pstrcat(pool, names[i], ": put in", NULL));
        ops->add_members(d, pool, groups[i], &eva, 1, &each, &e);
        is_class(each, DIRECTORY_ALREADY, &e, "again: already");
        is_class(ops->remove_member(d, pool, groups[i], elin, &e), DIRECTORY_OK, &e, "left");
        is_class(ops->remove_member(d, pool, groups[i], elin, &e), DIRECTORY_ALREADY, &e,
                 "again: already");
        is_str(perl("my ($e) = $s->search('(cn=%s)'); join '|', @{ $e->{%s} // [] }", names[i],
                    shown[i]),
               i ? "eva.berg" : apr_pstrcat(pool, "uid=eva.berg,", people, NULL),
               "the other one is in it");
        is_class(ops->remove_member(d, pool, groups[i], eva, &e), DIRECTORY_OK, &e, "the last one");
    }
    is_str(held(d, elin), "Outside! Chief! Net!", "what is not changed is named still");
    perl("$s->modify(\"dn: uid=elin.strand,%s\\nchangetype: modify\\nadd: objectClass\\n"
         "objectClass: posixAccount\\n-\\nadd: uidNumber\\nuidNumber: 1007\\n-\\nadd: "
         "gidNumber\\ngidNumber: 7\\n-\\nadd: homeDirectory\\nhomeDirectory: /home/elin\\n\"); 1",
         people);
    is_str(held(d, elin), "Login! Outside! Chief! Net!", "so is the group of her gidNumber");
    is_class(ops->add_members(d, pool, groups[1], &elin, 1, &each, &e), DIRECTORY_OK, &e,
             "put in by login as well");
    is_str(held(d, elin), "Login Outside! Chief! Net!", "that can be taken away");
    is_class(ops->remove_member(d, pool, groups[1], elin, &e), DIRECTORY_OK, &e, "left");
    is_str(held(d, elin), "Login! Outside! Chief! Net!", "the number stays, and is said");
    json_t *report = ida_json_keep(pool, json_array());
    ops->probe(d, pool, report, &e);
    ok(strstr(ida_json_text(pool, report), "1 group outside groupBase, 2 entries of other kinds") !=
           NULL,
       "the doctor counts them");
}

/* Values with options besides the plain one: neither read nor changed. */
static void tagged(directory *d)
{
    directory_error e;
    directory_user user, after;
    const char *per = id_of(d, "per.lundin");
    perl("$s->modify(\"dn: uid=per.lundin,%s\\nchangetype: modify\\nadd: title;lang-ja\\n"
         "title;lang-ja: AAA\\n-\\nadd: mail\\nmail: desk\\@nordic.example\\nmail: "
         "0\\@elsewhere.example\\n\"); 1",
         people);
    is_class(ops->find(d, pool, per, NULL, &user, &e), DIRECTORY_OK, &e, "found");
    ok(user.cache.job_title && strcmp(user.cache.job_title, "AAA") != 0,
       "the plain title is meant");
    is_str(user.upn, "per.lundin@nordic.example",
           "the UPN is the address at the domain by the tenant's format");
    is_str(user.mail, user.upn, "and so is the mail address");
    is_class(ops->find(d, pool, NULL, "desk@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "another address finds the person");
    is_str(user.id, per, "the same one");
    is_class(one(d, per, "jobTitle", "Chef", &after, &e), DIRECTORY_OK, &e, "a new title");
    is_str(attribute("per.lundin", "title;lang-ja"), "AAA", "the tagged one stays");
    perl("$s->add_user('per.second', mail => 'desk@nordic.example'); 1");
    is_class(ops->find(d, pool, NULL, "desk@nordic.example", &user, &e), DIRECTORY_CONFLICT, &e,
             "an address of two people means neither");
    ok(strstr(e.message, "uid=per.lundin,") && strstr(e.message, "uid=per.second,"),
       "both are named by DN");
    json_t *report = ida_json_keep(pool, json_array());
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_OK, &e, "the doctor");
    ok(strstr(ida_json_text(pool, report), "desk@nordic.example is that of uid=per.") != NULL,
       "names the address with both");
}

static void managers(directory *d)
{
    directory_error e;
    directory_user user;
    const char *manager = "unset", *const * ids;
    int count;
    const char *eva = id_of(d, "eva.berg"), *anna = id_of(d, "anna.lind");
    is_class(ops->reports(d, pool, anna, &ids, &count, &e), DIRECTORY_OK, &e, "reports of Anna");
    const char *elin = id_of(d, "elin.strand");
    int want = atoi(perl("scalar(my @e = $s->search('(manager=uid=anna.lind,%s)'))", people));
    ok(want > 1 && count == want, "all %d of them (%d)", want, count);
    is_class(ops->find(d, pool, ids[0], NULL, &user, &e), DIRECTORY_OK, &e,
             "by IDs that are found");
    ok(strstr(user.cache.manager_dn, "anna.lind") != NULL, "whose manager she is");
    is_class(ops->set_manager(d, pool, elin, NULL, &manager, &e), DIRECTORY_OK, &e,
             "an unknown person as manager");
    ok(!manager, "has no ID");
    is_class(ops->set_manager(d, pool, elin, NULL, &manager, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    is_class(ops->find(d, pool, elin, NULL, &user, &e), DIRECTORY_OK, &e, "looked at");
    ok(!user.cache.manager_dn, "none is shown");
    const char *two = apr_psprintf(pool,
                                   "$s->modify(\"dn: uid=elin.strand,%s\\nchangetype: modify\\n"
                                   "replace: manager\\nmanager: uid=anna.lind,%s\\n"
                                   "manager: uid=bo.ek,%s\\n\"); 1",
                                   people, people, people);
    json_t *report = ida_json_keep(pool, json_array());
    perl("%s", two);
    is_class(ops->find(d, pool, elin, NULL, &user, &e), DIRECTORY_OK, &e, "two managers");
    ok(!user.cache.manager_dn && user.managers == 2, "neither is taken for hers");
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_OK, &e, "the doctor");
    ok(strstr(json_dumps(report, 0),
              "1 person has several values of manager, so none of them is taken for the manager: "
              "uid=elin.strand,") != NULL,
       "names her");
    is_class(ops->set_manager(d, pool, elin, NULL, &manager, &e), DIRECTORY_OK, &e,
             "both are taken away");
    is_class(ops->set_manager(d, pool, elin, NULL, &manager, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    perl("%s", two);
    is_class(ops->set_manager(d, pool, elin, "anna.lind@nordic.example", &manager, &e),
             DIRECTORY_OK, &e, "one of them as manager");
    is_str(attribute("elin.strand", "manager"), apr_pstrcat(pool, "uid=anna.lind,", people, NULL),
           "is the only one then");
    is_class(ops->reports(d, pool, elin, &ids, &count, &e), DIRECTORY_OK, &e,
             "reports of a person without any");
    is_int(count, 0, "none");
    is_class(ops->reports(d, pool, "00000000-0000-0000-0000-000000000000", &ids, &count, &e),
             DIRECTORY_NOT_FOUND, &e, "of nobody: not found");
    is_class(ops->reports(d, pool, eva, &ids, &count, &e), DIRECTORY_OK, &e, "reports of Eva");
}

static void joins(directory *d)
{
    directory_error e;
    const directory_membership *rows;
    int count;
    directory_class each[30];
    const char *ids[30], *eva = id_of(d, "eva.berg"), *anna = id_of(d, "anna.lind"),
                         *elin = id_of(d, "elin.strand");
    ops->memberships(d, pool, anna, NULL, 0, &rows, &count, &e);
    const char *crm = NULL, *dynamic = NULL;
    for (int i = 0; i < count; i++) {
        crm = strcmp(rows[i].group_name, "CRM admins") == 0 ? rows[i].group_id : crm;
    }
    ops->memberships(d, pool, elin, NULL, 0, &rows, &count, &e);
    for (int i = 0; i < count; i++) {
        dynamic = rows[i].retained ? rows[i].group_id : dynamic;
    }
    const char *three[] = {eva, anna, elin};
    is_class(ops->add_members(d, pool, crm, three, 3, each, &e), DIRECTORY_OK, &e,
             "three to a group that has one of them");
    ok(each[0] == DIRECTORY_OK && each[1] == DIRECTORY_ALREADY && each[2] == DIRECTORY_OK,
       "each is reported for itself");
    is_str(members("CRM admins"), "anna.lind bo.ek elin.strand eva.berg", "all are in");
    is_class(ops->add_members(d, pool, crm, three, 3, each, &e), DIRECTORY_OK, &e, "again");
    ok(each[0] == DIRECTORY_ALREADY && each[1] == DIRECTORY_ALREADY && each[2] == DIRECTORY_ALREADY,
       "already, all of them");
    const char *mixed[] = {"00000000-0000-0000-0000-000000000000", id_of(d, "bo.ek"),
                           id_of(d, "user00001")};
    is_class(ops->add_members(d, pool, crm, mixed, 3, each, &e), DIRECTORY_NOT_FOUND, &e,
             "the first failure is the answer");
    ok(each[0] == DIRECTORY_NOT_FOUND && each[1] == DIRECTORY_PROTECTED && each[2] == DIRECTORY_OK,
       "the others do not suffer from it");
    is_class(ops->add_members(d, pool, dynamic, &eva, 1, each, &e), DIRECTORY_INVALID, &e,
             "a dynamic group accepts no member");
    is_class(ops->add_members(d, pool, "00000000-0000-0000-0000-000000000000", &elin, 1, each, &e),
             DIRECTORY_NOT_FOUND, &e, "a group that is not there");
    for (int i = 0; i < 30; i++) {
        ids[i] = id_of(d, apr_psprintf(pool, "user%05d", i + 1));
    }
    is_class(ops->add_members(d, pool, crm, ids, 30, each, &e), DIRECTORY_OK, &e, "thirty");
    int fine = 0;
    for (int i = 0; i < 30; i++) {
        fine += each[i] == (i ? DIRECTORY_OK : DIRECTORY_ALREADY);
    }
    is_int(fine, 30, "one was there, the others came in");
    is_str(perl("scalar grep { /uid=user/ } $s->members('CRM admins')"), "30",
           "the group shows them");
}

static void moves(directory *d, const char *what)
{
    directory_error e;
    directory_user after;
    const char *anna = id_of(d, "anna.lind"),
               *leavers = apr_pstrcat(pool, "ou=Leavers\\, old,", people, NULL);
    const char *reports = perl("scalar(my @e = $s->search('(manager=uid=anna.lind,%s)'))", people);
    const char *groups = perl(
        "join '|', sort map { $_->{cn}[0] } "
        "$s->search('(&(objectClass=groupOfNames)(member=uid=anna.lind,%s))')",
        people);
    perl("$s->modify(\"dn: ou=Leavers\\\\, old,%s\\nchangetype: add\\nobjectClass: "
         "organizationalUnit\\nou: Leavers, old\\n\"); 'ok'",
         people);
    ok(strcmp(reports, "0") != 0 && strchr(groups, '|'), "%s: Anna manages %s people and is in %s",
       what, reports, groups);
    is_class(ops->move(d, pool, anna, leavers, &after, &e), DIRECTORY_OK, &e, "moved");
    ok(!after.warnings, "without warnings%s%s", after.warnings ? ": " : "",
       after.warnings ? after.warnings[0] : "");
    is_str(after.id, anna, "the same entry");
    ok(strstr(after.dn, "Leavers") != NULL, "at another place: %s", after.dn);
    is_str(perl("(($s->search('(uid=anna.lind)'))[0]{dn} =~ /Leavers/) ? 'there' : 'not there'"),
           "there", "the directory says so");
    is_str(perl("join '|', sort map { $_->{cn}[0] } "
                "$s->search('(&(objectClass=groupOfNames)(member=%s))')",
                apr_pstrcat(pool, "uid=anna.lind,ou=Leavers\\5c2c old,", people, NULL)),
           groups, "her groups name the new place");
    is_str(perl("scalar(my @e = $s->search('(member=uid=anna.lind,%s)'))", people), "0",
           "and none the old");
    is_str(perl("scalar(my @e = $s->search('(manager=%s)'))",
                apr_pstrcat(pool, "uid=anna.lind,ou=Leavers\\5c2c old,", people, NULL)),
           reports, "so do her reports");
    is_str(perl("scalar(my @e = $s->search('(manager=uid=anna.lind,%s)'))", people), "0",
           "and none the old");
    is_class(ops->move(d, pool, anna, leavers, &after, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    is_class(ops->move(d, pool, anna, apr_pstrcat(pool, "ou=nowhere,", people, NULL), &after, &e),
             DIRECTORY_NOT_FOUND, &e, "a container that is not there");
    is_str(e.field, "container", "field container");
    is_class(ops->move(d, pool, anna, "ou=services,dc=nordic,dc=example", &after, &e),
             DIRECTORY_INVALID, &e, "a container where she would be out of sight");
    is_class(ops->move(d, pool, anna, "nonsense", &after, &e), DIRECTORY_INVALID, &e,
             "something that is no DN");
    perl("$s->add_user('anna.lind', mail => 'other\\@nordic.example'); 1");
    is_class(ops->move(d, pool, anna, people, &after, &e), DIRECTORY_CONFLICT, &e,
             "another entry of that name stands there");
    is_str(
        perl("scalar(my @e = $s->search('(&(objectClass=groupOfNames)(member=%s))'))",
             apr_pstrcat(pool, "uid=anna.lind,ou=Leavers\\5c2c old,", people, NULL)),
        ida_printf(pool, "%d",
                   1 + (int)(strlen(groups) - strlen(perl("join '', split /[|]/, '%s'", groups)))),
        "she keeps her groups");
    is_class(ops->move(d, pool, id_of(d, "bo.ek"), leavers, &after, &e), DIRECTORY_PROTECTED, &e,
             "a protected account stays");
    /* Entries named after people: two of one name in one container. */
    for (int i = 1; i <= 3; i++) {
        perl("$s->modify(\"dn: cn=Berg\\\\, Anna,%s%s\\nchangetype: add\\nobjectClass: "
             "inetOrgPerson\\ncn: Berg, Anna\\nsn: Berg\\nuid: anna.berg%d\\nmail: "
             "anna.berg%d\\@nordic.example\\n\"); 1",
             i == 1 ? "ou=Leavers\\\\, old," : "", people, i, i);
        is_class(ops->move(d, pool, id_of(d, ida_printf(pool, "anna.berg%d", i)), leavers, &after,
                           &e),
                 i == 1 ? DIRECTORY_ALREADY : DIRECTORY_OK, &e, "moved beside a namesake");
        char *cn = i == 1 ? "Berg, Anna" : ida_printf(pool, "Berg, Anna %d", i);
        is_str(perl("join '|', map { $_->{cn}[0] } $s->search('(uid=anna.berg%d)')", i), cn,
               "with a number, as a creation has it");
    }
    perl("$s->delete_entry((($s->search(\"(uid=anna.berg$_)\"))[0]{dn})) for 1 .. 3; 1");
}

/* A service account that is among the people it manages: recognised by its DN in any spelling. */
static void own_account(void)
{
    directory_error e;
    directory_user user, after;
    write_file(slapd_file("own"), perl("Idadmin::Test::Slapd::user_password('sten.vik')"), 0600);
    directory *d = open_with(
        tenant_with(json_list(perl("$s->ldaps_url"), NULL),
                    ida_printf(pool,
                               ",\"bindDn\":\"UID=Sten.Vik, "
                               "OU=People,dc=nordic,dc=example\",\"bindPasswordFile\":\"%s\"",
                               slapd_file("own"))));
    is_class(ops->find(d, pool, NULL, "sten.vik@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "our own account");
    is_class(ops->disable(d, pool, user.id, &after, &e), DIRECTORY_PROTECTED, &e,
             "is not disabled");
    ok(e.message && strstr(e.message, "service account"), "with the reason");
    is_class(ops->set_password(d, pool, user.id, "Fresh-Passw0rd-of-24-char", &e),
             DIRECTORY_PROTECTED, &e, "nor given a password");
    is_class(ops->move(d, pool, user.id, people, &after, &e), DIRECTORY_PROTECTED, &e, "nor moved");
    ops->close(d);
}

static directory *session(void)
{
    return open_with(
        tenant_with(json_list(perl("$s->ldaps_url"), NULL), ",\"protectedAccounts\":[\"bo.ek\"]"));
}

int main(void)
{
    slapd_start("users => 40");
    people = perl("$Idadmin::Test::Slapd::people");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    directory *d = session();
    ok(ops->set_licenses == NULL, "there are no licences to assign");
    values(d);
    enabling(d);
    passwords(d);
    managers(d);
    joins(d);
    moves(d, "a server that keeps links");
    ops->close(d);
    own_account();
    /* For this server links are plain text. */
    perl("$s = Idadmin::Test::Slapd->new(overlays => ['ppolicy', 'syncprov'], global => \"include "
         "/etc/ldap/schema/nis.schema\", ldif => do { my ($g, $d, $e) = "
         "($Idadmin::Test::Slapd::groups, $Idadmin::Test::Slapd::suffix, "
         "Idadmin::Test::Slapd::user_dn('elin.strand')); \"dn: cn=Unique,$g\\nobjectClass: "
         "groupOfUniqueNames\\ncn: Unique\\nuniqueMember: $e\\n\\ndn: "
         "cn=Login,$g\\nobjectClass: posixGroup\\ncn: Login\\ngidNumber: 7\\nmemberUid: "
         "elin.strand\\n\\ndn: cn=Outside,ou=services,$d\\nobjectClass: groupOfNames\\ncn: "
         "Outside\\nmember: $e\\n\\ndn: cn=Chief,$g\\nobjectClass: organizationalRole\\ncn: "
         "Chief\\nroleOccupant: $e\\n\\ndn: cn=Net,$g\\nobjectClass: nisNetgroup\\ncn: "
         "Net\\nnisNetgroupTriple: (-,elin.strand,)\\n\\n\" }); 1");
    d = session();
    moves(d, "a server that does not");
    leavers(d);
    kinds(d);
    logins_in_any_form(d);
    tagged(d);
    ops->close(d);
    return done();
}
