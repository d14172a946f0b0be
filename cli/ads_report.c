/* SPDX-License-Identifier: MIT
 *
 * Ad targeting from the shell: one ad, and reports.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ads.h"

/* Events per view; null without views. */
static json_t *rate(int64_t events, int64_t views)
{
    return views > 0 ? json_real((double)events / (double)views) : json_null();
}

/* Adds the counts to a row. Frees nothing. */
static void put_counts(json_t *row, const tkl_ads_counts *c)
{
    json_t *counts =
        json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:f, s:f}", "views", (json_int_t)c->views,
                  "clicks", (json_int_t)c->clicks, "actions", (json_int_t)c->actions, "click_rate",
                  rate(c->clicks, c->views), "action_rate", rate(c->actions, c->views), "spent",
                  cli_ads_money(c->spent_micros), "ecpm", c->ecpm, "bound", c->bound);
    json_object_update(row, counts);
    json_decref(counts);
}

static json_t *word_row(const tkl_ads_word *word)
{
    json_t *row = json_pack("{s:o, s:f}", "word", cli_json_bytes(word->word), "bonus", word->bonus);
    put_counts(row, &word->counts);
    return row;
}

/* ---- show ---------------------------------------------------------------- */

static const cli_column info_columns[] = {
    {"ad", "ad"},
    {"type", "type"},
    {"price", "price"},
    {"budget", "budget a day"},
    {"spent_today", "spent today"},
    {"until", "budget spent until"},
    {"locations", "locations"},
    {"requires", "requires"},
    {"views", "views"},
    {"clicks", "clicks"},
    {"actions", "actions"},
    {"click_rate", "clicks per view"},
    {"action_rate", "actions per view"},
    {"spent", "spent"},
    {"ecpm", "eCPM"},
    {"bound", "eCPM it may have"},
    {"words", "words"},
    {0},
};

static json_t *need_json(const tkl_ads_need *need)
{
    return json_pack("{s:o, s:o}", "kind", cli_json_bytes(need->kind), "values",
                     cli_json_list(need->values, need->count));
}

/* Returns "age=18-24,25-34", as --require takes it, for people. */
static json_t *need_line(const tkl_ads_need *need)
{
    char *out = NULL;
    size_t size;
    FILE *to = open_memstream(&out, &size);
    if (!to)
        return NULL;
    for (size_t i = 0; i <= need->count; i++) {
        char *text = cli_escape(i ? need->values[i - 1] : need->kind, false);
        fprintf(to, "%s%s", i == 0 ? "" : i == 1 ? "=" : ",", text ? text : "");
        free(text);
    }
    fclose(to);
    json_t *string = json_string(out);
    free(out);
    return string;
}

static json_t *needs_json(const cli_session *cli, const tkl_ads_info *info)
{
    json_t *array = json_array();
    for (size_t i = 0; i < info->need_count; i++)
        json_array_append_new(array,
                              cli->json ? need_json(&info->needs[i]) : need_line(&info->needs[i]));
    return array;
}

static json_t *words_json(const cli_session *cli, const tkl_ads_info *info)
{
    json_t *array = json_array();
    for (size_t i = 0; i < info->word_count; i++)
        json_array_append_new(array, cli->json ? word_row(&info->words[i])
                                               : cli_json_bytes(info->words[i].word));
    return array;
}

static int print_info(const cli_session *cli, const tkl_ads_info *info)
{
    bool budget = info->budget_micros > 0;
    json_t *record = json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "ad", cli_json_bytes(info->name), "type",
        tkl_ads_type_name(info->type), "price", cli_ads_money(info->price_micros), "budget",
        budget ? cli_ads_money(info->budget_micros) : json_null(), "spent_today",
        budget ? cli_ads_money(info->spent_today_micros) : json_null(), "until",
        cli_json_time(info->until_ms), "locations",
        cli_json_list(info->locations, info->location_count), "requires", needs_json(cli, info));
    put_counts(record, &info->counts);
    json_object_set_new(record, "words", words_json(cli, info));
    return cli_print_record(cli, record, info_columns);
}

int cli_ads_show(cli_session *cli)
{
    tkl_ads *ads = NULL;
    tkl_ads_info *info = NULL;
    int failed = cli_ads_open(cli, NULL, &ads);
    if (!failed)
        failed = cli_end(cli, tkl_ads_show(ads, tkl_str(cli->argv[1]), &info));
    if (!failed)
        failed = print_info(cli, info);
    tkl_ads_info_free(info);
    tkl_ads_close(ads);
    return failed;
}

/* ---- report -------------------------------------------------------------- */

static const cli_column ad_columns[] = {
    {"ad", "AD"},
    {"type", "TYPE"},
    {"price", "PRICE"},
    {"views", "VIEWS"},
    {"clicks", "CLICKS"},
    {"actions", "ACTIONS"},
    {"click_rate", "CLICK RATE"},
    {"action_rate", "ACTION RATE"},
    {"spent", "SPENT"},
    {"ecpm", "ECPM"},
    {"bound", "BOUND"},
    {0},
};

static const cli_column word_columns[] = {
    {"word", "WORD"},
    {"bonus", "BONUS"},
    {"views", "VIEWS"},
    {"clicks", "CLICKS"},
    {"actions", "ACTIONS"},
    {"click_rate", "CLICK RATE"},
    {"action_rate", "ACTION RATE"},
    {"spent", "SPENT"},
    {"ecpm", "ECPM"},
    {"bound", "BOUND"},
    {0},
};

/* The lines of a report that are wanted: the first, the last, or both. */
typedef struct wanted {
    size_t best, worst;
} wanted;

static int read_wanted(const cli_session *cli, wanted *w)
{
    int64_t best = cli_number(cli, "best", -1), worst = cli_number(cli, "worst", -1);
    bool all = best < 0 && worst < 0;
    if ((cli_text(cli, "best", NULL) && best < 0) || (cli_text(cli, "worst", NULL) && worst < 0))
        return cli_usage(cli, "--best and --worst are numbers from 0");
    w->best = all ? SIZE_MAX : best < 0 ? 0 : (size_t)best;
    w->worst = worst < 0 ? 0 : (size_t)worst;
    return CLI_OK;
}

static bool is_wanted(const wanted *w, size_t index, size_t count)
{
    return index < w->best || count - index <= w->worst;
}

static int report_ads(cli_session *cli, tkl_ads *ads, const wanted *w)
{
    tkl_ads_lines *lines = NULL;
    json_t *rows = json_array();
    int rc = tkl_ads_report(ads, &lines);
    for (size_t i = 0; rc == TKL_OK && i < lines->count; i++) {
        const tkl_ads_line *line = &lines->items[i];
        if (!is_wanted(w, i, lines->count))
            continue;
        json_t *row =
            json_pack("{s:o, s:s, s:o}", "ad", cli_json_bytes(line->name), "type",
                      tkl_ads_type_name(line->type), "price", cli_ads_money(line->price_micros));
        put_counts(row, &line->counts);
        json_array_append_new(rows, row);
    }
    tkl_ads_lines_free(lines);
    if (rc == TKL_OK)
        return cli_print_rows(cli, rows, ad_columns);
    json_decref(rows);
    return cli_end(cli, rc);
}

static int print_words(const cli_session *cli, const tkl_ads_word *words, size_t count,
                       const wanted *w)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++)
        if (is_wanted(w, i, count))
            json_array_append_new(rows, word_row(&words[i]));
    return cli_print_rows(cli, rows, word_columns);
}

static int report_all_words(cli_session *cli, tkl_ads *ads, const wanted *w)
{
    tkl_ads_words *words = NULL;
    int failed = cli_end(cli, tkl_ads_report_words(ads, &words));
    if (!failed)
        failed = print_words(cli, words->items, words->count, w);
    tkl_ads_words_free(words);
    return failed;
}

static int report_words_of_ad(cli_session *cli, tkl_ads *ads, const wanted *w)
{
    tkl_ads_info *info = NULL;
    int failed = cli_end(cli, tkl_ads_show(ads, tkl_str(cli->argv[1]), &info));
    if (!failed)
        failed = print_words(cli, info->words, info->word_count, w);
    tkl_ads_info_free(info);
    return failed;
}

int cli_ads_report(cli_session *cli)
{
    tkl_ads *ads = NULL;
    wanted w = {0};
    int failed = read_wanted(cli, &w);
    if (!failed && cli_flag(cli, "words") && cli->argc > 1)
        failed = cli_usage(cli, "--words is for all ads; the words of one ad are shown without it");
    if (!failed)
        failed = cli_ads_open(cli, NULL, &ads);
    if (!failed)
        failed = cli->argc > 1            ? report_words_of_ad(cli, ads, &w)
                 : cli_flag(cli, "words") ? report_all_words(cli, ads, &w)
                                          : report_ads(cli, ads, &w);
    tkl_ads_close(ads);
    return failed;
}

/* ---- stats --------------------------------------------------------------- */

static const cli_column stats_columns[] = {
    {"name", "name"},
    {"ads", "ads"},
    {"closed", "of them, budget spent for now"},
    {"smoothing", "smoothing, views"},
    {"explore", "explore, percent"},
    {"clicks_per_1k", "clicks per 1000 views (cpc)"},
    {"actions_per_1k", "actions per 1000 views (cpa)"},
    {0},
};

int cli_ads_stats(cli_session *cli)
{
    tkl_ads *ads = NULL;
    tkl_ads_stats stats;
    int failed = cli_ads_open(cli, NULL, &ads);
    if (!failed)
        failed = cli_end_of(cli, tkl_ads_stats_get(ads, &stats), "set of ads");
    tkl_ads_close(ads);
    if (failed)
        return failed;
    json_t *record = json_pack(
        "{s:o, s:I, s:I, s:o, s:I, s:f, s:f}", "name", cli_json_bytes(tkl_str(cli->argv[0])), "ads",
        (json_int_t)stats.ads, "closed", (json_int_t)stats.closed, "smoothing",
        stats.smoothing == TKL_NONE ? json_null() : json_integer((json_int_t)stats.smoothing),
        "explore", (json_int_t)(stats.explore == TKL_NONE ? 0 : stats.explore), "clicks_per_1k",
        stats.clicks_per_1k, "actions_per_1k", stats.actions_per_1k);
    return cli_print_record(cli, record, stats_columns);
}
