/* SPDX-License-Identifier: MIT
 *
 * Waiting of a sender: for room on the channel, or for its receivers.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "core/plain.h"
#include "files/send.h"

/* Time until a wait is reported first, and between reports after that. */
#define REPORT_FIRST_US 1000000
#define REPORT_THEN_US  5000000
#define REPORTED        16 /* receivers */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- Receivers that are gone --------------------------------------------- */

static bool is_addressed(const tkl__files_sending *s, tkl_bytes name)
{
    for (size_t i = 0; i < s->to_count; i++)
        if (tkl__same_bytes(s->to[i], name))
            return true;
    return false;
}

/* Whether this call waits for the receiver. When the call waits for room, it ignores receivers that
 * have all bytes: they use no room. */
static bool is_waited_for(const tkl__files_sending *s, const tkl_files_receiver *receiver)
{
    if (s->for_all)
        return receiver->files > 0 && is_addressed(s, receiver->name);
    return s->bytes_lacking ? receiver->bytes > 0 : receiver->files > 0;
}

/* When a receiver that the call waits for left, by the clock of this process; 0: it is there. A
 * receiver that never joined is gone since the wait began. */
static int64_t gone_since(const tkl__files_sending *s, const tkl_files_receiver *receiver)
{
    if (!receiver->gone || !is_waited_for(s, receiver))
        return 0;
    if (!receiver->seen)
        return s->wait_began;
    for (size_t i = 0; s->seen && i < s->seen->receiver_count; i++) {
        if (s->gone_since[i] != 0 && tkl__same_bytes(s->seen->receivers[i].name, receiver->name))
            return s->gone_since[i];
    }
    return tkl__now();
}

/* When a receiver may be dropped. The server's clock may have jumped, so this process waits at
 * least half a lease by its own clock, in which a live receiver renews its lease. A receiver that
 * never joined has no lease. */
static int64_t drop_due(const tkl__files_sending *s, const tkl_files_receiver *receiver,
                        int64_t since)
{
    int64_t wanted_ms = s->options.drop_after_ms, doubt_ms = s->files->rules.lease_ms / 2;
    if (!receiver->seen && wanted_ms < doubt_ms)
        doubt_ms = wanted_ms;
    int64_t by_ours = since + doubt_ms * 1000;
    int64_t by_servers = tkl__now() + (wanted_ms - receiver->gone_ms) * 1000;
    return by_ours > by_servers ? by_ours : by_servers;
}

void tkl__files_room_forget(tkl__files_sending *s)
{
    tkl_files_info_free(s->seen);
    free(s->gone_since);
    s->seen = NULL;
    s->gone_since = NULL;
}

/* Drops receivers that have been gone for too long. Keeps the status for the next look. */
static int drop_gone(tkl__files_sending *s, tkl_files_info *status)
{
    int64_t *since = calloc(status->receiver_count + 1, sizeof *since);
    int rc = since ? TKL_OK : tkl__nomem();
    for (size_t i = 0; rc >= 0 && i < status->receiver_count; i++) {
        const tkl_files_receiver *receiver = &status->receivers[i];
        since[i] = gone_since(s, receiver);
        if (since[i] == 0)
            continue;
        int64_t due = drop_due(s, receiver, since[i]);
        if (due <= tkl__now())
            rc = tkl_files_drop_receiver(s->files, receiver->name, NULL);
        else
            s->wait_next = earlier(s->wait_next, due);
    }
    tkl__files_room_forget(s);
    s->seen = status;
    s->gone_since = since;
    return rc > 0 ? TKL_OK : rc;
}

/* ---- Reports ------------------------------------------------------------- */

static void report_waiting(tkl__files_sending *s, const tkl_files_info *status)
{
    tkl_bytes names[REPORTED];
    bool gone[REPORTED];
    size_t count = 0;
    for (size_t i = 0; i < status->receiver_count && count < REPORTED; i++)
        if (is_waited_for(s, &status->receivers[i])) {
            names[count] = status->receivers[i].name;
            gone[count++] = status->receivers[i].gone;
        }
    tkl_files_waiting waiting = {names, gone, count, (tkl__now() - s->wait_began) / 1000, {0}};
    s->options.on_waiting(&waiting, s->options.arg);
}

/* Time until the next look at receivers, short enough to drop them in time. */
static int64_t look_interval(const tkl__files_sending *s)
{
    int64_t wanted = s->options.drop_after_ms * 1000;
    if (wanted == 0 || wanted > REPORT_THEN_US)
        return REPORT_THEN_US;
    return wanted > REPORT_FIRST_US ? wanted : REPORT_FIRST_US;
}

/* Reports which receivers the call waits for, and drops receivers that have been gone for too long.
 */
static int look_at_receivers(tkl__files_sending *s)
{
    tkl_files_info *status;
    s->wait_next = tkl__now() + look_interval(s);
    if (!s->options.on_waiting && s->options.drop_after_ms == 0)
        return TKL_OK;
    int rc = tkl_files_status(s->files, &status);
    s->bytes_lacking = false;
    for (size_t i = 0; rc == TKL_OK && i < status->receiver_count; i++)
        s->bytes_lacking |= status->receivers[i].bytes > 0;
    if (rc == TKL_OK && s->options.on_waiting && tkl__now() >= s->report_next) {
        s->report_next = tkl__now() + REPORT_THEN_US;
        report_waiting(s, status);
    }
    if (rc == TKL_OK && s->options.drop_after_ms > 0)
        rc = drop_gone(s, status);
    else
        tkl_files_info_free(status);
    return rc > 0 || tkl__may_pass(rc) ? TKL_OK : rc;
}

/* ---- Sleeping ------------------------------------------------------------ */

static void begin_wait(tkl__files_sending *s)
{
    s->ear = (tkl__ear){.channel = s->files->keys.items[TKL__FILES_ROOM]};
    s->ears[0] = &s->ear;
    s->wait = (tkl__wait){.client = s->files->client,
                          .timeout_ms = s->files->rules.timeout_ms,
                          .ears = s->ears,
                          .count = 1};
    s->wait_began = tkl__now();
    s->wait_next = s->report_next = s->wait_began + REPORT_FIRST_US;
    tkl__files_room_forget(s);
}

/* Waits for news, at the latest until `until`, and wakes up earlier when a file becomes overdue or
 * the sender has something to do. The first call only begins to listen. */
static int wait_until(tkl__files_sending *s, int64_t until, int64_t next_end_ms)
{
    tkl__news news;
    int rc = TKL__NOT_YET;
    if (!s->wait.begun)
        begin_wait(s);
    tkl__files_sent_keep(s);
    s->wait.deadline = until;
    s->wait.again = earlier(s->wait_next, tkl__files_sent_due(s));
    s->wait.again = earlier(s->wait.again, tkl__now() + TKL__WAIT_LOOK_US);
    if (next_end_ms >= 0)
        s->wait.again = earlier(s->wait.again, tkl__deadline_ms(next_end_ms + 1));
    if (!tkl__wait_goes_on(&s->wait, &rc, &news) && rc != TKL__NOT_YET && !tkl__may_pass(rc))
        return rc;
    return tkl__now() >= s->wait_next ? look_at_receivers(s) : TKL_OK;
}

int tkl__files_room_wait(tkl__files_sending *s, int64_t next_end_ms)
{
    return wait_until(s, TKL__FOREVER, next_end_ms);
}

void tkl__files_room_wait_end(tkl__files_sending *s)
{
    tkl__wait_end(&s->wait);
}

/* ---- Receivers ----------------------------------------------------------- */

static int by_token(const void *a, const void *b)
{
    return memcmp(a, b, TKL__FILES_TOKEN);
}

/* Whether one of these tokens, which stand side by side, belongs to a file of this call. */
static bool is_ours(const tkl__files_sending *s, tkl_bytes tokens)
{
    for (size_t at = 0; at + TKL__FILES_TOKEN <= tokens.len; at += TKL__FILES_TOKEN)
        if (bsearch(tokens.data + at, s->awaited, s->awaited_count, sizeof *s->awaited, by_token))
            return true;
    return false;
}

static const char *name_of(const tkl_reply *name)
{
    return *tkl_reply_str(name) ? tkl_reply_str(name) : "all files";
}

/* TKL_DEAD: a receiver could not use one of our files, or was dropped. */
static int find_trouble(tkl__files_sending *s)
{
    tkl__args words;
    tkl_reply *reply;
    int failed = tkl__files_sent_failed(s);
    if (failed != TKL_OK)
        return failed;
    tkl__args_init(&words);
    tkl__args_str(&words, "XRANGE");
    tkl__args_bytes(&words, s->files->keys.items[TKL__FILES_TROUBLE]);
    tkl__args_str(&words, "-");
    tkl__args_str(&words, "+");
    int rc = tkl__plain(s->files->client, &words,
                        tkl__deadline(s->files->client, s->files->rules.timeout_ms), true, &reply);
    tkl__args_free(&words);
    if (rc != TKL_OK)
        return rc;
    qsort(s->awaited, s->awaited_count, sizeof *s->awaited, by_token);
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(reply); i++) {
        const tkl_reply *fields = tkl_reply_at(tkl_reply_at(reply, i), 1);
        if (is_ours(s, tkl_reply_bytes(tkl_reply_at(fields, TKL__FILES_TROUBLE_TOKEN))))
            rc = tkl__fail(TKL_DEAD, "%s did not get %s: %s",
                           tkl_reply_str(tkl_reply_at(fields, TKL__FILES_TROUBLE_RECEIVER)),
                           name_of(tkl_reply_at(fields, TKL__FILES_TROUBLE_NAME)),
                           tkl_reply_str(tkl_reply_at(fields, TKL__FILES_TROUBLE_REASON)));
    }
    tkl_reply_free(reply);
    return rc;
}

/* Waits for one file after the other: most are done when the first one is. */
int tkl__files_room_wait_for_all(tkl__files_sending *s)
{
    int rc = TKL_OK;
    s->for_all = true;
    while (rc == TKL_OK && s->arrived < s->awaited_count) {
        rc = tkl__files_sent_left(s, &s->awaited[s->arrived]);
        if (rc == TKL_OK) {
            s->arrived++;
        } else if (rc == TKL_EXISTS || tkl__may_pass(rc)) {
            rc = tkl__left(s->wait_until) == 0
                     ? tkl__fail(TKL_BUSY, "not all receivers have everything yet")
                     : wait_until(s, s->wait_until, -1);
        }
    }
    tkl__files_room_wait_end(s);
    s->for_all = false;
    return rc == TKL_OK ? find_trouble(s) : rc;
}
