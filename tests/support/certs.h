/* SPDX-License-Identifier: MIT
 *
 * Certificates for tests, made once per program: of a CA, signed by it, and signed by no CA of the
 * test. All are paths of PEM files. Server certificates are for "localhost" and 127.0.0.1.
 */
#ifndef TACKLE_TESTS_CERTS_H
#define TACKLE_TESTS_CERTS_H

typedef struct certs {
    char ca[64];
    char server_cert[64], server_key[64];
    char client_cert[64], client_key[64];
    char expired_cert[64], expired_key[64]; /* of a server, expired yesterday */
    char other_ca[64];                      /* a CA that signed nothing */
} certs;

const certs *certs_get(void);

#endif
