/* Owns the exchange with a log server: connection, certificate, frames, and the proof that they
 * were read. Must not know what the lines say.
 *
 * RFC 5425 has no answer to a message. What was written may be lost with the connection, so a batch
 * ends with the end of its connection: after the last line this side says that no more comes, and
 * waits until the other side has closed too. A server that closes while bytes of ours are unread,
 * or that closed before they came, resets the connection (RFC 1122, 4.2.2.13), which is seen here.
 * What is left to the server is to keep what its process has read. */
#include "worker/send/syslog.h"

#include <apr_strings.h>
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/base/secret_path.h"
#include "core/base/text.h"

#define PORT "6514"
#define STEP_S 5 /* one wait for the other side */
#define NAP_US 5000

int syslog_address(apr_pool_t *pool, const char *text, syslog_server *out)
{
    const char *end = text[0] == '[' ? strchr(text, ']') : text + strcspn(text, ":");
    const char *from = text + (text[0] == '[');
    if (!end || end == from) {
        return 0;
    }
    out->host = apr_pstrmemdup(pool, from, (apr_size_t)(end - from));
    end += *end == ']';
    out->port = *end == ':' ? end + 1 : PORT;
    size_t digits = strspn(out->port, "0123456789");
    return (!*end || *end == ':') && !strpbrk(out->host, "/ @?#[]") && !out->port[digits] &&
           digits > 0 && digits <= 5 && apr_atoi64(out->port) > 0 && apr_atoi64(out->port) < 65536;
}

/* --- trust --- */

static const char *tls_reason(apr_pool_t *pool)
{
    unsigned long code = ERR_peek_last_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return text ? apr_pstrdup(pool, text) : "no reason given";
}

/* NULL and *fault, or a context that trusts the authorities and signs in with the certificate. */
static SSL_CTX *make_context(apr_pool_t *pool, const syslog_server *server, const char **fault)
{
    const char *key = server->key ? ida_secret_path(pool, server->key) : NULL;
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    *fault = NULL;
    if (!tls || !SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION)) {
        *fault = "no memory for TLS";
    } else if (server->ca_file ? !SSL_CTX_load_verify_file(tls, server->ca_file)
                               : !SSL_CTX_set_default_verify_paths(tls)) {
        *fault = apr_pstrcat(pool, "audit_siem_ca_file ", server->ca_file,
                             " has no certificates: ", tls_reason(pool), NULL);
    } else if (server->certificate &&
               SSL_CTX_use_certificate_chain_file(tls, server->certificate) != 1) {
        *fault = apr_pstrcat(pool, "audit_siem_certificate_file ", server->certificate,
                             " has no certificate: ", tls_reason(pool), NULL);
    } else if (server->certificate &&
               (!key || SSL_CTX_use_PrivateKey_file(tls, key, SSL_FILETYPE_PEM) != 1)) {
        *fault = apr_pstrcat(pool, "audit_siem_key_file ", server->key,
                             " has not the key of the certificate: ", tls_reason(pool), NULL);
    }
    if (*fault) {
        SSL_CTX_free(tls);
        return NULL;
    }
    SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(tls, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_options(tls, SSL_OP_IGNORE_UNEXPECTED_EOF); /* many servers just close */
    return tls;
}

const char *syslog_fault(apr_pool_t *pool, const syslog_server *server)
{
    const char *fault;
    SSL_CTX_free(make_context(pool, server, &fault));
    return fault;
}

/* --- the exchange --- */

typedef struct exchange {
    const ida_env *env;
    apr_pool_t *pool;
    const syslog_server *server;
    int fd;
    SSL *ssl;
} exchange;

/* Waits at most STEP_S for each connection and byte. -1 and *why. */
static int connected(exchange *x, const char **why)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    const struct timeval step = {.tv_sec = STEP_S};
    struct addrinfo *all = NULL;
    int fd = -1, failed = getaddrinfo(x->server->host, x->server->port, &hints, &all);
    *why = failed ? gai_strerror(failed) : "no address";
    for (const struct addrinfo *a = failed ? NULL : all; a && fd < 0; a = a->ai_next) {
        fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (fd >= 0 && (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &step, sizeof step) != 0 ||
                        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &step, sizeof step) != 0 ||
                        connect(fd, a->ai_addr, a->ai_addrlen) != 0)) {
            *why = errno == EINPROGRESS ? "it does not answer"
                                        : apr_pstrdup(x->pool, strerror(errno));
            close(fd);
            fd = -1;
        }
    }
    if (!failed) {
        freeaddrinfo(all);
    }
    return fd;
}

/* After a call of OpenSSL that failed, in words. */
static const char *failure(exchange *x, int result)
{
    int error = errno, kind = SSL_get_error(x->ssl, result);
    long verdict = SSL_get_verify_result(x->ssl);
    if (verdict != X509_V_OK) {
        ERR_clear_error();
        return apr_pstrcat(x->pool, "its certificate is not trusted: ",
                           X509_verify_cert_error_string(verdict), NULL);
    }
    return kind == SSL_ERROR_ZERO_RETURN ? "it closed the connection"
           : kind != SSL_ERROR_SYSCALL   ? tls_reason(x->pool)
           : error == EAGAIN             ? "it does not answer"
           : error                       ? apr_pstrdup(x->pool, strerror(error))
                                         : "it closed the connection";
}

static const char *shake_hands(exchange *x)
{
    const char *host = x->server->host;
    unsigned char address[16];
    int is_address = inet_pton(AF_INET, host, address) == 1 ||
                     inet_pton(AF_INET6, host, address) == 1;
    int named = is_address ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(x->ssl), host)
                           : SSL_set1_host(x->ssl, host) && SSL_set_tlsext_host_name(x->ssl, host);
    if (!named || !SSL_set_fd(x->ssl, x->fd)) {
        return "no memory for TLS";
    }
    int result = SSL_connect(x->ssl);
    return result == 1 ? NULL : failure(x, result);
}

/* Octet counting (RFC 5425, 4.3): the length stands before each. */
static const char *write_lines(exchange *x, const apr_array_header_t *lines)
{
    for (int i = 0; i < lines->nelts; i++) {
        const char *line = APR_ARRAY_IDX(lines, i, const char *);
        const char *frame = ida_printf(x->pool, "%zu %s", strlen(line), line);
        int result = SSL_write(x->ssl, frame, (int)strlen(frame));
        if (result <= 0) {
            return failure(x, result);
        }
    }
    return NULL;
}

/* 1: each byte was received, and the other side has not reset the connection. A reset empties the
 * queue as well, so it is asked for afterwards. */
static int none_unread(int fd)
{
    for (int waited = 0; waited < STEP_S * 1000000; waited += NAP_US) {
        int left = 1, error = 0;
        socklen_t size = sizeof error;
        if (ioctl(fd, SIOCOUTQ, &left) != 0 ||
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error) {
            return 0;
        }
        if (!left) {
            return 1;
        }
        usleep(NAP_US);
    }
    return 0;
}

static const char *end(exchange *x)
{
    char byte;
    int result = SSL_shutdown(x->ssl);
    if (result < 0) {
        return failure(x, result);
    }
    if (shutdown(x->fd, SHUT_WR) != 0) {
        return apr_pstrdup(x->pool, strerror(errno));
    }
    do {
        result = SSL_read(x->ssl, &byte, 1);
    } while (result > 0);
    if (SSL_get_error(x->ssl, result) != SSL_ERROR_ZERO_RETURN) {
        return failure(x, result);
    }
    return none_unread(x->fd) ? NULL : "it closed the connection before it had read all";
}

static const char *talk(exchange *x, SSL_CTX *tls, const apr_array_header_t *lines)
{
    const char *why;
    x->ssl = SSL_new(tls);
    if (!x->ssl) {
        return "no memory for TLS";
    }
    ERR_clear_error();
    why = shake_hands(x);
    why = why ? why : write_lines(x, lines);
    why = why ? why : end(x);
    ERR_clear_error();
    SSL_free(x->ssl);
    return why;
}

const char *syslog_send(const ida_env *env, apr_pool_t *pool, const syslog_server *server,
                        const apr_array_header_t *lines)
{
    exchange x = {.env = env, .pool = pool, .server = server};
    const char *why;
    SSL_CTX *tls = make_context(pool, server, &why);
    x.fd = tls ? connected(&x, &why) : -1;
    if (x.fd >= 0) {
        why = talk(&x, tls, lines);
        close(x.fd);
    }
    SSL_CTX_free(tls);
    return why;
}
