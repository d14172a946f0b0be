/* SPDX-License-Identifier: MIT */
#ifndef TKL_SERVE_CALLER_H
#define TKL_SERVE_CALLER_H

#include "access.h"

/* What a caller may do, for pages that show only that:
 *
 *     {"name": "web", "version": "0.9.0", "calls": ["lock/acquire", "lock/list", ...]}
 *
 * `who` is the name of the token. To be freed; NULL: out of memory. */
char *serve_caller_text(const char *who, const serve_rights *rights);

#endif
