/* Owns how a command line becomes a call of an operation. Must not know a program's other
 * options, nor where a store is. */
#include "core/face/command.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/operation/page.h"
#include "core/operation/param.h"

const ida_face ida_command_face = {
    .via = "command",
    .category = "command",
    .unknown = "request",
    .texts = 1,
    .names_approver = 1,
};

const ida_param *ida_command_argument(const ida_operation *op, int i)
{
    const ida_param *p = op->params;
    for (; p->name && i; p++) {
        i--;
    }
    for (p = p->name ? p : op->body; p && p->name && i; p++) {
        i--;
    }
    return p && p->name ? p : NULL;
}

static const ida_command_word *word_of(const ida_command_word *words, int count,
                                       const char *argument)
{
    for (int i = 0; i < count && words[i].argument; i++) {
        if (strcmp(words[i].argument, argument) == 0) {
            return &words[i];
        }
    }
    return NULL;
}
#define WORD_OF(words, argument) word_of(words, sizeof(words) / sizeof *(words), argument)

const char *ida_command_option(apr_pool_t *pool, const ida_command *command, const ida_param *p)
{
    const ida_command_word *named = WORD_OF(command->named, p->name);
    if ((p->flags & IDA_PARAM_REFUSED) || WORD_OF(command->at, p->name) ||
        WORD_OF(command->given, p->name)) {
        return NULL;
    }
    return named ? named->word : ida_dashed(pool, p->name);
}

const char *ida_command_about(apr_pool_t *pool, const ida_param *p)
{
    const char *text = p->about;
    for (int i = 0; p->allowed && p->allowed[i]; i++) {
        text = apr_pstrcat(pool, text, i ? ", " : " One of ", p->allowed[i],
                           p->allowed[i + 1] ? NULL : ".", NULL);
    }
    if (p->type == IDA_PARAM_INTEGER) {
        text = apr_pstrcat(
            pool, text, ida_printf(pool, " %lld to %lld", (long long)p->min, (long long)p->max),
            p->fallback ? ida_printf(pool, ", else %lld.", (long long)p->fallback) : ".", NULL);
    }
    return text;
}

void ida_command_begin(ida_ctx *c, ida_question *asked, const ida_command *command)
{
    asked->face = &ida_command_face;
    asked->arguments = ida_json_keep(c->pool, json_object());
    asked->body = asked->operation->body ? ida_json_keep(c->pool, json_object()) : NULL;
    for (int i = 0; command->given[i].argument; i++) {
        if (command->given[i].word) {
            ida_command_put(c, asked, command->given[i].argument, command->given[i].word);
        }
    }
}

void ida_command_put(ida_ctx *c, ida_question *asked, const char *argument, const char *value)
{
    const ida_param *member = ida_param_find(asked->operation->params, argument)
                                  ? NULL
                                  : ida_param_find(asked->operation->body, argument);
    json_t *text = json_string(value);
    int typed = member && (member->type == IDA_PARAM_INTEGER || member->type == IDA_PARAM_BOOLEAN ||
                           member->type == IDA_PARAM_LIST);
    if (!text) {
        ida_fault_add(c, argument, "must be UTF-8");
    } else if (typed) { /* only in a query are other values sent as texts */
        json_object_set_new(asked->body, argument, ida_param_check(c, member, text, 1));
    } else {
        json_object_set(member ? asked->body : asked->arguments, argument, text);
    }
    json_decref(text);
}

/* --- run --- */

/* The list of an answer, and the object that contains its cursor; NULL: it has none. */
typedef struct listing {
    json_t *items, *around;
} listing;

static listing listing_of(const ida_call *call)
{
    return call->pages ? (listing){call->pages->items, call->pages->around}
                       : (listing){json_object_get(call->result, "items"), call->result};
}

static ida_kind follow(ida_call *call, json_t *arguments)
{
    const ida_param *params = call->asked->operation->params;
    const char *by = ida_param_find(params, "cursor") ? "cursor" : "after", *next;
    json_t *whole = call->result;
    listing all = listing_of(call), page = all;
    ida_kind kind = call->pages && call->pages->next
                        ? ida_fail(call->c, IDA_BAD_REQUEST,
                                   "--all: the answer holds several lists; ask for one of them.")
                        : IDA_OK;
    int endless = strcmp(by, "after") == 0; /* events have a cursor at their end, too */
    while (!kind && (next = ida_json_string(page.around, "nextCursor")) != NULL &&
           (json_array_size(page.items) || !endless)) {
        ida_json_put(arguments, by, next);
        call->pages = NULL;
        kind = ida_operation_run(call);
        ida_pages_load(call);
        page = listing_of(call);
        if (!kind) {
            json_array_extend(all.items, page.items);
        }
    }
    if (!kind) {
        json_object_set(all.around, "nextCursor", json_object_get(page.around, "nextCursor"));
        call->result = whole;
    }
    return kind;
}

ida_kind ida_command_run(ida_call *call, int all)
{
    const ida_question *first = call->asked;
    ida_question each = *first; /* the arguments change from page to page: the cursor */
    each.arguments = ida_json_keep(call->c->pool, json_copy(first->arguments));
    if (all && !json_object_get(each.arguments, "limit")) {
        json_object_set_new(each.arguments, "limit", json_integer(IDA_PAGE_MAX));
    }
    call->asked = &each;
    ida_kind kind = ida_operation_admit(call);
    kind = kind ? kind : ida_faults_raise(call->c);
    kind = kind ? kind : ida_operation_run(call);
    ida_pages_load(call);
    kind = kind || !all ? kind : follow(call, each.arguments);
    call->asked = first;
    return kind;
}

/* --- faults --- */

static const char *said(const ida_call *call, const ida_command *command, const char *argument)
{
    const ida_operation *op = call->asked->operation;
    const ida_command_word *at = WORD_OF(command->at, argument);
    const ida_param *p = ida_param_find(op->params, argument);
    p = p || !op->body ? p : ida_param_find(op->body, argument);
    const char *option = p && !at ? ida_command_option(call->c->pool, command, p) : NULL;
    return at ? at->word : option ? apr_pstrcat(call->c->pool, "--", option, NULL) : argument;
}

const char *ida_command_fault(const ida_call *call, const ida_command *command)
{
    const char *text = NULL;
    for (const ida_fault *f = call->c->fields; f; f = f->next) {
        text = apr_pstrcat(call->c->pool, text ? text : "", text ? "; " : "",
                           said(call, command, f->field), " ", f->rule, NULL);
    }
    return text;
}
