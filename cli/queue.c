/* SPDX-License-Identifier: MIT
 *
 * Queues of jobs from the shell. The verbs are in queue_*.c, by theme; here are their tables.
 */
#include "queue.h"

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

int cli_queue_positive(const cli_session *cli, const char *option)
{
    return cli_number(cli, option, 1) > 0
               ? CLI_OK
               : cli_usage(cli, "invalid --%s: must be more than 0", option);
}

/* ---- Options ------------------------------------------------------------- */

#define PARTITIONS                                                                   \
    {                                                                                \
        "partitions", CLI_INTEGER, "N", "of a queue that is spread over so many (1)" \
    }
#define JOB_OPTIONS                                                                             \
    {"priority", CLI_INTEGER, "N", "-1000 to 1000, lower is served first (0)"},                 \
        {"unique", CLI_TEXT, "KEY", "not while there is another job with this key"},            \
        {"unique-for", CLI_DURATION, "DURATION", "but for so long, whatever becomes of it"},    \
        {"until", CLI_CHOICE, "started|finished", "or until that job is started (finished)"},   \
        {"retries", CLI_INTEGER, "N", "attempts after the first; 0: none (10)"},                \
        {"backoff", CLI_DURATION, "DURATION", "before the first retry; then doubled (1s)"},     \
        {"backoff-max", CLI_DURATION, "DURATION", "and never more than that (1h)"},             \
        {"timeout", CLI_DURATION, "DURATION", "a run that takes longer has failed (no limit)"}, \
        {"group", CLI_TEXT, "KEY", "e.g. the customer: see tackle queue limit"},                \
        {"meta", CLI_TEXT, "TEXT", "for the worker, beside the payload"},                       \
    {                                                                                           \
        "result", CLI_DURATION, "DURATION", "keep the result so long (not at all)"              \
    }
#define LEASE                                                                       \
    {                                                                               \
        "lease", CLI_DURATION, "DURATION", "the job comes back after so long (30s)" \
    }

static const cli_option common_options[] = {PARTITIONS, {0}};

static const cli_option push_options[] = {
    {"delay", CLI_DURATION, "DURATION", "not before so long from now"},
    {"at", CLI_TIME, "TIME", "not before this time: 2030-01-31T12:00Z, 12:00 ..."},
    JOB_OPTIONS,
    {"unique-payload", CLI_FLAG, NULL, "like --unique, each payload being its own key"},
    {"then", CLI_TEXT, "PAYLOAD", "one more job, when all of these are done"},
    {"lines", CLI_FLAG, NULL, "a job for each line of standard input"},
    {"request", CLI_TEXT, "ID", "repeated with the same ID nothing is pushed twice"},
    PARTITIONS,
    {0},
};

static const cli_option work_options[] = {
    {"threads", CLI_INTEGER, "N", "so many commands at once (1)"},
    {"batch", CLI_INTEGER, "N", "jobs fetched ahead for each thread (0)"},
    {"lease", CLI_DURATION, "DURATION", "a crashed worker's jobs come back after so long (10s)"},
    {"once", CLI_FLAG, NULL, "run one job and end"},
    {"wait", CLI_DURATION, "DURATION", "with --once: wait so long for the job (0)"},
    {"drain", CLI_FLAG, NULL, "end when nothing is ready and nothing runs"},
    {"tag", CLI_FLAG, NULL, "put the job's id before each line that COMMAND prints"},
    {"group", CLI_FLAG, NULL, "print what COMMAND prints when it has ended, all at once"},
    {"result", CLI_FLAG, NULL, "what COMMAND prints is the job's result"},
    {"again", CLI_DURATION, "DURATION", "exit code 75: try again after so long (5s)"},
    {"grace", CLI_DURATION, "DURATION", "when ending COMMAND: from SIGTERM to SIGKILL (5s)"},
    PARTITIONS,
    {0},
};

static const cli_option pop_options[] = {
    {"wait", CLI_DURATION, "DURATION", "wait up to this long (0: try once)"},
    LEASE,
    PARTITIONS,
    {0},
};

static const cli_option ack_options[] = {
    {"result", CLI_TEXT, "TEXT", "the job's result, if it is wanted; - is standard input"},
    PARTITIONS,
    {0},
};

static const cli_option fail_options[] = {
    {"reason", CLI_TEXT, "TEXT", "why, for whoever looks at the job"},
    {"delay", CLI_DURATION, "DURATION", "try again after so long (the job's backoff)"},
    {"dead", CLI_FLAG, NULL, "to the dead letters at once"},
    PARTITIONS,
    {0},
};

static const cli_option release_options[] = {
    {"delay", CLI_DURATION, "DURATION", "not before so long from now (0: to the front)"},
    PARTITIONS,
    {0},
};

static const cli_option extend_options[] = {
    {"lease", CLI_DURATION, "DURATION", "from now on (30s)"},
    {"progress", CLI_TEXT, "TEXT", "how far it is, for whoever looks at the job"},
    PARTITIONS,
    {0},
};

static const cli_option peek_options[] = {
    {"state", CLI_CHOICE, "ready|delayed|held|active|dead", "which jobs (ready)"},
    {"max", CLI_INTEGER, "N", "so many at most, up to 1000 (20)"},
    {"skip", CLI_INTEGER, "N", "behind the first N (0)"},
    PARTITIONS,
    {0},
};

static const cli_option result_options[] = {
    {"wait", CLI_DURATION, "DURATION", "wait up to this long for its end (0)"},
    PARTITIONS,
    {0},
};

static const cli_option dead_options[] = {
    {"max", CLI_INTEGER, "N", "so many at most, up to 1000 (20)"},
    {"skip", CLI_INTEGER, "N", "behind the first N (0)"},
    {"delete", CLI_FLAG, NULL, "delete those named by ID"},
    {"delete-all", CLI_FLAG, NULL, "delete them all"},
    PARTITIONS,
    {0},
};

static const cli_option retry_options[] = {
    {"all", CLI_FLAG, NULL, "all dead letters"},
    PARTITIONS,
    {0},
};

static const cli_option destroy_options[] = {
    {"yes", CLI_FLAG, NULL, "yes, with all that is in it"},
    PARTITIONS,
    {0},
};

static const cli_option limit_options[] = {
    {"max-jobs", CLI_INTEGER, "N", "refuse pushes beyond"},
    {"max-bytes", CLI_SIZE, "SIZE", "refuse pushes beyond"},
    {"concurrency", CLI_INTEGER, "N", "jobs claimed at once"},
    {"rate", CLI_TEXT, "COUNT/PERIOD", "jobs claimed, like 30/60s or 5/s"},
    {"group-concurrency", CLI_INTEGER, "N", "of a group at once; 1 is strict order"},
    {"group-rate", CLI_TEXT, "COUNT/PERIOD", "of a group"},
    {"dead-max", CLI_INTEGER, "N", "dead letters kept, the newest (10000)"},
    {"dead-for", CLI_DURATION, "DURATION", "and for so long (30d)"},
    PARTITIONS,
    {0},
};

static const cli_option schedule_options[] = {
    {"cron", CLI_TEXT, "EXPRESSION", "'MINUTE HOUR DAY MONTH WEEKDAY', like '30 2 * * mon-fri'"},
    {"zone", CLI_TEXT, "ZONE", "of --cron, like Europe/Berlin (UTC)"},
    {"every", CLI_DURATION, "DURATION", "instead: at multiples of this, at least 1s"},
    {"missed", CLI_CHOICE, "once|skip", "times missed without workers: one job, or none (once)"},
    JOB_OPTIONS,
    {"unique-payload", CLI_FLAG, NULL, NULL},
    PARTITIONS,
    {0},
};

/* ---- Examples ------------------------------------------------------------ */

/* "tackle queue pop" into $id and $token, with what every system has. */
#define POP                                                             \
    "claim=$(tackle queue pop tackle-example --json)\n"                 \
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
            "Each PAYLOAD is a job, any bytes; without one, standard input is. A job is done at\n"
            "least once: it stays until a worker has acknowledged it. Exit code 1 when the queue\n"
            "is full. A job whose unique key is there already is not pushed, and its id is that\n"
            "of the other one. After exit code 69 it is not known whether the jobs were pushed:\n"
            "use --request, and repeat the command within ten minutes.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue push tackle-example bob@example.org --priority -5 --delay 50ms\n"
                   "printf 'carol\\ndave\\n' | tackle queue push tackle-example --lines --json\n"
                   "tackle queue stats tackle-example\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_push,
    },
    {
        .name = "work",
        .args = "NAME... -- COMMAND [ARG...]",
        .summary = "run a command for each job",
        .options = work_options,
        .details =
            "COMMAND gets the payload on standard input, and TACKLE_JOB_ID, TACKLE_QUEUE,\n"
            "TACKLE_ATTEMPT, TACKLE_RETRIES, TACKLE_PRIORITY, TACKLE_TOKEN, and what the job has\n"
            "of TACKLE_GROUP, TACKLE_META and TACKLE_ERROR (why it failed before). Its exit "
            "code:\n\n"
            "  0              done\n"
            "  75             not now: again after --again, uses no attempt\n"
            "  65             hopeless: to the dead letters at once\n"
            "  anything else  failed, the last of its stderr is the reason; tried again after the\n"
            "                 job's backoff while it has retries left, then to the dead letters\n\n"
            "Of several queues the first is always served first. COMMAND and all that it starts\n"
            "are one process group, which is ended with it, at the job's time limit and when the\n"
            "claim is lost. SIGTERM or Ctrl-C: no more jobs, those that run go on to their end; a\n"
            "second one ends them now, and they use no attempt. A COMMAND that cannot be run ends\n"
            "the worker (126, 127) and no job is lost. With --json one line for each job, and "
            "what\n"
            "COMMAND prints goes to stderr.\n\n"
            "With several threads COMMAND's output is printed in whole lines.\n\n"
            "Exit code 1: with --once there was no job or it was not done, with --drain some were\n"
            "not done, or are still ready: the queue is paused, or a limit holds them back.",
        .example = "tackle queue push tackle-example alice@example.org bob@example.org\n"
                   "tackle queue work tackle-example --drain -- sh -c 'echo \"to $(cat)\"'\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_work,
    },
    {
        .name = "pop",
        .args = "NAME...",
        .summary = "claim a job by hand; prints its id, token and payload",
        .options = pop_options,
        .details = "Of several queues the first that has a job. It comes back to the front when\n"
                   "the lease ends, unless it is acknowledged, failed, released or extended with\n"
                   "the token before. Exit code 1 when there is none.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue pop tackle-example --lease 1m\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_pop,
    },
    {
        .name = "ack",
        .args = "NAME ID TOKEN",
        .summary = "a claimed job is done",
        .options = ack_options,
        .details = "Exit code 1 when the claim is not valid any more: somebody else may have the\n"
                   "job by now.",
        .example = "tackle queue push tackle-example alice@example.org\n" POP
                   "tackle queue ack tackle-example $id $token\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_ack,
    },
    {
        .name = "fail",
        .args = "NAME ID TOKEN",
        .summary = "a claimed job has failed: again after its backoff, or dead",
        .options = fail_options,
        .details = "Exit code 1 when the claim is not valid any more.",
        .example = "tackle queue push tackle-example alice@example.org\n" POP
                   "tackle queue fail tackle-example $id $token --reason 'mailbox full'\n"
                   "tackle queue show tackle-example $id\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_fail,
    },
    {
        .name = "release",
        .args = "NAME ID TOKEN",
        .summary = "give a claimed job back; uses no attempt",
        .options = release_options,
        .details = "Exit code 1 when the claim is not valid any more.",
        .example = "tackle queue push tackle-example alice@example.org\n" POP
                   "tackle queue release tackle-example $id $token\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_release,
    },
    {
        .name = "extend",
        .args = "NAME ID TOKEN",
        .summary = "make the lease of a claimed job last from now",
        .options = extend_options,
        .details = "Exit code 1 when the claim is not valid any more. Commands of queue work need\n"
                   "this only to tell their progress: their leases are renewed for them.",
        .example =
            "tackle queue push tackle-example alice@example.org\n" POP
            "tackle queue extend tackle-example $id $token --lease 1m --progress 'half of it'\n"
            "tackle queue show tackle-example $id\n"
            "tackle queue destroy tackle-example --yes",
        .run = cli_queue_extend,
    },
    {
        .name = "stats",
        .args = "NAME",
        .summary = "how many jobs are ready, delayed, active, dead; totals",
        .options = common_options,
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue stats tackle-example\n"
                   "tackle queue stats tackle-example --json\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_stats,
    },
    {
        .name = "list",
        .summary = "all queues, with their numbers",
        .details =
            "Looks through all keys, without blocking the server. How many partitions a queue has\n"
            "is found out by that: the last of them may be missing if they were never used.",
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue list\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_list,
    },
    {
        .name = "peek",
        .args = "NAME",
        .summary = "look at jobs, the next to be served first",
        .options = peek_options,
        .details = "Changes nothing. Held are jobs that wait for others of their group or flow.",
        .example = "tackle queue push tackle-example alice@example.org bob@example.org\n"
                   "tackle queue peek tackle-example\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_peek,
    },
    {
        .name = "show",
        .args = "NAME ID",
        .summary = "all that is known of a job",
        .options = common_options,
        .details = "Exit code 1 when it is not there: done, cancelled, or never pushed.",
        .example = "id=$(tackle queue push tackle-example alice@example.org)\n"
                   "tackle queue show tackle-example $id\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_show,
    },
    {
        .name = "result",
        .args = "NAME ID",
        .summary = "the result of a job that was pushed with --result",
        .options = result_options,
        .details = "Exit code 1 when there is none: not done in time, dead, or no such job.",
        .example = "id=$(tackle queue push tackle-example '6 * 7' --result 1h)\n"
                   "tackle queue work tackle-example --drain --result -- sh -c 'echo $(($(cat)))'\n"
                   "tackle queue result tackle-example $id --wait 5s\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_result,
    },
    {
        .name = "dead",
        .args = "NAME [ID...]",
        .summary = "the dead letters, newest first; delete some",
        .options = dead_options,
        .details = "Jobs that have failed for the last time, and why. They stay until they are\n"
                   "retried, deleted, too many or too old (see tackle queue limit).",
        .example = DEAD_LETTER "tackle queue dead tackle-example\n"
                               "tackle queue dead tackle-example --delete-all\n"
                               "tackle queue destroy tackle-example --yes",
        .run = cli_queue_dead,
    },
    {
        .name = "retry",
        .args = "NAME [ID...]",
        .summary = "dead letters back to the queue, with all attempts before them",
        .options = retry_options,
        .details = "Exit code 1 when one of them is not there.",
        .example = DEAD_LETTER "tackle queue retry tackle-example --all\n"
                               "tackle queue destroy tackle-example --yes",
        .run = cli_queue_retry,
    },
    {
        .name = "cancel",
        .args = "NAME ID...",
        .summary = "take jobs out of the queue, whatever their state",
        .options = common_options,
        .details = "The worker of one that runs is told, and ends its command. Exit code 1 when\n"
                   "one of them is not there.",
        .example = "id=$(tackle queue push tackle-example alice@example.org --delay 1h)\n"
                   "tackle queue cancel tackle-example $id",
        .run = cli_queue_cancel,
    },
    {
        .name = "pause",
        .args = "NAME",
        .summary = "take jobs, but give out none",
        .options = common_options,
        .details = "Jobs that run go on to their end.",
        .example = "tackle queue pause tackle-example\n"
                   "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue pop tackle-example || echo 'it is paused'\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_pause,
    },
    {
        .name = "resume",
        .args = "NAME",
        .summary = "give out jobs again",
        .options = common_options,
        .example = "tackle queue pause tackle-example\n"
                   "tackle queue resume tackle-example --json\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_resume,
    },
    {
        .name = "drain",
        .args = "NAME",
        .summary = "remove all jobs that nobody has claimed",
        .options = common_options,
        .details = "Those that run, dead letters, settings and schedules stay.",
        .example = "tackle queue push tackle-example alice@example.org bob@example.org\n"
                   "tackle queue drain tackle-example\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_drain,
    },
    {
        .name = "destroy",
        .args = "NAME",
        .summary = "remove a queue: jobs, totals, settings, schedules",
        .options = destroy_options,
        .example = "tackle queue push tackle-example alice@example.org\n"
                   "tackle queue destroy tackle-example --yes --json",
        .run = cli_queue_destroy,
    },
    {
        .name = "limit",
        .args = "NAME",
        .summary = "show the settings of a queue, or change some",
        .options = limit_options,
        .details =
            "They are kept on the server and hold for all programs; what is not named stays\n"
            "as it is, 0 takes a limit away (dead letters are then kept as in the beginning).\n"
            "Each partition of a queue has its own.",
        .example = "tackle queue limit tackle-example --max-jobs 100000 --rate 10/s \\\n"
                   "  --group-concurrency 1\n"
                   "tackle queue limit tackle-example --rate 0 --json\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_limit,
    },
    {
        .name = "schedule",
        .args = "add|list|remove NAME [ID] [PAYLOAD]",
        .summary = "jobs that are pushed again and again",
        .options = schedule_options,
        .details =
            "add makes or replaces the schedule ID; remove needs ID, too. Each time is fired "
            "once,\n"
            "however many workers run; whichever worker of the queue comes first pushes the job.",
        .example = "tackle queue schedule add tackle-example report --cron '30 2 * * mon-fri' \\\n"
                   "  --zone Europe/Berlin 'the nightly report'\n"
                   "tackle queue schedule list tackle-example\n"
                   "tackle queue schedule remove tackle-example report\n"
                   "tackle queue destroy tackle-example --yes",
        .run = cli_queue_schedule,
    },
    {0},
};

static const cli_step demo[] = {
    {"Jobs wait in a queue until somebody has done them.",
     "tackle queue push mails alice@example.org bob@example.org", 0},
    {"One is urgent (lower is served first), one is for later.",
     "tackle queue push mails carol@example.org --priority -5;\n"
     "  tackle queue push mails dave@example.org --delay 1h; tackle queue stats mails",
     0},
    {"A worker runs a command for each: the payload is its standard input.",
     "tackle queue work mails --drain -- sh -c 'echo \"to $(cat), attempt $TACKLE_ATTEMPT\"'", 0},
    {"Thousands of jobs in a few trips.", "seq 1 5000 | tackle queue push numbers --lines", 0},
    {"A unique job is pushed once.",
     "for i in 1 2; do tackle queue push reports daily --unique daily; done", 0},
    {"A job that fails is tried again, later and later; without retries it is a dead letter.",
     "tackle queue push mails nobody --retries 0;\n"
     "  tackle queue work mails --drain -- sh -c 'echo no such user >&2; exit 1'",
     1},
    {"What is dead can be looked at, and tried again.",
     "tackle queue dead mails; tackle queue retry mails --all", 0},
    {"kill -9 of a worker: the job comes back to the front when its lease ends.",
     "tackle queue pop reports --lease 200ms; tackle queue pop reports --wait 10s", 0},
    {"A result, for whoever waits for it.",
     "id=$(tackle queue push sums '6 * 7' --result 1h);\n"
     "  tackle queue work sums --once --result -- sh -c 'echo $(($(cat)))';\n"
     "  tackle queue result sums $id",
     0},
    {"A schedule: pushed once each time, however many workers there are.",
     "tackle queue schedule add reports nightly --cron '30 2 * * mon-fri' report;\n"
     "  tackle queue schedule list reports",
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
