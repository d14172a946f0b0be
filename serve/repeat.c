/* SPDX-License-Identifier: MIT */
#include "repeat.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fields.h"
#include "out.h"

/* How long a repeat waits for the answer to the first request. */
#define PATIENCE_MS 10000

enum { DIGEST_BYTES = 32, DIGEST_TEXT = 2 * DIGEST_BYTES + 1 };

int serve_answers_open(tkl_client *client, int64_t life_ms, tkl_cache **answers)
{
    tkl_cache_options options = {
        .ttl_ms = life_ms, .stale_ms = TKL_NONE, .none_ttl_ms = TKL_NONE, .refresh_ms = TKL_NONE};
    return tkl_cache_open(client, &options, answers);
}

/* Writes the SHA-256 of two texts and the zero byte between them as hex digits. */
static void digest_two(const char *one, const char *two, char text[DIGEST_TEXT])
{
    unsigned char digest[DIGEST_BYTES];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    if (context == NULL || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1 ||
        EVP_DigestUpdate(context, one, strlen(one) + 1) != 1 ||
        EVP_DigestUpdate(context, two, strlen(two)) != 1 ||
        EVP_DigestFinal_ex(context, digest, NULL) != 1)
        abort(); /* out of memory: a wrong digest could mix up two keys */
    EVP_MD_CTX_free(context);
    for (size_t i = 0; i < DIGEST_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
}

/* ---- The first request --------------------------------------------------- */

/* A request with a key. */
typedef struct keyed_call {
    tkl_client *client;
    const serve_route *route;
    const json_t *fields;
    serve_answer *answer;
    char of[DIGEST_TEXT]; /* digest of the path and the fields */
    bool takes_request;   /* the verb has an option --request, so the server executes it once */
    bool is_first;        /* this call has executed it */
} keyed_call;

static char *answer_text(const keyed_call *k)
{
    json_t *kept = json_pack("{s:s, s:i, s:s}", "of", k->of, "status", k->answer->status, "body",
                             k->answer->body != NULL ? k->answer->body : "null");
    char *text = kept != NULL ? json_dumps(kept, JSON_COMPACT) : NULL;
    json_decref(kept);
    return text;
}

/* Executes the request and gives its answer to the cache. */
static int answer_first(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    keyed_call *k = arg;
    /* Without is_gone: a client that has gone away comes back, so the verb gives nothing back. */
    serve_caller caller = {0};
    (void)key;
    k->is_first = true;
    serve_call(k->client, k->route, k->fields, &caller, k->answer);
    char *text = answer_text(k);
    int code = text != NULL ? tkl_cache_give(result, tkl_str(text)) : TKL_ENOMEM;
    free(text);
    return code;
}

/* Whether repeats must get this answer: the request was executed, or its outcome is unknown and no
 * request id keeps a repeat from executing it again. */
static bool is_final(const keyed_call *k)
{
    return k->answer->status < 300 || (k->answer->status == 504 && !k->takes_request);
}

/* ---- Repeats ------------------------------------------------------------- */

static void answer_again(const keyed_call *k, const tkl_cache_value *value)
{
    json_t *kept = json_loadb(value->data.data, value->data.len, 0, NULL);
    const char *of = json_string_value(json_object_get(kept, "of"));
    const char *body = json_string_value(json_object_get(kept, "body"));
    if (of == NULL || body == NULL) {
        serve_answer_error(k->answer, 500, TKL_EPROTO, "the answer that was kept is damaged");
    } else if (strcmp(of, k->of) != 0) {
        serve_answer_error(k->answer, 422, TKL_EINVAL,
                           "this Idempotency-Key was used for another request");
    } else {
        k->answer->status = (int)json_integer_value(json_object_get(kept, "status"));
        k->answer->body = strdup(body);
        k->answer->is_repeat = true;
    }
    json_decref(kept);
}

static void answer_failure(serve_answer *answer, int code)
{
    if (code == TKL_BUSY || code == TKL_DEAD) {
        serve_answer_error(answer, 409, TKL_BUSY,
                           "the first request with this Idempotency-Key is still under way");
        answer->retry_s = 1;
    } else {
        serve_answer_error(answer, serve_status(code), code, tkl_errmsg());
    }
}

/* ---- Together ------------------------------------------------------------ */

static bool has_request_option(const serve_route *route)
{
    for (const cli_option *o = route->verb->options; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, "request") == 0)
            return true;
    return false;
}

/* The digest of the path and the fields, which does not depend on their order. */
static bool digest_request(const serve_route *route, const json_t *fields, char of[DIGEST_TEXT])
{
    char *path = serve_route_path(route);
    char *text = json_dumps(fields, JSON_COMPACT | JSON_SORT_KEYS);
    bool done = path != NULL && text != NULL;
    if (done)
        digest_two(path, text, of);
    free(path);
    free(text);
    return done;
}

void serve_call_once(tkl_cache *answers, const char *who, const char *key, tkl_client *client,
                     const serve_route *route, const json_t *fields, serve_answer *answer)
{
    enum { REQUEST_SIZE = 33 };
    char owner[DIGEST_TEXT], both[DIGEST_TEXT], request[REQUEST_SIZE], name[DIGEST_TEXT + 16];
    keyed_call k = {.client = client,
                    .route = route,
                    .answer = answer,
                    .takes_request = has_request_option(route)};
    json_t *own = json_copy((json_t *)fields);
    if (own == NULL || !digest_request(route, fields, k.of)) {
        json_decref(own);
        return;
    }
    digest_two(who, key, owner);
    digest_two(owner, k.of, both);
    snprintf(name, sizeof name, "idempotency:%s", owner);
    snprintf(request, sizeof request, "%.*s", REQUEST_SIZE - 1, both);
    if (k.takes_request && json_object_get(own, "request") == NULL)
        json_object_set_new(own, "request", json_string(request));
    k.fields = own;
    tkl_cache_value *value = NULL;
    int code = tkl_cache_fetch(answers, tkl_str(name), answer_first, &k, PATIENCE_MS, &value);
    if (!k.is_first && code == TKL_OK)
        answer_again(&k, value);
    else if (!k.is_first)
        answer_failure(answer, code);
    else if (!is_final(&k))
        code = tkl_cache_drop(answers, tkl_str(name)); /* when this fails, repeats get the answer */
    tkl_cache_value_free(value);
    json_decref(own);
}
