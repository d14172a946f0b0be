/* SPDX-License-Identifier: MIT
 *
 * Folding, words and pinyin for programs, as components use them.
 */
#include <stdlib.h>

#include <tackle/text.h>

#include "core/error.h"
#include "core/letters.h"
#include "core/names.h"
#include "core/options.h"
#include "text/text.h"

static unsigned folding_of(const tkl_text_rules *rules)
{
    return (rules->accents ? TKL__TEXT_FOLD_ACCENTS : 0u) |
           (rules->chinese ? TKL__TEXT_FOLD_CHINESE : 0u) |
           (rules->hangul ? TKL__TEXT_FOLD_HANGUL : 0u);
}

int tkl_text_fold(const tkl_bytes *texts, size_t count, const tkl_text_rules *rules,
                  tkl_names **folded)
{
    static const tkl_text_rules usual;
    const tkl_text_rules *r = rules ? rules : &usual;
    tkl__names names = {0};
    *folded = NULL;
    int rc = TKL__CHECK_RESERVED(r);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        tkl__buf one;
        tkl__buf_init(&one);
        rc = tkl__text_fold(texts[i], folding_of(r), &one);
        if (rc == TKL_OK)
            rc = one.failed ? tkl__nomem()
                            : tkl__names_add_copy(&names, (tkl_bytes){one.data, one.len});
        tkl__buf_free(&one);
    }
    if (rc == TKL_OK)
        rc = tkl__names_result(&names, folded);
    tkl__names_free(&names);
    return rc;
}

/* ---- Words --------------------------------------------------------------- */

const char *tkl_text_word_kind_name(tkl_text_word_kind kind)
{
    static const char *const names[] = {"word", "pair", "character"};
    return TKL__ENUM_NAME((int)kind, names);
}

/* The result; the list owns the bytes of the words. */
typedef struct word_list {
    tkl_text_words words; /* must be first: callers have a pointer to it */
    tkl__text_word_list found;
    tkl_text_word items[];
} word_list;

static int make_words(tkl__text_word_list *found, tkl_text_words **words)
{
    word_list *list = calloc(1, sizeof *list + found->count * sizeof *list->items);
    if (!list)
        return tkl__nomem();
    for (size_t i = 0; i < found->count; i++) {
        const tkl__text_word *word = &found->items[i];
        list->items[i] = (tkl_text_word){.text = word->text,
                                         .start = word->start,
                                         .len = word->len,
                                         .position = word->position,
                                         .kind = (tkl_text_word_kind)word->kind};
    }
    list->words = (tkl_text_words){.items = list->items, .count = found->count};
    list->found = *found;
    *words = &list->words;
    return TKL_OK;
}

/* Makes a set of the words of a text, which blanks separate. */
static int make_stop_set(tkl_bytes text, unsigned fold, tkl__text_word_set *set)
{
    tkl_bytes *words = malloc((text.len / 2 + 1) * sizeof *words);
    size_t count = 0;
    if (!words)
        return tkl__nomem();
    for (size_t at = 0; at < text.len;) {
        size_t start = at;
        while (at < text.len && text.data[at] != ' ')
            at++;
        if (at > start)
            words[count++] = (tkl_bytes){text.data + start, at - start};
        at++;
    }
    int rc = tkl__text_word_set_make(words, count, fold, set);
    free(words);
    return rc;
}

/* The stop words of the rules: the caller's, the usual ones, or both. */
static int find_stop_words(const tkl_text_rules *r, tkl__text_word_set *set)
{
    tkl__buf all;
    *set = (tkl__text_word_set){0};
    if (!r->usual_stop_words && r->stop_words.len == 0)
        return TKL_OK;
    tkl__buf_init(&all);
    tkl__buf_add(&all, r->stop_words.data, r->stop_words.len);
    for (int i = 0; r->usual_stop_words && i < 2; i++) {
        tkl__buf_addz(&all, " ");
        tkl__buf_addz(&all, tkl__text_stop_words(i == 0 ? "en" : "zh"));
    }
    int rc = all.failed ? tkl__nomem()
                        : make_stop_set((tkl_bytes){all.data, all.len}, folding_of(r), set);
    tkl__buf_free(&all);
    return rc;
}

int tkl_text_words_find(tkl_bytes text, const tkl_text_rules *rules, tkl_text_words **words)
{
    static const tkl_text_rules usual;
    const tkl_text_rules *r = rules ? rules : &usual;
    tkl__text_word_set stop;
    tkl__text_word_list found = {0};
    *words = NULL;
    int rc = TKL__CHECK_RESERVED(r);
    if (rc == TKL_OK)
        rc = find_stop_words(r, &stop);
    if (rc != TKL_OK)
        return rc;
    tkl__text_word_options options = {.fold = folding_of(r),
                                      .stem = r->stem,
                                      .stop = stop.count > 0 ? &stop : NULL,
                                      .bigrams = r->pieces};
    rc = tkl__text_words(text, &options, &found);
    if (rc == TKL_OK)
        rc = make_words(&found, words);
    if (rc != TKL_OK)
        tkl__text_word_list_free(&found);
    tkl__text_word_set_free(&stop);
    return rc;
}

void tkl_text_words_free(tkl_text_words *words)
{
    word_list *list = (word_list *)(void *)words;
    if (list)
        tkl__text_word_list_free(&list->found);
    free(list);
}

/* ---- Pinyin -------------------------------------------------------------- */

/* Adds a form without the marks between its syllables, unless it is there already. */
static int add_form(tkl__names *names, tkl_bytes form)
{
    char *copy = malloc(form.len + 1);
    size_t len = 0;
    if (!copy)
        return tkl__nomem();
    for (size_t i = 0; i < form.len; i++)
        if (form.data[i] != TKL__TEXT_SYLLABLE && form.data[i] != TKL__TEXT_OTHER)
            copy[len++] = form.data[i];
    copy[len] = '\0';
    for (size_t i = 0; i < names->count; i++)
        if (tkl__same_bytes(names->items[i], (tkl_bytes){copy, len})) {
            free(copy);
            return TKL_OK;
        }
    return tkl__names_add(names, (tkl_bytes){copy, len});
}

int tkl_text_pinyin(tkl_bytes text, tkl_names **forms)
{
    tkl__names names = {0};
    tkl__text_form_list found = {0};
    tkl__buf folded;
    *forms = NULL;
    tkl__buf_init(&folded);
    int rc = tkl__text_fold(text, TKL__TEXT_FOLD_CHINESE, &folded);
    if (rc == TKL_OK && folded.failed)
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__text_forms((tkl_bytes){folded.data, folded.len}, &found);
    for (size_t i = 0; rc == TKL_OK && i < found.count; i++)
        rc = add_form(&names, found.items[i]);
    if (rc == TKL_OK)
        rc = tkl__names_result(&names, forms);
    tkl__names_free(&names);
    tkl__text_form_list_free(&found);
    tkl__buf_free(&folded);
    return rc;
}
