/* SPDX-License-Identifier: MIT
 *
 * The client: one object per program, shared by all of its threads.
 *
 *     tkl_client *client;
 *     if (tkl_open("redis://localhost", NULL, &client) != TKL_OK)
 *         die(tkl_errmsg());
 *     tkl_reply *reply;
 *     if (tkl_callz(client, &reply, "GET", "greeting", NULL) == TKL_OK)
 *         printf("%s\n", tkl_reply_str(reply));
 *     tkl_reply_free(reply);
 *     tkl_close(client);
 *
 * Threads: every function that takes a tkl_client may be called from any thread
 * at any time, except tkl_close(), which must be the last. A reply or a pipeline
 * belongs to one thread at a time.
 *
 * fork(): a child may go on using its parent's client; the child opens its own connections. After a
 * fork parent and child each have their own copy of a pipeline. Signals: the library never raises
 * SIGPIPE and installs no handlers; tkl_interrupt() and tkl_resume() may be called by one.
 *
 * Callbacks: on_event and on_trace, see below. Keys: components use "ns:component:{name}:part", see
 * tkl_key(); the client itself has none.
 */
#ifndef TACKLE_CLIENT_H
#define TACKLE_CLIENT_H

#include <tackle/common.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tkl_client tkl_client;
typedef struct tkl_reply tkl_reply;
typedef struct tkl_pipeline tkl_pipeline;

/* ---- Events -------------------------------------------------------------- */

typedef enum tkl_event_type {
    TKL_EVENT_CONNECTED = 1, /* a new connection to `server` */
    TKL_EVENT_LOST = 2,      /* a connection broke, or could not be made: `code` says why */
    TKL_EVENT_RETRIED = 3,   /* a request is about to be repeated; `code` of the last attempt,
                                TKL_EUNREADY for MOVED, LOADING and the like */
    TKL_EVENT_RENEWAL_FAILED =
        4, /* a lease was not renewed; it is tried again while there is time */
} tkl_event_type;

/* The argument of on_event. Its strings are valid until the callback returns. */
typedef struct tkl_client_event {
    tkl_event_type type;
    int code;           /* TKL_OK where nothing failed */
    const char *server; /* "host:port" or the path of a socket; "" where there is none */
    const char *text;   /* the reason in words; "" where nothing failed */
    TKL_RESERVED(4);
} tkl_client_event;

/* "connected", "lost", "retried", "renewal failed"; never NULL. */
TKL_API const char *tkl_event_type_name(tkl_event_type type);

/* ---- Tracing ------------------------------------------------------------- */

/* A command that was sent to a server: the argument of on_trace. Its strings are valid until the
 * callback returns. */
typedef struct tkl_trace {
    const tkl_bytes *words; /* the command and its arguments; passwords are "***", and a function of
                               tackle has the name of its file, as in "FCALL queue/push" */
    size_t count;           /* number of words */
    const char *server;     /* "host:port" or the path of a socket */
    int64_t took_us;        /* from sending to the reply; -1: there was none, or none is awaited, as
                               for subscriptions */
    int code;               /* code of an error reply, or why there was no reply; TKL_OK: neither */
    size_t place, batch;    /* it was number `place`, from 1, of `batch` commands sent together */
    TKL_RESERVED(4);
} tkl_trace;

/* ---- Opening ------------------------------------------------------------- */

/* All zero means the defaults. Strings are copied; NULL means not set. */
typedef struct tkl_options {
    int64_t timeout_ms;        /* for a call, from start to reply; 0: 5000 */
    int64_t idle_ms;           /* unused connections are closed after this; 0: 60000 */
    int64_t reply_max;         /* most bytes of memory for one reply, or for all replies of a
                                  pipeline; larger replies are TKL_EPROTO; 0: 1 GB; TKL_NONE: no
                                  limit */
    int pool_size;             /* most connections to one server, 1 to 10000; 0: 32 */
    bool always_sleep;         /* never spin while waiting for a reply: let the thread sleep at
                                  once */
    bool no_register;          /* keep the names this program uses out of the register from which
                                  the _names() functions read; those of this client then look
                                  through all keys, also for what older programs left. The
                                  environment variable TACKLE_REGISTER=no does the same */
    const char *ns;            /* first part of every key a component uses, 1 to 256 bytes, no
                                  braces; NULL: "tackle" */
    const char *name;          /* CLIENT SETNAME of every connection; NULL:
                                  "tackle:PROGRAM:HOST:PID" */
    const char *username;      /* ACL user; overrides the URL's */
    const char *password;      /* overrides the URL's; NULL: URL, then $TACKLE_PASSWORD */
    const char *password_file; /* first line of this file; used when password is NULL */

    /* TLS, for rediss:// and valkeys:// (and +cluster, +sentinel forms of them). */
    const char *tls_ca_file;     /* PEM; NULL with tls_ca_dir NULL: the system's */
    const char *tls_ca_dir;      /* hashed directory of PEM files */
    const char *tls_cert_file;   /* client certificate chain, PEM */
    const char *tls_key_file;    /* its private key, PEM */
    const char *tls_server_name; /* checked and sent as SNI; NULL: the host of the URL */
    bool tls_no_verify;          /* accept any certificate: for tests only */

    /* Callback for logs and metrics; NULL: none. The thread that notices an event calls it: a
     * thread of the library or of the caller, and several threads may call it at the same time. It
     * must not block, and must not call any function with this client. */
    void (*on_event)(const tkl_client_event *event, void *arg);
    void *event_arg;
    /* The same for each command that is sent, when its reply has arrived; for looking at what calls
     * do, and what they cost. The words hold payloads and tokens. Nothing is traced by default, and
     * tracing costs time and memory: each command is copied. */
    void (*on_trace)(const tkl_trace *trace, void *arg);
    void *trace_arg;
    TKL_RESERVED(8);
} tkl_options;

/* Opens a client. URL forms:
 *
 *     redis://[user[:password]@]host[:port][/db]    also valkey://; port 6379
 *     rediss://...                                  TLS; also valkeys://
 *     unix:///path/to/socket[?db=N]
 *     redis+cluster://[user:pw@]host:port[,host:port...]     rediss+cluster:// for TLS
 *     redis+sentinel://[user:pw@]host:port[,...]/name[/db]   rediss+sentinel:// for TLS
 *     embedded:            a private server in memory that ends with this program
 *     embedded:/dir        a persistent private server, shared by all programs of this
 *                          user that name the directory; stays until tkl_server_stop()
 *
 * Query parameters: embedded: durability=none|snapshot|lazy|everysec|always; TLS: ca, cadir,
 * cert, key, servername, verify=no; all: timeout=DURATION, user, password-file, namespace.
 * Percent-escapes are decoded. An option set in `options` wins over the URL.
 *
 * NULL: the server of tkl_default_server_read(), in the namespace $TACKLE_NAMESPACE if that is set;
 * TKL_EINVAL when nothing names one.
 *
 * Starts the private server where one is named; otherwise does no I/O: the first call
 * connects. `options` may be NULL. On failure *client is NULL and tkl_errmsg() says why. */
TKL_API int tkl_open(const char *url, const tkl_options *options, tkl_client **client)
    TKL_NONNULL(3) TKL_CHECK;

/* Closes all connections and ends an in-memory private server. No other thread may be
 * inside a call, and every component handle must be closed before. NULL is fine. */
TKL_API void tkl_close(tkl_client *client);

/* ---- The server when none is named --------------------------------------- */

typedef struct tkl_default_server {
    const char *url;    /* for tkl_open(); it may hold a password */
    const char *source; /* "TACKLE_URL", "REDIS_URL" or the path of a file; "" for the fallback */
    bool is_fallback;   /* nothing names a server: url is the user's own private server, which other
                           users and machines do not see */
    TKL_RESERVED(4);
} tkl_default_server;

/* Finds the server: $TACKLE_URL, $REDIS_URL, else the first of these files that exists:
 * $XDG_CONFIG_HOME/tackle/config (by default ~/.config/tackle/config), /etc/tackle/config.
 * $TACKLE_CONFIG names another file in their place; /dev/null: none. A line of a file is
 * "NAME = VALUE"; "#" begins a comment. The names: url, user, password-file, ca, namespace. In a
 * file, "embedded:" without a directory is the user's own private server, in $XDG_DATA_HOME/tackle
 * (by default ~/.local/share/tackle).
 *
 * Connects to nothing. TKL_EAUTH: the file may not be read, or others may write it; TKL_EINVAL: it
 * has a mistake, which tkl_errmsg() names. */
TKL_API int tkl_default_server_read(tkl_default_server **server) TKL_NONNULL(1) TKL_CHECK;
TKL_API void tkl_default_server_free(tkl_default_server *server); /* NULL is fine */

/* ---- Looking ------------------------------------------------------------- */

/* Buckets of the time that requests took. */
#define TKL_LATENCY_BUCKETS 17

/* Counters since the client was opened, in this process, and the current state. */
typedef struct tkl_client_stats {
    int64_t calls;      /* requests that got a connection; a pipeline counts once for each server */
    int64_t retries;    /* requests repeated */
    int64_t dials;      /* connections made */
    int64_t failures;   /* dials that failed */
    int64_t lost;       /* connections that broke in use */
    int64_t bytes_sent; /* in calls that have ended */
    int64_t bytes_received;
    int64_t errors;  /* error replies, also those after which a request was repeated */
    int64_t took_us; /* sum of the times of all requests, from getting a connection to the reply;
                        commands that wait on the server are not in it */
    int64_t took[TKL_LATENCY_BUCKETS]; /* requests by time: [0] up to 100 us, [1] up to 200 us, each
                                          twice the one before; the last has all that took longer */
    int nodes;                         /* servers known */
    int connections;                   /* open now; subscriptions are not counted */
    int idle;                          /* open connections that no call uses */
    int waiting;                       /* threads that wait for a connection */
    TKL_RESERVED(8);
} tkl_client_stats;

/* No I/O. */
TKL_API void tkl_client_stats_get(tkl_client *client, tkl_client_stats *stats) TKL_NONNULL(1, 2);

/* The same numbers as text for Prometheus, "tackle_client_calls_total 42" and so on, with # HELP
 * and # TYPE lines, for programs that serve metrics of their own. No I/O. Free it with
 * tkl_metrics_free(). */
TKL_API int tkl_metrics(tkl_client *client, tkl_bytes *text) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API void tkl_metrics_free(tkl_bytes text);

/* The key of a name, for ACLs, EXPIRE, MEMORY USAGE and the like: "ns:component:{name}:part", where
 * '%', '{' and '}' in the name are escaped. `part` "": "ns:component:{name}". The page of each
 * component lists its parts. No I/O. Free it with tkl_key_free(). */
TKL_API int tkl_key(tkl_client *client, const char *component, tkl_bytes name, const char *part,
                    tkl_bytes *key) TKL_NONNULL(1, 2, 4, 5) TKL_CHECK;
TKL_API void tkl_key_free(tkl_bytes key);

/* ---- Views of a cluster with masters that hang ---------------------------- */

/* A list of names and an overview fail when one master of a cluster does not answer. Between these
 * calls, the lists and overviews that the calling thread reads leave out the data of such masters.
 * They wait a second for the first of these masters, and less for each further one. Other calls
 * that need such a master fail soon. For views of operators, who prefer a part to nothing.
 *
 * tkl_lenient_end() lists the masters that did not answer the client since, "host:port". The
 * calls may be nested. Without a cluster they change nothing. */
TKL_API void tkl_lenient_begin(void);
TKL_API int tkl_lenient_end(tkl_client *client, tkl_names **missing) TKL_NONNULL(1, 2) TKL_CHECK;

/* ---- Interrupting -------------------------------------------------------- */

/* Ends every wait of the client at once, in all threads: for locks, permits, limits, jobs, items,
 * messages. Each returns TKL_EINTR, and so does every wait that begins before tkl_resume(). Calls
 * that need not wait still succeed. Calls that are not part of a wait keep their time-outs.
 *
 * May be called from any thread and from a signal handler. Both calls affect only the calling
 * process, not a forked child or parent. */
TKL_API void tkl_interrupt(tkl_client *client) TKL_NONNULL(1);
TKL_API void tkl_resume(tkl_client *client) TKL_NONNULL(1);

/* ---- Calling ------------------------------------------------------------- */

typedef struct tkl_call_options {
    int64_t timeout_ms; /* time-out of this call; 0: the client's */
    bool retry_safe;    /* the command is idempotent: repeat it, within the time-out, when the
                           connection breaks before the reply */
    TKL_RESERVED(8);
} tkl_call_options;

/* Sends one command and waits for its reply. `lens` may be NULL when all arguments are
 * NUL-terminated. `reply` may be NULL when only success matters. An error reply of the
 * server becomes a negative code, *reply is then NULL and its text is in tkl_errmsg().
 * A nil reply is TKL_OK with a reply of type TKL_REPLY_NIL.
 *
 * The library repeats, until the time-out, requests that it could not send and requests that the
 * server refused because it was starting, moving data or failing over. It repeats a request that
 * was sent and not answered only with `retry_safe`.
 *
 * Not for SUBSCRIBE, MONITOR, MULTI, WATCH or SELECT: the connection behind a call changes from
 * call to call (TKL_EINVAL). Blocking commands hold a connection of the pool while they wait;
 * give them a longer timeout_ms than their own. */
TKL_API int tkl_call(tkl_client *client, int argc, const char *const *argv, const size_t *lens,
                     const tkl_call_options *options, tkl_reply **reply) TKL_NONNULL(1, 3);

/* The same for NUL-terminated arguments, ended by NULL, with the default options. */
TKL_API int tkl_callz(tkl_client *client, tkl_reply **reply, ...) TKL_NONNULL(1) TKL_SENTINEL;

/* ---- Pipelines: many commands, one trip ---------------------------------- */

typedef struct tkl_pipeline_options {
    int64_t timeout_ms; /* time-out of a run, and of an add that asks a cluster where a command
                           goes; 0: the client's */
    bool transaction;   /* the server runs all commands in one step, as between MULTI and EXEC:
                           nothing of other clients in between. In a cluster all keys must be in
                           one slot */
    TKL_RESERVED(8);
} tkl_pipeline_options;

/* No I/O. `options` may be NULL. */
TKL_API int tkl_pipeline_open(tkl_client *client, const tkl_pipeline_options *options,
                              tkl_pipeline **pipeline) TKL_NONNULL(1, 3) TKL_CHECK;

/* Appends a command; the arguments are copied. */
TKL_API int tkl_pipeline_add(tkl_pipeline *pipeline, int argc, const char *const *argv,
                             const size_t *lens) TKL_NONNULL(1, 3) TKL_CHECK;
TKL_API int tkl_pipeline_addz(tkl_pipeline *pipeline, ...) TKL_NONNULL(1) TKL_SENTINEL TKL_CHECK;

/* The outcome of an operation of a component in a pipeline. Functions whose names end with _in,
 * such as tkl_limit_check_in(), add what the functions without _in do at once: any operations, of
 * any components, are then one round trip per server.
 *
 *     tkl_result seen, allowed;
 *     tkl_limit_answer answer;
 *     tkl_session_touch_in(page, shop, &view, &seen);
 *     tkl_limit_check_in(page, api, tkl_str("alice"), 1, &answer, &allowed);
 *     tkl_counter_add_in(page, hits, 1, NULL);
 *     int rc = tkl_pipeline_run(page, NULL, NULL);
 *     if (seen.code == TKL_NOTFOUND)
 *         log_in_again();
 *     else if (allowed.code == TKL_LIMITED)
 *         come_back_in(answer.retry_after_ms);
 *
 * All arguments are copied. The results and outputs belong to the caller; the run fills them in, so
 * they and the handles must last until the pipeline has run or is closed. An operation that cannot
 * be added, because an argument is wrong, returns its code, which is in the result, too; the others
 * are not affected. Without a result (NULL) nobody learns that it failed.
 *
 * The operations have the time-out of the pipeline. Each is one step by itself: other clients'
 * operations may come in between. An operation may be repeated when its reply is lost if it would
 * be without the pipeline. fork(): operations must run in the process that added them
 * (TKL_EINVAL). */
typedef struct tkl_result {
    int code;       /* result of the function without _in; TKL_ENOTSENT: not run yet */
    char text[256]; /* the reason in words; "" for TKL_OK */
    TKL_RESERVED(2);
} tkl_result;

/* Sends the commands that were added and empties the pipeline. `options` may be NULL; with
 * timeout_ms 0 the pipeline's time-out applies. *replies is an array with one element for each
 * command, in order; tkl_reply_code() of an element is its outcome: TKL_OK, an error of the server,
 * or, when the connection failed on the way, TKL_EUNKNOWN, TKL_ETIMEOUT or TKL_ENOTSENT. Returns
 * TKL_OK when all were answered (even by errors), else the first such failure. An empty pipeline
 * gives an empty array. Unless it is a transaction, other clients' commands may run in between.
 * `replies` may be NULL. The element of an operation is of no use: see its tkl_result.
 *
 * A transaction either runs as a whole or not at all; when its outcome is unknown, that of all its
 * commands is. A command that fails does not keep those behind it from running, as with MULTI.
 * Commands that scripts may not use, such as CONFIG and WAIT, fail in it. */
TKL_API int tkl_pipeline_run(tkl_pipeline *pipeline, const tkl_call_options *options,
                             tkl_reply **replies) TKL_NONNULL(1);

/* NULL is fine. Commands that were added and not run are dropped. */
TKL_API void tkl_pipeline_close(tkl_pipeline *pipeline);

/* ---- Replies ------------------------------------------------------------- */

typedef enum tkl_reply_type {
    TKL_REPLY_NIL = 0,
    TKL_REPLY_STRING = 1, /* bytes, and simple strings such as OK */
    TKL_REPLY_INTEGER = 2,
    TKL_REPLY_ARRAY = 3,
    TKL_REPLY_ERROR = 4, /* only inside arrays */
} tkl_reply_type;

TKL_API const char *tkl_reply_type_name(tkl_reply_type type); /* "nil" */

/* All accessors accept NULL and replies of any type: an accessor that does not fit the type returns
 * nil, 0 or empty. Returned pointers are valid until the root of the tree is freed. */
TKL_API tkl_reply_type tkl_reply_type_of(const tkl_reply *reply);
TKL_API bool tkl_reply_is_nil(const tkl_reply *reply);
/* The value of an integer, or of a string that is an integer; else 0. */
TKL_API int64_t tkl_reply_int(const tkl_reply *reply);
/* The value of an integer, or of a string that is a number; else 0. */
TKL_API double tkl_reply_double(const tkl_reply *reply);
/* A string's bytes, or an error's text. */
TKL_API tkl_bytes tkl_reply_bytes(const tkl_reply *reply);
/* The same as a NUL-terminated string; "" for other types. */
TKL_API const char *tkl_reply_str(const tkl_reply *reply);
/* The number of elements of an array. */
TKL_API size_t tkl_reply_count(const tkl_reply *reply);
/* The element, or NULL when there is none. */
TKL_API const tkl_reply *tkl_reply_at(const tkl_reply *reply, size_t index);
/* TKL_OK, or the code of an error. */
TKL_API int tkl_reply_code(const tkl_reply *reply);

/* Frees the whole tree. Pass its root, never an element. NULL is fine. */
TKL_API void tkl_reply_free(tkl_reply *reply);

/* ---- The private server -------------------------------------------------- */

/* The state of the persistent private server of a directory. */
typedef struct tkl_server_info {
    int64_t pid;         /* 0: not running; then program and version are empty */
    char socket[128];    /* path of its Unix socket */
    char durability[16]; /* none, snapshot, lazy, everysec or always; empty for a new directory */
    char program[32];    /* redis-server or valkey-server */
    char version[32];
    int64_t saved_at_ms;     /* when dump.rdb was written, Unix time; 0: there is none */
    int64_t aof_bytes;       /* size of the append-only file; 0: there is none, or not running */
    int64_t unsaved_changes; /* changes since the last snapshot; 0 when not running */
    TKL_RESERVED(1);
} tkl_server_info;

/* All take a URL of the form embedded:/dir[?durability=...]. Starting a server that runs already is
 * fine. Status and stop return TKL_NOTFOUND when the server does not run, and TKL_EAUTH
 * when it belongs to another user. Stop saves the data as the durability promises, which takes
 * longer the more data there is, and returns when the server has ended. The server program is
 * $TACKLE_SERVER, a name or a path, or redis-server or valkey-server on PATH. */
TKL_API int tkl_server_start(const char *url, tkl_server_info *info) TKL_NONNULL(1, 2) TKL_CHECK;
TKL_API int tkl_server_stop(const char *url) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_server_status(const char *url, tkl_server_info *info) TKL_NONNULL(1, 2) TKL_CHECK;

/* Write files of the running server now, and return when they are complete; TKL_NOTFOUND: it does
 * not run. Save writes the snapshot dump.rdb (TKL_EINVAL with durability none, which keeps
 * nothing). Rewrite makes the append-only file as short as the data allows (TKL_EINVAL without such
 * a file). Backup copies all data as dump.rdb into a directory that it makes, mode 0700: open that
 * as embedded:/dir, or put the file into another new directory. TKL_EXISTS: it has a dump.rdb. */
TKL_API int tkl_server_save(const char *url) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_server_rewrite(const char *url) TKL_NONNULL(1) TKL_CHECK;
TKL_API int tkl_server_backup(const char *url, const char *dir) TKL_NONNULL(1, 2) TKL_CHECK;

#ifdef __cplusplus
}
#endif
#endif
