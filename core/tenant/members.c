/* Owns the rows of the tenant document: one for each member, with its type, default, limits and
 * what it means. Checks, defaults, the JSON Schema and the manual page follow from them. */
#include "core/tenant/members.h"

#include "core/tenant/shape.h"
#include "core/tenant/tenant.h"

static const char *const dialects[] = {"activeDirectory", "openLdap", NULL};
static const char *const binds[] = {"simple", "gssapi", "external", NULL};
static const char *const triggers[] = {"userCreate", "userUpdate", "userDelete", NULL};
static const char *const events[] = {"task.done", "task.failed", "task.attention", NULL};

static const member modules[] = {
    {"publicApi", BOOLEAN, FILL, .fallback = "true",
     .about = "REST and MCP are served for this company"},
    {"accessGovernance", BOOLEAN, FILL, .fallback = "true",
     .about = "role templates, access requests and the access catalog are served"},
    {0},
};

static const member rates[] = {
    {"key", STRING, .rule = ida_rule_rate,
     .about = "limit of each API key, which goes before the server's"},
    {"company", STRING, .rule = ida_rule_rate,
     .about = "limit of all keys of the company together, which goes before the server's"},
    {0},
};

static const member brake[] = {
    {"offboardingsPerHour", INTEGER, .low = 1, .high = 100000,
     .about = "accounts that may be disabled within an hour; what is beyond it is held until a "
              "person releases it"},
    {0},
};

static const member hygiene[] = {
    {"staleAfterDays", INTEGER, FILL, .fallback = "90", .low = 1, .high = 3650,
     .about = "days without a sign-in after which an account counts as stale"},
    {0},
};

static const member keys[] = {
    {"defaultDays", INTEGER, .low = 1, .high = 3650,
     .about = "days after which a new API key expires unless it is made with another expiry; "
              "without it a key never expires"},
    {0},
};

static const member of_pause[] = {
    {"since", STRING, REQUIRED, .rule = ida_rule_instant, .about = "when it was paused"},
    {"reason", STRING, .rule = ida_rule_text, .high = 500,
     .about = "why, for administrators; callers are not told"},
    {0},
};

static const member retention[] = {
    {"taskHistoryDays", INTEGER, FILL, .fallback = "365", .low = 1, .high = 3650,
     .about = "days that ended tasks are kept"},
    {"auditDays", INTEGER, FILL, .fallback = "730", .low = 1, .high = 3650,
     .about = "days that audit records are kept"},
    {0},
};

static const member cloud[] = {
    {"apiUrl", STRING, FILL, .fallback = "\"https://graph.microsoft.com/v1.0\"",
     .rule = ida_rule_service_url, .high = 2048, .about = "address of the directory's API"},
    {"authorityUrl", STRING, FILL, .fallback = "\"https://login.microsoftonline.com\"",
     .rule = ida_rule_service_url, .high = 2048, .about = "address that gives tokens"},
    {"directoryId", STRING, REQUIRED, .rule = ida_rule_guid,
     .about = "ID of the directory (the tenant ID of the registration)"},
    {"clientId", STRING, REQUIRED, .rule = ida_rule_guid,
     .about = "ID of the registered application"},
    {"clientSecretFile", STRING, SECRET_FILE, .rule = ida_rule_secret, .high = 4095,
     .about = "file with the application's secret; this or certificateFile"},
    {"clientSecretExpires", STRING, .rule = ida_rule_instant,
     .about = "day or instant when that secret expires, so that the service warns before it does"},
    {"certificateFile", STRING, SECRET_FILE, .rule = ida_rule_secret, .high = 4095,
     .about = "PEM file with RSA key and certificate of the application; this or clientSecretFile"},
    {"caFile", STRING, PUBLIC_FILE, .rule = ida_rule_path, .high = 4095,
     .about =
         "authorities that signed the certificates of these addresses, instead of the system's"},
    {"proxyUrl", STRING, .rule = ida_rule_proxy_url, .high = 2048,
     .about = "proxy that is asked to connect"},
    {"markerAttribute", STRING, FILL, .fallback = "\"" IDA_CLOUD_MARKER "\"",
     .rule = ida_rule_cloud_marker,
     .about = "attribute in which the worker marks what it creates, so nothing else may write it; "
              "extensionAttribute1 to extensionAttribute15"},
    {"protectedAccounts", STRINGS, FILL, .fallback = "[]", .rule = ida_rule_cloud_account,
     .high = 1000, .about = "object IDs or user names of accounts that are never changed"},
    {"syncInterval", STRING, FILL, .fallback = "\"60s\"", .rule = ida_rule_duration,
     .about = "time from one synchronisation to the next"},
    {"signInInterval", STRING, FILL, .fallback = "\"1h\"", .rule = ida_rule_duration,
     .about = "time from one reading of all sign-ins to the next"},
    {"deletionGuard", SHARE, FILL, .fallback = "\"20%\"",
     .about = "share or number of people whom one synchronisation may remove"},
    {0},
};

static const member on_premises[] = {
    {"urls", STRINGS, REQUIRED | NOT_EMPTY, .rule = ida_rule_ldap_url, .high = 16,
     .about = "servers, tried in this order: ldaps://, ldap:// with startTls, ldapi://"},
    {"startTls", BOOLEAN, FILL, .fallback = "false",
     .about = "TLS is begun on ldap:// connections"},
    {"dialect", STRING, REQUIRED, .words = dialects, .about = "kind of server"},
    {"bind", STRING, FILL, .fallback = "\"simple\"", .words = binds,
     .about = "how the service account signs in"},
    /* no DN by rule: AD also takes user@realm and DOMAIN\user */
    {"bindDn", STRING, .rule = ida_rule_name, .high = 1024,
     .about = "the service account; Active Directory also takes user@realm and DOMAIN\\user"},
    {"bindPasswordFile", STRING, SECRET_FILE, .rule = ida_rule_secret, .high = 4095,
     .about = "file with its password"},
    {"caFile", STRING, PUBLIC_FILE, .rule = ida_rule_path, .high = 4095,
     .about = "authorities that signed the servers' certificates, instead of the system's"},
    {"userBase", STRING, REQUIRED, .rule = ida_rule_dn, .high = 1024,
     .about = "DN below which people are"},
    {"groupBase", STRING, REQUIRED, .rule = ida_rule_dn, .high = 1024,
     .about = "DN below which groups are"},
    {"createIn", STRING, .rule = ida_rule_dn, .high = 1024,
     .about = "DN in which new people are created; the userBase when absent"},
    {"upnAttribute", STRING, .rule = ida_rule_attribute,
     .about = "attribute that holds the user name; mail, in Active Directory userPrincipalName, "
              "when absent"},
    {"markerAttribute", STRING, .rule = ida_rule_attribute,
     .about = "attribute in which the worker marks what it creates; description, in Active "
              "Directory adminDescription, when absent"},
    {"placeholderMember", STRING, .rule = ida_rule_dn, .high = 1024,
     .about = "DN that stands in a group that would else be empty"},
    {"protectedAccounts", STRINGS, FILL, .fallback = "[]", .rule = ida_rule_name, .high = 1000,
     .about = "DNs, user names or IDs of accounts that are never changed"},
    {"syncInterval", STRING, FILL, .fallback = "\"60s\"", .rule = ida_rule_duration,
     .about = "time from one synchronisation to the next"},
    {"deletionGuard", SHARE, FILL, .fallback = "\"20%\"",
     .about = "share or number of people whom one synchronisation may remove"},
    {0},
};

static const member both_directories[] = {
    {"cloud", OBJECT, .inner = cloud, .about = "Microsoft Entra ID by Microsoft Graph"},
    {"onPremises", OBJECT, .inner = on_premises, .about = "OpenLDAP or Active Directory"},
    {0},
};

static const member template[] = {
    {"name", STRING, REQUIRED, .rule = ida_rule_name, .about = "name of the role template"},
    {"description", STRING, MAY_BE_EMPTY, .rule = ida_rule_text, .high = 1024,
     .about = "what it is for"},
    {"groups", STRINGS, .rule = ida_rule_name, .high = 500,
     .about = "groups that it gives: ID or unique name"},
    {"licenses", STRINGS, .rule = ida_rule_name, .high = 500,
     .about = "licences that it gives: ID or name"},
    {0},
};

static const member service[] = {
    {"service", STRING, REQUIRED, .rule = ida_rule_name,
     .about = "name of the service that can be asked for"},
    {"group", STRING, REQUIRED, .rule = ida_rule_name, .about = "group whose members have it"},
    {"approvers", STRINGS, REQUIRED | NOT_EMPTY, .rule = ida_rule_upn, .high = 100,
     .about = "user names of those who may decide"},
    {0},
};

const action_type ida_tenant_actions[] = {
#define ACTION(word, function, of_account, summary, ...)                                \
    {word,                                                                              \
     summary,                                                                           \
     {{"type", STRING, .flags = REQUIRED, .about = "kind of the action"},               \
      {"continueOnError", .type = BOOLEAN,                                              \
       .about = "a failure is a warning, and the workflow goes on; false when absent"}, \
      __VA_ARGS__}},
#include "core/tenant/actions.def"
#undef ACTION
    {0},
};

static const member workflow[] = {
    {"name", STRING, REQUIRED, .rule = ida_rule_name, .about = "name of the workflow"},
    {"trigger", STRING, REQUIRED, .words = triggers, .about = "what it follows"},
    {"active", .type = BOOLEAN, .about = "whether it runs; true when absent"},
    {"actions", ACTIONS, REQUIRED, .high = 100, .about = "its actions, in this order"},
    {0},
};

/* Called like the webhooks of workflows. */
static const member notification[] = {
    {"url", STRING, REQUIRED, .rule = ida_rule_webhook_url, .high = 2048,
     .about = "address that is called with each event"},
    {"secretFile", STRING, REQUIRED | SECRET_FILE, .rule = ida_rule_secret, .high = 4095,
     .about = "file with the secret that signs the calls (Standard Webhooks)"},
    {"events", STRINGS, REQUIRED | NOT_EMPTY, .words = events, .high = 3,
     .about = "events that are sent"},
    {"caFile", STRING, PUBLIC_FILE, .rule = ida_rule_path, .high = 4095,
     .about = "authorities that signed the receiver's certificate, instead of the system's"},
    {"allowPrivate", .type = BOOLEAN,
     .about = "whether the address may be outside the public internet"},
    {0},
};

const member ida_tenant_members[] = {
    {"companyId", STRING, REQUIRED, .rule = ida_rule_company,
     .about = "the ID that callers name the company by"},
    {"name", STRING, REQUIRED, .rule = ida_rule_name, .about = "name of the company"},
    {"timeZone", STRING, FILL, .fallback = "\"Europe/Stockholm\"", .rule = ida_rule_zone,
     .about = "time zone of dates and times"},
    {"usernameFormat", STRING, FILL, .fallback = "\"{firstname}.{surname}\"",
     .rule = ida_rule_local_format,
     .about = "how user names are made: {firstname} {middleName} {surname}, also {firstname:1}"},
    {"emailFormat", STRING, .rule = ida_rule_local_format,
     .about = "how mail addresses are made; the usernameFormat when absent"},
    {"displayNameFormat", STRING, FILL, .fallback = "\"{firstname} {surname}\"",
     .rule = ida_rule_display_format, .about = "how display names are made"},
    {"upnDomain", STRING, REQUIRED, .rule = ida_rule_domain, .about = "domain of user names"},
    {"emailDomain", STRING, .rule = ida_rule_domain,
     .about = "domain of mail addresses; the upnDomain when absent"},
    {"createUsersIn", STRING, .words = ida_directory_names,
     .about = "directory in which new people are created; the only one when absent"},
    {"seatLimit", INTEGER, .high = 10000000,
     .about = "enabled users, queued creations included; no limit when absent"},
    {"queuedMegabytes", INTEGER, .high = 1000000,
     .about = "room for photos of tasks that are queued or may be tried again; 256 when absent"},
    {"modules", OBJECT, FILL, .fallback = "{}", .inner = modules,
     .about = "which parts of the service the company has"},
    {"rateLimits", OBJECT, FILL, .fallback = "{}", .inner = rates,
     .about = "limits of requests, such as 120/60s"},
    {"brake", OBJECT, FILL, .fallback = "{}", .inner = brake,
     .about = "limit on accounts that are disabled in a short time"},
    {"hygiene", OBJECT, FILL, .fallback = "{}", .inner = hygiene,
     .about = "what the hygiene report looks for"},
    {"retention", OBJECT, FILL, .fallback = "{}", .inner = retention,
     .about = "how long records are kept"},
    {"leaverAttributes", STRINGS, FILL, .fallback = IDA_LEAVER_ATTRIBUTES,
     .rule = ida_rule_attribute, .high = 64,
     .about = "attributes of the on-premises directory that an offboarding takes away, because "
              "they let somebody sign in, and a restore gives back"},
    {"keys", OBJECT, FILL, .fallback = "{}", .inner = keys, .about = "expiry of API keys"},
    {"directories", OBJECT, REQUIRED, .inner = both_directories,
     .about = "the directories of the company, one of each kind at most"},
    {"roleTemplates", OBJECTS, .high = 1000, .inner = template, .unique = "name",
     .about = "what `idadminctl role` assigns and takes away"},
    {"workflows", OBJECTS, .high = 200, .inner = workflow, .unique = "name",
     .about = "what follows a creation, an update or an offboarding"},
    {"notifications", OBJECTS, .high = 20, .inner = notification, .unique = "url",
     .about = "receivers of events"},
    {"accessCatalog", OBJECTS, .high = 1000, .inner = service, .unique = "service",
     .about = "what `idadminctl request` asks for"},
    {"paused", OBJECT, .inner = of_pause,
     .about = "changes are refused and queued work waits; `idadminctl tenant pause` sets it, "
              "`resume` takes it away"},
    {"deleted", STRING, .rule = ida_rule_instant,
     .about = "what is left of a deleted company has it; only `idadminctl tenant delete` sets it"},
    {0},
};
