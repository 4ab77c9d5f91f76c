/* Bodies of create and delete requests: required, absent, limits at their edges, photos, unknown
 * members, storage form. */
#include "core/model/payload.h"

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/model/photo.h"
#include "core/model/unsupported.h"
#include "t/unit/setup.h"

static const unsigned char jpeg[] = {0xFF, 0xD8, 0xFF, 0xE0, 0,    4, 1, 2, 0xFF, 0xC0, 0,   5,
                                     8,    0,    1,    0xFF, 0xDA, 0, 3, 0, 0x55, 0xFF, 0xD9};
static const unsigned char png[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n', 0,    0,   0, 13,
                                    'I',  'H', 'D', 'R', 0,    0,    0,    1,    0,    0,   0, 1,
                                    8,    2,   0,   0,   0,    1,    2,    3,    4,    0,   0, 0,
                                    1,    'I', 'D', 'A', 'T',  9,    1,    2,    3,    4,   0, 0,
                                    0,    0,   'I', 'E', 'N',  'D',  0xAE, 0x42, 0x60, 0x82};

static ida_tenant cloud = {.create_users_in = IDA_DIR_CLOUD,
                           .display_name_format = "{firstname} {surname}"};
static ida_tenant ad = {.create_users_in = IDA_DIR_ON_PREMISES, .dialect = "activeDirectory"};
static ida_tenant openldap = {.create_users_in = IDA_DIR_ON_PREMISES, .dialect = "openLdap"};

static ida_create created;
static ida_delete deleted;

static json_t *body_of(const char *text)
{
    json_t *body = ida_json_load(pool, text);
    if (!body) {
        ok(0, "a body of the test is JSON: %s", text);
    }
    return body;
}

/* The context after a create with these members besides the two required ones; its message is
 * the caller's. */
static ida_ctx *create(const ida_tenant *tenant, const char *members)
{
    ida_ctx *c = fresh();
    const char *text = apr_pstrcat(pool, "{\"firstname\":\"Eva\",\"surname\":\"Berg\"",
                                   *members ? "," : "", members, "}", NULL);
    ida_payload_create(c, tenant, body_of(text), &created);
    ida_faults_raise(c);
    return c;
}

static void good(const ida_tenant *tenant, const char *members, const char *name)
{
    ida_ctx *c = create(tenant, members);
    ok(c->kind == IDA_OK, "%s%s%s", name, c->message ? ": " : "", c->message ? c->message : "");
}

static void bad(const ida_tenant *tenant, const char *members, const char *field, const char *rule)
{
    ida_ctx *c = create(tenant, members);
    is_int(c->kind, IDA_BAD_REQUEST, field);
    says(c, "names field and rule", apr_pstrcat(pool, field, ": ", NULL), rule, NULL);
}

static char *many(const char *unit, int count)
{
    char *out = apr_pcalloc(pool, strlen(unit) * (size_t)count + 1);
    for (int i = 0; i < count; i++) {
        memcpy(out + strlen(unit) * (size_t)i, unit, strlen(unit));
    }
    return out;
}

static const char *member(const char *name, const char *text)
{
    json_t *pair = ida_json_keep(pool, json_object());
    ida_json_put(pair, name, text);
    char *json = ida_json_text(pool, pair);
    return apr_pstrmemdup(pool, json + 1, strlen(json) - 2);
}

static void texts(void)
{
    good(&cloud, "", "two names are enough");
    is_str(created.firstname, "Eva", "firstname");
    ok(created.account_enabled == 1 && !created.photo && !created.date && !created.middle_name,
       "defaults");
    is_int((int64_t)json_array_size(created.warnings), 0, "no warnings");
    static const struct {
        const char *name;
        int limit;
    } limits[] = {{"firstname", 64},       {"surname", 64},    {"middleName", 64},
                  {"jobTitle", 128},       {"department", 64}, {"company", 64},
                  {"office", 128},         {"city", 128},      {"country", 128},
                  {"streetAddress", 1024}, {"postalCode", 40}, {"employeeId", 16}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        for (int emoji = 0; emoji < 2; emoji++) {
            const char *unit = emoji ? "\xF0\x9F\x98\x80" : "\xC3\xA5";
            ida_ctx *c = fresh();
            json_t *body = body_of("{\"firstname\":\"Eva\",\"surname\":\"Berg\"}");
            ida_json_put(body, limits[i].name, many(unit, limits[i].limit / (emoji + 1)));
            ida_payload_create(c, &cloud, body, &created);
            is_int(ida_faults_raise(c), IDA_OK, "at the limit");
            ida_json_put(body, limits[i].name, many(unit, limits[i].limit / (emoji + 1) + 1));
            ida_payload_create(c, &cloud, body, &created);
            is_int(ida_faults_raise(c), IDA_BAD_REQUEST, "beyond the limit");
            says(c, "names field and limit", limits[i].name,
                 ida_printf(pool, "at most %d characters", limits[i].limit), NULL);
            ida_json_put(body, limits[i].name,
                         "a\x1B"
                         "b");
            ida_payload_create(c, &cloud, body, &created);
            is_int(ida_faults_raise(c), IDA_BAD_REQUEST, "a control character");
            ida_json_put(body, limits[i].name, "a\nb");
            ida_payload_create(c, &cloud, body, &created);
            is_int(ida_faults_raise(c),
                   strcmp(limits[i].name, "streetAddress") ? IDA_BAD_REQUEST : IDA_OK,
                   "a line break");
            json_object_set_new(body, limits[i].name, json_integer(5));
            ida_payload_create(c, &cloud, body, &created);
            is_int(ida_faults_raise(c), IDA_BAD_REQUEST, "a number");
            says(c, "names field and type", limits[i].name, "must be a string", NULL);
        }
    }
    bad(&cloud, "\"office\":\"a\\u0085b\"", "office", "control");
    static const char *const absent[] = {"null", "\"\"", "\" \\t\\u00a0\""};
    for (size_t i = 0; i < 3; i++) {
        ida_ctx *c = fresh();
        json_t *body = body_of(
            apr_pstrcat(pool, "{\"firstname\":", absent[i], ",\"surname\":", absent[i],
                        ",\"city\":", absent[i], ",\"accountEnabled\":", absent[i],
                        ",\"profilePhoto\":", absent[i], ",\"date\":", absent[i], "}", NULL));
        ida_payload_create(c, &cloud, body, &created);
        is_int(ida_faults_raise(c), IDA_BAD_REQUEST, "absent names");
        says(c, "both are required", "firstname: is required", "surname: is required", NULL);
        ok(!created.city && created.account_enabled && !created.date &&
               !strstr(c->message, "city") && !strstr(c->message, "accountEnabled"),
           "the others are just absent");
    }
    good(&cloud,
         "\"city\":\" Lund "
         "\",\"accountEnabled\":false,\"date\":\"x\",\"time\":\"y\",\"manager\":\"bo@x.example\","
         "\"rehire\":\"restore\"",
         "others");
    is_str(created.city, "Lund", "trimmed");
    ok(!created.account_enabled && strcmp(created.date, "x") == 0 && strcmp(created.time, "y") == 0,
       "values; dates are for the schedule");
    good(&cloud, "\"rehire\":\"new\"", "rehire new");
    bad(&cloud, "\"rehire\":\"maybe\"", "rehire", "\"restore\" or \"new\"");
    bad(&cloud, "\"accountEnabled\":\"false\"", "accountEnabled", "true or false");
    bad(&cloud, "\"accountEnabled\":0", "accountEnabled", "true or false");
    bad(&cloud, "\"manager\":\"Bo Ek\"", "manager", "user principal name");
    bad(&cloud, "\"manager\":\"@x\"", "manager", "user principal name");
    bad(&cloud, "\"date\":20270301", "date", "must be a string");
    bad(&cloud, "\"userPrincipalName\":\"a@x.example\"", "userPrincipalName", "not accepted");
    bad(&cloud, "\"mail\":5", "mail", "not accepted");
    good(&cloud, "\"mail\":null,\"userPrincipalName\":\" \"",
         "null and blank mean absent, of what is generated too");
    bad(&cloud, "\"preferredLanguage\":\"swedish language\"", "preferredLanguage", "BCP 47");
    good(&cloud, "\"preferredLanguage\":\"sv-SE\"", "a language tag");
    ida_ctx *c = fresh();
    ida_payload_create(
        c, &cloud,
        body_of("{\"city\":5,\"mail\":\"x\",\"accountEnabled\":1,\"profilePhoto\":\"!\"}"),
        &created);
    ida_faults_raise(c);
    says(c, "every fault is named", "firstname", "surname", "city", "mail", "accountEnabled",
         "profilePhoto", NULL);
}

static void warnings(void)
{
    good(&cloud, "\"country\":\"se\"", "a country code");
    ok(strcmp(created.country, "SE") == 0 && created.country_is_code &&
           !json_array_size(created.warnings),
       "is upper case");
    good(&cloud, "\"country\":\"Sweden\"", "a country's name");
    ok(strcmp(created.country, "Sweden") == 0 && !created.country_is_code, "stays as it is");
    good(&cloud, "\"country\":\"xx\"", "two letters that are no code");
    ok(strcmp(created.country, "xx") == 0 && !created.country_is_code, "too");
}

/* Reports of members of a body that a creation does not know: warnings as JSON text; for a
 * refusal the message. */
static const char *unknown(const char *members)
{
    ida_ctx *c = ida_ctx_make(&env, pool);
    json_t *warnings = ida_json_keep(pool, json_array()),
           *body = ida_json_load(pool, ida_printf(pool, "{%s}", members));
    ida_params_unknown(c, body, ida_create_members, warnings);
    return ida_faults_raise(c) ? c->message : ida_json_text(pool, warnings);
}

static void unknown_members(void)
{
    is_str(unknown("\"shoeSize\":43,\"city\":1"),
           "[\"unknown member \\\"shoeSize\\\" was ignored\"]", "an unknown member is named");
    is_str(unknown(""), "[]", "a body without members has none");
    ok(strlen(unknown(apr_pstrcat(pool, "\"", many("x", 5000), "\":1,\"a\\u202eb\":2", NULL))) <
           250,
       "long and deceiving names are clipped");
    char *members = apr_pstrdup(pool, "\"x\":1");
    for (int i = 0; i < 99; i++) {
        members = apr_pstrcat(pool, members, ida_printf(pool, ",\"x%d\":1", i), NULL);
    }
    is_int((int64_t)json_array_size(ida_json_load(pool, unknown(members))), 21,
           "of a hundred twenty are named, the rest counted");
    static const char *const meant[][2] = {
        {"Date", "date"},
        {"DATE", "date"},
        {" date", "date"},
        {"date ", "date"},
        {"dates", "date"},
        {"dat", "date"},
        {"datum", NULL},
        {"dtae", "date"},
        {"data", "date"},
        {"date\\u00a0", "date"},
        {"\\ufefffirstname", "firstname"},
        {"d\\u0430te", "date"},
        {"\\u1d05\\u1d00\\u1d1b\\u1d07", "date"}, /* small capitals, negative squares */
        {"\\ud83c\\udd73\\ud83c\\udd70\\ud83c\\udd83\\ud83c\\udd74", "date"},
        {"\\u2ca6\\u2c92\\u2c98\\u2c88", "time"}, /* Coptic */
        {"accountEnabled\\u200b", "accountEnabled"},
        {"first_name", "firstname"},
        {"First Name", "firstname"},
        {"first-name", "firstname"},
        {"fristname", "firstname"},
        {"givenName", NULL},
        {"Job_Title", "jobTitle"},
        {"employee_ID", "employeeId"},
        {"employeeNumber", NULL},
        {"manger", "manager"},
        {"accountEnable", "accountEnabled"},
        {"enabled", NULL},
        {"d", NULL},
        {"title", NULL},
        {"tmie", "time"},
        {"", NULL},
        {"___", NULL},
        {"rehires", "rehire"},
    };
    for (size_t i = 0; i < sizeof meant / sizeof *meant; i++) {
        const char *said = unknown(ida_printf(pool, "\"%s\":1", meant[i][0]));
        int near = meant[i][1] != NULL;
        const char *want = near ? ida_printf(pool, ": is not known: it is written \"%s\"",
                                             meant[i][1])
                                : "was ignored";
        ok(strstr(said, want) != NULL, "\"%s\" is %s", meant[i][0],
           near ? "refused with the right name" : "ignored");
    }
    ok(strstr(unknown("\"date\\u200b\":1"),
              "date: is not known: it is written \"date\", in plain") != NULL,
       "what is not seen is told");
    static const char *const days[] = {"startDate", "first_day",    "ENDS",
                                       "hire-date", "Sta\\u200brt", "leaveD\\u0430y"};
    for (size_t i = 0; i < sizeof days / sizeof *days; i++) {
        const char *day = ida_printf(pool, "\"%s\":1", days[i]);
        ok(strstr(unknown(day), "is not known; if it names the day, that is \"date\"") != NULL,
           "\"%s\" without a day is refused", days[i]);
        ok(strstr(unknown(apr_pstrcat(pool, day, ",\"date\":\" \"", NULL)),
                  "if it names the day") != NULL,
           "nor is a blank one a day");
        ok(strstr(unknown(apr_pstrcat(pool, day, ",\"date\":\"2027-03-01\"", NULL)),
                  "was ignored") != NULL,
           "with one it is ignored");
    }
    char *dates = "\"Date\":1";
    for (int i = 0; i < 50; i++) {
        dates = apr_pstrcat(pool, dates, ida_printf(pool, ",\"date%*s\":1", i + 1, ""), NULL);
    }
    const char *refusal = unknown(dates);
    int said = 0;
    while ((refusal = strstr(refusal, "is not known"))) {
        said++, refusal++;
    }
    is_int(said, 20, "of many spellings of one twenty are named, and no more are compared");
    ida_ctx *c = ida_ctx_make(&env, pool);
    ida_params_unknown(c, ida_json_load(pool, "{\"shoeSize\":1}"), ida_create_members, NULL);
    ok(ida_faults_raise(c) && strstr(c->message, "shoeSize: is not known"),
       "a closed body refuses each");
}

/* The judgement ends: one company's bodies must not take the others' time. */
static void crowds_of_members(void)
{
    ida_ctx *c = fresh();
    json_t *alike = json_object(), *strange = json_object(), *ignored = json_array();
    for (int letter = 0; letter < 26; letter++) {
        for (size_t at = 0; at < strlen("firstname"); at++) { /* one letter off, at each place */
            char other[] = "firstname";
            other[at] = (char)('A' + letter);
            json_object_set_new(alike, other, json_true());
        }
    }
    ida_params_unknown(c, alike, ida_create_members, ignored);
    is_int(c->fault_count, 20, "the judgement of names that are nearly known ends after 20");
    for (int i = 0; i < 1000; i++) {
        json_object_set_new(strange, ida_printf(pool, "somethingElse%d", i), json_true());
    }
    ida_params_unknown(c = fresh(), strange, ida_create_members, ignored);
    is_int(c->fault_count, 0, "a thousand others are ignored");
    json_object_set_new(strange, "oneMore", json_true());
    ida_params_unknown(c = fresh(), strange, ida_create_members, ignored);
    is_int(c->fault_count, 1, "one more is a fault");
    json_decref(alike);
    json_decref(strange);
    json_decref(ignored);
}

static void lost_encodings(void)
{
    bad(&cloud, "\"city\":\"Malm\\ufffd\"", "city", "holds U+FFFD");
    bad(&cloud, "\"middleName\":\"??? ?\"", "middleName", "must not consist of question marks");
    good(&cloud, "\"jobTitle\":\"?\"", "a title of a question mark");
    good(&cloud, "\"middleName\":\"O?\"", "a name with one");
}

/* A JPEG of exactly `len` bytes: the scan grows. */
static const char *photo_of(size_t len)
{
    unsigned char *bytes = apr_palloc(pool, len);
    memset(bytes, 0x55, len);
    memcpy(bytes, jpeg, sizeof jpeg - 2);
    bytes[len - 2] = 0xFF, bytes[len - 1] = 0xD9;
    return apr_pstrcat(pool, "\"profilePhoto\":\"", ida_base64_encode(pool, bytes, len), "\"",
                       NULL);
}

static const char *photo_bytes(const unsigned char *bytes, size_t len)
{
    return member("profilePhoto", ida_base64_encode(pool, bytes, len));
}

static void photos(void)
{
    good(&cloud, photo_bytes(jpeg, sizeof jpeg), "a JPEG");
    ok(created.photo_len == sizeof jpeg && memcmp(created.photo, jpeg, sizeof jpeg) == 0 &&
           !strcmp(created.photo_type, "image/jpeg"),
       "its bytes");
    good(&cloud, photo_bytes(png, sizeof png), "a PNG");
    is_str(created.photo_type, "image/png", "its type");
    good(&ad, photo_bytes(png, sizeof png), "a PNG for AD");
    good(&openldap, photo_bytes(png, sizeof png),
         "a PNG for OpenLDAP, which the answer says is not stored");
    good(&openldap, photo_bytes(jpeg, sizeof jpeg), "a JPEG for OpenLDAP");
    good(&cloud, photo_of(4194304), "4194304 bytes for the cloud");
    bad(&cloud, photo_of(4194305), "profilePhoto", "at most 4194304");
    good(&ad, photo_of(102400), "102400 bytes for AD");
    bad(&ad, photo_of(102401), "profilePhoto", "at most 102400");
    good(&openldap, photo_of(102400), "102400 bytes for OpenLDAP");
    bad(&openldap, photo_of(102401), "profilePhoto", "at most 102400");
    bad(&cloud, "\"profilePhoto\":\"R0lGODlhAQABAAAAACw=\"", "profilePhoto", "JPEG or PNG");
    bad(&cloud, "\"profilePhoto\":\"data:image/png;base64,iVBORw0KGgo=\"", "profilePhoto",
        "base64");
    bad(&cloud, "\"profilePhoto\":\"/9j/4\"", "profilePhoto", "base64");
    bad(&cloud, "\"profilePhoto\":\"/9j/\\n4AA=\"", "profilePhoto", "base64");
    bad(&cloud, "\"profilePhoto\":[1]", "profilePhoto", "base64");
    int refused = 1;
    for (size_t len = 0; len < sizeof jpeg; len++) {
        char *copy = exact(jpeg, len);
        refused = refused && !ida_photo_type((unsigned char *)copy, len);
        free(copy);
    }
    for (size_t len = 0; len < sizeof png; len++) {
        char *copy = exact(png, len);
        refused = refused && !ida_photo_type((unsigned char *)copy, len);
        free(copy);
    }
    ok(refused, "no cut photo passes");
    for (size_t i = 0; i < sizeof jpeg; i++) {
        char *copy = exact(jpeg, sizeof jpeg);
        copy[i] = (char)0xFF;
        ida_photo_type((unsigned char *)copy, sizeof jpeg);
        free(copy);
    }
    unsigned char padded[sizeof jpeg + 5] = {0}, behind[sizeof png + 1];
    memcpy(padded, jpeg, sizeof jpeg);
    is_str(ida_photo_type(padded, sizeof padded), "image/jpeg",
           "zero bytes behind a JPEG are padding");
    memset(padded + sizeof jpeg, 'M', 5);
    is_str(ida_photo_type(padded, sizeof padded), "image/jpeg",
           "what a phone appends does not make it less of a JPEG");
    memcpy(behind, png, sizeof png);
    behind[sizeof png] = 'x';
    is_str(ida_photo_type(behind, sizeof behind), NULL, "bytes behind a PNG are not");
}

static ida_ctx *delete_body(const char *text, int empty)
{
    ida_ctx *c = fresh();
    ida_payload_delete(c, body_of(text), empty, &deleted);
    ida_faults_raise(c);
    return c;
}

static void deletes(void)
{
    ida_ctx *c = delete_body(
        "{\"userPrincipalName\":\" eva@x.example "
        "\",\"date\":\"d\",\"firstname\":\"E\",\"surname\":\"\",\"jobTitle\":\"J\",\"x\":1}",
        0);
    is_int(c->kind, IDA_OK, "a delete body");
    is_str(deleted.upn, "eva@x.example", "whom");
    ok(!strcmp(deleted.firstname, "E") && !deleted.surname && !strcmp(deleted.job_title, "J") &&
           !deleted.department && !deleted.time,
       "overrides");
    c = delete_body("{}", 0);
    is_int(c->kind, IDA_BAD_REQUEST, "no userPrincipalName");
    ok(c->message && strstr(c->message, "userPrincipalName: is required") &&
           !strstr(c->message, "prox"),
       "is named, without talk of proxies");
    c = delete_body("{}", 1);
    says(c, "an empty body may have been dropped by a proxy", "userPrincipalName: is required",
         "prox", "/v1/api/user/offboard", NULL);
    c = delete_body("{\"userPrincipalName\":7,\"department\":[]}", 0);
    says(c, "ill-typed members", "userPrincipalName: must be a string",
         "department: must be a string", NULL);
    c = delete_body("{\"userPrincipalName\":\"eva\"}", 0);
    is_int(c->kind, IDA_BAD_REQUEST, "no UPN");
}

static void storage(void)
{
    const char *members = apr_pstrcat(pool, photo_bytes(jpeg, sizeof jpeg),
                                      ",\"city\":\"Lund\",\"accountEnabled\":false,\"country\":"
                                      "\"se\",\"streetAddress\":\"a\\nb\",\"rehire\":\"new\"",
                                      NULL);
    good(&cloud, members, "a payload to store");
    ida_create before = created, after;
    json_t *stored = ida_create_to_json(pool, &before);
    is_int(ida_create_from_json(fresh(), stored, &after), IDA_OK, "and back");
    is_str(ida_json_sorted(pool, ida_create_to_json(pool, &after)), ida_json_sorted(pool, stored),
           "the same values");
    ok(after.photo_len == sizeof jpeg && !strcmp(after.photo_type, "image/jpeg") &&
           !after.account_enabled && after.country_is_code,
       "photo, flags");
    static const char *const damaged[] = {
        "[]",
        "{}",
        "{\"firstname\":\"a\",\"surname\":\"b\"}",
        "{\"firstname\":1,\"surname\":\"b\",\"accountEnabled\":true}",
        "{\"firstname\":\"a\",\"surname\":\"b\",\"accountEnabled\":true,\"profilePhoto\":\"!\"}",
        "{\"firstname\":\"a\",\"surname\":\"b\",\"accountEnabled\":true,\"profilePhoto\":7}"};
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        is_int(ida_create_from_json(fresh(), body_of(damaged[i]), &after), IDA_INTERNAL_ERROR,
               "a damaged row");
    }
    delete_body("{\"userPrincipalName\":\"eva@x.example\",\"time\":\"12:00\"}", 0);
    is_str(ida_json_sorted(pool, ida_delete_to_json(pool, &deleted)),
           "{\"time\":\"12:00\",\"userPrincipalName\":\"eva@x.example\"}", "what a delete stores");
}

/* A body with these members besides the names, and the bytes of it that are stored. Letters
 * outside ASCII, quotes and slashes are not stored longer than they were sent; the new values of
 * an update are in one member. */
static void stored_bytes(const char *members, const char *name)
{
    ida_create now;
    ida_update change = {0};
    ida_ctx *c = fresh();
    const char *sent = apr_pstrcat(pool, "{\"firstname\":\"Åsa\",\"surname\":\"Öberg\",", members,
                                   "}", NULL);
    ida_payload_create(c, &cloud, body_of(sent), &now);
    const char *kept = ida_json_text(pool, ida_create_to_json(pool, &now));
    ok(!c->faults && strlen(kept) <= strlen(sent), "%s: a creation of %zu bytes is stored in %zu",
       name, strlen(sent), strlen(kept));
    c = fresh();
    sent = apr_pstrcat(pool, "{\"userPrincipalName\":\"asa.oberg@x.example\",", members, "}", NULL);
    ida_payload_update(c, body_of(sent), &change);
    kept = ida_json_text(pool, ida_update_to_json(pool, &change));
    ok(!c->faults && strlen(kept) <= strlen(sent) + strlen(",\"values\":{}"),
       "%s: an update of %zu bytes is stored in %zu", name, strlen(sent), strlen(kept));
}

static void size(void)
{
    static const char letters[] = "Ünïcödé Отдел 部門 \\\"x\\\" a/b";
    const char *texts = apr_psprintf(pool,
                                     "\"accountEnabled\":true,\"department\":\"%s\",\"jobTitle\":"
                                     "\"%s\",\"company\":\"%s\"",
                                     letters, letters, letters);
    stored_bytes(texts, "texts");
    stored_bytes(apr_pstrcat(pool, texts, ",", photo_bytes(jpeg, sizeof jpeg), NULL),
                 "a small photo");
    stored_bytes(apr_pstrcat(pool, texts, ",", photo_of(4194304), NULL), "the largest photo");
}

/* Members that a directory cannot store, by the words of the warning; NULL: none. */
static void keeping(void)
{
    static const struct {
        const ida_tenant *tenant;
        ida_directory_kind where;
        const char *field, *value, *warning;
    } cases[] = {
        {&cloud, IDA_DIR_CLOUD, "middleName", "Maria",
         "middleName \"Maria\" is not kept: the cloud directory has no property for it"},
        {&openldap, IDA_DIR_ON_PREMISES, "middleName", "Maria", "is kept as initials only"},
        {&ad, IDA_DIR_ON_PREMISES, "middleName", "Maria", NULL},
        {&cloud, IDA_DIR_CLOUD, "country", "Sverige", "no usage location is set"},
        {&openldap, IDA_DIR_ON_PREMISES, "country", "Sverige",
         "country \"Sverige\" is not kept: this directory takes two-letter codes"},
        {&openldap, IDA_DIR_ON_PREMISES, "country", "SE",
         "is kept only if the server's schema has a place for the attribute c"},
        {&ad, IDA_DIR_ON_PREMISES, "country", "Sverige", "is kept as text"},
        {&cloud, IDA_DIR_CLOUD, "profilePhoto", "image/png", NULL},
        {&openldap, IDA_DIR_ON_PREMISES, "profilePhoto", "image/png",
         "profilePhoto is not kept: this directory takes JPEG only"},
        {&openldap, IDA_DIR_ON_PREMISES, "profilePhoto", "image/jpeg", NULL},
        {&ad, IDA_DIR_ON_PREMISES, "profilePhoto", "image/png", NULL},
        {&openldap, IDA_DIR_ON_PREMISES, "country", "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *values = ida_json_keep(pool, json_object()),
               *warnings = ida_json_keep(pool, json_array());
        int photo = strcmp(cases[i].field, "profilePhoto") == 0;
        json_object_set_new(values, cases[i].field, json_string(cases[i].value));
        ida_warn_unsupported(pool, cases[i].tenant, cases[i].where, values,
                             photo ? cases[i].value : NULL, warnings);
        const char *text = json_string_value(json_array_get(warnings, 0));
        ok(cases[i].warning ? text && strstr(text, cases[i].warning) : !text, "%s \"%s\": %s",
           cases[i].field, cases[i].value, text ? text : "kept");
    }
    ida_tenant shown = cloud;
    shown.display_name_format = "{firstname} {middleName} {surname}";
    int partly;
    ok(!ida_unsupported(&shown, IDA_DIR_CLOUD, "middleName", "Maria", &partly),
       "a display name that holds it is a place for it");
}

int main(void)
{
    setup();
    texts();
    warnings();
    unknown_members();
    crowds_of_members();
    lost_encodings();
    photos();
    deletes();
    storage();
    size();
    keeping();
    return done();
}
