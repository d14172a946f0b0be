/* SPDX-License-Identifier: MIT
 *
 * Lookups: addresses that are not in the cache are looked up in one round trip, with a command for
 * each address followed by a command for the current generation.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/rounds.h"
#include "ip/cache.h"
#include "ip/chunk.h"
#include "ip/ip.h"
#include "ip/place.h"

typedef struct question {
    unsigned char address[TKL__IP_SIZE];
    tkl__ip_hit hit;
    size_t cached_at; /* offset of the fields in `cached` */
    bool cached;
} question;

typedef struct lookup {
    tkl_ip *ip;
    const tkl_bytes *texts; /* the addresses as the caller wrote them */
    question *questions;
    size_t count;
    size_t *open; /* indexes of the questions for the server */
    size_t nopen;
    tkl__buf cached;  /* fields from the cache */
    tkl_reply *reply; /* the hits' fields point into it */
    int64_t deadline;
} lookup;

/* ---- Questions ----------------------------------------------------------- */

static int read_address(lookup *l, size_t i)
{
    if (!tkl__ip_parse(l->texts[i], l->questions[i].address))
        return TKL_OK;
    size_t shown = l->texts[i].len < 64 ? l->texts[i].len : 64;
    return tkl__fail(TKL_EINVAL, "'%.*s' is not an IP address", (int)shown,
                     l->texts[i].data ? l->texts[i].data : "");
}

static int begin_lookup(lookup *l)
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

static void end_lookup(lookup *l)
{
    free(l->questions);
    free(l->open);
    tkl__buf_free(&l->cached);
    tkl_reply_free(l->reply);
}

/* ---- Asking the server --------------------------------------------------- */

/* Asks for the last chunk that does not begin behind the address. In a chunk the byte after the 16
 * bytes of its first address is below 255. */
static void add_question(tkl__batch *batch, tkl_bytes ranges, const question *q)
{
    char bound[2 + TKL__IP_SIZE] = {'['};
    memcpy(bound + 1, q->address, TKL__IP_SIZE);
    bound[1 + TKL__IP_SIZE] = '\xff';
    TKL__BATCH_WORDS(batch, tkl_str("ZREVRANGEBYLEX"), ranges, {bound, sizeof bound}, tkl_str("-"),
                     tkl_str("LIMIT"), tkl_str("0"), tkl_str("1"));
}

/* Asks for the addresses, and behind them for the generation: so it is valid for all replies. */
static int run_lookup(lookup *l, const tkl__keys *keys)
{
    tkl_bytes table = keys->items[0], ranges = keys->items[1];
    tkl__batch batch;
    tkl__batch_init(&batch, l->ip->client);
    for (size_t i = 0; i < l->nopen; i++)
        add_question(&batch, ranges, &l->questions[l->open[i]]);
    TKL__BATCH_WORDS(&batch, tkl_str("HGET"), table, tkl_str("generation"));
    TKL__BATCH_WORDS(&batch, tkl_str("EXISTS"), ranges);
    return tkl__batch_end(&batch, l->deadline, &l->reply);
}

static int chunk_damaged(const char *what)
{
    return tkl__fail(TKL_EDAMAGED, "%s: import the table again", what);
}

/* TKL_CONFLICT: the generation was another one. */
static int check_generation(lookup *l, const char *generation)
{
    const tkl_reply *current = tkl_reply_at(l->reply, l->nopen);
    if (!tkl_reply_is_nil(current) && strcmp(tkl_reply_str(current), generation) == 0)
        return tkl_reply_int(tkl_reply_at(l->reply, l->nopen + 1)) == 1
                   ? TKL_OK
                   : chunk_damaged("the ranges are gone");
    int rc = tkl__ip_learn(l->ip, tkl_reply_bytes(current));
    if (rc != TKL_OK)
        return rc;
    return tkl_reply_bytes(current).len == 0
               ? tkl__fail(TKL_NOTFOUND, "there is no table '" TKL_FMT "'", TKL_ARG(l->ip->name))
               : TKL_CONFLICT;
}

static int read_answers(lookup *l)
{
    for (size_t i = 0; i < l->nopen; i++) {
        question *q = &l->questions[l->open[i]];
        const tkl_reply *found = tkl_reply_at(l->reply, i);
        q->hit = (tkl__ip_hit){.known = false};
        if (tkl_reply_count(found) > 0 &&
            !tkl__ip_chunk_find(tkl_reply_bytes(tkl_reply_at(found, 0)), q->address, &q->hit))
            return chunk_damaged("a chunk is damaged");
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
    rc = run_lookup(l, &keys);
    if (rc == TKL_OK)
        rc = check_generation(l, generation);
    if (rc == TKL_OK)
        rc = read_answers(l);
    tkl__keys_free(&keys);
    return rc;
}

/* Forgets hits of the cache, which belong to an older generation: all addresses are looked up
 * again. */
static void forget_cached(lookup *l)
{
    l->nopen = l->count;
    for (size_t i = 0; i < l->count; i++) {
        l->questions[i].cached = false;
        l->open[i] = i;
    }
}

static int ask_addresses(lookup *l)
{
    tkl__rounds rounds = {.idle = 0};
    int rc = l->nopen > 0 ? ask_once(l) : TKL_OK;
    while (rc == TKL_CONFLICT) {
        if (tkl__left(l->deadline) == 0)
            return tkl__fail(TKL_ETIMEOUT, "the table changed again and again");
        forget_cached(l);
        rc = tkl__pause_round(&rounds, l->ip->client, l->deadline, false);
        if (rc == TKL_OK)
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
        return chunk_damaged("a place is damaged");
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

/* Sets the pointers, in the order of append_answer(). */
static void point_answer(tkl_ip_answer *answer, char **at)
{
    point(&answer->address, at);
    point(&answer->network, at);
    for (int f = 0; f < TKL__IP_FIELDS; f++)
        point(tkl__ip_field(&answer->place, f), at);
}

/* Makes one block: the object, its items, their texts. */
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
    int rc = begin_lookup(&l);
    if (rc == TKL_OK)
        rc = ask_addresses(&l);
    if (rc == TKL_OK)
        rc = make_answers(&l, answers);
    end_lookup(&l);
    return rc;
}

void tkl_ip_answers_free(tkl_ip_answers *answers)
{
    free(answers);
}
