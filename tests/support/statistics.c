/* SPDX-License-Identifier: MIT */
#include "support/statistics.h"

#include <math.h>

tkl_stats *open_stats(tkl_client *client, const char *type)
{
    tkl_stats *stats;
    assert_ok(tkl_stats_open(client, tkl_str(type), NULL, &stats));
    return stats;
}

void record(tkl_stats *stats, const char *context, double value)
{
    tkl_stats_value one = {.context = tkl_str(context), .value = value};
    assert_ok(tkl_stats_record(stats, &one, 1));
}

int show_code(tkl_stats *stats, const char *context, tkl_hour hour, tkl_stats_summary **summary)
{
    tkl_bytes name = tkl_str(context);
    return tkl_stats_show(stats, &name, 1, hour, summary);
}

tkl_stats_summary *show(tkl_stats *stats, const char *context, tkl_hour hour)
{
    tkl_stats_summary *summary;
    assert_ok(show_code(stats, context, hour, &summary));
    return summary;
}

/* The count of a context; 0 when it has no values. */
int64_t count_of(tkl_stats *stats, const char *context, tkl_hour hour)
{
    tkl_stats_summary *summary;
    int rc = show_code(stats, context, hour, &summary);
    if (rc == TKL_NOTFOUND)
        return 0;
    assert_ok(rc);
    int64_t count = summary->count;
    tkl_stats_summary_free(summary);
    return count;
}

void assert_close(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance))
        fail_msg("expected %.17g within %g, got %.17g", expected, tolerance, got);
}
