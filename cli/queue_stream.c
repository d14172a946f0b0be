/* SPDX-License-Identifier: MIT
 *
 * The command of `tackle queue work --stream`. The worker's threads bring jobs and wait for their
 * answers; one more thread, the keeper, has the command. It starts the command when there is a job
 * for it, writes lines to its standard input, reads lines from its standard output, copies its
 * stderr, and finds out that it ended. An errand is a job on its way through the command:
 *
 *     unsent ──▶ sent ──▶ answered: ack, fail, dead, release
 *       ▲          │
 *       │          └────▶ the command ended: failed; released if we ended it for another job
 *       └── the command ended before the first byte was written: it goes to the next command
 *
 * The thread of a job makes all calls of the library, since they may block: the keeper only puts
 * the answer into the errand.
 */
#include "queue_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "clock.h"
#include "guard.h"
#include "queue_answer.h"
#include "relay.h"
#include "tail.h"

enum {
    TICK_MS = 100, /* interval of checks whether jobs were cancelled or renewed */
    NOW_MS = 1000, /* time of each step when the worker must stop now */
    PAUSE_MS =
        100, /* before the next start of a command that ended without an answer; doubled ... */
    PAUSE_MAX_MS = 5000, /* ... up to this */
    RESULT_MAX = 64 << 20,
    LINE_MAX_BYTES =
        400 << 20,   /* the longest answer: the largest result, with every byte escaped */
    SHOWN_MAX = 200, /* bytes of a wrong answer in its report */
    REASON_MAX = 1000,
};

typedef struct errand {
    struct errand *next;
    const char *id;
    tkl_task *task;
    char *message;    /* to be written, with its newline */
    size_t len, sent; /* 0: nothing of it was written */
    cli_verdict verdict;
    char *text; /* the result or the reason; NULL: none */
    size_t text_len;
    int64_t delay_ms; /* delay of a released job, or CLI_ANSWER_AGAIN */
    char *progress;   /* not reported yet; NULL: none */
    size_t progress_len;
    bool cancelled; /* the command was asked to give it up */
} errand;

struct cli_stream {
    cli_crew *crew;
    const char *const *argv;
    pthread_t keeper;
    int wake;  /* eventfd: there is something new for the keeper */
    int files; /* epoll: `wake`, and the pipes of the command */

    pthread_mutex_t mutex; /* guards the errands and these */
    pthread_cond_t news;   /* for the threads of jobs */
    errand *errands;
    char *notices; /* lines about cancelled jobs, to be written */
    size_t notices_len, notices_sent;
    bool stuck; /* the command must be ended: it did not give up a cancelled job */
    bool over;  /* no more jobs */

    /* Fields of the keeper. */
    bool runs;
    cli_child child;
    int input, output; /* our ends of its pipes; 0: not open */
    bool writing;      /* epoll waits for room in `input` */
    cli_relay errors;
    cli_tail tail; /* the last lines of its stderr */
    char *answer;  /* the beginning of a line */
    size_t answer_len, answer_cap;
    char wrong[REASON_MAX]; /* the fault in its answers; "": none so far */
    bool answered;          /* this command has answered at least once */
    int in_vain;            /* commands in a row that ended without an answer */
    int64_t start_at_ms;    /* no start before this */
    int64_t until_ms;       /* deadline that the guard knows */
};

static void wake_keeper(cli_stream *s)
{
    uint64_t one = 1;
    ssize_t n = write(s->wake, &one, sizeof one);
    (void)n;
}

/* ---- Answers ------------------------------------------------------------- */

static errand *find_errand(cli_stream *s, const char *id)
{
    errand *e = s->errands;
    while (e != NULL &&
           (e->sent < e->len || e->verdict != CLI_VERDICT_OPEN || strcmp(e->id, id) != 0))
        e = e->next;
    return e;
}

/* Puts the answer into its errand. Returns NULL, or what is wrong with the answer. */
static const char *take_answer(cli_stream *s, cli_answer *answer)
{
    pthread_mutex_lock(&s->mutex);
    errand *e = find_errand(s, answer->id);
    const char *wrong = e != NULL ? cli_answer_read_field(answer) : NULL;
    if (e != NULL && wrong == NULL && answer->verdict == CLI_VERDICT_OPEN) {
        free(e->progress);
        e->progress = answer->text;
        e->progress_len = answer->text_len;
    } else if (e != NULL && wrong == NULL) {
        e->verdict = answer->verdict;
        e->text = answer->text;
        e->text_len = answer->text_len;
        e->delay_ms = answer->delay_ms;
    }
    if (e != NULL && wrong == NULL) {
        answer->text = NULL; /* the errand has it */
        s->answered = true;
    }
    pthread_cond_broadcast(&s->news);
    pthread_mutex_unlock(&s->mutex);
    if (e == NULL)
        cli_crew_say(s->crew, "an answer for a job that the command does not have: %s", answer->id);
    return wrong;
}

static void take_line(cli_stream *s, const char *said, size_t len)
{
    cli_answer answer;
    if (len == 0 || s->wrong[0] != '\0')
        return;
    const char *wrong = cli_answer_read(said, len, &answer);
    if (wrong == NULL)
        wrong = take_answer(s, &answer);
    if (wrong != NULL) {
        char *shown = cli_escape((tkl_bytes){said, len < SHOWN_MAX ? len : SHOWN_MAX}, false);
        snprintf(s->wrong, sizeof s->wrong, "the command gave a wrong answer, %s: %s", wrong,
                 shown != NULL ? shown : "");
        free(shown);
    }
    cli_answer_free(&answer);
}

/* Splits what was read into lines. */
static void take_bytes(cli_stream *s, const char *data, size_t len)
{
    const char *newline;
    while ((newline = memchr(data, '\n', len)) != NULL && s->answer_len == 0) {
        size_t size = (size_t)(newline - data);
        take_line(s, data, size);
        data += size + 1;
        len -= size + 1;
    }
    if (len == 0)
        return;
    size_t part = newline != NULL ? (size_t)(newline - data) : len;
    if (s->answer_len + part > LINE_MAX_BYTES) {
        snprintf(s->wrong, sizeof s->wrong,
                 "the command gave a wrong answer, a line of more than "
                 "%d MB",
                 LINE_MAX_BYTES >> 20);
        return;
    }
    if (s->answer_len + part > s->answer_cap) {
        size_t cap = 2 * (s->answer_len + part);
        char *more = realloc(s->answer, cap);
        if (more == NULL) {
            snprintf(s->wrong, sizeof s->wrong, "out of memory for an answer of the command");
            return;
        }
        s->answer = more;
        s->answer_cap = cap;
    }
    memcpy(s->answer + s->answer_len, data, part);
    s->answer_len += part;
    if (newline == NULL)
        return;
    take_line(s, s->answer, s->answer_len);
    s->answer_len = 0;
    take_bytes(s, newline + 1, len - part - 1);
}

/* ---- The pipes of the command --------------------------------------------- */

/* Reads all answers that are there. */
static void read_answers(cli_stream *s)
{
    char data[65536];
    ssize_t n = -1;
    while (s->output > 0 && s->wrong[0] == '\0' && (n = read(s->output, data, sizeof data)) != 0)
        if (n > 0)
            take_bytes(s, data, (size_t)n);
        else if (errno != EINTR)
            return;
    if (n == 0)
        cli_close_file(&s->output);
}

static void read_errors(cli_stream *s)
{
    char data[4096];
    size_t len;
    while (cli_relay_take(&s->errors, data, sizeof data, &len))
        cli_tail_keep(&s->tail, data, len);
}

/* The next bytes to write: the rest of a line, a notice, or the line of the next job. Call it with
 * the mutex. */
static size_t next_bytes(cli_stream *s, const char **data, size_t **sent)
{
    errand *next = NULL;
    for (errand *e = s->errands; e != NULL; e = e->next) {
        if (e->sent > 0 && e->sent < e->len)
            next = e;
        else if (next == NULL && e->sent == 0)
            next = e;
        if (next != NULL && next->sent > 0)
            break;
    }
    bool notice = s->notices_len > 0 && (next == NULL || next->sent == 0);
    if (notice) {
        *data = s->notices + s->notices_sent;
        *sent = &s->notices_sent;
        return s->notices_len - s->notices_sent;
    }
    if (next == NULL)
        return 0;
    *data = next->message + next->sent;
    *sent = &next->sent;
    return next->len - next->sent;
}

/* Writes as much as the pipe takes. A command that has closed its input gets no more jobs. */
static void write_lines(cli_stream *s)
{
    const char *data;
    size_t *sent, len = 0;
    pthread_mutex_lock(&s->mutex);
    while (s->input > 0 && (len = next_bytes(s, &data, &sent)) > 0) {
        ssize_t n = write(s->input, data, len);
        if (n > 0)
            *sent += (size_t)n;
        else if (n < 0 && errno == EAGAIN)
            break;
        else if (n < 0 && errno != EINTR)
            cli_close_file(&s->input);
        if (s->notices_len > 0 && s->notices_sent == s->notices_len)
            s->notices_len = s->notices_sent = 0;
    }
    pthread_mutex_unlock(&s->mutex);
    bool full = s->input > 0 && len > 0;
    if (s->input > 0 && full != s->writing) {
        struct epoll_event event = {.events = full ? EPOLLOUT : 0};
        epoll_ctl(s->files, EPOLL_CTL_MOD, s->input, &event);
        s->writing = full;
    }
}

/* Notices that the command has closed its input: it wants no more jobs. */
static void notice_closed_input(cli_stream *s)
{
    struct pollfd file = {.fd = s->input, .events = 0};
    if (s->input > 0 && poll(&file, 1, 0) > 0 && (file.revents & POLLERR) != 0)
        cli_close_file(&s->input);
}

/* ---- Its start and its end ------------------------------------------------ */

static bool watch_file(cli_stream *s, int file, unsigned events)
{
    struct epoll_event event = {.events = events};
    return epoll_ctl(s->files, EPOLL_CTL_ADD, file, &event) == 0;
}

static void close_pipes(cli_stream *s)
{
    cli_close_file(&s->input);
    cli_close_file(&s->output);
    cli_relay_close(&s->errors);
    s->answer_len = 0;
}

/* Makes the pipes; `ends` are those of the command. */
static bool make_pipes(cli_stream *s, int ends[2])
{
    int in[2] = {0, 0}, out[2] = {0, 0};
    bool made = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0;
    ends[0] = in[0];
    ends[1] = out[1];
    s->input = in[1];
    s->output = out[0];
    s->writing = false;
    return made && fcntl(s->input, F_SETFL, O_NONBLOCK) == 0 &&
           fcntl(s->output, F_SETFL, O_NONBLOCK) == 0 && watch_file(s, s->input, 0) &&
           watch_file(s, s->output, EPOLLIN) &&
           cli_relay_open(&s->errors, STDERR_FILENO, NULL, false) &&
           watch_file(s, s->errors.pipe[0], EPOLLIN);
}

/* Makes the next command wait, longer each time, if this one has answered nothing. */
static void note_attempt(cli_stream *s)
{
    int64_t pause = s->in_vain < 6 ? (int64_t)PAUSE_MS << s->in_vain : PAUSE_MAX_MS;
    s->in_vain = s->answered ? 0 : s->in_vain + 1;
    s->start_at_ms = s->answered ? 0 : cli_now_ms() + pause;
}

/* Ends the errands of a command that is gone, and those without a command at all. */
static void end_errands(cli_stream *s, bool unsent, cli_verdict end, const char *reason)
{
    pthread_mutex_lock(&s->mutex);
    for (errand *e = s->errands; e != NULL; e = e->next)
        if (e->verdict == CLI_VERDICT_OPEN && (unsent || e->sent > 0)) {
            e->verdict = end;
            e->text = end == CLI_VERDICT_FAIL ? strdup(reason) : NULL;
            e->text_len = e->text != NULL ? strlen(e->text) : 0;
        }
    s->notices_len = s->notices_sent = 0;
    s->stuck = false;
    pthread_cond_broadcast(&s->news);
    pthread_mutex_unlock(&s->mutex);
}

/* Marks all jobs as unsent: there was no command to read them. */
static void take_lines_back(cli_stream *s)
{
    pthread_mutex_lock(&s->mutex);
    for (errand *e = s->errands; e != NULL; e = e->next)
        e->sent = 0;
    pthread_mutex_unlock(&s->mutex);
}

/* When the first claim ends, by the clock of the guard. Unsent jobs count, too: after they are
 * sent, it may be too late to inform the guard. */
static int64_t end_of_claims(cli_stream *s)
{
    int64_t lease_ms = cli_number(s->crew->cli, "lease", CLI_QUEUE_LEASE_MS);
    int64_t first_ms = CLI_GUARD_NEVER;
    pthread_mutex_lock(&s->mutex);
    for (const errand *e = s->errands; e != NULL; e = e->next)
        if (e->verdict == CLI_VERDICT_OPEN) {
            int64_t end = cli_guard_end_of(lease_ms, tkl_task_left_ms(e->task));
            first_ms = end < first_ms ? end : first_ms;
        }
    pthread_mutex_unlock(&s->mutex);
    return first_ms;
}

/* Starts the command. A command that can never run ends the worker; a lack of processes does
 * not. */
static void start_command(cli_stream *s)
{
    cli_crew *crew = s->crew;
    int ends[2] = {0, 0}, failed = CLI_FAILURE;
    s->answered = false;
    s->wrong[0] = '\0';
    s->tail = (cli_tail){0};
    s->until_ms = end_of_claims(s);
    if (make_pipes(s, ends)) {
        write_lines(s); /* the pipe keeps them: the first job is there before the command */
        cli_command command = {
            .argv = s->argv,
            .input = ends[0],
            .output = ends[1],
            .errors = s->errors.pipe[1],
            .mask = &crew->mask,
            .grace_ms = crew->grace_ms > 0 ? crew->grace_ms : 1,
            .until_ms = s->until_ms,
        };
        failed = cli_child_start(crew->cli, &command, &s->child);
    } else
        cli_crew_say(crew, "cannot run the command: %s", strerror(errno));
    cli_close_file(&ends[0]);
    cli_close_file(&ends[1]);
    if (s->errors.pipe[1] > 0)
        cli_close_file(&s->errors.pipe[1]);
    s->runs = failed == CLI_OK;
    if (s->runs)
        return;
    close_pipes(s);
    note_attempt(s);
    take_lines_back(s);
    if (failed != CLI_FAILURE) {
        cli_crew_give_up(crew, failed);
        end_errands(s, true, CLI_VERDICT_RELEASE, NULL);
    }
}

/* Cleans up after the end of the command. Its last answers count, its other jobs have failed. If we
 * ended it because of one job, or because we must stop, the others are released. */
static void bury_command(cli_stream *s, bool ended_by_us)
{
    char reason[REASON_MAX];
    read_answers(s);
    read_errors(s);
    if (cli_child_leaves(&s->child))
        cli_child_end(&s->child, atomic_load(&s->crew->now) ? NOW_MS : s->crew->grace_ms);
    int exit = cli_child_close(s->crew->cli, &s->child);
    const char *words = cli_tail_text(&s->tail), *colon = *words != '\0' ? ": " : "";
    if (s->wrong[0] != '\0')
        snprintf(reason, sizeof reason, "%s", s->wrong);
    else if (s->child.signal != 0)
        snprintf(reason, sizeof reason, "the command ended, signal %d%s%s", s->child.signal, colon,
                 words);
    else
        snprintf(reason, sizeof reason, "the command ended, exit code %d%s%s", exit, colon, words);
    bool blameless = ended_by_us && s->wrong[0] == '\0';
    s->runs = false;
    close_pipes(s);
    note_attempt(s);
    if (blameless)
        s->start_at_ms = s->in_vain = 0;
    end_errands(s, false, blameless ? CLI_VERDICT_RELEASE : CLI_VERDICT_FAIL, reason);
}

/* ---- The keeper ------------------------------------------------------------ */

static bool has_unsent(const cli_stream *s)
{
    for (const errand *e = s->errands; e != NULL; e = e->next)
        if (e->sent == 0)
            return true;
    return false;
}

static bool has_sent(const cli_stream *s)
{
    for (const errand *e = s->errands; e != NULL; e = e->next)
        if (e->sent > 0 && e->verdict == CLI_VERDICT_OPEN)
            return true;
    return false;
}

static void forget_wake(cli_stream *s)
{
    uint64_t count;
    ssize_t n = read(s->wake, &count, sizeof count);
    (void)n;
}

/* Informs the guard until when the command may run if we die. */
static void note_renewals(cli_stream *s)
{
    int64_t until_ms = end_of_claims(s), change = until_ms - s->until_ms;
    if (until_ms == s->until_ms || (change > 0 && change < TICK_MS))
        return;
    s->until_ms = until_ms;
    cli_guard_until(s->child.pid, until_ms);
}

/* Without a command: waits until there is a job and the command may be started. */
static void wait_for_work(cli_stream *s)
{
    struct epoll_event event;
    pthread_mutex_lock(&s->mutex);
    bool unsent = has_unsent(s);
    pthread_mutex_unlock(&s->mutex);
    int64_t pause = s->start_at_ms - cli_now_ms();
    if (unsent && pause <= 0) {
        start_command(s);
        return;
    }
    epoll_wait(s->files, &event, 1, unsent ? (int)pause : -1);
    forget_wake(s);
}

static void attend_command(cli_stream *s)
{
    pthread_mutex_lock(&s->mutex);
    bool busy = s->errands != NULL;
    pthread_mutex_unlock(&s->mutex);
    if (cli_child_wait(&s->child, s->files, busy ? TICK_MS : -1) == CLI_CHILD_ENDED) {
        bury_command(s, false);
        return;
    }
    forget_wake(s);
    notice_closed_input(s);
    note_renewals(s); /* before the command can have more jobs */
    write_lines(s);
    read_errors(s);
    read_answers(s);
    note_renewals(s);
    pthread_mutex_lock(&s->mutex);
    bool useless = (s->input == 0 || s->output == 0) && (s->output == 0 || !has_sent(s));
    bool stuck = s->stuck;
    pthread_mutex_unlock(&s->mutex);
    if (!stuck && !useless && s->wrong[0] == '\0')
        return;
    if (useless && !stuck && cli_child_wait(&s->child, -1, s->crew->grace_ms) == CLI_CHILD_ENDED) {
        bury_command(s, false); /* its pipes end a moment before it does */
        return;
    }
    if (useless && !stuck && s->output == 0 && s->wrong[0] == '\0')
        snprintf(s->wrong, sizeof s->wrong, "the command closed its standard output");
    cli_child_end(&s->child, atomic_load(&s->crew->now) ? NOW_MS : s->crew->grace_ms);
    bury_command(s, true);
}

/* Ends the command when no more jobs come: it sees the end of its input, and has the grace time to
 * end. */
static void dismiss_command(cli_stream *s)
{
    int64_t grace_ms = atomic_load(&s->crew->now) ? NOW_MS : s->crew->grace_ms;
    int64_t deadline = cli_now_ms() + grace_ms;
    cli_close_file(&s->input);
    while (!s->child.ended && cli_now_ms() < deadline) {
        cli_child_wait(&s->child, s->files, deadline - cli_now_ms());
        forget_wake(s);
        read_answers(s);
        read_errors(s);
    }
    if (!s->child.ended)
        cli_child_end(&s->child, grace_ms);
    bury_command(s, true);
}

static void *keep_claims(void *arg)
{
    cli_stream *s = arg;
    for (bool over = false; !over;) {
        if (s->runs)
            attend_command(s);
        else
            wait_for_work(s);
        pthread_mutex_lock(&s->mutex);
        over = s->over;
        pthread_mutex_unlock(&s->mutex);
    }
    if (s->runs)
        dismiss_command(s);
    return NULL;
}

/* ---- A job ----------------------------------------------------------------- */

/* Makes a message of a value: one line. */
static char *message_of(json_t *value, size_t *len)
{
    char *text = value != NULL ? cli_json_text(value) : NULL, *message = NULL;
    int n = text != NULL ? asprintf(&message, "%s\n", text) : -1;
    json_decref(value);
    free(text);
    *len = n > 0 ? (size_t)n : 0;
    return n > 0 ? message : NULL;
}

static char *job_message(const cli_stream *s, const tkl_job *job, size_t *len)
{
    json_t *object = cli_queue_claim_json(cli_crew_queue_name(s->crew, job->queue), job,
                                          cli_number(s->crew->cli, "lease", CLI_QUEUE_LEASE_MS));
    json_t *message = json_pack("{s:s}", "type", "job");
    if (message != NULL && object != NULL)
        json_object_update(message, object);
    json_decref(object);
    return message_of(message, len);
}

/* Adds a notice that the job is not wanted any more. If there is no memory for it, the command is
 * ended after the grace time all the same. Call it with the mutex. */
static void add_notice(cli_stream *s, const errand *e, const char *why)
{
    size_t len;
    char *message = message_of(
        json_pack("{s:s, s:s, s:s}", "type", "cancel", "id", e->id, "reason", why), &len);
    char *more = message != NULL ? realloc(s->notices, s->notices_len + len) : NULL;
    if (more != NULL) {
        s->notices = more;
        memcpy(more + s->notices_len, message, len);
        s->notices_len += len;
    }
    free(message);
}

static void add_errand(cli_stream *s, errand *e)
{
    errand **end = &s->errands;
    while (*end != NULL)
        end = &(*end)->next;
    *end = e;
}

static void remove_errand(cli_stream *s, const errand *e)
{
    errand **at = &s->errands;
    while (*at != e)
        at = &(*at)->next;
    *at = e->next;
}

static void wait_for_news(cli_stream *s)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += TICK_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(&s->news, &s->mutex, &until);
}

/* Reports progress, and releases the mutex meanwhile. If the report fails, the job goes on. */
static void report_progress(cli_stream *s, errand *e)
{
    char *progress = e->progress;
    size_t len = e->progress_len;
    e->progress = NULL;
    if (progress == NULL)
        return;
    pthread_mutex_unlock(&s->mutex);
    tkl_task_progress(e->task, (tkl_bytes){progress, len});
    free(progress);
    pthread_mutex_lock(&s->mutex);
}

/* Waits for the answer. A job that is cancelled before it was sent needs none; after that the
 * command has the grace time to answer, and is ended then. Returns why the job was cancelled, or
 * NULL. */
static const char *await_answer(cli_stream *s, errand *e, int64_t began_ms)
{
    const char *why = NULL;
    int64_t end_at_ms = 0;
    while (e->verdict == CLI_VERDICT_OPEN || e->progress != NULL) {
        if (e->progress == NULL)
            wait_for_news(s);
        report_progress(s, e);
        if (e->verdict != CLI_VERDICT_OPEN || !tkl_task_cancelled(e->task))
            continue;
        if (!e->cancelled) {
            bool now = atomic_load(&s->crew->now);
            why = cli_crew_why_unwanted(s->crew, tkl_task_job(e->task), began_ms);
            e->cancelled = true;
            end_at_ms = cli_now_ms() + (now ? NOW_MS : s->crew->grace_ms);
            if (e->sent == 0) {
                e->verdict = CLI_VERDICT_RELEASE;
                break;
            }
            add_notice(s, e, why);
            wake_keeper(s);
        } else if (cli_now_ms() >= end_at_ms || atomic_load(&s->crew->now)) {
            s->stuck = true;
            wake_keeper(s);
        }
    }
    return why;
}

/* Reports to the worker how the job ended. */
static int judge_errand(cli_stream *s, const errand *e, const char *why)
{
    char reason[REASON_MAX];
    bool stopped = why != NULL && atomic_load(&s->crew->now);
    snprintf(reason, sizeof reason, "%.*s",
             (int)(e->text_len < REASON_MAX ? e->text_len : REASON_MAX),
             e->text != NULL ? e->text : "");
    if (e->verdict == CLI_VERDICT_ACK && e->text_len <= RESULT_MAX) {
        cli_crew_note_end(why, "");
        return tkl_task_result(e->task, (tkl_bytes){e->text, e->text_len});
    }
    if (e->verdict == CLI_VERDICT_ACK)
        snprintf(reason, sizeof reason, "the result has more than %d MB", RESULT_MAX >> 20);
    cli_crew_note_end(why, reason);
    if (e->verdict == CLI_VERDICT_RELEASE || stopped)
        tkl_task_release(e->task, stopped                           ? 0
                                  : e->delay_ms == CLI_ANSWER_AGAIN ? s->crew->again_ms
                                                                    : e->delay_ms);
    else if (e->verdict == CLI_VERDICT_DEAD)
        tkl_task_dead(e->task, reason);
    else
        tkl_task_fail(e->task, reason);
    return TKL_EIO;
}

int cli_stream_run_job(tkl_task *task, void *stream)
{
    cli_stream *s = stream;
    const tkl_job *job = tkl_task_job(task);
    errand e = {.id = job->id, .task = task};
    int64_t began_ms = cli_now_ms();
    e.message = job_message(s, job, &e.len);
    if (e.message == NULL) {
        cli_crew_note_end(NULL, "no memory for the job");
        tkl_task_release(task, s->crew->again_ms);
        return TKL_ENOMEM;
    }
    atomic_fetch_add(&s->crew->begun, 1);
    pthread_mutex_lock(&s->mutex);
    add_errand(s, &e);
    wake_keeper(s);
    const char *why = await_answer(s, &e, began_ms);
    remove_errand(s, &e);
    pthread_mutex_unlock(&s->mutex);
    int code = judge_errand(s, &e, why);
    free(e.message);
    free(e.text);
    free(e.progress);
    return code;
}

/* ---- The stream ------------------------------------------------------------ */

static void free_stream(cli_stream *s)
{
    cli_close_file(&s->wake);
    cli_close_file(&s->files);
    pthread_cond_destroy(&s->news);
    pthread_mutex_destroy(&s->mutex);
    free(s->notices);
    free(s->answer);
    free(s);
}

int cli_stream_open(cli_crew *crew, const char *const *argv, cli_stream **stream)
{
    pthread_condattr_t monotonic;
    cli_stream *s = calloc(1, sizeof *s);
    *stream = NULL;
    if (s == NULL)
        return cli_end(crew->cli, TKL_ENOMEM);
    s->crew = crew;
    s->argv = argv;
    pthread_mutex_init(&s->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->news, &monotonic);
    pthread_condattr_destroy(&monotonic);
    s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->files = epoll_create1(EPOLL_CLOEXEC);
    int reason = s->wake > 0 && s->files > 0 && watch_file(s, s->wake, EPOLLIN) ? 0 : errno;
    if (reason == 0)
        reason = pthread_create(&s->keeper, NULL, keep_claims, s);
    if (reason == 0) {
        *stream = s;
        return CLI_OK;
    }
    free_stream(s);
    return cli_fail(crew->cli, CLI_FAILURE, "cannot start a thread: %s", strerror(reason));
}

void cli_stream_close(cli_stream *s)
{
    if (s == NULL)
        return;
    pthread_mutex_lock(&s->mutex);
    s->over = true;
    wake_keeper(s);
    pthread_mutex_unlock(&s->mutex);
    pthread_join(s->keeper, NULL);
    free_stream(s);
}
