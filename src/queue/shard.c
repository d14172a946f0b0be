/* SPDX-License-Identifier: MIT */
#include "queue/shard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "core/error.h"

static const char *const parts[TKL__PARTS] = {"m", "j", "q", "d", "a",  "x",  "z", "u", "v",
                                              "g", "y", "t", "k", "r0", "r1", "w", "s"};

/* "ns:queue:{name}", and "ns:queue:{name%233}" for the third of several: no name can be written
 * like that, since a '%' in a name is "%25". */
static int make_base(tkl__shard *shard, const tkl_queue *queue)
{
    char number[16];
    int rc = tkl__base_make(queue->client, "queue", queue->name, &shard->base);
    if (rc != TKL_OK || queue->partitions == 1)
        return rc;
    size_t more = (size_t)snprintf(number, sizeof number, "%%23%d}", shard->index);
    char *longer = realloc(shard->base.data, shard->base.len + more);
    if (!longer)
        return tkl__nomem();
    memcpy(longer + shard->base.len - 1, number, more + 1);
    shard->base.data = longer;
    shard->base.len += more - 1;
    return TKL_OK;
}

/* A forked child has an id, and so a channel, of its own. */
static int make_channel(tkl__shard *shard, tkl_client *client)
{
    char part[40];
    unsigned char id[16];
    tkl__client_lock(client);
    memcpy(id, client->id, sizeof id);
    tkl__client_unlock(client);
    char *at = part + sprintf(part, "w:");
    for (size_t i = 0; i < sizeof id; i++)
        at += sprintf(at, "%02x", id[i]);
    return tkl__key_make(&shard->base, part, &shard->channel);
}

int tkl__shard_open(tkl__shard *shard, tkl_queue *queue, int index)
{
    shard->queue = queue;
    shard->index = index;
    int rc = make_base(shard, queue);
    for (int i = 0; rc == TKL_OK && i < TKL__PARTS; i++)
        rc = tkl__key_make(&shard->base, parts[i], &shard->keys[i]);
    return rc == TKL_OK ? make_channel(shard, queue->client) : rc;
}

void tkl__shard_close(tkl__shard *shard)
{
    for (int i = 0; i < TKL__PARTS; i++)
        free((char *)shard->keys[i].data);
    free((char *)shard->channel.data);
    tkl__base_free(&shard->base);
}

void tkl__shard_keys(const tkl__shard *shard, const tkl__part *which, size_t count, tkl_bytes *keys)
{
    for (size_t i = 0; i < count; i++)
        keys[i] = shard->keys[which[i]];
}

/* ---- Ids ----------------------------------------------------------------- */

void tkl__id_show(const tkl__shard *shard, const char *digits, char id[TKL_JOB_ID_SIZE])
{
    char *at = id;
    if (shard->queue->partitions > 1)
        at += sprintf(id, "%d.", shard->index % 1000);
    memcpy(at, digits, TKL__ID_LEN);
    at[TKL__ID_LEN] = '\0';
}

tkl__shard *tkl__id_find(const tkl_queue *queue, const char *id, const char **digits)
{
    char *rest = (char *)id;
    long index = 0;
    if (queue->partitions > 1) {
        index = strspn(id, "0123456789") < 4 ? strtol(id, &rest, 10) : -1;
        if (rest == id || *rest++ != '.')
            return NULL;
    }
    bool good = strlen(rest) == TKL__ID_LEN && strspn(rest, "0123456789abcdef") == TKL__ID_LEN;
    *digits = rest;
    return good && index >= 0 && index < queue->partitions ? &queue->shards[index] : NULL;
}

int64_t tkl__id_time(const char *digits)
{
    int64_t number = 0;
    for (int i = 0; i < TKL__ID_LEN; i++) {
        char c = digits[i];
        number = number * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
    }
    return number / 1024;
}

tkl__shard *tkl__shard_of(const tkl_queue *queue, tkl_bytes key)
{
    return &queue->shards[XXH64(key.data, key.len, 0) % (uint64_t)queue->partitions];
}
