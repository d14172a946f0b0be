/* SPDX-License-Identifier: MIT
 *
 * Calls of functions in one batch, for tests that have them in an array.
 */
#ifndef TACKLE_TEST_BATCH_H
#define TACKLE_TEST_BATCH_H

#include "core/batch.h"

/* Returns the code of tkl__batch_run(). *replies has the replies that came, also after a failure;
 * the caller frees it. */
int batch_calls(tkl_client *client, const tkl__invocation *calls, size_t count, int64_t deadline,
                tkl_reply **replies);
/* The same by tkl__batch_run_in_order(). */
int batch_calls_in_order(tkl_client *client, const tkl__invocation *calls, size_t count,
                         size_t condition, int64_t deadline, tkl_reply **replies);

#endif
