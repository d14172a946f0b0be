/* SPDX-License-Identifier: MIT
 *
 * Logs as tests use them.
 */
#ifndef TACKLE_TESTS_LOGS_H
#define TACKLE_TESTS_LOGS_H

#include <tackle/log.h>

#include "support/test.h"

tkl_log *open_log(tkl_client *client, const char *name);
void say(tkl_log *log, tkl_log_severity severity, const char *text);

/* The recent messages as one text, with a space behind each. */
char *recent(tkl_log *log, tkl_log_severity severity, size_t max);
#define assert_recent(log, severity, max, expected)   \
    do {                                              \
        char *text_ = recent((log), (severity), max); \
        assert_string_equal(text_, (expected));       \
        free(text_);                                  \
    } while (0)

tkl_log_counts *common(tkl_log *log, tkl_log_severity severity, tkl_hour hour);
/* How many messages were counted in the hour. A message that loses its place leaves its count to
 * the message that takes the place. */
int64_t total(tkl_log *log, tkl_hour hour);

#endif
