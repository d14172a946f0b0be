/* SPDX-License-Identifier: MIT
 *
 * Renewing the leases of claims: by the keeper before they end, many in one call, and at once for
 * claims that came late. A claim that is lost is reported to the owner of the consumer.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "line/line.h"
#include "queue/consumer.h"
#include "queue/scripts.h"

/* The shortest time-out of a renewal. */
#define PATIENCE_MIN_US 100000
/* Pause before a failed renewal is repeated. */
#define REPEAT_US 100000

static tkl__queue_source *source_of(tkl__kept *kept)
{
    return (tkl__queue_source *)(void *)((char *)kept - offsetof(tkl__queue_source, kept));
}

/* Whether claim number `i` of a call is in the answer of renew.lua, which lists the claims that are
 * gone, in order. *next: position in the list, 0 at the beginning. */
static bool is_gone(const tkl_reply *gone, size_t *next, size_t i)
{
    bool listed =
        *next < tkl_reply_count(gone) && tkl_reply_int(tkl_reply_at(gone, *next)) == (int64_t)i;
    *next += listed;
    return listed;
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
    if (claim->lost || claim->reporting)
        return TKL__FOREVER;
    int64_t end = claim->started + claim->lease_us;
    if (!is_renewed(claim))
        return c->on_lost ? end : TKL__FOREVER;
    bool handed = claim->lease_us < c->lease_us;
    int64_t at = claim->started + (handed ? TKL__LINE_CONFIRM_US : c->lease_us / 3);
    if (!claim->source->suspect)
        return at;
    int64_t again = tkl__lease_now() + REPEAT_US;
    at = at > again ? at : again;
    return at < end ? at : end;
}

static int64_t keeper_due(tkl__kept *kept)
{
    tkl__queue_source *source = source_of(kept);
    int64_t first = TKL__FOREVER;
    pthread_mutex_lock(&source->consumer->mutex);
    for (const tkl__queue_claim *claim = source->first; claim; claim = claim->next) {
        int64_t at = due_at(claim);
        if (at < first)
            first = at;
    }
    pthread_mutex_unlock(&source->consumer->mutex);
    return first == TKL__FOREVER ? first : tkl__lease_end(first);
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

/* Marks a claim as lost and calls on_lost(), unless the owner's own report may have ended it. */
static void lose_claim(tkl__queue_source *source, const char *member)
{
    char id[TKL_JOB_ID_SIZE];
    tkl_consumer *c = source->consumer;
    pthread_mutex_lock(&c->mutex);
    tkl__queue_claim *claim = tkl__queue_claim_find(c, source->partition, member);
    bool first = claim && !claim->lost && !claim->reporting;
    bool calls = first && !claim->unsure && c->on_lost;
    if (first)
        claim->lost = true;
    pthread_mutex_unlock(&c->mutex);
    if (calls) {
        tkl__queue_show_id(source->partition, member, id);
        c->on_lost(id, member + TKL__QUEUE_ID_LEN + 1, c->arg);
    }
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

static bool has_ended(const tkl__queue_claim *claim, int64_t now)
{
    return due_at(claim) != TKL__FOREVER && now - claim->started >= claim->lease_us;
}

static bool is_due_soon(const tkl__queue_claim *claim, int64_t now)
{
    return is_renewed(claim) && now - claim->started < claim->lease_us &&
           due_at(claim) <= now + claim->source->consumer->lease_us / 10;
}

/* Copies the claims that are wanted to the list of the renewal. Returns how many. */
static size_t collect_claims(tkl__queue_source *source,
                             bool (*wanted)(const tkl__queue_claim *claim, int64_t now))
{
    size_t n = 0;
    int64_t now = tkl__lease_now();
    pthread_mutex_lock(&source->consumer->mutex);
    for (const tkl__queue_claim *claim = source->first; claim && n < TKL__QUEUE_CLAIM_MAX;
         claim = claim->next)
        if (wanted(claim, now))
            memcpy(source->renewal.members[n++], claim->member, sizeof claim->member);
    pthread_mutex_unlock(&source->consumer->mutex);
    return n;
}

static bool keeper_prepare(tkl__kept *kept, tkl__invocation *call)
{
    tkl__queue_source *source = source_of(kept);
    if (!room_for_renewal(source))
        return false;
    size_t ended = collect_claims(source, has_ended);
    for (size_t i = 0; i < ended; i++)
        lose_claim(source, source->renewal.members[i]);
    size_t n = source->renewal.count = collect_claims(source, is_due_soon);
    source->renewal.started = tkl__lease_now();
    tkl_bytes *args = source->renewal.args;
    tkl__buf *words = &source->renewal.words;
    size_t worker = 0;
    tkl__buf_clear(words);
    if (n > 0)
        tkl__queue_introduce(source, TKL__QUEUE_RENEWING, words, &worker);
    args[0] = tkl_str(source->consumer->lease);
    args[1] = tkl_str("");
    args[2] = (tkl_bytes){words->data, worker};
    args[3] = (tkl_bytes){words->data + worker, words->len - worker};
    for (size_t i = 0; i < n; i++)
        args[i + TKL__QUEUE_RENEW_ARGS] =
            (tkl_bytes){source->renewal.members[i], TKL__QUEUE_MEMBER_LEN};
    *call =
        tkl__queue_call(source->partition, &tkl__lua_queue_renew, args, n + TKL__QUEUE_RENEW_ARGS);
    call->retry_safe = true;
    return n > 0;
}

static void keeper_done(tkl__kept *kept, int rc, const tkl_reply *gone)
{
    tkl__queue_source *source = source_of(kept);
    tkl_consumer *c = source->consumer;
    size_t next = 0;
    pthread_mutex_lock(&c->mutex);
    source->suspect = rc != TKL_OK;
    pthread_mutex_unlock(&c->mutex);
    for (size_t i = 0; rc == TKL_OK && i < source->renewal.count; i++) {
        const char *member = source->renewal.members[i];
        if (is_gone(gone, &next, i)) {
            lose_claim(source, member);
            continue;
        }
        pthread_mutex_lock(&c->mutex);
        tkl__queue_claim *claim = tkl__queue_claim_find(c, source->partition, member);
        if (claim)
            tkl__queue_claim_renewed(claim, source->renewal.started);
        pthread_mutex_unlock(&c->mutex);
    }
}

const tkl__kept tkl__queue_source_kept = {
    .prepare = keeper_prepare,
    .done = keeper_done,
    .due = keeper_due,
    .patience = keeper_patience,
};

/* ---- Claims that came late ------------------------------------------------- */

/* Renews the claims of a haul at one source. `members` and `args` have room for all of its jobs. When
 * the server cannot be reached, the claims stay as they are: perhaps no other worker has them
 * yet. */
static void confirm_at(tkl__queue_source *source, tkl__queue_haul *haul,
                       char (*members)[TKL__QUEUE_MEMBER_LEN + 1], tkl_bytes *args)
{
    tkl_consumer *c = source->consumer;
    const tkl_jobs *jobs = tkl__queue_haul_jobs(haul);
    size_t count = 0, next = 0;
    tkl_reply *gone;
    args[0] = tkl_str(c->lease);
    args[1] = args[2] = args[3] = tkl_str("");
    for (size_t i = 0; i < jobs->count; i++)
        if (tkl__queue_claim_of(&jobs->items[i], members[count]) == source->partition) {
            args[TKL__QUEUE_RENEW_ARGS + count] =
                (tkl_bytes){members[count], TKL__QUEUE_MEMBER_LEN};
            count++;
        }
    tkl__invocation call = tkl__queue_call(source->partition, &tkl__lua_queue_renew, args,
                                           TKL__QUEUE_RENEW_ARGS + count);
    call.retry_safe = true;
    int64_t started = tkl__lease_now();
    if (count == 0 || tkl__run(c->client, &call, tkl__queue_ask_deadline(c), &gone) != TKL_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        bool lost = is_gone(gone, &next, i);
        pthread_mutex_lock(&c->mutex);
        tkl__queue_claim *claim = tkl__queue_claim_find(c, source->partition, members[i]);
        if (claim && lost) {
            tkl__queue_claim_forget(c, claim);
        } else if (claim) {
            tkl__queue_claim_renewed(claim, started);
            claim->lost = false;
        }
        pthread_mutex_unlock(&c->mutex);
        if (lost)
            tkl__queue_haul_drop(haul, source->partition, members[i]);
    }
    tkl_reply_free(gone);
    tkl__queue_source_keep(source);
}

/* Between a claim and its answer the program may be stopped, or the network may stall, for longer
 * than the lease: then other workers have the jobs. Without renewal, the program may end before the
 * keeper confirms a hand-over, so that is confirmed here. */
void tkl__queue_confirm(tkl_consumer *c, tkl__queue_haul *haul)
{
    size_t count = tkl__queue_haul_count(haul);
    if (count == 0)
        return;
    bool late = tkl__lease_now() - tkl__queue_haul_oldest(haul) >= c->lease_us / 2;
    if (!late && !(c->no_renewal && tkl__queue_haul_was_handed(haul)))
        return;
    char(*members)[TKL__QUEUE_MEMBER_LEN + 1] = malloc(count * sizeof *members);
    tkl_bytes *args = malloc((count + TKL__QUEUE_RENEW_ARGS) * sizeof *args);
    for (size_t i = 0; members && args && i < c->nsources; i++)
        confirm_at(&c->sources[i], haul, members, args);
    free(members);
    free(args);
}
