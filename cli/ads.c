/* SPDX-License-Identifier: MIT
 *
 * Ad targeting from the shell: ads, clicks and the table of verbs. Pages are in ads_page.c, reports
 * in ads_report.c.
 */
#include "ads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ads_list.h"
#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"

int cli_ads_open(cli_session *cli, const tkl_ads_options *options, tkl_ads **ads)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_ads_open(client, tkl_str(cli->argv[0]), options, ads));
}

json_t *cli_ads_money(int64_t micros)
{
    return json_real((double)micros / 1e6);
}

/* ---- add ----------------------------------------------------------------- */

/* An ad and the memory its parts point into. */
typedef struct given_ad {
    tkl_ad ad;
    cli_texts locations;
    tkl_ads_need *needs;
    cli_texts *values; /* values of each need */
} given_ad;

static void free_ad(given_ad *g)
{
    for (size_t i = 0; g->values && i < g->ad.need_count; i++)
        cli_texts_free(&g->values[i]);
    cli_texts_free(&g->locations);
    free(g->values);
    free(g->needs);
}

static int read_needs(const cli_session *cli, given_ad *g)
{
    size_t count = cli_times_given(cli, "require");
    int failed = CLI_OK;
    g->needs = calloc(count + 1, sizeof *g->needs);
    g->values = calloc(count + 1, sizeof *g->values);
    if (!g->needs || !g->values)
        return cli_end(cli, TKL_ENOMEM);
    g->ad.needs = g->needs;
    for (size_t i = 0; !failed && i < cli->ngiven; i++) {
        if (strcmp(cli->given[i].option->name, "require") != 0)
            continue;
        const char *values;
        size_t n = g->ad.need_count++;
        failed = cli_split_kind(cli, "require", cli->given[i].text, &g->needs[n].kind, &values);
        if (!failed && !cli_texts_split(values, &g->values[n]))
            failed = cli_end(cli, TKL_ENOMEM);
        g->needs[n].values = g->values[n].items;
        g->needs[n].count = g->values[n].count;
    }
    return failed;
}

static int read_amount(const cli_session *cli, const char *name, const char *text, size_t len,
                       int64_t *micros)
{
    if (tkl_ads_micros((tkl_bytes){text, len}, micros) != TKL_OK)
        return cli_usage(cli, "--%s '%s': %s", name, text, tkl_errmsg());
    int64_t most = strcmp(name, "price") == 0 ? TKL_ADS_PRICE_MAX : TKL_ADS_BUDGET_MAX;
    if (*micros > most)
        return cli_usage(cli, "--%s '%s': at most %" PRId64, name, text, most / 1000000);
    return CLI_OK;
}

/* "20/day", or "20". */
static int read_budget(const cli_session *cli, tkl_ad *ad)
{
    const char *text = cli_text(cli, "budget", NULL);
    if (!text)
        return CLI_OK;
    size_t len = strlen(text), per = strlen("/day");
    if (len > per && strcmp(text + len - per, "/day") == 0)
        len -= per;
    else if (strchr(text, '/'))
        return cli_usage(cli, "--budget '%s': a budget is for a day: 20/day", text);
    int failed = read_amount(cli, "budget", text, len, &ad->budget_micros);
    if (!failed && ad->budget_micros == 0)
        failed = cli_usage(cli, "--budget is above 0; without it there is no limit");
    return failed;
}

/* --type and --price */
static int read_terms(const cli_session *cli, tkl_ad *ad)
{
    const char *type = cli_text(cli, "type", NULL), *price = cli_text(cli, "price", NULL);
    if (!type || !price)
        return cli_usage(cli, "--type and --price are needed");
    ad->type = strcmp(type, "cpm") == 0   ? TKL_ADS_CPM
               : strcmp(type, "cpc") == 0 ? TKL_ADS_CPC
                                          : TKL_ADS_CPA;
    return read_amount(cli, "price", price, strlen(price), &ad->price_micros);
}

/* Prints the earnings of 1000 views; needs no server. */
static int print_ecpm(cli_session *cli)
{
    static const cli_column fields[] = {{"ecpm", "eCPM"}, {0}};
    tkl_ad ad = {0};
    double micros = 0;
    int failed = read_terms(cli, &ad);
    if (!failed && ad.type != TKL_ADS_CPM && cli_number(cli, "views", 0) < 1)
        failed = cli_usage(cli, "--views is needed: 1 or more");
    if (!failed)
        failed = cli_end(cli, tkl_ads_ecpm(ad.type, ad.price_micros, cli_number(cli, "views", 0),
                                           cli_number(cli, "events", 0), &micros));
    return failed ? failed
                  : cli_print_record(cli, json_pack("{s:f}", "ecpm", micros / 1e6), fields);
}

static int read_ad(cli_session *cli, given_ad *g)
{
    g->ad.name = tkl_str(cli->argv[1]);
    int failed = read_terms(cli, &g->ad);
    if (!failed)
        failed = read_budget(cli, &g->ad);
    if (!failed)
        failed = cli_texts_read(cli, "location", &g->locations);
    if (!failed && g->locations.count == 0)
        failed = cli_usage(cli, "--location is needed");
    g->ad.locations = g->locations.items;
    g->ad.location_count = g->locations.count;
    if (!failed)
        failed = read_needs(cli, g);
    return failed ? failed : cli_ads_text(cli, 2, &g->ad.text);
}

static int ads_add(cli_session *cli)
{
    tkl_ads *ads = NULL;
    given_ad g = {.needs = NULL};
    tkl_ads_options options = {.ttl_ms = cli_number(cli, "ttl", 0),
                               .smoothing = cli_number(cli, "smoothing", 0),
                               .explore = cli_number(cli, "explore", 0)};
    if (cli_flag(cli, "smoothing") && options.smoothing == 0)
        options.smoothing = TKL_NONE;
    if (cli_flag(cli, "explore") && options.explore == 0)
        options.explore = TKL_NONE;
    int failed = cli_not_negative(cli, "smoothing");
    if (!failed)
        failed = cli_not_negative(cli, "explore");
    if (!failed)
        failed = read_ad(cli, &g);
    if (!failed)
        failed = cli_ads_open(cli, &options, &ads);
    if (!failed)
        failed = cli_end(cli, tkl_ads_add(ads, &g.ad, 1));
    tkl_ads_close(ads);
    free_ad(&g);
    return failed || !cli->json ? failed : cli_print_count(cli, "added", 1);
}

/* ---- click, remove ------------------------------------------------------- */

static int ads_click(cli_session *cli)
{
    tkl_ads *ads = NULL;
    tkl_bytes id = tkl_str(cli->argv[1]);
    bool action = cli_flag(cli, "action");
    int failed = cli_ads_open(cli, NULL, &ads);
    if (!failed)
        failed = cli_end(cli, action ? tkl_ads_action(ads, id) : tkl_ads_click(ads, id));
    tkl_ads_close(ads);
    return failed ? failed : cli_print_done(cli, "counted");
}

/* The ads to remove, and their set. */
typedef struct removal {
    tkl_ads *ads;
    int64_t removed;
} removal;

static int remove_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    removal *r = arg;
    int64_t removed = 0;
    int failed = cli_end(cli, tkl_ads_remove(r->ads, items, count, &removed));
    r->removed += removed;
    return failed;
}

static int remove_ads(cli_session *cli)
{
    removal r = {.ads = NULL};
    int failed = cli_ads_open(cli, NULL, &r.ads);
    if (!failed)
        failed = cli_items(cli, 1, remove_some, &r);
    tkl_ads_close(r.ads);
    return failed ? failed : cli_print_removed(cli, r.removed);
}

/* ---- The whole ----------------------------------------------------------- */

static int list_sets(cli_session *cli)
{
    return cli_list(cli, tkl_ads_names);
}

static int ads_drop(cli_session *cli)
{
    tkl_ads *ads = NULL;
    int failed =
        cli_confirm(cli, "This deletes all ads of '%s', with all that was counted.", cli->argv[0]);
    if (!failed)
        failed = cli_ads_open(cli, NULL, &ads);
    if (!failed)
        failed = cli_end_of(cli, tkl_ads_drop(ads), "set of ads");
    tkl_ads_close(ads);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option ecpm_options[] = {
    {"type", CLI_CHOICE, "cpm|cpc|cpa", "what is paid for: 1000 views, a click, an action"},
    {"price", CLI_TEXT, "P", "price of 1000 views, a click or an action"},
    {"views", CLI_INTEGER, "N", "views (cpc, cpa)"},
    {"events", CLI_INTEGER, "N", "clicks or actions among them (default 0)"},
    {0},
};

static const cli_option add_options[] = {
    {"type", CLI_CHOICE, "cpm|cpc|cpa", "what is paid for: 1000 views, a click, an action"},
    {"price", CLI_TEXT, "P", "price of 1000 views, a click or an action; at most six decimals"},
    {"location", CLI_TEXT, "L[,L...]", "show the ad only to viewers at one of these locations"},
    {"require", CLI_TEXT, "KIND=V[,V...]", "show it only to viewers with one of these values"},
    {"budget", CLI_TEXT, "N/day", "spend at most N a day (UTC), spread over its hours"},
    {"smoothing", CLI_INTEGER, "VIEWS",
     "for a new set: weight of the average; 0 is none (default 1000)"},
    {"explore", CLI_INTEGER, "PERCENT", "how boldly new ads are tried; 0 is never (default 100)"},
    {"ttl", CLI_PERIOD, "DURATION", "all ads expire this long after the last write"},
    {0},
};

#define PAGE_OPTIONS                                                                        \
    {"location", CLI_TEXT, "L[,L...]", "locations of the viewer, the most specific first"}, \
        {"ip", CLI_TEXT, "ADDRESS",                                                         \
         "address of the viewer; its city, region and country are locations"},              \
        {"table", CLI_TEXT, "T", "the table of 'tackle ip' that knows the address"},        \
    {                                                                                       \
        "viewer", CLI_TEXT, "KIND=VALUE", "a parameter of the viewer: age=25-34"            \
    }

static const cli_option target_options[] = {
    PAGE_OPTIONS,
    {"keep", CLI_PERIOD, "DURATION", "the target can be clicked for this long (default 15m)"},
    {0},
};

static const cli_option explain_options[] = {PAGE_OPTIONS, {0}};

static const cli_option click_options[] = {
    {"action", CLI_FLAG, NULL, "count an action, not a click"},
    {0},
};

static const cli_option remove_options[] = {CLI_LINES, {0}};

static const cli_option report_options[] = {
    {"words", CLI_FLAG, NULL, "show the words of all ads instead, the best bonus first"},
    {"best", CLI_INTEGER, "N", "only the first N"},
    {"worst", CLI_INTEGER, "N", "only the last N; with --best also these"},
    {0},
};

static const cli_option drop_options[] = {CLI_YES, {0}};

#define EXAMPLE_AD                                                                     \
    "tackle ads add site shoes --type cpc --price 0.25 --location Berlin,Germany \\\n" \
    "    'light running shoes'\n"

static const cli_verb verbs[] = {
    {
        .name = "add",
        .args = "SET AD [TEXT]",
        .summary = "add an ad, or replace the one of that name",
        .options = add_options,
        .details = "--location and --require may be repeated. The words of TEXT (- is standard\n"
                   "input) are a bonus on pages that have them, never a requirement.",
        .example =
            EXAMPLE_AD "tackle ads add site phone --type cpa --price 3 --location Germany \\\n"
                       "    --require age=18-24,25-34 --budget 20/day 'a phone for gamers'\n"
                       "tackle ads show site phone",
        .effect = CLI_WRITES,
        .run = ads_add,
    },
    {
        .name = "target",
        .args = "SET [TEXT]",
        .summary = "the best ad for a page; its view is recorded",
        .options = target_options,
        .details = "Exit code 1: no ad fits. TEXT is that of the page, - is standard input.",
        .example =
            EXAMPLE_AD "tackle ads target site --location Berlin,Germany --viewer age=18-24 \\\n"
                       "    'Ten routes for running along the river' --json",
        .effect = CLI_WRITES,
        .run = cli_ads_target,
    },
    {
        .name = "click",
        .args = "SET TARGET",
        .summary = "count a click of a target, or an action; each once",
        .options = click_options,
        .example =
            EXAMPLE_AD "target=$(tackle ads target site --location Berlin --json | jq -r .target)\n"
                       "tackle ads click site $target\n"
                       "tackle ads click site $target --action\n"
                       "tackle ads report site",
        .effect = CLI_WRITES,
        .run = ads_click,
    },
    {
        .name = "explain",
        .args = "SET AD [TEXT]",
        .summary = "what an ad is worth on a page, and why it is not shown there",
        .options = explain_options,
        .details = "Records nothing.",
        .example = EXAMPLE_AD "tackle ads explain site shoes --location Hamburg",
        .effect = CLI_READS,
        .run = cli_ads_explain,
    },
    {
        .name = "show",
        .args = "SET AD",
        .summary = "an ad, with all that was counted",
        .example = EXAMPLE_AD "tackle ads show site shoes",
        .effect = CLI_READS,
        .run = cli_ads_show,
    },
    {
        .name = "report",
        .args = "SET [AD]",
        .summary = "what ads, or the words of an ad, have earned",
        .options = report_options,
        .example = EXAMPLE_AD "tackle ads report site\n"
                              "tackle ads report site shoes --best 3 --worst 3",
        .effect = CLI_READS,
        .run = cli_ads_report,
    },
    {
        .name = "ecpm",
        .summary = "what 1000 views earn at a price and a rate; needs no server",
        .options = ecpm_options,
        .example = "tackle ads ecpm --type cpc --price 0.25 --views 1000 --events 2",
        .effect = CLI_READS,
        .run = print_ecpm,
    },
    {
        .name = "stats",
        .args = "SET",
        .summary = "how many ads there are, and the average of each type",
        .example = EXAMPLE_AD "tackle ads stats site --json",
        .effect = CLI_READS,
        .run = cli_ads_stats,
    },
    {
        .name = "remove",
        .args = "SET [AD...]",
        .summary = "remove ads with all that was counted; prints how many were there",
        .options = remove_options,
        .example = EXAMPLE_AD "tackle ads remove site shoes",
        .effect = CLI_WRITES,
        .run = remove_ads,
    },
    {
        .name = "list",
        .summary = "all sets of ads",
        .options = cli_list_options,
        .example = EXAMPLE_AD "tackle ads list",
        .effect = CLI_READS,
        .run = list_sets,
    },
    {
        .name = "drop",
        .args = "SET",
        .summary = "remove all ads of a set",
        .options = drop_options,
        .example = "tackle ads add tackle-example a --type cpm --price 1 --location Berlin\n"
                   "tackle ads drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = ads_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"Ads that are paid by click and by 1000 views.",
     "tackle ads add tour shoes --type cpc --price 0.25 --location Berlin 'light running shoes'; "
     "tackle ads add tour tea --type cpm --price 0.2 --location Germany 'green tea'",
     0},
    {"The best one for a page, with the reasons.",
     "tackle ads target tour --location Berlin,Germany 'Running along the river'", 0},
    {"A click teaches: running earns more than the ad's average.",
     "tackle ads click tour $(tackle ads target tour --location Berlin 'running' --json | "
     "sed 's/.*\"target\": \"\\([0-9a-f]*\\)\".*/\\1/'); tackle ads report tour shoes",
     0},
    {0},
};

const cli_component cli_ads = {
    .name = "ads",
    .summary = "which ad earns most on a page, learned from clicks",
    .verbs = verbs,
    .demo = demo,
};
