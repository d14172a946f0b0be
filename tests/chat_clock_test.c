/* SPDX-License-Identifier: MIT
 *
 * Chats and mailboxes on a server whose clock is wrong, or jumps.
 */
#include <tackle/chat.h>
#include <tackle/mail.h>

#include "support/call.h"
#include "support/chats.h"
#include "support/timed.h"

#define MINUTE_MS INT64_C(60000)
#define YEAR_MS   (365 * 24 * HOUR_MS)

typedef struct scene {
    timed_server *timed;
    tkl_client *client;
    tkl_chat *chat;
    tkl_inbox *bob;
} scene;

static void scene_start(scene *s, int64_t shift_ms)
{
    s->timed = timed_start(NULL);
    timed_shift(s->timed, shift_ms);
    s->client = test_open(s->timed->server->url, NULL);
    s->chat = create_chat(s->client, "lunch", "ann bob");
    s->bob = open_inbox(s->client, "bob");
}

static void scene_end(scene *s)
{
    tkl_inbox_close(s->bob);
    tkl_chat_close(s->chat);
    tkl_close(s->client);
    timed_end(s->timed);
}

/* Bob joins and leaves, and gets the messages that were sent meanwhile. */
static void expect_all_goes_on(scene *s)
{
    take_inbox(s->bob, "");
    int64_t id = chat_say(s->chat, "ann", "x");
    char expected[64];
    snprintf(expected, sizeof expected, "lunch[%d:x]", (int)id);
    take_inbox(s->bob, expected);
    assert_ok(chat_leave(s->chat, "bob"));
    take_inbox(s->bob, "");
    assert_ok(chat_join(s->chat, "bob"));
    assert_int_equal(chat_say(s->chat, "ann", "x"), id + 1);
    snprintf(expected, sizeof expected, "lunch[%d:x]", (int)id + 1);
    take_inbox(s->bob, expected);
    assert_ok(chat_try_ack(s->chat, "ann", id + 1));
}

static void a_clock_before_2001_does(void **state)
{
    (void)state;
    scene s;
    tkl_chat_info *info;
    scene_start(&s, -30 * YEAR_MS);
    expect_all_goes_on(&s);
    assert_ok(tkl_chat_show(s.chat, &info));
    assert_true(info->created_ms > 0 && info->created_ms < 32 * YEAR_MS);
    tkl_chat_info_free(info);
    scene_end(&s);
}

static void a_clock_that_jumps_changes_nothing_for_members(void **state)
{
    (void)state;
    static const int64_t jumps[] = {-HOUR_MS, 20 * MINUTE_MS, -3 * HOUR_MS, 3 * HOUR_MS};
    scene s;
    scene_start(&s, 0);
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        expect_all_goes_on(&s);
        timed_shift(s.timed, jumps[i]);
        expect_all_goes_on(&s);
    }
    scene_end(&s);
}

/* Messages may be kept for longer when the clock goes back; none is lost. */
static void ages_with_a_clock_that_goes_back(void **state)
{
    (void)state;
    scene s;
    scene_start(&s, 0);
    assert_ok(tkl_chat_limit(s.chat, &(tkl_message_limits){.max_age_ms = 30 * MINUTE_MS}));
    chat_say(s.chat, "ann", "a");
    timed_shift(s.timed, -HOUR_MS);
    chat_say(s.chat, "ann", "b");
    expect_inbox(s.bob, "lunch[1:a 2:b]");
    timed_shift(s.timed, 20 * MINUTE_MS);
    chat_say(s.chat, "ann", "c");
    take_inbox(s.bob, "lunch[1:a 2:b 3:c]");
    scene_end(&s);
}

static void ages_with_a_clock_that_goes_forward(void **state)
{
    (void)state;
    scene s;
    scene_start(&s, 0);
    assert_ok(tkl_chat_limit(s.chat, &(tkl_message_limits){.max_age_ms = 30 * MINUTE_MS}));
    chat_say(s.chat, "ann", "a");
    timed_shift(s.timed, 20 * MINUTE_MS);
    chat_say(s.chat, "ann", "b");
    expect_inbox(s.bob, "lunch[1:a 2:b]");
    timed_shift(s.timed, 20 * MINUTE_MS);
    take_inbox(s.bob, "lunch[(missed 1) 2:b]");
    timed_shift(s.timed, HOUR_MS);
    expect_all_goes_on(&s);
    scene_end(&s);
}

/* A chat expires, a fetch takes it off the list, and it is created again: now, and when the clock
 * was set back to a time before all that. */
static void a_chat_that_expired_can_be_made_anew(void **state)
{
    (void)state;
    static const int64_t jumps[] = {0, -2 * HOUR_MS, -5 * MINUTE_MS};
    scene s;
    scene_start(&s, 0);
    for (size_t i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        assert_ok(tkl_chat_limit(s.chat, &(tkl_message_limits){.ttl_ms = 5000}));
        timed_shift(s.timed, 10000);
        expect_inbox(s.bob, "");
        assert_int_equal(call_int(s.client, "ZCARD", "tackle:chats:{bob}", NULL), 0);
        timed_shift(s.timed, jumps[i]);
        tkl_chat_close(s.chat);
        s.chat = create_chat(s.client, "lunch", "ann bob");
        expect_all_goes_on(&s);
    }
    scene_end(&s);
}

static void a_mailbox_goes_on(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_mail *box;
    tkl_letter letter = {.body = TKL_LIT("x")};
    assert_ok(tkl_mail_open(client, tkl_str("ann"), NULL, &box));
    static const int64_t jumps[] = {0, -HOUR_MS, 20 * MINUTE_MS, -30 * YEAR_MS, 30 * YEAR_MS};
    for (int i = 0; i < 5; i++) {
        tkl_messages *mail;
        timed_shift(t, jumps[i]);
        assert_ok(tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL));
        assert_ok(tkl_mail_fetch(box, 10, 0, &mail));
        assert_int_equal(mail->items[0].id, i + 1);
        assert_ok(tkl_mail_ack(box, i + 1, NULL));
        tkl_messages_free(mail);
    }
    tkl_mail_close(box);
    tkl_close(client);
    timed_end(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_before_2001_does),
        cmocka_unit_test(a_clock_that_jumps_changes_nothing_for_members),
        cmocka_unit_test(ages_with_a_clock_that_goes_back),
        cmocka_unit_test(ages_with_a_clock_that_goes_forward),
        cmocka_unit_test(a_chat_that_expired_can_be_made_anew),
        cmocka_unit_test(a_mailbox_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
