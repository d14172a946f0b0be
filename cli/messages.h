/* SPDX-License-Identifier: MIT
 *
 * How messages and their limits are shown and given: for mail and chat.
 */
#ifndef TKL_CLI_MESSAGES_H
#define TKL_CLI_MESSAGES_H

#include "out.h"

/* {"id","sender","time","time_ms","body","headers"}; the sender is null when none was given. */
json_t *cli_json_message(const tkl_message *message);
/* Returns an array of such messages. */
json_t *cli_json_messages(const tkl_messages *messages);

/* Prints messages for people, indented by this many blanks: a line with id, time and sender, then
 * the body, indented further. With --raw prints the bodies as they are, a newline behind each. */
void cli_print_messages(const cli_session *cli, const tkl_messages *messages, int blanks);
/* The options of the verbs that fetch. `of`: "" or " of each chat". */
#define CLI_FETCH_OPTIONS(of)                                                                 \
    {"count", CLI_INTEGER, "N", "at most N messages" of " (default 100)"},                    \
        {"wait", CLI_DURATION, "DURATION", "wait up to this long for a message (default 0)"}, \
        {"ack", CLI_FLAG, NULL, "acknowledge what was printed"},                              \
    {                                                                                         \
        "raw", CLI_LOCAL_FLAG, NULL, "print the bodies alone, a newline behind each"          \
    }
/* Reads --count, which must be in its range, and refuses --raw with --json. */
int cli_fetch_count(const cli_session *cli, size_t *count);

/* Reports on stderr that messages were missed, if some were. `where`: the chat; NULL: none. */
void cli_warn_missed(const cli_session *cli, const tkl_messages *messages, const char *where);

/* --max-messages, --max-bytes, --max-age, --ttl, --when-full. */
#define CLI_LIMITS                                                                                 \
    {"max-messages", CLI_INTEGER, "N", "keep at most N messages (default 10000)"},                 \
        {"max-bytes", CLI_SIZE, "SIZE", "keep at most this many bytes (default 100mb)"},           \
        {"max-age", CLI_DURATION, "DURATION", "remove messages older than this (default: never)"}, \
        {"ttl", CLI_DURATION, "DURATION", "remove all this long after the last message"},          \
    {                                                                                              \
        "when-full", CLI_CHOICE, "refuse|drop", "refuse messages, or drop the oldest ones"         \
    }
/* --history and --history-for of a chat. */
#define CLI_HISTORY                                                                         \
    {"history", CLI_INTEGER, "N", "keep the last N messages, although all have read them"}, \
    {                                                                                       \
        "history-for", CLI_DURATION, "DURATION",                                            \
            "keep messages this long, although all have "                                   \
            "read them"                                                                     \
    }
/* Changes the limits that are given; 0 removes a limit. Here and below, `of_chat`: the history,
 * too. */
int cli_limits(const cli_session *cli, bool of_chat, tkl_message_limits *limits);
bool cli_limits_given(const cli_session *cli, bool of_chat);
/* Prints {"name", "max_messages", ...}. */
int cli_print_limits(const cli_session *cli, const tkl_message_limits *limits, bool of_chat);

/* Adds "max_messages" and so on to the object. */
void cli_set_limits(json_t *object, const tkl_message_limits *limits, bool of_chat);
/* Their fields, for tables of columns. */
#define CLI_HISTORY_FIELDS                     \
    {"history_messages", "history, messages"}, \
    {                                          \
        "history_ms", "history, for"           \
    }
#define CLI_LIMIT_FIELDS                                                                           \
    {"max_messages", "most messages"}, {"max_bytes", "most bytes"}, {"max_age_ms", "longest age"}, \
        {"ttl_ms", "time to live"},                                                                \
    {                                                                                              \
        "when_full", "when full"                                                                   \
    }

/* Sends the argument at the index, standard input, or with --lines each line of it. `send` is
 * called for some letters at a time and returns the id of the first. Prints
 * {"name","id","count"}. */
typedef int cli_send_fn(void *to, tkl_bytes sender, const tkl_letter *letters, size_t count,
                        int64_t *first_id);
int cli_send(cli_session *cli, int index, tkl_bytes sender, cli_send_fn *send, void *to);

/* --header and --lines, for cli_send(). */
#define CLI_SEND_OPTIONS                                                          \
    {"header", CLI_TEXT, "NAME=VALUE", "a header; may be repeated"},              \
    {                                                                             \
        "lines", CLI_LOCAL_FLAG, NULL, "each line of standard input is a message" \
    }

#endif
