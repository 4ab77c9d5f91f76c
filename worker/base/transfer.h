/* What every exchange over libcurl has in common, whoever makes it: cloud directory, webhooks,
 * mail. */
#ifndef WORKER_BASE_TRANSFER_H
#define WORKER_BASE_TRANSFER_H

#include <curl/curl.h>

/* Sets URL, the schemes allowed (as a comma list; as bits for libcurl before 7.85), TLS 1.2 with
 * chain and host name verified, `ca_file` (NULL: the system's) and nothing beside it, no signals,
 * `error` (CURL_ERROR_SIZE bytes) for messages. 0 when libcurl refuses one. */
int transfer_guard(CURL *curl, const char *url, const char *protocols, long protocol_bits,
                   const char *ca_file, char *error);

/* 1: it failed because the other side's certificate is not one to be trusted, or the authorities'
 * file is none. */
int transfer_distrusts(CURLcode code);

#endif
