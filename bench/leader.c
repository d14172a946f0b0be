/* SPDX-License-Identifier: MIT
 *
 * Elections, against the simplest way to elect: SET NX PX, and a script that deletes the caller's
 * own key. That neither waits nor notifies.
 */
#include <stdlib.h>

#include "bare.h"
#include "ours.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static char sha1[BARE_SHA1_SIZE];

static void load_delete(const bench_run *run)
{
    bare_load(run,
              "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end "
              "return 0",
              sha1);
}

static void bare_term(bench_worker *w)
{
    bare_call(w->own, 6, (const char *[]){"SET", "bench:seat", TOKEN, "NX", "PX", "30000"});
    bare_call(w->own, 5, (const char *[]){"EVALSHA", sha1, "1", "bench:seat", TOKEN});
}

/* ---- tackle -------------------------------------------------------------- */

typedef struct scene {
    tkl_client *client;
    tkl_leader *leader;
    tkl_lock *lock;
} scene;

static void scene_open(bench_run *run, const bench_contender *self)
{
    scene *s = ours_alloc(sizeof *s);
    s->client = ours_client(run, self);
    check(tkl_leader_open(s->client, tkl_str("bench"), NULL, &s->leader));
    check(tkl_lock_open(s->client, tkl_str("bench"), NULL, &s->lock));
    run->shared = s;
}

static void scene_close(bench_run *run)
{
    scene *s = run->shared;
    tkl_leader_close(s->leader);
    tkl_lock_close(s->lock);
    tkl_close(s->client);
    free(s);
}

static void leader_term(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_leader_campaign(s->leader, 0));
    check(tkl_leader_resign(s->leader));
}

static void lock_cycle(bench_worker *w)
{
    scene *s = w->run->shared;
    check(tkl_lock_acquire(s->lock, 0));
    check(tkl_lock_release(s->lock));
}

/* ---- Cases --------------------------------------------------------------- */

#define OURS(function) .setup = scene_open, .step = function, .teardown = scene_close

static const bench_case cases[] = {
    {.name = "elected and resigned, nobody else",
     .unit = "terms/s",
     .prepare = load_delete,
     .contenders = {{.name = "hiredis, SET + EVALSHA", BARE(bare_term)},
                    {.name = "tackle lock", OURS(lock_cycle)},
                    {.name = "tackle leader", OURS(leader_term)}}},
    {.name = NULL},
};

const bench_component leader_bench = {"leader", cases};
