/* SPDX-License-Identifier: MIT
 *
 * The claims of a consumer that are not reported yet: in a hash table by claim, and in a list by
 * age for each source.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "queue/consumer.h"

#define BUCKETS_MIN 64

/* ---- The table ----------------------------------------------------------- */

/* A simple hash is enough, since the digits of tokens are random. */
static size_t hash(const char *member)
{
    size_t h = 0;
    for (int i = 0; i < TKL__QUEUE_MEMBER_LEN; i++)
        h = h * 31 + (unsigned char)member[i];
    return h;
}

static tkl__queue_claim **bucket_of(const tkl_consumer *c, const char *member)
{
    return &c->buckets[hash(member) & (c->nbuckets - 1)];
}

/* Doubles the buckets. Without memory the chains become longer. False: there are no buckets at
 * all. */
static bool grow_table(tkl_consumer *c)
{
    size_t n = c->nbuckets ? 2 * c->nbuckets : BUCKETS_MIN, old = c->nbuckets;
    tkl__queue_claim **was = c->buckets, **now = calloc(n, sizeof *now);
    if (!now)
        return was != NULL;
    c->buckets = now;
    c->nbuckets = n;
    for (size_t i = 0; i < old; i++)
        for (tkl__queue_claim *claim = was[i], *next; claim; claim = next) {
            next = claim->chain;
            tkl__queue_claim **at = bucket_of(c, claim->member);
            claim->chain = *at;
            *at = claim;
        }
    free(was);
    return true;
}

static void insert_claim(tkl_consumer *c, tkl__queue_claim *claim)
{
    tkl__queue_source *source = claim->source;
    tkl__queue_claim **at = bucket_of(c, claim->member);
    claim->chain = *at;
    *at = claim;
    claim->prev = source->last;
    *(source->last ? &source->last->next : &source->first) = claim;
    source->last = claim;
    c->nclaims++;
}

tkl__queue_claim *tkl__queue_claim_find(tkl_consumer *c, const tkl__queue_partition *partition,
                                        const char *member)
{
    if (c->nbuckets == 0)
        return NULL;
    tkl__queue_claim *claim = *bucket_of(c, member);
    while (claim && (claim->source->partition != partition || strcmp(claim->member, member) != 0))
        claim = claim->chain;
    return claim;
}

void tkl__queue_claim_forget(tkl_consumer *c, tkl__queue_claim *claim)
{
    tkl__queue_source *source = claim->source;
    tkl__queue_claim **at = bucket_of(c, claim->member);
    while (*at != claim)
        at = &(*at)->chain;
    *at = claim->chain;
    *(claim->prev ? &claim->prev->next : &source->first) = claim->next;
    *(claim->next ? &claim->next->prev : &source->last) = claim->prev;
    c->nclaims--;
    free(claim);
}

/* ---- Adding and finding claims ------------------------------------------- */

int tkl__queue_claim_note(tkl__queue_source *source, const char *id,
                          const tkl__queue_record *record, size_t bytes, int64_t since_ms,
                          const tkl__queue_lease *lease)
{
    tkl_consumer *c = source->consumer;
    tkl__queue_claim *claim = calloc(1, sizeof *claim);
    if (!claim)
        return tkl__nomem();
    snprintf(claim->member, sizeof claim->member, "%.*s:%s", TKL__QUEUE_ID_LEN, id, source->token);
    claim->source = source;
    claim->rich = tkl__queue_record_is_rich(record);
    claim->answers = record->result_ms > 0;
    claim->bytes = bytes;
    claim->claimed = claim->started = lease->started;
    claim->lease_us = lease->us;
    pthread_mutex_lock(&c->mutex);
    bool first = !source->first, room = c->nclaims < c->nbuckets || grow_table(c);
    if (room)
        insert_claim(c, claim);
    tkl__queue_tally_wait(&source->tally, record->kind, 1000 * (lease->stamp_ms - since_ms));
    pthread_mutex_unlock(&c->mutex);
    if (!room) {
        free(claim);
        return tkl__nomem();
    }
    if (first || lease->us < c->lease_us)
        tkl__queue_source_keep(source);
    return TKL_OK;
}

void tkl__queue_claim_renewed(tkl__queue_claim *claim, int64_t started)
{
    claim->started = started;
    claim->lease_us = claim->source->consumer->lease_us;
}

tkl__queue_partition *tkl__queue_claim_of(const tkl_job *job,
                                          char member[TKL__QUEUE_MEMBER_LEN + 1])
{
    const char *digits;
    tkl__queue_partition *partition = tkl__queue_find_id(job->queue, job->id, &digits);
    if (partition) {
        snprintf(member, TKL__QUEUE_MEMBER_LEN + 1, "%s:%.*s", digits, TKL_TOKEN_SIZE - 1,
                 job->token);
    }
    return partition;
}

bool tkl__queue_claim_lasts(const tkl__queue_claim *claim)
{
    return tkl__lease_now() - claim->started < claim->lease_us;
}

int64_t tkl_consumer_left_ms(tkl_consumer *c, const tkl_job *job)
{
    char member[TKL__QUEUE_MEMBER_LEN + 1];
    const tkl__queue_partition *partition = tkl__queue_claim_of(job, member);
    if (!partition)
        return 0;
    pthread_mutex_lock(&c->mutex);
    const tkl__queue_claim *claim = tkl__queue_claim_find(c, partition, member);
    bool held = claim && !claim->lost;
    int64_t left_us = held ? claim->started + claim->lease_us - tkl__lease_now() : 0;
    pthread_mutex_unlock(&c->mutex);
    return left_us > 0 ? left_us / 1000 : 0;
}

void tkl__queue_claims_free(tkl_consumer *c)
{
    for (size_t i = 0; i < c->nsources; i++)
        while (c->sources[i].first)
            tkl__queue_claim_forget(c, c->sources[i].first);
    free(c->buckets);
}
