/* SPDX-License-Identifier: MIT
 *
 * Earnings of ads: 200 random ads, 50,000 pages (5,000 with --quick) and viewers who click and act
 * at random. The figure is their share of the earnings of the best ad, had it been on all pages.
 * Epsilon-greedy (0.1, plain rates) and Thompson sampling (Beta, from 1 and 1) have the same ads,
 * in memory, and look at all of them for each page.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tackle/tackle.h>

#include "bench.h"
#include "ours.h"
#include "shelf.h"

enum { ADS = 200, VIEWS = 50000, QUICK_VIEWS = 5000 };

static const tkl_bytes here = TKL_LIT("Berlin");

/* ---- Chance -------------------------------------------------------------- */

static uint64_t seed;

/* Draws a number between 0 and 1. */
static double draw_chance(void)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_between(double least, double most)
{
    return least + (most - least) * draw_chance();
}

static double draw_normal(void)
{
    return sqrt(-2 * log(draw_chance())) * cos(2 * acos(-1) * draw_chance());
}

/* Gamma of a shape of 1 or more, by Marsaglia and Tsang. */
static double draw_gamma(double shape)
{
    double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = draw_normal(), v = pow(1 + c * x, 3);
        if (v > 0 && log(draw_chance()) < 0.5 * x * x + d - d * v + d * log(v))
            return d * v;
    }
}

static double draw_beta(double a, double b)
{
    double x = draw_gamma(a);
    return x / (x + draw_gamma(b));
}

/* ---- Ads ----------------------------------------------------------------- */

typedef struct random_ad {
    tkl_ads_type type;
    double price;      /* price of a view, a click or an action */
    double click_rate; /* share of views that are clicked */
    double action_rate;
    int views, clicks, actions; /* counts of each ad */
} random_ad;

typedef struct world {
    random_ad ads[ADS];
    double best;   /* earnings of a view of the best ad */
    double earned; /* worth of all views */
} world;

typedef void make_ad(random_ad *ad, int number);

/* Clicks of one price, at 0 to 10 %. */
static void make_even(random_ad *ad, int number)
{
    (void)number;
    *ad = (random_ad){.type = TKL_ADS_CPC, .price = 0.5, .click_rate = draw_between(0, 0.1)};
}

/* Clicks of 0.05 to 2, at about 1 %, some much more often. */
static void make_uneven(random_ad *ad, int number)
{
    (void)number;
    *ad = (random_ad){.type = TKL_ADS_CPC,
                      .price = 0.05 * pow(40, draw_chance()),
                      .click_rate = fmin(0.5, 0.01 * exp(draw_normal()))};
}

/* Actions of 1 to 5, after 2 to 30 % of the clicks, at 0 to 10 %. */
static void make_acting(random_ad *ad, int number)
{
    (void)number;
    *ad = (random_ad){.type = TKL_ADS_CPA,
                      .price = draw_between(1, 5),
                      .click_rate = draw_between(0, 0.1),
                      .action_rate = draw_between(0.02, 0.3)};
}

static void make_mixed(random_ad *ad, int number)
{
    ad->type = (tkl_ads_type)(1 + number % 3);
    ad->click_rate = draw_between(0, 0.06);
    ad->action_rate = draw_between(0.02, 0.3);
    ad->price = ad->type == TKL_ADS_CPM   ? draw_between(0.001, 0.02)
                : ad->type == TKL_ADS_CPC ? draw_between(0.1, 1)
                                          : draw_between(1, 5);
}

/* Revenue of an average view of an ad. */
static double worth(const random_ad *ad)
{
    return ad->type == TKL_ADS_CPM   ? ad->price
           : ad->type == TKL_ADS_CPC ? ad->price * ad->click_rate
                                     : ad->price * ad->click_rate * ad->action_rate;
}

/* Makes the ads of a round, which are the same for all contenders. */
static world make_world(make_ad *make, uint64_t round)
{
    world w = {.earned = 0};
    seed = 1000 * round;
    for (int i = 0; i < ADS; i++) {
        w.ads[i] = (random_ad){.views = 0};
        make(&w.ads[i], i);
        w.best = fmax(w.best, worth(&w.ads[i]));
    }
    return w;
}

/* Shows an ad. Returns whether it was clicked; *acted: and acted on. */
static bool show_ad(world *w, int number, bool *acted)
{
    random_ad *ad = &w->ads[number];
    w->earned += worth(ad);
    ad->views++;
    bool clicked = draw_chance() < ad->click_rate;
    *acted = clicked && draw_chance() < ad->action_rate;
    ad->clicks += clicked;
    ad->actions += *acted;
    return clicked;
}

/* ---- References ---------------------------------------------------------- */

static int events_of(const random_ad *ad)
{
    return ad->type == TKL_ADS_CPC ? ad->clicks : ad->actions;
}

static double plain_value(const random_ad *ad)
{
    if (ad->type == TKL_ADS_CPM)
        return ad->price;
    return ad->views ? ad->price * events_of(ad) / ad->views : 0;
}

static double sampled_value(const random_ad *ad)
{
    if (ad->type == TKL_ADS_CPM)
        return ad->price;
    return ad->price * draw_beta(1 + events_of(ad), 1 + ad->views - events_of(ad));
}

/* The ad with the greatest value; among equal ads, any of them. */
static int greatest(const world *w, double (*value)(const random_ad *ad))
{
    int from = (int)(draw_chance() * ADS), best = from;
    double most = -1;
    for (int i = 0; i < ADS; i++) {
        int number = (from + i) % ADS;
        double v = value(&w->ads[number]);
        if (v > most) {
            most = v;
            best = number;
        }
    }
    return best;
}

static int choose_greedily(const world *w)
{
    return draw_chance() < 0.1 ? (int)(draw_chance() * ADS) : greatest(w, plain_value);
}

static int choose_by_sample(const world *w)
{
    return greatest(w, sampled_value);
}

static int views_of(const bench_run *run)
{
    return run->quick ? QUICK_VIEWS : VIEWS;
}

static double share_of_reference(const bench_run *run, make_ad *make, uint64_t round,
                                 int (*choose)(const world *w))
{
    world w = make_world(make, round);
    bool acted;
    for (int i = 0; i < views_of(run); i++)
        show_ad(&w, choose(&w), &acted);
    return w.earned / (w.best * views_of(run));
}

/* ---- tackle -------------------------------------------------------------- */

static void add_all(tkl_ads *ads, const world *w)
{
    static char names[ADS][16];
    static tkl_ad items[ADS];
    for (int i = 0; i < ADS; i++) {
        sprintf(names[i], "%d", i);
        double views = w->ads[i].type == TKL_ADS_CPM ? 1000 : 1;
        items[i] = (tkl_ad){.name = tkl_str(names[i]),
                            .type = w->ads[i].type,
                            .price_micros = llround(w->ads[i].price * views * 1000) * 1000,
                            .locations = &here,
                            .location_count = 1};
    }
    check(tkl_ads_add(ads, items, ADS));
}

static void show_page(tkl_ads *ads, world *w)
{
    tkl_ads_page page = {.locations = &here, .location_count = 1};
    tkl_ads_choice *choice;
    bool acted;
    check(tkl_ads_target(ads, &page, &choice));
    if (show_ad(w, atoi(choice->ad.data), &acted))
        check(tkl_ads_click(ads, choice->target));
    if (acted)
        check(tkl_ads_action(ads, choice->target));
    tkl_ads_choice_free(choice);
}

static double share_of_tackle(const bench_run *run, make_ad *make, uint64_t round)
{
    static bench_shelf *shelf;
    world w = make_world(make, round);
    tkl_ads *ads;
    if (!shelf)
        shelf = shelf_open();
    check(tkl_ads_open(shelf->client, tkl_str("revenue"), NULL, &ads));
    add_all(ads, &w);
    for (int i = 0; i < views_of(run); i++)
        show_page(ads, &w);
    check(tkl_ads_drop(ads));
    tkl_ads_close(ads);
    return w.earned / (w.best * views_of(run));
}

/* ---- Cases --------------------------------------------------------------- */

/* Three contenders for each kind of ads; each counts its rounds, so that all have the same ads. */
#define KIND(kind)                                                              \
    static double kind##_greedy(const bench_run *run)                           \
    {                                                                           \
        static uint64_t round;                                                  \
        return share_of_reference(run, make_##kind, ++round, choose_greedily);  \
    }                                                                           \
    static double kind##_sampled(const bench_run *run)                          \
    {                                                                           \
        static uint64_t round;                                                  \
        return share_of_reference(run, make_##kind, ++round, choose_by_sample); \
    }                                                                           \
    static double kind##_tackle(const bench_run *run)                           \
    {                                                                           \
        static uint64_t round;                                                  \
        return share_of_tackle(run, make_##kind, ++round);                      \
    }

KIND(even)
KIND(uneven)
KIND(acting)
KIND(mixed)

#define CASE(title, kind)                                                                         \
    {                                                                                             \
        .name = "ads revenue of 200 ads, " title, .unit = "of the best possible", .contenders = { \
            {.name = "tackle", .measure = kind##_tackle},                                         \
            {.name = "epsilon-greedy", .role = BENCH_YARDSTICK, .measure = kind##_greedy},        \
            {.name = "Thompson sampling", .role = BENCH_YARDSTICK, .measure = kind##_sampled}     \
        }                                                                                         \
    }

static const bench_case cases[] = {
    CASE("cpc, one price", even),
    CASE("cpc, all prices", uneven),
    CASE("cpa", acting),
    CASE("cpm, cpc, cpa", mixed),
    {.name = NULL},
};

const bench_component revenue_bench = {"revenue", cases};
