/* SPDX-License-Identifier: MIT */
#include "support/batch.h"

int batch_calls(tkl_client *client, const tkl__invocation *calls, size_t count, int64_t deadline,
                tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    for (size_t i = 0; i < count; i++)
        tkl__batch_add(&batch, &calls[i]);
    int rc = tkl__batch_run(&batch, deadline);
    *replies = tkl__batch_take(&batch);
    tkl__batch_free(&batch);
    return rc;
}

int batch_calls_in_order(tkl_client *client, const tkl__invocation *calls, size_t count,
                         size_t condition, int64_t deadline, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, client);
    for (size_t i = 0; i < count; i++)
        tkl__batch_add(&batch, &calls[i]);
    int rc = tkl__batch_run_in_order(&batch, calls, condition, deadline);
    *replies = tkl__batch_take(&batch);
    tkl__batch_free(&batch);
    return rc;
}
