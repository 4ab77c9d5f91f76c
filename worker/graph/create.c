/* Owns the creation of a user: the request, recovery after a lost answer, and finding the owner
 * of a name that the directory reports as taken. The API has no idempotency; the UPN and our
 * marker replace it (both on disk before the call). Must not know the queue. */
#include <apr_strings.h>
#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "worker/base/password.h"
#include "worker/graph/field.h"
#include "worker/graph/url.h"
#include "worker/graph/user.h"

#define SENDS_MAX 3      /* of one creation with an unknown outcome, within one call */
#define PASSWORDS_MAX 4  /* refused ones */
#define NICKNAMES_MAX 50 /* numbers tried for mailNickname */
#define NICKNAME_LEN 64
#define WAIT_MS 400 /* before the same creation is sent again, doubled each time */

typedef struct making {
    graph_call *k;
    const directory_create *create;
    json_t *body; /* belongs to the call's pool; its password is wiped */
    directory_user *user;
    int lost; /* 1: a creation was sent in this call and its outcome is unknown */
    int sends, passwords, nickname;
    const char *conflict; /* property that the directory called taken, or NULL */
} making;

/* --- the request --- */

static void new_password(making *m)
{
    const ida_create *person = m->create->person;
    const char *names[] = {person->firstname, person->surname, m->create->local,
                           person->middle_name, NULL},
               **to = names;
    char fresh[PASSWORD_SIZE];
    for (size_t i = 0; i < sizeof names / sizeof names[0] - 1; i++) {
        if (names[i]) {
            *to++ = names[i];
        }
    }
    *to = NULL;
    password_make(m->k->g->env, names, fresh);
    graph_put_password(m->body, fresh);
    OPENSSL_cleanse(fresh, sizeof fresh);
}

/* The local part, numbered if it is another person's mail nickname; the result keeps within the
 * length limit. */
static void set_nickname(making *m)
{
    const char *local = m->create->local,
               *number = m->nickname > 1 ? apr_itoa(m->k->pool, m->nickname) : "";
    int room = NICKNAME_LEN - (int)strlen(number);
    json_object_set_new(m->body, "mailNickname",
                        json_string(ida_printf(m->k->pool, "%.*s%s", room, local, number)));
}

static void fill_in(making *m)
{
    const directory_create *c = m->create;
    m->nickname = 1;
    m->body = ida_json_keep(m->k->pool,
                            json_pack("{s:b, s:s, s:s, s:{s:b}, s:{s:s}}", "accountEnabled",
                                      c->person->account_enabled, "displayName", c->display_name,
                                      "userPrincipalName", c->upn, "passwordProfile",
                                      "forceChangePasswordNextSignIn", 1,
                                      "onPremisesExtensionAttributes", m->k->g->marker, c->marker));
    set_nickname(m);
    graph_put_password(m->body, c->password);
    ida_json_put(m->body, "mail", c->mail);
    for (const graph_field *f = graph_fields; f->property; f++) {
        ida_json_put(m->body, f->property, graph_field_value(c->person, f));
    }
    if (c->person->country_is_code) {
        ida_json_put(m->body, "usageLocation", c->person->country);
    }
}

static void say_losses(making *m)
{
    const char *middle = m->create->person->middle_name;
    if (middle && *middle && !strstr(m->create->display_name, middle)) {
        const char **warnings = apr_pcalloc(m->k->pool, 2 * sizeof *warnings);
        warnings[0] = "middleName: is not kept by this directory, which has no property for it";
        m->user->warnings = warnings;
    }
}

/* --- answers --- */

/* The property that a refusal reports as taken, or NULL. */
static const char *taken_property(making *m, const graph_answer *answer)
{
    static const char *const known[] = {"userPrincipalName", "proxyAddresses", "mailNickname",
                                        "onPremisesImmutableId", "mail"};
    const json_t *details = json_object_get(json_object_get(answer->json, "error"), "details"),
                 *detail;
    const char *found = NULL;
    size_t i;
    if (answer->status != 400 && answer->status != 409) {
        return NULL;
    }
    json_array_foreach (details, i, detail) {
        const char *code = ida_json_string(detail, "code"),
                   *target = ida_json_string(detail, "target");
        if (!found && code && strcasecmp(code, "ObjectConflict") == 0) {
            found = target ? apr_pstrdup(m->k->pool, target) : "userPrincipalName";
        }
    }
    if (!found &&
        strncasecmp(answer->message, "Another object with the same value for property", 47) == 0) {
        for (i = 0; i < sizeof known / sizeof known[0] && !found; i++) {
            found = strstr(answer->message, known[i]) ? known[i] : NULL;
        }
        found = found ? found : "userPrincipalName";
    }
    return found;
}

static int password_refused(const graph_answer *answer)
{
    return answer->status == 400 && graph_answer_says(answer, "password");
}

/* The account as it was sent, with the ID that it got: the answer has only some properties, and
 * a read may lag. */
static directory_class made(making *m, const graph_answer *answer)
{
    graph_call *k = m->k;
    json_t *user = ida_json_keep(k->pool, json_copy(m->body));
    const char *property;
    json_t *value;
    json_object_foreach (answer->json, property, value) {
        if (!json_is_null(value)) {
            json_object_set(user, property, value);
        }
    }
    json_object_del(user, "passwordProfile");
    if (!json_object_get(user, "createdDateTime")) {
        ida_json_put_time(user, "createdDateTime", ida_now(k->g->env));
    }
    if (!json_object_get(user, "assignedLicenses")) {
        json_object_set_new(user, "assignedLicenses", json_array());
    }
    return graph_user_read(k, user, m->user)
               ? DIRECTORY_OK
               : graph_fail(k, DIRECTORY_UNSURE, NULL, "creating the user: the answer has no ID");
}

/* --- looking --- */

typedef enum sight { SEEN_NOBODY, SEEN_OURS, SEEN_OTHER } sight;

static sight whose(making *m, const directory_user *user)
{
    return user->marker && strcmp(user->marker, m->create->marker) == 0 ? SEEN_OURS : SEEN_OTHER;
}

/* Who has the UPN. */
static directory_class look(making *m, sight *seen)
{
    directory_class class = graph_user_get(m->k, m->create->upn, m->user, NULL);
    *seen = class ? SEEN_NOBODY : whose(m, m->user);
    return class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
}

typedef struct holders {
    making *m;
    sight seen;
    const char *name;
} holders;

static directory_class see_user(void *baton, json_t *item)
{
    holders *h = baton;
    graph_call *k = h->m->k;
    directory_user user;
    if (h->seen == SEEN_OURS || !graph_user_read(k, graph_keep(k->pool, item), &user)) {
        return DIRECTORY_OK;
    }
    h->seen = whose(h->m, &user);
    h->name = user.upn ? user.upn : user.id;
    if (h->seen == SEEN_OURS) {
        *h->m->user = user;
    }
    return DIRECTORY_OK;
}

static directory_class see_group(void *baton, json_t *item)
{
    holders *h = baton;
    const char *name = ida_json_string(item, "displayName");
    h->seen = h->seen == SEEN_OURS ? h->seen : SEEN_OTHER;
    h->name = name ? apr_pstrcat(h->m->k->pool, "the group ", name, NULL) : "a group";
    return DIRECTORY_OK;
}

/* Finds the owner of an address as UPN, main or further address: users, then groups, which share
 * the name space. If the index does not support such queries, no owner is found. */
static directory_class look_for_address(making *m, const char *address, holders *h)
{
    static const struct {
        const char *path, *select;
        graph_item see;
    } places[] = {{"/users", GRAPH_USER_SELECT ",onPremisesExtensionAttributes", see_user},
                  {"/groups", "id,displayName", see_group}};
    graph_call *k = m->k;
    directory_user user;
    *h = (holders){.m = m};
    /* A UPN is an address too, whether or not its user has mail. */
    directory_class found = graph_user_get(k, address, &user, NULL);
    if (!found) {
        h->seen = whose(m, &user);
        h->name = user.display_name ? user.display_name : user.id;
        *m->user = h->seen == SEEN_OURS ? user : *m->user;
    } else if (found != DIRECTORY_NOT_FOUND) {
        return found;
    }
    for (size_t i = 0; i < sizeof places / sizeof places[0] && h->seen == SEEN_NOBODY; i++) {
        const char *url = apr_pstrcat(k->pool, k->g->root, places[i].path,
                                      "?$filter=proxyAddresses/any(p:p%20eq%20'smtp:",
                                      graph_filter_value(k->pool, address),
                                      "')&$select=", places[i].select, NULL);
        graph_list list = {.request = {.method = "GET",
                                       .url = url,
                                       .cost = 2,
                                       .doing = "looking who has the address"}};
        directory_class class = graph_each(k, &list, places[i].see, h);
        if (class && class != DIRECTORY_INVALID && class != DIRECTORY_FORBIDDEN &&
            class != DIRECTORY_NOT_FOUND) {
            return class;
        }
    }
    return DIRECTORY_OK;
}

/* Finds an account with our marker under any name, because it may have been renamed. The index
 * of such queries lags behind; if it is not supported, no account is found. */
static directory_class look_for_marker(making *m, sight *seen)
{
    static const char *const headers[] = {"ConsistencyLevel: eventual", NULL};
    graph_call *k = m->k;
    holders h = {.m = m};
    graph_list list = {
        .request = {.method = "GET",
                    .url = apr_pstrcat(
                        k->pool, k->g->root,
                        "/users?$count=true&$filter=onPremisesExtensionAttributes/", k->g->marker,
                        "%20eq%20'", graph_filter_value(k->pool, m->create->marker),
                        "'&$select=" GRAPH_USER_SELECT ",onPremisesExtensionAttributes", NULL),
                    .headers = headers,
                    .cost = 2,
                    .doing = "looking for an account with our marker"}};
    directory_class class = graph_each(k, &list, see_user, &h);
    *seen = !class && h.seen == SEEN_OURS ? SEEN_OURS : SEEN_NOBODY;
    return class == DIRECTORY_INVALID || class == DIRECTORY_NOT_FOUND ? DIRECTORY_OK : class;
}

/* --- making it exactly once --- */

static directory_class name_taken(making *m, const char *field, const char *by)
{
    int mail = strcmp(field, "mail") == 0;
    return graph_fail(m->k, DIRECTORY_CONFLICT, field, "%s is taken%s%s",
                      mail ? m->create->mail : m->create->upn, by ? " by " : "", by ? by : "");
}

/* An account of this task or of another person: both end the call. */
static directory_class seen_as(making *m, sight seen)
{
    if (seen == SEEN_OURS) {
        return m->lost ? DIRECTORY_OK : DIRECTORY_ALREADY;
    }
    const char *by = m->user->display_name ? m->user->display_name : m->user->id;
    *m->user = (directory_user){0};
    return name_taken(m, "upn", by);
}

static int within_lag(const making *m)
{
    int64_t since = m->create->sent_at;
    return !since || ida_now(m->k->g->env) - since < GRAPH_LAG_MS;
}

/* The account may exist already but is not visible yet. */
static directory_class not_seen_yet(making *m, const char *why)
{
    return within_lag(m)
               ? graph_fail(m->k, DIRECTORY_LAG, NULL,
                            "creating %s: %s, but shows nobody who has it yet", m->create->upn, why)
               : graph_fail(m->k, DIRECTORY_UNSURE, NULL,
                            "creating %s: %s and does not show who has it, also after a quarter of "
                            "an hour: it may be the account that this task made. Look who has the "
                            "name, then retry or cancel the task",
                            m->create->upn, why);
}

/* Which of the two names a conflict on `property` is about. */
static const char *field_of(const making *m, const char *property)
{
    int mail = strcasecmp(property, "userPrincipalName") != 0 && m->create->mail &&
               strcasecmp(m->create->mail, m->create->upn) != 0;
    return mail ? "mail" : "upn";
}

/* The directory reports that one of the task's names is taken. If a visible object of another
 * owner has it, choose another name. If no object is visible, it may be our own account from a
 * lost answer, which only a later read can decide. */
static directory_class settle_conflict(making *m)
{
    holders h;
    sight seen;
    const char *field = field_of(m, m->conflict);
    directory_class class = look(m, &seen);
    if (class || seen) {
        return class ? class : seen_as(m, seen);
    }
    class = look_for_address(m, strcmp(field, "mail") == 0 ? m->create->mail : m->create->upn, &h);
    if (class) {
        return class;
    }
    if (h.seen == SEEN_OURS) {
        return seen_as(m, SEEN_OURS);
    }
    if (h.seen == SEEN_NOBODY && (m->lost || m->create->sent_at)) {
        return not_seen_yet(m, "the directory calls the name taken");
    }
    class = name_taken(
        m, field, h.seen == SEEN_OTHER ? h.name : "an object that the directory does not show");
    m->k->e->unseen = h.seen == SEEN_NOBODY;
    return class;
}

/* Sends once. `again`: set when the same creation must be sent once more. */
static directory_class send_once(making *m, int *again)
{
    graph_call *k = m->k;
    sight seen;
    const graph_request post = {.method = "POST",
                                .url = graph_url(k->g, k->pool, "/users"),
                                .json = m->body,
                                .doing = "creating the user"};
    graph_answer answer;
    directory_class class = graph_send(k, GRAPH_WRITE, &post, &answer);
    *again = 0;
    class = class ? class : made(m, &answer);
    if (class == DIRECTORY_UNSURE) {
        m->lost = 1;
        class = look(m, &seen);
        if (class || seen) {
            return class ? class : seen_as(m, seen);
        }
        *again = ++m->sends < SENDS_MAX && graph_pause(k, WAIT_MS << (m->sends - 1));
        return not_seen_yet(m, "the directory may have made it, as its answer was lost,");
    }
    m->conflict = class ? taken_property(m, &answer) : NULL;
    if (m->conflict && strcasecmp(m->conflict, "mailNickname") == 0 &&
        m->nickname < NICKNAMES_MAX) {
        m->nickname++;
        set_nickname(m);
        *again = 1;
        return class;
    }
    if (m->conflict && strcasecmp(m->conflict, "onPremisesImmutableId") != 0) {
        return settle_conflict(m);
    }
    if (class == DIRECTORY_INVALID && password_refused(&answer) && ++m->passwords < PASSWORDS_MAX) {
        new_password(m);
        *again = 1;
        return class;
    }
    return graph_needs(k, graph_refused_property(k, class, &answer), "User.ReadWrite.All", 0);
}

static directory_class make_until_known(making *m)
{
    sight seen = SEEN_NOBODY;
    directory_class class = DIRECTORY_OK;
    int again = 1;
    if (m->create->sent_at) {
        class = look(m, &seen);
        class = class || seen ? class : look_for_marker(m, &seen);
    }
    if (class || seen) {
        return class ? class : seen_as(m, seen);
    }
    while (again) {
        class = send_once(m, &again);
    }
    return class;
}

directory_class graph_create(directory *d, apr_pool_t *pool, const directory_create *create,
                             directory_user *user, directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    making m = {.k = &k, .create = create, .user = user};
    *user = (directory_user){0};
    if (!create->local || !*create->local || !create->upn || !create->display_name ||
        !create->marker || !create->password || !*create->password) {
        return graph_fail(&k, DIRECTORY_LOCAL, NULL,
                          "a creation without local part, UPN, display name, marker or password");
    }
    fill_in(&m);
    directory_class class = make_until_known(&m);
    graph_put_password(m.body, NULL);
    if (class == DIRECTORY_OK || class == DIRECTORY_ALREADY) {
        say_losses(&m);
        if (class == DIRECTORY_OK) {
            graph_guard_clear(k.g, user->id);
        }
    } else {
        *user = (directory_user){0}; /* an ID would mean that the account exists */
    }
    return graph_end(&k, class);
}
