/* Owns the form in which entries wait in staging: records with the keys that the cache is searched
 * by, cleaned of what a hostile directory may send. Must not know statements or transactions. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/digest.h"
#include "core/base/search_key.h"
#include "core/base/text.h"
#include "core/cache/rows.h"

/* --- records --- */

/* Each text as its length, a colon, its bytes; "-" for NULL. */
const char *cache_item(apr_pool_t *pool, const char *const *fields, int count)
{
    size_t room = 1;
    for (int i = 0; i < count; i++) {
        room += fields[i] ? strlen(fields[i]) + 12 : 1;
    }
    char *record = apr_palloc(pool, room), *p = record;
    for (int i = 0; i < count; i++) {
        if (!fields[i]) {
            *p++ = '-';
            continue;
        }
        size_t len = strlen(fields[i]);
        char digits[12];
        int n = 0;
        for (size_t left = len; left || !n; left /= 10) {
            digits[n++] = (char)('0' + left % 10);
        }
        while (n) {
            *p++ = digits[--n];
        }
        *p++ = ':';
        memcpy(p, fields[i], len);
        p += len;
    }
    *p = '\0';
    return record;
}

/* Moves over one text; returns 0 at the end and for a damaged record. `end` bounds it. */
static int next_text(char **at, const char *end, char **text, size_t *len)
{
    size_t length = 0;
    char *p = *at;
    *text = NULL;
    *len = 0;
    if (p < end && *p == '-') {
        *at = p + 1;
        return 1;
    }
    while (p < end && *p >= '0' && *p <= '9' && length <= (size_t)(end - p)) {
        length = length * 10 + (size_t)(*p++ - '0');
    }
    if (p == *at || p >= end || *p != ':' || length > (size_t)(end - p - 1)) {
        return 0;
    }
    *text = p + 1;
    *len = length;
    *at = p + 1 + length;
    return 1;
}

/* A text ends where the next length begins, so each text is terminated after that length has
 * been read. */
void cache_item_read(apr_pool_t *pool, const char *record, const char **fields, int max)
{
    size_t size = record ? strlen(record) : 0, len;
    char *at = apr_pstrmemdup(pool, record ? record : "", size), *end = at + size, *text,
         *close = NULL;
    int good = 1;
    memset(fields, 0, (size_t)max * sizeof *fields);
    for (int i = 0; i < max && good; i++) {
        good = next_text(&at, end, &text, &len);
        if (close) {
            *close = '\0';
        }
        close = text ? text + len : NULL;
        fields[i] = text;
    }
    if (close) {
        *close = '\0';
    }
}

int cache_item_count(const char *record)
{
    char *at = (char *)(record ? record : ""), *end = at + strlen(at), *text; /* only read */
    size_t len;
    int count = 0;
    while (next_text(&at, end, &text, &len)) {
        count++;
    }
    return count;
}

char *cache_digest(apr_pool_t *pool, const char *bytes, size_t len)
{
    unsigned char hash[IDA_DIGEST_LEN];
    ida_sha256(bytes, len, hash);
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

/* A key fit for an index; NULL stays NULL. */
static const char *key_of(apr_pool_t *pool, const char *text)
{
    size_t len = text ? strlen(text) : 0;
    if (!len) {
        return NULL;
    }
    if (len <= CACHE_KEY_MAX) {
        return clean(pool, text, CACHE_KEY_MAX);
    }
    return apr_pstrcat(pool, ida_clean(pool, text, len, CACHE_KEY_MAX - 40), "#",
                       cache_digest(pool, text, len), NULL);
}

/* `address` is a text that is clean already. */
static const char *folded(apr_pool_t *pool, const char *address)
{
    return address ? key_of(pool, ida_fold_address(pool, address)) : NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorts and removes duplicates, so that the order in which a server lists values does not make
 * an entry look changed. */
static int sorted(const char **items, int count)
{
    int kept = 0;
    qsort(items, (size_t)count, sizeof *items, by_text);
    for (int i = 0; i < count; i++) {
        if (!kept || strcmp(items[kept - 1], items[i]) != 0) {
            items[kept++] = items[i];
        }
    }
    return kept;
}

static int length(const char *const *list)
{
    int count = 0;
    while (list && list[count]) {
        count++;
    }
    return count;
}

static const char *number(apr_pool_t *pool, int64_t value)
{
    return value == 0 ? "0" : value == 1 ? "1" : apr_off_t_toa(pool, value);
}

/* The displayed fields come first and further addresses last, because the text is cut at its
 * limit. */
static const char *search_key(apr_pool_t *pool, const char *const *fields)
{
    static const int shown[] = {CACHE_USER_display_name, CACHE_USER_given_name,
                                CACHE_USER_surname,      CACHE_USER_upn,
                                CACHE_USER_mail,         CACHE_USER_job_title,
                                CACHE_USER_department,   CACHE_USER_company,
                                CACHE_USER_employee_id};
    const int texts = (int)(sizeof shown / sizeof *shown),
              further = cache_item_count(fields[CACHE_USER_addresses]);
    const char **words = apr_palloc(pool, (apr_size_t)(texts + further) * sizeof *words);
    for (int i = 0; i < texts; i++) {
        words[i] = fields[shown[i]];
    }
    cache_item_read(pool, fields[CACHE_USER_addresses], words + texts, further);
    return ida_search_words(pool, words, texts + further);
}

/* The record with one text replaced. */
static const char *swapped(apr_pool_t *pool, const char *record, const char *out, const char *in)
{
    int have = cache_item_count(record), count = 0;
    const char **items = apr_palloc(pool, (apr_size_t)(have + 1) * sizeof *items);
    cache_item_read(pool, record, items, have);
    for (int i = 0; i < have; i++) {
        if (strcmp(items[i], out) != 0) {
            items[count++] = items[i];
        }
    }
    items[count++] = in;
    return cache_item(pool, items, sorted(items, count));
}

void cache_user_keep_upn(apr_pool_t *pool, const char **fields, const char *known_key)
{
    const char *chosen = fields[CACHE_USER_upn_key], *kept = NULL;
    int further = cache_item_count(fields[CACHE_USER_upns]);
    const char **upns = apr_palloc(pool, (apr_size_t)(further + 1) * sizeof *upns);
    if (!further || !chosen || !known_key || strcmp(chosen, known_key) == 0) {
        return;
    }
    cache_item_read(pool, fields[CACHE_USER_upns], upns, further);
    for (int i = 0; i < further && !kept; i++) {
        kept = strcmp(folded(pool, upns[i]), known_key) == 0 ? upns[i] : NULL;
    }
    if (!kept) {
        return;
    }
    fields[CACHE_USER_addresses] = swapped(pool, fields[CACHE_USER_addresses], known_key, chosen);
    fields[CACHE_USER_aliases] = swapped(pool, fields[CACHE_USER_aliases], known_key, chosen);
    const char *mail_key = folded(pool, fields[CACHE_USER_mail]);
    if (mail_key && strcmp(mail_key, chosen) == 0) {
        fields[CACHE_USER_mail] = kept;
    }
    fields[CACHE_USER_upn] = kept;
    fields[CACHE_USER_upn_key] = known_key;
    fields[CACHE_USER_search_key] = search_key(pool, fields);
}

const char *cache_user_item(apr_pool_t *pool, const cache_user *user)
{
#define TEXT(column, ...) [CACHE_USER_##column] = clean(pool, user->column, CACHE_TEXT_MAX),
    const char *fields[CACHE_USER_FIELDS] = {
        [CACHE_USER_enabled] = number(pool, user->enabled != 0),
        [CACHE_USER_guest] = number(pool, user->guest != 0),
        [CACHE_USER_created_at] = number(pool, user->created_at),
        [CACHE_USER_expires_at] = number(pool, user->expires_at),
        [CACHE_USER_expired] = "0",
        [CACHE_USER_dn_key] = key_of(pool, user->dn_key),
        [CACHE_USER_anchor] = key_of(pool, user->anchor),
        [CACHE_USER_manager_ref] = key_of(pool, user->manager_dn_key),
        [CACHE_USER_manager_untold] = user->manager_untold ? number(pool, user->manager_untold)
                                                           : NULL,
        IDA_PERSON(TEXT) TEXT(dn) TEXT(stamp) TEXT(manager_id)};
#undef TEXT
    const char *upn = fields[CACHE_USER_upn], *mail = fields[CACHE_USER_mail],
               *shown = fields[CACHE_USER_display_name];
    fields[CACHE_USER_upn_key] = folded(pool, upn);
    const char *mail_key = mail && upn && strcmp(mail, upn) == 0 ? fields[CACHE_USER_upn_key]
                                                                 : folded(pool, mail);
    fields[CACHE_USER_name_key] = ida_name_key(pool, shown);
    fields[CACHE_USER_department_key] = ida_name_key(pool, fields[CACHE_USER_department]);
    fields[CACHE_USER_company_key] = ida_name_key(pool, fields[CACHE_USER_company]);
    fields[CACHE_USER_title_key] = ida_name_key(pool, fields[CACHE_USER_job_title]);
    fields[CACHE_USER_employee_key] = fields[CACHE_USER_employee_id]
                                          ? key_of(pool, ida_fold_value(
                                                             pool, fields[CACHE_USER_employee_id]))
                                          : NULL;
    if (!fields[CACHE_USER_name_key]) {
        fields[CACHE_USER_name_key] = "";
    }
    if (!user->sign_ins_untold) {
        fields[CACHE_USER_last_sign_in_at] = number(pool, user->last_sign_in_at);
        fields[CACHE_USER_last_noninteractive_at] = number(pool, user->last_noninteractive_at);
        fields[CACHE_USER_last_success_at] = number(pool, user->last_success_at);
    }
    int further = length(user->addresses), more = length(user->upns), count = 0, told = 0,
        aliased = 0;
    const char **addresses = apr_palloc(pool, (apr_size_t)(further + more + 2) * sizeof *addresses),
               **upns = apr_palloc(pool, (apr_size_t)(more + 1) * sizeof *upns),
               **aliases = apr_palloc(pool, (apr_size_t)(more + 1) * sizeof *aliases);
    const char *upn_key = fields[CACHE_USER_upn_key];
    for (int i = -1; i < further; i++) {
        const char *address = i == -1
                                  ? mail_key
                                  : folded(pool, clean(pool, user->addresses[i], CACHE_TEXT_MAX));
        if (address && (!upn_key || strcmp(address, upn_key) != 0)) {
            addresses[count++] = address;
        }
    }
    for (int i = 0; i < more; i++) {
        const char *one = clean(pool, user->upns[i], CACHE_TEXT_MAX), *key = folded(pool, one);
        if (key && upn_key && strcmp(key, upn_key) != 0) {
            upns[told++] = one;
            addresses[count++] = aliases[aliased++] = key;
        }
    }
    fields[CACHE_USER_addresses] = cache_item(pool, addresses, sorted(addresses, count));
    fields[CACHE_USER_aliases] = cache_item(pool, aliases, sorted(aliases, aliased));
    fields[CACHE_USER_search_key] = search_key(pool, fields);
    fields[CACHE_USER_upns] = told ? cache_item(pool, upns, sorted(upns, told)) : NULL;
    if (user->licenses) {
        int names = length(user->licenses), named = 0;
        const char **licenses = apr_palloc(pool, (apr_size_t)(names + 1) * sizeof *licenses);
        for (int i = 0; i < names; i++) {
            const char *name = key_of(pool, user->licenses[i]);
            if (name) {
                licenses[named++] = name;
            }
        }
        fields[CACHE_USER_licenses] = cache_list(pool, licenses, sorted(licenses, named));
    }
    return cache_item(pool, fields, CACHE_USER_FIELDS);
}

const char *cache_group_item(apr_pool_t *pool, const cache_group *group, const char *list)
{
    const char *name = clean(pool, group->name, CACHE_TEXT_MAX),
               *name_key = name ? key_of(pool, ida_fold_search(pool, name)) : NULL;
    const char *const fields[CACHE_GROUP_FIELDS] = {
        [CACHE_GROUP_name] = name ? name : group->id,
        [CACHE_GROUP_name_key] = name_key ? name_key : "",
        [CACHE_GROUP_kind] = group->kind ? group->kind : "security",
        [CACHE_GROUP_description] = clean(pool, group->description, CACHE_TEXT_MAX),
        [CACHE_GROUP_dn] = clean(pool, group->dn, CACHE_TEXT_MAX),
        [CACHE_GROUP_dn_key] = key_of(pool, group->dn_key),
        [CACHE_GROUP_rule] = clean(pool, group->rule, CACHE_TEXT_MAX),
        [CACHE_GROUP_stamp] = clean(pool, group->stamp, CACHE_TEXT_MAX),
        [CACHE_GROUP_synced] = number(pool, group->synced != 0),
        [CACHE_GROUP_list] = list,
    };
    return cache_item(pool, fields, CACHE_GROUP_FIELDS);
}

static const char *marked(apr_pool_t *pool, char mark, const char *text)
{
    size_t len = strlen(text);
    char *item = apr_palloc(pool, len + 2);
    *item = mark;
    memcpy(item + 1, text, len + 1);
    return item;
}

const char *cache_member_item(apr_pool_t *pool, const cache_member *member)
{
    if (member->id) {
        int is_group = member->kind && strcmp(member->kind, "group") == 0;
        return cache_id_valid(member->id) ? marked(pool, is_group ? 'g' : 'u', member->id) : NULL;
    }
    const char *key = key_of(pool, member->dn_key);
    return key ? marked(pool, 'd', key) : NULL;
}

int cache_stamp_newer(const char *stamp, const char *than)
{
    size_t len = stamp ? strlen(stamp) : 0, than_len = than ? strlen(than) : 0;
    if (!len || !than_len) {
        return 0;
    }
    int number = strspn(stamp, "0123456789") == len,
        than_number = strspn(than, "0123456789") == than_len;
    if (number && than_number) { /* uSNChanged */
        stamp += strspn(stamp, "0");
        than += strspn(than, "0");
        len = strlen(stamp);
        than_len = strlen(than);
        return len != than_len ? len > than_len : strcmp(stamp, than) > 0;
    }
    /* entryCSN: fixed width, "20261121093000.000000Z#000000#000#000000" */
    return !number && !than_number && len == than_len && strchr(stamp, '#') && strchr(than, '#') &&
           strcmp(stamp, than) > 0;
}
