/* Tenant documents: every member's rule, merging, loading, sealing, secret files. */
#include "core/tenant/tenant.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/host.h"
#include "core/base/json.h"
#include "core/tenant/value.h"
#include "t/unit/setup.h"

#define ON_PREMISES                                                                      \
    "\"onPremises\":{\"urls\":[\"ldaps://"                                               \
    "dc1.contoso.example\"],\"dialect\":\"activeDirectory\",\"bindDn\":\"cn=svc,dc=x\"," \
    "\"bindPasswordFile\":\"/etc/"                                                       \
    "p\",\"userBase\":\"OU=Staff,DC=x\",\"groupBase\":\"OU=Groups,DC=x\"}"
#define CLOUD                                                                                      \
    "\"cloud\":{\"directoryId\":\"2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c14\",\"clientId\":\"2F1C6B0E-" \
    "8a4d-4c57-9f21-0d3b7e5a9c14\","                                                               \
    "\"clientSecretFile\":\"/etc/s\"}"
#define HEAD "{\"companyId\":\"contoso\",\"name\":\"Contoso AB\",\"upnDomain\":\"contoso.example\""
#define SMALL HEAD ",\"directories\":{" ON_PREMISES "}}"

/* The sample of the design, every member set. */
static const char full[] =
    "{\"companyId\":\"contoso\",\"name\":\"Contoso "
    "AB\",\"timeZone\":\"Europe/Helsinki\",\"usernameFormat\":\"{firstname:1}{surname}\","
    "\"emailFormat\":\"{firstname}.{surname}\",\"displayNameFormat\":\"{surname}, "
    "{firstname}\",\"upnDomain\":\"contoso.example\","
    "\"emailDomain\":\"mail.contoso.example\",\"createUsersIn\":\"cloud\",\"seatLimit\":500,"
    "\"modules\":{\"publicApi\":false,\"accessGovernance\":false},\"rateLimits\":{\"key\":\"240/"
    "60s\",\"company\":\"off\"},"
    "\"brake\":{\"offboardingsPerHour\":20},\"hygiene\":{\"staleAfterDays\":30},\"retention\":{"
    "\"taskHistoryDays\":100,"
    "\"auditDays\":200},"
    "\"directories\":{\"cloud\":{\"apiUrl\":\"http://127.0.0.1:8080/"
    "v1.0\",\"authorityUrl\":\"http://localhost:8080\","
    "\"directoryId\":\"2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c14\",\"clientId\":\"2f1c6b0e-8a4d-4c57-"
    "9f21-0d3b7e5a9c14\","
    "\"certificateFile\":\"/etc/c.pem\",\"caFile\":\"/etc/ca.pem\",\"proxyUrl\":\"http://"
    "proxy.contoso.example:3128\","
    "\"markerAttribute\":\"extensionAttribute3\",\"protectedAccounts\":[\"emergency@contoso."
    "example\","
    "\"2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c15\"],\"syncInterval\":\"5m\",\"deletionGuard\":50},"
    "\"onPremises\":{\"urls\":[\"ldap://dc1.contoso.example:389\",\"ldapi:///"
    "\"],\"startTls\":true,\"dialect\":\"activeDirectory\","
    "\"bind\":\"gssapi\",\"caFile\":\"/etc/"
    "ca.pem\",\"userBase\":\"OU=Staff,DC=contoso,DC=example\",\"groupBase\":\"DC=contoso,DC="
    "example\","
    "\"createIn\":\"OU=New\\\\, "
    "all,DC=contoso,DC=example\",\"upnAttribute\":\"userPrincipalName\",\"markerAttribute\":"
    "\"info\","
    "\"placeholderMember\":\"cn=nobody\",\"protectedAccounts\":[\"admin@contoso.example\"],"
    "\"syncInterval\":\"24h\","
    "\"deletionGuard\":\"1%\"}},"
    "\"roleTemplates\":[{\"name\":\"Sales\",\"description\":\"\",\"groups\":[\"Sales "
    "team\"],\"licenses\":[\"SPE_E3\"]}],"
    "\"workflows\":[{\"name\":\"Joiner\",\"trigger\":\"userCreate\",\"active\":true,\"actions\":["
    "{\"type\":\"addToGroup\",\"group\":\"All "
    "staff\",\"continueOnError\":false},{\"type\":\"assignRoleTemplate\",\"roleTemplate\":"
    "\"Sales\"},"
    "{\"type\":\"sendEmail\",\"to\":\"{manager}\",\"subject\":\"{displayName} { starts "
    "}\",\"body\":\"Hello\\n{firstname:1}. "
    "{date}\"},"
    "{\"type\":\"sendInitialPassword\",\"to\":\"{manager}\"},"
    "{\"type\":\"setAttribute\",\"attribute\":\"info\",\"value\":\"\"},"
    "{\"type\":\"callWebhook\",\"url\":\"https://hooks.contoso.example/in?x=1\",\"secretFile\":\"/"
    "etc/"
    "w\",\"allowPrivate\":true}]},"
    "{\"name\":\"Leaver\",\"trigger\":\"userDelete\",\"active\":false,\"actions\":[{\"type\":"
    "\"removeFromGroup\",\"group\":\"All "
    "staff\"},"
    "{\"type\":\"unassignRoleTemplates\"},{\"type\":\"removeLicenses\"},{\"type\":"
    "\"transferReports\"},"
    "{\"type\":\"moveTo\",\"container\":\"OU=Left,DC=contoso,DC=example\"}]}],"
    "\"accessCatalog\":[{\"service\":\"CRM administration\",\"group\":\"CRM "
    "admins\",\"approvers\":[\"eva.berg@contoso.example\"]}]}";

static ida_kind apply(ida_ctx *c, const char *text, const char *previous, ida_tenant **tenant,
                      char **canonical)
{
    char *copy = exact(text, strlen(text));
    ida_kind kind = ida_tenant_apply(c, copy, strlen(text), previous, tenant, canonical);
    free(copy);
    return kind;
}

/* A document that the test goes on with: without it there is nothing to test. */
static void must_apply(const char *text, const char *previous, ida_tenant **tenant,
                       char **canonical, const char *name)
{
    ida_ctx *c = fresh();
    if (!ok(apply(c, text, previous, tenant, canonical) == IDA_OK, "%s", name)) {
        printf("Bail out! %s\n", c->message);
        exit(1);
    }
}

/* A small sound document with one more member (or more). */
static const char *with(const char *members)
{
    return apr_pstrcat(pool, HEAD ",\"directories\":{" ON_PREMISES "},", members, "}", NULL);
}

/* The same with members of the on-premises or cloud directory changed. */
static const char *with_directory(const char *name, const char *members)
{
    ida_tenant *t;
    char *base;
    apply(fresh(), strcmp(name, "cloud") ? SMALL : HEAD ",\"directories\":{" CLOUD "}}", NULL, &t,
          &base);
    json_t *document = ida_json_load(pool, base);
    json_object_update(json_object_get(json_object_get(document, "directories"), name),
                       ida_json_load(pool, members));
    return ida_json_text(pool, document);
}

static void accepted(const char *text, const char *name)
{
    ida_tenant *t;
    char *canonical;
    ida_ctx *c = fresh();
    ok(apply(c, text, NULL, &t, &canonical) == IDA_OK, "%s%s%s", name, c->message ? ": " : "",
       c->message ? c->message : "");
}

static void refused(const char *text, const char *path, const char *rule)
{
    ida_tenant *t;
    char *canonical;
    ida_ctx *c = fresh();
    is_int(apply(c, text, NULL, &t, &canonical), IDA_BAD_REQUEST, path);
    says(c, "names the member and the rule", apr_pstrcat(pool, path, ": ", NULL), rule, NULL);
    ok(!t && !canonical, "and gives nothing");
}

static void values(void)
{
    ida_tenant *t;
    char *canonical;
    must_apply(SMALL, NULL, &t, &canonical, "a small document");
    is_str(t->id, "contoso", "id");
    is_str(t->time_zone, "Europe/Stockholm", "default zone");
    is_str(t->username_format, "{firstname}.{surname}", "default user name format");
    is_str(t->email_format, "{firstname}.{surname}", "default mail format");
    is_str(t->display_name_format, "{firstname} {surname}", "default display name format");
    is_str(t->email_domain, "contoso.example", "default mail domain");
    is_int(t->create_users_in, IDA_DIR_ON_PREMISES, "the only directory");
    is_int(t->seat_limit, -1, "no seat limit");
    is_int(t->brake_per_hour, 0, "no brake");
    ok(t->public_api && t->access_governance, "modules on");
    ok(!t->rate_key.limit && !t->rate_key.off && !t->rate_company.limit, "no rates of its own");
    ok(t->stale_after_days == 90 && t->task_history_days == 365 && t->audit_days == 730,
       "default days");
    ok(!t->has_directory[IDA_DIR_CLOUD] && !t->directory[IDA_DIR_CLOUD] &&
           t->has_directory[IDA_DIR_ON_PREMISES],
       "one directory");
    is_str(ida_json_string(t->directory[IDA_DIR_ON_PREMISES], "syncInterval"), "60s",
           "directory defaults are filled in");
    is_str(ida_json_string(t->directory[IDA_DIR_ON_PREMISES], "createIn"), "OU=Staff,DC=x",
           "createIn is the user base");
    is_str(ida_json_string(t->directory[IDA_DIR_ON_PREMISES], "markerAttribute"),
           "adminDescription", "AD's marker");
    is_str(ida_json_string(t->directory[IDA_DIR_ON_PREMISES], "upnAttribute"), "userPrincipalName",
           "AD's UPN");
    is_str(t->dialect, "activeDirectory", "the dialect");
    is_int(t->same_upn_and_mail, 0, "UPN and mail are two values");
    ok(!strstr(canonical, "syncInterval") && !strstr(canonical, "timeZone"),
       "the stored document holds no defaults");

    must_apply(full, NULL, &t, &canonical, "the full document");
    is_str(t->time_zone, "Europe/Helsinki", "zone");
    is_str(t->username_format, "{firstname:1}{surname}", "user name format");
    is_str(t->email_domain, "mail.contoso.example", "mail domain");
    ok(t->seat_limit == 500 && t->brake_per_hour == 20 && t->stale_after_days == 30 &&
           t->task_history_days == 100 && t->audit_days == 200,
       "numbers");
    ok(!t->public_api && !t->access_governance, "modules off");
    ok(t->rate_key.limit == 240 && t->rate_key.period_s == 60 && t->rate_company.off, "rates");
    is_int(t->create_users_in, IDA_DIR_CLOUD, "users are made in the cloud");
    ida_tenant *loaded;
    is_int(ida_tenant_load(fresh(), canonical, &loaded), IDA_OK, "the stored form loads");
    is_str(ida_json_sorted(pool, loaded->document), canonical, "and is the same document");
    is_str(ida_json_sorted(pool, loaded->directory[IDA_DIR_CLOUD]),
           ida_json_sorted(pool, t->directory[IDA_DIR_CLOUD]), "with the same directory");
    ida_ctx *c = fresh();
    is_int(ida_tenant_load(c, "{\"companyId\":\"x\"}", &loaded), IDA_INTERNAL_ERROR,
           "a damaged one does not");
    says(c, "and says why", "name: is required", NULL);
    is_int(ida_tenant_load(fresh(), "[", &loaded), IDA_INTERNAL_ERROR, "nor does garbage");
    for (int i = 0; i < IDA_DIR_COUNT; i++) {
        is_int(ida_directory_parse(ida_directory_name((ida_directory_kind)i)), i,
               "directory names");
    }
    is_int(ida_directory_parse("moon"), -1, "no such directory");
}

static void refusals(void)
{
    static const struct {
        const char *member, *path, *rule;
    } top[] = {
        {"\"colour\":\"red\"", "colour", "not a known member"},
        {"\"timeZone\":\"Europe/Nowhere\"", "timeZone", "Europe/Nowhere"},
        {"\"timeZone\":\"../etc/passwd\"", "timeZone", "not a valid name"},
        {"\"timeZone\":5", "timeZone", "must be a string"},
        {"\"usernameFormat\":\"{first}\"", "usernameFormat", "placeholder"},
        {"\"usernameFormat\":\"{firstname} {surname}\"", "usernameFormat", "a-z"},
        {"\"displayNameFormat\":\"x\"", "displayNameFormat", "must hold"},
        {"\"emailDomain\":\"contoso\"", "emailDomain", "domain name"},
        {"\"emailDomain\":\"-x.example\"", "emailDomain", "domain name"},
        {"\"emailDomain\":\"x..example\"", "emailDomain", "domain name"},
        {"\"emailDomain\":\"\\u00e5.example\"", "emailDomain", "domain name"},
        {"\"emailDomain\":\"\"", "emailDomain", "must not be empty"},
        {"\"createUsersIn\":\"moon\"", "createUsersIn", "\"cloud\" or \"onPremises\""},
        {"\"createUsersIn\":\"cloud\"", "createUsersIn", "not configured"},
        {"\"seatLimit\":-1", "seatLimit", "whole number from 0"},
        {"\"seatLimit\":1.5", "seatLimit", "whole number"},
        {"\"seatLimit\":\"5\"", "seatLimit", "whole number"},
        {"\"seatLimit\":10000001", "seatLimit", "10000000"},
        {"\"modules\":{\"publicApi\":1}", "modules.publicApi", "true or false"},
        {"\"modules\":{\"x\":true}", "modules.x", "not a known member"},
        {"\"modules\":[]", "modules", "must be an object"},
        {"\"rateLimits\":{\"key\":\"0/60s\"}", "rateLimits.key", "1000000"},
        {"\"rateLimits\":{\"company\":\"fast\"}", "rateLimits.company", "such as"},
        {"\"brake\":{\"offboardingsPerHour\":0}", "brake.offboardingsPerHour", "from 1"},
        {"\"hygiene\":{\"staleAfterDays\":3651}", "hygiene.staleAfterDays", "3650"},
        {"\"retention\":{\"auditDays\":0}", "retention.auditDays", "from 1"},
        {"\"roleTemplates\":{}", "roleTemplates", "list of objects"},
        {"\"roleTemplates\":[{\"name\":\"A\"},{\"name\":\"\\u00c0\"}]", "roleTemplates[1].name",
         "used twice"},
        {"\"roleTemplates\":[{\"groups\":[1]}]", "roleTemplates[0].groups[0]", "must be a string"},
        {"\"roleTemplates\":[{\"groups\":[\"x\"]}]", "roleTemplates[0].name", "is required"},
        {"\"roleTemplates\":[null]", "roleTemplates[0]", "must be an object"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"never\",\"actions\":[]}]",
         "workflows[0].trigger", "userCreate"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\"}]", "workflows[0].actions",
         "is required"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"explode\"}]}]",
         "workflows[0].actions[0].type", "addToGroup"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{}]}]",
         "workflows[0].actions[0].type", "must be one of"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"addToGroup\"}]}]",
         "workflows[0].actions[0].group", "is required"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"removeLicenses\",\"group\":\"x\"}]}"
         "]",
         "workflows[0].actions[0].group", "not a known member"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"assignRoleTemplate\","
         "\"roleTemplate\":\"x\"}]}]",
         "workflows[0].actions[0].roleTemplate", "role template"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"sendEmail\",\"to\":\"all\","
         "\"subject\":\"s\",\"body\":\"b\"}]}]",
         "workflows[0].actions[0].to", "{manager}"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"sendEmail\",\"to\":\"{mail}\","
         "\"subject\":\"{password}\",\"body\":\"b\"}]}]",
         "workflows[0].actions[0].subject", "{password}"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"sendEmail\",\"to\":\"{mail}\","
         "\"subject\":\"a\\nBcc: x\",\"body\":\"b\"}]}]",
         "workflows[0].actions[0].subject", "control"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"sendEmail\",\"to\":\"{mail}\","
         "\"subject\":\"s\",\"body\":\"{date:3}\"}]}]",
         "workflows[0].actions[0].body", "{date}"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"callWebhook\",\"url\":\"http://"
         "x.example\",\"secretFile\":\"/x\"}]}]",
         "workflows[0].actions[0].url", "https://"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"callWebhook\",\"url\":\"https://"
         "x.example\",\"secretFile\":\"x\"}]}]",
         "workflows[0].actions[0].secretFile", "absolute"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[]},{\"name\":"
         "\"j\",\"trigger\":\"userDelete\","
         "\"actions\":[]}]",
         "workflows[1].name", "used twice"},
        {"\"accessCatalog\":[{\"service\":\"S\",\"group\":\"G\",\"approvers\":[]}]",
         "accessCatalog[0].approvers", "must not be empty"},
        {"\"accessCatalog\":[{\"service\":\"S\",\"group\":\"G\",\"approvers\":[\"eva\"]}]",
         "accessCatalog[0].approvers[0]", "user principal name"},
        {"\"accessCatalog\":[{\"service\":\" S\",\"group\":\"G\",\"approvers\":[\"e@x.example\"]}]",
         "accessCatalog[0].service", "blank"},
    };
    for (size_t i = 0; i < sizeof top / sizeof *top; i++) {
        refused(with(top[i].member), top[i].path, top[i].rule);
    }
    static const struct {
        const char *directory, *members, *member, *rule;
    } inner[] = {
        {"cloud", "{\"apiUrl\":\"http://graph.example\"}", ".apiUrl", "loopback"},
        {"cloud", "{\"apiUrl\":\"http://127.0.0.1.example\"}", ".apiUrl", "loopback"},
        {"cloud", "{\"apiUrl\":\"http://localhost@evil.example\"}", ".apiUrl", "user name"},
        {"cloud", "{\"apiUrl\":\"ftp://x\"}", ".apiUrl", "https://"},
        {"cloud", "{\"apiUrl\":\"https://\"}", ".apiUrl", "host"},
        {"cloud", "{\"apiUrl\":\"https://x:0\"}", ".apiUrl", "port"},
        {"cloud", "{\"apiUrl\":\"https://x:65536/\"}", ".apiUrl", "port"},
        {"cloud", "{\"apiUrl\":\"https://x/?a\"}", ".apiUrl", "query"},
        {"cloud", "{\"apiUrl\":\"https://x/ y\"}", ".apiUrl", "blanks"},
        {"cloud", "{\"authorityUrl\":\"https://[::1\"}", ".authorityUrl", "host"},
        {"cloud", "{\"directoryId\":\"2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c1\"}", ".directoryId",
         "GUID"},
        {"cloud", "{\"clientId\":\"2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c14x\"}", ".clientId", "GUID"},
        {"cloud", "{\"clientSecretFile\":\"secret\"}", ".clientSecretFile", "absolute"},
        {"cloud", "{\"clientSecret\":\"abc\"}", ".clientSecret", "not a known member"},
        {"cloud", "{\"certificateFile\":\"/etc/c\"}", "", "not both"},
        {"cloud", "{\"proxyUrl\":\"http://u:p@proxy:3128\"}", ".proxyUrl", "user name"},
        {"cloud", "{\"markerAttribute\":\"extensionAttribute16\"}", ".markerAttribute",
         "extensionAttribute15"},
        {"cloud", "{\"markerAttribute\":\"displayName\"}", ".markerAttribute",
         "extensionAttribute1"},
        {"cloud", "{\"markerAttribute\":\"employeeId\"}", ".markerAttribute",
         "HR system's own number"},
        {"cloud", "{\"syncInterval\":\"0s\"}", ".syncInterval", "1s to 24h"},
        {"cloud", "{\"syncInterval\":\"25h\"}", ".syncInterval", "1s to 24h"},
        {"cloud", "{\"syncInterval\":60}", ".syncInterval", "must be a string"},
        {"cloud", "{\"deletionGuard\":\"0%\"}", ".deletionGuard", "20%"},
        {"cloud", "{\"deletionGuard\":\"101%\"}", ".deletionGuard", "20%"},
        {"cloud", "{\"deletionGuard\":0}", ".deletionGuard", "20%"},
        {"cloud", "{\"deletionGuard\":\"many\"}", ".deletionGuard", "20%"},
        {"onPremises", "{\"urls\":[]}", ".urls", "must not be empty"},
        {"onPremises", "{\"urls\":\"ldaps://x\"}", ".urls", "list of strings"},
        {"onPremises", "{\"urls\":[\"ldaps://a\",\"ldap://x.example\"]}", ".urls[1]", "startTls"},
        {"onPremises", "{\"urls\":[\"ldaps://a\"],\"startTls\":true}", ".urls[0]", "startTls"},
        {"onPremises", "{\"urls\":[\"http://a\"]}", ".urls[0]", "ldaps://"},
        {"onPremises", "{\"urls\":[\"ldaps://a/dc=x\"]}", ".urls[0]", "host and port"},
        {"onPremises", "{\"dialect\":\"novell\"}", ".dialect", "openLdap"},
        {"onPremises", "{\"bind\":\"anonymous\"}", ".bind", "gssapi"},
        {"onPremises", "{\"bind\":\"gssapi\"}", ".bindDn", "only used"},
        {"onPremises", "{\"userBase\":\"Staff\"}", ".userBase", "distinguished"},
        {"onPremises", "{\"groupBase\":\"OU=a,,DC=b\"}", ".groupBase", "distinguished"},
        {"onPremises", "{\"createIn\":\"OU=a\\\\\"}", ".createIn", "distinguished"},
        {"onPremises", "{\"upnAttribute\":\"9x\"}", ".upnAttribute", "attribute"},
        {"onPremises", "{\"markerAttribute\":\"a b\"}", ".markerAttribute", "attribute"},
        {"onPremises", "{\"protectedAccounts\":[\"\"]}", ".protectedAccounts[0]", "empty"},
        {"cloud", "{\"protectedAccounts\":[\"Emergency Account\"]}", ".protectedAccounts[0]",
         "object ID"},
    };
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) {
        refused(with_directory(inner[i].directory, inner[i].members),
                apr_pstrcat(pool, "directories.", inner[i].directory, inner[i].member, NULL),
                inner[i].rule);
    }
    accepted(with_directory("onPremises", "{\"bindDn\":\"CONTOSO\\\\svc\"}"),
             "AD's other bind names");
    accepted(with_directory("onPremises",
                            "{\"urls\":[\"ldapi://%2Frun%2Fslapd\",\"ldaps://[::1]:636/\"]}"),
             "ldapi and IPv6");
    accepted(with_directory("cloud", "{\"apiUrl\":\"http://127.0.0.9:1/x\",\"deletionGuard\":1}"),
             "loopback in clear");
    refused(HEAD ",\"directories\":{}}", "directories", "must have cloud");
    refused(HEAD "}", "directories", "is required");
    refused(HEAD ",\"directories\":{" CLOUD "," ON_PREMISES "}}", "createUsersIn",
            "two directories");
    refused("{}", "companyId", "is required");
    refused("{\"companyId\":\"a b\"}", "companyId", "A-Z");
    ida_tenant *t;
    char *canonical;
    ida_ctx *c = fresh();
    apply(c, "{\"seatLimit\":true,\"foo\":1}", NULL, &t, &canonical);
    says(c, "all faults of one document at once",
         "foo: ", "companyId: ", "name: ", "upnDomain: ", "directories: ", "seatLimit: ", NULL);
    c = fresh();
    is_int(apply(c, "{\"companyId\":\"x\",\"companyId\":\"y\"}", NULL, &t, &canonical),
           IDA_BAD_REQUEST, "doubled members are no JSON for us");
    json_t *many = ida_json_keep(pool, json_object());
    for (int i = 0; i < 5000; i++) {
        json_object_set_new(many, ida_printf(pool, "m%d", i), json_null());
        json_object_set_new(many, ida_printf(pool, "n%d", i), json_true());
    }
    c = fresh();
    apply(c, ida_json_text(pool, many), NULL, &t, &canonical);
    ok(c->message && strlen(c->message) < 4000 && strstr(c->message, "further faults"),
       "thousands of faults end in a short answer");
}

static void openldap(void)
{
    static const char dialect[] = "{\"dialect\":\"openLdap\"}";
    const char *text = with_directory("onPremises", dialect);
    ida_tenant *t;
    char *canonical;
    must_apply(text, NULL, &t, &canonical, "an OpenLDAP directory");
    is_int(t->same_upn_and_mail, 1, "UPN and mail are one value");
    is_str(t->dialect, "openLdap", "the dialect");
    is_str(ida_json_string(t->directory[IDA_DIR_ON_PREMISES], "upnAttribute"), "mail",
           "its UPN attribute");
    is_str(ida_json_string(t->directory[IDA_DIR_ON_PREMISES], "markerAttribute"), "description",
           "its marker");
    ida_ctx *c = fresh();
    is_int(apply(c, "{\"emailDomain\":\"other.example\",\"emailFormat\":\"{surname}\"}", canonical,
                 &t, &(char *){NULL}),
           IDA_BAD_REQUEST, "then formats and domains must be equal");
    says(c, "both named", "emailDomain: must equal", "emailFormat: must equal", NULL);
    accepted(with_directory("onPremises", "{\"dialect\":\"openLdap\",\"upnAttribute\":\"uid\"}"),
             "another UPN attribute");
}

static void domains(void)
{
    /* 48 characters for the cloud, 100 without it. */
    static const char label[] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
    const char *d48 = apr_pstrcat(pool, apr_pstrndup(pool, label, 40), ".example", NULL);
    const char *d49 = apr_pstrcat(pool, apr_pstrndup(pool, label, 41), ".example", NULL);
    const char *d100 = apr_pstrcat(pool, apr_pstrndup(pool, label, 45), ".",
                                   apr_pstrndup(pool, label, 46), ".example", NULL);
    static const char head[] = "{\"companyId\":\"c\",\"name\":\"C\",\"upnDomain\":\"";
    accepted(apr_pstrcat(pool, head, d48, "\",\"directories\":{" CLOUD "}}", NULL),
             "48 characters for the cloud");
    refused(apr_pstrcat(pool, head, d49, "\",\"directories\":{" CLOUD "}}", NULL), "upnDomain",
            "48");
    accepted(apr_pstrcat(pool, head, d49, "\",\"directories\":{" ON_PREMISES "}}", NULL),
             "49 on-premises");
    accepted(apr_pstrcat(pool, head, d100, "\",\"directories\":{" ON_PREMISES "}}", NULL),
             "100 on-premises");
    refused(apr_pstrcat(pool, head, "a", d100, "\",\"directories\":{" ON_PREMISES "}}", NULL),
            "upnDomain", "100");
}

static void merging(void)
{
    ida_tenant *t;
    char *first, *second;
    apply(fresh(), full, NULL, &t, &first);
    must_apply("{\"companyId\":\"contoso\"}", first, &t, &second,
               "an almost empty second document");
    is_str(second, first, "changes nothing");
    must_apply(full, first, &t, &second, "the same document again");
    is_str(second, first, "changes nothing either");
    must_apply(
        "{\"seatLimit\":null,\"timeZone\":null,\"brake\":null,\"modules\":{\"publicApi\":null}}",
        first, &t, &second, "null unsets");
    ok(t->seat_limit == -1 && t->brake_per_hour == 0 && t->public_api && !t->access_governance,
       "and the default comes back");
    is_str(t->time_zone, "Europe/Stockholm", "for the zone too");
    must_apply("{\"roleTemplates\":[{\"name\":\"Sales\",\"description\":null}]}", first, &t,
               &second, "a list");
    is_str(ida_json_sorted(pool, json_object_get(t->document, "roleTemplates")),
           "[{\"name\":\"Sales\"}]", "replaces the old one");
    must_apply("{\"directories\":{\"cloud\":{\"syncInterval\":\"10s\"}}}", first, &t, &second,
               "a member of a directory");
    is_str(ida_json_string(t->directory[IDA_DIR_CLOUD], "syncInterval"), "10s", "is changed alone");
    is_str(ida_json_string(t->directory[IDA_DIR_CLOUD], "certificateFile"), "/etc/c.pem",
           "others stay");
    must_apply("{\"directories\":{\"onPremises\":null}}", first, &t, &second, "a directory");
    ok(!t->has_directory[IDA_DIR_ON_PREMISES], "can be taken away");
    ida_ctx *c = fresh();
    is_int(apply(c, "{\"name\":null}", first, &t, &second), IDA_BAD_REQUEST,
           "a required member cannot");
    says(c, "it is named", "name: is required", NULL);
    is_int(apply(fresh(), "{\"directories\":{\"cloud\":null}}", first, &t, &second),
           IDA_BAD_REQUEST, "nor the directory users are made in");
    c = fresh();
    is_int(apply(c, "{\"companyId\":\"other\"}", first, &t, &second), IDA_BAD_REQUEST,
           "nor can the company ID change");
    says(c, "it is named", "companyId: cannot be changed", NULL);
    is_int(apply(fresh(), "{\"directories\":{\"cloud\":5}}", first, &t, &second), IDA_BAD_REQUEST,
           "a directory that is a number");
    is_int(apply(fresh(), "{}", "[1]", &t, &second), IDA_INTERNAL_ERROR,
           "a damaged document before");
    is_int(apply(fresh(), "", NULL, &t, &second), IDA_BAD_REQUEST, "an empty text");
}

static void sealing(void)
{
    unsigned char key[IDA_SEAL_KEY_LEN] = {1}, other[IDA_SEAL_KEY_LEN] = {2};
    ida_tenant *t, *changed;
    char *canonical, *ignored;
    apply(fresh(), full, NULL, &t, &canonical);
    char *seal = ida_tenant_seal(pool, key, t, 3);
    is_int((int64_t)strlen(seal), 64, "a seal has 64 digits");
    ok(ida_tenant_seal_valid(key, t, 3, seal), "it is right");
    ok(!ida_tenant_seal_valid(other, t, 3, seal), "not under another key");
    ok(!ida_tenant_seal_valid(key, t, 3, NULL) && !ida_tenant_seal_valid(key, t, 3, "") &&
           !ida_tenant_seal_valid(key, t, 3, "ab"),
       "nor when absent");
    ok(!ida_tenant_seal_valid(key, t, 2, seal) && !ida_tenant_seal_valid(key, t, 4, seal) &&
           !ida_tenant_seal_valid(key, t, 0, seal),
       "nor of another revision");
    ida_tenant_load(fresh(), canonical, &changed);
    ok(ida_tenant_seal_valid(key, changed, 3, seal), "right after loading");
    char *older = apr_pstrdup(pool, canonical);
    for (char *at = older; (at = strstr(at, "\"userCreate\"")) != NULL;) {
        memcpy(at, "\"userUpdate\"", 12);
    }
    ok(strcmp(older, canonical) != 0 && ida_tenant_load(fresh(), older, &changed) == IDA_OK,
       "stored before a rule came that it breaks: served on");
    ok(apply(fresh(), older, NULL, &changed, &ignored) != IDA_OK, "but not applied again");
    static const char *const breaking[] = {
        "{\"directories\":{\"cloud\":{\"apiUrl\":\"https://evil.example\"}}}",
        "{\"directories\":{\"onPremises\":{\"protectedAccounts\":[]}}}",
        "{\"directories\":{\"cloud\":{\"protectedAccounts\":[]}}}",
        "{\"directories\":{\"onPremises\":null}}",
        "{\"workflows\":[]}",
        "{\"workflows\":[{\"name\":\"Joiner\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
        "\"callWebhook\",\"url\":\"https:/"
        "/evil.example\","
        "\"secretFile\":\"/etc/w\"}]}]}",
        "{\"workflows\":[{\"name\":\"Joiner\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
        "\"sendInitialPassword\",\"to\":"
        "\"eve@evil.example\"}]}]}",
    };
    for (size_t i = 0; i < sizeof breaking / sizeof *breaking; i++) {
        ok(apply(fresh(), breaking[i], canonical, &changed, &ignored) == IDA_OK &&
               !ida_tenant_seal_valid(key, changed, 3, seal),
           "change %d breaks it", (int)i);
    }
    ok(apply(fresh(), "{\"seatLimit\":7}", canonical, &changed, &ignored) == IDA_OK &&
           ida_tenant_seal_valid(key, changed, 3, seal),
       "a seat limit does not");
}

static void put_file(const char *path, const char *text, mode_t mode)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) || fchmod(fd, mode) != 0 ||
        close(fd) != 0) {
        ok(0, "%s is written", path);
    }
}

static ida_seal_state judged(const char *key_file, const ida_tenant *t, const unsigned char *key,
                             int64_t revision, const char **why)
{
    ida_seal_state state = IDA_SEAL_BROKEN;
    ida_ctx *c = fresh();
    const ida_stored_tenant stored = {.seal = ida_tenant_seal(pool, key, t, revision),
                                      .revision = revision};
    is_int(ida_seal_judge(c, key_file, t, &stored, &state, why), IDA_OK, "judged");
    return state;
}

/* What a node remembers beside its seal key, so that an old document with its good seal is not
 * taken for the present one. */
static void revisions(const char *key_file, const unsigned char *key)
{
    ida_tenant *t;
    char *canonical;
    const char *why, *record = apr_pstrcat(pool, key_file, ".revisions", NULL);
    struct stat status;
    int64_t seen;
    apply(fresh(), full, NULL, &t, &canonical);
    is_int(judged(key_file, t, key, 5, &why), IDA_SEAL_GOOD,
           "nothing seen yet: a good seal is enough");
    is_int(ida_seal_note(fresh(), key_file, t->id, 5), IDA_OK, "seen");
    ok(stat(record, &status) == 0 && (status.st_mode & 07777) == 0600,
       "the record is for its owner alone");
    is_int(ida_seal_note(fresh(), key_file, "other", 2), IDA_OK, "another tenant");
    is_int(ida_seal_note(fresh(), key_file, t->id, 3), IDA_OK, "an older one");
    is_int(ida_seal_seen(fresh(), key_file, t->id, &seen), IDA_OK, "read");
    is_int(seen, 5, "never lowers it");
    is_int(judged(key_file, t, key, 5, &why), IDA_SEAL_GOOD, "the newest is good");
    is_int(judged(key_file, t, key, 6, &why), IDA_SEAL_GOOD, "so is a newer one");
    is_int(judged(key_file, t, key, 4, &why), IDA_SEAL_OLDER,
           "an older one with its good seal is not");
    ok(strstr(why, "revision 4") && strstr(why, "revision 5") && strstr(why, "backup"),
       "the reason says what happened: %s", why);
    static const struct {
        const char *text;
        mode_t mode;
    } bad[] = {{"[]", 0600}, {"{\"contoso\":", 0600}, {"", 0600}, {"{}", 0620}, {"{}", 0602}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        put_file(record, bad[i].text, bad[i].mode);
        is_int(ida_seal_note(fresh(), key_file, t->id, 9), IDA_INTERNAL_ERROR,
               "a record that is damaged or open to others is refused, never replaced");
    }
    unlink(record);
    is_int(symlink(key_file, record), 0, "a link");
    is_int(ida_seal_seen(fresh(), key_file, t->id, &seen), IDA_INTERNAL_ERROR, "is not followed");
    unlink(record);
}

static void files(void)
{
    char dir[] = "/tmp/ida-tenant-XXXXXX";
    if (!mkdtemp(dir)) {
        ok(0, "a temporary directory");
        return;
    }
    char *secret = apr_pstrcat(pool, dir, "/secret", NULL),
         *ca = apr_pstrcat(pool, dir, "/ca", NULL), *hook = apr_pstrcat(pool, dir, "/hook", NULL);
    ida_tenant *t;
    char *canonical;
    const char *text = with(
        apr_pstrcat(pool,
                    "\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{"
                    "\"type\":\"removeLicenses\"},"
                    "{\"type\":\"callWebhook\",\"url\":\"https://x.example\",\"secretFile\":\"",
                    hook, "\"}]}]", NULL));
    apply(fresh(), text, NULL, &t, &canonical);
    must_apply(apr_pstrcat(pool, "{\"directories\":{\"onPremises\":{\"bindPasswordFile\":\"",
                           secret, "\",\"caFile\":\"", ca, "\"}}}", NULL),
               canonical, &t, &canonical, "a tenant with three files");
    ida_ctx *c = fresh();
    is_int(ida_tenant_files_check(c, t), IDA_BAD_REQUEST, "missing files are refused");
    says(c, "each with member and path", "directories.onPremises.bindPasswordFile: ", secret,
         "directories.onPremises.caFile: ", ca, "workflows[0].actions[1].secretFile: ", hook,
         "No such file", NULL);
    put_file(secret, "password", 0640);
    put_file(ca, "certificate", 0644);
    put_file(hook, "whsec_x", 0600);
    c = fresh();
    is_int(ida_tenant_files_check(c, t), IDA_OK, "group may read secrets, all may read a CA");
    static const mode_t open_modes[] = {0604, 0602, 0601};
    for (size_t i = 0; i < 3; i++) {
        chmod(secret, open_modes[i]);
        c = fresh();
        is_int(ida_tenant_files_check(c, t), IDA_BAD_REQUEST, "a secret open to others is refused");
        says(c, "with the remedy", "bindPasswordFile", "chmod o=", NULL);
    }
    put_file(secret, "", 0600);
    is_int(ida_tenant_files_check(fresh(), t), IDA_BAD_REQUEST,
           "an empty password file is refused");
    unlink(secret);
    mkfifo(secret, 0600);
    is_int(ida_tenant_files_check(fresh(), t), IDA_BAD_REQUEST,
           "a pipe is refused and does not block");
    unlink(secret);
    unlink(ca);
    unlink(hook);

    unsigned char key[IDA_SEAL_KEY_LEN], again[IDA_SEAL_KEY_LEN];
    char *path = apr_pstrcat(pool, dir, "/seal.key", NULL);
    struct stat status;
    c = fresh();
    is_int(ida_seal_key_read(c, path, key), IDA_INTERNAL_ERROR, "no seal key yet");
    says(c, "the message says what makes it", path, "schema upgrade", NULL);
    is_int(ida_seal_key_make(fresh(), path, (uid_t)-1, (gid_t)-1), IDA_OK, "it is made");
    ok(stat(path, &status) == 0 && (status.st_mode & 07777) == 0400 && status.st_size == 65,
       "mode 0400, 64 digits");
    is_int(ida_seal_key_read(fresh(), path, key), IDA_OK, "read");
    is_int(ida_seal_key_make(fresh(), path, (uid_t)-1, (gid_t)-1), IDA_OK,
           "not made a second time");
    is_int(ida_seal_key_read(fresh(), path, again), IDA_OK, "read again");
    ok(memcmp(key, again, sizeof key) == 0, "the same key");
    revisions(path, key);
    chmod(path, 0640);
    is_int(ida_seal_key_read(fresh(), path, again), IDA_OK, "a group may read it");
    chmod(path, 0644);
    is_int(ida_seal_key_read(fresh(), path, again), IDA_INTERNAL_ERROR, "others may not");
    static const char *const damaged[] = {
        "", "abcd", "zz", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef00"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        put_file(path, damaged[i], 0600);
        is_int(ida_seal_key_make(fresh(), path, (uid_t)-1, (gid_t)-1), IDA_OK,
               "one that is there stays");
        is_int(ida_seal_key_read(fresh(), path, again), IDA_INTERNAL_ERROR,
               "a damaged key file is refused, never replaced");
    }
    unlink(path);
    is_int(ida_seal_key_make(fresh(), "/nonexistent/dir/key", (uid_t)-1, (gid_t)-1),
           IDA_INTERNAL_ERROR, "a directory that is not there");
    ok(rmdir(dir) == 0, "nothing is left behind");
}

static void small_values(void)
{
    static const struct {
        const char *text;
        int64_t ms;
    } durations[] = {{"1s", 1000},
                     {"60s", 60000},
                     {"5m", 300000},
                     {"24h", 86400000},
                     {"1440m", 86400000},
                     {"86400s", 86400000},
                     {"86401s", 0},
                     {"1441m", 0},
                     {"25h", 0},
                     {"0s", 0},
                     {"", 0},
                     {"s", 0},
                     {"60", 0},
                     {"1d", 0},
                     {"1ss", 0},
                     {"-1s", 0},
                     {" 1s", 0},
                     {"9999999999s", 0},
                     {"1.5s", 0}};
    for (size_t i = 0; i < sizeof durations / sizeof *durations; i++) {
        is_int(ida_duration_parse(durations[i].text), durations[i].ms, durations[i].text);
    }
    is_int(ida_duration_parse(NULL), 0, "no duration");
    int percent;
    int64_t count;
    ok(ida_guard_parse(ida_json_load(pool, "\"20%\""), &percent, &count) && percent == 20 &&
           count == 0,
       "a share");
    ok(ida_guard_parse(ida_json_load(pool, "7"), &percent, &count) && percent == 0 && count == 7,
       "a count");
    ok(!ida_guard_parse(ida_json_load(pool, "-7"), &percent, &count) &&
           !ida_guard_parse(NULL, &percent, &count),
       "neither");
}

static void hosts(void)
{
    static const char *const near[] = {"localhost", "LOCALHOST", "127.0.0.1",        "127.255.0.9",
                                       "[::1]",     "::1",       "[0:0:0:0:0:0:0:1]"};
    static const char *const far[] = {"",
                                      "127.0.0.1.example",
                                      "127.example",
                                      "localhost.example",
                                      "128.0.0.1",
                                      "127.1",
                                      "1270.0.0.1",
                                      "[::2]",
                                      "::",
                                      "[127.0.0.1]",
                                      "[localhost]"};
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        ok(ida_host_loopback(near[i], strlen(near[i])), "this machine: %s", near[i]);
    }
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        ok(!ida_host_loopback(far[i], strlen(far[i])), "not surely this machine: \"%s\"", far[i]);
    }
    ok(ida_host_loopback("localhost:80", 9), "as many bytes as are told");
}

int main(void)
{
    setup();
    hosts();
    values();
    refusals();
    openldap();
    domains();
    merging();
    sealing();
    files();
    small_values();
    return done();
}
