/* SPDX-License-Identifier: MIT */
#include "support/ways.h"

#include <stdio.h>

#include <tackle/tackle.h>

#include "support/test.h"

/* ---- Waits that find nothing --------------------------------------------- */

/* Waits for a lock that another client holds. */
static int wait_for_lock(tkl_client *client)
{
    tkl_lock *held, *lock;
    assert_ok(tkl_lock_open(client, tkl_str("door"), NULL, &held));
    assert_ok(tkl_lock_open(client, tkl_str("door"), NULL, &lock));
    assert_ok(tkl_lock_acquire(held, 20000));
    int rc = tkl_lock_acquire(lock, WAY_MS);
    tkl_lock_close(lock);
    tkl_lock_close(held);
    return rc;
}

static int wait_for_permit(tkl_client *client)
{
    tkl_semaphore *held, *sem;
    assert_ok(tkl_semaphore_open(client, tkl_str("seats"), 1, NULL, &held));
    assert_ok(tkl_semaphore_open(client, tkl_str("seats"), 1, NULL, &sem));
    assert_ok(tkl_semaphore_acquire(held, 20000));
    int rc = tkl_semaphore_acquire(sem, WAY_MS);
    tkl_semaphore_close(sem);
    tkl_semaphore_close(held);
    return rc;
}

static int wait_for_redlock(tkl_client *client)
{
    tkl_redlock *held, *lock;
    assert_ok(tkl_redlock_open(&client, 1, tkl_str("gate"), NULL, &held));
    assert_ok(tkl_redlock_open(&client, 1, tkl_str("gate"), NULL, &lock));
    assert_ok(tkl_redlock_acquire(held, 20000));
    int rc = tkl_redlock_acquire(lock, WAY_MS);
    tkl_redlock_close(lock);
    tkl_redlock_close(held);
    return rc;
}

static int wait_for_limit(tkl_client *client, tkl_limit_rule rule)
{
    tkl_limit *limit;
    char name[32];
    snprintf(name, sizeof name, "l%d%d", (int)rule.algorithm, rule.in_order);
    assert_ok(tkl_limit_open(client, tkl_str(name), &rule, NULL, &limit));
    int rc = tkl_limit_check(limit, tkl_str("key"), 1, NULL);
    assert_true(rc == TKL_OK || rc == TKL_LIMITED); /* left by an earlier round */
    rc = tkl_limit_wait(limit, tkl_str("key"), 1, WAY_MS, NULL);
    tkl_limit_close(limit);
    return rc;
}

static int wait_for_rate(tkl_client *client)
{
    return wait_for_limit(
        client, (tkl_limit_rule){.algorithm = TKL_LIMIT_GCRA, .count = 1, .period_ms = WAY_MS / 2});
}

static int wait_in_order(tkl_client *client)
{
    return wait_for_limit(client, (tkl_limit_rule){.algorithm = TKL_LIMIT_GCRA,
                                                   .count = 1,
                                                   .period_ms = WAY_MS / 8,
                                                   .in_order = true});
}

static int wait_for_concurrency(tkl_client *client)
{
    return wait_for_limit(
        client,
        (tkl_limit_rule){.algorithm = TKL_LIMIT_CONCURRENCY, .count = 1, .period_ms = WAY_MS / 2});
}

static int wait_for_job(tkl_client *client)
{
    tkl_queue *queue;
    tkl_consumer *consumer;
    tkl_jobs *jobs;
    assert_ok(tkl_queue_open(client, tkl_str("jobs"), NULL, &queue));
    assert_ok(tkl_consumer_open(&queue, 1, NULL, &consumer));
    int rc = tkl_consumer_claim(consumer, 1, WAY_MS, &jobs);
    tkl_jobs_free(jobs);
    tkl_consumer_close(consumer);
    tkl_queue_close(queue);
    return rc;
}

static int wait_for_result(tkl_client *client)
{
    tkl_queue *queue;
    tkl_job_result *result;
    tkl_pushed pushed;
    tkl_push job = {.payload = tkl_str("x"), .result_ms = WAY_MS};
    assert_ok(tkl_queue_open(client, tkl_str("results"), NULL, &queue));
    assert_ok(tkl_queue_push(queue, &job, 1, NULL, &pushed));
    int rc = tkl_queue_result(queue, pushed.id, WAY_MS, &result);
    tkl_job_result_free(result);
    tkl_queue_close(queue);
    return rc;
}

static int wait_for_item(tkl_client *client)
{
    tkl_blist *list;
    tkl_blist_items *items;
    assert_ok(tkl_blist_open(client, tkl_str("items"), NULL, &list));
    int rc = tkl_blist_pop(&list, 1, 1, WAY_MS, &items);
    tkl_blist_items_free(items);
    tkl_blist_close(list);
    return rc;
}

static int wait_for_mail(tkl_client *client)
{
    tkl_mail *mail;
    tkl_messages *messages;
    assert_ok(tkl_mail_open(client, tkl_str("ann"), NULL, &mail));
    int rc = tkl_mail_fetch(mail, 1, WAY_MS, &messages);
    tkl_messages_free(messages);
    tkl_mail_close(mail);
    return rc;
}

static int wait_for_chat(tkl_client *client)
{
    tkl_chat *chat;
    tkl_messages *messages;
    tkl_bytes ann = tkl_str("ann");
    assert_ok(tkl_chat_open(client, tkl_str("lunch"), NULL, &chat));
    int rc = tkl_chat_create(chat, &ann, 1, NULL);
    assert_true(rc == TKL_OK || rc == TKL_EXISTS); /* left by an earlier round */
    rc = tkl_chat_fetch(chat, ann, 1, WAY_MS, &messages);
    tkl_messages_free(messages);
    tkl_chat_close(chat);
    return rc;
}

static int wait_for_file(tkl_client *client)
{
    tkl_files *files;
    tkl_files_receive_options options = {.dir = "/tmp"};
    assert_ok(tkl_files_open(client, tkl_str("logs"), NULL, &files));
    int rc = tkl_files_receive(files, tkl_str("ann"), &options, WAY_MS, NULL);
    tkl_files_close(files);
    return rc;
}

static int wait_for_inbox(tkl_client *client)
{
    tkl_inbox *inbox;
    tkl_inbox_chats *chats;
    assert_ok(tkl_inbox_open(client, tkl_str("ann"), NULL, &inbox));
    int rc = tkl_inbox_fetch(inbox, 1, WAY_MS, &chats);
    tkl_inbox_chats_free(chats);
    tkl_inbox_close(inbox);
    return rc;
}

static int wait_for_log(tkl_client *client)
{
    tkl_log *log;
    tkl_log_tail *tail;
    tkl_log_entries *entries;
    assert_ok(tkl_log_open(client, tkl_str("app"), NULL, &log));
    int rc = tkl_log_tail_open(log, TKL_LOG_ANY, 0, NULL, &tail);
    if (rc == TKL_OK)
        rc = tkl_log_tail_next(tail, WAY_MS, &entries);
    if (tail)
        tkl_log_entries_free(entries);
    tkl_log_tail_close(tail);
    tkl_log_close(log);
    return rc;
}

static int wait_for_config(tkl_client *client)
{
    tkl_config *config;
    tkl_config_value *value;
    assert_ok(tkl_config_open(client, tkl_str("db"), tkl_str("app"), NULL, &config));
    int rc = tkl_config_watch(config, NULL, WAY_MS, &value);
    tkl_config_value_free(value);
    tkl_config_close(config);
    return rc;
}

static int wait_for_service(tkl_client *client)
{
    tkl_service *service;
    tkl_service_instances *instances;
    assert_ok(tkl_service_open(client, tkl_str("web"), NULL, &service));
    int rc = tkl_service_watch(service, 0, WAY_MS, &instances);
    uint64_t change = instances ? instances->change : 0;
    tkl_service_instances_free(instances);
    if (rc == TKL_OK) { /* all messages, at once */
        rc = tkl_service_watch(service, change, WAY_MS, &instances);
        tkl_service_instances_free(instances);
    }
    tkl_service_close(service);
    return rc;
}

static int wait_for_channel(tkl_client *client)
{
    tkl_channel *channel;
    tkl_channel_follower *follower;
    tkl_channel_messages *messages;
    assert_ok(tkl_channel_open(client, tkl_str("prices"), NULL, &channel));
    assert_ok(tkl_channel_follow(channel, NULL, &follower));
    int rc = tkl_channel_next(follower, 1, WAY_MS, &messages);
    tkl_channel_messages_free(messages);
    tkl_channel_follower_close(follower);
    tkl_channel_close(channel);
    return rc;
}

static int wait_for_leader(tkl_client *client)
{
    tkl_leader *leader;
    tkl_holders *leaders;
    assert_ok(tkl_leader_open(client, tkl_str("team"), NULL, &leader));
    int rc = tkl_leader_watch(leader, 0, WAY_MS, &leaders);
    tkl_holders_free(leaders);
    tkl_leader_close(leader);
    return rc;
}

static int wait_for_loss(tkl_client *client)
{
    tkl_lock *lock;
    assert_ok(tkl_lock_open(client, tkl_str("safe"), NULL, &lock));
    int rc = tkl_lock_acquire(lock, 20000);
    if (rc == TKL_OK)
        rc = tkl_lock_wait_lost(lock, WAY_MS);
    tkl_lock_close(lock);
    return rc;
}

const wait_way ways[] = {
    {"lock", wait_for_lock},
    {"semaphore", wait_for_permit},
    {"redlock", wait_for_redlock},
    {"limit, rate", wait_for_rate},
    {"limit, in order", wait_in_order},
    {"limit, concurrency", wait_for_concurrency},
    {"queue, claim", wait_for_job},
    {"queue, result", wait_for_result},
    {"blist", wait_for_item},
    {"mail", wait_for_mail},
    {"chat", wait_for_chat},
    {"inbox", wait_for_inbox},
    {"files", wait_for_file},
    {"log", wait_for_log},
    {"config", wait_for_config},
    {"service", wait_for_service},
    {"channel", wait_for_channel},
    {"leader", wait_for_leader},
    {"lock, loss", wait_for_loss},
};

const size_t way_count = sizeof ways / sizeof *ways;

/* ---- The first request ---------------------------------------------------- */

/* Acquires with a wait, whose first request gets no answer. */
static int acquire_first(tkl_client *client)
{
    tkl_lock *lock;
    assert_ok(tkl_lock_open(client, tkl_str("door"), NULL, &lock));
    int rc = tkl_lock_acquire(lock, WAY_MS);
    tkl_lock_close(lock);
    return rc;
}

static int take_permit_first(tkl_client *client)
{
    tkl_semaphore *sem;
    assert_ok(tkl_semaphore_open(client, tkl_str("seats"), 1, NULL, &sem));
    int rc = tkl_semaphore_acquire(sem, WAY_MS);
    tkl_semaphore_close(sem);
    return rc;
}

static int wait_for_limit_first(tkl_client *client)
{
    tkl_limit *limit;
    tkl_limit_rule rule = {.algorithm = TKL_LIMIT_GCRA, .count = 1, .period_ms = WAY_MS};
    assert_ok(tkl_limit_open(client, tkl_str("l"), &rule, NULL, &limit));
    int rc = tkl_limit_wait(limit, tkl_str("key"), 1, WAY_MS, NULL);
    tkl_limit_close(limit);
    return rc;
}

static int wait_for_result_first(tkl_client *client)
{
    tkl_queue *queue;
    tkl_job_result *result;
    assert_ok(tkl_queue_open(client, tkl_str("results"), NULL, &queue));
    int rc = tkl_queue_result(queue, "0123456789abc", WAY_MS, &result);
    tkl_job_result_free(result);
    tkl_queue_close(queue);
    return rc;
}

static int fetch_chat_first(tkl_client *client)
{
    tkl_chat *chat;
    tkl_messages *messages;
    assert_ok(tkl_chat_open(client, tkl_str("lunch"), NULL, &chat));
    int rc = tkl_chat_fetch(chat, tkl_str("ann"), 1, WAY_MS, &messages);
    tkl_messages_free(messages);
    tkl_chat_close(chat);
    return rc;
}

const wait_way first_ways[] = {
    {"lock", acquire_first},
    {"semaphore", take_permit_first},
    {"limit", wait_for_limit_first},
    {"queue, claim", wait_for_job},
    {"queue, result", wait_for_result_first},
    {"blist", wait_for_item},
    {"mail", wait_for_mail},
    {"chat", fetch_chat_first},
    {"inbox", wait_for_inbox},
    {"files", wait_for_file},
    {"config", wait_for_config},
    {"service", wait_for_service},
};

const size_t first_way_count = sizeof first_ways / sizeof *first_ways;
