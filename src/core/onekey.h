/* SPDX-License-Identifier: MIT
 *
 * Components whose instance is one key of a server type: the key, and commands on it.
 */
#ifndef TKL_CORE_ONEKEY_H
#define TKL_CORE_ONEKEY_H

#include "core/call.h"
#include "core/name.h"

/* The beginning of a handle of such a component; its key is "ns:component:{name}". */
typedef struct tkl__onekey {
    tkl_client *client;
    tkl__base base;
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t ttl_ms;     /* lifetime, renewed by each tkl__query_write(); 0: no expiry */
} tkl__onekey;

/* Makes a handle of `size` bytes that begins with a tkl__onekey; the rest is zero. */
int tkl__onekey_open(tkl_client *client, const char *component, tkl_bytes name, size_t size,
                     void **handle);
void tkl__onekey_close(void *handle); /* NULL is fine */

/* The same with a time-out and a lifetime from options, which are checked. */
int tkl__onekey_open_with(tkl_client *client, const char *component, tkl_bytes name,
                          int64_t timeout_ms, int64_t ttl_ms, size_t size, void **handle);

/* A command under construction. tkl__query_end() and tkl__query_write() report failures to build
 * it. */
typedef struct tkl__query {
    const tkl__onekey *key;
    tkl__buf words;
    size_t count;
    int key_word; /* which word is the key; 0: none yet */
} tkl__query;

/* Begins with the name of the command and the key. */
void tkl__query_begin(tkl__query *command, const tkl__onekey *key, const char *name);
/* Begins with the name alone: `key` only selects the server. */
void tkl__query_begin_at(tkl__query *command, const tkl__onekey *key, const char *name);
void tkl__query_word(tkl__query *command, const char *word);
void tkl__query_bytes(tkl__query *command, tkl_bytes bytes);
void tkl__query_int(tkl__query *command, int64_t value);
void tkl__query_double(tkl__query *command, double value);
void tkl__query_key(tkl__query *command, const tkl__onekey *key);

/* Sends the command to the server of its key, and frees it. An error reply comes back as its code;
 * *reply is then NULL. `retry_safe`: running it twice does no harm. */
int tkl__query_end(tkl__query *command, bool retry_safe, tkl_reply **reply);

/* The same for a command that changes the key. If the key has a lifetime, it starts over in the
 * same round trip. *reply, a part of *owner, is the command's reply; the caller frees *owner. */
int tkl__query_write(tkl__query *command, bool retry_safe, tkl_reply **owner,
                     const tkl_reply **reply);

/* Check a reply that must be an integer of a range, or an array of a length; else TKL_EPROTO. */
int tkl__expect_int(const tkl_reply *reply, int64_t least, int64_t most, int64_t *value);
int tkl__expect_array(const tkl_reply *reply, size_t count);

/* UNLINK. TKL_NOTFOUND: the key does not exist. */
int tkl__onekey_drop(const tkl__onekey *key);

/* Whether one command may name both keys. */
bool tkl__onekey_together(const tkl__onekey *a, const tkl__onekey *b);

#endif
