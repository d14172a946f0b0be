/* SPDX-License-Identifier: MIT
 *
 * Declarations that the files of this component share.
 */
#ifndef TKL_CHANNEL_CHANNEL_H
#define TKL_CHANNEL_CHANNEL_H

#include <tackle/channel.h>

#include "core/keys.h"

struct tkl_channel {
    tkl_client *client;
    tkl__keys keys; /* state, whose name is also that of the pub/sub channel; history */
    int64_t timeout_ms;
    int64_t ttl_ms;
    int64_t history;
};

/* The largest parts of an id: scripts count exactly up to here. */
#define TKL__CHANNEL_ID_MAX (INT64_C(1) << 53)

/* Reads an id; false: it is not the id of a message. Bytes behind the id are allowed if `rest` is
 * given, which is set to them. */
bool tkl__channel_id_read(tkl_bytes text, tkl_channel_id *id, tkl_bytes *rest);

/* Compares ids: negative, 0 or positive. */
int tkl__channel_id_compare(tkl_channel_id a, tkl_channel_id b);
/* Reads the id of the newest message from a reply {life, time, number, ...}. */
tkl_channel_id tkl__channel_newest(const tkl_reply *reply);

#endif
