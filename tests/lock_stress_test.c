/* SPDX-License-Identifier: MIT
 *
 * Sixteen processes acquire a lock, or one of three permits, and are killed and stopped at random.
 * A register on another server takes writes only in the order of fences. The test checks that
 *
 *   - never more hold, by their own belief, than may (all share this machine's monotonic clock);
 *   - fences rise in the order in which they held;
 *   - the register refuses no holder;
 *   - no process waits for more than about a second while a lock or permit is available.
 *
 * Runs for 16 seconds, or as many as $TACKLE_STRESS says.
 *
 * ctest: label stress
 */
#include <errno.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/call.h"
#include "support/locks.h"
#include "support/process.h"

#define WORKERS 16
#define LOG_MAX 400000
/* A second, and what a busy machine adds. */
#define IDLE_MAX_US 2500000

typedef struct interval {
    _Atomic int64_t start, end; /* microseconds; held for sure all the while */
    _Atomic uint64_t fence;
} interval;

/* Memory that all processes share. */
typedef struct board {
    atomic_bool stop;
    atomic_int used;                      /* intervals */
    atomic_int refused;                   /* writes that the register refused rightly */
    atomic_int wrongly;                   /* writes that it refused wrongly */
    atomic_int errors;                    /* calls that failed */
    char error[200];                      /* the text of one of them */
    _Atomic int64_t waits_since[WORKERS]; /* 0: does not wait */
    interval log[LOG_MAX];
} board;

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void sleep_us(int64_t us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static uint32_t dice(uint32_t *seed, uint32_t sides)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % sides;
}

/* ---- A worker, in a process of its own ----------------------------------- */

typedef struct worker {
    board *board;
    tkl_client *client, *register_client;
    tkl_lock *lock;     /* or */
    tkl_semaphore *sem; /* one of them is NULL */
    int index;
    uint32_t seed;
} worker;

static tkl_hold_state state_of(const worker *w)
{
    return w->lock ? tkl_lock_state(w->lock) : tkl_semaphore_state(w->sem);
}

static uint64_t fence_of(const worker *w)
{
    return w->lock ? tkl_lock_fence(w->lock) : tkl_semaphore_fence(w->sem);
}

/* Whether the worker holds; *when is the moment before it asked. */
static bool holds(const worker *w, int64_t *when)
{
    *when = now_us();
    return state_of(w) == TKL_HOLD_HELD;
}

static void note_error(const worker *w, const char *during)
{
    atomic_fetch_add(&w->board->errors, 1);
    snprintf(w->board->error, sizeof w->board->error, "%s: %s", during, tkl_errmsg());
}

static void write_register(worker *w)
{
    static const char script[] =
        "if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[1]) or 0) then return 0 end "
        "redis.call('SET', KEYS[1], ARGV[1]) return 1";
    char fence[24];
    tkl_reply *reply;
    int64_t when;
    snprintf(fence, sizeof(fence), "%" PRIu64, fence_of(w));
    int rc = tkl_callz(w->register_client, &reply, "EVAL", script, "1", "register", fence, NULL);
    bool refused = rc == TKL_OK && tkl_reply_int(reply) == 0;
    tkl_reply_free(reply);
    if (rc != TKL_OK)
        note_error(w, "write");
    if (refused)
        atomic_fetch_add(holds(w, &when) ? &w->board->wrongly : &w->board->refused, 1);
}

static void hold_for_a_while(worker *w)
{
    int64_t when;
    if (!holds(w, &when))
        return;
    int slot = atomic_fetch_add(&w->board->used, 1);
    if (slot >= LOG_MAX)
        return;
    interval *i = &w->board->log[slot];
    atomic_store(&i->fence, fence_of(w));
    atomic_store(&i->end, when);
    atomic_store(&i->start, when);
    int64_t until = when + (int64_t)dice(&w->seed, dice(&w->seed, 30) == 0 ? 1200000 : 8000);
    do {
        if (w->lock)
            write_register(w);
        sleep_us(500);
        if (!holds(w, &when)) {
            if (w->lock)
                write_register(w); /* as a holder that does not know of its loss */
            return;
        }
        atomic_store(&i->end, when);
    } while (when < until);
}

static int acquire(worker *w, int64_t wait_ms)
{
    atomic_store(&w->board->waits_since[w->index], now_us());
    int rc = w->lock ? tkl_lock_acquire(w->lock, wait_ms) : tkl_semaphore_acquire(w->sem, wait_ms);
    atomic_store(&w->board->waits_since[w->index], 0);
    return rc;
}

static void release(worker *w)
{
    int rc = w->lock ? tkl_lock_release(w->lock) : tkl_semaphore_release(w->sem);
    if (rc < 0)
        note_error(w, "release");
}

static void work(worker *w)
{
    while (!atomic_load(&w->board->stop)) {
        int rc = acquire(w, dice(&w->seed, 5) == 0 ? dice(&w->seed, 300) : 4000);
        if (rc == TKL_OK) {
            hold_for_a_while(w);
            release(w);
        } else if (rc < 0 && rc != TKL_ELOST)
            note_error(w, "acquire");
        sleep_us((int64_t)dice(&w->seed, 3000));
    }
}

/* --worker FD url register-url limit index seed */
static int worker_main(char **argv)
{
    worker w = {.index = atoi(argv[6]), .seed = (uint32_t)atoll(argv[7])};
    int64_t limit = atoll(argv[5]), ttl = 500 + dice(&w.seed, 500);
    bool auto_renew = dice(&w.seed, 2) == 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    w.board = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[2]), 0);
    if (w.board == MAP_FAILED || tkl_open(argv[3], NULL, &w.client) != TKL_OK ||
        tkl_open(argv[4], NULL, &w.register_client) != TKL_OK)
        return 1;
    int rc =
        limit == 1
            ? tkl_lock_open(w.client, tkl_str("door"),
                            &(tkl_lock_options){.lease_ms = ttl, .auto_renew = auto_renew}, &w.lock)
            : tkl_semaphore_open(
                  w.client, tkl_str("door"), limit,
                  &(tkl_semaphore_options){.lease_ms = ttl, .auto_renew = auto_renew}, &w.sem);
    if (rc == TKL_OK)
        work(&w);
    tkl_lock_close(w.lock);
    tkl_semaphore_close(w.sem);
    tkl_close(w.register_client);
    tkl_close(w.client);
    return rc;
}

/* ---- The troublemaker ---------------------------------------------------- */

typedef struct stress {
    server *server, *store;
    board *board;
    int memory; /* file descriptor of the board */
    int64_t limit;
    uint32_t seed;
    pid_t pids[WORKERS];
    int64_t stopped_until[WORKERS]; /* 0: runs */
    int64_t runs_since[WORKERS];
    int kills, stops;
    int64_t idle_max; /* the longest wait while a lock or permit was available */
    int64_t idle_since;
} stress;

extern char **environ;

static void spawn(stress *s, int index)
{
    char fd[16], limit[16], number[16], seed[16];
    snprintf(fd, sizeof(fd), "%d", s->memory);
    snprintf(limit, sizeof(limit), "%d", (int)s->limit);
    snprintf(number, sizeof(number), "%d", index);
    snprintf(seed, sizeof(seed), "%u", dice(&s->seed, 1u << 20));
    char *argv[] = {"/proc/self/exe", "--worker", fd,  s->server->url, s->store->url, limit,
                    number,           seed,       NULL};
    atomic_store(&s->board->waits_since[index], 0);
    assert_int_equal(posix_spawn(&s->pids[index], argv[0], NULL, NULL, argv, environ), 0);
    s->runs_since[index] = now_us();
    s->stopped_until[index] = 0;
}

static void kill_one(stress *s, int index)
{
    kill(s->pids[index], SIGKILL);
    process_wait(s->pids[index]);
    spawn(s, index);
    s->kills++;
}

static void stop_one(stress *s, int index)
{
    if (s->stopped_until[index] != 0)
        return;
    kill(s->pids[index], SIGSTOP);
    s->stopped_until[index] = now_us() + 50000 + dice(&s->seed, 1200000);
    s->stops++;
}

static void go_on(stress *s, int index)
{
    kill(s->pids[index], SIGCONT);
    s->stopped_until[index] = 0;
    s->runs_since[index] = now_us();
}

static void make_trouble(stress *s)
{
    int victim = (int)dice(&s->seed, WORKERS);
    uint32_t what = dice(&s->seed, 10);
    if (what == 0)
        kill_one(s, victim);
    else if (what < 3)
        stop_one(s, victim);
    for (int i = 0; i < WORKERS; i++)
        if (s->stopped_until[i] != 0 && now_us() > s->stopped_until[i])
            go_on(s, i);
}

/* ---- The checks ---------------------------------------------------------- */

static bool something_is_to_be_had(stress *s, tkl_lock *lock, tkl_semaphore *sem)
{
    tkl_holders *h;
    assert_ok(lock ? tkl_lock_show(lock, &h) : tkl_semaphore_show(sem, &h));
    bool free = h->held < s->limit;
    tkl_holders_free(h);
    return free;
}

/* Checks for how long running processes have waited while a lock or permit was available. */
static void check_idleness(stress *s, bool free)
{
    int64_t now = now_us();
    if (!free)
        s->idle_since = now;
    for (int i = 0; i < WORKERS; i++) {
        int64_t since = atomic_load(&s->board->waits_since[i]);
        if (since == 0 || s->stopped_until[i] != 0)
            continue;
        if (since < s->idle_since)
            since = s->idle_since;
        if (since < s->runs_since[i])
            since = s->runs_since[i];
        if (now - since > s->idle_max)
            s->idle_max = now - since;
    }
}

static int by_start(const void *a, const void *b)
{
    int64_t x = ((const interval *)a)->start, y = ((const interval *)b)->start;
    return (x > y) - (x < y);
}

/* Fails when more than `limit` of the last holders hold at one moment. */
static void check_intervals(interval *log, int count, int64_t limit)
{
    qsort(log, (size_t)count, sizeof(*log), by_start);
    for (int i = 0; i < count; i++) {
        int64_t inside = 1;
        for (int j = i - 1; j >= 0 && j >= i - 1000; j--)
            inside += log[j].end > log[i].start;
        if (inside > limit)
            fail_msg("%d hold at once at %" PRId64, (int)inside, log[i].start);
        if (limit == 1 && i > 0 && log[i].fence <= log[i - 1].fence)
            fail_msg("fence %" PRIu64 " after %" PRIu64, log[i].fence, log[i - 1].fence);
    }
}

/* ---- The whole ----------------------------------------------------------- */

static void end_workers(stress *s)
{
    atomic_store(&s->board->stop, true);
    for (int i = 0; i < WORKERS; i++)
        kill(s->pids[i], SIGCONT);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(process_wait(s->pids[i]), 0);
}

static void run(int64_t limit, int64_t seconds)
{
    stress s = {.limit = limit, .seed = (uint32_t)getpid(), .idle_since = now_us()};
    s.server = server_start(NULL);
    s.store = server_start(NULL);
    s.memory = memfd_create("board", 0);
    assert_int_equal(ftruncate(s.memory, sizeof(board)), 0);
    s.board = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, s.memory, 0);
    assert_true(s.board != MAP_FAILED);
    tkl_client *client = test_open(s.server->url, NULL);
    tkl_lock *lock = limit == 1 ? open_lock(client, "door", NULL) : NULL;
    tkl_semaphore *sem = limit > 1 ? open_sem(client, "door", limit, NULL) : NULL;
    for (int i = 0; i < WORKERS; i++)
        spawn(&s, i);
    for (int64_t end = now_us() + seconds * 1000000; now_us() < end;) {
        make_trouble(&s);
        for (int i = 0; i < 4; i++) {
            check_idleness(&s, something_is_to_be_had(&s, lock, sem));
            sleep_us(5000 + dice(&s.seed, 5000));
        }
        assert_all_keys_expire(s.server);
    }
    end_workers(&s);
    int count = atomic_load(&s.board->used);
    print_message("%d acquisitions, %d kills, %d stops, %d stale writes refused, "
                  "waited for nothing at most %d ms\n",
                  count, s.kills, s.stops, atomic_load(&s.board->refused),
                  (int)(s.idle_max / 1000));
    assert_true(count > 20 && count < LOG_MAX);
    check_intervals(s.board->log, count, limit);
    assert_int_equal(atomic_load(&s.board->wrongly), 0);
    if (atomic_load(&s.board->errors) > 0)
        fail_msg("%d calls failed, as: %s", atomic_load(&s.board->errors), s.board->error);
    assert_in_range(s.idle_max, 0, IDLE_MAX_US);
    assert_all_keys_expire(s.server);
    tkl_lock_close(lock);
    tkl_semaphore_close(sem);
    tkl_close(client);
    munmap(s.board, sizeof(board));
    close(s.memory);
    server_end(s.store);
    server_end(s.server);
}

static int64_t seconds_each(void)
{
    const char *text = getenv("TACKLE_STRESS");
    int64_t all = text != NULL ? atoll(text) : 16;
    return all > 2 ? all / 2 : 1;
}

static void a_lock_under_stress(void **state)
{
    (void)state;
    run(1, seconds_each());
}

static void a_semaphore_under_stress(void **state)
{
    (void)state;
    run(3, seconds_each());
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_under_stress),
        cmocka_unit_test(a_semaphore_under_stress),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
