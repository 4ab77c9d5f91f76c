/* Owns which candidates a refusal names if an argument finds nothing, or several. Must not know
 * the purpose of the argument. */
#include "core/operation/people/find.h"

#include <apr_strings.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/search_key.h"
#include "core/base/text.h"
#include "core/cache/people.h"

#define GROUPS 5
#define GROUPS_BYTES 360
#define GROUP_NAME 32 /* bytes of a name: five IDs must fit as well */
#define LOOKED_AT 200 /* groups whose name contains the longest word, examined at most */

int ida_op_candidate(ida_ctx *c, const char **named, const char *name, size_t name_max,
                     const char *handle, size_t bytes_max)
{
    json_t *quoted = ida_json_keep(c->pool,
                                   json_string(ida_clean(c->pool, name, strlen(name), name_max)));
    const char *one = apr_pstrcat(c->pool, **named ? ", " : "", ida_json_text(c->pool, quoted),
                                  " (", ida_clean(c->pool, handle, strlen(handle), 128), ")", NULL);
    if (strlen(*named) + strlen(one) > bytes_max) {
        return 0;
    }
    *named = apr_pstrcat(c->pool, *named, one, NULL);
    return 1;
}

/* Whether every word of `words` (folded, ended by an empty text) is in the name. */
static int holds_all(const char *name_key, const char *const *words)
{
    for (; *words; words++) {
        if (!strstr(name_key, *words)) {
            return 0;
        }
    }
    return 1;
}

static ida_kind list(ida_call *call, store *s, const char *words, int exactly, int limit,
                     const cache_listed_group **rows, int *count)
{
    const cache_group_filter filter = {.words = words, .exactly = exactly, .limit = limit};
    return cache_group_list(s, call->c, call->asked->tenant->id, &filter, rows, count);
}

/* Groups whose names contain every word of the text, by name; the store searches for the longest
 * word. */
static ida_kind by_words(ida_call *call, store *s, const char *text, const char **named)
{
    apr_pool_t *pool = call->c->pool;
    char *rest = apr_pstrdup(pool, ida_name_key(pool, text)), *last = NULL;
    const char **words = apr_pcalloc(pool, (strlen(rest) + 2) * sizeof *words), *longest = "";
    const cache_listed_group *rows;
    int count = 0, told = 0;
    for (char *word = apr_strtok(rest, " ", &last); word; word = apr_strtok(NULL, " ", &last)) {
        words[count++] = word;
        longest = strlen(word) > strlen(longest) ? word : longest;
    }
    ida_kind kind = list(call, s, longest, 0, LOOKED_AT, &rows, &count);
    for (int i = 0; !kind && i < count && told < GROUPS; i++) {
        if (holds_all(rows[i].name_key, words)) {
            told += ida_op_candidate(call->c, named, rows[i].name, GROUP_NAME, rows[i].id,
                                     GROUPS_BYTES);
        }
    }
    return kind;
}

static ida_kind by_name(ida_call *call, store *s, const char *text, const char **named)
{
    const cache_listed_group *rows;
    int count = 0;
    ida_kind kind = list(call, s, ida_name_key(call->c->pool, text), 1, GROUPS, &rows, &count);
    for (int i = 0; !kind && i < count; i++) {
        ida_op_candidate(call->c, named, rows[i].name, GROUP_NAME, rows[i].id, GROUPS_BYTES);
    }
    return kind;
}

ida_kind ida_op_find_group(ida_call *call, store *s, const char *member, ida_group **group)
{
    ida_ctx *c = call->c;
    const char *wanted = ida_json_string(call->arguments, member), *named = "",
               *shown = ida_clean(c->pool, wanted, strlen(wanted), 64);
    ida_kind found = cache_group_find(s, c, call->asked->tenant->id, wanted, group);
    if (found != IDA_NOT_FOUND && found != IDA_CONFLICT) {
        return found;
    }
    ida_ctx_clear(c);
    ida_kind kind = found == IDA_CONFLICT           ? by_name(call, s, wanted, &named)
                    : ida_name_key(c->pool, wanted) ? by_words(call, s, wanted, &named)
                                                    : IDA_OK;
    if (kind) {
        return kind;
    }
    return found == IDA_CONFLICT
               ? ida_fail(c, IDA_BAD_REQUEST,
                          "%s: Several groups are named \"%s\"; give the group's ID: %s.", member,
                          shown, named)
               : ida_fail(c, IDA_NOT_FOUND, "%s: No group has the ID or name \"%s\".%s%s%s", member,
                          shown, *named ? " Did you mean " : "", named, *named ? "?" : "");
}

static int longer_first(const void *a, const void *b)
{
    size_t one = strlen(*(const char *const *)a), other = strlen(*(const char *const *)b);
    return (one < other) - (one > other);
}

/* The longest first, because it excludes most rows. */
int ida_people_words(apr_pool_t *pool, const char *query, cache_people_filter *filter)
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
