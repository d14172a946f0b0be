/* SPDX-License-Identifier: MIT
 *
 * The loop of all waits: when it looks, and when it ends.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/waiting.h"
#include "support/fixture.h"
#include "support/listeners.h"
#include "support/proxy.h"

#define LONG_MS 20000

/* A look that writes down why it was called, one letter each: f(irst), b(egun), m(essage), l(ook);
 * and ends the wait when enough was written. */
typedef struct diary {
    tkl_client *client;
    char text[64];
    const char *until; /* the text at which the wait ends */
    int fails;         /* this many looks fail first */
    int64_t again_us;  /* the next look comes after this; 0: not set */
    atomic_int looks;
    int result;
} diary;

static int write_down(void *arg, tkl__wait *wait, const tkl__news *news)
{
    diary *d = arg;
    size_t len = strlen(d->text);
    if (len + 1 < sizeof d->text)
        d->text[len] = "fbml"[news->kind];
    if (d->again_us > 0)
        wait->again = tkl__now() + d->again_us;
    atomic_fetch_add(&d->looks, 1);
    if (d->fails > 0) {
        d->fails--;
        return TKL_ENOTSENT;
    }
    return d->until && strcmp(d->text, d->until) == 0 ? TKL_OK : TKL__NOT_YET;
}

/* Waits on "channel". */
static int wait_for(diary *d, int64_t wait_ms, bool looks_first, bool fails_at_once)
{
    tkl__ear ear = {.channel = tkl_str("channel")};
    tkl__wait wait = {.client = d->client,
                      .deadline = ms_from_now(wait_ms),
                      .ears = TKL__EARS(&ear),
                      .count = 1,
                      .looks_first = looks_first,
                      .fails_at_once = fails_at_once};
    int rc = tkl__wait_until(&wait, write_down, d);
    tkl__wait_end(&wait);
    return rc;
}

static void wait_in_thread(void *arg, int index)
{
    diary *d = arg;
    (void)index;
    d->result = wait_for(d, LONG_MS, false, false);
}

static void it_looks_when_a_message_arrives(void **state)
{
    fixture *f = *state;
    diary d = {.client = f->client, .until = "bm"};
    crew *thread = crew_start(1, wait_in_thread, &d);
    eventually(atomic_load(&d.looks) == 1, LONG_MS);
    server_do(f->server, "SPUBLISH channel hello");
    crew_join(thread);
    assert_ok(d.result);
    assert_string_equal(d.text, "bm");
}

/* A client that listens already need not look before it listens. */
static void it_looks_before_it_listens_if_asked_to(void **state)
{
    fixture *f = *state;
    diary d = {.client = f->client, .until = "f"}, again = {.client = f->client, .until = "b"};
    tkl__waiter waiter;
    assert_ok(wait_for(&d, LONG_MS, true, false));
    assert_false(tkl__hears(f->client, tkl_str("channel")));
    listen_to(f->client, "channel", "", &waiter);
    assert_ok(wait_for(&again, LONG_MS, true, false));
    tkl__unlisten(&waiter);
}

static void it_looks_at_the_moment_that_a_look_sets(void **state)
{
    fixture *f = *state;
    diary d = {.client = f->client, .until = "blll", .again_us = 1000};
    assert_ok(wait_for(&d, LONG_MS, false, false));
}

static void it_looks_again_after_a_lost_connection(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    diary d = {.client = test_open(proxy_url(p), NULL), .until = "bbm"};
    crew *thread = crew_start(1, wait_in_thread, &d);
    eventually(atomic_load(&d.looks) == 1, LONG_MS);
    proxy_cut(p);
    eventually(atomic_load(&d.looks) == 2, LONG_MS);
    server_do(f->server, "SPUBLISH channel hello");
    crew_join(thread);
    assert_ok(d.result);
    assert_string_equal(d.text, "bbm");
    tkl_close(d.client);
    proxy_end(p);
}

static void failures_that_may_pass_are_retried(void **state)
{
    fixture *f = *state;
    diary d = {.client = f->client, .until = "bbb", .fails = 2};
    assert_ok(wait_for(&d, LONG_MS, false, false));
    diary first = {.client = f->client, .fails = 1}; /* the first look has to work */
    tkl_close(f->client);
    f->client = test_open(f->server->url, NULL);
    first.client = f->client;
    assert_code(wait_for(&first, LONG_MS, true, false), TKL_ENOTSENT);
    diary strict = {.client = f->client, .fails = 1};
    assert_code(wait_for(&strict, LONG_MS, false, true), TKL_ENOTSENT);
    assert_string_equal(strict.text, "b");
}

/* When the time is up, the result says whether the server was reached. */
static void the_time_is_up(void **state)
{
    fixture *f = *state;
    diary d = {.client = f->client}, deaf = {.fails = 0};
    assert_int_equal(wait_for(&d, 50, false, false), TKL__NOT_YET);
    assert_string_equal(d.text, "b");
    proxy *p = proxy_start(f->server->socket);
    deaf.client = test_open(proxy_url(p), NULL);
    proxy_refuse(p, true);
    int rc = wait_for(&deaf, 300, false, false);
    assert_true(rc < 0 && tkl__may_pass(rc));
    assert_string_equal(deaf.text, "");
    tkl_close(deaf.client);
    proxy_end(p);
}

static void an_interruption_ends_it(void **state)
{
    fixture *f = *state;
    diary d = {.client = f->client};
    crew *thread = crew_start(1, wait_in_thread, &d);
    eventually(atomic_load(&d.looks) == 1, LONG_MS);
    tkl_interrupt(f->client);
    crew_join(thread);
    tkl_resume(f->client);
    assert_code(d.result, TKL_EINTR);
    d = (diary){.client = f->client, .until = "f"}; /* a call that needs no wait still works */
    tkl_interrupt(f->client);
    assert_ok(wait_for(&d, LONG_MS, true, false));
    tkl_resume(f->client);
}

/* ---- Several ears -------------------------------------------------------- */

typedef struct bell_wait {
    tkl_client *client;
    int bell;
    atomic_bool over;
    diary diary;
    tkl__ear ears[3];
} bell_wait;

static bool is_over(void *arg)
{
    return atomic_load(&((bell_wait *)arg)->over);
}

static void wait_at_three(void *arg, int index)
{
    bell_wait *b = arg;
    (void)index;
    for (int i = 0; i < 3; i++)
        b->ears[i] = (tkl__ear){.channel = tkl_str((const char *[]){"one", "two", "three"}[i])};
    tkl__wait wait = {.client = b->client,
                      .deadline = ms_from_now(LONG_MS),
                      .ears = (tkl__ear *[]){&b->ears[0], &b->ears[1], &b->ears[2]},
                      .count = 3,
                      .bell = b->bell >= 0 ? &b->bell : NULL,
                      .is_over = is_over,
                      .arg = b};
    b->diary.result = tkl__wait_until(&wait, write_down, &b->diary);
    tkl__wait_end(&wait);
}

static void it_waits_at_several_places(void **state)
{
    fixture *f = *state;
    bell_wait b = {.client = f->client, .bell = -1, .diary = {.until = "bmm"}};
    crew *thread = crew_start(1, wait_at_three, &b);
    eventually(atomic_load(&b.diary.looks) == 1, LONG_MS);
    server_do(f->server, "SPUBLISH three hello");
    server_do(f->server, "SPUBLISH one hello");
    crew_join(thread);
    assert_ok(b.diary.result);
}

static void a_bell_ends_it(void **state)
{
    fixture *f = *state;
    bell_wait b = {.client = f->client, .bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    crew *thread = crew_start(1, wait_at_three, &b);
    eventually(atomic_load(&b.diary.looks) == 1, LONG_MS);
    atomic_store(&b.over, true);
    eventfd_write(b.bell, 1);
    crew_join(thread);
    assert_int_equal(b.diary.result, TKL__NOT_YET);
    close(b.bell);
}

/* At most a fifth of the time is spent on servers that do not answer, as long as others do. */
static void silent_servers_are_left_alone(void **state)
{
    fixture *f = *state;
    tkl__ear good = {.channel = tkl_str("one")}, bad = {.channel = tkl_str("two")};
    tkl__wait wait = {
        .client = f->client, .ears = (tkl__ear *[]){&good, &bad}, .count = 2, .deadline = 0};
    int64_t now = tkl__now();
    tkl__ear_silent(&wait, &bad, TKL_ETIMEOUT, now - 1000000);
    assert_true(bad.rests_until >= now + 4000000);
    assert_true(tkl__ear_rests(&bad));
    assert_false(tkl__ear_rests(&good));
    tkl__ear_silent(&wait, &good, TKL_ETIMEOUT, now - 1000000); /* none is left that answers */
    assert_true(bad.rests_until < now + 1000000);
    assert_true(good.rests_until < now + 1000000);
    tkl__ear_answered(&bad);
    assert_false(tkl__ear_rests(&bad));
    assert_int_equal(bad.code, TKL_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_looks_when_a_message_arrives),
        TEST(it_looks_before_it_listens_if_asked_to),
        TEST(it_looks_at_the_moment_that_a_look_sets),
        TEST(it_looks_again_after_a_lost_connection),
        TEST(failures_that_may_pass_are_retried),
        TEST(the_time_is_up),
        TEST(an_interruption_ends_it),
        TEST(it_waits_at_several_places),
        TEST(a_bell_ends_it),
        TEST(silent_servers_are_left_alone),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
