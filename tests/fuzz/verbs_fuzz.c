/* SPDX-License-Identifier: MIT
 *
 * What verbs make of any replies. The first two bytes choose a line of the examples of all verbs,
 * so a new component is fuzzed by being registered. The others, up to each 0xFF, are what the
 * server says to one request after the other; when there are no more it refuses.
 *
 * With TACKLE_FUZZ_SEEDS=FOLDER it writes an input for every line and each of a few answers into
 * that folder and ends: fuzzing that begins with them leaves no verb out, however short it is.
 *
 * The server is a thread. It closes a connection after each answer, so that an answer that is cut
 * short keeps nobody waiting.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <wordexp.h>

#include "args.h"
#include "out.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* ---- The server ---------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static const uint8_t *answers;
static size_t left;
static char url[128];

static void send_next(int fd)
{
    static const char no[] = "-ERR no more\r\n";
    pthread_mutex_lock(&mutex);
    const uint8_t *end = left > 0 ? memchr(answers, 0xFF, left) : NULL;
    size_t len = end ? (size_t)(end - answers) : left;
    ssize_t sent =
        left > 0 ? send(fd, answers, len, MSG_NOSIGNAL) : send(fd, no, sizeof no - 1, MSG_NOSIGNAL);
    (void)sent; /* the client may have hung up */
    answers += len + (end != NULL);
    left -= len + (end != NULL);
    pthread_mutex_unlock(&mutex);
}

/* The greeting, and one request. */
static void *serve(void *arg)
{
    char request[65536];
    int fd = (int)(intptr_t)arg;
    if (recv(fd, request, sizeof request, 0) > 0 && send(fd, "+OK\r\n", 5, MSG_NOSIGNAL) == 5 &&
        recv(fd, request, sizeof request, 0) > 0)
        send_next(fd);
    close(fd);
    return NULL;
}

static void *accept_all(void *arg)
{
    int listener = (int)(intptr_t)arg;
    for (;;) {
        pthread_t thread;
        int fd = accept(listener, NULL, NULL);
        if (fd >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd) == 0)
            pthread_detach(thread);
    }
    return NULL;
}

static void start_server(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    pthread_t thread;
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "/tmp/tackle-fuzz.%d", (int)getpid());
    unlink(address.sun_path);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 64) != 0 ||
        pthread_create(&thread, NULL, accept_all, (void *)(intptr_t)listener) != 0)
        abort();
    snprintf(url, sizeof url, "unix://%s?timeout=20ms", address.sun_path);
    setenv("TACKLE_URL", url, 1);
}

static void remove_socket(void)
{
    url[strcspn(url, "?")] = '\0';
    unlink(url + strlen("unix://"));
}

/* ---- The lines ----------------------------------------------------------- */

enum { LINES_MAX = 2000, WORDS_MAX = 64 };

typedef struct line {
    char *words[WORDS_MAX];
    int count;
} line;

static line lines[LINES_MAX];
static size_t count;

/* Whether a verb is left out: it needs no server, starts programs, or watches for ever. */
static bool is_spared(const cli_component *component, const char *verb)
{
    static const char *const components[] = {"server", "demo", "cron", "help", "version"};
    static const char *const verbs[] = {"run", "work", "watch", "tail", "register"};
    for (size_t i = 0; i < sizeof components / sizeof *components; i++)
        if (strcmp(component->name, components[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verb, verbs[i]) == 0)
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

/* Copies a word. A lock on several servers is on this one. */
static char *copy_word(const char *word)
{
    return strdup(strncmp(word, "embedded:,", 10) == 0 ? url : word);
}

static void keep_line(const char *text, const cli_verb *verb)
{
    wordexp_t words;
    line *l = &lines[count];
    if (wordexp(text, &words, WRDE_NOCMD) != 0)
        return;
    for (size_t i = 0; i < words.we_wordc && l->count < WORDS_MAX - 4; i++)
        l->words[l->count++] = copy_word(words.we_wordv[i]);
    if (can_wait(verb)) {
        l->words[l->count++] = strdup("--wait");
        l->words[l->count++] = strdup("5ms");
    }
    wordfree(&words);
    count++;
}

/* Adds a line that is one call of tackle. Examples of a verb also show other verbs, so the line
 * itself says which verb it is. Reading it may wipe its passwords, so it is cut twice. */
static void add_line(const char *text)
{
    wordexp_t words;
    cli_session cli = {0};
    if (strncmp(text, "tackle ", 7) != 0 || strpbrk(text, "|<>&;`$(){}") != NULL ||
        count == LINES_MAX || wordexp(text, &words, WRDE_NOCMD) != 0)
        return;
    cli_args_read(&cli, (int)words.we_wordc, words.we_wordv);
    if (cli.verb != NULL && !is_spared(cli.component, cli.verb->name ? cli.verb->name : ""))
        keep_line(text, cli.verb);
    cli_args_free(&cli);
    wordfree(&words);
}

static void add_example(const cli_verb *verb)
{
    char *copy = strdup(verb->example), *rest = copy;
    for (char *text; (text = strsep(&rest, "\n")) != NULL;)
        add_line(text);
    free(copy);
}

static void collect_lines(void)
{
    for (size_t i = 0; cli_components[i] != NULL; i++)
        for (const cli_verb *v = cli_components[i]->verbs; v->run != NULL; v++)
            if (v->example != NULL)
                add_example(v);
}

/* ---- Seeds --------------------------------------------------------------- */

#define LEAST ":-9223372036854775808\r\n"
#define MOST  ":9223372036854775807\r\n"

/* Answers for the seeds. A seed repeats its answer, since a verb may send several requests before
 * it uses a reply. */
static const char *const said[] = {
    "-ERR no\r\n",
    "$-1\r\n",
    ":1\r\n",
    LEAST,
    "$2\r\nok\r\n",
    "*0\r\n",
    "*3\r\n:1\r\n$1\r\n2\r\n*1\r\n:3\r\n",
    "*6\r\n:0\r\n" LEAST MOST LEAST MOST LEAST,
    "*6\r\n:0\r\n" MOST LEAST MOST LEAST MOST,
    "*2\r\n*6\r\n:0\r\n" MOST MOST MOST MOST MOST "*6\r\n:0\r\n" MOST MOST MOST MOST MOST,
    "?\r\n",
    "",
};
enum { SAID = sizeof said / sizeof *said, TIMES = 4 };

static void write_seed(const char *folder, size_t number, size_t answer)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%zu-%zu", folder, number, answer);
    FILE *f = fopen(path, "w");
    if (f == NULL)
        abort();
    fprintf(f, "%c%c", (int)(number >> 8), (int)(number & 0xFF));
    for (int i = 0; i < TIMES; i++)
        fprintf(f, "%s\xFF", said[answer]);
    fclose(f);
}

static void write_seeds(const char *folder)
{
    for (size_t number = 0; number < count; number++)
        for (size_t answer = 0; answer < SAID; answer++)
            write_seed(folder, number, answer);
}

/* ---- Fuzzing ------------------------------------------------------------- */

/* Starts the server and silences the verbs; libFuzzer keeps its own standard error. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    signal(SIGPIPE, SIG_IGN);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    start_server();
    atexit(remove_socket);
    collect_lines();
    if (getenv("TACKLE_FUZZ_SEEDS") != NULL) {
        write_seeds(getenv("TACKLE_FUZZ_SEEDS"));
        exit(0);
    }
    return 0;
}

static void run(const line *l)
{
    char *argv[WORDS_MAX + 1] = {NULL};
    cli_session cli = {0};
    for (int i = 0; i < l->count; i++)
        argv[i] = strdup(l->words[i]); /* it may wipe passwords in place */
    if (cli_args_read(&cli, l->count, argv) == CLI_OK && cli.verb != NULL && !cli.help &&
        cli_args_check(&cli) == CLI_OK)
        cli.verb->run(&cli);
    tkl_close(cli.client);
    cli_flush(&cli);
    cli_args_free(&cli);
    for (int i = 0; i < l->count; i++)
        free(argv[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2 || count == 0)
        return 0;
    pthread_mutex_lock(&mutex);
    answers = data + 2;
    left = size - 2;
    pthread_mutex_unlock(&mutex);
    run(&lines[(data[0] * 256u + data[1]) % count]);
    pthread_mutex_lock(&mutex);
    left = 0;
    pthread_mutex_unlock(&mutex);
    return 0;
}
