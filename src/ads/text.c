/* SPDX-License-Identifier: MIT
 *
 * Ads: the stored form of names and words.
 */
#include "text/text.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "ads/ads.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/lex.h"

#define FOLD     (TKL__TEXT_FOLD_ACCENTS | TKL__TEXT_FOLD_CHINESE)
#define WORD_MAX 64 /* bytes; longer texts are not words of a language */

/* ---- Lists --------------------------------------------------------------- */

static int add_word(tkl__ads_list *list, tkl_bytes bytes)
{
    if (!tkl__grow(&list->items, list->count, sizeof *list->items))
        return tkl__nomem();
    char *copy = tkl__copy_bytes(bytes);
    if (!copy)
        return tkl__nomem();
    list->items[list->count++] = (tkl_bytes){copy, bytes.len};
    return TKL_OK;
}

void tkl__ads_list_cut(tkl__ads_list *list, size_t count)
{
    while (list->count > count)
        free((char *)list->items[--list->count].data);
}

void tkl__ads_list_free(tkl__ads_list *list)
{
    tkl__ads_list_cut(list, 0);
    free(list->items);
    *list = (tkl__ads_list){0};
}

void tkl__ads_put(tkl__args *args, const tkl__ads_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        tkl__args_bytes(args, list->items[i]);
}

bool tkl__ads_is_repeated(const tkl__ads_list *list, size_t from)
{
    for (size_t i = from; i + 1 < list->count; i++)
        if (tkl__same_bytes(list->items[i], list->items[list->count - 1]))
            return true;
    return false;
}

/* ---- Names --------------------------------------------------------------- */

int tkl__ads_fold(const char *what, tkl_bytes text, tkl__ads_list *list)
{
    if (text.len == 0)
        return tkl__fail(TKL_EINVAL, "a %s is empty", what);
    tkl__buf folded, escaped;
    tkl__buf_init(&folded);
    tkl__buf_init(&escaped);
    int rc = tkl__text_fold(text, TKL__TEXT_FOLD_CASE, &folded);
    if (rc == TKL_OK) {
        tkl__lex_escape(&escaped, (tkl_bytes){folded.data, folded.len});
        if (folded.failed || escaped.failed)
            rc = tkl__nomem();
        else if (escaped.len == 0)
            rc = tkl__fail(TKL_EINVAL, "a %s has no visible character", what);
        else if (escaped.len > TKL_ADS_NAME_MAX)
            rc = tkl__fail(TKL_EINVAL, "a %s has at most %d bytes", what, TKL_ADS_NAME_MAX);
    }
    if (rc == TKL_OK)
        rc = add_word(list, (tkl_bytes){escaped.data, escaped.len});
    tkl__buf_free(&folded);
    tkl__buf_free(&escaped);
    return rc;
}

/* ---- Words --------------------------------------------------------------- */

/* The stop words of all languages that have a list. The set is made on first use, without a lock,
 * because a forked child might find the lock locked for ever: when several threads make the set,
 * one wins. */
static _Atomic(tkl__text_word_set *) stop_words;

static int split_and_make(char *text, tkl__text_word_set *set)
{
    size_t count = 0;
    tkl_bytes *words = calloc(strlen(text) / 2 + 1, sizeof *words);
    if (!words)
        return tkl__nomem();
    char *rest = NULL;
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        words[count++] = tkl_str(word);
    int rc = tkl__text_word_set_make(words, count, FOLD, set);
    free(words);
    return rc;
}

static int make_stop_words(tkl__text_word_set *set)
{
    const char *en = tkl__text_stop_words("en"), *zh = tkl__text_stop_words("zh");
    tkl__buf all;
    tkl__buf_init(&all);
    tkl__buf_addz(&all, en ? en : "");
    tkl__buf_addz(&all, " ");
    tkl__buf_addz(&all, zh ? zh : "");
    tkl__buf_add(&all, "", 1);
    int rc = all.failed ? tkl__nomem() : split_and_make(all.data, set);
    tkl__buf_free(&all);
    return rc;
}

static int find_stop_words(const tkl__text_word_set **set)
{
    tkl__text_word_set *made, *none = NULL;
    *set = atomic_load(&stop_words);
    if (*set)
        return TKL_OK;
    made = calloc(1, sizeof *made);
    int rc = made ? make_stop_words(made) : tkl__nomem();
    if (rc == TKL_OK && atomic_compare_exchange_strong(&stop_words, &none, made))
        made = NULL; /* it is shared now */
    if (made)
        tkl__text_word_set_free(made);
    free(made);
    *set = atomic_load(&stop_words);
    return rc;
}

/* The words found so far: a hash table of their indexes, from 1. */
#define SLOTS 256 /* more than twice the most words of a page */

static size_t slot_of(tkl_bytes word)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < word.len; i++)
        hash = (hash ^ (unsigned char)word.data[i]) * 16777619U;
    return hash % SLOTS;
}

/* The slot of a word; it is 0 when the word is new. */
static uint16_t *find_slot(uint16_t *slots, const tkl__ads_list *list, size_t from, tkl_bytes word)
{
    size_t at = slot_of(word);
    while (slots[at] && !tkl__same_bytes(list->items[from + slots[at] - 1], word))
        at = (at + 1) % SLOTS;
    return &slots[at];
}

static int add_words(const tkl__text_word_list *words, size_t max, tkl__ads_list *list, bool *more)
{
    uint16_t slots[SLOTS] = {0};
    size_t from = list->count;
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < words->count; i++) {
        tkl_bytes word = words->items[i].text;
        if (word.len == 0 || word.len > WORD_MAX || memchr(word.data, 0, word.len))
            continue;
        uint16_t *slot = find_slot(slots, list, from, word);
        if (*slot)
            continue;
        if (list->count - from == max) {
            if (more)
                *more = true;
            return TKL_OK;
        }
        rc = add_word(list, word);
        *slot = (uint16_t)(list->count - from);
    }
    return rc;
}

int tkl__ads_words(tkl_bytes text, size_t max, tkl__ads_list *list, bool *more)
{
    if (more)
        *more = false;
    if (text.len == 0)
        return TKL_OK;
    tkl__text_word_list words = {0};
    const tkl__text_word_set *stop;
    int rc = find_stop_words(&stop);
    if (rc == TKL_OK)
        rc = tkl__text_words(text, &(tkl__text_word_options){.fold = FOLD, .stop = stop}, &words);
    if (rc == TKL_OK)
        rc = add_words(&words, max, list, more);
    tkl__text_word_list_free(&words);
    return rc;
}

/* ---- Results ------------------------------------------------------------- */

size_t tkl__ads_bytes_in(const tkl_reply *list)
{
    size_t bytes = 0;
    for (size_t i = 0; i < tkl_reply_count(list); i++)
        bytes += tkl_reply_bytes(tkl_reply_at(list, i)).len;
    return bytes;
}

tkl_bytes tkl__ads_copy(tkl__ads_room *room, tkl_bytes bytes)
{
    tkl_bytes copy = {room->at, bytes.len};
    if (bytes.len)
        memcpy(room->at, bytes.data, bytes.len);
    room->at += bytes.len;
    return copy;
}

tkl_bytes tkl__ads_unfold(tkl__ads_room *room, tkl_bytes bytes)
{
    tkl_bytes plain = {room->at, tkl__lex_unescape(bytes, room->at)};
    room->at += plain.len;
    return plain;
}
