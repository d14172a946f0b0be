/* SPDX-License-Identifier: MIT
 *
 * Ad targeting from the shell: pages, and the ads that are shown on them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ads.h"
#include "ads_list.h"

/* ---- Pages --------------------------------------------------------------- */

/* A page and the memory its parts point into. */
typedef struct given_page {
    tkl_ads_page page;
    cli_texts locations;
    tkl_ads_trait *traits;
    tkl_ip *table;
} given_page;

static void free_page(given_page *g)
{
    tkl_ip_close(g->table);
    cli_texts_free(&g->locations);
    free(g->traits);
}

static int read_traits(const cli_session *cli, given_page *g)
{
    int failed = CLI_OK;
    g->traits = calloc(cli_times_given(cli, "viewer") + 1, sizeof *g->traits);
    if (!g->traits)
        return cli_end(cli, TKL_ENOMEM);
    g->page.traits = g->traits;
    for (size_t i = 0; !failed && i < cli->ngiven; i++) {
        if (strcmp(cli->given[i].option->name, "viewer") != 0)
            continue;
        tkl_ads_trait *trait = &g->traits[g->page.trait_count++];
        const char *value;
        failed = cli_split_kind(cli, "viewer", cli->given[i].text, &trait->kind, &value);
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
    int failed = cli_texts_read(cli, "location", &g->locations);
    g->page.locations = g->locations.items;
    g->page.location_count = g->locations.count;
    if (!failed && g->locations.count == 0 && !cli_text(cli, "ip", NULL))
        failed = cli_usage(cli, "--location is needed, or --ip and --table");
    if (!failed)
        failed = read_traits(cli, g);
    if (!failed)
        failed = cli_ads_text(cli, text_index, &g->page.text);
    return failed ? failed : open_table(cli, g);
}

/* ---- Answers ------------------------------------------------------------- */

static json_t *why(const tkl_ads_choice *c)
{
    json_t *words = json_array();
    for (size_t i = 0; i < c->count; i++)
        json_array_append_new(words,
                              json_pack("{s:o, s:f}", "word", cli_json_bytes(c->matches[i].word),
                                        "bonus", c->matches[i].bonus));
    return json_pack("{s:s, s:f, s:f, s:f, s:o, s:o}", "type", tkl_ads_type_name(c->type), "rank",
                     c->rank, "base", c->base, "bonus", c->bonus, "location",
                     cli_json_present(c->location), "words", words);
}

/* Returns the words with their bonuses as one text, for people. */
static json_t *words_line(const tkl_ads_choice *c)
{
    char *out = NULL;
    size_t size;
    FILE *to = open_memstream(&out, &size);
    if (!to)
        return NULL;
    for (size_t i = 0; i < c->count; i++) {
        const tkl_ads_match *match = &c->matches[i];
        char *word = cli_escape(match->word, false), *bonus = cli_real_text("bonus", match->bonus);
        fprintf(to, "%s%s %s%s", i ? ", " : "", word ? word : "", match->bonus < 0 ? "" : "+",
                bonus ? bonus : "");
        free(word);
        free(bonus);
    }
    fputs(c->count ? "" : "none", to);
    fclose(to);
    json_t *text = json_string(out);
    free(out);
    return text;
}

static const cli_column choice_columns[] = {
    {"ad", "ad"},
    {"shown", "can be shown"},
    {"reason", "reason"},
    {"until", "until"},
    {"target", "target"},
    {"score", "score"},
    {"rank", "rank"},
    {"base", "base"},
    {"bonus", "bonus"},
    {"type", "type"},
    {"location", "location"},
    {"words", "words"},
    {0},
};

/* Adds the members of `why` to `result` itself, for people. */
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
    json_object_set_new(reasons, "looked", json_integer((json_int_t)c->looked));
    json_object_set_new(reasons, "trips", json_integer((json_int_t)c->trips));
    json_object_set_new(result, "why", reasons);
    return cli_print_json(cli, result);
}

int cli_ads_target(cli_session *cli)
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
        if (!c->until_ms)
            json_object_del(result, "until");
        flatten(result, c);
        if (c->location.len == 0)
            json_object_del(result, "location");
        return cli_print_record(cli, result, choice_columns);
    }
    json_object_set_new(result, "why", why(c));
    return cli_print_json(cli, result);
}

int cli_ads_explain(cli_session *cli)
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
