/* SPDX-License-Identifier: MIT
 *
 * Sets of words: sorted arrays. They are made once and looked up often.
 */
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "text/library.h"

/* Sorts the words and removes duplicates. */
static void tidy(tkl__text_word_set *set)
{
    size_t kept = 0;
    qsort(set->items, set->count, sizeof *set->items, tkl__text_word_compare);
    for (size_t i = 0; i < set->count; i++) {
        if (kept && tkl__text_word_compare(&set->items[kept - 1], &set->items[i]) == 0)
            continue;
        set->items[kept++] = set->items[i];
        if (set->items[i].len > set->longest)
            set->longest = set->items[i].len;
    }
    set->count = kept;
}

/* Folds the words into one buffer. The items are lengths until the buffer stops moving. */
static int fold_all(const tkl_bytes *words, size_t count, unsigned fold, tkl__text_word_set *set,
                    tkl__buf *store)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = store->len;
        int rc = tkl__text_fold(words[i], fold, store);
        if (rc != TKL_OK)
            return rc;
        set->items[i].len = store->len - before;
    }
    return TKL_OK;
}

static int keep_store(tkl__text_word_set *set, const tkl__buf *store)
{
    set->store = malloc(store->len + 1);
    if (!set->store)
        return tkl__nomem();
    memcpy(set->store, store->data, store->len);
    const char *at = set->store;
    for (size_t i = 0; i < set->count; i++) {
        set->items[i].data = at;
        at += set->items[i].len;
    }
    return TKL_OK;
}

int tkl__text_word_set_make(const tkl_bytes *words, size_t count, unsigned fold,
                            tkl__text_word_set *set)
{
    tkl__buf store;
    *set = (tkl__text_word_set){.items = calloc(count + 1, sizeof *set->items), .count = count};
    if (!set->items)
        return tkl__nomem();
    tkl__buf_init(&store);
    int rc = fold_all(words, count, fold, set, &store);
    if (rc == TKL_OK)
        rc = keep_store(set, &store);
    tkl__buf_free(&store);
    if (rc == TKL_OK)
        tidy(set);
    else
        tkl__text_word_set_free(set);
    return rc;
}

void tkl__text_word_set_free(tkl__text_word_set *set)
{
    free(set->items);
    free(set->store);
    *set = (tkl__text_word_set){.count = 0};
}
