/* Unicode text: validity, folding, cleaning, length; and the small encodings (hex, base62,
 * strict base64). Every function accepts any bytes and returns valid UTF-8 or a refusal. */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include <apr_pools.h>
#include <stddef.h>
#include <stdint.h>

/* 1 when the bytes are well-formed UTF-8 (RFC 3629: no surrogates, no overlongs) without NUL. */
int ida_utf8_valid(const char *bytes, size_t len);

/* Number of UTF-16 code units, the unit in which Graph and AD state their limits. Text must be
 * valid UTF-8. */
size_t ida_utf16_length(const char *text);

/* Key under which UPNs, mail and proxy addresses are compared: NFKC, case folded. Result in pool.
 * Invalid UTF-8: folded byte-wise for ASCII letters only, so that hostile directory data still gets
 * a stable key. */
char *ida_fold_address(apr_pool_t *pool, const char *text);

/* Key under which other values are compared as directories compare texts: as above, runs of blanks
 * one space, trimmed. */
char *ida_fold_value(apr_pool_t *pool, const char *text);

/* Key for search and order: case and accents folded ("Åsa Öberg" -> "asa oberg"), runs of blanks
 * one space, trimmed. */
char *ida_fold_search(apr_pool_t *pool, const char *text);

/* Trimmed copy (Unicode white space); NULL when text is NULL, empty or blank: "absent" of the
 * payload rules. */
char *ida_present(apr_pool_t *pool, const char *text);

/* 1 if the text contains U+FFFD, which another program inserted for a character that it could
 * not read: the original is unknown. */
int ida_encoding_lost(const char *text);
#define IDA_ENCODING_LOST_RULE \
    "holds U+FFFD, the sign for an unreadable character: the sender's encoding was lost"

/* The text without bidi-control, zero-width and other invisible characters, which would make it
 * another one than people see; joiners stay where they form letters. The text itself if it has
 * none. */
const char *ida_seen(apr_pool_t *pool, const char *text);

/* Makes directory text safe for people and assistants: removes control characters and what ida_seen
 * removes, turns tabs and line ends into spaces, replaces invalid UTF-8
 * by U+FFFD, and cuts at `max` bytes on a character boundary (0 = no cut). A cut text ends in
 * "…"; an API key at the cut is masked, because half a key would not be recognised as one. NULL
 * stays NULL. */
char *ida_clean(apr_pool_t *pool, const char *text, size_t len, size_t max);
/* 1: visible ASCII alone, of which nothing is taken but what is beyond a limit. */
int ida_is_plain(const char *text, size_t len);

/* Any-Latin; Latin-ASCII, lower-cased: the result is ASCII only where a transliteration is
 * known. */
char *ida_transliterate(apr_pool_t *pool, const char *text);

/* 1 when the tag is well-formed BCP 47 (RFC 5646), e.g. "sv-SE". */
int ida_language_tag_valid(const char *tag);

/* 1 when the two letters are an assigned ISO 3166-1 alpha-2 code (any case). */
int ida_country_code_valid(const char *code);

/* "1 task", "2 tasks": a number and its noun. */
const char *ida_count(apr_pool_t *pool, int64_t number, const char *one, const char *many);

/* A copy with the letters of ASCII made small, others as they are. NULL for NULL. */
char *ida_ascii_small(apr_pool_t *pool, const char *text);

/* The number in decimal digits, without an end; returns where it ended. At most IDA_DIGITS_MAX
 * bytes. A formatter's way to a number costs as much as the rest of a record. */
#define IDA_DIGITS_MAX 20
char *ida_digits(char *to, int64_t number);

char *ida_hex(apr_pool_t *pool, const unsigned char *bytes, size_t len); /* lower case */
int ida_hex_digit(char ch); /* its value; -1 when it is none */
/* Writes the two digits of a byte, in capitals; returns the end. */
char *ida_hex_byte(char *to, unsigned char byte);
/* Percent-encodes (RFC 3986) all but unreserved characters and those of `kept`. The second one
 * encodes one character, as at most three bytes, and returns the end. */
char *ida_percent(apr_pool_t *pool, const char *text, const char *kept);
char *ida_percent_byte(char *to, char ch, const char *kept);
/* Bytes of a hex text, *len set; NULL when it is not hex. */
unsigned char *ida_unhex(apr_pool_t *pool, const char *hex, size_t *len);

/* `digits` base62 characters (0-9A-Za-z) of the big-endian number in bytes, most significant first,
 * zero padded; of a larger number the lowest digits. */
char *ida_base62(apr_pool_t *pool, const unsigned char *bytes, size_t len, size_t digits);

/* 1: C0 and C1 control characters, DEL and Unicode's own line ends (U+2028, U+2029); with `lines`
 * line ends and tabs pass, where an address may have several lines. */
int ida_has_control(const char *text, int lines);

/* NULL if the text is one of the words (NULL-terminated), otherwise the rule: must be "a", "b"
 * or "c". */
const char *ida_words_rule(apr_pool_t *pool, const char *const *words, const char *text);

/* "staleAccounts" as people write names: "stale-accounts". */
char *ida_dashed(apr_pool_t *pool, const char *name);

/* Strict RFC 4648 base64: padding required, no blanks, no stray bits. NULL if malformed;
 * otherwise bytes in pool, *len set. */
unsigned char *ida_base64_decode(apr_pool_t *pool, const char *text, size_t text_len, size_t *len);
char *ida_base64_encode(apr_pool_t *pool, const unsigned char *bytes, size_t len);

/* Lower-case hex SHA-256 of the bytes (64 characters). */
char *ida_sha256_hex(apr_pool_t *pool, const void *bytes, size_t len);

/* A new sortable ID: 26 characters Crockford base32 in lower case, 48 bits of the time in ms, 80
 * random bits. Those of one thread sort in the order in which they were made, also within one
 * millisecond: audit records of one run are read in it. */
struct ida_env;
char *ida_new_id(apr_pool_t *pool, const struct ida_env *env);
/* When an ID was made, ms; -1 when it is none. */
int64_t ida_id_time(const char *id);

/* The same, but it sorts after `other` (NULL: none), which another process may have made within
 * the same millisecond, or before the clock was set back. */
char *ida_new_id_after(apr_pool_t *pool, const struct ida_env *env, const char *other);

#endif
