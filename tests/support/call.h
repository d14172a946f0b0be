/* SPDX-License-Identifier: MIT
 *
 * Calls as tests make them: short, and failing loudly.
 */
#ifndef TACKLE_TESTS_CALL_H
#define TACKLE_TESTS_CALL_H

#include <tackle/client.h>

#include "support/test.h"

/* Opens a client, or fails the test. `options` may be NULL. The time-out is a minute unless options
 * or URL say otherwise: a busy machine is slow, not broken. */
tkl_client *test_open(const char *url, const tkl_options *options);

/* The integer that the server answers to a command. */
int64_t call_int(tkl_client *client, ...) __attribute__((sentinel));
/* The text that the server answers to a command, malloc'ed; NULL for nil. */
char *call_text(tkl_client *client, ...) __attribute__((sentinel));
/* Fails unless the server answers this text to the command. */
void call_expect(tkl_client *client, const char *expected, ...) __attribute__((sentinel));
/* The result of a command with these options; its reply is dropped. */
int call_code(tkl_client *client, const tkl_call_options *options, ...) __attribute__((sentinel));

/* Sends "ECHO <token>". True: the server has answered with the token. False: it has not answered,
 * and *code says why. Any other answer fails the test. */
bool call_echo(tkl_client *client, const tkl_call_options *options, const char *token, int *code);

#endif
