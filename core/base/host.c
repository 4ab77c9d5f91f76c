/* Owns the question whether a host is this machine. Must not resolve names. */
#include "core/base/host.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

int ida_host_loopback(const char *host, size_t len)
{
    char text[INET6_ADDRSTRLEN];
    struct in_addr v4;
    struct in6_addr v6;
    int bracketed = len > 2 && host[0] == '[' && host[len - 1] == ']';
    len -= bracketed ? 2 : 0;
    if (len >= sizeof text) {
        return 0;
    }
    memcpy(text, host + bracketed, len);
    text[len] = '\0';
    if (inet_pton(AF_INET6, text, &v6) == 1) {
        return IN6_IS_ADDR_LOOPBACK(&v6);
    }
    return !bracketed && (strcasecmp(text, "localhost") == 0 ||
                          (inet_pton(AF_INET, text, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127));
}
