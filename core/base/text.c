/* Owns text as Unicode sees it: validity, folding, cleaning, transliteration, language tags and
 * country codes. Must not know what the text means; encodings of bytes are core/base/codec.c's. */
#include "core/base/text.h"

#include <apr_strings.h>
#include <ctype.h>
#include <pthread.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/uloc.h>
#include <unicode/unorm2.h>
#include <unicode/uscript.h>
#include <unicode/ustring.h>
#include <unicode/utf8.h>
#include <unicode/utrans.h>

#include "core/base/key.h"

/* ICU counts in int32_t. The service never accepts longer text (bodies end at 6 MB). */
#define TEXT_MAX (64 * 1024 * 1024)

int ida_utf8_valid(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len;) {
        UChar32 ch;
        U8_NEXT(bytes, i, len, ch);
        if (ch <= 0) {
            return 0;
        }
    }
    return 1;
}

size_t ida_utf16_length(const char *text)
{
    size_t units = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        if ((*p & 0xC0) != 0x80) {
            units += *p >= 0xF0 ? 2 : 1;
        }
    }
    return units;
}

/* UTF-16 copy, or NULL when the text is not valid UTF-8 or too long. */
static UChar *to_utf16(apr_pool_t *pool, const char *text, int32_t *len)
{
    size_t bytes = strlen(text);
    if (bytes > TEXT_MAX || !ida_utf8_valid(text, bytes)) {
        return NULL;
    }
    UErrorCode status = U_ZERO_ERROR;
    UChar *out = apr_palloc(pool, (bytes + 1) * sizeof *out);
    u_strFromUTF8(out, (int32_t)bytes + 1, len, text, (int32_t)bytes, &status);
    return U_SUCCESS(status) ? out : NULL;
}

static char *to_utf8(apr_pool_t *pool, const UChar *text, int32_t len)
{
    UErrorCode status = U_ZERO_ERROR;
    int32_t room = len * 3 + 1, got = 0;
    char *out = apr_palloc(pool, (apr_size_t)room);
    u_strToUTF8WithSub(out, room, &got, text, len, 0xFFFD, NULL, &status);
    out[got] = '\0';
    return out;
}

/* Normalised copy in pool, or NULL on failure of ICU (out of memory, missing data). */
static UChar *normalize(apr_pool_t *pool, const UNormalizer2 *form, const UChar *text, int32_t len,
                        int32_t *out_len)
{
    for (int32_t room = len + len / 2 + 16;;) {
        UErrorCode status = U_ZERO_ERROR;
        UChar *out = apr_palloc(pool, (apr_size_t)room * sizeof *out);
        *out_len = unorm2_normalize(form, text, len, out, room, &status);
        if (status == U_BUFFER_OVERFLOW_ERROR) {
            room = *out_len + 1;
            continue;
        }
        return U_SUCCESS(status) ? out : NULL;
    }
}

static char lower(unsigned char ch)
{
    return (char)(ch >= 'A' && ch <= 'Z' ? ch - 'A' + 'a' : ch);
}

static char *ascii_lower(apr_pool_t *pool, const char *text)
{
    char *copy = apr_pstrdup(pool, text);
    for (char *p = copy; *p; p++) {
        *p = lower((unsigned char)*p);
    }
    return copy;
}

static int all_ascii(const char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text >= 0x80) {
            return 0;
        }
    }
    return 1;
}

char *ida_fold_address(apr_pool_t *pool, const char *text)
{
    if (all_ascii(text)) {
        return ascii_lower(pool, text); /* the same result as below, faster, because every
                                           request needs it */
    }
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *form = unorm2_getNFKCCasefoldInstance(&status);
    int32_t len, out_len;
    UChar *wide = to_utf16(pool, text, &len);
    UChar *folded = wide && U_SUCCESS(status) ? normalize(pool, form, wide, len, &out_len) : NULL;
    return folded ? to_utf8(pool, folded, out_len) : ascii_lower(pool, text);
}

char *ida_fold_value(apr_pool_t *pool, const char *text)
{
    char *folded = ida_fold_address(pool, text), *to = folded;
    for (const char *from = folded; *from; from++) {
        if (*from != ' ' || (to != folded && to[-1] != ' ')) {
            *to++ = *from;
        }
    }
    to -= to != folded && to[-1] == ' ';
    *to = '\0';
    return folded;
}

/* Letters that people type without their stroke or as two letters, but that Unicode does not
 * decompose. */
static const struct {
    UChar32 from;
    const char *to;
} undecomposed[] = {
    {0x00E6, "ae"}, {0x00F0, "d"}, {0x00F8, "o"}, {0x00FE, "th"}, {0x0111, "d"}, {0x0127, "h"},
    {0x0131, "i"},  {0x0142, "l"}, {0x014B, "n"}, {0x0153, "oe"}, {0x0167, "t"}, {0x0259, "e"},
};

static const char *without_stroke(UChar32 ch)
{
    for (size_t i = 0; i < sizeof undecomposed / sizeof *undecomposed; i++) {
        if (undecomposed[i].from == ch) {
            return undecomposed[i].to;
        }
    }
    return NULL;
}

/* Accents proper: marks shared by scripts. Vowel signs of Indic scripts are marks of their script
 * and carry meaning. */
static int is_accent(UChar32 ch)
{
    UErrorCode status = U_ZERO_ERROR;
    return u_charType(ch) == U_NON_SPACING_MARK &&
           uscript_getScript(ch, &status) == USCRIPT_INHERITED;
}

static int is_blank(UChar32 ch)
{
    return ch < 0x80 ? ch == ' ' || (ch >= '\t' && ch <= '\r')
                     : u_isUWhiteSpace(ch) || ch == 0x2800; /* a pattern of Braille without a dot */
}

static char *squeeze_blanks(char *text)
{
    char *to = text;
    int32_t i = 0, len = (int32_t)strlen(text);
    int blank = 0;
    while (i < len) {
        int32_t start = i;
        UChar32 ch;
        U8_NEXT(text, i, len, ch);
        if (is_blank(ch)) {
            blank = to != text;
            continue;
        }
        if (blank) {
            *to++ = ' ';
            blank = 0;
        }
        while (start < i) {
            *to++ = text[start++];
        }
    }
    *to = '\0';
    return text;
}

/* What ida_fold_search makes of ASCII, which nearly all names of all people are; NULL for other
 * text. */
static char *fold_ascii(apr_pool_t *pool, const char *text, size_t len)
{
    char *folded = apr_palloc(pool, len + 1), *to = folded;
    int blank = 0;
    for (; *text; text++) {
        unsigned char ch = (unsigned char)*text;
        if (ch >= 0x80) {
            return NULL;
        }
        if (ch <= ' ' && is_blank(ch)) {
            blank = to != folded;
            continue;
        }
        if (blank) {
            *to++ = ' ';
            blank = 0;
        }
        *to++ = lower(ch);
    }
    *to = '\0';
    return folded;
}

char *ida_fold_search(apr_pool_t *pool, const char *text)
{
    size_t bytes = strlen(text);
    if (bytes > TEXT_MAX) {
        return apr_pstrmemdup(pool, "", 0);
    }
    char *ascii = fold_ascii(pool, text, bytes);
    if (ascii) {
        return ascii;
    }
    UErrorCode status = U_ZERO_ERROR;
    const UNormalizer2 *fold = unorm2_getNFKCCasefoldInstance(&status);
    const UNormalizer2 *apart = unorm2_getNFDInstance(&status);
    const UNormalizer2 *together = unorm2_getNFCInstance(&status);
    int32_t len;
    UChar *wide = to_utf16(pool, text, &len);
    if (wide && U_SUCCESS(status)) {
        wide = normalize(pool, fold, wide, len, &len);
        wide = wide ? normalize(pool, apart, wide, len, &len) : NULL;
    }
    if (!wide || U_FAILURE(status)) {
        return squeeze_blanks(ascii_lower(pool, text));
    }
    UChar *bare = apr_palloc(pool, ((apr_size_t)len * 2 + 1) * sizeof *bare);
    int32_t kept = 0;
    for (int32_t i = 0; i < len;) {
        UChar32 ch;
        U16_NEXT(wide, i, len, ch);
        if (is_accent(ch)) {
            continue;
        }
        const char *plain = without_stroke(ch);
        if (plain) {
            for (; *plain; plain++) {
                bare[kept++] = (UChar)*plain;
            }
        } else {
            U16_APPEND_UNSAFE(bare, kept, ch);
        }
    }
    wide = normalize(pool, together, bare, kept, &len);
    return squeeze_blanks(wide ? to_utf8(pool, wide, len) : to_utf8(pool, bare, kept));
}

char *ida_present(apr_pool_t *pool, const char *text)
{
    int32_t len = text ? (int32_t)strlen(text) : 0, start = 0, end = len;
    UChar32 ch;
    for (int32_t at = 0; at < len; start = at) {
        U8_NEXT(text, at, len, ch);
        if (!is_blank(ch)) {
            break;
        }
    }
    for (int32_t at = len; at > start; end = at) {
        U8_PREV(text, start, at, ch);
        if (!is_blank(ch)) {
            break;
        }
    }
    return end > start ? apr_pstrmemdup(pool, text + start, (apr_size_t)(end - start)) : NULL;
}

int ida_encoding_lost(const char *text)
{
    return strstr(text, "\xEF\xBF\xBD") != NULL; /* U+FFFD in UTF-8 */
}

typedef enum treatment { KEEP, DROP, BLANK } treatment;

/* Invisible characters carry orders past a reader's eyes (bidi overrides, tag characters, variation
 * selectors); line ends forge log lines and table rows. */
static treatment treat(UChar32 ch)
{
    if (ch == '\t' || ch == '\n' || ch == '\r' || ch == 0x0B || ch == 0x0C || ch == 0x85 ||
        ch == 0x2028 || ch == 0x2029) {
        return BLANK;
    }
    if (ch < 0x7F) {
        return ch < 0x20 ? DROP : KEEP;
    }
    if (u_hasBinaryProperty(ch, UCHAR_PREPENDED_CONCATENATION_MARK)) {
        return KEEP; /* visible, though Unicode counts these as format characters */
    }
    int type = u_charType(ch);
    return type == U_CONTROL_CHAR || type == U_FORMAT_CHAR ||
                   u_hasBinaryProperty(ch, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)
               ? DROP
               : KEEP;
}

/* Most texts are nothing but visible ASCII: there is nothing to do. */
int ida_is_plain(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < 0x20 || text[i] > 0x7E) {
            return 0;
        }
    }
    return 1;
}

static int is_joiner(UChar32 ch)
{
    return ch == 0x200C || ch == 0x200D;
}

static int is_virama(UChar32 ch)
{
    return u_getCombiningClass(ch) == 9;
}

/* What stands at `at`, behind `before` (0: nothing), is not for people to see. A joiner forms the
 * letters beside it where the script joins letters or has a sign that takes a vowel away; anywhere
 * else it hides. */
static int is_unseen(UChar32 ch, UChar32 before, const char *text, size_t at, size_t len)
{
    UChar32 after = 0;
    if (!is_joiner(ch) || !before || is_joiner(before)) {
        return treat(ch) == DROP;
    }
    if (at < len) {
        U8_NEXT(text, at, len, after);
    }
    return !is_virama(before) && !(after > 0 && is_virama(after)) &&
           !(after > 0 && u_getIntPropertyValue(before, UCHAR_JOINING_TYPE) != U_JT_NON_JOINING &&
             u_getIntPropertyValue(after, UCHAR_JOINING_TYPE) != U_JT_NON_JOINING);
}

const char *ida_seen(apr_pool_t *pool, const char *text)
{
    size_t len = strlen(text), to = 0;
    UChar32 before = 0;
    if (ida_is_plain(text, len)) {
        return text;
    }
    char *out = apr_palloc(pool, len + 1);
    for (size_t at = 0, from = 0; at < len; from = at) {
        UChar32 ch;
        U8_NEXT(text, at, len, ch);
        if (ch < 0xA0 ||
            !is_unseen(ch, before, text, at, len)) { /* controls are refused elsewhere */
            memcpy(out + to, text + from, at - from);
            to += at - from;
            before = ch < 0 ? 0 : ch;
        }
    }
    out[to] = '\0';
    return to == len ? text : out;
}

char *ida_clean(apr_pool_t *pool, const char *text, size_t len, size_t max)
{
    static const char mark[] = "\xE2\x80\xA6";
    if (!text) {
        return NULL;
    }
    if ((!max || len <= max) && ida_is_plain(text, len)) {
        return apr_pstrmemdup(pool, text, len);
    }
    size_t at = 0, cut = 0; /* cut: the longest prefix that leaves room for the mark */
    size_t mark_len = max >= sizeof mark - 1 ? sizeof mark - 1 : 0;
    /* U+FFFD takes three bytes for one bad byte; with a limit no more is built beyond it than a key
     * that begins before it may have. */
    size_t room = len * 3, most = max + IDA_KEY_ENCODED_LEN;
    if (max && room > most) {
        room = most;
    }
    char *out = apr_palloc(pool, room + mark_len + 1);
    UChar32 before = 0;
    for (size_t i = 0; i < len;) {
        UChar32 ch;
        U8_NEXT(text, i, len, ch);
        if (ch >= 0 && is_unseen(ch, before, text, i, len)) {
            continue;
        }
        ch = before = ch < 0 ? 0xFFFD : treat(ch) == BLANK ? ' ' : ch;
        if (max && at + (size_t)U8_LENGTH(ch) > most) {
            break;
        }
        U8_APPEND_UNSAFE(out, at, ch);
        if (at + mark_len <= max) {
            cut = at;
        }
    }
    out[at] = '\0';
    if (max && at > max) {
        ida_key_mask(out);
        memcpy(out + cut, mark, mark_len);
        out[cut + mark_len] = '\0';
    }
    return out;
}

/* A transliterator keeps state while it works and must not be used by two threads at once;
 * creating one costs milliseconds. So there is one for each process, opened at first use and
 * kept until the process ends. */
static pthread_mutex_t latin_lock = PTHREAD_MUTEX_INITIALIZER;
static UTransliterator *latin;

static int32_t to_latin(UChar *text, int32_t len, int32_t room, UErrorCode *status)
{
    pthread_mutex_lock(&latin_lock);
    if (!latin) {
        static const char rules[] = "Any-Latin; Latin-ASCII; Lower";
        UChar id[sizeof rules];
        u_charsToUChars(rules, id, sizeof rules);
        latin = utrans_openU(id, -1, UTRANS_FORWARD, NULL, 0, NULL, status);
    }
    if (U_SUCCESS(*status)) {
        int32_t limit = len;
        utrans_transUChars(latin, text, &len, room, 0, &limit, status);
    }
    pthread_mutex_unlock(&latin_lock);
    return len;
}

char *ida_transliterate(apr_pool_t *pool, const char *text)
{
    if (all_ascii(text)) {
        return ascii_lower(pool, text);
    }
    int32_t len;
    const UChar *wide = to_utf16(pool, text, &len);
    if (!wide) {
        return ascii_lower(pool, text);
    }
    for (int32_t room = len * 4 + 64;;) {
        UErrorCode status = U_ZERO_ERROR;
        UChar *work = apr_palloc(pool, (apr_size_t)room * sizeof *work);
        memcpy(work, wide, (size_t)len * sizeof *work);
        int32_t got = to_latin(work, len, room, &status);
        if (status == U_BUFFER_OVERFLOW_ERROR && room <= TEXT_MAX) {
            room *= 4;
            continue;
        }
        return U_SUCCESS(status) ? to_utf8(pool, work, got) : ascii_lower(pool, text);
    }
}

int ida_language_tag_valid(const char *tag)
{
    size_t len = strlen(tag);
    if (len == 0 || len > 128) {
        return 0;
    }
    for (const char *p = tag; *p; p++) {
        int letter = (*p | 0x20) >= 'a' && (*p | 0x20) <= 'z';
        if (!letter && (*p < '0' || *p > '9') && *p != '-') {
            return 0; /* ICU also takes "en_US" and keywords of its own */
        }
    }
    UErrorCode status = U_ZERO_ERROR;
    char locale[512];
    int32_t parsed = 0;
    uloc_forLanguageTag(tag, locale, sizeof locale, &parsed, &status);
    return U_SUCCESS(status) && status != U_STRING_NOT_TERMINATED_WARNING && parsed == (int32_t)len;
}

/* ISO 3166-1 alpha-2, officially assigned elements, in order. */
static const char countries[] =
    "ADAEAFAGAIALAMAOAQARASATAUAWAXAZBABBBDBEBFBGBHBIBJBLBMBNBOBQBRBSBTBVBWBYBZCACCCDCFCGCHCICKCLCM"
    "CNCOCRCUCVCWCXCYCZDEDJDKDMDODZECEEEGEHERESETFIFJFKFMFOFRGAGBGDGEGFGGGHGIGLGMGNGPGQGRGSGTGUGWGY"
    "HKHMHNHRHTHUIDIEILIMINIOIQIRISITJEJMJOJPKEKGKHKIKMKNKPKRKWKYKZLALBLCLILKLRLSLTLULVLYMAMCMDMEMF"
    "MGMHMKMLMMMNMOMPMQMRMSMTMUMVMWMXMYMZNANCNENFNGNINLNONPNRNUNZOMPAPEPFPGPHPKPLPMPNPRPSPTPWPYQARE"
    "RORSRURWSASBSCSDSESGSHSISJSKSLSMSNSOSRSSSTSVSXSYSZTCTDTFTGTHTJTKTLTMTNTOTRTTTVTWTZUAUGUMUSUYUZ"
    "VAVCVEVGVIVNVUWFWSYEYTZAZMZW";

int ida_country_code_valid(const char *code)
{
    if (strlen(code) != 2) {
        return 0;
    }
    for (const char *p = countries; *p; p += 2) {
        if ((code[0] & ~0x20) == p[0] && (code[1] & ~0x20) == p[1] && (code[0] & 0x40) &&
            (code[1] & 0x40)) {
            return 1;
        }
    }
    return 0;
}

int ida_has_control(const char *text, int lines)
{
    if (!lines && (strstr(text, "\xE2\x80\xA8") || strstr(text, "\xE2\x80\xA9"))) {
        return 1;
    }
    for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
        int line_end = *p == '\n' || *p == '\r' || *p == '\t';
        if ((*p < 0x20 && !(lines && line_end)) || *p == 0x7F ||
            (*p == 0xC2 && p[1] >= 0x80 && p[1] < 0xA0)) {
            return 1;
        }
    }
    return 0;
}

char *ida_dashed(apr_pool_t *pool, const char *name)
{
    char *out = apr_palloc(pool, 2 * strlen(name) + 1), *to = out;
    for (; *name; name++) {
        if (isupper((unsigned char)*name)) {
            *to++ = '-';
        }
        *to++ = (char)tolower((unsigned char)*name);
    }
    *to = '\0';
    return out;
}

const char *ida_words_rule(apr_pool_t *pool, const char *const *words, const char *text)
{
    const char *rule = "must be";
    for (int i = 0; words[i]; i++) {
        if (strcmp(words[i], text) == 0) {
            return NULL;
        }
        rule = apr_pstrcat(pool, rule,
                           i == 0         ? " \""
                           : words[i + 1] ? ", \""
                                          : " or \"",
                           words[i], "\"", NULL);
    }
    return rule;
}

const char *ida_count(apr_pool_t *pool, int64_t number, const char *one, const char *many)
{
    return apr_psprintf(pool, "%" PRId64 " %s", number, number == 1 ? one : many);
}
