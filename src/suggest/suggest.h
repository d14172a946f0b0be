/* SPDX-License-Identifier: MIT
 *
 * The private header of suggest: what its files share.
 */
#ifndef TKL_SUGGEST_INSIDE_H
#define TKL_SUGGEST_INSIDE_H

#include <stdatomic.h>
#include <tackle/suggest.h>

#include "core/batch.h"
#include "core/buf.h"
#include "text/text.h"

/* The stored settings. */
typedef struct tkl__suggest_settings {
    int64_t half_life; /* milliseconds; 0: weights do not fade */
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
    /* The settings as far as the handle knows them, in the order of the struct. A thread that reads
     * them while they change sends a mixture, gets the right settings in the reply, and makes the
     * request again. */
    _Atomic int64_t known[TKL__SUGGEST_SETTINGS];
};

/* ---- Settings (settings.c) ----------------------------------------------- */

#define TKL__SETTINGS_SIZE 192

int tkl__suggest_check(const tkl_suggest_options *options);
/* Sets the known settings to the settings that new suggestions get. */
void tkl__suggest_wanted(tkl_suggest *suggest);
void tkl__suggest_known(tkl_suggest *suggest, tkl__suggest_settings *settings);
/* Writes the settings as they are stored: "half-life=0 best=50 ...". */
void tkl__suggest_text(const tkl__suggest_settings *settings, char text[TKL__SETTINGS_SIZE]);
/* Reads the stored settings. TKL_EINVAL: the caller requested others. */
int tkl__suggest_learn(tkl_suggest *suggest, tkl_bytes text);

/* Most attempts of a call while the suggestions are dropped and created again and again. */
#define TKL__SUGGEST_TRIES 4

/* TKL_EINVAL: the text cannot be stored; the error text says why. */
int tkl__suggest_check_text(tkl_bytes text, size_t index);

/* ---- Texts (starts.c) ---------------------------------------------------- */

/* Folds a text according to the settings. */
int tkl__suggest_fold(tkl_bytes text, const tkl__suggest_settings *settings, tkl__buf *out);
/* Appends the key of a text, escaped. */
int tkl__suggest_key(tkl_bytes text, const tkl__suggest_settings *settings, tkl__buf *out);

/* The length of the longest prefix of an escaped key that keeps its best. */
int tkl__suggest_reach(tkl_bytes key, const tkl__suggest_settings *settings, size_t *reach);

/* Appends the starts of a text as rows "reach start", separated by NUL, the key first. *cost: the
 * number of their prefixes. */
int tkl__suggest_starts(tkl_bytes key, const tkl__suggest_settings *settings, tkl__buf *out,
                        size_t *cost);

/* Whether one of the starts of a key begins with the prefix. */
int tkl__suggest_fits(tkl_bytes key, tkl_bytes prefix, const tkl__suggest_settings *settings,
                      bool *fits);

/* Whether the text from one of the words of the key on matches a mix at its beginning. */
int tkl__suggest_fits_mix(tkl_bytes key, const tkl__text_mix_list *mixes,
                          const tkl__suggest_settings *settings, bool *fits);

int64_t tkl__suggest_deadline(const tkl_suggest *suggest);

/* The score of weight 1 at the time `since`. It makes scores positive, so that they sort as
 * bytes. */
#define TKL__SUGGEST_SCORE_OF_ONE 1024
/* Most starts of a text. */
#define TKL__SUGGEST_STARTS_MAX 50

#endif
