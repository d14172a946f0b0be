/* SPDX-License-Identifier: MIT
 *
 * Operations of several components in one pipeline: one round trip, each outcome its own.
 *
 * ctest: label threads
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tackle/tackle.h>

#include "support/cluster.h"
#include "support/fixture.h"
#include "support/proxy.h"

static bool is_text(tkl_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

/* ---- A web site ---------------------------------------------------------- */

typedef struct site {
    tkl_client *client;
    tkl_pipeline *page;
    tkl_session *sessions;
    tkl_limit *limit;
    tkl_counter *hits;
    tkl_stats *times;
    tkl_log *log;
    tkl_online *online;
    tkl_queue *queue;
    tkl_cache *cache;
    tkl_board *board;
    tkl_channel *news;
    char token[TKL_TOKEN_SIZE];
} site;

static void open_site(site *s, tkl_client *client)
{
    static const tkl_limit_rule rule = {.count = 3, .period_ms = 600000};
    *s = (site){.client = client};
    assert_ok(tkl_pipeline_open(client, NULL, &s->page));
    assert_ok(tkl_session_open(client, tkl_str("shop"), NULL, &s->sessions));
    assert_ok(tkl_limit_open(client, tkl_str("api"), &rule, NULL, &s->limit));
    assert_ok(tkl_counter_open(client, tkl_str("hits"), NULL, &s->hits));
    assert_ok(tkl_stats_open(client, tkl_str("time"), NULL, &s->times));
    assert_ok(tkl_log_open(client, tkl_str("web"), NULL, &s->log));
    assert_ok(tkl_online_open(client, tkl_str("site"),
                              &(tkl_online_options){.kind = TKL_ONLINE_SET}, &s->online));
    assert_ok(tkl_queue_open(client, tkl_str("mails"), NULL, &s->queue));
    assert_ok(tkl_cache_open(client, NULL, &s->cache));
    assert_ok(tkl_board_open(client, tkl_str("chess"), NULL, &s->board));
    assert_ok(tkl_channel_open(client, tkl_str("news"), NULL, &s->news));
    assert_ok(tkl_session_create(s->sessions, tkl_str("alice"), 0, s->token));
}

static void close_site(site *s)
{
    tkl_pipeline_close(s->page);
    tkl_session_close(s->sessions);
    tkl_limit_close(s->limit);
    tkl_counter_close(s->hits);
    tkl_stats_close(s->times);
    tkl_log_close(s->log);
    tkl_online_close(s->online);
    tkl_queue_close(s->queue);
    tkl_cache_close(s->cache);
    tkl_board_close(s->board);
    tkl_channel_close(s->news);
}

enum {
    TOUCH,
    USE,
    CHECK,
    COUNT,
    TIME,
    WRITE,
    MARK,
    PUSH,
    SET,
    GET,
    SCORE,
    PUBLISH,
    OPERATIONS,
};

/* The operations of a visitor's request, and their outcomes. */
typedef struct visit {
    tkl_result results[OPERATIONS];
    tkl_session_info *session;
    tkl_limit_answer answer;
    int64_t fresh, changed;
    char job[TKL_JOB_ID_SIZE];
    tkl_cache_value *value;
    tkl_channel_id id;
} visit;

/* The arguments are overwritten as soon as they are added: the pipeline has copies. */
static void add_visit(site *s, visit *v)
{
    char token[TKL_TOKEN_SIZE], text[] = "alice";
    tkl_bytes alice = tkl_str(text), data = tkl_str("<h1>");
    tkl_result *r = v->results;
    snprintf(token, sizeof token, "%s", s->token);
    tkl_session_view view = {.token = token, .item = tkl_str("teapot")};
    assert_ok(tkl_session_touch_in(s->page, s->sessions, &view, &r[TOUCH]));
    assert_ok(tkl_session_use_in(s->page, s->sessions, &view, &v->session, &r[USE]));
    assert_ok(tkl_limit_check_in(s->page, s->limit, alice, 1, &v->answer, &r[CHECK]));
    assert_ok(tkl_counter_add_in(s->page, s->hits, 1, &r[COUNT]));
    assert_ok(tkl_stats_record_in(s->page, s->times,
                                  &(tkl_stats_value){.context = alice, .value = 0.5}, &r[TIME]));
    assert_ok(tkl_log_write_in(
        s->page, s->log, &(tkl_log_message){.severity = TKL_LOG_INFO, .text = alice}, &r[WRITE]));
    assert_ok(tkl_online_mark_in(s->page, s->online, alice, &v->fresh, &r[MARK]));
    assert_ok(
        tkl_queue_push_in(s->page, s->queue, &(tkl_push){.payload = alice}, v->job, &r[PUSH]));
    assert_ok(tkl_cache_set_in(s->page, s->cache, alice, &data, &r[SET]));
    assert_ok(tkl_cache_get_in(s->page, s->cache, alice, &v->value, &r[GET]));
    assert_ok(
        tkl_board_add_in(s->page, s->board, &(tkl_board_score){alice, 15}, &v->changed, &r[SCORE]));
    assert_ok(tkl_channel_publish_in(s->page, s->news, alice, &v->id, &r[PUBLISH]));
    for (size_t i = 0; i < OPERATIONS; i++)
        assert_int_equal(r[i].code, TKL_ENOTSENT);
    memset(text, 'x', sizeof text - 1);
    memset(token, 'x', sizeof token - 1);
}

static void check_visit(const visit *v, int64_t times)
{
    for (size_t i = 0; i < OPERATIONS; i++) {
        assert_string_equal(v->results[i].text, "");
        assert_int_equal(v->results[i].code, TKL_OK);
    }
    assert_true(is_text(v->session->user, "alice"));
    assert_true(v->answer.allowed);
    assert_int_equal(v->answer.remaining, 3 - times);
    assert_int_equal(v->fresh, times == 1);
    assert_true(strlen(v->job) > 0);
    assert_true(is_text(v->value->data, "<h1>"));
    assert_int_equal(v->changed, 1);
    assert_int_equal(v->id.number, times);
}

static void free_visit(visit *v)
{
    tkl_session_info_free(v->session);
    tkl_cache_value_free(v->value);
}

/* One visit, read back by each component itself. */
static void check_traces(const site *s)
{
    tkl_log_entries *entries;
    tkl_board_entries *around;
    tkl_queue_stats stats;
    tkl_stats_summary *summary;
    assert_ok(tkl_log_recent(s->log, TKL_LOG_INFO, 10, &entries));
    assert_int_equal(entries->count, 1);
    assert_true(is_text(entries->items[0].message, "alice"));
    tkl_log_entries_free(entries);
    assert_ok(tkl_board_around(s->board, tkl_str("alice"), 0, 0, &around));
    assert_true(around->items[0].score == 15);
    tkl_board_entries_free(around);
    assert_ok(tkl_queue_stats_get(s->queue, &stats));
    assert_int_equal(stats.ready, 1);
    assert_ok(tkl_stats_show(s->times, &(tkl_bytes)TKL_LIT("alice"), 1, TKL_HOUR_BOTH, &summary));
    assert_int_equal(summary->count, 1);
    tkl_stats_summary_free(summary);
}

/* ---- Tests --------------------------------------------------------------- */

static void all_operations_work_and_leave_their_traces(void **state)
{
    fixture *f = *state;
    site s;
    visit v;
    open_site(&s, f->client);
    server_do(f->server, "FUNCTION FLUSH"); /* the run loads what is missing */
    add_visit(&s, &v);
    assert_ok(tkl_pipeline_run(s.page, NULL, NULL));
    check_visit(&v, 1);
    check_traces(&s);
    free_visit(&v);
    add_visit(&s, &v);
    assert_ok(tkl_pipeline_run(s.page, NULL, NULL));
    check_visit(&v, 2);
    free_visit(&v);
    close_site(&s);
}

static void *run_page(void *arg)
{
    site *s = arg;
    assert_ok(tkl_pipeline_run(s->page, NULL, NULL));
    return NULL;
}

static void they_are_one_round_trip(void **state)
{
    fixture *f = *state;
    proxy *between = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    pthread_t thread;
    site s;
    visit v;
    open_site(&s, client);
    add_visit(&s, &v);
    assert_ok(tkl_pipeline_run(s.page, NULL, NULL)); /* the server has the functions now */
    free_visit(&v);
    add_visit(&s, &v);
    int64_t before = server_calls(f->server, "fcall") + server_calls(f->server, "fcall_ro");
    proxy_hold(between, TO_CLIENT, true);
    pthread_create(&thread, NULL, run_page, &s);
    /* No reply has passed, and all operations have run. */
    eventually(server_calls(f->server, "fcall") + server_calls(f->server, "fcall_ro") ==
                   before + OPERATIONS,
               20000);
    proxy_hold(between, TO_CLIENT, false);
    pthread_join(thread, NULL);
    check_visit(&v, 2);
    free_visit(&v);
    close_site(&s);
    tkl_close(client);
    proxy_end(between);
}

static void each_outcome_is_its_own(void **state)
{
    fixture *f = *state;
    site s;
    tkl_result ended, limited, none, wrong, damaged, counted, exists;
    tkl_session_info *session;
    tkl_limit_answer answer;
    tkl_cache_value *value;
    char first[TKL_JOB_ID_SIZE], second[TKL_JOB_ID_SIZE];
    tkl_push job = {.payload = tkl_str("p"), .unique = tkl_str("u")};
    tkl_reply *replies;
    open_site(&s, f->client);
    assert_ok(tkl_session_end(s.sessions, s.token));
    assert_ok(tkl_limit_check(s.limit, tkl_str("bob"), 3, NULL));
    server_do(f->server, "SET tackle:log:{web}:recent:info x");
    tkl_session_view view = {.token = s.token};
    assert_ok(tkl_session_use_in(s.page, s.sessions, &view, &session, &ended));
    assert_ok(tkl_limit_check_in(s.page, s.limit, tkl_str("bob"), 1, &answer, &limited));
    assert_ok(tkl_cache_get_in(s.page, s.cache, tkl_str("nothing"), &value, &none));
    assert_code(tkl_limit_check_in(s.page, s.limit, tkl_str(""), 1, &answer, &wrong), TKL_EINVAL);
    assert_ok(tkl_log_write_in(s.page, s.log,
                               &(tkl_log_message){TKL_LOG_INFO, tkl_str("m"), 0, {0}}, &damaged));
    assert_ok(tkl_pipeline_addz(s.page, "SET", "a", "1", NULL));
    assert_ok(tkl_counter_add_in(s.page, s.hits, 5, &counted));
    assert_ok(tkl_queue_push_in(s.page, s.queue, &job, first, NULL));
    assert_ok(tkl_queue_push_in(s.page, s.queue, &job, second, &exists));
    assert_ok(tkl_pipeline_run(s.page, NULL, &replies));
    assert_string_equal(tkl_reply_str(tkl_reply_at(replies, 4)), "OK");
    tkl_reply_free(replies);
    assert_int_equal(ended.code, TKL_NOTFOUND);
    assert_contains(ended.text, "session");
    assert_null(session);
    assert_int_equal(limited.code, TKL_LIMITED);
    assert_true(answer.retry_after_ms > 0 && !answer.allowed);
    assert_int_equal(none.code, TKL_NOTFOUND);
    assert_null(value);
    assert_int_equal(wrong.code, TKL_EINVAL);
    assert_true(strlen(wrong.text) > 0);
    assert_int_equal(damaged.code, TKL_ETYPE);
    assert_true(strlen(damaged.text) > 0);
    assert_int_equal(counted.code, TKL_OK);
    assert_int_equal(exists.code, TKL_EXISTS);
    assert_string_equal(first, second);
    close_site(&s);
}

static void a_lost_reply_is_told_by_each_result(void **state)
{
    fixture *f = *state;
    proxy *between = proxy_start(f->server->socket);
    tkl_client *client = test_open(proxy_url(between), NULL);
    site s;
    visit v;
    open_site(&s, client);
    add_visit(&s, &v);
    assert_ok(tkl_pipeline_run(s.page, NULL, NULL));
    free_visit(&v);
    add_visit(&s, &v);
    proxy_cut_after(between, TO_CLIENT, 0);
    assert_code(tkl_pipeline_run(s.page, NULL, NULL), TKL_EUNKNOWN);
    static const int repeated[] = {MARK, PUSH, SET, GET},
                     unknown[] = {TOUCH, COUNT, SCORE, PUBLISH};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(v.results[repeated[i]].code, TKL_OK);
        assert_int_equal(v.results[unknown[i]].code, TKL_EUNKNOWN);
        assert_true(strlen(v.results[unknown[i]].text) > 0);
    }
    tkl_queue_stats stats;
    assert_ok(tkl_queue_stats_get(s.queue, &stats));
    assert_int_equal(stats.ready, 2); /* the repeat did not push twice */
    free_visit(&v);
    close_site(&s);
    tkl_close(client);
    proxy_end(between);
}

static void a_pipeline_that_never_runs_says_so(void **state)
{
    fixture *f = *state;
    site s;
    visit v;
    char id[TKL_JOB_ID_SIZE];
    open_site(&s, f->client);
    add_visit(&s, &v);
    tkl_pipeline_close(s.page);
    s.page = NULL;
    for (size_t i = 0; i < OPERATIONS; i++) {
        assert_int_equal(v.results[i].code, TKL_ENOTSENT);
        assert_contains(v.results[i].text, "closed");
    }
    assert_ok(tkl_queue_push_one(s.queue, tkl_str("x"), id)); /* its lane is free again */
    close_site(&s);
}

static void operations_are_refused_where_they_do_not_belong(void **state)
{
    fixture *f = *state;
    tkl_client *other = test_open(f->server->url, NULL);
    tkl_pipeline *pipeline;
    tkl_result result;
    tkl_cache *tagged;
    tkl_bytes tag = tkl_str("t"), data = tkl_str("d");
    site s;
    open_site(&s, f->client);
    assert_ok(tkl_pipeline_open(other, NULL, &pipeline));
    assert_code(tkl_counter_add_in(pipeline, s.hits, 1, &result), TKL_EINVAL);
    assert_int_equal(result.code, TKL_EINVAL);
    tkl_pipeline_close(pipeline);
    assert_ok(
        tkl_pipeline_open(f->client, &(tkl_pipeline_options){.transaction = true}, &pipeline));
    assert_code(tkl_counter_add_in(pipeline, s.hits, 1, &result), TKL_EINVAL);
    assert_contains(result.text, "transaction");
    assert_code(tkl_queue_push_in(pipeline, s.queue, &(tkl_push){.payload = data}, NULL, NULL),
                TKL_EINVAL);
    tkl_pipeline_close(pipeline);
    assert_ok(
        tkl_cache_open(f->client, &(tkl_cache_options){.tags = &tag, .tag_count = 1}, &tagged));
    assert_code(tkl_cache_set_in(s.page, tagged, tkl_str("k"), &data, &result), TKL_EINVAL);
    tkl_cache_close(tagged);
    assert_code(
        tkl_board_add_in(s.page, s.board, &(tkl_board_score){tkl_str(""), 1}, NULL, &result),
        TKL_EINVAL);
    assert_ok(tkl_pipeline_run(s.page, NULL, NULL)); /* nothing was added */
    close_site(&s);
    tkl_close(other);
}

static void a_child_cannot_run_operations_of_its_parent(void **state)
{
    fixture *f = *state;
    tkl_result result;
    int status;
    site s;
    open_site(&s, f->client);
    assert_ok(tkl_counter_add_in(s.page, s.hits, 1, &result));
    pid_t child = fork();
    if (child == 0) {
        int rc = tkl_pipeline_run(s.page, NULL, NULL);
        _exit(rc == TKL_EINVAL ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_ok(tkl_pipeline_run(s.page, NULL, NULL));
    assert_int_equal(result.code, TKL_OK);
    close_site(&s);
}

/* A board and an online set whose settings another program has made: the handles learn them. */
static void other_settings_are_learned_by_the_run(void **state)
{
    fixture *f = *state;
    tkl_board *weekly, *plain;
    tkl_board_options per_week = {.per = TKL_BOARD_WEEK, .order = TKL_BOARD_LOWER};
    tkl_board_score score = {tkl_str("bob"), 2};
    tkl_pipeline *pipeline;
    tkl_result result;
    int64_t changed;
    assert_ok(tkl_board_open(f->client, tkl_str("golf"), &per_week, &weekly));
    assert_ok(tkl_board_open(f->client, tkl_str("golf"), NULL, &plain));
    assert_ok(tkl_board_add(weekly, &score, 1, NULL));
    assert_ok(tkl_pipeline_open(f->client, NULL, &pipeline));
    assert_ok(tkl_board_add_in(pipeline, plain, &score, &changed, &result));
    assert_ok(tkl_pipeline_run(pipeline, NULL, NULL));
    assert_int_equal(result.code, TKL_OK);
    assert_int_equal(changed, 1);
    tkl_board_entries *around;
    assert_ok(tkl_board_around(weekly, tkl_str("bob"), 0, 0, &around));
    assert_true(around->items[0].score == 4);
    tkl_board_entries_free(around);
    tkl_pipeline_close(pipeline);
    tkl_board_close(weekly);
    tkl_board_close(plain);
}

static void in_a_cluster_each_node_gets_its_share(void **state)
{
    (void)state;
    cluster *c = cluster_start(false);
    tkl_client *client = test_open(c->url, NULL);
    site s;
    visit v;
    open_site(&s, client);
    for (int64_t times = 1; times <= 2; times++) {
        add_visit(&s, &v);
        assert_ok(tkl_pipeline_run(s.page, NULL, NULL));
        check_visit(&v, times);
        free_visit(&v);
    }
    close_site(&s);
    tkl_close(client);
    cluster_end(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_operations_work_and_leave_their_traces),
        TEST(they_are_one_round_trip),
        TEST(each_outcome_is_its_own),
        TEST(a_lost_reply_is_told_by_each_result),
        TEST(a_pipeline_that_never_runs_says_so),
        TEST(operations_are_refused_where_they_do_not_belong),
        TEST(a_child_cannot_run_operations_of_its_parent),
        TEST(other_settings_are_learned_by_the_run),
        cmocka_unit_test(in_a_cluster_each_node_gets_its_share),
    };
    return cmocka_run_group_tests(tests, fixture_start, fixture_end);
}
