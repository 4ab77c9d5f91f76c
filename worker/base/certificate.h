/* When certificates expire, and what is wrong with a file of them, in words. */
#ifndef WORKER_BASE_CERTIFICATE_H
#define WORKER_BASE_CERTIFICATE_H

#include <apr_pools.h>
#include <openssl/x509.h>
#include <stdint.h>

/* ms UTC; 0 when it cannot be read. */
int64_t certificate_time(const ASN1_TIME *at);

/* When the certificate of these bytes (DER) expires, as above. */
int64_t certificate_end(const void *bytes, size_t len);

/* The first moment at which a certificate of the PEM file expires (ms UTC) into *ends. NULL, or
 * what is wrong with the file: "cannot be read: ...", "is no certificate: ...". A file of
 * authorities is good while one of them is valid, so `authorities` gives the last moment. */
const char *certificate_file(apr_pool_t *pool, const char *path, int authorities, int64_t *ends);

#endif
