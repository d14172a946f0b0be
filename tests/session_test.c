/* SPDX-License-Identifier: MIT
 *
 * Sessions: the users of tokens, the items viewed last and most, and the ends of sessions.
 *
 * ctest: label threads
 */
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tackle/session.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/locale.h"
#include "support/permissions.h"
#include "support/timed.h"

typedef char token_text[TKL_TOKEN_SIZE];

static tkl_session *open_store(tkl_client *client, const char *name,
                               const tkl_session_options *options)
{
    tkl_session *store;
    assert_ok(tkl_session_open(client, tkl_str(name), options, &store));
    return store;
}

static void touch(tkl_session *store, const char *token, const char *item)
{
    tkl_session_view view = {.token = token, .item = tkl_str(item)};
    assert_ok(tkl_session_touch(store, &view, 1, NULL));
}

static bool is_alive(tkl_session *store, const char *token)
{
    tkl_session_info *session;
    int rc = tkl_session_check(store, token, &session);
    tkl_session_info_free(session);
    assert_true(rc == TKL_OK || rc == TKL_NOTFOUND);
    return rc == TKL_OK;
}

/* "kettle teapot " */
static const char *joined(const tkl_session_items *items)
{
    static char text[4096];
    size_t len = 0;
    *text = '\0';
    for (size_t i = 0; i < items->count; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, TKL_FMT " ",
                                TKL_ARG(items->items[i].item));
    return text;
}

static void assert_recent(tkl_session *store, const char *token, size_t skip, size_t max,
                          const char *expected)
{
    tkl_session_items *items;
    assert_ok(tkl_session_recent(store, token, skip, max, &items));
    assert_string_equal(joined(items), expected);
    tkl_session_items_free(items);
}

static void assert_top(tkl_session *store, size_t skip, size_t max, const char *expected)
{
    tkl_session_items *items;
    assert_ok(tkl_session_top(store, skip, max, &items));
    assert_string_equal(joined(items), expected);
    tkl_session_items_free(items);
}

static double views_of(tkl_session *store, const char *item)
{
    tkl_session_items *items;
    double views = 0;
    assert_ok(tkl_session_top(store, 0, 100, &items));
    for (size_t i = 0; i < items->count; i++)
        if (items->items[i].item.len == strlen(item) &&
            memcmp(items->items[i].item.data, item, strlen(item)) == 0)
            views = items->items[i].views;
    tkl_session_items_free(items);
    return views;
}

/* ---- A session ----------------------------------------------------------- */

static void a_token_tells_whose_session_it_is(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text alice, bob;
    tkl_session_info *session;
    assert_ok(tkl_session_create(store, (tkl_bytes){"al\0ice\xff", 7}, 0, alice));
    assert_ok(tkl_session_create(store, tkl_str("bob"), 5000, bob));
    assert_int_equal(strlen(alice), 32);
    assert_string_not_equal(alice, bob);
    assert_ok(tkl_session_check(store, alice, &session));
    assert_int_equal(session->user.len, 7);
    assert_memory_equal(session->user.data, "al\0ice\xff", 7);
    assert_int_equal(session->ends_ms - session->seen_ms, 86400000);
    assert_int_equal(session->created_ms, session->seen_ms);
    tkl_session_info_free(session);
    assert_ok(tkl_session_check(store, bob, &session));
    assert_int_equal(session->ends_ms - session->seen_ms, 5000);
    tkl_session_info_free(session);
    tkl_session_close(store);
}

static void what_is_no_token_is_nobodys(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    static const char *const texts[] = {"", "x", "00000000000000000000000000000000",
                                        "0000000000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tkl_session_info *session;
        tkl_session_items *items;
        tkl_session_view view = {.token = texts[i]};
        assert_code(tkl_session_check(store, texts[i], &session), TKL_NOTFOUND);
        assert_null(session);
        assert_string_equal(tkl_errmsg(), "the session has ended, or never was");
        assert_code(tkl_session_touch(store, &view, 1, NULL), TKL_NOTFOUND);
        assert_code(tkl_session_end(store, texts[i]), TKL_NOTFOUND);
        assert_code(tkl_session_recent(store, texts[i], 0, 10, &items), TKL_NOTFOUND);
    }
    tkl_session_close(store);
}

static void the_server_does_not_know_tokens(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    touch(store, token, "teapot");
    char *keys = server_ask(f->server, "KEYS *");
    char *fields = server_ask(f->server, "HGETALL tackle:session:{shop}:sessions");
    assert_lacks(keys, token);
    assert_lacks(fields, token);
    assert_contains(fields, "alice");
    free(keys);
    free(fields);
    tkl_session_close(store);
}

static void a_session_ends_without_use_and_a_use_prolongs_it(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text used, unused;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 400, used));
    assert_ok(tkl_session_create(store, tkl_str("bob"), 400, unused));
    touch(store, unused, "teapot");
    eventually((touch(store, used, ""), !is_alive(store, unused)), 5000);
    assert_true(is_alive(store, used));
    tkl_session_items *items;
    tkl_session_view late = {.token = unused, .item = tkl_str("kettle")};
    assert_code(tkl_session_touch(store, &late, 1, NULL), TKL_NOTFOUND);
    assert_code(tkl_session_recent(store, unused, 0, 10, &items), TKL_NOTFOUND);
    assert_int_equal((int)views_of(store, "kettle"), 0); /* a late view counts nothing */
    eventually(server_ask_int(f->server, "EXISTS tackle:session:{shop}:sessions") == 0, 5000);
    tkl_session_close(store);
}

static void logging_out_takes_everything_along(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    touch(store, token, "teapot");
    assert_ok(tkl_session_end(store, token));
    assert_code(tkl_session_end(store, token), TKL_NOTFOUND);
    assert_false(is_alive(store, token));
    assert_ok(tkl_session_drop_ranking(store)); /* all that is left */
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    assert_code(tkl_session_drop_ranking(store), TKL_NOTFOUND);
    tkl_session_close(store);
}

/* ---- Items --------------------------------------------------------------- */

/* The data of a session as "name=value name=value", sorted; what `use` and `check` return. */
static void assert_data(tkl_session *store, const char *token, const char *expected)
{
    tkl_session_view view = {.token = token};
    for (int round = 0; round < 2; round++) {
        tkl_session_info *session;
        char line[512] = "";
        assert_ok(round == 0 ? tkl_session_use(store, &view, &session)
                             : tkl_session_check(store, token, &session));
        assert_memory_equal(session->user.data, "alice", 5);
        for (char first = 'a'; first <= 'z'; first++) /* names begin with different letters */
            for (size_t i = 0; i < session->field_count; i++)
                if (session->fields[i].name.data[0] == first)
                    sprintf(line + strlen(line), "%s" TKL_FMT "=" TKL_FMT, *line ? " " : "",
                            TKL_ARG(session->fields[i].name), TKL_ARG(session->fields[i].value));
        assert_string_equal(line, expected);
        tkl_session_info_free(session);
    }
}

static int set_field(tkl_session *store, const char *token, const char *name, tkl_bytes value)
{
    return tkl_session_set(store, token,
                           &(tkl_session_field){.name = tkl_str(name), .value = value}, 1);
}

static void a_session_has_data_that_ends_with_it(void **state)
{
    fixture *f = *state;
    tkl_session *store;
    char token[TKL_TOKEN_SIZE], other[TKL_TOKEN_SIZE];
    tkl_session_info *session;
    assert_ok(tkl_session_open(f->client, tkl_str("data"), NULL, &store));
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, other));
    assert_data(store, token, "");
    const tkl_session_field fields[] = {{.name = tkl_str("cart"), .value = tkl_str("teapot")},
                                        {.name = tkl_str("language"), .value = tkl_str("de")},
                                        {.name = tkl_str("cart"), .value = tkl_str("kettle")}};
    assert_ok(tkl_session_set(store, token, fields, 3));
    assert_data(store, token, "cart=kettle language=de");
    assert_ok(set_field(store, token, "cart", (tkl_bytes){NULL, 0}));
    assert_ok(set_field(store, token, "nothing", (tkl_bytes){NULL, 0}));
    assert_data(store, token, "language=de");
    assert_data(store, other, "");
    assert_ok(tkl_session_set(store, token, NULL, 0));

    char *large = calloc(1, TKL_SESSION_DATA_MAX + 1);
    memset(large, 'x', TKL_SESSION_DATA_MAX);
    assert_code(set_field(store, token, "a", (tkl_bytes){large, TKL_SESSION_DATA_MAX - 10}),
                TKL_FULL); /* 10 bytes are there */
    assert_contains(tkl_errmsg(), "16384");
    assert_ok(set_field(store, token, "a", (tkl_bytes){large, TKL_SESSION_DATA_MAX - 11}));
    assert_code(set_field(store, token, "b", tkl_str("c")), TKL_FULL);
    assert_ok(set_field(store, token, "a", tkl_str("z")));
    assert_data(store, token, "a=z language=de");
    tkl_session_field many[TKL_SESSION_FIELDS_MAX + 1] = {{.name = {0}}};
    char names[TKL_SESSION_FIELDS_MAX + 1][8];
    for (int i = 0; i <= TKL_SESSION_FIELDS_MAX; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        many[i] = (tkl_session_field){.name = tkl_str(names[i]), .value = tkl_str("v")};
    }
    assert_code(tkl_session_set(store, other, many, TKL_SESSION_FIELDS_MAX + 1), TKL_EINVAL);
    assert_ok(tkl_session_set(store, other, many, TKL_SESSION_FIELDS_MAX));
    assert_code(set_field(store, other, "more", tkl_str("v")), TKL_FULL);
    assert_code(set_field(store, other, "", tkl_str("v")), TKL_EINVAL);
    free(large);

    assert_ok(tkl_session_end(store, token));
    assert_code(set_field(store, token, "a", tkl_str("b")), TKL_NOTFOUND);
    assert_code(tkl_session_use(store, &(tkl_session_view){.token = token}, &session),
                TKL_NOTFOUND);
    assert_null(session);
    assert_code(set_field(store, "no token", "a", tkl_str("b")), TKL_NOTFOUND);
    int64_t ended;
    assert_ok(tkl_session_end_user(store, tkl_str("alice"), &ended));
    assert_int_equal(ended, 1);
    assert_int_equal(call_int(f->client, "DBSIZE", NULL), 0);
    tkl_session_close(store);
}

/* The data lives as long as its session, which every use prolongs. */
static void a_use_prolongs_the_data(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_session *store;
    char token[TKL_TOKEN_SIZE];
    int64_t noon = INT64_C(1800000000000);
    timed_set(t, noon);
    assert_ok(tkl_session_open(client, tkl_str("data"), NULL, &store));
    assert_ok(tkl_session_create(store, tkl_str("alice"), 3600000, token));
    assert_ok(set_field(store, token, "a", tkl_str("b")));
    for (int hour = 1; hour < 4; hour++) {
        timed_set(t, noon + hour * 3500000);
        assert_data(store, token, "a=b");
    }
    timed_set(t, noon + 30 * 3600000);
    eventually(call_int(client, "DBSIZE", NULL) == 0, 20000);
    tkl_session_close(store);
    tkl_close(client);
    timed_end(t);
}

static void items_are_remembered_without_repeats_the_latest_first(void **state)
{
    fixture *f = *state;
    tkl_session_options options = {.items = 3};
    tkl_session *store = open_store(f->client, "shop", &options);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    assert_recent(store, token, 0, 10, "");
    static const char *const views[] = {"d", "b", "c", "a", "d", "d", "c"};
    for (size_t i = 0; i < sizeof views / sizeof *views; i++)
        touch(store, token, views[i]);
    assert_recent(store, token, 0, 10, "c d a ");
    assert_recent(store, token, 1, 1, "d ");
    assert_top(store, 0, 2, "d c ");
    tkl_session_close(store);
}

static void many_uses_go_in_one_round_trip(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text tokens[10];
    tkl_session_view views[10];
    int codes[10];
    for (size_t i = 0; i < 10; i++) {
        assert_ok(tkl_session_create(store, tkl_str("alice"), 0, tokens[i]));
        views[i] = (tkl_session_view){.token = tokens[i], .item = tkl_str("teapot")};
    }
    assert_ok(tkl_session_end(store, tokens[3]));
    views[4].token = "nonsense";
    assert_code(tkl_session_touch(store, views, 10, codes), TKL_NOTFOUND);
    for (size_t i = 0; i < 10; i++)
        assert_code(codes[i], i == 3 || i == 4 ? TKL_NOTFOUND : TKL_OK);
    assert_in_range((int)(views_of(store, "teapot") + 0.5), 8, 8);
    static char
        large[TKL_SESSION_TEXT_MAX + 1]; /* one that is wrong does not keep back the others */
    views[5].item = (tkl_bytes){large, sizeof large};
    views[6].token = NULL;
    assert_code(tkl_session_touch(store, views + 5, 5, codes), TKL_EINVAL);
    for (size_t i = 0; i < 5; i++)
        assert_code(codes[i], i < 2 ? TKL_EINVAL : TKL_OK);
    assert_in_range((int)(views_of(store, "teapot") + 0.5), 11, 11);
    views[5] = (tkl_session_view){.token = tokens[3]}; /* has ended: a "no", and no error */
    assert_code(tkl_session_touch(store, views + 5, 5, codes), TKL_EINVAL);
    assert_contains(tkl_errmsg(), "no token");
    assert_code(codes[0], TKL_NOTFOUND);
    assert_ok(tkl_session_touch(store, NULL, 0, NULL));
    tkl_session_close(store);
}

/* Each thousand has the time that a call has. */
static void very_many_uses_do_not_run_out_of_time(void **state)
{
    fixture *f = *state;
    enum { COUNT = 60000 };
    tkl_session_options options = {.timeout_ms = 3000, .half_life_ms = TKL_NONE};
    tkl_session *store = open_store(f->client, "shop", &options);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    tkl_session_view *views = calloc(COUNT, sizeof *views);
    for (size_t i = 0; i < COUNT; i++)
        views[i] = (tkl_session_view){.token = token, .item = tkl_str("teapot")};
    assert_ok(tkl_session_touch(store, views, COUNT, NULL));
    assert_true(views_of(store, "teapot") == COUNT);
    free(views);
    tkl_session_close(store);
}

static void new_items_rise_as_old_views_lose_weight(void **state)
{
    fixture *f = *state;
    tkl_session_options options = {.half_life_ms = 100};
    tkl_session *store = open_store(f->client, "shop", &options);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    for (int i = 0; i < 8; i++)
        touch(store, token, "old");
    test_sleep_ms(600); /* six half-lives */
    touch(store, token, "new");
    assert_top(store, 0, 10, "new old ");
    assert_true(views_of(store, "old") < 0.2);
    tkl_session_close(store);
}

static void without_a_half_life_views_are_counted(void **state)
{
    fixture *f = *state;
    tkl_session_options options = {.half_life_ms = TKL_NONE};
    tkl_session *store = open_store(f->client, "shop", &options);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    for (int i = 0; i < 7; i++)
        touch(store, token, i < 5 ? "a" : "b");
    assert_true(views_of(store, "a") == 5);
    assert_ok(tkl_session_rename_item(store, tkl_str("b"), tkl_str("a")));
    assert_true(views_of(store, "a") == 7);
    assert_code(tkl_session_rename_item(store, tkl_str("b"), tkl_str("c")), TKL_NOTFOUND);
    assert_ok(tkl_session_rename_item(store, tkl_str("a"), tkl_str("a")));
    assert_true(views_of(store, "a") == 7);
    assert_ok(tkl_session_drop_item(store, tkl_str("a")));
    assert_code(tkl_session_drop_item(store, tkl_str("a")), TKL_NOTFOUND);
    assert_top(store, 0, 10, "");
    tkl_session_close(store);
}

static void the_ranking_is_bounded(void **state)
{
    fixture *f = *state;
    tkl_session_options options = {.ranked = 5};
    tkl_session *store = open_store(f->client, "shop", &options);
    token_text token;
    tkl_session_stats stats;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    for (int i = 0; i < 20; i++) {
        char item[8];
        snprintf(item, sizeof item, "%d", i);
        touch(store, token, item);
    }
    assert_ok(tkl_session_stats_get(store, &stats));
    assert_int_equal(stats.items, 5);
    assert_int_equal(stats.sessions, 1);
    tkl_session_close(store);
}

static void view_item(tkl_session *store, const char *item)
{
    tkl_bytes bytes = tkl_str(item);
    assert_ok(tkl_session_view_items(store, &bytes, 1));
}

/* A frequent item that comes late gets in, with and without a half-life. */
static void a_full_ranking_lets_new_items_in(void **state)
{
    fixture *f = *state;
    enum { PLACES = 20, VIEWS = 100 };
    static const int64_t half_lives[] = {TKL_NONE, 3600000, 0};
    for (size_t i = 0; i < 3; i++) {
        tkl_session_options options = {.ranked = PLACES, .half_life_ms = half_lives[i]};
        char name[2] = {(char)('a' + i), '\0'}, item[16];
        tkl_session *store = open_store(f->client, name, &options);
        for (int k = 0; k < 2 * PLACES; k++) {
            snprintf(item, sizeof item, "old %d", k % PLACES);
            view_item(store, item);
        }
        for (int k = 0; k < VIEWS; k++) {
            view_item(store, "new");
            snprintf(item, sizeof item, "rare %d", k);
            view_item(store, item);
        }
        tkl_session_items *top;
        assert_ok(tkl_session_top(store, 0, PLACES, &top));
        assert_int_equal(top->count, PLACES);
        assert_memory_equal(top->items[0].item.data, "new", 3);
        assert_true(top->items[0].excess > 0);
        if (half_lives[i] == TKL_NONE) {
            assert_true(top->items[0].views - top->items[0].excess <= VIEWS);
            assert_true(top->items[0].views >= VIEWS);
            assert_true(top->items[0].excess <= (2.0 * PLACES + 2.0 * VIEWS) / PLACES);
        }
        tkl_session_items_free(top);
        tkl_session_close(store);
    }
}

/* Two half-lives measure by different scales: one program cannot spoil the others' ranking. */
static void another_half_life_is_refused(void **state)
{
    fixture *f = *state;
    static const int64_t others[] = {1000, 7200000, TKL_NONE};
    static const char *const messages[] = {"the ranking has a half-life of 3600000 ms, not 1000",
                                           "the ranking has a half-life of 3600000 ms, not 7200000",
                                           "the ranking has a half-life of 3600000 ms, not none"};
    tkl_session_options options = {.half_life_ms = 3600000};
    tkl_session *store = open_store(f->client, "shop", &options);
    tkl_session *any = open_store(f->client, "shop", NULL);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    touch(store, token, "teapot");
    for (size_t i = 0; i < 3; i++) {
        options.half_life_ms = others[i];
        tkl_session *other = open_store(f->client, "shop", &options);
        tkl_session_view one = {.token = token, .item = tkl_str("kettle")};
        tkl_bytes kettle = tkl_str("kettle");
        tkl_session_items *top;
        assert_code(tkl_session_touch(other, &one, 1, NULL), TKL_EINVAL);
        assert_string_equal(tkl_errmsg(), messages[i]);
        assert_code(tkl_session_view_items(other, &kettle, 1), TKL_EINVAL);
        assert_code(tkl_session_top(other, 0, 10, &top), TKL_EINVAL);
        assert_null(top);
        assert_code(tkl_session_rename_item(other, tkl_str("teapot"), kettle), TKL_EINVAL);
        touch(other, token, ""); /* nothing is viewed */
        tkl_session_close(other);
    }
    assert_recent(store, token, 0, 10, "teapot ");
    touch(any, token, "teapot"); /* without a half-life of its own, it takes the stored one */
    assert_top(any, 0, 10, "teapot ");
    assert_in_range((int)(views_of(store, "teapot") * 10 + 0.5), 19, 20);
    assert_ok(tkl_session_drop_item(any, tkl_str("teapot"))); /* empty: it may change */
    options.half_life_ms = TKL_NONE;
    tkl_session *other = open_store(f->client, "shop", &options);
    view_item(other, "pot");
    assert_true(views_of(any, "pot") == 1);
    assert_int_equal(server_ask_int(f->server, "PTTL tackle:session:{shop}:ranking_info"), -1);
    tkl_session_close(other);
    tkl_session_close(any);
    tkl_session_close(store);
}

static void views_need_no_session(void **state)
{
    fixture *f = *state;
    enum { COUNT = 12345 };
    tkl_session_options options = {.half_life_ms = TKL_NONE};
    tkl_session *store = open_store(f->client, "shop", &options);
    tkl_bytes *items = calloc(COUNT, sizeof *items);
    for (size_t i = 0; i < COUNT; i++)
        items[i] = tkl_str(i % 5 ? "teapot" : "kettle");
    assert_ok(tkl_session_view_items(store, items, COUNT));
    assert_true(views_of(store, "teapot") + views_of(store, "kettle") == COUNT);
    assert_true(views_of(store, "kettle") == COUNT / 5);
    items[77] = tkl_str("");
    assert_code(tkl_session_view_items(store, items, COUNT), TKL_EINVAL);
    assert_true(views_of(store, "kettle") == COUNT / 5);
    assert_ok(tkl_session_view_items(store, NULL, 0));
    server_do(f->server, "SET tackle:session:{shop}:ranking_info x");
    assert_code(tkl_session_view_items(store, items, 1), TKL_ETYPE);
    server_do(f->server, "DEL tackle:session:{shop}:ranking_info");
    server_do(f->server, "HSET tackle:session:{shop}:ranking_info half_life long");
    assert_code(tkl_session_view_items(store, items, 1), TKL_EDAMAGED);
    free(items);
    tkl_session_close(store);
}

static void a_token_that_ended_since_the_check_is_not_used(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "a:b c", NULL);
    token_text token;
    tkl_session_view view = {.token = token, .item = TKL_LIT("nul\0: item")};
    assert_ok(tkl_session_create(store, (tkl_bytes)TKL_LIT("nul\0: user"), 0, token));
    assert_ok(tkl_session_touch(store, &view, 1, NULL));
    assert_true(is_alive(store, token));
    assert_ok(tkl_session_end_user(store, (tkl_bytes)TKL_LIT("nul\0: user"), NULL));
    assert_code(tkl_session_touch(store, &view, 1, NULL), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "the session has ended");
    tkl_session_items *items;
    assert_code(tkl_session_recent(store, token, 0, 5, &items), TKL_NOTFOUND);
    assert_ok(tkl_session_top(store, 0, 5, &items));
    assert_int_equal(items->items[0].item.len, 10);
    assert_true(items->items[0].views < 1.01); /* the one before it ended */
    tkl_session_items_free(items);
    assert_code(tkl_session_drop_item(store, tkl_str("x")), TKL_NOTFOUND);
    assert_contains(tkl_errmsg(), "not in the ranking");
    tkl_session_close(store);
}

static void a_decimal_comma_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_session_options options = {.half_life_ms = 1000};
    tkl_session *store = open_store(f->client, "shop", &options);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    locale_with_a_comma();
    touch(store, token, "teapot");
    touch(store, token, "teapot");
    test_sleep_ms(100);
    double views = views_of(store, "teapot");
    locale_plain();
    assert_true(views > 0.2 && views < 1.99 && views != 1);
    tkl_session_close(store);
}

/* ---- Many sessions ------------------------------------------------------- */

static void beyond_the_limit_the_oldest_go_with_their_items(void **state)
{
    fixture *f = *state;
    tkl_session_options options = {.most = 3};
    tkl_session *store = open_store(f->client, "shop", &options);
    token_text tokens[5];
    for (int i = 0; i < 5; i++) {
        assert_ok(tkl_session_create(store, tkl_str("alice"), 0, tokens[i]));
        touch(store, tokens[i], "teapot");
        test_sleep_ms(2); /* they end at different times */
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(is_alive(store, tokens[i]), i >= 2);
    char *keys = server_ask(f->server, "KEYS *:items:*");
    int count = 0;
    for (const char *at = keys; (at = strchr(at, '\n')); at++)
        count++;
    assert_int_equal(count, 3);
    free(keys);
    tkl_session_close(store);
}

/* Long names: a page takes several steps, each of 256 KB or a little more. */
static void pages_of_long_names_are_read_in_short_steps(void **state)
{
    fixture *f = *state;
    enum { COUNT = 1000, STEPS = 4 };
    static char names[COUNT][1024];
    static tkl_bytes items[COUNT];
    tkl_session *store = open_store(f->client, "shop", &(tkl_session_options){.items = COUNT});
    tkl_session_items *found;
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    for (int i = 0; i < COUNT; i++) {
        memset(names[i], 'x', sizeof names[i]);
        memcpy(names[i], &i, sizeof i);
        items[i] = (tkl_bytes){names[i], sizeof names[i]};
        tkl_session_view view = {.token = token, .item = items[i]};
        assert_ok(tkl_session_touch(store, &view, 1, NULL));
    }
    int64_t before = server_functions(f->server);
    assert_ok(tkl_session_recent(store, token, 0, COUNT, &found));
    assert_in_range(server_functions(f->server) - before, STEPS, STEPS + 1);
    assert_int_equal(found->count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_memory_equal(found->items[i].item.data, names[COUNT - 1 - i], sizeof names[i]);
        assert_true(found->items[i].viewed_ms > 0);
    }
    tkl_session_items_free(found);
    assert_ok(tkl_session_view_items(store, items + 300, 1));
    before = server_functions(f->server);
    assert_ok(tkl_session_top(store, 0, COUNT, &found));
    assert_in_range(server_functions(f->server) - before, STEPS, STEPS + 1);
    assert_int_equal(found->count, COUNT);
    assert_memory_equal(found->items[0].item.data, names[300], sizeof names[300]);
    for (size_t i = 0; i < COUNT; i++)
        assert_true(found->items[i].views > 0);
    tkl_session_items_free(found);
    tkl_session_close(store);
}

static void a_user_with_10000_sessions_is_logged_out(void **state)
{
    fixture *f = *state;
    enum { SESSIONS = 10000 };
    tkl_session *store = open_store(f->client, "shop", NULL);
    tkl_session_list *list;
    token_text token, other, similar;
    int64_t ended;
    for (int i = 0; i < SESSIONS; i++)
        assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    assert_ok(tkl_session_create(store, tkl_str("alic"), 0, other));
    assert_ok(tkl_session_create(store, tkl_str("alice:"), 0, similar));
    touch(store, token, "teapot");
    assert_ok(tkl_session_of_user(store, tkl_str("alice"), SESSIONS - 10, 100, &list));
    assert_int_equal(list->count, 10);
    assert_memory_equal(list->items[0].user.data, "alice", 5);
    tkl_session_list_free(list);
    assert_ok(tkl_session_end_user(store, tkl_str("alice"), &ended));
    assert_int_equal(ended, SESSIONS);
    assert_false(is_alive(store, token));
    assert_true(is_alive(store, other) && is_alive(store, similar));
    assert_int_equal(
        server_ask_int(f->server, "EVAL %s 0", "return #redis.call('KEYS', '*:items:*')"), 0);
    assert_ok(tkl_session_end_user(store, tkl_str("alice"), &ended));
    assert_int_equal(ended, 0);
    tkl_session_close(store);
}

static void ended_sessions_do_not_hide_those_behind_them(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    tkl_session_list *list;
    token_text token;
    for (int i = 0; i < 600; i++)
        assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    char *ids = server_ask(f->server, "ZRANGE tackle:session:{shop}:users 0 -1");
    char *rest = ids; /* all but the last of them end */
    for (int i = 0; i < 599; i++) {
        const char *id = strrchr(strsep(&rest, "\n"), ':') + 1;
        server_do(f->server, "ZADD tackle:session:{shop}:ends 1 %s", id);
    }
    free(ids);
    assert_ok(tkl_session_of_user(store, tkl_str("alice"), 0, 10, &list));
    assert_int_equal(list->count, 1);
    tkl_session_list_free(list);
    assert_int_equal(server_ask_int(f->server, "ZCARD tackle:session:{shop}:users"), 1);
    tkl_session_close(store);
}

static void dropping_a_store_leaves_nothing(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text token;
    tkl_names *names;
    for (int i = 0; i < 5; i++) {
        assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
        touch(store, token, "teapot");
    }
    assert_ok(tkl_session_names(f->client, &names));
    assert_int_equal(names->count, 1);
    assert_memory_equal(names->items[0].data, "shop", 4);
    tkl_names_free(names);
    assert_ok(tkl_session_drop(store));
    assert_code(tkl_session_drop(store), TKL_NOTFOUND);
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    tkl_session_close(store);
}

typedef struct pair {
    tkl_session *store;
    const char *token;
} pair;

static void view_often(void *arg, int index)
{
    pair *p = arg;
    for (int i = 0; i < 200; i++)
        touch(p->store, p->token, index % 2 ? "even" : "odd");
}

static void uses_at_once_all_count(void **state)
{
    fixture *f = *state;
    tkl_session_options options = {.half_life_ms = TKL_NONE};
    token_text token;
    pair p = {open_store(f->client, "shop", &options), token};
    assert_ok(tkl_session_create(p.store, tkl_str("alice"), 0, token));
    crew_run(8, view_often, &p);
    assert_true(views_of(p.store, "even") == 800 && views_of(p.store, "odd") == 800);
    tkl_session_close(p.store);
}

/* ---- Bad cases ----------------------------------------------------------- */

static void wrong_arguments_are_refused(void **state)
{
    fixture *f = *state;
    static const tkl_session_options bad[] = {
        {.timeout_ms = -1}, {.ttl_ms = -1},       {.most = -1},      {.items = 1001},
        {.ranked = -1},     {.half_life_ms = -2}, {.reserved = {1}},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tkl_session *none;
        assert_code(tkl_session_open(f->client, tkl_str("x"), &bad[i], &none), TKL_EINVAL);
        assert_null(none);
    }
    tkl_session *store = open_store(f->client, "{}%\n", NULL);
    static char large[TKL_SESSION_TEXT_MAX + 1];
    token_text token;
    tkl_session_items *items;
    assert_code(tkl_session_create(store, tkl_str(""), 0, token), TKL_EINVAL);
    assert_string_equal(token, "");
    assert_code(tkl_session_create(store, (tkl_bytes){large, sizeof large}, 0, token), TKL_EINVAL);
    assert_code(tkl_session_create(store, tkl_str("alice"), -1, token), TKL_EINVAL);
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    tkl_session_view view = {.token = token, .item = {large, sizeof large}};
    assert_code(tkl_session_touch(store, &view, 1, NULL), TKL_EINVAL);
    view = (tkl_session_view){.token = NULL};
    assert_code(tkl_session_touch(store, &view, 1, NULL), TKL_EINVAL);
    assert_code(tkl_session_top(store, 0, 0, &items), TKL_EINVAL);
    assert_code(tkl_session_top(store, 0, 1001, &items), TKL_EINVAL);
    tkl_session_close(store);
    tkl_session_close(NULL);
}

static void foreign_data_is_reported_and_stays(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text token;
    tkl_session_info *session;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    char *ids = server_ask(f->server, "HKEYS tackle:session:{shop}:sessions");
    *strchr(ids, '\n') = '\0';
    server_do(f->server, "HSET tackle:session:{shop}:sessions %s garbage", ids);
    assert_code(tkl_session_check(store, token, &session), TKL_EDAMAGED);
    tkl_session_view view = {.token = token, .item = tkl_str("teapot")};
    assert_code(tkl_session_touch(store, &view, 1, NULL), TKL_EDAMAGED);
    assert_int_equal(server_ask_int(f->server, "EXISTS tackle:session:{shop}:ranking"), 0);
    token_text bob; /* the others are not kept from going on, also when it has ended */
    server_do(f->server, "ZADD tackle:session:{shop}:ends 1 %s", ids);
    assert_ok(tkl_session_create(store, tkl_str("bob"), 0, bob));
    touch(store, bob, "teapot");
    assert_int_equal(server_ask_int(f->server, "HLEN tackle:session:{shop}:sessions"), 1);
    free(ids);
    server_do(f->server, "SET tackle:session:{shop}:ranking x");
    view.token = bob;
    view.item = tkl_str("kettle");
    assert_code(tkl_session_touch(store, &view, 1, NULL), TKL_ETYPE);
    assert_recent(store, bob, 0, 5, "teapot ");
    static const char *const parts[] = {"sessions", "ends", "users"};
    for (size_t i = 0; i < 3; i++) { /* found before anything is written */
        tkl_session *other = open_store(f->client, "other", NULL);
        server_do(f->server, "FLUSHALL");
        server_do(f->server, "SET tackle:session:{other}:%s x", parts[i]);
        assert_code(tkl_session_create(other, tkl_str("alice"), 0, token), TKL_ETYPE);
        assert_int_equal(server_ask_int(f->server, "DBSIZE"), 1);
        tkl_session_close(other);
    }
    tkl_session_close(store);
}

static void a_full_server_changes_nothing(void **state)
{
    fixture *f = *state;
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text token, none;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    server_do(f->server, "CONFIG SET maxmemory 1");
    tkl_session_view view = {.token = token, .item = tkl_str("teapot")};
    assert_code(tkl_session_touch(store, &view, 1, NULL), TKL_EOOM);
    assert_code(tkl_session_create(store, tkl_str("bob"), 0, none), TKL_EOOM);
    assert_string_equal(none, "");
    assert_true(is_alive(store, token));
    server_do(f->server, "CONFIG SET maxmemory 0");
    tkl_session *small = open_store(f->client, "small", &(tkl_session_options){.ranked = 1});
    tkl_bytes kettle = tkl_str("kettle");
    view_item(small, "pot");
    server_do(f->server, "CONFIG SET maxmemory 1"); /* although "pot" could make room */
    assert_code(tkl_session_view_items(small, &kettle, 1), TKL_EOOM);
    assert_top(small, 0, 5, "pot ");
    assert_ok(tkl_session_drop_ranking(small));
    tkl_session_close(small);
    assert_ok(tkl_session_end(store, token));
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_int_equal(server_ask_int(f->server, "DBSIZE"), 0);
    tkl_session_close(store);
}

static void the_permissions_of_the_page_are_enough(void **state)
{
    fixture *f = *state;
    tkl_client *client = documented_user(f->server, "session.md");
    tkl_session_list *list;
    token_text token;
    tkl_session_options small = {.most = 2, .ranked = 1};
    tkl_session *store = open_store(client, "shop", &small);
    for (int i = 0; i < 5; i++) {
        assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
        touch(store, token, i % 2 ? "teapot" : "kettle");
    }
    assert_recent(store, token, 0, 5, "kettle ");
    assert_true(is_alive(store, token));
    assert_ok(tkl_session_of_user(store, tkl_str("alice"), 0, 10, &list));
    tkl_session_list_free(list);
    assert_ok(tkl_session_rename_item(store, tkl_str("kettle"), tkl_str("pot")));
    assert_ok(tkl_session_drop_item(store, tkl_str("pot")));
    view_item(store, "cup");
    assert_top(store, 0, 5, "cup ");
    assert_ok(tkl_session_drop_ranking(store));
    tkl_session_stats stats;
    assert_ok(tkl_session_stats_get(store, &stats));
    assert_ok(tkl_session_end(store, token));
    assert_ok(tkl_session_end_user(store, tkl_str("alice"), NULL));
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    tkl_names *names;
    assert_ok(tkl_session_names(client, &names));
    tkl_names_free(names);
    assert_ok(tkl_session_drop(store));
    tkl_session_close(store);
    tkl_close(client);
}

static void a_forked_child_may_use_it(void **state)
{
    fixture *f = *state;
    skip_under_sanitizers();
    tkl_session *store = open_store(f->client, "shop", NULL);
    token_text token;
    assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
    pid_t child = fork();
    if (child == 0) {
        tkl_session_info *session;
        int rc = tkl_session_check(store, token, &session);
        tkl_session_info_free(session);
        _exit(rc == TKL_OK ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tkl_session_close(store);
}

/* ---- The clock ----------------------------------------------------------- */

static void a_clock_set_back_does_not_change_who_came_first(void **state)
{
    (void)state;
    timed_server *t = timed_start(NULL);
    tkl_client *client = test_open(t->server->url, NULL);
    tkl_session_options options = {.most = 3, .items = 3};
    tkl_session *store = open_store(client, "shop", &options);
    token_text tokens[5];
    for (int i = 0; i < 5; i++) {
        if (i == 3)
            timed_shift(t, -HOUR_MS);
        assert_ok(tkl_session_create(store, tkl_str("alice"), 0, tokens[i]));
        test_sleep_ms(2);
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(is_alive(store, tokens[i]), i >= 2);
    timed_shift(t, HOUR_MS);
    touch(store, tokens[4], "a");
    touch(store, tokens[4], "b");
    touch(store, tokens[4], "c");
    timed_shift(t, -HOUR_MS);
    touch(store, tokens[4], "a");
    touch(store, tokens[4], "d");
    assert_recent(store, tokens[4], 0, 5, "d a c ");
    tkl_session_close(store);
    options.half_life_ms = 1000; /* an hour ahead weighs 2^3600 */
    store = open_store(client, "quick", &options);
    timed_shift(t, HOUR_MS);
    assert_ok(tkl_session_create(store, tkl_str("alice"), 10 * HOUR_MS, tokens[0]));
    touch(store, tokens[0], "a");
    timed_shift(t, -HOUR_MS);
    tkl_session_items *top;
    assert_ok(tkl_session_top(store, 0, 5, &top));
    assert_int_equal(top->count, 1);
    assert_true(isfinite(top->items[0].views));
    tkl_session_items_free(top);
    tkl_session_close(store);
    tkl_close(client);
    timed_end(t);
}

static void a_store_works_on_a_cluster(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client;
    token_text token;
    assert_ok(tkl_open(c->url, NULL, &client));
    tkl_session_options small = {.most = 1};
    tkl_session *store = open_store(client, "shop", &small);
    for (int i = 0; i < 3; i++) {
        assert_ok(tkl_session_create(store, tkl_str("alice"), 0, token));
        touch(store, token, "teapot");
    }
    assert_recent(store, token, 0, 5, "teapot ");
    assert_ok(tkl_session_drop(store));
    tkl_session_close(store);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_token_tells_whose_session_it_is),
        TEST(what_is_no_token_is_nobodys),
        TEST(the_server_does_not_know_tokens),
        TEST(a_session_ends_without_use_and_a_use_prolongs_it),
        TEST(logging_out_takes_everything_along),
        TEST(a_session_has_data_that_ends_with_it),
        cmocka_unit_test(a_use_prolongs_the_data),
        TEST(items_are_remembered_without_repeats_the_latest_first),
        TEST(many_uses_go_in_one_round_trip),
        TEST(very_many_uses_do_not_run_out_of_time),
        TEST(new_items_rise_as_old_views_lose_weight),
        TEST(without_a_half_life_views_are_counted),
        TEST(the_ranking_is_bounded),
        TEST(a_full_ranking_lets_new_items_in),
        TEST(another_half_life_is_refused),
        TEST(views_need_no_session),
        TEST(a_token_that_ended_since_the_check_is_not_used),
        TEST(a_decimal_comma_changes_nothing),
        TEST(beyond_the_limit_the_oldest_go_with_their_items),
        TEST(pages_of_long_names_are_read_in_short_steps),
        TEST(a_user_with_10000_sessions_is_logged_out),
        TEST(ended_sessions_do_not_hide_those_behind_them),
        TEST(dropping_a_store_leaves_nothing),
        TEST(uses_at_once_all_count),
        TEST(wrong_arguments_are_refused),
        TEST(foreign_data_is_reported_and_stays),
        TEST(a_full_server_changes_nothing),
        TEST(the_permissions_of_the_page_are_enough),
        TEST(a_forked_child_may_use_it),
        cmocka_unit_test(a_clock_set_back_does_not_change_who_came_first),
        cmocka_unit_test(a_store_works_on_a_cluster),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
