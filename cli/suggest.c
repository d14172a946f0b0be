/* SPDX-License-Identifier: MIT
 *
 * Weighted suggestions from the shell.
 */
#include "suggest.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "items.h"
#include "lines.h"
#include "out.h"
#include "progress.h"

/* Returns the number of an option; TKL_NONE for 0. */
static int64_t or_none(const cli_session *cli, const char *name)
{
    int64_t number = cli_number(cli, name, -2);
    return number == -2 ? 0 : number == 0 ? TKL_NONE : number;
}

static int open_suggest(cli_session *cli, const tkl_suggest_options *options, tkl_suggest **suggest)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_suggest_open(client, tkl_str(cli->argv[0]), options, suggest));
}

/* ---- Feeding and removing ------------------------------------------------ */

/* A change of all items. */
typedef struct work {
    tkl_suggest *suggest;
    double weight; /* weight of items that are arguments */
    bool lines;    /* lines have a weight, a tab and a text */
    int64_t removed;
    uint64_t seen;
    cli_progress bar;
} work;

/* Reads a number with a decimal point in any locale. */
static bool read_weight(tkl_bytes text, double *weight)
{
    char digits[32], *end;
    if (text.len == 0 || text.len >= sizeof digits)
        return false;
    memcpy(digits, text.data, text.len);
    digits[text.len] = 0;
    *weight = strtod(digits, &end);
    return *end == 0 && *weight >= TKL_SUGGEST_WEIGHT_MIN && *weight <= TKL_SUGGEST_WEIGHT_MAX;
}

static int split_line(cli_session *cli, tkl_bytes row, size_t number, tkl_suggest_text *text)
{
    const char *tab = row.len ? memchr(row.data, '\t', row.len) : NULL;
    size_t len = tab ? (size_t)(tab - row.data) : 0;
    if (!tab || !read_weight((tkl_bytes){row.data, len}, &text->weight))
        return cli_usage(cli, "line %zu: not a weight, a tab and a text", number);
    text->text = (tkl_bytes){tab + 1, row.len - len - 1};
    return CLI_OK;
}

static int feed_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    work *w = arg;
    int failed = CLI_OK;
    tkl_suggest_text *texts = calloc(count, sizeof *texts);
    if (!texts)
        return cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; !failed && i < count; i++) {
        texts[i] = (tkl_suggest_text){.text = items[i], .weight = w->weight};
        if (w->lines)
            failed = split_line(cli, items[i], cli_item_line(i), &texts[i]);
    }
    if (!failed) {
        int rc = tkl_suggest_feed(w->suggest, texts, count);
        if (rc != TKL_OK)
            cli_progress_end(&w->bar);
        failed = cli_end_items(cli, rc, count);
    }
    cli_progress_update(&w->bar, w->seen += count);
    free(texts);
    return failed;
}

static tkl_setting setting(const cli_session *cli, const char *name)
{
    return cli_flag(cli, name) ? TKL_SETTING_ON : TKL_SETTING_AS_IS;
}

static int suggest_feed(cli_session *cli)
{
    work w = {.weight = 1, .lines = cli_flag(cli, "lines")};
    tkl_suggest_options options = {
        .ttl_ms = cli_number(cli, "ttl", 0),
        .half_life_ms = or_none(cli, "half-life"),
        .best = cli_number(cli, "best", 0),
        .longest = cli_number(cli, "longest", 0),
        .texts = or_none(cli, "texts"),
        .accents = setting(cli, "accents"),
        .pinyin = setting(cli, "pinyin"),
        .words = setting(cli, "words"),
    };
    const char *weight = cli_text(cli, "weight", NULL);
    if (weight && w.lines)
        return cli_usage(cli, "--weight is not for --lines: each line has its weight");
    if (weight && !read_weight(tkl_str(weight), &w.weight))
        return cli_usage(cli, "invalid --weight '%s': from 1e-9 to 1e15", weight);
    if (cli_number(cli, "best", 1) == 0 || cli_number(cli, "longest", 1) == 0)
        return cli_usage(cli, "--best and --longest are above 0");
    int failed = open_suggest(cli, &options, &w.suggest);
    cli_progress_start(&w.bar, "fed:", 0);
    if (!failed)
        failed = cli_text_items(cli, 1, feed_some, &w);
    cli_progress_end(&w.bar);
    tkl_suggest_close(w.suggest);
    return failed || !cli->json ? failed : cli_print_count(cli, "fed", (int64_t)w.seen);
}

static int remove_some(cli_session *cli, const tkl_bytes *items, size_t count, void *arg)
{
    work *w = arg;
    int64_t removed = 0;
    int failed = cli_end_items(cli, tkl_suggest_remove(w->suggest, items, count, &removed), count);
    w->removed += removed;
    return failed;
}

static int remove_texts(cli_session *cli)
{
    work w = {.removed = 0};
    int failed = open_suggest(cli, NULL, &w.suggest);
    if (!failed)
        failed = cli_text_items(cli, 1, remove_some, &w);
    tkl_suggest_close(w.suggest);
    return failed ? failed : cli_print_removed(cli, w.removed);
}

/* ---- Hints --------------------------------------------------------------- */

static int read_count(const cli_session *cli, size_t *count)
{
    int64_t number = cli_number(cli, "count", 5);
    if (number < 0 || number > TKL_SUGGEST_HINTS_MAX)
        return cli_usage(cli, "--count is from 0 to %d", TKL_SUGGEST_HINTS_MAX);
    *count = (size_t)number;
    return CLI_OK;
}

/* Returns a weight; without a fraction if it is whole. */
static json_t *weight_json(double weight)
{
    bool whole = weight == floor(weight) && weight < 1e15;
    return whole ? json_integer((json_int_t)weight) : json_real(weight);
}

static const cli_column hint_columns[] = {
    {"text", "TEXT"},
    {"weight", "WEIGHT"},
    {0},
};

static int print_hints(const cli_session *cli, const tkl_suggestions *found)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < found->count; i++) {
        const tkl_suggestion *s = &found->items[i];
        json_t *row = json_pack("{s:o, s:o}", "text", cli_json_bytes(s->text), "weight",
                                weight_json(s->weight));
        if (cli_flag(cli, "typos"))
            json_object_set_new(row, "corrected", json_boolean(s->corrected));
        json_array_append_new(rows, row);
    }
    if (found->more)
        fprintf(stderr, "tackle: more texts begin so, but this prefix keeps its best %zu only\n",
                found->count);
    return cli_print_rows(cli, rows, hint_columns);
}

static int suggest_hint(cli_session *cli)
{
    tkl_suggest *suggest = NULL;
    tkl_suggestions *found = NULL;
    tkl_suggest_options options = {.typos = cli_flag(cli, "typos")};
    size_t count = 0;
    int failed = read_count(cli, &count);
    if (!failed)
        failed = open_suggest(cli, &options, &suggest);
    if (!failed)
        failed = cli_end(cli, tkl_suggest_hint(suggest, tkl_str(cli->argv[1]), count, &found));
    if (!failed)
        failed = print_hints(cli, found);
    tkl_suggestions_free(found);
    tkl_suggest_close(suggest);
    return failed;
}

static int try_line(cli_session *cli)
{
    tkl_suggest *suggest = NULL;
    tkl_suggest_options options = {.typos = cli_flag(cli, "typos")};
    size_t count = 0;
    int failed = read_count(cli, &count);
    if (!failed)
        failed = open_suggest(cli, &options, &suggest);
    if (!failed)
        failed = cli_suggest_try(cli, suggest, count);
    tkl_suggest_close(suggest);
    return failed;
}

/* ---- The whole ----------------------------------------------------------- */

static const cli_column info_columns[] = {
    {"name", "name"},         {"texts", "texts"},
    {"texts_max", "at most"}, {"best", "best"},
    {"longest", "longest"},   {"half_life_ms", "half-life"},
    {"accents", "accents"},   {"pinyin", "pinyin"},
    {"by_words", "words"},    {0},
};

static json_t *number_or_null(int64_t number)
{
    return number == TKL_NONE ? json_null() : json_integer((json_int_t)number);
}

static int suggest_show(cli_session *cli)
{
    tkl_suggest *suggest = NULL;
    tkl_suggest_info *info = NULL;
    int failed = open_suggest(cli, NULL, &suggest);
    if (!failed)
        failed = cli_end_of(cli, tkl_suggest_show(suggest, &info), "index of suggestions");
    tkl_suggest_close(suggest);
    if (failed)
        return failed;
    json_t *record = json_pack(
        "{s:o, s:I, s:o, s:I, s:I, s:o, s:b, s:b, s:b}", "name",
        cli_json_bytes(tkl_str(cli->argv[0])), "texts", (json_int_t)info->texts, "texts_max",
        number_or_null(info->texts_max), "best", (json_int_t)info->best, "longest",
        (json_int_t)info->longest, "half_life_ms", number_or_null(info->half_life_ms), "accents",
        info->accents, "pinyin", info->pinyin, "by_words", info->words);
    tkl_suggest_info_free(info);
    return cli_print_record(cli, record, info_columns);
}

static int suggest_list(cli_session *cli)
{
    return cli_list(cli, tkl_suggest_names);
}

static int suggest_drop(cli_session *cli)
{
    tkl_suggest *suggest = NULL;
    int failed =
        cli_confirm(cli, "This deletes the suggestions '%s' with all texts.", cli->argv[0]);
    if (!failed)
        failed = open_suggest(cli, NULL, &suggest);
    if (!failed)
        failed = cli_end_of(cli, tkl_suggest_drop(suggest), "index of suggestions");
    tkl_suggest_close(suggest);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option feed_options[] = {
    {"weight", CLI_TEXT, "N", "add this to the weight of each text (default 1)"},
    {"lines", CLI_LOCAL_FLAG, NULL, "each line of standard input is WEIGHT, a tab, TEXT"},
    {"half-life", CLI_DURATION, "DURATION",
     "when new: weights halve in this time (default: never)"},
    {"best", CLI_INTEGER, "N", "when new: texts kept for each prefix (default 50)"},
    {"longest", CLI_INTEGER, "N", "when new: characters of the longest such prefix (default 16)"},
    {"texts", CLI_INTEGER, "N",
     "when new: keep at most N texts; 0 is no limit (default a million)"},
    {"accents", CLI_FLAG, NULL, "when new: munch finds München"},
    {"pinyin", CLI_FLAG, NULL, "when new: bj finds 北京"},
    {"words", CLI_FLAG, NULL, "when new: york finds new york"},
    {"ttl", CLI_PERIOD, "DURATION", "all texts expire this long after the last write"},
    {0},
};

static const cli_option remove_options[] = {
    CLI_LINES,
    {0},
};

static const cli_option hint_options[] = {
    {"count", CLI_INTEGER, "K", "print at most K (default 5, up to 100)"},
    {"typos", CLI_FLAG, NULL, "correct one mistyped character when nothing else fits"},
    {0},
};

static const cli_option drop_options[] = {
    CLI_YES,
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "feed",
        .args = "NAME [TEXT...]",
        .summary = "raise the weights of texts",
        .options = feed_options,
        .details = "The settings of the first feed are remembered; a program that asks for other\n"
                   "settings is refused.",
        .example = "tackle suggest feed queries 'weather berlin' --weight 3\n"
                   "printf '5\\tweather\\n2\\t北京天气\\n' | tackle suggest feed queries --lines\n"
                   "tackle suggest hint queries we",
        .effect = CLI_WRITES,
        .run = suggest_feed,
    },
    {
        .name = "hint",
        .args = "NAME PREFIX",
        .summary = "the heaviest texts that begin with PREFIX",
        .options = hint_options,
        .example = "tackle suggest feed queries weather wedding weather\n"
                   "tackle suggest hint queries we --json\n"
                   "tackle suggest hint queries waether --typos",
        .effect = CLI_READS,
        .run = suggest_hint,
    },
    {
        .name = "remove",
        .args = "NAME [TEXT...]",
        .summary = "forget texts with their weights; prints how many were there",
        .options = remove_options,
        .example = "tackle suggest feed queries weather\n"
                   "tackle suggest remove queries weather",
        .effect = CLI_WRITES,
        .run = remove_texts,
    },
    {
        .name = "try",
        .args = "NAME",
        .summary = "a line on the terminal that is completed while you type",
        .options = hint_options,
        .details = "Tab takes the first suggestion, Enter ends and prints the line, Ctrl-C ends.",
        .example = "tackle suggest feed queries weather wedding\n"
                   "tackle suggest hint queries w   # or on a terminal: tackle suggest try queries",
        .local = "it is a conversation on a terminal",
        .run = try_line,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "how many texts there are, and the settings",
        .example = "tackle suggest feed queries weather\n"
                   "tackle suggest show queries",
        .effect = CLI_READS,
        .run = suggest_show,
    },
    {
        .name = "list",
        .summary = "all suggestions",
        .options = cli_list_options,
        .example = "tackle suggest feed queries weather\n"
                   "tackle suggest list",
        .effect = CLI_READS,
        .run = suggest_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "forget all texts, and the settings",
        .options = drop_options,
        .example = "tackle suggest feed tackle-example weather\n"
                   "tackle suggest drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = suggest_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"What others searched for, the most frequent first.",
     "tackle suggest feed queries weather wedding weather 北京天气 --pinyin; "
     "tackle suggest hint queries we",
     0},
    {"In pinyin, and with a typo.",
     "tackle suggest hint queries bj --json; tackle suggest hint queries waether --typos --json",
     0},
    {0},
};

const cli_component cli_suggest = {
    .name = "suggest",
    .summary = "weighted suggestions while typing",
    .verbs = verbs,
    .demo = demo,
};
