/* SPDX-License-Identifier: MIT
 *
 * Channels on one server: order, history, losses, where followers begin, refusals.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include <tackle/tackle.h>

#include "support/fixture.h"
#include "support/permissions.h"
#include "support/text.h"

enum { LONG_MS = 60000 };

#define STATE   "tackle:channel:{news}"
#define HISTORY "tackle:channel:{news}:history"

static tkl_channel *open_with(tkl_client *client, const tkl_channel_options *options)
{
    tkl_channel *channel;
    assert_ok(tkl_channel_open(client, tkl_str("news"), options, &channel));
    return channel;
}

static tkl_channel *open_channel(tkl_client *client)
{
    return open_with(client, NULL);
}

static tkl_channel_follower *follow_with(tkl_channel *channel,
                                         const tkl_channel_follow_options *options)
{
    tkl_channel_follower *follower;
    assert_ok(tkl_channel_follow(channel, options, &follower));
    return follower;
}

/* A follower that has found its place at the end. */
static tkl_channel_follower *follow(tkl_channel *channel)
{
    tkl_channel_messages *messages;
    tkl_channel_follower *follower = follow_with(channel, NULL);
    assert_code(tkl_channel_next(follower, 0, 0, &messages), TKL_EMPTY);
    assert_null(messages);
    return follower;
}

static tkl_channel_id publish(tkl_channel *channel, const char *text)
{
    tkl_bytes message = tkl_str(text);
    tkl_channel_id id;
    assert_ok(tkl_channel_publish(channel, &message, 1, &id));
    return id;
}

/* Publishes the numbers from `from` to `to`, one call each. */
static void publish_numbers(tkl_channel *channel, int from, int to)
{
    for (int i = from; i <= to; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        publish(channel, text);
    }
}

/* Reads all that is there, "1 2 3"; "-2 3" where two are lost before 3, "! 1" after a reset. */
static const char *read_all(tkl_channel_follower *follower)
{
    static char text[8192];
    size_t len = 0;
    tkl_channel_messages *messages;
    text[0] = '\0';
    while (tkl_channel_next(follower, 0, 0, &messages) == TKL_OK) {
        if (messages->lost > 0)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s-%d", len ? " " : "",
                                    (int)messages->lost);
        if (messages->reset)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s!", len ? " " : "");
        for (size_t i = 0; i < messages->count; i++)
            len += (size_t)snprintf(text + len, sizeof text - len, "%s" TKL_FMT, len ? " " : "",
                                    TKL_ARG(messages->items[i].data));
        assert_true(len < sizeof text);
        tkl_channel_messages_free(messages);
    }
    return text;
}

#define assert_reads(follower, expected) assert_string_equal(read_all(follower), (expected))

/* ---- Publishing and following -------------------------------------------- */

static void followers_get_all_messages_in_order(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *one = follow(channel), *two = follow(channel);
    tkl_channel_messages *messages;
    publish_numbers(channel, 1, 250);
    for (int expected = 1; expected <= 250;) {
        assert_ok(tkl_channel_next(one, 0, -1, &messages));
        assert_true(messages->count > 0 && messages->lost == 0 && !messages->reset);
        for (size_t i = 0; i < messages->count; i++, expected++) {
            assert_int_equal(messages->items[i].id.number, expected);
            assert_int_equal(atoi(test_text(TKL_FMT, TKL_ARG(messages->items[i].data))), expected);
        }
        tkl_channel_messages_free(messages);
    }
    assert_ok(tkl_channel_next(two, 3, 0, &messages));
    assert_int_equal(messages->count, 3);
    tkl_channel_messages_free(messages);
    assert_code(tkl_channel_next(one, 0, 10, &messages), TKL_EMPTY);
    tkl_channel_follower_close(one);
    tkl_channel_follower_close(two);
    tkl_channel_follower_close(NULL);
    tkl_channel_close(channel);
    tkl_channel_close(NULL);
}

static void a_batch_is_published_at_once(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *follower = follow(channel);
    tkl_bytes batch[] = {tkl_str("a"), {"\0\xff b", 4}, {NULL, 0}, tkl_str("d")};
    tkl_channel_id id;
    tkl_channel_messages *messages;
    int64_t calls = server_functions(f->server);
    assert_ok(tkl_channel_publish(channel, batch, 4, &id));
    assert_int_equal(id.number, 4);
    assert_int_equal(server_functions(f->server) - calls, 1);
    assert_ok(tkl_channel_publish(channel, NULL, 0, &id));
    assert_int_equal(id.number, 0);
    assert_ok(tkl_channel_next(follower, 0, 0, &messages));
    assert_int_equal(messages->count, 4);
    assert_memory_equal(messages->items[1].data.data, "\0\xff b", 4);
    assert_int_equal(messages->items[2].data.len, 0);
    tkl_channel_messages_free(messages);
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

typedef struct crowd {
    tkl_client *client;
    atomic_int ready;
} crowd;

enum { FOLLOWERS = 4, MESSAGES = 300 };

static void follow_in_thread(void *arg, int index)
{
    crowd *c = arg;
    tkl_channel *channel = open_channel(c->client);
    tkl_channel_follower *follower = follow(channel);
    tkl_channel_messages *messages;
    int64_t next = 1;
    c->ready++;
    while (next <= MESSAGES) {
        assert_ok(tkl_channel_next(follower, 7, -1, &messages));
        assert_true(messages->lost == 0 && !messages->reset);
        for (size_t i = 0; i < messages->count; i++)
            assert_int_equal(messages->items[i].id.number, next++);
        tkl_channel_messages_free(messages);
        if (index == 0)
            test_sleep_ms(1);
    }
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void waiting_followers_miss_and_repeat_nothing(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    crowd c = {.client = f->client};
    crew *threads = crew_start(FOLLOWERS, follow_in_thread, &c);
    eventually(c.ready == FOLLOWERS, LONG_MS);
    publish_numbers(channel, 1, MESSAGES);
    crew_join(threads);
    tkl_channel_close(channel);
}

static void wait_for_one(void *arg, int index)
{
    tkl_channel_messages *messages;
    (void)index;
    assert_code(tkl_channel_next(arg, 0, -1, &messages), TKL_EINTR);
}

static void an_interrupt_ends_a_wait(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *follower = follow(channel);
    crew *threads = crew_start(1, wait_for_one, follower);
    eventually(server_ask_int(f->server, "EVAL %s 0",
                              "return redis.call('PUBSUB','SHARDNUMSUB','" STATE "')[2]") == 1,
               LONG_MS);
    tkl_interrupt(f->client);
    crew_join(threads);
    tkl_resume(f->client);
    publish(channel, "x");
    assert_reads(follower, "x");
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

/* ---- History ------------------------------------------------------------- */

static void late_followers_begin_where_they_want(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_id third = {0};
    for (int i = 1; i <= 5; i++) {
        tkl_channel_id id = publish(channel, test_text("%d", i));
        third = i == 3 ? id : third;
    }
    static const struct {
        int64_t recent;
        const char *expected;
    } starts[] = {{0, "6"},           {1, "5 6"},           {3, "3 4 5 6"},
                  {5, "1 2 3 4 5 6"}, {100, "1 2 3 4 5 6"}, {TKL_NONE, "1 2 3 4 5 6"}};
    tkl_channel_follower *followers[sizeof starts / sizeof *starts];
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        tkl_channel_messages *messages;
        followers[i] =
            follow_with(channel, &(tkl_channel_follow_options){.recent = starts[i].recent});
        if (starts[i].recent == 0)
            assert_code(tkl_channel_next(followers[i], 0, 0, &messages), TKL_EMPTY);
    }
    tkl_channel_follower *after =
        follow_with(channel, &(tkl_channel_follow_options){.after = third});
    publish(channel, "6");
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        /* Followers that find their place now begin with one message more. */
        bool now = starts[i].recent > 0 && starts[i].recent <= 5;
        assert_reads(followers[i], now ? strchr(starts[i].expected, ' ') + 1 : starts[i].expected);
        tkl_channel_follower_close(followers[i]);
    }
    assert_reads(after, "4 5 6");
    tkl_channel_follower_close(after);
    tkl_channel_close(channel);
}

static void large_messages_are_found_from_the_end(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    char *large = calloc(1, TKL_CHANNEL_MESSAGE_MAX);
    tkl_bytes message = {large, TKL_CHANNEL_MESSAGE_MAX};
    for (int i = 0; i < 6; i++)
        assert_ok(tkl_channel_publish(channel, &message, 1, NULL));
    tkl_channel_follower *follower =
        follow_with(channel, &(tkl_channel_follow_options){.recent = 4});
    tkl_channel_messages *messages;
    int64_t next = 3;
    while (tkl_channel_next(follower, 0, 0, &messages) == TKL_OK) {
        for (size_t i = 0; i < messages->count; i++) {
            assert_int_equal(messages->items[i].id.number, next++);
            assert_int_equal(messages->items[i].data.len, TKL_CHANNEL_MESSAGE_MAX);
        }
        tkl_channel_messages_free(messages);
    }
    assert_int_equal(next, 7);
    free(large);
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void slow_followers_learn_what_they_lost(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_with(f->client, &(tkl_channel_options){.history = 10});
    tkl_channel_follower *follower = follow(channel);
    tkl_channel_messages *messages;
    server_do(f->server, "CONFIG SET stream-node-max-entries 5");
    publish_numbers(channel, 1, 100);
    int64_t kept = server_ask_int(f->server, "XLEN %s", HISTORY);
    assert_in_range(kept, 10, 15);
    assert_ok(tkl_channel_next(follower, 0, 0, &messages));
    assert_int_equal(messages->lost, 100 - kept);
    assert_int_equal(messages->count, kept);
    assert_int_equal(messages->items[0].id.number, 100 - kept + 1);
    tkl_channel_messages_free(messages);
    publish_numbers(channel, 101, 102);
    server_do(f->server, "XTRIM %s MAXLEN 0", HISTORY); /* as if all were too old */
    assert_ok(tkl_channel_next(follower, 0, 0, &messages));
    assert_int_equal(messages->lost, 2);
    assert_int_equal(messages->count, 0);
    tkl_channel_messages_free(messages);
    publish(channel, "103");
    assert_reads(follower, "103");
    server_do(f->server, "CONFIG SET stream-node-max-entries 100");
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void old_messages_and_keys_go(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_with(f->client, &(tkl_channel_options){.ttl_ms = 50});
    server_do(f->server, "CONFIG SET stream-node-max-entries 1");
    publish_numbers(channel, 1, 20);
    assert_in_range(server_ask_int(f->server, "PTTL %s", HISTORY), 1, 50 + 16000);
    assert_in_range(server_ask_int(f->server, "PTTL %s", STATE), 86000000, 86400050 + 16000);
    test_sleep_ms(60);
    publish_numbers(channel, 21, 40); /* one of them trims */
    assert_in_range(server_ask_int(f->server, "XLEN %s", HISTORY), 1, 39);
    server_do(f->server, "CONFIG SET stream-node-max-entries 100");
    tkl_channel_close(channel);
}

/* ---- Lost data ----------------------------------------------------------- */

static void a_flushed_channel_goes_on(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *follower = follow(channel);
    publish_numbers(channel, 1, 3);
    assert_reads(follower, "1 2 3");
    test_sleep_ms(2); /* the next id has a later time */
    server_do(f->server, "FLUSHALL");
    assert_reads(follower, "");
    publish(channel, "new");
    assert_reads(follower, "! new");
    assert_ok(tkl_channel_drop(channel));
    assert_code(tkl_channel_drop(channel), TKL_NOTFOUND);
    test_sleep_ms(2);
    publish(channel, "newer");
    assert_reads(follower, "! newer");
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void an_evicted_key_costs_little(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *follower = follow(channel);
    publish_numbers(channel, 1, 3);
    server_do(f->server, "DEL %s", STATE);
    publish(channel, "4");
    assert_reads(follower, "1 2 3 4"); /* numbers go on from the history */
    publish(channel, "5");
    server_do(f->server, "DEL %s", HISTORY);
    publish(channel, "6");
    assert_reads(follower, "-1 6");
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

/* Copies the channel to other keys, or back: as if the server were started with an older copy. */
static void copy_channel(fixture *f, bool back)
{
    static const char *const copied[][2] = {{STATE, "{news}:state"}, {HISTORY, "{news}:history"}};
    for (size_t i = 0; i < 2; i++)
        server_do(f->server, "COPY %s %s REPLACE", copied[i][back], copied[i][!back]);
}

static void an_older_copy_repeats_nothing_and_hides_nothing(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *follower = follow(channel);
    tkl_channel_id second = {0};
    for (int i = 1; i <= 5; i++) {
        tkl_channel_id id = publish(channel, test_text("%d", i));
        if (i == 1) /* lives are random bytes, zero among them */
            server_do(f->server, "EVAL %s 0",
                      "return redis.call('HSET', '" STATE "', 'life', 'a\\0b')");
        if (i == 2) {
            second = id;
            copy_channel(f, false);
        }
        test_sleep_ms(2);
    }
    assert_reads(follower, "1 2 3 4 5");
    copy_channel(f, true);
    assert_reads(follower, ""); /* knows more than the server */
    publish(channel, "3'");
    publish(channel, "4'");
    assert_reads(follower, "! 3' 4'");
    /* Again, and the new master's clock is behind: its ids look old. */
    copy_channel(f, true);
    server_do(f->server, "XADD %s %lld-3 r x m three", HISTORY, (long long)second.time_ms + 1);
    server_do(f->server, "HSET %s ms %lld number 3", STATE, (long long)second.time_ms + 1);
    assert_reads(follower, "! three");
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void a_new_life_with_small_ids_begins_at_its_beginning(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *follower = follow(channel);
    publish_numbers(channel, 1, 3);
    assert_reads(follower, "1 2 3");
    server_do(f->server, "DEL %s %s", STATE, HISTORY);
    server_do(f->server, "XADD %s 1000-1 r x m early", HISTORY); /* the clock was set back */
    server_do(f->server, "HSET %s ms 1000 number 1 life other", STATE);
    assert_reads(follower, "! early");
    publish(channel, "later");
    assert_reads(follower, "later");
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

typedef struct tally {
    int64_t published, read, lost;
    tkl_channel_id last; /* that was read; all zero: none, or messages were lost since */
} tally;

/* Reads up to `max` messages: they follow those that were read or lost before. */
static bool read_next(tkl_channel_follower *follower, size_t max, tally *t)
{
    tkl_channel_messages *messages;
    if (tkl_channel_next(follower, max, 0, &messages) != TKL_OK)
        return false;
    t->lost += messages->lost;
    t->last = (tkl_channel_id){0};
    for (size_t i = 0; i < messages->count; i++) {
        int64_t expected = ++t->read + t->lost;
        t->last = messages->items[i].id;
        assert_int_equal(t->last.number, expected);
        assert_int_equal(atoi(test_text(TKL_FMT, TKL_ARG(messages->items[i].data))), expected);
    }
    tkl_channel_messages_free(messages);
    return true;
}

/* Random publishing, trimming and reading against a model: each message is read once, in order, or
 * counted as lost. `comes_back`: the follower often ends, and another one begins behind the last
 * message that it has read. */
static void adds_up(fixture *f, bool comes_back)
{
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *follower = follow(channel);
    tally t = {0};
    unsigned seed = 7;
    for (int step = 0; step < 600; step++) {
        tkl_bytes batch[20];
        size_t count = 1 + (size_t)rand_r(&seed) % 20;
        for (size_t i = 0; i < count; i++)
            batch[i] = tkl_str(test_text("%d", (int)t.published + (int)i + 1));
        switch (rand_r(&seed) % 4) {
        case 0:
        case 1:
            assert_ok(tkl_channel_publish(channel, batch, count, NULL));
            t.published += (int64_t)count;
            break;
        case 2:
            server_do(f->server, "XTRIM %s MAXLEN %d", HISTORY, rand_r(&seed) % 30);
            break;
        default:
            read_next(follower, count, &t);
            if (comes_back && t.last.number > 0) {
                tkl_channel_follower_close(follower);
                follower = follow_with(channel, &(tkl_channel_follow_options){.after = t.last});
            }
        }
    }
    while (read_next(follower, 0, &t))
        ;
    assert_int_equal(t.read + t.lost, t.published);
    assert_true(t.lost > 0 && t.read > 0);
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void what_is_read_and_lost_adds_up(void **state)
{
    adds_up(*state, false);
}

static void a_follower_that_comes_back_misses_and_repeats_nothing(void **state)
{
    adds_up(*state, true);
}

/* ---- Operators, bad input ------------------------------------------------ */

static void operators_see_channels(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_info *info;
    tkl_names *names;
    assert_code(tkl_channel_show(channel, &info), TKL_NOTFOUND);
    assert_null(info);
    publish_numbers(channel, 1, 3);
    assert_ok(tkl_channel_show(channel, &info));
    assert_int_equal(info->published, 3);
    assert_int_equal(info->kept, 3);
    assert_int_equal(info->oldest.number, 1);
    assert_int_equal(info->last.number, 3);
    assert_true(info->expires_ms > 80000000);
    assert_int_equal(info->followers, 0);
    tkl_channel_info_free(info);
    tkl_channel_info_free(NULL);
    assert_ok(tkl_channel_names(f->client, &names));
    assert_int_equal(names->count, 1);
    assert_memory_equal(names->items[0].data, "news", 4);
    tkl_names_free(names);
    tkl_channel_close(channel);
}

static void bad_input_is_refused(void **state)
{
    fixture *f = *state;
    tkl_channel *channel;
    tkl_channel_follower *follower;
    tkl_channel_messages *messages;
    tkl_channel_id id;
    static const tkl_channel_options bad[] = {
        {.timeout_ms = -1}, {.ttl_ms = -1},
        {.history = -1},    {.history = TKL_CHANNEL_HISTORY_MAX + 1},
        {.reserved = {1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_channel_open(f->client, tkl_str("x"), &bad[i], &channel), TKL_EINVAL);
        assert_null(channel);
    }
    assert_code(tkl_channel_open(f->client, tkl_str(""), NULL, &channel), TKL_EINVAL);
    channel = open_channel(f->client);
    static const tkl_channel_follow_options wrong[] = {
        {.timeout_ms = -1}, {.recent = -2},    {.recent = TKL_CHANNEL_RECENT_MAX + 1},
        {.after = {-1, 1}}, {.after = {5, 0}}, {.after = {5, 5}, .recent = 1},
        {.reserved = {1}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_code(tkl_channel_follow(channel, &wrong[i], &follower), TKL_EINVAL);
    follower = follow_with(channel, NULL);
    assert_code(tkl_channel_next(follower, 1001, 0, &messages), TKL_EINVAL);
    char *large = calloc(1, TKL_CHANNEL_MESSAGE_MAX + 1);
    tkl_bytes many[TKL_CHANNEL_BATCH_MAX + 1] = {{large, TKL_CHANNEL_MESSAGE_MAX + 1}};
    assert_code(tkl_channel_publish(channel, many, 1, NULL), TKL_EINVAL);
    for (int i = 0; i < 5; i++)
        many[i] = (tkl_bytes){large, TKL_CHANNEL_MESSAGE_MAX};
    assert_code(tkl_channel_publish(channel, many, 5, NULL), TKL_EINVAL);
    assert_code(tkl_channel_publish(channel, many + 5, TKL_CHANNEL_BATCH_MAX + 1 - 5 + 5, NULL),
                TKL_EINVAL);
    free(large);
    static const char *const ids[] = {
        "", "1", "1-", "-1", "1-0", "a-1", "1-1x", "1--1", "99999999999999999999-1"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_code(tkl_channel_id_parse(ids[i], &id), TKL_EINVAL);
    char text[TKL_CHANNEL_ID_SIZE];
    assert_ok(tkl_channel_id_parse("1763447400123-42", &id));
    assert_string_equal(tkl_channel_id_text(id, text), "1763447400123-42");
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void damaged_keys_are_errors(void **state)
{
    fixture *f = *state;
    tkl_channel *channel = open_channel(f->client);
    tkl_channel_follower *follower = follow(channel);
    tkl_channel_messages *messages;
    tkl_bytes message = tkl_str("x");
    publish(channel, "1");
    server_do(f->server, "HSET %s number many", STATE);
    assert_code(tkl_channel_publish(channel, &message, 1, NULL), TKL_EDAMAGED);
    assert_code(tkl_channel_next(follower, 0, 0, &messages), TKL_EDAMAGED);
    server_do(f->server, "SET %s x", HISTORY);
    server_do(f->server, "DEL %s", STATE);
    assert_true(tkl_channel_publish(channel, &message, 1, NULL) < 0);
    assert_true(tkl_channel_next(follower, 0, 0, &messages) < 0);
    assert_int_equal(server_ask_int(f->server, "EXISTS %s", STATE), 0);
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
}

static void the_documented_permissions_suffice(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "channel.md");
    tkl_channel *channel = open_channel(client);
    tkl_channel_follower *follower =
        follow_with(channel, &(tkl_channel_follow_options){.recent = 2});
    tkl_channel_messages *messages;
    tkl_channel_info *info;
    tkl_names *names;
    publish_numbers(channel, 1, 20);
    assert_reads(follower, "19 20");
    assert_code(tkl_channel_next(follower, 0, 1, &messages), TKL_EMPTY);
    assert_ok(tkl_channel_show(channel, &info));
    tkl_channel_info_free(info);
    assert_ok(tkl_channel_names(client, &names));
    tkl_names_free(names);
    assert_ok(tkl_channel_drop(channel));
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
    tkl_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(followers_get_all_messages_in_order),
        TEST(a_batch_is_published_at_once),
        TEST(waiting_followers_miss_and_repeat_nothing),
        TEST(an_interrupt_ends_a_wait),
        TEST(late_followers_begin_where_they_want),
        TEST(large_messages_are_found_from_the_end),
        TEST(slow_followers_learn_what_they_lost),
        TEST(old_messages_and_keys_go),
        TEST(a_flushed_channel_goes_on),
        TEST(an_evicted_key_costs_little),
        TEST(an_older_copy_repeats_nothing_and_hides_nothing),
        TEST(a_new_life_with_small_ids_begins_at_its_beginning),
        TEST(what_is_read_and_lost_adds_up),
        TEST(a_follower_that_comes_back_misses_and_repeats_nothing),
        TEST(operators_see_channels),
        TEST(bad_input_is_refused),
        TEST(damaged_keys_are_errors),
        TEST(the_documented_permissions_suffice),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
