/* Owns what a secret and what a person looks like in a text. Must not know where a text is from. */
#include "worker/ctl/scrub.h"

#include <apr_strings.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/base/digest.h"
#include "core/base/secret_path.h"
#include "core/base/text.h"

#define SECRET_MIN 4 /* shorter ones would stand in every other word */
#define HIDDEN "(hidden)"

void ctl_scrub_begin(ctl_scrub *s, const ida_ctx *c, int names)
{
    s->pool = c->pool;
    s->secrets = apr_array_make(c->pool, 16, sizeof(const char *));
    s->names = names;
    ida_random(c->env, s->key, sizeof s->key);
}

static void add(ctl_scrub *s, const char *text)
{
    if (strlen(text) >= SECRET_MIN) {
        APR_ARRAY_PUSH(s->secrets, const char *) = apr_pstrdup(s->pool, text);
    }
}

void ctl_scrub_file(ctl_scrub *s, const char *path)
{
    char line[4096];
    const char *name = path ? ida_secret_path(s->pool, path) : NULL;
    FILE *file = name ? fopen(name, "re") : NULL;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = '\0';
        const char *colon = strrchr(line, ':');
        add(s, line);
        add(s, colon ? colon + 1 : "");
    }
    if (file) {
        fclose(file);
    }
}

/* --- what is found at a place of a text: how many bytes, and what stands there instead --- */

static int is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (c & 0x80);
}

static int is_local(char c)
{
    return is_word(c) || (c && strchr(".%+'-", c));
}

static int is_host(char c)
{
    return is_word(c) || c == '.' || c == '-';
}

static const char *pseudonym(const ctl_scrub *s, const char *at, size_t len)
{
    unsigned char out[IDA_DIGEST_LEN];
    const char *folded = ida_fold_address(s->pool, apr_pstrmemdup(s->pool, at, len));
    const ida_bytes part = {folded, strlen(folded)};
    ida_hmac_sha256(s->key, sizeof s->key, &part, 1, out);
    return apr_psprintf(s->pool, "person-%02x%02x%02x%02x", out[0], out[1], out[2], out[3]);
}

static size_t span(const char *at, int (*is)(char c))
{
    size_t len = 0;
    while (at[len] && is(at[len])) {
        len++;
    }
    return len;
}

static size_t secret_at(const ctl_scrub *s, const char *text, const char *at, const char **instead)
{
    size_t longest = 0;
    (void)text;
    for (int i = 0; i < s->secrets->nelts; i++) {
        const char *secret = APR_ARRAY_IDX(s->secrets, i, const char *);
        size_t len = strlen(secret);
        longest = len > longest && strncmp(at, secret, len) == 0 ? len : longest;
    }
    *instead = HIDDEN;
    return longest;
}

static int is_token(char c)
{
    return is_word(c) || (c && strchr("+/=-.~", c));
}

static size_t key_at(const ctl_scrub *s, const char *text, const char *at, const char **instead)
{
    static const struct {
        const char *begin;
        size_t least; /* shorter ones are words */
    } keys[] = {{"ida_", 20}, {"whsec_", 1}, {"Basic ", 8}, {"Bearer ", 8}};
    (void)text;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t len = strlen(keys[i].begin), more = 0;
        if (strncasecmp(at, keys[i].begin, len) == 0 &&
            (more = span(at + len, is_token)) >= keys[i].least) {
            *instead = apr_pstrcat(s->pool, keys[i].begin, HIDDEN, NULL);
            return len + more;
        }
    }
    return 0;
}

/* password=WORD and password = 'WORDS', as libpq reads them; "password": "WORDS". */
static size_t password_at(const ctl_scrub *s, const char *text, const char *at,
                          const char **instead)
{
    static const char word[] = "password";
    size_t len = sizeof word - 1;
    (void)s, (void)text;
    *instead = "password=" HIDDEN;
    if (strncasecmp(at, word, len) != 0) {
        return 0;
    }
    len += strspn(at + len, "\" \t");
    if (at[len] != '=' && at[len] != ':') {
        return 0;
    }
    len += 1 + strspn(at + len + 1, " \t");
    char quote = at[len] == '\'' || at[len] == '"' ? at[len++] : '\0';
    while (at[len] && (quote ? at[len] != quote : !strchr(" \"&", at[len]))) {
        len += at[len] == '\\' && at[len + 1] ? 2 : 1;
    }
    return len;
}

/* The name before a URL's host, and all that is behind it: webhooks have their secret in the path.
 */
static size_t url_at(const ctl_scrub *s, const char *text, const char *at, const char **instead)
{
    if (strncmp(at, "://", 3) != 0) {
        return 0;
    }
    size_t end = strcspn(at, " \"'<>"), user = 3, host = 3 + strcspn(at + 3, "/ \"'<>?#");
    for (size_t i = 3; i < host; i++) {
        user = at[i] == '@' ? i + 1 : user;
    }
    (void)text;
    *instead = apr_psprintf(s->pool, "://%s%.*s%s", user > 3 ? HIDDEN "@" : "", (int)(host - user),
                            at + user, host + 1 < end ? "/" HIDDEN : "");
    return user > 3 || host + 1 < end ? end : 0;
}

static size_t address_at(const ctl_scrub *s, const char *text, const char *at, const char **instead)
{
    size_t local = span(at, is_local), host = at[local] == '@' ? span(at + local + 1, is_host) : 0;
    if (s->names || !local || !host || (at > text && is_local(at[-1]))) {
        return 0;
    }
    *instead = apr_psprintf(s->pool, "%s@%.*s", pseudonym(s, at, local), (int)host, at + local + 1);
    return local + 1 + host;
}

/* uid=, cn= and the like, in a DN or a filter. */
static size_t name_at(const ctl_scrub *s, const char *text, const char *at, const char **instead)
{
    static const char *const words[] = {"uid=", "cn=", "sAMAccountName=", "displayName="};
    if (s->names || (at > text && is_word(at[-1]))) {
        return 0;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t word = strlen(words[i]),
               value = strcspn(at + (strncasecmp(at, words[i], word) == 0 ? word : 0), ",)+\"");
        if (strncasecmp(at, words[i], word) == 0 && value) {
            *instead = apr_psprintf(s->pool, "%s%s", words[i], pseudonym(s, at + word, value));
            return word + value;
        }
    }
    return 0;
}

const char *ctl_scrub_text(const ctl_scrub *s, const char *text)
{
    static size_t (*const finds[])(const ctl_scrub *s, const char *text, const char *at,
                                   const char **instead) = {secret_at, key_at,     password_at,
                                                            url_at,    address_at, name_at};
    apr_array_header_t *parts = apr_array_make(s->pool, 8, sizeof(const char *));
    const char *from = text;
    for (const char *at = text; *at;) {
        const char *instead = "";
        size_t len = 0;
        for (size_t i = 0; !len && i < sizeof finds / sizeof *finds; i++) {
            len = finds[i](s, text, at, &instead);
        }
        if (len) {
            APR_ARRAY_PUSH(parts, const char *) = apr_pstrmemdup(s->pool, from,
                                                                 (apr_size_t)(at - from));
            APR_ARRAY_PUSH(parts, const char *) = instead;
            from = at + len;
        }
        at += len ? len : 1;
    }
    APR_ARRAY_PUSH(parts, const char *) = from;
    return apr_array_pstrcat(s->pool, parts, 0);
}

void ctl_scrub_json(const ctl_scrub *s, json_t *value)
{
    const char *name;
    json_t *inner;
    size_t i;
    if (json_is_string(value)) {
        const char *clean = ctl_scrub_text(s, json_string_value(value));
        if (strcmp(clean, json_string_value(value)) != 0) {
            json_string_set(value, clean);
        }
    }
    json_object_foreach (value, name, inner) {
        ctl_scrub_json(s, inner);
    }
    json_array_foreach (value, i, inner) {
        ctl_scrub_json(s, inner);
    }
}
