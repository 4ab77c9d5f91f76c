/* Owns the scope of an erasure: the traces of a person, what must have finished before, and how
 * to recognise a text about the person. Overwrites only the audit record and leftovers in the
 * cache. */
#include "core/governance/erase.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <ctype.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/cache/sync.h"
#include "core/governance/access.h"
#include "core/governance/whom.h"
#include "core/model/task.h"
#include "core/store/audit.h"
#include "core/store/chain_key.h"
#include "core/store/tenant.h"

#define MARK_MIN 6 /* bytes: a shorter UPN or ID would be found in everything */
#define NAME_MIN 5 /* and a name has two words */
#define PART_MIN 3 /* of a double name: shorter parts (de, af) identify no person */
#define AUDIT_PAGE 500
#define ID_LEN 36
#define WHOS_MAX 20

/* --- gathering --- */

static const char *small(apr_pool_t *pool, const char *text)
{
    char *copy = apr_pstrdup(pool, text);
    for (char *p = copy; *p; p++) {
        *p = (char)((unsigned char)*p < 0x80 ? tolower((unsigned char)*p) : *p);
    }
    return copy;
}

static void once(apr_array_header_t *list, const char *text)
{
    for (int i = 0; i < list->nelts; i++) {
        if (strcmp(APR_ARRAY_IDX(list, i, const char *), text) == 0) {
            return;
        }
    }
    APR_ARRAY_PUSH(list, const char *) = text;
}

static const char *list_of(apr_pool_t *pool, const apr_array_header_t *texts)
{
    return governance_access_list(pool, (const char *const *)texts->elts, texts->nelts);
}

typedef struct gathering {
    apr_pool_t *pool;
    /* people: folded UPNs and mail addresses of this person alone; shared: those that others
     * have or had */
    apr_array_header_t *marks, *names, *tasks, *ids, *people, *shared, *pairs;
} gathering;

static void add_mark(gathering *g, const char *text)
{
    if (text && strlen(text) >= MARK_MIN) {
        once(g->marks, small(g->pool, text));
        once(g->marks, ida_fold_address(g->pool, text));
    }
}

static int is_in(const apr_array_header_t *list, const char *text)
{
    int at = 0;
    while (at < list->nelts && strcmp(APR_ARRAY_IDX(list, at, const char *), text) != 0) {
        at++;
    }
    return at < list->nelts;
}

/* Whether another person has the address or had tasks under it: then a mention of it may mean
 * that person and proves nothing. */
static ida_kind is_shared(store *s, ida_ctx *c, const char *tenant, const gathering *g,
                          const char *address, int *shared)
{
    ida_user *user;
    const char **whos;
    int count = 0;
    ida_kind kind = cache_user_by_upn(s, c, tenant, address, &user);
    *shared = kind == IDA_CONFLICT || (!kind && !is_in(g->ids, user->id) &&
                                       !(user->other_id && is_in(g->ids, user->other_id)));
    if (kind == IDA_NOT_FOUND || kind == IDA_CONFLICT) {
        ida_ctx_clear(c);
        kind = IDA_OK;
    }
    kind = kind || *shared ? kind : queue_task_whos(s, c, tenant, address, WHOS_MAX, &whos, &count);
    for (int i = 0; !kind && i < count; i++) {
        *shared |= !strchr(whos[i], '@') && strncmp(whos[i], "erased:", 7) != 0 &&
                   !is_in(g->ids, whos[i]);
    }
    return kind;
}

static ida_kind add_address(store *s, ida_ctx *c, const char *tenant, gathering *g,
                            const char *address)
{
    const char *folded = address ? ida_fold_address(g->pool, address) : "";
    int shared;
    if (!*folded || is_in(g->people, folded) || is_in(g->shared, folded)) {
        return IDA_OK;
    }
    ida_kind kind = is_shared(s, c, tenant, g, folded, &shared);
    if (!kind) {
        once(shared ? g->shared : g->people, folded);
    }
    if (!kind && !shared) {
        add_mark(g, address);
    }
    return kind;
}

static void add_id(gathering *g, const char *id)
{
    if (id) {
        add_mark(g, id);
        once(g->ids, id);
    }
}

/* As written, and as a JSON text writes it. */
static void add_name(gathering *g, const char *name)
{
    if (!name || strlen(ida_fold_search(g->pool, name)) < NAME_MIN || !strchr(name, ' ')) {
        return;
    }
    const char *quoted = ida_json_text(g->pool, ida_json_keep(g->pool, json_string(name)));
    once(g->names, name);
    if (quoted && strlen(quoted) > 2) {
        once(g->names, apr_pstrmemdup(g->pool, quoted + 1, strlen(quoted) - 2));
    }
}

static void add_pair(gathering *g, const char *given, const char *family)
{
    const char *one = given ? ida_fold_search(g->pool, given) : "",
               *other = family ? ida_fold_search(g->pool, family) : "";
    if (*one && *other) {
        const char **pair = apr_array_push(g->pairs);
        pair[0] = one;
        pair[1] = other;
        add_name(g, ida_printf(g->pool, "%s %s", given, family));
        add_name(g, ida_printf(g->pool, "%s %s", family, given));
    }
}

static ida_kind refuse_open(ida_ctx *c, const char *id, const char *state)
{
    return ida_fail(
        c, IDA_CONFLICT,
        "Task %s of this person is %s: let it end, or cancel it, and run the command again.", id,
        state);
}

/* Own tasks by what is known so far. */
static ida_kind gather_tasks(store *s, ida_ctx *c, const char *tenant, gathering *g)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_erase_own,
                               DB_ARGS(DB_T(tenant), DB_T(list_of(c->pool, g->people)),
                                       DB_T(list_of(c->pool, g->ids))),
                               &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_erase_task *task = DB_ROW(erase_task, &r, i);
        const char *state = task->state.text;
        const json_t *payload = task->payload.text ? ida_json_load(c->pool, task->payload.text)
                                                   : NULL;
        if (strcmp(state, "done") != 0 && strcmp(state, "failed") != 0 &&
            strcmp(state, "cancelled") != 0) {
            return refuse_open(c, task->id.text, state);
        }
        once(g->tasks, task->id.text);
        add_name(g, task->display_name.text);
        add_id(g, task->object_id.text);
        add_pair(g, ida_json_string(payload, "firstname"), ida_json_string(payload, "surname"));
    }
    /* After the IDs of all of them, which show the owner of an address. */
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_erase_task *task = DB_ROW(erase_task, &r, i);
        kind = add_address(s, c, tenant, g, task->upn.text);
        kind = kind ? kind : add_address(s, c, tenant, g, task->mail.text);
    }
    return kind;
}

static ida_kind gather_accounts(store *s, ida_ctx *c, const char *tenant, gathering *g)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_erase_accounts,
                               DB_ARGS(DB_T(tenant), DB_T(list_of(c->pool, g->people)),
                                       DB_T(list_of(c->pool, g->ids))),
                               &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        add_id(g, DB_ROW(id, &r, i)->id.text);
    }
    return kind;
}

static ida_kind refuse_cached(store *s, ida_ctx *c, const char *tenant, const gathering *g)
{
    db_result r;
    ida_kind kind = store_read(s, c, STMT_erase_cached,
                               DB_ARGS(DB_T(tenant), DB_T(list_of(c->pool, g->people)),
                                       DB_T(list_of(c->pool, g->ids))),
                               &r);
    return kind || !r.rows
               ? kind
               : ida_fail(c, IDA_CONFLICT,
                          "The directory %s still has %s: the next synchronisation would bring the "
                          "data back. Delete the account in the directory, run `idadminctl sync %s "
                          "--wait`, then this command again.",
                          DB_ROW(erase_cached, &r, 0)->directory.text,
                          DB_ROW(erase_cached, &r, 0)->upn.text, tenant);
}

/* The address now belongs to a person who may not be the one to erase: others had it before. */
static ida_kind refuse_holder(store *s, ida_ctx *c, const char *tenant, const queue_person *person,
                              const ida_user *user)
{
    const char **whos, *others = "";
    int count = 0;
    ida_kind kind = person->address
                        ? queue_task_whos(s, c, tenant, person->address, WHOS_MAX, &whos, &count)
                        : IDA_OK;
    for (int i = 0; !kind && i < count; i++) {
        if (!strchr(whos[i], '@') && strncmp(whos[i], "erased:", 7) != 0 &&
            strcmp(whos[i], person->id) != 0 &&
            !(person->other_id && strcmp(whos[i], person->other_id) == 0)) {
            others = ida_printf(c->pool, "%s%s%s", others, *others ? ", " : "", whos[i]);
        }
    }
    if (kind || !*others) {
        return kind;
    }
    return ida_fail(c, IDA_CONFLICT,
                    "The address %s is that of the account with the ID %s now. Who had it before "
                    "must be named by ID: %s. That account is not to be deleted for them.",
                    user->upn, user->id, others);
}

ida_kind governance_erase_find(store *s, ida_ctx *c, const char *tenant, const char *upn,
                               governance_traces **traces)
{
    apr_pool_t *pool = c->pool;
    gathering g = {pool,
                   apr_array_make(pool, 8, sizeof(char *)),
                   apr_array_make(pool, 8, sizeof(char *)),
                   apr_array_make(pool, 8, sizeof(char *)),
                   apr_array_make(pool, 4, sizeof(char *)),
                   apr_array_make(pool, 4, sizeof(char *)),
                   apr_array_make(pool, 4, sizeof(char *)),
                   apr_array_make(pool, 4, 2 * sizeof(char *))};
    ida_kind kind = IDA_OK;
    queue_person person;
    ida_user *user;
    if (strlen(upn) < MARK_MIN || !(strchr(upn, '@') || strlen(upn) == ID_LEN)) {
        return ida_fail(c, IDA_BAD_REQUEST,
                        "The person must be named by the whole userPrincipalName, or by the ID of "
                        "the account.");
    }
    kind = governance_whom_past(s, c, tenant, upn, &person, &user);
    kind = kind || !user ? kind : refuse_holder(s, c, tenant, &person, user);
    if (kind) {
        return kind;
    }
    add_id(&g, person.id);
    add_id(&g, person.other_id);
    kind = add_address(s, c, tenant, &g, strchr(upn, '@') ? upn : NULL);
    /* A person may have been renamed: tasks lead to accounts, accounts to further tasks. */
    for (int before = -1; !kind && before != g.people->nelts + g.ids->nelts;) {
        before = g.people->nelts + g.ids->nelts;
        kind = gather_accounts(s, c, tenant, &g);
        kind = kind ? kind : gather_tasks(s, c, tenant, &g);
    }
    kind = kind ? kind : refuse_cached(s, c, tenant, &g);
    if (kind) {
        return kind;
    }
    governance_traces *t = *traces = apr_pcalloc(pool, sizeof *t);
    *t = (governance_traces){.tenant = tenant,
                             .upn = upn,
                             .marks = list_of(pool, g.marks),
                             .names = list_of(pool, g.names),
                             .tasks = list_of(pool, g.tasks),
                             .ids = list_of(pool, g.ids),
                             .shared = list_of(pool, g.shared),
                             .shared_count = g.shared->nelts,
                             .mark_count = g.marks->nelts,
                             .name_count = g.names->nelts,
                             .task_count = g.tasks->nelts,
                             .mark_list = (const char *const *)g.marks->elts,
                             .name_list = (const char *const *)g.names->elts,
                             .task_list = (const char *const *)g.tasks->elts,
                             .pairs = (const char *const(*)[2])g.pairs->elts,
                             .pair_count = g.pairs->nelts};
    return IDA_OK;
}

/* --- does a record tell of the person? --- */

static int part_of_word(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static int has_word(const char *text, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) {
        if ((at == text || !part_of_word(at[-1])) && !part_of_word(at[len])) {
            return 1;
        }
    }
    return 0;
}

/* The whole name, or a part of a double one: people search for parts. */
static int has_part(ida_ctx *c, const char *text, const char *name)
{
    char *rest = apr_pstrdup(c->pool, name), *state, *word;
    if (has_word(text, name)) {
        return 1;
    }
    for (word = apr_strtok(rest, " -'", &state); word; word = apr_strtok(NULL, " -'", &state)) {
        if (strlen(word) >= PART_MIN && has_word(text, word)) {
            return 1;
        }
    }
    return 0;
}

static int has_name(ida_ctx *c, const governance_traces *t, const char *folded)
{
    for (int i = 0; i < t->name_count; i++) {
        if (strstr(folded, ida_fold_search(c->pool, t->name_list[i]))) {
            return 1;
        }
    }
    return 0;
}

static int has_pair(ida_ctx *c, const governance_traces *t, const char *folded)
{
    for (int i = 0; i < t->pair_count; i++) {
        if (has_part(c, folded, t->pairs[i][0]) && has_part(c, folded, t->pairs[i][1])) {
            return 1;
        }
    }
    return 0;
}

int governance_erase_is_about(ida_ctx *c, const governance_traces *t, const audit_record *r)
{
    const char *const parts[] = {r->actor,      r->label,  r->target, r->endpoint,
                                 r->parameters, r->detail, r->marks};
    const char *all = "";
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        all = parts[i] ? apr_pstrcat(c->pool, all, "\n", parts[i], NULL) : all;
    }
    const char *lower = small(c->pool, all), *folded = ida_fold_address(c->pool, all);
    for (int i = 0; i < t->mark_count; i++) {
        if (strstr(lower, t->mark_list[i]) || strstr(folded, t->mark_list[i])) {
            return 1;
        }
    }
    for (int i = 0; i < t->task_count; i++) {
        if (strstr(all, t->task_list[i])) {
            return 1;
        }
    }
    /* In a record about another person, who may have the same name, only explicit mentions of
     * the name count. */
    int of_another = r->target && strchr(r->target, '@');
    const char *spoken = ida_fold_search(c->pool, of_another ? (r->detail ? r->detail : "") : all);
    return has_name(c, t, spoken) || (!of_another && has_pair(c, t, spoken));
}

/* --- audit --- */

typedef struct audit_work {
    const char *tenant;
    store_erased concerned[AUDIT_PAGE];
    int count;
} audit_work;

static ida_kind erase_records(store *s, ida_ctx *c, void *baton)
{
    const audit_work *w = baton;
    return store_audit_erase(s, c, w->tenant, w->concerned, w->count);
}

/* One page after `*after`, which moves to its end; *more 0: there is no other. */
static ida_kind erase_page(store *s, ida_ctx *c, const governance_traces *traces, int64_t *after,
                           int *more, int64_t *count)
{
    audit_work w = {.tenant = traces->tenant};
    db_result r;
    ida_kind kind = store_read(s, c, STMT_erase_page,
                               DB_ARGS(DB_T(traces->tenant), DB_I(*after), DB_I(AUDIT_PAGE)), &r);
    for (int i = 0; !kind && i < r.rows; i++) {
        const row_erase_record *row = DB_ROW(erase_record, &r, i);
        const audit_record record = {.actor = row->actor.text,
                                     .label = row->label.text,
                                     .action = row->action.text,
                                     .target = row->target.text,
                                     .endpoint = row->endpoint.text,
                                     .parameters = row->parameters.text,
                                     .detail = row->detail.text,
                                     .marks = row->marks.text};
        *after = row->seq.number;
        if (governance_erase_is_about(c, traces, &record)) {
            w.concerned[w.count++] = (store_erased){*after, row->marks.text};
        }
    }
    *more = !kind && r.rows == AUDIT_PAGE;
    kind = kind || !w.count ? kind : store_transaction(s, c, erase_records, &w);
    *count += kind ? 0 : w.count;
    return kind;
}

ida_kind governance_erase_audit(store *s, ida_ctx *c, const governance_traces *traces,
                                int64_t *count)
{
    ida_ctx page = *c; /* a log of years does not fit into memory */
    int64_t after = 0;
    int more = 1;
    ida_kind kind = IDA_OK;
    *count = 0;
    apr_pool_create(&page.pool, c->pool);
    while (!kind && more) {
        apr_pool_clear(page.pool);
        kind = erase_page(s, &page, traces, &after, &more, count);
    }
    if (kind) {
        c->kind = kind;
        c->message = page.message ? apr_pstrdup(c->pool, page.message) : NULL;
    }
    apr_pool_destroy(page.pool);
    return kind;
}

/* --- cache --- */

/* How a DN of the person begins: named by the local part, or by the display name. Keys of DNs are
 * folded. */
static const char *dn_beginnings(ida_ctx *c, const governance_traces *t)
{
    static const char *const attributes[] = {"uid=", "cn="};
    apr_array_header_t *all = apr_array_make(c->pool, 8, sizeof(char *));
    for (size_t a = 0; a < sizeof attributes / sizeof *attributes; a++) {
        for (int i = 0; i < t->mark_count; i++) {
            const char *at = strchr(t->mark_list[i], '@');
            if (at && at - t->mark_list[i] >= NAME_MIN) {
                once(all, apr_pstrcat(c->pool, attributes[a],
                                      apr_pstrmemdup(c->pool, t->mark_list[i],
                                                     (apr_size_t)(at - t->mark_list[i])),
                                      ",", NULL));
            }
        }
        for (int i = 0; i < t->name_count; i++) {
            once(all, apr_pstrcat(c->pool, attributes[a],
                                  ida_fold_address(c->pool, t->name_list[i]), ",", NULL));
        }
    }
    return list_of(c->pool, all);
}

ida_kind governance_erase_cache(store *s, ida_ctx *c, const governance_traces *traces,
                                int64_t *count)
{
    const json_t *ids = ida_json_load(c->pool, traces->ids), *id;
    db_result r;
    size_t i;
    ida_kind kind = IDA_OK;
    json_array_foreach ((json_t *)ids, i, id) {
        for (int d = 0; !kind && d < IDA_DIR_COUNT; d++) {
            kind = cache_tell_gone(s, c, traces->tenant, (ida_directory_kind)d,
                                   json_string_value(id));
        }
    }
    const char *beginnings = dn_beginnings(c, traces);
    const db_args marks = DB_ARGS(DB_T(traces->tenant), DB_T(traces->marks)),
                  names = DB_ARGS(DB_T(traces->tenant), DB_T(beginnings));
    const struct {
        db_statement statement;
        db_args args;
        int counts;
    } works[] = {{STMT_erase_addresses, marks, 1},
                 {STMT_erase_shared_addresses, marks, 0},
                 {STMT_erase_managers, names, 1},
                 {STMT_erase_members, names, 1}};
    *count = 0;
    for (i = 0; !kind && i < sizeof works / sizeof *works; i++) {
        kind = store_write(s, c, works[i].statement, works[i].args, &r);
        *count += kind || !works[i].counts ? 0 : r.changes;
    }
    return kind ? kind : cache_forget_words(s, c);
}
