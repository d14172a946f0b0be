/* SPDX-License-Identifier: MIT
 *
 * The queue against a model of its contract: random operations on both, and always the same
 * answers, the same order and the same statistics; and at the end an empty queue has left nothing
 * behind.
 *
 * Time does not pass by itself here: what is delayed becomes due, and leases end, when the test
 * moves their times on the server.
 *
 * ctest: timeout 300
 */
#include <tackle/queue.h>

#include "support/fixture.h"
#include "support/insides.h"
#include "support/jobs.h"

enum {
    ROUNDS = 6,
    STEPS = 2500,
    CROWD = 60, /* jobs in the queue beyond which fewer are pushed */
    BATCH = 6,
    KEYS = 6, /* unique keys */
    GROUPS = 4,
    MOST = ROUNDS * STEPS * BATCH,
    FAR_MS = 1000000000,
};

/* ---- Chance -------------------------------------------------------------- */

static uint64_t seed;

static int chance(int below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (uint64_t)below);
}

static bool happens(int percent)
{
    return chance(100) < percent;
}

/* ---- The model ----------------------------------------------------------- */

typedef enum state { READY, DELAYED, FLOW, PARKED, ACTIVE, DEAD, GONE } state;

typedef struct job {
    char id[TKL_JOB_ID_SIZE];
    char token[TKL_CLAIM_TOKEN_SIZE]; /* of its last claim */
    state state;
    int priority, retries, failures;
    int64_t bytes, result_ms;
    int region;     /* of a ready one: 0 came back, 1 was delayed, 2 as pushed */
    int64_t due;    /* of one that is due, or was: their order */
    bool later;     /* of a flow's parent: has a delay too */
    int key;        /* unique; -1: none */
    int group;      /* -1: none */
    bool counts;    /* has a place in its group */
    bool expired;   /* its lease has ended, and nobody has noticed */
    int64_t expiry; /* ... in this order */
    int64_t death;  /* order of the dead; INT64_MAX: just now */
    tkl_unique_mode mode;
    int pending; /* children */
    int parents[BATCH * 4];
    int nparents;
} job;

static struct model {
    job *jobs;
    int count;
    int live[MOST], nlive; /* those that are not gone, by push */
    int holder[KEYS];      /* of a unique key; -1: nobody */
    bool timed[KEYS];      /* it is held for a time */
    int inside[GROUPS];
    int64_t pushed, done, failed, bytes, trimmed;
    bool paused;
    tkl_queue_limits limits;
    int64_t clock; /* of times that the test sets */
    int64_t born;  /* an hour ago, by the server's clock: no dead letter is too old */
} m;

static const tkl_bytes keys[KEYS] = {{"k", 1},  {"\0", 1},   {"\xff", 1},
                                     {"{}", 2}, {"k\0k", 3}, {"a\nb", 3}};
static const tkl_bytes groups[GROUPS] = {{"g", 1}, {"g\0", 2}, {"\xff{", 2}, {"g0", 2}};

static fixture *f;
static tkl_queue *queue;
static tkl_consumer *consumer;

static bool before(const job *a, const job *b)
{
    if (a->priority != b->priority)
        return a->priority < b->priority;
    if (a->region != b->region)
        return a->region < b->region;
    if (a->region == 1 && a->due != b->due)
        return a->due < b->due;
    return strcmp(a->id, b->id) < 0;
}

static int count_in(state s)
{
    int n = 0;
    for (int i = 0; i < m.nlive; i++)
        n += m.jobs[m.live[i]].state == s;
    return n;
}

static void become(job *j, state s)
{
    j->state = s;
    if (s != GONE)
        return;
    int at = 0;
    while (m.live[at] != (int)(j - m.jobs))
        at++;
    memmove(&m.live[at], &m.live[at + 1], (size_t)(--m.nlive - at) * sizeof *m.live);
    m.bytes -= j->bytes;
}

static void become_ready(job *j, int region)
{
    become(j, READY);
    j->region = region;
}

/* The next of a group that was parked: by priority, then by push. */
static void unpark(int group)
{
    job *first = NULL;
    for (int i = 0; i < m.nlive; i++) {
        job *j = &m.jobs[m.live[i]];
        if (j->state == PARKED && j->group == group && (!first || before(j, first)))
            first = j;
    }
    if (first)
        become_ready(first, 2);
}

static void free_key(job *j)
{
    if (j->key >= 0 && m.holder[j->key] == j - m.jobs && !m.timed[j->key])
        m.holder[j->key] = -1;
}

static void free_place(job *j)
{
    if (j->group < 0)
        return;
    if (j->counts)
        m.inside[j->group]--;
    j->counts = false;
    unpark(j->group);
}

/* Nobody has to wait for it any more. */
static void tell_parents(const job *j)
{
    for (int i = 0; i < j->nparents; i++) {
        job *parent = &m.jobs[j->parents[i]];
        if (parent->state == FLOW && --parent->pending == 0) {
            if (parent->later)
                become(parent, DELAYED);
            else
                become_ready(parent, 2);
        }
    }
}

/* It has ended for good: done, cancelled or removed. */
static void forget(job *j)
{
    become(j, GONE);
    free_key(j);
    free_place(j);
    tell_parents(j);
}

/* The oldest of the dead letters. */
static job *oldest_dead(void)
{
    job *oldest = NULL;
    for (int i = 0; i < m.nlive; i++) {
        job *j = &m.jobs[m.live[i]];
        if (j->state == DEAD && (!oldest || j->death < oldest->death))
            oldest = j;
    }
    return oldest;
}

/* Those beyond the limit go: at each burial two at most, all when the limit is set. */
static void trim(int most)
{
    int over = count_in(DEAD) - (int)m.limits.dead_max;
    for (int i = 0; m.limits.dead_max > 0 && i < over && i < most; i++) {
        job *oldest = oldest_dead();
        become(oldest, GONE);
        tell_parents(oldest);
        m.trimmed++;
    }
}

static void die(job *j)
{
    become(j, DEAD);
    j->death = INT64_MAX; /* see settle_deaths() */
    trim(2);
    free_key(j);
    free_place(j);
}

static void note_failure(job *j)
{
    m.failed++;
    j->failures++;
}

/* ---- Comparing ----------------------------------------------------------- */

/* The next claim makes it ready; for those who look it is already. */
static bool is_due(const job *j)
{
    return j->state == DELAYED && j->due > 0;
}

/* Its lease has ended, and that was not its last attempt: the same. */
static bool is_back(const job *j)
{
    return j->state == ACTIVE && j->expired && j->failures < j->retries;
}

static int count(bool (*is)(const job *))
{
    int n = 0;
    for (int i = 0; i < m.nlive; i++)
        n += is(&m.jobs[m.live[i]]);
    return n;
}

static void compare_stats(void)
{
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.ready, count_in(READY) + count(is_due) + count(is_back));
    assert_int_equal(s.delayed, count_in(DELAYED) - count(is_due));
    assert_int_equal(s.held, count_in(FLOW) + count_in(PARKED));
    assert_int_equal(s.active, count_in(ACTIVE) - count(is_back));
    assert_int_equal(s.dead, count_in(DEAD));
    assert_int_equal(s.pushed, m.pushed);
    assert_int_equal(s.done, m.done);
    assert_int_equal(s.failed, m.failed);
    assert_int_equal(s.bytes, m.bytes);
    assert_int_equal(s.paused, m.paused);
}

static void compare_groups(void)
{
    for (int i = 0; i < GROUPS; i++)
        assert_int_equal(inside_group(f->client, groups[i]), m.inside[i]);
}

static void compare_job(const job *j)
{
    static const tkl_job_state states[] = {
        [READY] = TKL_JOB_STATE_READY,   [DELAYED] = TKL_JOB_STATE_DELAYED,
        [FLOW] = TKL_JOB_STATE_HELD,     [PARKED] = TKL_JOB_STATE_HELD,
        [ACTIVE] = TKL_JOB_STATE_ACTIVE, [DEAD] = TKL_JOB_STATE_DEAD,
        [GONE] = TKL_JOB_STATE_UNKNOWN,
    };
    tkl_listing *l;
    int rc = tkl_queue_show(queue, j->id, &l);
    if (j->state == GONE && j->result_ms == 0)
        assert_code(rc, TKL_NOTFOUND);
    else if (j->state != GONE) {
        assert_ok(rc);
        assert_int_equal(l->items[0].state,
                         is_due(j) || is_back(j) ? TKL_JOB_STATE_READY : states[j->state]);
        assert_int_equal(l->items[0].attempt, j->failures);
        assert_int_equal(l->items[0].priority, j->priority);
    }
    tkl_listing_free(l);
}

/* Some job: mostly one that is in the queue. */
static job *some_job(void)
{
    if (m.nlive > 0 && happens(95))
        return &m.jobs[m.live[chance(m.nlive)]];
    return m.count > 0 ? &m.jobs[chance(m.count)] : NULL;
}

static job *some_job_in(state s)
{
    int n = count_in(s), pick = n > 0 ? chance(n) : -1;
    for (int i = 0; i < m.nlive; i++)
        if (m.jobs[m.live[i]].state == s && pick-- == 0)
            return &m.jobs[m.live[i]];
    return NULL;
}

/* Those that died a moment ago: their order is decided here. */
static void settle_deaths(void)
{
    for (int i = 0; i < m.nlive; i++) {
        job *j = &m.jobs[m.live[i]];
        if (j->state != DEAD || j->death != INT64_MAX)
            continue;
        j->death = m.born + ++m.clock;
        inside_set_death(f->client, j->id, j->death);
    }
}

/* ---- Pushing ------------------------------------------------------------- */

static void make_push(tkl_push *push, job *j, int index, size_t *after)
{
    static const int retries[] = {-1, 1, 2, 0};
    *push = (tkl_push){.payload = tkl_str(happens(50) ? "payload" : "")};
    *j = (job){.key = -1, .group = -1};
    push->priority = j->priority = happens(40) ? chance(5) - 2 : 0;
    push->retries = retries[chance(4)];
    j->retries = push->retries < 0 ? 0 : push->retries == 0 ? 10 : push->retries;
    if (happens(15))
        push->delay_ms = FAR_MS;
    if (happens(10))
        push->result_ms = j->result_ms = 60000;
    if (happens(30)) {
        j->key = chance(KEYS);
        push->unique = keys[j->key];
        push->unique_mode = j->mode = (tkl_unique_mode)chance(happens(20) ? 3 : 2);
        push->unique_ms = j->mode == TKL_UNIQUE_FOR_A_TIME ? FAR_MS : 0;
    }
    if (happens(40)) {
        j->group = chance(GROUPS);
        push->group = groups[j->group];
    }
    if (index > 0 && happens(25)) {
        push->after = after;
        push->after_count = (size_t)chance(3);
        for (size_t i = 0; i < push->after_count; i++)
            after[i] = (size_t)chance(index);
    }
}

/* What becomes of the job with this index of a push; `told`: jobs by index, -1 for no room. */
static int model_push(const tkl_push *push, job *j, int index, int *told, bool flow)
{
    told[index] = -1;
    if (j->key >= 0 && m.holder[j->key] >= 0) {
        told[index] = m.holder[j->key];
        return TKL_EXISTS;
    }
    for (size_t i = 0; i < push->after_count; i++)
        if (told[push->after[i]] < 0)
            return TKL_FULL;
    if (m.limits.max_jobs > 0 && m.nlive - count_in(DEAD) >= m.limits.max_jobs)
        return TKL_FULL;
    int me = told[index] = m.count++;
    m.live[m.nlive++] = me;
    j->region = 2;
    j->bytes = inside_record_size(push, flow);
    j->later = push->delay_ms > 0;
    for (size_t i = 0; i < push->after_count; i++) {
        job *child = &m.jobs[told[push->after[i]]];
        if (child->state != GONE) {
            child->parents[child->nparents++] = me;
            j->pending++;
        }
    }
    j->state = j->pending > 0 ? FLOW : j->later ? DELAYED : READY;
    if (j->key >= 0) {
        m.holder[j->key] = me;
        m.timed[j->key] = j->mode == TKL_UNIQUE_FOR_A_TIME;
    }
    m.pushed++;
    m.bytes += j->bytes;
    m.jobs[me] = *j;
    return TKL_OK;
}

static bool has_room_for_parents(void)
{
    for (int i = 0; i < KEYS; i++)
        if (m.holder[i] >= 0 && m.jobs[m.holder[i]].nparents > BATCH)
            return false;
    return true;
}

static void do_push(void)
{
    tkl_push pushes[BATCH];
    tkl_pushed pushed[BATCH];
    job drafts[BATCH];
    size_t after[BATCH][3];
    int told[BATCH], codes[BATCH], first = TKL_OK, count = 1 + chance(BATCH);
    bool flow = false;
    for (int i = 0; i < count; i++) {
        make_push(&pushes[i], &drafts[i], i, after[i]);
        if (!has_room_for_parents())
            pushes[i].after_count = 0;
        flow = flow || pushes[i].after_count > 0;
    }
    int rc = tkl_queue_push(queue, pushes, (size_t)count, NULL, pushed);
    for (int i = 0; i < count; i++) {
        codes[i] = model_push(&pushes[i], &drafts[i], i, told, flow);
        assert_code(pushed[i].code, codes[i]);
        if (codes[i] == TKL_OK)
            memcpy(m.jobs[told[i]].id, pushed[i].id, sizeof pushed[i].id);
        else if (codes[i] == TKL_EXISTS)
            assert_string_equal(pushed[i].id, m.jobs[told[i]].id);
        if (codes[i] == TKL_FULL && first == TKL_OK)
            first = TKL_FULL;
    }
    assert_code(rc, first);
}

/* ---- Claiming ------------------------------------------------------------ */

/* Those whose lease has ended, in the order of their ends. */
static job *first_expired(void)
{
    job *first = NULL;
    for (int i = 0; i < m.nlive; i++) {
        job *j = &m.jobs[m.live[i]];
        if (j->state == ACTIVE && j->expired && (!first || j->expiry < first->expiry))
            first = j;
    }
    return first;
}

static void model_reclaim(void)
{
    for (job *j; (j = first_expired());) {
        j->expired = false;
        note_failure(j);
        if (j->failures > j->retries)
            die(j);
        else
            become_ready(j, 0);
    }
}

static void model_promote(void)
{
    for (int i = 0; i < m.nlive; i++) {
        job *j = &m.jobs[m.live[i]];
        if (is_due(j))
            become_ready(j, 1);
    }
}

/* What every claim does first. */
static void model_look(void)
{
    model_promote();
    model_reclaim();
}

/* Whether a job may start; if so it counts. */
static bool may_start(job *j)
{
    if (j->group >= 0 && !j->counts) {
        if (m.limits.group_concurrency > 0 && m.inside[j->group] >= m.limits.group_concurrency)
            return false;
        m.inside[j->group]++;
        j->counts = true;
    }
    if (j->mode == TKL_UNIQUE_UNTIL_STARTED)
        free_key(j);
    return true;
}

static int by_turn(const void *a, const void *b)
{
    const job *x = &m.jobs[*(const int *)a], *y = &m.jobs[*(const int *)b];
    return before(x, y) ? -1 : before(y, x) ? 1 : 0;
}

/* The first `max` of what is ready, without those of groups that must wait: they are parked. */
static int model_take(int max, int *taken)
{
    static int ready[MOST];
    int n = 0, parked;
    do {
        int count = 0;
        parked = 0;
        for (int i = 0; i < m.nlive; i++)
            if (m.jobs[m.live[i]].state == READY)
                ready[count++] = m.live[i];
        qsort(ready, (size_t)count, sizeof *ready, by_turn);
        for (int i = 0; i < count && i < max; i++) {
            job *j = &m.jobs[ready[i]];
            if (may_start(j)) {
                become(j, ACTIVE);
                taken[n++] = ready[i];
            } else {
                become(j, PARKED);
                j->region = 2;
                parked++;
            }
        }
    } while (n == 0 && parked > 0);
    return n;
}

static void do_claim(void)
{
    claimed got[BATCH];
    int max = 1 + chance(BATCH), taken[BATCH], n = 0;
    model_look();
    int room = m.paused ? 0 : max;
    if (m.limits.concurrency > 0 && m.limits.concurrency - count_in(ACTIVE) < room)
        room = (int)m.limits.concurrency - count_in(ACTIVE);
    if (room > 0)
        n = model_take(room, taken);
    assert_int_equal(claim_some(consumer, (size_t)max, got), n);
    for (int i = 0; i < n; i++) {
        job *j = &m.jobs[taken[i]];
        assert_string_equal(got[i].id, j->id);
        assert_int_equal(got[i].attempt, j->failures + 1);
        memcpy(j->token, got[i].token, sizeof j->token);
    }
}

/* ---- Ends ---------------------------------------------------------------- */

static void model_finish(job *j, tkl_outcome outcome, bool delayed)
{
    j->due = 0;
    if (outcome == TKL_OUTCOME_DONE) {
        m.done++;
        forget(j);
        return;
    }
    if (outcome == TKL_OUTCOME_RELEASED) {
        if (delayed)
            become(j, DELAYED);
        else
            become_ready(j, 0);
        return;
    }
    note_failure(j);
    if (outcome == TKL_OUTCOME_DEAD || j->failures > j->retries)
        die(j);
    else
        become(j, DELAYED);
}

/* By the consumer that claimed it. */
static int report(const job *j, tkl_outcome outcome, int64_t delay)
{
    tkl_job claim = {.queue = queue};
    memcpy(claim.id, j->id, sizeof claim.id);
    memcpy(claim.token, j->token, sizeof claim.token);
    tkl_report one = {.job = &claim, .outcome = outcome, .text = tkl_str("why"), .delay_ms = delay};
    return tkl_consumer_finish(consumer, &one, 1);
}

static void do_finish(void)
{
    job *j = some_job_in(ACTIVE);
    if (!j || j->expired)
        return;
    tkl_outcome outcome = happens(50) ? TKL_OUTCOME_DONE : (tkl_outcome)chance(4);
    int64_t delay = outcome == TKL_OUTCOME_FAILED || happens(50) ? FAR_MS : 0;
    bool along = happens(50);
    assert_ok(along ? report(j, outcome, delay)
                    : tkl_queue_finish(queue, j->id, j->token, outcome, tkl_str("why"), delay));
    model_finish(j, outcome, delay > 0);
    if (along && outcome == TKL_OUTCOME_DONE && j->result_ms == 0) { /* together with a claim */
        model_look();
    }
}

static void do_stale_finish(void)
{
    job *j = some_job();
    if (!j || j->state == ACTIVE || !j->token[0])
        return;
    assert_code(tkl_queue_finish(queue, j->id, j->token, (tkl_outcome)chance(4), tkl_str(""), 0),
                TKL_NOTOWNER);
    assert_code(tkl_queue_renew(queue, j->id, j->token, 1000, tkl_str("half")), TKL_NOTOWNER);
}

static void do_expire(void)
{
    job *j = some_job_in(ACTIVE);
    if (!j || j->expired)
        return;
    j->expired = true;
    j->expiry = ++m.clock;
    inside_set_lease_end(f->client, j->id, j->token, j->expiry);
}

static void do_make_due(void)
{
    job *j = some_job_in(DELAYED);
    if (!j || j->due > 0)
        return;
    j->due = INT64_C(1600000000000) + ++m.clock;
    inside_set_due(f->client, j->id, j->due);
}

/* ---- What operators do --------------------------------------------------- */

static void do_cancel(void)
{
    job *j = some_job();
    if (!j)
        return;
    assert_code(tkl_queue_cancel(queue, j->id), j->state == GONE ? TKL_NOTFOUND : TKL_OK);
    if (j->state != GONE)
        forget(j);
}

static void model_retry(job *j)
{
    j->failures = 0;
    j->due = 0;
    become_ready(j, 2);
    if (j->key >= 0 && m.holder[j->key] < 0 && j->mode != TKL_UNIQUE_FOR_A_TIME)
        m.holder[j->key] = (int)(j - m.jobs);
}

/* When all come back, and several have the same key, the first to have died takes it: they are not
 * retried together here. */
static void do_retry(void)
{
    job *j = happens(80) ? some_job_in(DEAD) : some_job();
    int64_t count;
    if (!j)
        return;
    bool dead = j->state == DEAD;
    assert_code(tkl_queue_retry(queue, j->id, &count), dead ? TKL_OK : TKL_NOTFOUND);
    assert_int_equal(count, dead);
    if (dead)
        model_retry(j);
}

static bool dead_share_a_key(void)
{
    int seen[KEYS] = {0};
    for (int i = 0; i < m.nlive; i++) {
        const job *j = &m.jobs[m.live[i]];
        if (j->state == DEAD && j->key >= 0 && seen[j->key]++ > 0)
            return true;
    }
    return false;
}

static void do_retry_all(void)
{
    int64_t count;
    int dead = count_in(DEAD);
    if (dead_share_a_key())
        return;
    assert_code(tkl_queue_retry(queue, NULL, &count), dead > 0 ? TKL_OK : TKL_NOTFOUND);
    assert_int_equal(count, dead);
    for (int i = 0; i < m.nlive; i++)
        if (m.jobs[m.live[i]].state == DEAD)
            model_retry(&m.jobs[m.live[i]]);
}

/* Parents go first: nothing that is removed makes them ready. */
static int model_remove(state s)
{
    int n = 0;
    for (job *j; (j = some_job_in(s)); n++)
        forget(j);
    return n;
}

static void do_bury_none(void)
{
    int64_t count;
    assert_ok(tkl_queue_drop_dead(queue, NULL, &count));
    assert_int_equal(count, model_remove(DEAD));
}

static void do_drain(void)
{
    static const state waiting[] = {FLOW, PARKED, READY, DELAYED};
    int64_t count;
    int n = 0, some;
    assert_ok(tkl_queue_drain(queue, &count));
    do {
        some = 0;
        for (int i = 0; i < 4; i++)
            some += model_remove(waiting[i]);
        n += some;
    } while (some > 0);
    assert_int_equal(count, n);
}

static void do_pause(void)
{
    m.paused = !m.paused && happens(30);
    assert_ok(m.paused ? tkl_queue_pause(queue) : tkl_queue_resume(queue));
}

static void do_limit(void)
{
    tkl_queue_limits limits = {.group_concurrency = happens(80) ? 1 + chance(3) : 0,
                               .concurrency = happens(30) ? 1 + chance(6) : 0,
                               .max_jobs = happens(20) ? 1 + chance(CROWD) : 0,
                               .dead_max = happens(70) ? 5 + chance(4) : 0};
    assert_ok(set_exactly(queue, &limits));
    bool changed = limits.group_concurrency != m.limits.group_concurrency;
    m.limits = limits;
    for (job *j; changed && (j = some_job_in(PARKED));)
        become_ready(j, 2);
    trim(MOST);
}

/* ---- All together -------------------------------------------------------- */

static const struct {
    void (*act)(void);
    int weight;
} acts[] = {
    {do_push, 22},     {do_claim, 24},   {do_finish, 26}, {do_stale_finish, 3},
    {do_expire, 6},    {do_make_due, 8}, {do_cancel, 4},  {do_retry, 4},
    {do_retry_all, 1}, {do_pause, 2},    {do_limit, 2},
};

static void act(void)
{
    if (chance(300) == 0)
        do_bury_none();
    if (chance(800) == 0)
        do_drain();
    int pick = chance(102);
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++) {
        pick -= acts[i].weight;
        if (pick < 0) {
            if (acts[i].act != do_push || m.nlive < CROWD || happens(30))
                acts[i].act();
            return;
        }
    }
}

static void empty_the_queue(void)
{
    m.paused = false;
    assert_ok(tkl_queue_resume(queue));
    m.limits = (tkl_queue_limits){0};
    assert_ok(set_exactly(queue, &m.limits));
    for (job *j; (j = some_job_in(PARKED));)
        become_ready(j, 2);
    do_drain();
    for (job *j; (j = some_job_in(ACTIVE));) {
        assert_ok(tkl_queue_finish(queue, j->id, j->token, TKL_OUTCOME_DONE, tkl_str(""), 0));
        model_finish(j, TKL_OUTCOME_DONE, false);
    }
    do_drain(); /* parents of those that were active */
    do_bury_none();
    do_drain();
    compare_stats();
    assert_int_equal(m.bytes, 0);
    assert_int_equal(m.nlive, 0);
}

static void forget_timed_keys(void)
{
    int timed = 0;
    for (int i = 0; i < KEYS; i++)
        if (m.holder[i] >= 0) {
            assert_true(m.timed[i]);
            m.holder[i] = -1;
            timed++;
        }
    assert_int_equal(inside_forget_timed_keys(f->client), timed);
    memset(m.timed, 0, sizeof m.timed);
}

static void the_queue_keeps_its_contract(void **state_of_test)
{
    f = *state_of_test;
    queue = open_queue(f->client, "work", 0);
    consumer = open_claimer(queue, 3600000);
    m.jobs = calloc(MOST, sizeof *m.jobs);
    assert_non_null(m.jobs);
    memset(m.holder, 0xff, sizeof m.holder);
    m.born =
        server_ask_int(f->server, "EVAL %s 0", "return redis.call('TIME')[1]") * 1000 - 3600000;
    for (int round = 0; round < ROUNDS; round++) {
        seed = UINT64_C(88172645463325252) + (uint64_t)round * 7919;
        for (int step = 0; step < STEPS; step++) {
            act();
            settle_deaths();
            compare_stats();
            job *j = some_job();
            if (j && step % 4 == 0)
                compare_job(j);
            if (step % 50 == 0)
                compare_groups();
        }
        empty_the_queue();
        forget_timed_keys();
        assert_no_garbage(f->server);
    }
    assert_true(m.done > 1000 && m.failed > 500 && m.trimmed > 10); /* something did happen */
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    free(m.jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_queue_keeps_its_contract),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
