/* SPDX-License-Identifier: MIT
 *
 * libtackle for Node: locks, queues and limits that hold up neither Node's thread nor those of its
 * pool. tackle.mjs makes classes of it. To build it:
 *
 *     include=$(node -p 'path.resolve(process.execPath, "../../include/node")')
 *     cc -shared -fPIC -I"$include" -o tackle.node tackle.c $(pkg-config --cflags --libs tackle)
 *
 * Each call from JavaScript is an operation: a function in C that makes ordinary blocking calls.
 * tkl_loop_submit() runs it on a stack of its own, beside thousands of others. Node's loop, which
 * is libuv, watches the descriptor of the tkl_loop; tkl_loop_dispatch() then calls back in Node's
 * thread, where the Promise of the operation gets its result: a value, or an Error with the code
 * and the text of this very operation.
 *
 * To offer another function of the library, write `run`, which calls it, and `give`, which turns
 * its result into a value, and add a line to the table of verbs.
 */
#include <math.h>
#include <node_api.h>
#include <stdlib.h>
#include <string.h>
#include <tackle/tackle.h>
#include <uv.h>

#define ARGS_MAX 6

/* A lock that is held, or a consumer with its queue. Only Node's thread uses the fields below the
 * first three. */
typedef struct handle {
    tkl_lock *lock;
    tkl_consumer *consumer;
    tkl_queue *queue;
    int users;      /* operations under way */
    bool closing;   /* one of these operations closes it */
    bool forgotten; /* no JavaScript has it: the client frees it */
    struct handle *next, *prev;
} handle;

/* The open clients of one of Node's threads. */
typedef struct client_list {
    struct client *first;
} client_list;

typedef struct client {
    tkl_client *tackle; /* NULL: closed */
    tkl_loop *loop;
    uv_poll_t *poll;
    napi_env env;
    napi_async_context context;
    int under_way;   /* operations: Node goes on running for them */
    bool ending;     /* no JavaScript runs any more */
    handle *handles; /* open ones: closed with the client at the latest */
    struct client *next, *prev;
} client;

typedef union argument {
    int64_t number;
    tkl_bytes bytes; /* a copy */
    handle *handle;
    tkl_jobs *jobs;
} argument;

typedef struct operation operation;

/* The functions that JavaScript can call: name(client, argument...) returns [promise, id]. */
typedef struct verb {
    const char *name;
    const char *kinds; /* kinds of the arguments: h handle, j job, n number, b string or Buffer */
    int (*run)(operation *op);
    napi_value (*give)(operation *op); /* NULL: undefined */
    bool closes;                       /* its first argument */
} verb;

struct operation {
    const verb *verb;
    client *client;
    napi_deferred promise;
    napi_ref kept[1 + ARGS_MAX]; /* the client and arguments that must not be collected meanwhile */
    argument args[ARGS_MAX];
    tkl_error error;

    /* Results. */
    handle *made;
    tkl_jobs *jobs;
    char id[TKL_JOB_ID_SIZE];
    tkl_limit_answer answer;
};

/* ---- Values --------------------------------------------------------------- */

static napi_value number_of(napi_env env, int64_t number)
{
    napi_value value;
    napi_create_int64(env, number, &value);
    return value;
}

static napi_value string_of(napi_env env, const char *text)
{
    napi_value value;
    napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
    return value;
}

static napi_value buffer_of(napi_env env, tkl_bytes bytes)
{
    napi_value value;
    napi_create_buffer_copy(env, bytes.len, bytes.len > 0 ? bytes.data : "", NULL, &value);
    return value;
}

static napi_value external_of(napi_env env, void *pointer, napi_finalize finalize)
{
    napi_value value;
    napi_create_external(env, pointer, finalize, NULL, &value);
    return value;
}

static void *pointer_of(napi_env env, napi_value external)
{
    void *pointer = NULL;
    napi_get_value_external(env, external, &pointer);
    return pointer;
}

static napi_value error_of(napi_env env, int code, const char *text)
{
    napi_value error;
    napi_create_error(env, string_of(env, tkl_codename(code)), string_of(env, text), &error);
    return error;
}

static napi_value throw_error(napi_env env, int code, const char *text)
{
    napi_throw(env, error_of(env, code, text));
    return NULL;
}

/* Infinity and NaN are no numbers here: Node would make 0 of them. */
static bool read_number(napi_env env, napi_value value, int64_t *number)
{
    double given;
    return napi_get_value_double(env, value, &given) == napi_ok && isfinite(given) &&
           napi_get_value_int64(env, value, number) == napi_ok;
}

/* Copies a string or a Buffer. */
static bool copy_bytes(napi_env env, napi_value value, tkl_bytes *bytes)
{
    bool is_buffer = false;
    void *data = NULL;
    size_t len = 0;
    napi_is_buffer(env, value, &is_buffer);
    napi_status status = is_buffer ? napi_get_buffer_info(env, value, &data, &len)
                                   : napi_get_value_string_utf8(env, value, NULL, 0, &len);
    char *copy = status == napi_ok ? malloc(len + 1) : NULL;
    if (!copy)
        return false;
    if (!is_buffer)
        napi_get_value_string_utf8(env, value, copy, len + 1, &len);
    else if (len > 0)
        memcpy(copy, data, len);
    *bytes = (tkl_bytes){copy, len};
    return true;
}

/* ---- Handles -------------------------------------------------------------- */

static void close_handle(handle *h)
{
    tkl_lock_close(h->lock); /* releases it */
    tkl_consumer_close(h->consumer);
    tkl_queue_close(h->queue);
    h->lock = NULL;
    h->consumer = NULL;
    h->queue = NULL;
}

static bool is_open(const handle *h)
{
    return h->lock || h->consumer;
}

/* The collector calls this. */
static void forget_handle(napi_env env, void *data, void *hint)
{
    handle *h = data;
    (void)env;
    (void)hint;
    h->forgotten = true;
    if (!is_open(h))
        free(h);
}

static napi_value give_handle(operation *op)
{
    client *c = op->client;
    handle *h = op->made;
    h->next = c->handles;
    if (h->next)
        h->next->prev = h;
    c->handles = h;
    op->made = NULL;
    return external_of(c->env, h, forget_handle);
}

static void unlist_handle(client *c, handle *h)
{
    *(h->prev ? &h->prev->next : &c->handles) = h->next;
    if (h->next)
        h->next->prev = h->prev;
    h->next = h->prev = NULL;
}

/* ---- Verbs: `run` must not use Node ----------------------------------------- */

/* lock(name, wait, lease) gives {handle, fence} */
static int run_lock(operation *op)
{
    tkl_lock_options options = {.lease_ms = op->args[2].number, .auto_renew = true};
    op->made = calloc(1, sizeof *op->made);
    if (!op->made)
        return TKL_ENOMEM;
    TKL_TRY(tkl_lock_open(op->client->tackle, op->args[0].bytes, &options, &op->made->lock));
    return tkl_lock_acquire(op->made->lock, op->args[1].number);
}

static napi_value give_lock(operation *op)
{
    napi_env env = op->client->env;
    napi_value lock;
    napi_create_object(env, &lock);
    napi_set_named_property(env, lock, "fence",
                            number_of(env, (int64_t)tkl_lock_fence(op->made->lock)));
    napi_set_named_property(env, lock, "handle", give_handle(op));
    return lock;
}

/* unlock(lock) */
static int run_unlock(operation *op)
{
    return tkl_lock_release(op->args[0].handle->lock);
}

/* push(queue, payload, delay) gives the id */
static int run_push(operation *op)
{
    tkl_push job = {.payload = op->args[1].bytes, .delay_ms = op->args[2].number};
    tkl_pushed pushed;
    tkl_queue *queue;
    TKL_TRY(tkl_queue_open(op->client->tackle, op->args[0].bytes, NULL, &queue));
    int rc = tkl_queue_push(queue, &job, 1, NULL, &pushed);
    memcpy(op->id, pushed.id, sizeof op->id);
    tkl_queue_close(queue);
    return rc;
}

static napi_value give_id(operation *op)
{
    return string_of(op->client->env, op->id);
}

/* consumer(queue) gives a handle */
static int run_consumer(operation *op)
{
    op->made = calloc(1, sizeof *op->made);
    if (!op->made)
        return TKL_ENOMEM;
    handle *h = op->made;
    TKL_TRY(tkl_queue_open(op->client->tackle, op->args[0].bytes, NULL, &h->queue));
    return tkl_consumer_open(&h->queue, 1, NULL, &h->consumer);
}

/* claim(consumer, wait) gives {job, id, payload, attempt} */
static int run_claim(operation *op)
{
    return tkl_consumer_claim(op->args[0].handle->consumer, 1, op->args[1].number, &op->jobs);
}

static void free_jobs(napi_env env, void *jobs, void *hint)
{
    (void)env;
    (void)hint;
    tkl_jobs_free(jobs);
}

static napi_value give_job(operation *op)
{
    napi_env env = op->client->env;
    const tkl_job *job = &op->jobs->items[0];
    napi_value value;
    napi_create_object(env, &value);
    napi_set_named_property(env, value, "id", string_of(env, job->id));
    napi_set_named_property(env, value, "payload", buffer_of(env, job->payload));
    napi_set_named_property(env, value, "attempt", number_of(env, job->attempt));
    napi_set_named_property(env, value, "job", external_of(env, op->jobs, free_jobs));
    op->jobs = NULL;
    return value;
}

/* finish(consumer, job, outcome, text) */
static int run_finish(operation *op)
{
    tkl_report report = {.job = &op->args[1].jobs->items[0],
                         .outcome = (tkl_outcome)op->args[2].number,
                         .text = op->args[3].bytes};
    return tkl_consumer_finish(op->args[0].handle->consumer, &report, 1);
}

/* leave(consumer) */
static int run_leave(operation *op)
{
    (void)op;
    return TKL_OK;
}

/* limit(name, key, count, period, quantity, wait) gives {allowed, remaining, retryAfter} */
static int run_limit(operation *op)
{
    const argument *a = op->args;
    tkl_limit_rule rule = {.count = a[2].number, .period_ms = a[3].number};
    tkl_limit *limit;
    TKL_TRY(tkl_limit_open(op->client->tackle, a[0].bytes, &rule, NULL, &limit));
    int rc = tkl_limit_wait(limit, a[1].bytes, a[4].number, a[5].number, &op->answer);
    tkl_limit_close(limit);
    return rc == TKL_LIMITED ? TKL_OK : rc;
}

static napi_value give_answer(operation *op)
{
    napi_env env = op->client->env;
    napi_value value, allowed;
    napi_create_object(env, &value);
    napi_get_boolean(env, op->answer.allowed, &allowed);
    napi_set_named_property(env, value, "allowed", allowed);
    napi_set_named_property(env, value, "remaining", number_of(env, op->answer.remaining));
    napi_set_named_property(env, value, "retryAfter", number_of(env, op->answer.retry_after_ms));
    return value;
}

static const verb verbs[] = {
    {"lock", "bnn", run_lock, give_lock, false},
    {"unlock", "h", run_unlock, NULL, true},
    {"push", "bbn", run_push, give_id, false},
    {"consumer", "b", run_consumer, give_handle, false},
    {"claim", "hn", run_claim, give_job, false},
    {"finish", "hjnb", run_finish, NULL, false},
    {"leave", "h", run_leave, NULL, true},
    {"limit", "bbnnnn", run_limit, give_answer, false},
};

/* ---- Operations ----------------------------------------------------------- */

/* Runs an operation, on a stack of the loop. It closes handles last, since that may change the
 * thread's last text. */
static int run_operation(void *arg)
{
    operation *op = arg;
    int rc = op->verb->run(op);
    tkl_error_last(rc, &op->error);
    if (rc != TKL_OK && op->made)
        close_handle(op->made);
    if (op->verb->closes)
        close_handle(op->args[0].handle);
    return rc;
}

static handle *handle_used_by(const operation *op)
{
    return op->verb->kinds[0] == 'h' ? op->args[0].handle : NULL;
}

static void begin_use(operation *op)
{
    handle *h = handle_used_by(op);
    if (!h)
        return;
    h->users++;
    h->closing = op->verb->closes;
}

static void end_use(operation *op)
{
    handle *h = handle_used_by(op);
    if (!h)
        return;
    h->users--;
    if (op->verb->closes)
        h->closing = false;
    if (!h->closing && !is_open(h))
        unlist_handle(op->client, h);
}

static void free_operation(operation *op)
{
    for (size_t i = 0; i < sizeof op->kept / sizeof *op->kept; i++)
        if (op->kept[i])
            napi_delete_reference(op->client->env, op->kept[i]);
    for (size_t i = 0; op->verb->kinds[i]; i++)
        if (op->verb->kinds[i] == 'b')
            free((void *)op->args[i].bytes.data);
    if (op->made) /* JavaScript did not get it */
        close_handle(op->made);
    free(op->made);
    tkl_jobs_free(op->jobs);
    free(op);
}

/* Settles the Promise of an operation, in tkl_loop_dispatch(), in Node's thread. */
static void operation_done(void *arg, int code, const char *text)
{
    operation *op = arg;
    client *c = op->client;
    napi_value value;
    end_use(op);
    if (--c->under_way == 0 && !c->ending)
        uv_unref((uv_handle_t *)c->poll);
    if (!c->ending && code == TKL_OK) {
        napi_get_undefined(c->env, &value);
        napi_resolve_deferred(c->env, op->promise, op->verb->give ? op->verb->give(op) : value);
    } else if (!c->ending) {
        if (op->error.code != TKL_OK)
            text = op->error.text;
        napi_reject_deferred(c->env, op->promise, error_of(c->env, code, text));
    }
    free_operation(op);
}

/* ---- Calls from JavaScript ------------------------------------------------ */

static bool read_argument(napi_env env, operation *op, size_t i, napi_value value)
{
    argument *a = &op->args[i];
    switch (op->verb->kinds[i]) {
    case 'n':
        return read_number(env, value, &a->number);
    case 'b':
        return copy_bytes(env, value, &a->bytes);
    case 'h':
        a->handle = pointer_of(env, value);
        break;
    default:
        a->jobs = pointer_of(env, value);
    }
    napi_create_reference(env, value, 1, &op->kept[1 + i]);
    return a->handle != NULL;
}

/* Whether the handle can be used by this operation: one that closes it must be the last one. */
static bool is_free(const operation *op)
{
    const handle *h = handle_used_by(op);
    return !h || (!h->closing && is_open(h) && !(op->verb->closes && h->users > 0));
}

static napi_value submit(napi_env env, operation *op)
{
    client *c = op->client;
    napi_value promise, pair, number;
    uint64_t id;
    int rc = tkl_loop_submit(c->loop, run_operation, operation_done, op, &id);
    if (rc != TKL_OK) {
        free_operation(op);
        return throw_error(env, rc, tkl_errmsg());
    }
    begin_use(op);
    if (c->under_way++ == 0)
        uv_ref((uv_handle_t *)c->poll);
    napi_create_promise(env, &op->promise, &promise);
    napi_create_array_with_length(env, 2, &pair);
    napi_set_element(env, pair, 0, promise);
    napi_create_bigint_uint64(env, id, &number);
    napi_set_element(env, pair, 1, number);
    return pair;
}

static napi_value call_verb(napi_env env, napi_callback_info info)
{
    napi_value values[1 + ARGS_MAX];
    size_t count = 1 + ARGS_MAX;
    void *data;
    napi_get_cb_info(env, info, &count, values, NULL, &data);
    const verb *v = data;
    client *c = count > 0 ? pointer_of(env, values[0]) : NULL;
    if (!c || !c->tackle)
        return throw_error(env, TKL_EINVAL, "the client is closed");
    operation *op = calloc(1, sizeof *op);
    if (!op)
        return throw_error(env, TKL_ENOMEM, tkl_strerror(TKL_ENOMEM));
    op->verb = v;
    op->client = c;
    napi_create_reference(env, values[0], 1, &op->kept[0]);
    bool good = count == 1 + strlen(v->kinds);
    for (size_t i = 0; good && v->kinds[i]; i++)
        good = read_argument(env, op, i, values[1 + i]);
    if (good && is_free(op))
        return submit(env, op);
    free_operation(op);
    return throw_error(env, TKL_EINVAL, good ? "it is closed" : "wrong arguments");
}

/* cancel(client, id) */
static napi_value call_cancel(napi_env env, napi_callback_info info)
{
    napi_value values[2];
    size_t count = 2;
    uint64_t id;
    bool exact;
    napi_get_cb_info(env, info, &count, values, NULL, NULL);
    client *c = pointer_of(env, values[0]);
    if (c && c->tackle && napi_get_value_bigint_uint64(env, values[1], &id, &exact) == napi_ok)
        tkl_loop_cancel(c->loop, id);
    return NULL;
}

/* ---- Clients -------------------------------------------------------------- */

/* Node's loop calls this when operations have ended. Functions that await them go on at the end of
 * the scope. */
static void on_readable(uv_poll_t *poll, int status, int events)
{
    client *c = poll->data; /* may be gone after the scope of callbacks */
    napi_env env = c->env;
    napi_handle_scope handles;
    napi_callback_scope callbacks;
    (void)status;
    (void)events;
    napi_open_handle_scope(env, &handles);
    napi_open_callback_scope(env, NULL, c->context, &callbacks);
    if (tkl_loop_dispatch(c->loop) != TKL_OK)
        abort(); /* only a callback or a forked child could get here */
    napi_close_callback_scope(env, callbacks);
    napi_close_handle_scope(env, handles);
}

static void free_poll(uv_handle_t *poll)
{
    free(poll);
}

static client_list *clients_of(napi_env env)
{
    void *list = NULL;
    napi_get_instance_data(env, &list);
    return list;
}

static void list_client(client *c)
{
    client_list *list = clients_of(c->env);
    c->next = list->first;
    if (c->next)
        c->next->prev = c;
    list->first = c;
}

static void unlist_client(client *c)
{
    *(c->prev ? &c->prev->next : &clients_of(c->env)->first) = c->next;
    if (c->next)
        c->next->prev = c->prev;
    c->next = c->prev = NULL;
}

/* Ends the operations and closes all handles, which releases locks. */
static void end_client(void *data)
{
    client *c = data;
    if (!c->tackle)
        return;
    c->ending = true;
    unlist_client(c);
    uv_poll_stop(c->poll);
    uv_close((uv_handle_t *)c->poll, free_poll);
    tkl_loop_close(c->loop);
    for (handle *h = c->handles, *next; h; h = next) {
        next = h->next;
        close_handle(h);
        if (h->forgotten)
            free(h);
    }
    c->handles = NULL;
    tkl_close(c->tackle);
    c->tackle = NULL;
    napi_async_destroy(c->env, c->context);
    napi_remove_env_cleanup_hook(c->env, end_client, c);
}

/* The collector calls this. */
static void free_client(napi_env env, void *data, void *hint)
{
    (void)env;
    (void)hint;
    end_client(data);
    free(data);
}

/* end(client): after the Promises of its operations have settled. */
static napi_value call_end(napi_env env, napi_callback_info info)
{
    napi_value value;
    size_t count = 1;
    napi_get_cb_info(env, info, &count, &value, NULL, NULL);
    client *c = pointer_of(env, value);
    if (c && c->under_way > 0)
        return throw_error(env, TKL_EINVAL, "operations are under way");
    if (c)
        end_client(c);
    return NULL;
}

/* exit(): for programs that end without closing their clients. */
static napi_value call_exit(napi_env env, napi_callback_info info)
{
    (void)info;
    for (client_list *list = clients_of(env); list->first;)
        end_client(list->first);
    return NULL;
}

/* interrupt(client): ends all waits. */
static napi_value call_interrupt(napi_env env, napi_callback_info info)
{
    napi_value value;
    size_t count = 1;
    napi_get_cb_info(env, info, &count, &value, NULL, NULL);
    client *c = pointer_of(env, value);
    if (c && c->tackle)
        tkl_interrupt(c->tackle);
    return NULL;
}

static bool watch_loop(napi_env env, client *c)
{
    uv_loop_t *loop;
    c->poll = malloc(sizeof *c->poll);
    if (!c->poll || napi_get_uv_event_loop(env, &loop) != napi_ok)
        return false;
    uv_poll_init(loop, c->poll, tkl_loop_fd(c->loop));
    c->poll->data = c;
    uv_poll_start(c->poll, UV_READABLE, on_readable);
    uv_unref((uv_handle_t *)c->poll);
    napi_async_init(env, NULL, string_of(env, "tackle"), &c->context);
    napi_add_env_cleanup_hook(env, end_client, c);
    list_client(c);
    return true;
}

/* open(url or null) returns a client. */
static napi_value call_open(napi_env env, napi_callback_info info)
{
    napi_value value;
    size_t count = 1;
    tkl_bytes url = {NULL, 0};
    client *c = calloc(1, sizeof *c);
    napi_get_cb_info(env, info, &count, &value, NULL, NULL);
    (void)copy_bytes(env, value, &url);
    int rc = c ? tkl_open(url.data, NULL, &c->tackle) : TKL_ENOMEM;
    free((void *)url.data);
    if (rc == TKL_OK)
        rc = tkl_loop_open(c->tackle, NULL, &c->loop);
    if (rc == TKL_OK) {
        c->env = env;
        if (watch_loop(env, c))
            return external_of(env, c, free_client);
        rc = TKL_ENOMEM;
    }
    throw_error(env, rc, rc == TKL_ENOMEM ? tkl_strerror(rc) : tkl_errmsg());
    if (c) {
        tkl_loop_close(c->loop);
        tkl_close(c->tackle);
        free(c->poll);
    }
    free(c);
    return NULL;
}

static void export(napi_env env, napi_value exports, const char *name, napi_callback call,
                   const verb *v)
{
    napi_value function;
    napi_create_function(env, name, NAPI_AUTO_LENGTH, call, (void *)v, &function);
    napi_set_named_property(env, exports, name, function);
}

static void free_list(napi_env env, void *list, void *hint)
{
    (void)env;
    (void)hint;
    free(list);
}

NAPI_MODULE_INIT()
{
    client_list *list = calloc(1, sizeof *list);
    if (!list)
        return throw_error(env, TKL_ENOMEM, tkl_strerror(TKL_ENOMEM));
    napi_set_instance_data(env, list, free_list, NULL);
    export(env, exports, "open", call_open, NULL);
    export(env, exports, "exit", call_exit, NULL);
    export(env, exports, "interrupt", call_interrupt, NULL);
    export(env, exports, "end", call_end, NULL);
    export(env, exports, "cancel", call_cancel, NULL);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        export(env, exports, verbs[i].name, call_verb, &verbs[i]);
    return exports;
}
