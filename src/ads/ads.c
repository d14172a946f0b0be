/* SPDX-License-Identifier: MIT
 *
 * Ads: handles, and operations on a whole set.
 *
 * Keys, all in one slot (ns:ads:{name}:...). The first ten are the user's own data: drop removes
 * them, or they expire with the ttl of the handle that wrote last.
 *
 *   :meta     hash. smoothing: set by the first add, and never changed. explore: percent, as the
 *             last add with a number has set it; missing: 100. serial: number of the ad that was
 *             added last. "cpc views", "cpc clicks" and so on: totals of each type, from which its
 *             average is computed.
 *   :ads      hash: ad, its terms (type, price, budget, locations, gates), packed.
 *   :values   hash: ad, its eCPM and bound, its needs, and its words with their eCPMs and bounds:
 *             all that is read of a candidate, as one text (records.inc.lua).
 *   :counts   hash: "views:ad", "clicks:ad", "actions:ad", "spent:ad"; of ads with a budget also
 *             "day:ad" and "today:ad".
 *   :words    hash: "views:word NUL ad" and so on.
 *   :index    sorted set of equal scores, in the order of bytes (index.inc.lua): the ads of each
 *             location by their bound, and the ads of each word at a location by the bound of the
 *             word.
 *   :due      sorted set: ads whose budget is spent, and when they come back. They are not in
 *             :index meanwhile, so that no walk meets them.
 *   :heads    hash: beginning of members of :index, the greatest value among them. It says which
 *             lists a page must walk at all.
 *   :gates    hash: set of kinds, number of ads that are kept apart by these kinds.
 *   :turn     sorted set: ads that are paid by event, in the order in which their eCPMs are
 *             updated, one ad at every tenth view of a type. Otherwise an ad that is not shown
 *             would keep the average of the day on which it was added.
 *   :target:ID  hash: a view, with the words that matched; expires after 15 minutes. The client
 *             makes the id, so that a request that is repeated finds its view.
 *
 * The score. eCPM is what 1000 views earn. An ad has one, and so has each of its words: what the ad
 * earns on pages with that word. The bonus of a word is the difference. So
 *
 *   score = base + (smallest bonus + largest bonus) / 2
 *         = (smallest + largest eCPM among the matching words) / 2, or base without any
 *
 * Ads compete by their rank, which is computed in the same way from bounds. A bound is the highest
 * value that an eCPM may still have (exploring.inc.lua). An ad or a word with few views has a bound
 * far above its eCPM, and each view lowers it. So all ads are tried, and equal ads share the views,
 * without any randomness: an upper confidence bound depends on the ad alone, so an index can hold
 * it. (Thompson sampling would draw a number for each ad and page, and look at all ads.) Without
 * exploring, bounds are eCPMs.
 *
 * The rank is at most the largest of its bounds. That makes the search for the best ad exact and
 * short (walks.inc.lua): lists of ads by bound, one for each location of the page and one for each
 * word at each location, are walked together from the top. When no list has a next value above the
 * best rank so far, no other ad can be better. A word whose bound is not above its ad's bound needs
 * no entry in a list: the ad's own entry covers it. So an ad that was never seen is in the index
 * once for each location.
 *
 * The walk stays short: ads whose budget is spent are taken out of the index, and ads that require
 * something of the viewer are in separate lists (gating.inc.lua). The rest is limited by steps: a
 * script that has worked for a millisecond or two returns where it stopped and the best ad so far,
 * and the client starts the next step.
 */
#include "ads/ads.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/number.h"
#include "core/options.h"
#include "core/plain.h"

#define TARGET_MS     (15 * 60 * 1000)
#define SMOOTHING_MAX 1000000000

static int check_options(const tkl_ads_options *o)
{
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"ttl_ms", o->ttl_ms, 0, TKL__MS_MAX},
                                {"target_ms", o->target_ms, 0, TKL__MS_MAX});
    if (rc == TKL_OK && o->smoothing != TKL_NONE)
        rc = tkl__check_number("smoothing", o->smoothing, 0, SMOOTHING_MAX);
    if (rc == TKL_OK && o->explore != TKL_NONE)
        rc = tkl__check_number("explore", o->explore, 0, TKL__ADS_EXPLORE_MAX);
    return rc;
}

static int make_keys(tkl_client *client, tkl_bytes name, tkl_ads *ads)
{
    static const char *const parts[TKL__ADS_KEYS] = {"meta",  "ads", "values", "counts", "words",
                                                     "index", "due", "heads",  "gates",  "turn"};
    int rc = tkl__keys_make(client, "ads", name, parts, TKL__ADS_KEYS, &ads->keys);
    if (rc == TKL_OK)
        rc = tkl__base_make(client, "ads", name, &ads->base);
    return rc;
}

int tkl_ads_open(tkl_client *client, tkl_bytes name, const tkl_ads_options *options, tkl_ads **ads)
{
    static const tkl_ads_options defaults;
    *ads = NULL;
    if (!options)
        options = &defaults;
    int rc = check_options(options);
    if (rc != TKL_OK)
        return rc;
    tkl_ads *a = calloc(1, sizeof *a);
    if (!a)
        return tkl__nomem();
    a->client = client;
    a->options = *options;
    if (a->options.target_ms == 0)
        a->options.target_ms = TARGET_MS;
    rc = make_keys(client, name, a);
    if (rc == TKL_OK)
        *ads = a;
    else
        tkl_ads_close(a);
    return rc;
}

void tkl_ads_close(tkl_ads *ads)
{
    if (!ads)
        return;
    tkl__keys_free(&ads->keys);
    tkl__base_free(&ads->base);
    free(ads);
}

/* ---- Shared -------------------------------------------------------------- */

int64_t tkl__ads_deadline(const tkl_ads *ads)
{
    return tkl__deadline(ads->client, ads->options.timeout_ms);
}

static void put_setting(int64_t setting, tkl__args *args)
{
    if (setting == 0)
        tkl__args_str(args, "");
    else
        tkl__args_int(args, setting == TKL_NONE ? 0 : setting);
}

void tkl__ads_put_smoothing(const tkl_ads *ads, tkl__args *args)
{
    put_setting(ads->options.smoothing, args);
}

void tkl__ads_put_explore(const tkl_ads *ads, tkl__args *args)
{
    put_setting(ads->options.explore, args);
}

bool tkl__ads_says(const tkl_reply *reply, const char *word)
{
    return strcmp(tkl_reply_str(tkl_reply_at(reply, 0)), word) == 0;
}

int tkl__ads_other_smoothing(const tkl_reply *reply)
{
    return tkl__fail(TKL_EINVAL, "the ads have another smoothing: %s (0: plain rates)",
                     tkl_reply_str(tkl_reply_at(reply, 1)));
}

static const char *const type_names[] = {"unknown", "cpm", "cpc", "cpa"};

const char *tkl_ads_type_name(tkl_ads_type type)
{
    return type >= TKL_ADS_CPM && type <= TKL_ADS_CPA ? type_names[type] : type_names[0];
}

int tkl_ads_ecpm(tkl_ads_type type, int64_t price_micros, int64_t views, int64_t events,
                 double *ecpm_micros)
{
    *ecpm_micros = 0;
    int rc = tkl__check_number("type", type, TKL_ADS_CPM, TKL_ADS_CPA);
    if (rc == TKL_OK)
        rc = tkl__check_number("price_micros", price_micros, 0, TKL_ADS_PRICE_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("views", views, 0, INT64_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("events", events, 0, INT64_MAX);
    if (rc != TKL_OK)
        return rc;
    if (type == TKL_ADS_CPM)
        *ecpm_micros = (double)price_micros;
    else if (views > 0)
        *ecpm_micros = 1000.0 * (double)price_micros * (double)events / (double)views;
    return TKL_OK;
}

tkl_ads_type tkl__ads_type(tkl_bytes text)
{
    for (tkl_ads_type type = TKL_ADS_CPM; type <= TKL_ADS_CPA; type++)
        if (tkl__same_bytes(text, tkl_str(type_names[type])))
            return type;
    return 0;
}

double tkl__ads_double(const tkl_reply *reply)
{
    double number;
    tkl__double_parse(tkl_reply_bytes(reply), &number);
    return number;
}

/* ---- Money --------------------------------------------------------------- */

#define DECIMALS     6
#define WHOLE_DIGITS 9

static size_t digits_at(tkl_bytes text, size_t at)
{
    size_t count = 0;
    while (at + count < text.len && text.data[at + count] >= '0' && text.data[at + count] <= '9')
        count++;
    return count;
}

int tkl_ads_micros(tkl_bytes text, int64_t *micros)
{
    *micros = 0;
    tkl__begin();
    size_t whole = digits_at(text, 0), decimals = 0, end = whole;
    if (end < text.len && text.data[end] == '.') {
        decimals = digits_at(text, end + 1);
        end += 1 + decimals;
    }
    if (end != text.len || whole + decimals == 0 || whole > WHOLE_DIGITS || decimals > DECIMALS)
        return tkl__fail(TKL_EINVAL, "an amount is a number from 0 with at most %d decimals: 0.25",
                         DECIMALS);
    int64_t amount = 0;
    for (size_t i = 0; i < whole; i++)
        amount = amount * 10 + (text.data[i] - '0');
    for (size_t i = 0; i < DECIMALS; i++)
        amount = amount * 10 + (i < decimals ? text.data[whole + 1 + i] - '0' : 0);
    *micros = amount;
    return TKL_OK;
}

/* ---- The whole ----------------------------------------------------------- */

static void put_command(tkl__args *args, const char *command, tkl_bytes key)
{
    tkl__args_init(args);
    tkl__args_str(args, command);
    tkl__args_bytes(args, key);
}

static int ask_stat(tkl_ads *ads, tkl_reply **replies)
{
    const tkl_bytes *keys = ads->keys.items;
    tkl__batch batch;
    tkl__batch_init(&batch, ads->client);
    TKL__BATCH_WORDS(&batch, tkl_str("HMGET"), keys[TKL__ADS_META], tkl_str("smoothing"),
                     tkl_str("cpc views"), tkl_str("cpc clicks"), tkl_str("cpa views"),
                     tkl_str("cpa actions"), tkl_str("explore"));
    TKL__BATCH_WORDS(&batch, tkl_str("HLEN"), keys[TKL__ADS_ADS]);
    TKL__BATCH_WORDS(&batch, tkl_str("ZCARD"), keys[TKL__ADS_DUE]);
    return tkl__batch_end(&batch, tkl__ads_deadline(ads), replies);
}

#define LARGEST_NUMBER INT64_C(9999999999999999)

/* Same as in records.inc.lua: a number that cannot be a count is read as 0. */
static int64_t counted(const tkl_reply *reply)
{
    int64_t number = tkl_reply_int(reply);
    return number < 0 || number > LARGEST_NUMBER ? 0 : number;
}

/* Same as rates.read_average() in rates.inc.lua, per 1000 views. */
static double per_1k(int64_t views, int64_t events, int64_t smoothing)
{
    events = events < views ? events : views;
    if (smoothing)
        return 1000 * ((double)events + TKL__ADS_FIRST_EVENTS) /
               ((double)views + TKL__ADS_FIRST_VIEWS);
    if (views > 0 && events > 0)
        return 1000 * (double)events / (double)views;
    return 1000.0 * TKL__ADS_FIRST_EVENTS / TKL__ADS_FIRST_VIEWS;
}

/* Same as exploring.read() in exploring.inc.lua. */
static int64_t explore_of(const tkl_reply *reply)
{
    int64_t explore = tkl_reply_is_nil(reply) ? TKL__ADS_EXPLORE : counted(reply);
    explore = explore < TKL__ADS_EXPLORE_MAX ? explore : TKL__ADS_EXPLORE_MAX;
    return explore ? explore : TKL_NONE;
}

int tkl_ads_stats_get(tkl_ads *ads, tkl_ads_stats *stats)
{
    tkl_reply *replies;
    *stats = (tkl_ads_stats){0};
    int rc = ask_stat(ads, &replies);
    if (rc != TKL_OK)
        return rc;
    const tkl_reply *meta = tkl_reply_at(replies, 0);
    int64_t number[5];
    for (size_t i = 0; i < 5; i++)
        number[i] = counted(tkl_reply_at(meta, i));
    if (tkl_reply_is_nil(tkl_reply_at(meta, 0)))
        rc = tkl__no(TKL_NOTFOUND);
    else
        *stats = (tkl_ads_stats){.ads = tkl_reply_int(tkl_reply_at(replies, 1)),
                                 .closed = tkl_reply_int(tkl_reply_at(replies, 2)),
                                 .smoothing = number[0] ? number[0] : TKL_NONE,
                                 .clicks_per_1k = per_1k(number[1], number[2], number[0]),
                                 .actions_per_1k = per_1k(number[3], number[4], number[0]),
                                 .explore = explore_of(tkl_reply_at(meta, 5))};
    tkl_reply_free(replies);
    return rc;
}

int tkl_ads_drop(tkl_ads *ads)
{
    tkl__args args;
    tkl_reply *reply;
    put_command(&args, "UNLINK", ads->keys.items[0]);
    for (size_t i = 1; i < ads->keys.count; i++)
        tkl__args_bytes(&args, ads->keys.items[i]);
    int rc = tkl__plain(ads->client, &args, tkl__ads_deadline(ads), false, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl__args_free(&args);
    tkl_reply_free(reply);
    return rc;
}

int tkl_ads_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, "ads", "meta", "hash", names);
}
