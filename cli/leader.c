/* SPDX-License-Identifier: MIT
 *
 * Leaders from the shell: run a command on one machine of many, and see who leads.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "guard.h"
#include "hold.h"
#include "holders.h"
#include "lines.h"
#include "out.h"
#include "patience.h"

/* ---- A leader as something to hold ----------------------------------------- */

static void leader_lost(tkl_leader *leader, void *hold)
{
    (void)leader;
    cli_hold_lost(hold);
}

static int leader_campaign(void *leader, int64_t wait_ms)
{
    return tkl_leader_campaign(leader, wait_ms);
}

static int leader_resign(void *leader)
{
    return tkl_leader_resign(leader);
}

static void leader_token(void *leader, char token[TKL_TOKEN_SIZE])
{
    tkl_leader_token(leader, token);
}

static int64_t leader_left(void *leader)
{
    return tkl_leader_left_ms(leader);
}

static uint64_t leader_term(void *leader)
{
    return tkl_leader_term(leader);
}

static int leader_show(void *leader, tkl_holders **holders)
{
    return tkl_leader_show(leader, holders);
}

static const cli_hold_kind leader_kind = {
    .variable = "TACKLE_LEADER",
    .gives_back = "resign",
    .always_ends = true,
    .acquire = leader_campaign,
    .release = leader_resign,
    .token = leader_token,
    .left_ms = leader_left,
    .fence = leader_term,
    .show = leader_show,
};

static int open_leader(cli_session *cli, const tkl_leader_options *options, tkl_leader **leader)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_leader_open(client, tkl_str(cli->argv[0]), options, leader));
}

/* ---- run ----------------------------------------------------------------- */

enum { PAUSE_S = 1 };

/* The outcome of standing for one term. */
typedef struct outcome {
    int exit;
    bool was_held, was_lost;
} outcome;

/* Stands, and runs the command for one term. */
static outcome run_term(cli_session *cli, tkl_leader_options *options)
{
    cli_hold hold = {.kind = &leader_kind, .lost = -1};
    tkl_leader *leader = NULL;
    options->arg = &hold;
    int exit = cli_hold_init(cli, &hold);
    if (!exit)
        exit = open_leader(cli, options, &leader);
    if (!exit) {
        hold.handle = leader;
        hold.clients[hold.count++] = cli->client;
        exit = cli_hold_run(cli, &hold);
    }
    tkl_leader_close(leader);
    cli_hold_done(&hold);
    return (outcome){exit, hold.was_held, hold.was_lost};
}

static int leader_run(cli_session *cli)
{
    tkl_leader_options options = {
        .lease_ms = cli_hold_lease(cli),
        .label = cli_hold_label(cli),
        .on_lost = leader_lost,
    };
    outcome term = {.exit = cli_hold_replicas(cli, &options.replicas)};
    if (term.exit)
        return term.exit;
    for (bool has_led = false;; has_led = true) {
        term = run_term(cli, &options);
        bool is_away = has_led && !term.was_held && term.exit == CLI_UNREACHABLE;
        if (cli_flag(cli, "once") || !(term.was_lost || is_away))
            return term.exit;
        cli_guard_stop(); /* the next term has a guard of its own, which knows its token */
        nanosleep(&(struct timespec){.tv_sec = PAUSE_S}, NULL); /* others stand first */
        if (cli_patience_signal() != 0)
            return cli_end_of_signal(cli, cli_patience_signal());
    }
}

/* ---- The leader and its candidates ----------------------------------------- */

static const cli_column leader_fields[] = {
    {"name", "name"},
    {"term", "term"},
    {"host", "host"},
    {"pid", "pid"},
    {"label", "label"},
    {"since_ms", "since"},
    {"left_ms", "lease left"},
    {"candidates", "candidates"},
    {0},
};

static const cli_column leader_columns[] = {
    {"name", "NAME"},
    {"term", "TERM"},
    {"host", "HOST"},
    {"pid", "PID"},
    {"label", "LABEL"},
    {"since_ms", "SINCE"},
    {"left_ms", "LEASE LEFT"},
    {"candidates", "CANDIDATES"},
    {0},
};

static const cli_column candidate_columns[] = {
    {"host", "CANDIDATE"},
    {"pid", "PID"},
    {"label", "LABEL"},
    {0},
};

static json_t *json_line(const tkl_holders *holders)
{
    json_t *array = json_array();
    for (size_t i = 0; i < holders->line_count; i++) {
        const tkl_holder_waiting *candidate = &holders->line[i];
        json_array_append_new(array,
                              json_pack("{s:o, s:I, s:o}", "host", cli_json_bytes(candidate->host),
                                        "pid", (json_int_t)candidate->pid, "label",
                                        cli_json_present(candidate->label)));
    }
    return array;
}

/* One shape for show, watch and list: without a leader its fields are null. */
static json_t *json_leader(tkl_bytes name, const tkl_holders *holders)
{
    json_t *object =
        json_pack("{s:o, s:n, s:n, s:n, s:n, s:n, s:n, s:I, s:o}", "name", cli_json_bytes(name),
                  "term", "host", "pid", "label", "since_ms", "left_ms", "candidates",
                  (json_int_t)holders->waiters, "line", json_line(holders));
    if (holders->count == 0)
        return object;
    const tkl_holder *leader = &holders->items[0];
    json_object_set_new(object, "term", json_integer((json_int_t)leader->fence));
    json_object_set_new(object, "host", cli_json_bytes(leader->host));
    json_object_set_new(object, "pid", json_integer((json_int_t)leader->pid));
    json_object_set_new(object, "label", cli_json_present(leader->label));
    json_object_set_new(object, "since_ms", json_integer((json_int_t)leader->since_ms));
    json_object_set_new(object, "left_ms", json_integer((json_int_t)leader->left_ms));
    return object;
}

static int print_leader(const cli_session *cli, const tkl_holders *holders)
{
    json_t *object = json_leader(tkl_str(cli->argv[0]), holders);
    json_t *line = json_incref(json_object_get(object, "line"));
    int failed = cli_print_record(cli, object, leader_fields);
    if (failed || cli->json || json_array_size(line) == 0) {
        json_decref(line);
        return failed;
    }
    putchar('\n');
    return cli_print_rows(cli, line, candidate_columns);
}

static int show_leader(cli_session *cli)
{
    tkl_leader *leader = NULL;
    tkl_holders *holders = NULL;
    int failed = open_leader(cli, NULL, &leader);
    if (!failed)
        failed = cli_end(cli, tkl_leader_show(leader, &holders));
    if (!failed && (holders->count > 0 || holders->waiters > 0))
        failed = print_leader(cli, holders);
    if (!failed && holders->count == 0)
        failed = cli_no(cli, TKL_NOTFOUND, "nobody leads '%s'", cli->argv[0]);
    tkl_holders_free(holders);
    tkl_leader_close(leader);
    return failed;
}

/* For people: one line. */
static int print_change(const cli_session *cli, const tkl_holders *holders)
{
    const tkl_holder *leader = holders->count > 0 ? holders->items : NULL;
    if (cli->json) {
        int failed = cli_print_json(cli, json_leader(tkl_str(cli->argv[0]), holders));
        return failed ? failed : cli_flush(cli);
    }
    if (leader == NULL) {
        puts("(none)");
        return cli_flush(cli);
    }
    char *host = cli_escape(leader->host, false), *label = cli_escape(leader->label, false);
    printf("%s pid %" PRId64 " term %" PRIu64 "%s%s\n", host ? host : "", leader->pid,
           leader->fence, leader->label.len > 0 ? " " : "", label ? label : "");
    free(host);
    free(label);
    return cli_flush(cli);
}

/* Prints who leads now, even if it is nobody, then every change. */
static int watch_changes(cli_session *cli, tkl_leader *leader)
{
    int64_t left = cli_number(cli, "max", INT64_MAX);
    int64_t wait_ms = cli_flag(cli, "wait") ? cli_number(cli, "wait", 0) : -1;
    tkl_holders *holders = NULL;
    int failed = cli_end(cli, tkl_leader_show(leader, &holders));
    while (!failed) {
        uint64_t term = holders->count > 0 ? holders->items[0].fence : 0;
        failed = print_change(cli, holders);
        tkl_holders_free(holders);
        if (failed || --left == 0)
            return failed;
        failed = cli_end(cli, tkl_leader_watch(leader, term, wait_ms, &holders));
    }
    return failed;
}

static int leader_watch(cli_session *cli)
{
    tkl_leader *leader = NULL;
    if (cli_number(cli, "max", 1) < 1)
        return cli_usage(cli, "--max is 1 or more");
    int failed = open_leader(cli, NULL, &leader);
    if (!failed)
        failed = watch_changes(cli, leader);
    tkl_leader_close(leader);
    return failed;
}

/* Adds the state of a name; one whose leader resigned meanwhile is left out. */
static int add_leader(tkl_client *client, tkl_bytes name, json_t *rows)
{
    tkl_leader *leader = NULL;
    tkl_holders *holders = NULL;
    int code = tkl_leader_open(client, name, NULL, &leader);
    if (code == TKL_OK)
        code = tkl_leader_show(leader, &holders);
    if (code == TKL_OK && holders->count > 0 &&
        json_array_append_new(rows, json_leader(name, holders)) != 0)
        code = TKL_ENOMEM;
    tkl_holders_free(holders);
    tkl_leader_close(leader);
    return code;
}

static int leader_list(cli_session *cli)
{
    tkl_client *client = NULL;
    tkl_names *names = NULL;
    int failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    json_t *rows = json_array();
    int code = tkl_leader_names(client, &names);
    for (size_t i = 0; code == TKL_OK && i < names->count; i++)
        code = add_leader(client, names->items[i], rows);
    tkl_names_free(names);
    if (code == TKL_OK)
        return cli_print_rows(cli, rows, leader_columns);
    json_decref(rows);
    return cli_end(cli, code);
}

/* ---- resign, break --------------------------------------------------------- */

static int resign_leader(cli_session *cli)
{
    tkl_leader *leader = NULL;
    int failed = open_leader(cli, NULL, &leader);
    if (!failed)
        failed = cli_end(cli, tkl_leader_adopt(leader, cli->argv[1]));
    if (!failed)
        failed = cli_end(cli, tkl_leader_resign(leader));
    tkl_leader_close(leader);
    return failed ? failed : cli_print_done(cli, "resigned");
}

static int break_leader(cli_session *cli)
{
    tkl_leader *leader = NULL;
    int failed = open_leader(cli, NULL, &leader);
    int code = failed ? TKL_OK : tkl_leader_break(leader);
    tkl_leader_close(leader);
    if (failed)
        return failed;
    if (code == TKL_NOTFOUND)
        return cli_no(cli, code, "nobody leads '%s'", cli->argv[0]);
    return code == TKL_OK ? cli_print_done(cli, "broken") : cli_end(cli, code);
}

/* ---- The component --------------------------------------------------------- */

static const cli_option run_options[] = {
    CLI_HOLD_LEASE,
    {"wait", CLI_DURATION, "DURATION", "stand up to this long; 0 tries once (default: no limit)"},
    {"once", CLI_FLAG, NULL, "end with exit code 76 when the term is lost: do not stand again"},
    CLI_HOLD_GRACE,
    {"label", CLI_TEXT, "TEXT", "text for observers, such as an address (default: COMMAND)"},
    CLI_HOLD_REPLICAS,
    {0},
};

static const cli_option watch_options[] = {
    {"max", CLI_INTEGER, "N", "end after N lines (default: no limit)"},
    {"wait", CLI_DURATION, "DURATION", "end with exit code 1 after this long without a change"},
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "run",
        .args = "NAME -- COMMAND [ARG...]",
        .summary = "stand for the name; run a command while leading",
        .options = run_options,
        .details =
            "Start it on every machine: COMMAND runs on one of them. When the term is lost,\n"
            "COMMAND is ended and tackle stands again. When COMMAND ends, tackle resigns and\n"
            "ends, and the next candidate leads. COMMAND finds TACKLE_LEADER, TACKLE_TOKEN\n"
            "and its term TACKLE_FENCE in its environment.\n\n"
            "COMMAND and all that it starts are one process group, which gets the signals\n"
            "that tackle gets. The exit code is COMMAND's, 128+N when signal N ended it;\n"
            "75: not elected in time; 76: lost, with --once; 69: server unreachable;\n"
            "126, 127: COMMAND cannot be run, or was not found.",
        .example = "tackle leader run scheduler -- echo 'one machine does this'",
        .local = "it runs a command",
        .run = leader_run,
    },
    {
        .name = "show",
        .args = "NAME",
        .summary = "who leads, since when, and who stands",
        .details = "Exit code 1 when nobody leads; candidates are shown even then.",
        .example = "tackle leader run scheduler --label 10.0.0.5:80 -- tackle leader show "
                   "scheduler",
        .effect = CLI_READS,
        .run = show_leader,
    },
    {
        .name = "watch",
        .args = "NAME",
        .summary = "print who leads, and again whenever that changes",
        .options = watch_options,
        .example = "tackle leader watch scheduler --max 1",
        .effect = CLI_READS,
        .follows = true,
        .run = leader_watch,
    },
    {
        .name = "list",
        .summary = "all names that have a leader now",
        .options = cli_list_options,
        .example = "tackle leader run scheduler -- tackle leader list",
        .effect = CLI_READS,
        .run = leader_list,
    },
    {
        .name = "resign",
        .args = "NAME TOKEN",
        .summary = "resign for the leader with that token; the next candidate leads",
        .details = "For the command of `leader run`, which ends then. Exit code 1 when that token\n"
                   "does not lead (any more).",
        .example =
            "tackle leader run scheduler --once -- \\\n"
            "  sh -c 'tackle leader resign scheduler $TACKLE_TOKEN; sleep 9' || echo exit code $?",
        .effect = CLI_WRITES,
        .run = resign_leader,
    },
    {
        .name = "break",
        .args = "NAME",
        .summary = "take the name away from its leader; the next candidate leads",
        .details = "The former leader ends its command, and stands again behind the others. Exit\n"
                   "code 1 when nobody leads.",
        .example = "tackle leader run scheduler --once -- \\\n"
                   "  sh -c 'tackle leader break scheduler; sleep 9' || echo exit code $?",
        .effect = CLI_WRITES,
        .run = break_leader,
    },
    {0},
};

static const cli_step demo[] = {
    {"Two machines stand, one leads. When it ends, the other leads.",
     "tackle leader run scheduler -- sh -c 'sleep 0.3; echo first, term $TACKLE_FENCE' &\n"
     "  sleep 0.1; tackle leader run scheduler -- sh -c 'echo then, term $TACKLE_FENCE'; wait",
     0},
    {"Who leads? Here the leader itself asks.",
     "tackle leader run scheduler --label 10.0.0.5:80 -- tackle leader show scheduler", 0},
    {"Nobody any more.", "tackle leader watch scheduler --max 1", 0},
    {0},
};

const cli_component cli_leader = {
    .name = "leader",
    .summary = "one of many programs leads: election by name, with terms",
    .verbs = verbs,
    .shared = "leaders",
    .demo = demo,
};
