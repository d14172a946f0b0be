/* SPDX-License-Identifier: MIT
 *
 * Ads: which ads and words are tried. Viewers click by a fixed sequence of numbers, and nothing
 * else is random: each story goes the same way each time.
 */
#include "support/adverts.h"
#include "support/fixture.h"

/* True behaviour of viewers of an ad, and its outcome. */
typedef struct truth {
    const char *name;
    double rate;       /* rate of clicks, or of actions */
    double rate_liked; /* on pages with the word "running"; 0: the same */
    int views;
} truth;

typedef struct story {
    tkl_ads *ads;
    truth *truths;
    int count;
    tkl_ads_type type; /* pricing type: viewers click, or act */
    uint64_t seed;
} story;

/* From 0 to 1. */
static double draw(story *s)
{
    s->seed = s->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(s->seed >> 11) / 9007199254740992.0;
}

static truth *truth_of(story *s, tkl_bytes name)
{
    for (int i = 0; i < s->count; i++)
        if (strlen(s->truths[i].name) == name.len &&
            memcmp(s->truths[i].name, name.data, name.len) == 0)
            return &s->truths[i];
    fail_msg("an unknown ad");
    return NULL;
}

/* Shows an ad on a page with this text; the viewer may click. */
static truth *view(story *s, const char *text)
{
    tkl_ads_choice *c = target_page(s->ads, text);
    truth *t = truth_of(s, c->ad);
    t->views++;
    double rate = t->rate_liked > 0 && strstr(text, "running") ? t->rate_liked : t->rate;
    if (draw(s) < rate)
        assert_ok(s->type == TKL_ADS_CPA ? tkl_ads_action(s->ads, c->target)
                                         : tkl_ads_click(s->ads, c->target));
    tkl_ads_choice_free(c);
    return t;
}

static void view_many(story *s, int count)
{
    for (int i = 0; i < count; i++)
        view(s, "");
}

static void add_all(story *s, double price)
{
    for (int i = 0; i < s->count; i++)
        add_ad(s->ads, (advert){.name = s->truths[i].name, .type = s->type, .price = price});
}

static int share(const truth *t, int views)
{
    return 100 * t->views / views;
}

/* ---- Stories ------------------------------------------------------------- */

/* The largest name is the worst ad. */
static void the_best_of_three_gets_the_most_views(void **state)
{
    fixture *f = *state;
    static const tkl_ads_type types[] = {TKL_ADS_CPC, TKL_ADS_CPA};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        truth truths[] = {{"a", .rate = 0.05}, {"b", .rate = 0.03}, {"c", .rate = 0.01}};
        story s = {.ads = open_ads(f->client, NULL), truths, 3, types[seed % 2], seed};
        add_all(&s, 0.25);
        view_many(&s, 2000);
        assert_in_range(truths[0].views, 1000, 2000);
        assert_in_range(truths[1].views, 20, truths[0].views);
        assert_in_range(truths[2].views, 20, truths[0].views);
        assert_ok(tkl_ads_drop(s.ads));
        tkl_ads_close(s.ads);
    }
}

/* Viewers click each ad at each twentieth view of it. */
static void equal_ads_share(void **state)
{
    fixture *f = *state;
    static const struct {
        tkl_ads_type type;
        double price;
    } cases[] = {{TKL_ADS_CPM, 2},
                 {TKL_ADS_CPC, 0.25},
                 {TKL_ADS_CPA, 3},
                 {TKL_ADS_CPM, 0},
                 {TKL_ADS_CPC, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        truth truths[] = {{"a", .rate = 0}, {"b", .rate = 0}, {"c", .rate = 0}};
        story s = {.ads = open_ads(f->client, NULL), truths, 3, cases[i].type, 1};
        add_all(&s, cases[i].price);
        for (int n = 0; n < 450; n++) {
            tkl_ads_choice *c = target_page(s.ads, "");
            if (++truth_of(&s, c->ad)->views % 20 == 0)
                assert_ok(s.type == TKL_ADS_CPA ? tkl_ads_action(s.ads, c->target)
                                                : tkl_ads_click(s.ads, c->target));
            tkl_ads_choice_free(c);
        }
        for (int n = 0; n < 3; n++)
            assert_in_range(share(&truths[n], 450), 20, 50);
        assert_ok(tkl_ads_drop(s.ads));
        tkl_ads_close(s.ads);
    }
}

static void a_good_ad_that_comes_late_gets_in(void **state)
{
    fixture *f = *state;
    truth truths[] = {{"z1", .rate = 0.02}, {"z2", .rate = 0.01}, {"late", .rate = 0.08}};
    story s = {.ads = open_ads(f->client, NULL), truths, 2, TKL_ADS_CPC, 5};
    add_all(&s, 0.25);
    view_many(&s, 800);
    s.count = 3;
    add_ad(s.ads, (advert){.name = "late", .type = TKL_ADS_CPC, .price = 0.25});
    view_many(&s, 1000);
    assert_in_range(truths[2].views, 500, 1000);
    tkl_ads_close(s.ads);
}

/* Clicks are worth 1 to 40 for 1000 views, which is unknown until they are tried beside the sure
 * 10. */
static void clicks_are_tried_beside_ads_that_are_paid_by_view(void **state)
{
    fixture *f = *state;
    truth truths[] = {{"sure", .rate = 0}, {"bad", .rate = 0.002}, {"good", .rate = 0.08}};
    story s = {.ads = open_ads(f->client, NULL), truths, 3, TKL_ADS_CPC, 3};
    add_ad(s.ads, (advert){.name = "sure", .type = TKL_ADS_CPM, .price = 10});
    add_ad(s.ads, (advert){.name = "bad", .type = TKL_ADS_CPC, .price = 0.5});
    add_ad(s.ads, (advert){.name = "good", .type = TKL_ADS_CPC, .price = 0.5});
    view_many(&s, 1000);
    assert_in_range(truths[2].views, 500, 1000);
    tkl_ads_close(s.ads);
}

/* Thirty ads are worth 0.5 for 1000 views, as is known of each; the sure ad 2, the new one 25. */
static void a_good_ad_is_tried_beside_poor_ones_of_its_type(void **state)
{
    fixture *f = *state;
    truth truths[] = {{"sure", .rate = 0}, {"late", .rate = 0.05}};
    story s = {.ads = open_ads(f->client, NULL), truths, 2, TKL_ADS_CPC, 3};
    char name[16], views[32], clicks[32];
    for (int i = 0; i < 2 * 30; i++) { /* the counts are put there between two adds */
        snprintf(name, sizeof name, "poor%d", i / 2);
        snprintf(views, sizeof views, "views:%s", name);
        snprintf(clicks, sizeof clicks, "clicks:%s", name);
        add_ad(s.ads, (advert){.name = name, .type = TKL_ADS_CPC, .price = 0.5});
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:ads:{site}:counts", views, "3000",
                            clicks, "3", NULL));
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:ads:{site}:meta", "cpc views", "90000",
                            "cpc clicks", "90", NULL));
    }
    add_ad(s.ads, (advert){.name = "sure", .type = TKL_ADS_CPM, .price = 2});
    view_many(&s, 100);
    add_ad(s.ads, (advert){.name = "late", .type = TKL_ADS_CPC, .price = 0.5});
    view_many(&s, 1000);
    assert_in_range(truths[1].views, 900, 1000);
    tkl_ads_close(s.ads);
}

/* An ad that is poor on the whole is found to be the best for its word. */
static void a_word_is_tried(void **state)
{
    fixture *f = *state;
    truth truths[] = {{"fair", .rate = 0.04}, {"shoes", .rate = 0.002, .rate_liked = 0.12}};
    story s = {.ads = open_ads(f->client, NULL), truths, 2, TKL_ADS_CPC, 1};
    add_ad(s.ads, (advert){.name = "fair", .type = TKL_ADS_CPC, .price = 1, .text = "tea"});
    add_ad(s.ads,
           (advert){.name = "shoes", .type = TKL_ADS_CPC, .price = 1, .text = "running marathon"});
    int running = 0;
    for (int i = 0; i < 2400; i++) {
        bool is_running = i % 3 == 0;
        bool is_shoes = view(&s, is_running ? "running along" : "cooking") == &truths[1];
        running += i >= 1200 && is_running && is_shoes;
    }
    assert_in_range(running, 250, 400); /* most of the 400 pages of the second half */
    assert_true(bonus_of(s.ads, "shoes", "running") > 0);
    tkl_ads_close(s.ads);
}

/* ---- Settings and figures ------------------------------------------------ */

static void nothing_is_tried_without_exploring(void **state)
{
    fixture *f = *state;
    truth truths[] = {{"a", .rate = 0.05}, {"b", .rate = 0.01}};
    story s = {.ads = open_ads(f->client, &(tkl_ads_options){.explore = TKL_NONE}),
               truths,
               2,
               TKL_ADS_CPC,
               1};
    tkl_ads_stats stats;
    add_all(&s, 1);
    assert_ok(tkl_ads_stats_get(s.ads, &stats));
    assert_int_equal(stats.explore, TKL_NONE);
    target_id first = show_ad(s.ads, ""), second = show_ad(s.ads, "");
    assert_ok(tkl_ads_click(s.ads, tkl_str(first.text)));
    assert_ok(tkl_ads_click(s.ads, tkl_str(second.text)));
    for (int i = 0; i < 60; i++) {
        tkl_ads_choice *c = target_page(s.ads, "");
        assert_memory_equal(c->ad.data, "b", 1);
        assert_true(c->rank == c->score);
        tkl_ads_choice_free(c);
    }
    tkl_ads_info *info = info_of(s.ads, "b");
    assert_true(info->counts.bound == info->counts.ecpm);
    tkl_ads_info_free(info);
    tkl_ads_close(s.ads);
}

/* The setting is of all ads, and an add may change it. */
static void exploring_is_switched_by_an_add(void **state)
{
    fixture *f = *state;
    tkl_ads *usual = open_ads(f->client, NULL);
    tkl_ads *off = open_ads(f->client, &(tkl_ads_options){.explore = TKL_NONE});
    tkl_ads *bold = open_ads(f->client, &(tkl_ads_options){.explore = 300});
    advert a = {.name = "a", .type = TKL_ADS_CPC, .price = 1};
    struct {
        tkl_ads *ads;
        int64_t explore;
    } steps[] = {{usual, 100}, {off, TKL_NONE}, {usual, TKL_NONE}, {bold, 300}, {usual, 300}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        tkl_ads_stats stats;
        add_ad(steps[i].ads, a);
        assert_ok(tkl_ads_stats_get(usual, &stats));
        assert_int_equal(stats.explore, steps[i].explore);
        tkl_ads_info *info = info_of(usual, "a");
        assert_int_equal(info->counts.bound > info->counts.ecpm, stats.explore != TKL_NONE);
        tkl_ads_info_free(info);
    }
    tkl_ads_close(usual);
    tkl_ads_close(off);
    tkl_ads_close(bold);
}

/* With views, the bound comes down to the plain rate: 20 clicks in 1000 views, a thousand times. */
static void a_bound_comes_down_to_the_formula(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    static const char *const counts[][2] = {{"0", "0"}, {"1000", "20"}, {"1000000", "20000"}};
    static const double above[] = {1.5, 1.1, 1}, below[] = {100, 2.5, 1.05}; /* times 5 */
    advert a = {.name = "a", .type = TKL_ADS_CPC, .price = 0.25, .text = "tea"};
    add_ad(ads, a);
    for (size_t i = 0; i < 3; i++) {
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:ads:{site}:counts", "views:a",
                            counts[i][0], "clicks:a", counts[i][1], NULL));
        assert_ok(tkl_callz(f->client, NULL, "HSET", "tackle:ads:{site}:meta", "cpc views",
                            counts[i][0], "cpc clicks", counts[i][1], NULL));
        put_word(f->client, "views", "tea", "a", counts[i][0]);
        put_word(f->client, "clicks", "tea", "a", counts[i][1]);
        add_ad(ads, a); /* computes all */
        tkl_ads_info *info = info_of(ads, "a");
        double bound = info->counts.bound, of_word = info->words[0].counts.bound;
        assert_true(bound > 5 * above[i] && bound < 5 * below[i]);
        assert_true(of_word >= 5 * 0.99 && of_word <= bound * 1.01);
        tkl_ads_info_free(info);
    }
    tkl_ads_close(ads);
}

/* A view is counted once, and the choice that is found again is the same. */
static void all_views_are_counted(void **state)
{
    fixture *f = *state;
    truth truths[] = {{"a", .rate = 0.05}, {"b", .rate = 0.05}, {"c", .rate = 0.05}};
    story s = {.ads = open_ads(f->client, NULL), truths, 3, TKL_ADS_CPC, 9};
    add_all(&s, 1);
    view_many(&s, 300);
    for (int i = 0; i < 3; i++) {
        tkl_ads_info *info = info_of(s.ads, truths[i].name);
        assert_int_equal(info->counts.views, truths[i].views);
        tkl_ads_info_free(info);
    }
    tkl_ads_close(s.ads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_best_of_three_gets_the_most_views),
        TEST(equal_ads_share),
        TEST(a_good_ad_that_comes_late_gets_in),
        TEST(clicks_are_tried_beside_ads_that_are_paid_by_view),
        TEST(a_good_ad_is_tried_beside_poor_ones_of_its_type),
        TEST(a_word_is_tried),
        TEST(nothing_is_tried_without_exploring),
        TEST(exploring_is_switched_by_an_add),
        TEST(a_bound_comes_down_to_the_formula),
        TEST(all_views_are_counted),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
