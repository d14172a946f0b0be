/* SPDX-License-Identifier: MIT */
#include "support/logs.h"

tkl_log *open_log(tkl_client *client, const char *name)
{
    tkl_log *log;
    assert_ok(tkl_log_open(client, tkl_str(name), NULL, &log));
    return log;
}

void say(tkl_log *log, tkl_log_severity severity, const char *text)
{
    tkl_log_message message = {.severity = severity, .text = tkl_str(text)};
    assert_ok(tkl_log_write(log, &message, 1));
}

char *recent(tkl_log *log, tkl_log_severity severity, size_t max)
{
    tkl_log_entries *entries;
    assert_ok(tkl_log_recent(log, severity, max, &entries));
    char *all = test_format("%s", "");
    for (size_t i = 0; i < entries->count; i++) {
        char *longer = test_format("%s" TKL_FMT " ", all, TKL_ARG(entries->items[i].message));
        free(all);
        all = longer;
    }
    tkl_log_entries_free(entries);
    return all;
}

tkl_log_counts *common(tkl_log *log, tkl_log_severity severity, tkl_hour hour)
{
    tkl_log_counts *counts;
    assert_ok(tkl_log_common(log, severity, hour, TKL_LOG_DISTINCT_MAX, &counts));
    return counts;
}

int64_t total(tkl_log *log, tkl_hour hour)
{
    tkl_log_counts *counts = common(log, TKL_LOG_ANY, hour);
    int64_t sum = 0;
    for (size_t i = 0; i < counts->count; i++)
        sum += counts->items[i].times;
    tkl_log_counts_free(counts);
    return sum;
}
