/* SPDX-License-Identifier: MIT
 *
 * Ads against a naive ad server in memory: random adds, removals, targets, clicks, actions and
 * hours that pass; every answer compared, and at intervals all that was counted. The naive one
 * looks at every ad, every time, and tries nothing.
 */
#include <math.h>
#include <tackle/ads.h>

#include "support/call.h"
#include "support/timed.h"

enum { ADS = 40, WORDS = 12, PLACES = 5, KINDS = 3, VALUES = 4, TARGETS = 64, STEPS = 8000 };

static unsigned seed;

static unsigned draw(unsigned below)
{
    seed = seed * 1103515245U + 12345U;
    return (seed >> 16) % below;
}

/* ---- The naive ad server ------------------------------------------------- */

typedef struct counts {
    int64_t views, clicks, actions, spent;
} counts;

typedef struct model_ad {
    bool there;
    int serial;
    tkl_ads_type type;
    int64_t price, budget;
    unsigned places;         /* bits */
    unsigned accepts[KINDS]; /* bits of values; 0: the kind does not matter */
    unsigned words;          /* bits */
    counts sum, of_word[WORDS];
    double base, ecpm[WORDS];
    int64_t day, today;
    int64_t turn; /* 0: none */
} model_ad;

typedef struct model_target {
    char id[64]; /* "": none */
    int ad, serial;
    tkl_ads_type type;
    int64_t price;
    unsigned words;
    bool clicked, acted;
} model_target;

typedef struct page {
    unsigned places, words;
    int value[KINDS]; /* -1: the viewer does not say */
} page;

static model_ad ads[ADS];
static model_target targets[TARGETS];
static int64_t total_views[4], total_events[4];
static int serials;
static int64_t turns;
static int64_t smoothing;
static int64_t now; /* the server's clock, about */

static double rate_of(int64_t views, int64_t events, double expected)
{
    if (views == 0)
        return expected;
    if (smoothing == 0)
        return (double)events / (double)views;
    return ((double)events + expected * (double)smoothing) / (double)(views + smoothing);
}

static double average(tkl_ads_type type)
{
    double views = (double)total_views[type], events = (double)total_events[type];
    if (smoothing)
        return (events + 1) / (views + 1000);
    return views > 0 && events > 0 ? events / views : 1.0 / 1000;
}

static int64_t events_of(const counts *c, tkl_ads_type type)
{
    return type == TKL_ADS_CPC ? c->clicks : c->actions;
}

static void compute(model_ad *ad)
{
    double price = (double)ad->price, rate = 0;
    if (ad->type == TKL_ADS_CPM) {
        ad->base = price / 1000000;
    } else {
        rate = rate_of(ad->sum.views, events_of(&ad->sum, ad->type), average(ad->type));
        ad->base = price * rate / 1000;
    }
    for (int w = 0; w < WORDS; w++) {
        const counts *c = &ad->of_word[w];
        ad->ecpm[w] = ad->type == TKL_ADS_CPM
                          ? ad->base
                          : price * rate_of(c->views, events_of(c, ad->type), rate) / 1000;
    }
}

static int64_t cost_of(const model_ad *ad)
{
    return ad->type == TKL_ADS_CPM ? ad->price / 1000 : ad->price;
}

static int64_t spent_today(const model_ad *ad)
{
    return ad->day == now / (24 * HOUR_MS) ? ad->today : 0;
}

static bool is_open(const model_ad *ad)
{
    int64_t hour = now % (24 * HOUR_MS) / HOUR_MS, spent = spent_today(ad);
    return ad->budget == 0 ||
           (spent + cost_of(ad) <= ad->budget && spent * 24 < ad->budget * (hour + 1));
}

static bool fits(const model_ad *ad, const page *p)
{
    if (!ad->there || !(ad->places & p->places) || !is_open(ad))
        return false;
    for (int k = 0; k < KINDS; k++)
        if (ad->accepts[k] && (p->value[k] < 0 || !(ad->accepts[k] >> p->value[k] & 1)))
            return false;
    return true;
}

static double score_of(const model_ad *ad, const page *p)
{
    double least = INFINITY, most = -INFINITY;
    for (int w = 0; w < WORDS; w++) {
        if (ad->words & p->words & 1U << w) {
            least = fmin(least, ad->ecpm[w]);
            most = fmax(most, ad->ecpm[w]);
        }
    }
    return least <= most ? (least + most) / 2 : ad->base;
}

static void pay(model_ad *ad, unsigned words, int64_t cost)
{
    if (ad->budget) {
        int64_t spent = spent_today(ad);
        cost = cost > ad->budget - spent ? ad->budget - spent : cost;
        cost = cost < 0 ? 0 : cost;
        ad->day = now / (24 * HOUR_MS);
        ad->today = spent + cost;
    }
    ad->sum.spent += cost;
    for (int w = 0; w < WORDS; w++)
        if (words >> w & 1)
            ad->of_word[w].spent += cost;
}

/* ---- Adding and removing ------------------------------------------------- */

static tkl_bytes names_of(const char *letter, unsigned bits, char texts[][8], tkl_bytes *list,
                          size_t *count)
{
    *count = 0;
    for (unsigned i = 0; i < 32; i++) {
        if (bits >> i & 1) {
            sprintf(texts[*count], "%s%u", letter, i);
            list[*count] = tkl_str(texts[*count]);
            (*count)++;
        }
    }
    return *count ? list[0] : tkl_str("");
}

static void text_of(unsigned words, char *text)
{
    *text = 0;
    for (int w = 0; w < WORDS; w++)
        if (words >> w & 1)
            sprintf(text + strlen(text), "%sWord%d", *text ? ", " : "", w);
}

static void draw_terms(model_ad *ad)
{
    static const int64_t prices[] = {0, 1000, 250000, 2000000, 3000000, 7000};
    ad->type = (tkl_ads_type)(1 + draw(3));
    ad->price = prices[draw(6)];
    ad->budget = draw(3) ? 0 : ad->price * (1 + draw(30)) + 1000;
    ad->places = 1 + draw((1U << PLACES) - 1);
    for (int k = 0; k < KINDS; k++)
        ad->accepts[k] = draw(3) ? 0 : 1 + draw((1U << VALUES) - 1);
    ad->words = draw(1U << WORDS) & draw(1U << WORDS);
}

static void send_ad(tkl_ads *set, int i)
{
    const model_ad *ad = &ads[i];
    char name[16], text[WORDS * 10], places[PLACES][8], kinds[KINDS][8], values[KINDS][VALUES][8];
    tkl_bytes place_list[PLACES], value_list[KINDS][VALUES];
    tkl_ads_need needs[KINDS];
    tkl_ad item = {.type = ad->type, .price_micros = ad->price, .budget_micros = ad->budget};
    sprintf(name, "ad %d", i);
    item.name = tkl_str(name);
    names_of("Place", ad->places, places, place_list, &item.location_count);
    item.locations = place_list;
    for (int k = 0; k < KINDS; k++) {
        if (!ad->accepts[k])
            continue;
        sprintf(kinds[k], "kind%d", k);
        tkl_ads_need *need = &needs[item.need_count++];
        *need = (tkl_ads_need){.kind = tkl_str(kinds[k]), .values = value_list[k]};
        names_of("v", ad->accepts[k], values[k], value_list[k], &need->count);
    }
    item.needs = needs;
    text_of(ad->words, text);
    item.text = tkl_str(text);
    assert_ok(tkl_ads_add(set, &item, 1));
}

static void step_add(tkl_ads *set)
{
    int i = (int)draw(ADS);
    model_ad *ad = &ads[i];
    if (!ad->there)
        *ad = (model_ad){.there = true, .serial = ++serials};
    draw_terms(ad);
    for (int w = 0; w < WORDS; w++)
        if (!(ad->words >> w & 1))
            ad->of_word[w] = (counts){0};
    compute(ad);
    ad->turn = ad->type == TKL_ADS_CPM ? 0 : ++turns;
    send_ad(set, i);
}

static void step_remove(tkl_ads *set)
{
    int i = (int)draw(ADS);
    char name[16];
    int64_t removed;
    sprintf(name, "ad %d", i);
    tkl_bytes bytes = tkl_str(name);
    assert_ok(tkl_ads_remove(set, &bytes, 1, &removed));
    assert_int_equal(removed, ads[i].there);
    ads[i].there = false;
}

/* ---- Targets ------------------------------------------------------------- */

static page draw_page(void)
{
    page p = {.places = 1 + draw((1U << PLACES) - 1), .words = draw(1U << WORDS)};
    if (draw(4) == 0)
        p.words = 0;
    for (int k = 0; k < KINDS; k++)
        p.value[k] = (int)draw(VALUES + 1) - 1;
    return p;
}

static int ask(tkl_ads *set, const page *p, const char *explained, tkl_ads_choice **choice)
{
    char text[WORDS * 10], places[PLACES][8], kinds[KINDS][8], values[KINDS][8];
    tkl_bytes list[PLACES];
    tkl_ads_trait traits[KINDS];
    tkl_ads_page asked = {.locations = list, .traits = traits};
    names_of("place", p->places, places, list, &asked.location_count);
    for (int k = 0; k < KINDS; k++) {
        if (p->value[k] < 0)
            continue;
        sprintf(kinds[k], "Kind%d", k);
        sprintf(values[k], "V%d", p->value[k]);
        traits[asked.trait_count++] =
            (tkl_ads_trait){.kind = tkl_str(kinds[k]), .value = tkl_str(values[k])};
    }
    text_of(p->words, text);
    asked.text = tkl_str(text);
    return explained ? tkl_ads_explain(set, &asked, tkl_str(explained), choice)
                     : tkl_ads_target(set, &asked, choice);
}

static unsigned check_matches(const model_ad *ad, const page *p, const tkl_ads_choice *c)
{
    unsigned words = 0;
    for (size_t i = 0; i < c->count; i++) {
        int w = -1;
        assert_int_equal(sscanf(c->matches[i].word.data, "word%d", &w), 1);
        words |= 1U << w;
        assert_true(c->matches[i].bonus == ad->ecpm[w] - ad->base);
    }
    assert_int_equal(words, ad->words & p->words);
    return words;
}

/* The ad whose turn it is. */
static void renew(void)
{
    model_ad *first = NULL;
    for (int i = 0; i < ADS; i++)
        if (ads[i].there && ads[i].turn && (!first || ads[i].turn < first->turn))
            first = &ads[i];
    if (!first)
        return;
    compute(first);
    first->turn = ++turns;
}

static void record_view(model_ad *ad, unsigned words)
{
    ad->sum.views++;
    total_views[ad->type]++;
    for (int w = 0; w < WORDS; w++)
        ad->of_word[w].views += words >> w & 1;
    if (ad->type == TKL_ADS_CPM)
        pay(ad, words, cost_of(ad));
    if (ad->sum.views % 100 == 0)
        compute(ad);
    else if (ad->type != TKL_ADS_CPM && total_views[ad->type] % 10 == 0)
        renew();
}

static void step_target(tkl_ads *set)
{
    page p = draw_page();
    tkl_ads_choice *c;
    double best = -1;
    for (int i = 0; i < ADS; i++)
        if (fits(&ads[i], &p))
            best = fmax(best, score_of(&ads[i], &p));
    int rc = ask(set, &p, NULL, &c);
    if (best < 0) {
        assert_code(rc, TKL_EMPTY);
        return;
    }
    assert_ok(rc);
    int i = atoi(c->ad.data + 3);
    model_ad *ad = &ads[i];
    assert_true(c->score == best);
    assert_true(fits(ad, &p));
    assert_true(score_of(ad, &p) == best);
    assert_true(c->base == ad->base);
    unsigned words = check_matches(ad, &p, c);
    record_view(ad, words);
    model_target *t = &targets[draw(TARGETS)];
    *t = (model_target){
        .ad = i, .serial = ad->serial, .type = ad->type, .price = ad->price, .words = words};
    sprintf(t->id, TKL_FMT, TKL_ARG(c->target));
    tkl_ads_choice_free(c);
}

static void step_event(tkl_ads *set, bool action)
{
    model_target *t = &targets[draw(TARGETS)];
    if (!t->id[0])
        return;
    model_ad *ad = &ads[t->ad];
    bool *done = action ? &t->acted : &t->clicked;
    int rc = action ? tkl_ads_action(set, tkl_str(t->id)) : tkl_ads_click(set, tkl_str(t->id));
    if (!ad->there || ad->serial != t->serial) {
        assert_code(rc, TKL_NOTFOUND);
        return;
    }
    if (*done) {
        assert_code(rc, TKL_EXISTS);
        return;
    }
    assert_ok(rc);
    *done = true;
    unsigned words = t->words & ad->words;
    for (int w = 0; w < WORDS; w++) {
        const counts *c = &ad->of_word[w];
        if ((action ? c->actions : c->clicks) >= c->views)
            words &= ~(1U << w);
    }
    ad->sum.clicks += !action;
    ad->sum.actions += action;
    for (int w = 0; w < WORDS; w++) {
        ad->of_word[w].clicks += !action && (words >> w & 1);
        ad->of_word[w].actions += action && (words >> w & 1);
    }
    if (t->type == (action ? TKL_ADS_CPA : TKL_ADS_CPC)) {
        total_events[t->type]++;
        pay(ad, words, t->price);
    }
    compute(ad);
}

/* ---- All that was counted ------------------------------------------------ */

static void compare_counts(const tkl_ads_counts *got, const counts *expected, double ecpm)
{
    assert_int_equal(got->views, expected->views);
    assert_int_equal(got->clicks, expected->clicks);
    assert_int_equal(got->actions, expected->actions);
    assert_int_equal(got->spent_micros, expected->spent);
    assert_true(got->ecpm == ecpm);
    assert_true(got->bound == ecpm);
}

static void compare_ad(tkl_ads *set, int i)
{
    const model_ad *ad = &ads[i];
    char name[16];
    tkl_ads_info *info;
    sprintf(name, "ad %d", i);
    int rc = tkl_ads_show(set, tkl_str(name), &info);
    assert_code(rc, ad->there ? TKL_OK : TKL_NOTFOUND);
    if (!ad->there)
        return;
    assert_int_equal(info->price_micros, ad->price);
    assert_int_equal(info->budget_micros, ad->budget);
    assert_int_equal(info->spent_today_micros, ad->budget ? spent_today(ad) : 0);
    assert_int_equal(info->until_ms > 0, !is_open(ad));
    compare_counts(&info->counts, &ad->sum, ad->base);
    assert_int_equal(info->location_count, __builtin_popcount(ad->places));
    assert_int_equal(info->word_count, __builtin_popcount(ad->words));
    for (size_t w = 0; w < info->word_count; w++) {
        int number = atoi(info->words[w].word.data + 4);
        assert_true(ad->words >> number & 1);
        compare_counts(&info->words[w].counts, &ad->of_word[number], ad->ecpm[number]);
    }
    tkl_ads_info_free(info);
}

static void compare_all(tkl_ads *set)
{
    tkl_ads_lines *lines;
    size_t there = 0;
    for (int i = 0; i < ADS; i++) {
        compare_ad(set, i);
        there += ads[i].there;
    }
    assert_ok(tkl_ads_report(set, &lines));
    assert_int_equal(lines->count, there);
    for (size_t i = 1; i < lines->count; i++)
        assert_true(lines->items[i - 1].counts.ecpm >= lines->items[i].counts.ecpm);
    tkl_ads_lines_free(lines);
}

/* When all ads have gone, nothing of them is left. */
static void remove_all(tkl_client *client, tkl_ads *set)
{
    static const char *const parts[] = {"ads", "values", "counts", "words", "index",
                                        "due", "heads",  "gates",  "turn"};
    for (int i = 0; i < ADS; i++) {
        char name[16];
        sprintf(name, "ad %d", i);
        tkl_bytes bytes = tkl_str(name);
        assert_ok(tkl_ads_remove(set, &bytes, 1, NULL));
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *key = test_format("tackle:ads:{set}:%s", parts[i]);
        assert_int_equal(call_int(client, "EXISTS", key, NULL), 0);
        free(key);
    }
}

static void step_explain(tkl_ads *set)
{
    page p = draw_page();
    int i = (int)draw(ADS);
    char name[16];
    tkl_ads_choice *c;
    sprintf(name, "ad %d", i);
    int rc = ask(set, &p, name, &c);
    assert_code(rc, ads[i].there ? TKL_OK : TKL_NOTFOUND);
    if (rc != TKL_OK)
        return;
    assert_true(c->score == score_of(&ads[i], &p));
    assert_int_equal(c->location.len > 0, (ads[i].places & p.places) != 0);
    assert_int_equal(c->location.len > 0 && c->unmet.len == 0 && c->until_ms == 0,
                     fits(&ads[i], &p));
    tkl_ads_choice_free(c);
}

/* ---- Steps --------------------------------------------------------------- */

static void one_step(timed_server *timed, tkl_ads *set)
{
    unsigned chance = draw(1000);
    if (chance < 60)
        step_add(set);
    else if (chance < 70)
        step_remove(set);
    else if (chance < 700)
        step_target(set);
    else if (chance < 850)
        step_event(set, false);
    else if (chance < 960)
        step_event(set, true);
    else if (chance < 990)
        step_explain(set);
    else {
        int64_t hours = 1 + draw(3);
        timed_shift(timed, hours * HOUR_MS);
        now += hours * HOUR_MS;
    }
}

static void run(int64_t how, unsigned from)
{
    timed_server *timed = timed_start(NULL);
    tkl_client *client = test_open(timed->server->url, NULL);
    tkl_ads *set;
    memset(ads, 0, sizeof ads);
    memset(targets, 0, sizeof targets);
    memset(total_views, 0, sizeof total_views);
    memset(total_events, 0, sizeof total_events);
    turns = 0;
    smoothing = how == TKL_NONE ? 0 : how;
    seed = from;
    now = INT64_C(1767225600000) + HOUR_MS / 2; /* 2026-01-01 00:30 */
    timed_set(timed, now);
    /* Targets are clicked hours later. */
    tkl_ads_options options = {.smoothing = how, .explore = TKL_NONE, .target_ms = 1000 * HOUR_MS};
    assert_ok(tkl_ads_open(client, tkl_str("set"), &options, &set));
    for (int i = 0; i < STEPS; i++) {
        one_step(timed, set);
        if (i % 2000 == 1999)
            compare_all(set);
    }
    remove_all(client, set);
    tkl_ads_close(set);
    tkl_close(client);
    timed_end(timed);
}

static void smoothed_rates(void **state)
{
    (void)state;
    run(1000, 7);
}

static void hardly_smoothed_rates(void **state)
{
    (void)state;
    run(3, 8);
}

static void plain_rates(void **state)
{
    (void)state;
    run(TKL_NONE, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smoothed_rates),
        cmocka_unit_test(hardly_smoothed_rates),
        cmocka_unit_test(plain_rates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
