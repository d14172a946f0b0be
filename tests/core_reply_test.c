/* SPDX-License-Identifier: MIT
 *
 * Replies: what the accessors return, and how calls end when bytes are no reply.
 */
#include <math.h>

#include "support/fake.h"
#include "support/fixture.h"

/* The answer of the fake server to every command. */
typedef struct answer {
    const char *bytes;
    size_t len;      /* 0: up to the NUL */
    bool hang_up;    /* afterwards */
    bool only_first; /* later connections answer +later */
} answer;

static void say(fake_conn *c, void *arg)
{
    const answer *a = arg;
    while (fake_expect(c) != NULL) {
        if (a->only_first && fake_index(c) > 0) {
            fake_sendz(c, "+later\r\n");
            continue;
        }
        fake_send(c, a->bytes, a->len > 0 ? a->len : strlen(a->bytes));
        if (a->hang_up)
            return;
    }
}

/* The result of one call to a server that answers so. */
static int ask(answer a, tkl_reply **reply)
{
    fake *f = fake_start(say, &a);
    tkl_client *client = test_open(fake_url(f), &(tkl_options){.timeout_ms = 2000});
    int code = tkl_callz(client, reply, "WHAT", NULL);
    tkl_close(client);
    fake_end(f);
    return code;
}

static tkl_reply *replied(const char *bytes)
{
    tkl_reply *reply = NULL;
    assert_ok(ask((answer){.bytes = bytes}, &reply));
    return reply;
}

/* ---- Accessors ----------------------------------------------------------- */

static void a_string_is_bytes_and_text(void **state)
{
    (void)state;
    tkl_reply *reply;
    assert_ok(ask((answer){.bytes = "$5\r\na\0b\nc\r\n", .len = 11}, &reply));
    assert_int_equal(tkl_reply_type_of(reply), TKL_REPLY_STRING);
    assert_int_equal(tkl_reply_bytes(reply).len, 5);
    assert_memory_equal(tkl_reply_bytes(reply).data, "a\0b\nc", 5);
    assert_string_equal(tkl_reply_str(reply), "a");
    assert_int_equal(tkl_reply_count(reply), 0);
    assert_null(tkl_reply_at(reply, 0));
    tkl_reply_free(reply);
}

static void an_empty_string_is_not_nil(void **state)
{
    (void)state;
    tkl_reply *reply = replied("$0\r\n\r\n");
    assert_int_equal(tkl_reply_type_of(reply), TKL_REPLY_STRING);
    assert_false(tkl_reply_is_nil(reply));
    assert_int_equal(tkl_reply_bytes(reply).len, 0);
    tkl_reply_free(reply);
    reply = replied("+\r\n");
    assert_int_equal(tkl_reply_type_of(reply), TKL_REPLY_STRING);
    assert_string_equal(tkl_reply_str(reply), "");
    tkl_reply_free(reply);
}

static void both_kinds_of_nil_are_nil(void **state)
{
    (void)state;
    static const char *const nils[] = {"$-1\r\n", "*-1\r\n"};
    for (int i = 0; i < 2; i++) {
        tkl_reply *reply = replied(nils[i]);
        assert_true(tkl_reply_is_nil(reply));
        assert_int_equal(tkl_reply_int(reply), 0);
        assert_int_equal(tkl_reply_code(reply), TKL_OK);
        tkl_reply_free(reply);
    }
}

static void numbers_come_as_integers_or_as_text(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int64_t integer;
        double number;
    } cases[] = {
        {":42\r\n", 42, 42},
        {":-9223372036854775808\r\n", INT64_MIN, -9223372036854775808.0},
        {":9223372036854775807\r\n", INT64_MAX, 9223372036854775807.0},
        {"$2\r\n17\r\n", 17, 17},
        {"$3\r\n-17\r\n", -17, -17},
        {"$4\r\n2.75\r\n", 0, 2.75},
        {"$3\r\n1e3\r\n", 0, 1000},
        {"$3\r\ninf\r\n", 0, INFINITY},
        {"$3\r\n12x\r\n", 0, 0},
        {"$0\r\n\r\n", 0, 0},
        {"$20\r\n99999999999999999999\r\n", 0, 1e20},
        {"+OK\r\n", 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        tkl_reply *reply = replied(cases[i].bytes);
        if (tkl_reply_int(reply) != cases[i].integer)
            fail_msg("%s: got %lld", cases[i].bytes, (long long)tkl_reply_int(reply));
        if (tkl_reply_double(reply) != cases[i].number)
            fail_msg("%s: got %g", cases[i].bytes, tkl_reply_double(reply));
        tkl_reply_free(reply);
    }
}

static void arrays_nest(void **state)
{
    (void)state;
    tkl_reply *reply = replied("*4\r\n:1\r\n*2\r\n$1\r\na\r\n*0\r\n$-1\r\n*1\r\n*1\r\n+deep\r\n");
    assert_int_equal(tkl_reply_type_of(reply), TKL_REPLY_ARRAY);
    assert_int_equal(tkl_reply_count(reply), 4);
    assert_int_equal(tkl_reply_int(tkl_reply_at(reply, 0)), 1);
    const tkl_reply *inner = tkl_reply_at(reply, 1);
    assert_int_equal(tkl_reply_count(inner), 2);
    assert_string_equal(tkl_reply_str(tkl_reply_at(inner, 0)), "a");
    assert_int_equal(tkl_reply_type_of(tkl_reply_at(inner, 1)), TKL_REPLY_ARRAY);
    assert_int_equal(tkl_reply_count(tkl_reply_at(inner, 1)), 0);
    assert_true(tkl_reply_is_nil(tkl_reply_at(reply, 2)));
    const tkl_reply *deep = tkl_reply_at(tkl_reply_at(tkl_reply_at(reply, 3), 0), 0);
    assert_string_equal(tkl_reply_str(deep), "deep");
    assert_null(tkl_reply_at(reply, 4));
    tkl_reply_free(reply);
}

static void an_error_inside_an_array_is_an_element(void **state)
{
    (void)state;
    tkl_reply *reply = replied("*2\r\n-WRONGTYPE not a list\r\n:2\r\n");
    const tkl_reply *error = tkl_reply_at(reply, 0);
    assert_int_equal(tkl_reply_type_of(error), TKL_REPLY_ERROR);
    assert_int_equal(tkl_reply_code(error), TKL_ETYPE);
    assert_contains(tkl_reply_str(error), "not a list");
    assert_int_equal(tkl_reply_code(tkl_reply_at(reply, 1)), TKL_OK);
    tkl_reply_free(reply);
}

static void accessors_take_null(void **state)
{
    (void)state;
    assert_int_equal(tkl_reply_type_of(NULL), TKL_REPLY_NIL);
    assert_true(tkl_reply_is_nil(NULL));
    assert_int_equal(tkl_reply_int(NULL), 0);
    assert_true(tkl_reply_double(NULL) == 0);
    assert_int_equal(tkl_reply_bytes(NULL).len, 0);
    assert_string_equal(tkl_reply_str(NULL), "");
    assert_int_equal(tkl_reply_count(NULL), 0);
    assert_null(tkl_reply_at(NULL, 0));
    tkl_reply_free(NULL);
}

static void a_long_array_has_all_its_elements(void **state)
{
    fixture *f = *state;
    server_do(f->server, "EVAL %s 0",
              "for i = 1, 100000 do redis.call('RPUSH', 'l', 'element ' .. i) end");
    tkl_reply *reply;
    assert_ok(tkl_callz(f->client, &reply, "LRANGE", "l", "0", "-1", NULL));
    assert_int_equal(tkl_reply_count(reply), 100000);
    for (size_t i = 0; i < 100000; i += 777) {
        char *expected = test_format("element %zu", i + 1);
        assert_string_equal(tkl_reply_str(tkl_reply_at(reply, i)), expected);
        free(expected);
    }
    tkl_reply_free(reply);
}

/* ---- Malformed replies --------------------------------------------------- */

static void garbage_breaks_the_protocol(void **state)
{
    (void)state;
    static const char *const garbage[] = {
        "what?\r\n", "\r\n",         "HTTP/1.1 400 Bad Request\r\n\r\n",
        ":12x\r\n",  "$x\r\n",       "*x\r\n",
        "$-2\r\n",   "\x16\x03\x01", "*99999999999999999999\r\n",
    };
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        tkl_reply *reply = NULL;
        int code = ask((answer){.bytes = garbage[i]}, &reply);
        if (code != TKL_EPROTO)
            fail_msg("\"%s\": %s: %s", garbage[i], tkl_codename(code), tkl_errmsg());
        assert_null(reply);
    }
}

static void a_reply_that_nests_too_deep_breaks_the_protocol(void **state)
{
    (void)state;
    char nested[4001];
    for (size_t i = 0; i < 1000; i++)
        memcpy(nested + 4 * i, "*1\r\n", 4);
    nested[4000] = '\0';
    tkl_reply *reply = NULL;
    assert_code(ask((answer){.bytes = nested}, &reply), TKL_EPROTO);
}

static void garbage_spoils_only_its_own_call(void **state)
{
    (void)state;
    answer a = {.bytes = "what?\r\n", .only_first = true};
    fake *f = fake_start(say, &a);
    tkl_client *client = test_open(fake_url(f), NULL);
    assert_code(tkl_callz(client, NULL, "ONE", NULL), TKL_EPROTO);
    call_expect(client, "later", "TWO", NULL);
    tkl_close(client);
    fake_end(f);
}

static void an_extra_reply_never_answers_the_next_call(void **state)
{
    (void)state;
    answer a = {.bytes = "+first\r\n+extra\r\n", .only_first = true};
    fake *f = fake_start(say, &a);
    tkl_client *client = test_open(fake_url(f), NULL);
    call_expect(client, "first", "ONE", NULL);
    call_expect(client, "later", "TWO", NULL);
    call_expect(client, "later", "THREE", NULL);
    tkl_close(client);
    fake_end(f);
}

static void a_promise_of_512_megabytes_cut_short_is_unknown(void **state)
{
    (void)state;
    static const char *const promises[] = {
        "$536870912\r\nonly a few bytes",
        "*3\r\n$3\r\nabc\r\n$536870912\r\nx",
        "*1000000\r\n:1\r\n",
        "$5\r\nab",
        "+no end of line",
        ":",
        "",
    };
    for (size_t i = 0; i < sizeof(promises) / sizeof(promises[0]); i++) {
        tkl_reply *reply = NULL;
        int code = ask((answer){.bytes = promises[i], .hang_up = true}, &reply);
        if (code != TKL_EUNKNOWN)
            fail_msg("\"%s\": %s: %s", promises[i], tkl_codename(code), tkl_errmsg());
        assert_null(reply);
    }
}

static void an_enormous_array_is_not_allocated_before_it_comes(void **state)
{
    (void)state;
    tkl_reply *reply = NULL;
    int code = ask((answer){.bytes = "*4294967295\r\n:1\r\n", .hang_up = true}, &reply);
    assert_true(code == TKL_EUNKNOWN || code == TKL_EPROTO || code == TKL_ENOMEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_string_is_bytes_and_text),
        cmocka_unit_test(an_empty_string_is_not_nil),
        cmocka_unit_test(both_kinds_of_nil_are_nil),
        cmocka_unit_test(numbers_come_as_integers_or_as_text),
        cmocka_unit_test(arrays_nest),
        cmocka_unit_test(an_error_inside_an_array_is_an_element),
        cmocka_unit_test(accessors_take_null),
        TEST(a_long_array_has_all_its_elements),
        cmocka_unit_test(garbage_breaks_the_protocol),
        cmocka_unit_test(a_reply_that_nests_too_deep_breaks_the_protocol),
        cmocka_unit_test(garbage_spoils_only_its_own_call),
        cmocka_unit_test(an_extra_reply_never_answers_the_next_call),
        cmocka_unit_test(a_promise_of_512_megabytes_cut_short_is_unknown),
        cmocka_unit_test(an_enormous_array_is_not_allocated_before_it_comes),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
