/* SPDX-License-Identifier: MIT
 *
 * Messages of the library in the words of the command.
 */
#ifndef TKL_CLI_WORDING_H
#define TKL_CLI_WORDING_H

#include "cli.h"

/* The library names fields of its structs ("lease_ms is 5, must be from 100 to 10000"); a user who
 * typed --lease 5ms reads "--lease is 5 ms, must be from 100 ms to 10.0 s". A field that is no
 * option of the verb keeps its name. The caller frees; NULL: out of memory. */
char *cli_reword(const cli_session *cli, const char *message);

#endif
