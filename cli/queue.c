/* SPDX-License-Identifier: MIT
 *
 * Queues of jobs from the shell. The verbs are in queue_*.c, by theme; here are their tables.
 */
#include "queue.h"
#include "lines.h"

#include <stdlib.h>

/* ---- Opening ------------------------------------------------------------- */

static int read_partitions(const cli_session *cli, tkl_queue_options *options)
{
    int64_t partitions = cli_number(cli, "partitions", 1);
    options->partitions = (int)partitions;
    return partitions >= 1 && partitions <= 256 ? CLI_OK
                                                : cli_usage(cli, "invalid --partitions: 1 to 256");
}

int cli_queue_open(cli_session *cli, int index, tkl_queue **queue)
{
    tkl_client *client = NULL;
    tkl_queue_options options = {0};
    int failed = read_partitions(cli, &options);
    if (!failed)
        failed = cli_connect(cli, &client);
    return failed
               ? failed
               : cli_end(cli, tkl_queue_open(client, tkl_str(cli->argv[index]), &options, queue));
}

int cli_queue_open_all(cli_session *cli, size_t count, tkl_queue ***queues)
{
    *queues = calloc(count, sizeof **queues);
    int failed = *queues != NULL ? CLI_OK : cli_end(cli, TKL_ENOMEM);
    for (size_t i = 0; !failed && i < count; i++)
        failed = cli_queue_open(cli, (int)i, &(*queues)[i]);
    return failed;
}

void cli_queue_close_all(tkl_queue **queues, size_t count)
{
    for (size_t i = 0; queues != NULL && i < count; i++)
        tkl_queue_close(queues[i]);
    free(queues);
}

const char *cli_queue_name(const cli_session *cli, tkl_queue *const *queues, const tkl_queue *queue)
{
    size_t i = 0;
    while (queues[i] != queue)
        i++;
    return cli->argv[i];
}

/* ---- Options ------------------------------------------------------------- */

#define PARTITIONS                                                         \
    {                                                                      \
        "partitions", CLI_INTEGER, "N", "number of partitions (default 1)" \
    }
#define JOB_OPTIONS                                                                              \
    {"priority", CLI_INTEGER, "N", "-1000 is served first, 1000 last (default 0)"},              \
        {"unique", CLI_TEXT, "KEY", "push nothing while a job with this key is there"},          \
        {"unique-for", CLI_PERIOD, "DURATION",                                                   \
         "the unique key is taken for this long, from the push on"},                             \
        {"until", CLI_CHOICE, "started|finished",                                                \
         "when the unique key is free again (default finished)"},                                \
        {"retries", CLI_INTEGER, "N", "attempts after the first (default 10)"},                  \
        {"backoff", CLI_PERIOD, "DURATION",                                                      \
         "pause before the first retry, then doubled (default 1s)"},                             \
        {"backoff-max", CLI_PERIOD, "DURATION", "longest pause before a retry (default 1h)"},    \
        {"time-limit", CLI_PERIOD, "DURATION",                                                   \
         "an attempt that takes longer has failed (default: no limit)"},                         \
        {"group", CLI_TEXT, "KEY", "group of the job, like a customer; see tackle queue limit"}, \
        {"kind", CLI_TEXT, "WORD", "what has to be done; see --on of tackle queue work"},        \
        {"meta", CLI_TEXT, "TEXT", "text for the worker, beside the payload"},                   \
    {                                                                                            \
        "result-for", CLI_DURATION, "DURATION",                                                  \
            "keep the result for this long (default: not at all)"                                \
    }
#define LEASE                                                                               \
    {                                                                                       \
        "lease", CLI_PERIOD, "DURATION", "the job comes back after this long (default 10s)" \
    }

/* Conditions for jobs: see cli_queue_filter(). */
#define CONDITIONS                                                                          \
    {"kind", CLI_TEXT, "WORD", "only those of this kind"},                                  \
        {"reason", CLI_TEXT, "TEXT", "only those whose last error contains this"},          \
        {"text", CLI_TEXT, "TEXT", "only those whose payload, kind, error or id has this"}, \
    {                                                                                       \
        "older", CLI_DURATION, "DURATION", "only those that died at least this long ago"    \
    }
#define DRY_RUN                                                         \
    {                                                                   \
        "dry-run", CLI_FLAG, NULL, "change nothing; print how many fit" \
    }

static const cli_option common_options[] = {PARTITIONS, {0}};

static const cli_option push_options[] = {
    {"delay", CLI_DURATION, "DURATION", "start it this long from now at the earliest"},
    {"at", CLI_TIME, "TIME", "start it at 12:00, 'in 10m', 2030-01-31T12:00Z ..."},
    JOB_OPTIONS,
    {"unique-payload", CLI_FLAG, NULL, "like --unique, with the payload itself as the key"},
    {"then", CLI_TEXT, "PAYLOAD", "one more job, ready when all others of this push are done"},
    {"lines", CLI_LOCAL_FLAG, NULL, "make a job of each line of standard input"},
    {"empty", CLI_LOCAL_FLAG, NULL, "standard input may be empty: a job with an empty payload"},
    {"request", CLI_TEXT, "ID", "a push repeated with the same ID pushes nothing twice"},
    PARTITIONS,
    {0},
};

static const cli_option work_options[] = {
    {"on", CLI_TEXT, "KIND=COMMAND",
     "run COMMAND for jobs of this kind; for several kinds, repeat it"},
    {"stream", CLI_FLAG, NULL, "one COMMAND for all jobs, which it gets as lines of JSON"},
    {"post", CLI_TEXT, "URL", "no COMMAND: POST each job to this URL"},
    {"post-timeout", CLI_PERIOD, "DURATION", "with --post: time for an answer (default 30s)"},
    {"header", CLI_TEXT, "TEXT", "with --post: a header, or @FILE with some; may be repeated"},
    {"threads", CLI_INTEGER, "N", "commands, or jobs of --stream, at the same time (default 1)"},
    {"batch", CLI_INTEGER, "N", "jobs fetched ahead for each thread (default 0)"},
    {"lease", CLI_PERIOD, "DURATION",
     "jobs of a crashed worker return after this long (default 10s)"},
    {"label", CLI_TEXT, "TEXT", "shown by 'queue workers', at most 64 bytes"},
    {"once", CLI_FLAG, NULL, "run one job and end"},
    {"wait", CLI_DURATION, "DURATION", "with --once: wait up to this long for a job (default 0)"},
    {"drain", CLI_FLAG, NULL, "end when nothing is ready and nothing runs"},
    {"tag", CLI_FLAG, NULL, "put the job's id before each line that COMMAND prints"},
    {"group", CLI_FLAG, NULL, "print what COMMAND prints when it has ended, all at once"},
    {"result", CLI_FLAG, NULL, "keep what COMMAND prints as the result of the job"},
    {"again", CLI_DURATION, "DURATION",
     "after exit code 75: try again after this long (default 5s)"},
    {"grace", CLI_DURATION, "DURATION",
     "when COMMAND is ended: from SIGTERM to SIGKILL (default 5s)"},
    PARTITIONS,
    {0},
};

static const cli_option watch_options[] = {
    {"max", CLI_INTEGER, "N", "end after N events (default: no limit)"},
    {"wait", CLI_DURATION, "DURATION", "end with exit code 1 after this long without an event"},
    PARTITIONS,
    {0},
};

static const cli_option claim_options[] = {
    {"wait", CLI_DURATION, "DURATION", "wait up to this long for a job (default 0)"},
    LEASE,
    PARTITIONS,
    {0},
};

static const cli_option ack_options[] = {
    {"result", CLI_TEXT, "TEXT",
     "result of the job, kept if pushed with --result-for; -: standard input"},
    PARTITIONS,
    {0},
};

static const cli_option fail_options[] = {
    {"reason", CLI_TEXT, "TEXT", "why it failed; shown with the job"},
    {"delay", CLI_DURATION, "DURATION",
     "try again after this long (default: the backoff of the job)"},
    {"dead", CLI_FLAG, NULL, "put it into the dead letters at once"},
    PARTITIONS,
    {0},
};

static const cli_option release_options[] = {
    {"delay", CLI_DURATION, "DURATION", "start it this long from now at the earliest (default 0)"},
    PARTITIONS,
    {0},
};

static const cli_option renew_options[] = {
    {"lease", CLI_PERIOD, "DURATION", "the lease lasts this long from now (default 10s)"},
    {"progress", CLI_TEXT, "TEXT", "how far the work is; shown with the job"},
    PARTITIONS,
    {0},
};

static const cli_option ids_options[] = {DRY_RUN, PARTITIONS, {0}};

static const cli_option steer_options[] = {
    {"schedule", CLI_TEXT, "ID", "only this schedule of the queue"},
    PARTITIONS,
    {0},
};

static const cli_option requeue_options[] = {
    {"force", CLI_FLAG, NULL, "although the lease runs: the worker may be at work on it"},
    DRY_RUN,
    PARTITIONS,
    {0},
};

static const cli_option edit_options[] = {
    {"empty", CLI_LOCAL_FLAG, NULL, "standard input may be empty: the payload becomes empty"},
    DRY_RUN,
    PARTITIONS,
    {0},
};

static const cli_option peek_options[] = {
    {"state", CLI_CHOICE, "ready|delayed|held|active|dead|done",
     "state of the jobs to show (default ready)"},
    {"max", CLI_INTEGER, "N", "print at most N, up to 1000 (default 20)"},
    {"skip", CLI_INTEGER, "N", "leave out the first N (default 0)"},
    {"cut", CLI_SIZE, "SIZE", "only so much of each payload (default: all)"},
    PARTITIONS,
    {0},
};

static const cli_option result_options[] = {
    {"wait", CLI_DURATION, "DURATION", "wait up to this long for the end of the job (default 0)"},
    PARTITIONS,
    {0},
};

static const cli_option flow_options[] = {
    {"max", CLI_INTEGER, "N", "print at most N, up to 100, the nearest (default 50)"},
    PARTITIONS,
    {0},
};

static const cli_option show_options[] = {
    {"cut", CLI_SIZE, "SIZE", "only so much of the payload (default: all)"},
    PARTITIONS,
    {0},
};

static const cli_option find_options[] = {
    {"state", CLI_CHOICE, "ready|delayed|held|active|dead|done", "only jobs of this state"},
    {"kind", CLI_TEXT, "WORD", "only jobs of this kind"},
    {"reason", CLI_TEXT, "TEXT", "only jobs whose last error contains this"},
    {"older", CLI_DURATION, "DURATION", "only jobs pushed (or dead, or done) earlier"},
    {"max", CLI_INTEGER, "N", "print at most N, up to 1000 (default 20)"},
    {"after", CLI_TEXT, "PLACE", "go on where another search ended"},
    {"within", CLI_PERIOD, "DURATION", "stop then, and say where to go on"},
    {"cut", CLI_SIZE, "SIZE", "only so much of each payload (default: all)"},
    PARTITIONS,
    {0},
};

static const cli_option dead_options[] = {
    {"max", CLI_INTEGER, "N", "print at most N, up to 1000 (default 20)"},
    {"skip", CLI_INTEGER, "N", "leave out the first N (default 0)"},
    {"cut", CLI_SIZE, "SIZE", "only so much of each payload (default: all)"},
    CONDITIONS,
    {"delete", CLI_FLAG, NULL, "delete the dead letters with these IDs, or those that fit"},
    {"delete-all", CLI_FLAG, NULL, "delete all dead letters"},
    DRY_RUN,
    {"yes", CLI_FLAG, NULL, "do not ask before deleting"},
    PARTITIONS,
    {0},
};

static const cli_option done_options[] = {
    {"max", CLI_INTEGER, "N", "print at most N, up to 1000 (default 20)"},
    {"skip", CLI_INTEGER, "N", "leave out the first N (default 0)"},
    {"cut", CLI_SIZE, "SIZE", "only so much of each payload (default: all)"},
    {"kind", CLI_TEXT, "WORD", "only those of this kind"},
    {"reason", CLI_TEXT, "TEXT", "only those whose last error contains this"},
    {"text", CLI_TEXT, "TEXT", "only those whose payload, kind, error or id has this"},
    {"older", CLI_DURATION, "DURATION", "only those that were done at least this long ago"},
    {"delete", CLI_FLAG, NULL, "delete the done jobs with these IDs, or those that fit"},
    {"delete-all", CLI_FLAG, NULL, "delete all done jobs"},
    DRY_RUN,
    {"yes", CLI_FLAG, NULL, "do not ask before deleting"},
    PARTITIONS,
    {0},
};

/* Options of retry and move. */
static const cli_option choosing_options[] = {
    {"all", CLI_FLAG, NULL, "all dead letters"}, CONDITIONS, DRY_RUN, PARTITIONS, {0},
};

/* Options of drop and drain. */
static const cli_option deleting_options[] = {
    CLI_YES,
    PARTITIONS,
    {0},
};

static const cli_option limit_options[] = {
    {"max-jobs", CLI_INTEGER, "N", "most jobs in the queue; pushes beyond are refused"},
    {"max-bytes", CLI_SIZE, "SIZE", "most bytes in the queue; pushes beyond are refused"},
    {"concurrency", CLI_INTEGER, "N", "jobs that may be claimed at the same time"},
    {"rate", CLI_TEXT, "COUNT/PERIOD", "jobs that may be claimed in a period: 30/60s, 5/s"},
    {"group-concurrency", CLI_INTEGER, "N",
     "jobs of one group at the same time; 1 is strict order"},
    {"group-rate", CLI_TEXT, "COUNT/PERIOD", "jobs of one group that may be started in a period"},
    {"dead-max", CLI_INTEGER, "N", "keep the newest N dead letters (default 10000)"},
    {"dead-for", CLI_DURATION, "DURATION", "keep dead letters for this long (default 30d)"},
    {"keep", CLI_DURATION, "DURATION", "keep done jobs for this long (default: not at all)"},
    {"keep-max", CLI_INTEGER, "N", "with --keep: the newest N (default 10000)"},
    {"keep-bytes", CLI_SIZE, "SIZE", "with --keep: at most so much of them (default 16mb)"},
    PARTITIONS,
    {0},
};

static const cli_option schedule_options[] = {
    {"cron", CLI_TEXT, "EXPRESSION", "'MINUTE HOUR DAY MONTH WEEKDAY', like '30 2 * * mon-fri'"},
    {"zone", CLI_TEXT, "ZONE", "time zone of --cron, like Europe/Berlin (default UTC)"},
    {"every", CLI_PERIOD, "DURATION", "at multiples of this, at least 1s; instead of --cron"},
    {"missed", CLI_CHOICE, "once|skip", "one job for all missed times, or none (default once)"},
    JOB_OPTIONS,
    {"unique-payload", CLI_FLAG, NULL, NULL},
    PARTITIONS,
    {0},
};

/* ---- Examples ------------------------------------------------------------ */

/* "tackle queue claim" into $id and $token, with what every system has. */
#define POP                                                             \
    "claim=$(tackle queue claim tackle-example --json)\n"               \
    "id=$(echo \"$claim\" | sed 's/.*\"id\": \"\\([^\"]*\\).*/\\1/')\n" \
    "token=$(echo \"$claim\" | sed 's/.*\"token\": \"\\([^\"]*\\).*/\\1/')\n"

#define DEAD_LETTER                                                                     \
    "tackle queue push tackle-example 'nobody@example.org' --retries 0\n"               \
    "tackle queue work tackle-example --drain -- sh -c 'echo unknown >&2; exit 1' ||\n" \
    "  echo 'as it should'\n"

/* ---- The component ------------------------------------------------------- */

static const cli_verb verbs[] = {
    {
        .name = "push",
        .args = "NAME [PAYLOAD...]",
        .summary = "put jobs into a queue; prints their ids",
        .options = push_options,
        .details =
            "Each PAYLOAD is a job, any bytes. Without one, standard input is the payload; if it\n"
            "is empty, nothing is pushed, unless there is --empty. A job runs at least once: it\n"
            "stays until a worker has acknowledged it. If its unique key is taken, a job is not\n"
            "pushed; the id of the job that has the key is printed. Exit code 1 when the queue\n"
            "is full. After exit code 69 the jobs may have been pushed or not: with --request\n"
            "the command can be repeated within ten minutes.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue push tackle-example bob@example.org --priority -5 --delay 50ms\n"
                   "printf 'carol\\ndave\\n' | tackle queue push tackle-example --lines --json\n"
                   "tackle queue stats tackle-example\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .adds = true,
        .binary = "PAYLOAD",
        .run = cli_queue_push,
    },
    {
        .name = "work",
        .args = "NAME... [-- COMMAND...]",
        .summary = "run a command for each job",
        .options = work_options,
        .details =
            "COMMAND gets the payload on standard input, and TACKLE_JOB_ID, TACKLE_QUEUE,\n"
            "TACKLE_ATTEMPT, TACKLE_RETRIES, TACKLE_PRIORITY and TACKLE_TOKEN in the environment;\n"
            "TACKLE_KIND, TACKLE_GROUP, TACKLE_META and TACKLE_ERROR (why the last attempt\n"
            "failed) if the job has them. What the exit code of COMMAND means:\n\n"
            "  0              done\n"
            "  75             not now: tried again after --again, uses no attempt\n"
            "  65             hopeless: to the dead letters at once\n"
            "  anything else  failed; the end of its stderr is the reason. Tried again after the\n"
            "                 backoff while retries are left, then to the dead letters\n\n"
            "With --on KIND=COMMAND jobs of that kind have a COMMAND of their own: a program and\n"
            "its arguments, with quotes as in a shell. All other jobs go to the COMMAND after --,\n"
            "or fail if there is none.\n\n"
            "With --stream one COMMAND runs all the time. Its standard input has a line for each\n"
            "job, {\"type\": \"job\", \"id\": ..., \"kind\": ..., \"payload\": ...}; bytes that "
            "are\n"
            "not UTF-8 are {\"base64\": ...}. It answers with a line on standard output:\n\n"
            "  {\"id\": ID, \"type\": \"ack\", \"result\": TEXT}         done; the result may be "
            "missing\n"
            "  {\"id\": ID, \"type\": \"fail\", \"reason\": TEXT}        failed, or \"dead\": "
            "hopeless\n"
            "  {\"id\": ID, \"type\": \"release\", \"delay_ms\": N}      not now: uses no attempt\n"
            "  {\"id\": ID, \"type\": \"progress\", \"progress\": TEXT}  shown with the job\n\n"
            "A line {\"type\": \"cancel\", \"id\": ID, \"reason\": ...} says that a job is not "
            "wanted any\n"
            "more. If COMMAND ends, or answers anything else, its jobs have failed, and it is\n"
            "started again for the next one.\n\n"
            "With --post jobs are POSTed to a URL, with headers Tackle-Queue, Tackle-Job,\n"
            "Tackle-Token, Tackle-Attempt, Tackle-Deadline and others (docs/http.md). What its\n"
            "answer means:\n\n"
            "  2xx            done; the body is the result\n"
            "  Retry-After    with any other status: not now, uses no attempt\n"
            "  429, 503       not now: tried again after --again, as if nobody is there\n"
            "  410            hopeless\n"
            "  anything else  failed, as if no answer comes in time\n\n"
            "Of several queues the first is always served first. COMMAND and all that it starts\n"
            "are one process group. The group is ended when COMMAND ends, at the time limit of "
            "the\n"
            "job, and when the claim is lost. After SIGTERM or Ctrl-C no more jobs are begun, and\n"
            "running ones go on to their end. A second signal ends them now; they use no attempt.\n"
            "A COMMAND that cannot be run ends the worker (126, 127), at the start if it does not\n"
            "exist; no job is lost. With several threads output is printed in whole lines. With\n"
            "--json stdout has one line for each job, and what COMMAND prints goes to stderr.\n\n"
            "Exit code 1: with --once there was no job, or it failed; with --drain some jobs\n"
            "failed, or are still ready because the queue is paused or a limit holds them back.",
        .example = "tackle queue push tackle-example alice@example.org bob@example.org\n"
                   "tackle queue work tackle-example --drain -- sh -c 'echo \"to $(cat)\"'\n"
                   "tackle queue push tackle-example 'all is well' --kind shout\n"
                   "tackle queue work tackle-example --drain --on 'shout=tr a-z A-Z'\n"
                   "tackle queue push tackle-example hello --result-for 1m\n"
                   "tackle queue work tackle-example --drain --stream -- \\\n"
                   "  sed -u 's/.*\"id\": \"\\([^\"]*\\).*/{\"id\": \"\\1\", \"type\": \"ack\"}/'\n"
                   "tackle queue drop tackle-example --yes",
        .local = "it runs a command",
        .run = cli_queue_work,
    },
    {
        .name = "claim",
        .args = "NAME...",
        .summary = "claim a job by hand; prints its id, token and payload",
        .options = claim_options,
        .details = "Takes from the first of the queues that has a job. The job comes back to the\n"
                   "front when the lease ends, unless it was acknowledged, failed, released or\n"
                   "renewed with the token before. Exit code 1 when there is no job.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue claim tackle-example --lease 1m\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_claim,
    },
    {
        .name = "ack",
        .args = "NAME ID TOKEN",
        .summary = "acknowledge a claimed job: it is done",
        .options = ack_options,
        .details =
            "Exit code 1 when the claim is no longer valid: another worker may have the job.",
        .example = "tackle queue push tackle-example alice@example.org\n" POP
                   "tackle queue ack tackle-example $id $token\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_ack,
    },
    {
        .name = "fail",
        .args = "NAME ID TOKEN",
        .summary = "report a claimed job as failed: it is tried again, or dead",
        .options = fail_options,
        .details = "Exit code 1 when the claim is no longer valid.",
        .example = "tackle queue push tackle-example alice@example.org\n" POP
                   "tackle queue fail tackle-example $id $token --reason 'mailbox full'\n"
                   "tackle queue show tackle-example $id\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_fail,
    },
    {
        .name = "release",
        .args = "NAME ID TOKEN",
        .summary = "give a claimed job back; uses no attempt",
        .options = release_options,
        .details = "Exit code 1 when the claim is no longer valid.",
        .example = "tackle queue push tackle-example alice@example.org\n" POP
                   "tackle queue release tackle-example $id $token\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_release,
    },
    {
        .name = "renew",
        .args = "NAME ID TOKEN",
        .summary = "renew the lease of a claimed job",
        .options = renew_options,
        .details = "Exit code 1 when the claim is no longer valid. A command of queue\n"
                   "work needs this only for --progress: its lease is renewed by the worker.",
        .example =
            "tackle queue push tackle-example alice@example.org\n" POP
            "tackle queue renew tackle-example $id $token --lease 1m --progress 'half of it'\n"
            "tackle queue show tackle-example $id\n"
            "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_renew,
    },
    {
        .name = "stats",
        .args = "NAME",
        .summary = "how many jobs are ready, delayed, active, dead; totals",
        .options = common_options,
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue stats tackle-example\n"
                   "tackle queue stats tackle-example --json\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_stats,
    },
    {
        .name = "list",
        .summary = "all queues, with their numbers",
        .options = cli_list_options,
        .details =
            "Partitions that were never used have no keys, so the number of partitions may be\n"
            "too low.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue list\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_list,
    },
    {
        .name = "watch",
        .args = "NAME",
        .summary = "print what happens to jobs, as it happens",
        .options = watch_options,
        .details =
            "Events: pushed, claimed, done, failed (it is retried), dead, released, retried,\n"
            "promoted, edited, cancelled; paused and resumed for the queue. Events are not kept:\n"
            "those before the command are not shown. Servers publish them only while somebody "
            "watches.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "(sleep 0.5; tackle queue push tackle-example bob@example.org) &\n"
                   "tackle queue watch tackle-example --max 1\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .follows = true,
        .run = cli_queue_watch,
    },
    {
        .name = "workers",
        .args = "[NAME]",
        .summary = "who works on a queue, or on all of them, and on what",
        .options = common_options,
        .details =
            "A worker that was killed is gone when its lease ends. JOBS also counts jobs that\n"
            "are fetched ahead; JOB is the one that it has had for longest, see --json for\n"
            "all. SEEN is how long ago it claimed or renewed: workers that wait do neither.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue claim tackle-example --json\n"
                   "tackle queue workers tackle-example\n"
                   "tackle queue workers --json\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .views = true,
        .run = cli_queue_workers,
    },
    {
        .name = "times",
        .args = "[NAME]",
        .summary = "how long jobs waited and ran, by kind",
        .options = common_options,
        .details =
            "WAIT is the mean time from when a job was ready until it was claimed, RUN that of\n"
            "an attempt. --json has all counts: how many took up to 1 ms, 3 ms, 10 ms ... since\n"
            "the queue was created. Kinds beyond the first 64 are counted together, as '*'.",
        .example = "tackle queue push tackle-example alice@example.org --kind mail\n"
                   "tackle queue work tackle-example --drain -- true\n"
                   "tackle queue times tackle-example\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .views = true,
        .run = cli_queue_times,
    },
    {
        .name = "why",
        .args = "NAME [ID]",
        .summary = "why a job does not run, or the one that should come next",
        .options = common_options,
        .details =
            "One line for each cause, the decisive one first: the queue is paused, a limit is\n"
            "reached, the job is delayed, waits for others or is behind others, no worker is\n"
            "there or free. Exit code 1 when there is no such job, or none that waits.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue pause tackle-example\n"
                   "tackle queue why tackle-example\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_why,
    },
    {
        .name = "flow",
        .args = "NAME ID",
        .summary = "show the jobs that a job waits for, and those that wait for it",
        .options = flow_options,
        .details =
            "Jobs of a flow that are not done, the ones that others wait for first. AFTER has\n"
            "the jobs of the list that a job waits for; WAITS FOR is how many there are in all.\n"
            "Exit code 1 when the job is not there.",
        .example = "tackle queue push tackle-example cut weld --then paint\n"
                   "id=$(tackle queue peek tackle-example --json | jq -r '.[0].id')\n"
                   "tackle queue flow tackle-example $id\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_flow,
    },
    {
        .name = "peek",
        .args = "NAME",
        .summary = "look at jobs, the next to be served first",
        .options = peek_options,
        .details =
            "Changes nothing. Held jobs wait for other jobs of their group or flow. Done jobs are\n"
            "there if the queue keeps them: tackle queue limit --keep.",
        .example = "tackle queue push tackle-example alice@example.org bob@example.org\n"
                   "tackle queue peek tackle-example\n"
                   "tackle queue peek tackle-example --cut 5 --json\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_peek,
    },
    {
        .name = "find",
        .args = "NAME TEXT",
        .summary = "search for jobs by a part of payload, kind, last error or id",
        .options = find_options,
        .details =
            "Changes nothing, and looks at the jobs in short steps. When there may be more,\n"
            "standard error (with --json `next`) says how to go on. A job that changes its\n"
            "state meanwhile may be found twice, or not at all.",
        .example = "tackle queue push tackle-example alice@example.org bob@example.org\n"
                   "tackle queue find tackle-example bob\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_find,
    },
    {
        .name = "show",
        .args = "NAME ID",
        .summary = "show all that is known about a job",
        .options = show_options,
        .details = "Exit code 1 when the job is not there: done and not kept, cancelled, or never\n"
                   "pushed.",
        .example = "id=$(tackle queue push tackle-example alice@example.org)\n"
                   "tackle queue show tackle-example $id\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_show,
    },
    {
        .name = "result",
        .args = "NAME ID",
        .summary = "print the result of a job that was pushed with --result-for",
        .options = result_options,
        .details = "Exit code 1 when there is no result: not done in time, dead, or no such job.",
        .example = "id=$(tackle queue push tackle-example '6 * 7' --result-for 1h)\n"
                   "tackle queue work tackle-example --drain --result -- sh -c 'echo $(($(cat)))'\n"
                   "tackle queue result tackle-example $id --wait 5s\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_result,
    },
    {
        .name = "dead",
        .args = "NAME [ID...]",
        .summary = "list the dead letters, newest first, or delete some",
        .options = dead_options,
        .details =
            "Dead letters are jobs that have failed for the last time. They stay until they\n"
            "are retried, moved, deleted, too many or too old (see tackle queue limit).",
        .example = DEAD_LETTER "tackle queue dead tackle-example\n"
                               "tackle queue dead tackle-example --reason timeout --older 1h\n"
                               "tackle queue dead tackle-example --delete-all --yes\n"
                               "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_dead,
    },
    {
        .name = "done",
        .args = "NAME [ID...]",
        .summary = "list the done jobs that a queue keeps, newest first, or delete some",
        .options = done_options,
        .details =
            "A queue keeps done jobs after tackle queue limit --keep, until they are too old, too\n"
            "many, too large together, or deleted. They are there to be looked at: with payload\n"
            "(over 64 KB: the first 4 KB), worker, times, last error and, of jobs that were "
            "pushed\n"
            "with --result-for, the beginning of the result.",
        .example = "tackle queue limit tackle-example --keep 1h\n"
                   "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue work tackle-example --drain -- true\n"
                   "tackle queue done tackle-example\n"
                   "tackle queue done tackle-example --text alice --delete --yes\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_done,
    },
    {
        .name = "retry",
        .args = "NAME [ID...]",
        .summary = "put dead letters back into the queue, with all their retries",
        .options = choosing_options,
        .details = "By id, by conditions, or all. Exit code 1 when one of them is not there.",
        .example = DEAD_LETTER "tackle queue retry tackle-example --older 0s --dry-run\n"
                               "tackle queue retry tackle-example --all\n"
                               "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_retry,
    },
    {
        .name = "move",
        .args = "NAME TO [ID...]",
        .summary = "move dead letters to the queue TO",
        .options = choosing_options,
        .details =
            "By id, by conditions, or all. TO gets them with all their options and retries,\n"
            "under new ids. Each is pushed there before it is deleted here: none is lost. A\n"
            "move that was interrupted may leave some in both; repeated within ten minutes it\n"
            "moves none twice. Exit code 1 when one is not there, or TO does not take it.",
        .example = DEAD_LETTER "tackle queue move tackle-example tackle-example-2 --all\n"
                               "tackle queue peek tackle-example-2\n"
                               "tackle queue drop tackle-example --yes\n"
                               "tackle queue drop tackle-example-2 --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_move,
    },
    {
        .name = "cancel",
        .args = "NAME ID...",
        .summary = "take jobs out of the queue, whatever their state",
        .options = ids_options,
        .details = "The worker of a running job is notified, and ends its command. Exit code 1\n"
                   "when one of the jobs is not there.",
        .example = "id=$(tackle queue push tackle-example alice@example.org --delay 1h)\n"
                   "tackle queue cancel tackle-example $id",
        .effect = CLI_WRITES,
        .run = cli_queue_cancel,
    },
    {
        .name = "promote",
        .args = "NAME ID...",
        .summary = "make delayed jobs ready now",
        .options = ids_options,
        .details = "Also jobs that wait for their retry. Exit code 1 when one of the jobs is not\n"
                   "delayed.",
        .example = "id=$(tackle queue push tackle-example alice@example.org --delay 1h)\n"
                   "tackle queue promote tackle-example $id\n"
                   "tackle queue claim tackle-example\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_promote,
    },
    {
        .name = "requeue",
        .args = "NAME ID...",
        .summary = "take claimed jobs away from their workers",
        .options = requeue_options,
        .details =
            "They are back at the front of the queue. For a worker that hangs and renews its\n"
            "lease all the same. The attempt does not count; the token of the claim is not\n"
            "valid any more, and the worker learns that.\n"
            "Without --force only jobs whose lease has ended. Exit code 1 when one of the\n"
            "jobs is not claimed, or its lease runs.",
        .example = "id=$(tackle queue push tackle-example alice@example.org)\n"
                   "tackle queue claim tackle-example\n"
                   "tackle queue requeue tackle-example $id --force\n"
                   "tackle queue claim tackle-example\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_requeue,
    },
    {
        .name = "edit",
        .args = "NAME ID [PAYLOAD]",
        .summary = "give a job that waits, or a dead letter, another payload",
        .options = edit_options,
        .details =
            "Without PAYLOAD, or with '-', it is read from standard input. All else stays: the\n"
            "options of the job, its place, its unique key. Exit code 1 when there is no such "
            "job,\n"
            "a worker has it, or the larger payload does not fit into the queue.",
        .example = "id=$(tackle queue push tackle-example alice@example.orgg)\n"
                   "tackle queue edit tackle-example $id alice@example.org\n"
                   "tackle queue peek tackle-example\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .binary = "PAYLOAD",
        .run = cli_queue_edit,
    },
    {
        .name = "pause",
        .args = "NAME",
        .summary = "stop giving out jobs; pushes still work",
        .options = steer_options,
        .details =
            "Running jobs go on to their end. With --schedule only that schedule: it fires no\n"
            "more, even if a program sets it again when it starts.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue pause tackle-example\n"
                   "tackle queue claim tackle-example || echo 'it is paused'\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_pause,
    },
    {
        .name = "resume",
        .args = "NAME",
        .summary = "give out jobs again",
        .options = steer_options,
        .details =
            "With --schedule only that schedule: it goes on with its first time from now on;\n"
            "times that passed while it was paused are not missed.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue pause tackle-example\n"
                   "tackle queue resume tackle-example --json\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_resume,
    },
    {
        .name = "drain",
        .args = "NAME",
        .summary = "remove all jobs that no worker has claimed",
        .options = deleting_options,
        .details = "Running jobs, dead letters, settings and schedules stay.",
        .example = "tackle queue push tackle-example alice@example.org bob@example.org\n"
                   "tackle queue drain tackle-example --yes\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_drain,
    },
    {
        .name = "drop",
        .args = "NAME",
        .summary = "remove a queue: jobs, totals, settings, schedules",
        .options = deleting_options,
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue drop tackle-example --yes --json",
        .effect = CLI_WRITES,
        .run = cli_queue_drop,
    },
    {
        .name = "limit",
        .args = "NAME",
        .summary = "show the settings of a queue, or change some",
        .options = limit_options,
        .details =
            "Settings are kept on the server and hold for all programs. Options that are not "
            "given\n"
            "change nothing; 0 removes a limit (for dead letters: the default). Each partition of\n"
            "a queue counts on its own. Done jobs stay with --keep: tackle queue done.",
        .example = "tackle queue limit tackle-example --max-jobs 100000 --rate 10/s \\\n"
                   "  --group-concurrency 1\n"
                   "tackle queue limit tackle-example --rate 0 --json\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_limit,
    },
    {
        .name = "schedule",
        .args = "NAME ID [PAYLOAD]",
        .summary = "push a job again and again, at times or intervals",
        .options = schedule_options,
        .details = "Makes or replaces the schedule ID of the queue. Workers of the queue push the\n"
                   "job when it is due: once each time, however many workers there are.",
        .example = "tackle queue schedule tackle-example report --cron '30 2 * * mon-fri' \\\n"
                   "  --zone Europe/Berlin 'the nightly report'\n"
                   "tackle queue schedules tackle-example\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .binary = "PAYLOAD",
        .run = cli_queue_schedule,
    },
    {
        .name = "schedules",
        .args = "NAME",
        .summary = "list the schedules of a queue",
        .options = steer_options,
        .example = "tackle queue schedule tackle-example tick --every 10s tock\n"
                   "tackle queue schedules tackle-example --json\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_READS,
        .run = cli_queue_schedules,
    },
    {
        .name = "fire",
        .args = "NAME ID",
        .summary = "push the job of a schedule now",
        .options = common_options,
        .details =
            "Prints the id of the job. The next time of the schedule stays; a paused one is\n"
            "fired, too. Exit code 1 when there is no such schedule, or the queue is full.",
        .example = "tackle queue schedule tackle-example report --cron '30 2 * * *' report\n"
                   "tackle queue pause tackle-example --schedule report\n"
                   "tackle queue fire tackle-example report\n"
                   "tackle queue schedules tackle-example\n"
                   "tackle queue resume tackle-example --schedule report\n"
                   "tackle queue drop tackle-example --yes",
        .effect = CLI_WRITES,
        .run = cli_queue_fire,
    },
    {
        .name = "unschedule",
        .args = "NAME ID",
        .summary = "remove a schedule",
        .options = common_options,
        .details = "Jobs that it has pushed stay. Exit code 1 when there is no such schedule.",
        .example = "tackle queue schedule tackle-example tick --every 10s tock\n"
                   "tackle queue unschedule tackle-example tick\n"
                   "tackle queue schedules tackle-example --json",
        .effect = CLI_WRITES,
        .run = cli_queue_unschedule,
    },
    {0},
};

static const cli_step demo[] = {
    {"Jobs wait in a queue until a worker has done them.",
     "tackle queue push mails alice@example.org bob@example.org", 0},
    {"One is urgent (lower is served first), one is for later.",
     "tackle queue push mails carol@example.org --priority -5;\n"
     "  tackle queue push mails dave@example.org --delay 1h; tackle queue stats mails",
     0},
    {"A worker runs a command for each: the payload is its standard input.",
     "tackle queue work mails --drain -- sh -c 'echo \"to $(cat), attempt $TACKLE_ATTEMPT\"'", 0},
    {"Thousands of jobs in a few round trips.", "seq 1 5000 | tackle queue push numbers --lines",
     0},
    {"A unique job is pushed once.",
     "for i in 1 2; do tackle queue push reports daily --unique daily; done", 0},
    {"A job that fails is tried again, later and later; without retries it is a dead letter.",
     "tackle queue push mails nobody --retries 0;\n"
     "  tackle queue work mails --drain -- sh -c 'echo no such user >&2; exit 1'",
     1},
    {"Dead letters can be listed, and tried again.",
     "tackle queue dead mails; tackle queue retry mails --all", 0},
    {"kill -9 of a worker: the job comes back to the front when its lease ends.",
     "tackle queue claim reports --lease 200ms; tackle queue claim reports --wait 10s", 0},
    {"A result, for the program that pushed the job.",
     "id=$(tackle queue push sums '6 * 7' --result-for 1h);\n"
     "  tackle queue work sums --once --result -- sh -c 'echo $(($(cat)))';\n"
     "  tackle queue result sums $id",
     0},
    {"A schedule: pushed once each time, however many workers there are.",
     "tackle queue schedule reports nightly --cron '30 2 * * mon-fri' report;\n"
     "  tackle queue schedules reports",
     0},
    {"All queues.", "tackle queue list", 0},
    {0},
};

const cli_component cli_queue = {
    .name = "queue",
    .summary = "jobs for workers: priorities, delays, retries, schedules, at least once",
    .verbs = verbs,
    .shared = "queues",
    .demo = demo,
};
