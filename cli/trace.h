/* SPDX-License-Identifier: MIT
 *
 * --trace: prints each command that a client sends, on stderr.
 */
#ifndef TKL_CLI_TRACE_H
#define TKL_CLI_TRACE_H

#include "cli.h"

/* For tkl_options.on_trace; `arg` is the session. */
void cli_trace(const tkl_trace *trace, void *arg);

#endif
