/* Escaping for filters and DNs, DN keys, UUIDs and times: hostile bytes in, one unambiguous
 * meaning out. */
#include <ldap.h>
#include <sys/resource.h>

#include "t/unit/setup.h"
#include "worker/ldap/wire/escape.h"

static void filters(void)
{
    is_str(ld_filter_text(pool, "plain åäö"), "plain åäö", "plain text stays");
    is_str(ld_filter_text(pool, "*)(uid=*\\"), "\\2a\\29\\28uid=\\2a\\5c",
           "filter syntax is escaped");
    is_str(ld_filter_value(pool, "a\0b", 3), "a\\00b", "NUL is escaped");
    is_str(ld_filter_text(pool, ""), "", "nothing stays nothing");
    is_str(ld_filter_text(pool, ld_dn_value(pool, "Berg, Eva")), "Berg\\5c, Eva",
           "a DN inside a filter: DN first, then filter");
    char *bytes = exact("()*\\", 4);
    is_str(ld_filter_value(pool, bytes, 4), "\\28\\29\\2a\\5c", "no byte beyond the end is read");
    free(bytes);
}

/* A value escaped into a DN must come back unchanged. */
static void dn_round_trips(void)
{
    static const char *const values[] = {
        "plain", " leading",   "trailing ",     "#hash", "a#b",       "a,b", "a+b",
        "a\"b",  "a\\b",       "a<b>",          "a;b",   "a=b",       " ",   "  ",
        "\\",    "åäö 王小明", ",+\"\\<>;= # ", "tab\t", "\nline\r\n"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char *dn = apr_pstrcat(pool, "uid=", ld_dn_value(pool, values[i]), ",ou=people,dc=x", NULL);
        is_str(ld_rdn_value(pool, dn, "UID"), values[i], "escaped into a DN and read back");
    }
    is_str(ld_rdn_value(pool, "cn=a+uid=b,dc=x", "uid"), "b", "a multi-valued RDN");
    is_str(ld_rdn_value(pool, "cn=a,uid=b", "uid"), NULL, "only the first RDN counts");
    is_str(ld_rdn_value(pool, "no dn", "uid"), NULL, "no DN, no value");
    is_str(ld_rdn_value(pool, "", "uid"), NULL, "the empty DN has none");
}

static int same(const char *a, const char *b)
{
    const char *ka = ld_dn_key(pool, a), *kb = ld_dn_key(pool, b);
    return ka && kb && strcmp(ka, kb) == 0;
}

static void keys(void)
{
    ok(same("UID=Eva.Berg, OU=People,DC=x", "uid=eva.berg,ou=people,dc=X"),
       "case of types and values, blanks between parts");
    ok(same("cn=Berg\\, Eva,dc=x", "cn=Berg\\2C Eva,dc=x"), "two ways of escaping");
    ok(same("cn=a\\;b,dc=x", "cn=a\\3Bb,dc=x"), "as servers normalise it");
    ok(same("cn=A  b ,dc=x", "cn=a b,dc=x"), "blanks inside are squeezed");
    ok(same("cn=ÅSA,dc=x", "cn=\\c3\\a5sa,dc=x"), "other alphabets and hex pairs");
    ok(same("cn=a+sn=b,dc=x", "sn=B+cn=A,dc=x"), "order inside a multi-valued RDN");
    ok(!same("cn=a,cn=b,dc=x", "cn=a\\,cn=b,dc=x"), "a comma inside a value divides nothing");
    ok(!same("cn=ab,dc=x", "cn=a,dc=x"), "different is different");
    ok(!ld_dn_key(pool, "Eva Berg") && !ld_dn_key(pool, "") && !ld_dn_key(pool, NULL) &&
           !ld_dn_key(pool, "cn=a,,dc=x"),
       "what is no DN has no key");
    ok(ld_dn_key(pool, "cn=#04024869,dc=x") != NULL, "a value in BER");
    ok(ld_dn_key(pool, "cn=\\ff\\fe,dc=x") != NULL, "bytes that are no UTF-8 still have a key");
    ok(ld_dn_key_below("uid=a,ou=people,dc=x", "ou=people,dc=x") && ld_dn_key_below("dc=x", "dc=x"),
       "below and at the base");
    ok(!ld_dn_key_below("uid=a\\,ou=people,dc=x", "ou=people,dc=x"),
       "an escaped comma is no step down");
    ok(ld_dn_key_below("uid=a\\\\,ou=people,dc=x", "ou=people,dc=x"),
       "an escaped backslash before a comma is");
    ok(!ld_dn_key_below("xdc=x", "dc=x") && !ld_dn_key_below("x", "dc=x"),
       "half a part is no part");
}

/* The longest DN that fits into a message has tens of millions of parts: the time for its key
 * must not grow with the square of that. */
static void long_names(void)
{
    static char many[20480 * 4];
    struct rusage before, after;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof many; i += 4) {
            memcpy(many + i, round ? "a=b+" : "a=b,", 4);
        }
        many[sizeof many - 1] = '\0';
        apr_pool_t *own;
        apr_pool_create(&own, pool);
        getrusage(RUSAGE_SELF, &before);
        const char *key = ld_dn_key(own, many);
        getrusage(RUSAGE_SELF, &after);
        ok(key && strlen(key) == sizeof many - 1, "a key of 20480 parts");
        ok(after.ru_maxrss - before.ru_maxrss < 128 * 1024, "in memory of their order: %ld KB",
           after.ru_maxrss - before.ru_maxrss);
        apr_pool_destroy(own);
    }
}

static void uuids_and_times(void)
{
    static const unsigned char bytes[16] = {0xfc, 0x0f, 0xef, 0x8a, 0x79, 0xe1, 0x10, 0x41,
                                            0x99, 0x6b, 0,    0x76, 0x41, 0x2a, 0x70, 0xa3};
    is_str(ld_uuid_text(pool, bytes, 16), "fc0fef8a-79e1-1041-996b-0076412a70a3",
           "a UUID's bytes as text");
    ok(!ld_uuid_text(pool, bytes, 15), "fifteen bytes are none");
    is_str(ld_uuid_canonical(pool, "FC0FEF8A-79E1-1041-996B-0076412A70A3"),
           "fc0fef8a-79e1-1041-996b-0076412a70a3", "lower case");
    ok(!ld_uuid_canonical(pool, "fc0fef8a-79e1-1041-996b-0076412a70a") &&
           !ld_uuid_canonical(pool, "*") && !ld_uuid_canonical(pool, NULL) &&
           !ld_uuid_canonical(pool, "fc0fef8a079e1-1041-996b-0076412a70a3"),
       "anything else is none");
    is_int(ld_time("20261121093000Z"), 1795253400000, "a time");
    is_int(ld_time("20261121093000.123456Z"), 1795253400123, "with a fraction");
    is_int(ld_time("20261121103000+0100"), 1795253400000, "with an offset");
    is_int(ld_time("202611210930Z"), 1795253400000, "without seconds");
    is_int(ld_time("2026112109.5Z"), 1795253400000, "half an hour");
    const char *const bad[] = {"",
                               "0",
                               "2026",
                               "20261121093000",
                               "20261321093000Z",
                               "20261121093000Zx",
                               "20261121093000.Z",
                               "2026112109300Z",
                               "abc",
                               "20261121250000Z",
                               "20261121093000+1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(ld_time(bad[i]) == 0, "no time: \"%s\"", bad[i]);
    }
    is_int(ld_time(NULL), 0, "no text, no time");
}

int main(void)
{
    setup();
    filters();
    dn_round_trips();
    keys();
    long_names();
    uuids_and_times();
    return done();
}
