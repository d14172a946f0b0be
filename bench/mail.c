/* SPDX-License-Identifier: MIT
 *
 * Mailboxes and chats, messages of 50 bytes. The limit of a single message is a bare FCALL of the
 * same script with the same arguments; that of a batch is XADD in a pipeline, which knows nothing
 * of positions, limits and times; that of a wake-up is BLPOP.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bare.h"
#include "core/script.h"
#include "ours.h"

enum {
    BATCH = 1000,
    KEPT = 20000,  /* messages; beyond that the oldest are dropped */
    CHATS = 50,    /* chats of one member */
    PENDING = 100, /* messages in all of these */
    CROWD = 1000,  /* members of a large chat */
    WAKES = 300,
    SENDS = 2000, /* to measure the server's time by */
};

#define BODY "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMN"

extern const tkl__script tkl__lua_post_send;

static const tkl_message_limits limits = {.max_messages = KEPT,
                                          .when_full = TKL_WHEN_FULL_DROP_OLDEST};

/* ---- Bare hiredis -------------------------------------------------------- */

#define KEYS_OF(line) line, line ":messages", line ":marks", line ":readers", line ":recent"

static const char *const mail_words[] = {"FCALL",   "",   "5",    KEYS_OF("tackle:mail:{bench}"),
                                         "request", "0",  "5000", "owner",
                                         "m0",      BODY, "0"};
static const char *const chat_words[] = {
    "FCALL", "", "5", KEYS_OF("tackle:chat:{bench}"), "request", "0", "5000", "", "m0", BODY, "0"};
enum { WORDS = sizeof mail_words / sizeof *mail_words };

static void bare_send(bench_worker *w, const char *const *words)
{
    const char *argv[WORDS];
    memcpy(argv, words, sizeof argv);
    argv[1] = tkl__lua_post_send.function;
    bare_call(w->own, WORDS, argv);
}

static void bare_mail(bench_worker *w)
{
    bare_send(w, mail_words);
}

static void bare_chat(bench_worker *w)
{
    bare_send(w, chat_words);
}

static void bare_batch(bench_worker *w)
{
    static const char *argv[] = {"XADD", "bench", "MAXLEN", "~", "20000", "*", "body", BODY};
    redisReply *reply;
    for (int i = 0; i < BATCH; i++)
        redisAppendCommandArgv(w->own, 8, argv, NULL);
    for (int i = 0; i < BATCH; i++) {
        if (redisGetReply(w->own, (void **)&reply) != REDIS_OK)
            bench_die("hiredis: the pipeline failed");
        freeReplyObject(reply);
    }
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct scene {
    tkl_client *client;
    tkl_mail *mail;
    tkl_chat *chat;
    tkl_inbox *inbox;
    tkl_letter letters[BATCH];
} scene;

static scene *scene_new(const bench_run *run, const bench_contender *self)
{
    scene *s = calloc(1, sizeof *s);
    if (!s)
        bench_die("out of memory");
    s->client = ours_client(run, self);
    check(tkl_mail_open(s->client, tkl_str("bench"), NULL, &s->mail));
    check(tkl_chat_open(s->client, tkl_str("bench"), NULL, &s->chat));
    check(tkl_inbox_open(s->client, tkl_str("m0"), NULL, &s->inbox));
    for (int i = 0; i < BATCH; i++)
        s->letters[i].body = tkl_str(BODY);
    return s;
}

static void scene_free(scene *s)
{
    tkl_inbox_close(s->inbox);
    tkl_chat_close(s->chat);
    tkl_mail_close(s->mail);
    tkl_close(s->client);
    free(s);
}

static void scene_open(bench_run *run, const bench_contender *self)
{
    run->shared = scene_new(run, self);
}

static void scene_close(bench_run *run)
{
    scene_free(run->shared);
}

static void create_chat(tkl_chat *chat, int members)
{
    static char names[CROWD][8];
    static tkl_bytes all[CROWD];
    for (int i = 0; i < members; i++) {
        snprintf(names[i], sizeof names[i], "m%d", i);
        all[i] = tkl_str(names[i]);
    }
    check(tkl_chat_create(chat, all, (size_t)members, &limits));
}

/* Makes a mailbox and a chat with limits, and loads the script. */
static void prepare_scene(const bench_run *run)
{
    scene *s = scene_new(run, &(bench_contender){.name = NULL});
    check(tkl_mail_limit(s->mail, &limits));
    create_chat(s->chat, 10);
    check(tkl_mail_send(s->mail, tkl_str("m0"), s->letters, 1, NULL));
    scene_free(s);
}

static void send_mail(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_mail_send(s->mail, tkl_str("m0"), s->letters, 1, NULL));
}

static void send_mail_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_mail_send(s->mail, tkl_str("m0"), s->letters, BATCH, NULL));
}

static void send_chat(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_chat_send(s->chat, tkl_str("m0"), s->letters, 1, NULL));
}

static void send_chat_batch(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_chat_send(s->chat, tkl_str("m0"), s->letters, BATCH, NULL));
}

/* ---- Fetching ------------------------------------------------------------ */

static void prepare_chats(const bench_run *run)
{
    scene *s = scene_new(run, &(bench_contender){.name = NULL});
    for (int i = 0; i < CHATS; i++) {
        char id[16];
        tkl_chat *chat;
        snprintf(id, sizeof id, "c%d", i);
        check(tkl_chat_open(s->client, tkl_str(id), NULL, &chat));
        create_chat(chat, 2);
        check(tkl_chat_send(chat, tkl_str("m0"), s->letters, PENDING / CHATS, NULL));
        tkl_chat_close(chat);
    }
    scene_free(s);
}

static void fetch_all(bench_worker *w)
{
    scene *s = w->run->shared;
    tkl_inbox_chats *chats;
    check(tkl_inbox_fetch(s->inbox, 100, 0, &chats));
    if (chats->count != CHATS)
        bench_die("%zu chats", chats->count);
    tkl_inbox_chats_free(chats);
}

/* The same messages, by XRANGE. */
static void bare_fetch(bench_worker *w)
{
    static char keys[CHATS][48];
    redisReply *reply;
    for (int i = 0; i < CHATS; i++) {
        snprintf(keys[i], sizeof keys[i], "tackle:chat:{c%d}:messages", i);
        redisAppendCommandArgv(w->own, 4, (const char *[]){"XRANGE", keys[i], "-", "+"}, NULL);
    }
    for (int i = 0; i < CHATS; i++) {
        if (redisGetReply(w->own, (void **)&reply) != REDIS_OK || reply->elements == 0)
            bench_die("hiredis: the pipeline failed");
        freeReplyObject(reply);
    }
}

/* ---- Waking -------------------------------------------------------------- */

typedef struct sleeper {
    scene *scene;
    redisContext *push, *pop; /* connections of the bare contender */
    pthread_t thread;
    int64_t woken; /* ns */
    sem_t got;
} sleeper;

static void *pop_all(void *arg)
{
    sleeper *p = arg;
    bool last = false;
    while (!last) {
        redisReply *reply = bare_ask(p->pop, 3, (const char *[]){"BLPOP", "bench", "0"});
        p->woken = bench_now_ns();
        last = strcmp(reply->element[1]->str, "end") == 0;
        freeReplyObject(reply);
        sem_post(&p->got);
    }
    return NULL;
}

static void *fetch_mail(void *arg)
{
    sleeper *p = arg;
    for (;;) {
        tkl_messages *mail;
        check(tkl_mail_fetch(p->scene->mail, 10, -1, &mail));
        p->woken = bench_now_ns();
        check(tkl_mail_ack(p->scene->mail, mail->items[mail->count - 1].id, NULL));
        bool last = mail->items[0].body.len == 0;
        tkl_messages_free(mail);
        sem_post(&p->got);
        if (last)
            return NULL;
    }
}

static sleeper *sleeper_new(bench_worker *w)
{
    sleeper *p = calloc(1, sizeof *p);
    if (!p)
        bench_die("out of memory");
    sem_init(&p->got, 0, 0);
    w->own = p;
    return p;
}

static void start_sleeper(sleeper *p, void *(*body)(void *))
{
    if (pthread_create(&p->thread, NULL, body, p) != 0)
        bench_die("no more threads");
}

static void popper_open(bench_worker *w)
{
    sleeper *p = sleeper_new(w);
    p->push = bare_connect(w->run->socket);
    p->pop = bare_connect(w->run->socket);
    start_sleeper(p, pop_all);
}

static void pop_step(bench_worker *w)
{
    sleeper *p = w->own;
    usleep(2000);
    int64_t sent = bench_now_ns();
    bare_call(p->push, 3, (const char *[]){"RPUSH", "bench", BODY});
    sem_wait(&p->got);
    histogram_add(&w->latency, p->woken - sent);
}

static void popper_close(bench_worker *w)
{
    sleeper *p = w->own;
    bare_call(p->push, 3, (const char *[]){"RPUSH", "bench", "end"});
    pthread_join(p->thread, NULL);
    redisFree(p->push);
    redisFree(p->pop);
    free(p);
}

static void fetcher_open(bench_worker *w)
{
    sleeper *p = sleeper_new(w);
    p->scene = scene_new(w->run, &(bench_contender){.name = NULL});
    check(tkl_mail_purge(p->scene->mail, NULL));
    start_sleeper(p, fetch_mail);
}

static void wake_step(bench_worker *w)
{
    sleeper *p = w->own;
    usleep(2000);
    int64_t sent = bench_now_ns();
    check(tkl_mail_send(p->scene->mail, tkl_str("m0"), p->scene->letters, 1, NULL));
    sem_wait(&p->got);
    histogram_add(&w->latency, p->woken - sent);
}

static void fetcher_close(bench_worker *w)
{
    sleeper *p = w->own;
    tkl_letter end = {.body = {NULL, 0}};
    check(tkl_mail_send(p->scene->mail, tkl_str("m0"), &end, 1, NULL));
    pthread_join(p->thread, NULL);
    scene_free(p->scene);
    free(p);
}

/* ---- Figures ------------------------------------------------------------- */

static double script_us(redisContext *c)
{
    double us;
    redisReply *info = bare_ask(c, 2, (const char *[]){"INFO", "commandstats"});
    const char *line = strstr(info->str, "cmdstat_fcall:");
    if (!line || sscanf(strstr(line, "usec_per_call="), "usec_per_call=%lf", &us) != 1)
        bench_die("the server has not counted the scripts");
    freeReplyObject(info);
    return us;
}

/* The server's time for sending to a chat with this many members. */
static double send_us(const bench_run *run, int members)
{
    redisContext *c = bare_connect(run->socket);
    scene *s = scene_new(run, &(bench_contender){.name = NULL});
    bare_call(c, 1, (const char *[]){"FLUSHALL"});
    create_chat(s->chat, members);
    check(tkl_chat_send(s->chat, tkl_str("m0"), s->letters, 1, NULL));
    bare_call(c, 2, (const char *[]){"CONFIG", "RESETSTAT"});
    for (int i = 0; i < SENDS; i++)
        check(tkl_chat_send(s->chat, tkl_str("m0"), s->letters, 1, NULL));
    double us = script_us(c);
    scene_free(s);
    redisFree(c);
    return us;
}

static double send_to_few(const bench_run *run)
{
    return send_us(run, 2);
}

static double send_to_crowd(const bench_run *run)
{
    return send_us(run, CROWD);
}

/* The memory of a chat. It counts all members: a sample of the sorted set, whose nodes have random
 * sizes, would be off by thousands of bytes. */
static double memory_of_chat(redisContext *c)
{
    static const char *const keys[] = {KEYS_OF("tackle:chat:{bench}")};
    double sum = 0;
    for (int i = 0; i < 4; i++) { /* requests are forgotten after a minute */
        redisReply *reply =
            bare_ask(c, 5, (const char *[]){"MEMORY", "USAGE", keys[i], "SAMPLES", "0"});
        sum += reply->type == REDIS_REPLY_INTEGER ? (double)reply->integer : 0;
        freeReplyObject(reply);
    }
    return sum;
}

/* The bytes by which a large chat has grown after its members have acknowledged 10,000 messages. */
static double left_over(const bench_run *run)
{
    redisContext *c = bare_connect(run->socket);
    scene *s = scene_new(run, &(bench_contender){.name = NULL});
    bare_call(c, 1, (const char *[]){"FLUSHALL"});
    create_chat(s->chat, CROWD);
    double before = memory_of_chat(c);
    for (int i = 0; i < 10; i++)
        check(tkl_chat_send(s->chat, tkl_str("m0"), s->letters, BATCH, NULL));
    for (int i = 0; i < CROWD; i++) {
        char name[16];
        snprintf(name, sizeof name, "m%d", i);
        check(tkl_chat_ack(s->chat, tkl_str(name), 10 * BATCH, NULL));
    }
    double more = memory_of_chat(c) - before;
    scene_free(s);
    redisFree(c);
    return more;
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "mail, one message",
     .unit = "messages/s",
     .at_least = 0.9,
     .prepare = prepare_scene,
     .contenders = {{.name = "hiredis, FCALL", BARE(bare_mail)},
                    {.name = "tackle", OURS(send_mail)}}},
    {.name = "chat, one message",
     .unit = "messages/s",
     .at_least = 0.9,
     .prepare = prepare_scene,
     .contenders = {{.name = "hiredis, FCALL", BARE(bare_chat)},
                    {.name = "tackle", OURS(send_chat)}}},
    {.name = "batches of 1000",
     .unit = "messages/s",
     .at_least = 0.5,
     .enough = 100000,
     .prepare = prepare_scene,
     .contenders = {{.name = "hiredis, XADD in a pipeline", .batch = BATCH, BARE(bare_batch)},
                    {.name = "tackle, mail", .batch = BATCH, OURS(send_mail_batch)},
                    {.name = "tackle, chat", .batch = BATCH, OURS(send_chat_batch)}}},
    {.name = "fetch 100 messages of 50 chats",
     .unit = "fetches/s",
     .prepare = prepare_chats,
     .contenders = {{.name = "hiredis, XRANGE in a pipeline", BARE(bare_fetch)},
                    {.name = "tackle", OURS(fetch_all)}}},
    {.name = "from send to receipt, an idle receiver",
     .unit = "messages/s",
     .p50_by_limit = 3,
     .prepare = prepare_scene,
     .contenders = {{.name = "hiredis, BLPOP",
                     .role = BENCH_LIMIT,
                     .timed = true,
                     .steps = WAKES,
                     .open = popper_open,
                     .step = pop_step,
                     .close = popper_close},
                    {.name = "tackle",
                     .timed = true,
                     .steps = WAKES,
                     .open = fetcher_open,
                     .step = wake_step,
                     .close = fetcher_close}}},
    {.name = "the server's time for a message to a chat",
     .unit = "us",
     .rise_at_most = 1.2,
     .contenders = {{.name = "tackle, 2 members", .measure = send_to_few},
                    {.name = "tackle, 1000 members", .measure = send_to_crowd}}},
    {.name = "a chat of 1000, all acknowledged: more memory than before",
     .unit = "bytes",
     .at_most = 1000,
     .has_at_most = true,
     .contenders = {{.name = "tackle", .measure = left_over}}},
    {.name = NULL},
};

const bench_component mail_bench = {"mail", cases};
