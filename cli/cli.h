/* SPDX-License-Identifier: MIT
 *
 * The frame of the command. A component is one file with one table, cli_<component>, and one
 * line in registry.c: help, usage errors, bash completion, the man page's list and the guided
 * tour are all made from the tables.
 *
 *     static int lock_acquire(cli_session *cli)
 *     {
 *         tkl_client *client = NULL;
 *         int failed = cli_connect(cli, &client);
 *         if (failed)
 *             return failed;
 *         ...
 *         return cli_end(cli, tkl_lock_acquire(...));
 *     }
 *
 * Every function here and in the components that returns an `int` called failed, or ends a
 * verb, returns an exit code. A function that returns another code than 0 has said why on stderr.
 */
#ifndef TKL_CLI_H
#define TKL_CLI_H

#include <jansson.h>
#include <tackle/tackle.h>

/* A function whose variables take no room on the stack of its caller, which may wait for hours, as
 * one of thousands of fibers. */
#define CLI_APART __attribute__((noinline))

typedef enum cli_exit {
    CLI_OK = 0,
    CLI_NO = 1,            /* an expected "no": busy, empty, not found ... */
    CLI_USAGE = 64,        /* wrong arguments */
    CLI_UNREACHABLE = 69,  /* the server did not answer, or is not ready */
    CLI_FAILURE = 70,      /* anything else */
    CLI_NOT_ACQUIRED = 75, /* run: the lock, permit or limit could not be acquired in time */
    CLI_LOST = 76,         /* run: it was lost, the command was ended */
    CLI_NOT_PERMITTED = 77,
} cli_exit;

typedef struct cli_session cli_session;

/* ---- Tables -------------------------------------------------------------- */

typedef enum cli_kind {
    CLI_FLAG,
    CLI_LOCAL_FLAG, /* not over HTTP: means standard input, the terminal, another form of output or
                       what only an administrator does */
    CLI_TEXT,
    CLI_CHOICE,
    CLI_INTEGER,
    CLI_DURATION,
    CLI_PERIOD, /* a duration above 0 */
    CLI_WAIT,   /* a duration, or "forever": -1 */
    CLI_SIZE,
    CLI_TIME,  /* a moment; a time without a day is the next one */
    CLI_PAST,  /* a moment in the past; a time without a day is the last one */
    CLI_TOKEN, /* a secret: "-" for standard input, "@FILE" for a file (token.h) */
    CLI_URLS,  /* separated by commas; wiped from the list of processes, since they may hold
                 passwords */
} cli_kind;

/* An array of these ends with a zero entry. */
typedef struct cli_option {
    const char *name; /* without the dashes */
    cli_kind kind;
    const char *value;   /* its value in help, "DURATION"; the words of a choice, "a|b|c"; NULL: a
                            flag */
    const char *summary; /* one line; NULL: the option works, but help does not show it */
} cli_option;

/* A verb reads the data or writes it. */
typedef enum cli_effect {
    CLI_UNSAID, /* an error, unless the verb is local */
    CLI_READS,
    CLI_WRITES,
} cli_effect;

typedef struct cli_verb {
    const char *name;          /* NULL: the component is the command itself, like ping */
    const char *args;          /* "NAME [PAYLOAD]", "NAME -- COMMAND [ARG...]"; NULL: none */
    const char *summary;       /* one line, no full stop */
    const cli_option *options; /* NULL: none */
    const char *details;       /* more for --help, lines of up to 80; NULL: nothing to add */
    const char *example;       /* lines that work when pasted, with no server set up */
    bool dashes;               /* its arguments may begin with a dash: -inf */
    cli_effect effect;         /* for tackle serve, as `follows` and the fields behind it */
    bool views;         /* shows all names, as do verbs with cli_list_options: see cli_run() */
    bool follows;       /* goes on printing results, until --max or --wait ends it */
    bool adds;          /* each call adds something more, so repeats must be recognized:
                                  requests may have an Idempotency-Key */
    const char *local;  /* why it is not offered over HTTP; NULL: it is */
    const char *binary; /* word of args that may hold zero bytes over HTTP: cli_payload() or
                                     cli_items() reads it; NULL: none */
    int (*run)(cli_session *cli); /* returns the exit code */
} cli_verb;

/* A step of the guided tour: a shell line, run for real. $DIR is a directory of the tour's own. */
typedef struct cli_step {
    const char *text; /* the result that it shows */
    const char *command;
    int exit; /* the expected exit code */
} cli_step;

typedef struct cli_component {
    const char *name;
    const char *summary;
    const cli_verb *verbs; /* ended by a zero entry */
    const cli_step *demo;  /* ended by a zero entry; NULL: none */
    const char *shared;    /* things that users of this component share, "locks": a warning
                              says when a private server shares nothing; NULL: no warning */
} cli_component;

/* All components, ended by NULL, in the order of help. */
extern const cli_component *const cli_components[];

/* The same in groups: an entry is the title of a group or a component. Ended by a zero entry. */
typedef struct cli_entry {
    const char *title;
    const cli_component *component;
} cli_entry;
extern const cli_entry cli_contents[];

/* The options every verb understands. */
extern const cli_option cli_globals[];

/* ---- One invocation ------------------------------------------------------ */

typedef struct cli_given {
    const cli_option *option;
    const char *text; /* as written; NULL for a flag */
    int64_t number;   /* value as a number: integers; durations in ms, sizes in bytes, times in Unix
                         ms */
} cli_given;

/* Takes the results of a verb in the place of stdout and stderr. A session with a sink belongs to a
 * request of tackle serve, and not to a user: its verb must not use standard input, files, the
 * terminal, signals, or anything else of the process. It always prints JSON. */
typedef struct cli_sink {
    /* A result: JSON, which the sink frees. CLI_FAILURE: nobody gets it any more, so what the
     * result gives away must be taken back. */
    int (*result)(void *arg, char *json);
    /* Why the verb ends, as cli_end_with() says it; TKL_OK: only a warning. `field` may be NULL. */
    void (*failure)(void *arg, int code, const char *message, const char *field,
                    const json_t *value);
    void *arg;
} cli_sink;

struct cli_session {
    const cli_component *component; /* NULL until named */
    const cli_verb *verb;           /* NULL until named */
    int argc;                       /* the verb's own arguments, without options */
    const char **argv;              /* ended by NULL */
    int before_dashes;              /* number of arguments before "--"; -1: there is no "--" */
    bool json;
    bool help; /* --help was given */
    cli_given *given;
    size_t ngiven;
    char *url;          /* NULL until cli_url() */
    char *url_source;   /* variable or file that names it; "": --url, or nothing does */
    bool is_default;    /* nothing names a server: the URL is the user's own private one */
    tkl_client *client; /* NULL until cli_connect() */
    void (*on_event)(const tkl_client_event *event, void *arg); /* on_event of the client; NULL:
                                                                   none */
    void *event_arg;
    char *input;          /* standard input, once read */
    char *token;          /* the argument TOKEN; NULL: the verb has none */
    int signal;           /* signal that ends us after all is done, so that our parent sees it; 0:
                          none */
    bool signal_heard;    /* the signal was sent to us, and not only to the command of a run verb */
    const cli_sink *sink; /* NULL: stdout and stderr */
    const size_t *lengths; /* lengths of the arguments, which may hold zero bytes; NULL: they end at
                              the first one */
};

/* The client, opened when first asked for. */
int cli_connect(cli_session *cli, tkl_client **client);

/* A client for another server than the one of --url, with the same options. The caller closes it.
 */
int cli_open(const cli_session *cli, const char *url, tkl_client **client);
/* The same in a part of the namespace, "NS:PART", for what is in nobody's way there. */
int cli_open_part(const cli_session *cli, const char *url, const char *part, tkl_client **client);

/* The URL in use: --url, or what the configuration says for --url config:NAME, else the one of
 * tkl_default_server_read(). */
int cli_url(cli_session *cli, const char **url);

/* Options of the verb or global ones. A name that is in neither table aborts. The last one
 * given counts. */
bool cli_flag(const cli_session *cli, const char *name);
const char *cli_text(const cli_session *cli, const char *name, const char *otherwise);
int64_t cli_number(const cli_session *cli, const char *name, int64_t otherwise);
/* The first returns CLI_USAGE for an option of 0 or less, the second for a negative one. */
int cli_positive(const cli_session *cli, const char *name);
int cli_not_negative(const cli_session *cli, const char *name);

bool cli_is_global(const cli_option *option);

/* A global option, even if the verb has its own option of the same name, which comes after the verb
 * and means something else; NULL: not given. */
const int64_t *cli_global_number(const cli_session *cli, const char *name);

/* The argument at the index, with the zero bytes that are in it. */
tkl_bytes cli_argument(const cli_session *cli, int index);

/* All arguments but the first `skip`; the caller calls free(). NULL: out of memory. */
tkl_bytes *cli_arguments(const cli_session *cli, int skip);

/* Whether both are the same bytes. */
bool cli_same_bytes(tkl_bytes a, tkl_bytes b);

/* The same; standard input to its end when it is missing or "-". */
int cli_payload(cli_session *cli, int index, tkl_bytes *payload);

/* ---- Ending -------------------------------------------------------------- */

/* The exit code for a result of the library; says on stderr what a "no" or an error means, with
 * --json as {"error": "TKL_BUSY", "message": "..."}. */
int cli_end(const cli_session *cli, int code);

/* The same for a call about the thing that the first argument names: TKL_NOTFOUND says that there
 * is no such `kind`. */
int cli_end_of(const cli_session *cli, int code, const char *kind);

/* The same; the message begins with where it happened, "line 7". */
int cli_end_at(const cli_session *cli, int code, const char *where);

/* The same without a message. */
int cli_exit_of(int code);

/* The last thing a program does: ends the guard, writes what is not written yet, and dies of the
 * session's signal, if there is one. Returns the exit code. */
int cli_finish(const cli_session *cli, int exit);

/* Ends the program with this exit code at once, even if another thread hangs in a call: flushes the
 * output, but closes no handle. */
_Noreturn void cli_leave(const cli_session *cli, int exit);

/* Notes that a caught signal ends us after all, as the shell expects. Returns the exit code. */
int cli_end_of_signal(cli_session *cli, int number);

/* As cli_end() for a failure, with another text. */
int cli_fail_with(const cli_session *cli, int code, const char *format, ...) TKL_PRINTF(3, 4);

/* Prints "tackle: lock run: ...", or JSON as cli_end(), on stderr; returns `exit`. */
int cli_fail(const cli_session *cli, int exit, const char *format, ...) TKL_PRINTF(3, 4);

/* An expected "no" in the command's own words: `code` is the library's, for --json. Returns
 * CLI_NO. */
int cli_no(const cli_session *cli, int code, const char *format, ...) TKL_PRINTF(3, 4);

/* For an output that already says "no": prints a message only with --json. Returns CLI_NO. */
int cli_answered_no(const cli_session *cli, int code, const char *message);

/* The same for wrong arguments, with a pointer to --help; returns CLI_USAGE. */
int cli_usage(const cli_session *cli, const char *format, ...) TKL_PRINTF(2, 3);

/* Asks before something is deleted. CLI_OK with --yes, or when the user on a terminal agrees to a
 * sentence such as "This deletes the queue mails with 12 jobs.". Without a terminal --yes is
 * required. */
int cli_confirm(const cli_session *cli, const char *format, ...) TKL_PRINTF(2, 3);

#define CLI_YES                                     \
    {                                               \
        "yes", CLI_FLAG, NULL, "delete, do not ask" \
    }

#endif
