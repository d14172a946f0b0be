/* SPDX-License-Identifier: MIT
 *
 * The server that is used when the caller names none.
 */
#ifndef TKL_CORE_DEFAULT_H
#define TKL_CORE_DEFAULT_H

#include <tackle/client.h>

/* Where programs of all users find their server. */
#define TKL__SYSTEM_CONFIG "/etc/tackle/config"

/* tkl_default_server_read() with another path for the file of all users. */
int tkl__default_server_read(const char *system_config, tkl_default_server **server);

/* Turns the text of a configuration file into one URL, which the caller frees. `path` is the file's:
 * its folder is where relative paths in the file begin, and messages name it. */
int tkl__config_url(const char *path, tkl_bytes text, char **url);

#endif
