/* SPDX-License-Identifier: MIT
 *
 * Waiting: many waiters over one connection, each of which hears its own messages.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "support/certs.h"
#include "support/fixture.h"
#include "support/listeners.h"
#include "support/proxy.h"

/* ---- Messages ------------------------------------------------------------ */

static void a_message_is_heard_without_its_id(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "me:", &waiter);
    server_do(f->server, "SPUBLISH channel me:hello");
    assert_hears(&waiter, "hello");
    tkl__unlisten(&waiter);
}

static void messages_wait_for_their_reader_in_order(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "me:", &waiter);
    for (int i = 0; i < 100; i++)
        server_do(f->server, "SPUBLISH channel me:%d", i);
    for (int i = 0; i < 100; i++) {
        char *number = test_format("%d", i);
        assert_hears(&waiter, number);
        free(number);
    }
    tkl__unlisten(&waiter);
}

static void messages_for_others_are_not_heard(void **state)
{
    fixture *f = *state;
    tkl__waiter me, you;
    listen_to(f->client, "channel", "me:", &me);
    listen_to(f->client, "channel", "you:", &you);
    server_do(f->server, "SPUBLISH channel you:psst");
    server_do(f->server, "SPUBLISH channel nobody:psst");
    server_do(f->server, "SPUBLISH another me:psst");
    assert_hears_nothing(&me, 100);
    assert_hears(&you, "psst");
    assert_hears_nothing(&you, 50);
    tkl__unlisten(&me);
    tkl__unlisten(&you);
}

static void an_empty_id_hears_everything(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    server_do(f->server, "SPUBLISH channel %b", "a\0b", (size_t)3);
    tkl_bytes message;
    assert_event(tkl__await(&waiter, ms_from_now(20000), &message), TKL__MESSAGE);
    assert_int_equal(message.len, 3);
    assert_memory_equal(message.data, "a\0b", 3);
    server_do(f->server, "SPUBLISH channel %b", "", (size_t)0);
    assert_hears(&waiter, "");
    tkl__unlisten(&waiter);
}

static void hear_a_large_message(server *s, tkl_client *client)
{
    const size_t size = 300000;
    char *text = calloc(1, size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    tkl__waiter waiter;
    listen_to(client, "channel", "", &waiter);
    for (int i = 0; i < 3; i++)
        server_do(s, "SPUBLISH channel %s", text);
    for (int i = 0; i < 3; i++)
        assert_hears(&waiter, text);
    tkl__unlisten(&waiter);
    free(text);
}

static void a_large_message_is_heard(void **state)
{
    fixture *f = *state;
    hear_a_large_message(f->server, f->client);
}

static void a_large_message_is_heard_over_tls(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.tls = true});
    tkl_client *client = test_open(s->tls_url, &(tkl_options){.tls_ca_file = certs_get()->ca});
    hear_a_large_message(s, client);
    tkl_close(client);
    server_end(s);
}

/* ---- Time ---------------------------------------------------------------- */

static void the_deadline_is_kept(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    int64_t start = test_now_ms();
    assert_hears_nothing(&waiter, 100);
    assert_true(test_now_ms() - start >= 99);
    tkl__unlisten(&waiter);
}

static void waiting_sends_nothing(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    int64_t before = server_commands(f->server);
    assert_hears_nothing(&waiter, 300);
    assert_int_equal(server_commands(f->server), before);
    tkl__unlisten(&waiter);
}

static void a_look_comes_at_its_time(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    int64_t start = test_now_ms();
    tkl__look_at(&waiter, ms_from_now(100));
    tkl_bytes message;
    assert_event(tkl__await(&waiter, ms_from_now(20000), &message), TKL__LOOK);
    assert_true(test_now_ms() - start >= 99);
    assert_hears_nothing(&waiter, 50);
    tkl__unlisten(&waiter);
}

/* ---- Many waiters -------------------------------------------------------- */

/* Listens under an id of its own, on one of 16 channels, and hears one message. */
static void wait_in_hall(void *arg, int index)
{
    hall *h = arg;
    char channel[32], id[32];
    snprintf(channel, sizeof(channel), "channel-%d", index % 16);
    snprintf(id, sizeof(id), "%d:", index);
    tkl__waiter waiter;
    listen_to(h->client, channel, id, &waiter);
    atomic_fetch_add(&h->listening, 1);
    assert_hears(&waiter, id);
    atomic_fetch_add(&h->heard, 1);
    tkl__unlisten(&waiter);
}

static void many_waiters_share_one_connection(void **state)
{
    fixture *f = *state;
    hall h = {.client = f->client};
    crew *threads = crew_start(200, wait_in_hall, &h);
    eventually(atomic_load(&h.listening) == 200, 20000);
    assert_int_equal(server_connections(f->server, NULL), 1);
    for (int i = 0; i < 200; i++) /* the id, and the message is the id again */
        server_do(f->server, "SPUBLISH channel-%d %d:%d:", i % 16, i, i);
    crew_join(threads);
    assert_int_equal(atomic_load(&h.heard), 200);
}

static void wait_briefly(void *arg, int index)
{
    (void)index;
    tkl__waiter waiter;
    listen_to(arg, "channel", "nobody:", &waiter);
    assert_hears_nothing(&waiter, 100);
    tkl__unlisten(&waiter);
}

static void who_leaves_passes_the_reading_on(void **state)
{
    fixture *f = *state;
    crew *first = crew_start(1, wait_briefly, f->client); /* reads for all, for a while */
    test_sleep_ms(30);
    hall h = {.client = f->client};
    crew *others = crew_start(3, wait_in_hall, &h);
    eventually(atomic_load(&h.listening) == 3, 20000);
    crew_join(first);
    for (int i = 0; i < 3; i++)
        server_do(f->server, "SPUBLISH channel-%d %d:%d:", i, i, i);
    crew_join(others);
    assert_int_equal(atomic_load(&h.heard), 3);
}

/* Waits at three channels at once, for the bell or a message at the last. */
typedef struct wanderer {
    tkl_client *client;
    int bell;
    atomic_bool settled, called;
    tkl__event event;
    size_t which;
    char heard[8];
} wanderer;

static void wait_here_and_there(void *arg, int index)
{
    (void)index;
    wanderer *w = arg;
    tkl__waiter waiters[3], *places[3];
    tkl_bytes message = {"", 0};
    for (int i = 0; i < 3; i++) {
        char channel[32];
        snprintf(channel, sizeof channel, "channel-%d", i);
        places[i] = &waiters[i];
        listen_to(w->client, channel, "w:", &waiters[i]);
    }
    atomic_store(&w->settled, true);
    do /* it may be rung for because it could read now */
        w->event =
            tkl__await_any(w->client, places, 3, w->bell, ms_from_now(20000), &w->which, &message);
    while (w->event == TKL__TIME_UP && !atomic_load(&w->called));
    snprintf(w->heard, sizeof w->heard, "%.*s", (int)message.len, message.data);
    for (int i = 0; i < 3; i++)
        tkl__unlisten(&waiters[i]);
}

static void one_waits_at_several_places(void **state)
{
    fixture *f = *state;
    wanderer w = {.client = f->client, .bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    for (int i = 0; i < 3; i++) {
        atomic_store(&w.settled, false);
        crew *thread = crew_start(1, wait_here_and_there, &w);
        eventually(atomic_load(&w.settled), 20000);
        server_do(f->server, "SPUBLISH channel-%d w:%d", i, i);
        crew_join(thread);
        assert_event(w.event, TKL__MESSAGE);
        assert_int_equal(w.which, i);
        assert_int_equal(atoi(w.heard), i);
    }
    atomic_store(&w.settled, false);
    crew *thread = crew_start(1, wait_here_and_there, &w);
    eventually(atomic_load(&w.settled), 20000);
    atomic_store(&w.called, true);
    eventfd_write(w.bell, 1);
    crew_join(thread);
    assert_event(w.event, TKL__TIME_UP);
    assert_int_equal(w.which, 3);
    close(w.bell);
}

/* The reading thread reads for all waiters: at one place and at several. */
static void those_at_one_place_and_at_several_read_for_each_other(void **state)
{
    fixture *f = *state;
    for (int first = 0; first < 2; first++) {
        wanderer w = {.client = f->client, .bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
        hall h = {.client = f->client};
        crew *apart = first == 0 ? crew_start(1, wait_here_and_there, &w) : NULL;
        eventually(first == 1 || atomic_load(&w.settled), 20000);
        crew *others = crew_start(3, wait_in_hall, &h);
        eventually(atomic_load(&h.listening) == 3, 20000);
        if (!apart)
            apart = crew_start(1, wait_here_and_there, &w);
        eventually(atomic_load(&w.settled), 20000);
        server_do(f->server, "SPUBLISH channel-1 1:1:");
        eventually(atomic_load(&h.heard) == 1, 20000);
        server_do(f->server, "SPUBLISH channel-2 w:2");
        crew_join(apart);
        assert_int_equal(atoi(w.heard), 2);
        server_do(f->server, "SPUBLISH channel-0 0:0:");
        server_do(f->server, "SPUBLISH channel-2 2:2:");
        crew_join(others);
        assert_int_equal(atomic_load(&h.heard), 3);
        assert_int_equal(server_connections(f->server, NULL), 1);
        close(w.bell);
    }
}

static void who_does_not_listen_plans_no_look(void **state)
{
    (void)state;
    tkl__waiter away = {0};
    tkl__look_at(&away, tkl__now());
    tkl__look_between(&away, 0, tkl__now());
    assert_null(away.hub);
}

static void one_of_many_is_told_to_look(void **state)
{
    fixture *f = *state;
    hall h = {.client = f->client, .patience_ms = 1500};
    crew_run(10, count_events, &h);
    assert_int_equal(atomic_load(&h.looked), 1);
}

static void look_once(void *arg, int index)
{
    (void)index;
    hall *h = arg;
    tkl__waiter waiter;
    tkl_bytes message;
    listen_to(h->client, "channel", "nobody:", &waiter);
    atomic_fetch_add(&h->listening, 1);
    assert_event(tkl__await(&waiter, ms_from_now(20000), &message), TKL__LOOK);
    atomic_fetch_add(&h->looked, 1);
    tkl__unlisten(&waiter);
}

/* Both sleep while the first looks, and know nothing of the time that it asks for afterwards. */
static void a_look_asked_for_by_one_who_left_is_done_by_another(void **state)
{
    fixture *f = *state;
    hall h = {.client = f->client};
    tkl__waiter first;
    tkl_bytes message;
    listen_to(f->client, "channel", "nobody:", &first);
    tkl__look_at(&first, ms_from_now(0));
    assert_event(tkl__await(&first, ms_from_now(20000), &message), TKL__LOOK);
    crew *others = crew_start(2, look_once, &h);
    eventually(atomic_load(&h.listening) == 2, 20000);
    test_sleep_ms(100);
    tkl__look_at(&first, ms_from_now(50));
    tkl__unlisten(&first);
    crew_join(others);
}

static void who_looks_and_leaves_without_a_word_is_replaced(void **state)
{
    fixture *f = *state;
    hall h = {.client = f->client};
    tkl__waiter first;
    tkl_bytes message;
    listen_to(f->client, "channel", "nobody:", &first);
    tkl__look_at(&first, ms_from_now(0));
    assert_event(tkl__await(&first, ms_from_now(20000), &message), TKL__LOOK);
    crew *other = crew_start(1, look_once, &h);
    eventually(atomic_load(&h.listening) == 1, 20000);
    tkl__unlisten(&first);
    crew_join(other);
}

/* ---- Subscriptions ------------------------------------------------------- */

static void a_subscription_is_kept_for_the_next(void **state)
{
    fixture *f = *state;
    assert_false(tkl__hears(f->client, tkl_str("channel")));
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    tkl__unlisten(&waiter);
    assert_true(tkl__hears(f->client, tkl_str("channel")));
    int64_t before = server_commands(f->server);
    listen_to(f->client, "channel", "", &waiter);
    assert_int_equal(server_commands(f->server), before);
    server_do(f->server, "SPUBLISH channel again");
    assert_hears(&waiter, "again");
    tkl__unlisten(&waiter);
}

static void subscriptions_do_not_pile_up(void **state)
{
    fixture *f = *state;
    for (int i = 0; i < 1000; i++) {
        char *channel = test_format("channel-%d", i);
        tkl__waiter waiter;
        listen_to(f->client, channel, "", &waiter);
        tkl__unlisten(&waiter);
        free(channel);
    }
    char *channels = server_ask(f->server, "PUBSUB SHARDCHANNELS");
    int count = 0;
    for (const char *c = channels; *c != '\0'; c++)
        count += *c == '\n';
    free(channels);
    assert_in_range(count, 1, 128);
}

static void a_refused_subscription_is_told_and_spoils_no_other(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"user ali on >pw ~* resetchannels &open* +@all", NULL},
    });
    tkl_client *client = test_open(s->url, &(tkl_options){.username = "ali", .password = "pw"});
    tkl__waiter waiter;
    listen_to(client, "open", "", &waiter);
    tkl__waiter refused;
    assert_code(tkl__listen(client, tkl_str("closed"), tkl_str(""), ms_from_now(5000), &refused),
                TKL_EAUTH);
    assert_contains(tkl_errmsg(), "NOPERM");
    tkl__unlisten(&refused);
    server_do(s, "SPUBLISH open sesame");
    assert_hears(&waiter, "sesame");
    tkl__unlisten(&waiter);
    tkl_close(client);
    server_end(s);
}

/* Listeners repeat a refused request once: the answer may be an old one. */
static void channels_asked_for_ahead_are_told_apart(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"user ali on >pw ~* resetchannels &open* +@all", NULL},
    });
    tkl_client *client = test_open(s->url, &(tkl_options){.username = "ali", .password = "pw"});
    const tkl_bytes channels[] = {tkl_str("open1"), tkl_str("closed"), tkl_str("open2")};
    tkl__waiter first, waiters[3];
    listen_to(client, "open", "", &first);
    int64_t asked = server_calls(s, "ssubscribe");
    tkl__listen_ahead(&first, channels, 3, ms_from_now(5000));
    listen_to(client, "open2", "", &waiters[2]);
    listen_to(client, "open1", "", &waiters[0]);
    assert_int_equal(server_calls(s, "ssubscribe"), asked + 2);
    assert_code(tkl__listen(client, channels[1], tkl_str(""), ms_from_now(5000), &waiters[1]),
                TKL_EAUTH);
    server_do(s, "ACL SETUSER ali &closed");
    listen_to(client, "closed", "", &waiters[1]);
    for (int i = 0; i < 3; i++) {
        server_do(s, "SPUBLISH %b hello", channels[i].data, channels[i].len);
        assert_hears(&waiters[i], "hello");
        tkl__unlisten(&waiters[i]);
    }
    tkl__unlisten(&first);
    tkl_close(client);
    server_end(s);
}

static void channels_asked_for_ahead_in_vain_are_left_again(void **state)
{
    enum { MANY = 500 };
    fixture *f = *state;
    tkl_bytes channels[MANY];
    tkl__waiter waiter;
    for (int i = 0; i < MANY; i++)
        channels[i] = tkl_str(test_format("c%d", i));
    listen_to(f->client, "one", "", &waiter);
    tkl__listen_ahead(&waiter, channels, MANY, ms_from_now(5000));
    tkl__unlisten(&waiter);
    listen_to(f->client, "two", "", &waiter); /* reads the answers */
    tkl__unlisten(&waiter);
    eventually(server_ask_int(f->server, "EVAL %s 0",
                              "return #redis.call('PUBSUB', 'SHARDCHANNELS', '*')") <= 65,
               30000);
    for (int i = 0; i < MANY; i++)
        free((char *)(uintptr_t)channels[i].data);
}

typedef struct listener {
    tkl_client *client;
    atomic_bool listens;
} listener;

static void hear_sesame(void *arg, int index)
{
    (void)index;
    listener *l = arg;
    tkl__waiter waiter;
    listen_to(l->client, "open", "", &waiter);
    atomic_store(&l->listens, true);
    assert_hears(&waiter, "sesame");
    tkl__unlisten(&waiter);
}

static void wait_a_while(void *arg, int index)
{
    (void)index;
    tkl__waiter waiter;
    listen_to(arg, "open", "nobody:", &waiter);
    assert_hears_nothing(&waiter, 200);
    tkl__unlisten(&waiter);
}

/* A thread that waits for a confirmation may have to read for all; refused or too late, it passes
 * that task on. */
static void a_failed_subscription_passes_the_reading_on(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    listener l = {.client = client};
    crew *reader = crew_start(1, wait_a_while, client);
    test_sleep_ms(50);
    crew *sleeper = crew_start(1, hear_sesame, &l);
    eventually(atomic_load(&l.listens), 20000);
    proxy_hold(p, TO_CLIENT, true);
    tkl__waiter late;
    int code = tkl__listen(client, tkl_str("another"), tkl_str(""), ms_from_now(400), &late);
    assert_int_not_equal(code, TKL_OK);
    proxy_hold(p, TO_CLIENT, false);
    crew_join(reader);
    server_do(f->server, "SPUBLISH open sesame");
    crew_join(sleeper);
    tkl_close(client);
    proxy_end(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_message_is_heard_without_its_id),
        TEST(messages_wait_for_their_reader_in_order),
        TEST(messages_for_others_are_not_heard),
        TEST(an_empty_id_hears_everything),
        TEST(a_large_message_is_heard),
        TEST(a_large_message_is_heard_over_tls),
        TEST(the_deadline_is_kept),
        TEST(waiting_sends_nothing),
        TEST(a_look_comes_at_its_time),
        TEST(many_waiters_share_one_connection),
        TEST(who_leaves_passes_the_reading_on),
        TEST(one_waits_at_several_places),
        TEST(those_at_one_place_and_at_several_read_for_each_other),
        TEST(who_does_not_listen_plans_no_look),
        TEST(one_of_many_is_told_to_look),
        TEST(a_look_asked_for_by_one_who_left_is_done_by_another),
        TEST(who_looks_and_leaves_without_a_word_is_replaced),
        TEST(a_subscription_is_kept_for_the_next),
        TEST(subscriptions_do_not_pile_up),
        TEST(a_refused_subscription_is_told_and_spoils_no_other),
        TEST(channels_asked_for_ahead_are_told_apart),
        TEST(channels_asked_for_ahead_in_vain_are_left_again),
        TEST(a_failed_subscription_passes_the_reading_on),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
