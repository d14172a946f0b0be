/* SPDX-License-Identifier: MIT
 *
 * `tackle text`: shows how the library treats text. Needs no server.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "items.h"
#include "out.h"

static tkl_text_rules rules_given(const cli_session *cli)
{
    return (tkl_text_rules){.accents = cli_flag(cli, "accents"),
                            .chinese = cli_flag(cli, "chinese"),
                            .hangul = cli_flag(cli, "hangul")};
}

/* ---- fold ---------------------------------------------------------------- */

static int fold_some(cli_session *cli, const tkl_bytes *texts, size_t count, void *rows)
{
    tkl_text_rules rules = rules_given(cli);
    tkl_names *folded = NULL;
    int failed = cli_end_items(cli, tkl_text_fold(texts, count, &rules, &folded), count);
    for (size_t i = 0; !failed && i < count; i++) {
        if (cli->json) {
            json_array_append_new(rows, json_pack("{s:o, s:o}", "text", cli_json_bytes(texts[i]),
                                                  "folded", cli_json_bytes(folded->items[i])));
        } else {
            cli_print_bytes(folded->items[i]);
            putchar('\n');
        }
    }
    tkl_names_free(folded);
    return failed;
}

/* Ends a verb: prints an array of all rows with --json; else the rows are printed already. */
static int end_rows(const cli_session *cli, int failed, json_t *rows)
{
    if (!failed && cli->json)
        return cli_print_json(cli, rows);
    json_decref(rows);
    return failed ? failed : cli_flush(cli);
}

static int text_fold(cli_session *cli)
{
    json_t *rows = json_array();
    return end_rows(cli, cli_text_items(cli, 0, fold_some, rows), rows);
}

/* ---- words --------------------------------------------------------------- */

static int text_words(cli_session *cli)
{
    static const cli_column columns[] = {{"word", "WORD"},   {"position", "POSITION"},
                                         {"start", "START"}, {"length", "LENGTH"},
                                         {"kind", "KIND"},   {0}};
    tkl_bytes text;
    tkl_text_words *found = NULL;
    tkl_text_rules rules = rules_given(cli);
    rules.stem = cli_text(cli, "stem", NULL);
    rules.usual_stop_words = cli_flag(cli, "no-stop-words");
    rules.stop_words = tkl_str(cli_text(cli, "without", NULL));
    rules.pieces = cli_flag(cli, "pieces");
    int failed = cli_payload(cli, 0, &text);
    if (!failed)
        failed = cli_end(cli, tkl_text_words_find(text, &rules, &found));
    if (failed)
        return failed;
    json_t *rows = json_array();
    for (size_t i = 0; i < found->count; i++) {
        const tkl_text_word *word = &found->items[i];
        json_array_append_new(
            rows,
            json_pack("{s:o, s:I, s:I, s:I, s:s}", "word", cli_json_bytes(word->text), "position",
                      (json_int_t)word->position, "start", (json_int_t)word->start, "length",
                      (json_int_t)word->len, "kind", tkl_text_word_kind_name(word->kind)));
    }
    tkl_text_words_free(found);
    return cli_print_rows(cli, rows, columns);
}

/* ---- pinyin -------------------------------------------------------------- */

/* Prints the forms of each text in a row, separated by blanks. */
static int pinyin_some(cli_session *cli, const tkl_bytes *texts, size_t count, void *rows)
{
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < count; i++) {
        tkl_names *forms = NULL;
        failed = cli_end(cli, tkl_text_pinyin(texts[i], &forms));
        json_t *list = json_array();
        for (size_t k = 0; !failed && k < forms->count; k++) {
            json_array_append_new(list, cli_json_bytes(forms->items[k]));
            if (!cli->json) {
                printf("%s", k > 0 ? " " : "");
                cli_print_bytes(forms->items[k]);
            }
        }
        if (!failed && !cli->json)
            putchar('\n');
        json_array_append_new(
            rows, json_pack("{s:o, s:o}", "text", cli_json_bytes(texts[i]), "forms", list));
        tkl_names_free(forms);
    }
    return failed;
}

static int text_pinyin(cli_session *cli)
{
    json_t *rows = json_array();
    return end_rows(cli, cli_text_items(cli, 0, pinyin_some, rows), rows);
}

/* ---- score --------------------------------------------------------------- */

static int score_some(cli_session *cli, const tkl_bytes *texts, size_t count, void *rows)
{
    for (size_t i = 0; i < count; i++) {
        double low, high, score = tkl_text_score(texts[i]);
        tkl_text_score_range(texts[i], &low, &high);
        if (cli->json)
            json_array_append_new(rows,
                                  json_pack("{s:o, s:I, s:I}", "text", cli_json_bytes(texts[i]),
                                            "score", (json_int_t)score, "last", (json_int_t)high));
        else
            printf("%.0f %.0f\n", score, high);
    }
    return CLI_OK;
}

static int text_score(cli_session *cli)
{
    json_t *rows = json_array();
    return end_rows(cli, cli_text_items(cli, 0, score_some, rows), rows);
}

/* ---- The component ------------------------------------------------------- */

#define FOLDING                                                                  \
    {"accents", CLI_FLAG, NULL, "without accents: Müller becomes muller"},       \
        {"chinese", CLI_FLAG, NULL, "traditional characters become simplified"}, \
    {                                                                            \
        "hangul", CLI_FLAG, NULL, "Korean syllables become their letters"        \
    }

static const cli_option fold_options[] = {FOLDING, CLI_LINES, {0}};
static const cli_option words_options[] = {
    FOLDING,
    {"stem", CLI_TEXT, "LANGUAGE", "stems of words: en, de, french ..."},
    {"no-stop-words", CLI_FLAG, NULL, "without the usual stop words of English and Chinese"},
    {"without", CLI_TEXT, "WORDS", "without these words, separated by blanks"},
    {"pieces", CLI_FLAG, NULL, "all characters and pairs of Chinese, Japanese and Korean"},
    {0},
};
static const cli_option lines_options[] = {CLI_LINES, {0}};

static const cli_verb verbs[] = {
    {
        .name = "fold",
        .args = "[TEXT...]",
        .summary = "what readers take for the same text becomes the same text",
        .options = fold_options,
        .example = "tackle text fold 'STRASSE' 'Müller' --accents\n"
                   "echo 張三 | tackle text fold --chinese --lines --json",
        .effect = CLI_READS,
        .run = text_fold,
    },
    {
        .name = "words",
        .args = "[TEXT]",
        .summary = "the words of a text, as search finds them",
        .options = words_options,
        .details = "START and LENGTH are bytes of the text. POSITION counts stop words, too.",
        .example = "tackle text words 'The cats were running' --no-stop-words --stem en\n"
                   "tackle text words 我爱北京 --pieces --json",
        .effect = CLI_READS,
        .run = text_words,
    },
    {
        .name = "pinyin",
        .args = "[TEXT...]",
        .summary = "the ways to write Chinese texts in pinyin, a line each",
        .options = lines_options,
        .example = "tackle text pinyin 张三 重庆\n"
                   "tackle text pinyin 张三 --json",
        .effect = CLI_READS,
        .run = text_pinyin,
    },
    {
        .name = "score",
        .args = "[TEXT...]",
        .summary = "texts as scores of a sorted set, in the order of their bytes",
        .options = lines_options,
        .details = "Prints the score, and the last score of texts that begin with it: ZRANGE\n"
                   "... BYSCORE from the one to the other finds them.",
        .example = "tackle text score Mo 'Moby Dick'",
        .effect = CLI_READS,
        .run = text_score,
    },
    {0},
};

static const cli_step demo[] = {
    {"Words of a text as search finds them: folded, stemmed, without stop words.",
     "tackle text words 'The cafés were closing' --accents --stem en --no-stop-words", 0},
    {"By which letters Chinese names are found.", "tackle text pinyin 张三", 0},
    {0},
};

const cli_component cli_texts = {
    .name = "text",
    .summary = "fold texts, cut them into words, write them in pinyin",
    .verbs = verbs,
    .demo = demo,
};
