/* Owns the form of search keys. Must not know the store. */
#include "core/search_key.h"

#include <apr_strings.h>
#include <ctype.h>
#include <string.h>

#include "core/text.h"

#define MARK '|'       /* stands before every beginning of a word; not part of one itself */
#define DIGEST_PART 33 /* '#' and 32 hex digits */

char *ida_name_key(apr_pool_t *pool, const char *text)
{
    char *key = text ? ida_fold_search(pool, text) : NULL;
    size_t len = key ? strlen(key) : 0;
    if (len <= IDA_NAME_KEY_MAX) {
        return len ? key : NULL;
    }
    return apr_pstrcat(pool, ida_clean(pool, key, len, IDA_NAME_KEY_MAX - DIGEST_PART), "#",
                       apr_pstrndup(pool, ida_sha256_hex(pool, key, len), DIGEST_PART - 1), NULL);
}

/* Letters beyond ASCII are bytes of 0x80 and above. */
static int in_word(char ch)
{
    return (unsigned char)ch >= 0x80 || isalnum((unsigned char)ch);
}

/* "eva.berg" -> "|eva.|berg" */
static char *marked(apr_pool_t *pool, const char *folded)
{
    char *text = apr_palloc(pool, strlen(folded) * 2 + 1), *to = text;
    for (const char *from = folded; *from; from++) {
        if (in_word(*from) && (from == folded || !in_word(from[-1]))) {
            *to++ = MARK;
        }
        *to++ = *from;
    }
    *to = '\0';
    return text;
}

char *ida_search_words(apr_pool_t *pool, const char *const *texts, int count)
{
    char *words = apr_pstrdup(pool, "");
    for (int i = 0; i < count; i++) {
        const char *one = texts[i] ? marked(pool, ida_fold_search(pool, texts[i])) : "";
        if (*one && !strstr(words, one)) { /* else every word of it is found already */
            words = apr_pstrcat(pool, words, *words ? " " : "", one, NULL);
        }
    }
    if (strlen(words) > IDA_SEARCH_WORDS_MAX) {
        size_t end = IDA_SEARCH_WORDS_MAX;
        while (end && (words[end] & 0xC0) == 0x80) {
            end--;
        }
        words[end] = '\0';
    }
    return words;
}

char *ida_search_word(apr_pool_t *pool, const char *word)
{
    const char *folded = ida_fold_search(pool, word);
    while (*folded && !in_word(*folded)) {
        folded++;
    }
    return *folded ? marked(pool, folded) : NULL;
}
