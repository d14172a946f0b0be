/* SPDX-License-Identifier: MIT
 *
 * How files leave a channel: all receivers have them, they are given up, or they are overdue.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/reply.h"
#include "files/files.h"
#include "files/scripts.h"

/* Chunks that one step removes. */
#define STEP 128
/* Most steps for one file: no server holds two terabytes of it. */
#define STEPS_MAX 65536
/* Most requests while the server rebuilds its list: enough for ten million files. */
#define MENDS_MAX 100000

/* ---- Giving up ----------------------------------------------------------- */

/* The elements of a reply of files/remove behind the code. */
enum { REMOVE_FREED = 1, REMOVE_RESERVED, REMOVE_GONE };

/* Removes the chunks from `first` to `last`. */
static int remove_step(tkl_files *files, const char *token, const char *holder, const char *reason,
                       int64_t first, int64_t last, tkl_reply **reply)
{
    tkl__files_request request;
    tkl__files_request_init(&request, files);
    tkl__files_request_add_file(&request, token);
    tkl__files_request_add_chunks(&request, token, first, last);
    tkl__args_str(&request.args, token);
    tkl__args_str(&request.args, holder);
    tkl__args_str(&request.args, reason);
    tkl__args_int(&request.args, first);
    int rc = tkl__files_request_run(&request, &tkl__lua_files_remove, reply);
    tkl__files_request_free(&request);
    return rc;
}

/* Removes a file in steps. The reply to a step says which chunks the next step has to name. */
int tkl__files_remove(tkl_files *files, const char *token, const char *holder, const char *reason)
{
    int64_t first = 0, last = 0;
    for (int step = 0; step < STEPS_MAX; step++) {
        tkl_reply *reply;
        int rc = remove_step(files, token, holder, reason, first, last, &reply);
        int64_t freed = tkl__files_chunks(tkl_reply_at(reply, REMOVE_FREED));
        int64_t reserved = tkl__files_chunks(tkl_reply_at(reply, REMOVE_RESERVED));
        bool gone = tkl_reply_int(tkl_reply_at(reply, REMOVE_GONE)) == 1;
        tkl_reply_free(reply);
        if (rc != TKL_OK || gone)
            return rc;
        if (last > first && freed <= first)
            return tkl__fail(TKL_EPROTO, "the server removes nothing");
        first = freed;
        last = reserved - freed < STEP ? reserved : freed + STEP;
    }
    return tkl__fail(TKL_EDAMAGED, "another program has changed a file of the channel");
}

/* ---- Reservations of senders that are gone ------------------------------- */

/* The elements of a reply of files/recall behind the code. */
enum { RECALL_SENT = 1, RECALL_RESERVED };

static int recall_step(tkl_files *files, const char *token, int64_t first, int64_t last,
                       tkl_reply **reply)
{
    tkl__files_request request;
    tkl__files_request_init(&request, files);
    tkl__files_request_add_record(&request, token);
    tkl__files_request_add_chunks(&request, token, first, last);
    tkl__args_str(&request.args, token);
    if (first < last)
        tkl__args_int(&request.args, first);
    else
        tkl__args_str(&request.args, "");
    int rc = tkl__files_request_run(&request, &tkl__lua_files_recall, reply);
    tkl__files_request_free(&request);
    return rc;
}

/* Takes reserved chunks back. The reply to the first step says which chunks the second step has to
 * name. */
static int recall_chunks(tkl_files *files, const char *token)
{
    tkl_reply *reply;
    int rc = recall_step(files, token, 0, 0, &reply);
    int64_t sent = tkl__files_chunks(tkl_reply_at(reply, RECALL_SENT));
    int64_t reserved = tkl__files_chunks(tkl_reply_at(reply, RECALL_RESERVED));
    tkl_reply_free(reply);
    if (rc != TKL_OK || reserved <= sent || reserved - sent > STEP)
        return rc;
    rc = recall_step(files, token, sent, reserved, &reply);
    tkl_reply_free(reply);
    return rc;
}

/* ---- Overdue ------------------------------------------------------------- */

/* `overdue` is "lease:" and a token: the sender of the file is gone; or a token: the time of the
 * file is over. */
int tkl__files_reap(tkl_files *files, const tkl_reply *overdue)
{
    static const char lease[] = "lease:";
    tkl__files_token token;
    const char *text = tkl_reply_str(overdue);
    if (strncmp(text, lease, sizeof lease - 1) == 0 &&
        tkl__files_is_token(text + sizeof lease - 1)) {
        int recalled = recall_chunks(files, text + sizeof lease - 1);
        return recalled > 0 ? TKL_OK : recalled; /* another client was faster */
    }
    if (!tkl__files_read_token(overdue, &token))
        return TKL_OK;
    int rc = tkl__files_remove(files, token.text, "", "given up: its time was over");
    return rc > 0 ? TKL_OK : rc; /* another client was faster */
}

/* ---- Chunks that all receivers have -------------------------------------- */

/* Removes the chunks from *freed to `last` as far as all receivers have them. *freed: chunks before
 * it are removed now; *lowest: chunks before it can be. */
static int free_step(tkl_files *files, const char *token, int64_t last, int64_t *freed,
                     int64_t *lowest)
{
    tkl__files_request request;
    tkl_reply *reply;
    tkl__files_request_init(&request, files);
    tkl__files_request_add_file(&request, token);
    tkl__files_request_add_chunks(&request, token, *freed, last);
    tkl__args_str(&request.args, token);
    for (int i = 0; i < 3; i++) /* no receiver, holder, position */
        tkl__args_str(&request.args, "");
    tkl__args_int(&request.args, *freed);
    int rc = tkl__files_request_run(&request, &tkl__lua_files_ack, &reply);
    *freed = tkl__files_chunks(tkl_reply_at(reply, TKL__FILES_ACK_FREED));
    *lowest = tkl__files_chunks(tkl_reply_at(reply, TKL__FILES_ACK_LOWEST));
    tkl_reply_free(reply);
    tkl__files_request_free(&request);
    return rc;
}

int tkl__files_free_chunks(tkl_files *files, const char *token)
{
    int64_t freed = 0, lowest = 0, before = -1;
    int rc = free_step(files, token, 0, &freed, &lowest);
    while (rc == TKL_OK && freed < lowest && freed > before) {
        before = freed;
        rc =
            free_step(files, token, lowest - freed < STEP ? lowest : freed + STEP, &freed, &lowest);
    }
    return rc > 0 ? TKL_OK : rc;
}

/* ---- Done ---------------------------------------------------------------- */

/* Removes the chunks of files that all receivers are done with. */
static int remove_rest(tkl_files *files, const tkl_reply *reply)
{
    int rc = TKL_OK;
    for (size_t i = 1; rc == TKL_OK && i < tkl_reply_count(reply); i++)
        rc = tkl__files_reap(files, tkl_reply_at(reply, i));
    return rc;
}

int tkl__files_done(tkl_files *files, tkl_bytes receiver, const char *holder, const char *reason,
                    const char *call, const char *const *tokens, size_t count)
{
    tkl__files_request request;
    tkl_reply *reply;
    tkl__files_request_init(&request, files);
    tkl__files_request_add_sent(&request, call);
    tkl__args_bytes(&request.args, receiver);
    tkl__args_str(&request.args, holder);
    tkl__args_str(&request.args, reason);
    tkl__files_request_add_files(&request, tokens, count);
    int rc = tkl__files_request_run(&request, &tkl__lua_files_done, &reply);
    tkl__files_request_free(&request);
    if (rc == TKL_OK)
        rc = remove_rest(files, reply);
    tkl_reply_free(reply);
    return rc;
}

/* ---- All files ----------------------------------------------------------- */

/* Reads the tokens of a reply of ZRANGE, which also has their scores. */
static size_t read_page(const tkl_reply *page, tkl__files_token *tokens, const char **texts)
{
    size_t count = 0;
    for (size_t i = 0; i + 1 < tkl_reply_count(page); i += 2)
        if (tkl__files_read_token(tkl_reply_at(page, i), &tokens[count])) {
            texts[count] = tokens[count].text;
            count++;
        }
    return count;
}

/* The elements of a reply of files/news. */
enum { NEWS_EPOCH, NEWS_OVERDUE, NEWS_NEXT, NEWS_FILES, NEWS_MENDED };

static int request_news(tkl_files *files, const char *epoch, const char *cursor, tkl_reply **reply)
{
    tkl__files_request request;
    tkl__files_request_init(&request, files);
    tkl__args_str(&request.args, epoch);
    tkl__args_str(&request.args, cursor);
    tkl__args_int(&request.args, TKL__FILES_BATCH);
    int rc = tkl__files_request_plain(&request, &tkl__lua_files_news, reply);
    tkl__files_request_free(&request);
    return rc;
}

int tkl__files_news(tkl_files *files, tkl__files_cursor *cursor, tkl__files_page *page)
{
    tkl_reply *reply;
    char number[24];
    *page = (tkl__files_page){.next_end_ms = -1};
    snprintf(number, sizeof number, "%" PRId64, cursor->number);
    int rc = request_news(files, cursor->epoch, number, &reply);
    if (rc != TKL_OK)
        return rc;
    const tkl_reply *list = tkl_reply_at(reply, NEWS_FILES);
    const char *epoch = tkl_reply_str(tkl_reply_at(reply, NEWS_EPOCH));
    int64_t before = strcmp(cursor->epoch, epoch) == 0 ? cursor->number : -1;
    snprintf(cursor->epoch, sizeof cursor->epoch, "%s", epoch);
    page->count = read_page(list, page->tokens, page->texts);
    page->next_end_ms = tkl__reply_number(tkl_reply_at(reply, NEWS_NEXT));
    size_t words = tkl_reply_count(list);
    if (words > 0)
        cursor->number = tkl__files_number(tkl_reply_at(list, words - 1), INT64_MAX / 2);
    page->more = words == 2 * TKL__FILES_BATCH;
    if (page->more && cursor->number <= before) {
        tkl_reply_free(reply);
        return tkl__fail(TKL_EPROTO, "not an answer of files/news");
    }
    if (tkl_reply_int(tkl_reply_at(reply, NEWS_MENDED)) == 1 && cursor->mended < MENDS_MAX) {
        cursor->mended++;
        page->more = true;
    }
    rc = tkl__files_reap(files, tkl_reply_at(reply, NEWS_OVERDUE));
    tkl_reply_free(reply);
    return rc;
}

int tkl__files_walk(tkl_files *files, tkl__files_visit *visit, void *arg)
{
    tkl__files_cursor cursor = {.number = 0};
    tkl__files_page page;
    int rc;
    do {
        rc = tkl__files_news(files, &cursor, &page);
        if (rc == TKL_OK && page.count > 0)
            rc = visit(files, page.texts, page.count, arg);
    } while (rc == TKL_OK && page.more);
    return rc;
}
