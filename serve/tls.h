/* SPDX-License-Identifier: MIT
 *
 * TLS of the HTTP server: its certificate and key, from the files of --tls-cert and --tls-key.
 */
#ifndef TKL_SERVE_TLS_H
#define TKL_SERVE_TLS_H

#include "cli.h"

/* Protocols and ciphers, as GnuTLS reads them. */
#define SERVE_TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

/* Texts in PEM; both are NULL without TLS. */
typedef struct serve_tls {
    char *certificate; /* with those that lead to a known authority, if there are any */
    char *key;
} serve_tls;

/* Reads the files. A key that others may read, or that is not that of the certificate, is refused.
 * serve_tls_close() frees both, also on failure. */
int serve_tls_open(const cli_session *cli, serve_tls *tls);
void serve_tls_close(serve_tls *tls);

#endif
