/* SPDX-License-Identifier: MIT
 *
 * Servers answer the commands of a connection in order, so the commands that have no reply yet are a
 * list, and each reply belongs to the first of them. A connection that has subscribed gets messages
 * as well: its commands are reported when they are sent, without a time.
 */
#include "core/trace.h"

#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/letters.h"
#include "core/library.h"
#include "core/report.h"

#define MASK "***"

typedef struct command {
    struct command *next;
    int64_t sent_at; /* monotonic */
    size_t place, batch;
    char *name; /* a readable name of a function, which one of the words points to; NULL: none */
    char *wire; /* a copy, which the words point into */
    size_t count;
    tkl_bytes words[];
} command;

struct tkl__trace {
    void (*on_trace)(const tkl_trace *trace, void *arg);
    void *arg;
    char server[300];
    bool listens;          /* it has subscribed */
    command *first, *last; /* without a reply yet */
};

tkl__trace *tkl__trace_open(const tkl__target *target, const tkl__addr *addr)
{
    if (!target->on_trace)
        return NULL;
    tkl__trace *trace = calloc(1, sizeof *trace);
    if (!trace)
        return NULL;
    trace->on_trace = target->on_trace;
    trace->arg = target->trace_arg;
    tkl__print_server(addr, trace->server, sizeof trace->server);
    return trace;
}

static void command_free(command *c)
{
    free(c->name);
    free(c->wire);
    free(c);
}

static void report_command(const tkl__trace *trace, const command *c, int64_t took_us, int code)
{
    tkl_trace report = {.words = c->words,
                        .count = c->count,
                        .server = trace->server,
                        .took_us = took_us,
                        .code = code,
                        .place = c->place,
                        .batch = c->batch};
    trace->on_trace(&report, trace->arg);
}

/* ---- Reading what is sent ------------------------------------------------ */

/* Reads the number of a line such as "*3\r\n" or "$12\r\n" and moves behind the line. The core has
 * written the text itself, in whole commands. */
static size_t read_count(const char **at)
{
    char *end;
    size_t count = strtoul(*at + 1, &end, 10);
    *at = end + 2;
    return count;
}

/* Moves behind the command that begins at `at`. */
static const char *skip_command(const char *at)
{
    for (size_t words = read_count(&at); words > 0; words--) {
        size_t len = read_count(&at);
        at += len + 2;
    }
    return at;
}

static command *command_read(const char *start, size_t len)
{
    const char *at = start;
    size_t count = read_count(&at);
    command *c = calloc(1, sizeof *c + count * sizeof *c->words);
    if (!c || !(c->wire = malloc(len))) {
        free(c);
        return NULL;
    }
    memcpy(c->wire, start, len);
    c->count = count;
    at = c->wire + (at - start);
    for (size_t i = 0; i < count; i++) {
        size_t size = read_count(&at);
        c->words[i] = (tkl_bytes){at, size};
        at += size + 2;
    }
    return c;
}

/* ---- Hidden arguments and other names ------------------------------------ */

static bool is_word(const command *c, size_t index, const char *word)
{
    return index < c->count && c->words[index].len == strlen(word) &&
           tkl__same_letters(c->words[index].data, word, strlen(word));
}

static void mask_from(command *c, size_t index)
{
    for (; index < c->count; index++)
        c->words[index] = tkl_str(MASK);
}

/* Masks all that follows a word AUTH or AUTH2. */
static void mask_after_auth(command *c)
{
    for (size_t i = 1; i < c->count; i++)
        if (is_word(c, i, "AUTH") || is_word(c, i, "AUTH2")) {
            mask_from(c, i + 1);
            return;
        }
}

/* Masks the values of settings such as requirepass, masterauth and auth-pass, in "name value name
 * value ..." */
static void mask_settings(command *c, size_t index)
{
    for (; index + 1 < c->count; index += 2)
        for (size_t i = 0; i + 4 <= c->words[index].len; i++) {
            const char *at = c->words[index].data + i;
            if (tkl__same_letters(at, "pass", 4) || tkl__same_letters(at, "auth", 4))
                c->words[index + 1] = tkl_str(MASK);
        }
}

/* Masks passwords and their hashes in the rules of an ACL user. */
static void mask_rules(command *c)
{
    for (size_t i = 2; i < c->count; i++)
        if (c->words[i].len > 0 && memchr("><#!", c->words[i].data[0], 4))
            c->words[i] = tkl_str(MASK);
}

static void mask_secrets(command *c)
{
    if (is_word(c, 0, "AUTH"))
        mask_from(c, 1);
    else if (is_word(c, 0, "HELLO") || is_word(c, 0, "MIGRATE"))
        mask_after_auth(c);
    else if (is_word(c, 0, "CONFIG") && is_word(c, 1, "SET"))
        mask_settings(c, 2);
    else if (is_word(c, 0, "SENTINEL"))
        mask_settings(c, 3); /* SET master name value, and CONFIG SET name value */
    else if (is_word(c, 0, "ACL") && is_word(c, 1, "SETUSER"))
        mask_rules(c);
}

/* Names the function of a call as its file: "tackle_queue_push_0123456789" is "queue/push". */
static void name_function(command *c)
{
    if (c->count < 2 || (!is_word(c, 0, "FCALL") && !is_word(c, 0, "FCALL_RO")))
        return;
    char *name = strndup(c->words[1].data, c->words[1].len);
    if (!name || !tkl__is_library_name(name)) {
        free(name);
        return;
    }
    c->name = name;
    *strrchr(name, '_') = '\0';
    char *start = strchr(name, '_') + 1, *component_end = strchr(start, '_');
    if (component_end)
        *component_end = '/';
    c->words[1] = tkl_str(start);
}

static bool is_subscription(const command *c)
{
    return is_word(c, 0, "SSUBSCRIBE") || is_word(c, 0, "SUBSCRIBE") || is_word(c, 0, "PSUBSCRIBE");
}

/* ---- The way of a command ------------------------------------------------ */

static void append_command(tkl__trace *trace, command *c)
{
    *(trace->first ? &trace->last->next : &trace->first) = c;
    trace->last = c;
}

void tkl__trace_send(tkl__trace *trace, tkl_bytes wire)
{
    if (!trace)
        return;
    size_t batch = 0, place = 0;
    const char *end = wire.data + wire.len;
    for (const char *at = wire.data; at < end; at = skip_command(at))
        batch++;
    for (const char *at = wire.data, *next; at < end; at = next) {
        next = skip_command(at);
        command *c = command_read(at, (size_t)(next - at));
        if (!c) { /* without memory the replies cannot be told apart */
            trace->listens = true;
            return;
        }
        c->sent_at = tkl__now();
        c->place = ++place;
        c->batch = batch;
        mask_secrets(c);
        name_function(c);
        trace->listens |= is_subscription(c);
        if (!trace->listens) {
            append_command(trace, c);
            continue;
        }
        report_command(trace, c, -1, TKL_OK);
        command_free(c);
    }
}

void tkl__trace_reply(tkl__trace *trace, const tkl_reply *reply)
{
    if (!trace || !trace->first)
        return;
    command *c = trace->first;
    trace->first = c->next;
    report_command(trace, c, tkl__now() - c->sent_at, tkl_reply_code(reply));
    command_free(c);
}

static void free_trace(tkl__trace *trace)
{
    for (command *c = trace->first, *next; c; c = next) {
        next = c->next;
        command_free(c);
    }
    free(trace);
}

void tkl__trace_close(tkl__trace *trace, int code)
{
    if (!trace)
        return;
    for (const command *c = trace->first; c; c = c->next)
        report_command(trace, c, -1, code);
    free_trace(trace);
}

void tkl__trace_abandon(tkl__trace *trace)
{
    if (trace)
        free_trace(trace);
}
