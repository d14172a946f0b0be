/* SPDX-License-Identifier: MIT
 *
 * Pipelines, for components that add calls of functions to them.
 */
#ifndef TKL_PIPELINE_PIPELINE_H
#define TKL_PIPELINE_PIPELINE_H

#include "core/script.h"

/* Adds a call of a function, and copies its keys and arguments. The script must last until the
 * pipeline has run. TKL_EINVAL in a transaction. */
int tkl__pipeline_call(tkl_pipeline *pipeline, const tkl__invocation *call);

#endif
