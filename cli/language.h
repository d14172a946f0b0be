/* SPDX-License-Identifier: MIT
 *
 * The language of help, of the guided tour and of the laboratory: English, or Chinese where the
 * environment asks for it. Errors, JSON, the manual and everything else are English always. The
 * translations stand in zh.po, and are compiled in: no locale needs to be on the machine.
 */
#ifndef TKL_CLI_LANGUAGE_H
#define TKL_CLI_LANGUAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Whether the environment asks for Chinese. The first of LC_ALL, LC_MESSAGES and LANG that is not
 * empty names the locale; in its place counts the list LANGUAGE, unless that locale is C, POSIX or
 * C with a character set. A locale with another character set than UTF-8 cannot show our
 * Chinese. */
bool cli_is_chinese(void);

/* A text of the tables in the user's language; for English the same pointer. */
const char *cli_translated(const char *text);

/* The next paragraph of a text, to be freed, for which there is a translation; moves *text behind
 * it and the empty line. NULL: there is none. */
char *cli_next_paragraph(const char **text);

/* Prints a text of one or more paragraphs in the user's language, behind `blanks` blanks, and a
 * newline. Lines that are longer than 80 columns go on in the next one, with the blanks that they
 * begin with; English stays as it stands in the table. */
void cli_print_translated(FILE *stream, const char *text, size_t blanks);

/* ---- Texts outside of the tables ----------------------------------------- */

#define CLI_PHRASES(X)                                                                           \
    X(CLI_SAY_TITLE, "tackle: application components on Redis and Valkey")                       \
    X(CLI_SAY_USAGE, "Usage: ")                                                                  \
    X(CLI_SAY_GLOBALS, "Options, anywhere before --")                                            \
    X(CLI_SAY_WRITING,                                                                           \
      "Durations: 250ms 10s 5m 1h30m 2d 1w, a bare number is seconds. Sizes: 64kb 256mb.\n"      \
      "Times: 12:17, '10m ago', 'in 10m', 'yesterday 14:00', 2026-11-16, 2026-11-16T14:00Z.\n"   \
      "Exit codes: 0 done, 1 an expected \"no\", 64 wrong usage, 69 server unreachable or not\n" \
      "ready, 77 not permitted, 70 any other failure; run verbs: 75 not acquired, 76 lost.\n"    \
      "'tackle COMMAND [VERB] --help' explains it, with an example.")                            \
    X(CLI_SAY_VERBS, "Verbs")                                                                    \
    X(CLI_SAY_VERB_HELP, "'tackle %s VERB --help' explains a verb, with an example.")            \
    X(CLI_SAY_OPTIONS, "Options")                                                                \
    X(CLI_SAY_EXAMPLE, "Example")                                                                \
    X(CLI_SAY_GLOBAL_HELP, "Options of every command: tackle help")                              \
    X(CLI_SAY_MORE_TOURS,                                                                        \
      "More: tackle demo COMMAND, or --all of them. What goes wrong without: tackle lab\n"       \
      "In a browser, with living data: tackle serve --demo")                                     \
    X(CLI_SAY_DASHBOARD, "What is there now, in a browser. Ctrl-C ends it.")                     \
    X(CLI_SAY_NAIVE, "The naive way")                                                            \
    X(CLI_SAY_OURS, "With tackle")                                                               \
    X(CLI_SAY_SEEN, "What was seen")                                                             \
    X(CLI_SAY_COUNTS, "%s: %s the naive way, %s with tackle")                                    \
    X(CLI_SAY_LEARN, "What to learn")                                                            \
    X(CLI_SAY_PAGE, "More: docs/%s")                                                             \
    X(CLI_SAY_NAMES, "NAME")                                                                     \
    X(CLI_SAY_TITLES, "TITLE")

#define CLI_PHRASE_NAME(name, text) name,
typedef enum cli_phrase { CLI_PHRASES(CLI_PHRASE_NAME) CLI_PHRASE_COUNT } cli_phrase;

extern const char *const cli_phrases[CLI_PHRASE_COUNT]; /* in English */

/* A phrase in the user's language. */
const char *cli_say(cli_phrase phrase);

/* ---- The catalogue: zh.po as tools/catalogue prints it ------------------- */

/* Where a text and its translation begin in cli_catalogue_text. */
typedef struct cli_translation {
    uint32_t text;
    uint32_t translation;
} cli_translation;

extern const char cli_catalogue_text[];
extern const cli_translation cli_catalogue[]; /* sorted by text, as strcmp() does */
extern const size_t cli_catalogue_count;

#endif
