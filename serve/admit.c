/* SPDX-License-Identifier: MIT */
#include "request.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "out.h"
#include "repeat.h"

const char *serve_request_header(const serve_request *r, const char *name)
{
    return MHD_lookup_connection_value(r->connection, MHD_HEADER_KIND, name);
}

/* Adds a parameter to the fields. MHD_NO: its name is not UTF-8. */
static enum MHD_Result add_parameter(void *arg, enum MHD_ValueKind kind, const char *key,
                                     size_t key_size, const char *value, size_t size)
{
    json_t *query = arg, *old = json_object_get(query, key);
    json_t *text = cli_json_bytes((tkl_bytes){value, value != NULL ? size : 0});
    (void)kind;
    if (strlen(key) != key_size) {
        json_decref(text);
        return MHD_NO;
    }
    if (value == NULL && old == NULL) /* "?all" is a flag */
        text = (json_decref(text), json_true());
    if (old == NULL)
        return json_object_set_new(query, key, text) == 0 ? MHD_YES : MHD_NO;
    if (!json_is_array(old)) {
        json_t *array = json_array();
        json_array_append(array, old);
        json_object_set_new(query, key, array);
        old = array;
    }
    return json_array_append_new(old, text) == 0 ? MHD_YES : MHD_NO;
}

/* Keeps the parameters of the URL as fields. Returns the reason when they are wrong, otherwise
 * NULL. */
static const char *read_query(serve_request *r, const char *method)
{
    int count = MHD_get_connection_values_n(r->connection, MHD_GET_ARGUMENT_KIND, NULL, NULL);
    if (r->kind != SERVE_CALL && r->kind != SERVE_BATCH)
        return NULL;
    if (strcmp(method, "GET") != 0)
        return count == 0 ? NULL : "the fields of a POST belong into its body, not into the URL";
    r->query = json_object();
    int added =
        MHD_get_connection_values_n(r->connection, MHD_GET_ARGUMENT_KIND, add_parameter, r->query);
    return added == count ? NULL : "the name of a parameter is not UTF-8, or has a zero byte";
}

/* Counts of the headers that decide where a request ends, whose it is, and whether it is a
 * repeat. */
typedef struct head {
    int hosts, tokens, keys, lengths, codings;
    bool is_odd; /* it has a coding that is not "chunked", or a blank in a name */
} head;

static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    head *h = arg;
    bool is_coding = strcasecmp(name, "Transfer-Encoding") == 0;
    (void)kind;
    h->hosts += strcasecmp(name, "Host") == 0;
    h->tokens += strcasecmp(name, "Authorization") == 0;
    h->keys += strcasecmp(name, "Idempotency-Key") == 0;
    h->lengths += strcasecmp(name, "Content-Length") == 0;
    h->codings += is_coding;
    h->is_odd = h->is_odd || (is_coding && (value == NULL || strcasecmp(value, "chunked") != 0)) ||
                strpbrk(name, " \t") != NULL;
    return MHD_YES;
}

/* Whether a proxy in front of us might read the head in another way: where the body ends, or which
 * of two values counts. */
static bool is_ambiguous(const serve_request *r)
{
    head h = {0};
    MHD_get_connection_values(r->connection, MHD_HEADER_KIND, look_at_header, &h);
    return h.hosts > 1 || h.tokens > 1 || h.keys > 1 || h.lengths + h.codings > 1 || h.is_odd;
}

/* Whether a web page of another site sends the request. See access.h. */
static bool is_from_other_site(const serve_request *r)
{
    return serve_is_other_site(serve_request_header(r, "Sec-Fetch-Site"),
                               serve_request_header(r, "Origin"), serve_request_header(r, "Host"));
}

/* Finds the kind, page or route of a path. False: it leads nowhere, and `why` says why. */
static bool find_target(serve_request *r, const char *path, char why[SERVE_WHY_SIZE])
{
    static const struct {
        const char *path;
        serve_request_kind kind;
    } others[] = {{"/healthz", SERVE_HEALTH},       {"/readyz", SERVE_READY},
                  {"/openapi.json", SERVE_OPENAPI}, {"/metrics", SERVE_METRICS},
                  {"/caller", SERVE_CALLER},        {"/events", SERVE_STREAM},
                  {"/history", SERVE_HISTORY},      {"/v1/batch", SERVE_BATCH},
                  {"/login", SERVE_LOGIN},          {"/logout", SERVE_LOGOUT}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(path, others[i].path) == 0) {
            r->kind = others[i].kind;
            if (r->kind == SERVE_STREAM) /* samples have the data of `status` */
                return serve_route_find("/v1/status", &r->route, why);
            if (r->kind == SERVE_HISTORY)
                return serve_route_find("/v1/queue/times", &r->route, why);
            return r->kind != SERVE_READY || serve_route_find("/v1/ping", &r->route, why);
        }
    if ((r->page = serve_page_find(path)) != NULL) {
        r->kind = SERVE_PAGE;
        return true;
    }
    return serve_route_find(path, &r->route, why);
}

static bool is_allowed_method(const serve_request *r, const char *method)
{
    const char *allowed = serve_allowed_methods(r);
    return (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 ||
            strcmp(method, "POST") == 0) &&
           strstr(allowed, method) != NULL;
}

/* Keeps the Idempotency-Key. Returns the reason when it is wrong, otherwise NULL. */
static const char *read_key(serve_request *r)
{
    const char *key = serve_request_header(r, "Idempotency-Key");
    if (key == NULL)
        return NULL;
    if (r->kind != SERVE_CALL || !r->route.verb->adds)
        return "Idempotency-Key is for verbs that add something, such as queue/push";
    if (*key == '\0' || strlen(key) > SERVE_KEY_MAX)
        return "Idempotency-Key: 1 to 255 bytes";
    r->key = strdup(key);
    return r->key != NULL ? NULL : "out of memory";
}

/* Notes the framing that the client accepts, and the last event that it has seen. */
static void read_framing(serve_request *r)
{
    const char *last_event = serve_request_header(r, "Last-Event-ID");
    r->framing = serve_framing_of(serve_request_header(r, "Accept"));
    if (last_event != NULL && *last_event != '\0')
        r->last_event = strdup(last_event);
}

int64_t serve_body_max(const serve_request *r)
{
    int64_t most = r->http->options.max_body;
    return r->kind == SERVE_LOGIN && most > SERVE_LOGIN_BODY_MAX ? SERVE_LOGIN_BODY_MAX : most;
}

/* Whether the request needs no token. */
static bool is_open_to_all(const serve_request *r)
{
    return r->kind == SERVE_HEALTH || r->kind == SERVE_READY || r->kind == SERVE_PAGE ||
           r->kind == SERVE_LOGIN || r->kind == SERVE_LOGOUT;
}

/* Checks that the caller, whose rights are known now, may make this request. */
static enum MHD_Result admit_call(serve_request *r, const char *method)
{
    const serve_http *http = r->http;
    const char *length = serve_request_header(r, "Content-Length"), *wrong = NULL;
    if (!is_allowed_method(r, method))
        return serve_refuse(r, 405, TKL_EINVAL, "this method is not allowed here");
    if ((r->kind == SERVE_CALL || r->kind == SERVE_STREAM || r->kind == SERVE_HISTORY) &&
        !serve_may(&r->user.rights, &r->route))
        return serve_refuse(r, 403, TKL_EAUTH, "not permitted");
    if ((wrong = read_key(r)) != NULL || (wrong = read_query(r, method)) != NULL)
        return serve_refuse(r, 400, TKL_EINVAL, wrong);
    if (length != NULL && strtoll(length, NULL, 10) > serve_body_max(r))
        return serve_refuse(r, 413, TKL_EINVAL, "the body is too large");
    if (http->is_ending)
        return serve_refuse(r, 503, TKL_EINTR, "the server is ending");
    read_framing(r);
    return MHD_YES;
}

enum MHD_Result serve_admit_user(serve_request *r, const char *method)
{
    r->is_checking = r->is_done = false;
    return r->answer.status == 0 ? admit_call(r, method) : serve_send_answer(r);
}

/* Keeps the secret of the cookie. A browser sends the cookie with every request to this server,
 * also with those of other sites. So a request that may change something must say which page it
 * comes from; is_from_other_site() has checked that page. False: the request does not say it. */
static bool read_cookie(serve_request *r, const char *method)
{
    const char *secret = MHD_lookup_connection_value(r->connection, MHD_COOKIE_KIND, SERVE_COOKIE);
    if (secret == NULL || strlen(secret) != TKL_TOKEN_SIZE - 1)
        return true;
    memcpy(r->user.secret, secret, TKL_TOKEN_SIZE);
    return strcmp(method, "POST") != 0 || serve_request_header(r, "Origin") != NULL ||
           serve_request_header(r, "Sec-Fetch-Site") != NULL;
}

/* Finds out who calls: at once by a token, or by the session of a cookie, which Redis knows. */
static enum MHD_Result admit_caller(serve_request *r, const char *method)
{
    const serve_access *access = r->http->access;
    const char *token = serve_request_header(r, "Authorization");
    bool takes_cookie = serve_access_has_tokens(access) && token == NULL && r->kind != SERVE_LOGIN;
    if (takes_cookie && !read_cookie(r, method))
        return serve_refuse(
            r, 403, TKL_EAUTH,
            "with a cookie, Origin or Sec-Fetch-Site must say where a POST is from");
    if (is_open_to_all(r))
        return admit_call(r, method);
    if (*r->user.secret != '\0') {
        r->is_checking = true;
        return serve_submit(r);
    }
    if (!serve_access_check(access, token, &r->user.rights, &r->user.who))
        return serve_refuse(r, 401, TKL_EAUTH,
                            "a valid token is needed: Authorization: Bearer TOKEN");
    return admit_call(r, method);
}

enum MHD_Result serve_admit(serve_request *r, const char *path, const char *method)
{
    const serve_http *http = r->http;
    char why[SERVE_WHY_SIZE];
    if (is_ambiguous(r))
        return serve_refuse(r, 400, TKL_EINVAL,
                            "one Host, Authorization and Idempotency-Key at most, one "
                            "Content-Length or Transfer-Encoding: chunked, and no blanks in names "
                            "of headers, please");
    if (!http->listener->is_unix &&
        !serve_host_is_ours(http->access, serve_request_header(r, "Host")))
        return serve_refuse(r, 403, TKL_EAUTH, "this Host is not served here: --host names more");
    if (!find_target(r, path, why))
        return serve_refuse(r, 404, TKL_NOTFOUND, why);
    if (r->kind != SERVE_PAGE && is_from_other_site(r)) /* a link to the dashboard is harmless */
        return serve_refuse(r, 403, TKL_EAUTH, "web pages of other sites may not call");
    if ((r->kind == SERVE_LOGIN || r->kind == SERVE_LOGOUT) &&
        !serve_access_has_tokens(http->access))
        return serve_refuse(r, 404, TKL_NOTFOUND, "nobody has to log in here: there are no tokens");
    return admit_caller(r, method);
}
