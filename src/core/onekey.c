/* SPDX-License-Identifier: MIT */
#include "core/onekey.h"

#include <stdlib.h>

#include "core/error.h"
#include "core/number.h"
#include "core/options.h"
#include "core/resp.h"

static tkl_bytes bytes_of(const tkl__onekey *key)
{
    return (tkl_bytes){key->base.data, key->base.len};
}

int tkl__onekey_open(tkl_client *client, const char *component, tkl_bytes name, size_t size,
                     void **handle)
{
    *handle = NULL;
    tkl__onekey *key = calloc(1, size);
    if (!key)
        return tkl__nomem();
    key->client = client;
    int rc = tkl__base_make(client, component, name, &key->base);
    if (rc != TKL_OK)
        free(key);
    else
        *handle = key;
    return rc;
}

int tkl__onekey_open_with(tkl_client *client, const char *component, tkl_bytes name,
                          int64_t timeout_ms, int64_t ttl_ms, size_t size, void **handle)
{
    *handle = NULL;
    int rc = tkl__check_number("timeout_ms", timeout_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("ttl_ms", ttl_ms, 0, TKL__MS_MAX);
    if (rc == TKL_OK)
        rc = tkl__onekey_open(client, component, name, size, handle);
    if (rc != TKL_OK)
        return rc;
    tkl__onekey *key = *handle;
    key->timeout_ms = timeout_ms;
    key->ttl_ms = ttl_ms;
    return TKL_OK;
}

void tkl__onekey_close(void *handle)
{
    tkl__onekey *key = handle;
    if (key)
        tkl__base_free(&key->base);
    free(key);
}

void tkl__query_begin(tkl__query *command, const tkl__onekey *key, const char *name)
{
    command->key = key;
    command->count = 0;
    tkl__buf_init(&command->words);
    tkl__query_word(command, name);
}

void tkl__query_bytes(tkl__query *command, tkl_bytes bytes)
{
    tkl__resp_arg(&command->words, bytes.data, bytes.len);
    command->count++;
}

void tkl__query_word(tkl__query *command, const char *word)
{
    tkl__query_bytes(command, tkl_str(word));
}

void tkl__query_int(tkl__query *command, int64_t value)
{
    tkl__resp_int(&command->words, value);
    command->count++;
}

void tkl__query_double(tkl__query *command, double value)
{
    char text[TKL__DOUBLE_SIZE];
    tkl__query_word(command, tkl__double_text(value, text));
}

void tkl__query_key(tkl__query *command, const tkl__onekey *key)
{
    tkl__query_bytes(command, bytes_of(key));
}

static tkl__request request_for(const tkl__query *command, const tkl__buf *wire, size_t start,
                                bool retry_safe)
{
    bool cluster = command->key->client->route->cluster;
    return (tkl__request){.wire = {wire->data + start, wire->len - start},
                          .slot = cluster ? tkl__slot_of(bytes_of(command->key)) : TKL__NO_SLOT,
                          .retry_safe = retry_safe};
}

static void write_query(tkl__query *command, tkl__buf *wire)
{
    tkl__buf_init(wire);
    tkl__resp_head(wire, command->count);
    tkl__buf_add(wire, command->words.data, command->words.len);
    wire->failed = wire->failed || command->words.failed;
    tkl__buf_free(&command->words);
}

static int64_t deadline_of(const tkl__query *command)
{
    return tkl__deadline(command->key->client, command->key->timeout_ms);
}

int tkl__query_end(tkl__query *command, bool retry_safe, tkl_reply **reply)
{
    tkl__buf wire;
    *reply = NULL;
    write_query(command, &wire);
    tkl__request request = request_for(command, &wire, 0, retry_safe);
    int rc = wire.failed ? tkl__nomem()
                         : tkl__exec(command->key->client, &request, deadline_of(command), reply);
    tkl__buf_free(&wire);
    return rc == TKL_OK ? tkl__check(reply) : rc;
}

static void write_life(const tkl__onekey *key, tkl__buf *wire)
{
    tkl__resp_head(wire, 3);
    tkl__resp_argz(wire, "PEXPIRE");
    tkl__resp_arg(wire, key->base.data, key->base.len);
    tkl__resp_int(wire, key->ttl_ms);
}

static int check_both(const tkl_reply *replies)
{
    for (size_t i = 0; i < 2; i++) {
        const tkl_reply *reply = tkl_reply_at(replies, i);
        if (tkl_reply_code(reply) != TKL_OK)
            return tkl__fail(tkl_reply_code(reply), "%s", tkl_reply_str(reply));
    }
    return TKL_OK;
}

/* Sends the command and its expiry in one round trip. The key can stay without an expiry only if
 * the caller gets an unknown outcome; writing again sets it. */
static int write_with_life(tkl__query *command, bool retry_safe, tkl_reply **replies)
{
    tkl__buf wire;
    write_query(command, &wire);
    size_t first = wire.len;
    write_life(command->key, &wire);
    tkl__request requests[] = {request_for(command, &wire, 0, retry_safe),
                               request_for(command, &wire, first, true)};
    requests[0].wire.len = first;
    int rc = wire.failed
                 ? tkl__nomem()
                 : tkl__exec_many(command->key->client, requests, 2, deadline_of(command), replies);
    tkl__buf_free(&wire);
    return rc == TKL_OK ? check_both(*replies) : rc;
}

int tkl__query_write(tkl__query *command, bool retry_safe, tkl_reply **owner,
                     const tkl_reply **reply)
{
    bool lives = command->key->ttl_ms > 0;
    *owner = NULL;
    *reply = NULL;
    int rc = lives ? write_with_life(command, retry_safe, owner)
                   : tkl__query_end(command, retry_safe, owner);
    *reply = lives ? tkl_reply_at(*owner, 0) : *owner;
    return rc;
}

int tkl__expect_int(const tkl_reply *reply, int64_t least, int64_t most, int64_t *value)
{
    *value = tkl_reply_int(reply);
    if (tkl_reply_kind(reply) == TKL_REPLY_INTEGER && *value >= least && *value <= most)
        return TKL_OK;
    *value = 0;
    return tkl__fail(TKL_EPROTO, "the server answered with something other than a sensible number");
}

int tkl__expect_array(const tkl_reply *reply, size_t count)
{
    if (tkl_reply_kind(reply) == TKL_REPLY_ARRAY && tkl_reply_count(reply) == count)
        return TKL_OK;
    return tkl__fail(TKL_EPROTO, "the server answered with something other than %zu elements",
                     count);
}

int tkl__onekey_drop(const tkl__onekey *key)
{
    tkl__query command;
    tkl_reply *reply;
    tkl__query_begin(&command, key, "UNLINK");
    tkl__query_key(&command, key);
    int rc = tkl__query_end(&command, false, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    return rc;
}

bool tkl__onekey_together(const tkl__onekey *a, const tkl__onekey *b)
{
    return !a->client->route->cluster || tkl__slot_of(bytes_of(a)) == tkl__slot_of(bytes_of(b));
}
