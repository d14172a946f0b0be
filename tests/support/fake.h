/* SPDX-License-Identifier: MIT
 *
 * A fake server, which gives answers that a real one does not give on demand. Each connection gets
 * a thread that runs the test's handler; when that returns, the connection is closed.
 *
 *     static void answer_garbage(fake_conn *c, void *arg)
 *     {
 *         if (fake_expect(c) != NULL)
 *             fake_sendz(c, "what?\r\n");
 *         fake_expect(c);                  // stays open until the client hangs up
 *     }
 *
 *     fake *f = fake_start(answer_garbage, NULL);
 *     tkl_open(fake_url(f), NULL, &client);
 */
#ifndef TACKLE_TESTS_FAKE_H
#define TACKLE_TESTS_FAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct fake fake;
typedef struct fake_conn fake_conn;
typedef void fake_handler(fake_conn *c, void *arg);

fake *fake_start(fake_handler *handler, void *arg);     /* on a Unix socket */
fake *fake_start_tcp(fake_handler *handler, void *arg); /* on a port of 127.0.0.1 */
const char *fake_url(const fake *f);
int fake_port(const fake *f); /* 0 on a Unix socket */
int fake_accepted(fake *f);   /* connections so far */
void fake_end(fake *f);       /* closes everything and waits for the handlers; NULL is fine */

/* For handlers: */

/* The next command, its words joined by spaces; NULL when the client has hung up or the fake ends.
 * Valid until the next call. AUTH, SELECT, HELLO and CLIENT are answered "OK" on the way
 * and not shown: every client begins with them. */
const char *fake_expect(fake_conn *c);
/* The next command of any kind; answers none of them. */
const char *fake_expect_any(fake_conn *c);
/* False when the client has hung up. */
bool fake_send(fake_conn *c, const void *data, size_t len);
bool fake_sendz(fake_conn *c, const char *text);
/* Sleeps; ends early when the fake ends. */
void fake_sleep(fake_conn *c, int64_t ms);
/* The number of a connection: 0 for the first, 1 for the second ... */
int fake_index(const fake_conn *c);

#endif
