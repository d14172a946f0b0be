/* SPDX-License-Identifier: MIT
 *
 * Leaders: one at a time, terms that grow, candidates in order, observers that miss no leader.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <unistd.h>

#include <tackle/leader.h>

#include "support/fixture.h"
#include "support/locks.h"
#include "support/permissions.h"
#include "support/process.h"
#include "support/tamper.h"

#define SEAT "leader:{seat}"

static tkl_leader *open_leader(tkl_client *client, const tkl_leader_options *options)
{
    tkl_leader *leader;
    assert_ok(tkl_leader_open(client, tkl_str("seat"), options, &leader));
    return leader;
}

static tkl_leader *elected(tkl_client *client, const tkl_leader_options *options)
{
    tkl_leader *leader = open_leader(client, options);
    assert_ok(tkl_leader_campaign(leader, 0));
    assert_true(tkl_leader_leads(leader));
    return leader;
}

static int64_t candidates(tkl_leader *probe)
{
    tkl_holders *h;
    assert_ok(tkl_leader_show(probe, &h));
    int64_t count = h->waiters;
    tkl_holders_free(h);
    return count;
}

/* The term as observers see it; 0: nobody leads. */
static uint64_t seen_term(tkl_leader *probe)
{
    tkl_holders *h;
    assert_ok(tkl_leader_show(probe, &h));
    uint64_t term = h->count > 0 ? h->items[0].fence : 0;
    tkl_holders_free(h);
    return term;
}

/* A thread that stands as a candidate without an end. */
typedef struct candidate {
    tkl_leader *leader;
    int result;
    crew *thread;
} candidate;

static void stand(void *arg, int index)
{
    candidate *c = arg;
    (void)index;
    c->result = tkl_leader_campaign(c->leader, -1);
}

static void start_standing(candidate *c, tkl_leader *leader)
{
    int64_t before = candidates(leader);
    c->leader = leader;
    c->thread = crew_start(1, stand, c);
    eventually(candidates(leader) == before + 1, LONG_MS);
}

/* ---- One leads ------------------------------------------------------------- */

static void one_leads_and_the_next_has_a_higher_term(void **state)
{
    fixture *f = *state;
    tkl_leader *one = elected(f->client, NULL), *other = open_leader(f->client, NULL);
    uint64_t term = tkl_leader_term(one);
    assert_true(term > 0);
    assert_true(tkl_leader_left_ms(one) > 0);
    assert_code(tkl_leader_campaign(other, 0), TKL_BUSY);
    assert_code(tkl_leader_campaign(other, 30), TKL_BUSY);
    assert_false(tkl_leader_leads(other));
    assert_int_equal(tkl_leader_term(other), 0);
    assert_code(tkl_leader_campaign(one, 0), TKL_EINVAL);
    assert_ok(tkl_leader_resign(one));
    assert_false(tkl_leader_leads(one));
    assert_code(tkl_leader_resign(one), TKL_EINVAL);
    assert_ok(tkl_leader_campaign(other, 0));
    assert_true(tkl_leader_term(other) > term);
    assert_all_keys_expire(f->server);
    tkl_leader_close(one);
    tkl_leader_close(other);
    tkl_leader_close(NULL);
}

static void candidates_are_elected_in_their_order(void **state)
{
    fixture *f = *state;
    tkl_leader *leader = elected(f->client, NULL);
    candidate line[3] = {{0}};
    for (int i = 0; i < 3; i++)
        start_standing(&line[i], open_leader(f->client, NULL));
    for (int i = 0; i < 3; i++) {
        assert_ok(tkl_leader_resign(leader));
        crew_join(line[i].thread);
        assert_ok(line[i].result);
        assert_true(tkl_leader_leads(line[i].leader));
        tkl_leader_close(leader);
        leader = line[i].leader;
    }
    tkl_leader_close(leader);
}

static void a_lock_of_the_same_name_is_another_thing(void **state)
{
    fixture *f = *state;
    tkl_leader *leader = elected(f->client, NULL);
    tkl_lock *lock = open_lock(f->client, "seat", NULL);
    assert_ok(tkl_lock_acquire(lock, 0));
    tkl_lock_close(lock);
    assert_true(tkl_leader_leads(leader));
    tkl_leader_close(leader);
}

/* ---- Losing ---------------------------------------------------------------- */

static void count_loss(tkl_leader *leader, void *arg)
{
    assert_false(tkl_leader_leads(leader));
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void a_leader_that_is_broken_learns_it_and_may_stand_again(void **state)
{
    fixture *f = *state;
    atomic_int losses = 0;
    tkl_leader *leader =
        elected(f->client, &(tkl_leader_options){.on_lost = count_loss, .arg = &losses});
    tkl_leader *boss = open_leader(f->client, NULL);
    uint64_t term = tkl_leader_term(leader);
    assert_ok(tkl_leader_break(boss));
    assert_ok(tkl_leader_wait_lost(leader, LONG_MS)); /* long before the next renewal */
    eventually(losses == 1, LONG_MS);
    assert_int_equal(tkl_leader_state(leader), TKL_HOLD_LOST);
    assert_code(tkl_leader_break(boss), TKL_NOTFOUND);
    assert_ok(tkl_leader_campaign(leader, 0));
    assert_true(tkl_leader_term(leader) > term);
    assert_int_equal(losses, 1);
    tkl_leader_close(leader);
    tkl_leader_close(boss);
}

static void a_flushed_server_has_a_new_leader(void **state)
{
    fixture *f = *state;
    tkl_client *second = test_open(f->server->url, NULL);
    tkl_leader *leader = elected(f->client, &(tkl_leader_options){.lease_ms = 600});
    candidate next = {0};
    start_standing(&next, open_leader(second, NULL));
    server_do(f->server, "FLUSHALL");
    assert_ok(tkl_leader_wait_lost(leader, LONG_MS));
    crew_join(next.thread);
    assert_ok(next.result);
    tkl_leader_close(leader);
    tkl_leader_close(next.leader);
    tkl_close(second);
}

static void a_token_resigns_for_the_leader(void **state)
{
    fixture *f = *state;
    char token[TKL_TOKEN_SIZE];
    tkl_leader *leader = elected(f->client, NULL), *by_hand = open_leader(f->client, NULL);
    tkl_leader_token(leader, token);
    assert_code(tkl_leader_adopt(by_hand, "0123456789abcdef0123456789abcdef"), TKL_NOTOWNER);
    assert_code(tkl_leader_adopt(by_hand, "no token"), TKL_NOTOWNER);
    assert_ok(tkl_leader_adopt(by_hand, token));
    assert_ok(tkl_leader_resign(by_hand));
    assert_ok(tkl_leader_wait_lost(leader, LONG_MS));
    assert_code(tkl_leader_resign(leader), TKL_NOTOWNER);
    tkl_leader_close(leader);
    tkl_leader_close(by_hand);
}

static int in_a_child(void *arg)
{
    tkl_leader *leader = arg;
    tkl_holders *h;
    bool fine = !tkl_leader_leads(leader) && tkl_leader_term(leader) == 0 &&
                tkl_leader_resign(leader) == TKL_EINVAL &&
                tkl_leader_campaign(leader, 0) == TKL_EINVAL &&
                tkl_leader_watch(leader, 0, 0, &h) == TKL_EINVAL;
    tkl_leader_close(leader);
    return fine ? 0 : 1;
}

static void a_forked_child_leads_nothing(void **state)
{
    skip_under_sanitizers();
    fixture *f = *state;
    tkl_leader *leader = elected(f->client, NULL);
    assert_int_equal(process_wait(process_fork(in_a_child, leader)), 0);
    assert_true(tkl_leader_leads(leader));
    assert_ok(tkl_leader_resign(leader));
    tkl_leader_close(leader);
}

/* ---- Observers ------------------------------------------------------------- */

static void observers_see_who_leads(void **state)
{
    fixture *f = *state;
    tkl_leader *leader = elected(f->client, &(tkl_leader_options){.label = "10.0.0.5:80"});
    tkl_leader *probe = open_leader(f->client, NULL);
    tkl_holders *h;
    assert_ok(tkl_leader_watch(probe, 0, 0, &h));
    assert_int_equal(h->count, 1);
    assert_int_equal(h->items[0].fence, tkl_leader_term(leader));
    assert_int_equal(h->items[0].pid, getpid());
    assert_memory_equal(h->items[0].label.data, "10.0.0.5:80", 11);
    tkl_holders_free(h);
    assert_code(tkl_leader_watch(probe, tkl_leader_term(leader), 0, &h), TKL_EMPTY);
    assert_null(h);
    assert_code(tkl_leader_watch(probe, tkl_leader_term(leader), 40, &h), TKL_EMPTY);
    tkl_names *names;
    assert_ok(tkl_leader_names(f->client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_ok(tkl_leader_resign(leader));
    assert_ok(tkl_leader_names(f->client, &names));
    assert_int_equal(names->count, 0);
    tkl_names_free(names);
    tkl_leader_close(leader);
    tkl_leader_close(probe);
}

typedef struct observer {
    tkl_leader *probe;
    uint64_t term;
    int result;
    tkl_holders *holders;
    crew *thread;
} observer;

static void observe(void *arg, int index)
{
    observer *o = arg;
    (void)index;
    o->result = tkl_leader_watch(o->probe, o->term, -1, &o->holders);
}

/* Waits until the thread listens, so that it hears of events and does not look for them. */
static void start_observing(observer *o, fixture *f)
{
    int64_t before = server_functions(f->server);
    o->thread = crew_start(1, observe, o);
    eventually(server_functions(f->server) >= before + 2, LONG_MS);
}

static void assert_observed(observer *o, uint64_t term)
{
    crew_join(o->thread);
    assert_ok(o->result);
    assert_int_equal(o->holders->count > 0 ? o->holders->items[0].fence : 0, term);
    tkl_holders_free(o->holders);
}

static void observers_hear_of_an_election_and_of_a_resignation(void **state)
{
    fixture *f = *state;
    tkl_client *second = test_open(f->server->url, NULL);
    observer o = {.probe = open_leader(second, NULL)};
    start_observing(&o, f);
    tkl_leader *leader = elected(f->client, NULL);
    assert_observed(&o, tkl_leader_term(leader));
    o.term = tkl_leader_term(leader);
    start_observing(&o, f);
    assert_ok(tkl_leader_resign(leader));
    assert_observed(&o, 0);
    tkl_leader_close(leader);
    tkl_leader_close(o.probe);
    tkl_close(second);
}

static void observers_hear_of_a_hand_over(void **state)
{
    fixture *f = *state;
    tkl_client *second = test_open(f->server->url, NULL);
    tkl_leader *leader = elected(f->client, NULL);
    observer o = {.probe = open_leader(second, NULL), .term = tkl_leader_term(leader)};
    candidate next = {0};
    start_standing(&next, open_leader(f->client, NULL));
    start_observing(&o, f);
    assert_ok(tkl_leader_resign(leader));
    crew_join(next.thread);
    assert_observed(&o, tkl_leader_term(next.leader));
    tkl_leader_close(leader);
    tkl_leader_close(next.leader);
    tkl_leader_close(o.probe);
    tkl_close(second);
}

/* Nobody stands, so no script runs when the lease ends. The term is a stranger's, who never
 * renews. */
static void observers_notice_the_end_of_a_lease(void **state)
{
    fixture *f = *state;
    tkl_leader *probe = open_leader(f->client, NULL);
    tkl_leader *leader = elected(f->client, &(tkl_leader_options){.lease_ms = 1000});
    uint64_t term = tkl_leader_term(leader);
    tkl_holders *h;
    server_do(f->server, "EVAL %s 1 tackle:" SEAT ":state",
              "local writer = redis.call('HGET', KEYS[1], 'writer') "
              "return redis.call('HSET', KEYS[1], 'writer', "
              "(string.gsub(writer, '^%x+', string.rep('0', 32))))");
    assert_ok(tkl_leader_watch(probe, term, LONG_MS, &h));
    assert_int_equal(h->count, 0);
    tkl_holders_free(h);
    tkl_leader_close(leader);
    tkl_leader_close(probe);
}

static void an_interruption_ends_a_watch(void **state)
{
    fixture *f = *state;
    observer o = {.probe = open_leader(f->client, NULL)};
    start_observing(&o, f);
    tkl_interrupt(f->client);
    crew_join(o.thread);
    assert_code(o.result, TKL_EINTR);
    tkl_resume(f->client);
    tkl_leader_close(o.probe);
}

/* ---- Bad input, full and damaged servers ----------------------------------- */

static void bad_options_are_refused(void **state)
{
    fixture *f = *state;
    tkl_leader *leader;
    char label[300];
    memset(label, 'x', sizeof label);
    label[299] = '\0';
    const tkl_leader_options bad[] = {
        {.lease_ms = -1}, {.timeout_ms = -1},      {.replicas = -1},
        {.label = label}, {.lease_ms = INT64_MAX},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_leader_open(f->client, tkl_str("seat"), &bad[i], &leader), TKL_EINVAL);
        assert_null(leader);
    }
    assert_code(tkl_leader_open(f->client, tkl_str(""), NULL, &leader), TKL_EINVAL);
}

static void a_full_server_elects_nobody_and_keeps_the_leader(void **state)
{
    fixture *f = *state;
    tkl_leader *leader = elected(f->client, &(tkl_leader_options){.lease_ms = 600});
    tkl_leader *other;
    assert_ok(tkl_leader_open(f->client, tkl_str("other"), NULL, &other));
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_leader_campaign(other, 0), TKL_EOOM);
    test_sleep_ms(900);
    assert_true(tkl_leader_leads(leader));
    assert_ok(tkl_leader_resign(leader));
    assert_int_equal(seen_term(leader), 0);
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_leader_close(leader);
    tkl_leader_close(other);
}

static void keys_of_other_programs_are_left_alone(void **state)
{
    fixture *f = *state;
    tkl_leader *leader = open_leader(f->client, NULL);
    tkl_holders *h;
    tamper_take_key(f->server, SEAT, 0);
    assert_code(tkl_leader_campaign(leader, 0), TKL_ETYPE);
    assert_code(tkl_leader_show(leader, &h), TKL_ETYPE);
    assert_code(tkl_leader_watch(leader, 0, 20, &h), TKL_ETYPE);
    tamper_assert_taken(f->server, SEAT, 0);
    tkl_leader_close(leader);
}

static void the_documented_permissions_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *user = documented_user(f->server, "leader.md");
    tkl_leader *leader = elected(user, NULL);
    candidate next = {0};
    start_standing(&next, open_leader(user, NULL));
    assert_ok(tkl_leader_break(leader));
    crew_join(next.thread);
    assert_ok(next.result);
    tkl_holders *h;
    tkl_names *names;
    assert_code(tkl_leader_watch(leader, tkl_leader_term(next.leader), 20, &h), TKL_EMPTY);
    assert_ok(tkl_leader_names(user, &names));
    tkl_names_free(names);
    assert_ok(tkl_leader_resign(next.leader));
    tkl_leader_close(leader);
    tkl_leader_close(next.leader);
    tkl_close(user);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_leads_and_the_next_has_a_higher_term),
        TEST(candidates_are_elected_in_their_order),
        TEST(a_lock_of_the_same_name_is_another_thing),
        TEST(a_leader_that_is_broken_learns_it_and_may_stand_again),
        TEST(a_flushed_server_has_a_new_leader),
        TEST(a_token_resigns_for_the_leader),
        TEST(a_forked_child_leads_nothing),
        TEST(observers_see_who_leads),
        TEST(observers_hear_of_an_election_and_of_a_resignation),
        TEST(observers_hear_of_a_hand_over),
        TEST(observers_notice_the_end_of_a_lease),
        TEST(an_interruption_ends_a_watch),
        TEST(bad_options_are_refused),
        TEST(a_full_server_elects_nobody_and_keeps_the_leader),
        TEST(keys_of_other_programs_are_left_alone),
        TEST(the_documented_permissions_are_enough),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
