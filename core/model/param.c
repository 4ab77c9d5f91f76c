/* Owns the texts of request bodies, by tables: how they are checked, stored and loaded. Must not
 * know what they mean together. */
#include "core/model/param.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/similar.h"
#include "core/base/text.h"

#define UNKNOWN_MAX 1000  /* unknown members that are ignored; more of them are a fault */
#define NAME_SHOWN_MAX 64 /* bytes of an unknown member's name in a warning */

const ida_param *ida_param_find(const ida_param *params, const char *name)
{
    while (params->name && strcmp(params->name, name) != 0) {
        params++;
    }
    return params->name ? params : NULL;
}

static const char **slot(const void *of, const ida_param *p)
{
    int other = p->type == IDA_PARAM_BOOLEAN || p->type == IDA_PARAM_PHOTO ||
                (p->flags & IDA_PARAM_REFUSED) || p->at == IDA_PARAM_IN_VALUES;
    return other ? NULL : (const char **)((uintptr_t)of + p->at);
}

const char *ida_param_value(const void *in, const ida_param *p)
{
    const char **at = slot(in, p);
    return at ? *at : NULL;
}

static int looks_like_upn(const char *text)
{
    const char *at = strchr(text, '@');
    return at && at != text && at[1] && !strchr(at + 1, '@') && !strpbrk(text, " \t");
}

/* As directories write them: 32 hexadecimal digits, parted by hyphens. */
static int looks_like_id(const char *text)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
    size_t i = 0;
    while (form[i] && (form[i] == '-' ? text[i] == '-' : isxdigit((unsigned char)text[i]))) {
        i++;
    }
    return i == sizeof form - 1 && !text[i];
}

static const char *text_fault(apr_pool_t *pool, const ida_param *p, const char *text)
{
    int lines = p->type == IDA_PARAM_LINES;
    if (p->allowed) {
        return ida_words_rule(pool, p->allowed, text);
    }
    if (ida_utf16_length(text) > (size_t)p->max) {
        return ida_printf(pool, "must be at most %lld characters", (long long)p->max);
    }
    if (ida_has_control(text, lines)) {
        return lines ? "must not hold control characters other than line breaks"
                     : "must not hold control characters or line breaks";
    }
    if (ida_encoding_lost(text)) {
        return IDA_ENCODING_LOST_RULE;
    }
    if (p->type == IDA_PARAM_NAME && !text[strspn(text, "? ")]) {
        return "must not consist of question marks: the sender's encoding was lost";
    }
    if (p->type == IDA_PARAM_PERSON && !looks_like_upn(text) && !looks_like_id(text)) {
        return "must be a user principal name such as eva.berg@contoso.example, or an object ID";
    }
    return p->type == IDA_PARAM_LANGUAGE && !ida_language_tag_valid(text)
               ? "must be a BCP 47 language tag such as sv-SE"
               : NULL;
}

static const char *upper_code(apr_pool_t *pool, const char *code)
{
    const char upper[] = {(char)(code[0] & ~0x20), (char)(code[1] & ~0x20)};
    return apr_pstrmemdup(pool, upper, sizeof upper);
}

const char *ida_param_text(ida_ctx *c, const json_t *body, const ida_param *p,
                           const char *required_rule)
{
    const json_t *given = json_object_get(body, p->name);
    const char *raw = json_string_value(given), *text = ida_present(c->pool, raw);
    const char *fault = given && !json_is_null(given) && !raw ? "must be a string"
                        : !text                               ? required_rule
                        : p->type == IDA_PARAM_WALL           ? NULL
                                                              : text_fault(c->pool, p, text);
    if (fault) {
        ida_fault_add(c, p->name, "%s", fault);
        return NULL;
    }
    return text && p->type == IDA_PARAM_WALL ? raw
           : text && p->type == IDA_PARAM_COUNTRY && ida_country_code_valid(text)
               ? upper_code(c->pool, text)
               : text;
}

void ida_params_read(ida_ctx *c, const json_t *body, const ida_param *members,
                     const char *required_rule, void *out)
{
    for (const ida_param *p = members; p->name; p++) {
        const char **at = slot(out, p);
        if (at) {
            *at = ida_param_text(c, body, p, p->flags & IDA_PARAM_REQUIRED ? required_rule : NULL);
        }
    }
}

static int see(apr_pool_t *pool, json_t *one)
{
    const char *text = json_string_value(one), *seen = text ? ida_seen(pool, text) : NULL;
    return seen != text && json_string_set(one, seen) == 0;
}

void ida_param_see(ida_ctx *c, const ida_param *p, json_t *given, json_t *warnings)
{
    if (p->type == IDA_PARAM_PHOTO || p->type == IDA_PARAM_WALL) {
        return; /* a day of nothing visible would be none, and none means now */
    }
    json_t *one;
    size_t i;
    int taken = see(c->pool, given);
    json_array_foreach (given, i, one) {
        taken |= see(c->pool, one);
    }
    if (taken && warnings) {
        json_array_append_new(warnings,
                              json_sprintf("%s: signs that are not seen were left out", p->name));
    }
}

/* --- unknown members --- */

static const char *written(ida_ctx *c, const ida_param *members, const char *name,
                           const ida_look *look)
{
    const char *known = ida_meant(members, sizeof *members, look, 1);
    return known ? ida_printf(c->pool, ": it is written \"%s\"%s", known,
                              ida_is_plain(name, strlen(name))
                                  ? ""
                                  : ", in plain letters and without signs that are not seen")
                 : NULL;
}

const char *ida_param_written(ida_ctx *c, const ida_param *members, const char *name)
{
    ida_look look;
    ida_look_at(name, &look);
    return written(c, members, name, &look);
}

static int tells_day(const ida_look *look)
{
    static const char *const words[] = {"date", "day", "start", "end"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (ida_look_holds(look, words[i])) {
            return 1;
        }
    }
    return 0;
}

/* What is to happen on a day that has another name here would happen at once. */
static int is_undated(ida_ctx *c, const json_t *body, const ida_param *members)
{
    return ida_param_find(members, "date") && !ida_present(c->pool, ida_json_string(body, "date"));
}

void ida_params_unknown(ida_ctx *c, const json_t *body, const ida_param *members, json_t *warnings)
{
    const char *name;
    json_t *ignored;
    size_t warned = 0, refused = 0;
    int undated = is_undated(c, body, members);
    json_object_foreach ((json_t *)body, name, ignored) {
        if (ida_param_find(members, name)) {
            continue;
        }
        ida_look look;
        ida_look_at(name, &look);
        const char *rule = written(c, members, name, &look);
        if (!rule && undated && tells_day(&look)) {
            rule = "; if it names the day, that is \"date\" here, without which this happens at "
                   "once; otherwise leave it out";
        }
        int refuse = rule || !warnings, told = (refuse ? ++refused : ++warned) <= IDA_UNKNOWN_MAX;
        const char *shown = told ? ida_clean(c->pool, name, strlen(name), NAME_SHOWN_MAX) : NULL;
        if (refuse && !told) {
            return; /* each costs a comparison with all known names */
        }
        if (warned > UNKNOWN_MAX) {
            ida_fault_add(c, "body", "has more than %d members that are not known", UNKNOWN_MAX);
            return;
        }
        if (refuse) {
            ida_fault_add(c, shown, "is not known%s", rule ? rule : "");
        } else if (told) {
            json_array_append_new(
                warnings,
                json_string(ida_printf(c->pool, "unknown member \"%s\" was ignored", shown)));
        }
    }
    if (warned > IDA_UNKNOWN_MAX) {
        json_array_append_new(warnings, json_sprintf("%zu more unknown members were ignored",
                                                     warned - IDA_UNKNOWN_MAX));
    }
}

json_t *ida_params_stored(const void *in, const ida_param *members)
{
    json_t *stored = json_object();
    for (const ida_param *p = members; p->name; p++) {
        ida_json_put(stored, p->name, ida_param_value(in, p));
    }
    return stored;
}

int ida_params_load(const json_t *stored, const ida_param *members, void *out)
{
    for (const ida_param *p = members; p->name; p++) {
        const char **at = slot(out, p);
        const json_t *one = json_object_get(stored, p->name);
        if (!at) {
            continue;
        }
        *at = json_string_value(one);
        if (!*at && ((one && !json_is_null(one)) || (p->flags & IDA_PARAM_REQUIRED))) {
            return 0;
        }
    }
    return 1;
}
