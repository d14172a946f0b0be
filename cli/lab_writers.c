/* SPDX-License-Identifier: MIT
 *
 * Writers that meet: 1, 2, 4 and 8 of them add one to the same number, each again and again for
 * TURN_US: by WATCH, under a lock, by a script. A writer is a thread with a connection of its own,
 * as another program would be. WATCH belongs to a connection, and tkl_call() refuses it because
 * calls share theirs: these writers use hiredis.
 *
 * All writers have read the number before the first of them writes, so some attempts fail whatever
 * the machine does.
 */
#include <hiredis/hiredis.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "lab.h"
#include "stage.h"

enum { TURN_US = 300000, MOST_WRITERS = 8, WAIT_MS = 60000 };

static const int writer_counts[] = {1, 2, 4, MOST_WRITERS};

typedef struct writer {
    const struct writing *writing;
    pthread_t thread;
    redisContext *redis; /* by WATCH: its connection */
    tkl_client *client;  /* by lock and by script */
    tkl_lock *lock;
    tkl_script *script;
    int64_t seen;     /* by WATCH: the number it has read last */
    int64_t until_us; /* when it makes no further attempt */
    int64_t attempts;
    bool failed; /* the server did not answer as it should */
} writer;

/* A way to write. Its functions return false when the server failed. */
typedef struct writing {
    const char *name;
    bool (*open)(writer *w);
    bool (*attempt)(writer *w); /* one attempt to add one */
    void (*close)(writer *w);
} writing;

/* ---- By WATCH ------------------------------------------------------------ */

/* Reads the next reply. *number, if not NULL, is 0 for nil. */
static bool read_reply(writer *w, int64_t *number)
{
    redisReply *reply = NULL;
    if (redisGetReply(w->redis, (void **)&reply) != REDIS_OK)
        return false;
    bool answered = reply->type != REDIS_REPLY_ERROR;
    if (number != NULL)
        *number = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : 0;
    freeReplyObject(reply);
    return answered;
}

static bool watch_and_read(writer *w)
{
    redisAppendCommand(w->redis, "WATCH n");
    redisAppendCommand(w->redis, "GET n");
    return read_reply(w, NULL) && read_reply(w, &w->seen);
}

static bool open_watching(writer *w)
{
    w->redis = redisConnectUnix(getenv("TACKLE_URL") + strlen("unix://"));
    return w->redis != NULL && w->redis->err == 0 && watch_and_read(w);
}

/* Writes unless another writer has written meanwhile, and reads for the next attempt: two round
 * trips. */
static bool attempt_watching(writer *w)
{
    redisAppendCommand(w->redis, "MULTI");
    redisAppendCommand(w->redis, "SET n %lld", (long long)w->seen + 1);
    redisAppendCommand(w->redis, "EXEC");
    return read_reply(w, NULL) && read_reply(w, NULL) && read_reply(w, NULL) && watch_and_read(w);
}

static void close_watching(writer *w)
{
    if (w->redis != NULL)
        redisFree(w->redis);
}

/* ---- By lock ------------------------------------------------------------- */

static int read_number(tkl_client *client, int64_t *number)
{
    tkl_reply *reply = NULL;
    int code = tkl_callz(client, &reply, "GET", "n", NULL);
    if (code == TKL_OK)
        *number = strtoll(tkl_reply_str(reply), NULL, 10);
    tkl_reply_free(reply);
    return code;
}

static int write_number(tkl_client *client, int64_t number)
{
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return tkl_callz(client, NULL, "SET", "n", text, NULL);
}

static bool open_locking(writer *w)
{
    return tkl_open(getenv("TACKLE_URL"), NULL, &w->client) == TKL_OK &&
           tkl_lock_open(w->client, tkl_str("n"), NULL, &w->lock) == TKL_OK;
}

static bool attempt_locking(writer *w)
{
    int64_t number = 0;
    if (tkl_lock_acquire(w->lock, WAIT_MS) != TKL_OK)
        return false;
    bool written =
        read_number(w->client, &number) == TKL_OK && write_number(w->client, number + 1) == TKL_OK;
    return tkl_lock_release(w->lock) == TKL_OK && written;
}

static void close_locking(writer *w)
{
    tkl_lock_close(w->lock);
    tkl_close(w->client);
}

/* ---- By script ----------------------------------------------------------- */

static bool open_scripting(writer *w)
{
    static const char add[] = "redis.call('SET', KEYS[1], redis.call('GET', KEYS[1]) + 1)";
    return tkl_open(getenv("TACKLE_URL"), NULL, &w->client) == TKL_OK &&
           tkl_script_open(w->client, "add.lua", tkl_str(add), NULL, &w->script) == TKL_OK;
}

static bool attempt_scripting(writer *w)
{
    tkl_bytes key = tkl_str("n");
    return tkl_script_run(w->script, &key, 1, NULL, 0, NULL, NULL) == TKL_OK;
}

static void close_scripting(writer *w)
{
    tkl_script_close(w->script);
    tkl_close(w->client);
}

/* ---- All writers at once ------------------------------------------------- */

static const writing watching = {"WATCH", open_watching, attempt_watching, close_watching};
static const writing locking = {"lock", open_locking, attempt_locking, close_locking};
static const writing scripting = {"script", open_scripting, attempt_scripting, close_scripting};

static void *write_until_the_end(void *arg)
{
    writer *w = arg;
    do {
        w->failed = !w->writing->attempt(w);
        w->attempts++;
    } while (!w->failed && cli_now_us() < w->until_us);
    return NULL;
}

/* Lets all writers write for a turn. Returns false when one of them failed. */
static bool take_turn(writer *writers, int count)
{
    int64_t until_us = cli_now_us() + TURN_US;
    int started = 0;
    bool good = true;
    for (; started < count && good; started += good) {
        writers[started].until_us = until_us;
        good = pthread_create(&writers[started].thread, NULL, write_until_the_end,
                              &writers[started]) == 0;
    }
    for (int i = 0; i < started; i++) {
        pthread_join(writers[i].thread, NULL);
        good = good && !writers[i].failed;
    }
    return good;
}

/* Opens the writers and lets them write. *attempts is the sum of their attempts. */
static bool open_and_write(const writing *way, int count, int64_t *attempts, int64_t *took_us)
{
    writer writers[MOST_WRITERS] = {0};
    bool good = true;
    for (int i = 0; i < count && good; i++) {
        writers[i].writing = way;
        good = way->open(&writers[i]);
    }
    int64_t begun_us = cli_now_us();
    good = good && take_turn(writers, count);
    *took_us = cli_now_us() - begun_us;
    for (int i = 0; i < count; i++) {
        *attempts += writers[i].attempts;
        way->close(&writers[i]);
    }
    return good;
}

/* Runs `count` writers and prints how often they have changed the number. Adds to *wasted the
 * attempts that did not change it. */
static int run_turn(cli_session *cli, const writing *way, int count, int output, int64_t *wasted)
{
    tkl_client *client = NULL;
    int64_t done = 0, attempts = 0, took_us = 0;
    bool good = tkl_open(getenv("TACKLE_URL"), NULL, &client) == TKL_OK &&
                write_number(client, 0) == TKL_OK &&
                open_and_write(way, count, &attempts, &took_us) &&
                read_number(client, &done) == TKL_OK && done > 0;
    tkl_close(client);
    if (!good)
        return cli_fail(cli, CLI_FAILURE, "the writers could not write");
    dprintf(output, "%-6s %d %s %6.0f done a second, %5.2f attempts for each\n", way->name, count,
            count == 1 ? "writer: " : "writers:", (double)done * 1e6 / (double)took_us,
            (double)attempts / (double)done);
    *wasted += attempts - done;
    return CLI_OK;
}

static int run_turns(cli_session *cli, const writing *way, int output, int64_t *wasted)
{
    int failed = CLI_OK;
    for (size_t i = 0; i < sizeof writer_counts / sizeof *writer_counts && !failed; i++) {
        failed = cli_stage_pause(cli, 0); /* a signal ends it */
        if (!failed)
            failed = run_turn(cli, way, writer_counts[i], output, wasted);
    }
    return failed;
}

int cli_lab_write_watching(cli_session *cli, int output, int64_t *wasted)
{
    return run_turns(cli, &watching, output, wasted);
}

int cli_lab_write_in_turn(cli_session *cli, int output, int64_t *wasted)
{
    int failed = run_turns(cli, &locking, output, wasted);
    return failed ? failed : run_turns(cli, &scripting, output, wasted);
}
