/* Owns the form of search keys. Must not know the store. */
#include "core/base/search_key.h"

#include <apr_strings.h>
#include <string.h>

#include "core/base/text.h"

#define MARK '|'       /* marks the start of each word; not part of a word */
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
    return (unsigned char)ch >= 0x80 || (ch >= '0' && ch <= '9') ||
           ((ch | 0x20) >= 'a' && (ch | 0x20) <= 'z');
}

/* "eva.berg" -> "|eva.|berg", at most twice as long; its end. */
static char *mark(char *to, const char *folded)
{
    int inside = 0;
    for (; *folded; folded++) {
        int word = in_word(*folded);
        if (word && !inside) {
            *to++ = MARK;
        }
        inside = word;
        *to++ = *folded;
    }
    *to = '\0';
    return to;
}

char *ida_search_words(apr_pool_t *pool, const char *const *texts, int count)
{
    const char **folded = apr_palloc(pool, (apr_size_t)(count + 1) * sizeof *folded);
    size_t room = 1;
    for (int i = 0; i < count; i++) {
        /* The mail address mostly is the UPN. */
        int again = i && texts[i] && texts[i - 1] && strcmp(texts[i], texts[i - 1]) == 0;
        folded[i] = texts[i] && !again ? ida_fold_search(pool, texts[i]) : "";
        room += 2 * strlen(folded[i]) + 1;
    }
    char *words = apr_palloc(pool, room),
         *end = words; /* each text after a space, which the first one loses */
    for (int i = 0; i < count; i++) {
        char *one = end + 1, *one_end = *folded[i] ? mark(one, folded[i]) : one;
        *end = '\0';
        if (one_end > one && !strstr(words, one)) { /* otherwise each of its words is found
                                                       already */
            *end = ' ';
            end = one_end;
        }
    }
    *end = '\0';
    words += end > words;
    if (strlen(words) > IDA_SEARCH_WORDS_MAX) {
        size_t cut = IDA_SEARCH_WORDS_MAX;
        while (cut && (words[cut] & 0xC0) == 0x80) {
            cut--;
        }
        words[cut] = '\0';
    }
    return words;
}

char *ida_search_word(apr_pool_t *pool, const char *word)
{
    const char *folded = ida_fold_search(pool, word);
    while (*folded && !in_word(*folded)) {
        folded++;
    }
    char *marked = *folded ? apr_palloc(pool, 2 * strlen(folded) + 1) : NULL;
    if (marked) {
        mark(marked, folded);
    }
    return marked;
}

size_t ida_search_beginning(const char *word, size_t len, int letters)
{
    size_t end = 0;
    for (; end < len && letters > 0; letters--) {
        do {
            end++;
        } while (end < len && (word[end] & 0xC0) == 0x80);
    }
    return end;
}
