/* SPDX-License-Identifier: MIT */
#include "wording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "out.h"

static const char field_letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";

static bool ends_with(const char *field, size_t len, const char *ending)
{
    size_t size = strlen(ending);
    return len > size && memcmp(field + len - size, ending, size) == 0;
}

/* Options whose names differ from those of the library's fields. */
static const struct {
    const char *field, *option;
} aliases[] = {{"max", "count"},        {"timeout_ms", "node-timeout"}, {"at_ms", "time"},
               {"dead_ms", "dead-for"}, {"target_ms", "keep"},          {"compare_max", "compare"}};

static const cli_option *option_of_alias(const cli_session *cli, const char *field, size_t len)
{
    const cli_option *option = NULL;
    for (size_t i = 0; option == NULL && i < sizeof aliases / sizeof *aliases; i++)
        if (strlen(aliases[i].field) == len && memcmp(aliases[i].field, field, len) == 0)
            option = cli_find_option(cli, aliases[i].option, strlen(aliases[i].option));
    return option;
}

/* "drop_after_ms" is --drop-after: the option's name may lack the unit. */
static const cli_option *option_of_field(const cli_session *cli, const char *field, size_t len)
{
    static const char *const units[] = {"", "_ms", "_days", "_micros", "_bytes", "_size"};
    const cli_option *alias = option_of_alias(cli, field, len);
    char name[64];
    if (alias != NULL || len >= sizeof name)
        return alias;
    for (size_t i = 0; i < len; i++)
        name[i] = field[i] == '_' ? '-' : field[i];
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        bool fits = *units[i] == '\0' || ends_with(field, len, units[i]);
        const cli_option *option = fits ? cli_find_option(cli, name, len - strlen(units[i])) : NULL;
        if (option != NULL)
            return option;
    }
    return NULL;
}

/* Replaces " is 5, must be from 100 to 10000" after a duration in milliseconds. Returns the rest of
 * the message; NULL: the text is something else. */
static const char *reword_range(FILE *to, const char *at)
{
    int64_t value, least, most;
    char text[3][CLI_DURATION_SIZE];
    int used = 0;
    if (sscanf(at, " is %" SCNd64 ", must be from %" SCNd64 " to %" SCNd64 "%n", &value, &least,
               &most, &used) != 3)
        return NULL;
    fprintf(to, " is %s, must be from %s to %s", cli_duration_text(value, text[0]),
            cli_duration_text(least, text[1]), cli_duration_text(most, text[2]));
    return at + used;
}

/* Replaces one word of the message. A plain word, such as "limit", is a field only if a number
 * follows. Returns the rest of the message. */
static const char *reword_field(const cli_session *cli, FILE *to, const char *word, size_t len)
{
    const char *next = word + len;
    bool has_number = strncmp(next, " is ", 4) == 0 && strchr("-0123456789", next[4]) != NULL;
    bool is_field = memchr(word, '_', len) != NULL || (has_number && next[4] != '\0');
    const cli_option *option = is_field ? option_of_field(cli, word, len) : NULL;
    if (option == NULL) {
        fwrite(word, 1, len, to);
        return next;
    }
    fprintf(to, "--%s", option->name);
    const char *behind = ends_with(word, len, "_ms") ? reword_range(to, next) : NULL;
    return behind != NULL ? behind : next;
}

char *cli_reword(const cli_session *cli, const char *message)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    for (const char *at = message; *at != '\0';) {
        size_t len = strspn(at, field_letters);
        if (len > 0 && at > message && at[-1] == '"' && at[len] == '"') { /* a member of JSON */
            fwrite(at, 1, len, to);
            at += len;
        } else if (len > 0)
            at = reword_field(cli, to, at, len);
        while (*at != '\0' && strchr(field_letters, *at) == NULL)
            putc(*at++, to);
    }
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}
