/* Text and small encodings: every function against good, odd and hostile bytes. */
#include "core/base/text.h"

#include <pthread.h>

#include "core/base/correlation.h"
#include "core/base/key.h"
#include "core/base/similar.h"
#include "core/base/time.h"
#include "t/unit/setup.h"

static void validity(void)
{
    static const struct {
        const char *bytes;
        size_t len;
        int valid;
        const char *name;
    } cases[] = {
        {"", 0, 1, "empty"},
        {"abc", 3, 1, "ASCII"},
        {"a\0b", 3, 0, "NUL inside"},
        {"\xC3\xA5", 2, 1, "two bytes"},
        {"\xC3", 1, 0, "cut two bytes"},
        {"\xC0\xAF", 2, 0, "overlong slash"},
        {"\xC1\xBF", 2, 0, "overlong two bytes"},
        {"\xE0\x9F\xBF", 3, 0, "overlong three bytes"},
        {"\xE0\xA0\x80", 3, 1, "U+0800"},
        {"\xED\x9F\xBF", 3, 1, "U+D7FF"},
        {"\xED\xA0\x80", 3, 0, "surrogate"},
        {"\xEE\x80\x80", 3, 1, "U+E000"},
        {"\xF0\x8F\xBF\xBF", 4, 0, "overlong four bytes"},
        {"\xF0\x9F\x98\x80", 4, 1, "emoji"},
        {"\xF0\x9F\x98", 3, 0, "cut emoji"},
        {"\xF4\x8F\xBF\xBF", 4, 1, "U+10FFFF"},
        {"\xF4\x90\x80\x80", 4, 0, "above U+10FFFF"},
        {"\xF5\x80\x80\x80", 4, 0, "F5"},
        {"\x80", 1, 0, "lone continuation"},
        {"\xFF", 1, 0, "FF"},
        {"\xE2\x28\xA1", 3, 0, "broken second byte"},
        {"\xE2\x82\x28", 3, 0, "broken third byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *copy = exact(cases[i].bytes, cases[i].len);
        is_int(ida_utf8_valid(copy, cases[i].len), cases[i].valid, cases[i].name);
        free(copy);
    }
    is_int((int64_t)ida_utf16_length("a\xC3\xA5\xE2\x82\xAC\xF0\x9F\x98\x80"), 5,
           "UTF-16 units: an emoji counts two");
}

/* X-Request-Id and traceparent: what is no such value is as if it had not come. */
static void correlation(void)
{
    static const char trace[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    char key[IDA_KEY_LEN + 1];
    ida_ctx *c = fresh();
    snprintf(key, sizeof key, "%s", ida_key_make(pool, c->env));
    const char *const good[] = {"a", "7f3c2a1e-0d4b-4c1a-9a55-6b1de0f2a914", "Root=1-67891233/ab+=",
                                "0123456789012345678901234567890123456789012345678901234567890123"};
    const char *const bad[] = {NULL,
                               "",
                               "a b",
                               "a\tb",
                               "a\nX-Evil: 1",
                               "a\"b",
                               "a,b",
                               "<b>",
                               "\xC3\xA5",
                               "a\x7f",
                               "eva@contoso.example",
                               "${jndi:x}",
                               "a;b",
                               "a]b",
                               key,
                               "01234567890123456789012345678901234567890123456789012345678901234"};
    ida_correlation out, other;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ida_correlation_take(c->env, good[i], trace, &out);
        is_str(out.id, good[i], "accepted");
        is_str(out.trace, trace, "with its trace");
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ida_correlation_take(c->env, bad[i], NULL, &out);
        ida_correlation_take(c->env, bad[i], NULL, &other);
        ok(strlen(out.id) == 32 && strspn(out.id, "0123456789abcdef") == 32 &&
               strcmp(out.id, other.id) != 0 && !*out.trace,
           "not accepted, so another one is made: %zu", i);
        ida_correlation_take(c->env, bad[i], trace, &out);
        is_str(out.id, "4bf92f3577b34da6a3ce929d0e0e4736", "or the trace's");
    }
    static const char *const traces[][2] = {
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-what-comes",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-02",
         "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what", ""},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", ""},
        {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
        {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", ""},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", ""},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0g", ""},
        {"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
        {"0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-001", ""}};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        char *copy = exact(traces[i][0], strlen(traces[i][0]) + 1);
        ida_correlation_take(c->env, "a", copy, &out);
        is_str(out.trace, traces[i][1], traces[i][0]);
        free(copy);
    }
}

static void folding(void)
{
    is_str(ida_fold_address(pool, "Asa.OBERG@Contoso.Example"), "asa.oberg@contoso.example",
           "address: ASCII");
    is_str(ida_fold_address(pool, "\xC3\x85sa@X"), "\xC3\xA5sa@x", "address: case beyond ASCII");
    is_str(ida_fold_address(pool, "A\xCC\x8Asa@x"), "\xC3\xA5sa@x",
           "address: composed and decomposed are one");
    is_str(ida_fold_address(pool, "\xEF\xBC\xA1@x"), "a@x",
           "address: full width is the same letter");
    is_str(ida_fold_address(pool, "Stra\xC3\x9F"
                                  "e"),
           "strasse", "address: sharp s folds");
    is_str(ida_fold_address(pool, "\xFF"
                                  "A\xC3"),
           "\xFF"
           "a\xC3",
           "address: invalid bytes keep a stable key");
    is_str(ida_fold_search(pool, "\xC3\x85sa  \xC3\x96"
                                 "berg "),
           "asa oberg", "search: the header's example");
    is_str(ida_fold_search(pool, "\xC5\x81ukasz \xC5\xBB\xC3\xB3\xC5\x82\xC4\x87"), "lukasz zolc",
           "search: letters with a stroke");
    is_str(ida_fold_search(pool, "\xC4\x90\xE1\xBA\xB7ng V\xC4\x83n"), "dang van",
           "search: Vietnamese");
    is_str(ida_fold_search(pool, " \t A\xC2\xA0\xE2\x80\x83 B\n"), "a b",
           "search: any blank is one space");
    is_str(ida_fold_search(pool, "\xD0\x98\xD0\xB2\xD0\xB0\xD0\xBD"),
           "\xD0\xB8\xD0\xB2\xD0\xB0\xD0\xBD", "search: Cyrillic stays, lower");
    is_str(ida_fold_search(pool, "\xE0\xA4\x95\xE0\xA5\x81"), "\xE0\xA4\x95\xE0\xA5\x81",
           "search: Indic vowel signs stay");
    is_str(ida_fold_search(pool, "\xED\x95\x9C"), "\xED\x95\x9C",
           "search: Hangul comes back whole");
    is_str(ida_fold_search(pool, "\xFF  B"), "\xFF b", "search: invalid bytes survive");
    is_str(ida_fold_search(pool, ""), "", "search: empty");
    is_str(ida_present(pool, NULL), NULL, "present: NULL");
    is_str(ida_present(pool, ""), NULL, "present: empty");
    is_str(ida_present(pool, " \t\xC2\xA0\xE3\x80\x80"), NULL, "present: Unicode blanks");
    is_str(ida_present(pool, "\xE2\x80\x83 a b\xC2\xA0"), "a b", "present: trimmed on both sides");
    is_str(ida_present(pool, "\xFF"), "\xFF", "present: an invalid byte is no blank");
}

static void cleaning(void)
{
    is_str(ida_clean(pool, NULL, 0, 0), NULL, "clean: NULL");
    is_str(ida_clean(pool,
                     "a\x1B[31m\x07"
                     "b",
                     8, 0),
           "a[31mb", "clean: control characters go");
    is_str(ida_clean(pool,
                     "a\nb\tc\xE2\x80\xA8"
                     "d",
                     9, 0),
           "a b c d", "clean: line ends and tabs are a space");
    is_str(ida_clean(pool,
                     "a\xE2\x80\xAE"
                     "b\xE2\x81\xA6\xE2\x80\x8B\xEF\xBB\xBF"
                     "c",
                     15, 0),
           "abc", "clean: bidi and zero width go");
    is_str(ida_clean(pool, "x\xF3\xA0\x81\x81y", 6, 0), "xy", "clean: tag characters go");
    is_str(ida_clean(pool, "a\xC3(\xFF", 4, 0), "a\xEF\xBF\xBD(\xEF\xBF\xBD",
           "clean: invalid bytes are replaced");
    is_str(ida_clean(pool, "a\0b", 3, 0), "ab", "clean: NUL goes");
    is_str(ida_clean(pool, "abcdef", 6, 6), "abcdef", "clean: exactly the limit");
    is_str(ida_clean(pool, "abcdefg", 7, 6), "abc\xE2\x80\xA6",
           "clean: one beyond is cut with a mark");
    is_str(ida_clean(pool, "ab\xC3\xA5\xC3\xA5\xC3\xA5", 8, 7), "ab\xC3\xA5\xE2\x80\xA6",
           "clean: cut at a character");
    is_str(ida_clean(pool, "abc", 3, 2), "ab", "clean: no room for the mark");
    is_str(ida_clean(pool, "\xE2\x82\xAC", 3, 2), "", "clean: no room for the character");
    static const char hostile[] = "\xF0\x9F\x98\x80\xE2\x80\x8F\xFF\xC0\x00\x1B\xED\xA0\x80z";
    for (size_t len = 0; len < sizeof hostile; len++) {
        for (size_t max = 0; max < 12; max++) {
            char *copy = exact(hostile, len);
            char *got = ida_clean(pool, copy, len, max);
            if (!ida_utf8_valid(got, strlen(got)) || (max && strlen(got) > max)) {
                ok(0, "clean: hostile %d bytes cut at %d", (int)len, (int)max);
            }
            free(copy);
        }
    }
    ok(1, "clean: every cut of hostile bytes is valid UTF-8 within its limit");
}

static void latin(void)
{
    static const char *const cases[][2] = {
        {"\xC3\x85sa", "asa"},
        {"\xC5\x81ukasz", "lukasz"},
        {"\xD0\x98\xD0\xB2\xD0\xB0\xD0\xBD", "ivan"},
        {"\xE7\x8E\x8B\xE5\xB0\x8F\xE6\x98\x8E", "wang xiao ming"},
        {"\xD9\x85\xD8\xAD\xD9\x85\xD8\xAF", "mhmd"},
        {"Stra\xC3\x9F"
         "e",
         "strasse"},
        {"O'Neil", "o'neil"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_str(ida_transliterate(pool, cases[i][0]), cases[i][1], cases[i][1]);
    }
    is_str(ida_transliterate(pool, "\xFF"
                                   "A"),
           "\xFF"
           "a",
           "transliterate: invalid bytes");
}

static void unseen(void)
{
    static const char *const cases[][2] = {
        {"Sales", "Sales"},
        {"Sa\xE2\x80\x8Bles", "Sales"},
        {"\xEF\xBB\xBFSales\xE2\x80\xAE", "Sales"},
        {"\xE2\x80\x8B\xF3\xA0\x81\xA1", ""},
        {"Sa\xE2\x80\x8Cles", "Sales"}, /* a joiner that joins nothing */
        {"\xE2\x80\x8C\xD9\x85", "\xD9\x85"},
        {"\xD9\x85\xDB\x8C\xE2\x80\x8C\xD8\xB1", "\xD9\x85\xDB\x8C\xE2\x80\x8C\xD8\xB1"},
        {"\xD9\x85\xE2\x80\x8C\xE2\x80\x8C\xD8\xB1", "\xD9\x85\xE2\x80\x8C\xD8\xB1"},
        {"\xD9\x85\xE2\x80\x8D ", "\xD9\x85 "},
        {"\xE0\xA4\x95\xE0\xA5\x8D\xE2\x80\x8D\xE0\xA4\xB7", /* Devanagari: a half form */
         "\xE0\xA4\x95\xE0\xA5\x8D\xE2\x80\x8D\xE0\xA4\xB7"},
        {"a\tb\x01\xC2\x85\xE2\x80\xA8", "a\tb\x01\xC2\x85\xE2\x80\xA8"}, /* refused elsewhere */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_str(ida_seen(pool, cases[i][0]), cases[i][1], "what is seen of a text");
    }
    is_str(ida_clean(pool, cases[6][0], strlen(cases[6][0]), 0), cases[6][1],
           "and shown with its joiner");
    ok(!ida_present(pool, " \xE2\xA0\x80"), "Braille without a dot is nothing");
}

static void *latin_thread(void *bad)
{
    apr_pool_t *own;
    apr_pool_create(&own, NULL);
    for (int i = 0; i < 200; i++) {
        if (strcmp(ida_transliterate(own, "\xD0\x98\xD0\xB2\xD0\xB0\xD0\xBD"), "ivan") != 0) {
            *(int *)bad = 1;
        }
    }
    apr_pool_destroy(own);
    return NULL;
}

static void latin_threads(void)
{
    pthread_t thread[4];
    int bad[4] = {0};
    for (int i = 0; i < 4; i++) {
        pthread_create(&thread[i], NULL, latin_thread, &bad[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
    }
    ok(!bad[0] && !bad[1] && !bad[2] && !bad[3], "transliterate: four threads at once");
}

static void tags(void)
{
    static const char *const good[] = {"sv",        "sv-SE",   "zh-Hant-TW", "en-GB-oxendict",
                                       "x-private", "de-1996", "es-419",     "sr-Latn"};
    static const char *const bad[] = {
        "",      "-",       "sv-",      "-sv",       "s",    "swedishlanguage", "en_US", "sv--SE",
        "sv SE", "sv-SE\n", "\xC3\xA5", "en-US@x=y", "1234", "a-b-c-d"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ok(ida_language_tag_valid(good[i]), "language tag %s", good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!ida_language_tag_valid(bad[i]), "no language tag (%d)", (int)i);
    }
    char longest[400];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    ok(!ida_language_tag_valid(longest), "no language tag: 399 letters");
    static const char *const countries[] = {"SE", "se", "sE", "AD", "ZW", "GB"};
    static const char *const nowhere[] = {"",   "S",  "SEE", "XX",       "EU",
                                          "UK", "DS", "5E",  "\x13\x05", "E\xC5"};
    for (size_t i = 0; i < sizeof countries / sizeof *countries; i++) {
        ok(ida_country_code_valid(countries[i]), "country %s", countries[i]);
    }
    for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        ok(!ida_country_code_valid(nowhere[i]), "no country (%d)", (int)i);
    }
}

static void encodings(void)
{
    size_t len = 99;
    is_str(ida_hex(pool, (const unsigned char *)"\x00\xAB\xFF", 3), "00abff", "hex");
    unsigned char *bytes = ida_unhex(pool, "00aBfF", &len);
    ok(bytes && len == 3 && memcmp(bytes, "\x00\xAB\xFF", 3) == 0, "unhex");
    ok(!ida_unhex(pool, "0", &len) && !ida_unhex(pool, "0g", &len) &&
           !ida_unhex(pool, "0\xC3", &len),
       "unhex refuses");
    ok(ida_unhex(pool, "", &len) && len == 0, "unhex of nothing is nothing");
    is_str(ida_hex(pool, (const unsigned char *)"", 0), "", "and hex, too");
    is_str(ida_percent(pool, "/a b/\xC3\xA5'~%?", "/"), "/a%20b/%C3%A5%27~%25%3F",
           "percent-encoded");
    is_str(ida_base62(pool, (const unsigned char *)"\x00\x3D", 2, 4), "000z", "base62: 61");
    is_str(ida_base62(pool, (const unsigned char *)"\x01\x00", 2, 4), "0048", "base62: 256");
    static const char *const vectors[][2] = {{"", ""},
                                             {"f", "Zg=="},
                                             {"fo", "Zm8="},
                                             {"foo", "Zm9v"},
                                             {"foob", "Zm9vYg=="},
                                             {"fooba", "Zm9vYmE="},
                                             {"foobar", "Zm9vYmFy"},
                                             {"\xFB\xFF\xBF", "+/+/"}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        size_t want = strlen(vectors[i][0]), text_len = strlen(vectors[i][1]);
        is_str(ida_base64_encode(pool, (const unsigned char *)vectors[i][0], want), vectors[i][1],
               "base64 encode");
        char *copy = exact(vectors[i][1], text_len);
        bytes = ida_base64_decode(pool, copy, text_len, &len);
        ok(bytes && len == want && memcmp(bytes, vectors[i][0], want) == 0, "base64 decode %s",
           vectors[i][1]);
        free(copy);
    }
    static const char *const bad[] = {"Zg",
                                      "Zg=",
                                      "Zh==",
                                      "Zm9=",
                                      "Zm9v ",
                                      " Zm9",
                                      "Zm\n9",
                                      "====",
                                      "Z===",
                                      "Zg==Zg==",
                                      "Zm9-",
                                      "Zm9_",
                                      "Zg=v",
                                      "Zm9vZ",
                                      ("\xC3\xA5"
                                       "aa")};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!ida_base64_decode(pool, bad[i], strlen(bad[i]), &len), "base64 refuses \"%s\"",
           i == 6 ? "Zm\\n9" : bad[i]);
    }
    is_str(ida_sha256_hex(pool, "abc", 3),
           "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "SHA-256 of abc");
}

static void times_and_ids(void)
{
    is_str(ida_utc_text(pool, 1795253400000), "2026-11-21T09:30:00Z", "UTC text");
    is_str(ida_utc_text(pool, 1795253400007), "2026-11-21T09:30:00.007Z",
           "UTC text with milliseconds");
    is_str(ida_utc_text(pool, 0), NULL, "UTC text of nothing");
    is_str(ida_utc_text(pool, -5), NULL, "UTC text before 1970");
    ok(ida_utc_text(pool, INT64_MAX) != NULL, "UTC text of the largest number does not break");
    char *first = ida_new_id(pool, &env), *second = ida_new_id(pool, &env);
    test_now_ms++;
    char *third = ida_new_id(pool, &env);
    ok(strlen(first) == 26 && strspn(first, "0123456789abcdefghjkmnpqrstvwxyz") == 26,
       "an ID has 26 Crockford characters");
    ok(strcmp(first, second) != 0, "two IDs of one millisecond differ");
    ok(strcmp(first, third) < 0 && strcmp(second, third) < 0, "IDs sort by time");
    int sorted = 1;
    for (int i = 0; i < 2000; i++) {
        char *next = ida_new_id(pool, &env);
        sorted = sorted && strcmp(third, next) < 0;
        third = next;
    }
    ok(sorted, "and within one millisecond in the order in which they were made");
    test_random_fill = 0xFF;
    test_now_ms = 1469918176385;
    is_str(ida_new_id(pool, &env), "01aryz6s41zzzzzzzzzzzzzzzz", "an ID by hand");
    test_now_ms++;
    is_str(ida_new_id_after(pool, &env, "01aryz6s40zzzzzzzzzzzzzzzz"), "01aryz6s42zzzzzzzzzzzzzzzz",
           "behind an older one: a new one");
    const char *id = ida_new_id_after(pool, &env, "01aryz6s4zabczzzzzzzzzzzzz");
    ok(strncmp(id, "01aryz6s50", 10) == 0 && strlen(id) == 26,
       "behind one that another process made later: a millisecond behind it");
    test_random_fill = 0;
}

static const char *similar(const char *known, const char *given)
{
    const struct {
        const char *name;
        int row;
    } rows[] = {{"otherwise", 1}, {known, 2}, {NULL, 3}};
    return ida_similar(rows, sizeof *rows, given);
}

static void misspellings(void)
{
    static const struct {
        const char *a, *b;
        int similar;
    } cases[] = {
        {"upnDomian", "upnDomain", 1},
        {"stroe", "store", 1},
        {"userbase", "userBase", 1},
        {"seatLimits", "seatLimit", 1},
        {"threds", "threads", 1},
        {"name", "name", 1},
        {"seatLimit", "userBase", 0},
        {"x", "id", 0},
        {"", "store", 0},
        {"abcd", "dcba", 0},
        {"abcd", "id", 0},
        {"upn\xC2\xA0"
         "Domain",
         "upnDomain", 1},
        {"\xD1\x95tore", "store", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *found = similar(cases[i].b, cases[i].a);
        ok(cases[i].similar ? found && !strcmp(found, cases[i].b) : !found, "\"%s\" and \"%s\"",
           cases[i].a, cases[i].b);
    }
    char longest[200];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    ok(!similar(longest, longest), "names beyond all bounds");
}

/* The same look; the second one through Unicode's tables. */
static int alike(const char *a, const char *b)
{
    ida_look x, y;
    ida_look_at(a, &x);
    ida_look_at(b, &y);
    return x.len == y.len && memcmp(x.letters, y.letters, x.len * sizeof *x.letters) == 0;
}

static void looks(void)
{
    for (char ch = ' '; ch < 0x7F; ch++) {
        const char name[] = {'x', ch, 'x', '\0'};
        ok(alike(name, apr_pstrcat(pool, name, "\xE2\x80\x8B", NULL)),
           "\"%s\" looks the same to both ways", name);
    }
    static const char *const dates[] = {
        "Date",
        "DATE",
        " d-a_te ",
        "date\xC2\xA0",
        "\xEF\xBB\xBF"
        "date", /* no-break space, byte order mark */
        "da\xE2\x80\x8Bte",
        "da\xE2\x80\x8Ete",
        "da\xE2\x81\xA0te", /* zero width, LRM, WJ */
        "da\xC2\xADte",
        "da\xE2\x80\x89te",
        "da\xE2\x80\x91te", /* soft, thin, hard hyphen */
        "d\xD0\xB0te",
        "d\xD0\xB0t\xD0\xB5", /* Cyrillic */
        "D\xD0\x90\xD0\xA2\xD0\x95",
        "D\xCE\x91\xCE\xA4\xCE\x95",                                        /* capitals; Greek */
        "\xEF\xBD\x84\xEF\xBD\x81\xEF\xBD\x94\xEF\xBD\x85",                 /* full width */
        "\xF0\x9D\x90\x9D\xF0\x9D\x90\x9A\xF0\x9D\x90\xAD\xF0\x9D\x90\x9E", /* bold */
        "\xE2\x93\x93\xE2\x93\x90\xE2\x93\xA3\xE2\x93\x94",                 /* circled */
        "da\xCC\x81te",
        "d\xC3\xA4t\xC3\xA9",
        "da\xEF\xB8\x8Fte", /* marks, a selector */
        "da\xF3\xA0\x81\xA1te",
        "da\xE3\x85\xA4te",
        "da\xE2\xA0\x80te", /* tag, fillers */
        "d\xE2\x80\xAE"
        "ate",
        "date\xE2\x98\x85",
        "date\x7F",
        /* Small capitals, negative squares and circles, squares, regional indicators, Coptic,
         * strokes, raised, and a mixture. */
        "\xE1\xB4\x85\xE1\xB4\x80\xE1\xB4\x9B\xE1\xB4\x87",
        "\xF0\x9F\x85\xB3\xF0\x9F\x85\xB0\xF0\x9F\x86\x83\xF0\x9F\x85\xB4",
        "\xF0\x9F\x85\x93\xF0\x9F\x85\x90\xF0\x9F\x85\xA3\xF0\x9F\x85\x94",
        "\xF0\x9F\x84\xB3\xF0\x9F\x84\xB0\xF0\x9F\x85\x83\xF0\x9F\x84\xB4",
        "\xF0\x9F\x87\xA9\xF0\x9F\x87\xA6\xF0\x9F\x87\xB9\xF0\x9F\x87\xAA",
        "\xE2\xB2\x86\xE2\xB2\x80\xE2\xB2\xA6\xE2\xB2\x88",
        "\xC4\x91\xC8\xBA\xC5\xA7\xC9\x87",
        "\xE1\xB4\xB0\xE1\xB5\x83\xE1\xB5\x97\xE1\xB5\x89",
        "\xE2\x93\x93\xC3\x85\xE1\xB4\x9B\xC7\x9D",
    };
    for (size_t i = 0; i < sizeof dates / sizeof *dates; i++) {
        ok(alike("date", dates[i]), "\"%s\" looks like date", dates[i]);
    }
    static const char *const pairs[][2] = {
        {"manager", "rnanager"},
        {"firstname", "F\xD0\x86RSTN\xCE\x91ME"}, /* a Cyrillic I */
        {"accountEnabled", "accountEnab1ed\xE2\x80\x8B"},
        {"office", "o\xEF\xAC\x83"
                   "ce"},
        {"mail", "mai\xD3\x8F"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ok(alike(pairs[i][0], pairs[i][1]), "\"%s\" looks like %s", pairs[i][1], pairs[i][0]);
    }
    ok(!alike("date", "time") && !alike("date", "da"), "others do not");
    char *unseen = "\xE2\x80\x8B";
    for (int i = 0; i < 12; i++) {
        unseen = apr_pstrcat(pool, unseen, unseen, NULL);
    }
    ok(alike("date", apr_pstrcat(pool, unseen, "date", NULL)), "whatever many are not seen");
    ida_look look;
    ida_look_at("wStartsOn", &look);
    ok(ida_look_holds(&look, "start") && !ida_look_holds(&look, "end"), "words in a name");
}

static void counts(void)
{
    is_str(ida_count(pool, 1, "task", "tasks"), "1 task", "one");
    is_str(ida_count(pool, 0, "task", "tasks"), "0 tasks", "none");
    is_str(ida_count(pool, INT64_MAX, "task", "tasks"), "9223372036854775807 tasks", "most");
}

int main(void)
{
    setup();
    validity();
    correlation();
    folding();
    cleaning();
    latin();
    unseen();
    latin_threads();
    tags();
    encodings();
    times_and_ids();
    misspellings();
    looks();
    counts();
    return done();
}
