/* SPDX-License-Identifier: MIT
 *
 * Five processes stand for one name. They resign, and are killed and stopped at random. The test
 * checks that
 *
 *   - never two lead by their own clocks (all share this machine's monotonic clock);
 *   - terms rise in the order in which they led;
 *   - a register takes writes in the order of terms, and refuses no leader.
 *
 * It checks the same when a master under Sentinels dies, and in failovers of a cluster and by
 * Sentinels.
 *
 * ctest: label threads
 * ctest: cost 20
 */
#include <inttypes.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <tackle/leader.h>

#include "support/call.h"
#include "support/clustered.h"
#include "support/locks.h"
#include "support/process.h"

enum { CANDIDATES = 5, LOG_MAX = 20000, RUN_MS = 3500, LEASE_MS = 500 };

typedef struct reign {
    _Atomic int64_t start, end; /* microseconds; led for sure all the while */
    _Atomic uint64_t term;
} reign;

/* Memory that all processes share. */
typedef struct chronicle {
    atomic_bool stop;
    atomic_int used;
    atomic_int wrongly; /* refused by the register while it led */
    atomic_int errors;
    reign log[LOG_MAX];
} chronicle;

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* How far the wall clock, which the server uses, is ahead of the monotonic one. */
static int64_t wall_ahead_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000 - now_us();
}

static uint32_t dice(uint32_t *seed, uint32_t sides)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % sides;
}

/* ---- A candidate, in a process of its own ----------------------------------- */

/* Whether the candidate leads; *when is the moment before it asked. */
static bool leads(tkl_leader *leader, int64_t *when)
{
    *when = now_us();
    return tkl_leader_leads(leader);
}

/* Prints the first error, and lets the server recover. */
static void note_error(chronicle *c, const char *what)
{
    if (atomic_fetch_add(&c->errors, 1) == 0)
        fprintf(stderr, "%s: %s\n", what, tkl_errmsg());
    test_sleep_ms(20);
}

/* False: the register has seen a higher term. */
static bool write_register(tkl_client *client, chronicle *c, uint64_t term)
{
    static const char script[] =
        "if tonumber(ARGV[1]) < tonumber(redis.call('GET', KEYS[1]) or 0) then return 0 end "
        "redis.call('SET', KEYS[1], ARGV[1], 'EX', 600) return 1";
    char text[24];
    tkl_reply *reply;
    snprintf(text, sizeof text, "%" PRIu64, term);
    int rc = tkl_callz(client, &reply, "EVAL", script, "1", "register", text, NULL);
    bool taken = rc == TKL_OK && tkl_reply_int(reply) == 1;
    if (rc != TKL_OK)
        note_error(c, "the register");
    tkl_reply_free(reply);
    return rc != TKL_OK || taken;
}

static void lead(chronicle *c, tkl_client *client, tkl_leader *leader, int64_t for_us)
{
    int64_t when;
    if (!leads(leader, &when))
        return;
    int at = atomic_fetch_add(&c->used, 1);
    reign *r = &c->log[at < LOG_MAX ? at : LOG_MAX - 1];
    atomic_store(&r->term, tkl_leader_term(leader));
    atomic_store(&r->end, when);
    atomic_store(&r->start, when);
    for (int64_t until = when + for_us; when < until && leads(leader, &when);) {
        atomic_store(&r->end, when);
        uint64_t term = tkl_leader_term(leader);
        if (!write_register(client, c, term) && leads(leader, &when) &&
            tkl_leader_term(leader) == term)
            atomic_fetch_add(&c->wrongly, 1);
        test_sleep_ms(1);
    }
}

/* --candidate FD url lease replicas seed */
static int candidate_main(char **argv)
{
    tkl_leader_options options = {.lease_ms = atoll(argv[4]), .replicas = atoi(argv[5])};
    uint32_t seed = (uint32_t)atoll(argv[6]);
    tkl_client *client;
    tkl_leader *leader;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    chronicle *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[2]), 0);
    if (c == MAP_FAILED || tkl_open(argv[3], NULL, &client) != TKL_OK ||
        tkl_leader_open(client, tkl_str("seat"), &options, &leader) != TKL_OK)
        return 1;
    while (!atomic_load(&c->stop)) {
        int rc = tkl_leader_campaign(leader, 1000);
        if (rc == TKL_OK) {
            lead(c, client, leader, (int64_t)dice(&seed, 300000));
            if (tkl_leader_leads(leader))
                tkl_leader_resign(leader);
        } else if (rc < 0 && rc != TKL_ELOST) { /* lost: it was stopped while it was elected */
            note_error(c, "campaign");
        }
    }
    tkl_leader_close(leader);
    tkl_close(client);
    return 0;
}

/* ---- An election ------------------------------------------------------------- */

typedef struct election {
    const char *url;
    int lease_ms, replicas;
    uint32_t seed;
    int memory;         /* file descriptor of the chronicle */
    int64_t wall_ahead; /* microseconds, at the beginning */
    chronicle *chronicle;
    pid_t pids[CANDIDATES];
} election;

extern char **environ;

static pid_t spawn_candidate(election *e)
{
    char fd[16], lease[16], replicas[16], seed[16];
    pid_t pid;
    snprintf(fd, sizeof fd, "%d", e->memory);
    snprintf(lease, sizeof lease, "%d", e->lease_ms);
    snprintf(replicas, sizeof replicas, "%d", e->replicas);
    snprintf(seed, sizeof seed, "%u", dice(&e->seed, 1u << 20));
    char *argv[] = {"/proc/self/exe", "--candidate", fd,  (char *)e->url, lease,
                    replicas,         seed,          NULL};
    assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
    return pid;
}

/* The caller sets url, lease_ms and replicas. */
static void election_begin(election *e)
{
    e->seed = (uint32_t)getpid();
    e->wall_ahead = wall_ahead_us();
    e->memory = memfd_create("chronicle", 0);
    assert_int_equal(ftruncate(e->memory, sizeof(chronicle)), 0);
    e->chronicle =
        mmap(NULL, sizeof *e->chronicle, PROT_READ | PROT_WRITE, MAP_SHARED, e->memory, 0);
    assert_true(e->chronicle != MAP_FAILED);
    for (int i = 0; i < CANDIDATES; i++)
        e->pids[i] = spawn_candidate(e);
}

/* Kills a candidate, and starts another one in its place. */
static void kill_candidate(election *e, int index)
{
    kill(e->pids[index], SIGKILL);
    process_wait(e->pids[index]);
    e->pids[index] = spawn_candidate(e);
}

/* Waits until all have led about once more. */
static void election_goes_on(const election *e)
{
    int before = e->chronicle->used;
    eventually(e->chronicle->used > before + CANDIDATES, LONG_MS);
}

static int by_start(const void *a, const void *b)
{
    int64_t x = ((const reign *)a)->start, y = ((const reign *)b)->start;
    return (x > y) - (x < y);
}

static void check_reigns(reign *log, int count)
{
    qsort(log, (size_t)count, sizeof *log, by_start);
    for (int i = 1; i < count; i++) {
        if (log[i - 1].start == 0) /* it was killed before it wrote this down */
            continue;
        if (log[i - 1].end > log[i].start)
            fail_msg("two lead at %" PRId64, log[i].start);
        if (log[i].term <= log[i - 1].term)
            fail_msg("term %" PRIu64 " after %" PRIu64, log[i].term, log[i - 1].term);
    }
}

/* Ends the election, and checks its records. */
static void election_end(election *e)
{
    chronicle *c = e->chronicle;
    election_goes_on(e);
    c->stop = true;
    for (int i = 0; i < CANDIDATES; i++)
        assert_int_equal(process_wait(e->pids[i]), 0);
    int count = c->used;
    print_message("%d terms\n", count);
    assert_in_range(count, CANDIDATES, LOG_MAX - 1);
    if (llabs(wall_ahead_us() - e->wall_ahead) < 50000)
        check_reigns(c->log, count);
    else
        print_message("not checked: the clock was set meanwhile, so leases ended early\n");
    assert_int_equal(c->wrongly, 0);
    munmap(c, sizeof *c);
    close(e->memory);
}

/* ---- Kills and stops --------------------------------------------------------- */

static void make_trouble(election *e)
{
    int victim = (int)dice(&e->seed, CANDIDATES);
    if (dice(&e->seed, 3) == 0) {
        kill_candidate(e, victim);
    } else {
        kill(e->pids[victim], SIGSTOP);
        test_sleep_ms(dice(&e->seed, 3 * LEASE_MS / 2));
        kill(e->pids[victim], SIGCONT);
    }
}

static void there_are_never_two(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    election e = {.url = s->url, .lease_ms = LEASE_MS};
    election_begin(&e);
    for (int64_t end = test_now_ms() + RUN_MS; test_now_ms() < end;) {
        make_trouble(&e);
        assert_all_keys_expire(s);
    }
    assert_int_equal(e.chronicle->errors, 0);
    election_end(&e);
    server_end(s);
}

/* The master dies, and so do candidates, the leader among them. An election counts when both
 * replicas know of it: whichever the Sentinels choose, the new master knows it, too. */
static void there_are_never_two_when_a_master_dies(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    election e = {.url = trio->url, .lease_ms = 3000, .replicas = 2};
    election_begin(&e);
    election_goes_on(&e);
    server *old = sentinels_master(trio);
    server_kill(old);
    kill_candidate(&e, 0);
    sentinels_await_other(trio, old);
    sentinels_heal(trio);
    election_goes_on(&e);
    for (int i = 0; i < CANDIDATES; i++)
        kill_candidate(&e, i);
    election_end(&e);
    sentinels_end(trio);
}

/* ---- Failovers --------------------------------------------------------------- */

typedef struct standing {
    tkl_leader *leader;
    int result;
} standing;

static void stand(void *arg, int index)
{
    standing *s = arg;
    (void)index;
    s->result = tkl_leader_campaign(s->leader, -1);
}

/* `replicas`: the one that takes over must know of the leader, so all of them must. */
static tkl_leader *open_seat(tkl_client *client, int replicas)
{
    tkl_leader_options options = {.lease_ms = 60000, .replicas = replicas};
    tkl_leader *leader;
    assert_ok(tkl_leader_open(client, tkl_str("seat"), &options, &leader));
    return leader;
}

static int64_t candidates(tkl_leader *probe)
{
    tkl_holders *h;
    if (tkl_leader_show(probe, &h) != TKL_OK)
        return -1;
    int64_t count = h->waiters;
    tkl_holders_free(h);
    return count;
}

/* Checks that the leader still leads, and that the candidate follows it when it resigns. */
static void survive(const char *url, int replicas, void (*fail_over)(void *), void *where)
{
    tkl_client *client = test_open(url, &(tkl_options){.timeout_ms = 60000});
    tkl_client *second = test_open(url, &(tkl_options){.timeout_ms = 60000});
    tkl_leader *leader = open_seat(client, replicas);
    standing next = {.leader = open_seat(second, 0)};
    assert_ok(tkl_leader_campaign(leader, LONG_MS));
    uint64_t term = tkl_leader_term(leader);
    crew *thread = crew_start(1, stand, &next);
    eventually(candidates(leader) == 1, LONG_MS);
    fail_over(where);
    assert_true(tkl_leader_leads(leader));
    assert_int_equal(tkl_leader_term(leader), term);
    assert_false(tkl_leader_leads(next.leader));
    assert_ok(tkl_leader_resign(leader));
    crew_join(thread);
    assert_ok(next.result);
    assert_true(tkl_leader_term(next.leader) > term);
    tkl_leader_close(leader);
    tkl_leader_close(next.leader);
    tkl_close(second);
    tkl_close(client);
}

static void fail_over_cluster(void *where)
{
    cluster_fail_over(where, slot_of("{seat}"));
}

static void fail_over_sentinels(void *where)
{
    sentinels_fail_over(where);
}

static void a_leader_outlasts_a_failover_of_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    survive(c->url, 1, fail_over_cluster, c);
    cluster_end(c);
}

static void a_leader_outlasts_a_failover_by_sentinels(void **state)
{
    (void)state;
    sentinels *trio = sentinels_start();
    survive(trio->url, 2, fail_over_sentinels, trio);
    sentinels_end(trio);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--candidate") == 0)
        return candidate_main(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_are_never_two),
        cmocka_unit_test(there_are_never_two_when_a_master_dies),
        cmocka_unit_test(a_leader_outlasts_a_failover_of_a_cluster),
        cmocka_unit_test(a_leader_outlasts_a_failover_by_sentinels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
