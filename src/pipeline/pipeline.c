/* SPDX-License-Identifier: MIT
 *
 * Pipelines of commands, calls of functions and operations of components, and transactions.
 *
 * A transaction is one call of a function that runs the commands. It is not MULTI and EXEC: those
 * are several commands on one connection. If the server refuses MULTI, because a permission is
 * missing, it runs the commands behind it one by one; and each of the replies may be a redirection.
 * A function is one request with one reply, so it is routed and repeated like any other.
 *
 * An operation is a call whose component reads the reply, after all replies have come. A component
 * that sees from a reply that its call did nothing, because its idea of the server's clock was
 * wrong, may repeat it alone: that is rare, and costs a round trip.
 */
#include "pipeline/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "core/command.h"
#include "core/error.h"
#include "core/options.h"
#include "core/reply.h"
#include "core/resp.h"
#include "pipeline/scripts.h"

/* Words of a command in a transaction: Lua's stack has room for some 8000. */
#define TRANSACTION_WORDS 5000

/* One command or call. */
typedef struct entry {
    size_t start, len; /* in the wire */
    int slot;
    const tkl__script *script; /* NULL: a command */
    bool retry_safe;           /* for operations; for other commands the run's options say it */
    tkl__operation operation;  /* without `finish`: none */
} entry;

struct tkl_pipeline {
    tkl_client *client;
    int64_t timeout_ms; /* 0: the client's */
    bool transaction;
    tkl__buf wire; /* commands in RESP form; in a transaction, the arguments of the function */
    tkl__buf keys; /* keys of a transaction, in RESP form */
    size_t nwords, nkeys;
    int slot; /* slot of the transaction; TKL__NO_SLOT: not known yet */
    entry *entries;
    size_t count;
    size_t operations;   /* how many entries are operations */
    unsigned generation; /* fork generation of the process that added the operations */
};

int tkl_pipeline_open(tkl_client *client, const tkl_pipeline_options *options,
                      tkl_pipeline **pipeline)
{
    int64_t timeout_ms = options ? options->timeout_ms : 0;
    *pipeline = NULL;
    int rc = TKL__CHECK_OPTIONS(options, {"timeout_ms", timeout_ms, 0, TKL__MS_MAX});
    if (rc != TKL_OK)
        return rc;
    tkl_pipeline *made = calloc(1, sizeof *made);
    if (!made)
        return tkl__nomem();
    made->client = client;
    made->timeout_ms = timeout_ms;
    made->transaction = options && options->transaction;
    made->slot = TKL__NO_SLOT;
    tkl__buf_init(&made->wire);
    tkl__buf_init(&made->keys);
    *pipeline = made;
    return TKL_OK;
}

/* Finishes each operation: with its reply, or with `rc`, whose text is the last one of the calling
 * thread. */
static void finish_all(tkl_pipeline *p, int rc, const tkl_reply *replies)
{
    char text[TKL_ERROR_TEXT_SIZE];
    snprintf(text, sizeof text, "%s", tkl_errmsg());
    for (size_t i = 0; p->operations > 0 && i < p->count; i++) {
        const tkl__operation *operation = &p->entries[i].operation;
        const tkl_reply *reply = tkl_reply_at(replies, i);
        if (!operation->finish)
            continue;
        int code = reply ? tkl_reply_code(reply) : rc;
        if (code != TKL_OK)
            tkl__fail(code, "%s", reply ? tkl_reply_str(reply) : text);
        else
            tkl__begin();
        tkl__result_set(operation->result, operation->finish(operation, code, reply));
        free(operation->own);
    }
    p->operations = 0;
    tkl__fail(rc, "%s", text);
}

void tkl_pipeline_close(tkl_pipeline *pipeline)
{
    if (!pipeline)
        return;
    finish_all(pipeline, tkl__fail(TKL_ENOTSENT, "the pipeline was closed before it ran"), NULL);
    tkl__buf_free(&pipeline->wire);
    tkl__buf_free(&pipeline->keys);
    free(pipeline->entries);
    free(pipeline);
}

static void empty_pipeline(tkl_pipeline *p)
{
    tkl__buf_clear(&p->wire);
    tkl__buf_clear(&p->keys);
    p->nwords = p->nkeys = p->count = 0;
    p->slot = TKL__NO_SLOT;
}

/* ---- Adding -------------------------------------------------------------- */

/* Adds an entry for the bytes that were written to the wire since `start`. Without memory it takes
 * them back. */
static int add_entry(tkl_pipeline *p, size_t start, int slot, const tkl__script *script)
{
    bool room = tkl__grow(&p->entries, p->count, sizeof *p->entries);
    if (p->wire.failed || p->keys.failed || !room) {
        p->wire.len = start;
        p->wire.failed = p->keys.failed = false;
        return tkl__nomem();
    }
    p->entries[p->count++] =
        (entry){.start = start, .len = p->wire.len - start, .slot = slot, .script = script};
    return TKL_OK;
}

static int slot_for(tkl_pipeline *p, int argc, const char *const *argv, const size_t *lens,
                    int *slot)
{
    tkl__fanout fanout = TKL__ONE_NODE;
    int64_t deadline = tkl__deadline(p->client, p->timeout_ms);
    int rc = tkl__command_route(p->client, argc, argv, lens, deadline, slot, &fanout);
    if (rc == TKL_OK && fanout != TKL__ONE_NODE)
        return tkl__fail(TKL_EINVAL, "%s goes to every node of a cluster: not in a pipeline",
                         argv[0]);
    return rc;
}

static size_t word_len(const char *const *argv, const size_t *lens, int index)
{
    return lens ? lens[index] : tkl_str(argv[index]).len;
}

typedef struct key_writer {
    tkl_pipeline *pipeline;
    const char *const *argv;
    const size_t *lens;
} key_writer;

static void write_key(void *context, int index)
{
    const key_writer *w = context;
    tkl__resp_arg(&w->pipeline->keys, w->argv[index], word_len(w->argv, w->lens, index));
    w->pipeline->nkeys++;
}

/* Whether the server refuses the command inside a function. */
static bool runs_scripts(const char *name, size_t len)
{
    static const char *const names[] = {"EVAL",       "EVALSHA", "EVAL_RO",
                                        "EVALSHA_RO", "FCALL",   "FCALL_RO"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tkl_str(names[i]).len == len && strncasecmp(names[i], name, len) == 0)
            return true;
    return false;
}

static int check_transaction(const tkl_pipeline *p, int argc, const char *const *argv,
                             const size_t *lens, int slot)
{
    if (argc > TRANSACTION_WORDS)
        return tkl__fail(TKL_EINVAL, "a command of a transaction has at most %d words",
                         TRANSACTION_WORDS);
    if (runs_scripts(argv[0], word_len(argv, lens, 0)))
        return tkl__fail(TKL_EINVAL, "%s is a transaction by itself: not in another one", argv[0]);
    if (slot != TKL__NO_SLOT && p->slot != TKL__NO_SLOT && slot != p->slot)
        return tkl__fail(TKL_ECROSSSLOT, "the keys of a transaction must be in one slot: give them "
                                         "one {hash tag}");
    return TKL_OK;
}

static int add_to_transaction(tkl_pipeline *p, int argc, const char *const *argv,
                              const size_t *lens, int slot)
{
    size_t start = p->wire.len, keys_start = p->keys.len, nkeys = p->nkeys;
    int rc = check_transaction(p, argc, argv, lens, slot);
    if (rc != TKL_OK)
        return rc;
    if (!tkl__command_keys(argc, argv, lens, write_key, &(key_writer){p, argv, lens}) &&
        slot != TKL__NO_SLOT)
        return tkl__fail(TKL_EINVAL, "%s in a transaction on a cluster: its keys are not known",
                         argv[0]);
    tkl__resp_int(&p->wire, argc);
    for (int i = 0; i < argc; i++)
        tkl__resp_arg(&p->wire, argv[i], word_len(argv, lens, i));
    rc = add_entry(p, start, slot, NULL);
    if (rc != TKL_OK) {
        p->keys.len = keys_start;
        p->nkeys = nkeys;
        return rc;
    }
    p->nwords += (size_t)argc + 1;
    p->slot = slot != TKL__NO_SLOT ? slot : p->slot;
    return TKL_OK;
}

int tkl_pipeline_add(tkl_pipeline *p, int argc, const char *const *argv, const size_t *lens)
{
    int slot = TKL__NO_SLOT;
    int rc = tkl__command_check(argc, argv, lens);
    if (rc == TKL_OK && p->client->route->cluster)
        rc = slot_for(p, argc, argv, lens, &slot);
    if (rc != TKL_OK)
        return rc;
    if (p->transaction)
        return add_to_transaction(p, argc, argv, lens, slot);
    size_t start = p->wire.len;
    tkl__resp_command(&p->wire, argc, argv, lens);
    return add_entry(p, start, slot, NULL);
}

int tkl_pipeline_addz(tkl_pipeline *pipeline, ...)
{
    const char *argv[TKL__WORDS_MAX];
    va_list args;
    va_start(args, pipeline);
    int argc = tkl__words(args, argv, TKL__WORDS_MAX);
    va_end(args);
    return argc < 0 ? argc : tkl_pipeline_add(pipeline, argc, argv, NULL);
}

int tkl__pipeline_call(tkl_pipeline *p, const tkl__invocation *call)
{
    int rc = tkl__script_check(call);
    if (rc == TKL_OK && p->transaction)
        rc = tkl__fail(TKL_EINVAL, "a script is a transaction by itself: not in another one");
    if (rc != TKL_OK)
        return rc;
    size_t start = p->wire.len;
    tkl__script_wire(&p->wire, call);
    return add_entry(p, start, tkl__script_request(p->client, call).slot, call->script);
}

/* ---- Operations ---------------------------------------------------------- */

int tkl__result_set(tkl_result *result, int code)
{
    if (!result)
        return code;
    *result = (tkl_result){.code = code};
    if (code != TKL_OK)
        snprintf(result->text, sizeof result->text, "%s", tkl_errmsg());
    return code;
}

static int add_operation(tkl_pipeline *p, const tkl_client *client, const tkl__invocation *call,
                         const tkl__operation *operation)
{
    if (client != p->client)
        return tkl__fail(TKL_EINVAL, "the pipeline is of another client");
    if (p->operations > 0 && p->generation != tkl__fork_generation())
        return tkl__fail(TKL_EINVAL, "the pipeline has operations of the parent process");
    int rc = tkl__pipeline_call(p, call);
    if (rc != TKL_OK)
        return rc;
    p->generation = tkl__fork_generation();
    p->operations++;
    p->entries[p->count - 1].retry_safe = call->retry_safe;
    p->entries[p->count - 1].operation = *operation;
    return TKL_OK;
}

int tkl__pipeline_operation(tkl_pipeline *p, const tkl_client *client, const tkl__invocation *call,
                            const tkl__operation *operation)
{
    int rc = add_operation(p, client, call, operation);
    if (rc != TKL_OK) {
        free(operation->own);
        return tkl__result_set(operation->result, rc);
    }
    if (operation->result)
        *operation->result =
            (tkl_result){.code = TKL_ENOTSENT, .text = "the pipeline has not run yet"};
    return TKL_OK;
}

int tkl__pipeline_eval(tkl_pipeline *p, const tkl_client *client, const tkl__script *script,
                       const tkl__keys *keys, const tkl__args *args, bool retry_safe,
                       const tkl__operation *operation)
{
    if (args->failed) {
        free(operation->own);
        return tkl__result_set(operation->result, tkl__nomem());
    }
    tkl__invocation call = {.script = script,
                            .keys = keys->items,
                            .nkeys = keys->count,
                            .args = args->items,
                            .nargs = args->count,
                            .retry_safe = retry_safe};
    return tkl__pipeline_operation(p, client, &call, operation);
}

/* ---- Running ------------------------------------------------------------- */

static int run_entries(tkl_pipeline *p, bool retry_safe, int64_t deadline, tkl_reply **replies)
{
    tkl__request *requests = malloc((p->count + 1) * sizeof *requests);
    if (!requests)
        return tkl__nomem();
    for (size_t i = 0; i < p->count; i++)
        requests[i] = (tkl__request){
            .wire = {p->wire.data + p->entries[i].start, p->entries[i].len},
            .slot = p->entries[i].slot,
            .retry_safe = p->entries[i].operation.finish ? p->entries[i].retry_safe : retry_safe,
            .script = p->entries[i].script};
    int rc = tkl__exec_many(p->client, requests, p->count, deadline, replies);
    free(requests);
    for (size_t i = 0; *replies && i < p->count; i++)
        if (p->entries[i].script)
            tkl__explain_error((tkl_reply *)(uintptr_t)tkl_reply_at(*replies, i),
                               p->entries[i].script);
    return rc;
}

/* Makes the failure of a transaction the outcome of each of its commands. */
static tkl_reply *failure_of_all(size_t count, int rc)
{
    tkl_reply *replies = tkl__reply_new_array(count);
    for (size_t i = 0; replies && i < count; i++) {
        tkl_reply *reply = tkl__reply_new_error(rc, tkl_errmsg());
        if (reply)
            tkl__reply_put(replies, i, reply);
    }
    return replies;
}

/* An error reply is about the whole transaction: a full server refuses the function, for
 * example. */
static int run_transaction(tkl_pipeline *p, bool retry_safe, int64_t deadline, tkl_reply **replies)
{
    const tkl__script *script = &tkl__lua_pipeline_transaction;
    tkl__buf wire;
    tkl__buf_init(&wire);
    tkl__resp_head(&wire, 3 + p->nkeys + p->nwords);
    tkl__resp_argz(&wire, "FCALL");
    tkl__resp_argz(&wire, script->function);
    tkl__resp_int(&wire, (int64_t)p->nkeys);
    tkl__buf_add(&wire, p->keys.data, p->keys.len);
    tkl__buf_add(&wire, p->wire.data, p->wire.len);
    tkl__request request = {
        .wire = {wire.data, wire.len}, .slot = p->slot, .retry_safe = retry_safe, .script = script};
    int rc = wire.failed ? tkl__nomem() : tkl__exec(p->client, &request, deadline, replies);
    tkl__buf_free(&wire);
    if (rc == TKL_OK && tkl_reply_type_of(*replies) == TKL_REPLY_ERROR) {
        tkl__explain_error(*replies, script);
        rc = tkl__check(replies);
    }
    if (rc == TKL_OK && tkl_reply_count(*replies) != p->count) {
        tkl_reply_free(*replies);
        rc = tkl__fail(TKL_EPROTO, "not a reply for each command of the transaction");
    }
    if (rc != TKL_OK)
        *replies = failure_of_all(p->count, rc);
    return rc;
}

int tkl_pipeline_run(tkl_pipeline *p, const tkl_call_options *options, tkl_reply **replies)
{
    tkl_reply *unread = NULL;
    if (replies)
        *replies = NULL;
    int rc = tkl__call_check(options);
    if (rc == TKL_OK && p->operations > 0 && p->generation != tkl__fork_generation())
        rc = tkl__fail(TKL_EINVAL, "the pipeline has operations of the parent process");
    if (rc != TKL_OK)
        return rc;
    bool retry_safe = options && options->retry_safe;
    int64_t timeout_ms = options && options->timeout_ms > 0 ? options->timeout_ms : p->timeout_ms;
    int64_t deadline = tkl__deadline(p->client, timeout_ms);
    rc = p->transaction && p->count > 0 ? run_transaction(p, retry_safe, deadline, &unread)
                                        : run_entries(p, retry_safe, deadline, &unread);
    finish_all(p, rc, unread);
    empty_pipeline(p);
    if (replies)
        *replies = unread;
    else
        tkl_reply_free(unread);
    return rc;
}
