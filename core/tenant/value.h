/* Values inside a tenant document that more than one place must read the same way. */
#ifndef CORE_TENANT_VALUE_H
#define CORE_TENANT_VALUE_H

#include <jansson.h>

#include "core/base/context.h"

/* "60s", "5m", "24h", from 1 s to 24 h: milliseconds; 0 when it is none. */
int64_t ida_duration_parse(const char *text);

/* `deletionGuard`: "20%" (1-100) sets *percent, a count from 1 sets *count, the other one becomes
 * 0. 0 when it is neither. */
int ida_guard_parse(const json_t *value, int *percent, int64_t *count);

/* Attributes used if the document names none. The marker identifies our account after a lost
 * answer: it holds a task ID (26 characters), so AD's employeeID (16) is too short;
 * adminDescription is in every AD schema and has no other use. */
#define IDA_CLOUD_MARKER "extensionAttribute15"
#define IDA_AD_MARKER "adminDescription"
#define IDA_OPENLDAP_MARKER "description"
/* What an offboarding takes beside the password: with these a person can sign in. */
#define IDA_LEAVER_ATTRIBUTES \
    "[\"sshPublicKey\",\"altSecurityIdentities\",\"userCertificate\",\"msDS-KeyCredentialLink\"]"
#define IDA_AD_UPN "userPrincipalName"
#define IDA_OPENLDAP_UPN "mail"

/* Rules for single texts: NULL if it is valid, otherwise the rule it breaks, in c->pool. */
typedef const char *ida_value_rule(ida_ctx *c, const char *text);
ida_value_rule ida_rule_name, ida_rule_company, ida_rule_zone, ida_rule_local_format,
    ida_rule_display_format, ida_rule_domain, ida_rule_rate, ida_rule_service_url,
    ida_rule_webhook_url, ida_rule_proxy_url, ida_rule_ldap_url, ida_rule_guid, ida_rule_path,
    ida_rule_secret, ida_rule_cloud_marker, ida_rule_attribute, ida_rule_duration, ida_rule_dn,
    ida_rule_upn, ida_rule_cloud_account, ida_rule_instant, ida_rule_text, ida_rule_body,
    ida_rule_recipient;

#endif
