/* Owns how libcurl is kept safe in this program: TLS verified always, no scheme but those meant.
 * Knows no protocol above. */
#include "worker/base/transfer.h"

#include <string.h>

int transfer_guard(CURL *curl, const char *url, transfer_kind kind, const char *ca_file,
                   char *error)
{
    int bad = 0;
#define SET(option, value) bad |= curl_easy_setopt(curl, CURLOPT_##option, value) != CURLE_OK
    SET(ERRORBUFFER, error);
    SET(NOSIGNAL, 1L);
    SET(URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(PROTOCOLS_STR, kind == TRANSFER_MAIL ? "smtp,smtps" : "http,https");
#else
    SET(PROTOCOLS, kind == TRANSFER_MAIL ? (long)(CURLPROTO_SMTP | CURLPROTO_SMTPS)
                                         : (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
    SET(SSL_VERIFYPEER, 1L);
    SET(SSL_VERIFYHOST, 2L);
    SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    if (ca_file) {
        SET(CAINFO, ca_file);
        SET(CAPATH, NULL);
    }
#undef SET
    return !bad;
}

int transfer_connect_only(CURL *curl)
{
    return curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L) == CURLE_OK &&
           curl_easy_setopt(curl, CURLOPT_CERTINFO, 1L) == CURLE_OK;
}

int64_t transfer_certificate_ends(CURL *curl)
{
    static const char name[] = "Expire date:";
    struct curl_certinfo *seen = NULL;
    int64_t ends = 0;
    curl_easy_getinfo(curl, CURLINFO_CERTINFO, &seen);
    for (int i = 0; seen && i < seen->num_of_certs; i++) {
        for (const struct curl_slist *line = seen->certinfo[i]; line; line = line->next) {
            if (strncmp(line->data, name, sizeof name - 1) == 0) {
                time_t at = curl_getdate(line->data + sizeof name - 1, NULL);
                int64_t ms = at > 0 ? (int64_t)at * 1000 : 0;
                ends = ms && (!ends || ms < ends) ? ms : ends;
            }
        }
    }
    return ends;
}

int transfer_distrusts(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
}
