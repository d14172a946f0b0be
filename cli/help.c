/* SPDX-License-Identifier: MIT */
#include "help.h"

#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "language.h"
#include "out.h"
#include "table.h"
#include "token.h"

/* ---- Pieces -------------------------------------------------------------- */

static void print_heading(FILE *stream, const char *text)
{
    fprintf(stream, "\n%s%s%s\n", cli_color(stream, CLI_BOLD), text, cli_color(stream, CLI_PLAIN));
}

/* Prints each line of the text, indented by two columns. */
static void print_indented(FILE *stream, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        fprintf(stream, "%s%.*s\n", len > 0 ? "  " : "", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static bool has_options(const cli_verb *verb)
{
    const cli_option *option = verb->options;
    while (option != NULL && option->name != NULL && option->summary == NULL)
        option++;
    return option != NULL && option->name != NULL;
}

void cli_synopsis(FILE *stream, const cli_component *component, const cli_verb *verb)
{
    fprintf(stream, "tackle %s", component->name);
    if (verb->name != NULL)
        fprintf(stream, " %s", verb->name);
    if (has_options(verb))
        fputs(" [OPTION...]", stream);
    if (verb->args != NULL)
        fprintf(stream, " %s", verb->args);
}

/* ---- Lists --------------------------------------------------------------- */

static void add_row(cli_table *table, const char *name, const char *summary)
{
    char *cell = NULL;
    if (asprintf(&cell, "  %s", name) < 0)
        cell = NULL;
    cli_table_add(table, cell, false);
    cli_table_add(table, strdup(summary), false);
}

/* Prints the words of a choice in place of its value or, if they are many, before the summary. */
static void add_option(cli_table *table, const cli_option *option)
{
    enum { WORDS_MAX = 40 };
    const char *value = option->value != NULL ? option->value : "";
    bool many = option->kind == CLI_CHOICE && strlen(value) > WORDS_MAX;
    char form[128], summary[512];
    snprintf(form, sizeof form, "--%s%s%s", option->name, *value != '\0' ? " " : "",
             many ? "WORD" : value);
    snprintf(summary, sizeof summary, "%s%s%s", many ? value : "", many ? " " : "",
             cli_translated(option->summary));
    add_row(table, form, summary);
}

static void print_options(FILE *stream, const cli_option *options)
{
    cli_table *table = cli_table_new(2);
    for (; options->name != NULL; options++)
        if (options->summary != NULL)
            add_option(table, options);
    cli_table_print(table, stream);
}

static void print_components(FILE *stream)
{
    enum { NAME_WIDTH = 12 };
    for (const cli_entry *entry = cli_contents; entry->title || entry->component; entry++)
        if (entry->title != NULL)
            print_heading(stream, cli_translated(entry->title));
        else
            fprintf(stream, "  %-*s  %s\n", NAME_WIDTH, entry->component->name,
                    cli_translated(entry->component->summary));
}

static void print_verbs(FILE *stream, const cli_component *component)
{
    cli_table *table = cli_table_new(2);
    for (const cli_verb *verb = component->verbs; verb->run != NULL; verb++)
        add_row(table, verb->name, cli_translated(verb->summary));
    cli_table_print(table, stream);
}

/* ---- The three depths ---------------------------------------------------- */

static void help_command(FILE *stream)
{
    fprintf(stream, "%s\n\n%stackle [OPTION...] COMMAND [VERB] [ARG...]\n", cli_say(CLI_SAY_TITLE),
            cli_say(CLI_SAY_USAGE));
    print_components(stream);
    print_heading(stream, cli_say(CLI_SAY_GLOBALS));
    print_options(stream, cli_globals);
    fputs("\n", stream);
    cli_print_translated(stream, cli_phrases[CLI_SAY_WRITING], 0);
}

static void help_component(FILE *stream, const cli_component *component)
{
    fprintf(stream, "tackle %s: %s\n\n%stackle %s VERB [OPTION...] [ARG...]\n", component->name,
            cli_translated(component->summary), cli_say(CLI_SAY_USAGE), component->name);
    print_heading(stream, cli_say(CLI_SAY_VERBS));
    print_verbs(stream, component);
    fputs("\n", stream);
    fprintf(stream, cli_say(CLI_SAY_VERB_HELP), component->name);
    fputs("\n", stream);
}

static void print_details(FILE *stream, const char *details)
{
    fputs("\n", stream);
    cli_print_translated(stream, details, 0);
}

static void help_verb(FILE *stream, const cli_component *component, const cli_verb *verb)
{
    fprintf(stream, "tackle %s%s%s: %s\n\n%s", component->name, verb->name != NULL ? " " : "",
            verb->name != NULL ? verb->name : "", cli_translated(verb->summary),
            cli_say(CLI_SAY_USAGE));
    cli_synopsis(stream, component, verb);
    fputs("\n", stream);
    if (verb->details != NULL)
        print_details(stream, verb->details);
    if (cli_takes_token(verb))
        print_details(stream, cli_token_help);
    if (has_options(verb)) {
        print_heading(stream, cli_say(CLI_SAY_OPTIONS));
        print_options(stream, verb->options);
    }
    print_heading(stream, cli_say(CLI_SAY_EXAMPLE));
    print_indented(stream, verb->example);
    fprintf(stream, "\n%s\n", cli_say(CLI_SAY_GLOBAL_HELP));
}

void cli_help(FILE *stream, const cli_component *component, const cli_verb *verb)
{
    if (component == NULL)
        help_command(stream);
    else if (verb == NULL)
        help_component(stream, component);
    else
        help_verb(stream, component, verb);
}

/* ---- The component ------------------------------------------------------- */

/* Makes the invocation look like one of that component, for the right usage errors. */
static int explain_subject(cli_session subject, int argc, const char **argv)
{
    subject.component = NULL;
    subject.verb = NULL;
    if (argc > 0) {
        const cli_component *component = cli_find_component(argv[0]);
        if (component == NULL)
            return cli_unknown_component(&subject, argv[0]);
        subject.component = component;
        if (component->verbs[0].name == NULL)
            subject.verb = &component->verbs[0];
    }
    if (argc > 1) {
        subject.verb = cli_find_verb(subject.component, argv[1]);
        if (subject.verb == NULL)
            return cli_unknown_verb(&subject, argv[1]);
    }
    cli_help(stdout, subject.component, subject.verb);
    return CLI_OK;
}

static int run_help(cli_session *cli)
{
    if (cli_flag(cli, "completion"))
        cli_describe_completion(stdout);
    else if (cli_flag(cli, "man"))
        cli_describe_man(stdout, cli->argc > 0 ? cli_find_component(cli->argv[0]) : NULL);
    else
        return explain_subject(*cli, cli->argc, cli->argv);
    return CLI_OK;
}

static const cli_option help_options[] = {
    {"completion", CLI_FLAG, NULL, NULL},
    {"man", CLI_FLAG, NULL, NULL},
    {0},
};

static const cli_verb verbs[] = {
    {
        .args = "[COMMAND] [VERB]",
        .summary = "explain a command or a verb",
        .options = help_options,
        .example = "tackle help server start",
        .local = "it explains the command",
        .run = run_help,
    },
    {0},
};

const cli_component cli_help_component = {
    .name = "help",
    .summary = "explain a command or a verb",
    .verbs = verbs,
};
