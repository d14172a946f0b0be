/* SPDX-License-Identifier: MIT
 *
 * Logs shipped to three processors. A web server writes a log of 100,000 requests and sends it,
 * under a memory limit that is a tenth of its size. Three processors read its lines at the same
 * time, each for a question of its own: how many requests, how many failures, how many bytes.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tackle/tackle.h>
#include <unistd.h>

enum { REQUESTS = 100000, PROCESSORS = 3 };

static const char *const names[PROCESSORS] = {"requests", "failures", "bytes"};

static tkl_client *client;
static char directory[] = "/tmp/tackle-example.XXXXXX";

static void stop_on(int rc)
{
    if (rc == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_strerror(rc), tkl_errmsg());
    exit(1);
}

/* ---- A processor --------------------------------------------------------- */

typedef struct processor {
    const char *name;
    int64_t result;
    pthread_t thread;
} processor;

/* "GET /item/17 200 1517": what counts depends on the processor. */
static int read_line(tkl_bytes file, tkl_bytes line, void *arg)
{
    (void)file;
    processor *p = arg;
    char text[128];
    int status = 0, size = 0;
    snprintf(text, sizeof text, TKL_FMT, TKL_ARG(line));
    sscanf(text, "GET %*s %d %d", &status, &size);
    if (strcmp(p->name, "requests") == 0)
        p->result++;
    else if (strcmp(p->name, "failures") == 0)
        p->result += status >= 500;
    else
        p->result += size;
    return 0; /* anything else ends the call, and this line is the first of the next */
}

/* Files under way are kept in the directory: a processor that is killed goes on where it was. */
static void *process(void *arg)
{
    processor *p = arg;
    tkl_files *logs;
    tkl_files_receive_options options = {
        .dir = directory, .on_line = read_line, .arg = p, .exit_when_done = true};
    stop_on(tkl_files_open(client, tkl_str("logs"), NULL, &logs));
    stop_on(tkl_files_receive(logs, tkl_str(p->name), &options, -1, NULL));
    tkl_files_close(logs);
    return NULL;
}

/* ---- The web server ------------------------------------------------------ */

static void write_log(const char *path)
{
    FILE *log = fopen(path, "w");
    for (int i = 0; log && i < REQUESTS; i++)
        fprintf(log, "GET /item/%d %d %d\n", i % 1000, i % 97 == 0 ? 503 : 200, 1500 + i % 100);
    if (!log || fclose(log) != 0)
        exit(1);
}

static void tell_waiting(const tkl_files_waiting *waiting, void *arg)
{
    (void)arg;
    for (size_t i = 0; i < waiting->count; i++)
        printf("waiting for " TKL_FMT "%s\n", TKL_ARG(waiting->receivers[i]),
               waiting->gone[i] ? ", which is gone" : "");
}

static void send_log(const char *path)
{
    tkl_files *logs;
    tkl_files_options limit = {.max_bytes = 256 * 1024};
    tkl_files_source source = {.path = path};
    tkl_files_send_options options = {.wait_ms = -1, .on_waiting = tell_waiting};
    tkl_bytes to[PROCESSORS];
    for (int i = 0; i < PROCESSORS; i++)
        to[i] = tkl_str(names[i]);
    stop_on(tkl_files_open(client, tkl_str("logs"), &limit, &logs));
    stop_on(tkl_files_send(logs, to, PROCESSORS, &source, 1, &options, NULL));
    tkl_files_close(logs);
}

int main(void)
{
    const char *url = getenv("TACKLE_URL");
    char path[64];
    processor processors[PROCESSORS];
    stop_on(tkl_open(url ? url : "embedded:", NULL, &client));
    if (!mkdtemp(directory))
        return 1;
    snprintf(path, sizeof path, "%s/access.log", directory);
    write_log(path);

    for (int i = 0; i < PROCESSORS; i++) {
        processors[i] = (processor){.name = names[i]};
        if (pthread_create(&processors[i].thread, NULL, process, &processors[i]) != 0)
            return 1;
    }
    send_log(path);
    for (int i = 0; i < PROCESSORS; i++) {
        pthread_join(processors[i].thread, NULL);
        printf("%s: %lld\n", names[i], (long long)processors[i].result);
    }

    unlink(path);
    rmdir(directory);
    tkl_close(client);
}
