/* SPDX-License-Identifier: MIT
 *
 * Ad targeting: which ad earns most on a page, learned from views, clicks and actions.
 *
 *     tkl_ads *ads;
 *     tkl_ads_choice *choice;
 *     tkl_bytes berlin = tkl_str("Berlin");
 *     tkl_ad ad = {.name = tkl_str("shoes"), .type = TKL_ADS_CPC, .price_micros = 250000,
 *                  .locations = &berlin, .location_count = 1,
 *                  .text = tkl_str("light running shoes")};
 *     tkl_ads_page page = {.locations = &berlin, .location_count = 1,
 *                          .text = tkl_str("Ten routes for running along the river")};
 *     tkl_ads_open(client, tkl_str("site"), NULL, &ads);
 *     tkl_ads_add(ads, &ad, 1);
 *     if (tkl_ads_target(ads, &page, &choice) == TKL_OK)
 *         tkl_ads_click(ads, choice->target);
 *     tkl_ads_choice_free(choice);
 *
 * Everything that is learned or spent is kept on the server and shared by all programs. Each call
 * is one trip, unless it says otherwise.
 *
 * Money is counted in micro-units: millionths of your currency, whole numbers.
 *
 * Threads: a handle may be used by several threads. fork(): a child may go on using it. There are
 * no callbacks. Keys: ns:ads:{name}:... are removed by tkl_ads_drop() or by ttl_ms; targets expire
 * by themselves.
 */
#ifndef TACKLE_ADS_H
#define TACKLE_ADS_H

#include <tackle/client.h>
#include <tackle/ip.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_ads tkl_ads;

/* Bytes of the name of an ad, a location, a kind or a value; at least 1. All but names of ads are
 * counted as they are stored: folded, and the bytes 0 and 1 count twice. These limits keep each
 * step on the server below a few milliseconds. */
#define TKL_ADS_NAME_MAX 128
/* Of one ad: locations, required kinds, values of all its kinds together, different words. */
#define TKL_ADS_LOCATIONS_MAX 64
#define TKL_ADS_KINDS_MAX     8
#define TKL_ADS_VALUES_MAX    64
#define TKL_ADS_WORDS_MAX     40
/* Of a page: locations, parameters of its viewer, different words, and words times locations. More
 * words are no error: the first ones count. */
#define TKL_ADS_PAGE_LOCATIONS_MAX 8
#define TKL_ADS_PAGE_TRAITS_MAX    16
#define TKL_ADS_PAGE_WORDS_MAX     100
#define TKL_ADS_PAGE_LISTS_MAX     300
/* Micro-units: a million for one event or 1000 views, a hundred million a day. */
#define TKL_ADS_PRICE_MAX  INT64_C(1000000000000)
#define TKL_ADS_BUDGET_MAX INT64_C(100000000000000)

typedef struct tkl_ads_options {
    int64_t timeout_ms; /* of one call; 0: the client's */
    int64_t ttl_ms;     /* all expire this long after the last write; 0: they stay */
    int64_t target_ms;  /* how long a target can be clicked, and acted on after a click; 0: 15
                           minutes */
    int64_t smoothing;  /* views that the rate of an ad adds at the average rate of its type, 1 to
                           1000000000; TKL_NONE: the plain rate. A setting of all ads: it is made by
                           the first add and stays until drop. 0: as it is, 1000 when it is new;
                           another number than theirs is refused */
    TKL_RESERVED(8);
} tkl_ads_options;

/* No I/O. `name`: of the set of ads, 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_ads_open(tkl_client *client, tkl_bytes name, const tkl_ads_options *options,
                         tkl_ads **ads) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the ads. NULL is fine. */
TKL_API void tkl_ads_close(tkl_ads *ads);

/* ---- Ads ----------------------------------------------------------------- */

/* What is paid for. */
typedef enum tkl_ads_type {
    TKL_ADS_CPM = 1, /* 1000 views */
    TKL_ADS_CPC = 2, /* a click */
    TKL_ADS_CPA = 3, /* an action: an order, a registration */
} tkl_ads_type;

/* "cpm", "cpc", "cpa"; "unknown" for anything else. */
TKL_API const char *tkl_ads_type_name(tkl_ads_type type);

/* The viewer's value of this kind must be one of these. */
typedef struct tkl_ads_need {
    tkl_bytes kind; /* "age" */
    const tkl_bytes *values;
    size_t count;
    TKL_RESERVED(2);
} tkl_ads_need;

typedef struct tkl_ad {
    tkl_bytes name;
    tkl_ads_type type;
    int64_t price_micros;  /* 0 to TKL_ADS_PRICE_MAX; of 1000 views a multiple of 1000, so that a
                              view costs whole micro-units */
    int64_t budget_micros; /* of a day, at least the cost of one event; 0: no limit */
    const tkl_bytes *locations; /* one of them must be a location of the page */
    size_t location_count;      /* 1 to TKL_ADS_LOCATIONS_MAX */
    const tkl_ads_need *needs;
    size_t need_count;
    tkl_bytes text; /* its words; may be empty */
    TKL_RESERVED(4);
} tkl_ad;

/* Adds ads, all in one trip, each in one step. An ad of a name that is there is replaced
 * completely: no old location, need or word finds it. What was counted and spent so far stays, of
 * words as far as the ad still has them. TKL_EINVAL, before anything is sent, when one of them
 * cannot be added. */
TKL_API int tkl_ads_add(tkl_ads *ads, const tkl_ad *items, size_t count) TKL_NONNULL(1) TKL_CHECK;

/* Removes ads with all that was counted. *removed (may be NULL): how many were there. */
TKL_API int tkl_ads_remove(tkl_ads *ads, const tkl_bytes *names, size_t count, int64_t *removed)
    TKL_NONNULL(1) TKL_CHECK;

/* ---- Pages --------------------------------------------------------------- */

/* A parameter of the viewer. */
typedef struct tkl_ads_trait {
    tkl_bytes kind; /* "age"; each kind once */
    tkl_bytes value;
    TKL_RESERVED(2);
} tkl_ads_trait;

typedef struct tkl_ads_page {
    const tkl_bytes *locations; /* of the viewer, the most specific first: city, state, country */
    size_t location_count;
    const tkl_ads_trait *traits;
    size_t trait_count;
    tkl_bytes text;    /* its words; may be empty */
    tkl_ip *table;     /* NULL: none. Else city, region, country and country code of the address are
                       locations, too; the look-up is a trip of its own, if the table's cache does
                       not know the address */
    tkl_bytes address; /* of the viewer; ignored without a table */
    TKL_RESERVED(4);
} tkl_ads_page;

/* A word that the ad and the page share. */
typedef struct tkl_ads_match {
    tkl_bytes word;
    double bonus; /* eCPM of the word less that of the ad */
    TKL_RESERVED(2);
} tkl_ads_match;

/* One object: free it with tkl_ads_choice_free(). */
typedef struct tkl_ads_choice {
    tkl_bytes target; /* for tkl_ads_click(); empty from tkl_ads_explain() */
    tkl_bytes ad;
    tkl_ads_type type;
    double score;       /* base + bonus */
    double base;        /* eCPM of the ad */
    double bonus;       /* the mean of the smallest and the largest bonus; 0 without matches */
    tkl_bytes location; /* the page's first one that the ad has; from tkl_ads_explain() empty:
                            there is none */
    tkl_bytes unmet;    /* explain: a kind that is required and not met; else empty */
    int64_t until_ms;   /* explain: when its budget allows it again, in Unix milliseconds; else 0 */
    int64_t looked;     /* target: ads that were looked at */
    int64_t trips;      /* round trips that it took; 1 except in bad cases */
    const tkl_ads_match *matches;
    size_t count;
} tkl_ads_choice;

TKL_API void tkl_ads_choice_free(tkl_ads_choice *choice); /* NULL is fine */

/* The ad with the best score for the page, and records its view. TKL_EMPTY: no ad fits. One trip;
 * more when the walk to the best ad is long because ads on the way do not fit the viewer, or when
 * the budgets of many ads open at this moment: see docs/ads.md. */
TKL_API int tkl_ads_target(tkl_ads *ads, const tkl_ads_page *page, tkl_ads_choice **choice)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;

/* What one ad is worth on a page, and whether it can be shown there: `location`, `unmet` and
 * `until_ms` tell why not. Records nothing. TKL_NOTFOUND: there is no such ad. */
TKL_API int tkl_ads_explain(tkl_ads *ads, const tkl_ads_page *page, tkl_bytes name,
                            tkl_ads_choice **choice) TKL_NONNULL(1, 2, 4) TKL_CHECK;

/* Counts a click, or an action, for the ad and the words that matched. Each counts once for a
 * target, in any order. TKL_EXISTS: it was counted before. TKL_NOTFOUND: the target is unknown to
 * these ads or has expired; or its ad was removed, counted before or not. */
TKL_API int tkl_ads_click(tkl_ads *ads, tkl_bytes target) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_ads_action(tkl_ads *ads, tkl_bytes target) TKL_NONNULL(1) TKL_CHECK;

/* ---- Looking ------------------------------------------------------------- */

/* What was counted for an ad, or for a word. */
typedef struct tkl_ads_counts {
    int64_t views;
    int64_t clicks;
    int64_t actions;
    int64_t spent_micros; /* of a word: by the views and events in which it matched */
    double ecpm;          /* as it was last computed */
    TKL_RESERVED(4);
} tkl_ads_counts;

typedef struct tkl_ads_word {
    tkl_bytes word;
    double bonus; /* eCPM of the word less that of the ad */
    tkl_ads_counts counts;
    TKL_RESERVED(4);
} tkl_ads_word;

/* One object: free it with tkl_ads_words_free(). */
typedef struct tkl_ads_words {
    const tkl_ads_word *items; /* the best bonus first */
    size_t count;
} tkl_ads_words;

TKL_API void tkl_ads_words_free(tkl_ads_words *words); /* NULL is fine */

/* One object: free it with tkl_ads_info_free(). */
typedef struct tkl_ads_info {
    tkl_bytes name;
    tkl_ads_type type;
    int64_t price_micros;
    int64_t budget_micros;      /* 0: no limit */
    int64_t spent_today_micros; /* 0 without a budget */
    int64_t until_ms; /* its budget is spent until then, in Unix milliseconds; 0: it is not */
    tkl_ads_counts counts;
    const tkl_bytes *locations;
    size_t location_count;
    const tkl_ads_need *needs;
    size_t need_count;
    const tkl_ads_word *words; /* the best bonus first */
    size_t word_count;
} tkl_ads_info;

TKL_API void tkl_ads_info_free(tkl_ads_info *info); /* NULL is fine */

/* TKL_NOTFOUND: there is no such ad. */
TKL_API int tkl_ads_show(tkl_ads *ads, tkl_bytes name, tkl_ads_info **info)
    TKL_NONNULL(1, 3) TKL_CHECK;

/* A line of a report. */
typedef struct tkl_ads_line {
    tkl_bytes name;
    tkl_ads_type type;
    int64_t price_micros;
    tkl_ads_counts counts;
    TKL_RESERVED(4);
} tkl_ads_line;

/* One object: free it with tkl_ads_lines_free(). */
typedef struct tkl_ads_lines {
    const tkl_ads_line *items; /* the greatest eCPM first */
    size_t count;
} tkl_ads_lines;

TKL_API void tkl_ads_lines_free(tkl_ads_lines *lines); /* NULL is fine */

/* All ads. A trip for each 30 or so. */
TKL_API int tkl_ads_report(tkl_ads *ads, tkl_ads_lines **lines) TKL_NONNULL(1, 2) TKL_CHECK;

/* All words of all ads, each once: sums, and the means of eCPM and bonus weighted by views. Words
 * that never matched are left out. The best bonus first. A trip for each 30 ads or so. */
TKL_API int tkl_ads_report_words(tkl_ads *ads, tkl_ads_words **words) TKL_NONNULL(1, 2) TKL_CHECK;

/* The whole set. */
typedef struct tkl_ads_stats {
    int64_t ads;
    int64_t closed;        /* of them: their budget is spent for now */
    int64_t smoothing;     /* TKL_NONE: plain rates */
    double clicks_per_1k;  /* average of CPC ads: clicks per 1000 views */
    double actions_per_1k; /* of CPA ads */
    TKL_RESERVED(4);
} tkl_ads_stats;

/* TKL_NOTFOUND: no ad was ever added. */
TKL_API int tkl_ads_stats_get(tkl_ads *ads, tkl_ads_stats *stats) TKL_NONNULL(1, 2) TKL_CHECK;

/* Removes all ads, with all that was counted. TKL_NOTFOUND: there are none. */
TKL_API int tkl_ads_drop(tkl_ads *ads) TKL_NONNULL(1) TKL_CHECK;

/* The names of all sets, sorted. Walks over all keys of the servers. */
TKL_API int tkl_ads_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Money --------------------------------------------------------------- */

/* Reads an amount as people write it, "0.25", exactly. TKL_EINVAL: it is not a number of 0 or more
 * with at most six decimals, or too large. No I/O. */
TKL_API int tkl_ads_micros(tkl_bytes text, int64_t *micros) TKL_NONNULL(2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
