/* SPDX-License-Identifier: MIT
 *
 * `tackle queue work`: a worker that runs a command for each job.
 *
 * The library's worker claims, renews and reports. Each of its threads runs one command at a time
 * (queue_job.c). This file handles the start, the signals and the end:
 *
 *     the first signal     no more jobs; those that run go on to their end
 *     the second           children are ended, their jobs handed back without using an attempt
 *     a third, or no end   we die of it; the guard ends what is left
 *
 * A separate thread reads the signals from a pipe, because the main thread waits inside the
 * library. Other reasons to end (a command that cannot be run) go through the same pipe.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <wordexp.h>

#include "child.h"
#include "clock.h"
#include "program.h"
#include "queue_stream.h"

enum {
    THREADS_MAX = 1000,
    BATCH_MAX = 1000,
    GRACE_MS = 5000,
    AGAIN_MS = 5000,
    POST_TIMEOUT_MS = 30000,
    PATIENCE_MS = 10000, /* time from the second signal to our end */
    SILENCE_MS = 30000,  /* the same trouble is reported again after this long */
    OVER = 0,            /* news: the work has ended */
    ENOUGH = 127,        /* news: stop like after the first signal; no signal has this number */
};

static int news[2] = {-1, -1};

/* ---- News ---------------------------------------------------------------- */

static void send_news(int what)
{
    char byte = (char)what;
    ssize_t n = write(news[1], &byte, 1);
    (void)n; /* a full pipe has enough signals */
}

void cli_crew_give_up(cli_crew *crew, int exit)
{
    int none = 0;
    atomic_compare_exchange_strong(&crew->trouble, &none, exit);
    send_news(ENOUGH);
}

static void on_signal(int number)
{
    int reason = errno;
    send_news(number);
    errno = reason;
}

static void catch_signals(void)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, old;
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(ending[i], &action, NULL);
}

/* ---- Listening ----------------------------------------------------------- */

/* Waits for the next signal or news; -1: none in time. */
static int next_news(int timeout_ms)
{
    struct pollfd file = {.fd = news[0], .events = POLLIN};
    char what;
    int ready;
    while ((ready = poll(&file, 1, timeout_ms)) < 0 && errno == EINTR)
        ;
    return ready > 0 && read(news[0], &what, 1) == 1 ? what : -1;
}

static void die_of(int number)
{
    signal(number, SIG_DFL);
    kill(getpid(), number);
}

static void stop_kindly(cli_crew *crew, int number)
{
    crew->signals = 1;
    crew->signal = number;
    tkl_worker_quit(crew->worker);
    cli_crew_say(crew, "no more jobs; what runs goes on to its end. Once more: now");
}

static void stop_now(cli_crew *crew, int number)
{
    crew->signals = 2;
    crew->signal = number;
    atomic_store(&crew->now, true);
    tkl_worker_stop(crew->worker, 0);
}

static void *listen_to_news(void *arg)
{
    cli_crew *crew = arg;
    int what;
    while ((what = next_news(crew->signals < 2 ? -1 : PATIENCE_MS)) != OVER)
        if (what == ENOUGH)
            tkl_worker_quit(crew->worker);
        else if (crew->signals == 0)
            stop_kindly(crew, what);
        else if (crew->signals == 1)
            stop_now(crew, what);
        else
            die_of(crew->signal);
    return NULL;
}

/* ---- Hooks of the worker ------------------------------------------------- */

/* The last trouble that was reported; empty when there is none. */
static struct {
    pthread_mutex_t mutex;
    char words[256];
    int64_t said_ms;
} trouble = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Reports trouble once for a while: a server that is down would be reported again and again. */
static bool is_new_trouble(const char *words)
{
    pthread_mutex_lock(&trouble.mutex);
    bool is_new = strncmp(trouble.words, words, sizeof trouble.words - 1) != 0 ||
                  cli_now_ms() - trouble.said_ms > SILENCE_MS;
    if (is_new) {
        snprintf(trouble.words, sizeof trouble.words, "%s", words);
        trouble.said_ms = cli_now_ms();
    }
    pthread_mutex_unlock(&trouble.mutex);
    return is_new;
}

/* Ends the trouble. Returns whether there was any. */
static bool end_of_trouble(void)
{
    pthread_mutex_lock(&trouble.mutex);
    bool was = trouble.words[0] != '\0';
    trouble.words[0] = '\0';
    pthread_mutex_unlock(&trouble.mutex);
    return was;
}

static void on_error(int code, const char *message, void *arg)
{
    cli_crew *crew = arg;
    const char *words = *message != '\0' ? message : tkl_strerror(code);
    bool ends = cli_flag(crew->cli, "once") || cli_flag(crew->cli, "drain");
    bool hopeless = ends && !tkl_is_transient(code);
    if (is_new_trouble(words) || hopeless)
        cli_crew_say(crew, "%s%s", words, hopeless ? "" : "; trying again");
    if (hopeless)
        cli_crew_give_up(crew, cli_exit_of(code));
}

/* Also reports renewals that failed and connections that broke. */
static void on_event(const tkl_client_event *event, void *arg)
{
    cli_crew *crew = arg;
    if (!atomic_load(&crew->working))
        return;
    if (event->type == TKL_EVENT_LOST || event->type == TKL_EVENT_RENEWAL_FAILED)
        on_error(event->code, event->text, crew);
    else if (event->type == TKL_EVENT_CONNECTED && end_of_trouble())
        cli_crew_say(crew, "connected again to %s", event->server);
}

/* ---- Options ------------------------------------------------------------- */

static int read_options(const cli_session *cli, cli_crew *crew, tkl_worker_options *options)
{
    int64_t threads = cli_number(cli, "threads", 1), batch = cli_number(cli, "batch", 0);
    bool once = cli_flag(cli, "once");
    if (threads < 1 || threads > THREADS_MAX)
        return cli_usage(cli, "invalid --threads: 1 to %d", THREADS_MAX);
    if (batch < 0 || batch > BATCH_MAX)
        return cli_usage(cli, "invalid --batch: 0 to %d", BATCH_MAX);
    if (once && cli_flag(cli, "drain"))
        return cli_usage(cli, "either --once or --drain");
    if (cli_flag(cli, "wait") && !once)
        return cli_usage(cli, "--wait is for --once");
    static const char *const no_stream[] = {"result", "tag", "group"};
    for (size_t i = 0; i < sizeof no_stream / sizeof *no_stream; i++)
        if (cli_flag(cli, "stream") && cli_flag(cli, no_stream[i]))
            return cli_usage(cli, "either --stream or --%s", no_stream[i]);
    crew->grace_ms = cli_number(cli, "grace", GRACE_MS);
    crew->again_ms = cli_number(cli, "again", AGAIN_MS);
    *options = (tkl_worker_options){
        .threads = once ? 1 : (int)threads,
        .label = tkl_str(cli_text(cli, "label", "")),
        .prefetch = once ? 0 : (int)batch,
        .lease_ms = cli_number(cli, "lease", 0),
        .drain = cli_flag(cli, "drain") || (once && !cli_flag(cli, "wait")),
        .max_jobs = once,
        .on_end = cli_crew_on_end,
        .on_error = on_error,
        .on_damaged = cli_crew_on_damaged,
        .arg = crew,
    };
    return CLI_OK;
}

/* ---- The commands -------------------------------------------------------- */

enum { ON_MAX = 100 };

/* The commands of --on KIND=COMMAND. */
typedef struct on_list {
    size_t count;
    tkl_kind_handler kinds[ON_MAX];
    cli_crew_command commands[ON_MAX];
    wordexp_t words[ON_MAX];
} on_list;

static void free_on(on_list *on)
{
    for (size_t i = 0; i < on->count; i++)
        wordfree(&on->words[i]);
}

/* Splits COMMAND into words as a shell does, with quotes and variables, without running anything.
 */
static int read_on(const cli_session *cli, cli_crew *crew, const char *text, on_list *on)
{
    size_t n = on->count;
    const char *command = strchr(text, '=');
    if (n == ON_MAX)
        return cli_usage(cli, "at most %d times --on", ON_MAX);
    if (command == NULL || command == text)
        return cli_usage(cli, "invalid --on '%s': KIND=COMMAND", text);
    int wrong = wordexp(command + 1, &on->words[n], WRDE_NOCMD);
    if (wrong == WRDE_NOSPACE)
        return cli_end(cli, TKL_ENOMEM);
    if (wrong != 0)
        return cli_usage(cli,
                         "invalid --on '%s': a program and its arguments, with quotes as in a "
                         "shell; for more, name a script, or sh -c '...'",
                         text);
    on->commands[n] = (cli_crew_command){crew, (const char *const *)on->words[n].we_wordv};
    on->kinds[n] = (tkl_kind_handler){.kind = {text, (size_t)(command - text)},
                                      .handler = cli_crew_run_job,
                                      .arg = &on->commands[n]};
    on->count++;
    if (on->words[n].we_wordc == 0)
        return cli_usage(cli, "invalid --on '%s': no command", text);
    return cli_child_check(cli, on->commands[n].argv[0]);
}

static int read_commands(const cli_session *cli, cli_crew *crew, on_list *on)
{
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < cli->ngiven; i++)
        if (strcmp(cli->given[i].option->name, "on") == 0)
            failed = read_on(cli, crew, cli->given[i].text, on);
    if (failed)
        return failed;
    if (cli_flag(cli, "stream") && (on->count > 0 || cli->before_dashes < 0))
        return cli_usage(cli, "--stream has one command, after --");
    if (cli->before_dashes >= 0)
        return cli_child_check(cli, cli->argv[cli->before_dashes]);
    return on->count > 0 ? CLI_OK
                         : cli_usage(cli, "which command? write NAME... -- COMMAND [ARG...], with "
                                          "the dashes, or --on KIND=COMMAND");
}

/* ---- Posting ------------------------------------------------------------- */

static const char post_program[] = "tackle-post";

/* With --post jobs go by HTTP: the command of the stream is a program of our own. */
static int check_post(const cli_session *cli)
{
    const char *url = cli_text(cli, "post", NULL);
    if (url == NULL)
        return cli_flag(cli, "header") || cli_flag(cli, "post-timeout")
                   ? cli_usage(cli, "--header and --post-timeout are for --post")
                   : CLI_OK;
    if (strncasecmp(url, "http://", 7) != 0 && strncasecmp(url, "https://", 8) != 0)
        return cli_usage(cli, "invalid --post: a URL that begins with http:// or https://");
    static const char *const others[] = {"stream", "on", "result", "tag", "group"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cli_flag(cli, others[i]))
            return cli_usage(cli, "either --post or --%s", others[i]);
    return cli->before_dashes < 0 ? CLI_OK : cli_usage(cli, "either --post or a command");
}

/* Makes the command that posts. Free it with free_post_command(). */
static int make_post_command(const cli_session *cli, const char ***words)
{
    char *path = NULL, *timeout = NULL;
    size_t count = 0;
    int failed = cli_find_program(cli, post_program, &path);
    if (failed)
        return failed;
    *words = calloc(2 * cli->ngiven + 5, sizeof **words);
    if (*words == NULL ||
        asprintf(&timeout, "%" PRId64, cli_number(cli, "post-timeout", POST_TIMEOUT_MS)) < 0) {
        free(*words);
        free(path);
        return cli_end(cli, TKL_ENOMEM);
    }
    (*words)[count++] = path;
    (*words)[count++] = "--timeout-ms";
    (*words)[count++] = timeout;
    for (size_t i = 0; i < cli->ngiven; i++)
        if (strcmp(cli->given[i].option->name, "header") == 0) {
            (*words)[count++] = "--header";
            (*words)[count++] = cli->given[i].text;
        }
    (*words)[count] = cli_text(cli, "post", NULL);
    return CLI_OK;
}

static void free_post_command(const char **words)
{
    if (words == NULL)
        return;
    free((char *)words[0]);
    free((char *)words[2]);
    free(words);
}

/* ---- The end ------------------------------------------------------------- */

static void print_summary(cli_crew *crew, const tkl_worker_stats *s)
{
    if (!isatty(STDERR_FILENO))
        return;
    if (s->dead == 0)
        cli_crew_say(crew, "%" PRIu64 " done, %" PRIu64 " failed", s->done, s->failed);
    else
        cli_crew_say(crew, "%" PRIu64 " done, %" PRIu64 " failed, %" PRIu64 " to the dead letters",
                     s->done, s->failed, s->dead);
}

/* Why ready jobs of a queue were not claimed. */
static const char *what_holds(const tkl_queue_stats *stats, const tkl_queue_limits *limits)
{
    if (stats->paused)
        return "is paused, with";
    if (limits->concurrency > 0 || limits->rate > 0)
        return "has reached a limit, with";
    return "has new jobs:";
}

static int check_queue(cli_session *cli, tkl_queue *queue, const char *name)
{
    tkl_queue_stats stats;
    tkl_queue_limits limits;
    int failed = cli_end(cli, tkl_queue_stats_get(queue, &stats));
    if (failed || stats.ready == 0)
        return failed;
    failed = cli_end(cli, tkl_queue_limits_get(queue, &limits));
    return failed ? failed
                  : cli_no(cli, TKL_BUSY, "%s %s %" PRId64 " ready", name,
                           what_holds(&stats, &limits), stats.ready);
}

/* With --drain, reports ready jobs that could not be claimed. */
static int check_left(cli_session *cli, const cli_crew *crew)
{
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < crew->count; i++)
        failed = check_queue(cli, crew->queues[i], cli->argv[i]);
    return failed;
}

/* The exit code. With --once and --drain it says whether all jobs were done; SIGTERM is a normal
 * end. */
static int end_of(cli_session *cli, const cli_crew *crew, const tkl_worker_stats *s)
{
    if (crew->trouble != 0)
        return crew->trouble;
    if (crew->signals > 1 || (crew->signals == 1 && crew->signal != SIGTERM))
        return cli_end_of_signal(cli, crew->signal);
    bool ends = cli_flag(cli, "once") || cli_flag(cli, "drain");
    if (cli_flag(cli, "drain") && crew->signals == 0) {
        int failed = check_left(cli, crew);
        if (failed)
            return failed;
    }
    if (cli_flag(cli, "once") && crew->signals == 0 && crew->begun == 0)
        return cli_no(cli, TKL_EMPTY, "no job");
    return ends && s->failed + s->released + s->lost > 0
               ? cli_answered_no(cli, TKL_DEAD, "not all jobs were done")
               : CLI_OK;
}

static void wait_for_end(const cli_session *cli, cli_crew *crew)
{
    if (cli_flag(cli, "wait") &&
        tkl_worker_wait(crew->worker, cli_number(cli, "wait", 0)) == TKL_BUSY)
        tkl_worker_quit(crew->worker);
    while (tkl_worker_wait(crew->worker, -1) == TKL_BUSY)
        ;
}

/* ---- The verb ------------------------------------------------------------ */

/* Starts the worker: with a stream, with a command for each job, or with one for each kind. */
static int start_worker(cli_session *cli, cli_crew *crew, const cli_crew_command *command,
                        cli_stream *stream, const tkl_worker_options *options)
{
    tkl_handler *handler = stream != NULL          ? cli_stream_run_job
                           : command->argv != NULL ? cli_crew_run_job
                                                   : cli_crew_refuse_job;
    void *arg = stream != NULL          ? (void *)stream
                : command->argv != NULL ? (void *)command
                                        : (void *)crew;
    return cli_end(
        cli, tkl_worker_start(crew->queues, crew->count, handler, arg, options, &crew->worker));
}

static int run_crew(cli_session *cli, cli_crew *crew, const tkl_worker_options *options)
{
    pthread_t listener;
    tkl_worker_stats stats;
    cli_stream *stream = NULL;
    cli_crew_command command = {crew, crew->argv};
    int failed = crew->streams ? cli_stream_open(crew, crew->argv, &stream) : CLI_OK;
    if (!failed)
        failed = start_worker(cli, crew, &command, stream, options);
    if (failed) {
        cli_stream_close(stream);
        return failed;
    }
    catch_signals();
    int reason = pthread_create(&listener, NULL, listen_to_news, crew);
    if (reason == 0)
        wait_for_end(cli, crew);
    tkl_worker_stats_get(crew->worker, &stats);
    if (reason != 0)
        tkl_worker_close(crew->worker);
    cli_stream_close(stream);
    if (reason != 0)
        return cli_fail(cli, CLI_FAILURE, "cannot start a thread: %s", strerror(reason));
    send_news(OVER);
    pthread_join(listener, NULL);
    tkl_worker_close(crew->worker);
    print_summary(crew, &stats);
    return end_of(cli, crew, &stats);
}

/* A worker waits for a server that went down; a server that never answered is reported as a
 * mistake. */
static int check_server(const cli_session *cli, cli_crew *crew)
{
    tkl_queue_stats stats;
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < crew->count; i++)
        failed = cli_end(cli, tkl_queue_stats_get(crew->queues[i], &stats));
    return failed;
}

static int run_workers(cli_session *cli, cli_crew *crew, const tkl_worker_options *options)
{
    pthread_sigmask(SIG_SETMASK, NULL, &crew->mask);
    if (pipe2(news, O_CLOEXEC | O_NONBLOCK) != 0)
        return cli_fail(cli, CLI_FAILURE, "cannot make a pipe: %s", strerror(errno));
    cli->on_event = on_event;
    cli->event_arg = crew;
    int failed = cli_queue_open_all(cli, crew->count, &crew->queues);
    if (!failed)
        failed = check_server(cli, crew);
    atomic_store(&crew->working, !failed);
    if (!failed)
        failed = run_crew(cli, crew, options);
    cli_queue_close_all(crew->queues, crew->count);
    return failed;
}

int cli_queue_work(cli_session *cli)
{
    cli_crew crew = {
        .cli = cli,
        .count = (size_t)(cli->before_dashes >= 0 ? cli->before_dashes : cli->argc),
    };
    const char **post = NULL;
    tkl_worker_options options;
    on_list on = {0};
    int failed = read_options(cli, &crew, &options);
    if (!failed)
        failed = check_post(cli);
    if (!failed && cli_flag(cli, "post"))
        failed = make_post_command(cli, &post);
    else if (!failed)
        failed = read_commands(cli, &crew, &on);
    crew.streams = cli_flag(cli, "stream") || post != NULL;
    crew.argv = post != NULL              ? post
                : cli->before_dashes >= 0 ? &cli->argv[cli->before_dashes]
                                          : NULL;
    options.kinds = on.kinds;
    options.kind_count = on.count;
    if (!failed)
        failed = run_workers(cli, &crew, &options);
    free_on(&on);
    free_post_command(post);
    return failed;
}
