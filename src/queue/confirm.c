/* SPDX-License-Identifier: MIT
 *
 * Claims that came late. Between a claim and its answer the program may be stopped, or the network
 * may stall, for longer than the lease: then other workers have the jobs. So the consumer renews
 * claims that arrive after half of their lease before it returns them. It also renews hand-overs
 * when the keeper does not renew its claims: its process may end before the keeper confirms them.
 */
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "queue/consumer.h"
#include "queue/scripts.h"

/* The claims of a source in a haul. */
typedef struct batch {
    tkl__queue_source *source;
    char (*members)[TKL__QUEUE_MEMBER_LEN + 1];
    tkl_bytes *args; /* arguments of renew.lua */
    size_t count;
} batch;

static void collect_claims(batch *b, const tkl_jobs *jobs)
{
    b->count = 0;
    b->args[0] = tkl_str(b->source->consumer->lease);
    b->args[1] = b->args[2] = b->args[3] = tkl_str("");
    for (size_t i = 0; i < jobs->count; i++) {
        char *member = b->members[b->count];
        if (tkl__queue_claim_of(&jobs->items[i], member) == b->source->partition)
            b->args[TKL__QUEUE_RENEW_ARGS + b->count++] =
                (tkl_bytes){member, TKL__QUEUE_MEMBER_LEN};
    }
}

static void note_renewal(const batch *b, const char *member, bool lost, int64_t started)
{
    tkl_consumer *c = b->source->consumer;
    pthread_mutex_lock(&c->mutex);
    tkl__queue_claim *claim = tkl__queue_claim_find(c, b->source->partition, member);
    if (claim && lost) {
        tkl__queue_claim_forget(c, claim);
    } else if (claim) {
        tkl__queue_claim_renewed(claim, started);
        claim->told = false;
    }
    pthread_mutex_unlock(&c->mutex);
}

/* When the server cannot be reached, the claims stay as they are: perhaps no other worker has them
 * yet. */
static void renew_claims(batch *b, tkl__queue_haul *haul)
{
    tkl_reply *gone;
    tkl_client *client = b->source->consumer->client;
    tkl__invocation call = tkl__queue_call(b->source->partition, &tkl__lua_queue_renew, b->args,
                                           b->count + TKL__QUEUE_RENEW_ARGS);
    call.retry_safe = true;
    int64_t started = tkl__lease_now();
    if (tkl__run(client, &call, tkl__queue_ask_deadline(b->source->consumer), &gone) != TKL_OK)
        return;
    size_t next = 0;
    for (size_t i = 0; i < b->count; i++) {
        bool lost =
            next < tkl_reply_count(gone) && tkl_reply_int(tkl_reply_at(gone, next)) == (int64_t)i;
        next += lost;
        note_renewal(b, b->members[i], lost, started);
        if (lost)
            tkl__queue_haul_drop(haul, b->source->partition, b->members[i]);
    }
    tkl_reply_free(gone);
    tkl__queue_source_keep(b->source);
}

void tkl__queue_confirm(tkl_consumer *c, tkl__queue_haul *haul)
{
    const tkl_jobs *jobs = tkl__queue_haul_jobs(haul);
    if (jobs->count == 0)
        return;
    bool late = tkl__lease_now() - tkl__queue_haul_oldest(haul) >= c->lease_us / 2;
    if (!late && !(c->no_renewal && tkl__queue_haul_was_handed(haul)))
        return;
    /* One more: collect_claims() writes a member before it knows its source. */
    batch b = {.members = malloc((jobs->count + 1) * sizeof *b.members),
               .args = malloc((jobs->count + TKL__QUEUE_RENEW_ARGS) * sizeof *b.args)};
    for (size_t i = 0; b.members && b.args && i < c->nsources; i++) {
        b.source = &c->sources[i];
        collect_claims(&b, jobs);
        if (b.count > 0)
            renew_claims(&b, haul);
    }
    free(b.members);
    free(b.args);
}
