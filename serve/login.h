/* SPDX-License-Identifier: MIT
 *
 * Logins: how a browser calls without keeping a token.
 *
 *     POST /login {"token": "..."}    answers what GET /caller does, and sets a cookie
 *     POST /logout                    ends the session of the cookie
 *
 * A login makes a session (tkl_session) in the namespace of the dashboard, so it is valid at every
 * server of that namespace. Requests with its cookie have the rights of the token. A session ends
 * when it was not used for `idle_ms`.
 *
 *     NS:dashboard:session:{logins}:...     the sessions; their user is the name of the token
 *     NS:dashboard:limit:{ADDRESS}:login    wrong tokens that came from an address
 *
 * The cookie is the secret of the session, which Redis never sees. The session has a field "seal",
 * made of the secret and the token of the login (access.h). A server that gets the secret compares
 * the seal with the tokens of its file: a session whose token is no longer there is not valid.
 */
#ifndef TKL_SERVE_LOGIN_H
#define TKL_SERVE_LOGIN_H

#include "access.h"
#include "call.h"

#define SERVE_COOKIE "tackle-session"

enum { SERVE_LOGIN_BODY_MAX = 4096 }; /* bytes of a request without a token */

typedef struct serve_logins serve_logins;

/* The user that a session belongs to. */
typedef struct serve_user {
    char secret[TKL_TOKEN_SIZE]; /* value of the cookie; "": there is none */
    serve_rights rights;
    const char *who; /* the name of the token */
} serve_user;

/* `private` is a client in the namespace of the dashboard. */
int serve_logins_open(const cli_session *cli, tkl_client *private, const serve_access *access,
                      int64_t idle_ms, serve_logins **logins);
/* Frees the logins. The loop must be closed before. NULL is fine. */
void serve_logins_close(serve_logins *logins);

/* ---- In an operation of a tkl_loop --------------------------------------- */

/* Answers a login with 200 and fills in *user; or with 401, with 429 after too many wrong tokens
 * from `address`, or with 503 when Redis does not answer. */
void serve_login(serve_logins *logins, const json_t *fields, const char *address, serve_user *user,
                 serve_answer *answer);

/* Answers a logout. The secret may be "". */
void serve_logout(serve_logins *logins, const char *secret, serve_answer *answer);

/* Finds the user of the session with the secret user->secret, and counts as a use of it. Answers
 * 401 when the session has ended, 503 when Redis does not answer, and otherwise nothing. */
void serve_login_check(serve_logins *logins, serve_user *user, serve_answer *answer);

#endif
