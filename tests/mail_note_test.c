/* SPDX-License-Identifier: MIT
 *
 * A small message comes with the notification that wakes its receiver; other messages are fetched.
 * No receiver gets a wrong message, whatever is published on the channel.
 *
 * ctest: label threads
 */
#include <tackle/mail.h>

#include "support/fixture.h"

#define LONG_MS 30000

/* A thread that fetches once. */
typedef struct waiter {
    tkl_mail *box;
    crew *thread;
    int result;
    tkl_messages *mail; /* once joined */
} waiter;

static tkl_mail *open_box(fixture *f)
{
    tkl_mail *box;
    assert_ok(tkl_mail_open(f->client, tkl_str("ann"), NULL, &box));
    return box;
}

static void fetch_in_thread(void *arg, int index)
{
    (void)index;
    waiter *w = arg;
    w->result = tkl_mail_fetch(w->box, 10, LONG_MS, &w->mail);
}

/* Starts the thread, and returns when it sleeps: it has subscribed, and then looked. */
static void start_waiting(waiter *w, fixture *f, tkl_mail *box)
{
    int64_t looks = server_functions(f->server);
    *w = (waiter){.box = box};
    w->thread = crew_start(1, fetch_in_thread, w);
    eventually(server_functions(f->server) > looks, LONG_MS);
    test_sleep_ms(50);
}

static const tkl_message *await_first(waiter *w)
{
    crew_join(w->thread);
    assert_ok(w->result);
    return &w->mail->items[0];
}

static void ack_and_free(waiter *w, tkl_mail *box)
{
    assert_ok(tkl_mail_ack(box, w->mail->items[w->mail->count - 1].id, NULL));
    tkl_messages_free(w->mail);
}

static void assert_bytes(tkl_bytes got, const void *data, size_t len)
{
    assert_int_equal(got.len, len);
    assert_memory_equal(got.data, data, len);
    assert_int_equal(got.data[len], '\0');
}

static void a_small_message_is_not_asked_for(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f);
    tkl_header headers[] = {{.name = TKL_LIT("a b"), .value = {NULL, 0}},
                            {.name = {"\0\n", 2}, .value = TKL_LIT("1 2\n3")}};
    tkl_letter letter = {.body = {"\0x\xff\n", 4}, .headers = headers, .header_count = 2};
    tkl_letter empty = {.body = {NULL, 0}};
    waiter w;
    start_waiting(&w, f, box);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL)); /* the server learns it */
    await_first(&w);
    ack_and_free(&w, box);

    start_waiting(&w, f, box);
    int64_t before = server_functions(f->server);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL));
    const tkl_message *got = await_first(&w);
    assert_int_equal(server_functions(f->server), before + 1); /* the sender's */
    assert_int_equal(w.mail->count, 1);
    assert_int_equal(w.mail->unread, 1);
    assert_int_equal(w.mail->missed, 0);
    assert_int_equal(got->id, 2);
    assert_in_range(got->time_ms, server_ask_int(f->server, "TIME") * 1000 - 60000, INT64_MAX);
    assert_bytes(got->sender, "bob", 3);
    assert_bytes(got->body, "\0x\xff\n", 4);
    assert_int_equal(got->header_count, 2);
    assert_bytes(got->headers[0].name, "a b", 3);
    assert_bytes(got->headers[0].value, "", 0);
    assert_bytes(got->headers[1].name, "\0\n", 2);
    assert_bytes(got->headers[1].value, "1 2\n3", 5);
    ack_and_free(&w, box);

    start_waiting(&w, f, box);
    assert_ok(tkl_mail_send(box, tkl_str(""), &empty, 1, NULL));
    got = await_first(&w);
    assert_int_equal(got->id, 3);
    assert_int_equal(got->sender.len + got->body.len + got->header_count, 0);
    assert_null(got->headers);
    ack_and_free(&w, box);
    tkl_mail_close(box);
}

static void batches_and_large_messages_are_asked_for(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f);
    static char large[201];
    tkl_letter two[] = {{.body = TKL_LIT("1")}, {.body = TKL_LIT("2")}};
    tkl_letter one = {.body = {large, sizeof large}};
    waiter w;
    start_waiting(&w, f, box);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), two, 2, NULL));
    await_first(&w);
    assert_int_equal(w.mail->count, 2);
    ack_and_free(&w, box);
    start_waiting(&w, f, box);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), &one, 1, NULL));
    assert_bytes(await_first(&w)->body, large, sizeof large);
    ack_and_free(&w, box);
    tkl_mail_close(box);
}

/* Messages that a limit removed are reported with the next message, however it comes. */
static void what_was_missed_is_told_with_it(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f);
    tkl_letter letters[] = {{.body = TKL_LIT("1")}, {.body = TKL_LIT("2")}, {.body = TKL_LIT("3")}};
    waiter w;
    assert_ok(tkl_mail_limit(box, &(tkl_message_limits){.max_age_ms = 20}));
    assert_ok(tkl_mail_send(box, tkl_str("bob"), letters, 3, NULL));
    test_sleep_ms(40);
    assert_ok(tkl_mail_limit(box, NULL));
    start_waiting(&w, f, box);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), letters, 1, NULL));
    assert_int_equal(await_first(&w)->id, 4);
    assert_int_equal(w.mail->missed, 3);
    ack_and_free(&w, box);
    tkl_mail_close(box);
}

/* Words that another program publishes on the channel only wake the receiver. */
static void nonsense_on_the_channel_is_no_message(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f);
    static const char *const nonsense[] = {
        "",
        "x",
        "1",
        "1 ",
        "1 2",
        "1 2 3",
        "1 2 1 1",
        "1 2 1 1\n",
        "1 2 1 1\nabc",
        "1 2 9 0\nabc",
        "1 2 1\nx",
        "1 2 1 1 1\nabc",
        "-1 2 1 1\nab",
        "1 2 99999999999999999999 0\n",
        "1 2 1 1 \nab",
        "7 2 1 1\nab",
        "0 2 1 1\nab",
        "1\n2 1 1\nab",
        "1 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 "
        "0 "
        "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"};
    tkl_letter letter = {.body = TKL_LIT("true")};
    waiter w;
    start_waiting(&w, f, box);
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++)
        assert_ok(tkl_callz(f->client, NULL, "SPUBLISH", "tackle:mail:{ann}", nonsense[i], NULL));
    test_sleep_ms(50);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL));
    assert_bytes(await_first(&w)->body, "true", 4);
    assert_int_equal(w.mail->items[0].id, 1);
    ack_and_free(&w, box);
    tkl_mail_close(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_small_message_is_not_asked_for),
        TEST(batches_and_large_messages_are_asked_for),
        TEST(what_was_missed_is_told_with_it),
        TEST(nonsense_on_the_channel_is_no_message),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
