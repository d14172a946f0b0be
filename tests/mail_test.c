/* SPDX-License-Identifier: MIT
 *
 * Mailboxes: a message stays until it is acknowledged, within limits.
 *
 * ctest: label threads
 */

#include <tackle/mail.h>

#include "support/fixture.h"
#include "support/locale.h"
#include "support/process.h"

#define LONG_MS 30000

static tkl_mail *open_box(fixture *f, const char *owner)
{
    tkl_mail *box;
    assert_ok(tkl_mail_open(f->client, tkl_str(owner), NULL, &box));
    return box;
}

static int64_t send_text(tkl_mail *box, const char *text)
{
    tkl_letter letter = {.body = tkl_str(text)};
    int64_t id;
    assert_ok(tkl_mail_send(box, tkl_str("bob"), &letter, 1, &id));
    return id;
}

static void send_numbers(tkl_mail *box, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        assert_int_equal(send_text(box, text), i);
    }
}

/* Fetches, and checks the bodies and ids: "5:hello 6:you". */
static tkl_messages *expect(tkl_mail *box, size_t max, const char *expected)
{
    tkl_messages *mail;
    char got[4096] = "";
    int rc = tkl_mail_fetch(box, max, 0, &mail);
    for (size_t i = 0; rc == TKL_OK && i < mail->count; i++)
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%d:" TKL_FMT, i ? " " : "",
                 (int)mail->items[i].id, TKL_ARG(mail->items[i].body));
    assert_code(rc, *expected ? TKL_OK : TKL_EMPTY);
    assert_string_equal(got, expected);
    return mail;
}

static void expect_mail(tkl_mail *box, const char *expected)
{
    tkl_messages_free(expect(box, 100, expected));
}

static tkl_mail_info show(tkl_mail *box)
{
    tkl_mail_info *info;
    assert_ok(tkl_mail_show(box, &info));
    tkl_mail_info copy = *info;
    tkl_mail_info_free(info);
    return copy;
}

static void set_limits(tkl_mail *box, tkl_message_limits limits)
{
    assert_ok(tkl_mail_limit(box, &limits));
}

/* ---- The heart ----------------------------------------------------------- */

static void what_is_not_acknowledged_comes_again(void **state)
{
    tkl_mail *box = open_box(*state, "ann");
    int64_t unread;
    expect_mail(box, "");
    send_numbers(box, 1, 3);
    expect_mail(box, "1:1 2:2 3:3");
    expect_mail(box, "1:1 2:2 3:3");
    assert_ok(tkl_mail_ack(box, 2, &unread));
    assert_int_equal(unread, 1);
    expect_mail(box, "3:3");
    assert_ok(tkl_mail_ack(box, 3, &unread));
    assert_int_equal(unread, 0);
    expect_mail(box, "");
    assert_int_equal(send_text(box, "on"), 4);
    expect_mail(box, "4:on");
    tkl_mail_close(box);
}

static void acknowledging_never_goes_backwards_nor_ahead(void **state)
{
    tkl_mail *box = open_box(*state, "ann");
    int64_t unread;
    assert_code(tkl_mail_ack(box, 1, NULL), TKL_NOTFOUND);
    send_numbers(box, 1, 5);
    assert_ok(tkl_mail_ack(box, 3, NULL));
    assert_ok(tkl_mail_ack(box, 3, &unread));
    assert_int_equal(unread, 2);
    assert_ok(tkl_mail_ack(box, 1, &unread));
    assert_int_equal(unread, 2);
    assert_int_equal(show(box).acked_id, 3);
    assert_code(tkl_mail_ack(box, 6, &unread), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "6");
    assert_code(tkl_mail_ack(box, INT64_C(1) << 53, NULL), TKL_NOTFOUND);
    expect_mail(box, "4:4 5:5");
    assert_code(tkl_mail_ack(box, 0, NULL), TKL_EINVAL);
    assert_code(tkl_mail_ack(box, -1, NULL), TKL_EINVAL);
    assert_code(tkl_mail_ack(box, INT64_MAX, NULL), TKL_EINVAL);
    expect_mail(box, "4:4 5:5");
    tkl_mail_close(box);
}

static void a_message_has_sender_time_body_and_headers(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    tkl_header headers[] = {{.name = TKL_LIT("subject"), .value = TKL_LIT("hi")},
                            {.name = TKL_LIT("subject"), .value = TKL_LIT("")},
                            {.name = {"\0\xff", 2}, .value = {"\n\0", 2}}};
    tkl_letter letters[] = {{.body = {"a\0b\xff", 4}, .headers = headers, .header_count = 3},
                            {.body = {NULL, 0}}};
    tkl_messages *mail;
    int64_t before = server_ask_int(f->server, "TIME") * 1000, id;
    assert_ok(tkl_mail_send(box, (tkl_bytes){"\0b{o}b", 6}, letters, 2, &id));
    assert_int_equal(id, 1);
    assert_ok(tkl_mail_fetch(box, 10, 0, &mail));
    assert_int_equal(mail->count, 2);
    const tkl_message *m = mail->items;
    assert_memory_equal(m[0].sender.data, "\0b{o}b", 6);
    assert_int_equal(m[0].sender.len, 6);
    assert_int_equal(m[0].body.len, 4);
    assert_memory_equal(m[0].body.data, "a\0b\xff", 4);
    assert_in_range(m[0].time_ms, before, before + 60000);
    assert_int_equal(m[0].header_count, 3);
    assert_string_equal(m[0].headers[0].value.data, "hi");
    assert_int_equal(m[0].headers[1].value.len, 0);
    assert_memory_equal(m[0].headers[2].name.data, "\0\xff", 2);
    assert_int_equal(m[1].body.len, 0);
    assert_int_equal(m[1].header_count, 0);
    assert_int_equal(mail->unread, 2);
    assert_int_equal(mail->missed, 0);
    tkl_messages_free(mail);
    tkl_mail_close(box);
}

static void looking_does_not_fetch(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    tkl_mail_info *none;
    assert_code(tkl_mail_show(box, &none), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "no such mailbox");
    assert_null(none);
    send_numbers(box, 1, 9);
    assert_ok(tkl_mail_ack(box, 4, NULL));
    tkl_mail_info s = show(box);
    assert_int_equal(s.limits.max_messages, 10000);
    assert_int_equal(s.unread, 5);
    assert_int_equal(s.bytes, 5 * (1 + 3)); /* a digit, from bob */
    assert_int_equal(s.last_id, 9);
    assert_int_equal(s.acked_id, 4);
    assert_int_equal(s.fetched_ms, 0);
    assert_true(s.oldest_ms > 0);
    expect_mail(box, "5:5 6:6 7:7 8:8 9:9");
    assert_in_range(show(box).fetched_ms, s.oldest_ms, s.oldest_ms + 600000);
    assert_int_equal(show(box).unread, 5);
    tkl_mail_close(box);
}

static void fetching_makes_no_mailbox(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "typo");
    tkl_messages *mail;
    tkl_names *names;
    expect_mail(box, "");
    assert_code(tkl_mail_fetch(box, 1, 20, &mail), TKL_EMPTY);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_ok(tkl_mail_names(f->client, &names));
    assert_int_equal(names->count, 0);
    tkl_names_free(names);
    tkl_mail_close(box);
    box = open_box(f, "bob"); /* limits stay */
    set_limits(box, (tkl_message_limits){.max_messages = 7});
    expect_mail(box, "");
    assert_true(show(box).fetched_ms > 0);
    assert_int_equal(server_ask_int(f->server, "PTTL tackle:mail:{bob}"), -1);
    assert_int_equal(show(box).limits.max_messages, 7);
    assert_int_equal(send_text(box, "x"), 1);
    tkl_mail_close(box);
}

static void purging_keeps_ids_and_dropping_does_not(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    int64_t removed;
    assert_ok(tkl_mail_purge(box, &removed));
    assert_int_equal(removed, 0);
    send_numbers(box, 1, 3);
    assert_ok(tkl_mail_purge(box, &removed));
    assert_int_equal(removed, 3);
    expect_mail(box, "");
    assert_int_equal(send_text(box, "x"), 4);
    assert_ok(tkl_mail_drop(box));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_code(tkl_mail_drop(box), TKL_NOTFOUND);
    assert_int_equal(send_text(box, "x"), 1);
    tkl_mail_close(box);
}

static void names_are_those_of_all_owners(void **state)
{
    fixture *f = *state;
    tkl_names *names;
    tkl_mail *boxes[] = {open_box(f, "zoe"), open_box(f, "{a}:messages"), open_box(f, "%")};
    assert_ok(tkl_mail_names(f->client, &names));
    assert_int_equal(names->count, 0);
    tkl_names_free(names);
    for (int i = 0; i < 3; i++)
        send_text(boxes[i], "x");
    assert_ok(tkl_mail_names(f->client, &names));
    assert_int_equal(names->count, 3);
    assert_string_equal(names->items[0].data, "%");
    assert_string_equal(names->items[2].data, "{a}:messages");
    assert_string_equal(names->items[1].data, "zoe");
    tkl_names_free(names);
    for (int i = 0; i < 3; i++)
        tkl_mail_close(boxes[i]);
}

/* ---- Limits -------------------------------------------------------------- */

static void a_full_mailbox_refuses_and_nothing_happens(void **state)
{
    tkl_mail *box = open_box(*state, "ann");
    tkl_letter three[3] = {{.body = TKL_LIT("x")}, {.body = TKL_LIT("y")}, {.body = TKL_LIT("z")}};
    set_limits(box, (tkl_message_limits){.max_messages = 4});
    send_numbers(box, 1, 2);
    assert_code(tkl_mail_send(box, tkl_str("bob"), three, 3, NULL), TKL_FULL);
    assert_int_equal(show(box).last_id, 2);
    assert_ok(tkl_mail_ack(box, 1, NULL));
    assert_ok(tkl_mail_send(box, tkl_str("bob"), three, 3, NULL));
    expect_mail(box, "2:2 3:x 4:y 5:z");
    assert_code(tkl_mail_send(box, tkl_str("bob"), three, 1, NULL), TKL_FULL);
    set_limits(box, (tkl_message_limits){.max_messages = TKL_NONE, .max_bytes = 20});
    assert_ok(tkl_mail_send(box, tkl_str("bob"), three, 1, NULL));
    assert_code(tkl_mail_send(box, tkl_str("bob"), three, 1, NULL), TKL_FULL);
    assert_contains(tkl_errmsg(), "mailbox");
    tkl_mail_close(box);
}

static void the_oldest_are_dropped_if_chosen_and_the_owner_is_told(void **state)
{
    tkl_mail *box = open_box(*state, "ann");
    tkl_letter many[6] = {{.body = {NULL, 0}}};
    set_limits(box,
               (tkl_message_limits){.max_messages = 5, .when_full = TKL_WHEN_FULL_DROP_OLDEST});
    send_numbers(box, 1, 8);
    tkl_messages *mail = expect(box, 2, "4:4 5:5");
    assert_int_equal(mail->missed, 3);
    assert_int_equal(mail->unread, 5);
    tkl_messages_free(mail);
    assert_int_equal(show(box).missed, 3);
    assert_ok(tkl_mail_ack(box, 4, NULL));
    assert_int_equal(show(box).missed, 0);
    assert_code(tkl_mail_send(box, tkl_str("bob"), many, 6, NULL), TKL_FULL);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), many, 5, NULL));
    assert_int_equal(show(box).missed, 4);
    expect_mail(box, "9: 10: 11: 12: 13:");
    tkl_mail_close(box);
}

static void bytes_are_a_limit_too(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    char body[1000];
    memset(body, 'x', sizeof body);
    tkl_letter large = {.body = {body, 500}};
    set_limits(box, (tkl_message_limits){.max_bytes = 1000,
                                         .max_messages = TKL_NONE,
                                         .when_full = TKL_WHEN_FULL_DROP_OLDEST});
    for (int i = 0; i < 250; i++)
        send_text(box, "1"); /* 4 bytes each with bob */
    assert_int_equal(show(box).bytes, 1000);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), &large, 1, NULL));
    tkl_mail_info s = show(box);
    assert_int_equal(s.bytes, 503 + 4 * 124);
    assert_int_equal(s.missed, 126);
    large.body.len = 998;
    assert_code(tkl_mail_send(box, tkl_str("bob"), &large, 1, NULL), TKL_FULL);
    large.body.len = 997;
    assert_ok(tkl_mail_send(box, tkl_str("bob"), &large, 1, NULL));
    assert_int_equal(show(box).unread, 1);
    tkl_mail_close(box);
}

static void what_is_too_old_is_gone(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    set_limits(box, (tkl_message_limits){.max_age_ms = 600000, .max_messages = 3});
    send_numbers(box, 1, 3);
    /* Let two of them be older. */
    server_do(f->server, "LSET tackle:mail:{ann}:marks 0 1000");
    server_do(f->server, "LSET tackle:mail:{ann}:marks 2 2000");
    tkl_messages *mail = expect(box, 9, "3:3");
    assert_int_equal(mail->missed, 2);
    assert_int_equal(mail->unread, 1);
    tkl_messages_free(mail);
    assert_int_equal(show(box).unread, 1);
    assert_int_equal(send_text(box, "4"), 4); /* there is room again */
    expect_mail(box, "3:3 4:4");
    assert_int_equal(server_ask_int(f->server, "XLEN tackle:mail:{ann}:messages"), 2);
    assert_in_range(server_ask_int(f->server, "PTTL tackle:mail:{ann}:messages"), 1, 600000);
    set_limits(box, (tkl_message_limits){.max_age_ms = 20});
    send_text(box, "5");
    eventually(server_ask_int(f->server, "EXISTS tackle:mail:{ann}:messages") == 0, LONG_MS);
    assert_int_equal(show(box).missed, 5);
    assert_int_equal(send_text(box, "6"), 6);
    tkl_mail_close(box);
}

/* Limits do not expire with the messages: the next message would find a mailbox without them. */
static void messages_expire_after_the_time_to_live(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    tkl_messages *mail;
    set_limits(box, (tkl_message_limits){.ttl_ms = 3600000, .max_messages = 7});
    send_text(box, "1");
    assert_ok(tkl_mail_ack(box, 1, NULL));
    send_text(box, "2");
    const char *parts[] = {":messages", ":marks", "", ":readers"};
    for (int i = 0; i < 4; i++) {
        int64_t left = server_ask_int(f->server, "PTTL tackle:mail:{ann}%s", parts[i]);
        assert_in_range(left + 1, i < 2 ? 1 : 0, i < 2 ? 3600001 : 0);
    }
    assert_ok(tkl_mail_limit(box, NULL));
    for (int i = 0; i < 4; i++)
        assert_int_equal(server_ask_int(f->server, "PTTL tackle:mail:{ann}%s", parts[i]), -1);
    set_limits(box, (tkl_message_limits){.ttl_ms = 10, .max_messages = 7});
    send_text(box, "3");
    eventually(server_ask_int(f->server, "EXISTS tackle:mail:{ann}:messages") == 0, LONG_MS);
    assert_int_equal(show(box).limits.max_messages, 7);
    assert_int_equal(show(box).limits.ttl_ms, 10);
    assert_int_equal(show(box).missed, 2);
    expect_mail(box, "");
    set_limits(box, (tkl_message_limits){.ttl_ms = 3600000, .max_messages = 1});
    assert_int_equal(send_text(box, "4"), 4);
    assert_ok(tkl_mail_fetch(box, 9, 0, &mail));
    assert_int_equal(mail->missed, 2);
    assert_int_equal(mail->count, 1);
    tkl_messages_free(mail);
    tkl_mail_close(box);
}

/* Messages that a limit has removed do not count as left. */
static void what_is_left_is_what_can_be_fetched(void **state)
{
    tkl_mail *box = open_box(*state, "ann");
    int64_t left;
    set_limits(box,
               (tkl_message_limits){.max_messages = 3, .when_full = TKL_WHEN_FULL_DROP_OLDEST});
    send_numbers(box, 1, 10);
    assert_ok(tkl_mail_ack(box, 1, &left));
    assert_int_equal(left, 3);
    assert_ok(tkl_mail_ack(box, 1, &left));
    assert_int_equal(left, 3);
    assert_ok(tkl_mail_ack(box, 9, &left));
    assert_int_equal(left, 1);
    set_limits(box, (tkl_message_limits){.max_age_ms = 20});
    send_text(box, "young for a moment");
    test_sleep_ms(40);
    assert_ok(tkl_mail_ack(box, 9, &left));
    assert_int_equal(left, 0);
    tkl_mail_close(box);
}

/* Messages that expired by their age are missed, whatever the limits are by now. */
static void limits_may_change_when_all_have_expired(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    tkl_messages *mail;
    set_limits(box, (tkl_message_limits){.max_age_ms = 20});
    send_numbers(box, 1, 3);
    eventually(server_ask_int(f->server, "EXISTS tackle:mail:{ann}:messages") == 0, LONG_MS);
    assert_ok(tkl_mail_limit(box, NULL));
    assert_code(tkl_mail_fetch(box, 9, 0, &mail), TKL_EMPTY);
    send_numbers(box, 4, 5);
    assert_ok(tkl_mail_fetch(box, 9, 0, &mail));
    assert_int_equal(mail->missed, 3);
    assert_int_equal(mail->count, 2);
    tkl_messages_free(mail);
    assert_ok(tkl_mail_ack(box, 5, NULL));
    assert_code(tkl_mail_fetch(box, 9, 0, &mail), TKL_EMPTY);
    tkl_mail_close(box);
}

/* ---- Sizes --------------------------------------------------------------- */

static void bodies_of_no_bytes_and_of_ten_megabytes(void **state)
{
    tkl_mail *box = open_box(*state, "ann");
    size_t size = 10 * 1024 * 1024;
    char *body = malloc(size);
    for (size_t i = 0; i < size; i++)
        body[i] = (char)(i * 7);
    tkl_letter letters[] = {{.body = {NULL, 0}}, {.body = {body, size}}, {.body = TKL_LIT("x")}};
    tkl_messages *mail;
    assert_ok(tkl_mail_send(box, tkl_str(""), letters, 3, NULL));
    assert_ok(tkl_mail_fetch(box, 100, 0, &mail));
    assert_int_equal(mail->count, 2); /* the third is beyond the budget of a fetch */
    assert_int_equal(mail->unread, 3);
    assert_int_equal(mail->items[1].body.len, size);
    assert_memory_equal(mail->items[1].body.data, body, size);
    tkl_messages_free(mail);
    letters[1].body.len = TKL_MESSAGE_MAX + 1;
    assert_code(tkl_mail_send(box, tkl_str(""), letters + 1, 1, NULL), TKL_EINVAL);
    free(body);
    tkl_mail_close(box);
}

static void a_thousand_in_one_trip(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    tkl_letter *letters = calloc(1001, sizeof *letters);
    tkl_messages *mail;
    int64_t id;
    assert_ok(tkl_mail_send(box, tkl_str("b"), letters, 1000, &id));
    assert_ok(tkl_mail_send(box, tkl_str("b"), letters, 1000, &id));
    assert_int_equal(id, 1001);
    assert_ok(tkl_mail_send(box, tkl_str("b"), NULL, 0, &id));
    assert_int_equal(id, 0);
    assert_code(tkl_mail_send(box, tkl_str("b"), letters, 1001, &id), TKL_EINVAL);
    assert_ok(tkl_mail_fetch(box, 1000, 0, &mail));
    assert_int_equal(mail->count, 1000);
    assert_int_equal(mail->unread, 2000);
    assert_int_equal(mail->items[999].id, 1000);
    tkl_messages_free(mail);
    free(letters);
    tkl_mail_close(box);
}

/* No call keeps the server busy for long: many headers are many words. */
static void headers_of_one_call_are_bounded(void **state)
{
    tkl_mail *box = open_box(*state, "ann");
    static tkl_header headers[TKL_HEADERS_MAX];
    static tkl_letter letters[TKL_CALL_HEADERS_MAX / TKL_HEADERS_MAX + 1];
    enum { MOST = TKL_CALL_HEADERS_MAX / TKL_HEADERS_MAX };
    tkl_messages *mail;
    for (int i = 0; i < TKL_HEADERS_MAX; i++)
        headers[i] = (tkl_header){.name = TKL_LIT("name"), .value = TKL_LIT("value")};
    for (int i = 0; i <= MOST; i++)
        letters[i] = (tkl_letter){.headers = headers, .header_count = TKL_HEADERS_MAX};
    assert_code(tkl_mail_send(box, tkl_str(""), letters, MOST + 1, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "headers in one call");
    for (int i = 0; i < 4; i++)
        assert_ok(tkl_mail_send(box, tkl_str(""), letters, MOST, NULL));
    int64_t last = 0;
    while (tkl_mail_fetch(box, 1000, 0, &mail) == TKL_OK) {
        assert_in_range(mail->count, 1, 200);
        assert_int_equal(mail->unread, 4 * MOST - last);
        assert_int_equal(mail->items[0].id, last + 1);
        last = mail->items[mail->count - 1].id;
        assert_int_equal(mail->items[mail->count - 1].header_count, TKL_HEADERS_MAX);
        assert_ok(tkl_mail_ack(box, last, NULL));
        tkl_messages_free(mail);
    }
    assert_int_equal(last, 4 * MOST);
    tkl_mail_close(box);
}

static void the_memory_is_free_after_the_acknowledgement(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f, "ann");
    char body[100] = {0};
    tkl_letter *letters = calloc(1000, sizeof *letters);
    for (int i = 0; i < 1000; i++)
        letters[i].body = (tkl_bytes){body, sizeof body};
    assert_ok(tkl_mail_send(box, tkl_str("b"), letters, 1000, NULL));
    assert_ok(tkl_mail_ack(box, 1000, NULL));
    char *keys = server_ask(f->server, "KEYS *");
    assert_lacks(keys, "messages");
    assert_lacks(keys, "marks");
    free(keys);
    assert_in_range(server_ask_int(f->server, "PTTL tackle:mail:{ann}:recent"), 60000, 121000);
    free(letters);
    tkl_mail_close(box);
}

/* ---- Bad input ----------------------------------------------------------- */

static void nonsense_is_refused(void **state)
{
    fixture *f = *state;
    tkl_mail *box;
    tkl_messages *mail;
    char *huge = calloc(1, TKL_NAME_MAX + 1);
    tkl_header header = {.value = TKL_LIT("x")};
    tkl_letter letter = {.headers = &header, .header_count = 1};
    assert_code(tkl_mail_open(f->client, tkl_str(""), NULL, &box), TKL_EINVAL);
    assert_null(box);
    assert_code(tkl_mail_open(f->client, (tkl_bytes){huge, TKL_NAME_MAX + 1}, NULL, &box),
                TKL_EINVAL);
    assert_code(tkl_mail_open(f->client, tkl_str("a"), &(tkl_mail_options){.timeout_ms = -1}, &box),
                TKL_EINVAL);
    assert_code(tkl_mail_open(f->client, tkl_str("a"), &(tkl_mail_options){.reserved = {1}}, &box),
                TKL_EINVAL);
    assert_ok(tkl_mail_open(f->client, (tkl_bytes){huge, TKL_NAME_MAX}, NULL, &box));
    assert_int_equal(send_text(box, "x"), 1);
    expect_mail(box, "1:x");
    assert_code(tkl_mail_send(box, tkl_str(""), &letter, 1, NULL), TKL_EINVAL);
    header.name = tkl_str("n");
    letter.header_count = TKL_HEADERS_MAX + 1;
    assert_code(tkl_mail_send(box, tkl_str(""), &letter, 1, NULL), TKL_EINVAL);
    assert_code(tkl_mail_fetch(box, 0, 0, &mail), TKL_EINVAL);
    assert_null(mail);
    assert_code(tkl_mail_fetch(box, TKL_MESSAGES_MAX + 1, 0, &mail), TKL_EINVAL);
    assert_code(tkl_mail_fetch(box, SIZE_MAX, 0, &mail), TKL_EINVAL);
    const tkl_message_limits bad[] = {{.max_messages = -2},
                                      {.max_bytes = -2},
                                      {.max_age_ms = -2},
                                      {.ttl_ms = INT64_MAX},
                                      {.when_full = (tkl_when_full)3},
                                      {.reserved = {[7] = 1}}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_code(tkl_mail_limit(box, &bad[i]), TKL_EINVAL);
    assert_int_equal(show(box).unread, 1);
    tkl_mail_close(box);
    tkl_mail_close(NULL);
    tkl_messages_free(NULL);
    free(huge);
}

/* Damage to the keys is reported before anything is changed. */
static void damage_is_told_and_nothing_is_changed(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *command;
        int code;
    } cases[] = {
        {"DEL tackle:mail:{ann}:marks", TKL_EDAMAGED},
        {"DEL tackle:mail:{ann}", TKL_EDAMAGED},
        {"DEL tackle:mail:{ann}:readers", TKL_EDAMAGED},
        {"DEL tackle:mail:{ann}:messages tackle:mail:{ann}:marks", TKL_EDAMAGED},
        {"HSET tackle:mail:{ann} last x", TKL_EDAMAGED},
        {"HSET tackle:mail:{ann} last -1", TKL_EDAMAGED},
        {"HSET tackle:mail:{ann} last 1e300", TKL_EDAMAGED},
        {"HSET tackle:mail:{ann} max_bytes 1.5", TKL_EDAMAGED},
        {"LSET tackle:mail:{ann}:marks 1 x", TKL_EDAMAGED},
        {"ZADD tackle:mail:{ann}:readers 77 owner", TKL_EDAMAGED},
        {"ZADD tackle:mail:{ann}:readers inf owner", TKL_EDAMAGED},
        {"SET tackle:mail:{ann} x", TKL_ETYPE},
        {"SET tackle:mail:{ann}:messages x", TKL_ETYPE},
        {"SET tackle:mail:{ann}:marks x", TKL_ETYPE},
        {"SET tackle:mail:{ann}:readers x", TKL_ETYPE},
        {"SET tackle:mail:{ann}:recent x", TKL_ETYPE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_mail *box = open_box(f, "ann");
        tkl_letter letter = {.body = TKL_LIT("x")};
        tkl_messages *mail = NULL;
        bool readers = strstr(cases[i].command, "readers"),
             recent = strstr(cases[i].command, "rec");
        send_numbers(box, 1, 3);
        server_do(f->server, cases[i].command);
        char *before = server_ask(f->server, "XRANGE tackle:mail:{ann}:messages - +");
        if (!readers)
            assert_code(tkl_mail_send(box, tkl_str("b"), &letter, 1, NULL), cases[i].code);
        if (!recent && !strstr(cases[i].command, "LSET")) {
            assert_code(tkl_mail_fetch(box, 9, 0, &mail), cases[i].code);
            assert_code(tkl_mail_ack(box, 2, NULL), cases[i].code);
        }
        char *after = server_ask(f->server, "XRANGE tackle:mail:{ann}:messages - +");
        assert_string_equal(before, after);
        free(before);
        free(after);
        tkl_messages_free(mail);
        assert_ok(tkl_mail_drop(box)); /* the way out */
        tkl_mail_close(box);
    }
}

static void a_locale_with_a_comma_changes_nothing(void **state)
{
    locale_with_a_comma();
    tkl_mail *box = open_box(*state, "ann");
    send_numbers(box, 1, 3);
    expect_mail(box, "1:1 2:2 3:3");
    assert_ok(tkl_mail_ack(box, 2, NULL));
    expect_mail(box, "3:3");
    locale_plain();
    tkl_mail_close(box);
}

static int send_in_child(void *arg)
{
    tkl_letter letter = {.body = TKL_LIT("child")};
    return tkl_mail_send(arg, tkl_str("c"), &letter, 1, NULL) == TKL_OK ? 0 : 1;
}

static void a_forked_child_may_send(void **state)
{
    tkl_mail *box = open_box(*state, "ann");
    send_text(box, "parent");
    assert_int_equal(process_wait(process_fork(send_in_child, box)), 0);
    expect_mail(box, "1:parent 2:child");
    tkl_mail_close(box);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_not_acknowledged_comes_again),
        TEST(acknowledging_never_goes_backwards_nor_ahead),
        TEST(a_message_has_sender_time_body_and_headers),
        TEST(looking_does_not_fetch),
        TEST(fetching_makes_no_mailbox),
        TEST(purging_keeps_ids_and_dropping_does_not),
        TEST(names_are_those_of_all_owners),
        TEST(a_full_mailbox_refuses_and_nothing_happens),
        TEST(the_oldest_are_dropped_if_chosen_and_the_owner_is_told),
        TEST(bytes_are_a_limit_too),
        TEST(what_is_too_old_is_gone),
        TEST(messages_expire_after_the_time_to_live),
        TEST(what_is_left_is_what_can_be_fetched),
        TEST(limits_may_change_when_all_have_expired),
        TEST(bodies_of_no_bytes_and_of_ten_megabytes),
        TEST(a_thousand_in_one_trip),
        TEST(headers_of_one_call_are_bounded),
        TEST(the_memory_is_free_after_the_acknowledgement),
        TEST(nonsense_is_refused),
        TEST(damage_is_told_and_nothing_is_changed),
        TEST(a_locale_with_a_comma_changes_nothing),
        TEST(a_forked_child_may_send),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
