/* Owns reading a file of certificates and their validity. Must not know who uses them. */
#include "worker/base/certificate.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

#include "core/base/context.h"

int64_t certificate_time(const ASN1_TIME *at)
{
    int days = 0, seconds = 0;
    ASN1_TIME *from = ASN1_TIME_set(NULL, 0);
    int known = from && at && ASN1_TIME_diff(&days, &seconds, from, at);
    ASN1_TIME_free(from);
    return known ? days * INT64_C(86400000) + seconds * INT64_C(1000) : 0;
}

int64_t certificate_end(const void *bytes, size_t len)
{
    const unsigned char *at = bytes;
    X509 *one = at && len <= LONG_MAX ? d2i_X509(NULL, &at, (long)len) : NULL;
    int64_t ends = one ? certificate_time(X509_get0_notAfter(one)) : 0;
    X509_free(one);
    ERR_clear_error();
    return ends;
}

const char *certificate_file(apr_pool_t *pool, const char *path, int authorities, int64_t *ends)
{
    int count = 0;
    X509 *one;
    BIO *file = BIO_new_file(path, "r");
    int error = errno;
    *ends = 0;
    if (!file) {
        ERR_clear_error();
        return ida_printf(pool, "cannot be read: %s", strerror(error));
    }
    while ((one = PEM_read_bio_X509_AUX(file, NULL, NULL, NULL))) {
        int64_t at = certificate_time(X509_get0_notAfter(one));
        *ends = !count || (authorities ? at > *ends : at < *ends) ? at : *ends;
        X509_free(one);
        count++;
    }
    BIO_free(file);
    ERR_clear_error(); /* the end of the file counts as one */
    return count ? NULL : "is no certificate: it must hold one in PEM form (BEGIN CERTIFICATE)";
}
