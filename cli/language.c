/* SPDX-License-Identifier: MIT */
#include "language.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>

enum { LINE_COLUMNS = 80 };

/* ---- The user's language ------------------------------------------------- */

/* The first variable of POSIX' order that is set and not empty; "": none is. */
static const char *locale_name(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_MESSAGES", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value != NULL && *value != '\0')
            return value;
    }
    return "";
}

/* Whether a name such as "zh_CN.UTF-8", "zh-Hans" or "zh", which ends at a colon, is of the
 * language. */
static bool is_language(const char *name, const char *language)
{
    size_t len = strlen(language);
    return strncmp(name, language, len) == 0 && strchr("_-.@:", name[len]) != NULL;
}

static bool is_plain_c(const char *name)
{
    return is_language(name, "C") || is_language(name, "POSIX");
}

static bool is_utf8(const char *locale)
{
    const char *charset = strchr(locale, '.');
    return charset == NULL || strncasecmp(charset, ".UTF-8", 6) == 0 ||
           strncasecmp(charset, ".utf8", 5) == 0;
}

bool cli_is_chinese(void)
{
    const char *locale = locale_name(), *list = getenv("LANGUAGE");
    if (is_plain_c(locale) || !is_utf8(locale))
        return false;
    if (list == NULL || *list == '\0')
        return is_language(locale, "zh");
    for (const char *name = list; *name != '\0'; name += *name == ':') {
        if (is_language(name, "zh"))
            return true;
        if (is_language(name, "en") || is_plain_c(name))
            return false;
        name += strcspn(name, ":"); /* a language that we do not speak */
    }
    return false;
}

/* ---- Looking up ---------------------------------------------------------- */

static int compare_text(const void *text, const void *entry)
{
    return strcmp(text, cli_catalogue_text + ((const cli_translation *)entry)->text);
}

const char *cli_translated(const char *text)
{
    if (!cli_is_chinese())
        return text;
    const cli_translation *found =
        bsearch(text, cli_catalogue, cli_catalogue_count, sizeof *cli_catalogue, compare_text);
    return found != NULL ? cli_catalogue_text + found->translation : text;
}

#define CLI_PHRASE_TEXT(name, text) text,
const char *const cli_phrases[CLI_PHRASE_COUNT] = {CLI_PHRASES(CLI_PHRASE_TEXT)};

const char *cli_say(cli_phrase phrase)
{
    return cli_translated(cli_phrases[phrase]);
}

/* ---- Lines of 80 columns ------------------------------------------------- */

/* The bytes of the character, which is not the end of the text. */
static size_t read_character(const char *at, wchar_t *character)
{
    mbstate_t state = {0};
    size_t used = mbrtowc(character, at, strnlen(at, MB_LEN_MAX), &state);
    if (used > 0 && used <= MB_LEN_MAX)
        return used;
    *character = L'?';
    return 1;
}

/* Whether a line may end between two characters. Chinese has no blanks: it may end anywhere, but
 * not in front of a mark that closes, nor behind one that opens. */
static bool may_part(wchar_t before, wchar_t after)
{
    static const wchar_t opening[] = L"（《「『“‘(", closing[] = L"，。；：！？、）》」』”’…)";
    return (wcwidth(before) == 2 || wcwidth(after) == 2) && wcschr(opening, before) == NULL &&
           wcschr(closing, after) == NULL;
}

/* The bytes from `at` that stay together on a line, and their columns. */
static size_t measure_word(const char *at, size_t *columns)
{
    size_t len = 0;
    wchar_t character = 0, before = 0;
    *columns = 0;
    while (at[len] != '\0' && at[len] != '\n' && at[len] != ' ') {
        size_t used = read_character(at + len, &character);
        if (len > 0 && may_part(before, character))
            break;
        int width = wcwidth(character);
        *columns += width > 0 ? (size_t)width : 0;
        before = character;
        len += used;
    }
    return len;
}

/* Prints a line of the text, in as many lines as it needs. Returns what follows its newline. */
static const char *print_wrapped(FILE *stream, const char *at, size_t blanks)
{
    size_t first = blanks + strspn(at, " "), column = 0, columns;
    while (*at != '\0' && *at != '\n') {
        size_t gap = strspn(at, " "), len = measure_word(at + gap, &columns);
        if (column > 0 && column + gap + columns > LINE_COLUMNS) {
            putc('\n', stream);
            column = 0;
        }
        gap = column > 0 ? gap : first;
        at += strspn(at, " ");
        fprintf(stream, "%*s%.*s", (int)gap, "", (int)len, at);
        column += gap + columns;
        at += len;
    }
    putc('\n', stream);
    return *at == '\n' ? at + 1 : at;
}

char *cli_next_paragraph(const char **text)
{
    if (**text == '\0')
        return NULL;
    const char *end = strstr(*text, "\n\n");
    size_t len = end != NULL ? (size_t)(end - *text) : strlen(*text);
    char *paragraph = strndup(*text, len);
    *text += end != NULL ? len + 2 : len;
    return paragraph;
}

/* Lines of a table stay as they are. */
static void print_lines(FILE *stream, const char *text, size_t blanks)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        fprintf(stream, "%*s%.*s\n", (int)blanks, "", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

void cli_print_translated(FILE *stream, const char *text, size_t blanks)
{
    const char *separator = "";
    char *paragraph;
    while ((paragraph = cli_next_paragraph(&text)) != NULL) {
        const char *translation = cli_translated(paragraph);
        fputs(separator, stream);
        separator = "\n";
        if (translation == paragraph)
            print_lines(stream, paragraph, blanks);
        else
            while (*translation != '\0')
                translation = print_wrapped(stream, translation, blanks);
        free(paragraph);
    }
}
