/* SPDX-License-Identifier: MIT */
#include "queue/filter.h"

#include <inttypes.h>
#include <stdio.h>

#include "core/options.h"
#include "queue/record.h"

int tkl__queue_filter_read(const tkl_job_filter *filter, tkl__queue_filter *read)
{
    *read = (tkl__queue_filter){.digits = "0"};
    read->older = tkl_str(read->digits);
    if (!filter)
        return TKL_OK;
    int rc = TKL__CHECK_RESERVED(filter);
    if (rc == TKL_OK && filter->kind.len > 0)
        rc = tkl__check_kind(filter->kind, TKL_KIND_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("older_ms", filter->older_ms, 0, TKL__QUEUE_DELAY_MAX_MS);
    if (rc == TKL_OK)
        rc = tkl__check_number("within_ms", filter->within_ms, 0, TKL__MS_MAX);
    snprintf(read->digits, sizeof read->digits, "%" PRId64, filter->older_ms);
    read->older = tkl_str(read->digits);
    read->kind = filter->kind;
    read->reason = filter->reason;
    read->text = filter->text;
    return rc;
}
