/* SPDX-License-Identifier: MIT
 *
 * Handlers by the kind of a job: the table of a worker, sorted by kind.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/options.h"
#include "worker/inside.h"

static int by_kind(const void *a, const void *b)
{
    tkl_bytes x = ((const tkl_kind_handler *)a)->kind, y = ((const tkl_kind_handler *)b)->kind;
    return tkl__compare_bytes(x, y);
}

/* ---- Keeping ---------------------------------------------------------------- */

/* *bytes: the size of all kinds together. */
static int check_kinds(const tkl_kind_handler *kinds, size_t count, size_t *bytes)
{
    *bytes = 0;
    for (size_t i = 0; i < count; i++) {
        int rc = TKL__CHECK_RESERVED(&kinds[i]);
        if (rc == TKL_OK && kinds[i].kind.len > 0)
            rc = tkl__check_kind(kinds[i].kind, TKL_KIND_MAX);
        if (rc == TKL_OK && !kinds[i].handler)
            rc = tkl__fail(TKL_EINVAL, "the kind '" TKL_FMT "' has no handler",
                           TKL_ARG(kinds[i].kind));
        if (rc != TKL_OK)
            return rc;
        *bytes += kinds[i].kind.len;
    }
    return TKL_OK;
}

static int check_twins(const tkl_kind_handler *kinds, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (by_kind(&kinds[i - 1], &kinds[i]) == 0)
            return tkl__fail(TKL_EINVAL, "the kind '" TKL_FMT "' has two handlers",
                             TKL_ARG(kinds[i].kind));
    return TKL_OK;
}

int tkl__worker_kinds_keep(tkl_worker *w, const tkl_kind_handler *kinds, size_t count)
{
    size_t bytes;
    int rc = check_kinds(kinds, count, &bytes);
    if (rc != TKL_OK || count == 0)
        return rc;
    w->kinds = calloc(count, sizeof *w->kinds);
    w->kind_bytes = malloc(bytes + 1);
    if (!w->kinds || !w->kind_bytes)
        return tkl__nomem();
    char *at = w->kind_bytes;
    for (size_t i = 0; i < count; i++) {
        size_t len = kinds[i].kind.len;
        if (len > 0)
            memcpy(at, kinds[i].kind.data, len);
        w->kinds[i] = kinds[i];
        w->kinds[i].kind = (tkl_bytes){at, len};
        at += len;
    }
    qsort(w->kinds, count, sizeof *w->kinds, by_kind);
    return check_twins(w->kinds, count);
}

void tkl__worker_kinds_free(tkl_worker *w)
{
    free(w->kinds);
    free(w->kind_bytes);
}

/* ---- Running ---------------------------------------------------------------- */

int tkl__worker_handle(tkl_worker *w, tkl_task *task)
{
    tkl_bytes kind = task->job->kind;
    const tkl_kind_handler key = {.kind = kind}, *found = NULL;
    if (w->kinds)
        found = bsearch(&key, w->kinds, w->options.kind_count, sizeof key, by_kind);
    if (found)
        return found->handler(task, found->arg);
    if (w->handler)
        return w->handler(task, w->arg);
    char why[TKL_KIND_MAX + 64];
    if (kind.len > 0)
        snprintf(why, sizeof why, "no handler for the kind '" TKL_FMT "'", TKL_ARG(kind));
    else
        snprintf(why, sizeof why, "no handler for jobs without a kind");
    tkl_task_fail(task, why);
    return TKL_EINVAL;
}
