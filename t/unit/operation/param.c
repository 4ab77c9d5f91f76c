/* One argument: accepted values, refused values with their messages, and the schema that says
 * the same. */
#include "core/operation/param.h"
#include "core/base/json.h"
#include "t/unit/setup.h"

static const char *const words[] = {"red", "green", NULL};
static const ida_param integer = {"n", IDA_PARAM_INTEGER, .min = 1, .max = 200,
                                  .about = "A number."};
static const ida_param string = {"s", IDA_PARAM_STRING, .max = 5, .about = "A text."};
static const ida_param word = {"w", IDA_PARAM_STRING, .allowed = words, .about = "A word."};
static const ida_param list = {"l", IDA_PARAM_LIST, .allowed = words, .about = "Words."};
static const ida_param truth = {"b", IDA_PARAM_BOOLEAN, .about = "Yes or no."};
static const ida_param at = {"t", IDA_PARAM_TIME, .about = "When."};

/* `want` is the checked value as JSON, or NULL if the message must contain `says_what`. */
static void check(const ida_param *p, const char *given, int texts, const char *want,
                  const char *says_what)
{
    ida_ctx *c = fresh();
    json_t *value = ida_param_check(c, p, ida_json_load(pool, given), texts);
    char *got = value ? ida_json_text(pool, value) : NULL;
    json_decref(value);
    ida_kind kind = ida_faults_raise(c);
    ok(want ? got && strcmp(got, want) == 0 && !kind
            : !got && kind == IDA_BAD_REQUEST && strstr(c->message, says_what),
       "%s %s%s", p->name, given, texts ? " of a query" : "");
    if (want ? !got || strcmp(got, want) != 0 : !c->message || !strstr(c->message, says_what)) {
        printf("# got %s, %s\n", got ? got : "nothing", c->message ? c->message : "no message");
    }
}

static void test_values(void)
{
    check(&integer, "1", 0, "1", NULL);
    check(&integer, "200", 0, "200", NULL);
    check(&integer, "0", 0, NULL, "n: must be a whole number from 1 to 200, not 0");
    check(&integer, "201", 0, NULL, "not 201");
    check(&integer, "\"5\"", 0, NULL, "not \"5\"");
    check(&integer, "\"5\"", 1, "5", NULL);
    check(&integer, "\"5x\"", 1, NULL, "whole number");
    check(&integer, "\" 5\"", 1, NULL, "whole number");
    check(&integer, "\"99999999999999999999\"", 1, NULL, "whole number");
    check(&integer, "5.0", 0, "5", NULL); /* an integer in JSON Schema */
    check(&integer, "5.5", 0, NULL, "not 5.5");
    check(&integer, "1e300", 0, NULL, "not 1");
    check(&integer, "null", 0, NULL, "not null");
    check(&string, "\" abc \"", 0, "\"abc\"", NULL);
    check(&string, "\"abcdef\"", 0, NULL, "at most 5 characters");
    check(&string, "\"  \"", 0, NULL, "must not be empty");
    check(&string, "[\"a\"]", 0, NULL, "not a list");
    check(&string, "{}", 0, NULL, "not an object");
    check(&word, "\"red\"", 0, "\"red\"", NULL);
    check(&word, "\"Red\"", 0, NULL, "one of red, green, not \"Red\"");
    check(&list, "[\"red\",\"green\"]", 0, "[\"red\",\"green\"]", NULL);
    check(&list, "\"red, green\"", 1, "[\"red\",\"green\"]", NULL);
    check(&list, "\"red\"", 0, NULL, "one or more of red, green");
    check(&list, "[]", 0, NULL, "one or more of");
    check(&list, "[1]", 0, NULL, "one or more of");
    check(&truth, "true", 0, "true", NULL);
    check(&truth, "\"true\"", 0, NULL, "must be true or false, not \"true\"");
    check(&truth, "\"false\"", 1, "false", NULL);
}

static void test_times(void)
{
    static const struct {
        const char *given, *want;
    } good[] = {
        {"2026-11-21", "2026-11-21T00:00:00Z"},
        {"2026-11-21T09:30:00Z", "2026-11-21T09:30:00Z"},
        {"2026-11-21t09:30:00z", "2026-11-21T09:30:00Z"},
        {"2026-11-21T10:30:00+01:00", "2026-11-21T09:30:00Z"},
        {"2026-11-20T23:30:00-10:00", "2026-11-21T09:30:00Z"},
        {"2026-11-21T09:30:00.250Z", "2026-11-21T09:30:00.250Z"},
        {"2024-02-29", "2024-02-29T00:00:00Z"},
        {"2026-11-21T09:30:00.123456789Z", "2026-11-21T09:30:00.123Z"},
    };
    static const char *const bad[] = {"",
                                      "yesterday",
                                      "2026-11",
                                      "2026-13-01",
                                      "2026-02-29",
                                      "2026-11-31",
                                      "1969-12-31",
                                      "2026-11-21T09:30",
                                      "2026-11-21T09:30:00",
                                      "2026-11-21T24:00:00Z",
                                      "2026-11-21T09:60:00Z",
                                      "2026-11-21T09:30:00+1:00",
                                      "2026-11-21T09:30:00.Z",
                                      "2026-11-21T09:30:00Zx",
                                      "2026-11-21x",
                                      "-2026-11-21",
                                      "20261121",
                                      "2026-11-21T09:30:00+24:00"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        check(&at, apr_psprintf(pool, "\"%s\"", good[i].given), 0,
              apr_psprintf(pool, "\"%s\"", good[i].want), NULL);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        check(&at, apr_psprintf(pool, "\"%s\"", bad[i]), 0, NULL,
              "t: must be a date like 2026-11-21");
    }
    check(&at, "5", 0, NULL, "not 5");
}

static void test_schemas(void)
{
    static const ida_param params[] = {
        {"limit", IDA_PARAM_INTEGER, IDA_PARAM_REQUIRED, .min = 1, .max = 200,
         .about = "How many."},
        {"colour", IDA_PARAM_LIST, .allowed = words, .about = "Which."},
        {"mail", IDA_PARAM_STRING, IDA_PARAM_REFUSED, .about = "Never."},
        {"name", IDA_PARAM_STRING, .max = 7, .about = "Who."},
        {0},
    };
    json_t *schema = ida_json_keep(pool, ida_params_schema(params)),
           *none = ida_json_keep(pool, ida_params_schema(params + 4));
    is_str(ida_json_text(pool, schema),
           "{\"type\":\"object\",\"properties\":{\"limit\":{\"type\":\"integer\",\"minimum\":1,"
           "\"maximum\":200,\"description\":\"How "
           "many.\"},\"colour\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":["
           "\"red\",\"green\"]},\"description\":\"Which.\"},\"name\":{\"type\":\"string\","
           "\"maxLength\":7,\"description\":\"Who.\"}},\"required\":[\"limit\"]}",
           "a schema of several");
    is_str(ida_json_text(pool, none), "{\"type\":\"object\",\"properties\":{}}", "of none");
    static const ida_param taken[] = {{"limit", IDA_PARAM_INTEGER, .max = 200},
                                      {"name", IDA_PARAM_STRING, .max = 7},
                                      {0}};
    const ida_operation some = {.params = taken}, nothing = {.params = taken + 2};
    is_str(ida_param_unknown(pool, &some),
           "is no parameter of this operation; it takes limit, name", "what there is");
    is_str(ida_param_unknown(pool, &nothing), "is no parameter of this operation; it takes none",
           "nothing");
}

int main(void)
{
    setup();
    test_values();
    test_times();
    test_schemas();
    return done();
}
