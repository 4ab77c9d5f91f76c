/* Owns how libcurl is kept safe in this program: TLS verified always, no scheme but those meant.
 * Knows no protocol above. */
#include "worker/base/transfer.h"

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

int transfer_distrusts(CURLcode code)
{
    return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
}
