/* SPDX-License-Identifier: MIT
 *
 * The frame of the command. A component is one file with one table, cli_<component>, and one
 * line in registry.c: help, usage errors, bash completion, the man page's list and the guided
 * tour are all made from the tables.
 *
 *     static int acquire(cli_session *cli)
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
 * verb, returns an exit code, and whoever returns another one than 0 has said why on stderr.
 */
#ifndef TKL_CLI_H
#define TKL_CLI_H

#include <tackle/tackle.h>

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
    CLI_TEXT,
    CLI_CHOICE,
    CLI_INTEGER,
    CLI_DURATION,
    CLI_PERIOD, /* a duration above 0 */
    CLI_SIZE,
    CLI_TIME,
    CLI_URLS, /* separated by commas; wiped from the list of processes, since they may hold
                 passwords */
} cli_kind;

/* An array of these ends with a zero entry. */
typedef struct cli_option {
    const char *name; /* without the dashes */
    cli_kind kind;
    const char *value;   /* its value in help, "DURATION"; of a choice "a|b|c"; flag: NULL */
    const char *summary; /* one line; NULL: works, but is not shown */
} cli_option;

typedef struct cli_verb {
    const char *name;             /* NULL: the component is the command itself, like ping */
    const char *args;             /* "NAME [PAYLOAD]", "NAME -- COMMAND [ARG...]"; NULL: none */
    const char *summary;          /* one line, no full stop */
    const cli_option *options;    /* NULL: none */
    const char *details;          /* more for --help, lines of up to 80; NULL: nothing to add */
    const char *example;          /* lines that work when pasted, with no server set up */
    bool dashes;                  /* its arguments may begin with a dash: -inf */
    int (*run)(cli_session *cli); /* returns the exit code */
} cli_verb;

/* A step of the guided tour: a shell line, run for real. $DIR is a directory of the tour's own. */
typedef struct cli_step {
    const char *text; /* what it shows */
    const char *command;
    int exit; /* the expected exit code */
} cli_step;

typedef struct cli_component {
    const char *name;
    const char *summary;
    const cli_verb *verbs; /* ended by a zero entry */
    const cli_step *demo;  /* ended by a zero entry; NULL: none */
    const char *shared;    /* what people share with others, "locks": on their private server they
                              do not, which they are told on a terminal; NULL: nothing */
} cli_component;

/* All components, ended by NULL, in the order of help. */
extern const cli_component *const cli_components[];

/* The options every verb understands. */
extern const cli_option cli_globals[];

/* ---- One invocation ------------------------------------------------------ */

typedef struct cli_given {
    const cli_option *option;
    const char *text; /* as written; NULL for a flag */
    int64_t number;   /* of integers; durations in ms, sizes in bytes, times in Unix ms */
} cli_given;

struct cli_session {
    const cli_component *component; /* NULL until named */
    const cli_verb *verb;           /* NULL until named */
    int argc;                       /* the verb's own arguments, without options */
    const char **argv;              /* ended by NULL */
    int before_dashes;              /* how many of them stand before "--"; -1: there is none */
    bool json;
    bool help; /* --help was given */
    cli_given *given;
    size_t ngiven;
    char *url;          /* NULL until cli_url() */
    bool is_default;    /* the URL is the user's own private server */
    tkl_client *client; /* NULL until cli_connect() */
    void (*on_event)(const tkl_client_event *event, void *arg); /* of the client; NULL: none */
    void *event_arg;
    char *input;       /* standard input, once read */
    int signal;        /* to die of after all is done, so that our parent knows; 0: none */
    bool signal_heard; /* it was sent to us, and not to a run verb's command instead of us */
};

/* The client, opened when first asked for. */
int cli_connect(cli_session *cli, tkl_client **client);

/* A client for another server than the one of --url, with the same options. The caller closes it.
 */
int cli_open(const cli_session *cli, const char *url, tkl_client **client);

/* The URL in use: --url, TACKLE_URL, REDIS_URL, or the user's own private server. */
int cli_url(cli_session *cli, const char **url);

/* Options of the verb or global ones. A name that is in neither table aborts. The last one
 * given counts. */
bool cli_flag(const cli_session *cli, const char *name);
const char *cli_text(const cli_session *cli, const char *name, const char *otherwise);
int64_t cli_number(const cli_session *cli, const char *name, int64_t otherwise);
/* CLI_USAGE when the option is given and is 0 or less; when it is negative. */
int cli_positive(const cli_session *cli, const char *name);
int cli_not_negative(const cli_session *cli, const char *name);

/* A global option even if the verb has one of that name, which then stands behind the verb and
 * means something else; NULL: not given. */
const int64_t *cli_global_number(const cli_session *cli, const char *name);

/* The argument at the index; standard input to its end when it is missing or "-". */
int cli_payload(cli_session *cli, int index, tkl_bytes *payload);

/* ---- Ending -------------------------------------------------------------- */

/* The exit code for a result of the library; says on stderr what a "no" or an error means, with
 * --json as {"error": "TKL_BUSY", "message": "..."}. */
int cli_end(const cli_session *cli, int code);

/* The same; the message begins with where it happened, "line 7". */
int cli_end_at(const cli_session *cli, int code, const char *where);

/* The same without a word. */
int cli_exit_of(int code);

/* A signal that was caught ends us after all, as the shell expects; the exit code. */
int cli_end_of_signal(cli_session *cli, int number);

/* As cli_end() for a failure, with another text. */
int cli_fail_with(const cli_session *cli, int code, const char *format, ...) TKL_PRINTF(3, 4);

/* Prints "tackle: lock run: ...", or JSON as cli_end(), on stderr; returns `exit`. */
int cli_fail(const cli_session *cli, int exit, const char *format, ...) TKL_PRINTF(3, 4);

/* An expected "no" in the command's own words: `code` is the library's, for --json. Returns
 * CLI_NO. */
int cli_no(const cli_session *cli, int code, const char *format, ...) TKL_PRINTF(3, 4);

/* What was printed says "no" in itself: only with --json a message follows. Returns CLI_NO. */
int cli_answered_no(const cli_session *cli, int code, const char *message);

/* The same for wrong arguments, with a pointer to --help; returns CLI_USAGE. */
int cli_usage(const cli_session *cli, const char *format, ...) TKL_PRINTF(2, 3);

/* Before something is deleted: CLI_OK with --yes, or when the user agrees on a terminal to a
 * sentence such as "This deletes the queue mails with 12 jobs.". Elsewhere --yes is needed. */
int cli_confirm(const cli_session *cli, const char *format, ...) TKL_PRINTF(2, 3);

#define CLI_YES                                     \
    {                                               \
        "yes", CLI_FLAG, NULL, "delete, do not ask" \
    }

#endif
