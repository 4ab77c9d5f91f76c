/* Lists of networks, IPv4 and IPv6, such as "192.0.2.0/24,2001:db8::/32": where an API key may be
 * used from. */
#ifndef CORE_BASE_NETWORK_H
#define CORE_BASE_NETWORK_H

#include "core/base/context.h"

#define IDA_NETWORKS_MAX 32

/* The list in its stored form: addresses in their shortest form, each with its prefix length.
 * IDA_BAD_REQUEST names the entry and its rule. */
ida_kind ida_networks_parse(ida_ctx *c, const char *text, char **networks);

/* 1 if one of the networks (in the form of ida_networks_parse) contains the address, or there
 * are none. An address that cannot be parsed is in no network. An IPv4 address within IPv6
 * (::ffff:192.0.2.1) counts as that IPv4 address. */
int ida_networks_hold(const char *networks, const char *address);

#endif
