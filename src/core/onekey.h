/* SPDX-License-Identifier: MIT
 *
 * Components whose instance is one key of the server's own types: the key, and commands on it.
 */
#ifndef TKL_CORE_ONEKEY_H
#define TKL_CORE_ONEKEY_H

#include "core/call.h"
#include "core/name.h"

/* What a handle of such a component begins with: "ns:component:{name}". */
typedef struct tkl__onekey {
    tkl_client *client;
    tkl__base base;
    int64_t timeout_ms; /* of one call; 0: the client's */
    int64_t ttl_ms;     /* from the last tkl__query_write() on; 0: it stays */
} tkl__onekey;

/* Makes a handle of `size` bytes, zeros behind the tkl__onekey that it begins with. */
int tkl__onekey_open(tkl_client *client, const char *component, tkl_bytes name, size_t size,
                     void **handle);
void tkl__onekey_close(void *handle); /* NULL is fine */

/* The same with a time-out and a lifetime out of options, which are checked. */
int tkl__onekey_open_with(tkl_client *client, const char *component, tkl_bytes name,
                          int64_t timeout_ms, int64_t ttl_ms, size_t size, void **handle);

/* A command under construction. What goes wrong is reported by its end. */
typedef struct tkl__query {
    const tkl__onekey *key;
    tkl__buf words;
    size_t count;
} tkl__query;

/* `key` says to which server it goes; tkl__query_key() puts it into the command. */
void tkl__query_begin(tkl__query *command, const tkl__onekey *key, const char *name);
void tkl__query_word(tkl__query *command, const char *word);
void tkl__query_bytes(tkl__query *command, tkl_bytes bytes);
void tkl__query_int(tkl__query *command, int64_t value);
void tkl__query_double(tkl__query *command, double value);
void tkl__query_key(tkl__query *command, const tkl__onekey *key);

/* Sends it to the server of its key, and frees what it is made of. An error reply comes back as its
 * code; *reply is then NULL. `retry_safe`: doing it twice does no harm. */
int tkl__query_end(tkl__query *command, bool retry_safe, tkl_reply **reply);

/* The same for a command that changes the key. With a lifetime, that begins anew in the same trip.
 * *reply, a part of *owner, is the command's; the caller frees *owner. */
int tkl__query_write(tkl__query *command, bool retry_safe, tkl_reply **owner,
                     const tkl_reply **reply);

/* Replies that can only be integers of a range, or arrays of a length: TKL_EPROTO for others. */
int tkl__expect_int(const tkl_reply *reply, int64_t least, int64_t most, int64_t *value);
int tkl__expect_array(const tkl_reply *reply, size_t count);

/* UNLINK. TKL_NOTFOUND: there was no such key. */
int tkl__onekey_drop(const tkl__onekey *key);

/* Whether a command can have both keys. */
bool tkl__onekey_together(const tkl__onekey *a, const tkl__onekey *b);

#endif
