/* Schemas of results, referred to by name from the operation table. Compact JSON text; parsed when
 * the document is made. */
#ifndef CORE_FACE_OPENAPI_SCHEMAS_H
#define CORE_FACE_OPENAPI_SCHEMAS_H

#define S "{\"type\":\"string\"}"
#define S_NULL "{\"type\":[\"string\",\"null\"]}"
#define TIME "{\"type\":\"string\",\"format\":\"date-time\"}"
#define TIME_NULL "{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"}"
#define WARNINGS "{\"type\":\"array\",\"items\":" S "}"
#define GROUPS                                                                          \
    "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"id\",\"name\"," \
    "\"directory\"],\"properties\":{\"id\":" S ",\"name\":" S                           \
    ",\"directory\":{\"type\":\"string\",\"enum\":[\"cloud\",\"onPremises\"]},\"reason\":" S "}}}"
#define QUEUED                                                                             \
    "\"message\":" S ",\"taskId\":" S ",\"userPrincipalName\":" S ",\"scheduledAt\":" TIME \
    ",\"scheduledAtUtc\":" TIME ",\"warnings\":" WARNINGS

static const struct {
    const char *name, *json;
} openapi_schemas[] = {
    {"Error", "{\"type\":\"object\",\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":"
              "\"object\",\"required\":[\"code\",\"message\"],"
              "\"properties\":{\"code\":" S ",\"message\":" S "}}}}"},
    {"User", "{\"type\":\"object\",\"required\":[\"userPrincipalName\"],\"properties\":{"
             "\"userPrincipalName\":" S ",\"displayName\":" S ",\"givenName\":" S ",\"surname\":" S
             ",\"department\":" S ",\"jobTitle\":" S "}}"},
    {"UserResult", "{\"type\":\"object\",\"required\":[\"user\"],\"properties\":{\"user\":{\"$"
                   "ref\":\"#/components/schemas/User\"}}}"},
    {"QueuedCreation",
     "{\"type\":\"object\",\"required\":[\"message\",\"taskId\",\"userPrincipalName\",\"mail\","
     "\"scheduledAt\","
     "\"scheduledAtUtc\",\"warnings\"],\"properties\":{" QUEUED ",\"mail\":" S_NULL
     ",\"rehire\":{\"$ref\":\"#/components/schemas/Rehire\"}}}"},
    {"QueuedUpdate", "{\"type\":\"object\",\"required\":[\"message\",\"taskId\","
                     "\"userPrincipalName\",\"scheduledAt\",\"scheduledAtUtc\","
                     "\"warnings\"],\"properties\":{" QUEUED "}}"},
    {"Rehire", "{\"type\":\"object\",\"required\":[\"restored\"],\"properties\":{\"restored\":{"
               "\"type\":\"string\",\"enum\":[\"queuedOffboarding\","
               "\"disabledAccount\"]},\"cancelledTaskId\":" S ",\"memberships\":" GROUPS
               ",\"notRevokedThen\":" GROUPS "}}"},
    {"DryRun",
     "{\"type\":\"object\",\"required\":[\"message\",\"plan\",\"warnings\"],\"properties\":{"
     "\"message\":" S ",\"plan\":{\"type\":\"object\","
     "\"required\":[\"userPrincipalName\",\"mail\",\"scheduledAt\",\"scheduledAtUtc\",\"steps\"],"
     "\"properties\":{\"userPrincipalName\":" S ",\"mail\":" S_NULL ",\"scheduledAt\":" TIME
     ",\"scheduledAtUtc\":" TIME ",\"steps\":{\"type\":\"array\",\"items\":" S "}}}"
     ",\"warnings\":" WARNINGS ",\"rehire\":{\"$ref\":\"#/components/schemas/"
     "Rehire\"},\"task\":{\"$ref\":\"#/components/schemas/Task\"}}}"},
    {"QueuedOffboarding", "{\"type\":\"object\",\"required\":[\"message\",\"taskId\","
                          "\"userPrincipalName\",\"scheduledAt\",\"scheduledAtUtc\","
                          "\"warnings\"],\"properties\":{" QUEUED "}}"},
    {"Task",
     "{\"type\":\"object\",\"required\":[\"id\",\"type\",\"state\",\"userPrincipalName\","
     "\"scheduledAt\",\"scheduledAtUtc\",\"steps\"],"
     "\"properties\":{\"id\":" S ",\"type\":{\"type\":\"string\",\"enum\":[\"userCreate\","
     "\"userUpdate\",\"userDelete\",\"accessGrant\","
     "\"accessRevoke\"]},\"state\":{\"type\":\"string\",\"enum\":[\"queued\",\"running\",\"done\","
     "\"failed\",\"attention\",\"cancelled\"]},"
     "\"userPrincipalName\":" S ",\"scheduledAt\":" TIME ",\"scheduledAtUtc\":" TIME
     ",\"createdAt\":" TIME ",\"startedAt\":" TIME_NULL ",\"finishedAt\":" TIME_NULL
     ",\"attempts\":{\"type\":\"integer\"},\"nextAttemptAt\":" TIME_NULL
     ",\"requestedBy\":{\"type\":\"object\",\"properties\":{\"username\":" S ",\"label\":" S
     "}},\"warnings\":" WARNINGS ",\"error\":" S_NULL
     ",\"steps\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":" S
     ",\"outcome\":{\"type\":[\"string\",\"null\"],\"enum\":[\"done\",\"already\",\"skipped\","
     "\"failed\",\"unknown\",null]},\"detail\":" S_NULL ",\"at\":" TIME_NULL "}}}}}"},
    {"TaskResult", "{\"type\":\"object\",\"required\":[\"task\"],\"properties\":{\"task\":{\"$"
                   "ref\":\"#/components/schemas/Task\"}}}"},
    {"ChangedTask",
     "{\"type\":\"object\",\"required\":[\"task\",\"message\"],\"properties\":{\"message\":" S
     ",\"task\":{\"$ref\":\"#/components/schemas/Task\"},\"warnings\":" WARNINGS "}}"},
    {"TaskList", "{\"type\":\"object\",\"required\":[\"items\",\"totalCount\",\"nextCursor\","
                 "\"asOf\"],\"properties\":{\"items\":{\"type\":\"array\","
                 "\"items\":{\"$ref\":\"#/components/schemas/"
                 "Task\"}},\"totalCount\":{\"type\":\"integer\"},\"nextCursor\":" S_NULL
                 ",\"asOf\":" TIME_NULL "}}"},
};

#undef S
#undef S_NULL
#undef TIME
#undef TIME_NULL
#undef WARNINGS
#undef QUEUED
#undef GROUPS

#endif
