/* SPDX-License-Identifier: MIT
 *
 * Files on a server that evicts keys: lost files are reported, and the others arrive.
 */
#include <tackle/files.h>

#include <signal.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/process.h"
#include "support/transfer.h"

#define KB 1024

typedef struct shipment {
    const char *url;
    transfer p;
    char *paths[4]; /* the last one travels in chunks */
    int64_t wait_ms;
} shipment;

static void pack(shipment *s, fixture *f)
{
    *s = (shipment){.url = f->server->url};
    transfer_make(&s->p);
    for (int i = 0; i < 4; i++) {
        char *name = test_format("src/%d", i);
        s->paths[i] = transfer_file(&s->p, name, i < 3 ? 100 : 600 * KB, (unsigned)i + 1);
        free(name);
    }
}

static void unpack(shipment *s)
{
    for (int i = 0; i < 4; i++)
        free(s->paths[i]);
}

static tkl_files *open_channel(tkl_client *client)
{
    tkl_files *files;
    assert_ok(tkl_files_open(client, tkl_str("logs"), NULL, &files));
    return files;
}

static int ship(tkl_client *client, const shipment *s)
{
    const tkl_bytes to[] = {TKL_LIT("a"), TKL_LIT("b")};
    tkl_files_source sources[4] = {{0}};
    tkl_files_send_options options = {.wait_ms = s->wait_ms};
    for (int i = 0; i < 4; i++)
        sources[i].path = s->paths[i];
    tkl_files *files = open_channel(client);
    int rc = tkl_files_send(files, to, 2, sources, 4, &options, NULL);
    tkl_files_close(files);
    return rc;
}

static int ship_in_child(void *arg)
{
    tkl_client *client;
    const shipment *s = arg;
    return tkl_open(s->url, NULL, &client) == TKL_OK ? ship(client, s) : 99;
}

/* The token of the second file. */
static char *second(fixture *f)
{
    char *token = server_ask(f->server, "ZRANGE tackle:files:{logs}:files 1 1");
    token[strcspn(token, "\n")] = '\0';
    return token;
}

static int receive(fixture *f, const shipment *s, const char *as, tkl_files_totals *totals)
{
    tkl_files *files = open_channel(f->client);
    int rc = transfer_receive(files, &s->p, as, totals);
    tkl_files_close(files);
    return rc;
}

static void expect_clean(fixture *f)
{
    char *keys = server_ask(f->server, "KEYS *");
    assert_lacks(keys, ":at");
    assert_lacks(keys, "}:files");
    free(keys);
}

/* Keys of one file: its record, who lacks it, both. */
static void a_file_that_was_evicted_is_reported_by_each_receiver(void **state)
{
    static const char *const evicted[][2] = {
        {"DEL tackle:files:{logs}:file:%s"},
        {"DEL tackle:files:{logs}:file:%s:at"},
        {"DEL tackle:files:{logs}:file:%s", "DEL tackle:files:{logs}:file:%s:at"},
    };
    fixture *f = *state;
    for (size_t i = 0; i < sizeof evicted / sizeof *evicted; i++) {
        shipment s;
        tkl_files_totals totals;
        pack(&s, f);
        assert_ok(ship(f->client, &s));
        char *token = second(f);
        for (int j = 0; j < 2 && evicted[i][j]; j++)
            server_do(f->server, evicted[i][j], token);
        for (const char *const *as = (const char *const[]){"a", "b", NULL}; *as; as++) {
            assert_code(receive(f, &s, *as, &totals), TKL_EDAMAGED);
            assert_contains(tkl_errmsg(), "the server has lost it");
            assert_int_equal(totals.files, 3);
            assert_int_equal(totals.failed, 1);
            assert_code(receive(f, &s, *as, &totals), TKL_EMPTY);
        }
        expect_clean(f);
        assert_int_equal(server_ask_int(f->server, "HGET tackle:files:{logs} held"), 0);
        free(token);
        unpack(&s);
    }
}

/* Keys of the channel: they are made again, or done without. */
static void files_arrive_without_a_key_of_the_channel(void **state)
{
    static const char *const keys[] = {"", ":files", ":ends", ":bytes", ":receivers", ":holders"};
    fixture *f = *state;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        shipment s;
        tkl_files_totals totals;
        pack(&s, f);
        assert_ok(ship(f->client, &s));
        server_do(f->server, "DEL tackle:files:{logs}%s", keys[i]);
        for (int round = 0; round < 2; round++) {
            assert_ok(receive(f, &s, "a", &totals));
            assert_int_equal(totals.files, 4);
            assert_ok(receive(f, &s, "b", &totals));
            assert_int_equal(totals.files, 4);
            expect_clean(f);
            assert_ok(ship(f->client, &s));
        }
        assert_ok(receive(f, &s, "a", NULL));
        assert_ok(receive(f, &s, "b", NULL));
        unpack(&s);
    }
}

/* More files than are listed again in one request. */
static void a_long_list_is_made_again(void **state)
{
    enum { FILES = 700 };
    fixture *f = *state;
    transfer p;
    tkl_files_totals totals;
    const tkl_bytes to[] = {TKL_LIT("a")};
    static tkl_files_source sources[FILES];
    transfer_make(&p);
    for (int i = 0; i < FILES; i++) {
        char *name = test_format("src/%d", i);
        sources[i] = (tkl_files_source){.path = transfer_file(&p, name, 20, (unsigned)i)};
        free(name);
    }
    tkl_files *files = open_channel(f->client);
    assert_ok(tkl_files_send(files, to, 1, sources, FILES, NULL, NULL));
    server_do(f->server, "DEL tackle:files:{logs}:files");
    assert_ok(transfer_receive(files, &p, "a", &totals));
    assert_int_equal(totals.files, FILES);
    for (int i = 0; i < FILES; i++)
        free((char *)(uintptr_t)sources[i].path);
    tkl_files_close(files);
}

static void a_sender_that_waits_hears_of_it(void **state)
{
    fixture *f = *state;
    shipment s;
    tkl_files_totals totals;
    pack(&s, f);
    s.wait_ms = 60000;
    pid_t sender = process_fork(ship_in_child, &s);
    eventually(server_ask_int(f->server, "ZCARD tackle:files:{logs}:files") == 4 &&
                   server_ask_int(f->server, "EXISTS tackle:files:{logs}:resume") == 0,
               30000);
    char *token = second(f);
    server_do(f->server, "DEL tackle:files:{logs}:file:%s", token);
    assert_code(receive(f, &s, "a", &totals), TKL_EDAMAGED);
    assert_code(receive(f, &s, "b", &totals), TKL_EDAMAGED);
    assert_int_equal(process_wait(sender), TKL_DEAD);
    free(token);
    unpack(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_that_was_evicted_is_reported_by_each_receiver),
        TEST(files_arrive_without_a_key_of_the_channel),
        TEST(a_long_list_is_made_again),
        TEST(a_sender_that_waits_hears_of_it),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
