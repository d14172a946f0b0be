/* SPDX-License-Identifier: MIT
 *
 * Inside the suggestions: what their files share.
 */
#ifndef TKL_SUGGEST_INSIDE_H
#define TKL_SUGGEST_INSIDE_H

#include <stdatomic.h>
#include <tackle/suggest.h>

#include "core/buf.h"
#include "core/script.h"
#include "text/text.h"

/* Settings as they are stored. */
typedef struct tkl__suggest_settings {
    int64_t half_life; /* milliseconds; 0: weights stay */
    int64_t best;
    int64_t longest;
    int64_t texts; /* 0: no limit */
    int64_t accents, pinyin, words;
} tkl__suggest_settings;

#define TKL__SUGGEST_SETTINGS 7

struct tkl_suggest {
    tkl_client *client;
    tkl__keys keys; /* meta, weights, texts, best, shown, starts */
    tkl_suggest_options options;
    /* The settings as far as we know, in the order of the struct. Whoever reads them while they
     * change sends a mixture, is told the right ones, and asks again. */
    _Atomic int64_t known[TKL__SUGGEST_SETTINGS];
};

/* ---- Settings (settings.c) ----------------------------------------------- */

#define TKL__SETTINGS_SIZE 192

int tkl__suggest_check(const tkl_suggest_options *options);
/* What new suggestions get. */
void tkl__suggest_wanted(tkl_suggest *suggest);
void tkl__suggest_known(tkl_suggest *suggest, tkl__suggest_settings *settings);
/* As they are stored: "half-life=0 best=50 ...". */
void tkl__suggest_text(const tkl__suggest_settings *settings, char text[TKL__SETTINGS_SIZE]);
/* Reads the stored ones; TKL_EINVAL when the caller asked for others. */
int tkl__suggest_learn(tkl_suggest *suggest, tkl_bytes text);

/* One who drops suggestions and makes others all the time is not followed for ever. */
#define TKL__SUGGEST_TRIES 4

/* Why a text cannot be stored: TKL_EINVAL. */
int tkl__suggest_check_text(tkl_bytes text, size_t index);

/* ---- Texts (starts.c) ---------------------------------------------------- */

/* Folds a text as the settings say. */
int tkl__suggest_fold(tkl_bytes text, const tkl__suggest_settings *settings, tkl__buf *out);
/* The key of a text, escaped, appended. */
int tkl__suggest_key(tkl_bytes text, const tkl__suggest_settings *settings, tkl__buf *out);

/* How many bytes of an escaped key are its longest prefix that keeps its best. */
int tkl__suggest_reach(tkl_bytes key, const tkl__suggest_settings *settings, size_t *reach);

/* Appends the starts of a text as lines "reach start", separated by NUL, the key first. *cost: the
 * prefixes that they have. */
int tkl__suggest_starts(tkl_bytes key, const tkl__suggest_settings *settings, tkl__buf *out,
                        size_t *cost);

/* Whether one of the starts of a key begins with the prefix. */
int tkl__suggest_fits(tkl_bytes key, tkl_bytes prefix, const tkl__suggest_settings *settings,
                      bool *fits);

/* Whether one of the texts that begin at a word of the key begins as a mix says. */
int tkl__suggest_fits_mix(tkl_bytes key, const tkl__text_mix_list *mixes,
                          const tkl__suggest_settings *settings, bool *fits);

int64_t tkl__suggest_deadline(const tkl_suggest *suggest);

#endif
