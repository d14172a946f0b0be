/* SPDX-License-Identifier: MIT
 *
 * Recent contacts: order, limits, completion, and failures.
 *
 * ctest: label threads
 */
#include <tackle/recent.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/timed.h"

static tkl_recent *open_recent(tkl_client *client, const tkl_recent_options *options)
{
    tkl_recent *recent;
    assert_ok(tkl_recent_open(client, tkl_str("ann"), options, &recent));
    return recent;
}

/* Adds contacts that are separated by spaces. */
static void add(tkl_recent *recent, const char *list)
{
    tkl_bytes contacts[64];
    size_t count = 0;
    while (*list) {
        size_t len = strcspn(list, " ");
        contacts[count++] = (tkl_bytes){list, len};
        list += len + (list[len] == ' ');
    }
    assert_ok(tkl_recent_add(recent, contacts, count));
}

static void check_complete(tkl_recent *recent, const char *prefix, size_t count,
                           const char *expected)
{
    tkl_names *names;
    char line[512] = "";
    assert_ok(tkl_recent_complete(recent, tkl_str(prefix), count, &names));
    for (size_t i = 0; i < names->count; i++)
        sprintf(line + strlen(line), "%s" TKL_FMT, i ? " " : "", TKL_ARG(names->items[i]));
    assert_string_equal(line, expected);
    tkl_names_free(names);
}

static void the_most_recent_comes_first(void **state)
{
    fixture *f = *state;
    tkl_recent *r = open_recent(f->client, NULL);
    check_complete(r, "", 9, "");
    add(r, "bob eve kim");
    check_complete(r, "", 9, "kim eve bob");
    add(r, "bob");
    check_complete(r, "", 9, "bob kim eve");
    add(r, "eve zoe eve");
    check_complete(r, "", 9, "eve zoe bob kim");
    check_complete(r, "", 2, "eve zoe");
    check_complete(r, "", 0, "");
    assert_ok(tkl_recent_add(r, NULL, 0));
    tkl_recent_close(r);
}

static void only_so_many_are_kept(void **state)
{
    fixture *f = *state;
    tkl_recent *three = open_recent(f->client, &(tkl_recent_options){.keep = 3});
    add(three, "a b c d e");
    check_complete(three, "", 9, "e d c");
    add(three, "d x");
    check_complete(three, "", 9, "x d e");
    add(three, "p q q q q"); /* repetitions take no place */
    check_complete(three, "", 9, "q p x");
    tkl_recent_close(three);

    tkl_recent *hundred = open_recent(f->client, NULL);
    for (int i = 0; i < 150; i++) {
        char name[8];
        sprintf(name, "n%d", i);
        add(hundred, name);
    }
    assert_int_equal(call_int(f->client, "ZCARD", "tackle:recent:{ann}", NULL), 100);
    check_complete(hundred, "n149", 9, "n149");
    check_complete(hundred, "n49", 9, "");
    tkl_recent_close(hundred);
}

static void contacts_are_removed(void **state)
{
    fixture *f = *state;
    tkl_recent *r = open_recent(f->client, NULL);
    tkl_bytes some[] = {tkl_str("bob"), tkl_str("nobody"), tkl_str("kim")};
    int64_t removed;
    add(r, "bob eve kim");
    assert_ok(tkl_recent_remove(r, some, 3, &removed));
    assert_int_equal(removed, 2);
    check_complete(r, "", 9, "eve");
    assert_ok(tkl_recent_remove(r, some, 3, &removed));
    assert_int_equal(removed, 0);
    assert_ok(tkl_recent_remove(r, some, 0, NULL));
    assert_ok(tkl_recent_drop(r));
    assert_code(tkl_recent_drop(r), TKL_NOTFOUND);
    check_complete(r, "", 9, "");
    tkl_recent_close(r);
}

static void prefixes_are_completed_in_any_language(void **state)
{
    fixture *f = *state;
    tkl_recent *plain = open_recent(f->client, NULL);
    tkl_recent *rich =
        open_recent(f->client, &(tkl_recent_options){.accents = true, .pinyin = true});
    add(plain, "Jürgen jule JULIA 张三 重庆 עמית 👍🏽ok \xff\xfe");
    check_complete(plain, "JU", 9, "JULIA jule");
    check_complete(plain, "jü", 9, "Jürgen");
    check_complete(plain, "J\xc3", 9, "Jürgen"); /* half of ü */
    check_complete(rich, "ju", 9, "JULIA jule Jürgen");
    check_complete(rich, "ju", 2, "JULIA jule");
    check_complete(plain, "zh", 9, "");
    check_complete(rich, "zh", 9, "重庆 张三");
    check_complete(rich, "chongq", 9, "重庆");
    check_complete(rich, "ZS", 9, "张三");
    check_complete(rich, "张", 9, "张三");
    check_complete(rich, "张s", 9, "张三");
    check_complete(rich, "zsan", 9, "张三"); /* mixed */
    check_complete(rich, "zhang三", 9, "张三");
    check_complete(rich, "zqing", 9, "重庆");
    check_complete(plain, "zsan", 9, "");
    check_complete(rich, "עמ", 9, "עמית");
    check_complete(rich, "👍🏽", 9, "👍🏽ok");
    check_complete(rich, "\xff", 9, "\xff\xfe");
    check_complete(rich, "a prefix that is longer than anything", 9, "");
    tkl_recent_close(plain);
    tkl_recent_close(rich);
}

static void korean_is_completed_while_it_is_typed(void **state)
{
    fixture *f = *state;
    tkl_recent *r = open_recent(f->client, NULL);
    add(r, "김민수 가나다");
    check_complete(r, "기", 9, "김민수");
    check_complete(r, "김ㅁ", 9, "김민수");
    check_complete(r, "간", 9, "가나다");
    tkl_recent_close(r);
}

/* Asserts what is found, as "contact:match contact:match". */
static void check_find(tkl_recent *recent, const char *text, size_t max, const char *expected)
{
    tkl_recent_contacts *found;
    char line[512] = "";
    assert_ok(tkl_recent_find(recent, tkl_str(text), max, &found));
    for (size_t i = 0; i < found->count; i++)
        sprintf(line + strlen(line), "%s" TKL_FMT ":%s", i > 0 ? " " : "",
                TKL_ARG(found->items[i].contact), tkl_recent_match_name(found->items[i].match));
    tkl_recent_contacts_free(found);
    assert_string_equal(line, expected);
}

static void contacts_are_found_by_any_part(void **state)
{
    fixture *f = *state;
    tkl_recent *recent = open_recent(f->client, &(tkl_recent_options){.pinyin = true});
    check_find(recent, "anna", 10, "");
    add(recent, "Joanna ANNA Hannah Annabel Susanna Bob 张安");
    check_find(recent, "anna", 10,
               "ANNA:exact Annabel:prefix Susanna:suffix Joanna:suffix Hannah:contains");
    check_find(recent, "anna", 3, "ANNA:exact Annabel:prefix Susanna:suffix");
    check_find(recent, "anna", 0, "");
    check_find(recent, "zhang", 10, "张安:prefix");
    check_find(recent, "安", 10, "张安:suffix");
    check_find(recent, "", 2, "张安:prefix Bob:prefix");
    check_find(recent, "xyz", SIZE_MAX, "");
    assert_string_equal(tkl_recent_match_name((tkl_recent_match)7), "unknown");
    tkl_recent_close(recent);
}

static void contacts_have_times(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_recent *recent = open_recent(client, NULL);
    tkl_recent_contacts *found;
    int64_t noon = INT64_C(1800000000000);
    timed_set(t, noon);
    add(recent, "Ann Bob");
    timed_set(t, noon - 3600000); /* set back: the order stays */
    add(recent, "Ann");
    assert_ok(tkl_recent_find(recent, tkl_str(""), 10, &found));
    assert_int_equal(found->count, 2);
    assert_memory_equal(found->items[0].contact.data, "Ann", 3);
    assert_in_range(found->items[0].added_ms, noon, noon + 60000);
    tkl_recent_contacts_free(found);
    timed_set(t, noon + 86400000);
    add(recent, "Bob");
    assert_ok(tkl_callz(client, NULL, "ZADD", "tackle:recent:{ann}", "7", "old", NULL));
    assert_ok(tkl_recent_find(recent, tkl_str(""), 10, &found));
    assert_in_range(found->items[0].added_ms, noon + 86400000, noon + 86460000);
    assert_int_equal(found->items[2].added_ms, 0); /* not a time */
    tkl_recent_contacts_free(found);
    tkl_recent_close(recent);
    tkl_close(client);
    timed_end(t);
}

static void long_lists_are_kept_if_asked_for(void **state)
{
    fixture *f = *state;
    enum { COUNT = 4321 };
    tkl_recent *recent = open_recent(f->client, &(tkl_recent_options){.keep = TKL_RECENT_MAX});
    tkl_bytes *contacts = calloc(COUNT, sizeof *contacts);
    char(*texts)[16] = calloc(COUNT, sizeof *texts);
    tkl_recent_contacts *found;
    for (int i = 0; i < COUNT; i++) {
        snprintf(texts[i], sizeof texts[i], "c%d", i % 4000); /* the last 321 come again */
        contacts[i] = tkl_str(texts[i]);
    }
    assert_ok(tkl_recent_add(recent, contacts, COUNT));
    assert_ok(tkl_recent_find(recent, tkl_str(""), SIZE_MAX, &found));
    assert_int_equal(found->count, 4000);
    for (int i = 0; i < 4000; i++) {
        char expected[16];
        snprintf(expected, sizeof expected, "c%d", (COUNT - 1 - i) % 4000);
        assert_int_equal(found->items[i].contact.len, strlen(expected));
        assert_memory_equal(found->items[i].contact.data, expected, strlen(expected));
    }
    tkl_recent_contacts_free(found);
    tkl_recent_close(recent);
    free(contacts);
    free(texts);
}

static void lists_expire_after_the_last_add(void **state)
{
    fixture *f = *state;
    tkl_recent *r = open_recent(f->client, &(tkl_recent_options){.ttl_ms = 60000});
    add(r, "bob");
    assert_in_range(call_int(f->client, "PTTL", "tackle:recent:{ann}", NULL), 1, 60000);
    tkl_recent_close(r);
    r = open_recent(f->client, &(tkl_recent_options){.ttl_ms = 1});
    add(r, "bob");
    eventually(call_int(f->client, "EXISTS", "tackle:recent:{ann}", NULL) == 0, 5000);
    tkl_recent_close(r);
}

static void lists_are_found(void **state)
{
    fixture *f = *state;
    const char *users[] = {"zoe", "ann", "{b}:x"};
    tkl_names *names;
    for (int i = 0; i < 3; i++) {
        tkl_recent *r;
        assert_ok(tkl_recent_open(f->client, tkl_str(users[i]), NULL, &r));
        add(r, "x");
        tkl_recent_close(r);
    }
    assert_ok(tkl_recent_names(f->client, &names));
    assert_int_equal(names->count, 3);
    assert_memory_equal(names->items[0].data, "ann", 3);
    assert_memory_equal(names->items[2].data, "{b}:x", 5);
    tkl_names_free(names);
}

static void bad_arguments_are_refused(void **state)
{
    fixture *f = *state;
    const tkl_recent_options bad[] = {
        {.keep = -1}, {.keep = 10001}, {.ttl_ms = -5}, {.timeout_ms = -1}, {.reserved = {0, 0, 1}}};
    tkl_recent *r;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_recent_open(f->client, tkl_str("ann"), &bad[i], &r), TKL_EINVAL);
        assert_null(r);
    }
    assert_code(tkl_recent_open(f->client, tkl_str(""), NULL, &r), TKL_EINVAL);
    char *large = calloc(1, 65536);
    r = open_recent(f->client, NULL);
    assert_code(tkl_recent_add(r, &(tkl_bytes){large, 65536}, 1), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "65536");
    tkl_bytes some[] = {tkl_str("good"), {NULL, 0}};
    assert_code(tkl_recent_add(r, some, 2), TKL_EINVAL);
    check_complete(r, "", 9, ""); /* nothing of it */
    free(large);
    tkl_recent_close(r);
    tkl_recent_close(NULL);
}

static void foreign_data_is_left_alone(void **state)
{
    fixture *f = *state;
    tkl_recent *r = open_recent(f->client, NULL);
    tkl_names *names;
    assert_ok(tkl_callz(f->client, NULL, "SET", "tackle:recent:{ann}", "x", NULL));
    assert_code(tkl_recent_add(r, (tkl_bytes[]){tkl_str("bob")}, 1), TKL_ETYPE);
    assert_code(tkl_recent_complete(r, tkl_str("b"), 9, &names), TKL_ETYPE);
    assert_null(names);
    call_expect(f->client, "x", "GET", "tackle:recent:{ann}", NULL);
    static const char *const scores[] = {"inf", "-inf", "1e300", "0.5", "9007199254740992"};
    for (size_t i = 0; i < sizeof scores / sizeof *scores; i++) {
        assert_ok(tkl_callz(f->client, NULL, "DEL", "tackle:recent:{ann}", NULL));
        assert_ok(tkl_callz(f->client, NULL, "ZADD", "tackle:recent:{ann}", scores[i], "x", NULL));
        assert_code(tkl_recent_add(r, (tkl_bytes[]){tkl_str("bob")}, 1), TKL_EDAMAGED);
        check_complete(r, "", 9, "x");
    }
    tkl_recent_close(r);
}

static void a_full_server_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_recent *r = open_recent(f->client, &(tkl_recent_options){.keep = 2});
    add(r, "a b");
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_recent_add(r, (tkl_bytes[]){tkl_str("c")}, 1), TKL_EOOM);
    check_complete(r, "", 9, "b a");
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_recent_close(r);
}

static void write_along(void *arg, int index)
{
    char name[16];
    tkl_recent *r = arg;
    for (int i = 0; i < 50; i++) {
        sprintf(name, "w%d", (index * 7 + i) % 20);
        assert_ok(tkl_recent_add(r, (tkl_bytes[]){tkl_str(name)}, 1));
        if (i % 5 == 0)
            assert_ok(tkl_recent_remove(r, (tkl_bytes[]){tkl_str(name)}, 1, NULL));
    }
}

static void threads_share_a_list(void **state)
{
    fixture *f = *state;
    tkl_recent *r = open_recent(f->client, &(tkl_recent_options){.keep = 10});
    crew_run(8, write_along, r);
    assert_in_range(call_int(f->client, "ZCARD", "tackle:recent:{ann}", NULL), 1, 10);
    tkl_recent_close(r);
}

static void lists_live_in_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    tkl_recent *r = open_recent(client, NULL);
    add(r, "bob eve");
    check_complete(r, "B", 9, "bob");
    assert_ok(tkl_recent_drop(r));
    tkl_recent_close(r);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_most_recent_comes_first),
        TEST(only_so_many_are_kept),
        TEST(contacts_are_removed),
        TEST(prefixes_are_completed_in_any_language),
        TEST(korean_is_completed_while_it_is_typed),
        TEST(contacts_are_found_by_any_part),
        cmocka_unit_test(contacts_have_times),
        TEST(long_lists_are_kept_if_asked_for),
        TEST(lists_expire_after_the_last_add),
        TEST(lists_are_found),
        TEST(bad_arguments_are_refused),
        TEST(foreign_data_is_left_alone),
        TEST(a_full_server_changes_nothing),
        TEST(threads_share_a_list),
        cmocka_unit_test(lists_live_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
