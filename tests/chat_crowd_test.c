/* SPDX-License-Identifier: MIT
 *
 * Very many: members of a chat, chats of a member.
 */
#include "support/chats.h"
#include "support/fixture.h"

/* ---- Members --------------------------------------------------------------- */

/* All keys but that of the requests, which expires. Without SAMPLES 0 the server guesses by five of
 * the members, which is off by thousands of bytes. */
static int64_t memory_of_crowd(const fixture *f)
{
    static const char *const parts[] = {"", ":messages", ":marks", ":readers"};
    int64_t sum = 0;
    for (int i = 0; i < 4; i++)
        sum += server_ask_int(f->server, "MEMORY USAGE tackle:chat:{crowd}%s SAMPLES 0", parts[i]);
    return sum;
}

/* A member's node in the sorted set is made anew and has a random height: 500 bytes more or less. */
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_memory_of_a_crowd_is_free_when_all_have_acknowledged),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
