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
 *     TKL_TRY(tkl_ads_open(client, tkl_str("site"), NULL, &ads));
 *     TKL_TRY(tkl_ads_add(ads, &ad, 1));
 *     if (tkl_ads_target(ads, &page, &choice) == TKL_OK &&
 *         tkl_ads_click(ads, choice->target) == TKL_OK)
 *         count_click(choice->ad);
 *     tkl_ads_choice_free(choice);
 *
 * The server keeps everything that is learned or spent; all programs share it. Each call is one
 * round trip, unless it says otherwise.
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

/* Most bytes of the name of an ad, a location, a kind or a value; the least is 1. Names of ads
 * count as they are; the others count as they are stored: folded, with the bytes 0 and 1 counted
 * twice. These limits keep each step on the server below a few milliseconds. */
#define TKL_ADS_NAME_MAX 128
/* Limits of one ad: locations, required kinds, values of all its kinds together, different
 * words. */
#define TKL_ADS_LOCATIONS_MAX 64
#define TKL_ADS_KINDS_MAX     8
#define TKL_ADS_VALUES_MAX    64
#define TKL_ADS_WORDS_MAX     40
/* Limits of a page: locations, parameters of its viewer, different words, and words times
 * locations. A page with more words is fine: the first ones count. */
#define TKL_ADS_PAGE_LOCATIONS_MAX 8
#define TKL_ADS_PAGE_TRAITS_MAX    16
#define TKL_ADS_PAGE_WORDS_MAX     100
#define TKL_ADS_PAGE_LISTS_MAX     300
/* Largest price and largest daily budget, in micro-units: a million units for one event or 1000
 * views, a hundred million units a day. */
#define TKL_ADS_PRICE_MAX  INT64_C(1000000000000)
#define TKL_ADS_BUDGET_MAX INT64_C(100000000000000)

typedef struct tkl_ads_options {
    int64_t timeout_ms; /* time-out of one call; 0: the client's */
    int64_t ttl_ms;     /* all ads expire this long after the last write; 0: they stay */
    int64_t target_ms;  /* how long a target can be clicked, and acted on after a click; 0: 15
                           minutes */
    int64_t smoothing;  /* number of views at the average rate of its type that are added to the
                           rate of each ad, 1 to 1000000000; TKL_NONE: plain rates. A setting of the
                           whole set: the first add fixes it until drop. 0: the set's own, 1000 for
                           a new set; a different number is refused */
    int64_t explore;    /* how boldly ads and words with few views are tried, in percent of the
                           default, 1 to 1000; TKL_NONE: ads are chosen by their eCPM alone. A
                           setting of the whole set: each add with a number changes it. 0: the set's
                           own, 100 for a new set */
    TKL_RESERVED(8);
} tkl_ads_options;

/* No I/O. `name`: the set's, 1 to TKL_NAME_MAX bytes; copied. `options` may be NULL. */
TKL_API int tkl_ads_open(tkl_client *client, tkl_bytes name, const tkl_ads_options *options,
                         tkl_ads **ads) TKL_NONNULL(1, 4) TKL_CHECK;
/* Frees the handle, not the ads. NULL is fine. */
TKL_API void tkl_ads_close(tkl_ads *ads);

/* ---- Ads ----------------------------------------------------------------- */

/* The event that the advertiser pays for. */
typedef enum tkl_ads_type {
    TKL_ADS_CPM = 1, /* 1000 views */
    TKL_ADS_CPC = 2, /* a click */
    TKL_ADS_CPA = 3, /* an action: an order, a registration */
} tkl_ads_type;

/* "cpm", "cpc", "cpa"; "unknown" for anything else. */
TKL_API const char *tkl_ads_type_name(tkl_ads_type type);

/* Computes the earnings of 1000 views, in millionths like the price, when `views` led to `events`
 * that are paid for (ignored for TKL_ADS_CPM): plain rates, without the estimates for ads with few
 * views. 0 views earn 0. TKL_EINVAL: a negative number, or an unknown type. No I/O. */
TKL_API int tkl_ads_ecpm(tkl_ads_type type, int64_t price_micros, int64_t views, int64_t events,
                         double *ecpm_micros) TKL_NONNULL(5) TKL_CHECK;

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
    int64_t price_micros;       /* 0 to TKL_ADS_PRICE_MAX; the price of 1000 views (CPM) must be a
                              multiple of 1000, so that a view costs whole micro-units */
    int64_t budget_micros;      /* budget of a day, at least the cost of one event; 0: no limit */
    const tkl_bytes *locations; /* one of them must be a location of the page */
    size_t location_count;      /* 1 to TKL_ADS_LOCATIONS_MAX */
    const tkl_ads_need *needs;
    size_t need_count;
    tkl_bytes text; /* its words; may be empty */
    TKL_RESERVED(4);
} tkl_ad;

/* Adds ads, all in one round trip, each in one step. An ad replaces the ad of the same name
 * completely: old locations, needs and words do not find it any more. Its counts and spending stay,
 * and so do those of words that it still has. TKL_EINVAL: one of the ads is invalid; nothing was
 * sent. */
TKL_API int tkl_ads_add(tkl_ads *ads, const tkl_ad *items, size_t count) TKL_NONNULL(1) TKL_CHECK;

/* Removes ads with all their counts. *removed (may be NULL): how many existed. */
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
    const tkl_bytes *locations; /* locations of the viewer, the most specific first: city, state,
                                   country */
    size_t location_count;
    const tkl_ads_trait *traits;
    size_t trait_count;
    tkl_bytes text;    /* its words; may be empty */
    tkl_ip *table;     /* NULL: none. Otherwise city, region, country and country code of the
                          address are locations, too. The look-up is another round trip unless the
                          table's cache has the address */
    tkl_bytes address; /* IP address of the viewer; ignored without a table */
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
    tkl_bytes location; /* the first location of the page that the ad has; explain: empty if there
                           is none */
    tkl_bytes unmet;    /* explain: a required kind that the viewer does not meet; else empty */
    int64_t until_ms;   /* explain: when its budget allows it again, in Unix milliseconds; else 0 */
    int64_t looked;     /* target: number of ads that were compared */
    int64_t trips;      /* round trips that it took; 1 except in bad cases */
    const tkl_ads_match *matches;
    size_t count;
    double rank; /* ads compete by this: the score, computed from bounds instead of eCPMs */
} tkl_ads_choice;

TKL_API void tkl_ads_choice_free(tkl_ads_choice *choice); /* NULL is fine */

/* Chooses the ad with the best rank for the page and records its view. Without exploring the rank
 * is the score. TKL_EMPTY: no ad fits. One round trip; more when many of the best ads do not fit
 * the viewer, or when the budgets of many ads open at this moment: see docs/ads.md. */
TKL_API int tkl_ads_target(tkl_ads *ads, const tkl_ads_page *page, tkl_ads_choice **choice)
    TKL_NONNULL(1, 2, 3) TKL_CHECK;

/* Computes the score of one ad on a page, and whether it can be shown there: `location`, `unmet`
 * and `until_ms` say why not. Records nothing. TKL_NOTFOUND: there is no such ad. */
TKL_API int tkl_ads_explain(tkl_ads *ads, const tkl_ads_page *page, tkl_bytes name,
                            tkl_ads_choice **choice) TKL_NONNULL(1, 2, 4) TKL_CHECK;

/* Counts a click, or an action, for the ad and the words that matched. Each counts once for a
 * target, in any order. TKL_EXISTS: it was counted before. TKL_NOTFOUND: the target is unknown or
 * has expired, or its ad was removed (even if the event was counted before). */
TKL_API int tkl_ads_click(tkl_ads *ads, tkl_bytes target) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_ads_action(tkl_ads *ads, tkl_bytes target) TKL_NONNULL(1) TKL_CHECK;

/* ---- Looking ------------------------------------------------------------- */

/* Counts of an ad, or of a word. */
typedef struct tkl_ads_counts {
    int64_t views;
    int64_t clicks;
    int64_t actions;
    int64_t spent_micros; /* spending; for a word: by the views and events in which it matched */
    double ecpm;          /* as it was last computed */
    double bound;         /* upper estimate of the eCPM, by which ads compete; without exploring the
                             eCPM itself */
    TKL_RESERVED(3);
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
    int64_t until_ms; /* when its spent budget opens again, in Unix milliseconds; 0: the budget is
                         not spent */
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

/* Reports all ads. One round trip for about 30 ads. */
TKL_API int tkl_ads_report(tkl_ads *ads, tkl_ads_lines **lines) TKL_NONNULL(1, 2) TKL_CHECK;

/* Reports all words of all ads, each once, the best bonus first: the sums of their counts, and the
 * means of eCPM, bound and bonus, weighted by views. Words that never matched are left out. One
 * round trip for about 30 ads. */
TKL_API int tkl_ads_report_words(tkl_ads *ads, tkl_ads_words **words) TKL_NONNULL(1, 2) TKL_CHECK;

/* The whole set. */
typedef struct tkl_ads_stats {
    int64_t ads;
    int64_t closed;        /* ads whose budget is spent for now */
    int64_t smoothing;     /* TKL_NONE: plain rates */
    double clicks_per_1k;  /* average of CPC ads: clicks per 1000 views */
    double actions_per_1k; /* average of CPA ads: actions per 1000 views */
    int64_t explore;       /* percent; TKL_NONE: no exploring */
    TKL_RESERVED(3);
} tkl_ads_stats;

/* TKL_NOTFOUND: no ad was ever added. */
TKL_API int tkl_ads_stats_get(tkl_ads *ads, tkl_ads_stats *stats) TKL_NONNULL(1, 2) TKL_CHECK;

/* Removes the set with all ads and counts. TKL_NOTFOUND: there is no such set. */
TKL_API int tkl_ads_drop(tkl_ads *ads) TKL_NONNULL(1) TKL_CHECK;

/* The names of all sets, sorted. See tkl_options.no_register. */
TKL_API int tkl_ads_names(tkl_client *client, tkl_names **names) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Money --------------------------------------------------------------- */

/* Converts an amount such as "0.25" exactly. TKL_EINVAL: not a number of 0 or more with at most six
 * decimals, or too large. No I/O. */
TKL_API int tkl_ads_micros(tkl_bytes text, int64_t *micros) TKL_NONNULL(2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
