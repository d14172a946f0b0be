/* SPDX-License-Identifier: MIT
 *
 * Cached values: one computation however many ask, early refresh, old values, "there is none",
 * tags, what is refused; callers that die, servers that are full, cut off or hand over.
 *
 * ctest: label threads
 * ctest: cost 15
 */
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tackle/tackle.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/permissions.h"
#include "support/proxy.h"
#include "support/text.h"

enum { LONG_MS = 60000, CALLERS = 50 };

#define ENTRY "tackle:cache:{page}"
#define LEASE "tackle:cache:{page}:lease"

static tkl_cache *open_cache(tkl_client *client, const tkl_cache_options *options)
{
    tkl_cache *cache;
    assert_ok(tkl_cache_open(client, options, &cache));
    return cache;
}

/* The computing function, which counts its calls and obeys the test. */
typedef struct source {
    atomic_int calls, running, most; /* most: at the same time */
    atomic_int code;                 /* other than TKL_OK: that is the outcome */
    atomic_int sleep_ms;
    tkl_cache *cache;
    tkl_cache *drops; /* drops the tag "site" while computing; NULL: nothing */
} source;

static int compute(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    source *s = arg;
    char text[32];
    int running = ++s->running, code = s->code;
    (void)key;
    if (running > s->most)
        s->most = running;
    snprintf(text, sizeof text, "%d", ++s->calls);
    if (s->drops)
        assert_ok(tkl_cache_drop_tag(s->drops, tkl_str("site"), NULL));
    test_sleep_ms(s->sleep_ms);
    s->running--;
    return code == TKL_OK ? tkl_cache_give(result, tkl_str(text)) : code;
}

static tkl_cache_value fetch(source *s, int expected)
{
    tkl_cache_value *value, copy = {0};
    assert_code(tkl_cache_fetch(s->cache, tkl_str("page"), compute, s, -1, &value), expected);
    if (value)
        copy = *value;
    copy.data = value ? tkl_str(test_text(TKL_FMT, TKL_ARG(value->data))) : tkl_str("");
    tkl_cache_value_free(value);
    return copy;
}

#define assert_fetches(source, text) assert_string_equal(fetch(source, TKL_OK).data.data, text)

/* ---- One computation ----------------------------------------------------- */

static void a_value_is_computed_once(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client, NULL)};
    tkl_cache_value first = fetch(&s, TKL_OK), second = fetch(&s, TKL_OK);
    assert_true(first.computed && !second.computed && !second.stale && !second.none);
    assert_string_equal(second.data.data, "1");
    assert_in_range(second.fresh_ms, 500000, 600000);
    assert_int_equal(s.calls, 1);
    assert_in_range(server_ask_int(f->server, "PTTL %s", ENTRY), 1100000, 1200000);
    assert_int_equal(server_ask_int(f->server, "EXISTS %s", LEASE), 0);
    tkl_cache_close(s.cache);
    tkl_cache_close(NULL);
    tkl_cache_value_free(NULL);
}

typedef struct crowd {
    source *source;
    const char *url;
    atomic_int ready;
} crowd;

/* Two clients, as on two machines. */
static void fetch_in_thread(void *arg, int index)
{
    crowd *c = arg;
    static tkl_client *clients[2];
    static atomic_int opened;
    if (index < 2) {
        clients[index] = test_open(c->url, NULL);
        opened++;
    }
    eventually(opened >= 2, LONG_MS);
    tkl_cache *cache = open_cache(clients[index % 2], NULL);
    tkl_cache_value *value;
    c->ready++;
    eventually(c->ready == CALLERS, LONG_MS);
    assert_ok(tkl_cache_fetch(cache, tkl_str("page"), compute, c->source, -1, &value));
    assert_string_equal(value->data.data, "1");
    tkl_cache_value_free(value);
    tkl_cache_close(cache);
    c->ready++;
    eventually(c->ready == 2 * CALLERS, LONG_MS);
    if (index < 2)
        tkl_close(clients[index]);
}

static void many_callers_cause_one_computation(void **state)
{
    fixture *f = *state;
    source s = {.sleep_ms = 300};
    crowd c = {.source = &s, .url = f->server->url};
    crew_run(CALLERS, fetch_in_thread, &c);
    assert_int_equal(s.calls, 1);
}

static void a_long_computation_keeps_its_lease(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client, NULL), .sleep_ms = 2000};
    assert_fetches(&s, "1"); /* longer than the lease */
    assert_int_equal(server_ask_int(f->server, "EXISTS %s", ENTRY), 1);
    tkl_cache_close(s.cache);
}

static void waiting_is_bounded(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client, NULL)};
    tkl_cache_value *value;
    server_do(f->server, "SET %s another PX 60000", LEASE);
    assert_code(tkl_cache_fetch(s.cache, tkl_str("page"), compute, &s, 0, &value), TKL_BUSY);
    assert_null(value);
    assert_code(tkl_cache_fetch(s.cache, tkl_str("page"), compute, &s, 20, &value), TKL_BUSY);
    assert_int_equal(s.calls, 0);
    tkl_cache_close(s.cache);
}

static void a_killed_caller_is_replaced(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    source s = {.cache = open_cache(f->client, NULL)};
    pid_t child = fork();
    if (child == 0) {
        tkl_client *client;
        tkl_cache *cache;
        tkl_cache_value *value;
        source endless = {.sleep_ms = 600000};
        if (tkl_open(f->server->url, NULL, &client) != TKL_OK ||
            tkl_cache_open(client, NULL, &cache) != TKL_OK)
            _exit(1);
        int rc = tkl_cache_fetch(cache, tkl_str("page"), compute, &endless, -1, &value);
        _exit(rc == TKL_OK ? 0 : 1);
    }
    eventually(server_ask_int(f->server, "EXISTS %s", LEASE) == 1, LONG_MS);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_fetches(&s, "1"); /* waits for the end of the lease */
    assert_int_equal(s.calls, 1);
    tkl_cache_close(s.cache);
}

static void fetch_failing(void *arg, int index)
{
    source *s = arg;
    tkl_cache_value *value;
    (void)index;
    int rc = tkl_cache_fetch(s->cache, tkl_str("page"), compute, s, -1, &value);
    assert_true(rc == TKL_EIO || rc == TKL_DEAD);
    assert_null(value);
}

static void waiters_share_a_failure(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client, NULL), .code = TKL_EIO, .sleep_ms = 500};
    crew *threads = crew_start(1, fetch_failing, &s);
    eventually(s.calls == 1, LONG_MS);
    crew *others = crew_start(10, fetch_failing, &s);
    crew_join(threads);
    crew_join(others);
    assert_int_equal(s.most, 1); /* late ones may have tried again, one after the other */
    assert_int_equal(server_ask_int(f->server, "EXISTS %s %s", ENTRY, LEASE), 0);
    tkl_cache_close(s.cache);
}

/* ---- Time ---------------------------------------------------------------- */

static void one_caller_refreshes_early(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client,
                                    &(tkl_cache_options){.ttl_ms = 100000, .refresh_ms = 40000})};
    assert_fetches(&s, "1");
    server_do(f->server, "PEXPIRE %s 150000", ENTRY); /* fresh for 50 s */
    assert_fetches(&s, "1");
    server_do(f->server, "PEXPIRE %s 130000", ENTRY); /* fresh for 30 s */
    server_do(f->server, "SET %s another PX 60000", LEASE);
    tkl_cache_value others = fetch(&s, TKL_OK);
    assert_string_equal(others.data.data, "1");
    assert_false(others.stale);
    server_do(f->server, "DEL %s", LEASE);
    assert_fetches(&s, "2");
    tkl_cache_close(s.cache);
}

static void an_old_value_is_used_while_computing_fails(void **state)
{
    fixture *f = *state;
    source s = {
        .cache = open_cache(f->client, &(tkl_cache_options){.ttl_ms = 100000, .stale_ms = 50000})};
    assert_fetches(&s, "1");
    server_do(f->server, "PEXPIRE %s 40000", ENTRY); /* stale for 10 s */
    s.code = TKL_EIO;
    tkl_cache_value old = fetch(&s, TKL_OK);
    assert_string_equal(old.data.data, "1");
    assert_true(old.stale && !old.computed && old.fresh_ms < 0);
    assert_int_equal(s.calls, 2);
    fetch(&s, TKL_OK);
    assert_in_range(s.calls, 2, 3); /* not again before a second has passed */
    s.code = TKL_OK;
    server_do(f->server, "DEL %s", LEASE);
    assert_true(fetch(&s, TKL_OK).computed);
    server_do(f->server, "DEL %s", ENTRY); /* the time for old values is over */
    s.code = TKL_EIO;
    fetch(&s, TKL_EIO);
    tkl_cache_close(s.cache);
}

static void none_is_an_answer(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client, &(tkl_cache_options){.none_ttl_ms = 5000}),
                .code = TKL_NOTFOUND};
    tkl_cache_value value = fetch(&s, TKL_OK);
    assert_true(value.none && value.computed && value.data.len == 0);
    assert_true(fetch(&s, TKL_OK).none);
    assert_int_equal(s.calls, 1);
    assert_in_range(server_ask_int(f->server, "PTTL %s", ENTRY), 1, 5000);
    tkl_cache_close(s.cache);
    s.cache = open_cache(f->client, &(tkl_cache_options){.none_ttl_ms = TKL_NONE});
    server_do(f->server, "DEL %s", ENTRY);
    assert_true(fetch(&s, TKL_OK).none);
    assert_true(fetch(&s, TKL_OK).none);
    assert_int_equal(s.calls, 3);
    tkl_cache_close(s.cache);
}

/* ---- Dropping ------------------------------------------------------------ */

static void dropped_values_are_computed_again(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client, NULL)};
    assert_fetches(&s, "1");
    assert_ok(tkl_cache_drop(s.cache, tkl_str("page")));
    assert_code(tkl_cache_drop(s.cache, tkl_str("page")), TKL_NOTFOUND);
    assert_fetches(&s, "2");
    tkl_cache_close(s.cache);
}

static void fetch_slowly(void *arg, int index)
{
    (void)index;
    assert_fetches((source *)arg, "1");
}

static void what_is_computed_while_it_is_dropped_is_not_kept(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client, NULL), .sleep_ms = 300};
    crew *threads = crew_start(1, fetch_slowly, &s);
    eventually(server_ask_int(f->server, "EXISTS %s", LEASE) == 1, LONG_MS);
    assert_code(tkl_cache_drop(s.cache, tkl_str("page")), TKL_NOTFOUND);
    crew_join(threads);
    assert_int_equal(server_ask_int(f->server, "EXISTS %s", ENTRY), 0);
    tkl_cache_close(s.cache);
}

static void tags_drop_many(void **state)
{
    fixture *f = *state;
    tkl_bytes tags[] = {tkl_str("site"), tkl_str("peo{ple")}, data = tkl_str("x");
    tkl_cache *both = open_cache(f->client, &(tkl_cache_options){.tags = tags, .tag_count = 2});
    tkl_cache *one = open_cache(f->client, &(tkl_cache_options){.tags = tags, .tag_count = 1});
    int64_t dropped;
    for (int i = 0; i < 2500; i++)
        assert_ok(tkl_cache_set(i < 10 ? both : one, tkl_str(test_text("key%d", i)), &data));
    assert_ok(tkl_cache_drop_tag(one, tkl_str("peo{ple"), &dropped));
    assert_int_equal(dropped, 10);
    assert_ok(tkl_cache_drop_tag(one, tkl_str("site"), &dropped));
    assert_int_equal(dropped, 2490);
    assert_ok(tkl_cache_drop_tag(one, tkl_str("site"), &dropped));
    assert_int_equal(dropped, 0);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 2); /* generations */
    tkl_cache_close(one);
    tkl_cache_close(both);
}

static void a_tag_that_is_dropped_while_computing_counts(void **state)
{
    fixture *f = *state;
    tkl_bytes tag = tkl_str("site");
    source s = {.cache = open_cache(f->client, &(tkl_cache_options){.tags = &tag, .tag_count = 1})};
    s.drops = s.cache;
    assert_fetches(&s, "1");
    assert_int_equal(server_ask_int(f->server, "EXISTS %s", ENTRY), 0);
    s.drops = NULL;
    assert_fetches(&s, "2");
    assert_int_equal(server_ask_int(f->server, "EXISTS %s", ENTRY), 1);
    tkl_cache_close(s.cache);
}

static void tags_forget_expired_values(void **state)
{
    fixture *f = *state;
    tkl_bytes tag = tkl_str("site"), data = tkl_str("x");
    tkl_cache *brief = open_cache(
        f->client,
        &(tkl_cache_options){.ttl_ms = 1, .stale_ms = TKL_NONE, .tags = &tag, .tag_count = 1});
    tkl_cache *lasting = open_cache(f->client, &(tkl_cache_options){.tags = &tag, .tag_count = 1});
    assert_ok(tkl_cache_set(lasting, tkl_str("lasting"), &data));
    for (int i = 0; i < 200; i++)
        assert_ok(tkl_cache_set(brief, tkl_str(test_text("key%d", i)), &data));
    test_sleep_ms(5);
    assert_ok(tkl_cache_set(lasting, tkl_str("another"), &data));
    assert_in_range(server_ask_int(f->server, "ZCARD tackle:cache-tag:{site}"), 2, 22);
    assert_in_range(server_ask_int(f->server, "PTTL tackle:cache-tag:{site}"), 1100000, 1200000);
    tkl_cache_close(brief);
    tkl_cache_close(lasting);
}

/* ---- A model ------------------------------------------------------------- */

enum { KEYS = 12, STEPS = 1500, TAGS = 2 };

/* Stored values. */
typedef struct model {
    bool there[KEYS], none[KEYS];
    int value[KEYS];
    bool tagged[KEYS][TAGS]; /* since the tag was dropped, if only by an earlier value */
    int computed;            /* the number that was computed last */
} model;

static int compute_number(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    model *m = arg;
    (void)key;
    return ++m->computed % 7 == 0 ? TKL_NOTFOUND
                                  : tkl_cache_give(result, tkl_str(test_text("%d", m->computed)));
}

/* Notes that a handle, which has the tags with bits in `tags`, has stored a value. */
static void model_store(model *m, int key, int tags, bool none, int value)
{
    m->there[key] = true;
    m->none[key] = none;
    m->value[key] = value;
    for (int tag = 0; tag < TAGS; tag++)
        m->tagged[key][tag] |= (tags >> tag & 1) != 0;
}

static int64_t model_drop_tag(model *m, int tag)
{
    int64_t dropped = 0;
    for (int key = 0; key < KEYS; key++) {
        dropped += m->tagged[key][tag] && m->there[key];
        m->there[key] &= !m->tagged[key][tag];
        m->tagged[key][tag] = false;
    }
    return dropped;
}

static void assert_value(const model *m, int key, const tkl_cache_value *value)
{
    assert_int_equal(value->none, m->none[key]);
    if (!value->none)
        assert_int_equal(atoi(test_text(TKL_FMT, TKL_ARG(value->data))), m->value[key]);
}

/* Random calls of handles with no tag, one of two, and both. */
static void a_cache_is_like_its_model(void **state)
{
    static const char *const names[TAGS] = {"red", "gr{ee}n"};
    fixture *f = *state;
    const tkl_bytes tags[TAGS] = {tkl_str(names[0]), tkl_str(names[1])};
    tkl_cache *caches[1 << TAGS];
    model m = {.computed = 0};
    unsigned seed = (unsigned)getpid();
    for (int i = 0; i < 1 << TAGS; i++)
        caches[i] = open_cache(f->client, &(tkl_cache_options){.tags = tags + (i == 2),
                                                               .tag_count = (size_t)(i + 1) / 2});
    for (int step = 0; step < STEPS; step++) {
        int key = rand_r(&seed) % KEYS, which = rand_r(&seed) % (1 << TAGS);
        int tag = rand_r(&seed) % TAGS, before = m.computed;
        tkl_bytes name = tkl_str(test_text("key%d", key)), data = tkl_str(test_text("%d", step));
        tkl_cache *cache = caches[which];
        tkl_cache_value *value = NULL;
        int64_t dropped;
        switch (rand_r(&seed) % 8) {
        case 0:
        case 1:
            assert_ok(tkl_cache_set(cache, name, step % 5 == 0 ? NULL : &data));
            model_store(&m, key, which, step % 5 == 0, step);
            break;
        case 2:
            assert_code(tkl_cache_drop(cache, name), m.there[key] ? TKL_OK : TKL_NOTFOUND);
            m.there[key] = false;
            break;
        case 3:
            assert_ok(tkl_cache_drop_tag(cache, tags[tag], &dropped));
            assert_int_equal(dropped, model_drop_tag(&m, tag));
            break;
        case 4:
        case 5:
            assert_code(tkl_cache_get(cache, name, &value), m.there[key] ? TKL_OK : TKL_NOTFOUND);
            if (value)
                assert_value(&m, key, value);
            break;
        default:
            assert_ok(tkl_cache_fetch(cache, name, compute_number, &m, 0, &value));
            assert_int_equal(m.computed > before, !m.there[key]);
            if (m.computed > before)
                model_store(&m, key, which, m.computed % 7 == 0, m.computed);
            assert_value(&m, key, value);
        }
        tkl_cache_value_free(value);
    }
    for (int i = 0; i < 1 << TAGS; i++)
        tkl_cache_close(caches[i]);
}

/* ---- Values by hand, bad input ------------------------------------------- */

static void values_by_hand(void **state)
{
    fixture *f = *state;
    tkl_cache *cache = open_cache(f->client, NULL);
    tkl_cache_value *value;
    tkl_cache_info *info;
    tkl_names *names;
    tkl_bytes data = {"\0\xff\n", 3};
    assert_code(tkl_cache_get(cache, tkl_str("page"), &value), TKL_NOTFOUND);
    assert_null(value);
    assert_code(tkl_cache_show(cache, tkl_str("page"), &info), TKL_NOTFOUND);
    assert_ok(tkl_cache_set(cache, tkl_str("page"), &data));
    assert_ok(tkl_cache_get(cache, tkl_str("page"), &value));
    assert_int_equal(value->data.len, 3);
    assert_memory_equal(value->data.data, "\0\xff\n", 3);
    tkl_cache_value_free(value);
    assert_ok(tkl_cache_show(cache, tkl_str("page"), &info));
    assert_int_equal(info->bytes, 3);
    assert_true(info->fresh_ms > 500000 && info->expires_ms > info->fresh_ms && !info->computing);
    tkl_cache_info_free(info);
    tkl_cache_info_free(NULL);
    assert_ok(tkl_cache_names(f->client, &names));
    assert_int_equal(names->count, 1);
    tkl_names_free(names);
    assert_ok(tkl_cache_set(cache, tkl_str("page"), NULL));
    assert_ok(tkl_cache_get(cache, tkl_str("page"), &value));
    assert_true(value->none);
    tkl_cache_value_free(value);
    tkl_cache_close(cache);
}

static int give_too_much(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    (void)key;
    return tkl_cache_give(result, (tkl_bytes){arg, TKL_CACHE_VALUE_MAX + 1});
}

static int give_nothing(tkl_bytes key, tkl_cache_result *result, void *arg)
{
    (void)key;
    (void)result;
    (void)arg;
    return TKL_OK;
}

static void bad_input_is_refused(void **state)
{
    fixture *f = *state;
    tkl_cache *cache;
    tkl_cache_value *value;
    tkl_bytes none = tkl_str(""), many[TKL_CACHE_TAGS_MAX + 1] = {{NULL, 0}};
    const tkl_cache_options bad[] = {
        {.timeout_ms = -1},
        {.ttl_ms = -1},
        {.stale_ms = -2},
        {.none_ttl_ms = -2},
        {.refresh_ms = -2},
        {.ttl_ms = 10, .refresh_ms = 11},
        {.tags = &none, .tag_count = 1},
        {.tags = many, .tag_count = TKL_CACHE_TAGS_MAX + 1},
        {.reserved = {1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_code(tkl_cache_open(f->client, &bad[i], &cache), TKL_EINVAL);
        assert_null(cache);
    }
    cache = open_cache(f->client, NULL);
    char *large = calloc(1, TKL_CACHE_VALUE_MAX + 1);
    tkl_bytes data = {large, TKL_CACHE_VALUE_MAX + 1};
    assert_code(tkl_cache_set(cache, tkl_str("page"), &data), TKL_EINVAL);
    data.len--;
    assert_ok(tkl_cache_set(cache, tkl_str("page"), &data));
    assert_code(tkl_cache_get(cache, tkl_str(""), &value), TKL_EINVAL);
    assert_code(tkl_cache_fetch(cache, tkl_str("k"), give_too_much, large, 0, &value), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "bytes");
    assert_code(tkl_cache_fetch(cache, tkl_str("k"), give_nothing, NULL, 0, &value), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "gave no value");
    server_do(f->server, "SET %s nonsense", ENTRY);
    assert_code(tkl_cache_get(cache, tkl_str("page"), &value), TKL_EDAMAGED);
    free(large);
    tkl_cache_close(cache);
}

/* ---- Trouble ------------------------------------------------------------- */

static void a_full_server_stores_nothing_and_computes(void **state)
{
    fixture *f = *state;
    source s = {.cache = open_cache(f->client, NULL)};
    assert_fetches(&s, "1"); /* the functions are there now */
    assert_ok(tkl_cache_drop(s.cache, tkl_str("page")));
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_fetches(&s, "2");
    assert_fetches(&s, "3");
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_fetches(&s, "4");
    assert_fetches(&s, "4");
    tkl_cache_close(s.cache);
}

static void cut_connections_cost_little(void **state)
{
    fixture *f = *state;
    proxy *p = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(p), NULL);
    source s = {.cache = open_cache(client, NULL)};
    for (int i = 0; i < 60; i++) {
        tkl_cache_value *value;
        proxy_cut_after(p, i % 2 ? TO_CLIENT : TO_SERVER, 13 * i);
        int rc = tkl_cache_fetch(s.cache, tkl_str("page"), compute, &s, -1, &value);
        assert_true(rc == TKL_OK || tkl_is_transient(rc) || tkl_is_unknown(rc));
        tkl_cache_value_free(value);
        rc = tkl_cache_drop(s.cache, tkl_str("page"));
        assert_true(rc >= 0 || tkl_is_transient(rc) || tkl_is_unknown(rc));
    }
    proxy_cut_after(p, TO_CLIENT, 1 << 30);
    assert_int_equal(fetch(&s, TKL_OK).none, false);
    tkl_cache_close(s.cache);
    tkl_close(client);
    proxy_end(p);
}

static void works_through(const char *url, void (*disturb)(void *servers), void *servers)
{
    tkl_client *client = test_open(url, NULL);
    tkl_bytes tags[] = {tkl_str("a"), tkl_str("b"), tkl_str("c")};
    source s = {.cache = open_cache(client, &(tkl_cache_options){.tags = tags, .tag_count = 3})};
    int64_t dropped;
    assert_fetches(&s, "1");
    assert_fetches(&s, "1");
    assert_ok(tkl_cache_drop_tag(s.cache, tkl_str("b"), &dropped));
    assert_int_equal(dropped, 1);
    assert_fetches(&s, "2");
    disturb(servers);
    fetch(&s, TKL_OK);
    assert_ok(tkl_cache_drop_tag(s.cache, tkl_str("c"), &dropped));
    assert_true(fetch(&s, TKL_OK).computed);
    assert_false(fetch(&s, TKL_OK).computed);
    tkl_cache_close(s.cache);
    tkl_close(client);
}

static void kill_owner(void *servers)
{
    cluster *c = servers;
    int slot = (int)server_ask_int(c->servers[0], "CLUSTER KEYSLOT %s", ENTRY);
    server *old = cluster_owner(c, slot);
    server_kill(old);
    eventually(cluster_owner(c, slot) != NULL && cluster_owner(c, slot) != old, LONG_MS);
}

static void a_cluster_fails_over(void **state)
{
    cluster *c = cluster_start(false);
    (void)state;
    works_through(c->url, kill_owner, c);
    cluster_end(c);
}

static void kill_master(void *servers)
{
    sentinels *trio = servers;
    server *old = sentinels_master(trio);
    server_kill(old);
    sentinels_await_other(trio, old);
}

static void sentinels_choose_another_master(void **state)
{
    sentinels *trio = sentinels_start();
    (void)state;
    works_through(trio->url, kill_master, trio);
    sentinels_end(trio);
}

static void the_documented_permissions_suffice(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "cache.md");
    tkl_bytes tag = tkl_str("site");
    source s = {.cache = open_cache(client, &(tkl_cache_options){.tags = &tag, .tag_count = 1})};
    tkl_cache_value *value;
    tkl_cache_info *info;
    tkl_names *names;
    assert_fetches(&s, "1");
    assert_ok(tkl_cache_show(s.cache, tkl_str("page"), &info));
    tkl_cache_info_free(info);
    assert_ok(tkl_cache_names(client, &names));
    tkl_names_free(names);
    assert_ok(tkl_cache_drop_tag(s.cache, tag, NULL));
    s.code = TKL_EIO;
    fetch(&s, TKL_EIO);
    server_do(f->server, "SET %s another PX 30", LEASE);
    fetch(&s, TKL_EIO);
    s.code = TKL_OK;
    s.sleep_ms = 600; /* renews */
    assert_fetches(&s, "4");
    assert_ok(tkl_cache_get(s.cache, tkl_str("page"), &value));
    tkl_cache_value_free(value);
    assert_ok(tkl_cache_drop(s.cache, tkl_str("page")));
    tkl_cache_close(s.cache);
    tkl_close(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_value_is_computed_once),
        TEST(many_callers_cause_one_computation),
        TEST(a_long_computation_keeps_its_lease),
        TEST(waiting_is_bounded),
        TEST(a_killed_caller_is_replaced),
        TEST(waiters_share_a_failure),
        TEST(one_caller_refreshes_early),
        TEST(an_old_value_is_used_while_computing_fails),
        TEST(none_is_an_answer),
        TEST(dropped_values_are_computed_again),
        TEST(what_is_computed_while_it_is_dropped_is_not_kept),
        TEST(tags_drop_many),
        TEST(a_tag_that_is_dropped_while_computing_counts),
        TEST(tags_forget_expired_values),
        TEST(a_cache_is_like_its_model),
        TEST(values_by_hand),
        TEST(bad_input_is_refused),
        TEST(a_full_server_stores_nothing_and_computes),
        TEST(cut_connections_cost_little),
        TEST(the_documented_permissions_suffice),
        cmocka_unit_test(a_cluster_fails_over),
        cmocka_unit_test(sentinels_choose_another_master),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
