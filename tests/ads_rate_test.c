/* SPDX-License-Identifier: MIT
 *
 * Ads: rates, eCPMs, bonuses and scores, computed by hand. Nothing is tried.
 */
#include "support/adverts.h"
#include "support/fixture.h"

#define COUNTS "tackle:ads:{site}:counts"

#define PLAIN    (&(tkl_ads_options){.smoothing = TKL_NONE, .explore = TKL_NONE})
#define SMOOTHED (&(tkl_ads_options){.explore = TKL_NONE})

static void put_count(fixture *f, const char *field, const char *value)
{
    assert_ok(tkl_callz(f->client, NULL, "HSET", COUNTS, field, value, NULL));
}

static void the_ecpm_of_1000_views_is_their_price(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, SMOOTHED);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPM, .price = 0.7, .text = "green tea"});
    tkl_ads_choice *c = target_page(ads, "Tea and green leaves");
    assert_near(c->score, 0.7);
    assert_near(c->bonus, 0);
    assert_int_equal(c->count, 2);
    tkl_ads_choice_free(c);
    tkl_ads_close(ads);
}

/* 0.25 x 0.002 x 1000 = 0.5 */
static void the_ecpm_of_clicks_by_hand(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, PLAIN);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.25});
    assert_near(ecpm_of(ads, "a"), 0.25); /* the default average: 1 click per 1000 views */
    put_count(f, "views:a", "998");
    target_id first = show_ad(ads, ""), second = show_ad(ads, "");
    assert_ok(tkl_ads_click(ads, tkl_str(first.text)));
    assert_ok(tkl_ads_click(ads, tkl_str(second.text)));
    assert_near(ecpm_of(ads, "a"), 0.5);
    tkl_ads_close(ads);
}

/* 0.002 x 0.1 x 3 x 1000 = 0.6: 10 000 views, 20 clicks, 2 actions. */
static void the_ecpm_of_actions_by_hand(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, PLAIN);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPA, .price = 3});
    put_count(f, "views:a", "9999");
    put_count(f, "clicks:a", "20");
    put_count(f, "actions:a", "1");
    target_id target = show_ad(ads, "");
    assert_ok(tkl_ads_action(ads, tkl_str(target.text)));
    assert_near(ecpm_of(ads, "a"), 0.6);
    tkl_ads_close(ads);
}

/* One lucky click: average = 1000 (1 + 1) / (1 + 1000) per 1000 views, rate of the ad (1 + average)
 * / (1 + 1000), of the word (1 + 1000 rate) / (1 + 1000). */
static void a_smoothed_rate_by_hand(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, SMOOTHED);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.25, .text = "running shoes"});
    target_id target = show_ad(ads, "running");
    assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    double average = 2000.0 / 1001, rate = (1 + average) / 1001, of_word = (1 + 1000 * rate) / 1001;
    assert_near(ecpm_of(ads, "a"), 250 * rate);
    assert_near(bonus_of(ads, "a", "running"), 250 * (of_word - rate));
    assert_near(bonus_of(ads, "a", "shoes"), 0);
    assert_true(ecpm_of(ads, "a") < 0.75); /* not the 250 of the plain rate */
    tkl_ads_close(ads);
}

static void the_plain_rate_by_hand(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, PLAIN);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.25, .text = "running shoes"});
    show_ad(ads, "");
    show_ad(ads, "shoes");
    target_id target = show_ad(ads, "running");
    show_ad(ads, "running");
    assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    assert_near(ecpm_of(ads, "a"), 0.25 * 1 / 4 * 1000);
    assert_near(bonus_of(ads, "a", "running"), 125 - 62.5);
    assert_near(bonus_of(ads, "a", "shoes"), -62.5);
    tkl_ads_close(ads);
}

/* base 0.5; words of 0.8, 0.2 and 0.6: bonuses 0.3, -0.3 and 0.1. */
static void the_score_is_base_and_mean_of_smallest_and_largest_bonus(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, PLAIN);
    advert a = {.name = "a", .type = TKL_ADS_CPC, .price = 0.25, .text = "red green blue grey"};
    add_ad(ads, a);
    put_count(f, "views:a", "10000");
    put_count(f, "clicks:a", "20");
    static const char *const words[] = {"red", "green", "blue"};
    static const char *const clicks[] = {"32", "8", "24"};
    for (int i = 0; i < 3; i++) {
        put_word(f->client, "views", words[i], "a", "10000");
        put_word(f->client, "clicks", words[i], "a", clicks[i]);
    }
    add_ad(ads, a); /* computes all */
    static const struct {
        const char *text;
        double bonus;
        size_t matches;
    } cases[] = {
        {"", 0, 0},
        {"yellow", 0, 0},
        {"red", 0.3, 1},
        {"green", -0.3, 1},
        {"blue", 0.1, 1},
        {"red blue", 0.2, 2},
        {"grey", 0, 1},
        {"grey red", 0.15, 2},
        {"red green", 0, 2},
        {"blue red green", 0, 3},
        {"Grey GREEN", -0.15, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_ads_choice *c = explain_page(ads, "a", NULL, NULL, cases[i].text);
        assert_near(c->base, 0.5);
        assert_near(c->bonus, cases[i].bonus);
        assert_near(c->score, 0.5 + cases[i].bonus);
        assert_int_equal(c->count, cases[i].matches);
        tkl_ads_choice_free(c);
    }
    tkl_ads_close(ads);
}

/* A rate stays between 0 and 1, also with impossible numbers. */
static void numbers_that_cannot_be_do_no_harm(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *views, *clicks;
        double rate; /* -1: what is expected without views */
    } cases[] = {
        {"10", "1000", 1}, {"10", "-3", 0},  {"-10", "3", -1},   {"0", "3", -1},
        {"nan", "1", -1},  {"10", "inf", 0}, {"1e300", "1", -1}, {"-1000", "-1000", -1},
        {"10", "nan", 0},  {"", "x", -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_ads *ads = open_ads(f->client, PLAIN);
        advert a = {.name = "a", .type = TKL_ADS_CPC, .price = 1, .text = "tea"};
        tkl_ads_stats stats;
        add_ad(ads, a);
        put_count(f, "views:a", cases[i].views);
        put_count(f, "clicks:a", cases[i].clicks);
        add_ad(ads, a); /* computes all */
        double expected = cases[i].rate < 0 ? 0.001 : cases[i].rate;
        assert_near(ecpm_of(ads, "a"), 1000 * expected);
        put_word(f->client, "views", "tea", "a", cases[i].views);
        put_word(f->client, "clicks", "tea", "a", cases[i].clicks);
        add_ad(ads, a);
        assert_near(bonus_of(ads, "a", "tea"), 0);
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:ads:{site}:meta", "cpc views",
                            cases[i].views, "cpc clicks", cases[i].clicks, NULL));
        assert_ok(tkl_ads_stats_get(ads, &stats));
        assert_true(stats.clicks_per_1k >= 0 && stats.clicks_per_1k <= 1000);
        add_ad(ads, (advert){.name = "b", .type = TKL_ADS_CPC, .price = 1});
        assert_near(ecpm_of(ads, "b"), stats.clicks_per_1k);
        tkl_ads_close(ads);
        server_do(f->server, "FLUSHALL");
    }
}

static void a_new_ad_starts_from_the_average_of_its_type(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, SMOOTHED);
    tkl_ads_stats stats;
    assert_code(tkl_ads_stats_get(ads, &stats), TKL_NOTFOUND);
    add_ad(ads, (advert){.name = "old", .type = TKL_ADS_CPC, .price = 1});
    for (int i = 0; i < 10; i++) {
        target_id target = show_ad(ads, "");
        assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    }
    assert_ok(tkl_ads_stats_get(ads, &stats));
    assert_near(stats.clicks_per_1k, 1000 * 11.0 / 1010);
    assert_near(stats.actions_per_1k, 1);
    assert_int_equal(stats.smoothing, 1000);
    assert_int_equal(stats.ads, 1);
    add_ad(ads, (advert){.name = "new", .type = TKL_ADS_CPC, .price = 0.5});
    add_ad(ads, (advert){.name = "other", .type = TKL_ADS_CPA, .price = 0.5});
    assert_near(ecpm_of(ads, "new"), 0.5 * 1000 * 11.0 / 1010);
    assert_near(ecpm_of(ads, "other"), 0.5);
    tkl_ads_close(ads);
}

/* The classic error: a word that is never clicked keeps its bonus. */
static void a_word_that_is_not_clicked_loses_its_bonus(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, SMOOTHED);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1, .text = "lucky unlucky"});
    target_id target = show_ad(ads, "lucky");
    assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    double before = bonus_of(ads, "a", "lucky");
    assert_true(before > 0);
    for (int i = 0; i < 199; i++) /* computed again at the 100th and the 200th view */
        show_ad(ads, "lucky unlucky");
    assert_true(bonus_of(ads, "a", "lucky") < before);
    assert_true(bonus_of(ads, "a", "unlucky") < 0);
    tkl_ads_close(ads);
}

static void views_count_without_a_click(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, SMOOTHED);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1});
    for (int i = 0; i < 9; i++)
        show_ad(ads, "");
    assert_near(ecpm_of(ads, "a"), 1);
    show_ad(ads, ""); /* its turn, after ten views of its type */
    assert_near(ecpm_of(ads, "a"), 1000 * (0 + 1000 * 1.0 / 1010) / 1010);
    for (int i = 0; i < 90; i++) /* its own hundredth */
        show_ad(ads, "");
    assert_near(ecpm_of(ads, "a"), 1000 * (0 + 1000 * 1.0 / 1100) / 1100);
    tkl_ads_close(ads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_ecpm_of_1000_views_is_their_price),
        TEST(the_ecpm_of_clicks_by_hand),
        TEST(the_ecpm_of_actions_by_hand),
        TEST(a_smoothed_rate_by_hand),
        TEST(the_plain_rate_by_hand),
        TEST(the_score_is_base_and_mean_of_smallest_and_largest_bonus),
        TEST(numbers_that_cannot_be_do_no_harm),
        TEST(a_new_ad_starts_from_the_average_of_its_type),
        TEST(a_word_that_is_not_clicked_loses_its_bonus),
        TEST(views_count_without_a_click),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
