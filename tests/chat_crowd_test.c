/* SPDX-License-Identifier: MIT
 *
 * Chats with very many members, and members with very many chats.
 *
 * ctest: label threads
 */
#include "support/chats.h"
#include "support/fixture.h"
#include "support/proxy.h"

/* ---- Members --------------------------------------------------------------- */

/* The memory of all keys except that of the requests, which expires. Without SAMPLES 0 the server
 * guesses from five of the members, and errs by thousands of bytes. */
static int64_t memory_of_crowd(const fixture *f)
{
    static const char *const parts[] = {"", ":messages", ":marks", ":readers"};
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += server_ask_int(f->server, "MEMORY USAGE tackle:chat:{crowd}%s SAMPLES 0", parts[i]);
    return sum;
}

/* The server gives the nodes of members in a sorted set random heights: 500 bytes more or less. */
static void the_memory_of_a_crowd_is_free_when_all_have_acknowledged(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "crowd", "m0");
    static char body[1000];
    tkl_letter letters[1000];
    for (int i = 0; i < 1000; i++) {
        char *name = test_format("m%d", i);
        assert_code(chat_join(chat, name), i == 0 ? TKL_EXISTS : TKL_OK);
        free(name);
        letters[i] = (tkl_letter){.body = {body, sizeof body}};
    }
    int64_t before = memory_of_crowd(f), used = server_info(f->server, "used_memory");
    for (int i = 0; i < 5; i++)
        assert_ok(tkl_chat_send(chat, tkl_str("m0"), letters, 1000, NULL));
    assert_true(memory_of_crowd(f) > before + 4000000);
    for (int i = 999; i >= 0; i--) {
        char *name = test_format("m%d", i);
        assert_ok(chat_try_ack(chat, name, 5000));
        free(name);
    }
    assert_true(memory_of_crowd(f) < before + 3000);
    eventually(server_info(f->server, "used_memory") < used + 500000, 30000);
    tkl_chat_close(chat);
}

/* ---- Chats of a member --------------------------------------------------- */

enum { CHATS = 300 };

/* Waits for a message, which must be in the last chat, and acknowledges it. */
static void wait_in_thread(void *arg, int index)
{
    (void)index;
    tkl_inbox_chats *chats;
    assert_ok(tkl_inbox_fetch(arg, 10, -1, &chats));
    assert_int_equal(chats->count, 1);
    assert_string_equal(chats->items[0].id.data, "c299");
    assert_ok(tkl_inbox_ack_all(arg, chats));
    tkl_inbox_chats_free(chats);
}

static int64_t channels(const fixture *f)
{
    return server_ask_int(f->server, "EVAL %s 0",
                          "return #redis.call('PUBSUB', 'SHARDCHANNELS', '*')");
}

static void create_chats(const fixture *f)
{
    for (int i = 0; i < CHATS; i++) {
        char *id = test_format("c%d", i);
        tkl_chat_close(create_chat(f->client, id, "ann bob"));
        free(id);
    }
}

/* Subscribing to one chat after the other would take 300 times the delay. */
static void an_inbox_subscribes_to_many_chats_at_once(void **state)
{
    fixture *f = *state;
    create_chats(f);
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_inbox *bob = open_inbox(client, "bob");
    tkl_chat *last = open_chat(f->client, "c299");
    proxy_delay(p, TO_CLIENT, 30);
    for (int i = 1; i <= 2; i++) {
        int64_t begin = test_now_ms();
        crew *thread = crew_start(1, wait_in_thread, bob);
        eventually(channels(f) == CHATS + 1, 30000);
        assert_in_range(test_now_ms() - begin, 0, 4000);
        chat_say(last, "ann", "hello");
        crew_join(thread);
    }
    tkl_chat_close(last);
    tkl_inbox_close(bob);
    tkl_close(client);
    proxy_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_memory_of_a_crowd_is_free_when_all_have_acknowledged),
        TEST(an_inbox_subscribes_to_many_chats_at_once),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
