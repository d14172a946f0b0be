/* SPDX-License-Identifier: MIT */
#include "support/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/server.h"
#include "support/certs.h"
#include "support/test.h"

#define START_MS 20000 /* a loaded machine under a sanitizer is slow, not broken */

struct server_private {
    server_options options; /* config and password are copies */
    pthread_mutex_t mutex;  /* guards what follows */
    redisContext *control;  /* NULL: not connected */
    int64_t asked;          /* commands that were sent over it */
};

const char *server_program(void)
{
    const char *program = getenv("TACKLE_TEST_SERVER");
    return program != NULL && *program != '\0' ? program : "redis-server";
}

/* ---- Ports --------------------------------------------------------------- */

static bool port_is_free(int port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bool is_free = bind(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0;
    close(fd);
    return is_free;
}

/* Picks a port below the ephemeral range, so that no outgoing connection takes it meanwhile, and at
 * random, so that test programs that run at the same time hardly ever want the same one. */
int server_free_port(void)
{
    for (;;) {
        uint16_t dice = 0;
        assert_int_equal(getentropy(&dice, sizeof(dice)), 0);
        int port = 10000 + dice % 12000;
        if (port_is_free(port) && port_is_free(port + 10000))
            return port;
    }
}

/* ---- Configuration ------------------------------------------------------- */

static void write_tls_config(FILE *out, const server *s)
{
    const certs *files = certs_get();
    fprintf(out, "tls-port %d\ntls-cert-file %s\ntls-key-file %s\ntls-ca-cert-file %s\n",
            s->tls_port, files->server_cert, files->server_key, files->ca);
    fprintf(out, "tls-auth-clients %s\n", s->private->options.tls_clients ? "yes" : "no");
}

static void write_config(const server *s)
{
    const server_options *options = &s->private->options;
    char *path = test_format("%s/redis.conf", s->dir);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fprintf(out, "port %d\nbind 127.0.0.1\nunixsocket %s\ndir %s\nlogfile %s/log\n", s->port,
            s->socket, s->dir, s->dir);
    if (!options->sentinel)
        fputs("save \"\"\nenable-debug-command yes\nrepl-diskless-sync-delay 0\n", out);
    if (options->tls)
        write_tls_config(out, s);
    if (options->password != NULL)
        fprintf(out, "requirepass \"%s\"\n", options->password);
    for (const char *const *line = options->config; line != NULL && *line != NULL; line++)
        fprintf(out, "%s\n", *line);
    assert_int_equal(fclose(out), 0);
    free(path);
}

static void choose_ports(server *s)
{
    const server_options *options = &s->private->options;
    if (options->tcp) {
        s->port = server_free_port();
        snprintf(s->tcp_url, sizeof(s->tcp_url), "redis://127.0.0.1:%d", s->port);
    }
    if (options->tls) {
        s->tls_port = server_free_port();
        snprintf(s->tls_url, sizeof(s->tls_url), "rediss://localhost:%d", s->tls_port);
    }
}

static void add_line(server_options *options, const char *line)
{
    size_t count = 0;
    while (options->config != NULL && options->config[count] != NULL)
        count++;
    char **lines = realloc((void *)options->config, (count + 2) * sizeof(char *));
    assert_non_null(lines);
    lines[count] = strdup(line);
    lines[count + 1] = NULL;
    options->config = (const char *const *)lines;
}

static void copy_options(server_options *to, const server_options *from)
{
    *to = *from;
    to->config = NULL;
    if (from->password != NULL)
        to->password = strdup(from->password);
    for (const char *const *line = from->config; line != NULL && *line != NULL; line++)
        add_line(to, *line);
}

void server_configure(server *s, const char *line)
{
    add_line(&s->private->options, line);
}

static void free_options(server_options *options)
{
    for (const char *const *line = options->config; line != NULL && *line != NULL; line++)
        free((char *)*line);
    free((void *)options->config);
    free((char *)options->password);
}

/* ---- The process --------------------------------------------------------- */

static void become_server(const server *s, pid_t parent, const char *config, int log)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    dup2(log, 1);
    dup2(log, 2);
    if (s->private->options.sentinel)
        execlp(server_program(), "tackle-test", config, "--sentinel", (char *)NULL);
    else
        execlp(server_program(), "tackle-test", config, (char *)NULL);
    dprintf(2, "%s: %s\n", server_program(), strerror(errno));
    _exit(127);
}

static void spawn(server *s)
{
    char *config = test_format("%s/redis.conf", s->dir);
    char *log_path = test_format("%s/log", s->dir);
    int log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    assert_true(log >= 0);
    pid_t parent = getpid();
    s->pid = fork();
    if (s->pid == 0)
        become_server(s, parent, config, log);
    assert_true(s->pid > 0);
    close(log);
    free(log_path);
    free(config);
}

static void show_log(const server *s)
{
    char *command = test_format("tail -n 20 %s/log >&2", s->dir);
    if (system(command) != 0)
        print_error("%s has no log\n", s->dir);
    free(command);
}

/* Waits for the process to end by itself. */
static bool gone_within(server *s, int64_t ms)
{
    for (int64_t until = test_now_ms() + ms;; test_sleep_ms(1)) {
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
            s->pid = 0;
            return true;
        }
        if (test_now_ms() > until)
            return false;
    }
}

static void disconnect(server *s)
{
    pthread_mutex_lock(&s->private->mutex);
    if (s->private->control != NULL)
        redisFree(s->private->control);
    s->private->control = NULL;
    s->private->asked = 0;
    pthread_mutex_unlock(&s->private->mutex);
}

void server_kill(server *s)
{
    disconnect(s);
    if (s->pid == 0)
        return;
    kill(s->pid, SIGKILL);
    waitpid(s->pid, NULL, 0);
    s->pid = 0;
}

void server_shutdown(server *s)
{
    disconnect(s);
    kill(s->pid, SIGTERM);
    if (!gone_within(s, START_MS)) {
        show_log(s);
        fail_msg("the server does not shut down");
    }
}

void server_freeze(server *s)
{
    int status;
    kill(s->pid, SIGSTOP);
    assert_int_equal(waitpid(s->pid, &status, WUNTRACED), s->pid);
    assert_true(WIFSTOPPED(status));
}

void server_thaw(server *s)
{
    kill(s->pid, SIGCONT);
}

/* ---- Asking it ----------------------------------------------------------- */

static redisContext *dial_control(server *s)
{
    redisContext *control = redisConnectUnixWithTimeout(s->socket, (struct timeval){.tv_sec = 5});
    if (control == NULL || control->err != 0) {
        redisFree(control);
        return NULL;
    }
    redisSetTimeout(control, (struct timeval){.tv_sec = START_MS / 1000});
    const char *password = s->private->options.password;
    if (password != NULL) {
        freeReplyObject(redisCommand(control, "AUTH %s", password));
        s->private->asked++;
    }
    return control;
}

/* Drops a connection that the server has closed, as a server does that becomes a replica: writing
 * to it would raise SIGPIPE. */
static void drop_if_closed(struct server_private *p)
{
    char byte;
    if (p->control == NULL || recv(p->control->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
        return;
    redisFree(p->control);
    p->control = NULL;
}

/* NULL: no connection. */
static redisReply *ask_control(server *s, const char *format, va_list args)
{
    struct server_private *p = s->private;
    pthread_mutex_lock(&p->mutex);
    drop_if_closed(p);
    if (p->control == NULL)
        p->control = dial_control(s);
    redisReply *reply = NULL;
    if (p->control != NULL) {
        reply = redisvCommand(p->control, format, args);
        p->asked++;
    }
    if (reply == NULL && p->control != NULL) {
        redisFree(p->control);
        p->control = NULL;
    }
    pthread_mutex_unlock(&p->mutex);
    return reply;
}

static redisReply *must_ask(server *s, const char *format, va_list args)
{
    redisReply *reply = ask_control(s, format, args);
    if (reply == NULL) {
        show_log(s);
        fail_msg("the server does not answer \"%s\"", format);
    }
    return reply;
}

static redisReply *try_ask(server *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = ask_control(s, format, args);
    va_end(args);
    return reply;
}

static void print_reply(FILE *out, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        fprintf(out, "%lld", reply->integer);
    else if (reply->type != REDIS_REPLY_ARRAY && reply->type != REDIS_REPLY_NIL)
        fwrite(reply->str, 1, (size_t)reply->len, out);
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        print_reply(out, reply->element[i]);
        fputc('\n', out);
    }
}

static char *text_of(redisReply *reply)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    print_reply(out, reply);
    fclose(out);
    freeReplyObject(reply);
    return text;
}

char *server_ask(server *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_of(must_ask(s, format, args));
    va_end(args);
    return text;
}

int64_t server_ask_int(server *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = text_of(must_ask(s, format, args));
    va_end(args);
    int64_t number = strtoll(text, NULL, 10);
    free(text);
    return number;
}

void server_do(server *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisReply *reply = must_ask(s, format, args);
    va_end(args);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", format, reply->str);
    freeReplyObject(reply);
}

/* The number behind "<field><mark>" at the start of a line; 0 when there is none. */
static int64_t number_behind(const char *text, const char *field, const char *mark)
{
    char *start = test_format("\n%s%s", field, mark);
    const char *found = strstr(text, start);
    int64_t number = found != NULL ? strtoll(found + strlen(start), NULL, 10) : 0;
    free(start);
    return number;
}

int64_t server_info(server *s, const char *field)
{
    char *text = server_ask(s, "INFO everything");
    int64_t number = number_behind(text, field, ":");
    free(text);
    return number;
}

int64_t server_calls(server *s, const char *command)
{
    char *text = server_ask(s, "INFO commandstats");
    char *field = test_format("cmdstat_%s", command);
    int64_t number = number_behind(text, field, ":calls=");
    free(field);
    free(text);
    return number;
}

int64_t server_functions(server *s)
{
    return server_calls(s, "fcall") + server_calls(s, "fcall_ro");
}

int64_t server_commands(server *s)
{
    int64_t total = server_info(s, "total_commands_processed");
    pthread_mutex_lock(&s->private->mutex);
    int64_t own = s->private->asked - 1; /* INFO does not count itself */
    pthread_mutex_unlock(&s->private->mutex);
    return total - own;
}

int server_connections(server *s, const char *name)
{
    char *text = server_ask(s, "CLIENT LIST");
    char *exact = test_format(" name=%s ", name != NULL ? name : "");
    char *longer = test_format(" name=%s:", name != NULL ? name : ""); /* "tackle:PROGRAM:..." */
    int count = name != NULL ? 0 : -1;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        count += *line != '\0' && (name == NULL || strstr(line, exact) || strstr(line, longer));
    free(exact);
    free(longer);
    free(text);
    return count;
}

/* ---- Start and end ------------------------------------------------------- */

static bool answers(server *s)
{
    redisReply *reply = try_ask(s, "PING");
    if (reply == NULL)
        return false;
    bool loading = reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "LOADING", 7) == 0;
    freeReplyObject(reply);
    return !loading || s->private->options.loading;
}

static bool ready_within(server *s, int64_t ms)
{
    for (int64_t until = test_now_ms() + ms; test_now_ms() < until; test_sleep_ms(2)) {
        if (answers(s))
            return true;
        if (gone_within(s, 0))
            return false;
    }
    return false;
}

static bool launch(server *s)
{
    unlink(s->socket); /* the socket of a killed server, which must not pass for the new one */
    write_config(s);
    spawn(s);
    if (ready_within(s, START_MS))
        return true;
    server_kill(s);
    return false;
}

server *server_start(const server_options *options)
{
    server *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    s->private = calloc(1, sizeof(*s->private));
    assert_non_null(s->private);
    pthread_mutex_init(&s->private->mutex, NULL);
    copy_options(&s->private->options, options != NULL ? options : &(server_options){0});
    test_make_dir(s->dir, sizeof(s->dir));
    snprintf(s->socket, sizeof(s->socket), "%s/s", s->dir);
    snprintf(s->url, sizeof(s->url), "unix://%s", s->socket);
    for (int tries = 0; tries < 3; tries++) { /* another program may have taken the port */
        choose_ports(s);
        if (launch(s))
            return s;
    }
    show_log(s);
    fail_msg("%s does not start", server_program());
    return NULL;
}

/* Removes half-written files of a killed server, as the private server does, and starts it
 * again. */
void server_restart(server *s)
{
    server_kill(s);
    assert_int_equal(tkl__aof_mend(s->dir), TKL_OK);
    if (!launch(s)) {
        show_log(s);
        fail_msg("%s does not start again", server_program());
    }
}

void server_end(server *s)
{
    if (s == NULL)
        return;
    server_kill(s);
    test_remove_dir(s->dir);
    free_options(&s->private->options);
    pthread_mutex_destroy(&s->private->mutex);
    free(s->private);
    free(s);
}
