/* Owns the allowed values of an argument and how they are described: checks and JSON Schema come
 * from the same entry. Must not know operations. Of the transport it knows only whether the
 * value was a text in a query. */
#include "core/operation/param.h"

#include <apr_strings.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "core/base/time.h"

#define SENT_MAX 64 /* bytes of the sent value that a message quotes */
#define LIST_MAX 32 /* words of a list */

static char *words_of(apr_pool_t *pool, const char *const *allowed)
{
    char *text = apr_pstrdup(pool, "");
    for (int i = 0; allowed[i]; i++) {
        text = apr_pstrcat(pool, text, i ? ", " : "", allowed[i], NULL);
    }
    return text;
}

static int allowed_word(const ida_param *p, const char *word)
{
    for (int i = 0; p->allowed && p->allowed[i]; i++) {
        if (strcmp(p->allowed[i], word) == 0) {
            return 1;
        }
    }
    return p->allowed == NULL;
}

/* ", not \"5\"": the value that was sent, safe to quote. For models, which cannot see what they
 * actually sent; the sender of a query can. */
static const char *not_sent(ida_ctx *c, const json_t *given, int texts)
{
    if (texts) {
        return "";
    }
    char *text = json_is_object(given) || json_is_array(given)
                     ? NULL
                     : json_dumps(given, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *what = text                   ? ida_clean(c->pool, text, strlen(text), SENT_MAX)
                       : json_is_array(given) ? "a list"
                                              : "an object";
    free(text);
    return apr_pstrcat(c->pool, ", not ", what, NULL);
}

static json_t *check_string(ida_ctx *c, const ida_param *p, const json_t *given, int texts)
{
    const char *text = json_is_string(given) ? ida_present(c->pool, json_string_value(given))
                                             : NULL;
    if (!json_is_string(given)) {
        ida_fault_add(c, p->name, "must be a string%s", not_sent(c, given, texts));
    } else if (!text) {
        ida_fault_add(c, p->name, "must not be empty");
    } else if (p->max && ida_utf16_length(text) > (size_t)p->max) {
        ida_fault_add(c, p->name, "must be at most %lld characters", (long long)p->max);
    } else if (ida_encoding_lost(text)) {
        ida_fault_add(c, p->name, IDA_ENCODING_LOST_RULE);
    } else if (!allowed_word(p, text)) {
        ida_fault_add(c, p->name, "must be one of %s%s", words_of(c->pool, p->allowed),
                      not_sent(c, given, texts));
    } else {
        return strcmp(text, json_string_value(given)) == 0 ? json_incref((json_t *)given)
                                                           : json_string(text);
    }
    return NULL;
}

static json_t *check_integer(ida_ctx *c, const ida_param *p, const json_t *given, int texts)
{
    int64_t number = json_integer_value(given);
    int good = json_is_integer(given);
    if (json_is_real(given) && fabs(json_real_value(given)) < 1e15 &&
        trunc(json_real_value(given)) == json_real_value(given)) {
        number = (int64_t)json_real_value(
            given); /* in JSON Schema, which callers use, 50.0 is an integer */
        good = 1;
    }
    if (texts && json_is_string(given)) {
        const char *text = json_string_value(given);
        char *end;
        errno = 0;
        number = strtoll(text, &end, 10);
        good = *text >= '-' && *text <= '9' && !*end && !errno;
    }
    if (!good || number < p->min || number > p->max) {
        ida_fault_add(c, p->name, "must be a whole number from %lld to %lld%s", (long long)p->min,
                      (long long)p->max, not_sent(c, given, texts));
        return NULL;
    }
    return json_integer(number);
}

static json_t *check_boolean(ida_ctx *c, const ida_param *p, const json_t *given, int texts)
{
    const char *text = texts ? json_string_value(given) : NULL;
    if (json_is_boolean(given) ||
        (text && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0))) {
        return json_boolean(text ? text[0] == 't' : json_is_true(given));
    }
    ida_fault_add(c, p->name, "must be true or false%s", not_sent(c, given, texts));
    return NULL;
}

/* A JSON array of words, or a comma-separated list in a query. */
static json_t *check_list(ida_ctx *c, const ida_param *p, const json_t *given, int texts)
{
    json_t *list = json_array();
    if (texts && json_is_string(given)) {
        char *rest = apr_pstrdup(c->pool, json_string_value(given)), *last = NULL;
        for (char *word = apr_strtok(rest, ",", &last); word; word = apr_strtok(NULL, ",", &last)) {
            const char *trimmed = ida_present(c->pool, word);
            if (trimmed) {
                json_array_append_new(list, json_string(trimmed));
            }
        }
    } else if (json_is_array(given)) {
        json_array_extend(list, (json_t *)given);
    }
    size_t i, count = json_array_size(list);
    json_t *word;
    int good = count > 0 && count <= LIST_MAX;
    json_array_foreach (list, i, word) {
        good = good && json_is_string(word) && allowed_word(p, json_string_value(word));
    }
    if (!good) {
        ida_fault_add(c, p->name, "must name one or more of %s%s",
                      p->allowed ? words_of(c->pool, p->allowed) : "a list of texts",
                      json_is_array(given) ? "" : not_sent(c, given, texts));
        json_decref(list);
        return NULL;
    }
    return list;
}

/* --- times --- */

static json_t *check_time(ida_ctx *c, const ida_param *p, const json_t *given, int texts)
{
    int64_t at;
    if (!json_is_string(given) || !ida_time_parse(json_string_value(given), &at)) {
        ida_fault_add(
            c, p->name,
            "must be a date like 2026-11-21 or a time like 2026-11-21T09:30:00Z (UTC)%s%s",
            not_sent(c, given, texts),
            texts && strchr(json_string_value(given), ' ') ? "; in a query a + is written %2B"
                                                           : "");
        return NULL;
    }
    return json_string(ida_utc_text(c->pool, at));
}

/* --- both ways --- */

typedef json_t *(*check_fn)(ida_ctx *c, const ida_param *p, const json_t *given, int texts);

static const struct {
    const char *name; /* of JSON Schema */
    check_fn check;
} types[] = {
    [IDA_PARAM_STRING] = {"string", check_string},
    [IDA_PARAM_INTEGER] = {"integer", check_integer},
    [IDA_PARAM_BOOLEAN] = {"boolean", check_boolean},
    [IDA_PARAM_LIST] = {"array", check_list},
    [IDA_PARAM_TIME] = {"string", check_time},
    /* in bodies only, which core/model/param.c checks */
    [IDA_PARAM_NAME] = {"string", NULL},
    [IDA_PARAM_LINES] = {"string", NULL},
    [IDA_PARAM_WALL] = {"string", NULL},
    [IDA_PARAM_PERSON] = {"string", NULL},
    [IDA_PARAM_COUNTRY] = {"string", NULL},
    [IDA_PARAM_LANGUAGE] = {"string", NULL},
    [IDA_PARAM_PHOTO] = {"string", NULL},
};

json_t *ida_param_check(ida_ctx *c, const ida_param *p, const json_t *given, int texts)
{
    return types[p->type].check(c, p, given, texts);
}

const char *ida_param_unknown(apr_pool_t *pool, const ida_operation *op)
{
    const char *names = NULL;
    if (op->body) {
        return "is no query parameter of this operation; its fields go into the JSON body";
    }
    for (const ida_param *p = op->params; p->name; p++) {
        names = names ? apr_pstrcat(pool, names, ", ", p->name, NULL) : p->name;
    }
    return apr_pstrcat(pool, "is no parameter of this operation; it takes ", names ? names : "none",
                       NULL);
}

json_t *ida_param_schema(const ida_param *p)
{
    json_t *schema = json_pack("{s:s}", "type", types[p->type].name), *inner = schema;
    if (p->type == IDA_PARAM_LIST) {
        inner = json_pack("{s:s}", "type", "string");
        json_object_set_new(schema, "items", inner);
    }
    if (p->allowed) {
        json_t *words = json_array();
        for (int i = 0; p->allowed[i]; i++) {
            json_array_append_new(words, json_string(p->allowed[i]));
        }
        json_object_set_new(inner, "enum", words);
    }
    if (p->type == IDA_PARAM_INTEGER) {
        json_object_set_new(schema, "minimum", json_integer(p->min));
        json_object_set_new(schema, "maximum", json_integer(p->max));
        if (p->fallback) {
            json_object_set_new(schema, "default", json_integer(p->fallback));
        }
    } else if (p->max) {
        json_object_set_new(schema, "maxLength", json_integer(p->max));
    }
    return schema;
}

json_t *ida_params_schema(const ida_param *params)
{
    json_t *properties = json_object(), *required = json_array();
    for (const ida_param *p = params; p->name; p++) {
        if (p->flags & IDA_PARAM_REFUSED) {
            continue;
        }
        json_t *schema = ida_param_schema(p);
        if (p->flags & IDA_PARAM_CLEARED) {
            json_object_set_new(schema, "type", json_pack("[s, s]", types[p->type].name, "null"));
        }
        json_object_set_new(schema, "description", json_string(p->about));
        json_object_set_new(properties, p->name, schema);
        if (p->flags & IDA_PARAM_REQUIRED) {
            json_array_append_new(required, json_string(p->name));
        }
    }
    json_t *schema = json_pack("{s:s, s:o}", "type", "object", "properties", properties);
    if (json_array_size(required)) {
        json_object_set(schema, "required", required);
    }
    json_decref(required);
    return schema;
}
