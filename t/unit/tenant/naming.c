/* Names of people from many scripts through the formats of tenants. */
#include "core/tenant/naming.h"

#include "core/base/text.h"
#include "t/unit/setup.h"

static const char *local_of(const char *format, const char *first, const char *middle,
                            const char *sur)
{
    char *local = NULL;
    ida_ctx *c = fresh();
    ida_name_parts parts = {first, middle, sur};
    return ida_naming_local(c, format, &parts, &local)
               ? ida_printf(pool, "%d: %s", c->kind, c->message)
               : local;
}

static int address_sound(const char *address, size_t local_max)
{
    const char *at = strchr(address, '@');
    size_t local = at ? (size_t)(at - address) : strlen(address);
    return local && local <= local_max && address[0] != '.' && address[local - 1] != '.' &&
           !strstr(address, "..") &&
           strspn(address, "abcdefghijklmnopqrstuvwxyz0123456789._-") == local;
}

static void people(void)
{
    static const struct {
        const char *first, *sur, *want;
    } cases[] = {
        {"\xC3\x85sa",
         "\xC3\x96"
         "berg",
         "asa.oberg"},
        {"\xC5\x81ukasz", "\xC5\xBB\xC3\xB3\xC5\x82\xC4\x87", "lukasz.zolc"},
        {"\xC4\x90\xE1\xBA\xB7ng", "V\xC4\x83n", "dang.van"},
        {"Shaun", "O'Neil", "shaun.oneil"},
        {"Shaun", "O\xE2\x80\x99Neil", "shaun.oneil"},
        {"Shaun", "O\xCA\xBCNeil", "shaun.oneil"},
        {"Shaun", "O`Neil", "shaun.oneil"},
        {"Shaun", "O\xC2\xB4Neil", "shaun.oneil"},
        {"Jean-Luc", "Picard", "jean-luc.picard"},
        {"Jean\xE2\x80\x90Luc", "Picard", "jean-luc.picard"},
        {"Rik", "van der Berg", "rik.vanderberg"},
        {"\xD0\x98\xD0\xB2\xD0\xB0\xD0\xBD", "\xD0\x9F\xD0\xB5\xD1\x82\xD1\x80\xD0\xBE\xD0\xB2",
         "ivan.petrov"},
        {"\xD0\x98\xD0\xB3\xD0\xBE\xD1\x80\xD1\x8C",
         "\xD0\x9F\xD0\xBE\xD0\xB4\xD1\x8A\xD1\x8F\xD1\x87", "igor.podac"},
        {"\xE5\xB0\x8F\xE6\x98\x8E", "\xE7\x8E\x8B", "xiaoming.wang"},
        {"\xD9\x85\xD8\xAD\xD9\x85\xD8\xAF", "\xD8\xB9\xD9\x84\xD9\x8A", "mhmd.ly"},
        {"J\xC3\xBCrgen", "Gro\xC3\x9F", "jurgen.gross"},
        {"\xC3\x9E\xC3\xB3r", "\xC3\x86gisson", "thor.aegisson"},
        {"\xCE\x93\xCE\xB9\xCF\x8E\xCF\x81\xCE\xB3\xCE\xBF\xCF\x82", "\xCE\xA0\xCE\xB1\xCF\x80",
         "giorgos.pap"},
        {"A\xCC\x8Asa", "Berg", "asa.berg"},
        {" Anna  Maria ", "Ek", "annamaria.ek"},
        {"Sammy", "Davis Jr.", "sammy.davisjr"},
        {"\xF0\x9F\x98\x80", "Ek", "ek"},
        {"Anna", "\xF0\x9F\x98\x80", "anna"},
        {"..", "Ek", "ek"},
        {"A..B", "C", "a.b.c"},
        {"-_-", "Ek", "ek"},
        {"Anna",
         "\x01\x02"
         "Ek\xE2\x80\xAE",
         "anna.ek"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *got = local_of("{firstname}.{surname}", cases[i].first, NULL, cases[i].sur);
        is_str(got, cases[i].want, cases[i].want);
        ok(address_sound(got, 64), "is a sound local part");
    }
}

static void formats(void)
{
    is_str(local_of("{firstname:1}{surname}", "\xC3\x85sa", NULL,
                    "\xC3\x96"
                    "berg"),
           "aoberg", "first letter");
    is_str(local_of("{firstname:1}{surname:3}", "'\xD0\xA9", NULL, "O'Neil"), "sone",
           "letters of the transliteration");
    is_str(local_of("{firstname:6}", "Jean-Luc", NULL, "x"), "jeanlu",
           "hyphens do not count as letters");
    is_str(local_of("{firstname:64}", "Anna", NULL, "x"), "anna", "fewer letters than asked");
    is_str(local_of("{firstname}.{middleName}.{surname}", "A", NULL, "B"), "a.b",
           "no middle name, no double dot");
    is_str(local_of("{firstname}.{middleName:1}.{surname}", "A", "Xerxes", "B"), "a.x.b",
           "a middle name");
    is_str(local_of("{firstname}.{middleName}.{surname}", "A", "-", "B"), "a.b",
           "a middle name that is only a sign is none");
    is_str(local_of("{surname}_{firstname}-x", "A", NULL, "B"), "b_a-x",
           "other separators and literals");
    is_str(local_of("x.{firstname}", "A", NULL, "B"), "x.a", "a literal in front");
    static const char *const good[] = {"{firstname}.{surname}", "{firstname:1}{surname}",
                                       "{surname:64}", "ext-{firstname}",
                                       "{firstname}{middleName}{surname}"};
    static const char *const bad[] = {"",
                                      "x",
                                      "{middleName}",
                                      "{firstname",
                                      "firstname}",
                                      "{}",
                                      "{first}",
                                      "{firstname:}",
                                      "{firstname:0}",
                                      "{firstname:65}",
                                      "{firstname:100}",
                                      "{firstname:-1}",
                                      "{firstname:1x}",
                                      "{{firstname}}",
                                      "{Firstname}",
                                      "{firstname} {surname}",
                                      "{firstname}@{surname}",
                                      "{firstname}A",
                                      "\xC3\xA5{firstname}",
                                      "{firstname}'",
                                      "{displayName}",
                                      "{firstname}\xFF"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        is_str(ida_naming_format_fault(pool, good[i], 1), NULL, good[i]);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(ida_naming_format_fault(pool, bad[i], 1) != NULL, "format %d is refused", (int)i);
    }
    is_str(ida_naming_format_fault(pool, "{surname}, {firstname} \xC3\xA5", 0), NULL,
           "display formats take any text");
    ok(ida_naming_format_fault(pool, "{surname}\n", 0) != NULL, "but no control characters");
    char *longest = apr_pcalloc(pool, 300);
    memset(longest, 'x', 299);
    memcpy(longest, "{surname}", 9);
    ok(ida_naming_format_fault(pool, longest, 1) != NULL, "299 bytes are too many");
    longest[200] = '\0';
    ok(ida_naming_format_fault(pool, longest, 1) == NULL, "200 are not");
    longest[200] = 'x', longest[201] = '\0';
    ok(ida_naming_format_fault(pool, longest, 1) != NULL, "201 are");
}

static void refusals(void)
{
    char *local = (char *)"untouched";
    ida_ctx *c = fresh();
    ida_name_parts emoji = {"\xF0\x9F\x98\x80", NULL, "\xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD"};
    is_int(ida_naming_local(c, "{firstname}.{surname}", &emoji, &local), IDA_BAD_REQUEST,
           "emoji only");
    says(c, "names both fields", "firstname, surname", "letter or digit", NULL);
    is_str(local, NULL, "and gives no name");
    c = fresh();
    is_int(ida_naming_local(c, "user-{surname}", &emoji, &local), IDA_BAD_REQUEST,
           "a literal alone is no name");
    says(c, "names the one field", "surname: ", NULL);
    ida_name_parts broken = {"\xFF\xFE", NULL, "\xC3"};
    is_int(ida_naming_local(fresh(), "{firstname}.{surname}", &broken, &local), IDA_BAD_REQUEST,
           "invalid UTF-8");
    ida_name_parts none = {NULL, NULL, NULL};
    is_int(ida_naming_local(fresh(), "{firstname}.{surname}", &none, &local), IDA_BAD_REQUEST,
           "no names at all");
    is_int(ida_naming_local(fresh(), "{oops}", &emoji, &local), IDA_INTERNAL_ERROR,
           "a damaged format");
}

static char *many(const char *unit, int count)
{
    char *out = apr_palloc(pool, strlen(unit) * (size_t)count + 1);
    *out = '\0';
    for (int i = 0; i < count; i++) {
        memcpy(out + strlen(unit) * (size_t)i, unit, strlen(unit) + 1);
    }
    return out;
}

static void lengths(void)
{
    const char *local = local_of("{firstname}.{surname}", many("a", 40), NULL, many("b", 40));
    is_int((int64_t)strlen(local), 64, "80 letters are cut at 64");
    is_str(ida_naming_candidate(pool, local, "x.example", 1),
           apr_pstrcat(pool, local, "@x.example", NULL), "no number at first");
    char *second = ida_naming_candidate(pool, local, "x.example", 2);
    is_int((int64_t)strcspn(second, "@"), 64, "with a number still 64");
    ok(second[63] == '2' && second[62] == 'b', "the number takes the place of the last letter");
    is_str(ida_naming_candidate(pool, "anna.ek", "x.example", 12), "anna.ek12@x.example",
           "a number of two digits");
    const char *dotted = apr_pstrcat(pool, many("a", 63), ".", many("b", 40), NULL);
    is_str(local_of("{firstname}", dotted, NULL, ""), many("a", 63), "no dot is left at the cut");
    is_str(ida_naming_candidate(pool, apr_pstrcat(pool, many("a", 62), ".b", NULL), "x.example", 2),
           apr_pstrcat(pool, many("a", 62), "2@x.example", NULL), "nor before the number");
    for (int domain_len = 40; domain_len <= 100; domain_len += 3) {
        for (int n = 1; n <= 100000; n *= 10) {
            char *got = ida_naming_candidate(pool, many("ab.", 21), many("d", domain_len),
                                             n + (n > 1));
            if (!address_sound(got, 64) || strlen(got) > 113) {
                ok(0, "domain of %d, candidate %d: %s", domain_len, n, got);
            }
        }
    }
    ok(1, "addresses of long domains stay within 113");
    is_int((int64_t)strlen(ida_naming_candidate(pool, many("a", 64), many("d", 48), 1)), 113,
           "64 + @ + 48 is exactly 113");
    is_int((int64_t)strlen(ida_naming_candidate(pool, many("a", 64), many("d", 49), 1)), 113,
           "a longer domain cuts the local part");
    const char *huge = many("\xE7\x8E\x8B", 100000);
    ok(address_sound(local_of("{firstname}", huge, NULL, ""), 64), "300 KB of Chinese is cut");
}

static const char *display_of(const char *format, const char *first, const char *middle,
                              const char *sur)
{
    ida_name_parts parts = {first, middle, sur};
    return ida_naming_display(pool, format, &parts);
}

static void display(void)
{
    is_str(display_of("{firstname} {surname}", "\xC3\x85sa", NULL, "O'Neil"), "\xC3\x85sa O'Neil",
           "kept as written");
    is_str(display_of("{firstname} {middleName} {surname}", "A", NULL, "B"), "A B",
           "an absent middle name leaves one blank");
    is_str(display_of("{surname}, {firstname}", " A  B ", NULL,
                      "C\xC2\xA0\xE3\x80\x80"
                      "D"),
           "C D, A B", "runs of blanks are one");
    is_str(display_of("{firstname:1}. {surname}", "\xE7\x8E\x8B\xE5\xB0\x8F", NULL, "B"),
           "\xE7\x8E\x8B. B", "first letter of another script");
    is_str(display_of("{firstname:1}. {surname}", "A\xCC\x8Asa", NULL, "B"), "A\xCC\x8A. B",
           "a letter keeps its marks");
    is_str(display_of("{firstname} {surname}", "A\xE2\x80\xAE\x07", NULL, "B\nC"), "A B C",
           "control characters go");
    const char *letters = display_of("{firstname} {surname}", many("\xC3\xA5", 255), NULL, "bcd");
    is_int((int64_t)ida_utf16_length(letters), 255, "cut without a blank at the end");
    letters = display_of("{firstname} {surname}", many("\xC3\xA5", 254), NULL, "bcd");
    is_int((int64_t)ida_utf16_length(letters), 256, "256 units");
    letters = display_of("{firstname}", many("\xF0\x9F\x98\x80", 200), NULL, "");
    is_int((int64_t)ida_utf16_length(letters), 256, "emoji count two units");
    letters = display_of("a{firstname}", many("\xF0\x9F\x98\x80", 200), NULL, "");
    ok(ida_utf16_length(letters) == 255 && ida_utf8_valid(letters, strlen(letters)),
       "and are never halved");
    ok(ida_utf8_valid(display_of("{firstname}", "\xFF\xC3", NULL, ""), 6),
       "invalid bytes become valid text");
}

int main(void)
{
    setup();
    people();
    formats();
    refusals();
    lengths();
    display();
    return done();
}
