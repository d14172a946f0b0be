/* SPDX-License-Identifier: MIT
 *
 * tkl_interrupt() ends every wait of every component at once, and leaves nothing behind: each of
 * them can wait again, and gets what it waits for. One line a way of waiting.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/fixture.h"
#include "support/ways.h"

/* "At once", also on a busy machine. */
#define SOON_MS 20000

/* Room for the results of all ways. */
#define WAYS_MAX 64

/* ---- All at once ---------------------------------------------------------- */

typedef struct hall {
    tkl_client *client;
    atomic_int ended;
    int codes[WAYS_MAX];
} hall;

static void wait_in_hall(void *arg, int index)
{
    hall *h = arg;
    h->codes[index] = ways[index].wait(h->client);
    atomic_fetch_add(&h->ended, 1);
}

static void every_wait_of_every_component_ends(void **state)
{
    fixture *f = *state;
    for (int round = 0; round < 2; round++) { /* the second time after tkl_resume() */
        hall h = {.client = f->client};
        crew *threads = crew_start((int)way_count, wait_in_hall, &h);
        test_sleep_ms(700);
        for (size_t i = 0; i < way_count && atomic_load(&h.ended) > 0; i++)
            print_message("%s: %s\n", ways[i].name, tkl_codename(h.codes[i]));
        assert_int_equal(atomic_load(&h.ended), 0);
        int64_t start = test_now_ms();
        tkl_interrupt(f->client);
        crew_join(threads);
        assert_true(test_now_ms() - start < SOON_MS);
        for (size_t i = 0; i < way_count; i++)
            if (h.codes[i] != TKL_EINTR)
                fail_msg("%s: %s", ways[i].name, tkl_codename(h.codes[i]));
        tkl_resume(f->client);
    }
}

/* A client leaves a server that hangs, within its time-out. */
static void a_server_that_hangs_keeps_no_wait_from_ending(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = 1000});
    hall h = {.client = client};
    crew *threads = crew_start((int)way_count, wait_in_hall, &h);
    test_sleep_ms(700);
    server_freeze(s);
    int64_t start = test_now_ms();
    tkl_interrupt(client);
    crew_join(threads);
    int64_t took = test_now_ms() - start;
    server_thaw(s);
    assert_true(took < SOON_MS);
    for (size_t i = 0; i < way_count; i++)
        if (h.codes[i] != TKL_EINTR && !tkl_is_transient(h.codes[i]))
            fail_msg("%s: %s", ways[i].name, tkl_codename(h.codes[i]));
    tkl_close(client);
    server_end(s);
}

/* ---- The first request ---------------------------------------------------- */

static void make_first_request(void *arg, int index)
{
    hall *h = arg;
    h->codes[index] = first_ways[index].wait(h->client);
    atomic_fetch_add(&h->ended, 1);
}

/* The time-out is far longer than "at once". */
static void a_first_request_that_is_not_answered_ends_too(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, &(tkl_options){.timeout_ms = WAY_MS});
    call_expect(client, "PONG", "PING", NULL);
    server_freeze(s);
    hall h = {.client = client};
    crew *threads = crew_start((int)first_way_count, make_first_request, &h);
    test_sleep_ms(700);
    assert_int_equal(atomic_load(&h.ended), 0);
    int64_t start = test_now_ms();
    tkl_interrupt(client);
    crew_join(threads);
    int64_t took = test_now_ms() - start;
    server_thaw(s);
    assert_true(took < SOON_MS);
    for (size_t i = 0; i < first_way_count; i++)
        if (h.codes[i] != TKL_EINTR && !tkl_is_transient(h.codes[i]))
            fail_msg("%s: %s", first_ways[i].name, tkl_codename(h.codes[i]));
    tkl_close(client);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_wait_of_every_component_ends),
        cmocka_unit_test(a_server_that_hangs_keeps_no_wait_from_ending),
        cmocka_unit_test(a_first_request_that_is_not_answered_ends_too),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
