/* SPDX-License-Identifier: MIT
 *
 * Prints all keys, or the members of one, a line each, as they arrive.
 */
#include "out.h"

static int print_element(const cli_session *cli, const tkl_scan_element *element)
{
    bool pair = element->value.data != NULL;
    if (cli->json) {
        json_t *name = cli_json_bytes(element->name);
        return cli_print_json(cli, pair ? json_pack("{s:o, s:o}", "name", name, "value",
                                                    cli_json_bytes(element->value))
                                        : json_pack("{s:o}", "name", name));
    }
    cli_print_bytes(element->name);
    if (pair) {
        putchar('\t');
        cli_print_bytes(element->value);
    }
    putchar('\n');
    return ferror(stdout) ? cli_flush(cli) : CLI_OK;
}

/* Prints where another process can continue, if anything is left. */
static int print_cursor(const cli_session *cli, tkl_scan *scan)
{
    char cursor[TKL_SCAN_CURSOR_SIZE];
    int code = tkl_scan_cursor(scan, cursor);
    if (code != TKL_OK)
        return code == TKL_EMPTY ? CLI_OK : cli_end(cli, code);
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s}", "cursor", cursor));
    int failed = cli_flush(cli);
    fprintf(stderr, "more: --cursor %s\n", cursor);
    return failed;
}

enum { STEP = 500 }; /* keys of a step by default */

/* Returns the number of keys of a step: --count, else at most --stop-after. 0: the default. */
static int64_t step_of(const cli_session *cli)
{
    int64_t stop = cli_number(cli, "stop-after", 0);
    return cli_number(cli, "count", stop > 0 && stop < STEP ? stop : 0);
}

/* Prints everything, or with --stop-after whole steps until at least that many are printed. */
static int print_all(const cli_session *cli, tkl_scan *scan)
{
    tkl_scan_element element;
    int64_t most = cli_number(cli, "stop-after", 0), printed = 0;
    int code = TKL_OK, failed = CLI_OK;
    while (!failed && !(most > 0 && printed >= most && tkl_scan_rest(scan) == 0) &&
           (code = tkl_scan_next(scan, &element)) == TKL_OK) {
        failed = print_element(cli, &element);
        printed++;
    }
    if (failed || code == TKL_EMPTY)
        return failed;
    return code == TKL_OK ? print_cursor(cli, scan) : cli_end(cli, code);
}

/* Refuses an empty pattern, which would match everything: "$PATTERN" was probably not set. */
static int refuse_empty(const cli_session *cli, const char *option)
{
    return *cli_text(cli, option, "-") != '\0'
               ? CLI_OK
               : cli_usage(cli, "invalid --%s: must not be empty", option);
}

static int scan_run(cli_session *cli)
{
    tkl_scan_options options = {
        .key = tkl_str(cli_text(cli, "members", NULL)),
        .match = tkl_str(cli_text(cli, "match", NULL)),
        .type = cli_text(cli, "type", NULL),
        .count = (int)step_of(cli),
        .cursor = cli_text(cli, "cursor", NULL),
    };
    tkl_client *client = NULL;
    tkl_scan *scan = NULL;
    if (cli_flag(cli, "count") && cli_number(cli, "count", 0) < 1)
        return cli_usage(cli, "invalid --count: 1 or more");
    if (step_of(cli) != options.count)
        return cli_usage(cli, "invalid --count: too large");
    int failed = cli_positive(cli, "stop-after");
    if (!failed)
        failed = refuse_empty(cli, "match");
    if (!failed)
        failed = refuse_empty(cli, "members");
    if (!failed)
        failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_scan_open(client, &options, &scan));
    if (!failed)
        failed = print_all(cli, scan);
    tkl_scan_close(scan);
    return failed;
}

/* ---- The component ------------------------------------------------------- */

static const cli_option options[] = {
    {"match", CLI_TEXT, "PATTERN", "only what matches PATTERN: user:*, ?at, [ab]*"},
    {"type", CLI_CHOICE, "string|list|set|zset|hash|stream", "only keys of that type"},
    {"members", CLI_TEXT, "KEY", "print the members of KEY instead of all keys"},
    {"count", CLI_INTEGER, "N", "keys to look at in one step (default 500)"},
    {"stop-after", CLI_INTEGER, "N", "stop about there, and print a cursor"},
    {"cursor", CLI_TEXT, "CURSOR", "go on where another scan stopped"},
    {0},
};

static const cli_verb verbs[] = {
    {
        .summary = "all keys, or the members of one, without blocking the server",
        .options = options,
        .details =
            "Every key that is there from the beginning to the end is printed, once; of a\n"
            "cluster those of every node. With --members a hash's fields come with their values,\n"
            "a sorted set's members with their scores, behind a tab. With --json an object\n"
            "a line.\n\n"
            "With --stop-after, standard error names the cursor (with --json a last object\n"
            "{\"cursor\": ...}) with which any process can go on; nothing when nothing is left.\n"
            "The server must not have been restarted in between.",
        .example = "tackle call MSET user:1 Ann user:2 Bob\n"
                   "tackle scan --match 'user:*'\n"
                   "tackle scan --stop-after 1000 --json",
        .effect = CLI_READS,
        .run = scan_run,
    },
    {0},
};

static const cli_step demo[] = {
    {"All keys of a kind, on every server, without blocking any.",
     "tackle call MSET user:1 Ann user:2 Bob; tackle scan --match 'user:*' | sort", 0},
    {"The members of a big key.", "tackle call HSET ages Ann 31 Bob 27; tackle scan --members ages",
     0},
    {0},
};

const cli_component cli_scan = {
    .name = "scan",
    .summary = "all keys, or the members of one, without blocking the server",
    .verbs = verbs,
    .demo = demo,
};
