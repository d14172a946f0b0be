/* SPDX-License-Identifier: MIT
 *
 * Every verb of every component against a server that has one answer for everything, as a broken
 * proxy may have: 0, nil, an empty array, OK. A verb ends in time, or waits as it was told to, and
 * sends few requests meanwhile. A loop that asks again because of what a reply says, and neither
 * gets on nor pauses, sends ten thousand a second.
 *
 * The test runs the examples of the verbs, so a new verb is tested by being registered. Each run is
 * a process of its own, and several answers are tried at once. A verb gets every third answer,
 * beginning at another one for each verb; with TACKLE_STRESS, or SENSELESS_ONLY=queue for one
 * component, it gets all of them.
 *
 * ctest: cost 30
 */
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#include "args.h"
#include "out.h"
#include "support/fake.h"
#include "support/test.h"

/* How many requests a verb may send: a verb that waits for 100 ms pauses between two requests. */
#define REQUESTS_MAX 600
/* Every request after this many is refused, so that even an endless loop ends. */
#define REQUESTS_END 5000
/* How long a verb that has no end is watched. */
#define ENDLESS_S 1
/* How long a verb that has an end may take before it is killed, even on a busy machine. */
#define PATIENCE_S 30

enum { WORDS_MAX = 64, LINES_MAX = 8 };

static const char *const answers[] = {
    ":0\r\n",
    ":1\r\n",
    ":-1\r\n",
    ":9223372036854775807\r\n",
    "$-1\r\n",
    "$0\r\n\r\n",
    "$1\r\n0\r\n",
    "+OK\r\n",
    "$5\r\nagain\r\n",
    "*-1\r\n",
    "*0\r\n",
    "*1\r\n:0\r\n",
    "*1\r\n$5\r\nagain\r\n",
    "*2\r\n:0\r\n:0\r\n",
    "*2\r\n$1\r\n7\r\n*0\r\n",
    "*2\r\n$1\r\n7\r\n*1\r\n$1\r\nx\r\n",
    "*3\r\n:1\r\n:1\r\n:1\r\n",
    "*5\r\n$1\r\n1\r\n:0\r\n$0\r\n\r\n*0\r\n:0\r\n",
    "*8\r\n:0\r\n:0\r\n:0\r\n*0\r\n*0\r\n*0\r\n*0\r\n*0\r\n",
    "-ERR no\r\n",
    "-NOSCRIPT no\r\n",
    "-ERR Function not found\r\n",
    "-LOADING not yet\r\n",
};

/* ---- The server ---------------------------------------------------------- */

typedef struct parrot {
    const char *answer;
    bool subscribes; /* answers SSUBSCRIBE as a server does */
    atomic_int requests;
} parrot;

/* "SSUBSCRIBE channel channel..." */
static void confirm_channels(fake_conn *c, const char *command)
{
    char *copy = strdup(command), *rest = copy;
    strsep(&rest, " ");
    for (char *channel; (channel = strsep(&rest, " ")) != NULL;) {
        char *text = test_format("*3\r\n$10\r\nssubscribe\r\n$%zu\r\n%s\r\n:1\r\n", strlen(channel),
                                 channel);
        fake_sendz(c, text);
        free(text);
    }
    free(copy);
}

static void say_the_same(fake_conn *c, void *arg)
{
    parrot *p = arg;
    for (const char *command; (command = fake_expect(c)) != NULL;) {
        bool enough = atomic_fetch_add(&p->requests, 1) >= REQUESTS_END;
        if (p->subscribes && strncmp(command, "SSUBSCRIBE ", 11) == 0)
            confirm_channels(c, command);
        else
            fake_sendz(c, enough ? "-ERR enough\r\n" : p->answer);
    }
}

/* ---- The lines of an example --------------------------------------------- */

typedef struct line {
    char *words[WORDS_MAX + 1];
    int count;
} line;

static bool is_spared(const cli_component *component)
{
    static const char *const spared[] = {"server", "demo", "lab", "cron", "help", "version"};
    const char *only = getenv("SENSELESS_ONLY");
    if (only != NULL)
        return strcmp(only, component->name) != 0;
    for (size_t i = 0; i < sizeof spared / sizeof *spared; i++)
        if (strcmp(spared[i], component->name) == 0)
            return true;
    return false;
}

static bool has_word(const line *l, const char *word)
{
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->words[i], word) == 0)
            return true;
    return false;
}

static bool can_wait(const cli_verb *verb)
{
    for (const cli_option *o = verb->options; o != NULL && o->name != NULL; o++)
        if (strcmp(o->name, "wait") == 0)
            return true;
    return false;
}

/* Whether a verb runs until it is ended from outside. */
static bool is_endless(const cli_verb *verb, const line *l)
{
    static const char *const names[] = {"watch", "tail", "register", "work", "receive"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (verb->name != NULL && strcmp(verb->name, names[i]) == 0)
            return !has_word(l, "--once") && !has_word(l, "--drain");
    return has_word(l, "--follow");
}

/* Whether a call waits for ever: a sender of files waits for a server that loads its data. */
static bool waits_for_server(const line *l, const char *answer)
{
    return strncmp(answer, "-LOADING", 8) == 0 && has_word(l, "files") &&
           (has_word(l, "send") || has_word(l, "end"));
}

/* Replaces words: waits are short here, and a lock on several servers is on this one. */
static const char *fit_word(const line *l, const char *word)
{
    static const char *const durations[] = {"--wait", "--every", "--lease"};
    for (size_t i = 0; l->count > 0 && i < sizeof durations / sizeof *durations; i++)
        if (strcmp(l->words[l->count - 1], durations[i]) == 0)
            return strcmp(durations[i], "--wait") == 0 ? "100ms" : "1s";
    return strncmp(word, "embedded:,", 10) == 0 ? "$URL" : word;
}

/* Puts a word in place of each output of another command. */
static void fill_in(char *text)
{
    for (char *at; (at = strstr(text, "$(")) != NULL;) {
        size_t len = 2;
        for (int depth = 1; depth > 0 && at[len] != '\0'; len++)
            depth += (at[len] == '(') - (at[len] == ')');
        memset(at, 'x', len);
    }
}

/* The length of a call, up to a pipe or another sign of the shell. */
static size_t length_of_call(const char *text)
{
    char quote = '\0';
    size_t len = 0;
    for (; text[len] != '\0' && (quote || !strchr("|<>&;`(){}\n", text[len])); len++)
        if (text[len] == quote)
            quote = '\0';
        else if (!quote && (text[len] == '\'' || text[len] == '"'))
            quote = text[len];
    return len;
}

/* Reads the words of a call. A command that the call would run becomes `true`. */
static void read_line(line *l, const cli_verb *verb, const char *text)
{
    wordexp_t words;
    char *copy = strdup(text);
    fill_in(copy);
    copy[length_of_call(copy)] = '\0';
    setenv("target", "x", 1);
    l->count = 0;
    if (wordexp(copy, &words, WRDE_NOCMD) == 0) {
        for (size_t i = 0; i < words.we_wordc && l->count < WORDS_MAX - 4; i++) {
            if (strcmp(words.we_wordv[i], "--") == 0)
                break;
            l->words[l->count] = strdup(fit_word(l, words.we_wordv[i]));
            l->count++;
        }
        bool runs = l->count < (int)words.we_wordc;
        if (can_wait(verb) && !has_word(l, "--wait") && !has_word(l, "--drain")) {
            l->words[l->count++] = strdup("--wait");
            l->words[l->count++] = strdup("100ms");
        }
        if (runs) {
            l->words[l->count++] = strdup("--");
            l->words[l->count++] = strdup("true");
        }
        wordfree(&words);
    }
    l->words[l->count] = NULL;
    free(copy);
}

/* "\" at the end of a line joins it with the next. */
static char *join_lines(const char *text)
{
    char *copy = strdup(text);
    for (char *at; (at = strstr(copy, "\\\n")) != NULL;)
        at[0] = at[1] = ' ';
    return copy;
}

/* Reads the calls of this verb from its example, which may also call other verbs. */
static int read_example(const cli_component *component, const cli_verb *verb, line lines[LINES_MAX])
{
    int count = 0;
    char *call = verb->name != NULL ? test_format("tackle %s %s", component->name, verb->name)
                                    : test_format("tackle %s", component->name);
    char *text = join_lines(verb->example);
    for (const char *at = text; count < LINES_MAX && (at = strstr(at, call)) != NULL; at++) {
        read_line(&lines[count], verb, at);
        count += lines[count].count > 0;
    }
    free(text);
    free(call);
    return count;
}

/* ---- A run --------------------------------------------------------------- */

/* Runs the command in this process. Reads the URL, which is there once the server is. */
static void be_command(const line *l, int urls, const char *dir)
{
    char url[256] = "";
    if (read(urls, url, sizeof url - 1) <= 0 || chdir(dir) != 0)
        _exit(127);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int log = open("log", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    dup2(null, 0);
    dup2(log, 1);
    dup2(log, 2);
    setenv("TACKLE_URL", url, 1);
    setenv("HOME", dir, 1);
    setenv("XDG_DATA_HOME", dir, 1);
    signal(SIGPIPE, SIG_IGN);
    cli_session cli = {0};
    char *argv[WORDS_MAX + 1];
    for (int i = 0; i <= l->count; i++)
        argv[i] = l->words[i] != NULL && strcmp(l->words[i], "$URL") == 0 ? url : l->words[i];
    int failed = cli_args_read(&cli, l->count, argv);
    if (!failed && cli.verb != NULL && !(failed = cli_args_check(&cli)))
        failed = cli.verb->run(&cli);
    tkl_close(cli.client);
    cli_flush(&cli);
    _exit(failed);
}

static void show_line(const line *l, const char *what, const parrot *p)
{
    char *text = test_format("%s", "");
    for (int i = 0; i < l->count; i++) {
        char *longer = test_format("%s %s", text, l->words[i]);
        free(text);
        text = longer;
    }
    fprintf(stderr, "\n%s:%s\neach answered by%s\n%s", what, text,
            p->subscribes ? " (subscriptions work)" : "", p->answer);
    free(text);
}

/* Returns the signal that ended the command, 0 when it ended by itself. */
static int await_end(pid_t command, int64_t seconds)
{
    int status = 0;
    int64_t until = test_now_ms() + seconds * 1000;
    pid_t ended;
    while ((ended = waitpid(command, &status, WNOHANG)) == 0 && test_now_ms() < until)
        test_sleep_ms(5);
    if (ended == 0) {
        kill(-command, SIGKILL);
        waitpid(command, &status, 0);
    }
    kill(-command, SIGKILL); /* processes left behind */
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* Starts the command before there are threads in this process: fork() would not copy them. */
static int try_line(const line *l, bool endless, parrot *p)
{
    int urls[2], failures = 0;
    char dir[64];
    test_make_dir(dir, sizeof dir);
    assert_int_equal(pipe(urls), 0);
    pid_t command = fork();
    if (command == 0) {
        setpgid(0, 0);
        be_command(l, urls[0], dir);
    }
    assert_true(command > 0);
    setpgid(command, command);
    fake *f = fake_start(say_the_same, p);
    char *url = test_format("%s?timeout=100ms", fake_url(f));
    assert_true(write(urls[1], url, strlen(url)) > 0);
    int ended_by = await_end(command, endless ? ENDLESS_S : PATIENCE_S);
    int requests = atomic_load(&p->requests);
    if (requests > REQUESTS_MAX) {
        char *what = test_format("%d requests", requests);
        show_line(l, what, p);
        free(what);
        failures++;
    }
    if (ended_by != 0 && !(endless && ended_by == SIGKILL)) {
        show_line(l, ended_by == SIGKILL ? "did not end" : "crashed", p);
        failures++;
    }
    fake_end(f);
    free(url);
    return failures;
}

static bool is_tried(size_t answer, int verb)
{
    bool all = getenv("TACKLE_STRESS") != NULL || getenv("SENSELESS_ONLY") != NULL;
    return all || (answer + (size_t)verb) % 3 == 0;
}

/* Tries several answers at once, each in a process of its own: most of the time is spent
 * waiting. */
static int try_answers(const line *l, bool endless, bool subscribes, int verb)
{
    enum { COUNT = sizeof answers / sizeof *answers };
    pid_t children[COUNT] = {0};
    int failures = 0, status;
    for (size_t i = 0; i < COUNT; i++) {
        if (!is_tried(i, verb))
            continue;
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            parrot p = {.answer = answers[i], .subscribes = subscribes};
            exit(try_line(l, endless || waits_for_server(l, answers[i]), &p));
        }
    }
    for (size_t i = 0; i < COUNT; i++)
        failures +=
            children[i] > 0 && (waitpid(children[i], &status, 0) != children[i] || status != 0);
    return failures;
}

static int try_verb(const cli_component *component, const cli_verb *verb, int *tried)
{
    line lines[LINES_MAX];
    int failures = 0, count = read_example(component, verb, lines);
    if (count == 0) {
        fprintf(stderr, "no line to try: tackle %s %s\n", component->name, verb->name);
        failures++;
    }
    for (int i = 0; i < count; i++) {
        bool endless = is_endless(verb, &lines[i]);
        if (i == 0 || endless != is_endless(verb, &lines[0])) {
            failures += try_answers(&lines[i], endless, false, *tried);
            if (endless || can_wait(verb))
                failures += try_answers(&lines[i], endless, true, *tried + 1);
            ++*tried;
        }
    }
    for (int i = 0; i < count; i++)
        for (int word = 0; word < lines[i].count; word++)
            free(lines[i].words[word]);
    return failures;
}

static void no_verb_floods_a_server_whose_answers_make_no_sense(void **state)
{
    (void)state;
    int failures = 0, tried = 0;
    unsetenv("TACKLE_PASSWORD");
    for (size_t i = 0; cli_components[i] != NULL; i++)
        for (const cli_verb *v = cli_components[i]->verbs; v->run != NULL; v++)
            if (!is_spared(cli_components[i]) && v->example != NULL)
                failures += try_verb(cli_components[i], v, &tried);
    assert_true(tried > 0);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_verb_floods_a_server_whose_answers_make_no_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
