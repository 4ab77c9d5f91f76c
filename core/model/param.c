/* Owns the texts of request bodies, by tables: how they are checked, stored and loaded. Must not
 * know what they mean together. */
#include "core/model/param.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

#define WARNINGS_MAX 20
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

/* --- unknown members --- */

#define SPELLING_MAX \
    40 /* letters of a name that is compared with known ones; longer ones are not */

/* A name without case, blanks, hyphens and underscores. 0 when it is too long to be meant for a
 * known one. */
static size_t spelling(const char *name, char *out)
{
    size_t len = 0;
    for (; *name; name++) {
        if (strchr(" -_", *name)) {
            continue;
        }
        if (len == SPELLING_MAX) {
            return 0;
        }
        out[len++] = (char)tolower((unsigned char)*name);
    }
    return len;
}

/* One letter more, less or another one, or two neighbours exchanged. */
static int one_letter_off(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len < b_len) {
        return one_letter_off(b, b_len, a, a_len);
    }
    size_t same = 0, behind = 0;
    while (same < b_len && a[same] == b[same]) {
        same++;
    }
    while (behind < b_len - same && a[a_len - 1 - behind] == b[b_len - 1 - behind]) {
        behind++;
    }
    size_t a_rest = a_len - same - behind, b_rest = b_len - same - behind;
    int exchanged = a_rest == 2 && b_rest == 2 && a[same] == b[same + 1] && a[same + 1] == b[same];
    return (a_rest <= 1 && b_rest <= 1) || exchanged;
}

/* The known member that this name was likely meant for, NULL when there is none. */
static const char *meant(const ida_param *members, const char *name)
{
    char given[SPELLING_MAX], known[SPELLING_MAX];
    size_t len = spelling(name, given);
    for (; len && members->name; members++) {
        if (one_letter_off(given, len, known, spelling(members->name, known))) {
            return members->name;
        }
    }
    return NULL;
}

void ida_params_unknown(ida_ctx *c, const json_t *body, const ida_param *members, json_t *warnings)
{
    const char *name;
    json_t *ignored;
    size_t unknown = 0;
    json_object_foreach ((json_t *)body, name, ignored) {
        if (ida_param_find(members, name)) {
            continue;
        }
        const char *known = meant(members, name),
                   *shown = ida_clean(c->pool, name, strlen(name), NAME_SHOWN_MAX);
        if (known || !warnings) {
            ida_fault_add(c, shown, "is not known%s%s%s", known ? ": it is written \"" : "",
                          known ? known : "", known ? "\"" : "");
        } else if (++unknown <= WARNINGS_MAX) {
            json_array_append_new(
                warnings,
                json_string(ida_printf(c->pool, "unknown member \"%s\" was ignored", shown)));
        }
    }
    if (unknown > WARNINGS_MAX) {
        json_array_append_new(warnings, json_sprintf("%zu more unknown members were ignored",
                                                     unknown - WARNINGS_MAX));
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
