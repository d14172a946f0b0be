/* SPDX-License-Identifier: MIT
 *
 * Following a channel.
 *
 * A follower remembers the id that it has seen last and asks for the messages behind it
 * (channel/after). The number of the next message says how many were lost: numbers have no gaps.
 *
 * A server may know less than the follower: after a failover or a restart its newest message may be
 * older than the last message that the follower has seen. If it is the same life of the channel,
 * the server has lost the end of it. It may have got new messages since, with ids that seem old to
 * the follower if the new master's clock is behind. So the follower goes back by the ids that it
 * remembers, and skips the messages that it has seen. If it is another life, the follower has seen
 * nothing of it, and begins at its beginning.
 */
#include <stdlib.h>
#include <string.h>

#include "channel/channel.h"
#include "channel/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/script.h"
#include "core/waiting.h"

#define MAX        1000 /* messages of one call */
#define MAX_USUAL  100
#define REMEMBERED 256 /* ids */
#define LIFE_SIZE  32

struct tkl_channel_follower {
    tkl_channel *channel;
    int64_t timeout_ms;
    int64_t recent;
    bool placed;
    bool reached;                    /* the server has answered once: waits survive its failures */
    bool counts;                     /* messages between `seen` and the next one are lost */
    bool reset;                      /* to be reported with the next messages */
    tkl_channel_id seen;             /* the last message that was read; all zero: none */
    char life[LIFE_SIZE];            /* the channel's life when it was last read, any bytes */
    size_t life_len;                 /* 0: not known */
    tkl_channel_id ring[REMEMBERED]; /* the last ids that were read */
    size_t ring_count;               /* number of ids ever put into the ring */
};

/* The result for the caller; `public` must be first. */
typedef struct messages {
    tkl_channel_messages public;
    tkl_reply *reply; /* owns the bytes of the items; NULL: they are behind the items */
    tkl_channel_message items[];
} messages;

int tkl_channel_follow(tkl_channel *channel, const tkl_channel_follow_options *options,
                       tkl_channel_follower **follower)
{
    static const tkl_channel_follow_options defaults;
    *follower = NULL;
    if (!options)
        options = &defaults;
    tkl_channel_id after = options->after;
    int rc =
        TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX},
                           {"recent", options->recent, TKL_NONE, TKL_CHANNEL_RECENT_MAX},
                           {"after", after.time_ms, 0, TKL__CHANNEL_ID_MAX},
                           {"after", after.number, after.time_ms > 0 ? 1 : 0, TKL__CHANNEL_ID_MAX});
    if (rc == TKL_OK && after.number > 0 && options->recent != 0)
        rc = tkl__fail(TKL_EINVAL, "both `after` and `recent` say where to begin");
    if (rc != TKL_OK)
        return rc;
    tkl_channel_follower *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->channel = channel;
    made->timeout_ms = options->timeout_ms ? options->timeout_ms : channel->timeout_ms;
    made->recent = options->recent;
    made->placed = after.number > 0 || options->recent == TKL_NONE;
    made->counts = after.number > 0;
    made->seen = after;
    *follower = made;
    return TKL_OK;
}

void tkl_channel_follower_close(tkl_channel_follower *follower)
{
    free(follower);
}

void tkl_channel_messages_free(tkl_channel_messages *public)
{
    messages *m = (messages *)public;
    if (!m)
        return;
    tkl_reply_free(m->reply);
    free(m);
}

/* ---- Positions ----------------------------------------------------------- */

static bool has_seen(const tkl_channel_follower *f, tkl_channel_id id)
{
    size_t count = f->ring_count < REMEMBERED ? f->ring_count : REMEMBERED;
    for (size_t i = 0; i < count; i++)
        if (tkl__channel_id_compare(f->ring[i], id) == 0)
            return true;
    return false;
}

static void note_seen(tkl_channel_follower *f, tkl_channel_id id)
{
    f->seen = id;
    f->counts = true;
    f->ring[f->ring_count++ % REMEMBERED] = id;
}

/* The smallest id of the ring; `otherwise` if that is smaller. */
static tkl_channel_id oldest_seen(const tkl_channel_follower *f, tkl_channel_id otherwise)
{
    size_t count = f->ring_count < REMEMBERED ? f->ring_count : REMEMBERED;
    tkl_channel_id oldest = otherwise;
    for (size_t i = 0; i < count; i++)
        if (tkl__channel_id_compare(f->ring[i], oldest) < 0)
            oldest = f->ring[i];
    return oldest;
}

/* Notes the life of the channel. Returns whether the follower knew another life. */
static bool note_life(tkl_channel_follower *f, const tkl_reply *reply)
{
    tkl_bytes life = tkl_reply_bytes(tkl_reply_at(reply, 0));
    size_t len = life.len < LIFE_SIZE ? life.len : LIFE_SIZE;
    if (len == 0 || tkl__same_bytes((tkl_bytes){f->life, f->life_len}, (tkl_bytes){life.data, len}))
        return false;
    memcpy(f->life, life.data, len);
    f->life_len = len;
    return true;
}

/* The newest message of the server is older than the last one seen: goes back. */
static void go_back(tkl_channel_follower *f, tkl_channel_id newest, bool another_life)
{
    f->reset = true;
    if (another_life) {
        f->seen = (tkl_channel_id){0};
        f->ring_count = 0;
    } else {
        f->seen = oldest_seen(f, newest);
    }
}

static int run_script(const tkl_channel_follower *f, const tkl__script *script, const char *id,
                      int64_t count, int64_t deadline, tkl_reply **reply)
{
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_str(&args, id);
    tkl__args_int(&args, count);
    int rc = tkl__eval(f->channel->client, script, &f->channel->keys, &args, deadline, true, reply);
    tkl__args_free(&args);
    return rc;
}

/* Finds the place to begin: behind the newest message, or some messages before. */
static int find_place(tkl_channel_follower *f, int64_t deadline)
{
    char before[TKL_CHANNEL_ID_SIZE + 1] = "+";
    int64_t left = f->recent;
    bool more = true;
    int rc = TKL_OK;
    for (bool first = true; rc == TKL_OK && more && (first || left > 0); first = false) {
        tkl_reply *reply = NULL;
        tkl_channel_id at;
        rc = run_script(f, &tkl__lua_channel_place, before, left, deadline, &reply);
        if (rc == TKL_OK && first) {
            note_life(f, reply);
            f->seen = tkl__channel_newest(reply);
            f->counts = true;
        }
        if (tkl__channel_id_read(tkl_reply_bytes(tkl_reply_at(reply, 3)), &at, NULL) &&
            at.number > 0) {
            f->seen = (tkl_channel_id){at.time_ms, at.number - 1};
            before[0] = '(';
            tkl_channel_id_text(at, before + 1);
        }
        int64_t counted = tkl__reply_number(tkl_reply_at(reply, 4));
        more = counted > 0 && tkl_reply_int(tkl_reply_at(reply, 5)) == 1;
        left -= counted > 0 ? counted : 0;
        tkl_reply_free(reply);
    }
    f->placed = rc == TKL_OK;
    return rc;
}

/* ---- Reading ------------------------------------------------------------- */

/* Gives the messages to the caller, with the number of messages lost before them. TKL_EMPTY: there
 * is nothing to report. */
static int hand_out(tkl_channel_follower *f, messages *m, size_t count, int64_t lost,
                    tkl_channel_messages **out)
{
    m->public.items = m->items;
    m->public.count = count;
    m->public.lost = f->reset ? 0 : lost;
    if (count == 0 && m->public.lost == 0) {
        tkl_channel_messages_free(&m->public);
        return TKL_EMPTY;
    }
    m->public.reset = f->reset;
    f->reset = false;
    *out = &m->public;
    return TKL_OK;
}

/* Takes messages over while their numbers follow each other; a gap is reported with the messages
 * behind it. */
static int accept_messages(tkl_channel_follower *f, tkl_reply *reply, tkl_channel_messages **out)
{
    const tkl_reply *entries = tkl_reply_at(reply, 3);
    tkl_channel_id newest = tkl__channel_newest(reply);
    size_t all = tkl_reply_count(entries), count = 0;
    int64_t lost = 0;
    messages *m = calloc(1, sizeof *m + all * sizeof *m->items);
    if (!m) {
        tkl_reply_free(reply);
        return tkl__nomem();
    }
    m->reply = reply;
    for (size_t i = 0; i < all; i++) {
        const tkl_reply *entry = tkl_reply_at(entries, i);
        tkl_channel_id id;
        if (!tkl__channel_id_read(tkl_reply_bytes(tkl_reply_at(entry, 0)), &id, NULL) ||
            tkl__channel_id_compare(id, f->seen) <= 0) {
            tkl_channel_messages_free(&m->public);
            return tkl__fail(TKL_EDAMAGED, "the history was not written by tackle");
        }
        if (has_seen(f, id)) {
            f->seen = id;
            continue;
        }
        int64_t gap = f->counts ? id.number - f->seen.number - 1 : 0;
        if (gap != 0 && count > 0)
            break;
        f->reset |= gap < 0;
        lost += gap > 0 ? gap : 0;
        m->items[count].id = id;
        m->items[count].data = tkl_reply_bytes(tkl_reply_at(tkl_reply_at(entry, 1), 3));
        count++;
        note_seen(f, id);
    }
    if (all == 0 && f->counts && newest.number > f->seen.number &&
        tkl__channel_id_compare(newest, f->seen) > 0) { /* all of them were removed */
        lost = newest.number - f->seen.number;
        note_seen(f, newest);
    }
    return hand_out(f, m, count, lost, out);
}

/* Reads the messages that are there. TKL_EMPTY: none. */
static int read_once(tkl_channel_follower *f, size_t max, int64_t deadline,
                     tkl_channel_messages **out)
{
    char seen[TKL_CHANNEL_ID_SIZE];
    int rc = f->placed ? TKL_OK : find_place(f, deadline);
    /* The second round is for a follower that has gone back. */
    for (int round = 0; rc == TKL_OK && round < 2; round++) {
        tkl_reply *reply = NULL;
        rc = run_script(f, &tkl__lua_channel_after, tkl_channel_id_text(f->seen, seen),
                        (int64_t)max, deadline, &reply);
        if (rc != TKL_OK)
            return rc;
        f->reached = true;
        tkl_channel_id newest = tkl__channel_newest(reply);
        bool another = note_life(f, reply);
        if (newest.number == 0 || tkl__channel_id_compare(newest, f->seen) >= 0 || round > 0)
            return accept_messages(f, reply, out);
        go_back(f, newest, another);
        tkl_reply_free(reply);
    }
    return rc;
}

/* Takes the message out of a notification, "<id> <message>", if it is the next one. TKL_EMPTY:
 * read instead. TKL__NOT_YET: the message was read already. */
static int take_note(tkl_channel_follower *f, tkl_bytes note, tkl_channel_messages **out)
{
    tkl_channel_id id;
    tkl_bytes rest;
    if (!f->placed || !tkl__channel_id_read(note, &id, &rest))
        return TKL_EMPTY;
    if (has_seen(f, id))
        return TKL__NOT_YET;
    bool is_next = f->counts && !f->reset && id.number == f->seen.number + 1 &&
                   tkl__channel_id_compare(id, f->seen) > 0;
    if (!is_next || rest.len == 0 || rest.data[0] != ' ')
        return TKL_EMPTY;
    rest.data++;
    rest.len--;
    messages *m = calloc(1, sizeof *m + sizeof *m->items + rest.len + 1);
    if (!m)
        return tkl__nomem();
    char *copy = (char *)(m->items + 1);
    memcpy(copy, rest.data, rest.len);
    m->items[0] = (tkl_channel_message){.id = id, .data = {copy, rest.len}};
    note_seen(f, id);
    return hand_out(f, m, 1, 0, out);
}

/* ---- Waiting ------------------------------------------------------------- */

typedef struct search {
    tkl_channel_follower *follower;
    size_t max;
    tkl_channel_messages **out;
} search;

static int look_for_messages(void *arg, tkl__wait *wait, const tkl__news *news)
{
    search *s = arg;
    int rc = TKL_EMPTY;
    if (news->kind == TKL__NEWS_MESSAGE)
        rc = take_note(s->follower, news->message, s->out);
    if (rc == TKL_EMPTY)
        rc = read_once(s->follower, s->max, tkl__wait_deadline(wait), s->out);
    return rc == TKL_EMPTY ? TKL__NOT_YET : rc;
}

int tkl_channel_next(tkl_channel_follower *follower, size_t max, int64_t wait_ms,
                     tkl_channel_messages **out)
{
    tkl_client *client = follower->channel->client;
    search s = {follower, max > 0 ? max : MAX_USUAL, out};
    *out = NULL;
    int rc = tkl__check_number("the number of messages", max > MAX ? -1 : (int64_t)max, 0, MAX);
    if (rc != TKL_OK)
        return rc;
    if (wait_ms == 0) {
        rc = read_once(follower, s.max, tkl__deadline(client, follower->timeout_ms), out);
        return rc == TKL_EMPTY ? tkl__no(TKL_EMPTY) : rc;
    }
    tkl__ear ear = {.channel = follower->channel->keys.items[0]};
    tkl__wait wait = {.client = client,
                      .timeout_ms = follower->timeout_ms,
                      .deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms),
                      .ears = TKL__EARS(&ear),
                      .count = 1,
                      .looks_first = !follower->reached};
    rc = tkl__wait_until(&wait, look_for_messages, &s);
    tkl__wait_end(&wait);
    return rc == TKL__NOT_YET ? tkl__no(TKL_EMPTY) : rc;
}
