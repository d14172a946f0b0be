/* SPDX-License-Identifier: MIT
 *
 * All function libraries of this version; the build generates the list.
 */
#ifndef TKL_FUNCTIONS_LIBRARIES_H
#define TKL_FUNCTIONS_LIBRARIES_H

#include "core/library.h"

/* Ends with NULL. */
extern const tkl__library *const tkl__libraries[];

#endif
