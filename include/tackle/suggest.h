/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions while a user types: texts that others typed, the heaviest first.
 *
 *     tkl_suggest *suggest;
 *     tkl_suggestions *found;
 *     TKL_TRY(tkl_suggest_open(client, tkl_str("queries"), NULL, &suggest));
 *     tkl_suggest_text text = {.text = tkl_str("weather berlin")};
 *     TKL_TRY(tkl_suggest_feed(suggest, &text, 1));
 *     TKL_TRY(tkl_suggest_hint(suggest, tkl_str("wea"), 5, &found));
 *     tkl_suggestions_free(found);
 *
 * Each call is one round trip, even with several thousand texts. A handle may be used by several
 * threads and survives fork(). There are no callbacks. The keys, ns:suggest:{name}:..., are removed
 * by drop or by ttl_ms.
 */
#ifndef TACKLE_SUGGEST_H
#define TACKLE_SUGGEST_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_suggest tkl_suggest;

/* Most bytes of a text. */
#define TKL_SUGGEST_TEXT_MAX 512
/* Most suggestions of one call. */
#define TKL_SUGGEST_HINTS_MAX 100
/* Smallest and largest weight of one feed. */
#define TKL_SUGGEST_WEIGHT_MIN 1e-9
#define TKL_SUGGEST_WEIGHT_MAX 1e15

/* Settings are fixed by the first feed until drop. The numbers from `half_life_ms` to `texts` are
 * settings, too. 0: the suggestions' own number, or the default for new suggestions; a different
 * number is refused. */
typedef struct tkl_suggest_options {
    int64_t timeout_ms;   /* time-out of one call; 0: the client's */
    int64_t ttl_ms;       /* the suggestions expire this long after the last write; 0: they stay */
    int64_t half_life_ms; /* a weight halves in this time, a second to ten years; TKL_NONE, the
                             default: weights stay */
    int64_t best;         /* number of texts that each prefix keeps, 10 to 1000; default 50 */
    int64_t longest;      /* characters of the longest prefix that keeps texts, 1 to 32; default
                             16 */
    int64_t texts;        /* most texts that are kept; beyond that the lightest are removed; default
                             1000000; TKL_NONE: no limit */
    tkl_setting accents;  /* "munch" finds "München" */
    tkl_setting pinyin;   /* "bj", "beij" and "bjing" find "北京" */
    tkl_setting words;    /* "york" finds "new york" */
    bool typos;           /* hints may correct one mistyped character when nothing else fits;
                                    not a setting: each handle decides */
    TKL_RESERVED(8);
} tkl_suggest_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. Each later call returns
 * TKL_EINVAL if the suggestions have other settings. */
TKL_API int tkl_suggest_open(tkl_client *client, tkl_bytes name, const tkl_suggest_options *options,
                             tkl_suggest **suggest) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the suggestions. NULL is fine. */
TKL_API void tkl_suggest_close(tkl_suggest *suggest);

typedef struct tkl_suggest_text {
    tkl_bytes text; /* 1 to TKL_SUGGEST_TEXT_MAX bytes, any bytes */
    double weight;  /* added to the weight of the text; 0: 1 */
    TKL_RESERVED(2);
} tkl_suggest_text;

/* Raises the weights of texts. Texts that are equal when folded are one text, shown as it was last
 * fed. Up to about 15 texts are one step on the server; larger batches are several steps, in the
 * same round trip. TKL_EINVAL: one of the texts is invalid; nothing was sent. The library does not
 * repeat it when a reply is lost (tkl_is_unknown()), because the texts could count twice. */
TKL_API int tkl_suggest_feed(tkl_suggest *suggest, const tkl_suggest_text *texts, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Removes texts with their weights, under every prefix. *removed (may be NULL): how many
 * existed. */
TKL_API int tkl_suggest_remove(tkl_suggest *suggest, const tkl_bytes *texts, size_t count,
                               int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_suggestion {
    tkl_bytes text;
    double weight;  /* now */
    bool corrected; /* it matches only with one correction of the prefix */
    TKL_RESERVED(4);
} tkl_suggestion;

typedef struct tkl_suggestions {
    const tkl_suggestion *items;
    size_t count;
    bool more; /* further texts begin with the prefix, but `max` is above the number of texts that
                  a crowded prefix keeps (`best`) */
} tkl_suggestions;

TKL_API void tkl_suggestions_free(tkl_suggestions *suggestions); /* NULL is fine */

/* Finds the heaviest texts that begin with the prefix, heaviest first: up to `max`, at most
 * TKL_SUGGEST_HINTS_MAX. Texts that match only a mixture of characters, pinyin and initials come
 * after the others. An empty prefix: the heaviest of all texts. No texts: TKL_OK and a count of
 * 0. */
TKL_API int tkl_suggest_hint(tkl_suggest *suggest, tkl_bytes prefix, size_t max,
                             tkl_suggestions **suggestions) TKL_NONNULL(1, 4) TKL_CHECK;

typedef struct tkl_suggest_info {
    int64_t texts;        /* how many there are */
    int64_t half_life_ms; /* TKL_NONE: weights stay */
    int64_t best, longest;
    int64_t texts_max; /* TKL_NONE: no limit */
    bool accents, pinyin, words;
    TKL_RESERVED(4);
} tkl_suggest_info;

/* TKL_NOTFOUND: nothing was fed. */
TKL_API int tkl_suggest_show(tkl_suggest *suggest, tkl_suggest_info **info)
    TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_suggest_info_free(tkl_suggest_info *info); /* NULL is fine */

/* Forgets everything, settings included. TKL_NOTFOUND: there is nothing. */
TKL_API int tkl_suggest_drop(tkl_suggest *suggest) TKL_NONNULL(1) TKL_CHECK;

/* All suggestions, sorted. See tkl_options.no_register. */
TKL_API int tkl_suggest_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
