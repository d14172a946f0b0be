/* SPDX-License-Identifier: MIT
 *
 * A job of `tackle queue work`. The payload is the command's standard input, a file in memory: a
 * command may read it, read it twice or not at all, and no thread has to feed a pipe. We copy the
 * command's stderr to ours and keep its end, which is the reason if the job fails. Its stdout is
 * ours; we copy it, too, when several commands run at once, or when lines are tagged or grouped
 * (relay.h).
 */
#include "queue_job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "environment.h"
#include "guard.h"
#include "relay.h"
#include "tail.h"

enum {
    TICK_MS = 100,  /* interval of checks whether the job was cancelled */
    LATE_MS = 1000, /* the worker's clock for a job may have started this long before ours */
    NOW_MS = 1000,  /* time from SIGTERM to SIGKILL when the worker must stop now */
    REASON_MAX = 1000,
    RESULT_MAX = 64 << 20,
    EXIT_DEAD = 65,
    EXIT_AGAIN = 75,
};

typedef struct job_run {
    cli_crew *crew;
    const char *const *argv; /* the command */
    tkl_task *task;
    const tkl_job *job;
    char **environment;
    int input, output; /* 0: not open */
    cli_relay printed, errors;
    int both; /* an epoll descriptor for `printed` and `errors`; 0: not open */
    cli_child child;
    int64_t began_ms;
    int64_t until_ms;     /* deadline that the guard knows: the command must have ended by then */
    const char *unwanted; /* why we ended the command; NULL: we did not */
    int64_t kill_at;      /* when SIGKILL follows SIGTERM; 0: no SIGTERM was sent */
    cli_tail tail;        /* the end of its stderr */
} job_run;

/* The job that this thread has just run, for the hook. */
static _Thread_local struct {
    int exit; /* -1: the command was not started */
    char reason[REASON_MAX];
    bool lost;
    int brief; /* length of the reason without the stderr, which was printed already */
} last;

/* ---- Messages ------------------------------------------------------------ */

void cli_crew_say(cli_crew *crew, const char *format, ...)
{
    char *text = NULL;
    va_list list;
    va_start(list, format);
    int n = vasprintf(&text, format, list);
    va_end(list);
    if (n < 0)
        return;
    cli_relay_lock();
    cli_fail(crew->cli, CLI_OK, "%s", text);
    cli_relay_unlock();
    free(text);
}

/* ---- The environment ----------------------------------------------------- */

const char *cli_crew_queue_name(const cli_crew *crew, const tkl_queue *queue)
{
    return cli_queue_name(crew->cli, crew->queues, queue);
}

enum { VARIABLES = 10 };
static const char *const variables[VARIABLES] = {
    "TACKLE_JOB_ID", "TACKLE_QUEUE", "TACKLE_ATTEMPT", "TACKLE_RETRIES", "TACKLE_PRIORITY",
    "TACKLE_TOKEN",  "TACKLE_GROUP", "TACKLE_META",    "TACKLE_ERROR",   "TACKLE_KIND",
};

static bool make_environment(job_run *r)
{
    const tkl_job *job = r->job;
    char attempt[16], retries[16], priority[16];
    snprintf(attempt, sizeof attempt, "%d", job->attempt);
    snprintf(retries, sizeof retries, "%d", job->retries);
    snprintf(priority, sizeof priority, "%d", job->priority);
    const tkl_bytes values[VARIABLES] = {
        tkl_str(job->id),  tkl_str(cli_crew_queue_name(r->crew, job->queue)),
        tkl_str(attempt),  tkl_str(retries),
        tkl_str(priority), tkl_str(job->token),
        job->group,        job->meta,
        job->error,        job->kind,
    };
    r->environment = cli_environment_new(variables, values, VARIABLES);
    return r->environment != NULL;
}

/* ---- Files --------------------------------------------------------------- */

/* Makes a file in memory of the payload. False: see errno. */
static bool make_input(job_run *r)
{
    tkl_bytes payload = r->job->payload;
    r->input = memfd_create("payload", MFD_CLOEXEC);
    if (r->input < 0)
        return false;
    for (size_t at = 0; at < payload.len;) {
        ssize_t n = write(r->input, payload.data + at, payload.len - at);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? (size_t)n : 0;
    }
    return lseek(r->input, 0, SEEK_SET) == 0;
}

static bool watch_output(job_run *r, const cli_relay *relay)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(r->both, EPOLL_CTL_ADD, relay->pipe[0], &event) == 0;
}

/* Relays the command's output, unless it is the result or may go straight to ours. */
static bool relay_output(job_run *r, const char *tag, bool group)
{
    cli_session *cli = r->crew->cli;
    bool several = cli_number(cli, "threads", 1) > 1;
    if (r->output > 0 || (tag == NULL && !group && !several))
        return true;
    return cli_relay_open(&r->printed, cli->json ? STDERR_FILENO : STDOUT_FILENO, tag, group) &&
           watch_output(r, &r->printed);
}

static bool make_files(job_run *r)
{
    const char *tag = cli_flag(r->crew->cli, "tag") ? r->job->id : NULL;
    bool group = cli_flag(r->crew->cli, "group");
    r->both = epoll_create1(EPOLL_CLOEXEC);
    if (r->both < 0 || !make_input(r))
        return false;
    if (cli_flag(r->crew->cli, "result"))
        r->output = memfd_create("result", MFD_CLOEXEC);
    return r->output >= 0 && relay_output(r, tag, group) &&
           cli_relay_open(&r->errors, STDERR_FILENO, tag, group) && watch_output(r, &r->errors);
}

static void clean_up(job_run *r)
{
    cli_close_file(&r->input);
    cli_close_file(&r->output);
    cli_relay_close(&r->printed);
    cli_relay_close(&r->errors);
    cli_close_file(&r->both);
    cli_environment_free(r->environment, variables, VARIABLES);
}

/* ---- Its stderr ---------------------------------------------------------- */

/* Copies some of the output; false when there is none at the moment. */
static bool relay(job_run *r)
{
    char data[4096];
    size_t len;
    bool some = cli_relay_take(&r->printed, data, sizeof data, NULL);
    if (!cli_relay_take(&r->errors, data, sizeof data, &len))
        return some;
    cli_tail_keep(&r->tail, data, len);
    return true;
}

/* ---- While it runs ------------------------------------------------------- */

static const char lost[] = "the claim was lost";

const char *cli_crew_why_unwanted(const cli_crew *crew, const tkl_job *job, int64_t began_ms)
{
    if (job->time_limit_ms > 0 && cli_now_ms() - began_ms + LATE_MS >= job->time_limit_ms)
        return "time limit";
    return atomic_load(&crew->now) ? "stopped" : lost;
}

/* Ends the command when the job is cancelled: SIGTERM, and SIGKILL after the grace time. */
static void end_cancelled(job_run *r)
{
    int64_t now = cli_now_ms();
    bool hurry = atomic_load(&r->crew->now);
    if (r->kill_at == 0 && tkl_task_cancelled(r->task)) {
        r->unwanted = cli_crew_why_unwanted(r->crew, r->job, r->began_ms);
        kill(-r->child.pid, SIGTERM);
        kill(-r->child.pid, SIGCONT); /* a stopped process could not react to SIGTERM */
        r->kill_at = now + r->crew->grace_ms;
    }
    if (r->kill_at != 0 && hurry && r->kill_at > now + NOW_MS)
        r->kill_at = now + NOW_MS;
    if (r->kill_at != 0 && now >= r->kill_at)
        cli_child_end(&r->child, 0);
}

/* Deadline for the command if we die: after that the job may start elsewhere. */
static int64_t end_of_claim(const job_run *r)
{
    return cli_guard_end_of(cli_number(r->crew->cli, "lease", CLI_QUEUE_LEASE_MS),
                            tkl_task_left_ms(r->task));
}

/* Tells the guard that the claim was renewed. */
static void note_renewal(job_run *r)
{
    int64_t until_ms = end_of_claim(r);
    if (until_ms <= r->until_ms + TICK_MS)
        return;
    r->until_ms = until_ms;
    cli_guard_until(r->child.pid, until_ms);
}

/* Follows the command to its end. Then ends processes that it has left running. */
static void follow_command(job_run *r)
{
    cli_child_event event;
    while ((event = cli_child_wait(&r->child, r->both, TICK_MS)) != CLI_CHILD_ENDED) {
        if (event == CLI_CHILD_WOKEN)
            relay(r);
        note_renewal(r);
        end_cancelled(r);
    }
    if (cli_child_leaves(&r->child))
        cli_child_end(&r->child, atomic_load(&r->crew->now) ? NOW_MS : r->crew->grace_ms);
    while (relay(r)) /* to its end; a process that still has the pipe may write more later */
        ;
    last.exit = cli_child_close(r->crew->cli, &r->child);
    last.lost = r->unwanted == lost;
}

/* ---- The outcome --------------------------------------------------------- */

/* Writes the reason: how the command ended, then the end of its stderr. */
static void give_reason(job_run *r)
{
    const char *words = cli_tail_text(&r->tail), *colon = *words != '\0' ? ": " : "";
    if (r->unwanted != NULL)
        last.brief = snprintf(last.reason, sizeof last.reason, "%s", r->unwanted);
    else if (r->child.signal != 0)
        last.brief = snprintf(last.reason, sizeof last.reason, "signal %d", r->child.signal);
    else
        last.brief = snprintf(last.reason, sizeof last.reason, "exit code %d", last.exit);
    snprintf(last.reason + last.brief, sizeof last.reason - (size_t)last.brief, "%s%s", colon,
             words);
}

/* Takes the command's output as the result, with --result. */
static int keep_result(job_run *r)
{
    struct stat info;
    if (r->output == 0)
        return TKL_OK;
    if (fstat(r->output, &info) != 0 || info.st_size > RESULT_MAX) {
        last.brief = snprintf(last.reason, sizeof last.reason, "the result has more than %d MB",
                              RESULT_MAX >> 20);
        tkl_task_fail(r->task, last.reason);
        return TKL_EINVAL;
    }
    size_t len = (size_t)info.st_size;
    void *data = len > 0 ? mmap(NULL, len, PROT_READ, MAP_SHARED, r->output, 0) : NULL;
    if (data == MAP_FAILED)
        return TKL_ENOMEM;
    int code = tkl_task_result(r->task, (tkl_bytes){data, len});
    if (len > 0)
        munmap(data, len);
    return code;
}

/* Whether the command's output goes to our stdout and its reader is gone: `tackle queue work mails
 * -- cat | head`. */
static bool prints_in_vain(const job_run *r)
{
    return r->output == 0 && !r->crew->cli->json && cli_reader_is_gone();
}

/* A command that we ended because the worker stops has not failed, nor has one whose reader is
 * gone. */
static int judge_end(job_run *r)
{
    bool in_vain = prints_in_vain(r);
    if (in_vain)
        cli_crew_give_up(r->crew, CLI_FAILURE);
    if (last.exit == 0)
        return keep_result(r);
    give_reason(r);
    if (last.exit == EXIT_AGAIN)
        tkl_task_release(r->task, r->crew->again_ms);
    else if (last.exit == EXIT_DEAD)
        tkl_task_dead(r->task, last.reason);
    else if (in_vain || (r->unwanted != NULL && atomic_load(&r->crew->now)))
        tkl_task_release(r->task, 0);
    else
        tkl_task_fail(r->task, last.reason);
    return TKL_EIO;
}

/* ---- The handler --------------------------------------------------------- */

/* A failure of our own is not the job's fault: the job is released. If the command cannot be run at
 * all, the worker ends, because it would send every job to the dead letters. */
static int hand_back(job_run *r, int exit, const char *what)
{
    if (what != NULL)
        cli_crew_say(r->crew, "%s: %s: %s", r->job->id, what, strerror(errno));
    if (exit != CLI_FAILURE)
        cli_crew_give_up(r->crew, exit);
    snprintf(last.reason, sizeof last.reason, "the command was not started");
    tkl_task_release(r->task, exit != CLI_FAILURE ? 0 : r->crew->again_ms);
    return TKL_EIO;
}

/* The file that the command gets as its output; 0: ours. */
static int output_of(const job_run *r)
{
    if (r->output > 0)
        return r->output;
    if (r->printed.pipe[1] > 0)
        return r->printed.pipe[1];
    return r->crew->cli->json ? STDERR_FILENO : 0;
}

static int run_command(job_run *r)
{
    cli_session *cli = r->crew->cli;
    r->until_ms = end_of_claim(r);
    cli_command command = {
        .argv = r->argv,
        .environment = r->environment,
        .input = r->input,
        .output = output_of(r),
        .errors = r->errors.pipe[1],
        .mask = &r->crew->mask,
        .grace_ms = r->crew->grace_ms > 0 ? r->crew->grace_ms : 1,
        .until_ms = r->until_ms,
    };
    int failed = cli_child_start(cli, &command, &r->child);
    if (failed)
        return hand_back(r, failed, NULL);
    atomic_fetch_add(&r->crew->begun, 1);
    cli_close_file(&r->errors.pipe[1]);
    cli_close_file(&r->printed.pipe[1]);
    cli_close_file(&r->input);
    follow_command(r);
    return judge_end(r);
}

static void begin_job(void)
{
    last.exit = -1;
    last.lost = false;
    last.reason[0] = '\0';
}

void cli_crew_note_end(const char *unwanted, const char *reason)
{
    begin_job();
    last.lost = unwanted == lost;
    last.brief =
        snprintf(last.reason, sizeof last.reason, "%s", unwanted != NULL ? unwanted : reason);
}

int cli_crew_refuse_job(tkl_task *task, void *crew)
{
    tkl_bytes kind = tkl_task_job(task)->kind;
    (void)crew;
    begin_job();
    if (kind.len > 0)
        last.brief = snprintf(last.reason, sizeof last.reason,
                              "no command for the kind '" TKL_FMT "'", TKL_ARG(kind));
    else
        last.brief =
            snprintf(last.reason, sizeof last.reason, "no command for jobs without a kind");
    tkl_task_fail(task, last.reason);
    return TKL_EINVAL;
}

int cli_crew_run_job(tkl_task *task, void *arg)
{
    const cli_crew_command *command = arg;
    job_run r = {.crew = command->crew,
                 .argv = command->argv,
                 .task = task,
                 .job = tkl_task_job(task),
                 .began_ms = cli_now_ms()};
    begin_job();
    int code = make_environment(&r) && make_files(&r)
                   ? run_command(&r)
                   : hand_back(&r, CLI_FAILURE, "cannot run the command");
    clean_up(&r);
    return code;
}

/* ---- The hook ------------------------------------------------------------ */

static const char *const outcomes[] = {
    [TKL_OUTCOME_DONE] = "done",
    [TKL_OUTCOME_FAILED] = "failed",
    [TKL_OUTCOME_DEAD] = "dead",
    [TKL_OUTCOME_RELEASED] = "released",
};

/* The outcome in a word. After a lost claim it is "lost": the outcome does not count. */
static const char *word_of(tkl_outcome outcome)
{
    return last.lost ? "lost" : outcomes[outcome];
}

static void print_end(cli_crew *crew, json_t *value)
{
    cli_relay_lock();
    int failed = cli_print_json(crew->cli, value);
    if (!failed)
        failed = cli_flush(crew->cli);
    cli_relay_unlock();
    if (failed)
        cli_crew_give_up(crew, failed);
}

/* The end of a job as JSON. An attempt or exit code below 0 and an empty reason are null. */
static json_t *end_json(const cli_crew *crew, const char *id, const tkl_queue *queue,
                        tkl_bytes kind, int attempt, const char *outcome, int exit, int64_t run_us,
                        const char *reason)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:s, s:o, s:I, s:o}", "id", id, "queue",
                     cli_json_bytes(tkl_str(cli_crew_queue_name(crew, queue))), "kind",
                     cli_json_present(kind), "attempt",
                     attempt >= 0 ? json_integer(attempt) : json_null(), "outcome", outcome, "exit",
                     exit >= 0 ? json_integer(exit) : json_null(), "took_ms",
                     (json_int_t)(run_us / 1000), "reason", cli_json_present(tkl_str(reason)));
}

void cli_crew_on_damaged(tkl_queue *queue, const char *id, void *arg)
{
    static const char reason[] = "the record is damaged";
    cli_crew *crew = arg;
    if (crew->cli->json)
        print_end(crew, end_json(crew, id, queue, tkl_str(""), -1, outcomes[TKL_OUTCOME_DEAD], -1,
                                 0, reason));
    else
        cli_crew_say(crew, "%s: %s, it went to the dead letters", id, reason);
}

void cli_crew_on_end(const tkl_job *job, tkl_outcome outcome, int64_t run_us, void *arg)
{
    char when[CLI_TIME_SIZE], took[CLI_DURATION_SIZE];
    cli_crew *crew = arg;
    cli_time_text((int64_t)time(NULL) * 1000, when);
    cli_duration_text(run_us / 1000, took);
    if (crew->cli->json)
        print_end(crew, end_json(crew, job->id, job->queue, job->kind, job->attempt,
                                 word_of(outcome), last.exit, run_us, last.reason));
    else if (last.lost)
        cli_crew_say(crew, "%s %s: the claim was lost, its command was ended after %s", when,
                     job->id, took);
    else if (outcome == TKL_OUTCOME_FAILED || outcome == TKL_OUTCOME_DEAD)
        cli_crew_say(crew, "%s %s %s after %s, attempt %d of %d: %.*s", when, job->id,
                     outcomes[outcome], took, job->attempt, job->retries + 1, last.brief,
                     last.reason);
}
