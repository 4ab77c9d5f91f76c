/* Owns licences: their names by ID, kept for the process, and giving and taking them. Must not know
 * users beyond their licences. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "worker/graph/url.h"
#include "worker/graph/user.h"

#define FRESH_MS (10 * INT64_C(60000)) /* licences are bought now and then */
#define SKU_MAX 64                     /* bytes of an ID */
#define NAME_MAX_LEN 128
#define NAMES_MAX 10 /* groups named in one message; further ones go by their ID */
#define ROUNDS 3     /* of look and change, while the outcome is unknown */

typedef struct sku {
    char id[SKU_MAX + 1], name[NAME_MAX_LEN + 1];
} sku;

/* The licences of one directory. Kept until the process ends: directories are few. */
typedef struct catalog {
    struct catalog *next;
    char *root, *directory_id;
    sku *skus;
    int count;
    int64_t read_at; /* monotonic ms */
} catalog;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static catalog *catalogs;

/* Under the lock. */
static catalog *catalog_of(const graph *g, int make)
{
    catalog *c = catalogs;
    while (c && (strcmp(c->directory_id, g->directory_id) != 0 || strcmp(c->root, g->root) != 0)) {
        c = c->next;
    }
    if (!c && make) {
        c = calloc(1, sizeof *c);
        if (!c || !(c->root = strdup(g->root)) || !(c->directory_id = strdup(g->directory_id))) {
            abort();
        }
        c->next = catalogs;
        catalogs = c;
    }
    return c;
}

static directory_class take(void *baton, json_t *item)
{
    apr_array_header_t *skus = baton;
    const char *id = ida_json_string(item, "skuId"), *name = ida_json_string(item, "skuPartNumber");
    if (id && name && strlen(id) <= SKU_MAX && strlen(name) <= NAME_MAX_LEN) {
        sku *s = apr_array_push(skus);
        apr_cpystrn(s->id, id, sizeof s->id);
        apr_cpystrn(s->name, name, sizeof s->name);
    }
    return DIRECTORY_OK;
}

directory_class graph_license_load(graph_call *k, int force)
{
    int64_t now = ida_monotonic(k->g->env);
    pthread_mutex_lock(&lock);
    const catalog *known = catalog_of(k->g, 0);
    int fresh = known && now - known->read_at < FRESH_MS;
    pthread_mutex_unlock(&lock);
    if (fresh && !force) {
        return DIRECTORY_OK;
    }
    apr_array_header_t *skus = apr_array_make(k->pool, 32, sizeof(sku));
    graph_list list = {
        .request = {.method = "GET",
                    .url = graph_url(k->g, k->pool, "/subscribedSkus?$select=skuId,skuPartNumber"),
                    .cost = 3,
                    .doing = "reading the licences"}};
    directory_class class = graph_needs(k, graph_each(k, &list, take, skus),
                                        "LicenseAssignment.Read.All", 0);
    if (class) {
        return class;
    }
    size_t bytes = sizeof(sku) * (size_t)skus->nelts;
    sku *copy = malloc(bytes ? bytes : 1);
    if (!copy) {
        abort();
    }
    memcpy(copy, skus->elts, bytes);
    pthread_mutex_lock(&lock);
    catalog *c = catalog_of(k->g, 1);
    free(c->skus);
    c->skus = copy;
    c->count = skus->nelts;
    c->read_at = now;
    pthread_mutex_unlock(&lock);
    return DIRECTORY_OK;
}

/* The other half of a licence (ID or part number), or NULL. Copied: another thread may read the
 * list again. */
static const char *look_up(const graph *g, apr_pool_t *pool, const char *text, int by_name)
{
    const char *found = NULL;
    pthread_mutex_lock(&lock);
    const catalog *c = catalog_of(g, 0);
    for (int i = 0; c && i < c->count && !found; i++) {
        const sku *s = &c->skus[i];
        if (strcasecmp(by_name ? s->name : s->id, text) == 0) {
            found = apr_pstrdup(pool, by_name ? s->id : s->name);
        }
    }
    pthread_mutex_unlock(&lock);
    return found;
}

const char *graph_license_name(const graph *g, apr_pool_t *pool, const char *sku_id)
{
    const char *name = look_up(g, pool, sku_id, 0);
    return name ? name : sku_id;
}

static int is_guid(const char *text)
{
    return strlen(text) == 36 && strspn(text, "0123456789abcdefABCDEF-") == 36;
}

static directory_class to_id(graph_call *k, const char *license, const char **id)
{
    *id = look_up(k->g, k->pool, license, 1);
    if (!*id && is_guid(license)) {
        *id = license;
    }
    if (!*id) {
        directory_class class = graph_license_load(k, 1);
        if (class) {
            return class;
        }
        *id = look_up(k->g, k->pool, license, 1);
    }
    return *id ? DIRECTORY_OK
               : graph_fail(
                     k, DIRECTORY_INVALID, "licenses",
                     "the directory has no licence %s; GET /subscribedSkus lists what it has",
                     license);
}

/* How the user has the licence: 1 directly, 2 through a group whose ID is *group, 0 not at all. */
static int holds(const json_t *user, const char *id, const char **group)
{
    const json_t *state;
    size_t i;
    int how = 0;
    json_array_foreach (json_object_get(user, "licenseAssignmentStates"), i, state) {
        const char *held = ida_json_string(state, "skuId"),
                   *by = ida_json_string(state, "assignedByGroup");
        if (held && strcasecmp(held, id) == 0) {
            if (!by) {
                return 1;
            }
            *group = by;
            how = 2;
        }
    }
    return how;
}

typedef struct assignment {
    json_t *add, *remove; /* arrays of the body */
    json_t *unseen; /* to be taken away, and not shown: what was read may be older than they are */
    int all; /* all go: of those to be taken away what a group gives, or has no ID, is no failure */
    const json_t *user;
    int names;        /* groups whose names were read */
    const char *kept; /* what groups give, of a removal of all; NULL: nothing */
} assignment;

/* For people: its name, or its ID when that cannot be read. */
static const char *group_name(graph_call *k, const char *id)
{
    const graph_request get = {.method = "GET",
                               .url = graph_url(k->g, k->pool, "/groups/%s?$select=displayName",
                                                id),
                               .doing = "reading the group's name"};
    directory_error unread = {.class = DIRECTORY_OK}, *e = k->e;
    graph_answer answer;
    k->e = &unread;
    const char *name = graph_read(k, &get, &answer) ? NULL
                                                    : ida_json_string(answer.json, "displayName");
    k->e = e;
    return name ? ida_clean(k->pool, name, strlen(name), NAME_MAX_LEN) : id;
}

static directory_class collect(graph_call *k, assignment *a, const char *const *list, int adding)
{
    directory_class class = DIRECTORY_OK;
    for (; list && *list && !class; list++) {
        const char *id, *group = NULL;
        class = to_id(k, *list, &id);
        int how = class ? 0 : holds(a->user, id, &group);
        if (class == DIRECTORY_INVALID && a->all && !adding) {
            class = DIRECTORY_OK;
            continue;
        }
        if (class || (adding ? how == 1 : a->all && how)) {
            continue;
        }
        if (adding) {
            json_array_append_new(a->add, json_pack("{s:s, s:[]}", "skuId", id, "disabledPlans"));
        } else if (!how) {
            json_array_append_new(a->unseen, json_string(id));
        } else if (how == 2) {
            class = graph_fail(k, DIRECTORY_INVALID, "licenses",
                               "the licence %s comes from the group %s and cannot be taken from "
                               "the user: remove the membership",
                               *list, group_name(k, group));
        } else {
            json_array_append_new(a->remove, json_string(id));
        }
    }
    return class;
}

/* Removes all direct licences. Those from groups stay; the message of success lists them for the
 * caller. */
static void collect_all(graph_call *k, assignment *a)
{
    const json_t *state;
    size_t i;
    json_array_foreach (json_object_get(a->user, "licenseAssignmentStates"), i, state) {
        const char *id = ida_json_string(state, "skuId"),
                   *by = ida_json_string(state, "assignedByGroup");
        if (id && !by) {
            json_array_append_new(a->remove, json_string(id));
        } else if (id) {
            a->kept = apr_pstrcat(k->pool, a->kept ? a->kept : "", a->kept ? ", " : "",
                                  graph_license_name(k->g, k->pool, id), " (group ",
                                  a->names++ < NAMES_MAX ? group_name(k, by) : by, ")", NULL);
        }
    }
}

static directory_class assign(graph_call *k, const char *user_id, const json_t *body)
{
    const graph_request post = {.method = "POST",
                                .url = graph_user_url(k->g, k->pool, user_id, "/assignLicense"),
                                .json = body,
                                .doing = "assigning licences"};
    graph_answer answer;
    directory_class class = graph_needs(k, graph_send(k, GRAPH_WRITE, &post, &answer),
                                        "LicenseAssignment.ReadWrite.All", 0);
    if (class == DIRECTORY_INVALID) {
        k->e->field = "licenses";
        if (graph_answer_says(&answer, "does not have any available licenses")) {
            k->e->message = apr_pstrcat(k->pool, k->e->message,
                                        " Buy more, or remove one from another user.", NULL);
        } else if (graph_answer_says(&answer, "usage location")) {
            k->e->field = "country";
        } else if (graph_answer_says(&answer, "not have a corresponding license")) {
            class = DIRECTORY_LAG; /* what was read is older than a removal */
            k->e->class = class;
        }
    }
    return class;
}

/* Records its name once: a round whose answer was lost is repeated. */
static void note_taken(graph_call *k, apr_array_header_t *taken, const json_t *id)
{
    const char *name = graph_license_name(k->g, k->pool, json_string_value(id));
    for (int i = 0; i < taken->nelts; i++) {
        if (strcmp(APR_ARRAY_IDX(taken, i, const char *), name) == 0) {
            return;
        }
    }
    APR_ARRAY_PUSH(taken, const char *) = apr_pstrdup(k->pool, name);
}

/* Licences that a read did not show are removed one by one: if one is not assigned, the
 * directory refuses the whole request. ALREADY: none was assigned. */
static directory_class take_unseen(graph_call *k, const char *user_id, const assignment *a,
                                   apr_array_header_t *taken)
{
    directory_class class = DIRECTORY_ALREADY;
    const json_t *id;
    size_t i;
    json_array_foreach (a->unseen, i, id) {
        directory_class one = assign(k, user_id,
                                     ida_json_keep(k->pool,
                                                   json_pack("{s:[], s:[O]}", "addLicenses",
                                                             "removeLicenses", id)));
        if (one == DIRECTORY_OK) {
            note_taken(k, taken, id);
            class = DIRECTORY_OK;
        } else if (one != DIRECTORY_LAG && !(one == DIRECTORY_INVALID && a->all)) {
            return one;
        }
    }
    return class;
}

/* One round: what the user has, what is to be changed, the change. ALREADY: nothing was. */
static directory_class change(graph_call *k, const char *user_id, const char *const *add,
                              const char *const *remove, const char **kept,
                              apr_array_header_t *taken)
{
    int all = remove && *remove && strcmp(*remove, "*") == 0;
    const graph_request get = {
        .method = "GET",
        .url = graph_user_url(k->g, k->pool, user_id,
                              "?$select=id,usageLocation,licenseAssignmentStates"),
        .doing = "reading the user's licences"};
    graph_answer answer;
    directory_class class = graph_needs(k, graph_read(k, &get, &answer), "User.Read.All", 0);
    if (class) {
        return class;
    }
    json_t *body = ida_json_keep(k->pool,
                                 json_pack("{s:[], s:[]}", "addLicenses", "removeLicenses"));
    assignment a = {.add = json_object_get(body, "addLicenses"),
                    .remove = json_object_get(body, "removeLicenses"),
                    .unseen = ida_json_keep(k->pool, json_array()),
                    .all = all,
                    .user = answer.json};
    class = collect(k, &a, add, 1);
    if (all && !class) {
        collect_all(k, &a);
        *kept = a.kept;
    }
    class = class ? class : collect(k, &a, remove + all, 0);
    if (!class && json_array_size(a.add) && !ida_json_string(answer.json, "usageLocation")) {
        class = graph_fail(k, DIRECTORY_INVALID, "country",
                           "the user has no usage location, which every licence needs: set country "
                           "to a two-letter code");
    }
    int none = !json_array_size(a.add) && !json_array_size(a.remove);
    class = class || none ? class : assign(k, user_id, body);
    const json_t *id;
    size_t i;
    json_array_foreach (a.remove, i, id) {
        if (class == DIRECTORY_OK || class == DIRECTORY_UNSURE) {
            note_taken(k, taken, id);
        }
    }
    directory_class unseen = class ? DIRECTORY_ALREADY : take_unseen(k, user_id, &a, taken);
    return class ? class : unseen == DIRECTORY_ALREADY && !none ? DIRECTORY_OK : unseen;
}

directory_class graph_set_licenses(directory *d, apr_pool_t *pool, const char *user_id,
                                   const char *const *add, const char *const *remove,
                                   directory_error *e)
{
    graph_call k = graph_call_begin((graph *)d, pool, e);
    const char *kept = NULL;
    apr_array_header_t *taken = apr_array_make(pool, 4, sizeof(char *));
    directory_class class = graph_guard(&k, user_id);
    class = class ? class : graph_license_load(&k, 0);
    for (int round = 1; !class && round <= ROUNDS; round++) {
        class = change(&k, user_id, add, remove, &kept, taken);
        if (class == DIRECTORY_UNSURE && round < ROUNDS && graph_pause(&k, 250)) {
            class = DIRECTORY_OK; /* read the outcome */
            continue;
        }
        class = class == DIRECTORY_ALREADY && round > 1 ? DIRECTORY_OK : class;
        break;
    }
    class = graph_end(&k, class);
    if (kept && (class == DIRECTORY_OK || class == DIRECTORY_ALREADY)) {
        e->message = apr_pstrcat(pool, "Kept, because groups give them: ", kept, ".", NULL);
    }
    if (class == DIRECTORY_OK && taken->nelts) {
        APR_ARRAY_PUSH(taken, const char *) = NULL;
        e->taken = (const char *const *)taken->elts;
    }
    return class;
}
