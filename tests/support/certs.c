/* SPDX-License-Identifier: MIT */
#include "support/certs.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <pthread.h>

#include "support/test.h"

#define DAY 86400

typedef struct identity {
    X509 *cert;
    EVP_PKEY *key;
} identity;

static void add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    assert_non_null(extension);
    X509_add_ext(cert, extension, -1);
    X509_EXTENSION_free(extension);
}

static void name_it(X509 *cert, const char *name)
{
    X509_NAME *subject = X509_NAME_new();
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
    X509_set_subject_name(cert, subject);
    X509_NAME_free(subject);
}

/* Makes a certificate that `ca` signs; with NULL, a CA that signs itself. */
static identity make_identity(const char *name, const identity *ca, long valid_from, long valid_to)
{
    static long serial = 1;
    identity made = {.cert = X509_new(), .key = EVP_EC_gen("P-256")};
    assert_non_null(made.cert);
    assert_non_null(made.key);
    const identity *issuer = ca != NULL ? ca : &made;
    X509_set_version(made.cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(made.cert), serial++);
    X509_gmtime_adj(X509_getm_notBefore(made.cert), valid_from);
    X509_gmtime_adj(X509_getm_notAfter(made.cert), valid_to);
    name_it(made.cert, name);
    X509_set_issuer_name(made.cert, X509_get_subject_name(issuer->cert));
    X509_set_pubkey(made.cert, made.key);
    if (ca == NULL)
        add_extension(made.cert, made.cert, NID_basic_constraints, "critical,CA:TRUE");
    else
        add_extension(made.cert, ca->cert, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
    assert_true(X509_sign(made.cert, issuer->key, EVP_sha256()) > 0);
    return made;
}

static void drop_identity(identity *it)
{
    X509_free(it->cert);
    EVP_PKEY_free(it->key);
}

static void save(char *path, size_t size, const char *dir, const char *file, X509 *cert,
                 EVP_PKEY *key)
{
    snprintf(path, size, "%s/%s", dir, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    int done = cert != NULL ? PEM_write_X509(out, cert)
                            : PEM_write_PrivateKey(out, key, NULL, NULL, 0, NULL, NULL);
    assert_int_equal(done, 1);
    fclose(out);
}

#define SAVE_CERT(field, who) save(files.field, sizeof(files.field), dir, #field, (who).cert, NULL)
#define SAVE_KEY(field, who)  save(files.field, sizeof(files.field), dir, #field, NULL, (who).key)

static certs files;

static void make_all(void)
{
    char dir[48];
    test_make_dir(dir, sizeof(dir));
    identity ca = make_identity("tackle test CA", NULL, -DAY, DAY);
    identity other = make_identity("another CA", NULL, -DAY, DAY);
    identity server = make_identity("localhost", &ca, -DAY, DAY);
    identity client = make_identity("a client", &ca, -DAY, DAY);
    identity expired = make_identity("localhost", &ca, -3 * DAY, -DAY);
    SAVE_CERT(ca, ca);
    SAVE_CERT(other_ca, other);
    SAVE_CERT(server_cert, server);
    SAVE_KEY(server_key, server);
    SAVE_CERT(client_cert, client);
    SAVE_KEY(client_key, client);
    SAVE_CERT(expired_cert, expired);
    SAVE_KEY(expired_key, expired);
    drop_identity(&ca);
    drop_identity(&other);
    drop_identity(&server);
    drop_identity(&client);
    drop_identity(&expired);
}

const certs *certs_get(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_all);
    return &files;
}
