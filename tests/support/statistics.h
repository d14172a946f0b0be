/* SPDX-License-Identifier: MIT
 *
 * Statistics as tests use them.
 */
#ifndef TACKLE_TESTS_STATISTICS_H
#define TACKLE_TESTS_STATISTICS_H

#include <tackle/stats.h>

#include "support/test.h"

tkl_stats *open_stats(tkl_client *client, const char *type);
void record(tkl_stats *stats, const char *context, double value);

int show_code(tkl_stats *stats, const char *context, tkl_hour hour, tkl_stats_summary **summary);
tkl_stats_summary *show(tkl_stats *stats, const char *context, tkl_hour hour);
/* The count of a context; 0 when it has no values. */
int64_t count_of(tkl_stats *stats, const char *context, tkl_hour hour);

void assert_close(double got, double expected, double tolerance);

#endif
