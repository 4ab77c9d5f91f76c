/* Keys by which people are found and put in order: made when the cache is written, compared when it
 * is read. Pure functions. */
#ifndef CORE_BASE_SEARCH_KEY_H
#define CORE_BASE_SEARCH_KEY_H

#include <apr_pools.h>

/* One index entry contains a name, a department and the words of a person in addition to their
 * IDs; PostgreSQL's index rows end at 2,704 bytes. */
#define IDA_NAME_KEY_MAX 400
#define IDA_SEARCH_WORDS_MAX 1200

/* Folded (ida_fold_search), bounded: a longer one ends in a digest of the whole. NULL for NULL,
 * empty and blank. */
char *ida_name_key(apr_pool_t *pool, const char *text);

/* The words of one person (names, addresses, job...; NULL if absent), folded, with the start of
 * every word marked. Words beyond the bound are left out, so names come first. "" if there are
 * none. */
char *ida_search_words(apr_pool_t *pool, const char *const *texts, int count);

/* What ida_search_words contains for a person with a word that begins with `word` (which has no
 * blanks). NULL if it has neither letter nor digit. */
char *ida_search_word(apr_pool_t *pool, const char *word);

/* Bytes that the first `letters` letters of a word of `len` bytes of UTF-8 take: `len` if it has
 * no more letters. */
size_t ida_search_beginning(const char *word, size_t len, int letters);
/* Letters of a word's longest beginning that SQLite's index of terms holds. */
#define IDA_SEARCH_LETTERS 12

#endif
