/* SPDX-License-Identifier: MIT
 *
 * A sender that waits: for room on the channel, or for its receivers. It listens before it asks
 * again, so that nothing happens unheard in between.
 */
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/plain.h"
#include "files/send.h"

/* Waiting for however long, a waiter looks at least this often: a second chance for whatever keeps
 * a notification from arriving. */
#define LOOK_US INT64_C(30000000)
/* When a wait is reported: first, and then. */
#define REPORT_FIRST_US 1000000
#define REPORT_THEN_US  5000000
#define REPORTED        16 /* receivers */

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- Reports ------------------------------------------------------------- */

static int report(tkl__files_sending *s, const tkl_files_info *status)
{
    tkl_bytes names[REPORTED];
    bool gone[REPORTED];
    size_t count = 0;
    for (size_t i = 0; i < status->receiver_count && count < REPORTED; i++)
        if (status->receivers[i].files > 0) {
            names[count] = status->receivers[i].name;
            gone[count++] = status->receivers[i].gone;
        }
    tkl_files_waiting waiting = {names, gone, count, (tkl__now() - s->wait_began) / 1000, {0}};
    if (s->options.on_waiting)
        s->options.on_waiting(&waiting, s->options.arg);
    return TKL_OK;
}

static bool is_gone(const tkl__files_sending *s, const tkl_files_receiver *receiver)
{
    return s->options.drop_after_ms > 0 && receiver->files > 0 &&
           receiver->gone_ms >= s->options.drop_after_ms;
}

/* Drops those that are gone for too long, at the second look: the clock of the server may have
 * jumped, and a receiver that is there renews its lease in between. */
static int drop_gone(tkl__files_sending *s, const tkl_files_info *status)
{
    bool found = false;
    int rc = TKL_OK;
    for (size_t i = 0; rc >= 0 && i < status->receiver_count; i++) {
        bool gone = is_gone(s, &status->receivers[i]);
        found |= gone;
        if (gone && s->doubted)
            rc = tkl_files_drop(s->files, status->receivers[i].name, NULL);
    }
    s->doubted = found && !s->doubted;
    if (s->doubted)
        s->wait_next = earlier(s->wait_next, tkl__deadline_ms(s->files->rules.lease_ms / 2));
    return rc > 0 ? TKL_OK : rc;
}

/* Tells for whom it waits, and drops those that are gone for too long. */
static int report_wait(tkl__files_sending *s)
{
    tkl_files_info *status;
    s->wait_next = tkl__now() + REPORT_THEN_US;
    if (!s->options.on_waiting && s->options.drop_after_ms == 0)
        return TKL_OK;
    int rc = tkl_files_status(s->files, &status);
    if (rc == TKL_OK)
        rc = report(s, status);
    if (rc == TKL_OK)
        rc = drop_gone(s, status);
    tkl_files_info_free(status);
    return rc > 0 || tkl__may_pass(rc) ? TKL_OK : rc;
}

/* ---- Sleeping ------------------------------------------------------------ */

static int listen(tkl__files_sending *s)
{
    tkl_files *files = s->files;
    tkl__unlisten(&s->ear);
    int rc = tkl__listen(files->client, files->keys.items[TKL__FILES_ROOM], tkl_str(""),
                         tkl__deadline(files->client, files->rules.timeout_ms), &s->ear);
    if (tkl__may_pass(rc)) /* the next request waits for the server */
        return tkl__sleep(files->client, tkl__now() + tkl__backoff(8, 250000));
    return rc;
}

/* Sleeps until it is worth looking again, at the latest at `until`. */
static int sleep_once(tkl__files_sending *s, int64_t until, int64_t next_end_ms)
{
    tkl_bytes message;
    until = earlier(until, earlier(s->wait_next, tkl__now() + LOOK_US));
    until = earlier(until, tkl__files_sent_due(s));
    if (next_end_ms >= 0)
        until = earlier(until, tkl__deadline_ms(next_end_ms + 1));
    switch (tkl__await(&s->ear, until, &message)) {
    case TKL__CUT:
        return listen(s);
    case TKL__INTERRUPTED:
        return tkl__interrupted();
    default:
        return TKL_OK;
    }
}

static int wait_until(tkl__files_sending *s, int64_t until, int64_t next_end_ms)
{
    if (!s->ear.hub) { /* the first time: listen, and ask again */
        s->wait_began = tkl__now();
        s->wait_next = s->wait_began + REPORT_FIRST_US;
        s->doubted = false;
        return listen(s);
    }
    tkl__files_sent_keep(s);
    int rc = sleep_once(s, until, next_end_ms);
    if (rc == TKL_OK && tkl__now() >= s->wait_next)
        rc = report_wait(s);
    return rc;
}

int tkl__files_room_wait(tkl__files_sending *s, int64_t next_end_ms)
{
    return wait_until(s, TKL__FOREVER, next_end_ms);
}

void tkl__files_room_had(tkl__files_sending *s)
{
    tkl__unlisten(&s->ear);
}

/* ---- Receivers ----------------------------------------------------------- */

static int by_token(const void *a, const void *b)
{
    return memcmp(a, b, TKL__FILES_TOKEN);
}

/* Whether one of these tokens, which follow each other, is of a file of ours. */
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

/* Whether a receiver could not use one of our files: fields are token, receiver, name, reason. */
static int find_trouble(tkl__files_sending *s)
{
    tkl__args words;
    tkl_reply *reply;
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
        if (is_ours(s, tkl_reply_bytes(tkl_reply_at(fields, 1))))
            rc =
                tkl__fail(TKL_DEAD, "%s did not get %s: %s", tkl_reply_str(tkl_reply_at(fields, 3)),
                          name_of(tkl_reply_at(fields, 5)), tkl_reply_str(tkl_reply_at(fields, 7)));
    }
    tkl_reply_free(reply);
    return rc;
}

/* One file after the other: most are gone when the first is. */
int tkl__files_room_wait_for_all(tkl__files_sending *s)
{
    int rc = TKL_OK;
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
    tkl__files_room_had(s);
    return rc == TKL_OK ? find_trouble(s) : rc;
}
