/* SPDX-License-Identifier: MIT
 *
 * Members that come and go while they fetch, and bodies of all sizes, through an inbox.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/chats.h"
#include "support/fixture.h"

/* ---- Leaving between fetch and acknowledgement ---------------------------- */

/* A member that has left a chat cannot acknowledge its messages, but those of its other chats. */
static void who_left_cannot_acknowledge_but_in_other_chats(void **state)
{
    fixture *f = *state;
    tkl_chat *lunch = create_chat(f->client, "lunch", "ann bob"),
             *work = create_chat(f->client, "work", "ann bob");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    tkl_inbox_chats *chats;
    chat_say(lunch, "ann", "x");
    chat_say(work, "ann", "y");
    assert_ok(tkl_inbox_fetch(bob, 10, 0, &chats));
    assert_int_equal(chats->count, 2);
    assert_ok(chat_leave(lunch, "bob"));
    assert_code(tkl_inbox_ack_all(bob, chats), TKL_NOTOWNER);
    assert_contains(tkl_errmsg(), "not a member any more");
    tkl_inbox_chats_free(chats);
    expect_inbox(bob, "");
    /* A member that comes back begins at the end, not with messages that it fetched before. */
    assert_ok(chat_join(lunch, "bob"));
    expect_inbox(bob, "");
    chat_say(lunch, "ann", "z");
    expect_inbox(bob, "lunch[2:z]");
    tkl_chat_close(lunch);
    tkl_chat_close(work);
    tkl_inbox_close(bob);
}

/* ---- Coming and going while others fetch and send -------------------------- */

typedef struct busy {
    tkl_client *client;
    tkl_chat *chat;
    atomic_bool over;
    atomic_int seen; /* messages */
} busy;

static void say_on(void *arg, int index)
{
    busy *b = arg;
    (void)index;
    while (!b->over)
        chat_say(b->chat, "ann", "x");
}

/* In one membership ids have no gap, and all messages but the last ones are acknowledged. */
static void fetch_on(void *arg, int index)
{
    busy *b = arg;
    (void)index;
    tkl_inbox *bob = open_inbox(b->client, "bob");
    int64_t last = 0;
    while (!b->over) {
        tkl_inbox_chats *chats;
        int rc = tkl_inbox_fetch(bob, 20, 2, &chats);
        if (rc == TKL_EMPTY)
            continue;
        assert_ok(rc);
        const tkl_messages *messages = chats->items[0].messages;
        assert_int_equal(messages->missed, 0);
        assert_true(messages->items[0].id > last);
        for (size_t i = 1; i < messages->count; i++)
            assert_int_equal(messages->items[i].id, messages->items[0].id + (int64_t)i);
        rc = tkl_inbox_ack_all(bob, chats);
        assert_true(rc == TKL_OK || rc == TKL_NOTOWNER || rc == TKL_NOTFOUND);
        if (rc == TKL_OK)
            last = messages->items[messages->count - 1].id;
        b->seen += (int)messages->count;
        tkl_inbox_chats_free(chats);
    }
    tkl_inbox_close(bob);
}

static void a_member_may_leave_and_join_while_it_fetches(void **state)
{
    fixture *f = *state;
    busy b = {.client = f->client, .chat = create_chat(f->client, "lunch", "ann bob")};
    crew *sender = crew_start(1, say_on, &b), *reader = crew_start(1, fetch_on, &b);
    for (int i = 0; i < 200; i++) {
        assert_ok(chat_leave(b.chat, "bob"));
        assert_ok(chat_join(b.chat, "bob"));
        test_sleep_ms(i % 5);
    }
    eventually(b.seen > 0, 30000);
    b.over = true;
    crew_join(sender);
    crew_join(reader);
    tkl_chat_close(b.chat);
}

/* ---- One handle, several threads -------------------------------------------- */

enum { CHATS = 5, MESSAGES = 200 };

typedef struct shared_inbox {
    tkl_inbox *bob;
    atomic_int got[CHATS][MESSAGES + 1]; /* how often each message came */
    atomic_bool all_sent;
} shared_inbox;

static void fetch_together(void *arg, int index)
{
    shared_inbox *s = arg;
    (void)index;
    bool all_sent = false;
    for (int rc = TKL_OK; rc == TKL_OK || !all_sent;) {
        tkl_inbox_chats *chats;
        all_sent = s->all_sent;
        rc = tkl_inbox_fetch(s->bob, 7, 20, &chats);
        assert_true(rc == TKL_OK || rc == TKL_EMPTY);
        for (size_t i = 0; rc == TKL_OK && i < chats->count; i++) {
            const tkl_messages *messages = chats->items[i].messages;
            for (size_t m = 0; m < messages->count; m++)
                s->got[chats->items[i].id.data[1] - '0'][messages->items[m].id]++;
        }
        if (rc == TKL_OK)
            assert_ok(tkl_inbox_ack_all(s->bob, chats));
        tkl_inbox_chats_free(chats);
    }
}

/* Threads may get the same message, and together they miss none. */
static void an_inbox_may_be_used_by_several_threads(void **state)
{
    fixture *f = *state;
    static shared_inbox s;
    tkl_chat *chats[CHATS];
    s = (shared_inbox){.bob = open_inbox(f->client, "bob")};
    for (int i = 0; i < CHATS; i++) {
        char id[] = {'c', (char)('0' + i), '\0'};
        chats[i] = create_chat(f->client, id, "ann bob");
    }
    crew *threads = crew_start(4, fetch_together, &s);
    for (int n = 1; n <= MESSAGES; n++)
        for (int i = 0; i < CHATS; i++)
            assert_int_equal(chat_say(chats[i], "ann", "x"), n);
    s.all_sent = true;
    crew_join(threads);
    expect_inbox(s.bob, "");
    for (int i = 0; i < CHATS; i++) {
        for (int n = 1; n <= MESSAGES; n++)
            assert_true(s.got[i][n] > 0);
        tkl_chat_close(chats[i]);
    }
    tkl_inbox_close(s.bob);
}

/* ---- Bodies --------------------------------------------------------------- */

static void bodies_of_no_bytes_and_of_ten_megabytes(void **state)
{
    enum { LARGE = 10 * 1000 * 1000 };
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    tkl_inbox_chats *chats;
    char *large = malloc(LARGE);
    for (int i = 0; i < LARGE; i++)
        large[i] = (char)(i * 7 + i / 256);
    const tkl_bytes bodies[] = {{NULL, 0}, {large, LARGE}, {"\0", 1}, {large, LARGE}};
    for (int i = 0; i < 4; i++) {
        tkl_letter letter = {.body = bodies[i]};
        assert_ok(tkl_chat_send(chat, tkl_str("ann"), &letter, 1, NULL));
    }
    for (int i = 0; i < 4;) {
        assert_ok(tkl_inbox_fetch(bob, 10, 0, &chats));
        const tkl_messages *messages = chats->items[0].messages;
        assert_int_equal(messages->unread, 4 - i);
        for (size_t m = 0; m < messages->count; m++, i++) {
            assert_int_equal(messages->items[m].body.len, bodies[i].len);
            if (bodies[i].len > 0)
                assert_memory_equal(messages->items[m].body.data, bodies[i].data, bodies[i].len);
        }
        assert_ok(tkl_inbox_ack_all(bob, chats));
        tkl_inbox_chats_free(chats);
    }
    expect_inbox(bob, "");
    free(large);
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(who_left_cannot_acknowledge_but_in_other_chats),
        TEST(a_member_may_leave_and_join_while_it_fetches),
        TEST(an_inbox_may_be_used_by_several_threads),
        TEST(bodies_of_no_bytes_and_of_ten_megabytes),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
