/* The cloud connector's pure rules: addresses, classes of answers, waiting times, pacing, the
 * client assertion. */
#include <apr_time.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include "core/base/json.h"
#include "core/base/text.h"
#include "t/unit/setup.h"
#include "worker/graph/client.h"
#include "worker/graph/error.h"
#include "worker/graph/url.h"

static graph g;

static void addresses(void)
{
    graph_address a;
    is_str(graph_url(&g, pool, "/users/%s/manager/$ref", "a b/c?d#e%f"),
           "https://graph.example/v1.0/users/a%20b%2Fc%3Fd%23e%25f/manager/$ref",
           "a segment cannot leave its place");
    is_str(graph_user_url(&g, pool, "guest_x.example#EXT#@contoso.example", "?$select=id"),
           "https://graph.example/v1.0/users/guest_x.example%23EXT%23@contoso.example?$select=id",
           "a guest's UPN");
    is_str(graph_user_url(&g, pool, "$o'neil@contoso.example", ""),
           "https://graph.example/v1.0/users('%24o%27%27neil@contoso.example')",
           "a UPN that begins with a dollar sign is put in the function form");
    is_str(graph_filter_value(pool, "O'Neil & Å"), "O%27%27Neil%20%26%20%C3%85",
           "a value of $filter");
    is_str(
        graph_member_ref_url(&g, pool, "11111111-2222-3333-4444-555555555555", "a-b"),
        "https://graph.example/v1.0/groups/11111111-2222-3333-4444-555555555555/members/a-b/$ref",
        "the removal of a member");
    static const char *const odd[] = {
        "",     "a/b",
        "..",   ".",
        "a?b",  "a b",
        "a%2e", "0123456789012345678901234567890123456789012345678901234567890123456789"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        ok(!graph_member_ref_url(&g, pool, "a", odd[i]) &&
               !graph_member_ref_url(&g, pool, odd[i], "a"),
           "no address from \"%s\"", odd[i]);
    }
    static const struct {
        const char *url;
        int ours;
    } links[] = {
        {"https://graph.example/v1.0/users?$skiptoken=x", 1},
        {"https://GRAPH.example:443/beta", 1},
        {"http://graph.example/v1.0/users", 0},
        {"https://graph.example:8443/v1.0/users", 0},
        {"https://graph.example.evil.example/v1.0", 0},
        {"https://graph.example@evil.example/v1.0", 0},
        {"https://evil.example/#@graph.example/", 0},
        {"https://evil.example\\@graph.example/", 0},
        {"https://user@graph.example/v1.0", 0},
        {"//graph.example/v1.0", 0},
        {"ftp://graph.example/", 0},
        {"/v1.0/users", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
        ok(graph_url_ours(&g, links[i].url) == links[i].ours, "%s is %sours", links[i].url,
           links[i].ours ? "" : "not ");
    }
    ok(graph_url_parse("http://127.0.0.1:80/x", pool, &a) && a.loopback && !a.secure &&
           strcmp(a.shown, "http://127.0.0.1") == 0,
       "loopback is known");
    ok(graph_url_parse("http://127.0.0.1.evil.example/", pool, &a) && !a.loopback,
       "a name that begins like loopback is not");
    ok(graph_url_deletes_safely("https://x/v1.0/users/1") &&
           !graph_url_deletes_safely("https://x/v1.0/groups/1/members/2") &&
           graph_url_deletes_safely("https://x/v1.0/groups/1/members/2/$ref") &&
           !graph_url_deletes_safely("https://x/v1.0/groups/1/members/2?x=/$ref"),
       "a DELETE below a group needs $ref");
    is_str(graph_token_scope(&g, pool), "https://graph.example/.default",
           "the scope is of the API's host");
}

static const struct {
    graph_effect effect;
    int status;
    const char *code, *detail, *target;
    directory_class class;
    const char *field;
} answers[] = {
    {GRAPH_READ, 200, "", "", "", DIRECTORY_OK, NULL},
    {GRAPH_WRITE, 204, "", "", "", DIRECTORY_OK, NULL},
    {GRAPH_READ, 302, "", "", "", DIRECTORY_CONFIG, NULL},
    {GRAPH_WRITE, 400, "Request_BadRequest", "ObjectConflict", "userPrincipalName",
     DIRECTORY_CONFLICT, "upn"},
    {GRAPH_WRITE, 400, "Request_BadRequest", "ObjectConflict", "mailNickname", DIRECTORY_CONFLICT,
     "upn"},
    {GRAPH_WRITE, 400, "Request_BadRequest", "ObjectConflict", "proxyAddresses", DIRECTORY_CONFLICT,
     "mail"},
    {GRAPH_WRITE, 409, "", "ObjectConflict", "onPremisesImmutableId", DIRECTORY_CONFLICT, NULL},
    {GRAPH_WRITE, 400, "Request_BadRequest", "", "", DIRECTORY_INVALID, NULL},
    {GRAPH_READ, 400, "syncStateNotFound", "", "", DIRECTORY_TOKEN_LOST, NULL},
    {GRAPH_READ, 400, "Directory_ExpiredPageToken", "", "", DIRECTORY_TOKEN_LOST, NULL},
    {GRAPH_READ, 410, "resyncRequired", "", "", DIRECTORY_TOKEN_LOST, NULL},
    {GRAPH_READ, 401, "InvalidAuthenticationToken", "", "", DIRECTORY_CREDENTIALS, NULL},
    {GRAPH_READ, 403, "Authorization_RequestDenied", "", "", DIRECTORY_FORBIDDEN, NULL},
    {GRAPH_WRITE, 403, "Directory_QuotaExceeded", "", "", DIRECTORY_FORBIDDEN, NULL},
    {GRAPH_WRITE, 404, "Request_ResourceNotFound", "", "", DIRECTORY_NOT_FOUND, NULL},
    {GRAPH_WRITE, 409, "Directory_ConcurrencyViolation", "", "", DIRECTORY_TRANSIENT, NULL},
    {GRAPH_WRITE, 412, "", "", "", DIRECTORY_INVALID, NULL},
    {GRAPH_WRITE, 423, "", "", "", DIRECTORY_TRANSIENT, NULL},
    {GRAPH_READ, 429, "TooManyRequests", "", "", DIRECTORY_THROTTLED, NULL},
    {GRAPH_WRITE, 429, "", "", "", DIRECTORY_THROTTLED, NULL},
    {GRAPH_READ, 500, "", "", "", DIRECTORY_TRANSIENT, NULL},
    {GRAPH_WRITE, 500, "", "", "", DIRECTORY_UNSURE, NULL},
    {GRAPH_WRITE, 503, "ServiceUnavailable", "", "", DIRECTORY_UNSURE, NULL},
    {GRAPH_READ, 503, "", "", "", DIRECTORY_TRANSIENT, NULL},
    {GRAPH_WRITE, 509, "", "", "", DIRECTORY_UNSURE, NULL},
    {GRAPH_READ, 501, "", "", "", DIRECTORY_INVALID, NULL},
    {GRAPH_READ, 700, "", "", "", DIRECTORY_CONFIG, NULL},
};

static void classes(void)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {
        const char *field, *want = answers[i].field;
        directory_class class = graph_classify(answers[i].effect, answers[i].status,
                                               answers[i].code, answers[i].detail,
                                               answers[i].target, &field);
        ok(class == answers[i].class && (want ? field && strcmp(field, want) == 0 : !field),
           "%s %d %s %s: %s", answers[i].effect == GRAPH_WRITE ? "write" : "read",
           answers[i].status, answers[i].code, answers[i].target,
           directory_class_text(answers[i].class));
    }
    static const struct {
        int status;
        const char *error;
        int64_t number;
        directory_class class;
        const char *advice;
    } tokens[] = {
        {401, "invalid_client", 7000215, DIRECTORY_CREDENTIALS, "secret"},
        {401, "invalid_client", 7000222, DIRECTORY_CREDENTIALS, "expired"},
        {401, "invalid_client", 700024, DIRECTORY_CREDENTIALS, "clock"},
        {401, "invalid_client", 700027, DIRECTORY_CREDENTIALS, "certificate"},
        {400, "unauthorized_client", 700016, DIRECTORY_CONFIG, "clientId"},
        {400, "invalid_request", 90002, DIRECTORY_CONFIG, "directoryId"},
        {400, "invalid_scope", 0, DIRECTORY_CONFIG, "apiUrl"},
        {401, "invalid_client", 1, DIRECTORY_CREDENTIALS, "clientId"},
        {404, "", 0, DIRECTORY_CONFIG, "authorityUrl"},
        {429, "", 0, DIRECTORY_THROTTLED, NULL},
        {503, "", 0, DIRECTORY_TRANSIENT, NULL},
        {400, "temporarily_unavailable", 0, DIRECTORY_TRANSIENT, NULL},
    };
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        const char *advice, *want = tokens[i].advice;
        directory_class class = graph_token_classify(tokens[i].status, tokens[i].error,
                                                     tokens[i].number, &advice);
        ok(class == tokens[i].class && (want ? advice && strstr(advice, want) : !advice),
           "token endpoint: %d %s %lld", tokens[i].status, tokens[i].error,
           (long long)tokens[i].number);
    }
}

static void waiting_times(void)
{
    static const struct {
        const char *text, *date;
        int ms;
    } times[] = {
        {NULL, NULL, -1},
        {"0", NULL, 0},
        {"7", NULL, 7000},
        {"0.25", NULL, 250},
        {"1.0001", NULL, 1001},
        {" 12 ", NULL, 12000},
        {"7 days", NULL, -1},
        {"soon", NULL, -1},
        {"-5", NULL, -1},
        {"99999999999999999999", NULL, 24 * 3600 * 1000},
        {"Sat, 21 Nov 2026 09:30:30 GMT", NULL, 30000}, /* test clock: 09:30:00 */
        {"Sat, 21 Nov 2026 09:30:30 GMT", "Sat, 21 Nov 2026 09:30:25 GMT", 5000},
        {"Sat, 21 Nov 2020 09:30:30 GMT", NULL, 0},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        const http_answer a = {.retry_after = times[i].text, .date = times[i].date};
        is_int(http_retry_after_ms(&a, ida_now(&env)), times[i].ms,
               times[i].text ? times[i].text : "no Retry-After");
    }
}

/* A thousand tasks at once, then for ten minutes as fast as the bucket allows: no 150 s contain
 * more than 3,000 writes, and the rate stays within 10 % of that. */
static void pacing(void)
{
    static int64_t sent[20000];
    graph_throttle t;
    graph_throttle_share(1);
    graph_throttle_init(&t, 0);
    int count = 0, worst = 0;
    for (int64_t now = 0; now < 600000; now += 7) {
        for (int64_t wait; (wait = graph_bucket_take(&t.writes, now, 1, 0, 300)) >= 0;) {
            sent[count++] = now + wait;
        }
        if (now == 301000) {
            now += 40000; /* a pause fills the bucket: the burst after it counts as well */
        }
    }
    for (int i = 0, j = 0; i < count; i++) {
        while (sent[i] - sent[j] >= 150000) {
            j++;
        }
        worst = i - j + 1 > worst ? i - j + 1 : worst;
    }
    ok(worst <= 3000, "at most 3000 writes in any 150 s (%d)", worst);
    int steady = 0;
    for (int i = 0; i < count; i++) {
        steady += sent[i] >= 100000 && sent[i] < 250000;
    }
    ok(steady >= 2700 && steady <= 3000, "and at least 2700 when there is work (%d)", steady);

    graph_bucket b = {.level = 10, .rate = 10, .burst = 10};
    is_int(graph_bucket_take(&b, 0, 10, 0, 0), 0, "what is there is there at once");
    is_int(graph_bucket_take(&b, 0, 1, 0, 0), -1, "more is not, for those without patience");
    is_int(graph_bucket_take(&b, 0, 1, 0, 100), 100, "one waits for its turn");
    is_int(graph_bucket_take(&b, 0, 1, 0, 300), 200, "the next one behind it");
    is_int(graph_bucket_take(&b, 1000, 1, 5, 0), 0, "low priority leaves a reserve");
    is_int(graph_bucket_take(&b, 1000, 3, 5, 0), -1, "that it does not touch");
    is_int(graph_bucket_take(&b, 1000, 5, 0, 0), 0, "and that others have");
}

static void assertion(void)
{
    EVP_PKEY *key = EVP_RSA_gen(2048);
    X509 *certificate = X509_new();
    X509_set_pubkey(certificate, key);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -1000);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 40 * 86400);
    X509_sign(certificate, key, EVP_sha256());
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL);
    char *only_key;
    long only_key_len = BIO_get_mem_data(bio, &only_key);
    only_key = apr_pstrmemdup(pool, only_key, (apr_size_t)only_key_len);
    PEM_write_bio_X509(bio, certificate);
    char *pem, out[8192] = "x=";
    long len = BIO_get_mem_data(bio, &pem);
    is_str(graph_assertion(&env, pool, pem, (size_t)len, "app", "https://login.example/t", out,
                           sizeof out),
           NULL, "an assertion is made");
    char *header = out + 2, *claims = strchr(header, '.') + 1, *signature = strchr(claims, '.') + 1;
    size_t signed_len = (size_t)(signature - 1 - header), n;
    char *padded[3];
    char *parts[3] = {apr_pstrmemdup(pool, header, (apr_size_t)(claims - 1 - header)),
                      apr_pstrmemdup(pool, claims, (apr_size_t)(signature - 1 - claims)),
                      apr_pstrdup(pool, signature)};
    for (int i = 0; i < 3; i++) {
        for (char *c = parts[i]; *c; c++) {
            *c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
        }
        padded[i] = apr_pstrcat(pool, parts[i],
                                &"===="[strlen(parts[i]) % 4 ? strlen(parts[i]) % 4 : 4], NULL);
    }
    char *text = (char *)ida_base64_decode(pool, padded[0], strlen(padded[0]), &n);
    json_t *json = ida_json_load(pool, apr_pstrmemdup(pool, text, n));
    unsigned char digest[32];
    X509_digest(certificate, EVP_sha256(), digest, NULL);
    char *print = ida_base64_encode(pool, digest, 32);
    for (char *c = print; *c; c++) {
        *c = *c == '+' ? '-' : *c == '/' ? '_' : *c == '=' ? '\0' : *c;
    }
    is_str(ida_json_string(json, "alg"), "PS256", "its algorithm");
    is_str(ida_json_string(json, "x5t#S256"), print, "its thumbprint");
    text = (char *)ida_base64_decode(pool, padded[1], strlen(padded[1]), &n);
    json = ida_json_load(pool, apr_pstrmemdup(pool, text, n));
    is_str(ida_json_string(json, "aud"), "https://login.example/t", "its audience");
    ok(strcmp(ida_json_string(json, "iss"), "app") == 0 &&
           strcmp(ida_json_string(json, "sub"), "app") == 0,
       "issuer and subject");
    ok(strlen(ida_json_string(json, "jti")) == 36, "a GUID of its own");
    int64_t from = json_integer_value(json_object_get(json, "nbf")),
            until = json_integer_value(json_object_get(json, "exp"));
    ok(from == ida_now(&env) / 1000 && until - from >= 300 && until - from <= 600, "its times");
    unsigned char *sig = ida_base64_decode(pool, padded[2], strlen(padded[2]), &n);
    EVP_MD_CTX *check = EVP_MD_CTX_new();
    EVP_PKEY_CTX *padding;
    EVP_DigestVerifyInit(check, &padding, EVP_sha256(), NULL, key);
    EVP_PKEY_CTX_set_rsa_padding(padding, RSA_PKCS1_PSS_PADDING);
    EVP_PKEY_CTX_set_rsa_pss_saltlen(padding, 32);
    is_int(EVP_DigestVerify(check, sig, n, (unsigned char *)header, signed_len), 1,
           "the signature is PS256 with a salt of 32 bytes");
    EVP_MD_CTX_free(check);

    int64_t at = 0;
    is_str(graph_certificate_end(pem, (size_t)len, &at), NULL, "the certificate is read");
    int64_t days = (at - apr_time_now() / 1000) / 86400000;
    ok(days == 39 || days == 40, "how long it holds");
    char small[300] = "";
    ok(graph_assertion(&env, pool, pem, (size_t)len, "app", "aud", small, sizeof small) != NULL,
       "no room is no crash");
    const char *fault = graph_assertion(&env, pool, only_key, (size_t)only_key_len, "app", "aud",
                                        out, sizeof out);
    ok(fault && strstr(fault, "no certificate"), "a key alone is refused");
    fault = graph_assertion(&env, pool, "nonsense", 8, "app", "aud", out, sizeof out);
    ok(fault && strstr(fault, "no private key"), "nonsense is refused");
    BIO_free(bio);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

int main(void)
{
    setup();
    g = (graph){.env = &env,
                .pool = pool,
                .root = "https://graph.example/v1.0",
                .origin = "https://graph.example:443"};
    addresses();
    classes();
    waiting_times();
    pacing();
    assertion();
    return done();
}
