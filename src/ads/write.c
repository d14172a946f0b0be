/* SPDX-License-Identifier: MIT
 *
 * Ads: adding and removing. A batch is one run of the script for each ad, all in one round trip.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "ads/ads.h"
#include "ads/scripts.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/options.h"

#define SMOOTHING 1000 /* default of a new set */

/* One ad, prepared for the script. */
typedef struct draft {
    tkl__args args;
    tkl__ads_list locations;
    tkl__ads_list needs; /* kind, value ..., kind, value ...: sorted by kind */
    size_t *values;      /* number of values of each kind */
    tkl__ads_list words;
} draft;

/* ---- Checking ------------------------------------------------------------ */

int tkl__ads_check_name(tkl_bytes name)
{
    if (name.len == 0 || name.len > TKL_ADS_NAME_MAX)
        return tkl__fail(TKL_EINVAL, "the name of an ad has 1 to %d bytes", TKL_ADS_NAME_MAX);
    return TKL_OK;
}

static int check_money(const tkl_ad *ad)
{
    int rc = tkl__check_number("price_micros", ad->price_micros, 0, TKL_ADS_PRICE_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("budget_micros", ad->budget_micros, 0, TKL_ADS_BUDGET_MAX);
    if (rc != TKL_OK)
        return rc;
    if (ad->type == TKL_ADS_CPM && ad->price_micros % 1000)
        return tkl__fail(TKL_EINVAL, "a price of 1000 views has at most three decimals: a view "
                                     "costs a thousandth of it");
    int64_t cost = ad->type == TKL_ADS_CPM ? ad->price_micros / 1000 : ad->price_micros;
    if (ad->budget_micros && ad->budget_micros < cost)
        return tkl__fail(TKL_EINVAL, "the budget of a day does not pay for one %s",
                         ad->type == TKL_ADS_CPM   ? "view"
                         : ad->type == TKL_ADS_CPC ? "click"
                                                   : "action");
    return TKL_OK;
}

static int check_values(const tkl_ad *ad)
{
    size_t room = TKL_ADS_VALUES_MAX;
    for (size_t i = 0; i < ad->need_count; i++) {
        if (ad->needs[i].count == 0)
            return tkl__fail(TKL_EINVAL, "a required kind has no value");
        if (ad->needs[i].count > room)
            return tkl__fail(TKL_EINVAL,
                             "the required kinds of an ad have at most %d values in all",
                             TKL_ADS_VALUES_MAX);
        room -= ad->needs[i].count;
    }
    return TKL_OK;
}

static int check_ad(const tkl_ad *ad)
{
    int rc = TKL__CHECK_RESERVED(ad);
    if (rc == TKL_OK)
        rc = tkl__ads_check_name(ad->name);
    if (rc == TKL_OK)
        rc = tkl__check_number("type", ad->type, TKL_ADS_CPM, TKL_ADS_CPA);
    if (rc == TKL_OK)
        rc = check_money(ad);
    if (rc == TKL_OK && (ad->location_count == 0 || ad->location_count > TKL_ADS_LOCATIONS_MAX))
        rc = tkl__fail(TKL_EINVAL, "an ad has 1 to %d locations", TKL_ADS_LOCATIONS_MAX);
    if (rc == TKL_OK && ad->need_count > TKL_ADS_KINDS_MAX)
        rc = tkl__fail(TKL_EINVAL, "an ad requires at most %d kinds", TKL_ADS_KINDS_MAX);
    return rc == TKL_OK ? check_values(ad) : rc;
}

/* ---- Drafts -------------------------------------------------------------- */

static int add_locations(const tkl_ad *ad, draft *d)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < ad->location_count; i++) {
        rc = tkl__ads_fold("location", ad->locations[i], &d->locations);
        if (rc == TKL_OK && tkl__ads_is_repeated(&d->locations, 0))
            tkl__ads_list_cut(&d->locations, d->locations.count - 1);
    }
    return rc;
}

static int add_need(const tkl_ads_need *need, tkl_bytes kind, draft *d, size_t *values)
{
    size_t from = d->needs.count;
    int rc = tkl__ads_fold("kind", kind, &d->needs);
    for (size_t i = 0; rc == TKL_OK && i < need->count; i++) {
        rc = tkl__ads_fold("value", need->values[i], &d->needs);
        if (rc == TKL_OK && tkl__ads_is_repeated(&d->needs, from + 1))
            tkl__ads_list_cut(&d->needs, d->needs.count - 1);
    }
    *values = d->needs.count - from - 1;
    return rc;
}

/* A need, and its kind in the stored form. */
typedef struct folded_need {
    const tkl_ads_need *need;
    tkl_bytes kind;
} folded_need;

static int by_kind(const void *a, const void *b)
{
    tkl_bytes x = ((const folded_need *)a)->kind, y = ((const folded_need *)b)->kind;
    return tkl__compare_bytes(x, y);
}

/* Sorts the needs by kind: equal sets of kinds then give equal texts. */
static int sort_needs(const tkl_ad *ad, tkl__ads_list *kinds, folded_need *sorted)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < ad->need_count; i++) {
        rc = TKL__CHECK_RESERVED(&ad->needs[i]);
        if (rc == TKL_OK)
            rc = tkl__ads_fold("kind", ad->needs[i].kind, kinds);
        if (rc == TKL_OK && tkl__ads_is_repeated(kinds, 0))
            rc = tkl__fail(TKL_EINVAL, "a kind is required twice");
        if (rc == TKL_OK)
            sorted[i] = (folded_need){&ad->needs[i], kinds->items[i]};
    }
    if (rc == TKL_OK && ad->need_count)
        qsort(sorted, ad->need_count, sizeof *sorted, by_kind);
    return rc;
}

static int add_needs(const tkl_ad *ad, draft *d)
{
    tkl__ads_list kinds = {0};
    folded_need sorted[TKL_ADS_KINDS_MAX];
    d->values = calloc(ad->need_count + 1, sizeof *d->values);
    int rc = d->values ? sort_needs(ad, &kinds, sorted) : tkl__nomem();
    for (size_t i = 0; rc == TKL_OK && i < ad->need_count; i++)
        rc = add_need(sorted[i].need, sorted[i].need->kind, d, &d->values[i]);
    tkl__ads_list_free(&kinds);
    return rc;
}

static void put_needs(const tkl_ad *ad, draft *d)
{
    size_t at = 0;
    for (size_t i = 0; i < ad->need_count; i++) {
        tkl__args_bytes(&d->args, d->needs.items[at++]);
        tkl__args_int(&d->args, (int64_t)d->values[i]);
        for (size_t v = 0; v < d->values[i]; v++)
            tkl__args_bytes(&d->args, d->needs.items[at++]);
    }
}

static void put_all(const tkl_ads *ads, const tkl_ad *ad, draft *d)
{
    tkl__ads_put_smoothing(ads, &d->args);
    tkl__args_int(&d->args, SMOOTHING);
    tkl__ads_put_explore(ads, &d->args);
    tkl__args_int(&d->args, ads->options.ttl_ms);
    tkl__args_bytes(&d->args, ad->name);
    tkl__args_str(&d->args, tkl_ads_type_name(ad->type));
    tkl__args_int(&d->args, ad->price_micros);
    tkl__args_int(&d->args, ad->budget_micros);
    tkl__args_int(&d->args, (int64_t)d->locations.count);
    tkl__args_int(&d->args, (int64_t)ad->need_count);
    tkl__ads_put(&d->args, &d->locations);
    put_needs(ad, d);
    tkl__ads_put(&d->args, &d->words);
}

static int make_draft(const tkl_ads *ads, const tkl_ad *ad, draft *d)
{
    bool more = false;
    int rc = check_ad(ad);
    if (rc == TKL_OK)
        rc = add_locations(ad, d);
    if (rc == TKL_OK)
        rc = add_needs(ad, d);
    if (rc == TKL_OK)
        rc = tkl__ads_words(ad->text, TKL_ADS_WORDS_MAX, &d->words, &more);
    if (rc == TKL_OK && more)
        rc = tkl__fail(TKL_EINVAL, "an ad has at most %d different words", TKL_ADS_WORDS_MAX);
    if (rc == TKL_OK)
        put_all(ads, ad, d);
    return rc;
}

static void free_draft(draft *d)
{
    tkl__args_free(&d->args);
    tkl__ads_list_free(&d->locations);
    tkl__ads_list_free(&d->needs);
    tkl__ads_list_free(&d->words);
    free(d->values);
}

/* ---- Sending ------------------------------------------------------------- */

static int check_reply(const tkl_reply *reply)
{
    return tkl__ads_says(reply, "smoothing") ? tkl__ads_other_smoothing(reply) : TKL_OK;
}

int tkl_ads_add(tkl_ads *ads, const tkl_ad *items, size_t count)
{
    tkl__batch batch;
    int rc = TKL_OK;
    tkl__begin();
    tkl__batch_init(&batch, ads->client);
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        draft d = {0};
        tkl__args_init(&d.args);
        rc = make_draft(ads, &items[i], &d);
        if (rc == TKL_OK)
            tkl__batch_eval(&batch, &tkl__lua_ads_add, &ads->keys, &d.args, true);
        else if (count > 1)
            tkl__fail_in(rc, "ad %zu", i);
        free_draft(&d);
    }
    if (rc == TKL_OK)
        rc = tkl__batch_run(&batch, tkl__ads_deadline(ads));
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = check_reply(tkl__batch_reply(&batch, i));
    tkl__batch_free(&batch);
    return rc;
}

/* ---- Removing ------------------------------------------------------------ */

int tkl_ads_remove(tkl_ads *ads, const tkl_bytes *names, size_t count, int64_t *removed)
{
    tkl__batch batch;
    int64_t number = 0;
    int rc = TKL_OK;
    tkl__begin();
    tkl__batch_init(&batch, ads->client);
    if (removed)
        *removed = 0;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = tkl__ads_check_name(names[i]);
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        tkl__batch_add(&batch, &(tkl__invocation){.script = &tkl__lua_ads_remove,
                                                  .keys = ads->keys.items,
                                                  .nkeys = ads->keys.count,
                                                  .args = &names[i],
                                                  .nargs = 1,
                                                  .retry_safe = removed == NULL});
    if (rc == TKL_OK)
        rc = tkl__batch_run(&batch, tkl__ads_deadline(ads));
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = check_reply(tkl__batch_reply(&batch, i));
        tkl__add(&number, tkl_reply_int(tkl__batch_reply(&batch, i)));
    }
    if (removed)
        *removed = number;
    tkl__batch_free(&batch);
    return rc;
}
