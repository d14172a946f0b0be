/* SPDX-License-Identifier: MIT
 *
 * Pipelines, for components that add calls of functions to them: plain calls, whose replies are the
 * caller's, and operations, whose replies the component reads after the run.
 */
#ifndef TKL_PIPELINE_PIPELINE_H
#define TKL_PIPELINE_PIPELINE_H

#include "core/script.h"

/* Adds a call of a function, and copies its keys and arguments. The script must last until the
 * pipeline has run. TKL_EINVAL in a transaction. */
int tkl__pipeline_call(tkl_pipeline *pipeline, const tkl__invocation *call);

typedef struct tkl__operation tkl__operation;

/* Ends an operation: reads the reply, fills in `output`, and returns the code of the operation,
 * with its text in the calling thread's. It is called once, after the run; or with TKL_ENOTSENT
 * when the pipeline is closed. `code`: TKL_OK, or why there is no reply; its text is in the calling
 * thread's. It may send requests of its own. */
typedef int tkl__finish(const tkl__operation *operation, int code, const tkl_reply *reply);

/* An operation of a component in a pipeline: one call. */
struct tkl__operation {
    tkl__finish *finish;
    void *handle;       /* the component's handle */
    void *own;          /* from malloc(), freed by the pipeline; NULL: none */
    void *output;       /* the caller's, filled in by the run; NULL: none wanted */
    tkl_result *result; /* the caller's; NULL: none wanted */
};

/* Adds an operation: copies it and the keys and arguments of its call, and takes `own` over, even
 * when it fails. `client`: the handle's, must be that of the pipeline. A failure is in the result,
 * too, and nothing is added. TKL_EINVAL in a transaction. */
int tkl__pipeline_operation(tkl_pipeline *pipeline, const tkl_client *client,
                            const tkl__invocation *call, const tkl__operation *operation);
/* The same with keys and arguments from their builders. */
int tkl__pipeline_eval(tkl_pipeline *pipeline, const tkl_client *client, const tkl__script *script,
                       const tkl__keys *keys, const tkl__args *args, bool retry_safe,
                       const tkl__operation *operation);

/* Sets the result, unless it is NULL, to a code with the calling thread's text; returns the code. */
int tkl__result_set(tkl_result *result, int code);

#endif
