/* SPDX-License-Identifier: MIT */
#include "core/onekey.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/batch.h"
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

void tkl__query_begin_at(tkl__query *command, const tkl__onekey *key, const char *name)
{
    command->key = key;
    command->count = 0;
    command->key_word = 0;
    tkl__buf_init(&command->words);
    tkl__query_word(command, name);
}

void tkl__query_begin(tkl__query *command, const tkl__onekey *key, const char *name)
{
    tkl__query_begin_at(command, key, name);
    tkl__query_key(command, key);
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
    if (key == command->key && command->key_word == 0)
        command->key_word = (int)command->count;
    tkl__query_bytes(command, bytes_of(key));
}

static int64_t deadline_of(const tkl__query *command)
{
    return tkl__deadline(command->key->client, command->key->timeout_ms);
}

static int send_query(tkl__query *command, bool retry_safe, int names_word, tkl_reply **reply)
{
    tkl__buf wire;
    bool cluster = command->key->client->route->cluster;
    *reply = NULL;
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, command->count);
    tkl__buf_add(&wire, command->words.data, command->words.len);
    wire.failed = wire.failed || command->words.failed;
    tkl__buf_free(&command->words);
    tkl__request request = {.wire = {wire.data, wire.len},
                            .slot = cluster ? tkl__slot_of(bytes_of(command->key)) : TKL__NO_SLOT,
                            .retry_safe = retry_safe,
                            .names_word = names_word};
    int rc = wire.failed ? tkl__nomem()
                         : tkl__exec(command->key->client, &request, deadline_of(command), reply);
    tkl__buf_free(&wire);
    return rc == TKL_OK ? tkl__check(reply) : rc;
}

int tkl__query_end(tkl__query *command, bool retry_safe, tkl_reply **reply)
{
    return send_query(command, retry_safe, 0, reply);
}

/* Sends the command and its expiry in one round trip. The key can stay without an expiry only if
 * the caller gets an unknown outcome; writing again sets it. */
static int write_with_life(tkl__query *command, bool retry_safe, tkl_reply **replies)
{
    char ttl[24];
    tkl__batch batch;
    snprintf(ttl, sizeof ttl, "%" PRId64, command->key->ttl_ms);
    tkl__batch_init(&batch, command->key->client);
    tkl__batch_body(&batch, command->count, &command->words, bytes_of(command->key), retry_safe);
    tkl__batch_names(&batch, command->key_word);
    TKL__BATCH_WORDS(&batch, tkl_str("PEXPIRE"), bytes_of(command->key), tkl_str(ttl));
    tkl__buf_free(&command->words);
    return tkl__batch_end(&batch, deadline_of(command), replies);
}

int tkl__query_write(tkl__query *command, bool retry_safe, tkl_reply **owner,
                     const tkl_reply **reply)
{
    bool lives = command->key->ttl_ms > 0;
    *owner = NULL;
    *reply = NULL;
    int rc = lives ? write_with_life(command, retry_safe, owner)
                   : send_query(command, retry_safe, command->key_word, owner);
    *reply = lives ? tkl_reply_at(*owner, 0) : *owner;
    return rc;
}

int tkl__expect_int(const tkl_reply *reply, int64_t least, int64_t most, int64_t *value)
{
    *value = tkl_reply_int(reply);
    if (tkl_reply_type_of(reply) == TKL_REPLY_INTEGER && *value >= least && *value <= most)
        return TKL_OK;
    *value = 0;
    return tkl__fail(TKL_EPROTO, "the server answered with something other than a sensible number");
}

int tkl__expect_array(const tkl_reply *reply, size_t count)
{
    if (tkl_reply_type_of(reply) == TKL_REPLY_ARRAY && tkl_reply_count(reply) == count)
        return TKL_OK;
    return tkl__fail(TKL_EPROTO, "the server answered with something other than %zu elements",
                     count);
}

int tkl__onekey_drop(const tkl__onekey *key)
{
    tkl__query command;
    tkl_reply *reply;
    tkl__query_begin(&command, key, "UNLINK");
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
