/* SPDX-License-Identifier: MIT
 *
 * Servers that mean harm: replies without end or without measure, maps of nonsense, circles, and
 * texts that are commands to a terminal. Whatever they send, a call ends in time, with an error.
 */
#include <stdatomic.h>
#include <sys/resource.h>
#include <tackle/ads.h>
#include <tackle/mail.h>

#include "core/buf.h"
#include "core/walk.h"
#include "support/call.h"
#include "support/fake.h"

/* Enough for a busy machine, and far less than these attacks would take. */
#define SOON_MS 15000

static tkl_client *open_cluster(const fake *f, int64_t timeout_ms)
{
    char *url = test_format("redis+cluster://127.0.0.1:%d", fake_port(f));
    tkl_client *client = test_open(url, &(tkl_options){.timeout_ms = timeout_ms});
    free(url);
    return client;
}

/* ---- Maps of a cluster --------------------------------------------------- */

/* Names a server for slot 0 with very many replicas, each with a name of its own. */
static void name_many_hosts(fake_conn *c, void *arg)
{
    const int *count = arg;
    while (fake_expect(c)) {
        tkl__buf text;
        tkl__buf_init(&text);
        tkl__buf_addf(&text, "*1\r\n*%d\r\n:0\r\n:16383\r\n", *count + 2);
        for (int i = 0; i < *count; i++) {
            char host[32];
            int len =
                snprintf(host, sizeof host, "127.%d.%d.%d", 1 + i / 65536, i / 256 % 256, i % 256);
            tkl__buf_addf(&text, "*2\r\n$%d\r\n%s\r\n:7\r\n", len, host);
        }
        fake_send(c, text.data, text.len);
        tkl__buf_free(&text);
    }
}

static void a_map_with_too_many_servers_is_refused_in_time(void **state)
{
    (void)state;
    int count = 60000;
    fake *f = fake_start_tcp(name_many_hosts, &count);
    tkl_client *client = open_cluster(f, 3000);
    int64_t start = test_now_ms();
    int code = call_code(client, NULL, "GET", "key", NULL);
    assert_true(test_now_ms() - start < SOON_MS);
    assert_code(code, TKL_EPROTO);
    assert_contains(tkl_errmsg(), "more than 4096 servers");
    tkl_close(client);
    fake_end(f);
}

/* Each range has all slots. */
static void name_all_slots_again_and_again(fake_conn *c, void *arg)
{
    (void)arg;
    while (fake_expect(c)) {
        tkl__buf text;
        tkl__buf_init(&text);
        tkl__buf_addz(&text, "*100000\r\n");
        for (int i = 0; i < 100000; i++)
            tkl__buf_addz(&text, "*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:7\r\n");
        fake_send(c, text.data, text.len);
        tkl__buf_free(&text);
    }
}

static void a_slot_has_one_master(void **state)
{
    (void)state;
    fake *f = fake_start_tcp(name_all_slots_again_and_again, NULL);
    tkl_client *client = open_cluster(f, 3000);
    assert_code(call_code(client, NULL, "GET", "key", NULL), TKL_EPROTO);
    assert_contains(tkl_errmsg(), "makes no sense");
    tkl_close(client);
    fake_end(f);
}

/* ---- Replies without measure --------------------------------------------- */

static void send_for_ever(fake_conn *c, void *arg)
{
    const char *piece = arg;
    tkl__buf text;
    tkl__buf_init(&text);
    while (text.len < 1 << 20)
        tkl__buf_addz(&text, piece);
    if (fake_expect(c) && fake_sendz(c, "*1000000000\r\n"))
        while (fake_send(c, text.data, text.len))
            continue;
    tkl__buf_free(&text);
}

static void send_a_long_string(fake_conn *c, void *arg)
{
    (void)arg;
    char *zeros = calloc(1, 1 << 20);
    if (fake_expect(c) && fake_sendz(c, "$500000000\r\n"))
        while (fake_send(c, zeros, 1 << 20))
            continue;
    free(zeros);
}

static int64_t memory_kb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void expect_too_large(fake_handler *handler, const char *piece)
{
    fake *f = fake_start(handler, (void *)(uintptr_t)piece);
    tkl_options options = {.reply_max = 10 << 20, .timeout_ms = 60000};
    tkl_client *client = test_open(fake_url(f), &options);
    int64_t before = memory_kb();
    assert_code(call_code(client, NULL, "GET", "key", NULL), TKL_EPROTO);
    assert_contains(tkl_errmsg(), "reply_max");
    assert_true(memory_kb() - before < 400 * 1024); /* sanitizers take more */
    tkl_close(client);
    fake_end(f);
}

static void a_reply_has_a_bound(void **state)
{
    (void)state;
    static const char *const pieces[] = {":1\r\n", "*0\r\n", "$-1\r\n", "$3\r\nabc\r\n", "-no\r\n"};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        expect_too_large(send_for_ever, pieces[i]);
    expect_too_large(send_a_long_string, NULL);
}

static void send_megabytes(fake_conn *c, void *arg)
{
    (void)arg;
    char *zeros = calloc(1, 3000002);
    memcpy(zeros + 3000000, "\r\n", 2);
    while (fake_expect(c) && fake_sendz(c, "$3000000\r\n"))
        fake_send(c, zeros, 3000002);
    free(zeros);
}

static void replies_within_the_bound_pass_and_a_pipeline_counts_as_one(void **state)
{
    (void)state;
    fake *f = fake_start(send_megabytes, NULL);
    tkl_client *client = test_open(fake_url(f), &(tkl_options){.reply_max = 10 << 20});
    for (int i = 0; i < 5; i++)
        assert_ok(call_code(client, NULL, "GET", "key", NULL));
    tkl_pipeline *p;
    tkl_reply *replies;
    assert_ok(tkl_pipeline_open(client, NULL, &p));
    for (int i = 0; i < 5; i++)
        assert_ok(tkl_pipeline_addz(p, "GET", "key", NULL));
    assert_code(tkl_pipeline_run(p, NULL, &replies), TKL_EPROTO);
    assert_ok(tkl_reply_code(tkl_reply_at(replies, 0)));
    tkl_reply_free(replies);
    tkl_pipeline_close(p);
    tkl_close(client);
    fake_end(f);
}

/* ---- Circles ------------------------------------------------------------- */

/* Cursors 1 to n, then from the middle on again. */
static void scan_in_a_circle(fake_conn *c, void *arg)
{
    const int *length = arg;
    for (int next = 1; fake_expect(c); next = next == *length ? *length / 2 : next + 1) {
        char *text = test_format("*2\r\n$7\r\n%07d\r\n*0\r\n", next);
        fake_sendz(c, text);
        free(text);
    }
}

static int visit_nothing(tkl_bytes key, void *arg)
{
    (void)key;
    (void)arg;
    return TKL_OK;
}

static void a_scan_in_a_circle_ends(void **state)
{
    (void)state;
    static const int lengths[] = {1, 2, 3, 10, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        int length = lengths[i];
        fake *f = fake_start(scan_in_a_circle, &length);
        tkl_client *client = test_open(fake_url(f), NULL);
        assert_code(tkl__walk(client, tkl_str("*"), NULL, visit_nothing, NULL), TKL_EPROTO);
        assert_contains(tkl_errmsg(), "circle");
        tkl_close(client);
        fake_end(f);
    }
}

/* ---- Texts --------------------------------------------------------------- */

static void answer(fake_conn *c, void *arg)
{
    while (fake_expect(c))
        fake_sendz(c, arg);
}

static void escape_sequences_do_not_reach_error_texts(void **state)
{
    (void)state;
    static char reply[] = "-ERR \x1b]0;owned\x07 \x1b[31mred \xc2\x9b"
                          "2J \x7f\x08 gr\xc3\xbc\xc3\x9f\r\n";
    fake *f = fake_start(answer, reply);
    tkl_client *client = test_open(fake_url(f), NULL);
    assert_code(call_code(client, NULL, "GET", "key", NULL), TKL_EREFUSED);
    assert_string_equal(tkl_errmsg(), "ERR ?]0;owned? ?[31mred ??2J ?? gr\xc3\xbc\xc3\x9f");
    tkl_close(client);
    fake_end(f);
}

static void nor_errors_inside_arrays(void **state)
{
    (void)state;
    static char reply[] = "*2\r\n-ERR \x1b[31m\r\n$4\r\n\x1b[3m\r\n";
    fake *f = fake_start(answer, reply);
    tkl_client *client = test_open(fake_url(f), NULL);
    tkl_reply *got;
    assert_ok(tkl_callz(client, &got, "GET", "key", NULL));
    assert_string_equal(tkl_reply_str(tkl_reply_at(got, 0)), "ERR ?[31m");
    assert_string_equal(tkl_reply_str(tkl_reply_at(got, 1)), "\x1b[3m"); /* data is data */
    tkl_reply_free(got);
    tkl_close(client);
    fake_end(f);
}

/* ---- Numbers ------------------------------------------------------------- */

#define MOST  ":9223372036854775807\r\n"
#define LEAST ":-9223372036854775808\r\n"

static void sums_end_at_the_largest_number(void **state)
{
    (void)state;
    static char reply[] = MOST;
    fake *f = fake_start(answer, reply);
    tkl_client *client = test_open(fake_url(f), NULL);
    tkl_ads *ads;
    int64_t removed;
    assert_ok(tkl_ads_open(client, tkl_str("shop"), NULL, &ads));
    tkl_bytes names[] = {tkl_str("one"), tkl_str("two"), tkl_str("three")};
    assert_ok(tkl_ads_remove(ads, names, 3, &removed));
    assert_true(removed == INT64_MAX);
    tkl_ads_close(ads);
    tkl_close(client);
    fake_end(f);
}

static void differences_of_any_two_numbers_are_numbers(void **state)
{
    (void)state;
    static char reply[] = "*4\r\n:0\r\n" LEAST MOST MOST;
    fake *f = fake_start(answer, reply);
    tkl_client *client = test_open(fake_url(f), NULL);
    tkl_mail *mail;
    tkl_mail_info *info;
    assert_ok(tkl_mail_open(client, tkl_str("ann"), NULL, &mail));
    assert_ok(tkl_mail_show(mail, &info));
    assert_true(info->unread > INT64_C(1) << 53);
    tkl_mail_info_free(info);
    tkl_mail_close(mail);
    tkl_close(client);
    fake_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_map_with_too_many_servers_is_refused_in_time),
        cmocka_unit_test(a_slot_has_one_master),
        cmocka_unit_test(a_reply_has_a_bound),
        cmocka_unit_test(replies_within_the_bound_pass_and_a_pipeline_counts_as_one),
        cmocka_unit_test(a_scan_in_a_circle_ends),
        cmocka_unit_test(escape_sequences_do_not_reach_error_texts),
        cmocka_unit_test(nor_errors_inside_arrays),
        cmocka_unit_test(sums_end_at_the_largest_number),
        cmocka_unit_test(differences_of_any_two_numbers_are_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
