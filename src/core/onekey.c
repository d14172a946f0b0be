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

static int send(tkl__query *command, tkl__buf *wire, bool retry_safe, tkl_reply **reply)
{
    tkl_client *client = command->key->client;
    if (wire->failed || command->words.failed)
        return tkl__nomem();
    tkl__request request = {.wire = {wire->data, wire->len},
                            .slot = client->route->cluster ? tkl__slot_of(bytes_of(command->key))
                                                           : TKL__NO_SLOT,
                            .retry_safe = retry_safe};
    int rc = tkl__exec(client, &request, tkl__deadline(client, command->key->timeout_ms), reply);
    return rc == TKL_OK ? tkl__check(reply) : rc;
}

int tkl__query_end(tkl__query *command, bool retry_safe, tkl_reply **reply)
{
    tkl__buf wire;
    *reply = NULL;
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, command->count);
    tkl__buf_add(&wire, command->words.data, command->words.len);
    int rc = send(command, &wire, retry_safe, reply);
    tkl__buf_free(&wire);
    tkl__buf_free(&command->words);
    return rc;
}

int tkl__onekey_drop(const tkl__onekey *key)
{
    tkl__query command;
    tkl_reply *reply;
    tkl__query_begin(&command, key, "UNLINK");
    tkl__query_key(&command, key);
    int rc = tkl__query_end(&command, false, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = TKL_NOTFOUND;
    tkl_reply_free(reply);
    return rc;
}

bool tkl__onekey_together(const tkl__onekey *a, const tkl__onekey *b)
{
    return !a->client->route->cluster || tkl__slot_of(bytes_of(a)) == tkl__slot_of(bytes_of(b));
}
