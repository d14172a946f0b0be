/* SPDX-License-Identifier: MIT
 *
 * `tackle serve --demo`: a small shop at work, so that the dashboard has something to show. Threads
 * push jobs and run them, hold locks, count, log and search, on a server in memory that ends with
 * this program.
 */
#ifndef TKL_SERVE_DEMO_H
#define TKL_SERVE_DEMO_H

#include "history.h"

typedef struct serve_demo serve_demo;

/* Fills the server with data, also with a history of the last week, and starts the threads. */
int serve_demo_start(const cli_session *cli, tkl_client *client, serve_history *history,
                     serve_demo **demo);

/* Ends the threads; every wait of the client ends with them. NULL is fine. */
void serve_demo_stop(serve_demo *demo);

#endif
