/* Owns users as the API shows them and some changes of one that stands: photo, disabling, sign-in
 * sessions. Must not know how a user is made, grouped or given new values. */
#include <apr_strings.h>
#include <apr_time.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/calls.h"

#define READ_SELECT GRAPH_USER_SELECT ",onPremisesExtensionAttributes"
#define PHOTO_MAX 4194304
#define WRITES_MAX 3  /* of one write whose outcome stays unknown */
#define REPEAT_MS 250 /* before the first repetition, doubled each time */
#define RETRY_AFTER_MAX_MS 2000
#define REQUEST_MIN_MS 500 /* less time than this is not enough for a request */

/* --- requests worth repeating --- */

int graph_pause(graph_call *k, int ms)
{
    int64_t spare = graph_left(k) - REQUEST_MIN_MS;
    if (spare <= 0) {
        return 0;
    }
    apr_sleep((spare < ms ? spare : ms) * 1000);
    return 1;
}

directory_class graph_read(graph_call *k, const graph_request *request, graph_answer *answer)
{
    directory_class class = graph_send(k, GRAPH_READ, request, answer);
    return class == DIRECTORY_TRANSIENT && graph_pause(k, REPEAT_MS)
               ? graph_send(k, GRAPH_READ, request, answer)
               : class;
}

directory_class graph_write(graph_call *k, const graph_request *request, graph_answer *answer)
{
    int wait = REPEAT_MS, lost = 0;
    for (int times = 1;; times++, wait *= 2) {
        directory_class class = graph_send(k, GRAPH_WRITE, request, answer);
        answer->sent_before = lost;
        lost |= class == DIRECTORY_UNSURE;
        int again = class == DIRECTORY_UNSURE || (class == DIRECTORY_TRANSIENT && answer->status);
        /* Told to wait longer than this: then the task does, not this thread. */
        if (!again || times == WRITES_MAX || answer->retry_after_ms > RETRY_AFTER_MAX_MS ||
            !graph_pause(k, answer->retry_after_ms > wait ? answer->retry_after_ms : wait)) {
            return class;
        }
    }
}

directory_class graph_end(graph_call *k, directory_class class)
{
    if (class == DIRECTORY_OK || class == DIRECTORY_ALREADY) {
        *k->e = (directory_error){.class = class};
    }
    return class;
}

directory_class graph_needs(graph_call *k, directory_class class, const char *permission,
                            int privileged)
{
    if (class == DIRECTORY_FORBIDDEN) {
        k->e->message = apr_pstrcat(
            k->pool, k->e->message, " Needed: the application permission ", permission,
            " with an administrator's consent",
            privileged
                ? "; for an account that holds an administrator role also a directory role for the "
                  "application, such as Privileged Authentication Administrator"
                : "",
            ".", NULL);
    }
    return class;
}

int graph_answer_says(const graph_answer *answer, const char *text)
{
    const json_t *details = json_object_get(json_object_get(answer->json, "error"), "details"),
                 *detail;
    size_t i;
    if (strcasestr(answer->message, text)) {
        return 1;
    }
    json_array_foreach (details, i, detail) {
        const char *code = ida_json_string(detail, "code"),
                   *message = ida_json_string(detail, "message");
        if ((code && strcasestr(code, text)) || (message && strcasestr(message, text))) {
            return 1;
        }
    }
    return 0;
}

int graph_missing_reference(const graph_answer *answer)
{
    return answer->status == 400 &&
           (graph_answer_says(answer, "reference-property objects are not present") ||
            graph_answer_says(answer, "not a valid reference update"));
}

json_t *graph_reference(graph_call *k, const char *url)
{
    return ida_json_keep(k->pool, json_pack("{s:s}", "@odata.id", url));
}

directory_class graph_each(graph_call *k, const graph_request *first, graph_item each, void *baton)
{
    graph_request page = *first;
    for (;;) {
        graph_answer answer;
        json_t *item;
        size_t i;
        directory_class class = graph_read(k, &page, &answer);
        if (class) {
            return class;
        }
        const json_t *items = json_object_get(answer.json, "value");
        if (!json_is_array(items)) {
            return graph_fail(k, DIRECTORY_TRANSIENT, NULL, "%s: the answer is no list",
                              page.doing);
        }
        json_array_foreach (items, i, item) {
            each(k, item, baton);
        }
        page.url = ida_json_string(answer.json, "@odata.nextLink");
        if (!page.url) {
            return DIRECTORY_OK;
        }
    }
}

/* --- users as the API shows them --- */

static int digits(const char **p, int count)
{
    int number = 0;
    for (; count; count--, (*p)++) {
        if (**p < '0' || **p > '9') {
            return -1;
        }
        number = number * 10 + (**p - '0');
    }
    return number;
}

int64_t graph_time(const json_t *value)
{
    static const char separators[] = "--T::";
    const char *p = json_string_value(value);
    int part[6], thousandths = 0, offset = 0;
    for (int i = 0; p && i < 6; i++) {
        part[i] = digits(&p, i ? 2 : 4);
        if (part[i] < 0 || (i < 5 && *p++ != separators[i])) {
            return 0;
        }
    }
    if (!p || part[0] < 1970 || part[1] < 1 || part[1] > 12) {
        return 0; /* also the year 1: never */
    }
    if (*p == '.') {
        for (int weight = 100; *++p >= '0' && *p <= '9'; weight /= 10) {
            thousandths += weight * (*p - '0');
        }
    }
    if (*p == '+' || *p == '-') {
        int west = *p++ == '-', hours = digits(&p, 2),
            minutes = *p == ':' ? (p++, digits(&p, 2)) : -1;
        if (hours < 0 || minutes < 0) {
            return 0;
        }
        offset = (west ? -1 : 1) * (hours * 60 + minutes) * 60;
    } else if (*p++ != 'Z') {
        return 0;
    }
    if (*p) {
        return 0;
    }
    struct tm tm = {.tm_year = part[0] - 1900,
                    .tm_mon = part[1] - 1,
                    .tm_mday = part[2],
                    .tm_hour = part[3],
                    .tm_min = part[4],
                    .tm_sec = part[5]};
    return ((int64_t)timegm(&tm) - offset) * 1000 + thousandths;
}

/* "SMTP:a@b" without its kind; other kinds (SIP, X500) are no addresses of ours. */
static const char **smtp_addresses(apr_pool_t *pool, const json_t *list)
{
    const char **out = apr_palloc(pool, sizeof *out * (json_array_size(list) + 1));
    size_t i, count = 0;
    const json_t *value;
    json_array_foreach (list, i, value) {
        const char *text = json_string_value(value);
        if (text && strncasecmp(text, "smtp:", 5) == 0 && text[5]) {
            out[count++] = text + 5;
        }
    }
    out[count] = NULL;
    return out;
}

static const char **license_names(graph_call *k, const json_t *list)
{
    const char **out = apr_palloc(k->pool, sizeof *out * (json_array_size(list) + 1));
    size_t i, count = 0;
    const json_t *value;
    json_array_foreach (list, i, value) {
        const char *sku = ida_json_string(value, "skuId");
        if (sku) {
            out[count++] = graph_license_name(k->g, k->pool, sku);
        }
    }
    out[count] = NULL;
    return out;
}

int graph_user_item(graph_call *k, const json_t *user, cache_user *item)
{
    const struct {
        const char *property, **to;
    } texts[] = {{"userPrincipalName", &item->upn},
                 {"mail", &item->mail},
                 {"displayName", &item->display_name},
                 {"givenName", &item->given_name},
                 {"surname", &item->surname},
                 {"department", &item->department},
                 {"jobTitle", &item->job_title},
                 {"companyName", &item->company},
                 {"officeLocation", &item->office},
                 {"city", &item->city},
                 {"country", &item->country},
                 {"employeeId", &item->employee_id},
                 {"onPremisesImmutableId", &item->anchor}};
    const json_t *addresses = json_object_get(user, "proxyAddresses"),
                 *licenses = json_object_get(user, "assignedLicenses"),
                 *activity = json_object_get(user, "signInActivity");
    const char *id = ida_json_string(user, "id"), *type = ida_json_string(user, "userType");
    *item = (cache_user){0};
    if (!id || !*id || strlen(id) > GRAPH_ID_MAX) {
        return 0;
    }
    item->id = id;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *texts[i].to = ida_json_string(user, texts[i].property);
    }
    item->addresses = json_is_array(addresses) ? smtp_addresses(k->pool, addresses) : NULL;
    item->licenses = json_is_array(licenses) ? license_names(k, licenses) : NULL;
    item->enabled = json_is_true(json_object_get(user, "accountEnabled"));
    item->guest = (type && strcasecmp(type, "Guest") == 0) ||
                  (item->upn && strcasestr(item->upn, "#EXT#"));
    item->created_at = graph_time(json_object_get(user, "createdDateTime"));
    item->last_sign_in_at = graph_time(json_object_get(activity, "lastSignInDateTime"));
    item->last_noninteractive_at = graph_time(
        json_object_get(activity, "lastNonInteractiveSignInDateTime"));
    item->last_success_at = graph_time(json_object_get(activity, "lastSuccessfulSignInDateTime"));
    item->manager_id = ida_json_string(json_object_get(user, "manager"), "id");
    item->manager_untold = json_object_get(user, "manager") ==
                           NULL; /* what was not asked for stays in the cache as it is */
    item->sign_ins_untold = activity == NULL;
    return 1;
}

int graph_user_read(graph_call *k, const json_t *json, directory_user *user)
{
    *user = (directory_user){0};
    if (!graph_user_item(k, json, &user->cache)) {
        return 0;
    }
    user->id = user->cache.id;
    user->upn = user->cache.upn;
    user->mail = user->cache.mail;
    user->display_name = user->cache.display_name;
    user->enabled = user->cache.enabled;
    user->marker = ida_json_string(json_object_get(json, "onPremisesExtensionAttributes"),
                                   k->g->marker);
    return 1;
}

directory_class graph_user_select(graph_call *k, const char *key, const char *select,
                                  directory_user *user, json_t **raw)
{
    const graph_request request = {
        .method = "GET",
        .url = graph_user_url(k->g, k->pool, key, apr_pstrcat(k->pool, "?$select=", select, NULL)),
        .doing = "reading the user"};
    graph_answer answer;
    directory_class class = graph_needs(k, graph_read(k, &request, &answer), "User.Read.All", 0);
    if (!class && !graph_user_read(k, answer.json, user)) {
        class = graph_fail(k, DIRECTORY_TRANSIENT, NULL, "reading the user: the answer is no user");
    }
    if (!class && raw) {
        *raw = answer.json;
    }
    return class;
}

directory_class graph_user_get(graph_call *k, const char *key, directory_user *user, json_t **raw)
{
    return graph_user_select(k, key, READ_SELECT, user, raw);
}

directory_class graph_find(directory *d, apr_pool_t *pool, const char *id, const char *upn,
                           directory_user *user, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    directory_class class = graph_user_get(&k, id ? id : upn, user, NULL);
    /* One replica's word is not enough to call somebody gone. */
    if (class == DIRECTORY_NOT_FOUND && graph_pause(&k, REPEAT_MS)) {
        class = graph_user_get(&k, id ? id : upn, user, NULL);
    }
    return graph_end(&k, class);
}

/* --- changes --- */

directory_class graph_set_photo(directory *d, apr_pool_t *pool, const char *id,
                                const unsigned char *photo, size_t len, const char *type,
                                directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    const graph_request put = {.method = photo ? "PUT" : "DELETE",
                               .url = graph_user_url(k.g, pool, id, "/photo/$value"),
                               .bytes = photo,
                               .bytes_len = len,
                               .bytes_type = type,
                               .doing = photo ? "setting the photo" : "removing the photo"};
    graph_answer answer;
    if (len > PHOTO_MAX) {
        return graph_fail(&k, DIRECTORY_INVALID, "profilePhoto",
                          "the photo has %zu bytes, the directory takes %d at most", len,
                          PHOTO_MAX);
    }
    directory_class class = graph_guard(&k, id);
    if (class) {
        return class;
    }
    class = graph_needs(&k, graph_write(&k, &put, &answer), "ProfilePhoto.ReadWrite.All", 0);
    if (class == DIRECTORY_NOT_FOUND && !photo) {
        return graph_end(&k,
                         DIRECTORY_ALREADY); /* no photo, no mailbox or no user: nothing is shown */
    }
    /* Photos lie with the mailbox, which comes after the account: the user, not the service, is
     * what is missing. */
    if (class == DIRECTORY_NOT_FOUND ||
        (class == DIRECTORY_INVALID && graph_answer_says(&answer, "mailbox"))) {
        e->class = class = DIRECTORY_LAG;
    }
    if (class == DIRECTORY_INVALID) {
        e->field = "profilePhoto";
    }
    return graph_end(&k, class);
}

directory_class graph_mastered_elsewhere(graph_call *k, const directory_user *user,
                                         const char *to_do)
{
    return graph_fail(k, DIRECTORY_ELSEWHERE, NULL,
                      "%s is synchronised from an on-premises directory and this cannot be done "
                      "here: %s it on-premises; the "
                      "synchronisation then brings that here",
                      user->upn ? user->upn : user->id, to_do);
}

directory_class graph_disable(directory *d, apr_pool_t *pool, const char *id, directory_user *after,
                              directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    json_t *raw;
    graph_answer answer;
    directory_class class = graph_user_get(&k, id, after, &raw);
    class = class ? class : graph_guard(&k, id);
    if (class) {
        return class;
    }
    int was = after->enabled, synced = json_is_true(json_object_get(raw, "onPremisesSyncEnabled"));
    if (synced) {
        return was ? graph_mastered_elsewhere(&k, after, "disable")
                   : graph_end(&k, DIRECTORY_ALREADY);
    }
    /* Written even when it reads as disabled: what was read may be older than somebody's enabling.
     */
    const graph_request patch = {.method = "PATCH",
                                 .url = graph_user_url(k.g, pool, id, ""),
                                 .json = ida_json_keep(pool,
                                                       json_pack("{s:b}", "accountEnabled", 0)),
                                 .doing = "disabling the account"};
    class = graph_needs(&k, graph_write(&k, &patch, &answer), "User.EnableDisableAccount.All", 1);
    if (class == DIRECTORY_INVALID && graph_answer_says(&answer, "on-premises")) {
        return graph_mastered_elsewhere(&k, after, "disable");
    }
    after->enabled = after->cache.enabled = 0;
    return graph_end(&k, class ? class : was ? DIRECTORY_OK : DIRECTORY_ALREADY);
}

directory_class graph_revoke_sessions(directory *d, apr_pool_t *pool, const char *id,
                                      directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    const graph_request post = {.method = "POST",
                                .url = graph_user_url(k.g, pool, id, "/revokeSignInSessions"),
                                .doing = "revoking the sign-in sessions"};
    graph_answer answer;
    directory_class class = graph_guard(&k, id);
    return class ? class
                 : graph_end(&k, graph_needs(&k, graph_write(&k, &post, &answer),
                                             "User.RevokeSessions.All", 1));
}
