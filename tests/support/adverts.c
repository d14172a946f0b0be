/* SPDX-License-Identifier: MIT */
#include "support/adverts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 80 };

tkl_ads *open_ads(tkl_client *client, const tkl_ads_options *options)
{
    tkl_ads *ads;
    assert_ok(tkl_ads_open(client, tkl_str("site"), options, &ads));
    return ads;
}

/* ---- Lists --------------------------------------------------------------- */

/* Cuts a copy of the text into items, and returns the copy; NULL for NULL. */
static char *cut_text(const char *text, const char *by, tkl_bytes *items, size_t *count)
{
    char *copy = text ? strdup(text) : NULL, *rest = NULL;
    *count = 0;
    for (char *one = copy ? strtok_r(copy, by, &rest) : NULL; one; one = strtok_r(NULL, by, &rest))
        items[(*count)++] = tkl_str(one);
    return copy;
}

typedef struct parsed_needs {
    char *copy, *values[MOST];
    tkl_ads_need needs[MOST];
    tkl_bytes items[MOST][MOST];
    size_t count;
} parsed_needs;

static void parse_needs(const char *text, parsed_needs *p)
{
    tkl_bytes parts[MOST];
    p->copy = cut_text(text, " ", parts, &p->count);
    for (size_t i = 0; i < p->count; i++) {
        char *sign = strchr(parts[i].data, '=');
        *sign = '\0';
        p->needs[i] = (tkl_ads_need){.kind = tkl_str(parts[i].data), .values = p->items[i]};
        p->values[i] = cut_text(sign + 1, ",", p->items[i], &p->needs[i].count);
    }
}

static void free_needs(parsed_needs *p)
{
    for (size_t i = 0; i < p->count; i++)
        free(p->values[i]);
    free(p->copy);
}

/* ---- Ads ----------------------------------------------------------------- */

int add_code(tkl_ads *ads, const advert *a)
{
    tkl_bytes places[MOST];
    parsed_needs needs;
    tkl_ad ad = {.name = tkl_str(a->name),
                 .type = a->type,
                 .price_micros = (int64_t)(a->price * 1e6 + 0.5),
                 .budget_micros = (int64_t)(a->budget * 1e6 + 0.5),
                 .locations = places,
                 .needs = needs.needs,
                 .text = tkl_str(a->text)};
    char *copy = cut_text(a->locations ? a->locations : "Berlin", ",", places, &ad.location_count);
    parse_needs(a->needs, &needs);
    ad.need_count = needs.count;
    int rc = tkl_ads_add(ads, &ad, 1);
    free_needs(&needs);
    free(copy);
    return rc;
}

void add_ad(tkl_ads *ads, advert a)
{
    assert_ok(add_code(ads, &a));
}

int64_t remove_ad(tkl_ads *ads, const char *name)
{
    int64_t removed;
    tkl_bytes bytes = tkl_str(name);
    assert_ok(tkl_ads_remove(ads, &bytes, 1, &removed));
    return removed;
}

/* ---- Pages --------------------------------------------------------------- */

static int ask_target(tkl_ads *ads, const char *name, const char *locations, const char *traits,
                      const char *text, tkl_ads_choice **choice)
{
    tkl_bytes places[MOST];
    tkl_ads_trait list[MOST];
    parsed_needs parsed;
    tkl_ads_page page = {.locations = places, .traits = list, .text = tkl_str(text)};
    char *copy = cut_text(locations ? locations : "Berlin", ",", places, &page.location_count);
    parse_needs(traits, &parsed);
    for (size_t i = 0; i < parsed.count; i++)
        list[i] = (tkl_ads_trait){.kind = parsed.needs[i].kind, .value = parsed.items[i][0]};
    page.trait_count = parsed.count;
    int rc = name ? tkl_ads_explain(ads, &page, tkl_str(name), choice)
                  : tkl_ads_target(ads, &page, choice);
    free_needs(&parsed);
    free(copy);
    return rc;
}

int target_code(tkl_ads *ads, const char *locations, const char *traits, const char *text,
                tkl_ads_choice **choice)
{
    return ask_target(ads, NULL, locations, traits, text, choice);
}

tkl_ads_choice *target_page(tkl_ads *ads, const char *text)
{
    tkl_ads_choice *choice;
    assert_ok(target_code(ads, NULL, NULL, text, &choice));
    return choice;
}

tkl_ads_choice *explain_page(tkl_ads *ads, const char *name, const char *locations,
                             const char *traits, const char *text)
{
    tkl_ads_choice *choice;
    assert_ok(ask_target(ads, name, locations, traits, text, &choice));
    return choice;
}

void expect_ad(tkl_ads *ads, const char *locations, const char *traits, const char *text,
               const char *name)
{
    tkl_ads_choice *choice;
    int rc = target_code(ads, locations, traits, text, &choice);
    assert_code(rc, name ? TKL_OK : TKL_EMPTY);
    if (!name)
        return;
    char *got = test_format(TKL_FMT, TKL_ARG(choice->ad));
    assert_string_equal(got, name);
    free(got);
    tkl_ads_choice_free(choice);
}

target_id show_ad(tkl_ads *ads, const char *text)
{
    target_id id;
    tkl_ads_choice *choice = target_page(ads, text);
    snprintf(id.text, sizeof id.text, TKL_FMT, TKL_ARG(choice->target));
    tkl_ads_choice_free(choice);
    return id;
}

/* ---- Looking ------------------------------------------------------------- */

tkl_ads_info *info_of(tkl_ads *ads, const char *name)
{
    tkl_ads_info *info;
    assert_ok(tkl_ads_show(ads, tkl_str(name), &info));
    return info;
}

double ecpm_of(tkl_ads *ads, const char *name)
{
    tkl_ads_info *info = info_of(ads, name);
    double ecpm = info->counts.ecpm;
    tkl_ads_info_free(info);
    return ecpm;
}

double bonus_of(tkl_ads *ads, const char *name, const char *word)
{
    tkl_ads_info *info = info_of(ads, name);
    double bonus = -1e300;
    for (size_t i = 0; i < info->word_count; i++)
        if (info->words[i].word.len == strlen(word) &&
            memcmp(info->words[i].word.data, word, strlen(word)) == 0)
            bonus = info->words[i].bonus;
    assert_true(bonus > -1e300);
    tkl_ads_info_free(info);
    return bonus;
}

void assert_near(double got, double expected)
{
    if (fabs(got - expected) > 1e-12)
        fail_msg("got %.17g, expected %.17g", got, expected);
}

void put_word(tkl_client *client, const char *what, const char *word, const char *ad,
              const char *value)
{
    char field[128];
    size_t len = (size_t)snprintf(field, sizeof field, "%s:%s%c%s", what, word, 0, ad);
    const char *argv[] = {"HSET", "tackle:ads:{site}:words", field, value};
    size_t lens[] = {4, strlen(argv[1]), len, strlen(value)};
    assert_ok(tkl_call(client, 4, argv, lens, NULL, NULL));
}
