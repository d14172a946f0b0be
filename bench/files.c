/* SPDX-License-Identifier: MIT
 *
 * Files to three receivers under a limit of 64 MB. The limit is bare hiredis with the same parties:
 * one writes with SETRANGE in a pipeline into a ring of 64 MB, three read with GETRANGE, all at the
 * same time; none waits for another, and no file is read or written. The yardstick beside it also
 * reads the source and writes three files. Files are in memory (/dev/shm) where there is one.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "bare.h"
#include "ours.h"

enum {
    RECEIVERS = 3,
    LIMIT_MB = 64,
    CHUNK = 256 * 1024,
    WINDOW = 8, /* chunks in a pipeline */
    SMALL_FILES = 10000,
    SMALL_SIZE = 1024,
    LINES = 2000000,
};

#define MB INT64_C(1048576)

static const char *const names[RECEIVERS] = {"a", "b", "c"};

/* ---- Files --------------------------------------------------------------- */

static char dir[64];

static void remove_dir(void)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command) != 0)
        fprintf(stderr, "bench: %s is left\n", dir);
}

static const char *path_of(char path[128], const char *name)
{
    snprintf(path, 128, "%s/%s", dir, name);
    return path;
}

static void make_dir(const char *name)
{
    char path[128];
    if (mkdir(path_of(path, name), 0700) != 0)
        bench_die("cannot make %s", path);
}

static void make_big(int64_t bytes)
{
    static char block[1048576];
    char path[128];
    FILE *file = fopen(path_of(path, "big"), "w");
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 2654435761u >> 13);
    for (int64_t done = 0; file && done < bytes; done += MB)
        fwrite(block, 1, sizeof block, file);
    if (!file || fclose(file) != 0)
        bench_die("cannot write %s", path);
}

/* Makes lines as an access log has them, 90 bytes each. */
static void make_lines(void)
{
    char path[128], line[128];
    FILE *plain = fopen(path_of(path, "lines"), "w");
    gzFile packed = gzopen(path_of(path, "lines.gz"), "wb1");
    if (!plain || !packed)
        bench_die("cannot write %s", path);
    for (int i = 0; i < LINES; i++) {
        int len = snprintf(line, sizeof line,
                           "10.0.%03d.%03d - - [16/Nov/2026:12:%02d:%02d] \"GET /item/%07d "
                           "HTTP/1.1\" 200 %6d\n",
                           i % 251, i % 13, i / 60 % 60, i % 60, i, i * 7 % 100000);
        fwrite(line, 1, (size_t)len, plain);
        gzwrite(packed, line, (unsigned)len);
    }
    if (fclose(plain) != 0 || gzclose(packed) != Z_OK)
        bench_die("cannot write %s", path);
}

static int64_t big_bytes(const bench_run *run)
{
    return (run->lengthy ? 2048 : run->quick ? 64 : 256) * MB;
}

static void make_files(const bench_run *run)
{
    static bool made;
    if (made)
        return;
    made = true;
    snprintf(dir, sizeof dir, "%s/tackle-bench-files.XXXXXX",
             access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (!mkdtemp(dir))
        bench_die("cannot make %s", dir);
    atexit(remove_dir);
    for (int i = 0; i < RECEIVERS; i++)
        make_dir(names[i]);
    make_dir("small");
    make_big(big_bytes(run));
    make_lines();
    for (int i = 0; i < SMALL_FILES; i++) {
        char path[128], name[32];
        snprintf(name, sizeof name, "small/%05d", i);
        FILE *file = fopen(path_of(path, name), "w");
        for (int b = 0; file && b < SMALL_SIZE; b++)
            fputc(i * 31 + b, file);
        if (!file || fclose(file) != 0)
            bench_die("cannot write %s", path);
    }
}

/* ---- Parties ------------------------------------------------------------- */

/* A thread that sends or receives. */
typedef struct party {
    const bench_run *run;
    int index;  /* index of a receiver; -1: the sender */
    bool files; /* bare: read and write them */
    pthread_t thread;
} party;

static void start_party(party *p, void *(*body)(void *))
{
    if (pthread_create(&p->thread, NULL, body, p) != 0)
        bench_die("no more threads");
}

static void run_parties(const bench_run *run, bool files, void *(*sends)(void *),
                        void *(*receives)(void *))
{
    party parties[RECEIVERS + 1];
    for (int i = 0; i <= RECEIVERS; i++) {
        parties[i] = (party){.run = run, .index = i - 1, .files = files};
        start_party(&parties[i], i == 0 ? sends : receives);
    }
    for (int i = 0; i <= RECEIVERS; i++)
        pthread_join(parties[i].thread, NULL);
}

/* ---- Bare hiredis -------------------------------------------------------- */

static int open_file(const party *p)
{
    char path[128], name[16];
    if (!p->files)
        return -1;
    snprintf(name, sizeof name, "%s%s", p->index < 0 ? "" : names[p->index],
             p->index < 0 ? "big" : "/bare");
    int fd =
        open(path_of(path, name), p->index < 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        bench_die("cannot open %s", path);
    return fd;
}

static void *bare_send(void *arg)
{
    party *p = arg;
    redisContext *c = bare_connect(p->run->socket);
    int fd = open_file(p);
    char *chunk = calloc(1, CHUNK), offset[24];
    int64_t total = big_bytes(p->run);
    for (int64_t at = 0; at < total;) {
        int count = 0;
        for (; count < WINDOW && at < total; count++, at += CHUNK) {
            if (fd >= 0 && pread(fd, chunk, CHUNK, at) != CHUNK)
                bench_die("cannot read");
            snprintf(offset, sizeof offset, "%lld", (long long)(at % (LIMIT_MB * MB)));
            const char *argv[] = {"SETRANGE", "bench:ring", offset, chunk};
            const size_t lens[] = {8, 10, strlen(offset), CHUNK};
            redisAppendCommandArgv(c, 4, argv, lens);
        }
        for (redisReply *reply; count > 0; count--, freeReplyObject(reply))
            if (redisGetReply(c, (void **)&reply) != REDIS_OK)
                bench_die("hiredis: the pipeline failed");
    }
    if (fd >= 0)
        close(fd);
    free(chunk);
    redisFree(c);
    return NULL;
}

static void *bare_receive(void *arg)
{
    party *p = arg;
    redisContext *c = bare_connect(p->run->socket);
    int fd = open_file(p);
    int64_t total = big_bytes(p->run), got = 0;
    for (int64_t at = 0; at < total;) {
        int count = 0;
        for (; count < WINDOW && at < total; count++, at += CHUNK) {
            char from[24], to[24];
            int64_t offset = at % (LIMIT_MB * MB);
            snprintf(from, sizeof from, "%lld", (long long)offset);
            snprintf(to, sizeof to, "%lld", (long long)(offset + CHUNK - 1));
            redisAppendCommandArgv(c, 4, (const char *[]){"GETRANGE", "bench:ring", from, to},
                                   NULL);
        }
        for (redisReply *reply; count > 0; count--, freeReplyObject(reply)) {
            if (redisGetReply(c, (void **)&reply) != REDIS_OK || reply->len != CHUNK)
                bench_die("hiredis: the pipeline failed");
            if (fd >= 0 && pwrite(fd, reply->str, reply->len, got) != CHUNK)
                bench_die("cannot write");
            got += CHUNK;
        }
    }
    if (fd >= 0)
        close(fd);
    redisFree(c);
    return NULL;
}

/* Makes the ring before the clock starts. */
static void make_ring(bench_run *run, const bench_contender *self)
{
    (void)self;
    redisContext *c = bare_connect(run->socket);
    bare_call(c, 4, (const char *[]){"SETRANGE", "bench:ring", "67108863", "x"});
    redisFree(c);
}

static void bare_step(bench_worker *w)
{
    run_parties(w->run, false, bare_send, bare_receive);
}

static void bare_files_step(bench_worker *w)
{
    run_parties(w->run, true, bare_send, bare_receive);
}

/* ---- tackle -------------------------------------------------------------- */

static tkl_files *open_channel(const bench_run *run, tkl_client **client, int64_t max_bytes)
{
    tkl_files *files;
    tkl_files_options options = {.max_bytes = max_bytes};
    *client = ours_client(run, &(bench_contender){.name = NULL});
    check(tkl_files_open(*client, tkl_str("bench"), &options, &files));
    return files;
}

static void send_paths(const bench_run *run, const tkl_files_source *sources, size_t count,
                       size_t receivers, int64_t max_bytes)
{
    tkl_client *client;
    tkl_bytes to[RECEIVERS];
    tkl_files *files = open_channel(run, &client, max_bytes);
    for (size_t i = 0; i < receivers; i++)
        to[i] = tkl_str(names[i]);
    check(tkl_files_send(files, to, receivers, sources, count, NULL, NULL));
    tkl_files_close(files);
    tkl_close(client);
}

static void receive_all(const bench_run *run, int index, bool unpack,
                        int (*on_line)(tkl_bytes file, tkl_bytes line, void *arg))
{
    char path[128];
    tkl_client *client;
    tkl_files *files = open_channel(run, &client, 0);
    tkl_files_receive_options options = {.dir = path_of(path, names[index]),
                                         .exit_when_done = true,
                                         .unpack = unpack,
                                         .on_line = on_line};
    check(tkl_files_receive(files, tkl_str(names[index]), &options, -1, NULL));
    tkl_files_close(files);
    tkl_close(client);
}

static void *ours_send(void *arg)
{
    party *p = arg;
    char path[128];
    tkl_files_source source = {.path = path_of(path, "big")};
    send_paths(p->run, &source, 1, RECEIVERS, LIMIT_MB * MB);
    return NULL;
}

static void *ours_receive(void *arg)
{
    party *p = arg;
    receive_all(p->run, p->index, false, NULL);
    return NULL;
}

static void ours_step(bench_worker *w)
{
    run_parties(w->run, true, ours_send, ours_receive);
}

/* ---- Memory -------------------------------------------------------------- */

typedef struct watch {
    const bench_run *run;
    atomic_bool ends;
    double peak_mb;
} watch;

static void *watch_memory(void *arg)
{
    watch *w = arg;
    redisContext *c = bare_connect(w->run->socket);
    while (!atomic_load(&w->ends)) {
        double used;
        redisReply *info = bare_ask(c, 2, (const char *[]){"INFO", "memory"});
        if (sscanf(strstr(info->str, "used_memory:"), "used_memory:%lf", &used) == 1 &&
            used / (double)MB > w->peak_mb)
            w->peak_mb = used / (double)MB;
        freeReplyObject(info);
        usleep(1000);
    }
    redisFree(c);
    return NULL;
}

/* The megabytes by which the server's memory exceeds the limit at most, everything included. */
static double memory_over_limit(const bench_run *run)
{
    watch w = {.run = run};
    pthread_t thread;
    if (pthread_create(&thread, NULL, watch_memory, &w) != 0)
        bench_die("no more threads");
    run_parties(run, true, ours_send, ours_receive);
    atomic_store(&w.ends, true);
    pthread_join(thread, NULL);
    return w.peak_mb - LIMIT_MB;
}

/* ---- Lines --------------------------------------------------------------- */

static void send_lines(const bench_run *run, const char *name)
{
    char path[128];
    tkl_files_source source = {.path = path_of(path, name)};
    send_paths(run, &source, 1, 1, 1024 * MB);
}

static void send_plain(bench_run *run, const bench_contender *self)
{
    (void)self;
    send_lines(run, "lines");
}

static void send_packed(bench_run *run, const bench_contender *self)
{
    (void)self;
    send_lines(run, "lines.gz");
}

static atomic_int lines;

static int count_line(tkl_bytes file, tkl_bytes line, void *arg)
{
    (void)file;
    (void)arg;
    if (line.len > 0)
        atomic_store_explicit(&lines, atomic_load_explicit(&lines, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    return 0;
}

static void lines_step(bench_worker *w)
{
    atomic_store(&lines, 0);
    receive_all(w->run, 0, true, count_line);
    if (atomic_load(&lines) != LINES)
        bench_die("%d lines", atomic_load(&lines));
}

/* ---- Small files --------------------------------------------------------- */

static void *small_receive(void *arg)
{
    party *p = arg;
    char path[128];
    tkl_client *client;
    tkl_files_totals totals;
    tkl_files *files = open_channel(p->run, &client, 0);
    tkl_files_receive_options options = {.dir = path_of(path, "a"), .exit_when_done = true};
    for (int64_t got = 0; got < SMALL_FILES; got += totals.files)
        check(tkl_files_receive(files, tkl_str("a"), &options, -1, &totals));
    tkl_files_close(files);
    tkl_close(client);
    return NULL;
}

static void small_step(bench_worker *w)
{
    static char paths[SMALL_FILES][128];
    static tkl_files_source sources[SMALL_FILES];
    party receiver = {.run = w->run, .index = 0};
    for (int i = 0; i < SMALL_FILES; i++) {
        char name[32];
        snprintf(name, sizeof name, "small/%05d", i);
        sources[i].path = path_of(paths[i], name);
    }
    start_party(&receiver, small_receive);
    send_paths(w->run, sources, SMALL_FILES, 1, 256 * MB);
    pthread_join(receiver.thread, NULL);
}

/* ---- Cases --------------------------------------------------------------- */

static const bench_case cases[] = {
    {.name = "a large file to 3 receivers under 64 MB",
     .unit = "files/s",
     .at_least = 0.6,
     .prepare = make_files,
     .contenders = {{.name = "hiredis, SETRANGE and GETRANGE",
                     .role = BENCH_LIMIT,
                     .steps = 1,
                     .setup = make_ring,
                     .step = bare_step},
                    {.name = "hiredis, with files",
                     .role = BENCH_YARDSTICK,
                     .steps = 1,
                     .setup = make_ring,
                     .step = bare_files_step},
                    {.name = "tackle", .steps = 1, .step = ours_step}}},
    {.name = "memory of the server above the limit",
     .unit = "MB",
     .at_most = 16,
     .has_at_most = true,
     .prepare = make_files,
     .contenders = {{.name = "tackle", .measure = memory_over_limit}}},
    {.name = "lines of a plain file",
     .unit = "lines/s",
     .prepare = make_files,
     .contenders =
         {{.name = "tackle", .steps = 1, .batch = LINES, .setup = send_plain, .step = lines_step}}},
    {.name = "lines of a gzip file",
     .unit = "lines/s",
     .prepare = make_files,
     .contenders = {{.name = "tackle",
                     .steps = 1,
                     .batch = LINES,
                     .setup = send_packed,
                     .step = lines_step}}},
    {.name = "10,000 files of 1 KB to one receiver",
     .unit = "files/s",
     .prepare = make_files,
     .contenders = {{.name = "tackle", .steps = 1, .batch = SMALL_FILES, .step = small_step}}},
    {0},
};

const bench_component files_bench = {.name = "files", .cases = cases};
