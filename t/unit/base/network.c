/* Lists of networks: what is accepted, how it is stored, which addresses are inside. */
#include "core/base/network.h"

#include "t/unit/setup.h"

static ida_kind parse(const char *text, char **networks, ida_ctx **c)
{
    *c = fresh();
    return ida_networks_parse(*c, text, networks);
}

static void accepted(void)
{
    static const struct {
        const char *given, *kept;
    } good[] = {
        {"192.0.2.7", "192.0.2.7/32"},
        {"10.0.0.0/8", "10.0.0.0/8"},
        {"0.0.0.0/0", "0.0.0.0/0"},
        {"::/0", "::/0"},
        {"2001:DB8:0:0::/32", "2001:db8::/32"},
        {"::1", "::1/128"},
        {"::ffff:192.0.2.0/120", "192.0.2.0/24"},
        {"192.0.2.128/25,2001:db8::/33,10.1.2.3", "192.0.2.128/25,2001:db8::/33,10.1.2.3/32"},
    };
    char *kept, *again;
    ida_ctx *c;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ok(parse(good[i].given, &kept, &c) == IDA_OK && strcmp(kept, good[i].kept) == 0,
           "%s is kept as %s", good[i].given, good[i].kept);
        ok(parse(kept, &again, &c) == IDA_OK && strcmp(kept, again) == 0,
           "which is the same once more");
    }
}

static void refused(void)
{
    static const char *const bad[] = {
        "",
        ",",
        "10.0.0.0/8,",
        ",10.0.0.0/8",
        "10.0.0.0/8,,::1",
        "10.0.0.0/33",
        "10.0.0/8",
        "10.0.0.0/",
        "10.0.0.0/-1",
        "10.0.0.0/8x",
        "10.0.0.0/+8",
        " 10.0.0.0/8",
        "10.0.0.0 /8",
        "::/129",
        "::1/",
        "fe80::1%eth0",
        "host.example",
        "1",
        "::ffff:10.0.0.0/8",
        "999999999999999999999999999999999999999999999999999999999999999999/8",
        "10.0.0.0/99999999999999999999"};
    char *kept;
    ida_ctx *c;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ok(parse(bad[i], &kept, &c) == IDA_BAD_REQUEST && strstr(c->message, "is no network"),
           "\"%s\" is refused", bad[i]);
    }
    is_int(parse("10.1.2.3/8", &kept, &c), IDA_BAD_REQUEST, "bits behind the prefix");
    says(c, "are refused with a suggestion", "10.1.2.3/8", "10.0.0.0/8", NULL);
    char *many = apr_pstrdup(pool, "10.0.0.1");
    for (int i = 1; i < IDA_NETWORKS_MAX; i++) {
        many = apr_pstrcat(pool, many, ",10.0.0.1", NULL);
    }
    is_int(parse(many, &kept, &c), IDA_OK, "32 of them");
    is_int(parse(apr_pstrcat(pool, many, ",::1", NULL), &kept, &c), IDA_BAD_REQUEST, "not 33");
}

static void held(void)
{
    static const struct {
        const char *networks, *address;
        int within;
    } cases[] = {
        {NULL, "192.0.2.1", 1},
        {NULL, NULL, 1},
        {"192.0.2.0/24", "192.0.2.0", 1},
        {"192.0.2.0/24", "192.0.2.255", 1},
        {"192.0.2.0/24", "192.0.3.0", 0},
        {"192.0.2.0/24", "192.0.1.255", 0},
        {"192.0.2.128/25", "192.0.2.127", 0},
        {"192.0.2.128/25", "192.0.2.128", 1},
        {"192.0.2.7/32", "192.0.2.7", 1},
        {"192.0.2.7/32", "192.0.2.6", 0},
        {"0.0.0.0/0", "203.0.113.9", 1},
        {"0.0.0.0/0", "::1", 0},
        {"::/0", "203.0.113.9", 0},
        {"::/0", "2001:db8::1", 1},
        {"2001:db8::/33", "2001:db8:7fff:ffff::", 1},
        {"2001:db8::/33", "2001:db8:8000::", 0},
        {"192.0.2.0/24", "::ffff:192.0.2.9", 1},
        {"10.0.0.0/8,2001:db8::/32,192.0.2.7/32", "192.0.2.7", 1},
        {"10.0.0.0/8,2001:db8::/32,192.0.2.7/32", "2001:db8::9", 1},
        {"10.0.0.0/8,2001:db8::/32,192.0.2.7/32", "192.0.2.8", 0},
        {"fe80::/10", "fe80::1%eth0", 1},
        {"0.0.0.0/0", "", 0},
        {"0.0.0.0/0", NULL, 0},
        {"0.0.0.0/0", "unknown", 0},
        {"0.0.0.0/0", "1.2.3.4.5", 0},
        {"damaged", "1.2.3.4", 0},
        {"", "1.2.3.4", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        is_int(ida_networks_hold(cases[i].networks, cases[i].address), cases[i].within,
               apr_psprintf(pool, "%s in %s", cases[i].address ? cases[i].address : "nothing",
                            cases[i].networks ? cases[i].networks : "(any)"));
    }
}

int main(void)
{
    setup();
    accepted();
    refused();
    held();
    return done();
}
