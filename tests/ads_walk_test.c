/* SPDX-License-Identifier: MIT
 *
 * Ads: walks over the lists of the largest page.
 */
#include "support/adverts.h"
#include "support/fixture.h"

#define PLACES "p0,p1,p2,p3,p4,p5,p6,p7"
#define OLD    "age=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20" /* too many for a gate */
#define ADS    24
#define SEEN   37 /* words that count at 8 locations */

/* "w0 w1 ...": so many words from the first on, of 100. */
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
    const char *line = strstr(text, "cmdstat_evalsha:");
    assert_non_null(line);
    double us = strtod(strstr(line, "usec=") + 5, NULL);
    free(text);
    return us;
}

/* Server time of a target, for each of its trips. */
static double time_of(fixture *f, tkl_ads *ads, const char *age, const char *text,
                      tkl_ads_choice **choice)
{
    double before = script_time(f->client);
    assert_ok(target_code(ads, PLACES, age, text, choice));
    return (script_time(f->client) - before) / (double)(*choice)->trips;
}

/* All ads are in the way, and in hundreds of lists: each is looked at once or twice, and no step is
 * much longer than a target that finds its ad at once. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(steps_over_the_most_lists_are_short),
        TEST(words_times_locations_of_a_page_are_at_most_300),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
