/* SPDX-License-Identifier: MIT
 *
 * Logs.
 *
 * Each severity of a log has five keys, ns:log:{name}:<part>:<severity>:
 *
 *   recent     stream, field m: the last messages; t: when they happened, if they were written with
 *              a time of their own. It is trimmed to the messages that are kept, and expires
 *              `ttl_ms` after the last message. The ids are the server's time; a tail waits for new
 *              ones.
 *   this       sorted set, the table of this hour: messages by how often they occurred in it
 *   hour       hash: the hour of the table `this`; how often a message that is not in the table can
 *              have occurred (bound); <slice>:<message>, how often a message of the table occurred
 *              in each ten minutes of the hour, 0 to 5
 *   last       the same as `this`, for the hour before
 *   last_hour  the same as `hour`, for the hour before
 *
 * No process is responsible for changing the hour. The script that writes the first message of an
 * hour finds another hour in `hour`. It renames `this` to `last`, or drops it when it is older, and
 * `hour` with it. So all writers change the hour together, and no message is counted twice or lost
 * between two tables. Reading changes nothing: log/common judges the tables by the clock in the
 * same way, so after hours of silence "last hour" is empty and not stale.
 *
 * When the clock is set back by less than an hour, across the full hour, writers continue the table
 * of the later hour. When it is set back further, that table becomes the last hour's. In both cases
 * every message is still counted once (see shared/hours.inc.lua).
 *
 * Messages of an earlier time (`at_ms`) are counted in `last`; or in `this` when that still belongs
 * to the last hour, because no message was written since. Among the recent messages they stand
 * where they were written: ids only grow.
 *
 * All keys but recent expire at the end of the last hour in which they can be asked for: EXPIREAT
 * is set once, when they are made.
 *
 * A table has at most `distinct` messages. When it is full, a new message takes the place and the
 * count of the least frequent one (shared/frequent.inc.lua). So a message that becomes frequent
 * late in the hour gets in, and its count is too high by at most `bound`.
 *
 * A batch of several steps also has a key of its own for a minute, ns:log:{name}:batch:<random>:
 * the number of the last step that was written. Each step makes sure that the step before was
 * written, so the messages keep their order even if the server loses its functions in between.
 *
 * The last 60 minutes are this hour and the end of the last one. The end is counted in slices of
 * ten minutes: occurrences in the slice where the 60 minutes begin are counted, and are part of
 * `excess`. Counts per minute would take ten times the fields. A message that loses its place in
 * the table loses its fields, so a hash has at most six fields for each message of its table.
 */
#include "log/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/instances.h"
#include "core/letters.h"
#include "core/options.h"
#include "log/scripts.h"
#include "pipeline/pipeline.h"

#define COMPONENT "log"
#define KEEP      100
#define DISTINCT  1000
#define TTL_MS    (INT64_C(30) * 24 * 3600 * 1000)

/* ---- Severities ---------------------------------------------------------- */

static const char *const severity_names[TKL__LOG_SEVERITIES] = {
    "emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"};

const char *tkl_log_severity_name(tkl_log_severity severity)
{
    return severity == TKL_LOG_ANY ? "any" : TKL__ENUM_NAME((int)severity, severity_names);
}

static bool is_word(const char *text, const char *word)
{
    return tkl__same_letters(text, word, strlen(word) + 1);
}

int tkl_log_severity_parse(const char *text, tkl_log_severity *severity)
{
    static const struct {
        const char *name;
        tkl_log_severity severity;
    } others[] = {{"emerg", TKL_LOG_EMERGENCY}, {"panic", TKL_LOG_EMERGENCY},
                  {"crit", TKL_LOG_CRITICAL},   {"err", TKL_LOG_ERROR},
                  {"warn", TKL_LOG_WARNING},    {"any", TKL_LOG_ANY}};
    for (int i = 0; i < TKL__LOG_SEVERITIES; i++)
        if (is_word(text, severity_names[i])) {
            *severity = (tkl_log_severity)i;
            return TKL_OK;
        }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_word(text, others[i].name)) {
            *severity = others[i].severity;
            return TKL_OK;
        }
    *severity = TKL_LOG_ANY;
    return tkl__fail(TKL_EINVAL, "there is no severity '%s'", text);
}

int tkl__log_check_any(tkl_log_severity severity)
{
    return tkl__check_number("severity", severity, TKL_LOG_ANY, TKL_LOG_DEBUG);
}

int tkl__log_check(tkl_log_severity severity, tkl_bytes text)
{
    int rc = tkl__check_number("severity", severity, TKL_LOG_EMERGENCY, TKL_LOG_DEBUG);
    if (rc == TKL_OK && text.len > TKL_LOG_MESSAGE_MAX)
        rc = tkl__fail(TKL_EINVAL, "a message of %zu bytes: at most %d", text.len,
                       TKL_LOG_MESSAGE_MAX);
    return rc;
}

/* ---- Handles ------------------------------------------------------------- */

static int check_options(const tkl_log_options *o)
{
    return TKL__CHECK_OPTIONS(o, {"timeout_ms", o->timeout_ms, 0, TKL__MS_MAX},
                              {"ttl_ms", o->ttl_ms, TKL_NONE, TKL__MS_MAX},
                              {"keep", o->keep, 0, TKL_LOG_KEEP_MAX},
                              {"distinct", o->distinct, 0, TKL_LOG_DISTINCT_MAX});
}

static int make_keys(tkl_log *log, tkl_bytes name)
{
    static const char *const part_names[TKL__LOG_PARTS] = {"recent", "this", "hour", "last",
                                                           "last_hour"};
    enum { SIZE = 32 };
    char texts[TKL__LOG_BATCH][SIZE];
    const char *parts[TKL__LOG_KEYS];
    for (int i = 0; i < TKL__LOG_BATCH; i++) {
        snprintf(texts[i], SIZE, "%s:%s", part_names[i % TKL__LOG_PARTS],
                 severity_names[i / TKL__LOG_PARTS]);
        parts[i] = texts[i];
    }
    parts[TKL__LOG_BATCH] = "batch:";
    return tkl__keys_make(log->client, COMPONENT, name, parts, TKL__LOG_KEYS, &log->keys);
}

int tkl_log_open(tkl_client *client, tkl_bytes name, const tkl_log_options *options, tkl_log **out)
{
    static const tkl_log_options defaults;
    const tkl_log_options *o = options ? options : &defaults;
    *out = NULL;
    int rc = check_options(o);
    if (rc != TKL_OK)
        return rc;
    tkl_log *log = calloc(1, sizeof *log);
    if (!log)
        return tkl__nomem();
    log->client = client;
    log->timeout_ms = o->timeout_ms;
    log->ttl_ms = o->ttl_ms == 0 ? TTL_MS : o->ttl_ms == TKL_NONE ? 0 : o->ttl_ms;
    log->keep = o->keep ? o->keep : KEEP;
    log->distinct = o->distinct ? o->distinct : DISTINCT;
    rc = make_keys(log, name);
    if (rc != TKL_OK) {
        free(log);
        return rc;
    }
    *out = log;
    return TKL_OK;
}

void tkl_log_close(tkl_log *log)
{
    if (!log)
        return;
    tkl__keys_free(&log->keys);
    free(log);
}

/* ---- Writing ------------------------------------------------------------- */

void tkl__log_batch_init(tkl__log_batch *batch, const tkl_log *log, const tkl__log_step *step)
{
    batch->count = batch->bytes = 0;
    batch->at_ms = 0;
    memset(batch->groups, 0, sizeof batch->groups);
    batch->keys[0] = step ? step->key : log->keys.items[TKL__LOG_BATCH];
    batch->nkeys = 1;
    tkl__args_init(&batch->args);
    tkl__args_str(&batch->args, step ? step->number : "");
    tkl__args_str(&batch->args, step ? step->after : "");
    tkl__args_int(&batch->args, log->keep);
    tkl__args_int(&batch->args, log->distinct);
    tkl__args_int(&batch->args, log->ttl_ms);
    tkl__args_str(&batch->args, "");
}

/* Arguments of write.lua: the number of the step, the step that must be written before, the time.
 */
enum { STEP, AFTER, AT = 5 };

/* Sets the time of all messages of the batch, before the first one is added; by default it is now.
 */
static void set_batch_time(tkl__log_batch *batch, int64_t at_ms)
{
    if (at_ms == 0 || batch->args.failed)
        return;
    batch->at_ms = at_ms;
    batch->args.count = AT;
    tkl__args_int(&batch->args, at_ms);
}

bool tkl__log_batch_has_room(const tkl__log_batch *batch, size_t len)
{
    return batch->count == 0 ||
           (batch->count < TKL__LOG_AT_ONCE && batch->bytes + len <= TKL__LOG_BYTES_AT_ONCE);
}

void tkl__log_batch_add(tkl__log_batch *batch, const tkl_log *log, tkl_log_severity severity,
                        tkl_bytes text)
{
    static const char *const numbers[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8"};
    if (batch->groups[severity] == 0) {
        for (int part = 0; part < TKL__LOG_PARTS; part++)
            batch->keys[batch->nkeys++] = tkl__log_key(log, (int)severity, part);
        batch->groups[severity] = (int)((batch->nkeys - 1) / TKL__LOG_PARTS);
    }
    tkl__args_str(&batch->args, numbers[batch->groups[severity]]);
    tkl__args_bytes(&batch->args, text);
    batch->count++;
    batch->bytes += text.len;
}

tkl__invocation tkl__log_batch_call(const tkl__log_batch *batch)
{
    return (tkl__invocation){.script = &tkl__lua_log_write,
                             .keys = batch->keys,
                             .nkeys = batch->nkeys,
                             .args = batch->args.items,
                             .nargs = batch->args.count};
}

void tkl__log_batch_free(tkl__log_batch *batch)
{
    tkl__args_free(&batch->args);
}

static int check_messages(const tkl_log_message *messages, size_t count)
{
    int rc = TKL_OK;
    for (size_t i = 0; rc == TKL_OK && i < count; i++) {
        rc = TKL__CHECK_RESERVED(&messages[i]);
        if (rc == TKL_OK)
            rc = tkl__log_check(messages[i].severity, messages[i].text);
        if (rc == TKL_OK)
            rc = tkl__check_number("at_ms", messages[i].at_ms, 0, TKL__AT_MAX);
    }
    return rc;
}

/* Scripts of one round trip. */
#define STEPS_MAX 100

/* Batches that are being sent. */
typedef struct sending {
    tkl__buf key; /* key of these batches: "...:batch:<random>" */
    tkl__log_step steps[STEPS_MAX];
    tkl__log_batch batches[STEPS_MAX];
    tkl__invocation calls[STEPS_MAX];
    size_t count;
} sending;

/* Fills as many batches as one round trip takes. Returns how many messages they contain. */
static size_t load_batches(sending *t, const tkl_log *log, const tkl_log_message *messages,
                           size_t count)
{
    tkl_bytes prefix = log->keys.items[TKL__LOG_BATCH];
    uint64_t random;
    size_t taken = 0;
    tkl__random(&random, sizeof random);
    tkl__buf_init(&t->key);
    tkl__buf_add(&t->key, prefix.data, prefix.len);
    tkl__buf_addf(&t->key, "%016" PRIx64, random);
    for (t->count = 0; t->count < STEPS_MAX && taken < count; t->count++) {
        tkl__log_batch *batch = &t->batches[t->count];
        tkl__log_step *step = &t->steps[t->count];
        snprintf(step->number, sizeof step->number, "%zu", t->count + 1);
        step->key = (tkl_bytes){t->key.data, t->key.len};
        step->after = t->count > 0 ? step[-1].number : "";
        tkl__log_batch_init(batch, log, step);
        set_batch_time(batch, messages[taken].at_ms);
        while (taken < count && messages[taken].at_ms == batch->at_ms &&
               tkl__log_batch_has_room(batch, messages[taken].text.len)) {
            tkl__log_batch_add(batch, log, messages[taken].severity, messages[taken].text);
            taken++;
        }
        t->calls[t->count] = tkl__log_batch_call(batch);
    }
    t->batches[t->count - 1].args.items[STEP] = tkl_str(""); /* no step comes after it */
    return taken;
}

static void unload_batches(sending *t)
{
    for (size_t i = 0; i < t->count; i++)
        tkl__log_batch_free(&t->batches[i]);
    tkl__buf_free(&t->key);
}

static bool is_loaded(const sending *t)
{
    bool failed = t->key.failed;
    for (size_t i = 0; i < t->count; i++)
        failed |= t->batches[i].args.failed;
    return !failed;
}

static int send_batches(sending *t, const tkl_log *log)
{
    tkl__batch batch;
    tkl__batch_init(&batch, log->client);
    tkl__batch_fail(&batch, is_loaded(t) ? TKL_OK : tkl__nomem());
    for (size_t i = 0; i < t->count; i++)
        tkl__batch_add(&batch, &t->calls[i]);
    int rc = tkl__batch_run_in_order(&batch, t->calls, AFTER,
                                     tkl__deadline(log->client, log->timeout_ms));
    for (size_t i = 0; rc == TKL_OK && i < t->count; i++)
        rc = tkl__at_result(tkl_reply_int(tkl__batch_reply(&batch, i)));
    tkl__batch_free(&batch);
    return rc;
}

int tkl_log_write(tkl_log *log, const tkl_log_message *messages, size_t count)
{
    int rc = check_messages(messages, count);
    if (rc != TKL_OK || count == 0)
        return rc;
    sending *t = malloc(sizeof *t);
    if (!t)
        return tkl__nomem();
    for (size_t done = 0; rc == TKL_OK && done < count;) {
        done += load_batches(t, log, messages + done, count - done);
        rc = send_batches(t, log);
        unload_batches(t);
    }
    free(t);
    return rc;
}

static int finish_write(const tkl__operation *operation, int code, const tkl_reply *reply)
{
    (void)operation;
    return code == TKL_OK ? tkl__at_result(tkl_reply_int(reply)) : code;
}

int tkl_log_write_in(tkl_pipeline *pipeline, tkl_log *log, const tkl_log_message *message,
                     tkl_result *result)
{
    tkl__log_batch batch;
    int rc = check_messages(message, 1);
    if (rc != TKL_OK)
        return tkl__result_set(result, rc);
    tkl__log_batch_init(&batch, log, NULL);
    set_batch_time(&batch, message->at_ms);
    tkl__log_batch_add(&batch, log, message->severity, message->text);
    rc = tkl__pipeline_eval(
        pipeline, log->client, &tkl__lua_log_write, &(tkl__keys){batch.keys, batch.nkeys},
        &batch.args, false,
        &(tkl__operation){.finish = finish_write, .handle = log, .result = result});
    tkl__log_batch_free(&batch);
    return rc;
}

int tkl_log_print(tkl_log *log, tkl_log_severity severity, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len < 0)
        return tkl__nomem();
    tkl_log_message message = {.severity = severity, .text = {text, (size_t)len}};
    int rc = tkl_log_write(log, &message, 1);
    free(text);
    return rc;
}

/* ---- All logs, and their end --------------------------------------------- */

int tkl_log_names(tkl_client *client, tkl_names **names)
{
    enum { SIZE = 32 };
    char texts[TKL__LOG_SEVERITIES][SIZE];
    const char *parts[TKL__LOG_SEVERITIES];
    for (size_t i = 0; i < TKL__LOG_SEVERITIES; i++) {
        snprintf(texts[i], SIZE, "recent:%s", severity_names[i]);
        parts[i] = texts[i];
    }
    return tkl__instances_any(client, COMPONENT, parts, TKL__LOG_SEVERITIES, "stream", names);
}

int tkl_log_drop(tkl_log *log)
{
    const char *words[1 + TKL__LOG_KEYS] = {"UNLINK"};
    size_t lens[1 + TKL__LOG_KEYS] = {6};
    tkl_call_options how = {.timeout_ms = log->timeout_ms, .retry_safe = true};
    tkl_reply *reply = NULL;
    for (size_t i = 0; i < log->keys.count; i++) {
        words[i + 1] = log->keys.items[i].data;
        lens[i + 1] = log->keys.items[i].len;
    }
    int rc = tkl_call(log->client, (int)log->keys.count + 1, words, lens, &how, &reply);
    if (rc == TKL_OK && tkl_reply_int(reply) == 0)
        rc = tkl__no(TKL_NOTFOUND);
    tkl_reply_free(reply);
    return rc;
}
