/* SPDX-License-Identifier: MIT
 *
 * Cached values and callers in several processes: a thousand that ask for a missing value cause one
 * computation; when the process that computes is killed, another one computes; while computing
 * fails, all get the old value.
 *
 * ctest: label threads
 * ctest: cost 10
 */
#include <inttypes.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <tackle/cache.h>

#include "support/process.h"
#include "support/server.h"
#include "support/test.h"

enum { PROCESSES = 4, LONG_MS = 120000, LEASE_MS = 950, STALE_RUN_MS = 2500 };

#define LEASE "tackle:cache:{page}:lease"

/* Memory that all processes share. */
typedef struct board {
    atomic_int ready;       /* callers that are about to ask */
    atomic_bool go, over;   /* they may ask; they should end */
    atomic_bool fails;      /* computing does */
    atomic_int compute_ms;  /* how long it takes */
    atomic_int calls;       /* calls of the function that computes */
    atomic_int running;     /* calls under way */
    atomic_int most;        /* most calls at the same time */
    atomic_int stale, gone; /* old values that callers got; callers that got none */
} board;

/* ---- A process of callers --------------------------------------------------- */

static int compute(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    board *b = arg;
    char text[16];
    int running = atomic_fetch_add(&b->running, 1) + 1;
    (void)key;
    if (running > b->most)
        b->most = running;
    snprintf(text, sizeof text, "%d", atomic_fetch_add(&b->calls, 1) + 1);
    bool fails = b->fails;
    test_sleep_ms(b->compute_ms);
    b->running--;
    return fails ? TKL_EIO : tkl_cache_give(result, tkl_str(text));
}

typedef struct callers {
    board *board;
    tkl_cache *cache;
    bool repeat; /* until the test is over; or ask once */
} callers;

static void ask_for_page(void *arg, int index)
{
    callers *c = arg;
    board *b = c->board;
    (void)index;
    b->ready++;
    while (!b->go)
        test_sleep_ms(20);
    do {
        tkl_cache_value *value;
        int rc = tkl_cache_fetch(c->cache, tkl_str("page"), compute, b, -1, &value);
        if (rc != TKL_OK && b->gone++ == 0)
            fprintf(stderr, "%s: %s\n", tkl_codename(rc), tkl_errmsg());
        else if (rc == TKL_OK)
            b->stale += value->stale;
        tkl_cache_value_free(value);
        if (c->repeat)
            test_sleep_ms(5);
    } while (c->repeat && !b->over);
}

/* --callers FD url threads ttl repeat */
static int callers_main(char **argv)
{
    tkl_client *client;
    tkl_cache_options options = {.ttl_ms = atoll(argv[5]), .stale_ms = 600000};
    callers c = {.repeat = atoi(argv[6]) != 0};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    c.board = mmap(NULL, sizeof *c.board, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[2]), 0);
    if (c.board == MAP_FAILED ||
        tkl_open(argv[3], &(tkl_options){.timeout_ms = LONG_MS}, &client) != TKL_OK ||
        tkl_cache_open(client, &options, &c.cache) != TKL_OK)
        return 1;
    crew_run(atoi(argv[4]), ask_for_page, &c);
    tkl_cache_close(c.cache);
    tkl_close(client);
    return 0;
}

/* ---- The test ---------------------------------------------------------------- */

typedef struct scene {
    server *server;
    board *board;
    int memory;
} scene;

static scene begin_scene(void)
{
    scene s = {.server = server_start(NULL), .memory = memfd_create("board", 0)};
    assert_int_equal(ftruncate(s.memory, sizeof(board)), 0);
    s.board = mmap(NULL, sizeof *s.board, PROT_READ | PROT_WRITE, MAP_SHARED, s.memory, 0);
    assert_true(s.board != MAP_FAILED);
    return s;
}

static void end_scene(scene *s)
{
    munmap(s->board, sizeof *s->board);
    close(s->memory);
    server_end(s->server);
}

extern char **environ;

static pid_t spawn_callers(const scene *s, int threads, int ttl_ms, bool repeat)
{
    char fd[16], count[16], ttl[16];
    pid_t pid;
    snprintf(fd, sizeof fd, "%d", s->memory);
    snprintf(count, sizeof count, "%d", threads);
    snprintf(ttl, sizeof ttl, "%d", ttl_ms);
    char *argv[] = {"/proc/self/exe",   "--callers", fd, s->server->url, count, ttl,
                    repeat ? "1" : "0", NULL};
    assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
    return pid;
}

static void spawn_all(const scene *s, int threads, int ttl_ms, bool repeat, pid_t pids[PROCESSES])
{
    int before = s->board->ready;
    for (int i = 0; i < PROCESSES; i++)
        pids[i] = spawn_callers(s, threads, ttl_ms, repeat);
    eventually(s->board->ready == before + PROCESSES * threads, LONG_MS);
}

static void await_all(const pid_t pids[PROCESSES])
{
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(process_wait(pids[i]), 0);
}

static void a_thousand_callers_cause_one_computation(void **state)
{
    enum { THREADS = 250 };
    scene s = begin_scene();
    pid_t pids[PROCESSES];
    (void)state;
    s.board->compute_ms = 300;
    spawn_all(&s, THREADS, 600000, false, pids);
    s.board->go = true;
    await_all(pids);
    assert_int_equal(s.board->calls, 1);
    assert_int_equal(s.board->gone, 0);
    end_scene(&s);
}

static void when_the_computing_process_is_killed_another_one_computes(void **state)
{
    enum { THREADS = 20 };
    scene s = begin_scene();
    pid_t pids[PROCESSES];
    (void)state;
    s.board->compute_ms = 600000;
    s.board->go = true;
    pid_t first = spawn_callers(&s, 1, 600000, false);
    eventually(s.board->calls == 1, LONG_MS);
    spawn_all(&s, THREADS, 600000, false, pids);
    s.board->compute_ms = 100;
    kill(first, SIGKILL);
    process_wait(first);
    int64_t killed = test_now_ms();
    assert_true(server_ask_int(s.server, "PTTL " LEASE) <= LEASE_MS); /* within a second */
    eventually(s.board->calls == 2, LONG_MS);
    print_message("the next one computes after %d ms\n", (int)(test_now_ms() - killed));
    await_all(pids);
    assert_int_equal(s.board->calls, 2);
    assert_int_equal(s.board->gone, 0);
    end_scene(&s);
}

static void an_old_value_is_served_while_computing_fails(void **state)
{
    enum { THREADS = 10, TTL_MS = 200, RETRY_MS = 1000 };
    scene s = begin_scene();
    pid_t pids[PROCESSES];
    (void)state;
    spawn_all(&s, THREADS, TTL_MS, true, pids);
    s.board->go = true;
    eventually(s.board->calls > 0, LONG_MS);
    s.board->fails = true;
    int64_t began = test_now_ms();
    int before = s.board->calls;
    test_sleep_ms(STALE_RUN_MS);
    int calls = s.board->calls - before;
    int64_t took = test_now_ms() - began;
    assert_true(s.board->stale > 0);
    assert_in_range(calls, 1, took / RETRY_MS + 2); /* one attempt in a second, and one before */
    s.board->fails = false;
    before = s.board->calls;
    eventually(s.board->calls > before + 2, LONG_MS); /* it is computed again, and again */
    s.board->over = true;
    await_all(pids);
    assert_int_equal(s.board->gone, 0);
    assert_int_equal(s.board->most, 1);
    end_scene(&s);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--callers") == 0)
        return callers_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_thousand_callers_cause_one_computation),
        cmocka_unit_test(when_the_computing_process_is_killed_another_one_computes),
        cmocka_unit_test(an_old_value_is_served_while_computing_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
