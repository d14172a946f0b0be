/* SPDX-License-Identifier: MIT
 *
 * A consumer describes itself to a partition, for operators, along with a claim or renewal
 * (workers.inc.lua keeps the description):
 *
 *     ID THREADS DONE FAILED PID HOST PROGRAM LABEL
 *
 * The label comes last and may have any bytes; no other word has a space. With the description go
 * the counts since the last one: how long jobs waited and ran (tally.c). Every renewal carries
 * them, and a claim if the last description is old enough: the server hardly notices. A consumer
 * that begins to wait with counts that were not sent asks once more a second later.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/identity.h"
#include "core/options.h"
#include "core/token.h"
#include "queue/consumer.h"
#include "queue/scripts.h"

#define THREADS_MAX 1000000
/* How often the description goes with claims that wait, and with others; with these also three
 * times in a lease. */
#define WAITING_US 100000
#define BUSY_US    1000000

int tkl__queue_introduction_init(tkl_consumer *c, const tkl_consumer_options *options)
{
    char token[TKL_TOKEN_SIZE];
    tkl__token_new(token);
    memcpy(c->id, token, TKL__QUEUE_WORKER_LEN);
    c->threads = options && options->threads ? options->threads : 1;
    if (!options)
        return TKL_OK;
    if (options->label.len > TKL_LABEL_MAX)
        return tkl__fail(TKL_EINVAL, "a label has at most %d bytes", TKL_LABEL_MAX);
    c->label_len = options->label.len;
    if (c->label_len > 0)
        memcpy(c->label, options->label.data, c->label_len);
    return tkl__check_number("threads", options->threads, 0, THREADS_MAX);
}

static bool is_due(const tkl__queue_source *source, tkl__queue_occasion occasion, int64_t now)
{
    int64_t lease_us = source->consumer->lease_us;
    int64_t pause = occasion == TKL__QUEUE_WAITING ? WAITING_US
                    : lease_us / 3 < BUSY_US       ? lease_us / 3
                                                   : BUSY_US;
    return occasion == TKL__QUEUE_RENEWING || source->introduced == 0 ||
           now - source->introduced >= pause;
}

void tkl__queue_introduce(tkl__queue_source *source, tkl__queue_occasion occasion, tkl__buf *out,
                          size_t *counts)
{
    tkl_consumer *c = source->consumer;
    int64_t now = tkl__lease_now();
    tkl__identity me;
    pthread_mutex_lock(&c->mutex);
    bool due = is_due(source, occasion, now);
    if (due) {
        me = tkl__identity_get();
        tkl__buf_addf(out, "%s %d %" PRId64 " %" PRId64 " %ld %s %s ", c->id, c->threads, c->done,
                      c->failed, me.pid, me.host, me.program);
        tkl__buf_add(out, c->label, c->label_len);
        source->introduced = now;
    }
    *counts = out->len;
    if (due)
        tkl__queue_tally_take(&source->tally, out);
    pthread_mutex_unlock(&c->mutex);
}

bool tkl__queue_has_counts(tkl__queue_source *source)
{
    pthread_mutex_lock(&source->consumer->mutex);
    bool unsaid = !tkl__queue_tally_is_empty(&source->tally);
    pthread_mutex_unlock(&source->consumer->mutex);
    return unsaid;
}

/* Adds a call with some counts of a source. A worker that leaves claims behind stays on the
 * list. */
static void add_parting(tkl__batch *batch, tkl__queue_source *source)
{
    tkl__buf counts;
    tkl__buf_init(&counts);
    tkl__queue_tally_take(&source->tally, &counts);
    tkl_bytes args[] = {tkl_str(source->first ? "" : source->consumer->id),
                        {counts.data, counts.len}};
    tkl__invocation call = tkl__queue_call(source->partition, &tkl__lua_queue_part, args, 2);
    if (!source->first || counts.len > 0)
        tkl__batch_add(batch, &call);
    tkl__buf_free(&counts);
}

/* A server that cannot be reached does not delay the close: the counts are lost, and the worker's
 * row expires. */
void tkl__queue_part(tkl_consumer *c)
{
    tkl__batch batch;
    tkl_reply *replies = NULL;
    tkl__batch_init(&batch, c->client);
    for (size_t i = 0; i < c->nsources; i++) {
        tkl__queue_source *source = &c->sources[i];
        if (source->introduced == 0 || source->ear.failures > 0)
            continue;
        do {
            add_parting(&batch, source);
        } while (!tkl__queue_tally_is_empty(&source->tally));
    }
    int rc = tkl__batch_end(&batch, tkl__now() + TKL__QUEUE_PARTING_US, &replies);
    (void)rc;
    tkl_reply_free(replies);
}
