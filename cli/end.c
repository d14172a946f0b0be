/* SPDX-License-Identifier: MIT
 *
 * How verbs end: exit codes and messages, and the question before something is deleted.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "guard.h"
#include "out.h"
#include "wording.h"

/* Prints "tackle: lock run: ", without the parts that are not known yet. */
static void print_prefix(const cli_session *cli)
{
    fprintf(stderr, "tackle: ");
    if (cli->component != NULL)
        fprintf(stderr, "%s", cli->component->name);
    if (cli->verb != NULL && cli->verb->name != NULL)
        fprintf(stderr, " %s", cli->verb->name);
    if (cli->component != NULL)
        fprintf(stderr, ": ");
}

/* Prints {"error": "TKL_BUSY", "message": "..."}, with a further field unless its name is NULL.
 * Escapes bytes that are not UTF-8. */
static void print_json(const cli_session *cli, int code, const char *message, const char *field,
                       json_t *more)
{
    char *clean = cli_escape(tkl_str(message), false);
    if (cli->sink != NULL) {
        cli->sink->failure(cli->sink->arg, code, clean ? clean : "", field, more);
        free(clean);
        return;
    }
    json_t *value =
        json_pack("{s:s, s:s}", "error", tkl_codename(code), "message", clean ? clean : "");
    if (field != NULL)
        json_object_set(value, field, more);
    char *text = value != NULL ? cli_json_text(value) : NULL;
    fprintf(stderr, "%s\n", text != NULL ? text : "{\"error\": \"TKL_ENOMEM\"}");
    free(text);
    json_decref(value);
    free(clean);
}

/* Prints a message without control characters, which a server must not send to the terminal. */
static void print_text(const cli_session *cli, const char *message)
{
    char *clean = cli_escape(tkl_str(message), false);
    print_prefix(cli);
    fputs(clean != NULL ? clean : "out of memory", stderr);
    free(clean);
}

static void report_message(const cli_session *cli, int code, const char *message)
{
    if (cli->json) {
        print_json(cli, code, message, NULL, NULL);
        return;
    }
    print_text(cli, message);
    putc('\n', stderr);
}

/* The code for an exit code, for failures outside the library. */
static int code_of_exit(int exit)
{
    switch (exit) {
    case CLI_OK: /* a warning */
        return TKL_OK;
    case CLI_NO:
        return TKL_NOTFOUND;
    case CLI_USAGE:
        return TKL_EINVAL;
    case CLI_UNREACHABLE:
        return TKL_ENOTSENT;
    case CLI_NOT_ACQUIRED:
        return TKL_BUSY;
    case CLI_LOST:
        return TKL_ELOST;
    case CLI_NOT_PERMITTED:
        return TKL_EAUTH;
    default:
        return TKL_EIO;
    }
}

/* The caller frees the result. NULL: out of memory. */
static char *format_text(const char *format, va_list list)
{
    char *text = NULL;
    return vasprintf(&text, format, list) >= 0 ? text : NULL;
}

/* Reports a formatted message under the name of a code. */
static void report_format(const cli_session *cli, int code, const char *format, va_list list)
{
    char *text = format_text(format, list);
    report_message(cli, code, text != NULL ? text : "out of memory");
    free(text);
}

int cli_fail(const cli_session *cli, int exit, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report_format(cli, code_of_exit(exit), format, list);
    va_end(list);
    return exit;
}

int cli_no(const cli_session *cli, int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report_format(cli, code, format, list);
    va_end(list);
    return CLI_NO;
}

int cli_answered_no(const cli_session *cli, int code, const char *message)
{
    return cli->json ? cli_no(cli, code, "%s", message) : CLI_NO;
}

static void print_hint(const cli_session *cli)
{
    const cli_component *component = cli->component;
    const cli_verb *verb = cli->verb;
    fprintf(stderr, "Try 'tackle %s%s%s%s--help'.\n", component != NULL ? component->name : "",
            component != NULL ? " " : "", verb != NULL && verb->name != NULL ? verb->name : "",
            verb != NULL && verb->name != NULL ? " " : "");
}

int cli_usage(const cli_session *cli, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report_format(cli, TKL_EINVAL, format, list);
    va_end(list);
    if (!cli->json)
        print_hint(cli);
    return CLI_USAGE;
}

int cli_exit_of(int code)
{
    switch (code) {
#define EXIT_CASE(name, value, exit, text) \
    case value:                            \
        return exit;
        TKL_CODES(EXIT_CASE)
#undef EXIT_CASE
    }
    return CLI_FAILURE;
}

/* The library's message if there is one, else the text of the code. The caller frees it. NULL: out
 * of memory. */
static char *message_of(const cli_session *cli, int code)
{
    const char *detail = tkl_errmsg(), *text = *detail != '\0' ? detail : tkl_strerror(code);
    return code == TKL_EINVAL ? cli_reword(cli, text) : strdup(text);
}

int cli_end(const cli_session *cli, int code)
{
    char *message = code != TKL_OK ? message_of(cli, code) : NULL;
    if (code != TKL_OK)
        report_message(cli, code, message != NULL ? message : tkl_strerror(code));
    free(message);
    return cli_exit_of(code);
}

int cli_end_of(const cli_session *cli, int code, const char *kind)
{
    if (code != TKL_NOTFOUND)
        return cli_end(cli, code);
    return cli_no(cli, code, "there is no %s '%s'", kind, cli->argv[0]);
}

int cli_end_at(const cli_session *cli, int code, const char *where)
{
    if (code == TKL_OK)
        return CLI_OK;
    char *message = message_of(cli, code);
    cli_fail_with(cli, code, "%s: %s", where, message != NULL ? message : tkl_strerror(code));
    free(message);
    return cli_exit_of(code);
}

int cli_end_with(const cli_session *cli, int code, const char *field, json_t *value)
{
    char *message = code != TKL_OK && cli->json ? message_of(cli, code) : NULL;
    if (message != NULL)
        print_json(cli, code, message, field, value);
    free(message);
    json_decref(value);
    return cli->json ? cli_exit_of(code) : cli_end(cli, code);
}

int cli_fail_with(const cli_session *cli, int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    report_format(cli, code, format, list);
    va_end(list);
    return cli_exit_of(code);
}

int cli_end_of_signal(cli_session *cli, int number)
{
    cli->signal = number;
    cli->signal_heard = true;
    return 128 + number;
}

/* ---- The end of the program ---------------------------------------------- */

/* When Ctrl-C ended a command that had the terminal, our parent did not get the signal. So we send
 * it to our process group now: a shell script ends with `tackle lock run COMMAND` as it would with
 * the command alone. */
static void die_of_signal(const cli_session *cli)
{
    signal(cli->signal, SIG_DFL);
    kill(cli->signal_heard ? getpid() : 0, cli->signal);
}

int cli_finish(const cli_session *cli, int exit)
{
    cli_guard_stop();
    int unwritten = cli_flush(cli);
    if (cli->signal != 0)
        die_of_signal(cli);
    return unwritten ? unwritten : exit;
}

void cli_leave(const cli_session *cli, int exit)
{
    _exit(cli_finish(cli, exit));
}

/* ---- Asking before something is deleted ---------------------------------- */

static bool agrees(void)
{
    char answer[16];
    return fgets(answer, sizeof answer, stdin) != NULL && (*answer == 'y' || *answer == 'Y');
}

int cli_confirm(const cli_session *cli, const char *format, ...)
{
    va_list list;
    if (cli_flag(cli, "yes"))
        return CLI_OK;
    if (cli->sink != NULL || !isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return cli_usage(cli, "this deletes data: --yes is needed");
    va_start(list, format);
    char *what = format_text(format, list);
    va_end(list);
    print_text(cli, what != NULL ? what : "this deletes data");
    free(what);
    fputs(" Go on? [y/N] ", stderr);
    return agrees() ? CLI_OK : cli_fail(cli, CLI_NO, "nothing was deleted");
}
