/* SPDX-License-Identifier: MIT */
#include "login.h"

#include <stdlib.h>
#include <string.h>

#include "caller.h"
#include "request.h"

static const char seal_field[] = "seal";

/* How many wrong tokens an address may send. */
static const tkl_limit_rule rule = {.count = 10, .period_ms = 60000};

struct serve_logins {
    const serve_access *access;
    tkl_session *sessions;
    tkl_limit *limit;
};

int serve_logins_open(const cli_session *cli, tkl_client *private, const serve_access *access,
                      int64_t idle_ms, serve_logins **out)
{
    tkl_session_options options = {.ttl_ms = idle_ms};
    serve_logins *logins = *out = calloc(1, sizeof *logins);
    if (logins == NULL)
        return cli_end(cli, TKL_ENOMEM);
    logins->access = access;
    int code = tkl_session_open(private, tkl_str("logins"), &options, &logins->sessions);
    if (code == TKL_OK)
        code = tkl_limit_open(private, tkl_str("login"), &rule, NULL, &logins->limit);
    if (code != TKL_OK) {
        serve_logins_close(logins);
        *out = NULL;
    }
    return cli_end(cli, code);
}

void serve_logins_close(serve_logins *logins)
{
    if (logins == NULL)
        return;
    tkl_session_close(logins->sessions);
    tkl_limit_close(logins->limit);
    free(logins);
}

/* Answers without details, which are for the log: the caller may be a stranger. */
static void answer_failure(serve_answer *answer, int code)
{
    serve_log_line("login: %s", tkl_errmsg());
    if (serve_status(code) == 502)
        serve_answer_error(answer, 502, code, "Redis refuses sessions: the log says why");
    else
        serve_answer_error(answer, 503, TKL_EUNREADY,
                           "Redis does not answer, and sessions are there");
}

/* ---- Login --------------------------------------------------------------- */

/* The session of the token. */
static int create_session(serve_logins *logins, const char *token, serve_user *user)
{
    serve_seal seal;
    tkl_session_field field = {.name = tkl_str(seal_field),
                               .value = {(const char *)seal.bytes, sizeof seal.bytes}};
    TKL_TRY(tkl_session_create(logins->sessions, tkl_str(user->who), 0, user->secret));
    if (!serve_access_seal(token, user->secret, &seal))
        return TKL_ENOMEM;
    return tkl_session_set(logins->sessions, user->secret, &field, 1);
}

void serve_login(serve_logins *logins, const json_t *fields, const char *address, serve_user *user,
                 serve_answer *answer)
{
    const char *token = json_string_value(json_object_get(fields, "token"));
    tkl_limit_answer left;
    if (token == NULL || json_object_size(fields) != 1) {
        serve_answer_error(answer, 400, TKL_EINVAL, "one field is needed: token");
        return;
    }
    int code = tkl_limit_check(logins->limit, tkl_str(address), 1, &left);
    if (code == TKL_LIMITED) {
        serve_answer_error(answer, 429, code, "too many wrong tokens came from your address");
        answer->retry_s = (left.retry_after_ms + 999) / 1000;
        return;
    }
    bool is_known = code == TKL_OK &&
                    serve_access_check_token(logins->access, token, &user->rights, &user->who);
    if (code == TKL_OK && !is_known) {
        serve_answer_error(answer, 401, TKL_EAUTH, "this token is not valid");
        return;
    }
    if (code == TKL_OK)
        code = create_session(logins, token, user);
    if (code != TKL_OK) {
        answer_failure(answer, code);
        return;
    }
    code = tkl_limit_refund(logins->limit, tkl_str(address), 1, NULL);
    (void)code; /* after a failure, this login counts as a wrong token */
    answer->status = 200;
    answer->body = serve_caller_text(user->who, &user->rights);
}

/* ---- Sessions ------------------------------------------------------------ */

void serve_logout(serve_logins *logins, const char *secret, serve_answer *answer)
{
    int code = *secret != '\0' ? tkl_session_end(logins->sessions, secret) : TKL_NOTFOUND;
    if (code != TKL_OK && code != TKL_NOTFOUND) {
        answer_failure(answer, code);
        return;
    }
    answer->status = 200;
    answer->body = strdup(code == TKL_OK ? "{\"ended\": true}" : "{\"ended\": false}");
}

/* Whether the session was made with a token that is still valid. */
static bool has_token(const serve_logins *logins, const tkl_session_info *session, serve_user *user)
{
    serve_seal seal;
    for (size_t i = 0; i < session->field_count; i++) {
        const tkl_session_field *field = &session->fields[i];
        if (field->name.len != strlen(seal_field) ||
            memcmp(field->name.data, seal_field, strlen(seal_field)) != 0 ||
            field->value.len != sizeof seal.bytes)
            continue;
        memcpy(seal.bytes, field->value.data, sizeof seal.bytes);
        return serve_access_check_seal(logins->access, user->secret, &seal, &user->rights,
                                       &user->who);
    }
    return false;
}

void serve_login_check(serve_logins *logins, serve_user *user, serve_answer *answer)
{
    tkl_session_view view = {.token = user->secret};
    tkl_session_info *session = NULL;
    int code = tkl_session_use(logins->sessions, &view, &session);
    if (code == TKL_EOOM || code == TKL_EREADONLY) /* a full server must not lock operators out */
        code = tkl_session_check(logins->sessions, user->secret, &session);
    if (code == TKL_NOTFOUND || (code == TKL_OK && !has_token(logins, session, user)))
        serve_answer_error(answer, 401, TKL_EAUTH, "the session has ended: log in again");
    else if (code != TKL_OK)
        answer_failure(answer, code);
    tkl_session_info_free(session);
}
