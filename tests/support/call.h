/* SPDX-License-Identifier: MIT
 *
 * Calls as tests make them: short, and failing loudly.
 */
#ifndef TACKLE_TESTS_CALL_H
#define TACKLE_TESTS_CALL_H

#include <tackle/client.h>

#include "support/test.h"

/* A client, or the test fails. `options` may be NULL. Its time-out is a minute unless they or the
 * URL say otherwise: a busy machine is slow, not broken. */
tkl_client *test_open(const char *url, const tkl_options *options);

/* The integer a command answers. */
int64_t call_int(tkl_client *client, ...) __attribute__((sentinel));
/* The text it answers, malloc'ed; NULL for nil. */
char *call_text(tkl_client *client, ...) __attribute__((sentinel));
/* Fails unless the command answers this text. */
void call_expect(tkl_client *client, const char *expected, ...) __attribute__((sentinel));
/* The result of a command with these options; its reply is dropped. */
int call_code(tkl_client *client, const tkl_call_options *options, ...) __attribute__((sentinel));

/* "ECHO <token>" must answer the token: true when it was answered, *code otherwise says why. A
 * wrong answer fails the test. */
bool call_echo(tkl_client *client, const tkl_call_options *options, const char *token, int *code);

#endif
