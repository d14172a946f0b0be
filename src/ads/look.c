/* SPDX-License-Identifier: MIT
 *
 * Ads: shows one ad.
 */
#include <stdlib.h>

#include "ads/ads.h"
#include "ads/scripts.h"
#include "core/error.h"
#include "core/letters.h"

/* ---- One ad -------------------------------------------------------------- */

/* The numbers in a reply of show.lua. */
enum { TYPE, PRICE, BUDGET, VIEWS, CLICKS, ACTIONS, SPENT, TODAY, UNTIL, ECPM, BOUND };
/* Fields of each word. */
enum {
    WORD,
    WORD_ECPM,
    WORD_BOUND,
    WORD_VIEWS,
    WORD_CLICKS,
    WORD_ACTIONS,
    WORD_SPENT,
    WORD_FIELDS
};

int tkl__ads_show_all(tkl_ads *ads, const tkl_bytes *names, size_t count, tkl_reply **replies)
{
    tkl__batch batch;
    tkl__batch_init(&batch, ads->client);
    for (size_t i = 0; i < count; i++)
        tkl__batch_add(&batch, &(tkl__invocation){.script = &tkl__lua_ads_show,
                                                  .keys = ads->keys.items,
                                                  .nkeys = ads->keys.count,
                                                  .args = &names[i],
                                                  .nargs = 1,
                                                  .retry_safe = true});
    return tkl__batch_end(&batch, tkl__ads_deadline(ads), replies);
}

static double shown_ecpm(const tkl_reply *shown)
{
    return tkl__ads_double(tkl_reply_at(tkl_reply_at(shown, TKL__ADS_SHOW_NUMBERS), ECPM));
}

size_t tkl__ads_shown_words(const tkl_reply *shown)
{
    return tkl_reply_count(tkl_reply_at(shown, TKL__ADS_SHOW_WORDS)) / WORD_FIELDS;
}

tkl_ads_word tkl__ads_shown_word(const tkl_reply *shown, size_t index)
{
    const tkl_reply *list = tkl_reply_at(shown, TKL__ADS_SHOW_WORDS), *at[WORD_FIELDS];
    for (size_t i = 0; i < WORD_FIELDS; i++)
        at[i] = tkl_reply_at(list, index * WORD_FIELDS + i);
    double ecpm = tkl__ads_double(at[WORD_ECPM]);
    return (tkl_ads_word){.word = tkl_reply_bytes(at[WORD]),
                          .bonus = ecpm - shown_ecpm(shown),
                          .counts = {.views = tkl_reply_int(at[WORD_VIEWS]),
                                     .clicks = tkl_reply_int(at[WORD_CLICKS]),
                                     .actions = tkl_reply_int(at[WORD_ACTIONS]),
                                     .spent_micros = tkl_reply_int(at[WORD_SPENT]),
                                     .ecpm = ecpm,
                                     .bound = tkl__ads_double(at[WORD_BOUND])}};
}

int tkl__ads_by_bonus(const void *a, const void *b)
{
    const tkl_ads_word *x = a, *y = b;
    if (x->bonus != y->bonus)
        return x->bonus > y->bonus ? -1 : 1;
    return tkl__compare_bytes(x->word, y->word);
}

/* The sizes of the arrays of an answer. */
typedef struct sizes {
    size_t locations, needs, values, words, bytes;
} sizes;

static sizes count_shown_bytes(const tkl_reply *reply)
{
    const tkl_reply *needs = tkl_reply_at(reply, TKL__ADS_SHOW_NEEDS);
    sizes s = {.locations = tkl_reply_count(tkl_reply_at(reply, TKL__ADS_SHOW_LOCATIONS)),
               .needs = tkl_reply_count(needs),
               .words = tkl__ads_shown_words(reply),
               .bytes = tkl__ads_bytes_in(tkl_reply_at(reply, TKL__ADS_SHOW_LOCATIONS)) +
                        tkl__ads_bytes_in(tkl_reply_at(reply, TKL__ADS_SHOW_WORDS))};
    for (size_t i = 0; i < s.needs; i++) {
        s.values += tkl_reply_count(tkl_reply_at(needs, i));
        s.bytes += tkl__ads_bytes_in(tkl_reply_at(needs, i));
    }
    return s;
}

/* The arrays of an answer; they follow it in the same block. */
typedef struct arrays {
    tkl_ads_need *needs;
    tkl_ads_word *words;
    tkl_bytes *locations;
    tkl_bytes *values;
    tkl__ads_room room;
} arrays;

static arrays arrays_of(tkl_ads_info *info, const sizes *s)
{
    arrays a;
    a.needs = (tkl_ads_need *)(info + 1);
    a.words = (tkl_ads_word *)(a.needs + s->needs);
    a.locations = (tkl_bytes *)(a.words + s->words);
    a.values = a.locations + s->locations;
    a.room.at = (char *)(a.values + s->values);
    return a;
}

static void read_needs(const tkl_reply *list, tkl_ads_info *info, arrays *a)
{
    for (size_t i = 0; i < info->need_count; i++) {
        const tkl_reply *need = tkl_reply_at(list, i);
        size_t count = tkl_reply_count(need);
        a->needs[i] = (tkl_ads_need){
            .kind = tkl__ads_unfold(&a->room, tkl_reply_bytes(tkl_reply_at(need, 0))),
            .values = a->values,
            .count = count ? count - 1 : 0,
        };
        for (size_t v = 1; v < count; v++)
            *a->values++ = tkl__ads_unfold(&a->room, tkl_reply_bytes(tkl_reply_at(need, v)));
    }
}

static void read_words(const tkl_reply *reply, tkl_ads_info *info, arrays *a)
{
    for (size_t i = 0; i < info->word_count; i++) {
        a->words[i] = tkl__ads_shown_word(reply, i);
        a->words[i].word = tkl__ads_copy(&a->room, a->words[i].word);
    }
    qsort(a->words, info->word_count, sizeof *a->words, tkl__ads_by_bonus);
}

static void read_numbers(const tkl_reply *list, tkl_ads_info *info)
{
    const tkl_reply *at[BOUND + 1];
    for (size_t i = 0; i <= BOUND; i++)
        at[i] = tkl_reply_at(list, i);
    info->type = tkl__ads_type(tkl_reply_bytes(at[TYPE]));
    info->price_micros = tkl_reply_int(at[PRICE]);
    info->budget_micros = tkl_reply_int(at[BUDGET]);
    info->spent_today_micros = info->budget_micros ? tkl_reply_int(at[TODAY]) : 0;
    info->until_ms = tkl_reply_int(at[UNTIL]);
    info->counts = (tkl_ads_counts){.views = tkl_reply_int(at[VIEWS]),
                                    .clicks = tkl_reply_int(at[CLICKS]),
                                    .actions = tkl_reply_int(at[ACTIONS]),
                                    .spent_micros = tkl_reply_int(at[SPENT]),
                                    .ecpm = tkl__ads_double(at[ECPM]),
                                    .bound = tkl__ads_double(at[BOUND])};
}

static int make_info(const tkl_reply *reply, tkl_bytes name, tkl_ads_info **result)
{
    sizes s = count_shown_bytes(reply);
    tkl_ads_info *info =
        calloc(1, sizeof *info + s.needs * sizeof(tkl_ads_need) + s.words * sizeof(tkl_ads_word) +
                      (s.locations + s.values) * sizeof(tkl_bytes) + s.bytes + name.len);
    if (!info)
        return tkl__nomem();
    arrays a = arrays_of(info, &s);
    info->name = tkl__ads_copy(&a.room, name);
    read_numbers(tkl_reply_at(reply, TKL__ADS_SHOW_NUMBERS), info);
    info->locations = a.locations;
    info->location_count = s.locations;
    for (size_t i = 0; i < s.locations; i++)
        a.locations[i] = tkl__ads_unfold(
            &a.room,
            tkl_reply_bytes(tkl_reply_at(tkl_reply_at(reply, TKL__ADS_SHOW_LOCATIONS), i)));
    info->needs = a.needs;
    info->need_count = s.needs;
    read_needs(tkl_reply_at(reply, TKL__ADS_SHOW_NEEDS), info, &a);
    info->words = a.words;
    info->word_count = s.words;
    read_words(reply, info, &a);
    *result = info;
    return TKL_OK;
}

int tkl_ads_show(tkl_ads *ads, tkl_bytes name, tkl_ads_info **info)
{
    tkl_reply *replies = NULL;
    *info = NULL;
    int rc = tkl__ads_check_name(name);
    if (rc != TKL_OK)
        return rc;
    tkl__begin();
    rc = tkl__ads_show_all(ads, &name, 1, &replies);
    if (rc == TKL_OK && tkl_reply_is_nil(tkl_reply_at(replies, 0)))
        rc = tkl__fail(TKL_NOTFOUND, "there is no ad '" TKL_FMT "'", TKL_ARG(name));
    if (rc == TKL_OK)
        rc = make_info(tkl_reply_at(replies, 0), name, info);
    tkl_reply_free(replies);
    return rc;
}

void tkl_ads_info_free(tkl_ads_info *info)
{
    free(info);
}
