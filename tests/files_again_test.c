/* SPDX-License-Identifier: MIT
 *
 * A sender of many files that was interrupted and is called again: it sends no file twice.
 */
#include <tackle/files.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/process.h"
#include "support/transfer.h"

#define KB    1024
#define FILES 40 /* every eighth is large */

typedef struct shipment {
    const char *url;
    char *paths[FILES];
    tkl_files_options options;
    int64_t wait_ms;
    int resumed;
    transfer p;
} shipment;

static void pack(shipment *s, fixture *f)
{
    *s = (shipment){.url = f->server->url, .options = {.max_bytes = 512 * KB}};
    transfer_make(&s->p);
    for (int i = 0; i < FILES; i++) {
        char *name = test_format("src/%02d", i);
        s->paths[i] = transfer_file(&s->p, name, i % 8 == 7 ? 300 * KB : 10 + 50 * (size_t)i,
                                    (unsigned)i + 1);
        free(name);
    }
}

static void unpack(shipment *s)
{
    for (int i = 0; i < FILES; i++)
        free(s->paths[i]);
}

static void count_resumed(const tkl_files_outcome *outcome, void *arg)
{
    shipment *s = arg;
    s->resumed += outcome->resumed;
}

static int ship(tkl_client *client, shipment *s, tkl_files_totals *totals)
{
    const tkl_bytes to[] = {TKL_LIT("a"), TKL_LIT("b")};
    tkl_files_source sources[FILES] = {{0}};
    tkl_files_send_options options = {.wait_ms = s->wait_ms, .on_file = count_resumed, .arg = s};
    tkl_files *files;
    for (int i = 0; i < FILES; i++)
        sources[i].path = s->paths[i];
    int rc = tkl_files_open(client, tkl_str("logs"), &s->options, &files);
    s->resumed = 0;
    if (rc == TKL_OK)
        rc = tkl_files_send(files, to, 2, sources, FILES, &options, totals);
    tkl_files_close(files);
    return rc;
}

static int ship_in_child(void *arg)
{
    shipment *s = arg;
    tkl_client *client;
    return tkl_open(s->url, NULL, &client) == TKL_OK ? ship(client, s, NULL) : 99;
}

/* Received so far, and added to *total. */
static void receive(fixture *f, const shipment *s, const char *as, int64_t *total)
{
    tkl_files *files;
    tkl_files_totals totals;
    assert_ok(tkl_files_open(f->client, tkl_str("logs"), NULL, &files));
    int rc = transfer_receive(files, &s->p, as, &totals);
    assert_true(rc == TKL_OK || rc == TKL_EMPTY);
    *total += totals.files;
    tkl_files_close(files);
}

static int64_t there(fixture *f)
{
    return server_ask_int(f->server, "ZCARD tackle:files:{logs}:files");
}

static void kill_sender(fixture *f, shipment *s, int64_t files)
{
    pid_t child = process_fork(ship_in_child, s);
    eventually(there(f) >= files, 10000);
    kill(child, SIGKILL);
    process_wait(child);
}

static void expect_all(const shipment *s, const char *as)
{
    for (int i = 0; i < FILES; i++) {
        char *name = test_format("%s/%02d", as, i), *path = transfer_path(&s->p, name);
        if (!transfer_same(path, s->paths[i]))
            fail_msg("%s differs", path);
        free(name);
        free(path);
    }
}

static void expect_nothing_remembered(fixture *f)
{
    char *keys = server_ask(f->server, "KEYS *");
    assert_lacks(keys, ":sent:");
    assert_lacks(keys, ":resume");
    assert_lacks(keys, ":file:");
    free(keys);
}

static void a_killed_sender_of_many_files_sends_each_once(void **state)
{
    fixture *f = *state;
    shipment s;
    tkl_files_totals totals;
    int64_t a = 0, b = 0;
    pack(&s, f);
    for (int kills = 0; kills < 3; kills++) {
        kill_sender(f, &s, 8); /* the channel is full now, or soon */
        receive(f, &s, "a", &a);
        receive(f, &s, "b", &b);
    }
    assert_true(a >= 16);
    s.options.max_bytes = 64 * 1024 * KB;
    assert_ok(ship(f->client, &s, &totals));
    assert_int_equal(totals.files, FILES);
    assert_true(s.resumed >= a);
    receive(f, &s, "a", &a);
    receive(f, &s, "b", &b);
    assert_int_equal(a, FILES);
    assert_int_equal(b, FILES);
    expect_all(&s, "a");
    expect_all(&s, "b");
    expect_nothing_remembered(f);
    unpack(&s);
}

static void a_call_that_was_done_sends_everything_again(void **state)
{
    fixture *f = *state;
    shipment s;
    int64_t a = 0;
    pack(&s, f);
    s.options.max_bytes = 64 * 1024 * KB;
    for (int i = 1; i <= 2; i++) {
        assert_ok(ship(f->client, &s, NULL));
        assert_int_equal(s.resumed, 0);
        receive(f, &s, "a", &a);
        assert_int_equal(a, i * FILES);
    }
    unpack(&s);
}

static void what_has_changed_since_is_sent_again(void **state)
{
    fixture *f = *state;
    shipment s;
    int64_t a = 0;
    pack(&s, f);
    kill_sender(f, &s, 8);
    receive(f, &s, "a", &a);
    int fd = open(s.paths[2], O_WRONLY | O_APPEND);
    assert_int_equal(write(fd, "x", 1), 1);
    close(fd);
    s.options.max_bytes = 64 * 1024 * KB;
    assert_ok(ship(f->client, &s, NULL));
    receive(f, &s, "a", &a);
    assert_int_equal(a, FILES + 1);
    expect_all(&s, "a");
    unpack(&s);
}

static void a_wait_that_was_interrupted_goes_on(void **state)
{
    fixture *f = *state;
    shipment s;
    int64_t a = 0, b = 0;
    pack(&s, f);
    s.options.max_bytes = 64 * 1024 * KB;
    s.wait_ms = 20;
    assert_code(ship(f->client, &s, NULL), TKL_BUSY);
    receive(f, &s, "a", &a);
    assert_code(ship(f->client, &s, NULL), TKL_BUSY);
    assert_int_equal(s.resumed, FILES);
    receive(f, &s, "a", &a);
    receive(f, &s, "b", &b);
    assert_int_equal(a, FILES);
    assert_int_equal(b, FILES);
    assert_ok(ship(f->client, &s, NULL));
    expect_nothing_remembered(f);
    unpack(&s);
}

/* The server remembers sent files while the sender waits for room, and forgets them when it is
 * gone. */
static void what_was_sent_is_remembered_for_a_while(void **state)
{
    fixture *f = *state;
    shipment s;
    int64_t a = 0;
    pack(&s, f);
    s.options.lease_ms = 300;
    s.options.resume_ms = 300;
    pid_t child = process_fork(ship_in_child, &s);
    eventually(there(f) >= 8, 10000);
    test_sleep_ms(1500);
    char *keys = server_ask(f->server, "KEYS *:sent:*");
    assert_contains(keys, ":sent:");
    free(keys);
    kill(child, SIGKILL);
    process_wait(child);
    test_sleep_ms(700);
    s.options.max_bytes = 64 * 1024 * KB;
    assert_ok(ship(f->client, &s, NULL));
    assert_in_range(s.resumed, 0, 1); /* the one that was under way is there until it is removed */
    receive(f, &s, "a", &a);
    assert_true(a > FILES);
    expect_all(&s, "a");
    unpack(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_killed_sender_of_many_files_sends_each_once),
        TEST(a_call_that_was_done_sends_everything_again),
        TEST(what_has_changed_since_is_sent_again),
        TEST(a_wait_that_was_interrupted_goes_on),
        TEST(what_was_sent_is_remembered_for_a_while),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
