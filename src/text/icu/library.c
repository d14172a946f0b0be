/* SPDX-License-Identifier: MIT
 *
 * libtackle-text.so: its table of functions, and the tools of each thread.
 */
#include <pthread.h>
#include <stdlib.h>

#include <libstemmer.h>
#include <tackle/version.h>

#include "text/icu/icu.h"

const tkl__text_library *tkl__text_library_table(void)
{
    static const tkl__text_library table = {
        .version = TKL_VERSION,
        .size = sizeof table,
        .fold = tkl__text_icu_fold,
        .cut = tkl__text_icu_cut,
        .forms = tkl__text_icu_forms,
        .mixes = tkl__text_icu_mixes,
        .fits = tkl__text_icu_fits,
        .words = tkl__text_icu_words,
        .check_stem = tkl__text_icu_check_stem,
    };
    return &table;
}

/* ---- A thread's tools ---------------------------------------------------- */

static pthread_key_t key;
static bool key_made;

static void workshop_free(void *arg)
{
    tkl__text_workshop *shop = arg;
    ubrk_close(shop->characters);
    ubrk_close(shop->words);
    utext_close(&shop->text);
    sb_stemmer_delete(shop->stemmer);
    free(shop);
}

/* Runs when the library is loaded: in one thread, before any other function. */
__attribute__((constructor)) static void make_key(void)
{
    key_made = pthread_key_create(&key, workshop_free) == 0;
}

tkl__text_workshop *tkl__text_workshop_get(void)
{
    if (!key_made)
        return NULL;
    tkl__text_workshop *shop = pthread_getspecific(key);
    if (shop)
        return shop;
    shop = calloc(1, sizeof *shop);
    if (!shop)
        return NULL;
    shop->text = (UText)UTEXT_INITIALIZER;
    if (pthread_setspecific(key, shop) == 0)
        return shop;
    free(shop);
    return NULL;
}

UBreakIterator *tkl__text_iterate(UBreakIterator **iterator, UBreakIteratorType type, UText *view,
                                  tkl_bytes text)
{
    UErrorCode status = U_ZERO_ERROR;
    if (!*iterator)
        *iterator = ubrk_open(type, "root", NULL, 0, &status);
    utext_openUTF8(view, text.data, (int64_t)text.len, &status);
    if (U_SUCCESS(status))
        ubrk_setUText(*iterator, view, &status);
    if (U_FAILURE(status))
        return NULL;
    ubrk_first(*iterator);
    return *iterator;
}
