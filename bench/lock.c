/* SPDX-License-Identifier: MIT
 *
 * Locks and semaphores, against the simplest way to work: SET NX PX, and a script that
 * deletes the caller's own key. That neither waits nor counts, so for waiters the limit is its
 * round trip: no hand-over can cost less.
 *
 * When contended, a step is acquire, a critical section that checks that it is alone, and release;
 * its latency is the wait alone. Every worker acquires again at once. Workers of tackle stand in
 * line, so each acquisition is a hand-over; among workers that poll, mostly the last holder gets
 * the lock again. So a case counts acquisitions, and another one hand-overs. A list with one
 * element that all workers pop and push shows how quickly eight processes can take turns at all on
 * this machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bare.h"
#include "ours.h"

#define NAME    tkl_str("bench")
#define TOKEN   "0123456789abcdef0123456789abcdef"
#define PERMITS 4
/* Names held at once where the server's time is measured. */
#define MANY 500

/* ---- Bare hiredis -------------------------------------------------------- */

static char delete_sha[41]; /* SHA of the script that deletes the caller's own key */

static void load_delete(const bench_run *run)
{
    static const char script[] = "if redis.call('GET', KEYS[1]) == ARGV[1] then "
                                 "return redis.call('DEL', KEYS[1]) end return 0";
    redisContext *c = bare_connect(run->socket);
    redisReply *sha = bare_ask(c, 3, (const char *[]){"SCRIPT", "LOAD", script});
    snprintf(delete_sha, sizeof delete_sha, "%s", sha->str);
    freeReplyObject(sha);
    redisFree(c);
}

static void bare_acquire(redisContext *c, const char *key)
{
    bare_call(c, 6, (const char *[]){"SET", key, TOKEN, "NX", "PX", "10000"});
}

static void bare_release(redisContext *c, const char *key)
{
    bare_call(c, 5, (const char *[]){"EVALSHA", delete_sha, "1", key, TOKEN});
}

static void bare_cycle(bench_worker *w)
{
    bare_acquire(w->own, "bench:lock");
    bare_release(w->own, "bench:lock");
}

/* ---- Locks and semaphores ------------------------------------------------ */

/* Memory that all workers share, those in other processes, too. */
typedef struct scene {
    tkl_client *client; /* client of workers that are threads */
    int inside;         /* the critical section */
} scene;

typedef struct holder {
    tkl_client *client; /* client of this worker alone; NULL: the scene's */
    tkl_lock *lock;
    tkl_semaphore *sem;
} holder;

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (s == MAP_FAILED)
        bench_die("out of memory");
    if (!self->processes)
        s->client = ours_client(run, self);
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_close(s->client);
    munmap(s, sizeof *s);
}

static holder *holder_new(bench_worker *w, tkl_client **client)
{
    scene *s = w->run->shared;
    holder *h = calloc(1, sizeof *h);
    if (!h)
        bench_die("out of memory");
    if (!s->client)
        h->client = ours_client(w->run, &(bench_contender){.name = NULL});
    *client = h->client ? h->client : s->client;
    w->own = h;
    return h;
}

static void lock_open(bench_worker *w)
{
    tkl_client *client;
    holder *h = holder_new(w, &client);
    check(tkl_lock_open(client, NAME, NULL, &h->lock));
}

static void permit_open(bench_worker *w)
{
    tkl_client *client;
    holder *h = holder_new(w, &client);
    check(tkl_semaphore_open(client, NAME, PERMITS, NULL, &h->sem));
}

/* Joins with a first turn, after which the worker is connected, listens and has its scripts. */
static void lock_join(bench_worker *w)
{
    lock_open(w);
    holder *h = w->own;
    check(tkl_lock_acquire(h->lock, -1));
    check(tkl_lock_release(h->lock));
}

static void sem_join(bench_worker *w)
{
    tkl_client *client;
    holder *h = holder_new(w, &client);
    check(tkl_semaphore_open(client, NAME, 1, NULL, &h->sem));
    check(tkl_semaphore_acquire(h->sem, -1));
    check(tkl_semaphore_release(h->sem));
}

static void holder_close(bench_worker *w)
{
    holder *h = w->own;
    tkl_lock_close(h->lock);
    tkl_semaphore_close(h->sem);
    tkl_close(h->client);
    free(h);
}

/* ---- Uncontended --------------------------------------------------------- */

static void lock_cycle(bench_worker *w)
{
    holder *h = w->own;
    check(tkl_lock_acquire(h->lock, 0));
    check(tkl_lock_release(h->lock));
}

static void lock_cycle_nowait(bench_worker *w)
{
    holder *h = w->own;
    check(tkl_lock_acquire(h->lock, 0));
    check(tkl_lock_release_nowait(h->lock));
}

static void sem_cycle(bench_worker *w)
{
    holder *h = w->own;
    check(tkl_semaphore_acquire(h->sem, 0));
    check(tkl_semaphore_release(h->sem));
}

static void sem_cycle_nowait(bench_worker *w)
{
    holder *h = w->own;
    check(tkl_semaphore_acquire(h->sem, 0));
    check(tkl_semaphore_release_nowait(h->sem));
}

/* ---- Contended ----------------------------------------------------------- */

static void critical(bench_worker *w, int64_t asked)
{
    scene *s = w->run->shared;
    histogram_add(&w->latency, bench_now_ns() - asked);
    if (__atomic_exchange_n(&s->inside, 1, __ATOMIC_RELAXED) != 0)
        bench_die("two hold it at once");
    __atomic_store_n(&s->inside, 0, __ATOMIC_RELAXED);
}

static void lock_turn(bench_worker *w)
{
    holder *h = w->own;
    int64_t asked = bench_now_ns();
    check(tkl_lock_acquire(h->lock, -1));
    critical(w, asked);
    check(tkl_lock_release(h->lock));
}

static void sem_turn(bench_worker *w)
{
    holder *h = w->own;
    int64_t asked = bench_now_ns();
    check(tkl_semaphore_acquire(h->sem, -1));
    critical(w, asked);
    check(tkl_semaphore_release(h->sem));
}

/* ---- A list with one element --------------------------------------------- */

static void ring_open(bench_run *run, const bench_contender *self)
{
    scene_open(run, self);
    redisContext *c = bare_connect(run->socket);
    bare_call(c, 3, (const char *[]){"RPUSH", "bench:ring", "1"});
    redisFree(c);
}

static void ring_turn(bench_worker *w)
{
    int64_t asked = bench_now_ns();
    bare_call(w->own, 3, (const char *[]){"BLPOP", "bench:ring", "0"});
    critical(w, asked);
    bare_call(w->own, 3, (const char *[]){"RPUSH", "bench:ring", "1"});
}

/* ---- The server's time --------------------------------------------------- */

/* Many names, which are all acquired and then all released: the server's counters give the cost of
 * one. */
typedef struct many {
    redisContext *bare;
    tkl_client *client;
    tkl_lock *locks[MANY];
    tkl_semaphore *sems[MANY];
} many;

typedef void many_step(many *m, int i);

static void many_open(many *m, const bench_run *run)
{
    char name[32];
    m->bare = bare_connect(run->socket);
    m->client = ours_client(run, &(bench_contender){.name = NULL});
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "bench%d", i);
        check(tkl_lock_open(m->client, tkl_str(name), NULL, &m->locks[i]));
        check(tkl_semaphore_open(m->client, tkl_str(name), PERMITS, NULL, &m->sems[i]));
    }
}

static void many_close(many *m)
{
    for (int i = 0; i < MANY; i++) {
        tkl_lock_close(m->locks[i]);
        tkl_semaphore_close(m->sems[i]);
    }
    tkl_close(m->client);
    redisFree(m->bare);
}

static double usec_per_call(redisContext *c, const char *command)
{
    char head[64];
    double us;
    snprintf(head, sizeof head, "cmdstat_%s:", command);
    redisReply *info = bare_ask(c, 2, (const char *[]){"INFO", "commandstats"});
    const char *line = strstr(info->str, head);
    if (!line || sscanf(strstr(line, "usec_per_call="), "usec_per_call=%lf", &us) != 1)
        bench_die("the server has not counted %s", command);
    freeReplyObject(info);
    return us;
}

/* Times the steps. The first one, which loads the script, does not count. */
static double time_steps(many *m, many_step *step, const char *command)
{
    step(m, 0);
    bare_call(m->bare, 2, (const char *[]){"CONFIG", "RESETSTAT"});
    for (int i = 1; i < MANY; i++)
        step(m, i);
    return usec_per_call(m->bare, command);
}

static double acquire_us(const bench_run *run, many_step *acquire, const char *command)
{
    many m;
    many_open(&m, run);
    double us = time_steps(&m, acquire, command);
    many_close(&m);
    return us;
}

static double release_us(const bench_run *run, many_step *acquire, many_step *release,
                         const char *command)
{
    many m;
    many_open(&m, run);
    for (int i = 0; i < MANY; i++)
        acquire(&m, i);
    double us = time_steps(&m, release, command);
    many_close(&m);
    return us;
}

static void set_key(many *m, int i)
{
    char key[32];
    snprintf(key, sizeof key, "bench:%d", i);
    bare_acquire(m->bare, key);
}

static void delete_key(many *m, int i)
{
    char key[32];
    snprintf(key, sizeof key, "bench:%d", i);
    bare_release(m->bare, key);
}

static void acquire_lock(many *m, int i)
{
    check(tkl_lock_acquire(m->locks[i], 0));
}

static void release_lock(many *m, int i)
{
    check(tkl_lock_release(m->locks[i]));
}

static void acquire_permit(many *m, int i)
{
    check(tkl_semaphore_acquire(m->sems[i], 0));
}

static void release_permit(many *m, int i)
{
    check(tkl_semaphore_release(m->sems[i]));
}

static double set_us(const bench_run *run)
{
    return acquire_us(run, set_key, "set");
}

static double delete_us(const bench_run *run)
{
    return release_us(run, set_key, delete_key, "evalsha");
}

static double lock_us(const bench_run *run)
{
    return acquire_us(run, acquire_lock, "fcall");
}

static double unlock_us(const bench_run *run)
{
    return release_us(run, acquire_lock, release_lock, "fcall");
}

static double permit_us(const bench_run *run)
{
    return acquire_us(run, acquire_permit, "fcall");
}

static double return_us(const bench_run *run)
{
    return release_us(run, acquire_permit, release_permit, "fcall");
}

/* ---- Cases --------------------------------------------------------------- */

#define HOLDER(opening, function)                                                  \
    .setup = scene_open, .open = opening, .step = function, .close = holder_close, \
    .teardown = scene_close
#define WAITERS(count, opening, function) HOLDER(opening, function), .workers = count, .timed = true
#define PEER(file)                        .role = BENCH_PEER, .command = file
#define HANDED                            "BENCH_COUNT=handed "
#define PEERS                             TACKLE_SOURCE_DIR "/bench/peers/"

#define COMPETITORS 8
#define RING                                                                      \
    .name = "hiredis, BLPOP + RPUSH", .role = BENCH_YARDSTICK, .processes = true, \
    .workers = COMPETITORS, .timed = true, .setup = ring_open, .open = bare_open, \
    .step = ring_turn, .close = bare_close, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "acquire and release, nobody else",
     .unit = "cycles/s",
     .at_least = 0.95,
     .prepare = load_delete,
     .contenders =
         {{.name = "hiredis, SET + EVALSHA", BARE(bare_cycle)},
          {.name = "tackle lock", HOLDER(lock_open, lock_cycle)},
          {.name = "  not awaiting release", .at_least = 1.6, HOLDER(lock_open, lock_cycle_nowait)},
          {.name = "tackle semaphore of 4", .at_least = 0.95 * 0.8, HOLDER(permit_open, sem_cycle)},
          {.name = "  not awaiting release",
           .at_least = 1.6 * 0.8,
           HOLDER(permit_open, sem_cycle_nowait)},
          {.name = "redlock", PEER("node " PEERS "redlock.js")},
          {.name = "redis-semaphore", PEER("node " PEERS "redis-semaphore.js")},
          {.name = "redis-py", PEER("/usr/bin/python3 " PEERS "lock.py")}}},
    {.name = "hand-overs among 8 processes",
     .unit = "hand-overs/s",
     .over_peers = 2.5,
     .fair_at_least = 1 / 1.1,
     .prepare = load_delete,
     .contenders =
         {{.name = "hiredis, round trips", .batch = 2, BARE(bare_cycle)},
          {RING},
          {.name = "tackle lock", .processes = true, WAITERS(COMPETITORS, lock_join, lock_turn)},
          {.name = "tackle semaphore of 1",
           .processes = true,
           WAITERS(COMPETITORS, sem_join, sem_turn)},
          {.name = "redlock", .workers = COMPETITORS, PEER(HANDED "node " PEERS "redlock.js")},
          {.name = "redis-semaphore",
           .workers = COMPETITORS,
           PEER(HANDED "node " PEERS "redis-semaphore.js")},
          {.name = "redis-py",
           .workers = COMPETITORS,
           PEER(HANDED "/usr/bin/python3 " PEERS "lock.py")}}},
    {.name = "acquisitions among 8 processes",
     .unit = "acquisitions/s",
     .over_peers = 2.5,
     .prepare = load_delete,
     .contenders =
         {{.name = "hiredis, round trips", .batch = 2, BARE(bare_cycle)},
          {.name = "tackle lock", .processes = true, WAITERS(COMPETITORS, lock_join, lock_turn)},
          {.name = "tackle semaphore of 1",
           .processes = true,
           WAITERS(COMPETITORS, sem_join, sem_turn)},
          {.name = "redlock", .workers = COMPETITORS, PEER("node " PEERS "redlock.js")},
          {.name = "redis-semaphore",
           .workers = COMPETITORS,
           PEER("node " PEERS "redis-semaphore.js")},
          {.name = "redis-py", .workers = COMPETITORS, PEER("/usr/bin/python3 " PEERS "lock.py")}}},
    {.name = "hand-overs among threads of one process",
     .unit = "hand-overs/s",
     .growth_at_most = 1.1,
     .contenders = {{.name = "tackle, 10 threads", WAITERS(10, lock_join, lock_turn)},
                    {.name = "tackle, 100 threads", WAITERS(100, lock_join, lock_turn)},
                    {.name = "tackle, 1000 threads", WAITERS(1000, lock_join, lock_turn)}}},
    {.name = "the server's time for one command",
     .unit = "us",
     .prepare = load_delete,
     .contenders = {{.name = "hiredis, SET NX PX", .role = BENCH_LIMIT, .measure = set_us},
                    {.name = "hiredis, EVALSHA", .role = BENCH_LIMIT, .measure = delete_us},
                    {.name = "tackle, lock acquire", .measure = lock_us},
                    {.name = "tackle, lock release", .measure = unlock_us},
                    {.name = "tackle, permit acquire", .measure = permit_us},
                    {.name = "tackle, permit release", .measure = return_us}}},
    {.name = NULL},
};

const bench_component lock_bench = {"lock", cases};
