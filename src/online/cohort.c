/* SPDX-License-Identifier: MIT
 *
 * Online users: how many users of a day came back on each later day.
 *
 * The script that compares today with other days compares the first day with each later one: one
 * script for each of them and for each chunk of a bitmap, many in one round trip.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/number.h"
#include "core/options.h"
#include "core/reply.h"
#include "online/online.h"
#include "online/scripts.h"

/* Most later days of one round trip. */
#define DAYS_AT_ONCE 30

typedef struct full_cohort {
    tkl_online_cohort base; /* must be first: callers have a pointer to it */
    tkl_online_comeback items[];
} full_cohort;

/* A cohort under construction: the first day was `ago` days ago. */
typedef struct comparison {
    tkl_online *online;
    tkl__online_today today;
    int64_t ago;
    int64_t users;     /* number of users of the first day */
    int64_t *returned; /* users who came back, by how many days ago */
} comparison;

/* The elements of a reply of the script. */
enum { CODE, NOW, USERS, RETURNED };

/* Adds the replies for the days from `first_ago` on; each day has several chunks. */
static int add_answers(comparison *q, const tkl__batch *batch, int64_t first_ago, int64_t chunks)
{
    for (size_t i = 0; i < batch->count; i++) {
        const tkl_reply *reply = tkl__batch_reply(batch, i);
        int64_t ago = first_ago + (int64_t)i / chunks;
        tkl__online_learn(q->online, tkl__reply_number(tkl_reply_at(reply, NOW)));
        if (tkl_reply_int(tkl_reply_at(reply, CODE)) != TKL_OK)
            return TKL__ONLINE_ANOTHER_DAY;
        if (ago == q->ago) /* the first day compared with itself */
            tkl__add(&q->users, tkl_reply_int(tkl_reply_at(reply, USERS)));
        else if (ago < q->ago)
            tkl__add(&q->returned[ago], tkl_reply_int(tkl_reply_at(reply, RETURNED)));
    }
    return TKL_OK;
}

/* One round trip: compares the first day with `days` days, going back from `first_ago`. `keys`:
 * scratch, then the chunks of all days, today first. */
static int compare_days(comparison *q, const tkl__keys *keys, int64_t first_ago, int64_t days)
{
    int64_t chunks = tkl__online_chunks(q->today.shape.kind);
    tkl__batch batch;
    tkl__args args;
    tkl__batch_init(&batch, q->online->client);
    tkl__args_init(&args);
    tkl__args_str(&args, tkl_online_kind_name(q->today.shape.kind));
    tkl__online_add_today(&args, &q->today);
    for (int64_t i = 0; i < days * chunks; i++) {
        int64_t chunk = i % chunks, ago = first_ago + i / chunks;
        tkl_bytes compared[] = {keys->items[0], keys->items[1 + q->ago * chunks + chunk],
                                keys->items[1 + ago * chunks + chunk]};
        tkl__batch_eval(&batch, &tkl__lua_online_returning, &(tkl__keys){compared, 3}, &args, true);
    }
    int rc = tkl__batch_run(&batch, tkl__deadline(q->online->client, q->online->timeout_ms));
    if (rc == TKL_OK)
        rc = add_answers(q, &batch, first_ago, chunks);
    tkl__args_free(&args);
    tkl__batch_free(&batch);
    return rc;
}

static int compare_all(comparison *q)
{
    static const char *const parts[] = {"scratch"};
    tkl__online_days which = {.days = q->ago + 1,
                              .chunks = tkl__online_chunks(q->today.shape.kind)};
    tkl__keys keys;
    int rc = tkl__online_keys(q->online, &q->today, parts, 1, &which, &keys);
    if (rc != TKL_OK)
        return rc;
    for (int64_t ago = 0; rc == TKL_OK && ago <= q->ago; ago += DAYS_AT_ONCE) {
        int64_t left = q->ago + 1 - ago;
        rc = compare_days(q, &keys, ago, left < DAYS_AT_ONCE ? left : DAYS_AT_ONCE);
    }
    tkl__keys_free(&keys);
    return rc;
}

/* Makes the cohort from the replies, earliest day first. */
static int make_cohort(const comparison *q, tkl_online_cohort **out)
{
    full_cohort *c = calloc(1, sizeof *c + (size_t)q->ago * sizeof *c->items);
    if (!c)
        return tkl__nomem();
    c->base = (tkl_online_cohort){.users = q->users, .items = c->items, .count = (size_t)q->ago};
    tkl__online_day_text(q->today.number - q->ago, c->base.day);
    for (int64_t ago = 0; ago < q->ago; ago++) {
        tkl_online_comeback *item = &c->items[q->ago - 1 - ago];
        tkl__online_day_text(q->today.number - ago, item->day);
        item->users = q->returned[ago];
    }
    *out = &c->base;
    return TKL_OK;
}

/* One attempt. TKL__ONLINE_ANOTHER_DAY: today is another day by now. */
static int ask_cohort(tkl_online *online, const char *first, tkl_online_cohort **out)
{
    comparison q = {.online = online};
    int rc = tkl__online_find_today(online, &q.today);
    if (rc != TKL_OK)
        return rc;
    rc = tkl__online_days_ago(&q.today, first, &q.ago);
    if (rc != TKL_OK)
        return rc;
    q.returned = calloc((size_t)q.ago + 1, sizeof *q.returned);
    if (!q.returned)
        return tkl__nomem();
    rc = compare_all(&q);
    if (rc == TKL_OK)
        rc = make_cohort(&q, out);
    free(q.returned);
    return rc;
}

int tkl_online_cohort_get(tkl_online *online, const char *first, tkl_online_cohort **out)
{
    *out = NULL;
    int rc = tkl__online_learn_time(online);
    if (rc == TKL_OK)
        rc = TKL__ONLINE_ANOTHER_DAY;
    for (int try = 0; rc == TKL__ONLINE_ANOTHER_DAY && try < TKL__ONLINE_TRIES; try++)
        rc = ask_cohort(online, first, out);
    return rc == TKL__ONLINE_ANOTHER_DAY
               ? tkl__fail(TKL_EREFUSED, "the server's clock does not stand still")
               : rc;
}

void tkl_online_cohort_free(tkl_online_cohort *cohort)
{
    free(cohort);
}
