/* SPDX-License-Identifier: MIT
 *
 * `tackle chat talk`: a thread prints incoming messages, the main thread sends typed lines. The
 * session ends at the end of standard input, or when the chat is gone. On a terminal the session
 * goes on while the server is down: the user sees which lines were not sent, and can type them
 * again. Lines from a file or a pipe must not get lost unseen, so there the session ends.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chat.h"
#include "messages.h"
#include "out.h"

enum {
    ROOM = 65536,  /* the longest line that is sent as one message */
    AWAY_MS = 250, /* pause between two attempts to reach a server that is down */
};

typedef struct talk {
    cli_session *cli;
    tkl_chat *chat;
    tkl_bytes member;
    int64_t unacked;   /* last message that was printed when the acknowledgement failed; 0: it did
                          not fail */
    bool by_hand;      /* a person types, on a terminal */
    bool away;         /* the printer has reported that the server is down */
    atomic_bool over;  /* the printer must end */
    int ended[2];      /* a pipe: the receiving end is readable when the printer has ended */
    atomic_int result; /* result of the printer */
    char typed[ROOM];
    size_t typed_len;
} talk;

static bool sits_out(const talk *t, int rc)
{
    return t->by_hand && (tkl_is_transient(rc) || rc == TKL_FULL);
}

/* ---- Printing ------------------------------------------------------------ */

static void print_message(const cli_session *cli, const tkl_message *message)
{
    if (cli->json) {
        cli_print_json(cli, cli_json_message(message));
        return;
    }
    char *sender = cli_escape(message->sender, false), *body = cli_escape(message->body, false);
    printf("%s%s:%s %s\n", cli_color(stdout, CLI_CYAN), sender ? sender : "",
           cli_color(stdout, CLI_PLAIN), body ? body : "");
    free(sender);
    free(body);
}

static void print_new(const talk *t, const tkl_messages *messages)
{
    if (messages->missed > 0)
        fprintf(stderr, "(%" PRId64 " messages were removed unread)\n", messages->missed);
    for (size_t i = 0; i < messages->count; i++)
        if (messages->items[i].id > t->unacked)
            print_message(t->cli, &messages->items[i]);
}

/* Prints and acknowledges unread messages, waiting up to `wait_ms` for one. */
static int print_next(talk *t, int64_t wait_ms)
{
    tkl_messages *messages;
    int rc = tkl_chat_fetch(t->chat, t->member, 100, wait_ms, &messages);
    if (rc != TKL_OK)
        return rc;
    int64_t last = messages->items[messages->count - 1].id;
    print_new(t, messages);
    rc = fflush(stdout) == 0 ? tkl_chat_ack(t->chat, t->member, last, NULL) : TKL_EIO;
    t->unacked = rc == TKL_OK ? 0 : last;
    tkl_messages_free(messages);
    return rc;
}

/* Reports once that the server is down, and waits a moment. */
static void wait_for_server(talk *t)
{
    if (!t->away)
        fprintf(stderr, "(the server is away: %s)\n", tkl_errmsg());
    t->away = true;
    for (int i = 0; i < AWAY_MS && !t->over; i += 10)
        usleep(10000);
}

/* Runs in the printer thread, and reports the errors of that thread: the text of an error belongs
 * to the thread in which it happened. */
static void *print_all(void *arg)
{
    talk *t = arg;
    int rc;
    do {
        rc = print_next(t, -1);
        if (sits_out(t, rc) && rc != TKL_EINTR)
            wait_for_server(t);
        else
            t->away = false;
    } while (!t->over && (rc == TKL_OK || rc == TKL_EMPTY || sits_out(t, rc)));
    if (rc != TKL_EINTR && !t->over)
        t->result = cli_end(t->cli, rc);
    close(t->ended[1]);
    return NULL;
}

/* ---- Sending ------------------------------------------------------------- */

static int send_line(talk *t, tkl_bytes text)
{
    tkl_letter letter = {.body = text};
    if (text.len == 0)
        return CLI_OK;
    int rc = tkl_chat_send(t->chat, t->member, &letter, 1, NULL);
    if (!sits_out(t, rc))
        return cli_end(t->cli, rc);
    fprintf(stderr, "(%s: %s)\n", tkl_is_unknown(rc) ? "it may not have been sent" : "not sent",
            tkl_errmsg());
    return CLI_OK;
}

/* Sends the complete lines that were read, and keeps the rest. `all`: sends the rest, too. */
static int send_lines(talk *t, bool all)
{
    size_t start = 0;
    int failed = CLI_OK;
    for (size_t i = 0; !failed && i < t->typed_len; i++)
        if (t->typed[i] == '\n') {
            failed = send_line(t, (tkl_bytes){t->typed + start, i - start});
            start = i + 1;
        }
    bool rest = all || (start == 0 && t->typed_len == sizeof t->typed);
    if (!failed && rest) {
        failed = send_line(t, (tkl_bytes){t->typed + start, t->typed_len - start});
        start = t->typed_len;
    }
    memmove(t->typed, t->typed + start, t->typed_len - start);
    t->typed_len -= start;
    return failed;
}

/* Sends lines until the end of standard input, or until the printer ends. */
static int send_all(talk *t)
{
    struct pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {t->ended[0], POLLIN, 0}};
    int failed = CLI_OK;
    while (!failed) {
        if (poll(files, 2, -1) < 0) {
            if (errno == EINTR)
                continue;
            return cli_fail(t->cli, CLI_FAILURE, "poll: %s", strerror(errno));
        }
        if (files[1].revents)
            return CLI_OK;
        ssize_t n = read(STDIN_FILENO, t->typed + t->typed_len, sizeof t->typed - t->typed_len);
        if (n <= 0)
            return send_lines(t, true);
        t->typed_len += (size_t)n;
        failed = send_lines(t, false);
    }
    return failed;
}

/* ---- A session ----------------------------------------------------------- */

static int run_talk(talk *t)
{
    pthread_t printer;
    tkl_client *client = t->cli->client;
    if (pthread_create(&printer, NULL, print_all, t) != 0)
        return cli_fail(t->cli, CLI_FAILURE, "no thread");
    int failed = send_all(t);
    t->over = true;
    tkl_interrupt(client);
    pthread_join(printer, NULL);
    tkl_resume(client);
    if (failed || t->result)
        return failed ? failed : t->result;
    int rc = print_next(t, 0); /* messages that arrived meanwhile */
    return rc == TKL_EMPTY ? CLI_OK : cli_end(t->cli, rc);
}

int cli_chat_talk(cli_session *cli)
{
    talk *t = calloc(1, sizeof *t);
    if (!t)
        return cli_end(cli, TKL_ENOMEM);
    t->cli = cli;
    t->member = tkl_str(cli->argv[1]);
    t->by_hand = isatty(STDIN_FILENO);
    int failed = cli_chat_open(cli, 0, &t->chat);
    if (!failed) {
        int rc = print_next(t, 0); /* also checks that we are a member */
        failed = rc == TKL_EMPTY ? CLI_OK : cli_end(cli, rc);
    }
    if (!failed && pipe(t->ended) != 0)
        failed = cli_fail(cli, CLI_FAILURE, "pipe: %s", strerror(errno));
    if (!failed) {
        failed = run_talk(t);
        close(t->ended[0]);
    }
    tkl_chat_close(t->chat);
    free(t);
    return failed;
}
