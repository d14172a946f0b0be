/* SPDX-License-Identifier: MIT
 *
 * Ads: which ad is shown where, clicks, replacing and removing.
 *
 * ctest: label threads
 */
#include <math.h>

#include "support/adverts.h"
#include "support/cluster.h"
#include "support/fixture.h"

#define PLAIN    (&(tkl_ads_options){.smoothing = TKL_NONE, .explore = TKL_NONE})
#define SMOOTHED (&(tkl_ads_options){.explore = TKL_NONE})

/* The set with one ad, "a". */
static tkl_ads *open_with_ad(fixture *f, const char *text)
{
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1, .text = text});
    return ads;
}

static void ecpm_is_what_1000_views_earn(void **state)
{
    (void)state;
    double micros;
    assert_ok(tkl_ads_ecpm(TKL_ADS_CPM, 1500000, 0, 0, &micros));
    assert_true(micros == 1500000);
    assert_ok(tkl_ads_ecpm(TKL_ADS_CPC, 250000, 1000, 2, &micros));
    assert_true(micros == 500000);
    assert_ok(tkl_ads_ecpm(TKL_ADS_CPA, 3000000, 0, 0, &micros));
    assert_true(micros == 0);
    assert_code(tkl_ads_ecpm(TKL_ADS_CPC, -1, 1, 1, &micros), TKL_EINVAL);
    assert_code(tkl_ads_ecpm(TKL_ADS_CPC, 1, -1, 1, &micros), TKL_EINVAL);
    assert_code(tkl_ads_ecpm(TKL_ADS_CPC, 1, 1, -1, &micros), TKL_EINVAL);
    assert_code(tkl_ads_ecpm((tkl_ads_type)4, 1, 1, 1, &micros), TKL_EINVAL);
}

/* ---- Targeting ----------------------------------------------------------- */

static void one_location_of_the_ad_must_be_the_pages(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPM, .price = 1, .locations = "Köln,Texas"});
    add_ad(ads, (advert){.name = "b", .type = TKL_ADS_CPM, .price = 2, .locations = "USA"});
    expect_ad(ads, "KÖLN,NRW,Germany", NULL, "", "a");
    expect_ad(ads, "Austin,texas", NULL, "", "a");
    expect_ad(ads, "Austin,Texas,USA", NULL, "", "b");
    expect_ad(ads, "Paris", NULL, "", NULL);
    expect_ad(ads, "Tex", NULL, "", NULL);
    tkl_ads_page nowhere = {.text = tkl_str("x")};
    tkl_ads_choice *c;
    assert_code(tkl_ads_target(ads, &nowhere, &c), TKL_EMPTY);
    assert_null(c);
    tkl_ads_close(ads);
}

static void all_required_kinds_must_be_met(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, (advert){.name = "any", .type = TKL_ADS_CPM, .price = 1});
    add_ad(ads, (advert){.name = "young", .type = TKL_ADS_CPM, .price = 2, .needs = "age=18,19"});
    add_ad(ads, (advert){.name = "both",
                         .type = TKL_ADS_CPM,
                         .price = 3,
                         .needs = "os=ios,android age=18,19"});
    expect_ad(ads, NULL, NULL, "", "any");
    expect_ad(ads, NULL, "age=20", "", "any");
    expect_ad(ads, NULL, "age=19", "", "young");
    expect_ad(ads, NULL, "Age=19 OS=iOS", "", "both");
    expect_ad(ads, NULL, "os=android age=18 gender=f", "", "both");
    expect_ad(ads, NULL, "os=ios", "", "any");
    expect_ad(ads, NULL, "os=linux age=18", "", "young");
    tkl_ads_choice *c = explain_page(ads, "both", NULL, "age=18", "");
    assert_memory_equal(c->unmet.data, "os", 2);
    assert_int_equal(c->target.len, 0);
    tkl_ads_choice_free(c);
    tkl_ads_close(ads);
}

/* Words are a bonus, never a requirement; the best ad is not the one with most matches. */
static void words_are_a_bonus(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, SMOOTHED); /* the formulas alone: no ad or word is tried */
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1, .text = "tea cup"});
    add_ad(ads, (advert){.name = "b", .type = TKL_ADS_CPC, .price = 1.001, .text = "coffee"});
    expect_ad(ads, NULL, NULL, "tea in a cup", "b");
    target_id id;
    for (int i = 0; i < 3; i++) { /* b is removed, and a learns that tea is good */
        remove_ad(ads, "b");
        id = show_ad(ads, "tea");
        assert_ok(tkl_ads_click(ads, tkl_str(id.text)));
    }
    double ecpm = ecpm_of(ads, "a");
    add_ad(ads, (advert){.name = "b", .type = TKL_ADS_CPM, .price = floor(ecpm * 1000 + 1) / 1000});
    expect_ad(ads, NULL, NULL, "nothing of it", "b");
    expect_ad(ads, NULL, NULL, "a cup", "b");
    expect_ad(ads, NULL, NULL, "Tea!", "a");
    tkl_ads_close(ads);
}

static void words_of_any_language_match(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, (advert){.name = "a",
                         .type = TKL_ADS_CPC,
                         .price = 1,
                         .text = "Straßenmöbel, the 北京天气 \xff\xfe o'clock"});
    static const char *const pages[] = {"STRASSENMOBEL", "天气", "O’CLOCK"};
    for (int i = 0; i < 3; i++) {
        tkl_ads_choice *c = target_page(ads, pages[i]);
        assert_int_equal(c->count, 1);
        tkl_ads_choice_free(c);
    }
    tkl_ads_choice *c = target_page(ads, "the"); /* a stop word */
    assert_int_equal(c->count, 0);
    tkl_ads_choice_free(c);
    tkl_ads_close(ads);
}

/* Thousands that do not fit are above the one that does, and no gate keeps them apart. */
static void a_long_walk_finds_the_best(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    char name[16];
    static const char *const many =
        "age=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20"; /* more than a gate has */
    for (int i = 0; i < 2000; i++) {
        sprintf(name, "no%d", i);
        add_ad(ads, (advert){.name = name, .type = TKL_ADS_CPM, .price = 5, .needs = many});
    }
    expect_ad(ads, NULL, "age=99", "", NULL);
    add_ad(ads, (advert){.name = "low", .type = TKL_ADS_CPM, .price = 1});
    add_ad(ads, (advert){.name = "yes", .type = TKL_ADS_CPM, .price = 2, .needs = "age=99"});
    tkl_ads_choice *c;
    assert_ok(target_code(ads, NULL, "age=99", "", &c));
    assert_memory_equal(c->ad.data, "yes", 3);
    assert_in_range(c->trips, 2, 100);
    assert_in_range(c->looked, 2000, 2200);
    tkl_ads_choice_free(c);
    assert_ok(target_code(ads, NULL, "age=7", "", &c));
    assert_near(c->score, 5);
    assert_int_equal(c->trips, 1);
    tkl_ads_choice_free(c);
    tkl_ads_close(ads);
}

/* The same with a requirement that has a gate of its own: one look. */
static void ads_with_requirements_are_kept_apart(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    char name[16];
    for (int i = 0; i < 500; i++) {
        sprintf(name, "no%d", i);
        add_ad(ads, (advert){.name = name,
                             .type = TKL_ADS_CPM,
                             .price = 5,
                             .needs = "age=1,2,3 os=ios,android"});
    }
    add_ad(ads, (advert){.name = "yes", .type = TKL_ADS_CPM, .price = 2});
    tkl_ads_choice *c;
    assert_ok(target_code(ads, NULL, "age=2 os=linux", "", &c));
    assert_memory_equal(c->ad.data, "yes", 3);
    assert_int_equal(c->looked, 1);
    tkl_ads_choice_free(c);
    tkl_ads_close(ads);
}

/* More sets of kinds than have gates: still right. */
static void many_different_requirements(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    char name[16], needs[32];
    for (int i = 0; i < 40; i++) {
        sprintf(name, "ad%d", i);
        sprintf(needs, "kind%d=x", i);
        add_ad(ads, (advert){.name = name, .type = TKL_ADS_CPM, .price = 1 + i, .needs = needs});
    }
    assert_in_range(call_int(f->client, "HLEN", "tackle:ads:{site}:gates", NULL), 1, 16);
    expect_ad(ads, NULL, NULL, "", NULL);
    for (int i = 0; i < 40; i++) {
        sprintf(name, "ad%d", i);
        sprintf(needs, "kind%d=X", i);
        expect_ad(ads, NULL, needs, "", name);
    }
    for (int i = 0; i < 40; i++) {
        sprintf(name, "ad%d", i);
        assert_int_equal(remove_ad(ads, name), 1);
    }
    assert_int_equal(call_int(f->client, "EXISTS", "tackle:ads:{site}:gates", NULL), 0);
    tkl_ads_close(ads);
}

/* ---- Clicks and actions -------------------------------------------------- */

static void a_click_counts_once(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.25, .text = "x1 x2"});
    target_id target = show_ad(ads, "x1");
    assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    assert_code(tkl_ads_click(ads, tkl_str(target.text)), TKL_EXISTS);
    assert_contains(tkl_errmsg(), "before");
    assert_ok(tkl_ads_action(ads, tkl_str(target.text)));
    assert_code(tkl_ads_action(ads, tkl_str(target.text)), TKL_EXISTS);
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.views, 1);
    assert_int_equal(info->counts.clicks, 1);
    assert_int_equal(info->counts.actions, 1);
    assert_int_equal(info->counts.spent_micros, 250000);
    assert_memory_equal(info->words[0].word.data, "x1", 2);
    assert_int_equal(info->words[0].counts.clicks, 1);
    assert_int_equal(info->words[0].counts.spent_micros, 250000);
    assert_int_equal(info->words[1].counts.views, 0);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
}

static void an_action_may_come_before_the_click(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPA, .price = 3});
    target_id target = show_ad(ads, "");
    assert_ok(tkl_ads_action(ads, tkl_str(target.text)));
    assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.clicks, 1);
    assert_int_equal(info->counts.actions, 1);
    assert_int_equal(info->counts.spent_micros, 3000000);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
}

static void unknown_targets_count_nothing(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, &(tkl_ads_options){.target_ms = 1}), *other;
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1});
    target_id target = show_ad(ads, "");
    eventually(tkl_ads_click(ads, tkl_str(target.text)) == TKL_NOTFOUND, 5000);
    assert_contains(tkl_errmsg(), "expired");
    static const char *const bad[] = {"", "x", "0123456789abcdef0123456789abcdef",
                                      "0123456789abcdef0123456789abcdeX", "{}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(tkl_ads_click(ads, tkl_str(bad[i])), TKL_NOTFOUND);
    assert_code(tkl_ads_action(ads, (tkl_bytes){NULL, 0}), TKL_NOTFOUND);
    assert_ok(tkl_ads_open(f->client, tkl_str("other"), NULL, &other));
    add_ad(other, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1});
    target = show_ad(other, "");
    assert_code(tkl_ads_click(ads, tkl_str(target.text)), TKL_NOTFOUND);
    assert_ok(tkl_ads_click(other, tkl_str(target.text)));
    tkl_ads_info *info = info_of(ads, "a");
    assert_in_range(info->counts.clicks, 0, 1); /* 1: the first click came within a millisecond */
    tkl_ads_info_free(info);
    tkl_ads_close(other);
    tkl_ads_close(ads);
}

static void a_target_is_kept_for_15_minutes(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_with_ad(f, "");
    target_id target = show_ad(ads, "");
    char *key = test_format("tackle:ads:{site}:target:%s", target.text);
    assert_in_range(call_int(f->client, "PTTL", key, NULL), 890000, 900000);
    assert_int_equal(call_int(f->client, "PEXPIRE", key, "60000", NULL), 1);
    assert_ok(tkl_ads_click(ads, tkl_str(target.text))); /* the action has as long again */
    assert_in_range(call_int(f->client, "PTTL", key, NULL), 890000, 900000);
    assert_int_equal(call_int(f->client, "PEXPIRE", key, "9000000", NULL), 1);
    assert_ok(tkl_ads_action(ads, tkl_str(target.text))); /* never shorter */
    assert_in_range(call_int(f->client, "PTTL", key, NULL), 8900000, 9000000);
    free(key);
    tkl_ads_close(ads);
}

static void a_click_for_an_ad_that_was_removed(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_with_ad(f, "word");
    target_id target = show_ad(ads, "word");
    assert_int_equal(remove_ad(ads, "a"), 1);
    assert_code(tkl_ads_click(ads, tkl_str(target.text)), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "removed");
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1, .text = "word"});
    assert_code(tkl_ads_click(ads, tkl_str(target.text)), TKL_NOTFOUND);
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.clicks + info->counts.views, 0);
    assert_int_equal(info->words[0].counts.clicks + info->words[0].counts.views, 0);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
}

/* An ad that was removed takes no clicks, whether or not it was clicked before. */
static void a_second_click_for_an_ad_that_was_removed(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_with_ad(f, "");
    target_id target = show_ad(ads, "");
    assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    assert_code(tkl_ads_click(ads, tkl_str(target.text)), TKL_EXISTS);
    assert_int_equal(remove_ad(ads, "a"), 1);
    assert_code(tkl_ads_click(ads, tkl_str(target.text)), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "removed");
    assert_code(tkl_ads_action(ads, tkl_str(target.text)), TKL_NOTFOUND);
    tkl_ads_close(ads);
}

/* The price when it was shown. */
static void a_click_costs_what_the_view_promised(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_with_ad(f, "");
    target_id target = show_ad(ads, "");
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPM, .price = 9});
    assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.spent_micros, 1000000);
    assert_near(info->counts.ecpm, 9);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
}

/* ---- Replacing and removing ---------------------------------------------- */

static void an_ad_is_replaced_completely(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, PLAIN);
    add_ad(ads, (advert){.name = "a",
                         .type = TKL_ADS_CPC,
                         .price = 1,
                         .locations = "Berlin,Bonn",
                         .needs = "age=1",
                         .text = "old word"});
    tkl_ads_choice *c;
    assert_ok(target_code(ads, NULL, "age=1", "old", &c));
    assert_ok(tkl_ads_click(ads, c->target));
    tkl_ads_choice_free(c);
    add_ad(ads, (advert){.name = "a",
                         .type = TKL_ADS_CPC,
                         .price = 2,
                         .locations = "Bonn,Rome",
                         .needs = "os=x",
                         .text = "new word"});
    expect_ad(ads, "Berlin", "age=1 os=x", "old", NULL);
    expect_ad(ads, "Bonn", "age=1", "", NULL);
    assert_ok(target_code(ads, "Rome", "os=x", "old word", &c));
    assert_int_equal(c->count, 1);
    assert_memory_equal(c->matches[0].word.data, "word", 4);
    tkl_ads_choice_free(c);
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.views, 2); /* counts stay */
    assert_int_equal(info->counts.clicks, 1);
    assert_int_equal(info->word_count, 2);
    tkl_ads_info_free(info);
    /* A word that left and came back starts from zero. */
    add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 2, .text = "old"});
    info = info_of(ads, "a");
    assert_int_equal(info->words[0].counts.views, 0);
    tkl_ads_info_free(info);
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:ads:{site}:index", NULL), 1);
    tkl_ads_close(ads);
}

/* Its views have gone with it: clicks of pages that were shown before are the ad's alone. */
static void a_word_that_came_back_has_no_more_clicks_than_views(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, PLAIN);
    advert a = {.name = "a", .type = TKL_ADS_CPC, .price = 1, .text = "tea cup"};
    target_id ids[4];
    add_ad(ads, a);
    for (int i = 0; i < 3; i++)
        ids[i] = show_ad(ads, "tea");
    a.text = "coffee";
    add_ad(ads, a);
    a.text = "tea";
    add_ad(ads, a);
    assert_ok(tkl_ads_click(ads, tkl_str(ids[0].text)));
    ids[3] = show_ad(ads, "tea");
    for (int i = 1; i < 4; i++)
        assert_ok(tkl_ads_click(ads, tkl_str(ids[i].text)));
    tkl_ads_info *info = info_of(ads, "a");
    assert_int_equal(info->counts.clicks, 4);
    assert_int_equal(info->words[0].counts.views, 1);
    assert_int_equal(info->words[0].counts.clicks, 1);
    assert_int_equal(info->words[0].counts.spent_micros, 1000000);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
}

static void nothing_is_left_of_a_removed_ad(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    for (int round = 0; round < 2; round++) {
        add_ad(ads, (advert){.name = "a",
                             .type = TKL_ADS_CPC,
                             .price = 1,
                             .budget = 100,
                             .needs = "age=1,2 os=x",
                             .text = "some words here"});
        tkl_ads_choice *c;
        for (int i = 0; i < 5; i++) {
            assert_ok(target_code(ads, NULL, "age=1 os=x", i % 2 ? "words" : "some", &c));
            if (i == 1)
                assert_ok(tkl_ads_click(ads, c->target));
            char *key = test_format("tackle:ads:{site}:target:" TKL_FMT, TKL_ARG(c->target));
            assert_int_equal(call_int(f->client, "DEL", key, NULL), 1);
            free(key);
            tkl_ads_choice_free(c);
        }
        assert_int_equal(remove_ad(ads, "a"), 1);
        assert_int_equal(remove_ad(ads, "a"), 0);
        assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1); /* meta */
    }
    assert_ok(tkl_ads_drop(ads));
    assert_code(tkl_ads_drop(ads), TKL_NOTFOUND);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_ads_close(ads);
}

/* Whatever an ad learns, the index has it once at each place. */
static void the_index_holds_no_more_than_it_must(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    add_ad(ads, (advert){.name = "a",
                         .type = TKL_ADS_CPC,
                         .price = 1,
                         .locations = "Berlin,Bonn",
                         .text = "w1 w2 w3"});
    for (int i = 0; i < 120; i++) {
        target_id target = show_ad(ads, i % 3 == 0 ? "w1" : i % 3 == 1 ? "w2 w3" : "");
        if (i % 4 == 0)
            assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
        int64_t members = call_int(f->client, "ZCARD", "tackle:ads:{site}:index", NULL);
        assert_in_range(members, 2, 8);
        assert_int_equal(call_int(f->client, "HLEN", "tackle:ads:{site}:heads", NULL), members);
    }
    tkl_ads_close(ads);
}

enum { CREW = 6, ROUNDS = 150 };

static void draw_and_do(void *arg, int index)
{
    fixture *f = arg;
    tkl_ads *ads = open_ads(f->client, NULL);
    unsigned seed = (unsigned)index + 1;
    target_id last = {""};
    for (int i = 0; i < ROUNDS; i++) {
        char name[16], text[32];
        seed = seed * 1103515245U + 12345U;
        unsigned chance = (seed >> 16) % 8;
        sprintf(name, "ad%u", (seed >> 20) % 7);
        sprintf(text, "w%u w%u", (seed >> 8) % 5, (seed >> 12) % 5);
        tkl_ads_choice *c;
        if (chance == 0)
            remove_ad(ads, name);
        else if (chance < 3)
            add_ad(ads, (advert){.name = name,
                                 .type = 1 + (seed >> 24) % 3,
                                 .price = (double)((seed >> 18) % 50) / 10,
                                 .budget = chance == 1 ? 100 : 0,
                                 .needs = seed & 0x10000 ? "k=1,2" : NULL,
                                 .text = text});
        else if (chance < 6 && target_code(ads, NULL, "k=2", text, &c) == TKL_OK) {
            snprintf(last.text, sizeof last.text, TKL_FMT, TKL_ARG(c->target));
            tkl_ads_choice_free(c);
        } else if (last.text[0]) {
            assert_true(tkl_ads_click(ads, tkl_str(last.text)) >= 0);
            assert_true(tkl_ads_action(ads, tkl_str(last.text)) >= 0);
        }
    }
    tkl_ads_close(ads);
}

/* Many programs add, remove, show and click at once: in any order, the index fits the ads. */
static void programs_at_once_leave_whole_ads(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"ads", "values", "counts", "words", "index",
                                        "due", "heads",  "gates",  "turn"};
    crew_run(CREW, draw_and_do, f);
    tkl_ads *ads = open_ads(f->client, NULL);
    for (int i = 0; i < 7; i++) {
        char *name = test_format("ad%d", i);
        remove_ad(ads, name);
        free(name);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *key = test_format("tackle:ads:{site}:%s", parts[i]);
        assert_int_equal(call_int(f->client, "EXISTS", key, NULL), 0);
        free(key);
    }
    tkl_ads_close(ads);
}

/* ---- Reports ------------------------------------------------------------- */

static void reports_list_ads_and_words(void **state)
{
    fixture *f = *state;
    enum { MANY = 700 };
    tkl_ads *ads = open_ads(f->client, NULL);
    tkl_ads_lines *lines;
    tkl_ads_words *words;
    assert_ok(tkl_ads_report(ads, &lines));
    assert_int_equal(lines->count, 0);
    tkl_ads_lines_free(lines);
    char name[16];
    for (int i = 0; i < MANY; i++) {
        sprintf(name, "ad%d", i);
        add_ad(ads, (advert){.name = name, .type = TKL_ADS_CPM, .price = i, .text = "good"});
    }
    add_ad(ads, (advert){.name = "top", .type = TKL_ADS_CPC, .price = 9999, .text = "good bad"});
    target_id good = show_ad(ads, "good");
    show_ad(ads, "bad");
    assert_ok(tkl_ads_click(ads, tkl_str(good.text)));
    assert_ok(tkl_ads_report(ads, &lines));
    assert_int_equal(lines->count, MANY + 1);
    assert_memory_equal(lines->items[0].name.data, "top", 3);
    assert_int_equal(lines->items[0].counts.views, 2);
    assert_int_equal(lines->items[0].counts.clicks, 1);
    assert_int_equal(lines->items[0].counts.spent_micros, INT64_C(9999000000));
    assert_memory_equal(lines->items[1].name.data, "ad699", 5);
    tkl_ads_lines_free(lines);
    assert_ok(tkl_ads_report_words(ads, &words));
    assert_int_equal(words->count, 2);
    assert_memory_equal(words->items[0].word.data, "good", 4);
    assert_int_equal(words->items[0].counts.clicks, 1);
    assert_true(words->items[0].bonus > 0);
    assert_memory_equal(words->items[1].word.data, "bad", 3);
    assert_true(words->items[1].bonus < 0);
    tkl_ads_words_free(words);
    tkl_ads_close(ads);
}

/* ---- Cluster ------------------------------------------------------------- */

static void ads_live_in_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_ads *ads = open_ads(client, NULL);
    tkl_names *names;
    tkl_ads_lines *lines;
    for (int i = 0; i < 5; i++) {
        add_ad(ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 1, .text = "tea"});
        target_id target = show_ad(ads, "tea");
        assert_ok(tkl_ads_click(ads, tkl_str(target.text)));
    }
    assert_ok(tkl_ads_report(ads, &lines));
    assert_int_equal(lines->items[0].counts.clicks, 5);
    tkl_ads_lines_free(lines);
    assert_ok(tkl_ads_names(client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_ok(tkl_ads_drop(ads));
    tkl_ads_close(ads);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(ecpm_is_what_1000_views_earn),
        TEST(one_location_of_the_ad_must_be_the_pages),
        TEST(all_required_kinds_must_be_met),
        TEST(words_are_a_bonus),
        TEST(words_of_any_language_match),
        TEST(a_long_walk_finds_the_best),
        TEST(ads_with_requirements_are_kept_apart),
        TEST(many_different_requirements),
        TEST(a_click_counts_once),
        TEST(an_action_may_come_before_the_click),
        TEST(unknown_targets_count_nothing),
        TEST(a_target_is_kept_for_15_minutes),
        TEST(a_click_for_an_ad_that_was_removed),
        TEST(a_second_click_for_an_ad_that_was_removed),
        TEST(a_click_costs_what_the_view_promised),
        TEST(an_ad_is_replaced_completely),
        TEST(a_word_that_came_back_has_no_more_clicks_than_views),
        TEST(nothing_is_left_of_a_removed_ad),
        TEST(the_index_holds_no_more_than_it_must),
        TEST(programs_at_once_leave_whole_ads),
        TEST(reports_list_ads_and_words),
        cmocka_unit_test(ads_live_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
