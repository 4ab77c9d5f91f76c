/* Owns the operations on people as assistants ask for them: search, one person in detail; and how
 * an argument finds a person. */
#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/search_key.h"
#include "core/base/text.h"
#include "core/operation/find.h"
#include "core/operation/op.h"
#include "core/operation/person_json.h"

#define CANDIDATES 5 /* named when somebody is asked for by something else than ID or UPN */
/* of them all: tool errors are cut at 500, and half a UPN helps nobody */
#define CANDIDATES_BYTES 300

static int longer_first(const void *a, const void *b)
{
    size_t one = strlen(*(const char *const *)a), other = strlen(*(const char *const *)b);
    return (one < other) - (one > other);
}

/* Words of a query into a filter; the longest first, because most rows fail there. Number of words,
 * -1: too many. */
static int words_of(apr_pool_t *pool, const char *query, cache_people_filter *filter)
{
    char *rest = ida_fold_search(pool, query), *last = NULL;
    int count = 0;
    for (char *word = apr_strtok(rest, " ", &last); word; word = apr_strtok(NULL, " ", &last)) {
        const char *marked = ida_search_word(pool, word);
        if (marked && count == CACHE_WORDS_MAX) {
            return -1;
        }
        if (marked) {
            filter->words[count++] = marked;
        }
    }
    qsort(filter->words, (size_t)count, sizeof filter->words[0], longer_first);
    return count;
}

/* --- finding --- */

/* "Eva Berg" (eva.berg@contoso.example), ... for a text that is no ID and no UPN. */
static ida_kind candidates(ida_call *call, const char *text, const char **named)
{
    ida_ctx *c = call->c;
    cache_people_filter filter = {.enabled = -1,
                                  .guest = -1,
                                  .signed_in_before = INT64_MAX,
                                  .after_name = "",
                                  .after_id = "",
                                  .limit = CANDIDATES};
    const cache_listed_person *rows;
    int count = 0;
    *named = "";
    ida_kind kind = words_of(c->pool, text, &filter) > 0
                        ? cache_people_search(call->store, c, call->principal->company, &filter,
                                              &rows, &count)
                        : IDA_OK;
    for (int i = 0; !kind && i < count; i++) {
        const char *name = rows[i].display_name ? rows[i].display_name : "",
                   *handle = rows[i].upn ? rows[i].upn : rows[i].id;
        if (!ida_op_candidate(c, named, name, 64, handle, CANDIDATES_BYTES)) {
            break;
        }
    }
    return kind;
}

ida_kind ida_op_find_user(ida_call *call, ida_user **user, json_t **licenses)
{
    ida_ctx *c = call->c;
    const char *wanted = ida_json_string(call->arguments, "user"), *named;
    ida_kind kind = cache_user_details(call->store, c, call->principal->company, wanted, user,
                                       licenses);
    if (kind != IDA_NOT_FOUND) {
        call->target = kind ? call->target : (*user)->upn;
        return kind;
    }
    ida_ctx_clear(c);
    kind = ida_op_synced(call, call->store); /* candidates are a list */
    kind = kind ? kind : candidates(call, wanted, &named);
    if (kind) {
        return kind;
    }
    return ida_fail(c, IDA_NOT_FOUND, "user: No user has the object ID or UPN \"%s\".%s%s%s",
                    ida_clean(c->pool, wanted, strlen(wanted), 128),
                    *named                       ? " Did you mean "
                    : call->face == IDA_FACE_MCP ? " Find the exact UPN with search_users."
                                                 : "",
                    named, *named ? "?" : "");
}

/* --- search_users --- */

static ida_kind search(store *s, ida_ctx *c, void *baton)
{
    ida_call *call = baton;
    const char *tenant = call->principal->company,
               *query = ida_json_string(call->arguments, "query");
    const char *department = ida_json_string(call->arguments, "department"),
               *status = ida_json_string(call->arguments, "status");
    int64_t before = ida_argument_time(call, "lastSignInBefore"), total;
    const cache_listed_person *rows;
    cache_freshness fresh;
    json_t *position;
    int count;
    ida_page *page = ida_page_make(call, NULL);
    cache_people_filter filter = {
        .department = department ? ida_name_key(c->pool, department) : NULL,
        .enabled = -1,
        .guest = -1,
        .signed_in_from = ida_argument_time(call, "lastSignInAfter"),
        .signed_in_before = before ? before : INT64_MAX,
        .limit = page->limit + 1, /* one more tells whether there is a next page */
    };
    if (query && words_of(c->pool, query, &filter) < 1) {
        return ida_fail(c, IDA_BAD_REQUEST, "query: must be one to %d words with letters or digits",
                        CACHE_WORDS_MAX);
    }
    if (status) {
        filter.enabled = strcmp(status, "guest") == 0 ? -1 : strcmp(status, "active") == 0;
        filter.guest = strcmp(status, "disabled") == 0 ? -1 : strcmp(status, "guest") == 0;
    }
    ida_kind kind = ida_page_from(call, NULL, "iss", &position);
    if (kind) {
        return kind;
    }
    filter.after_name = ida_place_text(position, 1);
    filter.after_id = ida_place_text(position, 2);
    kind = cache_people_search(s, c, tenant, &filter, &rows, &count);
    kind = kind ? kind : cache_freshness_get(s, c, call->tenant, &fresh);
    /* Counted once: pages that follow carry the number along. */
    total = position ? ida_place_number(position, 0) : count;
    if (!kind && !position && count > page->limit) {
        kind = cache_people_count(s, c, tenant, &filter, &total);
    }
    if (kind) {
        return kind;
    }
    for (int i = 0; i < count && ida_page_takes(page); i++) {
        ida_page_add(page, ida_person_row_json(&rows[i]),
                     ida_place("iss", total, rows[i].name_key, rows[i].id));
    }
    return ida_page_result(page, total, fresh.as_of);
}

static const char *const statuses[] = {"active", "disabled", "guest", NULL};

static const ida_param search_params[] = {
    {"query", IDA_PARAM_STRING, .max = 256,
     .about = "Beginnings of words of names, UPN or mail, e.g. \"eva ber\"; case and accents do "
              "not matter."},
    {"department", IDA_PARAM_STRING, .max = 256,
     .about = "The whole name of the department, e.g. \"Sales\"."},
    {"status", IDA_PARAM_STRING, .allowed = statuses,
     .about = "active: enabled members; disabled: disabled accounts; guest: all guests."},
    {"lastSignInBefore", IDA_PARAM_TIME,
     .about = "Last signed in before this date or time, or never; e.g. 2026-06-30."},
    {"lastSignInAfter", IDA_PARAM_TIME,
     .about = "Last signed in at or after this date or time; e.g. 2026-06-30."},
    IDA_LIST_PARAMS,
    {0},
};

const ida_operation ida_op_users_search = {
    .name = "users.search",
    .faces = IDA_ON_REST | IDA_ON_MCP | IDA_ON_CONSOLE,
    .right = IDA_PEOPLE_READ,
    .method = "GET",
    .path = "/users",
    .scope = IDA_SCOPE_READ,
    .needs_sync = 1,
    .params = search_params,
    .work = search,
    .summary = "Users by name, department, status and last sign-in, ordered by display name.",
    .schema = "UserList",
    .tool = "search_users",
    .title = "Search users",
    .lists = 1,
    .description =
        "Lists users of the directory, filtered by words, department, status and last sign-in, "
        "ordered by display name. Use it to find somebody's exact UPN or to count people "
        "(totalCount); use get_user for all details of one person and get_hygiene_report for stale "
        "accounts. Every word of query must begin a word of the name, UPN or mail. Up to 200 users "
        "a page; pass nextCursor as cursor for more. Data is as of the last directory sync (asOf).",
    .item = ida_person_row_members,
};
