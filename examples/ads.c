/* SPDX-License-Identifier: MIT
 *
 * A day of a small site in a second: ads compete for its pages, readers of some pages like one ad
 * better than others do, and the ads that are shown follow their clicks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tackle/tackle.h>

static void stop_on(int rc)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "%s\n", tkl_errmsg());
    exit(1);
}

static void add_ads(tkl_ads *ads, const tkl_bytes *berlin)
{
    const tkl_ad items[] = {
        {.name = tkl_str("shoes"),
         .type = TKL_ADS_CPC,
         .price_micros = 250000, /* 0.25 a click */
         .locations = berlin,
         .location_count = 1,
         .text = tkl_str("running shoes for a rainy evening")},
        {.name = tkl_str("coffee"),
         .type = TKL_ADS_CPC,
         .price_micros = 250000,
         .locations = berlin,
         .location_count = 1,
         .text = tkl_str("dark coffee for quiet hours")},
        {.name = tkl_str("opera"),
         .type = TKL_ADS_CPM,
         .price_micros = 150000, /* 0.15 for 1000 views */
         .locations = berlin,
         .location_count = 1,
         .text = tkl_str("tonight at the opera")},
    };
    stop_on(tkl_ads_add(ads, items, sizeof items / sizeof *items));
}

/* Readers of the running page click the shoes now and then; on the other page they like coffee. */
static int likes(tkl_bytes ad, int page, int visitor)
{
    int shoes = ad.len == 5 && ad.data[0] == 's';
    return page == 0 ? shoes && visitor % 50 == 0 : !shoes && visitor % 40 == 0;
}

static void visit_page(tkl_ads *ads, const tkl_bytes *berlin, int page, int visitor)
{
    static const char *const texts[] = {"Running along the river", "A rainy evening at home"};
    tkl_ads_page asked = {.locations = berlin, .location_count = 1, .text = tkl_str(texts[page])};
    tkl_ads_choice *choice;
    int rc = tkl_ads_target(ads, &asked, &choice);
    stop_on(rc);
    if (rc == TKL_OK && likes(choice->ad, page, visitor))
        stop_on(tkl_ads_click(ads, choice->target));
    tkl_ads_choice_free(choice);
}

static void report_ads(tkl_ads *ads)
{
    tkl_ads_lines *lines;
    tkl_ads_words *words;
    stop_on(tkl_ads_report(ads, &lines));
    for (size_t i = 0; i < lines->count; i++)
        printf(TKL_FMT ": %lld views, %lld clicks, earns %.2f for 1000 views\n",
               TKL_ARG(lines->items[i].name), (long long)lines->items[i].counts.views,
               (long long)lines->items[i].counts.clicks, lines->items[i].counts.ecpm);
    tkl_ads_lines_free(lines);
    stop_on(tkl_ads_report_words(ads, &words));
    for (size_t i = 0; i < words->count; i++)
        printf("  " TKL_FMT " %+.2f\n", TKL_ARG(words->items[i].word), words->items[i].bonus);
    tkl_ads_words_free(words);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    tkl_bytes berlin = tkl_str("Berlin");
    tkl_client *client;
    tkl_ads *ads;
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    stop_on(tkl_ads_open(client, tkl_str("site"), NULL, &ads));
    add_ads(ads, &berlin);
    for (int visitor = 0; visitor < 6000; visitor++)
        visit_page(ads, &berlin, visitor % 2, visitor / 2);
    report_ads(ads);
    tkl_ads_close(ads);
    tkl_close(client);
}
