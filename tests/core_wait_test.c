/* SPDX-License-Identifier: MIT
 *
 * Waiting: many waiters over one connection, each hears what is meant for it, and an end of the
 * connection is told to all.
 *
 * ctest: label threads
 */
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/wait.h"
#include "support/certs.h"
#include "support/fixture.h"
#include "support/proxy.h"

static int64_t in(int64_t ms)
{
    return tkl__deadline_ms(ms);
}

static void listen_to(tkl_client *client, const char *channel, const char *id, tkl__waiter *waiter)
{
    assert_ok(tkl__listen(client, tkl_str(channel), tkl_str(id), in(20000), waiter));
}

static void assert_event(tkl__event got, tkl__event expected)
{
    static const char *const names[] = {"MESSAGE", "LOOK", "CUT", "TIME_UP", "INTERRUPTED"};
    if (got != expected)
        fail_msg("expected %s, got %s", names[expected], names[got]);
}

static void assert_hears(tkl__waiter *waiter, const char *expected)
{
    tkl_bytes message;
    assert_event(tkl__await(waiter, in(20000), &message), TKL__MESSAGE);
    assert_int_equal(message.len, strlen(expected));
    assert_memory_equal(message.data, expected, message.len);
}

static void assert_hears_nothing(tkl__waiter *waiter, int64_t ms)
{
    tkl_bytes message;
    assert_event(tkl__await(waiter, in(ms), &message), TKL__TIME_UP);
}

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
    assert_event(tkl__await(&waiter, in(20000), &message), TKL__MESSAGE);
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
    tkl__look_at(&waiter, in(100));
    tkl_bytes message;
    assert_event(tkl__await(&waiter, in(20000), &message), TKL__LOOK);
    assert_true(test_now_ms() - start >= 99);
    assert_hears_nothing(&waiter, 50);
    tkl__unlisten(&waiter);
}

/* ---- Many waiters -------------------------------------------------------- */

typedef struct hall {
    tkl_client *client;
    atomic_int listening, heard, looked, cut;
    int64_t patience_ms; /* of count_events() */
} hall;

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
        w->event = tkl__await_any(places, 3, w->bell, in(20000), &w->which, &message);
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

/* Whoever reads, reads for all: those at one place and those at several. */
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

static void count_events(void *arg, int index)
{
    (void)index;
    hall *h = arg;
    tkl__waiter waiter;
    listen_to(h->client, "channel", "nobody:", &waiter);
    if (atomic_fetch_add(&h->listening, 1) == 0)
        tkl__look_at(&waiter, in(300));
    tkl_bytes message;
    tkl__event event = tkl__await(&waiter, in(h->patience_ms), &message);
    if (event == TKL__LOOK)
        tkl__look_at(&waiter, TKL__FOREVER);
    atomic_fetch_add(&h->looked, event == TKL__LOOK);
    atomic_fetch_add(&h->cut, event == TKL__CUT);
    tkl__unlisten(&waiter);
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
    assert_event(tkl__await(&waiter, in(20000), &message), TKL__LOOK);
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
    tkl__look_at(&first, in(0));
    assert_event(tkl__await(&first, in(20000), &message), TKL__LOOK);
    crew *others = crew_start(2, look_once, &h);
    eventually(atomic_load(&h.listening) == 2, 20000);
    test_sleep_ms(100);
    tkl__look_at(&first, in(50));
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
    tkl__look_at(&first, in(0));
    assert_event(tkl__await(&first, in(20000), &message), TKL__LOOK);
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
    assert_code(tkl__listen(client, tkl_str("closed"), tkl_str(""), in(5000), &refused), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "NOPERM");
    tkl__unlisten(&refused);
    server_do(s, "SPUBLISH open sesame");
    assert_hears(&waiter, "sesame");
    tkl__unlisten(&waiter);
    tkl_close(client);
    server_end(s);
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

/* Whoever waits for a confirmation may have to read for all; refused or too late, it passes that
 * task on. */
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
    int code = tkl__listen(client, tkl_str("another"), tkl_str(""), in(400), &late);
    assert_int_not_equal(code, TKL_OK);
    proxy_hold(p, TO_CLIENT, false);
    crew_join(reader);
    server_do(f->server, "SPUBLISH open sesame");
    crew_join(sleeper);
    tkl_close(client);
    proxy_end(p);
}

/* ---- Ends of the connection ---------------------------------------------- */

static void a_cut_is_told_to_all(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    hall h = {.client = test_open(proxy_url(p), NULL), .patience_ms = 20000};
    crew *threads = crew_start(10, count_events, &h);
    eventually(atomic_load(&h.listening) == 10, 20000);
    proxy_cut(p);
    crew_join(threads);
    assert_int_equal(atomic_load(&h.cut) + atomic_load(&h.looked), 10);
    assert_true(atomic_load(&h.cut) >= 9); /* one may have looked before */
    tkl_close(h.client);
    proxy_end(p);
}

static void after_a_cut_listening_works_again(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    for (int i = 0; i < 3; i++) {
        server_do(f->server, "CLIENT KILL TYPE pubsub");
        tkl_bytes message;
        assert_event(tkl__await(&waiter, in(20000), &message), TKL__CUT);
        tkl__unlisten(&waiter);
        listen_to(f->client, "channel", "", &waiter);
        server_do(f->server, "SPUBLISH channel hello-again");
        assert_hears(&waiter, "hello-again");
    }
    tkl__unlisten(&waiter);
}

static void a_restart_is_a_cut(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl__waiter waiter;
    listen_to(client, "channel", "", &waiter);
    server_restart(s);
    tkl_bytes message;
    assert_event(tkl__await(&waiter, in(20000), &message), TKL__CUT);
    tkl__unlisten(&waiter);
    listen_to(client, "channel", "", &waiter);
    server_do(s, "SPUBLISH channel hello-again");
    assert_hears(&waiter, "hello-again");
    tkl__unlisten(&waiter);
    tkl_close(client);
    server_end(s);
}

static void a_frozen_server_does_not_hold_up_listening(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    server_freeze(f->server);
    int64_t start = test_now_ms();
    int code = tkl__listen(f->client, tkl_str("channel"), tkl_str(""), in(200), &waiter);
    int64_t took = test_now_ms() - start;
    server_thaw(f->server);
    assert_true(code == TKL_ENOTSENT || code == TKL_ETIMEOUT);
    assert_in_range(took, 190, 10000);
    tkl__unlisten(&waiter);
    listen_to(f->client, "channel", "", &waiter);
    server_do(f->server, "SPUBLISH channel hello");
    assert_hears(&waiter, "hello");
    tkl__unlisten(&waiter);
}

/* ---- The heartbeat ------------------------------------------------------- */

static void a_server_that_hangs_is_a_cut(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 50000;
    hall h = {.client = f->client, .patience_ms = 20000};
    crew *threads = crew_start(5, count_events, &h);
    eventually(atomic_load(&h.listening) == 5, 20000);
    server_freeze(f->server);
    crew_join(threads);
    server_thaw(f->server);
    assert_true(atomic_load(&h.cut) >= 4); /* one may have looked before */
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    server_do(f->server, "SPUBLISH channel hello");
    assert_hears(&waiter, "hello");
    tkl__unlisten(&waiter);
}

static void a_server_that_hangs_is_a_cut_at_several_places_too(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 50000;
    tkl__waiter waiters[2], *places[] = {&waiters[0], &waiters[1]};
    tkl_bytes message;
    size_t which;
    int bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listen_to(f->client, "here", "", &waiters[0]);
    listen_to(f->client, "there", "", &waiters[1]);
    server_freeze(f->server);
    tkl__event event = tkl__await_any(places, 2, bell, in(20000), &which, &message);
    server_thaw(f->server);
    assert_event(event, TKL__CUT);
    tkl__unlisten(&waiters[0]);
    tkl__unlisten(&waiters[1]);
    close(bell);
}

/* However many waiters there are. */
static void the_heart_beats_once_for_all_waiters(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 500000;
    hall h = {.client = f->client, .patience_ms = 1700};
    int64_t before = server_calls(f->server, "ping");
    crew_run(10, count_events, &h);
    int64_t pings = server_calls(f->server, "ping") - before;
    assert_in_range(pings, 1, 8);
    assert_int_equal(atomic_load(&h.cut), 0);
    test_sleep_ms(600); /* nobody waits: nobody asks */
    assert_int_equal(server_calls(f->server, "ping") - before, pings);
}

static void messages_save_the_heartbeat(void **state)
{
    fixture *f = *state;
    f->client->heartbeat_us = 200000;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    int64_t before = server_calls(f->server, "ping"), start = test_now_ms();
    bool on_time = true;
    for (int i = 0; i < 10; i++) {
        test_sleep_ms(40);
        server_do(f->server, "SPUBLISH channel hello");
        assert_hears(&waiter, "hello");
        on_time &= test_now_ms() - start < 150;
        start = test_now_ms();
    }
    if (on_time) /* a busy machine may be late */
        assert_int_equal(server_calls(f->server, "ping"), before);
    tkl__unlisten(&waiter);
}

static void a_user_who_may_not_ping_is_not_cut(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"user ali on >pw ~* &* +@all -ping", NULL},
    });
    tkl_client *client = test_open(s->url, &(tkl_options){.username = "ali", .password = "pw"});
    client->heartbeat_us = 500000;
    tkl__waiter waiter, other;
    listen_to(client, "channel", "", &waiter);
    assert_hears_nothing(&waiter, 1200);
    listen_to(client, "another", "", &other); /* its answer is not taken for another's */
    server_do(s, "SPUBLISH channel hello");
    assert_hears(&waiter, "hello");
    tkl__unlisten(&waiter);
    tkl__unlisten(&other);
    tkl_close(client);
    server_end(s);
}

static void a_forked_child_listens_for_itself(void **state)
{
    fixture *f = *state;
    tkl__waiter waiter;
    listen_to(f->client, "channel", "", &waiter);
    pid_t child = fork();
    if (child == 0) {
        tkl__waiter own;
        tkl_bytes message;
        bool heard =
            tkl__listen(f->client, tkl_str("for-child"), tkl_str(""), in(20000), &own) == TKL_OK &&
            tkl__await(&own, in(20000), &message) == TKL__MESSAGE && message.len == 5;
        _exit(heard ? 0 : 1);
    }
    int status = -1; /* what is published before tkl__listen() has returned may be missed */
    eventually((server_do(f->server, "SPUBLISH for-child hello"),
                waitpid(child, &status, WNOHANG) == child),
               30000);
    assert_int_equal(status, 0);
    server_do(f->server, "SPUBLISH channel parent");
    assert_hears(&waiter, "parent");
    tkl__unlisten(&waiter);
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
        TEST(one_of_many_is_told_to_look),
        TEST(a_look_asked_for_by_one_who_left_is_done_by_another),
        TEST(who_looks_and_leaves_without_a_word_is_replaced),
        TEST(a_subscription_is_kept_for_the_next),
        TEST(subscriptions_do_not_pile_up),
        TEST(a_refused_subscription_is_told_and_spoils_no_other),
        TEST(a_failed_subscription_passes_the_reading_on),
        TEST(a_cut_is_told_to_all),
        TEST(after_a_cut_listening_works_again),
        TEST(a_restart_is_a_cut),
        TEST(a_frozen_server_does_not_hold_up_listening),
        TEST(a_server_that_hangs_is_a_cut),
        TEST(a_server_that_hangs_is_a_cut_at_several_places_too),
        TEST(the_heart_beats_once_for_all_waiters),
        TEST(messages_save_the_heartbeat),
        TEST(a_user_who_may_not_ping_is_not_cut),
        TEST(a_forked_child_listens_for_itself),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
