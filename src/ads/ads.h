/* SPDX-License-Identifier: MIT
 *
 * The private header of ads: what its files share.
 */
#ifndef TKL_ADS_INSIDE_H
#define TKL_ADS_INSIDE_H

#include <tackle/ads.h>

#include "core/batch.h"
#include "core/name.h"

/* The keys of a set, in the order in which every script gets them: keys.inc.lua. */
enum {
    TKL__ADS_META,
    TKL__ADS_ADS,
    TKL__ADS_VALUES,
    TKL__ADS_COUNTS,
    TKL__ADS_WORDS,
    TKL__ADS_INDEX,
    TKL__ADS_DUE,
    TKL__ADS_HEADS,
    TKL__ADS_GATES,
    TKL__ADS_TURN,
    TKL__ADS_KEYS
};

struct tkl_ads {
    tkl_client *client;
    tkl__base base; /* base of the keys of targets */
    tkl__keys keys;
    tkl_ads_options options; /* target_ms is set */
};

int64_t tkl__ads_deadline(const tkl_ads *ads);
/* Adds the smoothing that the handle requires; "": none. */
void tkl__ads_put_smoothing(const tkl_ads *ads, tkl__args *args);
/* Adds the exploring percentage that the handle requires; "": none. */
void tkl__ads_put_explore(const tkl_ads *ads, tkl__args *args);
/* TKL_EINVAL: the script replied {'smoothing', number}, and the handle requires another number. */
int tkl__ads_other_smoothing(const tkl_reply *reply);
/* Whether the first element of a reply is this word. */
bool tkl__ads_says(const tkl_reply *reply, const char *word);
/* Returns the type with this stored name, such as "cpc". */
tkl_ads_type tkl__ads_type(tkl_bytes text);
double tkl__ads_double(const tkl_reply *reply);

/* ---- Texts (text.c) ------------------------------------------------------ */

/* A list that owns its bytes. All zero: empty. */
typedef struct tkl__ads_list {
    tkl_bytes *items;
    size_t count;
} tkl__ads_list;

void tkl__ads_list_free(tkl__ads_list *list);
/* Removes the items from index `count` on. */
void tkl__ads_list_cut(tkl__ads_list *list, size_t count);

/* Appends a location, kind or value in its stored form: folded and escaped (core/lex.h). The text
 * of TKL_EINVAL names `what`. */
int tkl__ads_fold(const char *what, tkl_bytes text, tkl__ads_list *list);
/* Whether the last item equals an earlier one at index `from` or later. */
bool tkl__ads_is_repeated(const tkl__ads_list *list, size_t from);
/* Appends up to `max` different words of a text, in order, without stop words. *more (may be NULL):
 * the text has more words. */
int tkl__ads_words(tkl_bytes text, size_t max, tkl__ads_list *list, bool *more);
void tkl__ads_put(tkl__args *args, const tkl__ads_list *list);

/* Memory for the result of a call: one block of known size. Bytes are taken from its end. */
typedef struct tkl__ads_room {
    char *at;
} tkl__ads_room;

/* The number of bytes of all texts in an array. */
size_t tkl__ads_bytes_in(const tkl_reply *list);
tkl_bytes tkl__ads_copy(tkl__ads_room *room, tkl_bytes bytes);
/* Copies a stored text and unescapes it. */
tkl_bytes tkl__ads_unfold(tkl__ads_room *room, tkl_bytes bytes);

/* ---- Pages (page.c) ------------------------------------------------------ */

typedef struct tkl__ads_asked {
    tkl__ads_list locations;
    tkl__ads_list traits; /* kind, value, kind, value ... */
    tkl__ads_list words;
} tkl__ads_asked;

/* Checks a page and prepares the arguments of scripts; looks up its address. */
int tkl__ads_ask(const tkl_ads_page *page, tkl__ads_asked *asked);
void tkl__ads_asked_free(tkl__ads_asked *asked);
/* Adds a page to the arguments: numbers of locations and traits, then all items. */
void tkl__ads_put_page(tkl__args *args, const tkl__ads_asked *asked);

/* ---- Reports (look.c) ---------------------------------------------------- */

/* The elements of a reply of show.lua. */
enum { TKL__ADS_SHOW_NUMBERS, TKL__ADS_SHOW_LOCATIONS, TKL__ADS_SHOW_NEEDS, TKL__ADS_SHOW_WORDS };

/* Runs show.lua for each of these ads, in one round trip. */
int tkl__ads_show_all(tkl_ads *ads, const tkl_bytes *names, size_t count, tkl_reply **replies);
size_t tkl__ads_shown_words(const tkl_reply *shown);
/* The word of an ad in a reply of show.lua. The reply owns its text. */
tkl_ads_word tkl__ads_shown_word(const tkl_reply *shown, size_t index);
int tkl__ads_by_bonus(const void *a, const void *b); /* TKL_EINVAL: not a valid name of an ad. */
int tkl__ads_check_name(tkl_bytes name);

/* How much is explored, in percent: the default, and the most. */
#define TKL__ADS_EXPLORE     100
#define TKL__ADS_EXPLORE_MAX 1000
/* The average rate of a type starts with these views and events. */
#define TKL__ADS_FIRST_VIEWS  1000
#define TKL__ADS_FIRST_EVENTS 1

#endif
