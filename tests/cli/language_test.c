/* SPDX-License-Identifier: MIT
 *
 * Chinese help: every text has a translation, every translation belongs to a text and keeps what
 * users type, and the environment decides as POSIX and GNU say.
 */
#include "language.h"

#include <ctype.h>
#include <locale.h>
#include <wchar.h>

#include "help.h"
#include "lab.h"
#include "out.h"
#include "search.h"
#include "support/test.h"
#include "token.h"
#include "top.h"

/* ---- All texts, as help, the tour and the laboratory have them ------------ */

typedef void text_fn(const char *text, void *arg);

/* Visits each paragraph of a text. */
static void visit_paragraphs(const char *text, text_fn *visit, void *arg)
{
    char *paragraph;
    while (text != NULL && (paragraph = cli_next_paragraph(&text)) != NULL) {
        visit(paragraph, arg);
        free(paragraph);
    }
}

static void visit_options(const cli_option *option, text_fn *visit, void *arg)
{
    for (; option != NULL && option->name != NULL; option++)
        if (option->summary != NULL)
            visit(option->summary, arg);
}

static void visit_steps(const cli_step *step, text_fn *visit, void *arg)
{
    for (; step != NULL && step->command != NULL; step++)
        visit(step->text, arg);
}

static void visit_component(const cli_component *component, text_fn *visit, void *arg)
{
    visit(component->summary, arg);
    for (const cli_verb *verb = component->verbs; verb->run != NULL; verb++) {
        visit(verb->summary, arg);
        visit_paragraphs(verb->details, visit, arg);
        visit_options(verb->options, visit, arg);
    }
    visit_steps(component->demo, visit, arg);
}

static void visit_experiments(const cli_experiment *experiment, text_fn *visit, void *arg)
{
    for (; experiment->name != NULL; experiment++) {
        visit(experiment->title, arg);
        visit(experiment->counted, arg);
        visit_steps(experiment->naive, visit, arg);
        visit_steps(experiment->ours, visit, arg);
        const char *texts[] = {experiment->naive_routine.text, experiment->ours_routine.text};
        for (size_t i = 0; i < 2; i++)
            if (texts[i] != NULL)
                visit(texts[i], arg);
        visit_paragraphs(experiment->learn, visit, arg);
    }
}

static void visit_all(text_fn *visit, void *arg)
{
    for (int i = 0; i < CLI_PHRASE_COUNT; i++)
        visit_paragraphs(cli_phrases[i], visit, arg);
    visit_options(cli_globals, visit, arg);
    visit_paragraphs(cli_token_help, visit, arg);
    for (const cli_entry *entry = cli_contents; entry->title || entry->component; entry++)
        if (entry->title != NULL)
            visit(entry->title, arg);
        else
            visit_component(entry->component, visit, arg);
    for (size_t i = 0; top_keys[i] != NULL; i++)
        if (*top_keys[i] != '\0')
            visit(top_keys[i], arg);
    visit_paragraphs(cli_search_shell_help, visit, arg);
    visit_experiments(cli_lab_holding, visit, arg);
    visit_experiments(cli_lab_passing, visit, arg);
    visit_experiments(cli_lab_counting, visit, arg);
}

/* ---- The catalogue and the texts ----------------------------------------- */

/* The index of a text in the catalogue; -1: it is not there. */
static int entry_of(const char *text)
{
    for (size_t i = 0; i < cli_catalogue_count; i++)
        if (strcmp(cli_catalogue_text + cli_catalogue[i].text, text) == 0)
            return (int)i;
    return -1;
}

/* Prints a text as a string of the PO format. */
static void print_string(const char *keyword, const char *text)
{
    fprintf(stderr, "%s \"", keyword);
    for (; *text != '\0'; text++)
        if (*text == '\n')
            fputs("\\n", stderr);
        else
            fprintf(stderr, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
    fputs("\"\n", stderr);
}

enum { MOST = 10000 };

typedef struct tally {
    bool *used;          /* entries of the catalogue */
    char *missing[MOST]; /* texts without an entry, each once */
    int missing_count;
} tally;

/* A text may stand in several tables; it needs one entry. */
static void note_missing(tally *seen, const char *text)
{
    for (int i = 0; i < seen->missing_count; i++)
        if (strcmp(seen->missing[i], text) == 0)
            return;
    assert_true(seen->missing_count < MOST);
    seen->missing[seen->missing_count++] = strdup(text);
}

static void look_up(const char *text, void *arg)
{
    tally *seen = arg;
    int entry = entry_of(text);
    if (entry >= 0) {
        seen->used[entry] = true;
        assert_string_equal(cli_translated(text),
                            cli_catalogue_text + cli_catalogue[entry].translation);
        return;
    }
    note_missing(seen, text);
}

static void all_texts_have_a_translation_and_all_translations_a_text(void **state)
{
    (void)state;
    static tally seen;
    int unused = 0;
    seen.used = calloc(cli_catalogue_count, sizeof *seen.used);
    visit_all(look_up, &seen);
    for (int i = 0; i < seen.missing_count; i++) {
        fputs(i == 0 ? "\nAdd to cli/zh.po, each with its translation:\n\n" : "\n", stderr);
        print_string("msgid", seen.missing[i]);
        fputs("msgstr \"\"\n", stderr);
        free(seen.missing[i]);
    }
    for (size_t i = 0; i < cli_catalogue_count; i++) {
        if (seen.used[i])
            continue;
        fputs(unused++ == 0 ? "\nRemove from cli/zh.po, no text is this one:\n\n" : "", stderr);
        print_string("msgid", cli_catalogue_text + cli_catalogue[i].text);
    }
    free(seen.used);
    if (seen.missing_count + unused > 0)
        fail_msg("cli/zh.po: %d texts without a translation, %d translations without a text",
                 seen.missing_count, unused);
}

static void the_catalogue_is_sorted(void **state)
{
    (void)state;
    for (size_t i = 1; i < cli_catalogue_count; i++)
        assert_true(strcmp(cli_catalogue_text + cli_catalogue[i - 1].text,
                           cli_catalogue_text + cli_catalogue[i].text) < 0);
}

/* ---- Options, numbers and examples stay ---------------------------------- */

/* Whether a word stands for itself in every language: a placeholder, an option, a variable, a
 * number or a word in capitals, such as NAME or SETNX. */
static bool is_kept(const char *word, size_t len)
{
    bool digit = false, small = false, capital = false;
    for (size_t i = 0; i < len; i++) {
        digit = digit || isdigit((unsigned char)word[i]);
        small = small || islower((unsigned char)word[i]);
        capital = capital || isupper((unsigned char)word[i]);
    }
    if (*word == '%' || *word == '$' || *word == '@' || (len > 2 && memcmp(word, "--", 2) == 0))
        return true;
    return digit || (capital && !small && !(len == 1 && (*word == 'A' || *word == 'I')));
}

/* The length of the word at the text, without the marks that end a sentence. */
static size_t word_length(const char *text)
{
    size_t len = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                              "%$@_-./:=*#");
    while (len > 1 && strchr(".:-/", text[len - 1]) != NULL)
        len--;
    return len;
}

static int complaints;

/* Complains when the translation lacks these bytes of the text. */
static void keep_part(const char *text, const char *translation, const char *part, size_t len)
{
    if (memmem(translation, strlen(translation), part, len) != NULL)
        return;
    complaints++;
    fprintf(stderr, "cli/zh.po: the translation lacks '%.*s'\n", (int)len, part);
    print_string("msgid", text);
    print_string("msgstr", translation);
}

/* Checks that the translation keeps the words for which is_kept() is true. A heading in capitals
 * has no such words. */
static void keep_words(const char *text, const char *translation)
{
    if (strpbrk(text, "abcdefghijklmnopqrstuvwxyz") == NULL)
        return;
    for (const char *at = text; *at != '\0';) {
        size_t len = word_length(at);
        if (len > 0 && is_kept(at, len))
            keep_part(text, translation, at, len);
        at += len > 0 ? len : 1;
    }
}

/* Checks that the translation keeps the examples: a command in quotes, or anything in backticks. */
static void keep_examples(const char *text, const char *translation, char quote)
{
    for (const char *at = strchr(text, quote); at != NULL; at = strchr(at, quote)) {
        const char *end = strchr(at + 1, quote);
        if (end == NULL)
            return;
        size_t len = (size_t)(end + 1 - at);
        if (quote == '`' || memmem(at, len, "tackle", strlen("tackle")) != NULL)
            keep_part(text, translation, at, len);
        at = end + 1;
    }
}

/* Finds the placeholders of printf(), which must stay in their order. */
static void placeholders(const char *text, char found[64])
{
    *found = '\0';
    for (const char *at = strchr(text, '%'); at != NULL; at = strchr(at + 1, '%'))
        if (isalpha((unsigned char)at[1]) && strlen(found) < 60)
            strncat(found, at, 2);
}

static bool has_chinese(const char *text)
{
    wchar_t wide[4096];
    size_t len = mbstowcs(wide, text, sizeof wide / sizeof *wide);
    assert_true(len < sizeof wide / sizeof *wide);
    for (size_t i = 0; i < len; i++)
        if (wide[i] >= 0x4e00 && wide[i] <= 0x9fff)
            return true;
    return false;
}

static void translations_keep_what_users_type(void **state)
{
    (void)state;
    complaints = 0;
    for (size_t i = 0; i < cli_catalogue_count; i++) {
        const char *text = cli_catalogue_text + cli_catalogue[i].text;
        const char *translation = cli_catalogue_text + cli_catalogue[i].translation;
        char ours[64], theirs[64];
        keep_words(text, translation);
        keep_examples(text, translation, '\'');
        keep_examples(text, translation, '`');
        placeholders(text, ours);
        placeholders(translation, theirs);
        assert_string_equal(theirs, ours);
        if (!has_chinese(translation))
            fail_msg("this is not Chinese: %s", translation);
    }
    assert_int_equal(complaints, 0);
}

/* ---- The user's language ------------------------------------------------- */

static const char *const variables[] = {"LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"};
enum { VARIABLES = sizeof variables / sizeof *variables };

static void speak(const char *const values[VARIABLES])
{
    for (int i = 0; i < VARIABLES; i++)
        if (values[i] != NULL)
            setenv(variables[i], values[i], 1);
        else
            unsetenv(variables[i]);
}

static void the_environment_decides_in_the_usual_order(void **state)
{
    (void)state;
    static const struct {
        const char *values[VARIABLES];
        bool chinese;
    } cases[] = {
        {{NULL, NULL, NULL, NULL}, false},
        {{NULL, NULL, NULL, "zh_CN.UTF-8"}, true},
        {{NULL, NULL, NULL, "zh_CN"}, true},
        {{NULL, NULL, NULL, "zh"}, true},
        {{NULL, NULL, NULL, "zh_SG.utf8"}, true},
        {{NULL, NULL, NULL, "zh_TW.UTF-8"}, true},
        {{NULL, NULL, NULL, "zh_HK"}, true},
        {{NULL, NULL, NULL, "zh-Hans"}, true},
        {{NULL, NULL, NULL, "zh_CN.GB18030"}, false},
        {{NULL, NULL, NULL, "zhx_CN"}, false},
        {{NULL, NULL, NULL, "de_DE.UTF-8"}, false},
        {{NULL, NULL, NULL, "z"}, false},
        {{NULL, NULL, "zh_CN.UTF-8", "en_US.UTF-8"}, true},
        {{NULL, NULL, "en_US.UTF-8", "zh_CN.UTF-8"}, false},
        {{NULL, "zh_CN.UTF-8", "en_US.UTF-8", "en_US.UTF-8"}, true},
        {{NULL, "en_US.UTF-8", "zh_CN.UTF-8", "zh_CN.UTF-8"}, false},
        {{NULL, "C", "zh_CN.UTF-8", "zh_CN.UTF-8"}, false},
        {{NULL, "POSIX", NULL, "zh_CN.UTF-8"}, false},
        {{NULL, "", "", "zh_CN.UTF-8"}, true}, /* empty is as not set */
        {{"zh_CN:en", NULL, NULL, NULL}, true},
        {{"zh_CN:en", NULL, NULL, "en_US.UTF-8"}, true},
        {{"zh_CN:en", "de_DE.UTF-8", NULL, NULL}, true},
        {{"en:zh_CN", NULL, NULL, "zh_CN.UTF-8"}, false},
        {{"en_US:zh", NULL, NULL, "zh_CN.UTF-8"}, false},
        {{"de:zh_CN", NULL, NULL, "de_DE.UTF-8"}, true},
        {{"de", NULL, NULL, "zh_CN.UTF-8"}, false},
        {{":zh", NULL, NULL, "en_US.UTF-8"}, true},
        {{"", NULL, NULL, "zh_CN.UTF-8"}, true},
        {{"zh_CN:en", "C", NULL, "zh_CN.UTF-8"}, false}, /* C is stronger than LANGUAGE */
        {{"zh_CN:en", "C.UTF-8", NULL, NULL}, false},
        {{"zh_CN:en", NULL, NULL, "POSIX"}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        speak(cases[i].values);
        if (cli_is_chinese() != cases[i].chinese)
            fail_msg("case %zu: LANGUAGE=%s LC_ALL=%s LC_MESSAGES=%s LANG=%s is %s Chinese", i,
                     cases[i].values[0], cases[i].values[1], cases[i].values[2], cases[i].values[3],
                     cases[i].chinese ? "not" : "taken for");
        assert_string_equal(cli_translated("print the version"),
                            cases[i].chinese ? "输出版本" : "print the version");
    }
}

/* ---- Output -------------------------------------------------------------- */

static char *printed;
static size_t printed_size;

static char *wrapped(const char *text, size_t blanks)
{
    FILE *stream = open_memstream(&printed, &printed_size);
    cli_print_translated(stream, text, blanks);
    fclose(stream);
    return printed;
}

static void chinese_lines_break_between_characters(void **state)
{
    (void)state;
    char *text = wrapped(cli_token_help, 0);
    assert_string_equal(
        text, "TOKEN 的位置上：- 表示从标准输入读取，@FILE 表示从文件读取；TOKEN 是最后一个参数\n"
              "而又省略时，取 $TACKLE_TOKEN。\n");
    free(text);
    text = wrapped(cli_token_help, 4);
    assert_string_equal(
        text, "    TOKEN 的位置上：- 表示从标准输入读取，@FILE 表示从文件读取；TOKEN 是最后一个\n"
              "    参数而又省略时，取 $TACKLE_TOKEN。\n");
    free(text);
    /* A text without a translation, and English, stays as it is. */
    text = wrapped("one\n  two\n\nthree", 2);
    assert_string_equal(text, "  one\n    two\n\n  three\n");
    free(text);
}

/* Fails when a line is wider than `most` or begins with a mark that belongs to the line above. */
static void lines_fit(char *text, size_t most)
{
    static const char *const closing[] = {"，", "。", "；", "：", "、", "）", "”", "！", "？"};
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (cli_width(line) > most)
            fail_msg("a line of %zu columns: %s", cli_width(line), line);
        for (size_t i = 0; i < sizeof closing / sizeof *closing; i++)
            if (strncmp(line + strspn(line, " "), closing[i], strlen(closing[i])) == 0)
                fail_msg("this line begins with a mark: %s", line);
    }
}

static void chinese_help_fits_a_terminal(void **state)
{
    (void)state;
    enum { WIDEST = 90, PARAGRAPH = 80 }; /* as in English: tests/cli/help.sh */
    for (size_t i = 0; cli_components[i] != NULL; i++)
        for (const cli_verb *verb = cli_components[i]->verbs; verb->run != NULL; verb++) {
            FILE *stream = open_memstream(&printed, &printed_size);
            cli_help(stream, cli_components[i], verb);
            cli_help(stream, cli_components[i], NULL);
            cli_help(stream, NULL, NULL);
            fclose(stream);
            assert_contains(printed, "示例");
            lines_fit(printed, WIDEST);
            free(printed);
            char *details = wrapped(verb->details != NULL ? verb->details : "", 0);
            lines_fit(details, PARAGRAPH);
            free(details);
        }
}

static int use_chinese(void **state)
{
    (void)state;
    static const char *const chinese[VARIABLES] = {NULL, NULL, NULL, "zh_CN.UTF-8"};
    speak(chinese);
    return setlocale(LC_CTYPE, "C.UTF-8") != NULL ? 0 : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(all_texts_have_a_translation_and_all_translations_a_text,
                               use_chinese),
        cmocka_unit_test(the_catalogue_is_sorted),
        cmocka_unit_test_setup(translations_keep_what_users_type, use_chinese),
        cmocka_unit_test(the_environment_decides_in_the_usual_order),
        cmocka_unit_test_setup(chinese_lines_break_between_characters, use_chinese),
        cmocka_unit_test_setup(chinese_help_fits_a_terminal, use_chinese),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
