/* SPDX-License-Identifier: MIT
 *
 * Any bytes as what a server sends: every reply they make can be walked with the public accessors,
 * however the bytes were cut on their way. The first byte says how long the pieces are.
 */
#include "core/reply.h"

#include <hiredis/hiredis.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

/* Reads all that the accessors show, so that the sanitizer checks every byte of it. */
static void walk(const tkl_reply *reply)
{
    tkl_bytes bytes = tkl_reply_bytes(reply);
    for (size_t i = 0; i < bytes.len; i++)
        sink += (uint8_t)bytes.data[i];
    sink += strlen(tkl_reply_str(reply)) + (uint64_t)tkl_reply_int(reply);
    sink += (uint64_t)tkl_reply_type_of(reply) + (uint64_t)tkl_reply_code(reply);
    sink += tkl_reply_double(reply) > 0;
    size_t count = tkl_reply_count(reply);
    for (size_t i = 0; i <= count; i++) {
        const tkl_reply *element = tkl_reply_at(reply, i);
        if (element)
            walk(element);
    }
}

/* False when the reader has given up on the bytes. */
static bool take_replies(redisReader *reader)
{
    for (;;) {
        void *reply = NULL;
        if (redisReaderGetReply(reader, &reply) != REDIS_OK)
            return false;
        if (!reply)
            return true;
        walk(reply);
        tkl_reply_free(reply);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    size_t piece = 1 + (size_t)data[0] * 4;
    const char *at = (const char *)data + 1, *end = (const char *)data + size;
    redisReader *reader = tkl__reader_new();
    while (reader && at < end) {
        size_t len = (size_t)(end - at) < piece ? (size_t)(end - at) : piece;
        if (redisReaderFeed(reader, at, len) != REDIS_OK || !take_replies(reader))
            break;
        at += len;
    }
    if (reader)
        redisReaderFree(reader);
    return 0;
}
