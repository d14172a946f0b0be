/* SPDX-License-Identifier: MIT */
#include "demo.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "call.h"

enum { QUEUES = 4, HOLDERS = 7, WORKER_THREADS = 8, DAYS = 14 };

/* A call of the HTTP interface. In its fields "#" becomes a random digit, and "^" one of the last
 * days. */
typedef struct demo_call {
    const char *route;
    const char *fields;
    int times; /* first_calls: number of calls; living_calls: share among all, by chance */
} demo_call;

/* Calls that fill the server at the start. */
static const demo_call first_calls[] = {
    {"queue/limit", "{'name': 'webhooks', 'concurrency': 4, 'dead-max': 200}", 1},
    {"queue/limit", "{'name': 'thumbnails', 'rate': '20/s'}", 1},
    {"queue/push",
     "{'name': 'mails', 'kind': 'newsletter', 'delay': '##m', 'payload': '{\\'to\\': "
     "\\'user-###@example.org\\'}'}",
     20},
    {"queue/push", "{'name': 'imports', 'kind': 'csv', 'payload': 'orders-20260##.csv'}", 6},
    {"queue/pause", "{'name': 'imports'}", 1},
    {"queue/schedule",
     "{'name': 'reports', 'id': 'nightly', 'cron': '0 3 * * *', 'zone': "
     "'Europe/Berlin', 'payload': 'sales'}",
     1},
    {"queue/schedule", "{'name': 'reports', 'id': 'minutely', 'every': '1m', 'payload': 'stock'}",
     1},
    {"counter/add", "{'name': 'page views', 'amount': '1###', 'at': '^'}", 30},
    {"online/mark", "{'name': 'shop', 'user': 'user-1##', 'day': '^', 'keep': 31}", 900},
    {"search/create", "{'index': 'products', 'field': ['brand:text', 'price:numeric']}", 1},
    {"search/add",
     "{'index': 'products', 'id': 'p1', 'text': 'Bicycle lock with two keys, "
     "hardened steel', 'set': ['brand=Anchor', 'price=39']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p2', 'text': 'Combination lock for lockers, "
     "four digits', 'set': ['brand=Anchor', 'price=12']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p3', 'text': 'Fishing tackle box with three "
     "trays', 'set': ['brand=Brook', 'price=25']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p4', 'text': 'Steel fishing reel, smooth drag', "
     "'set': ['brand=Brook', 'price=89']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p5', 'text': '自行车锁，加固钢，两把钥匙', "
     "'set': ['brand=锚', 'price=35']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p6', 'text': 'Folding bicycle, seven gears, lights included', "
     "'set': ['brand=Velo', 'price=480']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p7', 'text': 'Bicycle lights, front and rear, with batteries', "
     "'set': ['brand=Velo', 'price=29']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p8', 'text': 'Fishing rod, carbon, three pieces', "
     "'set': ['brand=Brook', 'price=120']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p9', 'text': 'Lock with a cable, for two bicycles at once', "
     "'set': ['brand=Velo', 'price=24']}",
     1},
    {"search/add",
     "{'index': 'products', 'id': 'p10', 'text': 'Tackle box lock, small, with two keys', "
     "'set': ['brand=Brook', 'price=9']}",
     1},
    {"chat/create", "{'name': 'support', 'member': ['ann', 'bob', 'chen']}", 1},
    {"mail/send", "{'name': 'ann', 'body': 'Order #### was shipped'}", 7},
    {"mail/send", "{'name': 'bob', 'body': 'Invoice ####'}", 3},
    {"ads/add",
     "{'set': 'shop', 'ad': 'locks', 'text': 'strong locks for your bicycle', "
     "'type': 'cpc', 'price': '0.25', 'location': 'DE'}",
     1},
    {"ads/add",
     "{'set': 'shop', 'ad': 'reels', 'text': 'fishing reels that last', "
     "'type': 'cpm', 'price': '4', 'location': 'DE'}",
     1},
    {"ads/add",
     "{'set': 'shop', 'ad': 'boxes', 'text': 'tackle boxes for fishing', "
     "'type': 'cpa', 'price': '2', 'location': 'DE'}",
     1},
    {"geo/add",
     "{'name': 'shops', 'longitude': [13.405, 9.993, 11.576, 6.96, 8.682, 12.373], "
     "'latitude': [52.52, 53.551, 48.137, 50.938, 50.11, 51.34], 'place': ['Berlin', "
     "'Hamburg', 'Munich', 'Cologne', 'Frankfurt', 'Leipzig']}",
     1},
    {"config/set",
     "{'kind': 'redis', 'component': 'sessions', 'json': {'url': "
     "'redis://sessions.example.org', 'db': 0}, 'author': 'ann'}",
     1},
    {"config/set",
     "{'kind': 'shop', 'component': 'checkout', 'json': {'currency': 'EUR', "
     "'express': false}, 'author': 'ann'}",
     1},
    {"config/set",
     "{'kind': 'shop', 'component': 'checkout', 'json': {'currency': 'EUR', "
     "'express': true}, 'author': 'bob'}",
     1},
    {"session/create", "{'user': 'user-1#'}", 20},
    {"session/create", "{'user': 'ann'}", 2},
};

/* Calls that are made again and again. */
static const demo_call living_calls[] = {
    {"queue/push",
     "{'name': 'mails', 'kind': 'order', 'payload': '{\\'to\\': \\'user-###@example."
     "org\\', \\'subject\\': \\'Your order 1####\\', \\'total\\': ##.##}'}",
     30},
    {"queue/push", "{'name': 'thumbnails', 'kind': 'jpeg', 'payload': 'photo-#####.jpg'}", 25},
    {"queue/push",
     "{'name': 'webhooks', 'kind': 'stock', 'retries': 1, 'backoff': '2s', 'payload':"
     " '{\\'url\\': \\'https://example.org/hook/#\\', \\'item\\': 1###}'}",
     10},
    {"counter/add", "{'name': 'page views', 'amount': '1#'}", 30},
    {"counter/add", "{'name': 'orders'}", 10},
    {"stats/record", "{'context': '/cart', 'type': 'ms', 'value': '1#.#'}", 10},
    {"stats/record", "{'context': '/checkout', 'type': 'ms', 'value': '4##'}", 10},
    {"stats/record", "{'context': '/search', 'type': 'ms', 'value': '2#'}", 10},
    {"log/write", "{'name': 'shop', 'severity': 'info', 'message': 'user-### logged in'}", 6},
    {"log/write", "{'name': 'shop', 'severity': 'warning', 'message': 'stock of item # is low'}",
     3},
    {"log/write", "{'name': 'shop', 'severity': 'error', 'message': 'payment provider: time-out'}",
     1},
    {"online/mark", "{'name': 'shop', 'user': 'user-1##'}", 5},
    {"session/view", "{'item': 'product 1#'}", 6},
    {"limit/check", "{'name': 'api', 'key': 'client-#', 'rate': '6/m'}", 12},
    {"chat/send", "{'name': 'support', 'sender': 'ann', 'body': 'Order 1#### is late.'}", 1},
    {"chat/send", "{'name': 'support', 'sender': 'chen', 'body': '我来看看 1####。'}", 1},
    {"ads/target", "{'set': 'shop', 'text': 'a strong lock for fishing boats', 'location': 'DE'}",
     4},
};

struct serve_demo {
    tkl_client *client;
    pthread_mutex_t mutex;
    pthread_cond_t ends;
    bool is_ending;
    unsigned seed;
    tkl_queue *queues[QUEUES];
    tkl_worker *worker;
    tkl_service *service;
    tkl_registration *registrations[2];
    pthread_t threads[HOLDERS + 1];
    size_t thread_count;
    int holder_count; /* holder threads that have taken their number */
};

/* ---- Chance and time ----------------------------------------------------- */

/* A number from 0 to count - 1. */
static int random_below(serve_demo *demo, int count)
{
    pthread_mutex_lock(&demo->mutex);
    int number = rand_r(&demo->seed) % count;
    pthread_mutex_unlock(&demo->mutex);
    return number;
}

/* Sleeps. False: the demo has ended. */
static bool pause_for(serve_demo *demo, int ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&demo->mutex);
    while (!demo->is_ending && pthread_cond_timedwait(&demo->ends, &demo->mutex, &until) == 0)
        continue;
    bool goes_on = !demo->is_ending;
    pthread_mutex_unlock(&demo->mutex);
    return goes_on;
}

/* ---- Calls --------------------------------------------------------------- */

static bool is_never_gone(void *arg)
{
    (void)arg;
    return false;
}

static bool may_everything(void *arg, const serve_route *route)
{
    (void)arg;
    (void)route;
    return true;
}

/* The fields as JSON. A pattern has ' for the quotes of JSON, and \' for quotes inside of texts. To
 * be freed; NULL: out of memory. */
static char *fields_text(serve_demo *demo, const char *pattern)
{
    char *text = NULL, day[16];
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (to == NULL)
        return NULL;
    for (const char *at = pattern; *at != '\0'; at++) {
        time_t then = time(NULL) - (time_t)86400 * random_below(demo, DAYS);
        struct tm parts;
        if (*at == '#')
            fputc('0' + random_below(demo, 10), to);
        else if (*at == '^' && strftime(day, sizeof day, "%F", gmtime_r(&then, &parts)) > 0)
            fputs(day, to);
        else
            fputc(*at == '\'' ? '"' : *at, to);
    }
    if (fclose(to) == 0)
        return text;
    free(text);
    return NULL;
}

/* Makes a call. A refusal, such as by a limit, is part of the show. */
static void make_call(serve_demo *demo, const demo_call *call)
{
    serve_caller caller = {.is_gone = is_never_gone, .may = may_everything};
    char path[64], why[SERVE_WHY_SIZE], *text = fields_text(demo, call->fields);
    json_t *fields = text != NULL ? json_loads(text, 0, NULL) : NULL;
    serve_route route;
    serve_answer answer = {0};
    snprintf(path, sizeof path, "/v1/%s", call->route);
    if (fields != NULL && serve_route_find(path, &route, why))
        serve_call(demo->client, &route, fields, &caller, &answer);
    serve_answer_free(&answer);
    json_decref(fields);
    free(text);
}

static void *live_on(void *arg)
{
    serve_demo *demo = arg;
    int total = 0;
    size_t count = sizeof living_calls / sizeof *living_calls;
    for (size_t i = 0; i < count; i++)
        total += living_calls[i].times;
    do {
        int number = random_below(demo, total);
        const demo_call *call = living_calls;
        while (number >= call->times)
            number -= (call++)->times;
        make_call(demo, call);
    } while (pause_for(demo, 5 + random_below(demo, 40)));
    return NULL;
}

/* ---- Jobs ---------------------------------------------------------------- */

/* Runs a job, which takes some time and fails now and then. */
static int run_job(tkl_task *task, void *arg)
{
    serve_demo *demo = arg;
    const tkl_job *job = tkl_task_job(task);
    bool is_hook = cli_same_bytes(job->kind, tkl_str("stock"));
    pause_for(demo, 20 + random_below(demo, is_hook ? 800 : 250));
    if (random_below(demo, 100) >= (is_hook ? 20 : 1))
        return TKL_OK;
    tkl_task_fail(task, is_hook ? "HTTP 503 from example.org" : "connection reset by peer");
    return TKL_EIO;
}

static int start_worker(serve_demo *demo)
{
    static const char *const names[QUEUES] = {"mails", "thumbnails", "webhooks", "reports"};
    tkl_worker_options options = {.threads = WORKER_THREADS, .label = tkl_str("demo")};
    for (int i = 0; i < QUEUES; i++)
        TKL_TRY(tkl_queue_open(demo->client, tkl_str(names[i]), NULL, &demo->queues[i]));
    return tkl_worker_start(demo->queues, QUEUES, run_job, demo, &options, &demo->worker);
}

/* ---- Holders ------------------------------------------------------------- */

/* A holder thread: several of them acquire the same lock or a permit, again and again. */
static void *hold_on(void *arg)
{
    serve_demo *demo = arg;
    pthread_mutex_lock(&demo->mutex);
    bool wants_lock = demo->holder_count++ % 2 == 0;
    pthread_mutex_unlock(&demo->mutex);
    tkl_lock *lock = NULL;
    tkl_semaphore *permit = NULL;
    tkl_lock_options lock_options = {.label = "deploy", .auto_renew = true};
    tkl_semaphore_options permit_options = {.label = "training", .auto_renew = true};
    int code = wants_lock
                   ? tkl_lock_open(demo->client, tkl_str("deploy"), &lock_options, &lock)
                   : tkl_semaphore_open(demo->client, tkl_str("gpu"), 2, &permit_options, &permit);
    while (code == TKL_OK && pause_for(demo, random_below(demo, 3000))) {
        int got = wants_lock ? tkl_lock_acquire(lock, 60000) : tkl_semaphore_acquire(permit, 60000);
        if (got != TKL_OK)
            continue;
        pause_for(demo, 2000 + random_below(demo, 6000));
        if (wants_lock)
            tkl_lock_release(lock);
        else
            tkl_semaphore_release(permit);
    }
    tkl_lock_close(lock);
    tkl_semaphore_close(permit);
    return NULL;
}

/* ---- Starting and ending ------------------------------------------------- */

/* Registers a service with two instances. */
static int register_services(serve_demo *demo)
{
    static const char *const addresses[] = {"10.0.0.7:8080", "10.0.0.8:8080"};
    TKL_TRY(tkl_service_open(demo->client, tkl_str("shop"), NULL, &demo->service));
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        tkl_service_instance instance = {.address = tkl_str(addresses[i])};
        TKL_TRY(tkl_service_register(demo->service, &instance, NULL, &demo->registrations[i]));
    }
    return TKL_OK;
}

/* Sends the file of this program to receivers that never fetch it. */
static int send_file(serve_demo *demo)
{
    tkl_files *files = NULL;
    tkl_bytes to[] = {tkl_str("berlin"), tkl_str("hamburg")};
    tkl_files_source source = {.path = "/proc/self/exe", .name = tkl_str("tackle-serve")};
    TKL_TRY(tkl_files_open(demo->client, tkl_str("releases"), NULL, &files));
    int code = tkl_files_send(files, to, 2, &source, 1, NULL, NULL);
    tkl_files_close(files);
    return code;
}

static bool start_thread(serve_demo *demo, void *(*run)(void *arg))
{
    bool begun = pthread_create(&demo->threads[demo->thread_count], NULL, run, demo) == 0;
    demo->thread_count += begun;
    return begun;
}

/* Invents a history of the last week: more jobs by day than by night, fewer on two of the days. */
static int make_history(serve_demo *demo, serve_history *history)
{
    enum { SLICE_S = 1800, SLICES = 7 * 48, US = 1000 };
    static const struct {
        const char *name;
        int jobs, wait_ms, run_ms,
            failed; /* jobs in half an hour; times of a job; failures in a hundred attempts */
    } queues[] = {{"mails", 900, 40, 180, 1},
                  {"thumbnails", 1400, 90, 140, 1},
                  {"webhooks", 300, 250, 420, 18}};
    time_t now = time(NULL);
    for (size_t q = 0; q < sizeof queues / sizeof *queues; q++)
        for (int i = 1; i < SLICES; i++) {
            time_t then = now - (time_t)SLICE_S * i;
            struct tm parts;
            gmtime_r(&then, &parts);
            int hour = parts.tm_hour < 6 ? 10 : parts.tm_hour < 9 || parts.tm_hour > 19 ? 55 : 100;
            int share = hour * (parts.tm_wday % 6 == 0 ? 50 : 100) / 100 + random_below(demo, 20);
            int64_t jobs = queues[q].jobs * share / 100;
            int64_t failed = jobs * random_below(demo, 2 * queues[q].failed + 1) / 100;
            int64_t attempts = jobs + failed;
            int64_t wait = queues[q].wait_ms * (50 + share + random_below(demo, 40)) / 100;
            int64_t run = queues[q].run_ms * (90 + random_below(demo, 20)) / 100;
            serve_history_work work = {.pushed = jobs,
                                       .done = jobs,
                                       .failed = failed,
                                       .claimed = attempts,
                                       .wait_us = attempts * wait * US,
                                       .run_us = attempts * run * US};
            TKL_TRY(
                serve_history_add(history, tkl_str(queues[q].name), (int64_t)then * 1000, &work));
        }
    return TKL_OK;
}

int serve_demo_start(const cli_session *cli, tkl_client *client, serve_history *history,
                     serve_demo **out)
{
    serve_demo *demo = *out = calloc(1, sizeof *demo);
    if (demo == NULL)
        return cli_end(cli, TKL_ENOMEM);
    *demo = (serve_demo){.client = client,
                         .mutex = PTHREAD_MUTEX_INITIALIZER,
                         .ends = PTHREAD_COND_INITIALIZER,
                         .seed = (unsigned)time(NULL)};
    for (size_t i = 0; i < sizeof first_calls / sizeof *first_calls; i++)
        for (int k = 0; k < first_calls[i].times; k++)
            make_call(demo, &first_calls[i]);
    int code = make_history(demo, history);
    if (code == TKL_OK)
        code = start_worker(demo);
    if (code == TKL_OK)
        code = register_services(demo);
    if (code == TKL_OK)
        code = send_file(demo);
    bool begun = code == TKL_OK && start_thread(demo, live_on);
    for (int i = 0; begun && i < HOLDERS; i++)
        begun = start_thread(demo, hold_on);
    if (code != TKL_OK || !begun) {
        int failed = code != TKL_OK ? cli_end(cli, code)
                                    : cli_fail(cli, CLI_FAILURE, "cannot start a thread");
        serve_demo_stop(demo);
        *out = NULL;
        return failed;
    }
    return CLI_OK;
}

void serve_demo_stop(serve_demo *demo)
{
    enum { GRACE_MS = 2000 };
    if (demo == NULL)
        return;
    pthread_mutex_lock(&demo->mutex);
    demo->is_ending = true;
    pthread_cond_broadcast(&demo->ends);
    pthread_mutex_unlock(&demo->mutex);
    tkl_interrupt(demo->client);
    for (size_t i = 0; i < demo->thread_count; i++)
        pthread_join(demo->threads[i], NULL);
    if (demo->worker != NULL)
        tkl_worker_stop(demo->worker, GRACE_MS);
    tkl_worker_close(demo->worker);
    for (int i = 0; i < QUEUES; i++)
        tkl_queue_close(demo->queues[i]);
    for (size_t i = 0; i < sizeof demo->registrations / sizeof *demo->registrations; i++)
        if (demo->registrations[i] != NULL)
            tkl_registration_close(demo->registrations[i]);
    tkl_service_close(demo->service);
    free(demo);
}
