/* A real Active Directory (Samba): creating with its rules of names, changes, disabling, passwords,
 * moves, memberships with the primary group, accounts that are never touched, ways to connect and
 * bind, the doctor. */
#include <openssl/rand.h>

#include "core/base/text.h"
#include "t/unit/ldap_people.h"
#include "worker/ldap/wire/ad.h"

static const directory_ops *ops;
static const char *suffix, *people;

static const char *const nobody = "00000000-0000-0000-0000-000000000000";

static ida_tenant *ad_tenant(const char *urls, const char *bind, const char *more)
{
    char *text = ida_printf(
        pool,
        "{\"urls\":%s,\"dialect\":\"activeDirectory\",%s,\"caFile\":\"%s\",\"userBase\":\"%s\","
        "\"groupBase\":\"OU=Groups,%s\",\"upnAttribute\":\"userPrincipalName\","
        "\"protectedAccounts\":[\"bo.ek\",\"CN=Filip Nyman,OU=people,%s\"]%s}",
        urls, bind, perl("$s->ca_file"), people, suffix, suffix, more);
    return tenant_of("nordic", "nordic.example", text);
}

static const char *simple(const char *name)
{
    return ida_printf(pool,
                      "\"bind\":\"simple\",\"bindDn\":\"%s\",\"bindPasswordFile\":\"%s/password\"",
                      name, slapd_dir);
}

static directory *session(const char *more)
{
    return open_with(ad_tenant(json_list(perl("$s->ldaps_url"), NULL),
                               simple(apr_pstrcat(pool, "CN=idadmin,OU=Services,", suffix, NULL)),
                               more));
}

/* Value of an attribute in the directory, as the administrator sees it; the account by its UPN. */
static char *attribute(const char *local, const char *name)
{
    return perl("my ($e) = $s->search('(userPrincipalName=%s@nordic.example)'); $e ? join('|', "
                "sort @{ $e->{lc '%s'} // [] }) : 'no entry'",
                local, name);
}

static void names(directory *d)
{
    directory_error e;
    directory_user user, again;
    ida_create person = {.firstname = "Anna", .surname = "Lind", .account_enabled = 1};
    directory_create c = creation(&person, "anna.lind2", "idadmin:n-1");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "a second Anna Lind");
    is_str(attribute("anna.lind2", "cn"), "Anna Lind 2", "CN numbered");
    is_str(attribute("anna.lind2", "displayName"), "Anna Lind", "the name people see is not");
    is_str(attribute("anna.lind2", "sAMAccountName"), "anna.lind2", "login name");
    c = creation(&person, "anna.lind3", "idadmin:n-2");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "a third");
    is_str(attribute("anna.lind3", "cn"), "Anna Lind 3", "CN numbered on");

    person = (ida_create){.firstname = "Bartholomew",
                          .surname = "Featherstonehaugh",
                          .account_enabled = 1};
    c = creation(&person, "bartholomew.featherstonehaugh", "idadmin:n-3");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "a long name");
    is_str(attribute("bartholomew.featherstonehaugh", "sAMAccountName"), "bartholomew.feathers",
           "login name: its first 20 characters");
    c = creation(&person, "bartholomew.featherstonehaugh2", "idadmin:n-4");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "again");
    is_str(attribute("bartholomew.featherstonehaugh2", "sAMAccountName"), "bartholomew.feather2",
           "numbered, still 20 characters");
    c = creation(&person, "all staff", "idadmin:n-5");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "a group has that login name");
    is_str(attribute("all staff", "sAMAccountName"), "all staff2",
           "numbered: groups and people share them");
    person = (ida_create){.firstname = "O+d, \"d\"", .surname = "<Name>=#; ", .account_enabled = 1};
    c = creation(&person, "odd+name/x.", "idadmin:n-6");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "names full of special characters");
    is_str(attribute("odd+name/x.", "sAMAccountName"), "oddnamex",
           "left out of the login name, and the dot at its end");
    is_class(ops->find(d, pool, user.id, NULL, &again, &e), DIRECTORY_OK, &e, "found again");
    size_t anchor_len = 0;
    unsigned char *anchor = again.cache.anchor
                                ? ida_base64_decode(pool, again.cache.anchor,
                                                    strlen(again.cache.anchor), &anchor_len)
                                : NULL;
    is_str(anchor ? ld_guid_text(pool, anchor, anchor_len) : NULL, user.id,
           "its anchor is what the cloud would call it by");
    person.firstname = "Maximiliana Theodora Alexandrina";
    person.surname = "von und zu Hohenlohe-Waldenburg-Schillingsfürst";
    c = creation(&person, "long.cn", "idadmin:n-7");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "a name beyond 64 characters");
    is_int((long)strlen(attribute("long.cn", "cn")), 64,
           "CN cut (all its characters are of one byte)");
    is_str(attribute("long.cn", "displayName"), c.display_name, "the display name is whole");
    person.firstname = "Maximiliana Theodora Alexandrina Wilhelmina Charlotte Sophie-An";
    person.surname = "Lind";
    for (int i = 1; i <= 2; i++) {
        const char *local = ida_printf(pool, "blank.cn%d", i);
        c = creation(&person, local, local);
        is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
                 "a name whose 64th character is a blank");
        is_str(attribute(local, "cn"),
               apr_pstrcat(pool,
                           i == 1 ? person.firstname
                                  : "Maximiliana Theodora Alexandrina "
                                    "Wilhelmina Charlotte Sophie-A",
                           i == 1 ? "" : " 2", NULL),
               "its CN ends before the blank");
    }
}

static void create_and_adopt(directory *d)
{
    directory_error e;
    directory_user user, again;
    ida_create person = asa_oberg;
    directory_create c = creation(&person, "asa.oberg", "idadmin:task-1");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "created");
    ok(!user.warnings, "without warnings%s%s", user.warnings ? ": " : "",
       user.warnings ? user.warnings[0] : "");
    is_str(user.upn, "asa.oberg@nordic.example", "with its UPN");
    ok(user.id && strlen(user.id) == 36 && user.enabled, "its ID, enabled");
    is_str(user.id,
           perl("my ($e) = $s->search('(userPrincipalName=asa.oberg@nordic.example)'); my @b = "
                "unpack 'V v v a2 a6', $e->{objectguid}[0]; sprintf '%%08x-%%04x-%%04x-%%s-%%s', "
                "@b[0 .. 2], unpack('H*', $b[3]), unpack('H*', $b[4])"),
           "which is objectGUID as Windows writes it");
    const char *const kept[][2] = {{"cn", "Åsa Öberg"},
                                   {"displayName", "Åsa Öberg"},
                                   {"sn", "Öberg"},
                                   {"givenName", "Åsa"},
                                   {"middleName", "Maria Elisabet"},
                                   {"title", "Säljare, \"nord\" <1>"},
                                   {"department", "Sales"},
                                   {"company", "Nordic AB"},
                                   {"physicalDeliveryOfficeName", "HQ"},
                                   {"l", "Malmö"},
                                   {"c", "SE"},
                                   {"co", "Sweden"},
                                   {"countryCode", "752"},
                                   {"postalCode", "211 22"},
                                   {"preferredLanguage", "sv-SE"},
                                   {"employeeID", "4711"},
                                   {"mail", "asa.oberg@nordic.example"},
                                   {"proxyAddresses", "SMTP:asa.oberg@nordic.example"},
                                   {"userAccountControl", "512"},
                                   {"pwdLastSet", "0"},
                                   {"adminDescription", "idadmin:task-1"}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        is_str(attribute("asa.oberg", kept[i][0]), kept[i][1], kept[i][0]);
    }
    is_str(perl("my ($e) = $s->search('(sAMAccountName=asa.oberg)'); unpack 'H*', substr "
                "$e->{streetaddress}[0], 11, 2"),
           "0d0a", "a line break as Windows writes it");
    is_str(user.cache.country, "SE", "in the cache: country");
    ok(user.cache.created_at > 1700000000000 && user.cache.stamp && strchr(user.cache.stamp, '#'),
       "creation time and stamp");
    ok(strstr(perl("$s->bind_text('asa.oberg', '%s')", c.password), "data 773") != NULL,
       "the password given is right, and must be changed (data 773)");

    is_class(ops->create(d, pool, &c, &again, &e), DIRECTORY_ALREADY, &e,
             "created again with the same marker: adopted");
    is_str(again.id, user.id, "the same entry");
    directory_create other = creation(&person, "asa.oberg", "idadmin:task-2");
    is_class(ops->create(d, pool, &other, &again, &e), DIRECTORY_CONFLICT, &e,
             "another task, same UPN: conflict");
    is_str(e.field, "upn", "field upn");
    other = creation(&person, "asa.oberg2", "idadmin:task-2");
    other.mail = "ASA.OBERG@nordic.example";
    is_class(ops->create(d, pool, &other, &again, &e), DIRECTORY_CONFLICT, &e,
             "free UPN, but the mail is taken: conflict");
    is_str(e.field, "mail", "field mail");
    perl("$s->add_user('lone', userPrincipalName => undef); 1");
    other = creation(&person, "lone", "idadmin:task-2b");
    other.upn = "lone@ad.example.test";
    is_class(ops->create(d, pool, &other, &again, &e), DIRECTORY_CONFLICT, &e,
             "a person without a UPN signs in under that name");
    is_class(ops->find(d, pool, NULL, "Lone@AD.example.test", &again, &e), DIRECTORY_OK, &e,
             "and is found by it");
    perl("$s->modify(\"dn: CN=Elsewhere,OU=Services,%s\\nchangetype: modify\\nadd: "
         "proxyAddresses\\nproxyAddresses: smtp:sales\\@nordic.example\\n\"); 1",
         suffix);

    person = (ida_create){
        .firstname = "Off", .surname = "Start", .country = "Sverige", .account_enabled = 0};
    c = creation(&person, "off.start", "idadmin:task-3");
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e, "created disabled");
    ok(!user.enabled, "shown as disabled");
    is_str(attribute("off.start", "userAccountControl"), "514", "514");
    is_str(attribute("off.start", "co"), "Sverige", "a country that is no code: its name alone");
    is_str(attribute("off.start", "c"), "", "no code");
    ok(strstr(perl("$s->bind_text('off.start', '%s')", c.password), "data 533") != NULL,
       "cannot sign in (data 533)");

    c = creation(&person, "weak.password", "idadmin:task-4");
    c.password = "short";
    is_class(ops->create(d, pool, &c, &user, &e), DIRECTORY_OK, &e,
             "a password the policy refuses is replaced by a new one, once");
}

static void values(directory *d)
{
    directory_error e;
    directory_user after;
    const char *anna = id_of(d, "anna.lind"), *manager = NULL, *const * ids;
    int count;
    const directory_attribute several[] = {
        {"displayName", "Anna Lind-Öberg"}, {"surname", "Lind-Öberg"},
        {"jobTitle", "Chief (sales)"},      {"country", "no"},
        {"streetAddress", "A\nB"},          {"middleName", "M"}};
    is_class(ops->update(d, pool, anna, several, 6, -1, &after, &e), DIRECTORY_OK, &e,
             "six new values");
    is_str(after.display_name, "Anna Lind-Öberg", "shown afterwards");
    is_str(attribute("anna.lind", "cn"), "Anna Lind", "CN stays, as it names the entry");
    is_str(attribute("anna.lind", "co"), "Norway", "country: name");
    is_str(attribute("anna.lind", "c"), "NO", "code");
    is_str(attribute("anna.lind", "countryCode"), "578", "and number");
    is_class(ops->update(d, pool, anna, several, 6, -1, &after, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    const directory_attribute cleared[] = {{"country", NULL},
                                           {"middleName", NULL},
                                           {"surname", NULL}};
    is_class(ops->update(d, pool, anna, cleared, 3, -1, &after, &e), DIRECTORY_OK, &e, "cleared");
    is_str(attribute("anna.lind", "c"), "", "country: code");
    is_str(attribute("anna.lind", "co"), "", "name");
    is_str(attribute("anna.lind", "countryCode"), "0", "number");
    const directory_attribute lengthy = {
        "department",
        "a department whose name is far longer than the sixty-four characters that fit"};
    is_class(ops->update(d, pool, anna, &lengthy, 1, -1, &after, &e), DIRECTORY_INVALID, &e,
             "a value that is too long");
    is_str(e.field, "department", "field department");

    is_class(ops->set_manager(d, pool, anna, "Per.Lundin@nordic.example", &manager, &e),
             DIRECTORY_OK, &e, "manager set");
    is_str(attribute("anna.lind", "manager"), apr_pstrcat(pool, "CN=Per Lundin,", people, NULL),
           "as a DN");
    is_class(ops->set_manager(d, pool, anna, "per.lundin@nordic.example", &manager, &e),
             DIRECTORY_ALREADY, &e, "again: already");
    is_class(ops->set_manager(d, pool, anna, NULL, &manager, &e), DIRECTORY_OK, &e, "nobody");
    is_str(attribute("anna.lind", "manager"), "", "none");
    is_class(ops->set_manager(d, pool, anna, "nobody@nordic.example", &manager, &e),
             DIRECTORY_NOT_FOUND, &e, "somebody who is not there");
    is_str(e.field, "manager", "field manager");
    is_class(ops->reports(d, pool, anna, &ids, &count, &e), DIRECTORY_OK, &e, "reports of Anna");
    is_int(count, 4, "four");

    unsigned char *large = apr_pcalloc(pool, 102401);
    RAND_bytes(large, 102401);
    memcpy(large, jpeg, sizeof jpeg);
    is_class(ops->set_photo(d, pool, anna, large, 102400, "image/jpeg", &e), DIRECTORY_OK, &e,
             "a photo of 102,400 bytes");
    is_class(ops->set_photo(d, pool, anna, large, 102400, "image/jpeg", &e), DIRECTORY_ALREADY, &e,
             "again: already");
    is_str(
        perl("my ($e) = $s->search('(sAMAccountName=anna.lind)'); length $e->{thumbnailphoto}[0]"),
        "102400", "byte for byte");
    is_class(ops->set_photo(d, pool, anna, large, 102401, "image/jpeg", &e), DIRECTORY_INVALID, &e,
             "one byte more: refused");
    is_class(ops->set_photo(d, pool, anna, (const unsigned char *)"\x89PNG....", 8, "image/png",
                            &e),
             DIRECTORY_OK, &e, "a PNG");
}

static void signing_in(directory *d)
{
    directory_error e;
    directory_user after;
    const char *elin = id_of(d, "elin.strand");
    perl("$s->modify(\"dn: CN=Elin Strand,%s\\nchangetype: modify\\nreplace: "
         "userAccountControl\\nuserAccountControl: 66048\\n\"); 1",
         people);
    is_str(perl("$s->bind_code('elin.strand')"), "0", "Elin signs in");
    is_class(ops->disable(d, pool, elin, &after, &e), DIRECTORY_OK, &e, "disabled");
    ok(!after.enabled, "shown so");
    is_str(attribute("elin.strand", "userAccountControl"), "66050",
           "one bit set, the others as they were");
    ok(strstr(perl("$s->bind_text('elin.strand')"), "data 533") != NULL, "a bind fails (data 533)");
    is_class(ops->disable(d, pool, elin, &after, &e), DIRECTORY_ALREADY, &e, "again: already");
    is_class(ops->set_password(d, pool, elin, "Fresh-Passw0rd-of-24-char", &e), DIRECTORY_OK, &e,
             "a new password for a disabled account");
    ok(strstr(perl("$s->bind_text('elin.strand', 'Fresh-Passw0rd-of-24-char')"), "data 533") !=
           NULL,
       "does not enable it");
    const directory_attribute title = {"jobTitle", "Back"};
    is_class(ops->update(d, pool, elin, &title, 1, 1, &after, &e), DIRECTORY_OK, &e,
             "enabled, with a new title");
    is_str(attribute("elin.strand", "userAccountControl"), "66048", "the bit is gone");
    is_str(perl("$s->bind_code('elin.strand', 'Fresh-Passw0rd-of-24-char')"), "0",
           "a password that never expires need not be changed: the server's rule");
    const char *tove = id_of(d, "tove.ahlgren");
    is_class(ops->set_password(d, pool, tove, "Fresh-Passw0rd-of-24-char", &e), DIRECTORY_OK, &e,
             "a new password for an ordinary account");
    ok(strstr(perl("$s->bind_text('tove.ahlgren', 'Fresh-Passw0rd-of-24-char')"), "data 773") !=
           NULL,
       "must be changed (data 773)");
    is_class(ops->set_password(d, pool, elin, "tooweak", &e), DIRECTORY_INVALID, &e,
             "a password that the policy refuses");
    is_str(e.field, "password", "field password");
    ok(e.message && !strstr(e.message, "tooweak"), "it is not in the message");
    is_class(ops->disable(d, pool, nobody, &after, &e), DIRECTORY_NOT_FOUND, &e,
             "an unknown ID: not found");
}

static void memberships(directory *d)
{
    directory_error e;
    const directory_membership *rows, *row;
    int count;
    directory_class each[3];
    const char *anna = id_of(d, "anna.lind"), *eva = id_of(d, "eva.berg"),
               *tove = id_of(d, "tove.ahlgren");
    perl("$s->modify(\"dn: CN=Elsewhere,OU=Services,%s\\nchangetype: modify\\nadd: "
         "member\\nmember: CN=Anna Lind,%s\\n\"); 1",
         suffix, people);
    is_class(ops->memberships(d, pool, anna, NULL, 0, &rows, &count, &e), DIRECTORY_OK, &e,
             "memberships");
    is_int(count, 5,
           "All staff, Sales team, CRM admins, Elsewhere outside groupBase, and the primary group");
    row = membership(rows, count, "Domain Users");
    ok(row && row->retained && strstr(row->retained, "primary group"),
       "the primary group is retained, with the reason");
    row = membership(rows, count, "Elsewhere");
    ok(row && !row->retained, "a group outside groupBase is seen");
    const char *elsewhere = row ? row->group_id : "";
    row = membership(rows, count, "Sales team");
    ok(row && !row->retained, "the others can be left");
    const char *sales = row ? row->group_id : "",
               *crm = membership(rows, count, "CRM admins")->group_id,
               *primary = membership(rows, count, "Domain Users")->group_id;
    is_class(ops->remove_member(d, pool, sales, anna, &e), DIRECTORY_OK, &e,
             "removed from a group");
    is_str(perl("scalar grep { /Anna/ } $s->members('Sales team')"), "0", "the group says so");
    is_class(ops->remove_member(d, pool, sales, anna, &e), DIRECTORY_ALREADY, &e, "again: already");
    is_class(ops->remove_member(d, pool, elsewhere, anna, &e), DIRECTORY_FORBIDDEN, &e,
             "a group our account may not write: forbidden");
    is_class(ops->remove_member(d, pool, primary, anna, &e), DIRECTORY_INVALID, &e,
             "the primary group cannot be left");
    is_class(ops->remove_member(d, pool, nobody, anna, &e), DIRECTORY_ALREADY, &e,
             "a group that is gone: already");
    const char *three[] = {eva, anna, tove};
    is_class(ops->add_members(d, pool, crm, three, 3, each, &e), DIRECTORY_OK, &e,
             "three to a group that has one of them");
    ok(each[0] == DIRECTORY_OK && each[1] == DIRECTORY_ALREADY && each[2] == DIRECTORY_OK,
       "each is reported for itself");
    is_class(ops->add_members(d, pool, crm, three, 3, each, &e), DIRECTORY_OK, &e, "again");
    ok(each[0] == DIRECTORY_ALREADY && each[1] == DIRECTORY_ALREADY && each[2] == DIRECTORY_ALREADY,
       "already, all of them");
    is_class(ops->add_members(d, pool, elsewhere, &tove, 1, each, &e), DIRECTORY_FORBIDDEN, &e,
             "a group our account may not write");
    is_class(ops->remove_member(d, pool, crm, tove, &e), DIRECTORY_OK, &e, "and out again");
}

static void moves(directory *d)
{
    directory_error e;
    directory_user after;
    const char *anna = id_of(d, "anna.lind"),
               *leavers = apr_pstrcat(pool, "ou=leavers,", people, NULL);
    is_class(ops->move(d, pool, anna, leavers, &after, &e), DIRECTORY_OK, &e, "moved");
    is_str(after.id, anna, "the same entry");
    ok(!after.warnings && strstr(after.dn, "OU=Leavers") != NULL, "at another place: %s", after.dn);
    is_str(perl("scalar grep { /CN=Anna Lind,OU=Leavers/ } $s->members('All staff')"), "1",
           "her groups name the new place");
    is_class(ops->move(d, pool, anna, leavers, &after, &e), DIRECTORY_ALREADY, &e,
             "again: already");
    is_class(ops->move(d, pool, anna, apr_pstrcat(pool, "OU=nowhere,", people, NULL), &after, &e),
             DIRECTORY_NOT_FOUND, &e, "a container that is not there");
    is_str(e.field, "container", "field container");
    is_class(ops->move(d, pool, anna, apr_pstrcat(pool, "OU=Services,", suffix, NULL), &after, &e),
             DIRECTORY_INVALID, &e, "a container outside userBase");
    perl("$s->add_user('anna.again', dn => 'CN=Anna Lind,%s'); 1", people);
    is_class(ops->move(d, pool, anna, people, &after, &e), DIRECTORY_OK, &e,
             "another entry of that name stands there");
    ok(after.dn && strncmp(after.dn, "CN=Anna Lind ", 13) == 0 && after.dn[13] > '1',
       "so she gets the next free number: %s", after.dn);
}

/* Every writing call against accounts that must stay as they are. */
static void guards(void)
{
    directory_error e;
    directory_user user, after;
    const char *manager;
    /* As the administrator, who may do everything, over the whole domain. */
    write_file(slapd_file("admin"), perl("Idadmin::Test::Samba::admin_password()"), 0600);
    const char *bind = ida_printf(pool,
                                  "\"bind\":\"simple\",\"bindDn\":\"EXAMPLE\\\\Administrator\","
                                  "\"bindPasswordFile\":\"%s/admin\"",
                                  slapd_dir);
    ida_tenant *tenant = ad_tenant(json_list(perl("$s->ldaps_url"), NULL), bind, "");
    json_object_set_new((json_t *)(uintptr_t)tenant->directory[IDA_DIR_ON_PREMISES], "userBase",
                        json_string(suffix));
    directory *d = open_with(tenant);
    const struct {
        const char *upn, *why;
    } kept[] = {
        {"Administrator@ad.example.test", "service account"},
        {"Guest@ad.example.test", "critical system object"},
        {"krbtgt@ad.example.test", "critical system object"},
        {"old.admin@nordic.example", "adminCount"},
        {"bo.ek@nordic.example", "protectedAccounts"},
        {"filip.nyman@nordic.example", "protectedAccounts"},
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const directory_attribute title = {"jobTitle", "changed"};
        const char *who = kept[i].upn;
        is_class(ops->find(d, pool, NULL, who, &user, &e), DIRECTORY_OK, &e, who);
        is_class(ops->disable(d, pool, user.id, &after, &e), DIRECTORY_PROTECTED, &e,
                 "is not disabled");
        ok(e.message && strstr(e.message, kept[i].why), "the reason: %s",
           e.message ? e.message : "");
        is_class(ops->update(d, pool, user.id, &title, 1, -1, &after, &e), DIRECTORY_PROTECTED, &e,
                 "nor changed");
        is_class(ops->set_password(d, pool, user.id, "Fresh-Passw0rd-of-24-char", &e),
                 DIRECTORY_PROTECTED, &e, "nor its password");
        is_class(ops->set_manager(d, pool, user.id, "eva.berg@nordic.example", &manager, &e),
                 DIRECTORY_PROTECTED, &e, "nor its manager");
        is_class(ops->set_photo(d, pool, user.id, jpeg, sizeof jpeg, "image/jpeg", &e),
                 DIRECTORY_PROTECTED, &e, "nor its photo");
        is_class(ops->move(d, pool, user.id, people, &after, &e), DIRECTORY_PROTECTED, &e,
                 "nor moved");
        is_class(ops->remove_member(d, pool, nobody, user.id, &e), DIRECTORY_PROTECTED, &e,
                 "nor taken out of a group");
    }
    ops->close(d);
    /* The service account by each name that it may bind with. */
    const char *const forms[] = {apr_pstrcat(pool, "CN=idadmin,OU=Services,", suffix, NULL),
                                 "idadmin@ad.example.test", "EXAMPLE\\\\idadmin"};
    for (size_t i = 0; i < 3; i++) {
        tenant = ad_tenant(json_list(perl("$s->ldaps_url"), NULL), simple(forms[i]), "");
        json_object_set_new((json_t *)(uintptr_t)tenant->directory[IDA_DIR_ON_PREMISES], "userBase",
                            json_string(suffix));
        d = open_with(tenant);
        is_class(ops->find(d, pool, NULL, "idadmin@ad.example.test", &user, &e), DIRECTORY_OK, &e,
                 forms[i]);
        is_class(ops->disable(d, pool, user.id, &after, &e), DIRECTORY_PROTECTED, &e,
                 "does not disable itself");
        ops->close(d);
    }
}

static directory_class find_eva(const ida_tenant *tenant, directory_error *e)
{
    directory_user user;
    directory *d = open_with(tenant);
    directory_class class = d ? ops->find(d, pool, NULL, "eva.berg@nordic.example", &user, e)
                              : DIRECTORY_LOCAL;
    if (d) {
        ops->close(d);
    }
    return class;
}

static void connecting(void)
{
    directory_error e;
    directory *d = NULL;
    const char *plain = json_list(perl("$s->url"), NULL),
               *ldaps = json_list(perl("$s->ldaps_url"), NULL);
    const char *gssapi = "\"bind\":\"gssapi\"", *as = simple("idadmin@ad.example.test");
    is_class(find_eva(ad_tenant(plain, as, ",\"startTls\":true"), &e), DIRECTORY_OK, &e,
             "StartTLS");
    is_class(ops->open(&d, &env, ad_tenant(plain, as, ""), IDA_DIR_ON_PREMISES, pool, &e),
             DIRECTORY_CONFIG, &e,
             "a simple bind without protection is refused before anything is sent");
    ida_tenant *other = ad_tenant(ldaps, as, "");
    json_object_set_new((json_t *)(uintptr_t)other->directory[IDA_DIR_ON_PREMISES], "dialect",
                        json_string("openLdap"));
    is_class(find_eva(other, &e), DIRECTORY_CONFIG, &e, "dialect openLdap is refused");
    ok(e.message && strstr(e.message, "Active Directory"), "naming what it is");
    is_class(ops->open(&d, &env, ad_tenant(ldaps, gssapi, ""), IDA_DIR_ON_PREMISES, pool, &e),
             DIRECTORY_CONFIG, &e, "GSSAPI is for ldap:// alone");
    write_file(slapd_file("wrong"), "not-the-password", 0600);
    char *wrong = ida_printf(pool,
                             "\"bind\":\"simple\",\"bindDn\":\"idadmin@ad.example.test\","
                             "\"bindPasswordFile\":\"%s/wrong\"",
                             slapd_dir);
    is_class(find_eva(ad_tenant(ldaps, wrong, ""), &e), DIRECTORY_CREDENTIALS, &e,
             "a wrong password: credentials");
    ok(e.message && strstr(e.message, "52e"), "with what the server says: %s",
       e.message ? e.message : "");

    /* Kerberos tickets contain the host's name; here the address is used instead. */
    setenv("KRB5_CONFIG", perl("$s->krb5_conf"), 1);
    setenv("KRB5CCNAME", apr_pstrcat(pool, "FILE:", slapd_file("ccache"), NULL), 1);
    is_class(find_eva(ad_tenant(plain, gssapi, ""), &e), DIRECTORY_CREDENTIALS, &e,
             "GSSAPI without a ticket: credentials");
    is_str(perl("Idadmin::Test::run_command(['kinit', '-c', 'FILE:%s', '-k', '-t', $s->keytab, "
                "'idadmin@AD.EXAMPLE.TEST'], env => { KRB5_CONFIG => $s->krb5_conf })->{exit}",
                slapd_file("ccache")),
           "0", "a ticket from the keytab");
    is_class(find_eva(ad_tenant(plain, gssapi, ""), &e), DIRECTORY_OK, &e, "GSSAPI with sealing");
    directory_user user, after;
    ida_tenant *tenant = ad_tenant(plain, gssapi, "");
    json_object_set_new((json_t *)(uintptr_t)tenant->directory[IDA_DIR_ON_PREMISES], "userBase",
                        json_string(suffix));
    d = open_with(tenant);
    is_class(ops->find(d, pool, NULL, "idadmin@ad.example.test", &user, &e), DIRECTORY_OK, &e,
             "over it, our own account");
    is_class(ops->disable(d, pool, user.id, &after, &e), DIRECTORY_PROTECTED, &e,
             "is known as such");
    is_class(ops->find(d, pool, NULL, "sten.vik@nordic.example", &user, &e), DIRECTORY_OK, &e,
             "somebody else");
    is_class(ops->set_password(d, pool, user.id, "Fresh-Passw0rd-of-24-char", &e), DIRECTORY_OK, &e,
             "passwords may be set over it");
    ops->close(d);
    unsetenv("KRB5CCNAME");
    setenv("KRB5_CLIENT_KTNAME", perl("$s->keytab"), 1);
    setenv("KRB5CCNAME", apr_pstrcat(pool, "MEMORY:", "idadmin", NULL), 1);
    is_class(find_eva(ad_tenant(plain, gssapi, ""), &e), DIRECTORY_OK, &e,
             "GSSAPI with nothing but a client keytab");
    unsetenv("KRB5_CLIENT_KTNAME");
}

static const char *line_of(const json_t *report, const char *check, int *good)
{
    size_t i;
    json_t *line;
    json_array_foreach (report, i, line) {
        if (strcmp(json_string_value(json_object_get(line, "check")), check) == 0) {
            *good = json_is_true(json_object_get(line, "ok"));
            const char *detail = json_string_value(json_object_get(line, "detail"));
            return detail ? detail : "";
        }
    }
    *good = -1;
    return "no such line";
}

static void doctor(void)
{
    directory_error e;
    const char *const checks[] = {"userBase",
                                  "groupBase",
                                  "createIn",
                                  "schema",
                                  "disabling accounts",
                                  "markerAttribute",
                                  "upnAttribute",
                                  "fields",
                                  "creating accounts",
                                  "changing accounts",
                                  "changing groups",
                                  "DirSync",
                                  "deletions",
                                  "password policy",
                                  "clock"};
    int good;
    directory *d = session("");
    json_t *report = ida_json_keep(pool, json_array());
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_OK, &e, "the doctor finds nothing");
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        const char *detail = line_of(report, checks[i], &good);
        ok(good == 1, "%s: %s", checks[i], detail);
    }
    ok(strstr(line_of(report, "fields", &good), "every field") != NULL,
       "there is a place for every field");
    ok(strstr(line_of(report, "deletions", &good), "shown") != NULL, "deletions are shown");
    ops->close(d);
    d = open_with(
        ad_tenant(json_list(perl("$s->ldaps_url"), NULL), simple("reader@ad.example.test"), ""));
    report = ida_json_keep(pool, json_array());
    is_class(ops->probe(d, pool, report, &e), DIRECTORY_FORBIDDEN, &e,
             "an account that may only read");
    const char *detail = line_of(report, "creating accounts", &good);
    ok(good == 0 && strstr(detail, "Create User objects"), "creating: %s", detail);
    detail = line_of(report, "changing accounts", &good);
    ok(good == 0 && strstr(detail, "userAccountControl"), "changing: %s", detail);
    detail = line_of(report, "changing groups", &good);
    ok(good == 0 && strstr(detail, "member"), "groups: %s", detail);
    detail = line_of(report, "DirSync", &good);
    ok(good == 1 && strstr(detail, "Replicating Directory Changes"), "DirSync: %s", detail);
    ops->close(d);
}

int main(void)
{
    slapd_start("samba => 1");
    suffix = perl("$Idadmin::Test::Samba::suffix");
    people = perl("$Idadmin::Test::Samba::people");
    ops = directory_ops_for(IDA_DIR_ON_PREMISES);
    doctor();
    directory *d = session("");
    create_and_adopt(d);
    names(d);
    values(d);
    signing_in(d);
    memberships(d);
    moves(d);
    ops->close(d);
    guards();
    connecting();
    return done();
}
