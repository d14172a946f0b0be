/* SPDX-License-Identifier: MIT */
#include "core/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/lenient.h"
#include "core/options.h"
#include "core/resp.h"
#include "core/rounds.h"

#define STEP 500

void tkl__glob_escape(tkl__buf *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("*?[]\\^-", *text))
            tkl__buf_addz(out, "\\");
        tkl__buf_add(out, text, 1);
    }
}

/* A cursor is valid on one server only: the one that serves the slot when the walk over it
 * begins. */
struct tkl__walker {
    tkl_client *client;
    const tkl__way *way;
    int *slots; /* one for each server */
    size_t count, at;
    tkl__node *node; /* the server of the current slot; NULL: not begun */
    char cursor[32];
    tkl__circle circle; /* detects a circle of this server's cursors */
    size_t step_at;     /* server and cursor of the last step */
    char step_cursor[32];
};

/* ---- Opening ------------------------------------------------------------- */

static int one_slot(tkl__walker *w)
{
    w->slots = malloc(sizeof *w->slots);
    if (!w->slots)
        return tkl__nomem();
    w->slots[0] = w->client->route->cluster ? tkl__slot_of(w->way->key) : TKL__NO_SLOT;
    w->count = 1;
    return TKL_OK;
}

int tkl__walker_open(tkl_client *client, const tkl__way *way, tkl__walker **walker)
{
    tkl__walker *w = calloc(1, sizeof *w);
    *walker = w;
    if (!w)
        return tkl__nomem();
    w->client = client;
    w->way = way;
    int rc = way->key.data ? one_slot(w)
                           : tkl__shards(client, tkl__deadline(client, way->timeout_ms), &w->slots,
                                         &w->count);
    if (rc != TKL_OK) {
        tkl__walker_close(w);
        *walker = NULL;
    }
    return rc;
}

void tkl__walker_close(tkl__walker *w)
{
    if (!w)
        return;
    tkl__node_unref(w->node);
    free(w->slots);
    free(w);
}

/* ---- A step -------------------------------------------------------------- */

static void write_step(const tkl__walker *w, tkl__buf *wire)
{
    const tkl__way *way = w->way;
    tkl__resp_head(wire, (way->key.data ? 7U : 6U) + (way->type ? 2U : 0U));
    tkl__resp_argz(wire, way->command);
    if (way->key.data)
        tkl__resp_arg(wire, way->key.data, way->key.len);
    tkl__resp_argz(wire, w->cursor);
    tkl__resp_argz(wire, "MATCH");
    tkl__resp_arg(wire, way->pattern.data, way->pattern.len);
    tkl__resp_argz(wire, "COUNT");
    tkl__resp_int(wire, way->step > 0 ? way->step : STEP);
    if (way->type) {
        tkl__resp_argz(wire, "TYPE");
        tkl__resp_argz(wire, way->type);
    }
}

static int ask_scan(tkl__walker *w, tkl_reply **reply)
{
    tkl__buf wire;
    tkl__buf_init(&wire);
    write_step(w, &wire);
    int64_t until =
        tkl__lenient_deadline(w->client, w->node, tkl__deadline(w->client, w->way->timeout_ms));
    tkl__request request = {.wire = {wire.data, wire.len}, .slot = TKL__NO_SLOT};
    int rc = wire.failed                   ? tkl__nomem()
             : tkl__lenient_skips(w->node) ? tkl__lenient_fail(w->node)
                                           : tkl__exec_on(w->node, &request, until, reply);
    tkl__buf_free(&wire);
    if (rc != TKL_OK)
        (void)!tkl__lenient_gives_up(w->client, w->node, until);
    return rc == TKL_OK ? tkl__check(reply) : rc;
}

static int begin_server(tkl__walker *w)
{
    w->circle = (tkl__circle){.steps = 0};
    strcpy(w->cursor, "0");
    return w->client->route->pick(w->client, w->slots[w->at],
                                  tkl__deadline(w->client, w->way->timeout_ms), &w->node);
}

static void end_server(tkl__walker *w)
{
    tkl__node_unref(w->node);
    w->node = NULL;
    w->at++;
}

static int read_cursor(tkl__walker *w, const tkl_reply *reply)
{
    tkl_bytes next = tkl_reply_bytes(tkl_reply_at(reply, 0));
    int rc = tkl__circle_next(&w->circle, next);
    if (rc != TKL_OK)
        return rc;
    snprintf(w->cursor, sizeof w->cursor, "%s", next.data);
    if (strcmp(w->cursor, "0") == 0)
        end_server(w);
    return TKL_OK;
}

int tkl__walker_next(tkl__walker *w, tkl_reply **reply, const tkl_reply **elements)
{
    *reply = NULL;
    *elements = NULL;
    if (w->at == w->count)
        return TKL_EMPTY;
    int rc = w->node ? TKL_OK : begin_server(w);
    w->step_at = w->at;
    memcpy(w->step_cursor, w->cursor, sizeof w->step_cursor);
    if (rc == TKL_OK)
        rc = ask_scan(w, reply);
    if (rc != TKL_OK && w->node && tkl__lenient_skips(w->node)) {
        end_server(w); /* the view does without its keys */
        return TKL_OK;
    }
    if (rc == TKL_OK)
        rc = read_cursor(w, *reply);
    *elements = tkl_reply_at(*reply, 1);
    return rc;
}

/* ---- Positions ----------------------------------------------------------- */

/* The id that a server has from its start to its end. */
static int read_run_id(tkl__walker *w, int slot, char id[48])
{
    static const char field[] = "run_id:";
    int64_t deadline = tkl__deadline(w->client, w->way->timeout_ms);
    tkl__node *node = NULL;
    tkl_reply *reply = NULL;
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, 2);
    tkl__resp_argz(&wire, "INFO");
    tkl__resp_argz(&wire, "server");
    tkl__request request = {.wire = {wire.data, wire.len}, .slot = TKL__NO_SLOT};
    int rc = wire.failed ? tkl__nomem() : w->client->route->pick(w->client, slot, deadline, &node);
    if (rc == TKL_OK)
        rc = tkl__exec_on(node, &request, deadline, &reply);
    if (rc == TKL_OK)
        rc = tkl__check(&reply);
    const char *found = rc == TKL_OK ? strstr(tkl_reply_str(reply), field) : NULL;
    if (rc == TKL_OK && (!found || sscanf(found + strlen(field), "%40[0-9a-f]", id) != 1))
        rc = tkl__fail(TKL_EPROTO, "the server does not tell its run_id");
    tkl_reply_free(reply);
    tkl__buf_free(&wire);
    tkl__node_unref(node);
    return rc;
}

bool tkl__walk_position_read(const char *text, tkl__walk_position *position)
{
    int used = 0;
    return sscanf(text, "%d.%20[0-9].%40[0-9a-f-]%n", &position->slot, position->cursor,
                  position->server, &used) == 3 &&
           text[used] == '\0';
}

int tkl__walker_tell(tkl__walker *w, bool before, char text[TKL__WALK_POSITION_SIZE])
{
    size_t at = before ? w->step_at : w->at;
    const char *cursor = before ? w->step_cursor : w->node ? w->cursor : "0";
    char server[48] = "-";
    if (at == w->count)
        return tkl__no(TKL_EMPTY);
    int rc = strcmp(cursor, "0") == 0 ? TKL_OK : read_run_id(w, w->slots[at], server);
    snprintf(text, TKL__WALK_POSITION_SIZE, "%d.%.20s.%.40s", w->slots[at], cursor, server);
    return rc;
}

int tkl__walker_seek(tkl__walker *w, const tkl__walk_position *position)
{
    char server[48] = "-";
    while (w->at < w->count && w->slots[w->at] != position->slot)
        w->at++;
    int rc = w->at < w->count && strcmp(position->cursor, "0") != 0
                 ? read_run_id(w, position->slot, server)
                 : TKL_OK;
    if (rc == TKL_OK && (w->at == w->count || strcmp(server, position->server) != 0))
        rc = tkl__fail(TKL_EINVAL, "cursor: its server was restarted or replaced: begin again");
    if (rc == TKL_OK)
        rc = begin_server(w);
    if (rc == TKL_OK)
        snprintf(w->cursor, sizeof w->cursor, "%s", position->cursor);
    return rc;
}

/* ---- All keys ------------------------------------------------------------ */

static int visit_all(const tkl_reply *keys, tkl__visit *visit, void *arg)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < tkl_reply_count(keys); i++)
        rc = visit(tkl_reply_bytes(tkl_reply_at(keys, i)), arg);
    return rc;
}

int tkl__walk(tkl_client *client, tkl_bytes pattern, const char *type, tkl__visit *visit, void *arg)
{
    tkl__way way = {.command = "SCAN", .pattern = pattern, .type = type};
    tkl__walker *walker;
    int rc = tkl__walker_open(client, &way, &walker);
    while (rc == TKL_OK) {
        tkl_reply *reply;
        const tkl_reply *keys;
        rc = tkl__walker_next(walker, &reply, &keys);
        if (rc == TKL_OK)
            rc = visit_all(keys, visit, arg);
        tkl_reply_free(reply);
    }
    tkl__walker_close(walker);
    return rc == TKL_EMPTY ? TKL_OK : rc;
}
