/* SPDX-License-Identifier: MIT
 *
 * The client's knowledge of commands: where their keys are, which ones it refuses, and which go to
 * every node of a cluster.
 */
#ifndef TKL_CORE_COMMAND_H
#define TKL_CORE_COMMAND_H

#include "core/client.h"

typedef enum tkl__fanout {
    TKL__ONE_NODE,   /* the node of the slot, or any node for a command without keys */
    TKL__ALL_SUM,    /* all masters, integer replies added: DBSIZE */
    TKL__ALL_CONCAT, /* all masters, arrays joined: KEYS */
    TKL__ALL_FIRST,  /* all masters, the first reply: FLUSHALL, FLUSHDB, SCRIPT LOAD|FLUSH, CONFIG
                        SET ... */
} tkl__fanout;

/* TKL_EINVAL with a clear text for commands that a pooled connection cannot carry (SUBSCRIBE
 * family, MONITOR, MULTI/EXEC/DISCARD/WATCH/UNWATCH, SELECT, AUTH, HELLO, RESET, QUIT, CLIENT
 * REPLY, READONLY/READWRITE, ASKING, SYNC/PSYNC). Case-insensitive. */
int tkl__command_check(int argc, const char *const *argv, const size_t *lens);

/* For a cluster: the slot of a command's keys. TKL__NO_SLOT when it has none; TKL_ECROSSSLOT when
 * its keys are in several slots; TKL_EINVAL for commands that need a particular node (SCAN: use ...
 * instead). A command that is not in the table is looked up with COMMAND GETKEYS on any node,
 * within the deadline. */
int tkl__command_route(tkl_client *client, int argc, const char *const *argv, const size_t *lens,
                       int64_t deadline, int *slot, tkl__fanout *fanout);

/* Visits the index of every key of a command, in no particular order. False: the command is not in
 * the table. */
typedef void tkl__key_visitor(void *context, int index);
bool tkl__command_keys(int argc, const char *const *argv, const size_t *lens,
                       tkl__key_visitor *visit, void *context);

#endif
