/* SPDX-License-Identifier: MIT
 *
 * Text, the side that is in libtackle: it loads libtackle-text.so when that is first needed, and
 * does all work that needs no ICU.
 *
 * ICU's data alone is 30 MB, and binding its libraries costs every program milliseconds at its
 * start. So libtackle is not linked with ICU. libtackle-text.so is, in the ordinary way, and
 * libtackle loads it by dlopen(). The dynamic linker finds it as it finds every library, and beside
 * libtackle.so (a RUNPATH of $ORIGIN); where libtackle.a is part of a program, at last in the
 * folder to which it was installed. It is never unloaded.
 *
 * There is no lock: dlopen() may be called by several threads at once and gives them all the same
 * library. After a failure the next call tries again.
 */
#include "text/text.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/version.h>

#include "core/error.h"
#include "text/library.h"

#define LIBRARY "libtackle-text.so." TKL_VERSION

/* ---- Loading ------------------------------------------------------------- */

static int open_library(void **library)
{
    char first[512];
    *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (*library)
        return TKL_OK;
    snprintf(first, sizeof first, "%s", dlerror());
    *library = dlopen(TKL__LIBDIR "/" LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (*library)
        return TKL_OK;
    return tkl__fail(TKL_EIO, "text needs " LIBRARY ", which comes with libtackle: %s; %s", first,
                     dlerror());
}

static int load_library(const tkl__text_library **result)
{
    const tkl__text_library *(*table)(void);
    void *library;
    int rc = open_library(&library);
    if (rc != TKL_OK)
        return rc;
    *(void **)&table = dlsym(library, "tkl__text_library_table");
    if (!table || strcmp(table()->version, TKL_VERSION) != 0 || table()->size != sizeof **result)
        return tkl__fail(TKL_EIO, LIBRARY " was built from another version of tackle");
    *result = table();
    return TKL_OK;
}

static int need(const tkl__text_library **result)
{
    static _Atomic(const tkl__text_library *) loaded;
    int rc = TKL_OK;
    *result = atomic_load_explicit(&loaded, memory_order_acquire);
    if (!*result && (rc = load_library(result)) == TKL_OK)
        atomic_store_explicit(&loaded, *result, memory_order_release);
    return rc;
}

/* Sets the error text for a code that the library returned. */
static int said(int rc)
{
    switch (rc) {
    case TKL_OK:
        return TKL_OK;
    case TKL_ENOMEM:
        return tkl__nomem();
    default:
        return tkl__fail(rc, "ICU failed on a text");
    }
}

static int check_length(tkl_bytes text)
{
    if (text.len > TKL__TEXT_MAX)
        return tkl__fail(TKL_EINVAL, "text of %zu bytes: at most %d", text.len, TKL__TEXT_MAX);
    return TKL_OK;
}

/* ---- Folding and cutting ------------------------------------------------- */

static size_t ascii_length(tkl_bytes text)
{
    size_t n = 0;
    while (n < text.len && (unsigned char)text.data[n] < 0x80)
        n++;
    return n;
}

static int fold_ascii(tkl_bytes text, tkl__buf *out)
{
    char *to = tkl__buf_reserve(out, text.len);
    if (!to)
        return tkl__nomem();
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        to[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
    }
    out->len += text.len;
    return TKL_OK;
}

int tkl__text_fold(tkl_bytes text, unsigned how, tkl__buf *out)
{
    const tkl__text_library *library;
    if (ascii_length(text) == text.len)
        return fold_ascii(text, out);
    int rc = check_length(text);
    if (rc == TKL_OK)
        rc = need(&library);
    return rc == TKL_OK ? said(library->fold(text, how, out)) : rc;
}

int tkl__text_cut(tkl_bytes text, size_t max, size_t *len, size_t *count)
{
    const tkl__text_library *library;
    *len = *count = 0;
    size_t ascii = ascii_length(text);
    bool plain = ascii == text.len || ascii > max; /* > max: the next bytes may join the last
                                                      character */
    if (plain && !memchr(text.data ? text.data : "", '\r', ascii)) {
        *len = *count = ascii < max ? ascii : max;
        return TKL_OK;
    }
    int rc = check_length(text);
    if (rc == TKL_OK)
        rc = need(&library);
    return rc == TKL_OK ? said(library->cut(text, max, len, count)) : rc;
}

/* ---- Pinyin -------------------------------------------------------------- */

int tkl__text_forms(tkl_bytes folded, tkl__text_form_list *forms)
{
    const tkl__text_library *library;
    *forms = (tkl__text_form_list){.count = 0};
    if (ascii_length(folded) == folded.len)
        return TKL_OK;
    int rc = check_length(folded);
    if (rc == TKL_OK)
        rc = need(&library);
    return rc == TKL_OK ? said(library->forms(folded, forms)) : rc;
}

void tkl__text_form_list_free(tkl__text_form_list *forms)
{
    free(forms->store);
    *forms = (tkl__text_form_list){.count = 0};
}

int tkl__text_mixes(tkl_bytes query, tkl__text_mix_list *mixes)
{
    const tkl__text_library *library;
    mixes->count = 0;
    int rc = query.len ? need(&library) : TKL_OK;
    return rc == TKL_OK && query.len ? said(library->mixes(query, mixes)) : rc;
}

int tkl__text_fits(tkl_bytes folded, const tkl__text_mix_list *mixes, bool *fits)
{
    const tkl__text_library *library;
    *fits = false;
    if (mixes->count == 0 || ascii_length(folded) == folded.len)
        return TKL_OK;
    int rc = need(&library);
    return rc == TKL_OK ? said(library->fits(folded, mixes, fits)) : rc;
}

/* ---- Words --------------------------------------------------------------- */

int tkl__text_check_stem(const char *language)
{
    const tkl__text_library *library;
    int rc = need(&library);
    if (rc == TKL_OK && library->check_stem(language) != TKL_OK)
        rc = tkl__fail(TKL_EINVAL, "there is no stemmer for the language '%s'", language);
    return rc;
}

int tkl__text_words(tkl_bytes text, const tkl__text_word_options *options,
                    tkl__text_word_list *words)
{
    static const tkl__text_word_options plain;
    const tkl__text_library *library;
    *words = (tkl__text_word_list){.count = 0};
    if (!options)
        options = &plain;
    int rc = check_length(text);
    if (rc == TKL_OK)
        rc = need(&library);
    if (rc == TKL_OK && options->stem)
        rc = tkl__text_check_stem(options->stem);
    return rc == TKL_OK ? said(library->words(text, options, words)) : rc;
}

void tkl__text_word_list_free(tkl__text_word_list *words)
{
    free(words->items);
    free(words->store);
    *words = (tkl__text_word_list){.count = 0};
}
