/* SPDX-License-Identifier: MIT
 *
 * What a server can say instead of an answer: each with the right code and a text that helps,
 * and waited out where waiting helps.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include "support/fake.h"
#include "support/fixture.h"

static const tkl_call_options brief = {.timeout_ms = 300};
static const tkl_call_options patient = {.timeout_ms = 30000};

/* ---- Not now: waited out within the time-out ----------------------------- */

static void refuse_thrice(fake_conn *c, void *arg)
{
    for (int i = 0; fake_expect(c) != NULL; i++)
        fake_sendz(c, i < 3 ? arg : "+at last\r\n");
}

static void refuse_always(fake_conn *c, void *arg)
{
    while (fake_expect(c) != NULL)
        fake_sendz(c, arg);
}

static const char *const not_now[] = {
    "-LOADING Redis is loading the dataset in memory\r\n",
    "-BUSY Redis is busy running a script. You can only call SCRIPT KILL\r\n",
    "-MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.\r\n",
    "-TRYAGAIN Multiple keys request during rehashing of slot\r\n",
    "-CLUSTERDOWN The cluster is down\r\n",
    "-NOREPLICAS Not enough good replicas to write.\r\n",
};

static void not_now_is_repeated_until_it_is_done(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(not_now) / sizeof(not_now[0]); i++) {
        fake *f = fake_start(refuse_thrice, (void *)not_now[i]);
        tkl_client *client = test_open(fake_url(f), NULL);
        call_expect(client, "at last", "GET", "k", NULL);
        tkl_close(client);
        fake_end(f);
    }
}

static void not_now_for_too_long_is_unready(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(not_now) / sizeof(not_now[0]); i++) {
        fake *f = fake_start(refuse_always, (void *)not_now[i]);
        tkl_client *client = test_open(fake_url(f), NULL);
        eventually(call_code(client, &brief, "GET", "k", NULL) == TKL_EUNREADY, 10000);
        char *word = strndup(not_now[i] + 1, strcspn(not_now[i], " ") - 1);
        assert_contains(tkl_errmsg(), word);
        free(word);
        tkl_close(client);
        fake_end(f);
    }
}

static void get_patiently(void *arg, int index)
{
    (void)index;
    assert_ok(call_code(arg, &patient, "GET", "k", NULL));
}

static void a_loading_server_is_waited_for(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .loading = true,
        .config = (const char *const[]){"save 3600 1", "loading-process-events-interval-bytes 1024",
                                        NULL},
    });
    server_do(s, "EVAL %s 0", "for i = 1, 100000 do redis.call('SET', 'k' .. i, i) end");
    server_shutdown(s);
    server_configure(s, "key-load-delay 200"); /* microseconds for each of them: 20 s and more */
    server_restart(s);
    tkl_client *client = test_open(s->url, NULL);
    eventually(call_code(client, &brief, "GET", "k1", NULL) == TKL_EUNREADY, 10000);
    assert_contains(tkl_errmsg(), "LOADING");
    crew *getter = crew_start(1, get_patiently, client);
    server_do(s, "CONFIG SET key-load-delay 0");
    crew_join(getter);
    call_expect(client, "100000", "GET", "k100000", NULL);
    tkl_close(client);
    server_end(s);
}

typedef struct script_run {
    tkl_client *client;
    atomic_int code;
} script_run;

static void run_for_ever(void *arg, int index)
{
    (void)index;
    script_run *run = arg;
    atomic_store(&run->code,
                 call_code(run->client, &patient, "EVAL", "while true do end", "0", NULL));
}

static bool is_busy(server *s)
{
    char *said = server_ask(s, "GET k");
    bool busy = strncmp(said, "BUSY ", 5) == 0;
    free(said);
    return busy;
}

static void a_busy_server_is_waited_for(void **state)
{
    fixture *f = *state;
    server_do(f->server, "CONFIG SET busy-reply-threshold 20");
    script_run run = {.client = f->client};
    crew *script = crew_start(1, run_for_ever, &run);
    eventually(is_busy(f->server), 10000);
    eventually(call_code(f->client, &brief, "GET", "k", NULL) == TKL_EUNREADY, 10000);
    assert_contains(tkl_errmsg(), "BUSY");
    crew *getters = crew_start(4, get_patiently, f->client);
    test_sleep_ms(50);
    server_do(f->server, "SCRIPT KILL");
    crew_join(getters);
    crew_join(script);
    assert_code(atomic_load(&run.code), TKL_EREFUSED);
    server_do(f->server, "CONFIG SET busy-reply-threshold 5000");
}

/* ---- Replicas ------------------------------------------------------------ */

static bool follows(server *replica)
{
    char *info = server_ask(replica, "INFO replication");
    bool up = strstr(info, "master_link_status:up") != NULL;
    free(info);
    return up;
}

static server *replica_of(const server *master, const char *stale)
{
    char *replicaof = test_format("replicaof 127.0.0.1 %d", master->port);
    char *serve = test_format("replica-serve-stale-data %s", stale);
    server *replica = server_start(&(server_options){
        .config = (const char *const[]){replicaof, serve, NULL},
    });
    free(replicaof);
    free(serve);
    eventually(follows(replica), 20000);
    return replica;
}

static void writing_to_a_replica_is_refused_at_once(void **state)
{
    (void)state;
    server *master = server_start(&(server_options){.tcp = true});
    server *replica = replica_of(master, "yes");
    tkl_client *client = test_open(replica->url, NULL);
    int64_t start = test_now_ms();
    assert_code(call_code(client, &patient, "SET", "k", "v", NULL), TKL_EREADONLY);
    assert_true(test_now_ms() - start < 15000);
    assert_contains(tkl_errmsg(), "READONLY");
    assert_ok(call_code(client, &patient, "GET", "k", NULL));
    tkl_close(client);
    server_end(replica);
    server_end(master);
}

static void a_promoted_replica_takes_writes_from_the_same_client(void **state)
{
    (void)state;
    server *master = server_start(&(server_options){.tcp = true});
    server *replica = replica_of(master, "yes");
    tkl_client *client = test_open(replica->url, NULL);
    assert_code(call_code(client, NULL, "SET", "k", "v", NULL), TKL_EREADONLY);
    server_do(replica, "REPLICAOF NO ONE");
    assert_ok(call_code(client, NULL, "SET", "k", "v", NULL));
    tkl_close(client);
    server_end(replica);
    server_end(master);
}

static void a_replica_that_lost_its_master_is_unready(void **state)
{
    (void)state;
    server *master = server_start(&(server_options){.tcp = true});
    server *replica = replica_of(master, "no");
    tkl_client *client = test_open(replica->url, NULL);
    assert_ok(call_code(client, &patient, "GET", "k", NULL));
    server_kill(master);
    eventually(call_code(client, &brief, "GET", "k", NULL) == TKL_EUNREADY, 10000);
    assert_contains(tkl_errmsg(), "MASTERDOWN");
    crew *getter = crew_start(1, get_patiently, client);
    test_sleep_ms(50);
    server_do(replica, "REPLICAOF NO ONE");
    crew_join(getter);
    tkl_close(client);
    server_end(replica);
    server_end(master);
}

/* ---- A plain no ---------------------------------------------------------- */

static void a_full_server_is_out_of_memory(void **state)
{
    fixture *f = *state;
    server_do(f->server, "CONFIG SET maxmemory 1");
    assert_code(tkl_callz(f->client, NULL, "SET", "k", "v", NULL), TKL_EOOM);
    assert_contains(tkl_errmsg(), "maxmemory");
    assert_ok(tkl_callz(f->client, NULL, "GET", "k", NULL));
    server_do(f->server, "CONFIG SET maxmemory 0");
    assert_ok(tkl_callz(f->client, NULL, "SET", "k", "v", NULL));
}

static void the_wrong_type_is_told(void **state)
{
    fixture *f = *state;
    assert_ok(tkl_callz(f->client, NULL, "SET", "k", "v", NULL));
    assert_code(tkl_callz(f->client, NULL, "LPUSH", "k", "v", NULL), TKL_ETYPE);
    assert_contains(tkl_errmsg(), "WRONGTYPE");
}

static void an_unknown_script_is_told(void **state)
{
    fixture *f = *state;
    assert_code(tkl_callz(f->client, NULL, "EVALSHA", "0123456789012345678901234567890123456789",
                          "0", NULL),
                TKL_ENOSCRIPT);
}

static void an_error_of_a_script_has_the_code_of_its_cause(void **state)
{
    fixture *f = *state;
    assert_ok(tkl_callz(f->client, NULL, "SET", "k", "v", NULL));
    assert_code(tkl_callz(f->client, NULL, "EVAL", "return redis.call('LPUSH', KEYS[1], 1)", "1",
                          "k", NULL),
                TKL_ETYPE);
}

/* ---- Errors of other threads --------------------------------------------- */

typedef struct notes {
    tkl_client *client;
    tkl_error errors[8];
} notes;

static void note_own_error(void *arg, int index)
{
    notes *n = arg;
    char word[32];
    snprintf(word, sizeof word, "NONSENSE%d", index);
    tkl_error_last(tkl_callz(n->client, NULL, word, NULL), &n->errors[index]);
    assert_ok(tkl_callz(n->client, NULL, "PING", NULL));
}

static void an_error_is_a_value_that_threads_can_pass_on(void **state)
{
    fixture *f = *state;
    notes n = {.client = f->client};
    assert_code(tkl_callz(f->client, NULL, "NONSENSE", NULL), TKL_EREFUSED);
    crew_join(crew_start(8, note_own_error, &n));
    assert_contains(tkl_errmsg(), "NONSENSE'");
    for (int i = 0; i < 8; i++) {
        char word[32];
        tkl_error copy = n.errors[i];
        snprintf(word, sizeof word, "NONSENSE%d'", i);
        assert_code(copy.code, TKL_EREFUSED);
        assert_contains(copy.text, word);
    }
}

static void an_error_has_a_text_unless_it_is_none(void **state)
{
    fixture *f = *state;
    tkl_error error;
    tkl_error_last(tkl_callz(f->client, NULL, "NONSENSE", NULL), &error);
    assert_code(error.code, TKL_EREFUSED);
    assert_string_equal(error.text, tkl_errmsg());
    tkl_error_last(tkl_callz(f->client, NULL, "PING", NULL), &error);
    assert_ok(error.code);
    assert_string_equal(error.text, "");
    tkl_error_last(TKL_FULL, &error); /* a code of a batch's item, say, without words of its own */
    assert_string_equal(error.text, tkl_strerror(TKL_FULL));
}

/* ---- Permissions --------------------------------------------------------- */

#define SECRET "hush-hush"

static server *guarded(void)
{
    return server_start(&(server_options){
        .password = SECRET,
        .config =
            (const char *const[]){"user reader on >" SECRET " ~public:* +get +ping +client +eval",
                                  "user guest on nopass ~* &* +@all", NULL},
    });
}

static int ping_as(const server *s, const tkl_options *options)
{
    tkl_client *client = test_open(s->url, options);
    int64_t start = test_now_ms();
    int code = call_code(client, &patient, "PING", NULL);
    assert_true(test_now_ms() - start < 15000); /* a wrong password does not get right by waiting */
    assert_lacks(tkl_errmsg(), SECRET);
    tkl_close(client);
    return code;
}

static void credentials_are_checked_and_never_shown(void **state)
{
    (void)state;
    server *s = guarded();
    assert_ok(ping_as(s, &(tkl_options){.password = SECRET}));
    assert_ok(ping_as(s, &(tkl_options){.username = "reader", .password = SECRET}));
    assert_ok(ping_as(s, &(tkl_options){.username = "guest"}));
    assert_code(ping_as(s, NULL), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "NOAUTH");
    assert_contains(tkl_errmsg(), "password");
    assert_code(ping_as(s, &(tkl_options){.password = SECRET "x"}), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "WRONGPASS");
    assert_code(ping_as(s, &(tkl_options){.username = "nobody", .password = SECRET}), TKL_EAUTH);
    server_end(s);
}

/* A wrong password comes in every possible way, and no message shows it. */
static void no_way_in_shows_the_password(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){.tcp = true, .password = "right"});
    char *url = test_format("redis://:" SECRET "@127.0.0.1:%d", s->port);
    char *user_url = test_format("redis://default:" SECRET "@127.0.0.1:%d/1", s->port);
    char *path = test_format("%s/password", test_dir());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(SECRET "\n", file);
    fclose(file);
    char *file_url = test_format("%s?password-file=%s", s->tcp_url, path);
    const struct {
        const char *url;
        tkl_options options;
    } ways[] = {
        {.url = url},
        {.url = user_url},
        {.url = file_url},
        {.url = s->tcp_url, .options = {.password_file = path}},
        {.url = s->tcp_url, .options = {.password = SECRET}},
        {.url = s->tcp_url, .options = {.username = "default", .password = SECRET}},
        {.url = s->tcp_url}, /* the environment's */
    };
    setenv("TACKLE_PASSWORD", SECRET, 1);
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        tkl_client *client = test_open(ways[i].url, &ways[i].options);
        assert_code(tkl_callz(client, NULL, "PING", NULL), TKL_EAUTH);
        assert_contains(tkl_errmsg(), "WRONGPASS");
        assert_lacks(tkl_errmsg(), SECRET);
        tkl_close(client);
    }
    unsetenv("TACKLE_PASSWORD");
    free(file_url);
    free(path);
    free(user_url);
    free(url);
    server_end(s);
}

static void a_password_where_none_is_wanted_is_told(void **state)
{
    fixture *f = *state;
    int code = ping_as(f->server, &(tkl_options){.password = SECRET});
    assert_code(code, TKL_EAUTH);
    assert_contains(tkl_errmsg(), "AUTH");
}

static void a_user_may_do_what_he_may(void **state)
{
    (void)state;
    server *s = guarded();
    tkl_client *client =
        test_open(s->url, &(tkl_options){.username = "reader", .password = SECRET});
    assert_ok(tkl_callz(client, NULL, "GET", "public:k", NULL));
    assert_code(tkl_callz(client, NULL, "SET", "public:k", "v", NULL), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "NOPERM");
    assert_contains(tkl_errmsg(), "set");
    assert_code(tkl_callz(client, NULL, "GET", "private:k", NULL), TKL_EAUTH);
    assert_contains(tkl_errmsg(), "NOPERM");
    const char *script = "return redis.call('SET', KEYS[1], 'v')";
    assert_code(tkl_callz(client, NULL, "EVAL", script, "1", "public:k", NULL), TKL_EAUTH);
    tkl_close(client);
    server_end(s);
}

static void a_user_who_may_not_name_connections_can_work(void **state)
{
    (void)state;
    server *s = server_start(&(server_options){
        .config = (const char *const[]){"user mute on >pw ~* +get", NULL},
    });
    tkl_client *client = test_open(s->url, &(tkl_options){.username = "mute", .password = "pw"});
    assert_ok(tkl_callz(client, NULL, "GET", "k", NULL));
    tkl_close(client);
    server_end(s);
}

static void a_password_revoked_while_connected_is_told(void **state)
{
    (void)state;
    server *s = guarded();
    tkl_client *client =
        test_open(s->url, &(tkl_options){.username = "reader", .password = SECRET});
    assert_ok(tkl_callz(client, NULL, "PING", NULL));
    server_do(s, "ACL DELUSER reader"); /* closes his connections, too */
    test_sleep_ms(20);
    assert_code(tkl_callz(client, NULL, "PING", NULL), TKL_EAUTH);
    assert_lacks(tkl_errmsg(), SECRET);
    tkl_close(client);
    server_end(s);
}

static void a_database_that_is_not_there_is_told(void **state)
{
    fixture *f = *state;
    char *url = test_format("%s?db=9999", f->server->url);
    tkl_client *client = test_open(url, NULL);
    assert_code(call_code(client, &patient, "PING", NULL), TKL_EREFUSED);
    assert_contains(tkl_errmsg(), "DB index");
    tkl_close(client);
    free(url);
}

/* ---- No room ------------------------------------------------------------- */

static void no_room_for_another_client_is_told_and_waited_for(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *first = test_open(s->url, NULL);
    call_expect(first, "PONG", "PING", NULL);
    server_do(s, "CONFIG SET maxclients 2"); /* the fixture's connection and this one */
    tkl_client *second = test_open(s->url, NULL);
    eventually(call_code(second, &brief, "GET", "k", NULL) == TKL_EUNREADY, 10000);
    assert_contains(tkl_errmsg(), "max number of clients");
    crew *getters = crew_start(3, get_patiently, second);
    test_sleep_ms(50);
    tkl_close(first);
    crew_join(getters);
    tkl_close(second);
    server_end(s);
}

int main(void)
{
    unsetenv("TACKLE_PASSWORD");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_now_is_repeated_until_it_is_done),
        cmocka_unit_test(not_now_for_too_long_is_unready),
        cmocka_unit_test(a_loading_server_is_waited_for),
        TEST(a_busy_server_is_waited_for),
        cmocka_unit_test(writing_to_a_replica_is_refused_at_once),
        cmocka_unit_test(a_promoted_replica_takes_writes_from_the_same_client),
        cmocka_unit_test(a_replica_that_lost_its_master_is_unready),
        TEST(a_full_server_is_out_of_memory),
        TEST(the_wrong_type_is_told),
        TEST(an_unknown_script_is_told),
        TEST(an_error_of_a_script_has_the_code_of_its_cause),
        TEST(an_error_is_a_value_that_threads_can_pass_on),
        TEST(an_error_has_a_text_unless_it_is_none),
        cmocka_unit_test(credentials_are_checked_and_never_shown),
        cmocka_unit_test(no_way_in_shows_the_password),
        TEST(a_password_where_none_is_wanted_is_told),
        cmocka_unit_test(a_user_may_do_what_he_may),
        cmocka_unit_test(a_user_who_may_not_name_connections_can_work),
        cmocka_unit_test(a_password_revoked_while_connected_is_told),
        TEST(a_database_that_is_not_there_is_told),
        cmocka_unit_test(no_room_for_another_client_is_told_and_waited_for),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
