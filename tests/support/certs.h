/* SPDX-License-Identifier: MIT
 *
 * Certificates for tests, made once per program: a CA, what it signed, and what it did not.
 * Paths of PEM files. Server certificates are for "localhost" and 127.0.0.1.
 */
#ifndef TACKLE_TESTS_CERTS_H
#define TACKLE_TESTS_CERTS_H

typedef struct certs {
    char ca[64];
    char server_cert[64], server_key[64];
    char client_cert[64], client_key[64];
    char expired_cert[64], expired_key[64]; /* a server's, of yesterday */
    char other_ca[64];                      /* a CA that signed nothing */
} certs;

const certs *certs_get(void);

#endif
