/* SPDX-License-Identifier: MIT */
#include "tls.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"

enum { FILE_MAX = 1 << 20 };

/* Reads a file as a text, to be freed, and closes it. */
static int read_text(const cli_session *cli, const char *path, FILE *file, char **text)
{
    *text = calloc(1, FILE_MAX + 1);
    size_t len = *text != NULL ? fread(*text, 1, FILE_MAX, file) : 0;
    bool failed = ferror(file) != 0;
    fclose(file);
    if (*text == NULL)
        return cli_end(cli, TKL_ENOMEM);
    if (failed || len == 0 || len == FILE_MAX || memchr(*text, '\0', len) != NULL)
        return cli_fail(cli, CLI_USAGE, "%s is not a file in PEM", path);
    return CLI_OK;
}

static int read_certificate(const cli_session *cli, const char *path, char **text)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return cli_fail(cli, CLI_FAILURE, "cannot read %s: %s", path, strerror(errno));
    return read_text(cli, path, file, text);
}

static int read_key(const cli_session *cli, const char *path, char **text)
{
    FILE *file = NULL;
    int failed = serve_open_secret(cli, path, &file);
    return failed ? failed : read_text(cli, path, file, text);
}

/* Checks the pair. NULL, or what is wrong with it. */
static const char *find_fault(const serve_tls *tls)
{
    static char no_password[] = "";
    BIO *one = BIO_new_mem_buf(tls->certificate, -1), *two = BIO_new_mem_buf(tls->key, -1);
    X509 *certificate = one != NULL ? PEM_read_bio_X509(one, NULL, NULL, NULL) : NULL;
    EVP_PKEY *key = two != NULL ? PEM_read_bio_PrivateKey(two, NULL, NULL, no_password) : NULL;
    const char *fault = certificate == NULL ? "there is no certificate in it"
                        : key == NULL       ? "the key of --tls-key cannot be read"
                        : X509_check_private_key(certificate, key) != 1
                            ? "the key of --tls-key is that of another certificate"
                            : NULL;
    X509_free(certificate);
    EVP_PKEY_free(key);
    BIO_free(one);
    BIO_free(two);
    return fault;
}

int serve_tls_open(const cli_session *cli, serve_tls *tls)
{
    const char *certificate = cli_text(cli, "tls-cert", NULL);
    const char *key = cli_text(cli, "tls-key", NULL), *fault = NULL;
    *tls = (serve_tls){0};
    if ((certificate == NULL) != (key == NULL))
        return cli_usage(cli, "--tls-cert and --tls-key belong together");
    if (certificate == NULL)
        return CLI_OK;
    int failed = read_certificate(cli, certificate, &tls->certificate);
    if (!failed)
        failed = read_key(cli, key, &tls->key);
    if (!failed && (fault = find_fault(tls)) != NULL)
        failed = cli_fail(cli, CLI_USAGE, "cannot use %s: %s", certificate, fault);
    return failed;
}

void serve_tls_close(serve_tls *tls)
{
    if (tls->key != NULL)
        OPENSSL_cleanse(tls->key, strlen(tls->key));
    free(tls->key);
    free(tls->certificate);
    *tls = (serve_tls){0};
}
