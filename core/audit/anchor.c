/* Owns the lines of <audit key>.heads: "COMPANY NUMBER FOOT HASH", one for each company, in the
 * order in which they were added; what older versions wrote behind these is left out. Must not know
 * how a chain is verified. */
#include "core/audit/anchor.h"

#include <apr_strings.h>
#include <apr_tables.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/beside.h"

#define HASH_LEN 64
#define MEMBERS 4

typedef struct line {
    const char *tenant;
    audit_anchor anchor;
} line;

static ida_beside file_of(const char *audit_key)
{
    return (ida_beside){"anchor of the audit chains", audit_key, ".heads"};
}

/* A decimal number of at most 18 digits; -1 when it is none. */
static int64_t number(const char *text)
{
    size_t len = strspn(text, "0123456789");
    return len && len <= 18 && !text[len] ? strtoll(text, NULL, 10) : -1;
}

/* Changes the text. */
static int parse_line(char *text, line *out)
{
    char *member[MEMBERS + 1] = {text};
    int count = 1;
    for (char *at = text; count <= MEMBERS && (at = strchr(at, ' ')); count++) {
        *at++ = '\0';
        member[count] = at;
    }
    if (count < MEMBERS) {
        return 0;
    }
    *out = (line){member[0], {number(member[1]), number(member[2]), member[3]}};
    return *member[0] && out->anchor.number >= 0 && out->anchor.foot >= 0 &&
           out->anchor.foot <= out->anchor.number && strlen(member[3]) == HASH_LEN &&
           strspn(member[3], "0123456789abcdef") == HASH_LEN;
}

static ida_kind parse(ida_ctx *c, const ida_beside *file, const char *text,
                      apr_array_header_t **lines)
{
    char *at = apr_pstrdup(c->pool, text ? text : ""), *end;
    *lines = apr_array_make(c->pool, 16, sizeof(line));
    for (; *at; at = end + 1) {
        line *one = apr_array_push(*lines);
        if (!(end = strchr(at, '\n'))) {
            break;
        }
        *end = '\0';
        if (!parse_line(at, one)) {
            break;
        }
    }
    return !*at ? IDA_OK
                : ida_beside_fail(
                      c, file,
                      ida_printf(c->pool,
                                 "is damaged in line %d: take it from a backup, or remove it (then "
                                 "the chains count as whole as they are) and look at each with "
                                 "idadminctl audit verify --checkpoints.",
                                 (*lines)->nelts));
}

static line *find(const apr_array_header_t *lines, const char *tenant)
{
    for (int i = 0; i < lines->nelts; i++) {
        line *one = &((line *)lines->elts)[i];
        if (strcmp(one->tenant, tenant) == 0) {
            return one;
        }
    }
    return NULL;
}

static ida_kind read_lines(ida_ctx *c, const char *audit_key, apr_array_header_t **lines,
                           int *there)
{
    const ida_beside file = file_of(audit_key);
    const char *text;
    ida_kind kind = ida_beside_read(c, &file, &text);
    *there = text != NULL;
    return kind ? kind : parse(c, &file, text, lines);
}

ida_kind audit_anchor_read(ida_ctx *c, const char *audit_key, const char *tenant,
                           const audit_anchor **anchor, int *there)
{
    apr_array_header_t *lines;
    *anchor = NULL;
    ida_kind kind = read_lines(c, audit_key, &lines, there);
    line *found = kind ? NULL : find(lines, tenant);
    *anchor = found ? &found->anchor : NULL;
    return kind;
}

ida_kind audit_anchor_companies(ida_ctx *c, const char *audit_key, const char *const **tenants,
                                int *count)
{
    apr_array_header_t *lines;
    int there;
    ida_kind kind = read_lines(c, audit_key, &lines, &there);
    *count = kind ? 0 : lines->nelts;
    const char **all = apr_palloc(c->pool, sizeof *all * (apr_size_t)(*count + 1));
    for (int i = 0; i < *count; i++) {
        all[i] = ((line *)lines->elts)[i].tenant;
    }
    *tenants = all;
    return kind;
}

typedef struct move_work {
    const ida_beside *file;
    const char *tenant;
    const audit_anchor *from, *to;
    int *moved;
} move_work;

static int same(const audit_anchor *a, const audit_anchor *b)
{
    return a->number == b->number && a->foot == b->foot && strcmp(a->hash, b->hash) == 0;
}

static ida_kind move(ida_ctx *c, const char *text, const char **changed, void *baton)
{
    const move_work *w = baton;
    apr_array_header_t *lines;
    ida_kind kind = parse(c, w->file, text, &lines);
    line *found = kind ? NULL : find(lines, w->tenant);
    *w->moved = !kind && !found == !w->from && (!found || same(&found->anchor, w->from));
    if (!*w->moved) {
        return kind;
    }
    found = found ? found : apr_array_push(lines);
    *found = (line){w->tenant, *w->to};
    apr_array_header_t *out = apr_array_make(c->pool, lines->nelts, sizeof(char *));
    for (int i = 0; i < lines->nelts; i++) {
        const line *one = &((line *)lines->elts)[i];
        APR_ARRAY_PUSH(out, const char *) = ida_printf(c->pool, "%s %lld %lld %s\n", one->tenant,
                                                       (long long)one->anchor.number,
                                                       (long long)one->anchor.foot,
                                                       one->anchor.hash);
    }
    *changed = apr_array_pstrcat(c->pool, out, 0);
    return IDA_OK;
}

ida_kind audit_anchor_move(ida_ctx *c, const char *audit_key, const char *tenant,
                           const audit_anchor *from, const audit_anchor *to, int *moved)
{
    const ida_beside file = file_of(audit_key);
    move_work work = {&file, tenant, from, to, moved};
    *moved = from && same(from, to);
    return *moved ? IDA_OK : ida_beside_update(c, &file, move, &work);
}
