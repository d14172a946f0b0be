/* SPDX-License-Identifier: MIT
 *
 * IP tables: addresses that are found or not, on one server or a cluster, while the table changes.
 *
 * ctest: label threads
 */
#include <tackle/ip.h>

#include <arpa/inet.h>
#include <stdatomic.h>
#include <unistd.h>

#include "ip/address.h"
#include "support/cluster.h"
#include "support/fixture.h"
#include "support/permissions.h"
#include "support/process.h"

/* ---- Tables as tests use them -------------------------------------------- */

static tkl_ip *open_ip(tkl_client *client, const char *name)
{
    tkl_ip *ip;
    assert_ok(tkl_ip_open(client, tkl_str(name), NULL, &ip));
    return ip;
}

static tkl_ip_import *open_import(tkl_ip *ip)
{
    tkl_ip_import *import;
    assert_ok(tkl_ip_import_open(ip, NULL, &import));
    return import;
}

static void add_range(tkl_ip_import *import, const char *network, const char *place)
{
    tkl_ip_range range = {.network = tkl_str(network), .place = tkl_str(place)};
    assert_ok(tkl_ip_import_add_ranges(import, &range, 1));
}

/* Imports "network place" pairs, ended by NULL. */
static void import_pairs(tkl_ip *ip, const char *const *pairs)
{
    tkl_ip_import *import = open_import(ip);
    for (; *pairs; pairs += 2)
        add_range(import, pairs[0], pairs[1]);
    assert_ok(tkl_ip_import_commit(import, NULL));
    tkl_ip_import_close(import);
}

/* The data of an address: "network place", or "" for nothing. */
static const char *find(tkl_ip *ip, const char *address)
{
    static char text[200];
    tkl_ip_answers *answers;
    tkl_bytes bytes = tkl_str(address);
    assert_ok(tkl_ip_lookup(ip, &bytes, 1, &answers));
    assert_int_equal(answers->count, 1);
    const tkl_ip_answer *a = &answers->items[0];
    assert_int_equal(a->address.len, strlen(address));
    assert_memory_equal(a->address.data, address, a->address.len);
    snprintf(text, sizeof text, a->known ? TKL_FMT " " TKL_FMT : "", TKL_ARG(a->network),
             TKL_ARG(a->place.id));
    tkl_ip_answers_free(answers);
    return text;
}

#define assert_found(ip, address, expected) assert_string_equal(find(ip, address), expected)

/* ---- Addresses ----------------------------------------------------------- */

static void texts_of_addresses_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *text, *range; /* NULL: refused */
    } cases[] = {
        {"1.2.3.4", "1.2.3.4/32"},
        {"0.0.0.0/0", "0.0.0.0/0"},
        {"1.2.3.0/24", "1.2.3.0/24"},
        {"::ffff:1.2.3.4", "1.2.3.4/32"},
        {"::ffff:1.2.3.0/120", "1.2.3.0/24"},
        {"2001:db8::/32", "2001:db8::/32"},
        {"::/0", "::/0"},
        {"::", "::/128"},
        {"1.2.3.0-1.2.3.255", "1.2.3.0/24"},
        {"1.2.3.0-1.2.3.76", "1.2.3.0-1.2.3.76"},
        {"2001:db8::-2001:db8::5", "2001:db8::-2001:db8::5"},
        {"1.2.3", NULL},
        {"1.2.3.256", NULL},
        {"1.2.3.04", NULL},
        {"::g", NULL},
        {"", NULL},
        {" 1.2.3.4", NULL},
        {"1.2.3.4 ", NULL},
        {"1.2.3.4%eth0", NULL},
        {"fe80::1%eth0", NULL},
        {"1.2.3.0/33", NULL},
        {"1.2.3.0/", NULL},
        {"1.2.3.0/024", NULL},
        {"1.2.3.0/-1", NULL},
        {"1.2.3.1/24", NULL},
        {"2001:db8::/129", NULL},
        {"1.2.3.9-1.2.3.4", NULL},
        {"-", NULL},
        {"/", NULL},
        {"1111:2222:3333:4444:5555:6666:7777:8888:9999", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl__ip_span span;
        char text[TKL__IP_NETWORK_SIZE] = "";
        const char *wrong = tkl__ip_parse_range(tkl_str(cases[i].text), &span);
        if (!wrong)
            tkl__ip_format(&span, text);
        if ((wrong == NULL) != (cases[i].range != NULL) ||
            (cases[i].range && strcmp(text, cases[i].range) != 0))
            fail_msg("'%s': expected %s, got %s", cases[i].text,
                     cases[i].range ? cases[i].range : "a refusal", wrong ? wrong : text);
    }
    unsigned char address[TKL__IP_SIZE];
    assert_non_null(tkl__ip_parse((tkl_bytes){"1.2.3.4\0", 8}, address));
}

static void numbers_are_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *first, *last, *range;
    } cases[] = {
        {"16777216", "16777471", "1.0.0.0/24"},
        {"0", "4294967295", "0.0.0.0/0"},
        {"1.0.0.0", "1.0.0.255", "1.0.0.0/24"},
        {"281470681743360", "281474976710655", "0.0.0.0/0"},
        {"42540766411282592856903984951653826560", "42540766490510755371168322545197776895",
         "2001:db8::/32"},
        {"340282366920938463463374607431768211455", "340282366920938463463374607431768211455",
         "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
        {"340282366920938463463374607431768211456", "1", NULL},
        {"5", "4", NULL},
        {"", "4", NULL},
        {"+1", "4", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl__ip_span span;
        char text[TKL__IP_NETWORK_SIZE];
        const char *wrong =
            tkl__ip_parse_ends(tkl_str(cases[i].first), tkl_str(cases[i].last), &span);
        assert_int_equal(wrong == NULL, cases[i].range != NULL);
        if (wrong)
            continue;
        tkl__ip_format(&span, text);
        assert_string_equal(text, cases[i].range);
    }
}

/* ---- Looking up ---------------------------------------------------------- */

static void check_lookups(tkl_client *client)
{
    tkl_ip *ip = open_ip(client, "geo{}\xff");
    static const char *const table[] = {
        "0.0.0.0/8",
        "zero",
        "1.2.3.0/24",
        "a",
        "1.2.5.0-1.2.5.76",
        "b",
        "255.255.255.255",
        "last",
        "2001:db8::/32",
        "doc",
        "2001:db9::5",
        "one",
        "fe80::/10",
        "link",
        "ffff::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        "end",
        NULL,
    };
    import_pairs(ip, table);
    assert_found(ip, "0.0.0.0", "0.0.0.0/8 zero");
    assert_found(ip, "0.255.255.255", "0.0.0.0/8 zero");
    assert_found(ip, "1.0.0.0", "");
    assert_found(ip, "1.2.2.255", "");
    assert_found(ip, "1.2.3.0", "1.2.3.0/24 a");
    assert_found(ip, "1.2.3.255", "1.2.3.0/24 a");
    assert_found(ip, "1.2.4.0", "");
    assert_found(ip, "1.2.5.76", "1.2.5.0-1.2.5.76 b");
    assert_found(ip, "1.2.5.77", "");
    assert_found(ip, "255.255.255.254", "");
    assert_found(ip, "255.255.255.255", "255.255.255.255/32 last");
    assert_found(ip, "::ffff:1.2.3.9", "1.2.3.0/24 a");
    assert_found(ip, "::ffff:102:309", "1.2.3.0/24 a");
    assert_found(ip, "::1.2.3.9", "");
    assert_found(ip, "::", "");
    assert_found(ip, "2001:db8::", "2001:db8::/32 doc");
    assert_found(ip, "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::/32 doc");
    assert_found(ip, "2001:db9::4", "");
    assert_found(ip, "2001:db9::5", "2001:db9::5/128 one");
    assert_found(ip, "2001:db9::6", "");
    assert_found(ip, "febf::1", "fe80::/10 link");
    assert_found(ip, "fec0::", "");
    assert_found(ip, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff::/16 end");
    tkl_ip_close(ip);
}

static void addresses_are_found_in_their_ranges_and_not_in_gaps(void **state)
{
    fixture *f = *state;
    check_lookups(f->client);
}

static void a_table_works_in_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    check_lookups(client);
    tkl_close(client);
    cluster_end(c);
}

static void what_cannot_be_looked_up_is_told(void **state)
{
    fixture *f = *state;
    tkl_ip *ip;
    tkl_ip_answers *answers;
    tkl_bytes good[] = {tkl_str("1.2.3.4")}, bad[] = {tkl_str("1.2.3.4"), tkl_str("1.2.3")};
    assert_code(tkl_ip_open(f->client, tkl_str(""), NULL, &ip), TKL_EINVAL);
    assert_null(ip);
    tkl_ip_options negative = {.cache_size = -1}, newer = {.reserved = {1}};
    assert_code(tkl_ip_open(f->client, tkl_str("x"), &negative, &ip), TKL_EINVAL);
    assert_code(tkl_ip_open(f->client, tkl_str("x"), &newer, &ip), TKL_EINVAL);
    ip = open_ip(f->client, "x");
    assert_code(tkl_ip_lookup(ip, good, 1, &answers), TKL_NOTFOUND);
    assert_code(tkl_ip_lookup(ip, bad, 2, &answers), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "'1.2.3'");
    assert_null(answers);
    assert_ok(tkl_ip_lookup(ip, NULL, 0, &answers));
    assert_int_equal(answers->count, 0);
    tkl_ip_answers_free(answers);
    tkl_ip_answers_free(NULL);
    tkl_ip_close(ip);
    tkl_ip_close(NULL);
    tkl_ip_import_close(NULL);
}

/* The same random ranges in a plain array, of numbers that stand for addresses. */
enum { MODEL = 5000 };
static struct {
    uint32_t first, last;
} model[MODEL];

/* As IPv4, or in two places of IPv6. */
typedef enum form { V4, V6_LOW, V6_HIGH } form;

static const char *write_address(form as, uint32_t number, char text[INET6_ADDRSTRLEN])
{
    unsigned high = number >> 16, low = number & 0xffff;
    if (as == V4)
        snprintf(text, INET6_ADDRSTRLEN, "%u.%u.%u.%u", high >> 8, high & 255, low >> 8, low & 255);
    else if (as == V6_LOW)
        snprintf(text, INET6_ADDRSTRLEN, "2001:db8::%x:%x", high, low);
    else
        snprintf(text, INET6_ADDRSTRLEN, "%x:%x::", high, low);
    return text;
}

static void fill_model(tkl_ip *ip, form as)
{
    tkl_ip_import *import = open_import(ip);
    uint64_t at = 1000;
    srand(7);
    for (int i = 0; i < MODEL; i++) {
        char network[100], place[16], first[INET6_ADDRSTRLEN], last[INET6_ADDRSTRLEN];
        at += 1 + (uint64_t)(rand() % 3 == 0 ? 0 : rand() % 500000);
        model[i].first = (uint32_t)at;
        at += (uint64_t)(rand() % 4 == 0 ? 0 : rand() % 300000);
        model[i].last = (uint32_t)at;
        snprintf(network, sizeof network, "%s-%s", write_address(as, model[i].first, first),
                 write_address(as, model[i].last, last));
        snprintf(place, sizeof place, "%d", i % 100);
        add_range(import, network, place);
    }
    assert_ok(tkl_ip_import_commit(import, NULL));
    tkl_ip_import_close(import);
}

static int model_find(uint32_t address)
{
    for (int i = 0; i < MODEL; i++)
        if (address >= model[i].first && address <= model[i].last)
            return i;
    return -1;
}

static void compare_with_model(tkl_ip *ip, form as)
{
    enum { ASKED = 3000 };
    static uint32_t numbers[ASKED];
    static char texts[ASKED][INET6_ADDRSTRLEN];
    static tkl_bytes items[ASKED];
    tkl_ip_answers *answers;
    for (int i = 0; i < ASKED; i++) {
        int near = rand() % MODEL;
        numbers[i] =
            (rand() % 2 ? model[near].first : model[near].last) + (uint32_t)(rand() % 3) - 1;
        items[i] = tkl_str(write_address(as, numbers[i], texts[i]));
    }
    assert_ok(tkl_ip_lookup(ip, items, ASKED, &answers));
    for (int i = 0; i < ASKED; i++) {
        int at = model_find(numbers[i]);
        const tkl_ip_answer *a = &answers->items[i];
        char place[16] = "", expected[16] = "";
        snprintf(place, sizeof place, TKL_FMT, TKL_ARG(a->place.id));
        if (at >= 0)
            snprintf(expected, sizeof expected, "%d", at % 100);
        assert_string_equal(place, expected);
    }
    tkl_ip_answers_free(answers);
}

static void a_batch_agrees_with_a_plain_array(void **state)
{
    fixture *f = *state;
    tkl_ip *ip = open_ip(f->client, "model");
    for (form as = V4; as <= V6_HIGH; as++) {
        fill_model(ip, as);
        compare_with_model(ip, as);
    }
    tkl_ip_close(ip);
}

/* ---- Generations --------------------------------------------------------- */

static void an_import_replaces_the_table_and_leaves_nothing_of_the_old(void **state)
{
    fixture *f = *state;
    tkl_ip *ip = open_ip(f->client, "t"), *other = open_ip(f->client, "t");
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "old", "2.0.0.0/8", "old", NULL});
    assert_found(other, "2.0.0.1", "2.0.0.0/8 old");
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "new", NULL});
    assert_found(other, "1.0.0.1", "1.0.0.0/8 new");
    assert_found(other, "2.0.0.1", "");
    import_pairs(other, (const char *const[]){"3.0.0.0/8", "newest", NULL});
    assert_found(ip, "3.0.0.1", "3.0.0.0/8 newest");
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 2);
    char *keys = server_ask(f->server, "KEYS *");
    for (char *key = strtok(keys, "\n"); key; key = strtok(NULL, "\n"))
        assert_int_equal(server_ask_int(f->server, "PTTL %s", key), -1);
    free(keys);
    tkl_ip_close(ip);
    tkl_ip_close(other);
}

static void tables_are_listed_counted_and_dropped(void **state)
{
    fixture *f = *state;
    tkl_ip *ip = open_ip(f->client, "b"), *other = open_ip(f->client, "a}{");
    tkl_ip_stats stats;
    tkl_names *names;
    assert_code(tkl_ip_stats_get(ip, &stats), TKL_NOTFOUND);
    assert_code(tkl_ip_drop(ip), TKL_NOTFOUND);
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "x", "3.0.0.0/8", "x", NULL});
    import_pairs(other, (const char *const[]){"1.0.0.0/8", "x", NULL});
    assert_ok(tkl_ip_stats_get(ip, &stats));
    assert_int_equal(stats.ranges, 2);
    assert_int_equal(stats.places, 1);
    assert_true(stats.imported_ms > INT64_C(1600000000000));
    assert_ok(tkl_ip_names(f->client, &names));
    assert_int_equal(names->count, 2);
    assert_memory_equal(names->items[0].data, "a}{", 3);
    tkl_names_free(names);
    tkl_ip_close(ip);
    ip = open_ip(f->client, "b"); /* knows no generation */
    assert_ok(tkl_ip_drop(ip));
    assert_code(tkl_ip_drop(ip), TKL_NOTFOUND);
    assert_ok(tkl_ip_drop(other));
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_ip_close(ip);
    tkl_ip_close(other);
}

/* Every generation has the same place for both ends of the address space. */
typedef struct changing {
    tkl_client *client;
    atomic_bool over;
    atomic_int answers;
} changing;

static void look_both_ends_up(void *arg, int index)
{
    changing *c = arg;
    tkl_ip *ip = open_ip(c->client, "changing");
    tkl_bytes ends[] = {tkl_str("0.0.0.1"), tkl_str("255.255.255.1"), tkl_str("2001:db8::1")};
    (void)index;
    while (!c->over) {
        tkl_ip_answers *answers;
        assert_ok(tkl_ip_lookup(ip, ends, 3, &answers));
        for (int i = 0; i < 3; i++) {
            const tkl_ip_answer *a = &answers->items[i], *first = &answers->items[0];
            assert_true(a->known);
            assert_int_equal(a->place.id.len, first->place.id.len);
            assert_memory_equal(a->place.id.data, first->place.id.data, a->place.id.len);
        }
        tkl_ip_answers_free(answers);
        c->answers++;
    }
    tkl_ip_close(ip);
}

static void import_generation(tkl_ip *ip, int number)
{
    tkl_ip_import *import = open_import(ip);
    char place[16], network[32];
    snprintf(place, sizeof place, "g%d", number);
    for (int i = 0; i < 256; i++) {
        snprintf(network, sizeof network, "%d.0.0.0/8", i);
        add_range(import, network, place);
    }
    add_range(import, "2001:db8::/32", place);
    assert_ok(tkl_ip_import_commit(import, NULL));
    tkl_ip_import_close(import);
}

static void every_answer_is_from_one_generation(void **state)
{
    fixture *f = *state;
    changing c = {.client = f->client};
    tkl_ip *ip = open_ip(f->client, "changing");
    import_generation(ip, 0);
    crew *threads = crew_start(8, look_both_ends_up, &c);
    for (int i = 1; i <= 50; i++)
        import_generation(ip, i);
    eventually(c.answers > 100, 60000);
    c.over = true;
    crew_join(threads);
    assert_found(ip, "9.9.9.9", "9.0.0.0/8 g50");
    tkl_ip_close(ip);
}

static void import_some(void *arg, int index)
{
    changing *c = arg;
    tkl_ip *ip = open_ip(c->client, "changing");
    for (int i = 0; i < 5; i++)
        import_generation(ip, 10 * index + i);
    tkl_ip_close(ip);
}

static void imports_at_the_same_time_leave_one_whole_table(void **state)
{
    fixture *f = *state;
    changing c = {.client = f->client};
    crew_run(4, import_some, &c);
    tkl_ip_stats stats;
    tkl_ip *ip = open_ip(f->client, "changing");
    assert_ok(tkl_ip_stats_get(ip, &stats));
    assert_int_equal(stats.ranges, 257);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 2);
    tkl_ip_close(ip);
}

/* ---- Trouble ------------------------------------------------------------- */

static void die_when_sending(const tkl_ip_progress *progress, void *arg)
{
    (void)arg;
    if (progress->sent > 0)
        _exit(3);
}

static int import_and_die(void *arg)
{
    tkl_client *client;
    tkl_ip *ip;
    tkl_ip_import *import;
    tkl_ip_import_options options = {.progress = die_when_sending};
    if (tkl_open(arg, NULL, &client) != TKL_OK ||
        tkl_ip_open(client, tkl_str("t"), NULL, &ip) != TKL_OK ||
        tkl_ip_import_open(ip, &options, &import) != TKL_OK)
        return 1;
    for (unsigned i = 0; i < 200000; i++) {
        char network[32];
        snprintf(network, sizeof network, "%u.%u.%u.0/24", 1 + i / 65536, i / 256 % 256, i % 256);
        tkl_ip_range range = {.network = tkl_str(network), .place = tkl_str("new")};
        if (tkl_ip_import_add_ranges(import, &range, 1) != TKL_OK)
            return 1;
    }
    return tkl_ip_import_commit(import, NULL) == TKL_OK ? 0 : 2;
}

static void an_import_that_is_killed_leaves_the_old_table_and_expires(void **state)
{
    fixture *f = *state;
    tkl_ip *ip = open_ip(f->client, "t");
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "old", NULL});
    assert_int_equal(process_wait(process_fork(import_and_die, f->server->url)), 3);
    assert_found(ip, "1.0.0.1", "1.0.0.0/8 old");
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 3);
    char *keys = server_ask(f->server, "KEYS *");
    int expiring = 0;
    for (char *key = strtok(keys, "\n"); key; key = strtok(NULL, "\n"))
        expiring += server_ask_int(f->server, "PTTL %s", key) > 0;
    free(keys);
    assert_int_equal(expiring, 1);
    tkl_ip_close(ip);
}

static void a_server_without_memory_keeps_the_old_table(void **state)
{
    fixture *f = *state;
    tkl_ip *ip = open_ip(f->client, "t");
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "old", NULL});
    server_do(f->server, "CONFIG SET maxmemory 1");
    tkl_ip_import *import = open_import(ip);
    add_range(import, "2.0.0.0/8", "new");
    assert_code(tkl_ip_import_commit(import, NULL), TKL_EOOM);
    assert_found(ip, "1.0.0.1", "1.0.0.0/8 old");
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_ok(tkl_ip_import_commit(import, NULL)); /* once more */
    assert_found(ip, "2.0.0.1", "2.0.0.0/8 new");
    assert_code(tkl_ip_import_commit(import, NULL), TKL_EINVAL);
    tkl_ip_import_close(import);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 2);
    tkl_ip_close(ip);
}

/* The key of the table "t" whose name matches; malloc'ed. */
static char *key_like(fixture *f, const char *pattern)
{
    char *keys = server_ask(f->server, "KEYS %s", pattern);
    keys[strcspn(keys, "\n")] = '\0';
    return keys;
}

static void a_damaged_table_is_told_and_healed_by_an_import(void **state)
{
    fixture *f = *state;
    static const struct {
        const char *key, *command, *argument;
    } cases[] = {
        {"*:ranges:*", "DEL", NULL},
        {"*:ranges:*", "ZADD", "0 0123456789abcdef"},
        {"*:ranges:*", "ZADD",
         "0 \x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x01\x7fxx"},
        {"*{t}", "HSET", "generation x"},
    };
    tkl_ip *ip = open_ip(f->client, "t");
    tkl_bytes address = tkl_str("101:101:101:101:101:101:101:101");
    tkl_bytes ascii = tkl_str("3031:3233:3435:3637:3839:6162:6364:6566");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tkl_ip_answers *answers;
        server_do(f->server, "FLUSHALL");
        import_pairs(ip, (const char *const[]){"101::/16", "x", NULL});
        char *key = key_like(f, cases[i].key);
        if (cases[i].argument) {
            char *copy = strdup(cases[i].argument), *space = strchr(copy, ' ');
            *space = '\0';
            server_do(f->server, "%s %s %s %s", cases[i].command, key, copy, space + 1);
            free(copy);
        } else {
            server_do(f->server, "%s %s", cases[i].command, key);
        }
        free(key);
        assert_code(tkl_ip_lookup(ip, i == 1 ? &ascii : &address, 1, &answers), TKL_EDAMAGED);
        assert_null(answers);
    }
    server_do(f->server, "FLUSHALL");
    server_do(f->server, "SADD tackle:ip:{t} x");
    tkl_ip_answers *answers;
    assert_code(tkl_ip_lookup(ip, &address, 1, &answers), TKL_ETYPE);
    tkl_ip_import *import = open_import(ip);
    add_range(import, "1.0.0.0/8", "x");
    assert_code(tkl_ip_import_commit(import, NULL), TKL_ETYPE);
    tkl_ip_import_close(import);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 1);
    tkl_ip_close(ip);
}

static void a_handle_survives_a_flushed_and_restarted_server(void **state)
{
    fixture *f = *state;
    tkl_ip *ip = open_ip(f->client, "t");
    tkl_bytes address = tkl_str("1.1.1.1");
    tkl_ip_answers *answers;
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "x", NULL});
    server_restart(f->server);
    assert_code(tkl_ip_lookup(ip, &address, 1, &answers), TKL_NOTFOUND);
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "y", NULL});
    assert_found(ip, "1.1.1.1", "1.0.0.0/8 y");
    tkl_ip_close(ip);
}

static void the_documented_permissions_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "ip.md");
    tkl_ip *ip = open_ip(client, "t");
    tkl_names *names;
    tkl_ip_stats stats;
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "x", NULL});
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "y", NULL});
    assert_found(ip, "1.1.1.1", "1.0.0.0/8 y");
    assert_found(ip, "0.1.1.1", "");
    assert_ok(tkl_ip_stats_get(ip, &stats));
    assert_ok(tkl_ip_names(client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_ok(tkl_ip_drop(ip));
    tkl_ip_close(ip);
    tkl_close(client);
}

/* ---- The cache ----------------------------------------------------------- */

static void a_cached_answer_takes_no_trip(void **state)
{
    fixture *f = *state;
    tkl_ip *ip, *other = open_ip(f->client, "t");
    tkl_ip_options options = {.cache_size = 1000, .cache_ms = 300};
    assert_ok(tkl_ip_open(f->client, tkl_str("t"), &options, &ip));
    import_pairs(other, (const char *const[]){"1.0.0.0/8", "old", NULL});
    assert_found(ip, "1.1.1.1", "1.0.0.0/8 old");
    assert_found(ip, "2.2.2.2", "");
    int64_t before = server_commands(f->server);
    for (int i = 0; i < 10; i++) {
        assert_found(ip, "1.1.1.1", "1.0.0.0/8 old");
        assert_found(ip, "2.2.2.2", "");
    }
    assert_true(server_commands(f->server) - before < 20);
    import_pairs(other, (const char *const[]){"2.0.0.0/8", "new", NULL});
    eventually(strcmp(find(ip, "2.2.2.2"), "2.0.0.0/8 new") == 0, 30000);
    assert_found(ip, "1.1.1.1", ""); /* a new generation empties the cache */
    tkl_ip_close(ip);
    tkl_ip_close(other);
}

static int look_up_in_child(void *arg)
{
    tkl_bytes address = tkl_str("1.1.1.1");
    tkl_ip_answers *answers;
    if (tkl_ip_lookup(arg, &address, 1, &answers) != TKL_OK)
        return 1;
    bool known = answers->items[0].known;
    tkl_ip_answers_free(answers);
    tkl_ip_close(arg);
    return known ? 0 : 2;
}

static void a_forked_child_may_go_on(void **state)
{
    fixture *f = *state;
    tkl_ip *ip;
    tkl_ip_options options = {.cache_size = 10};
    assert_ok(tkl_ip_open(f->client, tkl_str("t"), &options, &ip));
    import_pairs(ip, (const char *const[]){"1.0.0.0/8", "x", NULL});
    assert_found(ip, "1.1.1.1", "1.0.0.0/8 x");
    assert_int_equal(process_wait(process_fork(look_up_in_child, ip)), 0);
    assert_found(ip, "1.1.1.1", "1.0.0.0/8 x");
    tkl_ip_close(ip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_of_addresses_are_read_strictly),
        cmocka_unit_test(numbers_are_addresses),
        TEST(addresses_are_found_in_their_ranges_and_not_in_gaps),
        TEST(what_cannot_be_looked_up_is_told),
        TEST(a_batch_agrees_with_a_plain_array),
        TEST(an_import_replaces_the_table_and_leaves_nothing_of_the_old),
        TEST(tables_are_listed_counted_and_dropped),
        TEST(every_answer_is_from_one_generation),
        TEST(imports_at_the_same_time_leave_one_whole_table),
        TEST(an_import_that_is_killed_leaves_the_old_table_and_expires),
        TEST(a_server_without_memory_keeps_the_old_table),
        TEST(a_damaged_table_is_told_and_healed_by_an_import),
        TEST(a_handle_survives_a_flushed_and_restarted_server),
        TEST(the_documented_permissions_are_enough),
        TEST(a_cached_answer_takes_no_trip),
        TEST(a_forked_child_may_go_on),
        cmocka_unit_test(a_table_works_in_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
