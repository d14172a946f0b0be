/* SPDX-License-Identifier: MIT
 *
 * Channels: publish and subscribe with a history.
 *
 * Keys:
 *
 *     ns:channel:{name}           hash: number and ms of the newest message, and the life of the
 *                                 channel; also the name of the pub/sub channel
 *     ns:channel:{name}:history   stream: <ms>-<number>: r, the request; m, the message
 *
 * An id is the time and the number of a message. The numbers have no gaps, so a follower sees from
 * the next id how many messages it has missed. The time makes ids grow even when numbers go back:
 * after a failover the new master may lack the last messages and give their numbers again, and a
 * channel that was flushed begins with 1. So a follower that reads behind the id it has seen misses
 * no message, and knows by the number that something was lost. When the clock is set back, ids keep
 * the time of the newest one.
 *
 * The life is a random text, made with the state. A follower that has seen a later message than the
 * newest one compares lives: in the same life the server has lost the last messages; of another
 * life the follower has seen no message (follow.c).
 *
 * The history is trimmed by every message: by count, and by age, which is the time in the ids. It
 * expires when its newest message would be trimmed; the state a day later, so that numbers go on
 * after a quiet day. The server trims whole nodes of the stream: the exact form would copy a node
 * for every message.
 *
 * A request whose answer was lost is repeated, and the script looks for it in the history: the
 * first message of a request has its token. So the server needs no list of requests that grows.
 * When the history does not reach back far enough, the outcome stays unknown.
 *
 * Publishing notifies followers on the pub/sub channel. A small message that is published alone is
 * in the notification: a follower that waits for it needs no round trip.
 */
#include "channel/channel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "channel/scripts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/options.h"
#include "core/plain.h"
#include "core/reply.h"
#include "core/script.h"
#include "core/token.h"
#include "pipeline/pipeline.h"

#define HISTORY       1000
#define TTL_MS        INT64_C(86400000)
#define REQUEST_SIZE  12
#define REPEAT_MAX_MS 60000 /* how long a request whose answer was lost is repeated */

/* ---- Ids ----------------------------------------------------------------- */

const char *tkl_channel_id_text(tkl_channel_id id, char text[TKL_CHANNEL_ID_SIZE])
{
    snprintf(text, TKL_CHANNEL_ID_SIZE, "%" PRId64 "-%" PRId64, id.time_ms, id.number);
    return text;
}

/* Reads digits up to TKL__CHANNEL_ID_MAX; moves `text` behind them. */
static bool read_part(tkl_bytes *text, int64_t *part)
{
    size_t digits = 0;
    *part = 0;
    for (; digits < text->len && text->data[digits] >= '0' && text->data[digits] <= '9'; digits++) {
        *part = *part * 10 + (text->data[digits] - '0');
        if (*part > TKL__CHANNEL_ID_MAX)
            return false;
    }
    text->data += digits;
    text->len -= digits;
    return digits > 0;
}

bool tkl__channel_id_read(tkl_bytes text, tkl_channel_id *id, tkl_bytes *rest)
{
    *id = (tkl_channel_id){0};
    if (!read_part(&text, &id->time_ms) || text.len == 0 || text.data[0] != '-')
        return false;
    text.data++;
    text.len--;
    if (!read_part(&text, &id->number) || (!rest && text.len > 0))
        return false;
    if (rest)
        *rest = text;
    return true;
}

int tkl_channel_id_parse(const char *text, tkl_channel_id *id)
{
    if (tkl__channel_id_read(tkl_str(text), id, NULL) && id->number > 0)
        return TKL_OK;
    *id = (tkl_channel_id){0};
    return tkl__fail(TKL_EINVAL, "not the id of a message, such as 1763447400123-42");
}

int tkl__channel_id_compare(tkl_channel_id a, tkl_channel_id b)
{
    if (a.time_ms != b.time_ms)
        return a.time_ms < b.time_ms ? -1 : 1;
    return a.number < b.number ? -1 : a.number > b.number;
}

/* ---- Handles ------------------------------------------------------------- */

static int check_options(const tkl_channel_options *options)
{
    return TKL__CHECK_OPTIONS(options, {"timeout_ms", options->timeout_ms, 0, TKL__MS_MAX},
                              {"ttl_ms", options->ttl_ms, 0, TKL__MS_MAX},
                              {"history", options->history, 0, TKL_CHANNEL_HISTORY_MAX});
}

int tkl_channel_open(tkl_client *client, tkl_bytes name, const tkl_channel_options *options,
                     tkl_channel **channel)
{
    static const tkl_channel_options defaults;
    *channel = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    tkl_channel *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    *made = (tkl_channel){.client = client,
                          .timeout_ms = options->timeout_ms,
                          .ttl_ms = options->ttl_ms ? options->ttl_ms : TTL_MS,
                          .history = options->history ? options->history : HISTORY};
    rc = tkl__keys_make(client, "channel", name, (const char *const[]){"", "history"}, 2,
                        &made->keys);
    if (rc == TKL_OK)
        *channel = made;
    else
        free(made);
    return rc;
}

void tkl_channel_close(tkl_channel *channel)
{
    if (!channel)
        return;
    tkl__keys_free(&channel->keys);
    free(channel);
}

/* ---- Publishing ---------------------------------------------------------- */

static int check_messages(const tkl_bytes *messages, size_t count)
{
    size_t bytes = 0;
    if (count > TKL_CHANNEL_BATCH_MAX)
        return tkl__fail(TKL_EINVAL, "%zu messages, %d are allowed", count, TKL_CHANNEL_BATCH_MAX);
    for (size_t i = 0; i < count; i++) {
        if (messages[i].len > TKL_CHANNEL_MESSAGE_MAX)
            return tkl__fail(TKL_EINVAL, "the message has %zu bytes, %d are allowed",
                             messages[i].len, TKL_CHANNEL_MESSAGE_MAX);
        bytes += messages[i].len;
    }
    if (bytes > TKL_CHANNEL_BATCH_BYTES)
        return tkl__fail(TKL_EINVAL, "the messages have %zu bytes, %d are allowed", bytes,
                         TKL_CHANNEL_BATCH_BYTES);
    return TKL_OK;
}

/* A request whose outcome is unknown is repeated with "again": the script then checks whether it
 * was executed. If the repeat fails, the outcome of the first request stays unknown. */
static int run_publish(const tkl_channel *channel, tkl__args *args, int64_t deadline,
                       tkl_reply **reply)
{
    const tkl__script *script = &tkl__lua_channel_publish;
    int64_t last = tkl__now() + REPEAT_MAX_MS * INT64_C(1000);
    int first = tkl__eval(channel->client, script, &channel->keys, args, deadline, false, reply);
    last = last < deadline ? last : deadline;
    if (!tkl_is_unknown(first) || tkl__left(last) == 0)
        return first;
    args->items[1] = tkl_str("1");
    int rc = tkl__eval(channel->client, script, &channel->keys, args, last, true, reply);
    if (rc == TKL_OK && tkl_reply_int(tkl_reply_at(*reply, 0)) == TKL_OK)
        return TKL_OK;
    tkl_reply_free(*reply);
    *reply = NULL;
    return tkl__fail_in(first, "published, and the answer was lost");
}

/* Writes the arguments of channel/publish. `request`: set to a new random name. */
static void write_messages(tkl__args *args, const tkl_channel *channel, char request[REQUEST_SIZE],
                           int64_t window_ms, const tkl_bytes *messages, size_t count)
{
    tkl__random(request, REQUEST_SIZE);
    tkl__args_init(args);
    tkl__args_bytes(args, (tkl_bytes){request, REQUEST_SIZE});
    tkl__args_str(args, "0");
    tkl__args_int(args, window_ms);
    tkl__args_int(args, channel->history);
    tkl__args_int(args, channel->ttl_ms);
    for (size_t i = 0; i < count; i++)
        tkl__args_bytes(args, messages[i]);
}

tkl_channel_id tkl__channel_newest(const tkl_reply *reply)
{
    return (tkl_channel_id){tkl__reply_number(tkl_reply_at(reply, 1)),
                            tkl__reply_number(tkl_reply_at(reply, 2))};
}

int tkl_channel_publish(tkl_channel *channel, const tkl_bytes *messages, size_t count,
                        tkl_channel_id *last)
{
    char request[REQUEST_SIZE];
    tkl__args args;
    tkl_reply *reply = NULL;
    if (last)
        *last = (tkl_channel_id){0};
    int rc = check_messages(messages, count);
    if (rc != TKL_OK || count == 0)
        return rc;
    int64_t deadline = tkl__deadline(channel->client, channel->timeout_ms);
    int64_t left_ms = tkl__left(deadline) / 1000;
    write_messages(&args, channel, request, left_ms < REPEAT_MAX_MS ? left_ms + 1 : REPEAT_MAX_MS,
                   messages, count);
    rc = run_publish(channel, &args, deadline, &reply);
    if (rc == TKL_OK && last)
        *last = tkl__channel_newest(reply);
    tkl_reply_free(reply);
    tkl__args_free(&args);
    return rc;
}

static int finish_publish(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    tkl_channel_id *id = operation->output;
    if (code == TKL_OK && id)
        *id = tkl__channel_newest(reply);
    return code;
}

int tkl_channel_publish_in(tkl_pipeline *pipeline, tkl_channel *channel, tkl_bytes message,
                           tkl_channel_id *id, tkl_result *result)
{
    char request[REQUEST_SIZE];
    tkl__args args;
    if (id)
        *id = (tkl_channel_id){0};
    int rc = check_messages(&message, 1);
    if (rc != TKL_OK)
        return tkl__result_set(result, rc);
    write_messages(&args, channel, request, 1, &message, 1); /* it is not repeated */
    rc = tkl__pipeline_eval(pipeline, channel->client, &tkl__lua_channel_publish, &channel->keys,
                            &args, false,
                            &(tkl__operation){finish_publish, channel, NULL, id, result});
    tkl__args_free(&args);
    return rc;
}

/* ---- For operators ------------------------------------------------------- */

void tkl_channel_info_free(tkl_channel_info *info)
{
    free(info);
}

int tkl_channel_show(tkl_channel *channel, tkl_channel_info **out)
{
    tkl__args args;
    tkl_reply *reply = NULL;
    *out = NULL;
    tkl_channel_info *info = calloc(1, sizeof *info);
    if (!info)
        return tkl__nomem();
    tkl__args_init(&args);
    int rc = tkl__eval(channel->client, &tkl__lua_channel_show, &channel->keys, &args,
                       tkl__deadline(channel->client, channel->timeout_ms), true, &reply);
    if (rc == TKL_OK) {
        int64_t left = tkl__reply_number(tkl_reply_at(reply, 5));
        info->last = (tkl_channel_id){tkl__reply_number(tkl_reply_at(reply, 1)),
                                      tkl__reply_number(tkl_reply_at(reply, 2))};
        info->published = info->last.number;
        info->kept = tkl__reply_number(tkl_reply_at(reply, 3));
        tkl__channel_id_read(tkl_reply_bytes(tkl_reply_at(reply, 4)), &info->oldest, NULL);
        info->expires_ms = left > 0 ? left : 0;
        info->followers = tkl__reply_number(tkl_reply_at(reply, 6));
        if (info->published == 0 && info->kept == 0)
            rc = tkl__no(TKL_NOTFOUND);
    }
    tkl_reply_free(reply);
    tkl__args_free(&args);
    if (rc == TKL_OK)
        *out = info;
    else
        free(info);
    return rc;
}

int tkl_channel_drop(tkl_channel *channel)
{
    tkl_call_options options = {.timeout_ms = channel->timeout_ms};
    tkl_bytes state = channel->keys.items[0], history = channel->keys.items[1];
    const char *argv[] = {"UNLINK", state.data, history.data};
    const size_t lens[] = {6, state.len, history.len};
    tkl_reply *reply = NULL;
    int rc = tkl_call(channel->client, 3, argv, lens, &options, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    return rc;
}

int tkl_channel_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "channel", "", "hash", names);
}
