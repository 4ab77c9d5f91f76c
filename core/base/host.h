/* What the name of a host shows before it is resolved. */
#ifndef CORE_BASE_HOST_H
#define CORE_BASE_HOST_H

#include <stddef.h>

/* 1 for localhost, an address of 127.0.0.0/8 in its four numbers, and ::1 with or without brackets:
 * names that no resolver leads elsewhere, so that what goes there unencrypted stays on this
 * machine. A name that only begins so ("127.example") is none. */
int ida_host_loopback(const char *host, size_t len);

#endif
