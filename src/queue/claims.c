/* SPDX-License-Identifier: MIT
 *
 * What a consumer has claimed and not reported: a hash table by claim, and a list of each source
 * by age.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "queue/consumer.h"

#define BUCKETS_MIN 64

/* ---- The table ----------------------------------------------------------- */

/* The digits of id and token are random enough. */
static size_t hash(const char *member)
{
    size_t h = 0;
    for (int i = 0; i < TKL__MEMBER_LEN; i++)
        h = h * 31 + (unsigned char)member[i];
    return h;
}

static tkl__claim **bucket(const tkl_consumer *c, const char *member)
{
    return &c->buckets[hash(member) & (c->nbuckets - 1)];
}

/* Twice as many buckets. Without memory the chains just become longer. */
static bool grow(tkl_consumer *c)
{
    size_t n = c->nbuckets ? 2 * c->nbuckets : BUCKETS_MIN, old = c->nbuckets;
    tkl__claim **was = c->buckets, **now = calloc(n, sizeof *now);
    if (!now)
        return was != NULL;
    c->buckets = now;
    c->nbuckets = n;
    for (size_t i = 0; i < old; i++)
        for (tkl__claim *claim = was[i], *next; claim; claim = next) {
            next = claim->chain;
            tkl__claim **at = bucket(c, claim->member);
            claim->chain = *at;
            *at = claim;
        }
    free(was);
    return true;
}

static void insert(tkl_consumer *c, tkl__claim *claim)
{
    tkl__source *source = claim->source;
    tkl__claim **at = bucket(c, claim->member);
    claim->chain = *at;
    *at = claim;
    claim->prev = source->last;
    *(source->last ? &source->last->next : &source->first) = claim;
    source->last = claim;
    c->nclaims++;
    claim->number = ++c->last_number;
}

tkl__claim *tkl__claim_find(tkl_consumer *c, const tkl__shard *shard, const char *member)
{
    if (c->nbuckets == 0)
        return NULL;
    tkl__claim *claim = *bucket(c, member);
    while (claim && (claim->source->shard != shard || strcmp(claim->member, member) != 0))
        claim = claim->chain;
    return claim;
}

void tkl__claim_forget(tkl_consumer *c, tkl__claim *claim)
{
    tkl__source *source = claim->source;
    tkl__claim **at = bucket(c, claim->member);
    while (*at != claim)
        at = &(*at)->chain;
    *at = claim->chain;
    *(claim->prev ? &claim->prev->next : &source->first) = claim->next;
    *(claim->next ? &claim->next->prev : &source->last) = claim->prev;
    c->nclaims--;
    free(claim);
}

/* ---- What goes in -------------------------------------------------------- */

int tkl__claim_note(tkl__source *source, const char *id, const tkl__record *record, size_t bytes,
                    int64_t started)
{
    tkl_consumer *c = source->consumer;
    tkl__claim *claim = calloc(1, sizeof *claim);
    if (!claim)
        return tkl__nomem();
    memcpy(claim->member, id, TKL__ID_LEN);
    memcpy(claim->member + TKL__ID_LEN, source->token, TKL_CLAIM_TOKEN_SIZE);
    claim->source = source;
    claim->kind = record->kind;
    claim->answers = record->result_ms > 0;
    claim->bytes = bytes;
    claim->started = started;
    pthread_mutex_lock(&c->mutex);
    bool first = !source->first, room = c->nclaims < c->nbuckets || grow(c);
    if (room)
        insert(c, claim);
    pthread_mutex_unlock(&c->mutex);
    if (!room) {
        free(claim);
        return tkl__nomem();
    }
    if (first)
        tkl__source_keep(source);
    return TKL_OK;
}

bool tkl__claim_lasts(const tkl__claim *claim)
{
    return tkl__lease_now() - claim->started < claim->source->consumer->lease_us;
}

void tkl__claims_free(tkl_consumer *c)
{
    for (size_t i = 0; i < c->nsources; i++)
        while (c->sources[i].first)
            tkl__claim_forget(c, c->sources[i].first);
    free(c->buckets);
}
