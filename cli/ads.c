/* SPDX-License-Identifier: MIT
 *
 * Ad targeting from the shell: ads and pages. Reports are in ads_report.c.
 */
#include "ads.h"

#include <stdlib.h>
#include <string.h>

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

/* ---- Lists behind options ------------------------------------------------ */

/* Texts that were separated by commas; they point into `store`. */
typedef struct list {
    tkl_bytes *items;
    size_t count;
    char *store;
} list;

static void free_list(list *l)
{
    free(l->items);
    free(l->store);
}

static bool split(const char *text, list *l)
{
    *l = (list){.store = strdup(text), .items = calloc(strlen(text) / 2 + 1, sizeof *l->items)};
    char *rest = NULL;
    if (!l->store || !l->items)
        return false;
    for (char *one = strtok_r(l->store, ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        l->items[l->count++] = tkl_str(one);
    return true;
}

static size_t times_given(const cli_session *cli, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < cli->ngiven; i++)
        count += strcmp(cli->given[i].option->name, name) == 0;
    return count;
}

/* All values of an option that may be repeated, with commas between them. */
static int read_list(const cli_session *cli, const char *name, list *l)
{
    size_t size = 1;
    for (size_t i = 0; i < cli->ngiven; i++)
        if (strcmp(cli->given[i].option->name, name) == 0)
            size += strlen(cli->given[i].text) + 1;
    char *all = calloc(1, size);
    for (size_t i = 0; all && i < cli->ngiven; i++) {
        if (strcmp(cli->given[i].option->name, name) == 0) {
            strcat(all, cli->given[i].text);
            strcat(all, ",");
        }
    }
    bool fine = all && split(all, l);
    free(all);
    return fine ? CLI_OK : cli_end(cli, TKL_ENOMEM);
}

/* "kind=..."; *kind is the text before the sign. */
static int split_kind(const cli_session *cli, const char *name, const char *text, tkl_bytes *kind,
                      const char **value)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text || !sign[1])
        return cli_usage(cli, "--%s '%s': kind=value", name, text);
    *kind = (tkl_bytes){text, (size_t)(sign - text)};
    *value = sign + 1;
    return CLI_OK;
}

/* ---- add ----------------------------------------------------------------- */

/* An ad and what its parts point into. */
typedef struct given_ad {
    tkl_ad ad;
    list locations;
    tkl_ads_need *needs;
    list *values; /* of each need */
} given_ad;

static void free_ad(given_ad *g)
{
    for (size_t i = 0; g->values && i < g->ad.need_count; i++)
        free_list(&g->values[i]);
    free_list(&g->locations);
    free(g->values);
    free(g->needs);
}

static int read_needs(const cli_session *cli, given_ad *g)
{
    size_t count = times_given(cli, "require");
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
        failed = split_kind(cli, "require", cli->given[i].text, &g->needs[n].kind, &values);
        if (!failed && !split(values, &g->values[n]))
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
    int failed = read_amount(cli, "budget", text, len, &ad->budget_micros);
    if (!failed && ad->budget_micros == 0)
        failed = cli_usage(cli, "--budget is above 0; without it there is no limit");
    return failed;
}

static int read_terms(const cli_session *cli, tkl_ad *ad)
{
    const char *type = cli_text(cli, "type", NULL), *price = cli_text(cli, "price", NULL);
    if (!type || !price)
        return cli_usage(cli, "--type and --price are needed");
    ad->type = strcmp(type, "cpm") == 0   ? TKL_ADS_CPM
               : strcmp(type, "cpc") == 0 ? TKL_ADS_CPC
                                          : TKL_ADS_CPA;
    int failed = read_amount(cli, "price", price, strlen(price), &ad->price_micros);
    return failed ? failed : read_budget(cli, ad);
}

/* The text behind the other arguments; "-" is standard input, none is none. */
static int read_text(cli_session *cli, int index, tkl_bytes *text)
{
    return cli->argc > index ? cli_payload(cli, index, text) : CLI_OK;
}

static int read_ad(cli_session *cli, given_ad *g)
{
    g->ad.name = tkl_str(cli->argv[1]);
    int failed = read_terms(cli, &g->ad);
    if (!failed)
        failed = read_list(cli, "location", &g->locations);
    if (!failed && g->locations.count == 0)
        failed = cli_usage(cli, "--location is needed");
    g->ad.locations = g->locations.items;
    g->ad.location_count = g->locations.count;
    if (!failed)
        failed = read_needs(cli, g);
    return failed ? failed : read_text(cli, 2, &g->ad.text);
}

static int add(cli_session *cli)
{
    tkl_ads *ads = NULL;
    given_ad g = {.needs = NULL};
    int64_t smoothing = cli_number(cli, "smoothing", -2);
    tkl_ads_options options = {.ttl_ms = cli_number(cli, "ttl", 0),
                               .smoothing = smoothing == -2  ? 0
                                            : smoothing == 0 ? TKL_NONE
                                                             : smoothing};
    int failed =
        smoothing == -1 ? cli_usage(cli, "--smoothing is a number of views") : read_ad(cli, &g);
    if (!failed)
        failed = cli_ads_open(cli, &options, &ads);
    if (!failed)
        failed = cli_end(cli, tkl_ads_add(ads, &g.ad, 1));
    tkl_ads_close(ads);
    free_ad(&g);
    return failed ? failed : cli_print_done(cli, "added");
}

/* ---- target, explain ----------------------------------------------------- */

/* A page and what its parts point into. */
typedef struct given_page {
    tkl_ads_page page;
    list locations;
    tkl_ads_trait *traits;
    tkl_ip *table;
} given_page;

static void free_page(given_page *g)
{
    tkl_ip_close(g->table);
    free_list(&g->locations);
    free(g->traits);
}

static int read_traits(const cli_session *cli, given_page *g)
{
    int failed = CLI_OK;
    g->traits = calloc(times_given(cli, "viewer") + 1, sizeof *g->traits);
    if (!g->traits)
        return cli_end(cli, TKL_ENOMEM);
    g->page.traits = g->traits;
    for (size_t i = 0; !failed && i < cli->ngiven; i++) {
        if (strcmp(cli->given[i].option->name, "viewer") != 0)
            continue;
        tkl_ads_trait *trait = &g->traits[g->page.trait_count++];
        const char *value;
        failed = split_kind(cli, "viewer", cli->given[i].text, &trait->kind, &value);
        if (!failed)
            trait->value = tkl_str(value);
    }
    return failed;
}

static int open_table(cli_session *cli, given_page *g)
{
    const char *address = cli_text(cli, "ip", NULL), *table = cli_text(cli, "table", NULL);
    tkl_client *client = NULL;
    if (!address != !table)
        return cli_usage(cli, "--ip and --table go together");
    if (!address)
        return CLI_OK;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_ip_open(client, tkl_str(table), NULL, &g->table));
    g->page.table = g->table;
    g->page.address = tkl_str(address);
    return failed;
}

static int read_page(cli_session *cli, int text_index, given_page *g)
{
    int failed = read_list(cli, "location", &g->locations);
    g->page.locations = g->locations.items;
    g->page.location_count = g->locations.count;
    if (!failed && g->locations.count == 0 && !cli_text(cli, "ip", NULL))
        failed = cli_usage(cli, "--location is needed, or --ip and --table");
    if (!failed)
        failed = read_traits(cli, g);
    if (!failed)
        failed = read_text(cli, text_index, &g->page.text);
    return failed ? failed : open_table(cli, g);
}

static json_t *why(const tkl_ads_choice *c)
{
    json_t *words = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(words,
                              json_pack("{s:o, s:f}", "word", cli_json_bytes(c->matches[i].word),
                                        "bonus", c->matches[i].bonus));
    return json_pack("{s:s, s:f, s:f, s:o, s:o}", "type", tkl_ads_type_name(c->type), "base",
                     c->base, "bonus", c->bonus, "location", cli_json_present(c->location), "words",
                     words);
}

/* For people: the words with their bonuses in one line. */
static json_t *words_line(const tkl_ads_choice *c)
{
    char *line = calloc(1, 1);
    size_t len = 0;
    for (size_t i = 0; line && i < c->count; i++) {
        char *word = cli_escape(c->matches[i].word, false);
        char *longer = word ? realloc(line, len + strlen(word) + 32) : NULL;
        if (longer) {
            line = longer;
            len +=
                (size_t)sprintf(line + len, "%s%s %+.4g", i ? ", " : "", word, c->matches[i].bonus);
        }
        free(word);
    }
    json_t *text = json_string(line && *line ? line : "none");
    free(line);
    return text;
}

static const cli_column choice_columns[] = {
    {"ad", "ad"},
    {"shown", "can be shown"},
    {"reason", "reason"},
    {"target", "target"},
    {"score", "score"},
    {"base", "base"},
    {"bonus", "bonus"},
    {"type", "type"},
    {"location", "location"},
    {"words", "words"},
    {0},
};

/* Into `result`: all of `why` in one level, for people. */
static void flatten(json_t *result, const tkl_ads_choice *c)
{
    json_t *reasons = why(c);
    json_object_set_new(reasons, "words", words_line(c));
    json_object_update(result, reasons);
    json_decref(reasons);
}

static int print_choice(const cli_session *cli, const tkl_ads_choice *c)
{
    json_t *result = json_pack("{s:o, s:o, s:f}", "target", cli_json_bytes(c->target), "ad",
                               cli_json_bytes(c->ad), "score", c->score);
    if (!cli->json) {
        flatten(result, c);
        return cli_print_record(cli, result, choice_columns);
    }
    json_t *reasons = why(c);
    json_object_set_new(reasons, "looked_at", json_integer((json_int_t)c->looked));
    json_object_set_new(reasons, "trips", json_integer((json_int_t)c->trips));
    json_object_set_new(result, "why", reasons);
    return cli_print_json(cli, result);
}

static int target(cli_session *cli)
{
    tkl_ads *ads = NULL;
    given_page g = {.traits = NULL};
    tkl_ads_choice *choice = NULL;
    tkl_ads_options options = {.target_ms = cli_number(cli, "keep", 0)};
    int failed = read_page(cli, 1, &g);
    if (!failed)
        failed = cli_ads_open(cli, &options, &ads);
    if (!failed)
        failed = cli_end(cli, tkl_ads_target(ads, &g.page, &choice));
    if (!failed)
        failed = print_choice(cli, choice);
    tkl_ads_choice_free(choice);
    tkl_ads_close(ads);
    free_page(&g);
    return failed;
}

static json_t *reason(const tkl_ads_choice *c)
{
    if (c->location.len == 0)
        return json_string("no location of the page is one of the ad's");
    if (c->unmet.len) {
        char *kind = cli_escape(c->unmet, false);
        json_t *text =
            json_sprintf("the viewer does not meet what it requires: %s", kind ? kind : "");
        free(kind);
        return text;
    }
    return c->until_ms ? json_string("its budget is spent for now") : json_null();
}

static int print_explanation(const cli_session *cli, const tkl_ads_choice *c)
{
    bool shown = c->location.len && !c->unmet.len && !c->until_ms;
    json_t *result =
        json_pack("{s:o, s:b, s:o, s:o, s:f}", "ad", cli_json_bytes(c->ad), "shown", shown,
                  "reason", reason(c), "until", cli_json_time(c->until_ms), "score", c->score);
    if (!cli->json) {
        if (shown)
            json_object_del(result, "reason");
        flatten(result, c);
        if (c->location.len == 0)
            json_object_del(result, "location");
        return cli_print_record(cli, result, choice_columns);
    }
    json_object_set_new(result, "why", why(c));
    return cli_print_json(cli, result);
}

static int explain(cli_session *cli)
{
    tkl_ads *ads = NULL;
    given_page g = {.traits = NULL};
    tkl_ads_choice *choice = NULL;
    int failed = read_page(cli, 2, &g);
    if (!failed)
        failed = cli_ads_open(cli, NULL, &ads);
    if (!failed)
        failed = cli_end(cli, tkl_ads_explain(ads, &g.page, tkl_str(cli->argv[1]), &choice));
    if (!failed)
        failed = print_explanation(cli, choice);
    tkl_ads_choice_free(choice);
    tkl_ads_close(ads);
    free_page(&g);
    return failed;
}

/* ---- click, remove ------------------------------------------------------- */

static int click(cli_session *cli)
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

/* What is removed, and from where. */
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

static int drop(cli_session *cli)
{
    tkl_ads *ads = NULL;
    int failed =
        cli_confirm(cli, "This deletes all ads of %s, with all that was counted.", cli->argv[0]);
    if (!failed)
        failed = cli_ads_open(cli, NULL, &ads);
    if (!failed)
        failed = cli_end(cli, tkl_ads_drop(ads));
    tkl_ads_close(ads);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option add_options[] = {
    {"type", CLI_CHOICE, "cpm|cpc|cpa", "what is paid for: 1000 views, a click, an action"},
    {"price", CLI_TEXT, "P", "of it, with at most six decimals"},
    {"location", CLI_TEXT, "L[,L...]", "one of these must be a location of the page"},
    {"require", CLI_TEXT, "KIND=V[,V...]", "the viewer's value of this kind must be one of these"},
    {"budget", CLI_TEXT, "N/day", "at most so much a day, spread over its hours (UTC)"},
    {"smoothing", CLI_INTEGER, "VIEWS", "new sets: weight of the average (default 1000, 0: none)"},
    {"ttl", CLI_DURATION, "DURATION", "all ads expire this long after the last write"},
    {0},
};

#define PAGE_OPTIONS                                                                              \
    {"location", CLI_TEXT, "L[,L...]", "of the viewer, the most specific first"},                 \
        {"ip", CLI_TEXT, "ADDRESS", "of the viewer: its city, region and country are locations"}, \
        {"table", CLI_TEXT, "T", "the table of 'tackle ip' that knows the address"},              \
    {                                                                                             \
        "viewer", CLI_TEXT, "KIND=VALUE", "a parameter of the viewer: age=25-34"                  \
    }

static const cli_option target_options[] = {
    PAGE_OPTIONS,
    {"keep", CLI_DURATION, "DURATION", "so long the target can be clicked (default 15m)"},
    {0},
};

static const cli_option explain_options[] = {PAGE_OPTIONS, {0}};

static const cli_option click_options[] = {
    {"action", CLI_FLAG, NULL, "count an action, not a click"},
    {0},
};

static const cli_option remove_options[] = {CLI_LINES, {0}};

static const cli_option report_options[] = {
    {"words", CLI_FLAG, NULL, "words of all ads instead of ads, the best bonus first"},
    {"best", CLI_INTEGER, "N", "only the first N"},
    {"worst", CLI_INTEGER, "N", "only the last N; with --best: these, too"},
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
        .run = add,
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
        .run = target,
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
        .run = click,
    },
    {
        .name = "explain",
        .args = "SET AD [TEXT]",
        .summary = "what an ad is worth on a page, and why it is not shown there",
        .options = explain_options,
        .details = "Records nothing.",
        .example = EXAMPLE_AD "tackle ads explain site shoes --location Hamburg",
        .run = explain,
    },
    {
        .name = "show",
        .args = "SET AD",
        .summary = "an ad, with all that was counted",
        .example = EXAMPLE_AD "tackle ads show site shoes",
        .run = cli_ads_show,
    },
    {
        .name = "report",
        .args = "SET [AD]",
        .summary = "what ads, or the words of an ad, have earned",
        .options = report_options,
        .example = EXAMPLE_AD "tackle ads report site\n"
                              "tackle ads report site shoes --best 3 --worst 3",
        .run = cli_ads_report,
    },
    {
        .name = "stats",
        .args = "SET",
        .summary = "how many ads there are, and the average of each type",
        .example = EXAMPLE_AD "tackle ads stats site --json",
        .run = cli_ads_stats,
    },
    {
        .name = "remove",
        .args = "SET [AD...]",
        .summary = "remove ads with all that was counted; prints how many were there",
        .options = remove_options,
        .example = EXAMPLE_AD "tackle ads remove site shoes",
        .run = remove_ads,
    },
    {
        .name = "list",
        .summary = "all sets of ads",
        .example = EXAMPLE_AD "tackle ads list",
        .run = list_sets,
    },
    {
        .name = "drop",
        .args = "SET",
        .summary = "remove all ads of a set",
        .options = drop_options,
        .example = "tackle ads add tackle-example a --type cpm --price 1 --location Berlin\n"
                   "tackle ads drop tackle-example --yes --json",
        .run = drop,
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
