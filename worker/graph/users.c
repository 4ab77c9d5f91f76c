/* Owns reading one user and some changes of an existing one: photo, disabling, sign-in sessions.
 * Must not know how a user is created, added to groups or given new values. */
#include <apr_strings.h>

#include "core/base/json.h"
#include "worker/graph/url.h"
#include "worker/graph/user.h"

#define READ_SELECT GRAPH_USER_SELECT ",onPremisesExtensionAttributes"
#define PHOTO_MAX 4194304
#define REPEAT_MS 250 /* before a user who was not found is read once more */

int graph_user_read(graph_call *k, const json_t *json, directory_user *user)
{
    *user = (directory_user){0};
    if (!graph_user_value(k->g, k->pool, json, &user->cache)) {
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
    /* The answer of one replica does not prove that a user is gone. */
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
    /* Photos are stored with the mailbox, which is created after the account: the user exists,
     * the mailbox does not yet. */
    if (class == DIRECTORY_NOT_FOUND ||
        (class == DIRECTORY_INVALID && graph_answer_says(&answer, "mailbox"))) {
        class = DIRECTORY_LAG;
        e->class = class;
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
                      "here: %s it on-premises; the synchronisation then brings that here",
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
    /* Written even if the account reads as disabled, because the read may be older than another
     * change. */
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
