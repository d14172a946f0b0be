/* SPDX-License-Identifier: MIT
 *
 * Ads: walks over the lists of the largest page.
 */
#include <unistd.h>

#include "support/adverts.h"
#include "support/fixture.h"
#include "support/process.h"

#define PLACES "p0,p1,p2,p3,p4,p5,p6,p7"
#define OLD    "age=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20" /* too many for a gate */
#define ADS    24
#define SEEN   37 /* words that count at 8 locations */

/* Writes "w0 w1 ...": `count` of 100 words, from the first on. */
static void write_words(char *text, int first, int count)
{
    *text = 0;
    for (int i = 0; i < count; i++)
        text += sprintf(text, "w%d ", (first + i) % TKL_ADS_PAGE_WORDS_MAX);
}

/* An ad all of whose words are better than it is: seen once without them, and clicked with them. */
static void add_liked(tkl_ads *ads, int number)
{
    char name[16], places[64], text[256];
    sprintf(name, "ad%d", number);
    sprintf(places, PLACES ",only%d", number);
    write_words(text, number % (SEEN - 28), 28);
    add_ad(ads, (advert){name, TKL_ADS_CPC, 1, .locations = places, .needs = OLD, .text = text});
    tkl_ads_choice *c;
    const char *own = strrchr(places, ',') + 1;
    assert_ok(target_code(ads, own, "age=1", "", &c));
    tkl_ads_choice_free(c);
    assert_ok(target_code(ads, own, "age=1", text, &c));
    assert_int_equal(c->count, 28);
    assert_ok(tkl_ads_click(ads, c->target));
    tkl_ads_choice_free(c);
}

/* Microseconds that the server has spent in scripts. */
static double script_time(tkl_client *client)
{
    char *text = call_text(client, "INFO", "commandstats", NULL);
    const char *line = strstr(text, "cmdstat_fcall:");
    assert_non_null(line);
    double us = strtod(strstr(line, "usec=") + 5, NULL);
    free(text);
    return us;
}

/* Server time of a target, for each of its trips: the least of several, as the machine may be busy.
 */
static double time_of(fixture *f, tkl_ads *ads, const char *age, const char *text,
                      tkl_ads_choice **choice)
{
    double least = 0;
    *choice = NULL;
    for (int i = 0; i < 5; i++) {
        tkl_ads_choice_free(*choice);
        double before = script_time(f->client);
        assert_ok(target_code(ads, PLACES, age, text, choice));
        double time = (script_time(f->client) - before) / (double)(*choice)->trips;
        least = i == 0 || time < least ? time : least;
    }
    return least;
}

/* All ads must be passed, and are in hundreds of lists: a walk looks at each once or twice, and no
 * step is much longer than a target that finds its ad at once. */
static void steps_over_the_most_lists_are_short(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, &(tkl_ads_options){.timeout_ms = 60000});
    char text[2000];
    for (int i = 0; i < ADS; i++)
        add_liked(ads, i);
    add_ad(ads, (advert){"low", TKL_ADS_CPM, 0.001, .locations = "p7"});
    write_words(text, 0, TKL_ADS_PAGE_WORDS_MAX);
    tkl_ads_choice *near, *far;
    double first = time_of(f, ads, "age=2", text, &near);
    assert_int_equal(near->trips, 1);
    double step = time_of(f, ads, "age=21", text, &far);
    assert_memory_equal(far->ad.data, "low", 3);
    assert_in_range(far->trips, 2, ADS);
    assert_in_range(far->looked, ADS, 3 * ADS);
    assert_true(step < 20 * first);
    tkl_ads_choice_free(near);
    tkl_ads_choice_free(far);
    tkl_ads_close(ads);
}

static void words_times_locations_of_a_page_are_at_most_300(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, NULL);
    char text[2000];
    add_ad(ads, (advert){"a", TKL_ADS_CPM, 1, .locations = "p0", .text = "w36 w37 w99"});
    write_words(text, 0, TKL_ADS_PAGE_WORDS_MAX);
    static const struct {
        const char *places;
        size_t count;
    } pages[] = {{"p0", 3}, {"p0,p1,p2", 3}, {"p0,p1,p2,p3", 2}, {PLACES, 1}};
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        tkl_ads_choice *c;
        assert_ok(target_code(ads, pages[i].places, NULL, text, &c));
        assert_int_equal(c->count, pages[i].count);
        tkl_ads_choice_free(c);
    }
    tkl_ads_close(ads);
}

/* ---- Words that the index has no room for -------------------------------- */

enum { CROWD = 8, CROWD_WORDS = 60 };

static unsigned draw(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245U + 12345U;
    return (*seed >> 16) % below;
}

/* Different words of CROWD_WORDS. */
static void draw_words(unsigned *seed, unsigned count, char *text)
{
    unsigned first = draw(seed, CROWD_WORDS);
    *text = 0;
    for (unsigned i = 0; i < count; i++)
        text += sprintf(text, "w%u ", (first + i * 7) % CROWD_WORDS);
}

/* The best of all ads, each looked at by itself. */
static double best_rank(tkl_ads *ads, const char *places, const char *text)
{
    double best = 0;
    for (int i = 0; i < CROWD; i++) {
        char *name = test_format("ad%d", i);
        tkl_ads_choice *c = explain_page(ads, name, places, NULL, text);
        best = c->rank > best ? c->rank : best;
        tkl_ads_choice_free(c);
        free(name);
    }
    return best;
}

/* An ad learns at a place of its own: with words it is liked, more or less. */
static void add_learned(tkl_ads *ads, int number, unsigned *seed)
{
    char name[16], own[16], places[64], text[TKL_ADS_WORDS_MAX * 5];
    sprintf(name, "ad%d", number);
    sprintf(own, "only%d", number);
    sprintf(places, PLACES ",%s", own);
    draw_words(seed, TKL_ADS_WORDS_MAX, text);
    add_ad(ads, (advert){name, TKL_ADS_CPC, 1, .locations = places, .text = text});
    for (unsigned i = 0; i < 80; i++) {
        tkl_ads_choice *c;
        draw_words(seed, i % 3, text);
        assert_ok(target_code(ads, own, NULL, text, &c));
        if (c->count && draw(seed, 3))
            assert_ok(tkl_ads_click(ads, c->target));
        tkl_ads_choice_free(c);
    }
}

/* 40 words at 9 locations: the index has seven of them, the ad's own place covers the others. */
static void the_best_is_found(fixture *f, int64_t explore)
{
    tkl_ads *ads = open_ads(f->client, &(tkl_ads_options){.smoothing = 5, .explore = explore});
    unsigned seed = 3;
    for (int i = 0; i < CROWD; i++)
        add_learned(ads, i, &seed);
    for (int i = 0; i < 150; i++) {
        char text[64];
        const char *places = draw(&seed, 2) ? "p3" : "p1,p7";
        draw_words(&seed, draw(&seed, 4), text);
        double best = best_rank(ads, places, text);
        tkl_ads_choice *c;
        assert_ok(target_code(ads, places, NULL, text, &c));
        assert_true(c->rank == best);
        assert_true(explore != TKL_NONE || c->score == c->rank);
        tkl_ads_choice_free(c);
    }
    assert_ok(tkl_ads_drop(ads));
    tkl_ads_close(ads);
}

static void words_that_are_not_in_the_index_count(void **state)
{
    the_best_is_found(*state, TKL_NONE);
    the_best_is_found(*state, 100);
}

/* ---- Ads that change while they are walked over -------------------------- */

enum { UNFIT = 1200 };

/* Its words are worth 20 and 0, so it is met first and has a score of 10 only. */
static void add_hot(fixture *f, tkl_ads *ads)
{
    advert hot = {"hot", TKL_ADS_CPC, 1, .locations = "Berlin,only", .text = "good bad"};
    add_ad(ads, hot);
    put_word(f->client, "views", "good", "hot", "1000000");
    put_word(f->client, "clicks", "good", "hot", "20000");
    put_word(f->client, "views", "bad", "hot", "1000000");
    add_ad(ads, hot); /* computes all */
}

/* Clicks it all the time; its score goes up a little each time. */
static int click_hot(void *arg)
{
    tkl_client *client;
    tkl_ads *ads;
    tkl_ads_choice *c;
    if (tkl_open(arg, NULL, &client) != TKL_OK ||
        tkl_ads_open(client, tkl_str("site"), NULL, &ads) != TKL_OK)
        return 1;
    while (target_code(ads, "only", NULL, "good bad", &c) == TKL_OK) {
        if (tkl_ads_click(ads, c->target) != TKL_OK)
            return 2;
        tkl_ads_choice_free(c);
    }
    return 3;
}

/* A walk does not begin again each time that the best so far gets better. */
static void a_walk_ends_while_its_best_is_clicked(void **state)
{
    fixture *f = *state;
    tkl_ads *ads = open_ads(f->client, &(tkl_ads_options){.smoothing = TKL_NONE});
    tkl_ads_choice *c;
    for (int i = 0; i < UNFIT; i++) {
        char name[16];
        sprintf(name, "no%d", i);
        add_ad(ads, (advert){name, TKL_ADS_CPM, 15, .needs = OLD});
    }
    add_hot(f, ads);
    assert_ok(target_code(ads, NULL, "age=99", "good bad", &c));
    assert_memory_equal(c->ad.data, "hot", 3);
    int64_t trips = c->trips;
    assert_in_range(trips, 4, UNFIT);
    tkl_ads_choice_free(c);
    pid_t clicker = process_fork(click_hot, f->server->url);
    usleep(100000);
    for (int i = 0; i < 3; i++) {
        assert_ok(target_code(ads, NULL, "age=99", "good bad", &c));
        assert_memory_equal(c->ad.data, "hot", 3);
        assert_in_range(c->trips, 4, 5 * trips);
        tkl_ads_choice_free(c);
    }
    kill(clicker, SIGKILL);
    process_wait(clicker);
    tkl_ads_close(ads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(steps_over_the_most_lists_are_short),
        TEST(words_that_are_not_in_the_index_count),
        TEST(a_walk_ends_while_its_best_is_clicked),
        TEST(words_times_locations_of_a_page_are_at_most_300),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
