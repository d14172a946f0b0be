/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions: what others typed, the heaviest first, while a user types.
 *
 *     tkl_suggest *suggest;
 *     tkl_suggestions *found;
 *     tkl_suggest_open(client, tkl_str("queries"), NULL, &suggest);
 *     tkl_suggest_feed(suggest, &(tkl_suggest_text){.text = tkl_str("weather berlin")}, 1);
 *     tkl_suggest_hint(suggest, tkl_str("wea"), 5, &found);
 *     tkl_suggestions_free(found);
 *
 * Each call is one trip; a batch of several thousand texts is one trip, too. A handle may be used
 * by several threads and survives fork(). There are no callbacks. The keys, ns:suggest:{name}:...,
 * are removed by drop or by ttl_ms.
 */
#ifndef TACKLE_SUGGEST_H
#define TACKLE_SUGGEST_H

#include <tackle/client.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_suggest tkl_suggest;

/* Bytes of a text. */
#define TKL_SUGGEST_TEXT_MAX 512
/* Suggestions of one call. */
#define TKL_SUGGEST_HINTS_MAX 100
/* Weights of one feed. */
#define TKL_SUGGEST_WEIGHT_MIN 1e-9
#define TKL_SUGGEST_WEIGHT_MAX 1e15

/* A setting of the suggestions. It is made by the first feed and stays until drop. */
typedef enum tkl_suggest_setting {
    TKL_SUGGEST_OFF = -1,  /* they must be without */
    TKL_SUGGEST_AS_IS = 0, /* as they are, or were when this handle last met them; new ones are made
                              without */
    TKL_SUGGEST_ON = 1,    /* they must have it; new ones are made so */
} tkl_suggest_setting;

TKL_API const char *tkl_suggest_setting_name(tkl_suggest_setting setting); /* "off" */

/* The numbers from `half_life_ms` to `texts` are settings, too: 0 means as they are, or the default
 * when they are new; another number than theirs is refused. */
typedef struct tkl_suggest_options {
    int64_t timeout_ms;   /* of one call; 0: the client's */
    int64_t ttl_ms;       /* all expire this long after the last write; 0: they stay */
    int64_t half_life_ms; /* a weight halves in this time, a second to ten years; TKL_NONE, the
                             default: weights stay */
    int64_t best;         /* texts that a prefix keeps, 10 to 1000; default 50 */
    int64_t longest;      /* characters of the longest prefix that keeps its best, 1 to 32;
                             default 16 */
    int64_t texts;        /* most texts that are kept, the lightest go; default 1000000; TKL_NONE:
                             no limit */
    tkl_suggest_setting accents; /* "munch" finds "München" */
    tkl_suggest_setting pinyin;  /* "bj", "beij" and "bjing" find "北京" */
    tkl_suggest_setting words;   /* "york" finds "new york" */
    bool typos;                  /* hints may correct one mistyped character when nothing else fits;
                                    not a setting: each handle as it likes */
    TKL_RESERVED(8);
} tkl_suggest_options;

/* No I/O. `name`: 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. Whether the suggestions
 * agree with the settings is checked by each call that follows: TKL_EINVAL. */
TKL_API int tkl_suggest_open(tkl_client *client, tkl_bytes name, const tkl_suggest_options *options,
                             tkl_suggest **suggest) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the suggestions. NULL is fine. */
TKL_API void tkl_suggest_close(tkl_suggest *suggest);

typedef struct tkl_suggest_text {
    tkl_bytes text; /* 1 to TKL_SUGGEST_TEXT_MAX bytes, any bytes */
    double weight;  /* is added to what it has; 0: 1 */
    TKL_RESERVED(2);
} tkl_suggest_text;

/* Raises the weights of texts. Texts that are equal when folded are one text; it is shown as it was
 * fed last. Up to about 15 are one step of the server; larger batches are several, in the same
 * trip. TKL_EINVAL, before anything is sent, when one of them cannot be fed. Not repeated when a
 * reply is lost (tkl_is_unknown()): a repetition would count twice. */
TKL_API int tkl_suggest_feed(tkl_suggest *suggest, const tkl_suggest_text *texts, size_t count)
    TKL_NONNULL(1) TKL_CHECK;

/* Forgets texts with their weights, under every prefix. *removed (may be NULL): how many were
 * there. */
TKL_API int tkl_suggest_remove(tkl_suggest *suggest, const tkl_bytes *texts, size_t count,
                               int64_t *removed) TKL_NONNULL(1) TKL_CHECK;

typedef struct tkl_suggestion {
    tkl_bytes text;
    double weight;  /* now */
    bool corrected; /* it fits with one correction of the prefix only */
    TKL_RESERVED(4);
} tkl_suggestion;

typedef struct tkl_suggestions {
    const tkl_suggestion *items;
    size_t count;
} tkl_suggestions;

TKL_API void tkl_suggestions_free(tkl_suggestions *suggestions); /* NULL is fine */

/* The heaviest texts that begin with the prefix, heaviest first; up to `max` of them, and up to
 * TKL_SUGGEST_HINTS_MAX. Those that are found only by a mixture of characters, pinyin and initials
 * come behind the others. An empty prefix: the heaviest of all. None is no error. */
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
TKL_API int tkl_suggest_show(tkl_suggest *suggest, tkl_suggest_info *info)
    TKL_NONNULL(1, 2) TKL_CHECK;

/* Forgets everything, settings included. TKL_NOTFOUND: there is nothing. */
TKL_API int tkl_suggest_drop(tkl_suggest *suggest) TKL_NONNULL(1) TKL_CHECK;

/* All suggestions, sorted. Walks over all keys of the servers. */
TKL_API int tkl_suggest_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
