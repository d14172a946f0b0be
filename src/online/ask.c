/* SPDX-License-Identifier: MIT
 *
 * Online users: marking, counting and asking. Every script is told from when till when today lasts,
 * and is run again when the server says that today is another day.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/options.h"
#include "online/online.h"
#include "online/scripts.h"

/* Users in one script, and in one round trip. */
#define STEP     1000
#define TRIP_MAX 10000
/* How often the day may turn out to be another one. */
#define TRIES 5
/* Codes of the scripts. */
#define ANOTHER_DAY TKL_BUSY

/* ---- Users --------------------------------------------------------------- */

static int too_large(const tkl_online *online, tkl_bytes user)
{
    double bytes = 0;
    for (size_t i = 0; i < user.len; i++)
        bytes = bytes * 10 + (user.data[i] - '0');
    bytes /= 8;
    return tkl__fail(TKL_EINVAL,
                     "the id " TKL_FMT " would take %.0f MB for a day; max_id is %" PRId64
                     " (%.1f MB)",
                     TKL_ARG(user), bytes / 1e6, online->max_id, (double)online->max_id / 8e6);
}

/* A number in digits, up to max_id. */
static int check_number(const tkl_online *online, tkl_bytes user)
{
    int64_t number = 0;
    bool padded = user.len > 1 && *user.data == '0'; /* 007 and 7 would be two users elsewhere */
    for (size_t i = 0; i < user.len; i++)
        if (padded || !isdigit((unsigned char)user.data[i]))
            return tkl__fail(TKL_EINVAL,
                             "a user of a bitmap is a number in digits; an assigned one "
                             "takes names");
    for (size_t i = 0; i < user.len; i++) {
        number = number * 10 + (user.data[i] - '0');
        if (number > online->max_id)
            return user.len <= 20 ? too_large(online, user)
                                  : tkl__fail(TKL_EINVAL, "the id has %zu digits", user.len);
    }
    return TKL_OK;
}

static int check_user(const tkl_online *online, const tkl__online_shape *shape, tkl_bytes user)
{
    if (user.len < 1 || user.len > TKL_ONLINE_USER_MAX)
        return tkl__fail(TKL_EINVAL, "a user has %zu bytes, must have 1 to %d", user.len,
                         TKL_ONLINE_USER_MAX);
    return shape->kind == TKL_ONLINE_BITMAP ? check_number(online, user) : TKL_OK;
}

static int check_users(const tkl_online *online, const tkl__online_shape *shape,
                       const tkl_bytes *users, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = check_user(online, shape, users[i]);
    return rc;
}

/* ---- Marking ------------------------------------------------------------- */

static void add_start_and_end(tkl__args *args, const tkl__today *today)
{
    tkl__args_int(args, today->start_ms);
    tkl__args_int(args, today->till_ms);
}

static void write_mark(tkl__args *args, const tkl__today *today, const tkl_bytes *users,
                       size_t count)
{
    tkl__args_init(args);
    tkl__args_str(args, tkl_online_kind_name(today->shape.kind));
    tkl__args_str(args, today->shape.zone);
    tkl__args_int(args, today->shape.keep_days);
    tkl__args_int(args, today->shape.window_ms);
    add_start_and_end(args, today);
    for (size_t i = 0; i < count; i++)
        tkl__args_bytes(args, users[i]);
}

/* Sums up what was fresh; the first code that is not TKL_OK. */
static int read_marks(tkl_online *online, const tkl_reply *replies, int64_t *fresh)
{
    int rc = TKL_OK;
    *fresh = 0;
    for (size_t i = 0; i < tkl_reply_count(replies); i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        if (tkl_reply_code(reply) != TKL_OK)
            return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
        int code = (int)tkl_reply_int(tkl_reply_at(reply, 0));
        tkl__online_learn(online, tkl_reply_int(tkl_reply_at(reply, 1)));
        *fresh += tkl_reply_int(tkl_reply_at(reply, 2));
        rc = rc == TKL_OK ? code : rc;
    }
    return rc;
}

/* One round trip. */
static int mark_trip(tkl_online *online, const tkl__today *today, const tkl__keys *keys,
                     const tkl_bytes *users, size_t count, int64_t *fresh)
{
    tkl__args args[TRIP_MAX / STEP];
    tkl__invocation calls[TRIP_MAX / STEP];
    tkl_reply *replies = NULL;
    size_t steps = 0;
    int rc = TKL_OK;
    for (size_t from = 0; from < count; from += STEP, steps++) {
        size_t some = count - from < STEP ? count - from : STEP;
        write_mark(&args[steps], today, users + from, some);
        rc = args[steps].failed ? tkl__nomem() : rc;
        calls[steps] = (tkl__invocation){.script = &tkl__lua_online_mark,
                                         .keys = keys->items,
                                         .nkeys = keys->count,
                                         .args = args[steps].items,
                                         .nargs = args[steps].count,
                                         .retry_safe = true};
    }
    if (rc == TKL_OK)
        rc = tkl__run_many(online->client, calls, steps,
                           tkl__deadline(online->client, online->timeout_ms), &replies);
    if (rc == TKL_OK)
        rc = read_marks(online, replies, fresh);
    tkl_reply_free(replies);
    for (size_t i = 0; i < steps; i++)
        tkl__args_free(&args[i]);
    return rc;
}

/* Some users, until the server agrees which day it is. */
static int mark_some(tkl_online *online, const tkl_bytes *users, size_t count, int64_t *fresh)
{
    static const char *const parts[] = {"settings", "ids"};
    int rc = ANOTHER_DAY;
    for (int try = 0; rc == ANOTHER_DAY && try < TRIES; try++) {
        tkl__today today;
        tkl__keys keys;
        rc = tkl__online_today(online, &today);
        if (rc == TKL_OK)
            rc = check_users(online, &today.shape, users, count);
        if (rc == TKL_EINVAL && try == 0 && !online->given) { /* it may have another kind by now */
            rc = tkl__online_changed(online);
            rc = rc == TKL_OK ? ANOTHER_DAY : rc;
            continue;
        }
        if (rc == TKL_OK)
            rc = tkl__online_keys(online, &today, parts, 2, 0, 1, &keys);
        if (rc != TKL_OK)
            return rc;
        rc = mark_trip(online, &today, &keys, users, count, fresh);
        tkl__keys_free(&keys);
        if (rc == TKL_CONFLICT) {
            rc = tkl__online_changed(online);
            rc = rc == TKL_OK ? ANOTHER_DAY : rc;
        }
    }
    return rc == ANOTHER_DAY ? tkl__fail(TKL_EREFUSED, "the server's clock does not stand still")
                             : rc;
}

int tkl_online_mark(tkl_online *online, const tkl_bytes *users, size_t count, int64_t *fresh)
{
    int64_t total = 0;
    tkl__today today;
    int rc = TKL_OK;
    if (fresh)
        *fresh = 0;
    if (count > TRIP_MAX) { /* nobody is marked when one of them cannot be */
        rc = tkl__online_today(online, &today);
        if (rc == TKL_OK)
            rc = check_users(online, &today.shape, users, count);
    }
    for (size_t from = 0; rc == TKL_OK && from < count; from += TRIP_MAX) {
        int64_t some = 0;
        rc = mark_some(online, users + from, count - from < TRIP_MAX ? count - from : TRIP_MAX,
                       &some);
        total += some;
    }
    if (fresh)
        *fresh = total;
    return rc;
}

/* ---- Asking -------------------------------------------------------------- */

/* What is asked: a script, and what it gets behind the kind. */
typedef struct question {
    const tkl__script *script;
    const char *part;        /* of its first key */
    int64_t first_ago, days; /* of those behind it */
    void (*write)(const struct question *q, const tkl__today *today, tkl__args *args);
    int (*check)(const struct question *q, const tkl__today *today); /* whether it makes sense */
    const char *over;
    tkl_bytes user;
    const tkl_online *online;
} question;

static int ask_once(tkl_online *online, const question *q, tkl_reply **reply)
{
    tkl__today today;
    tkl__keys keys;
    tkl__args args;
    *reply = NULL;
    int rc = tkl__online_today(online, &today);
    if (rc == TKL_OK)
        rc = q->check(q, &today);
    if (rc == TKL_OK)
        rc = tkl__online_keys(online, &today, &q->part, 1, q->first_ago, q->days, &keys);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&args);
    tkl__args_str(&args, tkl_online_kind_name(today.shape.kind));
    q->write(q, &today, &args);
    add_start_and_end(&args, &today);
    rc = tkl__eval(online->client, q->script, &keys, &args,
                   tkl__deadline(online->client, online->timeout_ms), true, reply);
    tkl__args_free(&args);
    tkl__keys_free(&keys);
    if (rc == TKL_OK)
        tkl__online_learn(online, tkl_reply_int(tkl_reply_at(*reply, 1)));
    return rc == TKL_OK ? (int)tkl_reply_int(tkl_reply_at(*reply, 0)) : rc;
}

/* Until the server agrees which day it is. */
static int ask(tkl_online *online, const question *q, tkl_reply **reply)
{
    int rc = ANOTHER_DAY;
    *reply = NULL;
    for (int try = 0; rc == ANOTHER_DAY && try < TRIES; try++) {
        tkl_reply_free(*reply);
        rc = ask_once(online, q, reply);
    }
    return rc == ANOTHER_DAY ? tkl__fail(TKL_EREFUSED, "the server's clock does not stand still")
                             : rc;
}

static int check_days(const tkl__today *today, int64_t days)
{
    if (today->shape.kind == TKL_ONLINE_HEARTBEAT)
        return days == 1 ? TKL_OK : tkl__fail(TKL_EINVAL, "a heartbeat knows no days");
    return tkl__check_number("days", days, 1, today->shape.keep_days);
}

static int check_count(const question *q, const tkl__today *today)
{
    if (today->shape.kind == TKL_ONLINE_HLL && q->days > 1 && strcmp(q->over, "every") == 0)
        return tkl__fail(TKL_EINVAL, "a HyperLogLog cannot tell who was there on every day");
    return check_days(today, q->days);
}

static void write_count(const question *q, const tkl__today *today, tkl__args *args)
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
                  .over = over == TKL_ONLINE_EVERY_DAY ? "every" : "any"};
    tkl_reply *reply = NULL;
    *count = 0;
    int rc = tkl__check_number("over", (int64_t)over, 0, TKL_ONLINE_EVERY_DAY);
    if (rc == TKL_OK)
        rc = ask(online, &q, &reply);
    *count = rc == TKL_OK ? tkl_reply_int(tkl_reply_at(reply, 2)) : 0;
    tkl_reply_free(reply);
    return rc;
}

static int check_question(const question *q, const tkl__today *today)
{
    if (today->shape.kind == TKL_ONLINE_HLL)
        return tkl__fail(TKL_EINVAL, "a HyperLogLog cannot tell who was there; it only counts");
    int rc = check_days(today, q->first_ago + 1);
    return rc == TKL_OK ? check_user(q->online, &today->shape, q->user) : rc;
}

static void write_question(const question *q, const tkl__today *today, tkl__args *args)
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
                  .write = write_question,
                  .check = check_question,
                  .user = user,
                  .online = online};
    tkl_reply *reply = NULL;
    *present = false;
    int rc = tkl__check_number("days_ago", days_ago, 0, TKL_ONLINE_KEEP_MAX);
    if (rc == TKL_OK)
        rc = ask(online, &q, &reply);
    *present = rc == TKL_OK && tkl_reply_int(tkl_reply_at(reply, 2)) == 1;
    tkl_reply_free(reply);
    return rc;
}

static int check_returning(const question *q, const tkl__today *today)
{
    if (today->shape.kind == TKL_ONLINE_HEARTBEAT)
        return tkl__fail(TKL_EINVAL, "a heartbeat knows no days");
    return tkl__check_number("days", q->days - 1, 1, today->shape.keep_days - 1);
}

static void write_nothing(const question *q, const tkl__today *today, tkl__args *args)
{
    (void)q, (void)today, (void)args;
}

int tkl_online_returning(tkl_online *online, int64_t days, int64_t *returning, int64_t *fresh)
{
    question q = {.script = &tkl__lua_online_returning,
                  .days = days + 1,
                  .part = "scratch",
                  .write = write_nothing,
                  .check = check_returning};
    tkl_reply *reply = NULL;
    int rc = tkl__check_number("days", days, 1, TKL_ONLINE_KEEP_MAX);
    if (rc == TKL_OK)
        rc = ask(online, &q, &reply);
    int64_t today = rc == TKL_OK ? tkl_reply_int(tkl_reply_at(reply, 2)) : 0;
    int64_t back = rc == TKL_OK ? tkl_reply_int(tkl_reply_at(reply, 3)) : 0;
    if (returning)
        *returning = back;
    if (fresh)
        *fresh = today - back;
    tkl_reply_free(reply);
    return rc;
}
