/* SPDX-License-Identifier: MIT
 *
 * Looking up: what the cache does not know is asked for in one trip, several scripts when there
 * are many addresses.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/script.h"
#include "ip/cache.h"
#include "ip/ip.h"
#include "ip/place.h"
#include "ip/scripts.h"

enum { SCRIPT_MAX = 250 }; /* addresses that one script looks up: about 2.5 ms */

typedef struct question {
    unsigned char address[TKL__IP_SIZE];
    tkl__ip_hit hit;
    size_t cached_at; /* of the fields in the cached text */
    bool cached;
} question;

typedef struct lookup {
    tkl_ip *ip;
    const tkl_bytes *texts; /* the addresses as the caller wrote them */
    question *questions;
    size_t count;
    size_t *open; /* the questions for the server */
    size_t nopen;
    tkl__buf cached;  /* fields out of the cache */
    tkl_reply *reply; /* the hits' fields point into it */
    int64_t deadline;
} lookup;

/* ---- Questions ----------------------------------------------------------- */

static int read_address(lookup *l, size_t i)
{
    if (!tkl__ip_parse(l->texts[i], l->questions[i].address))
        return TKL_OK;
    size_t shown = l->texts[i].len < 64 ? l->texts[i].len : 64;
    return tkl__fail(TKL_EINVAL, "'%.*s' is no IP address", (int)shown,
                     l->texts[i].data ? l->texts[i].data : "");
}

static int begin(lookup *l)
{
    l->questions = calloc(l->count + 1, sizeof *l->questions);
    l->open = malloc((l->count + 1) * sizeof *l->open);
    if (!l->questions || !l->open)
        return tkl__nomem();
    for (size_t i = 0; i < l->count; i++) {
        question *q = &l->questions[i];
        int rc = read_address(l, i);
        if (rc != TKL_OK)
            return rc;
        q->cached_at = l->cached.len;
        q->cached = tkl__ip_cache_get(l->ip->cache, q->address, &q->hit, &l->cached);
        if (!q->cached)
            l->open[l->nopen++] = i;
    }
    return l->cached.failed ? tkl__nomem() : TKL_OK;
}

static void end(lookup *l)
{
    free(l->questions);
    free(l->open);
    tkl__buf_free(&l->cached);
    tkl_reply_free(l->reply);
}

/* ---- Asking the server --------------------------------------------------- */

static size_t scripts_needed(const lookup *l)
{
    return (l->nopen + SCRIPT_MAX - 1) / SCRIPT_MAX;
}

/* The arguments of all scripts lie in one array: each has the generation before its addresses. */
static int run_scripts(lookup *l, const tkl__keys *keys, const char *generation)
{
    size_t scripts = scripts_needed(l), at = 0;
    tkl_bytes *args = malloc((l->nopen + scripts) * sizeof *args);
    tkl__invocation *calls = calloc(scripts, sizeof *calls);
    int rc = args && calls ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < l->nopen; i++) {
        tkl__invocation *call = &calls[i / SCRIPT_MAX];
        if (i % SCRIPT_MAX == 0) {
            *call = (tkl__invocation){.script = &tkl__lua_ip_lookup,
                                      .keys = keys->items,
                                      .nkeys = keys->count,
                                      .args = &args[at],
                                      .nargs = 1,
                                      .retry_safe = true};
            args[at++] = tkl_str(generation);
        }
        const question *q = &l->questions[l->open[i]];
        args[at++] = (tkl_bytes){(const char *)q->address, TKL__IP_SIZE};
        call->nargs++;
    }
    if (rc == TKL_OK && scripts == 1)
        rc = tkl__run(l->ip->client, calls, l->deadline, &l->reply);
    else if (rc == TKL_OK)
        rc = tkl__run_many(l->ip->client, calls, scripts, l->deadline, &l->reply);
    free(args);
    free(calls);
    return rc;
}

/* The reply of the script that looked up the open question `i`. */
static const tkl_reply *reply_for(const lookup *l, size_t i)
{
    return scripts_needed(l) == 1 ? l->reply : tkl_reply_at(l->reply, i / SCRIPT_MAX);
}

static int damaged(const char *what)
{
    return tkl__fail(TKL_EDAMAGED, "%s of the table is damaged: import it again", what);
}

static int read_answer(const tkl_reply *reply, size_t i, question *q)
{
    const tkl_reply *span = tkl_reply_at(reply, 1 + 2 * i);
    const tkl_reply *fields = tkl_reply_at(reply, 2 + 2 * i);
    tkl_bytes bytes = tkl_reply_bytes(span);
    if (tkl_reply_kind(span) != TKL_REPLY_STRING ||
        (bytes.len != 0 && bytes.len != sizeof q->hit.span))
        return damaged("a chunk");
    q->hit.known = bytes.len > 0;
    if (!q->hit.known)
        return TKL_OK;
    if (tkl_reply_kind(fields) != TKL_REPLY_STRING)
        return damaged("a place");
    memcpy(&q->hit.span, bytes.data, bytes.len);
    q->hit.fields = tkl_reply_bytes(fields);
    return TKL_OK;
}

/* TKL_CONFLICT: the generation was another. */
static int read_answers(lookup *l, const char *generation)
{
    for (size_t i = 0; i < l->nopen; i += SCRIPT_MAX) {
        const tkl_reply *reply = reply_for(l, i);
        tkl_bytes current = tkl_reply_bytes(tkl_reply_at(reply, 0));
        if (tkl_reply_code(reply) != TKL_OK)
            return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
        if (current.len > 0 && strcmp(tkl_reply_str(tkl_reply_at(reply, 0)), generation) == 0)
            continue;
        int rc = tkl__ip_learn(l->ip, current);
        if (rc == TKL_OK)
            rc =
                current.len == 0 ? tkl__fail(TKL_NOTFOUND, "there is no such table") : TKL_CONFLICT;
        return rc;
    }
    for (size_t i = 0; i < l->nopen; i++) {
        question *q = &l->questions[l->open[i]];
        int rc = read_answer(reply_for(l, i), i % SCRIPT_MAX, q);
        if (rc != TKL_OK)
            return rc;
        tkl__ip_cache_put(l->ip->cache, q->address, &q->hit);
    }
    return TKL_OK;
}

static int ask_once(lookup *l)
{
    char generation[TKL__IP_GENERATION_SIZE];
    const char *generations[] = {generation};
    tkl__keys keys;
    tkl__ip_generation(l->ip, generation);
    int rc = tkl__ip_keys(l->ip, generations, 1, &keys);
    if (rc != TKL_OK)
        return rc;
    tkl_reply_free(l->reply);
    l->reply = NULL;
    rc = run_scripts(l, &keys, generation);
    if (rc == TKL_OK)
        rc = read_answers(l, generation);
    tkl__keys_free(&keys);
    return rc;
}

/* What the cache said belongs to an older generation then: all is asked again. */
static void forget_cached(lookup *l)
{
    l->nopen = l->count;
    for (size_t i = 0; i < l->count; i++) {
        l->questions[i].cached = false;
        l->open[i] = i;
    }
}

static int ask(lookup *l)
{
    int rc = l->nopen > 0 ? ask_once(l) : TKL_OK;
    while (rc == TKL_CONFLICT) {
        if (tkl__left(l->deadline) == 0)
            return tkl__fail(TKL_ETIMEOUT, "the table changed again and again");
        forget_cached(l);
        rc = ask_once(l);
    }
    return rc;
}

/* ---- Answers ------------------------------------------------------------- */

static int append_answer(const lookup *l, size_t i, tkl_ip_answer *answer, tkl__buf *text)
{
    const question *q = &l->questions[i];
    char network[TKL__IP_NETWORK_SIZE];
    tkl_bytes fields = q->hit.fields;
    *answer = (tkl_ip_answer){.address = l->texts[i], .known = q->hit.known};
    tkl__buf_add(text, answer->address.data, answer->address.len);
    if (!q->hit.known)
        return TKL_OK;
    if (q->cached)
        fields.data = l->cached.data + q->cached_at;
    if (!tkl__ip_unpack(fields, &answer->place))
        return damaged("a place");
    tkl__ip_format(&q->hit.span, network);
    answer->network.len = strlen(network);
    tkl__buf_addz(text, network);
    for (int f = 0; f < TKL__IP_FIELDS; f++) {
        const tkl_bytes *field = tkl__ip_field(&answer->place, f);
        tkl__buf_add(text, field->data, field->len);
    }
    return TKL_OK;
}

static void point(tkl_bytes *bytes, char **at)
{
    bytes->data = *at;
    *at += bytes->len;
}

/* In the order of append_answer(). */
static void point_answer(tkl_ip_answer *answer, char **at)
{
    point(&answer->address, at);
    point(&answer->network, at);
    for (int f = 0; f < TKL__IP_FIELDS; f++)
        point(tkl__ip_field(&answer->place, f), at);
}

/* One block: the object, its items, their texts. */
static int make_answers(const lookup *l, tkl_ip_answers **answers)
{
    tkl__buf text;
    tkl_ip_answer *items = malloc((l->count + 1) * sizeof *items);
    int rc = items ? TKL_OK : tkl__nomem();
    tkl__buf_init(&text);
    for (size_t i = 0; rc == TKL_OK && i < l->count; i++)
        rc = append_answer(l, i, &items[i], &text);
    size_t size = sizeof **answers + l->count * sizeof *items;
    char *block = rc == TKL_OK && !text.failed ? malloc(size + text.len + 1) : NULL;
    if (block) {
        *answers = (tkl_ip_answers *)block;
        tkl_ip_answer *own = (tkl_ip_answer *)(block + sizeof **answers);
        char *at = block + size;
        memcpy(own, items, l->count * sizeof *items);
        memcpy(at, text.data, text.len);
        for (size_t i = 0; i < l->count; i++)
            point_answer(&own[i], &at);
        **answers = (tkl_ip_answers){own, l->count};
    } else if (rc == TKL_OK) {
        rc = tkl__nomem();
    }
    tkl__buf_free(&text);
    free(items);
    return rc;
}

int tkl_ip_lookup(tkl_ip *ip, const tkl_bytes *addresses, size_t count, tkl_ip_answers **answers)
{
    lookup l = {.ip = ip,
                .texts = addresses,
                .count = count,
                .deadline = tkl__deadline(ip->client, ip->timeout_ms)};
    *answers = NULL;
    tkl__buf_init(&l.cached);
    int rc = begin(&l);
    if (rc == TKL_OK)
        rc = ask(&l);
    if (rc == TKL_OK)
        rc = make_answers(&l, answers);
    end(&l);
    return rc;
}

void tkl_ip_answers_free(tkl_ip_answers *answers)
{
    free(answers);
}
