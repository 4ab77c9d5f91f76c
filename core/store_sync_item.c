/* Owns the form in which entries wait in staging: JSON with the keys that the cache is searched by, cleaned of what a hostile directory may
 * send. Must not know statements or transactions. */
#include <apr_strings.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

#include "core/search_key.h"
#include "core/store_cache.h"
#include "core/text.h"

void cache_text_begin(cache_text *t, apr_pool_t *pool, const char *first)
{
    *t = (cache_text){.pool = pool, .room = 1024, .bytes = apr_palloc(pool, 1024)};
    t->bytes[0] = '\0';
    cache_text_add(t, first);
}

static char *reserve(cache_text *t, size_t more)
{
    if (t->len + more + 1 > t->room) {
        size_t room = (t->len + more + 1) * 2;
        char *bytes = apr_palloc(t->pool, room);
        memcpy(bytes, t->bytes, t->len);
        t->bytes = bytes;
        t->room = room;
    }
    return t->bytes + t->len;
}

void cache_text_add(cache_text *t, const char *text)
{
    size_t len = strlen(text);
    memcpy(reserve(t, len), text, len + 1);
    t->len += len;
}

void cache_text_string(cache_text *t, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    char *out = reserve(t, strlen(text) * 6 + 2);
    char *p = out;
    *p++ = '"';
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;
        if (ch < 0x20) {
            memcpy(p, "\\u00", 4);
            p[4] = hex[ch >> 4];
            p[5] = hex[ch & 15];
            p += 6;
            continue;
        }
        if (ch == '"' || ch == '\\') {
            *p++ = '\\';
        }
        *p++ = (char)ch;
    }
    *p++ = '"';
    *p = '\0';
    t->len += (size_t)(p - out);
}

const char *cache_list(apr_pool_t *pool, const char *const *items, int count)
{
    cache_text t;
    cache_text_begin(&t, pool, "[");
    for (int i = 0; i < count; i++) {
        if (i) {
            cache_text_add(&t, ",");
        }
        cache_text_string(&t, items[i]);
    }
    cache_text_add(&t, "]");
    return t.bytes;
}

char *cache_digest(apr_pool_t *pool, const char *bytes, size_t len)
{
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)bytes, len, hash);
    return ida_hex(pool, hash, 16);
}

int cache_id_valid(const char *id)
{
    size_t len = id ? strlen(id) : 0;
    return len > 0 && len <= CACHE_ID_MAX && ida_utf8_valid(id, len);
}

static const char *clean(apr_pool_t *pool, const char *text, size_t max)
{
    size_t len = text ? strlen(text) : 0;
    if (!len) {
        return NULL; /* LDAP and Graph know no empty values: absent */
    }
    return len <= max && ida_utf8_valid(text, len) ? text : ida_clean(pool, text, len, max);
}

const char *cache_key(apr_pool_t *pool, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (!len) {
        return NULL;
    }
    if (len <= CACHE_KEY_MAX) {
        return clean(pool, text, CACHE_KEY_MAX);
    }
    return apr_pstrcat(pool, ida_clean(pool, text, len, CACHE_KEY_MAX - 40), "#", cache_digest(pool, text, len), NULL);
}

static const char *folded(apr_pool_t *pool, const char *address)
{
    const char *text = clean(pool, address, CACHE_TEXT_MAX);
    return text ? cache_key(pool, ida_fold_address(pool, text)) : NULL;
}

static const char *searchable(apr_pool_t *pool, const char *name)
{
    const char *text = clean(pool, name, CACHE_TEXT_MAX);
    return text ? cache_key(pool, ida_fold_search(pool, text)) : NULL;
}

static void put(cache_text *t, const char *member, const char *text)
{
    if (text) {
        cache_text_add(t, t->len > 1 ? ",\"" : "\"");
        cache_text_add(t, member);
        cache_text_add(t, "\":");
        cache_text_string(t, text);
    }
}

static void put_text(cache_text *t, const char *member, const char *text)
{
    put(t, member, clean(t->pool, text, CACHE_TEXT_MAX));
}

static void put_number(cache_text *t, const char *member, int64_t number)
{
    cache_text_add(t, ida_printf(t->pool, "%s\"%s\":%lld", t->len > 1 ? "," : "", member, (long long)number));
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted and each once, so that the order in which a server names values does not make an entry look changed. */
static void put_set(cache_text *t, const char *member, const char **items, int count)
{
    int kept = 0;
    qsort(items, (size_t)count, sizeof *items, by_text);
    for (int i = 0; i < count; i++) {
        if (!kept || strcmp(items[kept - 1], items[i]) != 0) {
            items[kept++] = items[i];
        }
    }
    cache_text_add(t, ida_printf(t->pool, "%s\"%s\":", t->len > 1 ? "," : "", member));
    cache_text_add(t, cache_list(t->pool, items, kept));
}

static int length(const char *const *list)
{
    int count = 0;
    while (list && list[count]) {
        count++;
    }
    return count;
}

const char *cache_user_item(apr_pool_t *pool, const sync_user *user)
{
    const struct {
        const char *member, *text;
    } texts[] = {
        {"upn", user->upn},         {"mail", user->mail},         {"display_name", user->display_name}, {"given_name", user->given_name},
        {"surname", user->surname}, {"department", user->department}, {"job_title", user->job_title},    {"company", user->company},
        {"office", user->office},   {"city", user->city},         {"country", user->country},           {"employee_id", user->employee_id},
        {"dn", user->dn},           {"stamp", user->stamp},       {"manager_id", user->manager_id},
    };
    const struct {
        const char *member;
        int64_t number;
    } numbers[] = {
        {"enabled", user->enabled != 0},
        {"guest", user->guest != 0},
        {"created_at", user->created_at},
        {"last_sign_in_at", user->last_sign_in_at}, /* these three: not when untold */
        {"last_noninteractive_at", user->last_noninteractive_at},
        {"last_success_at", user->last_success_at},
    };
    const size_t told = sizeof numbers / sizeof *numbers - (user->sign_ins_untold ? 3 : 0);
    int further = length(user->addresses), count = 0;
    const char **addresses = apr_palloc(pool, (apr_size_t)(further + 2) * sizeof *addresses);
    const char *words[] = {user->display_name, user->given_name, user->surname, user->upn, user->mail}, *name_key = NULL, *department_key = NULL;
    const int word_count = sizeof words / sizeof *words;
    const char *upn_key = folded(pool, user->upn), *mail_key = folded(pool, user->mail);
    for (int i = 0; i < word_count; i++) {
        words[i] = clean(pool, words[i], CACHE_TEXT_MAX);
    }
    name_key = ida_name_key(pool, words[0]);
    department_key = ida_name_key(pool, clean(pool, user->department, CACHE_TEXT_MAX));
    cache_text t;
    cache_text_begin(&t, pool, "{");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        put_text(&t, texts[i].member, texts[i].text);
    }
    for (size_t i = 0; i < told; i++) {
        put_number(&t, numbers[i].member, numbers[i].number);
    }
    put(&t, "upn_key", upn_key);
    put(&t, "mail_key", mail_key);
    put(&t, "name_key", name_key ? name_key : "");
    put(&t, "department_key", department_key);
    put(&t, "search_key", ida_search_words(pool, words, word_count));
    put(&t, "dn_key", cache_key(pool, user->dn_key));
    put(&t, "anchor", cache_key(pool, user->anchor));
    put(&t, "manager_ref", cache_key(pool, user->manager_dn_key));
    for (int i = -2; i < further; i++) {
        const char *address = i == -2 ? upn_key : i == -1 ? mail_key : folded(pool, user->addresses[i]);
        if (address) {
            addresses[count++] = address;
        }
    }
    put_set(&t, "addresses", addresses, count);
    if (user->manager_untold) {
        put_number(&t, "manager_untold", user->manager_untold);
    }
    if (user->licenses) {
        int names = length(user->licenses), named = 0;
        const char **licenses = apr_palloc(pool, (apr_size_t)(names + 1) * sizeof *licenses);
        for (int i = 0; i < names; i++) {
            const char *name = cache_key(pool, user->licenses[i]);
            if (name) {
                licenses[named++] = name;
            }
        }
        put_set(&t, "licenses", licenses, named);
    }
    cache_text_add(&t, "}");
    return t.bytes;
}

const char *cache_group_item(apr_pool_t *pool, const sync_group *group, int members, const char *list)
{
    const char *name = clean(pool, group->name, CACHE_TEXT_MAX);
    const char *name_key = searchable(pool, name);
    cache_text t;
    cache_text_begin(&t, pool, "{");
    put(&t, "name", name ? name : group->id);
    put(&t, "name_key", name_key ? name_key : "");
    put(&t, "kind", group->kind ? group->kind : "security");
    put_text(&t, "description", group->description);
    put_text(&t, "dn", group->dn);
    put_text(&t, "rule", group->rule);
    put_text(&t, "stamp", group->stamp);
    put(&t, "dn_key", cache_key(pool, group->dn_key));
    put(&t, "list", list);
    put_number(&t, "synced", group->synced != 0);
    if (members >= 0) {
        put_number(&t, "members", members);
    }
    cache_text_add(&t, "}");
    return t.bytes;
}

const char *cache_member_item(apr_pool_t *pool, const sync_member *member)
{
    if (member->id) {
        int is_group = member->kind && strcmp(member->kind, "group") == 0;
        return cache_id_valid(member->id) ? apr_pstrcat(pool, is_group ? "g" : "u", member->id, NULL) : NULL;
    }
    const char *key = cache_key(pool, member->dn_key);
    return key ? apr_pstrcat(pool, "d", key, NULL) : NULL;
}

int cache_stamp_newer(const char *stamp, const char *than)
{
    size_t len = stamp ? strlen(stamp) : 0, than_len = than ? strlen(than) : 0;
    if (!len || !than_len) {
        return 0;
    }
    int number = strspn(stamp, "0123456789") == len, than_number = strspn(than, "0123456789") == than_len;
    if (number && than_number) { /* uSNChanged */
        stamp += strspn(stamp, "0");
        than += strspn(than, "0");
        len = strlen(stamp);
        than_len = strlen(than);
        return len != than_len ? len > than_len : strcmp(stamp, than) > 0;
    }
    /* entryCSN: fixed width, "20261121093000.000000Z#000000#000#000000" */
    return !number && !than_number && len == than_len && strchr(stamp, '#') && strchr(than, '#') && strcmp(stamp, than) > 0;
}
