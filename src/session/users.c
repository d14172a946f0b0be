/* SPDX-License-Identifier: MIT
 *
 * The sessions of a user, and the store as a whole.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/rounds.h"
#include "session/scripts.h"
#include "session/session.h"

/* Sessions that one script reads or removes: three milliseconds with the longest names. */
#define STEP 250

/* ---- The sessions of a user ---------------------------------------------- */

typedef struct found_list {
    tkl_session_list list;
    char user[TKL_SESSION_TEXT_MAX];
    tkl_session_info items[];
} found_list;

/* Adds a session from {id, created, last use, end}. */
static void add_session(found_list *all, const tkl_reply *row)
{
    tkl_session_info *one = &all->items[all->list.count++];
    snprintf(one->id, sizeof one->id, "%s", tkl_reply_str(tkl_reply_at(row, 0)));
    one->created_ms = tkl_reply_int(tkl_reply_at(row, 1));
    one->seen_ms = tkl_reply_int(tkl_reply_at(row, 2));
    one->ends_ms = tkl_reply_int(tkl_reply_at(row, 3));
}

/* One step: reads at most `max` sessions behind the first `skip`. *more: there may be more. */
static int add_some(tkl_session *s, tkl_bytes user, size_t skip, size_t max, found_list *all,
                    bool *more)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_bytes(&args, user);
    tkl__args_int(&args, (int64_t)skip);
    tkl__args_int(&args, (int64_t)max);
    int rc = tkl__session_run(s, &tkl__lua_session_of_user, &args, true, &reply);
    *more = tkl_reply_int(tkl_reply_at(reply, 0)) == 1;
    for (size_t i = 1; i < tkl_reply_count(reply) && i <= max; i++)
        add_session(all, tkl_reply_at(reply, i));
    tkl_reply_free(reply);
    return rc;
}

/* Reads a page. A step that finds only ended sessions removes them; the next step finds later
 * ones. */
static int add_page(tkl_session *s, tkl_bytes user, size_t skip, size_t max, found_list *all)
{
    bool more = true;
    tkl__rounds rounds = {.idle = 0};
    int rc = TKL_OK;
    while (rc == TKL_OK && more && all->list.count < max) {
        size_t before = all->list.count, left = max - before;
        rc = add_some(s, user, skip + before, left < STEP ? left : STEP, all, &more);
        if (rc == TKL_OK && more)
            rc = tkl__next_round(&rounds, s->client, s->timeout_ms, all->list.count > before);
    }
    return rc;
}

int tkl_session_of_user(tkl_session *sessions, tkl_bytes user, size_t skip, size_t max,
                        tkl_session_list **list)
{
    *list = NULL;
    int rc = tkl__session_check_text("user's name", user);
    if (rc == TKL_OK)
        rc = tkl__session_check_page(skip, max);
    if (rc != TKL_OK)
        return rc;
    found_list *all = calloc(1, sizeof *all + max * sizeof *all->items);
    if (!all)
        return tkl__nomem();
    memcpy(all->user, user.data, user.len);
    all->list.items = all->items;
    rc = add_page(sessions, user, skip, max, all);
    if (rc != TKL_OK) {
        free(all);
        return rc;
    }
    for (size_t i = 0; i < all->list.count; i++)
        all->items[i].user = (tkl_bytes){all->user, user.len};
    *list = &all->list;
    return TKL_OK;
}

void tkl_session_list_free(tkl_session_list *list)
{
    free(list);
}

int tkl_session_end_user(tkl_session *sessions, tkl_bytes user, int64_t *ended)
{
    int64_t total = 0, forgotten = STEP;
    tkl__rounds rounds = {.idle = 0};
    int rc = tkl__session_check_text("user's name", user);
    while (rc == TKL_OK && forgotten == STEP) {
        tkl_reply *reply = NULL;
        tkl__args args;
        tkl__args_init(&args);
        tkl__args_bytes(&args, user);
        tkl__args_int(&args, STEP);
        rc = tkl__session_run(sessions, &tkl__lua_session_end_user, &args, true, &reply);
        forgotten = tkl_reply_int(tkl_reply_at(reply, 0));
        size_t ended_now = rc == TKL_OK ? tkl_reply_count(reply) : 0;
        total += ended_now > 0 ? (int64_t)ended_now - 1 : 0;
        tkl__session_unlink(sessions, reply, 1);
        tkl_reply_free(reply);
        if (rc == TKL_OK && forgotten == STEP)
            rc = tkl__next_round(&rounds, sessions->client, sessions->timeout_ms, ended_now > 1);
    }
    if (ended)
        *ended = total;
    return rc;
}

/* ---- The store ----------------------------------------------------------- */

/* Sessions that have ended but are not removed yet do not count. */
int tkl_session_stats_get(tkl_session *sessions, tkl_session_stats *stats)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    *stats = (tkl_session_stats){0};
    tkl__args_init(&args);
    int rc = tkl__session_run(sessions, &tkl__lua_session_stats, &args, true, &reply);
    stats->sessions = tkl_reply_int(tkl_reply_at(reply, 0));
    stats->items = tkl_reply_int(tkl_reply_at(reply, 1));
    tkl_reply_free(reply);
    return rc;
}

/* One step of dropping: removes some sessions and their items. *left: there may be more. */
static int forget_some(tkl_session *s, bool *left, bool *any)
{
    tkl_reply *reply = NULL;
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_int(&args, STEP);
    int rc = tkl__session_run(s, &tkl__lua_session_forget, &args, true, &reply);
    *left = tkl_reply_count(reply) == STEP;
    *any = *any || tkl_reply_count(reply) > 0;
    tkl__session_unlink(s, reply, 0);
    tkl_reply_free(reply);
    return rc;
}

int tkl_session_drop(tkl_session *sessions)
{
    bool left = true, any = false;
    tkl__rounds rounds = {.idle = 0};
    int64_t removed = 0;
    int rc = TKL_OK;
    while (rc == TKL_OK && left) {
        rc = forget_some(sessions, &left, &any);
        if (rc == TKL_OK)
            rc = tkl__next_round(&rounds, sessions->client, sessions->timeout_ms, true);
    }
    if (rc != TKL_OK)
        return rc;
    const char *words[1 + TKL__SESSION_BASE] = {"UNLINK"};
    size_t lens[1 + TKL__SESSION_BASE] = {6};
    for (size_t i = 0; i < TKL__SESSION_BASE; i++) {
        words[i + 1] = sessions->keys.items[i].data;
        lens[i + 1] = sessions->keys.items[i].len;
    }
    rc = tkl__session_ask(sessions, 1 + TKL__SESSION_BASE, words, lens, &removed);
    return rc == TKL_OK && !any && removed == 0 ? tkl__no(TKL_NOTFOUND) : rc;
}

int tkl_session_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, TKL__SESSION_COMPONENT, "ends", "zset", names);
}
