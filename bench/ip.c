/* SPDX-License-Identifier: MIT
 *
 * IP tables: an import from a CSV file against bare ZADDs in pipelines (of ranges that are made on
 * the way, with nothing to read or to check), and a look-up against one bare command.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tackle/tackle.h>

#include "bare.h"
#include "ours.h"

enum { ROWS = 200000, PLACES = 20000, PIPELINE = 1000 };

static char path[] = "/tmp/tackle-bench-ip.XXXXXX";

static void remove_file(void)
{
    unlink(path);
}

static unsigned place_of(unsigned row)
{
    return row * 2654435761u % PLACES;
}

/* Writes networks of 256 addresses from 1.0.0.0 on, in the form of GeoLite2. */
static void make_file(void)
{
    static bool made;
    if (made)
        return;
    FILE *file = fdopen(mkstemp(path), "w");
    if (!file)
        bench_die("cannot write %s", path);
    made = true;
    atexit(remove_file);
    fputs("network,geoname_id,registered_country_geoname_id,represented_country_geoname_id,"
          "is_anonymous_proxy,is_satellite_provider,postal_code,latitude,longitude,"
          "accuracy_radius\n",
          file);
    for (unsigned i = 0; i < ROWS; i++)
        fprintf(file, "%u.%u.%u.0/24,%u,2077456,,0,0,%u,-37.8159,144.9669,10\n", 1 + i / 65536,
                i / 256 % 256, i % 256, 1000000 + place_of(i), 10000 + place_of(i));
    fclose(file);
}

/* ---- Bare hiredis -------------------------------------------------------- */

static void drain(redisContext *c, int count)
{
    redisReply *reply;
    for (int i = 0; i < count; i++) {
        if (redisGetReply(c, (void **)&reply) != REDIS_OK)
            bench_die("hiredis: the pipeline failed");
        freeReplyObject(reply);
    }
}

static void bare_import(bench_worker *w)
{
    for (unsigned i = 0; i < ROWS; i++) {
        char score[16], member[32];
        snprintf(score, sizeof score, "%u", 16777216 + 256 * i);
        snprintf(member, sizeof member, "%u_%u", 1000000 + place_of(i), i);
        const char *argv[] = {"ZADD", "bench:ip", score, member};
        redisAppendCommandArgv(w->own, 4, argv, NULL);
        if (i % PIPELINE == PIPELINE - 1)
            drain(w->own, PIPELINE);
    }
}

static void bare_lookup(bench_worker *w)
{
    char score[16];
    snprintf(score, sizeof score, "%u", 16777216 + (unsigned)(w->steps * 7919 % ROWS) * 256 + 9);
    const char *argv[] = {"ZREVRANGEBYSCORE", "bench:ip", score, "-inf", "LIMIT", "0", "1"};
    bare_call(w->own, 7, argv);
}

static void prepare_bare(const char *socket)
{
    bench_worker w = {.own = bare_connect(socket)};
    bare_import(&w);
    redisFree(w.own);
}

/* ---- tackle -------------------------------------------------------------- */

static void client_open(bench_run *run, const bench_contender *self)
{
    run->shared = ours_client(run, self);
}

static void client_close(bench_run *run)
{
    tkl_close(run->shared);
}

static void import_file(tkl_client *client)
{
    tkl_ip *ip;
    tkl_ip_import *import;
    check(tkl_ip_open(client, tkl_str("bench"), NULL, &ip));
    check(tkl_ip_import_open(ip, NULL, &import));
    check(tkl_ip_import_blocks_file(import, path));
    check(tkl_ip_import_commit(import, NULL));
    tkl_ip_import_close(import);
    tkl_ip_close(ip);
}

static void ours_import(bench_worker *w)
{
    import_file(w->run->shared);
}

static void table_open(bench_worker *w)
{
    tkl_ip *ip;
    check(tkl_ip_open(w->run->shared, tkl_str("bench"), NULL, &ip));
    w->own = ip;
}

static void table_close(bench_worker *w)
{
    tkl_ip_close(w->own);
}

static void look_up(bench_worker *w, size_t count)
{
    char texts[100][20];
    tkl_bytes addresses[100];
    tkl_ip_answers *answers;
    for (size_t i = 0; i < count; i++) {
        unsigned row = (unsigned)((w->steps * count + i) * 7919 % ROWS);
        snprintf(texts[i], sizeof texts[i], "%u.%u.%u.9", 1 + row / 65536, row / 256 % 256,
                 row % 256);
        addresses[i] = tkl_str(texts[i]);
    }
    check(tkl_ip_lookup(w->own, addresses, count, &answers));
    if (!answers->items[count - 1].known)
        bench_die("an address is unknown");
    tkl_ip_answers_free(answers);
}

static void ours_lookup(bench_worker *w)
{
    look_up(w, 1);
}

static void ours_lookup_100(bench_worker *w)
{
    look_up(w, 100);
}

/* ---- Memory -------------------------------------------------------------- */

static double used_memory(tkl_client *client)
{
    tkl_reply *reply;
    check(tkl_callz(client, &reply, "INFO", "memory", NULL));
    const char *at = strstr(tkl_reply_str(reply), "used_memory:");
    double used = at ? strtod(at + strlen("used_memory:"), NULL) : 0;
    tkl_reply_free(reply);
    return used;
}

static double bytes_each(const bench_run *run)
{
    tkl_client *client;
    check(tkl_open(run->url, NULL, &client));
    double before = used_memory(client);
    import_file(client);
    double after = used_memory(client);
    tkl_close(client);
    return (after - before) / ROWS;
}

/* ---- Cases --------------------------------------------------------------- */

static void prepare_import(const bench_run *run)
{
    (void)run;
    make_file();
}

static void prepare_lookup(const bench_run *run)
{
    tkl_client *client;
    make_file();
    prepare_bare(run->socket);
    check(tkl_open(run->url, NULL, &client));
    import_file(client);
    tkl_close(client);
}

#define TABLE(function)                                                               \
    .setup = client_open, .open = table_open, .step = function, .close = table_close, \
    .teardown = client_close

static const bench_case cases[] = {
    {.name = "IP import of 200 000 ranges, 20 000 places",
     .unit = "rows/s",
     .at_least = 0.5,
     .prepare = prepare_import,
     .contenders =
         {{.name = "hiredis, ZADD in pipelines", BARE(bare_import), .batch = ROWS, .steps = 1},
          {.name = "tackle, from CSV",
           .batch = ROWS,
           .steps = 1,
           .setup = client_open,
           .step = ours_import,
           .teardown = client_close}}},
    {.name = "IP look-up",
     .unit = "ops/s",
     .at_least = 1 / 1.2,
     .prepare = prepare_lookup,
     .contenders = {{.name = "hiredis, ZREVRANGEBYSCORE", BARE(bare_lookup)},
                    {.name = "tackle", TABLE(ours_lookup)},
                    {.name = "tackle, batches of 100", .batch = 100, TABLE(ours_lookup_100)}}},
    {.name = "IP memory of a range, places included",
     .unit = "bytes",
     .at_most = 120,
     .has_at_most = true,
     .prepare = prepare_import,
     .contenders = {{.name = "tackle", .measure = bytes_each}}},
    {.name = NULL},
};

const bench_component ip_bench = {"ip", cases};
