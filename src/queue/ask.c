/* SPDX-License-Identifier: MIT
 *
 * Requests about claims. A request without an answer is sent again, marked as a repeat: see "Lost
 * answers" in queue.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/onekey.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/token.h"
#include "queue/all.h"
#include "queue/consumer.h"
#include "queue/schedule.h"
#include "queue/scripts.h"

#define ERROR_MAX    1000
#define PROGRESS_MAX 1000
#define CLAIM_ARGS   10
/* A consumer that cannot fire a schedule looks this much later, so that others can fire it
 * first. */
#define UNFIT_MS 500

void tkl__queue_source_begin(tkl__queue_source *source)
{
    memcpy(source->token, source->consumer->id, TKL__QUEUE_WORKER_LEN);
    tkl__token_letters(source->token + TKL__QUEUE_WORKER_LEN,
                       TKL_TOKEN_SIZE - 1 - TKL__QUEUE_WORKER_LEN);
}

/* ---- Servers that cannot be reached; see waiting.h: "Silent servers" ------- */

bool tkl__queue_is_away(const tkl__queue_source *source)
{
    return source->consumer->nsources > 1 && tkl__ear_rests(&source->ear);
}

/* A server that is full or refuses writes counts as away, too: workers run unattended, and go on
 * when it has recovered. */
void tkl__queue_note_reached(tkl__queue_source *source, int code, int64_t began)
{
    if (tkl_is_transient(code))
        tkl__ear_silent(&source->consumer->wait, &source->ear, code, began);
    else
        tkl__ear_answered(&source->ear);
}

int64_t tkl__queue_ask_deadline(const tkl_consumer *c)
{
    int64_t end = tkl__queue_consumer_deadline(c);
    return c->nsources > 1 ? end - tkl__left(end) / 4 * 3 : end;
}

int64_t tkl__queue_consumer_deadline(const tkl_consumer *c)
{
    return tkl__deadline(c->client, c->timeout_ms);
}

/* ---- finish.lua ---------------------------------------------------------- */

const char *tkl_outcome_name(tkl_outcome outcome)
{
    static const char *const names[] = {[TKL_OUTCOME_DONE] = "done",
                                        [TKL_OUTCOME_FAILED] = "failed",
                                        [TKL_OUTCOME_DEAD] = "dead",
                                        [TKL_OUTCOME_RELEASED] = "released"};
    return (unsigned)outcome <= TKL_OUTCOME_RELEASED ? names[outcome] : "unknown";
}

/* Half of a backoff is random, so that jobs that failed together do not come back together. */
static double jitter(void)
{
    uint32_t random;
    tkl__random(&random, sizeof random);
    return 0.5 + random / (2.0 * UINT32_MAX);
}

int tkl__queue_check_outcome(tkl_outcome outcome, int64_t delay_ms)
{
    int rc = tkl__check_number("outcome", outcome, TKL_OUTCOME_DONE, TKL_OUTCOME_RELEASED);
    if (rc == TKL_OK && (delay_ms < 0 || delay_ms > TKL__QUEUE_DELAY_MAX_MS))
        rc = tkl__fail(TKL_EINVAL, "a delay is from 0 to ten years");
    return rc;
}

void tkl__queue_finish_make(tkl__queue_finish *f, const tkl__queue_partition *partition,
                            const char *id, const char *token, tkl_outcome outcome, tkl_bytes text,
                            int64_t delay_ms, bool counted)
{
    f->partition = partition;
    snprintf(f->id, sizeof f->id, "%s", id);
    snprintf(f->token, sizeof f->token, "%s", token);
    f->delay[0] = f->jitter[0] = '\0';
    if (delay_ms > 0)
        snprintf(f->delay, sizeof f->delay, "%" PRId64, delay_ms);
    if (outcome == TKL_OUTCOME_FAILED)
        tkl__double_text(jitter(), f->jitter);
    if (outcome != TKL_OUTCOME_DONE && text.len > ERROR_MAX)
        text.len = ERROR_MAX;
    f->args[0] = tkl_str(f->id);
    f->args[1] = tkl_str(f->token);
    f->args[2] = tkl_str(tkl_outcome_name(outcome));
    f->args[3] = text;
    f->args[4] = tkl_str(f->delay);
    f->args[5] = tkl_str(f->jitter);
    f->args[6] = partition->results;
    f->args[7] = tkl_str(counted ? "1" : "");
}

/* Makes the call of a finish, whose keys must be there. */
static tkl__invocation finish_call(const tkl__queue_finish *f)
{
    tkl__invocation call = tkl__queue_call(f->partition, &tkl__lua_queue_finish, f->args, 8);
    call.keys = f->keys;
    call.nkeys = TKL__QUEUE_KEYS + 1;
    return call;
}

/* ---- claim.lua ----------------------------------------------------------- */

static void add_done(tkl__queue_ask *ask)
{
    size_t bytes = 0, rich = 0;
    for (size_t i = 0; i < ask->ndone; i++) {
        ask->args[ask->nargs++] = (tkl_bytes){ask->done[i].member, TKL__QUEUE_MEMBER_LEN};
        bytes += ask->done[i].bytes;
        rich += ask->done[i].rich;
    }
    snprintf(ask->bytes_text, sizeof ask->bytes_text, "%zu", bytes);
    snprintf(ask->rich_text, sizeof ask->rich_text, "%zu", rich);
}

/* Makes room for the arguments. Fills in those for operators; their text stands behind the
 * array. */
static bool allocate_args(tkl__queue_ask *ask)
{
    size_t count = CLAIM_ARGS + ask->ndone, worker;
    tkl__buf text;
    tkl__buf_init(&text);
    tkl__queue_introduce(ask->source, ask->wait ? TKL__QUEUE_WAITING : TKL__QUEUE_CLAIMING, &text,
                         &worker);
    ask->args = text.failed ? NULL : malloc(count * sizeof *ask->args + text.len);
    if (ask->args) {
        char *copy = memcpy(ask->args + count, text.data, text.len);
        ask->args[8] = (tkl_bytes){copy, worker};
        ask->args[9] = (tkl_bytes){copy + worker, text.len - worker};
    }
    tkl__buf_free(&text);
    return ask->args != NULL;
}

static int make_args(tkl__queue_ask *ask)
{
    tkl__queue_source *source = ask->source;
    if (!allocate_args(ask))
        return tkl__nomem();
    ask->nargs = CLAIM_ARGS;
    add_done(ask);
    snprintf(ask->max_text, sizeof ask->max_text, "%zu", ask->max);
    ask->args[0] = tkl_str(ask->max > 0 ? source->token : "");
    ask->args[1] = tkl_str(source->consumer->lease);
    ask->args[2] = tkl_str(ask->max_text);
    ask->args[3] = ask->wait ? source->partition->channel : tkl_str("");
    ask->args[4] = tkl_str(ask->again ? "1" : "");
    ask->args[5] = source->partition->results;
    ask->args[6] = tkl_str(ask->bytes_text);
    ask->args[7] = tkl_str(ask->rich_text);
    return TKL_OK;
}

static tkl__invocation ask_call(tkl__queue_ask *ask)
{
    tkl__invocation call =
        tkl__queue_call(ask->source->partition, &tkl__lua_queue_claim, ask->args, ask->nargs);
    call.retry_safe = ask->again && ask->ndone == 0;
    return call;
}

#define CLAIM_ANSWER 8
/* Reads {now, look in ms, whether another looks, stale, schedules, ids, records, histories}, and
 * fires the schedules that are due. */
static void read_answer(tkl__queue_ask *ask, const tkl_reply *reply, int64_t deadline,
                        tkl__queue_haul *haul)
{
    const tkl_reply *stale = tkl_reply_at(reply, 3);
    bool unfit;
    if ((ask->code = tkl__expect_array(reply, CLAIM_ANSWER)) != TKL_OK)
        return;
    int64_t now = tkl__reply_number(tkl_reply_at(reply, 0));
    ask->server_now = now < 0 ? 0 : now;
    ask->look_ms = tkl__reply_number(tkl_reply_at(reply, 1));
    ask->other_looks = tkl_reply_int(tkl_reply_at(reply, 2)) != 0;
    for (size_t i = 0; i < tkl_reply_count(stale); i++) {
        int64_t index = tkl_reply_int(tkl_reply_at(stale, i));
        if (index >= 1 && (uint64_t)index <= ask->ndone)
            ask->done[index - 1].stale = true;
    }
    ask->fired = tkl__queue_fire_schedules(ask->source, tkl_reply_at(reply, 4), deadline, &unfit);
    if (unfit && ask->look_ms >= 0)
        ask->look_ms += UNFIT_MS;
    ask->got = tkl_reply_count(tkl_reply_at(reply, 5));
    size_t before = haul ? tkl__queue_haul_count(haul) : 0;
    if (haul)
        ask->code = tkl__queue_haul_add(haul, ask->source, reply, 5, ask->started, now);
    if (haul && ask->got > 0 && tkl__queue_haul_count(haul) == before)
        ask->look_ms = 0; /* all records are damaged; other jobs may be behind them */
}

/* ---- A batch ------------------------------------------------------------- */

/* Repeats a request without an answer. Its mark lets the server recognise the repeat. */
static void repeat_request(tkl_client *client, tkl__queue_batch *b, size_t index, int64_t deadline,
                           tkl_reply *replies)
{
    tkl__invocation call;
    tkl_reply *reply;
    if (index < b->nfinishes) {
        b->finishes[index].repeated = true;
        call = finish_call(&b->finishes[index]);
    } else {
        tkl__queue_ask *ask = &b->asks[index - b->nfinishes];
        ask->again = true;
        ask->args[4] = tkl_str("1");
        call = ask_call(ask);
    }
    call.retry_safe = true;
    call.doubted = true;
    int rc = tkl__run(client, &call, deadline, &reply);
    if (rc != TKL_OK)
        reply = tkl__reply_new_error(rc, tkl_errmsg());
    if (reply)
        tkl__reply_put(replies, index, reply);
}

/* Sets the error text from an error reply. Without a reply the text is already set. */
static int note_failure(int code, const tkl_reply *reply)
{
    return reply ? tkl__fail(code, "%s", tkl_reply_str(reply)) : code;
}

static void settle_finish(tkl__queue_finish *f, const tkl_reply *reply, int rc)
{
    int code = reply ? tkl_reply_code(reply) : rc;
    if (code != TKL_OK)
        f->code = note_failure(code, reply);
    else
        f->code = tkl__no_or_ok((int)tkl_reply_int(reply));
}

static void settle_ask(tkl__queue_ask *ask, const tkl_reply *reply, int rc, int64_t deadline,
                       tkl__queue_haul *haul)
{
    ask->code = reply ? tkl_reply_code(reply) : rc;
    if (ask->max > 0)
        ask->source->unsure = tkl_is_transient(ask->code);
    if (ask->code != TKL_OK)
        note_failure(ask->code, reply);
    else
        read_answer(ask, reply, deadline, haul);
}

static void note_why(tkl__queue_batch *b, size_t index, int code)
{
    if (b->whys && code != TKL_OK)
        b->whys[index] = strdup(tkl_errmsg());
}

/* Sends the calls of a batch. *replies is NULL when nothing was sent. */
static int run_calls(tkl_client *client, tkl__queue_batch *b, int64_t deadline, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    for (size_t i = 0; i < b->nfinishes; i++) {
        tkl__queue_finish *f = &b->finishes[i];
        tkl__batch_fail(&batch, tkl__queue_result_keys(f->partition, f->id, f->keys));
        tkl__invocation call = finish_call(f);
        tkl__batch_add(&batch, &call);
    }
    for (size_t i = 0; i < b->nasks; i++) {
        b->asks[i].started = tkl__lease_now();
        int rc = make_args(&b->asks[i]);
        tkl__batch_fail(&batch, rc);
        tkl__invocation call = ask_call(&b->asks[i]);
        if (rc == TKL_OK)
            tkl__batch_add(&batch, &call);
    }
    int rc = tkl__batch_run(&batch, deadline);
    *replies = tkl__batch_take(&batch);
    tkl__batch_free(&batch);
    for (size_t i = 0; i < tkl_reply_count(*replies); i++)
        if (tkl_reply_code(tkl_reply_at(*replies, i)) == TKL_EUNKNOWN)
            repeat_request(client, b, i, deadline, *replies);
    return rc;
}

void tkl__queue_batch_run(tkl_client *client, tkl__queue_batch *b, int64_t deadline,
                          tkl__queue_haul *haul)
{
    tkl_reply *replies;
    size_t before = haul ? tkl__queue_haul_count(haul) : 0;
    int rc = run_calls(client, b, deadline, &replies);
    if (replies && haul && (rc = tkl__queue_haul_own(haul, replies)) != TKL_OK)
        replies = NULL;
    for (size_t i = 0; i < b->nfinishes; i++) {
        settle_finish(&b->finishes[i], tkl_reply_at(replies, i), rc);
        free((char *)b->finishes[i].keys[TKL__QUEUE_KEYS].data);
        note_why(b, i, b->finishes[i].code);
    }
    for (size_t i = 0; i < b->nasks; i++) {
        size_t at = b->nfinishes + i;
        settle_ask(&b->asks[i], tkl_reply_at(replies, at), rc, deadline, haul);
        free(b->asks[i].args);
        note_why(b, at, b->asks[i].code);
    }
    if (!haul)
        tkl_reply_free(replies);
    else if (replies)
        tkl__queue_haul_drop_empty(haul, replies, before);
}

/* ---- leave.lua ----------------------------------------------------------- */

/* Notes the answer to a leave, and adds the jobs that the token got meanwhile. */
static int settle_leave(tkl__queue_source *source, const tkl_reply *reply, int rc, int64_t started,
                        tkl__queue_haul *haul)
{
    int code = reply ? tkl_reply_code(reply) : rc;
    source->unsure = code != TKL_OK;
    if (code != TKL_OK)
        return note_failure(code, reply);
    return tkl__queue_haul_add(haul, source, reply, 1, started,
                               tkl__reply_number(tkl_reply_at(reply, 0)));
}

int tkl__queue_ask_leave(tkl__queue_source *const *sources, size_t count, int64_t deadline,
                         tkl__queue_haul *haul)
{
    if (count == 0)
        return TKL_OK;
    tkl__batch batch;
    int64_t started = tkl__lease_now();
    tkl__batch_init(&batch, sources[0]->consumer->client);
    for (size_t i = 0; i < count; i++) {
        tkl_bytes args[] = {tkl_str(sources[i]->token), tkl_str(sources[i]->consumer->lease),
                            sources[i]->partition->channel};
        tkl__invocation call =
            tkl__queue_call(sources[i]->partition, &tkl__lua_queue_leave, args, 3);
        call.retry_safe = true;
        tkl__batch_add(&batch, &call);
    }
    int rc = tkl__batch_run(&batch, deadline);
    tkl_reply *replies = tkl__batch_take(&batch);
    tkl__batch_free(&batch);
    if (replies && (rc = tkl__queue_haul_own(haul, replies)) != TKL_OK)
        replies = NULL;
    tkl_error first = {.code = TKL_OK};
    size_t before = tkl__queue_haul_count(haul);
    for (size_t i = 0; i < count; i++)
        tkl__first_note(&first,
                        settle_leave(sources[i], tkl_reply_at(replies, i), rc, started, haul));
    if (replies)
        tkl__queue_haul_drop_empty(haul, replies, before);
    return tkl__first_tell(&first);
}

/* ---- With id and token --------------------------------------------------- */

int tkl_queue_finish(tkl_queue *queue, const char *id, const char *token, tkl_outcome outcome,
                     tkl_bytes text, int64_t delay_ms)
{
    tkl__queue_finish f = {0};
    tkl__queue_batch batch = {.finishes = &f, .nfinishes = 1};
    const char *digits;
    tkl__queue_partition *partition = tkl__queue_find_id(queue, id, &digits);
    int rc = tkl__queue_check_outcome(outcome, delay_ms);
    if (rc != TKL_OK)
        return rc;
    if (!partition || strlen(token) != TKL_TOKEN_SIZE - 1)
        return tkl__no(TKL_NOTOWNER);
    tkl__queue_finish_make(&f, partition, digits, token, outcome, text, delay_ms, false);
    tkl__queue_batch_run(queue->client, &batch, tkl__queue_deadline(queue), NULL);
    return f.code == TKL_NOTOWNER && f.repeated ? TKL_OK : f.code;
}

int tkl_queue_renew(tkl_queue *queue, const char *id, const char *token, int64_t lease_ms,
                    tkl_bytes progress)
{
    char lease[24], member[TKL__QUEUE_MEMBER_LEN + 1];
    const char *digits;
    tkl_reply *reply;
    tkl__queue_partition *partition = tkl__queue_find_id(queue, id, &digits);
    if (lease_ms < TKL__QUEUE_LEASE_MIN_MS || lease_ms > TKL__QUEUE_LEASE_MAX_MS ||
        progress.len > PROGRESS_MAX)
        return tkl__fail(TKL_EINVAL, "a lease of %d ms to 10 years, progress of at most %d bytes",
                         TKL__QUEUE_LEASE_MIN_MS, PROGRESS_MAX);
    if (!partition || strlen(token) != TKL_TOKEN_SIZE - 1)
        return tkl__no(TKL_NOTOWNER);
    snprintf(lease, sizeof lease, "%" PRId64, lease_ms);
    snprintf(member, sizeof member, "%s:%s", digits, token);
    tkl_bytes args[TKL__QUEUE_RENEW_ARGS + 1] = {tkl_str(lease), progress};
    args[TKL__QUEUE_RENEW_ARGS] = (tkl_bytes){member, TKL__QUEUE_MEMBER_LEN};
    tkl__invocation call =
        tkl__queue_call(partition, &tkl__lua_queue_renew, args, TKL__QUEUE_RENEW_ARGS + 1);
    call.retry_safe = true;
    int rc = tkl__run(queue->client, &call, tkl__queue_deadline(queue), &reply);
    if (rc == TKL_OK && tkl_reply_count(reply) > 0)
        rc = tkl__no(TKL_NOTOWNER);
    tkl_reply_free(reply);
    return rc;
}
