/* SPDX-License-Identifier: MIT
 *
 * Leaderboards from the shell.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "lines.h"
#include "out.h"

enum { TOP = 10, AROUND = 2 };

/* ---- Opening ------------------------------------------------------------- */

static tkl_board_order read_order(const char *text)
{
    return text == NULL                 ? TKL_BOARD_STORED
           : strcmp(text, "lower") == 0 ? TKL_BOARD_LOWER
                                        : TKL_BOARD_HIGHER;
}

static tkl_board_per read_per(const char *text)
{
    for (int per = TKL_BOARD_FOREVER; text != NULL && per <= TKL_BOARD_YEAR; per++)
        if (strcmp(text, tkl_board_per_name((tkl_board_per)per)) == 0)
            return (tkl_board_per)per;
    return TKL_BOARD_AS_STORED;
}

/* Opens the board that the first argument names. */
static int open_board(cli_session *cli, const tkl_board_options *options, tkl_board **board)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_board_open(client, tkl_str(cli->argv[0]), options, board));
}

/* ---- add, set, best ------------------------------------------------------ */

typedef int write_fn(tkl_board *board, const tkl_board_score *scores, size_t count,
                     int64_t *changed);

static int read_score(const cli_session *cli, const char *text, double *score)
{
    char *end;
    errno = 0;
    *score = strtod(text, &end);
    if (end == text || *end != '\0' || errno != 0)
        return cli_usage(cli, "invalid score '%s': a number", text);
    return CLI_OK;
}

static int write_scores(cli_session *cli, write_fn *write)
{
    size_t count = (size_t)(cli->argc - 1) / 2;
    tkl_board_options options = {
        .order = read_order(cli_text(cli, "order", NULL)),
        .per = read_per(cli_text(cli, "per", NULL)),
        .zone = cli_text(cli, "zone", NULL),
        .keep = cli_number(cli, "keep", 0),
    };
    tkl_board *board = NULL;
    int64_t changed = 0;
    if ((cli->argc - 1) % 2 != 0)
        return cli_usage(cli, "a member and its score, in pairs: MEMBER SCORE");
    if (cli_flag(cli, "keep") && options.keep < 1)
        return cli_usage(cli, "--keep is 1 or more");
    tkl_board_score *scores = calloc(count, sizeof *scores);
    int failed = scores ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; !failed && i < count; i++) {
        scores[i].member = tkl_str(cli->argv[1 + 2 * i]);
        failed = read_score(cli, cli->argv[2 + 2 * i], &scores[i].score);
    }
    if (!failed)
        failed = open_board(cli, &options, &board);
    if (!failed)
        failed = cli_end(cli, write(board, scores, count, &changed));
    tkl_board_close(board);
    free(scores);
    return failed ? failed : cli_print_count(cli, "changed", changed);
}

static int board_add(cli_session *cli)
{
    return write_scores(cli, tkl_board_add);
}

static int board_set(cli_session *cli)
{
    return write_scores(cli, tkl_board_set);
}

static int board_best(cli_session *cli)
{
    return write_scores(cli, tkl_board_best);
}

/* ---- top, around, rank --------------------------------------------------- */

static int open_for_reading(cli_session *cli, tkl_board **board)
{
    tkl_board_options options = {.season = cli_text(cli, "season", NULL)};
    return open_board(cli, &options, board);
}

/* A whole number keeps all its digits. */
static json_t *score_json(double score)
{
    bool whole = fabs(score) < 1e18 && score == trunc(score);
    return whole ? json_integer((json_int_t)score) : json_real(score);
}

static int print_entries(const cli_session *cli, const tkl_board_entries *entries)
{
    static const cli_column columns[] = {
        {"rank", "RANK"}, {"member", "MEMBER"}, {"score", "SCORE"}, {"reached_at", "REACHED"}, {0},
    };
    json_t *rows = json_array();
    for (size_t i = 0; i < entries->count; i++) {
        const tkl_board_entry *entry = &entries->items[i];
        json_array_append_new(
            rows, json_pack("{s:I, s:o, s:o, s:o}", "rank", (json_int_t)entry->rank, "member",
                            cli_json_bytes(entry->member), "score", score_json(entry->score),
                            "reached_at", cli_json_time(entry->reached_ms)));
    }
    return cli_print_rows(cli, rows, columns);
}

static int board_top(cli_session *cli)
{
    tkl_board *board = NULL;
    tkl_board_entries *entries = NULL;
    int64_t first = cli_number(cli, "first", 1), max = cli_number(cli, "max", TOP);
    if (first < 1 || max < 1 || max > TKL_BOARD_PAGE_MAX)
        return cli_usage(cli, "--first is 1 or more, --max 1 to %d", TKL_BOARD_PAGE_MAX);
    int failed = open_for_reading(cli, &board);
    if (!failed)
        failed = cli_end(cli, tkl_board_top(board, first, (size_t)max, &entries));
    if (!failed)
        failed = print_entries(cli, entries);
    tkl_board_entries_free(entries);
    tkl_board_close(board);
    return failed;
}

static int board_around(cli_session *cli)
{
    tkl_board *board = NULL;
    tkl_board_entries *entries = NULL;
    int64_t before = cli_number(cli, "before", AROUND), after = cli_number(cli, "after", AROUND);
    if (before < 0 || after < 0 || before >= TKL_BOARD_PAGE_MAX || after >= TKL_BOARD_PAGE_MAX ||
        before + after >= TKL_BOARD_PAGE_MAX)
        return cli_usage(cli, "--before and --after: together at most %d", TKL_BOARD_PAGE_MAX - 1);
    int failed = open_for_reading(cli, &board);
    if (!failed) {
        int code =
            tkl_board_around(board, tkl_str(cli->argv[1]), (size_t)before, (size_t)after, &entries);
        failed = code == TKL_NOTFOUND ? cli_no(cli, code, "'%s' is not on the board", cli->argv[1])
                                      : cli_end(cli, code);
    }
    if (!failed)
        failed = print_entries(cli, entries);
    tkl_board_entries_free(entries);
    tkl_board_close(board);
    return failed;
}

static int board_rank(cli_session *cli)
{
    size_t count = (size_t)cli->argc - 1;
    tkl_board *board = NULL;
    tkl_board_entries *entries = NULL;
    tkl_bytes *members = cli_arguments(cli, 1);
    int failed = members ? open_for_reading(cli, &board) : cli_end(cli, TKL_ENOMEM);
    if (!failed)
        failed = cli_end(cli, tkl_board_rank(board, members, count, &entries));
    if (!failed)
        failed = print_entries(cli, entries);
    if (!failed && entries->count == 0)
        failed = cli_answered_no(cli, TKL_NOTFOUND, "none of them is on the board");
    tkl_board_entries_free(entries);
    tkl_board_close(board);
    free(members);
    return failed;
}

static int count_members(cli_session *cli)
{
    tkl_board *board = NULL;
    int64_t count = 0;
    int failed = open_for_reading(cli, &board);
    if (!failed)
        failed = cli_end(cli, tkl_board_count(board, &count));
    tkl_board_close(board);
    return failed ? failed : cli_print_count(cli, "count", count);
}

/* ---- remove, drop, seasons, list ----------------------------------------- */

static int remove_members(cli_session *cli)
{
    size_t count = (size_t)cli->argc - 1;
    tkl_board *board = NULL;
    int64_t removed = 0;
    tkl_bytes *members = cli_arguments(cli, 1);
    int failed = members ? open_for_reading(cli, &board) : cli_end(cli, TKL_ENOMEM);
    if (!failed)
        failed = cli_end(cli, tkl_board_remove(board, members, count, &removed));
    tkl_board_close(board);
    free(members);
    return failed ? failed : cli_print_removed(cli, removed);
}

static int board_drop(cli_session *cli)
{
    tkl_board *board = NULL;
    int failed =
        cli_confirm(cli, "This removes the board '%s' with all its seasons.", cli->argv[0]);
    if (!failed)
        failed = open_board(cli, NULL, &board);
    if (!failed)
        failed = cli_end_of(cli, tkl_board_drop(board), "board");
    tkl_board_close(board);
    return failed ? failed : cli_print_done(cli, "dropped");
}

static int board_seasons(cli_session *cli)
{
    tkl_board *board = NULL;
    tkl_names *names = NULL;
    int failed = open_board(cli, NULL, &board);
    if (!failed)
        failed = cli_end(cli, tkl_board_seasons(board, &names));
    if (!failed)
        failed = cli_print_names(cli, names);
    tkl_names_free(names);
    tkl_board_close(board);
    return failed;
}

static int board_list(cli_session *cli)
{
    return cli_list(cli, tkl_board_names);
}

/* ---- The component ------------------------------------------------------- */

#define SEASON                                                                         \
    {                                                                                  \
        "season", CLI_TEXT, "S", "previous, or a day in it (default: the current one)" \
    }

static const cli_option write_options[] = {
    {"order", CLI_CHOICE, "higher|lower", "which score is better (default higher)"},
    {"per", CLI_CHOICE, "forever|day|week|month|year", "starts over so often (default forever)"},
    {"zone", CLI_TEXT, "ZONE", "time zone of seasons (default UTC)"},
    {"keep", CLI_INTEGER, "N", "number of seasons that are kept (default 8)"},
    {0},
};
static const cli_option season_options[] = {SEASON, {0}};
static const cli_option top_options[] = {
    {"first", CLI_INTEGER, "N", "begin at this rank (default 1)"},
    {"max", CLI_INTEGER, "N", "list at most N, up to 500 (default 10)"},
    SEASON,
    {0},
};
static const cli_option around_options[] = {
    {"before", CLI_INTEGER, "N", "how many better ones (default 2)"},
    {"after", CLI_INTEGER, "N", "how many worse ones (default 2)"},
    SEASON,
    {0},
};
static const cli_option drop_options[] = {CLI_YES, {0}};

#define WRITE_DETAILS                                                                 \
    "The first write of a board fixes its settings; later ones need not name them.\n" \
    "Prints how many scores changed. Of equal scores the first one reached is ahead."

static const cli_verb verbs[] = {
    {
        .name = "add",
        .args = "NAME MEMBER SCORE [MEMBER SCORE...]",
        .summary = "add to the scores of members",
        .options = write_options,
        .details = WRITE_DETAILS,
        .example = "tackle board add chess alice 15 bob 12\ntackle board top chess",
        .effect = CLI_WRITES,
        .adds = true,
        .run = board_add,
    },
    {
        .name = "set",
        .args = "NAME MEMBER SCORE [MEMBER SCORE...]",
        .summary = "set the scores of members",
        .options = write_options,
        .details = WRITE_DETAILS,
        .example = "tackle board set chess alice 1500",
        .effect = CLI_WRITES,
        .run = board_set,
    },
    {
        .name = "best",
        .args = "NAME MEMBER SCORE [MEMBER SCORE...]",
        .summary = "set the scores that are better than those before",
        .options = write_options,
        .details = WRITE_DETAILS,
        .example = "tackle board best race alice 61.5 --order lower --per week",
        .effect = CLI_WRITES,
        .run = board_best,
    },
    {
        .name = "top",
        .args = "NAME",
        .summary = "the best members, or a page further down",
        .options = top_options,
        .example = "tackle board add chess alice 15 bob 12\ntackle board top chess --max 1",
        .effect = CLI_READS,
        .run = board_top,
    },
    {
        .name = "around",
        .args = "NAME MEMBER",
        .summary = "a member, and those before and after it",
        .options = around_options,
        .details = "Exit code 1 when the member is not on the board.",
        .example = "tackle board add chess alice 15 bob 12\ntackle board around chess bob",
        .effect = CLI_READS,
        .run = board_around,
    },
    {
        .name = "rank",
        .args = "NAME MEMBER [MEMBER...]",
        .summary = "the ranks of some members, such as friends, the best first",
        .options = season_options,
        .details = "Exit code 1 when none of them is on the board.",
        .example = "tackle board add chess alice 15 bob 12\ntackle board rank chess bob alice",
        .effect = CLI_READS,
        .run = board_rank,
    },
    {
        .name = "count",
        .args = "NAME",
        .summary = "the number of members",
        .options = season_options,
        .example = "tackle board count chess",
        .effect = CLI_READS,
        .run = count_members,
    },
    {
        .name = "remove",
        .args = "NAME MEMBER [MEMBER...]",
        .summary = "take members off the board",
        .options = season_options,
        .example = "tackle board add chess mallory 99\ntackle board remove chess mallory",
        .effect = CLI_WRITES,
        .run = remove_members,
    },
    {
        .name = "seasons",
        .args = "NAME",
        .summary = "the seasons that are kept, by their first days",
        .example = "tackle board add quiz alice 9 --per week\ntackle board seasons quiz",
        .effect = CLI_READS,
        .run = board_seasons,
    },
    {
        .name = "list",
        .summary = "all boards",
        .options = cli_list_options,
        .example = "tackle board add chess alice 15\ntackle board list",
        .effect = CLI_READS,
        .run = board_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "remove a board with all its seasons",
        .options = drop_options,
        .example = "tackle board add tackle-example alice 15\ntackle board drop tackle-example "
                   "--yes --json",
        .effect = CLI_WRITES,
        .run = board_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"A board for this week, which starts over on Monday in Berlin.",
     "tackle board add quiz alice 12 bob 15 carol 12 --per week --zone Europe/Berlin", 0},
    {"Alice had 12 before Carol, so she is ahead.", "tackle board top quiz", 0},
    {"Carol and those around her.", "tackle board add quiz carol 2; tackle board around quiz carol",
     0},
    {"Among friends.", "tackle board rank quiz alice bob", 0},
    {0},
};

const cli_component cli_board = {
    .name = "board",
    .summary = "leaderboards: ranks, those around me, friends, seasons",
    .verbs = verbs,
    .shared = "boards",
    .demo = demo,
};
