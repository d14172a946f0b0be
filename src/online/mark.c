/* SPDX-License-Identifier: MIT
 *
 * Online users: marking and unmarking. The script gets the start and the end of today, and is run
 * again when the server says that today is another day.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "core/options.h"
#include "core/reply.h"
#include "online/online.h"
#include "online/scripts.h"
#include "pipeline/pipeline.h"

/* Most users and bytes of names in one script, and most users in one round trip. */
#define STEP       1000
#define STEP_BYTES 131072
#define TRIP_MAX   10000

/* ---- Users --------------------------------------------------------------- */

static int too_large(tkl_bytes user, int64_t most)
{
    double bytes = 0;
    for (size_t i = 0; i < user.len; i++)
        bytes = bytes * 10 + (user.data[i] - '0');
    bytes /= 8;
    return tkl__fail(TKL_EINVAL,
                     "the id " TKL_FMT " would take %.0f MB for a day; max_id is %" PRId64
                     " (%.1f MB)",
                     TKL_ARG(user), bytes / 1e6, most, (double)most / 8e6);
}

/* Checks that a user is a number in digits, up to `most`. */
static int check_number(tkl_bytes user, int64_t most)
{
    int64_t number = 0;
    bool padded = user.len > 1 && *user.data == '0'; /* 007 and 7 would be different users in other
                                                        kinds */
    for (size_t i = 0; i < user.len; i++)
        if (padded || !isdigit((unsigned char)user.data[i]))
            return tkl__fail(TKL_EINVAL,
                             "a user of a bitmap is a number in digits; an assigned one "
                             "takes names");
    for (size_t i = 0; i < user.len; i++) {
        number = number * 10 + (user.data[i] - '0');
        if (number > most)
            return user.len <= 20 ? too_large(user, most)
                                  : tkl__fail(TKL_EINVAL, "the id has %zu digits", user.len);
    }
    return TKL_OK;
}

int tkl__online_check_user(const tkl__online_shape *shape, tkl_bytes user, int64_t max_id)
{
    if (user.len < 1 || user.len > TKL_ONLINE_USER_MAX)
        return tkl__fail(TKL_EINVAL, "a user has %zu bytes, must have 1 to %d", user.len,
                         TKL_ONLINE_USER_MAX);
    return shape->kind == TKL_ONLINE_BITMAP ? check_number(user, max_id) : TKL_OK;
}

/* ---- Marking ------------------------------------------------------------- */

void tkl__online_add_today(tkl__args *args, const tkl__online_today *today)
{
    tkl__args_int(args, today->start_ms);
    tkl__args_int(args, today->till_ms);
}

/* The change: users are marked, or unmarked. */
typedef struct marking {
    tkl_online *online;
    const char *day; /* NULL: today */
    bool unmark;
    tkl__online_today today; /* as far as this handle knows it */
    int64_t ago;             /* how many days ago the day was */
} marking;

static void write_mark(tkl__args *args, const marking *m, const tkl_bytes *users, size_t count)
{
    const tkl__online_today *today = &m->today;
    tkl__args_init(args);
    tkl__args_str(args, tkl_online_kind_name(today->shape.kind));
    tkl__args_str(args, today->shape.zone);
    tkl__args_int(args, today->shape.keep_days);
    tkl__args_int(args, today->shape.window_ms);
    tkl__online_add_today(args, today);
    if (!m->unmark)
        tkl__args_int(args, m->ago);
    for (size_t i = 0; i < count; i++)
        tkl__args_bytes(args, users[i]);
}

/* Adds up the users whose marks changed. Returns the first code that is not TKL_OK. */
static int read_marks(tkl_online *online, const tkl__batch *batch, int64_t *fresh)
{
    int rc = TKL_OK;
    *fresh = 0;
    for (size_t i = 0; i < batch->count; i++) {
        const tkl_reply *reply = tkl__batch_reply(batch, i);
        int code = (int)tkl_reply_int(tkl_reply_at(reply, 0));
        tkl__online_learn(online, tkl__reply_number(tkl_reply_at(reply, 1)));
        tkl__add(fresh, tkl_reply_int(tkl_reply_at(reply, 2)));
        rc = rc == TKL_OK ? code : rc;
    }
    return rc;
}

/* The chunk of a bitmap that contains a number, which has been checked. */
static int64_t chunk_of(tkl_bytes user)
{
    int64_t number = 0;
    for (size_t i = 0; i < user.len; i++)
        number = number * 10 + (user.data[i] - '0');
    return number / TKL__ONLINE_CHUNK;
}

/* The users in the order of their chunks; the caller frees the array. */
static tkl_bytes *by_chunk(const tkl_bytes *users, size_t count)
{
    tkl_bytes *sorted = malloc(count * sizeof *sorted);
    size_t n = 0;
    for (int64_t chunk = 0; sorted && chunk < TKL__ONLINE_CHUNKS && n < count; chunk++)
        for (size_t i = 0; i < count; i++)
            if (chunk_of(users[i]) == chunk)
                sorted[n++] = users[i];
    return sorted;
}

/* Returns how many users, from the first on, one script marks; for a bitmap, users of one chunk. */
static size_t step_of(const tkl__online_shape *shape, const tkl_bytes *users, size_t count)
{
    size_t n = 1, bytes = users[0].len;
    bool bits = shape->kind == TKL_ONLINE_BITMAP;
    for (; n < count && n < STEP; n++) {
        bytes += users[n].len;
        if (bytes > STEP_BYTES || (bits && chunk_of(users[n]) != chunk_of(users[0])))
            break;
    }
    return n;
}

/* One round trip. The users of a bitmap are in the order of their chunks. */
static int mark_batch(const marking *m, const tkl__keys *keys, const tkl_bytes *users, size_t count,
                      int64_t *changed)
{
    const tkl__script *script = m->unmark ? &tkl__lua_online_unmark : &tkl__lua_online_mark;
    tkl_online *online = m->online;
    tkl__batch batch;
    tkl__batch_init(&batch, online->client);
    for (size_t from = 0, some; from < count; from += some) {
        tkl__args args;
        some = step_of(&m->today.shape, users + from, count - from);
        write_mark(&args, m, users + from, some);
        tkl__batch_eval(&batch, script, keys, &args, true);
        tkl__args_free(&args);
    }
    int rc = tkl__batch_run(&batch, tkl__deadline(online->client, online->timeout_ms));
    if (rc == TKL_OK)
        rc = read_marks(online, &batch, changed);
    tkl__batch_free(&batch);
    return rc;
}

/* The keys of the day that a change is about. */
static int day_keys(const marking *m, tkl__keys *keys)
{
    static const char *const parts[] = {"settings", "ids"};
    tkl__online_days day = {
        .first_ago = m->ago, .days = 1, .chunks = tkl__online_chunks(m->today.shape.kind)};
    return tkl__online_keys(m->online, &m->today, parts, 2, &day, keys);
}

/* Marks users of the day. */
static int mark_day(const marking *m, const tkl_bytes *users, size_t count, int64_t *changed)
{
    tkl_online_kind kind = m->today.shape.kind;
    bool bits = kind == TKL_ONLINE_BITMAP;
    tkl_bytes *sorted = bits ? by_chunk(users, count) : NULL;
    tkl__keys keys;
    int rc = bits && !sorted ? tkl__nomem() : day_keys(m, &keys);
    if (rc == TKL_OK) {
        rc = mark_batch(m, &keys, bits ? sorted : users, count, changed);
        if (kind == TKL_ONLINE_HLL)
            *changed = TKL_NONE; /* it does not count new users */
        tkl__keys_free(&keys);
    }
    free(sorted);
    return rc;
}

/* Finds the day, and checks the users. TKL_EINVAL: the day or a user is wrong. */
static int prepare_marks(marking *m, const tkl_bytes *users, size_t count)
{
    int rc = tkl__online_find_today(m->online, &m->today);
    if (rc == TKL_OK && m->unmark && m->today.shape.kind == TKL_ONLINE_HLL)
        rc = tkl__fail(TKL_EINVAL, "a HyperLogLog cannot forget a user; it only counts");
    if (rc == TKL_OK && m->day)
        rc = tkl__online_days_ago(&m->today, m->day, &m->ago);
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__online_check_user(&m->today.shape, users[i],
                                    m->unmark ? TKL_ONLINE_ID_MAX : m->online->max_id);
    return rc;
}

/* Marks some users, and marks them again until the server agrees which day it is. An argument that
 * looks wrong here may be right for the server: the name may have another kind by now, and the
 * server's clock may show another day. */
static int mark_some(marking *m, const tkl_bytes *users, size_t count, int64_t *changed)
{
    int rc = TKL__ONLINE_ANOTHER_DAY;
    for (int try = 0; rc == TKL__ONLINE_ANOTHER_DAY && try < TKL__ONLINE_TRIES; try++) {
        rc = prepare_marks(m, users, count);
        if (rc == TKL_EINVAL && try == 0 && (!m->online->given || m->day)) {
            rc = m->online->given ? TKL_OK : tkl__online_changed(m->online);
            if (rc == TKL_OK && m->day)
                rc = tkl__online_learn_time(m->online);
            rc = rc == TKL_OK ? TKL__ONLINE_ANOTHER_DAY : rc;
            continue;
        }
        if (rc == TKL_OK)
            rc = mark_day(m, users, count, changed);
        if (rc == TKL_CONFLICT) {
            rc = tkl__online_changed(m->online);
            rc = rc == TKL_OK ? TKL__ONLINE_ANOTHER_DAY : rc;
        }
    }
    return rc == TKL__ONLINE_ANOTHER_DAY
               ? tkl__fail(TKL_EREFUSED, "the server's clock does not stand still")
               : rc;
}

/* Marks or unmarks all users; *changed (may be NULL): how many marks changed. */
static int mark_all(marking *m, const tkl_bytes *users, size_t count, int64_t *changed)
{
    int64_t total = 0;
    int rc = TKL_OK;
    if (changed)
        *changed = 0;
    if (count > TRIP_MAX) /* check all users first: none is marked when one is invalid */
        rc = prepare_marks(m, users, count);
    for (size_t from = 0; rc == TKL_OK && from < count; from += TRIP_MAX) {
        int64_t some = 0;
        rc = mark_some(m, users + from, count - from < TRIP_MAX ? count - from : TRIP_MAX, &some);
        total = some == TKL_NONE ? TKL_NONE : total + some;
    }
    if (changed)
        *changed = total;
    return rc;
}

int tkl_online_mark(tkl_online *online, const tkl_bytes *users, size_t count, int64_t *fresh)
{
    marking m = {.online = online};
    return mark_all(&m, users, count, fresh);
}

int tkl_online_mark_day(tkl_online *online, const char *day, const tkl_bytes *users, size_t count,
                        int64_t *fresh)
{
    marking m = {.online = online, .day = day};
    return mark_all(&m, users, count, fresh);
}

int tkl_online_unmark(tkl_online *online, const char *day, const tkl_bytes *users, size_t count,
                      int64_t *removed)
{
    marking m = {.online = online, .day = day, .unmark = true};
    return mark_all(&m, users, count, removed);
}

/* ---- In a pipeline ------------------------------------------------------- */

/* A mark under way. */
typedef struct mark_in {
    tkl_online_kind kind;
    size_t len; /* bytes of the user's id */
    char user[];
} mark_in;

/* Marks the user again when the server says that today is another day, or that the name has another
 * kind by now: then the script has done nothing. */
static int finish_mark(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    tkl_online *online = operation->handle;
    const mark_in *own = operation->own;
    int64_t unread, *fresh = operation->output ? operation->output : &unread;
    if (code != TKL_OK)
        return code;
    code = (int)tkl_reply_int(tkl_reply_at(reply, 0));
    tkl__online_learn(online, tkl__reply_number(tkl_reply_at(reply, 1)));
    if (code == TKL__ONLINE_ANOTHER_DAY || code == TKL_CONFLICT)
        return tkl_online_mark(online, &(tkl_bytes){own->user, own->len}, 1, fresh);
    *fresh = own->kind == TKL_ONLINE_HLL ? TKL_NONE : tkl__reply_number(tkl_reply_at(reply, 2));
    return code;
}

/* Prepares the mark. A user that is wrong for the kind known here may be right by now: then the
 * server is asked for the kind once more. */
static int prepare_mark_in(marking *m, tkl_bytes user)
{
    int rc = prepare_marks(m, &user, 1);
    if (rc != TKL_EINVAL || m->online->given)
        return rc;
    rc = tkl__online_changed(m->online);
    return rc == TKL_OK ? prepare_marks(m, &user, 1) : rc;
}

int tkl_online_mark_in(tkl_pipeline *pipeline, tkl_online *online, tkl_bytes user, int64_t *fresh,
                       tkl_result *result)
{
    marking m = {.online = online};
    tkl__keys keys;
    tkl__args args;
    mark_in *own = NULL;
    if (fresh)
        *fresh = 0;
    int rc = prepare_mark_in(&m, user);
    if (rc == TKL_OK && !(own = malloc(sizeof *own + user.len)))
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = day_keys(&m, &keys);
    if (rc != TKL_OK) {
        free(own);
        return tkl__result_set(result, rc);
    }
    own->kind = m.today.shape.kind;
    own->len = user.len;
    memcpy(own->user, user.data, user.len);
    write_mark(&args, &m, &user, 1);
    rc = tkl__pipeline_eval(pipeline, online->client, &tkl__lua_online_mark, &keys, &args, true,
                            &(tkl__operation){finish_mark, online, own, fresh, result});
    tkl__args_free(&args);
    tkl__keys_free(&keys);
    return rc;
}
