/* SPDX-License-Identifier: MIT
 *
 * The library has no fields, and its messages are for people. They name what is wrong as the help
 * does, quote it, or say how long it may be: "invalid --rate", "'x' is not a day", "a kind has 1 to
 * 64 bytes". The first of these that fits a single field decides.
 */
#include "wrong.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Letters of names of fields. */
static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

/* ---- By its name, as the help has it ------------------------------------- */

/* Whether the text begins with the name, as a whole word in any case. */
static bool begins_with(const char *text, const char *name)
{
    size_t len = strlen(name);
    return len > 0 && strncasecmp(text, name, len) == 0 && !isalnum((unsigned char)text[len]) &&
           text[len] != '-';
}

/* "invalid --rate", "missing NAME". */
static const char *find_named(const cli_session *cli, const serve_word *words, size_t count,
                              const char *message)
{
    for (const char *at = message; *at != '\0'; at += strcspn(at, " "), at += strspn(at, " ")) {
        bool named = strncmp(at, "--", 2) == 0 || isupper((unsigned char)at[1]) ||
                     strncmp(message, "invalid ", 8) == 0;
        const char *word = at + strspn(at, "-'");
        for (const cli_option *o = cli->verb->options; named && o != NULL && o->name != NULL; o++)
            if (begins_with(word, o->name))
                return o->name;
        for (size_t i = 0; named && i < count; i++)
            if (begins_with(word, words[i].name))
                return words[i].name;
    }
    return NULL;
}

/* ---- By its text --------------------------------------------------------- */

typedef bool fit(const char *message, const char *text);

static bool fits_value(const json_t *value, const char *message, fit *fits)
{
    char number[24];
    size_t i;
    const json_t *one;
    json_array_foreach(value, i, one) if (fits_value(one, message, fits)) return true;
    if (json_is_integer(value)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(value));
        return fits(message, number);
    }
    return json_is_string(value) && fits(message, json_string_value(value));
}

/* The only field whose text fits; NULL: none does, or several do. */
static const char *find_only(const json_t *fields, const char *message, fit *fits)
{
    const char *name, *found = NULL;
    json_t *value;
    json_object_foreach((json_t *)fields, name, value)
    {
        if (!fits_value(value, message, fits))
            continue;
        if (found != NULL)
            return NULL;
        found = name;
    }
    return found;
}

/* The message has it in quotes: all of it, its name in "votes=3", or the beginning if it is
 * long. */
static bool is_quoted(const char *message, const char *text)
{
    enum { LONG = 20 };
    for (const char *at = strchr(message, '\''); at != NULL; at = strchr(at + 1, '\'')) {
        size_t len = strcspn(at + 1, "'");
        bool begins = strncmp(text, at + 1, len < LONG ? len : LONG) == 0;
        if (begins && (len >= LONG || (at[len + 1] == '\'' && memchr("=:", text[len], 3) != NULL)))
            return true;
    }
    return false;
}

/* The message has a number of bytes, and the text has more. A number of a few bytes is another
 * one: "1 to 1024 bytes". */
static bool is_too_long(const char *message, const char *text)
{
    enum { FEW = 16 };
    unsigned long most = 0;
    if (strstr(message, " bytes") == NULL)
        return false;
    for (const char *at = message; *(at += strcspn(at, "0123456789")) != '\0';) {
        char *end;
        unsigned long number = strtoul(at, &end, 10);
        most = number >= FEW && (most == 0 || number < most) ? number : most;
        at = end;
    }
    return most > 0 && strlen(text) > most;
}

static bool is_empty(const char *message, const char *text)
{
    (void)message;
    return *text == '\0';
}

/* ---- By its name, as a plain word ---------------------------------------- */

/* "a kind has 1 to 64 bytes": the first word that is the name of a given field. Not where the
 * message is about something that the field names: "the index has no field 'x'". */
static const char *find_word(const json_t *fields, const char *message)
{
    char word[64];
    if (strstr(message, " has no ") != NULL || strstr(message, " has other ") != NULL ||
        strstr(message, " made with ") != NULL)
        return NULL;
    for (const char *at = message; *(at += strcspn(at, letters)) != '\0';) {
        size_t len = strspn(at, letters);
        if (len < sizeof word) {
            memcpy(word, at, len);
            word[len] = '\0';
            void *field = json_object_iter_at((json_t *)fields, word);
            if (field != NULL)
                return json_object_iter_key(field);
        }
        at += len;
    }
    return NULL;
}

const char *serve_wrong_field(const cli_session *cli, const json_t *fields, const serve_word *words,
                              size_t count, const char *message)
{
    const char *field = find_named(cli, words, count, message);
    if (field == NULL)
        field = find_only(fields, message, is_quoted);
    if (field == NULL)
        field = find_only(fields, message, is_too_long);
    if (field == NULL)
        field = find_only(fields, message, is_empty);
    return field != NULL ? field : find_word(fields, message);
}
