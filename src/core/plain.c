/* SPDX-License-Identifier: MIT */
#include "core/plain.h"

#include "core/error.h"
#include "core/resp.h"

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
