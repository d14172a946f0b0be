/* SPDX-License-Identifier: MIT
 *
 * Every component of the command: a line here and a file of its own.
 */
#include "cli.h"

extern const cli_component cli_bloom, cli_limit, cli_lock, cli_redlock, cli_sem, cli_server,
    cli_ping, cli_call, cli_demo, cli_version, cli_help_component;

const cli_component *const cli_components[] = {
    &cli_lock, &cli_redlock, &cli_sem,  &cli_limit,   &cli_bloom,          &cli_server,
    &cli_ping, &cli_call,    &cli_demo, &cli_version, &cli_help_component, NULL,
};
