/* SPDX-License-Identifier: MIT
 *
 * The queue against a model of its contract: random operations on both, and always the same
 * answers, the same order and the same statistics; and at the end an empty queue has left nothing
 * behind.
 *
 * Time does not pass by itself here: delayed jobs become due, and leases end, when the test moves
 * their times on the server.
 */
#include "support/fixture.h"
#include "support/insides.h"
#include "support/jobs.h"
#include "support/queue_model.h"

enum {
    ROUNDS = 6,
    STEPS = 2500,
    CROWD = 60, /* jobs in the queue beyond which fewer are pushed */
    FAR_MS = 1000000000,
};
_Static_assert(ROUNDS *STEPS *MODEL_BATCH <= MODEL_MOST, "the model has room for all jobs");

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

/* ---- The queue ----------------------------------------------------------- */

static const tkl_bytes keys[MODEL_KEYS] = {{"k", 1},  {"\0", 1},   {"\xff", 1},
                                           {"{}", 2}, {"k\0k", 3}, {"a\nb", 3}};
static const tkl_bytes groups[MODEL_GROUPS] = {{"g", 1}, {"g\0", 2}, {"\xff{", 2}, {"g0", 2}};

static fixture *f;
static tkl_queue *queue;
static tkl_consumer *consumer;

/* ---- Comparing ----------------------------------------------------------- */

static int count(bool (*is)(const model_job *))
{
    int n = 0;
    for (int i = 0; i < model.nlive; i++)
        n += is(&model.jobs[model.live[i]]);
    return n;
}

static void compare_stats(void)
{
    tkl_queue_stats s = stats_of(queue);
    assert_int_equal(s.ready,
                     model_count(MODEL_READY) + count(model_is_due) + count(model_is_back));
    assert_int_equal(s.delayed, model_count(MODEL_DELAYED) - count(model_is_due));
    assert_int_equal(s.held, model_count(MODEL_FLOW) + model_count(MODEL_PARKED));
    assert_int_equal(s.active, model_count(MODEL_ACTIVE) - count(model_is_back));
    assert_int_equal(s.dead, model_count(MODEL_DEAD));
    assert_int_equal(s.pushed, model.pushed);
    assert_int_equal(s.done, model.done);
    assert_int_equal(s.failed, model.failed);
    assert_int_equal(s.bytes, model.bytes);
    assert_int_equal(s.paused, model.paused);
}

static void compare_groups(void)
{
    for (int i = 0; i < MODEL_GROUPS; i++)
        assert_int_equal(inside_group(f->client, groups[i]), model.inside[i]);
}

static void compare_job(const model_job *j)
{
    static const tkl_job_state states[] = {
        [MODEL_READY] = TKL_JOB_STATE_READY,   [MODEL_DELAYED] = TKL_JOB_STATE_DELAYED,
        [MODEL_FLOW] = TKL_JOB_STATE_HELD,     [MODEL_PARKED] = TKL_JOB_STATE_HELD,
        [MODEL_ACTIVE] = TKL_JOB_STATE_ACTIVE, [MODEL_DEAD] = TKL_JOB_STATE_DEAD,
        [MODEL_GONE] = TKL_JOB_STATE_UNKNOWN,
    };
    tkl_listing *l;
    int rc = tkl_queue_show(queue, j->id, 0, &l);
    if (j->state == MODEL_GONE && j->result_ms == 0)
        assert_code(rc, TKL_NOTFOUND);
    else if (j->state != MODEL_GONE) {
        assert_ok(rc);
        assert_int_equal(l->items[0].state, model_is_due(j) || model_is_back(j)
                                                ? TKL_JOB_STATE_READY
                                                : states[j->state]);
        assert_int_equal(l->items[0].attempt, j->failures);
        assert_int_equal(l->items[0].priority, j->priority);
    }
    tkl_listing_free(l);
}

/* Some job: mostly one that is in the queue. */
static model_job *some_job(void)
{
    if (model.nlive > 0 && happens(95))
        return &model.jobs[model.live[chance(model.nlive)]];
    return model.count > 0 ? &model.jobs[chance(model.count)] : NULL;
}

static model_job *some_job_in(model_state s)
{
    int n = model_count(s), pick = n > 0 ? chance(n) : -1;
    for (int i = 0; i < model.nlive; i++)
        if (model.jobs[model.live[i]].state == s && pick-- == 0)
            return &model.jobs[model.live[i]];
    return NULL;
}

/* Jobs that died a moment ago: their order is decided here. */
static void settle_deaths(void)
{
    for (int i = 0; i < model.nlive; i++) {
        model_job *j = &model.jobs[model.live[i]];
        if (j->state != MODEL_DEAD || j->death != INT64_MAX)
            continue;
        j->death = model.born + ++model.clock;
        inside_set_death(f->client, j->id, j->death);
    }
}

/* ---- Pushing ------------------------------------------------------------- */

static void make_push(tkl_push *push, model_job *j, int index, size_t *after)
{
    static const int retries[] = {-1, 1, 2, 0};
    *push = (tkl_push){.payload = tkl_str(happens(50) ? "payload" : "")};
    *j = (model_job){.key = -1, .group = -1};
    push->priority = j->priority = happens(40) ? chance(5) - 2 : 0;
    push->retries = retries[chance(4)];
    j->retries = push->retries < 0 ? 0 : push->retries == 0 ? 10 : push->retries;
    if (happens(15))
        push->delay_ms = FAR_MS;
    if (happens(10))
        push->result_ms = j->result_ms = 60000;
    if (happens(30)) {
        j->key = chance(MODEL_KEYS);
        push->unique = keys[j->key];
        push->unique_mode = j->mode = (tkl_unique_mode)chance(happens(20) ? 3 : 2);
        push->unique_ms = j->mode == TKL_UNIQUE_FOR_A_TIME ? FAR_MS : 0;
    }
    if (happens(40)) {
        j->group = chance(MODEL_GROUPS);
        push->group = groups[j->group];
    }
    if (index > 0 && happens(25)) {
        push->after = after;
        push->after_count = (size_t)chance(3);
        for (size_t i = 0; i < push->after_count; i++)
            after[i] = (size_t)chance(index);
    }
}

static bool has_room_for_parents(void)
{
    for (int i = 0; i < MODEL_KEYS; i++)
        if (model.holder[i] >= 0 && model.jobs[model.holder[i]].nparents > MODEL_BATCH)
            return false;
    return true;
}

static void do_push(void)
{
    tkl_push pushes[MODEL_BATCH];
    tkl_pushed pushed[MODEL_BATCH];
    model_job drafts[MODEL_BATCH];
    size_t after[MODEL_BATCH][3];
    int told[MODEL_BATCH], codes[MODEL_BATCH], first = TKL_OK, count = 1 + chance(MODEL_BATCH);
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
            memcpy(model.jobs[told[i]].id, pushed[i].id, sizeof pushed[i].id);
        else if (codes[i] == TKL_EXISTS)
            assert_string_equal(pushed[i].id, model.jobs[told[i]].id);
        if (codes[i] == TKL_FULL && first == TKL_OK)
            first = TKL_FULL;
    }
    assert_code(rc, first);
}

/* ---- Claiming ------------------------------------------------------------ */

static void do_claim(void)
{
    claimed got[MODEL_BATCH];
    int max = 1 + chance(MODEL_BATCH), taken[MODEL_BATCH], n = 0;
    model_look();
    int room = model.paused ? 0 : max;
    if (model.limits.concurrency > 0 && model.limits.concurrency - model_count(MODEL_ACTIVE) < room)
        room = (int)model.limits.concurrency - model_count(MODEL_ACTIVE);
    if (room > 0)
        n = model_take(room, taken);
    assert_int_equal(claim_some(consumer, (size_t)max, got), n);
    for (int i = 0; i < n; i++) {
        model_job *j = &model.jobs[taken[i]];
        assert_string_equal(got[i].id, j->id);
        assert_int_equal(got[i].attempt, j->failures + 1);
        memcpy(j->token, got[i].token, sizeof j->token);
    }
}

/* ---- Ends ---------------------------------------------------------------- */

/* Reports a job, by the consumer that has claimed it. */
static int report(const model_job *j, tkl_outcome outcome, int64_t delay)
{
    tkl_job claim = {.queue = queue};
    memcpy(claim.id, j->id, sizeof claim.id);
    memcpy(claim.token, j->token, sizeof claim.token);
    tkl_report one = {.job = &claim, .outcome = outcome, .text = tkl_str("why"), .delay_ms = delay};
    return tkl_consumer_finish(consumer, &one, 1);
}

static void do_finish(void)
{
    model_job *j = some_job_in(MODEL_ACTIVE);
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
    model_job *j = some_job();
    if (!j || j->state == MODEL_ACTIVE || !j->token[0])
        return;
    assert_code(tkl_queue_finish(queue, j->id, j->token, (tkl_outcome)chance(4), tkl_str(""), 0),
                TKL_NOTOWNER);
    assert_code(tkl_queue_renew(queue, j->id, j->token, 1000, tkl_str("half")), TKL_NOTOWNER);
}

static void do_expire(void)
{
    model_job *j = some_job_in(MODEL_ACTIVE);
    if (!j || j->expired)
        return;
    j->expired = true;
    j->expiry = ++model.clock;
    inside_set_lease_end(f->client, j->id, j->token, j->expiry);
}

static void do_make_due(void)
{
    model_job *j = some_job_in(MODEL_DELAYED);
    if (!j || j->due > 0)
        return;
    j->due = INT64_C(1600000000000) + ++model.clock;
    inside_set_due(f->client, j->id, j->due);
}

/* ---- Acts of operators --------------------------------------------------- */

static void do_cancel(void)
{
    model_job *j = some_job();
    if (!j)
        return;
    assert_code(tkl_queue_cancel(queue, j->id), j->state == MODEL_GONE ? TKL_NOTFOUND : TKL_OK);
    if (j->state != MODEL_GONE)
        model_forget(j);
}

/* When all come back, and several have the same key, the first to have died takes it: they are not
 * retried together here. */
static void do_retry(void)
{
    model_job *j = happens(80) ? some_job_in(MODEL_DEAD) : some_job();
    int64_t count;
    if (!j)
        return;
    bool dead = j->state == MODEL_DEAD;
    assert_code(tkl_queue_retry(queue, &(tkl_job_filter){.id = j->id}, &count),
                dead ? TKL_OK : TKL_NOTFOUND);
    assert_int_equal(count, dead);
    if (dead)
        model_retry(j);
}

static bool dead_share_a_key(void)
{
    int seen[MODEL_KEYS] = {0};
    for (int i = 0; i < model.nlive; i++) {
        const model_job *j = &model.jobs[model.live[i]];
        if (j->state == MODEL_DEAD && j->key >= 0 && seen[j->key]++ > 0)
            return true;
    }
    return false;
}

static void do_retry_all(void)
{
    int64_t count;
    int dead = model_count(MODEL_DEAD);
    if (dead_share_a_key())
        return;
    assert_code(tkl_queue_retry(queue, NULL, &count), dead > 0 ? TKL_OK : TKL_NOTFOUND);
    assert_int_equal(count, dead);
    for (int i = 0; i < model.nlive; i++)
        if (model.jobs[model.live[i]].state == MODEL_DEAD)
            model_retry(&model.jobs[model.live[i]]);
}

/* Removes all jobs of a state, parents first, so that no removal makes a parent ready. */
static int model_remove(model_state s)
{
    int n = 0;
    for (model_job *j; (j = some_job_in(s)); n++)
        model_forget(j);
    return n;
}

static void do_bury_none(void)
{
    int64_t count;
    assert_ok(tkl_queue_drop_dead(queue, NULL, &count));
    assert_int_equal(count, model_remove(MODEL_DEAD));
}

static void do_drain(void)
{
    static const model_state waiting[] = {MODEL_FLOW, MODEL_PARKED, MODEL_READY, MODEL_DELAYED};
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
    model.paused = !model.paused && happens(30);
    assert_ok(model.paused ? tkl_queue_pause(queue) : tkl_queue_resume(queue));
}

static void do_limit(void)
{
    tkl_queue_limits limits = {.group_concurrency = happens(80) ? 1 + chance(3) : 0,
                               .concurrency = happens(30) ? 1 + chance(6) : 0,
                               .max_jobs = happens(20) ? 1 + chance(CROWD) : 0,
                               .dead_max = happens(70) ? 5 + chance(4) : 0};
    assert_ok(set_exactly(queue, &limits));
    bool changed = limits.group_concurrency != model.limits.group_concurrency;
    model.limits = limits;
    for (model_job *j; changed && (j = some_job_in(MODEL_PARKED));)
        model_make_ready(j, 2);
    model_trim(MODEL_MOST);
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
            if (acts[i].act != do_push || model.nlive < CROWD || happens(30))
                acts[i].act();
            return;
        }
    }
}

static void empty_the_queue(void)
{
    model.paused = false;
    assert_ok(tkl_queue_resume(queue));
    model.limits = (tkl_queue_limits){0};
    assert_ok(set_exactly(queue, &model.limits));
    for (model_job *j; (j = some_job_in(MODEL_PARKED));)
        model_make_ready(j, 2);
    do_drain();
    for (model_job *j; (j = some_job_in(MODEL_ACTIVE));) {
        assert_ok(tkl_queue_finish(queue, j->id, j->token, TKL_OUTCOME_DONE, tkl_str(""), 0));
        model_finish(j, TKL_OUTCOME_DONE, false);
    }
    do_drain(); /* parents of those that were active */
    do_bury_none();
    do_drain();
    compare_stats();
    assert_int_equal(model.bytes, 0);
    assert_int_equal(model.nlive, 0);
}

static void forget_timed_keys(void)
{
    int timed = 0;
    for (int i = 0; i < MODEL_KEYS; i++)
        if (model.holder[i] >= 0) {
            assert_true(model.timed[i]);
            model.holder[i] = -1;
            timed++;
        }
    assert_int_equal(inside_forget_timed_keys(f->client), timed);
    memset(model.timed, 0, sizeof model.timed);
}

static void the_queue_keeps_its_contract(void **state_of_test)
{
    f = *state_of_test;
    queue = open_queue(f->client, "work", 0);
    consumer = open_claimer(queue, 3600000);
    model.jobs = calloc(MODEL_MOST, sizeof *model.jobs);
    assert_non_null(model.jobs);
    memset(model.holder, 0xff, sizeof model.holder);
    model.born =
        server_ask_int(f->server, "EVAL %s 0", "return redis.call('TIME')[1]") * 1000 - 3600000;
    for (int round = 0; round < ROUNDS; round++) {
        seed = UINT64_C(88172645463325252) + (uint64_t)round * 7919;
        for (int step = 0; step < STEPS; step++) {
            act();
            settle_deaths();
            compare_stats();
            model_job *j = some_job();
            if (j && step % 4 == 0)
                compare_job(j);
            if (step % 50 == 0)
                compare_groups();
        }
        empty_the_queue();
        forget_timed_keys();
        assert_no_garbage(f->server);
    }
    assert_true(model.done > 1000 && model.failed > 500 &&
                model.trimmed > 10); /* something did happen */
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    free(model.jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_queue_keeps_its_contract),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
