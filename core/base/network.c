/* Owns networks as texts and bytes. Must not know whose address is checked. */
#include "core/base/network.h"

#include <apr_strings.h>
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (INET6_ADDRSTRLEN + 5)

typedef struct network {
    unsigned char bytes[16];
    int family, bits; /* AF_INET or AF_INET6; length of the prefix */
} network;

static int bits_of(int family)
{
    return family == AF_INET ? 32 : 128;
}

/* An address with all its bits. 0 when it is none. */
static int read_address(const char *text, network *n)
{
    static const unsigned char mapped[12] = {[10] = 0xFF, [11] = 0xFF};
    n->family = strchr(text, ':') ? AF_INET6 : AF_INET;
    n->bits = bits_of(n->family);
    if (inet_pton(n->family, text, n->bytes) != 1) {
        return 0;
    }
    if (n->family == AF_INET6 && memcmp(n->bytes, mapped, sizeof mapped) == 0) {
        memmove(n->bytes, n->bytes + sizeof mapped, 4);
        n->family = AF_INET;
        n->bits = 32;
    }
    return 1;
}

/* Clears the bits after the prefix; 1 if none was set. */
static int trim(network *n)
{
    int whole = 1;
    for (int bit = n->bits; bit < bits_of(n->family); bit++) {
        unsigned char mask = (unsigned char)(0x80 >> bit % 8);
        whole &= !(n->bytes[bit / 8] & mask);
        n->bytes[bit / 8] &= (unsigned char)~mask;
    }
    return whole;
}

/* "ADDRESS" or "ADDRESS/BITS". 0 when it is neither. */
static int read_network(const char *text, size_t len, network *n)
{
    char own[TEXT_MAX];
    if (len >= sizeof own) {
        return 0;
    }
    memcpy(own, text, len);
    own[len] = '\0';
    char *slash = strchr(own, '/'), *end;
    if (slash) {
        *slash++ = '\0';
    }
    if (!read_address(own, n)) {
        return 0;
    }
    if (slash) {
        int most = strchr(own, ':') ? 128 : 32,
            cut = most - n->bits; /* a mapped address has 96 fixed bits */
        long bits = strtol(slash, &end, 10);
        if (*slash < '0' || *slash > '9' || *end || bits > most || bits < cut) {
            return 0;
        }
        n->bits = (int)bits - cut;
    }
    return 1;
}

static char *text_of(apr_pool_t *pool, const network *n)
{
    char text[INET6_ADDRSTRLEN];
    inet_ntop(n->family, n->bytes, text, sizeof text);
    return ida_printf(pool, "%s/%d", text, n->bits);
}

ida_kind ida_networks_parse(ida_ctx *c, const char *text, char **networks)
{
    int count = 0;
    *networks = NULL;
    for (const char *at = text;; at++) {
        size_t len = strcspn(at, ",");
        network n;
        if (!read_network(at, len, &n)) {
            return ida_fail(
                c, IDA_BAD_REQUEST,
                "\"%.*s\" is no network: write an address of IPv4 or IPv6, or one with the length "
                "of its prefix, such as 192.0.2.0/24 or 2001:db8::/32, with commas between several",
                (int)(len < 60 ? len : 60), at);
        }
        if (!trim(&n)) {
            return ida_fail(
                c, IDA_BAD_REQUEST,
                "\"%.*s\" has bits behind its prefix: did you mean %s, or the one address?",
                (int)len, at, text_of(c->pool, &n));
        }
        if (++count > IDA_NETWORKS_MAX) {
            return ida_fail(c, IDA_BAD_REQUEST, "at most %d networks can be named",
                            IDA_NETWORKS_MAX);
        }
        *networks = *networks ? apr_pstrcat(c->pool, *networks, ",", text_of(c->pool, &n), NULL)
                              : text_of(c->pool, &n);
        at += len;
        if (!*at) {
            return IDA_OK;
        }
    }
}

int ida_networks_hold(const char *networks, const char *address)
{
    char own[TEXT_MAX];
    network client, n;
    if (!networks) {
        return 1;
    }
    size_t len = address ? strcspn(address, "%")
                         : 0; /* an address of the link may carry the name of its interface */
    if (!len || len >= sizeof own) {
        return 0;
    }
    memcpy(own, address, len);
    own[len] = '\0';
    if (!read_address(own, &client)) {
        return 0;
    }
    for (const char *at = networks; *at; at += *at == ',') {
        len = strcspn(at, ",");
        if (read_network(at, len, &n) && n.family == client.family) {
            network there = client;
            there.bits = n.bits;
            trim(&there);
            if (memcmp(there.bytes, n.bytes, (size_t)bits_of(n.family) / 8) == 0) {
                return 1;
            }
        }
        at += len;
    }
    return 0;
}
