/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of `tackle chat`.
 */
#ifndef TKL_CLI_CHAT_H
#define TKL_CLI_CHAT_H

#include "cli.h"

/* Opens the chat that the argument at the index names. */
int cli_chat_open(cli_session *cli, int index, tkl_chat **chat);

/* chat_talk.c: the verb talk. */
int cli_chat_talk(cli_session *cli);

#endif
