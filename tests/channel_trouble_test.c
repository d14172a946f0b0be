/* SPDX-License-Identifier: MIT
 *
 * Channels while connections break, servers restart, hang or hand over, and clocks jump. Publishers
 * publish numbers all the time; followers must see none twice, and all of them unless a server has
 * lost some.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include <tackle/tackle.h>

#include "support/call.h"
#include "support/cluster.h"
#include "support/proxy.h"
#include "support/server.h"
#include "support/test.h"
#include "support/text.h"
#include "support/timed.h"

enum { FOLLOWERS = 2, MOST = 200000, PATIENCE_MS = 60000 };

typedef struct scene {
    tkl_client *publisher, *reader;
    atomic_bool publishers_end, followers_end;
    atomic_bool may_lose;      /* servers may lose messages from now on */
    atomic_int published;      /* numbers up to this were published, or tried */
    atomic_int confirmed;      /* the last one that was confirmed */
    atomic_char *outcome;      /* 1: confirmed */
    atomic_int got[FOLLOWERS]; /* the last number that was read */
    char *seen[FOLLOWERS];
    atomic_int resets;
    crew *publishing, *following;
} scene;

static void publish_numbers(void *arg, int index)
{
    scene *s = arg;
    tkl_channel *channel;
    (void)index;
    assert_ok(tkl_channel_open(s->publisher, tkl_str("news"),
                               &(tkl_channel_options){.history = 100000}, &channel));
    while (!s->publishers_end && s->published < MOST - 1) {
        char text[16];
        int number = s->published + 1;
        snprintf(text, sizeof text, "%d", number);
        tkl_bytes message = tkl_str(text);
        int rc = tkl_channel_publish(channel, &message, 1, NULL);
        assert_true(rc == TKL_OK || tkl_is_transient(rc) || tkl_is_unknown(rc));
        s->outcome[number] = rc == TKL_OK;
        s->published = number;
        if (rc == TKL_OK)
            s->confirmed = number;
        test_sleep_ms(1);
    }
    tkl_channel_close(channel);
}

static void follow_numbers(void *arg, int index)
{
    scene *s = arg;
    tkl_channel *channel;
    tkl_channel_follower *follower;
    tkl_channel_messages *messages;
    assert_ok(tkl_channel_open(s->reader, tkl_str("news"), NULL, &channel));
    assert_ok(
        tkl_channel_follow(channel, &(tkl_channel_follow_options){.recent = TKL_NONE}, &follower));
    while (!s->followers_end) {
        int rc = tkl_channel_next(follower, 0, index == 0 ? -1 : 300, &messages);
        if (rc == TKL_EINTR)
            break;
        if (rc == TKL_EMPTY || rc < 0) {
            assert_true(rc == TKL_EMPTY || tkl_is_transient(rc) || tkl_is_unknown(rc));
            continue;
        }
        if (messages->reset || messages->lost > 0) {
            assert_true(s->may_lose);
            s->resets++;
        }
        for (size_t i = 0; i < messages->count; i++) {
            int number = atoi(test_text(TKL_FMT, TKL_ARG(messages->items[i].data)));
            assert_in_range(number, 1, MOST);
            assert_int_equal(s->seen[index][number], 0);
            assert_true(number > s->got[index]);
            s->seen[index][number] = 1;
            s->got[index] = number;
        }
        tkl_channel_messages_free(messages);
    }
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void scene_begin(scene *s, const char *publisher, const char *reader)
{
    *s = (scene){.publisher = test_open(publisher, NULL), .reader = test_open(reader, NULL)};
    s->outcome = calloc(MOST + 1, sizeof *s->outcome);
    for (int i = 0; i < FOLLOWERS; i++)
        s->seen[i] = calloc(MOST + 1, 1);
    assert_ok(tkl_callz(s->reader, NULL, "PING", NULL));
    s->publishing = crew_start(1, publish_numbers, s);
    s->following = crew_start(FOLLOWERS, follow_numbers, s);
}

/* Waits until `more` messages are confirmed and all followers have them. */
static void go_on(scene *s, int more)
{
    int wanted = s->confirmed + more;
    eventually(s->confirmed >= wanted, PATIENCE_MS);
    for (int i = 0; i < FOLLOWERS; i++)
        eventually(s->got[i] >= wanted, PATIENCE_MS);
}

static void scene_end(scene *s)
{
    s->publishers_end = true;
    crew_join(s->publishing);
    int last = s->confirmed;
    for (int i = 0; i < FOLLOWERS; i++)
        eventually(s->got[i] >= last, PATIENCE_MS);
    s->followers_end = true;
    tkl_interrupt(s->reader);
    crew_join(s->following);
    int missing = 0;
    for (int i = 0; i < FOLLOWERS; i++)
        for (int number = 1; number <= last; number++)
            missing += s->outcome[number] && !s->seen[i][number];
    if (!s->may_lose)
        assert_int_equal(missing, 0);
    tkl_close(s->publisher);
    tkl_close(s->reader);
    free(s->outcome);
    for (int i = 0; i < FOLLOWERS; i++)
        free(s->seen[i]);
}

static void cut_connections_lose_and_repeat_nothing(void **state)
{
    server *srv = server_start(NULL);
    proxy *p = proxy_start(srv->socket);
    scene s;
    (void)state;
    scene_begin(&s, proxy_url(p), proxy_url(p));
    for (int i = 0; i < 12; i++) {
        go_on(&s, 10);
        if (i % 3 == 0)
            proxy_cut(p);
        else
            proxy_cut_after(p, i % 3 == 1 ? TO_CLIENT : TO_SERVER, 50 + 37 * i);
    }
    go_on(&s, 10);
    scene_end(&s);
    proxy_end(p);
    server_end(srv);
}

static void a_restart_with_all_data_loses_nothing(void **state)
{
    static const char *const config[] = {"appendonly yes", "appendfsync always", NULL};
    server *srv = server_start(&(server_options){.config = config});
    scene s;
    (void)state;
    scene_begin(&s, srv->url, srv->url);
    go_on(&s, 20);
    server_restart(srv);
    go_on(&s, 20);
    server_freeze(srv);
    test_sleep_ms(300);
    server_thaw(srv);
    go_on(&s, 20);
    scene_end(&s);
    server_end(srv);
}

static void a_restart_without_data_is_noticed(void **state)
{
    server *srv = server_start(NULL);
    scene s;
    (void)state;
    scene_begin(&s, srv->url, srv->url);
    go_on(&s, 20);
    s.may_lose = true;
    server_restart(srv);
    go_on(&s, 20);
    eventually(s.resets >= FOLLOWERS, PATIENCE_MS);
    scene_end(&s);
    server_end(srv);
}

static void the_clock_of_the_server_may_jump(void **state)
{
    timed_server *t = timed_start(NULL);
    scene s;
    (void)state;
    scene_begin(&s, t->server->url, t->server->url);
    go_on(&s, 20);
    timed_shift(t, -HOUR_MS);
    go_on(&s, 20);
    timed_shift(t, 2 * HOUR_MS);
    go_on(&s, 20);
    scene_end(&s);
    timed_end(t);
}

static void a_cluster_fails_over(void **state)
{
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    int slot = (int)call_int(client, "CLUSTER", "KEYSLOT", "tackle:channel:{news}", NULL);
    scene s;
    (void)state;
    scene_begin(&s, c->url, c->url);
    go_on(&s, 20);
    cluster_fail_over(c, slot);
    go_on(&s, 20);
    s.may_lose = true;
    server_kill(cluster_owner(c, slot));
    go_on(&s, 20);
    cluster_heal(c);
    go_on(&s, 20);
    scene_end(&s);
    tkl_close(client);
    cluster_end(c);
}

static void sentinels_choose_another_master(void **state)
{
    sentinels *trio = sentinels_start();
    scene s;
    (void)state;
    scene_begin(&s, trio->url, trio->url);
    go_on(&s, 20);
    s.may_lose = true;
    server *old = sentinels_master(trio);
    server_kill(old);
    sentinels_await_other(trio, old);
    go_on(&s, 20);
    scene_end(&s);
    sentinels_end(trio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cut_connections_lose_and_repeat_nothing),
        cmocka_unit_test(a_restart_with_all_data_loses_nothing),
        cmocka_unit_test(a_restart_without_data_is_noticed),
        cmocka_unit_test(the_clock_of_the_server_may_jump),
        cmocka_unit_test(a_cluster_fails_over),
        cmocka_unit_test(sentinels_choose_another_master),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
