/* SPDX-License-Identifier: MIT
 *
 * timeout_ms of a handle is kept by every component when the server hangs, also by those that go on
 * through restarts. One line a component, or more where calls take different ways.
 *
 * ctest: label threads
 */
#include <stdatomic.h>

#include <tackle/tackle.h>

#include "support/fixture.h"

/* The time-out of a handle; the bound for keeping it on a busy machine; the client's, which is not
 * used then. */
#define SHORT_MS 200
#define SOON_MS  20000
#define LONG_MS  120000

#define OPEN(component, handle, ...)                                                            \
    assert_ok(tkl_##component##_open(                                                           \
        client, tkl_str("x"), __VA_ARGS__ &(tkl_##component##_options){.timeout_ms = SHORT_MS}, \
        &(handle)))

/* ---- Calls: each asks a server that does not answer ---------------------- */

static int ask_ads(tkl_client *client)
{
    tkl_ads *ads;
    OPEN(ads, ads, );
    int rc = tkl_ads_drop(ads);
    tkl_ads_close(ads);
    return rc;
}

static int ask_bits(tkl_client *client)
{
    tkl_bits *bits;
    OPEN(bits, bits, );
    int rc = tkl_bits_set(bits, 1, true, NULL);
    tkl_bits_close(bits);
    return rc;
}

static int ask_blist(tkl_client *client)
{
    tkl_blist *list;
    tkl_blist_items *items;
    OPEN(blist, list, );
    int rc = tkl_blist_pop(&list, 1, 1, SHORT_MS, &items);
    tkl_blist_close(list);
    return rc;
}

static int ask_bloom(tkl_client *client)
{
    tkl_bloom *bloom;
    OPEN(bloom, bloom, );
    int rc = tkl_bloom_add(bloom, &(tkl_bytes)TKL_LIT("a"), 1, NULL);
    tkl_bloom_close(bloom);
    return rc;
}

static int ask_book(tkl_client *client)
{
    tkl_book *book;
    OPEN(book, book, );
    int rc = tkl_book_add(book, &(tkl_book_entry){.text = TKL_LIT("a")}, 1, NULL);
    tkl_book_close(book);
    return rc;
}

static int ask_chat(tkl_client *client)
{
    tkl_chat *chat;
    tkl_messages *messages;
    OPEN(chat, chat, );
    int rc = tkl_chat_fetch(chat, tkl_str("ann"), 1, SHORT_MS, &messages);
    tkl_chat_close(chat);
    return rc;
}

static int ask_inbox(tkl_client *client)
{
    tkl_inbox *inbox;
    tkl_inbox_chats *chats;
    OPEN(inbox, inbox, );
    int rc = tkl_inbox_fetch(inbox, 1, SHORT_MS, &chats);
    tkl_inbox_close(inbox);
    return rc;
}

static int ask_config(tkl_client *client)
{
    tkl_config *config;
    tkl_config_value *value;
    OPEN(config, config, tkl_str("y"), );
    int rc = tkl_config_read(config, &value, NULL);
    tkl_config_close(config);
    return rc;
}

static int ask_config_to_set(tkl_client *client)
{
    tkl_config *config;
    assert_ok(tkl_config_open(client, tkl_str("x"), tkl_str("y"), NULL, &config));
    int rc = tkl_config_set(config, tkl_str("1"), &(tkl_config_set_options){.timeout_ms = SHORT_MS},
                            NULL);
    tkl_config_close(config);
    return rc;
}

static int ask_counter(tkl_client *client)
{
    tkl_counter *counter;
    OPEN(counter, counter, );
    int rc = tkl_counter_add(counter, 1);
    tkl_counter_close(counter);
    return rc;
}

static int ask_counter_buffer(tkl_client *client)
{
    tkl_counter *counter;
    tkl_counter_buffer *buffer;
    assert_ok(tkl_counter_open(client, tkl_str("x"), NULL, &counter));
    assert_ok(tkl_counter_buffer_open(
        counter, &(tkl_counter_buffer_options){.timeout_ms = SHORT_MS, .interval_ms = LONG_MS},
        &buffer));
    assert_ok(tkl_counter_buffer_add(buffer, 1));
    int rc = tkl_counter_buffer_close(buffer, NULL);
    tkl_counter_close(counter);
    return rc;
}

static int ask_files_to_drop(tkl_client *client)
{
    tkl_files *files;
    OPEN(files, files, );
    int rc = tkl_files_drop_receiver(files, tkl_str("a"), NULL);
    tkl_files_close(files);
    return rc;
}

static int ask_files_to_receive(tkl_client *client)
{
    tkl_files *files;
    OPEN(files, files, );
    int rc = tkl_files_receive(files, tkl_str("a"), NULL, SHORT_MS, NULL);
    tkl_files_close(files);
    return rc;
}

static int ask_files_to_receive_soon(tkl_client *client)
{
    tkl_files *files;
    assert_ok(tkl_files_open(client, tkl_str("y"), NULL, &files));
    int rc = tkl_files_receive(
        files, tkl_str("a"), &(tkl_files_receive_options){.timeout_ms = SHORT_MS}, SHORT_MS, NULL);
    tkl_files_close(files);
    return rc;
}

static int ask_geo(tkl_client *client)
{
    tkl_geo *geo;
    OPEN(geo, geo, );
    int rc = tkl_geo_drop(geo);
    tkl_geo_close(geo);
    return rc;
}

static int import_ip(tkl_ip *ip, const tkl_ip_import_options *options)
{
    tkl_ip_import *import;
    tkl_ip_place place = {.id = TKL_LIT("1")};
    tkl_ip_range range = {.network = TKL_LIT("10.0.0.0/8"), .place = TKL_LIT("1")};
    assert_ok(tkl_ip_import_open(ip, options, &import));
    assert_ok(tkl_ip_import_add_places(import, &place, 1));
    assert_ok(tkl_ip_import_add_ranges(import, &range, 1));
    int rc = tkl_ip_import_commit(import, NULL);
    tkl_ip_import_close(import);
    return rc;
}

static int ask_ip(tkl_client *client)
{
    tkl_ip *ip;
    OPEN(ip, ip, );
    int rc = import_ip(ip, NULL);
    tkl_ip_close(ip);
    return rc;
}

static int ask_ip_import(tkl_client *client)
{
    tkl_ip *ip;
    assert_ok(tkl_ip_open(client, tkl_str("y"), NULL, &ip));
    int rc = import_ip(ip, &(tkl_ip_import_options){.timeout_ms = SHORT_MS});
    tkl_ip_close(ip);
    return rc;
}

static int ask_limit(tkl_client *client)
{
    tkl_limit *limit;
    tkl_limit_rule rule = {.count = 1, .period_ms = 1000};
    OPEN(limit, limit, &rule, );
    int rc = tkl_limit_check(limit, tkl_str("a"), 1, NULL);
    tkl_limit_close(limit);
    return rc;
}

static int ask_lock(tkl_client *client)
{
    tkl_lock *lock;
    OPEN(lock, lock, );
    int rc = tkl_lock_acquire(lock, SHORT_MS);
    tkl_lock_close(lock);
    return rc;
}

static int ask_log(tkl_client *client)
{
    tkl_log *log;
    OPEN(log, log, );
    int rc = tkl_log_print(log, TKL_LOG_INFO, "a");
    tkl_log_close(log);
    return rc;
}

static int ask_log_tail(tkl_client *client)
{
    tkl_log *log;
    tkl_log_tail *tail;
    tkl_log_entries *entries;
    assert_ok(tkl_log_open(client, tkl_str("x"), NULL, &log));
    assert_ok(tkl_log_tail_open(log, TKL_LOG_ANY, 1,
                                &(tkl_log_tail_options){.timeout_ms = SHORT_MS}, &tail));
    int rc = tkl_log_tail_next(tail, 0, &entries);
    tkl_log_tail_close(tail);
    tkl_log_close(log);
    return rc;
}

static int ask_log_writer(tkl_client *client)
{
    tkl_log *log;
    tkl_log_writer *writer;
    assert_ok(tkl_log_open(client, tkl_str("x"), NULL, &log));
    assert_ok(tkl_log_writer_open(
        log, &(tkl_log_writer_options){.timeout_ms = SHORT_MS, .interval_ms = LONG_MS}, &writer));
    assert_ok(tkl_log_writer_write(writer, TKL_LOG_INFO, tkl_str("a")));
    int rc = tkl_log_writer_close(writer, NULL);
    tkl_log_close(log);
    return rc;
}

static int ask_mail(tkl_client *client)
{
    tkl_mail *mail;
    tkl_messages *messages;
    OPEN(mail, mail, );
    int rc = tkl_mail_fetch(mail, 1, SHORT_MS, &messages);
    tkl_mail_close(mail);
    return rc;
}

static int ask_online(tkl_client *client)
{
    tkl_online *online;
    OPEN(online, online, );
    int rc = tkl_online_mark(online, &(tkl_bytes)TKL_LIT("a"), 1, NULL);
    tkl_online_close(online);
    return rc;
}

static int ask_queue(tkl_client *client)
{
    tkl_queue *queue;
    OPEN(queue, queue, );
    int rc = tkl_queue_push_one(queue, tkl_str("a"), NULL);
    tkl_queue_close(queue);
    return rc;
}

static int ask_consumer(tkl_client *client)
{
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    OPEN(queue, queue, );
    assert_ok(
        tkl_consumer_open(&queue, 1, &(tkl_consumer_options){.timeout_ms = SHORT_MS}, &consumer));
    int rc = tkl_consumer_claim(consumer, 1, SHORT_MS, &jobs);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    return rc;
}

static int ask_recent(tkl_client *client)
{
    tkl_recent *recent;
    OPEN(recent, recent, );
    int rc = tkl_recent_add(recent, &(tkl_bytes)TKL_LIT("a"), 1);
    tkl_recent_close(recent);
    return rc;
}

static int ask_redlock(tkl_client *client)
{
    tkl_redlock *lock;
    assert_ok(tkl_redlock_open(&client, 1, tkl_str("x"),
                               &(tkl_redlock_options){.timeout_ms = SHORT_MS}, &lock));
    int rc = tkl_redlock_acquire(lock, 0);
    tkl_redlock_close(lock);
    return rc;
}

static int ask_pipeline(tkl_client *client)
{
    tkl_pipeline *pipeline;
    tkl_reply *replies;
    assert_ok(
        tkl_pipeline_open(client, &(tkl_pipeline_options){.timeout_ms = SHORT_MS}, &pipeline));
    assert_ok(tkl_pipeline_addz(pipeline, "PING", NULL));
    int rc = tkl_pipeline_run(pipeline, NULL, &replies);
    tkl_reply_free(replies);
    tkl_pipeline_close(pipeline);
    return rc;
}

static int ask_scan(tkl_client *client)
{
    tkl_scan *scan;
    tkl_scan_element element;
    assert_ok(tkl_scan_open(client, &(tkl_scan_options){.timeout_ms = SHORT_MS}, &scan));
    int rc = tkl_scan_next(scan, &element);
    tkl_scan_close(scan);
    return rc;
}

static int ask_search(tkl_client *client)
{
    tkl_search *search;
    tkl_search_result *result;
    OPEN(search, search, );
    int rc = tkl_search_query(search, tkl_str("a"), NULL, &result);
    tkl_search_close(search);
    return rc;
}

static int ask_search_query(tkl_client *client)
{
    tkl_search *search;
    tkl_search_result *result;
    assert_ok(tkl_search_open(client, tkl_str("x"), NULL, &search));
    int rc = tkl_search_query(search, tkl_str("a"),
                              &(tkl_search_query_options){.timeout_ms = SHORT_MS}, &result);
    tkl_search_close(search);
    return rc;
}

static int ask_search_mark(tkl_client *client)
{
    tkl_search *search;
    tkl_search_marks *marks;
    assert_ok(tkl_search_open(client, tkl_str("x"), NULL, &search));
    int rc = tkl_search_highlight(search, tkl_str("a"), tkl_str("a"),
                                  &(tkl_search_mark_options){.timeout_ms = SHORT_MS}, &marks);
    tkl_search_close(search);
    return rc;
}

static int ask_semaphore(tkl_client *client)
{
    tkl_semaphore *sem;
    OPEN(semaphore, sem, 1, );
    int rc = tkl_semaphore_acquire(sem, SHORT_MS);
    tkl_semaphore_close(sem);
    return rc;
}

static int ask_service(tkl_client *client)
{
    tkl_service *service;
    tkl_registration *registration;
    OPEN(service, service, );
    int rc = tkl_service_register(service, &(tkl_service_instance){.address = TKL_LIT("a")}, NULL,
                                  &registration);
    tkl_service_close(service);
    return rc;
}

static int ask_registration(tkl_client *client)
{
    tkl_service *service;
    tkl_registration *registration;
    assert_ok(tkl_service_open(client, tkl_str("x"), NULL, &service));
    int rc =
        tkl_service_register(service, &(tkl_service_instance){.address = TKL_LIT("b")},
                             &(tkl_registration_options){.timeout_ms = SHORT_MS}, &registration);
    tkl_service_close(service);
    return rc;
}

static int ask_session(tkl_client *client)
{
    tkl_session *sessions;
    char token[TKL_TOKEN_SIZE];
    OPEN(session, sessions, );
    int rc = tkl_session_create(sessions, tkl_str("ann"), 0, token);
    tkl_session_close(sessions);
    return rc;
}

static int ask_stats(tkl_client *client)
{
    tkl_stats *stats;
    OPEN(stats, stats, );
    int rc = tkl_stats_record(stats, &(tkl_stats_value){.context = TKL_LIT("a"), .value = 1}, 1);
    tkl_stats_close(stats);
    return rc;
}

static int ask_suggest(tkl_client *client)
{
    tkl_suggest *suggest;
    OPEN(suggest, suggest, );
    int rc = tkl_suggest_feed(suggest, &(tkl_suggest_text){.text = TKL_LIT("a")}, 1);
    tkl_suggest_close(suggest);
    return rc;
}

static int ask_unique(tkl_client *client)
{
    tkl_unique *unique;
    OPEN(unique, unique, );
    int rc = tkl_unique_add(unique, &(tkl_bytes)TKL_LIT("a"), 1, NULL);
    tkl_unique_close(unique);
    return rc;
}

static const struct call {
    const char *name;
    int (*ask)(tkl_client *client);
} calls[] = {
    {"ads", ask_ads},
    {"bits", ask_bits},
    {"blist", ask_blist},
    {"bloom", ask_bloom},
    {"book", ask_book},
    {"chat", ask_chat},
    {"inbox", ask_inbox},
    {"config", ask_config},
    {"config, set", ask_config_to_set},
    {"counter", ask_counter},
    {"counter, buffer", ask_counter_buffer},
    {"files, drop", ask_files_to_drop},
    {"files, receive", ask_files_to_receive},
    {"files, receive soon", ask_files_to_receive_soon},
    {"geo", ask_geo},
    {"ip", ask_ip},
    {"ip, import", ask_ip_import},
    {"limit", ask_limit},
    {"lock", ask_lock},
    {"log", ask_log},
    {"log, tail", ask_log_tail},
    {"log, writer", ask_log_writer},
    {"mail", ask_mail},
    {"online", ask_online},
    {"pipeline", ask_pipeline},
    {"queue", ask_queue},
    {"consumer", ask_consumer},
    {"recent", ask_recent},
    {"redlock", ask_redlock},
    {"scan", ask_scan},
    {"search", ask_search},
    {"search, query", ask_search_query},
    {"search, mark", ask_search_mark},
    {"semaphore", ask_semaphore},
    {"service", ask_service},
    {"service, registration", ask_registration},
    {"session", ask_session},
    {"stats", ask_stats},
    {"suggest", ask_suggest},
    {"unique", ask_unique},
};

enum { CALLS = sizeof calls / sizeof *calls };

/* ---- All at once ---------------------------------------------------------- */

typedef struct office {
    tkl_client *client;
    atomic_int ended;
    atomic_bool done[CALLS];
    int codes[CALLS];
} office;

static void ask_in_office(void *arg, int index)
{
    office *o = arg;
    o->codes[index] = calls[index].ask(o->client);
    atomic_store(&o->done[index], true);
    atomic_fetch_add(&o->ended, 1);
}

static void every_component_keeps_its_time_out(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    office o = {.client = test_open(s->url, &(tkl_options){.timeout_ms = LONG_MS})};
    assert_ok(tkl_callz(o.client, NULL, "PING", NULL)); /* the server was reached */
    server_freeze(s);
    int64_t until = test_now_ms() + SOON_MS;
    crew *threads = crew_start(CALLS, ask_in_office, &o);
    while (atomic_load(&o.ended) < CALLS && test_now_ms() < until)
        test_sleep_ms(20);
    int late = CALLS - atomic_load(&o.ended);
    for (int i = 0; late > 0 && i < CALLS; i++)
        if (!atomic_load(&o.done[i]))
            print_message("%s: has not returned\n", calls[i].name);
    server_thaw(s);
    crew_join(threads);
    assert_int_equal(late, 0);
    for (int i = 0; i < CALLS; i++)
        if (!tkl_is_transient(o.codes[i]) && o.codes[i] != TKL_EMPTY && o.codes[i] != TKL_BUSY)
            fail_msg("%s: %s", calls[i].name, tkl_codename(o.codes[i]));
    tkl_close(o.client);
    server_end(s);
}

static void negative_time_outs_are_refused(void **state)
{
    (void)state;
    server *s = server_start(NULL);
    tkl_client *client = test_open(s->url, NULL);
    tkl_pipeline *pipeline;
    tkl_log *log;
    tkl_log_writer *writer;
    tkl_counter *counter;
    tkl_counter_buffer *buffer;
    tkl_service *service;
    tkl_registration *registration;
    tkl_config *config;
    tkl_ip *ip;
    tkl_ip_import *import;
    tkl_files *files;
    tkl_search *search;
    tkl_search_result *result;
    tkl_search_marks *marks;
    assert_code(tkl_pipeline_open(client, &(tkl_pipeline_options){.timeout_ms = -1}, &pipeline),
                TKL_EINVAL);
    assert_null(pipeline);
    assert_ok(tkl_log_open(client, tkl_str("x"), NULL, &log));
    assert_code(tkl_log_writer_open(log, &(tkl_log_writer_options){.timeout_ms = -1}, &writer),
                TKL_EINVAL);
    assert_ok(tkl_counter_open(client, tkl_str("x"), NULL, &counter));
    assert_code(
        tkl_counter_buffer_open(counter, &(tkl_counter_buffer_options){.timeout_ms = -1}, &buffer),
        TKL_EINVAL);
    assert_ok(tkl_service_open(client, tkl_str("x"), NULL, &service));
    assert_code(tkl_service_register(service, &(tkl_service_instance){.address = TKL_LIT("a")},
                                     &(tkl_registration_options){.timeout_ms = -1}, &registration),
                TKL_EINVAL);
    assert_ok(tkl_config_open(client, tkl_str("x"), tkl_str("y"), NULL, &config));
    assert_code(
        tkl_config_set(config, tkl_str("1"), &(tkl_config_set_options){.timeout_ms = -1}, NULL),
        TKL_EINVAL);
    assert_ok(tkl_ip_open(client, tkl_str("x"), NULL, &ip));
    assert_code(tkl_ip_import_open(ip, &(tkl_ip_import_options){.timeout_ms = -1}, &import),
                TKL_EINVAL);
    assert_ok(tkl_files_open(client, tkl_str("x"), NULL, &files));
    assert_code(tkl_files_send(files, &(tkl_bytes)TKL_LIT("a"), 1, NULL, 0,
                               &(tkl_files_send_options){.timeout_ms = -1}, NULL),
                TKL_EINVAL);
    assert_code(tkl_files_receive(files, tkl_str("a"),
                                  &(tkl_files_receive_options){.timeout_ms = -1}, 0, NULL),
                TKL_EINVAL);
    assert_ok(tkl_search_open(client, tkl_str("x"), NULL, &search));
    assert_code(tkl_search_query(search, tkl_str("a"),
                                 &(tkl_search_query_options){.timeout_ms = -1}, &result),
                TKL_EINVAL);
    assert_code(tkl_search_highlight(search, tkl_str("a"), tkl_str("a"),
                                     &(tkl_search_mark_options){.timeout_ms = -1}, &marks),
                TKL_EINVAL);
    tkl_search_close(search);
    tkl_files_close(files);
    tkl_ip_close(ip);
    tkl_config_close(config);
    tkl_service_close(service);
    tkl_counter_close(counter);
    tkl_log_close(log);
    tkl_close(client);
    server_end(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(negative_time_outs_are_refused),
        cmocka_unit_test(every_component_keeps_its_time_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
