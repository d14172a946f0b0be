/* SPDX-License-Identifier: MIT
 *
 * What the server is asked about claims. Requests that had no answer are repeated once it is known
 * to be so: see "Lost answers" in queue.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/reply.h"
#include "queue/all.h"
#include "queue/consumer.h"
#include "queue/schedule.h"
#include "queue/scripts.h"

#define ERROR_MAX  1000
#define LEAVE_KEYS 7
/* Whoever cannot fire a schedule looks so much later than the others, who may. */
#define UNFIT_MS 500

/* As claim.lua takes them; finish.lua has the key of the result instead of the last, leave.lua
 * takes the first seven. */
static const tkl__part parts[TKL__CLAIM_KEYS] = {
    TKL__META, TKL__JOBS,   TKL__READY,  TKL__DELAYED, TKL__ACTIVE, TKL__EXTRAS,     TKL__WAITERS,
    TKL__DEAD, TKL__UNIQUE, TKL__GROUPS, TKL__PARKED,  TKL__FLOW,   TKL__GROUP_TIMES};

bool tkl__may_pass(int rc)
{
    return rc == TKL_ENOTSENT || rc == TKL_EUNKNOWN || rc == TKL_ETIMEOUT || rc == TKL_EUNREADY;
}

void tkl__source_begin(tkl__source *source)
{
    uint64_t random;
    tkl__random(&random, sizeof random);
    snprintf(source->token, sizeof source->token, "%016" PRIx64, random);
}

/* ---- finish.lua ---------------------------------------------------------- */

static tkl_bytes outcome_word(tkl_outcome outcome)
{
    static const char *const words[] = {[TKL_JOB_DONE] = "done",
                                        [TKL_JOB_FAILED] = "failed",
                                        [TKL_JOB_DEAD] = "dead",
                                        [TKL_JOB_RELEASED] = "released"};
    return tkl_str(words[outcome]);
}

/* Half of a backoff is random, lest those that failed together come back together. */
static double jitter(void)
{
    uint32_t random;
    tkl__random(&random, sizeof random);
    return 0.5 + random / (2.0 * UINT32_MAX);
}

void tkl__finish_make(tkl__finish *f, const tkl__shard *shard, const char *id, const char *token,
                      tkl_outcome outcome, tkl_bytes text, int64_t delay_ms)
{
    f->shard = shard;
    snprintf(f->id, sizeof f->id, "%s", id);
    snprintf(f->token, sizeof f->token, "%s", token);
    f->delay[0] = f->jitter[0] = '\0';
    if (delay_ms > 0)
        snprintf(f->delay, sizeof f->delay, "%" PRId64, delay_ms);
    if (outcome == TKL_JOB_FAILED)
        snprintf(f->jitter, sizeof f->jitter, "%.6f", jitter());
    if (outcome != TKL_JOB_DONE && text.len > ERROR_MAX)
        text.len = ERROR_MAX;
    f->args[0] = tkl_str(f->id);
    f->args[1] = tkl_str(f->token);
    f->args[2] = outcome_word(outcome);
    f->args[3] = text;
    f->args[4] = tkl_str(f->delay);
    f->args[5] = tkl_str(f->jitter);
}

static int finish_call(tkl__finish *f, tkl__invocation *call)
{
    tkl__shard_keys(f->shard, parts, TKL__CLAIM_KEYS - 1, f->keys);
    int rc = tkl__result_key(f->shard, f->id, &f->keys[TKL__CLAIM_KEYS - 1]);
    *call = (tkl__invocation){.script = &tkl__lua_queue_finish,
                              .keys = f->keys,
                              .nkeys = TKL__CLAIM_KEYS,
                              .args = f->args,
                              .nargs = 6};
    return rc;
}

static void finish_free(tkl__finish *f)
{
    free((char *)f->keys[TKL__CLAIM_KEYS - 1].data);
}

/* ---- claim.lua ----------------------------------------------------------- */

/* Whether what was claimed next to it is done as well, and is of the same sort. */
static bool is_followed(const tkl__done *done)
{
    return done[1].number == done[0].number + 1 &&
           (done[0].kind == TKL__PLAIN) == (done[1].kind == TKL__PLAIN) &&
           memcmp(done[0].member + TKL__ID_LEN, done[1].member + TKL__ID_LEN,
                  TKL__MEMBER_LEN - TKL__ID_LEN) == 0;
}

/* Those that were done, in runs. */
static void add_done(tkl__ask *ask)
{
    size_t bytes = 0;
    for (size_t i = 0, end; i < ask->ndone; i = end) {
        tkl__done *first = &ask->done[i];
        tkl_bytes *count = &ask->args[ask->nargs++];
        for (end = i; end == i || (end < ask->ndone && is_followed(&ask->done[end - 1])); end++) {
            ask->args[ask->nargs++] = (tkl_bytes){ask->done[end].member, TKL__MEMBER_LEN};
            bytes += ask->done[end].bytes;
        }
        snprintf(first->run, sizeof first->run, "%s%u", first->kind == TKL__PLAIN ? "" : "r",
                 (unsigned)(end - i) % 10000);
        *count = tkl_str(first->run);
    }
    snprintf(ask->bytes_text, sizeof ask->bytes_text, "%zu", bytes);
    ask->args[5] = tkl_str(ask->bytes_text);
}

static int make_args(tkl__ask *ask)
{
    tkl__source *source = ask->source;
    ask->args = malloc((6 + 2 * ask->ndone) * sizeof *ask->args);
    if (!ask->args)
        return tkl__nomem();
    ask->nargs = 6;
    snprintf(ask->max_text, sizeof ask->max_text, "%zu", ask->max);
    ask->args[0] = tkl_str(ask->max > 0 ? source->token : "");
    ask->args[1] = tkl_str(source->consumer->lease);
    ask->args[2] = tkl_str(ask->max_text);
    ask->args[3] = ask->wait ? source->shard->channel : tkl_str("");
    ask->args[4] = tkl_str(ask->again ? "1" : "");
    add_done(ask);
    return TKL_OK;
}

static tkl__invocation ask_call(tkl__ask *ask)
{
    tkl__shard_keys(ask->source->shard, parts, TKL__CLAIM_KEYS, ask->keys);
    return (tkl__invocation){.script = &tkl__lua_queue_claim,
                             .keys = ask->keys,
                             .nkeys = TKL__CLAIM_KEYS,
                             .args = ask->args,
                             .nargs = ask->nargs,
                             .retry_safe = ask->again && ask->ndone == 0};
}

/* Rich jobs whose worker was lost at their last attempt: their end is reported here. */
static void bury_lost(const tkl__source *source, const tkl_reply *members, int64_t deadline)
{
    for (size_t i = 0; i < tkl_reply_count(members); i++) {
        tkl__finish f = {0};
        tkl__trip trip = {.finishes = &f, .nfinishes = 1};
        tkl_bytes member = tkl_reply_bytes(tkl_reply_at(members, i));
        if (member.len != TKL__MEMBER_LEN)
            continue;
        tkl__finish_make(&f, source->shard, member.data, member.data + TKL__ID_LEN, TKL_JOB_DEAD,
                         tkl_str("the worker was lost"), 0);
        tkl__trip_run(source->consumer->client, &trip, deadline, NULL);
    }
}

/* {now, look in ms, rank, stale, schedules, lost, ids, records, extras} */
static void read_answer(tkl__ask *ask, const tkl_reply *reply, int64_t deadline, tkl__haul *haul)
{
    const tkl_reply *stale = tkl_reply_at(reply, 3);
    bool unfit;
    ask->server_now = tkl_reply_int(tkl_reply_at(reply, 0));
    ask->look_ms = tkl_reply_int(tkl_reply_at(reply, 1));
    ask->rank = tkl_reply_int(tkl_reply_at(reply, 2));
    for (size_t i = 0; i < tkl_reply_count(stale); i++) {
        size_t place = (size_t)tkl_reply_int(tkl_reply_at(stale, i)) - 1;
        if (place < ask->ndone)
            ask->done[place].stale = true;
    }
    ask->fired = tkl__schedules_fire(ask->source, tkl_reply_at(reply, 4), deadline, &unfit);
    if (unfit && ask->look_ms >= 0)
        ask->look_ms += UNFIT_MS;
    bury_lost(ask->source, tkl_reply_at(reply, 5), deadline);
    ask->got = tkl_reply_count(tkl_reply_at(reply, 6));
    if (haul)
        ask->code = tkl__haul_add(haul, ask->source, reply, 6, ask->started);
}

/* ---- A trip -------------------------------------------------------------- */

/* What had no answer, once more, in a way that lets the server tell. */
static void repeat(tkl_client *client, tkl__trip *t, tkl__invocation *calls, size_t index,
                   int64_t deadline, tkl_reply *replies)
{
    tkl_reply *reply;
    if (index < t->nfinishes) {
        t->finishes[index].repeated = true;
    } else {
        tkl__ask *ask = &t->asks[index - t->nfinishes];
        ask->again = true;
        ask->args[4] = tkl_str("1");
    }
    calls[index].retry_safe = true;
    int rc = tkl__run(client, &calls[index], deadline, &reply);
    if (rc != TKL_OK)
        reply = tkl__reply_new_error(rc, tkl_errmsg());
    if (reply)
        tkl__reply_put(replies, index, reply);
}

/* Without a reply the reason is known already. */
static int note_failure(int code, const tkl_reply *reply)
{
    return reply ? tkl__fail(code, "%s", tkl_reply_str(reply)) : code;
}

static void settle_finish(tkl__finish *f, const tkl_reply *reply, int rc)
{
    int code = reply ? tkl_reply_code(reply) : rc;
    if (code != TKL_OK)
        f->code = note_failure(code, reply);
    else
        f->code = (int)tkl_reply_int(reply);
}

static void settle_ask(tkl__ask *ask, const tkl_reply *reply, int rc, int64_t deadline,
                       tkl__haul *haul)
{
    ask->code = reply ? tkl_reply_code(reply) : rc;
    if (ask->max > 0)
        ask->source->unsure = tkl__may_pass(ask->code);
    if (ask->code != TKL_OK)
        note_failure(ask->code, reply);
    else
        read_answer(ask, reply, deadline, haul);
}

static int run_calls(tkl_client *client, tkl__trip *t, tkl__invocation *calls, int64_t deadline,
                     tkl_reply **replies)
{
    int rc = TKL_OK;
    size_t count = t->nfinishes + t->nasks;
    for (size_t i = 0; rc == TKL_OK && i < t->nfinishes; i++)
        rc = finish_call(&t->finishes[i], &calls[i]);
    for (size_t i = 0; rc == TKL_OK && i < t->nasks; i++) {
        t->asks[i].started = tkl__lease_now();
        rc = make_args(&t->asks[i]);
        calls[t->nfinishes + i] = ask_call(&t->asks[i]);
    }
    if (rc == TKL_OK)
        rc = tkl__run_many(client, calls, count, deadline, replies);
    for (size_t i = 0; *replies && i < count; i++)
        if (tkl_reply_code(tkl_reply_at(*replies, i)) == TKL_EUNKNOWN)
            repeat(client, t, calls, i, deadline, *replies);
    return rc;
}

void tkl__trip_run(tkl_client *client, tkl__trip *t, int64_t deadline, tkl__haul *haul)
{
    tkl_reply *replies = NULL;
    tkl__invocation *calls = malloc((t->nfinishes + t->nasks) * sizeof *calls);
    int rc = calls ? run_calls(client, t, calls, deadline, &replies) : tkl__nomem();
    if (replies && haul && (rc = tkl__haul_own(haul, replies)) != TKL_OK)
        replies = NULL;
    for (size_t i = 0; i < t->nfinishes; i++) {
        settle_finish(&t->finishes[i], tkl_reply_at(replies, i), rc);
        finish_free(&t->finishes[i]);
    }
    for (size_t i = 0; i < t->nasks; i++) {
        settle_ask(&t->asks[i], tkl_reply_at(replies, t->nfinishes + i), rc, deadline, haul);
        free(t->asks[i].args);
    }
    free(calls);
    if (!haul)
        tkl_reply_free(replies);
}

/* ---- leave.lua ----------------------------------------------------------- */

/* A run of leave.lua. */
typedef struct leaving {
    tkl_bytes keys[LEAVE_KEYS], args[3];
} leaving;

static tkl__invocation leave_call(const tkl__source *source, leaving *l)
{
    tkl__shard_keys(source->shard, parts, LEAVE_KEYS, l->keys);
    l->args[0] = tkl_str(source->token);
    l->args[1] = tkl_str(source->consumer->lease);
    l->args[2] = source->shard->channel;
    return (tkl__invocation){.script = &tkl__lua_queue_leave,
                             .keys = l->keys,
                             .nkeys = LEAVE_KEYS,
                             .args = l->args,
                             .nargs = 3,
                             .retry_safe = true};
}

/* What one was given meanwhile. */
static int settle_leave(tkl__source *source, const tkl_reply *reply, int rc, int64_t started,
                        tkl__haul *haul)
{
    int code = reply ? tkl_reply_code(reply) : rc;
    source->unsure = code != TKL_OK;
    if (code != TKL_OK)
        return reply ? tkl__fail(code, "%s", tkl_reply_str(reply)) : code;
    return tkl__haul_add(haul, source, reply, 1, started);
}

int tkl__ask_leave(tkl__source *const *sources, size_t count, int64_t deadline, tkl__haul *haul)
{
    if (count == 0)
        return TKL_OK;
    tkl_reply *replies = NULL;
    leaving *leavings = malloc(count * sizeof *leavings);
    tkl__invocation *calls = malloc(count * sizeof *calls);
    int rc = leavings && calls ? TKL_OK : tkl__nomem();
    int64_t started = tkl__lease_now();
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        calls[i] = leave_call(sources[i], &leavings[i]);
    if (rc == TKL_OK)
        rc = tkl__run_many(sources[0]->consumer->client, calls, count, deadline, &replies);
    if (replies && (rc = tkl__haul_own(haul, replies)) != TKL_OK)
        replies = NULL;
    int first = TKL_OK;
    for (size_t i = 0; i < count; i++) {
        int code = settle_leave(sources[i], tkl_reply_at(replies, i), rc, started, haul);
        first = first == TKL_OK ? code : first;
    }
    free(leavings);
    free(calls);
    return first;
}
