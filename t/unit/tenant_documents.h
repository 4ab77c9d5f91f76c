/* Documents of tenants for the unit tests of core/tenant, and how one is applied. */
#ifndef T_UNIT_TENANT_DOCUMENTS_H
#define T_UNIT_TENANT_DOCUMENTS_H

#include "core/base/json.h"
#include "core/tenant/tenant.h"
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
__attribute__((unused)) static const char full[] =
    "{\"companyId\":\"contoso\",\"name\":\"Contoso "
    "AB\",\"timeZone\":\"Europe/"
    "Helsinki\",\"usernameFormat\":\"{firstname:1}{surname}\",\"emailFormat\":\"{firstname}.{"
    "surname}\",\"displayNameFormat\":\"{surname}, "
    "{firstname}\",\"upnDomain\":\"contoso.example\",\"emailDomain\":\"mail.contoso.example\","
    "\"createUsersIn\":\"cloud\",\"seatLimit\":500,\"modules\":{\"publicApi\":false,"
    "\"accessGovernance\":false},\"rateLimits\":{\"key\":\"240/"
    "60s\",\"company\":\"off\"},\"brake\":{\"offboardingsPerHour\":20},\"hygiene\":{"
    "\"staleAfterDays\":30},\"retention\":{\"taskHistoryDays\":100,\"auditDays\":200},"
    "\"directories\":{\"cloud\":{\"apiUrl\":\"http://127.0.0.1:8080/"
    "v1.0\",\"authorityUrl\":\"http://"
    "localhost:8080\",\"directoryId\":\"2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c14\",\"clientId\":"
    "\"2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c14\",\"certificateFile\":\"/etc/c.pem\",\"caFile\":\"/etc/"
    "ca.pem\",\"proxyUrl\":\"http://"
    "proxy.contoso.example:3128\",\"markerAttribute\":\"extensionAttribute3\","
    "\"protectedAccounts\":[\"emergency@contoso.example\",\"2f1c6b0e-8a4d-4c57-9f21-0d3b7e5a9c15\"]"
    ",\"syncInterval\":\"5m\",\"deletionGuard\":50},\"onPremises\":{\"urls\":[\"ldap://"
    "dc1.contoso.example:389\",\"ldapi:///"
    "\"],\"startTls\":true,\"dialect\":\"activeDirectory\",\"bind\":\"gssapi\",\"caFile\":\"/etc/"
    "ca.pem\",\"userBase\":\"OU=Staff,DC=contoso,DC=example\",\"groupBase\":\"DC=contoso,DC="
    "example\",\"createIn\":\"OU=New\\\\, "
    "all,DC=contoso,DC=example\",\"upnAttribute\":\"userPrincipalName\",\"markerAttribute\":"
    "\"info\",\"placeholderMember\":\"cn=nobody\",\"protectedAccounts\":[\"admin@contoso.example\"]"
    ",\"syncInterval\":\"24h\",\"deletionGuard\":\"1%\"}},\"roleTemplates\":[{\"name\":\"Sales\","
    "\"description\":\"\",\"groups\":[\"Sales "
    "team\"],\"licenses\":[\"SPE_E3\"]}],\"workflows\":[{\"name\":\"Joiner\",\"trigger\":"
    "\"userCreate\",\"active\":true,\"actions\":[{\"type\":\"addToGroup\",\"group\":\"All "
    "staff\",\"continueOnError\":false},{\"type\":\"assignRoleTemplate\",\"roleTemplate\":"
    "\"Sales\"},{\"type\":\"sendEmail\",\"to\":\"{manager}\",\"subject\":\"{displayName} { starts "
    "}\",\"body\":\"Hello\\n{firstname:1}. "
    "{date}\"},{\"type\":\"sendInitialPassword\",\"to\":\"{manager}\"},{\"type\":\"setAttribute\","
    "\"attribute\":\"info\",\"value\":\"\"},{\"type\":\"callWebhook\",\"url\":\"https://"
    "hooks.contoso.example/in?x=1\",\"secretFile\":\"/etc/"
    "w\",\"allowPrivate\":true}]},{\"name\":\"Leaver\",\"trigger\":\"userDelete\",\"active\":false,"
    "\"actions\":[{\"type\":\"removeFromGroup\",\"group\":\"All "
    "staff\"},{\"type\":\"unassignRoleTemplates\"},{\"type\":\"removeLicenses\"},{\"type\":"
    "\"transferReports\"},{\"type\":\"moveTo\",\"container\":\"OU=Left,DC=contoso,DC=example\"}]}],"
    "\"accessCatalog\":[{\"service\":\"CRM administration\",\"group\":\"CRM "
    "admins\",\"approvers\":[\"eva.berg@contoso.example\"]}]}";

__attribute__((unused)) static ida_kind apply(ida_ctx *c, const char *text, const char *previous,
                                              ida_tenant **tenant, char **canonical)
{
    char *copy = exact(text, strlen(text));
    ida_kind kind = ida_tenant_apply(c, copy, strlen(text), previous, tenant, canonical);
    free(copy);
    return kind;
}

/* A document that the test continues with: if it is refused, the test ends. */
__attribute__((unused)) static void must_apply(const char *text, const char *previous,
                                               ida_tenant **tenant, char **canonical,
                                               const char *name)
{
    ida_ctx *c = fresh();
    if (!ok(apply(c, text, previous, tenant, canonical) == IDA_OK, "%s", name)) {
        printf("Bail out! %s\n", c->message);
        exit(1);
    }
}

/* A small valid document with one or more additional members. */
__attribute__((unused)) static const char *with(const char *members)
{
    return apr_pstrcat(pool, HEAD ",\"directories\":{" ON_PREMISES "},", members, "}", NULL);
}

/* The same with members of the on-premises or cloud directory changed. */
__attribute__((unused)) static const char *with_directory(const char *name, const char *members)
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

__attribute__((unused)) static void accepted(const char *text, const char *name)
{
    ida_tenant *t;
    char *canonical;
    ida_ctx *c = fresh();
    ok(apply(c, text, NULL, &t, &canonical) == IDA_OK, "%s%s%s", name, c->message ? ": " : "",
       c->message ? c->message : "");
}

__attribute__((unused)) static void refused(const char *text, const char *path, const char *rule)
{
    ida_tenant *t;
    char *canonical;
    ida_ctx *c = fresh();
    is_int(apply(c, text, NULL, &t, &canonical), IDA_BAD_REQUEST, path);
    says(c, "names the member and the rule", apr_pstrcat(pool, path, ": ", NULL), rule, NULL);
    ok(!t && !canonical, "and gives nothing");
}

#endif
