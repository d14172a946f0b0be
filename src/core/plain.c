/* SPDX-License-Identifier: MIT */
#include "core/plain.h"

#include "core/error.h"
#include "core/resp.h"

/* The most commands in one round trip. */
#define MANY 8

static void write_command(const tkl__args *words, tkl__buf *wire)
{
    tkl__resp_head(wire, words->count);
    for (size_t i = 0; i < words->count; i++)
        tkl__resp_arg(wire, words->items[i].data, words->items[i].len);
    wire->failed = wire->failed || words->failed;
}

static int slot_of(const tkl_client *client, const tkl__args *words)
{
    return client->route->cluster ? tkl__slot_of(words->items[1]) : TKL__NO_SLOT;
}

int tkl__plain(tkl_client *client, const tkl__args *words, int64_t deadline, bool retry_safe,
               tkl_reply **reply)
{
    tkl__buf wire;
    int rc = TKL_ENOMEM;
    *reply = NULL;
    tkl__buf_init(&wire);
    write_command(words, &wire);
    if (wire.failed) {
        tkl__nomem();
    } else {
        tkl__request request = {.wire = {wire.data, wire.len},
                                .slot = slot_of(client, words),
                                .retry_safe = retry_safe};
        rc = tkl__exec(client, &request, deadline, reply);
    }
    tkl__buf_free(&wire);
    return rc == TKL_OK ? tkl__check(reply) : rc;
}

static int first_error(tkl_reply **replies)
{
    for (size_t i = 0; i < tkl_reply_count(*replies); i++) {
        const tkl_reply *reply = tkl_reply_at(*replies, i);
        int rc = tkl_reply_code(reply);
        if (rc != TKL_OK) {
            tkl__fail(rc, "%s", tkl_reply_str(reply));
            tkl_reply_free(*replies);
            *replies = NULL;
            return rc;
        }
    }
    return TKL_OK;
}

int tkl__plain_many(tkl_client *client, const tkl__args *commands, size_t count, int64_t deadline,
                    bool retry_safe, tkl_reply **replies)
{
    tkl__request requests[MANY];
    size_t starts[MANY + 1] = {0};
    tkl__buf wire;
    int rc = count <= MANY ? TKL_OK : tkl__fail(TKL_EBUG, "more than %d commands", MANY);
    *replies = NULL;
    tkl__buf_init(&wire);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        write_command(&commands[i], &wire);
        starts[i + 1] = wire.len;
    }
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        requests[i] = (tkl__request){.wire = {wire.data + starts[i], starts[i + 1] - starts[i]},
                                     .slot = slot_of(client, &commands[i]),
                                     .retry_safe = retry_safe};
    if (rc == TKL_OK)
        rc =
            wire.failed ? tkl__nomem() : tkl__exec_many(client, requests, count, deadline, replies);
    tkl__buf_free(&wire);
    if (rc == TKL_OK)
        return first_error(replies);
    tkl_reply_free(*replies);
    *replies = NULL;
    return rc;
}
