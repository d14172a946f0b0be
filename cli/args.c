/* SPDX-License-Identifier: MIT */
#include "args.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nearest.h"
#include "token.h"
#include "value.h"

const cli_option cli_globals[] = {
    {"url", CLI_TEXT, "URL",
     "server to use (default $TACKLE_URL, $REDIS_URL, a file, your private server)"},
    {"namespace", CLI_TEXT, "NAME",
     "first part of all keys (default $TACKLE_NAMESPACE, else tackle)"},
    {"json", CLI_FLAG, NULL, "print results as JSON, one value each"},
    {"timeout", CLI_DURATION, "DURATION", "wait this long for a reply (default 5s)"},
    {"cacert", CLI_TEXT, "FILE", "TLS: trust these certificates (PEM)"},
    {"cert", CLI_TEXT, "FILE", "TLS: client certificate (PEM)"},
    {"key", CLI_TEXT, "FILE", "TLS: private key of the client certificate (PEM)"},
    {"insecure", CLI_FLAG, NULL, "TLS: accept any certificate"},
    {"keep-password", CLI_FLAG, NULL, "commands that tackle runs inherit $TACKLE_PASSWORD"},
    {"trace", CLI_FLAG, NULL, "print each command that is sent, and its time, on stderr"},
    {"help", CLI_FLAG, NULL, "explain the command, the component or the verb"},
    {"version", CLI_FLAG, NULL, "print the version"},
    {0},
};

/* ---- Looking up ---------------------------------------------------------- */

const cli_component *cli_find_component(const char *name)
{
    for (size_t i = 0; cli_components[i] != NULL; i++)
        if (strcmp(cli_components[i]->name, name) == 0)
            return cli_components[i];
    return NULL;
}

const cli_verb *cli_find_verb(const cli_component *component, const char *name)
{
    for (const cli_verb *verb = component->verbs; verb->run != NULL; verb++)
        if (verb->name != NULL && strcmp(verb->name, name) == 0)
            return verb;
    return NULL;
}

static const cli_option *find_option(const cli_option *options, const char *name, size_t len)
{
    for (; options != NULL && options->name != NULL; options++)
        if (strlen(options->name) == len && memcmp(options->name, name, len) == 0)
            return options;
    return NULL;
}

const cli_option *cli_find_option(const cli_session *cli, const char *name, size_t len)
{
    const cli_option *own = cli->verb != NULL ? cli->verb->options : NULL;
    const cli_option *option = find_option(own, name, len);
    return option != NULL ? option : find_option(cli_globals, name, len);
}

/* ---- Suggestions for a wrong word ---------------------------------------- */

static int unknown(const cli_session *cli, const char *kind, const char *dashes,
                   const cli_nearness *nearest)
{
    if (nearest->best == NULL)
        return cli_usage(cli, "unknown %s '%s%s'", kind, dashes, nearest->word);
    return cli_usage(cli, "unknown %s '%s%s'; did you mean '%s%s'?", kind, dashes, nearest->word,
                     dashes, nearest->best);
}

/* "queue push or blist push", to be freed: the verbs of this name in all components. NULL: there is
 * none, or more than would help. */
static char *verbs_called(const char *name)
{
    enum { MOST = 4 };
    char *text = NULL;
    size_t size = 0, count = 0;
    FILE *to = open_memstream(&text, &size);
    for (size_t i = 0; to != NULL && cli_components[i] != NULL; i++)
        if (cli_find_verb(cli_components[i], name) != NULL)
            fprintf(to, "%s'%s %s'", count++ > 0 ? " or " : "", cli_components[i]->name, name);
    if (to != NULL && fclose(to) == 0 && count > 0 && count <= MOST)
        return text;
    free(text);
    return NULL;
}

int cli_unknown_component(const cli_session *cli, const char *name)
{
    cli_nearness nearest = {.word = name};
    for (size_t i = 0; cli_components[i] != NULL; i++)
        cli_known_as(&nearest, cli_components[i]->name);
    char *verbs = nearest.best == NULL ? verbs_called(name) : NULL;
    for (size_t i = 0; verbs == NULL && cli_components[i] != NULL; i++)
        cli_nearest(&nearest, cli_components[i]->name);
    int failed = verbs != NULL
                     ? cli_usage(cli, "unknown command '%s'; did you mean %s?", name, verbs)
                     : unknown(cli, "command", "", &nearest);
    free(verbs);
    return failed;
}

int cli_unknown_verb(const cli_session *cli, const char *name)
{
    cli_nearness nearest = {.word = name};
    for (const cli_verb *verb = cli->component->verbs; verb->run != NULL; verb++)
        if (verb->name != NULL) {
            cli_nearest(&nearest, verb->name);
            cli_known_as(&nearest, verb->name);
        }
    return unknown(cli, "verb", "", &nearest);
}

static void suggest_options(cli_nearness *nearest, const cli_option *options)
{
    for (; options != NULL && options->name != NULL; options++)
        if (options->summary != NULL) {
            cli_nearest(nearest, options->name);
            cli_known_as(nearest, options->name);
        }
}

static int unknown_option(const cli_session *cli, const char *name)
{
    cli_nearness nearest = {.word = name};
    suggest_options(&nearest, cli->verb != NULL ? cli->verb->options : NULL);
    suggest_options(&nearest, cli_globals);
    return unknown(cli, "option", "--", &nearest);
}

/* ---- Options ------------------------------------------------------------- */

static const char *parse_period(const char *text, int64_t *ms)
{
    const char *wrong = cli_parse_duration(text, ms);
    return wrong == NULL && *ms == 0 ? "must be more than 0" : wrong;
}

static const char *check_value(const cli_option *option, cli_given *given)
{
    switch (option->kind) {
    case CLI_INTEGER:
        return cli_parse_integer(given->text, &given->number);
    case CLI_DURATION:
        return cli_parse_duration(given->text, &given->number);
    case CLI_WAIT:
        given->number = -1;
        return strcmp(given->text, "forever") == 0
                   ? NULL
                   : cli_parse_duration(given->text, &given->number);
    case CLI_PERIOD:
        return parse_period(given->text, &given->number);
    case CLI_SIZE:
        return cli_parse_size(given->text, &given->number);
    case CLI_TIME:
        return cli_parse_time(given->text, CLI_NEXT, &given->number);
    case CLI_PAST:
        return cli_parse_time(given->text, CLI_LAST, &given->number);
    case CLI_CHOICE:
        return cli_parse_choice(given->text, option->value);
    case CLI_FLAG:
    case CLI_LOCAL_FLAG:
    case CLI_TEXT:
    case CLI_TOKEN:
    case CLI_URLS:
        break;
    }
    return NULL;
}

/* Wipes user and password: the text before the last "@" and after "://" or, in a mistyped URL, ":".
 * With several URLs it wipes everything from the first password to the last. */
static void wipe_credentials(char *url)
{
    char *end = strrchr(url, '@');
    char *start = strstr(url, "://");
    start = start != NULL ? start + 3 : url + strcspn(url, ":");
    for (; end != NULL && start < end; start++)
        *start = 'x';
}

static int keep_url(cli_session *cli, char *url)
{
    free(cli->url);
    cli->url = strdup(url);
    wipe_credentials(url);
    return cli->url != NULL ? CLI_OK : cli_fail(cli, CLI_FAILURE, "out of memory");
}

static int keep_urls(cli_session *cli, char *urls)
{
    cli_given *given = &cli->given[cli->ngiven - 1];
    given->text = strdup(urls);
    wipe_credentials(urls);
    return given->text != NULL ? CLI_OK : cli_fail(cli, CLI_FAILURE, "out of memory");
}

static int keep_token(cli_session *cli, char *word)
{
    char *token = NULL;
    int failed = cli_token_of(cli, word, &token);
    cli->given[cli->ngiven - 1].text = token;
    return failed;
}

int cli_keep_option(cli_session *cli, const cli_option *option, char *value)
{
    cli_given given = {.option = option, .text = value};
    const char *wrong = value != NULL ? check_value(option, &given) : NULL;
    if (wrong != NULL)
        return cli_usage(cli, "invalid --%s '%s': %s%s%s", option->name, value, wrong,
                         option->kind == CLI_CHOICE ? " " : "",
                         option->kind == CLI_CHOICE ? option->value : "");
    cli->given[cli->ngiven++] = given;
    if (strcmp(option->name, "json") == 0)
        cli->json = true;
    if (strcmp(option->name, "help") == 0)
        cli->help = true;
    if (option->kind == CLI_URLS)
        return keep_urls(cli, value);
    if (option->kind == CLI_TOKEN)
        return keep_token(cli, value);
    return value != NULL && strcmp(option->name, "url") == 0 ? keep_url(cli, value) : CLI_OK;
}

/* Reads "--name", "--name=value" or "--name value"; `*next` is the word that follows, and moves
 * on when it was the value. */
static int read_option(cli_session *cli, char *word, char ***next)
{
    char *name = word + 2, *value = strchr(name, '=');
    size_t len = value != NULL ? (size_t)(value - name) : strlen(name);
    const cli_option *option = cli_find_option(cli, name, len);
    if (option == NULL) {
        name[len] = '\0';
        return unknown_option(cli, name);
    }
    if (value != NULL)
        value++;
    if (option->value == NULL)
        return value == NULL ? cli_keep_option(cli, option, NULL)
                             : cli_usage(cli, "--%s takes no value", option->name);
    if (value == NULL)
        value = *(*next) != NULL ? *(*next)++ : NULL;
    if (value == NULL)
        return cli_usage(cli, "--%s needs a value: %s", option->name, option->value);
    return cli_keep_option(cli, option, value);
}

/* ---- Words --------------------------------------------------------------- */

static int keep_word(cli_session *cli, const char *word)
{
    if (cli->component == NULL) {
        cli->component = cli_find_component(word);
        if (cli->component == NULL)
            return cli_unknown_component(cli, word);
        if (cli->component->verbs[0].name == NULL)
            cli->verb = &cli->component->verbs[0];
        return CLI_OK;
    }
    if (cli->verb == NULL) {
        cli->verb = cli_find_verb(cli->component, word);
        return cli->verb != NULL ? CLI_OK : cli_unknown_verb(cli, word);
    }
    cli->argv[cli->argc++] = word;
    return CLI_OK;
}

static bool is_number(const char *word)
{
    return isdigit((unsigned char)word[1]) || (word[1] == '.' && isdigit((unsigned char)word[2]));
}

/* The only one-letter option is -h. Any other word with one dash is a mistake, unless it is a
 * number, comes after "--", or belongs to a verb whose arguments may begin with a dash. */
static int read_dash_word(cli_session *cli, const char *word)
{
    if (strcmp(word, "-h") == 0 && cli->argc == 0) {
        cli->help = true;
        return CLI_OK;
    }
    if (word[1] == '\0' || is_number(word) || (cli->verb != NULL && cli->verb->dashes))
        return keep_word(cli, word);
    return cli_usage(cli,
                     "unknown option '%s'; options begin with two dashes, and data that begins "
                     "with one goes after --",
                     word);
}

/* Usage errors are reported as JSON wherever --json is, even after the mistake. */
static bool wants_json(char **argv)
{
    for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++)
        if (strcmp(*argv, "--json") == 0)
            return true;
    return false;
}

int cli_args_read(cli_session *cli, int argc, char **argv)
{
    cli->given = calloc((size_t)argc + 1, sizeof *cli->given);
    cli->argv = calloc((size_t)argc + 1, sizeof *cli->argv);
    if (cli->given == NULL || cli->argv == NULL)
        return cli_fail(cli, CLI_FAILURE, "out of memory");
    cli->before_dashes = -1;
    cli->json = wants_json(argv + (argc > 0));
    for (char **next = argv + (argc > 0); *next != NULL;) {
        char *word = *next++;
        int failed = CLI_OK;
        if (cli->before_dashes >= 0 || word[0] != '-')
            failed = keep_word(cli, word);
        else if (strcmp(word, "--") == 0)
            cli->before_dashes = cli->argc;
        else if (word[1] == '-')
            failed = read_option(cli, word, &next);
        else
            failed = read_dash_word(cli, word);
        if (failed)
            return failed;
    }
    return CLI_OK;
}

/* ---- How many arguments -------------------------------------------------- */

static bool takes_any_number(const cli_session *cli)
{
    return cli->verb != NULL && cli->verb->args != NULL && strstr(cli->verb->args, "...") != NULL;
}

bool cli_next_word(const char **at, const char **word, size_t *len)
{
    do {
        *word = *at + strspn(*at, " ");
        *len = strcspn(*word, " ");
        *at = *word + *len;
    } while ((*len == 2 && memcmp(*word, "--", 2) == 0) ||
             (*len == 3 && memcmp(*word, "[--", 3) == 0));
    return *len > 0;
}

/* Whether "--" is where the specification has it: the words after it belong to another command. */
static bool has_dashes(const cli_session *cli)
{
    const char *spec = cli->verb->args, *dashes = spec != NULL ? strstr(spec, " -- ") : NULL, *word;
    size_t len;
    int before = 0;
    bool more = false; /* "NAME... -- ", "[KEY...] -- ": this many or more */
    if (dashes == NULL && spec != NULL && cli->before_dashes >= 0)
        dashes = strstr(spec, " [-- ");
    if (dashes == NULL)
        return true;
    while (cli_next_word(&spec, &word, &len) && word < dashes) {
        more = memmem(word, len, "...", 3) != NULL;
        before += word[0] != '[';
    }
    return cli->argc > cli->before_dashes &&
           (more ? cli->before_dashes >= before : cli->before_dashes == before);
}

/* Index of the TOKEN in the specification, from 0; -1: there is none. */
static int place_of_token(const char *spec)
{
    const char *word;
    size_t len;
    for (int place = 0; cli_next_word(&spec, &word, &len); place++)
        if ((len == 5 && memcmp(word, "TOKEN", 5) == 0) ||
            (len == 7 && memcmp(word, "[TOKEN]", 7) == 0))
            return place;
    return -1;
}

/* The TOKEN may come from a file, standard input or TACKLE_TOKEN instead of the command line. A
 * required TOKEN may be left out if it is the last argument. */
static int read_token(cli_session *cli)
{
    const char *spec = cli->verb->args != NULL ? cli->verb->args : "";
    const char *inherited = getenv("TACKLE_TOKEN");
    int place = place_of_token(spec), failed = CLI_OK;
    bool is_optional = strstr(spec, "[TOKEN]") != NULL;
    if (place < 0 || place > cli->argc || (place == cli->argc && is_optional))
        return CLI_OK;
    if (place < cli->argc)
        failed = cli_token_of(cli, (char *)cli->argv[place], &cli->token);
    else if (inherited != NULL && *inherited != '\0') {
        cli->token = strdup(inherited);
        cli->argc++;
    } else
        return cli_usage(cli, "missing TOKEN, and TACKLE_TOKEN is not set");
    if (!failed && cli->token == NULL)
        failed = cli_end(cli, TKL_ENOMEM);
    cli->argv[place] = cli->token;
    return failed;
}

int cli_missing(const cli_session *cli, int index)
{
    const char *spec = cli->verb->args != NULL ? cli->verb->args : "", *word = spec;
    size_t len;
    for (int at = 0; at <= index && cli_next_word(&spec, &word, &len); at++)
        ;
    word += *word == '[';
    return cli_usage(cli, "missing %.*s", (int)strcspn(word, "]. "), word);
}

int cli_args_check(cli_session *cli)
{
    int failed = read_token(cli);
    if (failed)
        return failed;
    const char *spec = cli->verb->args != NULL ? cli->verb->args : "", *word;
    size_t len;
    int seen = 0;
    bool inside = false; /* brackets: "[MEMBER SCORE...]" */
    while (cli_next_word(&spec, &word, &len)) {
        bool closes = word[len - 1] == ']'; /* also the last word of "[-- COMMAND...]" */
        inside = inside || word[0] == '[';
        if (++seen > cli->argc && !inside && !closes)
            return cli_usage(cli, "missing %.*s", (int)len, word);
        inside = inside && !closes;
    }
    if (cli->argc > seen && !takes_any_number(cli))
        return cli_usage(cli, "unexpected argument '%s'", cli->argv[seen]);
    if (!has_dashes(cli))
        return cli_usage(cli, "write %s, with the dashes", cli->verb->args);
    return CLI_OK;
}

/* ---- Arguments and options as given -------------------------------------- */

static const cli_given *last_given(const cli_session *cli, const cli_option *option)
{
    if (option == NULL)
        abort();
    for (size_t i = cli->ngiven; i > 0; i--)
        if (cli->given[i - 1].option == option)
            return &cli->given[i - 1];
    return NULL;
}

static const cli_given *find_given(const cli_session *cli, const char *name)
{
    return last_given(cli, cli_find_option(cli, name, strlen(name)));
}

bool cli_flag(const cli_session *cli, const char *name)
{
    return find_given(cli, name) != NULL;
}

const char *cli_text(const cli_session *cli, const char *name, const char *otherwise)
{
    const cli_given *given = find_given(cli, name);
    return given != NULL ? given->text : otherwise;
}

int64_t cli_number(const cli_session *cli, const char *name, int64_t otherwise)
{
    const cli_given *given = find_given(cli, name);
    return given != NULL ? given->number : otherwise;
}

int cli_positive(const cli_session *cli, const char *name)
{
    return cli_number(cli, name, 1) > 0 ? CLI_OK
                                        : cli_usage(cli, "invalid --%s: must be more than 0", name);
}

int cli_not_negative(const cli_session *cli, const char *name)
{
    return cli_number(cli, name, 0) >= 0
               ? CLI_OK
               : cli_usage(cli, "invalid --%s: must not be negative", name);
}

bool cli_is_global(const cli_option *option)
{
    return find_option(cli_globals, option->name, strlen(option->name)) == option;
}

const int64_t *cli_global_number(const cli_session *cli, const char *name)
{
    const cli_given *given = last_given(cli, find_option(cli_globals, name, strlen(name)));
    return given != NULL ? &given->number : NULL;
}

void cli_args_free(cli_session *cli)
{
    for (size_t i = 0; i < cli->ngiven; i++)
        if (cli->given[i].option->kind == CLI_URLS || cli->given[i].option->kind == CLI_TOKEN)
            free((char *)cli->given[i].text);
    free(cli->given);
    free(cli->argv);
    free(cli->url);
    free(cli->url_source);
    free(cli->input);
    free(cli->token);
}
