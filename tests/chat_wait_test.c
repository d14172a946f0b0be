/* SPDX-License-Identifier: MIT
 *
 * Chats in trouble: waiting, lost replies, members and servers that are killed or full.
 *
 * ctest: label threads
 */
#include <tackle/chat.h>

#include "core/client.h"
#include "support/chats.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/proxy.h"

#define LONG_MS 30000

/* A thread that fetches once: from all chats of a member. */
typedef struct waiter {
    tkl_inbox *inbox;
    int64_t wait_ms;
    crew *thread;
    int result; /* once joined */
    char *text;
} waiter;

static void fetch_in_thread(void *arg, int index)
{
    (void)index;
    waiter *w = arg;
    tkl_inbox_chats *chats;
    w->result = tkl_inbox_fetch(w->inbox, 10, w->wait_ms, &chats);
    w->text = inbox_text(chats);
    tkl_inbox_chats_free(chats);
}

static int64_t listeners(server *s, const char *channel)
{
    char *text = server_ask(s, "PUBSUB SHARDNUMSUB %s", channel);
    const char *number = strchr(text, '\n');
    int64_t count = number ? atoi(number + 1) : 0;
    free(text);
    return count;
}

/* Starts the thread, and returns when it waits. */
static void start_waiting(waiter *w, server *s, const char *channel)
{
    w->thread = crew_start(1, fetch_in_thread, w);
    eventually(listeners(s, channel) > 0, LONG_MS);
    test_sleep_ms(20);
}

static void expect(waiter *w, const char *expected)
{
    crew_join(w->thread);
    assert_string_equal(w->text, expected);
    assert_code(w->result, *expected ? TKL_OK : TKL_EMPTY);
    free(w->text);
}

/* ---- Waiting ------------------------------------------------------------- */

static void an_inbox_waits_for_all_its_chats(void **state)
{
    fixture *f = *state;
    tkl_chat *lunch = create_chat(f->client, "lunch", "ann bob"),
             *work = create_chat(f->client, "work", "ann bob");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chat:{work}");
    chat_say(work, "ann", "x");
    expect(&w, "work[1:x]");
    assert_ok(chat_try_ack(work, "bob", 1));
    w = (waiter){.inbox = bob, .wait_ms = LONG_MS};
    start_waiting(&w, f->server, "tackle:chat:{lunch}");
    chat_say(lunch, "ann", "y");
    expect(&w, "lunch[1:y]");
    assert_ok(chat_try_ack(lunch, "bob", 1));
    w = (waiter){.inbox = bob, .wait_ms = 50};
    w.thread = crew_start(1, fetch_in_thread, &w);
    expect(&w, "");
    tkl_chat_close(lunch);
    tkl_chat_close(work);
    tkl_inbox_close(bob);
}

static void an_inbox_hears_of_new_chats(void **state)
{
    fixture *f = *state;
    tkl_inbox *bob = open_inbox(f->client, "bob");
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chats:{bob}");
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    chat_say(chat, "ann", "x");
    expect(&w, "lunch[1:x]");
    tkl_chat *other = create_chat(f->client, "other", "ann");
    assert_ok(chat_try_ack(chat, "bob", 1));
    w = (waiter){.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chats:{bob}");
    assert_ok(chat_join(other, "bob"));
    test_sleep_ms(20);
    chat_say(other, "ann", "y");
    expect(&w, "other[1:y]");
    tkl_chat_close(chat);
    tkl_chat_close(other);
    tkl_inbox_close(bob);
}

static void an_idle_inbox_sends_nothing_and_asks_only_where_a_message_is(void **state)
{
    fixture *f = *state;
    tkl_chat *last = NULL;
    for (int i = 0; i < 100; i++) {
        char id[8];
        snprintf(id, sizeof id, "c%d", i);
        tkl_chat_close(last);
        last = create_chat(f->client, id, "ann bob");
    }
    tkl_inbox *bob = open_inbox(f->client, "bob");
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chat:{c99}");
    test_sleep_ms(200);
    int64_t before = server_functions(f->server);
    test_sleep_ms(300);
    assert_int_equal(server_functions(f->server), before);
    chat_say(last, "ann", "x"); /* one, and the message comes with the notification */
    expect(&w, "c99[1:x]");
    assert_int_equal(server_functions(f->server), before + 1);
    assert_ok(chat_try_ack(last, "bob", 1));
    w = (waiter){.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chat:{c99}");
    test_sleep_ms(300);
    before = server_functions(f->server);
    tkl_letter two[] = {{.body = TKL_LIT("y")}, {.body = TKL_LIT("z")}};
    assert_ok(tkl_chat_send(last, tkl_str("ann"), two, 2, NULL)); /* one */
    expect(&w, "c99[2:y 3:z]");                                   /* and one */
    assert_int_equal(server_functions(f->server), before + 2);
    tkl_chat_close(last);
    tkl_inbox_close(bob);
}

/* The error names the damaged chat, which neither ends the wait at once nor hides new messages. */
static void a_damaged_chat_does_not_end_a_wait(void **state)
{
    fixture *f = *state;
    tkl_chat *good = create_chat(f->client, "good", "ann bob"),
             *bad = create_chat(f->client, "bad", "ann bob");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    tkl_inbox_chats *chats;
    chat_say(bad, "ann", "x");
    server_do(f->server, "DEL tackle:chat:{bad}:marks");
    int64_t begin = test_now_ms();
    assert_code(tkl_inbox_fetch(bob, 10, 300, &chats), TKL_EDAMAGED);
    assert_contains(tkl_errmsg(), "chat bad");
    assert_null(chats);
    assert_true(test_now_ms() - begin >= 300);
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chat:{good}");
    test_sleep_ms(100);
    chat_say(good, "ann", "y");
    expect(&w, "bad[TKL_EDAMAGED] good[1:y]");
    assert_ok(tkl_chat_drop(bad));
    expect_inbox(bob, "good[1:y]");
    tkl_chat_close(good);
    tkl_chat_close(bad);
    tkl_inbox_close(bob);
}

/* A member's own message wakes its wait, which goes on. */
static void ones_own_messages_do_not_end_a_wait(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chat:{lunch}");
    chat_say(chat, "bob", "mine");
    chat_say(chat, "ann", "hers");
    expect(&w, "lunch[2:hers]");
    tkl_inbox_close(bob);
    tkl_chat_close(chat);
}

/* Listening to many chats takes longer than the wait, which looks at all of them nevertheless. */
static void a_short_wait_for_many_chats_looks_at_all(void **state)
{
    enum { CHATS = 200 };
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_inbox *bob = open_inbox(client, "bob");
    tkl_chat *all[CHATS];
    tkl_inbox_chats *chats;
    for (int i = 0; i < CHATS; i++) {
        char id[8];
        snprintf(id, sizeof id, "c%d", i);
        all[i] = create_chat(f->client, id, "ann bob");
    }
    expect_inbox(bob, ""); /* learns the list */
    for (int i = 0; i < CHATS; i++) {
        chat_say(all[i], "ann", "x");
        tkl_chat_close(all[i]);
    }
    proxy_delay(p, TO_CLIENT, 10);
    assert_ok(tkl_inbox_fetch(bob, 1, 1, &chats));
    assert_int_equal(chats->count, CHATS);
    for (size_t i = 0; i < chats->count; i++)
        assert_ok(chats->items[i].code);
    tkl_inbox_chats_free(chats);
    tkl_inbox_close(bob);
    tkl_close(client);
    proxy_end(p);
}

static void fetch_one_chat(void *arg, int index)
{
    (void)index;
    tkl_messages *messages;
    assert_code(tkl_chat_fetch(arg, tkl_str("bob"), 1, -1, &messages), TKL_NOTOWNER);
}

static void a_member_that_leaves_waits_no_more(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    crew *thread = crew_start(1, fetch_one_chat, chat);
    eventually(listeners(f->server, "tackle:chat:{lunch}") > 0, LONG_MS);
    assert_ok(chat_leave(chat, "bob"));
    crew_join(thread);
    tkl_chat_close(chat);
}

static void a_short_wait_gets_a_message_that_comes_slowly(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 300000});
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_inbox *bob = open_inbox(client, "bob");
    tkl_inbox_chats *chats;
    char body[2000] = "";
    memset(body, 'x', sizeof body - 1);
    expect_inbox(bob, ""); /* connected, and the list is known */
    chat_say(chat, "ann", body);
    proxy_drip(p, TO_CLIENT, 1);
    int64_t before = test_now_ms();
    assert_ok(tkl_inbox_fetch(bob, 1, 100, &chats));
    assert_true(test_now_ms() - before > 1000);
    assert_int_equal(chats->items[0].messages->items[0].body.len, sizeof body - 1);
    tkl_inbox_chats_free(chats);
    proxy_drip(p, TO_CLIENT, 0);
    tkl_inbox_close(bob);
    tkl_chat_close(chat);
    tkl_close(client);
    proxy_end(p);
}

static void an_interrupted_wait_ends_at_once(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_inbox *bob = open_inbox(client, "bob");
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chats:{bob}");
    tkl_interrupt(client);
    crew_join(w.thread);
    assert_code(w.result, TKL_EINTR);
    free(w.text);
    tkl_inbox_close(bob);
    tkl_close(client);
}

/* ---- Trouble ------------------------------------------------------------- */

static void a_wait_survives_lost_connections_and_flushall(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_inbox *bob = open_inbox(client, "bob");
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chat:{lunch}");
    for (int i = 0; i < 3; i++) {
        proxy_cut(p);
        eventually(listeners(f->server, "tackle:chat:{lunch}") > 0, LONG_MS);
    }
    server_do(f->server, "FLUSHALL");
    tkl_chat *again = create_chat(f->client, "lunch", "ann bob");
    chat_say(again, "ann", "x");
    expect(&w, "lunch[1:x]");
    tkl_chat_close(chat);
    tkl_chat_close(again);
    tkl_inbox_close(bob);
    tkl_close(client);
    proxy_end(p);
}

/* The chat is made once, and each message is sent once, although each reply is lost. */
static void lost_replies_change_nothing(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_chat *chat = open_chat(client, "lunch");
    tkl_bytes members[] = {tkl_str("ann"), tkl_str("bob"), tkl_str("eve")};
    assert_ok(tkl_callz(client, NULL, "PING", NULL));
    proxy_cut_after(p, TO_CLIENT, 90); /* behind the replies about the lists */
    assert_ok(tkl_chat_create(chat, members, 3, NULL));
    for (int i = 1; i <= 5; i++) {
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_int_equal(chat_say(chat, "ann", "x"), i);
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(chat_try_ack(chat, "bob", i));
    }
    expect_chat(chat, "bob", "");
    expect_chat(chat, "eve", "1:x 2:x 3:x 4:x 5:x");
    tkl_chat_close(chat);
    tkl_close(client);
    proxy_end(p);
}

static void a_full_server_lets_members_acknowledge_and_leave(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob eve kim"), *new;
    tkl_inbox *bob = open_inbox(f->client, "bob");
    tkl_bytes ann = tkl_str("ann");
    for (int i = 0; i < 3; i++)
        chat_say(chat, "ann", "x");
    new = open_chat(f->client, "new");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(chat_try_send(chat, "ann", "y", NULL), TKL_EOOM);
    assert_code(chat_join(chat, "zoe"), TKL_EOOM);
    assert_code(tkl_chat_create(new, &ann, 1, NULL), TKL_EOOM);
    assert_ok(chat_try_ack(chat, "kim", 1)); /* frees nothing yet */
    assert_ok(chat_leave(chat, "eve"));
    take_inbox(bob, "lunch[1:x 2:x 3:x]");
    expect_chat(chat, "kim", "2:x 3:x");
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(server_ask_int(f->server, "EXISTS tackle:chat:{new}"), 0);
    assert_int_equal(server_ask_int(f->server, "XLEN tackle:chat:{lunch}:messages"), 2);
    assert_int_equal(chat_say(chat, "ann", "y"), 4);
    tkl_chat_close(chat);
    tkl_chat_close(new);
    tkl_inbox_close(bob);
}

static void damage_is_told_and_nothing_is_changed(void **state)
{
    fixture *f = *state;
    static const char *const damages[] = {
        "DEL tackle:chat:{lunch}",
        "DEL tackle:chat:{lunch}:readers",
        "DEL tackle:chat:{lunch}:messages",
        "DEL tackle:chat:{lunch}:messages tackle:chat:{lunch}:marks",
        "DEL tackle:chat:{lunch}:marks",
        "HSET tackle:chat:{lunch} last 1",
        "HSET tackle:chat:{lunch} drop_oldest x",
        "ZADD tackle:chat:{lunch}:readers 99 bob",
        "ZADD tackle:chat:{lunch}:readers 0.5 bob",
        "ZADD tackle:chat:{lunch}:readers -1 bob",
    };
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
        tkl_messages *messages;
        for (int n = 0; n < 3; n++)
            chat_say(chat, "ann", "x");
        server_do(f->server, damages[i]);
        int64_t kept = server_ask_int(f->server, "XLEN tackle:chat:{lunch}:messages");
        assert_code(tkl_chat_fetch(chat, tkl_str("bob"), 9, 0, &messages), TKL_EDAMAGED);
        assert_code(chat_try_ack(chat, "bob", 2), TKL_EDAMAGED);
        assert_int_equal(server_ask_int(f->server, "XLEN tackle:chat:{lunch}:messages"), kept);
        assert_ok(tkl_chat_drop(chat)); /* the way out */
        tkl_chat_close(chat);
    }
}

/* Every caller hears of an evicted part, also without messages. */
static void an_evicted_part_is_told_to_all(void **state)
{
    fixture *f = *state;
    static const char *const parts[] = {"", ":readers"};
    tkl_bytes ann = tkl_str("ann");
    for (size_t i = 0; i < 2; i++) {
        tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
        tkl_inbox *bob = open_inbox(f->client, "bob");
        tkl_chat_info *info;
        tkl_inbox_chats *chats;
        server_do(f->server, "DEL tackle:chat:{lunch}%s", parts[i]);
        assert_code(chat_try_send(chat, "ann", "x", NULL), TKL_EDAMAGED);
        assert_code(chat_join(chat, "eve"), TKL_EDAMAGED);
        assert_code(chat_leave(chat, "ann"), TKL_EDAMAGED);
        assert_code(tkl_chat_show(chat, &info), TKL_EDAMAGED);
        assert_code(tkl_chat_limit(chat, NULL), TKL_EDAMAGED);
        assert_code(tkl_chat_create(chat, &ann, 1, NULL), TKL_EDAMAGED);
        assert_code(tkl_inbox_fetch(bob, 1, 0, &chats), TKL_EDAMAGED);
        assert_ok(tkl_chat_drop(chat));
        tkl_chat_close(chat);
        tkl_inbox_close(bob);
    }
}

static void nothing_is_lost_when_a_persistent_server_is_killed(void **state)
{
    (void)state;
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    server *s = server_start(&(server_options){.config = config});
    tkl_client *client = test_open(s->url, NULL);
    tkl_chat *chat = create_chat(client, "lunch", "ann bob");
    tkl_inbox *bob = open_inbox(client, "bob");
    for (int i = 1; i <= 3; i++) {
        chat_say(chat, "ann", "x");
        chat_say(chat, "ann", "y");
        server_kill(s);
        server_restart(s);
        tkl_inbox_chats *chats;
        assert_ok(tkl_inbox_fetch(bob, 10, 0, &chats));
        assert_int_equal(chats->items[0].messages->count, 2);
        assert_int_equal(chats->items[0].messages->items[1].id, 2 * i);
        assert_ok(tkl_inbox_ack_all(bob, chats));
        tkl_inbox_chats_free(chats);
    }
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, s, "tackle:chat:{lunch}");
    server_kill(s);
    server_restart(s);
    chat_say(chat, "ann", "z");
    expect(&w, "lunch[7:z]");
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
    tkl_close(client);
    server_end(s);
}

/* Messages were written when the server's clock was an hour ahead. */
static void times_in_the_future_do_no_harm(void **state)
{
    fixture *f = *state;
    tkl_chat *chat = create_chat(f->client, "lunch", "ann bob");
    tkl_inbox *bob = open_inbox(f->client, "bob");
    int64_t later = (server_ask_int(f->server, "TIME") + 3600) * 1000;
    assert_ok(tkl_chat_limit(chat, &(tkl_message_limits){.max_age_ms = 60000}));
    for (int i = 0; i < 3; i++)
        chat_say(chat, "ann", "x");
    server_do(f->server, "LSET tackle:chat:{lunch}:marks 0 %lld", (long long)later);
    server_do(f->server, "LSET tackle:chat:{lunch}:marks 2 %lld", (long long)later);
    server_do(f->server, "ZADD tackle:chats:{bob} %lld lunch", (long long)later);
    assert_int_equal(chat_say(chat, "ann", "y"), 4);
    take_inbox(bob, "lunch[1:x 2:x 3:x 4:y]");
    assert_ok(chat_leave(chat, "bob"));
    assert_ok(chat_join(chat, "bob"));
    assert_int_equal(chat_say(chat, "ann", "z"), 5);
    expect_inbox(bob, "lunch[5:z]");
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
}

/* ---- Permissions --------------------------------------------------------- */

/* Opens a client of a user who has the permissions that docs/chat.md lists, and no more. */
static tkl_client *open_as_documented(fixture *f)
{
    static char text[65536];
    FILE *file = fopen(TACKLE_SOURCE_DIR "/docs/chat.md", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *command = strstr(text, "ACL SETUSER chatter");
    assert_non_null(command);
    *strstr(command, "```") = '\0';
    for (char *at = command; (at = strchr(at, '\n'));)
        *at = ' ';
    server_do(f->server, command);
    return test_open(f->server->url, &(tkl_options){.username = "chatter", .password = "secret"});
}

static void the_documented_permissions_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *client = open_as_documented(f);
    tkl_chat *chat = create_chat(client, "lunch", "ann bob");
    tkl_inbox *bob = open_inbox(client, "bob");
    tkl_chat_info *info;
    tkl_names *names;
    assert_ok(tkl_chat_limit(
        chat, &(tkl_message_limits){.max_messages = 2, .max_age_ms = 60000, .ttl_ms = 60000}));
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, f->server, "tackle:chat:{lunch}");
    chat_say(chat, "ann", "x");
    expect(&w, "lunch[1:x]");
    for (int i = 0; i < 3; i++)
        chat_say(chat, "ann", "y");
    assert_ok(tkl_chat_join(chat, tkl_str("eve"), TKL_CHAT_START_OLDEST));
    take_inbox(bob, "lunch[(missed 2) 3:y 4:y]");
    assert_ok(chat_try_ack(chat, "ann", 4));
    assert_ok(tkl_chat_show(chat, &info));
    tkl_chat_info_free(info);
    server_do(f->server, "ZADD tackle:chats:{eve} 1000 lunch");
    assert_ok(chat_leave(chat, "eve"));
    assert_int_equal(server_ask_int(f->server, "EXISTS tackle:chats:{eve}"), 0);
    assert_ok(tkl_chat_names(client, &names));
    tkl_names_free(names);
    assert_ok(chat_leave(chat, "ann"));
    assert_ok(chat_leave(chat, "bob"));
    assert_code(tkl_chat_drop(chat), TKL_NOTFOUND);
    tkl_chat_close(chat);
    tkl_inbox_close(bob);
    tkl_close(client);
    server_do(f->server, "ACL DELUSER chatter");
}

/* ---- Clusters ------------------------------------------------------------ */

static void say_in_thread(void *arg, int index)
{
    (void)index;
    assert_int_equal(chat_say(arg, "ann", "patient"), 2);
}

/* While some keys of a chat are on one server and some on the other, callers wait. */
static void a_chat_on_two_servers_at_once_is_waited_for(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_chat *chat = create_chat(client, "lunch", "ann bob");
    int slot = (int)server_ask_int(c->servers[0], "CLUSTER KEYSLOT {lunch}");
    server *from = cluster_owner(c, slot), *to = cluster_other(c, slot);
    chat_say(chat, "ann", "x");
    cluster_move_begin(from, to, slot);
    cluster_move_keys(from, to, slot, 2);
    crew *thread = crew_start(1, say_in_thread, chat);
    test_sleep_ms(50);
    cluster_move_keys(from, to, slot, INT32_MAX);
    cluster_move_end(c, to, slot);
    crew_join(thread);
    expect_chat(chat, "bob", "1:x 2:patient");
    tkl_chat_close(chat);
    tkl_close(client);
    cluster_end(c);
}

static void a_wait_goes_through_moving_slots_and_failovers(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_chat *chat = create_chat(client, "lunch", "ann bob"),
             *more = create_chat(client, "work", "ann bob");
    tkl_inbox *bob = open_inbox(client, "bob");
    int slot = (int)server_ask_int(c->servers[0], "CLUSTER KEYSLOT {lunch}");
    server *from = cluster_owner(c, slot), *to = cluster_other(c, slot);
    waiter w = {.inbox = bob, .wait_ms = -1};
    start_waiting(&w, from, "tackle:chat:{lunch}");
    cluster_move_begin(from, to, slot);
    cluster_move_keys(from, to, slot, INT32_MAX);
    cluster_move_end(c, to, slot);
    chat_say(chat, "ann", "x");
    expect(&w, "lunch[1:x]");
    assert_ok(chat_try_ack(chat, "bob", 1));
    w = (waiter){.inbox = bob, .wait_ms = -1};
    start_waiting(&w, to, "tackle:chat:{lunch}");
    cluster_fail_over(c, slot);
    chat_say(chat, "ann", "y");
    expect(&w, "lunch[2:y]");
    tkl_chat_close(chat);
    tkl_chat_close(more);
    tkl_inbox_close(bob);
    tkl_close(client);
    cluster_end(c);
}

/* ---- A server that hangs ------------------------------------------------- */

/* A cluster whose masters serve on while another one is away. Bob's list of chats is on one server,
 * the chats are on the two others. */
typedef struct hanging {
    cluster *cluster;
    tkl_client *client;
    server *server, *replica; /* that hang */
    tkl_chat *good, *bad;
    tkl_inbox *bob;
} hanging;

static server *owner_of(cluster *c, const char *name)
{
    return cluster_owner(c, (int)server_ask_int(c->servers[0], "CLUSTER KEYSLOT {%s}", name));
}

/* A chat on a server that is none of these. */
static tkl_chat *create_beside(const hanging *h, const char *kind, const server *a, const server *b)
{
    char id[16];
    int i = 0;
    const server *at;
    do {
        snprintf(id, sizeof id, "%s%d", kind, i++);
        at = owner_of(h->cluster, id);
    } while (at == a || at == b);
    return create_chat(h->client, id, "ann bob");
}

static void hanging_start(hanging *h)
{
    *h = (hanging){.cluster = cluster_start(false)};
    for (int i = 0; i < CLUSTER_SIZE; i++)
        server_do(h->cluster->servers[i], "CONFIG SET cluster-require-full-coverage no");
    h->client = test_open(h->cluster->url, NULL);
    h->client->heartbeat_us = 500000;
    server *home = owner_of(h->cluster, "bob");
    h->bad = create_beside(h, "bad", home, home);
    h->server = owner_of(h->cluster, tkl_chat_id(h->bad).data);
    h->replica = cluster_replica(h->cluster, h->server);
    h->good = create_beside(h, "good", home, h->server);
    h->bob = open_inbox(h->client, "bob");
}

static void hang(hanging *h)
{
    server_freeze(h->replica);
    server_freeze(h->server);
}

static void hanging_end(hanging *h)
{
    tkl_inbox_close(h->bob);
    tkl_chat_close(h->good);
    tkl_chat_close(h->bad);
    tkl_close(h->client);
    cluster_end(h->cluster);
}

static void expect_good(waiter *w, const hanging *h, const char *message)
{
    int64_t begin = test_now_ms();
    char good[64], bad[64];
    snprintf(good, sizeof good, "%s[%s]", tkl_chat_id(h->good).data, message);
    snprintf(bad, sizeof bad, "%s[", tkl_chat_id(h->bad).data);
    crew_join(w->thread);
    assert_ok(w->result);
    assert_contains(w->text, good);
    assert_contains(w->text, bad); /* with the code */
    free(w->text);
    assert_in_range(test_now_ms() - begin, 0, 8000);
}

static void a_server_that_hangs_does_not_keep_other_chats_waiting(void **state)
{
    (void)state;
    hanging h;
    hanging_start(&h);
    waiter w = {.inbox = h.bob, .wait_ms = LONG_MS};
    hang(&h);
    w.thread = crew_start(1, fetch_in_thread, &w);
    test_sleep_ms(1500);
    chat_say(h.good, "ann", "x");
    expect_good(&w, &h, "1:x");
    for (int i = 2; i <= 3; i++) { /* the handle knows that server by now */
        int64_t begin = test_now_ms();
        assert_ok(chat_try_ack(h.good, "bob", i - 1));
        w = (waiter){.inbox = h.bob, .wait_ms = LONG_MS};
        w.thread = crew_start(1, fetch_in_thread, &w);
        test_sleep_ms(100);
        chat_say(h.good, "ann", "y");
        expect_good(&w, &h, i == 2 ? "2:y" : "3:y");
        assert_in_range(test_now_ms() - begin, 0, 4000);
    }
    assert_ok(chat_try_ack(h.good, "bob", 3));
    w = (waiter){.inbox = h.bob, .wait_ms = -1};
    w.thread = crew_start(1, fetch_in_thread, &w);
    test_sleep_ms(100);
    server_thaw(h.replica);
    server_thaw(h.server);
    cluster_heal(h.cluster);
    chat_say(h.bad, "ann", "z"); /* heard again */
    crew_join(w.thread);
    assert_contains(w.text, "[1:z]");
    free(w.text);
    hanging_end(&h);
}

static void a_server_that_hangs_during_a_wait_keeps_no_other_chat_waiting(void **state)
{
    (void)state;
    hanging h;
    hanging_start(&h);
    waiter w = {.inbox = h.bob, .wait_ms = -1};
    char channel[64];
    snprintf(channel, sizeof channel, "tackle:chat:{%s}", tkl_chat_id(h.bad).data);
    start_waiting(&w, h.server, channel);
    hang(&h);
    test_sleep_ms(2500); /* the heartbeat has found out */
    chat_say(h.good, "ann", "x");
    expect_good(&w, &h, "1:x");
    server_thaw(h.replica);
    server_thaw(h.server);
    hanging_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_inbox_waits_for_all_its_chats),
        TEST(an_inbox_hears_of_new_chats),
        TEST(an_idle_inbox_sends_nothing_and_asks_only_where_a_message_is),
        TEST(a_damaged_chat_does_not_end_a_wait),
        TEST(ones_own_messages_do_not_end_a_wait),
        TEST(a_short_wait_for_many_chats_looks_at_all),
        TEST(a_member_that_leaves_waits_no_more),
        TEST(a_short_wait_gets_a_message_that_comes_slowly),
        TEST(an_interrupted_wait_ends_at_once),
        TEST(a_wait_survives_lost_connections_and_flushall),
        TEST(lost_replies_change_nothing),
        TEST(a_full_server_lets_members_acknowledge_and_leave),
        TEST(damage_is_told_and_nothing_is_changed),
        TEST(an_evicted_part_is_told_to_all),
        TEST(times_in_the_future_do_no_harm),
        TEST(the_documented_permissions_are_enough),
        cmocka_unit_test(nothing_is_lost_when_a_persistent_server_is_killed),
        cmocka_unit_test(a_chat_on_two_servers_at_once_is_waited_for),
        cmocka_unit_test(a_wait_goes_through_moving_slots_and_failovers),
        cmocka_unit_test(a_server_that_hangs_does_not_keep_other_chats_waiting),
        cmocka_unit_test(a_server_that_hangs_during_a_wait_keeps_no_other_chat_waiting),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
