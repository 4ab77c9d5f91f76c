/* Tenant documents: every member's rule, merging, loading, sealing, secret files. */
#include <apr_strings.h>
#include <apr_tables.h>

#include "core/base/host.h"
#include "core/tenant/difference.h"
#include "core/tenant/value.h"
#include "t/unit/linear.h"
#include "t/unit/tenant_documents.h"

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
        {"\"notifications\":[{\"url\":\"http://x.example\",\"secretFile\":\"/x\",\"events\":"
         "[\"task.done\"]}]",
         "notifications[0].url", "https"},
        {"\"notifications\":[{\"url\":\"https://x.example\",\"secretFile\":\"x\",\"events\":"
         "[\"task.done\"]}]",
         "notifications[0].secretFile", "absolute path"},
        {"\"notifications\":[{\"url\":\"https://x.example\",\"events\":[\"task.done\"]}]",
         "notifications[0].secretFile", "is required"},
        {"\"notifications\":[{\"url\":\"https://x.example\",\"secretFile\":\"/x\",\"events\":"
         "[]}]",
         "notifications[0].events", "not be empty"},
        {"\"notifications\":[{\"url\":\"https://x.example\",\"secretFile\":\"/x\",\"events\":"
         "[\"task.queued\"]}]",
         "notifications[0].events[0]", "task.attention"},
        {"\"notifications\":[{\"url\":\"https://x.example\",\"secretFile\":\"/x\",\"events\":"
         "[\"task.done\"]},{\"url\":\"https://x.example\",\"secretFile\":\"/y\",\"events\":"
         "[\"task.failed\"]}]",
         "notifications[1].url", "used twice"},
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
         "\"removeLicenses\",\"group\":\"x\"}]}]",
         "workflows[0].actions[0].group", "not a known member"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"assignRoleTemplate\",\"roleTemplate\":\"x\"}]}]",
         "workflows[0].actions[0].roleTemplate", "role template"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"sendEmail\",\"to\":\"all\",\"subject\":\"s\",\"body\":\"b\"}]}]",
         "workflows[0].actions[0].to", "{manager}"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"sendEmail\",\"to\":\"{mail}\",\"subject\":\"{password}\",\"body\":\"b\"}]}]",
         "workflows[0].actions[0].subject", "{password}"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"sendEmail\",\"to\":\"{mail}\",\"subject\":\"a\\nBcc: x\",\"body\":\"b\"}]}]",
         "workflows[0].actions[0].subject", "control"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"sendEmail\",\"to\":\"{mail}\",\"subject\":\"s\",\"body\":\"{date:3}\"}]}]",
         "workflows[0].actions[0].body", "{date}"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"callWebhook\",\"url\":\"http://x.example\",\"secretFile\":\"/x\"}]}]",
         "workflows[0].actions[0].url", "https://"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[{\"type\":"
         "\"callWebhook\",\"url\":\"https://x.example\",\"secretFile\":\"x\"}]}]",
         "workflows[0].actions[0].secretFile", "absolute"},
        {"\"workflows\":[{\"name\":\"J\",\"trigger\":\"userCreate\",\"actions\":[]},{\"name\":"
         "\"j\",\"trigger\":\"userDelete\",\"actions\":[]}]",
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
        {"cloud", "{\"clientSecretExpires\":\"next year\"}", ".clientSecretExpires", "instant"},
        {"cloud",
         "{\"clientSecretFile\":null,\"certificateFile\":\"/etc/c\","
         "\"clientSecretExpires\":\"2027-02-08T07:00:00Z\"}",
         ".clientSecretExpires", "only used with clientSecretFile"},
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
    ok(ida_host_loopback("localhost:80", 9), "as many bytes as are reported");
}

/* A document of about so many values: half of them templates, half actions that name another one.
 */
static double judge_faulty(int values, void *baton)
{
    apr_pool_t *own;
    apr_pool_create(&own, pool);
    apr_array_header_t *text = apr_array_make(own, values, sizeof(const char *));
    APR_ARRAY_PUSH(text, const char *) = "{\"roleTemplates\":[{\"name\":\"T\"}";
    for (int i = 0; i < values / 4; i++) {
        APR_ARRAY_PUSH(text, const char *) = ida_printf(own, ",{\"name\":\"T%d\"}", i);
    }
    APR_ARRAY_PUSH(text, const char *) = "],\"workflows\":[{\"actions\":[{}";
    for (int i = 0; i < values / 8; i++) {
        APR_ARRAY_PUSH(text, const char *) = ",{\"roleTemplate\":\"none\"}";
    }
    APR_ARRAY_PUSH(text, const char *) = "]}]";
    for (int i = 0; i < values / 4; i++) {
        APR_ARRAY_PUSH(text, const char *) = ida_printf(own, ",\"m%d\":1", i);
    }
    APR_ARRAY_PUSH(text, const char *) = "}";
    const char *document = apr_array_pstrcat(own, text, 0);
    ida_ctx *c = ida_ctx_make(&env, own);
    ida_tenant *tenant;
    char *canonical;
    double before = linear_clock();
    *(int *)baton = ida_tenant_apply(c, document, strlen(document), NULL, &tenant, &canonical) ==
                    IDA_BAD_REQUEST;
    double took = linear_clock() - before;
    apr_pool_destroy(own);
    return took;
}

/* A list of lists, a hundred values each. */
static void lists(apr_array_header_t *text, int values, const char *before, const char *list,
                  const char *value, const char *after)
{
    apr_pool_t *own = text->pool;
    for (int i = 0; i < values / 100; i++) {
        APR_ARRAY_PUSH(text, const char *) = ida_printf(own, "%s%s%d\",\"%s\":", i ? "},{" : "",
                                                        before, i, list);
        for (int k = 0; k < 100; k++) {
            APR_ARRAY_PUSH(text, const char *) = ida_printf(own, "%s%s%d%s", k ? "," : "[", value,
                                                            100 * i + k, after);
        }
        APR_ARRAY_PUSH(text, const char *) = "]";
    }
}

/* A document with so many values that is accepted; `with`: a member more. */
static const char *long_document(apr_pool_t *own, int values, const char *with)
{
    apr_array_header_t *text = apr_array_make(own, values, sizeof(const char *));
    APR_ARRAY_PUSH(text, const char *) = HEAD ",\"directories\":{" ON_PREMISES "}";
    APR_ARRAY_PUSH(text, const char *) = with;
    APR_ARRAY_PUSH(text, const char *) = ",\"roleTemplates\":[{";
    lists(text, values / 4, "\"name\":\"T", "groups", "\"G", "\"");
    APR_ARRAY_PUSH(text, const char *) = "}],\"accessCatalog\":[{";
    lists(text, values / 4, "\"group\":\"G\",\"service\":\"S", "approvers", "\"a",
          "@contoso.example\"");
    APR_ARRAY_PUSH(text, const char *) = "}],\"workflows\":[{";
    lists(text, values / 8, "\"trigger\":\"userCreate\",\"name\":\"W", "actions",
          "{\"type\":\"addToGroup\",\"group\":\"G", "\"}");
    APR_ARRAY_PUSH(text, const char *) = "}]}";
    return apr_array_pstrcat(own, text, 0);
}

/* A draft of it beside the stored one: judged, merged, compared. */
static double judge_draft(int values, void *baton)
{
    apr_pool_t *own;
    apr_pool_create(&own, pool);
    const char *stored = long_document(own, values, ""),
               *draft = long_document(own, values, ",\"seatLimit\":7");
    ida_ctx *c = ida_ctx_make(&env, own);
    ida_tenant *tenant = NULL, *drafted = NULL;
    char *canonical, *other;
    double before = linear_clock();
    ida_kind kind = ida_tenant_apply(c, stored, strlen(stored), NULL, &tenant, &canonical);
    kind = kind ? kind : ida_tenant_apply(c, draft, strlen(draft), canonical, &drafted, &other);
    *(const char **)baton = kind ? c->message : NULL;
    json_t *changes = kind ? NULL
                           : ida_tenant_difference(own, (json_t *)(uintptr_t)tenant->document,
                                                   (json_t *)(uintptr_t)drafted->document, 0);
    double took = linear_clock() - before;
    is_int((int64_t)json_array_size(changes), 1, "a draft is judged and compared");
    apr_pool_destroy(own);
    return took;
}

static void cost(void)
{
    int refused = 0;
    const char *fault = NULL;
    linear("a document with faults", judge_faulty, &refused);
    ok(refused, "which is refused");
    linear("a draft of a document without", judge_draft, &fault);
    is_str(fault, NULL, "which is accepted");
}

int main(void)
{
    setup();
    cost();
    hosts();
    values();
    refusals();
    openldap();
    domains();
    merging();
    small_values();
    return done();
}
