/* SPDX-License-Identifier: MIT
 *
 * Online users from the shell.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "items.h"
#include "lines.h"
#include "online_compare.h"
#include "out.h"
#include "progress.h"

static tkl_online_kind kind_given(const cli_session *cli)
{
    const char *word = cli_text(cli, "using", "stored");
    for (int kind = 0; kind <= TKL_ONLINE_HEARTBEAT; kind++)
        if (strcmp(tkl_online_kind_name((tkl_online_kind)kind), word) == 0)
            return (tkl_online_kind)kind;
    return TKL_ONLINE_STORED;
}

static int open_online(cli_session *cli, const tkl_online_options *options, tkl_online **online)
{
    tkl_client *client = NULL;
    int failed = cli_connect(cli, &client);
    return failed ? failed
                  : cli_end(cli, tkl_online_open(client, tkl_str(cli->argv[0]), options, online));
}

/* ---- mark ---------------------------------------------------------------- */

typedef struct marking {
    tkl_online *online;
    const char *day; /* NULL: today */
    cli_progress progress;
    uint64_t done;
    int64_t fresh; /* how many marks are new; unmark: how many users were marked */
} marking;

static int mark_some(cli_session *cli, const tkl_bytes *users, size_t count, void *arg)
{
    marking *m = arg;
    int64_t fresh = 0;
    int failed =
        cli_end_items(cli, tkl_online_mark_day(m->online, m->day, users, count, &fresh), count);
    m->done += count;
    m->fresh = fresh == TKL_NONE ? TKL_NONE : m->fresh + fresh;
    cli_progress_update(&m->progress, m->done);
    return failed;
}

/* Prints how many are fresh, which an hll cannot tell. */
static int print_marked(const cli_session *cli, const marking *m)
{
    bool known = m->fresh != TKL_NONE;
    if (cli->json)
        return cli_print_json(
            cli, json_pack("{s:o, s:I, s:o}", "name", cli_json_bytes(tkl_str(cli->argv[0])),
                           "marked", (json_int_t)m->done, "fresh",
                           known ? json_integer((json_int_t)m->fresh) : json_null()));
    printf("%" PRIu64 " marked", m->done);
    if (known)
        printf(", %" PRId64 " fresh", m->fresh);
    putchar('\n');
    return CLI_OK;
}

static int check_above_0(const cli_session *cli)
{
    static const char *const options[] = {"keep", "max-id"};
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < sizeof options / sizeof *options; i++)
        failed = cli_positive(cli, options[i]);
    return failed;
}

static int online_mark(cli_session *cli)
{
    marking m = {.day = cli_text(cli, "day", NULL)};
    tkl_online_options options = {
        .kind = kind_given(cli),
        .zone = cli_text(cli, "zone", NULL),
        .keep_days = cli_number(cli, "keep", 0),
        .window_ms = cli_number(cli, "window", 0),
        .max_id = cli_number(cli, "max-id", 0),
    };
    int failed = check_above_0(cli);
    if (!failed)
        failed = open_online(cli, &options, &m.online);
    cli_progress_start(&m.progress, "users marked:", 0);
    if (!failed)
        failed = cli_text_items(cli, 1, mark_some, &m);
    cli_progress_end(&m.progress);
    tkl_online_close(m.online);
    return failed ? failed : print_marked(cli, &m);
}

/* ---- unmark -------------------------------------------------------------- */

static int unmark_some(cli_session *cli, const tkl_bytes *users, size_t count, void *arg)
{
    marking *m = arg;
    int64_t removed = 0;
    int failed =
        cli_end_items(cli, tkl_online_unmark(m->online, m->day, users, count, &removed), count);
    m->fresh += removed;
    return failed;
}

static int online_unmark(cli_session *cli)
{
    marking m = {.day = cli_text(cli, "day", NULL)};
    int failed = open_online(cli, NULL, &m.online);
    if (!failed)
        failed = cli_text_items(cli, 1, unmark_some, &m);
    tkl_online_close(m.online);
    return failed ? failed : cli_print_count(cli, "unmarked", m.fresh);
}

/* ---- count, check -------------------------------------------------------- */

static int online_count(cli_session *cli)
{
    tkl_online *online = NULL;
    int64_t users = 0, days = cli_number(cli, "days", 1);
    bool every = cli_flag(cli, "all");
    if (every && cli_flag(cli, "any"))
        return cli_usage(cli, "either --all or --any");
    int failed = open_online(cli, NULL, &online);
    if (!failed)
        failed = cli_end(cli, tkl_online_count(online, days,
                                               every ? TKL_ONLINE_EVERY_DAY : TKL_ONLINE_ANY_DAY,
                                               &users));
    tkl_online_close(online);
    if (failed)
        return failed;
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:I}", "count", (json_int_t)users));
    printf("%" PRId64 "\n", users);
    return CLI_OK;
}

static int online_check(cli_session *cli)
{
    tkl_online *online = NULL;
    bool present = false;
    int failed = open_online(cli, NULL, &online);
    if (!failed)
        failed = cli_end(cli, tkl_online_check(online, tkl_str(cli->argv[1]),
                                               cli_number(cli, "days-ago", 0), &present));
    tkl_online_close(online);
    if (failed)
        return failed;
    if (cli->json)
        failed = cli_print_json(cli, json_pack("{s:o, s:b}", "user",
                                               cli_json_bytes(tkl_str(cli->argv[1])), "present",
                                               present));
    else
        printf("%s\n", present ? "present" : "absent");
    return failed || present ? failed : cli_answered_no(cli, TKL_NOTFOUND, "the user is absent");
}

/* ---- users --------------------------------------------------------------- */

/* Prints each user on a line as it arrives: there may be millions. */
static int print_user(const cli_session *cli, tkl_bytes user)
{
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:o}", "user", cli_json_bytes(user)));
    cli_print_bytes(user);
    putchar('\n');
    return ferror(stdout) ? cli_flush(cli) : CLI_OK;
}

static int print_users(const cli_session *cli, tkl_online_users *users)
{
    int64_t left = cli_number(cli, "max", INT64_MAX);
    tkl_bytes user;
    int code = TKL_EMPTY, failed = CLI_OK;
    while (!failed && left-- > 0 && (code = tkl_online_users_next(users, &user)) == TKL_OK)
        failed = print_user(cli, user);
    return failed || code == TKL_EMPTY ? failed : cli_end(cli, code);
}

static int online_users(cli_session *cli)
{
    tkl_online *online = NULL;
    tkl_online_users *users = NULL;
    tkl_online_users_options options = {.days_ago = cli_number(cli, "days-ago", 0)};
    int failed = cli_positive(cli, "max");
    if (!failed)
        failed = open_online(cli, NULL, &online);
    if (!failed)
        failed = cli_end(cli, tkl_online_users_open(online, &options, &users));
    if (!failed)
        failed = print_users(cli, users);
    tkl_online_users_close(users);
    tkl_online_close(online);
    return failed;
}

/* ---- returning ----------------------------------------------------------- */

static int online_returning(cli_session *cli)
{
    tkl_online *online = NULL;
    int64_t back = 0, fresh = 0;
    int failed = open_online(cli, NULL, &online);
    if (!failed)
        failed =
            cli_end(cli, tkl_online_returning(online, cli_number(cli, "days", 7), &back, &fresh));
    tkl_online_close(online);
    static const cli_column columns[] = {{"returning", "returning"}, {"fresh", "fresh"}, {0}};
    return failed ? failed
                  : cli_print_record(cli,
                                     json_pack("{s:I, s:I}", "returning", (json_int_t)back, "fresh",
                                               (json_int_t)fresh),
                                     columns);
}

/* ---- cohort -------------------------------------------------------------- */

static json_t *comeback_json(const tkl_online_comeback *item, int64_t users)
{
    return json_pack("{s:s, s:I, s:o}", "day", item->day, "users", (json_int_t)item->users, "share",
                     users > 0 ? json_real((double)item->users / (double)users) : json_null());
}

static int print_cohort(cli_session *cli, const tkl_online_cohort *found)
{
    static const cli_column columns[] = {
        {"day", "day"}, {"users", "came back"}, {"share", "share"}, {0}};
    json_t *days = json_array();
    for (size_t i = 0; i < found->count; i++)
        json_array_append_new(days, comeback_json(&found->items[i], found->users));
    if (cli->json)
        return cli_print_json(cli, json_pack("{s:s, s:I, s:o}", "first", found->day, "users",
                                             (json_int_t)found->users, "days", days));
    printf("%" PRId64 " users on %s\n", found->users, found->day);
    return cli_print_rows(cli, days, columns);
}

static int online_cohort(cli_session *cli)
{
    tkl_online *online = NULL;
    tkl_online_cohort *found = NULL;
    const char *first = cli_text(cli, "first", NULL);
    if (first == NULL)
        return cli_usage(cli, "--first DAY: the day of the users, such as 2026-11-16");
    int failed = open_online(cli, NULL, &online);
    if (!failed)
        failed = cli_end(cli, tkl_online_cohort_get(online, first, &found));
    if (!failed)
        failed = print_cohort(cli, found);
    tkl_online_cohort_free(found);
    tkl_online_close(online);
    return failed;
}

/* ---- report -------------------------------------------------------------- */

static json_t *json_of_day(const tkl_online_day *day)
{
    return json_pack("{s:s, s:I, s:I, s:I}", "day", day->day, "users", (json_int_t)day->users,
                     "bytes", (json_int_t)day->bytes, "theory_bytes",
                     (json_int_t)day->theory_bytes);
}

/* Makes the report: a heartbeat has a window and no days, other kinds have days and no window. */
static json_t *json_of_report(const tkl_online_report *report, json_t *days)
{
    bool beats = report->kind == TKL_ONLINE_HEARTBEAT;
    return json_pack("{s:s, s:o, s:o, s:o, s:I, s:I, s:o}", "kind",
                     tkl_online_kind_name(report->kind), "zone",
                     beats ? json_null() : json_string(report->zone), "keep_days",
                     beats ? json_null() : json_integer((json_int_t)report->keep_days), "window_ms",
                     beats ? json_integer((json_int_t)report->window_ms) : json_null(), "assigned",
                     (json_int_t)report->assigned, "assigned_bytes",
                     (json_int_t)report->assigned_bytes, "days", days);
}

static void print_kind(const tkl_online_report *report)
{
    const char *kind = tkl_online_kind_name(report->kind);
    char window[CLI_DURATION_SIZE];
    if (report->kind == TKL_ONLINE_HEARTBEAT)
        printf("kind %s, a mark lasts %s\n", kind, cli_duration_text(report->window_ms, window));
    else
        printf("kind %s, days in %s, %" PRId64 " kept\n", kind, report->zone, report->keep_days);
}

static int print_report(cli_session *cli, const tkl_online_report *report)
{
    static const cli_column columns[] = {
        {"day", "day"}, {"users", "users"}, {"bytes", "bytes"}, {"theory_bytes", "in theory"}, {0}};
    json_t *days = json_array();
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(days, json_of_day(&report->items[i]));
    if (cli->json)
        return cli_print_json(cli, json_of_report(report, days));
    print_kind(report);
    if (report->assigned > 0)
        printf("%" PRId64 " users have numbers, in %" PRId64 " bytes\n", report->assigned,
               report->assigned_bytes);
    return cli_print_rows(cli, days, columns);
}

static int online_report(cli_session *cli)
{
    tkl_online *online = NULL;
    tkl_online_report *found = NULL;
    int failed = open_online(cli, NULL, &online);
    if (!failed)
        failed = cli_end_of(cli, tkl_online_show(online, &found), "set of users");
    if (!failed)
        failed = print_report(cli, found);
    tkl_online_report_free(found);
    tkl_online_close(online);
    return failed;
}

static int online_list(cli_session *cli)
{
    return cli_list(cli, tkl_online_names);
}

static int online_drop(cli_session *cli)
{
    tkl_online *online = NULL;
    int failed = cli_confirm(cli, "This forgets all days of '%s'.", cli->argv[0]);
    if (!failed)
        failed = open_online(cli, NULL, &online);
    if (!failed)
        failed = cli_end_of(cli, tkl_online_drop(online), "set of users");
    tkl_online_close(online);
    return failed ? failed : cli_print_done(cli, "dropped");
}

/* ---- The component ------------------------------------------------------- */

static const cli_option mark_options[] = {
    {"using", CLI_CHOICE, "set|bitmap|assigned|hll|heartbeat", "how users are kept (default set)"},
    {"zone", CLI_TEXT, "ZONE", "time zone of days (default UTC)"},
    {"keep", CLI_INTEGER, "DAYS", "days that are kept (default 31)"},
    {"window", CLI_PERIOD, "DURATION", "heartbeat: how long a mark lasts (default 1m)"},
    {"max-id", CLI_INTEGER, "N", "bitmap: largest number (default 99999999)"},
    {"day", CLI_TEXT, "DAY", "2026-11-16, or yesterday (default today)"},
    CLI_LINES,
    {0},
};
static const cli_option unmark_options[] = {
    {"day", CLI_TEXT, "DAY", "2026-11-16, or yesterday (default today)"},
    CLI_LINES,
    {0},
};
static const cli_option count_options[] = {
    {"days", CLI_INTEGER, "N", "the last N days, today included (default 1)"},
    {"any", CLI_FLAG, NULL, "users who were there on any of the days (default)"},
    {"all", CLI_FLAG, NULL, "users who were there on all of the days"},
    {0},
};
static const cli_option check_options[] = {
    {"days-ago", CLI_INTEGER, "N", "look at the day N days ago (default 0: today)"},
    {0},
};
static const cli_option users_options[] = {
    {"days-ago", CLI_INTEGER, "N", "look at the day N days ago (default 0: today)"},
    {"max", CLI_INTEGER, "N", "print at most N users (default: all)"},
    {0},
};
static const cli_option returning_options[] = {
    {"days", CLI_INTEGER, "N", "days before today to look at (default 7)"},
    {0},
};
static const cli_option cohort_options[] = {
    {"first", CLI_TEXT, "DAY", "the day of the users, in the zone of the name: 2026-11-16"},
    {0},
};
static const cli_option drop_options[] = {CLI_YES, {0}};

static const cli_verb verbs[] = {
    {
        .name = "mark",
        .args = "NAME [USER...]",
        .summary = "mark users as present today; prints how many were not before",
        .options = mark_options,
        .details = "set: exact, any user. bitmap: exact, users are numbers; 1.25 MB a day for ten\n"
                   "million. assigned: a bitmap for names, which get numbers. hll: an estimate of\n"
                   "the count in 12 KB a day. heartbeat: who was marked in the last minute.\n"
                   "The first mark of a name decides; later ones need not say it again.",
        .example = "tackle online mark visitors ann bob\n"
                   "tackle online mark visitors eve --day yesterday\n"
                   "seq 1000 | tackle online mark players --using bitmap --lines",
        .effect = CLI_WRITES,
        .run = online_mark,
    },
    {
        .name = "unmark",
        .args = "NAME [USER...]",
        .summary = "take back marks; prints how many users were marked",
        .options = unmark_options,
        .details = "An hll cannot forget a user.",
        .example = "tackle online mark visitors ann bob\n"
                   "tackle online unmark visitors bob",
        .effect = CLI_WRITES,
        .run = online_unmark,
    },
    {
        .name = "count",
        .args = "NAME",
        .summary = "how many users there were today, or on the last days",
        .options = count_options,
        .example = "tackle online mark visitors ann bob\n"
                   "tackle online count visitors\n"
                   "tackle online count visitors --days 7 --all",
        .effect = CLI_READS,
        .run = online_count,
    },
    {
        .name = "check",
        .args = "NAME USER",
        .summary = "whether a user was there",
        .options = check_options,
        .details = "Exit code 1 when not. An hll cannot tell.",
        .example = "tackle online mark visitors ann\n"
                   "tackle online check visitors ann",
        .effect = CLI_READS,
        .run = online_check,
    },
    {
        .name = "users",
        .args = "NAME",
        .summary = "who was there today, or is there now; a line each",
        .options = users_options,
        .details =
            "Users come in no order; of a bitmap their numbers, smallest first. The server is\n"
            "asked in short steps. An hll cannot tell. With --json an object a line.",
        .example = "tackle online mark visitors ann bob\n"
                   "tackle online users visitors\n"
                   "tackle online users visitors --max 100 --json",
        .effect = CLI_READS,
        .run = online_users,
    },
    {
        .name = "returning",
        .args = "NAME",
        .summary = "how many of today's users are new, and how many returned",
        .options = returning_options,
        .example = "tackle online mark visitors ann bob\n"
                   "tackle online returning visitors --days 7",
        .effect = CLI_READS,
        .run = online_returning,
    },
    {
        .name = "cohort",
        .args = "NAME",
        .summary = "how many users of a day came back on each day after it",
        .options = cohort_options,
        .details = "Of an hll these are estimates, off by 1 to 2 % of all users of two days.",
        .example = "tackle online mark visitors ann bob\n"
                   "tackle online cohort visitors --first \"$(date -u +%F)\"\n"
                   "tackle online cohort visitors --first \"$(date -u -d yesterday +%F)\" --json",
        .effect = CLI_READS,
        .run = online_cohort,
    },
    {
        .name = "report",
        .args = "NAME",
        .summary = "the users of each day, and the memory they take",
        .example = "tackle online mark visitors ann bob\n"
                   "tackle online report visitors",
        .effect = CLI_READS,
        .run = online_report,
    },
    {
        .name = "compare",
        .summary = "measure the kinds side by side: memory, error and time",
        .options = cli_online_compare_options,
        .details = "Marks the same users in each kind, in numbers or as names of 20 to 25 bytes,\n"
                   "counts them, and drops them again. A heartbeat has no days.",
        .example = "tackle online compare --users 1000 --days 3\n"
                   "tackle online compare --users 1000 --days 2 --json",
        .local = "it measures on a server of its own",
        .run = cli_online_compare,
    },
    {
        .name = "list",
        .summary = "all names with marked users",
        .options = cli_list_options,
        .example = "tackle online mark visitors ann\n"
                   "tackle online list --json",
        .effect = CLI_READS,
        .run = online_list,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "forget all days",
        .options = drop_options,
        .example = "tackle online mark tackle-example ann\n"
                   "tackle online drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = online_drop,
    },
    {0},
};

static const cli_step demo[] = {
    {"A hundred thousand users of today, by a set, a bitmap and a HyperLogLog.",
     "for kind in set bitmap hll; do seq 100000 | tackle online mark by-$kind --using $kind "
     "--lines; "
     "tackle online report by-$kind; done",
     0},
    {"Who was there on all of the last seven days?", "tackle online count by-bitmap --days 7 --all",
     0},
    {"Who is here now: marked within the last minute.",
     "tackle online mark here ann bob --using heartbeat; tackle online users here; "
     "tackle online check here eve",
     1},
    {0},
};

const cli_component cli_online = {
    .name = "online",
    .summary = "who was here today, on all of seven days, or is here now",
    .verbs = verbs,
    .shared = "users",
    .demo = demo,
};
