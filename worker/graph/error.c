/* Owns the tables from status and code to failure class and advice. Message texts change, so
 * nothing is decided by them. */
#include "worker/graph/error.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

#define ANY (-1)
#define SERVER 5 /* 500 to 599 */

/* First match wins: status, then code, then detail. */
static const struct {
    int status;
    const char *code, *detail; /* NULL: any */
    directory_class read, write;
} answers[] = {
    {ANY, NULL, "ObjectConflict", DIRECTORY_INVALID, DIRECTORY_CONFLICT},
    {400, "Directory_ExpiredPageToken", NULL, DIRECTORY_TOKEN_LOST, DIRECTORY_INVALID},
    {400, "syncStateNotFound", NULL, DIRECTORY_TOKEN_LOST, DIRECTORY_INVALID},
    {400, "resyncRequired", NULL, DIRECTORY_TOKEN_LOST, DIRECTORY_INVALID},
    {ANY, "Directory_QuotaExceeded", NULL, DIRECTORY_FORBIDDEN, DIRECTORY_FORBIDDEN},
    {ANY, "Directory_ConcurrencyViolation", NULL, DIRECTORY_TRANSIENT, DIRECTORY_TRANSIENT},
    {ANY, "Request_ThrottledTemporarily", NULL, DIRECTORY_THROTTLED, DIRECTORY_THROTTLED},
    {401, NULL, NULL, DIRECTORY_CREDENTIALS, DIRECTORY_CREDENTIALS},
    {403, NULL, NULL, DIRECTORY_FORBIDDEN, DIRECTORY_FORBIDDEN},
    {404, NULL, NULL, DIRECTORY_NOT_FOUND, DIRECTORY_NOT_FOUND},
    {407, NULL, NULL, DIRECTORY_CONFIG, DIRECTORY_CONFIG},
    {408, NULL, NULL, DIRECTORY_TRANSIENT, DIRECTORY_UNSURE},
    {409, NULL, NULL, DIRECTORY_TRANSIENT, DIRECTORY_TRANSIENT},
    {410, NULL, NULL, DIRECTORY_TOKEN_LOST, DIRECTORY_NOT_FOUND},
    {423, NULL, NULL, DIRECTORY_TRANSIENT, DIRECTORY_TRANSIENT},
    {429, NULL, NULL, DIRECTORY_THROTTLED, DIRECTORY_THROTTLED},
    {501, NULL, NULL, DIRECTORY_INVALID, DIRECTORY_INVALID},
    {505, NULL, NULL, DIRECTORY_CONFIG, DIRECTORY_CONFIG},
    {SERVER, NULL, NULL, DIRECTORY_TRANSIENT, DIRECTORY_UNSURE},
};

static int same(const char *wanted, const char *got)
{
    return !wanted || strcasecmp(wanted, got) == 0;
}

/* Which of the sent values a conflict is about (directory.h: the login made from the UPN's local
 * part counts as the UPN). */
static const char *conflict_field(const char *target)
{
    static const struct {
        const char *target, *field;
    } fields[] = {{"userPrincipalName", "upn"},
                  {"mailNickname", "upn"},
                  {"proxyAddresses", "mail"},
                  {"mail", "mail"},
                  {"otherMails", "mail"}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (strcasecmp(target, fields[i].target) == 0) {
            return fields[i].field;
        }
    }
    return NULL;
}

directory_class graph_classify(graph_effect effect, int status, const char *code,
                               const char *detail_code, const char *detail_target,
                               const char **field)
{
    *field = NULL;
    if (status >= 200 && status < 300) {
        return DIRECTORY_OK;
    }
    if (status < 400 || status > 599) {
        return DIRECTORY_CONFIG; /* redirects are not followed: the address is not the API's */
    }
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        if ((answers[i].status == ANY || answers[i].status == status ||
             answers[i].status == status / 100) &&
            same(answers[i].code, code) && same(answers[i].detail, detail_code)) {
            directory_class class = effect == GRAPH_WRITE ? answers[i].write : answers[i].read;
            *field = class == DIRECTORY_CONFLICT ? conflict_field(detail_target) : NULL;
            return class;
        }
    }
    return DIRECTORY_INVALID;
}

const char *graph_advice(int status, const char *code)
{
    static const struct {
        int status;
        const char *code, *advice;
    } advice[] = {
        {403, "Authentication_RequestFromNonPremiumTenantOrB2CTenant",
         "the directory has no Microsoft Entra ID P1 or P2 licence"},
        {ANY, "Directory_QuotaExceeded",
         "the directory holds as many objects as it may: delete some, or ask for a larger quota"},
        {403, "Authorization_RequestDenied",
         "an application permission is missing, or the account is a privileged one; idadmin-worker "
         "--check tells which permission"},
        {403, NULL, "idadmin-worker --check tells which permission is missing"},
        {407, NULL, "the proxy asks for credentials"},
    };
    for (size_t i = 0; i < sizeof advice / sizeof *advice; i++) {
        if ((advice[i].status == ANY || advice[i].status == status) && same(advice[i].code, code)) {
            return advice[i].advice;
        }
    }
    return status >= 300 && status < 400 ? "redirects are not followed: check apiUrl" : NULL;
}

static const struct {
    int64_t number;
    directory_class class;
    const char *advice;
} token_numbers[] = {
    {7000215, DIRECTORY_CREDENTIALS,
     "the client secret is wrong: put the secret's value (not its ID) into clientSecretFile"},
    {7000222, DIRECTORY_CREDENTIALS,
     "the client secret has expired: make a new one and put it into clientSecretFile"},
    {7000216, DIRECTORY_CREDENTIALS, "the application needs a secret or a certificate"},
    {7000218, DIRECTORY_CREDENTIALS, "the application needs a secret or a certificate"},
    {7000112, DIRECTORY_CREDENTIALS, "the application is disabled in this directory"},
    {7000229, DIRECTORY_CONFIG,
     "the application has no service principal in this directory: consent to it there"},
    {700024, DIRECTORY_CREDENTIALS,
     "the assertion's times do not fit: check this machine's clock (NTP)"},
    {700027, DIRECTORY_CREDENTIALS,
     "the certificate in certificateFile is not one of the application: upload its public "
     "part"},
    {700016, DIRECTORY_CONFIG,
     "the application is not known in this directory: check clientId and directoryId"},
    {700030, DIRECTORY_CREDENTIALS, "the certificate is not valid: check certificateFile"},
    {90002, DIRECTORY_CONFIG,
     "there is no such directory in this cloud: check directoryId and authorityUrl"},
    {900023, DIRECTORY_CONFIG, "directoryId is not accepted: check directoryId"},
    {90038, DIRECTORY_CONFIG,
     "the directory belongs to another national cloud: check authorityUrl and apiUrl"},
    {900382, DIRECTORY_CONFIG,
     "the directory belongs to another national cloud: check authorityUrl and apiUrl"},
    {500011, DIRECTORY_CONFIG,
     "the API is not known in this directory: check apiUrl (national clouds have their own)"},
    {70011, DIRECTORY_CONFIG,
     "the scope is not accepted: check apiUrl (national clouds have their own)"},
    {1002012, DIRECTORY_CONFIG,
     "the scope is not accepted: check apiUrl (national clouds have their own)"},
    {53003, DIRECTORY_CREDENTIALS,
     "a conditional access policy for workload identities stands in the way"},
    {50034, DIRECTORY_CREDENTIALS, NULL},
};

static const struct {
    const char *error;
    directory_class class;
    const char *advice;
} token_errors[] = {
    {"invalid_client", DIRECTORY_CREDENTIALS, "check clientId and the secret or certificate"},
    {"unauthorized_client", DIRECTORY_CREDENTIALS,
     "check clientId and that the application stands in this directory"},
    {"invalid_scope", DIRECTORY_CONFIG, "check apiUrl (national clouds have their own)"},
    {"invalid_request", DIRECTORY_CONFIG, "check directoryId and authorityUrl"},
    {"invalid_resource", DIRECTORY_CONFIG, "check apiUrl (national clouds have their own)"},
    {"temporarily_unavailable", DIRECTORY_TRANSIENT, NULL},
    {"server_error", DIRECTORY_TRANSIENT, NULL},
};

directory_class graph_token_classify(int status, const char *error, int64_t aadsts,
                                     const char **advice)
{
    *advice = NULL;
    if (status == 429) {
        return DIRECTORY_THROTTLED;
    }
    if (status >= 500 || status == 408) {
        return DIRECTORY_TRANSIENT;
    }
    for (size_t i = 0; i < sizeof token_numbers / sizeof *token_numbers; i++) {
        if (token_numbers[i].number == aadsts) {
            *advice = token_numbers[i].advice;
            return token_numbers[i].class;
        }
    }
    for (size_t i = 0; i < sizeof token_errors / sizeof *token_errors; i++) {
        if (strcasecmp(token_errors[i].error, error) == 0) {
            *advice = token_errors[i].advice;
            return token_errors[i].class;
        }
    }
    if (status == 407) {
        *advice = "the proxy asks for credentials";
        return DIRECTORY_CONFIG;
    }
    *advice = status == 404 || (status >= 300 && status < 400)
                  ? "check authorityUrl and directoryId"
                  : NULL;
    return *advice ? DIRECTORY_CONFIG : DIRECTORY_CREDENTIALS;
}
