/* SPDX-License-Identifier: MIT
 *
 * The maintenance flag from the shell.
 */
#include "out.h"

static const char *name_of(const cli_session *cli)
{
    return cli->argc > 0 ? cli->argv[0] : "all";
}

static int open_flag(cli_session *cli, tkl_maintenance **flag)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_maintenance_open(client, tkl_str(name_of(cli)), NULL, flag));
}

static int print_state(cli_session *cli, tkl_maintenance *flag, tkl_maintenance_state *state)
{
    static const cli_column columns[] = {
        {"name", "name"}, {"on", "maintenance"}, {"reason", "reason"}, {"since", "since"}, {0},
    };
    int failed = cli_end(cli, tkl_maintenance_read(flag, state));
    if (failed)
        return failed;
    return cli_print_record(
        cli,
        json_pack("{s:o, s:b, s:o, s:o}", "name", cli_json_bytes(tkl_str(name_of(cli))), "on",
                  state->on, "reason",
                  *state->reason ? cli_json_bytes(tkl_str(state->reason)) : json_null(), "since",
                  cli_json_time(state->since_ms)),
        columns);
}

static int switch_to(cli_session *cli, bool on, const char *reason)
{
    tkl_maintenance *flag = NULL;
    tkl_maintenance_state state;
    int failed = open_flag(cli, &flag);
    if (!failed)
        failed = cli_end(cli, tkl_maintenance_set(flag, on, tkl_str(reason)));
    if (!failed)
        failed = print_state(cli, flag, &state);
    tkl_maintenance_close(flag);
    return failed;
}

static int maintenance_on(cli_session *cli)
{
    return switch_to(cli, true, cli_text(cli, "reason", ""));
}

static int maintenance_off(cli_session *cli)
{
    return switch_to(cli, false, "");
}

static int maintenance_status(cli_session *cli)
{
    tkl_maintenance *flag = NULL;
    tkl_maintenance_state state = {0};
    int failed = open_flag(cli, &flag);
    if (!failed)
        failed = print_state(cli, flag, &state);
    tkl_maintenance_close(flag);
    return !failed && !state.on ? cli_answered_no(cli, TKL_NOTFOUND, "no maintenance") : failed;
}

/* ---- The component ------------------------------------------------------- */

static const cli_option on_options[] = {
    {"reason", CLI_TEXT, "TEXT", "reason that status prints, up to 255 bytes"},
    {0},
};

static const cli_verb verbs[] = {
    {
        .name = "on",
        .args = "[NAME]",
        .summary = "begin the maintenance of NAME (default: of everything)",
        .options = on_options,
        .example = "tackle maintenance on tackle-example --reason 'moving the database'\n"
                   "tackle maintenance off tackle-example",
        .effect = CLI_WRITES,
        .run = maintenance_on,
    },
    {
        .name = "off",
        .args = "[NAME]",
        .summary = "end it",
        .example = "tackle maintenance off tackle-example",
        .effect = CLI_WRITES,
        .run = maintenance_off,
    },
    {
        .name = "status",
        .args = "[NAME]",
        .summary = "whether it is on: exit code 0, or 1 when it is off",
        .example = "tackle maintenance on tackle-example\n"
                   "tackle maintenance status tackle-example --json\n"
                   "tackle maintenance off tackle-example",
        .effect = CLI_READS,
        .run = maintenance_status,
    },
    {0},
};

static const cli_step demo[] = {
    {"A flag that every program can read from memory, before each piece of work.",
     "tackle maintenance on --reason 'moving the database'; tackle maintenance status", 0},
    {"Over again.", "tackle maintenance off; tackle maintenance status", 1},
    {0},
};

const cli_component cli_maintain = {
    .name = "maintenance",
    .summary = "a flag for programs to pause",
    .verbs = verbs,
    .shared = "flags",
    .demo = demo,
};
