/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of this folder.
 */
#ifndef TKL_LOG_LOG_H
#define TKL_LOG_LOG_H

#include <tackle/log.h>

#include "core/batch.h"
#include "core/keys.h"

#define TKL__LOG_SEVERITIES 8
/* Most messages of one script, and most bytes: a few milliseconds, also when each message takes the
 * place of another in a full table. */
#define TKL__LOG_AT_ONCE       100
#define TKL__LOG_BYTES_AT_ONCE TKL_LOG_MESSAGE_MAX

/* The keys of a severity, in this order, from TKL__LOG_PARTS x severity on. Behind the keys of all
 * severities there is one with which the keys of batches begin. */
enum {
    TKL__LOG_RECENT,
    TKL__LOG_THIS,
    TKL__LOG_HOUR,
    TKL__LOG_LAST,
    TKL__LOG_LAST_HOUR,
    TKL__LOG_PARTS,
    TKL__LOG_BATCH = TKL__LOG_SEVERITIES * TKL__LOG_PARTS,
    TKL__LOG_KEYS,
};

struct tkl_log {
    tkl_client *client;
    tkl__keys keys; /* TKL__LOG_KEYS: all parts of all severities, and TKL__LOG_BATCH */
    int64_t timeout_ms, ttl_ms, keep, distinct;
};

/* One log/write under construction. All zero and tkl__log_batch_init() make an empty one. */
typedef struct tkl__log_batch {
    tkl__args args;
    tkl_bytes keys[TKL__LOG_KEYS];
    size_t nkeys;
    int groups[TKL__LOG_SEVERITIES]; /* group number of each severity, from 1; 0: it does not occur
                                        */
    int64_t at_ms;                   /* when its messages happened; 0: now */
    size_t count, bytes;             /* number of messages in it, and their bytes */
} tkl__log_batch;

/* The place of a batch among several that must be written in order. */
typedef struct tkl__log_step {
    tkl_bytes key;     /* the same for all of them */
    char number[8];    /* from "1" on; not sent with the last one */
    const char *after; /* number of the step before; "": this is the first */
} tkl__log_step;

/* `step`: borrowed until the batch is freed; NULL: the batch is written alone. */
void tkl__log_batch_init(tkl__log_batch *batch, const tkl_log *log, const tkl__log_step *step);
/* Whether a message of this length still fits. */
bool tkl__log_batch_has_room(const tkl__log_batch *batch, size_t len);
/* The text is borrowed until the batch is freed. */
void tkl__log_batch_add(tkl__log_batch *batch, const tkl_log *log, tkl_log_severity severity,
                        tkl_bytes text);
tkl__invocation tkl__log_batch_call(const tkl__log_batch *batch);
void tkl__log_batch_free(tkl__log_batch *batch);

/* TKL_EINVAL: the message cannot be written. */
int tkl__log_check(tkl_log_severity severity, tkl_bytes text);
/* TKL_EINVAL: neither a severity nor TKL_LOG_ANY. */
int tkl__log_check_any(tkl_log_severity severity);

/* A key of a severity. */
static inline tkl_bytes tkl__log_key(const tkl_log *log, int severity, int part)
{
    return log->keys.items[severity * TKL__LOG_PARTS + part];
}

/* The id of an entry, "ms-number". */
struct tkl__log_order {
    int64_t ms;
    uint64_t number;
};

/* Entries under construction. They point into replies, which they own. */
typedef struct tkl__log_found {
    tkl_log_entries base; /* must be first: callers have a pointer to it */
    tkl_log_entry *items;
    struct tkl__log_order *orders; /* the id of each entry */
    size_t cap;
    tkl_reply **replies;
    size_t reply_count;
} tkl__log_found;

/* Takes over the reply. NULL: out of memory; the reply is freed. */
tkl__log_found *tkl__log_found_new(tkl_reply *reply, size_t cap);
/* Adds the first `count` entries of a reply of XRANGE. */
void tkl__log_found_add(tkl__log_found *found, int severity, const tkl_reply *entries,
                        size_t count);
/* Sorts the entries in the order in which they were written, and keeps the last `max`. */
tkl_log_entries *tkl__log_found_done(tkl__log_found *found, size_t max);

/* Size of the id of a stream entry as text. */
#define TKL__LOG_ID_SIZE 48
typedef char tkl__log_id[TKL__LOG_ID_SIZE];

/* Reads the newest `max` entries of one severity, or of all. `upto` (may be NULL): the newest id
 * wanted of each severity. `since`: the oldest id wanted, or "-". */
int tkl__log_newest(const tkl_log *log, tkl_log_severity severity, const tkl__log_id *upto,
                    const char *since, size_t max, tkl_log_entries **entries);

#endif
