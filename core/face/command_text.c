/* Owns how an answer looks to people at a terminal, made from the operation's rows of members,
 * or from the answer itself if there are no rows. Must not know what an operation means. */
#include <apr_strings.h>
#include <apr_tables.h>
#include <ctype.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "core/face/command.h"
#include "core/face/text.h"

typedef struct sheet {
    apr_pool_t *pool;
    const ida_call *call;
    const ida_command *command;
    int width;
    apr_array_header_t *pieces;
} sheet;

static void add(sheet *s, const char *text)
{
    if (*text) {
        APR_ARRAY_PUSH(s->pieces, const char *) = text;
    }
}

/* --- members --- */

/* Names are in the order of the rows of members; those without a row follow. */
static void add_name(apr_array_header_t *names, const char *name)
{
    for (int i = 0; i < names->nelts; i++) {
        if (strcmp(APR_ARRAY_IDX(names, i, const char *), name) == 0) {
            return;
        }
    }
    APR_ARRAY_PUSH(names, const char *) = name;
}

static void add_fields(apr_array_header_t *names, const ida_field *f)
{
    for (; f && f->name; f++) {
        if (f->type == IDA_FIELD_INCLUDE) {
            add_fields(names, f->members);
        } else if (strcmp(f->name, "*") != 0) {
            add_name(names, f->name);
        }
    }
}

static void add_members(apr_array_header_t *names, const json_t *object)
{
    const char *name;
    json_t *value;
    json_object_foreach ((json_t *)object, name, value) {
        add_name(names, name);
    }
}

/* The rows of the members inside a member. */
static const ida_field *members_of(const ida_field *f, const char *name)
{
    const ida_field *other = NULL, *found = NULL;
    for (; f && f->name && !found; f++) {
        if (f->type == IDA_FIELD_INCLUDE) {
            found = members_of(f->members, name);
        } else if (strcmp(f->name, name) == 0) {
            return f->members;
        }
        other = strcmp(f->name, "*") == 0 ? f->members : other;
    }
    return found ? found : other;
}

static int is_objects(const json_t *value)
{
    return json_is_object(json_array_get(value, 0));
}

/* Whether a member takes more than one line. */
static int is_long(const json_t *value)
{
    const char *name;
    json_t *inner;
    json_object_foreach ((json_t *)value, name, inner) {
        if (json_is_object(inner) || json_is_array(inner)) {
            return 1;
        }
    }
    return is_objects(value);
}

/* --- tables --- */

static int any_has(const json_t *rows, const char *name)
{
    size_t i;
    const json_t *row;
    json_array_foreach ((json_t *)rows, i, row) {
        if (json_object_get(row, name)) {
            return 1;
        }
    }
    return 0;
}

static const char *upper(apr_pool_t *pool, const char *text)
{
    char *out = apr_pstrdup(pool, text);
    for (char *p = out; *p; p++) {
        *p = (char)toupper((unsigned char)*p);
    }
    return out;
}

static apr_array_header_t *chosen_names(sheet *s, const char *chosen)
{
    apr_array_header_t *names = apr_array_make(s->pool, 16, sizeof(const char *));
    char *rest = apr_pstrdup(s->pool, chosen ? chosen : ""), *last;
    for (char *name = apr_strtok(rest, " ", &last); name; name = apr_strtok(NULL, " ", &last)) {
        add_name(names, name);
    }
    return names;
}

/* Leaves out columns without a value in any row. */
static void put_table(sheet *s, const json_t *rows, const ida_field *fields, const char *chosen)
{
    apr_array_header_t *names = chosen_names(s, chosen);
    size_t i, count = chosen ? 0 : json_array_size(rows);
    add_fields(names, chosen ? NULL : fields);
    for (i = 0; i < count; i++) {
        add_members(names, json_array_get(rows, i));
    }
    ida_column *columns = apr_pcalloc(s->pool, ((size_t)names->nelts + 1) * sizeof *columns), *to;
    to = columns;
    for (int n = 0; n < names->nelts; n++) {
        const char *name = APR_ARRAY_IDX(names, n, const char *);
        if (any_has(rows, name)) {
            *to++ = (ida_column){upper(s->pool, ida_text_title(s->pool, name)), name};
        }
    }
    add(s, ida_text_table(s->pool, rows, columns, s->width));
}

/* --- objects --- */

static void gap(sheet *s)
{
    if (s->pieces->nelts) {
        add(s, "\n");
    }
}

static void put_title(sheet *s, const char *name)
{
    gap(s);
    add(s, ida_text_title(s->pool, name));
    add(s, ":\n");
}

/* Short members, one line each, then the long ones. */
static void put_object(sheet *s, const json_t *object, const ida_field *fields)
{
    apr_array_header_t *names = apr_array_make(s->pool, 16, sizeof(const char *));
    add_fields(names, fields);
    add_members(names, object);
    ida_column *columns = apr_pcalloc(s->pool, ((size_t)names->nelts + 1) * sizeof *columns);
    int count = 0;
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);
        if (!is_long(json_object_get(object, name))) {
            columns[count++] = (ida_column){ida_text_title(s->pool, name), name};
        }
    }
    add(s, ida_text_fields(s->pool, object, columns));
    for (int i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);
        const json_t *value = json_object_get(object, name);
        if (is_long(value)) {
            if (strcmp(name, "items") != 0) {
                put_title(s, name);
            }
            if (json_is_object(value)) {
                put_object(s, value, members_of(fields, name));
            } else {
                put_table(s, value, members_of(fields, name), NULL);
            }
        }
    }
}

/* --- answers --- */

/* How a list goes on. */
static void put_next(sheet *s, const json_t *result)
{
    const ida_operation *op = s->call->asked->operation;
    const ida_param *by = ida_param_find(op->params, "cursor");
    const json_t *total = json_object_get(result, "totalCount");
    const char *next = ida_json_string(result, "nextCursor");
    by = by ? by : ida_param_find(op->params, "after");
    const char *option = by ? ida_command_option(s->pool, s->command, by) : NULL;
    if (!next || !option) {
        return;
    }
    gap(s);
    if (total) {
        add(s, ida_printf(
                   s->pool, "%zu of %s%lld; ", json_array_size(json_object_get(result, "items")),
                   json_is_true(json_object_get(result, "totalCountIsMinimum")) ? "more than " : "",
                   (long long)json_integer_value(total)));
    }
    add(s, ida_printf(s->pool, "--%s %s goes on%s.\n", option, next,
                      total ? ", --all lists the rest" : ""));
}

static void put_items(sheet *s, const json_t *items)
{
    const ida_operation *op = s->call->asked->operation;
    gap(s);
    if (!json_array_size(items)) {
        add(s, "There is nothing to list.\n");
        return;
    }
    put_table(s, items, op->item ? op->item : members_of(op->output, "items"), s->command->columns);
}

static void put_line(sheet *s, const json_t *object, const char *member)
{
    const char *text = ida_json_string(object, member);
    if (text) {
        gap(s);
        add(s, ida_clean(s->pool, text, strlen(text), 0));
        add(s, "\n");
    }
}

/* Takes the objects out of `rest`. A single object needs no title. */
static void put_objects(sheet *s, json_t *rest)
{
    const ida_field *fields = s->call->asked->operation->output;
    const char *name;
    json_t *value;
    void *next;
    int count = 0;
    json_object_foreach (rest, name, value) {
        count += json_is_object(value);
    }
    json_object_foreach_safe (rest, next, name, value) {
        if (json_is_object(value)) {
            if (count > 1) {
                put_title(s, name);
            } else {
                gap(s);
            }
            put_object(s, value, members_of(fields, name));
            json_object_del(rest, name);
        }
    }
}

/* The objects beside a list come before it; all other members come last. */
const char *ida_command_text(const ida_call *call, const ida_command *command, int width)
{
    static const char *const apart[] = {"message",    "note",       "items",
                                        "totalCount", "nextCursor", "totalCountIsMinimum"};
    sheet s = {call->c->pool, call, command, width,
               apr_array_make(call->c->pool, 64, sizeof(const char *))};
    const json_t *items = json_object_get(call->result, "items");
    json_t *rest = ida_json_keep(s.pool, json_copy(call->result));
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++) {
        json_object_del(rest, apart[i]);
    }
    put_line(&s, call->result, "message");
    if (command->shown) {
        put_object(&s, json_object_get(call->result, command->shown),
                   members_of(call->asked->operation->output, command->shown));
        json_object_del(rest, command->shown);
    } else {
        put_objects(&s, rest);
    }
    if (items && !command->shown) {
        put_items(&s, items);
    }
    if (json_object_size(rest)) {
        gap(&s);
        put_object(&s, rest, NULL);
    }
    put_line(&s, call->result, "note");
    if (call->asked->operation->secret) {
        add(&s, "\nThe secret is shown only now: store it safely.\n");
    }
    put_next(&s, call->result);
    return apr_array_pstrcat(s.pool, s.pieces, 0);
}
