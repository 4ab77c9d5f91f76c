/* Owns how a membership is attributed, and a person's memberships with the way to each. Must not
 * know how results look. */
#include "core/governance/access.h"
#include "core/cache/groups.h"

#include <apr_hash.h>
#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"

const char *const governance_access_source_words[] = {"dynamic_group", "iga_request",
                                                      "role_template", "direct", NULL};

int governance_access_source_parse(const char *word)
{
    for (int i = 0; word && governance_access_source_words[i]; i++) {
        if (strcmp(governance_access_source_words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

const char *governance_access_list(apr_pool_t *pool, const char *const *texts, int count)
{
    json_t *list = ida_json_keep(pool, json_array());
    for (int i = 0; i < count; i++) {
        json_array_append_new(list, json_string(texts[i]));
    }
    return ida_json_text(pool, list);
}

int governance_access_group_order(const access_group *a, const access_group *b)
{
    int order = strcmp(a->name_key, b->name_key);
    return order ? order : strcmp(a->id, b->id);
}

/* --- facts --- */

typedef struct approval {
    const governance_approval *row;
    struct approval *next;
} approval;

typedef struct template
{
    const char *id, *name;
    const json_t *groups;
    int rank; /* by name */
}
template;

typedef struct assigned {
    const template *template;
    int64_t at;
    struct assigned *next;
} assigned;

/* A membership that a task granted. */
typedef struct gift {
    const governance_gift *by;
    int64_t at;
    int restored; /* by a rehire, not by an action of a workflow */
} gift;

struct access_facts {
    store *s;
    const char *tenant;
    apr_hash_t *approvals, *assigned; /* "i<account>" or "p<folded UPN>" -> list */
    apr_hash_t *given;                /* "<account>\n<group ID>" -> gift */
    apr_hash_t *carried_out;          /* "<account>\n<group ID>\n<ID of the grantor>" -> moment */
    apr_hash_t *ended;                /* "<account>\n<group ID>" -> moment */
    apr_hash_t *references;           /* how governance names a group -> reference */
};

/* A group as a template or a service names it: by ID, or by a name that is unique in the tenant. */
typedef struct reference {
    const char *folded;
    int resolved;
    const char *directory, *id; /* NULL: none, or several */
} reference;

static char *key_of(apr_pool_t *pool, const char *user_id, const char *person)
{
    return user_id ? apr_pstrcat(pool, "i", user_id, NULL) : apr_pstrcat(pool, "p", person, NULL);
}

static ida_kind load_approvals(access_facts *f, ida_ctx *c, const char *ids, const char *keys)
{
    const governance_approval *rows;
    int count;
    ida_kind kind = governance_membership_approvals(f->s, c, f->tenant, ids, keys, &rows, &count);
    for (int i = 0; !kind && i < count; i++) {
        const char *key = key_of(c->pool, rows[i].user_id, rows[i].person);
        approval *one = apr_palloc(c->pool, sizeof *one);
        *one = (approval){&rows[i], apr_hash_get(f->approvals, key, APR_HASH_KEY_STRING)};
        apr_hash_set(f->approvals, key, APR_HASH_KEY_STRING, one);
    }
    return kind;
}

static ida_kind load_assigned(access_facts *f, ida_ctx *c, const char *ids, const char *keys)
{
    const governance_assigned *rows;
    const governance_granting *grants;
    int count, grant_count = 0;
    ida_kind kind = governance_membership_assigned(f->s, c, f->tenant, ids, keys, &rows, &count);
    if (kind || !count) {
        return kind;
    }
    apr_hash_t *templates = apr_hash_make(c->pool);
    const char **wanted = apr_palloc(c->pool, (apr_size_t)count * sizeof *wanted);
    int wanted_count = 0;
    for (int i = 0; i < count; i++) {
        if (!apr_hash_get(templates, rows[i].template_id, APR_HASH_KEY_STRING)) {
            apr_hash_set(templates, rows[i].template_id, APR_HASH_KEY_STRING, rows);
            wanted[wanted_count++] = rows[i].template_id;
        }
    }
    apr_hash_clear(templates);
    kind = governance_membership_templates(f->s, c, f->tenant,
                                           governance_access_list(c->pool, wanted, wanted_count),
                                           &grants, &grant_count);
    for (int i = 0; !kind && i < grant_count; i++) {
        template *t = apr_palloc(c->pool, sizeof *t);
        *t = (template){grants[i].id, grants[i].name, ida_json_load(c->pool, grants[i].groups), i};
        apr_hash_set(templates, t->id, APR_HASH_KEY_STRING, t);
    }
    for (int i = 0; !kind && i < count; i++) {
        const template *t = apr_hash_get(templates, rows[i].template_id, APR_HASH_KEY_STRING);
        const char *key = key_of(c->pool, rows[i].user_id, rows[i].person);
        assigned *one = apr_palloc(c->pool, sizeof *one);
        *one = (assigned){t, rows[i].at, apr_hash_get(f->assigned, key, APR_HASH_KEY_STRING)};
        if (t) {
            apr_hash_set(f->assigned, key, APR_HASH_KEY_STRING, one);
        }
    }
    return kind;
}

static const char *pair_of(apr_pool_t *pool, const char *user_id, const char *group_id)
{
    return apr_pstrcat(pool, user_id, "\n", group_id, NULL);
}

static int same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The last one of an account and a group counts. */
static ida_kind load_given(access_facts *f, ida_ctx *c, const char *ids)
{
    const governance_gift *rows;
    int count;
    ida_kind kind = governance_membership_gifts(f->s, c, f->tenant, ids, &rows, &count);
    for (int i = 0; !kind && i < count; i++) {
        const json_t *progress = ida_json_load(c->pool, rows[i].progress);
        const char *id;
        json_t *one;
        json_object_foreach (json_object_get(progress, "actionsGave"), id, one) {
            const char *workflow = ida_json_string(one, "workflow");
            if (!workflow || same_text(workflow, rows[i].workflow)) {
                gift *g = apr_palloc(c->pool, sizeof *g);
                *g = (gift){&rows[i], json_integer_value(json_object_get(one, "at")), !workflow};
                apr_hash_set(f->given, pair_of(c->pool, rows[i].user_id, id), APR_HASH_KEY_STRING,
                             g);
            }
        }
    }
    return kind;
}

static ida_kind load_history(access_facts *f, ida_ctx *c, const char *ids)
{
    const governance_moment *rows;
    int count;
    ida_kind kind = governance_membership_carried_out(f->s, c, f->tenant, ids, &rows, &count);
    for (int i = 0; !kind && i < count; i++) {
        apr_hash_set(f->carried_out,
                     apr_pstrcat(c->pool, rows[i].user_id, "\n", rows[i].group_id, "\n",
                                 rows[i].source_id, NULL),
                     APR_HASH_KEY_STRING, &rows[i]);
    }
    kind = kind ? kind : governance_membership_ends(f->s, c, f->tenant, ids, &rows, &count);
    for (int i = 0; !kind && i < count; i++) {
        apr_hash_set(f->ended, pair_of(c->pool, rows[i].user_id, rows[i].group_id),
                     APR_HASH_KEY_STRING, &rows[i]);
    }
    return kind;
}

ida_kind governance_access_facts_load(access_facts **facts, store *s, ida_ctx *c,
                                      const char *tenant, const access_person *people, int count)
{
    access_facts *f = *facts = apr_pcalloc(c->pool, sizeof *f);
    const char **ids = apr_palloc(c->pool, (apr_size_t)(count + 1) * 2 * sizeof *ids);
    const char **keys = apr_palloc(c->pool, (apr_size_t)(count + 1) * sizeof *keys);
    int id_count = 0, key_count = 0;
    *f = (access_facts){.s = s,
                        .tenant = tenant,
                        .approvals = apr_hash_make(c->pool),
                        .assigned = apr_hash_make(c->pool),
                        .given = apr_hash_make(c->pool),
                        .carried_out = apr_hash_make(c->pool),
                        .ended = apr_hash_make(c->pool),
                        .references = apr_hash_make(c->pool)};
    for (int i = 0; i < count; i++) {
        ids[id_count++] = people[i].id;
        if (people[i].other_id) {
            ids[id_count++] = people[i].other_id;
        }
        if (people[i].upn_key) {
            keys[key_count++] = people[i].upn_key;
        }
    }
    const char *id_list = governance_access_list(c->pool, ids, id_count),
               *key_list = governance_access_list(c->pool, keys, key_count);
    ida_kind kind = load_approvals(f, c, id_list, key_list);
    kind = kind ? kind : load_assigned(f, c, id_list, key_list);
    kind = kind ? kind : load_given(f, c, id_list);
    return kind ? kind : load_history(f, c, id_list);
}

/* --- attribution --- */

/* Whether `named` means this group. Only a name that fits is looked up, because it might be that of
 * several. */
static ida_kind means(access_facts *f, ida_ctx *c, const char *named, const access_group *group,
                      int *same)
{
    *same = strcasecmp(named, group->id) == 0;
    if (*same) {
        return IDA_OK;
    }
    reference *r = apr_hash_get(f->references, named, APR_HASH_KEY_STRING);
    if (!r) {
        r = apr_pcalloc(c->pool, sizeof *r);
        r->folded = ida_fold_search(c->pool, named);
        apr_hash_set(f->references, named, APR_HASH_KEY_STRING, r);
    }
    if (strcmp(r->folded, group->name_key) != 0) {
        return IDA_OK;
    }
    if (!r->resolved) {
        ida_group *found;
        ida_kind kind = cache_group_find(f->s, c, f->tenant, named, &found);
        if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
            ida_ctx_clear(c);
        } else if (kind) {
            return kind;
        } else {
            r->directory = ida_directory_name(found->directory);
            r->id = found->id;
        }
        r->resolved = 1;
    }
    *same = r->id && strcmp(r->id, group->id) == 0 && strcmp(r->directory, group->directory) == 0;
    return IDA_OK;
}

/* A membership that is to be explained. */
typedef struct membership {
    const char *ids[2]; /* accounts of the person; NULL: none */
    const access_group *group;
    const gift *gift; /* the last task that made it */
    int64_t since;    /* what was granted before this does not explain it */
} membership;

static membership membership_of(const access_facts *f, apr_pool_t *pool,
                                const access_person *person, const access_group *group)
{
    membership m = {.ids = {person->id, person->other_id}, .group = group};
    for (int i = 0; i < 2; i++) {
        const char *pair = m.ids[i] ? pair_of(pool, m.ids[i], group->id) : "";
        const governance_moment *end = apr_hash_get(f->ended, pair, APR_HASH_KEY_STRING);
        const gift *g = apr_hash_get(f->given, pair, APR_HASH_KEY_STRING);
        m.since = end && end->at > m.since ? end->at : m.since;
        m.gift = g && (!m.gift || g->at > m.gift->at) ? g : m.gift;
    }
    if (m.gift && m.gift->at < m.since) {
        m.gift = NULL;
    } else if (m.gift) {
        m.since = m.gift->at;
    }
    return m;
}

/* Whether what was decided at `at`, and perhaps carried out later, explains the membership. */
static int explains(const access_facts *f, apr_pool_t *pool, const membership *m,
                    const char *grantor, int64_t at)
{
    for (int i = 0; at < m->since && i < 2; i++) {
        const governance_moment *done = m->ids[i] ? apr_hash_get(f->carried_out,
                                                                 apr_pstrcat(pool, m->ids[i], "\n",
                                                                             m->group->id, "\n",
                                                                             grantor, NULL),
                                                                 APR_HASH_KEY_STRING)
                                                  : NULL;
        at = done && done->at > at ? done->at : at;
    }
    return at >= m->since;
}

/* The request decided last among those that granted this group. */
static ida_kind best_approval(access_facts *f, ida_ctx *c, const approval *list,
                              const membership *m, const governance_approval **best)
{
    const access_group *group = m->group;
    ida_kind kind = IDA_OK;
    for (; !kind && list; list = list->next) {
        const governance_approval *a = list->row;
        int same = a->group_id && strcmp(a->group_id, group->id) == 0;
        if (!a->group_id) {
            kind = means(f, c, a->group_name, group, &same);
        }
        if (same && explains(f, c->pool, m, a->id, a->decided_at) &&
            (!*best || a->decided_at > (*best)->decided_at ||
             (a->decided_at == (*best)->decided_at && strcmp(a->id, (*best)->id) > 0))) {
            *best = a;
        }
    }
    return kind;
}

/* The first template by name that grants this group. */
static ida_kind best_template(access_facts *f, ida_ctx *c, const assigned *list,
                              const membership *m, const template **best)
{
    for (; list; list = list->next) {
        const template *t = list->template;
        const json_t *named;
        size_t i;
        int same = 0;
        if (*best && (*best)->rank <= t->rank) {
            continue;
        }
        json_array_foreach ((json_t *)t->groups, i, named) {
            ida_kind kind = same || !json_is_string(named)
                                ? IDA_OK
                                : means(f, c, json_string_value(named), m->group, &same);
            if (kind) {
                return kind;
            }
        }
        *best = same && explains(f, c->pool, m, t->id, list->at) ? t : *best;
    }
    return IDA_OK;
}

ida_kind governance_access_attribute(access_facts *f, ida_ctx *c, const access_person *person,
                                     const access_group *group, access_grant *grant)
{
    const struct {
        const char *prefix, *value;
    } names[] = {{"i", person->id}, {"i", person->other_id}, {"p", person->upn_key}};
    const governance_approval *request = NULL;
    const template *granting = NULL;
    ida_kind kind = IDA_OK;
    *grant = (access_grant){.source = ACCESS_DIRECT};
    if (group->dynamic) {
        *grant = (access_grant){
            .source = ACCESS_DYNAMIC, .id = group->id, .name = group->name, .rule = group->rule};
        return IDA_OK;
    }
    const membership m = membership_of(f, c->pool, person, group);
    for (size_t i = 0; !kind && i < sizeof names / sizeof *names; i++) {
        if (names[i].value) {
            const char *key = apr_pstrcat(c->pool, names[i].prefix, names[i].value, NULL);
            kind = best_approval(f, c, apr_hash_get(f->approvals, key, APR_HASH_KEY_STRING), &m,
                                 &request);
            if (!kind) {
                kind = best_template(f, c, apr_hash_get(f->assigned, key, APR_HASH_KEY_STRING), &m,
                                     &granting);
            }
        }
    }
    if (request) {
        *grant = (access_grant){.source = ACCESS_REQUEST,
                                .at = request->decided_at,
                                .id = request->id,
                                .name = request->service,
                                .approved_by = request->decided_by};
    } else if (granting) {
        *grant = (access_grant){.source = ACCESS_TEMPLATE,
                                .id = granting->id,
                                .name = granting->name};
    } else if (m.gift) {
        grant->at = m.gift->at;
        grant->task_id = m.gift->by->task_id;
        grant->id = m.gift->restored ? NULL : m.gift->by->run_id;
        grant->name = m.gift->restored ? NULL : m.gift->by->workflow;
    }
    return kind;
}

/* --- from the person's side --- */

/* A group reached, with the way to it. */
typedef struct reached {
    access_group group;
    access_grant grant; /* of the first membership on the path */
    const struct reached *before;
    int depth;
} reached;

typedef struct walk {
    store *s;
    ida_ctx *c;
    const char *tenant;
    apr_hash_t *seen;          /* group ID -> reached */
    apr_array_header_t *order; /* reached *, breadth first */
} walk;

static int by_grant(const void *a, const void *b)
{
    const reached *one = *(const reached *const *)a, *other = *(const reached *const *)b;
    return one->grant.source != other->grant.source
               ? (int)one->grant.source - (int)other->grant.source
               : governance_access_group_order(&one->group, &other->group);
}

static int by_name(const void *a, const void *b)
{
    const reached *one = *(const reached *const *)a, *other = *(const reached *const *)b;
    return governance_access_group_order(&one->group, &other->group);
}

static reached *reach(walk *w, const governance_edge *e, const reached *before)
{
    reached *r = apr_pcalloc(w->c->pool, sizeof *r);
    r->group = (access_group){.directory = e->directory,
                              .id = e->group_id,
                              .name = e->name,
                              .name_key = e->name_key,
                              .kind = e->kind,
                              .dynamic = e->dynamic,
                              .rule = e->rule};
    r->before = before;
    r->depth = before ? before->depth + 1 : 0;
    if (before) {
        r->grant = before->grant;
    }
    apr_hash_set(w->seen, r->group.id, APR_HASH_KEY_STRING, r);
    APR_ARRAY_PUSH(w->order, reached *) = r;
    return r;
}

static ida_kind first_level(walk *w, const access_person *person)
{
    const char *ids[2] = {person->id, person->other_id};
    const governance_edge *edges;
    access_facts *facts;
    int count;
    ida_kind kind = governance_membership_up(
        w->s, w->c, w->tenant, "user",
        governance_access_list(w->c->pool, ids, person->other_id ? 2 : 1), &edges, &count);
    if (!kind) {
        kind = governance_access_facts_load(&facts, w->s, w->c, w->tenant, person, 1);
    }
    for (int i = 0; !kind && i < count; i++) {
        if (!apr_hash_get(w->seen, edges[i].group_id, APR_HASH_KEY_STRING)) {
            reached *r = reach(w, &edges[i], NULL);
            kind = governance_access_attribute(facts, w->c, person, &r->group, &r->grant);
        }
    }
    if (!kind) {
        qsort(w->order->elts, (size_t)w->order->nelts, sizeof(reached *), by_grant);
    }
    return kind;
}

/* The groups that contain those reached last. Each is reached from the first of these that it
 * contains, in order; siblings by name. */
static ida_kind next_level(walk *w, int from, int to)
{
    apr_pool_t *pool = w->c->pool;
    const char **ids = apr_palloc(pool, (apr_size_t)(to - from) * sizeof *ids);
    const governance_edge *edges;
    int count;
    for (int i = from; i < to; i++) {
        ids[i - from] = APR_ARRAY_IDX(w->order, i, reached *)->group.id;
    }
    ida_kind kind = governance_membership_up(w->s, w->c, w->tenant, "group",
                                             governance_access_list(pool, ids, to - from), &edges,
                                             &count);
    if (kind) {
        return kind;
    }
    apr_hash_t *holders = apr_hash_make(pool); /* member -> its edges */
    for (int i = 0; i < count; i++) {
        apr_array_header_t *of = apr_hash_get(holders, edges[i].member_id, APR_HASH_KEY_STRING);
        if (!of) {
            of = apr_array_make(pool, 4, sizeof(const governance_edge *));
            apr_hash_set(holders, edges[i].member_id, APR_HASH_KEY_STRING, of);
        }
        APR_ARRAY_PUSH(of, const governance_edge *) = &edges[i];
    }
    for (int i = from; i < to; i++) {
        const reached *member = APR_ARRAY_IDX(w->order, i, reached *);
        const apr_array_header_t *of = apr_hash_get(holders, member->group.id, APR_HASH_KEY_STRING);
        int first = w->order->nelts;
        for (int k = 0; of && k < of->nelts; k++) {
            const governance_edge *e = APR_ARRAY_IDX(of, k, const governance_edge *);
            if (strcmp(e->directory, member->group.directory) == 0 &&
                !apr_hash_get(w->seen, e->group_id, APR_HASH_KEY_STRING)) {
                reach(w, e, member);
            }
        }
        qsort((reached **)w->order->elts + first, (size_t)(w->order->nelts - first),
              sizeof(reached *), by_name);
    }
    return IDA_OK;
}

static access_row row_of(apr_pool_t *pool, const reached *r)
{
    const access_group **via = apr_palloc(pool, (apr_size_t)(r->depth + 1) * sizeof *via);
    int at = r->depth;
    for (const reached *b = r->before; b; b = b->before) {
        via[--at] = &b->group;
    }
    return (access_row){&r->group, r->grant, r->depth > 0, via, r->depth};
}

static int in_order(const void *a, const void *b)
{
    const access_row *one = a, *other = b;
    return one->inherited != other->inherited
               ? one->inherited - other->inherited
               : governance_access_group_order(one->group, other->group);
}

ida_kind governance_access_of_user(store *s, ida_ctx *c, const char *tenant, const ida_user *user,
                                   const access_row **rows, int *count)
{
    const access_person person = {user->id, user->other_id,
                                  user->upn ? ida_fold_address(c->pool, user->upn) : NULL};
    walk w = {s, c, tenant, apr_hash_make(c->pool), apr_array_make(c->pool, 32, sizeof(reached *))};
    ida_kind kind = first_level(&w, &person);
    for (int from = 0; !kind && from < w.order->nelts;) {
        int to = w.order->nelts;
        kind = next_level(&w, from, to);
        from = to;
    }
    access_row *all = apr_palloc(c->pool, (apr_size_t)(w.order->nelts + 1) * sizeof *all);
    for (int i = 0; !kind && i < w.order->nelts; i++) {
        all[i] = row_of(c->pool, APR_ARRAY_IDX(w.order, i, reached *));
    }
    *count = kind ? 0 : w.order->nelts;
    qsort(all, (size_t)*count, sizeof *all, in_order);
    *rows = all;
    return kind;
}
