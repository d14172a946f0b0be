/* SPDX-License-Identifier: MIT
 *
 * Rate limits from the shell.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "child.h"
#include "guard.h"
#include "holders.h"
#include "limit.h"
#include "lines.h"
#include "out.h"
#include "release.h"
#include "value.h"

enum { ALL_MAX = 64 };

/* ---- Rules --------------------------------------------------------------- */

#define ALGORITHMS "gcra|bucket|window|window-approx|concurrency"

static tkl_limit_algorithm algorithm_of(const char *name)
{
    int i = TKL_LIMIT_GCRA;
    while (strcmp(tkl_limit_algorithm_name((tkl_limit_algorithm)i), name) != 0 &&
           i < TKL_LIMIT_CONCURRENCY) /* the word is valid: that was checked before */
        i++;
    return (tkl_limit_algorithm)i;
}

/* In the shell 0 means zero; in C it means the default. */
static int64_t burst_of(int64_t given)
{
    return given == 0 ? TKL_NONE : given;
}

static int read_rate(const cli_session *cli, const char *rate, tkl_limit_rule *rule)
{
    const char *wrong = cli_parse_rate(rate, &rule->count, &rule->period_ms);
    return wrong == NULL ? CLI_OK : cli_usage(cli, "invalid rate '%s': %s", rate, wrong);
}

/* Reads the options that all limits have. */
static int read_rule(const cli_session *cli, tkl_limit_rule *rule)
{
    *rule = (tkl_limit_rule){.algorithm = algorithm_of(cli_text(cli, "algorithm", "gcra"))};
    if (cli_flag(cli, "burst"))
        rule->burst = burst_of(cli_number(cli, "burst", 0));
    return cli_number(cli, "burst", 0) < 0 ? cli_usage(cli, "invalid --burst: 0 or more") : CLI_OK;
}

/* Opens the limit of the first argument, with the rule of the options and what `more` sets. */
static int open_limit(cli_session *cli, tkl_limit_rule more, bool counted, tkl_limit **limit)
{
    tkl_limit_options options = {.counted = counted};
    tkl_client *client = NULL;
    tkl_limit_rule rule;
    const char *rate = cli_text(cli, "rate", NULL);
    if (rate == NULL)
        return cli_usage(cli, "missing --rate COUNT/PERIOD, like 30/60s");
    int failed = read_rule(cli, &rule);
    rule.in_order = more.in_order;
    rule.count_denied = more.count_denied;
    if (!failed)
        failed = read_rate(cli, rate, &rule);
    if (!failed)
        failed = cli_connect(cli, &client);
    if (failed)
        return failed;
    return cli_end(cli, tkl_limit_open(client, tkl_str(cli->argv[0]), &rule, &options, limit));
}

/* ---- Answers ------------------------------------------------------------- */

/* The quantity of the options; 0 takes nothing. */
static int64_t quantity_of(const cli_session *cli)
{
    return cli_number(cli, "quantity", 1);
}

/* `code` is the result of the check. */
static json_t *answer_json(const cli_session *cli, int code, const tkl_limit_answer *a)
{
    json_t *retry = a->retry_after_ms < 0 ? json_null() : json_integer(a->retry_after_ms);
    json_t *ticket = a->ticket[0] == '\0' ? json_null() : json_string(a->ticket);
    int64_t taken = code == TKL_OK ? quantity_of(cli) : 0;
    return json_pack("{s:b, s:I, s:I, s:I, s:o, s:I, s:o}", "allowed", a->allowed, "taken",
                     (json_int_t)taken, "limit", (json_int_t)a->limit, "remaining",
                     (json_int_t)a->remaining, "retry_after_ms", retry, "reset_after_ms",
                     (json_int_t)a->reset_after_ms, "ticket", ticket);
}

/* "allowed, 15 of 16 remain", "limited, 0 of 16 remain, fits in 1.5 s", or "nothing taken, 0 of 16
 * remain, the next fits in 1.5 s" */
static void print_line(const cli_session *cli, const tkl_limit_answer *a)
{
    char text[CLI_DURATION_SIZE];
    bool looks = quantity_of(cli) == 0;
    printf("%s, %" PRId64 " of %" PRId64 " remain",
           looks        ? "nothing taken"
           : a->allowed ? "allowed"
                        : "limited",
           a->remaining, a->limit);
    if (a->retry_after_ms >= 0)
        printf(", %s in %s", looks ? "the next fits" : "fits",
               cli_duration_text(a->retry_after_ms, text));
    else if (!a->allowed)
        printf(", never fits");
    if (a->ticket[0] != '\0')
        printf(", ticket %s", a->ticket);
    putchar('\n');
}

static int64_t seconds(int64_t ms)
{
    return ms < 0 ? -1 : (ms + 999) / 1000;
}

/* The five numbers of redis-cell's CL.THROTTLE: limited (0 or 1), limit, remaining, retry after and
 * reset after in whole seconds, rounded up. */
static int print_cell(const cli_session *cli, const tkl_limit_answer *a)
{
    int64_t limited = a->allowed ? 0 : 1;
    int64_t retry = seconds(a->retry_after_ms), reset = seconds(a->reset_after_ms);
    if (cli->json)
        return cli_print_json(cli, json_pack("[I,I,I,I,I]", (json_int_t)limited,
                                             (json_int_t)a->limit, (json_int_t)a->remaining,
                                             (json_int_t)retry, (json_int_t)reset));
    printf("%" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "\n", limited, a->limit,
           a->remaining, retry, reset);
    return CLI_OK;
}

/* The answer is printed in either case; exit code 1 when limited. */
static int print_answer(const cli_session *cli, int code, const tkl_limit_answer *a)
{
    int failed = CLI_OK;
    if (code != TKL_OK && code != TKL_LIMITED)
        return cli_end(cli, code);
    if (cli_flag(cli, "cell"))
        failed = print_cell(cli, a);
    else if (cli->json)
        failed = cli_print_json(cli, answer_json(cli, code, a));
    else
        print_line(cli, a);
    return failed || code == TKL_OK ? failed : cli_answered_no(cli, code, tkl_strerror(code));
}

/* ---- check, wait --------------------------------------------------------- */

static int limit_check(cli_session *cli)
{
    tkl_limit *limit = NULL;
    tkl_limit_answer answer;
    tkl_limit_rule more = {.count_denied = cli_flag(cli, "count-denied")};
    int failed = open_limit(cli, more, cli_flag(cli, "counted"), &limit);
    if (failed)
        return failed;
    int code = tkl_limit_check(limit, tkl_str(cli->argv[1]), quantity_of(cli), &answer);
    tkl_limit_close(limit);
    return print_answer(cli, code, &answer);
}

static int wait_for(cli_session *cli, tkl_limit *limit, tkl_limit_answer *answer)
{
    return tkl_limit_wait(limit, tkl_str(cli->argv[1]), quantity_of(cli),
                          cli_number(cli, "wait", -1), answer);
}

static int wait_verb(cli_session *cli)
{
    tkl_limit *limit = NULL;
    tkl_limit_answer answer;
    int failed =
        open_limit(cli, (tkl_limit_rule){.in_order = cli_flag(cli, "in-order")}, false, &limit);
    if (failed)
        return failed;
    int code = wait_for(cli, limit, &answer);
    tkl_limit_close(limit);
    return print_answer(cli, code, &answer);
}

/* ---- run ----------------------------------------------------------------- */

static int give_back(cli_session *cli, tkl_limit *limit, const tkl_limit_answer *answer)
{
    return tkl_limit_refund(limit, tkl_str(cli->argv[1]), quantity_of(cli), answer->ticket);
}

/* The slot that is held while a command runs. */
typedef struct slot {
    cli_session *cli;
    tkl_limit *limit;
    const tkl_limit_answer *answer;
    int64_t until_ms; /* when it expires, by cli_guard_now_ms() */
} slot;

static int give_back_slot(void *arg)
{
    const slot *s = arg;
    return give_back(s->cli, s->limit, s->answer);
}

/* Gives the slot back after the command. If the server does not answer, ends the program. */
static void end_slot(slot *s, int exit)
{
    const char *message;
    int code = cli_release_soon(give_back_slot, s, &message);
    if (code == TKL_OK || code == TKL_NOTFOUND)
        cli_guard_settle();
    if (code == TKL_NOTFOUND)
        cli_fail(s->cli, CLI_OK, "the slot ended before the command did: its period is too short");
    else if (code != TKL_OK) {
        cli_fail(s->cli, CLI_OK, "not given back yet, it ends by itself at the latest: %s",
                 message);
        cli_leave(s->cli, exit);
    }
}

static bool is_concurrency(const cli_session *cli)
{
    return strcmp(cli_text(cli, "algorithm", ""), "concurrency") == 0;
}

/* The guard gives the slot back if we are killed. */
static void plan_end(const slot *s, cli_release *plan)
{
    char rate[128], quantity[64];
    const char *const words[] = {
        "refund",        "--algorithm=concurrency", rate, quantity, "--ticket=-", "--",
        s->cli->argv[0], s->cli->argv[1],           NULL,
    };
    snprintf(rate, sizeof rate, "--rate=%s", cli_text(s->cli, "rate", ""));
    snprintf(quantity, sizeof quantity, "--quantity=%" PRId64, quantity_of(s->cli));
    *plan = (cli_release){0};
    if (is_concurrency(s->cli))
        cli_release_plan(s->cli, words, NULL, s->answer->ticket, plan);
}

/* Waits for the command. It may run longer than its slot; from then on the guard has no deadline
 * for it. */
static int run_started(slot *s, cli_child *child)
{
    int64_t left_ms = s->until_ms - cli_guard_now_ms();
    bool in_time = is_concurrency(s->cli) && left_ms > 0 &&
                   cli_child_wait(child, -1, left_ms) == CLI_CHILD_ENDED;
    if (!in_time) {
        cli_guard_until(child->pid, CLI_GUARD_NEVER);
        cli_child_wait(child, -1, -1);
    }
    int exit = cli_child_close(s->cli, child);
    if (is_concurrency(s->cli))
        end_slot(s, exit);
    return exit;
}

static int run_command(slot *s)
{
    cli_child child;
    cli_release plan;
    cli_command command = {
        .argv = &s->cli->argv[2],
        .foreground = true,
        .until_ms = is_concurrency(s->cli) ? s->until_ms : CLI_GUARD_NEVER,
    };
    plan_end(s, &plan);
    int exit = cli_child_start(s->cli, &command, &child);
    if (exit == CLI_OK)
        exit = run_started(s, &child);
    else
        end_slot(s, exit);
    cli_release_free(&plan);
    return exit;
}

static int limit_run(cli_session *cli)
{
    tkl_limit *limit = NULL;
    tkl_limit_answer answer;
    slot s = {.cli = cli, .answer = &answer};
    tkl_limit_rule rule;
    int failed =
        open_limit(cli, (tkl_limit_rule){.in_order = cli_flag(cli, "in-order")}, false, &limit);
    if (failed)
        return failed;
    int code = wait_for(cli, limit, &answer), exit;
    s.limit = limit;
    read_rate(cli, cli_text(cli, "rate", ""), &rule);
    s.until_ms = cli_guard_end_of(rule.period_ms, rule.period_ms);
    if (code == TKL_LIMITED) {
        cli_no(cli, TKL_LIMITED, "%s",
               answer.retry_after_ms < 0 ? "never fits: more than the limit"
                                         : "does not fit in time");
        exit = CLI_NOT_ACQUIRED;
    } else
        exit = code == TKL_OK ? run_command(&s) : cli_end(cli, code);
    tkl_limit_close(limit);
    return exit;
}

/* ---- all ----------------------------------------------------------------- */

/* The name before the first "="; a name cannot contain one. */
static tkl_bytes name_of(const char *text)
{
    return (tkl_bytes){text, strcspn(text, "=")};
}

/* "burst=9" or "algorithm=window" */
static int read_detail(const cli_session *cli, const char *text, tkl_limit_rule *rule)
{
    int64_t burst;
    const char *wrong = NULL;
    if (strncmp(text, "burst=", 6) == 0) {
        wrong = cli_parse_integer(text + 6, &burst);
        if (wrong == NULL && burst < 0)
            wrong = "0 or more";
        if (wrong == NULL)
            rule->burst = burst_of(burst);
    } else if (strncmp(text, "algorithm=", 10) == 0) {
        wrong = cli_parse_choice(text + 10, ALGORITHMS);
        if (wrong == NULL)
            rule->algorithm = algorithm_of(text + 10);
    } else
        wrong = "burst=N or algorithm=NAME";
    return wrong == NULL ? CLI_OK : cli_usage(cli, "invalid '%s': %s", text, wrong);
}

/* "30/m,burst=9,algorithm=bucket"; `text` is changed. */
static int read_limit(const cli_session *cli, char *text, tkl_limit_rule *rule)
{
    char *rest = text, *word = strsep(&rest, ",");
    int failed = read_rule(cli, rule);
    rule->count_denied = cli_flag(cli, "count-denied");
    if (!failed)
        failed = read_rate(cli, word, rule);
    while (!failed && (word = strsep(&rest, ",")) != NULL)
        failed = read_detail(cli, word, rule);
    return failed;
}

/* "api=30/60s,burst=9" */
static int open_named(cli_session *cli, tkl_client *client, const char *text, tkl_limit **limit)
{
    tkl_limit_rule rule;
    tkl_bytes name = name_of(text);
    if (text[name.len] == '\0')
        return cli_usage(cli, "'%s' is not NAME=RATE, like api=30/60s", text);
    char *copy = strdup(text + name.len + 1);
    if (copy == NULL)
        return cli_end(cli, TKL_ENOMEM);
    int failed = read_limit(cli, copy, &rule);
    free(copy);
    tkl_limit_options options = {.counted = cli_flag(cli, "counted")};
    return failed ? failed : cli_end(cli, tkl_limit_open(client, name, &rule, &options, limit));
}

static json_t *answers_json(const cli_session *cli, int code, const tkl_limit_answer *answers,
                            size_t count)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < count; i++) {
        json_t *row = json_pack("{s:o}", "name", cli_json_bytes(name_of(cli->argv[i + 1])));
        json_t *answer = answer_json(cli, code, &answers[i]);
        json_object_update(row, answer);
        json_decref(answer);
        json_array_append_new(rows, row);
    }
    return rows;
}

static int print_all(const cli_session *cli, int code, const tkl_limit_answer *answers,
                     size_t count)
{
    int failed = CLI_OK;
    if (code != TKL_OK && code != TKL_LIMITED)
        return cli_end(cli, code);
    if (cli->json)
        failed = cli_print_json(cli, answers_json(cli, code, answers, count));
    for (size_t i = 0; !cli->json && i < count; i++) {
        cli_print_bytes(name_of(cli->argv[i + 1]));
        printf(": ");
        print_line(cli, &answers[i]);
    }
    return failed || code == TKL_OK ? failed : cli_answered_no(cli, code, tkl_strerror(code));
}

static int limit_all(cli_session *cli)
{
    tkl_client *client = NULL;
    tkl_limit_item items[ALL_MAX] = {{0}};
    tkl_limit_answer answers[ALL_MAX];
    size_t count = (size_t)cli->argc - 1, opened = 0;
    if (count > ALL_MAX)
        return cli_usage(cli, "at most %d limits at once", ALL_MAX);
    int failed = cli_connect(cli, &client);
    for (; !failed && opened < count; opened++) {
        failed = open_named(cli, client, cli->argv[opened + 1], &items[opened].limit);
        items[opened].key = tkl_str(cli->argv[0]);
        items[opened].quantity = quantity_of(cli);
    }
    if (!failed)
        failed = print_all(cli, tkl_limit_check_all(items, count, answers), answers, count);
    for (size_t i = 0; i < opened; i++)
        tkl_limit_close(items[i].limit);
    return failed;
}

/* ---- refund, renew, reset ------------------------------------------------ */

static int limit_refund(cli_session *cli)
{
    tkl_limit *limit = NULL;
    int failed = open_limit(cli, (tkl_limit_rule){0}, false, &limit);
    if (failed)
        return failed;
    int code = tkl_limit_refund(limit, tkl_str(cli->argv[1]), quantity_of(cli),
                                cli_text(cli, "ticket", NULL));
    tkl_limit_close(limit);
    failed = cli_end(cli, code);
    return failed ? failed : cli_print_done(cli, "refunded");
}

static int limit_renew(cli_session *cli)
{
    tkl_limit *limit = NULL;
    int failed = open_limit(cli, (tkl_limit_rule){0}, false, &limit);
    if (failed)
        return failed;
    int code = tkl_limit_renew(limit, tkl_str(cli->argv[1]), quantity_of(cli),
                               cli_text(cli, "ticket", NULL));
    tkl_limit_close(limit);
    failed = cli_end(cli, code);
    return failed ? failed : cli_print_done(cli, "renewed");
}

/* Works for any rule. */
static int limit_reset(cli_session *cli)
{
    static const tkl_limit_rule any = {.count = 1, .period_ms = 1};
    tkl_client *client = NULL;
    tkl_limit *limit = NULL;
    int failed = cli_connect(cli, &client);
    if (!failed)
        failed = cli_end(cli, tkl_limit_open(client, tkl_str(cli->argv[0]), &any, NULL, &limit));
    if (!failed)
        failed = cli_limit_end_of_key(cli, tkl_limit_reset(limit, tkl_str(cli->argv[1])));
    tkl_limit_close(limit);
    return failed ? failed : cli_print_done(cli, "reset");
}

/* ---- The component ------------------------------------------------------- */

#define RATE                                                                                      \
    {                                                                                             \
        "rate", CLI_TEXT, "COUNT/PERIOD", "how many in which time: 30/60s, 5/s, 1/30d (required)" \
    }
#define BURST                                                                     \
    {                                                                             \
        "burst", CLI_INTEGER, "N",                                                \
            "extra at once (default COUNT - 1); bucket: its size (default COUNT)" \
    }
#define QUANTITY                                                          \
    {                                                                     \
        "quantity", CLI_INTEGER, "N",                                     \
            "how much to take (default 1); 0: only look whether one fits" \
    }
#define ALGORITHM                                             \
    {                                                         \
        "algorithm", CLI_CHOICE, ALGORITHMS, "(default gcra)" \
    }
#define COUNT_DENIED                                                                      \
    {                                                                                     \
        "count-denied", CLI_FLAG, NULL, "denied checks count, too (not with concurrency)" \
    }
#define COUNTED                                                                          \
    {                                                                                    \
        "counted", CLI_FLAG, NULL, "count allowed checks, too: see tackle limit refused" \
    }
#define CELL                                                                         \
    {                                                                                \
        "cell", CLI_FLAG, NULL, "print the five numbers of redis-cell's CL.THROTTLE" \
    }
#define WAIT                                                                                       \
    {                                                                                              \
        "wait", CLI_DURATION, "DURATION", "wait up to this long; 0 tries once (default: no limit)" \
    }
#define IN_ORDER                                                                   \
    {                                                                              \
        "in-order", CLI_FLAG, NULL, "book a place ahead: first come, first served" \
    }

static const cli_option check_options[] = {RATE,         BURST,   QUANTITY, ALGORITHM,
                                           COUNT_DENIED, COUNTED, CELL,     {0}};
static const cli_option wait_options[] = {RATE, BURST,    QUANTITY, ALGORITHM,
                                          WAIT, IN_ORDER, CELL,     {0}};
static const cli_option run_options[] = {RATE, BURST, QUANTITY, ALGORITHM, WAIT, IN_ORDER, {0}};
static const cli_option all_options[] = {BURST, QUANTITY, ALGORITHM, COUNT_DENIED, COUNTED, {0}};
static const cli_option refused_options[] = {
    {"max", CLI_INTEGER, "N", "print the N that refused most, those first (default: all, by name)"},
    {"scan", CLI_LOCAL_FLAG, NULL, "look through all keys, also for what older programs left"},
    {0},
};
static const cli_option refund_options[] = {
    RATE,
    BURST,
    {"quantity", CLI_INTEGER, "N", "how much to give back (default 1)"},
    ALGORITHM,
    {"ticket", CLI_TOKEN, "TICKET",
     "the ticket of the check (window, concurrency); -, @FILE read it"},
    {0},
};
static const cli_option renew_options[] = {
    RATE,
    {"quantity", CLI_INTEGER, "N", "how many slots of the ticket (default 1)"},
    ALGORITHM,
    BURST,
    {"ticket", CLI_TOKEN, "TICKET", "the ticket that the check printed; - or @FILE reads it"},
    {0},
};

#define KINDS                                                                                 \
    "30/60s means 30 in 60 seconds: 30 at once, then one every 2 seconds. The default\n"      \
    "burst is COUNT - 1, the default size of a bucket COUNT.\n\n"                             \
    "gcra (a funnel) and bucket let a burst through, then the rate, evenly. window never\n"   \
    "lets more than COUNT through in any PERIOD. window-approx needs less memory; in the\n"   \
    "worst case it lets nearly twice COUNT through. concurrency allows COUNT at once, each\n" \
    "until it is given back, for PERIOD at most."

static const cli_verb verbs[] = {
    {
        .name = "check",
        .args = "NAME KEY",
        .summary = "take from the limit NAME of KEY, if it fits",
        .options = check_options,
        .details = KINDS
        "\n\nExit code 1 when it does not fit: then nothing was taken. With --count-denied\n"
        "the denied quantity counts, as if it had been taken, up to a limit that is\n"
        "used up: a caller must stay away until the next fits.",
        .example = "tackle limit check api alice --rate 30/60s --burst 15\n"
                   "tackle limit check api alice --rate 30/60s --burst 15 --json\n"
                   "tackle limit check api alice --rate 30/60s --burst 15 --cell\n"
                   "tackle limit reset api alice\n"
                   "tackle limit check login alice --rate 5/m --algorithm window --count-denied\n"
                   "tackle limit reset login alice",
        .effect = CLI_WRITES,
        .run = limit_check,
    },
    {
        .name = "wait",
        .args = "NAME KEY",
        .summary = "take from the limit, waiting until it fits",
        .options = wait_options,
        .details = KINDS "\n\nSleeps for the time that the server reports. Exit code 1 when it\n"
                         "does not fit in time, without waiting if that is known beforehand.",
        .example = "for i in 1 2 3; do tackle limit wait mails all --rate 5/s --burst 0; done",
        .effect = CLI_WRITES,
        .run = wait_verb,
    },
    {
        .name = "run",
        .args = "NAME KEY -- COMMAND [ARG...]",
        .summary = "run a command as soon as the limit allows it",
        .options = run_options,
        .details = KINDS
        "\n\nWith concurrency the slot is held while COMMAND runs, PERIOD at most, and\n"
        "then given back; for a fair line see tackle sem.\n\n"
        "COMMAND and all that it starts are one process group, which gets the signals\n"
        "that tackle gets. The exit code is COMMAND's, 128+N when signal N ended it;\n"
        "75: the limit did not allow it in time; 69: server unreachable; 126, 127: COMMAND\n"
        "cannot be run, or was not found.",
        .example = "for i in 1 2 3; do tackle limit run mails all --rate 5/s --burst 0 -- echo "
                   "mail $i; done",
        .local = "it runs a command",
        .run = limit_run,
    },
    {
        .name = "all",
        .args = "KEY NAME=RATE[,burst=N][,algorithm=NAME]...",
        .summary = "take from several limits of KEY, from all or from none",
        .options = all_options,
        .details =
            "burst and algorithm behind a rate hold for that limit; the options hold for all\n"
            "other limits. Exit code 1 when one limit does not allow it: then nothing was taken.",
        .example = "tackle limit all alice minute=30/m,burst=9 day=1000/d,algorithm=window\n"
                   "tackle limit reset minute alice\n"
                   "tackle limit reset day alice",
        .effect = CLI_WRITES,
        .run = limit_all,
    },
    {
        .name = "refund",
        .args = "NAME KEY",
        .summary = "give back what was taken and not used",
        .options = refund_options,
        .details =
            "Window and concurrency need the ticket, which can be given back in parts. Exit\n"
            "code 1 when all of it has ended or was given back.",
        .example = "tackle limit check api bob --rate 3/h --burst 2 --quantity 3\n"
                   "tackle limit refund api bob --rate 3/h --burst 2 --quantity 2\n"
                   "tackle limit reset api bob",
        .effect = CLI_WRITES,
        .run = limit_refund,
    },
    {
        .name = "renew",
        .args = "NAME KEY",
        .summary = "keep slots of a concurrency limit for another PERIOD",
        .options = renew_options,
        .details = "Exit code 1 when all slots of the ticket have ended.",
        .example = "rule='--algorithm concurrency --rate 2/10m'\n"
                   "ticket=$(tackle limit check slots eve $rule --json | jq -r .ticket)\n"
                   "tackle limit renew slots eve --algorithm concurrency --rate 2/10m \\\n"
                   "  --ticket $ticket --json\n"
                   "tackle limit refund slots eve $rule --ticket $ticket",
        .effect = CLI_WRITES,
        .run = limit_renew,
    },
    {
        .name = "reset",
        .args = "NAME KEY",
        .summary = "forget what KEY has used",
        .details = "Exit code 1 when there was nothing to forget.",
        .example = "tackle limit check api alice --rate 1/h\n"
                   "tackle limit reset api alice\n"
                   "tackle limit check api alice --rate 1/h\n"
                   "tackle limit reset api alice",
        .effect = CLI_WRITES,
        .run = limit_reset,
    },
    {
        .name = "show",
        .args = "NAME KEY",
        .summary = "what KEY has taken, what remains, and by which rule",
        .details = "Takes nothing. The rule is that of the last check that took something. Exit\n"
                   "code 1 when the key is not in use.",
        .example = "tackle limit check api alice --rate 30/60s --quantity 3\n"
                   "tackle limit show api alice\n"
                   "tackle limit reset api alice",
        .effect = CLI_READS,
        .run = cli_limit_show,
    },
    {
        .name = "refused",
        .summary = "which limits refused lately, how often, and which keys most",
        .options = refused_options,
        .details =
            "In this hour and the last one, by the server's clock, in all programs. Programs\n"
            "report refused checks at most once a second.",
        .example = "tackle limit check api alice --rate 1/h\n"
                   "tackle limit check api alice --rate 1/h || echo refused\n"
                   "tackle limit refused\n"
                   "tackle limit refused --max 10\n"
                   "tackle limit reset api alice",
        .effect = CLI_READS,
        .views = true,
        .run = cli_limit_refused,
    },
    {
        .name = "list",
        .args = "[NAME]",
        .summary = "all limits used in the last day; with NAME, its keys in use",
        .options = cli_list_options,
        .details =
            "With NAME, or with --scan, it looks through all keys, without blocking the server.\n"
            "--scan finds the limits of which a key is in use.",
        .example = "tackle limit check api alice --rate 1/h\n"
                   "tackle limit list\n"
                   "tackle limit list api\n"
                   "tackle limit reset api alice",
        .effect = CLI_READS,
        .run = cli_limit_list,
    },
    {0},
};

static const cli_step demo[] = {
    {"Thirty a minute, three at once: the fourth must wait. Exit code 1.",
     "for i in 1 2 3 4; do tackle limit check api alice --rate 30/60s --burst 2 --json; done", 1},
    {"The answers of redis-cell, without a module.",
     "tackle limit check api bob --rate 30/60s --burst 15 --cell", 0},
    {"Commands at a steady pace, wherever they are started.",
     "for i in 1 2 3; do tackle limit run mails all --rate 10/s --burst 0 -- echo mail $i; done",
     0},
    {"Several limits as one: all of them, or none.",
     "tackle limit all carol minute=30/m day=1000/d", 0},
    {0},
};

const cli_component cli_limit = {
    .name = "limit",
    .summary = "rate limits: funnel, bucket, windows, concurrency",
    .verbs = verbs,
    .shared = "limits",
    .demo = demo,
};
