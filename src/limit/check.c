/* SPDX-License-Identifier: MIT
 *
 * Checks a limit, several limits one by one, or several limits as one.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/resp.h"
#include "core/token.h"
#include "limit/limit.h"
#include "limit/scripts.h"
#include "pipeline/pipeline.h"

#define MAX_TOGETHER 64 /* limits checked as one */

/* ---- Questions ----------------------------------------------------------- */

/* Fills in a question. Its key goes into the buffer `keys`, which may move: see key_of(). */
static int fill_question(tkl__limit_question *q, const tkl_limit *limit, tkl_bytes subject,
                         int64_t quantity, int64_t ahead_us, tkl__buf *keys)
{
    *q = (tkl__limit_question){.limit = limit, .start = keys->len, .ahead_us = ahead_us};
    q->never = quantity > limit->rule.capacity;
    q->quantity = q->never ? 0 : quantity;
    int rc = tkl__limit_key(limit, subject, keys);
    q->len = keys->len - q->start;
    if (rc == TKL_OK)
        rc = tkl__limit_check_quantity(&limit->rule, quantity);
    q->charges = limit->rule.count_denied;
    if (rc == TKL_OK && tkl__limit_has_tickets(&limit->rule) && q->quantity > 0)
        tkl__token_new(q->ticket);
    return rc;
}

static tkl_bytes key_of(const tkl__limit_question *q, const tkl__buf *keys)
{
    return (tkl_bytes){keys->data + q->start, q->len};
}

/* The nine arguments of limit/check for a key. */
static void put_question(tkl__args *args, const tkl__limit_question *q)
{
    const tkl__limit_rule *rule = &q->limit->rule;
    tkl__args_str(args, rule->kind);
    if (q->quantity == 1)
        tkl__args_str(args, "1");
    else
        tkl__args_int(args, q->quantity);
    tkl__args_str(args, rule->capacity_text);
    tkl__args_str(args, rule->unit_text);
    tkl__args_str(args, rule->rate_text);
    tkl__args_str(args, q->ticket);
    if (q->ahead_us == 0)
        tkl__args_str(args, "0");
    else
        tkl__args_int(args, q->ahead_us);
    tkl__args_str(args, rule->stored_text);
    tkl__args_str(args, q->charges ? "1" : "0");
}

/* Whether a repeat is safe: for a question that only looks, and for one with a ticket. */
static bool may_repeat(const tkl__limit_question *q)
{
    return q->quantity == 0 || tkl__limit_has_tickets(&q->limit->rule);
}

/* ---- One ----------------------------------------------------------------- */

/* Asks a question whose key is in `keys`. */
static int ask_question(const tkl__limit_question *q, const tkl__buf *keys,
                        tkl_limit_answer *answer, tkl__limit_times *times)
{
    tkl_bytes key = key_of(q, keys);
    tkl_reply *reply = NULL;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, "1");
    put_question(&args, q);
    int rc = tkl__eval(q->limit->client, &tkl__lua_limit_check, &(tkl__keys){&key, 1}, &args,
                       tkl__limit_deadline(q->limit), may_repeat(q), &reply);
    tkl__args_free(&args);
    if (rc == TKL_OK)
        rc = tkl__limit_read(q, reply, 0, answer, times);
    tkl_reply_free(reply);
    return tkl__limit_explain(rc);
}

int tkl__limit_try(const tkl_limit *limit, tkl_bytes subject, int64_t quantity, int64_t ahead_us,
                   tkl_limit_answer *answer, tkl__limit_times *times)
{
    tkl__limit_question q;
    tkl__buf keys;
    tkl__buf_init(&keys);
    int rc = fill_question(&q, limit, subject, quantity, ahead_us, &keys);
    q.charges = false;
    if (rc == TKL_OK)
        rc = ask_question(&q, &keys, answer, times);
    tkl__buf_free(&keys);
    return rc;
}

int tkl_limit_check(tkl_limit *limit, tkl_bytes key, int64_t quantity, tkl_limit_answer *answer)
{
    tkl_limit_answer unread;
    tkl__limit_times times;
    tkl__limit_question q;
    tkl__buf keys;
    if (!answer)
        answer = &unread;
    *answer = (tkl_limit_answer){.allowed = false};
    tkl__buf_init(&keys);
    int rc = fill_question(&q, limit, key, quantity, 0, &keys);
    if (rc == TKL_OK)
        rc = ask_question(&q, &keys, answer, &times);
    rc = tkl__limit_count(limit, key_of(&q, &keys), quantity, true, rc);
    tkl__buf_free(&keys);
    return rc;
}

/* ---- One in a pipeline --------------------------------------------------- */

/* The operation's `own`: the question, and the server's key. */
typedef struct piped {
    tkl__limit_question question; /* first */
    int64_t quantity;
    size_t key_len;
    char key[];
} piped;

static int finish_check(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    tkl_limit_answer unread;
    tkl__limit_times times;
    const piped *own = operation->own;
    tkl_limit_answer *answer = operation->output ? operation->output : &unread;
    if (code == TKL_OK)
        code = tkl__limit_read(&own->question, reply, 0, answer, &times);
    return tkl__limit_count(own->question.limit, (tkl_bytes){own->key, own->key_len}, own->quantity,
                            false, tkl__limit_explain(code));
}

/* Makes the question and its key one block. */
static piped *keep_question(const tkl__limit_question *question, int64_t quantity, tkl_bytes key)
{
    piped *p = malloc(sizeof *p + key.len);
    if (!p)
        return NULL;
    *p = (piped){.question = *question, .quantity = quantity, .key_len = key.len};
    memcpy(p->key, key.data, key.len);
    return p;
}

int tkl_limit_check_in(tkl_pipeline *pipeline, tkl_limit *limit, tkl_bytes key, int64_t quantity,
                       tkl_limit_answer *answer, tkl_result *result)
{
    tkl__limit_question q;
    tkl__args args;
    tkl__buf keys;
    piped *own = NULL;
    if (answer)
        *answer = (tkl_limit_answer){.allowed = false};
    tkl__buf_init(&keys);
    int rc = fill_question(&q, limit, key, quantity, 0, &keys);
    tkl_bytes own_key = key_of(&q, &keys);
    if (rc == TKL_OK && !(own = keep_question(&q, quantity, own_key)))
        rc = tkl__nomem();
    if (rc == TKL_OK) {
        tkl__args_init(&args);
        tkl__args_str(&args, "1");
        put_question(&args, &q);
        rc = tkl__pipeline_eval(pipeline, limit->client, &tkl__lua_limit_check,
                                &(tkl__keys){&own_key, 1}, &args, may_repeat(&q),
                                &(tkl__operation){finish_check, limit, own, answer, result});
        tkl__args_free(&args);
    } else {
        tkl__result_set(result, rc);
    }
    tkl__buf_free(&keys);
    return rc;
}

/* ---- Several ------------------------------------------------------------- */

/* Questions with their keys. */
typedef struct bundle {
    size_t count;
    tkl__limit_question *questions;
    const tkl_limit_item *items;
    tkl_bytes *keys;
    tkl__buf buf; /* the bytes of the keys */
} bundle;

static void bundle_free(bundle *b)
{
    free(b->questions);
    free(b->keys);
    tkl__buf_free(&b->buf);
}

static int check_item(const tkl_limit_item *item, const tkl_limit_item *first)
{
    if (item->limit->client != first->limit->client)
        return tkl__fail(TKL_EINVAL, "the limits are of different clients");
    return TKL__CHECK_RESERVED(item);
}

static int bundle_make(bundle *b, const tkl_limit_item *items, size_t count)
{
    *b = (bundle){.count = count, .items = items};
    tkl__buf_init(&b->buf);
    b->questions = calloc(count, sizeof *b->questions);
    b->keys = calloc(count, sizeof *b->keys);
    int rc = b->questions && b->keys ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = check_item(&items[i], &items[0]);
        if (rc == TKL_OK)
            rc = fill_question(&b->questions[i], items[i].limit, items[i].key, items[i].quantity, 0,
                               &b->buf);
    }
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        b->keys[i] = key_of(&b->questions[i], &b->buf);
    return rc;
}

static void clear_answers(tkl_limit_answer *answers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        answers[i] = (tkl_limit_answer){.allowed = false};
}

/* ---- Each of them -------------------------------------------------------- */

static int read_one(const bundle *b, const tkl__batch *batch, size_t index,
                    tkl_limit_answer *answer)
{
    const tkl__limit_question *q = &b->questions[index];
    tkl__limit_times times;
    int rc = tkl__batch_code(batch, index);
    if (rc == TKL_OK)
        rc = tkl__limit_read(q, tkl__batch_reply(batch, index), 0, answer, &times);
    rc = tkl__limit_count(q->limit, b->keys[index], b->items[index].quantity, true, rc);
    return rc == TKL_LIMITED ? TKL_OK : tkl__limit_explain(rc);
}

static int run_each(const bundle *b, tkl_limit_answer *answers)
{
    const tkl_limit *limit = b->questions[0].limit;
    tkl_error first = {.code = TKL_OK};
    tkl__batch batch;
    tkl__batch_init(&batch, limit->client);
    for (size_t i = 0; i < b->count; i++) {
        tkl__args args;
        tkl__args_init(&args);
        tkl__args_str(&args, "1");
        put_question(&args, &b->questions[i]);
        tkl__batch_eval(&batch, &tkl__lua_limit_check, &(tkl__keys){&b->keys[i], 1}, &args,
                        may_repeat(&b->questions[i]));
        tkl__args_free(&args);
    }
    (void)tkl__batch_run(&batch, tkl__limit_deadline(limit));
    for (size_t i = 0; i < b->count; i++)
        tkl__first_note(&first, read_one(b, &batch, i, &answers[i]));
    tkl__batch_free(&batch);
    return tkl__first_tell(&first);
}

int tkl_limit_check_each(const tkl_limit_item *items, size_t count, tkl_limit_answer *answers)
{
    bundle b;
    if (count == 0)
        return TKL_OK;
    clear_answers(answers, count);
    int rc = bundle_make(&b, items, count);
    if (rc == TKL_OK)
        rc = run_each(&b, answers);
    bundle_free(&b);
    return rc;
}

/* ---- All of them as one -------------------------------------------------- */

static int check_together(const bundle *b)
{
    const tkl_client *client = b->questions[0].limit->client;
    for (size_t i = 0; i < b->count; i++)
        for (size_t j = 0; j < i; j++)
            if (tkl__same_bytes(b->keys[i], b->keys[j]))
                return tkl__fail(TKL_EINVAL, "the same limit of the same key twice");
    for (size_t i = 1; client->route->cluster && i < b->count; i++)
        if (tkl__slot_of(b->keys[i]) != tkl__slot_of(b->keys[0]))
            return tkl__fail(TKL_ECROSSSLOT,
                             "limits checked as one must be of the same key on a cluster");
    return TKL_OK;
}

/* Checks all limits together. When one quantity can never fit, takes nothing from the other
 * limits. */
static int run_together(const bundle *b, tkl_reply **reply)
{
    const tkl_limit *limit = b->questions[0].limit;
    bool take = true, retry_safe = true;
    tkl__args args;
    for (size_t i = 0; i < b->count; i++) {
        take = take && !b->questions[i].never;
        retry_safe = retry_safe && may_repeat(&b->questions[i]);
    }
    tkl__args_init(&args);
    tkl__args_str(&args, take ? "1" : "0");
    for (size_t i = 0; i < b->count; i++)
        put_question(&args, &b->questions[i]);
    int rc = tkl__eval(limit->client, &tkl__lua_limit_check, &(tkl__keys){b->keys, b->count}, &args,
                       tkl__limit_deadline(limit), retry_safe || !take, reply);
    tkl__args_free(&args);
    return rc;
}

static int read_together(const bundle *b, const tkl_reply *reply, tkl_limit_answer *answers)
{
    tkl__limit_times times;
    tkl_error first = {.code = TKL_OK};
    for (size_t i = 0; i < b->count; i++)
        tkl__first_note(&first, tkl__limit_read(&b->questions[i], reply, TKL__LIMIT_NUMBERS * i,
                                                &answers[i], &times));
    int rc = tkl__first_tell(&first);
    for (size_t i = 0; rc != TKL_OK && i < b->count; i++)
        answers[i].ticket[0] = '\0';
    for (size_t i = 0; i < b->count; i++) /* counts nothing for limits that would have allowed it */
        if (rc == TKL_OK || (rc == TKL_LIMITED && !answers[i].allowed))
            tkl__limit_count(b->items[i].limit, b->keys[i], b->items[i].quantity, true, rc);
    return rc;
}

int tkl_limit_check_all(const tkl_limit_item *items, size_t count, tkl_limit_answer *answers)
{
    bundle b;
    tkl_reply *reply = NULL;
    if (count < 1 || count > MAX_TOGETHER)
        return tkl__fail(TKL_EINVAL, "1 to %d limits can be checked as one", MAX_TOGETHER);
    clear_answers(answers, count);
    int rc = bundle_make(&b, items, count);
    if (rc == TKL_OK)
        rc = check_together(&b);
    if (rc == TKL_OK)
        rc = run_together(&b, &reply);
    if (rc == TKL_OK)
        rc = read_together(&b, reply, answers);
    tkl_reply_free(reply);
    bundle_free(&b);
    return tkl__limit_explain(rc);
}
