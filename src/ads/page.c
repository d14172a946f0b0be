/* SPDX-License-Identifier: MIT
 *
 * Ads: prepares a page for the scripts.
 */
#include "ads/ads.h"
#include "core/error.h"
#include "core/options.h"

/* Adds a location, unless the list has it. */
static int add_location(tkl_bytes name, tkl__ads_list *list)
{
    int rc = tkl__ads_fold("location", name, list);
    if (rc == TKL_OK && tkl__ads_is_repeated(list, 0))
        tkl__ads_list_cut(list, list->count - 1);
    return rc;
}

/* Adds the locations of an address. Names in a table that cannot be locations are left out. */
static int add_place(const tkl_ip_place *place, tkl__ads_list *list)
{
    const tkl_bytes names[] = {place->city, place->region, place->country, place->country_code};
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < sizeof names / sizeof *names; i++) {
        rc = names[i].len ? add_location(names[i], list) : TKL_OK;
        if (rc == TKL_EINVAL) {
            tkl__begin();
            rc = TKL_OK;
        }
    }
    return rc;
}

static int look_up(const tkl_ads_page *page, tkl__ads_list *list)
{
    tkl_ip_answers *answers;
    int rc = tkl_ip_lookup(page->table, &page->address, 1, &answers);
    if (rc == TKL_OK && answers->items[0].known)
        rc = add_place(&answers->items[0].place, list);
    tkl_ip_answers_free(answers);
    return rc;
}

static int add_locations(const tkl_ads_page *page, tkl__ads_list *list)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < page->location_count; i++)
        rc = add_location(page->locations[i], list);
    if (rc == TKL_OK && page->table)
        rc = look_up(page, list);
    if (rc == TKL_OK && list->count > TKL_ADS_PAGE_LOCATIONS_MAX)
        rc = tkl__fail(TKL_EINVAL, "a page has at most %d locations", TKL_ADS_PAGE_LOCATIONS_MAX);
    return rc;
}

static int add_traits(const tkl_ads_page *page, tkl__ads_list *list)
{
    tkl__ads_list kinds = {0};
    int rc = TKL_OK;
    if (page->trait_count > TKL_ADS_PAGE_TRAITS_MAX)
        return tkl__fail(TKL_EINVAL, "a viewer has at most %d parameters", TKL_ADS_PAGE_TRAITS_MAX);
    for (size_t i = 0; rc == TKL_OK && i < page->trait_count; i++) {
        const tkl_ads_trait *trait = &page->traits[i];
        rc = TKL__CHECK_RESERVED(trait);
        if (rc == TKL_OK)
            rc = tkl__ads_fold("kind", trait->kind, &kinds);
        if (rc == TKL_OK && tkl__ads_is_repeated(&kinds, 0))
            rc = tkl__fail(TKL_EINVAL, "the viewer has two values of one kind");
        if (rc == TKL_OK)
            rc = tkl__ads_fold("kind", trait->kind, list);
        if (rc == TKL_OK)
            rc = tkl__ads_fold("value", trait->value, list);
    }
    tkl__ads_list_free(&kinds);
    return rc;
}

/* Returns how many words of the page are used: each word is looked up at each location. */
static size_t words_wanted(const tkl__ads_asked *asked)
{
    size_t places = asked->locations.count ? asked->locations.count : 1;
    size_t room = TKL_ADS_PAGE_LISTS_MAX / places;
    return room < TKL_ADS_PAGE_WORDS_MAX ? room : TKL_ADS_PAGE_WORDS_MAX;
}

int tkl__ads_ask(const tkl_ads_page *page, tkl__ads_asked *asked)
{
    *asked = (tkl__ads_asked){0};
    tkl__begin();
    int rc = TKL__CHECK_RESERVED(page);
    if (rc == TKL_OK)
        rc = add_locations(page, &asked->locations);
    if (rc == TKL_OK)
        rc = add_traits(page, &asked->traits);
    if (rc == TKL_OK)
        rc = tkl__ads_words(page->text, words_wanted(asked), &asked->words, NULL);
    return rc;
}

void tkl__ads_asked_free(tkl__ads_asked *asked)
{
    tkl__ads_list_free(&asked->locations);
    tkl__ads_list_free(&asked->traits);
    tkl__ads_list_free(&asked->words);
}

void tkl__ads_put_page(tkl__args *args, const tkl__ads_asked *asked)
{
    tkl__args_int(args, (int64_t)asked->locations.count);
    tkl__args_int(args, (int64_t)(asked->traits.count / 2));
    tkl__ads_put(args, &asked->locations);
    tkl__ads_put(args, &asked->traits);
    tkl__ads_put(args, &asked->words);
}
