/* SPDX-License-Identifier: MIT
 *
 * Access: who may do what, and from where.
 *
 * A token file has a line for each token: a name for the log, the token, and its rights.
 *
 *     # name   token                             rights
 *     web      5up3rs3cr3t-0123456789abcdef      queue:write lock:write read
 *     report   another-secret-0123456789         read
 *     admin    the-third-secret-0123456789       write
 *
 * "read" and "write" are for all components, "queue:write" is for one. A caller that may write may
 * read.
 *
 * Web pages. A browser sends requests of any page to any server that its user can reach. Requests
 * of other sites' pages are refused: they differ from those of the dashboard in the header
 * Sec-Fetch-Site or Origin. The page of a site whose name an attacker lets point to this server
 * (DNS rebinding) sends a Host that is not ours.
 */
#ifndef TKL_SERVE_ACCESS_H
#define TKL_SERVE_ACCESS_H

#include <stdio.h>

#include "route.h"

/* The rights of a caller; a bit for each component. */
typedef struct serve_rights {
    uint64_t read, write;
} serve_rights;

typedef struct serve_access serve_access;

/* Reads the options --token-file, --read-only, --allow and --host. A token file that others may
 * read is refused. Frees *access on failure. */
int serve_access_open(const cli_session *cli, serve_access **access);
void serve_access_close(serve_access *access);

/* Opens a file that others can neither read nor change, and refuses any other. */
int serve_open_secret(const cli_session *cli, const char *path, FILE **file);

/* Whether callers need a token. */
bool serve_access_has_tokens(const serve_access *access);

/* Finds the rights of the header "Authorization: Bearer TOKEN", which may be NULL. *who is the name
 * of the token. False: the token is not valid. A wrong token takes as long as a right one. */
bool serve_access_check(const serve_access *access, const char *authorization, serve_rights *rights,
                        const char **who);
/* The same for the token itself. */
bool serve_access_check_token(const serve_access *access, const char *token, serve_rights *rights,
                              const char **who);

/* A seal ties the secret of a session to a token: an HMAC of the token's digest with the secret as
 * its key. Without the secret, nobody can learn from it which token it is. */
typedef struct serve_seal {
    unsigned char bytes[32];
} serve_seal;
/* Seals the secret with a token. False: out of memory. */
bool serve_access_seal(const char *token, const char *secret, serve_seal *seal);
/* Finds the token of a seal, as serve_access_check_token() does. */
bool serve_access_check_seal(const serve_access *access, const char *secret, const serve_seal *seal,
                             serve_rights *rights, const char **who);

bool serve_may(const serve_rights *rights, const serve_route *route);

/* Whether a Host header, which may be NULL, names this server: an IP address, localhost, or a name
 * of --host. */
bool serve_host_is_ours(const serve_access *access, const char *host);

/* Whether a web page of another site sends a request with these headers, each of which may be NULL.
 * Browsers set Sec-Fetch-Site themselves; older browsers only send an Origin, which is http://HOST
 * or https://HOST for our own page. */
bool serve_is_other_site(const char *fetch_site, const char *origin, const char *host);

#endif
