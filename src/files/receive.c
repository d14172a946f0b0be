/* SPDX-License-Identifier: MIT
 *
 * Receiving: the loop that finds files and works on all of them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/options.h"
#include "core/rounds.h"
#include "files/receive.h"
#include "files/scripts.h"

/* While a receiver works on files, it checks for new ones this often. */
#define REFRESH_US       50000
#define RENEWALS_A_LEASE 3

/* ---- The lease ----------------------------------------------------------- */

static void make_join(tkl__files_receiving *r, tkl__files_request *request, int64_t lease_ms,
                      bool renew)
{
    tkl__files_request_init(request, r->files);
    tkl__args_bytes(&request->args, r->as);
    tkl__args_str(&request->args, r->holder.text);
    tkl__args_int(&request->args, lease_ms);
    tkl__args_str(&request->args, renew ? "1" : "0");
}

static int join_channel(tkl__files_receiving *r, int64_t lease_ms, bool renew)
{
    tkl__files_request request;
    tkl_reply *reply;
    make_join(r, &request, lease_ms, renew);
    int rc = tkl__files_request_run(&request, &tkl__lua_files_join, &reply);
    tkl_reply_free(reply);
    tkl__files_request_free(&request);
    return rc;
}

static tkl__files_receiving *receiving_of(tkl__kept *kept)
{
    return (tkl__files_receiving *)(void *)((char *)kept - offsetof(tkl__files_receiving, kept));
}

static bool prepare_renewal(tkl__kept *kept, tkl__invocation *call)
{
    tkl__files_receiving *r = receiving_of(kept);
    if (r->renewal.keys.failed || r->renewal.args.failed)
        return false;
    *call = (tkl__invocation){.script = &tkl__lua_files_join,
                              .keys = r->renewal.keys.items,
                              .nkeys = r->renewal.keys.count,
                              .args = r->renewal.args.items,
                              .nargs = r->renewal.args.count,
                              .retry_safe = true};
    return true;
}

static void renewal_done(tkl__kept *kept, int rc, const tkl_reply *reply)
{
    if (rc == TKL_OK && tkl_reply_int(reply) == TKL_NOTOWNER)
        atomic_store(&receiving_of(kept)->lost, true);
}

static int64_t renewal_due(tkl__kept *kept)
{
    tkl__files_receiving *r = receiving_of(kept);
    if (atomic_load(&r->lost))
        return TKL__FOREVER;
    return tkl__now() + r->files->rules.lease_ms * 1000 / RENEWALS_A_LEASE;
}

static int start_renewing(tkl__files_receiving *r)
{
    r->kept = (tkl__kept){.prepare = prepare_renewal, .done = renewal_done, .due = renewal_due};
    make_join(r, &r->renewal, r->files->rules.lease_ms, true);
    return tkl__keep(r->files->client, &r->kept, renewal_due(&r->kept));
}

static void stop_renewing(tkl__files_receiving *r)
{
    tkl__unkeep_wait(r->files->client, &r->kept);
    tkl__files_request_free(&r->renewal);
}

/* ---- Finding files ------------------------------------------------------- */

static size_t find_file(const tkl__files_receiving *r, const char *token)
{
    size_t i = 0;
    while (i < r->count && strcmp(r->active[i]->token.text, token) != 0)
        i++;
    return i;
}

static void forget_file(tkl__files_receiving *r, size_t index)
{
    tkl__files_incoming_free(r->active[index]);
    memmove(&r->active[index], &r->active[index + 1], (r->count - index - 1) * sizeof *r->active);
    r->count--;
}

static int add_file(tkl__files_receiving *r, const char *token, const tkl_reply *fields)
{
    if (!tkl__grow(&r->active, r->count, sizeof *r->active))
        return tkl__nomem();
    r->active[r->count] = tkl__files_incoming_new(r, token, fields);
    return r->active[r->count] ? (r->count++, TKL_OK) : tkl__nomem();
}

/* Notes the server's answer about a file: its fields, LOST, or nothing when the file is gone. */
static int note_file(tkl__files_receiving *r, const char *token, const tkl_reply *fields)
{
    enum { LOST = 1 };
    size_t index = find_file(r, token);
    bool known = index < r->count;
    bool there = tkl_reply_count(fields) > 0;
    bool lost = !there && tkl_reply_int(fields) == LOST;
    int rc = TKL_OK;
    if (known && there)
        tkl__files_incoming_update(r->active[index], fields);
    else if (!known && (there || lost))
        rc = add_file(r, token, fields);
    if (rc == TKL_OK && lost)
        rc = tkl__files_incoming_lost(r->active[index]);
    else if (rc == TKL_OK && known && !there)
        rc = tkl__files_incoming_given_up(r->active[index]);
    if (rc == TKL_OK && !there && index < r->count)
        forget_file(r, index);
    return rc;
}

static int look_at_files(tkl__files_receiving *r, const char *const *tokens, size_t count)
{
    tkl_reply *reply;
    int rc = tkl__files_request_for(r->files, &tkl__lua_files_look, r->as, tokens, count, &reply);
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = note_file(r, tokens[i], tkl_reply_at(reply, i));
    tkl_reply_free(reply);
    return rc;
}

/* Looks again at all files that are not done: a file that was given up is not among the changed
 * files. */
static int look_again(tkl__files_receiving *r)
{
    int rc = TKL_OK;
    for (size_t from = 0; rc == TKL_OK && from < r->count; from += TKL__FILES_BATCH) {
        char tokens[TKL__FILES_BATCH][TKL__FILES_TOKEN + 1];
        const char *texts[TKL__FILES_BATCH];
        size_t count = 0;
        for (size_t i = from; i < r->count && count < TKL__FILES_BATCH; i++, count++) {
            memcpy(tokens[count], r->active[i]->token.text, sizeof tokens[count]);
            texts[count] = tokens[count];
        }
        rc = look_at_files(r, texts, count);
    }
    return rc;
}

/* Looks for new files if there may be some: reads one page of changed files. *more: there are more
 * pages. Left-over partial files are removed when all pages have been read for the first time. */
static int look_if_needed(tkl__files_receiving *r, bool *more, int64_t *next_end_ms)
{
    tkl__files_page page;
    *more = false;
    if (!r->look)
        return TKL_OK;
    int rc = tkl__files_news(r->files, &r->cursor, &page);
    if (rc == TKL_OK)
        rc = look_again(r);
    if (rc == TKL_OK && page.count > 0)
        rc = look_at_files(r, page.texts, page.count);
    if (rc != TKL_OK)
        return rc;
    *next_end_ms = page.next_end_ms;
    *more = r->look = page.more;
    if (page.more || r->swept)
        return TKL_OK;
    r->swept = true;
    return tkl__files_partial_sweep(r);
}

/* ---- Working ------------------------------------------------------------- */

static int check_lost(tkl__files_receiving *r)
{
    if (atomic_load(&r->lost))
        return tkl__fail(TKL_ELOST, "another process receives under this name, or it was dropped");
    return tkl__is_interrupted(r->files->client) ? tkl__interrupted() : TKL_OK;
}

/* Works on one file: until it is done if all of it was sent, else for one round trip. */
static int work_on(tkl__files_receiving *r, tkl__files_incoming *in, bool *finished)
{
    int rc;
    *finished = false;
    if (in->small) {
        rc = tkl__files_incoming_small(in);
        *finished = !in->blocked && !in->held;
        return rc;
    }
    tkl__rounds rounds = {.idle = 0};
    rc = tkl__files_receiving_flush(r);
    do {
        int64_t position = in->position, acked = in->acked;
        if (rc == TKL_OK)
            rc = tkl__files_incoming_step(in, finished);
        if (rc == TKL_OK && !*finished && !in->blocked && !in->held)
            rc = tkl__next_round(&rounds, r->files->client, 0,
                                 in->position != position || in->acked != acked);
        if (rc == TKL_OK && !*finished)
            rc = check_lost(r);
    } while (rc == TKL_OK && !*finished && in->complete && !in->blocked && !in->held);
    return rc;
}

/* Works on all files, in their order. */
static int work_on_files(tkl__files_receiving *r, bool *did)
{
    int rc = TKL_OK;
    *did = false;
    for (size_t i = 0; rc == TKL_OK && i < r->count;) {
        bool finished = false;
        if (tkl__files_incoming_ready(r->active[i])) {
            rc = work_on(r, r->active[i], &finished);
            *did = true;
        }
        if (rc == TKL_OK && finished)
            forget_file(r, i);
        else
            i++;
    }
    if (rc != TKL_OK)
        return rc;
    return tkl__files_receiving_flush(r);
}

/* Works as long as there is work, for at most REFRESH_US. *any: there was work. */
static int work_a_while(tkl__files_receiving *r, bool *any)
{
    int64_t until = tkl__now() + REFRESH_US;
    bool did;
    int rc;
    *any = false;
    do {
        rc = work_on_files(r, &did);
        *any |= did;
        if (rc == TKL_OK)
            rc = check_lost(r);
    } while (rc == TKL_OK && did && tkl__now() < until);
    return rc;
}

/* ---- Waiting ------------------------------------------------------------- */

/* Handles a message. A message names a file and how many chunks it has, so a known file needs no
 * look. An empty message, or one about a new file, makes the receiver look at all files. */
static void handle_message(tkl__files_receiving *r, tkl_bytes message)
{
    char token[TKL__FILES_TOKEN + 1] = "";
    if (message.len > TKL__FILES_TOKEN)
        memcpy(token, message.data, TKL__FILES_TOKEN);
    size_t index = find_file(r, token);
    if (index == r->count) {
        r->look = true;
        return;
    }
    char number[24] = "";
    size_t len = message.len - TKL__FILES_TOKEN;
    memcpy(number, message.data + TKL__FILES_TOKEN, len < sizeof number ? len : sizeof number - 1);
    int64_t sent = strtoll(number, NULL, 10);
    if (sent > r->active[index]->hinted)
        r->active[index]->hinted = sent;
    else
        r->look = true; /* it is complete, or it was sent again */
}

static bool is_listening(const tkl__files_receiving *r)
{
    return r->ear.waiter.hub != NULL;
}

/* Handles all messages that have arrived. */
static void handle_arrived(tkl__files_receiving *r)
{
    tkl_bytes message;
    while (is_listening(r) && tkl__await(&r->ear.waiter, 0, &message) == TKL__MESSAGE)
        handle_message(r, message);
}

/* Sleeps until there may be news; wakes up in time to notice a lost lease, too. When the receiver
 * begins to listen, also after a lost connection, the server may have been restored with older
 * data: it gives out the same numbers of changes again, and has files again that this receiver was
 * done with. So the receiver then looks at all files. */
static int sleep_once(tkl__files_receiving *r, int64_t deadline, int64_t next_end_ms)
{
    tkl__news news = {.kind = TKL__NEWS_LOOK};
    int rc = TKL__NOT_YET;
    int64_t lease = tkl__deadline_ms(r->files->rules.lease_ms);
    int64_t look = tkl__now() + TKL__WAIT_LOOK_US, next_end = tkl__deadline_ms(next_end_ms + 1);
    r->wait.deadline = deadline;
    r->wait.again = lease < look ? lease : look;
    if (next_end_ms >= 0 && next_end < r->wait.again)
        r->wait.again = next_end;
    if (!tkl__wait_goes_on(&r->wait, &rc, &news) && rc != TKL__NOT_YET && !tkl__may_pass(rc))
        return rc;
    if (news.kind == TKL__NEWS_MESSAGE) {
        handle_message(r, news.message);
        handle_arrived(r);
        return TKL_OK;
    }
    if (news.kind == TKL__NEWS_BEGUN)
        r->cursor = (tkl__files_cursor){.number = 0};
    r->look = true;
    return TKL_OK;
}

/* ---- The call ------------------------------------------------------------ */

/* Whether all is received and no more will come. Then the receiver reports the marks of senders
 * ("no more will come") as done, unless a file is blocked. */
static bool is_done(tkl__files_receiving *r, int *rc)
{
    size_t left = 0;
    bool blocked = false;
    for (size_t i = 0; i < r->count; i++) {
        blocked |= r->active[i]->blocked;
        r->ended |= r->active[i]->end;
        left += !r->active[i]->blocked && !r->active[i]->held && !r->active[i]->end;
    }
    if (!r->options.exit_when_done || !r->ended || left > 0)
        return false;
    for (size_t i = 0; *rc == TKL_OK && i < r->count; i++)
        if (r->active[i]->end && !blocked)
            *rc = tkl__files_incoming_note_done(r->active[i]);
    return true;
}

static int receive_loop(tkl__files_receiving *r, int64_t wait_ms)
{
    int64_t deadline = wait_ms < 0 ? TKL__FOREVER : tkl__deadline_ms(wait_ms), next_end_ms = -1;
    int rc = wait_ms == 0 ? TKL_OK : sleep_once(r, deadline, -1); /* begins to listen */
    while (rc == TKL_OK) {
        bool worked = false, more;
        rc = look_if_needed(r, &more, &next_end_ms);
        if (rc == TKL_OK)
            rc = work_a_while(r, &worked);
        if (rc != TKL_OK)
            return rc;
        if (worked && !more)
            handle_arrived(r);
        if (worked || more) {
            deadline = wait_ms > 0 ? tkl__deadline_ms(wait_ms) : deadline;
            r->look |= !is_listening(r) || r->count == 0;
            continue;
        }
        if (is_done(r, &rc) || tkl__left(deadline) == 0)
            return rc;
        rc = sleep_once(r, deadline, next_end_ms);
    }
    return rc;
}

/* Ends the call, which ended with `rc`. Reports the small files that are done, so that they are not
 * received again, and then that the receiver leaves. Does neither when the server is down or this
 * process does not receive any more. `rc` and its text stay. */
static void leave_channel(tkl__files_receiving *r, int rc)
{
    tkl_error before;
    tkl_error_last(rc, &before);
    r->files->patience_ms = 0;
    if (rc != TKL_ELOST && !tkl__may_pass(rc) && tkl__files_receiving_flush(r) == TKL_OK)
        (void)!join_channel(r, 0, true);
    (void)!tkl__first_tell(&before);
}

static int receive_files(tkl__files_receiving *r, int64_t wait_ms)
{
    r->ear = (tkl__ear){.channel = r->files->keys.items[TKL__FILES_STATE]};
    r->ears[0] = &r->ear;
    r->wait = (tkl__wait){.client = r->files->client,
                          .timeout_ms = r->files->rules.timeout_ms,
                          .ears = r->ears,
                          .count = 1};
    int rc = tkl__files_new_holder(r->files, &r->holder);
    if (rc == TKL_OK)
        rc = join_channel(r, r->files->rules.lease_ms, false);
    if (rc == TKL_NOTOWNER)
        rc = tkl__fail(TKL_ELOST, "another process receives under this name");
    if (rc != TKL_OK)
        return rc;
    rc = start_renewing(r);
    if (rc == TKL_OK)
        rc = receive_loop(r, wait_ms);
    tkl__wait_end(&r->wait);
    stop_renewing(r);
    leave_channel(r, rc);
    if (rc != TKL_OK)
        return rc;
    if (r->failure != TKL_OK)
        return tkl__fail(r->failure, "%s", r->message);
    bool ended = r->options.exit_when_done && r->ended;
    return r->totals.files > 0 || ended ? TKL_OK : tkl__no(TKL_EMPTY);
}

/* Sets the mark that separates this receiver from others in the same directory. */
static int set_mark(tkl__files_receiving *r)
{
    tkl_bytes channel = r->files->keys.items[TKL__FILES_STATE];
    tkl__files_hash *hash = tkl__files_hash_new();
    if (!hash)
        return tkl__nomem();
    tkl__files_hash_add(hash, &channel.len, sizeof channel.len);
    tkl__files_hash_add(hash, channel.data, channel.len);
    tkl__files_hash_add(hash, r->as.data, r->as.len);
    memcpy(r->mark, tkl__files_hash_sum(hash).text, TKL__FILES_MARK);
    tkl__files_hash_free(hash);
    return TKL_OK;
}

static int open_dir(tkl__files_receiving *r)
{
    if (!r->options.dir)
        r->options.dir = ".";
    r->dir = open(r->options.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return r->dir < 0 ? tkl__fail_errno(TKL_EIO, "%s", r->options.dir) : TKL_OK;
}

static void close_all(tkl__files_receiving *r)
{
    while (r->count > 0)
        tkl__files_incoming_free(r->active[--r->count]);
    free(r->active);
    free(r->memory);
    tkl__batch_free(&r->batch);
    if (r->dir >= 0)
        close(r->dir);
}

int tkl_files_receive(tkl_files *files, tkl_bytes as, const tkl_files_receive_options *options,
                      int64_t wait_ms, tkl_files_totals *totals)
{
    tkl_files patient = tkl__files_with_patience(files, wait_ms);
    tkl__files_receiving r = {.files = &patient, .as = as, .dir = -1, .look = true};
    if (totals)
        *totals = (tkl_files_totals){0};
    int rc = TKL__CHECK_RESERVED(options);
    if (rc == TKL_OK && options)
        rc = tkl__check_number("timeout_ms", options->timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__files_check_receiver(as);
    if (rc != TKL_OK)
        return rc;
    if (options)
        r.options = *options;
    if (r.options.timeout_ms > 0)
        patient.rules.timeout_ms = r.options.timeout_ms;
    tkl__batch_init(&r.batch, files->client);
    rc = set_mark(&r);
    if (rc == TKL_OK)
        rc = open_dir(&r);
    if (rc == TKL_OK)
        rc = receive_files(&r, wait_ms);
    close_all(&r);
    if (totals)
        *totals = r.totals;
    return rc;
}
