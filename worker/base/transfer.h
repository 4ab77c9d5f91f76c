/* What every exchange over libcurl has in common: cloud directory, webhooks, mail. */
#ifndef WORKER_BASE_TRANSFER_H
#define WORKER_BASE_TRANSFER_H

#include <curl/curl.h>
#include <stdint.h>

/* Which schemes an address may have. */
typedef enum transfer_kind { TRANSFER_HTTP, TRANSFER_MAIL } transfer_kind;

/* Sets URL, allowed schemes, TLS 1.2 with verification of chain and host name, `ca_file` (NULL:
 * the system's) as the only source of trust, no signals, and `error` (CURL_ERROR_SIZE bytes) for
 * messages. 0 if libcurl refuses one. */
int transfer_guard(CURL *curl, const char *url, transfer_kind kind, const char *ca_file,
                   char *error);

/* For a look at a server: a connection, with TLS where the address has it, and nothing else. 0 if
 * libcurl refuses an option. */
int transfer_connect_only(CURL *curl);
/* Of such a connection: the first certificate of the server's to expire (ms UTC); 0: not known. */
int64_t transfer_certificate_ends(CURL *curl);

/* 1: it failed because the other side's certificate is not one to be trusted, or the authorities'
 * file is none. */
int transfer_distrusts(CURLcode code);

#endif
