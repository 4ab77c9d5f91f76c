/* Mail addresses as this program sends to and from: their form. */
#ifndef WORKER_BASE_ADDRESS_H
#define WORKER_BASE_ADDRESS_H

#include <apr_pools.h>

/* NULL if mail can be written to the address, otherwise the rule that it breaks. ASCII only, so
 * that it cannot end a header. */
const char *mail_address_fault(const char *address);

/* The address of "Name <address>", or of an address alone; *name: the name, "" for none. In `pool`.
 */
const char *mail_sender(apr_pool_t *pool, const char *from, const char **name);

/* The same for smtp_from, which may be "Name <address>". */
const char *mail_sender_fault(apr_pool_t *pool, const char *from);

#endif
