/* SPDX-License-Identifier: MIT
 *
 * Mailboxes in trouble: waiting, lost replies, servers that go away, hang, or are full.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include <tackle/mail.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/proxy.h"

#define LONG_MS 30000

static tkl_mail *open_box(tkl_client *client, const char *owner)
{
    tkl_mail *box;
    assert_ok(tkl_mail_open(client, tkl_str(owner), NULL, &box));
    return box;
}

static int try_send(tkl_mail *box, const char *text)
{
    tkl_letter letter = {.body = tkl_str(text)};
    return tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL);
}

static void send_text(tkl_mail *box, const char *text)
{
    assert_ok(try_send(box, text));
}

/* A thread that fetches once. */
typedef struct waiter {
    tkl_mail *box;
    int64_t wait_ms;
    crew *thread;
    int result; /* once joined */
    char body[64];
} waiter;

static void fetch_in_thread(void *arg, int index)
{
    (void)index;
    waiter *w = arg;
    tkl_messages *mail;
    w->result = tkl_mail_fetch(w->box, 10, w->wait_ms, &mail);
    if (w->result == TKL_OK)
        snprintf(w->body, sizeof w->body, TKL_FMT, TKL_ARG(mail->items[0].body));
    tkl_messages_free(mail);
}

static int64_t listeners(server *s, const char *owner)
{
    char *text = server_ask(s, "PUBSUB SHARDNUMSUB tackle:mail:{%s}", owner);
    const char *number = strchr(text, '\n');
    int64_t count = number ? atoi(number + 1) : 0;
    free(text);
    return count;
}

/* Starts the thread, and returns when it waits. */
static void start_waiting(waiter *w, server *s, const char *owner)
{
    w->thread = crew_start(1, fetch_in_thread, w);
    eventually(listeners(s, owner) > 0, LONG_MS);
    test_sleep_ms(20);
}

static void expect(waiter *w, const char *body)
{
    crew_join(w->thread);
    assert_code(w->result, *body ? TKL_OK : TKL_EMPTY);
    assert_string_equal(w->body, body);
}

/* ---- Waiting ------------------------------------------------------------- */

static void a_waiter_gets_what_is_sent(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f->client, "ann");
    waiter w = {.box = box, .wait_ms = -1};
    start_waiting(&w, f->server, "ann");
    send_text(box, "hello");
    expect(&w, "hello");
    waiter again = {.box = box, .wait_ms = LONG_MS}; /* it is there already */
    again.thread = crew_start(1, fetch_in_thread, &again);
    expect(&again, "hello");
    tkl_mail_close(box);
}

static void a_wait_ends_with_its_time(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f->client, "ann");
    tkl_messages *mail;
    int64_t before = test_now_ms();
    assert_code(tkl_mail_fetch(box, 1, 50, &mail), TKL_EMPTY);
    assert_null(mail);
    assert_true(test_now_ms() - before >= 50);
    tkl_mail_close(box);
}

static void an_idle_waiter_sends_nothing(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f->client, "ann");
    waiter w = {.box = box, .wait_ms = -1};
    start_waiting(&w, f->server, "ann");
    int64_t before = server_functions(f->server);
    test_sleep_ms(500);
    assert_int_equal(server_functions(f->server), before);
    send_text(box, "x");
    expect(&w, "x");
    tkl_mail_close(box);
}

static void many_waiters_share_a_connection(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f->client, "ann");
    waiter all[20];
    for (int i = 0; i < 20; i++) {
        all[i] = (waiter){.box = box, .wait_ms = -1};
        start_waiting(&all[i], f->server, "ann");
    }
    assert_int_equal(listeners(f->server, "ann"), 1);
    send_text(box, "x");
    for (int i = 0; i < 20; i++)
        expect(&all[i], "x");
    tkl_mail_close(box);
}

/* ---- Trouble ------------------------------------------------------------- */

static void a_wait_survives_lost_connections(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_mail *box = open_box(client, "ann"), *same = open_box(f->client, "ann");
    waiter w = {.box = box, .wait_ms = -1};
    start_waiting(&w, f->server, "ann");
    for (int i = 0; i < 3; i++) {
        proxy_cut(p);
        eventually(listeners(f->server, "ann") > 0, LONG_MS);
    }
    send_text(same, "hello");
    expect(&w, "hello");
    tkl_mail_close(box);
    tkl_mail_close(same);
    tkl_close(client);
    proxy_end(p);
}

/* The request arrives, its reply does not: the repeated request finds the first. */
static void a_lost_reply_does_not_send_twice(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_mail *box = open_box(client, "ann"), *same = open_box(f->client, "ann");
    tkl_mail_info *info;
    send_text(box, "first");
    for (int i = 2; i <= 10; i++) {
        tkl_letter letter = {.body = TKL_LIT("x")};
        int64_t id;
        proxy_cut_after(p, TO_CLIENT, 0);
        assert_ok(tkl_mail_send(box, tkl_str("bob"), &letter, 1, &id));
        assert_int_equal(id, i);
    }
    assert_ok(tkl_mail_show(same, &info));
    assert_int_equal(info->unread, 10);
    tkl_mail_info_free(info);
    tkl_mail_close(box);
    tkl_mail_close(same);
    tkl_close(client);
    proxy_end(p);
}

/* A caller that has more time may repeat its request for longer. */
static void a_request_is_remembered_as_long_as_it_may_be_repeated(void **state)
{
    fixture *f = *state;
    static const struct {
        int64_t timeout_ms, least, most;
    } cases[] = {{0, 59000, 121000}, {200000, 199000, 401000}, {86400000, 599000, 1201000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_mail *box;
        tkl_mail_options options = {.timeout_ms = cases[i].timeout_ms};
        assert_ok(tkl_mail_open(f->client, tkl_str("ann"), &options, &box));
        send_text(box, "x");
        assert_in_range(server_ask_int(f->server, "PTTL tackle:mail:{ann}:recent"), cases[i].least,
                        cases[i].most);
        tkl_mail_close(box);
    }
    tkl_mail *box = open_box(f->client, "ann");
    send_text(box, "y"); /* shortens nothing */
    assert_true(server_ask_int(f->server, "PTTL tackle:mail:{ann}:recent") > 500000);
    tkl_mail_close(box);
}

/* Stores 20,000 requests, as if they had come at that time. */
static void remember_others(fixture *f, const char *time)
{
    char script[256];
    snprintf(script, sizeof script,
             "for i = 1, 20000 do redis.call('RPUSH', KEYS[1], 'other', 1, %s) end "
             "return redis.call('LTRIM', KEYS[1], -60000, -1)",
             time);
    assert_ok(tkl_callz(f->client, NULL, "EVAL", script, "1", "tackle:mail:{ann}:recent", NULL));
}

/* The request was lost, and the server cannot tell it from one that it has forgotten. */
static void a_request_that_may_be_forgotten_is_unknown(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    tkl_mail *box = open_box(client, "ann");
    tkl_letter letter = {.body = TKL_LIT("x")};
    tkl_mail_info *info;
    send_text(box, "first");
    remember_others(f, "redis.call('TIME')[1] * 1000");
    proxy_cut_after(p, TO_SERVER, 0);
    assert_code(tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL), TKL_EUNKNOWN);
    assert_contains(tkl_errmsg(), "many have sent since");
    assert_ok(tkl_mail_show(box, &info));
    assert_int_equal(info->unread, 1);
    tkl_mail_info_free(info);
    remember_others(f, "5"); /* long ago */
    proxy_cut_after(p, TO_SERVER, 0);
    assert_ok(tkl_mail_send(box, tkl_str("bob"), &letter, 1, NULL));
    tkl_mail_close(box);
    tkl_close(client);
    proxy_end(p);
}

static void a_server_that_hangs_is_reported(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_mail *box;
    tkl_messages *mail;
    assert_ok(tkl_mail_open(client, tkl_str("ann"), &(tkl_mail_options){.timeout_ms = 100}, &box));
    send_text(box, "x");
    server_freeze(f->server);
    int sent = try_send(box, "y"), fetched = tkl_mail_fetch(box, 1, 0, &mail);
    server_thaw(f->server);
    assert_code(sent, TKL_ETIMEOUT);
    assert_true(tkl_is_transient(fetched));
    assert_ok(tkl_mail_fetch(box, 1, 0, &mail));
    tkl_messages_free(mail);
    tkl_mail_close(box);
    tkl_close(client);
}

/* A wait ends about when it should, and one that lasts goes on where it was. */
static void a_wait_survives_a_server_that_hangs(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_mail *box = open_box(client, "ann"), *same = open_box(f->client, "ann");
    waiter brief = {.box = box, .wait_ms = 200}, long_one = {.box = box, .wait_ms = -1};
    start_waiting(&long_one, f->server, "ann");
    brief.thread = crew_start(1, fetch_in_thread, &brief);
    server_freeze(f->server);
    int64_t before = test_now_ms();
    crew_join(brief.thread); /* long before the time-out of a call */
    int64_t took = test_now_ms() - before;
    server_thaw(f->server);
    assert_in_range(took, 0, 20000);
    send_text(same, "hello");
    expect(&long_one, "hello");
    tkl_mail_close(box);
    tkl_mail_close(same);
    tkl_close(client);
}

/* A reply takes longer than the wait: since it has begun to come, the call waits for its end. */
static void a_short_wait_gets_a_message_that_comes_slowly(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), &(tkl_options){.timeout_ms = 300000});
    tkl_mail *box = open_box(client, "ann"), *direct = open_box(f->client, "ann");
    tkl_messages *mail;
    char body[2000];
    tkl_letter letter = {.body = {body, sizeof body}};
    memset(body, 'x', sizeof body);
    assert_code(tkl_mail_fetch(box, 1, 0, &mail), TKL_EMPTY); /* connected */
    assert_ok(tkl_mail_send(direct, tkl_str("bob"), &letter, 1, NULL));
    proxy_drip(p, TO_CLIENT, 1);
    int64_t before = test_now_ms();
    assert_ok(tkl_mail_fetch(box, 1, 100, &mail));
    assert_true(test_now_ms() - before > 1000);
    assert_int_equal(mail->items[0].body.len, sizeof body);
    tkl_messages_free(mail);
    proxy_drip(p, TO_CLIENT, 0);
    tkl_mail_close(box);
    tkl_mail_close(direct);
    tkl_close(client);
    proxy_end(p);
}

/* The server does not answer the first request of the wait. */
static void a_wait_on_a_server_that_hangs_can_be_interrupted(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, &(tkl_options){.timeout_ms = 300000});
    tkl_mail *box = open_box(client, "ann");
    tkl_messages *mail;
    waiter w = {.box = box, .wait_ms = -1};
    assert_code(tkl_mail_fetch(box, 1, 0, &mail), TKL_EMPTY); /* connected */
    server_freeze(f->server);
    w.thread = crew_start(1, fetch_in_thread, &w);
    test_sleep_ms(50);
    int64_t before = test_now_ms();
    tkl_interrupt(client);
    crew_join(w.thread);
    int64_t took = test_now_ms() - before;
    server_thaw(f->server);
    assert_code(w.result, TKL_EINTR);
    assert_in_range(took, 0, 60000);
    tkl_resume(client);
    tkl_mail_close(box);
    tkl_close(client);
}

static void an_interrupted_wait_ends_at_once(void **state)
{
    fixture *f = *state;
    tkl_client *client = test_open(f->server->url, NULL);
    tkl_mail *box = open_box(client, "ann");
    waiter w = {.box = box, .wait_ms = -1};
    start_waiting(&w, f->server, "ann");
    tkl_interrupt(client);
    crew_join(w.thread);
    assert_code(w.result, TKL_EINTR);
    tkl_resume(client);
    send_text(box, "x");
    w.thread = crew_start(1, fetch_in_thread, &w);
    expect(&w, "x");
    tkl_mail_close(box);
    tkl_close(client);
}

static server *start_persistent(void)
{
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    return server_start(&(server_options){.config = config});
}

/* The server is killed with all of its memory; acknowledged messages stay acknowledged. */
static void nothing_is_lost_when_a_persistent_server_is_killed(void **state)
{
    (void)state;
    server *s = start_persistent();
    tkl_client *client = test_open(s->url, NULL);
    tkl_mail *box = open_box(client, "ann");
    tkl_messages *mail;
    for (int round = 0; round < 3; round++) {
        send_text(box, "a");
        send_text(box, "b");
        assert_ok(tkl_mail_ack(box, 2 * round + 1, NULL));
        server_kill(s);
        server_restart(s);
        assert_ok(tkl_mail_fetch(box, 10, 0, &mail));
        assert_int_equal(mail->count, 1);
        assert_int_equal(mail->items[0].id, 2 * round + 2);
        tkl_messages_free(mail);
        assert_ok(tkl_mail_ack(box, 2 * round + 2, NULL));
    }
    waiter w = {.box = box, .wait_ms = -1};
    start_waiting(&w, s, "ann");
    server_kill(s);
    server_restart(s);
    send_text(box, "after");
    expect(&w, "after");
    tkl_mail_close(box);
    tkl_close(client);
    server_end(s);
}

static void a_full_server_refuses_to_send_but_not_to_acknowledge(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f->client, "ann");
    tkl_messages *mail;
    int64_t unread;
    send_text(box, "1");
    send_text(box, "2");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(try_send(box, "3"), TKL_EOOM);
    assert_ok(tkl_mail_fetch(box, 10, 0, &mail));
    assert_int_equal(mail->count, 2);
    tkl_messages_free(mail);
    assert_ok(tkl_mail_ack(box, 1, &unread));
    assert_int_equal(unread, 1);
    assert_ok(tkl_mail_limit(box, &(tkl_message_limits){.max_messages = 5}));
    server_do(f->server, "CONFIG SET maxmemory 0");
    send_text(box, "3");
    assert_ok(tkl_mail_ack(box, 3, &unread));
    assert_int_equal(unread, 0);
    tkl_mail_close(box);
}

/* Ids begin again at 1, and waiters still get messages. */
static void a_waiter_survives_flushall(void **state)
{
    fixture *f = *state;
    tkl_mail *box = open_box(f->client, "ann");
    send_text(box, "old");
    assert_ok(tkl_mail_ack(box, 1, NULL));
    waiter w = {.box = box, .wait_ms = -1};
    start_waiting(&w, f->server, "ann");
    server_do(f->server, "FLUSHALL");
    send_text(box, "new");
    expect(&w, "new");
    tkl_mail_close(box);
}

/* ---- Permissions --------------------------------------------------------- */

/* Opens a client of a user who has the permissions that docs/mail.md lists, and no more. */
static tkl_client *open_as_documented(fixture *f)
{
    static char text[65536];
    FILE *file = fopen(TACKLE_SOURCE_DIR "/docs/mail.md", "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    char *command = strstr(text, "ACL SETUSER postman");
    assert_non_null(command);
    *strstr(command, "```") = '\0';
    for (char *at = command; (at = strchr(at, '\n'));)
        *at = ' ';
    server_do(f->server, command);
    return test_open(f->server->url, &(tkl_options){.username = "postman", .password = "secret"});
}

static void the_documented_permissions_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *client = open_as_documented(f);
    tkl_mail *box = open_box(client, "ann");
    tkl_mail_info *info;
    tkl_names *names;
    tkl_messages *mail;
    waiter w = {.box = box, .wait_ms = -1};
    assert_ok(tkl_mail_limit(box, &(tkl_message_limits){.max_messages = 2,
                                                        .max_age_ms = 60000,
                                                        .ttl_ms = 60000,
                                                        .when_full = TKL_WHEN_FULL_DROP_OLDEST}));
    start_waiting(&w, f->server, "ann");
    send_text(box, "1");
    expect(&w, "1");
    for (int i = 2; i <= 4; i++)
        send_text(box, "x");
    server_do(f->server, "CLIENT KILL TYPE normal");
    assert_ok(tkl_mail_fetch(box, 1, 0, &mail));
    tkl_messages_free(mail);
    assert_ok(tkl_mail_show(box, &info));
    tkl_mail_info_free(info);
    assert_ok(tkl_mail_ack(box, 3, NULL));
    assert_ok(tkl_mail_purge(box, NULL));
    assert_ok(tkl_mail_names(client, &names));
    tkl_names_free(names);
    assert_ok(tkl_mail_drop(box));
    tkl_mail_close(box);
    tkl_close(client);
    server_do(f->server, "ACL DELUSER postman");
}

static void a_sender_that_may_not_publish_sends_all_the_same(void **state)
{
    fixture *f = *state;
    server_do(f->server, "ACL SETUSER mute on nopass ~* +@all resetchannels");
    tkl_client *client =
        test_open(f->server->url, &(tkl_options){.username = "mute", .password = "x"});
    tkl_mail *box = open_box(client, "ann");
    tkl_messages *mail;
    send_text(box, "1");
    assert_ok(tkl_mail_fetch(box, 1, 0, &mail));
    tkl_messages_free(mail);
    assert_ok(tkl_mail_ack(box, 1, NULL));
    assert_code(tkl_mail_fetch(box, 1, 1000, &mail), TKL_EAUTH);
    tkl_mail_close(box);
    tkl_close(client);
    server_do(f->server, "ACL DELUSER mute");
}

/* ---- Clusters ------------------------------------------------------------ */

static void mail_goes_through_moving_slots_and_failovers(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_mail *box = open_box(client, "ann");
    tkl_messages *mail;
    int slot = (int)server_ask_int(c->servers[0], "CLUSTER KEYSLOT {ann}");
    server *from = cluster_owner(c, slot), *to = cluster_other(c, slot);
    send_text(box, "1");
    waiter w = {.box = box, .wait_ms = -1};
    assert_ok(tkl_mail_ack(box, 1, NULL));
    start_waiting(&w, from, "ann");
    cluster_move_begin(from, to, slot);
    cluster_move_keys(from, to, slot, INT32_MAX);
    cluster_move_end(c, to, slot);
    send_text(box, "moved");
    expect(&w, "moved");
    cluster_fail_over(c, slot);
    send_text(box, "3");
    assert_ok(tkl_mail_fetch(box, 10, 0, &mail));
    assert_int_equal(mail->count, 2);
    assert_int_equal(mail->items[1].id, 3);
    tkl_messages_free(mail);
    tkl_mail_close(box);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_waiter_gets_what_is_sent),
        TEST(a_wait_ends_with_its_time),
        TEST(an_idle_waiter_sends_nothing),
        TEST(many_waiters_share_a_connection),
        TEST(a_wait_survives_lost_connections),
        TEST(a_lost_reply_does_not_send_twice),
        TEST(a_request_is_remembered_as_long_as_it_may_be_repeated),
        TEST(a_request_that_may_be_forgotten_is_unknown),
        TEST(a_server_that_hangs_is_reported),
        TEST(a_wait_survives_a_server_that_hangs),
        TEST(a_short_wait_gets_a_message_that_comes_slowly),
        TEST(a_wait_on_a_server_that_hangs_can_be_interrupted),
        TEST(an_interrupted_wait_ends_at_once),
        TEST(a_full_server_refuses_to_send_but_not_to_acknowledge),
        TEST(a_waiter_survives_flushall),
        TEST(the_documented_permissions_are_enough),
        TEST(a_sender_that_may_not_publish_sends_all_the_same),
        cmocka_unit_test(nothing_is_lost_when_a_persistent_server_is_killed),
        cmocka_unit_test(mail_goes_through_moving_slots_and_failovers),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
