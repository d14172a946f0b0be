/* SPDX-License-Identifier: MIT
 *
 * Rate limits.
 *
 * One key per limit and subject, ns:limit:{subject}:name: the braces put all limits of a subject
 * into one slot, so that they can be checked as one on a cluster, too. All times are
 * microseconds of the server's clock. What the key holds, and for how long:
 *
 * TKL_GCRA, TKL_BUCKET: a string, "<letter><unit> <stamp> <debt>". What was taken is owed and
 *   shrinks evenly. The textbook keeps the moment at which nothing is owed any more (tat), in
 *   fractions; a double holds a moment to a quarter of a microsecond only, and a thousand small
 *   errors let a fast rate pass. So the debt is kept, multiplied by what makes it whole: with
 *   `count` in `period` microseconds, in lowest terms, one is a debt of `period`, and in a
 *   microsecond the debt shrinks by `count`. A quantity fits when the debt with it is at most
 *   capacity x period. That is the textbook's comparison times count, in whole numbers. The
 *   key expires when nothing is owed. Another unit than the rule's: the rule was changed, and the
 *   quantity owed stays the same.
 *
 *   With slices lent out (lease.c), " <epoch> <before> <latest>" follows: what was lent in
 *   that half second and in the one before. It is owed as well.
 *
 * TKL_WINDOW, TKL_CONCURRENCY: a sorted set of "<letter><ticket>:<i>" by the end of its life. The
 *   ticket is random, so members never collide, and a repeated request finds its own. The key
 *   expires with the last of them.
 *
 * TKL_WINDOW_APPROX: a string, "a<period> <index> <count> <count before>" of the stretch of
 *   time number index. The one before counts by the part of it that a window ending now would
 *   still cover. The key expires when neither counts.
 *
 * The letter tells the algorithms apart: one does not touch another's key.
 */
#include "limit/limit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/name.h"
#include "core/resp.h"
#include "core/token.h"
#include "core/wait.h"
#include "limit/scripts.h"

#define MAX_AT_ONCE  1000 /* entries of a window written in one go */
#define MAX_TOGETHER 64   /* limits checked as one */
#define EXACT        (INT64_C(1) << 53)
#define NARGS        6 /* of limit/check_all for each limit */

/* ---- Handles ------------------------------------------------------------- */

static int keep(tkl__buf *buf, tkl_bytes *out)
{
    char *copy = buf->failed ? NULL : malloc(buf->len);
    if (copy)
        memcpy(copy, buf->data, buf->len);
    *out = (tkl_bytes){copy, buf->len};
    tkl__buf_free(buf);
    return copy ? TKL_OK : tkl__nomem();
}

static int make_parts(tkl_limit *limit, tkl_bytes name)
{
    tkl__buf buf;
    tkl__buf_init(&buf);
    tkl__buf_addf(&buf, "%s:limit:{", limit->client->target.ns);
    int rc = keep(&buf, &limit->before);
    if (rc != TKL_OK)
        return rc;
    tkl__buf_init(&buf);
    tkl__buf_addz(&buf, "}:");
    tkl__name_escape(&buf, name);
    return keep(&buf, &limit->after);
}

static int check_name(tkl_bytes name, const char *what)
{
    if (name.len >= 1 && name.len <= TKL_NAME_MAX)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "the %s of a limit has 1 to %d bytes, not %zu", what, TKL_NAME_MAX,
                     name.len);
}

int tkl_limit_open(tkl_client *client, tkl_bytes name, const tkl_limit_rule *rule, tkl_limit **out)
{
    *out = NULL;
    int rc = check_name(name, "name");
    if (rc != TKL_OK)
        return rc;
    tkl_limit *limit = calloc(1, sizeof *limit);
    if (!limit)
        return tkl__nomem();
    limit->client = client;
    rc = tkl__rule_make(rule, &limit->rule);
    if (rc == TKL_OK)
        rc = make_parts(limit, name);
    if (rc == TKL_OK)
        *out = limit;
    else
        tkl_limit_close(limit);
    return rc;
}

void tkl_limit_close(tkl_limit *limit)
{
    if (!limit)
        return;
    free((char *)(uintptr_t)limit->before.data);
    free((char *)(uintptr_t)limit->after.data);
    free(limit);
}

int tkl__limit_key(const tkl_limit *limit, tkl_bytes subject, tkl__buf *out)
{
    int rc = check_name(subject, "key");
    if (rc != TKL_OK)
        return rc;
    tkl__buf_add(out, limit->before.data, limit->before.len);
    tkl__name_escape(out, subject);
    tkl__buf_add(out, limit->after.data, limit->after.len);
    return out->failed ? tkl__nomem() : TKL_OK;
}

int tkl__limit_explain(int rc)
{
    if (rc != TKL_ETYPE)
        return rc;
    return tkl__fail(rc, "another algorithm keeps this limit of this key; reset it first");
}

/* ---- Questions ----------------------------------------------------------- */

/* One check on its way. */
typedef struct question {
    const tkl_limit *limit;
    size_t start, len; /* of the server's key in the buffer */
    tkl_bytes args[NARGS];
    char cost[24], most[24], ahead[24];
    char ticket[TKL_TOKEN_SIZE];
    int64_t quantity; /* 0 when it never fits */
    bool never;       /* asks for less than nothing to be owed, so that it is denied */
} question;

static int check_quantity(const tkl__rule *rule, int64_t quantity)
{
    if (quantity < 0)
        return tkl__fail(TKL_EINVAL, "a quantity is 0 or more, not %" PRId64, quantity);
    if (tkl__rule_has_tickets(rule) && quantity > MAX_AT_ONCE && quantity <= rule->capacity)
        return tkl__fail(TKL_EINVAL, "this algorithm takes at most %d at once", MAX_AT_ONCE);
    return TKL_OK;
}

static tkl_bytes number_text(char text[24], int64_t number)
{
    return (tkl_bytes){text, (size_t)snprintf(text, 24, "%" PRId64, number)};
}

/* Debts as far ahead as numbers are exact. */
static tkl_bytes most_text(question *q, int64_t ahead_us)
{
    const tkl__rule *rule = &q->limit->rule;
    int64_t room = EXACT - rule->most;
    if (ahead_us == 0)
        return tkl_str(rule->most_text);
    int64_t ahead = ahead_us < room / rule->rate ? ahead_us * rule->rate : room;
    return number_text(q->most, rule->most + ahead);
}

static void ask_debt(question *q, int64_t ahead_us)
{
    const tkl__rule *rule = &q->limit->rule;
    q->args[1] = q->quantity == 1 ? tkl_str(rule->unit_text)
                                  : number_text(q->cost, q->quantity * rule->unit);
    q->args[2] = q->never ? tkl_str("-1") : most_text(q, ahead_us);
    q->args[3] = tkl_str(rule->rate_text);
    q->args[4] = q->args[5] = tkl_str("");
}

static void ask_window(question *q, int64_t ahead_us)
{
    const tkl__rule *rule = &q->limit->rule;
    if (tkl__rule_has_tickets(rule) && q->quantity > 0)
        tkl__token_new(q->ticket);
    q->args[1] = number_text(q->cost, q->quantity);
    q->args[2] = q->never ? tkl_str("-1") : tkl_str(rule->rate_text);
    q->args[3] = tkl_str(rule->unit_text);
    q->args[4] = tkl_str(q->ticket);
    ahead_us = ahead_us < EXACT / 4 ? ahead_us : EXACT / 4;
    q->args[5] = number_text(q->ahead, q->never ? -1 : ahead_us);
}

/* The server's key goes into `keys`, which may move: see key_of(). */
static int ask(question *q, const tkl_limit *limit, tkl_bytes subject, int64_t quantity,
               int64_t ahead_us, tkl__buf *keys)
{
    q->limit = limit;
    q->ticket[0] = '\0';
    q->never = quantity > limit->rule.capacity;
    q->quantity = q->never ? 0 : quantity;
    q->start = keys->len;
    int rc = tkl__limit_key(limit, subject, keys);
    q->len = keys->len - q->start;
    if (rc == TKL_OK)
        rc = check_quantity(&limit->rule, quantity);
    if (rc != TKL_OK)
        return rc;
    q->args[0] = tkl_str(limit->rule.head);
    if (tkl__rule_has_debt(&limit->rule))
        ask_debt(q, ahead_us);
    else
        ask_window(q, ahead_us);
    return TKL_OK;
}

static tkl_bytes key_of(const question *q, const tkl__buf *keys)
{
    return (tkl_bytes){keys->data + q->start, q->len};
}

/* Safe to repeat: what only looks, and what knows its ticket. */
static tkl__invocation invoke(const question *q, const tkl_bytes *key)
{
    bool quick = tkl__rule_has_debt(&q->limit->rule);
    return (tkl__invocation){
        .script = quick ? &tkl__lua_limit_check : &tkl__lua_limit_check_all,
        .keys = key,
        .nkeys = 1,
        .args = q->args,
        .nargs = quick ? 4 : NARGS,
        .retry_safe = q->quantity == 0 || tkl__rule_has_tickets(&q->limit->rule),
    };
}

/* ---- Answers ------------------------------------------------------------- */

static int conclude(const question *q, const tkl__finding *finding, tkl_limit_answer *answer,
                    tkl__times *times)
{
    tkl__limit_answer(&q->limit->rule, finding, answer, times);
    memcpy(answer->ticket, answer->allowed ? q->ticket : "", answer->allowed ? TKL_TOKEN_SIZE : 1);
    return answer->allowed ? TKL_OK : TKL_LIMITED;
}

/* A number, of limit/check. */
static int read_debt(const question *q, const tkl_reply *reply, tkl_limit_answer *answer,
                     tkl__times *times)
{
    int64_t owed = tkl_reply_int(reply);
    tkl__finding finding = {
        .fits = owed >= 0,
        .never = q->never,
        .quantity = q->quantity,
        .numbers = {owed >= 0 ? owed : -1 - owed},
    };
    return conclude(q, &finding, answer, times);
}

/* Four numbers, of limit/check_all, from the index on. */
static int read_numbers(const question *q, const tkl_reply *reply, size_t index,
                        tkl_limit_answer *answer, tkl__times *times)
{
    tkl__finding finding = {
        .fits = tkl_reply_int(tkl_reply_at(reply, index)) == 1,
        .never = q->never,
        .quantity = q->quantity,
    };
    for (size_t i = 0; i < 3; i++)
        finding.numbers[i] = tkl_reply_int(tkl_reply_at(reply, index + 1 + i));
    return conclude(q, &finding, answer, times);
}

static int read_reply(const question *q, const tkl_reply *reply, tkl_limit_answer *answer,
                      tkl__times *times)
{
    return tkl__rule_has_debt(&q->limit->rule) ? read_debt(q, reply, answer, times)
                                               : read_numbers(q, reply, 0, answer, times);
}

/* ---- Checking ------------------------------------------------------------ */

static int check(const tkl_limit *limit, tkl_bytes subject, int64_t quantity, int64_t ahead_us,
                 tkl_limit_answer *answer, tkl__times *times)
{
    question q;
    tkl__buf keys;
    tkl_reply *reply = NULL;
    tkl__buf_init(&keys);
    int rc = ask(&q, limit, subject, quantity, ahead_us, &keys);
    if (rc == TKL_OK) {
        tkl_bytes key = key_of(&q, &keys);
        tkl__invocation call = invoke(&q, &key);
        rc = tkl__run(limit->client, &call, tkl__call_deadline(limit->client, NULL), &reply);
    }
    if (rc == TKL_OK)
        rc = read_reply(&q, reply, answer, times);
    tkl_reply_free(reply);
    tkl__buf_free(&keys);
    return tkl__limit_explain(rc);
}

int tkl_limit_check(tkl_limit *limit, tkl_bytes key, int64_t quantity, tkl_limit_answer *answer)
{
    tkl_limit_answer unread;
    tkl__times times;
    if (!answer)
        answer = &unread;
    memset(answer, 0, sizeof *answer);
    return check(limit, key, quantity, 0, answer, &times);
}

/* ---- Many ---------------------------------------------------------------- */

/* Questions with what they need to be sent. */
typedef struct bundle {
    question *questions;
    tkl_bytes *keys;
    tkl__invocation *calls;
    tkl__buf buf; /* of the keys */
} bundle;

static void bundle_free(bundle *b)
{
    free(b->questions);
    free(b->keys);
    free(b->calls);
    tkl__buf_free(&b->buf);
}

static int bundle_make(bundle *b, const tkl_limit_item *items, size_t count)
{
    tkl__buf_init(&b->buf);
    b->questions = calloc(count + 1, sizeof *b->questions);
    b->keys = calloc(count + 1, sizeof *b->keys);
    b->calls = calloc(count + 1, sizeof *b->calls);
    int rc = b->questions && b->keys && b->calls ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        if (items[i].limit->client != items[0].limit->client)
            return tkl__fail(TKL_EINVAL, "the limits are of different clients");
        rc = ask(&b->questions[i], items[i].limit, items[i].key, items[i].quantity, 0, &b->buf);
    }
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        b->keys[i] = key_of(&b->questions[i], &b->buf);
        b->calls[i] = invoke(&b->questions[i], &b->keys[i]);
    }
    return rc;
}

static int read_one(const question *q, const tkl_reply *reply, tkl_limit_answer *answer)
{
    tkl__times times;
    int rc = tkl_reply_code(reply);
    if (rc == TKL_OK)
        rc = read_reply(q, reply, answer, &times);
    else
        tkl__fail(rc, "%s", tkl_reply_str(reply));
    return rc == TKL_LIMITED ? TKL_OK : tkl__limit_explain(rc);
}

int tkl_limit_check_many(const tkl_limit_item *items, size_t count, tkl_limit_answer *answers)
{
    bundle b;
    tkl_reply *replies = NULL;
    memset(answers, 0, count * sizeof *answers);
    if (count == 0)
        return TKL_OK;
    tkl_client *client = items[0].limit->client;
    int rc = bundle_make(&b, items, count);
    if (rc == TKL_OK)
        rc = tkl__run_many(client, b.calls, count, tkl__call_deadline(client, NULL), &replies);
    for (size_t i = 0; replies && i < count; i++) {
        int one = read_one(&b.questions[i], tkl_reply_at(replies, i), &answers[i]);
        rc = rc == TKL_OK ? one : rc;
    }
    tkl_reply_free(replies);
    bundle_free(&b);
    return rc;
}

/* ---- As one -------------------------------------------------------------- */

static bool same(tkl_bytes a, tkl_bytes b)
{
    return a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

static int check_together(const tkl_client *client, const bundle *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (same(b->keys[i], b->keys[j]))
                return tkl__fail(TKL_EINVAL, "the same limit of the same key twice");
    for (size_t i = 1; client->route->cluster && i < count; i++)
        if (tkl__slot_of(b->keys[i]) != tkl__slot_of(b->keys[0]))
            return tkl__fail(TKL_ECROSSSLOT,
                             "limits checked as one must be of the same key on a cluster");
    return TKL_OK;
}

static int run_together(tkl_client *client, const bundle *b, size_t count, tkl_reply **reply)
{
    tkl_bytes args[MAX_TOGETHER * NARGS];
    bool retry_safe = true;
    for (size_t i = 0; i < count; i++) {
        memcpy(&args[i * NARGS], b->questions[i].args, sizeof b->questions[i].args);
        retry_safe = retry_safe && b->calls[i].retry_safe;
    }
    tkl__invocation call = {
        .script = &tkl__lua_limit_check_all,
        .keys = b->keys,
        .nkeys = count,
        .args = args,
        .nargs = count * NARGS,
        .retry_safe = retry_safe,
    };
    return tkl__run(client, &call, tkl__call_deadline(client, NULL), reply);
}

int tkl_limit_check_all(const tkl_limit_item *items, size_t count, tkl_limit_answer *answers)
{
    bundle b;
    tkl__times times;
    tkl_reply *reply = NULL;
    memset(answers, 0, count * sizeof *answers);
    if (count < 1 || count > MAX_TOGETHER)
        return tkl__fail(TKL_EINVAL, "1 to %d limits can be checked as one", MAX_TOGETHER);
    tkl_client *client = items[0].limit->client;
    int rc = bundle_make(&b, items, count);
    if (rc == TKL_OK)
        rc = check_together(client, &b, count);
    if (rc == TKL_OK)
        rc = run_together(client, &b, count, &reply);
    bool answered = rc == TKL_OK;
    for (size_t i = 0; answered && i < count; i++)
        if (read_numbers(&b.questions[i], reply, 4 * i, &answers[i], &times) == TKL_LIMITED)
            rc = TKL_LIMITED;
    for (size_t i = 0; rc == TKL_LIMITED && i < count; i++)
        answers[i].ticket[0] = '\0';
    tkl_reply_free(reply);
    bundle_free(&b);
    return tkl__limit_explain(rc);
}

/* ---- Waiting ------------------------------------------------------------- */

static int64_t to_us(int64_t ms)
{
    return ms < 0 || ms > TKL__FOREVER / 1000 ? TKL__FOREVER : ms * 1000;
}

/* One trip: books its place, and sleeps until its turn. */
static int wait_in_order(const tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t wait_ms,
                         tkl_limit_answer *answer)
{
    tkl__times times;
    int rc = check(limit, key, quantity, to_us(wait_ms), answer, &times);
    if (rc == TKL_OK)
        tkl__sleep_until(tkl__now() + times.turn);
    return rc;
}

/* Whether it would fit in time. */
static bool worth_waiting(const tkl__times *times, int64_t deadline)
{
    return times->retry >= 0 && times->retry <= tkl__left(deadline);
}

static int wait_by_sleeping(const tkl_limit *limit, tkl_bytes key, int64_t quantity,
                            int64_t deadline, tkl_limit_answer *answer)
{
    for (;;) {
        tkl__times times;
        int rc = check(limit, key, quantity, 0, answer, &times);
        if (rc != TKL_LIMITED || !worth_waiting(&times, deadline))
            return rc;
        tkl__sleep_until(tkl__now() + times.retry);
    }
}

static int listen_anew(const tkl_limit *limit, tkl_bytes channel, tkl__waiter *waiter)
{
    tkl__unlisten(waiter);
    return tkl__listen(limit->client, channel, tkl_str("free"),
                       tkl__call_deadline(limit->client, NULL), waiter);
}

/* What is given back is announced; what ends by itself is known beforehand. */
static int wait_by_listening(const tkl_limit *limit, tkl_bytes key, tkl_bytes channel,
                             int64_t quantity, int64_t deadline, tkl_limit_answer *answer)
{
    tkl__waiter waiter = {.hub = NULL};
    tkl__event event = TKL__CUT;
    tkl__times times;
    tkl_bytes message;
    int rc = check(limit, key, quantity, 0, answer, &times);
    while (rc == TKL_LIMITED && times.retry >= 0 && tkl__left(deadline) > 0) {
        rc = event == TKL__CUT ? listen_anew(limit, channel, &waiter) : TKL_OK;
        if (rc == TKL_OK)
            rc = check(limit, key, quantity, 0, answer, &times);
        if (rc == TKL_LIMITED) {
            int64_t again = tkl__now() + times.retry;
            event = tkl__await(&waiter, again < deadline ? again : deadline, &message);
        }
    }
    tkl__unlisten(&waiter);
    return rc;
}

static int wait_for_slot(const tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t deadline,
                         tkl_limit_answer *answer)
{
    tkl__buf buf;
    tkl__buf_init(&buf);
    int rc = tkl__limit_key(limit, key, &buf);
    if (rc == TKL_OK)
        rc = wait_by_listening(limit, key, (tkl_bytes){buf.data, buf.len}, quantity, deadline,
                               answer);
    tkl__buf_free(&buf);
    return rc;
}

int tkl_limit_wait(tkl_limit *limit, tkl_bytes key, int64_t quantity, int64_t wait_ms,
                   tkl_limit_answer *answer)
{
    tkl_limit_answer unread;
    if (!answer)
        answer = &unread;
    memset(answer, 0, sizeof *answer);
    if (limit->rule.in_order)
        return wait_in_order(limit, key, quantity, wait_ms, answer);
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms);
    if (limit->rule.algorithm == TKL_CONCURRENCY)
        return wait_for_slot(limit, key, quantity, deadline, answer);
    return wait_by_sleeping(limit, key, quantity, deadline, answer);
}

/* ---- Giving back, renewing ---------------------------------------------- */

static int check_ticket(const tkl__rule *rule, const char *ticket)
{
    if (!tkl__rule_has_tickets(rule))
        return TKL_OK;
    if (!ticket || !tkl__is_token(ticket))
        return tkl__fail(TKL_EINVAL, "this takes the ticket of the answer");
    return TKL_OK;
}

/* Both scripts on tickets take the same: head, cost, rate, ticket. */
static int send_ticket(const question *q, const tkl__script *script, tkl_bytes key,
                       const char *ticket)
{
    bool has_ticket = tkl__rule_has_tickets(&q->limit->rule);
    tkl_bytes args[] = {q->args[0], q->args[1], q->args[3], tkl_str(has_ticket ? ticket : "")};
    tkl__invocation call = {.script = script,
                            .keys = &key,
                            .nkeys = 1,
                            .args = args,
                            .nargs = 4,
                            .retry_safe = has_ticket};
    tkl_reply *reply;
    tkl_client *client = q->limit->client;
    int rc = tkl__run(client, &call, tkl__call_deadline(client, NULL), &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = TKL_NOTFOUND;
    tkl_reply_free(reply);
    return tkl__limit_explain(rc);
}

static int use_ticket(tkl_limit *limit, const tkl__script *script, tkl_bytes key, int64_t quantity,
                      const char *ticket)
{
    question q;
    tkl__buf keys;
    int64_t most = limit->rule.capacity;
    if (tkl__rule_has_tickets(&limit->rule) && most > MAX_AT_ONCE)
        most = MAX_AT_ONCE;
    tkl__buf_init(&keys);
    int rc = ask(&q, limit, key, quantity < most ? quantity : most, 0, &keys);
    if (rc == TKL_OK)
        rc = check_ticket(&limit->rule, ticket);
    if (rc == TKL_OK && quantity > 0)
        rc = send_ticket(&q, script, key_of(&q, &keys), ticket);
    tkl__buf_free(&keys);
    return rc;
}

int tkl_limit_refund(tkl_limit *limit, tkl_bytes key, int64_t quantity, const char *ticket)
{
    return use_ticket(limit, &tkl__lua_limit_refund, key, quantity, ticket);
}

int tkl_limit_renew(tkl_limit *limit, tkl_bytes key, int64_t quantity, const char *ticket)
{
    if (limit->rule.algorithm != TKL_CONCURRENCY)
        return tkl__fail(TKL_EINVAL, "only slots of a concurrency limit can be renewed");
    return use_ticket(limit, &tkl__lua_limit_renew, key, quantity, ticket);
}

int tkl_limit_reset(tkl_limit *limit, tkl_bytes key)
{
    tkl__buf buf;
    tkl_reply *reply = NULL;
    tkl__buf_init(&buf);
    int rc = tkl__limit_key(limit, key, &buf);
    if (rc == TKL_OK) {
        const char *words[] = {"DEL", buf.data};
        const size_t lens[] = {3, buf.len};
        rc = tkl_call(limit->client, 2, words, lens, &(tkl_call_options){.retry_safe = true},
                      &reply);
    }
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = TKL_NOTFOUND;
    tkl_reply_free(reply);
    tkl__buf_free(&buf);
    return rc;
}
