/* SPDX-License-Identifier: MIT
 *
 * TLS by OpenSSL over a non-blocking socket. The certificate and the name in it are checked
 * unless the user said otherwise. A BIO of our own sends with MSG_NOSIGNAL, because the
 * stock one raises SIGPIPE.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/nofork.h"
#include "core/stream.h"

/* ---- The BIO ------------------------------------------------------------- */

static int bio_result(BIO *bio, ssize_t n, int retry_flag)
{
    BIO_clear_retry_flags(bio);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_flags(bio, retry_flag | BIO_FLAGS_SHOULD_RETRY);
    return (int)n;
}

static int fd_of(BIO *bio)
{
    return ((tkl__stream *)BIO_get_data(bio))->fd;
}

static int bio_write(BIO *bio, const char *data, int len)
{
    return bio_result(bio, send(fd_of(bio), data, (size_t)len, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

static int bio_read(BIO *bio, char *data, int len)
{
    return bio_result(bio, recv(fd_of(bio), data, (size_t)len, 0), BIO_FLAGS_READ);
}

static long bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *bio_method;

static void make_bio_method(void)
{
    bio_method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "tackle");
    BIO_meth_set_write(bio_method, bio_write);
    BIO_meth_set_read(bio_method, bio_read);
    BIO_meth_set_ctrl(bio_method, bio_ctrl);
}

/* ---- The context --------------------------------------------------------- */

/* The newest reason in OpenSSL's queue. */
static const char *reason(void)
{
    const char *text = ERR_reason_error_string(ERR_peek_last_error());
    return text ? text : "unknown reason";
}

static int load_trust(SSL_CTX *tls, const tkl__target *target)
{
    if (!target->ca_file && !target->ca_dir)
        return SSL_CTX_set_default_verify_paths(tls) == 1
                   ? TKL_OK
                   : tkl__fail(TKL_ETLS, "the system's certificates: %s", reason());
    if (SSL_CTX_load_verify_locations(tls, target->ca_file, target->ca_dir) != 1)
        return tkl__fail(TKL_ETLS, "CA %s: %s", target->ca_file ? target->ca_file : target->ca_dir,
                         reason());
    return TKL_OK;
}

static int load_certificate(SSL_CTX *tls, const tkl__target *target)
{
    if (!target->cert_file)
        return TKL_OK;
    if (SSL_CTX_use_certificate_chain_file(tls, target->cert_file) != 1)
        return tkl__fail(TKL_ETLS, "certificate %s: %s", target->cert_file, reason());
    if (SSL_CTX_use_PrivateKey_file(tls, target->key_file, SSL_FILETYPE_PEM) != 1)
        return tkl__fail(TKL_ETLS, "private key %s: %s", target->key_file, reason());
    return TKL_OK;
}

struct ssl_ctx_st *tkl__tls_context(const tkl__target *target)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_bio_method);
    ERR_clear_error();
    SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
    if (!tls || !bio_method) {
        SSL_CTX_free(tls);
        tkl__fail(TKL_ETLS, "OpenSSL: %s", reason());
        return NULL;
    }
    SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
    SSL_CTX_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_AUTO_RETRY | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_verify(tls, target->no_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, NULL);
    if (load_trust(tls, target) != TKL_OK || load_certificate(tls, target) != TKL_OK) {
        SSL_CTX_free(tls);
        return NULL;
    }
    return tls;
}

void tkl__tls_free(struct ssl_ctx_st *tls)
{
    SSL_CTX_free(tls);
}

/* ---- The handshake ------------------------------------------------------- */

static bool is_address(const char *host)
{
    unsigned char binary[16];
    return inet_pton(AF_INET, host, binary) == 1 || inet_pton(AF_INET6, host, binary) == 1;
}

/* Sets the host that the certificate must be issued for; a name is also sent as SNI. */
static bool expect_host(SSL *ssl, const char *host)
{
    if (is_address(host))
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static int handshake_failed(SSL *ssl, const char *host)
{
    long verify = SSL_get_verify_result(ssl);
    if (verify == X509_V_ERR_HOSTNAME_MISMATCH || verify == X509_V_ERR_IP_ADDRESS_MISMATCH)
        return tkl__fail(TKL_ETLS,
                         "the certificate is not for %s: %s (a cluster or Sentinel names its "
                         "servers as it announces them; tls_server_name overrides the name)",
                         host, X509_verify_cert_error_string(verify));
    if (verify != X509_V_OK)
        return tkl__fail(TKL_ETLS, "the certificate of %s is not trusted: %s", host,
                         X509_verify_cert_error_string(verify));
    return ERR_peek_last_error()
               ? tkl__fail(TKL_ETLS, "TLS handshake with %s: %s", host, reason())
               : tkl__fail(TKL_ENOTSENT, "connection closed during the TLS handshake with %s",
                           host);
}

/* Waits for the socket event that OpenSSL needs. When OpenSSL has failed: TKL_ETLS if the peers
 * disagree (with TLS 1.3 a server refuses our certificate only after the handshake), TKL_EUNKNOWN
 * if the connection is lost. */
static int await_socket(tkl__stream *stream, int result, int64_t deadline)
{
    switch (SSL_get_error(stream->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return tkl__stream_poll(stream->fd, POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE:
        return tkl__stream_poll(stream->fd, POLLOUT, deadline);
    case SSL_ERROR_ZERO_RETURN:
        return tkl__fail(TKL_EUNKNOWN, "the server closed the connection");
    case SSL_ERROR_SSL:
        return tkl__fail(TKL_ETLS, "TLS: %s", reason());
    default:
        return tkl__fail(TKL_EUNKNOWN, "connection lost");
    }
}

static int handshake(tkl__stream *stream, const char *host, int64_t deadline)
{
    for (;;) {
        ERR_clear_error();
        tkl__nofork_enter();
        int result = SSL_connect(stream->ssl);
        tkl__nofork_leave();
        if (result == 1)
            return TKL_OK;
        int rc = await_socket(stream, result, deadline);
        if (rc == TKL_ETIMEOUT)
            return tkl__fail(TKL_ENOTSENT, "no TLS handshake in time");
        if (rc != TKL_OK)
            return handshake_failed(stream->ssl, host);
    }
}

int tkl__tls_connect(tkl__stream *stream, const tkl__target *target, const tkl__addr *addr,
                     struct ssl_ctx_st *tls, int64_t deadline)
{
    const char *host = target->server_name ? target->server_name : addr->host;
    stream->ssl = SSL_new(tls);
    BIO *bio = BIO_new(bio_method);
    if (!stream->ssl || !bio || !expect_host(stream->ssl, host)) {
        BIO_free(bio);
        return tkl__fail(TKL_ETLS, "TLS to %s: %s", host, reason());
    }
    BIO_set_data(bio, stream);
    BIO_set_init(bio, 1);
    SSL_set_bio(stream->ssl, bio, bio);
    return handshake(stream, host, deadline);
}

/* ---- Reading and writing ------------------------------------------------- */

int tkl__tls_read(tkl__stream *stream, char *data, size_t cap, int64_t deadline, size_t *n)
{
    for (;;) {
        ERR_clear_error();
        int result = SSL_read_ex(stream->ssl, data, cap, n);
        if (result == 1)
            return TKL_OK;
        int rc = await_socket(stream, result, deadline);
        if (rc != TKL_OK)
            return rc;
    }
}

int tkl__tls_write(tkl__stream *stream, const char *data, size_t len, int64_t deadline,
                   size_t *written)
{
    while (*written < len) {
        ERR_clear_error();
        size_t n = 0;
        int result = SSL_write_ex(stream->ssl, data + *written, len - *written, &n);
        *written += n;
        if (result != 1) {
            int rc = await_socket(stream, result, deadline);
            if (rc != TKL_OK)
                return rc;
        }
    }
    return TKL_OK;
}

/* Session tickets may have arrived: they do not count as data. */
bool tkl__tls_stale(tkl__stream *stream)
{
    char byte;
    ERR_clear_error();
    int result = SSL_peek(stream->ssl, &byte, 1);
    return result > 0 || SSL_get_error(stream->ssl, result) != SSL_ERROR_WANT_READ;
}

/* Sends the closing alert if that needs no waiting. */
void tkl__tls_close(tkl__stream *stream)
{
    ERR_clear_error();
    if (stream->fd >= 0 && SSL_is_init_finished(stream->ssl))
        SSL_shutdown(stream->ssl);
    SSL_free(stream->ssl);
    stream->ssl = NULL;
}
