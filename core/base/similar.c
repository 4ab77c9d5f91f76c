/* Owns what names look like, and when two of them are similar enough for one to be a misspelling of
 * the other. */
#include "core/base/similar.h"

#include <pthread.h>
#include <string.h>
#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/uspoof.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#define WORK_MAX                                                                    \
    (24 * IDA_LOOK_MAX) /* one sign becomes 18 at most, and a letter may become two \
                         */
#define EDITS_MAX 2

/* Opening one reads tables; a const one may be used by all threads. */
static const USpoofChecker *checker;
static const UNormalizer2 *folding, *composing;

static void open_checker(void)
{
    UErrorCode status = U_ZERO_ERROR;
    USpoofChecker *opened = uspoof_open(&status);
    folding = unorm2_getNFKCCasefoldInstance(&status);
    composing = unorm2_getNFKCInstance(&status);
    checker = U_SUCCESS(status) ? opened : NULL;
}

/* "rn" and "m" look alike, and so do "i", "l" and "1". */
static void append(ida_look *look, UChar letter)
{
    if (letter == 'n' && look->len && look->letters[look->len - 1] == 'r') {
        look->letters[look->len - 1] = 'm';
    } else if (look->len < IDA_LOOK_MAX) {
        look->letters[look->len++] = letter == 'i' || letter == '1' ? 'l' : letter;
    }
}

/* What the steps below make of ASCII, which all known names and nearly all given ones are. */
static int look_at_ascii(const char *name, ida_look *look)
{
    look->len = 0;
    for (; *name; name++) {
        unsigned char ch = (unsigned char)*name;
        if (ch >= 0x80) {
            return 0;
        }
        ch = ch >= 'A' && ch <= 'Z' ? ch - 'A' + 'a' : ch;
        if ((ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9')) {
            append(look, ch == '0' ? 'o' : ch);
        }
    }
    return 1;
}

/* The Latin letter of which a sign is a form, by its name in Unicode, because the tables of what
 * looks alike lack many: LATIN LETTER SMALL CAPITAL D, NEGATIVE SQUARED LATIN CAPITAL LETTER D,
 * REGIONAL INDICATOR SYMBOL LETTER D, LATIN SMALL LETTER D WITH STROKE, COPTIC CAPITAL LETTER
 * DALDA. 0: none. */
static UChar32 letter_of(UChar32 ch)
{
    char name[128];
    UErrorCode status = U_ZERO_ERROR;
    u_charName(ch, U_UNICODE_CHAR_NAME, name, sizeof name, &status);
    char *with = U_SUCCESS(status) ? strstr(name, " WITH ") : NULL;
    if (with) {
        *with = '\0';
    }
    const char *last = U_SUCCESS(status) ? strrchr(name, ' ') : NULL;
    int coptic = last && strncmp(name, "COPTIC ", 7) == 0,
        latin = last && (strstr(name, "LATIN ") || strncmp(name, "REGIONAL ", 9) == 0);
    return coptic || (latin && !last[2]) ? last[1] | 0x20 : 0;
}

/* Letters, digits and what stands for them in another form; a thousand signs that are not seen cost
 * no room. */
static int32_t seen_signs(const char *name, UChar *out)
{
    int32_t at = 0, kept = 0, len = (int32_t)strlen(name);
    while (at < len && kept < IDA_LOOK_MAX - 1) {
        UChar32 ch;
        U8_NEXT(name, at, len, ch);
        if (ch < 0 || u_hasBinaryProperty(ch, UCHAR_DEFAULT_IGNORABLE_CODE_POINT)) {
            continue;
        }
        UChar32 latin = ch < 0x80 ? 0 : letter_of(ch);
        if (latin || u_isalnum(ch) ||
            u_getIntPropertyValue(ch, UCHAR_DECOMPOSITION_TYPE) != U_DT_NONE) {
            U16_APPEND_UNSAFE(out, kept, latin ? latin : ch);
        }
    }
    return kept;
}

/* Capitals look like others than small letters do, so the skeleton is taken of both. */
void ida_look_at(const char *name, ida_look *look)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (look_at_ascii(name, look)) {
        return;
    }
    pthread_once(&once, open_checker);
    look->len = 0;
    if (!checker) {
        return;
    }
    UChar a[WORK_MAX], b[WORK_MAX];
    UErrorCode status = U_ZERO_ERROR;
    int32_t len = seen_signs(name, a);
    len = unorm2_normalize(composing, a, len, b, WORK_MAX, &status);
    len = uspoof_getSkeleton(checker, 0, b, len, a, WORK_MAX, &status);
    len = unorm2_normalize(folding, a, len, b, WORK_MAX, &status);
    len = uspoof_getSkeleton(checker, 0, b, len, a, WORK_MAX, &status);
    for (int32_t i = 0; i < len && U_SUCCESS(status);) {
        UChar32 ch;
        U16_NEXT(a, i, len, ch);
        if (u_isalnum(ch)) { /* accents stand apart by now */
            append(look, (UChar)(U_IS_BMP(ch) ? u_foldCase(ch, U_FOLD_CASE_DEFAULT) : 0xFFFD));
        }
    }
    look->len = U_SUCCESS(status) ? look->len : IDA_LOOK_MAX;
}

int ida_look_holds(const ida_look *look, const char *word)
{
    size_t len = strlen(word);
    for (size_t from = 0; from + len <= look->len; from++) {
        size_t same = 0;
        while (same < len && look->letters[from + same] == (unsigned char)word[same]) {
            same++;
        }
        if (same == len) {
            return 1;
        }
    }
    return 0;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: three rows of the table are in use; it ends where no row below can be
 * within the edits. */
static int within(const ida_look *a, const ida_look *b, int edits)
{
    int table[3][IDA_LOOK_MAX + 1], n = (int)a->len, m = (int)b->len, before = 0;
    if (n - m > edits || m - n > edits || (edits == EDITS_MAX && (n < 4 || m < 4))) {
        return 0;
    }
    for (int j = 0; j <= m; j++) {
        table[0][j] = j;
    }
    for (int i = 1; i <= n; i++) {
        int *row = table[i % 3], *up = table[(i + 2) % 3], *above = table[(i + 1) % 3];
        int best = row[0] = i;
        for (int j = 1; j <= m; j++) {
            UChar x = a->letters[i - 1], y = b->letters[j - 1];
            row[j] = least(least(up[j] + 1, row[j - 1] + 1), up[j - 1] + (x != y));
            if (i > 1 && j > 1 && x == b->letters[j - 2] && y == a->letters[i - 2]) {
                row[j] = least(row[j], above[j - 2] + 1);
            }
            best = least(best, row[j]);
        }
        if (best > edits && before > edits) {
            return 0;
        }
        before = best;
    }
    return table[n % 3][m] <= edits;
}

const char *ida_meant(const void *rows, size_t row_size, const ida_look *look, int edits)
{
    ida_look known;
    const char *name;
    if (!look->len || look->len == IDA_LOOK_MAX) {
        return NULL;
    }
    for (; (name = *(const char *const *)rows); rows = (const char *)rows + row_size) {
        ida_look_at(name, &known);
        if (within(look, &known, edits)) {
            return name;
        }
    }
    return NULL;
}

const char *ida_similar(const void *rows, size_t row_size, const char *name)
{
    ida_look look;
    ida_look_at(name, &look);
    return ida_meant(rows, row_size, &look, EDITS_MAX);
}
