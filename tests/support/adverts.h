/* SPDX-License-Identifier: MIT
 *
 * Ads for tests, in words: places, needs and traits as texts.
 */
#ifndef TACKLE_TESTS_ADVERTS_H
#define TACKLE_TESTS_ADVERTS_H

#include <tackle/ads.h>

#include "support/call.h"

/* Opens the set "site". */
tkl_ads *open_ads(tkl_client *client, const tkl_ads_options *options);

/* The lines of a test. Lists are separated by commas; needs and traits by spaces:
 * "age=18,19 os=ios". NULL: none. */
typedef struct advert {
    const char *name;
    tkl_ads_type type;
    double price; /* in units */
    double budget;
    const char *locations; /* NULL: "Berlin" */
    const char *needs;
    const char *text;
} advert;

int add_code(tkl_ads *ads, const advert *advert);
void add_ad(tkl_ads *ads, advert advert);
int64_t remove_ad(tkl_ads *ads, const char *name);

/* `locations` NULL: "Berlin". */
int target_code(tkl_ads *ads, const char *locations, const char *traits, const char *text,
                tkl_ads_choice **choice);
/* Targets a page, for which one ad must fit. The caller frees the choice. */
tkl_ads_choice *target_page(tkl_ads *ads, const char *text);
tkl_ads_choice *explain_page(tkl_ads *ads, const char *name, const char *locations,
                             const char *traits, const char *text);
/* Fails unless this ad is shown; NULL: unless no ad is. */
void expect_ad(tkl_ads *ads, const char *locations, const char *traits, const char *text,
               const char *name);

/* A target's id, which outlives its choice. */
typedef struct target_id {
    char text[64];
} target_id;

/* Shows an ad and returns the target. */
target_id show_ad(tkl_ads *ads, const char *text);

tkl_ads_info *info_of(tkl_ads *ads, const char *name); /* free it */
double ecpm_of(tkl_ads *ads, const char *name);
double bonus_of(tkl_ads *ads, const char *name, const char *word);
/* Sets the counts of a word of an ad; the next add of the ad computes with them. */
void put_word(tkl_client *client, const char *what, const char *word, const char *ad,
              const char *value);
/* Fails unless the numbers are the same but for rounding. */
void assert_near(double got, double expected);

#endif
