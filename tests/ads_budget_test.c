/* SPDX-License-Identifier: MIT
 *
 * Ads: budgets. Spread over the hours of a day by the server's clock, never overspent, by ten
 * processes at once, when the clock jumps, and when many open at one moment.
 */
#include <stdlib.h>

#include "support/adverts.h"
#include "support/process.h"
#include "support/timed.h"

/* 2026-01-01, midnight. */
#define MIDNIGHT INT64_C(1767225600000)
#define DAY_MS   (24 * HOUR_MS)

typedef struct stage {
    timed_server *timed;
    tkl_client *client;
    tkl_ads *ads;
} stage;

static int set_up(void **state)
{
    stage *s = calloc(1, sizeof *s);
    s->timed = timed_start(NULL);
    timed_set(s->timed, MIDNIGHT + 60000);
    s->client = test_open(s->timed->server->url, NULL);
    s->ads = open_ads(s->client, NULL);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    stage *s = *state;
    tkl_ads_close(s->ads);
    tkl_close(s->client);
    timed_end(s->timed);
    free(s);
    return 0;
}

/* Shows the ad as often as its budget allows. */
static int show_all(stage *s)
{
    tkl_ads_choice *c;
    int rc, count = 0;
    while ((rc = target_code(s->ads, NULL, NULL, "", &c)) == TKL_OK && count < 100000) {
        tkl_ads_choice_free(c);
        count++;
    }
    assert_code(rc, TKL_EMPTY);
    return count;
}

/* The same with clicks. */
static int click_all(stage *s)
{
    tkl_ads_choice *c;
    int rc, count = 0;
    while ((rc = target_code(s->ads, NULL, NULL, "", &c)) == TKL_OK && count < 100000) {
        assert_ok(tkl_ads_click(s->ads, c->target));
        tkl_ads_choice_free(c);
        count++;
    }
    assert_code(rc, TKL_EMPTY);
    return count;
}

static int64_t spent(stage *s, const char *name)
{
    tkl_ads_info *info = info_of(s->ads, name);
    int64_t micros = info->spent_today_micros;
    tkl_ads_info_free(info);
    return micros;
}

/* 240 views a day are 10 each hour. Views that an hour leaves over go to the next hours. */
static void a_budget_is_spread_over_the_hours(void **state)
{
    stage *s = *state;
    add_ad(s->ads, (advert){.name = "a", .type = TKL_ADS_CPM, .price = 1, .budget = 0.24});
    assert_int_equal(show_all(s), 10);
    tkl_ads_info *info = info_of(s->ads, "a");
    assert_int_equal(info->until_ms, MIDNIGHT + HOUR_MS);
    tkl_ads_info_free(info);
    tkl_ads_choice *c = explain_page(s->ads, "a", NULL, NULL, "");
    assert_int_equal(c->until_ms, MIDNIGHT + HOUR_MS);
    tkl_ads_choice_free(c);
    timed_shift(s->timed, HOUR_MS);
    assert_int_equal(show_all(s), 10);
    timed_shift(s->timed, 3 * HOUR_MS);
    assert_int_equal(show_all(s), 30);
    timed_set(s->timed, MIDNIGHT + DAY_MS - 60000); /* the last minute */
    assert_int_equal(show_all(s), 190);
    assert_int_equal(spent(s, "a"), 240000);
    timed_set(s->timed, MIDNIGHT + DAY_MS + 1000);
    assert_int_equal(spent(s, "a"), 0);
    assert_int_equal(show_all(s), 10);
    info = info_of(s->ads, "a");
    assert_int_equal(info->counts.spent_micros, 250000);
    tkl_ads_info_free(info);
}

/* A click of 0.25 is more than an hour's share of 1: one at a time, four in all. */
static void clicks_that_cost_more_than_an_hour_has(void **state)
{
    stage *s = *state;
    int clicks = 0;
    add_ad(s->ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.25, .budget = 1});
    for (int hour = 0; hour < 24; hour++) {
        int now = click_all(s);
        assert_in_range(now, 0, 1);
        clicks += now;
        timed_shift(s->timed, HOUR_MS);
    }
    assert_int_equal(clicks, 4);
}

/* A share of less than a micro-unit is still a share. */
static void the_smallest_budget_is_open_in_every_hour(void **state)
{
    stage *s = *state;
    add_ad(s->ads,
           (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.000001, .budget = 0.000001});
    assert_int_equal(click_all(s), 1);
    assert_int_equal(spent(s, "a"), 1);
    timed_shift(s->timed, 24 * HOUR_MS);
    assert_int_equal(click_all(s), 1);
}

/* Targets that are under way when the budget ends: all clicks count, and cost what is left. */
static void clicks_under_way_never_overspend(void **state)
{
    stage *s = *state;
    target_id ids[10];
    timed_shift(s->timed, 23 * HOUR_MS);
    add_ad(s->ads, (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.3, .budget = 1});
    for (int i = 0; i < 10; i++)
        ids[i] = show_ad(s->ads, "");
    for (int i = 0; i < 10; i++)
        assert_ok(tkl_ads_click(s->ads, tkl_str(ids[i].text)));
    expect_ad(s->ads, NULL, NULL, "", NULL);
    tkl_ads_info *info = info_of(s->ads, "a");
    assert_int_equal(info->counts.clicks, 10);
    assert_int_equal(info->counts.spent_micros, 1000000);
    assert_int_equal(info->until_ms, MIDNIGHT + DAY_MS);
    tkl_ads_info_free(info);
}

/* ---- Ten processes ------------------------------------------------------- */

typedef struct job {
    const char *url;
    tkl_ads_type type;
} job;

/* Shows and clicks until nothing is left; the exit code is 0 when all went well. */
static int spend(void *arg)
{
    const job *j = arg;
    tkl_client *client;
    tkl_ads *ads;
    tkl_ads_choice *c;
    int rc;
    if (tkl_open(j->url, NULL, &client) != TKL_OK ||
        tkl_ads_open(client, tkl_str("site"), NULL, &ads) != TKL_OK)
        return 1;
    while ((rc = target_code(ads, NULL, NULL, "tea", &c)) == TKL_OK) {
        rc = j->type == TKL_ADS_CPM   ? TKL_OK
             : j->type == TKL_ADS_CPC ? tkl_ads_click(ads, c->target)
                                      : tkl_ads_action(ads, c->target);
        tkl_ads_choice_free(c);
        if (rc != TKL_OK)
            return 2;
    }
    tkl_ads_close(ads);
    tkl_close(client);
    return rc == TKL_EMPTY ? 0 : 3;
}

static void ten_processes(stage *s, tkl_ads_type type, double price, int least, int most)
{
    pid_t pids[10];
    job j = {s->timed->server->url, type};
    timed_set(s->timed, MIDNIGHT + DAY_MS - HOUR_MS / 2);
    add_ad(s->ads, (advert){.name = "a", .type = type, .price = price, .budget = 1, .text = "tea"});
    for (int i = 0; i < 10; i++)
        pids[i] = process_fork(spend, &j);
    for (int i = 0; i < 10; i++)
        assert_int_equal(process_wait(pids[i]), 0);
    tkl_ads_info *info = info_of(s->ads, "a");
    assert_in_range(info->counts.views, least, most);
    assert_int_equal(info->counts.spent_micros, 1000000);
    tkl_ads_info_free(info);
}

static void ten_processes_spend_views(void **state)
{
    ten_processes(*state, TKL_ADS_CPM, 2, 500, 500);
}

/* Each process may have one view under way when the last click is paid. */
static void ten_processes_spend_clicks(void **state)
{
    ten_processes(*state, TKL_ADS_CPC, 0.005, 200, 210);
}

static void ten_processes_spend_actions(void **state)
{
    ten_processes(*state, TKL_ADS_CPA, 0.01, 100, 110);
}

/* ---- The clock ----------------------------------------------------------- */

static void a_clock_that_goes_back_spends_no_day_twice(void **state)
{
    stage *s = *state;
    add_ad(s->ads, (advert){.name = "a", .type = TKL_ADS_CPM, .price = 1, .budget = 0.24});
    assert_int_equal(show_all(s), 10);
    timed_set(s->timed, MIDNIGHT - HOUR_MS / 2); /* yesterday */
    assert_int_equal(show_all(s), 0);
    timed_set(s->timed, MIDNIGHT + 120000);
    assert_int_equal(show_all(s), 0);
    timed_set(s->timed, MIDNIGHT + HOUR_MS + 1000);
    assert_int_equal(show_all(s), 10);
}

static void a_clock_that_was_far_ahead_is_forgiven(void **state)
{
    stage *s = *state;
    timed_set(s->timed, MIDNIGHT + 1000 * DAY_MS);
    add_ad(s->ads, (advert){.name = "a", .type = TKL_ADS_CPM, .price = 1, .budget = 0.24});
    assert_int_equal(show_all(s), 10);
    timed_set(s->timed, MIDNIGHT + 60000);
    assert_int_equal(show_all(s), 10);
    timed_set(s->timed, MIDNIGHT + HOUR_MS + 1000);
    assert_int_equal(show_all(s), 10);
}

/* ---- Changes ------------------------------------------------------------- */

static void a_new_budget_counts_at_once(void **state)
{
    stage *s = *state;
    advert a = {.name = "a", .type = TKL_ADS_CPM, .price = 1, .budget = 0.24};
    add_ad(s->ads, a);
    assert_int_equal(show_all(s), 10);
    a.budget = 0.48;
    add_ad(s->ads, a);
    assert_int_equal(show_all(s), 10); /* 20 in all */
    a.budget = 0.024;
    add_ad(s->ads, a);
    assert_int_equal(show_all(s), 0);
    timed_set(s->timed, MIDNIGHT + DAY_MS - 1000);
    assert_int_equal(show_all(s), 4); /* four of 24 */
    a.budget = 0;
    add_ad(s->ads, a);
    expect_ad(s->ads, NULL, NULL, "", "a");
    assert_int_equal(call_int(s->client, "EXISTS", "tackle:ads:{site}:due", NULL), 0);
    a.budget = 0.002;
    add_ad(s->ads, a);
    expect_ad(s->ads, NULL, NULL, "", NULL);
    assert_int_equal(remove_ad(s->ads, "a"), 1);
    assert_int_equal(call_int(s->client, "EXISTS", "tackle:ads:{site}:due", NULL), 0);
}

/* A click that comes while the ad is out of the index changes its eCPM and keeps it out. */
static void an_ad_learns_while_its_budget_is_spent(void **state)
{
    stage *s = *state;
    add_ad(s->ads,
           (advert){.name = "a", .type = TKL_ADS_CPC, .price = 0.1, .budget = 1, .text = "tea"});
    target_id first = show_ad(s->ads, "tea"), second = show_ad(s->ads, "tea");
    assert_ok(tkl_ads_click(s->ads, tkl_str(first.text)));
    expect_ad(s->ads, NULL, NULL, "tea", NULL);
    double before = ecpm_of(s->ads, "a");
    assert_ok(tkl_ads_click(s->ads, tkl_str(second.text)));
    assert_true(ecpm_of(s->ads, "a") > before);
    expect_ad(s->ads, NULL, NULL, "tea", NULL);
    assert_int_equal(call_int(s->client, "EXISTS", "tackle:ads:{site}:index", NULL), 0);
    assert_int_equal(call_int(s->client, "EXISTS", "tackle:ads:{site}:heads", NULL), 0);
    timed_shift(s->timed, 12 * HOUR_MS);
    expect_ad(s->ads, NULL, NULL, "tea", "a");
}

/* Hundreds of ads come back at the change of the hour: the best of them is found at once. */
static void many_budgets_open_at_one_moment(void **state)
{
    stage *s = *state;
    enum { MANY = 350 };
    char name[16];
    for (int i = 0; i < MANY; i++) {
        sprintf(name, "ad%d", i);
        /* A view is more than an hour's share. */
        add_ad(s->ads, (advert){.name = name,
                                .type = TKL_ADS_CPM,
                                .price = 1 + i % 300,
                                .budget = (1 + i % 300) / 1000.0 * 4});
    }
    assert_int_equal(show_all(s), MANY);
    tkl_ads_stats stats;
    assert_ok(tkl_ads_stats_get(s->ads, &stats));
    assert_int_equal(stats.closed, MANY);
    timed_shift(s->timed, 6 * HOUR_MS);
    tkl_ads_choice *c;
    assert_ok(target_code(s->ads, NULL, NULL, "", &c));
    assert_memory_equal(c->ad.data, "ad299", 5);
    assert_in_range(c->trips, 2, 21);
    tkl_ads_choice_free(c);
    assert_int_equal(show_all(s), MANY - 1);
}

#define STAGED(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        STAGED(a_budget_is_spread_over_the_hours),
        STAGED(clicks_that_cost_more_than_an_hour_has),
        STAGED(the_smallest_budget_is_open_in_every_hour),
        STAGED(clicks_under_way_never_overspend),
        STAGED(ten_processes_spend_views),
        STAGED(ten_processes_spend_clicks),
        STAGED(ten_processes_spend_actions),
        STAGED(a_clock_that_goes_back_spends_no_day_twice),
        STAGED(a_clock_that_was_far_ahead_is_forgiven),
        STAGED(a_new_budget_counts_at_once),
        STAGED(an_ad_learns_while_its_budget_is_spent),
        STAGED(many_budgets_open_at_one_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
