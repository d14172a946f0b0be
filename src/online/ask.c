/* SPDX-License-Identifier: MIT
 *
 * Online users: counting. Every script gets the start and the end of today, and is run again when
 * the server says that today is another day.
 *
 * To keep each script short, it is run for each chunk of a bitmap separately, all in one round
 * trip. For many days the oldest days are combined into one key first, some of them in each round
 * trip.
 */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/token.h"
#include "online/online.h"
#include "online/scripts.h"

/* ---- Asking -------------------------------------------------------------- */

/* A question: a script, and its arguments behind the kind. The script is run for each chunk of a
 * bitmap, and the numbers in its replies are added up. */
typedef struct question {
    const tkl__script *script;
    const char *part;        /* part of its first key */
    int64_t first_ago, days; /* days of the keys behind it */
    bool whole_days;         /* the script gets all chunks of a day at once */
    void (*write)(const struct question *q, const tkl__online_today *today, tkl__args *args);
    int (*check)(const struct question *q,
                 const tkl__online_today *today); /* TKL_EINVAL: the question makes no sense */
    const char *over;
    tkl_bytes user;
    tkl_online *online;
} question;

/* The elements of a reply: {code, now, number, another number}. */
enum { CODE, NOW, NUMBERS, NUMBERS_MAX = 2 };

/* Adds up the replies. Returns the first code that is not TKL_OK. */
static int read_answers(tkl_online *online, const tkl__batch *batch, int64_t numbers[NUMBERS_MAX])
{
    for (size_t i = 0; i < batch->count; i++) {
        const tkl_reply *reply = tkl__batch_reply(batch, i);
        tkl__online_learn(online, tkl__reply_number(tkl_reply_at(reply, NOW)));
        if (tkl_reply_int(tkl_reply_at(reply, CODE)) != TKL_OK)
            return tkl__no((int)tkl_reply_int(tkl_reply_at(reply, CODE)));
        for (size_t j = 0; j < NUMBERS_MAX; j++)
            tkl__add(&numbers[j], tkl_reply_int(tkl_reply_at(reply, NUMBERS + j)));
    }
    return TKL_OK;
}

/* Most days that one script combines: a few milliseconds. */
static int64_t days_at_once(tkl_online_kind kind)
{
    return kind == TKL_ONLINE_HLL ? 30 : 15;
}

#define FOLD_SIZE 64

/* Writes "fold:<token>:3". */
static void fold_part(const char *token, int64_t chunk, char part[FOLD_SIZE])
{
    snprintf(part, FOLD_SIZE, "fold:%s:%d", token, (int)(chunk % TKL__ONLINE_CHUNKS));
}

/* One round trip: combines these days with the days that were folded before, for each chunk. */
static int fold_some(const question *q, const tkl__online_today *today, const char *token,
                     int64_t first_ago, int64_t days, bool is_first)
{
    int64_t chunks = tkl__online_chunks(today->shape.kind);
    const tkl_bytes args[] = {tkl_str(tkl_online_kind_name(today->shape.kind)), tkl_str(q->over),
                              tkl_str(is_first ? "1" : "0")};
    tkl__batch batch;
    int rc = TKL_OK;
    tkl__batch_init(&batch, q->online->client);
    for (int64_t chunk = 0; rc == TKL_OK && chunk < chunks; chunk++) {
        char part[FOLD_SIZE];
        const char *parts[] = {part};
        tkl__online_days which = {first_ago, days, chunk, 1};
        tkl__keys keys;
        fold_part(token, chunk, part);
        rc = tkl__online_keys(q->online, today, parts, 1, &which, &keys);
        if (rc != TKL_OK)
            break;
        tkl__batch_add(&batch, &(tkl__invocation){.script = &tkl__lua_online_fold,
                                                  .keys = keys.items,
                                                  .nkeys = keys.count,
                                                  .args = args,
                                                  .nargs = 3,
                                                  .retry_safe = true});
        tkl__keys_free(&keys);
    }
    if (rc == TKL_OK)
        rc = tkl__batch_run(&batch, tkl__deadline(q->online->client, q->online->timeout_ms));
    tkl__batch_free(&batch);
    return rc;
}

/* The days that are left for the last script, and the key of the folded ones. */
typedef struct folded {
    char token[TKL_TOKEN_SIZE]; /* empty: nothing was folded */
    int64_t days;
} folded;

/* Folds the oldest days until one script can do the rest. */
static int fold_days(const question *q, const tkl__online_today *today, folded *f)
{
    int64_t at_once = days_at_once(today->shape.kind);
    bool is_first = true;
    int rc = TKL_OK;
    *f = (folded){.days = q->days};
    if (q->days > at_once)
        tkl__token_new(f->token);
    while (rc == TKL_OK && f->days > at_once - 1 && *f->token) {
        int64_t some = f->days - 1 < at_once ? f->days - 1 : at_once;
        f->days -= some;
        rc = fold_some(q, today, f->token, q->first_ago + f->days, some, is_first);
        is_first = false;
    }
    return rc;
}

/* Makes the keys of the last script for one chunk: `part`, the days, and the folded key. */
static int make_keys(const question *q, const tkl__online_today *today, const folded *f,
                     int64_t chunk, tkl__keys *keys)
{
    char part[FOLD_SIZE];
    const char *parts[] = {q->part, part};
    tkl__online_days which = {q->first_ago, f->days, chunk,
                              q->whole_days ? tkl__online_chunks(today->shape.kind) : 1};
    fold_part(f->token, chunk, part);
    return tkl__online_keys(q->online, today, parts, *f->token ? 2 : 1, &which, keys);
}

/* Swaps today and the folded key: scripts expect the folded key behind today. */
static void put_behind(tkl__keys *keys)
{
    tkl_bytes second = keys->items[1];
    keys->items[1] = keys->items[2];
    keys->items[2] = second;
}

/* Removes the folded keys early; they would expire anyway. */
static void remove_folded(const question *q, const tkl__keys *keys, size_t count)
{
    const char *words[1 + TKL__ONLINE_CHUNKS] = {"UNLINK"};
    size_t lens[1 + TKL__ONLINE_CHUNKS] = {6};
    tkl_call_options how = {.timeout_ms = q->online->timeout_ms, .retry_safe = true};
    for (size_t i = 0; i < count; i++) {
        words[1 + i] = keys[i].items[2].data;
        lens[1 + i] = keys[i].items[2].len;
    }
    if (tkl_call(q->online->client, (int)count + 1, words, lens, &how, NULL) != TKL_OK)
        tkl__begin(); /* forget that error: the caller must not see it */
}

static int ask_today(const question *q, const tkl__online_today *today, const folded *f,
                     int64_t numbers[NUMBERS_MAX])
{
    tkl__keys keys[TKL__ONLINE_CHUNKS]; /* remove_folded() needs them after the run */
    size_t made = 0, chunks = q->whole_days ? 1 : (size_t)tkl__online_chunks(today->shape.kind);
    tkl__batch batch;
    tkl__args args;
    int rc = TKL_OK;
    tkl__batch_init(&batch, q->online->client);
    tkl__args_init(&args);
    tkl__args_str(&args, tkl_online_kind_name(today->shape.kind));
    q->write(q, today, &args);
    tkl__online_add_today(&args, today);
    while (made < chunks) {
        rc = make_keys(q, today, f, (int64_t)made, &keys[made]);
        if (rc != TKL_OK)
            break;
        if (*f->token)
            put_behind(&keys[made]);
        tkl__batch_eval(&batch, q->script, &keys[made++], &args, true);
    }
    if (rc == TKL_OK)
        rc = tkl__batch_run(&batch, tkl__deadline(q->online->client, q->online->timeout_ms));
    if (rc == TKL_OK)
        rc = read_answers(q->online, &batch, numbers);
    if (*f->token && made == chunks)
        remove_folded(q, keys, chunks);
    tkl__batch_free(&batch);
    tkl__args_free(&args);
    for (size_t i = 0; i < made; i++)
        tkl__keys_free(&keys[i]);
    return rc;
}

static int ask_once(const question *q, int64_t numbers[NUMBERS_MAX])
{
    tkl__online_today today;
    folded f;
    memset(numbers, 0, NUMBERS_MAX * sizeof *numbers);
    int rc = tkl__online_find_today(q->online, &today);
    if (rc == TKL_OK)
        rc = q->check(q, &today);
    if (rc == TKL_OK)
        rc = fold_days(q, &today, &f);
    return rc == TKL_OK ? ask_today(q, &today, &f, numbers) : rc;
}

/* Runs the question, and runs it again until the server agrees which day it is. */
static int ask_count(const question *q, int64_t numbers[NUMBERS_MAX])
{
    int rc = TKL__ONLINE_ANOTHER_DAY;
    for (int try = 0; rc == TKL__ONLINE_ANOTHER_DAY && try < TKL__ONLINE_TRIES; try++)
        rc = ask_once(q, numbers);
    return rc == TKL__ONLINE_ANOTHER_DAY
               ? tkl__fail(TKL_EREFUSED, "the server's clock does not stand still")
               : rc;
}

int tkl__online_check_days(const tkl__online_today *today, int64_t days)
{
    if (today->shape.kind == TKL_ONLINE_HEARTBEAT)
        return days == 1 ? TKL_OK : tkl__fail(TKL_EINVAL, "a heartbeat knows no days");
    return tkl__check_number("days", days, 1, today->shape.keep_days);
}

static int check_count(const question *q, const tkl__online_today *today)
{
    if (today->shape.kind == TKL_ONLINE_HLL && q->days > 1 && strcmp(q->over, "every") == 0)
        return tkl__fail(TKL_EINVAL, "a HyperLogLog cannot tell who was there on every day");
    return tkl__online_check_days(today, q->days);
}

static void write_count(const question *q, const tkl__online_today *today, tkl__args *args)
{
    tkl__args_str(args, q->over);
    tkl__args_int(args, today->shape.window_ms);
}

int tkl_online_count(tkl_online *online, int64_t days, tkl_online_over over, int64_t *count)
{
    question q = {.script = &tkl__lua_online_count,
                  .days = days,
                  .part = "scratch",
                  .write = write_count,
                  .check = check_count,
                  .over = over == TKL_ONLINE_EVERY_DAY ? "every" : "any",
                  .online = online};
    int64_t numbers[NUMBERS_MAX] = {0};
    *count = 0;
    int rc = tkl__check_number("over", (int64_t)over, 0, TKL_ONLINE_EVERY_DAY);
    if (rc == TKL_OK)
        rc = ask_count(&q, numbers);
    if (rc == TKL_OK)
        *count = numbers[0];
    return rc;
}

int tkl__online_check_who(const tkl__online_today *today)
{
    if (today->shape.kind == TKL_ONLINE_HLL)
        return tkl__fail(TKL_EINVAL, "a HyperLogLog cannot tell who was there; it only counts");
    return TKL_OK;
}

static int check_question(const question *q, const tkl__online_today *today)
{
    int rc = tkl__online_check_who(today);
    if (rc == TKL_OK)
        rc = tkl__online_check_days(today, q->first_ago + 1);
    if (rc == TKL_OK) /* another handle may have marked larger numbers than this handle allows */
        rc = tkl__online_check_user(&today->shape, q->user, TKL_ONLINE_ID_MAX);
    return rc;
}

static void write_question(const question *q, const tkl__online_today *today, tkl__args *args)
{
    tkl__args_bytes(args, q->user);
    tkl__args_int(args, today->shape.window_ms);
}

int tkl_online_check(tkl_online *online, tkl_bytes user, int64_t days_ago, bool *present)
{
    question q = {.script = &tkl__lua_online_check,
                  .first_ago = days_ago,
                  .days = 1,
                  .part = "ids",
                  .whole_days = true,
                  .write = write_question,
                  .check = check_question,
                  .user = user,
                  .online = online};
    int64_t numbers[NUMBERS_MAX] = {0};
    *present = false;
    int rc = tkl__check_number("days_ago", days_ago, 0, TKL_ONLINE_KEEP_MAX);
    if (rc == TKL_OK)
        rc = ask_count(&q, numbers);
    *present = rc == TKL_OK && numbers[0] == 1;
    return rc;
}

static int check_returning(const question *q, const tkl__online_today *today)
{
    if (today->shape.kind == TKL_ONLINE_HEARTBEAT)
        return tkl__fail(TKL_EINVAL, "a heartbeat knows no days");
    return tkl__check_number("days", q->days - 1, 1, today->shape.keep_days - 1);
}

static void write_nothing(const question *q, const tkl__online_today *today, tkl__args *args)
{
    (void)q, (void)today, (void)args;
}

int tkl_online_returning(tkl_online *online, int64_t days, int64_t *returning, int64_t *fresh)
{
    question q = {.script = &tkl__lua_online_returning,
                  .days = days + 1,
                  .part = "scratch",
                  .write = write_nothing,
                  .check = check_returning,
                  .over = "any",
                  .online = online};
    int64_t numbers[NUMBERS_MAX] = {0}; /* users of today, and users of today who came before, too
                                           */
    int rc = tkl__check_number("days", days, 1, TKL_ONLINE_KEEP_MAX);
    if (rc == TKL_OK)
        rc = ask_count(&q, numbers);
    if (returning)
        *returning = rc == TKL_OK ? numbers[1] : 0;
    if (fresh)
        *fresh = rc == TKL_OK ? numbers[0] - numbers[1] : 0;
    return rc;
}
