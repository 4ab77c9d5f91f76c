/* Keys, names and secrets: formats at their limits. */
#include "core/tenant/credentials.h"

#include "core/audit/audit.h"
#include "core/base/text.h"

#include "t/unit/setup.h"

static void names(void)
{
    char name[67];
    memset(name, 'a', sizeof name);
    name[64] = '\0';
    ok(ida_name_valid(name), "64 characters");
    name[64] = 'a';
    name[65] = '\0';
    ok(!ida_name_valid(name), "65 characters");
    ok(ida_name_valid("A-Z.a_z09") && ida_name_valid("."), "the allowed characters");
    static const char *const bad[] = {"", "a b", "a:b", "a/b", "\xC3\xA5", "a\n", "a@b", "a'"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!ida_name_valid(bad[i]), "no name (%d)", (int)i);
    }
    ok(!ida_name_valid(NULL), "NULL is no name");
}

static void keys(void)
{
    char *key = ida_key_make(pool, &env), *other = ida_key_make(pool, &env);
    ok(strlen(key) == 40 && strncmp(key, "ida_", 4) == 0, "a key is ida_ and 36 characters");
    ok(strcmp(key, other) != 0, "two keys differ");
    ok(ida_key_well_formed(key) && ida_key_well_formed(other), "both are well formed");
    int caught = 1;
    for (size_t i = 0; i < 40; i++) {
        char *typo = apr_pstrdup(pool, key);
        typo[i] = typo[i] == 'x' ? 'y' : 'x';
        caught = caught && !ida_key_well_formed(typo);
    }
    ok(caught, "every single mistyped character is caught");
    caught = 1;
    for (size_t i = 4; i < 39; i++) {
        char *typo = apr_pstrdup(pool, key);
        typo[i] = key[i + 1];
        typo[i + 1] = key[i];
        caught = caught && (key[i] == key[i + 1] || !ida_key_well_formed(typo));
    }
    ok(caught, "every swapped pair is caught");
    ok(!ida_key_well_formed(NULL) && !ida_key_well_formed("") && !ida_key_well_formed("ida_"),
       "short texts");
    ok(!ida_key_well_formed(apr_pstrcat(pool, key, "a", NULL)), "one character more");
    ok(!ida_key_well_formed(apr_pstrndup(pool, key, 39)), "one character less");
    test_random_fill = 0xFF;
    is_str(ida_key_make(pool, &env), ida_key_make(pool, &env),
           "the key follows from the randomness alone");
    test_random_fill = 0;
    char hash[65], again[65];
    ida_key_hash("abc", hash);
    is_str(hash, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
           "the hash is SHA-256 in hex");
    ida_key_hash(key, again);
    ok(ida_key_hash_equal(hash, hash) && !ida_key_hash_equal(hash, again), "hashes compare");
    ok(!ida_key_hash_equal(hash, NULL), "an unknown user has no hash");
    ok(!ida_key_hash_equal(hash, "") && !ida_key_hash_equal("", NULL) &&
           !ida_key_hash_equal(hash, "ba78"),
       "nor has a damaged row");
}

static void masks(void)
{
    const char *key = ida_key_make(pool, &env), *other = ida_key_make(pool, &env),
               *stars = "ida_************************************";
    char *text = apr_pstrcat(pool, "of ida_berg, ", key, ",", other, "x and ida_", NULL);
    ok(ida_key_mask(text), "keys in a text are found");
    is_str(text, apr_pstrcat(pool, "of ida_berg, ", stars, ",", stars, "x and ida_", NULL),
           "and masked, names that begin alike are left");
    char *typo = apr_pstrdup(pool, key);
    typo[20] = typo[20] == 'x' ? 'y' : 'x';
    ok(!ida_key_mask(typo) && !ida_key_mask(apr_pstrndup(pool, key, 39)) && !ida_key_mask(NULL),
       "what is no key is left");
    char *twice = apr_pstrcat(pool, "ida_ida_", key, NULL);
    ida_key_mask(twice);
    is_str(twice, apr_pstrcat(pool, "ida_ida_", stars, NULL), "a prefix before one hides nothing");
    ok(ida_key_masked(pool, "ida") && !ida_key_masked(pool, NULL), "nothing to mask");
    const char *hex = ida_hex(pool, (const unsigned char *)key, strlen(key));
    char *encoded = apr_pstrdup(pool, "");
    for (const char *at = hex; *at; at += 2) {
        encoded = apr_pstrcat(pool, encoded, "%", apr_pstrndup(pool, at, 2), NULL);
    }
    char *line = apr_pstrcat(pool, "GET /?id%3D", encoded, "&a=ida%5F", key + 4, "&b=%69da_",
                             key + 4, "&c=%2 %", NULL);
    size_t len = strlen(line);
    ok(ida_key_mask(line) && strlen(line) == len && !strstr(line, key + 4) &&
           !strstr(line, encoded + 12) && strstr(line, "***&c=%2 %"),
       "also with percent-encoded characters, and the length stays: %s", line);
    ok(!ida_key_well_formed(encoded) &&
           !ida_key_well_formed(apr_pstrcat(pool, "ida%5F", key + 4, NULL)),
       "which are no keys to come in with");
    char dots[61];
    const char *left = NULL;
    for (size_t before = sizeof dots - IDA_KEY_LEN; before < sizeof dots; before++) {
        memset(dots, '.', sizeof dots);
        dots[before] = '\0';
        const char *cut = ida_clean(pool, apr_pstrcat(pool, dots, key, " tail", NULL),
                                    before + IDA_KEY_LEN + 5, 64);
        left = strstr(cut, apr_pstrndup(pool, key + 4, 3)) ? cut : left;
    }
    is_str(left, NULL, "a cut leaves no half of a key");
    const audit_record record = {
        .rid = "r",
        .tenant = "t",
        .at = 1,
        .category = "api",
        .actor = key,
        .label = key,
        .action = key,
        .target = key,
        .endpoint = key,
        .parameters = apr_pstrcat(pool, "{\"query\":\"", key, "\"}", NULL),
        .outcome = "ok",
        .detail = apr_pstrcat(pool,
                              apr_pstrmemdup(pool, memset(apr_palloc(pool, 5000), 'a', 5000), 5000),
                              key, NULL)};
    for (size_t max = 0; max <= 4000; max += 4000) {
        char *json = audit_encode(pool, &record, max);
        ok(json && !strstr(json, apr_pstrndup(pool, key + 4, 8)),
           "no member of an audit record holds one, cut at %d", (int)max);
    }
}

static void secrets(void)
{
    char *company, *user, *key;
    ok(ida_secret_split(pool, "contoso:hr:ida_x", &company, &user, &key),
       "a secret of three parts");
    is_str(company, "contoso", "company");
    is_str(user, "hr", "username");
    is_str(key, "ida_x", "key");
    static const char *const bad[] = {"",
                                      "a",
                                      "a:b",
                                      "a:b:",
                                      ":b:c",
                                      "a::c",
                                      "::",
                                      "a:b:c:d",
                                      "a b:c:d",
                                      "a:b\xC3\xA5:c",
                                      "ida_abcdefghijk",
                                      ":::"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(!ida_secret_split(pool, bad[i], &company, &user, &key), "no secret (%d)", (int)i);
    }
    ok(!ida_secret_split(pool, NULL, &company, &user, &key), "NULL is no secret");
}

int main(void)
{
    setup();
    names();
    keys();
    masks();
    secrets();
    return done();
}
