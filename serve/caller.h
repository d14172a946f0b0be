/* SPDX-License-Identifier: MIT */
#ifndef TKL_SERVE_CALLER_H
#define TKL_SERVE_CALLER_H

#include "access.h"

/* The rights of a caller, for pages that show only what it may do:
 *
 *     {"name": "web", "version": "0.9.0", "calls": ["lock/acquire", "lock/list", ...]}
 *
 * `who` is the name of the token. To be freed; NULL: out of memory. */
char *serve_caller_text(const char *who, const serve_rights *rights);

#endif
