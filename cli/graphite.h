/* SPDX-License-Identifier: MIT
 *
 * Lines for Graphite: "tackle.counter.hits 7 1893456000", its plaintext protocol, which carbon reads
 * on port 2003 and which StatsD relays write.
 */
#ifndef TKL_CLI_GRAPHITE_H
#define TKL_CLI_GRAPHITE_H

#include "cli.h"

#define CLI_GRAPHITE                                                            \
    {                                                                           \
        "graphite", CLI_FLAG, NULL, "print lines for Graphite: PATH VALUE TIME" \
    }

/* Prints a line. The path is "tackle" and the parts, up to one without data; all but letters, digits,
 * '-' and '_' in a part becomes '_'. */
void cli_graphite_line(const tkl_bytes *parts, double value, int64_t at_ms);

/* CLI_USAGE when --graphite is given together with --json or --csv. */
int cli_check_graphite(const cli_session *cli);

#endif
