/* SPDX-License-Identifier: MIT
 *
 * Leaderboards.
 *
 * Keys of a name, all in one slot (ns:board:{name}:...):
 *
 *   :settings            hash
 *                          shape              "order per zone keep", fixed by the first write
 *                          season:2026-11-16  when that season expires, in ms
 *   :ranks:2026-11-16    zset of a season: the stamp of a member and the member, by score
 *   :members:2026-11-16  hash of a season: member -> its stamp and its score
 *
 * Without seasons the last two are ":ranks" and ":members", the season's field is "season:" and
 * nothing expires. A season expires with its keys; the settings with the last season.
 *
 * Ties. The stamp is the time at which a member reached its score: 7 bytes, the microseconds of the
 * server's clock. A sorted set keeps equal scores in the order of bytes, so the first one to reach
 * a score is ahead, exactly, and every rank is one ZRANK, however many are equal. A score with the
 * time in its last bits would be inexact. The hash leads from a member to its place. Scores are
 * stored so that less is better: ZRANK and ZRANGE then serve both orders.
 *
 * The server's clock decides which season it is, but a script can use only keys that it was given.
 * So the client estimates the server's clock and sends the beginning and the end of the season. If
 * another season has begun by now, the script changes nothing and answers the time, and the client
 * asks again. A script that finds other settings answers them in the same way.
 */
#include "board/board.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "board/scripts.h"
#include "core/batch.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/names.h"
#include "core/number.h"
#include "core/options.h"
#include "core/plain.h"
#include "core/reply.h"
#include "pipeline/pipeline.h"

#define KEEP 8
/* Members of one script: 100 changes take 2 to 3 ms on a board of millions. */
#define STEP 100
/* Scripts of one round trip. */
#define BATCH_STEPS 100
#define TRIES       5
#define RANK_MAX    (INT64_C(1) << 53)
/* The elements of an answer; entries begin at HEAD. */
enum { CODE, NOW, TOTAL, FIRST, HEAD };

static const char *const order_names[] = {"stored", "higher", "lower"};
static const char *const per_names[] = {"stored", "forever", "day", "week", "month", "year"};

const char *tkl_board_order_name(tkl_board_order order)
{
    return TKL__ENUM_NAME((int)order, order_names);
}

const char *tkl_board_per_name(tkl_board_per per)
{
    return TKL__ENUM_NAME((int)per, per_names);
}

/* ---- Opening ------------------------------------------------------------- */

static int check_options(const tkl_board_options *o)
{
    int rc = TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                                {"order", (int64_t)o->order, 0, TKL_BOARD_LOWER},
                                {"per", (int64_t)o->per, 0, TKL_BOARD_YEAR},
                                {"keep", o->keep, 0, TKL_BOARD_KEEP_MAX});
    if (rc == TKL_OK && o->zone && strlen(o->zone) >= TKL__BOARD_ZONE_SIZE)
        rc = tkl__fail(TKL_EINVAL, "the name of the zone is too long");
    if (rc == TKL_OK && (o->zone || o->keep) && o->per <= TKL_BOARD_FOREVER)
        rc = tkl__fail(TKL_EINVAL, "zone and keep are of a board per day, week, month or year");
    if (rc == TKL_OK && o->season)
        rc = tkl__board_check_season(o->season);
    return rc;
}

int tkl_board_open(tkl_client *client, tkl_bytes name, const tkl_board_options *options,
                   tkl_board **out)
{
    static const tkl_board_options defaults;
    const tkl_board_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_board *b = calloc(1, sizeof *b);
    if (!b)
        return tkl__nomem();
    pthread_mutex_init(&b->mutex, NULL);
    b->client = client;
    b->timeout_ms = o->timeout_ms;
    b->given = o->order || o->per || o->zone || o->keep;
    b->ahead = tkl__unix_ms() - tkl__now() / 1000;
    b->shape.order = o->order ? o->order : TKL_BOARD_HIGHER;
    b->shape.per = o->per ? o->per : TKL_BOARD_FOREVER;
    b->shape.keep = o->keep ? o->keep : KEEP;
    snprintf(b->shape.zone, sizeof b->shape.zone, "%s", o->zone ? o->zone : "UTC");
    rc = tkl__name_keep(client, TKL__BOARD_COMPONENT, name, &b->name);
    if (rc == TKL_OK && o->season)
        rc = (b->season = strdup(o->season)) ? TKL_OK : tkl__nomem();
    if (rc == TKL_OK)
        rc = tkl__cron_zone_open(b->shape.zone, &b->zone);
    if (rc != TKL_OK) {
        tkl_board_close(b);
        return rc;
    }
    *out = b;
    return TKL_OK;
}

void tkl_board_close(tkl_board *b)
{
    if (!b)
        return;
    tkl__cron_zone_close(b->zone);
    pthread_mutex_destroy(&b->mutex);
    free((char *)b->name.data);
    free(b->season);
    free(b);
}

/* ---- Settings and clock of the server ------------------------------------ */

static void shape_text(const tkl__board_shape *shape, char text[TKL__BOARD_SHAPE_SIZE])
{
    snprintf(text, TKL__BOARD_SHAPE_SIZE, "%s %s %s %" PRId64, tkl_board_order_name(shape->order),
             tkl_board_per_name(shape->per), shape->zone, shape->keep);
}

static int place_of(const char *name, const char *const *names, int count)
{
    for (int i = 1; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return 0;
}

static bool read_shape(const char *text, tkl__board_shape *shape)
{
    char order[16], per[16];
    *shape = (tkl__board_shape){.keep = 0};
    if (sscanf(text, "%15s %15s %63s %" SCNd64, order, per, shape->zone, &shape->keep) != 4)
        return false;
    shape->order = (tkl_board_order)place_of(order, order_names, 3);
    shape->per = (tkl_board_per)place_of(per, per_names, 6);
    return shape->order && shape->per && shape->keep >= 1 && shape->keep <= TKL_BOARD_KEEP_MAX;
}

/* Takes over the shape of a board that has another one, unless the caller named a shape. */
static int adopt_shape(tkl_board *b, const char *text)
{
    tkl__board_shape theirs;
    tkl__cron_zone *zone;
    if (!read_shape(text, &theirs))
        return tkl__fail(TKL_EDAMAGED, "the settings were not written by tackle");
    if (b->given)
        return tkl__fail(TKL_EINVAL,
                         "the board has other settings: \"%s\" (order, per, zone, seasons kept)",
                         text);
    int rc = tkl__cron_zone_open(theirs.zone, &zone);
    if (rc != TKL_OK)
        return rc;
    pthread_mutex_lock(&b->mutex);
    tkl__cron_zone_close(b->zone);
    b->zone = zone;
    b->shape = theirs;
    pthread_mutex_unlock(&b->mutex);
    return TKL_OK;
}

/* Reads the head of an answer. TKL__BOARD_ANOTHER_SEASON: ask again. */
static int judge_reply(tkl_board *b, const tkl__board_season *season, const tkl_reply *reply)
{
    int64_t now = tkl__reply_number(tkl_reply_at(reply, NOW));
    int code = (int)tkl_reply_int(tkl_reply_at(reply, CODE));
    if (tkl_reply_count(reply) < 2 || now < 0)
        return tkl__fail(TKL_EPROTO, "an answer that no script of tackle gives");
    pthread_mutex_lock(&b->mutex);
    b->ahead = now - tkl__now() / 1000;
    pthread_mutex_unlock(&b->mutex);
    if (code == TKL_CONFLICT) {
        int rc = adopt_shape(b, tkl_reply_str(tkl_reply_at(reply, TOTAL)));
        return rc == TKL_OK ? TKL__BOARD_ANOTHER_SEASON : rc;
    }
    if (code == TKL_OK && b->season && season->shape.per == TKL_BOARD_FOREVER)
        return tkl__fail(TKL_EINVAL, "the board has no seasons");
    return code;
}

/* ---- Calls --------------------------------------------------------------- */

static int find_season(tkl_board *b, tkl__board_season *season)
{
    pthread_mutex_lock(&b->mutex);
    int rc = tkl__board_find_season(b, season);
    pthread_mutex_unlock(&b->mutex);
    return rc;
}

static int make_keys(const tkl_board *b, const char *season, tkl__keys *keys)
{
    char ranks[40], members[40];
    const char *parts[] = {"settings", ranks, members};
    const char *colon = *season ? ":" : "";
    snprintf(ranks, sizeof ranks, "ranks%s%s", colon, season);
    snprintf(members, sizeof members, "members%s%s", colon, season);
    return tkl__keys_make(b->client, TKL__BOARD_COMPONENT, b->name, parts, 3, keys);
}

/* The arguments that all scripts begin with. `shape` and the season must outlive them. */
static void begin_args(tkl__args *args, const tkl__board_season *season,
                       char shape[TKL__BOARD_SHAPE_SIZE])
{
    shape_text(&season->shape, shape);
    tkl__args_init(args);
    tkl__args_str(args, shape);
    tkl__args_int(args, season->start_ms);
    tkl__args_int(args, season->till_ms);
}

/* Adds the further arguments of a call. */
typedef void add_args(tkl__args *args, const tkl__board_season *season, const void *question);

/* Asks until the server agrees on the season and the settings. */
static int ask_board(tkl_board *b, const tkl__script *script, add_args *add, const void *question,
                     bool retry_safe, tkl__board_season *season, tkl_reply **reply)
{
    int rc = TKL__BOARD_ANOTHER_SEASON;
    *reply = NULL;
    for (int try = 0; rc == TKL__BOARD_ANOTHER_SEASON && try < TRIES; try++) {
        char shape[TKL__BOARD_SHAPE_SIZE];
        tkl__keys keys;
        tkl__args args;
        tkl_reply_free(*reply);
        *reply = NULL;
        rc = find_season(b, season);
        if (rc == TKL_OK)
            rc = make_keys(b, season->name, &keys);
        if (rc != TKL_OK)
            return rc;
        begin_args(&args, season, shape);
        add(&args, season, question);
        rc = tkl__eval(b->client, script, &keys, &args, tkl__deadline(b->client, b->timeout_ms),
                       retry_safe, reply);
        tkl__args_free(&args);
        tkl__keys_free(&keys);
        if (rc == TKL_OK)
            rc = judge_reply(b, season, *reply);
    }
    if (rc == TKL__BOARD_ANOTHER_SEASON)
        rc = tkl__fail(TKL_EREFUSED, "the server's clock does not stand still");
    if (rc != TKL_OK) {
        tkl_reply_free(*reply);
        *reply = NULL;
    }
    return rc > 0 ? tkl__no(rc) : rc;
}

/* ---- Writing ------------------------------------------------------------- */

static int check_member(tkl_bytes member)
{
    if (member.len >= 1 && member.len <= TKL_BOARD_MEMBER_MAX)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "a member has %zu bytes, must have 1 to %d", member.len,
                     TKL_BOARD_MEMBER_MAX);
}

static int check_members(const tkl_bytes *members, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++)
        rc = check_member(members[i]);
    return rc;
}

/* A score as it is stored, where less is better, and back. Zero has no sign. */
static double turned(const tkl__board_shape *shape, double score)
{
    return (shape->order == TKL_BOARD_HIGHER ? -score : score) + 0.0;
}

/* Scores that one script changes. */
typedef struct step {
    const char *how;
    const tkl_board_score *scores;
    size_t count;
} step;

static void add_step(tkl__args *args, const tkl__board_season *season, const void *question)
{
    const step *s = question;
    tkl__args_str(args, season->name);
    tkl__args_int(args, season->kept_ms);
    tkl__args_str(args, s->how);
    for (size_t i = 0; i < s->count; i++) {
        tkl__args_bytes(args, s->scores[i].member);
        tkl__args_double(args, turned(&season->shape, s->scores[i].score));
    }
}

static int write_step(tkl_board *b, const step *s, bool retry_safe, int64_t *changed)
{
    tkl__board_season season;
    tkl_reply *reply;
    int rc = ask_board(b, &tkl__lua_board_write, add_step, s, retry_safe, &season, &reply);
    if (rc == TKL_OK)
        tkl__add(changed, tkl_reply_int(tkl_reply_at(reply, TOTAL)));
    tkl_reply_free(reply);
    return rc;
}

/* Runs many steps in one round trip. A step that found another season or other settings changed
 * nothing, and is taken again. */
static int write_batch(tkl_board *b, const step *steps, size_t count, bool retry_safe,
                       int64_t *changed)
{
    char shape[TKL__BOARD_SHAPE_SIZE];
    tkl__board_season season;
    tkl__keys keys;
    tkl__batch batch;
    int rc = find_season(b, &season);
    if (rc == TKL_OK)
        rc = make_keys(b, season.name, &keys);
    if (rc != TKL_OK)
        return rc;
    tkl__batch_init(&batch, b->client);
    for (size_t i = 0; i < count; i++) {
        tkl__args args;
        begin_args(&args, &season, shape);
        add_step(&args, &season, &steps[i]);
        tkl__batch_eval(&batch, &tkl__lua_board_write, &keys, &args, retry_safe);
        tkl__args_free(&args);
    }
    rc = tkl__batch_run(&batch, tkl__deadline(b->client, b->timeout_ms));
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        const tkl_reply *reply = tkl__batch_reply(&batch, i);
        rc = judge_reply(b, &season, reply);
        if (rc == TKL_OK)
            tkl__add(changed, tkl_reply_int(tkl_reply_at(reply, TOTAL)));
        else if (rc == TKL__BOARD_ANOTHER_SEASON)
            rc = write_step(b, &steps[i], retry_safe, changed);
    }
    tkl__batch_free(&batch);
    tkl__keys_free(&keys);
    return rc;
}

static int check_scores(const tkl_board *b, const tkl_board_score *scores, size_t count)
{
    if (b->season)
        return tkl__fail(TKL_EINVAL, "scores change in the current season only");
    for (size_t i = 0; i < count; i++) {
        int rc = check_member(scores[i].member);
        if (rc != TKL_OK)
            return rc;
        if (!isfinite(scores[i].score))
            return tkl__fail(TKL_EINVAL, "a score is a finite number");
    }
    return TKL_OK;
}

static int write_scores(tkl_board *b, const char *how, const tkl_board_score *scores, size_t count,
                        bool retry_safe, int64_t *changed)
{
    int64_t sum = 0;
    if (changed)
        *changed = 0;
    int rc = check_scores(b, scores, count);
    for (size_t from = 0; rc == TKL_OK && from < count;) {
        step steps[BATCH_STEPS];
        size_t n = 0;
        for (; n < BATCH_STEPS && from < count; n++, from += STEP)
            steps[n] = (step){how, scores + from, count - from < STEP ? count - from : STEP};
        rc = n == 1 ? write_step(b, steps, retry_safe, &sum)
                    : write_batch(b, steps, n, retry_safe, &sum);
    }
    if (changed)
        *changed = sum;
    return rc;
}

int tkl_board_add(tkl_board *b, const tkl_board_score *scores, size_t count, int64_t *changed)
{
    return write_scores(b, "add", scores, count, false, changed);
}

int tkl_board_set(tkl_board *b, const tkl_board_score *scores, size_t count, int64_t *changed)
{
    return write_scores(b, "set", scores, count, true, changed);
}

int tkl_board_best(tkl_board *b, const tkl_board_score *scores, size_t count, int64_t *changed)
{
    return write_scores(b, "best", scores, count, true, changed);
}

/* ---- Adding in a pipeline ------------------------------------------------ */

/* A score that is added, and the season that it is added to. */
typedef struct adding {
    tkl__board_season season;
    tkl_board_score score;
    char member[];
} adding;

static adding *new_adding(const tkl_board_score *score)
{
    adding *made = malloc(sizeof *made + score->member.len);
    if (!made)
        return NULL;
    memcpy(made->member, score->member.data, score->member.len);
    made->score = (tkl_board_score){{made->member, score->member.len}, score->score};
    return made;
}

/* Takes the step again if it was for another season, or for other settings. */
static int finish_add(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    tkl_board *b = operation->handle;
    const adding *a = operation->own;
    int64_t unread = 0, *changed = operation->output ? operation->output : &unread;
    if (code == TKL_OK)
        code = judge_reply(b, &a->season, reply);
    if (code == TKL_OK)
        *changed = tkl__reply_number(tkl_reply_at(reply, TOTAL));
    else if (code == TKL__BOARD_ANOTHER_SEASON)
        code = write_step(b, &(step){"add", &a->score, 1}, false, changed);
    return code;
}

int tkl_board_add_in(tkl_pipeline *pipeline, tkl_board *b, const tkl_board_score *score,
                     int64_t *changed, tkl_result *result)
{
    char shape[TKL__BOARD_SHAPE_SIZE];
    tkl__keys keys;
    tkl__args args;
    adding *a = NULL;
    if (changed)
        *changed = 0;
    int rc = check_scores(b, score, 1);
    if (rc == TKL_OK && !(a = new_adding(score)))
        rc = tkl__nomem();
    if (rc == TKL_OK)
        rc = find_season(b, &a->season);
    if (rc == TKL_OK)
        rc = make_keys(b, a->season.name, &keys);
    if (rc != TKL_OK) {
        free(a);
        return tkl__result_set(result, rc);
    }
    begin_args(&args, &a->season, shape);
    add_step(&args, &a->season, &(step){"add", score, 1});
    rc = tkl__pipeline_eval(pipeline, b->client, &tkl__lua_board_write, &keys, &args, false,
                            &(tkl__operation){finish_add, b, a, changed, result});
    tkl__args_free(&args);
    tkl__keys_free(&keys);
    return rc;
}

/* ---- Removing ------------------------------------------------------------ */

typedef struct group {
    const tkl_bytes *members;
    size_t count;
} group;

static void add_members(tkl__args *args, const tkl__board_season *season, const void *question)
{
    const group *g = question;
    (void)season;
    for (size_t i = 0; i < g->count; i++)
        tkl__args_bytes(args, g->members[i]);
}

int tkl_board_remove(tkl_board *b, const tkl_bytes *members, size_t count, int64_t *removed)
{
    int64_t sum = 0;
    if (removed)
        *removed = 0;
    int rc = check_members(members, count);
    for (size_t from = 0; rc == TKL_OK && from < count; from += STEP) {
        group g = {members + from, count - from < STEP ? count - from : STEP};
        tkl__board_season season;
        tkl_reply *reply;
        rc = ask_board(b, &tkl__lua_board_remove, add_members, &g, true, &season, &reply);
        if (rc == TKL_OK)
            tkl__add(&sum, tkl_reply_int(tkl_reply_at(reply, TOTAL)));
        tkl_reply_free(reply);
    }
    if (removed)
        *removed = sum;
    return rc;
}

/* ---- Reading ------------------------------------------------------------- */

typedef struct listing {
    tkl_board_entries entries; /* first: the user's pointer points to it */
    tkl_reply *reply;          /* owns the members */
    tkl_board_entry items[];
} listing;

void tkl_board_entries_free(tkl_board_entries *entries)
{
    listing *l = (listing *)(void *)entries;
    if (l)
        tkl_reply_free(l->reply);
    free(l);
}

/* Reads the stamp and the member of an element. */
static bool read_element(const tkl_reply *element, tkl_board_entry *entry)
{
    tkl_bytes bytes = tkl_reply_bytes(element);
    uint64_t us = 0;
    if (bytes.len <= TKL__BOARD_STAMP_SIZE)
        return false;
    for (int i = 0; i < TKL__BOARD_STAMP_SIZE; i++)
        us = us << 8 | (unsigned char)bytes.data[i];
    entry->reached_ms = (int64_t)(us / 1000);
    entry->member =
        (tkl_bytes){bytes.data + TKL__BOARD_STAMP_SIZE, bytes.len - TKL__BOARD_STAMP_SIZE};
    return true;
}

/* Makes the result from an answer, which it takes over. Entries are pairs of element and score from
 * rank FIRST on, or with FIRST < 0 triples with their own ranks. */
static int read_entries(const tkl__board_season *season, tkl_reply *reply,
                        tkl_board_entries **entries)
{
    int64_t first = tkl__reply_number(tkl_reply_at(reply, FIRST));
    size_t words = first < 0 ? 3 : 2, all = tkl_reply_count(reply);
    size_t count = all < HEAD ? 0 : (all - HEAD) / words;
    listing *l = calloc(1, sizeof *l + count * sizeof l->items[0]);
    bool fine = all >= HEAD;
    if (!l) {
        tkl_reply_free(reply);
        return tkl__nomem();
    }
    l->reply = reply;
    l->entries = (tkl_board_entries){
        .items = l->items, .count = count, .total = tkl__reply_number(tkl_reply_at(reply, TOTAL))};
    for (size_t i = 0; fine && i < count; i++) {
        size_t at = HEAD + i * words;
        tkl_board_entry *entry = &l->items[i];
        double score;
        fine = read_element(tkl_reply_at(reply, at), entry) &&
               tkl__double_parse(tkl_reply_bytes(tkl_reply_at(reply, at + 1)), &score);
        entry->score = fine ? turned(&season->shape, score) : 0;
        entry->rank =
            1 + (first < 0 ? tkl__reply_number(tkl_reply_at(reply, at + 2)) : first + (int64_t)i);
    }
    if (!fine) {
        tkl_board_entries_free(&l->entries);
        return tkl__fail(TKL_EDAMAGED, "an entry was not written by tackle");
    }
    *entries = &l->entries;
    return TKL_OK;
}

static int ask_entries(tkl_board *b, const tkl__script *script, add_args *add, const void *question,
                       tkl_board_entries **entries)
{
    tkl__board_season season;
    tkl_reply *reply;
    int rc = ask_board(b, script, add, question, true, &season, &reply);
    return rc == TKL_OK ? read_entries(&season, reply, entries) : rc;
}

typedef struct range {
    tkl_bytes member; /* the one in the middle, for tkl_board_around() */
    int64_t first;    /* rank to begin with, from 0, for tkl_board_top() */
    int64_t before, count;
} range;

static void add_page(tkl__args *args, const tkl__board_season *season, const void *question)
{
    const range *r = question;
    (void)season;
    tkl__args_int(args, r->first);
    tkl__args_int(args, r->count);
}

static void add_around(tkl__args *args, const tkl__board_season *season, const void *question)
{
    const range *r = question;
    (void)season;
    tkl__args_bytes(args, r->member);
    tkl__args_int(args, r->before);
    tkl__args_int(args, r->count);
}

static int check_most(size_t count, size_t most)
{
    if (count <= most)
        return TKL_OK;
    return tkl__fail(TKL_EINVAL, "%zu entries or members, must be at most %zu", count, most);
}

int tkl_board_top(tkl_board *b, int64_t first, size_t count, tkl_board_entries **entries)
{
    *entries = NULL;
    int rc = check_most(count, TKL_BOARD_PAGE_MAX);
    if (rc == TKL_OK)
        rc = tkl__check_number("first", first, 1, RANK_MAX);
    range r = {.first = first - 1, .count = (int64_t)count};
    return rc == TKL_OK ? ask_entries(b, &tkl__lua_board_top, add_page, &r, entries) : rc;
}

int tkl_board_around(tkl_board *b, tkl_bytes member, size_t before, size_t after,
                     tkl_board_entries **entries)
{
    *entries = NULL;
    int rc = check_member(member);
    if (rc == TKL_OK)
        rc = check_most(before, TKL_BOARD_PAGE_MAX);
    if (rc == TKL_OK)
        rc = check_most(after, TKL_BOARD_PAGE_MAX);
    if (rc == TKL_OK)
        rc = check_most(before + 1 + after, TKL_BOARD_PAGE_MAX);
    range r = {.member = member, .before = (int64_t)before, .count = (int64_t)after};
    return rc == TKL_OK ? ask_entries(b, &tkl__lua_board_around, add_around, &r, entries) : rc;
}

int tkl_board_rank(tkl_board *b, const tkl_bytes *members, size_t count,
                   tkl_board_entries **entries)
{
    *entries = NULL;
    int rc = check_most(count, TKL_BOARD_RANK_MAX);
    if (rc == TKL_OK)
        rc = check_members(members, count);
    if (rc != TKL_OK || count == 0)
        return rc != TKL_OK ? rc : tkl_board_top(b, 1, 0, entries);
    group g = {members, count};
    return ask_entries(b, &tkl__lua_board_rank, add_members, &g, entries);
}

int tkl_board_count(tkl_board *b, int64_t *count)
{
    tkl_board_entries *entries;
    *count = 0;
    int rc = tkl_board_top(b, 1, 0, &entries);
    if (rc == TKL_OK)
        *count = entries->total;
    tkl_board_entries_free(entries);
    return rc;
}

/* ---- All seasons --------------------------------------------------------- */

static const char season_field[] = "season:";
enum { SEASON_FIELD = sizeof season_field - 1 };

/* The names of the seasons in the settings, those that have expired included. */
static int read_seasons(tkl_board *b, tkl__names *seasons)
{
    tkl__keys keys;
    tkl__args words;
    tkl_reply *reply = NULL;
    int rc = make_keys(b, "", &keys);
    if (rc != TKL_OK)
        return rc;
    tkl__args_init(&words);
    tkl__args_str(&words, "HKEYS");
    tkl__args_bytes(&words, keys.items[0]);
    rc = tkl__plain(b->client, &words, tkl__deadline(b->client, b->timeout_ms), true, &reply);
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(reply); i++) {
        tkl_bytes field = tkl_reply_bytes(tkl_reply_at(reply, i));
        if (!tkl__begins_with(field, tkl_str(season_field)) ||
            field.len - SEASON_FIELD >= TKL__BOARD_SEASON_SIZE)
            continue;
        rc = tkl__names_add_copy(seasons,
                                 (tkl_bytes){field.data + SEASON_FIELD, field.len - SEASON_FIELD});
    }
    tkl_reply_free(reply);
    tkl__args_free(&words);
    tkl__keys_free(&keys);
    return rc;
}

/* One command for each season: UNLINK frees the memory beside the server's other work. The settings
 * come last: a drop that was cut off can be repeated. */
int tkl_board_drop(tkl_board *b)
{
    tkl__names seasons = {0};
    tkl__batch batch;
    tkl__batch_init(&batch, b->client);
    int rc = read_seasons(b, &seasons);
    for (size_t i = 0; rc == TKL_OK && i <= seasons.count; i++) {
        bool is_last = i == seasons.count;
        tkl__keys keys;
        rc = make_keys(b, is_last ? "" : seasons.items[i].data, &keys);
        if (rc != TKL_OK)
            break;
        if (is_last)
            TKL__BATCH_WORDS(&batch, tkl_str("UNLINK"), keys.items[0]);
        else
            TKL__BATCH_WORDS(&batch, tkl_str("UNLINK"), keys.items[1], keys.items[2]);
        tkl__keys_free(&keys);
    }
    if (rc == TKL_OK)
        rc = tkl__batch_run(&batch, tkl__deadline(b->client, b->timeout_ms));
    bool was_there = rc == TKL_OK && tkl_reply_int(tkl__batch_reply(&batch, batch.count - 1)) > 0;
    tkl__batch_free(&batch);
    tkl__names_free(&seasons);
    return rc != TKL_OK || was_there ? rc : tkl__no(TKL_NOTFOUND);
}

/* Keeps the boards that have a name, and that the batch has found. */
typedef struct existing {
    const tkl__names *names;
    const tkl__batch *batch;
} existing;

static bool exists(tkl_bytes name, void *arg)
{
    const existing *e = arg;
    for (size_t i = 0; name.len > 0 && i < e->names->count; i++)
        if (tkl__same_bytes(e->names->items[i], name))
            return tkl_reply_int(tkl__batch_reply(e->batch, i)) > 0;
    return false;
}

int tkl_board_seasons(tkl_board *b, tkl_names **result)
{
    tkl__names seasons = {0}, found = {0};
    tkl__batch batch;
    *result = NULL;
    tkl__batch_init(&batch, b->client);
    int rc = read_seasons(b, &seasons);
    for (size_t i = 0; rc == TKL_OK && i < seasons.count; i++) {
        tkl__keys keys;
        rc = make_keys(b, seasons.items[i].data, &keys);
        if (rc != TKL_OK)
            break;
        TKL__BATCH_WORDS(&batch, tkl_str("EXISTS"), keys.items[1]);
        tkl__keys_free(&keys);
        rc = tkl__names_add_copy(&found, seasons.items[i]);
    }
    if (rc == TKL_OK && seasons.count > 0)
        rc = tkl__batch_run(&batch, tkl__deadline(b->client, b->timeout_ms));
    if (rc == TKL_OK) {
        tkl__names_tidy(&found, exists, &(existing){&seasons, &batch});
        rc = tkl__names_result(&found, result);
    }
    tkl__batch_free(&batch);
    tkl__names_free(&seasons);
    tkl__names_free(&found);
    return rc;
}

int tkl_board_names(tkl_client *client, tkl_names **names)
{
    return tkl__instances(client, TKL__BOARD_COMPONENT, "settings", "hash", names);
}
