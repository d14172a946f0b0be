/* SPDX-License-Identifier: MIT
 *
 * Prints the tables of verbs and options for bash completion and the man page.
 */
#include <stdlib.h>

#include "help.h"
#include "token.h"

/* ---- Bash completion ----------------------------------------------------- */

/* "--flag", "--option=" or "--option=a|b|c". */
static void complete_options(FILE *stream, const cli_option *option)
{
    for (; option != NULL && option->name != NULL; option++) {
        if (option->summary == NULL)
            continue;
        fprintf(stream, " --%s%s", option->name, option->value != NULL ? "=" : "");
        if (option->kind == CLI_CHOICE)
            fputs(option->value, stream);
    }
    putc('\n', stream);
}

/* "COMPONENT VERB OPTION...", with "-" where there is none; the first line has the options of
 * every verb. */
void cli_describe_completion(FILE *stream)
{
    fputs("- -", stream);
    complete_options(stream, cli_globals);
    for (size_t i = 0; cli_components[i] != NULL; i++)
        for (const cli_verb *verb = cli_components[i]->verbs; verb->run != NULL; verb++) {
            fprintf(stream, "%s %s", cli_components[i]->name,
                    verb->name != NULL ? verb->name : "-");
            complete_options(stream, verb->options);
        }
}

/* ---- The man page -------------------------------------------------------- */

/* Text for roff: dashes are minus signs, an empty line parts paragraphs, and no line may look
 * like a request. */
static void print_roff(FILE *stream, const char *text)
{
    bool fresh = true;
    for (; *text != '\0'; text++) {
        if (fresh && (*text == '.' || *text == '\''))
            fputs("\\&", stream);
        if (fresh && *text == '\n')
            fputs(".PP\n", stream);
        else if (*text == '-')
            fputs("\\-", stream);
        else if (*text == '\\')
            fputs("\\e", stream);
        else
            putc(*text, stream);
        fresh = *text == '\n';
    }
    putc('\n', stream);
}

static void man_options(FILE *stream, const cli_option *option)
{
    for (; option != NULL && option->name != NULL; option++) {
        if (option->summary == NULL)
            continue;
        fprintf(stream, ".TP\n\\fB\\-\\-%s\\fR%s%s%s\n", option->name,
                option->value != NULL ? " \\fI" : "", option->value != NULL ? option->value : "",
                option->value != NULL ? "\\fR" : "");
        print_roff(stream, option->summary);
    }
}

static void man_verb(FILE *stream, const cli_component *component, const cli_verb *verb)
{
    fputs(".SS ", stream);
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return;
    cli_synopsis(to, component, verb);
    if (fclose(to) == 0)
        print_roff(stream, text);
    free(text);
    print_roff(stream, verb->summary);
    if (verb->details != NULL) {
        fputs(".PP\n", stream);
        print_roff(stream, verb->details);
    }
    if (cli_takes_token(verb)) {
        fputs(".PP\n", stream);
        print_roff(stream, cli_token_help);
    }
    man_options(stream, verb->options);
}

/* One line for each verb. */
static void man_synopsis(FILE *stream, const cli_component *component)
{
    for (const cli_verb *verb = component->verbs; verb->run != NULL; verb++) {
        char *text = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&text, &size);
        if (to == NULL)
            return;
        cli_synopsis(to, component, verb);
        if (fclose(to) == 0) {
            print_roff(stream, text);
            fputs(".br\n", stream);
        }
        free(text);
    }
}

static void man_examples(FILE *stream, const cli_component *component)
{
    for (const cli_verb *verb = component->verbs; verb->run != NULL; verb++) {
        fputs(".PP\n.RS\n.EX\n", stream);
        print_roff(stream, verb->example);
        fputs(".EE\n.RE\n", stream);
    }
}

static void man_components(FILE *stream)
{
    for (size_t i = 0; cli_components[i] != NULL; i++) {
        fprintf(stream, ".TP\n.BR tackle\\-%s (1)\n", cli_components[i]->name);
        print_roff(stream, cli_components[i]->summary);
    }
}

static void man_page(FILE *stream, const cli_component *component)
{
    const char *name = component->name;
    fprintf(stream, ".\\\" SPDX-License-Identifier: MIT\n.TH TACKLE\\-");
    for (const char *at = name; *at != '\0'; at++)
        putc(*at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, stream);
    fprintf(stream, " 1 \"\" \"tackle %s\" \"User Commands\"\n", tkl_version());
    fprintf(stream, ".SH NAME\ntackle\\-%s \\- ", name);
    print_roff(stream, component->summary);
    fputs(".SH SYNOPSIS\n", stream);
    man_synopsis(stream, component);
    fputs(".SH COMMANDS\n", stream);
    for (const cli_verb *verb = component->verbs; verb->run != NULL; verb++)
        man_verb(stream, component, verb);
    fputs(".SH EXAMPLES\n", stream);
    man_examples(stream, component);
    fputs(".SH \"SEE ALSO\"\n.BR tackle (1)\ntells of the options of every command, of URLs, the "
          "environment and exit codes.\n",
          stream);
}

void cli_describe_man(FILE *stream, const cli_component *component)
{
    if (component != NULL) {
        man_page(stream, component);
        return;
    }
    fputs(".SH OPTIONS\nThey may stand anywhere before a\n.BR \\-\\- .\n", stream);
    man_options(stream, cli_globals);
    fputs(".SH COMMANDS\n", stream);
    man_components(stream);
}
