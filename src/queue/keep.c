/* SPDX-License-Identifier: MIT
 *
 * The keeper's work for the claims of a source: it renews their leases, many in one call, and
 * reports lost claims to the owner.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "line/line.h"
#include "queue/consumer.h"
#include "queue/scripts.h"

/* Shortest time allowed for a renewal. */
#define PATIENCE_MIN_US 100000
static tkl__queue_source *source_of(tkl__kept *kept)
{
    return (tkl__queue_source *)(void *)((char *)kept - offsetof(tkl__queue_source, kept));
}

/* ---- When ---------------------------------------------------------------- */

/* With the mutex: whether the keeper renews a claim. It renews every hand-over once. */
static bool is_renewed(const tkl__queue_claim *claim)
{
    const tkl_consumer *c = claim->source->consumer;
    return !c->no_renewal || claim->lease_us < c->lease_us;
}

/* With the mutex: when the keeper is due for a claim. */
static int64_t due_at(const tkl__queue_claim *claim)
{
    const tkl_consumer *c = claim->source->consumer;
    if (claim->told || claim->reporting)
        return TKL__FOREVER;
    int64_t end = claim->started + claim->lease_us;
    if (!is_renewed(claim))
        return c->on_lost ? end : TKL__FOREVER;
    bool handed = claim->lease_us < c->lease_us;
    int64_t at = claim->started + (handed ? TKL__LINE_CONFIRM_US : c->lease_us / 3);
    if (!claim->source->suspect)
        return at;
    int64_t again = tkl__lease_now() + TKL__QUEUE_REPEAT_US;
    at = at > again ? at : again;
    return at < end ? at : end;
}

static int64_t first_due(const tkl__queue_source *source)
{
    int64_t first = TKL__FOREVER;
    for (const tkl__queue_claim *claim = source->first; claim; claim = claim->next) {
        int64_t at = due_at(claim);
        if (at < first)
            first = at;
    }
    return first;
}

static int64_t keeper_due(tkl__kept *kept)
{
    tkl__queue_source *source = source_of(kept);
    pthread_mutex_lock(&source->consumer->mutex);
    int64_t due = first_due(source);
    pthread_mutex_unlock(&source->consumer->mutex);
    return due == TKL__FOREVER ? due : tkl__lease_end(due);
}

void tkl__queue_source_keep(tkl__queue_source *source)
{
    int64_t due = keeper_due(&source->kept);
    if (due != TKL__FOREVER)
        tkl__keep(source->consumer->client, &source->kept, due);
}

/* A quarter of the shortest lease, to leave time for several attempts. */
static int64_t keeper_patience(tkl__kept *kept)
{
    tkl__queue_source *source = source_of(kept);
    tkl_consumer *c = source->consumer;
    int64_t shortest = c->lease_us;
    pthread_mutex_lock(&c->mutex);
    for (const tkl__queue_claim *claim = source->first; claim; claim = claim->next)
        if (claim->lease_us < shortest)
            shortest = claim->lease_us;
    pthread_mutex_unlock(&c->mutex);
    int64_t patience = shortest / 4;
    return patience > PATIENCE_MIN_US ? patience : PATIENCE_MIN_US;
}

/* ---- Losing -------------------------------------------------------------- */

static void tell_lost(tkl__queue_source *source, const char *member)
{
    char id[TKL_JOB_ID_SIZE];
    tkl_consumer *c = source->consumer;
    if (!c->on_lost)
        return;
    tkl__queue_show_id(source->partition, member, id);
    c->on_lost(id, member + TKL__QUEUE_ID_LEN + 1, c->arg);
}

/* Marks a claim as lost. Returns whether to report that: not when a report of the owner may have
 * ended the claim. */
static bool become_lost(tkl__queue_source *source, const char *member)
{
    tkl_consumer *c = source->consumer;
    pthread_mutex_lock(&c->mutex);
    tkl__queue_claim *claim = tkl__queue_claim_find(c, source->partition, member);
    bool first = claim && !claim->told && !claim->reporting;
    bool tell = first && !claim->unsure;
    if (first)
        claim->told = true;
    pthread_mutex_unlock(&c->mutex);
    return tell;
}

/* ---- Renewing ------------------------------------------------------------ */

static bool room_for_renewal(tkl__queue_source *source)
{
    if (!source->renewal.members)
        source->renewal.members = malloc(TKL__QUEUE_CLAIM_MAX * sizeof *source->renewal.members);
    if (!source->renewal.args)
        source->renewal.args =
            malloc((TKL__QUEUE_CLAIM_MAX + TKL__QUEUE_RENEW_ARGS) * sizeof *source->renewal.args);
    return source->renewal.members && source->renewal.args;
}

/* With the mutex: collects the claims that are due soon, or (`ended`) whose leases have ended. */
static size_t collect_due(tkl__queue_source *source, bool ended)
{
    const tkl_consumer *c = source->consumer;
    size_t n = 0;
    int64_t now = tkl__lease_now();
    for (tkl__queue_claim *claim = source->first; claim && n < TKL__QUEUE_CLAIM_MAX;
         claim = claim->next) {
        bool over = now - claim->started >= claim->lease_us;
        bool soon = due_at(claim) <= now + c->lease_us / 10 && is_renewed(claim);
        bool wanted = due_at(claim) != TKL__FOREVER && (ended ? over : soon && !over);
        if (wanted)
            memcpy(source->renewal.members[n++], claim->member, sizeof claim->member);
    }
    return n;
}

/* Marks claims whose leases have ended as lost. */
static void drop_ended(tkl__queue_source *source)
{
    pthread_mutex_lock(&source->consumer->mutex);
    size_t n = collect_due(source, true);
    pthread_mutex_unlock(&source->consumer->mutex);
    for (size_t i = 0; i < n; i++)
        if (become_lost(source, source->renewal.members[i]))
            tell_lost(source, source->renewal.members[i]);
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl__queue_source *source = source_of(kept);
    tkl_consumer *c = source->consumer;
    if (!room_for_renewal(source))
        return false;
    drop_ended(source);
    pthread_mutex_lock(&c->mutex);
    size_t n = source->renewal.count = collect_due(source, false);
    pthread_mutex_unlock(&c->mutex);
    source->renewal.started = tkl__lease_now();
    source->renewal.args[0] = tkl_str(c->lease);
    source->renewal.args[1] = tkl_str("");
    tkl__buf *words = &source->renewal.words;
    size_t worker = 0;
    tkl__buf_clear(words);
    if (n > 0)
        tkl__queue_introduce(source, TKL__QUEUE_RENEWING, words, &worker);
    source->renewal.args[2] = (tkl_bytes){words->data, worker};
    source->renewal.args[3] = (tkl_bytes){words->data + worker, words->len - worker};
    for (size_t i = 0; i < n; i++)
        source->renewal.args[i + TKL__QUEUE_RENEW_ARGS] =
            (tkl_bytes){source->renewal.members[i], TKL__QUEUE_MEMBER_LEN};
    *call = tkl__queue_call(source->partition, &tkl__lua_queue_renew, source->renewal.args,
                            n + TKL__QUEUE_RENEW_ARGS);
    call->retry_safe = true;
    return n > 0;
}

static void note_renewed(tkl__queue_source *source, const char *member)
{
    tkl_consumer *c = source->consumer;
    pthread_mutex_lock(&c->mutex);
    tkl__queue_claim *claim = tkl__queue_claim_find(c, source->partition, member);
    if (claim)
        tkl__queue_claim_renewed(claim, source->renewal.started);
    pthread_mutex_unlock(&c->mutex);
}

/* Reads the answer: the indexes of the claims that are gone, in order. */
static void read_renewal(tkl__queue_source *source, const tkl_reply *gone)
{
    size_t next = 0;
    for (size_t i = 0; i < source->renewal.count; i++) {
        const char *member = source->renewal.members[i];
        bool lost =
            next < tkl_reply_count(gone) && tkl_reply_int(tkl_reply_at(gone, next)) == (int64_t)i;
        next += lost;
        if (!lost)
            note_renewed(source, member);
        else if (become_lost(source, member))
            tell_lost(source, member);
    }
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    tkl__queue_source *source = source_of(kept);
    pthread_mutex_lock(&source->consumer->mutex);
    source->suspect = rc != TKL_OK;
    pthread_mutex_unlock(&source->consumer->mutex);
    if (rc == TKL_OK)
        read_renewal(source, reply);
}

const tkl__kept tkl__queue_source_kept = {
    .prepare = keeper_prepare,
    .done = keeper_done,
    .due = keeper_due,
    .patience = keeper_patience,
};
