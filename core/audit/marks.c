/* Owns the text form of marks. Must not know what their digests are of. */
#include "core/audit/marks.h"

#include <apr_strings.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/context.h"
#include "core/base/digest.h"

#define DIGITS 16

static const char letters[] = "DPMB"; /* by audit_mark_part */

uint64_t audit_mark_digest(const char *text)
{
    unsigned char digest[IDA_DIGEST_LEN];
    uint64_t out = 0;
    ida_sha256(text, strlen(text), digest);
    for (size_t i = 0; i < sizeof out; i++) {
        out = out << 8 | digest[i];
    }
    return out ? out : 1;
}

char *audit_mark_text(apr_pool_t *pool, const audit_mark *mark)
{
    char *out = apr_pstrcat(pool, mark->name, ":", mark->made ? "+" : "", NULL);
    for (int part = 0; part < AUDIT_MARK_PARTS; part++) {
        if (mark->has & 1u << part) {
            out = ida_printf(pool, "%s%c%016llx", out, letters[part],
                             (unsigned long long)mark->parts[part]);
        }
    }
    return out;
}

int audit_mark_next(apr_pool_t *pool, const char **at, audit_mark *mark)
{
    *mark = (audit_mark){0};
    const char *word = *at + strspn(*at, " "), *end = word + strcspn(word, " "),
               *parts = memchr(word, ':', (size_t)(end - word));
    *at = end;
    if (!parts) {
        return 0;
    }
    mark->name = apr_pstrmemdup(pool, word, (apr_size_t)(parts - word));
    while (++parts < end) {
        const char *letter = strchr(letters, *parts);
        mark->made |= *parts == '+';
        if (letter && *letter) {
            const char *digits = apr_pstrmemdup(pool, parts + 1,
                                                strspn(parts + 1, "0123456789abcdef"));
            mark->has |= 1u << (letter - letters);
            mark->parts[letter - letters] = strlen(digits) == DIGITS ? strtoull(digits, NULL, 16)
                                                                     : 0;
        }
    }
    return 1;
}

char *audit_marks_bare(apr_pool_t *pool, const char *marks)
{
    char *out = marks ? apr_pstrdup(pool, marks) : NULL, *to = out;
    int in_parts = 0;
    for (const char *from = out; from && *from; from++) {
        in_parts = *from == ' ' ? 0 : in_parts || *from == ':';
        if (!in_parts || !isxdigit((unsigned char)*from) || isupper((unsigned char)*from)) {
            *to++ = *from;
        }
    }
    if (to) {
        *to = '\0';
    }
    return out;
}
