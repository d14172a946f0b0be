/* SPDX-License-Identifier: MIT */
#include "core/names.h"

#include <stdlib.h>

#include "core/buf.h"
#include "core/error.h"
#include "core/letters.h"

int tkl__names_add(tkl__names *n, tkl_bytes name)
{
    if (!tkl__grow(&n->items, n->count, sizeof *n->items)) {
        free((char *)name.data);
        return tkl__nomem();
    }
    n->items[n->count++] = name;
    return TKL_OK;
}

int tkl__names_add_copy(tkl__names *n, tkl_bytes name)
{
    char *copy = tkl__copy_bytes(name);
    return copy ? tkl__names_add(n, (tkl_bytes){copy, name.len}) : tkl__nomem();
}

static int by_bytes(const void *a, const void *b)
{
    const tkl_bytes *x = a, *y = b;
    return tkl__compare_bytes(*x, *y);
}

void tkl__names_tidy(tkl__names *n, bool (*keep)(tkl_bytes name, void *arg), void *arg)
{
    size_t kept = 0;
    if (n->count > 0)
        qsort(n->items, n->count, sizeof *n->items, by_bytes);
    for (size_t i = 0; i < n->count; i++) {
        bool repeated = kept > 0 && by_bytes(&n->items[kept - 1], &n->items[i]) == 0;
        if (!repeated && (!keep || keep(n->items[i], arg)))
            n->items[kept++] = n->items[i];
        else
            free((char *)n->items[i].data);
    }
    n->count = kept;
}

int tkl__names_result(tkl__names *n, tkl_names **result)
{
    *result = malloc(sizeof **result);
    if (!*result)
        return tkl__nomem();
    **result = (tkl_names){n->items, n->count};
    *n = (tkl__names){0};
    return TKL_OK;
}

void tkl_names_free(tkl_names *names)
{
    for (size_t i = 0; names && i < names->count; i++)
        free((char *)names->items[i].data);
    if (names)
        free((tkl_bytes *)names->items);
    free(names);
}

void tkl__names_free(tkl__names *n)
{
    for (size_t i = 0; i < n->count; i++)
        free((char *)n->items[i].data);
    free(n->items);
}
