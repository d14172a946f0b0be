/* SPDX-License-Identifier: MIT
 *
 * Chats: what a member sends stays until all members have acknowledged it.
 */
#include <tackle/chat.h>

#include "chat/chat.h"
#include "core/clock.h"
#include "post/scripts.h"
#include "support/chats.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/process.h"

#define LONG_MS 30000

static tkl_chat_info *show(tkl_chat *chat)
{
    tkl_chat_info *info;
    assert_ok(tkl_chat_show(chat, &info));
    return info;
}

static int64_t kept(fixture *f, const char *id)
{
    return server_ask_int(f->server, "XLEN tackle:chat:{%s}:messages", id);
}

/* ---- Messages ------------------------------------------------------------ */

static void every_member_gets_every_message_until_it_acknowledges(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob eve kim");
    assert_int_equal(chat_say(chat, "ann", "noon?"), 1);
    assert_int_equal(chat_say(chat, "bob", "one"), 2);
    expect_chat(chat, "eve", "1:noon? 2:one");
    expect_chat(chat, "kim", "1:noon? 2:one");
    assert_ok(chat_try_ack(chat, "eve", 1));
    expect_chat(chat, "eve", "2:one");
    expect_chat(chat, "kim", "1:noon? 2:one");
    tkl_chat_close(chat);
}

static void what_all_have_acknowledged_is_gone(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob eve");
    for (int i = 0; i < 4; i++)
        chat_say(chat, "ann", "x");
    assert_ok(chat_try_ack(chat, "ann", 4));
    assert_ok(chat_try_ack(chat, "bob", 2));
    assert_int_equal(kept(f, "lunch"), 4);
    assert_ok(chat_try_ack(chat, "eve", 3));
    assert_int_equal(kept(f, "lunch"), 2);
    assert_ok(chat_try_ack(chat, "bob", 4));
    assert_int_equal(kept(f, "lunch"), 1);
    assert_ok(chat_try_ack(chat, "eve", 4));
    assert_int_equal(server_ask_int(f->server, "EXISTS tackle:chat:{lunch}:messages"), 0);
    assert_int_equal(chat_say(chat, "ann", "y"), 5);
    expect_chat(chat, "eve", "5:y");
    tkl_chat_close(chat);
}

/* ---- A member's own messages ---------------------------------------------- */

static int64_t unread_of(tkl_chat *chat, const char *member)
{
    tkl_chat_info *info = show(chat);
    int64_t unread = -1;
    for (size_t i = 0; i < info->member_count; i++)
        if (strcmp(info->members[i].name.data, member) == 0)
            unread = info->members[i].unread;
    tkl_chat_info_free(info);
    return unread;
}

static void messages_of_ones_own_are_not_unread(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_inbox *ann = open_inbox(f->client, "ann");
    tkl_inbox_chats *chats;
    int64_t left;
    chat_say(chat, "ann", "a");
    expect_chat(chat, "ann", "");
    assert_int_equal(unread_of(chat, "ann"), 0);
    assert_int_equal(unread_of(chat, "bob"), 1);
    chat_say(chat, "bob", "b");
    chat_say(chat, "ann", "c"); /* before she has read b */
    chat_say(chat, "bob", "d");
    chat_say(chat, "ann", "e");
    expect_chat(chat, "ann", "2:b 4:d");
    assert_int_equal(unread_of(chat, "ann"), 2);
    assert_ok(tkl_inbox_show(ann, &chats));
    assert_int_equal(chats->items[0].messages->unread, 2);
    tkl_inbox_chats_free(chats);
    assert_ok(tkl_chat_ack(chat, tkl_str("ann"), 2, &left));
    assert_int_equal(left, 1);
    take_inbox(ann, "lunch[4:d]");
    assert_int_equal(unread_of(chat, "ann"), 0);
    take_inbox(ann, "");
    expect_chat(chat, "bob", "1:a 3:c 5:e");
    assert_ok(chat_try_ack(chat, "bob", 5));
    assert_int_equal(kept(f, "lunch"), 0);
    assert_int_equal(server_ask_int(f->server, "EXISTS tackle:chat:{lunch}:own"), 0);
    tkl_inbox_close(ann);
    tkl_chat_close(chat);
}

/* Names of which one begins with another, and ends like an entry of that one. */
static void alike_names_have_different_messages(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "a a:0000000000000002 bob");
    chat_say(chat, "bob", "x");
    for (int i = 0; i < 3; i++)
        chat_say(chat, "a:0000000000000002", "y");
    chat_say(chat, "a", "z");
    expect_chat(chat, "a", "1:x 2:y 3:y 4:y");
    expect_chat(chat, "a:0000000000000002", "1:x 5:z");
    assert_int_equal(unread_of(chat, "a"), 4);
    tkl_chat_close(chat);
}

static void a_long_run_of_ones_own_hides_nothing_behind_it(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_messages *messages;
    tkl_letter letters[1000];
    for (int i = 0; i < 1000; i++)
        letters[i] = (tkl_letter){.body = TKL_LIT("x")};
    chat_say(chat, "bob", "first");
    for (int i = 0; i < 3; i++)
        assert_ok(tkl_chat_send(chat, tkl_str("ann"), letters, 1000, NULL));
    chat_say(chat, "bob", "last");
    assert_ok(chat_try_ack(chat, "ann", 1));
    assert_ok(tkl_chat_fetch(chat, tkl_str("ann"), 1, 0, &messages));
    assert_int_equal(messages->items[0].id, 3002);
    assert_int_equal(messages->unread, 1);
    tkl_messages_free(messages);
    tkl_chat_close(chat);
}

static void unread_counts_of_a_large_chat(void **state)
{
    enum { MEMBERS = 700 };
    fixture *f = *state;
    tkl_bytes members[MEMBERS];
    char names[MEMBERS][8];
    tkl_letter letter = {.body = TKL_LIT("x")};
    tkl_chat *chat = open_chat(f->client, "crowd");
    for (int i = 0; i < MEMBERS; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        members[i] = tkl_str(names[i]);
    }
    assert_ok(tkl_chat_create(chat, members, MEMBERS, NULL));
    for (int i = 0; i < MEMBERS; i++)
        assert_ok(tkl_chat_send(chat, members[i], &letter, 1, NULL));
    tkl_chat_info *info = show(chat);
    assert_int_equal(info->member_count, MEMBERS);
    for (size_t i = 0; i < info->member_count; i++)
        assert_int_equal(info->members[i].unread, MEMBERS - 1);
    tkl_chat_info_free(info);
    tkl_chat_close(chat);
}

static void a_member_that_only_sends_leaves_little_behind(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    assert_ok(tkl_chat_limit(chat, &(tkl_message_limits){.max_messages = 10}));
    chat_say(chat, "bob", "x"); /* which Ann never reads */
    for (int i = 0; i < 100; i++)
        chat_say(chat, "ann", "y");
    assert_in_range(server_ask_int(f->server, "ZCARD tackle:chat:{lunch}:own"), 1, 10);
    assert_ok(chat_leave(chat, "ann"));
    assert_int_equal(server_ask_int(f->server, "EXISTS tackle:chat:{lunch}:own"), 0);
    tkl_chat_close(chat);
}

static void what_is_known_of_ones_own_lives_as_long_as_the_messages(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    chat_say(chat, "bob", "x");
    assert_ok(tkl_chat_limit(chat, &(tkl_message_limits){.ttl_ms = LONG_MS}));
    chat_say(chat, "ann", "y"); /* before she has read x */
    assert_in_range(server_ask_int(f->server, "PTTL tackle:chat:{lunch}:own"), 1, LONG_MS);
    assert_ok(tkl_chat_limit(chat, NULL));
    assert_int_equal(server_ask_int(f->server, "PTTL tackle:chat:{lunch}:own"), -1);
    assert_int_equal(unread_of(chat, "ann"), 1);
    server_do(f->server, "DEL tackle:chat:{lunch} tackle:chat:{lunch}:readers");
    server_do(f->server, "DEL tackle:chat:{lunch}:messages tackle:chat:{lunch}:marks");
    tkl_chat_close(chat);
    chat = create_chat(f->client, "lunch", "ann bob"); /* nothing of the old one counts */
    chat_say(chat, "bob", "1");
    chat_say(chat, "bob", "2");
    expect_chat(chat, "ann", "1:1 2:2");
    tkl_chat_close(chat);
}

/* ---- The history ---------------------------------------------------------- */

/* The history before an id: "2:hello 3:you"; "" for nothing. */
static void expect_history(tkl_chat *chat, const char *member, int64_t before, size_t max,
                           const char *expected)
{
    char text[4096] = "";
    size_t len = 0;
    tkl_messages *messages;
    int rc = tkl_chat_history(chat, tkl_str(member), before, max, &messages);
    assert_code(rc, *expected ? TKL_OK : TKL_EMPTY);
    for (size_t i = 0; messages && i < messages->count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "%s%d:%s", len ? " " : "",
                                (int)messages->items[i].id, messages->items[i].body.data);
    assert_string_equal(text, expected);
    tkl_messages_free(messages);
}

static void a_history_keeps_the_last_messages(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob"), *none = open_chat(f->client, "no");
    tkl_messages *messages;
    expect_history(chat, "ann", 0, 10, "");
    chat_say(chat, "ann", "a");
    chat_say(chat, "bob", "b");
    expect_history(chat, "bob", 0, 10, "1:a 2:b"); /* Ann has not read it */
    assert_ok(tkl_chat_limit(chat, &(tkl_message_limits){.history_messages = 3}));
    for (int i = 0; i < 3; i++) {
        chat_say(chat, "ann", "x");
        assert_ok(chat_try_ack(chat, "ann", chat_say(chat, "bob", "y")));
        assert_ok(chat_try_ack(chat, "bob", 4 + 2 * i));
    }
    assert_int_equal(kept(f, "lunch"), 3);
    expect_chat(chat, "ann", "");
    expect_history(chat, "ann", 0, 10, "6:y 7:x 8:y");
    expect_history(chat, "ann", 8, 1, "7:x");
    expect_history(chat, "ann", 6, 10, "");
    expect_history(chat, "ann", 1000, 2, "7:x 8:y");
    assert_ok(tkl_chat_join(chat, tkl_str("eve"), TKL_CHAT_START_OLDEST));
    expect_chat(chat, "eve", "6:y 7:x 8:y");
    assert_code(tkl_chat_history(chat, tkl_str("zoe"), 0, 1, &messages), TKL_NOTOWNER);
    assert_code(tkl_chat_history(none, tkl_str("ann"), 0, 1, &messages), TKL_NOTFOUND);
    assert_code(tkl_chat_history(chat, tkl_str("ann"), 0, 0, &messages), TKL_EINVAL);
    assert_code(tkl_chat_history(chat, tkl_str("ann"), -1, 1, &messages), TKL_EINVAL);
    assert_ok(chat_leave(chat, "eve"));
    assert_ok(tkl_chat_limit(chat, NULL)); /* without a history */
    assert_int_equal(kept(f, "lunch"), 0);
    tkl_chat_close(chat);
    tkl_chat_close(none);
}

static void a_history_by_time_ends_by_itself(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    assert_ok(tkl_chat_limit(chat, &(tkl_message_limits){.history_ms = 500}));
    chat_say(chat, "ann", "a");
    usleep(600000);
    expect_history(chat, "bob", 0, 10, "1:a"); /* not read yet */
    assert_ok(chat_try_ack(chat, "bob", 1));
    expect_history(chat, "bob", 0, 10, "");
    assert_ok(tkl_chat_limit(chat, &(tkl_message_limits){.history_ms = LONG_MS}));
    assert_ok(chat_try_ack(chat, "bob", chat_say(chat, "ann", "b")));
    expect_history(chat, "bob", 0, 10, "2:b");
    assert_in_range(server_ask_int(f->server, "PTTL tackle:chat:{lunch}:messages"), 1, LONG_MS);
    chat_say(chat, "ann", "c"); /* not read: nothing expires */
    assert_int_equal(server_ask_int(f->server, "PTTL tackle:chat:{lunch}:messages"), -1);
    assert_int_equal(server_ask_int(f->server, "PTTL tackle:chat:{lunch}:marks"), -1);
    assert_ok(chat_try_ack(chat, "bob", 3));
    server_do(f->server, "PEXPIRE tackle:chat:{lunch}:messages 1");
    server_do(f->server, "PEXPIRE tackle:chat:{lunch}:marks 1");
    eventually(kept(f, "lunch") == 0, LONG_MS);
    expect_history(chat, "bob", 0, 10, "");
    assert_int_equal(chat_say(chat, "ann", "d"), 4);
    expect_chat(chat, "bob", "4:d");
    tkl_chat_close(chat);
}

static void a_full_chat_that_refuses_drops_its_history_first(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    assert_ok(tkl_chat_limit(chat, &(tkl_message_limits){.max_messages = 3,
                                                         .history_messages = 100,
                                                         .when_full = TKL_WHEN_FULL_REFUSE}));
    for (int i = 0; i < 3; i++)
        chat_say(chat, "ann", "x");
    assert_code(chat_try_send(chat, "ann", "y", NULL), TKL_FULL);
    assert_ok(chat_try_ack(chat, "bob", 2));
    assert_int_equal(kept(f, "lunch"), 3);
    assert_ok(chat_try_send(chat, "ann", "y", NULL));
    assert_ok(chat_try_send(chat, "ann", "y", NULL));
    assert_code(chat_try_send(chat, "ann", "y", NULL), TKL_FULL);
    expect_chat(chat, "bob", "3:x 4:y 5:y");
    tkl_chat_close(chat);
}

/* Bodies of 1 MB in all are one page; the newest come first. */
static void a_page_of_the_history_is_bounded(void **state)
{
    fixture *f = *state;
    static char body[300000];
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_messages *messages;
    tkl_letter letter = {.body = {body, sizeof body}};
    for (int i = 0; i < 10; i++)
        assert_ok(tkl_chat_send(chat, tkl_str("ann"), &letter, 1, NULL));
    assert_ok(tkl_chat_history(chat, tkl_str("bob"), 0, 100, &messages));
    assert_in_range(messages->count, 3, 5);
    assert_int_equal(messages->items[messages->count - 1].id, 10);
    int64_t first = messages->items[0].id;
    assert_int_equal(first, 11 - (int64_t)messages->count);
    tkl_messages_free(messages);
    assert_ok(tkl_chat_history(chat, tkl_str("bob"), first, 1, &messages));
    assert_int_equal(messages->items[0].id, first - 1);
    tkl_messages_free(messages);
    tkl_chat_close(chat);
}

/* ---- A first message ------------------------------------------------------ */

static void a_chat_begins_with_a_message(void **state)
{
    fixture *f = *state;
    tkl_bytes members[] = {tkl_str("ann"), tkl_str("bob")}, ann = members[0];
    tkl_letter letters[] = {{.body = TKL_LIT("hello")}, {.body = TKL_LIT("all")}};
    tkl_message_limits small = {.max_messages = 1};
    tkl_chat *chat = open_chat(f->client, "lunch");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    assert_code(tkl_chat_create_and_send(chat, members, 2, NULL, tkl_str("eve"), letters, 1),
                TKL_NOTOWNER);
    assert_code(tkl_chat_create_and_send(chat, members, 2, &small, ann, letters, 2), TKL_FULL);
    assert_code(tkl_chat_create_and_send(chat, members, 2, NULL, ann, letters, 1001), TKL_EINVAL);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    assert_ok(tkl_chat_create_and_send(chat, members, 2, NULL, ann, letters, 2));
    assert_code(tkl_chat_create_and_send(chat, members, 2, NULL, ann, letters, 2), TKL_EXISTS);
    take_inbox(bob, "lunch[1:hello 2:all]");
    expect_chat(chat, "ann", "");
    assert_int_equal(kept(f, "lunch"), 0);
    assert_int_equal(chat_say(chat, "ann", "x"), 3);
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
}

static void positions_never_go_backwards_nor_ahead(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    int64_t unread;
    for (int i = 0; i < 3; i++)
        chat_say(chat, "ann", "x");
    assert_ok(tkl_chat_ack(chat, tkl_str("bob"), 2, &unread));
    assert_int_equal(unread, 1);
    assert_ok(tkl_chat_ack(chat, tkl_str("bob"), 1, &unread));
    assert_int_equal(unread, 1);
    assert_code(chat_try_ack(chat, "bob", 4), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "no message has the id 4 yet");
    assert_code(chat_try_ack(chat, "bob", 0), TKL_EINVAL);
    expect_chat(chat, "bob", "3:x");
    tkl_chat_close(chat);
}

/* ---- Members ------------------------------------------------------------- */

static void strangers_can_do_nothing(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann"), *none = open_chat(f->client, "none");
    tkl_messages *messages;
    assert_code(chat_try_send(chat, "eve", "x", NULL), TKL_NOTOWNER);
    assert_contains(tkl_errmsg(), "member");
    assert_code(chat_try_ack(chat, "eve", 1), TKL_NOTOWNER);
    assert_code(chat_leave(chat, "eve"), TKL_NOTOWNER);
    assert_code(tkl_chat_fetch(chat, tkl_str("eve"), 1, 0, &messages), TKL_NOTOWNER);
    assert_code(tkl_chat_fetch(chat, tkl_str("eve"), 1, 1000, &messages), TKL_NOTOWNER);
    assert_code(chat_try_send(none, "ann", "x", NULL), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "no such chat");
    assert_code(chat_try_ack(none, "ann", 1), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "no such chat");
    assert_code(chat_leave(none, "ann"), TKL_NOTFOUND);
    assert_code(chat_join(none, "ann"), TKL_NOTFOUND);
    assert_code(tkl_chat_fetch(none, tkl_str("ann"), 1, 0, &messages), TKL_NOTFOUND);
    assert_code(tkl_chat_limit(none, NULL), TKL_NOTFOUND);
    assert_code(tkl_chat_drop(none), TKL_NOTFOUND);
    tkl_chat_close(chat);
    tkl_chat_close(none);
}

static void joining_starts_at_the_end_or_with_the_oldest(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    for (int i = 0; i < 3; i++)
        chat_say(chat, "ann", "x");
    assert_ok(chat_try_ack(chat, "ann", 3));
    assert_ok(chat_try_ack(chat, "bob", 1));
    assert_ok(chat_join(chat, "eve"));
    assert_code(chat_join(chat, "eve"), TKL_EXISTS);
    assert_ok(tkl_chat_join(chat, tkl_str("zoe"), TKL_CHAT_START_OLDEST));
    expect_chat(chat, "eve", "");
    expect_chat(chat, "zoe", "2:x 3:x");
    chat_say(chat, "eve", "hi");
    expect_chat(chat, "eve", "");
    expect_chat(chat, "zoe", "2:x 3:x 4:hi");
    assert_code(tkl_chat_join(chat, tkl_str("kim"), (tkl_chat_start)3), TKL_EINVAL);
    tkl_chat_close(chat);
}

static void leaving_frees_what_only_that_member_had_not_acknowledged(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob eve");
    for (int i = 0; i < 3; i++)
        chat_say(chat, "ann", "x");
    assert_ok(chat_try_ack(chat, "eve", 2));
    assert_int_equal(kept(f, "lunch"), 3);
    assert_ok(chat_leave(chat, "bob"));
    assert_int_equal(kept(f, "lunch"), 1);
    assert_code(chat_try_send(chat, "bob", "x", NULL), TKL_NOTOWNER);
    tkl_chat_close(chat);
}

static void the_last_member_out_removes_the_chat(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_names *names;
    chat_say(chat, "ann", "x");
    assert_ok(chat_leave(chat, "ann"));
    assert_ok(chat_leave(chat, "bob"));
    assert_code(chat_leave(chat, "bob"), TKL_NOTFOUND);
    char *keys = server_ask(f->server, "KEYS *"); /* the lists of chats are gone, too */
    assert_string_equal(keys, "");
    free(keys);
    assert_ok(tkl_chat_names(f->client, &names));
    assert_int_equal(names->count, 0);
    tkl_names_free(names);
    tkl_chat_close(chat);
    chat = create_chat(f->client, "lunch", "ann"); /* as if it had never been */
    assert_int_equal(chat_say(chat, "ann", "x"), 1);
    tkl_chat_close(chat);
}

static void leave_one(void *arg, int index)
{
    char member[16];
    snprintf(member, sizeof member, "m%d", index);
    assert_ok(chat_leave(arg, member));
}

static void the_last_two_may_leave_at_once(void **state)
{
    fixture *f = *state;
    for (int round = 0; round < 50; round++) {
        tkl_chat *chat = create_chat(f->client, "lunch", "m0 m1");
        chat_say(chat, "m0", "x");
        crew_run(2, leave_one, chat);
        assert_int_equal(server_ask_int(f->server, "EXISTS tackle:chat:{lunch}"), 0);
        tkl_chat_close(chat);
    }
}

static void say_much(void *arg, int index)
{
    (void)index;
    for (int i = 0; i < 500; i++)
        chat_say(arg, "ann", "x");
}

/* A new member gets everything from some message on. */
static void joining_and_sending_at_once(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann");
    crew *threads = crew_start(4, say_much, chat);
    for (int i = 0; i < 20; i++) {
        char member[16];
        snprintf(member, sizeof member, "m%d", i);
        assert_ok(chat_join(chat, member));
    }
    crew_join(threads);
    for (int i = 0; i < 20; i++) {
        char member[16];
        tkl_messages *messages;
        int64_t next = 0;
        snprintf(member, sizeof member, "m%d", i);
        while (tkl_chat_fetch(chat, tkl_str(member), 1000, 0, &messages) == TKL_OK) {
            for (size_t m = 0; m < messages->count; m++, next++)
                assert_int_equal(messages->items[m].id,
                                 next ? next : (next = messages->items[m].id));
            assert_ok(chat_try_ack(chat, member, next - 1));
            tkl_messages_free(messages);
        }
        assert_true(next == 0 || next == 2001);
    }
    tkl_chat_close(chat);
}

static void creating_says_whether_it_exists(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann ann bob"), *same;
    tkl_bytes eve = tkl_str("eve");
    assert_code(tkl_chat_create(chat, &eve, 1, NULL), TKL_EXISTS);
    tkl_chat_info *info = show(chat);
    assert_int_equal(info->member_count, 2);
    tkl_chat_info_free(info);
    assert_ok(tkl_chat_open(f->client, (tkl_bytes){NULL, 0}, NULL, &same));
    assert_int_equal(tkl_chat_id(same).len, 32);
    assert_ok(tkl_chat_create(same, &eve, 1, NULL));
    chat_say(same, "eve", "to myself");
    tkl_chat_close(same);
    tkl_chat_close(chat);
}

static void a_chat_is_shown_with_members_and_positions(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob eve");
    tkl_message_limits limits = {.max_messages = 3};
    assert_ok(tkl_chat_limit(chat, &limits));
    for (int i = 0; i < 5; i++)
        chat_say(chat, "ann", "12");
    assert_ok(chat_try_ack(chat, "eve", 4));
    tkl_chat_info *info = show(chat);
    assert_int_equal(info->last_id, 5);
    assert_int_equal(info->kept, 3);
    assert_int_equal(info->bytes, 3 * (2 + 3));
    assert_true(info->created_ms > 0 && info->oldest_ms >= info->created_ms);
    assert_int_equal(info->limits.max_messages, 3);
    assert_int_equal(info->limits.when_full, TKL_WHEN_FULL_DROP_OLDEST);
    assert_string_equal(info->members[0].name.data, "bob");
    assert_int_equal(info->members[0].acked_id, 0);
    assert_int_equal(info->members[0].unread, 3);
    assert_int_equal(info->members[0].missed, 2);
    assert_string_equal(info->members[1].name.data, "eve");
    assert_int_equal(info->members[1].acked_id, 4);
    assert_int_equal(info->members[1].unread, 1);
    assert_int_equal(info->members[1].missed, 0);
    assert_string_equal(info->members[2].name.data, "ann");
    assert_int_equal(info->members[2].acked_id, 5);
    assert_int_equal(info->members[2].unread, 0);
    tkl_chat_info_free(info);
    tkl_chat_close(chat);
}

static void a_member_that_never_reads_is_told_what_it_missed(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann lazy");
    assert_ok(tkl_chat_limit(chat, &(tkl_message_limits){.max_messages = 2}));
    for (int i = 1; i <= 5; i++) {
        chat_say(chat, "ann", "x");
        assert_ok(chat_try_ack(chat, "ann", i));
        assert_true(kept(f, "lunch") <= 2);
    }
    expect_chat(chat, "lazy", "(missed 3) 4:x 5:x");
    assert_ok(chat_try_ack(chat, "lazy", 4));
    expect_chat(chat, "lazy", "5:x");
    tkl_message_limits refuse = {.max_messages = 2, .when_full = TKL_WHEN_FULL_REFUSE};
    assert_ok(tkl_chat_limit(chat, &refuse));
    chat_say(chat, "ann", "y");
    assert_code(chat_try_send(chat, "ann", "z", NULL), TKL_FULL);
    assert_contains(tkl_errmsg(), "chat");
    tkl_chat_close(chat);
}

static void a_thousand_members_cost_a_sender_nothing(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = open_chat(f->client, "crowd");
    tkl_bytes members[1000];
    char names[1000][8];
    for (int i = 0; i < 1000; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        members[i] = tkl_str(names[i]);
    }
    assert_code(tkl_chat_create(chat, members, 1001, NULL), TKL_EINVAL);
    assert_code(tkl_chat_create(chat, members, 0, NULL), TKL_EINVAL);
    int64_t before = server_calls(f->server, "hget") + server_calls(f->server, "hmget");
    assert_ok(tkl_chat_create(chat, members, 1000, NULL));
    assert_in_range(server_calls(f->server, "hget") + server_calls(f->server, "hmget") - before, 1,
                    10); /* all members are looked up together */
    server_do(f->server, "CONFIG RESETSTAT");
    chat_say(chat, "m5", "x");
    assert_true(server_commands(f->server) < 25); /* with those inside the script */
    assert_ok(chat_try_ack(chat, "m7", 1));
    tkl_chat_info *info = show(chat);
    assert_int_equal(info->member_count, 1000);
    assert_string_equal(info->members[999].name.data, "m7");
    assert_int_equal(info->members[999].unread, 0);
    assert_int_equal(info->members[0].unread, 1);
    tkl_chat_info_free(info);
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(kept(f, "crowd"), 1);
        assert_ok(chat_try_ack(chat, names[i], 1));
    }
    assert_int_equal(kept(f, "crowd"), 0);
    tkl_chat_close(chat);
}

static void what_one_call_may_bring_is_bounded(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = open_chat(f->client, "crowd");
    size_t size = TKL_CHAT_CREATE_BYTES / 17;
    char *names = malloc(17 * size + 17);
    tkl_bytes members[17];
    memset(names, 'x', 17 * size + 17);
    for (int i = 0; i < 17; i++) {
        members[i] = (tkl_bytes){names + (size_t)i * size, size + 1};
        names[(size_t)i * size] = (char)('a' + i);
    }
    assert_code(tkl_chat_create(chat, members, 17, NULL), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "bytes in all");
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    assert_ok(tkl_chat_create(chat, members, 16, NULL));
    free(names);
    tkl_chat_close(chat);
}

static void names_may_be_any_bytes(void **state)
{
    fixture *f = *state;
    char *huge = malloc(TKL_NAME_MAX + 1);
    memset(huge, '{', TKL_NAME_MAX + 1);
    tkl_bytes members[] = {
        tkl_str("{a}"), {"\0", 1}, {"a\0b", 3}, tkl_str("%7B"), {huge, TKL_NAME_MAX}};
    tkl_chat *chat;
    assert_ok(tkl_chat_open(f->client, (tkl_bytes){"{\0\xff}", 4}, NULL, &chat));
    assert_ok(tkl_chat_create(chat, members, 5, NULL));
    for (int i = 0; i < 5; i++) {
        tkl_inbox *inbox;
        tkl_inbox_chats *chats;
        tkl_letter letter = {.body = tkl_str("x")};
        assert_ok(tkl_chat_send(chat, members[i], &letter, 1, NULL));
        assert_ok(tkl_inbox_open(f->client, members[(i + 1) % 5], NULL, &inbox));
        assert_ok(tkl_inbox_fetch(inbox, 10, 0, &chats));
        assert_int_equal(chats->count, 1);
        assert_memory_equal(chats->items[0].id.data, "{\0\xff}", 4);
        const tkl_messages *got = chats->items[0].messages;
        assert_int_equal(got->count, i < 4 ? i + 1 : i);
        tkl_bytes sender = got->items[got->count - 1].sender;
        assert_int_equal(sender.len, members[i].len);
        assert_memory_equal(sender.data, members[i].data, sender.len);
        tkl_inbox_chats_free(chats);
        tkl_inbox_close(inbox);
    }
    tkl_bytes bad[] = {{NULL, 0}, {huge, TKL_NAME_MAX + 1}};
    for (int i = 0; i < 2; i++) {
        tkl_inbox *inbox;
        assert_code(tkl_chat_create(chat, &bad[i], 1, NULL), TKL_EINVAL);
        assert_code(tkl_chat_join(chat, bad[i], 0), TKL_EINVAL);
        assert_code(tkl_chat_leave(chat, bad[i]), TKL_EINVAL);
        assert_code(tkl_chat_ack(chat, bad[i], 1, NULL), TKL_EINVAL);
        assert_code(tkl_inbox_open(f->client, bad[i], NULL, &inbox), TKL_EINVAL);
        assert_null(inbox);
    }
    tkl_chat_close(chat);
    tkl_chat_close(NULL);
    free(huge);
}

/* ---- Inboxes ------------------------------------------------------------- */

static void an_inbox_has_all_chats_of_a_member(void **state)
{
    fixture *f = *state;
    tkl_chat *lunch = create_chat(f->client, "lunch", "ann bob"),
             *work = create_chat(f->client, "work", "bob eve"),
             *other = create_chat(f->client, "other", "ann");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    expect_inbox(bob, "");
    chat_say(lunch, "ann", "noon?");
    chat_say(work, "eve", "a");
    chat_say(work, "eve", "b");
    chat_say(other, "ann", "secret");
    expect_inbox(bob, "lunch[1:noon?] work[1:a 2:b]");
    take_inbox(bob, "lunch[1:noon?] work[1:a 2:b]");
    expect_inbox(bob, "");
    chat_say(work, "eve", "c");
    expect_inbox(bob, "work[3:c]");
    assert_ok(chat_join(other, "bob"));
    chat_say(other, "ann", "hi");
    expect_inbox(bob, "other[2:hi] work[3:c]");
    assert_ok(chat_leave(other, "bob"));
    assert_ok(tkl_chat_drop(work));
    expect_inbox(bob, "");
    tkl_chat_close(lunch);
    tkl_chat_close(work);
    tkl_chat_close(other);
    tkl_inbox_close(bob);
    tkl_inbox_close(NULL);
}

static void a_fetch_over_fifty_chats_is_one_trip(void **state)
{
    fixture *f = *state;
    tkl_inbox *ann = open_inbox(f->client, "ann");
    tkl_inbox_chats *chats;
    size_t messages = 0;
    for (int i = 0; i < 50; i++) {
        char id[8];
        snprintf(id, sizeof id, "c%d", i);
        tkl_chat *chat = create_chat(f->client, id, "ann bob");
        chat_say(chat, "bob", "x");
        chat_say(chat, "bob", "y");
        tkl_chat_close(chat);
    }
    assert_ok(tkl_inbox_fetch(ann, 100, 0, &chats)); /* learns the list */
    tkl_inbox_chats_free(chats);
    server_do(f->server, "CONFIG RESETSTAT");
    int64_t reads = server_info(f->server, "total_reads_processed");
    assert_ok(tkl_inbox_fetch(ann, 100, 0, &chats));
    for (size_t i = 0; i < chats->count; i++)
        messages += chats->items[i].messages->count;
    assert_int_equal(chats->count, 50);
    assert_int_equal(messages, 100);
    assert_int_equal(server_functions(f->server), 51);
    assert_true(server_info(f->server, "total_reads_processed") - reads < 10); /* and our own */
    tkl_inbox_chats_free(chats);
    tkl_inbox_close(ann);
}

static void an_inbox_shows_unread_counts_without_messages(void **state)
{
    fixture *f = *state;
    tkl_chat *lunch = create_chat(f->client, "lunch", "ann"),
             *work = create_chat(f->client, "work", "ann bob"),
             *gone = create_chat(f->client, "gone", "ann bob");
    tkl_inbox *ann = open_inbox(f->client, "ann"), *none = open_inbox(f->client, "none");
    tkl_inbox_chats *chats;
    chat_say(work, "bob", "a");
    chat_say(work, "bob", "b");
    assert_ok(chat_leave(gone, "ann"));
    assert_ok(tkl_inbox_show(ann, &chats));
    assert_int_equal(chats->count, 2);
    assert_int_equal(chats->items[0].messages->unread + chats->items[1].messages->unread, 2);
    assert_int_equal(chats->items[0].messages->count + chats->items[1].messages->count, 0);
    assert_ok(tkl_inbox_ack_all(ann, chats)); /* nothing was fetched */
    tkl_inbox_chats_free(chats);
    assert_ok(tkl_inbox_show(none, &chats));
    assert_int_equal(chats->count, 0);
    tkl_inbox_chats_free(chats);
    take_inbox(ann, "work[1:a 2:b]");
    tkl_chat_close(lunch);
    tkl_chat_close(work);
    tkl_chat_close(gone);
    tkl_inbox_close(ann);
    tkl_inbox_close(none);
}

static void a_damaged_chat_does_not_keep_the_others_from_being_read(void **state)
{
    fixture *f = *state;
    tkl_chat *good = create_chat(f->client, "good", "ann bob"),
             *bad = create_chat(f->client, "bad", "ann bob");
    tkl_inbox *ann = open_inbox(f->client, "ann");
    tkl_inbox_chats *chats;
    chat_say(good, "bob", "x");
    chat_say(bad, "bob", "y");
    server_do(f->server, "DEL tackle:chat:{bad}:marks");
    take_inbox(ann, "bad[TKL_EDAMAGED] good[1:x]");
    assert_code(tkl_inbox_fetch(ann, 1, 0, &chats), TKL_EDAMAGED);
    assert_contains(tkl_errmsg(), "chat bad");
    assert_null(chats);
    assert_ok(tkl_inbox_show(ann, &chats));
    char *shown = inbox_text(chats);
    assert_string_equal(shown, "bad[TKL_EDAMAGED] good[]");
    free(shown);
    tkl_inbox_chats_free(chats);
    assert_ok(chat_leave(good, "ann"));
    assert_ok(tkl_inbox_show(ann, &chats)); /* also when there is no other */
    assert_int_equal(chats->count, 1);
    tkl_inbox_chats_free(chats);
    assert_ok(tkl_chat_drop(bad));
    expect_inbox(ann, "");
    assert_code(tkl_inbox_fetch(ann, 0, 0, &chats), TKL_EINVAL);
    tkl_chat_close(good);
    tkl_chat_close(bad);
    tkl_inbox_close(ann);
}

static int fetch_in_child(void *arg)
{
    tkl_inbox *inbox = arg;
    tkl_inbox_chats *chats;
    bool good = tkl_inbox_fetch(inbox, 10, 1000, &chats) == TKL_OK && chats->count == 1 &&
                tkl_inbox_ack_all(inbox, chats) == TKL_OK;
    tkl_inbox_chats_free(chats);
    tkl_inbox_close(inbox);
    return good ? 0 : 1;
}

static void a_forked_child_may_fetch(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    tkl_inbox_chats *chats;
    assert_code(tkl_inbox_fetch(bob, 10, 10, &chats), TKL_EMPTY); /* has listened */
    chat_say(chat, "ann", "x");
    assert_int_equal(process_wait(process_fork(fetch_in_child, bob)), 0);
    expect_inbox(bob, "");
    chat_say(chat, "ann", "y");
    expect_inbox(bob, "lunch[2:y]");
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
}

/* ---- Lists and chats in different slots ---------------------------------- */

static int64_t listed(fixture *f, const char *member)
{
    return server_ask_int(f->server, "ZCARD tackle:chats:{%s}", member);
}

/* Entries become old. */
static void age_list(fixture *f, const char *member, const char *chat)
{
    server_do(f->server, "ZADD tackle:chats:{%s} 1000 %s", member, chat);
}

static void a_chat_that_is_dropped_leaves_the_lists(void **state)
{
    fixture *f = *state;
    enum { MANY = 300 };
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob"), *crowd = open_chat(f->client, "c");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    char names[MANY][8];
    tkl_bytes members[MANY];
    assert_ok(tkl_chat_drop(chat));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    assert_code(tkl_chat_drop(chat), TKL_NOTFOUND);
    expect_inbox(bob, "");
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        members[i] = tkl_str(names[i]);
    }
    assert_ok(tkl_chat_create(crowd, members, MANY, NULL));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 2 + MANY);
    assert_ok(tkl_chat_drop(crowd));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_chat_close(chat);
    tkl_chat_close(crowd);
    tkl_inbox_close(bob);
}

static void drop_or_create(void *arg, int index)
{
    tkl_bytes both[] = {tkl_str("ann"), tkl_str("bob")};
    for (int i = 0; i < 20; i++) {
        int rc = (i + index) % 2 ? tkl_chat_create(arg, both, 2, NULL) : tkl_chat_drop(arg);
        assert_true(rc == TKL_OK || rc == TKL_EXISTS || rc == TKL_NOTFOUND);
    }
}

/* Another program creates the chat again while it is dropped: its entries stay. */
static void dropping_and_creating_at_once(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = open_chat(f->client, "lunch");
    for (int round = 0; round < 20; round++) {
        crew_run(4, drop_or_create, chat);
        int rc = chat_try_send(chat, "bob", "x", NULL);
        assert_true(rc == TKL_OK || rc == TKL_NOTFOUND);
        if (rc == TKL_OK)
            assert_int_equal(listed(f, "bob"), 1);
    }
    tkl_chat_close(chat);
}

/* Lets a chat expire. */
static void let_expire(fixture *f, const char *chat)
{
    server_do(f->server, "DEL tackle:chat:{%s} tackle:chat:{%s}:readers", chat, chat);
}

static void entries_of_chats_that_are_no_more_are_forgotten(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_inbox *ann = open_inbox(f->client, "ann"), *bob = open_inbox(f->client, "bob");
    int64_t later = (server_ask_int(f->server, "TIME") + 3600) * 1000000;
    age_list(f, "ann", "lunch");
    expect_inbox(ann, "");
    assert_int_equal(listed(f, "ann"), 1); /* she is a member */
    assert_ok(chat_leave(chat, "ann"));
    assert_int_equal(listed(f, "ann"), 0);
    let_expire(f, "lunch");
    server_do(f->server, "ZADD tackle:chats:{bob} %lld lunch", (long long)later);
    expect_inbox(bob, "");
    assert_int_equal(listed(f, "bob"), 1); /* young: a program may be adding him */
    age_list(f, "bob", "lunch");
    expect_inbox(bob, "");
    assert_int_equal(listed(f, "bob"), 0);
    tkl_chat_close(chat);
    tkl_inbox_close(ann);
    tkl_inbox_close(bob);
}

/* Bob's list has as many chats as it may. None of them exists any more. */
static void fill_list(fixture *f, int64_t from_us)
{
    static const char fill[] =
        "redis.call('DEL', KEYS[1]) "
        "for i = 1, 5000 do redis.call('ZADD', KEYS[1], ARGV[1] + i, 'gone' .. i) end";
    char from[24];
    snprintf(from, sizeof from, "%lld", (long long)from_us);
    assert_ok(tkl_callz(f->client, NULL, "EVAL", fill, "1", "tackle:chats:{bob}", from, NULL));
    assert_int_equal(listed(f, "bob"), TKL_CHAT_LISTED_MAX);
}

static void a_list_full_of_chats_that_are_no_more_is_not_full(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = open_chat(f->client, "lunch"), *other = create_chat(f->client, "other", "ann");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    int64_t later = (server_ask_int(f->server, "TIME") + 3600) * 1000000;
    tkl_bytes both[] = {tkl_str("ann"), tkl_str("bob")};
    fill_list(f, later); /* all of them may be chats that are being made */
    assert_code(tkl_chat_create(chat, both, 2, NULL), TKL_FULL);
    assert_contains(tkl_errmsg(), "in 5000 chats");
    assert_int_equal(listed(f, "bob"), TKL_CHAT_LISTED_MAX);
    fill_list(f, 1000);
    assert_ok(tkl_chat_create(chat, both, 2, NULL));
    assert_int_equal(listed(f, "bob"), 1);
    fill_list(f, 1000);
    assert_ok(chat_join(other, "bob"));
    assert_int_equal(listed(f, "bob"), 1);
    fill_list(f, 1000);
    expect_inbox(bob, "");
    assert_int_equal(listed(f, "bob"), 0);
    tkl_chat_close(chat);
    tkl_chat_close(other);
    tkl_inbox_close(bob);
}

/* A join is under way: its entry is in the list, and a fetch finds that the chat does not know the
 * member. The entry goes, and the join that has written it is not accepted any more: it begins
 * again. So a program that dies between the steps leaves no member whose list lacks the chat. */
static void an_entry_that_was_forgotten_makes_nobody_a_member(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    tkl__chat_lists lists;
    tkl_bytes name = tkl_str("bob");
    tkl_reply *reply;
    assert_ok(tkl__chat_lists_open(f->client, tkl_str("lunch"), &name, 1, &lists));
    assert_ok(tkl__chat_lists_add(&lists, tkl__deadline_ms(LONG_MS))); /* the first step */
    eventually((expect_inbox(bob, ""), listed(f, "bob") == 0), LONG_MS);
    tkl__args args;
    tkl__args_init(&args);
    tkl__args_bytes(&args, name);
    tkl__args_int(&args, lists.items[0].listed_us);
    tkl__args_int(&args, TKL_CHAT_MEMBERS_MAX);
    tkl__args_str(&args, "end");
    assert_code(tkl__post_run(&chat->post, &tkl__lua_post_join, &args, tkl__deadline_ms(LONG_MS),
                              &reply), /* the second */
                TKL_CONFLICT);
    tkl_reply_free(reply);
    assert_in_range(server_ask_int(f->server, "PTTL tackle:chat:{lunch}:refused"), 1, 1200000);
    server_do(f->server, "HSET tackle:chat:{lunch}:refused bob %lld", /* the clock was set back */
              (long long)(server_ask_int(f->server, "TIME") + 3600) * 1000000);
    assert_ok(chat_join(chat, "bob"));
    assert_int_equal(listed(f, "bob"), 1);
    chat_say(chat, "ann", "x");
    expect_inbox(bob, "lunch[1:x]");
    tkl__chat_lists_close(&lists);
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
}

/* The program died after the first step of joining: repeating it works. */
static void a_join_that_stopped_halfway_can_be_repeated(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    server_do(f->server, "ZADD tackle:chats:{bob} 1000 lunch");
    assert_ok(chat_join(chat, "bob"));
    chat_say(chat, "ann", "x");
    expect_inbox(bob, "lunch[1:x]");
    assert_true(server_ask_int(f->server, "ZSCORE tackle:chats:{bob} lunch") > 1000);
    /* The list was lost. */
    server_do(f->server, "DEL tackle:chats:{bob}");
    expect_inbox(bob, "lunch[1:x]"); /* the handle remembers, once */
    expect_inbox(bob, "");
    assert_code(chat_join(chat, "bob"), TKL_EXISTS);
    expect_inbox(bob, "lunch[1:x]");
    /* And after the first step of leaving. */
    server_do(f->server, "ZREM tackle:chat:{lunch}:readers bob");
    age_list(f, "bob", "lunch");
    assert_code(chat_leave(chat, "bob"), TKL_NOTOWNER);
    assert_int_equal(listed(f, "bob"), 0);
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
}

static void a_member_that_is_refused_leaves_nothing_behind(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann"), *none = open_chat(f->client, "none");
    tkl_bytes both[] = {tkl_str("ann"), tkl_str("bob")};
    assert_code(chat_join(none, "bob"), TKL_NOTFOUND);
    assert_code(tkl_chat_create(chat, both, 2, NULL), TKL_EXISTS);
    assert_int_equal(listed(f, "bob"), 0);
    assert_int_equal(listed(f, "ann"), 1);
    assert_code(chat_join(chat, "ann"), TKL_EXISTS);
    assert_int_equal(listed(f, "ann"), 1);
    server_do(f->server, "DEL tackle:chat:{lunch}:readers");
    assert_code(chat_join(chat, "bob"), TKL_EDAMAGED);
    assert_contains(tkl_errmsg(), "another program");
    assert_int_equal(listed(f, "bob"), 0);
    assert_ok(tkl_chat_drop(chat));
    tkl_chat_close(chat);
    tkl_chat_close(none);
}

static void come_and_go(void *arg, int index)
{
    for (int i = 0; i < 30; i++) {
        int rc = (i + index) % 2 ? chat_join(arg, "bob") : chat_leave(arg, "bob");
        assert_true(rc == TKL_OK || rc == TKL_EXISTS || rc == TKL_NOTOWNER);
    }
}

/* Every member has the chat on its list in the end. */
static void joining_and_leaving_at_once(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann");
    for (int round = 0; round < 20; round++) {
        crew_run(4, come_and_go, chat);
        tkl_chat_info *info = show(chat);
        if (info->member_count == 2)
            assert_int_equal(listed(f, "bob"), 1);
        tkl_chat_info_free(info);
    }
    assert_ok(chat_leave(chat, "ann"));
    tkl_chat_close(chat);
}

static void expect_list(tkl_client *client, const char *member, int64_t chats)
{
    char key[64];
    snprintf(key, sizeof key, "tackle:chats:{%s}", member);
    assert_int_equal(call_int(client, "ZCARD", key, NULL), chats);
}

static void chats_live_in_different_slots_of_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_inbox *bob = open_inbox(client, "bob");
    char expected[4096] = "";
    for (int i = 10; i < 40; i++) {
        char id[8];
        snprintf(id, sizeof id, "c%d", i);
        tkl_chat *chat = create_chat(client, id, "ann bob eve");
        chat_say(chat, "ann", "x");
        snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%s[1:x]",
                 *expected ? " " : "", id);
        tkl_chat_close(chat);
    }
    take_inbox(bob, expected);
    expect_inbox(bob, "");
    tkl_chat *chat = open_chat(client, "c10");
    assert_ok(chat_leave(chat, "bob"));
    chat_say(chat, "ann", "y");
    expect_inbox(bob, "");
    assert_ok(chat_join(chat, "bob"));
    chat_say(chat, "ann", "z");
    expect_inbox(bob, "c10[3:z]");
    assert_ok(tkl_chat_drop(chat));
    expect_inbox(bob, "");
    expect_list(client, "ann", 29);
    expect_list(client, "bob", 29);
    expect_list(client, "eve", 29);
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_member_gets_every_message_until_it_acknowledges),
        TEST(what_all_have_acknowledged_is_gone),
        TEST(messages_of_ones_own_are_not_unread),
        TEST(alike_names_have_different_messages),
        TEST(a_long_run_of_ones_own_hides_nothing_behind_it),
        TEST(unread_counts_of_a_large_chat),
        TEST(a_member_that_only_sends_leaves_little_behind),
        TEST(what_is_known_of_ones_own_lives_as_long_as_the_messages),
        TEST(a_history_keeps_the_last_messages),
        TEST(a_history_by_time_ends_by_itself),
        TEST(a_full_chat_that_refuses_drops_its_history_first),
        TEST(a_page_of_the_history_is_bounded),
        TEST(a_chat_begins_with_a_message),
        TEST(positions_never_go_backwards_nor_ahead),
        TEST(strangers_can_do_nothing),
        TEST(joining_starts_at_the_end_or_with_the_oldest),
        TEST(leaving_frees_what_only_that_member_had_not_acknowledged),
        TEST(the_last_member_out_removes_the_chat),
        TEST(the_last_two_may_leave_at_once),
        TEST(joining_and_sending_at_once),
        TEST(creating_says_whether_it_exists),
        TEST(a_chat_is_shown_with_members_and_positions),
        TEST(a_member_that_never_reads_is_told_what_it_missed),
        TEST(a_thousand_members_cost_a_sender_nothing),
        TEST(what_one_call_may_bring_is_bounded),
        TEST(names_may_be_any_bytes),
        TEST(an_inbox_has_all_chats_of_a_member),
        TEST(a_fetch_over_fifty_chats_is_one_trip),
        TEST(an_inbox_shows_unread_counts_without_messages),
        TEST(a_damaged_chat_does_not_keep_the_others_from_being_read),
        TEST(a_forked_child_may_fetch),
        TEST(a_chat_that_is_dropped_leaves_the_lists),
        TEST(dropping_and_creating_at_once),
        TEST(entries_of_chats_that_are_no_more_are_forgotten),
        TEST(a_list_full_of_chats_that_are_no_more_is_not_full),
        TEST(an_entry_that_was_forgotten_makes_nobody_a_member),
        TEST(a_join_that_stopped_halfway_can_be_repeated),
        TEST(a_member_that_is_refused_leaves_nothing_behind),
        TEST(joining_and_leaving_at_once),
        cmocka_unit_test(chats_live_in_different_slots_of_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
