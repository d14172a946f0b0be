/* SPDX-License-Identifier: MIT
 *
 * Processes push jobs, others work on them, and all of them are killed at random; so is the server,
 * and so are all connections, every second. The test checks that afterwards
 *
 *   - every job whose push was answered was done, or is in the dead letters;
 *   - the queue's own books balance: pushed is done and dead, and nothing is left anywhere;
 *   - no job was done twice but by a worker that was killed, or that lost its claim.
 *
 * On one server, which keeps its data (append-only, every write synced), nothing may be lost.
 * Replication is asynchronous: when a replica takes over from a dead master, writes that were
 * answered in the moment before may be gone (docs/queue.md). The test counts and tolerates these,
 * and no more.
 *
 * Runs for about 24 seconds, or as many as $TACKLE_STRESS says.
 *
 * ctest: label stress
 * ctest: cost 30
 */
#include <inttypes.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "core/resp.h"
#include "support/call.h"
#include "support/cluster.h"
#include "support/process.h"
#include "support/scene.h"

#define WORKERS  4
#define PUSHERS  3
#define THREADS  3
#define PREFETCH 2
/* Jobs that a worker may have done and not reported when it is killed: what it held, and as
 * much in a trip under way. */
#define UNREPORTED   (2 * THREADS * (1 + PREFETCH))
#define LEASE_MS     1000
#define JOBS_MAX     1000000
#define LIVES_MAX    4096
#define STRIKES_MAX  256
#define BATCH_MAX    150
#define SETTLE_MS    90000 /* until everything has come to rest, also on a busy machine */
#define REPLICATE_MS 2000  /* a replica is not further behind than this */
#define NOTE_MS      1000  /* and a pusher notes its answers within this */

typedef struct fate {
    _Atomic int64_t answered_at; /* ms; 0: the push was not answered */
    atomic_int runs, done;
} fate;

/* Memory that all processes share. */
typedef struct board {
    atomic_bool no_pushing, no_working;
    atomic_int next;                  /* number of a job */
    _Atomic uint64_t lost[LIVES_MAX]; /* claims lost, by each life of a worker */
    fate fates[JOBS_MAX];
} board;

static uint32_t dice(uint32_t *seed, uint32_t sides)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % sides;
}

/* In the other processes: "--pusher FD URL SEED LIFE", "--worker ...". */
typedef struct role {
    board *board;
    tkl_client *client;
    tkl_queue *queue;
    uint32_t seed;
    int life;
} role;

static bool role_open(role *r, char **argv)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    r->board = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[2]), 0);
    r->seed = (uint32_t)atoll(argv[4]);
    r->life = atoi(argv[5]);
    return r->board != MAP_FAILED && tkl_open(argv[3], NULL, &r->client) == TKL_OK &&
           tkl_queue_open(r->client, tkl_str("storm"), NULL, &r->queue) == TKL_OK;
}

static void role_close(role *r)
{
    tkl_queue_close(r->queue);
    tkl_close(r->client);
}

/* ---- Kinds of jobs ----------------------------------------------------------- */

static bool always_fails(int number)
{
    return number % 50 == 1;
}

static bool fails_first(int number)
{
    return number % 10 == 3;
}

static void make_job(tkl_push *job, int number, const char *text)
{
    *job = (tkl_push){.payload = tkl_str(text), .backoff_ms = 5, .retries = 40};
    if (number % 20 == 0)
        job->delay_ms = 1 + number % 400;
    if (number % 7 == 0)
        job->priority = number % 5 - 2;
    if (always_fails(number))
        job->retries = 1;
    if (number % 30 == 4)
        job->result_ms = 1000;
    if (number % 30 == 5)
        job->unique = tkl_str(text);
    if (number % 30 == 6)
        job->time_limit_ms = 60000;
}

/* ---- A pusher ------------------------------------------------------------------ */

/* Pushes jobs, and repeats until the push is answered. */
static bool push_surely(role *r, const tkl_push *jobs, size_t count, const char *request)
{
    int64_t until = test_now_ms() + SETTLE_MS;
    tkl_push_options options = {.request = tkl_str(request)};
    while (tkl_queue_push(r->queue, jobs, count, &options, NULL) != TKL_OK) {
        if (test_now_ms() > until)
            return false;
        test_sleep_ms(20);
    }
    return true;
}

static bool push_batch(role *r, int batch)
{
    static tkl_push jobs[BATCH_MAX];
    static char texts[BATCH_MAX][12];
    char request[64];
    int count = 1 + (int)dice(&r->seed, dice(&r->seed, 3) == 0 ? BATCH_MAX : 5);
    int first = atomic_fetch_add(&r->board->next, count);
    if (first + count > JOBS_MAX)
        return false;
    for (int i = 0; i < count; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%d", first + i);
        make_job(&jobs[i], first + i, texts[i]);
    }
    snprintf(request, sizeof(request), "%d/%d", r->life, batch);
    if (!push_surely(r, jobs, (size_t)count, request))
        return false;
    for (int i = 0; i < count; i++)
        atomic_store(&r->board->fates[first + i].answered_at, test_now_ms());
    return true;
}

static int pusher_main(char **argv)
{
    role r = {0};
    bool well = role_open(&r, argv);
    for (int i = 0; well && !atomic_load(&r.board->no_pushing); i++) {
        well = push_batch(&r, i);
        test_sleep_ms(dice(&r.seed, 60));
    }
    role_close(&r);
    return well ? 0 : 1;
}

/* ---- A worker ------------------------------------------------------------------ */

static int work(tkl_task *task, void *arg)
{
    role *r = arg;
    char text[16] = "";
    const tkl_job *job = tkl_task_job(task);
    memcpy(text, job->payload.data, job->payload.len < 15 ? job->payload.len : 15);
    int number = atoi(text);
    fate *f = &r->board->fates[number];
    atomic_fetch_add(&f->runs, 1);
    if (number % 3 == 0)
        test_sleep_ms(number % 9);
    if (always_fails(number) || (fails_first(number) && job->attempt == 1))
        return TKL_EIO;
    atomic_fetch_add(&f->done, 1);
    return TKL_OK;
}

static void publish(role *r, tkl_worker *worker)
{
    atomic_store(&r->board->lost[r->life], worker_stats(worker).lost);
}

static int worker_main(char **argv)
{
    role r = {0};
    tkl_worker *worker = NULL;
    tkl_worker_options options = {.threads = THREADS, .prefetch = PREFETCH, .lease_ms = LEASE_MS};
    if (!role_open(&r, argv) ||
        tkl_worker_start(&r.queue, 1, work, &r, &options, &worker) != TKL_OK)
        return 1;
    while (!atomic_load(&r.board->no_working)) {
        test_sleep_ms(5);
        publish(&r, worker);
    }
    int rc = tkl_worker_stop(worker, SETTLE_MS);
    publish(&r, worker);
    tkl_worker_close(worker);
    role_close(&r);
    return rc == TKL_OK ? 0 : 1;
}

/* ---- The troublemaker ------------------------------------------------------------ */

typedef struct storm {
    const char *url;
    void *servers;              /* for the two below */
    void (*cut)(void *servers); /* all connections */
    /* At a server; until when answers may have been lost with it, 0: none. */
    int64_t (*strike)(void *servers, int nth);
    int64_t strike_every_ms;
    board *board;
    int memory; /* file descriptor of the board */
    uint32_t seed;
    int lives; /* processes started */
    pid_t workers[WORKERS], pushers[PUSHERS];
    int worker_kills, pusher_kills, strikes, cuts;
    int64_t lossy_at[STRIKES_MAX][2]; /* from, to */
    int lossy;
} storm;

static pid_t spawn(storm *s, const char *what)
{
    char fd[16], seed[16], life[16];
    snprintf(fd, sizeof(fd), "%d", s->memory);
    snprintf(seed, sizeof(seed), "%u", dice(&s->seed, 1u << 20));
    snprintf(life, sizeof(life), "%d", s->lives++);
    assert_true(s->lives < LIVES_MAX);
    const char *args[] = {what, fd, s->url, seed, life, NULL};
    return start_self(0, args);
}

static void kill_someone(storm *s)
{
    uint32_t what = dice(&s->seed, 10);
    if (what < 3) {
        pid_t *victim = &s->workers[dice(&s->seed, WORKERS)];
        kill_self(*victim);
        *victim = spawn(s, "--worker");
        s->worker_kills++;
    } else if (what < 5) {
        pid_t *victim = &s->pushers[dice(&s->seed, PUSHERS)];
        kill_self(*victim);
        *victim = spawn(s, "--pusher");
        s->pusher_kills++;
    }
}

static void strike(storm *s)
{
    int64_t from = test_now_ms() - REPLICATE_MS;
    int64_t to = s->strike(s->servers, s->strikes++);
    if (to == 0)
        return;
    assert_true(s->lossy < STRIKES_MAX);
    s->lossy_at[s->lossy][0] = from;
    s->lossy_at[s->lossy++][1] = to + NOTE_MS;
}

static void rage(storm *s, int64_t ms)
{
    int64_t now = test_now_ms(), end = now + ms;
    int64_t cut_at = now + 1000, strike_at = now + s->strike_every_ms;
    for (; (now = test_now_ms()) < end; test_sleep_ms(50 + dice(&s->seed, 100))) {
        kill_someone(s);
        if (now > cut_at) {
            s->cut(s->servers);
            s->cuts++;
            cut_at = now + 1000;
        }
        if (now > strike_at) {
            strike(s);
            strike_at = test_now_ms() + s->strike_every_ms;
        }
    }
}

/* ---- The checks ------------------------------------------------------------------ */

static bool at_rest(tkl_queue *queue)
{
    tkl_queue_stats stats;
    return tkl_queue_stats_get(queue, &stats) == TKL_OK &&
           stats.ready + stats.active + stats.delayed + stats.held == 0;
}

static void expect_rest(tkl_queue *queue)
{
    int64_t until = test_now_ms() + SETTLE_MS;
    while (!at_rest(queue) && test_now_ms() < until)
        test_sleep_ms(5);
    tkl_queue_stats stats = stats_of(queue);
    if (stats.ready + stats.active + stats.delayed + stats.held != 0)
        fail_msg("ready %d, active %d, delayed %d, held %d, waiting %d", (int)stats.ready,
                 (int)stats.active, (int)stats.delayed, (int)stats.held, (int)stats.waiters);
}

static char *find_dead(tkl_queue *queue)
{
    char *dead = calloc(JOBS_MAX, 1);
    assert_non_null(dead);
    for (size_t skip = 0, count = 1; count > 0; skip += count) {
        tkl_listing *page;
        assert_ok(tkl_queue_peek(queue, TKL_JOB_STATE_DEAD, skip, 1000, 0, &page));
        count = page->count;
        for (size_t i = 0; i < count; i++) {
            char text[16] = "";
            tkl_bytes payload = page->items[i].payload;
            memcpy(text, payload.data, payload.len < 15 ? payload.len : 15);
            dead[atoi(text)] = 1;
        }
        tkl_listing_free(page);
    }
    return dead;
}

static bool may_be_lost(const storm *s, int64_t answered_at)
{
    for (int i = 0; i < s->lossy; i++)
        if (answered_at >= s->lossy_at[i][0] && answered_at <= s->lossy_at[i][1])
            return true;
    return false;
}

typedef struct sum {
    int answered, runs, twice, dead, gone;
    uint64_t lost;
} sum;

static sum add_up(const storm *s, const char *dead)
{
    sum all = {0};
    for (int i = 0; i < atomic_load(&s->board->next) && i < JOBS_MAX; i++) {
        fate *f = &s->board->fates[i];
        int64_t answered_at = atomic_load(&f->answered_at);
        int done = atomic_load(&f->done);
        all.answered += answered_at != 0;
        all.runs += atomic_load(&f->runs);
        all.twice += done > 1 ? done - 1 : 0;
        all.dead += dead[i];
        if (answered_at == 0 || done > 0 || dead[i])
            continue;
        if (!may_be_lost(s, answered_at))
            fail_msg("job %d was pushed, and is nowhere", i);
        all.gone++;
    }
    for (int i = 0; i < s->lives; i++)
        all.lost += atomic_load(&s->board->lost[i]);
    return all;
}

static void check(storm *s, tkl_queue *queue)
{
    char *dead = find_dead(queue);
    sum all = add_up(s, dead);
    tkl_queue_stats stats = stats_of(queue);
    free(dead);
    print_message("%d pushes answered, %d runs, %d dead; done again: %d (lost claims: %" PRIu64
                  "); "
                  "lost with a master: %d; killed: %d workers, %d pushers; %d strikes, %d cuts\n",
                  all.answered, all.runs, all.dead, all.twice, all.lost, all.gone, s->worker_kills,
                  s->pusher_kills, s->strikes, s->cuts);
    assert_true(all.answered > 50 && all.dead > 0);
    if (stats.pushed != stats.done + stats.dead)
        fail_msg("%d pushed, %d done, %d dead", (int)stats.pushed, (int)stats.done,
                 (int)stats.dead);
    assert_int_equal(stats.dead, all.dead);
    /* Done jobs that a master forgot come back, too. */
    if (s->lossy == 0)
        assert_in_range(all.twice, 0, all.lost + (uint64_t)(s->worker_kills * UNREPORTED));
}

/* Checks that workers that waited during the strike still hear of new jobs. */
static void wake_after_strike(storm *s, tkl_queue *queue)
{
    char text[12];
    strike(s);
    for (int i = 0; i < WORKERS * THREADS; i++) {
        int number = atomic_fetch_add(&s->board->next, 50) / 50 * 50 + 50; /* a plain one */
        snprintf(text, sizeof(text), "%d", number);
        eventually(tkl_queue_push(queue, &(tkl_push){.payload = tkl_str(text)}, 1, NULL, NULL) ==
                       TKL_OK,
                   SETTLE_MS);
        eventually(atomic_load(&s->board->fates[number].done) > 0, SETTLE_MS);
    }
    expect_rest(queue);
}

/* ---- The whole ------------------------------------------------------------------- */

static void end_all(const pid_t *pids, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(process_wait(pids[i]), 0);
}

static void run(storm *s, int64_t ms)
{
    s->seed = (uint32_t)getpid();
    s->memory = memfd_create("board", 0);
    assert_int_equal(ftruncate(s->memory, sizeof(board)), 0);
    s->board = mmap(NULL, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED, s->memory, 0);
    assert_true(s->board != MAP_FAILED);
    tkl_client *client = test_open(s->url, NULL);
    tkl_queue *queue = open_queue(client, "storm", 1);
    for (int i = 0; i < WORKERS; i++)
        s->workers[i] = spawn(s, "--worker");
    for (int i = 0; i < PUSHERS; i++)
        s->pushers[i] = spawn(s, "--pusher");
    rage(s, ms);
    atomic_store(&s->board->no_pushing, true);
    end_all(s->pushers, PUSHERS);
    expect_rest(queue);
    wake_after_strike(s, queue);
    atomic_store(&s->board->no_working, true);
    end_all(s->workers, WORKERS);
    assert_true(at_rest(queue));
    check(s, queue);
    tkl_queue_close(queue);
    tkl_close(client);
    munmap(s->board, sizeof(board));
    close(s->memory);
}

static int64_t ms_each(void)
{
    const char *text = getenv("TACKLE_STRESS");
    int64_t all = text != NULL ? atoll(text) * 1000 : 24000;
    return all > 6000 ? all / 3 : 2000;
}

static void cut_server(server *s)
{
    if (s->pid == 0)
        return;
    server_do(s, "CLIENT KILL TYPE pubsub");
    server_do(s, "CLIENT KILL TYPE normal");
}

/* ---- On one server --------------------------------------------------------------- */

static void cut_one(void *servers)
{
    cut_server(servers);
}

static int64_t crash_one(void *servers, int nth)
{
    server_kill(servers);
    test_sleep_ms(nth % 3 * 150);
    server_restart(servers);
    return 0;
}

static void nothing_is_lost_on_one_server(void **state)
{
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    (void)state;
    server *one = server_start(&(server_options){.config = config});
    storm s = {.url = one->url,
               .servers = one,
               .cut = cut_one,
               .strike = crash_one,
               .strike_every_ms = 2000};
    run(&s, ms_each());
    server_end(one);
}

/* ---- In a cluster ---------------------------------------------------------------- */

static int storm_slot(void)
{
    return tkl__slot_of(tkl_str("tackle:queue:{storm}:meta"));
}

static void cut_cluster(void *servers)
{
    cluster *c = servers;
    for (int i = 0; i < CLUSTER_SIZE; i++)
        cut_server(c->servers[i]);
}

/* Fails over: the first time as planned, which loses nothing; later the master dies. */
static int64_t fail_over_cluster(void *servers, int nth)
{
    cluster *c = servers;
    if (nth % 2 == 0) {
        cluster_fail_over(c, storm_slot());
        return 0;
    }
    server *master = NULL;
    eventually((master = cluster_owner(c, storm_slot())) != NULL, SETTLE_MS);
    server_kill(master);
    int64_t dead_at = test_now_ms();
    eventually(cluster_owner(c, storm_slot()) != NULL, SETTLE_MS);
    cluster_heal(c);
    return dead_at;
}

static void little_is_lost_with_a_master_of_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    storm s = {.url = c->url,
               .servers = c,
               .cut = cut_cluster,
               .strike = fail_over_cluster,
               .strike_every_ms = 2500};
    run(&s, ms_each());
    cluster_end(c);
}

/* ---- Under Sentinels --------------------------------------------------------------- */

static void cut_trio(void *servers)
{
    sentinels *trio = servers;
    for (int i = 0; i < 3; i++)
        cut_server(trio->data[i]);
}

/* Fails over: first the master dies, and comes back as a master before the Sentinels demote it,
 * which must deceive no client. Then a planned failover: the old master takes writes until it is
 * demoted. */
static int64_t fail_over_trio(void *servers, int nth)
{
    sentinels *trio = servers;
    server *old = NULL;
    eventually((old = sentinels_master(trio)) != NULL, SETTLE_MS);
    if (nth % 2 == 1) {
        sentinels_fail_over(trio);
        sentinels_heal(trio);
        return test_now_ms();
    }
    server_kill(old);
    int64_t dead_at = test_now_ms();
    sentinels_await_other(trio, old);
    sentinels_heal(trio);
    return dead_at;
}

static void little_is_lost_with_a_master_under_sentinels(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    storm s = {.url = trio->url,
               .servers = trio,
               .cut = cut_trio,
               .strike = fail_over_trio,
               .strike_every_ms = ms_each() / 2};
    run(&s, ms_each());
    sentinels_end(trio);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--pusher") == 0)
        return pusher_main(argv);
    if (argc > 1 && strcmp(argv[1], "--worker") == 0)
        return worker_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_lost_on_one_server),
        cmocka_unit_test(little_is_lost_with_a_master_of_a_cluster),
        cmocka_unit_test(little_is_lost_with_a_master_under_sentinels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
