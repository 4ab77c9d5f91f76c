/* Owns how an argument finds a person, and which candidates are named if it finds none. Must not
 * know the purpose of the argument. */
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/op.h"
#include "core/operation/people/find.h"

#define CANDIDATES 5 /* people listed for a text that is neither an ID nor a UPN */
/* for all of them together: tool errors are cut at 500, and a cut UPN is useless */
#define CANDIDATES_BYTES 300

/* "Eva Berg" (eva.berg@contoso.example), ... for a text that is neither an ID nor a UPN. */
static ida_kind candidates(ida_call *call, const char *text, const char **named)
{
    ida_ctx *c = call->c;
    cache_people_filter filter = CACHE_PEOPLE_ALL;
    const cache_listed_person *rows;
    int count = 0;
    *named = "";
    filter.limit = CANDIDATES;
    ida_kind kind = ida_people_words(c->pool, text, &filter) > 0
                        ? cache_people_search(call->store, c, call->asked->tenant->id, &filter,
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

ida_kind ida_op_find_user_of(ida_call *call, const char *argument, ida_user **user,
                             json_t **licenses)
{
    ida_ctx *c = call->c;
    const char *wanted = ida_json_string(call->arguments, argument), *named;
    ida_kind kind = cache_user_details(call->store, c, call->asked->tenant->id, wanted, user,
                                       licenses);
    if (kind != IDA_NOT_FOUND) {
        return kind;
    }
    ida_ctx_clear(c);
    kind = ida_op_synced(call, call->store); /* candidates are a list, which is incomplete before
                                                the first sync */
    kind = kind ? kind : candidates(call, wanted, &named);
    if (kind) {
        return kind;
    }
    return ida_fail(c, IDA_NOT_FOUND, "%s: No user has the object ID or UPN \"%s\".%s%s%s",
                    argument, ida_clean(c->pool, wanted, strlen(wanted), 128),
                    *named                     ? " Did you mean "
                    : call->asked->face->tools ? " Find the exact UPN with search_users."
                                               : "",
                    named, *named ? "?" : "");
}

ida_kind ida_op_find_user(ida_call *call, ida_user **user, json_t **licenses)
{
    ida_kind kind = ida_op_find_user_of(call, "user", user, licenses);
    call->target = kind ? call->target : (*user)->upn;
    return kind;
}
