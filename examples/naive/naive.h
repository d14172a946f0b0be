/* SPDX-License-Identifier: MIT
 *
 * Shared by the programs of this folder. Each shows a classic technique as it is often written, how
 * it fails, and the same work with tackle. The failures are not left to chance: where two programs
 * must meet at the wrong moment, one function plays both, step by step, with real commands.
 *
 * A program ends with 0 when the naive way has failed as announced and tackle has not, or needs
 * less.
 */
#ifndef NAIVE_H
#define NAIVE_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tackle/tackle.h>

static tkl_client *client;

/* Ends the program unless the call succeeded. */
static inline void check(int code)
{
    if (code == TKL_OK)
        return;
    fprintf(stderr, "%s: %s\n", tkl_codename(code), tkl_errmsg());
    exit(1);
}

/* Sends a command of up to seven words. Its reply is valid until the next one. */
static inline const tkl_reply *command(const char *word, ...)
{
    static tkl_reply *reply;
    const char *argv[8];
    int argc = 0;
    va_list words;
    va_start(words, word);
    for (const char *next = word; next != NULL && argc < 8; next = va_arg(words, const char *))
        argv[argc++] = next;
    va_end(words);
    tkl_reply_free(reply);
    reply = NULL;
    check(tkl_call(client, argc, argv, NULL, NULL, &reply));
    return reply;
}
#define COMMAND(...) command(__VA_ARGS__, (const char *)NULL)

static inline void open_client(void)
{
    const char *url = getenv("TACKLE_URL");
    check(tkl_open(url ? url : "embedded:", NULL, &client));
}

/* Prints both counts of failures. Returns the exit code. */
static inline int compare(const char *what, int64_t naive, int64_t ours)
{
    printf("%s: naive %" PRId64 ", tackle %" PRId64 "\n", what, naive, ours);
    tkl_close(client);
    return naive > 0 && ours == 0 ? 0 : 1;
}

/* Prints both counts of something that both ways need; tackle must need less. Returns the exit
 * code. */
static inline int compare_less(const char *what, int64_t naive, int64_t ours)
{
    compare(what, naive, ours);
    return ours < naive ? 0 : 1;
}

#endif
